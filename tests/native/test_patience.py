# SPDX-License-Identifier: Apache-2.0
"""Proves that only cases that declare why are tried again, twice at most; a case that always fails
fails."""
import os
import subprocess
import sys

from lib import check

SCRIPT = """
from lib import check
ticks = {ticks}
check.cpu_ticks = lambda: ticks.pop(0) if len(ticks) > 1 else ticks[0]
tries = iter(range(100))

{declared}
def case():
    check.between("the attempt", next(tries), {first}, 100)

def other():
    pass

check.run([(case,), (other,)])
"""


def ends(declared, first, stolen, code, message):
    """A case that `first` attempts spoil, while `stolen` of 1,000 ticks are others'."""
    script = SCRIPT.format(declared=declared, first=first, ticks=[(0, 0), (stolen, 1000)])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          timeout=120, check=False, cwd=os.path.dirname(os.path.abspath(__file__)))
    lines = done.stdout.splitlines()
    check.equal(f"exit code ({done.stdout}{done.stderr})", done.returncode, code)
    check.equal("cases", [line[:11] for line in lines if not line.startswith("again")], message)


FAILED = ["FAIL  case:", "ok    other"]
SKIPPED = ["SKIP: case:", "ok    other", "1 passed, 0"]

DECLARED = "@check.environment('a reason')"

PASSED = ["ok    case", "ok    other"]

check.run([
    (ends, "", 0, 0, 0, PASSED),
    (ends, "", 1, 0, 1, FAILED),
    (ends, "", 1, 500, 1, FAILED),
    (ends, DECLARED, 2, 500, 0, PASSED),
    (ends, DECLARED, 3, 0, 1, FAILED),
    (ends, DECLARED, 50, 9, 1, FAILED),
    (ends, DECLARED, 50, 10, 0, SKIPPED),
])
