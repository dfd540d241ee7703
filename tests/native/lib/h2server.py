# SPDX-License-Identifier: Apache-2.0
"""
An HTTP/2 server of few words, which behaves as a test says: frames are made by hand, so that it
shares no code with the client. It does not decode requests: replies go by stream numbers.
"""
import struct
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
MAX_STREAMS = 3                     # a setting
REFUSED_STREAM, CANCEL, CALM = 7, 8, 11     # error codes
OK_FIELD = b"\x88"                  # HPACK: ":status: 200"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def field(name, value):
    """A literal field without indexing."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def page(stream):
    return frame(HEADERS, END_HEADERS, stream, OK_FIELD) + frame(DATA, END_STREAM, stream, b"hello")


def call_reply(stream, status=0, message=b"", body=b"\0\0\0\0\2\x08\1"):
    """A reply of gRPC: its status is in the trailer."""
    trailer = field(b"grpc-status", str(status).encode())
    if message:
        trailer += field(b"grpc-message", message)
    return (frame(HEADERS, END_HEADERS, stream, OK_FIELD + field(b"content-type", b"application/grpc")) +
            (frame(DATA, 0, stream, body) if body else b"") +
            frame(HEADERS, END_HEADERS | END_STREAM, stream, trailer))


class Peer:
    """One connection, as behave() of badserver.Server has it."""

    def __init__(self, server, connection, settings=b""):
        self.server, self.socket, self.buffer = server, connection.peer, b""
        self.frames = []            # all but those of requests: (kind, flags, stream, payload)
        self.lock = threading.Lock()
        self.send(frame(SETTINGS, 0, 0, settings))
        if self.take(len(PREFACE)) != PREFACE:
            raise OSError("no preface")

    def send(self, data):
        with self.lock:
            self.socket.sendall(data)

    def take(self, size):
        while len(self.buffer) < size:
            data = self.socket.recv(65536)
            if not data:
                raise OSError("the end")
            self.buffer += data
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def frame(self):
        head = self.take(9)
        size, (kind, flags, stream) = int.from_bytes(head[:3], "big"), struct.unpack(">BBI", head[3:])
        payload = self.take(size)
        if kind == SETTINGS and not flags & ACK:
            self.send(frame(SETTINGS, ACK, 0))
        return kind, flags, stream, payload

    def request(self):
        """Waits for the end of a request; returns its stream."""
        while True:
            it = self.frame()
            if it[0] in (HEADERS, DATA) and it[1] & END_STREAM:
                with self.server.lock:
                    self.server.asked += 1
                return it[2]
            if it[0] not in (HEADERS, DATA):
                self.frames.append(it)

    def answer(self, stream, reply=None):
        with self.server.lock:
            self.server.answered += 1
        self.send(page(stream) if reply is None else reply)

    def goaway(self, last, code=0, text=b""):
        self.send(frame(GOAWAY, 0, 0, struct.pack(">II", last, code) + text))

    def reset(self, stream, code):
        self.send(frame(RST_STREAM, 0, stream, struct.pack(">I", code)))

    def until_end(self):
        while self.socket.recv(65536):
            pass


def max_streams(n):
    return struct.pack(">HI", MAX_STREAMS, n)
