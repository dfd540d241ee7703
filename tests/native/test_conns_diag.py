# SPDX-License-Identifier: Apache-2.0
"""
Proves that `conns` works by inet_diag alone, when asked to and where it may not load programs. It
reports what a dump holds; the rest is unknown and no problem. A user without privileges sees the
connections of the own namespace.
"""
import os
import shutil
import socket
import sys
import tempfile
import time

from lib import check, conns, netns, process

DISTURBED = "the classes' shares of time depend on when both ends get a CPU"

BUDGET = ["--cpu-budget", "2%..20%"]    # a dump walks over all of the kernel's table, which may be large
DIAG = ["--collect", "inet-diag", *BUDGET]
# Share of the scenario's limit that `conns` must report: a writer waiting for a CPU is not blocked.
SHARE = 0.8
NOBODY = 65534
KERNEL = tuple(map(int, os.uname().release.split(".")[:2]))
UNKNOWN = ("fast_retransmit", "tlp", "delayed_acks", "delayed_acks_harmful")
MISSING = {"BPF events (hostlat uses inet_diag instead)", "calls", "single round trips", "delayed ACKs",
           "connections that begin and end between two dumps"}


def unknown_is_unknown(document, it):
    """And each connection's times are its time."""
    check.true("it names what it does not measure", MISSING <= {each["name"] for each in document["missing"]})
    check.equal("events", {key: it["events"][key] for key in UNKNOWN}, dict.fromkeys(UNKNOWN))
    check.equal("calls", it["calls"], None)
    for name in "samples", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns", "buckets":
        check.equal(f"round trips, {name}", it["rtt"][name], None)
    check.equal("recoveries", it["recovery"]["recoveries"], None)
    check.equal("held back by delayed ACKs", it["time_ns"]["delayed-ack"], 0)
    check.true(f"what it is from: {it['flags']}", "inet-diag" in it["flags"])
    check.equal("sum of the times", sum(it["time_ns"].values()) + it["unknown_ns"],
                it["to_ns"] - it["from_ns"])


def scenario(name, cc, rtt_ms):
    seen = conns.scenario(name, cc, rtt_ms, DIAG)
    it = seen.sender()
    unknown_is_unknown(seen.document, it)
    check.between("samples", it["samples"]["count"], 10, 1 << 20)
    check.true(f"owner: {it['comm']}", it["pid"] and it["comm"] == "ends")
    return seen


@check.environment(DISTURBED)
def limited_by(name, cc, rtt_ms, share, classes, least=SHARE):
    seen = scenario(name, cc, rtt_ms)
    it = seen.sender()
    known = 1 - it["unknown_ns"] / (it["to_ns"] - it["from_ns"])
    check.between("share of the time that is known", known, least, 1)
    check.between(f"share of {share}", seen.share(share), least * seen.truth["limits"][share], 1)
    check.must_fail("of another", check.between, "", seen.share("delayed-ack"),
                    least * seen.truth["limits"][share], 1)
    check.true(f"problems are {sorted(seen.problems())}", classes <= seen.problems())
    others = {"send-buffer", "receiver-window", "zero-window", "delayed-ack", "nagle"} - classes
    check.equal("problems that it has not", others & seen.problems(), set())
    return f"{seen.share(share):.1%} of {seen.truth['limits'][share]:.1%}, {known:.1%} known"


@check.environment(DISTURBED)
def nothing_is_wrong(name, cc, rtt_ms):
    seen = scenario(name, cc, rtt_ms)
    check.equal("problems", seen.problems(None), set())
    return f"sender-app {seen.share('sender-app'):.1%}"


@check.environment(DISTURBED)
def nothing_is_claimed(name, rtt_ms):
    """Held by delayed ACKs: what a dump has fits to pacing as well, so its time is unknown."""
    seen = scenario(name, "cubic", rtt_ms)
    it = seen.sender()
    check.equal("problems", seen.problems(None), set())
    unknown = it["unknown_ns"] / (it["to_ns"] - it["from_ns"])
    check.between("share of the time that is unknown", unknown, 0.3, 1)
    check.between("samples that fit to several states", it["samples"]["count"] - sum(
        it["samples"][name] for name in ("idle", "recovery", "window", "send-buffer", "cwnd",
                                         "delayed-ack", "nagle", "flight")), 10, 1 << 20)
    return f"{unknown:.1%} unknown"


@check.environment("a dump must come while the timer runs")
def timeouts(name, cc, rtt_ms):
    """Over a long path: it ends a round trip after the last one, and must be looked at before."""
    seen = scenario(name, cc, rtt_ms)
    counted, truth = seen.sender()["events"]["rto"], seen.truth["events"]["timeouts"]["a"]
    if KERNEL < (6, 7):
        check.equal("timeouts are unknown", counted, None)
        check.equal("harmful problems", seen.problems(), set())
        return "unknown"
    check.equal("timeouts", counted, truth)
    check.equal("problems", seen.problems(), {"timeout"})
    return f"{counted} of {truth}"


@check.environment("a dump must come within the half second for which a connection lives")
def ends_are_reported():
    """Both ends of connections of half a second: when they began and ended, to two passes."""
    with netns.inside(net.reader):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            with conns.beside(DIAG, [net.reader]) as document:
                time.sleep(0.3)
                began = time.monotonic_ns()
                a = socket.create_connection(listener.getsockname())
                made = time.monotonic_ns()
                b, _ = listener.accept()
                a.sendall(bytes(100))
                port = a.getsockname()[1]
                time.sleep(0.5)
                ended = time.monotonic_ns()
                a.close()
                b.close()
                time.sleep(1)
    rows = [row for row in document["json"]["connections"]
            if f":{port}" in (row["local"][-6:], row["remote"][-6:])]
    check.equal("ends", len(rows), 2)
    for row in rows:
        unknown_is_unknown(document["json"], row)
        check.true("closed", row["closed"] and "began" in row["flags"])
        check.equal("accepted", "accepted" in row["flags"], not row["local"].endswith(f":{port}"))
        check.between("begin", row["from_ns"], began - 600e6, made)
        check.between("end", row["to_ns"], ended - 400e6, ended + 1e6)
        check.equal("bytes", row["bytes"]["sent"] + row["bytes"]["received"], 100)
        check.equal("owner", row["pid"], os.getpid())
    check.true("the other end", rows[0]["peer_cookie"] == rows[1]["cookie"])
    return f"{(rows[0]['to_ns'] - rows[0]['from_ns']) / 1e6:.0f} ms of 500"


@check.environment(DISTURBED)
def without_privilege():
    """As nobody: it says so, and sees what somebody else does in the namespace."""
    with tempfile.TemporaryDirectory() as folder, netns.inside(net.reader):
        os.chmod(folder, 0o755)
        command = ["setpriv", "--pdeathsig", "KILL", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                   "--inh-caps=-all", "--bounding-set=-all",
                   shutil.copy(conns.HOSTLAT, os.path.join(folder, "hostlat"))]
        with socket.create_server(("127.0.0.1", 0)) as listener:
            a = socket.create_connection(listener.getsockname())
            b, _ = listener.accept()
            cookie = str(int.from_bytes(a.getsockopt(socket.SOL_SOCKET, 57, 8), sys.byteorder))
            # the call log of a connection, which must stay empty
            log = ["--calls", "--follow", cookie, *BUDGET]
            with conns.beside(log, [], command) as document:
                fill(a, 1.5)
            a.close()
            b.close()
    check.true(f"it gives the reason: {document['warnings']}", "Operation not permitted" in document["warnings"]
               and "inet_diag" in document["warnings"])
    check.equal("once", document["warnings"].count("\n"), 1)
    check.true("and what of other namespaces", "connections of other network namespaces" in
               {each["name"] for each in document["json"]["missing"]})
    check.true("and the log", "the log of calls" in {m["name"] for m in document["json"]["missing"]})
    check.equal("which there is none of", document["json"]["call_log"], None)
    rows = [row for row in document["json"]["connections"] if row["cookie"] == cookie]
    check.equal("rows", len(rows), 1)
    unknown_is_unknown(document["json"], rows[0])
    check.equal("owner, whom it may not see", rows[0]["pid"], None)
    check.between("bytes", rows[0]["bytes"]["sent"], 1000, 1 << 30)
    classes = {each["class"] for each in document["json"]["problems"] if each["cookie"] == cookie}
    check.true(f"problems are {classes}", {"receiver-window", "zero-window"} <= classes)
    return f"{rows[0]['samples']['count']} samples"


def fill(sock, seconds):
    """Nobody reads at the other end."""
    sock.settimeout(0.1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            sock.send(bytes(65536))
        except TimeoutError:
            pass


def left_out(document):
    return [each for each in document["missing"] if each["name"].startswith("connections in ")]


@check.busy
def few_descriptors():
    """Namespaces that no descriptor is left for are told, those that come later too; the run goes on."""
    def more(n):
        own = os.readlink("/proc/self/ns/net")
        made = [process.start(["unshare", "--net", "sleep", "600"]) for _ in range(n)]
        for each in made:
            while os.readlink(f"/proc/{each.pid}/ns/net") == own:
                time.sleep(0.01)
        return made

    def limited(limit):
        return ["setpriv", "--pdeathsig", "KILL", "prlimit", f"--nofile={limit}", conns.HOSTLAT]

    sleepers = more(60)
    try:
        with conns.beside(DIAG, [], limited("64:64")) as document:
            at_first = more(1)
            sleepers += at_first
            time.sleep(10)
        names = left_out(document["json"])
        check.between(f"namespaces that are left out: {names}", len(names), 2, 34)
        check.true(f"why: {names}", all("ulimit -n" in each["why"] for each in names))
        check.true(f"the one that came later: {names}",
                   any(f"pid {at_first[0].pid} " in each["name"] or "more" in each["name"] for each in names))
        with conns.beside(DIAG, [], limited("64:4096")) as document:
            time.sleep(1)
        check.equal("left out though the limit can be raised", left_out(document["json"]), [])
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()
    return f"{len(names)} told"


if os.geteuid() != 0:
    check.skip("needs root")
net = netns.loopback()
check.run([
    (limited_by, "send-buffer-16k", "cubic", 20, "send-buffer", {"send-buffer"}),
    (limited_by, "slow-reader", "cubic", 20, "receiver-window", {"receiver-window"}),
    (limited_by, "stopped-reader", "cubic", 20, "receiver-window",
     {"receiver-window", "zero-window"}),
    (limited_by, "autotuned-bulk", "cubic", 20, "congestion", set()),
    (nothing_is_wrong, "idle", "cubic", 20),
    (nothing_is_claimed, "delayed-ack-nagle", 20),
    (timeouts, "rto-lone", "cubic", 100),
    (ends_are_reported,),
    (without_privilege,),
    (few_descriptors,),
])
