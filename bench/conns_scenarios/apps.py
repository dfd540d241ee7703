# SPDX-License-Identifier: Apache-2.0
"""
What applications do on their socket: functions of (socket, world) that run until the world ends, or
makers of such functions. They return a dict of figures for the scenario's checks.
"""
import contextlib
import socket
import time

CHUNK = 65536


def until_closed(function, s, world):
    try:
        return function(s, world)
    except (OSError, EOFError):
        return {}
    finally:
        with contextlib.suppress(OSError):
            s.close()


def nodelay(s):
    if isinstance(s, socket.socket):
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def receive(s, size, world):
    """Reads so many bytes."""
    while size:
        try:
            data = s.recv(min(size, CHUNK))
        except TimeoutError:
            if not world.left():
                raise
            continue
        if not data:
            raise EOFError
        size -= len(data)


def give(s, data, world):
    """Writes all of it."""
    view = memoryview(data)
    while view:
        try:
            view = view[s.send(view):]
        except TimeoutError:
            if not world.left():
                raise


def times(values):
    ordered = sorted(values) or [0]
    return {"count": len(values), "p50_s": ordered[len(ordered) // 2], "max_s": ordered[-1],
            "slowest": values.index(ordered[-1]) if values else None}


def idle(s, world):
    while world.left():
        time.sleep(min(world.left(), 0.2))


def bulk(s, world):
    """Always has more to send."""
    sent, data = 0, b"b" * CHUNK
    while world.left():
        try:
            sent += s.send(data)
        except TimeoutError:
            continue
    return {"sent": sent}


def stream(size, every_s):
    """Writes `size` bytes in one call at fixed times; skips those that it missed."""
    def run(s, world):
        nodelay(s)
        data, due = b"s" * size, time.monotonic()
        while world.left():
            give(s, data, world)
            due = max(due + every_s, time.monotonic())
            time.sleep(max(due - time.monotonic(), 0))
    return run


def rpc_client(request, reply, every_s, parts=None, no_delay=True):
    """Sends a request (in writes of the sizes `parts`), reads the whole reply, pauses."""
    def run(s, world):
        if no_delay:
            nodelay(s)
        took = []
        while world.left():
            began = time.monotonic()
            for part in parts or [request]:
                give(s, b"q" * part, world)
            receive(s, reply, world)
            took.append(time.monotonic() - began)
            time.sleep(every_s)
        return times(took)
    return run


def rpc_server(request, reply, work_s=0):
    """Reads a whole request, takes its time, and replies in one write."""
    def run(s, world):
        nodelay(s)
        while world.left():
            receive(s, request, world)
            if work_s:
                time.sleep(work_s)
            give(s, b"r" * reply, world)
    return run


def slow_sink(size, pause_s):
    def run(s, world):
        got = 0
        while world.left():
            try:
                data = s.recv(size)
            except TimeoutError:
                continue
            if not data:
                break
            got += len(data)
            time.sleep(pause_s)
        return {"received": got}
    return run


sink = slow_sink(CHUNK, 0)      # reads as it comes
