# SPDX-License-Identifier: Apache-2.0
"""Checks for tests: each failure names the expected and the seen value, and must_fail() proves that
a check can fail."""
import functools
import os
import sys
import traceback

from lib import control, process


# make long: whatever is shortened elsewhere has its full length.
LONG = bool(os.environ.get("HOSTLAT_LONG"))


_missed_before = 0      # by the control, before the case that runs


class Unexpected(Exception):
    pass


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def equal(what, seen, expected):
    if seen != expected:
        raise Unexpected(f"{what}: expected {expected}, seen {seen}")


def between(what, seen, low, high):
    """Fails unless low <= seen <= high."""
    if seen is None or not low <= seen <= high:
        raise Unexpected(f"{what}: expected {low}..{high}, seen {seen}")


def true(what, holds):
    if not holds:
        raise Unexpected(what)


def must_fail(what, check, *args):
    """A negative control: the check has to refuse these values."""
    try:
        check(*args)
    except Unexpected:
        return
    raise Unexpected(f"negative control: the check let {what} pass")


TRIES = 3       # attempts of a case that depends on its environment: the first, and two more
STOLEN = 0.01   # share of the CPUs' time that the hypervisor may take


class Disturbed(Unexpected):
    pass


def cpu_ticks():
    """Returns the clock ticks of all CPUs since the machine started: (stolen by the hypervisor,
    all)."""
    with open("/proc/stat", encoding="ascii") as f:
        ticks = [int(word) for word in f.readline().split()[1:9]]
    return ticks[7], sum(ticks)


def missed_before():
    """Returns how many packets the control had missed when this case began."""
    return _missed_before


def unseen():
    """Returns the packets since this case began that the control proves no tracepoint program has
    seen."""
    return control.counts.missed() - _missed_before


def counted(what, seen, expected):
    """An exact count of packets, less those that no program could see by the control's count."""
    if seen == expected:
        return
    missed = unseen()
    if missed <= 0 or not expected - missed <= seen <= expected:
        raise Unexpected(f"{what}: expected {expected}, seen {seen}; the control missed {missed}")
    print(f"note: {what}: {seen} of {expected}, as {missed} met no tracepoint program", flush=True)


def environment(reason):
    """
    Decorates a case whose outcome something outside of hostlat can spoil: `reason` says what. It
    is tried up to two times again, and tools/check counts that. A defect spoils all tries; so do
    others that have the CPUs meanwhile: then the case is skipped, because nothing is known.
    A case that only counts has no reason; see lib/control.py for what may disturb counting.
    """

    def decorate(case):
        @functools.wraps(case)
        def tries(*args):
            stolen, ticks = cpu_ticks()
            for left in reversed(range(TRIES)):
                try:
                    return case(*args)
                except Exception as e:  # a delay outside of hostlat can raise any kind of exception
                    process.end_all()
                    if left:
                        print(f"again {name_of(case, args)}: {describe(e)} (environment: {reason})",
                              flush=True)
                        continue
                    now = cpu_ticks()
                    share = (now[0] - stolen) / max(now[1] - ticks, 1)
                    if share < STOLEN or isinstance(e, (TypeError, KeyError, AttributeError)):
                        raise
                    raise Disturbed(f"the hypervisor gave {share:.0%} of the CPUs' time to others "
                                    f"while it was tried; the last: {describe(e)}") from e
        return tries
    return decorate


# For programs that may run beside others: the others' work can exceed their time limits.
busy = environment("a server, a client or hostlat may have no CPU for so long that it goes otherwise")


def describe(e):
    """One line; for exceptions that the test does not raise itself, with their place."""
    if isinstance(e, Unexpected):
        return str(e)
    return " ".join("".join(traceback.format_exception(e)[-3:]).split())


def name_of(case, args):
    return " ".join([case.__name__.replace("_", " "), *map(str, args)])


def run(cases):
    """
    Runs every (function, arguments...), even after one failed, and exits. What a function returns
    is the figure behind its "ok".
    """
    global _missed_before
    passed = failed = skipped = 0
    for case, *args in cases:
        name = name_of(case, args)
        _missed_before = control.counts.missed()
        try:
            figure = case(*args)
            passed += 1
            print(f"ok    {name}" + (f": {figure}" if figure else ""), flush=True)
        except Disturbed as e:
            skipped += 1
            print(f"SKIP: {name}: {e}", flush=True)
        except Exception as e:
            failed += 1
            print(f"FAIL  {name}: {describe(e)}", flush=True)
        finally:
            process.end_all()
    if skipped:     # tools/check counts cases by this line, where there is one
        print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    sys.exit(1 if failed else 0)
