#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results as the commands print them, for the report page: pagedata.py KIND [POINTS] >FILE

KIND is load, watch, diagnose, conns, compare or explain. They look like real ones, and the same seed
gives the same. POINTS asks for a diagnosis of so many: cells of the heat map, balloons and buckets.
"""
import json
import math
import random
import sys

STARTED = 1763900000123456789
QS = (0.5, 0.9, 0.99, 0.999)
US, MS, S = 1000, 1000000, 1000000000

# cause, where, kind, typical ns, how often
CAUSES = [
    ('cpu-wait', 'application', 'context', 2900 * US, 0.55),
    ('head-of-line', 'application', 'overlap', 310 * US, 0.30),
    ('softirq', 'receive', 'function', 60 * US, 0.35),
    ('lock', 'application', 'gap', 420 * US, 0.08),
    ('interrupt', 'receive', 'context', 9 * US, 0.40),
    ('idle-exit', 'application', 'gap', 48 * US, 0.12),
    ('page-fault', 'application', 'function', 130 * US, 0.04),
    ('nic', 'receive', 'gap', 35 * US, 0.10),
    ('hostlat', 'application', 'function', 2 * US, 0.30),
    ('unexplained', 'application', 'gap', 4 * US, 0.90),
    ('blind', 'receive', 'blind', 3 * US, 0.02),
]


def about(command, host='db1.example'):
    return {'version': '0.1.0', 'command': command, 'schema': 1, 'host': host, 'started_ns': STARTED}


def edge(ns, steps=8):
    """The limit of the bucket that a value is in: 2^(1/steps) apart."""
    return math.ceil(2 ** (math.ceil(math.log2(max(1, ns)) * steps) / steps))


def buckets_of(values, steps=8):
    counts = {}
    for v in values:
        counts[edge(v, steps)] = counts.get(edge(v, steps), 0) + 1
    return [{'le_ns': le, 'count': n} for le, n in sorted(counts.items())]


def distribution(values, steps=8):
    values = sorted(values)
    at = lambda q: values[min(len(values) - 1, int(q * len(values)))]
    return {'count': len(values), 'sum_ns': sum(values), 'min_ns': values[0], 'max_ns': values[-1],
            'quantiles': [{'q': q, 'ns': at(q), 'lo_ns': at(max(0, q - 0.01)), 'hi_ns': at(min(1, q + 0.01 * (1 - q)))}
                          for q in QS],
            'buckets': buckets_of(values, steps)}


def latencies(rng, n, median, sigma=0.5, slow=0.01, tail=20):
    return [max(1, int(rng.lognormvariate(math.log(median), sigma) * (rng.uniform(2, tail) if rng.random() < slow else 1)))
            for _ in range(n)]


def culprit(rng, cause, ns):
    task = {'cpu-wait': (4690, 'nginx'), 'lock': (4711, 'memcached')}.get(cause)
    if cause == 'head-of-line':
        return [{'pid': 4711, 'tid': 4713, 'comm': 'memcached', 'message': rng.randrange(10000), 'what': None, 'ns': ns}]
    if cause == 'softirq':
        return [{'pid': None, 'tid': None, 'comm': None, 'message': None, 'what': 'net-rx', 'ns': ns}]
    return [{'pid': task[0], 'tid': task[0], 'comm': task[1], 'message': None, 'ns': ns}] if task else []


def parts_of(rng, expected):
    parts = [{'cause': 'expected', 'where': None, 'ns': expected, 'culprits': []}]
    for cause, where, _, typical, often in CAUSES:
        if rng.random() < often:
            ns = int(rng.lognormvariate(math.log(typical), 0.6))
            parts.append({'cause': cause, 'where': where, 'ns': ns, 'culprits': culprit(rng, cause, ns)})
    parts.append({'cause': 'offset', 'where': None, 'ns': -rng.randrange(200), 'culprits': []})
    return parts


def timeline_of(rng, parts, latency):
    """The parts one after the other."""
    spans, at = [], 0
    for p in parts:
        if p['ns'] <= 0:
            continue
        end = min(latency, at + p['ns'])
        lane = 'receive' if p['where'] == 'receive' or not p['where'] else 'application'
        what = {'cpu-wait': 'nginx runs', 'head-of-line': 'process_command', 'softirq': 'net_rx_action'}.get(p['cause'], p['cause'])
        spans.append({'lane': lane, 'core': 0, 'begin_ns': at, 'end_ns': end, 'cause': p['cause'] if p['where'] else None,
                      'what': what, 'message': None, 'merged': 0})
        at = end
    return spans


def example(rng, number, at, timeline):
    parts = parts_of(rng, 21 * US)
    latency = sum(p['ns'] for p in parts)
    handed = min(latency, 9 * US)
    return {'id': number, 'at_ns': at, 'latency_ns': latency, 'deviation_ns': latency - 21 * US, 'pid': 4711, 'tid': 4712,
            'comm': 'memcached', 'local': '192.0.2.1:11211', 'remote': f'198.51.100.7:{40000 + number % 100}', 'bytes': 64,
            'coverage': round(rng.uniform(0.85, 1), 4), 'parts': parts,
            'pieces': [{'role': 'receive', 'core': 1, 'begin_ns': 0, 'end_ns': handed},
                       {'role': 'application', 'core': 0, 'begin_ns': handed, 'end_ns': latency}],
            'timeline': timeline_of(rng, parts, latency) if timeline else None}


def at_of(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def causes_of(examples):
    by = {}
    for e in examples:
        for p in e['parts']:
            if p['ns'] > 0 and p['where']:
                by.setdefault((p['cause'], p['where']), []).append(p)
    total = sum(p['ns'] for parts in by.values() for p in parts)
    rows = []
    for (cause, where), parts in by.items():
        values = [p['ns'] for p in parts]
        rows.append({'cause': cause, 'where': where, 'kind': next(c[2] for c in CAUSES if c[0] == cause),
                     'total_ns': sum(values), 'share': sum(values) / total, 'median_ns': at_of(values, 0.5),
                     'p25_ns': at_of(values, 0.25), 'p75_ns': at_of(values, 0.75), 'max_ns': max(values),
                     'messages': len(values), 'culprits': [{**c, 'ns': sum(values)} for c in parts[0]['culprits']]})
    return sorted(rows, key=lambda r: -r['total_ns'])


def over_time(rng, intervals, cells):
    rows = []
    for i in range(intervals):
        burst = 12 if i % 29 in (7, 8) else 1
        values = latencies(rng, 4 * cells if cells < 50 else cells, 21 * US * burst, 0.9)
        latency = {**distribution(values), 'buckets': [{'le_ns': edge(1000 * 2 ** (k / 8)), 'count': 1 + rng.randrange(50)} for k in range(cells)]
                   if cells >= 50 else buckets_of(values)}
        rows.append({'from_ns': i * 100 * MS, 'to_ns': (i + 1) * 100 * MS, 'latency': latency})
    return rows


def diagnose(points=0, host='db1.example'):
    rng = random.Random(7)
    n = max(300, points // 12)
    gaps = [int(rng.expovariate(1 / (40 if rng.random() < 0.6 else 4000)) * US * 10) for _ in range(n)]
    at, examples = 1000 * MS, []
    for i in range(n):
        at += gaps[i]
        examples.append(example(rng, 1000 + 7 * i, at, not points and i % 10 != 9))
    everything = latencies(rng, 20000, 21 * US)
    if points:
        dist = {**distribution(everything), 'buckets': [{'le_ns': 1000 + 40 * k, 'count': 1 + k % 3} for k in range(points // 4)]}
        dist['max_ns'] = 1000 + 40 * (points // 4 - 1)
    else:
        dist = distribution(everything)
    return {
        'hostlat': about('diagnose', host),
        'recording': {'duration_ns': 10000 * MS, 'granularity_ns': 80, 'cores': 2, 'lost': 0},
        'messages': {'count': 20000, 'sent': 20000, 'target': n, 'reference': 1000},
        'latency': {'all': dist, 'target': distribution([e['latency_ns'] for e in examples]),
                    'reference': distribution(latencies(rng, 1000, 21 * US, 0.1, 0))},
        'causes': causes_of(examples), 'examples': examples,
        'contexts': [{'where': 'application', 'context': 'nginx', 'target_fraction': 0.71, 'reference_fraction': 0.02},
                     {'where': 'application', 'context': 'memcached', 'target_fraction': 0.22, 'reference_fraction': 0.61},
                     {'where': 'application', 'context': 'idle', 'target_fraction': 0.01, 'reference_fraction': 0.3},
                     {'where': 'receive', 'context': 'softirq net-rx', 'target_fraction': 0.05, 'reference_fraction': 0.06},
                     {'where': 'receive', 'context': 'ksoftirqd/1', 'target_fraction': 0.01, 'reference_fraction': None}],
        'contexts_by_core': [{'core': 0, 'where': 'application', 'context': 'nginx', 'target_fraction': 0.7, 'reference_fraction': 0.02},
                             {'core': 1, 'where': 'application', 'context': 'nginx', 'target_fraction': 0.01, 'reference_fraction': 0},
                             {'core': 1, 'where': 'receive', 'context': 'softirq net-rx', 'target_fraction': 0.05, 'reference_fraction': 0.06}],
        'contexts_by_core_omitted': 0,
        'queuing': [{'what': 'messages that the reader read earlier', 'where': 'application', 'target_median': 6, 'target_max': 20,
                     'reference_median': 1, 'messages': 201, 'median_ns': 310 * US, 'p25_ns': 100 * US, 'p75_ns': 400 * US, 'max_ns': 900 * US},
                    {'what': 'packets received earlier in the same softirq', 'where': 'receive', 'target_median': 2,
                     'target_max': 9, 'reference_median': 1, 'median_ns': 30 * US,
                     'p25_ns': 11 * US, 'p75_ns': 70 * US, 'max_ns': 300 * US, 'messages': 40}],
        'over_time': over_time(rng, points // 200 if points else 100, 100 if points else 10),
        'examples_omitted': 7, 'coverage': {'messages': n, 'over_attributed': 0, 'median': 0.973, 'min': 0.8512, 'p10': 0.912}, 'partition_error_ns': 0, 'blind_ns': 41000,
        'findings': ['743 of 1 000 slow messages waited for a CPU that nginx (4690) held: 2.9 ms at the median, 71 % of the excess.',
                     '201 waited behind another message on the same socket: 310 µs at the median.'],
        'verdict': 'ok', 'reasons': [],
    }


def curve(dist, half):
    """The share that takes longer, with a band."""
    rows, above = [], dist['count']
    for bucket in dist['buckets'][:-1]:
        above -= bucket['count']
        share = above / dist['count']
        rows.append({'ns': bucket['le_ns'], 'share': share, 'lo': max(0, share - half), 'hi': min(1, share + half)})
    return rows


def load():
    rng = random.Random(3)
    values = latencies(rng, 40000, 100 * US)
    dist = distribution(values, 32)
    brief = {k: dist[k] for k in ('count', 'max_ns', 'quantiles')}
    return {
        'hostlat': about('load'), 'findings': ['p99   603 µs  [575, 634] at 95 %', 'sound: rate ✓  arrivals ✓'], 'verdict': 'ok', 'reasons': [],
        'requests': {'scheduled': 40010, 'sent': 40010, 'completed': 40000, 'failed': 10, 'unsent': 0, 'in_flight': 0},
        'rate': {'target': 2000, 'offered': 2000.5, 'achieved': 2000},
        'latency': {'intended': {**brief, 'effective_count': 10130, 'mean_ns': 139655},
                    'actual': {**brief, 'quantiles': [{**q, 'lo_ns': None, 'hi_ns': None} for q in brief['quantiles']],
                               'effective_count': 9000, 'mean_ns': 139155},
                    'kernel': {**brief, 'quantiles': [{**q, 'lo_ns': None, 'scope': 'run'} for q in brief['quantiles']]}},
        'parts': [{'of': of, 'count': 100, 'mean_ns': mean, 'client_queue_ns': mean // 9, 'transmit_ns': mean // 20,
                   'wire_server_ns': mean // 2, 'receive_ns': mean // 8, 'wakeup_ns': None,
                   'unexplained_ns': mean - mean // 9 - mean // 20 - mean // 2 - mean // 8}
                  for of, mean in (('all', 139655), ('p50', 101170), ('p99', 567645), ('p99.9', 955424))],
        'gates': [{'name': 'rate', 'statistic': 1, 'threshold': 0.99, 'p': None, 'pass': True},
                  {'name': 'trend-tail', 'statistic': 0.12, 'threshold': 0.097, 'p': 0.2, 'pass': False}],
        'histogram': {'of': 'intended', 'schema': 5, 'buckets': dist['buckets']},
        'over_time': [{'from_ns': i * S, 'to_ns': (i + 1) * S, 'count': 2000, 'failed': i == 3, 'p50_ns': 100000 + 1000 * i,
                       'tail_ns': None if i == 5 else 500000 + 50000 * i, 'gap_share': 0.1 if i in (7, 8) else 0.0,
                       'disturbed': i in (7, 8), 'look': i == 9, 'warmup': i == 0} for i in range(20)],
        'ccdf': curve(dist, 0.02),
        'sampling': [{'q': 0.5, 'needed': 8, 'count': 40000}, {'q': 0.99, 'needed': 1786, 'count': 40000},
                     {'q': 0.999, 'needed': 51720, 'count': 40000}, {'q': 0.9999, 'needed': None, 'count': 40000}],
        'runs': [{'rate': 1000.0 * (i + 1), 'achieved': 1000.0 * (i + 1), 'count': 10000, 'q': 0.99, 'ns': ns,
                  'lo_ns': lo, 'hi_ns': hi, 'verdict': 'ok' if hi else 'n/a', 'reasons': '' if hi else 'rate-not-reached'}
                 for i, (ns, lo, hi) in enumerate(((200000, 180000, 230000), (300000, None, 350000), (900000, None, None), (None, None, None)))],
        'setup': {'targets': ['memcached://192.0.2.1:11211'], 'seed': 18446744073709551615},
    }


def watch():
    rng = random.Random(5)
    stages, before = [], None
    for i, (stage, median) in enumerate((('transport', 300), ('enqueued', 800), ('runnable', 1100), ('running', 2600), ('read', 4400))):
        values = latencies(rng, 5000, median, 0.4, 0.02 if i > 2 else 0.001, 900)
        row = {'stage': stage, 'direction': 'ingress', 'protocol': 'tcp', 'origin': 'link', 'group': {}, **distribution(values)}
        row['step'] = distribution(latencies(rng, 5000, median // 2, 0.4, 0.01, 500)) if before else None
        before = row
        stages.append(row)
    stages[0]['sum_ns'] = 18446744073709551615
    return {
        'hostlat': about('watch'), 'interval': {'from_ns': 1, 'to_ns': 1000000001, 'duration_ns': 1000000000},
        'clock': {'name': 'monotonic', 'error_ns': 40, 'steps': 0}, 'sample': None, 'stages': stages,
        'drops': [{'stage': 'ip', 'reason': 'NO_SOCKET', 'count': 3}], 'losses': [], 'excluded': [{'reason': 'pure-ack', 'count': 812}],
        'uncovered': None, 'uncovered_why': 'not counted with a filter',
        'bindings': [{'stage': 'read', 'hook': 'tcp_rcv_space_adjust', 'kind': 'tp_btf', 'direction': 'ingress', 'protocol': 'any', 'bound': True, 'why': None},
                     {'stage': 'ip', 'hook': None, 'kind': None, 'direction': 'ingress', 'protocol': 'any', 'bound': False, 'why': 'not selected'}],
        'scheduler': [], 'culprits': [{'pid': 4690, 'tid': 4690, 'comm': 'nginx', 'wait_ns': 24000000}],
        'slow': {'threshold_ns': 1000000, 'count': 6, 'suppressed': 5, 'messages': [{
            'read_ns': 1000910000000, 'protocol': 'tcp', 'origin': 'link', 'total_ns': 600000000,
            'steps': {'transport': 300, 'enqueued': 500, 'read': 599999200}, 'wait_ns': 135000000, 'stopped_ns': 0,
            'culprit': {'pid': 4690, 'tid': 4690, 'comm': 'nginx', 'wait_ns': 24000000}, 'pid': 4711, 'tid': 4711, 'comm': 'memcached',
            'packets': 1, 'local': '192.0.2.1:11211', 'remote': '198.51.100.7:40315'}]},
        'findings': ['56 % of the TCP time to `read` passed waiting for a CPU.'],
        'own_cost': {'user_ns': 1000000, 'bpf_ns': 1000000, 'fraction': 0.001, 'method': 'statistics', 'why': None},
    }


LIMITS = ('sender-app', 'send-buffer', 'congestion', 'receiver-window', 'delayed-ack')
EVENTS = ('fast_retransmit', 'rto', 'tlp', 'spurious', 'delayed_acks', 'delayed_acks_harmful')


def limited(*times, events=(0, 0, 0, 0, 0, 0)):
    return {'time_ns': dict(zip(LIMITS, times)), 'events': dict(zip(EVENTS, events))}


def conns():
    def connection(cookie, local, remote, app, limit, share, problems, **more):
        return {'cookie': str(cookie), 'local': local, 'remote': remote, 'app': app, 'pid': 4000 + cookie, 'limit': limit,
                'limit_share': share, 'problems': problems, **more}
    return {
        'hostlat': about('conns'), 'interval': {'from_ns': 10 ** 12, 'to_ns': 10 ** 12 + 8 * 10 ** 9, 'duration_ns': 8 * 10 ** 9},
        'totals': {'connections': 3, 'closed': 0, 'with_problems': 1, 'forgotten': 0},
        'connections': [
            connection(71, '10.0.0.2:33000', '10.0.0.1:80', 'client', 'receiver-window', 0.75, ['receiver-window'],
                       rtt={'samples': 120, 'min_ns': 20 * MS, 'mean_ns': 24 * MS, 'p50_ns': 21 * MS, 'p90_ns': 30 * MS,
                            'p99_ns': 60 * MS, 'max_ns': 63 * MS, 'buckets': [{'gt_ns': 19951584, 'le_ns': 23726566, 'samples': 100},
                                                                             {'gt_ns': 56431603, 'le_ns': 67108864, 'samples': 20}]},
                       **limited(2000 * MS, 0, 0, 6000 * MS, 0, events=(3, 1, 2, 0, 12, 0))),
            connection(72, '10.0.0.1:80', '10.0.0.2:33000', 'nginx', 'sender-app', 1.0, [], **limited(8000 * MS, 0, 0, 0, 0)),
            connection(73, '10.0.0.1:80', '10.0.0.3:33000', None, None, None, [],
                       **limited(*[None] * 5, events=[None] * 6))],
        'problems': [{'cookie': '71', 'local': '10.0.0.2:33000', 'remote': '10.0.0.1:80', 'app': 'client', 'class': 'receiver-window',
                      'evidence': {'share': 0.75}, 'confidence': 'observed', 'harmful': True, 'lost_ns': 6000 * MS,
                      'message': 'the window was too small', 'advice': 'the receiving application does not read'}],
        'budget': {'target': {'low': 0.01, 'high': 0.03}, 'used': 0.012}, 'losses': [], 'missing': [],
        'findings': ['receiver-window: the window was too small.'],
    }


def limits():
    doing = {'pid': 4711, 'tid': 4712, 'comm': 'nginx', 'duration_ns': 6000 * MS, 'state_ns': {
        'on-cpu': 300 * MS, 'interrupted': 0, 'cpu-wait': 1200 * MS, 'asleep': 4500 * MS, 'blocked': 0, 'stopped': 0, 'unknown': 0},
             'calls': [{'call': 'clock_nanosleep', 'on_cpu_ns': 0, 'asleep_ns': 4500 * MS}, {'call': None, 'on_cpu_ns': 300 * MS, 'asleep_ns': 0}],
             'culprits': [{'pid': 4690, 'tid': 4690, 'comm': 'gzip', 'ns': 1200 * MS}]}
    return {'why': None, 'ends': [
        {'end': 'server', 'connections': 8, 'with_problems': 1, 'unknown_ns': 0, 'samples': 900, 'why': None, **limited(8000 * MS, 0, 0, 0, 0)},
        {'end': 'client', 'connections': 8, 'with_problems': 1, 'unknown_ns': 0, 'samples': 800, 'why': None,
         **limited(2000 * MS, 0, 0, 6000 * MS, 0, events=(3, 1, 2, 0, 12, None))}],
            'responsible': [
                {'duty': 'read', 'end': 'server', 'connections': 8, 'pid': 4711, 'doing': doing, 'why': None},
                {'duty': 'write', 'end': 'client', 'connections': 8, 'pid': 4800, 'doing': None, 'why': 'several threads read the connection\'s messages'}]}


def compared_limits():
    def row(what, unit, a, b, significant):
        return {'end': 'client', 'what': what, 'unit': unit, 'a': a, 'b': b, 'difference': None if None in (a, b) else b - a,
                'lo': None, 'hi': None, 'p_value': None if significant is None else 0.001 if significant else 0.8,
                'adjusted_p': None if significant is None else 0.002 if significant else 0.8, 'significant': significant}
    return {'rows': [row('receiver-window', 'share', 0.02, 0.75, True), row('sender-app', 'share', 0.98, 0.25, True),
                     row('congestion', 'share', 0, 0, None), row('rto', 'per-second', 0.25, None, None)]}


def comparison():
    def row(a, b, **more):
        return {**more, 'a_ns': a, 'b_ns': b, 'difference_ns': b - a, 'lo_ns': int((b - a) * (1.2 if b < a else 0.8)),
                'hi_ns': int((b - a) * (0.8 if b < a else 1.2)), 'significant': abs(b - a) > 1000}
    return {
        'hostlat': about('compare'), 'a': {'file': 'before.hlat', 'messages': 20000}, 'b': {'file': 'after.hlat', 'messages': 20100},
        'quantiles': [row(21000, 21200, q=0.5), row(60000, 41000, q=0.9), row(3100000, 91000, q=0.99), row(4900000, 180000, q=0.999)],
        'curve': [row(9000, 9100, q=0.1), row(21000, 21200, q=0.5), row(60000, 41000, q=0.9), row(3100000, 91000, q=0.99), row(4900000, 180000, q=0.999)],
        'causes': [row(2154000000, 1200000, cause='cpu-wait', where='application', adjusted_p=0.0001),
                   row(62000000, 41000000, cause='head-of-line', where='application', adjusted_p=0.004),
                   row(4000000, 4000900, cause='softirq', where='receive', adjusted_p=0.71)],
        'facts': [{'name': 'cpus of nginx', 'a': '0', 'b': '1'}, {'name': 'kernel', 'a': '6.1.0', 'b': '6.1.0'}],
        'limits': compared_limits(),
        'findings': ['p99 fell from 3.10 ms to 91 µs; cpu-wait is gone.'],
    }


def explain():
    return {'hostlat': about('explain'), 'verdict': ['It is this host: nginx (4690) held the CPU of memcached.', 'Move it away.'],
            'limits': limits(), 'load': load(), 'watch': watch(), 'diagnose': diagnose(), 'conns': conns(),
            'compare': comparison()}


def shortened(document):
    """Fewer messages and intervals: there are many such documents in one page."""
    for part in document, document.get('diagnose', {}):
        for field in 'examples', 'over_time':
            if field in part:
                part[field] = part[field][:20]
    return document


def spoil(rng, document):
    """Put something else, or nothing, in the place of one value."""
    at = document
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = at[key]
        if isinstance(inner, (dict, list)) and inner and rng.random() < 0.8:
            at = inner
            continue
        if rng.random() < 0.2 and isinstance(at, dict):
            del at[key]
        else:
            at[key] = rng.choice([None, 0, -1, 1e300, -7.5, 'text', '', '99999999999999999999', [], {}, [None], [[]], {'a': []}, True])
        return


KINDS = {'load': load, 'watch': watch, 'diagnose': diagnose, 'conns': conns, 'compare': comparison, 'explain': explain}

if __name__ == '__main__':
    if len(sys.argv) == 3:
        made = diagnose(int(sys.argv[2]))
    else:
        made = KINDS[sys.argv[1]]()
    json.dump(made, sys.stdout, ensure_ascii=False)
