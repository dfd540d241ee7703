# SPDX-License-Identifier: Apache-2.0
"""Runs `hostlat diagnose` on a recording and reads its JSON."""
import json
import subprocess

from lib import check
from lib.trace import HOSTLAT

LIMIT_S = 120


class Diagnosis:
    """Runs diagnose on a recording; holds its document and the n slowest messages."""

    def __init__(self, file, n, *options, code=0):
        done = subprocess.run([HOSTLAT, "diagnose", file, "--json", "--slowest", str(n), *options],
                              capture_output=True, text=True, check=False, timeout=LIMIT_S)
        codes = code if isinstance(code, tuple) else (code,)
        check.true(f"exit code of diagnose: {done.returncode} ({done.stderr})",
                   done.returncode in codes)
        self.document = json.loads(done.stdout)
        self.granularity = self.document["recording"]["granularity_ns"]
        check.equal("examples that were left out", self.document["examples_omitted"], 0)
        self.examples = [{**example, "parts": [{**part, "culprits": part["culprits"] or []}
                                               for part in example["parts"]]}
                         for example in self.document["examples"]]

    def total(self, cause):
        return sum(row["total_ns"] for row in self.document["causes"] if row["cause"] == cause)
