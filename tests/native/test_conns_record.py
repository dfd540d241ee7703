#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that downsampling by `conns --record` loses no total, no problem and no connection."""
import json
import os
import re
import subprocess
import tempfile

from lib import check, conns

SAME = ("cookie", "app", "pid", "closed", "time_ns", "unknown_ns", "events", "bytes", "calls", "rtt",
        "recovery", "samples")


def shown(path, *options):
    done = subprocess.run([conns.HOSTLAT, "conns", "--json", "--from", path, *options],
                          capture_output=True, text=True, timeout=120, check=False)
    check.true(f"--from: {done.returncode} {done.stderr}", done.returncode in (0, 3))
    return json.loads(done.stdout)


def volume(text):
    """Bytes of the recording, and its records of connections; those that were told."""
    it = re.search(r"recorded ([0-9.e+-]+) MB: ([0-9.e+-]+) GB a day at this rate"
                   r"(?:; (\d+) records of connections were summed up into (\d+))?", text)
    check.true(f"the volume is reported: {text!r}", it)
    return float(it[1]) * 1e6, *(int(n) if n else None for n in (it[4], it[3]))


def same_totals(live, read):
    check.equal("connections", sorted(each["cookie"] for each in read["connections"]),
                sorted(each["cookie"] for each in live["connections"]))
    of = {each["cookie"]: each for each in read["connections"]}
    for each in live["connections"]:
        for key in SAME:
            check.equal(f"{key} of {each['cookie']}", of[each["cookie"]][key], each[key])
    check.equal("problems", sorted((p["cookie"], p["class"]) for p in read["problems"]),
                sorted((p["cookie"], p["class"]) for p in live["problems"]))


@check.environment("the classes' shares of time depend on when both ends get a CPU")
def totals_stay(name, problem, *options):
    """Intervals of 100 ms: each connection has many."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.hlat")
        seen = conns.scenario(name, "cubic", 10, ["--interval", "100ms", "--record", path, *options])
        read = shown(path)
        same_totals(seen.document, read)
        for end in seen.ends:   # other connections show some problems only with the peer's end
            check.equal("intervals with problems",
                        [each["problem_intervals"] for each in read["connections"]
                         if each["cookie"] == str(end["cookie"])],
                        [seen.of(end)["problem_intervals"]])
        size, written, reported = volume(seen.errors)
        check.between("bytes that are reported", size, os.path.getsize(path) * 0.99,
                      os.path.getsize(path) * 1.01)
    check.true(f"problems {seen.problems()}", problem is None or problem in seen.problems())
    if options:
        check.equal("all is recorded", written, None)
        return f"{size / 1e3:.0f} kB"
    check.between("records", written, 1, reported / 2 if problem is None else reported)
    return f"{size / 1e3:.0f} kB, {written} records of {reported}"


def a_counted_run_is_whole():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.hlat")
        done = subprocess.run([conns.HOSTLAT, "conns", "--json", "--interval", "200ms", "--count",
                               "4", "--record", path], capture_output=True, text=True, timeout=120,
                              check=False)
        check.true(f"it ends: {done.returncode} {done.stderr}", done.returncode in (0, 3))
        live, read = json.loads(done.stdout), shown(path)
        same_totals(live, read)
    return f"{len(live['connections'])} connections"


def record_all_needs_record():
    done = subprocess.run([conns.HOSTLAT, "conns", "--record-all"], capture_output=True, text=True,
                          timeout=120, check=False)
    check.equal("exit code", done.returncode, 1)
    check.true(done.stderr, "--record FILE" in done.stderr)


if os.geteuid() != 0:
    check.skip("needs root")
check.run([
    (totals_stay, "request-reply", None), (totals_stay, "app-trickle", None),
    (totals_stay, "send-buffer-16k", "send-buffer"), (totals_stay, "rto-lone", "timeout"),
    (totals_stay, "request-reply", None, "--record-all"),
    (a_counted_run_is_whole,), (record_all_needs_record,),
])
