# SPDX-License-Identifier: Apache-2.0
"""Proves that HTTP/2 and gRPC requests are answered once each by nghttpd, nginx and @grpc/grpc-js,
and by servers that refuse streams, go away, limit streams or windows, or fail: what they left
unprocessed goes out again, the rest fails by the name of its error. Bad inputs say what is wrong."""
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

from lib import badserver, check, h2server, npm, process, servers
from lib.h2server import Peer
from lib.loading import load, quantile
from lib.serving import HOSTLAT

REFUSED = "RST_STREAM REFUSED_STREAM"
BIG = 40 << 20      # more than a stream's window
GRPC_JS = "@grpc/grpc-js@1.14.7"
CALL = "/test.Echo/Call"
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "grpc_server.js")


def run(url, *args, rate=300, seconds=2, connections=2, outstanding=8):
    return load(url, "--rate", str(rate), "--for", f"{seconds}s", "--connections",
                str(connections), "--outstanding", str(outstanding), *args)


def causes(got, of="request"):
    return {f["cause"]: f for f in got["failures"] if f["of"] == of}


def all_done(got):
    requests = got["requests"]
    check.equal(f"failed, of {causes(got)}", requests["failed"], 0)
    check.true(f"requests: {requests}", requests["completed"] > 300)


def against(behave, *args, scheme="h2c", path="/", **settings):
    """Runs a load on a server of this behavior: its result, and the server."""
    it = badserver.Server(behave)
    try:
        return run(f"{scheme}://127.0.0.1:{it.port}{path}", *args, **settings), it
    finally:
        it.close()


def refusal(*args, code=2):
    done = subprocess.run([HOSTLAT, "load", *map(str, args), "--rate", "100", "--for", "1s",
                           "--timeout", "1s"], capture_output=True, text=True, timeout=60,
                          check=False)
    check.equal(f"exit code ({done.stderr})", done.returncode, code)
    return done.stderr


def says(text, *args, code=2):
    said = refusal(*args, code=code)
    check.true(f"'{text}' in '{said}'", text in said)


def nghttpd(folder, *args):
    if not shutil.which("nghttpd"):
        check.skip("nghttpd is not installed")
    port = servers.free_port()
    with open(os.path.join(folder, "index.html"), "w", encoding="ascii") as f:
        f.write("hello")
    with open(os.path.join(folder, "big"), "wb") as f:
        f.truncate(BIG)
    process.start(["nghttpd", "--address=127.0.0.1", "-d", folder, port, *args],
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    servers.wait_for(port)
    return port


# ---- servers of Debian and of npm ----

def nghttpd_answers(scheme):
    with tempfile.TemporaryDirectory() as folder:
        cert, key = servers.certificate(folder)
        port = nghttpd(folder, *([key, cert] if scheme == "h2" else ["--no-tls"]))
        ca = ["--ca", cert] if scheme == "h2" else []
        url = f"{scheme}://127.0.0.1:{port}"
        recording, again = os.path.join(folder, "run.hlat"), None
        got = run(url + "/", *ca, "--timestamps", "kernel", "--record", recording)
        all_done(got)
        check.equal("closes", got["connections"]["server_closes"], 0)
        check.true("kernel stamps", got["latency"]["kernel"]["count"] > 0)
        again = json.loads(subprocess.run([HOSTLAT, "load", "--from", recording, "--json"],
                                          capture_output=True, timeout=60, check=False).stdout)
        check.equal("requests of the recording", again["requests"], got["requests"])
        check.equal("targets of the recording", again["setup"]["targets"], [url + "/"])
        got = run(url + "/absent", *ca)
        check.equal("misses", got["requests"]["misses"], got["requests"]["completed"])
        got = run(url + "/absent", *ca, "--expect", "200")
        check.equal("refused", causes(got)["HTTP 404"]["count"], got["requests"]["failed"])
        # A reply, and a request, beyond the windows of flow control.
        for path, workload in ("/big", "read=1"), ("/", "read=0,value=300000"):
            got = run(url + path, *ca, "--workload", workload, "--timeout", "20s", "--seed", "1",
                      rate=8)
            check.equal(f"failed at {path}: {causes(got)}", got["requests"]["failed"], 0)
            # Arrivals are random: few requests may be due, but they are the same ones in each run.
            check.equal("answered", got["requests"]["completed"], got["requests"]["scheduled"])
            check.true("requests", got["requests"]["completed"] > 0)


def nginx_answers(scheme):
    with tempfile.TemporaryDirectory() as folder:
        cert, key = servers.certificate(folder)
        tls = f" ssl; ssl_certificate {cert}; ssl_certificate_key {key}" if scheme == "h2" else ""
        with servers.server("nginx", listen=" http2" + tls) as (url, _):
            url = url.replace("http", scheme)
            ca = ["--ca", cert] if tls else []
            all_done(run(url + "/", *ca, rate=2000, outstanding=32))
            all_done(run(url + "/", *ca, "--requests-per-connection", "20"))


def grpc_js():
    try:
        folder = npm.install(GRPC_JS)
    except npm.Missing as e:
        raise check.Disturbed(str(e)) from e
    port = servers.free_port()
    process.start(["node", SERVER, port], cwd=folder, stderr=subprocess.DEVNULL)
    servers.wait_for(port)
    url = f"grpc://127.0.0.1:{port}/test.Echo/"
    all_done(run(url + "Call"))
    all_done(run(url + "Call", "--workload", "message=hex:0a0548656c6c6f"))
    got = run(url + "Fail")
    check.equal(f"failures {causes(got)}", causes(got)["grpc-status 14"]["text"],
                "not now, 100 %")
    check.equal("failed", got["requests"]["completed"], 0)
    got = run(url + "Absent")
    check.equal(f"failures {causes(got)}", list(causes(got)), ["grpc-status 12"])


# ---- streams that are refused, and connections that go away ----

def goes_away(server, c):
    """Answers ten streams of a connection; leaves those after them unprocessed."""
    peer = Peer(server, c)
    for n in range(10):
        stream = peer.request()
        if n == 9:
            peer.goaway(stream)
        peer.answer(stream)
    peer.until_end()


@check.busy
def goaway():
    got, it = against(goes_away, rate=500)
    all_done(got)
    check.equal("answered once each", it.answered, got["requests"]["completed"])
    connections = got["connections"]
    check.true(f"closes: {connections}", connections["server_closes"] >= it.answered // 10 - 2)


def refuses(every):
    def behave(server, c):
        peer = Peer(server, c)
        n = 0
        while True:
            stream, n = peer.request(), n + 1
            if n % every == 0:
                peer.reset(stream, h2server.REFUSED_STREAM)
                server.wrong += 1
            else:
                peer.answer(stream)
    return behave


@check.busy
def refused_streams():
    got, it = against(refuses(5), outstanding=1)
    check.equal("answered once each", it.answered, got["requests"]["completed"])
    failed = causes(got).get(REFUSED, {"count": 0})["count"]
    check.equal("only failures by refusal", failed, got["requests"]["failed"])
    check.equal("sent again", got["connections"]["resent_requests"], it.wrong - failed)
    check.true(f"sent again: {it.wrong}", it.wrong > 50)
    # A server that refuses everything gets each request twice.
    got, it = against(refuses(1))
    check.equal("failed", causes(got)[REFUSED]["count"], got["requests"]["scheduled"])
    check.equal("asked", it.asked, 2 * got["requests"]["failed"])


def resets(server, c):
    peer = Peer(server, c)
    while True:
        peer.reset(peer.request(), h2server.CANCEL)


def calm(server, c):
    peer = Peer(server, c)
    peer.answer(stream := peer.request())
    peer.request()
    peer.goaway(stream, h2server.CALM, b"too many")
    peer.until_end()


@check.busy
def errors():
    got, it = against(resets)
    check.equal("reset", causes(got)["RST_STREAM CANCEL"]["count"], it.asked)
    got, it = against(calm)
    check.equal("answered once each", it.answered, got["requests"]["completed"])
    check.equal("what the server says", causes(got, "connection")["GOAWAY"]["text"],
                "GOAWAY ENHANCE_YOUR_CALM: too many")


# ---- limits ----

def two_at_a_time(server, c):
    """Takes 20 ms for each reply; says how many streams it had at a time at most."""
    peer = Peer(server, c, h2server.max_streams(2))
    now = []

    def reply(stream):
        time.sleep(0.02)
        now.remove(stream)
        peer.answer(stream)
    while True:
        stream = peer.request()
        now.append(stream)
        server.wrong = max(server.wrong, len(now))
        threading.Thread(target=reply, args=(stream,), daemon=True).start()


@check.busy
def concurrent_streams():
    got, it = against(two_at_a_time, "--timeout", "20s", rate=150, connections=1, outstanding=16)
    check.equal("streams at a time", it.wrong, 2)
    check.equal("failed", got["requests"]["failed"], 0)
    # At most 100 of 150 requests per second are answered: what waits for a stream counts.
    check.true("latency with the wait", quantile(got, 0.5)["ns"] > 100_000_000)


def hangs(server, c):
    """Answers all but the tenth stream; notes what else comes."""
    peer = Peer(server, c)
    n = 0
    server.example = peer
    while True:
        stream, n = peer.request(), n + 1
        if n % 10:
            peer.answer(stream)


@check.busy
def timeouts():
    got, it = against(hangs, "--timeout", "300ms", connections=1)
    timed_out = causes(got)["timeout"]["count"]
    check.equal("failed", got["requests"]["failed"], timed_out)
    check.true(f"timeouts: {timed_out}", timed_out >= it.asked // 10 - 10)
    check.equal("connections", it.accepted, 1)
    cancelled = [f for f in it.example.frames if f[0] == h2server.RST_STREAM]
    check.true(f"streams given up: {len(cancelled)}", 0 < len(cancelled) <= timed_out)


def asks(server, c):
    """Sends a PING before each reply; counts the answers."""
    peer = Peer(server, c)
    server.example = peer
    while True:
        stream = peer.request()
        peer.send(h2server.frame(h2server.PING, 0, 0, b"12345678"))
        peer.answer(stream)


@check.busy
def pings():
    got, it = against(asks, connections=1)
    all_done(got)
    answers = [f for f in it.example.frames if f[0] == h2server.PING]
    check.between("answers to PING", len(answers), it.asked - 10, it.asked)
    check.true("they are answers", all(f[1] & h2server.ACK and f[3] == b"12345678" for f in answers))
    kinds = [(f[0], f[1]) for f in it.example.frames]
    check.equal("SETTINGS of the client, and its ACK", kinds.count((h2server.SETTINGS, 0)) +
                kinds.count((h2server.SETTINGS, h2server.ACK)), 2)


# ---- gRPC ----

def statuses(server, c):
    replies = [(), (14, b"not%20now"), (5,), (0, b"", b"")]
    peer = Peer(server, c)
    n = 0
    while True:
        stream, n = peer.request(), n + 1
        peer.answer(stream, h2server.call_reply(stream, *replies[n % 4]))


@check.busy
def grpc_statuses():
    got, it = against(statuses, scheme="grpc", path=CALL, connections=1)
    of = causes(got)
    check.equal("causes", sorted(of), ["grpc-status 14", "grpc-status 5", "no gRPC message"])
    check.equal("text", of["grpc-status 14"]["text"], "not now")
    for cause in of.values():
        check.between("each fourth", cause["count"], it.asked // 4 - 1, it.asked // 4 + 1)


# ---- bad inputs ----

def refusals():
    with servers.server("nginx") as (url, _):
        host = url.split("//")[1]
        says("the server does not speak HTTP/2: 'HTTP/1.1 400 Bad Request'", f"h2c://{host}/")
        says("the server does not speak HTTP/2", f"grpc://{host}{CALL}")
        says("TLS: the server does not use TLS (use http://, h2c:// or redis://)", f"h2://{host}/")
    with servers.server("nginx-tls") as (url, _):
        host = url.split("//")[1]
        says("TLS: the server does not offer the protocol 'h2' (ALPN)", f"h2://{host}/", "--insecure")
    silent = badserver.Server(lambda _, c: c.peer.recv(1) and time.sleep(3))
    says("the server did not answer the first bytes of the connection within --timeout",
         f"h2c://127.0.0.1:{silent.port}/")
    silent.close()
    says("No such file or directory", f"grpc://127.0.0.1:1{CALL}", "--workload", "message=@/absent")


if __name__ == "__main__":
    check.run([(nghttpd_answers, "h2c"), (nghttpd_answers, "h2"), (nginx_answers, "h2c"),
               (nginx_answers, "h2"), (grpc_js,), (goaway,), (refused_streams,), (errors,),
               (concurrent_streams,), (timeouts,), (pings,), (grpc_statuses,), (refusals,)])
