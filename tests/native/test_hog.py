# SPDX-License-Identifier: Apache-2.0
"""Proves that a hog on the reader's CPU is named and charged. Control: the same hog on another CPU
is not."""
import os
import threading
import time

from lib import check, netns, watch
from lib.traffic import Traffic, hog, outweigh_others

DISTURBED = "who runs when is the scheduler's choice"

N = 600
SHARE = 0.8
PLACES = 1024   # CULPRIT_MAX
# While so many packets come, twice as many threads as there are places take the CPU.
PACKETS = (40 if check.LONG else 20) * PLACES
NAME = f"hog{os.getpid()}" # no other run of this test has the same


def measure(net, family, protocol, hog_cpu):
    if os.cpu_count() < 2:
        check.skip("needs two CPUs")
    burner = hog(hog_cpu, 60, NAME) if hog_cpu is not None else None
    try:
        traffic = Traffic(net, family, protocol, count=N, gap_us=500, reader_cpu=1, sender_cpu=0,
                          reader_nice=15)
        observer = watch.Watch(*traffic.filter)
        traffic.finish()
        result = observer.stop()
    finally:
        if burner:
            burner.kill()
            burner.wait()
    check.counted("packets at read", result.count("read", protocol), N)
    result.sound()
    return result


def share(result, protocol):
    return next(s for s in result.document["scheduler"] if s["protocol"] == protocol)


def culprit_ns(result, name=NAME):
    return sum(c["ns"] for c in result.document["culprits"] if c["comm"] == name)


def charged(alone, hogged, protocol):
    before, after = (watch.mean_ns(r.row("read", protocol)) for r in (alone, hogged))
    growth = after - before
    check.between("growth of the mean of `read`", growth, 100_000, 10**9)
    waited = (share(hogged, protocol)["wait_ns"] - share(alone, protocol)["wait_ns"]) / N
    check.between("part of the growth that is waiting for a CPU", waited / growth, SHARE, 1.05)
    figure = f"read grew by {growth:.0f} ns, {waited / growth:.0%} of it waiting for a CPU"
    first = max(hogged.document["culprits"], key=lambda c: c["ns"], default=None)
    check.true(f"{NAME} is the first culprit: {hogged.document['culprits'][:3]}",
               first and first["comm"] == NAME)
    return figure


@check.environment(DISTURBED)
def on_the_readers_cpu(net, family, protocol):
    alone = measure(net, family, protocol, None)
    hogged = measure(net, family, protocol, 1)
    figure = charged(alone, hogged, protocol)
    check.true(f"a finding names {NAME}: {hogged.document['findings']}",
               any(NAME in f for f in hogged.document["findings"]))
    check.must_fail("a quiet run as a hogged one", charged, alone, alone, protocol)
    return figure


def elsewhere(net, family, protocol):
    result = measure(net, family, protocol, 0)
    check.equal("time for which the hog on the other CPU is named", culprit_ns(result), 0)
    check.true(f"no finding names {NAME}: {result.document['findings']}",
               not any(NAME in f for f in result.document["findings"]))


def takes_the_readers_cpu():
    os.sched_setaffinity(0, {1})
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass


def many_hogs(n):
    """One after the other takes the reader's CPU for 2 ms; each is another thread to the kernel."""
    for _ in range(n):
        one = threading.Thread(daemon=True, target=takes_the_readers_cpu)
        one.start()
        one.join()


def losses_beside_many(net, interval):
    traffic = Traffic(net, 4, "udp", count=PACKETS, gap_us=250, reader_cpu=1, sender_cpu=0,
                      reader_nice=15)
    observer = watch.Watch("--interval", interval, *traffic.filter)
    hogs = threading.Thread(daemon=True, target=many_hogs, args=(3 * PLACES,))
    hogs.start()
    traffic.finish()
    hogs.join()
    result = observer.stop()
    lost = result.lost("culprits-full", stage="read")
    check.equal("all losses", lost, result.lost())
    return lost, result.code


@check.environment(DISTURBED)
def more_than_have_places(net):
    """Culprits that do not fit into the table are counted."""
    lost, code = losses_beside_many(net, "60s")
    check.between("waits without a culprit", lost, 1, PACKETS)
    check.equal("exit code", code, 3)
    return f"{lost} waits"


@check.environment(DISTURBED)
def places_are_given_back(net):
    """The same number of short-lived threads finds room where the table is read in between."""
    lost, code = losses_beside_many(net, "200ms")
    check.equal("waits without a culprit", lost, 0)
    check.equal("exit code", code, 0)


outweigh_others()
cases = [(case, *where, protocol) for where in netns.two() for protocol in ("tcp", "udp")
         for case in (on_the_readers_cpu, elsewhere)]
check.run([*cases, (more_than_have_places, netns.loopback()),
           (places_are_given_back, netns.loopback())])
