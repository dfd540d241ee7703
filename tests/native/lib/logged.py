# SPDX-License-Identifier: Apache-2.0
"""The server that writes down its calls (logged.c), and clients for it."""
import collections
import contextlib
import os
import signal
import socket
import statistics
import subprocess
import tempfile
import time

from lib import check, netns, process

PROGRAM = os.environ.get("LOGGED", "build/tests/native/logged")
# `null`: what a system call that does nothing took right behind this one, in ns.
Call = collections.namedtuple("Call", "kind port tid before after offset bytes null",
                              defaults=[None])


# Two readings of the clock with nothing between them but one end of a system call, hostlat's program
# and the tracepoint that it is at: so many times what a system call takes that does nothing.
NEAR, FAR = 10, 30
# share of the pairs that may be further apart than FAR: another process had the CPU
FAR_SHARE = 0.01
EXPOSED = NEAR      # null calls; a longer call is interrupted in proportion to its length


STOP_LIMIT_S = 120


def null_ns(calls):
    """Returns the median time of an empty system call in this run, in ns."""
    return statistics.median(call.null for call in calls)


def close(what, differences, calls, near=NEAR):
    """The readings are near each other, by the measure of the machine in that very run."""
    null, ordered = null_ns(calls), sorted(differences)
    median = statistics.median(ordered)
    limit = FAR * null * near / NEAR
    far = sum(each > limit for each in ordered) / len(ordered)
    disturbed = sum(call.null > limit for call in calls) / len(calls)
    check.true(f"the least: {what}: {ordered[0]} ns", ordered[0] >= 0)
    check.between(f"median: {what}", median, 0, near * null)
    check.between(f"far apart: {what}", far, 0, FAR_SHARE + EXPOSED * disturbed)
    return f"{what} {median:.0f} ns, {median / null:.1f} null calls, {far:.1%} far"


class Server:
    """Serves in the net's reader namespace until finish(), which gives its calls in order."""

    program = PROGRAM

    def __init__(self, net, family, **options):
        self.net, self.family = net, family
        self.folder = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.folder.name, "log")
        args = [*self.command(), "--netns", net.reader, "--address", net.address(family)]
        for name, value in options.items():
            args.append("--" + name.replace("_", "-"))
            if value is not True:
                args.append(str(value))
        self.process = process.start([*args, self.log], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        port = self.process.stdout.readline()
        check.true("the server did not start", port)
        self.port = int(port)
        self.filter = "--port", self.port, "--netns", net.reader

    def command(self):
        return [self.program]

    def client(self):
        kind = socket.AF_INET6 if self.family == 6 else socket.AF_INET
        with netns.inside(self.net.sender):
            s = socket.socket(kind)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        s.settimeout(20)
        s.connect((self.net.address(self.family), self.port))
        return s

    def _is_stopped(self):
        """Returns whether all threads of the process are stopped."""
        folder = f"/proc/{self.process.pid}/task"
        for tid in os.listdir(folder):
            with open(f"{folder}/{tid}/stat", encoding="ascii") as f:
                if f.read().rpartition(") ")[2][0] != "T":
                    return False
        return True

    @contextlib.contextmanager
    def stopped(self):
        self.process.send_signal(signal.SIGSTOP)
        until = time.monotonic() + STOP_LIMIT_S
        while not self._is_stopped():   # a signal is only sent so far
            check.true("the server does not stop", time.monotonic() < until)
            time.sleep(0.001)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def finish(self):
        self.process.communicate("", timeout=120)
        check.equal("exit code of the server", self.process.returncode, 0)
        with open(self.log, encoding="ascii") as f:
            lines = [line.split() for line in f]
        return sorted((Call(kind, *map(int, rest)) for kind, *rest in lines),
                      key=lambda call: call.before)


def receive(sock, size):
    """Reads so many bytes."""
    data = b""
    while len(data) < size:
        got = sock.recv(size - len(data))
        check.true("the connection ended early", got)
        data += got
    return data
