# SPDX-License-Identifier: Apache-2.0
"""Proves that --backend tracepoints and --backend functions count the same packets and put a stage
at the same time. Each backend is the other's control. hostlat names what the kernel lacks of the
backend that is asked for."""
import subprocess
import sys

from lib import check, netns, watch
from lib.traffic import Traffic

DISTURBED = ("two hooks beside each other read the clock one after the other, and an "
             "interrupt can come in between")

N = 400
STAGES = "transport", "enqueued", "runnable", "running", "read"
FUNCTIONS = "ip", "transport", "enqueued", "read"      # stages that have a function
TCP_FUNCTIONS = *FUNCTIONS, "socket"
FUNCTION_KINDS = "fentry", "fexit"


def measured(backend, net, family, protocol):
    """
    Every packet is measured at each stage or, if a CPU was taken away on its way, counted as lost;
    by hooks of the kind that was asked for.
    """
    traffic = Traffic(net, family, protocol, pattern="exchange", count=N, gap_us=500,
                      wait="epoll", limit=120)
    observer = watch.Watch(*traffic.filter, "--stages", "ingress", "--backend", backend)
    traffic.finish()
    result = observer.stop()
    for binding in result.document["bindings"]:
        if binding["bound"] and binding["stage"] in TCP_FUNCTIONS:
            check.equal(f"function at {binding}", binding["kind"] in FUNCTION_KINDS,
                        backend == "fentry")
    for stage in TCP_FUNCTIONS if protocol == "tcp" else FUNCTIONS:
        lost = result.lost(stage=stage, protocol=protocol)
        check.counted(f"packets at {stage} ({result.brief()})",
                      result.count(stage, protocol) + lost, N)
        check.between(f"of them lost at {stage} ({result.brief()})", lost, 0, N // 50)
    return result


def bucket(result, stage, protocol):
    """Returns the bucket of the median latency, from the origin that most packets have."""
    return watch.quantile(max(result.rows(stage, protocol), key=lambda row: row["count"]), 0.5)


def agree(a, b, protocol, within):
    bindings = []
    # netfilter's hook comes after the checks of the header, with which the function begins
    check.between("median of ip by the function", bucket(b, "ip", protocol)["ns"], 1,
                  bucket(a, "ip", protocol)["hi_ns"] * within)
    for stage in (*STAGES, *(["socket"] if protocol == "tcp" else [])):
        one, other = bucket(a, stage, protocol), bucket(b, stage, protocol)
        bindings.append(f"{stage} {one['ns']} and {other['ns']} ns")
        check.between(f"median of {stage} by tracepoints and functions: {bindings[-1]}",
                      other["ns"], one["lo_ns"] / within, one["hi_ns"] * within)
    return ", ".join(bindings)


@check.environment(DISTURBED)
def the_same(net, family, protocol):
    """
    Within a bucket: in that of the other, or in one beside it. Where the rest of the check runs
    beside an emulated machine, that is no measure: there, within a factor.
    """
    by_tracepoint = measured("tracepoint", net, family, protocol)
    by_function = measured("fentry", net, family, protocol)
    return agree(by_tracepoint, by_function, protocol, 2 ** (1 / 8) if check.LONG else 2)


def refused(backend, reason, code):
    """2 where no stage is left, 3 where some are."""
    done = subprocess.run([watch.HOSTLAT, "watch", "--backend", backend, "-c", "1"], text=True,
                          capture_output=True, timeout=120, check=False)
    check.equal("exit code", done.returncode, code)
    check.true(f"it gives the reason: {done.stdout} {done.stderr}", reason in done.stdout + done.stderr)


@check.environment(DISTURBED)
def one_backend(net, family, protocol, backend):
    measured(backend, net, family, protocol)


def cases(kernel):
    """Yields the cases for this kernel; natively, functions are refused."""
    places = (netns.veth(), 4, "tcp"), (netns.loopback(), 6, "udp")
    for place in places:
        if kernel == "6.12":
            yield the_same, *place
        elif kernel == "6.1":
            yield one_backend, *place, "fentry"
        else:
            yield one_backend, *place, "tracepoint"
    if kernel == "6.1":
        yield refused, "tracepoint", "this kernel has no tracepoint sk_data_ready", 3
    elif not kernel:
        yield refused, "fentry", "refused by this kernel", 2


check.run(cases(sys.argv[1] if len(sys.argv) > 1 else None))
