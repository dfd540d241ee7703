# SPDX-License-Identifier: Apache-2.0
"""Many connections with a log of what was done with each (crowd.c), and `hostlat conns` beside them."""
import collections
import itertools
import json
import os
import signal
import subprocess
import tempfile
import threading
import time

from lib import check, netns, process

CROWD, HOSTLAT = os.environ["CROWD"], os.environ["HOSTLAT"]
PER_PROCESS = 9000      # connections: a process may have 20,000 descriptors
START_LIMIT_S = 120
END_LIMIT_S = 120
Socket = collections.namedtuple("Socket", "cookie opened closed sent received sends receives")

_address = itertools.count(2)


class Crowd:
    """One process of them, in a namespace."""

    def __init__(self, namespace):
        number = next(_address)
        with netns.inside(namespace):
            self.process = process.start([CROWD, f"127.0.{number // 250}.{number % 250 + 1}"],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def end(self):
        """The lines of its answer."""
        lines = []
        for line in self.process.stdout:
            if line == "done\n":
                return lines
            lines.append(line)
        raise check.Unexpected(f"crowd ended with {self.process.wait()}")

    def command(self, *words):
        self.begin(*words)
        return self.end()

    def list(self):
        return [Socket(*map(int, line.split())) for line in self.command("list")]

    def leave(self):
        self.process.stdin.close()
        self.process.wait()


def crowds(namespace, connections):
    """Starts as many processes as it needs and returns them; all connections are open then."""
    counts = [PER_PROCESS] * (connections // PER_PROCESS)
    if connections % PER_PROCESS:
        counts.append(connections % PER_PROCESS)
    them = [Crowd(namespace) for _ in counts]
    for each, count in zip(them, counts):
        each.begin("open", count)
    for each in them:
        each.end()
    return them


class Live:
    """A live run, measuring when the constructor returns. Its lines are kept with their times."""

    def __init__(self, *options, lines=False, prefix=()):
        self.lines = lines
        self.out = tempfile.NamedTemporaryFile()
        words = ["--json-lines"] if lines else ["--json", "--output", self.out.name]
        self.process = process.start([*prefix, HOSTLAT, "conns", *words, *map(str, options)],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        check.true(f"it measures: {line}", "measuring" in line)
        self.since = time.monotonic_ns()
        self.intervals, self.hook = [], None
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            reply = json.loads(line)
            if self.hook:
                self.hook(reply)
            self.intervals.append(reply)

    def stop(self):
        """The document; with lines, the last line."""
        self.process.send_signal(signal.SIGINT)
        errors = self.process.stderr.read()
        self.process.wait(END_LIMIT_S)
        self.reader.join()
        check.true(f"exit code {self.process.returncode}: {errors}",
                   self.process.returncode in (0, 3))
        if self.lines:
            return self.intervals[-1]
        with open(self.out.name, encoding="utf-8") as f:
            return json.load(f)
