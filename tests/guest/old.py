# SPDX-License-Identifier: Apache-2.0
"""
In the guest: old.py HOSTLAT MKEVENTS MKLOAD MKTRACE MKCONNS

A kernel older than watch's programs need: watch and doctor say so, nothing is left in the kernel,
and what needs no programs works.
"""
import json
import os
import subprocess
import sys

from lib import bpf, check, process

HOSTLAT, *MAKERS = sys.argv[1:]
CLI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli")
NEEDS = "Linux 5.17"


def hostlat(*args):
    return subprocess.run([HOSTLAT, *args], capture_output=True, text=True, timeout=120, check=False)


def watch_refuses():
    before = bpf.objects()
    done = hostlat("watch", "--count", "1", "--json")
    check.equal(f"exit code, stderr {done.stderr!r}", done.returncode, 2)
    check.equal("stdout", done.stdout, "")
    for what in ("bpf_loop()", NEEDS):
        check.true(f"{what} is named: {done.stderr!r}", what in done.stderr)
    check.equal("what is left in the kernel", bpf.left_behind(before), [])


def doctor_names_the_hooks_used():
    rows = json.loads(hostlat("doctor", "--json").stdout)["capabilities"]
    loops = [r for r in rows if r["capability"] == "bpf_loop()"]
    check.equal("bpf_loop()", [(r["state"], r["takes"]) for r in loops], [("no", NEEDS)])
    hooks = [r for r in rows if r["area"] == "hook"]
    check.equal("hooks that can be used", [r for r in hooks if r["state"] != "no"], [])
    for name in ("link", "ip", "transport tcp", "transport udp", "socket tcp", "enqueued", "read tcp",
                 "read udp", "runnable", "running", "segment tcp", "qdisc tcp", "sent tcp", "acked tcp"):
        hooks_used = {r["takes"] for r in hooks if r["capability"] == name}
        check.true(f"{name} takes {hooks_used}", NEEDS in hooks_used)
    check.equal("the hook is there: tp_btf", [r["state"] for r in rows
                                              if r["capability"] == "tp_btf"], ["yes"])


def recordings_are_read():
    done = subprocess.run([os.path.join(CLI, "run"), *MAKERS, HOSTLAT,
                           *(os.path.join(CLI, "watch", case) for case in ("busy", "slow")),
                           os.path.join(CLI, "diagnose", "lock"),
                           os.path.join(CLI, "conns", "losses")],
                          capture_output=True, text=True, timeout=120, check=False)
    check.equal(f"exit code ({done.stdout} {done.stderr})", done.returncode, 0)


def load_measures():
    server = process.start([HOSTLAT, "serve", "127.0.0.1:7000"], stderr=subprocess.PIPE, text=True)
    check.true("serve is ready", "serving" in server.stderr.readline())
    done = hostlat("load", "synthetic://127.0.0.1:7000", "--rate", "50", "--for", "3s",
                   "--json")
    check.true(f"exit code {done.returncode} of load: {done.stderr!r}", done.returncode in (0, 3))
    requests = json.loads(done.stdout)["requests"]
    check.between("requests", requests["completed"], 75, 300)
    check.equal("of them, not answered", requests["scheduled"] - requests["completed"], 0)
    return f"{requests['completed']} requests"


check.run([(watch_refuses,), (doctor_names_the_hooks_used,), (recordings_are_read,),
           (load_measures,)])
