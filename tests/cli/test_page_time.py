#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Latency over time in the report page: test_page_time.py HOSTLAT MKTRACE MKLOAD"""
import re

import pagedata
from test_page import Case, line_of, near, seconds, table, ticks, main

HEAT = '[data-plot=heat]'
SURFACE = f"document.querySelector('{HEAT} rect[tabindex]')"


class Time(Case):
    def shown(self, document):
        page = self.open(document)
        page.run(f"document.querySelector('{HEAT}').scrollIntoView({{block: 'center'}})")
        return page

    def surface(self, page):
        return page.run(f"(() => {{ const b = {SURFACE}.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; }})()")

    def axis(self, page):
        return line_of([(x, seconds(t)) for x, t in ticks(page, HEAT, 'x')])

    def flat(self, interval):
        """Over an interval's distribution, wherever it stands."""
        return interval.get('latency') or interval

    def test_tip_says_what_the_json_says(self):
        """Of a recording's diagnosis, whose intervals have quantiles, and of one whose distribution is a member."""
        for document in (*self.real('commands'), pagedata.diagnose()):
            page = self.shown(document)
            page.run(f'{SURFACE}.focus()')
            intervals = sorted((i for i in document['over_time'] if i['to_ns'] > i['from_ns']), key=lambda i: i['from_ns'])
            for interval in intervals[:4]:
                page.key('ArrowRight')
                tip = page.run("document.getElementById('tip').textContent")
                dist = self.flat(interval)
                by = {q['q']: q['ns'] for q in dist.get('quantiles') or []}
                self.assertIn(f"\n{dist['count']} messages\n", tip)
                for name, q in (('median', 0.5), ('p99', 0.99)):
                    shown = re.search(name + ' ([^, \n]+)', tip).group(1)
                    if by.get(q) is None:
                        self.assertTrue(shown.startswith('n/a'), tip)
                    else:
                        self.assertTrue(near(seconds(shown), by[q]), tip)
            self.clean(page)

    def test_lines_are_drawn(self):
        """Median and p99 are lines through the intervals' quantiles; the legend switches them off."""
        document = pagedata.diagnose()
        page = self.shown(document)
        rows = [self.flat(i) for i in document['over_time']]
        for field in ('p50_ns', 'p99_ns'):
            path = page.run(f"document.querySelector('{HEAT} [data-line={field}]').getAttribute('d')")
            self.assertEqual(len(re.findall('[ML]', path)), len(rows))
        page.run(f"document.querySelector('{HEAT} [data-series=median]').click()")
        self.assertIsNone(page.run(f"(document.querySelector('{HEAT} [data-line=p50_ns]') || {{dataset: {{}}}}).dataset.line || null"))
        self.assertEqual(page.run(f"document.querySelector('{HEAT} [data-series=median]').getAttribute('aria-pressed')"), 'false')
        self.assertTrue(page.run(f"Boolean(document.querySelector('{HEAT} [data-line=p99_ns]'))"))
        page.run("document.querySelector('[data-plot=latency] [data-series=slow]').click()")
        self.assertEqual(page.run("document.querySelectorAll('[data-plot=latency] path.curve').length"), 2)
        self.clean(page)

    def test_ticks_are_round(self):
        document = next(self.real('commands'))
        page = self.shown(document)
        times = [seconds(t) for _, t in ticks(page, HEAT, 'x')]
        steps = {round(b - a) for a, b in zip(times, times[1:])}
        self.assertEqual(times[0], 0)
        self.assertTrue(all(re.fullmatch('[125]0*', str(s)) for s in steps), steps)
        # The latency's scale stands above the lanes.
        self.assertGreater(len(ticks(page, HEAT, 'y')), 1)

    def lanes(self, document):
        """What each lane must have: waits for a CPU, and the culprits of most time."""
        waits, culprits = [], {}
        for m in document['examples']:
            for part in m['parts']:
                if part['cause'] == 'cpu-wait':
                    waits.append(m)
                for c in part['culprits'] or []:
                    if part['cause'] != 'expected' and c.get('ns', 0) > 0 and (c.get('command') or c.get('comm')):
                        culprits.setdefault(c.get('command') or c['comm'], []).append(c['ns'])
        most = sorted(culprits, key=lambda n: -sum(culprits[n]))[:5]
        return [('waits for a CPU', len(waits))] + [(name, len(culprits[name])) for name in most]

    def test_lanes(self):
        document = next(self.real('commands'))
        page = self.shown(document)
        got = page.run(f"[...document.querySelectorAll('{HEAT} [data-lane]')].map(n => [n.dataset.lane, Number(n.dataset.marks)])")
        self.assertEqual(sorted(map(tuple, got)), sorted(self.lanes(document)))
        rates = page.run(f"[...document.querySelectorAll('{HEAT} [data-rate]')].map(n => Number(n.dataset.rate))")
        self.assertEqual(rates, [i['count'] for i in document['over_time'] if i['to_ns'] > i['from_ns']])
        self.clean(page)

    def test_brush(self):
        """Dragging over a time leaves its messages; a click ends it."""
        document = pagedata.diagnose()
        # Its messages come within its intervals.
        at = [m['at_ns'] for m in document['examples']]
        low, span = min(at), max(at) - min(at)
        for m in document['examples']:
            m['at_ns'] = int((m['at_ns'] - low) / span * 9.9e9)
        page = self.shown(document)
        x = self.axis(page)
        left, right, top, _ = self.surface(page)
        x_of = lambda ns: left + ns / 10e9 * (right - left)
        page.drag(x_of(2e9), top + 40, x_of(4e9), top + 40)
        begin, end = map(int, page.run(f"document.querySelector('{HEAT}').dataset.brushed").split())
        self.assertAlmostEqual(begin / 2e9, 1, delta=0.02)
        self.assertAlmostEqual(end / 4e9, 1, delta=0.02)
        self.assertAlmostEqual(x(2e9), x_of(2e9), delta=3)
        chosen = [str(m['id']) for m in document['examples'] if begin <= m['at_ns'] <= end]
        self.assertTrue(20 < len(chosen) < len(at))
        page.run("document.querySelector('[data-table=messages] .more').click()")
        self.assertEqual([row[0] for row in table(page, 'messages')], chosen)
        self.assertIn(f'{len(chosen)} of {len(at)} messages', page.run("document.querySelector('.chips [role=status]').textContent"))
        # With causes, both are asked for.
        page.run("document.querySelector('[data-cause=\"lock|application\"]').click()")
        locked = [str(m['id']) for m in document['examples'] if begin <= m['at_ns'] <= end and any(p['cause'] == 'lock' for p in m['parts'])]
        self.assertEqual([row[0] for row in table(page, 'messages')], locked)
        page.run("document.querySelector('.chips button:last-of-type').click()")
        self.assertEqual(page.run(f"document.querySelector('{HEAT}').dataset.brushed"), '')
        self.assertEqual(len(table(page, 'messages')), 25)
        self.clean(page)

    def test_lines_of_a_file_are_a_series(self):
        """Stages of a live view over its intervals; the last one is shown in full."""
        lines = []
        for i in range(5):
            document = pagedata.watch()
            document['interval'] = {'from_ns': 10 ** 12 + i * 10 ** 9, 'to_ns': 10 ** 12 + (i + 1) * 10 ** 9, 'duration_ns': 10 ** 9}
            for stage in document['stages']:
                stage['count'] += i
                for q in stage['quantiles']:
                    q['ns'] *= i + 1
            lines.append(document)
        page = self.open(lines=lines)
        self.assertEqual(page.run("[...document.querySelectorAll('article')].length"), 1)
        self.assertEqual(page.run("document.querySelector('[data-fact=duration] dd').textContent"), '5.00\u00a0s')
        plot = '[data-plot=stages-over-time]'
        self.assertEqual(page.run(f"document.querySelectorAll('{plot} path.curve').length"), len(lines[0]['stages']))
        page.run(f"document.querySelector('{plot} rect[tabindex]').focus()")
        for _ in range(3):
            page.key('ArrowRight')
        tip = page.run("document.getElementById('tip').textContent")
        for stage in lines[3]['stages']:
            words = re.search(f"{stage['stage']} tcp from link: p99 ([^,]+), ([\\d\u202f]+) packets", tip)
            self.assertTrue(near(seconds(words.group(1)), next(q['ns'] for q in stage['quantiles'] if q['q'] == 0.99)))
            self.assertEqual(words.group(2).replace('\u202f', ''), str(stage['count']))
        self.assertEqual([c[1] for c in table(page, 'stages')[0][1:] if c[0] == 'count'], [str(lines[4]['stages'][0]['count'])])
        self.assertEqual(page.run("[...document.querySelectorAll('[data-how=watch] summary')].filter(n => n.textContent.startsWith('interval from')).length"), 4)
        self.clean(page)

    def test_brush_by_keyboard(self):
        document = pagedata.diagnose()
        page = self.shown(document)
        page.run(f'{SURFACE}.focus()')
        for _ in range(3):
            page.key('ArrowRight')
        for _ in range(2):
            page.key('ArrowRight', shift=True)
        chosen = page.run(f"document.querySelector('{HEAT}').dataset.brushed")
        begin, end = map(int, chosen.split())
        self.assertEqual((begin % 100000000, end - begin), (0, 200000000))
        page.key('Escape')
        self.assertEqual(page.run(f"document.querySelector('{HEAT}').dataset.brushed"), '')
        self.clean(page)


if __name__ == '__main__':
    main()
