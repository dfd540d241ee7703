# SPDX-License-Identifier: Apache-2.0
"""
Servers that limit their connections in a known way: limited.py HOW ADDRESS PORT

  split    HTTP: head and body are two writes, and Nagle's algorithm holds the second one
  at-once  the same in one write
  sleeps   memcached: reads 8 KiB from a small buffer, and sleeps 10 ms
  works    ... and works as long
"""
import socket
import sys
import threading
import time

BODY = b"x" * 100
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)
READ, BETWEEN_S, BUFFER = 8192, 0.010, 16384


def answers(connection, split):
    pending = b""
    while data := connection.recv(65536):
        pending += data
        while b"\r\n\r\n" in pending:
            pending = pending.split(b"\r\n\r\n", 1)[1]
            for part in (HEAD, BODY) if split else (HEAD + BODY,):
                connection.sendall(part)


def pauses(how):
    end = time.monotonic() + BETWEEN_S
    if how == "sleeps":
        time.sleep(BETWEEN_S)
    while time.monotonic() < end:
        pass


def stores(connection, how):
    pending, left = b"", 0
    while data := connection.recv(READ):
        pending += data
        pauses(how)
        while left or b"\r\n" in pending:
            if not left:
                line, pending = pending.split(b"\r\n", 1)
                left = int(line.split()[4]) + 2
            count = min(left, len(pending))
            pending, left = pending[count:], left - count
            if left:
                break
            connection.sendall(b"STORED\r\n")


def serve(how, address, port):
    listener = socket.create_server((address, port), family=socket.AF_INET)
    if how in ("sleeps", "works"):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    while True:
        connection, _ = listener.accept()
        what = (answers, how == "split") if how in ("split", "at-once") else (stores, how)
        threading.Thread(target=what[0], args=(connection, what[1]), daemon=True).start()
        del connection  # it is the thread's: whoever is done with it closes it


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
