#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rate of a load without --rate, against a server whose limit is known: test_rate.py HOSTLAT"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HOSTLAT = os.path.abspath(sys.argv.pop())
SERVICE_MS = 5
BOUND = 1000 / SERVICE_MS       # requests per second that its one worker can serve
CHOSEN = re.compile(r'--rate (\S+) was chosen: one connection reached (\S+)/s')


def load(*words, code=(0, 3)):
    done = subprocess.run([HOSTLAT, 'load', *words], capture_output=True, text=True, timeout=100,
                          check=False)
    assert done.returncode in code, done.stderr
    return done


def two_digits(rate):
    """Rounded down."""
    step = 10 ** (len(str(int(rate))) - 2)
    return rate // step * step


class Rate(unittest.TestCase):
    def setUp(self):
        self.server = subprocess.Popen([HOSTLAT, 'serve', '127.0.0.1:0', '--protocol', 'http', '--service',
                                        f'fixed:{SERVICE_MS}ms'], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       text=True)
        line = self.server.stderr.readline()
        self.url = 'http://' + re.search(r'127\.0\.0\.1:\d+', line)[0] + '/'

    def tearDown(self):
        self.server.terminate()
        self.server.communicate(timeout=30)

    def check(self, document):
        probed, rate = document['setup']['rate_probed'], document['rate']['target']
        self.assertGreater(probed, 0)
        self.assertLessEqual(probed, BOUND * 1.01)
        self.assertAlmostEqual(rate, two_digits(probed / 2))
        return rate

    def test_chosen(self):
        """The server can bear it; it is said, in the result and in what is recorded, too."""
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, 'r')
            done = load(self.url, '--for', '300ms', '--record', recording, '--json')
            rate = self.check(json.loads(done.stdout))
            again = load('--from', recording, '--json')
            self.assertEqual(self.check(json.loads(again.stdout)), rate)
            text = load('--from', recording).stdout
        self.assertEqual(float(CHOSEN.search(done.stderr)[1]), rate)
        self.assertIn('/s, one request at a time; --rate sets another', text)

    def test_given(self):
        """Nothing is sent before, and nothing is said."""
        for how in ('--rate', '20'), ('--loop', 'closed'):
            done = load(self.url, '--for', '300ms', '--json', *how)
            self.assertNotIn('rate_probed', json.loads(done.stdout)['setup'])
            self.assertNotIn('chosen', done.stderr)

    def test_once_for_many_runs(self):
        done = load(self.url, '--for', '200ms', '--repeat', '2', '--json')
        self.assertEqual(len(CHOSEN.findall(done.stderr)), 1)
        self.assertEqual({run['rate'] for run in json.loads(done.stdout)['runs']},
                         {float(CHOSEN.search(done.stderr)[1])})

    def test_own_times(self):
        """Recorded requests have times, and need no rate."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'requests.csv')
            with open(path, 'w', encoding='ascii') as f:
                f.write('time,method,path\n' + ''.join(f'{i / 20},GET,/\n' for i in range(8)))
            done = load(self.url, '--replay', path, '--json')
        self.assertNotIn('chosen', done.stderr)

    def test_no_answer(self):
        """Where no request succeeds there is no rate, and no result."""
        done = load(self.url, '--expect', '404', code=(2,))
        self.assertEqual(done.stderr, 'hostlat: no rate could be chosen: no request succeeded within 1 s; set --rate\n')
        self.assertEqual(done.stdout, '')


unittest.main()
