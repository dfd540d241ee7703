# SPDX-License-Identifier: Apache-2.0
"""Proves that a reader that comes D late moves `read` to D's bucket, and no stage before it.
Control: a reader later by a fifth must fail."""
from concurrent.futures import ThreadPoolExecutor

from lib import check, netns, watch
from lib.traffic import Traffic

SLACK_NS = 30_000        # from the sender's stamp to `link`, and from `read` to the reader's stamp
EARLY_LIMIT_NS = 100_000 # limit for `enqueued`, also with the cold caches of a busy machine
# Messages by how late their reader comes, us; odd, so that there is one in the middle.
COUNTS = {0: 101, 1000: 101, 10_000: 101, 100_000: 11}


def row_of(result, stage, protocol, port):
    rows = [r for r in result.rows(stage, protocol) if r["group"]["port"] == port]
    check.equal(f"rows of {stage} {protocol} at port {port}", len(rows), 1)
    return rows[0]


def where(result, own, protocol):
    read = watch.quantile(row_of(result, "read", protocol, own["port"]), 0.5)
    check.between("the reader's own median latency, against the bucket of `read`",
                  own["latency"]["p50_ns"], read["lo_ns"], read["hi_ns"] + SLACK_NS)
    enqueued = watch.quantile(row_of(result, "enqueued", protocol, own["port"]), 0.5)
    check.between("median of `enqueued`", enqueued["ns"], 1, EARLY_LIMIT_NS)


def late(net, family, protocol, wait):
    """Readers that come that late, all at the same time, for they sleep; a group of rows for each."""
    readers = [Traffic(net, family, protocol, wait=wait, delay_us=delay_us, count=count)
               for delay_us, count in COUNTS.items()]
    observer = watch.Watch("--netns", net.reader, "--by", "port")
    with ThreadPoolExecutor() as pool:
        seen = list(pool.map(Traffic.finish, readers))
    result = observer.stop()
    for own, (delay_us, count) in zip(seen, COUNTS.items()):
        read = row_of(result, "read", protocol, own["port"])
        check.equal(f"packets at read, {delay_us} us late", read["count"], count)
        where(result, own, protocol)
        if delay_us:
            wrong = {**own, "latency": {"p50_ns": own["latency"]["p50_ns"] * 6 // 5}}
            check.must_fail("a reader later by a fifth", where, result, wrong, protocol)
    result.sound()
    return ", ".join(f"{own['latency']['p50_ns'] / 1e3:.0f} us" for own in seen)


# `recv` is late because it does something else, `poll` although it was woken.
check.run(
    (late, *where, protocol, wait)
    for where in netns.two()
    for protocol in ("tcp", "udp")
    for wait in ("recv", "poll")
)
