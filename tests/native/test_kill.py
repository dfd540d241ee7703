# SPDX-License-Identifier: Apache-2.0
"""Proves that kill -9 at random moments, from the first instruction to steady measuring, leaves
nothing in the kernel. Control: the same search finds a running hostlat's objects if their owner is
ignored."""
import os
import random
import re
import signal
import subprocess
import time

from lib import bpf, check, netns, process, watch
from lib.traffic import Traffic

KILLS = 20
SEED = int(os.environ.get("HOSTLAT_SEED", "20250301"))


def pinned():
    return {os.path.join(d, f) for d, _, files in os.walk("/sys/fs/bpf") for f in files}


def namespaces():
    """Named ones, but for those of tests, which may come and go."""
    found = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
    return {name for name in found if not re.fullmatch(r"(hostlat|demo)\d+-\w+", name)}


def start():
    command = [watch.HOSTLAT, "watch", "--json", "--origin", "stack"]
    return process.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def time_to_measure():
    began = time.monotonic()
    observer = watch.Watch("--origin", "stack")
    took = time.monotonic() - began
    observer.stop(signal.SIGTERM)
    return took


def kills(net):
    rng = random.Random(SEED)
    print(f"seed {SEED}", flush=True)
    longest = 2 * time_to_measure()
    alone = bpf.nobody_else_stamps()
    before, named, pins = bpf.objects(), namespaces(), pinned()
    Traffic(net, 4, "tcp", count=100_000, gap_us=100)
    with_objects = 0
    for i in range(KILLS):
        hostlat = start()
        at = rng.uniform(0, longest)
        time.sleep(at)
        with_objects += bool(set(bpf.objects()["prog"]) - set(before["prog"]))
        hostlat.kill()
        hostlat.wait()
        what = f"after kill {i} at {at * 1000:.0f} ms"
        check.equal(f"BPF objects {what}", bpf.left_behind(before), [])
        check.equal(f"new namespaces {what}", namespaces() - named, set())
        check.equal(f"new pins {what}", pinned() - pins, set())
    off = not alone or bpf.timestamps_off(20)
    check.true("receive timestamps are off after the last kill", off)
    check.between("kills that met loaded programs", with_objects, KILLS // 4, KILLS)
    return f"{with_objects} of {KILLS} met loaded programs"


def seen_while_running():
    """Control: the same look-out finds a running hostlat's objects once nobody owns up to them."""
    before = bpf.objects()
    observer = watch.Watch("--origin", "stack")
    now = bpf.objects()
    check.true("a running watch has programs", set(now["prog"]) - set(before["prog"]))
    check.true("a running watch turned receive timestamps on", bpf.receive_timestamps_on())
    real, bpf._held = bpf._held, lambda: {kind: set() for kind in bpf.KINDS}
    try:
        check.true("ownerless objects are found", bpf.left_behind(before, limit_s=0))
    finally:
        bpf._held = real
    observer.stop()


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(seen_while_running,), (kills, netns.loopback())])
