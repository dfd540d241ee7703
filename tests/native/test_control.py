# SPDX-License-Identifier: Apache-2.0
"""Proves that the independent count of packets agrees with the kernel's, and that only packets that
it misses are excused. Controls: one packet less and one packet more must fail."""
import os
import socket

from lib import check, control, netns

N = 100


def datagrams(net, family, n):
    """From a socket to itself: each one is one received packet."""
    with netns.inside(net.reader):
        s = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((net.address(family), 0))
    with s:
        for _ in range(n):
            s.sendto(b"x", s.getsockname())
            s.recv(10)


def agrees(net, family):
    datagrams(net, family, N)
    check.between("the kernel's own count", control.received(net.reader, netns.inside), N, 100 * N)
    check.equal("missed by the control", check.unseen(), 0)
    check.must_fail("one packet less", check.counted, "packets", N - 1, N)
    check.must_fail("one packet more", check.counted, "packets", N + 1, N)


def misses(net):
    """Packets of a namespace that the control is told of when they are gone."""
    late = control.Control()
    late.start()
    datagrams(net, 4, 3)
    late.add(net.reader, netns.inside)
    before = late.missed()
    late.process.stdin.close()
    late.process.wait()
    late.process = None
    check.equal("those before it was started", before, control.received(net.reader, netns.inside) - 3)


def excuses(net):
    """Packets that the control missed are excused, and no packet more."""
    seen, control.counts = control.counts, Missing(3)
    try:
        check.counted("three packets less", N - 3, N)
        check.must_fail("four packets less", check.counted, "", N - 4, N)
        check.must_fail("one packet more", check.counted, "", N + 1, N)
    finally:
        control.counts = seen


class Missing:
    """A control that has missed so many packets in this case."""

    def __init__(self, n):
        self.n = n

    def missed(self):
        return self.n + check.missed_before()


if os.geteuid() != 0:
    check.skip("needs root")
lo = netns.loopback()
check.run([(agrees, lo, 4), (agrees, lo, 6), (misses, lo), (excuses, lo)])
