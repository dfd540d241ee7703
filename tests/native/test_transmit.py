# SPDX-License-Identifier: Apache-2.0
"""Proves that `diagnose --direction egress` finds delays of sent messages: a rate limit, a shut
window, pacing. Its times are compared with the application's call, the last byte at the device, and
the end of the delay. Controls: exchanged causes must fail, and without a limit no message is
delayed."""
import bisect
import collections
import os
import socket
import struct
import subprocess
import sys
import threading
import time

from lib import burst, causes, check, diagnose, frames, netns, trace
from lib.line import Line
from lib.traffic import outweigh_others

DISTURBED = "a pacing timer or a softirq can be late, and the lateness is in the measured wait"

MS = 1_000_000
EXAMPLES = 2000
FLOOR_NS = 200_000      # less is not looked for
ERROR = 0.05            # share of the cause's time that may be wrong
RIGHT = 0.95            # share of the delayed messages that must be right
PACED_RATE, SIZE = 1_000_000, 1000      # bytes a second; a message
BYTE_NS = 1_000_000_000 // PACED_RATE
UNSEEN = 0.2            # share of the delayed messages during which a core may not be recorded
CAUSES = ("window", "pacing", "qdisc")
# Causes that make a pacing timer late: this test's log does not say how late it was.
OF_TIMERS = ("softirq", "other-receive", "interrupt", "idle-exit", "core-stall", "cpu-wait",
             "hostlat", "function")
LATE_NS = 5 * MS        # for so long a timer's core is busy
LONG = 200              # shorter messages are not delayed at `link`
SO_TIMESTAMPNS = 35
SO_MAX_PACING_RATE = 47

# `since`: when it may have been held up first; `lifted`: until when at least.
Sent = collections.namedtuple("Sent", "begin end last since lifted")


class Wire:
    """When which byte was given to the sender's device: (end of sequence, time), by its port."""

    def __init__(self, net):
        with netns.inside(net.sender):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                      socket.htons(frames.ETH_P_ALL))
        self.sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)   # SO_RCVBUFFORCE
        self.sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.sock.bind(("sender0", 0))
        self.sock.setblocking(False)
        self.seen = collections.defaultdict(list)
        self.first = {}

    def read(self):
        ahead = time.time_ns() - time.monotonic_ns()
        while True:
            try:
                frame, ancillary, _, address = self.sock.recvmsg(1 << 17, 64)
            except BlockingIOError:
                return
            if address[2] != frames.PACKET_OUTGOING or not frames.is_tcp(frame):
                continue
            seconds, ns = struct.unpack("qq", ancillary[0][2])
            seq, data = frames.payload(frame)
            port, = struct.unpack("!H", frame[34:36])
            if data:
                self.first.setdefault(port, seq)
                self.seen[port].append(((seq - self.first[port]) + len(data),
                                        seconds * 1_000_000_000 + ns - ahead))

    def packets(self, port):
        """(bytes, time) of each, in order."""
        seen = self.seen[port]
        return [(end - before, time) for (end, time), (before, _) in zip(seen, [(0, 0), *seen])]

    def arrival(self, port, end):
        """Returns the arrival time of the byte before `end`."""
        seen = self.seen[port]
        return seen[bisect.bisect_left(seen, (end, 0))][1]


class Sender:
    """One connection, and what was sent on it."""

    def __init__(self, net, rcvbuf=None, sndbuf=None, pacing=None):
        self.line = Line(net, rcvbuf=rcvbuf)
        if sndbuf:
            self.line.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, sndbuf)
        if pacing:
            self.line.tx.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, pacing)
        self.port = self.line.tx.getsockname()[1]
        self.sent, self.bytes = [], 0

    def send(self, size):
        data = b"x" * size
        begin = time.monotonic_ns()
        self.line.tx.sendall(data)
        end = time.monotonic_ns()
        self.bytes += size
        self.sent.append(Sent(begin, end, self.bytes, end, None))

    def lifted(self, n):
        """Notes that the delay of the last n messages has ended now."""
        now = time.monotonic_ns()
        self.sent[-n:] = [one._replace(lifted=now) for one in self.sent[-n:]]

    def usual(self, n):
        """Messages that nothing holds up."""
        for _ in range(n):
            self.send(SIZE)
            self.line.drain(SIZE)
            time.sleep(0.0025)


class Run:
    def __init__(self, net, limits, act, **options):
        self.sender, wire = Sender(net, **options), Wire(net)
        limits(net)
        observer = trace.Recording("--netns", net.sender)
        try:
            for _ in range(20):
                self.sender.usual(15)
                act(self.sender)
                wire.read()
            time.sleep(0.1)
        finally:
            observer.end()
            no_limit(net)
        wire.read()
        self.sender.line.close()
        self.file, self.live_observer = observer.file, observer
        check.equal(f"exit code of record ({observer.said})", observer.code, 0)
        self.packets = wire.packets(self.sender.port)
        self.arrivals = [wire.arrival(self.sender.port, one.last) for one in self.sender.sent]
        self.begins = [one.begin for one in self.sender.sent]
        self.diagnosis = diagnose.Diagnosis(self.file, EXAMPLES, "--direction", "egress",
                                            code=(0, 3))     # 3: microseconds are not explained

    def of(self, example):
        """(sent, arrival) of an example; None: it is no message of ours."""
        first = example["at_ns"] - example["latency_ns"]
        i = bisect.bisect_right(self.begins, first) - 1
        if i < 0 or first > self.sender.sent[i].end:
            return None
        return self.sender.sent[i], self.arrivals[i]

    def paced(self, one, arrival):
        """At least so long TCP's own pacing kept it: it makes up for half of what it was late."""
        held = 0
        for size, at in self.packets:
            held += max(0, min(at + size * BYTE_NS // 2, arrival) - max(at, one.since))
        return held


def held_up(one, arrival):
    """(at least, at most) ns for which it was held up behind its call, or in it for room."""
    until = arrival if one.lifted is None else min(one.lifted, arrival)
    return until - min(one.since, until), arrival - one.begin


def explains(run, example, found, cause):
    """
    Whether what is told of `cause` is what held the message up. A pacing timer may be late: what
    it is late by has other causes, but never less is pacing's than TCP makes up for.
    """
    least, most = held_up(*found)
    charged = {word: causes.charge_of(example, word).ns for word in CAUSES}
    room = max(run.diagnosis.granularity, ERROR * least)
    late, own = 0, 0
    if cause == "pacing":
        late = sum(causes.charge_of(example, word).ns for word in (*OF_TIMERS, "expected"))
        own = run.paced(*found)
    others = sum(ns for word, ns in charged.items() if word != cause)
    return (least - room <= charged[cause] + late and own - room <= charged[cause] <= most + room and
            others <= room)


def judge(run, examples, cause, least_messages):
    """Each message that was held up was so for `cause`; no other was for any of the three."""
    right, wrong, false, delayed, unknown, unseen = 0, [], [], 0, 0, 0
    for example in examples:
        causes.sums(example)
        found = run.of(example)
        if not found:
            unknown += 1
            continue
        least, most = held_up(*found)
        charged = {word: causes.charge_of(example, word).ns for word in CAUSES}
        where = f"message {example['id']}: {charged}, true {least}..{most}"
        if most < FLOOR_NS or cause is None:
            if sum(charged.values()) > FLOOR_NS:
                false.append(where)
        elif least > FLOOR_NS:
            room = max(run.diagnosis.granularity, ERROR * least)
            delayed += 1
            unrecorded = causes.charge_of(example, "blind").ns
            if unrecorded > room and charged.get(cause, 0) + unrecorded >= least - room:
                unseen += 1     # a core was out of sight, and it says so
            elif explains(run, example, found, cause):
                right += 1
            else:
                wrong.append(where)
    check.true(f"of {len(examples)} messages {unknown} are none of ours",
               unknown <= 0.02 * len(examples))
    check.true(f"delayed messages: {delayed}", delayed >= least_messages)
    check.true(f"{right} of {delayed} delayed messages are right: {wrong[:3]}",
               right >= RIGHT * (delayed - unseen))
    check.between("of them blind", unseen, 0, UNSEEN * delayed)
    check.true(f"{len(false)} messages that nothing held up: {false[:3]}",
               len(false) <= (1 - RIGHT) * len(examples))
    return f"{right} of {delayed} delayed messages, {unseen} blind, {len(false)} false"


def judged(run, cause, least_messages):
    figure = judge(run, run.diagnosis.examples, cause, least_messages)
    check.equal("time that is charged twice or not at all",
                run.diagnosis.document["partition_error_ns"], 0)
    for other in (*CAUSES, "cpu-wait"):
        if other != cause and least_messages:
            check.must_fail(f"{cause} as {other}", judge, run,
                            causes.swapped(run.diagnosis.examples, cause, other), cause,
                            least_messages)
    if least_messages:
        check.must_fail(f"too little of {cause}", judge, run,
                        causes.less(run.diagnosis.examples, cause, 0.4), cause, least_messages)
    top = run.diagnosis.document["causes"]
    return f"{figure}; first cause: {top[0]['cause'] if top else 'none'}"


# ---- what is injected ----

def tc(namespace, *args):
    done = subprocess.run(["tc", "-n", namespace, *args], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        check.skip(f"tc {' '.join(args)}: {done.stderr.strip()}")


def no_limit(net):
    subprocess.run(["tc", "-n", net.sender, "qdisc", "del", "dev", "sender0", "root"],
                   stderr=subprocess.DEVNULL, check=False)


def tbf(burst):
    def limit(net):
        tc(net.sender, "qdisc", "replace", "dev", "sender0", "root", "tbf", "rate", "8mbit",
           "burst", str(burst), "limit", "1000000")
    return limit


def eight_at_once(sender):
    for _ in range(8):
        sender.send(SIZE)
    sender.line.drain(8 * SIZE)
    time.sleep(0.005)


@check.environment(DISTURBED)
def rate_limit(net, burst):
    """Eight messages at once through a token bucket: in the queue, or behind those in it."""
    return judged(Run(net, tbf(burst), eight_at_once), "qdisc", 60)


def shut_window(sender):
    """The peer's buffer is full for 20 ms: the first fills it, and the next wait behind that."""
    sender.send(30_000)
    for _ in range(3):
        sender.send(1000)
    time.sleep(0.02)
    sender.lifted(4)
    sender.line.drain(33_000)
    time.sleep(0.002)


@check.environment(DISTURBED)
def window(net):
    return judged(Run(net, no_limit, shut_window, rcvbuf=4096, sndbuf=1 << 20), "window", 60)


@check.environment(DISTURBED)
def pacing(net):
    """TCP's own, as the socket asks for it: eight messages at once, of 1 ms each."""
    return judged(Run(net, no_limit, eight_at_once, pacing=PACED_RATE), "pacing", 60)


def no_room(sender):
    """The sender's own buffer is full, too: it sleeps in its call for 20 ms."""
    def read():
        time.sleep(0.02)
        when.append(time.monotonic_ns())
        sender.line.drain(100_000)

    when = []
    reader = threading.Thread(daemon=True, target=read)
    reader.start()
    sender.send(100_000)
    reader.join()
    sender.sent[-1] = sender.sent[-1]._replace(lifted=when[0], since=sender.sent[-1].begin)
    time.sleep(0.002)


@check.environment(DISTURBED)
def room(net):
    return judged(Run(net, no_limit, no_room, rcvbuf=4096, sndbuf=8192), "window", 15)


class Hindrance:
    """In every second round, a packet of another flow has the sender's core when a timer is due."""

    def __init__(self, net):
        with netns.inside(net.reader):
            tx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        tx.bind((net.address(4), 0))
        self.burst = burst.Burst(net.sender, "10.77.0.2", tx, 1, LATE_NS, "link", LONG)
        self.rounds, self.times = 0, []

    def __call__(self, sender):
        self.rounds += 1
        for _ in range(8):
            sender.send(SIZE)
        if self.rounds % 2:
            begin = time.monotonic_ns()
            self.burst.send()       # its softirq, too, is over when this returns
            self.times.append((begin, time.monotonic_ns()))
            self.burst.wait()
        sender.line.drain(8 * SIZE)
        time.sleep(0.005)

    def busy(self, one, arrival):
        """(at least, at most) for so long the core of what waited was busy meanwhile."""
        for begin, end in self.times:
            if one.end <= begin and arrival >= begin + LATE_NS:
                return LATE_NS, end - begin
        return 0, 0


def judge_late(run, examples, other):
    """Pacing is charged up to when the timer was due, and then the softirq that its core was in."""
    right, wrong, false = 0, [], []
    for example in examples:
        causes.sums(example)
        found = run.of(example)
        if not found:
            continue
        least, most = other.busy(*found)
        room = ERROR * least
        charged = {word: causes.charge_of(example, word).ns for word in CAUSES}
        late = sum(c["ns"] for c in causes.charge_of(example, "other-receive").culprits
                   if c["what"] == "softirq net-rx")
        where = f"message {example['id']}: {charged}, {late} of {most} in net-rx"
        if not least and late > FLOOR_NS:
            false.append(where)
        elif least and (least - 1.1 * SIZE * BYTE_NS - room <= late <= most + room and
                        charged["window"] + charged["qdisc"] <= room):
            right += 1
        elif least:
            wrong.append(where)
    check.true(f"{right} late messages are right, not {wrong[:3]}",
               right >= 30 and right >= RIGHT * (right + len(wrong)))
    check.true(f"of other rounds: {false[:3]}", len(false) <= (1 - RIGHT) * len(examples))
    return f"{right} of {right + len(wrong)} late messages"


@check.environment(DISTURBED)
def late_timer(net):
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})     # timers expire where they were set
    try:
        other = Hindrance(net)
        run = Run(net, no_limit, other, pacing=PACED_RATE)
        other.burst.finish()
    finally:
        os.sched_setaffinity(0, cores)
    figure = judge_late(run, run.diagnosis.examples, other)
    check.equal("time that is charged twice or not at all",
                run.diagnosis.document["partition_error_ns"], 0)
    for word in "window", "pacing":
        check.must_fail(f"lateness as {word}", judge_late, run,
                        causes.swapped(run.diagnosis.examples, "other-receive", word), other)
    check.must_fail("too little of it", judge_late, run,
                    causes.less(run.diagnosis.examples, "other-receive", 0.4), other)
    return figure


@check.environment(DISTURBED)
def nothing(net):
    """Control: of the same messages without a limit none is held up."""
    return judged(Run(net, no_limit, eight_at_once), None, 0)


outweigh_others()
veth = netns.veth()
netns.ip("-n", veth.sender, "route", "change", "10.77.0.0/24", "dev", "sender0", "initcwnd", "100")
with netns.inside(veth.sender):     # bbr paces what nobody asked it to
    with open("/proc/sys/net/ipv4/tcp_congestion_control", "w", encoding="ascii") as file:
        file.write("reno")
words = sys.argv[1:]
check.run([each for each in [
    (nothing, veth), (rate_limit, veth, 3000), (rate_limit, veth, 1600), (window, veth),
    (room, veth), (pacing, veth), (late_timer, veth),
] if not words or each[0].__name__ in words])
