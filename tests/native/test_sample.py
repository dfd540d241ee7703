# SPDX-License-Identifier: Apache-2.0
"""Proves that --sample measures the same packets at every stage of both ends, by a capture and by
the hash, which is written down here once more. Estimates hold, and --max-overhead samples by its
cost. Controls: another share, and one segment less, must fail; a sample of one in one is none."""
import math
import random
import socket
import struct
import subprocess
import sys
import threading
import time

from lib import bpf, check, frames, netns, watch
from lib.box import Box, Path

GUEST = "guest" in sys.argv     # emulated: fewer of them
ONE_IN = 8
CONNECTIONS, MESSAGES = (2, 300) if GUEST else (6, 1500 if check.LONG else 500)
N = 1000 if GUEST else 20_000
RECEIVED = "link", "transport", "enqueued", "read"
SENT = "segment", "qdisc", "driver", "acked"
MASK = (1 << 64) - 1
SO_RCVBUFFORCE = 33


def drawn(seq, one_in):
    """As src/bpf/sample.bpf.h: of the sequence number as it is in the header, read little-endian."""
    key, = struct.unpack("<I", struct.pack("!I", seq))
    key ^= key >> 33
    key = key * 0xff51afd7ed558ccd & MASK
    key ^= key >> 33
    key = key * 0xc4ceb9fe1a85ec53 & MASK
    return key >> 32 <= (1 << 32) // one_in - 1


class Capture:
    """Captures a namespace's packets with payload for a port: (source port, sequence number)."""

    def __init__(self, name, interface):
        with netns.inside(name):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                        socket.htons(frames.ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
        self.socket.bind((interface, frames.ETH_P_ALL))
        self.socket.setblocking(False)

    def segments(self, port):
        found = []
        while True:
            try:
                frame, (*_, kind, _, _) = self.socket.recvfrom(1 << 16)
            except BlockingIOError:
                self.socket.close()
                return found
            v6 = frame[12:14] == b"\x86\xdd"
            if kind != frames.PACKET_HOST or frame[20 if v6 else 23] != frames.TCP:
                continue
            tcp = frame[54 if v6 else 34:]
            source, destination, seq = struct.unpack("!HHI", tcp[:8])
            length = struct.unpack("!H", frame[18:20] if v6 else frame[16:18])[0]
            payload = length - (0 if v6 else 20) - (tcp[12] >> 4) * 4
            if destination == port and payload:
                found.append((source, seq))


def of_port(result, stage, direction, port):
    return sum(row["sampled"] for row in result.rows(stage, "tcp", direction)
               if row["group"] and row["group"].get("port") in (port, str(port)))


def as_drawn(result, segments, port, one_in):
    """At every stage and both ends of each connection, the counts must match those of the hash."""
    whole = 0
    for source in sorted({source for source, _ in segments}):
        expected = sum(drawn(seq, one_in) for s, seq in segments if s == source)
        whole += expected
        for stage in SENT:
            check.equal(f"sampled at {stage} from port {source} "
                        f"(losses {result.document['losses']})",
                        of_port(result, stage, "egress", source), expected)
    for stage in RECEIVED:
        check.equal(f"sampled at {stage}", of_port(result, stage, "ingress", port), whole)
    return whole


def exchange(net, family):
    """Messages one by one over a few connections; yields the port before the first one."""
    kind = socket.AF_INET6 if family == 6 else socket.AF_INET
    with netns.inside(net.reader):
        server = socket.create_server((net.address(family), 0), family=kind)
    port = server.getsockname()[1]
    senders, readers = [], []
    for _ in range(CONNECTIONS):
        with netns.inside(net.sender):
            senders.append(socket.create_connection((net.address(family), port), timeout=10))
        senders[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        readers.append(server.accept()[0])
    yield port
    chance = random.Random(4)
    for i in range(CONNECTIONS * MESSAGES):
        size = chance.randint(1, 200)
        senders[i % CONNECTIONS].sendall(b"x" * size)
        check.equal("bytes read", len(readers[i % CONNECTIONS].recv(size)), size)
    time.sleep(0.1)     # acknowledgements
    yield port
    for end in (server, *senders, *readers):
        end.close()


@check.environment("TCP sends again what is acknowledged too late, where others have the CPU")
def same_packets(net, family, one_in):
    traffic = exchange(net, family)
    port = next(traffic)
    capture = Capture(net.reader, "lo" if net.kind == "loopback" else "reader0")
    observer = watch.Watch("--stages", "all", "--by", "port", "--sample", f"1/{one_in}")
    next(traffic)
    result = observer.stop()
    segments = capture.segments(port)
    check.equal("segments that were captured", len(segments), CONNECTIONS * MESSAGES)
    whole = as_drawn(result, segments, port, one_in)
    check.must_fail("another share", as_drawn, result, segments, port, one_in // 2)
    check.must_fail("one segment left out", as_drawn, result,
                    [s for s in segments if drawn(s[1], one_in)][1:], port, one_in)
    check.equal("sample", result.document["sample"], {"one_in": one_in, "one_in_max": one_in})
    result.sound()
    list(traffic)
    return f"{whole} of {len(segments)} segments, at {len(RECEIVED + SENT)} stages"


def likely(what, seen, n, one_in):
    """Five standard deviations of what was drawn from n, each times one_in."""
    check.between(what, seen, n - 5 * math.sqrt(n * (one_in - 1)),
                  n + 5 * math.sqrt(n * (one_in - 1)))


@check.environment("a stamp is no good where the CPU was taken away")
def estimates(net, family, protocol):
    """Packets in all, at each stage; and of those the share that was read late."""
    n = N
    result, own = watch.around(net, family, protocol, ("--sample", f"1/{ONE_IN}"), count=n,
                               pattern="exchange" if protocol == "tcp" else "stream")
    check.equal("messages that the reader got", own["received"], n)
    whole = result.count(RECEIVED[-1], protocol)
    for stage in RECEIVED:
        count = result.count(stage, protocol)
        if stage == "link":     # where a stamp was no good, it is the packet's origin
            check.between("packets at link, whose stamps were good", count, 0.95 * whole, whole)
            continue
        likely(f"packets at {stage}", count, n, ONE_IN)
        check.must_fail("twice as many", likely, stage, 2 * count, n, ONE_IN)
        check.counted(f"count of {stage} against {RECEIVED[-1]}", count, whole)
        for row in result.rows(stage, protocol):
            check.equal(f"what {stage} rests on", row["sampled"] * ONE_IN, row["count"])
            check.equal("in buckets", sum(b["count"] for b in row["buckets"]), row["count"])
    result.sound()
    return f"{result.count('read', protocol)} of {n}"


@check.busy
def share_of_late(net, family):
    """A quarter of the datagrams is for a reader that sleeps: a quarter of the estimate, too."""
    n, late = 12_000, 4
    kind = socket.AF_INET6 if family == 6 else socket.AF_INET
    with netns.inside(net.reader):
        readers = [socket.socket(kind, socket.SOCK_DGRAM) for _ in range(2)]
    for reader in readers:
        reader.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        reader.bind((net.address(family), 0))
    with netns.inside(net.sender):
        sender = socket.socket(kind, socket.SOCK_DGRAM)
    observer = watch.Watch("--by", "port", "--sample", f"1/{ONE_IN}", "--netns", net.reader)
    for i in range(n):
        slow = i % late == 0
        sender.sendto(b"same", (net.address(family), readers[slow].getsockname()[1]))
        if slow and i % (late * 100) == 0:
            for _ in range(min(i // late - (i // late - 100 if i else 0), 100 if i else 0)):
                readers[1].recv(10)
        if not slow:
            readers[0].recv(10)
    readers[1].setblocking(False)
    while True:
        try:
            readers[1].recv(10)
        except BlockingIOError:
            break
    result = observer.stop()
    for reader, expected in ((readers[0], n - n // late), (readers[1], n // late)):
        port = reader.getsockname()[1]
        seen = sum(row["count"] for row in result.rows("read", "udp")
                   if row["group"] and row["group"].get("port") in (port, str(port)))
        likely(f"datagrams read at port {port}", seen, expected, ONE_IN)
    result.sound()
    for each in (*readers, sender):
        each.close()


def own_ages(net, family):
    """
    200 messages a millisecond apart, read at once: each as old as it is, where all would be as old
    as the oldest if each were measured.
    """
    n, late_s = 200, 0.02
    kind = socket.AF_INET6 if family == 6 else socket.AF_INET
    with netns.inside(net.reader):
        server = socket.create_server((net.address(family), 0), family=kind)
    port = server.getsockname()[1]
    with netns.inside(net.sender):
        sender = socket.create_connection((net.address(family), port), timeout=10)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    reader, _ = server.accept()
    observer = watch.Watch("--port", port, "--netns", net.reader, "--sample", "1/2")
    began = time.monotonic_ns()
    for _ in range(n):
        sender.sendall(b"x")
        time.sleep(0.001)
    time.sleep(late_s)
    check.equal("bytes in one read", len(reader.recv(1 << 16)), n)
    took_ns = time.monotonic_ns() - began
    row = observer.stop().row("read", "tcp")
    check.between("youngest of them", row["min_ns"], late_s * 1e9, took_ns / 4)
    check.between("the middle one", watch.quantile(row, 0.5)["ns"], took_ns * 0.3, took_ns * 0.75)
    check.between("oldest of them", row["max_ns"], took_ns * 0.8, took_ns)
    check.equal("youngest, of a sample", row["youngest"], None)
    for end in (server, sender, reader):
        end.close()


def behind_holes(path):
    """Packets that wait behind a hole, sampled or not, and the hole itself."""
    n, burst = 300, 10
    with netns.inside(path.middle):
        box = Box(("point0", "point1"), False)
    server, sender, reader = path.connected()
    port = server.getsockname()[1]
    capture = Capture(path.reader, "middle0")
    observer = watch.Watch("--port", port, "--netns", path.reader, "--hol", "include",
                           "--sample", "1/2")
    thread = threading.Thread(target=lambda: [
        (sender.sendall(bytes(100)), time.sleep(0.03 if i % burst == burst - 1 else 0))
        for i in range(n)], daemon=True)
    thread.start()
    got = 0
    while got < n * 100:
        got += len(reader.recv(1 << 16))
    thread.join()
    result = observer.stop()
    box.end()
    segments = capture.segments(port)
    expected = sum(drawn(seq, 2) for _, seq in segments)
    for stage in RECEIVED:
        seen = sum(row["sampled"] for row in result.rows(stage, "tcp"))
        check.equal(f"sampled at {stage} ({result.brief()})", seen, expected)
    check.true(f"some waited: {result.row('enqueued', 'tcp')['max_ns']} ns",
               result.row("enqueued", "tcp")["max_ns"] > 1e7)
    result.sound()
    for end in (server, sender, reader):
        end.close()
    return f"{expected} of {len(segments)} segments"


def drops_are_all_counted(net, family):
    n = 200_000
    result, own = watch.around(net, family, "udp", ("--sample", "1/64"), pattern="storm", count=n,
                               rcvbuf=4096, reader_cpu=1, sender_cpu=0)
    check.equal("drops", result.dropped("SOCKET_RCVBUFF"), n - own["received"])
    check.equal("all of them at", result.dropped(stage="enqueued"), n - own["received"])
    likely("datagrams enqueued", result.count("enqueued", "udp"), own["received"], 64)
    result.sound()
    return f"{n - own['received']} drops"


def each_one(net, family):
    """Control: one of one is no sample."""
    result, _ = watch.around(net, family, "tcp", ("--sample", "1/1"), count=500)
    check.counted("packets read", result.count("read", "tcp"), 500)
    check.equal("sample", result.document["sample"], None)
    check.true("rows say nothing of it", "sampled" not in result.row("read", "tcp"))
    result.sound()


@check.environment("hostlat's own CPU time per event grows where others use the caches "
                   "and the CPUs")
def sheds(net, family):
    """
    Above the limit fewer packets are measured; the estimate still is of all of them. The limit is
    in the middle between what each packet costs and what none does, where both are far apart.
    """
    n = 12_000
    wide = "--stages", "all", "--by", "cgroup,port,cpu", "--interval", "100ms"
    costs = [watch.around(net, family, "tcp", (*wide, "--sample", share), pattern="exchange",
                          count=n)[0].document["own_cost"]["fraction"]
             for share in ("1/1", "1/65536")]
    limit = sum(costs) / 2
    result, own = watch.around(net, family, "tcp", (*wide, "--max-overhead", f"{limit:.6%}"),
                               pattern="exchange", count=2 * n)
    sample = result.document["sample"]
    check.true(f"fewer were measured: {sample}, of {costs} to {limit}",
               sample and sample["one_in_max"] > 1)
    check.equal("exit code", result.code, 0)
    likely("packets read", result.count("read", "tcp"), own["received"], sample["one_in_max"])
    return (f"one of {sample['one_in_max']}, own cost {result.document['own_cost']['fraction']}, "
            f"limit {limit:.5f} between {costs[1]} and {costs[0]}")


def has_room(net, family):
    """Control: below the limit each one is measured."""
    result, _ = watch.around(net, family, "tcp", ("--max-overhead", "90%", "--interval", "50ms"),
                             pattern="exchange", count=5000)
    check.equal("sample", result.document["sample"], None)
    check.counted("packets read", result.count("read", "tcp"), 5000)
    result.sound()


def gives_up(net, family):
    """When that doesn't help either the programs are taken off, and the result says so."""
    links = set(bpf.objects()["link"])
    observer = watch.Watch("--netns", net.reader, "--max-overhead", "0.0001%", "--interval", "50ms")
    check.true("programs are attached", set(bpf.objects()["link"]) - links)
    deadline = time.monotonic() + 30
    while set(bpf.objects()["link"]) - links and time.monotonic() < deadline:
        time.sleep(0.1)
    check.equal("links that are left", set(bpf.objects()["link"]) - links, set())
    result = observer.stop()
    reasons = [reason["code"] for reason in result.document["reasons"]]
    check.equal("exit code", result.code, 3)
    check.true(f"it is reported: {reasons}", "overhead" in reasons)
    del family


def refused():
    """Requests that a sample cannot answer are bad usage, reported before anything is loaded."""
    for options in (["--ifname", "lo"], ["--probe", "netif_rx"], ["--min-queue", "2"],
                    ["--stages", "irq"]):
        for share in (["--sample", "1/2"], ["--max-overhead", "1%"]):
            done = subprocess.run([watch.HOSTLAT, "watch", "--count", "1", *options, *share],
                                  capture_output=True, text=True, check=False, timeout=120)
            check.equal(f"exit code of {options} {share} ({done.stderr})", done.returncode, 1)
            check.true(f"{options[0]} is named: {done.stderr}",
                       options[0] in done.stderr or options[1] in done.stderr)


def cases():
    nets = netns.every()
    if GUEST:
        yield same_packets, *nets[2], ONE_IN
        yield estimates, *nets[2], "udp"
        return
    for net, family in nets:
        yield same_packets, net, family, ONE_IN
    yield same_packets, *nets[0], 64
    for net, family in (nets[0], nets[3]):
        for protocol in ("tcp", "udp"):
            yield estimates, net, family, protocol
    yield share_of_late, *nets[2]
    yield own_ages, *nets[2]
    yield behind_holes, Path()
    yield drops_are_all_counted, *nets[2]
    yield each_one, *nets[2]
    yield sheds, *nets[0]
    yield has_room, *nets[0]
    yield gives_up, *nets[0]
    yield (refused,)


check.run(cases())
