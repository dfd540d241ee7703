#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference pages name all that commands print: test_man.py PAGES

PAGES is the folder of the built man pages. The golden documents of this folder are the evidence: a
field that one of them has and hostlat-json(7) has not is undocumented.
"""
import json
import os
import re
import sys
import unittest

PAGES = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))
# Objects whose keys are data: sysctls and interfaces, names of results that a test makes up.
FREE_KEYS = {'facts'}


def page(name):
    with open(os.path.join(PAGES, name), encoding='utf-8') as f:
        return f.read().replace('\\-', '-')


def documents():
    """(golden case, document) of everything in this folder that is JSON."""
    for folder, _, names in os.walk(HERE):
        for name in names:
            try:
                with open(os.path.join(folder, name), encoding='utf-8') as f:
                    text = f.read()
            except UnicodeDecodeError:
                continue
            if not text.startswith('{'):
                continue
            try:
                yield folder, json.loads(text)
            except ValueError:
                yield from ((folder, json.loads(line)) for line in text.splitlines()
                            if line.startswith('{') and line.endswith('}'))


def keys(value):
    """Every key in a document, however deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in FREE_KEYS:
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


class Man(unittest.TestCase):
    def test_every_field_is_documented(self):
        entries = re.findall(r'^\.(?:B|BR|BI|I|IR|RI) .*', page('hostlat-json.7'), re.MULTILINE)
        words = set(re.findall(r'[a-z][a-z0-9_-]*', ' '.join(entries)))
        found = list(documents())
        self.assertGreater(len(found), 200)
        missing = {key: os.path.relpath(folder, HERE) for folder, document in found
                   for key in keys(document) if key not in words}
        self.assertEqual(missing, {})

    def test_every_reason_of_a_golden_run_is_explained(self):
        causes = page('hostlat-causes.7')
        codes = {reason['code'] for _, document in documents() if isinstance(document, dict)
                 for reason in document.get('reasons', [])}
        self.assertGreater(len(codes), 20)
        self.assertEqual({code for code in codes if f'.TP\n.B {code}\n' not in causes}, set())

    def test_lists_come_from_the_tables(self):
        for name, words in (('hostlat-stages.7', ('link', 'acked', 'auto', 'cgroup', 'mptcp')),
                            ('hostlat-conns.1', ('sender-app', 'receiver-application')),
                            ('hostlat-causes.7', ('cpu-wait', 'unexplained', 'rate-not-reached', 'nagle',
                                                  'few-references', 'few-requests', 'indicative'))):
            text = page(name)
            self.assertEqual(re.findall('@[A-Z_]+@', text), [])
            for word in words:
                self.assertTrue(f'.TP\n.B {word}\n' in text, f'{name} has no entry for {word}')


if __name__ == '__main__':
    unittest.main()
