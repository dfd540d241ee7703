# SPDX-License-Identifier: Apache-2.0
"""Proves that a drop is counted whatever the number of its reason: test_martian.py [REASON]

Datagrams with the reader's own address as their source are dropped by the routing code. Before 6.2
that drop has the reason NOT_SPECIFIED, whose number is no drop's (SKB_CONSUMED) on newer kernels.
"""
import os
import socket
import struct
import sys
import time

from lib import check, netns, watch

N = 100


def packet(source, target, port):
    """A UDP datagram without a checksum; a raw socket fills in the rest of the IP header."""
    payload = struct.pack("!HHHH", 1234, port, 16, 0) + b"hostlat."
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0, 64, 17, 0,
                       socket.inet_aton(source), socket.inet_aton(target)) + payload


def martian(net, reason=None):
    target = net.address(4)
    with netns.inside(net.reader), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.bind((target, 0))
        port = reader.getsockname()[1]
        observers = [watch.Watch("--port", n, "--netns", net.reader) for n in (port, port ^ 1)]
        with netns.inside(net.sender), \
                socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"sender0")
            for _ in range(N):
                raw.sendto(packet(target, target, port), (target, 0))
            time.sleep(0.5) # the first ones wait for the neighbor's address
        result, other = [observer.stop() for observer in observers]
    check.equal(f"drops ({result.brief()})", result.dropped(reason), N)
    check.equal("drops of another port", other.dropped(), 0)
    return ", ".join(sorted({d["reason"] for d in result.document["drops"]}))


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(martian, netns.veth(), *sys.argv[1:])])
