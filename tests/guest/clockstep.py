# SPDX-License-Identifier: Apache-2.0
"""Proves that stamps survive clock steps; runs in the guest: clockstep.py HOSTLAT FROZEN CLOCKSTEP

While the clock jumps by an hour and back, and TAI by 37 s, no latency from the kernel's real-time
stamps is above 10 s, and next to none is missing. FROZEN is hostlat built to keep the offset that it
read first: the same check has to refuse it. hostlat reports both jumps of an hour as steps, and the times
of day are right after them.
"""
import json
import re
import subprocess
import sys
import time

from lib import check, watch

LONGEST_NS = 10_000_000_000
PORT = 7000     # clockstep's
READING_NS = 10_000_000     # between two readings in an emulated guest
# Over loopback the kernel stamps datagrams when the stack receives them; a TCP packet comes with its
# sender's stamp, and is stamped at local delivery.
STAMPED = (("stack", "udp"), ("deliver", "tcp"))


def run(hostlat, clockstep, origin):
    """(result of watch, what the applications saw) of one run of clockstep."""
    watch.HOSTLAT = hostlat
    running = watch.Watch("--origin", origin, "--port", PORT)
    own = subprocess.run([clockstep], check=True, stdout=subprocess.PIPE, text=True).stdout
    return running.stop(), json.loads(own)


def longest_ns(row):
    dists = [row, row.get("step"), row.get("youngest")]
    return max((d["max_ns"] or 0 for d in dists if d), default=0)


def examine(origin, protocol, result, own):
    for row in result.document["stages"]:
        check.between(f"longest {row['stage']} {row['protocol']} from {row['origin']}, ns",
                      longest_ns(row), 0, LONGEST_NS)
    counted = sum(r["count"] for r in result.rows("read", protocol) if r["origin"] == origin)
    # Those in flight over a jump may be counted as lost instead.
    check.between(f"{protocol} reads; {result.brief()}", counted, 0.9 * own[protocol], own[protocol])


def offset_now_ns():
    """CLOCK_REALTIME less CLOCK_MONOTONIC, by the reading of 20 that took the shortest time."""
    def one():
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        realtime = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        return after - before, realtime - (before + after) // 2

    return min(one() for _ in range(20))[1]


def steps_are_reported(result):
    steps = re.findall(r"clock was stepped by (.*?) (?:within|at) ", " ".join(result.document["findings"]))
    check.equal("reported steps", steps, ["+3 600 s", "-3 600 s"])
    interval = result.document["interval"]
    offset_ns = interval["to_realtime_ns"] - interval["to_ns"]
    check.between("realtime less monotonic, ns from what they are now", offset_ns - offset_now_ns(),
                  -READING_NS, READING_NS)


def no_latency_jumps_with_the_clock(origin, protocol):
    result, own = run(HOSTLAT, CLOCKSTEP, origin)
    examine(origin, protocol, result, own)
    steps_are_reported(result)


def a_frozen_offset_is_caught(origin, protocol):
    check.must_fail("a build with a frozen offset", examine, origin, protocol,
                    *run(FROZEN, CLOCKSTEP, origin))


if __name__ == "__main__":
    HOSTLAT, FROZEN, CLOCKSTEP = sys.argv[1:]
    check.run([(case, *stamped) for stamped in STAMPED
               for case in (no_latency_jumps_with_the_clock, a_frozen_offset_is_caught)])
