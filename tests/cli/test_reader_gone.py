#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pipe whose reader goes away, as with `| head -1`: test_reader_gone.py MKEVENTS MKCONNS HOSTLAT"""
import os
import subprocess
import sys
import tempfile
import unittest

MKEVENTS, MKCONNS, HOSTLAT = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
HERE = os.path.dirname(os.path.abspath(__file__))


class ReaderGone(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.recordings = {}
        for command, maker, script in (('watch', MKEVENTS, 'watch/json-lines/events'),
                                       ('conns', MKCONNS, 'conns/calls-lines/conns')):
            path = os.path.join(self.folder, command)
            subprocess.run([maker, os.path.join(HERE, script), path], check=True)
            self.recordings[command] = path

    def run_it(self, command, *options, out):
        done = subprocess.run([HOSTLAT, command, '--from', self.recordings[command], *options],
                              stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False)
        return done.returncode, done.stderr

    def test_gone(self):
        """It ends quietly, with success: the reader has what it wanted."""
        for command in self.recordings:
            for options in ([], ['--json'], ['--json-lines']):
                with self.subTest(command=command, options=options):
                    reader, writer = os.pipe()
                    os.close(reader)
                    try:
                        self.assertEqual(self.run_it(command, *options, out=writer), (0, ''))
                    finally:
                        os.close(writer)

    def test_full_disk(self):
        """The control: a result that cannot be written is an error."""
        for command in self.recordings:
            for options in ([], ['--json'], ['--json-lines']):
                with self.subTest(command=command, options=options), open('/dev/full', 'wb') as out:
                    code, err = self.run_it(command, *options, out=out)
                    self.assertEqual(code, 2)
                    self.assertIn('No space left', err)


if __name__ == '__main__':
    unittest.main()
