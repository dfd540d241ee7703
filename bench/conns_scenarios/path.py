# SPDX-License-Identifier: Apache-2.0
"""
Paths of known delay, rate, queue, loss and order between namespaces, for kernels without netem: a
TUN device in each namespace, and one process that carries the packets between them.
"""
import fcntl
import heapq
import json
import os
import random
import select
import signal
import struct
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
SYN_FIN_RST = 7
MBIT = 125_000  # bytes/s
BATCH = 64      # packets that are read before those that are due leave


class Lane:
    """
    One direction of one connection's path. `rate` (bytes/s) and `delay` (s) are numbers or functions
    of the seconds since the start; the order is kept, except for the part `late` of the data packets,
    which take `late_s` longer. `loss` is the part of the data packets that are dropped.
    """

    def __init__(self, delay=0.005, rate=None, queue=1 << 20, loss=0.0, late=0.0, late_s=0.0):
        self.delay, self.rate, self.queue = delay, rate, queue
        self.loss, self.late, self.late_s = loss, late, late_s
        self.free = self.last = 0.0
        self.counts = {"packets": 0, "lost": 0, "overflowed": 0, "late": 0, "acks_held": 0}
        self.random = random.Random(16)

    def due(self, now, since, packet):
        """Returns when the packet arrives, or None if it is dropped."""
        self.counts["packets"] += 1
        rate = self.rate(since) if callable(self.rate) else self.rate
        delay = self.delay(since) if callable(self.delay) else self.delay
        start = max(now, self.free)
        if rate:
            if (start - now) * rate > self.queue:
                self.counts["overflowed"] += 1
                return None
            start += len(packet.raw) / rate
            self.free = start
        if packet.data and self.random.random() < self.loss:
            self.counts["lost"] += 1
            return None
        if packet.data and self.random.random() < self.late:
            self.counts["late"] += 1
            return start + delay + self.late_s
        self.last = max(self.last, start + delay)
        return self.last


class DelayedAcks(Lane):
    """The path behind a receiver that acknowledges every second segment, or after `timer_s`, or with
    its next data. Its kernel acknowledges at once."""

    def __init__(self, timer_s, segment=1400, **options):
        super().__init__(**options)
        self.timer_s, self.segment = timer_s, segment
        self.acked, self.held = None, None

    def due(self, now, since, packet):
        arrives = super().due(now, since, packet)
        if self.held and self.held.leaves > now:
            self.held.cancelled = True      # this packet acknowledges as much
            first = self.held.leaves
        else:
            first = None
        self.held = None
        if packet.data or packet.flags & SYN_FIN_RST or self.acked is None or \
           (packet.ack - self.acked) & 0xFFFFFFFF >= 2 * self.segment or packet.ack == self.acked:
            self.acked = packet.ack
            return arrives
        self.counts["acks_held"] += 1
        self.held = packet
        packet.leaves = first or now + self.timer_s
        return packet.leaves + arrives - now


class Packet:
    def __init__(self, raw):
        self.raw, self.cancelled, self.leaves = raw, False, 0.0
        header = (raw[0] & 15) * 4
        self.source, self.target, _, self.ack, offset, self.flags = \
            struct.unpack_from("!HHIIBB", raw, header)
        self.data = len(raw) - header - (offset >> 4) * 4


def tun(name):
    """Returns the descriptor of a new TUN device in this thread's namespace."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


class Relay:
    """Carries packets between the client's device and those of the servers until SIGTERM or the
    deadline. `routes`: client's port to (index of the server, lane up, lane down)."""

    def __init__(self, client, servers, routes):
        self.client, self.servers, self.routes = client, servers, routes
        self.due, self.number, self.lag, self.ended = [], 0, 0.0, False

    def accept(self, fd, raw, now):
        if raw[0] >> 4 != 4 or raw[9] != 6:
            return
        packet = Packet(raw)
        up = fd == self.client
        route = self.routes.get(packet.source if up else packet.target)
        if not route:
            return
        arrives = route[1 if up else 2].due(now, now - self.began, packet)
        if arrives is not None:
            self.number += 1
            out = self.servers[route[0]] if up else self.client
            heapq.heappush(self.due, (arrives, self.number, out, packet))

    def deliver(self):
        while self.due and self.due[0][0] <= time.monotonic():
            arrives, _, out, packet = heapq.heappop(self.due)
            if not packet.cancelled:
                self.lag = max(self.lag, time.monotonic() - arrives)
                try:
                    os.write(out, packet.raw)
                except OSError:
                    pass

    def run(self, deadline):
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "ended", True))
        ends = [self.client, *self.servers]
        poll = select.epoll()
        for fd in ends:
            poll.register(fd, select.EPOLLIN)
        self.began = time.monotonic()
        while not self.ended and time.monotonic() < deadline:
            wait = min(self.due[0][0] - time.monotonic(), 0.1) if self.due else 0.1
            for fd, _ in poll.poll(max(wait, 0)):
                for _ in range(BATCH):
                    try:
                        raw = os.read(fd, 2048)
                    except BlockingIOError:
                        break
                    self.accept(fd, raw, time.monotonic())
            self.deliver()

    def counts(self):
        return {"lag_s": self.lag,
                **{str(port): {"up": up.counts, "down": down.counts}
                   for port, (_, up, down) in self.routes.items()}}


def carry(client, servers, routes, deadline, out):
    """The relay's process: writes its counts to the descriptor `out` when it ends."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
    except OSError:
        pass
    relay = Relay(client, servers, routes)
    relay.run(deadline)
    with os.fdopen(out, "w") as f:
        json.dump(relay.counts(), f)
