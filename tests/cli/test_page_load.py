#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The plots of load in the report page: test_page_load.py HOSTLAT MKTRACE MKLOAD"""
import math
import re

import pagedata
from test_page import Case, line_of, seconds, ticks, main


class Load(Case):
    def test_fields_of_load_have_a_real_source(self):
        real, made = self.loaded('service exponential:100us\n'), pagedata.load()
        for field in 'over_time', 'ccdf', 'sampling':
            self.assertEqual({key for row in made[field] for key in row}, {key for row in real[field] for key in row}, field)
        runs = self.documents_of('load', 'null:', '--rates', '1k:2k:1k', '--for', '300ms')['runs']
        self.assertEqual({key for row in made['runs'] for key in row} - {key for row in runs for key in row}, set())

    def test_bounds(self):
        """A bound says so where it holds for this run only, and where it is the only one."""
        page = self.open(pagedata.load())
        cells = page.run("[...document.querySelectorAll('td')].map(td => td.textContent)")
        self.assertEqual(sum('at most' in c and c.endswith('in this run only') for c in cells), 4)
        self.assertFalse([c for c in cells if '[' in c and 'only' in c])

    def test_latency_over_time(self):
        document = pagedata.load()
        rows = document['over_time']
        page = self.open(document)
        page.run("document.querySelector('[data-plot=load-over-time]').scrollIntoView({block: 'center'})")
        x = line_of([(p, seconds(t)) for p, t in ticks(page, '[data-plot=load-over-time]', 'x')])
        y = line_of([(p, math.log(seconds(t))) for p, t in ticks(page, '[data-plot=load-over-time]', 'y')])
        box = page.run("JSON.parse(JSON.stringify(document.querySelector('[data-plot=load-over-time] svg').getBoundingClientRect()))")
        for field in 'tail_ns', 'p50_ns':
            path = page.run(f"document.querySelector('[data-plot=load-over-time] [data-line={field}]').getAttribute('d')")
            steps = re.findall(r'[ML]([\d.]+) ([\d.]+)H([\d.]+)', path)
            wanted = [r for r in rows if r[field]]
            self.assertEqual(len(steps), len(wanted))
            # Where a row has no value, the line is interrupted.
            self.assertEqual(path.count('M'), 2 if len(wanted) < len(rows) else 1)
            for step, row in zip(steps, wanted):
                got = [float(v) for v in step]
                self.assertAlmostEqual(got[0] + box['x'], x(row['from_ns']), delta=1.5)
                self.assertAlmostEqual(got[1] + box['y'], y(math.log(row[field])), delta=4.5)
                self.assertAlmostEqual(got[2] + box['x'], x(row['to_ns']), delta=1.5)
        marks = page.run("[...document.querySelectorAll('[data-plot=load-over-time] [data-mark]')].map(n => "
                         "[n.dataset.mark, n.getBoundingClientRect().x])")
        self.assertEqual([m[0] for m in marks], ['warmup', 'disturbed', 'disturbed', 'look'])
        for (_, at), wanted in zip(marks, (0, 7, 8, 10)):
            self.assertAlmostEqual(at, x(wanted * 1e9), delta=1.5)
        page.mouse(round(x(8.5e9)), box['y'] + 60, click=False)
        page.wait("!document.getElementById('tip').hidden")
        tip = page.run("document.getElementById('tip').textContent")
        self.assertIn('gaps of this host', tip)
        self.assertIn('this host stood still for 10', tip)
        self.clean(page)

    def test_latency_over_load(self):
        document = pagedata.load()
        page = self.open(document)
        page.run("document.querySelector('[data-plot=load-over-load]').scrollIntoView({block: 'center'})")
        y = line_of([(p, math.log(seconds(t))) for p, t in ticks(page, '[data-plot=load-over-load]', 'y')])
        points = page.run("[...document.querySelectorAll('[data-plot=load-over-load] [data-point]')].map(n => "
                          "{ const b = n.getBoundingClientRect(); return [n.dataset.point, b.x + b.width / 2, b.y + b.height / 2]; })")
        self.assertEqual([p[0] for p in points], ['good', 'good', 'bad', 'bad'])
        for (_, _, at), row in zip(points, document['runs']):
            if row['ns']:
                self.assertAlmostEqual(at, y(math.log(row['ns'])), delta=4.5)
        # Those that are not sound are hollow, in the color of the legend's sign.
        fill, stroke, sign, paper = page.run("(() => { const of = (s, w) => [...new Set([...document.querySelectorAll(`[data-plot=load-over-load] ${s}`)]"
                                             ".map(n => getComputedStyle(n)[w]))]; return [of('[data-point=bad]', 'fill'), of('[data-point]', 'stroke'), "
                                             "of('.legend button:first-child path', 'fill'), getComputedStyle(document.body).backgroundColor]; })()")
        self.assertEqual((fill, stroke), ([paper], sign))
        gaps = [b[1] - a[1] for a, b in zip(points, points[1:])]
        self.assertAlmostEqual(min(gaps), max(gaps), delta=1)
        intervals = page.run("[...document.querySelectorAll('[data-plot=load-over-load] .interval')].map(n => "
                             "{ const b = n.getBoundingClientRect(); return [b.bottom, b.y]; })")
        self.assertEqual(len(intervals), 2)
        # Of the second run only the upper bound is known: it begins at the point.
        for got, lo, hi in zip(intervals, (180000, 300000), (230000, 350000)):
            self.assertAlmostEqual(got[0], y(math.log(lo)), delta=4.5)
            self.assertAlmostEqual(got[1], y(math.log(hi)), delta=4.5)
        # Runs at one rate have no axis.
        del document['runs'][1:]
        page = self.open(document)
        self.assertFalse(page.run("Boolean(document.querySelector('[data-plot=load-over-load]'))"))
        self.clean(page)

    def test_confidence_band(self):
        document = pagedata.load()
        page = self.open(document)
        count = "document.querySelectorAll('[data-plot=load] .confidence').length"
        self.assertEqual(page.run(count), 1)
        path = page.run("document.querySelector('[data-plot=load] .confidence').getAttribute('d')")
        n = len(document['ccdf'])
        self.assertEqual((path.count('V'), path.count('H')), (2 * n - 1, 2 * n - 2))
        page.run("document.querySelector('[data-plot=load] button').click()")
        self.assertEqual(page.run(count), 0)
        for row in document['ccdf']:
            row['lo'] = row['hi'] = None
        self.assertEqual(self.open(document).run(count), 0)

    def test_requests_needed(self):
        page = self.open(pagedata.load())
        rows = page.run('''[...document.querySelectorAll('[data-plot=load-needed] .row')].map(g => { const [bar, line] = [g.querySelectorAll('rect')[1],
            g.querySelector('line')].map(n => n.getBoundingClientRect()); return [g.dataset.key, bar.right > line.x, g.textContent]; })''')
        self.assertEqual([r[0] for r in rows], ['p50', 'p99', 'p99.9'])
        self.assertEqual([r[1] for r in rows], [False, False, True])
        self.assertEqual(['too few' in r[2] for r in rows], [False, False, True])
        note = page.run("document.querySelector('[data-plot=load-needed] .note').textContent")
        self.assertIn('; not known for p99.99', note)


if __name__ == '__main__':
    main()
