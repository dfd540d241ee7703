# SPDX-License-Identifier: Apache-2.0
"""Proves that results for Debian's servers are sound at a moderate load; after some unsound
attempts in a row, only other work on this host may be the reason. Control: if the server cannot do
what is asked for, the result is n/a because the rate was not reached. An empty cache is reported,
too."""
import contextlib
import os
import signal
import subprocess
import threading
import time

from lib import check, loading, servers
from lib.traffic import hog

RATES = ("the rate that the client and the server reach depends on how much CPU "
             "others leave them")

NAMES = "memcached", "redis", "nginx", "nginx-tls"
ATTEMPTS = 2
# Seconds of each turn; TLS gets more, to make its connections in time.
RUNS_S, STOPPED_S = {"nginx-tls": 0.01}, 0.1
LEAST_S = 0.002
# A request keeps the client for up to 25 us here: closer than that none follows another, which is no
# Poisson process any more when it is 5 % of the gaps.
RATE = 1000
# Reasons of a host on which others work now and then: latencies come and go, some of them huge.
DISTURBED = {"host-noisy", "not-converged", "too-few-exceedances", "heavy-tail",
             "non-stationary-trend", "non-stationary-shift", "non-stationary-periodic"}


def load(url, *args, **options):
    return loading.load(url, *(["--insecure"] if url.startswith("https:") else []), *args,
                        **options)


@contextlib.contextmanager
def awake(cpu):
    """It never idles: a virtual CPU takes long to wake, now 10 us and now 50."""
    idler = hog(cpu, 30, "idler")
    os.sched_setscheduler(idler.pid, os.SCHED_IDLE, os.sched_param(0))
    try:
        yield
    finally:
        idler.kill()
        idler.wait()


@check.environment(RATES)
def once(name):
    """
    The client spins on the first CPU, for the same reason, and goes before nobody: what starved
    beside it would be given 50 ms of each second.
    """
    theirs = sorted(os.sched_getaffinity(0))[1]
    with servers.server(name) as (url, server), awake(theirs):
        subprocess.run(["taskset", "-a", "-c", "-p", str(theirs), str(server.pid)], check=True,
                       stdout=subprocess.DEVNULL)
        got = load(url, "--rate", RATE, "--percentile", 90, "--for", "5s", "--pin", "--spin",
                   ahead=())
    check.equal("failed", got["requests"]["failed"], 0)
    check.true(f"reasons of the host only: {loading.why(got)}",
               loading.reasons(got) <= DISTURBED)
    return got


def moderate(name):
    for _ in range(ATTEMPTS):
        got = once(name)
        if got["verdict"] == "ok":
            break
    p90 = loading.quantile(got, 0.9)
    return (f"p90 {p90['ns']} ns [{p90['lo_ns']}, {p90['hi_ns']}], {got['verdict']} "
            f"{loading.why(got)}")


def misses(name):
    """Load reports misses if the cache was not filled first, and none if it was."""
    args = "--rate", 500, "--for", "1s", "--workload", "keys=100,read=1"
    with servers.server(name) as (url, _):
        empty, full = load(url, *args), load(url, *args, "--preload")
    findings = [f for f in empty["findings"] if f.startswith("misses: 100 %")]
    check.equal(f"reported in {empty['findings']}", len(findings), 1)
    check.equal("misses", empty["requests"]["misses"], empty["requests"]["completed"])
    check.equal("misses of a full cache", full["requests"]["misses"], 0)
    check.true(f"nothing of it in {full['findings']}", "misses" not in str(full["findings"]))


@contextlib.contextmanager
def slowed(server, runs_s):
    """Runs the server for runs_s and stops it for STOPPED_S in turn, whatever else runs. The server's
    first thread handles the signals for all threads: while it waited for the client's CPU, the other
    threads of memcached ran on for up to 70 ms."""
    os.sched_setscheduler(server.pid, os.SCHED_FIFO, os.sched_param(15))
    ended = threading.Event()

    def hold():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
        while not ended.is_set():
            server.send_signal(signal.SIGSTOP)
            time.sleep(STOPPED_S)
            server.send_signal(signal.SIGCONT)
            time.sleep(runs_s)

    holder = threading.Thread(daemon=True, target=hold)
    holder.start()
    try:
        yield
    finally:
        ended.set()
        holder.join()


@check.environment(RATES)
def past_saturation(name):
    with servers.server(name) as (url, server), slowed(server, RUNS_S.get(name, LEAST_S)):
        got = load(url, "--rate", 20000, "--for", "2s", "--drain", "200ms")
    check.equal("verdict", got["verdict"], "n/a")
    for reason in "rate-not-reached", "closed-loop-behaviour":
        check.true(f"{reason} in {loading.why(got)}", reason in loading.reasons(got))
    check.true(f"no fault of the client: {loading.why(got)}",
               "client-saturated" not in loading.reasons(got))
    check.equal("an interval of p99", loading.quantile(got, 0.99)["hi_ns"], None)
    return f"{got['rate']['achieved']:.0f} of {got['rate']['target']:.0f}/s"


check.run([(case, name) for name in NAMES for case in (moderate, past_saturation)] +
          [(misses, name) for name in ("memcached", "redis")])
