# SPDX-License-Identifier: Apache-2.0
"""
Real servers under `hostlat load`, held up on purpose by somebody who notes when. What is known of
each message comes from that and from the load's own times; it has the methods of lib/causes.Truth.
"""
import bisect
import collections
import csv
import os
import signal
import subprocess
import tempfile
import time

from lib import causes, check, mini, netns, process, servers, trace
from lib.intervals import clip, length, minus, union

# priority of the injecting process and of the load, both of which end by themselves
PRIORITY = 20
RATE = 1000
LIMIT_S = 120

Request = collections.namedtuple("Request", "port tid intended sent done")


def samples(path):
    with open(path, encoding="ascii") as f:
        return [Request(int(row["local"].rsplit(":", 1)[1]), 0,
                        *(int(row[name + "_ns"]) for name in ("intended", "sent", "done")))
                for row in csv.DictReader(f) if row["status"] == "ok"]


class Requests:
    """The load's requests, joined to messages by their connection and between the message's two
    ends."""

    def __init__(self, t, sent):
        self.sent = sent
        by_port = collections.defaultdict(list)
        for one in sorted(sent, key=lambda one: one.sent):
            by_port[one.port].append(one)
        self.read = {}          # (tid, time of the read): request
        self.reads = collections.defaultdict(list)      # tid: (time, message)
        self.messages = {}      # request: message
        for m in t.messages:
            own, end = by_port[t.flows[m.flow].remote], m.pieces[-1].end
            i = bisect.bisect_right(own, m.first, key=lambda one: one.sent) - 1
            if i >= 0 and end <= own[i].done:
                self.read[m.tid, end] = own[i]._replace(tid=m.tid)
                self.messages[own[i]] = m
            self.reads[m.tid].append((end, m.number))
        for reads in self.reads.values():
            reads.sort()

    def at(self, tid, ns):
        return self.read.get((tid, ns))

    def served(self, tid, begin, end):
        """Returns the numbers of requests that the thread may have served between these times."""
        reads = self.reads[tid]
        i = bisect.bisect_right(reads, (begin, 0))
        return {number for at, number in reads[max(i - 1, 0):] if at < end}


class Truth:
    """
    `sets`: {cause: (surely, at most)}, times that it held the server up; what is first goes
    first. `culprits`: {cause: tid}. `unrecorded`: times in which the recording lacks a core.
    """

    def __init__(self, log, sets, culprits, unrecorded):
        self.log, self.usual, self.unrecorded = log, {}, unrecorded
        self.culprits = {"cpu-wait": None, **culprits}
        self.sets, before = {}, []
        for cause, (surely, at_most) in sets.items():
            self.sets[cause] = minus(union(surely), before), union(at_most)
            before = union([*before, *surely])
        self.held_up = before

    def of(self, one, begin, end):
        """{cause: (at least, at most)} ns; who was served meanwhile is not known."""
        del one
        found = {cause: (length(clip(surely, begin, end)), length(clip(at_most, begin, end)))
                 for cause, (surely, at_most) in self.sets.items()}
        found["head-of-line"] = 0, end - begin - length(clip(self.held_up, begin, end))
        return found

    def right(self, one, cause, begin, end, culprits):
        """As lib/causes.Truth's: who did it, or whom it served when it was held up."""
        if not culprits or cause not in self.culprits:
            return None
        served = self.log.served(one.tid, begin, end)
        return sum(c["ns"] for c in culprits if c["tid"] == self.culprits[cause] or
                   (c["tid"] in (None, one.tid) and c["message"] in served)) / \
            max(sum(c["ns"] for c in culprits), 1)

    def delayed(self, floor_ns):
        """Returns the load's requests that surely waited for so long, whatever a recording says."""
        return [one for one in self.log.sent
                if length(clip(self.held_up, one.sent, one.done)) > floor_ns]


# ---- who does it ----

def stopped(pid, stop_s):
    """Stops a process for so long; returns the intervals, in ns, for which it was stopped surely
    and at most."""
    before = time.monotonic_ns()
    os.kill(pid, signal.SIGSTOP)
    begin = time.monotonic_ns()
    time.sleep(stop_s)
    end = time.monotonic_ns()
    os.kill(pid, signal.SIGCONT)
    return (begin, end), (before, time.monotonic_ns())


class Stops:
    """So many, of that length each, that far from each other."""

    def __init__(self, n, stop_s, apart_s):
        self.n, self.stop_s, self.apart_s = n, stop_s, apart_s
        self.surely, self.at_most = [], []
        self.culprits = {"stopped": os.getpid()}

    def act(self, pid):
        for _ in range(self.n):
            surely, at_most = stopped(pid, self.stop_s)
            self.surely.append(surely)
            self.at_most.append(at_most)
            time.sleep(self.apart_s)

    def sets(self):
        return {"stopped": (self.surely, self.at_most)}


class Hog:
    """Bursts of another program on the server's CPU, of higher priority."""

    def __init__(self, burst_us, every_us, act_s):
        self.burst_us, self.every_us, self.act_s = burst_us, every_us, act_s
        self.culprits, self.stretches = {}, []

    def act(self, pid):
        del pid
        it = mini.Hog(f"hog{os.getpid()}", self.burst_us, self.every_us,
                      ("chrt", "--fifo", str(PRIORITY)))
        time.sleep(self.act_s)
        self.stretches = it.finish()
        self.culprits = {"cpu-wait": it.process.pid}

    def sets(self):
        return {"cpu-wait": (self.stretches, causes.bursts(self.stretches))}


class Both:
    """One after the other, at the same time: the first is the last word on what it was."""

    def __init__(self, one, other):
        self.one, self.other = one, other
        self.culprits = {}

    def act(self, pid):
        other = mini.Hog(f"hog{os.getpid()}", self.other.burst_us, self.other.every_us,
                         ("chrt", "--fifo", str(PRIORITY)))
        self.one.act(pid)
        self.other.stretches = other.finish()
        self.culprits = {**self.one.culprits, "cpu-wait": other.process.pid}

    def sets(self):
        return {**self.one.sets(), **self.other.sets()}


class Nothing:
    culprits = {}

    @staticmethod
    def act(pid):
        del pid
        time.sleep(1.5)

    @staticmethod
    def sets():
        return {}


class Run:
    """One server under load, and a recording of it."""

    def __init__(self, net, name, injected, rate=RATE):
        self.folder = tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "samples.csv")
        on = "taskset", "-c", mini.CPU
        with netns.inside(net.reader), \
                servers.server(name, net.address(4), (*on, *servers.AHEAD)) as (url, it):
            port = url.rsplit(":", 1)[1]
            observer = trace.Recording("--port", port, "--netns", net.reader)
            load = self.load(net, url, path, rate)
            time.sleep(0.7)
            injected.act(it.pid)
            time.sleep(0.2)
            load.send_signal(signal.SIGINT)
            load.communicate(timeout=LIMIT_S)
            observer.end()
        self.file, self.live_observer = observer.file, observer
        check.equal(f"exit code of record ({observer.said})", observer.code, 0)
        self.trace = trace.Trace(self.file, observer.code)
        check.equal("what was lost", sum(self.trace.lost.values()), 0)
        self.truth = Truth(Requests(self.trace, samples(path)), injected.sets(),
                           injected.culprits, self.trace.unrecorded())

    @staticmethod
    def load(net, url, path, rate):
        with netns.inside(net.sender):
            return process.start(
                ["taskset", "-c", "0", "chrt", "--fifo", PRIORITY, trace.HOSTLAT, "load", url,
                 "--rate", rate, "--for", "30s", "--connections", "32", "--samples", path],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
