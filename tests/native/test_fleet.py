#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that `hostlat fleet report` finds a link between two racks that loses packets, in the
recordings of six hosts. The hosts are network namespaces around a box that forwards their packets;
those between the racks share its short queues. Each host has a connection to every other one. One
run records all namespaces, and each namespace becomes a recording."""
import contextlib
import os
import random
import selectors
import socket
import tempfile
import time

from lib import check, conns, fleet, netns
import stage  # of tests/scenarios, where lib.conns looks  # pylint: disable=wrong-import-order

RACKS = ((0, 1, 2), (3, 4, 5))
HOSTS = range(6)
SECONDS = 20
MESSAGE = bytes(40_000)
PAUSE_S = 0.15
PORT = 7777


def rack(host):
    return next(number for number, members in enumerate(RACKS) if host in members)


@contextlib.contextmanager
def six_hosts():
    """A stage on which only packets from rack to rack meet in a queue, which has little room."""
    with stage.Stage({f"host{host}": {} for host in HOSTS}) as made:
        for number in range(len(RACKS)):
            made.queue(f"up{number}", 100, 20)
        for host in HOSTS:
            for other in HOSTS:
                if host != other:
                    made.path(f"host{host}", f"host{other}", 0.5,
                              "-" if rack(host) == rack(other) else f"up{rack(host)}")
        made.open()
        yield made


class Traffic:
    """A connection from each host to every other, which carries a message now and then."""

    def __init__(self, made):
        self.selector = selectors.DefaultSelector()
        self.senders = []
        self.random = random.Random(1)
        names = [made.hosts[f"host{host}"].namespace for host in HOSTS]
        self.listeners = []
        for name in names:
            with netns.inside(name):
                self.listeners.append(socket.create_server(("0.0.0.0", PORT), backlog=16))
        for host in HOSTS:
            for other in HOSTS:
                if other == host:
                    continue
                with netns.inside(names[host]):
                    sender = socket.create_connection((made.address(f"host{other}"), PORT), timeout=10)
                receiver, _ = self.listeners[other].accept()
                receiver.setblocking(False)
                sender.setblocking(False)
                self.selector.register(receiver, selectors.EVENT_READ)
                self.senders.append([sender, 0, 0.0])

    def step(self, now):
        for one in self.senders:
            sender, left, due = one
            if not left and now >= due:
                one[1], one[2] = len(MESSAGE), now + PAUSE_S * (0.5 + self.random.random())
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
        for each in self.listeners + [sender for sender, _, _ in self.senders]:
            each.close()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


def record(made, folder):
    """Returns a recording of each host."""
    whole = os.path.join(folder, "whole")
    traffic = Traffic(made)
    with conns.beside(["--interval", "500ms", "--record-all", "--record", whole]) as document:
        traffic.run(SECONDS)
    traffic.close()
    check.true("the queues dropped packets", made.stats()["log"])
    return list(fleet.split(whole, folder, made.hosts.values(), document["json"]).values())


def lossy_link():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with six_hosts() as made:
            paths = record(made, folder)
        hosts = fleet.write(folder, "hosts.csv", "host,rack",
                      *(f"host{host},r{rack(host)}" for host in HOSTS))
        links = fleet.write(folder, "links.csv", "from,to,link", "r0,r1,up",
                      *(f"host{host},r{rack(host)},port{host}" for host in HOSTS))
        document = fleet.report(*paths, "--topology", hosts, "--topology", links, "--step", "500ms")
        check.equal("hosts", sorted(each["host"] for each in document["recordings"]),
                    [f"host{host}" for host in HOSTS])
        for each in document["recordings"]:
            check.equal(f"connections of {each['host']}", each["connections"], 10)
            check.equal(f"records of {each['host']} that count",
                        (each["untimed"], each["invalid"], each["lost"]), (0, 0, 0))
        found = {(each["kind"], each["name"]) for each in document["groups"]
                 if each["problem"] in fleet.LOSSES}
        check.true(f"the link is found, not {sorted(found)}", ("link", "up") in found)
        check.equal("ports that are blamed", {name for kind, name in found if kind == "link"},
                    {"up"})
        again = fleet.report(*paths, "--step", "500ms")
        check.equal("links without a topology",
                    [each for each in again["groups"] if each["kind"] in ("rack", "link")], [])


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(lossy_link, )])
