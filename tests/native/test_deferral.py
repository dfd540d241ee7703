# SPDX-License-Identifier: Apache-2.0
"""Proves that requests that wait in the ring of a device whose NAPI only a timer polls
(napi_defer_hard_irqs, gro_flush_timeout) are the network's in `explain`, and get no cause in
`diagnose`. No tracepoint tells when they came to the ring, so that time is no part of a message;
the kernel's tracer tells when it was polled. Control: a device that is polled when a packet
comes."""
import bisect
import collections
import os
import re
import statistics
import subprocess

from lib import causes, check, diagnose, loaded, netns, servers
from lib.explain import PARTS, Explain
from lib.tracer import Tracer
from lib.traffic import outweigh_others

DISTURBED = "the card's queue must be polled by its timer, which is late where the CPU is busy"

TIMEOUT_NS = 8_000_000
# A poll is told when it ends: what comes while it works on others waits for the next one. The one
# that took a request is the last before its reply, or the one that is still at work then.
POLL_NS = 200_000
LEAST_NS = 1_000_000        # that a request has to have waited
LEAST = 10                  # requests that have
AT_LEAST, AT_MOST, IN_ALL = 0.95, 0.05, 1.15
LOAD = "--rate", "300", "--for", "5s"     # few in a poll: they wait for each other, too
EXAMPLES = 100
PRIORITY = 20

# ns: until the poll that took it; least: until the next poll.
Waited = collections.namedtuple("Waited", "ns least parts")


def setting(net, name, value):
    subprocess.run(["ip", "netns", "exec", net.reader, "sh", "-c",
                    f"echo {value} > /sys/class/net/reader0/{name}"], check=True)


def ethtool(namespace, device, *words):
    subprocess.run(["ip", "netns", "exec", namespace, "ethtool", "-K", device, *words], check=True)


def polled():
    """A pair whose reader's device has a NAPI, and a sender that leaves segments as they are."""
    net = netns.veth()
    ethtool(net.sender, "sender0", "tso", "off", "gso", "off")
    ethtool(net.reader, "reader0", "gro", "on")
    return net


def deferring(net):
    setting(net, "gro_flush_timeout", TIMEOUT_NS)
    setting(net, "napi_defer_hard_irqs", 1_000_000)     # polls without work, and it goes on


class Polls:
    """When the reader's device was polled and had something."""

    def __init__(self):
        self.tracer = Tracer()
        self.tracer.write("trace_clock", "mono")
        self.tracer.event("napi/napi_poll", 'dev_name == "reader0" && work > 0')

    def end(self):
        with open(f"{self.tracer.folder}/trace", encoding="ascii", errors="replace") as f:
            found = re.findall(r" (\d+)\.(\d{6}): napi_poll", f.read())
        self.tracer.end()
        return [int(s) * 1_000_000_000 + int(us) * 1000 for s, us in found]


class Run:
    """`explain` of memcached; what each of the slowest requests waited in the ring."""

    def __init__(self, net):
        with netns.inside(net.reader), servers.server("memcached", net.address(4)) as (url, _):
            polls = Polls()
            try:
                self.it = Explain(net, url, *LOAD)
                self.it.finish()
            finally:
                self.polls = polls.end()
        times = {one.intended: (one.handed, one.done) for one in self.it.samples()}
        self.waited = []
        for one in self.it.slowest:
            handed, done = times.get(one.intended, (0, 0))
            i = bisect.bisect_right(self.polls, done + POLL_NS)
            if handed and one.message is not None and i:
                ns = min(max(self.polls[i - 1] - handed, 0), one.latency)
                least = self.polls[min(bisect.bisect_left(self.polls, handed), i - 1)] - handed
                self.waited.append(Waited(ns, max(least, 0), one.parts))


def lands(waited, where):
    """Checks each part's median share of the requests' waiting times; `where` must hold nearly
    all."""
    waited = [one for one in waited if one.ns >= LEAST_NS]
    check.true(f"{len(waited)} requests waited", len(waited) >= LEAST)
    medians = {part: statistics.median(one.parts[part] / one.ns for one in waited)
               for part in PARTS}
    figures = ", ".join(f"{part} {share:.1%}" for part, share in medians.items())
    for part, share in medians.items():
        low, high = (AT_LEAST, IN_ALL) if part == where else (0, AT_MOST)
        check.between(f"share of {part} ({figures})", share, low, high)
    return f"{figures} of {len(waited)} requests"


def no_cause(run):
    """No message of these was held up by anything that can be injected."""
    t = run.it.trace()
    truth = loaded.Truth(loaded.Requests(t, [loaded.Request(s.port, 0, s.intended, s.sent, s.done)
                                             for s in run.it.samples()]), {}, {},
                         t.unrecorded())
    d = diagnose.Diagnosis(run.it.path("server.hlat"), EXAMPLES, code=(0, 3))
    found = causes.agrees(truth, d.examples, d.granularity, (), 0)
    one = d.examples[0]
    changed = [{**one, "latency_ns": one["latency_ns"] + 10 * TIMEOUT_NS, "parts": [
        *one["parts"], {"cause": "throttled", "ns": 10 * TIMEOUT_NS, "culprits": []}]}]
    check.must_fail("a cause", causes.agrees, truth, changed * 20, d.granularity, (), 0)
    return found


@check.environment(DISTURBED)
def deferred(net):
    run = Run(net)
    figures = lands(run.waited, "network")
    for part in PARTS:
        if part != "network":
            check.must_fail(f"as if it were {part}", lands, run.waited, part)
    no_cause(run)
    return figures


@check.environment(DISTURBED)
def usual(net):
    """Control: polled when something comes."""
    run = Run(net)
    check.must_fail("nothing injected", lands, run.waited, "network")
    waited = sorted(one.least for one in run.waited)
    check.between("what the slowest waited for a poll, at the median", waited[len(waited) // 2],
                  0, TIMEOUT_NS / 20)
    return f"{waited[len(waited) // 2]} ns at the median"


os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
outweigh_others()
slow, quick = polled(), polled()
deferring(slow)
check.run([(deferred, slow), (usual, quick)])
