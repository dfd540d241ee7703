# SPDX-License-Identifier: Apache-2.0
"""
Ten scenarios of a second author, who had read what a user reads, and not the rules of
`hostlat conns`. The truths follow from the way the traffic is made; they were committed before
hostlat first saw it.

Each scenario has the four healthy connections of World.controls() beside its own. Connections that
look alarming and are healthy have no truth, or only that of their limit or state.
"""
import contextlib
import fcntl
import socket
import struct
import termios
import time

from conns_scenarios import apps
from conns_scenarios.path import MBIT, SYN_FIN_RST, Lane
from conns_scenarios.truth import LOSS, WINDOW, Scenarios, Truth, one

other = Scenarios()

TIMER = frozenset({"timeout", "tail-loss-probe"})


def told_by(world, name, end):
    """Returns the figures of that end's function, {} if it has none."""
    return world.connections[name].result.get(end, {})


def held_by_reader(name, *sets):
    """Truths of a connection whose client reads more slowly than its server sends; `sets` of the server."""
    return [Truth(name, "server", *sets, named=(WINDOW,), may=WINDOW),
            Truth(name, "client", told=(one("receiver-not-reading"),), may=one("receiver-not-reading"))]


# 1 ---------------------------------------------------------------------------------------------------

@other.add("short-rpc-loss", "Requests of one packet with replies of one packet; of one connection 6 % of the "
           "replies are lost. Another one's server only answers after 120 ms, as late as a lost packet would be.")
def short_rpc_loss(world):
    world.connect("lossy", apps.rpc_server(200, 600), apps.rpc_client(200, 600, 0.03), Lane(), Lane(loss=0.06))
    world.connect("late-replies", apps.rpc_server(200, 600, work_s=0.12), apps.rpc_client(200, 600, 0.03),
                  Lane(), Lane())
    world.controls()
    world.check("replies are lost", lambda w: (
        w.lane_counts("lossy", "down")["lost"] >= 5, w.lane_counts("lossy", "down")))
    world.check("most requests are fast, lost ones wait for a timer", lambda w: (
        told_by(w, "lossy", "client").get("p50_s", 1) < 0.04 and told_by(w, "lossy", "client")["max_s"] > 0.15,
        told_by(w, "lossy", "client")))
    # A reply is alone on the way: only a timer finds its loss. The request it acknowledges did arrive.
    return [Truth("lossy", "server", named=(TIMER,), may=TIMER | {"spurious"}),
            Truth("lossy", "client", may=one("spurious")),
            Truth("late-replies", "client", limit=one("sender-app")),
            Truth("late-replies", "server", limit=one("sender-app"))]


# 2 ---------------------------------------------------------------------------------------------------

KEY = 40


def typing(every_s):
    """Sends a keystroke at fixed times, whether the echo of the last one is there or not."""
    def run(s, world):
        apps.nodelay(s)
        s.setblocking(False)
        sent, took, got, due = [], [], 0, time.monotonic()
        while world.left():
            sent.append(time.monotonic())
            s.send(b"k" * KEY)
            due += every_s
            while time.monotonic() < due:
                try:
                    got += len(s.recv(4096))
                except BlockingIOError:
                    time.sleep(0.005)
                while len(took) < got // KEY:
                    took.append(time.monotonic() - sent[len(took)])
        return apps.times(took)
    return run


def echo(s, world):
    apps.nodelay(s)
    while world.left():
        apps.receive(s, KEY, world)
        apps.give(s, b"e" * KEY, world)


@other.add("bufferbloat", "A backup fills the uplink of 8 Mbit/s, whose buffer holds seconds and drops nothing. "
           "Somebody types over the same uplink: the round trip is many times the path's 20 ms.")
def bufferbloat(world):
    uplink = Lane(0.01, 8 * MBIT, queue=16 << 20)
    world.connect("backup", apps.sink, apps.bulk, uplink, Lane(0.01))
    world.connect("typing", echo, typing(0.1), uplink, Lane(0.01))
    world.controls()
    world.check("the uplink is busy and drops nothing", lambda w: (
        told_by(w, "backup", "server").get("received", 0) > 0.6 * 8 * MBIT * w.seconds and
        not w.lane_counts("backup", "up")["overflowed"], (told_by(w, "backup", "server"), w.lane_counts("backup", "up"))))
    world.check("echoes wait in the queue", lambda w: (
        told_by(w, "typing", "client").get("p50_s", 0) > 0.05, told_by(w, "typing", "client")))
    return [Truth("backup", "client", limit=one("congestion"), part=one("window"), may=one("spurious")),
            Truth("typing", "client", limit=one("sender-app"), may=one("spurious")),
            Truth("typing", "server", limit=one("sender-app"), may=one("spurious"))]


# 3 ---------------------------------------------------------------------------------------------------

KEEPALIVES = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1),
              (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)]


def byte_by_byte(s, world):
    got = 0
    while world.left():
        try:
            got += len(s.recv(1))
        except TimeoutError:
            continue
    return {"received": got}


def both_ways(s, world):
    """Writes 3 KB each 20 ms, and reads what comes."""
    apps.nodelay(s)
    due, got = time.monotonic(), 0
    while world.left():
        apps.give(s, b"w" * 3000, world)
        due = max(due + 0.02, time.monotonic())
        while (left := due - time.monotonic()) > 0:
            s.settimeout(max(left, 0.001))
            try:
                got += len(s.recv(apps.CHUNK))
            except TimeoutError:
                pass
        s.settimeout(1)
    return {"received": got}


@other.add("waits-that-are-fine", "Nothing is wrong: a browser that thinks between pages, a long poll, a server that "
           "takes 100 ms for each tiny reply, small requests without TCP_NODELAY, one in a call, keepalive probes, a "
           "client that reads byte by byte, and streams in both directions.")
def fine(world):
    world.connect("thinks", apps.rpc_server(400, 12000), apps.rpc_client(400, 12000, 1.2), Lane(0.02), Lane(0.02))
    world.connect("long-poll", apps.rpc_server(300, 900, work_s=2), apps.rpc_client(300, 900, 0), Lane(), Lane())
    world.connect("tiny-replies", apps.rpc_server(100, 20, work_s=0.1), apps.rpc_client(100, 20, 0), Lane(), Lane())
    world.connect("no-nodelay", apps.rpc_server(100, 20, work_s=0.06),
                  apps.rpc_client(100, 20, 0.02, no_delay=False), Lane(), Lane())
    world.connect("keepalive", apps.idle, apps.idle, Lane(), Lane(), options={"client": KEEPALIVES})
    world.connect("byte-by-byte", apps.stream(200, 0.02), byte_by_byte)
    world.connect("both-ways", both_ways, both_ways, Lane(), Lane())
    world.controls()
    world.check("replies take 100 ms", lambda w: (
        0.1 < told_by(w, "tiny-replies", "client").get("p50_s", 0) < 0.14, told_by(w, "tiny-replies", "client")))
    world.check("keepalives are sent", lambda w: (
        w.lane_counts("keepalive", "up")["packets"] > 6, w.lane_counts("keepalive", "up")))
    world.check("the long poll is answered", lambda w: (
        w.lane_counts("long-poll", "down")["packets"] > 8, w.lane_counts("long-poll", "down")))
    world.check("both ways flow", lambda w: (
        all(told_by(w, "both-ways", end).get("received", 0) > 0.6 * 150_000 * w.seconds
            for end in ("client", "server")), w.connections["both-ways"].result))
    world.check("all bytes are read", lambda w: (
        told_by(w, "byte-by-byte", "client").get("received", 0) > 0.6 * 10_000 * w.seconds,
        told_by(w, "byte-by-byte", "client")))
    names = "thinks", "long-poll", "tiny-replies", "no-nodelay"
    states = {"long-poll": one("awaiting-reply"), "tiny-replies": one("awaiting-reply")}
    return [Truth(name, "client", limit=one("sender-app"), state=states.get(name, frozenset())) for name in names] + \
        [Truth("keepalive", "client", state=one("idle")), Truth("byte-by-byte", "server", limit=one("sender-app")),
         Truth("both-ways", "client", limit=one("sender-app")), Truth("both-ways", "server", limit=one("sender-app"))]


# 4 ---------------------------------------------------------------------------------------------------

@other.add("page-after-pause", "A client far away, 80 ms, fetches 300 KB each time after a pause of 1.5 s: the server's "
           "window has shrunk meanwhile. A second client's pages of 12 KB fit the window that is left.")
def page_after_pause(world):
    world.connect("large-pages", apps.rpc_server(300, 300_000), apps.rpc_client(300, 300_000, 1.5),
                  Lane(0.04), Lane(0.04))
    world.connect("small-pages", apps.rpc_server(300, 12_000), apps.rpc_client(300, 12_000, 1.5),
                  Lane(0.04), Lane(0.04))
    world.controls()
    world.check("a large page takes at least two round trips more", lambda w: (
        told_by(w, "large-pages", "client").get("p50_s", 0) > 0.24, told_by(w, "large-pages", "client")))
    world.check("a small page takes one round trip", lambda w: (
        told_by(w, "small-pages", "client").get("p50_s", 1) < 0.12, told_by(w, "small-pages", "client")))
    return [Truth("large-pages", "server", limit=one("sender-app"), named=(one("slow-start-after-idle"),)),
            Truth("small-pages", "server", limit=one("sender-app"))]


# 5 ---------------------------------------------------------------------------------------------------

def buffer(option):
    return [(socket.SOL_SOCKET, option, 16384)]


@other.add("fixed-buffers", "A path of 80 ms: one server always has data and sets SO_SNDBUF to 16 KiB; of another one "
           "the client sets SO_RCVBUF to 16 KiB and reads at once all that comes; a third server sets SO_SNDBUF "
           "likewise, and writes 1 KB each 50 ms, which has room.")
def fixed_buffers(world):
    world.connect("sndbuf", apps.bulk, apps.sink, Lane(0.04), Lane(0.04),
                  options={"server": buffer(socket.SO_SNDBUF)})
    world.connect("rcvbuf", apps.bulk, apps.sink, Lane(0.04), Lane(0.04),
                  options={"client": buffer(socket.SO_RCVBUF)})
    world.connect("sndbuf-enough", apps.stream(1000, 0.05), apps.sink, Lane(0.04), Lane(0.04),
                  options={"server": buffer(socket.SO_SNDBUF)})
    world.controls()
    # The kernel doubles both sizes, keeps half of the second for itself, and lets one packet of up to 64 KiB,
    # which the device has not split yet, exceed the first.
    for name, most in (("sndbuf", 98304), ("rcvbuf", 32768)):
        world.check(f"{name} gets a buffer per round trip", lambda w, name=name, most=most: (
            8192 < told_by(w, name, "client").get("received", 0) / w.seconds * 0.08 < most,
            told_by(w, name, "client")))
    return [Truth("sndbuf", "server", limit=one("send-buffer"), named=(one("send-buffer"),)),
            Truth("rcvbuf", "server", limit=one("receiver-window"), named=(one("receiver-window"),)),
            Truth("sndbuf-enough", "server", limit=one("sender-app"))]


# 6 ---------------------------------------------------------------------------------------------------

def pass_on(pair):
    """The proxy's end to the backend: the connection goes to the process that serves the client."""
    def run(s, world):
        socket.send_fds(pair, [b"b"], [s.fileno()])
    return run


def proxy(pair):
    """The proxy's end to the client: reads from the backend, writes to the client, one after the other."""
    def run(s, world):
        pair.settimeout(5)
        fds = socket.recv_fds(pair, 1, 1)[1]
        passed = 0
        with socket.socket(fileno=fds[0]) as backend, contextlib.suppress(OSError):     # the client is gone
            backend.settimeout(1)
            while world.left():
                try:
                    data = backend.recv(16384)
                except TimeoutError:
                    continue
                if not data:
                    break
                apps.give(s, data, world)
                passed += len(data)
        return {"passed": passed}
    return run


@other.add("proxy", "A proxy in one process: the backend always has data, the client reads 8 KB in 20 ms; the proxy "
           "reads from the backend no faster than the client takes. Another proxy's backend makes 400 KB/s, and its "
           "client takes them.")
def through_proxy(world):
    for name, backend, client in (("slow", apps.bulk, apps.slow_sink(8192, 0.02)),
                                  ("fast", apps.stream(16000, 0.04), apps.sink)):
        pair = socket.socketpair()
        for end in pair:
            world.at_end(end.close)
        world.connect(f"{name}-backend", backend, pass_on(pair[0]))
        world.connect(f"{name}-client", proxy(pair[1]), client, Lane(), Lane())
    world.controls()
    world.check("the client takes less than 410 KB/s", lambda w: (
        0 < told_by(w, "slow-client", "client").get("received", 0) < 410_000 * w.seconds,
        told_by(w, "slow-client", "client")))
    world.check("the backend waits for the proxy", lambda w: (
        0 < told_by(w, "slow-client", "server").get("passed", 0) < 1_500_000 * w.seconds,
        (told_by(w, "slow-client", "server"), told_by(w, "slow-backend", "server"))))
    world.check("the other proxy passes all", lambda w: (
        told_by(w, "fast-client", "client").get("received", 0) > 0.6 * 400_000 * w.seconds,
        told_by(w, "fast-client", "client")))
    limit = one("receiver-window")
    return [*held_by_reader("slow-backend", limit), *held_by_reader("slow-client", limit),
            Truth("fast-backend", "server", limit=one("sender-app")),
            Truth("fast-client", "server", limit=one("sender-app"))]


# 7 ---------------------------------------------------------------------------------------------------

class LosesAcks(Lane):
    """Drops the part `ack_loss` of the packets without data."""

    def __init__(self, ack_loss, **options):
        super().__init__(**options)
        self.ack_loss = ack_loss
        self.counts["acks_lost"] = 0

    def due(self, now, since, packet):
        if not packet.data and not packet.flags & SYN_FIN_RST and self.random.random() < self.ack_loss:
            self.counts["acks_lost"] += 1
            return None
        return super().due(now, since, packet)


@other.add("ack-loss", "The way back loses 30 % of the acknowledgements and no data. A stream and requests do not "
           "notice: later packets acknowledge as much. A server that sends one message each 400 ms sends again what "
           "has arrived.")
def ack_loss(world):
    world.connect("stream", apps.stream(12000, 0.02), apps.sink, LosesAcks(0.3), Lane())
    world.connect("requests", apps.rpc_server(300, 4000), apps.rpc_client(300, 4000, 0.02), LosesAcks(0.3), Lane())
    world.connect("messages", apps.stream(500, 0.4), apps.sink, LosesAcks(0.3), Lane())
    world.controls()
    for name, least in (("stream", 100), ("messages", 5)):
        world.check(f"acknowledgements of {name} are lost", lambda w, name=name, least=least: (
            w.lane_counts(name, "up")["acks_lost"] >= least and not w.lane_counts(name, "down")["lost"],
            w.lane_counts(name, "up")))
    world.check("messages are sent again", lambda w: (
        w.lane_counts("messages", "down")["packets"] > w.seconds / 0.4 + 5, w.lane_counts("messages", "down")))
    return [Truth("stream", "server", limit=one("sender-app"), may=one("spurious")),
            Truth("requests", "client", limit=one("sender-app"), may=one("spurious")),
            Truth("requests", "server", may=one("spurious")),
            Truth("messages", "server", limit=one("sender-app"), told=(one("spurious"),), may=one("spurious"))]


# 8 ---------------------------------------------------------------------------------------------------

class Policed(Lane):
    """Drops what exceeds a token bucket of `burst` bytes that gets `tokens_rate` bytes/s; has no queue."""

    def __init__(self, tokens_rate, burst, **options):
        super().__init__(**options)
        self.tokens_rate, self.burst = tokens_rate, burst
        self.tokens, self.filled = burst, 0.0
        self.counts["policed"] = 0

    def due(self, now, since, packet):
        self.tokens = min(self.burst, self.tokens + (now - self.filled) * self.tokens_rate)
        self.filled = now
        if self.tokens < len(packet.raw):
            self.counts["policed"] += 1
            return None
        self.tokens -= len(packet.raw)
        return super().due(now, since, packet)


@other.add("drops", "A download through a policer of 8 Mbit/s that drops what is too much; a stream of 1.6 Mbit/s through "
           "such a policer; a download over a last mile that loses 2 % of the packets.")
def drops(world):
    world.connect("policed", apps.bulk, apps.sink, Lane(0.01), Policed(8 * MBIT, 30_000, delay=0.01))
    world.connect("below-policer", apps.stream(4000, 0.02), apps.sink, Lane(0.01),
                  Policed(8 * MBIT, 30_000, delay=0.01))
    world.connect("last-mile", apps.bulk, apps.sink, Lane(0.015), Lane(0.015, loss=0.02))
    world.controls()
    world.check("the policer drops of one", lambda w: (
        w.lane_counts("policed", "down")["policed"] > 20 and not w.lane_counts("below-policer", "down")["policed"],
        (w.lane_counts("policed", "down"), w.lane_counts("below-policer", "down"))))
    world.check("the last mile loses", lambda w: (
        w.lane_counts("last-mile", "down")["lost"] > 20, w.lane_counts("last-mile", "down")))
    return [Truth("policed", "server", limit=one("congestion"), named=(LOSS,), may=LOSS | {"spurious"}),
            Truth("last-mile", "server", limit=one("congestion"), named=(one("fast-retransmit"),),
                  may=LOSS | {"spurious"}),
            Truth("below-policer", "server", limit=one("sender-app"))]


# 9 ---------------------------------------------------------------------------------------------------

def blocked_now_and_then(every_s, blocked_s):
    """Reads at once, but an event loop that is blocked at fixed times reads nothing meanwhile."""
    def run(s, world):
        due, unread = time.monotonic() + every_s, []
        while world.left():
            if time.monotonic() >= due:
                time.sleep(blocked_s)
                unread.append(struct.unpack("i", fcntl.ioctl(s, termios.FIONREAD, bytes(4)))[0])
                due = time.monotonic() + every_s
            try:
                if not s.recv(apps.CHUNK):
                    break
            except TimeoutError:
                continue
        return {"stops": len(unread), "unread": max(unread, default=0)}
    return run


@other.add("blocked-event-loop", "A client's event loop is blocked for 300 ms, once in 1.2 s, with a receive buffer of "
           "64 KiB: its server sends 1 MB/s, which does not fit. Another one is blocked likewise, and 100 KB/s fit.")
def blocked_event_loop(world):
    options = {"client": [(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)]}
    world.connect("too-much", apps.stream(20000, 0.02), blocked_now_and_then(0.9, 0.3), Lane(), Lane(),
                  options=options)
    world.connect("fits", apps.stream(2000, 0.02), blocked_now_and_then(0.9, 0.3), Lane(), Lane(), options=options)
    world.controls()
    world.check("the buffer is full", lambda w: (
        told_by(w, "too-much", "client").get("stops", 0) > 6 and
        40_000 < told_by(w, "too-much", "client")["unread"] < 140_000, told_by(w, "too-much", "client")))
    world.check("the other one's is not", lambda w: (
        told_by(w, "fits", "client").get("stops", 0) > 6 and
        15_000 < told_by(w, "fits", "client")["unread"] < 40_000, told_by(w, "fits", "client")))
    return [*held_by_reader("too-much"), Truth("fits", "server", limit=one("sender-app"))]


# 10 --------------------------------------------------------------------------------------------------

@other.add("one-of-30", "30 clients of one service, each fetches 6 KB each 0.2 s. The path to one loses 6 % of the data "
           "packets, another one is 150 ms away.")
def one_of_30(world):
    delays = {7: 0.075}
    for i in range(30):
        delay = delays.get(i, 0.005)
        world.connect(f"client-{i}", apps.rpc_server(300, 6000), apps.rpc_client(300, 6000, 0.2),
                      Lane(delay), Lane(delay, loss=0.06 if i == 17 else 0), vip=True)
    world.controls()
    world.check("packets to one are lost", lambda w: (
        w.lane_counts("client-17", "down")["lost"] >= 8, w.lane_counts("client-17", "down")))
    world.check("the others are served", lambda w: (
        all(told_by(w, f"client-{i}", "client").get("count", 0) > w.seconds for i in range(30)),
        [told_by(w, f"client-{i}", "client").get("count", 0) for i in range(30)]))
    return [Truth("client-17", "server", named=(LOSS,), may=LOSS | {"spurious"}),
            Truth("client-17", "client", may=one("spurious")),
            Truth("client-7", "server", limit=one("sender-app"))]
