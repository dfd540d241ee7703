# SPDX-License-Identifier: Apache-2.0
"""What the application does to read a packet does not change how often the packet is counted."""
from lib import check, netns, watch

N = 1000


def once(result, protocol, n):
    unsupported = sum(l["count"] for l in result.document["losses"] if l["reason"].startswith("unsupported"))
    for stage in ("link", "enqueued"):
        check.equal(f"packets at {stage}", result.count(stage, protocol), n)
    check.equal(f"packets at read, {unsupported} counted as unsupported included ({result.brief()})",
                result.count("read", protocol) + unsupported, n)
    return unsupported


def reads(net, family, protocol, take):
    result, own = watch.around(net, family, protocol, take=take, count=N, gap_us=20)
    check.equal("bytes that the reader got", own["received_bytes"], 100 * N)
    unsupported = once(result, protocol, N)
    check.equal("exit code", result.code, 3 if unsupported else 0)
    if take != "splice":
        result.sound()
    check.must_fail("a packet counted twice", once, result, protocol, N - 1)


cases = [("peek", "tcp"), ("peek", "udp"), ("chunks", "tcp"), ("splice", "tcp"), ("recv", "tcp"), ("recv", "udp")]
check.run(*[(f"{net.kind} IPv{family} {protocol} {take}", reads, net, family, protocol, take)
            for (net, family) in netns.every()[::3] for take, protocol in cases])
