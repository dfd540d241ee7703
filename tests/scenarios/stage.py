# SPDX-License-Identifier: Apache-2.0
"""
Hosts (network namespaces) around the box (box.c), and the ends of connections on them (ends.c).
Everything is gone when a stage is left, however it is left short of SIGKILL; box and ends die with
this process even then.
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "native"))
from lib import netns, process  # noqa: E402  pylint: disable=wrong-import-position

BOX = os.environ.get("SCENARIO_BOX", "build/tests/scenarios/box")
ENDS = os.environ.get("SCENARIO_ENDS", "build/tests/scenarios/ends")
MTU = 1500
# A namespace starts with the machine's settings: these are what a scenario relies on.
SETTINGS = {
    "tcp_rmem": "4096 131072 6291456", "tcp_wmem": "4096 16384 4194304", "tcp_sack": "1",
    "tcp_dsack": "1", "tcp_ecn": "0", "tcp_early_retrans": "3", "tcp_recovery": "1",
    "tcp_frto": "2", "tcp_reordering": "3", "tcp_slow_start_after_idle": "1",
    "tcp_autocorking": "1", "tcp_no_metrics_save": "1", "tcp_timestamps": "1",
    "tcp_window_scaling": "1", "tcp_moderate_rcvbuf": "1", "tcp_tw_reuse": "2",
    "tcp_retries2": "15",
}
START_S = 60
LOGGED = ("drop", "hold", "mark", "stall", "sent", "came")


class Broken(Exception):
    """The stage itself didn't work: there is no truth."""


class Program:
    """A process whose lines of JSON go to a file, so that it never waits for us."""

    def __init__(self, args, namespace=None):
        self.output = tempfile.TemporaryFile()
        self.errors = tempfile.TemporaryFile()
        self.args = [str(word) for word in args]
        with netns.inside(namespace) if namespace else contextlib.nullcontext():
            self.process = process.start(self.args, stdin=subprocess.PIPE, stdout=self.output,
                                         stderr=self.errors)

    def lines(self):
        fd = self.output.fileno()
        text = os.pread(fd, os.fstat(fd).st_size, 0).decode()
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def broken(self, what):
        errors = os.pread(self.errors.fileno(), 4096, 0).decode().strip()
        return Broken(f"{' '.join(self.args)[:400]}: {what}: {errors}")

    def command(self, line):
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except OSError as e:
            raise self.broken(str(e)) from e

    def await_line(self, key, value, limit_s=START_S):
        """The last line that has it; it must come."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            found = [line for line in self.lines() if line.get(key) == value]
            if found:
                return found[-1]
            if self.process.poll() is not None:
                raise self.broken(f"ended with {self.process.returncode} before {value}")
            time.sleep(0.002)
        raise self.broken(f"no {value} within {limit_s} s")

    def wait(self, limit_s):
        """False if it still runs then."""
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            if not self.wait(3):
                self.process.kill()
                self.process.wait()
        self.process.stdin.close()


class End(Program):
    """A program of connections on a host; `done`: what each of them did, by their numbers."""

    def __init__(self, host, role, address, port, plan, options):
        words = []
        for name, value in options.items():
            if value is True:
                words += [f"--{name.replace('_', '-')}"]
            elif value not in (None, False):
                for each in value if isinstance(value, list) else [value]:
                    words += [f"--{name}", each]
        super().__init__([ENDS, role, address, port, plan, *words], host.namespace)
        self.host, self.role = host, role

    def of(self, what):
        return sorted((line for line in self.lines() if line["what"] == what),
                      key=lambda line: line["number"])

    @property
    def opened(self):
        return self.of("open")

    @property
    def done(self):
        return self.of("done")


def table(path):
    """A file of the kernel with lines of names and lines of numbers, by name."""
    with open(path, encoding="ascii") as f:
        rows = [line.split() for line in f]
    return {name: int(value) for names, values in zip(rows[::2], rows[1::2])
            for name, value in zip(names[1:], values[1:])}


class Host:
    def __init__(self, name, number, settings):
        self.name, self.number = name, number
        self.namespace = netns.make()
        self.v4, self.v6 = f"10.80.0.{number}", f"fd80::{number}"
        self.netns_inode = os.stat(self.file).st_ino
        with netns.inside(self.namespace):
            for key, value in {**SETTINGS, **settings}.items():
                with open(f"/proc/sys/net/ipv4/{key}", "w", encoding="ascii") as f:
                    f.write(value)

    @property
    def file(self):
        return f"/run/netns/{self.namespace}"

    def set_addresses(self):
        batch = (f"addr add {self.v4}/16 dev {self.name}\n"
                 f"addr add {self.v6}/64 dev {self.name} nodad\n")
        subprocess.run(["ip", "-n", self.namespace, "-batch", "-"], input=batch.encode(),
                       check=True)

    def acknowledge_at_once(self):
        """No acknowledgement of connections that are made later is delayed."""
        for family, network in (("-4", "10.80.0.0/16"), ("-6", "fd80::/64")):
            subprocess.run(["ip", "-n", self.namespace, family, "route", "change", network, "dev", self.name,
                            "proto", "kernel", *(["metric", "256"] if family == "-6" else
                                                 ["scope", "link", "src", self.v4]),
                            "quickack", "1"], check=True)

    def mib(self):
        """TCP's counters: of netstat and snmp."""
        with netns.inside(self.namespace):
            return {**table("/proc/thread-self/net/netstat"), **self.snmp()}

    @staticmethod
    def snmp():
        with open("/proc/thread-self/net/snmp", encoding="ascii") as f:
            names, values = [line.split()[1:] for line in f if line.startswith("Tcp:")]
        return dict(zip(names, map(int, values)))

    def device_drops(self):
        """Packets that its device lost before the box saw them."""
        with netns.inside(self.namespace):
            with open("/proc/thread-self/net/dev", encoding="ascii") as f:
                words = next(line.replace(":", " ").split() for line in f
                             if line.strip().startswith(f"{self.name}:"))
        return int(words[12])


class Stage:
    """
    with Stage({"a": {}, "b": {"tcp_ecn": "1"}}) as stage: hosts with their settings; stage.tell()
    adds queues, paths and rules; open() makes the devices' addresses usable.
    """

    def __init__(self, hosts, family=4):
        self.family, self.hosts, self.programs = family, {}, []
        self.box = None
        try:
            for number, (name, settings) in enumerate(hosts.items(), 1):
                self.hosts[name] = Host(name, number, settings)
            self.box = Program([BOX])
            for host in self.hosts.values():
                self.box.command(f"link {host.name} {host.file} {MTU} {host.v4} {host.v6}")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def queue(self, name, rate_mbit, packets, mark=0):
        self.box.command(f"queue {name} {int(rate_mbit * 1e6)} {packets} {mark}")

    def lossy(self, name, share, seed=1):
        """The queue, which must have a rate, loses that share of its packets at random."""
        self.box.command(f"lossy {name} {int(share * 1e6)} {seed}")

    def path(self, there, back, delay_ms, queue="-"):
        """One way."""
        self.box.command(f"path {there} {back} {int(delay_ms * 1e6)} {queue}")

    def rule(self, host, kind, first, last=None, action="drop", conn=0, port=0, hold_ms=0):
        """Adds a rule for the packets that host sends; see box.c."""
        self.box.command(f"rule {host} {conn} {port} {kind} {first} {last or first} {action} "
                         f"{int(hold_ms * 1e6)}")

    def open(self):
        self.box.command("go")
        self.box.await_line("act", "ready")
        for host in self.hosts.values():
            host.set_addresses()

    def address(self, host):
        host = self.hosts[host]
        return {4: host.v4, 6: host.v6, 46: f"::ffff:{host.v4}"}[self.family]

    def serve(self, host, plan, port=5000, **options):
        """Ready when this returns. Of v4-mapped ones, the server's socket takes both."""
        address = {4: "0.0.0.0", 6: "::", 46: "::"}[self.family]
        end = End(self.hosts[host], "serve", address, port, plan, options)
        self.programs.append(end)
        end.await_line("what", "ready")
        return end

    def call(self, host, target, plan, port=5000, **options):
        """Connected when this returns; the plan waits for begin()."""
        end = End(self.hosts[host], "call", self.address(target), port, plan,
                  {**options, "hold": True})
        self.programs.append(end)
        end.await_line("what", "ready")
        return end

    def stats(self):
        """Returns the box's {flows, queues, log, stats}; fails if the box itself missed a
        packet."""
        before = len([line for line in self.box.lines() if line["act"] == "stats"])
        self.box.command("stats")
        end = time.monotonic() + START_S
        while True:
            lines = self.box.lines()
            ends = [i for i, line in enumerate(lines) if line["act"] == "stats"]
            if len(ends) > before:
                break
            if time.monotonic() > end or self.box.process.poll() is not None:
                raise self.box.broken("no stats")
            time.sleep(0.002)
        lines = lines[:ends[-1] + 1]
        latest = lines[ends[-2] if before else 0:]
        lost = {name: host.device_drops() for name, host in self.hosts.items()}
        if lines[-1]["full"] or lines[-1]["cut"] or any(lost.values()):
            raise Broken(f"packets that no rule dropped: {lines[-1]}, devices {lost}")
        return {
            "flows": [line for line in latest if line["act"] == "flow"],
            "queues": {line["name"]: line for line in latest if line["act"] == "queue"},
            "log": [line for line in lines if line["act"] in LOGGED],
            "stats": lines[-1],
        }

    def close(self):
        for program in [*self.programs[::-1], *([self.box] if self.box else [])]:
            program.end()
        self.programs, self.box = [], None
        for host in self.hosts.values():
            netns.remove(host.namespace)
        self.hosts = {}
