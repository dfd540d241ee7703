# SPDX-License-Identifier: Apache-2.0
"""Proves hostlat load's files and ends: recordings that repeat the analysis bit by bit, schedules,
sweeps, signals at any moment, servers that die or are not there, a full disk. No case depends on
how long something took, so that another test may run beside it."""
import contextlib
import csv
import json
import os
import random
import signal
import subprocess
import tempfile
import time

from lib import badserver, check, process, servers
from lib.loading import AHEAD, is_balanced, synthetic
from lib.serving import HOSTLAT, serving
from test_load import load, reasons, result

SEED = int(os.environ.get("HOSTLAT_SEED", random.randrange(1 << 30)))
MOMENTS = 20


def without_provenance(text):
    got = json.loads(text)
    del got["hostlat"]
    return got


def recording_repeats(folder, *args):
    """The same analysis, byte for byte; what is asked otherwise is another one."""
    file = os.path.join(folder, "run.hlat")
    samples, again = os.path.join(folder, "live.csv"), os.path.join(folder, "again.csv")
    with serving("--service", "exponential:100us") as it:
        live = load(synthetic(it), "--rate", 1000, "--for", "2s", "--record", file,
                    "--samples", samples, "--json", *args)
        text = load("--from", file)
    check.true(f"exit code {live.returncode}", live.returncode in (0, 3))
    same = load("--from", file, "--samples", again, "--json", code=live.returncode)
    check.true("the same bytes", same.stdout == live.stdout)
    check.true("a text", "from intended send" in text.stdout)
    with open(samples, encoding="utf-8") as a, open(again, encoding="utf-8") as b:
        rows = list(csv.DictReader(a))
        check.equal("samples of the recording", list(csv.DictReader(b)), rows)
    got = result(live)
    is_balanced(got)
    check.equal("samples", len(rows), got["requests"]["completed"] + got["requests"]["failed"])
    for row in rows[:100]:
        check.true(f"order in {row}", int(row["intended_ns"]) <= int(row["sent_ns"]) <=
                   int(row["server_in_ns"]) <= int(row["server_out_ns"]) <= int(row["done_ns"]))
        check.equal("remote", row["remote"], f"127.0.0.1:{it.port}")
    other = result(load("--from", file, "--confidence", 80, "--percentile", 90, "--json"))
    check.equal("confidence", other["method"]["confidence"], 0.8)
    return f"{len(rows)} samples, {os.path.getsize(file)} bytes"


def schedule_repeats(folder):
    """The same seed is the same schedule, which is what was intended; a file of it, too."""
    first, second, rows = (os.path.join(folder, n) for n in ("a", "b", "rows.csv"))
    with serving("--service", "zero") as it:
        load(synthetic(it), "--rate", 1000, "--for", "1s", "--seed", 42, "--dump-schedule",
             first, "--samples", rows)
        load(synthetic(it), "--arrival", first, "--dump-schedule", second)
    with open(first, encoding="utf-8") as a, open(second, encoding="utf-8") as b:
        times = [int(line) for line in a]
        check.equal("the schedule of the file", [int(line) for line in b], times)
    with open(rows, encoding="utf-8") as f:
        intended = sorted(int(r["intended_ns"]) for r in csv.DictReader(f))
    check.equal("intended times", [t - intended[0] for t in intended],
                [t - times[0] for t in times])
    check.between("requests", len(times), 800, 1200)


def one_interrupt(it, folder, moment, how):
    file = os.path.join(folder, "cut.hlat")
    run = process.start([*AHEAD, HOSTLAT, "load", synthetic(it), "--rate", 500, "--json", "--record", file,
                         "--connections", 200], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        text=True)
    process.await_ready(run, how)
    time.sleep(moment)
    run.send_signal(how)
    out, err = run.communicate(timeout=120)
    check.equal(f"exit code after {moment:.3f} s ({err})", run.returncode, 3)
    got = json.loads(out)
    is_balanced(got)
    check.true(f"interrupted in {reasons(got)}", "interrupted" in reasons(got))
    again = load("--from", file, "--json", code=3)
    check.true(f"the same result after {moment:.3f} s",
               without_provenance(again.stdout) == without_provenance(out))


def interrupted():
    """At 20 moments, the first of them while connections are being made."""
    chance = random.Random(SEED)
    with serving("--service", "exponential:100us") as it, \
            tempfile.TemporaryDirectory() as folder:
        for i in range(MOMENTS):
            moment = 0.02 * i if i < 5 else chance.uniform(0.1, 2.6)
            one_interrupt(it, folder, moment, chance.choice([signal.SIGINT, signal.SIGTERM]))
    return f"seed {SEED}"


@check.busy
def interrupted_twice(folder, *args):
    """The replies never come: one signal waits for them, the second one doesn't."""
    samples, answers, connections = os.path.join(folder, "samples.csv"), 10, 4
    it = badserver.Server(badserver.silent(answers))
    try:
        url = f"memcached://127.0.0.1:{it.port}"
        run = process.start([*AHEAD, HOSTLAT, "load", url, "--rate", 500, "--json", "--samples",
                             samples, "--connections", connections, "--timeout", "60s",
                             "--workload", "read=1,keys=100", *args],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check.true("begins", "measuring" in run.stderr.readline())
        end = time.monotonic() + 60
        while it.asked < (answers + 1) * connections and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        time.sleep(1)
        check.equal("it waits", run.poll(), None)
        run.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        out, err = run.communicate(timeout=120)
    finally:
        it.close()
    check.between("it ends after", time.monotonic() - begin, 0, 10)
    check.equal(f"exit code ({err})", run.returncode, 3)
    got = json.loads(out)
    is_balanced(got)
    check.true(f"interrupted in {reasons(got)}", "interrupted" in reasons(got))
    check.equal("agent-lost", "agent-lost" in reasons(got), False)
    check.equal("in flight", got["requests"]["in_flight"], connections)
    check.equal("completed", got["requests"]["completed"], answers * connections)
    with open(samples, encoding="utf-8") as f:
        check.equal("samples", len(list(csv.DictReader(f))), answers * connections)


def server_dies(folder):
    """When the server dies, requests in flight fail, nothing is lost, and there is a result."""
    file = os.path.join(folder, "dies.hlat")
    with serving("--service", "fixed:1ms") as it:
        run = process.start([*AHEAD, HOSTLAT, "load", synthetic(it), "--rate", 300, "--json", "--for",
                             "4s", "--record", file], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        it.process.kill()
        it.process.wait()
        it.result = {}
        out, err = run.communicate(timeout=120)
    check.equal(f"exit code ({err})", run.returncode, 3)
    got = json.loads(out)
    is_balanced(got)
    check.true(f"{reasons(got)}", {"errors-above-limit", "server-unreachable"} &
               set(reasons(got)))
    check.true("the same bytes", load("--from", file, "--json", code=3).stdout == out)


def unreachable():
    port = servers.free_port()
    done = load(f"echo://127.0.0.1:{port}", "--rate", 10, "--json", code=2)
    check.equal("result", done.stdout, "")
    for part in (f"127.0.0.1 port {port}", "refused", "is the server running"):
        check.true(f"{part} in {done.stderr}", part in done.stderr)
    done = load("echo://host.invalid", "--rate", 10, code=2)
    check.true(done.stderr, "host.invalid" in done.stderr)


@contextlib.contextmanager
def small_disk(size):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", folder], check=True)


def disk_full():
    """It is said once, and the measurement goes on to its end."""
    with serving("--service", "zero") as it, small_disk("64k") as folder:
        file = os.path.join(folder, "full.hlat")
        done = load(synthetic(it), "--rate", 2000, "--for", "3s", "--record", file, "--json",
                    code=3)
        cut = load("--from", file, "--json", code=3)
    got = result(done)
    check.true(f"{reasons(got)}", "recording-incomplete" in reasons(got))
    check.equal("messages", done.stderr.count("No space left"), 1)
    check.true(f"{got['requests']}", got["requests"]["completed"] > 4000)
    check.true(f"{reasons(result(cut))}", "damaged" in reasons(result(cut)))


def sweep(folder):
    path = os.path.join(folder, "sweep.csv")
    with serving("--service", "fixed:1ms") as it:
        got = result(load(synthetic(it), "--rates", "200:1400:600", "--for", "3s",
                          "--percentile", 50, "--csv", path, "--json"))
    check.equal("rates", [r["rate"] for r in got["runs"]], [200, 200, 800, 800, 1400, 1400])
    medians = [r["p50_ns"] for r in got["runs"]]
    check.true(f"p50 grows: {medians}", max(medians[:2]) < min(medians[4:]))
    for run in got["runs"][4:]:
        check.true(f"{run}", "rate-not-reached" in run["reasons"])
    with open(path, encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    check.equal("CSV", [int(r["p50_ns"]) for r in rows], medians)


def closed_loop():
    with serving("--service", "fixed:1ms") as it:
        got = result(load(synthetic(it), "--loop", "closed", "--connections", 2, "--for", "2s",
                          "--json"))
    is_balanced(got)
    check.equal("target", got["rate"]["target"], None)
    check.equal("intended", got["latency"]["intended"], None)
    check.true(f"{got['rate']}", got["rate"]["achieved"] <= 1010)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check.run([
            (recording_repeats, folder), (recording_repeats, folder, "--timestamps", "kernel"),
            (schedule_repeats, folder), (interrupted,), (interrupted_twice, folder),
            (interrupted_twice, folder, "--agents", "local"), (server_dies, folder),
            (unreachable,), (disk_full,), (sweep, folder), (closed_loop,),
        ])


if __name__ == "__main__":
    main()
