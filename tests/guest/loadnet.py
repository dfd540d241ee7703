# SPDX-License-Identifier: Apache-2.0
"""In the guest: loadnet.py HOSTLAT LOADRUN

hostlat load on a network that is made bad by netem, where this kernel tells the truth: a delay on the
server's side is wire + server, one in the client's own queueing discipline is transmit; and what TCP
sent again, by its tracepoint, is what samples call sent again. And on a card (e1000e, as QEMU makes
it) that is told to stamp every packet, which it does not do: its clock is read, the run says that the
stamps are missing, and however it ends, the card is set as it was. On two virtio cards, whose queues can
be polled, latency agents take packets from there, as the kernel counts, and nobody else does.
"""
import collections
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from lib import check, netns, process

PORT = 7000
DELAY_NS = 40_000_000
RETRANSMIT, FAILED = 64, 4
TRACING = "/sys/kernel/tracing"
SIOCGHWTSTAMP = 0x89B1

Sample = collections.namedtuple(
    "Sample", "intended sent done tx_offset rx_offset tx_bytes rx_bytes flow type flags sched snd ack rx wake "
              "server_in server_out")


@contextlib.contextmanager
def serving(name, address):
    it = process.start(["ip", "netns", "exec", name, HOSTLAT, "serve", f"{address}:{PORT}"],
                       stderr=subprocess.PIPE, text=True)
    line = it.stderr.readline()
    check.true(f"serve says: {line}", "serving" in line)
    try:
        yield f"synthetic://{address}:{PORT}"
    finally:
        it.kill()
        it.wait()


def load(net, url, **settings):
    """(what loadrun counted, its samples)"""
    with tempfile.NamedTemporaryFile() as f:
        options = [f"{k}={v}" for k, v in {"stamps": 1, "timeout": "20s", **settings}.items()]
        done = subprocess.run(["ip", "netns", "exec", net.sender, LOADRUN, f"samples={f.name}", *options, url],
                              capture_output=True, text=True, timeout=120, check=False)
        check.equal(f"exit code: {done.stdout}{done.stderr}", done.returncode, 0)
        with open(f.name, encoding="ascii") as lines:
            return json.loads(done.stdout), [Sample(*map(int, line.split())) for line in lines]


def netem(name, link, *how):
    subprocess.run(["tc", "-n", name, "qdisc", "replace", "dev", link, "root", "netem", *how], check=True)


def calm(net):
    for name, link in ((net.reader, "reader0"), (net.sender, "sender0")):
        subprocess.run(["tc", "-n", name, "qdisc", "del", "dev", link, "root"], check=False,
                       stderr=subprocess.DEVNULL)


def parts(s):
    return {"queue": s.sent - s.intended, "transmit": s.snd, "wire + server": s.done - s.rx - s.sent - s.snd,
            "receive": s.rx}


def medians(net, url):
    _, samples = load(net, url, rate=10, duration="3s", arrival="fixed", connections=4)
    known = [parts(s) for s in samples if s.snd and s.rx and not s.flags & FAILED]
    check.between("with both stamps", len(known), 0.95 * len(samples), len(samples))
    return {part: statistics.median(p[part] for p in known) for part in known[0]}


def lands_in(name, after, before):
    added = {part: after[part] - before[part] for part in after}
    # Medians of an emulated machine, which others have made slower before or after.
    check.between(f"{name} of {added}", added[name] / DELAY_NS, 0.7, 1.6)
    for other in added:
        if other != name:
            check.between(f"{other} of {added}", abs(added[other]) / DELAY_NS, 0, 0.3)
    return f"{added[name] / 1e6:.1f} ms"


@check.environment("it compares a measured time with the time that the test itself took, "
                   "and other threads can have the CPU in between")
def a_delay_on_the_way_is_wire_and_server():
    net = netns.veth()
    calm(net)
    with serving(net.reader, "10.77.0.1") as url:
        before = medians(net, url)
        netem(net.reader, "reader0", "delay", "40ms")
        delays = medians(net, url)
        calm(net)
        netem(net.sender, "sender0", "delay", "40ms")
        own = medians(net, url)
    figure = lands_in("wire + server", delays, before)
    lands_in("transmit", own, before)
    check.must_fail("our own queue's delay as the wire's", lands_in, "wire + server", own, before)
    return figure


def write(name, text):
    with open(os.path.join(TRACING, name), "w", encoding="ascii") as f:
        f.write(text)


def sent_again():
    """When TCP sent bytes to PORT again, in us of the monotonic clock."""
    with open(f"{TRACING}/trace", encoding="ascii") as f:
        found = re.findall(rf"(\d+)\.(\d+): tcp_retransmit_skb: .* dport={PORT} .*state=TCP_ESTABLISHED", f.read())
    return [int(s) * 1_000_000 + int(us) for s, us in found]


def agree(samples, times):
    """One connection, one request at a time: the request under way is the one that was sent again."""
    truth = {s for s in samples for t in times if s.sent // 1000 <= t <= s.done // 1000}
    flagged = {s for s in samples if s.flags & RETRANSMIT}
    check.equal(f"requests sent again, of {len(samples)}", len(flagged), len(truth))
    check.equal("they are the same", flagged, truth)
    check.between("of them", len(truth), 3, len(samples) // 2)
    return f"{len(truth)} of {len(samples)}"


@check.environment("which packets are lost is netem's chance")
def what_is_sent_again_is_marked():
    net = netns.veth()
    write("trace_clock", "mono")
    write("events/tcp/tcp_retransmit_skb/enable", "1")
    netem(net.reader, "reader0", "loss", "3%")
    netem(net.sender, "sender0", "loss", "5%")
    try:
        with serving(net.reader, "10.77.0.1") as url:
            write("trace", "")
            got, samples = load(net, url, loop=1, duration="6s", connections=1)
    finally:
        write("events/tcp/tcp_retransmit_skb/enable", "0")
        calm(net)
    check.equal("balance", got["completed"], got["scheduled"])
    check.equal("failed", got["failed"] + got["unsent"] + got["in_flight"], 0)
    check.equal("what must hold", got["broken"], "")
    check.equal("samples", len(samples), got["completed"])
    times = sent_again()
    figure = agree(samples, times)
    check.must_fail("a retransmission that nobody marked", agree,
                    [s._replace(flags=s.flags & ~RETRANSMIT) for s in samples], times)
    return figure


def stamps_of(name, link):
    """(tx_type, rx_filter) of struct hwtstamp_config."""
    script = (f"import fcntl, socket, struct; b = bytearray(12); a = (__import__('ctypes').c_char * 12).from_buffer(b)\n"
              f"r = struct.pack('16sP16x', {link!r}.encode(), __import__('ctypes').addressof(a))\n"
              f"fcntl.ioctl(socket.socket(), {SIOCGHWTSTAMP}, r); print(*struct.unpack('iii', b)[1:])")
    done = subprocess.run(["ip", "netns", "exec", name, sys.executable, "-c", script], check=True,
                          capture_output=True, text=True)
    return tuple(map(int, done.stdout.split()))


def carrier(name, link):
    """A card takes seconds to find its peer."""
    for _ in range(600):
        shown = subprocess.run(["ip", "-n", name, "link", "show", link], capture_output=True,
                               text=True)
        if "LOWER_UP" in shown.stdout:
            return
        time.sleep(0.1)
    check.true(f"carrier of {link}: {shown.stdout}", False)


def a_silent_card_is_found_out_and_left_as_it_was():
    subprocess.run(["modprobe", "e1000e"], check=True)
    pair = netns.veth()
    for name, link, host in ((pair.sender, "eth0", 1), (pair.reader, "eth1", 2)):
        netns.ip("link", "set", link, "netns", name)
        netns.ip("-n", name, "addr", "add", f"10.78.0.{host}/24", "dev", link)
        netns.ip("-n", name, "link", "set", link, "up")
    carrier(pair.sender, "eth0")
    carrier(pair.reader, "eth1")
    command = ["ip", "netns", "exec", pair.sender, HOSTLAT, "load", "--rate", "20", "--connections", "1",
               "--timestamps", "nic", "--json"]
    check.equal("before", stamps_of(pair.sender, "eth0"), (0, 0))
    with serving(pair.reader, "10.78.0.2") as url:
        for how in (None, signal.SIGTERM):
            run = process.start([*command, "--for", "3s" if how is None else "60s", url], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            first_line = run.stderr.readline()
            check.true(f"begins: {first_line}", "measuring" in first_line)
            if how:
                check.equal("meanwhile", stamps_of(pair.sender, "eth0"), (1, 1))
                run.send_signal(how)
            out, err = run.communicate(timeout=120)
            check.equal(f"exit code {err}", run.returncode, 3)
            got = json.loads(out)
            check.equal("cards", got["setup"]["nics"], "eth0")
            check.equal("nothing was converted", got["setup"]["nic_error_ns"], None)
            reasons = {r["code"] for r in got["reasons"]}
            check.true(f"reasons: {reasons}", ("interrupted" if how else "timestamps-missing") in reasons)
            check.equal("after", stamps_of(pair.sender, "eth0"), (0, 0))


def by_address(mac):
    for name in os.listdir("/sys/class/net"):
        with open(f"/sys/class/net/{name}/address", encoding="ascii") as f:
            if f.read().strip() == mac:
                return name
    return check.skip(f"no card {mac}")


def busy_polled(name):
    """Packets that were taken by busy polling of this namespace's cards, as the kernel counts them."""
    shown = subprocess.run(["ip", "netns", "exec", name, "cat", "/proc/net/netstat"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    for names, values in zip(shown[::2], shown[1::2]):
        if "BusyPollRxPackets" in names:
            return int(dict(zip(names.split(), values.split()))["BusyPollRxPackets"])
    return check.skip("this kernel does not count packets of busy polling")


def polled(net, prefix, option):
    """(packets by the kernel's count, the agent)"""
    before = busy_polled(net.sender)
    with serving(net.reader, "10.79.0.2") as url:
        done = subprocess.run([*prefix, HOSTLAT, "load", url, "--rate", "100", "--connections", "4", "--for", "3s",
                               "--json", option, f"netns:{net.sender}"], capture_output=True, text=True, timeout=120,
                              check=False)
    check.true(f"exit code {done.returncode}: {done.stderr}", done.returncode in (0, 3))
    role = "latency" if option == "--latency-agents" else "symmetric"
    agents = [a for a in json.loads(done.stdout)["agents"] if a["role"] == role]
    check.equal("agents", len(agents), 1)
    return busy_polled(net.sender) - before, agents[0]


def latency_agents_poll_the_queue():
    subprocess.run(["modprobe", "virtio_net"], check=True)
    net = netns.veth()
    for name, host in ((net.sender, 1), (net.reader, 2)):
        link = by_address(f"52:54:00:00:01:0{host - 1}")
        netns.ip("link", "set", link, "netns", name)
        netns.ip("-n", name, "addr", "add", f"10.79.0.{host}/24", "dev", link)
        netns.ip("-n", name, "link", "set", link, "up")
    time.sleep(1)
    packets, agent = polled(net, [], "--latency-agents")
    check.between("packets that were polled", packets, 10, 10000)
    check.equal("what the agent says", (agent["polled_packets"], agent["not_polled"]), (packets, None))
    other, agent = polled(net, [], "--agents")
    check.equal("without latency agents", (other, agent["polled_packets"], agent["not_polled"]), (0, None, None))
    other, agent = polled(net, ["setpriv", "--bounding-set", "-net_admin"], "--latency-agents")
    check.equal("without CAP_NET_ADMIN", (other, agent["polled_packets"]), (0, 0))
    check.true(f"why: {agent['not_polled']}", "CAP_NET_ADMIN" in agent["not_polled"])
    return f"{packets} packets"


if __name__ == "__main__":
    HOSTLAT, LOADRUN = sys.argv[1:]
    os.environ["HOSTLAT"] = HOSTLAT
    subprocess.run(["modprobe", "-a", "veth", "sch_netem"], check=True)
    check.run([(case,) for case in (a_delay_on_the_way_is_wire_and_server, what_is_sent_again_is_marked,
                                    a_silent_card_is_found_out_and_left_as_it_was, latency_agents_poll_the_queue)])
