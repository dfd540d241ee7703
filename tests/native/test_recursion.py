# SPDX-License-Identifier: Apache-2.0
"""Proves that a program that the kernel skips because it would interrupt itself is counted as
`recursion`. Closing sockets drops their datagrams in a process; received packets without room are
dropped in a softirq, which may interrupt it. Control: the same packets, without a process to
interrupt."""
import os
import subprocess
import sys

from lib import check, control, netns, watch

SECONDS = 2
DISTURBED = "the recursion needs a softirq that interrupts another CPU's purge at the right time"
WORK, OTHER = 1, 0      # CPUs

FLOOD = """
import os, socket, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.monotonic() + float(sys.argv[2])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.bind(("127.0.0.1", 0))
    while time.monotonic() < end:
        for _ in range(100):
            s.sendto(b"x" * 500, s.getsockname())
"""

PURGE = """
import os, socket, sys, time

os.sched_setaffinity(0, {int(sys.argv[1])})
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for _ in range(8):
        a.send(b"")
    b.close()
    a.close()
"""


def dropped(net):
    """By the kernel's own count."""
    with netns.inside(net.reader), open("/proc/thread-self/net/snmp", encoding="ascii") as f:
        lines = [line.split() for line in f if line.startswith("Udp:")]
    return int(dict(zip(*lines))["RcvbufErrors"])


def run(purge):
    net = netns.loopback()
    steered = subprocess.run(
        ["ip", "netns", "exec", net.reader, "sh", "-c",
         f"echo {1 << WORK:x} > /sys/class/net/lo/queues/rx-0/rps_cpus"], check=False)
    if steered.returncode:
        check.skip("received packets can't be steered to a CPU here (RPS)")
    observer = watch.Watch("--netns", net.reader)
    with netns.inside(net.reader):
        commands = [(FLOOD, OTHER)] + ([(PURGE, WORK)] if purge else [])
        started = [subprocess.Popen([sys.executable, "-c", code, str(cpu), str(SECONDS)])
                   for code, cpu in commands]
    for each in started:
        check.equal("exit code", each.wait(), 0)
    result = observer.stop()
    return result, dropped(net), result.dropped("SOCKET_RCVBUFF")


@check.environment(DISTURBED)
def skipped():
    result, of_kernel, seen = run(purge=True)
    lost = result.lost("recursion")
    check.between(f"skipped runs ({result.brief()})", lost, 1, of_kernel)
    check.between("drops seen, of the kernel's", seen, of_kernel * 0.8, of_kernel)
    check.equal("exit code", result.code, 3)
    return f"{lost} runs skipped, {seen} of {of_kernel} drops seen"


@check.environment(DISTURBED)
def without_process():
    """Control: the same packets, and nobody whom they interrupt."""
    before = control.counts.missed()
    result, of_kernel, seen = run(purge=False)
    check.equal(f"skipped runs ({result.brief()})", result.lost("recursion"), 0)
    missed = max(0, control.counts.missed() - before)
    check.between(f"drops seen, of the kernel's less {missed} that no program could see", seen,
                  (of_kernel - missed) * 0.99, of_kernel)
    return f"{seen} of {of_kernel} drops seen, {missed} met no tracepoint program"


if os.geteuid() != 0:
    check.skip("needs root")
if (os.cpu_count() or 1) < 2:
    check.skip("needs two CPUs")
check.run([(skipped,), (without_process,)])
