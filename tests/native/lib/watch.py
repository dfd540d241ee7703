# SPDX-License-Identifier: Apache-2.0
"""Runs `hostlat watch` beside some traffic and reads its JSON."""
import json
import os
import re
import signal
import subprocess
import threading

from lib import check, process

HOSTLAT = os.environ.get("HOSTLAT", "build/hostlat")
# In an emulated guest, on a busy machine, the verifier takes its time, and so does an end.
START_LIMIT_S = END_LIMIT_S = 120
# Without one of these a run sees the tests that run at the same time: their namespaces use the same
# ports and names of interfaces.
NARROWING = {"--netns", "--pid", "--cgroup"}
# The test's own namespace, where it makes none.
HERE = "--netns", os.getpid()


class Watch:
    """
    A live run, measuring when the constructor returns; `how` it starts: process.start(). A test that
    runs beside others limits the watch to its own traffic.
    """

    def __init__(self, *options, lines=False, **how):
        if os.environ.get("HOSTLAT_TESTS_BESIDE") and not NARROWING & set(options):
            raise check.Unexpected(f"watch {options} sees the tests that run beside this one")
        self.lines = lines
        command = [HOSTLAT, "watch", "--json-lines" if lines else "--json", *map(str, options)]
        pipe = subprocess.PIPE
        self.process = process.start(command, stdout=pipe, stderr=pipe, text=True, **how)
        self.stderr, self.out = [], ""
        self._measuring = threading.Event()
        readers = self._read_err, self._read_out
        self._threads = [threading.Thread(target=reader, daemon=True) for reader in readers]
        for thread in self._threads:
            thread.start()
        self._measuring.wait(START_LIMIT_S)
        if not any("measuring" in line for line in self.stderr):
            self.process.kill()
            log = "".join(self.stderr)
            code = self.process.wait()
            raise check.Unexpected(
                f"{' '.join(command)} did not begin to measure; exit {code}, it said: {log}"
            )

    def _read_err(self):
        for line in self.process.stderr:
            self.stderr.append(line)
            if "measuring" in line:
                self._measuring.set()
        self._measuring.set()

    def _read_out(self):
        self.out = self.process.stdout.read()

    def stop(self, number=signal.SIGINT):
        """Ends the run; its result, or with lines=True one for each interval."""
        self.process.send_signal(number)
        self.process.wait(END_LIMIT_S)
        for thread in self._threads:
            thread.join()
        try:
            texts = self.out.splitlines() if self.lines else [self.out]
            results = [Result(json.loads(text), self.process.returncode) for text in texts]
            return results if self.lines else results[0]
        except ValueError as e:
            raise check.Unexpected(
                f"stdout is no JSON document ({e}): {self.out[:200]!r}, "
                f"exit {self.process.returncode}, stderr {''.join(self.stderr)}"
            ) from e


class Result:
    """One JSON document of watch. Sums are over every row of a stage: origins and groups."""

    def __init__(self, document, code=None):
        self.document, self.code = document, code

    def rows(self, stage, protocol, direction="ingress"):
        return [r for r in self.document["stages"]
                if (r["stage"], r["protocol"], r["direction"]) == (stage, protocol, direction)]

    def count(self, stage, protocol, direction="ingress"):
        return sum(r["count"] for r in self.rows(stage, protocol, direction))

    def row(self, stage, protocol, direction="ingress"):
        """The stage's only row."""
        rows = self.rows(stage, protocol, direction)
        check.equal(f"rows of {stage} {protocol}", len(rows), 1)
        return rows[0]

    def stages(self, protocol):
        return [r["stage"] for r in self.document["stages"] if r["protocol"] == protocol]

    def excluded(self, reason, **where):
        return total(self.document["excluded"], reason, **where)

    def dropped(self, reason=None, **where):
        return total(self.document["drops"], reason, **where)

    def lost(self, reason=None, **where):
        return total(self.document["losses"], reason, **where)

    def sound(self):
        """Checks that nothing was lost but what the control missed, and that the exit code
        agrees."""
        if self.document["losses"] and check.unseen():
            check.between("losses beside those that the control missed", self.lost(), 1,
                          len(self.document["bindings"]) * check.unseen())
            return
        check.equal("losses", self.document["losses"], [])
        check.equal(f"exit code (reasons: {self.document.get('reasons')})", self.code, 0)

    def brief(self):
        """Returns the counts in one line, for a failure's message."""
        rows = self.document["stages"]
        log = [f"{r['stage']}/{r['protocol']}/{r['origin']}={r['count']}" for r in rows]
        log += [f"{name} {self.document[name]}" for name in ("excluded", "losses", "drops")]
        return "; ".join(log)


def least_memory_kib():
    """Returns the least --memory in KiB: (for one CPU, as the help says; for this machine)."""
    log = subprocess.run([HOSTLAT, "watch", "--help-all"], capture_output=True, text=True,
                         check=True).stdout
    fixed, per_cpu = map(int, re.search(r"(\d+)K plus (\d+)K for each CPU",
                                        " ".join(log.split())).groups())
    with open("/sys/devices/system/cpu/possible", encoding="ascii") as f:
        cpus = 1 + int(re.findall(r"\d+", f.read())[-1])
    return fixed + per_cpu, fixed + cpus * per_cpu


def total(counts, reason=None, **where):
    def matches(entry):
        return reason in (None, entry["reason"]) and all(
            entry.get(key) in (value, None) for key, value in where.items()
        )

    return sum(entry["count"] for entry in counts if matches(entry))


def mean_ns(dist):
    return dist["sum_ns"] / dist["count"] if dist and dist["count"] else 0.0


def quantile(dist, q):
    """The quantile's entry {q, ns, lo_ns, hi_ns}."""
    found = [x for x in dist["quantiles"] if abs(x["q"] - q) < 1e-9]
    check.equal(f"quantiles with q = {q}", len(found), 1)
    return found[0]


def around(net, family, protocol, watch_options=(), **traffic_options):
    """Watches one run of the traffic program by its port; returns (result, what the applications
    saw)."""
    from lib.traffic import Traffic
    traffic = Traffic(net, family, protocol, **traffic_options)
    watch = Watch(*traffic.filter, *watch_options)
    own = traffic.finish()
    return watch.stop(), own
