# SPDX-License-Identifier: Apache-2.0
"""Proves that GET requests left unanswered by a server that closes its connections go out again on
another one (RFC 9112, 9.3.2): none fails, and latency counts from the first intended time.
Controls: requests that may not be repeated, and replies that were half sent, fail. Closes are
counted."""
import contextlib
import socket
import struct
import time

from lib import badserver, check
from lib.loading import load, quantile

AFTER = 25


def keepalive(after, hard, pause=0):
    """Answers so many requests of a connection, then closes it: what else lies in it is thrown away."""
    def behave(_, c):
        for _ in range(after):
            if not c.requests(1, b"\r\n\r\n"):
                return
            c.answer(1, badserver.PAGE)
        time.sleep(pause)
        if hard:
            # A reset: what was answered has to be read before. Who asks for so many more has; at the
            # end of the run nobody asks for more.
            c.peer.settimeout(0.3)
            with contextlib.suppress(TimeoutError):
                for _ in range(4):
                    if not c.requests(1, b"\r\n\r\n"):
                        return
            c.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            c.peer.shutdown(socket.SHUT_WR)
            while c.peer.recv(65536):
                pass
    return behave


LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"


def announced(_, c):
    """Says with the last reply that it is the last (RFC 9112, 9.6), once requests wait behind it."""
    for _ in range(AFTER - 1):
        if not c.requests(1, b"\r\n\r\n"):
            return
        c.answer(1, badserver.PAGE)
    c.peer.settimeout(0.3)
    with contextlib.suppress(TimeoutError):
        if not c.requests(1, b"\r\n\r\n"):
            return
        while c.buffer.count(b"\r\n\r\n") < 2:
            c.buffer += c.peer.recv(65536)
    c.peer.settimeout(5)
    c.answer(1, LAST)
    c.peer.shutdown(socket.SHUT_WR)
    while c.peer.recv(65536):
        pass


def run(behave, *args, rate=400):
    it = badserver.Server(behave)
    try:
        return load(f"http://127.0.0.1:{it.port}/", "--rate", str(rate), "--for", "2s", "--connections", "4",
                            "--outstanding", "4", *args), it
    finally:
        it.close()


@check.busy
def repeated(how):
    got, it = run(announced if how == "announced" else keepalive(AFTER, how == "reset"))
    requests, connections = got["requests"], got["connections"]
    check.equal(f"failed: {requests}", requests["failed"], 0)
    check.equal("answered once each", it.answered, requests["completed"])
    check.true(f"closes of {it.accepted} connections: {connections}",
               it.accepted - 4 <= connections["server_closes"] <= it.accepted)
    check.true("closes", connections["server_closes"] >= 10)
    if how != "closed":
        check.true(f"sent again: {connections}", connections["resent_requests"] >= 10)
    check.true(f"reported in {got['findings']}", any(f.startswith("connections: ") for f in got["findings"]))
    return f"{connections}"


def latency_is_from_the_first():
    """Unanswered requests wait here for 300 ms until the server closes the connection."""
    got, _ = run(keepalive(20, False, pause=0.3))
    check.equal("failed", got["requests"]["failed"], 0)
    check.true(f"sent again: {got['connections']}", got["connections"]["resent_requests"] >= 8)
    check.true("the slowest waited for it", quantile(got, 0.999)["ns"] > 250_000_000)
    check.true("from the actual send, too", quantile(got, 0.999, "actual")["ns"] > 250_000_000)


def not_repeated():
    got, _ = run(keepalive(20, False, pause=0.1), "--workload", "read=0")
    check.true(f"POSTs fail: {got['requests']}", got["requests"]["resets"] > 0)
    check.equal("POSTs again", got["connections"]["resent_requests"], 0)

    for method, again in ("PATCH", False), ("PUT", True), ("DELETE", True):
        got, _ = run(keepalive(20, False, pause=0.1), "--http-method", method, "--body", "x")
        check.equal(f"{method} again: {got['connections']}", got["connections"]["resent_requests"] > 0, again)
        check.equal(f"{method} fails: {got['requests']}", got["requests"]["resets"] > 0, not again)

    def half(_, c):
        for _ in range(20):
            if not c.requests(1, b"\r\n\r\n"):
                return
            c.answer(1, badserver.PAGE)
        if c.requests(1, b"\r\n\r\n"):
            c.peer.sendall(badserver.PAGE[:20])
    got, _ = run(half)
    check.true(f"half a reply fails: {got['requests']}", got["requests"]["resets"] > 0)


def control():
    got, _ = run(keepalive(1 << 30, False))
    check.equal("closes", got["connections"], {"server_closes": 0, "resent_requests": 0})
    check.true("nothing reported", not any(f.startswith("connections: ") for f in got["findings"]))


if __name__ == "__main__":
    check.run([(repeated, "closed"), (repeated, "reset"), (repeated, "announced"), (latency_is_from_the_first,), (not_repeated,), (control,)])
