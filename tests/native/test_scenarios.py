# SPDX-License-Identifier: Apache-2.0
"""Proves that the scenarios (tests/scenarios) are what they claim: delays, rates, drops and marks
of the box are exact, and the ends, the counters and the box agree. Hostlat takes no part. Control:
without the setting, the same bulk is several times as fast."""
import os
import signal
import statistics
import subprocess
import sys
import time

from lib import check, process

HERE = os.path.dirname(os.path.abspath(__file__))
SCENARIOS = os.path.join(HERE, "..", "scenarios")
sys.path.insert(0, SCENARIOS)
import scenarios  # noqa: E402  pylint: disable=wrong-import-position
import stage      # noqa: E402  pylint: disable=wrong-import-position

DISTURBED = "the box that emulates the path runs in user space and can be late"

WAIT_S = 20
HEADERS = 52        # header bytes of an IPv4 packet with time stamps


def stage_of(family=4, there_ms=0.5, back_ms=0.5, settings=None, rate_mbit=None, packets=1000):
    """a and b; rules may be added."""
    made = stage.Stage({"a": settings or {}, "b": settings or {}}, family)
    if rate_mbit:
        made.queue("q", rate_mbit, packets)
    made.path("a", "b", there_ms, "q" if rate_mbit else "-")
    made.path("b", "a", back_ms)
    return made


def through(made, plan, answer, **options):
    """Both ends' logs after the plan, and the difference of a's and b's counters."""
    made.open()
    server = made.serve("b", answer, cc="cubic", n=options.get("n", 1))
    before = {name: host.mib() for name, host in made.hosts.items()}
    client = made.call("a", "b", plan, cc="cubic", **options)
    client.command("go")
    check.true("the client has ended", client.wait(WAIT_S))
    time.sleep(0.05)
    mib = {name: {key: value - before[name][key] for key, value in host.mib().items()}
           for name, host in made.hosts.items()}
    server.wait(1)
    server.end()
    return client.done, server.done, mib


@check.environment(DISTURBED)
def round_trips_are_right(rtt_ms, family):
    with stage_of(family, rtt_ms / 2, rtt_ms / 2) as made:
        sent, _, _ = through(made, "( 20 write 100 read 100 )", "( 0 read 100 write 100 )")
        latest = made.stats()["stats"]["latest_ns"]
    seen = sent[0]["kernel"]["min_rtt_us"] / 1e3
    check.between("smallest round trip by tcp_info, ms", seen, rtt_ms, rtt_ms + 1)
    return f"{seen} ms for {rtt_ms}; latest packet {latest / 1e3:.0f} us late"


@check.environment(DISTURBED)
def directions_are_distinct():
    with stage_of(4, 3, 9) as made:
        sent, got, _ = through(made, "( 30 mark write 100 read 100 mark )",
                               "( 0 read 100 mark write 100 )")
    there = [(b - a) / 1e6 for a, b in zip(sent[0]["marks"][::2], got[0]["marks"])]
    back = [(b - a) / 1e6 for a, b in zip(got[0]["marks"], sent[0]["marks"][1::2])]
    check.between("way there, ms", statistics.median(there), 3, 4)
    check.between("way back, ms", statistics.median(back), 9, 10)


@check.environment(DISTURBED)
def a_rate_is_right(mbit):
    size = int(mbit * 1e6 / 8 * 0.15)
    with stage_of(4, 1, 1, rate_mbit=mbit, packets=2000) as made:
        pid = made.box.process.pid
        begin, began = cpu_s(pid), time.monotonic()
        _, got, _ = through(made, f"write {10 * size}",
                            f"read {2 * size} mark ( 8 read {size} mark )")
        busy = (cpu_s(pid) - begin) / (time.monotonic() - began)
        dropped = made.stats()["queues"]["q"]["dropped"]
    marks = got[0]["marks"]
    payload = 8 * size * 8e3 / (marks[8] - marks[0])
    seen = payload * 1500 / (1500 - HEADERS)
    low = 0.95 if busy < 0.6 else 0.4   # else the CPU of the box is the limit
    check.between(f"rate with headers, Mbit/s ({dropped} dropped)", seen, mbit * low, mbit * 1.05)
    return f"{seen:.2f} of {mbit} Mbit/s"


def rules_count_by_connection():
    """The third data packet of the second of three connections, and what is sent again for it."""
    with stage_of(settings={"tcp_early_retrans": "0"}) as made:
        made.rule("a", "new", 3, conn=2)
        made.rule("a", "again", 1, conn=2)
        sent, _, mib = through(made, "( 6 write 100 read 100 )", "( 0 read 100 write 100 )", n=3)
        box = made.stats()
    check.equal("bytes that came back", [one["read"] for one in sent], [600] * 3)
    check.equal("sent again", [flow["sides"][0]["again"] for flow in box["flows"]], [0, 2, 0])
    check.equal("drops", [(line["conn"], line["kind"], line["seq"], line["len"])
                          for line in box["log"] if line["act"] == "drop"],
                [(2, "new", 200, 100), (2, "again", 200, 100)])
    check.equal("timeouts", mib["a"]["TCPTimeouts"], 2)


def rules_see_connections_open():
    """A lost SYN costs a second."""
    with stage_of() as made:
        made.rule("a", "syn", 1)
        begin = time.monotonic()
        _, _, mib = through(made, "write 1", "read 1")
        took = time.monotonic() - begin
    check.between("time, s", took, 1, 2.9)  # the SYN after that comes at 3 s
    check.equal("timeouts", mib["a"]["TCPTimeouts"], 1)


@check.environment(DISTURBED)
def held_packets_are_late():
    with stage_of(4, 1, 1, settings={"tcp_early_retrans": "0"}) as made:
        made.rule("a", "new", 5, action="hold", hold_ms=40)
        sent, got, mib = through(made, "( 8 mark write 100 read 100 )",
                                 "( 0 read 100 mark write 100 )")
    took = [(b - a) / 1e6 for a, b in zip(sent[0]["marks"], got[0]["marks"])]
    check.between("way of the fifth, ms", took.pop(4), 41, 42.5)
    check.between("way of the others, ms", statistics.median(took), 1, 2)
    check.equal("sent again", mib["a"]["RetransSegs"], 0)


def marks_arrive(family):
    """With a checksum that is right, or they would not count as received."""
    with stage_of(family, settings={"tcp_ecn": "1"}) as made:
        made.rule("a", "new", 5, 8, action="mark")
        sent, _, mib = through(made, "( 20 write 100 read 100 )", "( 0 read 100 write 100 )")
        marked = len([line for line in made.stats()["log"] if line["act"] == "mark"])
    check.equal("marks", marked, 4)
    check.between("delivered_ce of the sender", sent[0]["kernel"]["delivered_ce"], 1, 8)
    check.equal("sent again", mib["a"]["RetransSegs"], 0)
    check.equal("wrong checksums", mib["b"]["InCsumErrors"], 0)
    if family == 4:
        check.equal("marked packets by b's counter", mib["b"]["InCEPkts"], 4)


def without_ecn_nothing_is_marked():
    with stage_of() as made:
        made.rule("a", "new", 5, 8, action="mark")
        _, _, mib = through(made, "( 20 write 100 read 100 )", "( 0 read 100 write 100 )")
    check.equal("marked packets by b's counter", mib["b"]["InCEPkts"], 0)


@check.environment(DISTURBED)
def holds(name, cc, rtt_ms, family, seed=1):
    """Everything that must be so in this scenario is."""
    truth = scenarios.run(name, cc, rtt_ms, seed, family)
    check.equal("what is wrong", truth["wrong"], [])
    check.true("something is expected of it", truth["expected"])
    return " ".join(f"{key} {value}" for key, value in truth["limits"].items())


def unruled(name):
    """As scenarios.run(), with a box that drops and holds nothing."""
    rule = stage.Stage.rule
    stage.Stage.rule = lambda *_, **__: None
    try:
        truth = scenarios.run(name, rtt_ms=10)
    finally:
        stage.Stage.rule = rule
    check.equal("what is wrong", truth["wrong"], [])


def a_box_without_rules_is_noticed():
    for name in ("fast-retransmit", "tlp", "spurious"):
        check.must_fail(name, unruled, name)


@check.environment(DISTURBED)
def a_send_buffer_is_the_limit():
    """Control: without it the same bulk is several times as fast."""
    small = scenarios.run("send-buffer-16k", rtt_ms=20)
    with stage_of(4, 10, 10) as made:
        sent, got, _ = through(made, "{ 1500 write 262144 }", "( 0 some 1048576 )")
    rate = got[0]["read"] * 8e3 / (got[0]["end"] - sent[0]["begin"])
    check.between("rate without, by that with SO_SNDBUF",
                  rate / small["notes"]["goodput_mbit"], 2, 1000)
    return f"{small['notes']['goodput_mbit']} Mbit/s, without {rate:.0f}"


def seeds_choose_the_drops():
    """The same ones for the same seed."""
    drops = []
    for seed in (1, 1, 2):
        truth = scenarios.run("fast-retransmit", rtt_ms=4, seed=seed)
        drops.append([(line["seq"], line["len"]) for line in truth["box"]["log"]
                      if line["act"] == "drop"])
    check.equal("drops with the same seed", drops[1], drops[0])
    check.true("another seed drops others", drops[2] != drops[0])


def an_observer_is_there_in_time():
    """Before the first byte, with the connections open; and until the counters were read."""
    seen = []

    class Observer:
        def __init__(self, run):
            self.client = run.clients[0]

        def __enter__(self):
            seen.append(("begin", len(self.client.opened), len(self.client.done), time.monotonic_ns()))

        def __exit__(self, *_):
            seen.append(("end", len(self.client.opened), len(self.client.done), time.monotonic_ns()))

    truth = scenarios.run("tlp", rtt_ms=4, observer=Observer)
    check.equal("when it was called", [each[:3] for each in seen], [("begin", 1, 0), ("end", 1, 1)])
    first = next(done for done in truth["done"] if done["role"] == "call")
    check.true("it began before the plan", seen[0][3] < first["begin"])
    check.true("it ended after the plan", seen[1][3] > first["end"])


def leftovers(pid):
    """Namespaces that a process made, and programs of the scenarios that it started."""
    names = [name for name in os.listdir("/run/netns") if name.startswith(f"hostlat{pid}-")]
    children = subprocess.run(["pgrep", "-a", "-P", str(pid)], capture_output=True, text=True,
                              check=False).stdout.splitlines()
    ours = os.environ["SCENARIO_BOX"], os.environ["SCENARIO_ENDS"]
    return names, [child for child in children if child.split()[1] in ours]


def nothing_is_left(how):
    code = (f"import sys; sys.path[:0] = [{SCENARIOS!r}]\nimport scenarios\n"
            "class Told:\n"
            "    def __init__(self, run): pass\n"
            "    def __enter__(self):\n"
            "        print('begun', flush=True)\n"
            f"        if {how!r} == 'exception': raise ValueError\n"
            "    def __exit__(self, *_): pass\n"
            "scenarios.run('never-reading', observer=Told)\n")
    child = process.start([sys.executable, "-c", code], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    check.equal("its message", child.stdout.readline(), "begun\n")
    if how != "exception":
        names, children = leftovers(child.pid)
        check.equal("namespaces meanwhile", len(names), 2)
        check.equal("programs meanwhile", len(children), 3)
        child.send_signal(getattr(signal, how))
    child.wait(WAIT_S)
    check.true("it failed", child.returncode)
    check.equal("what is left", leftovers(child.pid), ([], []))


def programs_die_with_us():
    """Even if nobody could clean up; the namespaces are then left to whoever killed us."""
    code = (f"import sys; sys.path[:0] = [{SCENARIOS!r}]\nimport scenarios\n"
            "class Told:\n"
            "    def __init__(self, run):\n"
            "        print(*[p.process.pid for p in [run.stage.box, *run.stage.programs]], flush=True)\n"
            "    def __enter__(self): pass\n"
            "    def __exit__(self, *_): pass\n"
            "scenarios.run('never-reading', observer=Told)\n")
    child = process.start([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pids = child.stdout.readline().split()
    check.equal("programs", len(pids), 3)
    child.kill()
    child.wait()
    for name in leftovers(child.pid)[0]:
        subprocess.run(["ip", "netns", "del", name], check=True)
    end = time.monotonic() + 5
    while time.monotonic() < end and any(os.path.exists(f"/proc/{pid}") for pid in pids):
        time.sleep(0.01)
    check.equal("programs that are left", [p for p in pids if os.path.exists(f"/proc/{p}")], [])


def box_ends_by_itself(how):
    """When its stdin is closed, when it is told to, and with its parent though its stdin is open."""
    reader, writer = os.pipe()
    code = ("import subprocess, sys\n"
            "print(subprocess.Popen(sys.argv[1], stdin=int(sys.argv[2]), stdout=2).pid, flush=True)\n"
            "sys.stdin.read()\n")
    parent = subprocess.Popen([sys.executable, "-c", code, stage.BOX, str(reader)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, pass_fds=[reader])
    pid = int(parent.stdout.readline())
    os.close(reader)
    os.write(writer, b"go\n")
    time.sleep(0.2)

    def state():
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                return f.read().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return "gone"

    check.true("it runs", state() in "SR")
    if how == "stdin":
        os.close(writer)
    elif how == "SIGTERM":
        os.kill(pid, signal.SIGTERM)
    else:
        parent.kill()
    end = time.monotonic() + 5
    while time.monotonic() < end and state() not in ("gone", "Z"):
        time.sleep(0.01)
    ended = state() in ("gone", "Z")
    if not ended:
        os.kill(pid, signal.SIGKILL)
    parent.kill()
    parent.communicate()
    if how != "stdin":
        os.close(writer)
    check.true("it has ended", ended)


@check.environment(DISTURBED)
def the_box_takes_one_core():
    """100 Mbit/s and the acknowledgements of it, by its own CPU time: what a slow machine can do."""
    with stage_of(4, 1, 1, rate_mbit=100, packets=2000) as made:
        pid = made.box.process.pid
        begin = cpu_s(pid)
        sent, got, _ = through(made, "write 25000000", "read 25000000")
        used = cpu_s(pid) - begin
    took = (got[0]["end"] - sent[0]["begin"]) / 1e9
    check.between("share of a core", used / took, 0.01, 0.9)
    return f"{used / took:.2f} of a core at {25e6 * 8e-6 / took:.0f} Mbit/s of payload"


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@check.environment(DISTURBED)
def the_table_is_printed():
    run = [os.path.join(SCENARIOS, "run"), "--cc", "cubic", "--rtt", "5"]
    good = subprocess.run([*run, "tlp"], capture_output=True, text=True, check=False)
    check.equal("exit code", good.returncode, 0)
    check.equal("its lines", [line.split()[0] for line in good.stdout.splitlines()],
                ["scenario", "tlp"])
    unknown = subprocess.run([*run, "none"], capture_output=True, text=True, check=False)
    check.equal("exit code of what there isn't", unknown.returncode, 2)


# test_conns.py runs the others, over IPv4.
QUICK = [
    ("app-trickle", "bbr", 10, 6), ("small-window", "cubic", 20, 6),
    ("delayed-ack-nodelay", "bbr", 2, 46), ("rto-flight", "cubic", 20, 46),
    ("incast-35", "cubic", 1, 4), ("proxy-slow-target", "cubic", 20, 4),
]
ALL = [(name, cc, rtt, family, seed) for name in scenarios.SCENARIOS for cc in ("cubic", "bbr")
       for rtt in (10, 40) for family in (4, 6) for seed in (1, 2)]

if os.geteuid() != 0:
    check.skip("needs root")
check.run([
    *[(round_trips_are_right, *each) for each in ((1, 4), (10.25, 6), (50, 46))],
    (directions_are_distinct,),
    *[(a_rate_is_right, mbit) for mbit in (5, 50, 300)],
    (rules_count_by_connection,), (rules_see_connections_open,), (held_packets_are_late,),
    (marks_arrive, 4), (marks_arrive, 6), (without_ecn_nothing_is_marked,),
    (a_box_without_rules_is_noticed,), (seeds_choose_the_drops,), (a_send_buffer_is_the_limit,),
    (an_observer_is_there_in_time,),
    *[(nothing_is_left, how) for how in ("SIGINT", "SIGTERM", "exception")],
    *[(box_ends_by_itself, how) for how in ("stdin", "SIGTERM", "parent")],
    (programs_die_with_us,), (the_box_takes_one_core,), (the_table_is_printed,),
    *[(holds, *each) for each in (ALL if check.LONG else QUICK)],
])
