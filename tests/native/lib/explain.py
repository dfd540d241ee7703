# SPDX-License-Identifier: Apache-2.0
"""Runs `hostlat explain`, and reads what it leaves in its folder."""
import collections
import contextlib
import csv
import json
import os
import subprocess
import tempfile

from lib import check, netns, process, trace
from lib.trace import HOSTLAT

AHEAD = "nice", "-n", "-10"     # priority above unrelated processes
PRIORITY = 5    # the load's priority: above the recorder, below the servers
PARTS = "client", "network", "server", "unexplained"
LIMIT_S = 120

Request = collections.namedtuple("Request", "intended latency message why parts")
Sample = collections.namedtuple("Sample", "intended sent handed received done port")


class Explain:
    """Runs explain in the sender's namespace of `net`; its load begins within about a second."""

    def __init__(self, net, url, *options, folder=None):
        self.folder = folder or tempfile.TemporaryDirectory()
        command = [*AHEAD, HOSTLAT, "explain", url, "-o", self.folder.name, *options, "--json"]
        with netns.inside(net.sender):
            self.process = process.start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         text=True)
        self.log = ""
        for line in self.process.stderr:
            self.log += line
            if "measuring" in line:
                break
        else:
            raise check.Unexpected(f"explain: exit {self.process.wait()}: {self.log}")
        self.load = self.loading()
        with open(f"/proc/{self.load}/comm", encoding="ascii") as f:
            check.equal("what others see of the load", f.read().strip(), "hostlat")
        os.sched_setscheduler(self.load, os.SCHED_FIFO, os.sched_param(PRIORITY))

    def loading(self):
        """The process that makes the load, once it runs: its threads have its priority."""
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        while self.process.poll() is None:
            with open(children, encoding="ascii") as f:
                for pid in f.read().split():
                    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as name:
                        if name.read().split(b"\0")[1:2] == [b"load"]:
                            return int(pid)
        raise check.Unexpected(f"explain made no load: {self.process.communicate()}")

    def finish(self):
        try:
            out, err = self.process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired as e:
            raise check.Unexpected(f"explain does not end: {self.running()}") from e
        self.log += err
        self.code = self.process.returncode
        check.true(f"exit code {self.code}: {self.log}", self.code in (0, 3))
        with open(self.path("result.json"), encoding="utf-8") as f:
            text = f.read()
        check.equal("what it prints is result.json", out, text)
        check.true("a page", os.path.getsize(self.path("report.html")) > 0)
        self.document = json.loads(text)
        # the evidence says what is wrong with the load
        self.reasons = {reason["code"]: reason.get("evidence", "")
                        for reason in self.document.get("reasons", [])}
        self.requests = self.document["diagnose"]["requests"]
        self.slowest = [
            Request(row["intended_ns"], row["latency_ns"], row["message"], row["why"],
                    {part: row[part + "_ns"] for part in PARTS})
            for row in self.requests["each"]]

    def running(self):
        """Returns the state of explain's processes, for a failure message if it hangs."""
        found, pid = [], self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            children = f.read().split()
        for child in [pid, *children]:
            for tid in os.listdir(f"/proc/{child}/task"):
                for name in "cmdline", "stat", "wchan", "syscall":
                    with contextlib.suppress(OSError), \
                            open(f"/proc/{child}/task/{tid}/{name}", "rb") as f:
                        found.append(f.read().replace(b"\0", b" ").decode().strip())
        return " | ".join(found)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def samples(self):
        """Returns the samples of all requests but the warm-up from the load's own recording."""
        path = self.path("samples.csv")
        subprocess.run([HOSTLAT, "load", "--from", self.path("client.hlat"), "--samples", path],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                       timeout=LIMIT_S)
        with open(path, encoding="ascii") as f:
            all_of_them = [Sample(*(int(row[name + "_ns"] or 0)
                                    for name in ("intended", "sent", "snd", "rx", "done")),
                                  int(row["local"].rsplit(":", 1)[1]))
                           for row in csv.DictReader(f) if row["status"] == "ok"]
        return [one for one in all_of_them
                if self.requests["from_ns"] <= one.intended < self.requests["to_ns"]]

    def trace(self):
        return trace.Trace(self.path("server.hlat"), 0)
