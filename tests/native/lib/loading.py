# SPDX-License-Identifier: Apache-2.0
"""`hostlat load` as a test needs it: its result, its samples, and when it has to say n/a."""
import contextlib
import csv
import json
import math
import os
import subprocess
import tempfile

from lib import badserver, check, process
from lib.serving import HOSTLAT

# Ahead of what else runs on this machine.
AHEAD = ("chrt", "--fifo", "10")


def is_balanced(got):
    requests = got["requests"]
    check.equal("scheduled", requests["scheduled"],
                sum(requests[k] for k in ("completed", "failed", "unsent", "in_flight")))


class Load:
    """A run that goes on until result() is asked for."""

    def __init__(self, *args, ahead=AHEAD):
        self.process = process.start([*ahead, HOSTLAT, "load", *args, "--json"], text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def result(self):
        out, err = self.process.communicate(timeout=90)
        check.true(f"exit code {self.process.returncode} ({err})",
                   self.process.returncode in (0, 3))
        got = json.loads(out)
        check.equal("verdict", got["verdict"], "n/a" if self.process.returncode else "ok")
        check.equal("sound without a reason", self.process.returncode == 0, not got["reasons"])
        is_balanced(got)
        return got


def load(*args, during=lambda run: None, **options):
    """Runs load and returns its result; `during` gets the process once it runs."""
    run = Load(*args, **options)
    during(run.process)
    return run.result()


def load_samples(*args, **options):
    """Its result, and what --samples says of each request, as numbers."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "samples.csv")
        got = load(*args, "--samples", path, **options)
        with open(path, encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
    for row in rows:
        for key in row:
            if key.endswith("_ns"):
                row[key] = int(row[key]) if row[key] else None
    return got, rows


def counted(got, rows):
    """Returns the requests that are not in the windows that were cut as warm-up: there are some where
    the client or the server is held up at first."""
    width, cut = got["method"]["window_ns"], got["method"]["warmup_ns"]
    begin = min(row["intended_ns"] for row in rows) // width * width + cut
    rows = [row for row in rows if row["intended_ns"] >= begin]
    check.equal("requests that count", len(rows), got["latency"]["intended"]["count"])
    return rows


def reasons(got):
    return {r["code"] for r in got["reasons"]}


def why(got):
    return [(r["code"], r.get("evidence")) for r in got["reasons"]]


def failure(got, of, cause):
    """The failures of that kind and cause: there are some."""
    found = [f for f in got["failures"] if f["of"] == of and f["cause"] == cause]
    check.true(f"{of} {cause} in {got['failures']}", len(found) == 1)
    return found[0]


def not_blamed(got):
    """No reason is about the load generator."""
    check.true(f"the load generator in {why(got)}",
               not reasons(got) & {"client-saturated", "local-ports-exhausted"})


def all_refused(got, cause, text):
    """Each request, with these words, all along."""
    n, it = got["requests"]["failed"], failure(got, "request", cause)
    check.equal("completed", got["requests"]["completed"], 0)
    check.true(f"failed: {n}", n > 20)
    check.equal("so many", it["count"], n)
    check.equal("text", it["text"], text)
    check.true("from the first to the last", it["first_ns"] < it["last_ns"] - 0.3e9)
    check.true(f"first of {why(got)}", why(got)[0][0] == "errors-above-limit")
    check.true(f"{text} in {why(got)[0]}", text in why(got)[0][1])
    not_blamed(got)


def none_failed(got):
    check.equal("failures", got["failures"], [])
    check.equal("failed", got["requests"]["failed"], 0)


def quantile(got, q, of="intended"):
    return next(x for x in got["latency"][of]["quantiles"] if x["q"] == q)


def gate(got, name):
    return next(g for g in got["gates"] if g["name"] == name)


def rank(values, q):
    """The smallest value that a share `q` of them does not exceed."""
    values = sorted(values)
    return values[max(math.ceil(q * len(values)) - 1, 0)]


def only_in(code, made, control):
    """A reason of the one run and not of the other: its evidence."""
    check.true(f"{code} in {why(made)}", code in reasons(made))
    check.true(f"no {code} in {why(control)}", code not in reasons(control))
    return next(r["evidence"] for r in made["reasons"] if r["code"] == code)


def synthetic(it):
    return f"synthetic://127.0.0.1:{it.port}"


@contextlib.contextmanager
def answered(behave, scheme):
    """Runs a Python server of that behavior; yields its URL."""
    it = badserver.Server(behave)
    try:
        yield f"{scheme}://127.0.0.1:{it.port}"
    finally:
        it.close()


def memcached(behave):
    return answered(behave, "memcached")
