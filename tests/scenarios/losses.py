# SPDX-License-Identifier: Apache-2.0
"""
Scenarios in which the box drops or holds exactly known packets. A reply behind the last loss makes
sure that the sender has recovered when its plan ends.
"""
from registry import scenario
from waits import waits

SINK = "( 0 some 1048576 )"
BURST = 20          # packets
BURSTS = 24
WARM = 5            # messages of one packet


def stall(run, low_ms, high_ms):
    """How long the sender had no progress, as the box saw it."""
    seen = run.side()["longest_ns"] / 1e6
    run.note(stall_ms=round(seen, 2))
    run.expect("longest time without progress, ms", seen, low_ms, high_ms)


def repairs(run):
    """How long the receiver waited for what the sender had to send again."""
    found = [(end - begin) for begin, end, times in waits(run.log("sent", side=0),
                                                          run.log("came", side=0)) if times > 1]
    run.truth["repairs"] = {"count": len(found), "ns": sum(found),
                            "longest_ns": max(found, default=0)}
    run.note(repair_ms=[round(ns / 1e6, 1) for ns in found])


@scenario
def fast_retransmit(run):
    """Some of 24 bursts of 20 packets each lose one in their middle."""
    gap = max(60, 6 * run.rtt_ms)
    lossy = sorted(run.random.sample(range(4, BURSTS), 5))
    run.two()
    run.trace()
    for burst in lossy:
        run.stage.rule("a", "new", burst * BURST + run.random.randint(4, 12))
    run.open()
    run.serve("b", f"( 0 read {BURST * BURSTS * run.mss} write 1 )")
    run.call("a", "b", f"( {BURSTS} write {BURST * run.mss} every {gap} ) read 1")
    run.go()
    repairs(run)
    run.limit("congestion", run.lossy())
    run.expect("times that something was missing", run.side()["holes"], 5)
    run.note(missing_ms=round(run.side()["lossy_ns"] / 1e6, 2))
    run.expect("for how long, ms", run.side()["lossy_ns"] / 1e6, 5 * 2 * run.rtt_ms - 1,
               5 * 2.5 * run.rtt_ms + 25)
    run.expect("dropped by the box", len(run.log("drop")), 5)
    run.expect("sent again", run.side()["again"], 5)
    run.expect_events("a", TCPSackRecovery=5, TCPFastRetrans=5, RetransSegs=5, TCPTimeouts=0,
                      TCPLossProbes=0, TCPDSACKRecv=0)


def lose(run, settings, first, last, again, rest=""):
    """
    After 5 messages of one packet, data packets first to last and those that are sent again first,
    `again` of them, are lost.
    """
    run.two(settings)
    run.trace()
    run.stage.rule("a", "new", WARM + first, WARM + last)
    if again:
        run.stage.rule("a", "again", 1, again)
    run.open()
    n = last - first + 1
    run.serve("b", f"read {WARM * 1000 + n * run.mss} write 1 drain")
    pause = max(80, 3 * run.rtt_ms)
    run.call("a", "b", f"( {WARM} write 1000 sleep {pause} ) write {n * run.mss} read 1 {rest}")
    run.go()
    repairs(run)
    run.limit("congestion", run.lossy())
    run.expect("dropped by the box", len(run.log("drop")), n + again)


@scenario
def tlp(run):
    """A lone packet is lost: the tail-loss probe brings it, 200 ms late, and no timeout is counted."""
    lose(run, {}, 1, 1, 0)
    run.expect("sent again", run.side()["again"], 1)
    run.expect_events("a", TCPLossProbes=1, TCPTimeouts=0, RetransSegs=1, TCPFastRetrans=0)
    stall(run, 200 + run.rtt_ms, 260 + 4 * run.rtt_ms)


@scenario
def rto_lone(run):
    """A lone packet and the probe for it are lost: a timeout."""
    lose(run, {}, 1, 1, 1)
    run.expect("sent again", run.side()["again"], 2)
    run.expect_events("a", TCPLossProbes=1, TCPTimeouts=1, RetransSegs=2)
    stall(run, 400 + run.rtt_ms, 560 + 8 * run.rtt_ms)


@scenario
def rto_no_probe(run):
    """The same with probes switched off: a timeout 200 ms after."""
    lose(run, {"tcp_early_retrans": "0"}, 1, 1, 0)
    run.expect_events("a", TCPLossProbes=0, TCPTimeouts=1, RetransSegs=1)
    stall(run, 200 + run.rtt_ms, 260 + 4 * run.rtt_ms)


@scenario
def rto_backoff(run):
    """A lone packet is lost four times: a probe, and three timeouts, each waiting twice as long."""
    lose(run, {}, 1, 1, 3)
    run.expect("sent again", run.side()["again"], 4)
    run.expect_events("a", TCPLossProbes=1, TCPTimeouts=3, RetransSegs=4)
    stall(run, 1700, 2300 + 12 * run.rtt_ms)


@scenario
def rto_flight(run):
    """All of a flight of 5 packets, and the probe for it."""
    lose(run, {}, 1, 5, 1)
    run.expect_events("a", TCPLossProbes=1, TCPTimeouts=1)
    stall(run, 200 + run.rtt_ms, 500 + 8 * run.rtt_ms)


@scenario
def spurious(run):
    """A packet of a burst comes long after those behind it: it was sent again for nothing."""
    hold = 1.5 * run.rtt_ms + 10
    run.two()
    run.trace()
    run.stage.rule("a", "new", WARM + 6, action="hold", hold_ms=hold)
    run.open()
    run.serve("b", f"read {WARM * 1000 + BURST * run.mss} write 1 drain")
    pause = max(80, 3 * run.rtt_ms)
    run.call("a", "b", f"( {WARM} write 1000 sleep {pause} ) write {BURST * run.mss} read 1 "
                       f"sleep {3 * run.rtt_ms + hold}", nodelay=True)
    run.go()
    repairs(run)
    run.limit("congestion", run.side()["longest_ns"] / run.span_ns())
    run.expect("dropped by the box", len(run.log("drop")), 0)
    run.expect("held by the box", len(run.log("hold")), 1)
    run.expect("sent again", run.side()["again"], 1)
    run.expect_events("a", TCPDSACKRecv=1, TCPTimeouts=0, RetransSegs=1)


def ack_after_rto(run, prompt):
    """A flight is lost: the timeout sends one segment, and its receiver has answered before."""
    run.two({"tcp_early_retrans": "0"})
    run.trace()
    # The reader is in no hurry to acknowledge after its first 16 packets, and once it has answered.
    run.stage.rule("a", "new", 21, 23)
    run.open()
    if prompt:
        run.stage.hosts["b"].acknowledge_at_once()
    run.serve("b", f"( 20 read 100 write 100 ) read {3 * run.mss} write 1 drain", nodelay=True)
    run.call("a", "b", f"( 20 write 100 read 100 ) sleep 80 write {3 * run.mss} read 1", nodelay=True)
    run.go()
    run.limit("congestion", run.lossy())
    run.expect("dropped by the box", len(run.log("drop")), 3)
    run.expect_events("a", TCPTimeouts=1)
    run.expect_events("b", DelayedACKs=int(not prompt))
    sent = [line["at"] for line in run.log("sent", side=0)]
    first = next(i for i, line in enumerate(run.log("sent", side=0)) if line["kind"] == "again")
    # The acknowledgement makes it send again what else was lost.
    run.truth["delay_ns"] = sent[first + 1] - sent[first] - run.rtt_ms * 1e6
    run.note(took_ms=round(run.span_ns() / 1e6, 1), delay_ms=round(run.truth["delay_ns"] / 1e6, 1))


@scenario
def delayed_ack_after_rto(run):
    """What a timeout sends alone is acknowledged late by an end that answers."""
    ack_after_rto(run, False)


@scenario
def prompt_ack_after_rto(run):
    """The same; the route of the receiving host has `quickack 1`."""
    ack_after_rto(run, True)


def burst_after_idle(run, restart):
    """4 MB, 3 s of silence, 1 MB, through a queue of 64 packets behind a path of 166."""
    rate = 166 * 1500 * 8 / (run.rtt_ms / 1e3) / 1e6
    run.two({"tcp_slow_start_after_idle": restart}, rate_mbit=rate, packets=64)
    run.open()
    run.serve("b", "read 4000000 write 1 read 1000000 write 1 drain")
    run.call("a", "b", "write 4000000 read 1 mark sleep 3000 mark write 1000000 read 1 mark")
    run.go()
    idle_end = run.sent["marks"][1]
    times = [line["at"] - idle_end for line in run.log("drop") if line["at"] >= idle_end]
    first = len([ns for ns in times if ns < run.rtt_ms * 1.5e6])
    run.limit("sender-app", run.sent["slept_ns"] / run.span_ns())
    run.note(drops_of_first_flight=first, drops_of_burst=len(times),
             burst_ms=(run.sent["marks"][2] - idle_end) // 1000000)
    return first


@scenario
def burst_after_idle_kept(run):
    """tcp_slow_start_after_idle=0: the burst is as large as the window was, and the queue drops."""
    drops = burst_after_idle(run, "0")
    if run.cc != "bbr":     # it paces, so that it makes no bursts
        run.expect("packets of its first flight that the queue dropped", drops, 5, 1000)


@scenario
def burst_after_idle_restart(run):
    """tcp_slow_start_after_idle=1: the window starts anew, and its first flight fits."""
    run.expect("packets of its first flight that the queue dropped", burst_after_idle(run, "1"), 0)
