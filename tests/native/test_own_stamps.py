# SPDX-License-Identifier: Apache-2.0
"""Proves that `read` agrees with the application's own stamps to a microsecond plus the time of
four system calls, on loopback and veth, v4 and v6. Control: a reader whose median is three times as
far off must fail.

The reader subtracts the kernel's receive stamp (SO_TIMESTAMPNS) from its clock when its receive
call returns. That stamp is `stack` for datagrams; for TCP it is `deliver`, since on these paths the
kernel restamps TCP at local delivery; `link` is taken within the same softirq as either. The
latency from the sender's own stamp contains the sender's system call too: an upper bound.
"""
import os
import timeit

from lib import check, netns, watch

N = 4000
# The reader's stamp comes behind the way out of its system call, and behind what hangs there.
CALLS = 20000
CALL_NS = 1e9 * min(timeit.repeat(os.getppid, number=CALLS, repeat=5)) / CALLS
CLOSE_NS = round(1000 + 4 * CALL_NS)
DEFAULT_ORIGIN = {"tcp": "link", "udp": "stack"}


def close(result, own_ns, protocol):
    read = watch.quantile(result.row("read", protocol), 0.5)
    check.between(f"the reader's own median, against `read` {read}", own_ns,
                  read["lo_ns"] - CLOSE_NS, read["hi_ns"] + CLOSE_NS)


@check.environment("it compares a measured time with the time that the test itself took, "
                   "and other threads can have the CPU in between")
def agrees(net, family, protocol, origin):
    options = ["--origin", origin] if origin else []
    result, own = watch.around(net, family, protocol, options, pattern="exchange", stamps=True,
                               count=N, realtime=True, reader_cpu=1, sender_cpu=1)
    check.counted("packets at read", result.count("read", protocol), N)
    row = result.row("read", protocol)
    check.equal("origin", row["origin"], origin or DEFAULT_ORIGIN[protocol])
    own_ns = own["kernel"]["p50_ns"]
    close(result, own_ns, protocol)
    check.must_fail("a reader's median that is three times as far off", close, result, own_ns + 3 * CLOSE_NS,
                    protocol)
    largest = own["latency"]["max_ns"]
    check.between("largest latency, below the sender-to-reader one", row["max_ns"], 1, largest)
    for before, after in (("transport", "enqueued"), ("enqueued", "read"),
                          *([("transport", "socket")] if protocol == "tcp" else [])):
        low, high = (watch.quantile(result.row(s, protocol), 0.5) for s in (before, after))
        check.between(f"median of {after}, after {before}", high["ns"], low["lo_ns"], largest)
    result.sound()
    return f"median {watch.quantile(row, 0.5)['ns']} ns, by own stamps {own_ns} ns"


check.run(
    (agrees, *where, protocol, origin)
    for where in netns.every()
    for protocol, origin in (("tcp", None), ("udp", None), ("tcp", "deliver"))
)
