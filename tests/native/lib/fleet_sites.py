# SPDX-License-Identifier: Apache-2.0
"""Sites that have a problem of the SNAP paper (Yu et al., NSDI 2011, sections 4.1, 5.2 and 6), each
with its fault or without."""
from lib import fleet

BACKUP_S = 5, 9     # from when until when, in seconds since the applications began


def healthy(site):
    """Adds three applications in which nothing is wrong."""
    site.app("web", 5101, "( 0 read 300 write 4000 )", "( 0 write 300 read 4000 sleep 40 )",
             site.ring(1, 2), nodelay=True)
    site.app("store", 5102, "( 0 read 2000 write 100 )", "( 0 write 2000 read 100 sleep 50 )",
             site.ring(1, 3), nodelay=True)
    site.app("feed", 5103, "( 0 some 65536 )", "( 0 write 3000 every 60 )", site.ring(2, 3),
             nodelay=True)


def everywhere(site, reply=4000, pause_ms=120):
    """Adds three applications in which nothing is wrong, with connections of all pairs of hosts."""
    others = site.ring(*range(1, len(site.hosts)))
    site.app("web", 5101, f"( 0 read 300 write {reply} )",
             f"( 0 write 300 read {reply} sleep {pause_ms} )", others, nodelay=True)
    site.app("store", 5102, "( 0 read 1400 write 100 )",
             f"( 0 write 1400 read 100 sleep {pause_ms} )", others, nodelay=True)
    site.app("feed", 5103, "( 0 some 65536 )", f"( 0 write {reply} every {pause_ms} )", others,
             nodelay=True)


def streams(site):
    """Adds applications whose connections always have several packets on their way."""
    for name, port, size in (("feed", 5101, 2000), ("metrics", 5102, 2400), ("video", 5103, 3000),
                             ("logs", 5104, 2000), ("backups", 5105, 2600)):
        site.app(name, port, "( 0 some 65536 )", f"( 0 write {size} every 15 )", site.ring(1, 2),
                 nodelay=True)


def buffers(name, fault):
    """A request in two writes, a send buffer of no bytes, and a reader that is too slow."""
    site = fleet.Site(name, 6)
    healthy(site)
    site.app("checkout", 5001, "( 0 read 500 write 50 )",
             "( 0 write 100 write 400 read 50 sleep 20 )" if fault else
             "( 0 write 500 read 50 sleep 20 )", site.ring(1, 2))
    site.app("orders", 5002, "( 0 read 20000 write 50 )", "( 0 ( 4 write 5000 ) read 50 sleep 10 )",
             site.ring(1, 2), nodelay=True, client_sndbuf=1 if fault else None)
    site.app("reports", 5003, "( 0 some 8192 sleep 40 )" if fault else "( 0 some 65536 )",
             "( 0 write 65536 sleep 200 )", site.ring(1, 2), server_rcvbuf=16384 if fault else None)
    return site


def windows(name, fault):
    """
    Records in two writes, each of which waits for its confirmation, and a host whose peers offer it
    a window of almost no bytes.
    """
    site = fleet.Site(name, 6)
    healthy(site)
    site.app("logger", 5001, "( 0 read 100 write 4 )" if fault else "( 0 read 5000 write 4 )",
             "( 0 write 20 write 80 read 4 )" if fault else "( 0 write 5000 read 4 sleep 40 )",
             site.ring(1, 2), client_sndbuf=1 if fault else None)
    first, fetch = site.hosts[0], "( 0 write 100 read 20000 sleep 20 )"
    site.app("files", 5002, "( 0 read 100 write 20000 )", fetch,
             lambda host: [each for each in site.ring(1, 2)(host) if each != first])
    site.app("files", 5002, None, fetch, lambda host: [] if host == first else 3 * [first],
             client_rcvbuf=1 if fault else None)
    return site


def pipeline(name, fault):
    """A proxy that writes each reply in two parts: its client's late ACKs hold up the backend."""
    site = fleet.Site(name, 6)
    healthy(site)
    site.app("backend", 5014, "( 0 read 100 write 1000 )", None, lambda host: [])
    site.app("proxy", 5004, "( 0 read 100 turn write 100 read 1000 turn " +
             ("write 200 write 800 )" if fault else "write 1000 )"),
             "( 0 write 100 read 1000 sleep 5 )", site.ring(1, 2), kind=fleet.Proxy, backend=5014)
    return site


def burst(name, fault):
    """
    Transfers after a pause, at once from all senders, as the window stays what it was before
    (tcp_slow_start_after_idle 0). Without the fault they are paced.
    """
    site = fleet.Site(name, 6, {"tcp_slow_start_after_idle": "0"})
    everywhere(site, 1000, 200)
    site.app("sync", 5001, "( 0 some 65536 )", "( 0 write 120000 every 700 )",
             site.ring(1, 2, 3, 4, 5), client_pace=None if fault else 400000)
    site.ports(100, 60)
    return site


def spread(name, fault):
    """
    Requests over eight connections, one at a time each, in a network that loses packets. Without
    the fault all go over one connection.
    """
    site = fleet.Site(name, 6)
    streams(site)
    site.app("broker", 5001, "( 0 read 1000 write 300 )" if fault else "( 0 some 65536 )",
             "( 0 write 1000 read 300 sleep 10 )" if fault else "( 0 write 1000 every 12 )",
             site.ring(*(8 * [1])) if fault else site.ring(1), nodelay=True)
    site.ports(100, 100)
    site.lossy = {host: 0.02 for host in site.hosts}
    return site


def incast(name, fault):
    """
    Six hosts that each ask the five others at once for large answers, more than a port of the
    switch holds. The port of another host loses packets besides. Without the fault, the switch
    holds all answers and loses none.
    """
    site = fleet.Site(name, 8)
    everywhere(site, 2000, 150)
    asking = site.hosts[:6]
    site.app("search", 5001, "( 0 read 100 write 60000 )",
             "( 0 barrier write 100 read 60000 sleep 250 )",
             lambda host: [each for each in asking if each != host] if host in asking else [],
             nodelay=True)
    site.ports(400, 30 if fault else 2000)
    site.lossy = {site.hosts[-1]: 0.04} if fault else {}
    site.links = True
    return site


def backup(name, fault):
    """
    Bulk transfers between two racks for some seconds, which fill their one link. Without the fault
    they are paced.
    """
    site = fleet.Site(name, 6)
    everywhere(site)
    begin, end = (1000 * second for second in BACKUP_S)
    site.app("backup", 5001, "( 0 some 65536 )",
             f"sleep {begin} {{ {end} write 65536 }} sleep 60000", site.ring(3),
             client_pace=None if fault else 100000)
    site.uplink(50, 100, [site.hosts[:3], site.hosts[3:]])
    site.links = True
    return site


def while_backup(finding):
    """Returns the part of the finding's problem that is in the time of the backups, and 1 s after."""
    begin, end = (second * 1_000_000_000 for second in BACKUP_S)
    points = [(each["offset_ns"], each["share"] or 0) for each in finding["over_time"]]
    inside = sum(share for offset, share in points if begin - 10**9 <= offset <= end + 10**9)
    return inside / max(1e-9, sum(share for _, share in points))
