#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the log of calls has every call once, with its bytes and its time, against a program
that notes when each of its calls began and returned; calls that are left out are counted. Control:
a log with one call more must fail."""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from lib import check, conns, process

SIZES = (1, 100, 1460, 70000)
GAPS_S = (0.004, 0.011, 0.023, 0.002)
SO_COOKIE = 57
GUEST = sys.argv[1:] == ["guest"]
# An emulated CPU is slow, and slower beside others.
ROOMY = ("--cpu-budget", "20%..90%" if GUEST else "5%..60%")


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Pair:
    """A connection over loopback, and what was called on its two ends."""

    def __init__(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(1)
            self.ends = [socket.create_connection(listener.getsockname())]
            self.ends.append(listener.accept()[0])
        self.called = [[], []]    # (call, bytes or error, from, to)
        self.cookies = [struct.unpack("Q", end.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8))[0]
                        for end in self.ends]
        self.port = self.ends[0].getsockname()[1]

    def call(self, end, name, do):
        began = now()
        try:
            result = do(self.ends[end])
        except BlockingIOError:
            result = "EAGAIN"
        self.called[end].append((name, result, began, now()))
        return result

    def send(self, end, size):
        return self.call(end, "send", lambda s: s.send(bytes(size)))

    def receive(self, end, size, flags=0):
        return self.call(end, "receive", lambda s: len(s.recv(size, flags)))

    def exchange(self):
        for size, gap in zip(SIZES, GAPS_S):
            left = self.send(0, size)
            check.equal("sent at once", left, size)
            while left:
                left -= self.receive(1, left)
            time.sleep(gap)

    def close(self):
        for end in self.ends:
            end.close()


def lines(path):
    with open(path, encoding="utf-8") as f:
        documents = [json.loads(line) for line in f]
    return ([d["call"] for d in documents if "call" in d],
            [d for d in documents if "call" not in d])


def run(options, act, path):
    """Beside what is done once it measures; the intervals of a run that is stopped then."""
    child = process.start([conns.HOSTLAT, "conns", "--calls", "--output", path, "--interval",
                           "100ms", *options], stderr=subprocess.PIPE, text=True)
    conns.measuring(child)
    act()
    child.send_signal(2)
    _, errors = child.communicate(timeout=120)
    check.true(f"it ended with 0 or 3: {errors}", child.returncode in (0, 3))
    return child.returncode


def as_called(logged, called, whole=True):
    """One after the other: which call, how much, and when. `whole`: not only the last ones."""
    if not whole:
        check.between("calls", len(logged), 1, len(called))
        called = called[-len(logged):]
    check.equal("calls", [(c["call"], c["error"] or c["bytes"]) for c in logged],
                [(name, result) for name, result, _, _ in called])
    for logged_call, (name, result, began, ended) in zip(logged, called):
        check.between(f"when {name} of {result} returned", logged_call["time_ns"], began, ended)
    check.equal("numbers", [c["seq"] for c in logged],
                [logged[0]["seq"] + i for i in range(len(logged))])
    check.equal("threads", {c["tid"] for c in logged}, {threading.get_native_id()})
    check.equal("processes", {c["pid"] for c in logged}, {os.getpid()})


def losses(document):
    return {each["reason"]: each["count"] for each in document["losses"]}


COSTS = ("hostlat's own CPU time per event grows where others use the caches "
         "and the CPUs")


@check.environment(COSTS)
def each_call_is_there():
    """Logs hold every call of both ends, also of a connection that begins meanwhile; a peek is no
    call."""
    with tempfile.TemporaryDirectory() as folder:
        path, old = os.path.join(folder, "out"), Pair()
        pairs = [old]

        def act():
            pairs.append(Pair())
            for _ in range(3):
                for pair in pairs:
                    pair.exchange()
            old.send(1, 5)
            old.ends[0].recv(5, socket.MSG_PEEK)
            old.receive(0, 100)
            old.ends[0].setblocking(False)
            old.receive(0, 100)    # finds nothing

        code = run(["--json-lines", *ROOMY], act, path)
        logged, intervals = lines(path)
    for pair in pairs:
        for end, cookie in enumerate(pair.cookies):
            own = [c for c in logged if c["cookie"] == str(cookie)]
            as_called(own, pair.called[end])
            check.must_fail("one more", as_called, own, pair.called[end][:-1])
    check.equal("left out", [losses(d).get("calls-not-logged", 0) for d in intervals],
                [0] * len(intervals))
    for pair in pairs:
        pair.close()
    return f"{sum(len(c) for pair in pairs for c in pair.called)} calls, exit {code}"


@check.environment(COSTS)
def one_is_followed():
    """Live, and again from the recording; the gaps are those between the calls."""
    with tempfile.TemporaryDirectory() as folder:
        path, file, pair, other = (os.path.join(folder, "out"), os.path.join(folder, "run.hlat"),
                                   Pair(), Pair())

        def act():
            for _ in range(3):
                pair.exchange()
                other.exchange()

        follow = ["--follow", str(pair.cookies[0]), "--json"]
        run([*follow, "--record", file, *ROOMY], act, path)
        with open(path, encoding="utf-8") as f:
            live = json.load(f)
        read = json.loads(subprocess.run([conns.HOSTLAT, "conns", "--from", file, *follow],
                                         capture_output=True, timeout=120, check=False).stdout)
    as_called(live["call_log"], pair.called[0])
    check.equal("from the recording", read["call_log"], live["call_log"])
    for before, it in zip(live["call_log"], live["call_log"][1:]):
        check.equal("gap", it["gap_ns"], it["time_ns"] - before["time_ns"])
    check.equal("its flag", "calls-logged" in live["connections"][0]["flags"], True)
    pair.close()
    other.close()
    return f"{len(live['call_log'])} calls"


def a_filter_chooses():
    """From when it was told of on: the others have no log, nor has a run without --calls."""
    with tempfile.TemporaryDirectory() as folder:
        path, pair, other = os.path.join(folder, "out"), Pair(), Pair()

        def act():
            for _ in range(15):
                pair.exchange()
                other.exchange()

        run(["--json-lines", "--filter", f"sport = :{pair.port}", *ROOMY], act, path)
        logged, _ = lines(path)
    check.equal("whose", {c["cookie"] for c in logged}, {str(pair.cookies[0])})
    as_called(logged, pair.called[0], whole=False)
    check.between("most are there", len(logged), len(pair.called[0]) / 2, len(pair.called[0]))
    pair.close()
    other.close()
    return f"{len(logged)} of {len(pair.called[0])}"


@check.environment("whether an acknowledgement is delayed depends on when the reader runs")
def nagle_is_seen():
    """Two small writes: the second is held until the first one is acknowledged."""
    with tempfile.TemporaryDirectory() as folder:
        path, pair = os.path.join(folder, "out"), Pair()

        def act():
            for _ in range(20):    # past the quick acknowledgements of the beginning
                pair.send(0, 10)
                pair.send(0, 11)
                time.sleep(0.06)
                for size in (10, 11):
                    pair.receive(1, size)
            pair.ends[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair.send(0, 12)
            pair.send(0, 13)

        run(["--follow", str(pair.cookies[0]), "--json", *ROOMY], act, path)
        with open(path, encoding="utf-8") as f:
            log = json.load(f)["call_log"]
    held = [(c["held_by"], c["unsent"]) for c in log if c["bytes"] == 11]
    check.between("held", sum(it in (("nagle", 11), ("delayed-ack", 11)) for it in held), 1, 20)
    check.equal("the first ones, and with NODELAY", {c["unsent"] for c in log if c["bytes"] != 11},
                {0})
    pair.close()
    return f"{sum(unsent > 0 for _, unsent in held)} of 20"


def flood(pair, seconds):
    """Calls on the first end; the second one is read by a thread."""
    end, other = pair.ends
    n, until = 0, time.monotonic() + seconds
    reader = threading.Thread(daemon=True, target=lambda: all(iter(lambda: other.recv(1 << 20), b"")))
    reader.start()
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while time.monotonic() < until:
        for _ in range(100):
            end.send(b"x")
        n += 100
    end.shutdown(socket.SHUT_WR)
    reader.join()
    return n


@check.environment(COSTS)
def too_many_are_counted():
    """Calls beyond the budget are not logged, and the log counts them exactly."""
    with tempfile.TemporaryDirectory() as folder:
        path, pair, sent = os.path.join(folder, "out"), Pair(), []
        code = run(["--follow", str(pair.cookies[0]), "--json-lines", "--cpu-budget", "1%..3%"],
                   lambda: (sent.append(flood(pair, 3)), time.sleep(0.3)), path)
        logged, intervals = lines(path)
    left_out = sum(losses(d).get("calls-not-logged", 0) for d in intervals)
    check.between("left out", left_out, 1, sent[0])
    check.equal("logged and left out", len(logged) + left_out, sent[0])
    check.equal("exit code", code, 3)
    used = [d["budget"]["used"] for d in intervals[10:]]    # once the price of a call is known
    check.between("mean CPU", sum(used) / len(used), 0, 0.033)
    pair.close()
    return f"{len(logged)} logged, {left_out} left out, {sum(used) / len(used):.1%} of a core"


def without_it_nothing_is_logged():
    with tempfile.TemporaryDirectory() as folder:
        path, pair = os.path.join(folder, "run.hlat"), Pair()
        with conns.beside(["--record", path, "--follow", str(pair.cookies[0])]) as logged_call:
            pair.exchange()
        check.equal("no log", logged_call["json"]["call_log"], None)
        done = subprocess.run([conns.HOSTLAT, "conns", "--from", path, "--json-lines"], text=True,
                              capture_output=True, timeout=120, check=False)
        check.true("nor in the recording", '"call":' not in done.stdout)
        pair.close()


if os.geteuid() != 0:
    check.skip("needs root")
cases = [(each_call_is_there,), (one_is_followed,), (without_it_nothing_is_logged,)]
if not GUEST:    # an emulated CPU is slow
    cases += [(a_filter_chooses,), (nagle_is_seen,), (too_many_are_counted,)]
check.run(cases)
