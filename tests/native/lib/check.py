# SPDX-License-Identifier: Apache-2.0
"""What a test says: what was expected, what was seen, and whether the check itself can fail."""
import functools
import os
import sys

from lib import process


# make long: whatever is shortened elsewhere has its full length.
LONG = bool(os.environ.get("HOSTLAT_LONG"))


class Unexpected(Exception):
    pass


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def equal(what, seen, expected):
    if seen != expected:
        raise Unexpected(f"{what}: expected {expected}, seen {seen}")


def between(what, seen, low, high):
    """Both ends included."""
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


ATTEMPTS = 10
# Of a case that counts: there are kernels that now and then don't run a program and count no miss
# (seen where a supervisor of the sandbox was the task that a softirq came upon). One packet in a
# million is lost so; a program that loses one in a thousand loses one in every attempt.
ATTEMPTS_TO_COUNT = 3
STOLEN = 0.02   # of the CPUs' time


class Disturbed(Unexpected):
    pass


def cpu_ticks():
    """(stolen by the hypervisor, all), of all CPUs since the start of the machine."""
    with open("/proc/stat", encoding="ascii") as f:
        ticks = [int(word) for word in f.readline().split()[1:9]]
    return ticks[7], sum(ticks)


def patiently(case, most=ATTEMPTS, excused=True):
    """
    A case that compares measurements with each other or with a reader's own clock: what else runs
    on this machine may spoil one attempt. A defect spoils all of them; so do others that have the
    CPUs while it is tried, and then it is skipped if that is an excuse: nothing is known.
    """

    @functools.wraps(case)
    def attempts(*args):
        stolen, ticks = cpu_ticks()
        for attempt in range(1, most + 1):
            try:
                return case(*args)
            except Unexpected as e:
                process.end_all()
                if attempt == most:
                    now = cpu_ticks()
                    share = (now[0] - stolen) / max(now[1] - ticks, 1)
                    if share < STOLEN or not excused:
                        raise
                    raise Disturbed(f"the hypervisor gave {share:.0%} of the CPUs' time to others "
                                    f"while it was tried; the last: {e}") from e
                print(f"again {case.__name__}: {e}", flush=True)

    attempts.patient = True
    return attempts


def run(cases):
    """
    Runs every (function, arguments...), even after one failed, and exits. What a function returns
    is the figure behind its "ok". A case that fails is tried again; what was is told.
    """
    passed = failed = skipped = 0
    for case, *args in cases:
        name = " ".join([case.__name__.replace("_", " "), *map(str, args)])
        if not hasattr(case, "patient"):
            case = patiently(case, ATTEMPTS_TO_COUNT, excused=False)
        try:
            figure = case(*args)
            passed += 1
            print(f"ok    {name}" + (f": {figure}" if figure else ""), flush=True)
        except Disturbed as e:
            skipped += 1
            print(f"SKIP: {name}: {e}", flush=True)
        except Unexpected as e:
            failed += 1
            print(f"FAIL  {name}: {e}", flush=True)
        finally:
            process.end_all()
    if skipped:     # tools/check counts cases by this line, where there is one
        print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    sys.exit(1 if failed else 0)
