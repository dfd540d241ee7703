# SPDX-License-Identifier: Apache-2.0
"""Proves that the time that a segment waits in its socket's backlog is the step to `socket`, and no
part of `transport`. Control: a run without waits must fail the same check. Payload that comes while
a connection opens or closes has no time at `socket`: it is a named loss there, and measured at the
other stages.

A receive call holds the socket's lock while it copies. Here it copies to a page that is missing:
userfaultfd keeps the call there until the test fills the page. What is sent meanwhile enters TCP
at once and waits in the backlog, for a time that the test knows from both sides.
"""
import ctypes
import mmap
import os
import select
import socket
import struct
import threading
import time

from lib import check, netns, watch
from lib.box import Gate, Path

ROUNDS, HOLD_S, SIZE = 25, 0.02, 100
DISTURBED = "a CPU that others take meanwhile adds to the times that the test compares"
PAGE = mmap.PAGESIZE
SYS_USERFAULTFD = {"x86_64": 323, "aarch64": 282}.get(os.uname().machine)
UFFDIO_API, UFFDIO_REGISTER, UFFDIO_ZEROPAGE = 0xc018aa3f, 0xc020aa00, 0xc020aa04
REGISTER_MISSING = 1
libc = ctypes.CDLL(None, use_errno=True)


class MissingPage:
    """A page of this process; whoever touches it is held until fill()."""

    def __init__(self):
        self.fd = libc.syscall(SYS_USERFAULTFD, os.O_CLOEXEC | os.O_NONBLOCK)
        if self.fd < 0:
            check.skip("this machine has no userfaultfd")
        self.memory = mmap.mmap(-1, PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.control(UFFDIO_API, struct.pack("QQQ", 0xaa, 0, 0))
        self.control(UFFDIO_REGISTER, struct.pack("QQQQ", self.address, PAGE,
                                                  REGISTER_MISSING, 0))

    def control(self, request, argument):
        buffer = ctypes.create_string_buffer(argument, len(argument))
        if libc.ioctl(self.fd, ctypes.c_ulong(request), buffer):
            check.skip(f"userfaultfd: {os.strerror(ctypes.get_errno())}")

    def remove(self):
        self.memory.madvise(mmap.MADV_DONTNEED)

    def fill(self):
        self.control(UFFDIO_ZEROPAGE, struct.pack("QQQq", self.address, PAGE, 0, 0))

    def touched(self):
        """Waits until somebody is held."""
        ready, _, _ = select.select([self.fd], [], [], 10)
        check.true("the receive call did not come to the missing page", ready)
        os.read(self.fd, 32)


class Pair:
    """A connection; its receiving end reads into the page."""

    def __init__(self, net, family):
        self.page = MissingPage()
        if isinstance(net, Path):
            self.server, self.sender, self.reader = net.connected()
        else:
            self.connect(net, family)
        self.filter = "--port", self.server.getsockname()[1], "--netns", net.reader

    def connect(self, net, family):
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET
        with netns.inside(net.reader):
            self.server = socket.create_server((net.address(family), 0), family=kind)
        with netns.inside(net.sender):
            self.sender = socket.create_connection(self.server.getsockname()[:2], 10)
        self.reader, _ = self.server.accept()
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        for end in self.server, self.sender, self.reader:
            end.close()
        os.close(self.page.fd)

    def read(self, size):
        got = 0
        while got < size:
            n = self.reader.recv_into(self.page.memory, size - got)
            check.true("the connection ended", n)
            got += n

    def round(self, hold, sends=1):
        """The least and the most that the first message of those sent meanwhile has waited."""
        self.page.remove()
        if not hold:
            self.page.fill()
        self.sender.sendall(bytes(SIZE))
        self.reader.recv(1, socket.MSG_PEEK)  # it is there
        thread = threading.Thread(target=self.read, args=(SIZE,), daemon=True)
        thread.start()
        if hold:
            self.page.touched()
        else:
            thread.join()
        began = time.monotonic_ns()
        self.sender.sendall(bytes(SIZE))
        sent = time.monotonic_ns()
        for _ in range(sends - 1):
            time.sleep(HOLD_S / sends)
            self.sender.sendall(bytes(SIZE))
        time.sleep(HOLD_S)
        released = time.monotonic_ns()
        if hold:
            self.page.fill()
            thread.join()
        self.read(SIZE * sends)
        return released - sent, time.monotonic_ns() - began


def run(net, family, hold, *options, sends=1):
    """(what watch saw, [(least, most)] that the messages waited)"""
    pair = Pair(net, family)
    observer = watch.Watch(*pair.filter, *options)
    try:
        waits = [pair.round(hold, sends) for _ in range(ROUNDS)]
        result = observer.stop()
    finally:
        pair.close()
    check.equal(f"losses ({result.brief()})", result.lost(), 0)
    return result, waits


def steps(result, stage):
    return result.row(stage, "tcp")["step"]


def waited(result, waits):
    """The step to `socket` has what the messages waited, and the steps beside it do not."""
    least, most = (sum(ns) for ns in zip(*waits))
    check.between("sum of the steps to `socket`", steps(result, "socket")["sum_ns"], least, most)
    for stage in "transport", "enqueued":
        check.between(f"sum of the steps to `{stage}`", steps(result, stage)["sum_ns"], 0,
                      least // 10)
    check.between("most that a packet took to `transport`",
                  result.row("transport", "tcp")["max_ns"], 0, HOLD_S * 1e9 / 2)


@check.environment(DISTURBED)
def found(net, family, *options):
    result, waits = run(net, family, True, *options)
    for stage in "transport", "socket", "enqueued", "read":
        check.equal(f"packets at {stage}", result.count(stage, "tcp"), 2 * ROUNDS)
    waited(result, waits)
    free, _ = run(net, family, False, *options)
    check.equal("packets without a wait", free.count("socket", "tcp"), 2 * ROUNDS)
    check.must_fail("a run without waits", waited, free, waits)
    return f"{steps(result, 'socket')['sum_ns'] // ROUNDS} ns a round, " \
           f"{steps(free, 'socket')['sum_ns'] // ROUNDS} ns without"


@check.environment(DISTURBED)
def merged(path):
    """
    Segments that the kernel merges in the backlog count as one packet, as old as the first of them.
    It merges segments with equal options that no sender on this host still has a hold of: without
    TCP's timestamps, and in frames that the gate has made anew.
    """
    with netns.inside(path.sender):
        with open("/proc/sys/net/ipv4/tcp_timestamps", "w", encoding="ascii") as f:
            f.write("0")
    with netns.inside(path.middle):
        gate = Gate(("point0", "point1"))
    try:
        result, waits = run(path, 4, True, sends=4)
    finally:
        gate.end()
    check.between("packets", result.count("socket", "tcp"), 2 * ROUNDS, 5 * ROUNDS)
    check.equal("at transport", result.count("transport", "tcp"), result.count("socket", "tcp"))
    least, most = (sum(ns) for ns in zip(*waits))
    check.between("sum of the steps to `socket`", steps(result, "socket")["sum_ns"], least // 2,
                  4 * most)
    return f"{result.count('socket', 'tcp')} packets of {5 * ROUNDS} messages"


@check.environment(DISTURBED)
def slow_messages_show_it(net, family):
    """The `socket` step of slow messages holds the time in the backlog, too."""
    result, waits = run(net, family, True, "--slower-than", f"{HOLD_S * 1000 / 2}ms")
    messages = result.document["slow"]["messages"]
    slow = [m for m in messages if m["steps"].get("socket", 0) > HOLD_S * 1e9 / 2]
    check.equal("messages whose longest step is `socket`", len(slow), ROUNDS)
    check.between("sum of these steps", sum(m["steps"]["socket"] for m in slow),
                  sum(least for least, _ in waits), sum(most for _, most in waits))
    for m in slow:
        check.between("its step to `transport`", m["steps"]["transport"], 0, HOLD_S * 1e9 / 2)
    return f"{len(slow)} of {len(messages)}"


@check.environment(DISTURBED)
def not_asked(net, family):
    """Without `transport` the wait is in the step to `socket` all the same."""
    result, waits = run(net, family, True, "--stages", "link,socket,enqueued,read")
    check.equal("rows of transport", result.rows("transport", "tcp"), [])
    least, most = (sum(ns) for ns in zip(*waits))
    check.between("sum of the steps to `socket`", steps(result, "socket")["sum_ns"], least,
                  most + ROUNDS * 1_000_000)
    return ""


def opened(net, with_data):
    """N connections of one message: with the last segment of the handshake, or behind it."""
    with netns.inside(net.reader):
        server = socket.create_server((net.address(4), 0))
    observer = watch.Watch("--port", server.getsockname()[1], "--netns", net.reader)
    for _ in range(ROUNDS):
        with netns.inside(net.sender):
            sender = socket.socket()
        if with_data:   # the acknowledgement waits for something to send
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 1)
        sender.connect(server.getsockname())
        if not with_data:
            reader, _ = server.accept()
        sender.sendall(bytes(SIZE))
        if with_data:
            reader, _ = server.accept()
        check.equal("bytes", len(reader.recv(SIZE)), SIZE)
        sender.close()
        reader.close()
    server.close()
    return observer.stop()


def unsocketed(result, n):
    """n messages have no time at `socket`, and all have one at the stages around it."""
    check.equal(f"lost at socket ({result.brief()})",
                result.lost("not-established", stage="socket", protocol="tcp"), n)
    check.equal("all losses", result.lost(), n)
    check.equal("packets at socket", result.count("socket", "tcp"), ROUNDS - n)
    for stage in "transport", "enqueued", "read":
        check.equal(f"packets at {stage}", result.count(stage, "tcp"), ROUNDS)


def with_the_handshake(net):
    unsocketed(opened(net, True), ROUNDS)
    unsocketed(opened(net, False), 0)


def after_closing(net):
    """This end has said that it sends no more, and still receives."""
    for close in True, False:
        pair = Pair(net, 4)
        observer = watch.Watch(*pair.filter)
        if close:
            pair.reader.shutdown(socket.SHUT_WR)
            check.equal("end of file", pair.sender.recv(1), b"")
        for _ in range(ROUNDS):
            pair.sender.sendall(bytes(SIZE))
            check.equal("bytes", len(pair.reader.recv(SIZE)), SIZE)
        result = observer.stop()
        pair.close()
        unsocketed(result, ROUNDS if close else 0)


def fast_open(net):
    """The payload of a SYN is in no row, and a loss."""
    with netns.inside(net.reader):
        with open("/proc/sys/net/ipv4/tcp_fastopen", "w", encoding="ascii") as f:
            f.write("519")  # both ends, without a cookie
        server = socket.create_server((net.address(4), 0))
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
    observer = watch.Watch("--port", server.getsockname()[1], "--netns", net.reader)
    for _ in range(ROUNDS):
        with netns.inside(net.sender):
            sender = socket.socket()
        sender.sendto(bytes(SIZE), socket.MSG_FASTOPEN, server.getsockname())
        reader, _ = server.accept()
        check.equal("bytes", len(reader.recv(SIZE)), SIZE)
        sender.close()
        reader.close()
    result = observer.stop()
    server.close()
    check.equal(f"lost ({result.brief()})", result.lost("not-established", stage="enqueued"),
                ROUNDS)
    check.equal("all losses", result.lost(), ROUNDS)


def cases():
    for net in netns.loopback(), netns.veth():
        for family in 4, 6:
            yield found, net, family
        yield found, net, 4, "--pid", os.getpid()
        yield found, net, 4, "--stages", "all"
        yield slow_messages_show_it, net, 4
        yield not_asked, net, 4
        yield with_the_handshake, net
        yield after_closing, net
    yield fast_open, netns.loopback()
    yield merged, Path()


if os.geteuid() != 0:
    check.skip("needs root")
check.run(cases())
