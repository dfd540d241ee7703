# SPDX-License-Identifier: Apache-2.0
"""A million datagrams into a small buffer: each was enqueued or dropped, with the reason."""
from lib import check, netns, watch

N = 1_000_000
FULL = "SOCKET_RCVBUFF"


def accounted(result, sent, received):
    enqueued, dropped = result.count("enqueued", "udp"), result.dropped()
    check.equal(f"enqueued {enqueued} + dropped {dropped} ({result.brief()})", enqueued + dropped, sent)
    check.equal("datagrams at read", result.count("read", "udp"), received)
    check.equal(f"drops with reason {FULL}", result.dropped(FULL), dropped)


def storm(net, family, rcvbuf, overflows):
    result, own = watch.around(net, family, "udp", pattern="storm", count=N, rcvbuf=rcvbuf,
                               reader_cpu=1, sender_cpu=0)
    check.equal("datagrams sent", own["sent"], N)
    accounted(result, N, own["received"])
    check.equal("dropped some", result.dropped() > 0, overflows)
    check.must_fail("one datagram more", accounted, result, N + 1, own["received"])
    result.sound()


nets = netns.every()
check.run(*[(f"{net.kind} IPv{family} small buffer", storm, net, family, 4096, True)
            for net, family in nets[::3]])
