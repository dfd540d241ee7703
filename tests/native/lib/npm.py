# SPDX-License-Identifier: Apache-2.0
"""Packages of npm, of a version that the caller gives. They stay in the build folder for the next run."""
import contextlib
import os
import shutil
import subprocess
import tempfile

BUILD = os.path.dirname(os.environ["HOSTLAT"])


class Missing(Exception):
    """A package that cannot be had here, and why."""


def _unpack(package, folder):
    try:
        subprocess.run(["npm", "install", "--prefix", folder, "--prefer-offline", "--no-save", "--no-audit", "--no-fund",
                        package], capture_output=True, timeout=300, check=True)
    except subprocess.SubprocessError as e:
        raise Missing(f"npm cannot install {package}") from e


def install(package):
    """Returns the folder that has node_modules with the package ("NAME@VERSION"); raises Missing without it."""
    for program in "node", "npm":
        if not shutil.which(program):
            raise Missing(f"{program} is not installed")
    folder = os.path.join(BUILD, "npm", package)
    if not os.path.isdir(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=BUILD, prefix="npm-", ignore_cleanup_errors=True) as fresh:
            _unpack(package, fresh)
            with contextlib.suppress(OSError):      # another test was faster
                os.rename(fresh, folder)
    return folder
