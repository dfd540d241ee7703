# SPDX-License-Identifier: Apache-2.0
"""Proves that the URLs of --urls are requested in proportion to their weights: of one server by each
connection, of several servers by as many connections; also over TLS, with agents, in many runs and
with the same draws for the same seed. Controls: one URL, and lists that cannot be used."""
import collections
import contextlib
import json
import math
import os
import subprocess
import tempfile
import urllib.parse

from lib import badserver, check
from lib.loading import load
from lib.servers import certificate
from lib.serving import HOSTLAT

FAST = "--rate", "1000", "--for", "2s", "--connections", "10"


class Paths:
    """Serves HTTP, and counts requests by Host and path, and connections."""

    def __init__(self, tls=None):
        self.asked = collections.Counter()
        inside = self.behave if not tls else badserver.in_tls(*tls, self.behave)
        self.server = badserver.Server(inside)
        self.port = self.server.port

    def behave(self, server, c):
        for head, _ in c.http():
            with server.lock:
                self.asked[head.split()[1].decode()] += 1
            c.answer(1, badserver.PAGE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()


@contextlib.contextmanager
def listed(*lines):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "list")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        yield path


def shares(asked, weights):
    """Each path has its share: within six standard deviations."""
    n, whole = sum(asked.values()), sum(weights.values())
    check.equal("paths", set(asked), set(weights))
    for path, weight in weights.items():
        p = weight / whole
        check.between(f"requests of {path} of {n}", asked[path], n * p - 6 * math.sqrt(n * p * (1 - p)) - 1,
                      n * p + 6 * math.sqrt(n * p * (1 - p)) + 1)


WEIGHTS = {"/often": 70, "/seldom?q=1": 25, "/%C3%A4": 4.5, "/": 0.5}


def lines_of(port, scheme="http"):
    return ["# of one server", f"{scheme}://127.0.0.1:{port}/often 70", f"{scheme}://127.0.0.1:{port}/seldom?q=1\t25",
            f"{scheme}://127.0.0.1:{port}/ä 4.5", "", f"{scheme}://127.0.0.1:{port} 0.5"]


def one_server():
    with Paths() as it, listed(*lines_of(it.port)) as path, tempfile.TemporaryDirectory() as folder:
        got = load("--urls", path, *FAST, "--seed", "5")
        check.equal("failed", got["requests"]["failed"], 0)
        check.equal("answered", sum(it.asked.values()), got["requests"]["completed"])
        shares(it.asked, WEIGHTS)
        check.equal("connections", it.server.accepted, 10)
        check.equal("target", got["setup"]["targets"], [f"http://127.0.0.1:{it.port}"])
        check.equal("file", got["setup"]["urls"], path)
        first = dict(it.asked)
        it.asked.clear()
        run = os.path.join(folder, "run")
        got = load("--urls", path, *FAST, "--seed", "5", "--outstanding", "8", "--record", run)
        check.equal("the same draws for the same seed", dict(it.asked), first)
        again = subprocess.run([HOSTLAT, "load", "--from", run, "--json"], capture_output=True, text=True, timeout=60,
                               check=False)
        check.equal("from the recording", json.loads(again.stdout), got)
        it.asked.clear()
        load("--urls", path, *FAST, "--agents", "local,local")
        shares(it.asked, WEIGHTS)
        it.asked.clear()
        done = subprocess.run([HOSTLAT, "load", "--urls", path, "--rates", "400:800:400", "--for", "1s",
                               "--json"], capture_output=True, text=True, timeout=60, check=False)
        check.equal(f"runs ({done.stderr})", len(json.loads(done.stdout)["runs"]), 4)
        shares(it.asked, WEIGHTS)
    return first


def over_tls():
    with tempfile.TemporaryDirectory() as folder:
        tls = certificate(folder)
        with Paths(tls) as it, listed(*lines_of(it.port, "https")) as path:
            got = load("--urls", path, *FAST, "--ca", tls[0])
            check.equal("failed", got["requests"]["failed"], 0)
            shares(it.asked, WEIGHTS)


def several_servers():
    """Connections are dealt by weight; each server is asked for its own paths."""
    with Paths() as a, Paths() as b, Paths() as c:
        with listed(f"http://127.0.0.1:{a.port}/x 30", f"http://127.0.0.1:{b.port}/y 20",
                    f"http://127.0.0.1:{a.port}/z 30", f"http://127.0.0.1:{c.port}/ 0.01") as path:
            got = load("--urls", path, *FAST)
        check.equal("connections", [x.server.accepted for x in (a, b, c)], [7, 2, 1])
        shares(a.asked, {"/x": 1, "/z": 1})
        check.equal("paths", (set(b.asked), set(c.asked)), ({"/y"}, {"/"}))
        check.equal("targets", [urllib.parse.urlsplit(u).port for u in got["setup"]["targets"]],
                    [a.port, b.port, c.port])
        # Equal weights, and as many connections as servers.
        with listed(*(f"http://127.0.0.1:{x.port}/" for x in (a, b, c))) as path:
            load("--urls", path, *FAST[:4], "--connections", "3")
            check.equal("connections", [x.server.accepted for x in (a, b, c)], [8, 3, 2])
            done = subprocess.run([HOSTLAT, "load", "--urls", path, *FAST[:4], "--connections", "2"],
                                  capture_output=True, text=True, timeout=60, check=False)
            check.equal("too few connections", (done.returncode, done.stderr),
                        (1, f"hostlat: 2 connections are too few for the 3 servers of --urls {path}\n"))


def another_protocol():
    """Each line of memcached is a server of its own; a password is in no result."""
    servers = [badserver.Server(badserver.good) for _ in range(2)]
    with listed(*(f"memcached://127.0.0.1:{it.port}" for it in servers)) as path:
        load("--urls", path, *FAST)
    check.equal("connections", [it.accepted for it in servers], [5, 5])
    with Paths() as it, listed(*(f"http://me:secret@127.0.0.1:{it.port}/{i}" for i in range(3))) as path:
        got = load("--urls", path, *FAST)
        check.equal("paths", set(it.asked), {"/0", "/1", "/2"})
        check.equal("target", got["setup"]["targets"], [f"http://me:***@127.0.0.1:{it.port}"])
    for it in servers:
        it.close()


def keys_of_one_path():
    """Only the second path has keys: the workload's settings are those of all paths together."""
    with Paths() as it, listed(f"http://127.0.0.1:{it.port}/a", f"http://127.0.0.1:{it.port}/b?{{key}}") as path:
        load("--urls", path, *FAST, "--workload", "keys=3,key=fixed:4")
        check.equal("paths", set(it.asked), {"/a", "/b?0000", "/b?0001", "/b?0002"})


def refused():
    for lines, code, message in (
            (["http://127.0.0.1:1/", "127.0.0.1:80/x"], 1, "line 2: '127.0.0.1:80/x' has no scheme"),
            (["http://127.0.0.1:1/ zero"], 1, "line 1: the weight after the URL must be a number above 0"),
            (["http://127.0.0.1:1/", "redis://127.0.0.1/"], 1, "line 2: all URLs of the file must have the same"),
            (["#"], 1, "the file has no URL")):
        with listed(*lines) as path:
            done = subprocess.run([HOSTLAT, "load", "--urls", path, "--rate", "10"], capture_output=True, text=True,
                                  timeout=60, check=False)
        check.equal(f"exit code ({done.stderr})", done.returncode, code)
        check.true(f"says {message}: {done.stderr}", done.stderr.startswith(f"hostlat: load: --urls {path}")
                   and message in done.stderr)
    done = subprocess.run([HOSTLAT, "load", "--urls", "/no/such/file", "--rate", "10"], capture_output=True, text=True,
                          timeout=60, check=False)
    check.equal("no file", (done.returncode, done.stderr),
                (2, "hostlat: load: --urls /no/such/file: No such file or directory\n"))


if __name__ == "__main__":
    check.run([(one_server,), (over_tls,), (several_servers,), (another_protocol,), (keys_of_one_path,), (refused,)])
