# SPDX-License-Identifier: Apache-2.0
"""
In the guest: packets are received one by one (netdev_budget and dev_weight are 1), and others flood
the CPU of a server, so that ksoftirqd receives and the server waits for it. When it had the CPU the
kernel's own tracer says. Taken in the guest ("take FOLDER"), judged anywhere ("judge FOLDER").
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from lib import causes, check, diagnose, mini, netns, trace
from lib.intervals import clip, length, union
from lib.tracer import Tracer

NAME = "ksoftirqd"
OF_IT = "softirq", "other-receive"      # causes for which ksoftirqd has the CPU
UDP_SEGMENT, SEGMENTS, SENDS = 103, 60, 12
FIRST_S, EVERY_S = 0.2, 0.02     # a recording cannot know when the reader's first sleep began
ROUNDS = 1500
TRACED_NS = 1000        # the tracer's times are in us
OWN_NS = 20_000         # at most, from a message's arrival to its reader's waking: its own work
MORE = 1.25
LEAST = 100             # messages that have to wait for it


def sysctl(name, value):
    with open(f"/proc/sys/net/core/{name}", "w", encoding="ascii") as f:
        f.write(str(value))


def flood(net):
    """Without end: bursts of packets that nobody reads, more than one run of a softirq receives."""
    with netns.inside(net.reader):
        nobody = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        nobody.bind((net.address(4), 0))
    with netns.inside(net.sender):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_UDP, UDP_SEGMENT, 1)
    sender.connect(nobody.getsockname())
    time.sleep(FIRST_S)
    while True:
        for _ in range(SENDS):
            sender.send(bytes(SEGMENTS))
        time.sleep(EVERY_S)


def had_cpu(text):
    """[(begin, end)] of that thread's runs, from the tracer's lines; and its number."""
    runs, since, tid = [], None, 0
    for line in text.splitlines():
        found = re.search(r" (\d+)\.(\d{6}): sched_switch: .*prev_pid=(\d+) .* ==> "
                          r"next_comm=(\S+) next_pid=(\d+)", line)
        if not found:
            continue
        now = int(found[1]) * 1_000_000_000 + int(found[2]) * 1000
        if since is not None:
            runs.append((since, now))
            since = None
        if found[4].startswith(NAME):
            since, tid = now, int(found[5])
    return runs, tid


def flooding(net):
    """A process that floods."""
    pid = os.fork()
    if not pid:
        flood(net)
    return pid


def record_in_guest(folder, flooded):
    net, other = netns.veth(), netns.veth()
    # Its packets come one by one, whatever is sent at once.
    subprocess.run(["ip", "netns", "exec", other.sender, "ethtool", "-K", "sender0",
                    "tx-udp-segmentation", "off"], check=True)
    for name in "netdev_budget", "dev_weight":
        sysctl(name, 1)
    tracer = Tracer()
    tracer.write("trace_clock", "mono")
    tracer.event("sched/sched_switch", f'prev_comm ~ "{NAME}*" || next_comm ~ "{NAME}*"')
    server = mini.Mini(net, (), rounds=ROUNDS, gap_us=2000, connections=8, server_nice=19)
    observer = trace.Recording(*server.filter)
    pid = flooded and flooding(other)
    log = server.finish()
    if pid:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    observer.end()
    with open(f"{tracer.folder}/trace", encoding="ascii", errors="replace") as f:
        runs = had_cpu(f.read())
    tracer.end()
    shutil.copy(observer.file, f"{folder}/trace.hlat")
    with open(f"{folder}/log.json", "w", encoding="ascii") as f:
        json.dump([server.ready, log, observer.code, *runs], f)


# ---- anywhere ----

class Truth:
    """It had the CPU then; who else had is not known, but nothing else was injected."""

    def __init__(self, log, runs):
        self.log, self.usual, self.unrecorded = log, {}, []     # in the guest every core is recorded
        self.culprits = {"cpu-wait": None}
        self.surely = union((begin + TRACED_NS, end - TRACED_NS) for begin, end in runs)
        self.at_most = union((begin - TRACED_NS, end + TRACED_NS) for begin, end in runs)

    def of(self, one, begin, end):
        """As lib/causes.Truth's."""
        del one
        most = length(clip(self.at_most, begin, end))
        return {NAME: (length(clip(self.surely, begin + OWN_NS, end)), most),
                "head-of-line": (0, end - begin - most)}

    @staticmethod
    def right(*_):
        """Whom a part is told of is in its name already."""


def by_it(examples, tid):
    """With a part of its own for what `tid` had the CPU for."""
    out = []
    for example in examples:
        parts, its = [], 0
        for part in example["parts"]:
            ns = sum(c["ns"] for c in part["culprits"] if c["tid"] == tid)
            if part["cause"] in OF_IT and ns:
                its += ns
                part = {**part, "ns": part["ns"] - ns,
                        "culprits": [c for c in part["culprits"] if c["tid"] != tid]}
            parts.append(part)
        out.append({**example, "parts": [*parts, {"cause": NAME, "ns": its, "culprits": []}]})
    return out


def agreed(truth, d, tid, flooded):
    names, least = ((NAME,), LEAST) if flooded else ((), 0)
    examples = by_it(d.examples, tid)
    found = causes.agrees(truth, examples, d.granularity, names, least)
    causes.refused(truth, examples, d.granularity, names, least)
    if flooded:
        check.must_fail("another culprit", causes.agrees, truth,
                        by_it(causes.of_others(d.examples), tid), d.granularity, names, least)
    return found


def judged(folder, flooded):
    with open(f"{folder}/log.json", encoding="ascii") as f:
        ready, document, code, runs, tid = json.load(f)
    log = mini.Log(ready, document)
    t = trace.Trace(f"{folder}/trace.hlat", code)
    check.equal("exit code of record", code, 0)
    check.equal("messages", len(t.messages), len(log.served))
    truth = Truth(log, runs)
    waited = sum(truth.of(None, m.first, m.pieces[-1].end)[NAME][0] > causes.FLOOR_NS
                 for m in t.messages)
    d = diagnose.Diagnosis(f"{folder}/trace.hlat", max(int(waited * MORE), 100), code=(0, 3))
    check.equal("time that is charged twice or not at all", d.document["partition_error_ns"], 0)
    if not flooded:
        check.between("messages that waited for it", waited, 0, 2)
    return agreed(truth, d, tid, flooded)


def flooded_cpu(folder):
    return judged(folder, True)


def idle_cpu(folder):
    return judged(folder, False)


what, at = sys.argv[1:]
if what == "take":
    for name in "flooded", "quiet":
        os.mkdir(f"{at}/{name}")
        record_in_guest(f"{at}/{name}", name == "flooded")
    sys.exit()
check.run([(flooded_cpu, f"{at}/flooded"), (idle_cpu, f"{at}/quiet")])
