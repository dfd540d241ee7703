# SPDX-License-Identifier: Apache-2.0
"""Proves that head-of-line blocking is kept apart from the host's own time: a box between two
namespaces holds some packets back, and knows how long those behind them waited. Controls: waits
that are 3 ms longer, and holes counted as the host's time, must fail."""
import os
import socket
import threading
import time

from lib import check, netns, watch
from lib.box import HOLD_S, Box, Path

DISTURBED = ("it compares a measured time with the time that the test itself took, and "
             "other threads can have the CPU in between")

N, BURST, GAP_S = 300, 10, 0.03
SIZE = 100
TOLERANCE_NS = 1_000_000


def send_all(sender):
    for i in range(N):
        sender.sendall(bytes([i & 0xff]) * SIZE)
        if i % BURST == BURST - 1:
            time.sleep(GAP_S)
    sender.shutdown(socket.SHUT_WR)


def run(path, hol, in_order=False):
    """(what watch saw, the box with what passed it). A packet may hold several messages."""
    with netns.inside(path.middle):
        box = Box(("point0", "point1"), in_order)
    try:
        server, sender, reader = path.connected()
        observer = watch.Watch("--port", server.getsockname()[1], "--netns", path.reader,
                               *(("--hol", hol) if hol else ()))
        thread = threading.Thread(target=send_all, args=(sender,), daemon=True)
        thread.start()
        got = 0
        while data := reader.recv(1 << 16):
            got += len(data)
        thread.join()
        check.equal("bytes received", got, N * SIZE)
        result = observer.stop()
        for end in (server, sender, reader):
            end.close()
    finally:
        box.end()
    check.equal(f"losses ({result.brief()})", result.document["losses"], [])
    for stage in "transport", "socket":
        check.counted(f"packets at {stage}", result.count(stage, "tcp"), box.count)
    return result, box


def below(values, limit):
    return sum(v <= limit for v in values)


def reported_as_waited(hol, waited_ns):
    """Each within 1 ms: at every edge as many as the box says, give or take those near it."""
    check.equal("messages behind a hole", hol["count"], len(waited_ns))
    apart_total = 0
    for b in hol["buckets"]:
        apart_total += b["count"]
        check.between(f"of them at most {b['le_ns']} ns", apart_total,
                      below(waited_ns, b["le_ns"] - TOLERANCE_NS),
                      below(waited_ns, b["le_ns"] + TOLERANCE_NS))


def own_times(result, clean):
    """
    The host's own, as without any hole, of which there is a run before and one after: no part of
    HOLD_S is in it.
    """
    enqueued, *others = (watch.quantile(r.row("enqueued", "tcp"), 0.5)["ns"]
                         for r in (result, *clean))
    check.between(f"median of enqueued ({others} ns without holes)", enqueued,
                  min(others) // 3, max(others) * 3)
    youngest = watch.quantile(result.row("read", "tcp")["youngest"], 0.5)
    check.between("median age of the last byte", youngest["ns"], 1, HOLD_S * 1e9 / 10)


@check.environment(DISTURBED)
def kept_apart(path):
    before, _ = run(path, "separate", in_order=True)
    result, box = run(path, "separate")
    after, _ = run(path, "separate", in_order=True)
    clean, waited = (before, after), box.waited_ns
    for each in clean:
        check.equal("without a hole", each.row("enqueued", "tcp")["hol"], None)
    reported_as_waited(result.row("enqueued", "tcp")["hol"], waited)
    check.counted("packets at read", result.count("read", "tcp"), box.count)
    own_times(result, clean)
    check.true(f"it is reported: {result.document['findings']}",
               any("behind a lost or reordered" in f for f in result.document["findings"]))
    check.must_fail("waits that are 3 ms longer", reported_as_waited,
                    result.row("enqueued", "tcp")["hol"], [w + 3_000_000 for w in waited])
    included, box = run(path, "include")
    check.counted("packets at read", included.count("read", "tcp"), box.count)
    check.must_fail("holes among the host's own times", own_times, included, clean)
    return f"{len(waited)} messages waited"


@check.environment(DISTURBED)
def set_aside(path):
    """The default: counted, and no part of what comes after `socket`."""
    result, box = run(path, None)
    waited = len(box.waited_ns)
    check.equal("set aside", result.excluded("head-of-line"), waited)
    for stage in ("enqueued", "read"):
        check.counted(stage, result.count(stage, "tcp"), box.count - waited)
    check.true(f"it is reported: {result.document['findings']}",
               any("were excluded at `enqueued`" in f for f in result.document["findings"]))
    return f"{waited} of {box.count}"


if os.geteuid() != 0:
    check.skip("needs root")
between = Path()
check.run([(kept_apart, between), (set_aside, between)])
