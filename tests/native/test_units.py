# SPDX-License-Identifier: Apache-2.0
"""Proves that culprits are named with the unit in which they ran: short-lived processes of one
command in a control group named as a service, which is gone before the recording ends; and beside
them, as a control, those of another command outside of it."""
import itertools
import os
import signal
import time

from lib import cgroups, check, diagnose, mini, netns, process, trace

AHEAD = "chrt", "--fifo", "5"   # above unrelated processes, below the jobs
TRAFFIC = {"connections": 16, "rounds": 1500, "every": 1, "gap_us": 1000}
SLOWEST = 200
LEAST = 5                       # processes of a command that delayed messages
DD = "dd if=/dev/zero of=/dev/null bs=256k count=60 status=none"
HEAD = "head -c 15M /dev/zero"


class Jobs:
    """A shell that starts a process after the other on the server's CPU, like cron, but faster."""

    def __init__(self, job, prefix=()):
        loop = (f"for i in $(seq 1000); do taskset -c {mini.CPU} chrt --fifo 10 {job} > /dev/null; "
                "sleep 0.02; done")
        self.process = process.start([*prefix, "sh", "-c", loop], start_new_session=True)

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def culprits_of(document):
    """The culprits of waits for a CPU, by command."""
    rows = itertools.chain.from_iterable(row["culprits"] for row in document["causes"]
                                         if row["cause"] == "cpu-wait")
    return {row["command"]: row for row in rows}


def remove(group):
    """The kernel lets a group go soon after its last process was waited for."""
    for _ in range(100):
        try:
            os.rmdir(group.folder)
            return
        except OSError as e:
            problem = e
            time.sleep(0.05)
    raise check.Unexpected(f"{group.folder} stays: {problem}")


@check.environment("jobs have to delay messages, and others can take the CPU instead")
def culprits_have_their_unit(net):
    group = cgroups.Group("cron.service")
    server = mini.Mini(net, AHEAD, **TRAFFIC)
    observer = trace.Recording(*server.filter)
    jobs = Jobs(DD, group.prefix()), Jobs(HEAD)
    server.finish()
    for one in jobs:
        one.end()
    remove(group)
    observer.end()
    d = diagnose.Diagnosis(observer.file, SLOWEST, code=(0, 3))
    found = culprits_of(d.document)
    for command in "dd", "head":
        check.true(f"{command} delayed messages: {list(found)}",
                   command in found and found[command]["processes"] >= LEAST)
    inside, outside = found["dd"], found["head"]
    unit = os.path.basename(group.name)
    check.equal("unit", inside["unit"], unit)
    check.equal("control group", inside["cgroup"], group.name)
    check.between("share of dd's time there", inside["place_share"], 0.9, 1)
    check.true(f"head ran elsewhere: {outside}", outside["unit"] != unit and
               outside["cgroup"] != group.name)
    check.true(f"a finding names it: {d.document['findings']}",
               any(f"processes, {unit}" in line for line in d.document["findings"]))
    return f"{inside['processes']} processes of dd in {unit}, {outside['processes']} of head not"


check.run([(culprits_have_their_unit, netns.veth())])
