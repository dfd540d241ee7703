# SPDX-License-Identifier: Apache-2.0
"""Proves that each of a million datagrams into a small buffer is counted as enqueued, or as dropped
with its reason. Control: one datagram more must fail."""
from lib import check, netns, watch

N = 1_000_000
FULL = "SOCKET_RCVBUFF"


def accounted(result, sent, received):
    enqueued, dropped = result.count("enqueued", "udp"), result.dropped()
    what = f"enqueued {enqueued} + dropped {dropped} ({result.brief()})"
    check.equal(what, enqueued + dropped, sent)
    check.counted("datagrams at read", result.count("read", "udp"), received)
    check.equal(f"drops with reason {FULL}", result.dropped(FULL), dropped)


def storm(net, family):
    result, own = watch.around(net, family, "udp", pattern="storm", count=N, rcvbuf=4096,
                               reader_cpu=1, sender_cpu=0)
    check.equal("datagrams sent", own["sent"], N)
    accounted(result, N, own["received"])
    check.between("drops", result.dropped(), 1, N)
    check.must_fail("one datagram more", accounted, result, N + 1, own["received"])
    result.sound()
    return f"enqueued {result.count('enqueued', 'udp')}, dropped {result.dropped()}"


check.run((storm, *where) for where in netns.two())
