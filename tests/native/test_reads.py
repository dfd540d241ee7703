# SPDX-License-Identifier: Apache-2.0
"""Proves that packets are counted once, whatever the application does to read them. Control: a
packet that is counted twice must fail."""
import socket
import time

from lib import check, netns, watch

N = 1000
PEEKED_US = 500 # before it is read


def once(result, protocol, n):
    losses = result.document["losses"]
    unsupported = sum(l["count"] for l in losses if l["reason"].startswith("unsupported"))
    for stage in ("link", "enqueued"):
        check.counted(f"packets at {stage}", result.count(stage, protocol), n)
    what = f"packets at read, {unsupported} counted as unsupported included ({result.brief()})"
    check.counted(what, result.count("read", protocol) + unsupported, n)
    return unsupported


def reads(net, family, protocol, take):
    apart_us = PEEKED_US if take == "peek" else 0
    result, own = watch.around(net, family, protocol, take=take, count=N, gap_us=20,
                               apart_us=apart_us)
    check.equal("bytes that the reader got", own["received_bytes"], 100 * N)
    unsupported = once(result, protocol, N)
    check.equal("exit code", result.code, 3 if unsupported else 0)
    if take != "splice":
        result.sound()
    if take == "peek":
        seen = result.row("read", protocol)["min_ns"]
        check.between("smallest age at read, not at the peek", seen, PEEKED_US * 1000, 10**9)
    check.must_fail("a packet counted twice", once, result, protocol, N - 1)


def datagrams(port, n):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(n):
            sender.sendto(b"x", ("127.0.0.1", port))


def queued_before(read_first):
    """Datagrams that were queued before hostlat came are not its business, nor in its way."""
    old, new = 5, 50
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as reader:
        reader.bind(("127.0.0.1", 0))
        port = reader.getsockname()[1]
        datagrams(port, old)
        observer = watch.Watch(*watch.HERE, "--port", port)
        for _ in range(old if read_first else 0):
            reader.recv(10)
        datagrams(port, new)
        time.sleep(0.2)
        for _ in range(new if read_first else old):
            reader.recv(10)
        time.sleep(0.2)
        for _ in range(0 if read_first else new):
            reader.recv(10)
        result = observer.stop()
    row = result.row("read", "udp")
    check.equal("datagrams at read", row["count"], new)
    least = 200_000_000 if read_first else 400_000_000
    check.between("smallest age", row["min_ns"], least, least * 2)
    result.sound()


def counter(net, name):
    """Returns a counter of the kernel's own TCP statistics."""
    with netns.inside(net.reader), open("/proc/thread-self/net/netstat", encoding="ascii") as f:
        lines = [line.split() for line in f if line.startswith("TcpExt:")]
    return int(dict(zip(*lines))[name])


def merged():
    """Small packets that TCP merges in the queue, while nobody reads: each still counts once."""
    net, n = netns.loopback(), 1500
    with netns.inside(net.reader), socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sender = socket.create_connection(listener.getsockname())
        reader = listener.accept()[0]
        port = listener.getsockname()[1]
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    observer = watch.Watch("--netns", net.reader, "--port", port)
    for _ in range(n):
        sender.send(b"x")
    time.sleep(0.1)
    got = 0
    while got < n:
        got += len(reader.recv(n))
    result = observer.stop()
    check.between("segments that were merged", counter(net, "TCPRcvCoalesce"), 10, n)
    arrived = result.count("enqueued", "tcp")
    check.between("packets", arrived, 11, n)
    check.counted(f"packets at read ({result.brief()})", result.count("read", "tcp"), arrived)
    check.between("smallest age", result.row("read", "tcp")["min_ns"], 100_000_000, 10**10)
    result.sound()


HOW = {"tcp": ("recv", "peek", "chunks", "splice"), "udp": ("recv", "peek")}


def cases():
    for where in netns.two():
        for protocol, takes in HOW.items():
            for take in takes:
                yield reads, *where, protocol, take
    yield queued_before, True
    yield queued_before, False
    yield merged,


check.run(cases())
