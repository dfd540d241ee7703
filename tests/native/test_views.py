# SPDX-License-Identifier: Apache-2.0
"""Filters, stages and intervals: what is shown is the part that was asked for, and nothing is lost."""
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
        check.equal(f"{stage} of what the filter names ({seen.brief()})", seen.count(stage, protocol), N)
        check.equal(f"{stage} of what another filter names", unseen.count(stage, protocol), 0)
    seen.sound()
    unseen.sound()


FILTERS = {
    "port": lambda of, _: ("--port", of.port),
    "pid": lambda of, _: ("--pid", of.reader_pid),
    "pid and port": lambda of, _: ("--pid", of.reader_pid, "--port", of.port),
}


def netns_filter(net, other, protocol):
    filtered(net, other, protocol, lambda *_: ("--netns", net.reader), lambda *_: ("--netns", other.reader))


def ifname_filter(net, protocol):
    """Every namespace has a `lo`; the other traffic passes a veth pair."""
    veth = netns.veth()
    this, that = Traffic(net, 4, protocol, count=N), Traffic(veth, 4, protocol, count=N // 2)
    observers = [watch.Watch("--ifname", "lo", "--port", traffic.port) for traffic in (this, that)]
    this.finish()
    that.finish()
    seen, unseen = [observer.stop() for observer in observers]
    check.equal("read of what passed lo", seen.count("read", protocol), N)
    check.equal("read of what passed the veth pair", unseen.count("read", protocol), 0)


def some_stages(net, protocol):
    result, _ = watch.around(net, 4, protocol, ("--stages", "enqueued,read"), count=N)
    check.equal("stages shown", sorted(set(result.stages(protocol))), ["enqueued", "read"])
    for stage in ("enqueued", "read"):
        check.equal(stage, result.count(stage, protocol), N)
    result.sound()


def intervals(net, protocol, cumulative):
    traffic = Traffic(net, 4, protocol, count=N, gap_us=200)
    options = ["--port", traffic.port, "--interval", "50ms", *(["--cumulative"] if cumulative else [])]
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


private, another = netns.loopback(), netns.loopback()
check.run(*[(f"filter by {name}, {protocol}", filtered, private, another, protocol, options,
             lambda this, that, options=options: options(that, this))
            for name, options in FILTERS.items() for protocol in ("tcp", "udp")],
          *[(f"filter by netns, {protocol}", netns_filter, private, another, protocol) for protocol in ("tcp", "udp")],
          *[(f"filter by ifname, {protocol}", ifname_filter, private, protocol) for protocol in ("tcp", "udp")],
          *[(f"--stages, {protocol}", some_stages, private, protocol) for protocol in ("tcp", "udp")],
          *[(f"--json-lines{' --cumulative' if cumulative else ''}, {protocol}", intervals, private, protocol, cumulative)
            for cumulative in (False, True) for protocol in ("tcp", "udp")])
