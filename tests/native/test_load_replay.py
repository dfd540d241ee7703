# SPDX-License-Identifier: Apache-2.0
"""Proves that recorded requests are sent as recorded: bytes, order, times (scaled, too), from a CSV to an
HTTP server and from a cache-trace to Debian's memcached, whose own counters agree. The run ends with
the file and is judged without a law of arrivals. Controls: the same file at a rate of its own, files
and combinations that cannot be used, nginx as a second server."""
import contextlib
import csv
import json
import os
import re
import socket
import subprocess
import tempfile

from lib import badserver, check
from lib.loading import gate, load, load_samples, reasons
from lib.servers import server
from lib.serving import HOSTLAT


class Recorder:
    """Answers HTTP, and keeps the heads and bodies of requests."""

    def __init__(self):
        self.seen = []
        self.server = badserver.Server(self.behave)
        self.port = self.server.port

    def behave(self, it, c):
        for head, body in c.http():
            with it.lock:
                self.seen.append((head.decode(), body.decode()))
            c.answer(1, badserver.PAGE if not head.startswith(b"HEAD") else
                     b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()


@contextlib.contextmanager
def recorded(rows, *header):
    """A file with these rows; the header makes it a CSV with quotes where needed."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "requests")
        with open(path, "w", encoding="utf-8", newline="") as f:
            if header:
                csv.writer(f).writerows([header, *rows])
            else:
                f.writelines(",".join(map(str, row)) + "\n" for row in rows)
        yield path


COLUMNS = "time", "method", "path", "headers", "body"
ROWS = [[f"{1700000000 + i / 50:.6f}", ("GET", "POST", "HEAD", "DELETE")[i % 4], f"/item/{i}?q={{key}}",
         f"X-Number: {i}\r\nConnection: close", f'{{"n": {i},\n"t": "x"}}' if i % 4 == 1 else ""] for i in range(60)]


def as_recorded():
    with Recorder() as it, recorded(ROWS, *COLUMNS) as path, tempfile.TemporaryDirectory() as folder:
        url, run = f"http://127.0.0.1:{it.port}", os.path.join(folder, "run")
        got, samples = load_samples(url, "--replay", path, "--connections", "1", "--record", run)
        check.equal("requests", (got["requests"]["completed"], got["requests"]["failed"]), (60, 0))
        check.equal("order", [head.split()[1] for head, _ in it.seen], [row[2] for row in ROWS])
        check.equal("methods", [head.split()[0] for head, _ in it.seen], [row[1] for row in ROWS])
        check.equal("bodies", [body for _, body in it.seen], [row[4] for row in ROWS])
        for i, (head, _) in enumerate(it.seen):
            fields = head.split("\r\n")[1:]
            check.true(f"fields: {fields}", f"X-Number: {i}" in fields and f"Host: 127.0.0.1:{it.port}" in fields and
                       not any(f.startswith("Connection") for f in fields))
        at = sorted(int(row["intended_ns"]) for row in samples)
        check.equal("times", [t - at[0] for t in at], [20_000_000 * i for i in range(60)])
        check.equal("setup", (got["setup"]["replay"], got["setup"]["arrival"]), (path, f"replay:1:{path}"))
        check.equal("no law of arrivals", [g["pass"] for g in got["gates"] if "arrival" in g["name"]
                                           and g["pass"] is False], [])
        os.unlink(path)
        again = subprocess.run([HOSTLAT, "load", "--from", run, "--json"], capture_output=True, text=True, timeout=60,
                               check=False)
        check.equal("from the recording", json.loads(again.stdout)["setup"], got["setup"])
        text = subprocess.run([HOSTLAT, "load", "--from", run], capture_output=True, text=True, timeout=60,
                              check=False).stdout
        check.true(f"in text: {text}", f"\nrequests are those recorded in {path}\n" in text)


def scaled():
    with Recorder() as it, recorded(ROWS, *COLUMNS) as path:
        url = f"http://127.0.0.1:{it.port}"
        _, samples = load_samples(url, "--replay", path, "--replay-speed", "4")
        at = sorted(int(row["intended_ns"]) for row in samples)
        check.equal("times at 4 times the speed", [t - at[0] for t in at], [5_000_000 * i for i in range(60)])
        _, samples = load_samples(url, "--replay", path, "--for", "500ms", "--threads", "1")
        check.equal("until --for", len(samples), 25)
        got = load(url, "--replay", path, "--for", "50s")
        check.true(f"until the file's end: {got['setup']['max_time_ns']}", got["setup"]["max_time_ns"] == 1_180_000_001
                   and "schedule-exhausted" not in reasons(got))
        # At a rate of its own the file begins again at its end.
        it.seen.clear()
        got = load(url, "--replay", path, "--rate", "200", "--arrival", "fixed", "--for", "1s", "--connections", "1")
        check.equal("requests at a rate", got["requests"]["completed"], 200)
        check.equal("order", [head.split()[1] for head, _ in it.seen], [ROWS[i % 60][2] for i in range(200)])
        check.equal("arrivals", gate(got, "arrivals")["pass"], True)
        # Its times alone, for other requests.
        it.seen.clear()
        _, samples = load_samples(url + "/same", "--arrival", f"replay:4:{path}")
        at = sorted(int(row["intended_ns"]) for row in samples)
        check.equal("the file's times", [t - at[0] for t in at], [5_000_000 * i for i in range(60)])
        check.equal("the URL's path", {head.split()[1] for head, _ in it.seen}, {"/same"})


def of_many_threads():
    """Each of several threads sends its own part, on the connections of several servers."""
    with Recorder() as a, Recorder() as b, recorded(ROWS, *COLUMNS) as path:
        got = load(f"http://127.0.0.1:{a.port}", f"http://127.0.0.1:{b.port}", "--replay", path, "--threads", "2",
                   "--connections", "8", "-H", "X-Number: {seq}")
        check.equal("completed", got["requests"]["completed"], 60)
        seen = a.seen + b.seen
        check.equal("each once", sorted(head.split()[1] for head, _ in seen), sorted(row[2] for row in ROWS))
        for head, _ in seen:
            check.true(f"--header replaces a recorded field: {head}",
                       head.count("X-Number") == 1 and f"X-Number: {head.split()[1].split('/')[2].split('?')[0]}" in head)


def real_nginx():
    with server("nginx") as (url, _), recorded([[i / 100, "GET", "/", "", ""] for i in range(50)], *COLUMNS) as path:
        got = load(url, "--replay", path)
        check.equal("failed", (got["requests"]["completed"], got["requests"]["failed"]), (50, 0))


def stats(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(b"stats\r\nget big\r\nget counter\r\n")
        text = b""
        while text.count(b"END\r\n") < 3:
            text += s.recv(65536)
    return {k: int(v) for k, v in re.findall(r"STAT (\w+) (\d+)\r", text.decode())}, text


def cache_trace():
    """memcached's own counters are those of the file."""
    rows = [(7, "counter", 7, 2, 1, "set", 0)] + [(7, "counter", 7, 2, 1, "incr", 0)] * 20
    rows += [(7, "missing", 7, 0, 1, "incr", 0), (7, "counter", 7, 2, 1, "decr", 0)]
    rows += [(8, "big", 3, 300, 2, "add", 0), (8, "big", 3, 300, 2, "add", 0), (8, "none", 4, 1, 2, "replace", 0)]
    rows += [(8, "big", 3, 10, 2, "append", 0), (8, "big", 3, 310, 2, "get", 0)] * 10
    rows += [(8, "a,b", 3, 5, 2, "gets", 0), (8, "short", 5, 5, 2, "set", 3600), (8, "short", 5, 5, 2, "delete", 0),
             (8, "short", 5, 5, 2, "delete", 0), (8, "x", 1, 9, 1, "cas", 0)]
    with server("memcached") as (url, _), recorded(rows) as path:
        got = load(url, "--replay", path, "--connections", "1", "--outstanding", "8")
        check.equal("requests", (got["requests"]["completed"], got["requests"]["failed"]), (len(rows), 0))
        # incr of a missing key, add of an existing one, replace of none, gets of none, the second delete
        check.equal("misses", got["requests"]["misses"], 5)
        count, text = stats(int(url.rsplit(":", 1)[1]))
        check.equal("memcached's counters", {k: count[k] for k in ("incr_hits", "incr_misses", "decr_hits", "get_hits",
                                                                   "get_misses", "delete_hits", "delete_misses")},
                    {"incr_hits": 20, "incr_misses": 1, "decr_hits": 1, "get_hits": 10, "get_misses": 1,
                     "delete_hits": 1, "delete_misses": 1})
        check.true("the counter", b"VALUE counter 0 2\r\n30\r\n" in text)
        check.true("the appended value", b"VALUE big 0 400\r\n" in text)


def refused():
    with recorded([[0, "GET", "/", "", ""], [1, "GET", "x", "", ""]], *COLUMNS) as bad, \
            recorded(ROWS, *COLUMNS) as good, recorded([(1, "k", 1, 1, 1, "get", 0)]) as cache, \
            recorded([], *COLUMNS) as empty, recorded([(0,), (1000000000,)]) as times, \
            recorded([[0, "GET", "/", "", ""], [0.01, "GET", "/", "", ""]], *COLUMNS) as short, \
            recorded([[0, "GET", "/", "", ""], [1700000000, "GET", "/", "", ""]], *COLUMNS) as long:
        pipe = os.path.join(os.path.dirname(good), "pipe")
        os.mkfifo(pipe)
        for args, code, message in (
                (("http://127.0.0.1:1", "--replay", bad), 1, f"hostlat: {bad}:3: the path must begin with '/' and have "
                 "no blanks or control characters\n"),
                (("http://127.0.0.1:1", "--replay", "/no/such"), 2, "/no/such: No such file or directory"),
                (("http://127.0.0.1:1", "--replay", pipe), 1, f"hostlat: load: {pipe}: recorded requests need a "
                 "regular file, since they are read several times\n"),
                (("http://127.0.0.1:1", "--replay", pipe, "--rate", "1"), 1, "requests need a regular file"),
                (("http://127.0.0.1:1", "--replay", empty), 1, f"hostlat: load: {empty}: the file must contain at least "
                 "two different times\n"),
                (("http://127.0.0.1:1", "--replay", empty, "--rate", "1"), 1, f"{empty}: the file has no request\n"),
                (("http://127.0.0.1:1", "--replay", good, "--for", "100ms", "--replay-speed", "0.1"), 1,
                 f"{good}: the file must contain at least two different times within --for\n"),
                (("http://127.0.0.1:1", "--replay", times), 1, f"hostlat: load: {times}:1: the first line must be the "
                 "header time,method,path,headers,body, or a row of cache-trace\n"),
                (("http://127.0.0.1:1", "--replay", short), 1, f"hostlat: load: {short}: the times last 10 ms, and a "
                 "run at least 100 ms: send the requests at a --rate\n"),
                (("http://127.0.0.1:1", "--replay", long), 1, f"hostlat: load: {long}: the times last 19676 days, and a "
                 "run at most one: set --for\n"),
                (("http://127.0.0.1:1", "--replay", good, "--record", good), 1, f"{good} is an input and cannot be an "
                 "output too\n"),
                (("memcached://127.0.0.1:1", "--replay", good), 1, f"--replay {good}: the file has requests of http or "
                 "https, not of memcached\n"),
                (("http://127.0.0.1:1", "--replay", cache, "--rate", "1"), 1, "requests of memcached, not of http\n"),
                (("h2c://127.0.0.1:1", "--replay", good), 1, "not of h2c\n"),
                (("http://127.0.0.1:1/x", "--replay", good), 1, "--replay has paths of its own: remove /x from the URL"),
                (("http://127.0.0.1:1", "--replay", good, "-H", "A: {key}"), 1, "have no {key} of a workload")):
            done = subprocess.run([HOSTLAT, "load", *args], capture_output=True, text=True, timeout=60, check=False)
            check.equal(f"exit code of {args} ({done.stderr})", done.returncode, code)
            check.true(f"says {message}: {done.stderr}", message in done.stderr)


if __name__ == "__main__":
    check.run([(as_recorded,), (scaled,), (of_many_threads,), (real_nginx,), (cache_trace,), (refused,)])
