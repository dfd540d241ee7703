# SPDX-License-Identifier: Apache-2.0
"""
Proves that `conns` tells 8 slow readers, 8 clients that Nagle holds, 40 that wait for a reply and
80 idle connections apart, and that it never loses one of them: where an interval has no news of a
connection, it reports the last known state with its age. By BPF programs and by inet_diag.
"""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading

from lib import check, conns, netns, process

DISTURBED = "which state a connection is in depends on when both ends get a CPU"

SLOW, HELD, ASKING, IDLE = 8, 8, 40, 80
ALL = SLOW + HELD + ASKING + IDLE
ROUND = 0.3     # seconds for which a server owes its reply
THINKS = 0.02   # seconds from the replies to the next requests: more than a tick of the kernel
DIAG = ["--collect", "inet-diag"]


class Crowd:
    """Both ends of the connections, in the namespace that the thread is in."""

    def __init__(self, listener):
        self.ends = []
        for _ in range(ALL):
            a = socket.create_connection(listener.getsockname())
            self.ends.append((a, listener.accept()[0]))
        self.slow = self.ends[:SLOW]
        self.held = self.ends[SLOW:SLOW + HELD]
        self.asking = self.ends[SLOW + HELD:SLOW + HELD + ASKING]
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.drive, daemon=True)
        for a, _ in self.slow:
            a.setblocking(False)
        self.thread.start()

    def fill(self):
        for a, _ in self.slow:
            with contextlib.suppress(BlockingIOError):
                while True:
                    a.send(bytes(65536))

    def drive(self):
        """A request is answered after a round; the next one follows some ticks after the reply."""
        while not self.stop.is_set():
            self.fill()
            for a, _ in self.asking:
                a.sendall(b"request")
            for a, _ in self.held:      # two small writes: Nagle holds the second
                a.sendall(b"head")
                a.sendall(b"body")
            self.stop.wait(ROUND)
            for a, b in self.asking + self.held:
                select.select([b], [], [], 1)
                b.recv(100)
                b.sendall(b"reply")
                select.select([a], [], [], 1)
                a.recv(100)
            self.stop.wait(THINKS)

    def close(self):
        self.stop.set()
        self.thread.join()
        for pair in self.ends:
            for end in pair:
                end.close()


@contextlib.contextmanager
def crowd(net):
    with netns.inside(net.reader), socket.create_server(("127.0.0.1", 0), backlog=ALL) as listener:
        it = Crowd(listener)
        try:
            yield it
        finally:
            it.close()


def observed(net, options, intervals):
    """Returns the intervals' documents, or the text if --json-lines is not asked for."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        child = process.start([conns.HOSTLAT, "conns", "--count", str(intervals), "--output", out, "--filter",
                               f"netns = {net.reader}", *options], stderr=subprocess.PIPE, text=True)
        try:
            errors = child.communicate(timeout=120)[1]
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
            raise
        check.true(f"it ended with 0 or 3: {errors}", child.returncode in (0, 3))
        with open(out, encoding="utf-8") as f:
            return f.read()


def lines(net, options, intervals):
    return [json.loads(line) for line in observed(net, ["--json-lines", *options], intervals).splitlines()]


def none_is_lost(documents):
    """From the first look on, each interval knows all connections, by a record or by the last one."""
    seen = [d for d in documents if d["totals"]["connections"] is not None]
    check.true("some intervals are known", seen)
    for d in seen:
        totals = d["totals"]
        check.equal("connections", totals["connections"], 2 * ALL)
        check.equal("by state", sum(d["states"].values()), 2 * ALL)
        check.equal("records and last known ones", len(d["connections"]) + len(d["last_known"]), 2 * ALL)
        check.equal("last known ones", totals["last_known"], len(d["last_known"]))
        cookies = {row["cookie"] for row in d["connections"] + d["last_known"]}
        check.equal("each is there once", len(cookies), 2 * ALL)
        check.true("ages", all(row["age_ns"] >= 0 for row in d["connections"] + d["last_known"]))


def told_apart(documents):
    last = documents[-1]
    check.between("connections limited by the receiver's window", last["states"]["receiver-window"], SLOW, SLOW)
    check.between("idle ones", last["states"]["idle"], 2 * IDLE, 2 * IDLE + 2 * HELD)
    check.between("those that await a reply", last["states"]["awaiting-reply"], ASKING // 2, ASKING + HELD)
    check.true(f"the headline: {last['headline']}", "have a problem that makes data wait" in last["headline"]
               and "receiver-window" in last["headline"])
    return last["states"]


@check.environment(DISTURBED)
def states(net, options):
    with crowd(net):
        documents = lines(net, ["--interval", "500ms", "--cpu-budget", "2%..30%", *options], 6)
    none_is_lost(documents)
    return told_apart(documents)


@check.environment(DISTURBED)
def nobody_looks(net):
    """A budget for few dumps: intervals without a look have the last known state, with its age."""
    with crowd(net):
        documents = lines(net, ["--interval", "50ms", "--cpu-budget", "0.01%..0.1%", *DIAG], 20)
    without = [d for d in documents if d["totals"]["closed"] is None and d["totals"]["connections"]]
    check.true("there are intervals without a look", without)
    none_is_lost(documents)
    for d in without:
        check.true("nothing is new", not d["connections"])
        check.true("the problem stays known", d["totals"]["with_problems"] >= SLOW)
    ages = [min(row["age_ns"] for row in d["last_known"] if row["state"] == "receiver-window") for d in without]
    check.true(f"ages: {ages}", all(ages))
    return f"{len(without)} of {len(documents)} intervals"


@check.environment(DISTURBED)
def text(net, options):
    """The verdict first, then the states; what is not in the table is counted; one caveat, last."""
    with crowd(net):
        printed = observed(net, ["--interval", "2s", "--cpu-budget", "2%..30%", *options], 1).splitlines()
    check.true(f"verdict: {printed[0]}", f" of {2 * ALL} connections have a problem" in printed[0])
    check.true(f"states: {printed[1]}", printed[1].startswith("receiver-window 8 · ") and "idle " in printed[1])
    rows = [line for line in printed[3:] if line.split()[0].isdigit()]
    rest = [line for line in printed if line.startswith("… +")]
    check.equal("the rest is counted", len(rest), 1)
    check.equal("rows and the rest", len(rows) + int(rest[0].split("+")[1].split()[0]), 2 * ALL)
    caveats = [line for line in printed if "Not measured" in line]
    check.equal("caveats", len(caveats), 1 if options else len(caveats))
    check.true("they come last", not caveats or printed[-1] == caveats[0])
    return printed[0]


if os.geteuid() != 0:
    check.skip("needs root")
loopback = netns.loopback()
check.run([
    (states, loopback, []),
    (states, loopback, DIAG),
    (nobody_looks, loopback),
    (text, loopback, []),
    (text, loopback, DIAG),
])
