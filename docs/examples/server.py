#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A small HTTP server with a hidden flaw: server.py PORT [--fixed]

A thread named "cleaner" cleans the cache now and then. While it waits for its disk (a sleep of 20 ms
here) it holds the lock that each request needs; with --fixed it holds the lock for a moment only.
"""
import ctypes
import random
import selectors
import socket
import sys
import threading
import time

PR_SET_NAME = 15
PAUSE, DISK = 0.25, 0.020   # seconds: mean time between two cleanings, and what each waits for
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nvalue"

lock = threading.Lock()


def clean_forever(fixed):
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"cleaner", 0, 0, 0)
    while True:
        time.sleep(random.expovariate(1 / PAUSE))
        with lock:
            if not fixed:
                time.sleep(DISK)
        if fixed:
            time.sleep(DISK)


def serve(listener):
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                selector.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            request = key.fileobj.recv(4096)
            if not request:
                selector.unregister(key.fileobj)
                key.fileobj.close()
                continue
            with lock:
                reply = REPLY
            key.fileobj.sendall(reply)


def main():
    threading.Thread(target=clean_forever, args=("--fixed" in sys.argv,), daemon=True).start()
    serve(socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128))


main()
