# SPDX-License-Identifier: Apache-2.0
"""Proves that the transmit side measures what TCP sends, from the send call to its acknowledgement.
Controls: one packet less and half the time must fail; with an open window nothing waits. Packets
that a queue passes on later are counted in whatever task a timer interrupts then, and not every
kernel lets programs run in all tasks."""
import ctypes
import functools
import json
import os
import socket
import subprocess
import sys
import time

from lib import check, netns, watch
from lib.line import Line
from lib.traffic import Traffic

DISTURBED = ("where others have the CPU, TCP sends again what is acknowledged too late, and the test "
             "takes longer than it measures")

EGRESS = "--stages", "egress"
MS = 1_000_000
N = 1000 if "guest" in sys.argv else 5000
SENT = ["segment", "qdisc", "driver", "acked"]


def disconnect(sock):
    """connect(AF_UNSPEC): the socket module can't say it."""
    if ctypes.CDLL(None, use_errno=True).connect(sock.fileno(), bytes(16), 16):
        raise OSError(ctypes.get_errno(), "disconnect")


def tc(namespace, *args):
    done = subprocess.run(["tc", "-n", namespace, *args], capture_output=True, text=True, check=False)
    if done.returncode:
        check.skip(f"tc {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def tbf(net, rate, burst, limit):
    tc(net.sender, "qdisc", "replace", "dev", "sender0", "root", "tbf", "rate", rate,
       "burst", str(burst), "limit", str(limit))


def no_queue(net):
    tc(net.sender, "qdisc", "del", "dev", "sender0", "root")


def undisturbed(case):
    """It may be tried again, on a net as it was."""

    @check.environment(DISTURBED)
    @functools.wraps(case)
    def run(net, *args):
        try:
            return case(net, *args)
        finally:
            for namespace, device in ((net.sender, "sender0"), (net.reader, "reader0")):
                quietly("tc", "-n", namespace, "qdisc", "del", "dev", device, "root")
                for made in "vlan5", "vx0", "dummy0":
                    quietly("ip", "-n", namespace, "link", "del", made)
    return run


def quietly(*command):
    subprocess.run(command, capture_output=True, check=False)


def sender_of(net):
    return watch.Watch(*EGRESS, "--netns", net.sender)


def sent(result, stage):
    return result.row(stage, "tcp", "egress")


def stuck(net):
    """A connection with five packets behind a slow queue, and who watches them."""
    line = Line(net)
    tbf(net, "8kbit", 1600, 100_000)
    observer = sender_of(net)
    for _ in range(5):
        line.tx.send(b"x" * 1000)
    return line, observer


# ---- counts ----

def counted_once(result, n):
    for stage in SENT:
        check.counted(f"packets at {stage} ({result.brief()})", result.count(stage, "tcp", "egress"),
                      n)
    check.equal("rows of packets that were received", [r for r in result.document["stages"]
                                                       if r["direction"] == "ingress"], [])
    result.sound()


@undisturbed
def requests(net, family):
    """Each reply is one packet: sent once, seen once at every stage."""
    result, own = watch.around(net, family, "tcp", watch_options=EGRESS, pattern="exchange",
                               count=N)
    check.equal("messages that the reader got", own["received"], N)
    counted_once(result, N)
    check.must_fail("one packet less", counted_once, result, N - 1)
    check.equal("packets that went to their receiver", result.excluded("given-to-receiver"), N)
    check.equal("rows at sent", result.rows("sent", "tcp", "egress"), [])
    check.equal("origins", [sent(result, s)["origin"] for s in SENT],
                ["send", "departure", "departure", "departure"])


def datagrams(net, family):
    """UDP has no departure time: not measured, and counted as that."""
    result, own = watch.around(net, family, "udp", watch_options=EGRESS, pattern="exchange",
                               count=N // 10)
    check.equal("datagrams that the reader got", own["received"], N // 10)
    check.equal("rows", result.document["stages"], [])
    check.equal("datagrams", result.excluded("no-departure", protocol="udp"), N // 10)


@undisturbed
def one_process(net, family):
    """--pid: what the other end of the same connection sends is not counted."""
    traffic = Traffic(net, family, "tcp", pattern="exchange", count=N // 10)
    both = watch.Watch(*EGRESS, "--netns", net.reader)
    one = watch.Watch(*EGRESS, "--pid", traffic.reader_pid)
    traffic.finish()
    result = one.stop()
    check.counted(f"packets of the process ({result.brief()})",
                  result.count("qdisc", "tcp", "egress"), N // 10)
    check.counted("packets of the process at segment", result.count("segment", "tcp", "egress"),
                  N // 10)
    ends = 2 if net.reader == net.sender else 1
    check.counted("packets of both ends", both.stop().count("qdisc", "tcp", "egress"),
                  ends * N // 10)


@undisturbed
def among_many(net):
    """--pid with the receive side: a place in the table of sockets is not the next socket's owner."""
    traffic = [Traffic(net, 4, "tcp", pattern="exchange", count=10) for _ in range(10)]
    one = watch.Watch("--stages", "all", "--pid", os.getpid())
    lines = [Line(net) for _ in range(1000)]
    for line in lines:
        line.tx.send(b"x")
        line.drain(1)
    for line in lines:
        line.close()
    for other in traffic:
        other.finish()
    result = one.stop()
    check.counted(f"packets of this process ({result.brief()})",
                  result.count("qdisc", "tcp", "egress"), len(lines))


def raw_packets(net):
    """TCP packets from a raw socket have no departure and are not counted as TCP's."""
    with netns.inside(net.sender):
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
    observer = sender_of(net)
    for _ in range(5):
        raw.sendto(b"\0" * 20, (net.address(4), 0))
    result = observer.stop()
    raw.close()
    check.equal("rows", result.document["stages"], [])
    result.sound()


@undisturbed
def used_again(net):
    """A socket's second connection doesn't acknowledge what was left of the first."""
    line, observer = stuck(net)
    disconnect(line.tx)
    no_queue(net)
    time.sleep(0.5)
    with netns.inside(net.reader):
        listener = socket.socket()
    listener.bind((net.address(4), 0))
    listener.listen(1)
    line.tx.connect(listener.getsockname())
    rx, _ = listener.accept()
    line.tx.send(b"x")
    check.equal("what came", rx.recv(10), b"x")
    result = observer.stop()
    rx.close()
    listener.close()
    line.close()
    acked = sent(result, "acked")
    check.between(f"longest time to acked ({result.brief()})", acked["max_ns"], 0, 400 * MS)
    check.counted(f"packets acknowledged, and lost ({result.brief()})",
                  acked["count"] + result.lost("not-established", stage="acked"),
                  result.count("qdisc", "tcp", "egress"))


# ---- where the time goes ----

RATE = 125_000   # bytes per second: 1 mbit/s
BURST = 3000
WIRE = 1000 + 14 + 20 + 32
LINES = 8
ROUNDS = 5


def queueing_ns(times):
    """Returns the queueing ns of packets at these times in a token bucket that is full at first."""
    tokens, at, waited = BURST, times[0] / 1e9, 0.0
    for given in (ns / 1e9 for ns in times):
        begin = max(given, at)
        tokens = min(BURST, tokens + (begin - at) * RATE)
        at = begin + max(0.0, WIRE - tokens) / RATE
        tokens = max(0.0, tokens - WIRE)
        waited += at - given
    return waited * 1e9


@undisturbed
def token_bucket(net):
    """The time in the queueing discipline is the step to `driver`, and in no other."""
    lines = [Line(net) for _ in range(LINES)]
    tbf(net, "1mbit", BURST, 100_000)
    observer, expected = sender_of(net), 0
    for _ in range(ROUNDS):
        times = []
        for line in lines:
            times.append(time.monotonic_ns())
            line.tx.send(b"x" * 1000)
        expected += queueing_ns(times)
        for line in lines:
            line.drain(1000)
        time.sleep(0.1)
    result = observer.stop()
    for line in lines:
        line.close()
    no_queue(net)
    counted_once(result, LINES * ROUNDS)
    step = sent(result, "driver")["step"]["sum_ns"]
    check.between("queueing time", step, 0.8 * expected, 1.2 * expected)
    check.must_fail("half the time", check.between, "", step / 2, 0.8 * expected, 1.2 * expected)
    for stage in "segment", "qdisc":
        check.between(f"time to {stage}", sent(result, stage)["sum_ns"], 0, 0.2 * expected)
    return f"{step / 1e6:.1f} ms of {expected / 1e6:.1f} ms computed"


BLOCKED_NS = 400 * MS


@undisturbed
def zero_window(net):
    """A sender that the receiver's window holds back: that is from `send` to `segment`."""
    line = Line(net, rcvbuf=4096)
    line.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    observer = sender_of(net)
    called = time.monotonic_ns()
    line.tx.send(b"x" * 30_000)
    time.sleep(0.02)
    line.tx.send(b"x" * 1000)
    time.sleep(BLOCKED_NS / 1e9)
    line.drain(31_000)
    waited = time.monotonic_ns() - called
    result = observer.stop()
    line.close()
    result.sound()
    check.between("longest time to segment", sent(result, "segment")["max_ns"], BLOCKED_NS, waited)
    for stage in "qdisc", "driver":
        check.between(f"longest time from the departure to {stage}",
                      sent(result, stage)["max_ns"], 0, BLOCKED_NS // 10)
    return f"{sent(result, 'segment')['max_ns'] / 1e6:.1f} ms, held for {waited / 1e6:.1f} ms"


@undisturbed
def never_blocked(net):
    """Control: with an open window nothing waits."""
    line = Line(net)
    observer = sender_of(net)
    for _ in range(100):
        line.tx.send(b"x" * 1000)
        line.drain(1000)
    result = observer.stop()
    line.close()
    counted_once(result, 100)
    check.between("p90 of time to segment", watch.quantile(sent(result, "segment"), 0.9)["ns"], 0,
                  BLOCKED_NS // 10)


# ---- drops, retransmissions, and what can't be measured ----

@undisturbed
def dropped(net):
    """A full queue: each drop, with the reason; what is sent again is no new byte of a call."""
    lines = [Line(net) for _ in range(LINES)]
    tbf(net, "1mbit", 1600, 3500)
    observer = sender_of(net)
    for line in lines:
        line.tx.send(b"x" * 1000)
    for line in lines:
        line.drain(1000)
    result = observer.stop()
    qdiscs = json.loads(tc(net.sender, "-s", "-j", "qdisc", "show", "dev", "sender0"))
    for line in lines:
        line.close()
    no_queue(net)
    drops = sum(q.get("drops", 0) for q in qdiscs if q["kind"] == "tbf")
    check.between("drops by the qdisc's own count", drops, 1, 1000)
    check.counted(f"drops ({result.brief()})", result.dropped(stage="driver"), drops)
    queued, given = (result.count(s, "tcp", "egress") for s in ("qdisc", "driver"))
    check.counted("packets given on or dropped", given + drops, queued)
    check.counted("packets with new bytes", result.count("segment", "tcp", "egress"), LINES)
    check.counted("packets acknowledged", result.count("acked", "tcp", "egress"), LINES)
    return f"{drops} of {queued}"


@undisturbed
def split(net):
    """Behind the queue, large packets become small ones: each has a latency, and no step."""
    line = Line(net)
    tbf(net, "500mbit", 20_000, 10_000_000)
    observer = sender_of(net)
    line.tx.settimeout(120)
    for _ in range(5):
        line.tx.sendall(b"x" * 200_000)
        line.drain(200_000)
    result = observer.stop()
    line.close()
    no_queue(net)
    pieces = result.excluded("split", stage="driver")
    check.between("pieces", pieces, 5, 10_000)
    driver = sent(result, "driver")
    check.equal("packets at driver with a step", driver["step"]["count"], driver["count"] - pieces)
    parents = result.excluded("split-parent")
    check.counted(f"packets queued ({result.brief()})", result.count("qdisc", "tcp", "egress"),
                  driver["step"]["count"] + parents)
    # An acknowledgement may come while the program is at another one's, in a call: that is told.
    check.equal("losses but for those", [x for x in result.document["losses"] if x["reason"] != "recursion"], [])
    check.true("acknowledgements are lost for that, and few", result.lost("recursion", stage="acked") <=
               result.count("acked", "tcp", "egress"))


def lost(result, stage, reason):
    check.between(f"{reason} at {stage} ({result.brief()})", result.lost(reason, stage=stage), 1,
                  1_000_000)
    check.equal("exit code", result.code, 3)


@undisturbed
def called_before(net, then):
    """Bytes of calls from before the start, whether or not another one follows: they are lost."""
    line = Line(net, rcvbuf=4096)
    line.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    line.tx.send(b"x" * 30_000)
    time.sleep(0.1)
    observer = sender_of(net)
    line.tx.send(b"x" * then)
    line.drain(30_000 + then)
    result = observer.stop()
    line.close()
    lost(result, "segment", "no-send-call")
    check.counted(f"packets at segment, and lost there ({result.brief()})",
                  result.count("segment", "tcp", "egress") + result.lost(stage="segment"),
                  result.count("qdisc", "tcp", "egress"))


def calls_in_vain(net):
    """A call that finds no room takes none of the places of those that do."""
    line = Line(net, rcvbuf=4096)
    line.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    line.tx.setblocking(False)
    observer = sender_of(net)
    put, vain = 0, 0
    while vain < 200:
        try:
            put += line.tx.send(b"x" * 1000)
        except BlockingIOError:
            vain += 1
    line.drain(put)
    result = observer.stop()
    line.close()
    result.sound()
    check.between("packets", result.count("segment", "tcp", "egress"), 1, 1000)


def many_calls(net):
    """More calls wait for the window than there is room for."""
    line = Line(net, rcvbuf=4096)
    line.tx.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    observer = sender_of(net)
    for _ in range(100):
        line.tx.send(b"x" * 1000)
    line.drain(100_000)
    result = observer.stop()
    line.close()
    lost(result, "segment", "fifo-full")


@undisturbed
def many_unacknowledged(net):
    """More packets are on their way than a connection's acknowledgements are kept for."""
    netns.ip("-n", net.sender, "route", "change", "10.77.0.0/24", "dev", "sender0", "initcwnd",
             "200")
    line = Line(net)
    tc(net.reader, "qdisc", "replace", "dev", "reader0", "root", "tbf", "rate", "8kbit",
       "burst", "1600", "limit", "100000")
    observer = sender_of(net)
    for _ in range(150):
        line.tx.send(b"x" * 10)
    line.drain(1500)
    result = observer.stop()
    line.close()
    tc(net.reader, "qdisc", "del", "dev", "reader0", "root")
    netns.ip("-n", net.sender, "route", "change", "10.77.0.0/24", "dev", "sender0")
    lost(result, "acked", "fifo-full")


@undisturbed
def many_packets(net):
    """More packets wait in the queue than the table of their steps holds."""
    lines = [Line(net) for _ in range(3000)]
    tbf(net, "20mbit", 3000, 10_000_000)
    observer = sender_of(net)
    for line in lines:
        line.tx.send(b"x" * 500)
    for line in lines:
        line.drain(500)
    result = observer.stop()
    for line in lines:
        line.close()
    no_queue(net)
    lost(result, "driver", "displaced")
    displaced = result.lost("displaced", stage="driver")
    check.counted("packets at driver, with and without a step", result.count("driver", "tcp", "egress"),
                  3000)
    check.counted("packets whose step is not known", result.excluded("split", stage="driver"),
                  displaced)
    return f"{displaced} of 3000"


@undisturbed
def ended(net):
    """The connection is reset: nobody will acknowledge what was sent last."""
    line, observer = stuck(net)
    line.tx.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
    line.tx.close()
    time.sleep(0.1)
    result = observer.stop()
    line.close()
    no_queue(net)
    lost(result, "acked", "not-established")


@undisturbed
def both_close(net):
    """The last packet's acknowledgement comes with the other end's FIN, after this end's own."""
    line = Line(net)
    for _ in range(20): # until acknowledgements are delayed
        line.tx.send(b"x")
        line.drain(1)
        line.rx.send(b"x")
        line.tx.recv(1)
    tc(net.reader, "qdisc", "replace", "dev", "reader0", "root", "tbf", "rate", "8kbit",
       "burst", "1540", "limit", "100000")
    observer = sender_of(net)
    line.rx.send(b"x" * 1448) # takes the tokens that the FIN needs
    line.tx.send(b"x")
    line.rx.shutdown(socket.SHUT_WR)
    line.tx.shutdown(socket.SHUT_WR)
    time.sleep(0.3)
    result = observer.stop()
    line.close()
    tc(net.reader, "qdisc", "del", "dev", "reader0", "root")
    counted_once(result, 1)


# ---- devices and queues that not every kernel has: Debian's do ----

@undisturbed
def tunnel(net):
    """In a tunnel's packet is another header: it is counted as the packet that went into the tunnel."""
    for namespace, device, host, other in ((net.reader, "reader0", 1, 2), (net.sender, "sender0", 2, 1)):
        netns.ip("-n", namespace, "link", "add", "vx0", "type", "vxlan", "id", "7", "remote",
                 f"10.77.0.{other}", "local", f"10.77.0.{host}", "dstport", "4789", "dev", device)
        netns.ip("-n", namespace, "addr", "add", f"10.80.0.{host}/24", "dev", "vx0")
        netns.ip("-n", namespace, "link", "set", "vx0", "up")
    line = Line(netns.Net("vxlan", net.reader, net.sender, "10.80.0.1", None))
    observer = sender_of(net)
    for _ in range(100):
        line.tx.send(b"x" * 100)
        line.drain(100)
    result = observer.stop()
    line.close()
    netns.ip("-n", net.sender, "link", "del", "vx0")
    counted_once(result, 100)
    check.between("seen again, encapsulated", result.excluded("encapsulated"), 100, 200)


@undisturbed
def completed(net):
    """A device that frees what it is given, as a card does when it is on the wire."""
    netns.ip("-n", net.sender, "link", "add", "dummy0", "type", "dummy")
    line = Line(net)
    netns.ip("-n", net.sender, "link", "set", "dummy0", "up")
    netns.ip("-n", net.sender, "route", "add", net.address(4), "dev", "dummy0")
    observer = sender_of(net)
    for _ in range(20):
        line.tx.send(b"x" * 1000)
        time.sleep(0.01)
    result = observer.stop()
    netns.ip("-n", net.sender, "link", "del", "dummy0")
    line.close()
    driver, done = (sent(result, stage) for stage in ("driver", "sent"))
    check.between("packets at driver", driver["count"], 10, 1000)
    check.equal(f"packets at sent ({result.brief()})", done["count"], driver["count"])
    check.equal("steps to sent", done["step"]["count"], driver["count"])
    check.equal("packets that went to a receiver", result.excluded("given-to-receiver"), 0)
    check.between("time to sent", done["sum_ns"], driver["sum_ns"], driver["sum_ns"] + 100 * MS)


@undisturbed
def stacked(net):
    """A packet passes two devices: it is measured once, at the one on top or at the one asked for."""
    above = netns.vlan(net)
    line = Line(above)
    both = sender_of(net)
    lower = watch.Watch(*EGRESS, "--netns", net.sender, "--ifname", "sender0")
    for _ in range(100):
        line.tx.send(b"x" * 100)
        line.drain(100)
    both, lower = both.stop(), lower.stop()
    line.close()
    netns.ip("-n", net.sender, "link", "del", "vlan5")
    counted_once(both, 100)
    counted_once(lower, 100)
    check.equal("seen again below", both.excluded("stacked-device"), 100)
    check.equal("seen again below, of the device below", lower.excluded("stacked-device"), 0)


PACED_BYTES, PACED_RATE = 200_000, 1_000_000


@undisturbed
def paced(net):
    """fq's deliberate delay is pacing, not a latency; packets that nothing delays are measured."""
    tc(net.sender, "qdisc", "replace", "dev", "sender0", "root", "fq")
    line = Line(net)
    line.tx.setsockopt(socket.SOL_SOCKET, 47, PACED_RATE) # SO_MAX_PACING_RATE
    held_ns = PACED_BYTES / PACED_RATE * 1e9
    observer = sender_of(net)
    line.tx.sendall(b"x" * PACED_BYTES)
    line.drain(PACED_BYTES)
    result = observer.stop()
    tc(net.sender, "qdisc", "replace", "dev", "sender0", "root", "pfifo")
    observer = sender_of(net)
    line.tx.sendall(b"x" * PACED_BYTES)
    line.drain(PACED_BYTES)
    ignored = observer.stop()
    line.close()
    no_queue(net)
    driver, pacing = sent(result, "driver"), sent(result, "qdisc")["pacing"]
    check.between("paced packets", result.excluded("paced"), 5, 10_000)
    check.equal("in the distribution", pacing["count"], result.excluded("paced"))
    check.between("longest time before the departure", pacing["max_ns"], MS, held_ns)
    check.between(f"time from the departures to driver ({result.brief()})", driver["sum_ns"], 0,
                  held_ns)
    check.between("of it, in the queue", driver["step"]["sum_ns"], 0, held_ns)
    check.equal("not held", result.excluded("pacing-ignored"), 0)
    check.between("not held by pfifo", ignored.excluded("pacing-ignored"), 1, 10_000)
    return f"{pacing['sum_ns'] / 1e6:.0f} ms of pacing, {driver['step']['sum_ns'] / 1e6:.1f} ms queued"


FOR_EVERY_KERNEL = (token_bucket, zero_window, never_blocked, dropped, split,
                    calls_in_vain, many_calls, used_again, raw_packets)


def cases():
    nets = netns.every()
    net = nets[2][0]
    for where in nets:
        yield requests, *where
    yield datagrams, *nets[0]
    yield one_process, *nets[0]
    yield one_process, *nets[2]
    yield among_many, net
    for case in FOR_EVERY_KERNEL:
        yield case, net
    yield called_before, net, 0
    yield called_before, net, 1000
    for case in (many_unacknowledged, many_packets, ended, both_close):
        yield case, net


def guest_cases():
    """Debian's kernels have other hooks, and queues and devices that this one may lack."""
    net = netns.veth()
    yield requests, net, 4
    yield one_process, net, 6
    of_hooks = FOR_EVERY_KERNEL if check.LONG else (dropped, split, used_again)
    for case in (*of_hooks, completed, stacked, tunnel, paced):
        yield case, net


check.run(guest_cases() if sys.argv[1:] == ["guest"] else cases())
