# SPDX-License-Identifier: Apache-2.0
"""
Head-of-line blocking: between two namespaces a box holds some packets back, and knows how long
those behind them waited for it. That time is kept apart from the host's own.
"""
import os
import socket
import threading
import time

from lib import check, frames, netns, watch

N, BURST, HOLD_S, GAP_S = 300, 10, 0.02, 0.03
SIZE = 100
TOLERANCE_NS = 1_000_000
# The sender takes what is late for late, and not for lost.
SETTINGS = {"tcp_reordering": "300", "tcp_recovery": "0", "tcp_early_retrans": "0"}


class Box:
    """
    Forwards all frames between two interfaces; holds the first of each burst back for a time, and
    with `in_order` those behind it, too, so that they come as late and without a hole.
    """

    def __init__(self, names, in_order):
        self.wires, self.in_order = [], in_order
        for name in names:
            wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(frames.ETH_P_ALL))
            wire.bind((name, frames.ETH_P_ALL))
            wire.settimeout(0.05)
            self.wires.append(wire)
        self.seen, self.count = set(), 0
        self.held = []          # (when it came, frame): the first of a burst, and those behind it
        self.waited_ns = []     # how long those behind one waited for it
        self.ended = False
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.forward, args=ends, daemon=True)
                        for ends in ((0, 1), (1, 0))]
        for thread in self.threads:
            thread.start()

    def forward(self, source, target):
        os.sched_setaffinity(0, {0})    # what one CPU sends arrives in order
        while not self.ended:
            try:
                frame, (*_, kind, _, _) = self.wires[source].recvfrom(1 << 16)
            except TimeoutError:
                continue
            if kind == frames.PACKET_OUTGOING:
                continue
            if frames.is_tcp(frame):
                frame = frames.whole(frame)
            with self.lock:
                if source or not frames.is_tcp(frame) or self.passes(frame):
                    self.wires[target].send(frame)

    def passes(self, frame):
        """Of the sender's: a message that was sent again is none of ours, and is dropped."""
        seq, data = frames.payload(frame)
        if not data:
            return True
        if seq in self.seen:
            return False
        self.seen.add(seq)
        self.count += 1
        self.held.append((time.monotonic_ns(), frame))
        if len(self.held) == 1:
            threading.Timer(HOLD_S, self.release).start()
            return False
        return not self.in_order

    def release(self):
        os.sched_setaffinity(0, {0})
        with self.lock:
            now = time.monotonic_ns()
            (_, first), *behind = self.held
            self.wires[1].send(first)
            for at, frame in behind:
                if self.in_order:
                    self.wires[1].send(frame)
                else:
                    self.waited_ns.append(now - at)
            self.held = []

    def end(self):
        self.ended = True
        for thread in self.threads:
            thread.join()
        for wire in self.wires:
            wire.close()


class Path:
    """A sender's namespace, a reader's, and one between them in which the box forwards."""

    def __init__(self):
        star = netns.Star(2)
        self.middle, (self.sender, self.reader) = star.middle, star.points
        for host, name in enumerate(star.points, 1):
            netns.ip("-n", name, "addr", "flush", "dev", "middle0")
            netns.ip("-n", name, "addr", "add", f"10.79.0.{host}/24", "dev", "middle0")
            # no frame is longer than a packet socket may send
            netns.ip("-n", name, "link", "set", "middle0", "gso_max_segs", "1")
        with netns.inside(self.sender):
            for name, value in SETTINGS.items():
                with open(f"/proc/sys/net/ipv4/{name}", "w", encoding="ascii") as f:
                    f.write(value)
        for i in range(2):      # the namespace between them is no router, and answers nothing
            netns.ip("-n", self.middle, "addr", "flush", "dev", f"point{i}")

    def __str__(self):
        return "a box between"

    def connected(self):
        with netns.inside(self.reader):
            server = socket.create_server(("10.79.0.2", 0))
        with netns.inside(self.sender):
            sender = socket.create_connection(server.getsockname(), timeout=10)
        reader, _ = server.accept()
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return server, sender, reader


def send_all(sender):
    for i in range(N):
        sender.sendall(bytes([i & 0xff]) * SIZE)
        if i % BURST == BURST - 1:
            time.sleep(GAP_S)
    sender.shutdown(socket.SHUT_WR)


def run(path, hol, in_order=False):
    """(what watch saw, the box with what passed it). A packet may hold several messages."""
    with netns.inside(path.middle):
        box = Box(("point0", "point1"), in_order)
    try:
        server, sender, reader = path.connected()
        observer = watch.Watch("--port", server.getsockname()[1], "--netns", path.reader,
                               *(("--hol", hol) if hol else ()))
        thread = threading.Thread(target=send_all, args=(sender,), daemon=True)
        thread.start()
        got = 0
        while data := reader.recv(1 << 16):
            got += len(data)
        thread.join()
        check.equal("bytes received", got, N * SIZE)
        result = observer.stop()
        for end in (server, sender, reader):
            end.close()
    finally:
        box.end()
    check.equal(f"losses ({result.brief()})", result.document["losses"], [])
    check.equal("packets at transport", result.count("transport", "tcp"), box.count)
    return result, box


def below(values, limit):
    return sum(v <= limit for v in values)


def told_as_waited(hol, waited_ns):
    """Each within 1 ms: at every edge as many as the box says, give or take those near it."""
    check.equal("messages behind a hole", hol["count"], len(waited_ns))
    told = 0
    for b in hol["buckets"]:
        told += b["count"]
        check.between(f"of them at most {b['le_ns']} ns", told,
                      below(waited_ns, b["le_ns"] - TOLERANCE_NS),
                      below(waited_ns, b["le_ns"] + TOLERANCE_NS))


def own_times(result, clean):
    """The host's own, as without any hole: no part of HOLD_S is in it."""
    enqueued, other = (watch.quantile(r.row("enqueued", "tcp"), 0.5) for r in (result, clean))
    check.between(f"median of enqueued ({other['ns']} ns without holes)", enqueued["ns"],
                  other["ns"] // 3, other["ns"] * 3)
    youngest = watch.quantile(result.row("read", "tcp")["youngest"], 0.5)
    check.between("median age of the last byte", youngest["ns"], 1, HOLD_S * 1e9 / 10)


@check.patiently
def kept_apart(path):
    clean, _ = run(path, "separate", in_order=True)
    check.equal("without a hole", clean.row("enqueued", "tcp")["hol"], None)
    result, box = run(path, "separate")
    waited = box.waited_ns
    told_as_waited(result.row("enqueued", "tcp")["hol"], waited)
    check.equal("packets at read", result.count("read", "tcp"), box.count)
    own_times(result, clean)
    check.true(f"it is said: {result.document['findings']}",
               any("behind a hole" in f for f in result.document["findings"]))
    check.must_fail("waits that are 3 ms longer", told_as_waited,
                    result.row("enqueued", "tcp")["hol"], [w + 3_000_000 for w in waited])
    included, box = run(path, "include")
    check.equal("packets at read", included.count("read", "tcp"), box.count)
    check.must_fail("holes among the host's own times", own_times, included, clean)
    return f"{len(waited)} messages waited"


@check.patiently
def set_aside(path):
    """The default: counted, and no part of what comes after `transport`."""
    result, box = run(path, None)
    waited = len(box.waited_ns)
    check.equal("set aside", result.excluded("head-of-line"), waited)
    for stage in ("enqueued", "read"):
        check.equal(stage, result.count(stage, "tcp"), box.count - waited)
    check.true(f"it is said: {result.document['findings']}",
               any("set aside" in f for f in result.document["findings"]))
    return f"{waited} of {box.count}"


if os.geteuid() != 0:
    check.skip("needs root")
between = Path()
check.run([(kept_apart, between), (set_aside, between)])
