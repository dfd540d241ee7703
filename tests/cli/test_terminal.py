#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What a terminal gets: test_terminal.py MKEVENTS MKCONNS HOSTLAT

Escape sequences go to terminals that obey them only. Of a table that is wider than the terminal,
columns are left out and counted.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import ptys

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTLAT, MKCONNS, MKEVENTS = (os.path.abspath(sys.argv.pop()) for _ in range(3))
ESCAPE = '\033'
COLOR = '\033[3'        # 30 to 37
UP = '\033[?7l'         # with it a redrawn table begins


def shown(term, *words, case='watch/intervals', columns=0):
    """Returns what `watch --from`, or the case's command, writes to a terminal."""
    command = os.path.dirname(case)
    maker, script = (MKCONNS, 'conns') if command == 'conns' else (MKEVENTS, 'events')
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, 'recording')
        subprocess.run([maker, os.path.join(HERE, case, script), recording], check=True)
        env = {'LC_ALL': 'C.UTF-8'} | ({'TERM': term} if term else {})
        return ptys.shown([HOSTLAT, command, '--from', recording, *words], env, columns)


def lines(text):
    return re.split(r'[\r\n]+', re.sub(ESCAPE + r'\[[?0-9;]*[a-zA-Z]', '', text).strip())


class Terminal(unittest.TestCase):
    def test_one_that_obeys(self):
        code, text = shown('xterm')
        self.assertEqual(code, 0, text)
        self.assertIn(UP, text)
        self.assertIn(COLOR, text)

    def test_dumb(self):
        for term in 'dumb', None:
            code, text = shown(term)
            self.assertEqual(code, 0, text)
            self.assertIn('overhead', text)
            self.assertNotIn(ESCAPE, text, term)

    def test_widest_table(self):
        """All columns fit 80, for which the hooks are left out; where there is room, they are there."""
        for columns in 80, 90, 200:
            _, text = shown('xterm', case='watch/widest', columns=columns)
            widths = [len(line) for line in lines(text)]
            self.assertLessEqual(max(widths), columns, text)
            self.assertIn('step p99', text)
            self.assertEqual('reached' in text, columns > 80)

    def test_a_narrow_terminal(self):
        """The verdict is whole; of the table, numbers are left out and counted; the problems stay."""
        verdict = ('4 of 7 connections have a problem that makes data wait: receiver-window 3, zero-window 1, '
                   'receiver-not-reading 1.')
        for columns in 50, 60, 200:
            _, text = shown('xterm', case='conns/receiver-window', columns=columns)
            shown_lines = lines(text)
            self.assertIn(verdict, ' '.join(shown_lines))
            self.assertTrue(shown_lines[0].startswith('4 of 7'), text)
            heads = next(line for line in shown_lines if line.startswith('cookie')).split()
            self.assertIn('state', heads)
            self.assertIn('problems', heads)
            left_out = [line for line in shown_lines if re.fullmatch(r'… \+\d+ columns', line)]
            self.assertEqual(len(left_out), columns < 200, text)
            self.assertEqual('FR' in heads, columns == 200, text)

    def test_columns_without_values(self):
        """They are left out before numbers are."""
        _, text = shown('xterm', case='conns/inet-diag', columns=74)
        heads = next(line for line in lines(text) if line.startswith('cookie')).split()
        self.assertEqual(['share' in heads, 'FR' in heads, 'TLP' in heads], [True, False, False], text)

    def test_reasons_lead_to_their_remedy(self):
        """A terminal has the line, which the golden text of the same case, written to a file, has not."""
        code, text = shown('dumb', case='watch/losses')
        self.assertEqual(code, 3, text)
        self.assertIn('\nwhat to do: hostlat help losses (also namespace-not-covered, events-lost)\r\n', text)

    def test_colours_that_were_asked_for(self):
        _, text = shown('dumb', '--color', 'always')
        self.assertIn(COLOR, text)
        self.assertNotIn(UP, text)


unittest.main()
