# SPDX-License-Identifier: Apache-2.0
"""Proves that `explain` names the command that runs at the period at which the latency peaks: a
process that takes the server's CPU for 60 ms each 0.7 s, and a job of short processes with new pids
each time. Control: without them nothing is named.
"""
import contextlib
import os
import re
import subprocess
import tempfile
import time

from lib import check, netns, process, servers
from lib.explain import Explain
from lib.traffic import HOG, outweigh_others

DISTURBED = "who has the CPU when is the scheduler's choice, and others can have a period, too"

CPU = str(os.cpu_count() - 1)
SECONDS = 12
LOAD = "--rate", "2000", "--for", f"{SECONDS}s"
BURST_S, EVERY_S = 0.06, 0.7
ABOVE = "taskset", "-c", CPU, "chrt", "--fifo", "20"  # above the server's priority
PERIODS = SECONDS / EVERY_S
NAME = "everysooften"
JOBS = 80             # bursts of the job, at most
TRIED_BYTES = 1 << 20


@contextlib.contextmanager
def nobody():
    yield


@contextlib.contextmanager
def running(*command):
    """A disturber on the server's CPU, which ends by itself."""
    it = process.start([*ABOVE, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        it.kill()
        it.wait()


def timer():
    return running(HOG, CPU, 60, NAME, int(BURST_S * 1e6), int(EVERY_S * 1e6))


@contextlib.contextmanager
def job():
    """Each burst is a process of its own, and the pauses begin when the bursts end."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.urandom(packed_in(BURST_S)))
        file.flush()
        with running("bash", "-c", f"for i in {{1..{JOBS}}}; do gzip -c {file.name}; "
                                   f"sleep {EVERY_S - BURST_S}; done"):
            yield


def packed_in(seconds):
    """Returns how many random bytes gzip packs in about that time."""
    begin = time.monotonic()
    subprocess.run(["gzip", "-c"], input=os.urandom(TRIED_BYTES), stdout=subprocess.DEVNULL,
                   check=True, timeout=60)
    return int(TRIED_BYTES * seconds / (time.monotonic() - begin))


DISTURBERS = {"timer": timer, "job": job}


def measured(net, disturber):
    with netns.inside(net.reader), disturber(), \
            servers.server("memcached", net.address(4), ("taskset", "-c", CPU, *servers.AHEAD)) as (url, _):
        it = Explain(net, url, *LOAD)
        it.finish()
    return it.document


def named(document, name):
    period = document["period"]
    check.true(f"a period: {document['load']['reasons']}", period)
    check.between("the period", period["period_ns"] / 1e9, 0.97 * EVERY_S, 1.1 * EVERY_S)
    found = {row["command"]: row for row in period["commands"]}
    check.true(f"{name} is named: {period}", name in found)
    row = found[name]
    check.between(f"periods with a burst: {row}", row["periods"], 0.6 * PERIODS, PERIODS + 1)
    check.between("bursts", row["bursts"], row["periods"], 1.2 * PERIODS)
    check.between("in the same tenth", row["same"] / row["bursts"], 0.7, 1)
    check.between("its time on a CPU", row["ns"] / 1e9, 0.3 * BURST_S, 2 * BURST_S)
    check.between("before the peak's middle", row["before_ns"] / 1e9, -0.02, 0.15)
    finding = next((f for f in document["findings"] if f.startswith("The latency peaks")), "")
    check.true(f"the finding names it: {finding}", f": {name} (" in finding)
    return finding


def nothing_named(document):
    period = document["period"]
    check.true(f"no command has a period: {period}", not period or not period["commands"])


@check.environment(DISTURBED)
def names(net, disturber, name):
    document = measured(net, DISTURBERS[disturber])
    finding = named(document, name)
    check.must_fail("as if nothing had run", nothing_named, document)
    check.must_fail("another command", named, document, "memcached")
    first = re.search(r": (\S+) \(", finding)
    check.equal("the command that took the most time is first", first and first[1], name)
    return finding


@check.environment(DISTURBED)
def names_nothing(net):
    document = measured(net, nobody)
    nothing_named(document)
    check.must_fail("as if it had run", named, document, NAME)
    return f"period: {document['period']}"


outweigh_others()
loopback = netns.loopback()
check.run([
    (names, loopback, "timer", NAME),
    (names, loopback, "job", "gzip"),
    (names_nothing, loopback),
])
