# SPDX-License-Identifier: Apache-2.0
"""Proves that `explain` tells servers that limit their connections in a known way (lib/limited.py)
from others, and that the thread that they waited for did what it is known to do. `compare` finds
the difference of two such runs; the control is two runs that are alike, in which it must find
none."""
import contextlib
import json
import os
import signal
import subprocess
import sys

from lib import check, netns, process, servers
from lib.explain import Explain
from lib.trace import HOSTLAT

DISTURBED = "the classes' shares of time depend on when both ends get a CPU"

LIMITED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", "limited.py")
STORES = "--rate", "20", "--for", "4s", "--connections", "2", "--workload", "keys=10,read=0,value=200000"
# Requests in bursts of 11 to 58, a fixed schedule: every few replies a request follows at once and
# acknowledges them, which shows how long the path is. Where seven lone replies in a row are
# acknowledged after 40 ms, as with single requests, the path might be that long, and hostlat
# rightly says that it does not know whether acknowledgements are delayed.
ASKS = ("--rate", "60", "--for", "4s", "--connections", "4", "--arrival", "onoff:50ms:400ms",
        "--seed", "2")
AHEAD = "nice", "-n", "-15"     # priority above unrelated processes
HELD, AT_MOST = 0.3, 0.05   # shares of the time of what is there, and of what isn't
DOES = 0.7                  # share of the thread's time


@contextlib.contextmanager
def limited(how, scheme, net):
    address = net.address(4)
    port = servers.free_port(address)
    process.start([*AHEAD, sys.executable, LIMITED, how, address, str(port)])
    servers.wait_for(port, address)
    yield f"{scheme}://{address}:{port}"


def explained(how, scheme, net, *options):
    with netns.inside(net.reader), limited(how, scheme, net) as url:
        it = Explain(net, url, *options)
        it.finish()
    return it


def ends(it):
    check.equal("why there are no limits", it.document["limits"]["why"], None)
    return {end["end"]: end for end in it.document["limits"]["ends"]}


def share(it, end, what):
    return ends(it)[end]["share"][what]


def held(it):
    """
    Nagle held the second write until the client's delayed acknowledgement, but for the first ones
    of a connection, which are not delayed. Those of the last replies before a pause hold nothing.
    """
    server, client = ends(it)["server"]["events"], ends(it)["client"]["events"]
    requests = it.document["load"]["requests"]["completed"]
    check.between("share of delayed-ack", share(it, "server", "delayed-ack"), HELD, 1)
    check.between("data was held", server["delayed_acks_harmful"], requests / 2,
                  min(requests, client["delayed_acks"]) + 2)
    classes = {each["class"] for each in it.document["conns"]["problems"] if each["harmful"]}
    check.true(f"problems: {classes}", {"delayed-ack", "nagle"} <= classes)
    check.true("it is reported", any("nagle: " in line for line in it.document["findings"]))


def not_held(it):
    check.between("share of delayed-ack", share(it, "server", "delayed-ack"), 0, AT_MOST)
    check.between("share of the application", share(it, "server", "sender-app"), 0.9, 1)
    check.equal("data was held", ends(it)["server"]["events"]["delayed_acks_harmful"], 0)


def counts(it):
    """Both ends of every connection, and no other one."""
    each = it.document["conns"]["connections"]
    ports = {each_one["local"].rsplit(":", 1)[1] for each_one in each} | \
            {each_one["remote"].rsplit(":", 1)[1] for each_one in each}
    n = ends(it)["server"]["connections"]
    check.equal("connections of the client", ends(it)["client"]["connections"], n)
    check.equal("connections in all", len(each), 2 * n)
    check.equal("ports", len(ports), n + 1)


@check.environment(DISTURBED)
def delayed_acks_are_found(net):
    with_them, without = (explained(how, "http", net, *ASKS) for how in ("split", "at-once"))
    for it in with_them, without:
        counts(it)
    held(with_them)
    not_held(without)
    check.must_fail("a server that writes once", held, without)
    check.must_fail("one that writes twice", not_held, with_them)
    return f"{share(with_them, 'server', 'delayed-ack'):.1%} and {share(without, 'server', 'delayed-ack'):.1%}"


def reader(it):
    """Returns the thread that was waited for longest among those that did not read."""
    found = [each for each in it.document["limits"]["responsible"] if each["duty"] == "read"]
    check.true(f"who did not read: {it.document['limits']['responsible']}", found)
    check.equal("whose it is", found[0]["end"], "server")
    check.equal("why it is not known what it did", found[0]["why"], None)
    return found[0]["doing"]


def part(it, states):
    profile = reader(it)
    return sum(profile["state_ns"][state] for state in states) / profile["duration_ns"]


def does(it, states, field, call):
    profile = reader(it)
    check.equal("sum of its states", sum(profile["state_ns"].values()), profile["duration_ns"])
    check.between(f"share of {states} ({profile['state_ns']})", part(it, states), DOES, 1)
    most = max(profile["calls"], key=lambda each: each[field])
    check.equal("where it was", most["call"], call)


SLEEPS = ("asleep",), "asleep_ns", "clock_nanosleep"
WORKS = ("on-cpu", "interrupted", "cpu-wait"), "on_cpu_ns", None    # others want the CPUs, too


@check.environment(DISTURBED)
def a_reader_that_does_not_read(net):
    """One connection each: what one of them does holds up no other one."""
    options = [*STORES[:5], "1", *STORES[6:]]
    sleeps, works = (explained(how, "memcached", net, *options) for how in ("sleeps", "works"))
    for it in sleeps, works:
        check.between("share of the receiver's window", share(it, "client", "receiver-window"), HELD, 1)
    does(sleeps, *SLEEPS)
    does(works, *WORKS)
    check.must_fail("one that works for one that sleeps", does, works, *SLEEPS)
    check.must_fail("one that sleeps for one that works", does, sleeps, *WORKS)
    return f"{part(sleeps, SLEEPS[0]):.0%} asleep, {part(works, WORKS[0]):.0%} at work"


def compared(a, b):
    done = subprocess.run([HOSTLAT, "compare", a.folder.name, b.folder.name, "--json"],
                          capture_output=True, text=True, timeout=120, check=False)
    check.true(f"compare: {done.returncode} {done.stderr}", done.returncode in (0, 3))
    return {(row["end"], row["what"]): row for row in json.loads(done.stdout)["limits"]["rows"]}


def differs(rows):
    row = rows["server", "delayed-ack"]
    check.equal("significant", row["significant"], True)
    check.between("difference", row["difference"], HELD, 1)
    check.true("its interval", row["lo"] <= row["difference"] <= row["hi"] and row["lo"] > 0)


@check.environment(DISTURBED)
def compare_finds_it(net):
    plain, again, split = (explained(how, "http", net, *ASKS) for how in ("at-once", "at-once", "split"))
    differs(compared(plain, split))
    check.must_fail("two alike", differs, compared(plain, again))


def without(it, why):
    check.equal("why", it.document["limits"]["why"], why)
    check.equal("ends", it.document["limits"]["ends"], None)
    check.true("there is no document", "conns" not in it.document)
    check.true("it is reported", any("What limits the connections: n/a" in line for line in it.document["findings"]))


@check.busy
def switched_off_or_failed(net):
    """The rest is explained; and of what an earlier run kept nothing is told again."""
    with netns.inside(net.reader), servers.server("memcached", net.address(4)) as (url, _):
        plain, off = Explain(net, url, *ASKS[:2], "--for", "1s"), None
        plain.finish()
        counts(plain)
        off = Explain(net, url, *ASKS[:2], "--for", "1s", "--no-conns", folder=plain.folder)
        off.finish()
    without(off, "--no-conns")
    check.true("no recording of them", not os.path.exists(off.path("conns.hlat")))
    check.true("it is no reason", "connections-not-measured" not in off.reasons)
    os.mkdir(off.path("conns.hlat"))
    with netns.inside(net.reader), servers.server("memcached", net.address(4)) as (url, _):
        failed = Explain(net, url, *ASKS[:2], "--for", "1s", folder=plain.folder)
        failed.finish()
    check.true(f"why: {failed.document['limits']['why']}", "conns.hlat" in failed.document["limits"]["why"])
    without(failed, failed.document["limits"]["why"])
    check.true("it is a reason", "connections-not-measured" in failed.reasons)
    check.equal("exit code", failed.code, 3)
    return failed.document["limits"]["why"]


def conns_of(it):
    """The process of `hostlat conns`: it measures before the load begins."""
    with open(f"/proc/{it.process.pid}/task/{it.process.pid}/children", encoding="ascii") as f:
        for pid in f.read().split():
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                if words.read().split(b"\0")[1:2] == [b"conns"]:
                    return int(pid)
    raise check.Unexpected("there is no hostlat conns")


@check.environment("it is killed while it measures, and when that begins depends on the CPU")
def ends_before_its_time(net):
    """Killed while it measures: the rest is explained, and half a recording is none."""
    with netns.inside(net.reader), servers.server("memcached", net.address(4)) as (url, _):
        it = Explain(net, url, *ASKS[:2], "--for", "3s")
        os.kill(conns_of(it), signal.SIGKILL)
        it.finish()
    without(it, "the command ended without an error message")
    check.true("no recording of them", not os.path.exists(it.path("conns.hlat")))
    check.true("it is a reason", "connections-not-measured" in it.reasons)
    return it.document["limits"]["why"]


if os.geteuid() != 0:
    check.skip("needs root")
loopback = netns.loopback()
check.run([
    (delayed_acks_are_found, loopback),
    (a_reader_that_does_not_read, loopback),
    (compare_finds_it, loopback),
    (switched_off_or_failed, loopback),
    (ends_before_its_time, loopback),
])
