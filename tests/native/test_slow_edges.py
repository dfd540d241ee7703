# SPDX-License-Identifier: Apache-2.0
"""Proves that slow messages in special situations are not reported wrongly: stamps that a sender
chose, readers that waited more often than is remembered, sockets that are closed."""
import os
import select
import socket
import struct
import threading
import time

from lib import check, watch
from lib.traffic import hog, outweigh_others

DISTURBED = ("it compares a measured time with the time that the test itself took, and "
             "other threads can have the CPU in between")

SO_TXTIME = 61          # include/uapi/asm-generic/socket.h
N = 10
SECOND_NS = 10**9


class Run:
    """Watches what is sent to a socket of its own, over loopback."""

    def __init__(self, kind, *options):
        self.listener = socket.socket(socket.AF_INET, kind)
        self.listener.bind(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.observer = watch.Watch(*watch.HERE, "--port", self.address[1], *options)

    def slow(self):
        self.listener.close()
        self.result = self.observer.stop()
        return self.result.document["slow"]


def send_stamped(run, ahead_ns, late_s, read=lambda: None):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", time.CLOCK_MONOTONIC, 0))
    for _ in range(N):
        at = struct.pack("Q", time.clock_gettime_ns(time.CLOCK_MONOTONIC) + ahead_ns)
        sender.sendmsg([b"x"], [(socket.SOL_SOCKET, SO_TXTIME, at)], 0, run.address)
        time.sleep(late_s)
        read()


def late_reads(reader):
    for _ in range(N):
        select.select([reader], [], [])
        time.sleep(0.03)
        reader.recv(10)


def stamped(ahead_ns, *options, late_s=0.0):
    """Datagrams with a departure time that the sender set, which over loopback is ignored."""
    run = Run(socket.SOCK_DGRAM, "--origin", "sender", *options)
    send_stamped(run, ahead_ns, late_s, lambda: run.listener.recv(10))
    return run


def origin_in_the_future():
    """No age at all, rather than 2^64 ns less a second."""
    run = stamped(SECOND_NS, "--slower-than", "1h")
    check.equal("slow messages", run.slow()["count"], 0)
    check.equal("losses", run.result.lost("negative", stage="read"), N)
    check.equal("reasons", [r["code"] for r in run.result.document["reasons"]], ["losses"])


def origin_between_enqueued_and_read():
    """Time before the origin is no part of the message's latency."""
    run = stamped(10_000_000, "--slower-than", "1ms", late_s=0.03)
    slow = run.slow()
    check.equal("slow messages", slow["count"], N)
    for m in slow["messages"]:
        check.between(f"total of {m}", m["total_ns"], 10_000_000, 28_000_000_000)
        check.true(f"no stage before the origin: {m}",
                   not {"link", "transport", "enqueued"} & set(m["steps"]))


@check.environment(DISTURBED)
def origin_between_running_and_read():
    """The same where the reader slept until the datagram came, and read it late."""
    run = Run(socket.SOCK_DGRAM, "--slower-than", "1ms", "--origin", "sender")
    reader = threading.Thread(daemon=True, target=late_reads, args=(run.listener,))
    reader.start()
    send_stamped(run, 10_000_000, 0.05)
    reader.join()
    slow = run.slow()
    check.equal("slow messages", slow["count"], N)
    for m in slow["messages"]:
        check.equal(f"steps of {m}", list(m["steps"]), ["read"])


def origin_long_ago():
    """Longer than the 32 bits in which a packet's distances are kept."""
    run = stamped(-6 * SECOND_NS, "--slower-than", "1s")
    slow = run.slow()
    check.equal("slow messages", slow["count"], N)
    for m in slow["messages"]:
        check.between(f"part of link in {m}", m["steps"]["link"] / m["total_ns"], 0.99, 1)


def run_queue_ns():
    with open("/proc/self/schedstat", encoding="ascii") as f:
        return int(f.read().split()[1])


@check.environment(DISTURBED)
def more_waits_than_remembered():
    """The kernel's own account of the time: what is told of is that, or said to be a part of it."""
    run = Run(socket.SOCK_DGRAM, "--slower-than", "100ms")
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    os.sched_setaffinity(0, {1})
    burner, waited = hog(1, 60, f"hog{os.getpid()}"), []
    try:
        for _ in range(3):
            sender.sendto(b"x", run.address)
            before, end = run_queue_ns(), time.monotonic() + 0.4
            while time.monotonic() < end:
                pass
            run.listener.recv(10)
            waited.append(run_queue_ns() - before)
    finally:
        burner.kill()
        burner.wait()
        os.sched_setaffinity(0, range(os.cpu_count()))
    messages = sorted(run.slow()["messages"], key=lambda m: m["read_ns"])
    check.equal("slow messages", len(messages), 3)
    check.equal("the first's wait: its reader was not known", messages[0]["wait_ns"], None)
    for m, ns in zip(messages[1:], waited[1:]):
        check.true(f"the kernel says {ns}: {m}",
                   m["waits_partial"] or abs(m["wait_ns"] - ns) < 0.2 * ns)
    check.true(f"one waited more often than is remembered: {waited}, {messages}",
               any(m["waits_partial"] for m in messages[1:]))


def closed_socket():
    """Both ends have closed, and the bytes are read only then: whose they were is known."""
    run = Run(socket.SOCK_STREAM, "--slower-than", "1ms")
    run.listener.listen()
    for _ in range(N):
        client = socket.create_connection(run.address)
        server, _ = run.listener.accept()
        client.send(b"x")
        client.close()
        server.shutdown(socket.SHUT_WR)
        time.sleep(0.02)
        server.recv(10)
        server.close()
    slow = run.slow()
    check.equal("slow messages", slow["count"], N)
    for m in slow["messages"]:
        check.equal(f"local of {m}", m["local"], f"127.0.0.1:{run.address[1]}")


outweigh_others()
check.run((case,) for case in (origin_in_the_future, origin_between_enqueued_and_read,
                               origin_between_running_and_read, origin_long_ago, more_waits_than_remembered, closed_socket))
