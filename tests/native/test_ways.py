# SPDX-License-Identifier: Apache-2.0
"""Proves that packets count once, with their age, also if they are sent and read by other ways than
a call and a copy."""
import contextlib
import ctypes
import mmap
import os
import socket
import struct
import subprocess
import sys
import threading
import time

from lib import check, netns, watch
from lib.sockmap import Sockmap

N = 100
SIZE = 100
LATE_NS = 2_000_000     # after which a message is read
SETUP, ENTER = 425, 426
OP_RECV, GETEVENTS, SQES = 27, 1, 0x10000000
SO_ZEROCOPY, MSG_ZEROCOPY, SO_BUSY_POLL = 60, 0x4000000, 46
TCP_ZEROCOPY_RECEIVE = 35
TCP_ULP, SOL_TLS, TLS_TX, TLS_RX, TLS_1_2, AES_GCM_128 = 31, 282, 1, 2, 0x0303, 51

libc = ctypes.CDLL(None, use_errno=True)


class Ring:
    """An io_uring of this process, one receive call at a time."""

    def __init__(self, flags=0):
        params = ctypes.create_string_buffer(120)
        struct.pack_into("I", params, 8, flags)
        self.fd = libc.syscall(SETUP, 4, params)
        if self.fd < 0:
            check.skip(f"io_uring: {os.strerror(ctypes.get_errno())}")
        entries, more = struct.unpack_from("II", params, 0)
        self.sq = struct.unpack_from("7I", params, 40)
        self.cq = struct.unpack_from("6I", params, 80)
        size = max(self.sq[6] + 4 * entries, self.cq[5] + 16 * more)
        self.ring = mmap.mmap(self.fd, size, offset=0)
        self.sqes = mmap.mmap(self.fd, 64 * entries, offset=SQES)
        self.buffer = ctypes.create_string_buffer(1 << 16)

    def _word(self, offset):
        return struct.unpack_from("I", self.ring, offset)[0]

    def begin(self, fd, size):
        tail = self._word(self.sq[1])
        at = tail & self._word(self.sq[2])
        struct.pack_into("=BBHiQQIIQ", self.sqes, 64 * at, OP_RECV, 0, 0, fd, 0,
                         ctypes.addressof(self.buffer), size, 0, 7)
        struct.pack_into("I", self.ring, self.sq[6] + 4 * at, at)
        struct.pack_into("I", self.ring, self.sq[1], tail + 1)
        self._enter(1, 0, 0)

    def end(self):
        head = self._word(self.cq[0])
        if head == self._word(self.cq[1]):
            self._enter(0, 1, GETEVENTS)
        _, result, _ = struct.unpack_from("=QiI", self.ring,
                                          self.cq[5] + 16 * (head & self._word(self.cq[2])))
        struct.pack_into("I", self.ring, self.cq[0], head + 1)
        return result

    def _enter(self, submit, wait, flags):
        done = libc.syscall(ENTER, self.fd, submit, wait, flags, None, 0)
        check.true(f"io_uring_enter: {os.strerror(ctypes.get_errno())}", done == submit)

    def close(self):
        self.ring.close()
        self.sqes.close()
        os.close(self.fd)


@contextlib.contextmanager
def connected(net, protocol):
    """(sender, reader)"""
    with netns.inside(net.reader):
        kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
        first = socket.socket(socket.AF_INET, kind)
        first.bind(("127.0.0.1", 0))
        sender = socket.socket(socket.AF_INET, kind)
        if protocol == "tcp":
            first.listen()
            sender.connect(first.getsockname())
            reader, _ = first.accept()
            first.close()
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            reader = first
            sender.connect(first.getsockname())
    with sender, reader:
        yield sender, reader


def watched(net, reader, messages, *options):
    observer = watch.Watch("--netns", net.reader, "--port", reader.getsockname()[1], *options)
    messages()
    return observer.stop()


def whole(result, protocol, least_ns):
    for stage in ("transport", "enqueued", "read"):
        check.counted(f"packets at {stage} ({result.brief()})", result.count(stage, protocol), N)
    row = result.row("read", protocol)
    check.between("smallest age", row["min_ns"], least_ns, 10**9)
    check.between("mean age", watch.mean_ns(row), least_ns, least_ns + 20_000_000)
    result.sound()


def io_uring(net, protocol, pending):
    """The call is there before the packet and ends in task work; or it finds the packet."""
    ring = Ring()
    with connected(net, protocol) as (sender, reader):
        def messages():
            for _ in range(N):
                if pending:
                    ring.begin(reader.fileno(), SIZE)
                sender.send(bytes(SIZE))
                if not pending:
                    time.sleep(LATE_NS / 1e9)
                    ring.begin(reader.fileno(), SIZE)
                check.equal("bytes read", ring.end(), SIZE)

        result = watched(net, reader, messages)
        by_pid = watched(net, reader, messages, "--pid", os.getpid())
    ring.close()
    whole(result, protocol, 0 if pending else LATE_NS)
    whole(by_pid, protocol, 0 if pending else LATE_NS)


def zerocopy_send(net):
    """The payload is in the sender's own pages."""
    with connected(net, "tcp") as (sender, reader):
        sender.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)

        def messages():
            for _ in range(N):
                sender.send(bytes(SIZE), MSG_ZEROCOPY)
                time.sleep(LATE_NS / 1e9)
                check.equal("bytes read", len(reader.recv(SIZE)), SIZE)
                with contextlib.suppress(BlockingIOError):
                    sender.recvmsg(1, 100, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)

        result = watched(net, reader, messages)
        sent = watched(net, sender, messages, "--stages", "egress")
    whole(result, "tcp", LATE_NS)
    for stage in ("segment", "qdisc", "driver"):
        check.counted(f"packets at {stage} ({sent.brief()})", sent.count(stage, "tcp", "egress"), N)


def zerocopy_receive_call(reader, address):
    """Returns how many bytes the receive call copied into a buffer: loopback pages are never
    whole."""
    buffer = ctypes.create_string_buffer(1 << 14)
    arguments = ctypes.create_string_buffer(struct.pack(
        "=QIIIiQiIQQII", address, 1 << 14, 0, 0, 0, ctypes.addressof(buffer), len(buffer), 0, 0, 0,
        0, 0), 64)
    size = ctypes.c_uint(64)
    if libc.getsockopt(reader.fileno(), socket.IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, arguments,
                       ctypes.byref(size)):
        check.skip(f"TCP_ZEROCOPY_RECEIVE: {os.strerror(ctypes.get_errno())}")
    _, length, _, _, _, _, copied = struct.unpack_from("=QIIIiQi", arguments)
    return length + copied


def zerocopy_receive(net):
    """No receive call ends it: a loss, when the reader is seen to have gone on."""
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    with connected(net, "tcp") as (sender, reader):
        address = libc.mmap(None, 1 << 14, mmap.PROT_READ, mmap.MAP_SHARED, reader.fileno(), 0)
        if address == ctypes.c_void_p(-1).value:
            check.skip(f"a TCP socket can't be mapped: {os.strerror(ctypes.get_errno())}")

        def read_all():
            for _ in range(N):
                sender.send(bytes(SIZE))
                time.sleep(LATE_NS / 1e9)
                read.append(zerocopy_receive_call(reader, address))

        def messages():
            thread = threading.Thread(daemon=True, target=read_all)
            thread.start()
            thread.join()
            time.sleep(0.5)     # until the kernel forgets the thread

        read = []
        result = watched(net, reader, messages)
        libc.munmap(address, 1 << 14)
    check.equal("bytes read", read, [SIZE] * N)
    check.counted("packets enqueued", result.count("enqueued", "tcp"), N)
    check.counted(f"packets read, or lost ({result.brief()})", result.count("read", "tcp") +
                  result.lost("unsupported-splice", stage="read"), N)
    check.true("some are lost", result.lost("unsupported-splice"))


def polled(net):
    """Packets that a busy reader took from a queue itself, by the kernel's count."""
    with netns.inside(net.reader), open("/proc/thread-self/net/netstat", encoding="ascii") as f:
        lines = [line.split() for line in f if line.startswith("TcpExt:")]
    return int(dict(zip(*lines))["BusyPollRxPackets"])


@check.environment("the reader must poll before the softirq does, and both need a CPU")
def busy_polling():
    """The reader runs the receive path by itself, from the queue of its card on."""
    net = netns.veth()
    # segments that the sender's end would cut by itself pass no queue (veth.c)
    for name, link, feature, state in ((net.reader, "reader0", "gro", "on"),
                                       (net.sender, "sender0", "tso", "off")):
        done = subprocess.run(["ip", "netns", "exec", name, "ethtool", "-K", link, feature, state],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            check.skip(f"a veth without a queue: {done.stderr.strip()}")
    with netns.inside(net.reader):
        reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        reader.bind((net.address(4), 0))
        reader.setsockopt(socket.SOL_SOCKET, SO_BUSY_POLL, 50_000)
    with netns.inside(net.sender):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def send():
        os.sched_setaffinity(0, {0})
        for _ in range(N):
            time.sleep(LATE_NS / 1e9)
            sender.sendto(bytes(SIZE), reader.getsockname())

    def messages():
        other = threading.Thread(daemon=True, target=send)
        cpus = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {max(cpus)})
        other.start()
        for _ in range(N):
            check.equal("bytes read", len(reader.recv(SIZE)), SIZE)
        other.join()
        os.sched_setaffinity(0, cpus)

    before = polled(net)
    with reader, sender:
        result = watched(net, reader, messages)
    # no more than some where others want its CPU, too
    check.between("packets that the reader polled for", polled(net) - before, 1, N)
    whole(result, "udp", 0)
    return f"{polled(net) - before} of {N} were polled for"


def send_late(sender, reader):
    """Each read some time after it came."""
    for _ in range(N):
        sender.send(bytes(SIZE))
        time.sleep(LATE_NS / 1e9)
        check.equal("bytes read", len(reader.recv(SIZE)), SIZE)


def in_sockmap(net, program):
    """Its packets pass a program, if there is one, and are read by receive calls all the same."""
    with connected(net, "tcp") as (sender, reader), contextlib.closing(Sockmap()) as own:
        if program:
            own.passes()
        own.put(reader)
        result = watched(net, reader, lambda: send_late(sender, reader))
    whole(result, "tcp", LATE_NS)


def redirected(net):
    """
    They are taken out of its queue in softirq, for another socket: whoever is current there has
    read nothing. Each one is a loss.
    """
    with connected(net, "tcp") as (sender, reader), connected(net, "tcp") as (_, other), \
         contextlib.closing(Sockmap()) as own, contextlib.closing(Sockmap()) as others:
        own.redirects(others)
        others.put(other)
        own.put(reader)

        def messages():
            thread = threading.Thread(daemon=True, target=send_late, args=(sender, other))
            thread.start()
            thread.join()
            time.sleep(0.5)     # until the kernel forgets the thread

        result = watched(net, reader, messages)
    check.counted(f"packets enqueued ({result.brief()})", result.count("enqueued", "tcp"), N)
    check.equal(f"packets read ({result.brief()})", result.count("read", "tcp"), 0)
    check.between("counted as not measured", result.lost("unsupported-splice", stage="read"),
                  N - 2, N)      # but what the last task took that is still there


def encrypted(sock, direction, key):
    """The kernel encrypts (way 1) or decrypts (2): TLS 1.2, AES-GCM with 128 bits."""
    sock.setsockopt(SOL_TLS, direction, struct.pack("=HH8s16s4s8s", TLS_1_2, AES_GCM_128, bytes(8), key,
                                                    bytes(4), bytes(8)))


def kernel_tls(net, size):
    """Records of one packet, or of several: a packet counts as read when its record is."""
    with connected(net, "tcp") as (sender, reader):
        try:
            for end in (sender, reader):
                end.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
        except OSError as e:
            check.skip(f"the kernel has no TLS: {e}")
        key = bytes(range(16))
        encrypted(sender, TLS_TX, key)
        encrypted(reader, TLS_RX, key)

        def messages():
            for _ in range(N):
                sender.sendall(bytes(size))
                time.sleep(LATE_NS / 1e9)
                left = size
                while left:
                    left -= len(reader.recv(left))
            time.sleep(0.1)

        result = watched(net, reader, messages)
    packets = result.count("enqueued", "tcp")
    check.between(f"packets enqueued ({result.brief()})", packets, N, 100 * N)
    lost = sum(row["count"] for row in result.document["losses"] if row["stage"] == "read")
    check.counted(f"packets read, or lost ({result.brief()})", result.count("read", "tcp") + lost,
                  packets)
    if result.count("read", "tcp"):
        check.between("smallest age", result.row("read", "tcp")["min_ns"], LATE_NS, 10**9)
    return f"{packets} packets, {result.count('read', 'tcp')} read, {lost} lost"


if os.geteuid() != 0:
    check.skip("needs root")
loopback = netns.loopback()
if "tls" in sys.argv:
    check.run([(kernel_tls, loopback, size) for size in (SIZE, 16000)])
    sys.exit()
check.run([(io_uring, loopback, protocol, pending) for protocol in ("tcp", "udp")
           for pending in (False, True)] +
          [(zerocopy_send, loopback), (zerocopy_receive, loopback), (busy_polling,)] +
          [(in_sockmap, loopback, program) for program in (False, True)] +
          [(redirected, loopback)])
