# SPDX-License-Identifier: Apache-2.0
"""Proves, in the guest, that `record --activity funcgraph` stores the kernel's functions in the
messages' windows, nested in the CPUs' activity; that lost functions are not recorded time; and that
the tracer is as before. Controls: a function that crosses others, and messages without more to
copy, must fail."""
import collections
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from lib import check, diagnose, netns, process, trace
from lib.traffic import Traffic

N = 100
TRACEFS = "/sys/kernel/tracing"
FILES = ("current_tracer", "trace_clock", "tracing_on", "max_graph_depth", "set_ftrace_filter")
DISTURBED = "an emulated CPU may be taken away between two functions of a message"
FEW = "net_rx_action,tcp_recvmsg,tcp_v4_rcv"


def text(name):
    with open(os.path.join(TRACEFS, name), encoding="ascii") as file:
        return file.read()


def put(name, value):
    with open(os.path.join(TRACEFS, name), "w", encoding="ascii") as file:
        file.write(value)


def state():
    own = [name for name in os.listdir(os.path.join(TRACEFS, "instances")) if "hostlat" in name]
    return [text(name) for name in FILES] + own


def recorded(net, family, *options, count=N):
    source = Traffic(net, family, "tcp", count=count, pattern="exchange", reader_cpu=1,
                     sender_cpu=0, limit=120)
    observer = trace.Recording(*source.filter, "--activity", "funcgraph", *options)
    own = source.finish()
    time.sleep(0.1)
    t = observer.stop()
    losses = [(row["reason"], row["count"]) for what in ("losses", "excluded")
              for row in t.document[what] if row["count"]]
    check.equal(f"messages ({losses} reported)", len(t.messages), own["received"])
    return t


def nested(spans):
    """On each core, what lies in what as their depths say it: no two cross each other."""
    for core in {span.core for span in spans}:
        around = []
        # A span without length may lie at the border of two.
        for span in sorted((s for s in spans if s.core == core and s.begin < s.end),
                           key=lambda s: (s.begin, s.depth)):
            # A span has ended where the next one begins, unless the next one lies within it.
            while around and around[-1].depth >= span.depth:
                check.true(f"{around[-1]} is over before {span}", around[-1].end <= span.begin)
                around.pop()
            if around:
                check.true(f"{span} is within {around[-1]}", span.end <= around[-1].end)
                check.equal(f"depth of {span} in {around[-1]}", span.depth, around[-1].depth + 1)
            around.append(span)


def within(spans, inner, kind, what):
    """How many of `inner` lie in a span of that type and name on their core."""
    outer = collections.defaultdict(list)
    for span in spans:
        if span.type == kind and span.what == what:
            outer[span.core].append((span.begin, span.end))
    return sum(any(begin <= span.begin and span.end <= end for begin, end in outer[span.core])
               for span in inner)


def functions(t, name):
    return [span for span in t.spans if span.type == "function" and span.what == name]


def in_window(t, function, role):
    """Messages in whose pieces of that role a function of that name ran."""
    found = functions(t, function)
    return sum(any(piece.role == role and span.core == piece.core and span.begin < piece.end and
                   span.end > piece.begin for piece in m.pieces for span in found)
               for m in t.messages)


@check.environment(DISTURBED)
def in_the_messages(net, family):
    before = state()
    t = recorded(net, family)
    check.equal("the tracer's state", state(), before)
    unrecorded = sum(span.type == "blind" for span in t.spans)
    arrived = functions(t, "tcp_v4_rcv")
    check.true(f"calls of tcp_v4_rcv: {len(arrived)}", len(arrived) >= N)
    nested(t.spans)
    crossing = t.spans + [arrived[0]._replace(end=arrived[0].end + 10 ** 9)]
    check.must_fail("a function that crosses others", nested, crossing)
    check.equal("of them in the softirq of receiving", within(t.spans, arrived, "softirq", "3"),
                len(arrived))
    check.equal("... in net_rx_action", within(t.spans, arrived, "function", "net_rx_action"),
                len(arrived))
    check.equal("... in that of sending", within(t.spans, arrived, "softirq", "2"), 0)
    for name, role in (("tcp_v4_rcv", trace.RECEIVE), ("tcp_recvmsg", trace.APPLICATION)):
        check.between(f"messages in whose window {name} ran ({unrecorded} blind)",
                      in_window(t, name, role), 0.9 * N, N)
    names = collections.Counter(span.what for span in t.spans if span.type == "function")
    unnamed = [name for name in names if name.startswith("0x")]
    check.equal("functions without a name", unnamed, [])
    return (f"{sum(names.values())} spans of {len(names)} functions, {unrecorded} blind, lost "
            f"{dict(t.lost)}, {t.size} bytes")


@check.environment(DISTURBED)
def goes_on(net, family):
    """A call in which the reader sleeps is cut, and goes on with it."""
    t = recorded(net, family, "--funcgraph-filter", FEW)
    calls = functions(t, "tcp_recvmsg")
    cut = [span for span in calls if span.cut]
    resumed = [span for span in calls if span.resumed]
    check.true(f"cut {len(cut)}, resumed {len(resumed)} of {len(calls)}", len(cut) >= N / 2)
    check.between("one goes on where one was cut", len(resumed), len(cut) - 2, len(cut) + 2)
    return f"{len(cut)} of {len(calls)} calls"


# One message in so many has more to copy.
EVERY = 10
SERVER = f"""
import socket

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
for i in range({EVERY} + {N}):
    size = int(input())
    connection.recv(size, socket.MSG_WAITALL)
    connection.sendall(b"x")
"""
SMALL, LARGE = 100, 60000
COPIES = "tcp_recvmsg > "
COPY_NS = 20_000        # ns to copy 60,000 bytes where an instruction takes 1 ns


def exchanged(large):
    """A recording of N messages to a server, and what `diagnose` says of the slowest ones."""
    server = process.start([sys.executable, "-c", SERVER], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline())
    with socket.create_connection(("127.0.0.1", port), timeout=120) as client:
        def exchange(size):
            server.stdin.write(f"{size}\n")
            server.stdin.flush()
            client.sendall(b"x" * size)
            check.equal("answer", client.recv(1), b"x")

        for i in range(EVERY):  # the first exchange reads files from the disk
            exchange(SMALL if i else large)
        observer = trace.Recording("--pid", server.pid, "--activity", "funcgraph")
        for i in range(N):
            exchange(SMALL if i % EVERY else large)
    server.wait()
    observer.end()
    return diagnose.Diagnosis(observer.file, N // EVERY)


def copies_charged(d):
    """That most of the slow messages took longer in copying, by function."""
    rows = [row for row in d.document["functions"] if COPIES in row["path"]]
    copied = sum(row["total_ns"] for row in rows)
    found = sum(row["total_ns"] for row in d.document["functions"])
    whole = sum(example["latency_ns"] for example in d.examples)
    check.true(f"copying is {copied} of {found} ns: {d.document['functions'][:5]}",
               copied >= max(found / 2, COPY_NS * N / EVERY))
    most = max(row["messages"] for row in rows)
    check.between("messages in which that is reported", most, 0.6 * N / EVERY, N / EVERY)
    # More than the causes' sum: other functions may have taken less time than usual.
    check.true(f"not more than there was: {found} of {whole} ns", found <= whole)
    return f"{rows[0]['path']}: {copied} of {found} ns, {rows[0]['messages']} messages"


@check.environment(DISTURBED)
def diagnosed():
    figure = copies_charged(exchanged(LARGE))
    check.must_fail("without more to copy", copies_charged, exchanged(SMALL))
    return figure


@check.environment(DISTURBED)
def overrun(net, family):
    """A reader that was stopped: what it missed is blind, and no function is in it."""
    source = Traffic(net, family, "tcp", count=400, pattern="exchange", reader_cpu=1,
                     sender_cpu=0, limit=120)
    observer = trace.Recording(*source.filter, "--activity", "funcgraph", "--funcgraph-buffer",
                               "64K")
    observer.process.send_signal(signal.SIGSTOP)
    source.finish()
    observer.process.send_signal(signal.SIGCONT)
    time.sleep(0.2)
    t = observer.stop()
    check.true(f"losses are reported: {t.lost}", t.lost)
    check.equal("exit code", t.code, 3)
    unrecorded = [span for span in t.spans if span.type == "blind"]
    check.true("something is blind", unrecorded)
    longest = max(span.end - span.begin for span in unrecorded)
    check.true(f"longest blind span: {longest} ns", longest > 10 ** 7)
    nested(t.spans)
    return f"{len(unrecorded)} blind spans, the longest of {longest} ns"


def killed(net, family):
    """The next recording removes the trace instance that a killed one left behind."""
    before = state()
    del net, family
    observer = trace.Recording("--activity", "funcgraph")
    check.true("while it runs, the state is another", state() != before)
    observer.process.kill()
    observer.process.wait()
    check.true("it left something", state() != before)
    trace.Recording("--activity", "funcgraph").stop()
    check.equal("the tracer's state", state(), before)


def fails(code, words, *options):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [trace.HOSTLAT, "record", "-o", os.path.join(folder, "file"), "--for", "10ms",
             "--activity", "funcgraph", *options],
            capture_output=True, text=True, check=False, timeout=120)
    check.equal(f"exit code of {options} ({done.stderr})", done.returncode, code)
    check.true(f"why: {done.stderr}", words in done.stderr)


def refused():
    before = state()
    fails(1, "needs --with activity", "--with", "messages")
    fails(2, "no_such_function", "--funcgraph-filter", "net_rx_action,no_such_function")
    check.equal("the tracer's state", state(), before)
    put("current_tracer", "function_graph")
    fails(2, "another program uses")
    check.equal("the other one's tracer", text("current_tracer"), "function_graph\n")
    put("current_tracer", "nop")
    check.equal("the tracer's state", state(), before)


if sys.argv[1:] == ["diagnosed"]:
    check.run([(diagnosed,)])
    sys.exit()
netns_veth = netns.every()[2]
check.run([(in_the_messages, *netns_veth), (goes_on, *netns_veth), (overrun, *netns_veth),
           (killed, *netns_veth), (refused,)])
