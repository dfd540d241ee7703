#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A client with a common mistake, and its server: two_writes.py PORT

The client sends each request in two writes, a header and a body, and reads the reply after both. Its
second write waits for an acknowledgement (Nagle's algorithm), which the server delays.
"""
import socket
import sys
import threading

HEADER, BODY = b"h" * 40, b"b" * 160


def serve(listener):
    conn, _ = listener.accept()
    got = 0
    while data := conn.recv(4096):
        got += len(data)
        if got >= len(HEADER) + len(BODY):
            got = 0
            conn.sendall(b"ok")


def main():
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    client = socket.create_connection(listener.getsockname())
    while True:
        client.sendall(HEADER)
        client.sendall(BODY)
        client.recv(16)


main()
