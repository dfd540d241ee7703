# SPDX-License-Identifier: Apache-2.0
"""Proves that `watch`, `conns` and `record` work on a machine that lacks something else than a part
of bpf(2): a capability, a file system, memory to lock, descriptors, the system call itself. The
rest is measured correctly, missing parts are named, and a command that cannot run advises what
would help, and nothing that would not. Control: the same commands without a lack.

In a guest (`guest [MACHINE]`): machines that this one cannot be made to, and `doctor` beside them;
with a name, the guest itself is it.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

from lib import check, diagnose, netns, process, refusing, watch
from lib.traffic import Traffic

NOBPF = os.environ["NOBPF"]
N = 60
STAGES = "link", "ip", "transport", "socket", "enqueued", "runnable", "running", "read"


def without_caps(*names):
    return ["setpriv", "--bounding-set", ",".join(f"-{name}" for name in names)]


def hidden(*folders, more=""):
    """In mounts of its own, with nothing in these."""
    hide = " ".join(f"if [ -d {f} ]; then mount -t tmpfs none {f}; fi;" for f in folders)
    return ["unshare", "--mount", "sh", "-c", f'{hide} {more} exec "$0" "$@"']


V1 = ("umount /sys/fs/cgroup; mount -t tmpfs none /sys/fs/cgroup;"
      " for c in cpu,cpuacct memory net_cls,net_prio cpuset pids; do mkdir /sys/fs/cgroup/$c;"
      " mount -t cgroup -o $c none /sys/fs/cgroup/$c 2>/dev/null; done;")
CAPS = ("sys_admin", "bpf", "perfmon", "net_admin", "sys_ptrace", "sys_resource", "dac_read_search")
# Why it may be unable to run at all: words of what it says.
NEEDS = {
    "no capabilities": "CAP_BPF", "CAP_BPF and CAP_SYS_ADMIN": "CAP_BPF",
    "CAP_PERFMON and CAP_SYS_ADMIN": "CAP_PERFMON", "no BTF": "BTF", "bpf(2) refused": "seccomp",
    "64 descriptors": "ulimit -n",
}
# A sandbox that kills for bpf(2) leaves nobody to say so; whoever never asks for it lives.
KILLED = "bpf(2) kills"
MACHINES = {
    **{f"CAP_{name.upper()}": without_caps(name) for name in CAPS},
    "CAP_BPF and CAP_SYS_ADMIN": without_caps("bpf", "sys_admin"),
    "CAP_PERFMON and CAP_SYS_ADMIN": without_caps("perfmon", "sys_admin"),
    "no capabilities": without_caps("all"),
    "64 descriptors": ["prlimit", "--nofile=64:64"],
    "64 KiB of locked memory": ["prlimit", "--memlock=65536:65536"],
    "no tracefs": hidden("/sys/kernel/tracing", "/sys/kernel/debug"),
    "no cgroup2": hidden("/sys/fs/cgroup"),
    "no BTF": hidden("/sys/kernel/btf"),
    "hidepid=2": [*hidden(more="mount -t proc -o hidepid=2 proc /proc;"), *without_caps("sys_ptrace")],
    "bpf(2) refused": [NOBPF, "refuse"],
    KILLED: [NOBPF, "kill"],
}
LOCKED, HALF_LOCKED = "lockdown=confidentiality", "lockdown=integrity"
ONLY_V1, HYBRID = "cgroup v1 only", "cgroup v1, and v2 beside it"
PARANOID = "perf_event_paranoid=4 and unprivileged_bpf_disabled=2"
PARANOID_CAP = f"{PARANOID}, CAP_SYS_ADMIN"
SYSCTL = ["sh", "-c", "sysctl -qw kernel.perf_event_paranoid=4 kernel.unprivileged_bpf_disabled=2;"
          ' exec "$0" "$@"']
GUESTS = {
    ONLY_V1: hidden(more=V1),
    HYBRID: hidden(more=f"{V1} mkdir /sys/fs/cgroup/unified;"
                        " mount -t cgroup2 none /sys/fs/cgroup/unified;"),
    PARANOID: SYSCTL,
    PARANOID_CAP: [*SYSCTL, *without_caps("sys_admin")],
}
if refusing.KERNEL == "6.1":    # and whatever else is before 6.2
    NEEDS[PARANOID_CAP] = "needs CAP_SYS_ADMIN"
OWN = {LOCKED: [], HALF_LOCKED: []}
# A word of what each command says of it; the others lose nothing by it.
SAYS = {
    (LOCKED, "watch"): "kernel lockdown", (LOCKED, "conns"): "kernel lockdown",
    (LOCKED, "record"): "kernel lockdown", (ONLY_V1, "conns"): "cgroup2 is not mounted",
    (PARANOID_CAP, "conns"): "earlier connections in namespace",
}
# Names of what `doctor` must find missing.
LACKS = {
    LOCKED: {"no lockdown", "kernel memory", "function", "function_graph"},
    HALF_LOCKED: {"no lockdown"}, ONLY_V1: {"cgroup2", "cgroup_skb", "round trips"},
    HYBRID: set(), PARANOID: set(), PARANOID_CAP: {"CAP_SYS_ADMIN"},
}


class CannotRun(Exception):
    """It said why."""


_last_output = []      # all that the last run said


def run(prefix, words, act):
    """The command beside what is done once it measures, or has ended: (exit code, stdout, stderr)."""
    child = process.start([*prefix, watch.HOSTLAT, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    output = []
    for line in child.stderr:
        output.append(line)
        if "measuring" in line:
            break
    act()
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=120)
    output = "".join(output) + errors
    check.true(f"no line of a library: {output!r}", "libbpf" not in output)
    _last_output.append(output + out)
    return child.returncode, out, output


def judged(machine, code, output):
    """It ran; else it says what it lacks, and advises root only to who isn't."""
    if machine == KILLED and code == -signal.SIGSYS:
        raise CannotRun("killed by the sandbox")
    check.true(f"exit code {code} is 0, 2 or 3: {output}", code in (0, 2, 3))
    full = not machine.startswith(("CAP", "no cap"))
    check.true(f"no advice that does not help: {output}", "as root" not in output if full else
               "seccomp" not in output and "by this kernel" not in output)
    if code != 2:
        return
    check.true(f"it cannot run, for no reason: {output}", machine in NEEDS or machine == KILLED)
    check.true(f"it gives the reason: {output}", output.startswith("hostlat: ") and
               NEEDS.get(machine, "bpf").lower() in output.lower())
    raise CannotRun(re.sub(r"\s+", " ", output).removeprefix("hostlat: ").strip())


def traffic(count=N):
    return Traffic(net, 4, "tcp", pattern="exchange", count=count, gap_us=500)


def of_watch(machine, prefix):
    source = traffic()
    own = {}
    code, out, output = run(prefix, ["watch", "--json", *map(str, source.filter)],
                            lambda: own.update(source.finish()))
    check.equal("messages that the reader got", own["received"], N)
    judged(machine, code, output)
    result = watch.Result(json.loads(out), code)
    missing = set()
    for b in result.document["bindings"]:
        if b["stage"] not in STAGES or b["protocol"] not in ("tcp", "any"):
            continue
        if b["bound"]:
            seen = result.count(b["stage"], "tcp") + result.lost(stage=b["stage"])
            if b["stage"] in ("runnable", "running"):   # a task that had a CPU needs no wakeup
                seen += result.excluded("reader-already-running", protocol="tcp")
            check.equal(f"packets at {b['stage']} ({result.brief()})", seen, N)
        elif b["why"] not in ("not selected", "not needed"):
            missing.add(b["stage"])
            check.equal(f"exit code without {b['stage']}", code, 3)
    codes = sorted({r["code"] for r in result.document.get("reasons", ())})
    check.true(f"exit code {code} with the reasons {codes}", code == 0 or codes or missing)
    return f"without {', '.join(sorted(missing))}" if missing else ", ".join(codes) or "nothing lost"


def of_conns(machine, prefix):
    source = traffic()
    code, out, output = run(prefix, ["conns", "--json", "--filter", f"netns = {net.reader}"],
                            lambda: source.finish())
    judged(machine, code, output)
    document = json.loads(out)
    missing = sorted({each["name"] for each in document["missing"]})
    ours = [it for it in document["connections"] if it["local"].endswith(f":{source.port}") or
            it["remote"].endswith(f":{source.port}")]
    if not ours:
        check.true(f"no connection, and that is not reported: {output}", missing)
        return f"no connections; {', '.join(missing)}"
    for it in ours:     # the traffic's messages, and a FIN; inet_diag may have looked before the last
        least = 0 if "inet-diag" in it["flags"] else 100 * N
        check.between("bytes", it["bytes"]["sent"] + it["bytes"]["received"], least, 100 * N * 3)
        check.true("calls are known, or that is reported", it["calls"] is not None or missing)
    return ", ".join(missing) or "nothing lost"


def of_record(machine, prefix):
    source = traffic()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        code, _, output = run(prefix, ["record", "-o", path, "--with", "messages,activity",
                                       *map(str, source.filter)], lambda: source.finish())
        judged(machine, code, output)
        it = diagnose.Diagnosis(path, 5, code=(0, 3))
    count = it.document["messages"]["count"]
    check.true(f"{count} messages, and that is not reported: {output}", count >= 0.95 * N or
               it.document.get("reasons") or "without it" in output)
    check.equal("what the parts miss", it.document["partition_error_ns"], 0)
    lacks = re.findall(r"without it, ([^;\n]*)", output)
    return f"{count} of {N} messages" + (f"; {'; '.join(lacks)}" if lacks else "")


def of_doctor(machine, prefix):
    done = subprocess.run([*prefix, watch.HOSTLAT, "doctor", "--json"], capture_output=True,
                          text=True, timeout=120, check=False)
    rows = json.loads(done.stdout)["capabilities"]
    _last_output.append(done.stdout + done.stderr)
    judged(machine, done.returncode, done.stderr)
    if not machine.startswith(PARANOID_CAP):
        check.true(f"no advice that does not help: {done.stdout}", "as root" not in done.stdout)
    yes = {row["capability"] for row in rows if row["state"] == "yes"}
    no = {row["capability"] for row in rows if row["state"] == "no"}
    check.equal("hooks whose lack is not reported, or the other way round", LACKS[machine] & yes | LACKS[machine] - no,
                set())
    others = {"no lockdown", "kernel memory", "function_graph", "cgroup2", "cgroup_skb",
              "round trips"} - LACKS[machine]
    check.equal("found missing, but there", others & no, set())
    return f"no {', no '.join(sorted(LACKS[machine]))}" if LACKS[machine] else "nothing missing"


COMMANDS = {"watch": of_watch, "conns": of_conns, "record": of_record}


@check.busy
def on_a_machine(command, machine):
    try:
        return COMMANDS[command](machine, {**MACHINES, **GUESTS, **OWN}[machine])
    except CannotRun as why:
        return f"cannot run: {why}"


@check.busy
def in_a_guest(command, machine):
    """Runs the command in a guest, where it is known what is lost; fails if more is."""
    prefix = GUESTS.get(machine, [])
    if command == "doctor":
        return of_doctor(machine, prefix)
    figure = on_a_machine.__wrapped__(command, machine)
    expected = SAYS.get((machine, command))
    if expected:
        check.true(f"it says {expected!r}: {_last_output[-1]}", expected in _last_output[-1])
        return figure
    if figure.startswith("cannot run: "):       # `judged` knows why
        return figure
    lost = set(figure.split(", ")) - {"nothing lost", "round trips of earlier connections"}
    check.true(f"nothing is lost: {figure}", figure.startswith(f"{N} of {N} messages") or not lost)
    return figure


@check.busy
def control(command):
    """On this machine as it is: what is lost here is lost on the others, too."""
    return COMMANDS[command]("this", [])


if os.geteuid() != 0:
    check.skip("needs root")
net = netns.veth()
if refusing.GUEST:
    own = sys.argv[2:]
    here = own or (list(GUESTS) if check.LONG else [ONLY_V1])
    check.run([(refusing.tabled(command, in_a_guest), command, machine)
               for machine in here for command in (*COMMANDS, "doctor")])
check.run([(control, command) for command in COMMANDS] +
          [(refusing.tabled(command, on_a_machine), command, machine)
           for machine in MACHINES for command in COMMANDS])
