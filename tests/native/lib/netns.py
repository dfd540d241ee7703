# SPDX-License-Identifier: Apache-2.0
"""Private network namespaces, gone when the test ends, however it ends short of SIGKILL."""
import atexit
import contextlib
import ctypes
import itertools
import os
import signal
import subprocess
import sys

from lib import check, control

SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP

_made = []
_number = itertools.count()


def ip(*args):
    subprocess.run(["ip", *args], check=True)


def _remove_all():
    while _made:
        subprocess.run(["ip", "netns", "del", _made.pop()], check=False)


def _leave(number, _):
    """Cleans up on the first signal; another one must not stop the cleaning."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def make():
    """Makes a namespace; returns its name. It is gone after remove(), or when this process ends."""
    if os.geteuid() != 0:
        check.skip("making network namespaces needs root")
    if not _made:
        atexit.register(_remove_all)
        for number in SIGNALS:
            signal.signal(number, _leave)
        control.counts.start()
    name = f"hostlat{os.getpid()}-{next(_number)}"
    _made.append(name)
    if subprocess.run(["ip", "netns", "add", name], check=False).returncode:
        check.skip("this machine does not let root make a network namespace")
    control.counts.add(name, inside)
    ip("-n", name, "link", "set", "lo", "up")
    return name


def remove(name):
    control.counts.remove(name)
    _made.remove(name)
    subprocess.run(["ip", "netns", "del", name], check=False)


CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(name):
    """Moves this thread into that namespace; sockets made there stay in it."""
    with open("/proc/thread-self/ns/net", "rb") as home, open(f"/run/netns/{name}", "rb") as there:
        if _libc.setns(there.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"can't enter {name}")
        try:
            yield
        finally:
            _libc.setns(home.fileno(), CLONE_NEWNET)


class Net:
    """Where the reader and the sender live, and the reader's addresses."""

    def __init__(self, kind, reader, sender, v4, v6):
        self.kind, self.reader, self.sender = kind, reader, sender
        self._address = {4: v4, 6: v6}

    def __str__(self):
        return self.kind

    def address(self, family):
        return self._address[family]

    def args(self, family):
        """The traffic program's options for this net."""
        return ["--reader-netns", self.reader, "--sender-netns", self.sender,
                "--address", self._address[family], *(["--v6"] if family == 6 else [])]


def loopback():
    name = make()
    return Net("loopback", name, name, "127.0.0.1", "::1")


def veth():
    reader, sender = make(), make()
    ip("-n", reader, "link", "add", "reader0", "type", "veth",
       "peer", "name", "sender0", "netns", sender)
    for host, (name, link) in enumerate([(reader, "reader0"), (sender, "sender0")], 1):
        ip("-n", name, "addr", "add", f"10.77.0.{host}/24", "dev", link)
        ip("-n", name, "addr", "add", f"fd77::{host}/64", "dev", link, "nodad")
        ip("-n", name, "link", "set", link, "up")
    return Net("veth", reader, sender, "10.77.0.1", "fd77::1")


def vlan(net):
    """A device on top of each end of a veth()."""
    for namespace, device, host in ((net.reader, "reader0", 1), (net.sender, "sender0", 2)):
        ip("-n", namespace, "link", "add", "link", device, "name", "vlan5", "type", "vlan",
           "id", "5")
        ip("-n", namespace, "addr", "add", f"10.79.0.{host}/24", "dev", "vlan5")
        ip("-n", namespace, "link", "set", "vlan5", "up")
    return Net("vlan", net.reader, net.sender, "10.79.0.1", None)


class Star:
    """Namespaces that have a link each to one in the middle, and its address on that link."""

    def __init__(self, n):
        self.middle = make()
        self.points = [make() for _ in range(n)]
        self.addresses = [f"10.78.{i}.1" for i in range(n)]
        for i, point in enumerate(self.points):
            ip("-n", self.middle, "link", "add", f"point{i}", "type", "veth",
               "peer", "name", "middle0", "netns", point)
            for name, link, host in ((self.middle, f"point{i}", 1), (point, "middle0", 2)):
                ip("-n", name, "addr", "add", f"10.78.{i}.{host}/24", "dev", link)
                ip("-n", name, "link", "set", link, "up")
            ip("-n", point, "route", "add", "default", "via", self.addresses[i])


def every():
    """Yields (net, family) for loopback and veth, v4 and v6."""
    return [(net, family) for net in (loopback(), veth()) for family in (4, 6)]


def two():
    """Returns two of these networks: loopback over IPv4 and veth over IPv6."""
    return every()[::3]
