# SPDX-License-Identifier: Apache-2.0
"""The load generators that bench/peers runs: how each is built, called and read, one row each."""
import contextlib
import csv
import ctypes
import json
import logging
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import types
from typing import Callable, NamedTuple

from rig import Cpu, cpu_of, cpu_of_process

QUANTILES = (0.5, 0.99, 0.999)
BUILD_S = 1800
FIRST_REQUESTS = 5_000
GUESSED_RATE = 50_000        # /s, of a server that does no work
SATURATED = 10_000_000       # /s: a rate that no server here reaches, for tools that always have one
UNITS = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}


class Job(NamedTuple):
    """One run: `rate` is None for as fast as replies come; files go into `folder`."""
    path: str
    folder: str
    port: int
    seconds: int
    rate: int | None
    connections: int = 64
    depth: int = 1
    latency: bool = False    # the tool shall report percentiles, which may cost it CPU


class Done(NamedTuple):
    """
    What a tool says of a run: its requests, {quantile: ns}, CPU time, the p99 of how late it sent
    requests in ns, and how long it took if that is not the job's time.
    """
    requests: int
    quantiles: dict
    cpu: Cpu
    late_ns: float | None = None
    took_s: float | None = None


class Tool(NamedTuple):
    """`paced` is None if the tool has no rate; `build` runs in the folder `source` of the sources."""
    protocol: str
    run: Callable
    closed: bool = True      # it can send as fast as replies come
    paced: str | None = None
    source: str | None = None
    program: str = ""
    build: tuple = ()
    calibration_s: int = 0   # no percentiles of runs that are shorter


def in_ns(number, unit):
    return float(number) * UNITS[unit]


def of_samples(values):
    """{quantile: value} of all values."""
    ordered = sorted(values)
    return {q: ordered[math.ceil(q * len(ordered)) - 1] for q in QUANTILES} if ordered else {}


def count(pattern, text):
    """The number in the text. Raises RuntimeError if there is none."""
    found = re.search(pattern, text)
    if not found:
        raise RuntimeError(f"nothing like {pattern!r} in the output: {text[-200:]!r}")
    return int(found[1])


def wrk(job):
    options = [f"-R{job.rate}"] if job.rate else []
    cpu, out = cpu_of(job.path, "-t1", f"-c{job.connections}", f"-d{job.seconds}s", *options,
                      *["--latency"] * job.latency, f"http://127.0.0.1:{job.port}/")
    lines = re.findall(r"^ *([0-9.]+)% +([0-9.]+)(us|ms|s|m)$", out, re.M)
    told = {round(float(q) / 100, 6): in_ns(n, unit) for q, n, unit in lines}
    return Done(count(r"(\d+) requests in", out), told, cpu)


def hey(job):
    pace = ["-q", job.rate / job.connections] if job.rate else []
    cpu, out = cpu_of(job.path, "-cpus", 1, "-c", job.connections, "-z", f"{job.seconds}s", *pace,
                      f"http://127.0.0.1:{job.port}/")
    lines = re.findall(r"^ *(\d+)% in ([0-9.]+) secs", out, re.M)
    return Done(count(r"\[200\]\s+(\d+) responses", out),
                {int(q) / 100: in_ns(n, "s") for q, n in lines}, cpu)


def oha(job):
    pace = ["-q", job.rate, "--latency-correction"] if job.rate else []
    cpu, out = cpu_of(job.path, "--no-tui", "--output-format", "json", "-c", job.connections, "-z",
                      f"{job.seconds}s", *pace, f"http://127.0.0.1:{job.port}/")
    said = json.loads(out)
    told = {float(q[1:]) / 100: in_ns(s, "s") for q, s in said["latencyPercentiles"].items() if s}
    return Done(sum(said["statusCodeDistribution"].values()), told, cpu)


def redis_requests(job, n):
    start = time.monotonic()
    cpu, out = cpu_of(job.path, "-p", job.port, "-t", "get", "-c", job.connections, "-n", n,
                      *([] if job.latency else ["-q"]))
    took = time.monotonic() - start
    lines = [(float(p), in_ns(ms, "ms")) for p, ms in re.findall(r"^([0-9.]+)% <= ([0-9.]+) milli", out, re.M)]
    told = {q: min(ns for p, ns in lines if p >= 100 * q) for q in QUANTILES if lines}
    return Done(n, told, cpu, took_s=took)


def redis_benchmark(job):
    """It takes a number of requests instead of a time: how many is guessed, or learnt from a first run."""
    if not job.latency:
        return redis_requests(job, GUESSED_RATE * job.seconds)
    first = redis_requests(job, FIRST_REQUESTS)
    return redis_requests(job, int(first.requests * job.seconds / first.took_s))


def memtier(job):
    pace = ["--rate-limiting", job.rate // job.connections] if job.rate else []
    saved = f"{job.folder}/memtier.json"
    cpu, _ = cpu_of(job.path, "-p", job.port, "-P", "redis", "-t1", "-c", job.connections, "--ratio",
                    "0:1", "--test-time", job.seconds, "--hide-histogram", "--json-out-file", saved, *pace)
    with open(saved, encoding="utf-8") as f:
        totals = json.load(f)["ALL STATS"]["Totals"]
    told = {q: in_ns(totals["Percentile Latencies"][f"p{100 * q:.2f}"], "ms") for q in QUANTILES}
    return Done(totals["Count"], told, cpu)


def h2load(job):
    """HTTP/2 by prior knowledge against nghttpd; HTTP/1.1 where percentiles are compared."""
    saved = f"{job.folder}/h2load.log"
    log = ["--h1", f"--log-file={saved}"] if job.latency else []
    cpu, out = cpu_of(job.path, "-t1", f"-c{job.connections}", f"-m{job.depth}", f"-D{job.seconds}", *log,
                      f"http://127.0.0.1:{job.port}/")
    told = {}
    if job.latency:
        with open(saved, encoding="ascii") as f:
            told = of_samples([int(line.split("\t")[2]) * 1000 for line in f])
    return Done(count(r"(\d+) done", out), told, cpu)


def mutilate(job):
    saved = f"{job.folder}/mutilate.txt"
    pace = ["-q", job.rate, "-i", "exponential:1"] if job.rate else []
    cpu, out = cpu_of(job.path, "-s", f"127.0.0.1:{job.port}", "-T1", "-c", job.connections, "-d",
                      job.depth, "-t", job.seconds, "--noload", *pace,
                      *(["--save", saved] if job.latency else []))
    told = {}
    if job.latency:
        with open(saved, encoding="ascii") as f:
            told = of_samples([float(line.split()[1]) * 1000 for line in f])
    return Done(count(r"Total QPS = [0-9.]+ \((\d+) /", out), told, cpu)


def lancet_package(job):
    """lancet's own Python code, which controls its agent by shared memory, and what it needs of posix_ipc."""
    def shared(path, _flags):
        return types.SimpleNamespace(fd=os.open(f"/dev/shm{path}", os.O_RDWR))
    sys.modules.setdefault("posix_ipc", types.SimpleNamespace(
        SharedMemory=shared, ExistentialError=FileNotFoundError))
    root = job.path[:job.path.index("/agents/assets")]
    if f"{root}/agent-manager" not in sys.path:
        sys.path.insert(0, f"{root}/agent-manager")
    logging.disable()
    from manager import agentcontroller  # pylint: disable=import-error,import-outside-toplevel
    return agentcontroller


def lancet_forget():
    """An agent that ended leaves its shared memory, which the next one's controller would take."""
    for name in os.listdir("/dev/shm"):
        if name.startswith(("lancetcontrol", "lancet-stats")):
            os.unlink(f"/dev/shm/{name}")


def lancet(job):
    """
    Its agent without its coordinator, which would need ssh. CPU counts from the first request on, as it polls.
    Its other kind of agent, for throughput, takes no latencies, so it is no peer of tools that do.
    """
    package = lancet_package(job)
    control = package.LancetController(pathlib.Path(job.path).with_name("librand.so"))
    lancet_forget()
    symmetric = 3            # each request is a sample
    args = types.SimpleNamespace(agent=pathlib.Path(job.path), agent_args=[
        "-t1", f"-s127.0.0.1:{job.port}", f"-c{job.connections}", f"-o{job.depth}", f"-a{symmetric}", "-pTCP",
        "-iexp:1", "-rmemcache-ascii_fixed:10_fixed:2_1000_1.0_uni"])
    with contextlib.redirect_stdout(None):
        control.launch_agent(args)
        try:
            time.sleep(0.5)
            control.start_load(ctypes.c_uint32(job.rate or SATURATED))
            control.start_measure(package.MAX_PER_THREAD_SAMPLES, 100)
            before = cpu_of_process(control.agent.pid)
            time.sleep(job.seconds)
            cpu = cpu_of_process(control.agent.pid).since(before)
            stats = control.get_stats()[0]
        finally:
            control.terminate()
            control.agent.wait()
            lancet_forget()
    told = {}
    if job.latency:
        n = min(stats.IncIdx, package.MAX_PER_THREAD_SAMPLES)
        told = of_samples([s.nsec_latency for s in stats.Samples[:n]])
    return Done(stats.RxReqs, told, cpu)


def hostlat(protocol, *options):
    """`hostlat load` for the same requests as the tools'; its options follow those of the run."""
    def run(job):
        pace = ["--rate", job.rate] if job.rate else ["--loop", "closed"]
        recorded, samples = f"{job.folder}/run.hlat", f"{job.folder}/samples.csv"
        cpu, out = cpu_of(job.path, "load", f"{protocol}://127.0.0.1:{job.port}/", *pace, "-c",
                          job.connections, "--outstanding", job.depth, "-d", f"{job.seconds}s", "--json",
                          "-q", *options, *(["--record", recorded] if job.latency else []))
        said = json.loads(out)
        kind = said["latency"]["intended" if job.rate else "actual"]
        told = {q["q"]: q["ns"] for q in (kind or {"quantiles": []})["quantiles"]}
        late = None
        if job.latency and job.rate:
            subprocess.run([job.path, "load", "--from", recorded, "--samples", samples, "-q", "--output",
                            os.devnull], check=False, stderr=subprocess.DEVNULL)
            with open(samples, encoding="utf-8") as f:
                rows = [r for r in csv.DictReader(f) if r["sent_ns"]]
            late = of_samples([int(r["sent_ns"]) - int(r["intended_ns"]) for r in rows]).get(0.99)
        return Done(said["requests"]["completed"], told, cpu, late)
    return run


TOOLS = {
    "wrk": Tool("http", wrk, program="wrk"),
    "wrk2": Tool("http", wrk, closed=False, paced="even, from the intended time", source="wrk2",
                 program="wrk", build=("make",), calibration_s=15),
    "hey": Tool("http", hey, paced="each connection at its share of the rate", program="hey",
                source="hey", build=("go build",)),
    "oha": Tool("http", oha, paced="even, from the intended time", source="oha",
                program="target/release/oha", build=("cargo build --release --locked",)),
    "redis-benchmark": Tool("redis", redis_benchmark, program="redis-benchmark"),
    "memtier": Tool("redis", memtier, paced="each connection at its share of the rate",
                    source="memtier_benchmark", program="memtier_benchmark",
                    build=("autoreconf -if", "./configure", "make")),
    "h2load": Tool("http", h2load, program="h2load"),
    # Its SConstruct is Python 2, scons is not any more.
    "mutilate": Tool("memcached", mutilate, paced="Poisson", source="mutilate", program="mutilate",
                     build=("python3 -m lib2to3 -wn SConstruct", "scons")),
    "lancet": Tool("memcached", lancet, paced="Poisson", source="lancet-tool",
                   program="agents/assets/agents/agent", build=("make agents",)),
}
HOSTLAT = {
    "http": Tool("http", hostlat("http"), paced="Poisson, from the intended time"),
    "h2c": Tool("h2c", hostlat("h2c")),
    "redis": Tool("redis", hostlat("redis", "--workload", "read=1,keys=1,key=16"),
                  paced="Poisson, from the intended time"),
    "memcached": Tool("memcached", hostlat("memcached", "--workload", "read=1,keys=1000,key=10"),
                      paced="Poisson, from the intended time"),
}


def built(tool, folder):
    """Returns (None, why the program in its folder of sources cannot be had) or (its path, None)."""
    path = os.path.join(folder, tool.program)
    for command in () if os.path.exists(path) else tool.build:
        try:
            done = subprocess.run(shlex.split(command), cwd=folder, capture_output=True, text=True, timeout=BUILD_S,
                                  check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, f"not built: {error}"
        if done.returncode:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            errors = [line for line in lines if re.search(r"error|not found", line, re.I)] or lines
            return None, f"not built: {command}: {errors[-1].strip() if errors else 'no reason'}"
    return (path, None) if os.path.exists(path) else (None, f"not built: no {tool.program} came of it")


def find(name, sources):
    """Returns (path, None) of a tool from the folder `sources`, built if need be, else of PATH; or (None, why)."""
    tool = TOOLS[name]
    folder = os.path.join(sources, tool.source) if sources and tool.source else None
    path, why = None, "not installed"
    if folder and os.path.isdir(folder):
        path, why = built(tool, folder)
    elif tool.source:
        why = f"neither installed nor in a folder {tool.source} of --sources"
    path = path or shutil.which(name)
    return path, None if path else why
