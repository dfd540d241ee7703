# SPDX-License-Identifier: Apache-2.0
"""Proves that `load` gives a reason for n/a in real runs that are made for it. Each control differs
in that one thing and must not give the reason. Other reasons: test_load_replies.py (replies and
files), test_load_agents.py (agents), test_load.py (rate-not-reached), test_load_ends.py
(interrupted, recordings), test_load_spinner.py (host-noisy), test_load_law.py (latencies);
timestamps-missing, by a card that grants stamps and keeps silent, is tested in the guest
(loadnet.py)."""
from lib import check, loading
from lib.loading import load, only_in, synthetic
from lib.serving import serving

DISTURBED = ("the rate that the client and the server reach depends on how much CPU "
             "others leave them")


@check.environment(DISTURBED)
def requests_wait_for_a_connection():
    """Eight are served at a time: one connection waits for what 64 need not."""
    with serving("--service", "fixed:2ms", "--workers", 8) as it:
        args = synthetic(it), "--rate", 350, "--for", "3s", "--connections"
        few, many = load(*args, 1), load(*args, 64)
    for got, fails in (few, True), (many, False):
        check.equal("arrivals as sent fail", loading.gate(got, "arrivals")["pass"], not fails)
    check.true(f"the rate is reached: {loading.why(few)}",
               "rate-not-reached" not in loading.reasons(few))
    check.true(f"no fault of the client: {loading.why(few)}",
               "client-saturated" not in loading.reasons(few))
    return only_in("closed-loop-behaviour", few, many)


@check.environment(DISTURBED)
def client_saturated():
    """More than one thread can make, of a target that costs nothing: most requests are late, which
    is more than what else this host does to a client can make late."""
    args = "null:", "--threads", 1, "--connections", 64, "--percentile", 50, "--for"
    return only_in("client-saturated", load(*args, "1s", "--rate", "20M"),
                   load(*args, "2s", "--rate", "2k"))


check.run([(requests_wait_for_a_connection,), (client_saturated,)])
