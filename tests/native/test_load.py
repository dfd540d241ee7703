# SPDX-License-Identifier: Apache-2.0
"""Proves hostlat load's figures from end to end: n/a past saturation, conditions, many runs.
test_load_ends.py covers its files and ends, test_load_servers.py real servers."""
import json
import os
import subprocess
import tempfile

from lib import check
from lib.loading import AHEAD, is_balanced, quantile, synthetic
from lib.serving import HOSTLAT, serving

DISTURBED = ("the rate that the client and the server reach depends on how much CPU "
             "others leave them")


def load(*args, code=None, timeout=180):
    done = subprocess.run([*AHEAD, HOSTLAT, "load", *map(str, args)], capture_output=True,
                          text=True, timeout=timeout, check=False)
    if code is not None:
        lines = [line for line in done.stdout.splitlines() if "n/a" in line or '"code"' in line]
        check.equal(f"exit code ({lines} {done.stderr})", done.returncode, code)
    return done


def result(done):
    return json.loads(done.stdout)


def reasons(got):
    return [r["code"] for r in got["reasons"]]


@check.environment(DISTURBED)
def past_saturation():
    """A server that serves 1000/s is asked for 3000/s, and then for 100/s."""
    with serving("--service", "fixed:1ms") as it:
        much = result(load(synthetic(it), "--rate", 3000, "--for", "2s", "--json", code=3))
        little = result(load(synthetic(it), "--rate", 100, "--for", "2s", "--json"))
    is_balanced(much)
    check.equal("verdict", much["verdict"], "n/a")
    check.true(f"rate-not-reached in {reasons(much)}", "rate-not-reached" in reasons(much))
    check.true(f"achieved {much['rate']}", much["rate"]["achieved"] < 1100)
    check.equal("lo_ns", quantile(much, 0.99)["lo_ns"], None)
    check.true(f"no rate-not-reached in {reasons(little)}",
               "rate-not-reached" not in reasons(little))
    return f"{much['rate']['achieved']:.0f}/s"


@check.environment(DISTURBED)
def conditions(folder):
    """One that is shown and one that is refuted; without the latter the same run passes."""
    file = os.path.join(folder, "conditions.hlat")
    # Independent and long beside what the host does: whether the run is sound is not its doing.
    law = ("--service", "exponential:20ms", "--service-mode", "sleep", "--workers", "64")
    with serving(*law) as it:
        done = load(synthetic(it), "--rate", 1000, "--percentile", 50, "--for", "4s",
                    "--connections", 200, "--json", "--record", file, "--assert", "p50<1s",
                    "--assert", "p50<1ns", code=4)
    got = result(done)
    check.equal("verdict", got["verdict"], "ok")
    check.equal("results", [a["result"] for a in got["asserts"]], ["holds", "fails"])
    load("--from", file, "--assert", "p50<1s", code=0)
    load("--from", file, "--assert", "p50<1ns", code=4)


@check.environment(DISTURBED)
def highest_rate():
    """One worker, 1.4 ms each: it serves 714/s, and is above 20 ms of median from close to that. The
    first two probes, at 1,000 and 500/s, are far enough from it to decide; some may be repeated."""
    with serving("--service", "fixed:1.4ms", "--service-mode", "sleep", ahead=AHEAD) as it:
        got = result(load(synthetic(it), "--find-max", "p50<20ms", "--for", "18s", "--drain",
                          "200ms", "--json"))
    found = got["find_max"]
    check.true(f"{found}", found["lo"] is not None and found["hi"] is not None)
    check.true(f"{found}", 286 <= found["lo"] < found["hi"])
    check.true(f"{found}", found["lo"] <= 728)
    check.true(f"the guess is within: {found}", found["lo"] <= found["guess_lo"] < found["guess_hi"] <= found["hi"])
    return f"[{found['lo']:.0f}, {found['hi']:.0f}]/s, {found['end']}"


@check.environment(DISTURBED)
def two_targets():
    with serving("--service", "fixed:1ms") as a, serving("--service", "fixed:2ms") as b:
        got = result(load(synthetic(a), "--against", synthetic(b), "--rate", 150, "--percentile",
                          50, "--repeat", 6, "--for", "10s", "--json"))["comparison"]
    check.equal("pairs", got["pairs"], 6)
    check.true(f"{got}", got["p_value"] < 0.05 and 1 < got["ratio_lo"] < got["ratio_hi"])
    return f"{got['ratio']:.2f} times [{got['ratio_lo']:.2f}, {got['ratio_hi']:.2f}]"


@check.environment(DISTURBED)
def repetitions():
    with serving("--service", "fixed:500us") as it:
        got = result(load(synthetic(it), "--rate", 1000, "--percentile", 90, "--repeat", 4,
                          "--for", "3s" if check.LONG else "2s", "--json"))
    between = got["between"]
    check.equal("runs", len(got["runs"]), 4)
    check.between("sound runs", between["runs"], 2, 4)
    check.true(f"{between}", between["min_ns"] <= between["mean_ns"] <= between["max_ns"])
    check.true(f"{between}", between["lo_ns"] < between["mean_ns"] < between["hi_ns"])
    return f"{between['mean_ns']} ns [{between['lo_ns']}, {between['hi_ns']}]"


@check.environment("a CPU that others take keeps the rate from being reached, and requests from being in time")
def votes():
    """Most runs decide by what their requests met, although such short runs have no bounds."""
    with serving("--service", "fixed:500us") as it:
        words = (synthetic(it), "--rate", 400, "--repeat", 3, "--for", "500ms", "--json")
        held = result(load(*words, "--assert-seen", "p99<1.5s", code=0))
        got = result(load(*words, "--assert-seen", "p99<1.5s", "--assert-seen", "p99<500us", code=4))
    check.equal("one that holds", [(a["result"], a["of"], a["beyond"]) for a in held["asserts"]], [("holds", 3, 0)])
    check.equal("by", {a["by"] for a in got["asserts"]}, {"seen"})
    check.equal("of two", [(a["result"], a["beyond"]) for a in got["asserts"]], [("holds", 0), ("fails", 3)])


def main():
    with tempfile.TemporaryDirectory() as folder:
        check.run([(past_saturation,), (conditions, folder), (highest_rate,), (two_targets,),
                   (repetitions,), (votes,)])


if __name__ == "__main__":
    main()
