# SPDX-License-Identifier: Apache-2.0
"""
Ten scenarios whose author had read what a user reads, and not the rules of `hostlat conns`. The
truths follow from the way the traffic is made; they were committed before hostlat first saw it.

Each scenario has the four healthy connections of World.controls() beside its own.
"""
import hashlib
import os
import random
import shutil
import socket
import ssl
import subprocess
import time

from conns_scenarios import apps
from conns_scenarios.path import MBIT, DelayedAcks, Lane
from conns_scenarios.truth import LOSS, WINDOW, Scenarios, Truth, one
from conns_scenarios.world import Skip

ten = Scenarios()

HELD = frozenset({"delayed-ack", "nagle"})


def reading_late(name):
    """Truths of a connection whose server sends without a pause and whose client reads too slowly."""
    return [Truth(name, "server", limit=one("receiver-window"), named=(WINDOW,), may=WINDOW),
            Truth(name, "client", told=(one("receiver-not-reading"),), may=one("receiver-not-reading"))]


# 1 ---------------------------------------------------------------------------------------------------

def lte_rate():
    """Returns rate and delay over time: a new pair each 100 ms, seeded; 0.6 to 14 Mbit/s, 25 to 60 ms."""
    chance, level, steps = random.Random(4), 6.0, []
    for _ in range(1000):
        level = min(max(level * chance.uniform(0.6, 1.65), 0.6), 14)
        steps.append((level * MBIT, chance.uniform(0.025, 0.060)))
    return (lambda t: steps[int(t * 10) % 1000][0]), (lambda t: steps[int(t * 10) % 1000][1])


@ten.add("lte-trace", "A download over a mobile link: rate and delay change each 100 ms, the buffer is so "
         "deep that nothing is lost. A second client fetches small pages over such a link.")
def lte(world):
    rate, delay = lte_rate()
    world.connect("download", apps.bulk, apps.sink, Lane(delay), Lane(delay, rate, queue=16 << 20))
    world.connect("pages", apps.rpc_server(300, 6000), apps.rpc_client(300, 6000, 0.2),
                  Lane(delay), Lane(delay, rate, queue=16 << 20))
    world.controls()
    world.check("nothing is lost", lambda w: (
        not w.lane_counts("download", "down")["overflowed"], w.lane_counts("download", "down")))
    # A jump of the delay may exceed the retransmission timeout; the segments arrive nevertheless.
    return [Truth("download", "server", limit=one("congestion"), may=one("spurious")),
            Truth("pages", "server", limit=one("sender-app"), may=one("spurious")),
            Truth("pages", "client", may=one("spurious"))]


# 2 ---------------------------------------------------------------------------------------------------

@ten.add("bbr-local-queue", "Two uploads share a local queue of 16 Mbit/s that holds 8 MB and drops nothing: "
         "one with BBR, one with CUBIC. fq where the kernel has it, else a token bucket alone and BBR's own "
         "pacing.")
def bbr(world):
    tc = ["tc", "-n", world.client, "qdisc", "add", "dev", "lan"]
    if subprocess.run([*tc, "root", "handle", "1:", "tbf", "rate", "16mbit", "burst", "16k", "limit", "8m"],
                      check=False, capture_output=True).returncode:
        raise Skip("tc has no tbf")
    if subprocess.run([*tc, "parent", "1:1", "fq", "limit", "10000", "flow_limit", "10000"],
                      check=False, capture_output=True).returncode:
        world.notes.append("no fq in this kernel: tbf alone")
    if "bbr" not in open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii").read():
        raise Skip("no BBR in this kernel")

    def with_control(name):
        return {"client": [(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)]}
    world.connect("bbr", apps.sink, apps.bulk, options=with_control(b"bbr"))
    world.connect("cubic", apps.sink, apps.bulk, options=with_control(b"cubic"))
    world.controls()

    def full(w):
        text = subprocess.run(["tc", "-s", "-n", w.client, "qdisc", "show", "dev", "lan"],
                              check=False, capture_output=True, text=True).stdout
        got = sum(w.connections[name].result["server"].get("received", 0) for name in ("bbr", "cubic"))
        return "dropped 0," in text and got > 0.6 * 16 * MBIT * w.seconds, f"{got} bytes; {text[-160:]}"
    world.check("the queue is busy and drops nothing", full)
    # Neither end's buffers nor the receivers hold these back: the shaped device does. CUBIC has a window
    # that grows without losses, so its own queue holds it; BBR has pacing, queue or its window.
    return [Truth("bbr", "client", limit=one("congestion")),
            Truth("cubic", "client", limit=one("congestion"), part=one("local-queue"))]


# 3 ---------------------------------------------------------------------------------------------------

WINDOW_BYTES, UPDATE_AT, UPDATE = 65535, 32768, 13


def h2_sender(s, world):
    """Sends DATA as far as the stream's window allows, then waits for a WINDOW_UPDATE."""
    apps.nodelay(s)
    window, sent, waited, began = WINDOW_BYTES, 0, 0.0, time.monotonic()
    while world.left():
        if window:
            size = min(window, 16384)
            apps.give(s, b"d" * size, world)
            window -= size
            sent += size
        else:
            before = time.monotonic()
            apps.receive(s, UPDATE, world)
            waited += time.monotonic() - before
            window += UPDATE_AT
    return {"sent": sent, "waited": waited / (time.monotonic() - began)}


def h2_receiver(s, world):
    apps.nodelay(s)
    while world.left():
        apps.receive(s, UPDATE_AT, world)
        apps.give(s, b"u" * UPDATE, world)


@ten.add("h2-window", "A gRPC-like stream: the server may have 64 KiB on the way, and waits for the client's "
         "WINDOW_UPDATE after each 32 KiB, over a path of 60 ms without a limit of its rate.")
def h2(world):
    world.connect("grpc", h2_sender, h2_receiver, Lane(0.03), Lane(0.03))
    world.controls()
    world.check("the sender waits for WINDOW_UPDATE", lambda w: (
        w.connections["grpc"].result["server"].get("waited", 0) > 0.8, w.connections["grpc"].result["server"]))
    return [Truth("grpc", "server", limit=one("sender-app"))]


# 4 ---------------------------------------------------------------------------------------------------

def acks_at_once(world):
    """The servers' kernels acknowledge at once; a DelayedAcks lane delays."""
    for name in world.servers:
        subprocess.run(["ip", "-n", name, "route", "change", "10.123.0.0/16", "dev", "path", "quickack", "1"],
                       check=True)


@ten.add("delayed-ack-200", "A receiver that acknowledges every second segment or after 200 ms, as older Windows "
         "does. One client writes its requests in two small writes with Nagle's algorithm on, one in one call "
         "with TCP_NODELAY.")
def delayed(world):
    acks_at_once(world)
    world.connect("two-writes", apps.rpc_server(700, 500),
                  apps.rpc_client(700, 500, 0.01, parts=[100, 600], no_delay=False),
                  Lane(), DelayedAcks(0.2))
    world.connect("one-write", apps.rpc_server(700, 500), apps.rpc_client(700, 500, 0.05), Lane(), DelayedAcks(0.2))
    world.controls()
    world.check("the requests take 200 ms", lambda w: (
        w.connections["two-writes"].result["client"].get("p50_s", 0) > 0.19, w.connections["two-writes"].result))
    # The first 200 ms come before TCP has met such a round trip: it may send again what arrived.
    return [Truth("two-writes", "client", limit=one("delayed-ack"), named=(HELD,),
                  may=HELD | {"small-writes", "spurious"}),
            Truth("one-write", "client", limit=one("sender-app"))]


# 5 ---------------------------------------------------------------------------------------------------

@ten.add("vip-loss", "Three servers behind one address and port; the path from the second one loses 4 % of its "
         "data packets at random. Six clients fetch 20 KB 20 times a second, two from each server.", servers=3)
def vip(world):
    truths = []
    for i in range(6):
        server, name = i % 3, f"vip-{i}"
        bad = server == 1
        world.connect(name, apps.rpc_server(200, 20000), apps.rpc_client(200, 20000, 0.03 + 0.003 * i),
                      Lane(), Lane(loss=0.04 if bad else 0), at=server, vip=True)
        if bad:
            truths += [Truth(name, "server", named=(LOSS,), may=LOSS | {"spurious"}),
                       Truth(name, "client", may=one("spurious"))]
            world.check(f"packets of {name} are lost", lambda w, name=name: (
                w.lane_counts(name, "down")["lost"] >= 10, w.lane_counts(name, "down")))
        else:
            truths.append(Truth(name, "server", limit=one("sender-app")))
    world.controls()
    return truths


# 6 ---------------------------------------------------------------------------------------------------

@ten.add("nfs-sync", "A mount with synchronous writes: the client writes 256 KiB, and waits until the server has "
         "them on its disk, 20 ms. A second mount's server reads 16 KiB at a time and waits 10 ms after each.")
def nfs(world):
    size = 256 << 10
    world.connect("mount", apps.rpc_server(size, 120, work_s=0.02), apps.rpc_client(size, 120, 0))

    def busy_server(s, w):
        while w.left():
            for _ in range(size // 16384):
                apps.receive(s, 16384, w)
                time.sleep(0.01)
            apps.give(s, b"r" * 120, w)
    world.connect("busy-mount", busy_server, apps.rpc_client(size, 120, 0),
                  options={"server": [(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)]})
    world.controls()
    world.check("the disk takes most of the time", lambda w: (
        0.019 < w.connections["mount"].result["client"].get("p50_s", 0) < 0.028, w.connections["mount"].result))
    world.check("the busy server takes 160 ms", lambda w: (
        0.15 < w.connections["busy-mount"].result["client"].get("p50_s", 0) < 0.25,
        w.connections["busy-mount"].result))
    return [Truth("mount", "client", limit=one("sender-app"), state=one("awaiting-reply")),
            Truth("busy-mount", "client", limit=one("receiver-window"), named=(WINDOW,), may=WINDOW),
            Truth("busy-mount", "server", told=(one("receiver-not-reading"),), may=one("receiver-not-reading"))]


# 7 ---------------------------------------------------------------------------------------------------

def tls_server(context, function):
    def run(s, world):
        with context.wrap_socket(s, server_side=True) as t:
            t.settimeout(1)
            return function(t, world)
    return run


def tls_client(function):
    def run(s, world):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(s) as t:
            t.settimeout(1)
            return function(t, world)
    return run


def records(gap_s):
    """Writes TLS records of 16 KiB, each after the time that making it takes."""
    def run(t, world):
        data, sent = os.urandom(16384), 0
        t.settimeout(5)
        while world.left():
            t.sendall(data)
            sent += len(data)
            time.sleep(gap_s)
        return {"sent": sent}
    return run


@ten.add("tls-records", "Real TLS: one server needs 8 ms to make each record of 16 KiB; the client of another, "
         "which has all data ready, reads one record in 20 ms.")
def tls(world):
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    key, certificate = f"{world.folder}/key.pem", f"{world.folder}/certificate.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-subj", "/CN=test", "-days", "2", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    world.connect("slow-maker", tls_server(context, records(0.008)), tls_client(apps.sink), Lane(), Lane())
    world.connect("slow-reader", tls_server(context, records(0)), tls_client(apps.slow_sink(16384, 0.02)))
    world.controls()
    world.check("records come each 8 ms", lambda w: (
        0.5 < w.connections["slow-maker"].result["server"].get("sent", 0) / (16384 * w.seconds / 0.008) < 1,
        w.connections["slow-maker"].result))
    world.check("the client reads slowly", lambda w: (
        0 < w.connections["slow-reader"].result["client"].get("received", 0) < 16384 * w.seconds / 0.02,
        w.connections["slow-reader"].result))
    return [Truth("slow-maker", "server", limit=one("sender-app")), *reading_late("slow-reader")]


# 8 ---------------------------------------------------------------------------------------------------

@ten.add("one-byte-nagle", "A client writes 1 byte, then 300 bytes, and reads the reply, without TCP_NODELAY; a "
         "second one does the same with it; a third one writes both in one call.")
def one_byte(world):
    for name, parts, no_delay in (("nagle", [1, 300], False), ("nodelay", [1, 300], True), ("whole", [301], False)):
        world.connect(name, apps.rpc_server(301, 400), apps.rpc_client(301, 400, 0.02, parts, no_delay))
    world.controls()
    world.check("requests take 40 ms", lambda w: (
        w.connections["nagle"].result["client"].get("p50_s", 0) > 0.035, w.connections["nagle"].result))
    world.check("others do not", lambda w: (
        w.connections["nodelay"].result["client"].get("p50_s", 1) < 0.01 and
        w.connections["whole"].result["client"].get("p50_s", 1) < 0.01, w.connections["nodelay"].result))
    return [Truth("nagle", "client", limit=one("delayed-ack"), named=(HELD,), may=HELD | {"small-writes"}),
            Truth("nagle", "server", may=one("delayed-ack")),
            Truth("nodelay", "client", limit=one("sender-app")),
            Truth("whole", "client", limit=one("sender-app"))]


# 9 ---------------------------------------------------------------------------------------------------

CPU = "/sys/fs/cgroup/cpu"


def limited_group(world):
    """Returns (file to write a pid to, function that tells how often the group was throttled)."""
    if os.path.exists(f"{CPU}/cpu.cfs_quota_us"):
        folder, quota = f"{CPU}/{world.tag}", ("cpu.cfs_quota_us", "10000")
    elif os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        folder, quota = f"/sys/fs/cgroup/{world.tag}", ("cpu.max", "10000 100000")
    else:
        raise Skip("no cgroup controller for CPU quotas")
    try:
        os.mkdir(folder)
        with open(f"{folder}/{quota[0]}", "w", encoding="ascii") as f:
            f.write(quota[1])
    except OSError as e:
        raise Skip(f"no control group with a quota can be made: {e.strerror}") from e
    world.at_end(lambda: os.rmdir(folder))

    def throttled():
        with open(f"{folder}/cpu.stat", encoding="ascii") as f:
            return int(next(line.split()[1] for line in f if line.startswith("nr_throttled")))
    return f"{folder}/cgroup.procs", throttled


@ten.add("cpu-quota", "A client may use 10 ms of CPU time in 100 ms, and hashes what it reads: the server always "
         "has more to send. A second client with no quota hashes what a paced server sends.")
def cpu_quota(world):
    join, throttled = limited_group(world)

    def hashing(s, w):
        got, data = 0, b""
        while w.left():
            try:
                data = s.recv(16384)
            except TimeoutError:
                continue
            if not data:
                break
            for _ in range(100):
                hashlib.sha512(data).digest()
            got += len(data)
        return {"received": got}

    def in_group(s, w):
        with open(join, "w", encoding="ascii") as f:
            f.write(str(os.getpid()))
        return {**hashing(s, w), "throttled": throttled()}
    world.connect("quota", apps.bulk, in_group)
    world.connect("no-quota", apps.stream(16000, 0.04), hashing)
    world.controls()
    world.check("the quota holds the client", lambda w: (
        w.connections["quota"].result["client"].get("throttled", 0) > 3 * w.seconds, w.connections["quota"].result))
    return [*reading_late("quota"), Truth("no-quota", "server", limit=one("sender-app"))]


# 10 --------------------------------------------------------------------------------------------------

@ten.add("reordering", "Two parallel paths: of one connection 4 % of the data packets take 60 ms longer than the "
         "others, of another one 25 % take 1 ms longer on a path of 40 ms. Nothing is lost.")
def reordering(world):
    world.connect("far-apart", apps.stream(12000, 0.02), apps.sink, Lane(), Lane(late=0.04, late_s=0.06))
    world.connect("close-together", apps.stream(12000, 0.02), apps.sink, Lane(0.02),
                  Lane(0.02, late=0.25, late_s=0.001))
    world.controls()
    world.check("packets come late", lambda w: (
        w.lane_counts("far-apart", "down")["late"] > 20, w.lane_counts("far-apart", "down")))
    # Later data tells of the hole one round trip, 10 ms, after the packet was sent; RACK waits at most
    # another round trip; the packet itself comes after 65 ms. So it is sent again for nothing.
    return [Truth("far-apart", "server", told=(one("spurious"),), may=one("spurious")),
            Truth("close-together", "server", limit=one("sender-app"), may=one("spurious"))]
