# SPDX-License-Identifier: Apache-2.0
"""Proves that with more reading threads than places for their states none is lost by default; with
the least memory, threads without a place are counted."""
import os
import socket
import threading

from lib import check, netns, watch

THREADS = 700       # the table has 512 places; at the minimum of --memory there are 8 more
MESSAGES = 3


def reads(net, memory):
    """Each thread waits in its own socket and gets MESSAGES datagrams, one after the other."""
    readers, threads = [], []
    got = threading.Semaphore(0)

    def read(reader):
        for _ in range(MESSAGES):
            reader.recv(100)
            got.release()

    with netns.inside(net.reader):
        for _ in range(THREADS):
            reader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            reader.bind(("127.0.0.1", 0))
            readers.append(reader)
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    threading.stack_size(128 << 10)
    for reader in readers:
        threads.append(threading.Thread(target=read, args=(reader,), daemon=True))
        threads[-1].start()
    observer = watch.Watch("--netns", net.reader, "--memory", memory)
    for _ in range(MESSAGES):
        for reader in readers:
            sender.sendto(b"hostlat", reader.getsockname())
            got.acquire()
    for thread in threads:
        thread.join()
    result = observer.stop()
    for each in (sender, *readers):
        each.close()
    return result


def enough(net):
    result = reads(net, "64M")
    check.equal(f"read ({result.brief()})", result.count("read", "udp"), THREADS * MESSAGES)
    check.equal("losses", result.document["losses"], [])


def too_little(net):
    result = reads(net, f"{watch.least_memory_kib()[1]}K")
    lost = result.lost("no-storage", stage="read", protocol="udp")
    check.between(f"lost for want of places ({result.brief()})", lost, 1, THREADS * MESSAGES // 2)
    check.equal("read and lost", result.count("read", "udp") + lost, THREADS * MESSAGES)
    check.true("a waking without a place is reported", result.lost("no-storage", stage="runnable") > 0)
    return f"{lost} of {THREADS * MESSAGES} lost"


if os.geteuid() != 0:
    check.skip("needs root")
loopback = netns.loopback()
check.run([(enough, loopback), (too_little, loopback)])
