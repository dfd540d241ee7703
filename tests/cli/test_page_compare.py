#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comparisons in the report page say what the text says: test_page_compare.py HOSTLAT MKTRACE MKLOAD"""
import math
import os
import re

from test_page import TRACES, Case, line_of, main, seconds, ticks
from test_page_culprits import column


class Compared(Case):
    def text_of(self, name):
        with open(os.path.join(os.path.dirname(TRACES), name, 'expect.txt'), encoding='utf-8') as f:
            return f.read()

    def test_adjusted_p_is_that_of_the_text(self):
        for name, shown in (('compare/load-same', ['35 %', '35 %', '81 %', '35 %']),
                            ('compare/several-slower', ['<0.1 %', '<0.1 %', '0.1 %', '0.1 %'])):
            with self.subTest(name):
                rows = re.findall(r'^p[\d.]+ .* ([<\d.]+ %)  (?:yes|no)$', self.text_of(name), re.MULTILINE)
                self.assertEqual(rows, shown)
                page = self.open(self.golden(name))
                self.assertEqual([p.replace('\u00a0', ' ') for p in column(page, 'compare-requests', 'adjusted p')], rows)
                self.assertTrue(page.run("Number(document.querySelector('[data-plot=compare-requests]').dataset.drawn)"))
                self.clean(page)

    def test_too_little_is_not_significant(self):
        page = self.open(self.golden('compare/several-little'))
        self.assertEqual(column(page, 'compare-requests', 'differs'), ['too little'] * 3 + ['no'])
        self.clean(page)

    def test_commands_of_one_side_only_have_their_table(self):
        for name, table, other in (('compare/command-new', 'new-commands', 'gone-commands'),
                                   ('compare/command-gone', 'gone-commands', 'new-commands')):
            with self.subTest(name):
                page = self.open(self.golden(name))
                self.assertEqual(column(page, table, 'command'), ['gzip'])
                self.assertFalse(page.run(f"!!document.querySelector('[data-table={other}]')"))
                self.clean(page)

    def test_limits_are_those_of_the_text(self):
        """Adjusted p and whether they differ, row by row; the stages, too."""
        rows = [(end, what, p, differs) for end, what, p, differs in re.findall(
            r'^(server|client)  (\S+) .* ([<\d.]+ %)  (yes|no|too little)$', self.text_of('compare/conns-window'), re.MULTILINE)]
        self.assertEqual(len(rows), 5)
        page = self.open(self.golden('compare/conns-window'))
        shown = zip(*(column(page, 'compare-limits', title) for title in ('end', 'limit', 'adjusted p', 'differs')))
        self.assertEqual([tuple(c.replace('\u00a0', ' ') for c in row) for row in shown], rows)
        self.assertTrue(all(c.endswith('\u00a0%-points') or c.endswith('/s') for c in column(page, 'compare-limits', 'B \u2212 A')))
        self.clean(page)
        rows = re.findall(r'^(\w+) +ingress .* ([<\d.]+ %)  (yes|no|too little)$', self.text_of('compare/watch-fell'), re.MULTILINE)
        page = self.open(self.golden('compare/watch-fell'))
        shown = zip(*(column(page, 'compare-stages', title) for title in ('stage', 'adjusted p', 'differs')))
        self.assertEqual([tuple(c.replace('\u00a0', ' ') for c in row) for row in shown], rows)
        self.assertTrue(rows)
        self.clean(page)

    def points(self, page, plot, side):
        """A line's points, in pixels of the window."""
        return page.run(f"""(() => {{ const line = document.querySelector('[data-plot={plot}] [data-side="{side}"]'), svg = line.ownerSVGElement,
            box = svg.getBoundingClientRect(), by = box.width / svg.viewBox.baseVal.width;
            return line.getAttribute('d').slice(1).split('L').map(p => p.split(' ').map(Number)).map(([x, y]) => [box.x + x * by, box.y + y * by]); }})()""")

    def test_distributions_are_overlaid(self):
        """A and B without their recordings: every value and every difference is where the axes say."""
        for case, find, name in (('compare/load-slower', lambda d: d['load'], 'compare-curve-requests'), ('compare/several-new', lambda d: d, 'compare-curve'),
                                 ('compare/several-slower', lambda d: d['load'], 'compare-curve-requests')):
            with self.subTest(case):
                document = self.golden(case)
                rows, quantiles = find(document)['curve'], {q['q']: q for q in find(document)['quantiles']}
                # Where the table has the percentile, its numbers are the same.
                both = [r for r in rows if r['q'] in quantiles]
                self.assertGreaterEqual(len(both), 2)
                for row in both:
                    self.assertEqual(row, {field: quantiles[row['q']][field] for field in row})
                page = self.open(document)
                y = line_of([(p, math.log(1 if t == 'all' else 1 - float(t[1:]) / 100)) for p, t in ticks(page, f'[data-plot={name}]', 'y')])
                x = line_of([(p, math.log(seconds(t))) for p, t in ticks(page, f'[data-plot={name}]', 'x')])
                for side, field in (('A', 'a_ns'), ('B', 'b_ns')):
                    points = self.points(page, name, side)
                    self.assertEqual(len(points), len(rows))
                    for point, row in zip(points, rows):
                        self.assertAlmostEqual(point[0], x(math.log(row[field])), delta=1.5)
                        self.assertAlmostEqual(point[1], y(math.log(1 - row['q'])), delta=1.5)
                axis = ticks(page, f'[data-plot={name}-difference]', 'y')
                y = line_of([(p, float(t.replace('\u00a0%', '').replace('\u2212', '-'))) for p, t in axis])
                for point, row in zip(self.points(page, f'{name}-difference', 'difference'), rows):
                    self.assertAlmostEqual(point[1], y(100 * row['difference_ns'] / row['a_ns']), delta=1.5)
                bands = page.run(f"document.querySelectorAll('[data-plot={name}] .confidence').length")
                self.assertEqual(bool(bands), any(r['lo_ns'] is not None for r in rows))
                # The legend switches, and the keyboard reads the numbers.
                page.run(f"document.querySelector('[data-plot={name}] [data-series=A]').click()")
                self.assertEqual(page.run(f"[...document.querySelectorAll('[data-plot={name}] [data-side]')].map(n => n.dataset.side)"), ['B'])
                page.run(f"document.querySelector('[data-plot={name}] rect[tabindex]').focus()")
                page.key('ArrowRight')
                self.assertTrue(page.run("document.getElementById('tip').textContent").startswith(f"p{rows[1]['q'] * 100:g}: A "))
                self.clean(page)

    def test_calibration_is_shown(self):
        page = self.open(self.golden('compare/calibrate'))
        page.run("document.querySelector('details.evidence > summary').click()")
        self.assertIn('Of 1000 random draws of 3 against 3', page.run('document.body.innerText'))
        self.clean(page)


if __name__ == '__main__':
    main()
