# SPDX-License-Identifier: Apache-2.0
"""Proves that `load` gives its reasons for n/a that depend on the latencies themselves: a law that
changes over time, too few requests for an interval, a heavy tail. Each real run is made for its
reason; its control must not give that reason. A law that changes may leave the bounds of that run."""
import math
import time
from concurrent.futures import ThreadPoolExecutor

from lib import check
from lib.loading import load, memcached, only_in, reasons, synthetic
from lib.serving import serving

DISTURBED = "the run's own verdict on stationarity includes what others do to the CPUs"


READS = ("--workload", "read=1,keys=100")


# --- The law over time ---

def waits(seconds_at):
    """A server that takes so long for each request, by the time since its first one."""
    start = []

    def behave(_, c):
        while n := c.requests():
            start.append(time.monotonic())
            time.sleep(seconds_at(start[-1] - start[0]))
            c.answer(n)
    return behave


SECONDS = 5
MS = 0.001
CHANGES = {
    "trend": lambda t: (2 + 8 * t / SECONDS) * MS,
    "shift": lambda t: (2 if t < SECONDS / 2 else 6) * MS,
    "periodic": lambda t: (4 + 2.5 * math.sin(2 * math.pi * t / 0.5)) * MS,
}


GATES = {how: [f"{how}-median", f"{how}-tail"] + ["unit-root"] * (how == "trend") for how in CHANGES}


def moved(how, run):
    """What says that the law of the run changed like this."""
    return [r["code"] for r in run["reasons"] if r["code"] == f"non-stationary-{how}"] + \
           [g["name"] for g in run["gates"] if g["run_only"] and g["name"] in GATES[how]]


def run_of(seconds_at):
    args = "--rate", 150, "--for", f"{SECONDS}s", "--percentile", 90, *READS
    with memcached(waits(seconds_at)) as url:
        return load(url, *args)


LAWS = {**CHANGES, "control": lambda t: 4 * MS}
_runs = {}
_disturbed = set()


def made_and_control(how):
    """
    All laws at the same time, each with a server of its own that sleeps. At full length, and once a
    law's runs were disturbed, they are made anew, one at a time: four at once disturb each other.
    """
    if check.LONG or how in _disturbed:
        return run_of(LAWS[how]), run_of(LAWS["control"])
    if not _runs:
        with ThreadPoolExecutor(len(LAWS)) as pool:
            _runs.update(zip(LAWS, pool.map(run_of, LAWS.values())))
    return _runs[how], _runs["control"]


@check.environment(DISTURBED)
def non_stationary(how):
    made, control = made_and_control(how)
    try:
        check.true(f"a {how}: {moved(how, made)} {reasons(made)}", moved(how, made))
        check.true(f"no {how}: {moved(how, control)} {reasons(control)}", not moved(how, control))
        return ", ".join(moved(how, made))
    except check.Unexpected:
        _disturbed.add(how)
        raise


# --- The interval ---
# What others do to the CPUs comes in fits of tenths of a second, too long for an interval of a short run,
# which is another reason. A service of this mean time is longer than what they add.
LAW = "--service", "exponential:10ms", "--workers", 100


@check.environment(DISTURBED)
def too_few_exceedances():
    with serving(*LAW) as it:
        args = synthetic(it), "--rate", 300, "--for", "4s", "--connections", 100, "--percentile"
        return only_in("too-few-exceedances", load(*args, 99.9), load(*args, 50))


@check.environment(DISTURBED)
def not_converged():
    with serving(*LAW) as it:
        args = (synthetic(it), "--rate", 1000, "--for", "4s", "--connections", 100, "--percentile", 90,
                "--ci-width")
        return only_in("not-converged", load(*args, "100ns"), load(*args, "50ms"))


@check.environment(DISTURBED)
def heavy_tail():
    """Latencies with a Pareto law of shape 1, which has no mean, and with the exponential law."""
    def run(law):
        with serving("--service", law, "--workers", 1000) as it:
            return load(synthetic(it), "--rate", 1500, "--for", "7s", "--ci-width", "1us",
                        "--connections", 1000)

    return only_in("heavy-tail", run("pareto:300us:300us:1"), run("exponential:1ms"))


check.run([
    *[(non_stationary, how) for how in CHANGES], (too_few_exceedances,), (not_converged,),
    (heavy_tail,),
])
