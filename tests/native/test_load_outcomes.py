# SPDX-License-Identifier: Apache-2.0
"""Proves that latency is split by what the server answered, that connects, TLS handshakes and
reconnects are counted and timed, and that TLS alerts are causes of their own: against servers whose
delays are known, from a recording and with agents. Controls: servers without failures, TLS or closes."""
import json
import os
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from lib import badserver, check
from lib.loading import answered, load
from lib.servers import certificate
from lib.serving import HOSTLAT

BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nbusy\n"
GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
HIT = b"VALUE k 0 1\r\nx\r\nEND\r\n"
SHORT = "--rate", "300", "--for", "2s", "--connections", "8"


def rows(got, table, key):
    return {row[key]: row for row in got.get(table, [])}


def mixed(replies):
    """Gives these replies in turn, (reply, seconds before it)."""
    def behave(server, c):
        while c.requests(1, b"\r\n\r\n"):
            with server.lock:
                number = server.__dict__["number"] = server.__dict__.get("number", -1) + 1
            reply, seconds = replies[number % len(replies)]
            time.sleep(seconds)
            c.answer(1, reply)
    return behave


OFTEN = [(badserver.PAGE, 0)] * 6 + [(BUSY, 0.02), (MISSING, 0.04), (badserver.PAGE, 0), (GONE, 0)]


def adds_up(got, agents=""):
    by, requests = rows(got, "outcomes", "outcome"), got["requests"]
    check.equal(f"outcomes {agents}", set(by), {"completed", "HTTP 503", "HTTP 404", "HTTP 410"})
    check.equal("refused", by["HTTP 503"]["count"], requests["refused"])
    check.equal("misses", by["HTTP 404"]["count"] + by["HTTP 410"]["count"], requests["misses"])
    check.equal("all", sum(row["count"] for row in by.values()), requests["completed"] + requests["failed"])
    check.equal("order", [row["count"] for row in got["outcomes"]],
                sorted((row["count"] for row in got["outcomes"]), reverse=True))
    for name, least in ("HTTP 503", 20e6), ("HTTP 404", 40e6):
        check.between(f"p50 of {name}", by[name]["p50_ns"], least * 0.97, least * 3)
        check.true("p99 is not below", by[name]["p99_ns"] >= by[name]["p50_ns"])
    check.true("others are faster", max(by[x]["p50_ns"] for x in ("completed", "HTTP 410")) < by["HTTP 503"]["p50_ns"])
    return by


@check.environment("a busy machine delays replies")
def by_outcome():
    with tempfile.TemporaryDirectory() as folder, answered(mixed(OFTEN), "http") as url:
        path = os.path.join(folder, "run")
        got = load(url, *SHORT, "--record", path)
        by = adds_up(got)
        again = subprocess.run([HOSTLAT, "load", "--from", path, "--json"], capture_output=True, text=True, timeout=60,
                               check=False)
        check.equal("from the recording", json.loads(again.stdout), got)
        text = subprocess.run([HOSTLAT, "load", "--from", path], capture_output=True, text=True, timeout=60,
                              check=False).stdout
        check.true(f"table in {text}", any(line.split()[:4] == ["reply", "count", "p50", "p99"]
                                           for line in text.splitlines()))
        adds_up(load(url, *SHORT, "--agents", "local,local"), "of two agents")
    return by


def controls():
    with answered(badserver.pages(1 << 30), "http") as url:
        got = load(url, *SHORT)
        check.true("one outcome is no table", "outcomes" not in got)
        check.equal("times of connections", list(rows(got, "connection_times", "of")), ["connect"])
        check.equal("connects", got["connection_times"][0]["count"], 8)
        check.true(f"nothing to say: {got['findings']}", not any(f.startswith("connections: ")
                                                                 for f in got["findings"]))
    # Misses of a protocol without statuses.
    def every_other(server, c):
        while c.requests(1):
            c.answer(1, HIT if server.answered % 2 else badserver.MISS)
    with answered(every_other, "memcached") as url:
        got = load(url, *SHORT)
    by = rows(got, "outcomes", "outcome")
    check.equal("outcomes", set(by), {"completed", "miss"})
    check.equal("misses", by["miss"]["count"], got["requests"]["misses"])
    # Requests without a reply have no latency.
    with answered(badserver.silent(10), "memcached") as url:
        got = load(url, *SHORT, "--timeout", "200ms")
    check.true(f"timeouts: {got['requests']}", got["requests"]["timeouts"] > 0)
    check.true("no reply is no outcome", "outcomes" not in got)


def times(agents=()):
    """Of connections to a server with a slow handshake that closes each after ten replies."""
    with tempfile.TemporaryDirectory() as folder:
        cert, key = certificate(folder)
        inside = badserver.in_tls(cert, key, badserver.pages(10))

        def slow(server, c):
            time.sleep(0.05)
            inside(server, c)
        with answered(slow, "https") as url:
            got = load(url, "--ca", cert, "--rate", "200", "--for", "2s", "--connections", "8", *agents)
    by, connects = rows(got, "connection_times", "of"), got["requests"]["connects"]
    check.equal("kinds", list(by), ["connect", "handshake", "reconnect"])
    check.between("connects", by["connect"]["count"], connects, connects + 8)
    check.equal("handshakes", by["handshake"]["count"], connects)
    check.equal("reconnects", by["reconnect"]["count"], connects - 8)
    check.true("some reconnects", connects > 16)
    for kind in "handshake", "reconnect":
        check.between(f"p50 of a {kind}", by[kind]["p50_ns"], 49e6, 200e6)
        check.true("in order", by[kind]["p50_ns"] <= by[kind]["p99_ns"] <= by[kind]["max_ns"])
    check.true("a connect is fast", by["connect"]["p50_ns"] < 20e6)
    check.true(f"reported: {got['findings']}", sum(" took " in f for f in got["findings"]) == 2)
    return by["handshake"]


def alerts():
    """After four connections the server ends handshakes with alerts (RFC 8446, 6), in turn."""
    kinds = [80, 40, 80]
    with tempfile.TemporaryDirectory() as folder:
        cert, key = certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        it = socket.create_server(("127.0.0.1", 0), backlog=64)
        accepted = []

        def good(peer):
            with context.wrap_socket(peer, server_side=True) as tls:
                for _ in range(20):
                    tls.recv(65536)
                    tls.sendall(badserver.PAGE)

        def serve(peer, number):
            try:
                with peer:
                    if number < 4:
                        good(peer)
                        return
                    peer.recv(65536)
                    peer.sendall(bytes([21, 3, 3, 0, 2, 2, kinds[number % len(kinds)]]))
                    peer.recv(65536)
            except OSError:
                pass

        def accept():
            while True:
                try:
                    peer, _ = it.accept()
                except OSError:
                    return
                accepted.append(peer)
                threading.Thread(target=serve, args=(peer, len(accepted) - 1), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        got = load(f"https://127.0.0.1:{it.getsockname()[1]}/", "--ca", cert, "--rate", "100", "--for", "2s",
                   "--connections", "4", "--timeout", "500ms")
        it.close()
    causes = {f["cause"]: f for f in got["failures"] if f["of"] == "connection"}
    for name, words in ("tls-internal-error", "internal error"), ("tls-handshake-failure", "handshake failure"):
        check.true(f"{name} in {got['failures']}", name in causes)
        check.true(f"its text: {causes[name]}", words in causes[name]["text"])
    check.true("as often as they were sent", causes["tls-internal-error"]["count"] >
               causes["tls-handshake-failure"]["count"])
    check.true(f"said so: {got['findings']}", any("ended by TLS" in f for f in got["findings"]))
    return causes["tls-internal-error"]["text"]


if __name__ == "__main__":
    check.run([(by_outcome,), (controls,), (times,), (times, ("--agents", "local,local")), (alerts,)])
