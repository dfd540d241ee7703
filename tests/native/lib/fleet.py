# SPDX-License-Identifier: Apache-2.0
"""Hosts around a box that is their switch, applications on them, a recording of each host, and what
`hostlat fleet report` says of the recordings."""
import contextlib
import json
import os
import socket
import struct
import subprocess
import time

from lib import check, conns, netns
import stage  # of tests/scenarios, where lib.conns looks  # pylint: disable=wrong-import-order

HALF = os.environ["HALF"]
LOSSES = {"fast-retransmit", "timeout"}
SO_NETNS_COOKIE = 71
DELAY_MS = 2        # one way
CONNECTIONS_MAX = 4000
COMMAND = "ends"    # name of the program that plays all applications


class App:
    """
    An application: what a server and a client do with each connection (tests/scenarios/plan.h).
    `peers` are the hosts that each host's client calls; `server` None: another one has the port.
    Options are those of `ends`, for one end if they begin with its name.
    """

    def __init__(self, name, port, server, client, peers, **options):
        self.name, self.port, self.server, self.client = name, port, server, client
        self.peers, self.options = peers, options

    def of(self, end):
        other = "server_" if end == "client" else "client_"
        return {key.removeprefix(f"{end}_"): value for key, value in self.options.items()
                if not key.startswith(other)}

    def serve(self, made, hosts):
        """With one connection more than come, so that it listens to the end."""
        for host in hosts if self.server else ():
            made.serve(host, self.server, self.port, n=CONNECTIONS_MAX, **self.of("server"))

    def call(self, made, hosts):
        """Returns the programs that are to begin."""
        callers = []
        for host in hosts:
            peers = [f"{made.address(each)},{self.port}" for each in self.peers(host)]
            if peers:
                callers.append(made.call(host, self.peers(host)[0], self.client, self.port, **{
                    "n": len(peers), "also": peers[1:], **self.of("client")}))
        return callers


class Proxy(App):
    """Its servers have a connection to the next host's `backend` for each client's."""

    def __init__(self, name, port, server, client, peers, backend, **options):
        super().__init__(name, port, server, client, peers, **options)
        self.backend = backend

    def serve(self, made, hosts):
        for host, behind in zip(hosts, hosts[1:] + hosts[:1]):
            made.serve(host, self.server, self.port, n=CONNECTIONS_MAX, **self.of("server"),
                       next=f"{made.address(behind)},{self.backend}")


def ring(hosts, *steps):
    """Returns a function from a host to those that are so many places behind it."""
    return lambda host: [hosts[(hosts.index(host) + step) % len(hosts)] for step in steps]


class Site:
    """
    Hosts of one fleet, on a stage that others may share: `name` begins their names. Their paths
    have no queues, unless ports() or uplink() adds some.
    """

    def __init__(self, name, n, settings=None):
        self.name = name
        self.hosts = [f"{name}{number}" for number in range(n)]
        self.settings = settings or {}
        self.apps, self.queues, self.racks = [], {}, [self.hosts]
        self.queue_to = lambda there, back: "-"
        self.lossy = {}     # share of packets that a host's port loses, either way
        self.links = False  # whether the report is to know racks and links

    def app(self, *args, kind=App, **options):
        self.apps.append(kind(*args, **options))

    def ring(self, *steps):
        return ring(self.hosts, *steps)

    def ports(self, rate_mbit, packets):
        """Gives each host a port of the switch: a queue of the packets to this host."""
        self.queues = {f"to-{host}": (rate_mbit, packets) for host in self.hosts}
        self.queue_to = lambda there, back: (
            f"from-{there}" if there in self.lossy and back not in self.lossy else f"to-{back}")

    def uplink(self, rate_mbit, packets, racks):
        """Divides the hosts among two racks, with one link between them."""
        self.racks = racks
        self.queues = {f"{self.name}-up{rack}": (rate_mbit, packets) for rack in (0, 1)}
        self.queue_to = lambda there, back: (
            "-" if self.rack(there) == self.rack(back) else f"{self.name}-up{self.rack(there)}")

    def rack(self, host):
        return next(number for number, members in enumerate(self.racks) if host in members)

    def connect(self, made):
        """Adds queues and paths."""
        lossy = {f"to-{host}": share for host, share in self.lossy.items()}
        if len(lossy) < len(self.hosts):
            lossy |= {f"from-{host}": share for host, share in self.lossy.items()}
        self.queues = {**dict.fromkeys(lossy, (1000, 1000)), **self.queues}
        for queue, (rate_mbit, packets) in self.queues.items():
            made.queue(queue, rate_mbit, packets)
        for seed, (queue, share) in enumerate(lossy.items(), 1):
            made.lossy(queue, share, seed)
        for there in self.hosts:
            for back in self.hosts:
                if there != back:
                    made.path(there, back, DELAY_MS, self.queue_to(there, back))

    def serve(self, made):
        for app in self.apps:
            app.serve(made, self.hosts)

    def call(self, made):
        return [caller for app in self.apps for caller in app.call(made, self.hosts)]

    def port(self, app):
        return next(each.port for each in self.apps if each.name == app)

    def options(self, folder):
        """Writes the tables of applications, hosts and links; returns the options that name them."""
        apps = write(folder, f"{self.name}-apps.csv", "application,command,port",
                     *(f"{name},{COMMAND},{port}"
                       for name, port in {app.name: app.port for app in self.apps}.items()))
        hosts = write(folder, f"{self.name}-hosts.csv", "host,rack",
                      *(f"{host},r{self.rack(host)}" for host in self.hosts))
        links = write(folder, f"{self.name}-links.csv", "from,to,link",
                      *(["r0,r1,up"] if len(self.racks) > 1 else []),
                      *(f"{host},r{self.rack(host)},port-{host}" for host in self.hosts))
        return ["--apps", apps,
                *(["--topology", hosts, "--topology", links] if self.links else [])]


@contextlib.contextmanager
def staged(sites):
    """A stage with all hosts of these sites."""
    with stage.Stage({host: site.settings for site in sites for host in site.hosts}) as made:
        for site in sites:
            site.connect(made)
        made.open()
        yield made


def identity(host, document):
    """
    Returns what `conns` calls a host's namespace: its cookie or, where programs cannot have it, its
    inode. Addresses are no identity: other stages have the same.
    """
    with netns.inside(host.namespace), socket.socket() as any_socket:
        cookie = struct.unpack("=Q", any_socket.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8))
    known = {each["netns_cookie"] for each in document["connections"]}
    found = known & {str(cookie[0]), str(host.netns_inode)}
    check.equal(f"names of the namespace of {host.name}", len(found), 1)
    return found.pop()


def split(whole, folder, hosts, document):
    """Makes a recording of each host out of that of all namespaces; returns their paths by name."""
    paths = {}
    for host in hosts:
        paths[host.name] = os.path.join(folder, f"{host.name}.hlat")
        subprocess.run([HALF, whole, paths[host.name], identity(host, document), host.name, "0"],
                       check=True)
    return paths


def play(made, sites, folder, seconds):
    """Returns each host's recording, of so many seconds in which the applications run."""
    whole = os.path.join(folder, "whole")
    for site in sites:
        site.serve(made)
    callers = [caller for site in sites for caller in site.call(made)]
    with conns.beside(["--interval", "500ms", "--record-all", "--record", whole,
                       "--cpu-budget", "5%..60%"]) as document:
        for caller in callers:
            caller.command("go")
        time.sleep(seconds)
    return split(whole, folder, made.hosts.values(), document["json"])


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
