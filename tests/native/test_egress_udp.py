# SPDX-License-Identifier: Apache-2.0
"""Proves that the transmit side of UDP is measured from the send call on where a kernel lets
programs be attached to functions (`test_egress_udp.py guest`); elsewhere datagrams are counted, and
the stages say why they are not measured. Controls: one datagram less and half the time must
fail."""
import errno
import os
import socket
import struct
import subprocess
import sys
import time

from lib import check, netns, watch

DISTURBED = ("it compares a measured time with the time that the test itself took, and "
             "other threads can have the CPU in between")

EGRESS = "--stages", "egress"
MS = 1_000_000
N = 200
SENT = ["segment", "qdisc", "driver"]

SO_TXTIME, SCM_TXTIME = 61, 61
UDP_CORK, UDP_SEGMENT = 1, 103


class Path:
    """A UDP socket of the net's sender, and one of its reader that it may be connected to."""

    def __init__(self, net, family=4, connected=True):
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET
        with netns.inside(net.reader):
            self.rx = socket.socket(kind, socket.SOCK_DGRAM)
        self.rx.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.rx.bind((net.address(family), 0))
        self.rx.settimeout(10)
        self.to = self.rx.getsockname()[:2]
        with netns.inside(net.sender):
            self.tx = socket.socket(kind, socket.SOCK_DGRAM)
        if connected:
            self.tx.connect(self.to)
        self.tx.sendto(b"hello", self.to) # neighbours are known
        self.drain(1)

    def drain(self, n):
        for _ in range(n):
            self.rx.recv(65536)

    def close(self):
        self.tx.close()
        self.rx.close()


def tc(namespace, *args):
    done = subprocess.run(["tc", "-n", namespace, *args], capture_output=True, text=True, check=False)
    if done.returncode:
        check.skip(f"tc {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def qdisc(net, *args):
    tc(net.sender, "qdisc", "replace", "dev", "sender0", "root", *args)


def no_queue(net):
    tc(net.sender, "qdisc", "del", "dev", "sender0", "root")


def sender_of(net, *more):
    return watch.Watch(*EGRESS, "--netns", net.sender, *more)


def sent(result, stage):
    return result.row(stage, "udp", "egress")


def counts(result, stages=SENT):
    return [result.count(stage, "udp", "egress") for stage in stages]


def measured(result, n):
    check.equal(f"datagrams at {SENT} ({result.brief()})", counts(result), [n] * len(SENT))
    check.equal("origins", {sent(result, s)["origin"] for s in SENT}, {"send"})
    result.sound()


# ---- where functions can be hooked ----

def each_once(net, family, connected):
    """Each datagram is one packet: seen once at every stage."""
    path = Path(net, family, connected)
    observer = sender_of(net)
    for _ in range(N):
        path.tx.sendto(b"x" * 100, path.to) if not connected else path.tx.send(b"x" * 100)
    path.drain(N)
    result = observer.stop()
    path.close()
    measured(result, N)
    check.must_fail("one datagram less", measured, result, N - 1)
    check.equal("given to their receiver", result.excluded("given-to-receiver", protocol="udp"), N)
    check.equal("not measured", result.excluded("no-departure"), 0)
    segment, queued, given = (sent(result, stage) for stage in SENT)
    check.between("time to segment", segment["sum_ns"], 1, queued["sum_ns"])
    check.between("time to qdisc", queued["sum_ns"], segment["sum_ns"], given["sum_ns"])
    check.equal("steps", [r["step"]["count"] for r in (segment, queued, given)], [N] * 3)
    check.between("steps of all", sum(r["step"]["sum_ns"] for r in (segment, queued, given)),
                  0.99 * given["sum_ns"], 1.01 * given["sum_ns"])


def mapped(net):
    """An IPv6 socket that sends by IPv4: one call, though two functions."""
    path = Path(net)
    with netns.inside(net.sender):
        tx = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    observer = sender_of(net)
    for _ in range(N):
        tx.sendto(b"x", ("::ffff:" + path.to[0], path.to[1]))
    path.drain(N)
    result = observer.stop()
    tx.close()
    path.close()
    measured(result, N)


def by_process(net):
    """--pid: what another process sends is not counted, not even as lost."""
    path = Path(net)
    mine = sender_of(net, "--pid", os.getpid())
    other = sender_of(net, "--pid", 1)
    for _ in range(N):
        path.tx.send(b"x")
    path.drain(N)
    mine, other = mine.stop(), other.stop()
    path.close()
    measured(mine, N)
    check.equal(f"of another process ({other.brief()})", counts(other), [0, 0, 0])
    check.equal("lost", other.document["losses"], [])


RATE, BURST = 125_000, 3000 # 1 mbit/s
WIRE = 1000 + 14 + 20 + 8
LINES, ROUNDS = 8, 5


@check.environment(DISTURBED)
def token_bucket(net):
    """The time in the queueing discipline is the step to `driver`, and in no other."""
    path = Path(net)
    qdisc(net, "tbf", "rate", "1mbit", "burst", str(BURST), "limit", "100000")
    time.sleep(0.1)
    observer = sender_of(net)
    for _ in range(ROUNDS):
        for _ in range(LINES):
            path.tx.send(b"x" * 1000)
        path.drain(LINES)
        time.sleep(0.1)
    result = observer.stop()
    path.close()
    no_queue(net)
    measured(result, LINES * ROUNDS)
    expected = ROUNDS * sum(max(0, (k * WIRE - BURST)) / RATE for k in range(1, LINES + 1)) * 1e9
    step = sent(result, "driver")["step"]["sum_ns"]
    check.between("queueing time", step, 0.8 * expected, 1.2 * expected)
    check.must_fail("half the time", check.between, "", step / 2, 0.8 * expected, 1.2 * expected)
    for stage in "segment", "qdisc":
        check.between(f"time to {stage}", sent(result, stage)["sum_ns"], 0, 0.05 * expected)
    return f"{step / 1e6:.1f} ms of {expected / 1e6:.1f} ms computed"


def sampled(net):
    """--sample: a datagram is drawn for all stages or for none, and each stands for several."""
    path = Path(net)
    observer = sender_of(net, "--sample", "1/4")
    for _ in range(40):
        for _ in range(50):
            path.tx.send(b"x" * 100)
        path.drain(50)
    for _ in range(5):
        path.tx.send(b"x" * 4000)
    result = observer.stop()
    path.close()
    seen = counts(result)
    check.equal(f"the same at each stage ({result.brief()})", seen, [seen[0]] * len(SENT))
    check.between("datagrams", seen[0], 1600, 2400) # five deviations
    check.equal("given to their receiver", result.excluded("given-to-receiver", protocol="udp"), seen[0])
    check.equal("fragments, all of them", result.excluded("fragment", protocol="udp"), 15)
    check.equal("pieces", result.excluded("split", protocol="udp"), 0)
    result.sound()


def dropped(net):
    """A full queue: each drop at `driver`."""
    path = Path(net)
    qdisc(net, "tbf", "rate", "8kbit", "burst", "1600", "limit", "3500")
    observer = sender_of(net)
    for _ in range(20):
        try:
            path.tx.send(b"x" * 1000)
        except OSError as e:
            check.equal("error", e.errno, errno.ENOBUFS)
    result = observer.stop()
    no_queue(net)
    path.close()
    drops = result.dropped(stage="driver")
    check.between(f"drops ({result.brief()})", drops, 10, 19)
    check.counted("at qdisc", result.count("qdisc", "udp", "egress"), 20)


def refused(net):
    """Packets that a filter refuses are dropped between `segment` and `qdisc`."""
    path = Path(net)
    tc(net.sender, "qdisc", "add", "dev", "sender0", "clsact")
    tc(net.sender, "filter", "add", "dev", "sender0", "egress", "matchall", "action", "drop")
    observer = sender_of(net)
    for _ in range(20):
        try:
            path.tx.send(b"x")
        except OSError as e:
            check.equal("error", e.errno, errno.ENOBUFS)
    result = observer.stop()
    tc(net.sender, "qdisc", "del", "dev", "sender0", "clsact")
    path.close()
    check.equal(f"drops before qdisc ({result.brief()})", result.dropped(stage="qdisc"), 20)
    check.equal("measured", counts(result), [0, 0, 0])


CORKED_NS = 50 * MS


def corked(net, open_it):
    """A datagram of several calls is as old as the first of them."""
    path = Path(net)
    observer = sender_of(net)
    path.tx.send(b"x" * 10, socket.MSG_MORE)
    time.sleep(CORKED_NS / 1e9)
    if open_it:
        path.tx.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 1)
        path.tx.setsockopt(socket.IPPROTO_UDP, UDP_CORK, 0)
    else:
        path.tx.send(b"y" * 10)
    check.equal("length", len(path.rx.recv(100)), 10 if open_it else 20)
    path.tx.send(b"z")
    path.drain(1)
    result = observer.stop()
    path.close()
    measured(result, 2)
    check.between("longest to segment", sent(result, "segment")["max_ns"], CORKED_NS, 20 * CORKED_NS)
    check.between("shortest to segment", sent(result, "segment")["min_ns"], 0, CORKED_NS / 2)


def corked_before(net):
    """The first of the calls is from before the start: lost, and no guess."""
    path = Path(net)
    path.tx.send(b"x" * 10, socket.MSG_MORE)
    observer = sender_of(net)
    path.tx.send(b"y" * 10)
    path.drain(1)
    result = observer.stop()
    path.close()
    check.equal(f"measured ({result.brief()})", counts(result), [0, 0, 0])
    check.equal("lost", [result.lost("no-send-call", stage=s, protocol="udp") for s in SENT], [1, 1, 1])
    check.equal("exit code", result.code, 3)


def many_at_once(net):
    """sendmmsg: each datagram has its own call."""
    path = Path(net)
    observer = sender_of(net)
    sendmmsg(path.tx, [b"x" * 10] * 30)
    path.drain(30)
    result = observer.stop()
    path.close()
    measured(result, 30)


def sendmmsg(sock, payloads):
    import ctypes

    class Iov(ctypes.Structure):
        _fields_ = [("base", ctypes.c_char_p), ("len", ctypes.c_size_t)]

    class Header(ctypes.Structure):
        _fields_ = [("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.POINTER(Iov)),
                    ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t),
                    ("flags", ctypes.c_int)]

    class Msg(ctypes.Structure):
        _fields_ = [("header", Header), ("len", ctypes.c_uint)]

    iovs = (Iov * len(payloads))(*[Iov(p, len(p)) for p in payloads])
    messages = (Msg * len(payloads))()
    for i, message in enumerate(messages):
        message.header.iov, message.header.iovlen = ctypes.pointer(iovs[i]), 1
    done = ctypes.CDLL(None, use_errno=True).sendmmsg(sock.fileno(), messages, len(payloads), 0)
    check.equal("messages sent", done, len(payloads))


def segments(net):
    """UDP_SEGMENT: one packet through the queue; behind it, pieces are counted and no more."""
    path = Path(net)
    observer = sender_of(net)
    control = [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("H", 1000))]
    path.tx.sendmsg([b"x" * 10_000], control)
    path.drain(10)
    whole = observer.stop()
    qdisc(net, "tbf", "rate", "100mbit", "burst", "5000", "limit", "1000000") # cuts what is above its burst
    observer = sender_of(net)
    path.tx.sendmsg([b"x" * 10_000], control)
    path.drain(10)
    cut = observer.stop()
    no_queue(net)
    path.close()
    measured(whole, 1)
    check.equal("pieces", whole.excluded("split", protocol="udp"), 0)
    check.equal(f"at qdisc and driver ({cut.brief()})", counts(cut), [1, 1, 0])
    check.equal("pieces", cut.excluded("split", protocol="udp"), 10)
    check.equal("cut", cut.excluded("split-parent", protocol="udp"), 1)


def fragments(net, family):
    """Packets that IP fragments are counted by fragment."""
    path = Path(net, family)
    observer = sender_of(net)
    for _ in range(5):
        path.tx.send(b"x" * 4000)
    path.drain(5)
    for _ in range(5):
        path.tx.send(b"x")
    path.drain(5)
    result = observer.stop()
    path.close()
    measured(result, 5)
    check.equal("fragments", result.excluded("fragment", protocol="udp"), 15)
    check.equal("pieces", result.excluded("split", protocol="udp"), 0)


AHEAD_NS = 30 * MS


@check.environment(DISTURBED)
def chosen_time(net, clock, number, holds):
    """SO_TXTIME: what fq holds back is pacing; what nobody holds back is told."""
    path = Path(net)
    path.tx.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", number, 0))
    qdisc(net, *(["fq"] if holds else ["pfifo"]))
    observer = sender_of(net)
    for _ in range(10):
        at = time.clock_gettime_ns(clock) + AHEAD_NS
        path.tx.sendmsg([b"x"], [(socket.SOL_SOCKET, SCM_TXTIME, struct.pack("Q", at))])
        path.drain(1)
    result = observer.stop()
    no_queue(net)
    path.close()
    check.equal(f"paced ({result.brief()})", result.excluded("paced", protocol="udp"), 10)
    pacing = sent(result, "qdisc")["pacing"]
    check.equal("in the distribution", pacing["count"], 10)
    check.between("pacing", pacing["sum_ns"], 5 * AHEAD_NS, 10 * AHEAD_NS)
    check.counted("at segment", result.count("segment", "udp", "egress"), 10)
    if holds:
        driver = sent(result, "driver")
        check.equal("at driver", driver["count"], 10)
        check.between("time to driver, without the pacing", driver["sum_ns"], 0, 5 * AHEAD_NS)
    check.equal("not held", result.excluded("pacing-ignored", protocol="udp"), 0 if holds else 10)
    result.sound()


def foreign_time(net):
    """A time by a clock that isn't converted: no stage behind `segment` says anything."""
    path = Path(net)
    path.tx.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", time.CLOCK_REALTIME, 0))
    observer = sender_of(net)
    path.tx.sendmsg([b"x"], [(socket.SOL_SOCKET, SCM_TXTIME, struct.pack("Q", time.time_ns() + 1))])
    path.drain(1)
    result = observer.stop()
    path.close()
    check.equal(f"measured ({result.brief()})", counts(result), [1, 0, 0])
    check.equal("lost", [result.lost("stamp-foreign", stage=s) for s in SENT], [0, 1, 1])


def completed(net):
    """A device that frees what it is given, as a card does when it is on the wire."""
    netns.ip("-n", net.sender, "link", "add", "dummy0", "type", "dummy")
    netns.ip("-n", net.sender, "link", "set", "dummy0", "up")
    netns.ip("-n", net.sender, "route", "add", "10.99.0.0/24", "dev", "dummy0")
    with netns.inside(net.sender):
        tx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tx.bind((net.address(4).rsplit(".", 1)[0] + ".2", 0))
    observer = sender_of(net)
    for _ in range(20):
        tx.sendto(b"x" * 1000, ("10.99.0.9", 9))
    result = observer.stop()
    netns.ip("-n", net.sender, "link", "del", "dummy0")
    tx.close()
    measured(result, 20)
    done, driver = sent(result, "sent"), sent(result, "driver")
    check.equal("at sent", done["count"], 20)
    check.between("time to sent", done["sum_ns"], driver["sum_ns"], driver["sum_ns"] + 100 * MS)
    check.equal("given to a receiver", result.excluded("given-to-receiver"), 0)


def stacked(net):
    """A datagram passes two devices: it is measured once, at the one on top or at the one asked for."""
    path = Path(netns.vlan(net))
    both, lower = sender_of(net), sender_of(net, "--ifname", "sender0")
    for _ in range(100):
        path.tx.send(b"x" * 100)
    path.drain(100)
    both, lower = both.stop(), lower.stop()
    path.close()
    for namespace in net.sender, net.reader:
        netns.ip("-n", namespace, "link", "del", "vlan5")
    measured(both, 100)
    measured(lower, 100)
    check.equal("seen again below", both.excluded("stacked-device", protocol="udp"), 100)
    check.equal("seen again below, of the device below", lower.excluded("stacked-device"), 0)


def neighbours(net):
    """A datagram that waits for its neighbour's address goes on in another's context."""
    path = Path(net)
    netns.ip("-n", net.sender, "neigh", "flush", "all")
    observer = sender_of(net)
    for _ in range(10):
        netns.ip("-n", net.sender, "neigh", "flush", "all")
        path.tx.send(b"x")
        path.tx.send(b"y")
        path.drain(2)
    result = observer.stop()
    path.close()
    measured(result, 20)


# ---- where they can't ----

def only_counted(net):
    """No hook sees the call: each stage says why; TCP isn't blamed for what nobody sends."""
    path = Path(net)
    other_watch = sender_of(net)
    other_watch = other_watch.stop()
    observer = sender_of(net)
    for _ in range(N):
        path.tx.send(b"x")
    path.drain(N)
    result = observer.stop()
    path.close()
    check.equal("rows", counts(result), [0, 0, 0])
    check.equal(f"counted ({result.brief()})", result.excluded("no-departure", protocol="udp"), N)
    reasons = {b["stage"]: b for b in result.document["bindings"]
               if b["protocol"] == "udp" and b["direction"] == "egress"}
    check.equal("stages that give a reason", sorted(reasons), ["driver", "qdisc", "segment", "sent"])
    check.equal("bound", {b["bound"] for b in reasons.values()}, {False})
    check.true("a reason", all(b["why"] for b in reasons.values()))
    check.equal("exit code", result.code, 3)
    check.equal(f"exit code where nobody sends ({other_watch.brief()})", other_watch.code, 0)


def only_counted_by_process(net):
    """--pid: who sends datagrams that aren't measured is told so, and nobody else."""
    path = Path(net)
    mine, other = sender_of(net, "--pid", os.getpid()), sender_of(net, "--pid", 1)
    for _ in range(N):
        path.tx.send(b"x")
    path.drain(N)
    mine, other = mine.stop(), other.stop()
    path.close()
    check.equal(f"mine ({mine.brief()})", mine.excluded("no-departure", protocol="udp"), N)
    check.equal(f"another's ({other.brief()})", other.excluded("no-departure"), 0)
    check.equal("exit codes", (mine.code, other.code), (3, 0))


def guest_cases():
    net = netns.veth()
    for family in 4, 6:
        for connected in True, False:
            yield each_once, net, family, connected
    yield each_once, netns.loopback(), 4, True
    for case in (mapped, by_process, sampled, token_bucket, dropped, refused, corked_before, many_at_once, segments,
                 foreign_time, completed, stacked, neighbours):
        yield case, net
    for open_it in False, True:
        yield corked, net, open_it
    for family in 4, 6:
        yield fragments, net, family
    for holds in True, False:
        yield chosen_time, net, time.CLOCK_MONOTONIC, 1, holds
    yield chosen_time, net, time.CLOCK_TAI, 11, False


def cases():
    net = netns.veth()
    yield only_counted, net
    yield only_counted_by_process, net


check.run(guest_cases() if sys.argv[1:] == ["guest"] else cases())
