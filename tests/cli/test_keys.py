#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys on the terminal of a run, and the terminal after every end: test_keys.py HOSTLAT"""
import os
import re
import signal
import subprocess
import sys
import termios
import unittest

import ptys

HOSTLAT = os.path.abspath(sys.argv.pop())
LOAD = HOSTLAT, 'load', 'null:', '--rate', '1000', '--for', '100s'
PROGRESS = r'hostlat: p50 [\d.]+ [nµm]?s, p99 [\d.]+ [nµm]?s, [\d ]+/s of 1 000/s, at most \d+ s left, '


class Keys(unittest.TestCase):
    def terminal(self, command=LOAD, **kwargs):
        terminal = ptys.Terminal(command, **kwargs)
        self.addCleanup(terminal.close)
        return terminal

    def running(self, **kwargs):
        """A run that shows its progress."""
        terminal = self.terminal(**kwargs)
        terminal.wait_for(PROGRESS if 'columns' not in kwargs else 'hostlat: p50 ')
        self.assertFalse(terminal.echoes())
        return terminal

    def test_not_echoed(self):
        """Enter does not scroll, and no key is left for the shell; the result follows q."""
        terminal = self.running()
        terminal.type('xyz\n')
        terminal.wait_for(PROGRESS)
        terminal.type('q')
        self.assertEqual(terminal.end(), 3)
        text = ptys.plain(terminal.text)
        self.assertNotIn('xyz', text)
        self.assertNotRegex(text.split('p99   ')[0].split('measuring')[1].strip('\r\n'), r'\n')
        self.assertIn('n/a: the run was cut short', text)
        self.assertEqual(terminal.modes(), terminal.before)

    def test_beside_a_pager(self):
        """A pager reads the output: the keys are its own, and its modes don't stop the run."""
        pager = '"$@" | (stty -icanon min 1 </dev/tty; cat)'
        terminal = self.terminal(['bash', '-c', pager, 'sh', HOSTLAT, 'load', 'null:', '--rate', '1000',
                                  '--for', '1s'])
        self.assertEqual(terminal.end(), 0)
        self.assertIn('requests', ptys.plain(terminal.text))

    def test_modes_of_others(self):
        """Another process lets reads wait for a key: the run goes on."""
        terminal = self.running()
        modes = terminal.modes()
        modes[6][termios.VMIN] = 1
        termios.tcsetattr(terminal.master, termios.TCSANOW, modes)
        for _ in range(3):
            terminal.wait_for(PROGRESS)
        terminal.type('q')
        self.assertEqual(terminal.end(), 3)

    def test_as_before_after_every_end(self):
        for number, code in ((signal.SIGINT, 3), (signal.SIGTERM, 3), (signal.SIGHUP, 3), (signal.SIGQUIT, -3),
                             (signal.SIGSYS, -31), (signal.SIGABRT, -6), (signal.SIGKILL, -9)):
            with self.subTest(number):
                terminal = self.running()
                self.assertEqual(terminal.end(number), code)
                terminal.wait(lambda t=terminal: t.modes() == t.before)

    def test_interrupted_by_the_terminal(self):
        terminal = self.running()
        terminal.type('\x03')
        self.assertEqual(terminal.end(), 3)
        self.assertEqual(terminal.modes(), terminal.before)

    def test_stopped_and_continued(self):
        """^Z: the shell's terminal echoes, and fg goes on."""
        shell = self.terminal(['bash', '-c', 'set -m; "$@"; stty -a | grep -o "[-]*echo "; fg', 'sh', *LOAD])
        shell.wait_for(PROGRESS)
        shell.type('\x1a')
        self.assertEqual(shell.wait_for(r'-*echo ')[0], 'echo ')
        shell.wait(lambda: not shell.echoes())
        shell.wait_for(PROGRESS)
        shell.type('q')
        shell.end()
        self.assertIn('n/a: the run was cut short', ptys.plain(shell.text))
        self.assertEqual(shell.modes(), shell.before)

    def test_stopped_by_another(self):
        """SIGSTOP leaves no time to restore anything: whoever sets the modes then, they are ours again after SIGCONT."""
        terminal = self.running()
        os.kill(terminal.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
        subprocess.run(['stty', 'sane'], stdin=terminal.slave, check=True)
        self.assertTrue(terminal.echoes())
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.wait(lambda: not terminal.echoes())
        terminal.type('q')
        self.assertEqual(terminal.end(), 3)
        self.assertTrue(terminal.echoes())

    def test_in_the_background(self):
        """Another program owns the terminal; it is not changed, and not read from."""
        words = ' '.join(LOAD)
        shell = self.terminal(['bash', '-c', f'set -m; {words} & read line; echo got $line; kill %1; wait'])
        shell.wait_for(PROGRESS)
        self.assertEqual(shell.modes(), shell.before)
        shell.type('q q\n')
        shell.wait_for('got q q')
        shell.end()
        self.assertEqual(shell.modes(), shell.before)

    def test_no_terminal(self):
        """Keys come from a terminal only; without a line on stderr there is nothing to keep clean."""
        for kwargs in {'stdin': subprocess.DEVNULL}, {'stderr': subprocess.DEVNULL}:
            terminal = self.terminal([*LOAD[:-1], '1s'], **kwargs)
            while terminal.process.poll() is None:
                self.assertEqual(terminal.modes(), terminal.before)
                terminal.read(0.05)

    def test_narrow(self):
        """The line is cut: a part of a wrapped one would stay."""
        terminal = self.running(columns=40)
        terminal.wait_for('hostlat: p50 ')
        terminal.type('q')
        terminal.end()
        lines = re.findall(r'hostlat: p50 [^\r\033]*', terminal.text)
        self.assertGreater(len(lines), 1)
        self.assertLess(max(map(len, lines)), 40, lines)


unittest.main()
