# SPDX-License-Identifier: Apache-2.0
"""Proves that `load` over TLS checks certificates and names, and that bytes, stamps and requests
balance."""
import subprocess
import tempfile

from lib import badserver, check
from lib.servers import certificate
from test_load_balance import command, run
from test_load_parts import run as run_samples

FOR_EVER = 1 << 30


def https(cert, key, after=FOR_EVER):
    return badserver.Server(badserver.in_tls(cert, key, badserver.pages(after)))


def refused(pattern, *args, **settings):
    done = subprocess.run(command(*args, **settings), capture_output=True, text=True, timeout=120,
                          check=False)
    check.equal(f"exit code: {done.stderr}", done.returncode, 2)
    check.true(f"says /{pattern}/: {done.stderr}", pattern in done.stderr.lower())


def certificates(folder):
    cert, key = certificate(folder, "DNS:localhost", "IP:127.0.0.1")
    it = https(cert, key)
    for name in "127.0.0.1", "localhost":
        got = run(f"https://{name}:{it.port}/", ca=cert, rate=200, workload="")
        check.equal("completed", got["completed"], got["scheduled"])
    refused("certificate", f"https://127.0.0.1:{it.port}/")
    got = run(f"https://127.0.0.1:{it.port}/", insecure=1, rate=200, workload="")
    check.equal("completed", got["completed"], got["scheduled"])
    it.close()
    cert, key = certificate(folder, "DNS:elsewhere.example")
    it = https(cert, key)
    for name in "127.0.0.1", "localhost":
        refused("mismatch", f"https://{name}:{it.port}/", ca=cert)
    it.close()
    plain = badserver.Server(lambda _, c: c.answer(1, b"220 ready\r\n"))
    refused("tls", f"https://127.0.0.1:{plain.port}/", ca=cert, timeout="500ms")
    plain.close()


def requests(folder):
    cert, key = certificate(folder, "IP:127.0.0.1")
    it = https(cert, key, after=20)
    got = run(f"https://127.0.0.1:{it.port}/", ca=cert, rate=300, connections=2, workload="")
    check.equal("completed, by the server", got["completed"], it.answered)
    check.equal("resets", got["resets"], got["failed"])
    check.true(f"connections: {got['connects']}", got["connects"] > 8)
    it.close()
    it = https(cert, key)
    samples = run_samples(f"https://127.0.0.1:{it.port}/", ca=cert, rate=300)
    it.close()
    samples.sort(key=lambda s: s.tx_offset)
    for before, s in zip(samples, samples[1:]):
        check.equal("offset on the wire", s.tx_offset, before.tx_offset + before.tx_bytes)
        check.true("stamps", s.sched and s.snd and s.ack and s.rx)


def large_requests(folder):
    """Many records, of which a socket takes some at a time."""
    cert, key = certificate(folder, "IP:127.0.0.1")
    it = badserver.Server(badserver.in_tls(cert, key, badserver.whole_values(0.0005)))
    got = run(f"rediss://127.0.0.1:{it.port}", ca=cert, rate=20, outstanding=2, drain="20s",
              timeout="20s", workload="keys=1,key=20,value=1000000,read=0")
    it.close()
    check.equal("completed", got["completed"], got["scheduled"])
    check.equal("completed, by the server", got["completed"], it.answered)
    check.equal("requests that are not whole", it.wrong, 0)
    check.true(f"completed: {got['completed']}", got["completed"] > 5)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as it:
        check.run([(case, it) for case in (certificates, requests, large_requests)])
