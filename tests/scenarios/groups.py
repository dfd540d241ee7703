# SPDX-License-Identifier: Apache-2.0
"""Scenarios of more than one connection, some of them of more than two hosts."""
import threading

from registry import scenario

ROUNDS = 12
ANSWER = 51200
HOSTS = 7
WORKERS = 24
HELD_ROUND = 6
PATIENT = {"tcp_rto_min_us": "600000"}     # nobody sends again what is only late


def incast(run, workers, packets=64, settings=None, asker=None, hosts=HOSTS, rule=None,
           answer=ANSWER):
    """
    Workers on so many hosts answer one request at a time; all meet in one queue of so
    many packets. Settings of the workers' hosts, and of the one that asks; a rule of the box.
    """
    run.rtt_ms = run.truth["rtt_ms"] = min(run.rtt_ms, 2)  # on a longer path the queue drains between
    hosts = {f"w{i}": settings or {} for i in range(min(hosts, workers))}
    run.many({"r": asker or {}, **hosts})
    run.stage.queue("q", 200, packets)
    for name in hosts:
        run.stage.path(name, "r", run.rtt_ms / 2, "q")
        run.stage.path("r", name, run.rtt_ms / 2)
    if rule:
        run.stage.rule(*rule)
    run.open()
    for name in hosts:
        run.serve(name, f"( 0 read 100 write {answer} )", n=4096)
    first, *others = hosts
    run.call("r", first, f"( {ROUNDS} barrier mark write 100 read {answer} ) barrier mark",
             n=workers, also=[f"{run.stage.address(name)},5000" for name in others])
    run.go(limit_s=60)
    done = run.clients[0].done
    run.expect("connections that have ended well",
               sum(each["read"] == ROUNDS * answer for each in done), workers)
    rounds = [max(d["marks"][i + 1] for d in done) - min(d["marks"][i] for d in done)
              for i in range(ROUNDS)]
    again = [flow["sides"][1]["again"] for flow in run.box["flows"]]
    run.note(rounds_ms=[ns // 1000000 for ns in rounds], again=sum(again),
             connections_that_lost=len({line["conn"] for line in run.log("drop")}),
             timeouts=sum(run.mib[name]["TCPTimeouts"] for name in hosts),
             ideal_ms=round(workers * answer * 8 / 200e3, 1))
    stalls = [line for line in run.log("stall", side=1) if line["ns"] > 150e6]
    run.note(connections_that_stalled=len({line["conn"] for line in stalls}))
    run.limit("congestion", sum(run.lossy(conn + 1, 1) for conn in range(workers)) / workers)


@scenario
def incast_4(run):
    """4 workers: the queue drops, and fast retransmits are enough."""
    incast(run, 4)
    run.expect("timeouts", run.truth["notes"]["timeouts"], 0, 4)


@scenario
def incast_35(run):
    """35 workers: most connections lose whole flights, and wait for timeouts."""
    incast(run, 35)
    run.expect("timeouts", run.truth["notes"]["timeouts"], 1, 1000)
    run.expect("connections that lost packets", run.truth["notes"]["connections_that_lost"], 18, 35)


@scenario
def incast_stalls(run):
    """
    A shorter queue, and senders that find their losses by timeouts, as before RACK and probes, and
    later than the longest delayed ACK. The asking host waits as long before it asks again.
    """
    incast(run, WORKERS, 24, {"tcp_early_retrans": "0", "tcp_recovery": "0",
                              "tcp_rto_min_us": "300000"}, PATIENT)
    run.expect("timeouts", run.truth["notes"]["timeouts"], 20, 1000)


def still(run, hosts):
    """All requests of one round arrive 350 ms late, and nothing is lost."""
    first = (HELD_ROUND - 1) * WORKERS + 1
    incast(run, WORKERS, 4096, PATIENT, PATIENT, hosts=hosts, answer=1000,
           rule=("r", "new", first, first + WORKERS - 1, "hold", 0, 0, 350))
    run.expect("dropped by the box", len(run.log("drop")), 0)
    run.expect("requests sent again", sum(flow["sides"][0]["again"] for flow in run.box["flows"]), 0)
    run.expect("held by the box", len(run.log("hold")), WORKERS)


@scenario
def still_peer(run):
    """Many connections to one host, which stands still once."""
    still(run, 1)


@scenario
def still_paths(run):
    """As many hosts as in an incast, and all their paths stand still at the same time."""
    still(run, HOSTS)


def proxy(run, source, sink, rate_mbit=None):
    """a to p to b: one thread of p reads 16K and writes them."""
    run.many({"a": {}, "b": {}, "p": {}})
    if rate_mbit:
        run.stage.queue("q", rate_mbit, 100)
    for one, other in (("a", "p"), ("p", "b")):
        run.stage.path(one, other, run.rtt_ms / 2, "q" if rate_mbit and one == "a" else "-")
        run.stage.path(other, one, run.rtt_ms / 2)
    run.open()
    run.serve("b", sink, rcvbuf=65536)
    run.serve("p", "( 0 relay 16384 )", next=f"{run.stage.address('b')},5000",
              sndbuf=65536, rcvbuf=None if rate_mbit else 65536)
    run.call("a", "p", source)
    run.go(cut_s=4)


def conn_to(run, host):
    """The box's number of the connection to that host."""
    address = getattr(run.stage.hosts[host], "v6" if run.family == 6 else "v4")
    return next(flow["conn"] for flow in run.box["flows"] if flow["dst"] == address)


@scenario
def proxy_slow_target(run):
    """The proxy's target reads slowly: the proxy doesn't read, and its source's window is full."""
    proxy(run, "( 0 write 65536 )", "( 0 some 4096 sleep 10 )")
    first, second = conn_to(run, "p"), conn_to(run, "b")
    run.limit("receiver-window", run.window_used(first))
    run.note(second_receiver_window=round(run.window_used(second), 3))
    run.expect("share with a used window, to the proxy", run.window_used(first), 0.8, 1)
    run.expect("share with a used window, behind it", run.window_used(second), 0.8, 1)


@scenario
def proxy_slow_source(run):
    """The path to the proxy is slow: behind it the connection has nothing to send."""
    proxy(run, "( 0 write 65536 )", "( 0 some 1048576 )", rate_mbit=2)
    first, second = conn_to(run, "p"), conn_to(run, "b")
    relayed = next(d for d in run.servers[1].done)
    queue = run.box["queues"]["q"]
    run.limit("congestion", queue["busy_ns"] / (queue["at"] - queue["since"]))
    run.note(second_sender_app=round(relayed["in_read_ns"] / (relayed["end"] - relayed["begin"]), 3))
    run.expect("share of its time in which the proxy waits for its source",
               run.truth["notes"]["second_sender_app"], 0.9, 1)
    run.expect("share with a used window, behind it", run.window_used(second), 0, 0.05)
    run.expect("share with a used window, to the proxy", run.window_used(first), 0, 0.1)


@scenario
def short_lived(run):
    """4 x 50 connections that live 5 ms longer than a round trip."""
    run.two()
    run.open()
    run.serve("b", "read 100 write 100 drain", n=4096)
    run.call("a", "b", "write 100 read 100 sleep 5", n=4, again=50)
    run.go()
    done = run.clients[0].done
    run.limit("sender-app", 1)
    run.expect("connections", len(done), 200)
    run.expect("connections that the box saw", len(run.box["flows"]), 200)
    run.expect("different cookies", len({each["cookie"] for each in done}), 200)
    run.note(median_ms=sorted(d["end"] - d["begin"] for d in done)[100] / 1e6)


@scenario
def many_idle(run):
    """500 connections, each of which says something once."""
    run.rtt_ms = run.truth["rtt_ms"] = min(run.rtt_ms, 4)      # they are opened one by one
    run.two()
    run.open()
    run.serve("b", "( 0 some 65536 )", n=4096)
    run.call("a", "b", "write 100 sleep 2000", n=500)
    run.go()
    run.limit("sender-app", 1)
    run.expect("connections", len(run.clients[0].done), 500)
    run.expect("bytes", sum(flow["sides"][0]["bytes"] for flow in run.box["flows"]), 50000)


def set_paths(run, rtt_ms):
    run.stage.path("a", "b", rtt_ms / 2)
    run.stage.path("b", "a", rtt_ms / 2)


@scenario
def many_exchanges(run):
    """1,000 connections with 5 exchanges each, and 5 more after the path has become thrice as long."""
    rtt_ms, ports = run.rtt_ms, range(5000, 5010)
    run.rtt_ms = 1      # while they are opened, one by one
    run.two()
    run.open()
    for i, port in enumerate(ports):
        turns = f"sleep {i * 20} ( 5 write 100 read 100 sleep 200 )"     # not all at a time
        run.serve("b", "( 0 read 100 write 100 )", n=4096, port=port)
        run.call("a", "b", f"{turns} every 2500 {turns}", n=100, port=port, nodelay=True)
    run.rtt_ms = rtt_ms
    set_paths(run, rtt_ms)
    later = threading.Timer(2, set_paths, [run, 3 * rtt_ms])
    later.start()
    run.go()
    later.join()
    done = [each for client in run.clients for each in client.done]
    run.limit("sender-app", 1)
    run.expect("connections", len(done), 1000)
    run.expect("bytes that each has read", min(each["read"] for each in done), 1000)
    run.expect("sent again", sum(flow["sides"][0]["again"] for flow in run.box["flows"]), 0)


BLOCK = 28 * 1428   # bytes, which take longer through the queue than the path does
RUN_MS = 8000       # 50 intervals of 100 ms, and some that nothing is known of
ASK_TWICE = f"mark write 100 write 100 read {BLOCK} mark"    # Nagle, and a delayed ACK
ASK_ONCE = f"mark write 200 read {BLOCK} mark"


def phases(run, *plans):
    """These in turn, each for a random time."""
    steps, at = [], 0
    while at < RUN_MS:
        for plan in plans:
            at += run.random.randint(150, 450)
            steps.append(f"{{ {at} {plan} }}")
    return " ".join(steps)


def copier(run, direction, plan, **options):
    """
    A process on p asks b for blocks, and sends to c through a queue. way: its connection to c is
    the `next` one, or `also` one of its own.
    """
    run.rtt_ms = run.truth["rtt_ms"] = min(run.rtt_ms, 10)  # a delayed ACK is little on a longer path
    run.many({"p": {}, "b": {}, "c": {}})
    run.stage.queue("q", 20, 400)
    for name, queue in ("b", "-"), ("c", "q"):
        run.stage.path("p", name, run.rtt_ms / 2, queue)
        run.stage.path(name, "p", run.rtt_ms / 2)
    run.open()
    run.serve("b", f"( 0 read 200 write {BLOCK} )")
    run.serve("c", "( 0 some 1048576 )")
    run.call("p", "b", plan, sndbuf=65536, **{direction: f"{run.stage.address('c')},5000"}, **options)
    run.go()
    took = run.turns_ms()[::2]
    late = [ms for ms in took if ms > run.rtt_ms + 25]
    queue = run.box["queues"]["q"]
    run.limit("delayed-ack", sum(ms - run.rtt_ms for ms in late) * 1e6 / run.span_ns())
    run.note(blocks=len(took), late_blocks=len(late))
    run.expect("delayed ACKs by b's counter, by late blocks",
               run.mib["b"]["DelayedACKs"] / len(late), 0.8, 1.2)
    run.expect("share of the time that these took", run.truth["limits"]["delayed-ack"], 0.2, 0.6)
    run.expect("share of the time in which the queue to c sent",
               queue["busy_ns"] / (queue["at"] - queue["since"]), 0.3, 0.9)
    run.expect("dropped by the box", len(run.log("drop")), 0)


@scenario
def pipeline_proxy(run):
    """One thread: while it asks b in two writes, c gets a block each 50 ms only, and else more than fit."""
    copy = f"turn write {BLOCK} turn"
    copier(run, "next", phases(run, f"{ASK_TWICE} {copy}", f"{ASK_ONCE} {copy}"))


@scenario
def proxy_apart(run):
    """The same connections, with a thread each: when c gets nothing has nothing to do with b."""
    copier(run, "also", phases(run, ASK_TWICE, ASK_ONCE),
           n=2, other=phases(run, f"write {BLOCK}", "sleep 10"))


POOL = 4                # connections
CALLS = 80              # calls of each connection
LOST = (15, 30, 45)     # numbers of its lost packets; a few later from one connection to the next


def pool(run, plan, answer, lost):
    """Connections to one service, with 100 bytes at a time, that lose packets one by one."""
    run.two()
    for conn in range(1, POOL + 1):
        for packet in lost:
            run.stage.rule("a", "new", packet + 4 * conn, conn=conn)
    run.open()
    run.serve("b", answer, n=4096)
    run.call("a", "b", plan, n=POOL, nodelay=True)
    run.go()
    run.limit("congestion", run.lossy())
    run.expect("dropped by the box", len(run.log("drop")), len(lost) * POOL)
    run.expect_events("a", RetransSegs=len(lost) * POOL)


@scenario
def spread_writes(run):
    """Each connection waits for an answer before it goes on: nothing follows what is lost."""
    pool(run, f"( {CALLS} write 100 read 100 )", "( 0 read 100 write 100 )", LOST)
    run.expect("losses found by a timer", run.mib["a"]["TCPLossProbes"] +
               run.mib["a"]["TCPTimeouts"], len(LOST) * POOL)
    run.expect_events("a", TCPFastRetrans=0)


@scenario
def spread_writes_followed(run):
    """Each writes on: what is lost is found by what follows it."""
    pool(run, f"( {CALLS} write 100 every 5 ) read 1", f"read {CALLS * 100} write 1 drain", LOST)
    run.expect_events("a", TCPFastRetrans=len(LOST) * POOL, TCPLossProbes=0, TCPTimeouts=0)


@scenario
def spread_writes_lossless(run):
    """Each waits for answers, and nothing is lost."""
    pool(run, f"( {CALLS} write 100 read 100 )", "( 0 read 100 write 100 )", ())
    run.no_loss()
