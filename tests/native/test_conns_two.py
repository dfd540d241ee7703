#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that two recordings, each with one end of the connections and a clock of its own, give the
same findings for the joined ends as one recording with both ends. The recordings are of two runs at
the same time, with intervals of their own; of each, one namespace is kept."""
import contextlib
import json
import os
import subprocess
import tempfile

from lib import check, conns

HALF = os.environ["HALF"]
BEHIND_S = 300  # the server's monotonic clock, at the most


def shown(*options):
    done = subprocess.run([conns.HOSTLAT, "conns", "--json", *options], capture_output=True,
                          text=True, timeout=120, check=False)
    check.equal(f"exit code of {options}: {done.stderr}", done.returncode, 0)
    return json.loads(done.stdout)


def half(path, netns, host, behind_s):
    out = f"{path}.{host}"
    subprocess.run([HALF, path, out, netns, host, str(behind_s)], check=True)
    return out


def run(name, rtt_ms, folder):
    """Runs a scenario; returns its truth and two recordings of it."""
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    document = {}

    @contextlib.contextmanager
    def observer(_):
        with conns.beside(["--interval", "500ms", "--record", first]) as it:
            with conns.beside(["--interval", "300ms", "--record", second]):
                yield
        document.update(it)

    truth = conns.scenarios.run(name, "cubic", rtt_ms, 1, 4, observer)
    check.equal("what the scenario itself is not as it should be", truth["wrong"], [])
    return conns.Seen(truth, document["json"], document["code"], document["errors"]), first, second


def left(document):
    """Why some are not joined."""
    return {each["reason"]: each["count"] for each in document["joined"]["not_joined"]}


def ends_are_joined(document, own, other, side):
    row = {each["cookie"]: each for each in document["connections"]}[own]
    check.true(f"the other end is found, not {document['joined']}", row["other_end"])
    check.equal("the other end", row["other_end"]["cookie"], other)
    check.equal("nobody is joined within a recording", row["peer_cookie"], None)
    check.equal("side", row["side"], side)
    check.true("what time is common", row["other_end"]["common_ns"] <= row["to_ns"] - row["from_ns"])
    return row


@check.environment("the classes' shares of time depend on when both ends get a CPU")
def same_findings(name, rtt_ms, side, harmful):
    with tempfile.TemporaryDirectory() as folder:
        seen, first, second = run(name, rtt_ms, folder)
        sender, receiver = seen.sender(), seen.receiver()
        behind_s = min(BEHIND_S, sender["from_ns"] // 2_000_000_000)
        check.equal("side, where one recording has both ends", sender["side"], side)
        client = half(first, sender["netns_cookie"], "client", 0)
        server = half(second, receiver["netns_cookie"], "server", behind_s)
        document = shown("--from", client, "--peer", server)
        row = ends_are_joined(document, sender["cookie"], receiver["cookie"], side)
        check.equal("not joined", left(document), {})
        wanted = {p["class"] for p in seen.document["problems"] if p["harmful"]
                  and p["cookie"] == sender["cookie"]}
        check.true(f"problems {row['problems']}", harmful <= wanted & set(row["problems"]))
        back = shown("--from", server, "--peer", client)
        ends_are_joined(back, receiver["cookie"], sender["cookie"], receiver["side"])
        check.equal("side, from the other end", {each["cookie"]: each for each in back["connections"]}
                    [receiver["cookie"]]["other_end"]["side"], side)
        twice = half(second, sender["netns_cookie"], "twice", 0)
        alone = shown("--from", client, "--peer", twice)    # the same end, by another run
        check.equal("the same end twice", alone["joined"]["connections"], 0)
        check.equal("why", set(left(alone)), {"not-found"})
    return f"{side}, {row['other_end']['common_ns'] / 1e9:.2f} s of {(row['to_ns'] - row['from_ns']) / 1e9:.2f} s"


if os.geteuid() != 0:
    check.skip("needs root")
check.run([
    (same_findings, "stopped-reader", 20, "receiver-application", {"receiver-window"}),
    (same_findings, "small-window", 20, "receive-buffer", {"receiver-window"}),
    (same_findings, "send-buffer-256k", 20, "send-buffer", {"send-buffer"}),
    (same_findings, "delayed-ack-nagle", 20, "delayed-ack", {"delayed-ack", "nagle"}),
    (same_findings, "rto-backoff", 20, "network", {"timeout"}),
    (same_findings, "app-trickle", 20, "sender-application", set()),
])
