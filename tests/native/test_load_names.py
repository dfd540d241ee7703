# SPDX-License-Identifier: Apache-2.0
"""Proves how `load` resolves names: it reports a name server that does not answer, ends at the
first signal, and gives up after a while; if one of several addresses refuses, it tries the next,
and the result says which was used. With --addresses all, all are used. --bind: connections come from
these addresses of this host in turn."""
import collections
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time

from lib import badserver, check, process
from lib.serving import HOSTLAT

# The files take the place of the system's for this process alone.
INSIDE = 'mount --bind "$1/resolv.conf" /etc/resolv.conf && mount --bind "$1/hosts" /etc/hosts && shift && exec "$@"'
SILENT = "127.0.0.77"


def start(folder, url, *args):
    return process.start(["unshare", "-m", "sh", "-c", INSIDE, "sh", folder, HOSTLAT, "load", url, "--rate", "100",
                          "--for", "300ms", "--connections", "4", "--json", *args], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)


def files(folder, hosts=""):
    for name, text in ("resolv.conf", f"nameserver {SILENT}\n"), ("hosts", f"127.0.0.1 localhost\n{hosts}"):
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(text)


def silent_server():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((SILENT, 53))
    return s


def a_signal_ends_it(name):
    with silent_server(), tempfile.TemporaryDirectory() as folder:
        files(folder)
        load = start(folder, "http://nowhere.test/")
        check.true("says that it resolves", "resolving nowhere.test" in load.stderr.readline())
        load.send_signal(getattr(signal, name))
        begin = time.monotonic()
        out, err = load.communicate(timeout=120)
        check.between("seconds until it ends", time.monotonic() - begin, 0, 5)
        check.equal(f"exit code ({err})", load.returncode, 3)
        got = json.loads(out)
        check.true(f"interrupted: {got['reasons']}", "interrupted" in [r["code"] for r in got["reasons"]])


def no_answer():
    """Without a signal it ends, too, long before the 20 s that the resolver may take."""
    with silent_server(), tempfile.TemporaryDirectory() as folder:
        files(folder)
        begin = time.monotonic()
        load = start(folder, "http://nowhere.test/")
        _, err = load.communicate(timeout=120)
        check.between("seconds until it ends", time.monotonic() - begin, 1, 16)
        check.equal(f"exit code ({err})", load.returncode, 2)
        check.true(f"why: {err}", "nowhere.test: " in err)


def several_addresses():
    it = badserver.Server(badserver.pages(1 << 30))
    with tempfile.TemporaryDirectory() as folder:
        files(folder, "127.0.0.3 two.test\n127.0.0.1 two.test\n")
        out, err = start(folder, f"http://two.test:{it.port}/").communicate(timeout=120)
        got = json.loads(out)
        check.equal(f"failed ({err})", got["requests"]["failed"], 0)
        check.equal("address", got["setup"]["addresses"], f"two.test is 127.0.0.1:{it.port}")
        check.true(f"nothing is slow: {err}", "resolving" not in err)
        out, err = start(folder, f"http://127.0.0.1:{it.port}/").communicate(timeout=120)
        check.equal("of a number", json.loads(out)["setup"]["addresses"], None)
        files(folder, "127.0.0.3 two.test\n127.0.0.2 two.test\n")
        load = start(folder, f"http://two.test:{it.port}/")
        _, err = load.communicate(timeout=120)
        check.equal(f"none answers ({err})", load.returncode, 2)
        for address in "127.0.0.2", "127.0.0.3":
            check.true(f"{address} is named: {err}", f"{address}:{it.port}: Connection refused" in err)
    it.close()


class Noting(badserver.Server):
    """Listens on all addresses, and counts connections by this and by the other end's address."""

    def __init__(self, page=badserver.PAGE, family=socket.AF_INET):
        self.here, self.there = collections.Counter(), collections.Counter()
        self.pairs = set()
        super().__init__(self.note, family, address="0.0.0.0" if family == socket.AF_INET else None)
        self.page = page

    def note(self, _, c):
        here, there = c.peer.getsockname()[0], c.peer.getpeername()[0]
        with self.lock:
            self.here[here] += 1
            self.there[there] += 1
            self.pairs.add((here, there))
        while c.requests(1, b"\r\n\r\n"):
            c.answer(1, self.page)


def all_addresses():
    it, one = Noting(), badserver.Server(badserver.pages(1 << 30))
    with tempfile.TemporaryDirectory() as folder:
        files(folder, "127.0.0.2 two.test\n127.0.0.3 two.test\n")
        url = f"http://two.test:{it.port}/"
        for args, expected in ([], {"127.0.0.2": 4}), (["--addresses", "first"], {"127.0.0.2": 4}), \
                              (["--addresses", "all"], {"127.0.0.2": 2, "127.0.0.3": 2}), \
                              (["--addresses", "all", "--threads", "2", "--connections", "5"],
                               {"127.0.0.2": 3, "127.0.0.3": 2}):
            it.here.clear()
            out, err = start(folder, url, *args).communicate(timeout=120)
            setup = json.loads(out)["setup"]
            check.equal(f"connections by address with {args} ({err})", dict(it.here), expected)
            check.equal("addresses", setup["addresses"],
                        ", ".join(f"two.test is {a}:{it.port}" for a in expected))
            check.equal("asked for", setup.get("use_addresses"), "all" if "all" in args else None)
            check.true("none is dead", "dead_addresses" not in setup)
        # Only 127.0.0.1 listens.
        files(folder, "127.0.0.2 two.test\n127.0.0.1 two.test\n127.0.0.3 two.test\n")
        path = os.path.join(folder, "run")
        out, err = start(folder, f"http://two.test:{one.port}/", "--addresses", "all", "--record",
                         path).communicate(timeout=120)
        got = json.loads(out)
        dead = [f"{a}:{one.port} of two.test: Connection refused" for a in ("127.0.0.2", "127.0.0.3")]
        check.equal(f"dead ones ({err})", got["setup"]["dead_addresses"], dead)
        check.equal("used", got["setup"]["addresses"], f"two.test is 127.0.0.1:{one.port}")
        check.equal("failed", got["requests"]["failed"], 0)
        text = subprocess.run([HOSTLAT, "load", "--from", path], capture_output=True, text=True, timeout=60,
                              check=False).stdout
        for line in dead:
            check.true(f"told from the recording: {text}", f"not used: {line}" in text)
    it.close()
    one.close()
    return dead[0]


def an_address_dies():
    """One of two servers ends: its connections go to the other, and the result names the address."""
    it = [badserver.Server(badserver.pages(20), address="127.0.0.2")]
    port = it[0].port
    other = socket.create_server(("127.0.0.3", port), backlog=64)

    def one(_, c):
        if c.requests(1, b"\r\n\r\n"):
            other.close()
    rest = badserver.Server.__new__(badserver.Server)
    rest.__dict__.update(behave=one, answered=0, asked=0, accepted=0, lock=it[0].lock, socket=other, port=port)
    threading.Thread(target=rest.accept, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        files(folder, "127.0.0.2 two.test\n127.0.0.3 two.test\n")
        out, err = start(folder, f"http://two.test:{port}/", "--addresses", "all", "--rate", "400", "--for",
                         "1s").communicate(timeout=120)
        got = json.loads(out)
        refused = [f for f in got["failures"] if f["of"] == "connection" and f["cause"] == "ECONNREFUSED"]
        check.equal(f"named ({err}): {got['failures']}", [f["text"] for f in refused],
                    [f"127.0.0.3:{port}: Connection refused"])
        check.true(f"answered: {got['requests']}", got["requests"]["completed"] > 200)
    it[0].close()


def bound():
    """Connections come from the addresses of --bind in turn; with all addresses of a name, from each to each."""
    it, udp = Noting(), badserver.Datagrams(1 << 30)
    two = ["--bind", "127.0.0.5,127.0.0.6"]
    with tempfile.TemporaryDirectory() as folder:
        files(folder, "127.0.0.2 two.test\n127.0.0.3 two.test\n")
        for url, args, expected in (
                ("127.0.0.1", [], {("127.0.0.1", "127.0.0.1")}),
                ("127.0.0.1", two, {("127.0.0.1", "127.0.0.5"), ("127.0.0.1", "127.0.0.6")}),
                ("two.test", [*two, "--addresses", "all"],
                 {(a, b) for a in ("127.0.0.2", "127.0.0.3") for b in ("127.0.0.5", "127.0.0.6")}),
                # Of agents each uses those that its host has.
                ("127.0.0.1", ["--agents", "local,local", "--bind", "127.0.0.5,192.0.2.9"],
                 {("127.0.0.1", "127.0.0.5")})):
            it.pairs.clear()
            it.there.clear()
            out, err = start(folder, f"http://{url}:{it.port}/", *args).communicate(timeout=120)
            check.true(f"measured: {err}", out)
            got = json.loads(out)
            check.equal(f"pairs with {args} ({err})", it.pairs, expected)
            check.equal("as many", len(set(it.there.values())), 1)
            check.equal("set-up", got["setup"].get("bind"), args[args.index("--bind") + 1].split(",")
                        if "--bind" in args else None)
        out, err = start(folder, f"udp+memcached://127.0.0.1:{udp.port}", "--bind", "127.0.0.5",
                         "--outstanding", "1").communicate(timeout=120)
        check.equal(f"datagrams come from it, too ({err})", json.loads(out)["requests"]["failed"], 0)
        check.equal("address", udp.peers, {"127.0.0.5"})
        six = Noting(family=socket.AF_INET6)
        out, err = start(folder, f"http://[::1]:{six.port}/", "--bind", "127.0.0.5,::1").communicate(timeout=120)
        check.equal(f"of both kinds ({err})", dict(six.there), {"::1": 4})
        for url, bind, code, message in (
                (f"http://127.0.0.1:{it.port}", "127.0.0.5,192.0.2.9", 2,
                 "--bind 192.0.2.9: this host does not have this address"),
                (f"http://[::1]:{six.port}", "127.0.0.5", 2, "--bind: ::1 has only IPv6 addresses"),
                (f"http://127.0.0.1:{it.port}", "::1", 2, "--bind: 127.0.0.1 has only IPv4 addresses"),
                (f"http://127.0.0.1:{it.port}", "127.0.0.5,localhost", 1, "not 'localhost'")):
            load = start(folder, url, "--bind", bind)
            _, err = load.communicate(timeout=120)
            check.equal(f"exit code ({err})", load.returncode, code)
            check.true(f"says {message}: {err}", message in err)
        load = start(folder, f"http://127.0.0.1:{it.port}", "--agents", "local,local", "--bind", "192.0.2.9")
        _, err = load.communicate(timeout=120)
        check.equal(f"exit code ({err})", load.returncode, 2)
        check.true(f"an agent says it: {err}", "--bind 192.0.2.9: this host does not have this address" in err)
    for server in it, six, udp:
        server.close()
    return err.strip()


if __name__ == "__main__":
    check.run([(a_signal_ends_it, "SIGINT"), (a_signal_ends_it, "SIGTERM"), (no_answer,), (several_addresses,),
               (all_addresses,), (an_address_dies,), (bound,)])
