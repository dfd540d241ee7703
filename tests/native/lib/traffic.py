# SPDX-License-Identifier: Apache-2.0
"""Starts the traffic program (traffic.c), which prints what its two processes saw."""
import json
import os
import subprocess

from lib import check, process

PROGRAM = os.environ.get("TRAFFIC", "build/tests/native/traffic")
HOG = os.environ.get("HOG", "build/tests/native/hog")
DELAY = os.environ.get("DELAY", "build/tests/native/delay")


class Traffic:
    """
    Two connected processes, held until finish(): a filter can name the reader's pid or port.
    `prefix`: words before the command.
    """

    def __init__(self, net, family, protocol, prefix=(), **options):
        args = [*prefix, PROGRAM, "--hold", *net.args(family),
                *(["--udp"] if protocol == "udp" else [])]
        for name, value in options.items():
            args.append("--" + name.replace("_", "-"))
            if value is not True:
                args.append(str(value))
        pipe = subprocess.PIPE
        self.process = process.start(args, stdin=pipe, stdout=pipe, text=True)
        ready = self.process.stdout.readline()
        check.true(f"traffic did not start: {' '.join(args)}", ready)
        self.__dict__.update(json.loads(ready))
        # Another namespace may use the same port.
        self.where = "--netns", net.reader
        self.filter = "--port", self.port, *self.where

    def finish(self):
        """Lets the traffic run to its end."""
        out, _ = self.process.communicate("\n")
        check.equal("exit code of the traffic program", self.process.returncode, 0)
        return json.loads(out)


class Delay:
    """Spins at a stage's hook (delay.bpf.c), for each packet of the traffic or for one."""

    def __init__(self, stage, spin_ns, traffic, net, only=0):
        inode = os.stat(f"/run/netns/{net.reader}").st_ino
        args = [DELAY, stage, spin_ns, traffic.port, traffic.reader_pid, inode, 100, only]
        pipe = subprocess.PIPE
        self.process = process.start(args, stdin=pipe, stdout=pipe, text=True)
        check.equal("what the delay program said", self.process.stdout.readline(), "ready\n")

    def finish(self):
        out, _ = self.process.communicate()
        return json.loads(out)


def outweigh_others():
    """Gives this test more of a CPU than others, where sessions share a CPU by session."""
    try:
        if os.getsid(0) != os.getpid():
            os.setsid()
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write("-10")
    except OSError:
        pass


def hog(cpu, seconds, name, **options):
    """Occupies a CPU at a priority above unrelated processes: it is what the reader must wait
    for."""
    return process.start(["nice", "-n", "-5", HOG, cpu, seconds, name], **options)
