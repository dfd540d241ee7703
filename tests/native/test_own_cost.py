# SPDX-License-Identifier: Apache-2.0
"""Proves that hostlat's estimate of its programs' cost agrees with the kernel's statistics of the
same run. Controls: a tenth and 20 times the cost must fail."""
import contextlib
import json
import os
import subprocess
import threading
import time

from lib import bpf, check, netns, process, watch
from lib.traffic import Traffic

DISTURBED = "hostlat's own CPU time per event grows where others use the caches and the CPUs"

FACTOR = 3      # between the estimate and the truth, either way; see hostlat-watch(1)
SWITCH = "/proc/sys/kernel/bpf_stats_enabled"
# From caches that still hold everything to such that hold nothing.
PACES = {
    "back to back": {"pattern": "exchange", "count": 20000},
    "every 0.1 ms": {"count": 5000, "gap_us": 100},
    "every 10 ms": {"count": 100, "gap_us": 10000},
}


def within(what, seen_ns, true_ns, factor, low=None):
    check.between(f"{what}, ns", seen_ns, true_ns / (low or factor), true_ns * factor)


def cost(pid, empty_ns):
    """Nanoseconds of its programs so far, without what the statistics take of each run."""
    return sum(ns - empty_ns * runs for ns, runs in bpf.cost_of(pid).values())


def filters(name, traffic):
    return {"port": traffic.filter, "pid": ("--pid", traffic.reader_pid), "all": ()}[name]


def watched(traffic, options):
    """One run of the traffic, with the statistics on: (own cost, nanoseconds in truth)."""
    observer = watch.Watch(*options)
    with bpf.statistics():
        empty_ns = bpf.empty_run_ns()
        before = cost(observer.process.pid, empty_ns)
        traffic.finish()
        # Waiting events of an interval cost little beside the traffic's, except with rare packets.
        true_ns = cost(observer.process.pid, empty_ns) - before
        own = observer.stop().document["own_cost"]
    check.true(f"time in the programs: {true_ns}", true_ns > 0)
    return own, true_ns


@check.environment(DISTURBED)
def estimate(net, protocol, filtered, pace):
    traffic = Traffic(net, 4, protocol, **PACES[pace])
    own, true_ns = watched(traffic, filters(filtered, traffic))
    check.equal("method", own["method"], "estimate")
    low = 5 if pace == "every 10 ms" else FACTOR    # caches are colder than in the self-test
    within("cost", own["bpf_ns"], true_ns, FACTOR, low)
    check.must_fail("a tenth", within, "cost", own["bpf_ns"] / 10, true_ns, FACTOR, low)
    check.must_fail("20 times as much", within, "cost", own["bpf_ns"] * 20, true_ns, FACTOR, low)
    return f"{own['bpf_ns'] / true_ns:.2f} of {true_ns / 1e6:.1f} ms"


def holds_statistics(pid):
    folder = f"/proc/{pid}/fd"
    held = set()
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            held.add(os.readlink(os.path.join(folder, name)))
    return "anon_inode:bpf-stats" in held


def statistics_stay_off(command, tests_itself):
    """Else the kernel's code would be rewritten again and again on a machine that works."""
    measuring = threading.Event()
    pipe = subprocess.PIPE
    observer = process.start([watch.HOSTLAT, command, "--json", "--interval", "50ms"],
                             stdout=pipe, stderr=pipe, text=True)
    wait = threading.Thread(daemon=True, target=lambda: observer.stderr.readline() and measuring.set())
    wait.start()
    before = False
    while not measuring.is_set() and observer.poll() is None:
        before |= holds_statistics(observer.pid)
    wait.join()
    end = time.monotonic() + 2
    while time.monotonic() < end:
        check.true("it holds them while it measures", not holds_statistics(observer.pid))
    observer.terminate()
    observer.communicate(timeout=watch.END_LIMIT_S)
    check.equal("exit code", observer.returncode, 0)
    check.equal("it held them during the self-test", before, tests_itself)


def set_switch(value):
    with open(SWITCH, "w", encoding="ascii") as f:
        f.write(value)


@contextlib.contextmanager
def administrator_wants_them():
    try:
        set_switch("1")
        yield
    finally:
        set_switch("0")


@check.environment(DISTURBED)
def statistics_are_used(net):
    with administrator_wants_them():
        traffic = Traffic(net, 4, "tcp", **PACES["every 0.1 ms"])
        own, true_ns = watched(traffic, traffic.filter)
    check.equal("method", own["method"], "statistics")
    within("cost", own["bpf_ns"], true_ns, 1.3)
    return f"{own['bpf_ns'] / true_ns:.2f}"


def few_capabilities():
    """With an administrator's statistics, the self-test needs no CAP_SYS_ADMIN."""
    caps = "bpf", "perfmon", "net_admin"
    only = ["setpriv", "--inh-caps=-all", "--bounding-set=-all," + ",".join("+" + c for c in caps)]
    options = ["--port", "1", "--count", "1", "--interval", "100ms", "--json"]

    def run():
        done = subprocess.run([*only, watch.HOSTLAT, "watch", *options], capture_output=True,
                              text=True, timeout=120, check=False)
        check.equal(f"exit code, stderr {done.stderr!r}", done.returncode, 0)
        return json.loads(done.stdout)["own_cost"], "were not tested" in done.stderr

    own, unproven = run()
    check.equal("own cost without", (own["bpf_ns"], own["method"], unproven), (None, None, True))
    check.true(f"why: {own['why']}", "CAP_SYS_ADMIN" in own["why"])
    with administrator_wants_them():
        own, unproven = run()
    check.equal("own cost with", (own["method"], own["why"], unproven), ("statistics", None, False))
    check.true(f"it is more than nothing: {own}", own["bpf_ns"] > 0)


def unknown(net):
    """The self-test's packets don't come by that interface: what a measured one costs is unknown."""
    traffic = Traffic(net, 4, "tcp", count=1000)
    result = watch.Watch("--ifname", "reader0", *traffic.filter)
    traffic.finish()
    result = result.stop()
    own = result.document["own_cost"]
    check.counted("packets", result.count("read", "tcp"), 1000)
    check.equal("own cost", (own["bpf_ns"], own["fraction"], own["method"]), (None, None, None))
    check.true(f"why: {own['why']}", "--ifname" in own["why"])


with open(SWITCH, encoding="ascii") as switch:
    if switch.read().strip() != "0":
        check.skip("kernel.bpf_stats_enabled is set already")
loopback = netns.loopback()
FILTERS = "port", "pid", "all"
cases = [(estimate, loopback, "tcp", filtered, pace) for filtered in FILTERS for pace in PACES]
# Cases with UDP, each filter and each pace once.
cases += [(estimate, loopback, "udp", filtered, pace)
          for i, filtered in enumerate(FILTERS) for j, pace in enumerate(PACES) if check.LONG or i == j]
check.run([*cases, (statistics_stay_off, "watch", True), (statistics_stay_off, "conns", False),
           (statistics_are_used, loopback), (few_capabilities,), (unknown, netns.veth())])
