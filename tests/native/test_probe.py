# SPDX-License-Identifier: Apache-2.0
"""Proves that --probe makes a function or tracepoint a stage, with as many calls as the kernel's
own tracer counts. Controls: a call less, and a packet less, must fail."""
import socket
import struct
import subprocess
import sys

from lib import check, netns, watch
from lib.tracer import Tracer
from lib.traffic import Traffic

N = 300


def probed(result, protocol="tcp"):
    return result.count("probe", protocol)


def as_often(what, seen, counter):
    check.equal(f"calls of {what}", seen, counter)


def by_tracepoint(net, family):
    """Payload or not: each packet for the port."""
    tracer = Tracer()
    traffic = Traffic(net, family, "tcp", count=N)
    observer = watch.Watch(*traffic.filter, "--probe", "tcp_probe", "--backend", "tracepoint")
    tracer.event("tcp/tcp_probe", f"sport == {traffic.port}")
    tracer.clear()
    traffic.finish()
    result = observer.stop()
    counter = tracer.calls("tcp_probe")
    tracer.end()
    as_often("tcp_probe", probed(result), counter)
    check.between("the tracer's own count", counter, N, 10 * N)
    check.must_fail("a call less", as_often, "tcp_probe", probed(result) - 1, counter)
    check.equal("losses", result.document["losses"], [])
    delay_ns = watch.quantile(result.row("socket", "tcp"), 0.5)["ns"]
    row = result.row("probe", "tcp")
    check.between("p50, against that of `socket`", watch.quantile(row, 0.5)["ns"],
                  delay_ns / 2, delay_ns * 2)
    check.between("p50 of the step, which begins at `link`", watch.quantile(row["step"], 0.5)["ns"],
                  1, watch.quantile(row, 0.5)["hi_ns"])
    binding = [b for b in result.document["bindings"] if b["stage"] == "probe"]
    check.equal("binding", [(b["hook"], b["kind"]) for b in binding], [("tcp_probe", "tp_btf")])
    return f"{counter} calls"


def by_function():
    """A function that no tracepoint is in, of all the machine's packets."""
    tracer = Tracer()
    tracer.function("tcp_v4_do_rcv")
    net = netns.loopback()
    traffic = Traffic(net, 4, "tcp", count=N)
    begun = tracer.calls("tcp_v4_do_rcv")
    observer = watch.Watch("--probe", "tcp_v4_do_rcv")
    measuring = tracer.calls("tcp_v4_do_rcv")
    traffic.finish()
    least = tracer.calls("tcp_v4_do_rcv") - measuring
    result = observer.stop()
    most = tracer.calls("tcp_v4_do_rcv") - begun
    tracer.end()
    check.equal("bound", [b["kind"] for b in result.document["bindings"]
                          if b["stage"] == "probe" and b["bound"]], ["fentry"])
    # While it starts and ends others may send, and its own self-test does.
    seen = probed(result)
    check.between(f"calls of tcp_v4_do_rcv ({result.brief()})", seen, least, most)
    check.between("the tracer's own count", least, N, 10 * N)
    check.must_fail("a packet less than there were", check.between, "calls", least - 1, least, most)
    result.sound()
    return f"{seen} calls, by the tracer {least} to {most}"


def not_received():
    """On its way out a packet has no time on its way in."""
    net = netns.loopback()
    traffic = Traffic(net, 4, "udp", count=N)
    observer = watch.Watch("--probe", "net_dev_queue")
    traffic.finish()
    result = observer.stop()
    check.equal("rows", probed(result) + probed(result, "udp"), 0)
    check.between("calls with what is sent", result.excluded("not-received"), N, 100 * N)


def ping(net, n):
    with netns.inside(net.reader):
        s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    for i in range(n):
        head = struct.pack("!BBHHH", 8, 0, 0, 1, i)
        total = sum(struct.unpack("!4H", head))
        s.sendto(struct.pack("!BBHHH", 8, 0, ~(total + (total >> 16)) & 0xffff, 1, i),
                 ("127.0.0.1", 0))
        s.recv(1000)
        s.recv(1000)    # the request and the reply


def other_protocol():
    net = netns.loopback()
    observer = watch.Watch("--netns", net.reader, "--probe", "consume_skb")
    ping(net, 50)
    result = observer.stop()
    check.between("calls with another protocol", result.excluded("other-protocol"), 50, 1000)
    check.equal("rows", probed(result) + probed(result, "udp"), 0)


def copied(with_copies):
    """Beside a packet socket the stack goes on with a copy, of which it isn't known when it came."""
    net = netns.loopback()
    # Not at once: segments that wait in the socket's backlog become one.
    traffic = Traffic(net, 4, "tcp", count=N, gap_us=500)
    with netns.inside(net.reader):
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) \
            if with_copies else None
    observer = watch.Watch(*traffic.filter, "--probe", "tcp_probe", "--stages", "link")
    traffic.finish()
    result = observer.stop()
    if packets:
        packets.close()
    lost = result.lost("no-link-stamp", stage="probe")
    check.between(f"lost ({result.brief()})", lost, with_copies, N if with_copies else 0)
    check.between("lost and measured", lost + probed(result), N, 10 * N)


def refused():
    """Refuses functions that do not exist or get no packet, and options that cannot be combined."""
    for options, code, words in (
        (["no_such_function"], 2, "has no function or tracepoint of this name"),
        (["schedule"], 2, "none of its first 6 arguments is a packet"),
        (["tcp_probe", "--pid", "1"], 1, "--pid"),
        (["tcp_probe", "--by", "port"], 1, "--by"),
        (["tcp_probe", "--stages", "egress"], 1, "ingress"),
        (["x" * 200], 1, "takes the name"),
    ):
        done = subprocess.run([watch.HOSTLAT, "watch", "--count", "1", "--probe", *options],
                              capture_output=True, text=True, timeout=120, check=False)
        check.equal(f"exit code of {options} ({done.stderr})", done.returncode, code)
        check.true(f"{words!r} in {done.stderr}", words in done.stderr)


def function_refused():
    """A function that the kernel doesn't let be probed: said, and the rest is measured."""
    net = netns.loopback()
    result, own = watch.around(net, 4, "tcp", ("--probe", "tcp_v4_do_rcv"))
    binding, = [b for b in result.document["bindings"] if b["stage"] == "probe"]
    check.counted("packets at link", result.count("link", "tcp"), own["received"])
    if binding["bound"]:
        check.between("calls", probed(result), own["received"], 100 * own["received"])
        return "this kernel lets it"
    check.equal("exit code", result.code, 3)
    check.true(f"why in {binding}", binding["why"])
    return "refused here"


def cases():
    for net, family in netns.two():
        yield by_tracepoint, net, family
    yield not_received,
    yield other_protocol,
    yield copied, True
    yield copied, False
    yield refused,
    yield function_refused,


check.run([(by_function,)] if sys.argv[1:] == ["guest"] else cases())
