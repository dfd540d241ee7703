# SPDX-License-Identifier: Apache-2.0
"""Proves that `conns` and another program (TCP-BPF) can ask for round trips of the same sockets.
hostlat takes back only its own requests, so the other program gets round trips before, during and
after; a connection that only hostlat asked for is as before when hostlat ends or is killed."""
import contextlib
import os
import socket
import subprocess
import time

from lib import check, conns, netns, process, refusing

TCPBPF = os.environ["TCPBPF"]
N = 50


def cgroup2():
    with open("/proc/mounts", encoding="utf-8") as f:
        for line in f:
            _, path, kind, *_ = line.split()
            if kind == "cgroup2":
                return path
    return check.skip("there is no cgroup2 mount")


class Other:
    def __init__(self, port):
        pipe = subprocess.PIPE
        self.process = process.start([TCPBPF, cgroup2(), port], stdin=pipe, stdout=pipe, text=True)
        check.equal("what the other program says", self.process.stdout.readline(), "ready\n")

    def round_trips(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)


def exchange(pair):
    a, b = pair
    for _ in range(N):
        a.sendall(b"x")
        b.recv(1)
        b.sendall(b"x")
        a.recv(1)


def gained(other, pair):
    before = other.round_trips()
    exchange(pair)
    return other.round_trips() - before


def without_a_way_back(refused):
    """Where iter/tcp is refused no flag could be taken back: none is set, which is named."""
    with netns.inside(net.reader), contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        with conns.beside(env=refusing.environment(refused)) as document:
            a = stack.enter_context(socket.create_connection(listener.getsockname()))
            pair = a, stack.enter_context(listener.accept()[0])
            local = "%s:%d" % a.getsockname()
            exchange(pair)
        other = Other(listener.getsockname()[1])
        after = gained(other, pair)
        other.end()
    why = {each["name"]: each["why"] for each in document["json"]["missing"]}
    ours = [each for each in document["json"]["connections"] if each["local"] == local]
    check.equal("connections that were followed", len(ours), 1)
    if refused:
        check.true(f"it is named: {why}", "need flags in sockets" in why.get("round trips", ""))
        check.equal("its round trips", ours[0]["rtt"]["samples"], None)
    else:
        check.true(f"round trips are known: {why}", "round trips" not in why)
        check.between("its round trips", ours[0]["rtt"]["samples"], N // 2, 1 << 20)
    check.equal("round trips that a flag of hostlat's reports", after, 0)
    return f"{after} of {N} exchanges"


def beside(begins_before):
    """The other one is told of as many round trips in each phase, of each of the connections."""
    with netns.inside(net.reader), contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        address = listener.getsockname()

        def connect():
            a = stack.enter_context(socket.create_connection(address))
            return a, stack.enter_context(listener.accept()[0])

        other = Other(address[1]) if begins_before else None
        old = connect()
        usual = gained(other, old) if other else 0
        with conns.beside() as document:
            other = other or Other(address[1])
            new = connect()
            during = gained(other, new), gained(other, old)
        after = gained(other, new), gained(other, old)
        other.end()
    missing = {each["name"] for each in document["json"]["missing"]}
    check.true(f"hostlat asks for round trips, too: {missing}", "round trips" not in missing)
    least = N // 2
    check.between("round trips of a connection that began meanwhile, while hostlat ran", during[0],
                  least, 1 << 20)
    check.between("... and after it had ended", after[0], least, 1 << 20)
    if begins_before:
        check.between("round trips of one from before, before", usual, least, 1 << 20)
        check.between("... while hostlat ran", during[1], least, 1 << 20)
        check.between("... and after it had ended", after[1], least, 1 << 20)
    else:       # nobody but hostlat has asked for them
        check.equal("round trips of one from before, after it had ended", after[1], 0)
    return f"{usual}, {during}, {after} of {N} exchanges"


def killed():
    """Another process takes its flags back then; nobody is told of round trips any more."""
    with netns.inside(net.reader), contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        address = listener.getsockname()
        a = stack.enter_context(socket.create_connection(address))
        pair = a, stack.enter_context(listener.accept()[0])
        child = process.start([conns.HOSTLAT, "conns", "--json"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        conns.measuring(child)
        restorer = restorer_of(child.pid)
        for _ in range(1000):   # it may not have had a CPU yet
            if capabilities(restorer) == capabilities(child.pid):
                break
            time.sleep(0.01)
        check.equal("what it may do, as hostlat", capabilities(restorer), capabilities(child.pid))
        other = Other(address[1])
        during = gained(other, pair)
        child.kill()
        child.wait()
        for _ in range(1000):
            if not os.path.exists(f"/proc/{restorer}"):
                break
            time.sleep(0.01)
        check.true("the other process has ended, too", not os.path.exists(f"/proc/{restorer}"))
        after = gained(other, pair)
        other.end()
    check.between("round trips that hostlat's flag reports", during, N // 2, 1 << 20)
    check.equal("... after it was killed", after, 0)
    return f"{during}, {after} of {N} exchanges"


def in_a_namespace_that_came_later():
    """Its connections' flags are taken back, too."""
    with contextlib.ExitStack() as stack:
        with conns.beside():
            later = netns.loopback()
            with netns.inside(later.reader):
                listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                a = stack.enter_context(socket.create_connection(listener.getsockname()))
                pair = a, stack.enter_context(listener.accept()[0])
            exchange(pair)
        other = Other(listener.getsockname()[1])
        after = gained(other, pair)
        other.end()
    check.equal("round trips that a flag of hostlat's reports", after, 0)


def capabilities(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return [line.split() for line in f if line.startswith("Cap") and "Amb" not in line]


def restorer_of(pid):
    """Its child that waits for its end."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        children = f.read().split()
    check.equal(f"processes of hostlat's ({children})", len(children), 1)
    return children[0]


if os.geteuid() != 0:
    check.skip("needs root")
net = netns.loopback()
check.run([(beside, True), (beside, False), (killed,), (in_a_namespace_that_came_later,),
           (without_a_way_back, ("program=conn_existing",)), (without_a_way_back, ())])
