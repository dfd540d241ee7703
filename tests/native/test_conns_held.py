# SPDX-License-Identifier: Apache-2.0
"""
Proves that `conns` tells three senders apart that have the limit congestion in common: one that its
congestion window holds, one that paces, and one whose host's own queue is full. inet_diag does not
show which, and `conns` says so.
"""
import contextlib
import json
import os
import socket
import subprocess
import tempfile
import threading

from lib import check, conns, netns, process

DISTURBED = "the sender and hostlat need a CPU, or neither window nor queue is full"

SO_MAX_PACING_RATE = 47  # asm-generic/socket.h
INTERNAL = 2_000_000     # bytes per second, paced by TCP itself


def tc(name, *args):
    subprocess.run(["ip", "netns", "exec", name, "tc", *args], check=True)


class Hosts:
    """Sender and reader, with nothing between them but what a case adds."""

    def __init__(self):
        net = netns.veth()
        self.sender, self.reader, self.address = net.sender, net.reader, net.address(4)
        self.all = [net.sender, net.reader]

    def remove(self):
        for name in self.all:
            netns.remove(name)


class Path(Hosts):
    """Sender and reader with a router between them, whose queue is slow and short."""

    def __init__(self):
        star = netns.Star(2)
        self.sender, self.reader = star.points
        self.address, self.all = "10.78.1.2", [star.middle, *star.points]
        subprocess.run(["ip", "netns", "exec", star.middle, "sysctl", "-qw", "net.ipv4.ip_forward=1"], check=True)
        slow(star.middle, "point1", "64kb")


def slow(name, device, limit):
    tc(name, "qdisc", "replace", "dev", device, "root", "tbf", "rate", "20mbit", "burst", "16kb", "limit", limit)


def window():
    """The path is slow: losses keep the congestion window small."""
    return Path(), {}


def pacing():
    return Hosts(), {SO_MAX_PACING_RATE: INTERNAL}


def queue():
    """A queue that sends more slowly than the window allows, and drops nothing."""
    hosts = Hosts()
    slow(hosts.sender, "sender0", "10mb")
    return hosts, {}


@contextlib.contextmanager
def stream(net, options):
    """A sender that always has more to send, and a reader that reads it."""
    with netns.inside(net.reader):
        listener = socket.create_server((net.address, 0))
    with netns.inside(net.sender):
        a = socket.socket()
        a.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")  # it doesn't pace by itself
        for name, value in options.items():
            a.setsockopt(socket.SOL_SOCKET, name, value)
        a.connect(listener.getsockname())
    b = listener.accept()[0]
    stop = threading.Event()

    def send():
        a.settimeout(0.1)
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                a.send(bytes(65536))

    def read():
        b.settimeout(0.1)
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                b.recv(1 << 20)

    threads = [threading.Thread(target=each, daemon=True) for each in (send, read)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        for each in a, b, listener:
            each.close()


def observed(net, options):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        child = process.start([conns.HOSTLAT, "conns", "--interval", "3s", "--count", "1", "--json", "--output", out,
                               "--cpu-budget", "2%..30%", "--filter", f"netns = {net.sender}", *options],
                              stderr=subprocess.PIPE, text=True)
        errors = child.communicate(timeout=60)[1]
        check.true(f"it ended with 0 or 3: {errors}", child.returncode in (0, 3))
        with open(out, encoding="utf-8") as f:
            document = json.load(f)
    check.equal("connections", len(document["connections"]), 1)
    return document, document["connections"][0]


@check.environment(DISTURBED)
def is_told(prepare, parts, state):
    hosts, options = prepare()
    with stream(hosts, options):
        row = observed(hosts, [])[1]
    held = row["congestion_ns"]
    check.true(f"{parts} are the greatest part: {held}", sum(held[part] for part in parts) > sum(held.values()) / 2)
    check.equal("the parts' sum", sum(held.values()), row["time_ns"]["congestion"])
    check.equal("the limit", row["limit"], "congestion")
    check.equal("state", row["state"], state)
    hosts.remove()
    return f"{held}"


@check.environment(DISTURBED)
def is_unknown_by_inet_diag():
    hosts, options = pacing()
    with stream(hosts, options):
        document, row = observed(hosts, ["--collect", "inet-diag"])
    check.equal("parts", set(row["congestion_ns"].values()), {None})
    check.true(f"state: {row['state']}", row["state"] not in ("pacing", "local-queue"))
    check.true(f"it is named: {document['missing']}", any("pacing" in str(each) for each in document["missing"]))
    hosts.remove()
    return row["state"]


if os.geteuid() != 0:
    check.skip("needs root")
check.run([
    (is_told, window, ("window", "repair"), "congestion"),
    (is_told, pacing, ("pacing",), "pacing"),
    (is_told, queue, ("local-queue",), "local-queue"),
    (is_unknown_by_inet_diag,),
])
