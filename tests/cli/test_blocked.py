#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that go to a pipe which nobody reads, and signals meanwhile: test_blocked.py HOSTLAT"""
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HOSTLAT = os.path.abspath(sys.argv.pop(1))
OPTIONS = {'samples': 'samples-incomplete', 'record': 'recording-incomplete',
           'hdr': 'histograms-incomplete'}
F_SETPIPE_SZ = 1031 # fcntl.h; Python has the name from 3.10 on


class Run:
    """A load whose file goes to a pipe of one page."""

    def __init__(self, option, path, readers=1):
        self.option = option
        os.mkfifo(path)
        self.reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if readers else None
        if readers:
            fcntl.fcntl(self.reader, F_SETPIPE_SZ, 4096)
        self.out = tempfile.TemporaryFile('w+') # a pipe that is read late would be one more to wait for
        self.process = subprocess.Popen(
            [HOSTLAT, 'load', 'null:', '--rate', '5k', '--for', '60s', '--threads', '1',
             '--json', f'--{option}', path], stdin=subprocess.DEVNULL, stdout=self.out,
            stderr=subprocess.PIPE, text=True)

    def end(self, limit_s):
        """Its exit code, result and messages; it must end within that time."""
        begun = time.monotonic()
        with self.process:
            try:
                _, err = self.process.communicate(timeout=limit_s)
            finally:
                self.process.kill()
                if self.reader is not None:
                    os.close(self.reader)
        with self.out:
            self.out.seek(0)
            return self.process.returncode, self.out.read(), err, time.monotonic() - begun


def blocks_signals(process):
    """Before, a signal is its end, as it is any program's."""
    with open(f'/proc/{process.pid}/status', encoding='ascii') as f:
        mask = next(line for line in f if line.startswith('SigBlk')).split()[1]
    return int(mask, 16) >> signal.SIGINT - 1 & 1


class Blocked(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_second_signal(self):
        """The first one waits for the reader, the second one does not; there is a result."""
        runs = [Run(option, self.path(option)) for option in OPTIONS]
        time.sleep(5) # the log of histograms has a line per second; the second one waits
        for run in runs:
            run.process.send_signal(signal.SIGINT)
        time.sleep(1.5)
        for run in runs:
            self.assertIsNone(run.process.poll(), run.option)
            run.process.send_signal(signal.SIGTERM)
        for run in runs:
            with self.subTest(run.option):
                code, out, err, took = run.end(20)
                self.assertEqual(code, 3, err)
                self.assertLess(took, 10)
                self.assertIn('Operation canceled', err)
                found = [r['code'] for r in json.loads(out)['reasons']]
                self.assertIn('interrupted', found)
                self.assertIn(OPTIONS[run.option], found)

    def test_nobody_opens_it(self):
        for option in OPTIONS:
            with self.subTest(option):
                run = Run(option, self.path(option), readers=0)
                while not blocks_signals(run.process):
                    time.sleep(0.01)
                time.sleep(0.5) # now it waits
                run.process.send_signal(signal.SIGINT)
                code, out, err, _ = run.end(20)
                self.assertEqual((code, out), (2, ''))
                self.assertIn('Interrupted system call', err)

    def test_hangup(self):
        """The end of a terminal ends a run, unless it is ignored, as nohup(1) has it."""
        for handler in signal.SIG_DFL, signal.SIG_IGN:
            # Its handler is inherited; what ends it afterwards is not ignored.
            before = signal.signal(signal.SIGHUP, handler)
            run = subprocess.Popen([HOSTLAT, 'serve', '127.0.0.1:0'], stdin=subprocess.DEVNULL, text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            signal.signal(signal.SIGHUP, before)
            with self.subTest(handler), run:
                self.assertIn('serving', run.stderr.readline())
                run.send_signal(signal.SIGHUP)
                if handler == signal.SIG_IGN:
                    with self.assertRaises(subprocess.TimeoutExpired):
                        run.wait(0.5)
                    run.send_signal(signal.SIGTERM)
                self.assertEqual(run.wait(20), 0)


if __name__ == '__main__':
    unittest.main()
