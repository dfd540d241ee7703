# SPDX-License-Identifier: Apache-2.0
"""Proves that a recording's clock parameters convert readings taken meanwhile: TSC, REALTIME, TAI
and sched_clock become the monotonic time at which they were taken, within the recording's bound,
and most are known. Control: readings that are a millisecond off must fail."""
import os
import signal
import subprocess
import sys
import time

from lib import check, trace

CLOCKS = os.environ.get("CLOCKS", "build/tests/native/clocks")
GUEST = "guest" in sys.argv     # there it is exact
DOMAINS = {"tsc", "realtime", "tai", "sched-clock"}


def run(*args, lines=None):
    return subprocess.run([CLOCKS, *args], input=lines, capture_output=True, text=True, timeout=120,
                          check=True).stdout


def checked(file, lines, off_ns):
    """{domain: (known, unknown, wrong, worst bound)}, and by which way."""
    found, direction = {}, None
    for line in run("check", file, str(off_ns), lines=lines).splitlines():
        words = line.split()
        if words[0] == "way":
            direction = words[1].rstrip(":")
        elif words[0] == "params":
            check.equal("parameters missing, refused", (words[2], words[4]), ("0", "0"))
        else:
            found[words[0]] = tuple(map(int, words[1:]))
    return found, direction


def within(found):
    for domain, (_, _, wrong, _) in found.items():
        check.equal(f"conversions of {domain} out of their bound", wrong, 0)


def recorded(what):
    recording = trace.Recording("--with", what)
    time.sleep(0.2)
    lines = run("read", "2")
    recording.process.send_signal(signal.SIGINT)
    recording.process.communicate(timeout=trace.END_LIMIT_S)
    return recording, lines


@check.environment("the bound of a clock reading grows where the reader is interrupted "
                   "between two clocks")
def converted(what):
    recording, lines = recorded(what)
    found, direction = checked(recording.file, lines, 0)
    check.equal("clocks", set(found), DOMAINS)
    within(found)
    for domain, (known, unknown, _, bound) in found.items():
        check.between(f"readings of {domain} that are not known", unknown, 0, 0.05 * known)
        check.true(f"{domain} has a bound: {bound}", bound > 0 or domain != "sched-clock")
    if GUEST:
        check.equal("way", direction, "exact")
        check.between("worst bound of the TSC", found["tsc"][3], 0, 100000)
    off, _ = checked(recording.file, lines, 1000000)
    check.must_fail("a millisecond off", within, off)
    return f"{direction}: " + ", ".join(f"{d} {k} known, {u} not, to {b} ns"
                                        for d, (k, u, _, b) in sorted(found.items()))


def none_without_traces():
    """A recording of distributions only needs none, and has none."""
    recording, lines = recorded("watch")
    found, direction = checked(recording.file, lines, 0)
    check.equal("way", direction, None)
    check.equal("known", {known for known, _, _, _ in found.values()}, {0})
    return "none"


if GUEST:
    check.run([(converted, "watch,activity")])
    sys.exit()
check.run([(converted, "watch,activity"), (converted, "watch,messages"), (none_without_traces,)])
