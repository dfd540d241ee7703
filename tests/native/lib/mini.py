# SPDX-License-Identifier: Apache-2.0
"""Runs the server and client that delay requests on purpose (mini/mini.c), and reads their log."""
import bisect
import collections
import json
import os
import subprocess

from lib import check, process

PROGRAM = os.environ.get("MINI", "build/tests/native/mini")
HOG = os.environ.get("HOG", "build/tests/native/hog")
LIMIT_S = 120
CPU = (os.cpu_count() or 1) - 1     # the server's; the client has the first one
SLACK_NS = 2000     # two clock reads of different code

# As struct served and struct injected of mini/mini.h.
Served = collections.namedtuple(
    "Served", "conn seq tid bad planned sending sent replied entry read end done")
Injected = collections.namedtuple("Injected", "cause tid culprit begin end")


class Mini:
    """Two connected processes, held until finish(). `prefix`: words before the command."""

    def __init__(self, net, prefix=(), **options):
        args = [*prefix, PROGRAM, "--address", net.address(4), "--server-netns", net.reader,
                "--client-netns", net.sender, "--server-cpu", CPU, "--client-cpu", 0]
        for name, value in options.items():
            args.append("--" + name.replace("_", "-"))
            if value is not True:
                args.append(value)
        pipe = subprocess.PIPE
        self.process = process.start(args, stdin=pipe, stdout=pipe, text=True)
        ready = self.process.stdout.readline()
        check.true(f"mini did not start: {args}", ready)
        self.ready = json.loads(ready)
        self.filter = "--port", self.ready["port"], "--netns", net.reader

    def finish(self):
        out, _ = self.process.communicate("\n", timeout=LIMIT_S)
        check.equal("exit code of mini", self.process.returncode, 0)
        return json.loads(out)


class Hog:
    """Bursts on the server's CPU, of higher priority than whatever else may run there."""

    def __init__(self, name, burst_us, every_us, prefix=("chrt", "--fifo", "10")):
        self.process = process.start([*prefix, HOG, CPU, 60, name, burst_us, every_us],
                                     stdout=subprocess.PIPE, text=True)
        self.name = name

    def finish(self):
        """Returns the stretches for which it had the CPU: [(begin, end)], in ns."""
        self.process.terminate()
        out, _ = self.process.communicate(timeout=LIMIT_S)
        return [tuple(map(int, line.split())) for line in out.splitlines()]


class Log:
    """Reads and checks what the mini server prints."""

    def __init__(self, ready, document):
        self.ready = ready
        self.served = [Served(*row) for row in document["served"]]
        self.injected = [Injected(*row) for row in document["injected"]]
        self.by_tid = collections.defaultdict(list)
        for one in sorted(self.served, key=lambda one: one.read):
            self.by_tid[one.tid].append(one)

    def at(self, tid, ns):
        """Returns what that thread read at that time; None if nothing."""
        own = self.by_tid[tid]
        i = bisect.bisect_left(own, ns - SLACK_NS, key=lambda one: one.read)
        return own[i] if i < len(own) and own[i].entry - SLACK_NS <= ns else None
