# SPDX-License-Identifier: Apache-2.0
"""
Proves that root drops privileges once a collecting command is set up, and that the command still
works: it enters new network namespaces. Under `explain`, the load runs as the user behind sudo, with
the capabilities for its priority and its open files alone, and has the priority that it has without
`explain`; what sudo's user gets belongs to him.
"""
import contextlib
import json
import os
import shutil
import stat
import subprocess
import tempfile
import time

from lib import check, process, servers, watch

PERSON = 65532
SUDO = {"SUDO_UID": str(PERSON), "SUDO_GID": str(PERSON)}
# CAP_DAC_READ_SEARCH, NET_ADMIN, SYS_PTRACE, SYS_ADMIN, SYS_RESOURCE, PERFMON, BPF
COLLECT = sum(1 << bit for bit in (2, 12, 19, 21, 24, 38, 39))
LOAD = sum(1 << bit for bit in (23, 24))     # CAP_SYS_NICE, SYS_RESOURCE
# DAC_OVERRIDE, CHOWN, SETUID: some of what is given up, and must be there before.
GIVEN_UP = sum(1 << bit for bit in (0, 1, 7))


def statuses(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError), \
                open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
            found.append(dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line))
    return found


def check_privileges(pid, allowed):
    own = statuses("self")[0]
    check.true("this test has what is given up", int(own["CapEff"], 16) & GIVEN_UP == GIVEN_UP)
    found = statuses(pid)
    check.true("threads", found)
    for status in found:
        for field in "CapEff", "CapPrm", "CapBnd":
            check.equal(f"{field} of {status['Name']}", hex(int(status[field], 16)),
                        hex(allowed & int(own[field], 16)))
        check.equal("no_new_privs", status["NoNewPrivs"], "1")
    return f"{len(found)} threads"


def await_measuring(child):
    log = ""
    for line in child.stderr:
        log += line
        if line == "hostlat: measuring\n":
            return
    raise check.Unexpected(f"it doesn't measure: {log}")


def collects(*words):
    """Without the privileges it goes on, and its result is written at the end."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        child = process.start([watch.HOSTLAT, *words[:1], "--json",
                               "--summary" if words[0] == "record" else "--output", out,
                               *(word.replace("@", folder) for word in words[1:])],
                              stderr=subprocess.PIPE, text=True)
        await_measuring(child)
        text = check_privileges(child.pid, COLLECT)
        time.sleep(0.5)
        child.terminate()
        _, errors = child.communicate(timeout=120)
        check.true(f"it ends with 0 or 3: {errors}", child.returncode in (0, 3))
        with open(out, encoding="utf-8") as file:
            json.load(file)
    return text


def foreign_descriptor(kind):
    """A number in the environment that no parent of hostlat left is ignored: the file behind it stays
    as it was, and whoever waits for the message gets it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        path = os.path.join(folder, "file")
        if kind == "file":
            other = os.open(path, os.O_RDWR | os.O_CREAT)
        else:
            other, written = os.pipe()
            stack.callback(os.close, written)
        stack.callback(os.close, other)
        number = str(other) if kind != "closed" else "987"
        child = process.start([watch.HOSTLAT, "watch", *map(str, watch.HERE), "--count", "1",
                               "--interval", "50ms"],
                              env={**os.environ, "HOSTLAT_READY_FD": number}, pass_fds=(other,),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        _, errors = child.communicate(timeout=60)
        check.true(f"it says that it measures: {errors}", "hostlat: measuring\n" in errors)
        check.true(f"it ends with 0 or 3: {errors}", child.returncode in (0, 3))
        if kind == "file":
            check.equal("bytes of the file", os.stat(path).st_size, 0)


TALKS = """ip link set lo up; exec python3 -c '
import socket, time
l = socket.create_server(("127.0.0.1", 0))
a = socket.create_connection(l.getsockname())
b, _ = l.accept()
while True:
    a.sendall(bytes(100)); b.recv(100); time.sleep(0.1)'"""
SOON_S = 60     # hostlat searches for namespaces less often while all it reads is expensive


def namespaces_later():
    """A namespace that comes after the set-up is entered, and its connections are reported."""
    child = process.start([watch.HOSTLAT, "conns", "--json-lines", "--collect", "inet-diag"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    await_measuring(child)
    new = process.start(["unshare", "--net", "sh", "-c", TALKS])
    name, begin, seen, found, missing = f"pid {new.pid} (", time.monotonic(), set(), False, None
    while not found and time.monotonic() < begin + SOON_S:
        document = json.loads(child.stdout.readline())
        seen |= {row["netns"] for row in document["connections"]}
        found, missing = any(each.startswith(name) for each in seen), document["missing"]
    took = time.monotonic() - begin
    child.terminate()
    _, errors = child.communicate(timeout=120)
    check.true(f"it ends with 0 or 3: {errors}", child.returncode in (0, 3))
    check.true(f"{name}...) is among {seen} after {took:.0f} s; missing: {missing}", found)
    return f"after {took:.1f} s"


def explained(env, uid, mode):
    """Runs explain; checks which user runs the load, and who owns the files."""
    place = tempfile.mkdtemp()
    folder = os.path.join(place, "run")
    os.chown(place, uid, uid)
    seen = {}
    try:
        port = servers.free_port()
        server = process.start([watch.HOSTLAT, "serve", f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        servers.wait_for(port)
        url = f"synthetic://127.0.0.1:{port}"
        child = process.start([watch.HOSTLAT, "explain", url, "--rate", "500", "--for", "2s", "-o", folder],
                              env={**os.environ, **env}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        while child.poll() is None:
            for pid in children(child.pid):
                look_at(pid, seen)
            time.sleep(0.01)
        errors = child.stderr.read()
        server.kill()
        check.true(f"it ends with 0 or 3: {errors}", child.returncode in (0, 3))
        own = int(statuses("self")[0]["CapEff"], 16)
        check.equal("the load's user and capabilities", seen["load"], (str(uid), LOAD & own))
        if "report" in seen:    # it may end between two looks
            check.equal("the page's", seen["report"], (str(uid), 0))
        check.equal("the load's priority", priority(os.path.join(folder, "load.json")), granted())
        names = sorted(os.listdir(folder))
        check.equal("files", names, ["client.hlat", "conns.hlat", "load.json", "report.html",
                                     "result.json", "server.hlat", "watch.json"])
        for name in names:
            st = os.stat(os.path.join(folder, name))
            check.equal(f"owner of {name}", st.st_uid, uid)
            check.equal(f"others may not read {name}", stat.S_IMODE(st.st_mode) & mode, 0)
    finally:
        shutil.rmtree(place)
    return f"{seen}"


def priority(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)["setup"]["priority"]


def granted():
    """The priority of a load that nothing else starts."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "alone.json")
        subprocess.run([watch.HOSTLAT, "load", "null:", "--rate", "500", "--for", "100ms", "--threads", "1",
                        "--json", "-o", path], check=False, stderr=subprocess.DEVNULL, timeout=60)
        return priority(path)


def look_at(pid, seen):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, IndexError):
        status = statuses(pid)[0]
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            words = file.read().split("\0")
        if status["NoNewPrivs"] == "1" and len(words) > 2:
            seen[words[1]] = (status["Uid"].split()[1], int(status["CapEff"], 16))


def children(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
            open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return file.read().split()
    return []


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(check.busy(case), *args) for case, *args in [
    (collects, "watch"),
    (collects, "conns"),
    (collects, "record", "-o", "@/file", "--with", "messages,activity"),
    *((foreign_descriptor, kind) for kind in ("file", "pipe to read", "closed")),
    (namespaces_later,),
    (explained, {}, 0, 0o007),
    (explained, SUDO, PERSON, 0),
]])
