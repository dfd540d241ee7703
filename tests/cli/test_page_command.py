#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command on the report page measures the same again: test_page_command.py HOSTLAT MKTRACE MKLOAD"""
import json
import os
import re
import shlex
import socket
import subprocess
import time

import pagedata
from test_page import HOSTLAT, Case, main

# Options whose value no recording has: secrets, files beside them, the way to other hosts; or that a run draws anew.
UNRECORDED = {'key', 'agent-command', 'seed'}
# Options of several runs, of files and of what is printed: they are not of one run's set-up.
OTHERS = {'size-limit', 'repeat', 'rates', 'find-max', 'against', 'from', 'record', 'assert', 'assert-seen', 'tolerate', 'plot', 'histogram', 'ccdf', 'samples',
          'csv'}
COMMAND = "(document.querySelector('.strip [data-fact=command] code') || {}).textContent"


class Command(Case):
    def words(self, document):
        """The command that the page shows, and whether the options of the JSON are in it."""
        page = self.open(document)
        command = page.run(COMMAND)
        self.clean(page)
        return shlex.split(command)

    def run_load(self, *words, code=(0, 3)):
        done = subprocess.run([HOSTLAT, 'load', *words, '--json'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                              env={**os.environ, 'LOGIN': 'somebody:s3cret'})
        self.assertIn(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def serve(self, protocol):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
        server = subprocess.Popen([HOSTLAT, 'serve', f'127.0.0.1:{port}', '--protocol', protocol], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.terminate(), server.wait(20)))
        for _ in range(200):
            try:
                socket.create_connection(('127.0.0.1', port), 5).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        return f'{protocol}://127.0.0.1:{port}'

    def options_of(self, words):
        return {w.removeprefix('--') for w in words if w.startswith('--')}

    def again(self, document):
        """A run by the page's command has the same set-up."""
        words = self.words(document)
        self.assertEqual(words[:2], ['hostlat', 'load'])
        after = self.run_load(*words[2:])
        self.assertEqual(after['setup']['options'], document['setup']['options'])
        return words

    def test_a_run_is_repeated(self):
        seen = set()
        path = os.path.join(self.temporary.name, 'times')
        with open(path, 'w', encoding='utf-8') as f:
            f.write('\n'.join(str(i * 500000) for i in range(600)) + '\n')
        for words in (
                ('null:', '--rate', '1500.5', '--connections', '4', '--outstanding', '3', '--arrival', 'lognormal:1.5', '--for', '300ms', '--timeout', '1500ms',
                 '--requests-per-connection', '500', '--percentile', '99.5', '--confidence', '90', '--max-errors', '1%', '--abort-on', 'errors>5%', '--excise',
                 '--threads', '2', '--drain', '50ms', '--priority', 'normal', '--ci-width', '5us'),
                ('null:', '--loop', 'closed', '--connections', '2', '--for', '200ms', '--method', 'lancet', '--timestamps', 'user'),
                ('null:', '--arrival', path, '--connections', '2', '--for', '400ms')):
            document = self.run_load(*words)
            shown = self.again(document)
            given = self.options_of(words) - ({'timestamps'} if 'user' in words else set())
            self.assertEqual(given - self.options_of(shown), set())
            seen |= self.options_of(shown)
        self.assertNotIn('--rate', self.words(document))       # a file of times has its own
        self.assertIn('lancet', ' '.join(self.words(self.run_load(*words[:1], '--rate', '1k', '--for', '200ms', '--method', 'lancet'))))

    def test_requests_are_repeated(self):
        """Options of HTTP and Redis, a replay with its own speed; a word with blanks or quotes is quoted."""
        replay = os.path.join(self.temporary.name, "it's a replay.csv")
        with open(replay, 'w', encoding='utf-8') as f:
            f.write('time,method,path\n' + ''.join(f'{i / 1000},GET,/{i}\n' for i in range(300)))
        url = self.serve('http')
        for words in ((url, '--rate', '500', '--connections', '2', '--for', '200ms', '--header', 'X-What: some words', '--http-method', 'PUT', '--body', "a 'b' c",
                       '--expect', '200,3xx', '--connect-to', '127.0.0.1'),
                      (url, '--replay', replay, '--replay-speed', '2', '--connections', '2'),
                      (url, '--replay', replay, '--rate', '400', '--for', '200ms', '--connections', '2')):
            shown = self.again(self.run_load(*words))
            self.assertEqual(self.options_of(words) - self.options_of(shown), set())
            for word in words[1:]:
                if not word.startswith('--') and ' ' in word:
                    self.assertIn(word, shown)
        url = self.serve('redis')
        words = (url, '--rate', '500', '--connections', '2', '--for', '200ms', '--command', '3:HSET {key} field {value}', '--command', 'PING')
        self.assertEqual([w for w in self.again(self.run_load(*words)) if 'HSET' in w or 'PING' in w], ['3:HSET {key} field {value}', 'PING'])

    def test_secrets_stay_secret(self):
        url = self.serve('http')
        for words, kept in ((('--header', 'Authorization: Bearer s3cret'), 'Authorization: ***'), (('--auth', 'basic:env:LOGIN'), 'basic:env:LOGIN')):
            document = self.run_load(url, '--rate', '200', '--for', '200ms', *words)
            shown = self.words(document)
            self.assertNotIn('s3cret', json.dumps(document) + ' '.join(shown))
            self.assertIn(kept, shown)

    def test_every_option_has_its_place(self):
        """A new option of the load is in the table that the command is made of, or in a list here that says why not."""
        helped = subprocess.run([HOSTLAT, 'load', '--help-all'], stdout=subprocess.PIPE, text=True, check=True, timeout=20).stdout
        sections = re.split(r'^(\w[\w ]*):$', helped, flags=re.MULTILINE)
        wanted = set()
        for title, body in zip(sections[1::2], sections[2::2]):
            if title in ('Target', 'Load', 'Measure', 'Stop'):
                wanted |= set(re.findall(r'^ +(?:-\w, )?--([\w-]+)', body, re.MULTILINE))
        self.assertGreater(len(wanted), 30, helped[:2000])
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'src', 'load', 'setup_options.c')
        with open(source, encoding='utf-8') as f:
            named = set(re.findall(r'"([a-z-]+)"', f.read()))
        with open(os.path.join(os.path.dirname(source), 'request_options.c'), encoding='utf-8') as f:
            named |= set(re.findall(r'\{ "([a-z-]+)", ', f.read())) | set(re.findall(r'"([a-z-]+)", o->', f.read())) | {'header', 'body', 'auth', 'connect-to', 'sni', 'tls-resumption'}
        self.assertEqual(wanted - named - UNRECORDED - OTHERS, set())

    def test_explain_has_its_own_options(self):
        """What explain sets itself is not repeated: it would be refused."""
        document = pagedata.explain()
        document['load']['setup']['options'] = [{'name': None, 'value': 'redis://db1'}, {'name': 'rate', 'value': '500'}, {'name': 'command', 'value': 'GET {key}'},
                                                {'name': 'timestamps', 'value': 'kernel'}, {'name': 'priority', 'value': 'normal'}, {'name': 'preload', 'value': None}]
        self.assertEqual(self.words(document), ['hostlat', 'explain', 'redis://db1', '--rate', '500', '--command', 'GET {key}', '--preload'])

    def test_comparison(self):
        self.assertEqual(self.words(self.golden('compare/several-slower'))[:3], ['hostlat', 'compare', '--a'])
        self.assertEqual(self.words(pagedata.comparison()), ['hostlat', 'compare', 'before.hlat', 'after.hlat'])


if __name__ == '__main__':
    main()
