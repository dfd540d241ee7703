# SPDX-License-Identifier: Apache-2.0
"""Servers that people know, two network namespaces to have one in, and what it costs."""
import contextlib
import json
import math
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ADDRESS = "10.111.0.1"
NGINX = """
daemon off; master_process off; pid {0}/pid; error_log {0}/error;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path {0}; proxy_temp_path {0}; fastcgi_temp_path {0};
  uwsgi_temp_path {0}; scgi_temp_path {0};
  server {{ listen {1}:{2} reuseport; location / {{ return 200 "ok"; }} }}
}}
"""


def nginx_command(folder, address, port):
    """Writes nginx's configuration into the folder."""
    with open(f"{folder}/nginx.conf", "w", encoding="ascii") as f:
        f.write(NGINX.format(folder, address, port))
    return ["nginx", "-p", folder, "-c", f"{folder}/nginx.conf"]


def redis_command(folder, port):
    return ["redis-server", "--port", str(port), "--dir", folder, "--save", "", "--appendonly",
            "no", "--bind", "127.0.0.1"]


def pinned(which, *command):
    """The command on CPU number `which` of those that are allowed."""
    cpus = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(cpus[which % len(cpus)]), *map(str, command)]


@contextlib.contextmanager
def running(command, number=0):
    """(process, port) of the server command(folder, port), on CPU 1; numbers tell several apart."""
    with tempfile.TemporaryDirectory() as folder:
        port = 20000 + os.getpid() % 20000 + number
        words = command(folder, port)
        with subprocess.Popen(pinned(1, *words), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as p:
            try:
                time.sleep(0.5)
                if p.poll() is not None:
                    sys.exit(f"{words[0]} does not run")
                yield p, port
            finally:
                p.send_signal(signal.SIGTERM)


def memcached_command(port, address=ADDRESS):
    return ["memcached", "-u", "nobody", "-t", "1", "-l", address, "-p", str(port)]


def nghttpd_command(folder, port):
    """HTTP/2 without TLS; its page is a file."""
    with open(f"{folder}/index.html", "w", encoding="ascii") as f:
        f.write("ok")
    return ["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", folder, str(port)]


class Serving:
    """A running `hostlat serve` and, once it ended, its result."""

    def __init__(self, process, port):
        self.process, self.port, self.result = process, port, None

    def end(self):
        """Ends the server. Returns its result."""
        if not self.result:
            self.process.terminate()
            self.result = json.load(self.process.stdout)
        return self.result


@contextlib.contextmanager
def serving(hostlat, protocol, *options):
    """`hostlat serve` on CPU 1."""
    words = pinned(1, hostlat, "serve", "--protocol", protocol, *options, "--json", "127.0.0.1:0")
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        try:
            port = next((m[1] for m in (re.search(r"127\.0\.0\.1:(\d+)", line) for line in p.stderr) if m), None)
            if not port:
                sys.exit(f"{hostlat} serve does not run")
            yield Serving(p, int(port))
        finally:
            p.terminate()


class Cpu(NamedTuple):
    """Seconds of CPU time of a process, by mode."""
    user_s: float
    kernel_s: float

    @property
    def total_s(self):
        return self.user_s + self.kernel_s

    def since(self, before):
        return Cpu(self.user_s - before.user_s, self.kernel_s - before.kernel_s)


def cpu_of_children():
    """Returns the Cpu of the children that ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cpu(usage.ru_utime, usage.ru_stime)


def cpu_of_process(pid):
    """Returns the Cpu of a running process, all its threads, to 10 ms."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    hz = os.sysconf("SC_CLK_TCK")
    return Cpu(int(fields[11]) / hz, int(fields[12]) / hz)


def cpu_of(*command):
    """
    Returns (Cpu of the command on CPU 0, the text that it printed on standard output).
    Raises RuntimeError if it printed nothing; a non-zero exit code may be a verdict.
    """
    before = cpu_of_children()
    done = subprocess.run(pinned(0, *command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    spent = cpu_of_children().since(before)
    if not done.stdout.strip():
        raise RuntimeError(f"{os.path.basename(command[0])} printed nothing, exit code {done.returncode}: "
                           f"{done.stderr.strip()[-200:]}")
    return spent, done.stdout


def median_span(values, form="{:.2f}"):
    """Returns "median [least, greatest]" as text, each number in the form."""
    return (f"{form.format(statistics.median(values))} [{form.format(min(values))}, "
            f"{form.format(max(values))}]")


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
