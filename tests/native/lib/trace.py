# SPDX-License-Identifier: Apache-2.0
"""Records messages and CPU activity beside some traffic, and reads what trace.c prints of it."""
import bisect
import collections
import json
import os
import re
import signal
import subprocess
import tempfile

from lib import check, process
from lib.intervals import union

HOSTLAT = os.environ.get("HOSTLAT", "build/hostlat")
TRACE = os.environ.get("TRACE", "build/tests/native/trace")
START_LIMIT_S = END_LIMIT_S = 120

Piece = collections.namedtuple("Piece", "role core begin end stage")
Message = collections.namedtuple("Message",
                                 "number flow tid bytes first last direction offset pieces")
Flow = collections.namedtuple("Flow", "number protocol local remote")
Span = collections.namedtuple("Span", "core type depth begin end left resumed cut what")
Wake = collections.namedtuple("Wake", "time interrupt task waker")
RECEIVE, BACKLOG, APPLICATION, TRANSMIT, PACED = 1, 2, 3, 4, 5


def tid(what):
    """Returns the tid in "comm (pid/tid)"; 0 if the text names no task."""
    found = re.search(r"/(\d+)\)$", what)
    return int(found[1]) if found else 0


def ends(message):
    """The stages at which its pieces end. Where TCP paces, what comes before ends at none."""
    return [piece.stage for piece in message.pieces if piece.stage != "none"]


def reached(message, stage):
    return next(piece.end for piece in message.pieces if piece.stage == stage)


class Recording:
    """A live `hostlat record`, measuring when the constructor returns."""

    def __init__(self, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "trace.hlat")
        command = [HOSTLAT, "record", "-o", self.file, *map(str, options)]
        self.report = os.path.join(self.folder.name, "report")
        with open(self.report, "wb") as report:
            self.process = process.start(command, stdout=report, stderr=subprocess.PIPE, text=True)
        log = ""
        for line in self.process.stderr:
            log += line
            if "measuring" in line:
                return
        raise check.Unexpected(f"{' '.join(command)}: exit {self.process.wait()}: {log}")

    def end(self):
        """The file is whole."""
        self.process.send_signal(signal.SIGINT)
        _, log = self.process.communicate(timeout=END_LIMIT_S)
        self.code = self.process.returncode
        with open(self.report, encoding="utf-8") as report:
            self.said = " | ".join([*log.splitlines(), *report.read().splitlines()[-4:]])

    def stop(self):
        self.end()
        return Trace(self.file, self.code)


class Trace:
    """Reads a recording: its messages, spans and losses."""

    def __init__(self, file, code):
        done = subprocess.run([TRACE, file], capture_output=True, text=True, check=False,
                              timeout=120)
        check.equal("a core's spans follow each other without a gap", done.returncode, 0)
        self.code, self.size = code, os.path.getsize(file)
        watched = subprocess.run([HOSTLAT, "watch", "--json", "--from", file], timeout=120,
                                 check=False, stdout=subprocess.PIPE)
        self.watched = watched.returncode
        self.document = json.loads(watched.stdout)
        self.messages, self.sends, self.spans, self.wakes = [], [], [], []
        self.flows = {}
        self.lost = collections.Counter()
        for line in done.stdout.splitlines():
            getattr(self, "_" + line.split(" ", 1)[0])(line.split(" ")[1:])
        self.base = collections.defaultdict(list)
        for span in self.spans:
            if not span.depth:
                self.base[span.core].append(span)

    def counted(self, what, reason):
        """Returns the count of a reason in the document's losses or exclusions."""
        return sum(row["count"] for row in self.document[what] if row["reason"] == reason)

    def _flow(self, words):
        self.flows[int(words[0])] = Flow(int(words[0]), words[1], int(words[2]), int(words[3]))

    def _message(self, words):
        pieces = [Piece(*map(int, words[i:i + 4]), words[i + 4]) for i in range(8, len(words), 5)]
        message = Message(*map(int, words[:6]), words[6], int(words[7]), pieces)
        (self.sends if message.direction == "egress" else self.messages).append(message)

    def _span(self, words):
        core, kind, depth, begin, end, left, *rest = words
        flags = []
        while rest[0] in ("resumed", "cut"):
            flags.append(rest.pop(0))
        self.spans.append(Span(int(core), kind, int(depth), int(begin), int(end), int(left),
                               "resumed" in flags, "cut" in flags, " ".join(rest)))

    def _wake(self, words):
        task, waker = " ".join(words[2:]).split(" | ")
        self.wakes.append(Wake(int(words[0]), int(words[1]), task, waker))

    def _loss(self, words):
        self.lost[words[0]] += int(words[1])

    def unrecorded(self):
        """Returns the times in which at least one core is not recorded. On some machines a program
        does not run while one supervised task is current (see lib/control.py)."""
        return union((span.begin, span.end) for spans in self.base.values() for span in spans
                     if span.type == "blind")

    def who(self, core, time):
        """The span at depth 0 of a core at that time; None before the first or after the last."""
        spans = self.base[core]
        i = bisect.bisect_right(spans, time, key=lambda span: span.begin) - 1
        return spans[i] if i >= 0 and time < spans[i].end else None
