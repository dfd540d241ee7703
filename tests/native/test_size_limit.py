# SPDX-License-Identifier: Apache-2.0
"""Proves that a recording ends at its size limit and says so, with counts that agree with the file.
Control: a recording that ends otherwise says nothing."""
import json
import os
import subprocess
import tempfile

from lib import check, netns, process, watch
from lib.traffic import Traffic

LIMIT = 64 << 10
PATIENCE_S = 60


def record(path, *options):
    command = [watch.HOSTLAT, "record", "-o", path, "--interval", "10ms", "--json", *options]
    return process.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read(path):
    done = subprocess.run([watch.HOSTLAT, "watch", "--from", path, "--json"], capture_output=True,
                          text=True, timeout=120, check=False)
    return done.returncode, json.loads(done.stdout)


def same(reported, found):
    for key in ("interval", "stages", "losses", "drops", "excluded"):
        check.equal(key, reported[key], found[key])


def limited(net):
    traffic = Traffic(net, 4, "tcp", count=100_000, gap_us=200, limit=PATIENCE_S)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "recording.hlat")
        hostlat = record(path, "--size-limit", "64K", "--with", "watch",
                         *map(str, traffic.filter))
        for line in hostlat.stderr:
            if "measuring" in line:
                break
        traffic.process.stdin.write("\n")
        traffic.process.stdin.flush()
        out, err = hostlat.communicate(timeout=PATIENCE_S)
        check.equal(f"exit code ({err})", hostlat.returncode, 0)
        size = os.path.getsize(path)
        code, found = read(path)
    reported = json.loads(out)
    check.equal("what ended it", reported["ended"], "size-limit")
    check.between("size of the file", size, LIMIT // 3, LIMIT)
    check.between("packets that it holds", sum(r["count"] for r in reported["stages"]), 100, 1 << 40)
    check.true(f"the end is reported: {reported['findings']}",
               any("size limit" in s for s in reported["findings"]))
    check.equal(f"exit code of who reads it ({found.get('reasons')})", code, 0)
    same(reported, found)
    return f"{size} bytes"


def timed():
    """Control: another end, of which no sentence is needed."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "recording.hlat")
        hostlat = record(path, "--port", "1", "--for", "200ms", "--size-limit", "10M")
        out, err = hostlat.communicate(timeout=PATIENCE_S)
        check.equal(f"exit code ({err})", hostlat.returncode, 0)
    reported = json.loads(out)
    check.equal("what ended it", reported["ended"], "time")
    check.equal("sentences", reported["findings"], [])


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(limited, netns.loopback()), (timed,)])
