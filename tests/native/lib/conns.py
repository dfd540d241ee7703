# SPDX-License-Identifier: Apache-2.0
"""`hostlat conns` beside a scenario (tests/scenarios), and what it said of the connections."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile

from lib import check, process

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenarios"))
import scenarios  # noqa: E402  pylint: disable=wrong-import-position

HOSTLAT = os.environ["HOSTLAT"]
TIMES = ("sender-app", "send-buffer", "congestion", "receiver-window", "delayed-ack")


class Seen:
    """One scenario's truth, and what conns said."""

    def __init__(self, truth, document, code, errors):
        self.truth, self.document, self.code, self.errors = truth, document, code, errors
        self.by_cookie = {each["cookie"]: each for each in document["connections"]}
        self.ends = [each for each in truth["connections"] if each["role"] == "call"]
        self.peers = [each for each in truth["connections"] if each["role"] == "serve"]

    def of(self, end):
        it = self.by_cookie.get(str(end["cookie"]))
        check.true(f"connection {end['cookie']} ({end['role']}) is reported", it is not None)
        return it

    def sender(self):
        return self.of(self.ends[0])

    def receiver(self):
        return self.of(self.peers[0])

    def share(self, name, end=None):
        """Returns that limit's share of the time whose limit is known."""
        times = (end or self.sender())["time_ns"]
        return (times[name] or 0) / max(1, sum(times[each] or 0 for each in TIMES))

    def problems(self, harmful=True):
        """Returns the problem classes of this scenario's connections; `harmful` None: all."""
        ours = {str(each["cookie"]) for each in self.truth["connections"]}
        return {each["class"] for each in self.document["problems"] if each["cookie"] in ours
                and harmful in (None, each["harmful"])}


def measuring(child):
    """Waits until `conns` measures; returns its messages so far."""
    lines = []
    for line in child.stderr:
        if "measuring" in line:
            return "".join(lines)
        lines.append(line)
    raise check.Unexpected(f"it measures: {''.join(lines)}")


@contextlib.contextmanager
def beside(options=(), namespaces=(), command=(HOSTLAT,), env=None):
    """
    `hostlat conns` beside what is done inside; then the dict has its "json" and "code", and what it
    said on stderr: "warnings" before it began. It tells of connections of these namespaces, or of
    all. The command may be another user's.
    """
    document = {}
    if namespaces:
        options = [*options, "--filter", " or ".join(f"netns = {name}" for name in namespaces)]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o1777)
        out = os.path.join(folder, "out.json")
        child = process.start([*command, "conns", "--json", "--output", out, *options],
                              stderr=subprocess.PIPE, text=True, env=env)
        document["warnings"] = measuring(child)
        yield document
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=120)
        check.true(f"it ended with 0 or 3: {errors}", child.returncode in (0, 3))
        document["code"], document["errors"] = child.returncode, errors
        with open(out, encoding="utf-8") as f:
            document["json"] = json.load(f)


def scenario(name, cc="cubic", rtt_ms=20, options=(), family=4, seed=1):
    """Runs `conns` beside a scenario, from before the first byte until after the last one."""
    document = {}

    @contextlib.contextmanager
    def observer(_):
        with beside(options) as it:
            yield
        document.update(it)

    try:
        truth = scenarios.run(name, cc, rtt_ms, seed, family, observer)
    except scenarios.Broken as e:
        raise check.Unexpected(f"the scenario: {e}") from e
    check.equal("what the scenario itself is not as it should be", truth["wrong"], [])
    return Seen(truth, document["json"], document["code"], document["errors"])
