# SPDX-License-Identifier: Apache-2.0
"""Proves that `load` does not omit latency when the server stalls: a server that stalls for a tenth
of each second is asked 1,000 times a second over few and many connections. The reported latency
must agree with each request's own stamps: its planned time, and when its reply left the server.
Control: latency from the actual send, which forgets waits for a connection, fails the same check.

The client spins on a CPU that the server has not: an idle CPU of a virtual machine takes 50 us to
wake, which is latency to who waits for the reply, but not in the server's stamps.
"""
import os

from lib import check, loading, process
from lib.serving import serving

STALL_NS = 100_000_000
MEDIAN_NS, TAIL_SHARE = 30_000, 0.03


def on(cpu):
    return "nice", "-n", "-20", "taskset", "-c", str(cpu)


def agree(got, truth, of):
    for q, allowed in (0.5, MEDIAN_NS), (0.99, TAIL_SHARE * loading.rank(truth, 0.99)):
        seen, real = loading.quantile(got, q, of)["ns"], loading.rank(truth, q)
        check.between(f"p{100 * q:g} from {of} send", seen - real, -allowed, allowed)


@check.environment("the server's stalls are by the clock, and the client can be late itself")
def stalls(connections):
    ours, theirs = sorted(os.sched_getaffinity(0))[:2]
    with serving("--service", "fixed:50us", "--stall", "100ms/1s", ahead=on(theirs)) as it:
        got, rows = loading.load_samples(f"synthetic://127.0.0.1:{it.port}", "--rate", 1000,
                                         "--connections", connections, "--for", "4s",
                                         "--pin", "--spin", ahead=on(ours))
    check.equal("requests", len(rows), got["requests"]["scheduled"])
    truth = [r["server_out_ns"] - r["intended_ns"] for r in loading.counted(got, rows)]
    # A tenth of all wait, most of them for tens of milliseconds.
    check.between("p99 of the truth", loading.rank(truth, 0.99), 0.8 * STALL_NS, 1.5 * STALL_NS)
    agree(got, truth, "intended")
    actual = loading.quantile(got, 0.99, "actual")["ns"]
    if connections < 100:
        check.must_fail("latency from the actual send", agree, got, truth, "actual")
        check.between("p99 from actual send, of the truth", actual / loading.rank(truth, 0.99),
                      0, 0.5)
    figures = [(loading.quantile(got, q)["ns"] - loading.rank(truth, q)) for q in (0.5, 0.99)]
    return (f"p50 {figures[0] / 1e3:+.0f} us, p99 {figures[1] / 1e3:+.0f} us of "
            f"{loading.rank(truth, 0.99) / 1e6:.0f} ms; from actual send {actual / 1e6:.0f} ms")


process.go_first()
check.run([(stalls, connections) for connections in (1, 4, 128)])
