# SPDX-License-Identifier: Apache-2.0
"""Proves that `diagnose` names a wait in the kernel's queue, the application and the flow ahead:
two sockets' packets are taken from a device by one core, and each message waits behind packets of
the other application for a known time. Control: a message just ahead of the same packets does not
wait."""
import bisect
import collections
import os
import socket
import struct
import subprocess
import time

from lib import burst, causes, check, diagnose, netns, trace
from lib.traffic import outweigh_others

DISTURBED = "packets may miss the batch that they are to come in, where others have the core"

ROUNDS, USUAL, EXAMPLES = 20, 10, 2000
BURST, SPIN_NS = 8, 300_000
BATCH_SPREAD_NS_MAX = SPIN_NS // 2  # between the kernel's stamps of packets of one batch, at most
SO_TIMESTAMPNS = 35
RIGHT = 0.8
CORE = 1

# `behind`: so many packets of the burst were ahead of it in its batch.
Sent = collections.namedtuple("Sent", "begin end behind")


def prepared():
    """A device that passes packets on in batches, behind a queue for them to come from together."""
    net = netns.veth()
    for name, device, *features in ((net.sender, "sender0", "tso", "off", "gso", "off"),
                                    (net.reader, "reader0", "gro", "on")):
        subprocess.run(["ip", "netns", "exec", name, "ethtool", "-K", device, *features],
                       check=True)
    if subprocess.run(["tc", "-n", net.sender, "qdisc", "add", "dev", "sender0", "root", "tbf",
                       "rate", "16mbit", "burst", "1600", "limit", "100000"],
                      check=False).returncode:
        check.skip("this kernel has no tbf")
    return net


def stamp(message):
    seconds, ns = struct.unpack("qq", message[1][0][2])
    return seconds * 1_000_000_000 + ns


def bound(net):
    with netns.inside(net.sender):
        tx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    tx.bind(("10.77.0.2", 0))
    return tx


class Line:
    """Datagrams from one socket to another."""

    def __init__(self, net):
        self.tx = bound(net)
        with netns.inside(net.reader):
            self.rx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rx.settimeout(burst.LIMIT_S)
        for sock in self.rx, self.sink:
            sock.bind((net.address(4), 0))

    def jam(self):
        """
        Two large packets use up what the queue lets pass at once: small ones that are sent now wait
        for the second one to leave. While the first of them is delayed, the others all fall due.
        """
        for _ in range(2):
            self.tx.sendto(bytes(1400), self.sink.getsockname())

    def send(self):
        self.tx.sendto(b"x", self.rx.getsockname())
        return time.monotonic_ns()

    def receive(self):
        message = self.rx.recvmsg(1, 64)
        return message, time.monotonic_ns()

    def close(self):
        self.tx.close()
        self.rx.close()
        self.sink.close()


def one_round(line, other, behind):
    sent = []
    for _ in range(USUAL):
        begin = line.send()
        sent.append(Sent(begin, line.receive()[1], 0))
    line.jam()
    if behind:
        other.send()
        begin = line.send()
    else:
        begin = line.send()
        other.send()
    message, end = line.receive()
    ages = [stamp(message) - stamp(each) for each in other.wait()]
    ahead = sum(0 <= age < BATCH_SPREAD_NS_MAX for age in ages)
    return [*sent, Sent(begin, end, ahead)]


class Run:
    def __init__(self, net):
        line = Line(net)
        other = burst.Burst(net.reader, net.address(4), bound(net), BURST, SPIN_NS)
        for rx in line.rx, other.rx:
            rx.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.tid, self.flow = other.tid, other.flow
        observer = trace.Recording("--netns", net.reader)
        self.sent = [one for i in range(ROUNDS) for one in one_round(line, other, i % 2)]
        observer.end()
        other.finish()
        line.close()
        check.equal("exit code of record", observer.code, 0)
        self.diagnosis = diagnose.Diagnosis(observer.file, EXAMPLES, code=(0, 3))
        self.begins = [one.begin for one in self.sent]
        # Some of the messages with which they are compared wait behind packets, too.
        self.usual = {one["pid"]: sum(part["mean_ns"] for part in one["parts"]
                                      if part["cause"] == "kernel-queue")
                      for one in self.diagnosis.document["baselines"]}

    def of(self, example):
        i = bisect.bisect_right(self.begins, example["at_ns"]) - 1
        return self.sent[i] if i >= 0 and example["at_ns"] <= self.sent[i].end else None


def is_right(run, example, one):
    charge = causes.charge_of(example, "kernel-queue")
    known = one.behind * SPIN_NS - run.usual[example["pid"]]
    return (0.95 * known <= charge.ns <= 1.05 * known + SPIN_NS / 2 and
            charge.culprits and
            all((c["tid"], c["what"]) == (run.tid, run.flow) for c in charge.culprits))


def judge(run, examples):
    right, wrong, false = 0, [], []
    for example in examples:
        one = run.of(example)
        if not one or example["tid"] == run.tid:
            continue
        causes.sums(example)
        charge = causes.charge_of(example, "kernel-queue")
        where = f"message {example['id']}, behind {one.behind} packets: {charge}"
        if not one.behind and charge.ns > SPIN_NS / 2:
            false.append(where)
        elif one.behind and is_right(run, example, one):
            right += 1
        elif one.behind:
            wrong.append(where)
    check.true(f"{right} messages behind packets are right, not {wrong[:3]}",
               right >= ROUNDS // 4 and right >= RIGHT * (right + len(wrong)))
    check.true(f"behind none, but reported to be: {false[:3]}", len(false) <= 1)
    return right


@check.environment(DISTURBED)
def behind_a_burst(net):
    run = Run(net)
    right = judge(run, run.diagnosis.examples)
    check.must_fail("as other-receive", judge, run,
                    causes.swapped(run.diagnosis.examples, "kernel-queue", "other-receive"))
    check.must_fail("too little", judge, run,
                    causes.less(run.diagnosis.examples, "kernel-queue", 0.4))
    check.must_fail("of another", judge, run, causes.of_others(run.diagnosis.examples))
    return f"{right} of {ROUNDS // 2} messages are behind {run.flow}"


outweigh_others()
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
check.run([(behind_a_burst, prepared())])
