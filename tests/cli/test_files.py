#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which files hostlat writes, as root too: test_files.py MKEVENTS FSYNCS HOSTLAT"""
import gzip
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTLAT = os.path.abspath(sys.argv.pop())
FSYNCS = os.path.abspath(sys.argv.pop())
MKEVENTS = os.path.abspath(sys.argv.pop())
OTHER = 65533           # a user that no one is
PERSON = 65532          # the user behind sudo
FOREIGN = 'another user can change this folder'
TRAP = 'another user created this link'
OPTIONS = '--output', '--record', '--samples', '--hdr', '--ccdf'
with open(HOSTLAT, 'rb') as program:
    SANITIZED = b'__asan_init' in program.read()
# LeakSanitizer traces its own process, which one that gave up its privileges may not.
NO_LEAK_CHECK = {'ASAN_OPTIONS': 'detect_leaks=0'}
root = unittest.skipUnless(os.geteuid() == 0, 'only root can make files of other users')


def load(*words, umask=0o022, **env):
    """A short load that needs no network."""
    return subprocess.run([HOSTLAT, 'load', 'null:', '--rate', '1000', '--for', '100ms', '--json', *words],
                          env={'LC_ALL': 'C.UTF-8', **NO_LEAK_CHECK, **env}, umask=umask, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)


def text_of(path):
    with open(path, 'rb') as file:
        return file.read()


def put(path, text, owner=0, mode=0o644):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)
    if os.geteuid() == 0:
        os.chown(path, owner, owner)
    os.chmod(path, mode)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def make_folder(self, name, owner=0, mode=0o755):
        os.mkdir(self.path(name))
        os.chown(self.path(name), owner, owner)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def measured(self, done):
        self.assertIn(done.returncode, (0, 3), done.stderr)

    def refused(self, done, why):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(why, done.stderr)


@root
class Folders(Case):
    """Root writes only where nobody else can redirect what it writes."""

    def test_of_another_user(self):
        folder = self.make_folder('theirs', OTHER)
        for option in OPTIONS:
            self.refused(load(option, os.path.join(folder, 'file')), FOREIGN)
        self.assertEqual(os.listdir(folder), [])

    def test_below_one_of_another_user(self):
        self.make_folder('theirs', OTHER)
        folder = self.make_folder('theirs/ours')
        self.refused(load('--output', os.path.join(folder, 'file')), FOREIGN)
        os.symlink(folder, self.path('link'))
        self.refused(load('--output', self.path('link', 'file')), FOREIGN)

    def test_of_everybody(self):
        folder = self.make_folder('open', mode=0o777)
        self.refused(load('--output', os.path.join(folder, 'file')), FOREIGN)
        os.chmod(folder, 0o1777)
        self.measured(load('--output', os.path.join(folder, 'file')))

    def test_own(self):
        folder = self.make_folder('ours')
        for option in OPTIONS:
            path = os.path.join(folder, option.strip('-'))
            self.measured(load(option, path))
            self.assertEqual(os.stat(path).st_uid, 0)

    def test_of_the_user_behind_sudo(self):
        folder = self.make_folder('theirs', OTHER)
        for env in {}, {'SUDO_UID': str(PERSON), 'SUDO_GID': str(PERSON)}, {'SUDO_UID': str(OTHER)}, \
                {'SUDO_UID': '-1', 'SUDO_GID': '0'}, {'SUDO_UID': '4294967295', 'SUDO_GID': '0'}:
            self.refused(load('--output', os.path.join(folder, 'file'), **env), FOREIGN)
        self.measured(load('--output', os.path.join(folder, 'file'), SUDO_UID=str(OTHER), SUDO_GID=str(OTHER)))


@root
class Owners(Case):
    def owner(self, folder):
        path = os.path.join(folder, 'file')
        for option in OPTIONS:
            self.measured(load(option, path, SUDO_UID=str(PERSON), SUDO_GID=str(PERSON)))
            st = os.stat(path)
            os.unlink(path)
            yield st.st_uid, st.st_gid

    def test_by_sudo(self):
        """A file belongs to the user behind sudo where he could have made it himself."""
        for folder, uid in (self.make_folder('his', PERSON), PERSON), \
                (self.make_folder('open', 0, 0o1777), PERSON), (self.make_folder('ours'), 0):
            self.assertEqual(set(self.owner(folder)), {(uid, uid)}, folder)

    def test_explain_folder(self):
        his, ours = self.make_folder('his', PERSON), self.make_folder('ours')
        for place, uid in (his, PERSON), (ours, 0):
            path = os.path.join(place, 'new')
            subprocess.run([HOSTLAT, 'explain', 'echo://127.0.0.1:1', '--rate', '1', '--for', '1s', '--no-conns',
                            '-o', path], env={'SUDO_UID': str(PERSON), 'SUDO_GID': str(PERSON)},
                           capture_output=True, timeout=120, check=False)
            st = os.stat(path)
            self.assertEqual((st.st_uid, stat.S_IMODE(st.st_mode)), (uid, 0o750))


@root
class Links(Case):
    def setUp(self):
        super().setUp()
        self.shared = self.make_folder('shared', 0, 0o1777)
        self.victim = self.path('victim')
        put(self.victim, 'secret', mode=0o600)
        self.link = os.path.join(self.shared, 'file')

    def unharmed(self):
        self.assertEqual(text_of(self.victim), b'secret')

    def test_of_another_user(self):
        os.symlink(self.victim, self.link)
        os.lchown(self.link, OTHER, OTHER)
        for option in OPTIONS:
            self.refused(load(option, self.link), TRAP)
            self.unharmed()
        self.refused(load('--output', self.link, SUDO_UID=str(OTHER), SUDO_GID=str(OTHER)), TRAP)
        self.unharmed()

    def test_to_nothing(self):
        """Writing through a dangling link does not create its target; the link itself is
        removed."""
        os.symlink(self.path('new'), self.link)
        os.lchown(self.link, OTHER, OTHER)
        self.measured(load('--output', self.link))
        self.assertFalse(os.path.exists(self.path('new')))
        self.assertFalse(os.path.islink(self.link))

    def test_own(self):
        os.symlink(self.victim, self.link)
        self.measured(load('--output', self.link))
        self.assertTrue(os.path.islink(self.link))
        self.assertIn(b'"load"', text_of(self.victim))

    def test_pipe_of_another_user(self):
        os.mkfifo(self.link)
        reader = os.open(self.link, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        os.chown(self.link, OTHER, OTHER)
        self.refused(load('--output', self.link), TRAP)
        os.chown(self.link, 0, 0)
        self.measured(load('--output', self.link))

    def test_file_of_another_user(self):
        """It is not written into, and its mode does not count."""
        for option in OPTIONS:
            put(self.link, 'theirs', OTHER, 0o666)
            kept = self.path('kept')
            os.link(self.link, kept)
            self.measured(load(option, self.link))
            self.assertEqual(text_of(kept), b'theirs')
            st = os.stat(self.link)
            self.assertEqual((st.st_uid, stat.S_IMODE(st.st_mode)), (0, 0o640))
            os.unlink(self.link)
            os.unlink(kept)


class Files(Case):
    def test_explain_links(self):
        victim = self.path('victim')
        put(victim, 'secret')
        for name in ('server.hlat', 'client.hlat', 'conns.hlat', 'watch.json', 'load.json', 'result.json',
                     'report.html'):
            folder = self.path('folder-' + name)
            os.mkdir(folder)
            os.symlink(victim, os.path.join(folder, name))
            done = subprocess.run([HOSTLAT, 'explain', 'echo://127.0.0.1:1', '--rate', '1', '--for', '1s', '-o',
                                   folder], capture_output=True, text=True, timeout=120, check=False)
            self.refused(done, f'{name} is a symbolic link')
            self.assertEqual(text_of(victim), b'secret')

    def test_explain_names_its_folder(self):
        """By the time, in the current folder; --from needs none."""
        subprocess.run([HOSTLAT, 'explain', 'echo://127.0.0.1:1', '--rate', '1', '--for', '1s', '--no-conns'],
                       cwd=self.folder, capture_output=True, timeout=120, check=False)
        made = [name for name in os.listdir(self.folder) if name.startswith('explain-')]
        self.assertEqual(len(made), 1)
        self.assertRegex(made[0], r'\Aexplain-20\d{6}-\d{6}\Z')

    def test_modes(self):
        """The umask counts; an own file keeps its mode."""
        for umask, mode in (0o022, 0o640), (0o077, 0o600):
            path = self.path(f'{umask:o}')
            self.measured(load('--record', path, umask=umask))
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), mode)
            os.chmod(path, 0o604)
            self.measured(load('--record', path, umask=umask))
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o604)

    def test_recording_is_a_new_file(self):
        """A new recording does not disturb a process that still reads the old one."""
        path, kept = self.path('file'), self.path('kept')
        put(path, 'old')
        os.link(path, kept)
        self.measured(load('--record', path))
        self.assertEqual(text_of(kept), b'old')
        self.assertGreater(os.stat(path).st_size, 100)

    def test_compressed(self):
        """A compressed recording is reported as such, and not as damaged or foreign."""
        path, packed = self.path('run.hlat'), self.path('run.hlat.gz')
        load('--record', path)
        with gzip.open(packed, 'wb') as file:
            file.write(text_of(path))
        for command in ['load', '--from'], ['watch', '--from'], ['conns', '--from'], ['diagnose']:
            done = subprocess.run([HOSTLAT, *command, packed], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (2, f"hostlat: cannot read {packed}: it is not a hostlat "
                                                              'recording but a file of gzip (unpack it first)\n'))

    @unittest.skipIf(SANITIZED, 'a sanitizer must be loaded first')
    def test_durable(self):
        """A file is on the disk before its name is, and the name when the program ends."""
        for option in OPTIONS:
            log = self.path('log' + option)
            self.measured(load(option, self.path('file'), LD_PRELOAD=FSYNCS, FSYNCS=log))
            calls = text_of(log).decode().split()
            expected = ['rename', 'file'] if option == '--record' else ['file', 'rename']
            self.assertEqual(calls, [*expected, 'folder'], option)


class Stream(Case):
    """--json-lines writes a file that can be read while it grows; --json writes one at its end."""

    def killed(self, word):
        recording, path = self.path('recording'), self.path(word.strip('-'))
        subprocess.run([MKEVENTS, os.path.join(HERE, 'watch', 'intervals', 'events'), recording], check=True)
        put(path, 'old')
        with subprocess.Popen([HOSTLAT, 'watch', '--from', '-', word, '--output', path],
                              stdin=subprocess.PIPE) as process:
            process.stdin.write(text_of(recording))
            process.stdin.flush()
            until = time.monotonic() + (60 if word == '--json-lines' else 0.5)
            while text_of(path).count(b'\n') < 2 and time.monotonic() < until:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        return text_of(path)

    def test_lines(self):
        lines = self.killed('--json-lines').splitlines()
        self.assertGreaterEqual(len(lines), 2)
        self.assertTrue(all(line.startswith(b'{') and line.endswith(b'}') for line in lines), lines)

    def test_document(self):
        self.assertEqual(self.killed('--json'), b'old')


if __name__ == '__main__':
    unittest.main()
