# SPDX-License-Identifier: Apache-2.0
"""
Reasons for n/a in real runs that are made for them, and not in their controls, which differ in that
one thing. Those of replies and files are in test_load_replies.py; of agents in test_load_agents.py;
rate-not-reached in test_load.py; interrupted and recordings' own in test_load_ends.py; host-noisy
in test_load_spinner.py; those of the latencies in test_load_law.py; timestamps-missing, by a card
that grants stamps and keeps silent, in the guest (loadnet.py).
"""
from lib import check, loading
from lib.loading import load, only_in, synthetic
from lib.serving import serving

DISTURBED = ("the rate that the client and the server reach depends on how much CPU "
             "others leave them")


@check.environment(DISTURBED)
def requests_wait_for_a_connection():
    """Eight are served at a time: one connection waits for what 64 need not."""
    with serving("--service", "fixed:2ms", "--workers", 8) as it:
        args = synthetic(it), "--rate", 350, "--max-time", "3s", "--connections"
        few, many = load(*args, 1), load(*args, 64)
    only_in("arrivals-violated", few, many)
    check.true(f"the rate is reached: {loading.why(few)}",
               "rate-not-reached" not in loading.reasons(few))
    check.true(f"no fault of the client: {loading.why(few)}",
               "client-saturated" not in loading.reasons(few))
    return only_in("closed-loop-behaviour", few, many)


@check.environment(DISTURBED)
def client_saturated():
    """More than one thread can make, of a target that costs nothing."""
    args = "null:", "--threads", 1, "--connections", 64, "--max-time"
    return only_in("client-saturated", load(*args, "1s", "--rate", "20M"),
                   load(*args, "2s", "--rate", "2k"))


check.run([(requests_wait_for_a_connection,), (client_saturated,)])
