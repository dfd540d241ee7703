# SPDX-License-Identifier: Apache-2.0
"""
Problems that connections have together, of real ones whose truth the scenarios know: a proxy that
starves one while another waits, small messages spread over connections whose losses timers find,
incast. Each is told of those that have it; proxies and pools have controls of which none is told.
"""
import os

from lib import check, conns

DISTURBED = "the classes' shares of time depend on when both ends get a CPU"

# On a busy machine the default would leave calls of some out. Of short intervals there are 50 within a
# few seconds; each is to have samples enough.
ALL = ["--cpu-budget", "5%..60%"]
SHORT = ["--interval", "100ms", *ALL]


def having(seen, name):
    """{cookie: evidence} of the connections of the scenario that are told to have the class."""
    ours = {str(each["cookie"]) for each in seen.truth["connections"]}
    return {each["cookie"]: each["evidence"] for each in seen.said["problems"]
            if each["class"] == name and each["cookie"] in ours}


def cookies(seen, role, host=None):
    """Of a role's ends; opened by that host, or accepted there."""
    return {str(each["cookie"]) for each in seen.truth["connections"]
            if each["role"] == role and host in (None, each["host"])}


@check.environment(DISTURBED)
def a_proxy_starves_one_while_another_waits(cc, rtt_ms):
    seen = conns.scenario("pipeline-proxy", cc, rtt_ms, SHORT)
    asked, given = [str(each["cookie"]) for each in seen.ends]
    found = having(seen, "pipeline-proxy")
    check.equal("connections that are told of", set(found), {asked})
    check.equal("who starves", found[asked]["starved_cookie"], given)
    return f"rho {found[asked]['rho']:.2f} over {found[asked]['intervals']} intervals"


@check.environment(DISTURBED)
def losses_of_a_pool_are_found_by_timers(cc, rtt_ms):
    """Answers that are sent again for nothing, by the other ends' probes, are none."""
    seen = conns.scenario("spread-writes", cc, rtt_ms, ALL)
    found = having(seen, "spread-writes")
    check.equal("connections that are told of", set(found), cookies(seen, "call"))
    truth, evidence = seen.truth["events"], next(iter(found.values()))
    check.equal("probes", evidence["tlp"], truth["loss_probes"]["a"])
    check.equal("timeouts", evidence["rto"], truth["timeouts"]["a"])
    return f"{evidence['tlp']} by a timer; {truth['loss_probes']['b']} probes for nothing"


@check.environment(DISTURBED)
def answers_of_many_meet(cc, rtt_ms):
    """Told of workers only, who lost within the same 20 ms: three or more of them."""
    seen = conns.scenario("incast-35", cc, rtt_ms, ALL)
    found = having(seen, "incast")
    check.equal("told of who sent little", set(found) - cookies(seen, "serve"), set())
    lost = seen.truth["notes"]["connections_that_lost"]
    check.between(f"connections, of {lost} that lost packets", len(found), 3, lost)
    return f"{len(found)} of {lost}"


@check.environment(DISTURBED)
def is_not_told(class_name, name, cc, rtt_ms, options):
    seen = conns.scenario(name, cc, rtt_ms, options)
    check.equal(f"connections with {class_name}", set(having(seen, class_name)), set())


if os.geteuid() != 0:
    check.skip("needs root")
check.run([case for cc, rtt_ms in ([(cc, rtt_ms) for cc in ("cubic", "bbr") for rtt_ms in (10, 40)]
                                   if check.LONG else [("cubic", 10)]) for case in [
    (a_proxy_starves_one_while_another_waits, cc, rtt_ms),
    (is_not_told, "pipeline-proxy", "proxy-apart", cc, rtt_ms, SHORT),
    (losses_of_a_pool_are_found_by_timers, cc, rtt_ms),
    (is_not_told, "spread-writes", "spread-writes-followed", cc, rtt_ms, ALL),
    (is_not_told, "spread-writes", "spread-writes-lossless", cc, rtt_ms, ALL),
    (answers_of_many_meet, cc, rtt_ms),
]])
