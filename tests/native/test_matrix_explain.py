# SPDX-License-Identifier: Apache-2.0
"""Proves that `explain` works where the kernel refuses one program, map or command to all that it
starts: parts still sum to the latency of the slowest requests, and each refused program whose data
is missing is named. Without a recording, the message says why and the exit code is 2."""
import contextlib
import json
import os
import re
import subprocess
import tempfile

from lib import check, netns, refusing, servers
from lib.trace import HOSTLAT

SEED = int(os.environ.get("HOSTLAT_SEED", "1"))
MOST = 2
SHORT = "--rate", "300", "--for", "2s", "--json"
PARTS = "client", "network", "server", "unexplained"
NAMED = re.compile(r"[^\n;]*; without it, [^\n]*")
usual = {}


def ran(net, url, refusals):
    """(exit code, what it said, the result or None)"""
    with tempfile.TemporaryDirectory() as folder:
        with netns.inside(net.sender):
            done = subprocess.run([HOSTLAT, "explain", url, "-o", folder, *SHORT], text=True,
                                  capture_output=True, timeout=120, check=False,
                                  env=refusing.environment(refusals))
        return done.returncode, done.stderr, json.loads(done.stdout) if done.stdout else None


@contextlib.contextmanager
def served(net):
    with netns.inside(net.reader), servers.server("memcached", net.address(4)) as (url, _):
        yield url


def sums(requests):
    for one in requests["each"]:
        check.equal(f"sum of the parts of {one}", sum(one[part + "_ns"] for part in PARTS),
                    one["latency_ns"])


def messages_missing(result, refusals):
    """Whether no message could be recorded; the reason names the stage."""
    reasons = [r for r in result["reasons"] if r["code"] == "no-messages"]
    if reasons:
        check.true(f"no messages, without need: {reasons}",
                   refusing.needed_to_record(HOSTLAT).keys() & set(refusals))
        check.true(f"which stage: {reasons}", "was not measured" in reasons[0]["message"])
    return bool(reasons)


def explained(net, *refusals):
    with served(net) as url:
        code, errors, result = ran(net, url, refusals)
    check.true(f"no line of a library: {errors!r}", "libbpf" not in errors)
    check.true(f"no advice that does not help: {errors!r}", "as root" not in errors)
    named = set(NAMED.findall(errors))
    always = usual.setdefault("named", named)
    if code == 2:
        check.true(f"it can explain nothing, without need: {errors}",
                   refusing.needed_to_record(HOSTLAT).keys() & set(refusals))
        check.true(f"it gives the reason: {errors}", re.search(r"record failed: .*\(", errors))
        return "explains nothing"
    check.true(f"exit code {code} is 0 or 3: {errors}", code in (0, 3))
    lost = sorted(named - always)
    check.true(f"what is lost is not named: {errors}",
               lost or not any(term.startswith("program=act_") and term not in refusing.SOME_READS
                               for term in refusals))
    requests = result["diagnose"]["requests"]
    check.true("slowest requests", requests["slowest"] > 0)
    check.equal("slowest", requests["slowest"], len(requests["each"]))
    check.equal("no request is explained", not requests["joined"], messages_missing(result, refusals))
    sums(requests)
    return "; ".join((f"{requests['joined']} of {requests['slowest']} joined",
                      *(each.strip() for each in lost)))


if os.geteuid() != 0:
    check.skip("needs root")
private = netns.veth()
with served(private) as at, tempfile.TemporaryDirectory() as scratch, netns.inside(private.sender):
    asked = refusing.asked(HOSTLAT, "explain", at, "-o", scratch, *SHORT)
check.run([(check.busy(explained), private),
           *((refusing.tabled("explain", check.busy(explained)), private, *each)
             for each in refusing.some(asked, MOST, SEED, always=["program=act_switch"]))])
