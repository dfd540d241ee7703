# SPDX-License-Identifier: Apache-2.0
"""Proves that problems shared by several connections are found and reported for the connections
that have them: a proxy that starves one while another waits, small messages spread over connections
whose losses timers find, incast. The scenarios know the truth. Controls: proxies and pools without
the problem, for which none may be reported."""
import json
import os
import subprocess
import tempfile

from lib import check, conns

DISTURBED = "the classes' shares of time depend on when both ends get a CPU"

# On a busy machine the default would leave calls of some out. Of short intervals there are 50 within a
# few seconds; each is to have samples enough.
ALL = ["--cpu-budget", "5%..60%"]
SHORT = ["--interval", "100ms", *ALL]


def having(seen, name, side=None):
    """{cookie: evidence} of the connections of the scenario that are told to have the class."""
    ours = {str(each["cookie"]) for each in seen.truth["connections"]}
    return {each["cookie"]: each["evidence"] for each in seen.document["problems"]
            if each["class"] == name and each["cookie"] in ours
            and side in (None, each["evidence"].get("side"))}


def cookies(seen, role, host=None):
    """Returns the cookies of a role's ends; with `host`, of those that the host opened or
    accepted."""
    return {str(each["cookie"]) for each in seen.truth["connections"]
            if each["role"] == role and host in (None, each["host"])}


@check.environment(DISTURBED)
def a_proxy_starves_one_while_another_waits(cc, rtt_ms):
    seen = conns.scenario("pipeline-proxy", cc, rtt_ms, SHORT)
    asked, given = [str(each["cookie"]) for each in seen.ends]
    found = having(seen, "pipeline-proxy")
    check.equal("connections that are reported", set(found), {asked})
    check.equal("who starves", found[asked]["starved_cookie"], given)
    return f"rho {found[asked]['rho']:.2f} over {found[asked]['intervals']} intervals"


@check.environment(DISTURBED)
def losses_of_a_pool_are_found_by_timers(cc, rtt_ms):
    """Answers that are sent again for nothing, by the other ends' probes, are none."""
    seen = conns.scenario("spread-writes", cc, rtt_ms, ALL)
    found = having(seen, "spread-writes")
    check.equal("connections that are reported", set(found), cookies(seen, "call"))
    truth, evidence = seen.truth["events"], next(iter(found.values()))
    check.equal("probes", evidence["tlp"], truth["loss_probes"]["a"])
    check.equal("timeouts", evidence["rto"], truth["timeouts"]["a"])
    return f"{evidence['tlp']} by a timer; {truth['loss_probes']['b']} probes for nothing"


@check.environment(DISTURBED)
def answers_of_many_meet(cc, rtt_ms):
    """Three or more workers lost packets within the same 20 ms: they are reported."""
    seen = conns.scenario("incast-35", cc, rtt_ms, ALL)
    found = having(seen, "incast", "sender")
    check.equal("reported, but not serving", set(found) - cookies(seen, "serve"), set())
    lost = seen.truth["notes"]["connections_that_lost"]
    check.between(f"connections, of {lost} that lost packets", len(found), 3, lost)
    return f"{len(found)} of {lost}"


@check.environment(DISTURBED)
def lost_replies_are_seen_by_who_asked(cc):
    """The asking host reports incast for its own connections, also if a filter shows only one."""
    with tempfile.NamedTemporaryFile() as file:
        seen = conns.scenario("incast-stalls", cc, 2, [*ALL, "--record", file.name])
        found = having(seen, "incast", "receiver")
        one = next(iter(found), None)
        shown = [] if one is None else filtered(
            file.name, f"sport = :{seen.by_cookie[one]['local'].rsplit(':', 1)[1]}")
    check.equal("connections of the asked hosts with that finding", set(found) - cookies(seen, "call"), set())
    stalled = seen.truth["notes"]["connections_that_stalled"]
    check.between(f"connections, of {stalled} that stood still", len(found), stalled / 2, stalled)
    check.equal("connections that are shown", [each["cookie"] for each in shown], [one])
    check.true(f"problems of the one: {shown[0]['problems']}", "incast" in shown[0]["problems"])
    return f"{len(found)} of {stalled}"


def filtered(file, term):
    """Rows of the recording's connections for which that is true."""
    out = subprocess.run([conns.HOSTLAT, "conns", "--from", file, "--json", "--filter", term],
                         capture_output=True, text=True, timeout=120, check=False).stdout
    return json.loads(out)["connections"]


@check.environment(DISTURBED)
def late_replies_are_no_lost_ones(cc):
    """Paths that stood still look the same from there: both are named, and neither as observed."""
    seen = conns.scenario("still-paths", cc, 2, ALL)
    ends = cookies(seen, "call")
    reported = [each for each in seen.document["problems"] if each["class"] == "incast"
                and each["cookie"] in ends]
    check.between(f"connections, of {len(ends)}", len(reported), len(ends) / 2, len(ends))
    for each in reported:
        check.equal("confidence", each["confidence"], "inferred")
        check.true(each["message"], "or the path or the peers stalled" in each["message"])
    return f"{len(reported)} of {len(ends)}"


@check.environment(DISTURBED)
def is_not_reported(class_name, name, cc, rtt_ms, options):
    seen = conns.scenario(name, cc, rtt_ms, options)
    check.equal(f"connections with {class_name}", set(having(seen, class_name)), set())


if os.geteuid() != 0:
    check.skip("needs root")
check.run([case for cc, rtt_ms in ([(cc, rtt_ms) for cc in ("cubic", "bbr") for rtt_ms in (10, 40)]
                                   if check.LONG else [("cubic", 10)]) for case in [
    (a_proxy_starves_one_while_another_waits, cc, rtt_ms),
    (is_not_reported, "pipeline-proxy", "proxy-apart", cc, rtt_ms, SHORT),
    (losses_of_a_pool_are_found_by_timers, cc, rtt_ms),
    (is_not_reported, "spread-writes", "spread-writes-followed", cc, rtt_ms, ALL),
    (is_not_reported, "spread-writes", "spread-writes-lossless", cc, rtt_ms, ALL),
    (answers_of_many_meet, cc, rtt_ms),
    (lost_replies_are_seen_by_who_asked, cc),
    (late_replies_are_no_lost_ones, cc),
    (is_not_reported, "incast", "still-peer", cc, 2, ALL),
]])
