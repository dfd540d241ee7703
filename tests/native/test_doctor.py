# SPDX-License-Identifier: Apache-2.0
"""Proves that doctor's report agrees with other sources on the same machine, with and without
privileges. Control: the report of another state must fail."""
import ctypes
import gzip
import json
import os
import platform
import re
import shutil
import socket
import struct
import subprocess
import tempfile

from lib import bpf, check, netns, watch

USAGE, CANNOT, PARTIAL = 1, 2, 3
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def read(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read().strip()


class Doctor:
    def __init__(self, *args, prefix=(), program=watch.HOSTLAT):
        done = subprocess.run([*prefix, program, "doctor", "--json", *args], capture_output=True,
                              text=True, timeout=120, check=False)
        self.code, self.err = done.returncode, done.stderr
        self.document = json.loads(done.stdout)
        self.facts = self.document["facts"]

    def states(self, area):
        """{capability: its states}: a stage has several hooks."""
        found = {}
        for row in self.document["capabilities"]:
            if row["area"] == area:
                found.setdefault(row["capability"], []).append(row["state"])
        return found

    def state(self, area, capability):
        return self.states(area)[capability][0]


def yes(holds):
    return "yes" if holds else "no"


def envelope():
    doctor = Doctor()
    check.equal("exit code", doctor.code, 0)
    check.equal("stderr", doctor.err, "")
    check.equal("first key", next(iter(doctor.document)), "hostlat")
    head = doctor.document["hostlat"]
    check.equal("command", head["command"], "doctor")
    check.equal("host", head["host"], socket.gethostname())
    for row in doctor.document["capabilities"]:
        check.true(f"{row} has a state", row["state"] in ("yes", "no"))


def kernel_facts():
    facts = Doctor("--facts").facts
    check.equal("kernel.release", facts["kernel.release"], os.uname().release)
    check.equal("kernel.version", facts["kernel.version"], os.uname().version)
    check.equal("host.machine", facts["host.machine"], platform.machine())
    check.equal("cpu.count", facts["cpu.count"], str(os.cpu_count()))
    check.equal("clock.source", facts["clock.source"],
                read("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
    sysctls = [key for key in facts if re.match(r"(net\.core|net\.ipv4|vm)\.", key)
               or os.path.exists("/proc/sys/" + key.replace(".", "/"))]
    check.true(f"there are sysctls: {len(sysctls)}", len(sysctls) > 30)
    for key in sysctls:
        now = read("/proc/sys/" + key.replace(".", "/")).replace("\t", " ")
        check.equal(key, facts[key], now)
    if os.path.exists("/proc/config.gz"):
        with gzip.open("/proc/config.gz", "rt") as config:
            hz = re.search(r"^CONFIG_HZ=(\d+)$", config.read(), re.MULTILINE)[1]
        check.equal("kernel.hz", facts["kernel.hz"], hz)


def interfaces_are(facts, links):
    names = [re.fullmatch(r"iface\.(.+)\.state", key)[1] for key in facts
             if re.fullmatch(r"iface\.(.+)\.state", key)]
    check.equal("interfaces", names, [link["ifname"] for link in links])
    check.equal("their number", facts["iface.count"], str(len(links)))
    for link in links:
        prefix = f"iface.{link['ifname']}."
        check.equal(prefix + "mtu", facts[prefix + "mtu"], str(link["mtu"]))
        check.equal(prefix + "qdisc", facts[prefix + "qdisc"].split(",")[0], link["qdisc"])
        check.equal(prefix + "state", facts[prefix + "state"],
                    "up" if "UP" in link["flags"] else "down")
        check.equal(prefix + "kind", facts.get(prefix + "kind"),
                    link.get("linkinfo", {}).get("info_kind"))


def interfaces():
    interfaces_are(Doctor("--facts").facts, json.loads(output("ip", "-j", "-d", "link")))


def interfaces_of_a_namespace():
    """nsenter leaves /sys as it is: it shows interfaces of the same names in another namespace."""
    net = netns.veth()
    outside = [link for link in json.loads(output("ip", "-j", "link"))
               if link["link_type"] != "loopback"]
    for link in outside[-1:]:
        netns.ip("-n", net.reader, "link", "add", link["ifname"], "index", str(link["ifindex"]),
                 "type", "veth", "peer", "name", "other0")
        netns.ip("-n", net.reader, "link", "set", link["ifname"], "up")
    inside = ["nsenter", f"--net=/run/netns/{net.reader}"]
    links = json.loads(output("ip", "-n", net.reader, "-j", "-d", "link"))
    facts = Doctor("--facts", prefix=inside).facts
    interfaces_are(facts, links)
    for link in outside[-1:]:
        check.true("nothing from the wrong /sys", f"iface.{link['ifname']}.threaded" not in facts)
    own = Doctor("--facts", prefix=["ip", "netns", "exec", net.reader]).facts
    check.true("all from the right one", "iface.reader0.threaded" in own)


def nic_stamps():
    doctor = Doctor()
    for name, states in doctor.states("nic").items():
        driver_output = output("ethtool", "-T", name)
        hardware = "hardware-receive" in driver_output and re.search(r"^\tall\b", driver_output, re.MULTILINE)
        check.equal(f"{name}: hardware stamps of every packet", states, [yes(hardware)])


def privileges_and_mounts():
    doctor = Doctor()
    held = int(re.search(r"CapEff:\s*(\w+)", read("/proc/self/status"))[1], 16)
    for name, number in (("CAP_BPF", 39), ("CAP_PERFMON", 38), ("CAP_NET_ADMIN", 12),
                         ("CAP_SYS_ADMIN", 21), ("CAP_SYS_PTRACE", 19),
                         ("CAP_DAC_READ_SEARCH", 2)):
        check.equal(name, doctor.state("privilege", name), yes(held >> number & 1))
    mounted = subprocess.run(["findmnt", "-n", "-t", "cgroup2"], capture_output=True, check=False)
    check.equal("cgroup2", doctor.state("system", "cgroup2"), yes(not mounted.returncode))


def tracers():
    """In a mount namespace of its own, whether or not tracefs is mounted here."""
    seen = output("unshare", "-m", "sh", "-c",
                  "mount -t tracefs none /sys/kernel/tracing && "
                  "cat /sys/kernel/tracing/available_tracers").split()
    doctor = Doctor()
    for name in ("function", "function_graph"):
        check.equal(name, doctor.state("trace", name), yes(name in seen))


def btf_number(name, kind):
    tool = shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    listed = output(tool, "btf", "dump", "file", "/sys/kernel/btf/vmlinux")
    found = re.search(rf"^\[(\d+)\] {kind} '{name}'", listed, re.MULTILINE)
    return int(found[1]) if found else None


def loads(attach_type, btf_id):
    """bpf(BPF_PROG_LOAD) of "return 0" as a tracing program, without any library."""
    if btf_id is None:
        return False
    code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xb7, 0, 0, 0, 0x95, 0, 0, 0))
    gpl = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("<IIQQIIQII16sIIIIQIIQII", 26, 2, ctypes.addressof(code),
                       ctypes.addressof(gpl), 0, 0, 0, 0, 0, b"test_doctor", 0, attach_type, 0, 0,
                       0, 0, 0, 0, 0, btf_id)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(321 if platform.machine() == "x86_64" else 280, 5,
                      ctypes.create_string_buffer(attr, len(attr)), len(attr))
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def program_kinds():
    doctor = Doctor()
    fentry = loads(24, btf_number("bpf_fentry_test1", "FUNC"))
    check.equal("fentry", doctor.state("bpf", "fentry"), yes(fentry))
    fexit = loads(25, btf_number("bpf_fentry_test1", "FUNC"))
    check.equal("fexit", doctor.state("bpf", "fexit"), yes(fexit))
    tp_btf = loads(23, btf_number("btf_trace_task_rename", "TYPEDEF"))
    check.equal("tp_btf", doctor.state("bpf", "tp_btf"), yes(tp_btf))
    receive = loads(23, btf_number("btf_trace_netif_receive_skb", "TYPEDEF"))
    check.equal("hook of link", doctor.state("hook", "link"), yes(receive))


def connections():
    """By loading without a library; and what conns itself says that it can't tell."""
    states = Doctor().states("conns")
    for name, targets in (("connections", ["inet_sock_set_state"]),
                          ("losses", ["tcp_retransmit_skb", "tcp_cong_state_set"]),
                          ("delayed ACKs", ["timer_expire_entry"])):
        check.equal(name, states[name], [
            yes(loads(23, btf_number(f"btf_trace_{target}", "TYPEDEF"))) for target in targets])
    for name, target in (("records beside sockets", "bpf_sk_storage_map"),
                         ("earlier connections", "tcp"), ("owners", "task_file")):
        check.equal(name, states[name], [yes(loads(28, btf_number(f"bpf_iter_{target}", "FUNC")))])
    done = subprocess.run([watch.HOSTLAT, "conns", "--for", "100ms", "--json"], text=True,
                          capture_output=True, timeout=120, check=False)
    check.equal(f"conns runs: {done.stderr}", states["all programs"],
                [yes(done.returncode in (0, PARTIAL))])
    missing = {row["name"] for row in json.loads(done.stdout)["missing"]}
    for name in ("losses", "delayed ACKs", "round trips"):
        check.equal(f"conns reports {name}", name not in missing, "no" not in states[name])
    check.equal("conns reports calls", "calls" not in missing,
                states["calls"].count("yes") >= 2)


def tuning():
    """Doctor's advice matches the machine's settings, and goes away when they are changed."""
    net = netns.loopback()
    inside = ["nsenter", f"--net=/run/netns/{net.reader}"]
    name = "net.ipv4.tcp_autocorking"
    for value in ("1", "0"):
        output(*inside, "sysctl", "-q", f"{name}={value}")
        doctor = Doctor("--tuning", prefix=inside)
        advice = doctor.document["tuning"]
        check.equal(f"advice with {name}={value}", name in [a["fact"] for a in advice],
                    value == "1")
        for a in advice:
            check.equal(a["fact"], a["value"], doctor.facts[a["fact"]])
            check.true(f"{a} is whole", a["why"] and a["source"] and a["change"])


def lasting(doctor):
    """Advice that is about the machine's set-up, and not about what it does just now."""
    return [a for a in doctor.document["tuning"] if a["fact"] != "cpu.steal_percent"]


def unprivileged():
    # A copy that anybody can run: the build folder may be root's alone.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = os.path.join(folder, "hostlat")
        subprocess.run(["install", "-m", "755", watch.HOSTLAT, copy], check=True)
        doctor = Doctor(prefix=NOBODY, program=copy)
        tuned = Doctor("--tuning", prefix=NOBODY, program=copy)
    check.equal("exit code", doctor.code, PARTIAL)
    check.equal("stderr", doctor.err, "")
    check.equal("CAP_BPF", doctor.state("privilege", "CAP_BPF"), "no")
    check.equal("fentry is not known", doctor.state("bpf", "fentry"), None)
    check.equal("hook of link is not known", doctor.state("hook", "link"), None)
    check.equal("conns is not known", doctor.state("conns", "all programs"), None)
    check.equal("BTF", doctor.state("bpf", "BTF"), "yes")
    check.equal("verdict", doctor.document["verdict"], "partial")
    check.equal("reason", doctor.document["reasons"][0]["code"], "not-permitted")
    for row in doctor.document["capabilities"]:
        check.true(f"{row} says what it takes", row["state"] or row["takes"])
    check.equal("kernel.release", doctor.facts["kernel.release"], os.uname().release)
    check.equal("the advice is the same", lasting(tuned), lasting(Doctor("--tuning")))


def nothing_left():
    before, mounts = bpf.objects(), read("/proc/self/mounts")
    Doctor()
    check.equal("left in the kernel", bpf.left_behind(before), [])
    check.equal("mounts", read("/proc/self/mounts"), mounts)


def refusals():
    for code, *args in ((USAGE, "--tuning", "--facts"), (USAGE, "--nosuch"),
                        (CANNOT, "--output", "/nosuch/file"), (CANNOT, "--output", "/dev/full")):
        done = subprocess.run([watch.HOSTLAT, "doctor", *args], capture_output=True, text=True,
                              timeout=120, check=False)
        check.equal(f"exit code of {args}, stderr {done.stderr!r}", done.returncode, code)
        check.equal(f"stdout of {args}", done.stdout, "")
        check.true(f"{args} is named: {done.stderr!r}", args[-1].lstrip("-") in done.stderr)


if __name__ == "__main__":
    if os.geteuid():
        check.skip("comparing with what root sees needs root")
    check.must_fail("another state", check.equal, "state", "no", "yes")
    check.run([(envelope,), (kernel_facts,), (interfaces,), (interfaces_of_a_namespace,),
               (nic_stamps,), (privileges_and_mounts,), (tracers,), (program_kinds,), (connections,), (tuning,),
               (unprivileged,), (nothing_left,), (refusals,)])
