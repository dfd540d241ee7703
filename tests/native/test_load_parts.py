# SPDX-License-Identifier: Apache-2.0
"""Proves that a delay in the client, the network or the server lands in that part of a request's
latency, and only there, by kernel stamps and a server that reports its own. Offsets and stamps of
each sample fit together. Control: a server's delay counted as the network's must fail."""
import collections
import csv
import json
import os
import signal
import statistics
import struct
import subprocess
import tempfile
import time

from lib import badserver, check, process

HOSTLAT, LOADRUN = os.environ["HOSTLAT"], os.environ["LOADRUN"]
FAILED, CENSORED, ASLEEP = 4, 16, 32
DELAY_NS = 20_000_000

Sample = collections.namedtuple(
    "Sample", "intended sent done tx_offset rx_offset tx_bytes rx_bytes flow type flags sched snd ack rx wake "
              "server_in server_out")


def run(*args, during=lambda load: None, **settings):
    settings = {"stamps": 1, **settings}
    with tempfile.NamedTemporaryFile() as f:
        options = [f"samples={f.name}", *(f"{k}={v}" for k, v in settings.items())]
        load = process.start([LOADRUN, *options, *args], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        check.equal("begins", load.stderr.readline(), "running\n")
        during(load)
        out, err = load.communicate(timeout=120)
        check.equal(f"exit code: {out}{err}", load.returncode, 0)
        with open(f.name, encoding="ascii") as lines:
            return [Sample(*map(int, line.split())) for line in lines]


def synthetic(service_ns):
    """A server of the synthetic protocol (src/load/synthetic.c) that sleeps for each request."""
    request = struct.Struct(">HBBIIIQ")

    def behave(server, c):
        data = b""
        while True:
            while len(data) < request.size or len(data) < request.unpack_from(data)[4]:
                more = c.peer.recv(65536)
                if not more:
                    return
                data += more
            arrived = time.monotonic_ns()
            _, version, _, number, size, reply_size, _ = request.unpack_from(data)
            data = data[size:]
            if service_ns:
                time.sleep(service_ns / 1e9)
            head = struct.pack(">HBBII4xQQQ", 0x4852, version, 0, number, reply_size, 0, arrived,
                               time.monotonic_ns())
            c.peer.sendall(head.ljust(reply_size, b"\0"))
            server.answered += 1
    return badserver.Server(behave)


def parts(s):
    return {
        "queue": s.sent - s.intended,
        "transmit": s.snd,
        "network": s.server_in - s.snd + s.server_out - s.rx,
        "server": s.done - s.server_out - s.sent - s.server_in,
        "receive": s.rx - max(s.rx - s.wake, 0),
        "wakeup": max(s.rx - s.wake, 0),
    }


def known(samples):
    return [s for s in samples if not s.flags & (FAILED | CENSORED) and s.snd and s.rx and s.server_in]


def lands_in(name, samples, before):
    """Each part's median must account for the delay that was added over the run without one."""
    added = {part: statistics.median(parts(s)[part] for s in samples) -
             statistics.median(parts(s)[part] for s in before) for part in parts(samples[0])}
    check.between(f"{name}'s part, of {added}", added[name] / DELAY_NS, 0.95, 1.2)
    for other in added:
        if other != name:
            check.between(f"{other}'s part, of {added}", abs(added[other]) / DELAY_NS, 0, 0.05)


def url(port):
    return f"synthetic://127.0.0.1:{port}"


def delays():
    settings = {"rate": 20, "duration": "2s", "arrival": "fixed"}
    quick, slow = synthetic(0), synthetic(DELAY_NS)
    relay = badserver.Relay(quick.port, DELAY_NS / 2e9)
    try:
        before = known(run(url(quick.port), **settings))
        server = known(run(url(slow.port), **settings))
        network = known(run(url(relay.port), **settings))
        check.true("samples with all stamps", min(map(len, (before, server, network))) >= 38)
        lands_in("server", server, before)
        lands_in("network", network, before)
        check.must_fail("a server's delay as the network's", lands_in, "network", server, before)
        for s in (*before, *server, *network):
            check.between("the parts' sum", sum(parts(s).values()), s.done - s.intended,
                          s.done - s.intended)
    finally:
        for it in (quick, slow, relay):
            it.close()


def delay_in_the_queue():
    """Two are due at once, there is one connection, and the server takes its time for each."""
    it = synthetic(DELAY_NS)
    with tempfile.NamedTemporaryFile("w") as f:
        for i in range(40):
            f.write(f"{i // 2 * 60_000_000}\n")
        f.flush()
        samples = known(run(url(it.port), duration="2s", arrival=f.name))
    it.close()
    first, second = samples[0::2], samples[1::2]
    check.true("samples", len(second) >= 18)
    lands_in("queue", second, first)


def delay_in_the_client():
    """
    The client is stopped while the server works; the reply waits for it in its socket. Between two
    stops it runs for less than the server needs: whatever it sends then, is answered in the next.
    """
    it = synthetic(50_000_000)

    def stop(load):
        time.sleep(0.3)
        for _ in range(8):
            load.send_signal(signal.SIGSTOP)
            time.sleep(0.15)
            load.send_signal(signal.SIGCONT)
            time.sleep(0.03)

    samples = known(run(url(it.port), rate=5, duration="2s", arrival="fixed", during=stop))
    it.close()
    late = [s for s in samples if s.done - s.sent > 90_000_000]
    check.true(f"samples that were late: {len(late)}", len(late) >= 3)
    for s in late:
        part = parts(s)
        excess = s.done - s.sent - part["server"]
        check.between(f"the client's part of {part}", (part["receive"] + part["wakeup"]) / excess,
                      0.95, 1)


def offsets():
    """On one connection each request begins where the one before it ended; stamps are in order."""
    it = badserver.Server(badserver.coalesce(4))
    samples = run(f"memcached://127.0.0.1:{it.port}", rate=1000, outstanding=32,
                  workload="read=1,keys=100")
    it.close()
    check.true(f"samples: {len(samples)}", len(samples) > 500)
    samples.sort(key=lambda s: s.tx_offset)
    tx = rx = 0
    for s in samples:
        check.equal("request's offset", s.tx_offset, tx)
        check.equal("reply's offset", s.rx_offset, rx)
        tx, rx = tx + s.tx_bytes, rx + s.rx_bytes
    whole = [s for s in samples if s.sched and s.snd and s.ack and s.rx]
    check.between("with all stamps", len(whole) / len(samples), 0.98, 1)
    for s in whole:
        check.true(f"order of stamps: {s}", s.sched <= s.snd <= s.ack and
                   (s.snd <= s.done - s.rx - s.sent + 2000 or s.flags & CENSORED))
    check.between("censored", sum(s.flags & CENSORED != 0 for s in samples) / len(samples), 0.3, 0.9)


def stop_now_and_then(load):
    """After a stop it sends what became due meanwhile, and is stopped again while that is answered."""
    time.sleep(0.3)
    for _ in range(15):
        load.send_signal(signal.SIGSTOP)
        time.sleep(0.07)
        load.send_signal(signal.SIGCONT)
        time.sleep(0.01)


def hostlat(port, outstanding, during):
    """The result and its samples, of a server that needs 2 ms for each request in turn."""
    with tempfile.NamedTemporaryFile() as f:
        load = process.start([HOSTLAT, "load", url(port), "--rate", "300", "--for", "2s", "--timestamps", "kernel",
                              "--connections", "1", "--outstanding", str(outstanding), "--json",
                              "--samples", f.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        during(load)
        out, err = load.communicate(timeout=120)
        check.true(f"a result: {load.returncode} {err}", load.returncode in (0, 3))
        with open(f.name, encoding="ascii") as lines:
            rows = [row for row in csv.DictReader(lines) if row["status"] == "ok"]
    return json.loads(out), rows


def on_the_wire(rows):
    """By the server's own times: its reply came when it had left, give or take what loopback takes."""
    return [(int(r["done_ns"]) - int(r["sent_ns"]), int(r["rx_ns"]) - int(r["server_out_ns"])) for r in rows
            if r["rx_ns"] and r["snd_ns"] and r["server_out_ns"]]


def late_stamps(rows):
    return sum(late > 1_500_000 for _, late in on_the_wire(rows))


def several_replies_in_one_receive():
    """
    The client is stopped while replies come one by one, and takes them with one call, whose stamp is of
    the last. Those of the others are late against the server's own times, and no latency is made of them.
    """
    it = synthetic(2_000_000)
    try:
        result, rows = hostlat(it.port, 16, stop_now_and_then)
        censored = [r for r in rows if "censored" in r["flags"]]
        own = [r for r in rows if "censored" not in r["flags"]]
        kernel = result["latency"]["kernel"]
        check.true(f"replies that share a stamp: {len(censored)}", len(censored) > 20)
        check.between(f"their stamps that are late, of {len(censored)}", late_stamps(censored) / len(censored),
                      0.6, 1)
        check.between("stamps of others that are late", late_stamps(own) / len(own), 0, 0.05)
        used = kernel["censored"] + kernel["count"]
        check.between("left out or used, of all", used / result["latency"]["intended"]["count"], 0.98, 1)
        check.between("left out, of what shares a stamp (a warm-up is cut off)", kernel["censored"] / len(censored),
                      0.5, 1)
        check.equal("bounds of a selection", {q["lo_ns"] for q in kernel["quantiles"]}, {None})
        check.true("missing stamps", "timestamps-missing" not in [r["code"] for r in result["reasons"]])
        result, rows = hostlat(it.port, 1, stop_now_and_then)
        check.equal("shared with one outstanding", result["latency"]["kernel"]["censored"], 0)
        check.between("late with one outstanding", late_stamps(rows) / len(rows), 0, 0.05)
    finally:
        it.close()


CASES = (several_replies_in_one_receive, delays, delay_in_the_queue, delay_in_the_client, offsets)


if __name__ == "__main__":
    disturbed = check.environment("the parts of a latency are compared with the delay that was "
                                  "injected, and others can take the CPU meanwhile")
    check.run([(disturbed(case),) for case in CASES])
