# SPDX-License-Identifier: Apache-2.0
"""Packets of another application that keep one core's softirq busy for a known time."""
import os
import socket
import threading

from lib import check, netns
from lib.traffic import Delay

LIMIT_S = 60


class Burst:
    """
    A thread reads in namespace `to` what send() sends through `tx`, a bound datagram socket; the core
    that queues its packets, in softirq, spends spin_ns more with each, after the stage. `n` packets
    are a burst.
    """

    def __init__(self, to, address, tx, n, spin_ns, stage="enqueued",
                 size=1):
        self.reader, self.reader_pid = to, os.getpid()
        self.tx, self.n, self.size = tx, n, size
        self.sent, self.ended = 0, False
        with netns.inside(to):
            self.rx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rx.bind((address, 0))
        self.rx.settimeout(LIMIT_S)
        tx.connect(self.rx.getsockname())
        self.rx.connect(tx.getsockname())
        self.flow = "from %s:%d to %s:%d" % (*tx.getsockname(), *self.rx.getsockname())
        self.port = self.rx.getsockname()[1]
        self.come, self.got, ready = (threading.Semaphore(0) for _ in range(3))
        self.thread = threading.Thread(target=self._read, args=(ready,), daemon=True)
        self.thread.start()
        ready.acquire()
        self.delay = Delay(stage, spin_ns, self, self)

    def _read(self, ready):
        self.tid = threading.get_native_id()
        ready.release()
        while self.come.acquire() and not self.ended:
            self.messages = [self.rx.recvmsg(self.size, 64) for _ in range(self.n)]
            self.got.release()

    def send(self):
        for _ in range(self.n):
            self.tx.send(bytes(self.size))
        self.sent += self.n

    def wait(self):
        """Waits until the application, which sleeps meanwhile, has read the whole burst."""
        self.come.release()
        check.true("a packet of the burst was lost", self.got.acquire(timeout=LIMIT_S))
        return self.messages

    def finish(self):
        self.ended = True
        self.come.release()
        self.thread.join(LIMIT_S)
        self.rx.close()
        check.counted("packets that were delayed", self.delay.finish()["count"], self.sent)
