#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the metrics of `hostlat conns --metrics`, and the rules that are made for them:
test_metrics.py MKCONNS HOSTLAT SOURCE"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, HOSTLAT, MKCONNS = (os.path.abspath(sys.argv.pop()) for _ in range(3))
RULES = os.path.join(SOURCE, 'share/prometheus/hostlat.rules.yml')
RULES_TEST = os.path.join(SOURCE, 'tests/cli/metrics/rules.test.yml')
SAMPLE = re.compile(r'([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*"(?:,(?=[a-z])|(?=\})))+\})? (\d+(?:\.\d{9})?)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')
SUFFIX = {'counter': '_total', 'gauge': '', 'info': '_info'}


def parse(text, openmetrics=True):
    """Returns {family: (type, {labels: value})}; fails for what a scraper refuses."""
    families, family, seen = {}, None, set()
    lines = text.split('\n')
    assert lines.pop() == '', 'the last line has no end'
    if openmetrics:
        assert lines.pop() == '# EOF'
    for line in lines:
        if line.startswith('# TYPE '):
            _, _, family, kind = line.split(' ')
            assert family not in families and kind in SUFFIX, line
            assert openmetrics or kind != 'info', line
            families[family] = kind, {}
            seen = {'TYPE'}
            continue
        if line.startswith('# '):
            _, what, name, value = line.split(' ', 3)
            assert name == family and what in {'UNIT', 'HELP'} - seen and value, line
            assert what != 'UNIT' or (openmetrics and name.endswith('_' + value)), line
            seen.add(what)
            continue
        match = SAMPLE.fullmatch(line)
        assert match and 'HELP' in seen, line
        kind, samples = families[family]
        assert match[1] == family + (SUFFIX[kind] if openmetrics else ''), line
        labels = tuple(LABEL.findall(match[2] or ''))
        assert labels not in samples and len(dict(labels)) == len(labels), line
        samples[labels] = float(match[3])
    assert all(samples for _, samples in families.values()), 'a family without samples'
    return families


def series(families):
    """Returns {(name, labels): value} of all counters."""
    return {(name, labels): value for name, (kind, samples) in families.items() if kind == 'counter'
            for labels, value in samples.items()}


def total(families, name, **labels):
    return sum(value for key, value in families[name][1].items() if labels.items() <= dict(key).items())


def known_names():
    """Returns the names of all samples that hostlat may write, by its manual."""
    made = subprocess.run([HOSTLAT, 'man', 'hostlat', os.path.join(SOURCE, 'docs/man/hostlat-metrics.7.in')],
                          capture_output=True, text=True, timeout=20, check=True).stdout
    names = set(re.findall(r'^\.TP\n\.B (hostlat_\w+)', made, re.MULTILINE))
    assert len(names) > 10
    return names


def app(cookie, name, lost_ms=0, more=''):
    lost = f'rto=1 stalls=1 stall_ns={lost_ms}ms longest_stall_ns={lost_ms}ms bytes_sent=4000 ' \
           f'bytes_retransmitted=1000 congestion_ns={lost_ms}ms' if lost_ms else ''
    return f'conn {cookie} 1 1s "app={name}" at-idle=20 {lost} {more}\n'


class Metrics(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def make(self, script, name='run.hlat'):
        with open(self.path('script'), 'w', encoding='utf-8', errors='surrogateescape') as file:
            file.write(script)
        subprocess.run([MKCONNS, self.path('script'), self.path(name)], check=True)
        return self.path(name)

    def ask(self, *words, code=0):
        done = subprocess.run([HOSTLAT, 'conns', *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code in (1, 2) else done.stdout

    def metrics(self, recording, *words, name='-', code=0):
        out = self.ask('--from', recording, '--metrics', name, '-o', '/dev/null', *words, code=code)
        if name != '-':
            with open(name, encoding='utf-8') as file:
                out = file.read()
        return out

    def promtool(self, *words, text=None):
        if not shutil.which('promtool'):
            self.skipTest('promtool is missing')
        done = subprocess.run(['promtool', *words], input=text, capture_output=True, text=True, timeout=100,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)

    # ---- the page ----

    def test_pages_of_all_golden_recordings(self):
        """Each page is valid in both forms, with the same values, and accounts for all time."""
        cases = glob.glob(os.path.join(SOURCE, 'tests/cli/conns/*/conns'))
        self.assertGreater(len(cases), 30)
        for case in cases:
            with self.subTest(case), open(case, encoding='utf-8') as script:
                recording = self.make(script.read())
                code = subprocess.run([HOSTLAT, 'conns', '--from', recording, '-o', '/dev/null'],
                                      capture_output=True, timeout=60, check=False).returncode
                page = parse(self.metrics(recording, code=code))
                old = self.metrics(recording, name=self.path('page.prom'), code=code)
                self.promtool('check', 'metrics', text=old)
                old = parse(old, False)
                self.assertEqual({name + SUFFIX[kind]: samples for name, (kind, samples) in page.items()},
                                 {name: samples for name, (_, samples) in old.items()})
                self.assertLessEqual({name + SUFFIX[kind] for name, (kind, _) in page.items()}, known_names())
                self.check_sums(recording, page, code)

    def check_sums(self, recording, page, code):
        document = json.loads(self.ask('--from', recording, '--by', 'app', '--all', '--json', code=code))
        groups = document['groups']
        self.assertEqual(total(page, 'hostlat_connections_seen') if groups else 0,
                         sum(group['connections'] for group in groups))
        for group in groups:
            times = [*group['time_ns'].values(), group['unknown_ns']]
            name = group['key'] or 'unknown'
            if None not in times:
                counted = total(page, 'hostlat_connection_limit_seconds', app=name) + \
                    total(page, 'hostlat_connection_unknown_seconds', app=name)
                self.assertAlmostEqual(counted, sum(times) / 1e9, 6)
            if document['interval']['intervals'] == 1:  # several are judged one by one
                self.assertAlmostEqual(total(page, 'hostlat_connection_lost_seconds', app=name),
                                       group['lost_ns'] / 1e9, 6)

    def test_hostile_names(self):
        recording = self.make(app(1, 'a\\b{c=d} 1') + app(2, '\udcff\udcfe') + app(3, '\udcfe\udcff') +
                              'interval 1s 1ms 1ms\n')
        page = self.metrics(recording)
        names = {dict(labels)['app'] for labels in parse(page)['hostlat_connections_seen'][1]}
        self.assertEqual(names, {'a\\\\b{c=d} 1', '??', 'other'})
        self.assertEqual(total(parse(page), 'hostlat_connections_seen', app='??'), 2)
        self.promtool('check', 'metrics', text=self.metrics(recording, name=self.path('a.prom')))

    # ---- the number of series ----

    def test_series_are_bounded(self):
        script = ''.join(app(i, f'app{i}', lost_ms=i) for i in range(1, 41)) + 'interval 1s 1ms 1ms\n'
        recording = self.make(script)
        all_of_them = parse(self.metrics(recording, '--top', '100'))
        for most in 1, 3, 20:
            page = parse(self.metrics(recording, '--top', str(most)))
            own = {dict(labels)['app'] for labels in page['hostlat_connections_seen'][1]}
            self.assertEqual(own, {f'app{i}' for i in range(41 - most, 41)} | {'other'})
            self.assertEqual(page['hostlat_apps_in_other'][1], {(): 40 - most})
            self.assertEqual(sum('app' in dict(labels) for _, labels in series(page)), 26 * (most + 1))
            for name in 'hostlat_connections_seen', 'hostlat_connection_limit_seconds', \
                    'hostlat_connection_lost_seconds', 'hostlat_connection_events':
                self.assertAlmostEqual(total(page, name), total(all_of_them, name), 6)

    def test_counters_never_shrink(self):
        """The file of a growing recording is that of a counter: also when applications swap."""
        intervals = [app(1, 'a', 300 if i < 3 else 0) + app(2, 'b', 0 if i < 4 else 700) +
                     (app(3, 'c', 0) if i < 5 else '') + 'interval 1s 1ms 1ms{last}\n' for i in range(12)]
        before, apps = {}, set()
        for n in range(1, len(intervals) + 1):
            script = ''.join(intervals[:n]).replace('{last}', '')
            now = series(parse(self.metrics(self.make(script), '--top', '1')))
            self.assertEqual({key: (value, now[key]) for key, value in before.items()
                              if key in now and now[key] < value}, {})
            apps |= {dict(labels).get('app') for _, labels in now}
            before |= now
        self.assertEqual(apps, {'a', 'b', 'other', None})

    # ---- unknown is not 0 ----

    def test_unknown_time(self):
        page = parse(self.metrics(self.make(app(1, 'a', more='known=all-times-rto') + 'interval 1s 1ms 1ms\n')))
        self.assertEqual(total(page, 'hostlat_connection_unknown_seconds', app='a'), 1)
        self.assertEqual(total(page, 'hostlat_connection_limit_seconds', app='a'), 0)
        self.assertEqual(total(page, 'hostlat_connection_events_unknown_seconds', app='a', event='rto'), 1)

    def test_time_without_samples_at_the_end(self):
        """The last time that waits for samples is unknown, unless more of the run may come."""
        few = 'busy_ns=500ms unknown_ns=500ms sender_app_ns=500ms at-flight=1 for-flight=500ms'
        script = f'conn 1 1 1s app=a {few}\ninterval 1s 1ms 1ms\n'
        recording = self.make(script)
        self.assertEqual(total(parse(self.metrics(recording)), 'hostlat_connection_unknown_seconds'), 0.5)
        os.truncate(recording, os.path.getsize(recording) - 40)
        self.assertEqual(total(parse(self.metrics(recording, code=3)), 'hostlat_connection_unknown_seconds'), 0)

    def test_unsampled_time_and_unknown_cost(self):
        page = parse(self.metrics(self.make('interval 1s 1ms 0ms unseen no-cost\ninterval 2s 1ms 0ms\n')))
        self.assertEqual((total(page, 'hostlat_measured_seconds'), total(page, 'hostlat_unsampled_seconds')), (3, 1))
        self.assertEqual(set(page['hostlat_own_cpu_seconds'][1]), {(('where', 'user'), )})

    # ---- the file ----

    def test_file_is_replaced_as_a_whole(self):
        recording, path = self.make(app(1, 'a') + 'interval 1s 1ms 1ms\n'), self.path('page.prom')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('old\n')
        with open(path, encoding='utf-8') as reader:
            self.metrics(recording, name=path)
            self.assertEqual(reader.read(), 'old\n')
        self.assertEqual(sorted(os.listdir(self.folder.name)), ['page.prom', 'run.hlat', 'script'])

    def test_other_users_read_the_file(self):
        recording = self.make(app(1, 'a') + 'interval 1s 1ms 1ms\n')
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        self.metrics(recording, name=self.path('new.prom'))
        self.assertEqual(os.stat(self.path('new.prom')).st_mode & 0o777, 0o644)

    def test_damaged_recording(self):
        """What is whole is counted; the exit code says that it is not all."""
        recording = self.make(''.join(app(1, 'a') + 'interval 1s 1ms 1ms\n' for _ in range(3)))
        os.truncate(recording, os.path.getsize(recording) - 40)
        self.assertGreater(total(parse(self.metrics(recording, code=3)), 'hostlat_measured_seconds'), 0)

    def test_wrong_use(self):
        recording = self.make(app(1, 'a') + 'interval 1s 1ms 1ms\n')
        self.assertIn('--metrics - needs --from', self.ask('--metrics', '-', '-o', '/dev/null', code=1))
        self.assertIn('add --output FILE', self.ask('--from', recording, '--metrics', '-', code=1))
        self.assertIn('name two files',
                      self.ask('--record', self.path('a'), '--metrics', self.path('a'), code=1))
        for words in ('--metrics', recording, '-o', '/dev/null'), ('--output', recording):
            self.assertIn('is an input and cannot be an output too', self.ask('--from', recording, *words, code=1))
        self.assertIn('--filter', self.ask('--from', recording, '--metrics', 'x', '--filter', 'dport = 1', code=1))
        self.assertIn('--top', self.ask('--from', recording, '--top', '0', code=1))
        self.assertIn('No such file', self.ask('--from', recording, '--metrics', self.path('no/x'), code=2))

    # ---- words ----

    def test_help_explains_the_labels(self):
        page = parse(self.metrics(self.make(app(1, 'a') + 'interval 1s 1ms 1ms\n')))
        for family, label in ('losses', 'reason'), ('connection_limit_seconds', 'limit'), \
                ('connection_lost_seconds', 'class'):
            for labels in page['hostlat_' + family][1]:
                with self.subTest(labels):
                    word = dict(labels)[label]
                    done = subprocess.run([HOSTLAT, 'help', word], capture_output=True, timeout=20, check=False)
                    self.assertEqual(done.returncode, 0)

    # ---- rules ----

    def test_rules(self):
        self.promtool('check', 'rules', RULES)

    def test_rules_on_series(self):
        self.promtool('test', 'rules', RULES_TEST)

    def test_names_in_rules(self):
        """Rules, and their tests, use names that hostlat or another rule makes; every rule is tested."""
        with open(RULES, encoding='utf-8') as file:
            rules = re.sub(r'^\s*#.*$', '', file.read(), flags=re.MULTILINE)
        with open(RULES_TEST, encoding='utf-8') as file:
            tests = file.read()
        recorded = set(re.findall(r'record: (\S+)', rules))
        alerts = set(re.findall(r'alert: (\S+)', rules))
        self.assertGreater(len(recorded), 8)
        self.assertEqual(alerts, set(re.findall(r'alertname: (\S+)', tests)))
        for text in rules, tests:
            self.assertEqual(set(re.findall(r'\b(?:connections|host):hostlat_\w+:\w+', text)) - recorded, set())
            self.assertEqual(set(re.findall(r'(?<![:\w])hostlat_\w+', text)) - known_names(), set())
        used = {re.sub('5m|1h', '', name) for name in re.findall(r'\w+:hostlat_\w+:\w+', tests)}
        self.assertEqual({re.sub('5m|1h', '', name) for name in recorded} - used, set())

    def test_commands_in_runbooks(self):
        """Commands and options that an alert names exist."""
        with open(RULES, encoding='utf-8') as file:
            text = ' '.join(file.read().split())
        commands = re.findall(r'hostlat (help|conns|doctor|fleet) ?(report|[A-Z]+|)', text)
        self.assertGreater(len(commands), 5)
        known = self.ask('--help-all')
        for option in re.findall(r'(--[a-z-]+)', text):
            with self.subTest(option):
                self.assertIn(option, known)


if __name__ == '__main__':
    unittest.main()
