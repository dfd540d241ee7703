# SPDX-License-Identifier: Apache-2.0
"""Proves that with `record --boundary request` a message is a request, from its first byte's
arrival to the send call of its reply, whatever calls read and sent its bytes. Control: a log that
is one request early must fail."""
import fcntl
import os
import statistics
import struct
import sys
import termios
import time

from lib import check, loading, logged, netns, servers, trace
from lib.traffic import outweigh_others

N = 500
GET = b"get key\r\n"
END = b"END\r\n"
BY_REQUEST = "--with", "messages", "--boundary", "request"


def recorded(server, client, code=0):
    observer = trace.Recording(*server.filter, *BY_REQUEST)
    client(server)
    time.sleep(0.1)
    log = server.finish()
    t = observer.stop()
    check.equal(f"exit code ({t.document['losses']})", t.code, code)
    t.messages.sort(key=lambda m: (t.flows[m.flow].remote, m.offset))
    return t, log


def begins_with(calls, offset):
    """The call that has that byte."""
    return next(c for c in calls if c.offset <= offset < c.offset + c.bytes)


def whole(m):
    check.equal("what its pieces end at", [p.stage for p in m.pieces][-3:],
                ["enqueued", "read", "send"])
    check.equal("where it begins", m.pieces[0].begin, m.first)
    for one, other in zip(m.pieces, m.pieces[1:]):
        check.equal("where the next piece begins", other.begin, one.end)


def agree(messages, log, size, reply):
    """Each request is `size` bytes, and each reply `reply`. Of one connection."""
    reads = [c for c in log if c.kind == "read"]
    sends = [c for c in log if c.kind == "send"]
    late, early = [], []
    for i, m in enumerate(messages):
        whole(m)
        check.equal("where it is", (m.offset - messages[0].offset) % 2**32, i * size)
        check.equal("bytes", m.bytes, size)
        read = begins_with(reads, (i + 1) * size - 1)
        sent = begins_with(sends, i * reply)
        check.equal("who read it", m.tid, read.tid)
        check.true(f"{m} was read in {read}", read.before < m.pieces[-2].end < read.after)
        check.true(f"its reply was sent in {sent}", sent.before < m.pieces[-1].end < sent.after)
        late.append(read.after - m.pieces[-2].end)
        early.append(m.pieces[-1].end - sent.before)
    return [sorted(late), sorted(early)]


def one_by_one(server):
    sock = server.client()
    for _ in range(N):
        sock.sendall(GET)
        logged.receive(sock, len(END))
    sock.close()


@check.environment("it compares a measured time with the time that the test itself took, "
                   "and other threads can have the CPU in between")
def each(net, family):
    """One after the other; when they were read and answered."""
    t, log = recorded(logged.Server(net, family, lines=True, cpu=1), one_by_one)
    check.equal("requests", len(t.messages), N)
    figures = agree(t.messages, log, len(GET), len(END))
    check.must_fail("each a request early", agree, t.messages[1:], log, len(GET), len(END))
    return f"read {statistics.median(figures[0]):.0f} ns, " + logged.close("send", figures[1], log)


@check.environment("a recorder that gets no CPU loses messages, and counts them")
def pipelined(net, answer):
    """Seven at once, and in part: the replies in one call, or in seven."""
    def client(server):
        sock = server.client()
        for _ in range(10):
            sock.sendall(7 * GET)
            logged.receive(sock, 7 * len(END))
        sock.close()

    t, log = recorded(logged.Server(net, 4, **{answer: True}), client)
    check.equal("reads", sum(c.kind == "read" for c in log), 10)
    check.equal("sends", sum(c.kind == "send" for c in log), 10 if answer == "lines" else 70)
    check.equal("requests", len(t.messages), 70)
    agree(t.messages, log, len(GET), len(END))


@check.environment("a recorder that gets no CPU loses messages, and counts them")
def in_parts(net):
    """A request in three packets and three reads; and reads of four bytes each."""
    def client(server):
        sock = server.client()
        for _ in range(10):
            for part in (GET[:3], GET[3:7], GET[7:]):
                sock.sendall(part)
                time.sleep(0.01)
            logged.receive(sock, len(END))
        sock.close()

    t, log = recorded(logged.Server(net, 4, lines=True), client)
    check.equal("requests", len(t.messages), 10)
    agree(t.messages, log, len(GET), len(END))
    for m in t.messages:
        check.between("from its first byte to its last", m.last - m.first, 20_000_000, 10**9)
    t, log = recorded(logged.Server(net, 4, lines=True, read=4), one_by_one)
    check.equal("requests in small reads", len(t.messages), N)
    agree(t.messages, log, len(GET), len(END))


@check.environment("a recorder that gets no CPU loses messages, and counts them")
def across(net):
    """Requests whose bounds are no packet's and no read's."""
    def client(server):
        sock = server.client()
        data = 300 * GET
        for at in range(0, len(data), 50):
            sock.sendall(data[at:at + 50])
            time.sleep(0.001)
        logged.receive(sock, 300 * len(END))
        sock.close()

    t, log = recorded(logged.Server(net, 4, lines_each=True, read=37), client)
    check.equal("requests", len(t.messages), 300)
    agree(t.messages, log, len(GET), len(END))


def backlog(net):
    """More than a thousand requests wait while the server is stopped."""
    def client(server):
        sock = server.client()
        sock.sendall(GET)
        logged.receive(sock, len(END))
        with server.stopped():
            for _ in range(30):
                sock.sendall(GET)
            time.sleep(0.05)
        logged.receive(sock, 30 * len(END))
        sock.close()

    t, log = recorded(logged.Server(net, 4, lines=True), client)
    check.equal("requests", len(t.messages), 31)
    agree(t.messages, log, len(GET), len(END))
    check.true("they waited", t.messages[1].pieces[-1].end - t.messages[1].first > 50_000_000)


def left_out(net):
    """An unfollowed connection is counted once, and is no message."""
    def client(server):
        unknown = server.client()
        unknown.sendall(b"\x16\x03\x01 no text\n")
        logged.receive(unknown, len(END))
        unknown.sendall(GET)
        logged.receive(unknown, len(END))
        good = server.client()
        good.sendall(GET)
        logged.receive(good, len(END))
        bad = server.client()
        bad.sendall(GET)
        logged.receive(bad, len(END))
        bad.sendall(b"mg key q\r\n")
        logged.receive(bad, len(END))
        bad.sendall(GET)
        logged.receive(bad, len(END))
        for sock in (unknown, good, bad):
            sock.close()

    t, _ = recorded(logged.Server(net, 4, lines=True), client, 3)
    check.equal("requests", len(t.messages), 2)
    check.equal("of an unknown protocol", t.counted("excluded", "protocol-unknown"), 1)
    check.equal("not followed", t.counted("losses", "not-followed"), 1)
    check.equal("other losses", sum(r["count"] for r in t.document["losses"]), 1)


def at_once(server, *pieces):
    """They are read in one call each."""
    sock = server.client()
    for data, lines in pieces:
        with server.stopped():
            sock.sendall(data)
            while struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]:
                time.sleep(0.001)
        logged.receive(sock, lines * len(END))
    sock.close()


def touch(size):
    """A request of that size; each byte of it is looked at."""
    return b"touch %s 0\r\n" % (b"k" * (size - len(b"touch  0\r\n")))


def work(net):
    """
    No call holds the CPU for longer than REQUEST_BYTES take: a connection with a larger one is left, with
    a reason of its own, and the others are followed. What is ignored may be longer.
    """
    long_key = b"get %s\r\n" % (b"k" * 200)
    pieces = (touch(WORK), 1), (32 * long_key, 32), (b"get a" + 20000 * b" b " + b"\r\n", 1)

    def client(server):
        at_once(server, *pieces, (touch(WORK + 1), 1), (GET, 1))
        at_once(server, *pieces)

    t, log = recorded(logged.Server(net, 4, lines=True), client, 3)
    reads = [c.bytes for c in log if c.kind == "read"]
    check.equal("reads", reads, [*(len(p[0]) for p in pieces), WORK + 1, len(GET),
                                 *(len(p[0]) for p in pieces)])
    check.equal("requests", len(t.messages), 2 * 34)
    check.equal("too large", t.counted("losses", "call-too-large"), 1)
    check.equal("other losses", sum(r["count"] for r in t.document["losses"]), 1)


@check.environment("it compares how long calls take, and other threads can have the CPU in between")
def bounded(net):
    """Seven times the work takes no longer than what is allowed, whatever it is made of."""
    many = 7 * WORK
    large = {"one": touch(many), "many": many // 5 * b"quit\n",
             "no reply": 3000 * b"delete k noreply\r\n",
             "arguments": b"*9000\r\n" + 4000 * b"$8\r\n12345678\r\n"}

    def client(server):
        for _ in range(5):
            at_once(server, (touch(WORK), 1))
            for data in large.values():
                at_once(server, (data, data.count(b"\n")))

    t, log = recorded(logged.Server(net, 4, lines=True), client, 3)
    check.equal("too large", t.counted("losses", "call-too-large"), 5 * len(large))
    took = [min(c.after - c.before for c in log if c.kind == "read" and c.bytes == len(data))
            for data in (touch(WORK), *large.values())]
    for name, ns in zip(large, took[1:]):
        check.between(f"{name}: as many times as long", ns / took[0], 0, LONGER)
    return f"{took[0] / 1e3:.0f} us; " + ", ".join(f"{ns / took[0]:.1f}" for ns in took[1:])


def older(net):
    """A connection that was in use before: which reply is whose isn't known."""
    server = logged.Server(net, 4, lines=True)
    before, idle = server.client(), server.client()
    before.sendall(GET)
    logged.receive(before, len(END))

    def client(_):
        for sock in (before, idle):
            for _ in range(5):
                sock.sendall(GET)
                logged.receive(sock, len(END))
            sock.close()

    t, _ = recorded(server, client)
    check.equal("requests of the one that was idle", len(t.messages), 5)
    check.equal("connections", t.counted("excluded", "connection-older"), 1)


def both_ends(net):
    """The client's end of the same connection is none that serves."""
    server = logged.Server(net, 4, lines=True)
    observer = trace.Recording("--netns", net.reader, *BY_REQUEST)
    one_by_one(server)
    time.sleep(0.1)
    server.finish()
    t = observer.stop()
    check.equal("requests", len(t.messages), N)
    check.equal("where they were served", {f.local for f in t.flows.values()
                                           if f.number in {m.flow for m in t.messages}},
                {server.port})
    check.equal("the other end", t.counted("excluded", "protocol-unknown"), 1)


def of_server(name, *options):
    """Real servers under load: each request that was completed is one message, some in pipelines."""
    with servers.server(name) as (url, server):
        port = int(url.rsplit(":", 1)[1])
        observer = trace.Recording("--port", port, *BY_REQUEST)
        got = loading.load(url, "--rate", 2000, "--for", "2s", "--percentile", 90,
                           "--connections", 8, "--outstanding", 4, *options)
        time.sleep(0.1)
        t = observer.stop()
        check.equal(f"exit code ({t.document['losses']})", t.code, 0)
    check.equal("failed", got["requests"]["failed"], 0)
    check.between(f"requests ({t.document['excluded']})", len(t.messages),
                  got["requests"]["completed"], got["requests"]["sent"] + EXTRA)
    for m in t.messages:
        whole(m)
    threads = {int(tid) for tid in os.listdir(f"/proc/{server.pid}/task")} if server.poll() is None \
        else set()
    check.true("who read them", not threads or {m.tid for m in t.messages} <= threads)
    return f"{len(t.messages)} requests, {t.counted('excluded', 'connection-older')} older"


WORK = 8192 # REQUEST_BYTES
LONGER = 3  # at least, of seven messages; includes the kernel's copy of as many bytes
EXTRA = 16  # that the load generator asks before it begins

outweigh_others()
nets = netns.every()
LOOPBACK, VETH = nets[0][0], nets[2][0]
if "guest" in sys.argv:
    check.run([(each, *nets[2]), (pipelined, VETH, "lines"), (in_parts, VETH), (work, VETH)])
check.run(
    [(each, *net) for net in nets] +
    [(pipelined, VETH, "lines"), (pipelined, VETH, "lines_each"), (in_parts, VETH), (across, VETH),
     (backlog, VETH), (left_out, VETH), (work, VETH), (bounded, VETH), (older, VETH), (both_ends, LOOPBACK),
     (of_server, "memcached"), (of_server, "redis"), (of_server, "nginx")])
