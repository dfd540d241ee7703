# SPDX-License-Identifier: Apache-2.0
"""Proves that `explain` finds that a quantile of the latency follows the reader's waits for a CPU
and CPU pressure, while bursts take the server's CPU at random times. (With two things of one rhythm
nobody can tell whether one makes the other.) unit / rank_shift is the control without an effect: a
real host with few CPUs always has some pressure."""
import contextlib
import json
import os
import random
import subprocess
import tempfile
import threading
import time

from lib import check, process, servers
from lib.traffic import outweigh_others

HOSTLAT = os.environ.get("HOSTLAT", "build/hostlat")
HOG = os.environ.get("HOG", "build/tests/native/hog")
CPU = (os.cpu_count() or 1) - 1     # the server's
SECONDS = 30 if check.LONG else 16
LEAST_INTERVALS = SECONDS * 4 - 6   # intervals of 250 ms at least: some requests are warm-up
BURST_US, EVERY_US = 6000, 10_000
OFTEN_S = 0.4, 1.6
PSI = "/proc/pressure/cpu"
LEFT = 0.5      # share of the time without waits for a CPU, so that pressure can rise with the load
PRIORITY = 5    # the load's priority: above unrelated processes, below the server


class Bursts(threading.Thread):
    """They come and go until end()."""

    def __init__(self):
        super().__init__()
        self.over = threading.Event()
        self.chance = random.Random()

    def run(self):
        while not self.over.wait(self.chance.uniform(*OFTEN_S)):
            hog = process.start(["chrt", "--fifo", "20", HOG, CPU, 60, "comesandgoes", BURST_US,
                                 EVERY_US], stdout=subprocess.DEVNULL)
            self.over.wait(self.chance.uniform(*OFTEN_S))
            hog.terminate()
            hog.wait()

    def end(self):
        self.over.set()
        self.join()


@contextlib.contextmanager
def memcached():
    with servers.server("memcached") as (url, it):
        for thread in os.listdir(f"/proc/{it.pid}/task"):
            os.sched_setaffinity(int(thread), {CPU})
        yield url


def pressure():
    """The share of a second in which somebody waited for a CPU, whatever this test does."""
    def total_us():
        with open(PSI, encoding="ascii") as f:
            return int(f.readline().split("total=")[1])
    before = total_us()
    time.sleep(1)
    return (total_us() - before) / 1e6


def prefer_load(explain):
    """The load must not be late through the bursts: it prefers a CPU without them."""
    children = f"/proc/{explain.pid}/task/{explain.pid}/children"
    while explain.poll() is None:
        with open(children, encoding="ascii") as f:
            for pid in map(int, f.read().split()):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as name:
                    if name.read().split(b"\0")[1:2] == [b"load"]:
                        os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(PRIORITY))
                        os.sched_setaffinity(pid, {0})
                        return
        time.sleep(0.001)


def explained(bursts):
    """Its "correlation", the series by name, and what it says of it."""
    with memcached() as url, tempfile.TemporaryDirectory() as folder:
        it = process.start(["nice", "-n", "-10", HOSTLAT, "explain", url, "--rate", 1200, "--for",
                            f"{SECONDS}s", "--connections", 8, "--preload", "-o", folder,
                            "--json"], stdout=subprocess.PIPE, text=True)
        prefer_load(it)
        bursts.start()
        try:
            out, _ = it.communicate(timeout=SECONDS + 120)
        finally:
            bursts.end()
        check.true(f"exit code of explain: {it.returncode}", it.returncode in (0, 3))
    document = json.loads(out)
    found = document["correlation"]
    check.equal("why there is none", found["why"], None)
    check.equal("quantile", found["quantile"], "p99")
    check.between("intervals", found["intervals"], LEAST_INTERVALS, SECONDS * 4)
    sentences = [line for line in document["findings"] if line.startswith("The requests' p99 ")]
    check.between("lines of the verdict", len(document["findings"]), 1, 10)
    return {one["name"]: one for one in found["series"]}, sentences


def is_reported(series, sentences):
    """Every line is of a significant one, and there are as many as can be."""
    significant = [name for name, one in series.items() if one["significant"]]
    check.equal("lines", len(sentences), min(3, len(significant)))
    for line in sentences:
        check.true(f"of what is '{line}'?", any(f"{name}: rho" in line for name in significant))
    for name, one in series.items():
        check.equal(f"{name} is known", one["rho"] is not None, one["why"] is None)
    for name in "cpu busy", "packets", *(["cpu pressure"] if os.path.exists(PSI) else []):
        check.equal(f"why {name} is not known", series[name]["why"], None)


def goes_with(series, name):
    one = series[name]
    check.true(f"{name}: {one}", one["significant"] and one["rho"] > 0)


def goes_without(series, name):
    one = series.get(name)
    check.true(f"{name}: {one}", not one or not one["significant"])


def shown(series):
    return ", ".join(f"{name} rho {one['rho']:.2f} p {one['p_value']:.3f}"
                     for name, one in series.items()
                     if name in ("tcp cpu-wait", "cpu pressure") and one["rho"] is not None)


@check.environment("who runs when is the scheduler's choice, and the hog must be what the "
                   "reader waits for")
def a_hog_comes_and_goes():
    others = pressure() if os.path.exists(PSI) else 1
    series, sentences = explained(Bursts())
    is_reported(series, sentences)
    goes_with(series, "tcp cpu-wait")
    if others <= 1 - LEFT:
        goes_with(series, "cpu pressure")
    check.must_fail("the hog", goes_without, series, "tcp cpu-wait")
    return f"{shown(series)}; pressure by others {others:.0%}"


outweigh_others()
check.run([(a_hog_comes_and_goes,)])
