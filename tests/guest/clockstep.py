# SPDX-License-Identifier: Apache-2.0
"""In the guest: clockstep.py HOSTLAT FROZEN CLOCKSTEP

While the clock jumps by an hour and back, and TAI by 37 s, no latency from the kernel's real-time
stamps is above 10 s, and next to none is missing. FROZEN is hostlat built to keep the offset that it
read first: the same check has to refuse it.
"""
import json
import subprocess
import sys

from lib import check, watch

LONGEST_NS = 10_000_000_000
PORT = 7000     # clockstep's
STAMP_ORIGINS = ("stack", "deliver")


def run(hostlat, clockstep):
    """(result of watch, what the applications saw) of one run of clockstep."""
    watch.HOSTLAT = hostlat
    running = watch.Watch("--origin", "stack", "--port", PORT)
    own = subprocess.run([clockstep], check=True, stdout=subprocess.PIPE, text=True).stdout
    return running.stop(), json.loads(own)


def longest_ns(row):
    dists = [row, row.get("step"), row.get("youngest")]
    return max((d["max_ns"] or 0 for d in dists if d), default=0)


def examine(result, own):
    for row in result.document["stages"]:
        check.between(f"longest {row['stage']} {row['protocol']} from {row['origin']}, ns",
                      longest_ns(row), 0, LONGEST_NS)
    for protocol in "tcp", "udp":
        rows = [r for r in result.rows("read", protocol) if r["origin"] in STAMP_ORIGINS]
        counted = sum(r["count"] for r in rows)
        # Those in flight over a jump may be counted as lost instead.
        check.between(f"{protocol} reads; {result.brief()}", counted, 0.9 * own[protocol], own[protocol])


def good(hostlat, clockstep):
    examine(*run(hostlat, clockstep))


def broken(frozen, clockstep):
    check.must_fail("a build with a frozen offset", examine, *run(frozen, clockstep))


if __name__ == "__main__":
    HOSTLAT, FROZEN, CLOCKSTEP = sys.argv[1:]
    check.run(("no latency jumps with the clock", good, HOSTLAT, CLOCKSTEP),
              ("a frozen offset is caught", broken, FROZEN, CLOCKSTEP))
