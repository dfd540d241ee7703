# SPDX-License-Identifier: Apache-2.0
"""Proves that `watch` stays right where the kernel refuses one program, map or command: each bound
stage has every packet, each other stage says why it is not bound. It fails only without what all
stages need, and then names it. Controls: nothing refused, and a stage that is lost without need
must fail."""
import json
import os
import signal
import subprocess

from lib import check, netns, process, refusing, watch
from lib.traffic import Traffic

N = 60
SEED = int(os.environ.get("HOSTLAT_SEED", "1"))
MOST = 2 if refusing.GUEST else 14
STAGES = "link", "ip", "transport", "enqueued", "read"
COMMAND = "watch", "--count", "1", "--interval", "50ms", "--quiet"
# The hook at netif_receive_skb, as refuse.c names it: its number is this kernel's.
LINK_HOOK = refusing.hook_of(watch.HOSTLAT, "link_tp", *COMMAND)
# Without these no packet can be measured; hostlat says so and exits with 2.
NEEDED = {
    "program=link_tp": "the origin of all latencies",
    LINK_HOOK: "the origin of all latencies",
    "map=2": "rows, and the programs' variables",
    "map=1": "tables",
    "map=24": "what is kept beside sockets: nothing says which one a packet is for",
    "command=22": "the programs' constants",
    "command=18": "types",
    "command=28": "every hook",
} | refusing.NEEDED_HERE


def alone():
    """Programs that have no other hook of this kernel beside them: their stages go with them."""
    if not refusing.GUEST:      # it refuses fentry
        return {"enqueued_tp", "returned_tp", "tcp_copied_tp"}
    if "program=enqueued_tp" in terms:
        return {"tcp_copied_tp"}
    return {"enqueued_fentry", "tcp_returned_fe", "udp_returned_fe", "tcp_copied_tp",   # < 6.3
            "tcp_transport_f", "tcp_transport6_", "udp_transport_f", "udp_transport6_"}


HELPERS = ("drop_tp", "destroy_tp", "connect_tp", "task_end_tp")
HELP = {f"program={name}" for name in (*HELPERS, "drop_old_tp")}
# TCP's transport without these: after the socket lookup.
EARLY = "program=transport_nf", "program=tcp_transport_f", "program=tcp_transport6_"


class Stopped(Exception):
    """It could not run."""


def watched(net, protocol, refusals):
    traffic = Traffic(net, 4, protocol, pattern="exchange", count=N, gap_us=200)
    child = process.start([watch.HOSTLAT, "watch", "--json", *map(str, traffic.filter)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=refusing.environment(refusals))
    output = []
    for line in child.stderr:
        output.append(line)
        if "measuring" in line:
            break
    own = traffic.finish()
    check.equal("messages that the reader got", own["received"], N)
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=watch.END_LIMIT_S)
    output = "".join(output) + errors
    check.true(f"no line of a library: {output!r}", "libbpf" not in output)
    check.true(f"no advice that does not help: {output!r}", "as root" not in output)
    if child.returncode == 2:
        raise Stopped(output)
    check.true(f"exit code {child.returncode} is 0 or 3: {output!r}", child.returncode in (0, 3))
    return watch.Result(json.loads(out), child.returncode)


def counted(result, protocol):
    """Stages that are missing; each of the others has all packets, in rows or as counted losses."""
    bound = {b["stage"] for b in result.document["bindings"]
             if b["bound"] and b["protocol"] in (protocol, "any")}
    if protocol == "udp" and "enqueued" not in bound:   # nothing says which socket it is for
        bound = set()
    missing = []
    for stage in STAGES:
        seen = result.count(stage, protocol)
        if stage not in bound:
            check.equal(f"packets at {stage}, which is not bound", seen, 0)
            missing.append(stage)
            continue
        lost = result.lost(stage=stage, protocol=protocol)
        check.equal(f"{protocol} packets at {stage} ({result.brief()})", seen + lost, N)
    return missing


def reasons_of_helpers(result):
    """Returns the evidence for missing hooks, among them hooks that measure no stage."""
    return [r["evidence"] for r in result.document.get("reasons", ()) if r["code"] == "hook-missing"]


def without(net, protocol, refusals):
    try:
        result = watched(net, protocol, refusals)
    except Stopped as e:
        check.true(f"it cannot run without need: {e}", bool(NEEDED.keys() & set(refusals)))
        check.true(f"it gives the reason: {e}", "hostlat: " in str(e))
        return "cannot run"
    missing = [stage for stage in counted(result, protocol) if stage not in usual[protocol]]
    check.true(f"{missing} is lost though another hook sees the same", not missing or
               any(not term.startswith("program=") or term.partition("=")[2] in alone()
                   for term in refusals))
    for stage in missing:
        # Where `enqueued` is missing UDP has none at all, also of stages that TCP has.
        why = [b["why"] for b in result.document["bindings"] if b["stage"] in (stage, "enqueued") and b["why"]]
        check.true(f"why there is no {stage}", why)
        check.equal(f"exit code without {missing}", result.code, 3)
    reasons = reasons_of_helpers(result)
    check.true(f"{refusals} is not named: {reasons}", reasons or HELP.isdisjoint(refusals))
    return "; ".join(filter(None, (", ".join(missing), *reasons))) or "nothing lost"


def control(net, protocol):
    usual[protocol] = counted(watched(net, protocol, ()), protocol)
    return f"without a hook as it comes: {', '.join(usual[protocol]) or 'none'}"


def refused(net, *refusals):
    return "; ".join(f"{protocol}: {without(net, protocol, refusals)}" for protocol in usual)


def a_missing_fallback_is_found(net):
    """The check refuses that a stage goes though another hook could measure it."""
    before = usual["tcp"]
    usual["tcp"] = [stage for stage in before if stage != "ip"]     # lost in every run
    try:
        check.must_fail("a stage that is lost without need", without, net, "tcp",
                        ("program=timer_tp",))
    finally:
        usual["tcp"] = before




def a_helper(net, program):
    """A hook that no stage is measured by: what it costs to do without is said."""
    result = watched(net, "udp", (f"program={program}",) if program else ())
    reasons = reasons_of_helpers(result)
    check.equal("exit code", result.code, 3 if program else 0)
    check.equal(f"hooks that are missed ({reasons})", len(reasons), 1 if program else 0)
    check.true(f"what it costs: {reasons}", all("without it, " in each for each in reasons))
    check.equal("drops are unknown", result.document["drops"] is None, program == "drop_tp")
    counted(result, "udp")
    return "; ".join(reasons)


def transport_names_its_late_hook(net):
    """TCP's transport names its hook as late if, and only if, that hook runs after the socket lookup."""
    for refusals in ((), EARLY) if EARLY[0] in terms else ((),):
        result = watched(net, "tcp", refusals)
        hooks = [(b["kind"], b["hook"]) for b in result.document["bindings"]
                 if b["bound"] and b["stage"] == "transport" and b["protocol"] == "tcp"]
        late = [kind == "cgroup_skb" for kind, _ in hooks]
        check.equal(f"hooks of TCP's transport: {hooks}", len(hooks), 1)
        check.equal(f"TCP's transport after the lookup: {hooks}",
                    ["after the socket lookup" in hook for _, hook in hooks], late)
        check.true(f"late without {EARLY}: {hooks}", all(late) or refusals != EARLY)
        counted(result, "tcp")


if os.geteuid() != 0:
    check.skip("needs root")
private = netns.veth()
usual = {}
terms = refusing.asked(watch.HOSTLAT, *COMMAND)
HELPED = () if refusing.GUEST else (None, *HELPERS)     # they are among the rows
PROTOCOLS = ("tcp", "udp") if check.LONG or not refusing.GUEST else (("tcp", "udp")[SEED % 2],)
check.run([*((check.busy(control), private, protocol) for protocol in PROTOCOLS),
           *([(check.busy(a_missing_fallback_is_found), private)] if "tcp" in PROTOCOLS else []),
           *((check.busy(a_helper), private, program) for program in HELPED),
           *([] if refusing.GUEST else [(check.busy(transport_names_its_late_hook), private)]),
           *((refusing.tabled("watch", check.busy(refused)), private, *each) for each in refusing.some(terms, MOST, SEED, ["program=enqueued_tp"]))])
