# SPDX-License-Identifier: Apache-2.0
"""Proves that datagrams that the kernel makes of one packet, segments and copies, have that
packet's times. Where a copy is recognized by an older packet at its address, it is lost, not
measured with the older packet's times. Controls: one packet per send, and one copy less, must
fail."""
import contextlib
import os
import socket
import struct
import threading
import time

from lib import check, netns, watch
from lib.traffic import Traffic

N = 200
SIZE, SEGMENTS = 100, 10
SOCKETS = 3
GROUP = "239.255.77.77"
UDP_SEGMENT = 103
ORIGINS = "auto", "link"


def udp_socket(stack):
    return stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))


def read_all(reader, n, limit_s=10):
    reader.settimeout(limit_s)
    for _ in range(n):
        check.equal("bytes of a datagram", len(reader.recv(1 << 16)), SIZE)


def whole(result, n):
    for stage in ("transport", "enqueued", "read"):
        check.counted(f"datagrams at {stage} ({result.brief()})", result.count(stage, "udp"), n)
    result.sound()


def ordered(result):
    """The times are of one packet: no datagram was queued before it came."""
    for before, stage in (("transport", "enqueued"), ("enqueued", "read")):
        early, late = result.rows(before, "udp"), result.rows(stage, "udp")
        check.true(f"{stage} is not before {before}",
                   sum(r["sum_ns"] for r in late) >= sum(r["sum_ns"] for r in early))


def segments(origin, while_sent):
    """A large send is one packet as far as the socket that takes none so large."""
    with contextlib.ExitStack() as stack:
        reader, sender = udp_socket(stack), udp_socket(stack)
        reader.bind(("127.0.0.1", 0))
        reader.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)     # SO_RCVBUFFORCE
        try:
            sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
        except OSError as e:
            check.skip(f"no UDP_SEGMENT here: {e}")
        observer = watch.Watch(*watch.HERE, "--port", reader.getsockname()[1], "--origin", origin)
        thread = threading.Thread(daemon=True, target=read_all, args=(reader, N * SEGMENTS))
        if while_sent:
            thread.start()
        for _ in range(N):
            sender.sendto(bytes(SIZE * SEGMENTS), reader.getsockname())
            if not while_sent:
                read_all(reader, SEGMENTS)
            time.sleep(0.0005)
        if while_sent:
            thread.join()
        result = observer.stop()
    whole(result, N * SEGMENTS)
    ordered(result)
    check.must_fail("one packet per send", whole, result, N)


def copies(origin):
    """Each socket of a group gets one."""
    with contextlib.ExitStack() as stack:
        readers, port = [], 0
        for _ in range(SOCKETS):
            reader = udp_socket(stack)
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reader.bind((GROUP, port))
            port = reader.getsockname()[1]
            reader.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                              socket.inet_aton(GROUP) + socket.inet_aton("127.0.0.1"))
            readers.append(reader)
        sender = udp_socket(stack)
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, struct.pack("b", 0))
        observer = watch.Watch(*watch.HERE, "--port", port, "--origin", origin)
        for _ in range(N):
            sender.sendto(bytes(SIZE), (GROUP, port))
            for reader in readers:
                read_all(reader, 1)
        result = observer.stop()
    whole(result, N * SOCKETS)
    ordered(result)
    check.must_fail("one copy less", whole, result, N * (SOCKETS - 1))


# An older packet that is not older than this can't always be told from a copy.
MISTAKEN_NS = 1_000_000
ETH_P = {4: 0x0800, 6: 0x86dd}
DEVICE = {"loopback": "lo", "veth": "reader0"}


def beside_packet_socket(net, family, protocol, there, *options):
    """It reads one protocol of one device: the kernel goes on with a copy, at another address."""
    traffic = Traffic(net, family, protocol, pattern="exchange", count=N)
    with contextlib.ExitStack() as stack:
        if there:
            with netns.inside(net.reader):
                it = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM,
                                                       socket.htons(ETH_P[family])))
                it.bind((DEVICE[net.kind], ETH_P[family]))
        observer = watch.Watch(*traffic.filter, *options)
        own = traffic.finish()
        result = observer.stop()
    stage = "socket" if protocol == "tcp" else "enqueued"
    if options:     # a packet without an entry is not called uncovered: its namespace is
        check.equal("not covered", result.lost("netns-not-covered"), 0)
        stage = "ip"
    lost = result.lost("no-link-stamp", stage=stage)
    check.counted(f"measured and lost ({result.brief()})", result.count(stage, protocol) + lost, N)
    check.between("lost", lost, there, N if there else 0)
    longest = max((r["max_ns"] for r in result.rows(stage, protocol)), default=0)
    check.between("longest time", longest, 0, own["latency"]["max_ns"] + there * MISTAKEN_NS)


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(segments, origin, late) for origin in ORIGINS for late in (False, True)] +
          [(copies, origin) for origin in ORIGINS] +
          [(beside_packet_socket, *where, protocol, there) for where in netns.two()
           for protocol in ("tcp", "udp") for there in (True, False)] +
          [(beside_packet_socket, *where, "tcp", True, "--stages", "all")
           for where in netns.two()])
