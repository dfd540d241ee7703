# SPDX-License-Identifier: Apache-2.0
"""Proves how `load` resolves names: it reports a name server that does not answer, ends at the
first signal, and gives up after a while; if one of several addresses refuses, it tries the next,
and the result says which was used."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

from lib import badserver, check, process
from lib.serving import HOSTLAT

# The files take the place of the system's for this process alone.
INSIDE = 'mount --bind "$1/resolv.conf" /etc/resolv.conf && mount --bind "$1/hosts" /etc/hosts && shift && exec "$@"'
SILENT = "127.0.0.77"


def start(folder, url, *args):
    return process.start(["unshare", "-m", "sh", "-c", INSIDE, "sh", folder, HOSTLAT, "load", url, "--rate", "100",
                          "--max-time", "300ms", "--connections", "4", "--json", *args], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)


def files(folder, hosts=""):
    for name, text in ("resolv.conf", f"nameserver {SILENT}\n"), ("hosts", f"127.0.0.1 localhost\n{hosts}"):
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(text)


def silent_server():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((SILENT, 53))
    return s


def a_signal_ends_it(name):
    with silent_server(), tempfile.TemporaryDirectory() as folder:
        files(folder)
        load = start(folder, "http://nowhere.test/")
        check.true("says that it resolves", "resolving nowhere.test" in load.stderr.readline())
        load.send_signal(getattr(signal, name))
        begin = time.monotonic()
        out, err = load.communicate(timeout=120)
        check.between("seconds until it ends", time.monotonic() - begin, 0, 5)
        check.equal(f"exit code ({err})", load.returncode, 3)
        got = json.loads(out)
        check.true(f"interrupted: {got['reasons']}", "interrupted" in [r["code"] for r in got["reasons"]])


def no_answer():
    """Without a signal it ends, too, long before the 20 s that the resolver may take."""
    with silent_server(), tempfile.TemporaryDirectory() as folder:
        files(folder)
        begin = time.monotonic()
        load = start(folder, "http://nowhere.test/")
        _, err = load.communicate(timeout=120)
        check.between("seconds until it ends", time.monotonic() - begin, 1, 16)
        check.equal(f"exit code ({err})", load.returncode, 2)
        check.true(f"why: {err}", "nowhere.test: " in err)


def several_addresses():
    it = badserver.Server(badserver.pages(1 << 30))
    with tempfile.TemporaryDirectory() as folder:
        files(folder, "127.0.0.3 two.test\n127.0.0.1 two.test\n")
        out, err = start(folder, f"http://two.test:{it.port}/").communicate(timeout=120)
        got = json.loads(out)
        check.equal(f"failed ({err})", got["requests"]["failed"], 0)
        check.equal("address", got["setup"]["addresses"], f"two.test is 127.0.0.1:{it.port}")
        check.true(f"nothing is slow: {err}", "resolving" not in err)
        out, err = start(folder, f"http://127.0.0.1:{it.port}/").communicate(timeout=120)
        check.equal("of a number", json.loads(out)["setup"]["addresses"], None)
        files(folder, "127.0.0.3 two.test\n127.0.0.2 two.test\n")
        load = start(folder, f"http://two.test:{it.port}/")
        _, err = load.communicate(timeout=120)
        check.equal(f"none answers ({err})", load.returncode, 2)
    it.close()


if __name__ == "__main__":
    check.run([(a_signal_ends_it, "SIGINT"), (a_signal_ends_it, "SIGTERM"), (no_answer,), (several_addresses,)])
