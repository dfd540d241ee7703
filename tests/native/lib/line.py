# SPDX-License-Identifier: Apache-2.0
"""Connections whose both ends this process holds."""
import socket

from lib import check, netns


class Line:
    """A TCP connection from the net's sender to its reader."""

    def __init__(self, net, family=4, rcvbuf=None):
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET
        with netns.inside(net.reader):
            listener = socket.socket(kind)
        if rcvbuf:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        listener.bind((net.address(family), 0))
        listener.listen(1)
        with netns.inside(net.sender):
            self.tx = socket.socket(kind)
        self.tx.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tx.connect(listener.getsockname()[:2])
        self.rx, _ = listener.accept()
        listener.close()
        self.rx.settimeout(120)

    def drain(self, size):
        while size:
            data = self.rx.recv(size)
            check.true("the connection ended early", data)
            size -= len(data)

    def close(self):
        self.tx.close()
        self.rx.close()
