# SPDX-License-Identifier: Apache-2.0
"""Proves that --ifname counts a packet under the interface by which it came, also a bridge's port
and a renamed interface; other names are refused."""
import os
import subprocess

from lib import check, netns, watch
from lib.traffic import Traffic

N = 500
MISUSED, CANNOT = 1, 2


def made(*args):
    """An interface of a kind that this kernel may not have."""
    return not subprocess.run(["ip", *args], check=False, stderr=subprocess.DEVNULL).returncode


def bridged():
    """The reader's end of a veth pair is a port of a bridge, which has the address."""
    net = netns.veth()
    reader = net.reader
    if not made("-n", reader, "link", "add", "bridge0", "type", "bridge"):
        check.skip("this kernel has no bridges")
    netns.ip("-n", reader, "addr", "flush", "dev", "reader0")
    netns.ip("-n", reader, "link", "add", "port1", "type", "veth", "peer", "name", "end1")
    for port in "reader0", "port1":
        netns.ip("-n", reader, "link", "set", port, "master", "bridge0", "up")
    netns.ip("-n", reader, "addr", "add", "10.77.0.1/24", "dev", "bridge0")
    netns.ip("-n", reader, "link", "set", "bridge0", "up")
    return net


def seen(net, protocol, *names):
    """Returns what each of --ifname NAME counts of the same traffic."""
    traffic = Traffic(net, 4, protocol, count=N)
    observers = [watch.Watch("--ifname", name, *traffic.filter) for name in names]
    traffic.finish()
    return [observer.stop() for observer in observers]


def port_of_a_bridge(net, protocol):
    port, bridge, *others = seen(net, protocol, "reader0", "bridge0", "port1", "lo")
    for name, result in (("port", port), ("bridge", bridge)):
        for stage in ("transport", "enqueued", "read"):
            check.counted(f"{stage} by the {name} ({result.brief()})",
                          result.count(stage, protocol), N)
    for other in others:
        check.equal("read by another port or interface", other.count("read", protocol), 0)


def renamed(name, other, protocol):
    """
    A container runtime moves a veth with a long name and renames it: bytes of that name follow the
    NUL of the new one. `other` is an interface whose name begins alike, for the control.
    """
    net = netns.veth()
    netns.ip("-n", net.reader, "link", "add", "vethabcdef01", "type", "veth", "peer", "name",
             "sender1", "netns", net.sender)
    netns.ip("-n", net.reader, "link", "set", "vethabcdef01", "name", name)
    netns.ip("-n", net.reader, "link", "add", other, "type", "veth", "peer", "name", "unused0")
    for namespace, link, host in ((net.reader, name, 1), (net.sender, "sender1", 2)):
        netns.ip("-n", namespace, "addr", "add", f"10.80.0.{host}/24", "dev", link)
        netns.ip("-n", namespace, "link", "set", link, "up")
    net = netns.Net("veth", net.reader, net.sender, "10.80.0.1", None)
    traffic = Traffic(net, 4, protocol, count=N)
    observers = [watch.Watch(*options, *traffic.filter)
                 for options in ((), ("--ifname", name), ("--ifname", other))]
    traffic.finish()
    whole, by_name, by_other = [observer.stop() for observer in observers]
    for stage in ("transport", "enqueued", "read"):
        check.equal(f"{stage} without --ifname ({whole.brief()})", whole.count(stage, protocol), N)
        check.equal(f"{stage} by {name} ({by_name.brief()})", by_name.count(stage, protocol), N)
        check.equal(f"{stage} by {other}", by_other.count(stage, protocol), 0)


def refused(kind, *options):
    """Its packets are never seen as its own: the interface below is named."""
    net = netns.veth()
    upper = f"upper{os.getpid() % 10000}"
    if not made("-n", net.reader, "link", "add", "link", "reader0", "name", upper, "type", kind,
                *options):
        return f"no {kind} here"
    done = subprocess.run([watch.HOSTLAT, "watch", "--ifname", upper, "--count", "1"],
                          capture_output=True, text=True, timeout=120, check=False)
    check.equal(f"exit code ({done.stderr})", done.returncode, CANNOT)
    check.true(f"the interface below is named: {done.stderr}", "reader0" in done.stderr)
    return ""


def alternative(net):
    """Programs see an interface's own name, which is said; under it packets are counted as before."""
    if not made("-n", net.reader, "link", "property", "add", "dev", "reader0", "altname", "elsewhere0"):
        return "no alternative names here"
    done = subprocess.run(["ip", "netns", "exec", net.reader, watch.HOSTLAT, "watch", "--ifname", "elsewhere0",
                           "--count", "1"], capture_output=True, text=True, timeout=120, check=False)
    check.equal(f"exit code ({done.stderr})", done.returncode, MISUSED)
    check.true(f"its own name: {done.stderr}", "use --ifname reader0" in done.stderr)
    own, = seen(net, "udp", "reader0")
    check.counted(f"by its own name ({own.brief()})", own.count("read", "udp"), N)
    return ""


if os.geteuid() != 0:
    check.skip("needs root")
bridge_net = bridged()
check.run([(port_of_a_bridge, bridge_net, protocol) for protocol in ("tcp", "udp")] +
          [(renamed, name, other, protocol) for protocol in ("tcp", "udp")
           for name, other in (("eth0", "eth01"), ("eth01", "eth0"))] +
          [(alternative, netns.veth())] +
          [(refused, "macvlan", "mode", "bridge"), (refused, "vlan", "id", "5")])
