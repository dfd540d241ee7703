# SPDX-License-Identifier: Apache-2.0
"""
Proves that `conns` names the limit and the owner of nginx, redis and memcached connections whose
set-up implies what limits them. What the scenarios' box saw and the namespaces' counters show that
each set-up is what it is meant to be.
"""
import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import time

from lib import check, conns, netns, process, servers

import stage  # a module of the scenarios: lib.conns adds their folder to the path

DISTURBED = "the classes' shares of time depend on when both ends get a CPU"

NAME = "apps-client"    # as /proc has it
RUN_S = 2.5
PR_SET_NAME = 15
NAMES = {"memcached": "memcached", "redis": "redis-server", "nginx": "nginx"}
# Others' connections on this machine cost, too: within a narrow budget calls would be thinned.
OPTIONS = ["--cpu-budget", "5%..60%"]
LIMITED = {"send-buffer", "receiver-window", "zero-window", "delayed-ack", "nagle"}


class Over:
    """A server on b, and what its clients on a did with it over the box, with conns beside them."""

    def __init__(self, kind, rtt_ms, rate_mbit=None, listen=""):
        self.kind, self.rtt_ms, self.rate_mbit, self.listen = kind, rtt_ms, rate_mbit, listen
        self.document, self.box, self.mib, self.rows = None, None, {}, {}
        self.sockets = []

    def connect(self, nodelay=True, rcvbuf=None):
        with netns.inside(self.stage.hosts["a"].namespace):
            it = socket.socket()
        if rcvbuf:
            it.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
        it.settimeout(20)
        it.connect(self.at)
        self.sockets.append(it)
        return it

    def start(self, *args):
        """Another client, a program."""
        with netns.inside(self.stage.hosts["a"].namespace):
            return process.start(args, stdout=subprocess.DEVNULL)

    def run(self, clients):
        """clients(self): what they do, and whose connections those of other processes are."""
        with stage.Stage({"a": {}, "b": {}}) as self.stage, contextlib.ExitStack() as stack:
            if self.rate_mbit:
                self.stage.queue("q", self.rate_mbit, 1000)
            self.stage.path("a", "b", self.rtt_ms / 2)
            self.stage.path("b", "a", self.rtt_ms / 2, "q" if self.rate_mbit else "-")
            self.stage.open()
            for host in self.stage.hosts.values():  # the sysctl takes what all may have, no other
                netns.ip("-n", host.namespace, "route", "replace", "10.80.0.0/16", "dev", host.name,
                         "src", host.v4, "congctl", "cubic")
            with netns.inside(self.stage.hosts["b"].namespace):
                url, server = stack.enter_context(servers.server(
                    self.kind, self.stage.address("b"), (), self.listen))
            self.at = self.stage.address("b"), int(url.rsplit(":", 1)[1])
            before = {name: host.mib() for name, host in self.stage.hosts.items()}
            spaces = [host.namespace for host in self.stage.hosts.values()]
            with conns.beside(OPTIONS, spaces) as document:
                clients(self)
                for name, host in self.stage.hosts.items():
                    now = host.mib()
                    self.mib[name] = {key: now[key] - before[name].get(key, 0) for key in now}
                self.box = self.stage.stats()
            self.document = document["json"]
            for each in self.sockets:
                each.close()
        self.read_result(server)
        return self

    def read_result(self, server):
        """Both ends of each connection, and whose they are."""
        ours = self.document["connections"]
        for row in ours:
            it = Connection(self, row)
            self.rows[row["local"], row["remote"]] = it
            if port_of(row["local"]) == self.port:
                it.owned_by(server.pid, NAMES[self.kind])
            check.equal("congestion control", row["congestion_control"], "cubic")
            check.true("its calls are known", row["calls"] is not None)
        check.true("there are connections", ours)
        for row in ours:
            other = self.rows.get((row["remote"], row["local"]))
            check.equal(f"the other end of {row['local']}", row["peer_cookie"],
                        other and other.row["cookie"])

    @property
    def port(self):
        return self.at[1]

    def client(self, pid=None, name=NAME):
        """The only one that is not the server's, of that owner."""
        found = [it for (_, remote), it in self.rows.items() if port_of(remote) == self.port
                 and it.row["pid"] == (pid or os.getpid())]
        check.equal(f"connections of {name} ({[it.row['pid'] for it in self.rows.values()]})",
                    len(found), 1)
        found[0].owned_by(pid or os.getpid(), name)
        return found[0]

    def server(self, client):
        return self.rows[client.row["remote"], client.row["local"]]

    def flow(self, client):
        """Returns what the box knows about the server's side of that connection."""
        port = port_of(client.row["local"])
        return next(flow["sides"][1] for flow in self.box["flows"] if flow["sport"] == port)

    def queue_busy(self):
        queue = self.box["queues"]["q"]
        return queue["busy_ns"] / (queue["at"] - queue["since"])


class Connection:
    """One end, as conns tells of it."""

    def __init__(self, over, row):
        self.row = row
        self.buffer_problems = [p for p in over.document["problems"] if p["cookie"] == row["cookie"]]

    def owned_by(self, pid, name):
        check.equal(f"owner of {self.row['local']}", (self.row["pid"], self.row["comm"]),
                    (pid, name))
        for each in self.buffer_problems:
            check.equal("application of the problem", each["app"], self.row["app"])

    def problems(self, harmful=True):
        return {each["class"] for each in self.buffer_problems if harmful in (None, each["harmful"])}

    def problem(self, name, side=None):
        return next(each for each in self.buffer_problems if each["class"] == name
                    and side in (None, each["evidence"].get("side")))

    def shares(self, name, low):
        times = self.row["time_ns"]
        share = times[name] / max(1, sum(times[each] for each in conns.TIMES))
        check.between(f"share of {name} ({self})", share, low, 1)
        return share

    def limited(self, name, low):
        """By this for the most part."""
        share = self.shares(name, low)
        check.equal("limit", self.row["limit"], name)
        return share

    def __str__(self):
        times = {name: round(ns / 1e6) for name, ns in self.row["time_ns"].items()}
        return f"{self.row['comm']}, ms {times}, {sorted(self.problems(None))}"

    def without(self, *others):
        """A problem that it has not."""
        check.equal(f"problems that it has not ({self})",
                    (LIMITED - set(others)) & self.problems(), set())


def port_of(address):
    return int(address.rsplit(":", 1)[1])


def window_used(side):
    """Returns the share of the window in use while there was something to send."""
    used = sum(side[f"{state}_ns"] for state in ("used", "full", "zero"))
    return used / max(1, used + side["open_ns"])


# ---- nginx ----

def get_file(over, size, pause_s, **options):
    """As much at a time, with as long a pause."""
    it = over.connect(**options)
    it.sendall(b"GET /file HTTP/1.1\r\nHost: b\r\n\r\n")
    end = time.monotonic() + RUN_S
    while time.monotonic() < end:
        it.recv(size)
        time.sleep(pause_s)


@check.environment(DISTURBED)
def nginx_slow_reader():
    """8K every 10 ms; then the buffer and the window are full."""
    it = Over("nginx", 4).run(lambda over: get_file(over, 8192, 0.01))
    reader = it.client()
    server = it.server(reader)
    used = window_used(it.flow(reader))
    check.between("share of the time in which the window was used", used, 0.8, 1)
    share = server.limited("receiver-window", 0.8 * used)
    server.without("receiver-window", "zero-window")
    check.equal("why the window is small",
                server.problem("receiver-window")["evidence"]["limit"], "receiver-not-reading")
    check.true(f"the reader is reported: {reader}", "receiver-not-reading" in reader.problems())
    return f"{share:.1%} of {used:.1%}"


@check.environment(DISTURBED)
def nginx_send_buffer():
    """8K of send buffer, which are 16K with the overhead, for a path that could take much more."""
    it = Over("nginx", 20, listen=" sndbuf=8k").run(lambda over: get_file(over, 1 << 20, 0))
    reader = it.client()
    server = it.server(reader)
    side = it.flow(reader)
    check.between("share of the time in which the window was used", window_used(side), 0, 0.2)
    share = server.limited("send-buffer", 0.8)
    server.without("send-buffer")
    buffer_problems = server.problem("send-buffer")
    check.equal("it is set", buffer_problems["evidence"]["sndbuf_set"], True)
    return f"{share:.1%}, {side['bytes'] * 8e-6 / RUN_S:.1f} Mbit/s"


@check.environment(DISTURBED)
def nginx_fast_reader():
    """Control: 20 Mbit/s and a long queue; nothing is in the way but the path."""
    it = Over("nginx", 20, rate_mbit=20).run(lambda over: get_file(over, 1 << 20, 0))
    reader = it.client()
    server = it.server(reader)
    check.between("share of the time in which the queue sent", it.queue_busy(), 0.7, 1)
    share = server.limited("congestion", 0.8)
    server.without()
    check.equal("problems of the reader", reader.problems(), set())
    return f"{share:.1%}"


# ---- redis ----

def resp(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def get_reply(it, expected):
    got = b""
    while len(got) < len(expected):
        got += it.recv(65536)
    check.equal("reply", got, expected)


def turns(over, requests, reply, nodelay):
    """Each request in the parts that are given, a call each; how long each one took."""
    it = over.connect(nodelay=nodelay)
    took, end = [], time.monotonic() + RUN_S
    while time.monotonic() < end:
        begin = time.monotonic()
        for part in requests:
            it.sendall(part)
        get_reply(it, reply)
        took.append(time.monotonic() - begin)
    return took


@check.environment(DISTURBED)
def redis_request_reply():
    """One request at a time: the application gives no more, and nothing is wrong."""
    it = Over("redis", 10).run(lambda over: turns(over, [resp(b"SET", b"k", bytes(100))],
                                                  b"+OK\r\n", False))
    client = it.client()
    for end in client, it.server(client):
        end.limited("sender-app", 0.95)
        check.equal(f"problems of {end}", end.problems(), set())


@check.environment(DISTURBED)
def redis_two_writes(nodelay):
    """A request in two calls: Nagle holds the second one until redis's delayed ACK of the first."""
    request = resp(b"SET", b"k", bytes(100))
    took = []
    it = Over("redis", 10).run(lambda over: took.extend(
        turns(over, [request[:20], request[20:]], b"+OK\r\n", nodelay)))
    client = it.client()
    server = it.server(client)
    slow = sum(seconds > 0.02 + 0.025 for seconds in took)
    truth = it.mib["b"]["DelayedACKs"]
    check.between("delayed ACKs of redis's end", server.row["events"]["delayed_acks"],
                  truth - 1, truth + 1)
    if nodelay:
        check.between(f"slow turns of {len(took)}", slow, 0, len(took) // 20)
        check.equal(f"problems of {client}", client.problems(), set())
        return f"{len(took)} turns"
    check.between(f"slow turns of {len(took)}", slow, 15, len(took))
    check.between("for which data was held", client.row["events"]["delayed_acks_harmful"],
                  slow - 2, slow + 1)
    check.true(f"reported: {client}", {"delayed-ack", "nagle"} <= client.problems())
    held_s = sum(seconds - 0.02 for seconds in took if seconds > 0.02 + 0.025)
    client.shares("delayed-ack", 0.6 * held_s / RUN_S)    # it is told from when it is overdue
    check.equal("of redis's end", server.problem("delayed-ack", "ours")["harmful"], True)
    check.equal("of it nothing else", server.problems(), {"delayed-ack"})
    return f"{slow} of {len(took)} turns, {truth} delayed ACKs"


@check.environment(DISTURBED)
def redis_pipelined():
    """redis-benchmark gives 16 requests at a time in one call: as it should be."""
    n = int(16 * RUN_S / 0.01)
    pids = []

    def benchmark(over):
        child = over.start("redis-benchmark", "-h", over.at[0], "-p", over.at[1], "-c", 1, "-P", 16,
                           "-n", n, "-t", "set", "-d", 100, "-q")
        pids.append(child.pid)
        check.equal("redis-benchmark", child.wait(30), 0)

    it = Over("redis", 10).run(benchmark)
    ends = [row for row in it.rows.values() if row.row["pid"] == pids[0]]
    busiest = max(ends, key=lambda end: end.row["bytes"]["sent"])
    busiest.owned_by(pids[0], "redis-benchmark")
    for end in busiest, it.server(busiest):
        end.limited("sender-app", 0.9)
        check.equal(f"problems of {end}", end.problems(), set())
    calls = busiest.row["calls"]
    check.between("send calls", calls["send"], n / 16, n / 16 + 10)
    check.equal("of them small ones in a row", calls["send_small"], 0)
    return f"{calls['send_bytes'] / calls['send']:.0f} bytes a call"


# ---- memcached ----

GET, MISS = b"get a-key-of-some-kind\r\n", b"END\r\n"


@check.environment(DISTURBED)
def memcached_request_reply():
    """Small, and rightly so: one request, one reply."""
    took = []
    it = Over("memcached", 2).run(lambda over: took.extend(turns(over, [GET], MISS, True)))
    client = it.client()
    server = it.server(client)
    for end, size, other in (client, GET, MISS), (server, MISS, GET):
        end.limited("sender-app", 0.95)
        check.equal(f"problems of {end}", end.problems(None), set())
        calls = end.row["calls"]
        check.equal("send calls", calls["send"], len(took))
        check.equal("bytes by calls", (calls["send_bytes"], calls["recv_bytes"]),
                    (len(took) * len(size), len(took) * len(other)))
        check.equal("sizes of them", calls["send_sizes"],
                    [{"le_bytes": 16 if len(size) <= 16 else 64, "calls": len(took)}])
        check.equal("small ones in a row", calls["send_small"], 0)
    return f"{len(took)} turns"


@check.environment(DISTURBED)
def memcached_small_writes(nodelay):
    """50 requests, a call each, before the replies are read."""
    took = []
    it = Over("memcached", 10).run(lambda over: took.extend(
        turns(over, [GET] * 50, MISS * 50, nodelay)))
    client = it.client()
    server = it.server(client)
    calls = client.row["calls"]
    check.equal("send calls", calls["send"], 50 * len(took))
    # Behind each one but the first, but for those behind which a first reply had come already.
    check.between("small ones in a row", calls["send_small"], 40 * len(took), 49 * len(took))
    small = client.problem("small-writes")
    check.equal("calls in its evidence", (small["evidence"]["send_calls"],
                                          small["evidence"]["send_small"]),
                (calls["send"], calls["send_small"]))
    client.limited("sender-app", 0.9)
    # With Nagle the second to the last wait for the first one's acknowledgement.
    check.equal("harmful", small["harmful"], not nodelay)
    client.without()
    check.equal(f"harmful problems of {server}", server.problems(), set())
    return f"{calls['send_small']} of {calls['send']} calls"


if os.geteuid() != 0:
    check.skip("needs root")
ctypes.CDLL(None).prctl(PR_SET_NAME, NAME.encode(), 0, 0, 0)
CASES = [
    (nginx_slow_reader,), (nginx_send_buffer,), (nginx_fast_reader,), (redis_request_reply,),
    (redis_two_writes, False), (redis_two_writes, True), (redis_pipelined,),
    (memcached_request_reply,), (memcached_small_writes, True), (memcached_small_writes, False),
]
check.run([case for case in CASES if not sys.argv[1:] or sys.argv[1] in case[0].__name__])
