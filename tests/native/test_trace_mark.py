# SPDX-License-Identifier: Apache-2.0
"""Proves that with `record --boundary mark` a message is what a thread read before the
application's begin mark, up to its end mark, by the log of a server that notes its reads and marks.
Control: a log that is one message early must fail. What cannot be joined is counted by its reason,
and is no message."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from lib import check, logged, netns, trace
from lib.traffic import outweigh_others

N = 60 if "guest" in sys.argv else 300 # a slow guest loses the stamp of some packets
PROGRAM = os.path.abspath(os.environ.get("MARKED", "build/tests/native/marked"))
MARKS = "--mark-begin", f"{PROGRAM}:marked:begin", "--mark-end", "marked:end"
BY_MARK = "--with", "messages", "--boundary", "mark"
WORK_NS = 100_000
TRAP = 20       # null calls that the way to a mark's program may take: two exceptions
OVERRUN = 20000 # more than the ring holds


class Server(logged.Server):
    program = PROGRAM


def ask(sock, orders):
    sock.sendall(orders)
    logged.receive(sock, len(orders))


def recorded(server, client, *more, marks=MARKS, code=0):
    observer = trace.Recording("--netns", server.net.reader, *BY_MARK, *marks, *more)
    client(server)
    time.sleep(0.1)
    log = server.finish()
    t = observer.stop()
    check.equal(f"exit code ({t.document['losses']})", t.code, code)
    t.messages = sorted((m for m in t.messages), key=lambda m: m.pieces[-1].end)
    return t, log


def counted(t, **reasons):
    """These and nothing else of what could not be joined."""
    for what in "excluded", "losses":
        found = {row["reason"]: row["count"] for row in t.document[what]
                 if row["stage"] == "read" and row["reason"].replace("-", "_") in ALL}
        expected = {r.replace("_", "-"): n for r, n in reasons.items() if ALL[r] == what}
        check.equal(what, found, expected)


ALL = {"thread_older": "excluded", "nothing_received": "excluded", "end_without_begin": "excluded",
       "begin_without_end": "excluded", "mark_without_id": "excluded", "several_sockets": "losses",
       "read_before_end": "losses", "arrival_unknown": "losses", "marks_incomplete": "losses",
       "marks_full": "losses"}


def agree(messages, reads, ends):
    """One message of each read, in that order; figures of how far the marks are apart."""
    check.equal("messages", len(messages), len(reads))
    late = []
    for m, read, end in zip(messages, reads, ends, strict=True):
        check.equal("what its pieces end at", [p.stage for p in m.pieces if p.stage != "none"][-3:],
                    ["enqueued", "read", "mark"])
        check.equal("where it begins", m.pieces[0].begin, m.first)
        check.equal("who read it", m.tid, read.tid)
        check.equal("bytes", m.bytes, read.bytes)
        check.true("it came before it was read", m.first < read.after)
        check.true(f"{m} was read in {read}", read.before < trace.reached(m, "read") < read.after)
        check.true(f"{m} ended in {end}", end.before < m.pieces[-1].end < end.after)
        late.append(m.pieces[-1].end - end.before)
    return sorted(late)


def of(log, kind):
    return [line for line in log if line.kind == kind]


@check.environment("it compares a measured time with the time that the test itself took, "
                   "and other threads can have the CPU in between")
def each(net, family, *more):
    """One after the other: its way, its reader, and when it ended."""
    def client(server):
        sock = server.client()
        for _ in range(N):
            ask(sock, b"m")
        sock.close()

    t, log = recorded(Server(net, family), client, *more)
    counted(t)
    late = agree(t.messages, of(log, "read"), of(log, "end"))
    check.must_fail("each a message early", agree, t.messages[1:], of(log, "read")[:-1],
                    of(log, "end")[:-1])
    for m in t.messages:
        check.true("the work is in it", m.pieces[-1].end - trace.reached(m, "read") >= WORK_NS)
        for one, other in zip(m.pieces, m.pieces[1:]):
            check.equal("where the next piece begins", other.begin, one.end)
    return logged.close("from the log's time to the mark's", late, log, TRAP)


def of_process(net):
    """--pid: the marks' file need not be named."""
    server = Server(net, 4)

    def client(_):
        sock = server.client()
        for _ in range(20):
            ask(sock, b"m")
        sock.close()

    t, log = recorded(server, client, "--pid", server.process.pid,
                      marks=("--mark-begin", "marked:begin", "--mark-end", "marked:end"))
    agree(t.messages, of(log, "read"), of(log, "end"))


class Contained(Server):
    """It sees its program where the host has another one, as in a container."""

    def command(self):
        self.path = os.path.join(self.folder.name, "program")
        shutil.copy("/bin/true", self.path)
        bound = 'mount --bind "$0" "$1" && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", bound, PROGRAM, self.path]


def of_container(net):
    """--pid and a path: the file that the process has there."""
    server = Contained(net, 4)

    def client(_):
        sock = server.client()
        for _ in range(20):
            ask(sock, b"m")
        sock.close()

    t, log = recorded(server, client, "--pid", server.process.pid,
                      marks=("--mark-begin", f"{server.path}:marked:begin",
                             "--mark-end", f"{server.path}:marked:end"))
    counted(t)
    agree(t.messages, of(log, "read"), of(log, "end"))


def inside(net):
    """Data read between the marks counts as the application's own work."""
    def client(server):
        sock = server.client()
        for _ in range(10):
            ask(sock, b"b")
            ask(sock, b"e")
            ask(sock, b"m")
        sock.close()

    t, log = recorded(Server(net, 4), client)
    counted(t)
    agree(t.messages, [r for i, r in enumerate(of(log, "read")) if i % 3 != 1], of(log, "end"))


def parts(net):
    """Several reads before a begin are one message, from the first one's arrival."""
    def client(server):
        sock = server.client()
        for _ in range(10):
            ask(sock, b"n")
            time.sleep(0.01)
            ask(sock, b"m")
        sock.close()

    t, log = recorded(Server(net, 4), client)
    counted(t)
    firsts = [r._replace(bytes=2) for r in of(log, "read")[::2]]
    agree(t.messages, firsts, of(log, "end"))
    for m in t.messages:
        check.between("from its first packet to its last", m.last - m.first, 10_000_000, 10**9)


@check.busy
def diagnosed(net):
    """Time after the read is the application's; the slow message is the one that slept."""
    observer = trace.Recording("--netns", net.reader, "--boundary", "mark", *MARKS)
    server = Server(net, 4)
    sock = server.client()
    for orders in [b"m"] * 150 + [b"s"] + [b"m"] * 150:
        ask(sock, orders)
        time.sleep(0.001)
    sock.close()
    time.sleep(0.1)
    log = server.finish()
    observer.end()
    done = subprocess.run([trace.HOSTLAT, "diagnose", "--json", "--slowest", "10", observer.file],
                          stdout=subprocess.PIPE, check=False, timeout=100)
    check.true(f"exit code {done.returncode}", done.returncode in (0, 3))
    found = json.loads(done.stdout)
    check.between("messages", found["messages"]["count"], 270, 301) # some have no stamp in a guest
    end = of(log, "end")[150]
    slow = next((e for e in found["examples"] if end.before < e["at_ns"] < end.after), None)
    check.true("the slow one is reported", slow)
    check.between("its latency", slow["latency_ns"], 20_000_000, end.after - of(log, "read")[149].after)
    check.equal("its parts", sum(part["ns"] for part in slow["parts"]), slow["latency_ns"])
    most = max(slow["parts"], key=lambda part: part["ns"])
    return f"{most['cause']} {most['ns'] / 1e6:.1f} of {slow['latency_ns'] / 1e6:.1f} ms"


def unjoined(net):
    """Each kind of message that cannot be joined, once, beside messages that can."""
    def client(server):
        sock = server.client()
        ask(sock, b"m")
        ask(sock, b"mm")          # the second: nothing was read for it
        ask(sock, b"e")           # an end without a begin
        ask(sock, b"m")
        ask(sock, b"b")
        ask(sock, b"b")           # a begin without an end
        ask(sock, b"e")
        ask(sock, b"m")
        ask(sock, b"um")          # two sockets: whose is it?
        ask(sock, b"i")           # the worker reads this between the marks
        ask(sock, b"m")
        sock.close()

    t, log = recorded(Server(net, 4), client, code=3)
    counted(t, nothing_received=1, end_without_begin=1, begin_without_end=1, several_sockets=1)
    reads, ends = of(log, "read"), of(log, "end")
    agree(t.messages, [reads[i] for i in (0, 1, 3, 7, 9, 10)],
          [ends[i] for i in (0, 1, 4, 6, 8, 9)])


def overrun(net):
    """Records that find no room: what they leave of a message is none."""
    observer = trace.Recording("--netns", net.reader, *BY_MARK, *MARKS)
    server = Server(net, 4)
    sock = server.client()
    ask(sock, b"m")
    observer.process.send_signal(signal.SIGSTOP)
    for _ in range(OVERRUN):
        ask(sock, b"m")
    observer.process.send_signal(signal.SIGCONT)
    time.sleep(1)
    for _ in range(10):
        ask(sock, b"m")
    sock.close()
    time.sleep(0.1)
    log = server.finish()
    t = observer.stop()
    check.equal("exit code", t.code, 3)
    check.true("records were lost", t.lost["message"] > 0)
    check.equal("other counters", t.counted("losses", "call-not-seen"), 0)
    check.between("left out", t.counted("losses", "marks-incomplete"), 1, 3)
    check.between("messages", len(t.messages), 11, OVERRUN)
    ends = {}
    for read, end in zip(of(log, "read"), of(log, "end"), strict=True):
        ends[read.offset] = read, end
    first = min(m.offset for m in t.messages)
    for m in t.messages:
        read, end = ends[m.offset - first]
        check.true(f"{m} was read in {read}", read.before < trace.reached(m, "read") < read.after)
        check.true(f"{m} ended in {end}", end.before < m.pieces[-1].end < end.after)
    return f"{len(t.messages)} of {OVERRUN + 11}"


def older(net):
    """
    A thread that was there before: what it had read isn't known, once; twice, where the call that it
    slept in at the start isn't seen to return.
    """
    server = Server(net, 4)
    before = server.client()
    ask(before, b"m")

    def client(_):
        for _ in range(5):
            ask(before, b"m")
        late = server.client()    # its thread is new
        ask(late, b"m")
        before.close()
        late.close()

    t, log = recorded(server, client)
    left_out = t.counted("excluded", "thread-older")
    check.between("messages left out", left_out, 1, 2)
    counted(t, thread_older=left_out)
    agree(t.messages, of(log, "read")[1 + left_out:], of(log, "end")[1 + left_out:])


def handed(net):
    """--mark-id: begun in one thread, ended in another. By thread, it is nothing."""
    def client(server):
        sock = server.client()
        for _ in range(20):
            ask(sock, b"h")
        sock.close()

    t, log = recorded(Server(net, 4), client, "--mark-id")
    counted(t)
    agree(t.messages, of(log, "read"), of(log, "end"))
    for m, begin in zip(t.messages, of(log, "begin"), strict=True):
        one, other = m.pieces[-2:]
        check.true("what its reader had of it", begin.before < one.end < begin.after)
        check.equal("the worker's time is nobody's", other.begin, other.end)
        check.true("it worked meanwhile", other.begin - one.end >= WORK_NS)
    t, _ = recorded(Server(net, 4), client)
    check.equal("messages by thread", len(t.messages), 0)
    # The reader's thread has one begin without end; the worker's thread existed before.
    counted(t, begin_without_end=1, thread_older=1, end_without_begin=19)


def interleaved(net):
    """--mark-id: two at once in a thread, and an end between a read and its begin."""
    def client(server):
        sock = server.client()
        ask(sock, b"a")
        ask(sock, b"um")
        ask(sock, b"em")          # the end is of nothing; and whose is the read before it?
        ask(sock, b"m")
        sock.close()

    t, log = recorded(Server(net, 4), client, "--mark-id", code=3)
    counted(t, nothing_received=1, several_sockets=1, end_without_begin=1, read_before_end=1)
    ends, reads = of(log, "end"), of(log, "read")
    agree(t.messages, [reads[0], reads[3]], [ends[1], ends[-1]])


def refusals():
    """Each says what is wrong and what to do."""
    def refused_with(code, *options, within=()):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*within, trace.HOSTLAT, "record", "-o", f"{folder}/f", "--for",
                                   "50ms", *options], capture_output=True, text=True, check=False,
                                  timeout=100)
        check.equal(f"exit code ({done.stderr})", done.returncode, code)
        return done.stderr

    begin, end = MARKS[:2], ("--mark-end", f"{PROGRAM}:marked:end")
    mark = "--boundary", "mark"
    check.true("both", "needs --mark-begin and --mark-end" in refused_with(1, *mark, *begin))
    check.true("for what", "need --boundary mark" in refused_with(1, *begin, *end))
    check.true("form", "[PATH:]PROVIDER:NAME" in refused_with(1, *mark, "--mark-begin", "begin", *end))
    check.true("whose", "--pid" in refused_with(1, *mark, "--mark-begin", "marked:begin", *end))
    check.true("no file", "No such file" in refused_with(2, *mark, "--mark-begin", "/none:a:b", *end))
    text = refused_with(2, *mark, *begin, "--mark-end", f"{PROGRAM}:marked:none")
    check.true("no mark", "no mark marked:none" in text and "readelf -n" in text)
    hidden = ["unshare", "-m", "--propagation", "private", "sh", "-c",
              'mount -t tmpfs none /sys/bus/event_source/devices && exec "$@"', "sh"]
    text = refused_with(2, *mark, *begin, *end, within=hidden)
    check.true("no uprobes", "CONFIG_UPROBE_EVENTS" in text and "--boundary receive" in text)


outweigh_others()
nets = netns.every()
VETH = nets[2][0]
CASES = [(case, VETH) for case in (inside, parts, unjoined, older, of_process, of_container, handed,
                                 interleaved, diagnosed)]
if "guest" in sys.argv:
    check.run([(each, *nets[2]), *CASES])
check.run([(each, *net) for net in nets] + CASES + [(overrun, VETH), (refusals,)])
