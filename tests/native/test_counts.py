# SPDX-License-Identifier: Apache-2.0
"""Proves that every payload packet is counted exactly once at every stage: loopback and veth, v4
and v6. Controls: one packet less must fail, and a filter for another socket must count none."""
from lib import check, netns, watch

N = 10000 if check.LONG else 4000
ALWAYS = ["link", "transport", "enqueued", "read"]
WOKEN = ["runnable", "running"]
RUNNING = "reader-already-running"


def counted_once(result, protocol, n):
    for stage in (*ALWAYS, *(["socket"] if protocol == "tcp" else [])):
        what = f"{protocol} packets at {stage} ({result.brief()})"
        check.counted(what, result.count(stage, protocol), n)
    if result.rows("ip", protocol):
        check.counted(f"{protocol} packets at ip", result.count("ip", protocol), n)
    for stage in WOKEN:
        running = result.excluded(RUNNING, protocol=protocol)
        check.counted(f"{protocol} packets at {stage}, {running} with a running reader included "
                      f"({result.brief()})", result.count(stage, protocol) + running, n)
    result.sound()


def requests(net, family, protocol, pattern):
    result, own = watch.around(net, family, protocol, pattern=pattern, count=N)
    check.equal("messages that the reader got", own["received"], N)
    counted_once(result, protocol, N)
    check.must_fail("one packet less", counted_once, result, protocol, N - 1)


def spinning_reader(net, family, protocol):
    """A reader that never sleeps needs no waking: nothing at `runnable`, all accounted for."""
    result, own = watch.around(net, family, protocol, pattern="stream", wait="spin",
                               count=N // 10, reader_cpu=1, sender_cpu=0)
    counted_once(result, protocol, N // 10)
    largest = max(row["max_ns"] for row in result.rows("read", protocol))
    own_ns = own["latency"]["max_ns"]
    check.between("largest latency, by the reader's own stamps", largest, 1, own_ns)
    for stage in WOKEN:
        check.equal(f"{stage} of a spinning reader", result.count(stage, protocol), 0)


def another_port(net, family, protocol):
    """Control: a filter for another socket sees nothing of this traffic."""
    from lib.traffic import Traffic
    traffic = Traffic(net, family, protocol, count=N // 10)
    other = Traffic(net, family, protocol, count=1)
    observer = watch.Watch(*other.filter)
    traffic.finish()
    result = observer.stop()
    other.finish()
    check.equal("packets in rows", sum(r["count"] for r in result.document["stages"]), 0)
    result.sound()


def cases():
    nets = netns.every()
    for net, family in nets:
        for protocol, pattern in (("tcp", "exchange"), ("udp", "stream")):
            yield requests, net, family, protocol, pattern
    for protocol in ("tcp", "udp"):
        yield spinning_reader, *nets[1], protocol
        yield spinning_reader, *nets[2], protocol
        yield another_port, *nets[2], protocol


check.run(cases())
