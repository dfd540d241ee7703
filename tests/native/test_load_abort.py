# SPDX-License-Identifier: Apache-2.0
"""Proves that --abort-on ends a run early, in order and with a reason, once too many requests fail,
time out or wait: also with agents, in each of many runs, and again from a recording. Controls: a
healthy server, a share below the limit, and the same failures without the option."""
import json
import os
import subprocess
import tempfile
import time

from lib import badserver, check
from lib.loading import answered, load, only_in, reasons, why
from lib.serving import HOSTLAT

BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nbusy\n"
FAST = "--rate", "500", "--connections", "8"


def turns(after, every=1):
    """Answers so many requests, of all connections; from then on each n'th is refused."""
    def behave(server, c):
        while c.requests(1, b"\r\n\r\n"):
            c.answer(1, BUSY if server.answered >= after and server.answered % every == 0 else badserver.PAGE)
    return behave


def stops(after):
    """Answers so many requests, of all connections, and from then on none."""
    def behave(server, c):
        while c.requests(1, b"\r\n\r\n"):
            if server.answered < after:
                c.answer(1, badserver.PAGE)
    return behave


def run(behave, *args, words=FAST):
    begin = time.monotonic()
    with answered(behave, "http") as url:
        got = load(url, *words, *args)
    return got, time.monotonic() - begin


def errors():
    got, took = run(turns(1000), "--for", "30s", "--abort-on", "errors>5%")
    control, _ = run(turns(1000), "--for", "4s")
    evidence = only_in("aborted", got, control)
    check.true(f"its numbers: {evidence}", evidence.startswith("errors>5%: ") and evidence.endswith(" failed"))
    check.between("seconds", took, 2, 15)
    check.true(f"errors are reported, too: {why(got)}", "errors-above-limit" in reasons(got))
    check.true("time of the run", got["method"]["elapsed_ns"] < 15e9)
    check.equal("set-up", got["setup"]["abort_on"], "errors>5%")
    check.true("no such set-up", "abort_on" not in control["setup"])
    # 2 % fail, which is below the limit; and none.
    for behave in turns(0, every=50), turns(1 << 30):
        got, took = run(behave, "--for", "3s", "--max-errors", "10%", "--abort-on", "errors>5%")
        check.true(f"not ended: {why(got)}", "aborted" not in reasons(got))
        check.true("lasts as long as it should", took >= 3)
    return evidence


def timeouts():
    got, took = run(stops(1000), "--for", "30s", "--timeout", "500ms", "--abort-on", "errors>99.9%,timeouts>20%")
    check.between("seconds", took, 2, 15)
    evidence = next(x for code, x in why(got) if code == "aborted")
    check.true(f"its numbers: {evidence}", evidence.startswith("timeouts>20%: ") and evidence.endswith(" timed out"))
    got, _ = run(turns(1000), "--for", "4s", "--abort-on", "timeouts>0")
    check.true(f"errors are no timeouts: {why(got)}", "aborted" not in reasons(got))
    return evidence


def unsent():
    one = "--rate", "500", "--connections", "1"
    got, took = run(badserver.http_replies(badserver.PAGE), "--for", "2s", "--abort-on", "unsent>90%", words=one)
    check.true(f"not ended: {why(got)}", "aborted" not in reasons(got))

    def slow(_, c):
        while c.requests(1, b"\r\n\r\n"):
            time.sleep(0.02)
            c.answer(1, badserver.PAGE)
    got, took = run(slow, "--for", "30s", "--drain", "500ms", "--abort-on", "unsent>90%", words=one)
    check.between("seconds", took, 1, 15)
    evidence = next(x for code, x in why(got) if code == "aborted")
    check.true(f"its numbers: {evidence}", evidence.startswith("unsent>90%: ") and "came due since" in evidence)
    check.equal("failed", got["requests"]["failed"], 0)
    return evidence


def again():
    """A recording has the same end, and cannot be asked for another one."""
    with tempfile.TemporaryDirectory() as folder, answered(turns(1000), "http") as url:
        path = os.path.join(folder, "run")
        got = load(url, *FAST, "--for", "30s", "--abort-on", "errors>5%", "--record", path)
        done = subprocess.run([HOSTLAT, "load", "--from", path, "--json"], capture_output=True, text=True, timeout=60,
                              check=False)
        check.equal(f"exit code ({done.stderr})", done.returncode, 3)
        check.equal("from the recording", json.loads(done.stdout), got)
        done = subprocess.run([HOSTLAT, "load", "--from", path, "--abort-on", "errors>1%"], capture_output=True,
                              text=True, timeout=60, check=False)
        check.equal("another limit", (done.returncode, done.stderr),
                    (1, "hostlat: load: --from cannot be combined with --abort-on\n"))


def agents():
    with answered(turns(1000), "http") as url:
        begin = time.monotonic()
        got = load(url, *FAST, "--agents", "local,local", "--for", "30s", "--abort-on", "errors>5%")
    check.between("seconds", time.monotonic() - begin, 2, 20)
    check.true(f"aborted: {why(got)}", "aborted" in reasons(got))
    check.equal("agents that were lost", [a["lost"] for a in got["agents"]], [None, None])


def many():
    """Each of many runs ends by itself; a rate at which a run was ended is too high."""
    def limited(server, c):
        with server.lock:       # the run before does not count
            server.times = []
        while c.requests(1, b"\r\n\r\n"):
            with server.lock:
                now, times = time.monotonic(), server.times
                times.append(now)
                del times[:next(i for i, t in enumerate(times) if t > now - 0.5)]
                over = len(times) > 200
            c.answer(1, BUSY if over else badserver.PAGE)

    for words, limit in (("--rates", "100:900:800", "--for", "4s"), 18), \
                        (("--rate", "900", "--repeat", "2", "--for", "8s"), 10), \
                        (("--find-max", "p99<1s", "--for", "12s"), 25):
        with answered(limited, "http") as url:
            begin = time.monotonic()
            done = subprocess.run([HOSTLAT, "load", url, *words, "--connections", "8", "--abort-on", "errors>20%",
                                   "--json"], capture_output=True, text=True, timeout=120, check=False)
        took = time.monotonic() - begin
        got = json.loads(done.stdout)
        ended = ["aborted" in r["reasons"].split() for r in got["runs"]]
        check.true(f"{words}: took {took}", took < limit)
        if words[0] == "--rates":
            check.equal("ended", ended, [False, False, True, True])
        elif words[0] == "--rate":
            check.equal("ended", ended, [True, True])
        else:
            check.true(f"ended: {ended}", any(ended))
            check.true(f"highest rate: {got['find_max']}", got["find_max"]["hi"] <= 1000)
    return got["find_max"]


if __name__ == "__main__":
    check.run([(errors,), (timeouts,), (unsent,), (again,), (agents,), (many,)])
