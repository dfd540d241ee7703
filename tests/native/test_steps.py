# SPDX-License-Identifier: Apache-2.0
"""Proves that a known delay between two stages lands in the step between them. Control: looking for
it in any other step must fail.

delay.bpf.c spins in the tracepoint of a stage after hostlat's own program, so the step to the next
stage grows. For `running` a hog and for `read` a late reader do the same by natural means; how
long they held the reader up is what the reader itself saw.
"""
import statistics

from lib import check, netns, watch
from lib.traffic import Delay, Traffic, hog, outweigh_others

DISTURBED = ("it compares a measured time with the time that the test itself took, and "
             "other threads can have the CPU in between")

SPIN_NS = 100_000   # longer, and a virtual CPU that idles meanwhile is halted, and its caches go cold
N = 3000
STEPS = ["ip", "transport", "socket", "enqueued", "runnable", "running", "read"]
WITHOUT_IP = "link,transport,socket,enqueued,runnable,running,read"
AT_LEAST, AT_MOST = 0.95, 0.08


def total_steps(documents, protocol):
    """Per stage the mean step of the whole run."""
    counts, sums = {}, {}
    for document in documents:
        for stage in STEPS:
            for row in document.rows(stage, protocol):
                if row["step"]:
                    counts[stage] = counts.get(stage, 0) + row["step"]["count"]
                    sums[stage] = sums.get(stage, 0) + row["step"]["sum_ns"]
    return {stage: sums[stage] / counts[stage] for stage in sums if counts[stage]}


def usual_steps(documents, protocol):
    """Per stage the median over the intervals of the mean step: one stolen CPU can't move it."""
    means = {}
    for document in documents:
        for stage in STEPS:
            for row in document.rows(stage, protocol):
                if row["count"] >= 20 and row["step"]:
                    means.setdefault(stage, []).append(watch.mean_ns(row["step"]))
    return {stage: statistics.median(values) for stage, values in means.items()}


def measure(net, family, protocol, site, spin_ns, *, stages=WITHOUT_IP, steps=usual_steps,
            **options):
    options = {"count": N, "gap_us": 200, "reader_cpu": 1, "sender_cpu": 1, **options}
    if "reader_nice" not in options:
        options["realtime"] = True
    traffic = Traffic(net, family, protocol, **options)
    observer = watch.Watch(*traffic.filter, "--interval", "100ms", "--stages", stages,
                           lines=True)
    delay = Delay(site, spin_ns, traffic, net) if site else None
    own = traffic.finish()
    if delay:
        own["delay"] = delay.finish()
        check.between("packets that were delayed", own["delay"]["count"], N * 0.98, N * 1.1)
    documents = observer.stop()
    read = sum(d.count("read", protocol) for d in documents)
    check.equal("packets at read", read, options["count"])
    return steps(documents, protocol), own


def lands(before, after, delay_ns, stage):
    grew = {name: (after[name] - before[name]) / delay_ns for name in after}
    for name, part in grew.items():
        low, high = (AT_LEAST, 1 + AT_MOST) if name == stage else (-AT_MOST, AT_MOST)
        check.between(f"part of the {delay_ns:.0f} ns that step {name} grew by "
                      f"(in ns, before {before}, after {after})", part, low, high)
    return ", ".join(f"{name} {part:.1%}" for name, part in grew.items())


def swapped_fails(before, after, delay_ns, stage):
    for other in after:
        if other != stage:
            swapped = {**after, stage: after[other], other: after[stage]}
            what = f"{stage} exchanged for {other}"
            check.must_fail(what, lands, before, swapped, delay_ns, stage)


@check.environment(DISTURBED)
def spun(net, family, protocol, site, stage):
    before, _ = measure(net, family, protocol, site, 0)
    after, own = measure(net, family, protocol, site, SPIN_NS)
    delay_ns = own["delay"]["spent_ns"] / own["delay"]["count"]
    figure = lands(before, after, delay_ns, stage)
    swapped_fails(before, after, delay_ns, stage)
    return figure


@check.environment(DISTURBED)
def spun_before_ip(net, family, protocol):
    """Where `ip` has a hook, the step from `link` to it is the one that grows."""
    every = "ip," + WITHOUT_IP
    before, _ = measure(net, family, protocol, "link", 0, stages=every)
    if "ip" not in before:
        return "ip has no hook here"
    after, own = measure(net, family, protocol, "link", SPIN_NS, stages=every)
    delay_ns = own["delay"]["spent_ns"] / own["delay"]["count"]
    figure = lands(before, after, delay_ns, "ip")
    swapped_fails(before, after, delay_ns, "ip")
    return figure


@check.environment(DISTURBED)
def late_reader(net, family, protocol):
    options = {"wait": "epoll", "busy": True}
    before, early = measure(net, family, protocol, None, 0, **options)
    after, late = measure(net, family, protocol, None, 0, **options, delay_us=SPIN_NS // 1000)
    delay_ns = late["latency"]["p50_ns"] - early["latency"]["p50_ns"]
    figure = lands(before, after, delay_ns, "read")
    swapped_fails(before, after, delay_ns, "read")
    return figure


@check.environment(DISTURBED)
def hogged_reader(net, family, protocol):
    count = 500
    options = {"sender_cpu": 0, "reader_nice": 15, "count": count, "steps": total_steps}
    before, alone = measure(net, family, protocol, None, 0, **options)
    burner = hog(1, 60, "burner")
    try:
        after, hogged = measure(net, family, protocol, None, 0, **options)
    finally:
        burner.kill()
        burner.wait()
    delay_ns = (hogged["latency"]["sum_ns"] - alone["latency"]["sum_ns"]) / count
    check.between("how long the hog held the reader up", delay_ns, 200_000, 10**9)
    figure = lands(before, after, delay_ns, "running")
    swapped_fails(before, after, delay_ns, "running")
    return figure


# The stage in whose hook the delay sits, and the step that grows.
TCP = {"link": "transport", "socket": "enqueued", "enqueued": "runnable", "runnable": "running",
       "running": "read"}
# No tracepoint lies between UDP's `transport` and `enqueued`.
UDP = {site: step for site, step in TCP.items() if site != "socket"}


def cases():
    loopback, veth = netns.loopback(), netns.veth()
    for where, steps_of in (((veth, 4, "tcp"), TCP), ((loopback, 6, "udp"), UDP)):
        for site, step in steps_of.items():
            yield spun, *where, site, step
        for case in (spun_before_ip, late_reader, hogged_reader):
            yield case, *where


outweigh_others()
check.run(cases())
