# SPDX-License-Identifier: Apache-2.0
"""
The parts of a request's latency, by kernel stamps and a server that tells its own: a delay that is
put into the client, the network or the server lands there, and only there. Offsets and stamps of
each sample fit together.
"""
import collections
import os
import signal
import statistics
import struct
import subprocess
import tempfile
import time

from lib import badserver, check, process

LOADRUN = os.environ["LOADRUN"]
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
        out, err = load.communicate(timeout=60)
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
    """Of what was added over the run without a delay, by the medians of the parts."""
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


CASES = (delays, delay_in_the_queue, delay_in_the_client, offsets)


if __name__ == "__main__":
    check.run([(check.patiently(case),) for case in CASES])
