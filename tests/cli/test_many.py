#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many short runs, without a network or against a server in this process: test_many.py HOSTLAT"""
import csv
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

HOSTLAT = os.path.abspath(sys.argv.pop(1))


class Once:
    """An HTTP server for one connection: nobody reaches it again."""

    def __init__(self, path):
        self.url = f'http+unix://{path}'
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        connection, _ = self.listener.accept()
        self.listener.close()
        with connection:
            while request := connection.recv(65536):
                replies = request.count(b'\r\n\r\n')
                connection.sendall(replies * b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')


class Cache:
    """A small memcached server that notes hostlat's requests; with `forgets`, each get finds
    nothing."""

    def __init__(self, path, forgets=False):
        self.url = f'memcached+unix://{path}'
        self.forgets, self.keys, self.stored = forgets, set(), 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile('rwb') as stream:
            while line := stream.readline():
                verb, key, *rest = line.split()
                if verb == b'set':
                    stream.read(int(rest[2]) + 2)
                    self.stored += 1
                    self.keys.add(key)
                    stream.write(b'STORED\r\n')
                elif key in self.keys and not self.forgets:
                    stream.write(b'VALUE %s 0 1\r\nx\r\nEND\r\n' % key)
                else:
                    stream.write(b'END\r\n')
                stream.flush()


class Many(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.addCleanup(self.tmp.cleanup)

    def path(self, name):
        return os.path.join(self.tmp.name, name)

    def load(self, *words):
        """Whether short runs are sound is not asked here: their exit code is 0 or 3."""
        done = subprocess.run([HOSTLAT, 'load', '--json', '--threads', '1', '--csv', self.path('csv'),
                               *words], capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
                              check=False)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        with open(self.path('csv'), encoding='utf-8', newline='') as f:
            return json.loads(done.stdout), list(csv.DictReader(f))

    def test_closed_loop(self):
        result, rows = self.load('null:', '--loop', 'closed', '--repeat', '2', '--for', '200ms',
                                 '--connections', '1')
        self.assertEqual(len(result['runs']), 2)
        for run, row in zip(result['runs'], rows):
            self.assertIsNone(run['rate'])
            self.assertEqual(row['rate'], '')
            self.assertGreater(run['achieved'], 0)
            self.assertGreater(run['count'], 0)
            self.assertGreater(run['p50_ns'], 0)

    def test_assert(self):
        """All runs together decide, although each is too short to be sound."""
        for limit, code, word in ('10s', 0, 'holds'), ('1ns', 4, 'fails'):
            done = subprocess.run([HOSTLAT, 'load', 'null:', '--json', '--loop', 'closed', '--repeat', '3', '--for',
                                   '200ms', '--connections', '1', '--percentile', '50', '--assert', f'p50<{limit}',
                                   '--assert', 'p50<10s'],
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            result = json.loads(done.stdout)
            self.assertEqual([row['result'] for row in result['asserts']], [word, 'holds'])
            self.assertEqual([row['of'] for row in result['asserts']], [3, 3])
            self.assertEqual([row['beyond'] for row in result['asserts']], [3 * (code == 4), 0])

    def test_seeds(self):
        """Each run has its own; the same ones again with the same --seed; one alone keeps it."""
        sweep = 'null:', '--for', '100ms', '--rates', '100:300:100'
        first, again, other = (
            [run['seed'] for run in self.load(*sweep, '--seed', seed)[0]['runs']]
            for seed in ('42', '42', '43'))
        self.assertEqual(first, again)
        self.assertEqual(len({42, *first, *other}), 13)
        self.assertLess(max(first + other), 1 << 53)
        alone = subprocess.run([HOSTLAT, 'load', '--json', 'null:', '--rate', '100', '--seed', '42',
                                '--for', '100ms'], capture_output=True, timeout=60, check=False)
        self.assertEqual(json.loads(alone.stdout)['setup']['seed'], 42)

    def test_sweep(self):
        """Each rate twice, in an order that the seed draws for each pass; the table is by rate."""
        def made(seed):
            runs, rows = self.load('null:', '--for', '100ms', '--rates', '10:50:10', '--seed', seed)
            runs = runs['runs']
            self.assertEqual([run['rate'] for run in runs], [rate for rate in range(10, 60, 10) for _ in '12'])
            self.assertEqual([int(row['run']) for row in rows], [run['run'] for run in runs])
            return [run['rate'] for run in sorted(runs, key=lambda run: run['run'])]
        orders = [made(seed) for seed in '123']
        for order in orders:
            self.assertEqual(sorted(order[:5]), sorted(order[5:]))
        passes = [order[i:i + 5] for order in orders for i in (0, 5)]
        self.assertGreater(len(set(map(tuple, passes))), 4)
        self.assertEqual(made('3'), orders[2])

    def test_no_run_is_sound(self):
        result, _ = self.load('null:', '--rates', '10:20:10', '--for', '100ms')
        self.assertEqual(result['verdict'], 'n/a')

    def test_names_in_csv(self):
        servers = [Once(self.path(name)) for name in ('a,b', 'c"d')]
        _, rows = self.load(servers[0].url, '--against', servers[1].url, '--connections', '1',
                            '--rate', '2k', '--repeat', '6', '--for', '6s')
        self.assertEqual({row['target'] for row in rows}, {server.url for server in servers})

    def test_preload_is_done_once(self):
        """The cache is filled once, before the runs; results report no misses, or only misses
        without it."""
        cache = Cache(self.path('cache'))
        sweep = (cache.url, '--rates', '100:300:100', '--for', '300ms', '--connections', '2',
                 '--workload', 'keys=50')
        without, rows = self.load(*sweep)
        self.assertEqual(cache.stored, 0)
        for run, row in zip(without['runs'], rows):
            self.assertGreater(run['completed'], 0)
            self.assertEqual(run['misses'], run['completed'])
            self.assertEqual((int(row['misses']), int(row['completed'])),
                             (run['misses'], run['completed']))
        self.assertEqual([run['misses'] for run in self.load(*sweep, '--preload')[0]['runs']], [0] * 6)
        self.assertEqual(cache.stored, 50)

    def test_misses_differ(self):
        """A server that has nothing is not compared with one that has; each is filled once. In a
        closed loop, which no busy machine leaves behind its rate."""
        full, empty = Cache(self.path('full')), Cache(self.path('empty'), forgets=True)
        result, _ = self.load(full.url, '--against', empty.url, '--preload', '--workload', 'keys=50',
                              '--connections', '1', '--loop', 'closed', '--percentile', '90',
                              '--repeat', '8', '--for', '8s')
        self.assertEqual((full.stored, empty.stored), (50, 50))
        self.assertEqual([run['misses'] for run in result['runs']],
                         [0 if run['target'] == full.url else run['completed']
                          for run in result['runs']])
        self.assertEqual((result['comparison']['a_misses'], result['comparison']['b_misses']), (0, 1))
        self.assertIn('misses-differ', [r['code'] for r in result['reasons']])

    def test_misses_in_text(self):
        cache = Cache(self.path('cache'))
        done = subprocess.run([HOSTLAT, 'load', cache.url, '--rate', '100', '--repeat', '2',
                               '--for', '200ms', '--connections', '1'], capture_output=True,
                              timeout=60, check=False)
        text = done.stdout.decode()
        self.assertIn('misses: 100 % of the replies had no value', text)
        self.assertRegex(text, r'rate/s .* misses +verdict')

    def test_slow_rates(self):
        """Less than one in two seconds is not none."""
        done = subprocess.run([HOSTLAT, 'load', 'null:', '--rates', '0.25:0.5:0.25', '--for',
                               '100ms'], capture_output=True, timeout=60, check=False)
        self.assertRegex(done.stdout.decode(), r'(?m)^ *0\.25 ')

    def one_fails(self, *how):
        server = Once(self.path('socket'))
        result, rows = self.load(server.url, '--connections', '1', '--for', '300ms', *how)
        self.assertEqual(len(result['runs']), 1)
        self.assertEqual(len(rows), 1)
        self.assertIn(result['verdict'], ('partial', 'n/a'))
        os.unlink(self.path('socket'))
        return {r['code']: r['evidence'] for r in result['reasons']}

    def test_one_fails(self):
        """A failing run ends the series; earlier results are printed, and the failing run is
        named."""
        self.assertRegex(self.one_fails('--rates', '100:300:100')['run-failed'],
                         r'^run 2 of 6, [123]00 requests/s$')
        found = self.one_fails('--rate', '100', '--repeat', '3')
        self.assertEqual(found['run-failed'], 'run 2 of 3, 100 requests/s')
        self.assertIn('too-few-runs', found)


if __name__ == '__main__':
    unittest.main()
