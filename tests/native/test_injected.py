# SPDX-License-Identifier: Apache-2.0
"""Proves that `diagnose` finds delays of memcached and nginx under `hostlat load`: they are
stopped, or kept from their CPU by another program that notes its own times. Each request of the
load that surely waited must be explained; leaving out a tenth of them must fail."""
import sys

from lib import causes, check, diagnose, loaded, netns
from lib.oracle import Oracle
from lib.traffic import outweigh_others

WAITED_NS = 1_000_000   # shorter waits of the load's requests need no explanation
MORE = 1.25             # times as many messages are explained as were delayed
FOUND = 0.95            # share of the waiting requests that must be found
EXAMPLES = 2000         # at most


def complete(truth, explained):
    """Each request that the load had to wait for is told of; `told`: numbers of messages."""
    waited = truth.delayed(WAITED_NS)
    found = [one for one in waited if one in truth.log.messages and
             truth.log.messages[one].number in explained]
    check.true(f"of {len(waited)} requests that waited {len(found)} are reported",
               len(found) >= FOUND * len(waited))
    return len(waited)


def delayed(run):
    """Messages that waited for what was injected."""
    n = 0
    for m in run.trace.messages:
        begin, end = m.first, m.pieces[-1].end
        n += length_of(run.truth, begin, end) > max(causes.FLOOR * (end - begin),
                                                    causes.FLOOR_NS)
    return n


def length_of(truth, begin, end):
    return sum(least for cause, (least, _) in truth.of(None, begin, end).items()
               if cause != "head-of-line")


def agreed(run, examples, granularity, names, least):
    found = causes.agrees(run.truth, examples, granularity, names, least)
    causes.refused(run.truth, examples, granularity, names, least)
    return found


class Case:
    """`least`: so many messages have to be delayed."""

    def __init__(self, net, server, name, inject, causes_of, least):
        self.net, self.server, self.name, self.inject = net, server, name, inject
        self.causes, self.least = causes_of, least

    def __str__(self):
        return f"{self.server}, {self.name}, {self.net}"


@check.environment("it compares a measured time with the time that the test itself took, "
                   "and other threads can have the CPU in between")
def injected(case):
    run = loaded.Run(case.net, case.server, case.inject())
    joined = len(run.truth.log.messages)
    check.between("messages that are requests of the load", joined / len(run.trace.messages),
                  0.98, 1)
    n = max(min(int(delayed(run) * MORE), EXAMPLES), 40)
    oracle = Oracle(run.trace)
    run.truth.usual = oracle.usual
    naive = agreed(run, oracle.examples(n), 1000, case.causes, case.least)
    d = diagnose.Diagnosis(run.file, n, code=(0, 3))    # 3: what wasn't injected isn't explained
    figure = agreed(run, d.examples, d.granularity, case.causes, case.least)
    check.equal("time that is charged twice or not at all", d.document["partition_error_ns"], 0)
    explained = {example["id"] for example in d.examples}
    waited = complete(run.truth, explained)
    if case.least:
        known = run.truth.log.messages
        some = {known[one].number for one in run.truth.delayed(WAITED_NS)[::10] if one in known}
        check.must_fail("a tenth is not reported", complete, run.truth, explained - some)
    return f"{waited} requests waited; naive: {naive}; diagnose: {figure}"


outweigh_others()
loopback, veth = netns.loopback(), netns.veth()
CASES = [
    Case(net, server, name, inject, names, least)
    for net, server in ((veth, "memcached"), (loopback, "nginx"))
    for name, inject, names, least in (
        ("nothing", loaded.Nothing, (), 0),
        ("stopped", lambda: loaded.Stops(24, 0.02, 0.15), ("stopped",), 40),
        ("a hog", lambda: loaded.Hog(5000, 53_000, 1.5), ("cpu-wait",), 40),
        ("stopped and a hog", lambda: loaded.Both(loaded.Stops(24, 0.02, 0.15),
                                                  loaded.Hog(5000, 53_000, 0)),
         ("stopped", "cpu-wait"), 40),
    )
]
# One and the other by themselves, of nginx: both at once are told apart, too.
ONLY_LONG = [case for case in CASES if case.server == "nginx" and case.name in ("stopped", "a hog")]
words = sys.argv[1:]
if not words and not check.LONG:
    CASES = [case for case in CASES if case not in ONLY_LONG]
check.run([(injected, case) for case in CASES
           if not words or all(word in str(case) for word in words)])
