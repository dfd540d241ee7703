# SPDX-License-Identifier: Apache-2.0
"""Proves that packets whose receive queue TCP collapses are still counted once and keep their age,
though TCP makes new buffers for them, without stamps. Control: without a collapse, and with
exchanged ages."""
import os
import socket
import time

from lib import check, netns, watch

DISTURBED = ("it compares a measured time with the time that the test itself took, and "
             "other threads can have the CPU in between")

N = 1500
FIRST = 500             # bytes of the first of two reads
APART_S = 0.05
SLACK_NS = 3_000_000    # ns by which the test's own stamps are off: before send() and after recv()


def counter(net, name):
    """Returns a counter of the kernel's own TCP statistics."""
    with netns.inside(net.reader), open("/proc/thread-self/net/netstat", encoding="ascii") as f:
        lines = [line.split() for line in f if line.startswith("TcpExt:")]
    return int(dict(zip(*lines))[name])


def connected(net, rcvbuf):
    """Returns a connection whose reader acknowledges at once, so that no two sends become one
    packet."""
    netns.ip("-n", net.reader, "route", "replace", "local", "127.0.0.1", "dev", "lo", "table",
             "local", "proto", "kernel", "scope", "host", "src", "127.0.0.1", "quickack", "1")
    with netns.inside(net.reader), socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sender = socket.create_connection(listener.getsockname())
        reader = listener.accept()[0]
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sender, reader


def whole(reader, n):
    got = b""
    while len(got) < n:
        more = reader.recv(n - len(got))
        check.true("the connection is there", more)
        got += more
    return got


def two_reads(net, rcvbuf):
    """One byte in a packet, N times, and then two reads; the result and their ages by own stamps."""
    sender, reader = connected(net, rcvbuf)
    before = counter(net, "TCPRcvCollapsed")
    observer = watch.Watch("--netns", net.reader, "--port", reader.getsockname()[1])
    sent, ages = [], []
    for i in range(N):
        sent.append(time.monotonic_ns())
        sender.send(bytes([i & 255]))
    time.sleep(APART_S)
    collapsed = counter(net, "TCPRcvCollapsed") - before
    for at, n in ((0, FIRST), (FIRST, N - FIRST)):
        got = whole(reader, n)
        ages.append(time.monotonic_ns() - sent[at])
        check.equal("bytes", got, bytes(i & 255 for i in range(at, at + n)))
        time.sleep(3 * APART_S)
    return observer.stop(), ages, collapsed


def right(result, ages, packets):
    check.counted(f"packets at enqueued ({result.brief()})", result.count("enqueued", "tcp"), packets)
    row = result.row("read", "tcp")
    check.equal(f"packets at read ({result.brief()})", row["count"], packets)
    # the second read came later, so that the oldest of all is in it
    for name, own, seen in (("first", ages[0], row["min_ns"]), ("second", ages[1], row["max_ns"])):
        check.between(f"age of the oldest byte of the {name} read", seen, own - SLACK_NS, own)
    check.between("sum of the ages", row["sum_ns"],
                  FIRST * (ages[0] - SLACK_NS) + (packets - FIRST) * (ages[1] - SLACK_NS),
                  FIRST * ages[0] + (packets - FIRST) * ages[1])


@check.environment(DISTURBED)
def collapsed(net):
    result, ages, packets = two_reads(net, 4096)
    check.between("merged packets that TCP collapsed", packets, 10, N)
    right(result, ages, N)
    check.must_fail("the ages exchanged", right, result, ages[::-1], N)
    check.must_fail("a packet less", right, result, ages, N - 1)
    result.sound()
    return f"{packets} merged packets collapsed"


@check.environment(DISTURBED)
def not_collapsed(net):
    """Control."""
    result, ages, packets = two_reads(net, 1 << 20)
    check.equal("merged packets that TCP collapsed", packets, 0)
    right(result, ages, N)
    result.sound()


if os.geteuid() != 0:
    check.skip("needs root")
check.run((case, netns.loopback()) for case in (collapsed, not_collapsed))
