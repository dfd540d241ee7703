# SPDX-License-Identifier: Apache-2.0
"""Proves that payload that TCP has already received is no drop: it is excluded, under the interface
by which it came. Control: another interface excludes none."""
import contextlib
import os
import socket
import struct
import time

from lib import check, netns, watch
from lib.frames import ETH_P_ALL, ETHERNET, PACKET_HOST, whole

N = 100


def to_port(frame, port):
    return frame[ETHERNET + 9] == 6 and frame[ETHERNET + 22:ETHERNET + 24] == struct.pack("!H", port)


def twice(wire, sender, reader, port, i):
    """One message that the reader has got, and then the same packet once more."""
    payload = struct.pack("!I", i) * 5
    sender.sendall(payload)
    check.equal("message", reader.recv(100), payload)
    while True:
        frame, (*_, kind, _, _) = wire.recvfrom(1 << 16)
        if kind == PACKET_HOST and to_port(frame, port) and frame.endswith(payload):
            wire.send(whole(frame))
            return


def retransmitted(*filters):
    """Watches by each filter N messages, each of which comes twice, where nobody else sends."""
    with contextlib.ExitStack() as stack:
        with netns.inside(loopback.reader):
            server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            sender = stack.enter_context(socket.create_connection(server.getsockname()))
            wire = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)))
            wire.bind(("lo", ETH_P_ALL))
        reader, _ = server.accept()
        port = server.getsockname()[1]
        observers = [watch.Watch("--netns", loopback.reader, "--port", port, *options) for options in filters]
        wire.settimeout(5)
        for i in range(N):
            twice(wire, sender, reader, port, i)
        time.sleep(0.2)
        reader.close()
        return [observer.stop() for observer in observers]


def excluded():
    result, lo, other = retransmitted((), ("--ifname", "lo"), ("--ifname", veth_name))
    for seen in result, lo:
        check.counted(f"packets at read ({seen.brief()})", seen.count("read", "tcp"), N)
        check.equal("excluded as duplicates", seen.excluded("duplicate", protocol="tcp"), N)
        # the test's own copies may be purged from its packet socket
        dropped = [d for d in seen.document["drops"] if d["reason"].startswith("TCP_")]
        check.equal("drops", dropped, [])
    check.equal("excluded packets of another interface", other.document["excluded"], [])


if os.geteuid() != 0:
    check.skip("needs root")
netns.veth()
loopback, veth_name = netns.loopback(), "reader0"
check.run([(excluded,)])
