# SPDX-License-Identifier: Apache-2.0
"""A reader that comes D late moves `read` to D's bucket, and nothing before the reader moves."""
from lib import check, netns, watch

SLACK_NS = 30_000        # from the sender's stamp to `link`, and from `read` to the reader's stamp
EARLY_LIMIT_NS = 100_000 # of `enqueued`, also with the cold caches of a busy machine


def where(result, own, protocol):
    read = watch.quantile(result.row("read", protocol), 0.5)
    check.between("the reader's own median latency, against the bucket of `read`",
                  own["latency"]["p50_ns"], read["lo_ns"], read["hi_ns"] + SLACK_NS)
    enqueued = watch.quantile(result.row("enqueued", protocol), 0.5)
    check.between("median of `enqueued`", enqueued["ns"], 1, EARLY_LIMIT_NS)


def late(net, family, protocol, wait, delay_us):
    count = 20 if delay_us > 10_000 else 100
    result, own = watch.around(net, family, protocol, wait=wait, delay_us=delay_us, count=count)
    check.equal("packets at read", result.count("read", protocol), count)
    where(result, own, protocol)
    result.sound()
    if delay_us:
        wrong = {"latency": {"p50_ns": own["latency"]["p50_ns"] * 6 // 5}}
        check.must_fail("a reader later by a fifth", where, result, wrong, protocol)


# `recv` is late because it does something else, `poll` although it was woken.
check.run(
    (late, *where, protocol, wait, delay_us)
    for where in netns.two()
    for protocol in ("tcp", "udp")
    for wait in ("recv", "poll")
    for delay_us in (0, 1000, 10_000, 100_000)
)
