# SPDX-License-Identifier: Apache-2.0
"""
Proves that `watch` stores little for a UDP socket, so that the kernel's limit for it
(net.core.optmem_max) is left to the application; and a long queue has all the same the stamp of
each datagram, or counts it.
"""
import ctypes
import os
import random
import socket
import struct
import threading
import time

from lib import check, netns, refusing, watch
from lib.traffic import Traffic

SO_MEMINFO, RMEM_ALLOC, OPTMEM = 55, 0, 6
SO_ATTACH_FILTER, SO_RCVBUFFORCE = 26, 33
OPTMEM_MAX = "/proc/sys/net/core/optmem_max"
OLD_OPTMEM_MAX = 20480  # before Linux 6.7
FILTER = 1500           # instructions, of 8 bytes
SMALL = 2048            # bytes beside a socket
DEEP = 120
NEAR, FAR_MIN = 16, 512
STALE_S = 10            # then an unread stamp gives way
APART_S = 0.0002
TOLERANCE_NS = 50_000   # between two clocks; less than the datagrams are apart


def meminfo(sock, which):
    return struct.unpack_from("9I", sock.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))[which]


class Queue:
    """A socket and who sends to it; `sent` has for each datagram from when to when that was."""

    def __init__(self, net):
        with netns.inside(net.reader):
            self.reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.reader.bind(("127.0.0.1", 0))
            self.sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.reader.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        self.reader.settimeout(10)
        self.sender.connect(self.reader.getsockname())
        self.port = self.reader.getsockname()[1]
        self.sent, self.unread = [], 0

    def send(self, n=1):
        """One by one: the next one only when this one is in the queue."""
        for _ in range(n):
            held, since = meminfo(self.reader, RMEM_ALLOC), time.monotonic_ns()
            self.sender.send(b"x")
            while meminfo(self.reader, RMEM_ALLOC) == held:
                check.true("a datagram is not queued", time.monotonic_ns() - since < 10**10)
            self.sent.append((since, time.monotonic_ns()))
            self.unread += 1
            time.sleep(APART_S)

    def read(self, n=1):
        for _ in range(n):
            self.reader.recv(10)
            self.unread -= 1

    def close(self):
        self.reader.close()
        self.sender.close()


def filtered(sock):
    """The application's own use of its memory: a filter that takes all."""
    code = [(0, 0, 0, i) for i in range(FILTER - 1)] + [(6, 0, 0, 0xffff)]
    text = b"".join(struct.pack("HBBI", *each) for each in code)
    buffer = ctypes.create_string_buffer(text)
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                    struct.pack("HP", FILTER, ctypes.addressof(buffer)))


def limited(net):
    """Sets the limit of older kernels. False: here it is not the namespace's own."""
    with netns.inside(net.reader):
        if not os.path.exists(OPTMEM_MAX):
            return False
        with open(OPTMEM_MAX, "w", encoding="ascii") as f:
            f.write(str(OLD_OPTMEM_MAX))
    return True


def small(net, n):
    """After n datagrams that waited together, the socket's memory is the application's."""
    queue, control = Queue(net), Queue(net)
    has_limit = limited(net)
    observer = watch.Watch("--port", queue.port)
    queue.send(n)
    queue.read(n)
    charged = meminfo(queue.reader, OPTMEM), meminfo(control.reader, OPTMEM)
    check.between("bytes beside the socket", charged[0], 1, SMALL)
    check.equal("bytes beside one that got nothing", charged[1], 0)
    filtered(queue.reader)
    result = observer.stop()
    for each in queue, control:
        each.close()
    check.counted(f"datagrams at read ({result.brief()})", result.count("read", "udp"), n)
    result.sound()
    return f"{charged[0]} bytes" + ("" if has_limit else "; optmem_max is not the namespace's")


def summary(result, queue):
    """(when it was received, when it was read) of each datagram that was measured, by its read."""
    slow = result.document["slow"]
    check.equal("datagrams not reported", slow["suppressed"], 0)
    mine = [m for m in slow["messages"] if m["local"].endswith(f":{queue.port}")]
    return sorted((m["read_ns"], m["read_ns"] - m["total_ns"]) for m in mine)


def own_stamps(received, sent):
    """Each is the stamp of a datagram, in their order, and of none twice."""
    i = 0
    for at in received:
        while i < len(sent) and sent[i][1] + TOLERANCE_NS < at:
            i += 1
        check.true(f"{at} is no datagram's ({sent})",
                   i < len(sent) and sent[i][0] - TOLERANCE_NS <= at)
        i += 1


def each_its_own(result, queues):
    messages = [summary(result, queue) for queue in queues]
    check.counted("messages reported", sum(map(len, messages)), result.count("read", "udp"))
    for queue, mine in zip(queues, messages):
        received = [at for _, at in mine]
        check.true("two messages to exchange", len(received) > 1)
        own_stamps(received, queue.sent)
        check.must_fail("two in each other's place", own_stamps,
                        [received[1], received[0], *received[2:]], queue.sent)


def observe(queues, *options):
    ports = ("--port", queues[0].port) if len(queues) == 1 else ()
    return watch.Watch("--slower-than", "1us", *ports, *options)


def deep(net):
    """Many wait before the first is read: each is measured, as itself."""
    queue = Queue(net)
    observer = observe([queue])
    queue.send(DEEP)
    queue.read(DEEP)
    result = observer.stop()
    queue.close()
    check.counted(f"datagrams at read ({result.brief()})", result.count("read", "udp"), DEEP)
    each_its_own(result, [queue])
    result.sound()


def ups_and_downs(net, seed):
    """A queue of any length, at any position of the ring."""
    rng, queue = random.Random(seed), Queue(net)
    observer = observe([queue])
    while len(queue.sent) < 200:
        queue.send(rng.choice((1, 2, 5, 15, 16, 17, 40)))
        queue.read(rng.randint(0, queue.unread))
    queue.read(queue.unread)
    result = observer.stop()
    queue.close()
    n = len(queue.sent)
    check.counted(f"datagrams at read, seed {seed} ({result.brief()})", result.count("read", "udp"), n)
    each_its_own(result, [queue])
    result.sound()


def least():
    return "--memory", f"{watch.least_memory_kib()[1]}K"


def full(result, n, places):
    lost = result.lost("fifo-full", stage="read", protocol="udp")
    check.counted(f"read and lost ({result.brief()})", result.count("read", "udp") + lost, n)
    check.between("lost", lost, 1, n)
    check.true(f"{places} places and {n} datagrams: {lost} lost", lost >= n - places)
    return lost


def too_deep(net):
    """More than there is memory for: what has no place is counted, and what comes later is measured."""
    queue, n, later = Queue(net), NEAR + FAR_MIN + 100, 50
    observer = watch.Watch("--port", queue.port, *least())
    queue.sender.setblocking(True)
    for _ in range(n):
        queue.sender.send(b"x")
    time.sleep(0.1)
    queue.read(n)
    for _ in range(later):
        queue.send()
        queue.read()
    result = observer.stop()
    queue.close()
    lost = full(result, n + later, NEAR + FAR_MIN + later)
    check.equal("lost", lost, 100)
    check.equal("exit code", result.code, 3)


def beside_each_other(net):
    """Long queues of several sockets in a table that is too small for them."""
    queues, n = [Queue(net) for _ in range(10)], 70
    observer = watch.Watch("--netns", net.reader, *least())
    for _ in range(n):
        for queue in queues:
            queue.sender.send(b"x")
    for queue in queues:
        queue.read(n)
    result = observer.stop()
    for queue in queues:
        queue.close()
    lost = full(result, len(queues) * n, len(queues) * NEAR + FAR_MIN)
    return f"{lost} of {len(queues) * n} had no place"


def each_of_several(net):
    """The same; what was measured is as old as it is."""
    queues, n = [Queue(net) for _ in range(6)], 34
    observer = observe(queues, "--netns", net.reader, *least())
    for queue in queues * 2:
        queue.send(n // 2)
    for queue in queues:
        queue.read(n)
    result = observer.stop()
    for queue in queues:
        queue.close()
    lost = result.lost("fifo-full", stage="read", protocol="udp")
    check.counted(f"read and lost ({result.brief()})", result.count("read", "udp") + lost,
                  len(queues) * n)
    each_its_own(result, queues)
    return f"{lost} of {len(queues) * n} had no place"


def together(net):
    """Two threads send to one socket while three read: each datagram once, read or lost."""
    queue, n = Queue(net), 3000
    observer = watch.Watch("--port", queue.port)

    def read():
        while queue.reader.recv(10) != b"end":
            pass

    def send():
        for _ in range(n):
            queue.sender.send(b"x")

    threads = [[threading.Thread(daemon=True, target=each) for _ in range(k)] for each, k in ((read, 3), (send, 2))]
    for each in threads[0] + threads[1]:
        each.start()
    for each in threads[1]:
        each.join()
    for each in threads[0]:
        queue.sender.send(b"end")
    for each in threads[0]:
        each.join()
    result = observer.stop()
    queue.close()
    lost = result.lost(stage="read", protocol="udp")
    total = 2 * n + len(threads[0])
    # A stamp whose reader went by is counted when its slot is needed again, which the last ones' are not.
    check.between(f"read and lost ({result.brief()})", result.count("read", "udp") + lost + check.unseen(),
                  total - len(threads[0]), total)
    check.between("lost", lost, 0, n // 100)
    return f"{lost} of {2 * n} lost"


class Busy:
    """Datagrams are read as fast as they are sent, until the end."""

    def __init__(self, queue):
        self.queue, self.n, self.ends = queue, 0, False
        self.thread = threading.Thread(daemon=True, target=self._run)
        self.thread.start()

    def _run(self):
        while not self.ends:
            self.queue.sender.send(b"x")
            self.queue.reader.recv(10)
            self.n += 1

    def await_more(self, n):
        end, since = self.n + n, time.monotonic()
        while self.n < end:
            check.true("busy traffic has stopped", time.monotonic() < since + 30)
            time.sleep(0.001)

    def end(self):
        self.ends = True
        self.thread.join()


def attached_to_busy(net):
    """Reads are seen before announcements are: soon each read has its own datagram's stamp."""
    queue, slow = Queue(net), 10
    busy = Busy(queue)
    env = {**refusing.environment(), "HOSTLAT_ATTACH_MS": "5"}
    observer = watch.Watch("--port", queue.port, "--slower-than", "5ms", env=env)
    before = busy.n
    busy.await_more(1000)
    busy.end()
    n, since = busy.n - before, time.monotonic_ns()
    for _ in range(slow):
        queue.send()
        time.sleep(0.006)
        queue.read()
    result = observer.stop()
    queue.close()
    read, announced = result.count("read", "udp"), result.count("enqueued", "udp")
    check.between(f"datagrams at read ({result.brief()})", read, n + slow - NEAR, announced + 1)
    check.between("announced, but neither read nor lost",
                  announced - read - result.lost(stage="read", protocol="udp"), -NEAR, NEAR)
    received = [at for read_at, at in summary(result, queue) if read_at > since]
    check.counted("slow messages", len(received), slow)
    own_stamps(received, queue.sent)
    return f"{read} of {announced} read"


class Stale:
    """Datagrams that stay unread for long, while other tests run."""

    def __init__(self, closes):
        self.net, self.closes = netns.loopback(), closes
        self.queue = Queue(self.net)
        self.observer = watch.Watch("--netns", self.net.reader, *least(), stays=True)
        for _ in range(FAR_MIN - NEAR):
            self.queue.sender.send(b"x")
        if closes:
            self.queue.close()
        self.since = time.monotonic()

    def __str__(self):
        return "closed" if self.closes else "late"


def gives_way(stale):
    """Another socket's datagrams take their slots; who reads them yet finds them lost, once each."""
    time.sleep(max(0, stale.since + STALE_S + 0.1 - time.monotonic()))
    other, n, late = Queue(stale.net), FAR_MIN, FAR_MIN - NEAR
    for _ in range(n):
        other.sender.send(b"x")
    other.read(n)
    if not stale.closes:
        stale.queue.read(late)
        stale.queue.close()
    result = stale.observer.stop()
    other.close()
    if stale.closes:
        check.counted(f"datagrams at read ({result.brief()})", result.count("read", "udp"), n)
        result.sound()
        return None
    lost = result.lost("fifo-full", stage="read", protocol="udp")
    check.counted(f"read and lost ({result.brief()})", result.count("read", "udp") + lost, n + late)
    check.between("lost", lost, late - 3 * NEAR, late - NEAR)
    return f"{lost} lost of {late} that were read late"


def spinning(net):
    """A reader that never sleeps often comes in the moment of the announcement, which others' programs delay."""
    n = 2000
    others = [watch.Watch("--netns", net.reader) for _ in range(2)]
    traffic = Traffic(net, 4, "udp", pattern="stream", wait="spin", count=n, gap_us=200, reader_cpu=0, sender_cpu=1)
    observer = watch.Watch("--netns", net.reader, "--port", traffic.port)
    traffic.finish()
    result = observer.stop()
    for other in others:
        other.stop()
    check.counted(f"datagrams at read ({result.brief()})", result.count("read", "udp"), n)
    return f"{result.excluded('reader-already-running')} of {n} found their reader running"


if os.geteuid() != 0:
    check.skip("needs root")
loopback = netns.loopback()
unread = [Stale(closes) for closes in (True, False)]
check.run([
    (small, loopback, 1),
    (small, loopback, DEEP),
    (deep, loopback),
    *((ups_and_downs, loopback, seed) for seed in (1, 2, 3)),
    (too_deep, loopback),
    (beside_each_other, loopback),
    (each_of_several, loopback),
    (together, loopback),
    (spinning, loopback),
    (attached_to_busy, loopback),
    *((gives_way, stale) for stale in unread),
])
