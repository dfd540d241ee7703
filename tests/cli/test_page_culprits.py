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
                         r'^python3 \(pid 30, docker 0123456789ab\) .*; gzip \(4 processes, cron\.service\) 1\.10.ms in 4; ')
        self.clean(page)

    def test_culprits_are_commands(self):
        """Each has its own time and count."""
        page = self.open(self.golden('diagnose/commands'))
        self.assertRegex(column(page, 'causes', 'culprits')[0],
                         r'^python3 \(pid 30\) 1\.80.ms in 6; gzip \(4 processes\) 1\.10.ms in 4; bash \(4 processes\) 96\.0.µs in 4$')
        self.clean(page)

    def test_hostlat_by_what_it_is(self):
        page = self.open(self.golden('explain/load-generator')['diagnose'])
        self.assertRegex(column(page, 'causes', 'culprits')[0],
                         r'^hostlat\u2019s load generator 900.µs in 3; hostlat \(pid 77\) 400.µs in 2; python3 \(pid 30\) 100.µs in 1$')
        self.clean(page)

    def test_what_is_new(self):
        page = self.open(self.golden('compare/command-new'))
        self.assertEqual(column(page, 'new-commands', 'command'), ['gzip'])
        self.assertIn('gzip (4 processes)', column(page, 'compare-causes', 'behind it in B')[0])
        self.assertNotIn('gzip', column(page, 'compare-causes', 'behind it in A')[0])
        page = self.open(self.golden('compare/command-few'))
        self.assertEqual(table(page, 'new-commands'), [])
        self.clean(page)


class Flame(Case):
    CELLS = ("[...document.querySelectorAll('[data-plot=flame] .cell')].map(g => { const r = g.querySelector('.piece'); return {name: g.dataset.name, depth: Number(g.dataset.depth), "
             "ns: Number(g.dataset.ns), x: Number(r.getAttribute('x')), width: Number(r.getAttribute('width')), fill: r.getAttribute('fill'), "
             "faded: g.hasAttribute('opacity'), on: g.classList.contains('on')}; })")

    def shown(self, case):
        document = self.golden(case)
        page = self.open(document)
        return document, page, page.run(self.CELLS)

    def test_functions_are_in_their_causes(self):
        """Widths are shares of the excess, each cell within the one above; the color is the cause's."""
        document, page, cells = self.shown('diagnose/functions')
        total = sum(c['total_ns'] for c in document['causes'])
        width = page.run("document.querySelector('[data-plot=flame] svg').viewBox.baseVal.width")
        causes = sorted((c for c in document['causes'] if c['total_ns'] > 0), key=lambda c: -c['total_ns'])
        self.assertEqual([(c['name'].split(' ')[0], c['ns']) for c in cells if c['depth'] == 1], [(c['cause'], c['total_ns']) for c in causes])
        for cell in cells:
            self.assertAlmostEqual(cell['width'], max(0.5, width * cell['ns'] / total - 0.6), delta=0.1)
        for f in document['functions']:
            path = f['path'].split(' > ')
            found = [c for c in cells if c['name'] in path and c['ns'] == f['total_ns']]
            self.assertEqual([c['name'] for c in sorted(found, key=lambda c: c['depth'])], path)
            top = next(c for c in cells if c['depth'] == 1 and c['x'] <= found[0]['x'] + 0.1 < c['x'] + c['width'])
            self.assertIn(top['name'].split(' ')[0], ('function', 'application'))
            self.assertEqual({c['fill'] for c in found}, {top['fill']})
            self.assertLessEqual(found[0]['x'] + found[0]['width'], top['x'] + top['width'] + 0.7)
        # The same color as on the bar of causes.
        self.assertEqual({c['fill'] for c in cells if c['depth'] == 1},
                         set(page.run("[...document.querySelectorAll('[data-plot=causes-bar] .piece')].map(r => r.getAttribute('fill'))")))
        self.clean(page)

    def test_zoom(self):
        """By pointer and keyboard; Escape, the row above and the button lead back."""
        _, page, cells = self.shown('diagnose/functions')
        width = page.run("document.querySelector('[data-plot=flame] svg').viewBox.baseVal.width")
        box = page.run("(() => { const n = document.querySelector('[data-plot=flame] [data-name=tcp_recvmsg]'); n.scrollIntoView({block: 'center'}); "
                       "const b = n.getBoundingClientRect(); return [b.x + 8, b.y + b.height / 2]; })()")
        page.mouse(*box)
        zoomed = page.run(self.CELLS)
        self.assertEqual([c['name'] for c in zoomed if c['depth'] < 3], ['all extra time', 'application (A)', 'tcp_recvmsg'])
        for c in zoomed:
            self.assertAlmostEqual(c['width'], width - 0.6, delta=0.1)
        self.assertEqual(page.run('document.activeElement.dataset.name'), 'tcp_recvmsg')
        page.key('Escape')
        self.assertEqual(page.run(self.CELLS), cells)
        page.run("document.querySelector('[data-plot=flame] [data-depth=\"0\"]').focus()")
        page.key('ArrowDown')
        page.key('Enter')
        self.assertEqual([c['depth'] for c in page.run(self.CELLS)][:2], [0, 1])
        self.assertAlmostEqual(page.run(self.CELLS)[1]['width'], width - 0.6, delta=0.1)
        page.run("document.querySelector('[data-plot=flame] .tools button').click()")
        self.assertEqual(page.run(self.CELLS), cells)
        self.clean(page)

    def test_filter(self):
        """What is found, at any depth, and its share of the excess; a cell below one that is found counts once."""
        document, page, _ = self.shown('diagnose/functions')
        total = sum(c['total_ns'] for c in document['causes'])
        for words, share in (('TCP', 88600), ('nft_do', 59600), ('irq', 10000), ('nothing of this name', 0)):
            page.run(f"(() => {{ const i = document.querySelector('[data-plot=flame] input'); i.value = '{words}'; i.dispatchEvent(new Event('input')); }})()")
            cells = page.run(self.CELLS)
            self.assertEqual({c['name'] for c in cells if c['on']}, {c['name'] for c in cells if words.lower() in c['name'].lower()})
            self.assertEqual({c['name'] for c in cells if c['faded']}, {c['name'] for c in cells if words.lower() not in c['name'].lower()})
            said = page.run("document.querySelector('[data-plot=flame] [role=status]').textContent").replace('\u00a0', ' ')
            self.assertAlmostEqual(float(said.split(' ')[0]), 100 * share / total, delta=0.06)
        self.clean(page)

    def test_without_functions(self):
        page = self.open(self.golden('diagnose/commands'))
        self.assertFalse(page.run("Boolean(document.querySelector('[data-plot=flame]'))"))
        self.clean(page)


if __name__ == '__main__':
    main()
