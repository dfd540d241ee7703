# SPDX-License-Identifier: Apache-2.0
"""What the application does to read a packet does not change how often the packet is counted."""
from lib import check, netns, watch

N = 1000


def once(result, protocol, n):
    losses = result.document["losses"]
    unsupported = sum(l["count"] for l in losses if l["reason"].startswith("unsupported"))
    for stage in ("link", "enqueued"):
        check.equal(f"packets at {stage}", result.count(stage, protocol), n)
    what = f"packets at read, {unsupported} counted as unsupported included ({result.brief()})"
    check.equal(what, result.count("read", protocol) + unsupported, n)
    return unsupported


def reads(net, family, protocol, take):
    result, own = watch.around(net, family, protocol, take=take, count=N, gap_us=20)
    check.equal("bytes that the reader got", own["received_bytes"], 100 * N)
    unsupported = once(result, protocol, N)
    check.equal("exit code", result.code, 3 if unsupported else 0)
    if take != "splice":
        result.sound()
    check.must_fail("a packet counted twice", once, result, protocol, N - 1)


HOW = {"tcp": ("recv", "peek", "chunks", "splice"), "udp": ("recv", "peek")}
check.run(
    (reads, *where, protocol, take)
    for where in netns.two()
    for protocol, takes in HOW.items()
    for take in takes
)
