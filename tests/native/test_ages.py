# SPDX-License-Identifier: Apache-2.0
"""Proves the oldest and the youngest age of a read: of two sends 50 ms apart, read 10 ms later, the
oldest byte is 60 ms old, the youngest 10 ms. Control: with one packet per read both ages are
equal."""
from lib import check, netns, watch

N = 20
SLACK_NS = 50_000


def ages(result, oldest_ns, youngest_ns):
    read = result.row("read", "tcp")
    both = ("oldest", oldest_ns, read), ("youngest", youngest_ns, read["youngest"])
    for name, own, dist in both:
        seen = watch.quantile(dist, 0.5)
        check.between(f"the reader's own median age of the {name} byte, against `read`'s bucket",
                      own, seen["lo_ns"], seen["hi_ns"] + SLACK_NS)


def pairs(net, family):
    result, own = watch.around(net, family, "tcp", pattern="pairs", count=N, apart_us=50_000,
                               delay_us=10_000)
    check.counted("packets enqueued", result.count("enqueued", "tcp"), 2 * N)
    oldest_ns, youngest_ns = own["latency"]["p50_ns"], own["youngest"]["p50_ns"]
    ages(result, oldest_ns, youngest_ns)
    check.between("oldest age by the reader's own stamps", oldest_ns, 60_000_000, 75_000_000)
    check.must_fail("the ages exchanged", ages, result, youngest_ns, oldest_ns)
    result.sound()
    seen = [watch.quantile(d, 0.5)["ns"] for d in (result.row("read", "tcp"),
                                                   result.row("read", "tcp")["youngest"])]
    return f"oldest {seen[0]} ns, youngest {seen[1]} ns"


def alone(net, family):
    """Control: with one packet per read both ages are the same."""
    result, _ = watch.around(net, family, "tcp", wait="poll", delay_us=1000, count=50)
    read = result.row("read", "tcp")
    check.equal("sum of the youngest ages", read["youngest"]["sum_ns"], read["sum_ns"])
    result.sound()


check.run((case, *where) for where in netns.every() for case in (pairs, alone))
