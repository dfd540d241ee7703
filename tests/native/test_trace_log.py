# SPDX-License-Identifier: Apache-2.0
"""Proves that a recording's messages agree with the log of the server that read and sent them:
which bytes, in which order, by which thread, and when. Controls: a log that lacks one call, and
reads that are too early, must fail."""
import threading
import time

from lib import check, logged, netns, trace
from lib.traffic import outweigh_others

N = 1000
ENDS = ["segment", "qdisc", "driver"]


def recorded(server, client, options=("--with", "messages")):
    """Records what `client` does with the server; returns the recording and the server's log."""
    observer = trace.Recording(*server.filter, *options)
    client(server)
    time.sleep(0.1)
    log = server.finish()
    t = observer.stop()
    check.equal("exit code", t.code, 0)
    check.equal("what was lost", sum(t.lost.values()), 0)
    return t, log


def by_connection(t, messages):
    """{remote port: [message, ...]} by time: in the file they are by core."""
    found = {}
    for m in sorted(messages, key=lambda m: (m.first, m.pieces[-1].end)):
        found.setdefault(t.flows[m.flow].remote, []).append(m)
    return found


def paired(t, messages, log, kind):
    """[(message, call)], in the order of each connection's bytes."""
    calls = {}
    for call in log:
        if call.kind == kind:
            calls.setdefault(call.port, []).append(call)
    found = by_connection(t, messages)
    check.equal("connections", sorted(found), sorted(calls))
    pairs = []
    for port, mine in found.items():
        theirs = calls[port]
        check.equal(f"{kind} calls of {port}", len(mine), len(theirs))
        start = mine[0].offset - theirs[0].offset
        for m, call in zip(mine, theirs):
            check.equal("where its bytes begin", (m.offset - start) % 2**32, call.offset)
            check.equal("how many they are", m.bytes, call.bytes)
            check.equal("whose call it was", m.tid, call.tid)
            pairs.append((m, call))
    return pairs


def in_order(pairs):
    """Reads of all connections end in the order of the log; what is first comes first."""
    ends = [m.pieces[-1].end for m, _ in sorted(pairs, key=lambda pair: pair[1].after)]
    check.equal("order of the reads", ends, sorted(ends))


def reads_agree(t, log):
    pairs = paired(t, t.messages, log, "read")
    for m, call in pairs:
        check.true(f"{m} within its call {call}", call.before < m.pieces[-1].end < call.after)
        check.equal("what its pieces end at", [p.stage for p in m.pieces][-2:],
                    ["enqueued", "read"])
    in_order(pairs)
    return logged.close("read", [call.after - m.pieces[-1].end for m, call in pairs], log)


def sends_agree(t, log):
    pairs = paired(t, t.sends, log, "send")
    for m, call in pairs:
        check.true(f"{m} within its call {call}", call.before < m.first < m.last < call.after)
        check.equal("what its pieces end at", trace.ends(m), ENDS)
        check.equal("whose pieces they are", {p.role for p in m.pieces} - {trace.PACED},
                    {trace.TRANSMIT})
        for one, other in zip(m.pieces, m.pieces[1:]):
            check.equal("where the next piece begins", other.begin, one.end)
    return logged.close("send", [m.first - call.before for m, call in pairs], log)


def late(t, by):
    """Control: the same, but each read a little too early."""
    t.messages = [m._replace(pieces=[*m.pieces[:-1],
                                     m.pieces[-1]._replace(end=m.pieces[-1].end - by)])
                  for m in t.messages]
    return t


def exchange(server):
    sock = server.client()
    for _ in range(N):
        sock.sendall(b"x" * 100)
        logged.receive(sock, 200)
    sock.close()


@check.environment("it compares a measured time with the time that the test itself took, "
                   "and other threads can have the CPU in between")
def one_by_one(net, family):
    t, log = recorded(logged.Server(net, family, reply=200, cpu=1), exchange)
    check.equal("calls", len(log), 2 * N)
    figure = reads_agree(t, log), sends_agree(t, log)
    by = 2 * logged.NEAR * logged.null_ns(log)
    check.must_fail(f"reads {by} ns early", reads_agree, late(t, int(by)), log)
    check.must_fail("a log that lacks one", paired, t, t.sends, log[:-1], "send")
    return "; ".join(figure)


def several_threads(net):
    """Eight connections, two threads on one epoll instance."""
    def client(server):
        threads = [threading.Thread(daemon=True, target=exchange, args=[server]) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    t, log = recorded(logged.Server(net, 4, reply=200, threads=2), client)
    check.equal("calls", len(log), 2 * 8 * N)
    check.equal("threads", len({call.tid for call in log}), 2)
    paired(t, t.messages, log, "read")
    paired(t, t.sends, log, "send")


def descriptors_used_again(net):
    """Connections one after the other, the server's descriptor the same."""
    def client(server):
        for i in range(N // 10):
            sock = server.client()
            sock.sendall(b"x" * (1 + i))
            logged.receive(sock, 200)
            sock.close()

    t, log = recorded(logged.Server(net, 4, reply=200), client)
    paired(t, t.messages, log, "read")
    paired(t, t.sends, log, "send")
    check.equal("flows", len({m.flow for m in t.messages}), N // 10)


def timeouts(net):
    """Receive calls that return nothing are no messages."""
    def client(server):
        sock = server.client()
        for _ in range(20):
            time.sleep(0.03)
            sock.sendall(b"x" * 100)
            logged.receive(sock, 200)
        sock.close()

    t, log = recorded(logged.Server(net, 4, reply=200, timeout_ms=10), client)
    check.equal("messages", len(t.messages), 20)
    in_order(paired(t, t.messages, log, "read"))


@check.busy
def one_read_of_many(net):
    """Seven sends, one read: one message, from the first one's arrival to after the last one's."""
    def client(server):
        sock = server.client()
        sock.sendall(b"x" * 10)
        logged.receive(sock, 1)
        with server.stopped():
            for _ in range(7):
                sock.sendall(b"x" * 100)
                time.sleep(0.01)
        logged.receive(sock, 1)
        sock.close()

    t, log = recorded(logged.Server(net, 4, reply=1), client)
    pairs = paired(t, t.messages, log, "read")
    check.equal("bytes", [call.bytes for _, call in pairs], [10, 700])
    last = pairs[1][0]
    check.between("from the first to the last", last.last - last.first, 60_000_000, 10**9)


def many_reads_of_one(net):
    """A segment that is read in pieces is a message of the first read; five segments are one."""
    t, log = recorded(logged.Server(net, 4, read=20, reply=1), one_of_100)
    reads = [call for call in log if call.kind == "read"]
    check.equal("reads", len(reads), 5)
    check.equal("messages", [(m.bytes, m.tid) for m in t.messages], [(20, reads[0].tid)])
    check.between("read", t.messages[0].pieces[-1].end, reads[0].before, reads[0].after)


def one_of_100(server):
    sock = server.client()
    sock.sendall(b"x" * 100)
    logged.receive(sock, 5)
    sock.close()


WINDOW_NS = 200_000_000
REPLIES = 8


@check.busy
def window(net):
    """Data held back by the receiver's window waits between send and segment."""
    def client(server):
        sock = server.client()
        sock.setsockopt(logged.socket.SOL_SOCKET, logged.socket.SO_RCVBUF, 40_000)
        for _ in range(REPLIES):
            sock.sendall(b"x")
            time.sleep(0.02)
        time.sleep(WINDOW_NS / 1e9)
        logged.receive(sock, REPLIES * 20_000)
        sock.close()

    # The delayed server reads requests one by one, too, so that each gets its own reply.
    t, log = recorded(logged.Server(net, 4, reply=20_000, read=1), client)
    pairs = paired(t, t.sends, log, "send")
    last = pairs[-1][0]
    left = trace.reached(last, "segment")
    check.between("the last one's wait for the window", left - last.first, WINDOW_NS,
                  10 * WINDOW_NS)
    check.between("and behind it", last.pieces[-1].end - left, 0, WINDOW_NS // 2)
    check.true("the call returned long before", last.last < left)
    quick = pairs[0][0]
    check.between("the first one's", quick.pieces[-1].end - quick.first, 0, WINDOW_NS // 2)


RTO_NS = 200_000_000    # include/net/tcp.h, TCP_RTO_MIN: nothing is sent again before


@check.busy
def sent_again(net):
    """A packet that is lost and sent again ends its call once, at the first transmission."""
    def client(server):
        sock = server.client()
        with server.stopped():
            sock.sendall(b"x")
            netns.ip("-n", net.sender, "addr", "del", "10.77.0.2/24", "dev", "sender0")
        time.sleep(0.05)
        netns.ip("-n", net.sender, "addr", "add", "10.77.0.2/24", "dev", "sender0")
        logged.receive(sock, 200)
        sock.sendall(b"x")
        logged.receive(sock, 200)
        sock.close()

    t, log = recorded(logged.Server(net, 4, reply=200), client,
                      ("--with", "messages", "--stages", "all"))
    pairs = paired(t, t.sends, log, "send")
    check.between("when the first one had left", pairs[0][0].pieces[-1].end - pairs[0][0].first,
                  0, RTO_NS - 1)


def of_receive_only(net):
    """Control: without the transmit side's stages there are no sends."""
    t, log = recorded(logged.Server(net, 4, reply=200), one_of_100,
                      ("--with", "messages", "--stages", "ingress"))
    check.equal("sends", len(t.sends), 0)
    paired(t, t.messages, log, "read")


outweigh_others()
nets = netns.every()
LOOPBACK, VETH = nets[0][0], nets[2][0]
check.run(
    [(one_by_one, *net) for net in nets] +
    [(several_threads, VETH), (descriptors_used_again, LOOPBACK), (timeouts, VETH),
     (one_read_of_many, VETH), (many_reads_of_one, VETH), (window, VETH), (sent_again, VETH),
     (of_receive_only, VETH)])
