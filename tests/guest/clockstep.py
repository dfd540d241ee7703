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


def no_latency_jumps_with_the_clock(origin, protocol):
    examine(origin, protocol, *run(HOSTLAT, CLOCKSTEP, origin))


def a_frozen_offset_is_caught(origin, protocol):
    check.must_fail("a build with a frozen offset", examine, origin, protocol,
                    *run(FROZEN, CLOCKSTEP, origin))


if __name__ == "__main__":
    HOSTLAT, FROZEN, CLOCKSTEP = sys.argv[1:]
    check.run([(case, *stamped) for stamped in STAMPED
               for case in (no_latency_jumps_with_the_clock, a_frozen_offset_is_caught)])
