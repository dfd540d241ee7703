# SPDX-License-Identifier: Apache-2.0
"""
Where a message's wait went, computed from a recording's spans and wakings in the most direct way:
second by second of the reader, no reference, no precedence beyond what the reader itself was in.
It knows the causes that a test can inject and puts the rest into "other".
"""
import bisect
import collections
import re

from lib import trace
from lib.intervals import clip, length, minus, union

RUNNABLE, STOPPED = 1, 5    # enum task_left
FUTEX, READS, WAITS = "202", ("0", "45", "47"), ("7", "232", "281")     # x86-64
KEPT_NS = 1_000_000         # runnable beside an idle core: for less it is on its way to it


def pid_of(what):
    found = re.search(r"\((\d+)/\d+\)$", what)
    return int(found[1]) if found else 0


def latency_of(m):
    return m.pieces[-1].end - m.first


class Parts:
    """ns of each cause, and of each (cause, culprit); a culprit is a task or a message's number."""

    def __init__(self):
        self.ns = collections.Counter()
        self.whom = collections.Counter()

    def add(self, cause, ns, culprit=None):
        if ns <= 0:
            return
        self.ns[cause] += ns
        if culprit is not None:
            self.whom[cause, culprit] += ns


class Oracle:
    """Explains the messages of one recording independently of diagnose. `kept` is the cause that
    keeps a thread from an idle core for long."""

    def __init__(self, t, delay="core-stall"):
        self.t = t
        self.delay = delay
        self.runs = collections.defaultdict(list)       # tid: its spans at depth 0, on any core
        self.calls = collections.defaultdict(list)      # tid: where its receiving calls begin
        self.nested = collections.defaultdict(list)     # core: interrupts and softirqs
        self.ends = collections.defaultdict(list)       # (core, end): calls and faults that went on
        for span in t.spans:
            self._add(span)
        for spans in self.runs.values():
            spans.sort(key=lambda span: span.begin)
        for core, found in self.nested.items():
            self.nested[core] = {kind: union((s.begin, s.end) for s in found if s.type == kind)
                                 for kind in ("hardirq", "softirq")}
        for span in t.spans:
            if span.type == "syscall" and not span.resumed and span.what in (*READS, *WAITS):
                self.calls[self._tid_at(span.core, span.begin)].append(span.begin)
        self.reads = collections.defaultdict(list)      # tid: (time, message)
        for m in t.messages:
            self.reads[m.tid].append((m.pieces[-1].end, m))
        for delay in (*self.calls.values(), *self.reads.values()):
            delay.sort()
        self.wakes = collections.defaultdict(list)
        for wake in t.wakes:
            self.wakes[trace.tid(wake.task)].append((wake.time, wake.waker))
        for delay in self.wakes.values():
            delay.sort()

        self.by = sorted(t.messages, key=latency_of)
        self.usual = self._reference()

    def _add(self, span):
        if span.type == "task" and not span.depth:
            self.runs[trace.tid(span.what)].append(span)
        elif span.type in ("hardirq", "softirq"):
            self.nested[span.core].append(span)
        elif span.type in ("syscall", "fault") and span.cut:
            self.ends[span.core, span.end].append(span)

    def _tid_at(self, core, ns):
        at = self.t.who(core, ns)
        return trace.tid(at.what) if at else 0

    def _windows(self, tid, begin, end, own):
        """Returns [(begin, end, message)]: the messages that the thread serves between two
        times."""
        reads, calls = self.reads[tid], self.calls[tid]
        first = bisect.bisect_left(reads, begin, key=lambda read: read[0])
        out = []
        for at, m in reads[max(first - 1, 0):]:
            if at >= end:
                break
            i = bisect.bisect_right(calls, at)
            until = min(calls[i] if i < len(calls) else end, end)
            if m.number != own and until > begin:
                out.append((max(at, begin), until, m))
        return out

    def _running(self, parts, span, begin, end, windows):
        """Charges a time in which the thread had the core."""
        left = [(begin, end)]
        nested = self.nested.get(span.core, {})
        for kind, cause in (("hardirq", "interrupt"), ("softirq", "softirq")):
            theirs = nested.get(kind, [])
            parts.add(cause, sum(length(clip(theirs, *pair)) for pair in left))
            left = minus(left, theirs)
        for a, b, m in windows:
            mine = sum(length(clip([pair], a, b)) for pair in left)
            parts.add("head-of-line", mine, m.number)
            left = minus(left, [(a, b)])
        parts.add("application", length(left))

    def _runnable(self, parts, core, since, begin, end):
        """Charges a time in which the thread waited for the core on which it then ran."""
        delay = idle = 0
        spans = self.t.base[core]
        i = max(0, bisect.bisect_right(spans, since, key=lambda span: span.begin) - 1)
        while i < len(spans) and spans[i].begin < end:
            ns = max(0, min(spans[i].end, end) - max(spans[i].begin, begin))
            if spans[i].type == "idle":
                delay += min(spans[i].end, end) - max(spans[i].begin, since)
            if spans[i].type == "task":
                parts.add("cpu-wait", ns, spans[i].what)
            elif spans[i].type == "idle":
                idle += ns
            else:
                parts.add("blind", ns)
            i += 1
        parts.add(self.delay if delay > KEPT_NS else "idle-exit", idle)

    def _asleep(self, parts, before, begin, end, waker):
        """Charges a time in which the thread slept: the innermost call or fault that was cut says
        where."""
        inside = [span for span in self.ends[before.core, before.end]
                  if span.type in ("syscall", "fault")]
        inner = max(inside, key=lambda span: span.depth, default=None)
        if inner is None or inner.type == "fault":
            parts.add("page-fault", end - begin, waker)
        elif inner.what == FUTEX:
            parts.add("lock", end - begin, waker)
        else:
            parts.add("other", end - begin)

    def _away(self, parts, before, after, begin, end):
        """Charges the time between two spans of the thread."""
        wakes = self.wakes[trace.tid(after.what)]
        i = bisect.bisect_right(wakes, after.begin, key=lambda wake: wake[0]) - 1
        woken, waker = wakes[i] if i >= 0 else (0, None)
        if after.left == RUNNABLE:
            woken = before.end
        elif woken < before.end:
            woken = after.begin
        slept = min(max(woken, begin), end)
        if after.left == STOPPED:
            parts.add("stopped", slept - begin, waker)
        elif slept > begin:
            self._asleep(parts, before, begin, slept, waker)
        self._runnable(parts, after.core, max(woken, before.end), slept, end)

    def parts(self, m):
        """The partition of a message's wait, from its first byte's arrival to its read."""
        begin, end = m.first, m.pieces[-1].end
        parts, at, runs = Parts(), begin, self.runs[m.tid]
        windows = self._windows(m.tid, begin, end, m.number)
        i = max(0, bisect.bisect_right(runs, begin, key=lambda span: span.begin) - 1)
        while i < len(runs) and runs[i].begin < end:
            span = runs[i]
            if at < span.begin and i:
                self._away(parts, runs[i - 1], span, at, min(span.begin, end))
            elif at < span.begin:
                parts.add("blind", span.begin - at)
            at = max(at, min(span.begin, end))
            if span.end > at:
                self._running(parts, span, at, min(span.end, end), windows)
                at = min(span.end, end)
            i += 1
        parts.add("blind", end - at)
        return parts

    def _reference(self):
        """Returns each cause's mean time in the middle fifth of the messages."""
        middle = [self.parts(m) for m in self.by[len(self.by) * 2 // 5:len(self.by) * 3 // 5]]
        names = {cause for parts in middle for cause in parts.ns}
        return {name: sum(parts.ns[name] for parts in middle) // len(middle) for name in names}

    def examples(self, n):
        """The slowest n, as `diagnose` gives them: against the reference."""
        return [self._example(m) for m in self.by[-n:]]

    def _example(self, m):
        parts, out = self.parts(m), []
        for cause, ns in parts.ns.items():
            culprits = [self._culprit(whom, theirs) for (of, whom), theirs in parts.whom.items()
                        if of == cause]
            if ns > self.usual.get(cause, 0):
                out.append({"cause": cause, "where": "application", "culprits": culprits,
                            "ns": ns - self.usual.get(cause, 0)})
        middle = self.by[len(self.by) // 2]
        expected = {"cause": "expected", "culprits": [], "ns": latency_of(middle)}
        rest = latency_of(m) - expected["ns"] - sum(part["ns"] for part in out)
        return {"id": m.number, "at_ns": m.pieces[-1].end, "latency_ns": latency_of(m),
                "tid": m.tid, "deviation_ns": latency_of(m) - expected["ns"],
                "parts": [*out, expected, {"cause": "offset", "culprits": [], "ns": rest}]}

    @staticmethod
    def _culprit(whom, ns):
        if isinstance(whom, int):
            return {"pid": None, "tid": None, "comm": None, "message": whom, "ns": ns}
        return {"pid": pid_of(whom), "tid": trace.tid(whom), "message": None, "ns": ns,
                "comm": whom.rsplit(" (", 1)[0]}
