#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the plots of load draw: the rows in JSON, and --plot: test_plots.py MKLOAD HOSTLAT"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

import ptys

MKLOAD, HOSTLAT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
UTF8 = {'LC_ALL': 'C.UTF-8'}
S = 10**9


class Plots(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.addCleanup(self.tmp.cleanup)
        self.recording = self.path('recording')

    def path(self, name):
        return os.path.join(self.tmp.name, name)

    def record(self, script):
        with open(self.path('script'), 'w', encoding='utf-8') as f:
            f.write(script)
        subprocess.run([MKLOAD, self.path('script'), self.recording], check=True)

    def load(self, *words, env=None):
        done = subprocess.run([HOSTLAT, 'load', *words], capture_output=True, env=env or UTF8,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def shown(self, columns, *words):
        """What a terminal of this width gets."""
        code, text = ptys.shown([HOSTLAT, 'load', *words], UTF8, columns, stderr=False)
        return text.splitlines(), code

    def result(self, *words):
        return json.loads(self.load('--json', '--from', self.recording, *words)[1])

    def check_rows(self, result, latency='intended'):
        """Stretches follow each other, and have each request once."""
        rows = result['over_time']
        self.assertTrue(1 <= len(rows) <= 64)
        self.assertLess(rows[0]['from_ns'], 0.1 * S)
        self.assertEqual([r['from_ns'] for r in rows[1:]], [r['to_ns'] for r in rows[:-1]])
        self.assertGreaterEqual(sum(r['count'] for r in rows), result['latency'][latency]['count'])
        used = [r for r in rows if not r['warmup']]
        self.assertLessEqual(sum(r['count'] for r in used), result['latency'][latency]['count'])
        values = sorted(r['p50_ns'] for r in used)
        quantiles = {q['q']: q['ns'] for q in result['latency'][latency]['quantiles']}
        self.assertTrue(values[0] <= quantiles[0.5] <= values[-1])
        return rows

    def test_gaps_and_looks(self):
        self.record('setup ci_width_ns 1000\nsetup max_time_ns 64000000000\nsetup all_rate 1000\n'
                    'service exponential:200us\nnoise 41s 60ms\nnoise 50s 1ms\n')
        result = self.result()
        rows = self.check_rows(result)
        self.assertEqual(result['method']['looks'], 2)
        self.assertEqual([r['from_ns'] < 32 * S <= r['to_ns'] for r in rows], [r['look'] for r in rows])
        gaps = [r for r in rows if r['gap_share']]
        self.assertEqual([r['from_ns'] <= at < r['to_ns'] for r, at in zip(gaps, (41 * S, 50 * S))], [True, True])
        self.assertEqual([r['disturbed'] for r in gaps], [True, False])
        self.assertAlmostEqual(gaps[0]['gap_share'] * (gaps[0]['to_ns'] - gaps[0]['from_ns']), 6e7, delta=1e4)
        self.assertFalse(any(r['disturbed'] for r in rows if not r['gap_share']))
        # Half of what lies beyond the median is more than a gap of 60 ms.
        self.assertFalse(any(r['disturbed'] for r in self.result('--percentile', '50')['over_time']))

    def test_decided_by_a_look(self):
        self.record('setup ci_width_ns 1000000\nsetup max_time_ns 64000000000\nsetup all_rate 1000\n'
                    'service exponential:200us\n')
        rows = self.check_rows(self.result())
        self.assertEqual([r['look'] for r in rows], [False] * (len(rows) - 1) + [True])
        self.assertAlmostEqual(rows[-1]['to_ns'], 32 * S, delta=0.6 * S)

    def test_a_stall_is_seen_where_it_was(self):
        self.record('service exponential:100us\nstall 400ms 10s\n')
        rows = [r for r in self.check_rows(self.result()) if not r['warmup']]
        slow = [r for r in rows if r['tail_ns'] > 10**8]
        self.assertTrue(slow)
        for r in slow:
            stalls = range(0, 30 * S, 10 * S)
            self.assertTrue(any(r['from_ns'] < at + 0.9 * S and r['to_ns'] > at for at in stalls), r)

    def test_too_few_for_a_percentile(self):
        self.record('setup max_time_ns 4000000000\nsetup all_rate 100\n')
        rows = self.check_rows(self.result())
        self.assertTrue(8 <= len(rows) < 16)
        self.assertEqual({r['tail_ns'] for r in rows}, {None})
        self.assertIsNotNone(rows[0]['p50_ns'])
        code, text, _ = self.load('--from', self.recording, '--plot')
        self.assertIn('o p50', text)
        self.assertEqual(code, 3)

    def test_closed_loop_and_lancet(self):
        self.record('setup loop closed\nsetup connections 4\nconnections 4\nsetup max_time_ns 2000000000\n')
        self.check_rows(self.result(), 'actual')
        self.record('service exponential:100us\n')
        self.assertFalse(any(r['look'] for r in self.check_rows(self.result('--method', 'lancet'), 'actual')))

    def test_curve_is_that_of_the_file(self):
        self.record('service exponential:100us\n')
        result = self.result('--ccdf', self.path('ccdf'))
        with open(self.path('ccdf'), encoding='utf-8', newline='') as f:
            file = {int(r['ns']): r for r in csv.DictReader(f)}
        rows = result['ccdf']
        self.assertTrue(40 < len(rows) < 200)
        for row in rows:
            for field, column in ('share', 'share_above'), ('lo', 'lo'), ('hi', 'hi'):
                self.assertAlmostEqual(row[field], float(file[row['ns']][column]), places=6)
        self.assertEqual((rows[0]['ns'], rows[-1]['ns'], rows[-1]['share']), (min(file), max(file), 0))
        self.assertTrue(all(a['share'] > b['share'] for a, b in zip(rows, rows[1:])))

    def test_no_valid_band(self):
        self.record('setup max_time_ns 5000000\n')
        rows = self.result()['ccdf']
        self.assertTrue(rows)
        self.assertEqual({(r['lo'], r['hi']) for r in rows}, {(None, None)})

    def test_needed(self):
        self.record('service exponential:100us\nstall 300ms 20s\nsetup max_time_ns 64000000000\n')
        result = self.result()
        needed = {r['q']: r for r in result['sampling']}
        few = {q['q']: q['needed'] for q in result['latency']['intended']['quantiles'] if q['needed']}
        self.assertTrue(few)
        for q, n in few.items():
            self.assertEqual(needed[q]['needed'], n)
            self.assertGreater(n, needed[q]['count'])
        self.assertLess(needed[0.5]['needed'], needed[0.5]['count'])
        _, text, _ = self.load('--from', self.recording, '--plot')
        lines = text[text.index('requests needed for an interval'):].splitlines()[2:]
        self.assertEqual([line.split()[0] for line in lines if 'too few' in line],
                         [f'p{100 * q:g}' for q in needed if q in few])

    def test_short_gaps_do_not_disturb(self):
        """Gaps of 100 us, for 1 % of the time, matter to a p99 of 500 us and not to one of 10 ms."""
        for service, disturbed in ('exponential:2ms', False), ('exponential:100us', True):
            gaps = ''.join(f'noise {at}ms 100us\n' for at in range(20, 8990, 10))
            self.record(f'setup max_time_ns 9000000000\nservice {service}\n{gaps}')
            rows = self.check_rows(self.result())[2:-2]
            for row in rows:
                self.assertAlmostEqual(row['gap_share'], 0.01, delta=0.002)
            self.assertEqual({row['disturbed'] for row in rows}, {disturbed})

    def test_unknown_need_and_no_band(self):
        """In a run of too few windows for an interval, neither the need nor a band is known."""
        self.record('interrupt 50ms\nservice exponential:100us\n')
        result = self.result()
        why = {q['q']: q['why'] for q in result['latency']['intended']['quantiles']}
        self.assertEqual(set(why.values()), {'short-run'})
        self.assertEqual({row['needed'] for row in result['sampling']}, {None})
        _, text, _ = self.load('--from', self.recording, '--plot')
        self.assertIn('o share, no valid confidence band\n', text)
        self.assertEqual([line.split()[1] for line in text.splitlines()[-len(why):]], ['n/a'] * len(why))

    def test_only_on_request(self):
        self.record('service exponential:100us\n')
        _, plain, _ = self.load('--from', self.recording)
        _, plotted, _ = self.load('--from', self.recording, '--plot')
        self.assertTrue(plotted.startswith(plain))
        self.assertGreater(plotted.count('\n'), plain.count('\n') + 20)
        self.assertLessEqual(max(len(line) for line in plotted[len(plain):].splitlines() if '|' in line[:14]), 76)

    def test_narrow_terminals(self):
        self.record('service exponential:100us\nnoise 5s 60ms\n')
        for columns, wanted in (40, 40), (61, 61), (80, 76), (300, 76):
            lines, code = self.shown(columns, '--from', self.recording, '--plot')
            self.assertIn(code, (0, 3))
            first = next(i for i, line in enumerate(lines) if line.startswith('latency over time'))
            self.assertLessEqual(max(len(line) for line in lines[first:]), max(columns, wanted))
            axes = [line for line in lines if line.strip(' -') == '+']
            self.assertEqual([len(line) for line in axes], [wanted, wanted])
            self.assertEqual('too few' in lines[-1] or '%' in lines[-1], columns > 64, lines[-1])

    def test_ascii(self):
        self.record('service exponential:100us\n')
        _, text, _ = self.load('--from', self.recording, '--plot')
        _, ascii_text, _ = self.load('--from', self.recording, '--plot', env={'LC_ALL': 'C'})
        self.assertTrue(ascii_text.isascii())
        self.assertEqual([len(line) for line in ascii_text.splitlines()], [len(line) for line in text.splitlines()])

    def test_live_and_recorded_are_the_same(self):
        _, live, _ = self.load('null:', '--rate', '2000', '--for', '500ms', '--record', self.recording, '--plot')
        self.assertIn('latency over time: ', live)
        self.assertEqual(self.load('--from', self.recording, '--plot')[1], live)

    def test_over_load(self):
        _, text, _ = self.load('null:', '--rates', '1k:3k:1k', '--for', '300ms', '--plot')
        head, plot = text.split('latency over load: ')
        self.assertIn('o p99, x n/a', plot)
        signs = ''.join(line[12:] for line in plot.splitlines()[1:9])
        sound = head.count('  ok')
        # Both runs of a rate may have the same place.
        self.assertLessEqual(signs.count('o'), sound)
        self.assertLessEqual(signs.count('x'), 6 - sound)
        self.assertGreaterEqual(signs.count('o') + signs.count('x'), 3)
        self.assertNotIn('latency over time', text)

    def test_refused(self):
        for words, other in (('--json', 'json'), ('--json-lines', 'json-lines'),
                             ('--repeat 2', 'repeat'), ('--against null:', 'against')):
            code, text, errors = self.load('null:', '--rate', '1000', '--plot', *words.split())
            self.assertEqual((code, text), (1, ''))
            self.assertIn('--plot cannot be combined with --' + other, errors)


if __name__ == '__main__':
    unittest.main()
