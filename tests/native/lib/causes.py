# SPDX-License-Identifier: Apache-2.0
"""
Compares the true cause of each message's delay, from the injecting server's log (lib/mini.py), with
diagnose's explanation of the same messages.

Only the time of injected causes is judged. What else this machine did meanwhile is in no log: it
counts neither for nor against, as long as it isn't told as a cause that can be injected.
"""
import collections

from lib import check
from lib.intervals import clip, length, minus, union

# Told of a message in which it was not injected, one of these is wrong.
INJECTABLE = ("stopped", "throttled", "lock", "page-fault", "head-of-line", "numa", "io-wait")
NAMELESS = ("stopped", "page-fault")    # the task that ended these may be named, or not
NAMED = ("cpu-wait", "lock", "head-of-line", *NAMELESS)
ERROR = 0.05            # share of the cause's time that may be wrong
# share of the latency; smaller parts are neither required nor counted as wrong
FLOOR = 0.05
FLOOR_NS = 50_000
EXACT = 0.95            # share of findings whose error is at most ERROR
PRECISION = RECALL = CULPRIT = 0.95
COVERAGE_MEDIAN, COVERAGE_MIN = 0.96, 0.8
UNSEEN = 0.2            # share of the delayed messages during which a core may not be recorded
# A gap in the server's own work that only a quota makes, if there is one; and idle time in it for
# which diagnose (from 1 ms) and the naive partition must name the quota.
THROTTLED_NS = 2_000_000

WITHIN_NS = 5_000_000   # between the stretches of a burst
AROUND_NS = 50_000      # ns until a burst's first reading of the clock, and after its last one

Charge = collections.namedtuple("Told", "ns culprits")


def bursts(stretches):
    """Returns the stretches of each burst as one, with the time between them: the hog had the core,
    for all it knows."""
    out = []
    for begin, end in stretches:
        if out and begin - out[-1][1] < WITHIN_NS:
            begin = out.pop()[0]
        out.append((begin - AROUND_NS, end + AROUND_NS))
    return union(out)


class Truth:
    """
    `unrecorded`: times in which the recording lacks a core. `hog`: (tid, stretches) of another
    program on the server's core. `idle`: times of its core, if the server has a quota: long gaps in
    its work are that; but where others took the core meanwhile, diagnose may as well report what it
    waited for. Any other gap may be another program's, or the hypervisor's, which no recording can
    distinguish from the server's own work.
    """

    def __init__(self, log, ids, unrecorded, hog=None, idle=None):
        self.log, self.ids, self.unrecorded = log, ids, unrecorded
        self.usual = {}     # cause: what a message of the reference has of it
        self.culprits = {"stopped": log.ready["client_pid"], "lock": log.ready["holder"],
                         "page-fault": log.ready["pager"], "cpu-wait": hog and hog[0]}
        self.sets = {}      # tid: {cause: its times}; of the earlier ones nothing is in a later one
        for tid in log.ready["tids"]:
            self.sets[tid] = self._sets(tid, hog and hog[1], idle)
        # The most time of a cause that diagnose may report, where that exceeds the injected time.
        self.most = {"cpu-wait": bursts(hog[1]) if hog else []}
        self.idle = idle
        # Work waits, and its core idles: it may not run. Between two requests it notes no gap.
        self.not_running = {tid: union([*sets.get("throttled", []), *(idle or [])])
                            for tid, sets in self.sets.items()}
        self.throttled = {tid: self._idle_gaps(sets.get("throttled", []), idle or [])
                          for tid, sets in self.sets.items()}

    def _of(self, tid, *kinds):
        return union((one.begin, one.end) for one in self.log.injected
                     if one.cause in kinds and one.tid in (tid, 0))

    def _sets(self, tid, hog, idle):
        gaps = self._of(tid, "gap")
        sets = {"stopped": self._of(tid, "stop"), "lock": self._of(tid, "lock"),
                "page-fault": self._of(tid, "fault")}
        if idle is not None:
            sets["throttled"] = [gap for gap in gaps if gap[1] - gap[0] > THROTTLED_NS]
        if hog:
            sets["cpu-wait"] = union(hog)
        before = []
        for cause, times in sets.items():
            sets[cause] = minus(times, before)
            before = union([*before, *times])
        self.gaps = union([*before, *gaps])
        return sets

    @staticmethod
    def _idle_gaps(gaps, idle):
        """Returns the idle time of those gaps in which the core idled for more than
        THROTTLED_NS."""
        found = (clip(idle, *gap) for gap in gaps)
        return union(pair for pairs in found if length(pairs) > THROTTLED_NS for pair in pairs)

    def _held_up(self, tid):
        return union(pair for times in self.sets[tid].values() for pair in times)

    def _behind(self, one, begin, end):
        """Returns (at least, at most, {(conn, seq)}): the ns for which others were served before
        it."""
        least, most, whom = [], [], set()
        for other in self.log.by_tid[one.tid]:
            if other is not one and other.read < end and other.done > begin:
                least.append((other.read, other.end))
                most.append((other.read, other.done))
                whom.add((other.conn, other.seq))
        least, most = (clip(union(found), begin, end) for found in (least, most))
        return length(minus(least, self.gaps)), length(minus(most, self._held_up(one.tid))), whom

    def of(self, one, begin, end):
        """{cause: (at least, at most)} ns of a request that waited from `begin` to `end`."""
        found = {}
        for cause, times in self.sets[one.tid].items():
            least = clip(times, begin, end)
            most = clip(self.most.get(cause, times), begin, end)
            if cause == "throttled":
                most = clip(self.not_running[one.tid], begin, end)
                least = clip(self.throttled[one.tid], begin, end)
            found[cause] = length(least), length(most)
        other_work = minus(self._of(one.tid, "burst", "numa"), union(
            (other.read, other.end) for other in self.log.by_tid[one.tid]))
        if other_work:      # and the server's own, between two requests, that it doesn't note
            served = self.log.by_tid[one.tid]
            between = ((a.done, b.read) for a, b in zip(served, served[1:]))
            found["application"] = (
                length(clip(minus(other_work, self.gaps), begin, end)),
                length(clip(minus(union([*other_work, *between]), self._held_up(one.tid)),
                            begin, end)))
        found["head-of-line"] = self._behind(one, begin, end)[:2]
        return found

    def right(self, one, cause, begin, end, culprits):
        """Returns the part of the named culprits' time for which the name is true; None: n/a."""
        def is_it(c):
            if cause == "head-of-line":
                return self.ids.get(c["message"]) in whom
            if c["tid"] in (None, one.tid) and cause in NAMELESS:   # it was at another message
                return self.ids.get(c["message"]) in whom
            return c["tid"] == self.culprits[cause]

        if cause != "head-of-line" and not self.culprits.get(cause):
            return None
        if not culprits and cause in NAMELESS:
            return None
        whom = self._behind(one, begin, end)[2]
        return (sum(c["ns"] for c in culprits if is_it(c)) /
                max(sum(c["ns"] for c in culprits), 1))


def charge_of(example, cause, only=None):
    """Returns the Told of a cause in an example; `only` limits its time to that culprit's."""
    parts = [part for part in example["parts"] if part["cause"] == cause]
    culprits = [c for part in parts for c in part["culprits"] if only in (None, c["tid"])]
    return Charge(sum(c["ns"] for c in culprits) if only else sum(part["ns"] for part in parts),
                  culprits)


class Score:
    """Counts right, missed and false findings; a finding is a message and one cause of its
    delay."""

    def __init__(self):
        self.found, self.missed, self.false, self.errors, self.culprits = [], [], [], [], []
        self.unknown = 0        # messages that match no request of the log
        self.affected = {}      # message: its coverage
        self.unseen = 0         # delayed messages of which a gap in the recording hides a part

    def judge(self, truth, one, example, granularity):
        begin = example["at_ns"] - example["latency_ns"]
        end = example["at_ns"]
        floor = max(granularity, FLOOR * example["latency_ns"], FLOOR_NS)
        known, charges = truth.of(one, begin, end), {}
        for cause in {*known, *INJECTABLE}:
            only = truth.culprits["cpu-wait"] if cause == "cpu-wait" else None
            charges[cause] = charge_of(example, cause, only), *known.get(cause, (0, 0))
        unseen = any(least > floor and hidden(truth, example, cause, charge, least, granularity)
                     for cause, (charge, least, _) in charges.items())
        self.unseen += unseen
        for cause, (charge, least, most) in charges.items():
            where = f"{cause} of message {example['id']}: {charge.ns}, true {least}..{most}"
            if charge.ns > floor and most <= floor / 2:
                self.false.append(where)
            if least <= floor or (unseen and charge.ns <= most):
                continue
            if charge.ns <= floor / 2:
                self.missed.append(where)
            else:
                self._hit(truth, one, example, (cause, charge, least, most, granularity, where))
            self.affected[example["id"]] = covered(example)

    def _hit(self, truth, one, example, hit):
        cause, charge, least, most, granularity, where = hit
        self.found.append((example["id"], cause))
        # Held up all the same, it was not held up by what is usual.
        error = max(least - truth.usual.get(cause, 0) - charge.ns, charge.ns - most, 0)
        self.errors.append((error / max(granularity, ERROR * least), where))
        right = truth.right(one, cause, example["at_ns"] - example["latency_ns"], example["at_ns"],
                            charge.culprits)
        if right is not None:
            self.culprits.append((right, where))

    def causes(self):
        return {cause for _, cause in self.found}

    def __str__(self):
        exact = sum(error <= 1 for error, _ in self.errors)
        return (f"{len(self.affected)} messages, {len(self.found)} found, {len(self.missed)} "
                f"missed, {len(self.false)} false, {exact} exact, worst error "
                f"{max(self.errors, default=(0,))[0]:.2f} of the bound, {self.unseen} unseen")


def sums(example):
    """Checks that every nanosecond is charged once."""
    check.equal(f"sum of the parts of message {example['id']}",
                sum(part["ns"] for part in example["parts"]), example["latency_ns"])
    known = [part["ns"] for part in example["parts"] if part["cause"] == "expected"]
    check.equal(f"latency less deviation of message {example['id']}",
                example["latency_ns"] - example["deviation_ns"], sum(known))


def hidden(truth, example, cause, charge, least, granularity):
    """Returns true if diagnose reports what a cause lacks as not recorded, and the recording lacks a
    core during the message."""
    begin, end = example["at_ns"] - example["latency_ns"], example["at_ns"]
    room = max(granularity, ERROR * least)
    lacks = least - truth.usual.get(cause, 0) - charge.ns
    return (lacks > room >= lacks - charge_of(example, "blind").ns and
            bool(clip(truth.unrecorded, begin, end)))


def covered(example):
    """Returns the part of the deviation that has a cause."""
    charged = sum(part["ns"] for part in example["parts"]
                  if part["cause"] not in ("expected", "offset", "blind", "unexplained"))
    return charged / max(example["deviation_ns"], 1)


def score(truth, examples, granularity):
    result = Score()
    for example in examples:
        one = truth.log.at(example["tid"], example["at_ns"])
        if one is None:
            result.unknown += 1
            continue
        result.judge(truth, one, example, granularity)
    return result


def ratio(part, rest):
    return len(part) / (len(part) + len(rest)) if part or rest else 1


def agrees(truth, examples, granularity, causes, least):
    """Checks the score; `causes` are those that were injected, each into at least `least`
    messages."""
    for example in examples:
        sums(example)
    s = score(truth, examples, granularity)
    check.between("messages of no request of the log", s.unknown, 0, 0.02 * len(examples))
    check.true(f"precision {ratio(s.found, s.false):.3f}: {s.false[:3]}",
               ratio(s.found, s.false) >= PRECISION)
    check.true(f"recall {ratio(s.found, s.missed):.3f}: {s.missed[:3]}",
               ratio(s.found, s.missed) >= RECALL)
    check.equal("causes that were not found at all", set(causes) - s.causes(), set())
    check.true(f"messages that it delayed: {len(s.affected)} of {len(examples)}",
               len(s.affected) >= least)
    covers = sorted(s.affected.values())
    check.between("of them with a core that was not recorded", s.unseen, 0,
                  UNSEEN * (s.unseen + len(s.affected)))
    if covers:
        check.true(f"coverage: worst {covers[:3]}, median {covers[len(covers) // 2]}",
                   covers[len(covers) // 20] >= COVERAGE_MIN and covers[len(covers) // 2] >= COVERAGE_MEDIAN)
    wrong = sorted(where for error, where in s.errors if error > 1)
    check.true(f"{len(wrong)} of {len(s.errors)} not within the bound: {wrong[:3]}",
               len(wrong) <= (1 - EXACT) * len(s.errors))
    poor = [where for right, where in s.culprits if right < CULPRIT]
    check.true(f"{len(poor)} of {len(s.culprits)} culprits are wrong: {poor[:3]}",
               len(poor) <= (1 - CULPRIT) * len(s.culprits))
    return s


# ---- what must not agree ----

def changed(examples, change):
    """The examples with each part's fields replaced by what `change` makes of it."""
    return [{**example, "parts": [{**part, **change(part)} for part in example["parts"]]}
            for example in examples]


def swapped(examples, one, other):
    names = {one: other, other: one}
    return changed(examples, lambda part: {"cause": names.get(part["cause"], part["cause"])})


def of_others(examples):
    """Each culprit is another one."""
    def other(culprit):
        return {**culprit, "tid": (culprit["tid"] or 0) + 1,
                "message": (culprit["message"] or 0) + 1000}
    return changed(examples, lambda part: {"culprits": [other(c) for c in part["culprits"]]})


def less(examples, cause, share):
    """A share of the cause's time, and of its culprits', is told as expected."""
    def shrink(of):
        return {**of, "ns": int(of["ns"] * (1 - share))}
    out = []
    for example in examples:
        parts = [{**shrink(part), "culprits": [shrink(c) for c in part["culprits"]]}
                 if part["cause"] == cause else part for part in example["parts"]]
        rest = example["latency_ns"] - sum(part["ns"] for part in parts)
        out.append({**example, "parts": [*parts, {"cause": "offset", "ns": rest, "culprits": []}]})
    return out


def refused(truth, examples, granularity, names, least):
    """Controls: checks that no wrong explanation agrees."""
    for name in names:
        for other in ("softirq", "lock" if name != "lock" else "stopped", "blind"):
            check.must_fail(f"{name} as {other}", agrees, truth,
                            swapped(examples, name, other), granularity, names, least)
        check.must_fail(f"too little of {name}", agrees, truth,
                        less(examples, name, 0.4), granularity, names, least)
    named = any(charge_of(example, name).culprits for example in examples
                for name in names if name in NAMED)
    if named:
        check.must_fail("other culprits", agrees, truth, of_others(examples),
                        granularity, names, least)
