# SPDX-License-Identifier: Apache-2.0
"""Proves that a spinner beside the client is not reported as latency of the server: the result must
be n/a or hold the truth. The truth is the server's: when it read each request, when the reply left.
Control: with its CPU to itself the client's interval contains the p90 from each request's intended
time to the server's departure stamp, and is not much wider than that of an oracle who knows the
law. (Not the p99: a virtual machine loses 1 % of the time even where nothing else runs.)"""
import math
import os
import signal
import time

from lib import check, loading
from lib.serving import serving
from lib.traffic import hog

DISTURBED = "who runs when is the scheduler's choice"

MEAN_NS, RATE, SECONDS, Q, QUIET_Q = 1_000_000, 1000, 8, 0.99, 0.9
CLIENT, SERVER = 1, 0 # CPUs
FEWER = 0.5
WIDER = 3    # than the oracle's interval
APART = 0.05 # beyond this a p99 is wrong
Z = 1.96
TRAVEL_NS = 100_000 # from the server's departure stamp to the client, a sleeping CPU's waking included


def measure(spinning, during=lambda run: None, q=Q, priority="normal"):
    """The result, the samples, and the p99 of the times that the server says."""
    with serving("--service", f"exponential:{MEAN_NS}ns", "--workers", 64) as it:
        os.sched_setaffinity(it.process.pid, {SERVER})
        os.sched_setscheduler(it.process.pid, os.SCHED_FIFO, os.sched_param(10))
        ahead = ["taskset", "-c", CLIENT]
        # One in a session of its own, which nice does not reach where the kernel has autogroups.
        spinners = [hog(CLIENT, SECONDS + 5, "spinner", start_new_session=own)
                    for own in ((False, True) if spinning else ())]
        if not spinning:
            ahead += loading.AHEAD
        got, rows = loading.load_samples(
            f"synthetic://127.0.0.1:{it.port}", "--rate", RATE, "--for", f"{SECONDS}s",
            "--connections", 64, "--percentile", round(100 * q),
            "--priority", priority, ahead=ahead, during=during)
        for spinner in spinners:
            spinner.kill()
    check.equal("requests", len(rows), got["requests"]["completed"])
    rows = loading.counted(got, rows)
    return got, rows, loading.rank([r["server_out_ns"] - r["server_in_ns"] for r in rows], Q)


def not_wrong(got, truth):
    """A result must be n/a, or an interval that holds the truth, whatever the host did."""
    p99 = loading.quantile(got, Q)
    if got["verdict"] == "n/a":
        return
    check.between("p99 of the server", truth, p99["lo_ns"] * (1 - APART),
                  p99["hi_ns"] * (1 + APART))


def naive(rows):
    """The same as a tool reports it that takes requests for independent and hosts for quiet."""
    latencies = sorted(r["done_ns"] - r["intended_ns"] for r in rows)
    middle, half = len(rows) * Q, Z * math.sqrt(len(rows) * Q * (1 - Q))
    return {"verdict": "ok", "latency": {"intended": {"quantiles": [{
        "q": Q, "lo_ns": latencies[int(middle - half)], "hi_ns": latencies[int(middle + half)]}]}}}


def oracle():
    """
    How wide 95 % of that quantile of such runs lie apart: a quantile's variance is q (1 - q) / n over the
    density's square, which is (1 - q) / mean for an exponential law. None waits: there are workers.
    """
    return 2 * Z * MEAN_NS * math.sqrt(QUIET_Q / ((1 - QUIET_Q) * RATE * SECONDS))


@check.environment(DISTURBED)
def spun_beside():
    """And it isn't that requests wait for a connection: there are 60 to spare."""
    got, rows, truth = measure(True)
    check.must_fail("an interval of the p99 as measured", not_wrong, naive(rows), truth)
    not_wrong(got, truth)
    check.true(f"no closed-loop-behaviour in {loading.why(got)}",
               "closed-loop-behaviour" not in loading.reasons(got))
    raised, _, _ = measure(True, priority="realtime")
    check.equal("priority", raised["setup"]["priority"], "realtime")    # as the server's above
    gaps = raised["noise"]["gap_ns"] / got["noise"]["gap_ns"]
    check.between("gaps with real-time priority, of those with normal", gaps, 0, FEWER)
    return (f"p99 {loading.quantile(got, Q)['ns']} ns, of the server {truth} ns: "
            f"{got['verdict']} {sorted(loading.reasons(got))}; real-time priority: {gaps:.2f} of the gaps")


@check.environment(DISTURBED)
def stopped():
    """The client itself is stopped for a while: that isn't the server's either."""
    def during(run):
        time.sleep(3)
        run.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        run.send_signal(signal.SIGCONT)

    got, rows, truth = measure(False, during)
    check.must_fail("an interval of the p99 as measured", not_wrong, naive(rows), truth)
    not_wrong(got, truth)
    check.equal("the host is quiet", loading.gate(got, "host-quiet")["pass"], False)


@check.environment(DISTURBED)
def alone():
    got, rows, _ = measure(False, q=QUIET_Q)
    check.equal("reasons", loading.why(got), [])
    truth = loading.rank([r["server_out_ns"] - r["intended_ns"] for r in rows], QUIET_Q)
    p90 = loading.quantile(got, QUIET_Q)
    check.between("p90 of the truth", truth, p90["lo_ns"] - TRAVEL_NS, p90["hi_ns"])
    width = (p90["hi_ns"] - p90["lo_ns"]) / oracle()
    check.between("width, of the oracle's", width, 0, WIDER)
    return f"p90 {p90}, in truth {truth} ns; {width:.1f} times as wide as the oracle's"


if os.cpu_count() < 2:
    check.skip("needs two CPUs")
check.run([(alone,), (spun_beside,), (stopped,)])
