# SPDX-License-Identifier: Apache-2.0
"""Proves that `compare` names the cause and the size of an improvement: a server takes 20 requests
of a connection at a time, then 2, so that other connections wait for less. The server's own log has
the truth. Controls: the recordings exchanged, half the drop, and the same server twice."""
import json
import subprocess

from lib import check, mini, netns, trace
from lib.trace import HOSTLAT
from lib.traffic import outweigh_others

AHEAD = "chrt", "--fifo", "5"   # priority above unrelated processes
# In each round one connection has 20 requests, and then 15 others have one each.
ROUNDS = {"connections": 16, "rounds": 750, "every": 1, "burst": 20, "behind": 15,
          "apart_us": 300, "service_us": 100, "behind_us": 10, "gap_us": 6000}
ERROR = 0.1     # share of the drop that may be wrong
# bounds of head-of-line's share in the difference: other causes change, too, on a busy machine
HEAD_OF_LINE = 0.8, 1.25


class Run:
    """A recording, and how long its requests took to be read, by the server's log."""

    def __init__(self, net, per_event):
        server = mini.Mini(net, AHEAD, per_event=per_event, **ROUNDS)
        self.recording = trace.Recording(*server.filter, "--interval", "100ms")
        log = mini.Log(server.ready, server.finish())
        self.recording.end()
        check.equal("exit code of record", self.recording.code, 0)
        self.file = self.recording.file
        self.mean = sum(one.read - one.sent for one in log.served) / len(log.served)
        self.n = len(log.served)


def compared(a, b, code=0):
    done = subprocess.run([HOSTLAT, "compare", a.file, b.file, "--slice", "0:100", "--json"],
                          capture_output=True, text=True, check=False, timeout=120)
    check.equal(f"exit code of compare ({done.stderr} {done.stdout[-500:]})", done.returncode, code)
    return json.loads(done.stdout)


def head_of_line(document):
    rows = [row for row in document["causes"]
            if (row["cause"], row["where"]) == ("head-of-line", "application")]
    check.equal("rows of head-of-line", len(rows), 1)
    return rows[0]


def shrank(document):
    """Head-of-line, by more than chance."""
    row = head_of_line(document)
    check.true(f"significant: {row}", row["significant"])
    check.true(f"less, for certain: {row}", row["hi_ns"] < 0)
    check.true(f"a finding: {document['findings']}",
               any(line.startswith("head-of-line (server) shrank")
                   for line in document["findings"]))
    return row


def tested(document):
    """Whether p is given. A drift of the machine correlates blocks; then a reason stands instead:
    tests/unit/test_contrast.c has when."""
    return head_of_line(document)["significant"] is not None


def by_as_much(document, truth):
    row, whole = head_of_line(document), document["slice"]
    check.between("difference, of the server's", whole["difference_ns"] / truth,
                  1 - ERROR, 1 + ERROR)
    check.between("part that is head-of-line", row["difference_ns"] / whole["difference_ns"],
                  *HEAD_OF_LINE)
    check.equal("a message's time that is charged twice or not at all",
                whole["partition_error_ns"], 0)
    for side in "a_ns", "b_ns", "difference_ns":
        check.equal(f"sum of {side}", sum(cause[side] for cause in document["causes"]),
                    whole[side])
    return row


@check.environment("it compares the latencies of two runs, and others can take the CPU in "
                   "one of them")
def fewer_at_a_time(net):
    many, again, few = Run(net, 20), Run(net, 20), Run(net, 2)
    truth = few.mean - many.mean
    document = compared(many, few)
    for side in "a", "b":
        check.between("messages", document[side]["messages"], 0.99 * many.n, many.n)
    row = by_as_much(document, truth)
    drifted = not tested(document)
    if drifted:
        check.true(f"no p without an interval: {row}",
                   row["lo_ns"] is row["hi_ns"] is row["p_value"] is None)
        check.must_fail("blocks that drift", shrank, document)
    else:
        shrank(document)
        check.must_fail("the other way round", shrank, compared(few, many))
    check.equal("again", compared(many, few), document)
    # Wrong statements about the comparison must fail.
    check.must_fail("a drop of half as much", by_as_much, document, truth / 2)
    # Two runs of one server may differ by what the machine did meanwhile, but not by that much.
    check.must_fail("the same server", by_as_much, compared(many, again), truth)
    check.equal("signs", head_of_line(compared(few, many))["difference_ns"],
                -row["difference_ns"])
    return f"from {row['a_ns']} ns to {row['b_ns']} ns; by the server {truth:.0f} ns" + \
        (", not tested: blocks drift" if drifted else "")


outweigh_others()
veth = netns.veth()
# 20 requests at once are 20 packets.
netns.ip("-n", veth.sender, "route", "change", "10.77.0.0/24", "dev", "sender0", "initcwnd", "100")
check.run([(fewer_at_a_time, veth)])
