# SPDX-License-Identifier: Apache-2.0
"""Private network namespaces, gone when the test ends, however it ends short of SIGKILL."""
import atexit
import itertools
import os
import signal
import subprocess
import sys

from lib import check

SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP

_made = []
_number = itertools.count()


def ip(*args):
    subprocess.run(["ip", *args], check=True)


def _remove_all():
    while _made:
        subprocess.run(["ip", "netns", "del", _made.pop()], check=False)


def _leave(number, _):
    """On the first signal; another one must not stop the cleaning up."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def _make():
    if os.geteuid() != 0:
        check.skip("making network namespaces needs root")
    if not _made:
        atexit.register(_remove_all)
        for number in SIGNALS:
            signal.signal(number, _leave)
    name = f"hostlat{os.getpid()}-{next(_number)}"
    _made.append(name)
    if subprocess.run(["ip", "netns", "add", name], check=False).returncode:
        check.skip("this machine does not let root make a network namespace")
    ip("-n", name, "link", "set", "lo", "up")
    return name


class Net:
    """Where the reader and the sender live, and the reader's addresses."""

    def __init__(self, kind, reader, sender, v4, v6):
        self.kind, self.reader, self.sender = kind, reader, sender
        self._address = {4: v4, 6: v6}

    def __str__(self):
        return self.kind

    def args(self, family):
        """The traffic program's options for this net."""
        return ["--reader-netns", self.reader, "--sender-netns", self.sender,
                "--address", self._address[family], *(["--v6"] if family == 6 else [])]


def loopback():
    name = _make()
    return Net("loopback", name, name, "127.0.0.1", "::1")


def veth():
    reader, sender = _make(), _make()
    ip("-n", reader, "link", "add", "reader0", "type", "veth",
       "peer", "name", "sender0", "netns", sender)
    for host, (name, link) in enumerate([(reader, "reader0"), (sender, "sender0")], 1):
        ip("-n", name, "addr", "add", f"10.77.0.{host}/24", "dev", link)
        ip("-n", name, "addr", "add", f"fd77::{host}/64", "dev", link, "nodad")
        ip("-n", name, "link", "set", link, "up")
    return Net("veth", reader, sender, "10.77.0.1", "fd77::1")


def every():
    """(net, family) for loopback and veth, v4 and v6."""
    return [(net, family) for net in (loopback(), veth()) for family in (4, 6)]


def two():
    """Of those, loopback v4 and veth v6."""
    return every()[::3]
