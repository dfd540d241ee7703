# SPDX-License-Identifier: Apache-2.0
"""Proves that `load` gives its reasons for n/a about replies, files and the kernel's counters, in
real runs made for them. The control runs must not give them. The faults are so gross that another
test may run beside it."""
import contextlib
import os
import tempfile
import time

from lib import badserver, check, loading
from lib.loading import load, memcached, only_in, synthetic
from lib.serving import serving

DISTURBED = ("the rate that the client and the server reach depends on how much CPU "
             "others leave them")

READS = ("--workload", "read=1,keys=100")


@check.environment(DISTURBED)
def schedule_exhausted():
    with serving() as it, tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "times")
        with open(path, "w", encoding="ascii") as f:
            f.write("".join(f"{i * 1_000_000}\n" for i in range(1000)))
        args = synthetic(it), "--arrival", path
        return only_in("schedule-exhausted", load(*args, "--for", "3s"), load(*args))


@check.environment("the control run must find a quiet host")
def host_unknown():
    """An empty /proc/stat; in the control the kernel's."""
    args = "null:", "--rate", 500, "--for", "2s"
    hide = ("unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /proc/stat && exec "$0" "$@"')
    made, control = load(*args, ahead=(*loading.AHEAD, *hide)), load(*args)
    check.equal("steal", made["noise"]["steal_ns"], None)
    check.true("steal in the control", control["noise"]["steal_ns"] is not None)
    return only_in("host-unknown", made, control)


def refusing(every):
    def behave(server, c):
        while n := c.requests(1):
            bad = server.asked % every == 0
            c.answer(n, b"SERVER_ERROR busy\r\n" if bad else badserver.MISS)
    return behave


@check.environment(DISTURBED)
def errors_above_limit():
    """One in fifty is refused, where one in a thousand may be, or one in ten; or none is."""
    with memcached(refusing(50)) as url:
        args = url, "--rate", 500, "--for", "2s", *READS
        made, allowed = load(*args), load(*args, "--max-errors", "10%")
    with memcached(badserver.good) as url:
        control = load(url, *args[1:])
    check.between("failed", made["requests"]["failed"] / made["requests"]["scheduled"], 0.01, 0.03)
    check.equal("failed in the control", control["requests"]["failed"], 0)
    only_in("errors-above-limit", made, control)
    return only_in("errors-above-limit", made, allowed)


@check.environment(DISTURBED)
def server_unreachable():
    """It dies in the midst of a run; in the control it is back after half a second."""
    def dies(it):
        def during(run):
            time.sleep(1)
            it.process.kill()
            it.process.wait()
            it.result = {}
            return run
        return during

    def comes_back(it, stack):
        def during(run):
            dies(it)(run)
            time.sleep(0.5)
            stack.enter_context(serving(addresses=[f"127.0.0.1:{it.port}"]))
        return during

    args = "--rate", 300, "--for", "3s", "--connections", 8
    with serving() as it:
        made = load(synthetic(it), *args, during=dies(it))
    with contextlib.ExitStack() as stack, serving() as it:
        control = load(synthetic(it), *args, during=comes_back(it, stack))
    check.true(f"it was away: {control['requests']}", control["requests"]["connects"] >= 16)
    return only_in("server-unreachable", made, control)


@check.environment(DISTURBED)
def connections_unbalanced():
    """Seven of eight servers take a second for each request: the eighth is asked for the rest."""
    with serving("--service", "fixed:1s", "--workers", 16) as slow, serving() as fast:
        args = "--rate", 200, "--for", "3s", "--connections", 8
        made = load(*[synthetic(slow)] * 7, synthetic(fast), *args)
        control = load(*[synthetic(fast)] * 8, *args)
    return only_in("connections-unbalanced", made, control)


check.run([
    (schedule_exhausted,), (host_unknown,), (errors_above_limit,), (server_unreachable,),
    (connections_unbalanced,),
])
