# SPDX-License-Identifier: Apache-2.0
"""Proves that several agents make one Poisson process together, each with a schedule of its own,
and that the tail is that of all samples. If an agent or the coordinator dies, no process is left
over and the samples so far count. Controls: one schedule twice, and one agent's samples alone, must
fail."""
import bisect
import collections
import contextlib
import csv
import itertools
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from lib import check, netns, process

HOSTLAT = os.environ["HOSTLAT"]
PORT = 7000
RATE = 4000

class World:
    """Two namespaces and a server in a third that both reach by the same address."""

    def __init__(self, folder):
        self.star = netns.Star(2)
        self.folder = folder
        # It outlives the cases, but not the test.
        self.server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "ip", "netns", "exec", self.star.middle, HOSTLAT,
             "serve", f"0.0.0.0:{PORT}", "--service", "exponential:20us"],
            stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL)
        check.true("the server is ready", "serving" in self.server.stderr.readline())
        self.url = f"synthetic://{self.star.addresses[0]}:{PORT}"
        self.agents = ",".join(f"netns:{name}" for name in self.star.points)

    def __str__(self):
        return "two namespaces and a server"

    def command(self, *args, agents=None, rate=RATE, seconds=3):
        return [HOSTLAT, "load", self.url, "--rate", rate, "--for", f"{seconds}s", "--json",
                "--agents", agents or self.agents, *args]


@contextlib.contextmanager
def world():
    with tempfile.TemporaryDirectory() as folder:
        it = World(folder)
        try:
            yield it
        finally:
            it.server.kill()
            it.server.wait()


def finish(running, codes=(0, 3)):
    out, err = running.communicate(timeout=120)
    check.true(f"exit code {running.returncode} is one of {codes}: {err}",
               running.returncode in codes)
    return (json.loads(out) if out else None), err


def start(command, **options):
    return process.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         **options)


def run(command, codes=(0, 3), **options):
    return finish(start(command, **options), codes)


def codes_of(result):
    return [reason["code"] for reason in result["reasons"]]


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
            found += [int(child) for child in f.read().split()]
    return found


def agents_of(running, n, ready="measuring"):
    """Their process numbers, once the run has begun."""
    line = running.stderr.readline()
    check.true(f"it says {ready}: {line}", ready in line)
    found = children(running.pid)
    check.equal("agents that run", len(found), n)
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def all_gone(pids, limit_s=10):
    end = time.monotonic() + limit_s
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    check.equal("processes that are left", [pid for pid in pids if alive(pid)], [])


def samples(path):
    with open(path, encoding="ascii", newline="") as f:
        return list(csv.DictReader(f))


def by_agent(rows):
    """Each agent's in order of their intended times; its address is that of its namespace."""
    found = collections.defaultdict(list)
    for row in rows:
        found[row["local"].split(":")[0]].append(row)
    for of_one in found.values():
        of_one.sort(key=lambda row: int(row["intended_ns"]))
    return dict(sorted(found.items()))


# ---- schedules ----

def dispersion(times, window_ns=10_000_000):
    """Returns the variance of counts in windows of this length over their mean: 1 for a Poisson
    process."""
    first, last = min(times), max(times)
    counts = collections.Counter((t - first) // window_ns for t in times)
    n = (last - first) // window_ns
    values = [counts[i] for i in range(n)]
    mean = sum(values) / n
    return sum((v - mean) ** 2 for v in values) / (n - 1) / mean


def is_poisson(times):
    # The dispersion's standard deviation is 0.07 with 400 windows.
    check.between("dispersion", dispersion(times), 0.7, 1.3)


def intended(rows):
    return [int(row["intended_ns"]) for row in rows]


def offsets(rows):
    times = intended(rows)
    return [t - times[0] for t in times]


@check.busy
def schedules(w):
    """Returns the schedules of one run, and of another one with the same seed."""
    seen = []
    for i in range(2):
        path = os.path.join(w.folder, f"samples{i}.csv")
        got, _ = run(w.command("--seed", 11, "--samples", path, seconds=4))
        check.equal("priority, of which only the agents know", got["setup"]["priority"], None)
        seen.append(by_agent(samples(path)))
        check.equal("agents with samples", len(seen[-1]), 2)
    one, two = seen[0].values()
    for rows in (one, two):
        check.between("requests of an agent", len(rows), 0.9 * 2 * RATE, 1.1 * 2 * RATE)
    check.true("schedules differ", not set(offsets(one)[1:500]) & set(offsets(two)[1:500]))
    for name, rows in seen[0].items():
        n = min(len(rows), len(seen[1][name]))
        check.equal("the same seed, the same schedule", offsets(rows)[:n],
                    offsets(seen[1][name])[:n])
    is_poisson(intended(one) + intended(two))
    # Agents that all have one schedule, as those of a generator that nobody seeds.
    check.must_fail("one schedule twice", is_poisson, intended(one) * 2)
    return f"dispersion {dispersion(intended(one) + intended(two)):.2f}"


# ---- the pooled tail ----

def latencies(rows):
    rows = sorted((r for r in rows if r["status"] == "ok"), key=lambda r: int(r["intended_ns"]))
    return [int(r["done_ns"]) - int(r["intended_ns"]) for r in rows]


def is_histogram_of(histogram, values):
    """Some run of consecutive requests (the warm-up is left out, and the very end) gives it."""
    edges = [b["le_ns"] for b in histogram["buckets"]]
    expected = {b["le_ns"]: b["count"] for b in histogram["buckets"] if b["count"]}
    n = sum(expected.values())
    bucket = [edges[i] if (i := bisect.bisect_left(edges, v)) < len(edges) else None
              for v in values]
    counts = collections.Counter(bucket[:n])
    for first in itertools.count():
        if all(counts[le] == count for le, count in expected.items()):
            return values[first:first + n]
        if first + n >= len(values):
            raise check.Unexpected(f"no {n} of {len(values)} requests give the histogram")
        counts[bucket[first]] -= 1
        counts[bucket[first + n]] += 1


@check.busy
def pooled_tail(w):
    path = os.path.join(w.folder, "samples.csv")
    result, _ = run(w.command("--samples", path))
    rows = samples(path)
    used = sorted(is_histogram_of(result["histogram"], latencies(rows)))
    edges = [b["le_ns"] for b in result["histogram"]["buckets"]]
    check.equal("samples used", len(used), result["latency"]["intended"]["count"])
    for quantile in result["latency"]["intended"]["quantiles"]:
        exact = used[max(-(-len(used) * int(quantile["q"] * 1000) // 1000), 1) - 1]
        high = edges[bisect.bisect_left(edges, exact)]
        # A bucket of schema 8 is 2^(1/256) wide.
        check.between(f"quantile {quantile['q']}", quantile["ns"], high / 1.003 - 1, high)
    for rows_of_one in by_agent(rows).values():
        check.must_fail("one agent's samples alone", is_histogram_of, result["histogram"],
                        latencies(rows_of_one))
    check.equal("requests", result["requests"]["completed"], len(latencies(rows)))
    return f"p99 of {len(used)} samples"


def from_recording(w):
    """Reading the recording merges the same result as the live run, to the bit."""
    path = os.path.join(w.folder, "run.hlat")
    live, _ = run(w.command("--record", path, seconds=2))
    again, _ = run([HOSTLAT, "load", "--from", path, "--json"])
    check.equal("the result", again, live)
    check.equal("clock errors", [a["clock_error_ns"] for a in again["agents"]], [0, 0])


# ---- latency agents ----

def latency_agent(w):
    path = os.path.join(w.folder, "samples.csv")
    one, two = (f"netns:{name}" for name in w.star.points)
    result, _ = run(w.command("--latency-agents", two, "--samples", path, agents=one))
    rows = samples(path)
    probes = [row for row in rows if "probe" in row["flags"].split()]
    loads = by_agent(row for row in rows if "probe" not in row["flags"].split())
    check.equal("who probes", list(by_agent(probes)), ["10.78.1.2"])
    check.equal("who loads", list(loads), ["10.78.0.2"])
    check.equal("roles", [a["role"] for a in result["agents"]], ["throughput", "latency"])
    check.equal("polled", [a["polled_packets"] for a in result["agents"]], [None, 0])
    why = result["agents"][1]["not_polled"]
    check.true(f"why not: {why}", "veth" in why)
    # 5 % of the rate.
    check.between("probes", len(probes), 0.7 * 0.05 * RATE * 3, 1.3 * 0.05 * RATE * 3)
    check.between("samples that count", result["latency"]["intended"]["count"], 1, len(probes))
    is_histogram_of(result["histogram"], latencies(probes))
    return f"{len(probes)} probes"


# ---- who dies ----

@check.busy
def killed_agent(w):
    path = os.path.join(w.folder, "samples.csv")
    running = start(w.command("--samples", path, seconds=4))
    first, _ = agents_of(running, 2)
    time.sleep(1.5)
    os.kill(first, signal.SIGKILL)
    result, _ = finish(running, [3])
    check.true(f"agent-lost: {codes_of(result)}", "agent-lost" in codes_of(result))
    check.true("who was lost", "ended before the run ended" in result["agents"][0]["lost"])
    check.equal("the other one", result["agents"][1]["lost"], None)
    lost, other = by_agent(samples(path)).values()
    start_ns = min(intended(lost) + intended(other))
    check.between("last of the lost one", (max(intended(lost)) - start_ns) / 1e9, 0.5, 3.5)
    check.between("last of the other", (max(intended(other)) - start_ns) / 1e9, 3.8, 4.01)
    check.between("requests of the other", len(other), 0.9 * 2 * RATE, 1.1 * 2 * RATE)
    # The lost agent's last tick counts; a few samples may have come after it.
    check.between("completed", len(latencies(lost)) + len(latencies(other)) -
                  result["requests"]["completed"], 0, 0.2 * RATE)
    # The latency is that of the load that was asked for: of all agents, while they were there.
    at_loss = max(intended(lost))
    before = sum(t <= at_loss for t in intended(lost) + intended(other))
    check.between("samples that count", result["latency"]["intended"]["count"], 0.5 * before,
                  before)
    check.true("quantiles are reported", result["latency"]["intended"]["quantiles"][2]["ns"])
    return f"{len(lost)} and {len(other)} samples"


def stopped_agent_is_lost(w):
    """It holds its descriptors open and says nothing."""
    running = start(w.command("--drain", "200ms", seconds=30))
    pids = agents_of(running, 2)
    time.sleep(0.5)
    os.kill(pids[0], signal.SIGSTOP)
    running.send_signal(signal.SIGINT)
    result, _ = finish(running, [3])
    check.true(f"reasons: {codes_of(result)}",
               {"interrupted", "agent-lost"} <= set(codes_of(result)))
    check.true("why", "did not end in time" in result["agents"][0]["lost"])
    all_gone(pids)


def killed_coordinator(w):
    running = start(w.command(seconds=60))
    pids = agents_of(running, 2)
    time.sleep(0.5)
    running.kill()
    all_gone(pids)


def killed_coordinator_and_stuck_agent(w):
    """Nobody reads what it writes, and somebody else holds the reading end."""
    running = start(w.command(agents="local", seconds=60))
    pids = agents_of(running, 1)
    time.sleep(0.3)
    held = os.open(f"/proc/{pids[0]}/fd/1", os.O_RDONLY)
    running.kill()
    try:
        all_gone(pids)
    finally:
        os.close(held)


def interrupted(w):
    for seconds in (0, 0.02, 0.1, 0.3, 1):
        running = start(w.command(seconds=30))
        time.sleep(0.1)
        # Before it is ready to be interrupted, a signal is any program's end.
        if seconds:
            pids = agents_of(running, 2)
        else:
            end = time.monotonic() + 10
            while len(pids := children(running.pid)) < 2 and time.monotonic() < end:
                time.sleep(0.001)
        time.sleep(seconds)
        running.send_signal(signal.SIGINT)
        result, _ = finish(running, [3])
        check.true(f"interrupted: {codes_of(result)}", "interrupted" in codes_of(result))
        all_gone(pids, 3)
        counts = result["requests"]
        check.equal("balance", counts["scheduled"], counts["completed"] + counts["failed"] +
                    counts["unsent"] + counts["in_flight"])


# ---- ssh ----

def by_ssh(w, run_with, *args, agents="far", codes=(0, 3), **options):
    """`run_with`: what the far host's shell does with the command, "$1"."""
    tools = os.path.join(w.folder, "bin")
    os.makedirs(tools, exist_ok=True)
    with open(os.path.join(tools, "ssh"), "w", encoding="ascii") as f:
        f.write('#!/bin/sh\necho "$@" >> "$SSH_SEEN"\nwhile [ "$1" != -- ]; do shift; done\n'
                'shift 2\nset -- "$*"\n' + run_with + "\n")
    os.chmod(f.name, 0o755)
    env = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}",
                        "SSH_SEEN": os.path.join(w.folder, "seen")}
    command = ["ip", "netns", "exec", w.star.points[0],
               *w.command("--agent-command", HOSTLAT, *args, agents=agents, **options)]
    return run(command, codes, env=env)


def ssh_is_used(w):
    result, _ = by_ssh(w, 'exec sh -c "$1"', agents="user@far,local", seconds=1)
    with open(os.path.join(w.folder, "seen"), encoding="ascii") as f:
        check.equal("the command line of ssh", f.read().strip(),
                    f"-T -o BatchMode=yes -- user@far {HOSTLAT} agent")
    check.equal("names", [a["name"] for a in result["agents"]], ["user@far", "local"])
    # One clock, asked for as if it were another one.
    far = result["agents"][0]
    check.between("offset", abs(far["clock_offset_ns"]), 0, far["clock_error_ns"])
    check.between("its bound", far["clock_error_ns"], 1, 100_000_000)


def priorities(w):
    """Each agent's host grants what it allows; less than was requested is reported. Controls: two hosts
    that allow it, or were not asked, or whose agent has a policy of its own."""
    alone, _ = run([HOSTLAT, "load", "null:", "--rate", 1000, "--for", "1s", "--json"])
    if alone["setup"]["priority"] != "realtime":
        check.skip(f"this host grants {alone['setup']['priority']} priority at most")
    path = os.path.join(w.folder, "run.hlat")
    limited, plain = 'exec prlimit --rttime=1000000 sh -c "$1"', 'exec sh -c "$1"'
    for far, args, granted, told in (
            (limited, [], ["high", "realtime"], ["far (high)"]),
            (plain, [], ["realtime", "realtime"], []),
            (limited, ["--priority", "high"], ["high", "high"], []),
            (plain, ["--priority", "normal"], ["normal", "normal"], []),
            ('exec chrt --batch 0 sh -c "$1"', [], ["normal", "realtime"], [])):
        result, _ = by_ssh(w, far, "--record", path, *args, agents="far,local", seconds=1)
        check.equal(f"granted with {far} {args}", [a["priority"] for a in result["agents"]], granted)
        check.equal("of all", result["setup"]["priority"], None)
        again, _ = run([HOSTLAT, "load", "--from", path, "--json"])
        check.equal("agents of the recording", again["agents"], result["agents"])
        text = subprocess.run([HOSTLAT, "load", "--from", path], capture_output=True, text=True, timeout=60,
                              check=False).stdout
        lines = re.findall("^real-time priority was requested and is not granted on (.*): it needs", text, re.M)
        check.equal(f"lines of {text}", lines, told)


def other_clock(w):
    """A host whose clock is a day ahead; its times are told in ours."""
    day = 86400
    unshare = ["unshare", "--time", "--monotonic", str(day)]
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        check.skip("this machine has no time namespaces")
    path = os.path.join(w.folder, "samples.csv")
    before = time.monotonic_ns()
    # the load's child processes lack the privilege to create such a namespace
    far = process.start([*unshare, "sleep", "60"])
    own, until = os.readlink("/proc/self/ns/time"), time.monotonic() + 30
    while os.readlink(f"/proc/{far.pid}/ns/time") == own and time.monotonic() < until:
        time.sleep(0.01)
    try:
        result, _ = by_ssh(w, f'exec nsenter --time=/proc/{far.pid}/ns/time sh -c "$1"', "--samples", path, seconds=2)
    finally:
        far.kill()
        far.wait()
    after = time.monotonic_ns()
    far = result["agents"][0]
    check.between("offset", far["clock_offset_ns"] - day * 10**9, -far["clock_error_ns"],
                  far["clock_error_ns"])
    times = intended(samples(path))
    check.true("its times are in our clock", before < min(times) and max(times) < after)
    return f"known to {far['clock_error_ns'] / 1000:.1f} us"


def version_skew(w):
    """An option that the agent does not know: it is named."""
    _, err = by_ssh(w, "sed -u '1i arg --new-option=5' | sh -c \"$1\"", codes=[2])
    check.true(f"the option is named: {err}", "there is no option '--new-option'" in err)
    _, err = by_ssh(w, "sed -u 's/^make$/invent/' | sh -c \"$1\"", codes=[2])
    check.true(f"the command is named: {err}", "does not know the command 'invent'" in err)


def ssh_fails(w):
    _, err = by_ssh(w, 'echo "Host key verification failed." >&2; exit 255', codes=[2])
    check.true(f"ssh's words: {err}", "far: " in err and "Host key verification failed." in err)
    _, err = by_ssh(w, 'echo "Welcome!"; exec sh -c "$1"', codes=[2])
    check.true(f"foreign bytes: {err}", "not hostlat's event stream" in err)
    result, _ = by_ssh(w, "exit 255", agents="far,local", codes=[3], seconds=1)
    check.true(f"one is lost: {codes_of(result)}", "agent-lost" in codes_of(result))
    check.true("the other has measured", result["requests"]["completed"] > 500)


def refused(w):
    cases = [
        (1, ["--agents", "-oProxyCommand=x"], "takes hosts"),
        (1, ["--agents", "a,,b"], "takes hosts"),
        (1, ["--agents", "a b"], "takes hosts"),
        (1, ["--agents", "a$(b)"], "takes hosts"),
        (2, ["--agents", "netns:there-is-none"], "no network namespace 'there-is-none'"),
        (1, ["--agents", "local,local", "--connections", "1"], "--connections"),
        (1, ["--agents", ",".join(["local"] * 65)], "at most 64"),
    ]
    for code, args, words in cases:
        _, err = run([HOSTLAT, "load", w.url, "--rate", 100, *args], [code])
        check.true(f"{args}: {err}", words in err)
    _, err = run([HOSTLAT, "load", "echo://127.0.0.1:1", "--rate", 100, "--agents",
                  "local,local"], [2])
    check.equal(f"each gives the reason: {err}", err.count("Connection refused"), 2)


if __name__ == "__main__":
    with world() as it:
        cases = [schedules, pooled_tail, from_recording, latency_agent, killed_agent,
                 stopped_agent_is_lost, killed_coordinator, killed_coordinator_and_stuck_agent,
                 interrupted, ssh_is_used, priorities, other_clock, version_skew, ssh_fails, refused]
        check.run([(case, it) for case in cases])
