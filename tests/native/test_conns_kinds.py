# SPDX-License-Identifier: Apache-2.0
"""
Proves that `conns` tells the kinds of connections apart: IPv4, IPv6, IPv4 on an IPv6 socket, MPTCP,
TLS in the kernel, and sendfile; in JSON and in text, for connections made before and during the
run. In the same run each of them is the control of the others.

test_conns_kinds [tls]: the kernel must have TLS; without, it is left out where there is none.
"""
import errno
import os
import socket
import struct
import subprocess
import sys
import tempfile

from lib import check, conns, netns

IPPROTO_MPTCP = getattr(socket, "IPPROTO_MPTCP", 262)
TCP_ULP, SOL_TLS, TLS_TX, TLS_RX, TLS_1_2, AES_GCM_128 = 31, 282, 1, 2, 0x0303, 51
ABSENT = errno.EPROTONOSUPPORT, errno.ENOPROTOOPT, errno.EINVAL, errno.ENOENT
SO_COOKIE = 57
N, SIZE = 20, 100
# sock_send_length, of 6.3: before, only calls of TCP's own are seen.
TRACEPOINTS = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 3)

# Addresses and protocols of the listener and of who calls it, and what `flags` has of both ends.
KINDS = {
    "v4": ("127.0.0.1", "127.0.0.1", 0, 0, set()),
    "sendfile": ("127.0.0.1", "127.0.0.1", 0, 0, set()),
    "v6": ("::1", "::1", 0, 0, set()),
    "v4-mapped": ("::", "::ffff:127.0.0.1", 0, 0, {"v4-mapped"}),
    "mptcp": ("127.0.0.1", "127.0.0.1", IPPROTO_MPTCP, IPPROTO_MPTCP, {"mptcp"}),
    "mptcp's listener alone": ("127.0.0.1", "127.0.0.1", IPPROTO_MPTCP, 0, set()),
    "ktls": ("127.0.0.1", "127.0.0.1", 0, 0, {"ktls"}),
}
FLAGS = {"v4-mapped", "mptcp", "ktls"}
TEXT = {"mptcp", "ktls"}
ROOMY = ["--cpu-budget", "20%..90%"] if "tls" in sys.argv else []     # an emulated CPU is slow


class Pair:
    """Both ends of a connection."""

    def __init__(self, kind):
        listens, calls, protocol, own, self.flags = KINDS[kind]
        self.kind = kind
        family = socket.AF_INET6 if ":" in listens else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM, protocol) as listener:
            listener.bind((listens, 0))
            listener.listen()
            self.sender = socket.socket(family, socket.SOCK_STREAM, own)
            self.sender.connect((calls, listener.getsockname()[1]))
            self.reader, _ = listener.accept()
        if kind == "ktls":
            self.encrypt()

    @property
    def ends(self):
        return self.sender, self.reader

    def encrypt(self):
        """TLS 1.2, AES-GCM with 128 bits, in one direction."""
        for end, direction in ((self.sender, TLS_TX), (self.reader, TLS_RX)):
            end.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
            end.setsockopt(SOL_TLS, direction, struct.pack("=HH8s16s4s8s", TLS_1_2, AES_GCM_128, bytes(8),
                                                           bytes(range(16)), bytes(4), bytes(8)))

    def messages(self):
        for _ in range(N):
            if self.kind == "sendfile":
                os.sendfile(self.sender.fileno(), zeros.fileno(), 0, SIZE)
            else:
                self.sender.sendall(bytes(SIZE))
            check.equal("bytes read", len(self.reader.recv(SIZE, socket.MSG_WAITALL)), SIZE)

    def close(self):
        for end in self.ends:
            end.close()


def address(end, name):
    host, port = getattr(end, name)()[:2]
    host = host.removeprefix("::ffff:")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def cookie(end):
    return str(int.from_bytes(end.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8), sys.byteorder))


def possible(kind):
    try:
        Pair(kind).close()
    except OSError as e:
        if e.errno not in ABSENT:
            raise
        return False
    return True


def is_reported(document, pair, end):
    """As what it is, and as nothing else; whose it is. Returns its cookie."""
    found = [row for row in document["connections"] if row["local"] == address(end, "getsockname")
             and row["remote"] == address(end, "getpeername")]
    check.equal(f"rows of {pair.kind}", len(found), 1)
    row = found[0]
    check.equal(f"{pair.kind}: flags of {row['flags']}", FLAGS & set(row["flags"]), pair.flags)
    seen = row["calls"] is not None
    if seen or TRACEPOINTS:
        check.equal(f"{pair.kind}: owner", (row["pid"], row["comm"]), (os.getpid(), own_name()))
    if pair.kind == "ktls" and not TRACEPOINTS:
        check.equal("ktls: calls, which nothing sees", row["calls"], None)
    elif pair.kind == "mptcp":  # its cookie and its calls are the socket's above
        check.equal("mptcp: calls are unknown", row["calls"], None)
        check.between("mptcp: bytes", row["bytes"]["sent"] + row["bytes"]["received"], N * SIZE,
                      N * SIZE + 100)
    else:
        check.equal(f"{pair.kind}: cookie", row["cookie"], cookie(end))
        check.equal(f"{pair.kind}: calls", row["calls"]["send"] + row["calls"]["recv"], N)
    return row["cookie"]


def own_name():
    with open("/proc/self/comm", encoding="ascii") as f:
        return f.read().strip()


def lines_of(file, term=""):
    """The table of connections, as text: what each one is, by cookie."""
    out = subprocess.run([conns.HOSTLAT, "conns", "--from", file, "--all", "--filter",
                          f"netns = {net.reader} {term}"],
                         capture_output=True, text=True, timeout=120, check=False).stdout
    found, at = {}, None
    for line in out.splitlines():
        words = line.split()
        if "cookie" in words and "local" in words:
            at = line.find(" kind")
            found = {}      # the kinds in the last table, which covers the whole run
        elif words and words[0].isdigit() and at is not None:
            found[words[0]] = set(line[at:].split()[:1]) & TEXT if at >= 0 else set()
    return found


@check.environment("the classes' shares of time depend on when both ends get a CPU")
def kinds_are_reported(kinds, when):
    """Before or after it starts."""
    with netns.inside(net.reader), tempfile.NamedTemporaryFile() as file:
        pairs = [Pair(kind) for kind in kinds] if when == "before" else []
        with conns.beside(["--record", file.name, *ROOMY], [net.reader]) as document:
            if when == "after":
                pairs = [Pair(kind) for kind in kinds]
            for pair in pairs:
                pair.messages()
        cookies = {is_reported(document["json"], pair, end): pair for pair in pairs
                   for end in pair.ends}
        lines = lines_of(file.name)
        alone = lines_of(file.name, f"and sport = :{pairs[0].sender.getsockname()[1]}")
    for it, pair in cookies.items():
        check.equal(f"{pair.kind} as text", lines.get(it), pair.flags & TEXT)
    check.equal(f"control: the table of {pairs[0].kind} alone", list(alone.values()), [set()])
    for pair in pairs:
        pair.close()
    return ", ".join(kinds)


if os.geteuid() != 0:
    check.skip("needs root")
net = netns.loopback()
zeros = tempfile.TemporaryFile()
zeros.write(bytes(SIZE))
zeros.flush()
with netns.inside(net.reader):
    wanted = [name for name in KINDS if possible(name)]
if "tls" in sys.argv and "ktls" not in wanted:
    check.skip("the kernel has no TLS")
check.run([(kinds_are_reported, wanted, when) for when in ("after", "before")])
