#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests which recordings `hostlat fleet report` counts, and what it says of them:
test_fleet.py MKCONNS HOSTLAT"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HOSTLAT, MKCONNS = os.path.abspath(sys.argv.pop()), os.path.abspath(sys.argv.pop())
REALTIME_S = 1700000000
CONN = 'conn 21 1 2s comm=nginx flags=sent-last at-flight=25'
CLOCK = 'clock {ahead}s 1us'
RACKS = 'host,rack\nweb1,r1\n'


def script(host='web1', start=1000, boot=REALTIME_S - 1000, intervals=5, conn=CONN, facts=(), last='last',
           set_at=None):
    """A run of `intervals` of 2 s: `start` is monotonic, `boot` the realtime when that was 0. In
    the interval `set_at`, the clock is 30 s ahead."""
    lines = [f'fact run.host {host}', f'fact run.started_ns {boot + start}000000000', 'fact run.pid 11',
             'fact kernel.release 6.1.0', *(f'fact {key} {value}' for key, value in facts),
             f'start {start}s', CLOCK.format(ahead=boot), 'flow 1 10.0.0.1:33000 10.0.0.2:80']
    for k in range(intervals):
        ahead = boot if set_at is None or k < set_at else boot + 30
        lines += [conn, CLOCK.format(ahead=ahead) + (' stepped' if k == set_at else ''), f'interval 2s 1ms 1ms {last if k == intervals - 1 else ""}']
    return '\n'.join(lines) + '\n'


class Recordings(unittest.TestCase):
    """Tests with a folder of recordings."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.made = 0

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(text)
        return self.path(name)

    def make(self, text):
        self.made += 1
        path = self.path(f'{self.made}.hlat')
        subprocess.run([MKCONNS, self.write('script', text), path], check=True)
        return path

    def recording(self, **options):
        return self.make(script(**options))


class Fleet(Recordings):
    def ask(self, *words, code=0):
        done = subprocess.run([HOSTLAT, 'fleet', 'report', *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr if code < 2 else ''), (code, ''), done.stderr)
        return done.stdout

    def report(self, *words, code=0):
        return json.loads(self.ask(*words, '--json', code=code))

    def codes(self, document):
        return [reason['code'] for reason in document.get('reasons', [])]

    def test_recordings_of_a_host_continue_each_other(self):
        first, second = self.recording(), self.recording(start=1010)
        document = self.report(second, first)
        self.assertEqual(document['fleet']['connections'], 1)
        self.assertEqual([each['connections'] for each in document['recordings']], [1, 1])
        self.assertEqual([each['file'] for each in document['recordings']], [first, second])
        self.assertEqual(self.codes(document), [])

    def test_a_boot_makes_other_connections(self):
        document = self.report(self.recording(), self.recording(start=100, boot=REALTIME_S + 100))
        self.assertEqual(document['fleet']['connections'], 2)

    def test_own_connections_are_left_out(self):
        document = self.report(self.recording(conn=CONN.replace('sent-last', 'self')))
        self.assertEqual((document['recordings'][0]['own'], document['fleet']['connections']), (1, 0))

    def test_times_are_realtime(self):
        document = self.report(self.recording(), self.recording(host='db', start=5000, boot=REALTIME_S - 5002))
        by_host = {each['host']: each for each in document['recordings']}
        self.assertEqual(by_host['web1']['from_ns'], REALTIME_S * 10**9)
        self.assertEqual(by_host['db']['from_ns'], (REALTIME_S - 2) * 10**9)
        self.assertEqual(document['fleet']['from_ns'], (REALTIME_S - 2) * 10**9)
        self.assertEqual(document['fleet']['to_ns'], (REALTIME_S + 10) * 10**9)

    def test_a_killed_run(self):
        document = self.report(self.recording(last=''), code=3)
        self.assertEqual(self.codes(document), ['recording-incomplete'])

    def test_a_damaged_recording(self):
        path = self.recording(intervals=400)
        with open(path, 'r+b') as file:
            file.truncate(os.path.getsize(path) // 2)
        document = self.report(path, self.recording(host='web2'), code=3)
        self.assertEqual(self.codes(document), ['damaged'])
        self.assertIn(path, document['reasons'][0]['message'])
        self.assertNotIn('2.hlat', document['reasons'][0]['message'])

    def test_lost_events(self):
        document = self.report(self.recording(conn=f'{CONN}\nlost 3'), code=3)
        self.assertEqual(self.codes(document), ['events-lost'])
        self.assertEqual(document['recordings'][0]['lost'], 15)

    def test_a_clock_that_was_set(self):
        path = self.recording(set_at=2)
        document = self.report(path, code=3)
        self.assertEqual(self.codes(document), ['clock-set'])
        self.assertEqual(document['recordings'][0]['untimed'], 1)

    def test_clocks(self):
        good = ('clock.synchronized', 'yes'), ('clock.max_error_us', 900)
        paths = [self.recording(facts=good),
                 self.recording(host='web2', facts=(good[0], ('clock.max_error_us', 600000))),
                 self.recording(host='web3', facts=(('clock.synchronized', 'no'), ))]
        document = self.report(*paths)
        self.assertEqual([each['clock_error_ns'] for each in document['recordings']], [901000, 600001000, None])
        found = '\n'.join(document['findings'])
        self.assertIn('The clock of web2 may be off by more than a quarter of --step 2.0 s', found)
        self.assertIn('The clock of web3 was not synchronized', found)
        self.assertNotIn('clock of web1', found)
        self.assertNotIn('may be off', self.ask(*paths, '--step', '3s'))
        self.assertNotIn('clock', '\n'.join(self.report(paths[2])['findings']))

    def test_hosts_without_a_rack(self):
        paths = [self.recording(), self.recording(host='web2')]
        racks = self.write('racks.csv', RACKS)
        self.assertIn('1 of 2 hosts is in no rack: --topology has no row with a rack of web2.',
                      self.ask(*paths, '--topology', racks))
        self.assertNotIn('in no rack', self.ask(*paths))
        self.assertEqual([each['rack'] for each in self.report(*paths, '--topology', racks)['recordings']],
                         ['r1', None])

    def test_names_do_not_reach_the_terminal(self):
        path = self.recording(host='"web\x1b]0;x\x07"', conn=CONN.replace('nginx', '"a\x1b[2Jb"'))
        self.assertNotIn('\x1b', self.ask(path, self.recording(host='web2'), '--topology', self.write('r.csv', RACKS)))
        self.assertNotIn('\x1b', self.ask(path, '--json'))

    def test_many_files(self):
        paths = [self.recording(host=f'h{i}', intervals=1) for i in range(70)]
        self.assertEqual(self.report(*paths)['fleet']['hosts'], 70)

    def test_the_paper(self):
        path = self.recording()
        self.assertEqual(self.report(path, '--paper')['paper'], [])
        self.assertNotIn('paper', self.report(path))

    def test_a_pipe(self):
        with open(self.recording(), 'rb') as file:
            done = subprocess.run([HOSTLAT, 'fleet', 'report', '-'], input=file.read(), capture_output=True,
                                  timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b'is a pipe', done.stderr)


if __name__ == '__main__':
    unittest.main()
