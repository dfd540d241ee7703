# SPDX-License-Identifier: Apache-2.0
"""Debian's redis-server: one, or three that are the masters of a cluster."""
import contextlib
import shutil
import socket
import subprocess
import tempfile
import time

from . import check, process
from .servers import free_port, wait_for

# The first slot of each node, and the end; hash tags whose slots (3300, 7365, 15495) are of the first, the second and
# the third node.
BOUNDS = 0, 5461, 10923, 16384
TAGS = "b", "c", "a"


@contextlib.contextmanager
def redis(*options):
    """Yields the port and the folder of a redis-server."""
    if not shutil.which("redis-server"):
        check.skip("redis-server is not installed")
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        port = free_port()
        it = process.start(["redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--dir", folder,
                            *(str(o).replace("DIR", folder) for o in options)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            yield port, folder
        finally:
            it.terminate()
            it.wait(10)


def ask(port, *commands):
    """Returns the last reply (RESP2) to commands that are given as one line each."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s, s.makefile("rb") as lines:
        for line in commands:
            s.sendall(line.encode() + b"\r\n")
            got = lines.readline()
            if got.startswith(b"$"):
                got = lines.read(int(got[1:]) + 2)
    return got.decode().strip()


def until(what, condition, limit_s=30):
    """Waits for a condition."""
    end = time.monotonic() + limit_s
    while not condition():
        check.true(f"{what} in time", time.monotonic() < end)
        time.sleep(0.05)


@contextlib.contextmanager
def cluster(options=lambda number: ()):
    """Yields the ports of three nodes, each with a third of the 16384 slots, and options of its own."""
    with contextlib.ExitStack() as stack:
        bus = [free_port() for _ in range(3)]
        ports = [stack.enter_context(redis("--cluster-enabled", "yes", "--cluster-port", bus[i], *options(i)))[0]
                 for i in range(3)]
        for i, port in enumerate(ports):
            check.equal("slots", ask(port, f"CLUSTER ADDSLOTSRANGE {BOUNDS[i]} {BOUNDS[i + 1] - 1}"), "+OK")
            check.equal("epoch", ask(port, f"CLUSTER SET-CONFIG-EPOCH {i + 1}"), "+OK")
            if i:
                check.equal("meet", ask(port, f"CLUSTER MEET 127.0.0.1 {ports[0]} {bus[0]}"), "+OK")
        until("the cluster is complete",
              lambda: all("cluster_state:ok" in ask(port, "CLUSTER INFO") and
                          "cluster_known_nodes:3" in ask(port, "CLUSTER INFO") for port in ports), 60)
        yield ports
