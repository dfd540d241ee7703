# SPDX-License-Identifier: Apache-2.0
"""Filters, stages and intervals: shown is the part that was asked for, and nothing is lost."""
from lib import check, netns, watch
from lib.traffic import Traffic

N = 2000


def filtered(net, other, protocol, matching, foreign):
    """`matching` and `foreign` make watch's options from (this traffic, the other one)."""
    this, that = Traffic(net, 4, protocol, count=N), Traffic(other, 4, protocol, count=N // 2)
    observers = [watch.Watch(*options(this, that)) for options in (matching, foreign)]
    this.finish()
    seen, unseen = [observer.stop() for observer in observers]
    that.finish()
    for stage in ("enqueued", "read"):
        what = f"{stage} of what the filter names ({seen.brief()})"
        check.equal(what, seen.count(stage, protocol), N)
        check.equal(f"{stage} of what another filter names", unseen.count(stage, protocol), 0)
    seen.sound()
    unseen.sound()


def port_filter(net, other, protocol):
    filtered(net, other, protocol, lambda this, _: ("--port", this.port),
             lambda _, that: ("--port", that.port))


def pid_filter(net, other, protocol):
    filtered(net, other, protocol, lambda this, _: ("--pid", this.reader_pid),
             lambda _, that: ("--pid", that.reader_pid))


def pid_and_port_filter(net, other, protocol):
    filtered(net, other, protocol, lambda this, _: ("--pid", this.reader_pid, "--port", this.port),
             lambda this, that: ("--pid", that.reader_pid, "--port", this.port))


def netns_filter(net, other, protocol):
    names = [lambda *_, name=n.reader: ("--netns", name) for n in (net, other)]
    filtered(net, other, protocol, *names)


def ifname_filter(net, _, protocol):
    """Every namespace has a `lo`; the other traffic passes a veth pair."""
    veth = netns.veth()
    this, that = Traffic(net, 4, protocol, count=N), Traffic(veth, 4, protocol, count=N // 2)
    observers = [watch.Watch("--ifname", "lo", "--port", traffic.port) for traffic in (this, that)]
    this.finish()
    that.finish()
    seen, unseen = [observer.stop() for observer in observers]
    check.equal("read of what passed lo", seen.count("read", protocol), N)
    check.equal("read of what passed the veth pair", unseen.count("read", protocol), 0)


def some_stages(net, _, protocol):
    result, _ = watch.around(net, 4, protocol, ("--stages", "enqueued,read"), count=N)
    check.equal("stages shown", sorted(set(result.stages(protocol))), ["enqueued", "read"])
    for stage in ("enqueued", "read"):
        check.equal(stage, result.count(stage, protocol), N)
    result.sound()


def cumulative_intervals(net, other, protocol):
    intervals(net, other, protocol, cumulative=True)


def intervals(net, _, protocol, cumulative=False):
    traffic = Traffic(net, 4, protocol, count=N, gap_us=200)
    options = ["--port", traffic.port, "--interval", "50ms"]
    options += ["--cumulative"] if cumulative else []
    observer = watch.Watch(*options, lines=True)
    traffic.finish()
    documents = observer.stop()
    check.between("intervals", len(documents), 5, 10_000)
    for stage in ("enqueued", "read"):
        counts = [d.count(stage, protocol) for d in documents]
        if cumulative:
            check.true(f"{stage} never shrinks: {counts}", counts == sorted(counts))
            check.equal(f"{stage} at the end", counts[-1], N)
        else:
            check.equal(f"{stage}, sum of the intervals", sum(counts), N)
            check.true(f"{stage} is spread over intervals: {counts}", max(counts) < N)
    for document in documents:
        document.sound()


CASES = (port_filter, pid_filter, pid_and_port_filter, netns_filter, ifname_filter, some_stages,
         intervals, cumulative_intervals)
nets = netns.loopback(), netns.loopback()
check.run((case, *nets, protocol) for case in CASES for protocol in ("tcp", "udp"))
