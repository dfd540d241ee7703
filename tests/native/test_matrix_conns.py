# SPDX-License-Identifier: Apache-2.0
"""Proves that `conns` stays right where the kernel refuses one program, map or command: only the
fields that need it are missing, and named. Control: with nothing refused, nothing is missing.
inet_diag is asked only where nothing else can follow connections."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile

from lib import check, conns, netns, process, refusing

N, SIZE = 20, 100
SEED = int(os.environ.get("HOSTLAT_SEED", "1"))
MOST = 2 if refusing.GUEST else 40
COMMAND = "conns", "--count", "1", "--interval", "200ms", "--quiet"
COUNTERS = ("fast_retransmit", "rto", "tlp", "spurious", "delayed_acks", "delayed_acks_harmful")
# Without these no connection can be followed: inet_diag is asked. On kernels without storage
# iterators records lie in tables, and passes over them are runs of conn_walk.
STATE_HOOK = refusing.hook_of(conns.HOSTLAT, "conn_state", *COMMAND)
LAST_RUNG = {
    STATE_HOOK: "connections that begin and end",
    "program=conn_state": "the begin and end of connections",
    "program=conn_walk": "passes over records in tables",
    "map=27": "the ring by which records come",
    "map=1": "records in tables",
    "map=2": "the programs' variables",
    "command=10": "runs of conn_walk",
    "command=18": "types, which callbacks and storage need",
    "command=22": "the programs' constants",
    "command=28": "every hook",
}
# Another program, or another place for records, does as well.
COSTS_NOTHING = {"program=conn_visit", "program=conn_visit_rest", "map=24"}
if refusing.GUEST and refusing.KERNEL != "6.1":     # it has the tracepoints, and takes fexit
    COSTS_NOTHING |= {"program=conn_send", "program=conn_recv"}


@contextlib.contextmanager
def running(refusals):
    """`conns --json` that measures; then the dict has its document, exit code and stderr."""
    document = {}
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        child = process.start([conns.HOSTLAT, "conns", "--json", "--output", out, "--filter",
                               f"netns = {net.reader}"],
                              stderr=subprocess.PIPE, text=True, env=refusing.environment(refusals))
        document["warnings"] = conns.measuring(child)
        yield document
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=120)
        document["code"], document["errors"] = child.returncode, document["warnings"] + errors
        check.true(f"exit code {child.returncode} is 0 or 3: {document['errors']}",
                   child.returncode in (0, 3))
        with open(out, encoding="utf-8") as f:
            document["json"] = json.load(f)


def exchange(a, b):
    for _ in range(N):
        a.sendall(bytes(SIZE))
        b.recv(SIZE, socket.MSG_WAITALL)
        b.sendall(bytes(SIZE))
        a.recv(SIZE, socket.MSG_WAITALL)


def name_of(end):
    return "%s:%d" % end.getsockname()


def delayed():
    """ACKs that this namespace has delayed, by its own counter."""
    with open("/proc/thread-self/net/netstat", encoding="ascii") as f:
        names, values = [line.split() for line in f if line.startswith("TcpExt:")]
    return int(dict(zip(names, values))["DelayedACKs"])


def right(row, what, diag, late):
    """Each counter is the truth or unknown; where an end was held up, `late` ACKs were delayed."""
    check.equal(f"bytes of {what}", (row["bytes"]["sent"], row["bytes"]["received"]),
                (N * SIZE, N * SIZE))
    calls = row["calls"]
    if calls:
        check.equal(f"calls of {what}", (calls["send"], calls["send_bytes"], calls["recv_bytes"]),
                    (N, N * SIZE, N * SIZE))
    for name in COUNTERS:
        check.between(f"{name} of {what}", row["events"][name] or 0, 0,
                      late if name.startswith("delayed_acks") else 0)
    if row["rtt"]["samples"] is not None:
        check.between(f"round trips of {what}", row["rtt"]["samples"], 1, 2 * N + 2)
    times = sum(each or 0 for each in row["time_ns"].values()) + row["unknown_ns"]
    check.equal(f"times of {what}", times, row["to_ns"] - row["from_ns"])
    check.equal(f"inet_diag is the source of {what}", "inet-diag" in row["flags"], diag)


def unknowns(row):
    """Returns the names of the row's unknown fields."""
    names = {name for name in COUNTERS if row["events"][name] is None}
    return names | ({"calls"} if row["calls"] is None else set()) | \
        ({"round trips"} if row["rtt"]["samples"] is None else set())


def without(refusals):
    with netns.inside(net.reader), socket.create_server(("127.0.0.1", 0)) as listener, \
            contextlib.ExitStack() as stack:
        def connect():
            a = stack.enter_context(socket.create_connection(listener.getsockname()))
            return a, stack.enter_context(listener.accept()[0])

        old = connect()
        late = delayed()
        with running(refusals) as document:
            new = connect()
            for ends in old, new:
                exchange(*ends)
        late = delayed() - late
        places = {name_of(end): (what, ends is old) for ends, what in ((old, "one from before"),
                                                                       (new, "one that began"))
                  for end in ends}
    rows = {row["local"]: row for row in document["json"]["connections"] if row["local"] in places}
    missing = [f"{each['name']}: {each['why']}" for each in document["json"]["missing"]]
    diag = any("hostlat uses inet_diag instead" in line for line in missing)
    check.true(f"no line of a library: {document['errors']!r}", "libbpf" not in document["errors"])
    check.true(f"no advice that does not help: {document['errors']!r}", "as root" not in document["errors"])
    check.true(f"inet_diag is asked without need: {missing}",
               not diag or bool(LAST_RUNG.keys() & set(refusals)))
    found = {what for what, _ in map(places.get, rows)}
    unseen = {"one from before", "one that began"} - found
    check.true(f"{unseen} not seen, and that is not named: {missing}", not unseen or
               any(line.startswith("earlier connections") for line in missing))
    lacks = set()
    for local, row in rows.items():
        right(row, places[local][0], diag, late)
        lacks |= unknowns(row)
    if not refusals:
        usual.update(lacks=lacks, missing=set(missing))
    check.true(f"unknown {sorted(lacks)}, and nothing is named", not lacks or missing)
    lacks = lacks - usual.get("lacks", set())
    check.true(f"unknown {sorted(lacks)}, and nothing is named but what always is: {missing}",
               not lacks or set(missing) - usual.get("missing", set()))
    check.true(f"{sorted(lacks)} is unknown though another program sees the same",
               not lacks or not COSTS_NOTHING.issuperset(refusals))
    return "; ".join(sorted(lacks | {f"{it} not followed" for it in unseen})
                     + (["by inet_diag"] if diag else [])) or "nothing lost"


def control():
    """No refusal: all is there, but what an older kernel cannot do, which is named."""
    without(())
    lost = {"round trips", "rto", "delayed_acks_harmful"} if refusing.KERNEL == "6.1" else set()
    check.equal(f"what is lost without a refusal ({usual['missing']})", usual["lacks"], lost)
    return ", ".join(sorted(usual["missing"])) or "nothing lost"


def refused(*refusals):
    return without(refusals)


def a_missing_fallback_is_found():
    """The check refuses inet_diag where the programs could go on."""
    fallback = LAST_RUNG.pop("program=conn_state")
    try:
        check.must_fail("inet_diag without need", without, ("program=conn_state",))
    finally:
        LAST_RUNG["program=conn_state"] = fallback


if os.geteuid() != 0:
    check.skip("needs root")
net = netns.loopback()
usual = {}
terms = refusing.asked(conns.HOSTLAT, *COMMAND)
check.run([(check.busy(control),), (a_missing_fallback_is_found,),
           *((refusing.tabled("conns", check.busy(refused)), *each) for each in refusing.some(terms, MOST, SEED, ["program=conn_send"]))])
