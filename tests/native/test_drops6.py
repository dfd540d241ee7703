# SPDX-License-Identifier: Apache-2.0
"""Proves that datagrams that are dropped behind IPv6 extension headers are counted with their
reason and port."""
import os
import socket
import struct

from lib import check, netns, watch

N = 200
HOP, ROUTING, FRAGMENT, AUTHENTICATION, OPTIONS, UDP = 0, 43, 44, 51, 60, 17
PADDING = bytes([1, 4, 0, 0, 0, 0])     # PadN: fills the eight bytes of a header


def header(kind, after):
    if kind == FRAGMENT:
        return struct.pack("!BBHI", after, 0, 0, 1)     # an atomic fragment
    return bytes([after, 0]) + PADDING


def packet(chain, port, source, target):
    """A UDP datagram behind these headers, with its checksum, as a raw socket sends it."""
    payload = b"hostlat."
    udp = struct.pack("!HHHH", 1234, port, 8 + len(payload), 0) + payload
    pseudo = source + target + struct.pack("!II", len(udp), UDP)
    words = struct.unpack(f"!{(len(pseudo) + len(udp)) // 2}H", pseudo + udp)
    total = sum(words)
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    udp = udp[:6] + struct.pack("!H", ~total & 0xffff or 0xffff) + udp[8:]
    out, after = udp, UDP
    for kind in reversed(chain):
        out, after = header(kind, after) + out, kind
    return struct.pack("!IHBB", 6 << 28, len(out), after, 64) + source + target + out


def kernel_drops(namespace):
    with netns.inside(namespace), open("/proc/thread-self/net/snmp6", encoding="ascii") as f:
        return {name: int(n) for name, n in map(str.split, f)}["Udp6RcvbufErrors"]


def full_buffer(net, *chain):
    """A socket that nobody reads: what its buffer has no room for is dropped."""
    address = net.address(6)
    with netns.inside(net.reader):
        reader = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.bind((address, 0))
    with netns.inside(net.sender):
        raw = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
    port = reader.getsockname()[1]
    observers = [watch.Watch("--port", n, "--netns", net.reader) for n in (port, port ^ 1)]
    before = kernel_drops(net.reader)
    data = packet(chain, port, socket.inet_pton(socket.AF_INET6, "fd77::2"),
                  socket.inet_pton(socket.AF_INET6, address))
    for _ in range(N):
        raw.sendto(data, (address, 0))
    with reader, raw:
        result, other = [observer.stop() for observer in observers]
    dropped = kernel_drops(net.reader) - before
    check.between("drops by the kernel's count", dropped, N // 2, N)
    check.equal(f"drops ({result.brief()})", result.dropped("SOCKET_RCVBUFF"), dropped)
    check.equal("drops of another port", other.dropped(), 0)
    return f"{dropped} of {N}"


if os.geteuid() != 0:
    check.skip("needs root")
veth = netns.veth()
check.run([(full_buffer, veth, *chain) for chain in (
    (), (HOP,), (OPTIONS,), (FRAGMENT,), (HOP, OPTIONS, FRAGMENT, OPTIONS))])
