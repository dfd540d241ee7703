# SPDX-License-Identifier: Apache-2.0
"""Finds what is left in the kernel: BPF objects that no process holds, and receive timestamps."""
import contextlib
import ctypes
import glob
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time

from lib import check

# include/uapi/linux/bpf.h, and the number of bpf() by machine
SYSCALL = {"x86_64": 321, "aarch64": 280}.get(os.uname().machine)
BPF_PROG_LOAD, BPF_PROG_TEST_RUN, BPF_OBJ_GET_INFO_BY_FD, BPF_ENABLE_STATS = 5, 10, 15, 32
BPF_PROG_TYPE_SOCKET_FILTER = 1

KINDS = ("prog", "map", "link")
SO_TIMESTAMPNS = 35


def objects():
    """{kind: {id: description}} of the whole machine."""
    tool = shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not tool:
        check.skip("listing BPF objects needs bpftool")
    found = {}
    for kind in KINDS:
        listed = subprocess.run(
            [tool, "-j", kind, "show"], capture_output=True, text=True, check=False
        )
        if listed.returncode:
            check.skip(f"bpftool {kind} show: {(listed.stdout + listed.stderr).strip()}")
        found[kind] = {o["id"]: o for o in json.loads(listed.stdout or "[]")}
    return found


def _held():
    """Returns the ids of objects for which some process has a descriptor."""
    held = {kind: set() for kind in KINDS}
    for path in glob.glob("/proc/[0-9]*/fdinfo/*"):
        try:
            with open(path, encoding="ascii", errors="replace") as f:
                text = f.read()
        except OSError:
            continue
        for kind, number in re.findall(r"^(prog|map|link)_id:\s*(\d+)$", text, re.MULTILINE):
            held[kind].add(int(number))
    return held


def left_behind(before, limit_s=60):
    """Returns the objects that are new since `before` and held by no process: other programs on
    this machine may come and go. The kernel frees after a grace period, so this waits for it."""
    end = time.monotonic() + limit_s
    while True:
        held, now = _held(), objects()
        for number in held["prog"]:
            held["map"].update(now["prog"].get(number, {}).get("map_ids", []))
        left = [(kind, o.get("name", number)) for kind in KINDS for number, o in now[kind].items()
                if number not in before[kind] and number not in held[kind]]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def receive_timestamps_on():
    """Returns whether the kernel stamps received packets. A datagram that arrived without a stamp
    gets the time at which it is read, if the socket asks only then."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(5)
        s.bind(("127.0.0.1", 0))
        s.sendto(b"x", s.getsockname())
        time.sleep(0.05)
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        now = time.time()
        _, control, _, _ = s.recvmsg(16, 64)
    (stamp,) = [struct.unpack("@qq", data) for level, kind, data in control
                if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS)]
    return stamp[0] + stamp[1] / 1e9 < now - 0.02


def nobody_else_stamps():
    """Returns whether no other program uses receive timestamps, as time servers do: then ours
    cannot be recognized."""
    if timestamps_off(20):
        return True
    print("note: another program here wants receive timestamps; not checked", flush=True)
    return False


def timestamps_off(limit_s=5):
    """The kernel turns them off a moment after the last socket that wants them is gone."""
    end = time.monotonic() + limit_s
    while receive_timestamps_on():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


# ---- the kernel's statistics of programs ----

def _bpf(command, layout, *values):
    """Calls bpf() with an attribute of these fields; returns its result."""
    attribute = ctypes.create_string_buffer(struct.pack(layout, *values), 160)
    result = ctypes.CDLL(None, use_errno=True).syscall(SYSCALL, command, attribute, 160)
    if result < 0:
        check.skip(f"bpf() command {command}: {os.strerror(ctypes.get_errno())}")
    return result


@contextlib.contextmanager
def statistics():
    """The kernel counts the runs of programs and times them."""
    fd = _bpf(BPF_ENABLE_STATS, "I", 0)
    try:
        yield
    finally:
        os.close(fd)


def _counts(fd):
    """Returns (nanoseconds, runs) of a program."""
    info = ctypes.create_string_buffer(256)
    _bpf(BPF_OBJ_GET_INFO_BY_FD, "IIQ", fd, len(info), ctypes.addressof(info))
    return struct.unpack_from("QQ", info, 192)


def empty_run_ns():
    """Returns the ns that the kernel's statistics themselves add to a run, by a program that does
    nothing."""
    code = ctypes.create_string_buffer(bytes.fromhex("b7000000000000009500000000000000"))
    words = ctypes.create_string_buffer(b"GPL\0")
    fd = _bpf(BPF_PROG_LOAD, "IIQQ", BPF_PROG_TYPE_SOCKET_FILTER, 2, ctypes.addressof(code),
              ctypes.addressof(words))
    packet = ctypes.create_string_buffer(64)
    least, before = float("inf"), (0, 0)
    for _ in range(20):     # an interrupt during a run counts as part of it
        _bpf(BPF_PROG_TEST_RUN, "IIIIQQII", fd, 0, 64, 0, ctypes.addressof(packet), 0, 500, 0)
        now = _counts(fd)
        least = min(least, (now[0] - before[0]) / (now[1] - before[1]))
        before = now
    os.close(fd)
    return least


def cost_of(pid):
    """{program: (nanoseconds, runs)} of the programs that a process holds, statistics permitting."""
    held = set()
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as f:
            held.update(map(int, re.findall(r"^prog_id:\s*(\d+)$", f.read(), re.MULTILINE)))
    return {number: (o.get("run_time_ns", 0), o.get("run_cnt", 0))
            for number, o in objects()["prog"].items() if number in held}
