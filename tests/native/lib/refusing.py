# SPDX-License-Identifier: Apache-2.0
"""A kernel that refuses some of bpf(2), by refuse.so: what a command asks for, and one refusal."""
import functools
import os
import random
import re
import subprocess
import sys
import tempfile

from lib import check

# In a guest of tests/guest: a stock kernel, which takes fentry, emulated.
GUEST = "guest" in sys.argv[1:]
KERNEL = ".".join(os.uname().release.split(".")[:2])
REFUSE = os.environ.get("REFUSE", "build/tests/native/refuse.so")
# Programs that hostlat and libbpf load to probe the kernel; a hook's refusal hits these, too.
TRIALS = {"hostlat_try", "hostlat_empty", "libbpf_nametest", ""}
# Commands of bpf(2) that read maps and say what an object is: hostlat cannot even look for less.
ESSENTIAL = {"command=1", "command=2", "command=3", "command=5", "command=15"}
# Needed beside what every kernel needs: before Linux 6.2, libbpf reads the types of modules.
NEEDED_HERE = {"command=19": "types", "command=23": "types"} if tuple(map(int, KERNEL.split("."))) < (6, 2) else {}
# Programs of which some are enough for `record`.
SOME_READS = {"program=act_reads", "program=act_reads_tcp", "program=act_reads_udp",
              "program=act_reads_udp6"}


def environment(refusals=(), log=None):
    env = {"LD_PRELOAD": REFUSE, "HOSTLAT_REFUSE": ",".join(refusals)}
    if log:
        env["HOSTLAT_REFUSE_LOG"] = log
    return {**os.environ, **env}


@functools.cache
def _lines(command):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        done = subprocess.run(command, env=environment(log=log), capture_output=True, text=True,
                              timeout=120, check=False)
        check.true(f"{command} without a refusal: {done.stderr}", done.returncode in (0, 3))
        with open(log, encoding="ascii") as f:
            return frozenset(tuple(line.split()) for line in f)


def asked(*command):
    """Returns everything that could be refused of this command, as terms of refuse.c, sorted."""
    terms = set()
    for first, *hook in _lines(command):
        name = re.fullmatch("program=(.*)", first)
        if name and name[1] in TRIALS:
            continue
        if first not in ESSENTIAL:
            terms.add(first)
        if check.LONG and not GUEST:
            terms.update(hook)
    return sorted(terms)


def hook_of(command, program, *args):
    """The term of the hook that a program is for."""
    hooks = [rest[0] for first, *rest in _lines((command, *args)) if first == f"program={program}"]
    return hooks[0] if hooks else None


def needed_to_record(command):
    """{term: why}: with this refused there can be no recording; hostlat says so and exits with 2."""
    return {
        "program=link_tp": "where messages begin",
        hook_of(command, "link_tp", "watch", "--count", "1", "--interval", "50ms"):
            "where messages begin",
        "program=enqueued_tp": "whose messages they are",
        "program=tcp_copied_tp": "where messages end",
        "program=returned_tp": "where messages end",
        "map=1": "tables", "map=2": "variables", "map=24": "storage of sockets",
        "map=27": "the rings by which records come", "map=29": "storage of tasks",
        "command=18": "types", "command=22": "constants", "command=28": "every hook",
    } | NEEDED_HERE


def some(terms, most, seed, always=()):
    """Returns all terms at full length, else a random choice, and those of `always` that are asked
    for; also pairs, at full length. In a guest there are no pairs, and at first programs only."""
    chance = random.Random(seed)
    if GUEST and not check.LONG:
        terms = [term for term in terms if term.startswith("program=")]
        return [(term,) for term in sorted({*chance.sample(terms, most), *always} & set(terms))]
    if not check.LONG:
        chosen = {*chance.sample(terms, min(most, len(terms))), *always}
        return [(term,) for term in sorted(chosen & set(terms))]
    if GUEST:
        return [(term,) for term in terms]
    pairs = [tuple(sorted(chance.sample(terms, 2))) for _ in range(len(terms) // 2)]
    return [(term,) for term in terms] + pairs


def tabled(command, case):
    """
    The same case, which also writes what it found as a row of docs/results/refusals.md, where results
    are asked for (make long). Its arguments are, at the end, what is refused.
    """
    folder = os.environ.get("HOSTLAT_RESULTS")
    if not folder:
        return case

    @functools.wraps(case)
    def run(*args):
        figure = case(*args)
        refused = " and ".join(arg for arg in args if isinstance(arg, str) and arg != command)
        if "hook=" not in refused and "type=" not in refused:   # numbers of this kernel's
            where = f" on {KERNEL}" if GUEST else ""
            _write(os.path.join(folder, "refusals.md"), command + where, refused, figure)
        return figure
    return run


HEAD = f"""# Refused programs and maps, and what is lost without them

    make long       # or HOSTLAT_LONG=1 HOSTLAT_RESULTS=docs/results, of the tests matrix_*

Each row is one run of a command under a preloaded library that refuses one part of bpf(2) with EPERM:
a program by its name, a type of map, or a command of the system call by its number (include/uapi/linux/bpf.h);
pairs are drawn by a seed. What the row says was lost was said by hostlat itself; all else was measured,
and was right by the test's own truth (packets, calls, bytes, the culprit). On Linux {os.uname().release.partition("-")[0]};
"on 6.1" and "on 6.12" are Debian's kernels in an emulated guest, where no time is judged.
A row quotes the words of the version that it was measured with.

| command | refused | what is lost |
"""
RULE = "|---|---|---|\n"


def _write(path, command, refused, figure):
    """Writes rows in order, in place of those of an earlier run. A guest leaves the head alone."""
    rows, head = {}, HEAD
    try:
        with open(path, encoding="utf-8") as f:
            before, _, rest = f.read().partition(RULE)
        head = before if GUEST else HEAD
        rows = {tuple(line.split(" | ")[:2]): line for line in rest.splitlines()}
    except FileNotFoundError:
        pass
    figure = re.sub(r"hostlat\d+-", "", figure)     # this run's names of its namespaces
    line = f"| {command} | {refused} | {figure} |"
    rows[tuple(line.split(" | ")[:2])] = line
    with open(path, "w", encoding="utf-8") as f:
        f.write(head + RULE + "\n".join(rows[key] for key in sorted(rows)) + "\n")
