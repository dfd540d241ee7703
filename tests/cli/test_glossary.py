#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`hostlat help WORD` explains each word of a result: test_glossary.py HOSTLAT SOURCE"""
import glob
import json
import os
import re
import subprocess
import sys
import unittest

SOURCE, HOSTLAT = os.path.abspath(sys.argv.pop()), os.path.abspath(sys.argv.pop())
REASON = 'reason for n/a or partial'
LOSS = 'reason for lost packets'

# Fields of golden documents whose values are words of the glossary, by folder of this one.
FIELDS = {'load': ('confidence', 'scope', 'why', 'code'), 'diagnose': ('cause', 'code'), 'watch': ('stage', 'code'),
          'conns': ('class', 'limit', 'code'), 'compare': ('cause', 'code'), 'explain': ('cause', 'code'),
          'fleet': ('code', 'kind', 'problem', 'evidence')}

# Calls whose code is no literal: copies of another report's reasons, and codes of the tables below.
INDIRECT = {
    ('src/load/asserts.c', 'code'),
    ('src/load/runs.c', 'ends[fm->end].code'),
    ('src/load/verdict.c', 'gate_code(id)'),
    ('src/report/difference.c', 'cells[0].string'),
    ('src/cmd/explain_result.c', 'row->cells[0].string'),
}
TABLES = {
    'src/load/gate_names.c': r'\{ "[a-z-]+", "([a-z-]+)"',
    'src/load/runs.c': r'\[FINDMAX_\w+\] = \{ "([a-z-]+)"',
    'src/cmd/conns_lost.c': r'\{ "([a-z-]+)", lost\.',
    'src/conns/conns.h': r'CONNS_LOSS_\w+ "([a-z-]+)"',
}

HOST_NOISY = '''\
host-noisy: reason for n/a or partial (load)
  What    Host interference on the load generator is larger than the result
          allows. The threads did not run, or CPU time was stolen, for more than
          a fifth of the time, or the rate was not reached meanwhile. (Bounds
          allow for less than that.)
  Effect  The run is n/a: its percentiles are what was seen, not a sound
          measurement. Slow requests may be this host's doing, not the server's.
  To do   Run as root, or with CAP_SYS_NICE, so that the threads run before
          other programs (--priority); use --pin, a quieter host, or --agents on
          other hosts. A virtual machine needs CPUs of its own.
  More    man hostlat-causes
'''
DELAYED_ACK = '''\
delayed-ack: problem of a connection (conns)
  What    Acknowledgements came late by the receiver's timer of up to 40 ms
          (other systems: 200 ms). The side is the end that delayed them.
  Effect  It is harmful if data was held until they came.
  To do   At the sending end set TCP_NODELAY, or write each message in one call.
  More    man hostlat-causes

delayed-ack: limit of a connection (conns, explain)
  What    Data is held until an acknowledgement comes that the peer delays.
  To do   Set TCP_NODELAY at this end, or write each message in one call.
  More    man hostlat-conns

delayed-ack: bottleneck of a connection (conns --peer)
  What    The receiver delays acknowledgements, and data waits for them.
  To do   At the sender, set TCP_NODELAY or write each message in one call.
  More    man hostlat-conns

delayed-ack: problem of connections (fleet)
  What    The share of time in which data waits for ACKs that the peer delays.
  To do   Do what the finding says: it depends on the resource.
  More    man hostlat-fleet
'''
RUN = '''\
run: word of a result (load)
  What    The scope of a percentile, in text "in this run only". The latency
          changed too slowly, or too rarely, to tell what it is at other times.
  Effect  The bounds are what these requests met, not what the server does at
          other times.
  To do   Use --repeat, or a much longer run (--for), to learn what the server
          does at other times.
  More    man hostlat-causes
'''


def explain(word):
    done = subprocess.run([HOSTLAT, 'help', word], capture_output=True, text=True, timeout=20)
    return done.stdout if not done.returncode else ''


def words():
    """What completion offers after `hostlat help`: commands, then the words of the glossary."""
    script = subprocess.run([HOSTLAT, 'completion', 'bash'], capture_output=True, text=True,
                            timeout=20, check=True).stdout
    return re.search(r"^\thelp\) _hostlat_words '([^']*)'", script, re.M).group(1).split()


def sources():
    """(path, text) of each C file and header but the glossary's."""
    for folder, _, names in os.walk(os.path.join(SOURCE, 'src')):
        for name in names:
            if name.endswith(('.c', '.h')) and not name.startswith('glossary'):
                path = os.path.join(folder, name)
                with open(path, encoding='utf-8') as f:
                    yield os.path.relpath(path, SOURCE), f.read()


def emitted():
    """Codes that the program can give, and calls whose code is no literal."""
    codes, indirect = set(), set()
    for path, text in sources():
        # a definition has parameters with types; of a call, the code is the second argument
        for code in re.findall(r'\b(?:report|load)_reason\(\s*[^,()]+,\s*([^,]+),', text):
            if code.startswith('"'):
                codes.add(code.strip('"'))
            elif not code.startswith('const '):
                indirect.add((path, code))
        if path in TABLES:
            found = re.findall(TABLES[path], text)
            assert found, path
            codes.update(found)
    return codes, indirect


def values(value, names):
    """Words in the fields with these names, however deep; sentences are none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in names and isinstance(inner, str) and ' ' not in inner:
                yield inner
            yield from values(inner, names)
    elif isinstance(value, list):
        for inner in value:
            yield from values(inner, names)


class Glossary(unittest.TestCase):
    def test_entries(self):
        self.assertEqual(explain('host-noisy'), HOST_NOISY)
        self.assertEqual(explain('delayed-ack'), DELAYED_ACK)
        self.assertEqual(explain('run'), RUN)

    def test_every_code_has_an_entry(self):
        codes, indirect = emitted()
        self.assertGreater(len(codes), 60)
        self.assertEqual(indirect, INDIRECT)
        self.assertEqual({code for code in codes if REASON not in explain(code)}, set())

    def test_every_entry_has_a_code(self):
        codes, _ = emitted()
        known = {word for word in words() if REASON in explain(word)}
        self.assertEqual(known - codes, set())

    def test_losses(self):
        """Each reason for which packets are lost, and no other, has an entry."""
        with open(os.path.join(SOURCE, 'src/probe/packet/reasons.c'), encoding='utf-8') as f:
            names = set(re.findall(r'\[LOSS_\w+\] = "([a-z-]+)"', f.read())) | {'recursion'}
        self.assertGreater(len(names), 20)
        self.assertEqual({word for word in words() if LOSS in explain(word)}, names)

    def test_words_of_golden_documents(self):
        for folder, names in FIELDS.items():
            found = set()
            for path in glob.glob(os.path.join(SOURCE, 'tests/cli', folder, '*/expect.json')):
                with open(path, encoding='utf-8') as f:
                    found.update(values(json.load(f), names))
            with self.subTest(folder):
                self.assertGreater(len(found), 1)
                self.assertEqual({word for word in found if not explain(word)}, set())

    def test_columns_of_fleet(self):
        """Each head of a table that hostlat fleet prints."""
        heads = {head for path, text in sources() if re.match(r'src/(fleet/|cmd/fleet)', path)
                 for head in re.findall(r'\.head = "([^"]+)"', text)}
        self.assertGreater(len(heads), 25)
        self.assertEqual({head for head in heads if not explain(head)}, set())
        self.assertIn(': column (fleet)', explain('excess'))

    def test_pages(self):
        """hostlat names the command that shows each page."""
        pages = {os.path.basename(path)[len('hostlat-'):-len('.7.in')]
                 for path in glob.glob(os.path.join(SOURCE, 'docs/man/*.7.in'))}
        self.assertGreater(len(pages), 6)
        with open(os.path.join(SOURCE, 'src/cmd/pages.c'), encoding='utf-8') as f:
            topics = re.search(r'topics\[\] = \{(.*?)\}', f.read(), re.DOTALL).group(1)
        self.assertEqual(set(re.findall(r'"([\w-]+)"', topics)), pages)

    def test_options(self):
        """Each option that a text names is one of some command."""
        helps = {word: explain(word) for word in words()}
        commands = [word for word, text in helps.items() if text.startswith('Usage: ')]
        options = {option for command in commands
                   for option in re.findall(r'--[a-z-]+', subprocess.run(
                       [HOSTLAT, command, '--help-all'], capture_output=True, text=True, timeout=20, check=True).stdout)}
        self.assertGreater(len(options), 80)
        for word, text in helps.items():
            with self.subTest(word):
                self.assertEqual(set(re.findall(r'--[a-z-]+', text)) - options, set())

    def test_words(self):
        """No word is offered twice, none hides a command, and each text fits a screen."""
        offered = words()
        self.assertEqual(sorted(offered), sorted(set(offered)))
        self.assertGreater(len(offered), 100)
        for word in offered:
            with self.subTest(word):
                text = explain(word)
                if text.startswith('Usage: '):
                    continue
                self.assertLessEqual(max(map(len, text.split('\n'))), 80)
                for entry in text.split('\n\n'):
                    self.assertRegex(entry, rf'\A{re.escape(word)}: [a-z][^\n]*\n  What    (--|hostlat |[A-Z])')
                    self.assertLessEqual(len(entry.strip().split('\n')), 12)


if __name__ == '__main__':
    unittest.main()
