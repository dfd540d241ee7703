#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Proves which privileges root drops when it reads recordings, generates load or serves:
test_privileges.py MKEVENTS HOSTLAT
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTLAT = os.path.abspath(sys.argv.pop())
MKEVENTS = os.path.abspath(sys.argv.pop())
PERSON = 65532          # the user behind sudo
NET_BIND_SERVICE, NET_ADMIN, SYS_NICE, SYS_RESOURCE = 10, 12, 23, 24
with open(HOSTLAT, 'rb') as program:
    FILTERED = '0' if b'__asan_init' in program.read() else '2'     # the leak sanitizer needs ptrace
NO_LEAK_CHECK = {'ASAN_OPTIONS': 'detect_leaks=0'}     # the same
SUDO = {'SUDO_UID': str(PERSON), 'SUDO_GID': str(PERSON)}


def statuses(pid):
    """{field: value} of each thread."""
    found = []
    for task in os.listdir(f'/proc/{pid}/task'):
        with contextlib.suppress(FileNotFoundError), open(f'/proc/{pid}/task/{task}/status', encoding='ascii') as file:
            found.append(dict(line.rstrip('\n').split(':\t', 1) for line in file if ':\t' in line))
    return found


def threads(process, done, limit_s=30):
    """The status of each thread, once it is as `done` wants it, or of the last look."""
    until = time.monotonic() + limit_s
    while True:
        found = statuses(process.pid)
        if found and all(map(done, found)) or time.monotonic() > until or process.poll() is not None:
            return found
        time.sleep(0.01)


@contextlib.contextmanager
def running(*words, env=None, **options):
    with subprocess.Popen([HOSTLAT, *words], env={'LC_ALL': 'C.UTF-8', **(env or {})}, stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def has(status, bits, field='CapEff'):
    """Exactly these, as far as this process has them."""
    own = int(statuses('self')[0][field], 16)
    return int(status[field], 16) == sum(1 << bit for bit in bits) & own


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)


@unittest.skipUnless(os.geteuid() == 0, 'only root has privileges to give up')
class Running(Case):
    def check_privileges(self, process, bits, seccomp='0'):
        found = threads(process, lambda status: has(status, bits) and status['Seccomp'] == seccomp)
        self.assertTrue(found, process.poll())
        for status in found:
            for field in 'CapEff', 'CapPrm':
                self.assertTrue(has(status, bits, field), (field, status[field]))
            self.assertTrue(has(status, bits, 'CapBnd'), status['CapBnd'])
            self.assertTrue(has(status, (), 'CapInh') and has(status, (), 'CapAmb'))
            self.assertEqual(status['NoNewPrivs'], '1')
            self.assertEqual(status['Seccomp'], seccomp)

    def test_readers(self):
        """They wait for what standard input, or a pipe, brings."""
        pipe = self.path('pipe')
        os.mkfifo(pipe)
        for words in ('watch', '--from', '-'), ('conns', '--from', '-'), ('load', '--from', '-'), \
                ('report', '-', '-o', self.path('page')), ('diagnose', pipe), ('compare', pipe, pipe):
            with self.subTest(words[0]), running(*words) as process:
                self.check_privileges(process, (), FILTERED)

    def test_load(self):
        with running('load', 'null:', '--rate', '100', '--for', '60s') as process:
            self.check_privileges(process, (NET_ADMIN, SYS_NICE, SYS_RESOURCE))

    def test_serve(self):
        with running('serve', '127.0.0.1:0') as process:
            self.check_privileges(process, (NET_BIND_SERVICE, SYS_RESOURCE))

    def test_control(self):
        """This process has what they give up."""
        status = statuses(os.getpid())[0]
        self.assertNotEqual(int(status['CapEff'], 16), 0)
        self.assertEqual(status['Seccomp'], '0')


@unittest.skipUnless(os.geteuid() == 0, 'only root can read files of other users')
class Sudo(Case):
    """Without capabilities root can't enter a user's home, but the user behind sudo can."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.home, self.ours = self.path('home'), self.path('ours')
        events = os.path.join(HERE, 'watch', 'intervals', 'events')
        for folder, uid in (self.home, PERSON), (self.ours, 0):
            os.mkdir(folder, 0o700)
            recording = os.path.join(folder, 'recording')
            subprocess.run([MKEVENTS, events, recording], check=True)
            os.chmod(recording, 0o600)
            for path in recording, folder:
                os.chown(path, uid, uid)

    def shown(self, source, target, env, code=0):
        output = os.path.join(target, 'result')
        done = subprocess.run([HOSTLAT, 'watch', '--from', os.path.join(source, 'recording'), '--json', '--output',
                               output], env={'LC_ALL': 'C.UTF-8', **NO_LEAK_CHECK, **env}, capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return os.stat(output).st_uid if not code else done.stderr

    def test_files_of_both(self):
        for source in self.home, self.ours:
            for target, uid in (self.home, PERSON), (self.ours, 0):
                for _ in range(2):      # a new file, and an old one
                    self.assertEqual(self.shown(source, target, SUDO), uid)

    def test_without_sudo(self):
        self.assertIn('Permission denied', self.shown(self.home, self.ours, {}, 2))
        self.assertEqual(self.shown(self.ours, self.ours, {}), 0)

    def test_root_file_in_a_folder_of_all(self):
        shared = self.path('shared')
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        with open(os.path.join(shared, 'result'), 'w', encoding='ascii') as file:
            file.write('old')
        self.assertEqual(self.shown(self.ours, shared, SUDO), PERSON)


if __name__ == '__main__':
    unittest.main()
