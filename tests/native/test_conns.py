# SPDX-License-Identifier: Apache-2.0
"""
Proves that `conns` names the class that limits each connection of a scenario with known truth, and
no other class, and counts the same events as the namespace's counters.
"""
import collections
import os
import sys

from lib import check, conns

DISTURBED = "the classes' shares of time depend on when both ends get a CPU"

# Share of the scenario's limit that `conns` must report: a writer waiting for a CPU is not blocked.
SHARE = 0.8
HARMLESS = ("app-trickle", "idle", "request-reply", "path-50ms")
GUEST = sys.argv[1:] == ["guest"]
OPTIONS = ["--cpu-budget", "20%..90%"] if GUEST else []    # an emulated CPU is slow
WITHOUT_RTO = GUEST and os.uname().release.startswith("6.1.")
BUCKET = 2 ** 0.25      # the quotient of its edges; what is said of it is its middle
EVENTS = {"fast_retransmit": "fast_retransmits", "rto": "timeouts", "tlp": "loss_probes"}


def sums(seen):
    """The times of each connection are its time, its round trips those that are in buckets."""
    for each in seen.document["connections"]:
        if each["rtt"]["buckets"] is not None:
            check.equal("round trips", sum(b["samples"] for b in each["rtt"]["buckets"]),
                        each["rtt"]["samples"])
        parts = [each["time_ns"][name] for name in conns.TIMES]
        if None not in parts:
            check.equal("sum of the times", sum(parts) + each["unknown_ns"], 
                        each["to_ns"] - each["from_ns"])


@check.environment(DISTURBED)
def limited_by(name, cc, rtt_ms, share, classes):
    seen = conns.scenario(name, cc, rtt_ms, OPTIONS)
    sums(seen)
    check.true("the sender has round trips, if it is followed", seen.sender()["rtt"]["buckets"] != [])
    check.between(f"share of {share}", seen.share(share),
                  SHARE * seen.truth["limits"][share], 1)
    check.true(f"problems are {sorted(seen.problems())}", classes <= seen.problems())
    others = {"send-buffer", "receiver-window", "delayed-ack", "nagle"} - classes
    check.equal("problems that it has not", others & seen.problems(), set())
    return f"{seen.share(share):.1%} of {seen.truth['limits'][share]:.1%}"


@check.environment(DISTURBED)
def nothing_is_wrong(name, cc, rtt_ms):
    seen = conns.scenario(name, cc, rtt_ms, OPTIONS)
    sums(seen)
    check.equal("harmful problems", seen.problems(), set())
    check.between("share of the application", seen.share("sender-app"), 0.95, 1)
    p50 = seen.sender()["rtt"]["p50_ns"]
    check.true(f"half of the round trips take the path's or more: {p50}",
               p50 is None or p50 >= seen.truth["rtt_ms"] * 1e6 / BUCKET ** 0.5)


@check.environment(DISTURBED)
def delayed_acks(name, harmful, rtt_ms):
    seen = conns.scenario(name, "cubic", rtt_ms, OPTIONS)
    counted, truth = seen.receiver()["events"]["delayed_acks"], seen.truth["events"]["delayed_acks"]
    check.between("delayed ACKs by the counter", counted, truth["b"] - 1, truth["b"] + 1)
    held = seen.sender()["events"]["delayed_acks_harmful"]
    if harmful:
        check.between("for which data was held", held, truth["b"] - 2, truth["b"] + 1)
        check.true("reported", {"delayed-ack", "nagle"} <= seen.problems())
    else:
        check.equal("for which data was held", held, 0)
        check.equal("harmful", {"delayed-ack", "nagle"} & seen.problems(), set())
    return f"{counted} of {truth['b']}, {held} harmful"


@check.environment(DISTURBED)
def a_timer_is_found(name, rtt_ms):
    """Timers of any length are found, and each acknowledgement that held data is counted."""
    seen = conns.scenario(name, "cubic", rtt_ms, OPTIONS)
    truth, events = seen.truth["notes"]["harmful"], seen.sender()["events"]
    check.between("for which data was held", events["delayed_acks_harmful"], truth - 2, truth + 1)
    check.true("reported", {"delayed-ack", "nagle"} <= seen.problems())
    return f"{events['delayed_acks_harmful']} of {truth}"


@check.environment(DISTURBED)
def jitter_is_no_timer():
    """Jitter of the path is not reported as delayed acknowledgements: none, or unknown."""
    seen = conns.scenario("jitter", "cubic", 20, OPTIONS)
    held, rtt = seen.sender()["events"]["delayed_acks_harmful"], seen.sender()["rtt"]
    check.true(f"for which data was held: {held}", held in (0, None))
    check.equal("harmful", {"delayed-ack", "nagle"} & seen.problems(), set())
    check.between("held back by delayed ACKs", seen.share("delayed-ack"), 0, 0.02)
    return f"round trips p50 {rtt['p50_ns'] / 1e6:.0f} ms, p90 {rtt['p90_ns'] / 1e6:.0f} ms"


@check.environment("the dropped packets are those that an emulated path drops at its own times")
def losses(name, cc, rtt_ms):
    """Exactly; and how long nothing went on, to a round trip."""
    seen = conns.scenario(name, cc, rtt_ms, OPTIONS)
    events, truth = seen.sender()["events"], seen.truth["events"]
    for key, counter in EVENTS.items():
        if key == "rto" and WITHOUT_RTO:    # older connections without it: unknown is not 0
            check.equal(key, events[key], None)
        else:
            check.equal(key, events[key], truth[counter]["a"])
    check.equal("spurious", events["spurious"], truth["dsacks"]["a"])
    return ", ".join(f"{key} {events[key]}" for key in (*EVENTS, "spurious")) + stalled(seen)


def stalled(seen):
    """The receiver's waiting for what had to be sent again."""
    counted, truth, rtt_ns = seen.sender()["recovery"], seen.truth["repairs"], seen.truth["rtt_ms"] * 1e6
    check.between("stalls", counted["stalls"], 1, truth["count"])
    for key, name in (("stall_ns", "ns"), ("longest_stall_ns", "longest_ns")):
        check.between(key, counted[key], truth[name] - rtt_ns, truth[name] + rtt_ns)
        check.must_fail("two round trips more", check.between, key, counted[key] + 2 * rtt_ns + 1,
                        truth[name] - rtt_ns, truth[name] + rtt_ns)
    return f"; stalled {counted['stall_ns'] / 1e6:.1f} ms of {truth['ns'] / 1e6:.1f} ms"


@check.environment("tens of milliseconds separate a delayed ACK from a slow path, and both ends may wait as long for a CPU")
def recovery_waits(name, rtt_ms, acks):
    """After a timeout, for so many acknowledgements that the receiver delayed, and how long."""
    seen = conns.scenario(name, "cubic", rtt_ms, OPTIONS)
    check.equal("delayed ACKs after a timeout", seen.sender()["recovery"]["delayed_acks_after_rto"], acks)
    check.equal("of the receiver", seen.receiver()["recovery"]["delayed_acks_after_rto"], 0)
    found = [each for each in seen.document["problems"] if each["class"] == "delayed-ack-after-timeout"]
    if not acks:
        check.equal("problems", found, [])
        return "no delay"
    check.equal("reported of", [each["cookie"] for each in found], [seen.sender()["cookie"]])
    check.equal("harmful", found[0]["harmful"], True)
    check.equal("the receiver's record confirms it", found[0]["confidence"], "observed")
    lost, truth = found[0]["lost_ns"], seen.truth["delay_ns"]
    check.between("lost time", lost, 0.75 * truth, 1.1 * truth)
    if not WITHOUT_RTO:     # the two divide the stall
        timeout = next(each for each in seen.document["problems"] if each["class"] == "timeout")
        stall = timeout["evidence"]["stall_ns"]
        check.between("lost time, with the timeout's", lost + timeout["lost_ns"], 0.99 * stall, stall)
    return f"{lost / 1e6:.1f} ms of {truth / 1e6:.1f} ms"


@check.environment(DISTURBED)
def short_ones_are_reported():
    seen = conns.scenario("short-lived", "cubic", 4, OPTIONS)
    for end in seen.ends:
        it = seen.of(end)
        check.true("closed", it["closed"])
        check.equal("bytes sent", it["bytes"]["sent"], 100)
        check.between("bytes received, a FIN is one", it["bytes"]["received"], 100, 101)
    return f"{len(seen.ends)} of {len(seen.ends)}"


def round_trips(each, rtt_ns):
    """Half of them are so long, half thrice; on some connections an end had to wait for a CPU."""
    late = 10e6
    check.between("RTT samples", min(rtt["samples"] for rtt in each), 8, 12)
    check.between("RTT samples", max(rtt["samples"] for rtt in each), 9, 12)
    for name, least, most in (("min_ns", rtt_ns, rtt_ns + late),
                              ("mean_ns", 1.9 * rtt_ns, 2.1 * rtt_ns + late),
                              ("max_ns", 3 * rtt_ns, 3 * rtt_ns + late)):
        values = sorted(rtt[name] for rtt in each)
        check.between(f"least {name}", values[0], least, most)
        check.between(f"{name} of half of them", values[len(values) // 2], least, most)


def distributions(each, rtt_ns):
    """Checks each connection's RTT distribution, in quarters of octaves; an end may have waited for
    a CPU."""
    late = 10e6
    for rtt in each:
        check.equal("samples in buckets", sum(b["samples"] for b in rtt["buckets"]), rtt["samples"])
        check.true("extremes are in the outer ones",
                   rtt["buckets"][0]["gt_ns"] < rtt["min_ns"] <= rtt["buckets"][0]["le_ns"] and
                   rtt["buckets"][-1]["gt_ns"] < rtt["max_ns"] <= rtt["buckets"][-1]["le_ns"])
        check.equal("p90 is known from ten on", rtt["p90_ns"] is not None, rtt["samples"] >= 10)
        check.equal("p99 of so few", rtt["p99_ns"], None)
    for name, truth in ("p50_ns", (rtt_ns, 3 * rtt_ns)), ("p90_ns", (3 * rtt_ns,) * 2):
        values = sorted(rtt[name] for rtt in each if rtt[name] is not None)
        check.between(f"{name} of those with ten samples or more", len(values),
                      len(each) / 2, len(each))
        for value in values[0], values[len(values) // 2]:
            check.between(name, value, truth[0] / BUCKET ** 0.5,
                          (truth[1] + late) * BUCKET ** 0.5)


def together(group, each, rtt_ns):
    """They add up exactly; half of all are so long, half thrice."""
    rtt, sums = group["rtt"], collections.Counter()
    for one in each:
        for b in one["buckets"]:
            sums[b["gt_ns"]] += b["samples"]
    check.equal("samples in buckets", {b["gt_ns"]: b["samples"] for b in rtt["buckets"]}, dict(sums))
    check.equal("samples", rtt["samples"], sum(sums.values()))
    check.equal("connections with a distribution", rtt["connections"], len(each))
    for name in "p90_ns", "p99_ns":
        check.between(name, rtt[name], 3 * rtt_ns / BUCKET ** 0.5,
                      (3 * rtt_ns + 15e6) * BUCKET ** 0.5)
    short = sum(b["samples"] for b in rtt["buckets"] if b["le_ns"] < 2 * rtt_ns)
    check.between("share of the short ones", short / rtt["samples"], 0.35, 0.55)


@check.environment(DISTURBED)
def those_from_before():
    """They are there before hostlat is; each then has exchanges over two paths of known length."""
    # On a busy machine the default would leave some out.
    seen = conns.scenario("many-exchanges", "cubic", 20, ["--cpu-budget", "1%..60%", "--by", "app"])
    ends = [seen.of(end) for end in seen.ends]
    rtt_ns = seen.truth["rtt_ms"] * 1e6
    check.equal("connections", len(ends), 1000)
    for it in ends:
        check.true(f"it was there before: {it['flags']}", "began" not in it["flags"])
        check.equal("bytes sent", it["bytes"]["sent"], 1000)
        check.between("bytes received, a FIN is one", it["bytes"]["received"], 1000, 1001)
    rtts = [it["rtt"] for it in ends]
    check.equal("those whose round trips are not known",
                sum(rtt["samples"] is None for rtt in rtts), 0)
    round_trips(rtts, rtt_ns)
    check.must_fail("a path that is half as long", round_trips, rtts, rtt_ns / 2)
    check.must_fail("one that is longer", round_trips, rtts, rtt_ns * 1.5)
    distributions(rtts, rtt_ns)
    check.must_fail("a distribution over a shorter path", distributions, rtts, rtt_ns / 2)
    check.must_fail("... over a longer one", distributions, rtts, rtt_ns * 1.5)
    group = next(g for g in seen.document["groups"] if g["key"] == ends[0]["app"])
    both = [it["rtt"] for it in seen.document["connections"] if it["app"] == group["key"]]
    together(group, both, rtt_ns)
    check.must_fail("all over a longer path", together, group, both, rtt_ns * 1.5)
    check.must_fail("with one too many", together, group, both + rtts[:1], rtt_ns)
    mean = sum(rtt["mean_ns"] for rtt in rtts) / len(rtts)
    return f"{len(ends)} connections, mean RTT {mean / 1e6:.1f} ms"


@check.environment("hostlat's own CPU time per event grows where others use the caches "
                   "and the CPUs")
def the_budget_is_kept():
    """500 connections; whatever they are, it is its own account that must be below the limit."""
    seen = conns.scenario("many-idle", "cubic", 4, ["--cpu-budget", "0.5%..4%"])
    check.between("own CPU, share of one core", seen.document["budget"]["used"], 1e-6, 0.06)
    reported = sum(str(end["cookie"]) in seen.by_cookie for end in seen.ends)
    check.equal("connections", reported, len(seen.ends))
    return f"{seen.document['budget']['used']:.2%}"


if os.geteuid() != 0:
    check.skip("needs root")
CLASSES = [
    ("send-buffer-16k", "send-buffer", {"send-buffer"}),
    ("send-buffer-256k", "send-buffer", {"send-buffer"}),
    ("small-window", "receiver-window", {"receiver-window"}),
    ("slow-reader", "receiver-window", {"receiver-window"}),
    ("stopped-reader", "receiver-window", {"receiver-window", "zero-window"}),
    ("autotuned-bulk", "congestion", set()),
    ("bottleneck", "congestion", set()),
    ("bufferbloat", "congestion", set()),
]
LOSSES = ["fast-retransmit", "tlp", "rto-lone", "rto-no-probe", "rto-backoff", "rto-flight", "spurious"]
# Delayed ACKs after a timeout; prompt ones; and delayed ones without a timeout.
AFTER_RTO = [("delayed-ack-after-rto", 1), ("prompt-ack-after-rto", 0), ("rto-flight", 0),
             ("delayed-ack-nagle", 0)]
DELAYED = [("delayed-ack-nagle", True), ("delayed-ack-nodelay", False),
           ("delayed-ack-harmless", False)]
if GUEST:   # slow, and nobody else has its CPUs
    CASES = [
        (limited_by, "send-buffer-16k", "cubic", 80, "send-buffer", {"send-buffer"}),
        (limited_by, "stopped-reader", "cubic", 20, "receiver-window",
         {"receiver-window", "zero-window"}),
        (losses, "tlp", "cubic", 120), (losses, "rto-lone", "cubic", 120),  # 20 ms: by chance
        *[(recovery_waits, name, 80, acks) for name, acks in AFTER_RTO[:2]],
        (nothing_is_wrong, "app-trickle", "cubic", 20),
    ]
elif check.LONG:
    GRID = [(cc, rtt) for cc in ("cubic", "bbr") for rtt in (10, 40)]
    CASES = [
        *[(limited_by, name, cc, rtt, share, classes) for name, share, classes in CLASSES
          for cc, rtt in GRID],
        *[(nothing_is_wrong, name, cc, rtt) for name in HARMLESS for cc, rtt in GRID],
        *[(losses, name, cc, rtt) for name in LOSSES for cc, rtt in GRID],
        *[(recovery_waits, name, rtt, acks) for name, acks in AFTER_RTO for rtt in (2, 10, 20)],
        *[(delayed_acks, *each, rtt) for each in DELAYED for rtt in (2, 10, 20)],
        *[(a_timer_is_found, f"peer-timer-{ms}", rtt) for ms in (40, 100, 200) for rtt in (2, 20, 50)],
        (jitter_is_no_timer,),
    ]
else:
    CASES = [
        *[(limited_by, name, "cubic", 20, share, classes) for name, share, classes in CLASSES],
        (limited_by, "send-buffer-16k", "bbr", 10, "send-buffer", {"send-buffer"}),
        *[(nothing_is_wrong, name, "bbr", 10) for name in HARMLESS[:3]],
        *[(losses, name, "cubic", 20) for name in LOSSES],
        *[(recovery_waits, name, 10, acks) for name, acks in AFTER_RTO],
        *[(delayed_acks, *each, 20) for each in DELAYED],
        (a_timer_is_found, "peer-timer-100", 10), (a_timer_is_found, "peer-timer-200", 20),
        (jitter_is_no_timer,),
    ]
check.run([*CASES, (short_ones_are_reported,), *([] if GUEST else [(those_from_before,), (the_budget_is_kept,)])])
