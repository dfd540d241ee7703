#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that `hostlat fleet report` finds a lossy link between two racks in the recordings of six
hosts. The hosts are network namespaces at two bridges, which one link joins; each host has a
connection to every other. One run records all namespaces, and each namespace becomes a recording."""
import contextlib
import json
import os
import selectors
import socket
import subprocess
import tempfile
import time

from lib import check, conns, netns

HALF = os.environ["HALF"]
RACKS = ((0, 1, 2), (3, 4, 5))
HOSTS = range(6)
SECONDS = 20
MESSAGE = bytes(40_000)
PAUSE_S = 0.1
PORT = 7777
LOSSES = {"fast-retransmit", "timeout"}


def address(host):
    return f"10.80.0.{host + 1}"


class Fleet:
    """Six namespaces at two bridges in a seventh, and a link between the bridges."""

    def __init__(self):
        self.middle = netns.make()
        self.hosts = [netns.make() for _ in HOSTS]
        for rack, members in enumerate(RACKS):
            netns.ip("-n", self.middle, "link", "add", f"rack{rack}", "type", "bridge")
            netns.ip("-n", self.middle, "link", "set", f"rack{rack}", "up")
            for host in members:
                self.plug(host, rack)
        netns.ip("-n", self.middle, "link", "add", "up0", "type", "veth", "peer", "name", "up1")
        for rack in range(2):
            netns.ip("-n", self.middle, "link", "set", f"up{rack}", "master", f"rack{rack}", "up")

    def plug(self, host, rack):
        name = self.hosts[host]
        netns.ip("-n", self.middle, "link", "add", f"port{host}", "type", "veth",
                 "peer", "name", "eth0", "netns", name)
        netns.ip("-n", self.middle, "link", "set", f"port{host}", "master", f"rack{rack}", "up")
        netns.ip("-n", name, "addr", "add", f"{address(host)}/24", "dev", "eth0")
        netns.ip("-n", name, "link", "set", "eth0", "up")

    def lose(self, percent):
        for rack in range(2):
            subprocess.run(["ip", "netns", "exec", self.middle, "tc", "qdisc", "replace", "dev",
                            f"up{rack}", "root", "netem", "delay", "1ms", "loss", f"{percent}%"],
                           check=True)


class Traffic:
    """A connection from each host to every other, which carries a message now and then."""

    def __init__(self, fleet):
        self.selector = selectors.DefaultSelector()
        self.senders = []
        listeners = []
        for name in fleet.hosts:
            with netns.inside(name):
                listeners.append(socket.create_server(("0.0.0.0", PORT), backlog=16))
        for host in HOSTS:
            for other in HOSTS:
                if other == host:
                    continue
                with netns.inside(fleet.hosts[host]):
                    sender = socket.create_connection((address(other), PORT), timeout=10)
                receiver, _ = listeners[other].accept()
                receiver.setblocking(False)
                sender.setblocking(False)
                self.selector.register(receiver, selectors.EVENT_READ)
                self.senders.append([sender, 0, 0.0])
        for each in listeners:
            each.close()

    def step(self, now):
        for one in self.senders:
            sender, left, due = one
            if not left and now >= due:
                one[1], one[2] = len(MESSAGE), now + PAUSE_S
            if one[1]:
                with contextlib.suppress(BlockingIOError):
                    one[1] -= sender.send(MESSAGE[:one[1]])
        for key, _ in self.selector.select(0.002):
            with contextlib.suppress(BlockingIOError):
                key.fileobj.recv(1 << 20)

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step(time.monotonic())

    def close(self):
        for sender, _, _ in self.senders:
            sender.close()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


def cookies(document):
    """Returns each host's namespace, by the addresses of its connections."""
    found = {}
    for each in document["connections"]:
        for host in HOSTS:
            if each["local"].startswith(address(host) + ":"):
                found[host] = each["netns_cookie"]
    return found


def record(fleet, folder):
    """Returns a recording of each host."""
    whole = os.path.join(folder, "whole")
    traffic = Traffic(fleet)
    fleet.lose(5)
    with conns.beside(["--interval", "500ms", "--record-all", "--record", whole]) as document:
        traffic.run(SECONDS)
    traffic.close()
    by_host = cookies(document["json"])
    check.equal("hosts with connections", sorted(by_host), list(HOSTS))
    paths = []
    for host in HOSTS:
        paths.append(os.path.join(folder, f"host{host}.hlat"))
        subprocess.run([HALF, whole, paths[-1], by_host[host], f"host{host}", "0"], check=True)
    return paths


def write(folder, name, *rows):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(rows) + "\n")
    return path


def report(*words):
    done = subprocess.run([conns.HOSTLAT, "fleet", "report", "--json", *words],
                          capture_output=True, text=True, timeout=120, check=False)
    check.true(f"it ended with 0 or 3: {done.stderr}", done.returncode in (0, 3))
    return json.loads(done.stdout)


def lossy_link():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        paths = record(Fleet(), folder)
        hosts = write(folder, "hosts.csv", "host,rack",
                      *(f"host{host},r{rack}" for rack in range(2) for host in RACKS[rack]))
        links = write(folder, "links.csv", "from,to,link", "r0,r1,up",
                      *(f"host{host},r{rack},port{host}" for rack in range(2)
                        for host in RACKS[rack]))
        document = report(*paths, "--topology", hosts, "--topology", links, "--step", "500ms")
        check.equal("hosts", sorted(each["host"] for each in document["recordings"]),
                    [f"host{host}" for host in HOSTS])
        for each in document["recordings"]:
            check.equal(f"connections of {each['host']}", each["connections"], 10)
            check.equal(f"records of {each['host']} that count",
                        (each["untimed"], each["invalid"], each["lost"]), (0, 0, 0))
        found = {(each["kind"], each["name"]) for each in document["groups"]
                 if each["problem"] in LOSSES}
        check.true(f"the link is found, not {sorted(found)}", ("link", "up") in found)
        check.equal("ports that are blamed", {name for kind, name in found if kind == "link"},
                    {"up"})
        again = report(*paths, "--step", "500ms")
        check.equal("links without a topology",
                    [each for each in again["groups"] if each["kind"] in ("rack", "link")], [])


if __name__ == "__main__":
    check.run([(lossy_link, )])
