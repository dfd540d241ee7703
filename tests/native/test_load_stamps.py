# SPDX-License-Identifier: Apache-2.0
"""Proves that unavailable stamps are refused: a card's where the interface has none, the kernel's
for traffic without packets. Control: without asking for stamps, the same target is loaded. A
simulated card (fakenic.c) stamps loopback: by the server's own times its stamps lie where they
should, and its settings are restored when the run ends."""
import json
import os
import signal
import subprocess
import tempfile
import time

from lib import badserver, check, netns, process
from lib.serving import HOSTLAT, serving

LOADRUN, FAKENIC = os.environ["LOADRUN"], os.environ["FAKENIC"]
USAGE, CANNOT = 1, 2
NIC = 1 | 2
FLAGS, SND, RX, SERVER_IN, SERVER_OUT = 9, 11, 13, 15, 16
BOUND_NS = 10_000


def load(url, stamps, where=()):
    command = [*where, HOSTLAT, "load", url, "--rate", "100", "--for", "300ms", "--timestamps", stamps]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def is_refused(done, code, *words):
    check.equal(f"exit code ({done.stderr})", done.returncode, code)
    check.equal("result", done.stdout, "")
    check.equal(f"lines of {done.stderr}", done.stderr.count("\n"), 1)
    for word in words:
        check.true(f"'{word}' in {done.stderr}", word in done.stderr)


def runs(done):
    check.true(f"a result: {done.returncode}, {done.stderr}", done.returncode in (0, 3) and done.stdout)


def an_interface_without_a_clock():
    net = netns.veth()
    for name, link, address in ((net.sender, "lo", "127.0.0.1"), (net.sender, "lo", "[::1]"),
                                (net.sender, "sender0", "10.77.0.1"), (net.sender, "sender0", "[fd77::1]"),
                                (net.reader, "lo", "10.77.0.1"), (net.reader, "lo", "[fd77::1]")):
        is_refused(load(f"echo://{address}:7000", "nic", ("ip", "netns", "exec", name)), CANNOT,
                   f"{link}: the interface has no hardware clock and no hardware timestamps", "use --timestamps kernel")
    is_refused(load("echo://10.99.0.1:7000", "nic", ("ip", "netns", "exec", net.sender)), CANNOT,
               "10.99.0.1: no route")
    it = badserver.Server(badserver.good)
    for stamps in ("user", "kernel"):
        runs(load(f"memcached://127.0.0.1:{it.port}", stamps))
    it.close()


def what_has_no_packets():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        it = badserver.Server(badserver.good, family=badserver.socket.AF_UNIX, path=path)
        for url in (f"memcached+unix://{path}", "null:"):
            for stamps in ("kernel", "nic"):
                is_refused(load(url, stamps), USAGE, f"{url} with --timestamps {stamps}: there are no packets",
                           "use --timestamps user")
            runs(load(url, "user"))
        it.close()


def with_card(folder, lie=0):
    return {**os.environ, "LD_PRELOAD": FAKENIC, "FAKENIC_LOG": os.path.join(folder, "log"),
            "FAKENIC_LIE_NS": str(lie), "ASAN_OPTIONS": "verify_asan_link_order=0"}


def was_set(folder, *expected):
    with open(os.path.join(folder, "log"), encoding="ascii") as f:
        check.equal("the card was set to", f.read().splitlines(), list(expected))
    os.unlink(f.name)


def samples(folder, url, lie=0):
    path = os.path.join(folder, "samples")
    done = subprocess.run([LOADRUN, f"samples={path}", "stamps=2", "rate=200", "duration=1s", "arrival=fixed", url],
                          env=with_card(folder, lie), capture_output=True, text=True, timeout=120, check=False)
    check.equal(f"exit code ({done.stdout}{done.stderr})", done.returncode, 0)
    was_set(folder, "1 1", "0 0")
    with open(path, encoding="ascii") as f:
        return json.loads(done.stdout), [list(map(int, line.split())) for line in f]


def lie_right(got, rows):
    """The request left before the server had it, the reply came in after the server sent it."""
    check.between("samples", len(rows), 190, 210)
    check.equal("missing", got["stamps_missing"], 0)
    for row in rows:
        check.equal(f"by the card: {row}", row[FLAGS] & NIC, NIC)
        check.true(f"left in time: {row}", 0 < row[SND] <= row[SERVER_IN] + BOUND_NS)
        check.true(f"came in in time: {row}", 0 < row[RX] <= row[SERVER_OUT] + BOUND_NS)


def are_unknown(got, rows):
    check.equal("missing", got["stamps_missing"], 2 * len(rows))
    for row in rows:
        check.equal(f"nothing by the card: {row}", (row[FLAGS] & NIC, row[SND], row[RX]), (0, 0, 0))


@check.environment("it compares a measured time with the time that the test itself took, "
                   "and other threads can have the CPU in between")
def a_card_that_stamps():
    with tempfile.TemporaryDirectory() as folder, serving() as it:
        url = f"synthetic://127.0.0.1:{it.port}"
        lie_right(*samples(folder, url))
        # A clock that is read wrong by a second: no stamp fits between send and reply.
        wrong = samples(folder, url, 1_000_000_000)
        are_unknown(*wrong)
        check.must_fail("stamps that can't be placed", lie_right, *wrong)


def agents_report_their_cards():
    with tempfile.TemporaryDirectory() as folder, serving() as it:
        done = subprocess.run([HOSTLAT, "load", "--json", f"synthetic://127.0.0.1:{it.port}", "--rate", "200",
                               "--for", "1s", "--timestamps", "nic", "--agents", "local"],
                              env=with_card(folder), capture_output=True, text=True, timeout=120, check=False)
        check.true(f"a result: {done.returncode}, {done.stderr}", done.returncode in (0, 3) and done.stdout)
        was_set(folder, "1 1", "0 0")
        setup = json.loads(done.stdout)["setup"]
        check.equal("card", setup["nics"], "lo")
        check.between("bound", setup["nic_error_ns"], 1, 1_000_000)


def run_reports_its_card():
    with tempfile.TemporaryDirectory() as folder, serving() as it:
        path = os.path.join(folder, "run.hlat")
        command = [HOSTLAT, "load", "--json"]
        run = process.start([*command, f"synthetic://127.0.0.1:{it.port}", "--rate", "200", "--timestamps", "nic",
                             "--record", path], env=with_card(folder), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
        check.true("begins", "measuring" in run.stderr.readline())
        try:
            run.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGTERM)
        out, err = run.communicate(timeout=120)
        check.equal(f"exit code ({err})", run.returncode, 3)
        was_set(folder, "1 1", "0 0")
        got = json.loads(out)
        check.equal("card", got["setup"]["nics"], "lo")
        check.between("bound", got["setup"]["nic_error_ns"], 1, 1_000_000)
        gate = [g for g in got["gates"] if g["name"] == "timestamps"]
        check.true(f"stamps: {gate}", not gate or gate[0]["pass"])
        again = subprocess.run([*command, "--from", path], capture_output=True, text=True, timeout=120, check=False)
        check.equal("from the recording", json.loads(again.stdout)["setup"], got["setup"])


def a_killed_one_leaves_the_card_as_it_was():
    with tempfile.TemporaryDirectory() as folder, serving() as it:
        run = process.start([HOSTLAT, "load", f"synthetic://127.0.0.1:{it.port}", "--rate", "200", "--timestamps",
                             "nic"], env=with_card(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check.true("begins", "measuring" in run.stderr.readline())
        run.kill()
        run.communicate(timeout=120)    # the process that restores has not kept its pipes
        for _ in range(1000):
            with open(os.path.join(folder, "log"), encoding="ascii") as f:
                if len(f.readlines()) > 1:
                    break
            time.sleep(0.01)
        was_set(folder, "1 1", "0 0")


def main():
    for case in (an_interface_without_a_clock, what_has_no_packets, a_card_that_stamps, run_reports_its_card,
                 agents_report_their_cards, a_killed_one_leaves_the_card_as_it_was):
        case()
        print(f"{case.__name__}: ok", flush=True)
    process.end_all()


if __name__ == "__main__":
    main()
