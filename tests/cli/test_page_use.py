#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the report page is used: words, filters, addresses, colors, paper: test_page_use.py HOSTLAT MKTRACE MKLOAD"""
import re
import subprocess

import pagedata
from test_page import HOSTLAT, Case, main, table

TIP = "document.getElementById('tip')"


class Use(Case):
    def help_of(self, word):
        return ' '.join(subprocess.run([HOSTLAT, 'help', word], stdout=subprocess.PIPE, check=True, timeout=60, text=True).stdout.split())

    def test_words_are_explained(self):
        """Under the pointer and the keyboard, with the texts of `hostlat help`."""
        page = self.open(pagedata.explain())
        for word in ('cpu-wait', 'receiver-window', 'enqueued', 'coverage'):
            with self.subTest(word):
                at = page.run(f"(() => {{ const n = [...document.querySelectorAll('[data-word=\"{word}\"]')].find(n => n.checkVisibility() && n.getBoundingClientRect().width); "
                              "n.scrollIntoView({block: 'center'}); const b = n.getBoundingClientRect(); return [b.left + 8, b.top + b.height / 2]; })()")
                page.mouse(*at, click=False)
                page.wait(f"!{TIP}.hidden && {TIP}.textContent.startsWith('{word}: ')")
                said = self.help_of(word)
                for line in page.run(f'{TIP}.textContent').split('\n')[1:]:
                    for sentence in re.split(r'(?<=\.) ', line.removeprefix('To do: ')):
                        self.assertIn(sentence, said)
                page.mouse(2, 2, click=False)
        page.run("document.querySelector('[data-card] .term').focus()")
        self.assertFalse(page.run(f'{TIP}.hidden'))
        page.run('document.activeElement.blur()')
        self.assertTrue(page.run(f'{TIP}.hidden'))
        # The name of a process is no word, whatever it is called.
        document = pagedata.diagnose()
        document['examples'][0]['comm'] = 'lock'
        page = self.open(document)
        self.assertEqual(page.run("[...document.querySelectorAll('[data-table=messages] td[data-word]')].length"), 0)
        self.clean(page)

    def test_table_filter(self):
        document = pagedata.diagnose()
        page = self.open(document)
        wanted = document['examples'][40]
        page.run(f"(() => {{ const i = document.querySelector('[data-table=messages] input'); i.value = '{wanted['remote']} memcached'; "
                 "i.dispatchEvent(new Event('input')); })()")
        same = [str(m['id']) for m in document['examples'] if wanted['remote'] in m['remote']]
        self.assertEqual([row[0] for row in table(page, 'messages')], same)
        page.run("document.querySelector('[data-cause=\"lock|application\"]').click()")
        self.assertEqual([row[0] for row in table(page, 'messages')],
                         [str(m['id']) for m in document['examples'] if str(m['id']) in same and any(p['cause'] == 'lock' for p in m['parts'])])
        # A short table needs none.
        self.assertFalse(page.run("Boolean(document.querySelector('[data-table=causes] input'))"))
        self.clean(page)

    def open_at(self, page, name):
        page.open('/dev/null', ready='true')
        page.send('Page.navigate', url=f'file://{page.path}#{name}')
        page.wait("document.documentElement.dataset.drawn !== undefined")

    def test_addresses(self):
        """A message, a section and a folded one have an address."""
        document = pagedata.diagnose()
        page = self.open(document, pagedata.diagnose(host='db2.example'))
        second = document['examples'][1]
        page.run(f"document.querySelectorAll('[data-table=messages]')[1].querySelector('tr[data-key=\"{second['id']}\"]').click()")
        self.assertEqual(page.run('location.hash'), f"#diagnosis-2/{second['id']}")
        page.key('Escape')
        page.wait("!document.querySelector('dialog[open]')")
        self.assertEqual(page.run('location.hash'), '')
        self.open_at(page, f"diagnosis/{second['id']}")
        page.wait(f"(document.querySelector('dialog[open]') || {{dataset: {{}}}}).dataset.message === '{second['id']}'")
        self.open_at(page, 'how-diagnosis-2')
        self.assertEqual(page.run("[...document.querySelectorAll('details.how')].map(d => d.open)"), [False, True])
        self.open_at(page, 'diagnosis-2')
        self.assertLess(abs(page.run("document.getElementById('diagnosis-2').getBoundingClientRect().top")), 200)
        self.open_at(page, '%3Cb%3E/none')
        self.assertFalse(page.run("Boolean(document.querySelector('dialog[open]'))"))
        self.assertEqual(page.complaints(), [])

    def test_one_color_per_cause(self):
        """In the bar, the table, the chips, the legends and the timeline, over all results of a page."""
        first, second = pagedata.diagnose(), pagedata.diagnose()
        second['causes'].reverse()
        for c in second['causes']:
            c['total_ns'] = 10 ** 10 // c['total_ns']
        page = self.open(first, second)
        colors = page.run('''(() => { const found = {}; const put = (cause, node) => { (found[cause.split(/[|( ]/)[0]] ||= new Set()).add(getComputedStyle(node).fill); };
            document.querySelectorAll('.cell[data-depth="0"]').forEach(n => put(n.dataset.key, n.querySelector('.piece')));
            document.querySelectorAll('[data-table=causes] tbody tr').forEach(n => put(n.dataset.key, n.querySelector('svg path')));
            document.querySelectorAll('[data-cause]').forEach(n => put(n.dataset.cause, n.querySelector('svg path')));
            document.querySelectorAll('[data-plot=causes-bar] .legend > span, [data-plot=balloons] .legend > span').forEach(n => put(n.textContent, n.querySelector('path')));
            return Object.fromEntries(Object.entries(found).map(([k, v]) => [k, [...v]])); })()''')
        self.assertGreater(len(colors), 8)
        self.assertEqual({cause: 1 for cause in colors}, {cause: len(found) for cause, found in colors.items()})
        strong = [found[0] for cause, found in colors.items() if cause in ('cpu-wait', 'lock', 'softirq', 'head-of-line', 'page-fault')]
        self.assertEqual(len(set(strong)), len(strong))
        self.clean(page)

    def test_paper(self):
        """What is folded is not printed, tables have their heads, and a run of explain takes about three pages."""
        document = {**pagedata.explain(), 'hostlat': pagedata.about('explain')}
        page = self.open(document, folded=True)
        page.run("addEventListener('beforeprint', () => { window.wide = document.querySelector('[data-plot=heat] svg').viewBox.baseVal.width; })")
        pages = len(re.findall(rb'/Type\s*/Page\b', page.pdf()))
        self.assertLessEqual(pages, 5)
        self.assertLess(page.run('window.wide'), 900)
        page.send('Emulation.setEmulatedMedia', media='print')
        shown = page.run('document.body.innerText')
        for words in ('Gates', 'copy as text', 'filter 300 rows', 'How it was measured'):
            self.assertNotIn(words, shown)
        self.assertIn('latency', page.run("document.querySelector('[data-table=messages] thead').innerText"))
        self.clean(page)


if __name__ == '__main__':
    main()
