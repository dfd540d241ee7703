# SPDX-License-Identifier: Apache-2.0
"""
The hosts of one run of a scenario: a client, some servers, two networks between them (`lan`: veth;
`path`: see path.py), and the processes of each connection. All ends with the run.
"""
import ctypes
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import traceback

from conns_scenarios import apps, path
from lib.netns import inside

CLIENT, SERVER, VIP = "10.123.0.1", "10.123.1.{}", "10.123.9.9"
LAN_CLIENT, LAN_SERVER = "10.124.0.1", "10.124.0.2"
FIRST_PORT = 30000
SO_MAX_PACING_RATE = 47
# Whatever the machine's default is; a namespace other than the first one may not choose its own.
CONTROL = socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic"
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Skip(Exception):
    """This machine cannot have the scenario."""


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL)


class Connection:
    def __init__(self, name, port, server, address, server_port, lanes):
        self.name, self.port, self.server, self.address = name, port, server, address
        self.server_port, self.lanes = server_port, lanes
        self.result = {}        # of its client's and server's functions, by end


class World:
    """Built by a scenario's function through connect(), controls() and the like; then run once."""

    def __init__(self, seconds, servers=1):
        self.seconds = seconds      # from the start of the traffic to its end
        self.tag = f"hls{os.getpid()}"
        self.client, self.servers = f"{self.tag}c", [f"{self.tag}s{i}" for i in range(servers)]
        self.connections, self.notes, self.checks = {}, [], []
        self.counts = {}            # the relay's, once it ended
        self._starts, self._listening, self._children, self._ended_later = [], set(), [], []
        self.folder = tempfile.mkdtemp(prefix="hostlat-scenario-")
        self._ends, self._relay = [], None
        try:
            self._networks()
        except BaseException:
            self.remove()
            raise

    def _networks(self):
        for name in (self.client, *self.servers):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", self.client, "link", "add", "lan", "type", "veth",
           "peer", "name", "lan", "netns", self.servers[0])
        for name, address in ((self.client, LAN_CLIENT), (self.servers[0], LAN_SERVER)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "lan")
            ip("-n", name, "link", "set", "lan", "up")
        for i, name in enumerate((self.client, *self.servers)):
            with inside(name):
                try:
                    self._ends.append(path.tun("path"))
                except OSError as e:
                    raise Skip(f"no TUN device can be made: {e.strerror}") from e
            for address in [CLIENT] if not i else [SERVER.format(i), VIP]:
                ip("-n", name, "addr", "add", f"{address}/16", "dev", "path")
            ip("-n", name, "link", "set", "path", "txqueuelen", "10000", "up")

    def namespaces(self):
        """Returns the inode number of each namespace, as text."""
        return {str(os.stat(f"/run/netns/{name}").st_ino) for name in (self.client, *self.servers)}

    def connect(self, name, server, client, up=None, down=None, at=0, vip=False, options=None):
        """
        Adds a connection: server(socket, world) and client(socket, world) run in processes of their
        own until the socket fails or world.left() is 0. Over the path with a lane, else over the lan.
        `options`: {"client" or "server": [(level, option, value)]}, set before the connection begins.
        """
        port = FIRST_PORT + len(self.connections)
        lanes = None
        if up or down:
            lanes = up or path.Lane(), down or path.Lane()
        address = VIP if vip else SERVER.format(at + 1) if lanes else LAN_SERVER
        server_port = 443 if vip else port + 10000
        it = Connection(name, port, at, address, server_port, lanes)
        self.connections[name] = it
        options = options or {}
        if (at, server_port) not in self._listening:
            self._listening.add((at, server_port))
            self._starts.append((it, "server", server, options.get("server", [])))
        self._starts.append((it, "client", client, options.get("client", [])))
        return it

    def controls(self):
        """Adds four healthy connections that each scenario has beside its own."""
        lane = path.Lane
        self.connect("control-rpc", apps.rpc_server(200, 2000), apps.rpc_client(200, 2000, 0.02), lane(), lane())
        self.connect("control-stream", apps.stream(8000, 0.02), apps.sink, lane(), lane())
        self.connect("control-paced", apps.bulk, apps.sink, lane(), lane(),
                     options={"server": [(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 500_000)]})
        self.connect("control-idle", apps.idle, apps.idle, lane(), lane())

    def check(self, what, holds):
        """Adds holds(world) -> (bool, text): whether what the scenario plants happened in this run."""
        self.checks.append((what, holds))

    def left(self):
        return max(self.deadline - time.monotonic(), 0)

    def _child(self, connection, end, function, *args):
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            code = 1
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                result = function(*args)
                os.write(write, json.dumps(result or {}).encode()[:60000])
                code = 0
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(write)
        self._children.append((pid, read, connection, end))
        return pid

    def _serve(self, connection, function, options):
        with inside(self.servers[connection.server]):
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            for option in (CONTROL, *options):
                listener.setsockopt(*option)
            listener.bind((connection.address, connection.server_port))
            listener.listen(16)
        result, threads = {}, []

        def one(s):
            s.settimeout(1)
            result.update(apps.until_closed(function, s, self) or {})

        listener.settimeout(0.2)
        while self.left():
            try:
                threads.append(threading.Thread(target=one, args=(listener.accept()[0],)))
            except TimeoutError:
                continue
            threads[-1].start()
        for thread in threads:
            thread.join()
        return result

    def _call(self, connection, function, options):
        source = CLIENT if connection.lanes else LAN_CLIENT
        end = time.monotonic() + 2
        while time.monotonic() < end:
            with inside(self.client):
                s = socket.socket()
            for option in (CONTROL, *options):
                s.setsockopt(*option)
            s.settimeout(1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((source, connection.port))
            try:
                s.connect((connection.address, connection.server_port))
            except OSError:
                s.close()
                time.sleep(0.05)
                continue
            return apps.until_closed(function, s, self)
        return {}

    def start(self):
        self.deadline = time.monotonic() + self.seconds
        routes = {c.port: (c.server, *c.lanes) for c in self.connections.values() if c.lanes}
        read, write = os.pipe()
        self._relay = os.fork()
        if not self._relay:
            try:
                _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                path.carry(self._ends[0], self._ends[1:], routes, self.deadline + 2, write)
            finally:
                os._exit(0)
        os.close(write)
        self._relay_counts = read
        for wanted in ("server", "client"):
            for connection, end, function, options in self._starts:
                if end == wanted:
                    run = self._serve if end == "server" else self._call
                    self._child(connection, end, run, connection, function, options)
            time.sleep(0.3)

    def pids(self, end, name):
        return [pid for pid, _, c, e in self._children if e == end and c.name == name]

    def finish(self):
        """Waits for all processes, which end by themselves, and reads what they and the relay tell."""
        for pid, read, connection, end in self._children:
            with os.fdopen(read) as f:
                text = f.read()
            os.waitpid(pid, 0)
            connection.result[end] = json.loads(text) if text else {}
        self._children = []
        os.kill(self._relay, signal.SIGTERM)
        with os.fdopen(self._relay_counts) as f:
            self.counts = json.load(f)
        os.waitpid(self._relay, 0)
        self._relay = None

    def lane_counts(self, name, way):
        return self.counts[str(self.connections[name].port)][way]

    def failed_checks(self):
        failed = []
        for what, holds in self.checks:
            held, seen = holds(self)
            if not held:
                failed.append(f"{what} ({seen})")
        return failed

    def at_end(self, function):
        self._ended_later.append(function)

    def remove(self):
        for pid, *_ in self._children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        if self._relay:
            os.kill(self._relay, signal.SIGKILL)
            os.waitpid(self._relay, 0)
        for fd in self._ends:
            os.close(fd)
        for function in self._ended_later:
            function()
        for name in (self.client, *self.servers):
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", self.folder], check=False)
