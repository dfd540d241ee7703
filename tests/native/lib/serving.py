# SPDX-License-Identifier: Apache-2.0
"""`hostlat serve` as a test needs it, and its synthetic protocol spoken in Python."""
import contextlib
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess

from lib import check, process

HOSTLAT = os.environ["HOSTLAT"]
REQUEST, REPLY = struct.Struct(">HBBIIIQ"), struct.Struct(">HBBIIIQQQ")
DRAWN, REFUSED = 1, 1
SECONDS = 60


class Server:
    """Its addresses once it is ready; its summary once it has ended."""

    def __init__(self, *args, addresses=("127.0.0.1:0",), ahead=()):
        self.process = process.start([*ahead, HOSTLAT, "serve", *addresses, "--json", *args],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        if "serving " not in line:
            raise check.Unexpected(f"serve says: {line}")
        self.addresses = line.split("serving ")[1].split()
        ports = [re.search(r":(\d+)$", a) for a in self.addresses]
        self.ports = [int(p.group(1)) if p else None for p in ports]
        self.port = self.ports[0]
        self.result = None

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=SECONDS)
        check.equal(f"exit code ({err})", self.process.returncode, 0)
        self.result = json.loads(out)
        return self.result

    def errors(self):
        return {e["reason"]: e["count"] for e in self.result["errors"]}


@contextlib.contextmanager
def serving(*args, **options):
    it = Server(*args, **options)
    try:
        yield it
        if it.result is None:
            it.end()
    finally:
        it.process.kill()


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def request(ident, service_ns=None, size=REQUEST.size, reply_size=REPLY.size):
    flags = DRAWN if service_ns is None else 0
    return REQUEST.pack(0x4851, 1, flags, ident, size, reply_size,
                        service_ns or 0) + bytes(size - REQUEST.size)


class Reply:
    def __init__(self, data):
        (magic, version, self.flags, self.id, self.size, zero, self.service, self.at, self.out
         ) = REPLY.unpack_from(data)
        check.equal("magic, version and zero", (magic, version, zero), (0x4852, 1, 0))


class Client:
    """A connection that takes what comes and keeps the replies' headers."""

    def __init__(self, port):
        self.socket = connect(port)
        self.rest = b""
        self.ended = False

    def send(self, *requests):
        self.socket.sendall(b"".join(requests))

    def read_replies(self):
        """Returns all replies that one read completes."""
        data = self.socket.recv(1 << 20)
        self.ended = not data
        self.rest += data
        while len(self.rest) >= REPLY.size:
            reply = Reply(self.rest)
            if len(self.rest) < reply.size:
                return
            self.rest = self.rest[reply.size:]
            yield reply

    def replies(self, n):
        got = []
        while len(got) < n:
            got.extend(self.read_replies())
            check.true(f"{n} replies, not {len(got)}", not self.ended or len(got) == n)
        return got


def gather(clients, n):
    """Returns at least `n` replies, of any of the clients."""
    got, by = [], {c.socket: c for c in clients}
    while len(got) < n:
        for s in select.select(list(by), [], [], SECONDS)[0]:
            got.extend(by[s].read_replies())
            check.true("no connection ended", not by[s].ended)
    return got
