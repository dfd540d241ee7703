# SPDX-License-Identifier: Apache-2.0
"""Proves that the requests of a schedule are completed, failed, unsent or in flight, exactly, at
every tick (loadrun checks that), under servers that misbehave; the counts are those of the server.
Control: another seed must give another schedule."""
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from lib import badserver, check, process, servers

LOADRUN = os.environ["LOADRUN"]
EXHAUSTED, UNREACHABLE = 4, 8
UNSENT = 512


def command(*args, **settings):
    return [LOADRUN, *(f"{k}={v}" for k, v in settings.items()), *args]


def judge(code, out, err):
    check.true(f"exit code {code}: {out}{err}", code == 0)
    got = json.loads(out)
    check.equal("what does not hold", got["broken"], "")
    check.equal("scheduled", got["scheduled"],
                got["completed"] + got["failed"] + got["unsent"] + got["in_flight"])
    check.equal("samples", got["samples"] + got["samples_lost"], got["completed"] + got["failed"])
    return got


def run(*args, **settings):
    settings.setdefault("workload", "read=1,keys=100")
    if not settings["workload"]:
        del settings["workload"]
    done = subprocess.run(command(*args, **settings), capture_output=True, text=True, timeout=120,
                          check=False)
    return judge(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def server(behave, **options):
    it = badserver.Server(behave, **options)
    try:
        yield it
    finally:
        it.close()


def url(it):
    return f"memcached://127.0.0.1:{it.port}"


def all_completed(got, it):
    check.equal("completed", got["completed"], got["scheduled"])
    check.equal("completed, by the server", got["completed"], it.answered)
    check.true(f"some were: {got['scheduled']}", got["scheduled"] > 100)
    check.equal("samples lost", got["samples_lost"], 0)


def transports():
    with server(badserver.good) as it:
        all_completed(run(url(it), connections=5, threads=2, rate=500), it)
    with server(badserver.good, family=badserver.socket.AF_INET6) as it:
        all_completed(run(f"memcached://[::1]:{it.port}", rate=500), it)
    with tempfile.TemporaryDirectory() as folder:
        path = badserver.unix_path(folder)
        with server(badserver.good, family=badserver.socket.AF_UNIX, path=path) as it:
            all_completed(run(f"memcached+unix://{path}", connections=3, rate=500), it)


def several_targets():
    with server(badserver.good) as a, server(badserver.good) as b:
        got = run(url(a), url(b), connections=4, rate=500)
        check.equal("completed", got["completed"], got["scheduled"])
        check.equal("by both servers", got["completed"], a.answered + b.answered)
        check.true(f"shares: {a.answered}, {b.answered}", min(a.answered, b.answered) > 100)


def closed_loop():
    with server(badserver.good) as it:
        got = run(url(it), loop=1, connections=3, outstanding=4)
        all_completed(got, it)
        check.true("exhausted", got["flags"] & EXHAUSTED)


def open_loop_with_one_connection():
    """200 a second, of which a server can do 20: the others wait, and none is forgotten."""
    with server(badserver.slow(0.05)) as it:
        got = run(url(it), rate=200, timeout="5s", drain="200ms", arrival="fixed")
        check.equal("scheduled", got["scheduled"], 200)
        check.between("completed", got["completed"], 5, 26)
        check.true(f"unsent: {got['unsent']}", got["unsent"] > 150)
        # The last ones waited for nearly all of the run; their latency says so.
        check.between("lag, largest", got["lag_ns"][2], 700_000_000, 1_300_000_000)


def pieces():
    with server(badserver.one_byte) as it:
        all_completed(run(url(it), rate=200, connections=2), it)
    with server(badserver.coalesce(8)) as it:
        all_completed(run(url(it), rate=2000, outstanding=64), it)
        got = run(url(it), rate=2000, outstanding=64, stamps=1)
        check.true(f"replies that share a read: {got['censored']}", got["censored"] > 100)


def large_requests():
    """More than a socket takes at once: the rest is encoded again, and is the same."""
    with server(badserver.whole_values(0.001)) as it:
        got = run(f"redis://127.0.0.1:{it.port}", rate=30, outstanding=4, drain="20s",
                  timeout="20s", workload="keys=1,key=20,value=3000000,read=0")
        check.equal("completed", got["completed"], got["scheduled"])
        check.equal("completed, by the server", got["completed"], it.answered)
        check.equal("requests that are not whole", it.wrong, 0)
        check.true(f"bytes: {got['bytes_sent']}", got["bytes_sent"] > 3000000 * got["completed"] > 3e7)


def resets():
    with server(badserver.reset(10)) as it:
        got = run(url(it), rate=300, connections=2)
        check.equal("completed, by the server", got["completed"], it.answered)
        check.equal("resets", got["resets"], got["failed"])
        check.true(f"resets: {got['resets']}", got["resets"] >= 3)
        # The last ones may be made when nothing needs them any more.
        check.between("connections", it.accepted, got["connects"], got["connects"] + 2)


def half_closes():
    with server(badserver.half_close(10)) as it:
        got = run(url(it), rate=300, connections=2)
        check.equal("completed, by the server", got["completed"], it.answered)
        check.equal("resets", got["resets"], got["failed"])
        check.true(f"connections: {it.accepted}", it.accepted >= 10)


def churn():
    with server(badserver.good) as it:
        got = run(url(it), rate=500, connections=2, churn=7)
        all_completed(got, it)
        check.between("connections", it.accepted, got["connects"], got["connects"] + 2)
        check.between("connections", got["connects"], got["completed"] // 7,
                      got["completed"] // 7 + 3)
        check.equal("flows", got["flows"], got["connects"])


def silence():
    """Requests that get no reply fail in their time, and those behind them in theirs."""
    with server(badserver.silent(5)) as it:
        got = run(url(it), rate=200, connections=2, outstanding=4, timeout="400ms", duration="3s")
        check.equal("completed, by the server", got["completed"], it.answered)
        check.equal("timeouts", got["timeouts"], got["failed"])
        check.true(f"timeouts: {got['timeouts']}", got["timeouts"] > 8)


def silence_behind_others():
    """
    Pairs of requests that fill a socket, on connections of which every other one is read late: half
    of the second ones are sent late, and no other request's failure is noticed later for it.
    """
    count, late_s, timeout_ns, order = 8, 0.8, 1_500_000_000, itertools.count()

    def behave(_, c):
        time.sleep(60 if next(order) % 2 else late_s)
        while c.peer.recv(1 << 20):
            pass

    with server(behave) as it, tempfile.NamedTemporaryFile("w") as times, \
            tempfile.NamedTemporaryFile("r") as f:
        times.write("0\n" * 2 * count)
        times.flush()
        got = run(f"redis://127.0.0.1:{it.port}", f"arrival={times.name}", f"samples={f.name}",
                  connections=count, outstanding=2, drain="5s", timeout=timeout_ns,
                  workload="keys=1,key=20,value=16000000,read=0")
        rows = [list(map(int, line.split())) for line in f]
    check.equal("timeouts and resets", got["timeouts"] + got["resets"], 2 * count)
    late = [row for row in rows if not row[9] & UNSENT and row[1] - row[0] > late_s / 2 * 1e9]
    check.equal("sent late", len(late), count // 2)
    for due, _, done, *_ in rows:
        check.between("failed after", done - due, timeout_ns, timeout_ns + 400_000_000 + got["longest_gap_ns"])


def refusals():
    with server(badserver.replies(b"SERVER_ERROR out of memory\r\n")) as it:
        got = run(url(it), rate=200)
        check.equal("refused", got["refused"], it.answered)
        check.equal("failed", got["failed"], got["scheduled"])
    with server(badserver.replies(b"\x00\xff nonsense\r\n")) as it:
        got = run(url(it), rate=100)
        check.equal("garbled", got["garbled"], got["failed"])
        check.true(f"garbled: {got['garbled']}", got["garbled"] > 2)


def datagrams():
    it = badserver.Datagrams(forget=10)
    try:
        got = run(f"udp+memcached://127.0.0.1:{it.port}", rate=500, connections=2, outstanding=16,
                  timeout="300ms")
        check.equal("timeouts", got["timeouts"], it.forgotten)
        check.equal("completed", got["completed"], it.answered)
        check.equal("sent", it.asked, got["scheduled"])
    finally:
        it.close()


def unreachable():
    done = subprocess.run(command(f"memcached://127.0.0.1:{servers.free_port()}"),
                          capture_output=True, text=True, timeout=120, check=False)
    check.equal("exit code without a server", done.returncode, 2)
    check.true(f"reported: {done.stderr}", "refused" in done.stderr)
    with memcached() as (it, port):
        load = start(f"memcached://127.0.0.1:{port}", rate=200, duration="2s", connections=2)
        time.sleep(0.5)
        it.kill()
        got = judge(*finish(load))
        check.true(f"flags: {got['flags']}", got["flags"] & UNREACHABLE)
        check.true(f"unsent: {got['unsent']}", got["unsent"] > 100)
        check.equal("open connections", got["open"], 0)


def start(*args, **settings):
    load = process.start(command(*args, **settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    check.equal("begins", load.stderr.readline(), "running\n")
    return load


def finish(load):
    out, err = load.communicate(timeout=120)
    return load.returncode, out, err


@contextlib.contextmanager
def memcached():
    program = shutil.which("memcached")
    if not program:
        check.skip("needs memcached")
    port = servers.free_port()
    it = process.start([program, "-u", "nobody", "-l", "127.0.0.1", "-p", port, "-t", 1])
    try:
        servers.wait_for(port)
        yield it, port
    finally:
        process.end_all()


def preloading():
    """Every key is there before the schedule begins, once, and isn't counted."""
    with memcached() as (_, port):
        it = f"memcached://127.0.0.1:{port}"
        missed = run(it, rate=500, workload="keys=200,read=1,value=100")
        got = run(it, rate=500, workload="keys=200,read=1,value=100", preload=1, connections=3,
                  threads=2, outstanding=4)
        for of in missed, got:
            check.equal("completed", of["completed"], of["scheduled"])
        check.equal("misses", missed["misses"], missed["completed"])
        check.equal("misses of keys that are stored", got["misses"], 0)
        check.between("bytes of a miss", missed["bytes_received"] / missed["completed"], 5, 5)
        check.between("bytes of a hit", got["bytes_received"] / got["completed"], 110, 300)
        with badserver.socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(b"stats\r\n")
            check.true("200 keys", b"STAT curr_items 200\r\n" in s.recv(65536))
    with server(badserver.replies(b"SERVER_ERROR no\r\n")) as it:
        done = subprocess.run(command(url(it), preload=1), capture_output=True, text=True,
                              timeout=120, check=False)
        check.equal("exit code of a refused preload", done.returncode, 2)
        check.true(f"says so: {done.stderr}", "refused" in done.stderr)


def latency_role():
    with server(badserver.good) as it:
        all_completed(run(url(it), rate=300, role=2, stamps=1, connections=2), it)


def same_schedule():
    """The same seed asks the same requests at the same times, whatever the threads and
    connections."""
    def asked(seed=7, **settings):
        with server(badserver.good) as it, tempfile.NamedTemporaryFile("r") as f:
            run(f"samples={f.name}", url(it), rate=500, seed=seed, workload="keys=9,key=5", **settings)
            samples = [line.split() for line in f]
        first = min(int(s[0]) for s in samples)
        return sorted((int(s[0]) - first, s[5], s[8]) for s in samples)

    one = asked()
    check.equal("two threads", asked(threads=2, connections=7), one)
    check.equal("requests in advance", asked(outstanding=8), one)
    check.must_fail("another seed", lambda: check.equal("", asked(seed=8), one))


def stopped_server():
    with memcached() as (it, port):
        load = start(f"memcached://127.0.0.1:{port}", rate=200, duration="2s", connections=2,
                     timeout="200ms")
        time.sleep(0.3)
        it.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        it.send_signal(signal.SIGCONT)
        got = judge(*finish(load))
        check.true(f"timeouts: {got['timeouts']}", got["timeouts"] >= 2)
        check.equal("failed", got["failed"], got["timeouts"])
        check.equal("unsent in the end", got["unsent"], 0)
        check.true(f"waited: {got['latency_ns']}", got["latency_ns"][2] > 400_000_000)


@check.environment("the server may have no CPU for so long that its replies are late, too")
def stopped_client():
    """The gap is known, and replies that lay in the sockets meanwhile were in time."""
    def stopped(port, **settings):
        load = start(f"memcached://127.0.0.1:{port}", duration="2s", timeout="300ms", **settings)
        time.sleep(0.5)
        load.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        load.send_signal(signal.SIGCONT)
        got = judge(*finish(load))
        check.equal("completed", got["completed"], got["scheduled"])
        check.true(f"latency: {got['latency_ns']}", got["latency_ns"][2] > 600_000_000)
        return got

    with memcached() as (_, port):
        got = stopped(port, rate=1000, connections=100)
        check.between("longest gap", got["longest_gap_ns"], 690_000_000, 2_000_000_000)
        # More than are looked at in one round.
        stopped(port, loop=1, connections=500)


def interrupted():
    with server(badserver.good) as it:
        load = start(url(it), rate=500, duration="60s", threads=2, connections=2)
        time.sleep(0.7)
        load.send_signal(signal.SIGTERM)
        began = time.monotonic()
        got = judge(*finish(load))
        check.true("it ends soon", time.monotonic() - began < 5)
        check.equal("in flight", got["in_flight"], 0)
        check.between("scheduled", got["scheduled"], 100, 5000)


CASES = (transports, several_targets, closed_loop, open_loop_with_one_connection, pieces, large_requests, resets,
         half_closes, churn, silence, silence_behind_others, refusals, datagrams, unreachable, preloading,
         latency_role, same_schedule, stopped_server, stopped_client, interrupted)


if __name__ == "__main__":
    check.run([(check.busy(case),) for case in CASES])
