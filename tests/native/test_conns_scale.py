# SPDX-License-Identifier: Apache-2.0
"""Proves that every connection is reported once, with all its traffic: many that exist before
hostlat starts, beside others that come and go; connections that live 5 ms; and many that end at
once. Controls: one that is missing, reported twice, or has a byte too many must fail."""
import collections
import os
import time

from lib import check, crowd, netns

STEADY = 50000 if check.LONG else 2000      # connections: two sockets each
CHURN_HZ, CHURN_MS, LIFE_MS = 400, 6000, 5
AT_ONCE = 18000                             # their ends are thrice what the kernel's ring holds
BUDGET = ("--cpu-budget", "1%..60%")        # so that no calls have to be left out
FULL = 10000                                # sockets of which JSON tells all, see hostlat-conns(1)


def reported(document, namespace):
    """Those of our namespace by their cookies; none twice."""
    ours = [each for each in document["connections"] if each["netns"] == namespace]
    most, times = collections.Counter(each["cookie"] for each in ours).most_common(1)[0]
    check.equal(f"connections with cookie {most}", times, 1)
    return {int(each["cookie"]): each for each in ours}


def nothing_is_lost(document):
    check.equal("what is lost", (document["losses"], document["connections_left_out"]), ([], 0))


def all_of_it(it, socket, fin):
    """`fin`: bytes that its end may have counted for."""
    what = f"of socket {socket.cookie}, "
    check.equal(f"{what}bytes sent", it["bytes"]["sent"], socket.sent)
    check.between(f"{what}bytes received", it["bytes"]["received"], socket.received,
                  socket.received + fin)
    calls = it["calls"]
    if calls is None and it["followed_one_in"] > 1:
        return
    check.true(f"{what}calls are known", calls is not None)
    check.equal(f"{what}calls",
                (calls["send_bytes"], calls["recv_bytes"], calls["send"], calls["recv"]),
                (socket.sent, socket.received, socket.sends, socket.receives))


def same(by_cookie, sockets, closed):
    """Checks that exactly these connections are reported, and each one with all its traffic."""
    check.equal("sockets that are not reported", {s.cookie for s in sockets} - set(by_cookie), set())
    for socket in sockets:
        it = by_cookie[socket.cookie]
        check.equal(f"socket {socket.cookie} is closed", it["closed"], closed)
        if "calls" in it:
            all_of_it(it, socket, closed)


def many_with_others_that_come_and_go():
    """Some of the short connections end just before hostlat begins to measure, or while it
    begins."""
    space = netns.make()
    steady = crowd.crowds(space, STEADY)
    leaving, early, churn = (crowd.Crowd(space) for _ in range(3))
    leaving.command("open", 100)
    early.begin("churn", CHURN_HZ, 15000 if check.LONG else 5000, LIFE_MS)
    live = crowd.Live("--sort", "bytes", *BUDGET)
    for each in [*steady, leaving]:
        each.command("talk", 1, 10)
    churn.command("churn", CHURN_HZ, CHURN_MS, LIFE_MS)
    leaving.command("shut")
    early.end()
    document = live.stop()
    by_cookie = reported(document, space)
    before = [s for s in early.list() if s.closed < live.since]
    early = [s for s in early.list() if s.closed > live.since]
    through = [s for s in early if s.opened < live.since]
    early = [s for s in early if s.opened > live.since]
    sockets = [s for each in steady for s in each.list()]
    same(by_cookie, sockets, False)
    same(by_cookie, leaving.list(), True)
    same(by_cookie, [*churn.list(), *early], True)
    check.equal("sockets that were open when it began and are not reported",
                {s.cookie for s in through} - set(by_cookie), set())
    others = set(by_cookie) - {s.cookie for s in (*sockets, *leaving.list(), *churn.list(), *early,
                                                  *through, *before)}
    check.equal("connections that there never were", others, set())
    nothing_is_lost(document)
    check.equal("connections whose calls are left out",
                sum(each.get("followed_one_in", 1) > 1 for each in by_cookie.values()), 0)
    check.equal("connections that are reported completely",
                sum("calls" in each for each in document["connections"]),
                min(FULL, len(document["connections"])))
    check.equal("exit code", live.process.returncode, 0)
    return (f"{len(sockets)} sockets, and {len(churn.list()) + len(early)} of {LIFE_MS} ms; "
            f"{len(by_cookie)} told; own CPU {document['budget']['used']:.2%} of a core")


@check.environment("the ring must be read between two bursts by a thread that needs a CPU")
def many_that_end_at_once():
    """With so small a budget that hardly anything else reads the ring between two intervals."""
    space = netns.make()
    them = crowd.crowds(space, AT_ONCE)
    live = crowd.Live("--cpu-budget", "0.5%")
    for each in them:
        each.command("talk", 1, 10)
    time.sleep(1)
    for each in them:
        each.begin("shut")
    for each in them:
        each.end()
    time.sleep(0.5)
    document = live.stop()
    sockets = [socket for each in them for socket in each.list()]
    same(reported(document, space), sockets, True)
    nothing_is_lost(document)
    check.equal("exit code", live.process.returncode, 0)
    took = max(s.closed for s in sockets) - min(s.closed for s in sockets)
    return f"{len(sockets)} sockets within {took / 1e6:.0f} ms"


def the_check_can_fail():
    one = crowd.Socket(1, 2, 3, 10, 10, 1, 1)
    document = {"bytes": {"sent": 10, "received": 11}, "closed": True, "followed_one_in": 1,
                "calls": {"send": 1, "send_bytes": 10, "recv": 1, "recv_bytes": 10}}
    same({1: document}, [one], True)
    check.must_fail("one that is missing", same, {2: document}, [one], True)
    check.must_fail("one that is not closed", same, {1: {**document, "closed": False}}, [one], True)
    check.must_fail("a byte too many", same,
                    {1: {**document, "bytes": {"sent": 11, "received": 10}}}, [one], True)
    check.must_fail("unknown calls", same, {1: {**document, "calls": None}}, [one], True)
    twice = [{"cookie": "1", "netns": "n"}, {"cookie": "1", "netns": "n"}]
    check.must_fail("one that is reported twice", reported, {"connections": twice}, "n")


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(the_check_can_fail,), (many_with_others_that_come_and_go,), (many_that_end_at_once,)])
