# SPDX-License-Identifier: Apache-2.0
"""Boxes between two namespaces that hold some packets back, and know what waited for them."""
import os
import socket
import threading
import time

from lib import frames, netns

HOLD_S = 0.02
PRIORITY = 3    # a gate's priority: above unrelated processes, below clients and servers
# The sender takes what is late for late, and not for lost.
SETTINGS = {"tcp_reordering": "300", "tcp_recovery": "0", "tcp_early_retrans": "0"}


def wire(name):
    """Returns a packet socket for the frames of an interface of this namespace."""
    it = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(frames.ETH_P_ALL))
    it.bind((name, frames.ETH_P_ALL))
    it.settimeout(0.05)
    return it


class Box:
    """
    Forwards all frames between two interfaces; holds the first of each burst back for a time, and
    with `in_order` those behind it, too, so that they come as late and without a hole.
    """

    def __init__(self, names, in_order):
        self.wires, self.in_order = [wire(name) for name in names], in_order
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
        os.sched_setaffinity(0, {0})    # frames that one CPU sends arrive in order
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
        """Returns whether a sender's frame passes. Drops messages that TCP sends again: the test
        sent none twice."""
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
        for each in self.wires:
            each.close()


class Gate:
    """
    Forwards all frames between two interfaces, in order, and can hold up those of one direction.
    """

    THERE, BACK = 0, 1

    def __init__(self, names):
        self.wires = [wire(name) for name in names]
        self.open = threading.Lock(), threading.Lock()
        self.ended = False
        self.threads = [threading.Thread(target=self.forward, args=ends, daemon=True)
                        for ends in ((0, 1), (1, 0))]
        for thread in self.threads:
            thread.start()

    def forward(self, source, target):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        while not self.ended:
            try:
                frame, (*_, kind, _, _) = self.wires[source].recvfrom(1 << 16)
            except TimeoutError:
                continue
            if kind != frames.PACKET_OUTGOING:
                with self.open[source]:
                    self.wires[target].send(frames.whole(frame) if frames.is_tcp(frame) else frame)

    def hold(self, direction, seconds):
        """Holds frames of that direction back for so long; returns the times, in ns, at which the
        hold began and ended."""
        with self.open[direction]:
            begin = time.monotonic_ns()
            time.sleep(seconds)
            return begin, time.monotonic_ns()

    def end(self):
        self.ended = True
        for thread in self.threads:
            thread.join()
        for each in self.wires:
            each.close()


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

    def address(self, _):
        return "10.79.0.2"

    def connected(self):
        with netns.inside(self.reader):
            server = socket.create_server(("10.79.0.2", 0))
        with netns.inside(self.sender):
            sender = socket.create_connection(server.getsockname(), timeout=10)
        reader, _ = server.accept()
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return server, sender, reader
