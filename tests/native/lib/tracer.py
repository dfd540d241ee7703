# SPDX-License-Identifier: Apache-2.0
"""The kernel's own tracer, as an independent counter."""
import atexit
import contextlib
import os
import subprocess
import tempfile

from lib import check


class Tracer:
    """An instance of the kernel's tracer that writes down what happens; calls() counts it."""

    def __init__(self):
        self.root = tempfile.mkdtemp()
        atexit.register(self.end)
        done = subprocess.run(["mount", "-t", "tracefs", "tracefs", self.root], check=False)
        if done.returncode:
            check.skip("tracefs can't be mounted here")
        self.folder = f"{self.root}/instances/testing-hostlat-{os.getpid()}"
        os.mkdir(self.folder)
        self.write("buffer_size_kb", "8192")

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="ascii") as f:
            f.write(text)

    def event(self, name, only):
        self.write(f"events/{name}/filter", only)
        self.write(f"events/{name}/enable", "1")

    def function(self, name):
        self.write("set_ftrace_filter", name)
        self.write("current_tracer", "function")

    def calls(self, name):
        with open(f"{self.folder}/trace", encoding="ascii", errors="replace") as f:
            return sum(name in line for line in f if not line.startswith("#"))

    def clear(self):
        self.write("trace", "")

    def end(self):
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)
        subprocess.run(["umount", self.root], check=False, stderr=subprocess.DEVNULL)
        with contextlib.suppress(OSError):
            os.rmdir(self.root)
