# SPDX-License-Identifier: Apache-2.0
"""Proves that bad input and failures give a clear message and the documented exit code, and leave
files whole."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from lib import bpf, check, netns, process, watch
from lib.traffic import Traffic

USAGE, CANNOT, PARTIAL = 1, 2, 3


def hostlat(*args, limit_s=30, prefix=()):
    done = subprocess.run([*prefix, watch.HOSTLAT, *map(str, args)], capture_output=True, text=True,
                          timeout=limit_s, check=False)
    return done.returncode, done.stdout, done.stderr


def refused(codes, pattern, *args, prefix=()):
    code, out, err = hostlat(*args, prefix=prefix)
    check.true(f"exit code of {args}: expected {codes}, seen {code}, stderr {err!r}", code in codes)
    found = re.search(pattern, err, re.I)
    check.true(f"message of {args}: expected /{pattern}/, seen {err!r}", found)
    check.equal(f"stdout of {args}", out, "")
    check.true(f"message of {args} is short: {err!r}", len(err.splitlines()) <= 6)


def unknown_names():
    refused((USAGE,), "stage.*nosuch|nosuch.*stage", "watch", "--stages", "nosuch", "--count", 1)
    refused((USAGE, CANNOT), "nosuch0", "watch", "--ifname", "nosuch0", "--count", 1)
    refused((USAGE, CANNOT), "4194300", "watch", "--pid", 4194300, "--count", 1)
    refused((USAGE, CANNOT), "nosuchns", "watch", "--netns", "nosuchns", "--count", 1)
    refused((USAGE,), "port", "watch", "--port", "65536", "--count", 1)
    refused((USAGE,), "interval.*5x|5x.*interval", "watch", "--interval", "5x")
    refused((USAGE,), "nosuchoption", "watch", "--nosuchoption")
    refused((USAGE,), "--origin.*ingress", "watch", "--origin", "link", "--stages", "egress")


def no_permission():
    # A copy that anybody can run: the build folder may be root's alone.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = os.path.join(folder, "hostlat")
        subprocess.run(["install", "-m", "755", watch.HOSTLAT, copy], check=True)
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        done = subprocess.run([*nobody, copy, "watch", "--count", "1"], capture_output=True,
                              text=True, timeout=120, check=False)
    check.equal(f"exit code without permission, stderr {done.stderr!r}", done.returncode, CANNOT)
    what = re.search("CAP_BPF|sudo|root", done.stderr)
    check.true(f"message names what to do: {done.stderr!r}", what)


def with_capabilities(*names):
    """One interval on a port that nobody uses, as root with just these."""
    only = ["setpriv", "--inh-caps=-all", "--bounding-set=-all," + ",".join("+" + n for n in names)]
    options = ["--port", 1, "--count", 1, "--interval", "50ms", "--json"]
    return hostlat("watch", *options, prefix=only)


def few_capabilities():
    code, out, err = with_capabilities("bpf", "perfmon", "net_admin")
    check.equal(f"exit code with what watch needs, stderr {err!r}", code, 0)
    check.true(f"what is not proven is reported: {err!r}", "self-test" in err)

    code, out, err = with_capabilities("bpf", "perfmon")
    result = json.loads(out)
    missing = [b["stage"] for b in result["bindings"] if b["why"] not in (None, "not selected")]
    # fentry, where the kernel allows it, needs no CAP_NET_ADMIN
    expected = PARTIAL if missing else 0
    check.equal(f"exit code without {missing}, stderr {err!r}", code, expected)
    for stage in missing:
        messages = [r["message"] for r in result["reasons"]]
        check.true(f"a reason names {stage}: {messages}", any(stage in message for message in messages))

    code, out, err = with_capabilities("bpf")
    check.equal(f"exit code with too little, stderr {err!r}", code, CANNOT)
    check.true(f"the message names what is needed: {err!r}", "CAP_PERFMON" in err)


def little_memory():
    """The help, the message and the limit are of one mind."""
    help_text = " ".join(hostlat("watch", "--help-all")[1].split())
    of_one, least = watch.least_memory_kib()
    check.true(f"the help's range begins for one CPU: {help_text}", f"({of_one}K to" in help_text)
    refused((USAGE, CANNOT), f"{least}K", "watch", "--memory", f"{least - 1}K", "--count", 1)
    options = ["--count", 1, "--interval", "50ms", "--json"]
    code, _, err = hostlat("watch", "--memory", f"{least}K", *options)
    check.equal(f"exit code with {least}K, stderr {err!r}", code, 0)


def recorded(folder):
    path = os.path.join(folder, "recording.hlat")
    code, _, err = hostlat("watch", "--count", 3, "--interval", "100ms", "--json", "--record", path)
    check.equal(f"exit code of a recording, stderr {err!r}", code, 0)
    return path


def same_from_file(net, folder):
    path = os.path.join(folder, "same.hlat")
    traffic = Traffic(net, 4, "tcp", count=1000, gap_us=100)
    observer = watch.Watch(*traffic.filter, "--record", path)
    traffic.finish()
    live = observer.stop()
    code, out, err = hostlat("watch", "--json", *traffic.filter, "--from", path)
    check.equal(f"exit code of --from, stderr {err!r}", code, live.code)
    check.equal("bytes of --from", out, observer.out)


def damaged_files(folder):
    good = recorded(folder)
    with open(good, "rb") as f:
        data = f.read()
    bad = os.path.join(folder, "bad.hlat")
    half = len(data) // 2
    damage = {"half": data[:half],
              "flipped": data[:half] + bytes([data[half] ^ 0x55]) + data[half + 1:]}
    for name, content in damage.items():
        with open(bad, "wb") as f:
            f.write(content)
        code, out, err = hostlat("watch", "--from", bad, "--json")
        check.equal(f"exit code of a {name} file, stderr {err!r}", code, PARTIAL)
        check.true(f"a reason in the result of a {name} file",
                   json.loads(out).get("reasons") or json.loads(out)["losses"])
    for name, content in {"foreign": b"#!/bin/sh\n" * 1000, "empty": b""}.items():
        with open(bad, "wb") as f:
            f.write(content)
        refused((CANNOT,), "bad.hlat", "watch", "--from", bad, "--json")
    missing = os.path.join(folder, "nosuch.hlat")
    refused((CANNOT,), "nosuch.hlat", "watch", "--from", missing, "--json")


def full_disk(folder):
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        path = os.path.join(disk, "recording.hlat")
        with open(os.path.join(disk, "filler"), "wb") as f:
            f.write(os.urandom(52 * 1024))
        code, out, err = hostlat("watch", "--count", 300, "--interval", "10ms", "--json",
                                 "--record", path)
        check.equal(f"exit code with a full disk, stderr {err!r}", code, PARTIAL)
        check.true(f"the message names the file: {err!r}", "recording.hlat" in err)
        json.loads(out)
        code, out, err = hostlat("watch", "--from", path, "--json")
        check.true(f"the file is readable: exit {code}, stderr {err!r}", code in (0, PARTIAL))
        check.true("... up to where it ends", json.loads(out)["interval"]["duration_ns"] > 0)
    finally:
        subprocess.run(["umount", disk], check=True)


def signals(net):
    for number in (signal.SIGTERM, signal.SIGINT):
        traffic = Traffic(net, 4, "tcp", count=1000)
        observer = watch.Watch(*traffic.filter)
        traffic.finish()
        result = observer.stop(number)
        check.equal(f"exit code after {number.name}", result.code, 0)
        check.counted("packets at read", result.count("read", "tcp"), 1000)


def early_signal():
    """At any time before measuring begins: a valid document or none at all."""
    for after_ms in (0, 1, 3, 10, 30, 100, 300):
        pipe = subprocess.PIPE
        command = [watch.HOSTLAT, "watch", "--json"]
        early = process.start(command, stdout=pipe, stderr=pipe, text=True)
        time.sleep(after_ms / 1000)
        early.terminate()
        out, err = early.communicate(timeout=120)
        if early.returncode == -signal.SIGTERM:
            check.equal("stdout when the signal came before main()", out, "")
            continue
        check.true(f"exit code {early.returncode} after {after_ms} ms, stderr {err!r}",
                   early.returncode in (0, PARTIAL))
        json.loads(out)


@check.environment("receive timestamps are of the whole machine, and other programs can "
                   "ask for them")
def timestamps(net):
    alone = bpf.nobody_else_stamps()
    traffic = Traffic(net, 4, "udp", count=1000)
    observer = watch.Watch(*traffic.filter, "--origin", "stack")
    check.true("receive timestamps are on during the run", bpf.receive_timestamps_on())
    traffic.finish()
    observer.stop()
    check.true("receive timestamps are off after", not alone or bpf.timestamps_off())


if os.geteuid() != 0:
    check.skip("needs root")
private = netns.loopback()
with tempfile.TemporaryDirectory() as scratch:
    check.run([(unknown_names,), (no_permission,), (few_capabilities,), (little_memory,),
               (same_from_file, private, scratch),
               (damaged_files, scratch), (full_disk, scratch), (signals, private), (early_signal,),
               (timestamps, private)])
