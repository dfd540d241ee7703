# SPDX-License-Identifier: Apache-2.0
"""Proves that hostlat loads only the programs that the requested stages need."""
import glob
import os
import re

from lib import bpf, check, watch

READER = {"returned_tp", "tcp_copied_tp", "task_end_tp"}    # programs that find the reader
WAKING = {"waking_tp", "switch_tp", "timer_tp"}             # programs that find its wakeups
OTHERS = {"forwarded_nf"}                                   # programs that no stage needs


def loaded(*options):
    """The names of the programs that a run with these options holds."""
    observer = watch.Watch(*options)
    ids = set()
    for path in glob.glob(f"/proc/{observer.process.pid}/fdinfo/*"):
        with open(path, encoding="ascii", errors="replace") as f:
            ids.update(int(n) for n in re.findall(r"^prog_id:\s*(\d+)$", f.read(), re.MULTILINE))
    known = bpf.objects()["prog"]
    observer.stop()
    return {known[n]["name"][:15] for n in ids if n in known}


def differs(options, less, more=frozenset()):
    """From the default, by exactly these."""
    seen = loaded(*options)
    check.equal("not loaded", default - seen, set(less))
    check.equal("loaded beyond the default", seen - default, set(more))


if os.geteuid() != 0:
    check.skip("needs root")
default = loaded()
check.true(f"the default has a program ({default})", READER | WAKING | OTHERS <= default)
check.run([
    (differs, (), ()),
    (differs, ("--stages", "link,transport,enqueued"), READER | WAKING),
    (differs, ("--stages", "link,transport,enqueued,read"), WAKING),
    (differs, ("--stages", "link,transport,enqueued", "--min-queue", "2"), WAKING | OTHERS),
    (differs, ("--port", "7"), OTHERS),
])
