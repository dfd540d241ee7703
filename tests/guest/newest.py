# SPDX-License-Identifier: Apache-2.0
"""
In the guest: every stage of both directions on a kernel that nobody here has seen yet. Each packet
is measured or, if the CPU was taken away on its way, counted as lost.
"""
from lib import check, netns, watch
from lib.traffic import Traffic

N = 400
# Not `link`: a packet that was lost for want of its entry there is counted further on.
SHOULD = ("ip", "transport", "enqueued", "read")
SENT = ("segment", "qdisc", "driver", "acked")


def bound(result, protocol):
    for stage in ("link", *SHOULD, "runnable", "running",
                  *(("socket", *SENT) if protocol == "tcp" else ())):
        hooks = [b for b in result.document["bindings"]
                 if b["stage"] == stage and b["protocol"] in (protocol, "any")]
        check.true(f"a hook of {stage}: {hooks}", any(b["bound"] for b in hooks))


def whole(result, stage, protocol, direction):
    lost = result.lost(stage=stage, protocol=protocol)
    check.counted(f"packets at {stage} ({result.brief()})",
                  result.count(stage, protocol, direction) + lost, N)
    check.between(f"of them lost at {stage}", lost, 0, N // 50)


@check.environment("an emulated machine may stall for minutes while programs are verified")
def every_stage(net, family, protocol):
    result, own = watch.around(net, family, protocol, ("--stages", "ingress,egress,ip"), count=N,
                               pattern="stream", wait="epoll", gap_us=500, limit=120)
    check.equal("messages that the reader got", own["received"], N)
    bound(result, protocol)
    for stage in (*SHOULD, "socket") if protocol == "tcp" else SHOULD:
        whole(result, stage, protocol, "ingress")
    woken = result.excluded("reader-already-running", protocol=protocol)
    check.counted("packets at running", result.count("running", protocol) + woken +
                  result.lost(stage="running", protocol=protocol), N)
    return f"{woken} of {N} found their reader running"


def sent(net, family):
    """As above, on the sender's side, whose packets have another port."""
    traffic = Traffic(net, family, "tcp", count=N, pattern="stream", gap_us=500, limit=120)
    observer = watch.Watch("--netns", net.sender, "--stages", "egress")
    traffic.finish()
    result = observer.stop()
    for stage in SENT:
        whole(result, stage, "tcp", "egress")


veth, loopback = netns.veth(), netns.loopback()
check.run([(every_stage, veth, 4, "tcp"), (every_stage, loopback, 6, "udp"), (sent, veth, 6)])
