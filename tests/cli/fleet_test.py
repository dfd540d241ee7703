# SPDX-License-Identifier: Apache-2.0
"""Tests of hostlat fleet: recordings, a store, and what the command says of them."""
import csv
import glob
import io
import json
import os
import sqlite3
import subprocess

from test_fleet import HOSTLAT, Recordings

RACKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fleet', 'two-racks')
TABLES = [word for name in ('hosts', 'links') for word in ('--topology', os.path.join(RACKS, f'{name}.csv'))]
LONG_AGO = '100d'


class FleetTest(Recordings):
    def setUp(self):
        super().setUp()
        self.store = self.path('fleet.db')
        self.fleet('init', '--store', self.store)

    def racks(self, change=lambda text: text):
        paths = []
        for path in sorted(glob.glob(os.path.join(RACKS, 'conns*'))):
            with open(path, encoding='utf-8') as file:
                paths.append(self.make(change(file.read())))
        return paths

    def run_fleet(self, *words, **how):
        return subprocess.run([HOSTLAT, 'fleet', *words], capture_output=True, text=True, timeout=60,
                              check=False, **{'stdin': subprocess.DEVNULL, **how})

    def fleet(self, *words, code=0, **how):
        done = self.run_fleet(*words, **how)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def ingest(self, *words, store=None, code=0, **how):
        return json.loads(self.fleet('ingest', '--json', '--store', store or self.store, *words, code=code, **how))

    def report(self, *words, store=None, code=0):
        return self.fleet('report', '--store', store or self.store, '--since', LONG_AGO, *words, code=code)

    def document(self, *words, **how):
        return json.loads(self.report('--json', *words, **how))

    def codes(self, document):
        return [reason['code'] for reason in document.get('reasons', [])]

    def rows(self):
        text = self.fleet('export', '--store', self.store, '--since', LONG_AGO)
        return list(csv.DictReader(io.StringIO(text, newline='')))

    def sql(self, *statement):
        connection = sqlite3.connect(self.store)
        with connection:
            result = connection.execute(*statement).fetchall()
        connection.close()
        return result
