# SPDX-License-Identifier: Apache-2.0
"""Proves that each packet is counted once and under the right name while network namespaces and
interfaces come and go, and that none of them is held open once it is gone."""
import glob
import os
import socket
import subprocess
import time

from lib import bpf, check, netns, watch

ROUNDS = 100 if check.LONG else 40
N = 5           # messages each way


class Pair:
    """A new namespace with a link to `middle`, whose end there has a name and a number."""

    def __init__(self, middle, i, index=None):
        self.middle, self.name, self.link = middle, f"hostlat{os.getpid()}-c{i}", f"end{i}"
        # an earlier namespace is removed a while after its name
        self.here, self.there = f"10.81.{i % 250}.1", f"10.81.{i % 250}.2"
        netns.ip("netns", "add", self.name)
        numbered = ["index", str(index)] if index else []
        subprocess.run(["ip", "-n", middle, "-batch", "-"], text=True, check=True, input="\n".join([
            " ".join(["link", "add", self.link, *numbered, "type", "veth", "peer", "name", "far0",
                      "netns", self.name]),
            f"addr add {self.here}/24 dev {self.link}", f"link set {self.link} up"]))
        subprocess.run(["ip", "-n", self.name, "-batch", "-"], text=True, check=True,
                       input=f"addr add {self.there}/24 dev far0\nlink set far0 up\nlink set lo up")

        for name, link in ((middle, self.link), (self.name, "far0")):
            while "state UP" not in subprocess.run(["ip", "-n", name, "link", "show", link],
                                                   text=True, capture_output=True,
                                                   check=True).stdout:
                time.sleep(0.01)

    def exchange(self):
        """UDP and TCP, N messages each way."""
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            with netns.inside(self.name):
                there = socket.socket(socket.AF_INET, kind)
                there.bind((self.there, 0))
            with netns.inside(self.middle):
                here = socket.socket(socket.AF_INET, kind)
                here.bind((self.here, 0))
            here.settimeout(5)
            there.settimeout(5)
            with here, there:
                if kind == socket.SOCK_STREAM:
                    there.listen()
                here.connect(there.getsockname())
                if kind == socket.SOCK_STREAM:
                    answering, _ = there.accept()
                else:
                    there.connect(here.getsockname())
                    answering = there
                for _ in range(N):
                    for a, b in ((here, answering), (answering, here)):
                        a.send(b"x")
                        check.equal("message", b.recv(10), b"x")
                answering.close()

    def remove(self):
        netns.ip("netns", "del", self.name)


def gone(middle):
    """Until no end of a veth pair is left in `middle`: the other's namespace is no more."""
    end = time.monotonic() + 60
    while True:
        left = subprocess.run(["ip", "-n", middle, "-o", "link", "show", "type", "veth"], text=True,
                              capture_output=True, check=True).stdout
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def held(pid):
    """Descriptors, and links of BPF programs among them."""
    links = 0
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        with open(path, encoding="ascii") as f:
            links += "link_id" in f.read()
    return len(os.listdir(f"/proc/{pid}/fd")), links


def memory_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def total(results, stage, protocol):
    return sum(r.count(stage, protocol) for r in results)


def by_label(results, stage, protocol, key):
    seen = {}
    for result in results:
        for row in result.rows(stage, protocol):
            label = row["group"][key]
            seen[label] = seen.get(label, 0) + row["count"]
    return {label: count for label, count in seen.items() if count}


def churn():
    """Many, of which most don't live until they are found."""
    net = netns.loopback()
    middle = net.reader
    before = bpf.objects()
    observer = watch.Watch("--interval", "100ms", lines=True)
    pid = observer.process.pid
    pair = Pair(middle, ROUNDS)    # so that what is made once is made
    pair.exchange()
    pair.remove()
    check.equal("the first pair, whose namespace is held", gone(middle), "")
    start, memory = held(pid), memory_kb(pid)
    for i in range(ROUNDS):
        pair = Pair(middle, i)
        pair.exchange()
        pair.remove()
    check.equal("veth pairs whose namespace is held", gone(middle), "")
    check.equal("descriptors, and links among them", held(pid), start)
    check.between("growth of its memory, kB", memory_kb(pid) - memory, -100_000, 20_000)
    results = observer.stop()
    check.equal("objects left in the kernel", bpf.left_behind(before), [])
    return results


def counts():
    results = churn()
    expected = 2 * N * (ROUNDS + 1)
    for stage in ("socket", "enqueued", "read"):
        late = sum(r.lost("no-link-stamp", stage=stage) for r in results)
        check.between(f"tcp packets at {stage}", total(results, stage, "tcp"), expected - late,
                      1 << 30)     # and others of this machine
    for protocol in "tcp", "udp":
        seen = total(results, "transport", protocol)
        missed = sum(r.lost("netns-not-covered", protocol=protocol) for r in results)
        late = sum(r.lost("no-link-stamp", stage="transport", protocol=protocol) for r in results)
        check.between(f"{protocol} packets at transport and not covered", seen + missed + late,
                      expected, 1 << 30)
        check.between("of them, not covered", missed, 1, expected)
    return f"{missed} of {expected} datagrams came before their namespace was found"


@check.environment("a namespace that is made and removed within an interval must be found "
                   "by a thread that needs a CPU")
def names(apart_s):
    """An interface whose number another one had a moment before, under another name."""
    net = netns.loopback()
    observer = watch.Watch("--netns", net.reader, "--by", "ifindex", "--interval", "100ms",
                           lines=True)
    pairs = []
    for i in range(6):
        pairs.append(Pair(net.reader, i, index=77))
        pairs[-1].exchange()
        time.sleep(apart_s)
        netns.ip("-n", net.reader, "link", "del", pairs[-1].link)
        pairs[-1].remove()
    results = observer.stop()
    expected = {f"{pair.link}@{net.reader}": N for pair in pairs}
    for stage in ("enqueued", "read"):
        check.equal(f"datagrams at {stage} by interface",
                    by_label(results, stage, "udp", "ifindex"), expected)


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(counts,), (names, 0.3)])
