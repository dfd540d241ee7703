# SPDX-License-Identifier: Apache-2.0
"""Proves that `explain` joins the slowest requests of real servers to the server's messages, with
parts that sum to each latency. Client, network and server are stopped in turn for 20 ms: the
requests' wait must land in that part; checking for another part must fail.

What counts are the requests that were due while something was stopped, 5 ms before its end or
earlier: what each one waited is the time from when it was due to that end. That is a lower bound:
what has piled up meanwhile is served one by one. Of the parts' shares of it the medians are
compared, so that what this machine did to a single request can't decide.
"""
import collections
import contextlib
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time

from lib import check, netns, process, servers
from lib.box import Gate, Path
from lib.explain import PARTS, Explain
from lib.traffic import outweigh_others

DISTURBED = "the largest cause must be the injected one, and others can take the CPU for as long"

PLAIN = "--rate", "2000", "--for", "4s"
SHORT = "--rate", "500", "--for", "1s", "--workload", "keys=20000,read=1"
STOPPED = "--rate", "2000", "--for", "3s"
STOPS, STOP_S, BETWEEN_S, FIRST_S = 3, 0.02, 0.5, 1.0
LEAST_NS = 5_000_000        # that a request has to have waited
LEAST = 20                  # requests that have
LONG_NS, FEW_SUCH = 12_000_000, 9
# share of the slowest requests that must be joined: once one of 79 was not, for an unknown reason
JOINED = 0.97
AT_LEAST, AT_MOST, IN_ALL = 0.95, 0.05, 1.15
# Why a load's quantile can't be told though every request was made and answered.
NOISE = {"client-saturated", "host-noisy", "arrivals-violated", "not-converged",
         "too-few-exceedances", "heavy-tail", "non-stationary-trend", "non-stationary-shift",
         "non-stationary-periodic"}
# A client that is stopped, or has no connection for what is due, is no open loop.
NOISE_OF_STOPS = NOISE | {"closed-loop-behaviour", "rate-not-reached"}
PRIORITY = 20               # priority of the process that stops the others, which ends by itself
JOBS, JOB_BYTES = 300, 300_000  # short processes, 50 ms apart; bytes that each packs

Changed = collections.namedtuple("Changed", "document")


def sums(requests):
    for one in requests:
        check.equal(f"sum of the parts of {one}", sum(one.parts.values()), one.latency)


def honest(it, noise):
    """The load is all that may be wrong, and if it is that is said; nothing else was disturbed."""
    load = it.document["load"]
    codes_of_load = [reason["code"] for reason in load["reasons"]]
    check.true(f"reasons: {it.reasons}", set(it.reasons) <= {"load-not-sound"})
    check.equal("why the load is not sound", it.reasons.get("load-not-sound", "").split(),
                codes_of_load)
    check.equal("exit code", it.code, 3 if it.reasons else 0)
    check.true(f"of the load: {codes_of_load}", set(codes_of_load) <= noise)


def whole(it, noise=None):
    """Checks what holds for every run."""
    slowest = it.slowest
    honest(it, noise or NOISE)
    check.equal("parts", {p: sum(one.parts[p] for one in slowest) for p in PARTS},
                {p: it.requests["parts"][p + "_ns"] for p in PARTS})
    check.equal("slowest", it.requests["slowest"], len(slowest))
    check.equal("joined", it.requests["joined"], sum(one.message is not None for one in slowest))
    check.between(f"of the slowest are joined ({[o for o in slowest if o.why]})", it.requests["joined"] / len(slowest), JOINED, 1)
    sums(slowest)
    check.must_fail("a part that lacks 1 ns", sums,
                    [slowest[0]._replace(latency=slowest[0].latency + 1)])


def are_slowest(requests, samples):
    """By the load's own recording: the slowest hundredth, with their latencies."""
    n = -(-len(samples) // 100)
    expected = sorted(((s.done - s.intended, s.intended) for s in samples), reverse=True)[:n]
    check.equal("latencies of the slowest", [one.latency for one in requests],
                [latency for latency, _ in expected])


def naively(samples, t):
    """
    {(intended, latency): (message, parts)} by a join of its own, of the requests whose connection
    had just one message meanwhile.
    """
    marks = {}
    for message in t.messages + t.sends:
        marks.setdefault(t.flows[message.flow].remote, []).append(
            (message.first, message.direction == "egress", message.number))
    for each in marks.values():
        each.sort()
    joined = {}
    for s in samples:
        seen = [mark for mark in marks.get(s.port, []) if s.sent <= mark[0] <= s.done]
        if [sends for _, sends, _ in seen] != [False, True] or not s.handed or not s.received:
            continue
        arrived, sent = (mark[0] for mark in seen)
        times = [s.intended, s.handed, max(arrived, s.handed), max(sent, s.handed), s.received,
                 s.done]
        if times != sorted(times):
            continue
        steps = [end - begin for begin, end in zip(times, times[1:])]
        joined[s.intended, s.done - s.intended] = seen[0][2], {
            "client": steps[0] + steps[4], "network": steps[1] + steps[3], "server": steps[2],
            "unexplained": 0}
    return joined


def agree(requests, joined):
    same = 0
    for one in requests:
        message, parts = joined.get((one.intended, one.latency), (None, None))
        if message:
            check.equal(f"message of {one}", one.message, message)
            check.equal(f"parts of {one}", one.parts, parts)
            same += 1
    check.between("requests that are joined naively, too", same / len(requests), 0.9, 1)


def usual(it):
    """Runs without an injection show none of its cause, although this machine delays single
    requests."""
    for part in PARTS:
        delayed = [one for one in it.slowest if one.parts[part] >= LONG_NS]
        check.between(f"requests with much of {part}: {delayed[:3]}", len(delayed), 0, FEW_SUCH)


def plain(net, name):
    with netns.inside(net.reader), servers.server(name, net.address(4)) as (url, _):
        it = Explain(net, url, *PLAIN)
        it.finish()
    whole(it)
    return it


@check.environment(DISTURBED)
def explained(net, name):
    it = plain(net, name)
    usual(it)
    samples = it.samples()
    are_slowest(it.slowest, samples)
    joined = naively(samples, it.trace())
    agree(it.slowest, joined)
    first = it.slowest[0]
    check.must_fail("another message", agree, [first._replace(message=first.message + 1)], joined)
    check.must_fail("other parts", agree, swapped([first], "client", "server"), joined)
    return f"{it.requests['joined']} of {len(it.slowest)} joined, exit code {it.code}"


def only_asked(it):
    """Each key is there, and of the storing no message."""
    check.equal("misses", it.document["load"]["requests"]["misses"], 0)
    check.between("messages that were recorded", it.document["diagnose"]["messages"]["count"], 1,
                  it.document["load"]["requests"]["completed"])


def stored_before(net, name):
    with netns.inside(net.reader), servers.server(name, net.address(4)) as (url, _):
        nothing = Explain(net, url, *SHORT)
        nothing.finish()
        it = Explain(net, url, *SHORT, "--preload")
        it.finish()
    only_asked(it)
    check.must_fail("nothing was stored", only_asked, nothing)
    return f"{it.requests['count']} requests"


def chosen(load, log):
    """The rate is half of what one connection reached, and the result says so."""
    setup, rate = load["setup"], load["rate"]["target"]
    check.between("half of it, two digits", rate / min(setup["rate_probed"] / 2, 10_000), 0.9, 1.000001)
    check.true(f"it is said: {log}", f"--rate {rate:g} was chosen" in log)


def without_a_rate(net, name):
    """What chooses the rate is not part of what is recorded."""
    with netns.inside(net.reader), servers.server(name, net.address(4)) as (url, _):
        it = Explain(net, url, "--for", "2s")
        it.finish()
    load = it.document["load"]
    chosen(load, it.log)
    check.between("messages that were recorded", it.document["diagnose"]["messages"]["count"], 1,
                  it.document["load"]["requests"]["completed"])
    check.must_fail("another rate", chosen, {**load, "rate": {"target": load["rate"]["target"] / 2}}, it.log)
    return f"{load['rate']['target']:g}/s"


def shares(requests, stops):
    """Returns the share of each request's wait for a stop that its parts explain."""
    found = []
    for one in requests:
        for begin, end in stops:
            if begin <= one.intended <= end - LEAST_NS:
                waited = end - one.intended
                found.append({part: one.parts[part] / waited for part in PARTS})
    return found


def lands(requests, stops, where):
    found = shares(requests, stops)
    check.true(f"{len(found)} requests waited", len(found) >= LEAST)
    medians = {part: statistics.median(share[part] for share in found) for part in PARTS}
    figures = ", ".join(f"{part} {share:.1%}" for part, share in medians.items())
    for part, share in medians.items():
        low, high = (AT_LEAST, IN_ALL) if part == where else (0, AT_MOST)
        check.between(f"share of {part} ({figures})", share, low, high)
    return f"{figures} of {len(found)} requests"


def swapped(requests, a, b):
    return [one._replace(parts={**one.parts, a: one.parts[b], b: one.parts[a]})
            for one in requests]


def signalled(pid):
    begin = time.monotonic_ns()
    os.kill(pid, signal.SIGSTOP)
    time.sleep(STOP_S)
    end = time.monotonic_ns()
    os.kill(pid, signal.SIGCONT)
    return begin, end


def stopping(stop):
    time.sleep(FIRST_S)
    stops = []
    for _ in range(STOPS):
        time.sleep(BETWEEN_S)
        stops.append(stop())
    return stops


@contextlib.contextmanager
def short_processes(cpu):
    """A job above the servers' priority: a shell starts timeout, which becomes taskset, which
    becomes gzip, each time with new pids. It ends by itself."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.urandom(JOB_BYTES))
        file.flush()
        job = process.start(
            ["taskset", "-c", cpu, "chrt", "--fifo", PRIORITY, "bash", "-c",
             f"for i in {{1..{JOBS}}}; do timeout 5 taskset -c {cpu} gzip -c {file.name}; "
             f"sleep 0.05; done"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            job.terminate()
            job.wait()


def by_command(diagnosis, name):
    """The culprit of that name in the waits for a CPU, with what the messages say of it."""
    of_messages = [sum(c["ns"] for part in one["parts"] if part["cause"] == "cpu-wait" and
                       part["where"] == "application" for c in part["culprits"] or []
                       if c["command"] == name) for one in diagnosis["examples"]]
    row = next(row for row in diagnosis["causes"]
               if (row["cause"], row["where"]) == ("cpu-wait", "application"))
    return next((c for c in row["culprits"] if c["command"] == name), None), row, \
        [ns for ns in of_messages if ns]


def of_requests(diagnosis, name):
    """The culprit of that name in the slow requests' waits for a CPU, at the server."""
    row = next(row for row in diagnosis["requests"]["causes"]
               if (row["cause"], row["where"]) == ("cpu-wait", "application"))
    return next(c for c in row["culprits"] if c["command"] == name)


def job_is_named(it):
    diagnosis = it.document["diagnose"]
    gzip, row, times = by_command(diagnosis, "gzip")
    check.true(f"gzip is a culprit of {row['culprits']}", gzip)
    check.between("processes of gzip", gzip["processes"], 3, JOBS)
    check.equal("pids", len(gzip["pids"]), min(gzip["processes"], 32))
    # An example lists five culprits of a part, the row counts all messages.
    full = sum(len(part["culprits"] or []) == 5 for one in diagnosis["examples"]
               for part in one["parts"] if part["cause"] == "cpu-wait")
    check.between("messages that gzip delayed", gzip["messages"], len(times), len(times) + full)
    if not full:
        middle = sorted(times)[(len(times) - 1) // 2]
        check.between("their median", gzip["median_ns"], middle - 10, middle + 10)
    check.between("share of the cause", gzip["share"] / (sum(times) / row["total_ns"]), 0.99, 1.01)
    told = of_requests(diagnosis, "gzip")
    check.true(f"a finding names it: {it.document['findings']}",
               any(f"gzip ({told['processes']} processes, {told['messages']} requests, " in one
                   for one in it.document["findings"]))
    check.between("processes of gzip, of the requests", told["processes"], 3, JOBS)
    check.between("its share, of the requests", told["share"], 0, 1)
    return f"gzip: {gzip['processes']} processes, {gzip['messages']} of {row['messages']} messages"


@check.environment(DISTURBED)
def names_the_job(net, name):
    cpu = str(os.cpu_count() - 1)
    with netns.inside(net.reader), short_processes(cpu), \
            servers.server(name, net.address(4), ("taskset", "-c", cpu, *servers.AHEAD)) as (url, _):
        it = Explain(net, url, *PLAIN)
        it.finish()
    figures = job_is_named(it)
    for field in "messages", "share":
        document = json.loads(json.dumps(it.document))
        by_command(document["diagnose"], "gzip")[0][field] *= 3
        check.must_fail(f"three times its {field}", job_is_named, Changed(document))
    for field in "messages", "processes":
        document = json.loads(json.dumps(it.document))
        of_requests(document["diagnose"], "gzip")[field] *= 3
        check.must_fail(f"three times its {field}, of the requests", job_is_named,
                        Changed(document))
    return figures


class Case:
    def __init__(self, where, how, net, server, *options):
        self.where, self.how, self.net, self.server, self.options = \
            where, how, net, server, options

    def __str__(self):
        return f"{self.how}, {self.server}, {self.net} {' '.join(self.options)}"


def stopped(case, gate):
    """The run, and when something was stopped."""
    with netns.inside(case.net.reader), \
            servers.server(case.server, case.net.address(4)) as (url, server):
        it = Explain(case.net, url, *STOPPED, *case.options)
        stops = stopping({
            "server": lambda: signalled(server.pid),
            "client": lambda: signalled(it.load),
            "there": lambda: gate.hold(Gate.THERE, STOP_S),
            "back": lambda: gate.hold(Gate.BACK, STOP_S),
        }[case.how])
        it.finish()
    whole(it, NOISE_OF_STOPS)
    if case.how == "client":
        check.equal("exit code: the load was not what was asked for", it.code, 3)
    return it, stops


def boxed(case):
    """With the box, if there is one on the path."""
    if not hasattr(case.net, "middle"):
        return stopped(case, None)
    with netns.inside(case.net.middle):
        gate = Gate(("point0", "point1"))
    try:
        return stopped(case, gate)
    finally:
        gate.end()


@check.environment(DISTURBED)
def lands_where_it_was(case):
    it, stops = boxed(case)
    figures = lands(it.slowest, stops, case.where)
    check.must_fail("nothing injected", usual, it)
    for part in PARTS:
        if part != case.where:
            check.must_fail(f"as if it were {part}", lands, it.slowest, stops, part)
            check.must_fail(f"{part} for {case.where}", lands,
                            swapped(it.slowest, part, case.where), stops, case.where)
    return figures


os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
outweigh_others()
veth, loopback, path = netns.veth(), netns.loopback(), Path()
FEW = "--connections", "8"
SERVERS = (veth, "memcached"), (loopback, "redis"), (veth, "nginx")
check.run([
    *((explained, *each) for each in SERVERS),
    (stored_before, loopback, "memcached"),
    (without_a_rate, loopback, "nginx"),
    (names_the_job, loopback, "redis"),
    (lands_where_it_was, Case("server", "server", veth, "memcached")),
    (lands_where_it_was, Case("network", "there", path, "redis")),
    (lands_where_it_was, Case("network", "back", path, "nginx")),
    (lands_where_it_was, Case("client", "client", loopback, "nginx")),
    (lands_where_it_was, Case("server", "server", veth, "redis", *FEW)),
    (lands_where_it_was, Case("client", "client", veth, "memcached", *FEW)),
])
