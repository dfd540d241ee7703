#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Escape sequences go to terminals that obey them only: test_terminal.py MKEVENTS HOSTLAT"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import ptys

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTLAT, MKEVENTS = os.path.abspath(sys.argv.pop()), os.path.abspath(sys.argv.pop())
ESCAPE = '\033'
COLOR = '\033[3'        # 30 to 37
UP = '\033[?7l'         # with it a redrawn table begins


def shown(term, *words, case='intervals', columns=0):
    """Returns what `watch --from` of several intervals writes to a terminal."""
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, 'recording')
        events = os.path.join(HERE, 'watch', case, 'events')
        subprocess.run([MKEVENTS, events, recording], check=True)
        env = {'LC_ALL': 'C.UTF-8'} | ({'TERM': term} if term else {})
        return ptys.shown([HOSTLAT, 'watch', '--from', recording, *words], env, columns)


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
            _, text = shown('xterm', case='widest', columns=columns)
            text = re.sub(ESCAPE + r'\[[?0-9;]*[a-zA-Z]', '', text)
            widths = [len(line) for line in re.split(r'[\r\n]+', text)]
            self.assertLessEqual(max(widths), columns, text)
            self.assertIn('step p99', text)
            self.assertEqual('reached' in text, columns > 80)

    def test_colours_that_were_asked_for(self):
        _, text = shown('dumb', '--color', 'always')
        self.assertIn(COLOR, text)
        self.assertNotIn(UP, text)


unittest.main()
