# SPDX-License-Identifier: Apache-2.0
"""Proves that the synthetic server answers real clients of each protocol, with a queue that agrees
with its own stamps, the moments of its service times, and stalls; clients that misbehave do no
harm. Control: a server that is twice as fast must fail. Over loopback; needs no root."""
import contextlib
import heapq
import http.client
import math
import os
import re
import shutil
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import tempfile
import time

from lib import check, process, servers
from lib.serving import HOSTLAT, REFUSED, REPLY, Client, Reply, connect, gather, request
from lib.serving import serving

MS = 1000000


def answered(sock, asked, expected):
    sock.sendall(asked)
    got = b""
    while len(got) < len(expected):
        data = sock.recv(1 << 16)
        check.true(f"{got} instead of {expected}", data)
        got += data
    check.equal("answer", got, expected)


# --- Protocols ---

def http_by_a_client(family):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        address = {"v4": "127.0.0.1:0", "v6": "[::1]:0", "unix": f"unix:{path}"}[family]
        with serving("-p", "http", "--reply-size", "5000", addresses=[address]) as it:
            c = http.client.HTTPConnection("::1" if family == "v6" else "127.0.0.1", it.port or 1,
                                           timeout=120)
            if family == "unix":
                c.sock = socket.socket(socket.AF_UNIX)
                c.sock.connect(path)
            for method, body in ("GET", None), ("POST", b"\r\n\r\n" * 30000), ("HEAD", None):
                c.request(method, "/any?x=1", body=body)
                reply = c.getresponse()
                check.equal("status", reply.status, 200)
                check.equal(method, len(reply.read()), 0 if method == "HEAD" else 5000)
            c.request("GET", "/", headers={"Connection": "close"})
            check.equal("last page", len(c.getresponse().read()), 5000)
            c.close()
            check.equal("requests", it.end()["requests"], 4)
        check.true("the socket's file is gone", not os.path.exists(path))


def tls():
    """Pages larger than a record, bodies, a client that speaks no TLS, and files that are none."""
    with tempfile.TemporaryDirectory() as folder:
        cert, key = servers.certificate(folder)
        with serving("-p", "http", "--reply-size", "300K", "--service", "fixed:1ms",
                     "--tls-cert", cert, "--tls-key", key) as it:
            c = http.client.HTTPSConnection("127.0.0.1", it.port, timeout=120,
                                            context=ssl.create_default_context(cafile=cert))
            for body in None, bytes(500000), None:
                c.request("POST" if body else "GET", "/", body=body)
                check.equal("page", len(c.getresponse().read()), 300 << 10)
            c.close()
            with connect(it.port) as s:
                s.sendall(b"GET / HTTP/1.1\r\n\r\n")
                s.settimeout(30)
                while s.recv(1000):
                    pass
            it.end()
            check.equal("requests", it.result["requests"], 3)
            check.equal("errors", it.errors(), {"garbled": 1})
        refused(["127.0.0.1:0", "--tls-cert", cert], 1, "need each other")
        refused(["127.0.0.1:0", "--tls-cert", key, "--tls-key", key], 2, "cannot read a certificate from")
        refused(["127.0.0.1:0", "--tls-cert", cert, "--tls-key", cert], 2, "cannot read a private key")


def memcached_by_hand():
    with serving("-p", "memcached", "--reply-size", "4") as it, connect(it.port) as s:
        answered(s, b"get abc\r\n", b"VALUE abc 0 4\r\nxxxx\r\nEND\r\n")
        answered(s, b"set k 0 0 5\r\n\r\nEND\r\ndelete k\r\n", b"STORED\r\nDELETED\r\n")
        big = 10 << 20
        answered(s, b"set k 0 0 %d\r\n" % big + bytes(big) + b"\r\nwhat\r\n", b"STORED\r\nERROR\r\n")
        s.sendall(b"quit\r\n")
        check.equal("the end", s.recv(10), b"")


def redis_by_its_own(tool):
    path = shutil.which(tool)
    check.true(f"{tool} is installed (redis-tools)", path)
    with serving("-p", "redis", "--reply-size", "3", "--service", "zero") as it:
        if tool == "redis-cli":
            for words, expected in ("PING", "PONG"), ("GET a", "xxx"), ("SET a b", "OK"):
                got = subprocess.run([path, "-p", str(it.port), *words.split()], text=True,
                                     capture_output=True, timeout=120, check=True)
                check.equal(words, got.stdout.strip(), expected)
            return
        for depth in "1", "16":
            got = subprocess.run([path, "-p", str(it.port), "-t", "ping,set,get,mset", "-n", "4000",
                                  "-c", "20", "-P", depth, "-q"], text=True, timeout=120,
                                 capture_output=True, check=True)
            check.equal(f"complaints ({got.stderr})", got.stderr, "")
            check.equal("tests", len(set(re.findall(r"(\w+)[^\r\n]*: [\d.]+ requests", got.stdout))),
                        len({"PING_INLINE", "PING_MBULK", "SET", "GET", "MSET"}))
        requests = it.end()["requests"]
        # And a CONFIG or two of each run.
        check.between("requests", requests, 2 * 5 * 4000, 2 * 5 * 4000 + 20)


def echo_and_synthetic_over(family):
    address = {"udp": "udp:127.0.0.1:0", "udp6": "udp:[::1]:0", "r2p2": "udp:127.0.0.1:0"}[family]
    v6 = family == "udp6"
    protocol = family if family == "r2p2" else "synthetic"
    head = struct.Struct(">BBBBHH")
    with serving("-p", protocol, addresses=[address]) as it:
        s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(30)
        s.connect(("::1" if v6 else "127.0.0.1", it.port))
        for i, size in enumerate((REPLY.size, 1000, 60000)):
            packet = request(i, 1000 * i, reply_size=size)
            s.send((head.pack(0xcc, 8, 0, 0xc0, i, 1) if protocol == "r2p2" else b"") + packet)
            got = s.recv(1 << 16)
            if protocol == "r2p2":
                check.equal("header", head.unpack_from(got), (0xcc, 8, 1 << 4, 0xc0, i, 1))
                got = got[head.size:]
            reply = Reply(got)
            check.equal("id and size", (reply.id, reply.size, len(got)), (i, size, size))
            check.true("served in time", reply.out >= reply.at + 1000 * i)
        # More than a datagram holds, and what is none of it.
        packet = request(9, 0, reply_size=1 << 20)
        s.send((head.pack(0xcc, 8, 0, 0xc0, 9, 1) if protocol == "r2p2" else b"") + packet)
        got = s.recv(1 << 16)
        check.equal("refused", Reply(got[-REPLY.size:]).flags, REFUSED)
        s.send(b"what?")
        s.send(b"")
        packet = request(10, 0)     # the reply to what comes last: it has read all before that
        s.send((head.pack(0xcc, 8, 0, 0xc0, 10, 1) if protocol == "r2p2" else b"") + packet)
        check.equal("the last one", Reply(s.recv(1 << 16)[-REPLY.size:]).id, 10)
        it.end()
        check.equal("errors", it.errors(), {"garbled": 2, "refused": 1})
        check.equal("replies", it.result["replies"], 5)


# --- The queue ---

def departures(replies, servers, stall=None):
    """When each should have left, in the order in which they came."""
    free = [0] * servers
    for r in sorted(replies, key=lambda r: r.at):
        start = max(r.at, free[0])
        left = r.service
        if stall:
            length, every = stall
            while True:
                start = max(start, start - start % every + length)
                room = start - start % every + every - start
                if left <= room:
                    break
                left -= room
                start += room
        heapq.heapreplace(free, start + left)
        yield r, start + left


def obey(replies, workers, slower=1):
    """Nobody left before their time; most left soon after it."""
    for r in replies:
        r.service = int(r.service * slower)
    late = sorted(r.out - due for r, due in departures(replies, workers))
    check.true(f"the earliest left {late[0]} ns after its time", late[0] >= 0)
    check.true(f"most left {late[len(late) // 2]} ns after it", late[len(late) // 2] < 50 * MS)
    return late


def latencies_as_stamped(told, replies):
    """The server's latencies are those between the stamps of its replies."""
    stamped = sorted(r.out - r.at for r in replies)
    check.equal("latencies", told["count"], len(replies))
    for row in told["quantiles"][:2]:
        true = stamped[int(row["q"] * len(stamped))]
        check.true(f"q {row['q']}: {row['ns']} ns, stamped {true} ns", abs(row["ns"] / true - 1) < 0.1)


@check.busy
def first_come_first_served(workers, threads):
    """The times of departure are those of a queue of `workers`, by the stamps of arrival."""
    n, clients = 3000, 5
    with serving("--service", "exponential:200us", "-w", workers, "-t", threads) as it:
        those = [Client(it.port) for _ in range(clients)]
        for i in range(n):
            those[i % clients].send(request(i))
            if i % 100 == 0:
                time.sleep(0.01)
        replies = gather(those, n)
        check.equal("ids", sorted(r.id for r in replies), list(range(n)))
        late = obey(replies, workers)
        result = it.end()
        lag = result["lag"][0]
        check.equal("busy", result["busy_ns"], sum(r.service for r in replies))
        check.true(f"departures that waited: {lag['count']}", lag["count"] > n // 2)
        latencies_as_stamped(result["latency"][0], replies)
        check.must_fail("a server that is twice as fast", obey, replies, workers, 2)
    return f"late by {late[n // 2] / 1000:.0f} us (median)"


def in_order_without_ids():
    """memcached has no ids: a short request's reply waits for a long one's before it."""
    with serving("-p", "memcached", "--reply-size", "1", "-w", 8, "--service",
                 "bimodal:0.5:1us:3ms", "--seed", "3") as it, connect(it.port) as s:
        keys = [b"k%d" % i for i in range(300)]
        answered(s, b"".join(b"get %s\r\n" % k for k in keys),
                 b"".join(b"VALUE %s 0 1\r\nx\r\nEND\r\n" % k for k in keys))


def services(text, seed, n=20000):
    with serving("--service", text, "--seed", seed) as it:
        c = Client(it.port)
        for i in range(0, n, 500):
            c.send(*(request(k) for k in range(i, i + 500)))
        return [r.service for r in sorted(c.replies(n), key=lambda r: r.at)]


def service_times(text, mean, cv):
    """Mean and coefficient of variation; the seed's, and no other's."""
    n = 20000
    got = services(text, 1)
    # The variance of a sample's variance depends on the fourth moment: lognormal's is large.
    slack = 0.25 if text.startswith("lognormal") else 0.06
    check.between("mean", statistics.fmean(got), mean * (1 - 6 * (cv + 0.001) / math.sqrt(n)),
                  mean * (1 + 6 * (cv + 0.001) / math.sqrt(n)))
    check.between("coefficient of variation", statistics.pstdev(got) / mean, cv * (1 - slack),
                  cv * (1 + slack))
    check.equal("the same seed", services(text, 1) == got, True)
    if cv:
        check.equal("another seed", services(text, 2) == got, False)


def requests_set_their_service_time():
    with serving() as it:
        c = Client(it.port)
        c.send(*(request(i, i * 1000) for i in range(1000)))
        for r in c.replies(1000):
            check.equal("service", r.service, r.id * 1000)
            check.true("the time is taken", r.out >= r.at + r.service)


def stalled():
    length, every = 40 * MS, 100 * MS
    with serving("--service", "fixed:20us", "--stall", "40ms/100ms") as it:
        clients = [Client(it.port) for _ in range(4)]
        n = 0
        end = time.monotonic() + 1
        while time.monotonic() < end:
            clients[n % 4].send(request(n))
            n += 1
            time.sleep(0.001)
        replies = gather(clients, n)
    for r, due in departures(replies, 1, (length, every)):
        check.true(f"{due - r.out} ns too early", r.out >= due)
        check.true("nothing is due in a stall", (due - 1) % every >= length)
    inside = [r for r in replies if r.at % every < length]
    check.true(f"{len(inside)} of {n} came in a stall", len(inside) > n / 10)
    waits = [r.out - r.at for r in inside]
    check.true(f"they waited {statistics.fmean(waits)} ns", statistics.fmean(waits) > 10 * MS)
    return f"{len(inside)} of {n} came in a stall and waited {statistics.fmean(waits) / MS:.0f} ms"


def spinning(workers):
    with serving("--service-mode", "spin", "--service", "fixed:300us", "-w", workers) as it:
        clients = [Client(it.port) for _ in range(8)]
        for i in range(400):
            clients[i % 8].send(request(i))
        for r in gather(clients, 400):
            check.true("the time is taken", r.out >= r.at + 300000)
        result = it.end()
        check.equal("busy", result["busy_ns"], 400 * 300000)
        # A thread that is not running while it spins uses less: so not all of it.
        check.true(f"CPU: {result['cpu_user_ns']}", result["cpu_user_ns"] > 10 * MS)


# --- Clients ---

def a_thousand_connections(threads):
    with serving("--service", "exponential:1us", "-t", threads) as it:
        clients = [Client(it.port) for _ in range(1000)]
        for i, c in enumerate(clients):
            c.send(request(i))
        check.equal("ids", sorted(r.id for r in gather(clients, 1000)), list(range(1000)))
        result = it.end()
        check.equal("connections", result["connections"],
                    {"accepted": 1000, "closed": 0, "reset": 0, "open": 1000})


def half_closed():
    """A client that stops sending still gets all replies, and then the end of the connection."""
    with serving("--service", "fixed:2ms") as it:
        c = Client(it.port)
        c.send(*(request(i) for i in range(20)), b"half a request"[:10])
        c.socket.shutdown(socket.SHUT_WR)
        check.equal("replies", [r.id for r in c.replies(20)], list(range(20)))
        check.equal("the end", c.socket.recv(1), b"")
        check.equal("closed", it.end()["connections"]["closed"], 1)


def reset():
    """A reset connection affects no others: they are served, and its lost replies are counted."""
    with serving("--service", "fixed:5ms") as it:
        other = Client(it.port)
        for _ in range(50):
            c = Client(it.port)
            c.send(*(request(i) for i in range(3)))
            other.send(request(1))
            c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            c.socket.close()
            other.replies(1)
        result = it.end()
        check.equal("requests of the other are answered", result["replies"] >= 50, True)
        gone = result["connections"]
        check.equal("connections that ended", gone["closed"] + gone["reset"], 50)
        check.equal("open", gone["open"], 1)
        # replies still queued when their connection ended, and requests that were not read
        check.equal("balance", result["requests"] - result["replies"],
                    it.errors().get("unsent", 0))


def garbage():
    """Each protocol closes on what isn't its own, and goes on for others."""
    for protocol in "synthetic", "echo", "memcached", "redis", "http":
        with serving("-p", protocol) as it:
            for junk in b"\x16\x03\x01" + os.urandom(2000), b"\xff" * 70000, b"\r\n\r\n" * 3:
                with connect(it.port) as s, contextlib.suppress(OSError):
                    s.sendall(junk)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(1 << 16):
                        pass
            it.end()
            check.equal(f"{protocol}: open", it.result["connections"]["open"], 0)
            check.true(f"{protocol}: counted", it.errors().get("garbled", 0) >= 1)


def memory_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+) kB", f.read()).group(1))


def nobody_reads():
    """A peer that asks for much and takes nothing costs the server nothing."""
    size, n = 8 << 20, 200
    with serving() as it:
        c = Client(it.port)
        c.send(request(0))
        c.replies(1)
        before = memory_of(it.process.pid)
        c.send(*(request(i, 0, reply_size=size) for i in range(n)))
        time.sleep(0.3)
        check.true(f"grew by {memory_of(it.process.pid) - before} kB",
                   memory_of(it.process.pid) - before < 4096)
        left = size * 3
        while left:
            left -= len(c.socket.recv(min(left, 1 << 20)))
        c.send(request(n))
        check.equal("others are served", len(Client(it.port).socket.getsockname()), 2)


# --- The command ---

def refused(args, code, words):
    got = subprocess.run([HOSTLAT, "serve", *args], capture_output=True, text=True, timeout=120,
                         check=False)
    check.equal(f"exit code ({got.stderr})", got.returncode, code)
    check.true(f"{got.stderr} holds {words}", words in got.stderr)


def usage():
    refused([], 1, "ADDRESS is missing")
    refused(["localhost:1"], 1, "'localhost:1' is not an address: use an address and a port")
    refused(["udp:127.0.0.1:0", "-p", "http"], 1, "http works over TCP and Unix sockets only")
    refused(["127.0.0.1:0", "-p", "r2p2"], 1, "r2p2 works over UDP")
    refused(["127.0.0.1:0", "--service", "fast"], 1, "--service: 'fast' is not a distribution")
    refused(["127.0.0.1:0", "--stall", "1s/1s"], 1, "--stall takes LENGTH/PERIOD")
    refused(["127.0.0.1:0", "--stall", "1s"], 1, "--stall takes LENGTH/PERIOD")
    refused(["127.0.0.1:0", "--service-mode", "spin", "-w", "65"], 1, "at most 64")
    refused(["192.0.2.1:80"], 2, "this host does not have that address")
    refused(["unix:/nowhere/at/all"], 2, "No such file")


def in_use():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/socket"
        with serving(addresses=["127.0.0.1:0", f"unix:{path}"]) as it:
            refused([f"127.0.0.1:{it.port}"], 2, "another program listens on this address; stop that program, or choose")
            refused([f"unix:{path}"], 2, "another program listens on this address")
            # One that was killed leaves its socket behind: that is no reason to refuse.
            it.process.kill()
            it.process.wait()
            check.true("left behind", os.path.exists(path))
            with serving(addresses=[f"unix:{path}"]):
                pass
            with open(path, "w", encoding="ascii"):
                pass
            refused([f"unix:{path}"], 2, "another program listens on this address")
            check.true("a file is left alone", os.path.exists(path))
            it.result = {}


def ended_by(name):
    """Orderly, with a summary, in the midst of work."""
    with serving("--service", "fixed:1h") as it:
        c = Client(it.port)
        c.send(request(0, 0))
        c.replies(1)
        c.send(*(request(i) for i in range(10)))
        result = it.end(getattr(signal, name))
        check.equal("waiting", result["waiting"], result["requests"] - 1)
        check.equal("replies", result["replies"], 1)
        check.equal("open", result["connections"]["open"], 1)


def no_descriptors():
    """Connections that there is nothing left for wait; they are served when there is."""
    limit = ["prlimit", "--nofile=40:40"]
    p = process.start([*limit, HOSTLAT, "serve", "127.0.0.1:0", "--json"], text=True,
                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    port = int(p.stderr.readline().rsplit(":", 1)[1])
    clients = [Client(port) for _ in range(60)]
    time.sleep(0.3)
    for c in clients[:30]:
        c.socket.close()
    for c in clients[30:]:
        c.send(request(5))
    for c in clients[30:]:
        check.equal("id", c.replies(1)[0].id, 5)
    p.send_signal(signal.SIGTERM)
    out, _ = p.communicate(timeout=120)
    check.equal("exit code", p.returncode, 0)
    check.true("counted", '"not-accepted"' in out)


check.run([
    (http_by_a_client, "v4"), (http_by_a_client, "v6"), (http_by_a_client, "unix"),
    (tls,), (memcached_by_hand,),
    (redis_by_its_own, "redis-cli"), (redis_by_its_own, "redis-benchmark"),
    (echo_and_synthetic_over, "udp"), (echo_and_synthetic_over, "udp6"),
    (echo_and_synthetic_over, "r2p2"),
    (first_come_first_served, 1, 1), (first_come_first_served, 3, 1),
    (first_come_first_served, 1, 3), (first_come_first_served, 4, 2),
    (in_order_without_ids,),
    (service_times, "fixed:3us", 3000, 0), (service_times, "exponential:3us", 3000, 1),
    (service_times, "bimodal:0.9:1us:11us", 2000, 1.5), (service_times, "lognormal:3us:2", 3000, 2),
    (requests_set_their_service_time,),
    (stalled,), (spinning, 1), (spinning, 2),
    (a_thousand_connections, 1), (a_thousand_connections, 3),
    (half_closed,), (reset,), (garbage,), (nobody_reads,),
    (usage,), (in_use,), (ended_by, "SIGINT"), (ended_by, "SIGTERM"), (no_descriptors,),
])
