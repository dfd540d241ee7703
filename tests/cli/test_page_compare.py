#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comparisons in the report page say what the text says: test_page_compare.py HOSTLAT MKTRACE MKLOAD"""
import os
import re

from test_page import TRACES, Case, main
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
        self.assertEqual(column(page, 'compare-requests', 'significant'), ['no'] * 4)
        self.clean(page)

    def test_commands_of_one_side_only_have_their_table(self):
        for name, table, other in (('compare/command-new', 'new-commands', 'gone-commands'),
                                   ('compare/command-gone', 'gone-commands', 'new-commands')):
            with self.subTest(name):
                page = self.open(self.golden(name))
                self.assertEqual(column(page, table, 'command'), ['gzip'])
                self.assertFalse(page.run(f"!!document.querySelector('[data-table={other}]')"))
                self.clean(page)

    def test_calibration_is_shown(self):
        page = self.open(self.golden('compare/calibrate'))
        page.run("document.querySelector('details.evidence > summary').click()")
        self.assertIn('Of 1000 random draws of 3 against 3', page.run('document.body.innerText'))
        self.clean(page)


if __name__ == '__main__':
    main()
