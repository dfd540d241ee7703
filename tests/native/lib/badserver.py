# SPDX-License-Identifier: Apache-2.0
"""
Servers that misbehave, each in a thread of the test. They speak memcached's ASCII protocol if
nothing else is said.
"""
import contextlib
import os
import re
import socket
import ssl
import struct
import threading
import time

MISS = b"END\r\n"
PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Server:
    """
    Calls behave(connection) for each connection, in a thread of its own. Requests are lines; a
    server's `answered` counts the replies that were given to the kernel whole.
    """

    def __init__(self, behave, family=socket.AF_INET, path=None, address=None):
        self.behave = behave
        self.answered = self.asked = self.accepted = self.wrong = 0
        self.example = None
        self.lock = threading.Lock()
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        if path:
            self.socket.bind(path)
        else:
            self.socket.bind((address or ("::1" if family == socket.AF_INET6 else "127.0.0.1"), 0))
            self.port = self.socket.getsockname()[1]
        self.socket.listen(512)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            if peer.family != socket.AF_UNIX:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.accepted += 1
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with contextlib.suppress(OSError), peer:
            self.behave(self, Connection(self, peer))

    def close(self):
        self.socket.close()


class Connection:
    def __init__(self, server, peer):
        self.server, self.peer, self.buffer = server, peer, b""

    def receive(self):
        """Returns whether more has come; not at the end."""
        data = self.peer.recv(65536)
        self.buffer += data
        return bool(data)

    def http(self):
        """Yields the head and the body of each request, until the connection ends."""
        while True:
            while b"\r\n\r\n" not in self.buffer:
                if not self.receive():
                    return
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            length = re.search(rb"\r\nContent-Length: (\d+)", head)
            size = int(length.group(1)) if length else 0
            while len(self.buffer) < size:
                if not self.receive():
                    return
            body, self.buffer = self.buffer[:size], self.buffer[size:]
            yield head, body

    def requests(self, most=1 << 30, end=b"\r\n"):
        """Waits for requests; returns how many have come by now, at least one, or 0 at the end."""
        while end not in self.buffer:
            if not self.receive():
                return 0
        n = min(self.buffer.count(end), most)
        for _ in range(n):
            self.buffer = self.buffer.split(end, 1)[1]
        with self.server.lock:
            self.server.asked += n
        return n

    def answer(self, n, reply=MISS):
        # Before the client can have it: when the client ends, all it had is counted.
        with self.server.lock:
            self.server.answered += n
        self.peer.sendall(reply * n)


def good(_, c):
    while n := c.requests():
        c.answer(n)


def slow(seconds):
    def behave(_, c):
        while n := c.requests():
            time.sleep(seconds)
            c.answer(n)
    return behave


def one_byte(_, c):
    """A reply with what ends a reply inside its value, in as many pieces as it has bytes."""
    value = b"x\r\nEND\r\n\0y"
    reply = b"VALUE k 0 %d\r\n%s\r\nEND\r\n" % (len(value), value)
    while c.requests(1):
        for byte in reply[:-1]:
            c.peer.sendall(bytes([byte]))
        c.answer(1, reply[-1:])


def coalesce(n):
    """Returns a behavior: several replies in one write."""
    def behave(_, c):
        waiting = 0
        c.peer.settimeout(0.02)
        while True:
            try:
                got = c.requests()
                if not got:
                    return
                waiting += got
                if waiting < n:
                    continue
            except TimeoutError:
                pass
            if waiting:
                c.peer.settimeout(None)
                c.answer(waiting)
                c.peer.settimeout(0.02)
            waiting = 0
    return behave


def reset(after):
    """Returns a behavior: answers so many requests, then resets the connection with the next one
    unanswered."""
    def behave(_, c):
        for _ in range(after):
            if not c.requests(1):
                return
            c.answer(1)
        if not c.requests(1):
            return
        # The reset would discard an unread reply: wait until the client has read it.
        time.sleep(0.05)
        c.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return behave


def half_close(after):
    """Returns a behavior: answers so many requests, then sends no more, but reads on. The last
    reply and the end come as one."""
    def behave(_, c):
        for i in range(after):
            if not c.requests(1):
                return
            if i == after - 1:
                c.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            c.answer(1)
        c.peer.shutdown(socket.SHUT_WR)
        while c.requests():
            pass
    return behave


def silent(after):
    def behave(_, c):
        for _ in range(after):
            if not c.requests(1):
                return
            c.answer(1)
        while c.requests():
            pass
    return behave


def replies(reply):
    def behave(_, c):
        while n := c.requests(1):
            c.answer(n, reply)
    return behave


def whole_values(pause):
    """
    RESP's SET of one key with values of one size, read slowly: every request must be the first one
    again, byte for byte. `server.wrong` counts those that are not.
    """
    def behave(server, c):
        first, data = 0, b""
        while True:
            more = c.peer.recv(1 << 16)
            if not more:
                return
            time.sleep(pause)
            data += more
            if not first and data.count(b"\r\n") >= 6:
                size, rest = data.split(b"\r\n", 6)[5:]
                first = len(data) - len(rest) + int(size[1:]) + 2
            while first and len(data) >= first:
                request, data = data[:first], data[first:]
                server.example = server.example or request
                server.wrong += request != server.example
                c.answer(1, b"+OK\r\n")
    return behave


def http_replies(reply, most=1 << 30):
    """The same reply to each GET; the connection ends after so many."""
    def behave(_, c):
        for _ in range(most):
            if not c.requests(1, b"\r\n\r\n"):
                return
            c.answer(1, reply)
    return behave


def pages(after):
    return http_replies(PAGE, after)


def in_tls(cert, key, behave):
    """The same for clients that speak TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)

    def behave_in_tls(server, c):
        with context.wrap_socket(c.peer, server_side=True) as c.peer:
            behave(server, c)
    return behave_in_tls


class Datagrams:
    """memcached over UDP (doc/protocol.txt): forgets every n'th request; doubles others."""

    def __init__(self, forget):
        self.forget, self.forgotten, self.answered, self.asked = forget, 0, 0, 0
        self.peers = set()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                data, peer = self.socket.recvfrom(65536)
            except OSError:
                return
            self.asked += 1
            self.peers.add(peer[0])
            if self.asked % self.forget == 0:
                self.forgotten += 1
                continue
            reply = data[:2] + struct.pack(">HHH", 0, 1, 0) + MISS
            self.socket.sendto(reply, peer)
            if self.asked % 7 == 0:
                self.socket.sendto(reply, peer)
            self.answered += 1

    def close(self):
        self.socket.close()


class Relay:
    """
    A network with a delay each way, in user space: bytes go on `seconds` after they came. Kernel
    stamps on the client's side see it as time on the wire.
    """

    def __init__(self, port, seconds):
        self.port_behind, self.seconds = port, seconds
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.socket.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port_behind))
            for a, b in ((client, server), (server, client)):
                a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    def carry(self, a, b):
        with contextlib.suppress(OSError):
            while data := a.recv(65536):
                time.sleep(self.seconds)
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)

    def close(self):
        self.socket.close()


def unix_path(folder):
    return os.path.join(folder, "server")
