#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One message in the report page: test_page_timeline.py HOSTLAT MKTRACE MKLOAD"""
import json

import pagedata
from test_page import Case, line_of, seconds, ticks, main

PLOT = 'dialog [data-plot=timeline]'


class Timeline(Case):
    def opened(self, document, n=0):
        """The page with the n-th slowest message open, and that message."""
        page = self.open(document)
        message = document['examples'][n]
        page.run(f"document.querySelector('[data-table=messages] tr[data-key=\"{message['id']}\"]').click()")
        page.wait("Boolean(document.querySelector('dialog[open] .span'))")
        return page, message

    def view(self, page):
        """From when to when the timeline shows, in ns."""
        marks = [(p, seconds(t)) for p, t in ticks(page, PLOT, 'x')]
        at = line_of([(ns, p) for p, ns in marks])
        left, right = page.run(f"(() => {{ const b = document.querySelector('{PLOT} .frame').getBoundingClientRect(), "
                               f"s = document.querySelector('{PLOT} path.frame').getBoundingClientRect(); return [s.left, s.right]; }})()")
        return at(left), at(right)

    def near(self, got, wanted, message):
        for a, b in zip(got, wanted):
            self.assertAlmostEqual(a, b, delta=0.02 * message['latency_ns'])

    def middle(self, page):
        return page.run(f"(() => {{ const b = document.querySelector('{PLOT} .plot').getBoundingClientRect(); return [b.left + b.width / 2, b.top + 30]; }})()")

    def test_spans_the_latency(self):
        """A golden diagnosis: spans are without gap, from the arrival to the end."""
        document = self.golden('diagnose/commands')
        page, message = self.opened(document)
        self.assertEqual((message['timeline'][0]['begin_ns'], message['timeline'][-1]['end_ns']), (0, message['latency_ns']))
        self.near(self.view(page), (0, message['latency_ns']), message)
        self.assertEqual(page.run(f"document.querySelectorAll('{PLOT} .span:not(.again)').length"), len(message['timeline']))
        self.clean(page)

    def test_lanes_have_names(self):
        page, message = self.opened(self.golden('diagnose/commands'))
        lanes = page.run(f"[...document.querySelectorAll('{PLOT} text.lane')].map(n => n.textContent)")
        spans = message['timeline']
        self.assertEqual(lanes[:len({s['lane'] for s in spans})], [n for n in ('receive', 'backlog', 'application', 'transmit') if n in {s['lane'] for s in spans}])
        for core in {s['core'] for s in spans if s['core'] is not None}:
            self.assertIn(f'CPU {core}', lanes)
        length = {}
        for s in spans:
            if s['what']:
                length[s['what']] = length.get(s['what'], 0) + s['end_ns'] - s['begin_ns']
        self.assertIn(max(length, key=length.get)[:10], ' '.join(lanes))
        names = page.run(f"[...document.querySelectorAll('{PLOT} text.name')].map(n => n.textContent)")
        self.assertTrue(any(max(length, key=length.get).startswith(n.rstrip('\u2026')) for n in names), names)

    def test_zoom_and_pan(self):
        page, message = self.opened(pagedata.diagnose(), 1)
        length = message['latency_ns']
        self.near(self.view(page), (0, length), message)
        x, y = self.middle(page)
        page.mouse(x, y, click=False)
        for _ in range(3):
            page.key('w')
        begin, end = self.view(page)
        self.assertAlmostEqual((end - begin) / length, 1 / 1.5 ** 3, delta=0.02)
        self.assertTrue(0 < begin < end < length)
        page.key('d')
        moved = self.view(page)
        self.assertAlmostEqual((moved[0] - begin) / (end - begin), 0.2, delta=0.03)
        page.key('a')
        self.near(self.view(page), (begin, end), message)
        page.drag(x, y, x + 100, y)
        self.assertLess(self.view(page)[0], begin)
        page.key('s')
        page.key('0')
        self.near(self.view(page), (0, length), message)
        page.wheel(x, y, -120)
        page.wait(f"document.querySelectorAll('{PLOT} .tick').length > 0")
        page.key('0')
        for _ in range(90):                 # there is an end to it
            page.key('w')
        begin, end = self.view(page)
        self.assertTrue(15 <= end - begin <= 25, end - begin)
        self.clean(page)

    def test_trace(self):
        """Saved as a trace: each lane has its spans, with the times of the JSON."""
        document = self.golden('diagnose/commands')
        page, message = self.opened(document)
        page.run("URL.createObjectURL = blob => { window.saved = blob.text(); return '#'; }")
        page.run("document.querySelector('dialog .trace').click()")
        trace = json.loads(page.run('window.saved'))
        spans = [e for e in trace['traceEvents'] if e['ph'] == 'X']
        lanes = {(e['pid'], e['tid']): e['args']['name'] for e in trace['traceEvents'] if e['name'] == 'thread_name'}
        places = [e for e in spans if lanes[e['pid'], e['tid']] in ('receive', 'application')]
        self.assertEqual(sorted((round(e['ts'] * 1000), round(e['dur'] * 1000), e['args']['cause']) for e in places),
                         sorted((s['begin_ns'], s['end_ns'] - s['begin_ns'], s['cause']) for s in message['timeline']))
        self.assertAlmostEqual(sum(e['dur'] for e in places) * 1000, message['latency_ns'], delta=1)
        page.key('Escape')
        page.run("document.querySelector('h3 .trace').click()")
        trace = json.loads(page.run('window.saved'))
        drawn = [m for m in document['examples'] if m['timeline']]
        self.assertEqual(len([e for e in trace['traceEvents'] if e['name'] == 'process_name']), len(drawn))

    def test_merged_slices_are_said(self):
        document = pagedata.diagnose()
        document['examples'][0]['timeline'][0]['merged'] = 1234
        page, _ = self.opened(document)
        self.assertIn('1\u202f234 of the shortest slices', page.run(f"document.querySelector('{PLOT} .note').textContent"))
        self.clean(page)


if __name__ == '__main__':
    main()
