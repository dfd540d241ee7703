#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The culprits of causes in the report page: test_page_culprits.py HOSTLAT MKTRACE MKLOAD"""

from test_page import Case, main, table


def column(page, name, title):
    titles = page.run(f"[...document.querySelectorAll('[data-table={name}] thead th')].map(n => n.textContent)")
    at = next((i for i, text in enumerate(titles) if text.startswith(title)), None)
    return [row[1 + at][2] for row in table(page, name)]


class Culprits(Case):
    def test_culprits_have_their_unit(self):
        page = self.open(self.golden('diagnose/commands-unit'))
        self.assertRegex(column(page, 'causes', 'culprits')[0],
                         r'^python3 \(30, docker 0123456789ab\) .*; gzip \(4 processes, cron\.service\) 1\.10.ms in 4; ')
        self.clean(page)

    def test_culprits_are_commands(self):
        """Each has its own time and count."""
        page = self.open(self.golden('diagnose/commands'))
        self.assertRegex(column(page, 'causes', 'culprits')[0],
                         r'^python3 \(30\) 1\.80.ms in 6; gzip \(4 processes\) 1\.10.ms in 4; bash \(4 processes\) 96\.0.µs in 4$')
        self.clean(page)

    def test_hostlat_by_what_it_is(self):
        page = self.open(self.golden('explain/load-generator')['diagnose'])
        self.assertRegex(column(page, 'causes', 'culprits')[0],
                         r'^hostlat\u2019s load generator 900.µs in 3; hostlat \(77\) 400.µs in 2; python3 \(30\) 100.µs in 1$')
        self.clean(page)

    def test_what_is_new(self):
        page = self.open(self.golden('compare/command-new'))
        self.assertEqual(column(page, 'new-commands', 'command'), ['gzip'])
        self.assertIn('gzip (4 processes)', column(page, 'compare-causes', 'behind it in B')[0])
        self.assertNotIn('gzip', column(page, 'compare-causes', 'behind it in A')[0])
        page = self.open(self.golden('compare/command-few'))
        self.assertEqual(table(page, 'new-commands'), [])
        self.clean(page)


if __name__ == '__main__':
    main()
