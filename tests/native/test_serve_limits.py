# SPDX-License-Identifier: Apache-2.0
"""
Proves the limits of what a synthetic server does for strangers: over UDP no other host gets more
than it sent, a worker that spins or is stalled ends with the server, connections are limited in
number and in idleness.
"""
import signal
import subprocess
import sys
import time

from lib import check, netns
from lib.serving import REPLY, Client, connect, gather, request, serving

ASK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
for data in sys.argv[2:]:
    s.sendto(bytes.fromhex(data), (sys.argv[1], 9000))
    try:
        print(len(s.recv(65536)))
    except TimeoutError:
        print(0)
"""


def asked(where, address, *requests):
    """Bytes of each reply, 0 for none, to a client in that network namespace."""
    done = subprocess.run(["ip", "netns", "exec", where, sys.executable, "-c", ASK, address,
                           *(r.hex() for r in requests)], capture_output=True, text=True, timeout=120, check=True)
    return [int(line) for line in done.stdout.split()]


def amplification():
    net = netns.veth()
    large, small = request(1, 0, reply_size=60000), request(2, 0)
    fair = request(3, 0, size=100, reply_size=100)
    for options, outside in ((), [0, 0, 100]), (("--allow-amplification",), [60000, REPLY.size, 100]):
        with serving(*options, addresses=["udp:0.0.0.0:9000"], ahead=("ip", "netns", "exec", net.reader)) as it:
            check.equal(f"replies to another host with {options}",
                        asked(net.sender, "10.77.0.1", large, small, fair), outside)
            check.equal("replies over loopback", asked(net.reader, "127.0.0.1", large, fair), [60000, 100])
            it.end()
            check.equal("counted", it.errors(), {} if options else {"amplifying": 2})


def a_stall():
    """That goes on for hours: stalls are by CLOCK_MONOTONIC."""
    for hours in range(24, 12, -1):
        if time.monotonic() % (hours * 3600) < (hours - 2) * 3600:
            return "--stall", f"{hours - 1}h/{hours}h"
    raise check.Unexpected("no stall")


def stops_while(what):
    """One request takes an hour, or a stall lasts hours: SIGTERM ends it all the same."""
    options = a_stall() if what == "stalled" else ()
    with serving("--service-mode", "spin", *options) as it:
        client = Client(it.port)
        client.send(request(1, 1000 if options else 3_600_000_000_000))
        time.sleep(0.3)
        begin = time.monotonic()
        it.end(signal.SIGTERM)
        check.between("seconds to the end", time.monotonic() - begin, 0, 10)
        check.equal("errors", it.errors(), {"unsent": 1})
        check.equal("busy", it.result["busy_ns"], 0)


def closed(s):
    s.settimeout(60)
    try:
        return s.recv(1) == b""
    except ConnectionResetError:
        return True


def connections():
    with serving("--max-connections", "3") as it:
        clients = [Client(it.port) for _ in range(3)]
        for i, client in enumerate(clients):
            client.send(request(i, 0))
        gather(clients, 3)
        with connect(it.port) as s:
            check.true("the fourth is closed", closed(s))
        for i, client in enumerate(clients):
            client.send(request(10 + i, 0))
        gather(clients, 3)
        it.end()
        check.equal("errors", it.errors(), {"above-limit": 1})
        check.equal("open", it.result["connections"]["open"], 3)


def idleness():
    """Those that wait for a reply are not idle, however long it takes."""
    with serving("--idle", "500ms") as it, connect(it.port) as idle:
        waits = Client(it.port)
        waits.send(request(1, 1_500_000_000))
        begin = time.monotonic()
        check.true("an idle one is closed", closed(idle))
        check.between("seconds until then", time.monotonic() - begin, 0.3, 9)
        check.equal("the reply", gather([waits], 1)[0].id, 1)
        it.end()
        check.true(f"errors {it.errors()}", it.errors().get("idle") in (1, 2))
    with serving() as it, connect(it.port) as idle:
        time.sleep(1)
        it.end()
        check.equal("errors by default", it.errors(), {})
        check.equal("open", it.result["connections"]["open"], 1)


if __name__ == "__main__":
    check.run([(amplification,), (stops_while, "spinning"), (stops_while, "stalled"), (connections,), (idleness,)])
