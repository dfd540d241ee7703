# SPDX-License-Identifier: Apache-2.0
"""Proves that the steps before the stack (interrupts, polls, GRO and the backlog) agree with the
kernel's counters, and that a delay lands in its own step. A count that lacks one packet must fail.
Traffic runs over a veth pair with GRO, which then has a NAPI of its own. In a guest ("guest"), also
over virtio network cards, which have interrupts."""
import contextlib
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time

from lib import check, netns, watch
from lib.tracer import Tracer
from lib.traffic import Delay

DISTURBED = "how long GRO and a softirq wait depends on when the CPU is free"

PORT = 7707
SEGMENT = 1448
MS = 1000000


def run_in(name, *command):
    done = subprocess.run(["ip", "netns", "exec", name, *map(str, command)], check=False,
                          capture_output=True, text=True)
    check.equal(f"{' '.join(map(str, command))}: {done.stderr}", done.returncode, 0)
    return done.stdout


def setting(name, path, value):
    run_in(name, "sh", "-c", f"echo {value} > /sys/class/net/{path}")


class Pair:
    """A sender that leaves segments as they are, and a reader whose GRO merges them."""

    def __init__(self):
        net = netns.veth()
        self.net, self.reader, self.sender = net, net.reader, net.sender
        self.address = net.address(4)
        run_in(self.sender, "ethtool", "-K", "sender0", "tso", "off", "gso", "off")
        run_in(self.reader, "ethtool", "-K", "reader0", "gro", "on")
        self.listen()

    def listen(self):
        with netns.inside(self.reader):
            self.listener = socket.create_server((self.address, 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.listener.accept()
                threading.Thread(target=self.drain, args=(peer,), daemon=True).start()

    @staticmethod
    def drain(peer):
        with contextlib.suppress(OSError), peer:
            while peer.recv(1 << 20):
                pass

    def connect(self):
        with netns.inside(self.sender):
            return socket.create_connection(self.listener.getsockname())

    def bulk(self, megabytes):
        with self.connect() as s:
            for _ in range(megabytes * 16):
                s.sendall(bytes(65536))
            s.shutdown(socket.SHUT_WR)
            s.recv(1)

    def singly(self, megabytes):
        """As much, but one segment at a time: GRO has nothing to merge it with."""
        with self.connect() as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(megabytes * (1 << 20) // SEGMENT):
                s.sendall(bytes(SEGMENT))
            s.shutdown(socket.SHUT_WR)
            s.recv(1)

    def unpushed(self, n, pause):
        """Segments without PSH, at which GRO would let go."""
        with self.connect() as s:
            time.sleep(pause)
            for _ in range(n):
                s.send(bytes(SEGMENT), socket.MSG_MORE)
                time.sleep(pause)

    def given(self):
        """By veth's own counter: packets that its NAPI has received."""
        text = run_in(self.reader, "ethtool", "-S", "reader0")
        return int(re.search(r"rx_queue_0_xdp_packets: (\d+)", text).group(1))

    def close(self):
        self.listener.close()


class Cards(Pair):
    """Two virtio cards on one hub, one in each namespace; the reader's keeps GRO."""

    made = None

    def __init__(self):
        self.address = "10.77.0.1"
        if Cards.made: # an attempt before has moved them
            self.reader, self.sender = Cards.made
            run_in(self.reader, "ethtool", "-K", "reader0", "gro", "on")
            for name in "napi_defer_hard_irqs", "gro_flush_timeout":
                setting(self.reader, f"reader0/{name}", 0)
            self.listen()
            return
        self.reader, self.sender = netns.loopback().reader, netns.loopback().reader
        for host, (name, link) in enumerate([(self.reader, "reader0"), (self.sender, "sender0")], 1):
            mac = f"52:54:00:00:00:0{host}"
            (card,) = [n for n in os.listdir("/sys/class/net") if mac in
                       open(f"/sys/class/net/{n}/address", encoding="ascii").read()]
            netns.ip("link", "set", card, "down")
            netns.ip("link", "set", card, "name", link)
            netns.ip("link", "set", link, "netns", name)
            netns.ip("-n", name, "addr", "add", f"10.77.0.{host}/24", "dev", link)
            netns.ip("-n", name, "link", "set", link, "up")
        time.sleep(1)
        Cards.made = self.reader, self.sender
        self.listen()


def device(result, prefix="reader0"):
    """The sums over the receive queues of one interface."""
    rows = [q for q in result.document["receive_queues"]
            if q["of"] == "device" and (q["interface"] or "").startswith(prefix)]
    names = "polls", "work", "received", "merged", "passed"
    return {name: sum(q[name] for q in rows) for name in names}


def held(result, part):
    return sum(row["count"] for row in result.document["before_link"] if row["part"] == part)


def held_row(result, part):
    rows = [row for row in result.document["before_link"] if row["part"] == part]
    check.equal(f"rows of {part}", len(rows), 1)
    return rows[0]


def polls_add_up(result, polls):
    """
    Each poll is measured, or excluded with a reason; but for those of others on this machine while
    the last snapshot was taken, which reads one counter after the other.
    """
    reasons = "behind-another", "no-raise", "busy-poll", "threaded-napi"
    reported = result.count("poll", "any") + sum(result.excluded(r) for r in reasons)
    check.between(f"polls ({result.brief()})", polls, reported - 8, reported + 8)
    check.between("polls at all", polls, 100, 1 << 40)


def softnet():
    """{CPU: (processed, dropped, squeezed)} by the kernel."""
    with open("/proc/net/softnet_stat", encoding="ascii") as f:
        lines = [[int(word, 16) for word in line.split()] for line in f]
    return {line[12]: line[:3] for line in lines}


def counted_within(least, most):
    """Returns a check of counts: at least `least`, the run's; at most `most`, with packets before and
    after that hostlat may have seen."""
    def of(what, seen):
        if seen > most:
            check.equal(what, seen, most)
        elif seen < least:
            check.counted(what, seen, least)
    return of


@check.busy
def merging():
    """GRO merges a bulk transfer. Counted as by veth, the tracer and the kernel."""
    pair, tracer = Pair(), Tracer()
    tracer.event("napi/napi_poll", 'dev_name == "reader0"')
    tracer.clear()
    outer, outer_given = softnet(), pair.given()
    observer = watch.Watch("--stages", "arrival", "--netns", pair.reader, "--ifname", "reader0")
    polls = tracer.calls("napi_poll:")
    given, inner = pair.given(), softnet()
    pair.bulk(32)
    time.sleep(0.2)
    given, after = pair.given() - given, softnet()
    polls = tracer.calls("napi_poll:") - polls
    result = observer.stop()
    last, outer_given, outer_polls = softnet(), pair.given() - outer_given, tracer.calls("napi_poll:")
    tracer.end()
    pair.close()
    counts = device(result)
    # The namespace itself may send a packet while hostlat starts or ends.
    of = counted_within(given, outer_given)
    of("packets given to GRO", counts["received"])
    check.must_fail("a packet less", of, "", given - 1)
    of("packets that polls received", counts["work"])
    of("packets from GRO, merged or not", counts["merged"] + counts["passed"])
    counted_within(polls, outer_polls)("polls, by the tracer", counts["polls"])
    check.counted("packets at link", held(result, "gro"), counts["passed"])
    ratio = counts["received"] / counts["passed"]
    check.between("GRO ratio", ratio, 4, 65)
    for row in result.document["softnet"]:
        cpu = row["cpu"]
        check.between(f"processed by CPU {cpu}", row["processed"],
                      after[cpu][0] - inner[cpu][0], last[cpu][0] - outer[cpu][0])
    check.between("processed, all CPUs", sum(r["processed"] for r in result.document["softnet"]),
                  counts["passed"], 1 << 40)
    check.equal("losses", result.document["losses"], [])
    return f"{given} packets, {polls} polls, ratio {ratio:.1f}"


@check.busy
def anomaly():
    """
    GRO stops merging: as many bytes, but many times the packets for the stack, on the same CPU and
    queue. It is in the intervals' ratio, and in the CPU's counter.
    """
    pair = Pair()
    observer = watch.Watch("--stages", "arrival", "--netns", pair.reader, "--ifname", "reader0",
                           lines=True)
    pair.bulk(16)
    time.sleep(3.1)     # two more intervals than it takes
    usual = observer_total(observer)
    observer = watch.Watch("--stages", "arrival", "--netns", pair.reader, "--ifname", "reader0",
                           lines=True)
    pair.singly(16)
    time.sleep(3.1)     # two more intervals than it takes
    strange = observer_total(observer)
    pair.close()
    check.between("ratio as usual", usual["received"] / usual["passed"], 4, 65)
    check.between("ratio, one by one, against that as usual", strange["received"] /
                  strange["passed"] * usual["passed"] / usual["received"], 0, 0.25)
    check.between("packets for the stack, against those as usual",
                  strange["passed"] / usual["passed"], 4, 65)
    check.between("packets given to GRO, against those as usual",
                  strange["received"] / usual["received"], 0.9, 1.5)
    return f"{usual} to {strange}"


def observer_total(observer):
    """The intervals of a run, added up."""
    sums = {}
    for result in observer.stop()[:-1]:
        for name, n in device(result).items():
            sums[name] = sums.get(name, 0) + n
    return sums


@check.environment(DISTURBED)
def hold(timeout_ms):
    """gro_flush_timeout makes GRO hold what it could still merge: in `gro`, and in no step."""
    pair = Pair()
    setting(pair.reader, "reader0/gro_flush_timeout", timeout_ms * MS)
    setting(pair.reader, "reader0/napi_defer_hard_irqs", 2 if timeout_ms else 0)
    observer = watch.Watch("--stages", "arrival,transport,enqueued,runnable,running,read",
                           "--netns", pair.reader, "--ifname", "reader0")
    pair.unpushed(40, 0.03)
    result = observer.stop()
    pair.close()
    half = watch.quantile(held_row(result, "gro"), 0.5)
    median = half["ns"]
    if timeout_ms:
        check.between("GRO's hold, p50", half["hi_ns"], timeout_ms * MS, 1.5 * timeout_ms * MS)
    else:
        check.between("GRO's hold without the timeout, p50", median, 1, 1 * MS)
    for stage in "transport", "enqueued":
        step = watch.quantile(result.row(stage, "tcp")["step"], 0.5)["ns"]
        check.between(f"step of {stage}, p50", step, 1, 1 * MS)
    check.between("packets at poll", result.count("poll", "any"), 40, 1 << 20)
    check.between("poll, p50", watch.quantile(result.row("poll", "any"), 0.5)["ns"], 1, 1 * MS)
    return f"{median} ns"


@check.environment(DISTURBED)
def delayed(spin_us):
    """A delay between the raise and the softirq is in `poll`, and in what waited for it."""
    net = netns.loopback()
    with netns.inside(net.reader):
        reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        reader.bind(("127.0.0.1", PORT))
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    class Ours:
        port, reader_pid = PORT, os.getpid()

    n = 200
    observer = watch.Watch("--stages", "arrival,transport")
    spin = Delay("raise", spin_us * 1000, Ours, net) if spin_us else None
    for _ in range(n):
        sender.sendto(b"x" * 100, ("127.0.0.1", PORT))
        reader.recv(200)
        time.sleep(0.001)
    reported = spin.finish() if spin else {"count": 0}
    result = observer.stop()
    row = result.row("poll", "any")
    above = watch.quantile(row, 0.9)["ns"]
    if spin_us:
        check.between("raises that were delayed", reported["count"], n, 20 * n)
        check.between("poll, p90", above, spin_us * 1000, 3 * spin_us * 1000)
        check.between("backlog, p90", watch.quantile(held_row(result, "backlog"), 0.9)["ns"],
                      spin_us * 1000, 4 * spin_us * 1000)
    else:
        check.between("poll without a delay, p90", above, 1, 200000)
    check.between("the step of transport, p50",
                  watch.quantile(result.row("transport", "udp")["step"], 0.5)["ns"], 1, 200000)
    check.between("raises without an interrupt", result.excluded("no-interrupt"), n, 1 << 30)
    return f"{above} ns at p90"


@check.busy
def all_polls():
    """Every poll of the machine has its place, and groups add up to the whole."""
    pair = Pair()
    observer = watch.Watch("--stages", "arrival", "--by", "cpu,ifindex,rxq")
    pair.bulk(8)
    result = observer.stop()
    pair.close()
    polls_add_up(result, sum(q["polls"] for q in result.document["receive_queues"]))
    groups = [row["group"] for row in result.rows("poll", "any")]
    names = {group.get("ifindex") for group in groups}
    check.true(f"a group of reader0 in {names}",
               any(str(name).startswith("reader0") for name in names))
    check.true(f"a backlog's polls, of no interface, in {names}", None in names)
    check.equal("queues of veth, which reports none", {group.get("rxq") for group in groups}, {None})
    passed = device(result)["passed"]
    mine = sum(row["count"] for row in result.document["before_link"] if row["part"] == "gro"
               and str(row["group"].get("ifindex")).startswith("reader0"))
    check.equal("packets at link, of reader0's groups", mine, passed)
    check.between("polls behind another", result.excluded("behind-another"), 0, 1 << 30)
    return f"{len(groups)} groups, {result.excluded('behind-another')} polls behind another"


@contextlib.contextmanager
def moved(comm):
    """Moves the kernel's threads of this name from CPU to CPU, some thousand times a second."""
    threads = [int(pid) for pid in os.listdir("/proc")
               if pid.isdigit() and command_of(pid).startswith(comm)]
    check.true(f"threads named {comm}", threads)
    ended, cpus = threading.Event(), sorted(os.sched_getaffinity(0))

    def move():
        at = 0
        while not ended.wait(0.0002):
            at += 1
            for pid in threads:
                os.sched_setaffinity(pid, {cpus[at % len(cpus)]})

    mover = threading.Thread(target=move, daemon=True)
    mover.start()
    try:
        yield
    finally:
        ended.set()
        mover.join()


def command_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def threaded():
    """A thread of the kernel polls, now on this CPU and now on that: nothing is raised, nothing is
    said of when it was asked, and no packet passed a backlog."""
    pair = Pair()
    setting(pair.reader, "reader0/threaded", 1)
    setting(pair.reader, "reader0/napi_defer_hard_irqs", 100)
    setting(pair.reader, "reader0/gro_flush_timeout", MS)
    observer = watch.Watch("--stages", "arrival", "--netns", pair.reader, "--ifname", "reader0")
    with moved("napi/reader0"):
        pair.bulk(8)
        pair.unpushed(200, 0.0005)
        time.sleep(0.5)     # until the polls end that napi_defer_hard_irqs asks for, and GRO's hold
    result = observer.stop()
    pair.close()
    counts = device(result)
    # the two are read one after the other
    check.between("polls by a thread", result.excluded("threaded-napi"), counts["polls"] - 8,
                  counts["polls"] + 8)
    check.between("those", counts["polls"], 10, 1 << 30)
    check.equal("polls that were measured", result.count("poll", "any"), 0)
    check.equal("packets that passed a backlog", held(result, "backlog"), 0)
    check.counted("packets at link", held(result, "gro"), counts["passed"])
    return f"{counts['polls']} polls"


def busy_polled():
    """The reader polls by itself."""
    pair = Pair()
    with netns.inside(pair.reader):
        reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        reader.bind((pair.address, PORT))
    with netns.inside(pair.sender):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    so_busy_poll = 46
    reader.setsockopt(socket.SOL_SOCKET, so_busy_poll, 20000)
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@qq", 0, 50000))
    sender.sendto(b"the first tells the socket its NAPI", (pair.address, PORT))
    reader.recv(100)
    observer = watch.Watch("--stages", "arrival", "--netns", pair.reader, "--ifname", "reader0")
    for _ in range(20):
        with contextlib.suppress(BlockingIOError):
            sender.sendto(b"x", (pair.address, PORT))
            reader.recv(100)
            reader.recv(100)
    result = observer.stop()
    pair.close()
    check.between(f"polls by a task ({result.brief()})", result.excluded("busy-poll"), 20, 1 << 40)
    return f"{result.excluded('busy-poll')} polls"


def steered():
    """RPS hands packets over by a CPU's backlog: they are told apart, also on the same CPU."""
    reported = []
    for cpus in "1", "3", "0":
        pair = Pair()
        setting(pair.reader, "reader0/queues/rx-0/rps_cpus", cpus)
        observer = watch.Watch("--stages", "arrival", "--netns", pair.reader, "--ifname", "reader0")
        pair.bulk(4)
        time.sleep(0.1)
        result = observer.stop()
        pair.close()
        passed = device(result)["passed"]
        check.counted(f"by the backlog, RPS {cpus}", held(result, "backlog"),
                      passed if cpus != "0" else 0)
        check.counted(f"from GRO, RPS {cpus}", held(result, "gro"), 0 if cpus != "0" else passed)
        reported.append(passed)
    return f"{reported} packets"


@check.busy
def of_another_device():
    """A filter by interface leaves out what is of none, and says so."""
    pair, net = Pair(), netns.loopback()
    observer = watch.Watch("--stages", "arrival", "--ifname", "reader0", "--netns", pair.reader)
    with netns.inside(net.reader):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for _ in range(200):
                s.sendto(b"x", ("127.0.0.1", 9))
    result = observer.stop()
    pair.close()
    check.between("polls of no device", result.excluded("device-unknown", stage="poll"), 50,
                  1 << 30)
    check.equal("receive queues", [q for q in result.document["receive_queues"]
                                   if q["of"] != "device"], [])
    return f"{result.excluded('device-unknown', stage='poll')} polls"


def refused():
    for options in (("--pid", "1"), ("--port", "80"), ("--by", "netns"), ("--by", "cpu,port"), ("--sample", "1/8")):
        done = subprocess.run([watch.HOSTLAT, "watch", "--stages", "poll", "--count", "1",
                               *options], check=False, capture_output=True, text=True)
        check.equal(f"exit code with {options}", done.returncode, 1)
        check.true(f"its message about {options}: {done.stderr}", "irq and poll" in done.stderr)


@check.environment("how many packets a poll finds depends on when both ends have a CPU")
def on_cards():
    """
    Interrupt, poll, GRO, `link`: in order, and as many as the card's driver and the kernel say. Then
    GRO is off, and GRO's timeout on.
    """
    pair = Cards()
    observer = watch.Watch("--stages", "arrival,transport", "--netns", pair.reader,
                           "--by", "ifindex,cpu,rxq")
    pair.bulk(4)
    result = observer.stop()
    counts = device(result)
    check.counted("packets given to GRO", counts["received"], counts["work"])
    check.counted("packets at link", held(result, "gro"), counts["passed"])
    check.between("GRO ratio", counts["received"] / counts["passed"], 1.5, 65)
    rxqs = {q["rxq"] for q in result.document["receive_queues"] if q["of"] == "device"}
    check.between("interrupts, whose device isn't known", result.excluded("device-unknown", stage="irq"),
                  10, 1 << 30)
    observer = watch.Watch("--stages", "arrival,transport")
    pair.bulk(4)
    result = observer.stop()
    irq, poll = result.row("irq", "any"), result.row("poll", "any")
    reported = []
    for name, row in ("irq", irq), ("poll", poll), ("gro", held_row(result, "gro")):
        median = watch.quantile(row, 0.5)["ns"]
        reported.append(f"{name} {row['count']} x {median} ns")
        check.between(f"p50 of {name}", median, 100, 100 * MS)
    check.between("interrupts, by polls", irq["count"], 10, 2 * poll["count"] + 100)
    check.true(f"irq is before poll: {reported}", watch.quantile(irq, 0.5)["ns"] <=
               watch.quantile(poll, 0.5)["ns"])
    check.between("sum of poll's step, which begins where irq ends", poll["step"]["sum_ns"], 1,
                  poll["sum_ns"])
    polls_add_up(result, sum(q["polls"] for q in result.document["receive_queues"]))

    run_in(pair.reader, "ethtool", "-K", "reader0", "gro", "off")
    observer = watch.Watch("--stages", "arrival", "--netns", pair.reader)
    pair.bulk(4)
    strange = device(observer.stop())
    check.equal("merged without GRO", strange["merged"], 0)
    check.between("packets for the stack, against those with GRO",
                  strange["passed"] / counts["passed"], 1.5, 65)
    run_in(pair.reader, "ethtool", "-K", "reader0", "gro", "on")

    timeout = 40 * MS
    setting(pair.reader, "reader0/napi_defer_hard_irqs", 2)
    setting(pair.reader, "reader0/gro_flush_timeout", timeout)
    observer = watch.Watch("--stages", "arrival,transport,enqueued", "--netns", pair.reader)
    pair.unpushed(20, 0.1)
    result = observer.stop()
    hold_row = held_row(result, "gro")
    check.between("GRO's hold, p50", watch.quantile(hold_row, 0.5)["hi_ns"], timeout, 2 * timeout)
    check.between("step of enqueued, p50",
                  watch.quantile(result.row("enqueued", "tcp")["step"], 0.5)["ns"], 1, 10 * MS)
    check.between("poll, p50", watch.quantile(result.row("poll", "any"), 0.5)["ns"], 1, 20 * MS)
    pair.close()
    return f"{', '.join(reported)}; queues {rxqs}, ratio {counts['received'] / counts['passed']:.1f}; " \
           f"{strange}; hold {watch.quantile(hold_row, 0.5)['ns']} ns"


def main():
    if "guest" in sys.argv:
        check.run([(on_cards,)])
    cases = [(merging,), (anomaly,), (hold, 8), (hold, 0), (delayed, 400), (delayed, 0),
             (all_polls,), (threaded,), (busy_polled,), (steered,), (of_another_device,),
             (refused,)]
    check.run(cases)


main()
