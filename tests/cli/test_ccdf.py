#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load --ccdf, from a recording and live: test_ccdf.py MKLOAD HOSTLAT"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import unittest

MKLOAD, HOSTLAT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))


class Ccdf(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.addCleanup(self.tmp.cleanup)

    def path(self, name):
        return os.path.join(self.tmp.name, name)

    def record(self, script):
        with open(self.path('script'), 'w', encoding='utf-8') as f:
            f.write(script)
        subprocess.run([MKLOAD, self.path('script'), self.path('recording')], check=True)

    def load(self, *words):
        done = subprocess.run([HOSTLAT, 'load', '--json', *words], capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)
        return done.returncode, json.loads(done.stdout or 'null'), done.stderr.decode()

    def rows(self):
        with open(self.path('ccdf'), encoding='utf-8', newline='') as f:
            return list(csv.DictReader(f))

    def check(self, result, latency):
        """Against the histogram of the same result: each edge, and the share above it."""
        rows, above = self.rows(), result['latency'][latency]['count']
        count = above
        buckets = [b for b in result['histogram']['buckets'] if b['le_ns'] is not None]
        self.assertEqual(result['histogram']['of'], latency)
        self.assertEqual([int(r['ns']) for r in rows], [b['le_ns'] for b in buckets])
        for row, bucket in zip(rows, buckets):
            above -= bucket['count']
            self.assertAlmostEqual(float(row['share_above']), above / count, places=8)
        return rows

    def band(self, rows):
        for row in rows:
            self.assertLessEqual(float(row['lo']), float(row['share_above']))
            self.assertGreaterEqual(float(row['hi']), float(row['share_above']))
        return max(float(r['hi']) - float(r['lo']) for r in rows)

    def test_recorded(self):
        self.record('service exponential:100us\n')
        args = '--from', self.path('recording'), '--ccdf', self.path('ccdf')
        code, result, _ = self.load(*args)
        self.assertEqual(code, 0)
        narrow = self.band(self.check(result, 'intended'))
        self.assertLess(narrow, 0.1)
        self.load(*args, '--confidence', '99.9')
        self.assertGreater(self.band(self.rows()), 1.2 * narrow)

    def test_closed_loop(self):
        self.record('setup loop closed\nsetup connections 4\nconnections 4\n'
                    'setup max_time_ns 2000000000\n')
        _, result, _ = self.load('--from', self.path('recording'), '--ccdf', self.path('ccdf'))
        self.check(result, 'actual')

    def test_no_valid_band(self):
        self.record('setup max_time_ns 5000000\n')
        _, result, _ = self.load('--from', self.path('recording'), '--ccdf', self.path('ccdf'))
        rows = self.check(result, 'intended')
        self.assertTrue(rows)
        self.assertEqual({(r['lo'], r['hi']) for r in rows}, {('', '')})

    def test_live(self):
        _, result, _ = self.load('null:', '--rate', '1000', '--for', '300ms', '--threads', '1',
                                 '--ccdf', self.path('ccdf'))
        self.check(result, 'intended')

    def test_not_to_be_written(self):
        self.record('setup max_time_ns 2000000000\n')
        code, _, errors = self.load('--from', self.path('recording'), '--ccdf', '/nowhere/ccdf')
        self.assertEqual(code, 2)
        self.assertIn("cannot write the CCDF to /nowhere/ccdf", errors)
        code, result, _ = self.load('--from', self.path('recording'), '--ccdf', '/dev/full')
        self.assertEqual(code, 3)
        self.assertIn('ccdf-incomplete', [r['code'] for r in result['reasons']])

    def test_only_whole(self):
        with open(self.path('recording'), 'w', encoding='utf-8') as f:
            f.write('no recording\n')
        code, _, _ = self.load('--from', self.path('recording'), '--ccdf', self.path('ccdf'))
        self.assertEqual(code, 2)
        self.assertFalse(os.path.exists(self.path('ccdf')))
        self.assertNotEqual(self.load('--rates', '1k:2k:1k', 'null:', '--ccdf', 'x')[0], 0)


if __name__ == '__main__':
    unittest.main()
