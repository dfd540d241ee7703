# SPDX-License-Identifier: Apache-2.0
"""
An independent count of received packets (control.bpf.c), beside the kernel's own counters.

On some machines a tracepoint program does not run while one supervised task is current, and the
kernel counts no miss. A packet that the kernel counted and the control did not met no program of
hostlat at that hook either: an exact count may be short of that packet.
"""
import json
import os
import socket
import subprocess

PROGRAM = os.environ.get("CONTROL")
SO_NETNS_COOKIE = 71


class Control:
    """One process for a test; it counts in all namespaces that are added before their traffic."""

    def __init__(self):
        self.process, self.cookies, self.gone = None, {}, 0

    def start(self):
        """Starts the control. Guests and programs run by hand have none: nothing is excused."""
        if self.process or not PROGRAM:
            return
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([PROGRAM], stdin=pipe, stdout=pipe, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the control program did not start")

    def add(self, name, inside):
        """A namespace that has received nothing yet."""
        if self.process:
            with inside(name), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                value = s.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8)
            self.cookies[name] = int.from_bytes(value, "little"), inside

    def remove(self, name):
        """Detaches the control's program; missed() still counts what it missed so far."""
        if name in self.cookies:
            self.gone += self.missed_in([name])
            del self.cookies[name]

    def missed_in(self, names):
        if not names:
            return 0
        kernel = {name: received(name, self.cookies[name][1]) for name in names}
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        own = json.loads(self.process.stdout.readline())
        return sum(max(0, n - own.get(str(self.cookies[name][0]), 0)) for name, n in kernel.items())

    def missed(self):
        """Returns the packets that the kernel counted and the control did not, since the test
        began."""
        return self.gone + self.missed_in(list(self.cookies)) if self.process else 0


def received(name, inside):
    """Returns the IP packets that this namespace has received, by the kernel's count."""
    total = 0
    with inside(name):
        with open("/proc/thread-self/net/snmp", encoding="ascii") as f:
            names, values = [line.split() for line in f if line.startswith("Ip:")]
            total += int(values[names.index("InReceives")])
        with open("/proc/thread-self/net/snmp6", encoding="ascii") as f:
            total += sum(int(line.split()[1]) for line in f if line.startswith("Ip6InReceives "))
    return total


counts = Control()
