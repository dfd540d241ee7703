# SPDX-License-Identifier: Apache-2.0
"""Proves that `record` stores every receive call, that its reader has the CPU when the call
returns, and which thread had the CPU while the reader waited. Controls: the other core must fail,
and `--with watch` stores neither."""
import os
import subprocess
import sys
import tempfile
import time

from lib import check, netns, trace
from lib.traffic import Traffic, hog, outweigh_others

DISTURBED = "whoever else runs on the reader's CPU is part of the message's history"

GUEST = "guest" in sys.argv     # emulated: fewer of them
N = 300 if GUEST else 2000
BLIND = 0.02    # share of the messages, at most: this kernel now and then runs no program


def recorded(net, family, protocol, options=(), **traffic):
    source = Traffic(net, family, protocol, **traffic)
    observer = trace.Recording(*source.filter, *options)
    own = source.finish()
    time.sleep(0.05)
    return observer.stop(), own, source


def read_when_it_ran(t, messages, reader):
    """Each one's reader had the core on which it was read, at that time."""
    unrecorded = 0
    for m in messages:
        at = t.who(m.pieces[-1].core, m.pieces[-1].end)
        if at is None or at.type == "blind":
            unrecorded += 1
            continue
        check.equal(f"who has the core when message {m.number} is read ({at})",
                    trace.tid(at.what), reader)
    check.between("messages read in the blind", unrecorded, 0, BLIND * len(messages))
    return unrecorded


def whole(m):
    """Its pieces follow each other, from the first byte's arrival to the read."""
    check.equal("where it begins", m.pieces[0].begin, m.first)
    check.true(f"its last byte came with its first, or later: {m}", m.first <= m.last)
    for one, other in zip(m.pieces, m.pieces[1:]):
        check.equal("where the next piece begins", other.begin, one.end)
    check.equal("the last piece", m.pieces[-1].role, trace.APPLICATION)


@check.environment(DISTURBED)
def each_message(net, family, protocol):
    t, own, source = recorded(net, family, protocol, count=N, pattern="exchange", reader_cpu=1,
                              sender_cpu=0)
    # functions alone see UDP's sends, and not every kernel allows them
    seen = protocol == "tcp" or t.sends
    check.equal("exit code", t.code, 0 if seen else 3)
    check.equal("what was lost", sum(t.lost.values()), 0)
    check.equal("messages", len(t.messages), own["received"])
    check.equal("send calls", len(t.sends), own["received"] if seen else 0)
    for m in t.sends:
        check.equal("who sent it", m.tid, source.reader_pid)
        check.equal("what its pieces end at", trace.ends(m)[:3],
                    ["segment", "qdisc", "driver"])
    for m in t.messages:
        whole(m)
        check.equal("who read it", m.tid, source.reader_pid)
        check.equal("where it was read", m.pieces[-1].core, 1)
    unrecorded = read_when_it_ran(t, t.messages, source.reader_pid)
    wrong = [m._replace(pieces=[m.pieces[-1]._replace(core=0)]) for m in t.messages]
    check.must_fail("the other core", read_when_it_ran, t, wrong, source.reader_pid)
    check.true("the reader's system calls are there",
               sum(span.type == "syscall" for span in t.spans) >= N)
    return f"{len(t.messages)} messages, {len(t.spans)} spans, {t.size} bytes, {unrecorded} blind"


def waited(t, messages, reader, others):
    """
    Returns the part of the time from a message's arrival in the socket to its read in which the
    reader did not have the core that it then ran on; and of that, what `others` had of it.
    """
    away = theirs = 0
    for m in messages:
        core, begin, end = m.pieces[-1].core, m.pieces[-1].begin, m.pieces[-1].end
        for span in t.base[core]:
            ns = min(span.end, end) - max(span.begin, begin)
            if ns <= 0 or (span.type == "task" and trace.tid(span.what) == reader):
                continue
            away += ns
            theirs += ns * any(span.what.startswith(f"{name} (") for name in others)
    return away, theirs


@check.environment(DISTURBED)
def who_had_the_cpu(net, family):
    """A hog on the reader's CPU; of the messages that were slow nearly all was the hog's."""
    name = f"hog{os.getpid()}"
    burner = hog(1, 60, name)
    try:
        t, own, source = recorded(net, family, "tcp", count=300, gap_us=2000, reader_cpu=1,
                                  sender_cpu=0, reader_nice=15)
    finally:
        burner.kill()
        burner.wait()
    check.equal("messages", len(t.messages), own["received"])
    slow = [m for m in t.messages if m.pieces[-1].end - m.first > 1_000_000]
    check.true(f"some were slow: {len(slow)}", len(slow) >= 10)
    total = sum(m.pieces[-1].end - m.pieces[-1].begin for m in slow)
    away, theirs = waited(t, slow, source.reader_pid, [name])
    check.between("part of it without the CPU", away / total, 0.95, 1)
    check.between("the hog's part of that", theirs / away, 0.9, 1)
    woken = [w for w in t.wakes if trace.tid(w.task) == source.reader_pid]
    check.true(f"wakings of the reader: {len(woken)}", len(woken) >= len(slow) / 2)
    return f"{len(slow)} of {len(t.messages)} slow, {theirs / away:.1%} of it the hog's"


@check.environment(DISTURBED)
def how_it_left(net, family):
    """A reader that sleeps by itself before each read: it left asleep, in nanosleep."""
    t, _, source = recorded(net, family, "tcp", count=50, delay_us=5000)
    slept = [span for span in t.spans if span.type == "task" and span.left == 2 and
             trace.tid(span.what) == source.reader_pid]
    # Where a gap in the recording ends in the reader, its way back was in the gap.
    hidden = sum(gap.type == "blind" and trace.tid(span.what) == source.reader_pid
                 for spans in t.base.values() for gap, span in zip(spans, spans[1:]))
    check.true(f"it came back from sleep {len(slept)} times, {hidden} unrecorded",
               len(slept) >= 45 and len(slept) + hidden >= 50)
    # clock_nanosleep, goes on where the task does
    calls = [span for span in t.spans if span.type == "syscall" and span.what == "230" and
             span.resumed]
    check.true(f"in nanosleep {len(calls)} times", len(calls) >= 45)


@check.environment(DISTURBED)
def only_of_one(net, family):
    """--pid: system calls of others are not there, their time on the CPUs is."""
    source = Traffic(net, family, "tcp", count=500, pattern="exchange", reader_cpu=1, sender_cpu=0)
    observer = trace.Recording("--pid", source.reader_pid)
    own = source.finish()
    t = observer.stop()
    check.equal("messages", len(t.messages), own["received"])
    calls = [t.who(span.core, span.begin) for span in t.spans if span.type == "syscall"]
    known = [task for task in calls if task and task.type != "blind"]
    check.between("calls of which it is known whose they are", len(known), 0.95 * len(calls), len(calls))
    check.equal("whose calls", {trace.tid(task.what) for task in known}, {source.reader_pid})
    tasks = {trace.tid(span.what) for span in t.spans if span.type == "task"}
    check.true(f"others had a CPU: {len(tasks)}", len(tasks) > 3)


def not_asked(net, family):
    """Control: with --with watch neither is there."""
    t, own, _ = recorded(net, family, "tcp", ("--with", "watch"), count=100)
    check.equal("messages", len(t.messages), 0)
    check.equal("spans", len(t.spans), 0)
    check.equal("received all the same", own["received"], 100)


def refused():
    """Options that a recorded part cannot support are bad usage, reported before anything is
    loaded."""
    for options in (["--sample", "1/2"], ["--max-overhead", "5%"], ["--min-queue", "2"],
                    ["--stages", "link"]):
        for whole, code in (([], 1), (["--with", "watch"], 0)):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [trace.HOSTLAT, "record", "-o", os.path.join(folder, "file"), "--for", "10ms",
                     *options, *whole], capture_output=True, text=True, check=False, timeout=120)
            check.equal(f"exit code of {options} {whole} ({done.stderr})", done.returncode, code)
            check.true(f"--with is named: {done.stderr}", not code or "--with" in done.stderr)


def size_limit(net, family):
    """It ends the recording, which can be read up to there."""
    t, _, _ = recorded(net, family, "tcp", ("--size-limit", "128K"), count=N, pattern="exchange")
    check.between("bytes", t.size, 16 << 10, 128 << 10)
    check.equal("exit code", t.code, 0)
    check.equal("exit code of who reads it", t.watched, 0)
    check.true("what is there can be read", t.spans and t.messages)


outweigh_others()
nets = netns.every()
if GUEST:
    check.run([(each_message, *nets[2], "tcp"), (each_message, *nets[3], "udp"),
               (only_of_one, *nets[2])])
    sys.exit()
check.run(
    [(each_message, *nets[0], "tcp"), (each_message, *nets[2], "tcp"),
     (each_message, *nets[3], "udp"), (who_had_the_cpu, *nets[2]), (how_it_left, *nets[0]),
     (only_of_one, *nets[2]), (not_asked, *nets[0]), (size_limit, *nets[0]),
     (refused,)])
