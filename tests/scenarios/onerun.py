# SPDX-License-Identifier: Apache-2.0
"""One run of a scenario: its stage, its ends, and what is known about it afterwards."""
import contextlib
import random
import time

import stage as stages

LIMIT_S = 120
SETTLE_S = 0.05


class Run:
    """
    One run of a scenario (cases.py, losses.py, groups.py). It makes a stage by two() or many(),
    rules and ends on it, go()es, and then says by limit() what limited the first connection, and by
    expect() what must have happened if the scenario was what it is meant to be.
    """

    def __init__(self, name, cc, rtt_ms, seed, family, observer):
        self.name, self.cc, self.rtt_ms, self.seed, self.family = name, cc, rtt_ms, seed, family
        self.observer = observer
        self.mss = 1428 if family == 6 else 1448    # with time stamps
        self.random = random.Random(f"{name} {cc} {rtt_ms} {seed} {family}")
        self.stage = None
        self.servers, self.clients = [], []
        self.mib, self.box = {}, {}
        self.truth = {"name": name, "cc": cc, "rtt_ms": rtt_ms, "seed": seed, "family": family,
                      "limits": {}, "events": {}, "expected": [], "wrong": [], "notes": {}}

    # Before

    def many(self, hosts):
        """{name: settings}; paths are for the scenario to add."""
        self.stage = stages.Stage(hosts, self.family)

    def two(self, a=None, b=None, rate_mbit=None, packets=200, mark=0):
        """a sends to b, through a queue if there is a rate."""
        self.many({"a": a or {}, "b": b or {}})
        if rate_mbit:
            self.stage.queue("q", rate_mbit, packets, mark)
        self.stage.path("a", "b", self.rtt_ms / 2, "q" if rate_mbit else "-")
        self.stage.path("b", "a", self.rtt_ms / 2)

    def open(self):
        """Nothing may be added to the paths any more, rules may."""
        self.stage.box.command(f"stall {int(self.rtt_ms * 1e6 + 20e6)}")
        self.stage.open()

    def trace(self):
        """The box's log has all data."""
        self.stage.box.command("trace")

    def serve(self, host, plan, **options):
        self.servers.append(self.stage.serve(host, plan, **{"cc": self.cc, **options}))

    def call(self, host, target, plan, **options):
        self.clients.append(self.stage.call(host, target, plan, **{"cc": self.cc, **options}))

    # While

    def go(self, limit_s=LIMIT_S, cut_s=None):
        """
        Runs the clients' plans to their ends, or for cut_s. The observer, if there is one, is there
        from before their first byte until after their last; their connections are open already.
        """
        before = {name: host.mib() for name, host in self.stage.hosts.items()}
        with self.observer(self) if self.observer else contextlib.nullcontext():
            for client in self.clients:
                client.command("go")
            end = time.monotonic() + (cut_s or limit_s)
            for client in self.clients:
                if not client.wait(max(0, end - time.monotonic())) and not cut_s:
                    raise client.broken(f"has not ended after {limit_s} s")
            time.sleep(SETTLE_S + 2 * self.rtt_ms / 1e3)
            for name, host in self.stage.hosts.items():
                now = host.mib()
                self.mib[name] = {key: now[key] - before[name][key] for key in now}
            self.box = self.stage.stats()
        for end in self.clients + self.servers:
            end.end()
        for end in self.clients + self.servers:
            if end.role == "call" and end.process.returncode:
                raise end.broken(f"ended with {end.process.returncode}")

    # After

    @property
    def sent(self):
        """Returns what the first client's first connection did."""
        return self.clients[0].done[0]

    @property
    def got(self):
        return self.servers[0].done[0]

    def side(self, conn=1, side=0):
        """Returns what the box knows of an end of the n-th connection; end 0 opened it."""
        return self.box["flows"][conn - 1]["sides"][side]

    def log(self, act, **fields):
        return [line for line in self.box["log"] if line["act"] == act
                and all(line[key] == value for key, value in fields.items())]

    def turns_ms(self):
        """How long it was from each mark of the plan to the next."""
        marks = self.sent["marks"]
        return [(b - a) / 1e6 for a, b in zip(marks, marks[1:])]

    def span_ns(self):
        return self.sent["end"] - self.sent["begin"]

    def blocked(self):
        """Share of the sender's time in which a write slept."""
        return self.sent["blocked_ns"] / self.span_ns()

    def known_ns(self, conn=1, side=0):
        """For how long the box knows what that end was doing: from its SYN to its FIN."""
        it = self.side(conn, side)
        return sum(it[f"{state}_ns"] for state in ("idle", "open", "used", "full", "zero"))

    def window_used(self, conn=1, side=0, states=("used", "full", "zero"), busy=False):
        """
        Share of the time (`busy`: of that in which it had something to send) in which the receiver's window was zero, or had no room for a segment, or
        only for a third of what it is (Linux waits then until there is more).
        """
        it = self.side(conn, side)
        idle = it["idle_ns"] if busy else 0
        return sum(it[f"{state}_ns"] for state in states) / (self.known_ns(conn, side) - idle)

    def lossy(self, conn=1, side=0):
        """Share of the time in which something was lost and had not come yet."""
        return self.side(conn, side)["lossy_ns"] / self.known_ns(conn, side)

    def goodput_mbit(self, conn=1, side=0):
        return self.side(conn, side)["bytes"] * 8e3 / self.known_ns(conn, side)

    def limit(self, name, share):
        """Expects this limit for that share of the connection's time."""
        self.truth["limits"][name] = round(share, 4)

    def note(self, **values):
        self.truth["notes"].update(values)

    def expect(self, what, seen, low, high=None):
        """`high`: as low if not given. Both are included."""
        high = low if high is None else high
        holds = low <= seen <= high
        self.truth["expected"].append({"what": what, "seen": seen, "low": low, "high": high})
        if not holds:
            self.truth["wrong"].append(f"{what}: expected {low}..{high}, seen {seen}")

    def expect_events(self, host="a", **counts):
        """Exactly those of the namespace's counters (what is not named is not checked)."""
        for name, count in counts.items():
            low, high = count if isinstance(count, tuple) else (count, count)
            self.expect(f"{host} {name}", self.mib[host].get(name, 0), low, high)

    def no_loss(self, host="a"):
        self.expect("dropped by the box", len(self.log("drop")), 0)
        self.expect_events(host, TCPTimeouts=0, TCPFastRetrans=0)

    def finish(self):
        """The truth, as a dict."""
        events = {"drops": len(self.log("drop")), "holds": len(self.log("hold"))}
        for label, names in EVENTS.items():
            events[label] = {host: sum(mib.get(name, 0) for name in names)
                             for host, mib in self.mib.items()}
        self.truth["events"] = events
        self.truth["mib"] = self.mib
        self.truth["box"] = self.box
        self.truth["connections"] = [
            {"host": end.host.name, "role": end.role, **line}
            for end in self.clients + self.servers for line in end.opened + end.of("next")]
        self.truth["done"] = [{"host": end.host.name, "role": end.role, **line}
                              for end in self.clients + self.servers for line in end.done]
        self.truth["namespaces"] = {name: {"namespace": host.namespace, "inode": host.netns_inode}
                                    for name, host in self.stage.hosts.items()}
        return self.truth

    def close(self):
        if self.stage:
            self.stage.close()


# Events to look for, and the namespace's counters that count them.
EVENTS = {
    "recoveries": ("TCPSackRecovery", "TCPRenoRecovery"), "fast_retransmits": ("TCPFastRetrans",),
    "timeouts": ("TCPTimeouts",), "loss_probes": ("TCPLossProbes",),
    "dsacks": ("TCPDSACKRecv",), "delayed_acks": ("DelayedACKs",), "retransmits": ("RetransSegs",),
}
