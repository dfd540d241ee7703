# SPDX-License-Identifier: Apache-2.0
"""
Proves that failures are counted by their cause, with the server's own words and the time, and that
the load generator is not blamed for them: refusals of Redis, memcached and HTTP, closed
connections, an outage, local ports that run out. Each with a control.
"""
import contextlib
import json
import os
import subprocess
import tempfile
import time

from lib import badserver, check, netns, process
from lib.loading import (AHEAD, all_refused, answered, failure, load, none_failed, not_blamed, reasons,
                         why)
from lib.servers import certificate, free_port, program, wait_for
from lib.serving import HOSTLAT

NGINX = """
daemon off; pid {dir}/pid; error_log {dir}/error.log; worker_processes 1; user root;
events {{ worker_connections 512; }}
http {{
    access_log off; root {dir}; keepalive_requests 1000000; client_body_temp_path {dir};
    proxy_temp_path {dir}; fastcgi_temp_path {dir}; uwsgi_temp_path {dir}; scgi_temp_path {dir};
    server {{
        listen 127.0.0.1:{port}{tls};
        {more}
        location / {{ return 200 "hello"; }}
        location = /none {{ return 404; }}
        location = /moved {{ return 301 /; }}
        location = /busy {{ return 503; }}
        location = /many {{ return 429; }}
        location = /who {{ return 401; }}
        location = /quota {{ return 403 "quota exceeded: 100 per minute"; }}
    }}
}}
"""

RUN = "--rate", 200, "--for", "1s", "--connections", 8


@contextlib.contextmanager
def nginx(tls="", more="", port=None):
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        def arguments(port):
            path = os.path.join(folder, "conf")
            with open(path, "w", encoding="ascii") as f:
                f.write(NGINX.format(dir=folder, port=port, tls=tls, more=more))
            return "-c", path, "-e", f"{folder}/error.log"

        with program("nginx", arguments, port) as port:
            yield port


def redis(*options):
    return program("redis-server", lambda port: ["--port", port, "--save", "", *options])


@check.busy
def redis_refuses():
    with redis() as port:
        none_failed(load(f"redis://127.0.0.1:{port}", *RUN))
        subprocess.run(["redis-cli", "-p", str(port), "lpush", "0", "x"], check=True,
                       stdout=subprocess.DEVNULL)
        key = load(f"redis://127.0.0.1:{port}", *RUN, "--workload", "keys=1,key=1")
    all_refused(key, "WRONGTYPE",
                "WRONGTYPE Operation against a key holding the wrong kind of value")
    with tempfile.TemporaryDirectory() as folder, \
            redis("--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--dir", folder) as port:
        url = f"redis://127.0.0.1:{port}"
        got = load(url, *RUN)
        all_refused(got, "CLUSTERDOWN", "CLUSTERDOWN Hash slot not served")
        subprocess.run(["redis-cli", "-p", str(port), "cluster", "addslotsrange", "0", "8000"],
                       check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["redis-cli", "-p", str(port), "config", "set",
                        "cluster-require-full-coverage", "no"], check=True,
                       stdout=subprocess.DEVNULL)
        time.sleep(1)
        half = load(url, *RUN)
    it = failure(half, "request", "CLUSTERDOWN")
    check.between("of those without a slot", it["count"] / half["requests"]["scheduled"], 0.3, 0.7)
    return why(got)[0][1]


@check.busy
def redis_is_loading():
    with badserver_of(b"-LOADING Redis is loading the dataset in memory\r\n") as port:
        got = load(f"redis://127.0.0.1:{port}", *RUN)
    all_refused(got, "LOADING", "LOADING Redis is loading the dataset in memory")


@contextlib.contextmanager
def badserver_of(reply):
    """One line is one reply: of RESP's five only every fifth, of HTTP's four only the empty one."""
    def behave(_, c):
        while n := c.requests(1, end=b"$3\r\nGET\r\n"):
            c.answer(n, reply)

    it = badserver.Server(behave)
    try:
        yield it.port
    finally:
        it.close()


@check.busy
def memcached_refuses():
    with program("memcached", lambda port: ["-u", "root", "-l", "127.0.0.1", "-p", port,
                                            "-I", "1m"]) as port:
        args = (*RUN, "--workload")
        none_failed(load(f"memcached://127.0.0.1:{port}", *args, "value=1000,read=0,keys=10"))
        # It reads what it refuses: some tens in a second.
        got = load(f"memcached://127.0.0.1:{port}", *args, "value=1500000,read=0,keys=10",
                   "--rate", 20)
        it = failure(got, "request", "SERVER_ERROR")
        check.equal("text", it["text"], "SERVER_ERROR object too large for cache")
        check.equal("all of them", it["count"], got["requests"]["failed"])
        not_blamed(got)


@check.busy
def http_statuses():
    with nginx() as port:
        url = f"http://127.0.0.1:{port}"
        none_failed(load(f"{url}/", *RUN))
        for path, status, text in (("/busy", 503, "503 Service Temporarily Unavailable"),
                                   ("/many", 429, "429 Too Many Requests"),
                                   ("/who", 401, "401 Authorization Required"),
                                   ("/quota", 403,
                                    "403 Forbidden: quota exceeded: 100 per minute")):
            all_refused(load(f"{url}{path}", *RUN), f"HTTP {status}", text)


@check.busy
def nothing_is_there():
    """A status that holds nothing of what was asked for, to every request; or it is expected."""
    with nginx() as port:
        for path, status in ("/none", 404), ("/moved", 301):
            url = f"http://127.0.0.1:{port}{path}"
            got = load(url, *RUN)
            check.equal("failed", got["requests"]["failed"], 0)
            first = got["reasons"][0]
            check.equal("first", (first["code"], first["message"]),
                        ("unexpected-status", f"HTTP {status} to every request"))
            it = failure(got, "reply", f"HTTP {status}")
            check.equal("so many", it["count"], got["requests"]["completed"])
            expected = load(url, *RUN, "--expect", status)
            none_failed(expected)
            check.equal("misses", expected["requests"]["misses"], 0)
            check.true(f"in {why(expected)}", "unexpected-status" not in reasons(expected))
        other = load(f"http://127.0.0.1:{port}/", *RUN, "--expect", "404,3xx")
        check.equal("200 is not expected", failure(other, "request", "HTTP 200")["count"],
                    other["requests"]["failed"])
        # One of two URLs is nobody's business.
        both = load(f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{port}/none", *RUN)
        check.true(f"in {why(both)}", "unexpected-status" not in reasons(both))
        check.equal("all of a kind", len(both["failures"]), 1)


@check.busy
def nginx_wants_a_certificate():
    with tempfile.TemporaryDirectory() as folder:
        cert, key = certificate(folder, "IP:127.0.0.1")
        more = (f"ssl_certificate {cert}; ssl_certificate_key {key}; "
                f"ssl_client_certificate {cert}; ssl_verify_client on;")
        with nginx(tls=" ssl", more=more) as port:
            url = f"https://127.0.0.1:{port}/"
            # It ends each connection that it refuses: a handshake for each request.
            args = url, "--ca", cert, "--rate", 50, "--for", "1s", "--connections", 8
            none_failed(load(*args, "--cert", cert, "--key", key))
            got = load(*args)
    all_refused(got, "HTTP 400", "400 No required SSL certificate was sent")


@check.busy
def comes_back():
    """An outage in the midst of a run: which time of it, and of what kind, is told."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        first = contextlib.ExitStack()
        first.enter_context(nginx(port=port))

        def during(_):
            time.sleep(1.5)
            first.close()
            time.sleep(1)
            stack.enter_context(nginx(port=port))

        got = load(f"http://127.0.0.1:{port}/", "--rate", 200, "--for", "5s",
                   "--connections", 8, during=during)
    it = failure(got, "connection", "ECONNREFUSED")
    outage = failure(got, "connection", "outage")
    check.between("how long", outage["last_ns"] - outage["first_ns"], 0.7e9, 2.5e9)
    check.true("refused while none was open", outage["first_ns"] <= it["first_ns"] and
               it["last_ns"] <= outage["last_ns"])
    check.true(f"in {why(got)}", any("a thread had no open connection from" in w for _, w in why(got)))
    check.between("from", it["first_ns"], 0.5e9, 3e9)
    for each in got["failures"]:
        check.true(f"all of it: {each}", outage["first_ns"] - 0.3e9 <= each["first_ns"] and
                   each["last_ns"] <= outage["last_ns"] + 0.3e9)
    check.true("the rest was answered",
               got["requests"]["completed"] > 0.7 * got["requests"]["scheduled"])
    with nginx() as port:
        none_failed(load(f"http://127.0.0.1:{port}/", *RUN))
    return f"{outage['first_ns'] / 1e9:.2f} s to {outage['last_ns'] / 1e9:.2f} s"


@check.busy
def closes_from_some_time_on():
    """It was well when the run began, and then accepts and closes: the run ends by itself."""
    until = time.monotonic() + 1.5

    def behave(_, c):
        while time.monotonic() < until and c.requests(1):
            c.answer(1)

    it = badserver.Server(behave)
    begin = time.monotonic()
    got = load(f"memcached://127.0.0.1:{it.port}", "--rate", 200, "--for", "30s",
               "--connections", 4)
    it.close()
    check.true("it ended early", time.monotonic() - begin < 20)
    check.true(f"in {why(got)}", "server-unreachable" in reasons(got))
    check.equal("the first reason", got["reasons"][0]["message"],
                "the server accepts connections and closes them without a reply")
    check.true("closed", failure(got, "connection", "closed")["count"] > 4)
    not_blamed(got)


@check.busy
def text_is_cleaned():
    """Control characters, and more than there is room for."""
    with badserver_of(b"-ERR \x1b[31mred\x07 \xff" + b"x" * 900 + b"\r\n") as port:
        args = f"redis://127.0.0.1:{port}", *RUN
        got = load(*args)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.hlat")
            first = load(*args, "--record", path)
            done = subprocess.run([HOSTLAT, "load", "--from", path, "--json"], check=False,
                                  capture_output=True, text=True, timeout=120)
            again = json.loads(done.stdout)
    text = failure(got, "request", "ERR")["text"]
    check.true(f"printable: {text}", text.isprintable() and text.isascii())
    check.between("length", len(text), 50, 120)
    check.true("its begin", text.startswith("ERR ?[31mred? ?xxx"))
    check.equal("from the recording", again["failures"], first["failures"])


BRIEF = "--rate", 200, "--for", "300ms", "--connections", 2, "--timeout", "400ms"


def http_of(behave):
    return answered(behave, "http")


def head(*fields):
    return "".join(f"{line}\r\n" for line in ("HTTP/1.1 200 OK", *fields, "")).encode("ascii")


@check.busy
def another_protocol():
    """Replies of another protocol are named, or their line is quoted."""
    for reply, text in ((b"\x15\x03\x01\0\x02\x02\x46",
                         "the server speaks TLS (as https:// does)"),
                        (b"\0\0\6\4\0\0\0\0\0\0\3\0\0\0\x64",
                         "the server speaks HTTP/2 only (use h2c:// or, with TLS, h2://)"),
                        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "'SSH-2.0-OpenSSH_9.2p1'"),
                        (head("Content-Length: 5, 5") + b"hello", "'Content-Length: 5, 5'")):
        with http_of(badserver.http_replies(reply)) as url:
            got = load(url, *BRIEF)
        check.equal("text", failure(got, "request", "garbled")["text"], text)
        check.true(f"{text} in {why(got)}", any(text in evidence for _, evidence in why(got)))
        not_blamed(got)


@check.busy
def more_than_it_announced():
    """Nothing fails by it, but each reply costs a connection."""
    for more, failures in (b"", 0), (b" world\n", 1):
        with http_of(badserver.http_replies(head("Content-Length: 5") + b"hello" + more)) as url:
            got = load(url, *BRIEF)
        check.equal("failed", got["requests"]["failed"], 0)
        check.true("answered", got["requests"]["completed"] > 20)
        check.equal(f"failures {got['failures']}", len(got["failures"]), failures)
    check.equal("text", failure(got, "connection", "garbled")["text"], "'world'")


@check.busy
def replies_without_an_end():
    """No length, and the connection stays open: wrk's author was asked what such a server does wrong."""
    with http_of(badserver.silent(0)) as url:
        control = load(url, *BRIEF)
    check.equal("no reply", failure(control, "request", "timeout")["text"], None)
    with http_of(badserver.http_replies(head() + b"hello")) as url:
        got = load(url, *BRIEF)
    check.equal("text", failure(got, "request", "timeout")["text"], "only a part of the reply arrived")


@check.busy
def replies_cut_short():
    cut = head("Content-Length: 50") + b"hello"
    with http_of(badserver.http_replies(cut, 1)) as url:
        done = subprocess.run([HOSTLAT, "load", url, *map(str, BRIEF)], capture_output=True, text=True,
                              timeout=120, check=False)
    check.equal(f"exit code: {done.stderr}", done.returncode, 2)
    check.true(done.stderr, "the server ends connections in the middle of a reply" in done.stderr)

    def behave(_, c):
        for reply in badserver.PAGE, badserver.PAGE, badserver.PAGE, cut:
            if not c.requests(1, b"\r\n\r\n"):
                return
            c.answer(1, reply)

    with http_of(behave) as url:
        got = load(url, *BRIEF)
    failed = got["requests"]["failed"]
    check.equal("all that failed", failure(got, "request", "cut-short")["count"], failed)
    check.between("of four", failed / got["requests"]["scheduled"], 0.1, 0.3)


@check.busy
def local_ports_run_out():
    """A connection for each request, and each keeps its port for a minute."""
    name = netns.make()
    inside = "ip", "netns", "exec", name

    def run(ports):
        subprocess.run([*inside, "sysctl", "-qw", "net.ipv4.tcp_tw_reuse=0",
                        f"net.ipv4.ip_local_port_range=20000 {20000 + ports - 1}"], check=True)
        return load("http://127.0.0.1:8080/", "--rate", 200, "--for", "3s",
                    "--requests-per-connection", 1, ahead=(*inside, *AHEAD))

    with netns.inside(name):
        it = process.start([HOSTLAT, "serve", "127.0.0.1:8080", "--protocol", "http"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(8080)
    control, got = run(20000), run(300)
    it.kill()
    netns.remove(name)
    none_failed(control)
    check.true(f"in {why(control)}", "local-ports-exhausted" not in reasons(control))
    check.equal(f"first of {why(got)}", got["reasons"][0]["code"], "local-ports-exhausted")
    check.true("the server is not blamed", "server-unreachable" not in reasons(got))
    check.true("counted", failure(got, "connection", "EADDRNOTAVAIL")["count"] > 10)
    return got["reasons"][0]["evidence"]


check.run([
    (redis_refuses,), (redis_is_loading,), (memcached_refuses,), (http_statuses,),
    (nothing_is_there,), (nginx_wants_a_certificate,), (comes_back,),
    (closes_from_some_time_on,), (text_is_cleaned,), (another_protocol,),
    (more_than_it_announced,), (replies_without_an_end,), (replies_cut_short,), (local_ports_run_out,),
])
