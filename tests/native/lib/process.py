# SPDX-License-Identifier: Apache-2.0
"""Processes that don't outlive the case that started them, nor a test that is killed."""
import contextlib
import subprocess
import time

_started = []


def go_first():
    """This program and what it starts go before what else runs: where each session has its own share
    of the CPUs, niceness counts only within one."""
    with contextlib.suppress(FileNotFoundError), \
         open("/proc/self/autogroup", "w", encoding="ascii") as f:
        f.write("-20")


def start(args, stays=False, **options):
    """Starts a process as subprocess.Popen() does. It ends with the test case, or with the test
    program if it stays."""
    command = ["setpriv", "--pdeathsig", "KILL", *map(str, args)]
    process = subprocess.Popen(command, **options)
    if not stays:
        _started.append(process)
    return process


def await_ready(process, number, limit_s=30):
    """Waits until the process has blocked that signal: before, the signal would end it."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            blocked = next((line.split()[1] for line in f if line.startswith("SigBlk")), "0")
        if int(blocked, 16) >> (number - 1) & 1:
            return
        time.sleep(0.001)


def end_all():
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
        process.wait()
