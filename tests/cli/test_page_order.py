#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report page's card, strip and order: test_page_order.py HOSTLAT MKTRACE MKLOAD"""
import json
import os
import subprocess

import pagedata
from test_page import HOSTLAT, TRACES, Case, near, seconds, main, table

TEXT = "(document.querySelector('%s') || {textContent: null}).textContent"
# What is drawn, from the top: sections, plots and folds.
PLACES = ("[...document.querySelectorAll('[data-card], dl.strip, article > section[id], article > section [data-plot], details.how')]"
          ".map(n => n.dataset.card ? 'card' : n.className === 'strip' ? 'strip' : n.dataset.plot || n.dataset.command || 'how')")


class Order(Case):
    def card(self, page):
        return {name: page.run(TEXT % f'[data-card] [data-field={name}]') for name in ('number', 'confidence')} | {
            'first': page.run(TEXT % '[data-card] .first').replace('\u00a0', ' '), 'todo': page.run("[...document.querySelectorAll('[data-card] .todo li')].map(n => n.textContent)")}

    def test_order(self):
        """The verdict, what was measured, latency over time, causes, messages, connections; the rest is folded."""
        page = self.open(pagedata.explain(), folded=True)
        places = page.run(PLACES)
        wanted = ['card', 'strip', 'load-over-time', 'heat', 'causes-bar', 'balloons', 'conns-limits', 'how']
        self.assertEqual([p for p in places if p in wanted], wanted)
        self.assertEqual(page.run("document.querySelectorAll('details.how')[0].open"), False)
        shown = page.run('document.body.innerText')
        for words in ('Gates', 'Bindings', 'Excluded', 'Mean latency by part\nGates'):
            self.assertNotIn(words, shown)
        self.assertIn('How it was measured', shown)
        page.run("document.querySelector('details.how > summary').click()")
        page.wait("[...document.querySelectorAll('details.how [data-plot]')].every(n => Number(n.dataset.drawn) > 0)")
        shown = page.run('document.body.innerText')
        for words in ('Gates', 'Bindings', 'Excluded'):
            self.assertIn(words, shown)
        self.clean(page)

    def test_comparison_first(self):
        page = self.open(pagedata.load(), pagedata.comparison())
        commands = page.run("[...document.querySelectorAll('article > section[id]')].map(n => n.dataset.command)")
        self.assertEqual(commands, ['compare', 'load'])
        self.assertEqual(self.card(page)['number'], '3.10\u00a0ms \u2192 91.0\u00a0\u00b5s')
        self.clean(page)

    def test_card_of_explain(self):
        document = self.golden('explain/load-generator')
        cause = max(document['diagnose']['causes'], key=lambda c: c['share'])
        page = self.open(document)
        card = self.card(page)
        p99 = next(q for q in document['load']['latency']['intended']['quantiles'] if q['q'] == 0.99) if document['load'].get('latency') else None
        if p99:
            self.assertTrue(near(seconds(card['number']), p99['ns']))
        self.assertEqual(card['first'], document['headline'])
        self.assertIn(card['confidence'], ('sound', 'indicative', 'unusable'))
        # The remedy is the glossary's: what `hostlat help` says.
        said = ' '.join(self.help_of(cause['cause']).split())
        self.assertIn(card['todo'][0], said)
        self.clean(page)

    def text_of(self, case):
        with open(os.path.join(os.path.dirname(TRACES), case, 'expect.txt'), encoding='utf-8') as f:
            return f.read()

    def test_one_sentence(self):
        """Text, JSON and page say the result in the same sentence; on the card nothing else is as large or bold."""
        for case, width in (('explain/load-generator', 1400), ('explain/load-generator', 400), ('diagnose/commands', 1400), ('compare/several-new', 1400),
                            ('compare/load-slower', 400), ('conns/by-app', 1400)):
            with self.subTest(case, width=width):
                document = self.golden(case)
                page = self.open(document, folded=True, width=width)
                first = self.text_of(case).split('\n')[0].split('   ')[0]
                self.assertEqual(self.card(page)['first'], document['headline'])
                self.assertEqual(first, document['headline'])
                sizes = page.run("[...document.querySelectorAll('[data-card] *')].filter(n => n.offsetParent && [...n.childNodes].some(t => t.nodeType === 3 && t.data.trim()))"
                                 ".map(n => { const s = getComputedStyle(n); return [n.className, parseFloat(s.fontSize), Number(s.fontWeight)]; })")
                largest = max(sizes, key=lambda s: s[1])
                self.assertEqual(largest[0], 'first')
                self.assertEqual([s for s in sizes if s[0] != 'first' and (s[1] > 0.8 * largest[1] or s[2] > 400)], [])
                # All of it is in sight at once.
                self.assertLessEqual(page.run("document.querySelector('[data-card]').getBoundingClientRect().bottom"), 1000)
                self.clean(page)

    def test_headlines_are_short(self):
        """In all golden results, of the load generator and of stages too, whose text has the numbers in tables."""
        folder = os.path.dirname(TRACES)
        seen = {}
        for command in ('load', 'watch', 'diagnose', 'explain', 'compare', 'conns'):
            for case in sorted(os.listdir(os.path.join(folder, command))):
                path = os.path.join(folder, command, case, 'expect.json')
                if not os.path.exists(path) or not os.path.getsize(path):
                    continue
                with open(path, encoding='utf-8') as f:
                    document = json.load(f)
                seen[command] = seen.get(command, 0) + 1
                self.assertTrue(document['headline'].endswith('.'), (command, case, document['headline']))
                self.assertLessEqual(len(document['headline']), 180, (command, case, document['headline']))
                self.assertNotIn('n/a', document['headline'].replace('Connections: n/a', ''), (command, case))
        self.assertGreaterEqual(min(seen.values()), 10, seen)

    def test_headlines_of_runs(self):
        for words, start in ((('--rates', '1k:2k:1k'), ('p99 is ', 'Latency over load ')), (('--rate', '1k', '--repeat', '2'), ('p99 is ', 'How much ')), (('--find-max', 'p99<1s'), 'p99<1s ')):
            document = self.documents_of('load', 'null:', *words, '--for', '300ms' if words[0] != '--find-max' else '4s')
            self.assertTrue(document['headline'].startswith(start), document['headline'])
            self.assertEqual(self.card(self.open(document))['first'], document['headline'])

    def help_of(self, word):
        return subprocess.run([HOSTLAT, 'help', word], stdout=subprocess.PIPE, check=True, timeout=60, text=True).stdout

    def test_cards_of_others(self):
        page = self.open(pagedata.load())
        p99 = pagedata.load()['latency']['intended']['quantiles'][2]['ns']
        card = self.card(page)
        self.assertTrue(near(seconds(card['number']), p99))
        self.assertEqual((card['confidence'], card['todo']), ('sound', []))
        page = self.open({**pagedata.load(), 'confidence': 'unusable', 'verdict': 'n/a',
                          'reasons': [{'code': 'host-noisy', 'message': 'this host', 'evidence': None}]})
        card = self.card(page)
        self.assertEqual(card['confidence'], 'unusable')
        self.assertEqual([t.split(':')[0] for t in card['todo']], ['host-noisy'])
        card = self.card(self.open(pagedata.conns()))
        self.assertEqual((card['number'], card['todo']), ('1 of 3', ['receiver-window: the receiving application does not read']))
        # Of runs at several rates the highest with a sound p99; of stages the last.
        document = pagedata.load()
        del document['latency']
        card = self.card(self.open(document))
        self.assertEqual(card['number'], '300\u00a0\u00b5s')
        card = self.card(self.open(pagedata.watch()))
        self.assertTrue(near(seconds(card['number']), pagedata.watch()['stages'][-1]['quantiles'][2]['ns']))
        # Nothing is made up where nothing is known.
        card = self.card(self.open({'hostlat': pagedata.about('conns')}))
        self.assertEqual((card['number'], card['confidence'], card['todo']), (None, None, []))

    def test_strip_and_title(self):
        document = pagedata.explain()
        document['kernel'] = '6.1.0-18-amd64'
        document['load']['setup'].update(connections=8, max_time_ns=5000000000, options=[{'name': name, 'value': value} for name, value in (
            (None, 'memcached://192.0.2.1:11211'), ('rate', '2000'), ('connections', '8'), ('outstanding', '2'), ('for', '5s'))])
        page = self.open(document, title=None)
        fact = lambda name: page.run(TEXT % f'.strip [data-fact={name}] dd')
        self.assertEqual([fact(n) for n in ('target', 'rate', 'connections', 'host', 'kernel')],
                         ['memcached://192.0.2.1:11211', '2\u202f000/s', '8', 'db1.example', '6.1.0-18-amd64'])
        command = 'hostlat explain memcached://192.0.2.1:11211 --rate 2000 --connections 8 --outstanding 2 --for 5s'
        self.assertEqual(page.run(TEXT % '.strip [data-fact=command] code'), command)
        page.run("document.querySelector('[data-copy=command]').click()")
        page.wait("document.documentElement.dataset.copied !== undefined")
        self.assertEqual(page.run('document.documentElement.dataset.copied'), command)
        title = page.run('document.title')
        self.assertTrue(title.startswith('memcached://192.0.2.1:11211 \u00b7 2025-11-23 12:13 UTC'), title)
        self.assertEqual(page.run(TEXT % 'h1'), title)
        page = self.open(document)
        self.assertEqual(page.run('document.title'), 'A report')
        # A comparison is called by its files.
        page = self.open(pagedata.comparison(), title=None)
        self.assertTrue(page.run('document.title').startswith('before.hlat and after.hlat'))
        self.clean(page)

    def test_copy_the_verdict(self):
        document = self.golden('explain/load-generator')
        page = self.open(document)
        for kind, mark in (('text', ''), ('markdown', '**')):
            page.run(f"document.querySelector('[data-copy={kind}]').click()")
            page.wait(f"(document.documentElement.dataset.copied || '').startsWith('{mark}') && document.documentElement.dataset.copied !== undefined")
            copied = page.run('document.documentElement.dataset.copied')
            first = self.card(page)['first']
            self.assertEqual(copied.split('\n')[0], f'{mark}{first}{mark}')
            for finding in document['findings']:
                self.assertIn(finding.removeprefix('To do: ')[1:], copied)
            self.assertIn('To do:', copied)
            self.assertEqual('**' in copied, bool(mark))
        self.clean(page)

    def test_causes_are_one_bar(self):
        """Widths are shares of the excess; below each cause are the commands behind it, with their own time."""
        document = self.golden('diagnose/commands')
        page = self.open(document)
        cells = page.run("[...document.querySelectorAll('[data-plot=causes-bar] .cell')].map(g => [g.dataset.key, Number(g.dataset.depth), "
                         "Number(g.querySelector('.piece').getAttribute('width')), g.getAttribute('aria-label')])")
        total = sum(c['total_ns'] for c in document['causes'])
        width = page.run("document.querySelector('[data-plot=causes-bar] svg').viewBox.baseVal.width")
        causes = sorted(document['causes'], key=lambda c: -c['total_ns'])
        tops = [c for c in cells if c[1] == 0]
        self.assertEqual([c[0] for c in tops], [f"{c['cause']}|{c['where']}" for c in causes if c['total_ns'] > 0])
        for cell, cause in zip(tops, causes):
            self.assertAlmostEqual(cell[2], max(0.5, width * cause['total_ns'] / total - 1), delta=0.6)
        below = [c for c in cells if c[1] == 1 and c[0] == tops[0][0]]
        self.assertEqual(len(below), len([c for c in causes[0]['culprits'] if c['ns'] > 0]))
        for cell, culprit in zip(below, causes[0]['culprits']):
            self.assertAlmostEqual(cell[2], max(0.5, width * culprit['ns'] / total - 1), delta=0.6)
            self.assertIn(f"in {culprit['messages']} messages", cell[3])
            self.assertIn(', '.join(map(str, culprit['pids'])), cell[3])
        # A cell is a filter, by keyboard too.
        page.run("document.querySelector('[data-plot=causes-bar] .cell').focus()")
        page.key('Enter')
        self.assertTrue(page.run(f"document.querySelector('[data-cause=\"{tops[0][0]}\"]').getAttribute('aria-pressed') === 'true'"))
        self.clean(page)

    def test_requests_have_a_bar(self):
        """What held the slow requests up, on either side, and what the result says is to be done."""
        document = self.golden('explain/load-generator')
        document['findings'] = [f for f in document['findings'] if not f.startswith('To do: ')]
        document['findings'].append('To do: give the load its own CPU.')
        page = self.open(document)
        keys = page.run("[...document.querySelectorAll('[data-plot=requests-bar] .cell[data-depth=\"0\"]')].map(g => g.dataset.key)")
        causes = sorted(document['diagnose']['requests']['causes'], key=lambda c: -c['total_ns'])
        self.assertEqual(keys, [f"{c['cause']}|{c['where'] or ''}" for c in causes if c['total_ns'] > 0])
        card = self.card(page)
        self.assertEqual(card['todo'][0], 'Give the load its own CPU.')
        self.assertNotIn('To do:', page.run("document.querySelector('[data-card]').textContent"))
        self.clean(page)

    def test_runs_at_rates(self):
        """The table and the plot of runs at several rates have what the text's table has."""
        document = self.documents_of('load', 'null:', '--rates', '1k:3k:1k', '--max-time', '300ms')
        page = self.open(document)
        rows = table(page, 'runs')
        self.assertEqual([r[1][1] for r in rows], [str(r['rate']) for r in document['runs']])
        for field in ('p50_ns', 'p90_ns', 'p999_ns'):       # p99 are the points
            path = page.run(f"document.querySelector('[data-plot=load-over-load] [data-line={field}]').getAttribute('d')")
            self.assertEqual(path.count('L') + 1, len({r['rate'] for r in document['runs']}))
        self.assertEqual([next(c[1] for c in r[1:] if c[0] == 'p99_ns') for r in rows], [str(r['p99_ns']) for r in document['runs']])
        self.clean(page)


if __name__ == '__main__':
    main()
