# SPDX-License-Identifier: Apache-2.0
"""Proves that filters, stages and intervals show the part that was asked for and lose nothing."""
import os

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
        check.counted(what, seen.count(stage, protocol), N)
        check.equal(f"{stage} of what another filter names", unseen.count(stage, protocol), 0)
    seen.sound()
    unseen.sound()


def port_filter(net, other, protocol):
    filtered(net, other, protocol, lambda this, _: this.filter,
             lambda this, that: ("--port", that.port, *this.where))


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
    observers = [watch.Watch("--ifname", "lo", *traffic.filter) for traffic in (this, that)]
    this.finish()
    that.finish()
    seen, unseen = [observer.stop() for observer in observers]
    check.counted("read of what passed lo", seen.count("read", protocol), N)
    check.equal("read of what passed the veth pair", unseen.count("read", protocol), 0)


def some_stages(net, _, protocol):
    result, _ = watch.around(net, 4, protocol, ("--stages", "enqueued,read"), count=N)
    check.equal("stages shown", sorted(set(result.stages(protocol))), ["enqueued", "read"])
    for stage in ("enqueued", "read"):
        check.counted(stage, result.count(stage, protocol), N)
    result.sound()


def steps_tile(stages, net, _, protocol):
    """
    The steps of the stages that were asked for are all of the time: none begins elsewhere. Readers
    wait for what comes, so that none has a datagram before it is announced.
    """
    result, _ = watch.around(net, 4, protocol, ("--stages", stages), count=N, pattern="exchange",
                             gap_us=100)
    rows = {stage: result.rows(stage, protocol) for stage in stages.split(",")}
    origins = [{r["origin"] for r in of_stage} for of_stage in rows.values()]
    check.true(f"one origin for all: {origins}", len(set.union(*origins)) == 1)
    last = sum(r["sum_ns"] for r in rows[stages.split(",")[-1]])
    steps = {stage: sum(r["step"]["sum_ns"] for r in of_stage) for stage, of_stage in rows.items()}
    check.equal(f"sum of the steps {steps}", sum(steps.values()), last)
    result.sound()


def early_readers(net, _, protocol):
    """A reader that spins may have a datagram while it is announced: that takes no time away."""
    result, _ = watch.around(net, 4, protocol, ("--stages", "enqueued,read"), count=10 * N,
                             wait="spin")
    enqueued, read = result.row("enqueued", protocol), result.row("read", protocol)
    steps = enqueued["sum_ns"] + read["step"]["sum_ns"]
    check.true(f"the steps, {steps}, are no less than the whole, {read['sum_ns']}",
               steps >= read["sum_ns"])


def first_and_last(net, other, protocol):
    steps_tile("transport,read", net, other, protocol)


def without_transport(net, other, protocol):
    steps_tile("enqueued,read", net, other, protocol)


def socket_first(net, other, protocol):
    """TCP's `socket` without `transport`: UDP has no such stage, and is not asked."""
    steps_tile("socket,read" if protocol == "tcp" else "read", net, other, protocol)


def every_stage(net, other, protocol):
    steps_tile("transport,socket,enqueued,read" if protocol == "tcp" else
               "transport,enqueued,read", net, other, protocol)


def last_alone(net, other, protocol):
    steps_tile("read", net, other, protocol)


def pid_alone(net, _, protocol):
    """--pid judges at `read`, from what the queue holds."""
    traffic = Traffic(net, 4, protocol, count=N, pattern="exchange")
    observer = watch.Watch("--pid", traffic.reader_pid, "--stages", "transport,read")
    traffic.finish()
    result = observer.stop()
    transport, read = result.row("transport", protocol), result.row("read", protocol)
    check.equal("sum of the steps", transport["step"]["sum_ns"] + read["step"]["sum_ns"],
                read["sum_ns"])


def ends_with_its_process(net, _, protocol):
    """--pid: the run ends when there is nothing more to see; one of this test's own process goes on."""
    traffic = Traffic(net, 4, protocol, count=N)
    observer, other = [watch.Watch("--pid", pid, "--interval", "1h") for pid in (traffic.reader_pid, os.getpid())]
    traffic.finish()
    check.equal(f"exit code without a signal ({observer.stderr})", observer.process.wait(watch.END_LIMIT_S), 0)
    check.true("the other goes on", other.process.poll() is None)
    other.stop()
    result = observer.stop()
    check.true(f"gives the reason: {observer.stderr}", any("has ended" in line for line in observer.stderr))
    check.counted(f"read ({result.brief()})", result.count("read", protocol), N)


def cumulative_intervals(net, other, protocol):
    intervals(net, other, protocol, cumulative=True)


def intervals(net, _, protocol, cumulative=False):
    traffic = Traffic(net, 4, protocol, count=N, gap_us=200)
    options = [*traffic.filter, "--interval", "50ms"]
    options += ["--cumulative"] if cumulative else []
    observer = watch.Watch(*options, lines=True)
    traffic.finish()
    documents = observer.stop()
    check.between("intervals", len(documents), 5, 10_000)
    for stage in ("enqueued", "read"):
        counts = [d.count(stage, protocol) for d in documents]
        if cumulative:
            check.true(f"{stage} never shrinks: {counts}", counts == sorted(counts))
            check.counted(f"{stage} at the end", counts[-1], N)
        else:
            check.equal(f"{stage}, sum of the intervals", sum(counts), N)
            check.true(f"{stage} is spread over intervals: {counts}", max(counts) < N)
    for document in documents:
        document.sound()


SOUND = (port_filter, pid_filter, pid_and_port_filter, netns_filter, ifname_filter, some_stages,
         first_and_last, without_transport, socket_first, every_stage, last_alone, pid_alone,
         ends_with_its_process, intervals, cumulative_intervals)
CASES = (*SOUND, early_readers)
nets = netns.loopback(), netns.loopback()
check.run((case, *nets, protocol) for case in CASES for protocol in ("tcp", "udp"))
