# SPDX-License-Identifier: Apache-2.0
"""
Problems of TCP connections with a truth that no tool of ours has measured: what the applications'
own logs, the namespaces' counters and the box between the hosts say.

run() returns a dict:
  limits       what limits the first connection, with its share of the connection's time
  events       counts by host: recoveries, fast_retransmits, timeouts, loss_probes, dsacks,
               delayed_acks, retransmits; drops and holds are the box's
  connections  each socket: host, role, pid, cookie, netns (cookie), local, peer
  done         what each end did (ends.c); box: what the box saw (box.c); mib: all counters
  expected     what must be so, with what was seen; wrong: what wasn't. With anything in `wrong` the
               scenario is not what its name says, and the rest says nothing about another tool
  notes        figures of this scenario
"""
import cases
import groups
import losses
from onerun import Run
from registry import SCENARIOS
from stage import Broken

__all__ = ["Broken", "SCENARIOS", "cases", "groups", "losses", "run"]


def run(name, cc="cubic", rtt_ms=20, seed=1, family=4, observer=None):
    """
    family: 4, 6, or 46 for v4-mapped ones. observer(run) makes a context manager: it is entered
    when the connections are open and before their first byte; run.stage.hosts[name] tells the
    namespaces, and run.clients and run.servers the connections.
    """
    one = Run(name, cc, rtt_ms, seed, family, observer)
    try:
        SCENARIOS[name](one)
        return one.finish()
    finally:
        one.close()
