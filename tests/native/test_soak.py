# SPDX-License-Identifier: Apache-2.0
"""Proves that long runs beside connections, namespaces and control groups that come and go all the
time keep their memory, descriptors and kernel objects constant after the beginning, and a recording
below its limit. HOSTLAT_SOAK_S sets the length, HOSTLAT_SOAK_HZ the connections per second; where
results are asked for, docs/results/soak.md has the table, of a day soak-day.md."""
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import tempfile
import time

from lib import cgroups, check, conns, crowd, netns, process, watch

RUN_S = float(os.environ.get("HOSTLAT_SOAK_S", 600 if check.LONG else 40))
DAY = RUN_S >= 86400
BUSY_HZ, FASTER = 25, 60     # connections of a busy host; in the short run 60 times as many
CHURN_HZ = int(os.environ.get("HOSTLAT_SOAK_HZ", BUSY_HZ * FASTER))
ROUND_S = 3 * BUSY_HZ * FASTER / CHURN_HZ
INTERVAL = "60s" if DAY else "1s"
DATE = os.environ.get("HOSTLAT_DATE") or time.strftime("%Y-%m-%d", time.gmtime())    # not that of a guest
SIZE_LIMIT = 32 << 20
GUEST = """ The guest's clock counts instructions and skips
the time in which nothing runs: a day of it takes about an hour."""
# Growth allowed between the end of the first third and the end of the run.
MEMORY_KB, MEMORY_SHARE, FILES, OBJECTS = 2048, 0.05, 3, 3
# `conns` keeps each connection of a run, up to this many: its memory is flat afterwards.
CONNS, KEPT = "conns --json-lines", 262144


class Observer:
    """One of hostlat's commands that runs for as long as all this takes."""

    def __init__(self, name, folder, *options):
        self.name, self.out = name, os.path.join(folder, name.split()[0])
        self.process = process.start([watch.HOSTLAT, *name.split(), *options], text=True,
                                     stdout=open(self.out, "w", encoding="utf-8"),
                                     stderr=subprocess.PIPE)
        conns.measuring(self.process)

    def state(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            memory = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
        return memory, len(os.listdir(f"/proc/{pid}/fd"))

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=120)
        check.true(f"{self.name} ended with {self.process.returncode}: {errors}",
                   self.process.returncode in (0, 3))


def one_round(i):
    """A namespace and a control group, and connections in them; all are gone afterwards."""
    space, group = f"hostlat{os.getpid()}-soak{i}", cgroups.Group(f"soak{i}")
    netns.ip("netns", "add", space)
    netns.ip("-n", space, "link", "set", "lo", "up")
    it = crowd.Crowd(space)
    cgroups.write(f"{group.folder}/cgroup.procs", str(it.process.pid))
    it.command("churn", CHURN_HZ, int(ROUND_S * 1000), 20)
    made = len(it.list()) // 2
    it.leave()
    netns.ip("netns", "del", space)
    os.rmdir(group.folder)
    return made


def objects_of(pids):
    """Returns the kernel's BPF objects that these processes hold through their descriptors."""
    found = set()
    for pid in pids:
        for name in os.listdir(f"/proc/{pid}/fdinfo"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii",
                                                    errors="replace") as f:
                found |= set(re.findall(r"^(prog_id|map_id|link_id):\s*(\d+)$", f.read(), re.MULTILINE))
    return len(found)


def is_flat(what, values, more, share=0.0):
    third = len(values) // 3
    early, late = (statistics.median(part) for part in (values[third:2 * third], values[2 * third:]))
    check.between(f"{what}: {values}", late, 0, early + max(more, share * early))
    return early, late


def flat_memory(name, kb):
    if len(kb) < 9:
        return f"not yet {KEPT} connections"
    return "%d to %d kB" % is_flat(f"memory of {name}, kB", kb, MEMORY_KB, MEMORY_SHARE)


def soaked():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "run.hlat")
        observers = [
            Observer("watch --by cgroup,netns --json-lines", folder, "--interval", INTERVAL),
            Observer(CONNS, folder, "--interval", INTERVAL),
            Observer("record", folder, "-o", file, "--with", "messages", "--size-limit", str(SIZE_LIMIT)),
        ]
        states, kernel, made, end = {o.name: [] for o in observers}, [], [0], time.monotonic() + RUN_S
        while time.monotonic() < end or len(kernel) < 9:
            made.append(made[-1] + one_round(len(kernel)))
            for o in observers:
                if o.process.poll() is None:    # a recording that is full has ended
                    states[o.name].append(o.state())
            kernel.append(objects_of({o.process.pid for o in observers if o.process.poll() is None}))
        size = os.path.getsize(file)
        for o in observers:
            o.stop()
        for o in observers[:2]:
            with open(o.out, encoding="utf-8") as f:
                check.true(f"{o.name} has reported each interval", all(json.loads(line) for line in f))
    rows = []
    for name, seen in states.items():
        if len(seen) < 9:
            rows.append((name, "ended at its limit", ""))
            continue
        memory, files = zip(*seen)
        if name == CONNS:
            memory = [kb for kb, n in zip(memory, made[1:]) if n > 1.1 * KEPT]
        rows.append((name, flat_memory(name, memory),
                     "%d to %d" % is_flat(f"descriptors of {name}", files, FILES)))
    check.true("objects of theirs are found", min(kernel) > 0)
    objects = is_flat("objects of BPF in the kernel", kernel, OBJECTS)
    check.between("bytes of the recording", size, 1, SIZE_LIMIT)
    rows.append(("the kernel's BPF objects", "", "%d to %d" % objects))
    table(rows, made[-1], size, len(kernel))
    return f"{made[-1]} connections, {len(kernel)} namespaces; " + "; ".join(" ".join(row) for row in rows)


def table(rows, made, size, rounds):
    folder = os.environ.get("HOSTLAT_RESULTS")
    if not folder:
        return
    with open(os.path.join(folder, "soak-day.md" if DAY else "soak.md"), "w", encoding="utf-8") as f:
        f.write(f"# Soak{' of a day' if DAY else ''}\n\n"
                f"    HOSTLAT_SOAK_S=N HOSTLAT_RESULTS=docs/results, of the test soak{'-day' if DAY else ''} "
                f"(in make long)\n\n"
                f"{DATE}, kernel {os.uname().release}, {RUN_S:.0f} s: {made} "
                f"connections (some {CHURN_HZ} a second), {rounds}\nnetwork namespaces and control groups came and "
                f"went; the recording took {size} bytes of {SIZE_LIMIT}.\n"
                f"Medians of the second third of the run and of the last.{GUEST if DAY else ''}\n\n"
                "| | memory | descriptors, or objects |\n|---|---|---|\n")
        f.writelines(f"| {' | '.join(row)} |\n" for row in rows)


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(check.busy(soaked) if RUN_S < 300 else soaked,)])
