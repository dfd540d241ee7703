#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a load tells of the runs before it, and what it leaves for the next: test_history.py HOSTLAT"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

HOSTLAT = os.path.abspath(sys.argv.pop())
TOLD = '1 of the last 2 runs of this load, within a day, was unsound (host-noisy 1): this one may have met a ' \
       'quiet stretch; --repeat tells how much runs differ'


class History(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, 'hostlat', 'load-runs')
        server = subprocess.Popen([HOSTLAT, 'serve', '127.0.0.1:0', '--protocol', 'http'], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.communicate)
        self.addCleanup(server.terminate)
        self.url = 'http://' + re.search(r'127\.0\.0\.1:\d+', server.stderr.readline())[0] + '/'

    def load(self, *words):
        done = subprocess.run([HOSTLAT, 'load', *words, '--json'], capture_output=True, text=True, timeout=100,
                              check=False, env={**os.environ, 'XDG_STATE_HOME': self.folder})
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return json.loads(done.stdout)

    def lines(self):
        with open(self.file, encoding='utf-8') as file:
            return file.read().splitlines()

    def test_of_a_server(self):
        os.mkdir(os.path.dirname(self.file))
        with open(self.file, 'w', encoding='utf-8') as file:
            file.write(f'{time.time() - 60:.0f} ok 300/s p99 {self.url}\n'
                       f'{time.time() - 50:.0f} host-noisy 300/s p99 {self.url}\n'
                       f'{time.time() - 40:.0f} host-noisy 400/s p99 {self.url}\n')
        recording = os.path.join(self.folder, 'r')
        got = self.load(self.url, '--rate', '300', '--for', '500ms', '--record', recording)
        self.assertEqual(got['earlier_runs'], {'runs': 2, 'unsound': 1})
        self.assertEqual(TOLD in got['findings'], not got['reasons'])
        last = self.lines()[-1].split(' ', 2)
        self.assertEqual(last[1:], [','.join(r['code'] for r in got['reasons']) or 'ok', f'300/s p99 {self.url}'])
        self.assertEqual(len(self.lines()), 4)
        self.assertNotIn('earlier_runs', self.load(self.url, '--rate', '300', '--for', '200ms', '--no-history'))
        again = self.load('--from', recording)
        self.assertNotIn('earlier_runs', again)
        self.assertEqual(len(self.lines()), 4)

    def test_that_none_is_lost(self):
        """Loads that end at once: without a lock, the last to write would remove the others' lines."""
        command = [HOSTLAT, 'load', self.url, '--rate', '50', '--for', '200ms', '--json']
        for count in (6, 12):
            runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     env={**os.environ, 'XDG_STATE_HOME': self.folder}) for _ in range(6)]
            self.assertLessEqual({run.wait(100) for run in runs}, {0, 3})
            self.assertEqual(len(self.lines()), count)

    def test_without_a_server(self):
        self.assertNotIn('earlier_runs', self.load('null:', '--rate', '300', '--for', '300ms'))
        self.assertFalse(os.path.exists(self.file))


if __name__ == '__main__':
    unittest.main()
