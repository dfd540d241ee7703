# SPDX-License-Identifier: Apache-2.0
"""Proves that MPTCP's packets are reported as lost and disturb nothing; plain TCP beside it is
complete."""
import contextlib
import errno
import os
import socket

from lib import check, netns, watch

N = 500
SIZE = 100
IPPROTO_MPTCP = getattr(socket, "IPPROTO_MPTCP", 262)


@contextlib.contextmanager
def connected(protocol):
    """(sender, reader) over loopback."""
    try:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    except OSError as e:
        if e.errno not in (errno.EPROTONOSUPPORT, errno.ENOPROTOOPT, errno.EINVAL):
            raise
        check.skip(f"this kernel makes no MPTCP sockets: {e}")
    with listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as sender:
            sender.connect(listener.getsockname())
            reader, _ = listener.accept()
            with reader:
                yield sender, reader


def exchange(sender, reader):
    """A first byte each way, so that the connection is what it will be; more are told apart."""
    for one, other in ((sender, reader), (reader, sender)):
        one.sendall(b"x")
        check.equal("the first byte", other.recv(1), b"x")


def messages(sender, reader):
    for _ in range(N):
        sender.sendall(bytes(SIZE))
        check.equal("bytes read", len(reader.recv(SIZE, socket.MSG_WAITALL)), SIZE)


def reached(result, stage):
    """With those that a CPU taken away on their way made a loss of another kind."""
    late = result.lost("no-link-stamp", stage=stage, protocol="tcp")
    check.between(f"late packets at {stage} ({result.brief()})", late, 0, N // 50)
    return result.count(stage, "tcp") + late


def subflows_are_lost():
    with connected(IPPROTO_MPTCP) as ends:
        exchange(*ends)
        observer = watch.Watch(*watch.HERE, "--port", ends[1].getsockname()[1])
        messages(*ends)
        result = observer.stop()
    for stage in ("transport", "socket"):
        check.counted(f"packets at {stage} ({result.brief()})", reached(result, stage), N)
    check.equal("reads reported as lost", result.lost("mptcp", protocol="tcp"), N)
    check.equal("packets at enqueued", result.count("enqueued", "tcp"), 0)
    check.equal("all losses", result.lost() - result.lost("no-link-stamp"), N)
    check.equal("exit code", result.code, 3)
    unread = [s for s in result.document["findings"] if "none was read" in s]
    check.equal("sentences about packets that nobody read", unread, [])


def reads_are_lost():
    """--pid: packets can't be told from others', but the process's own calls can."""
    with connected(IPPROTO_MPTCP) as ends:
        exchange(*ends)
        observer = watch.Watch("--pid", os.getpid(), "--port", ends[1].getsockname()[1])
        messages(*ends)
        result = observer.stop()
    announced = any(b["stage"] == "read" and b["hook"] == "sock_recv_length" and b["bound"]
                    for b in result.document["bindings"])
    check.equal(f"reads reported as lost ({result.brief()})", result.lost("mptcp"),
                N if announced else 0)
    return "" if announced else "this kernel has no sock_recv_length to see them by"


def plain_tcp_beside():
    """Far more unread MPTCP packets than all of TCP's queues hold push out none of TCP's."""
    net = netns.loopback()
    with netns.inside(net.reader), connected(IPPROTO_MPTCP) as (sender, reader), \
            connected(0) as plain:
        for end in (sender, reader):
            exchange(sender, reader)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        observer = watch.Watch("--netns", net.reader)
        sender.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(40 * N):
                sender.send(bytes(SIZE))
        messages(*plain)
        result = observer.stop()
        port = watch.Watch("--netns", net.reader, "--port", plain[1].getsockname()[1])
        messages(*plain)
        alone = port.stop()
    check.equal("packets pushed out", result.lost("fifo-full"), 0)
    check.between("MPTCP's packets", result.lost("mptcp"), 1, 1 << 30)
    check.between("TCP's packets at read", reached(result, "read"), N, 1 << 30)
    for stage in ("transport", "socket", "enqueued", "read"):
        check.counted(f"control: {stage} of plain TCP ({alone.brief()})",
                      reached(alone, stage), N)
    check.equal("its losses", alone.lost(), alone.lost("no-link-stamp"))


if os.geteuid() != 0:
    check.skip("needs root")
check.run([(subflows_are_lost,), (reads_are_lost,), (plain_tcp_beside,)])
