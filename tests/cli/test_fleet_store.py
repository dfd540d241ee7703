#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests a store of recordings: what goes in comes out as from the recordings themselves, once,
whatever the order, and whatever was interrupted: test_fleet_store.py MKCONNS HOSTLAT"""
import contextlib
import csv
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from fleet_test import LONG_AGO, TABLES, FleetTest
from test_fleet import CONN, HOSTLAT, REALTIME_S, script

HOUR_NS = 3600 * 10**9
VERSION_UNIT = 1024      # a version is bytes read, times this, and how often names changed
with open(HOSTLAT, 'rb') as program:
    SANITIZED = b'__asan_init' in program.read()
MANY = 10**6 if os.environ.get('HOSTLAT_LONG') else 10000    # rows of one key


class Store(FleetTest):
    # ---- the same as from recordings ----

    def test_the_report_is_that_of_the_recordings(self):
        paths = self.racks()
        self.ingest(*paths)
        self.assertEqual(self.report(*TABLES), self.fleet('report', *paths, *TABLES))
        self.assertIn('Link', self.report(*TABLES).split('\n', maxsplit=1)[0])
        self.assertEqual(self.report('--json', *TABLES), self.fleet('report', '--json', *paths, *TABLES))

    def test_windows_put_together(self):
        """Many windows, of which boundaries divide readings, give what one gives."""
        paths = self.racks()
        self.ingest('--window', '10s', *reversed(paths))
        self.assertEqual(json.loads(self.report('--json', *TABLES)),
                         json.loads(self.fleet('report', '--json', *paths, *TABLES)))

    def test_a_connection_of_several_recordings(self):
        paths = self.recording(), self.recording(start=1010)
        self.ingest(*paths)
        self.assertEqual(self.report('--json'), self.fleet('report', '--json', *paths))
        self.assertEqual(self.document()['fleet']['connections'], 1)

    def test_a_boot_makes_other_connections(self):
        self.ingest(self.recording(), self.recording(start=100, boot=REALTIME_S + 100))
        self.assertEqual(self.document()['fleet']['connections'], 2)

    def test_rules_of_names(self):
        rules = self.write('apps.csv', 'application,command\nshop,nginx\n')
        path = self.recording()
        self.ingest(path)
        self.assertEqual(self.report('--json', '--apps', rules), self.fleet('report', '--json', '--apps', rules, path))
        self.ingest('--apps', rules, self.recording(host='web2'))
        self.assertEqual([row['application'] for row in self.rows()], ['nginx', 'shop'])

    def apps(self):
        return sorted(row['application'] for row in self.rows())

    def test_new_names_win(self):
        """Other rules name stored windows anew, once; without rules, names stay."""
        rules = [self.write(f'{name}.csv', f'application,command\n{name},nginx\n') for name in ('shop', 'store')]
        path = self.recording(intervals=100)
        stored = []
        for words in (), ('--apps', rules[0]), ('--apps', rules[0]), ('--apps', rules[1]), ('--apps', rules[0]), ():
            result = self.ingest('--window', '20s', *words, path)
            stored.append((result['files'][0]['stored'], self.apps()[0]))
            self.assertEqual(len(self.rows()), 10)
        self.assertEqual(stored, [(10, 'nginx'), (10, 'shop'), (0, 'shop'), (10, 'store'), (10, 'shop'), (0, 'shop')])
        self.assertIn('The names of 1 recording in the store are those of an earlier --apps', result['findings'][0])

    def test_new_names_of_a_recording_that_grows(self):
        rules = self.write('apps.csv', 'application,command\nshop,nginx\n')
        whole, part = self.half_of_a_recording()
        self.ingest(part)
        result = self.ingest('--apps', rules, whole)
        self.assertEqual(set(self.apps()), {'shop'})
        self.assertIn('1 window was stored anew, because --apps gives other names', result['findings'][0])
        late = self.ingest('--apps', self.write('late.csv', 'application,command\nlate,nginx\n'), part)
        self.assertEqual((late['files'][0]['stored'], set(self.apps())), (0, {'shop'}))
        self.assertEqual(self.report('--json'), self.fleet('report', '--json', '--apps', rules, whole))

    def test_damage_is_kept(self):
        damaged = self.recording(intervals=400)
        with open(damaged, 'r+b') as file:
            file.truncate(os.path.getsize(damaged) // 2)
        self.ingest(damaged)
        self.assertEqual(self.report('--json', code=3), self.fleet('report', '--json', damaged, code=3))
        self.assertEqual(self.codes(self.document(code=3)), ['damaged'])

    # ---- once ----

    def test_twice_and_in_any_order(self):
        paths = self.racks()
        first = self.ingest(*paths)
        self.assertEqual([each['stored'] for each in first['files']], [1] * 6)
        once = self.rows()
        again = self.ingest(*reversed(paths), paths[0])
        self.assertEqual([each['stored'] for each in again['files']], [0] * 7)
        self.assertEqual(self.rows(), once)
        self.assertEqual(len(once), sum(each['connections'] for each in first['files']))

    def half_of_a_recording(self):
        """Returns the paths of a recording and of a copy of its first half."""
        whole, part = self.recording(intervals=400), self.path('part.hlat')
        shutil.copy(whole, part)
        with open(part, 'r+b') as file:
            file.truncate(os.path.getsize(part) // 2)
        return whole, part

    def test_a_recording_that_grows(self):
        """What was read of its begin is replaced; an earlier copy that comes late changes nothing."""
        whole, part = self.half_of_a_recording()
        self.ingest(part)
        half = self.rows()
        self.ingest(whole)
        self.assertNotEqual(self.rows(), half)
        self.assertEqual(self.report('--json'), self.fleet('report', '--json', whole))
        late = self.ingest(part)
        self.assertEqual([each['stored'] for each in late['files']], [0])
        self.assertEqual(self.report('--json'), self.fleet('report', '--json', whole))

    def grown(self, path, intervals, last=''):
        """Returns the windows that are stored of the recording after so many intervals."""
        shutil.copy(self.recording(intervals=intervals, last=last), path)
        return self.ingest('--window', '20s', path)['files'][0]['stored']

    def test_settled_windows(self):
        """While a recording grows, only its last windows are stored again; all at its end, once."""
        path = self.path('grows')
        self.assertEqual(self.grown(path, 50), 5)
        self.assertEqual(self.grown(path, 100), 6)
        self.assertEqual(self.grown(path, 102), 2)
        self.assertEqual(self.grown(path, 103, 'last'), 11)
        self.assertEqual(self.report('--json'), self.fleet('report', '--json', path))
        self.assertEqual(self.ingest('--window', '20s', path)['files'][0]['stored'], 0)

    @unittest.skipIf(SANITIZED, 'a sanitizer must be loaded first')
    def test_bytes_that_come_while_it_is_read(self):
        """Bytes that are appended after the version was taken do not count as stored: the next ingest stores them."""
        whole, grows, rest = self.recording(intervals=400), self.path('grows'), self.path('rest')
        with open(whole, 'rb') as file:
            bytes_of = file.read()
        half = len(bytes_of) // 2
        for path, part in (grows, bytes_of[:half]), (rest, bytes_of[half:]):
            with open(path, 'wb') as file:
                file.write(part)
        self.ingest(grows, env={**os.environ, 'LD_PRELOAD': os.environ['APPENDS'], 'APPENDS_TO': grows, 'APPENDS_FROM': rest})
        self.assertEqual(os.path.getsize(grows), len(bytes_of))
        self.assertEqual({int(row['version']) // VERSION_UNIT for row in self.rows()}, {half})
        self.assertEqual(self.ingest(grows)['files'][0]['stored'], 1)
        self.assertEqual({int(row['version']) // VERSION_UNIT for row in self.rows()}, {len(bytes_of)})
        self.assertEqual(self.report('--json'), self.fleet('report', '--json', grows))

    # ---- a server that does not answer ----

    @contextlib.contextmanager
    def silent_server(self):
        """Yields the socket and the address of a server that takes connections and never answers."""
        with socket.create_server(('127.0.0.1', 0), backlog=100) as listening:
            yield listening, f'clickhouse://127.0.0.1:{listening.getsockname()[1]}/x'

    def test_a_server_that_stalls(self):
        """The time without a byte is HOSTLAT_STORE_TIMEOUT's: without it, the test would last minutes."""
        with self.silent_server() as (_, address):
            done = self.run_fleet('init', '--store', address, env={**os.environ, 'HOSTLAT_STORE_TIMEOUT': '1'})
            self.assertEqual((done.returncode, 'HOSTLAT_STORE_TIMEOUT gives it more' in done.stderr), (2, True), done.stderr)
            for wrong in '', '0', '-1', '1x', '3601', '99999999999999999999':
                done = self.run_fleet('init', '--store', address, env={**os.environ, 'HOSTLAT_STORE_TIMEOUT': wrong})
                self.assertEqual((done.returncode, 'takes seconds, 1 to 3600' in done.stderr), (2, True), done.stderr)

    def interrupted(self, address, number, wait):
        """Returns how an ingest ends after this signal, sent after wait()."""
        child = subprocess.Popen([HOSTLAT, 'fleet', 'ingest', '--store', address, self.recording()], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait()
            child.send_signal(number)
            return child.wait(timeout=5)    # tries and waits take longer
        finally:
            child.kill()
            child.wait()

    def test_signals_while_it_waits(self):
        """No wait for a server, stalled or gone, outlives a signal."""
        with self.silent_server() as (listening, address):
            listening.settimeout(60)
            taken = []      # open until the end
            for number in signal.SIGINT, signal.SIGTERM:
                self.assertEqual(self.interrupted(address, number, lambda: taken.append(listening.accept()[0])), -number)
        self.assertEqual(self.interrupted(address, signal.SIGINT, lambda: time.sleep(0.3)), -signal.SIGINT)

    # ---- many rows of one key ----

    def measured(self, *words):
        """Runs it. Returns its output and the most KiB that it had in memory."""
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen([HOSTLAT, 'fleet', *words], stdin=subprocess.DEVNULL, stdout=out)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0)
            out.seek(0)
            return out.read().decode(), usage.ru_maxrss

    def test_many_records_of_one_connection(self):
        """A connection that is recorded again and again is one row, in no more memory than a few records of it."""
        few, many = self.recording(), self.recording(host='web2', conn='\n'.join([CONN] * (MANY // 5)))
        stores = self.path('few.db'), self.path('many.db')
        memory = []
        for path, store in zip((few, many), stores):
            self.fleet('init', '--store', store)
            memory.append(self.measured('ingest', '--store', store, path)[1])
        self.store = stores[1]
        self.assertEqual(len(self.rows()), 1)
        self.assertEqual(self.document(code=self.run_fleet('report', many).returncode)['fleet']['connections'], 1)
        self.assertLess(memory[1], memory[0] + 16384)

    def test_many_versions_of_one_row(self):
        """A store with many versions of a window, of which only the last counts, is read in little memory."""
        self.ingest(*self.racks())
        for table in 'hostlat_connections', 'hostlat_windows':
            self.sql(f"UPDATE {table} SET version = {MANY * 2} WHERE host = 'host3'")
        want, few = self.measured('report', '--json', '--store', self.store, '--since', LONG_AGO)
        for table in 'hostlat_connections', 'hostlat_windows':
            columns = [name for _, name, *_ in self.sql(f'PRAGMA table_info({table})')]
            chosen = ', '.join('n' if name == 'version' else f'"{name}"' for name in columns)
            one = ' AND cookie = (SELECT min(cookie) FROM hostlat_connections WHERE host = \'host3\')' \
                if table == 'hostlat_connections' else ''
            self.sql(f"INSERT INTO {table} SELECT {chosen} FROM {table}, (WITH RECURSIVE v(n) AS (SELECT 0 UNION ALL SELECT "
                     f"n + 1 FROM v WHERE n < {MANY - 1}) SELECT n FROM v) WHERE host = 'host3' AND version > {MANY}{one}")
        self.assertEqual(self.sql("SELECT count(*) FROM hostlat_windows WHERE host = 'host3'"), [(MANY + 1, )])
        got, many = self.measured('report', '--json', '--store', self.store, '--since', LONG_AGO)
        self.assertEqual(got, want)
        self.assertLess(many, few + 131072)     # 10^6 versions took 114 MiB more

    def test_standard_input(self):
        path = self.recording()
        with open(path, 'rb') as file:
            self.ingest('-', stdin=file)
        document, direct = self.document(), json.loads(self.fleet('report', '--json', path))
        self.assertEqual(document['applications'], direct['applications'])
        self.assertEqual(self.ingest(path)['files'][0]['stored'], 0)

    def killed(self, path, after):
        child = subprocess.Popen([HOSTLAT, 'fleet', 'ingest', '--store', self.store, '--window', '2s', path],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(after)
        child.send_signal(signal.SIGKILL)
        return child.wait() == -signal.SIGKILL

    def test_killed_in_the_middle(self):
        """What is there is whole; the rest comes with the next ingest, and nothing twice."""
        path = self.recording(intervals=900)
        kills = sum(self.killed(path, after) for after in (0.01, 0.05, 0.1, 0.2))
        self.assertGreater(kills, 0)
        rows = [tuple(row) for row in self.sql('SELECT window_ns, connections FROM hostlat_windows')]
        for window, connections in rows:
            self.assertEqual(self.sql('SELECT count(*) FROM hostlat_connections WHERE window_ns = ?', (window,)),
                             [(connections,)])
        self.ingest('--window', '2s', path)
        self.assertEqual(self.report('--json'), self.fleet('report', '--json', path))
        self.assertEqual(self.sql('SELECT count(*) FROM hostlat_windows'), [(900,)])

    def test_no_room(self):
        """A window that does not fit leaves nothing behind, and fits later."""
        path = self.recording(intervals=900)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
        done = self.run_fleet('ingest', '--store', self.store, '--window', '2s', path, preexec_fn=limit)
        self.assertEqual(done.returncode, 2)
        self.assertIn(self.store, done.stderr)
        self.ingest('--window', '2s', path)
        self.assertEqual(self.report('--json'), self.fleet('report', '--json', path))

    # ---- which windows ----

    def hours(self):
        """Windows of three hours, of which the first begins at a full hour."""
        start = REALTIME_S - REALTIME_S % 3600 - (REALTIME_S - 1000)
        return self.recording(start=start, intervals=3 * 1800)

    def spans(self, *words):
        fleet = json.loads(self.fleet('report', '--json', '--store', self.store, *words))['fleet']
        return (fleet['to_ns'] - fleet['from_ns']) // HOUR_NS

    def test_since_and_until(self):
        self.ingest(self.hours())
        first = time.strftime('%Y-%m-%d %H:%M', time.gmtime(REALTIME_S - REALTIME_S % 3600))
        self.assertEqual(self.spans(), 1)
        self.assertEqual(self.spans('--since', '2h'), 2)
        self.assertEqual(self.spans('--since', '90m'), 2)
        self.assertEqual(self.spans('--since', '5h'), 3)
        self.assertEqual(self.spans('--since', f'{first}Z'), 3)
        self.assertEqual(self.spans('--since', f'{first}Z', '--until', f'{first.replace(" ", "T")}:01Z'), 1)
        self.assertEqual(self.spans('--since', '1h', '--until', '1h'), 1)
        done = self.run_fleet('report', '--store', self.store, '--since', f'{first}Z', '--until', f'{first}Z')
        self.assertEqual((done.returncode, '--since must be before --until' in done.stderr), (1, True))
        done = self.run_fleet('report', '--store', self.store, '--since', '2001-01-01', '--until', '2001-01-02')
        self.assertEqual((done.returncode, 'its last one ends at 2023-11-1' in done.stderr), (2, True))

    def moved(self, *words):
        """The sentences about times that were given and are within a window."""
        return [text for text in json.loads(self.fleet('report', '--json', '--store', self.store, *words))['findings']
                if 'is within a window' in text]

    def test_windows_count_as_a_whole(self):
        """A time within a window is not the report's: both are named."""
        self.ingest(self.hours())
        first = REALTIME_S - REALTIME_S % 3600
        at = [time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(first + minutes * 60)) for minutes in (0, 60, 90, 120)]
        self.assertEqual(self.moved(), [])
        self.assertEqual(self.moved('--since', at[0], '--until', at[3]), [])
        self.assertEqual(self.moved('--since', '2001-01-01'), [])
        self.assertIn(f'--since {at[2]} is within a window', self.moved('--since', at[2])[0])
        self.assertIn(f'begins at {at[1]}.', self.moved('--since', '90m')[0])
        self.assertIn(f'ends at {at[3]}.', self.moved('--since', at[1], '--until', at[2])[0])
        done = self.run_fleet('export', '--store', self.store, '--since', at[2])
        self.assertIn(f'--since {at[2]} is within a window', done.stderr)

    def test_local_time(self):
        self.ingest(self.hours())
        there = {**os.environ, 'TZ': 'ABC-05:00'}
        first = time.strftime('%Y-%m-%d %H:%M', time.gmtime(REALTIME_S - REALTIME_S % 3600 + 5 * 3600))
        done = self.run_fleet('report', '--json', '--store', self.store, '--since', first, env=there)
        fleet = json.loads(done.stdout)['fleet']
        self.assertEqual(fleet['to_ns'] - fleet['from_ns'], 3 * HOUR_NS)

    def test_except(self):
        self.ingest(self.recording(), self.recording(host='web2'), self.recording(host='web3'))
        others = self.document('--except', 'web1', '--except', 'web3')
        self.assertEqual([each['host'] for each in others['recordings']], ['web2'])

    def test_a_clock_of_the_future(self):
        """A host that is years ahead hides no others."""
        self.ingest(self.recording(boot=int(time.time()) - 1000 - 3600), self.recording(host='web2', boot=2**32))
        self.assertEqual([each['host'] for each in self.document()['recordings']], ['web1'])
        document = self.document('--until', '2111-01-01', '--except', 'web2', '--since', '36500d')
        self.assertEqual([each['host'] for each in document['recordings']], ['web1'])

    def test_keep_stores_nothing_to_delete(self):
        result = self.ingest('--keep', '1d', self.recording())
        self.assertEqual([(each['windows'], each['stored']) for each in result['files']], [(0, 0)])

    def test_keep(self):
        old, new = self.recording(), self.recording(host='web2', boot=int(time.time()) - 1000 - 3600)
        self.ingest(old, new, '--window', '2s')
        self.ingest('--keep', '2d', '--window', '2s', new)
        self.assertEqual({row['host'] for row in self.rows()}, {'web2'})

    def test_keep_alone(self):
        """Deletes without a recording; and not at all if a recording could not be stored."""
        self.ingest(self.recording(), self.recording(host='web2', boot=int(time.time()) - 1000 - 3600))
        self.fleet('ingest', '--store', self.store, '--keep', '2d', self.path('none'), code=2)
        self.assertEqual(self.sql('SELECT DISTINCT host FROM hostlat_connections ORDER BY 1'), [('web1', ), ('web2', )])
        self.fleet('ingest', '--store', self.store, '--keep', '2d')
        self.assertEqual(self.sql('SELECT DISTINCT host FROM hostlat_connections'), [('web2', )])

    def test_useless_words(self):
        path = self.recording()
        self.ingest(path)
        for words, what in ((('init', '--store', self.store, '--window', '1h'), '--window has no effect on init: leave it out (it is for ingest)'),
                            (('report', path, '--keep', '1d'), '--keep has no effect on report'),
                            (('export', '--store', self.store, '--all'), '--all has no effect'),
                            (('ingest', '--store', self.store, path, '--since', '1h'), 'has no effect on ingest: leave it out (it is for report and export)'),
                            (('init', '--store', self.store, '--step', '2s'), '(it is for report, ingest, export and watch)'),
                            (('report', path, '--since', '1h'), 'choose from --store'),
                            (('report', path, '--store', self.store), 'not both'),
                            (('report', ), 'needs recordings'), (('ingest', '--store', self.store), 'needs recordings'),
                            (('init', self.store), f'did you mean --store {self.store}?'), (('init', ), '--store is missing'),
                            (('init', '--store', self.store, path), 'take no recordings'),
                            (('ingest', '--store', self.store, '--window', '7s', path), 'a multiple of --step 2s'),
                            (('report', '--store', self.store, '--since', 'x'), "--since takes a local time ('2026-11-28 03:00')"),
                            (('report', '--store', self.store, '--except', 'web9'), "no host 'web9'")):
            with self.subTest(words):
                done = self.run_fleet(*words)
                self.assertEqual((done.returncode, what in done.stderr), (1, True), done.stderr)

    def test_export_to_no_file(self):
        self.ingest(self.recording())
        for path, what in (self.folder.name, 'Is a directory'), ('/nonexistent/x', 'No such file'), ('/dev/full', 'No space'):
            done = self.run_fleet('export', '--store', self.store, '--since', LONG_AGO, '--output', path)
            self.assertEqual((done.returncode, f'cannot write {path}: {what}' in done.stderr), (2, True), done.stderr)

    def test_other_windows_are_refused(self):
        path = self.recording()
        self.ingest(path)
        done = self.run_fleet('ingest', '--store', self.store, '--window', '2s', path)
        self.assertEqual(done.returncode, 2)
        self.assertIn('the store has other windows of host web1: give --window 1h --step 2s as before', done.stderr)

    def test_other_steps(self):
        self.ingest(self.recording())
        done = self.run_fleet('report', '--store', self.store, '--step', '10s', '--since', LONG_AGO)
        self.assertEqual((done.returncode, 'such as --step 2' in done.stderr), (2, True))

    # ---- what is wrong ----

    def test_two_recordings_of_one_time(self):
        self.ingest(self.recording(), self.recording(start=1004))
        document = self.document(code=3)
        self.assertEqual(self.codes(document), ['recordings-overlap'])
        self.assertEqual(document['fleet']['connections'], 1)
        done = self.run_fleet('export', '--store', self.store, '--since', LONG_AGO)
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (3, 2))
        self.assertIn('1 windows are left out', done.stderr)

    def test_missing_rows(self):
        self.ingest(*self.racks())
        self.sql("DELETE FROM hostlat_connections WHERE host = 'host3' AND cookie % 2")
        document = self.document(code=3)
        self.assertEqual(self.codes(document), ['store-incomplete'])
        self.assertEqual(document['reasons'][0]['evidence'], 'host3')

    def test_rows_that_lie(self):
        """Values that no ingest writes are ignored and counted."""
        lies = {'timeout_series': ('no series', '0*99999999', '251*5'), 'timeout_known_ns': (1, 2**62),
                'timeout_limited_ns': (-1, ), 'timeout_lost_ns': (-5, 9 * 10**18, 2 * HOUR_NS + 1)}
        for column, values in lies.items():
            for value in values:
                with self.subTest(column=column, value=value):
                    self.setUp()
                    self.ingest(*self.racks())
                    self.sql("UPDATE hostlat_connections SET timeout_known_ns = 10, timeout_limited_ns = 5, "
                             f"{column} = ? WHERE host = 'host3'", (value, ))
                    self.assertEqual(self.codes(self.document(code=3)), ['events-invalid'])
        for column in 'step_ns', 'length_ns', 'from_ns', 'to_ns', 'lost', 'untimed':
            for value in (0, 1, -1, 2**62) if '_ns' in column else (-1, 2**62):
                with self.subTest(column=column, value=value):
                    self.setUp()
                    self.ingest(*self.racks())
                    self.sql(f"UPDATE hostlat_windows SET {column} = ? WHERE host = 'host3'", (value, ))
                    document = self.document(code=3)
                    self.assertEqual({each['host'] for each in document['recordings']} - {'host3'},
                                     {'host1', 'host2', 'host4', 'host5', 'host6'})

    def test_names(self):
        """Quotes, SQL and control characters of names stay names."""
        host, command = "we\"b'; DROP TABLE hostlat_windows; --", 'a\x1b[2J,b\nc'
        text = script(conn=CONN.replace('nginx', 'marker'))
        path = self.make(text.replace('run.host web1', "run.host we'b;--").replace('marker', "n'g,i;x"))
        self.ingest(path)
        self.assertEqual({(row['host'], row['command']) for row in self.rows()}, {("we'b;--", "n'g,i;x")})
        self.sql('UPDATE hostlat_windows SET host = ?', (host, ))
        self.sql('UPDATE hostlat_connections SET host = ?, command = ?, application = ?', (host, command, command))
        self.assertEqual({(row['host'], row['command']) for row in self.rows()}, {(host, command)})
        self.assertNotIn('\x1b', self.report())
        self.assertEqual(self.document()['recordings'][0]['host'], host)

    def test_one_file_of_several_fails(self):
        result = self.ingest(self.write('bad', 'no recording'), self.recording(), code=3)
        self.assertEqual([(each['stored'], each['error']) for each in result['files']], [(0, True), (1, False)])
        self.assertEqual(self.codes(result), ['files-failed'])

    def test_no_store(self):
        for path, code, what in ((self.path('none'), 2, 'hostlat fleet init'), ('/nonexistent/x', 2, 'no store'),
                                 (self.recording(), 2, 'no SQLite file')):
            for words in ('report', ), ('export', ), ('ingest', self.recording()):
                done = self.run_fleet(words[0], '--store', path, *words[1:])
                self.assertEqual(done.returncode, code)
                self.assertRegex(done.stderr, what)
        done = self.run_fleet('report', '--store', self.store)
        self.assertEqual((done.returncode, 'has no windows: hostlat fleet ingest' in done.stderr), (2, True))

    def test_otel_views(self):
        """SQLite has no types for them: nothing is made."""
        for store in self.store, self.path('none'):
            done = self.run_fleet('init', '--store', store, '--otel-views')
            self.assertEqual((done.returncode, '--otel-views needs a store in ClickHouse' in done.stderr), (2, True))
        self.assertFalse(os.path.exists(self.path('none')))
        done = self.run_fleet('export', '--store', self.store, '--otel-views')
        self.assertEqual((done.returncode, '--otel-views has no effect on export' in done.stderr), (1, True))

    def test_another_version(self):
        self.sql('PRAGMA user_version = 99')
        done = self.run_fleet('report', '--store', self.store)
        self.assertEqual((done.returncode, 'tables of version 99' in done.stderr), (2, True))

    def test_export_is_the_rows(self):
        self.ingest(*self.racks())
        columns = [name for _, name, *_ in self.sql('PRAGMA table_info(hostlat_connections)')]
        rows = self.rows()
        self.assertEqual(list(rows[0]), columns)
        self.assertEqual([tuple(row.values()) for row in rows],
                         [tuple(str(value) for value in row) for row in
                          self.sql('SELECT * FROM hostlat_connections ORDER BY host, recording_ns, window_ns, netns, cookie')])
        file = self.path('out.csv')
        self.fleet('export', '--store', self.store, '--since', LONG_AGO, '--output', file)
        with open(file, encoding='utf-8', newline='') as out:
            self.assertEqual(list(csv.DictReader(out)), rows)

    def test_sums_by_sql(self):
        """The documented query of the table gives the report's lost time."""
        self.ingest(*self.racks())
        lost = dict(self.sql('SELECT application, sum(fast_retransmit_lost_ns) FROM hostlat_connections GROUP BY 1'))
        told = {row['application']: row['lost_ns'] for row in self.document()['applications']
                if row['problem'] == 'fast-retransmit'}
        self.assertGreater(lost['nginx'], 0)
        self.assertEqual(told.get('nginx'), lost['nginx'])

    def test_read_by_another_user(self):
        if os.getuid():
            self.skipTest('root alone becomes another user')
        self.ingest(self.recording())
        self.sql('PRAGMA wal_checkpoint(TRUNCATE)')
        os.chmod(self.folder.name, 0o755)
        os.chmod(self.store, 0o644)
        done = self.run_fleet('report', '--store', self.store, '--since', LONG_AGO,
                              preexec_fn=lambda: (os.setgroups([]), os.setgid(65534), os.setuid(65534)))
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertTrue(re.match(r'.*\n1 host ', done.stdout, re.S))


if __name__ == '__main__':
    unittest.main()
