#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Tests what `hostlat report` accepts, refuses and writes; no browser is needed:
test_report.py HOSTLAT MKTRACE
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import pagedata

HOSTLAT, MKTRACE = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
TRACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'diagnose', 'cpu-wait', 'trace')
GOOD = json.dumps(pagedata.comparison())
LIMIT = 64 << 20


def data_of(page):
    """Returns the page's data as a browser would find it: up to the first end of a script
    element."""
    found = re.search(rb'<script type="application/json" id="data">(.*?)</script', page, re.S)
    return json.loads(found.group(1))


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.page = self.path('page.html')

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), 'wb') as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def read_page(self):
        with open(self.page, 'rb') as f:
            return f.read()

    def report(self, *args, code=0, error='', **kwargs):
        done = subprocess.run([HOSTLAT, 'report', *args, '-o', self.page], capture_output=True, text=True, timeout=60,
                              check=False, **{'stdin': subprocess.DEVNULL, **kwargs})
        self.assertEqual((done.returncode, done.stdout), (code, ''), done)
        self.assertIn(error, done.stderr)
        return done

    def refuse(self, text, code, error):
        """There is no page of it alone, and what was there before stays."""
        for before in None, b'before':
            if before:
                self.write('page.html', before)
            self.report(self.write('x', text), code=code, error=error)
            self.assertEqual(os.path.exists(self.page), bool(before))
        self.assertEqual(sorted(os.listdir(self.folder)), ['page.html', 'x'])
        os.remove(self.page)

    def test_written(self):
        done = self.report(self.write('a', GOOD), self.write('b', json.dumps(pagedata.load())), '--title', 'A <b>')
        self.assertRegex(done.stderr, r'\Ahostlat: 2 results, \d+ bytes, in \S+\n\Z')
        page = self.read_page()
        data = data_of(page)
        self.assertEqual([f['document']['hostlat']['command'] for f in data['files']], ['compare', 'load'])
        self.assertEqual(data['files'][0]['document'], json.loads(GOOD, parse_int=lambda n: n if len(n) > 15 else int(n)))
        self.assertEqual(data['left_out'], [])
        self.assertIn(b'<title>A &lt;b></title>', page)

    def test_same_bytes(self):
        pages = []
        for _ in range(2):
            self.report(self.write('a', GOOD), '-q')
            pages.append(self.read_page())
        self.assertEqual(*pages)

    def test_standard_input(self):
        self.assertEqual(self.report('-', '--quiet', stdin=None, input=GOOD).stderr, '')
        self.assertEqual(data_of(self.read_page())['files'][0]['name'], 'standard input')

    def test_nothing_from_outside(self):
        self.report(self.write('a', GOOD))
        page = self.read_page().decode()
        self.assertEqual([w for w in re.findall(r'https?://[^\s\'"]+', page) if w != 'http://www.w3.org/2000/svg'], [])
        self.assertNotRegex(page, r'(?:\s(?:src|href)=|@import|url\()')
        policy = re.search('http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
        self.assertTrue(policy.startswith("default-src 'none'; "), policy)
        self.assertNotRegex(policy, 'unsafe|http|data:|blob:|[*]')

    def test_foreign(self):
        for text in ('', 'no JSON at all', '[]', '{}', '{"hostlat": 1}', '{"other": {"hostlat": {}}}', b'\x00\xff' * 100,
                     b'HLAT' + bytes(64)):
            with self.subTest(text):
                self.refuse(text, 2, 'is not a result of hostlat')

    def test_missing(self):
        self.report(self.path('nothing'), code=2, error=f'cannot read {self.path("nothing")}: No such file')
        self.report(self.folder, code=2, error='is a folder without result.json; hostlat explain makes folders that have it')
        self.assertEqual(os.listdir(self.folder), [])

    def named(self):
        return [(f['name'], f['document']['hostlat']['command']) for f in data_of(self.read_page())['files']]

    def test_lines(self):
        """--json-lines: a document on each line; the last of many."""
        path = self.write('lines', f'{GOOD}\n{json.dumps(pagedata.load())}\n\n')
        self.report(path)
        self.assertEqual(self.named(), [(f'{path}, line 1', 'compare'), (f'{path}, line 2', 'load')])
        self.report(self.write('many', f'{GOOD}\n' * 150), error='many has 150 documents: the page shows the last 100')
        self.assertEqual([name[-4:] for name, _ in self.named()][::99], ['e 51', ' 150'])
        done = self.report(self.write('half', f'{GOOD}\n{GOOD[:99]}'), code=3, error='half, line 2 is damaged: line 1, column 100')
        self.assertNotIn('line 1 is damaged', done.stderr)
        self.report(self.write('other', f'{GOOD}\n{{}}'), code=2, error='other, line 2 is not a result')

    def test_lines_not(self):
        """The control: one document over several lines."""
        path = self.write('one', json.dumps(pagedata.comparison(), indent=1))
        self.report(path)
        self.assertEqual(self.named(), [(path, 'compare')])

    def test_folder(self):
        """A folder that explain wrote gives one page with all its results."""
        os.mkdir(self.path('out'))
        path = self.write('out/result.json', json.dumps(pagedata.explain()))
        self.report(self.path('out'))
        self.assertEqual(self.named(), [(path, 'explain')])

    def test_recording(self):
        path = self.path('slow.hlat')
        subprocess.run([MKTRACE, TRACE, path], check=True)
        self.report(path, code=2, error=f'{path} is a recording, not a result (convert it with hostlat diagnose {path} --json)')
        made = subprocess.run([HOSTLAT, 'diagnose', path, '--json'], capture_output=True, check=False).stdout
        self.report(self.write('a', made))
        self.assertEqual(self.named(), [(self.path('a'), 'diagnose')])
        with open(path, 'rb') as file:
            self.report('-', code=2, stdin=file, error='standard input is a recording, not a result (save it to FILE; hostlat report '
                                                      'FILE names the command that converts it)')
        other = self.write('other', b'\x89HLAT\r\n\x1a' + bytes(100))
        self.report(other, code=2, error=f'is a recording, not a result (convert it with hostlat watch --from {other} --json)')

    def test_damaged(self):
        half = GOOD[:len(GOOD) // 2]
        self.refuse(half, 3, f'x is damaged: line 1, column {len(half) + 1}: ')
        self.refuse(GOOD.replace('"facts": [', '"facts": [\n\n NaN,'), 3, 'x is damaged: line 3, column 2: expected a value')
        self.refuse(GOOD + ' ' + GOOD, 3, f'x is damaged: line 1, column {len(GOOD) + 2}: unexpected text after the object')
        self.refuse(GOOD.encode().replace(b'kernel', b'kern\xff'), 3, ': not UTF-8')

    def test_damaged_among_others(self):
        self.report(self.write('a', GOOD), self.write('cut', GOOD[:50]), code=3, error='cut is damaged')
        data = data_of(self.read_page())
        self.assertEqual([f['name'] for f in data['files']], [self.path('a')])
        self.assertEqual([(f['name'], f['line'], f['column']) for f in data['left_out']], [(self.path('cut'), 1, 51)])

    def test_foreign_among_others(self):
        self.report(self.write('a', GOOD), self.write('b', '{}'), code=2, error='b is not a result')
        self.assertFalse(os.path.exists(self.page))

    def test_too_large(self):
        fits = GOOD[:-1] + ', "filler": "'
        fits += 'x' * (LIMIT - len(fits.encode()) - 2) + '"}'
        self.report(self.write('a', fits))
        self.report(self.path('a'), self.write('b', GOOD), code=2, error="b is too large: a page holds at most 64 MiB")

    def test_hostile_text_stays_inside(self):
        hostile = ['</script><script>alert(1)</script>', '<!--', ']]>', '&lt;', '\u2028', '"\\', '\x7f']
        text = json.dumps({'hostlat': {'command': 'load'}, 'x': hostile}, ensure_ascii=False)
        self.report(self.write('<b>"&', text))
        data = data_of(self.read_page())
        self.assertEqual(data['files'][0]['document']['x'], hostile)
        self.assertEqual(os.path.basename(data['files'][0]['name']), '<b>"&')
        self.assertEqual(self.read_page().count(b'<script'), 2)

    def test_page_that_cannot_be_written(self):
        good = self.write('a', GOOD)
        done = subprocess.run([HOSTLAT, 'report', good, '-o', '/no/such/page'], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (2, 'hostlat: cannot write to /no/such/page: No such file or directory\n'))
        with open('/dev/full', 'w', encoding='ascii') as full:
            done = subprocess.run([HOSTLAT, 'report', good, '-o', f'/dev/fd/{full.fileno()}'], capture_output=True, text=True,
                                  pass_fds=[full.fileno()], check=False)
        self.assertEqual((done.returncode, 'No space left' in done.stderr), (2, True), done)


if __name__ == '__main__':
    unittest.main()
