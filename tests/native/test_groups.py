# SPDX-License-Identifier: Apache-2.0
"""Proves that --by puts each packet into one group, under the right name; packets without a place
are in the overflow. Control: exchanged groups must fail."""
import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from lib import cgroups, check, frames, netns, watch
from lib.traffic import Traffic

N = 500
# Not `link`: where a packet's stamp is no good, on a busy machine, that is the origin and no stage.
LOWER = ["transport", "enqueued"]
READ = ["read"]
MS = 1_000_000
# Emulated: beside others its CPUs are slow and taken away, so that times compare with each other only.
GUEST = "guest" in sys.argv


def groups(result, stage, protocol, direction="ingress"):
    """Count by group, which is a tuple of its labels' (key, value)."""
    counts = {}
    for row in result.rows(stage, protocol, direction):
        group = tuple(row["group"].items())
        counts[group] = counts.get(group, 0) + row["count"]
    return {group: count for group, count in counts.items() if count}


def same_everywhere(result, stages, protocol, expected):
    for stage in stages:
        check.equal(f"groups at {stage} ({result.brief()})", groups(result, stage, protocol),
                    expected)


def at_once(*runs):
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(run) for run in runs]:
            done.result()


def apart(slow, quick):
    check.between("p90 of read, throttled", slow, 5 * MS, (10_000 if GUEST else 1000) * MS)
    check.between("p50 of read, not throttled", quick, 0, slow / 4 if GUEST else MS)


def throttled_group(protocol):
    """Two control groups with the same traffic: the reader of one is throttled."""
    net, names = netns.loopback(), ("quick", "slow")
    n, limit = (200, 120) if GUEST else (N, 60)
    made = [cgroups.Group(f"{protocol}-{name}") for name in names]
    traffic = [Traffic(net, 4, protocol, prefix=group.prefix(), pattern="stream", wait="spin", count=n, gap_us=1000,
                       reader_cpu=i, sender_cpu=1 - i, limit=limit) for i, group in enumerate(made)]
    cgroups.throttle(traffic[1].reader_pid, f"{protocol}-throttled")
    observer = watch.Watch("--netns", net.reader, "--by", "cgroup")
    at_once(*(each.finish for each in traffic))
    result = observer.stop()
    expected = {(("cgroup", group.name),): n for group in made}
    same_everywhere(result, LOWER + READ, protocol, expected)

    def p(stage, group, q):
        rows = [r for r in result.rows(stage, protocol) if r["group"]["cgroup"] == group.name]
        return watch.quantile(max(rows, key=lambda r: r["count"]), q)["ns"]

    slow, quick = p("read", made[1], 0.9), p("read", made[0], 0.5)
    apart(slow, quick)
    for group in made:
        check.between(f"p50 of enqueued in {group.name}", p("enqueued", group, 0.5), 0,
                      (slow / 4 if GUEST else MS) / 5)
    check.must_fail("the groups exchanged", apart, quick, slow)
    result.sound()
    return (f"p90 of read {p('read', made[1], 0.9) / MS:.0f} ms, "
            f"{p('read', made[0], 0.9) / MS:.2f} ms in the other")


def filtered():
    """--cgroup: that group and those below it, and no other."""
    net, outer = netns.loopback(), cgroups.Group("outer")
    inner = cgroups.Group("inner", outer)
    made = outer, inner, cgroups.Group("other")
    counts = 30, 50, 70
    for name, expected in ((outer.folder, 80), (inner.name, 50), (made[2].name + "/", 70)):
        observer = watch.Watch("--netns", net.reader, "--cgroup", name)
        for group, count in zip(made, counts):
            Traffic(net, 4, "udp", prefix=group.prefix(), pattern="stream", count=count).finish()
        result = observer.stop()
        for stage in LOWER + READ:
            check.counted(f"packets of {name} at {stage}", result.count(stage, "udp"), expected)
        result.sound()


FLOOD = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.bind(("127.0.0.1", 0))
    for _ in range(200):
        s.sendto(b"x" * 500, s.getsockname())
"""


def drops():
    """Drops are counted for the group's own sockets only (since Linux 6.11)."""
    net, names = netns.loopback(), ("ours", "theirs")
    made = [cgroups.Group(name) for name in names]
    for watched, least in ((made[0], 0), (made[1], 100)):
        observer = watch.Watch("--netns", net.reader, "--cgroup", watched.name)
        with netns.inside(net.reader):
            subprocess.run([*made[1].prefix(), sys.executable, "-c", FLOOD], check=True)
        result = observer.stop()
        check.between(f"drops of {watched.name}", result.dropped("SOCKET_RCVBUFF"), least,
                      200 if least else 0)


def two_in_a_read():
    """Packets of two CPUs that one read takes: the second's group has no age of its own there."""
    net, n = netns.loopback(), 20
    with netns.inside(net.reader), socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sender = socket.create_connection(listener.getsockname())
        reader = listener.accept()[0]
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    port = reader.getsockname()[1]
    cpus = os.sched_getaffinity(0)
    for second, lost in ((1, n), (0, 0)):
        observer = watch.Watch("--netns", net.reader, "--port", port, "--by", "cpu")
        for _ in range(n):
            for cpu in (0, second):
                os.sched_setaffinity(0, {cpu})
                sender.send(b"x")
            while len(reader.recv(100, socket.MSG_PEEK)) < 2:
                pass
            check.equal("bytes of a read", len(reader.recv(100)), 2)
        os.sched_setaffinity(0, cpus)
        result = observer.stop()
        check.equal(f"lost ({result.brief()})", result.lost("mixed-groups"), lost)
        check.equal("packets at read", sum(groups(result, "read", "tcp").values()), 2 * n - lost)
        check.equal("packets at enqueued", sum(groups(result, "enqueued", "tcp").values()), 2 * n)


class Ports:
    """Datagram sockets of this process, each read at once."""

    def __init__(self, n):
        self.sockets = []
        for _ in range(n):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("127.0.0.1", 0))
            self.sockets.append(s)
        self.ports = [s.getsockname()[1] for s in self.sockets]
        self.sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def exchange(self, i, n=1):
        for _ in range(n):
            self.sender.sendto(b"x", ("127.0.0.1", self.ports[i]))
            self.sockets[i].recv(10)


def by_port():
    net = netns.loopback()
    with netns.inside(net.reader):
        ports = Ports(20)
    observer = watch.Watch("--netns", net.reader, "--by", "port")
    for i in range(20):
        ports.exchange(i, i + 1)
    result = observer.stop()
    expected = {(("port", port),): i + 1 for i, port in enumerate(ports.ports)}
    same_everywhere(result, LOWER + READ, "udp", expected)
    order = [r["group"]["port"] for r in result.document["stages"] if r["stage"] == "enqueued"]
    check.equal("order of the groups", sorted(set(order), key=order.index), sorted(ports.ports))
    result.sound()


def by_interface(net, family, protocol):
    """The name that the reader's namespace has for it; neither driver tells of a queue."""
    result, own = watch.around(net, family, protocol, ("--by", "netns,ifindex,cpu,rxq"),
                               count=N, reader_cpu=1, sender_cpu=0)
    veth = net.kind == "veth"
    name = ("reader0" if veth else "lo") + "@" + net.reader
    for stage in LOWER + READ:
        seen = groups(result, stage, protocol)
        for group in map(dict, seen):
            check.equal(f"namespace at {stage}", group["netns"], net.reader)
            check.equal(f"interface at {stage}", group["ifindex"], name)
            check.equal(f"queue at {stage}", group["rxq"], None)
        check.equal(f"packets at {stage} ({result.brief()})", sum(seen.values()),
                    own["received"])
        on_0 = sum(count for group, count in seen.items() if dict(group)["cpu"] == 0)
        check.between(f"packets at {stage} of the sender's CPU", on_0, own["received"] * 0.8,
                      own["received"])
    result.sound()


TUNSETIFF, IFF_TUN, IFF_NO_PI, IFF_MULTI_QUEUE = 0x400454ca, 0x1, 0x1000, 0x100


def tun_queue(name):
    """Another queue of a card whose wire this process is."""
    queue = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(queue, TUNSETIFF, struct.pack("16sH22x", name.encode(),
                                              IFF_TUN | IFF_NO_PI | IFF_MULTI_QUEUE))
    return queue


def datagram(port):
    """From 10.79.0.2 to 10.79.0.1, IPv4 without options."""
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 29, 0, 0, 64, 17, 0, bytes([10, 79, 0, 2]),
                       bytes([10, 79, 0, 1]))
    return (head[:10] + struct.pack("!H", frames.checksum(head)) + head[12:] +
            struct.pack("!HHHHB", 9, port, 9, 0, 1))


def by_queue():
    """Packets are grouped by the card's receive queue."""
    net, counts = netns.loopback(), (3, 50, 7)
    with netns.inside(net.reader):
        queues = [tun_queue("tun0") for _ in counts]
        netns.ip("-n", net.reader, "addr", "add", "10.79.0.1/24", "dev", "tun0")
        netns.ip("-n", net.reader, "link", "set", "tun0", "up")
        reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        reader.bind(("10.79.0.1", 0))
    observer = watch.Watch("--netns", net.reader, "--by", "rxq,ifindex")
    for queue, count in zip(queues, counts):
        for _ in range(count):
            os.write(queue, datagram(reader.getsockname()[1]))
            reader.recv(10)
    result = observer.stop()
    for queue in queues:
        os.close(queue)
    expected = {(("ifindex", "tun0@" + net.reader), ("rxq", i)): count
                for i, count in enumerate(counts)}
    same_everywhere(result, LOWER + READ, "udp", expected)
    result.sound()


def large_number():
    """Beside others an interface's number has few bits: one that has no room is not known."""
    net = netns.veth()
    netns.ip("-n", net.reader, "link", "add", "big0", "index", "20000", "type", "veth",
             "peer", "name", "peer0", "netns", net.sender)
    for name, link, host in ((net.reader, "big0", 1), (net.sender, "peer0", 2)):
        netns.ip("-n", name, "addr", "add", f"10.80.0.{host}/24", "dev", link)
        netns.ip("-n", name, "link", "set", link, "up")
    with netns.inside(net.reader):
        reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        reader.bind(("10.80.0.1", 0))
    with netns.inside(net.sender):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for keys, name in (("ifindex", "big0@" + net.reader), ("ifindex,cpu,rxq", None)):
        observer = watch.Watch("--netns", net.reader, "--by", keys)
        for _ in range(10):
            sender.sendto(b"x", reader.getsockname())
            reader.recv(10)
        result = observer.stop()
        for stage in LOWER + READ:
            seen = {dict(group)["ifindex"] for group in groups(result, stage, "udp")}
            check.equal(f"interface at {stage} by {keys}", seen, {name})
        result.sound()


def by_comm(net, family, protocol):
    """The reader's name, from where it is known on."""
    result, own = watch.around(net, family, protocol, ("--by", "comm"), count=N)
    n = own["received"]
    same_everywhere(result, LOWER, protocol, {(("comm", None),): n})
    same_everywhere(result, READ, protocol, {(("comm", "reader"),): n})
    for stage in ("runnable", "running"):
        running = result.excluded("reader-already-running", protocol=protocol)
        check.equal(f"groups at {stage}", groups(result, stage, protocol),
                    {(("comm", "reader"),): n - running})
    result.sound()


def one_process(net, family, protocol):
    """With --pid, which judges at `read`, all stages are in the group all the same."""
    traffic = Traffic(net, family, protocol, count=N)
    observer = watch.Watch("--pid", traffic.reader_pid, "--by", "port")
    own = traffic.finish()
    result = observer.stop()
    same_everywhere(result, LOWER + READ, protocol, {(("port", traffic.port),): own["received"]})
    result.sound()


def sent(net):
    """The transmit side: by the sender's control group and the interface it left by."""
    group = cgroups.Group("sender")
    traffic = Traffic(net, 4, "tcp", prefix=group.prefix(), count=N)
    observer = watch.Watch("--netns", net.sender, "--stages", "egress", "--by", "cgroup,ifindex")
    traffic.finish()
    result = observer.stop()
    name = "sender0@" + net.sender
    expected = {(("cgroup", group.name), ("ifindex", name)): N}
    for stage in ("segment", "qdisc", "driver", "acked"):
        check.equal(f"groups at {stage} ({result.document.get('reasons')})",
                    groups(result, stage, "tcp", "egress"), expected)
    result.sound()


def overflow():
    """More groups than there is memory for: none is lost, the rest is told as such."""
    net, n, rounds = netns.loopback(), 400, 5
    with netns.inside(net.reader):
        ports = Ports(n)
    # From one origin, whatever stamps are worth: a row of another one would find no place.
    observer = watch.Watch("--netns", net.reader, "--by", "port", "--memory", "11M", "--origin",
                           "link")
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {0})    # on another CPU each group would need a second row
    for _ in range(rounds):
        for i in range(n):
            ports.exchange(i)
    os.sched_setaffinity(0, cpus)
    result = observer.stop()
    rest = (("overflow", True),)
    for stage in LOWER + READ:
        seen = groups(result, stage, "udp")
        check.equal(f"packets at {stage}", sum(seen.values()), n * rounds)
        check.between(f"packets in the overflow of {stage}", seen.pop(rest, 0), rounds,
                      (n - 1) * rounds)
        check.equal(f"counts of the others at {stage}", set(seen.values()), {rounds})
    result.sound()
    return f"{len(seen)} of {n} groups have a row at read"


def room_again():
    """Groups that nobody uses any more make room for others."""
    net, n = netns.loopback(), 110
    with netns.inside(net.reader):
        ports = Ports(2 * n)
    observer = watch.Watch("--netns", net.reader, "--by", "port", "--memory", "11M",
                           lines=True)
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {1})    # a row is a CPU's: as many as there are groups and stages
    for i in range(n):
        ports.exchange(i)
    time.sleep(15)
    for i in range(n, 2 * n):
        ports.exchange(i)
    os.sched_setaffinity(0, cpus)
    results = observer.stop()
    seen = {}
    for result in results:
        for group, count in groups(result, "read", "udp").items():
            seen[group] = seen.get(group, 0) + count
    expected = {(("port", port),): 1 for port in ports.ports}
    check.equal("packets in the overflow", seen.get((("overflow", True),), 0), 0)
    check.true("groups at read, of both times, are the sockets", seen == expected)


CHURN = """
import os, socket, sys
root, n = sys.argv[1], int(sys.argv[2])
reader = None
for i in range(n):
    folder = f"{root}/{i}"
    os.mkdir(folder)
    with open(folder + "/cgroup.procs", "w") as f:
        f.write("0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.sendto(b"x", s.getsockname())
        s.recv(10)
    with open(root + "/cgroup.procs", "w") as f:
        f.write("0")
    os.rmdir(folder)
"""


def come_and_go():
    """Control groups that live for a packet: each packet is in one group, or in the overflow."""
    net, n = netns.loopback(), 10_000 if check.LONG else 1_000
    parent = cgroups.Group("churn")
    observer = watch.Watch("--netns", net.reader, "--by", "cgroup")
    before = memory_kb(observer.process.pid)
    with netns.inside(net.reader):
        subprocess.run([*parent.prefix(), sys.executable, "-c", CHURN, parent.folder, str(n)],
                       check=True)
    time.sleep(1.5)     # until it has told of them
    grown = memory_kb(observer.process.pid) - before
    result = observer.stop()
    for stage in LOWER + READ:
        seen = groups(result, stage, "udp")
        rest = seen.pop((("overflow", True),), 0)
        check.equal(f"packets at {stage}", sum(seen.values()) + rest, n)
        check.equal(f"counts of groups at {stage}", set(seen.values()), {1})
        check.true(f"{rest} in the overflow of {stage}, though there is room", rest == 0 or
                   n > 2000)
    check.between("growth of hostlat, kB", grown, 0, 300_000)
    result.sound()
    return f"{len(seen)} groups, {rest} in the overflow, {grown >> 10} MiB"


def memory_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def recorded(net):
    """From a file the same; other groups can't be had from it."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/run.hlat"
        result, _ = watch.around(net, 4, "tcp", ("--by", "port", "--record", path), count=N)

        def show(*options):
            return subprocess.run([watch.HOSTLAT, "watch", "--from", path, "--json", *options],
                                  capture_output=True, text=True, timeout=120, check=False)
        again = show("--by", "port")
        check.equal("exit code", again.returncode, 0)
        check.equal("rows", watch.json.loads(again.stdout)["stages"], result.document["stages"])
        refused = show("--by", "netns")
        check.equal("exit code of other groups", refused.returncode, 2)
        check.true(f"--by in {refused.stderr}", "--by" in refused.stderr)


def refused():
    """Too little memory, and a key that is none."""
    for options, code, words in ((["--memory", "6M"], 2, "--memory"), (["--by", "moon"], 1, "moon"),
                                 (["--cgroup", "/no/such"], 2, "--cgroup /no/such")):
        done = subprocess.run([watch.HOSTLAT, "watch", "--by", "port", *options, "--count", "1"],
                              capture_output=True, text=True, timeout=120, check=False)
        check.equal(f"exit code of {options}", done.returncode, code)
        check.true(f"{words} in {done.stderr}", words in done.stderr)


throttled = check.environment("the kernel throttles a group by periods of its own clock")


def guest_cases():
    """Yields the cases that depend on the kernel's own structures; tables are the same
    everywhere."""
    yield by_port,
    yield filtered,
    yield by_comm, netns.loopback(), 4, "tcp"
    if check.LONG:
        yield throttled(throttled_group), "udp"
        yield overflow,


def room_cases():
    """Waits for most of its time: it may do so beside others."""
    yield room_again,


def cases():
    for protocol in ("tcp", "udp"):
        yield throttled(throttled_group), protocol
    yield by_port,
    yield filtered,
    yield drops,
    yield two_in_a_read,
    for net, family in netns.two():
        for protocol in ("tcp", "udp"):
            yield by_interface, net, family, protocol
            yield by_comm, net, family, protocol
            yield one_process, net, family, protocol
    yield by_queue,
    yield large_number,
    yield sent, netns.veth()
    yield overflow,
    yield come_and_go,
    yield recorded, netns.loopback()
    yield refused,


check.run({"guest": guest_cases, "room": room_cases}.get("".join(sys.argv[1:]), cases)())
