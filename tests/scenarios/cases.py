# SPDX-License-Identifier: Apache-2.0
"""Scenarios in which an end of the connection, or the network's rate, is the limit. The first line
of each says what it is; its length depends on the round trip only where it says so."""
import statistics

from registry import scenario

SINK = "( 0 some 1048576 )"
BULK = "{ 2500 write 262144 }"


def sender_idle(run):
    """The sender's own doing: it never waited in a write, nor for the window."""
    run.limit("sender-app", 1 - run.blocked())
    run.expect("share blocked in writes", run.blocked(), 0, 0.02)
    run.expect("share with a used window", run.window_used(), 0, 0.02)
    run.no_loss()


@scenario
def app_trickle(run):
    """100 bytes every 50 ms."""
    run.two()
    run.open()
    run.serve("b", SINK)
    run.call("a", "b", "{ 2500 write 100 every 50 }")
    run.go()
    sender_idle(run)
    # A writer that is delayed for longer than the pause finds two writes sent as one.
    run.expect("data packets", run.side()["new"], 0.9 * run.sent["writes"], run.sent["writes"])


@scenario
def idle(run):
    """One message, and silence."""
    run.two()
    run.open()
    run.serve("b", SINK)
    run.call("a", "b", "write 100 sleep 2500")
    run.go()
    sender_idle(run)
    run.expect("data packets", run.side()["new"], 1)


@scenario
def request_reply(run):
    """A request of 100 bytes, a reply of 2000, 5 ms to think."""
    run.two()
    run.open()
    run.serve("b", "( 0 read 100 write 2000 )")
    run.call("a", "b", "{ 2500 write 100 read 2000 sleep 5 mark }")
    run.go()
    sender_idle(run)
    run.expect("median turn, ms", statistics.median(run.turns_ms()), run.rtt_ms + 5, run.rtt_ms + 8)
    run.expect_events("b", DelayedACKs=0)


@scenario
def path_50ms(run):
    """As request-reply, over a path of 50 ms: long, and nothing is wrong."""
    run.rtt_ms = run.truth["rtt_ms"] = 50
    request_reply(run)


def send_buffer(run, size):
    """
    With TCP_NODELAY: what Nagle leaves of one write takes the next one in, and Linux asks for room
    in the buffer only where a new packet begins (2 MB were seen in a buffer of 32K).
    """
    run.two()
    run.open()
    run.serve("b", SINK)
    run.call("a", "b", f"{{ 2500 write {size} }}", sndbuf=16384, nodelay=True)
    run.go()
    run.limit("send-buffer", run.blocked())
    run.expect("share blocked in writes", run.blocked(), 0.9, 1)
    # A write of 256K has as much in flight while the receiver's window still grows.
    run.expect("share with a used window", run.window_used(), 0, 0.2)
    run.expect("bytes in flight", run.side()["most"], 10000, size + 2 * 65536)
    run.no_loss()
    run.note(goodput_mbit=round(run.goodput_mbit(), 2))


@scenario
def send_buffer_16k(run):
    """SO_SNDBUF 16K, writes of as much; nothing else is in the way."""
    send_buffer(run, 16384)


@scenario
def send_buffer_256k(run):
    """SO_SNDBUF 16K, writes of 256K."""
    send_buffer(run, 262144)


def at_rate(run, rate_mbit, packets):
    """Bulk through a queue; which share of the time after the start it was never empty."""
    run.two(rate_mbit=rate_mbit, packets=packets)
    run.open()
    run.serve("b", SINK)
    run.call("a", "b", BULK)
    run.go()
    queue = run.box["queues"]["q"]
    busy = queue["busy_ns"] / (queue["at"] - queue["since"])
    run.limit("congestion", busy)
    run.expect("share of the time in which the queue sent", busy, 0.7, 1.0)
    run.expect("share with a used window", run.window_used(), 0, 0.1)
    run.note(goodput_mbit=round(run.goodput_mbit(), 2), longest_queue=queue["longest"])
    return queue


@scenario
def autotuned_bulk(run):
    """100 Mbit/s and a queue as long as the path: bulk as it should be."""
    queue = at_rate(run, 100, max(100, int(run.rtt_ms * 100 / 12)))
    run.note(dropped=queue["dropped"])


@scenario
def bottleneck(run):
    """50 Mbit/s, 200 packets: the queue drops."""
    at_rate(run, 50, 200)


@scenario
def bufferbloat(run):
    """10 Mbit/s, 1000 packets: the queue grows, nothing is lost, no ACK is delayed."""
    queue = at_rate(run, 10, 1000)
    run.expect("dropped by the queue", queue["dropped"], 0)
    run.expect_events("b", DelayedACKs=(0, 1))
    if run.cc != "bbr":
        run.expect("longest queue, packets", queue["longest"], 100, 1000)


@scenario
def ecn(run):
    """20 Mbit/s; the queue marks from 20 packets on, and the ends take marks for what they are."""
    run.two({"tcp_ecn": "1"}, {"tcp_ecn": "1"}, rate_mbit=20, packets=1000, mark=20)
    run.open()
    run.serve("b", SINK)
    run.call("a", "b", BULK)
    run.go()
    queue = run.box["queues"]["q"]
    run.limit("congestion", queue["busy_ns"] / (queue["at"] - queue["since"]))
    run.no_loss()
    if run.cc != "bbr":     # it sends less before the queue is so long
        run.expect("marked packets", queue["marked"], 1, 1 << 30)
        # It counts all that is acknowledged while the receiver repeats that it saw one.
        run.expect("packets that the sender takes for marked", run.sent["kernel"]["delivered_ce"],
                   1, 1 << 30)
        run.expect("longest queue, packets", queue["longest"], 21, 999)


def receiver_window(run, used, zero=(0, 1)):
    # An observer (onerun.py) may take its time before the first byte.
    share, nothing = run.window_used(busy=True), run.window_used(states=["zero"], busy=True)
    run.limit("receiver-window", share)
    run.note(zero_window=round(nothing, 3))
    run.expect("share with a used window", share, *used)
    run.expect("share with a window of zero", nothing, *zero)
    run.expect("dropped by the box", len(run.log("drop")), 0)


@scenario
def small_window(run):
    """SO_RCVBUF 4096 and a reader that reads all the time."""
    run.two()
    run.open()
    run.serve("b", SINK, rcvbuf=4096)
    run.call("a", "b", "{ 2500 write 65536 }")
    run.go()
    receiver_window(run, (0.8, 1), (0, 0.2))


@scenario
def slow_reader(run):
    """A reader that takes 8K every 10 ms from a buffer that doesn't grow."""
    run.two()
    run.open()
    run.serve("b", "( 0 some 8192 sleep 10 )", rcvbuf=65536)
    run.call("a", "b", "{ 3000 write 65536 }")
    run.go()
    receiver_window(run, (0.8, 1))


@scenario
def coarse_reader(run):
    """The same in steps of 64K every 100 ms: after each one the window is open for a while."""
    run.two()
    run.open()
    run.serve("b", "( 0 some 65536 sleep 100 )", rcvbuf=65536)
    run.call("a", "b", "{ 3000 write 65536 }")
    run.go()
    receiver_window(run, (0.4, 1))


@scenario
def stopped_reader(run):
    """A reader that stops for 2 s: the window is zero, and the sender probes it."""
    run.two()
    run.open()
    run.serve("b", "some 65536 sleep 2000 ( 0 some 1048576 )", rcvbuf=131072)
    run.call("a", "b", "{ 2200 write 65536 }")
    run.go()
    receiver_window(run, (0.7, 1), (0.5, 1))
    run.expect_events("a", TCPWinProbe=(1, 10))


@scenario
def never_reading(run):
    """A reader that doesn't read at all; the sender gives up after 3 s."""
    run.two()
    run.open()
    run.serve("b", "sleep 60000")
    run.call("a", "b", "( 0 write 65536 )")
    run.go(cut_s=3)
    receiver_window(run, (0.9, 1), (0.8, 1))
    run.expect("bytes that the reader read", run.got["read"], 0)


@scenario
def lossless_slow_reader(run):
    """100 bytes every 20 ms, a reader that wakes every 100: it looks like delayed ACKs."""
    run.two()
    run.open()
    run.serve("b", "( 0 some 65536 sleep 100 )")
    run.call("a", "b", "{ 2500 write 100 every 20 }")
    run.go()
    run.limit("sender-app", 1 - run.blocked())
    run.expect("share blocked in writes", run.blocked(), 0, 0.02)
    run.expect("share with a used window", run.window_used(), 0, 0.02)
    run.expect("dropped by the box", len(run.log("drop")), 0)
    run.expect_events("a", TCPTimeouts=0)


@scenario
def small_writes(run):
    """100 bytes a millisecond: Nagle makes one packet per round trip of them."""
    run.two()
    run.open()
    run.serve("b", SINK)
    run.call("a", "b", "{ 2500 write 100 every 1 }")
    run.go()
    sender_idle(run)
    side = run.side()
    run.note(writes=run.sent["writes"], packets=side["new"])
    run.expect("data packets", side["new"], 10, 2500 / run.rtt_ms + 250000 / 1448 + 20)


def transactions(run, nodelay):
    """Write, write, read; (how long each one took in ms)."""
    run.two()
    run.open()
    run.serve("b", "( 0 read 200 write 100 )", nodelay=nodelay)
    run.call("a", "b", "mark ( 50 write 100 write 100 read 100 mark )", nodelay=nodelay)
    run.go()
    return run.turns_ms()


@scenario
def delayed_ack_nagle(run):
    """Write, write, read: Nagle holds the second write until the first one's delayed ACK."""
    took = transactions(run, False)
    slow = [ms for ms in took if ms > 2 * run.rtt_ms + 25]
    # Without the delay, Nagle would still cost a round trip.
    run.limit("delayed-ack", sum(ms - 2 * run.rtt_ms for ms in slow) * 1e6 / run.span_ns())
    run.note(harmful=len(slow))
    run.expect("delayed ACKs by b's counter less slow turns",
               run.mib["b"]["DelayedACKs"] - len(slow), -1, 1)
    run.expect("slow turns of 50", len(slow), 25, 50)


@scenario
def delayed_ack_nodelay(run):
    """The same with TCP_NODELAY: no ACK is delayed."""
    took = transactions(run, True)
    run.limit("sender-app", 1 - run.blocked())
    run.expect("median turn, ms", statistics.median(took), run.rtt_ms, run.rtt_ms + 4)
    run.expect_events("b", DelayedACKs=0)


@scenario
def delayed_ack_harmless(run):
    """A message that needs no answer, on a connection that usually answers: nobody waits."""
    run.two()
    run.open()
    run.serve("b", "( 0 read 100 write 100 read 100 )")
    # Nagle would hold the next request if the delayed ACK had not come by then.
    silence = run.rtt_ms + 100
    run.call("a", "b", f"mark ( 20 write 100 read 100 sleep 30 write 100 sleep {silence} mark )")
    run.go()
    sender_idle(run)
    run.note(harmless=run.mib["b"]["DelayedACKs"])
    run.expect("delayed ACKs by b's counter", run.mib["b"]["DelayedACKs"], 18, 21)
    run.expect("median turn, ms", statistics.median(run.turns_ms()),
               2 * run.rtt_ms + 130, 2 * run.rtt_ms + 133)


KERNEL_MS = 40      # ms until Linux's timer fires
TURNS = 18


def peer_timer(run, ms):
    """
    As delayed-ack-nagle, with a peer whose timer takes so long from the first packet on: the box
    holds its pure acknowledgements for what Linux's lacks.
    """
    run.two()
    if ms > KERNEL_MS:
        run.stage.rule("b", "ack", 1, 1 << 20, "hold", hold_ms=ms - KERNEL_MS)
    run.open()
    run.serve("b", "( 0 read 200 write 100 )", late_acks=True)
    run.call("a", "b", f"mark ( {TURNS} write 100 write 100 read 100 mark )")
    run.go()
    slow = [took for took in run.turns_ms() if took > 2 * run.rtt_ms + ms - 5]
    run.limit("delayed-ack", sum(took - 2 * run.rtt_ms for took in slow) * 1e6 / run.span_ns())
    run.note(harmful=len(slow))
    run.expect("slow turns", len(slow), TURNS - 2, TURNS)
    run.expect("delayed ACKs by b's counter less slow turns",
               run.mib["b"]["DelayedACKs"] - len(slow), -1, 1)


@scenario
def peer_timer_40(run):
    """A peer that delays all acknowledgements by 40 ms: Linux, FreeBSD."""
    peer_timer(run, 40)


@scenario
def peer_timer_100(run):
    """By 100 ms: older BSD."""
    peer_timer(run, 100)


@scenario
def peer_timer_200(run):
    """By 200 ms: older Windows."""
    peer_timer(run, 200)


@scenario
def jitter(run):
    """
    Small writes over a path of 50 ms that varies by 30 both ways; each packet is acknowledged at
    once. Nagle holds for as long as the path takes, and that is all.
    """
    run.rtt_ms = run.truth["rtt_ms"] = 20       # the path's ms, at least
    run.two()
    for i in range(1, 400):
        run.stage.rule("a", "new", i, action="hold", hold_ms=run.random.uniform(0, 60))
    run.open()
    run.serve("b", SINK)
    run.call("a", "b", "{ 4000 write 100 every 7 }")
    run.go()
    run.limit("sender-app", 1 - run.blocked())
    run.expect("dropped by the box", len(run.log("drop")), 0)
    run.expect("data packets", run.side()["new"], 40, 100)
    run.expect_events("b", DelayedACKs=(0, 8))
