# SPDX-License-Identifier: Apache-2.0
"""Processes that don't outlive the case that started them, nor a test that is killed."""
import subprocess

_started = []


def start(args, **options):
    """As subprocess.Popen()."""
    command = ["setpriv", "--pdeathsig", "KILL", *map(str, args)]
    process = subprocess.Popen(command, **options)
    _started.append(process)
    return process


def end_all():
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
        process.wait()
