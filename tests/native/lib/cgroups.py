# SPDX-License-Identifier: Apache-2.0
"""Control groups of a test's own, gone when it ends."""
import atexit
import contextlib
import itertools
import os

from lib import check

UNIFIED = next((line.split()[1] for line in open("/proc/mounts", encoding="ascii")
                if line.split()[2] == "cgroup2"), None)
CPU_V1 = "/sys/fs/cgroup/cpu"

_made = []
_number = itertools.count()


def _remove_all():
    while _made:
        with contextlib.suppress(OSError):
            os.rmdir(_made.pop())


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def _make(parent, name):
    folder = f"{parent}/hostlat-{os.getpid()}-{next(_number)}-{name}"
    if not _made:
        atexit.register(_remove_all)
    try:
        os.mkdir(folder)
    except OSError as e:
        check.skip(f"no control group can be made in {parent}: {e.strerror}")
    _made.append(folder)
    return folder


class Group:
    """A control group in the unified hierarchy; `name` is the last part of its path."""

    def __init__(self, name, above=None):
        if not UNIFIED:
            check.skip("cgroup2 is not mounted")
        self.folder = _make(above.folder if above else UNIFIED, name)
        self.name = self.folder[len(UNIFIED):]

    def prefix(self):
        """Returns the words before a command that make it begin in this group."""
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs; exec "$@"', "sh"]


def throttle(pid, name):
    """Moves the process into a new group with a CPU quota of 10 ms in each 100 ms."""
    if os.path.exists(f"{CPU_V1}/cpu.cfs_quota_us"):
        folder = _make(CPU_V1, name)
        write(f"{folder}/cpu.cfs_quota_us", "10000")
    else:
        write(f"{UNIFIED}/cgroup.subtree_control", "+cpu")
        folder = _make(UNIFIED, name)
        write(f"{folder}/cpu.max", "10000 100000")
    write(f"{folder}/cgroup.procs", str(pid))
