# SPDX-License-Identifier: Apache-2.0
"""A terminal that a program writes to, or that it is used on."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

LIMIT_S = 60


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


def shown(command, env, columns=0, stderr=True):
    """(exit code, what a terminal of this width gets)"""
    reader, writer = pty.openpty()
    if columns:
        set_size(writer, 24, columns)
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=writer,
                          stderr=writer if stderr else subprocess.DEVNULL) as process:
        os.close(writer)
        text = b''
        try:
            while piece := os.read(reader, 65536):
                text += piece
        except OSError:     # the other end is closed
            pass
        os.close(reader)
    return process.returncode, text.decode()


def plain(text):
    """Without escape sequences."""
    return re.sub(r'\033\[[?0-9;]*[a-zA-Z]', '', text)


class Terminal:
    """A terminal of its own session, with a program in the foreground; it is typed on and read."""

    def __init__(self, command, rows=24, columns=80, **kwargs):
        self.master, self.slave = pty.openpty()
        set_size(self.master, rows, columns)
        self.before = self.modes()
        self.text = ''
        kwargs = {'stdin': self.slave, 'stdout': self.slave, 'stderr': self.slave} | kwargs
        self.process = subprocess.Popen(command, env={**os.environ, 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8'},
                                        start_new_session=True, preexec_fn=self.control, **kwargs)

    def control(self):
        """In the program: a shell that started the test in the background lets it ignore these."""
        for number in (signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

    def modes(self):
        return termios.tcgetattr(self.master)

    def echoes(self):
        return bool(self.modes()[3] & termios.ECHO)

    def left(self):
        """Bytes that were typed and not read."""
        return struct.unpack('i', fcntl.ioctl(self.slave, termios.FIONREAD, b'\0' * 4))[0]

    def type(self, keys):
        os.write(self.master, keys.encode())

    def resize(self, rows, columns):
        set_size(self.master, rows, columns)

    def read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            self.text += os.read(self.master, 65536).decode(errors='replace')

    def wait(self, what, limit=LIMIT_S):
        """Until `what()` is true; reads meanwhile."""
        end = time.monotonic() + limit
        while not what():
            if time.monotonic() > end:
                raise AssertionError(f'in vain for {limit} s: {self.text[-2000:]}')
            self.read(0.05)

    def wait_for(self, pattern):
        """Returns the match of what is written from now on."""
        begin, found = len(self.text), []

        def look():
            found[:] = [re.search(pattern, plain(self.text[begin:]))]
            return found[0]
        self.wait(look)
        return found[0]

    def end(self, sent=None):
        """Returns the exit code, after the signal if one is given, and all that was written."""
        if sent:
            os.kill(self.process.pid, sent)
        self.wait(lambda: self.process.poll() is not None)
        self.read(0.1)
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
