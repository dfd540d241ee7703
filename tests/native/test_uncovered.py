# SPDX-License-Identifier: Apache-2.0
"""Proves that packets that no stage covers are counted: for this host and neither TCP nor UDP, or
only passing through it. Control: one packet more must fail."""
import socket
import struct
import subprocess
import time

from lib import check, netns, watch

ICMP, IGMP, GRE, ESP, ICMPV6, SCTP, UNKNOWN = 1, 2, 47, 50, 58, 132, 253
UDP, FRAGMENT, OPTIONS = 17, 44, 60


def found(result):
    return {(u["protocol"], u["way"]): u["count"] for u in result.document["uncovered"]}


def raw(net, protocol, family=4):
    with netns.inside(net.sender):
        return socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_RAW, protocol)


def send(net, protocol, n, family=4, payload=b"\0" * 32):
    with raw(net, protocol, family) as sock:
        for _ in range(n):
            sock.sendto(payload, (net.address(family), 0))
    time.sleep(0.1)


def watch_of_reader(net):
    """Returns a watch of the reader's namespace alone: the reader's answers would be counted in the
    sender's."""
    return watch.Watch("--netns", net.reader)


def echo():
    """Requests of ping: type 8, its checksum."""
    head = struct.pack("!BBHHH", 8, 0, 0, 7, 1)
    total = sum(struct.unpack("!4H", head))
    total = (total >> 16) + (total & 0xffff)
    return struct.pack("!BBHHH", 8, 0, ~total & 0xffff, 7, 1)


def each_protocol(net, family):
    """Each counted under its own name, and nothing under another's."""
    sends = {"gre": (GRE, 5), "esp": (ESP, 7), "sctp": (SCTP, 11), "ip-253": (UNKNOWN, 13)}
    send(net, UNKNOWN, 1, family) # neighbours know each other
    time.sleep(0.3)
    observer = watch_of_reader(net)
    for protocol, n in sends.values():
        send(net, protocol, n, family)
    if family == 4:
        send(net, ICMP, 17, payload=echo())
    result = observer.stop()
    got = found(result)
    expected = {(name, "local"): n for name, (_, n) in sends.items()}
    if family == 4:
        expected["icmp", "local"] = 17
    got.pop(("icmpv6", "local"), None) # neighbours are looked for
    check.equal("counted", got, expected)
    check.must_fail("one more", check.equal, "", got, {**expected, ("gre", "local"): 6})
    check.equal("why not", result.document["uncovered_why"], None)
    check.equal("a sentence", sum("no stage measures" in s for s in result.document["findings"]), 1)
    result.sound()


def behind_headers(net):
    """IPv6: what counts is behind the extension headers; UDP is UDP there, too."""
    observer = watch_of_reader(net)
    with netns.inside(net.reader):
        rx = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    rx.bind((net.address(6), 0))
    port = rx.getsockname()[1]
    udp = struct.pack("!HHHH", 9, port, 8, 0)
    for _ in range(3):
        send(net, OPTIONS, 1, 6, bytes([GRE, 0, 1, 4, 0, 0, 0, 0]) + b"\0" * 8)
        send(net, OPTIONS, 1, 6, bytes([UDP, 0, 1, 4, 0, 0, 0, 0]) + udp)
    result = observer.stop()
    rx.close()
    got = found(result)
    check.equal("gre", got.get(("gre", "local")), 3)
    check.equal("others", [k for k in got if k[0] not in ("gre", "icmpv6")], [])


def control(net):
    """TCP and UDP are covered: an empty list, and not null."""
    pause = 0.3
    time.sleep(pause)
    result, _ = watch.around(net, 4, "tcp", watch_options=[], count=100)
    check.equal("by port, it isn't counted", result.document["uncovered"], None)
    check.true("and says so", "socket" in result.document["uncovered_why"])
    observer = watch_of_reader(net)
    with netns.inside(net.reader):
        rx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    rx.bind((net.address(4), 0))
    with netns.inside(net.sender):
        tx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(50):
        tx.sendto(b"x", rx.getsockname())
        rx.recv(10)
    result = observer.stop()
    rx.close()
    tx.close()
    check.counted("datagrams", result.count("read", "udp"), 50)
    check.equal("uncovered", {k: v for k, v in found(result).items() if k[0] != "icmpv6"}, {})


def passing_through():
    """A namespace that forwards: by protocol, TCP and UDP as well, and none of it is for this host."""
    star = netns.Star(2)
    path = "/proc/sys/net/ipv4/ip_forward"
    subprocess.run(["ip", "netns", "exec", star.middle, "sh", "-c", f"echo 1 > {path}"], check=True)
    there = "10.78.1.2"
    observer = watch.Watch("--netns", star.middle)
    with netns.inside(star.points[0]):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        gre = socket.socket(socket.AF_INET, socket.SOCK_RAW, GRE)
    with netns.inside(star.points[1]):
        rx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink = socket.socket(socket.AF_INET, socket.SOCK_RAW, GRE)
    rx.bind((there, 0))
    rx.settimeout(5)
    for _ in range(20):
        udp.sendto(b"x", rx.getsockname())
        rx.recv(10)
    for _ in range(5):
        gre.sendto(b"\0" * 20, (there, 0))
        sink.recv(100)
    result = observer.stop()
    for sock in (udp, gre, rx, sink):
        sock.close()
    got = {k: v for k, v in found(result).items() if k[1] == "forwarded"}
    check.equal(f"forwarded ({found(result)})", {k: v for k, v in got.items() if k[0] in ("udp", "gre")},
                {("udp", "forwarded"): 20, ("gre", "forwarded"): 5})
    check.equal("for this host", [k for k in found(result) if k[1] == "local" and k[0] in ("udp", "gre")], [])


def by_interface(net):
    """--ifname: what came by another one is not counted."""
    there = watch.Watch("--netns", net.reader, "--ifname", "reader0")
    elsewhere = watch.Watch("--netns", net.reader, "--ifname", "lo")
    send(net, GRE, 9)
    there, elsewhere = there.stop(), elsewhere.stop()
    check.equal("by this one", found(there).get(("gre", "local")), 9)
    check.equal("by another", found(elsewhere).get(("gre", "local")), None)


def not_counted(net):
    """Where nobody counts it is null, and says why."""
    for options in (["--stages", "egress"], ["--pid", 1], ["--min-queue", 1]):
        observer = watch.Watch("--netns", net.reader, *options)
        send(net, GRE, 3)
        document = observer.stop().document
        check.equal(f"with {options}", document["uncovered"], None)
        check.true("a reason", document["uncovered_why"])


def cases():
    net = netns.veth()
    for family in 4, 6:
        yield each_protocol, net, family
    for case in behind_headers, control, by_interface, not_counted:
        yield case, net
    yield (passing_through,)


check.run(cases())
