# SPDX-License-Identifier: Apache-2.0
"""A hog on the reader's CPU is named and charged; the same hog on another CPU is not."""
import os

from lib import check, netns, watch
from lib.traffic import Traffic, hog, outweigh_others

N = 600
SHARE = 0.8
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
    check.equal("packets at read", result.count("read", protocol), N)
    result.sound()
    return result


def share(result, protocol):
    return next(s for s in result.document["scheduler"] if s["protocol"] == protocol)


def culprit_ns(result, name=NAME):
    return sum(c["ns"] for c in result.document["culprits"] if c["comm"] == name)


def charged(quiet, hogged, protocol):
    before, after = (watch.mean_ns(r.row("read", protocol)) for r in (quiet, hogged))
    growth = after - before
    check.between("growth of the mean of `read`", growth, 100_000, 10**9)
    waited = (share(hogged, protocol)["wait_ns"] - share(quiet, protocol)["wait_ns"]) / N
    check.between("part of the growth that is waiting for a CPU", waited / growth, SHARE, 1.05)
    figure = f"read grew by {growth:.0f} ns, {waited / growth:.0%} of it waiting for a CPU"
    first = max(hogged.document["culprits"], key=lambda c: c["ns"], default=None)
    check.true(f"{NAME} is the first culprit: {hogged.document['culprits'][:3]}",
               first and first["comm"] == NAME)
    return figure


@check.patiently
def on_the_readers_cpu(net, family, protocol):
    quiet = measure(net, family, protocol, None)
    hogged = measure(net, family, protocol, 1)
    figure = charged(quiet, hogged, protocol)
    check.true(f"a finding names {NAME}: {hogged.document['findings']}",
               any(NAME in f for f in hogged.document["findings"]))
    check.must_fail("a quiet run as a hogged one", charged, quiet, quiet, protocol)
    return figure


def elsewhere(net, family, protocol):
    result = measure(net, family, protocol, 0)
    check.equal("time for which the hog on the other CPU is named", culprit_ns(result), 0)
    check.true(f"no finding names {NAME}: {result.document['findings']}",
               not any(NAME in f for f in result.document["findings"]))


outweigh_others()
check.run(
    (case, *where, protocol)
    for where in netns.two()
    for protocol in ("tcp", "udp")
    for case in (on_the_readers_cpu, elsewhere)
)
