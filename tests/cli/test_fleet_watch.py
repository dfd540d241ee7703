#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what `hostlat fleet watch` prints while recordings and a store grow, go away and come back:
test_fleet_watch.py MKCONNS HOSTLAT"""
import glob
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import unittest

from test_fleet import HOSTLAT, MKCONNS

RACKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fleet', 'two-racks')
TABLES = [word for name in ('hosts', 'links') for word in ('--topology', os.path.join(RACKS, f'{name}.csv'))]
LOSSY, QUIET = True, False
LOOK = ('--every', '1s', '--last', '2m')
PATIENCE_S = 60


def script(path, parts):
    """The recording of `path` with other intervals: of each part (lossy, intervals)."""
    with open(path, encoding='utf-8') as file:
        head, loop = file.read().split('repeat 60\n')
    clean = re.sub(r' fast_retransmit=.*', '', loop)
    return head + ''.join(f'repeat {n}\n{loop if lossy else clean}' for lossy, n in parts)


class Watch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.watch = None

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def record(self, *parts):
        """Replaces all recordings at one moment, as the watch sees it."""
        paths = []
        for source in sorted(glob.glob(os.path.join(RACKS, 'conns*'))):
            path = self.path(os.path.basename(source) + '.hlat')
            with open(self.path('script'), 'w', encoding='utf-8') as file:
                file.write(script(source, parts))
            subprocess.run([MKCONNS, self.path('script'), path + '.new'], check=True)
            paths.append(path)
        self.signal(signal.SIGSTOP)
        for path in paths:
            os.rename(path + '.new', path)
        self.signal(signal.SIGCONT)
        return paths

    def fleet(self, *words, code=0):
        done = subprocess.run([HOSTLAT, 'fleet', *words], capture_output=True, text=True, timeout=PATIENCE_S,
                              stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout or done.stderr

    def start(self, *words):
        self.watch = subprocess.Popen([HOSTLAT, 'fleet', 'watch', *words], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, signal.SIGKILL)

    def end(self, number):
        self.signal(number)
        out, err = self.watch.communicate(timeout=PATIENCE_S)
        self.assertEqual(err, b'')
        return self.watch.returncode, out.decode()

    def signal(self, number):
        if self.watch and self.watch.poll() is None:
            self.watch.send_signal(number)

    def line(self):
        ready, _, _ = select.select([self.watch.stdout], [], [], PATIENCE_S)
        self.assertTrue(ready, 'no line')
        line = b''
        while not line.endswith(b'\n'):
            byte = os.read(self.watch.stdout.fileno(), 1)
            self.assertTrue(byte, line)
            line += byte
        return line.decode()

    def change(self, *events):
        """The next change, which is one of `events`."""
        document = json.loads(self.line())
        self.assertEqual(document['hostlat']['command'], 'fleet')
        self.assertIn(document['change']['event'], events)
        return document['change']

    def test_a_problem_begins_goes_on_and_ends(self):
        parts = [(QUIET, 60)]
        self.start(*self.record(*parts), *TABLES, *LOOK, '--json')
        self.change('stale')
        self.change('nothing')
        parts.append((LOSSY, 60))
        self.record(*parts)
        begins = self.change('begins')
        self.assertEqual([begins[key] for key in ('kind', 'name', 'problem', 'affected', 'hosts')],
                         ['link', 'uplink', 'fast-retransmit', 18, 6])
        self.assertEqual(begins['to_ns'] - begins['from_ns'], 120 * 10**9)
        self.assertEqual(begins['since_ns'], begins['to_ns'])
        parts.append((LOSSY, 60))
        self.record(*parts)
        self.assertEqual(self.change('goes-on')['since_ns'], begins['since_ns'])
        self.record(*parts, (QUIET, 60))
        self.record(*parts, (QUIET, 60))
        select.select([self.watch.stdout], [], [], 3)
        self.assertFalse(select.select([self.watch.stdout], [], [], 0)[0], 'one look without it ended it')
        self.record(*parts, (QUIET, 61))
        self.assertEqual(self.change('ends')['since_ns'], begins['since_ns'])
        self.change('nothing')
        self.assertEqual(self.end(signal.SIGTERM), (0, ''))

    def test_lines_of_text(self):
        paths = self.record((LOSSY, 60))
        self.start(*paths, *TABLES, *LOOK, '--count', '2')
        self.assertRegex(self.line(), r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  stale    No data is newer than 2023-')
        headline = self.fleet('report', *paths, *TABLES).split('\n', maxsplit=1)[0]
        self.assertEqual(self.line(), f'2023-11-14T22:15:20Z  begins   {headline}\n')
        self.assertEqual((self.watch.wait(PATIENCE_S), self.watch.stdout.read()), (0, b''))

    def test_the_numbers_are_those_of_the_report(self):
        paths = self.record((LOSSY, 60))
        report = json.loads(self.fleet('report', *paths, *TABLES, '--json'))['groups'][0]
        self.start(*paths, *TABLES, *LOOK, '--json', '--count', '1')
        self.change('stale')
        begins = self.change('begins')
        for key in ('kind', 'name', 'problem', 'evidence', 'hosts', 'connections', 'affected', 'share', 'share_others',
                    'lost_ns', 'p_value', 'from_ns', 'to_ns'):
            self.assertEqual(begins[key], report[key], key)

    def test_output_is_there_at_once(self):
        self.start(*self.record((LOSSY, 60)), *LOOK, '--count', '1', '--output', self.path('out'))
        self.assertEqual(self.watch.wait(PATIENCE_S), 0)
        with open(self.path('out'), encoding='utf-8') as file:
            self.assertEqual([line.split()[1] for line in file], ['stale', 'begins'])

    def test_a_recording_goes_away(self):
        paths = self.record((QUIET, 60))
        self.start(*paths, *LOOK, '--json-lines')
        self.change('stale')
        self.change('nothing')
        os.rename(paths[0], self.path('elsewhere'))
        self.assertIn(paths[0], self.change('away')['text'])
        os.rename(self.path('elsewhere'), paths[0])
        self.change('back')
        self.assertEqual(self.end(signal.SIGINT), (3, ''))

    def test_a_store_grows_goes_away_and_comes_back(self):
        store = self.path('fleet.db')
        self.fleet('init', '--store', store)
        ingest = ['ingest', '--store', store, '--window', '2m']
        self.fleet(*ingest, *self.record((QUIET, 60)))
        self.start('--store', store, *TABLES, *LOOK, '--json')
        self.change('stale')
        self.change('nothing')
        os.rename(store, store + '.away')
        self.assertIn('fleet.db', self.change('away')['text'])
        os.rename(store + '.away', store)
        self.change('back')
        self.signal(signal.SIGSTOP)
        paths = self.record((QUIET, 60), (LOSSY, 60))
        self.signal(signal.SIGSTOP)
        self.fleet(*ingest, *paths)
        self.signal(signal.SIGCONT)
        self.assertEqual(self.change('begins')['name'], 'uplink')
        self.assertEqual(self.end(signal.SIGTERM), (3, ''))

    def test_a_clock_of_the_future(self):
        """A host whose clock is years ahead hides no others."""
        paths = self.record((LOSSY, 60))
        with open(self.path('script'), 'w', encoding='utf-8') as file:
            file.write(script(os.path.join(RACKS, 'conns6'), [(LOSSY, 60)]).replace('1699999000s', '7699999000s'))
        subprocess.run([MKCONNS, self.path('script'), paths[-1]], check=True)
        self.start(*paths, *TABLES, *LOOK, '--json')
        self.change('stale')
        self.assertLess(self.change('begins')['time_ns'], 1700001000 * 10**9)

    def test_too_few_for_a_test(self):
        """Where a report says n/a, a watch does not say that nothing is found."""
        with open(self.path('script'), 'w', encoding='utf-8') as file:
            file.write(re.sub(r'^conn (?!26).*\n', '', script(os.path.join(RACKS, 'conns'), [(LOSSY, 60)]), flags=re.MULTILINE))
        subprocess.run([MKCONNS, self.path('script'), self.path('one.hlat')], check=True)
        self.start(self.path('one.hlat'), *LOOK, '--json')
        self.change('stale')
        self.assertTrue(self.change('untested')['text'].startswith('n/a: '))

    def test_what_never_worked_ends(self):
        self.assertIn('make one', self.fleet('watch', '--store', self.path('none.db'), code=2))
        self.assertIn('none.hlat', self.fleet('watch', self.path('none.hlat'), code=2))

    def test_options_without_effect(self):
        for word in ('--since', '--until', '--window', '--keep'):
            self.assertIn(f'{word} has no effect on watch',
                          self.fleet('watch', 'x.hlat', word, '1h', code=1))
        for word in ('--all', '--paper'):
            self.assertIn(f'{word} has no effect', self.fleet('watch', 'x.hlat', word, code=1))
        self.assertIn('--reader has no effect', self.fleet('watch', 'x.hlat', '--reader', 'network', code=1))
        for words in (('--last', '1h'), ('--every', '1m'), ('--count', '1')):
            self.assertIn(f'{words[0]} has no effect on report',
                          self.fleet('report', 'x.hlat', *words, code=1))
        self.assertIn('watch needs recordings', self.fleet('watch', code=1))
        self.assertIn('watch takes recordings or --store', self.fleet('watch', 'x', '--store', 'y', code=1))
        self.assertIn('choose from --store', self.fleet('watch', 'x.hlat', '--except', 'web1', code=1))


if __name__ == '__main__':
    unittest.main()
