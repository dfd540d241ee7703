# SPDX-License-Identifier: Apache-2.0
"""What a test says: what was expected, what was seen, and whether the check itself can fail."""
import functools
import sys

from lib import process


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


def patiently(case):
    """
    A case that compares measurements with each other or with a reader's own clock: what else runs
    on this machine may spoil one attempt. A defect spoils all of them.
    """

    @functools.wraps(case)
    def attempts(*args):
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return case(*args)
            except Unexpected as e:
                process.end_all()
                if attempt == ATTEMPTS:
                    raise
                print(f"again {case.__name__}: {e}", flush=True)

    return attempts


def run(cases):
    """
    Runs every (function, arguments...), even after one failed, and exits. What a function returns
    is the figure behind its "ok".
    """
    failed = 0
    for case, *args in cases:
        name = " ".join([case.__name__.replace("_", " "), *map(str, args)])
        try:
            figure = case(*args)
            print(f"ok    {name}" + (f": {figure}" if figure else ""), flush=True)
        except Unexpected as e:
            failed += 1
            print(f"FAIL  {name}: {e}", flush=True)
        finally:
            process.end_all()
    sys.exit(1 if failed else 0)
