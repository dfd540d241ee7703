# SPDX-License-Identifier: Apache-2.0
"""
In the guest, whose kernel preempts wherever it may: programs of marks are interrupted by runs of
themselves, for other threads of the same CPU. No mark takes anything from another one. The control
has the same programs on a stack per CPU, and must mix them up.
"""
import bisect
import collections
import os

from lib import check, logged, netns, trace

PROGRAM = os.path.abspath(os.environ["MARKED"])
WIDE = os.environ["HOSTLAT_WIDE"]
MARKS = "--mark-begin", f"{PROGRAM}:marked:begin", "--mark-end", "marked:end", "--mark-id"
MANY = 500      # requests that marked.c handles
BUSY = NAPPING = 3
ROUNDS = 4
# runs of the control; chance decides how often it is interrupted at a place that matters
TRIES = 3
MODEL = "/sys/kernel/debug/sched/preempt"
# reasons that do not depend on the marks
UNJOINED = "nothing-received", "several-sockets", "arrival-unknown"
MIXED = "end-without-begin", "begin-without-end", "mark-without-id", "thread-older"


class Server(logged.Server):
    program = PROGRAM


def preempted(server):
    """How often its threads had to leave a CPU."""
    n = 0
    for tid in os.listdir(f"/proc/{server.process.pid}/task"):
        with open(f"/proc/{server.process.pid}/task/{tid}/status", encoding="ascii") as f:
            n += sum(int(line.split()[1]) for line in f if line.startswith("nonvoluntary"))
    return n


def load(server):
    """Threads that fire marks all the time, and some that take the CPU from them to do so."""
    socks = [server.client() for _ in range(BUSY + NAPPING)]
    for _ in range(ROUNDS):
        for i, sock in enumerate(socks):
            sock.settimeout(120)
            sock.sendall(b"l" if i < BUSY else b"t")
        for sock in socks:
            logged.receive(sock, 1)
    return preempted(server)


def recorded(net, hostlat):
    trace.HOSTLAT = hostlat
    server = Server(net, 4)
    observer = trace.Recording("--netns", net.reader, "--boundary", "mark", *MARKS)
    times = load(server)
    log = server.finish()
    return observer.stop(), log, times


def strays(t, log):
    """Messages that are not what their thread's log says: read, then begin, then end."""
    marks = collections.defaultdict(list)
    for line in log:
        if line.kind in ("begin", "end"):
            marks[line.tid].append(line)
    n = 0
    for m in t.messages:
        mine, end = marks[m.tid], m.pieces[-1].end
        i = bisect.bisect(mine, end, key=lambda line: line.before) - 1
        since = mine[i - 2].before if i > 1 else 0
        n += not (i > 0 and mine[i].kind == "end" and end < mine[i].after and
                  since < trace.reached(m, "read") < mine[i - 1].before)
    return n


def reasons(t, names):
    return sum(t.counted(what, name) for what in ("excluded", "losses") for name in names)


def exact(net):
    t, log, times = recorded(net, os.environ["HOSTLAT"])
    ends = sum(line.kind == "end" for line in log)
    check.equal("marks", ends, (BUSY + NAPPING) * ROUNDS * MANY)
    check.true(f"its threads were preempted {times} times", times > ROUNDS * 10)
    check.equal("records that were lost", t.lost["message"], 0)
    check.equal("marks that were mixed up", reasons(t, MIXED), 0)
    check.equal("messages", len(t.messages) + reasons(t, UNJOINED), ends)
    check.equal("messages that are not what the log says", strays(t, log), 0)
    return f"{len(t.messages)} of {ends} marks are messages, preempted {times} times"


def control(net):
    seen = []
    for _ in range(TRIES):
        t, log, _ = recorded(net, WIDE)
        seen.append((reasons(t, MIXED), strays(t, log)))
        if sum(seen[-1]):
            break
    check.true(f"marks that were mixed up, messages that are not right: {seen}", sum(seen[-1]))
    return f"mixed up, not right: {seen}"


with open(MODEL, encoding="ascii") as model:
    check.true(f"{MODEL} is not (full)", "(full)" in model.read())
veth = netns.veth()
check.run([(exact, veth), (control, veth)])
