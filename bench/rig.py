# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces, a server in one of them, and what it costs."""
import contextlib
import math
import os
import subprocess

ADDRESS = "10.111.0.1"


def memcached_command(port):
    return ["memcached", "-u", "nobody", "-t", "1", "-l", ADDRESS, "-p", str(port)]


@contextlib.contextmanager
def namespaces():
    tag = f"hlb{os.getpid()}"
    server, client = f"{tag}s", f"{tag}c"
    commands = [f"netns add {server}", f"netns add {client}",
                f"link add {tag}0 netns {server} type veth peer name {tag}1 netns {client}",
                f"-n {server} addr add {ADDRESS}/24 dev {tag}0",
                f"-n {client} addr add 10.111.0.2/24 dev {tag}1",
                f"-n {server} link set {tag}0 up", f"-n {client} link set {tag}1 up"]
    try:
        for command in commands:
            subprocess.run(["ip", *command.split()], check=True)
        yield server, client
    finally:
        for namespace in (server, client):
            subprocess.run(["ip", "netns", "del", namespace], check=False)


def inside(namespace, cpu, *command):
    return ["ip", "netns", "exec", namespace, "taskset", "-c", str(cpu), *command]


def cpu_ns(pid):
    """CPU time of a process with the precision of the scheduler, all its threads."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def median_interval(values):
    """Returns the median's interval, by ranks; with too few values for 95 %, their whole range."""
    ordered, n = sorted(values), len(values)
    outside, rank = 0.5 ** n, 0
    while outside + math.comb(n, rank + 1) * 0.5 ** n <= 0.025:
        rank += 1
        outside += math.comb(n, rank) * 0.5 ** n
    return ordered[rank], ordered[n - 1 - rank]
