# SPDX-License-Identifier: Apache-2.0
"""Proves that --min-queue counts only packets that find so many others unread. A reader sleeps
while datagrams or segments come one by one, so that the queue that each finds is known. Control:
with packets that are read one by one, none finds another."""
import os
import socket
import subprocess
import time

from lib import check, netns, watch

ROUNDS, BURST = 20, 10
STAGES = "--stages", "link,transport,socket,enqueued,runnable,running,read"


class Pair:
    """A reader and a sender over the loopback of a namespace, each of whose sends is one packet."""

    def __init__(self, net, protocol, family=4):
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET
        self.protocol = protocol
        with netns.inside(net.reader):
            reader = socket.socket(kind, socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM)
            reader.bind((net.address(family), 0))
        with netns.inside(net.sender):
            self.tx = socket.socket(kind, reader.type)
        if protocol == "tcp":
            reader.listen(1)
            self.tx.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.tx.connect(reader.getsockname()[:2])
            self.rx, _ = reader.accept()
            reader.close()
        else:
            self.rx = reader
            self.tx.connect(reader.getsockname()[:2])
        self.filter = "--netns", net.reader, "--port", self.rx.getsockname()[1]
        self.rx.settimeout(10)

    def send(self, n, apart_s=0.001):
        for _ in range(n):
            self.tx.send(b"x" * 10)
            time.sleep(apart_s)

    def read(self, n):
        """Packet by packet."""
        for _ in range(n):
            left = 10
            while left:
                data = self.rx.recv(left)
                check.true("the other end is gone", data)
                left -= len(data)

    def close(self):
        self.tx.close()
        self.rx.close()


def select(pair, least):
    observer = watch.Watch(*pair.filter, *STAGES, *(["--min-queue", least] if least is not None else []))
    for _ in range(ROUNDS):
        pair.send(BURST)
        pair.read(BURST)
    return observer.stop()


def counted(result, protocol, n):
    stages = "link", "transport", "enqueued", "read"
    for stage in (*stages, "socket") if protocol == "tcp" else stages:
        check.counted(f"packets at {stage} ({result.brief()})", result.count(stage, protocol), n)
    check.counted("packets whose reader was woken, or was running",
                  result.count("runnable", protocol) + result.excluded("reader-already-running"), n)


def sleeping_reader(net, family, protocol, least):
    """A burst of ten finds queues of 0, 1, 2 and so on while the reader sleeps."""
    pair = Pair(net, protocol, family)
    result = select(pair, least)
    pair.close()
    n = ROUNDS * max(0, BURST - (least or 0))
    counted(result, protocol, n)
    check.must_fail("one more", counted, result, protocol, n + 1)
    check.equal("left out", result.excluded("short-queue", stage="enqueued", protocol=protocol),
                ROUNDS * BURST - n)
    result.sound()


def awake_reader(net, protocol):
    """Control: where each packet is read before the next one comes, none finds another."""
    pair = Pair(net, protocol)
    observer = watch.Watch(*pair.filter, "--min-queue", 1)
    for _ in range(100):
        pair.send(1)
        pair.read(1)
    result = observer.stop()
    pair.close()
    check.equal(f"rows ({result.brief()})", [r for r in result.document["stages"] if r["count"]], [])
    check.equal("left out", result.excluded("short-queue"), 100)
    result.sound()


def by_process(net, protocol):
    """With --pid: of another process's packets, none is counted, not even as left out."""
    pair = Pair(net, protocol)
    mine = watch.Watch("--pid", os.getpid(), "--min-queue", 4)
    other = watch.Watch("--pid", 1, "--min-queue", 4)
    for _ in range(ROUNDS):
        pair.send(BURST)
        pair.read(BURST)
    mine, other = mine.stop(), other.stop()
    pair.close()
    check.counted(f"packets at read ({mine.brief()})", mine.count("read", protocol), ROUNDS * (BURST - 4))
    check.equal("of another process", [r for r in other.document["stages"] if r["count"]], [])
    check.equal("left out, of another process", other.excluded("short-queue"), 0)


def unread_before(net, protocol):
    """Datagrams queued before the start are known by number; TCP's queued bytes are not packets."""
    pair = Pair(net, protocol)
    pair.send(5)
    observer = watch.Watch(*pair.filter, *STAGES, "--min-queue", 6)
    pair.send(3) # finding 5, 6 and 7
    pair.read(8)
    pair.send(BURST)
    pair.read(BURST)
    result = observer.stop()
    pair.close()
    known = 2 if protocol == "udp" else 0
    check.counted(f"packets at enqueued ({result.brief()})", result.count("enqueued", protocol), known + 4)
    check.equal("packets that can't be judged", result.lost("queue-unknown"), 0 if protocol == "udp" else 3)
    check.equal("left out", result.excluded("short-queue"), 7 if protocol == "udp" else 6)
    check.equal("exit code", result.code, 0 if protocol == "udp" else 3)


def far_behind(net):
    """More than the FIFO's own ring: it borrows another."""
    pair = Pair(net, "tcp")
    observer = watch.Watch(*pair.filter, "--min-queue", 190)
    pair.send(200, 0.006) # fewer than the first window until they are acknowledged: TCP doesn't merge them
    pair.read(200)
    result = observer.stop()
    pair.close()
    check.counted(f"packets at enqueued ({result.brief()})", result.count("enqueued", "tcp"), 10)
    check.counted("at read", result.count("read", "tcp"), 10)
    check.equal("left out", result.excluded("short-queue"), 190)


def several_at_once(net):
    """A read of many packets: those of the filter are counted, with the age of the oldest of them."""
    pair = Pair(net, "tcp")
    observer = watch.Watch(*pair.filter, "--min-queue", 1)
    pair.send(1)
    time.sleep(0.2)
    pair.send(4)
    pair.rx.recv(1000)
    result = observer.stop()
    pair.close()
    row = result.row("read", "tcp")
    check.equal("packets at read", row["count"], 4)
    check.between("the oldest's age", row["max_ns"], 1, 150_000_000)


def refused():
    """Rows of packets that are not the same ones."""
    for options in (["--stages", "egress"], ["--stages", "all"], ["--probe", "ip_rcv"], ["--stages", "link"],
                    ["--sample", "1/4"]):
        done = subprocess.run([watch.HOSTLAT, "watch", "--min-queue", "1", *options], capture_output=True,
                              text=True, timeout=120, check=False)
        check.equal(f"exit code with {options}", done.returncode, 1)
        check.true(f"it says so: {done.stderr}", "--min-queue" in done.stderr)


def cases():
    net = netns.loopback()
    for protocol in "tcp", "udp":
        for least in None, 0, 1, 5, 9, 10:
            yield sleeping_reader, net, 4, protocol, least
        yield sleeping_reader, net, 6, protocol, 3
        yield sleeping_reader, netns.veth(), 4, protocol, 3
        yield awake_reader, net, protocol
        yield by_process, net, protocol
        yield unread_before, net, protocol
    yield far_behind, net
    yield several_at_once, net
    yield (refused,)


check.run(cases())
