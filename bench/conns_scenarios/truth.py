# SPDX-License-Identifier: Apache-2.0
"""What is true of a scenario's connections by the way they are made, and the list of scenarios."""
import dataclasses

LOSS = frozenset({"fast-retransmit", "timeout", "tail-loss-probe"})
WINDOW = frozenset({"receiver-window", "zero-window"})


def one(*words):
    return frozenset(words)


@dataclasses.dataclass
class Truth:
    """
    One end ("client" or "server": who called, who was called) of the connection `name`.

    A right report names for it: as main limit one of `limit`; as state one of `state`; as greatest
    part of congestion_ns one of `part`; and of each set in `named` at least one problem, as harmful.
    `told` is the same as `named`, harmful or not. It may name harmful problems of `may` as well, and
    no others. Empty: not asked. An end without a truth is healthy: it has no harmful problem.
    """
    name: str
    end: str
    limit: frozenset = frozenset()
    state: frozenset = frozenset()
    part: frozenset = frozenset()
    named: tuple = ()
    told: tuple = ()
    may: frozenset = frozenset()

    def allowed(self):
        return set(self.may).union(*self.named, *self.told)

    def facts(self):
        """Yields (what is asked: limit, state, part, named, told; the right answers)."""
        for kind in ("limit", "state", "part"):
            if getattr(self, kind):
                yield kind, getattr(self, kind)
        for kind in ("named", "told"):
            for one in getattr(self, kind):
                yield kind, one


@dataclasses.dataclass
class Scenario:
    name: str
    text: str           # what happens, for the report
    build: object       # function of a World; returns its truths
    servers: int = 1


class Scenarios(list):
    def add(self, name, text, servers=1):
        """Decorates the function that builds a scenario."""
        def decorate(build):
            self.append(Scenario(name, text, build, servers))
            return build
        return decorate
