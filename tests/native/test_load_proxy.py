# SPDX-License-Identifier: Apache-2.0
"""
Proves by haproxy's own log that requests through a proxy are answered once each, over HTTP/1.1, TLS
and HTTP/2 by ALPN, also if it closes each connection, and that what haproxy answers itself, without
a server or because it denies a request, is counted by its status.
"""
import collections
import contextlib
import os
import subprocess
import tempfile
import time

from lib import check, servers
from lib.loading import all_refused, failure, load, none_failed, not_blamed, reasons, why
from lib.serving import HOSTLAT

# retries 0: a request that finds no server is answered at once, not after seconds.
HAPROXY = """
global
    maxconn 500
    nbthread 1
    log stdout format raw local0
defaults
    mode http
    log global
    log-format "%ST %HM %HV %cp"
    option dontlognull
    retries 0
    timeout connect 2s
    timeout client 30s
    timeout server 30s
frontend keeps
    bind 127.0.0.1:{port}
    bind 127.0.0.1:{tls} ssl crt {dir}/both.pem alpn h2,http/1.1
    bind 127.0.0.1:{old} ssl crt {dir}/both.pem alpn http/1.1
    http-request deny if {{ path_beg /admin }}
    use_backend absent if {{ path_beg /absent }}
    default_backend present
frontend closes
    bind 127.0.0.1:{closes}
    option httpclose
    http-request deny if {{ path_beg /admin }}
    default_backend present
backend present
    server web {web}
backend absent
    server web 127.0.0.1:{nobody}
"""

CONNECTIONS = 8
RUN = "--rate", 200, "--for", "1s", "--connections", CONNECTIONS
ABOUT_THE_SERVER = {"server-unreachable", "rate-not-reached", "closed-loop-behaviour", "errors-above-limit",
                    "unexpected-status"}
Row = collections.namedtuple("Row", "status method version port")


class Proxy:
    """Runs load through haproxy, and reads what haproxy logged of it."""

    def __init__(self, folder):
        self.folder = folder
        self.ports = {name: servers.free_port() for name in ("port", "tls", "old", "closes", "nobody")}
        self.url = f"http://127.0.0.1:{self.ports['port']}"
        self.closes = f"http://127.0.0.1:{self.ports['closes']}"
        self.h2 = f"h2://127.0.0.1:{self.ports['tls']}"
        self.ca = "--ca", os.path.join(folder, "cert.pem")
        self.at = 0     # bytes of the log that were read

    def rows(self, number):
        """Returns what was logged since the last call: so many rows, some a moment after their reply."""
        for _ in range(100):
            with open(os.path.join(self.folder, "log"), "rb") as f:
                f.seek(self.at)
                text = f.read()
            if text.count(b"\n") >= number:
                break
            time.sleep(0.02)
        self.at += len(text)
        return [Row(*line.split()) for line in text.decode().splitlines()]

    def load(self, *args, **options):
        """Its result, and haproxy's rows: as many by status as the result has."""
        got = load(*args, **options)
        requests = got["requests"]
        rows = self.rows(requests["scheduled"])
        logged = collections.Counter("HTTP " + row.status for row in rows)
        expected = collections.Counter({f["cause"]: f["count"] for f in got["failures"]})
        expected["HTTP 200"] += requests["completed"]
        check.equal("replies by status", +logged, +expected)
        check.equal("failed", sum(f["count"] for f in got["failures"]), requests["failed"])
        check.true(f"requests: {len(rows)}", len(rows) > 100)
        return got, rows


@contextlib.contextmanager
def haproxy(web):
    """haproxy in front of a server at that address."""
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        it = Proxy(folder)
        with open(f"{folder}/both.pem", "w", encoding="ascii") as both:
            for path in servers.certificate(folder):
                with open(path, encoding="ascii") as part:
                    both.write(part.read())
        with open(f"{folder}/conf", "w", encoding="ascii") as f:
            f.write(HAPROXY.format(dir=folder, web=web, **it.ports))
        with open(f"{folder}/log", "wb") as log, \
             servers.program("haproxy", lambda _: ["-db", "-f", f"{folder}/conf"], it.ports["port"],
                             stdout=log):
            yield it


@contextlib.contextmanager
def behind_haproxy():
    with servers.server("nginx") as (url, _), haproxy(url.split("//")[1]) as it:
        yield it


def sound(got):
    none_failed(got)
    check.true(f"the server in {why(got)}", not reasons(got) & ABOUT_THE_SERVER)


@check.busy
def keeps_connections():
    with behind_haproxy() as it:
        got, rows = it.load(it.url + "/", *RUN)
    sound(got)
    check.equal("closes", got["connections"]["server_closes"], 0)
    check.equal("connections", len({row.port for row in rows}), CONNECTIONS)
    check.true("nothing is found of them", not any(f.startswith("connections: ") for f in got["findings"]))


@check.busy
def closes_each_connection():
    with behind_haproxy() as it:
        for path in "/", "/admin":
            got, rows = it.load(it.closes + path, *RUN)
            if path == "/":
                sound(got)
            else:
                all_refused(got, "HTTP 403", "403 Forbidden")
            closes = got["connections"]["server_closes"]
            check.between("closes", closes, len(rows) - CONNECTIONS, len(rows))
            check.true("connections", len({row.port for row in rows}) > len(rows) // 2)
            found = [f for f in got["findings"] if f.startswith(f"connections: the server closed {closes} ")]
            check.equal(f"found in {got['findings']}", len(found), 1)


@check.busy
def no_server():
    """haproxy says it, and exit code and advice are those of failures."""
    with behind_haproxy() as it:
        got, _ = it.load(it.url + "/absent", *RUN)
        all_refused(got, "HTTP 503", "503 Service Unavailable")
        expected = load(it.url + "/absent", *RUN, "--expect", 503)
        done = subprocess.run([HOSTLAT, "load", it.url + "/absent", *map(str, RUN)], capture_output=True,
                              text=True, timeout=60, check=False)
    sound(expected)
    check.equal(f"exit code ({done.stderr})", done.returncode, 3)
    for text in ("requests were refused (HTTP 503)", "'503 Service Unavailable'",
                 "n/a: more requests failed than --max-errors allows (100.00 % of the requests failed"):
        check.true(f"{text} in {done.stdout}", text in done.stdout)


@check.busy
def server_ends():
    """In the midst of a run: a request that it had then may be told 502."""
    with contextlib.ExitStack() as stack:
        web = stack.enter_context(contextlib.ExitStack())
        url, _ = web.enter_context(servers.server("nginx"))
        it = stack.enter_context(haproxy(url.split("//")[1]))

        def during(_):
            time.sleep(1)
            web.close()

        got, _ = it.load(it.url + "/", "--rate", 200, "--for", "3s", "--connections", CONNECTIONS,
                         during=during)
    check.true(f"before and after: {got['requests']}", got["requests"]["completed"] > 50)
    check.true(f"failures: {got['failures']}", failure(got, "request", "HTTP 503")["count"] > 50)
    check.true("of these two only", {f["cause"] for f in got["failures"]} <= {"HTTP 502", "HTTP 503"})
    check.true(f"in {why(got)}", "errors-above-limit" in reasons(got))
    not_blamed(got)


@check.busy
def by_status():
    with behind_haproxy() as it:
        got, _ = it.load(it.url + "/", it.url + "/absent", it.url + "/admin", *RUN)
    for status, text in (503, "503 Service Unavailable"), (403, "403 Forbidden"):
        found = failure(got, "request", f"HTTP {status}")
        check.equal("text", found["text"], text)
        check.between(f"of three, {status}", found["count"] / got["requests"]["scheduled"], 0.15, 0.6)
    check.true("in the reasons", "errors-above-limit" in reasons(got))
    not_blamed(got)


@check.busy
def http2_by_alpn():
    with behind_haproxy() as it:
        got, rows = it.load(it.h2 + "/", *it.ca, *RUN, "--outstanding", 4)
        sound(got)
        check.equal("version", {row.version for row in rows}, {"HTTP/2.0"})
        check.equal("connections", len({row.port for row in rows}), CONNECTIONS)
        check.equal("handshakes", got["connections"]["tls_handshakes"], CONNECTIONS)
        # HTTP/2 has no words behind the status.
        for path, status in ("/absent", "503"), ("/admin", "403"):
            got, _ = it.load(it.h2 + path, *it.ca, *RUN)
            all_refused(got, f"HTTP {status}", status)
        got, rows = it.load(it.h2.replace("h2:", "https:") + "/", *it.ca, *RUN)
        sound(got)
        check.equal("version without ALPN", {row.version for row in rows}, {"HTTP/1.1"})
        done = subprocess.run([HOSTLAT, "load", f"h2://127.0.0.1:{it.ports['old']}/", *it.ca, *map(str, RUN)],
                              capture_output=True, text=True, timeout=60, check=False)
    check.equal(f"exit code ({done.stderr})", done.returncode, 2)
    said = "TLS: the server does not offer the protocol 'h2' (ALPN)"
    check.true(f"{said} in {done.stderr}", said in done.stderr)


check.run([(keeps_connections,), (closes_each_connection,), (no_server,), (server_ends,), (by_status,),
           (http2_by_alpn,)])
