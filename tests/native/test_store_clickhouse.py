# SPDX-License-Identifier: Apache-2.0
"""
A store in ClickHouse (Debian's servers, as three shards) gives the rows that a store in SQLite gives, in the same order,
whatever their texts hold: twice stored, of several versions, with a shard killed and back, and after a server was killed
within an INSERT. Errors, such as a wrong password, end with a sentence that does not have the password. An answer that
was cut short is an error: by a proxy, and by the server's own settings. Figures: rows per second.
"""
import contextlib
import json
import re
import socket
import tempfile
import threading

from lib import check, clickhouse, servers
from lib.storing import PUT_WINDOWS, TABLES, WINDOW_NS, both, export, fails, fleet, good, names, pair, recordings, report
from lib.storing import rows, run_fleet, same, same_as_sqlite

DAY_NS = 86400 * 10**9
FILL = 400000
NEVER = 1 << 62
SPEED_ROWS = 2000000 if check.LONG else 500000

members = []        # the servers


def single(server, database):
    return f"clickhouse://{server.where}/{database}"


def sharded(given, database):
    return f"clickhouse://{','.join(server.where for server in given)}/{database}?cluster=fleet"


def one_server():
    same_as_sqlite(single(members[0], next(names)))


def three_shards():
    database = next(names)
    same_as_sqlite(sharded(members, database))
    for server in members:
        check.between("rows of a shard", int(server.ask(f"SELECT count() FROM {database}.hostlat_connections_local")), 50,
                      10000)


def a_shard_that_stops():
    database = next(names)
    address = sharded(members, database)
    with pair(address) as sqlite:
        both((address, sqlite), "put", 0, 3, 1)
        hosts = set(members[1].ask(f"SELECT DISTINCT host FROM {database}.hostlat_windows_local FORMAT JSONEachRow")
                    .splitlines())
        members[1].kill()
        try:
            for given in members, [members[1], members[2]]:
                for table in TABLES:
                    lines = good(sharded(given, database), "rows", table).splitlines()
                    check.equal("the last line", lines[-1], f"unreachable {members[1].where}")
                    whole = rows(sqlite, table)
                    some = [line.split("\t") for line in lines[:-1]]
                    check.true("rows of the others alone", some == [row for row in whole if row in some])
                    check.equal("hosts without", len({row[0] for row in whole}) - len({row[0] for row in some}),
                                len(hosts))
            check.equal("a server that is not in the address",
                        good(sharded(members[:1], database), "rows", TABLES[0]).splitlines()[-1],
                        "unreachable 1 shard of the cluster fleet")
            fails("ClickHouse at ", address, "put", 3, 1, 1)
            fails("ClickHouse", address, "forget", WINDOW_NS)
        finally:
            members[1].start()
            members[1].await_ready()
        both((address, sqlite), "put", 3, 1, 1)
        same(address, sqlite)


def killed_within_insert():
    """Rows go through a proxy, which kills the server when it has half of the bytes."""
    address = single(members[0], next(names))
    good(address, "init")
    killed = threading.Event()

    def kill():
        members[0].kill()
        killed.set()

    def fill():
        written.append(good(address.replace(f":{members[0].http}/", f":{port}/"), "fill", FILL))

    written = []
    with proxy(members[0].http, after_up=20 << 20, then=kill) as port:
        filling = threading.Thread(target=fill)
        filling.start()
        check.true("the server is killed", killed.wait(60))
        members[0].start()      # not in the proxy's thread, whose end would end the server
        filling.join()
    check.equal("successes", len(written), 1)
    members[0].await_ready()
    out = good(address, "read")
    distinct = int(members[0].ask(f"SELECT uniqExact(cookie) FROM {address.split('/')[-1]}.hostlat_connections"))
    check.equal("rows", distinct, FILL)
    check.between("rows with doubles", int(out.split()[-1]), FILL, 2 * FILL)


def end(*sockets):
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def pass_on(source, target, limit, then):
    """Passes bytes from one socket to another, and ends both at the limit, a list of a number."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if limit[0] <= len(data):
                target.sendall(data[:limit[0]])
                limit[0] = NEVER
                then()
                break
            limit[0] -= len(data)
            target.sendall(data)
    end(source, target)


def pass_both(client, to, up, down, then):
    """Serves a connection of a proxy."""
    with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", to)) as server:
        back = threading.Thread(target=pass_on, args=(server, client, down, then), daemon=True)
        back.start()
        pass_on(client, server, up, then)
        back.join()


@contextlib.contextmanager
def proxy(to, after_up=NEVER, after_down=NEVER, then=lambda: None):
    """Yields the port of a proxy that cuts one connection after so many bytes to the server, or from it."""
    up, down = [after_up], [after_down]
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    threading.Thread(target=pass_both, args=(client, to, up, down, then), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listening.getsockname()[1]
        finally:
            end(listening)
    check.true("the proxy has cut a connection", min(up[0], down[0]) > NEVER // 2)


def cut_short():
    """An answer without its end, and one that the server ends early by its settings."""
    address = single(members[0], next(names))
    good(address, "init")
    good(address, "fill", 20000)
    with proxy(members[0].http, after_down=500000) as port:
        fails("no answer from ClickHouse", address.replace(f":{members[0].http}/", f":{port}/"), "rows", TABLES[1])
    fails("rows of hostlat_connections that it had counted", address, "rows", TABLES[1], user="short", password="")


def errors():
    database = next(names)
    address = single(members[0], database)
    fails("ENOENT: the database", address, "rows", TABLES[0])
    good(address, "init")
    fails("EACCES: ", address, "rows", TABLES[0], password="wrong")
    fails("EACCES: ", address, "rows", TABLES[0], user="nobody", password="wrong")
    fails("EACCES: ", address, "init", user=None)
    fails("EINVAL: HOSTLAT_STORE_PASSWORD has a control character", address, "init", password="a\r\nX: 1")
    fails("ECONNREFUSED: no answer from ClickHouse at ", f"clickhouse://127.0.0.1:{servers.free_port()}/x", "put", 0, 1, 1)
    fails("EHOSTUNREACH: no answer from ClickHouse at ", "clickhouse://none.invalid/x", "init")
    fails("ClickHouse at ", f"clickhouse://127.0.0.1:{members[0].tcp}/x", "init")
    fails("cluster nothing", address + "?cluster=nothing", "init")
    fails("EHOSTUNREACH: 2 of the 3 shards", sharded(members[:1], next(names)), "init")
    fails("EINVAL: ", address + ";x", "init")


def no_otel_types():
    """This server has no maps: it is left as it was, and a store in it stays usable."""
    address = single(members[0], next(names))
    databases = members[0].ask("SHOW DATABASES")
    words = run_fleet("init", "--store", address, "--otel-views", code=2).stderr.decode()
    check.true(f"what to do: {words}", "needs ClickHouse 21.12 or newer" in words and "init without --otel-views" in words)
    check.equal("databases", members[0].ask("SHOW DATABASES"), databases)
    good(address, "init")
    good(address, "put", 0, 1, 1)
    tables = members[0].ask(f"SHOW TABLES FROM {address.split('/')[-1]}")
    run_fleet("init", "--store", address, "--otel-views", code=2)
    check.equal("tables", members[0].ask(f"SHOW TABLES FROM {address.split('/')[-1]}"), tables)
    good(address, "rows", TABLES[0])


def another_version():
    database = next(names)
    address = single(members[0], database)
    good(address, "init")
    members[0].ask(f"DROP TABLE {database}.hostlat_schema")
    members[0].ask(f"CREATE VIEW {database}.hostlat_schema AS SELECT toUInt64(77) AS version")
    for command in ("rows", TABLES[0]), ("put", 0, 1, 1), ("init",):
        fails("EPROTO: the database " + database + " has tables of version 77", address, *command)


def forgets():
    for address in single(members[0], next(names)), sharded(members, next(names)):
        with pair(address) as sqlite:
            both((address, sqlite), "put", 0, PUT_WINDOWS, 1)
            for before in 0, 1, WINDOW_NS, DAY_NS, DAY_NS + 1, 2 * DAY_NS + 1:
                both((address, sqlite), "forget", before)
                same(address, sqlite)
            both((address, sqlite), "forget", 99 * DAY_NS)
            check.equal("rows that are left", rows(address, TABLES[1]), [])


def over_tls():
    address = f"clickhouse+tls://127.0.0.1:{members[0].https}/{next(names)}"
    fails("EKEYREJECTED: no answer from ClickHouse", address, "init")
    good(address, "init", SSL_CERT_FILE=members[0].cert)
    good(address, "put", 0, 1, 1, SSL_CERT_FILE=members[0].cert)
    check.between("rows", len(rows(address, TABLES[0], SSL_CERT_FILE=members[0].cert)), 10, 100)
    fails("no answer from ClickHouse at ", f"clickhouse+tls://{members[0].where}/x", "init")


# ---- the commands ----


def same_report():
    """The report's bytes from SQLite, from one server and from shards; with a shard down, it says so."""
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        paths = recordings(folder)
        sqlite, one, shards = f"{folder}/fleet.db", single(members[0], next(names)), sharded(members, next(names))
        for address in sqlite, one, shards:
            fleet("init", "--store", address)
            for _ in range(2):
                fleet("ingest", "--store", address, "--window", "10s", *paths)
        whole = report(sqlite)
        check.true("a link is found", b"Link " in whole)
        for address in one, shards:
            check.true("equal reports", report(address) == whole)
            check.true("equal rows", export(address) == export(sqlite))
        members[2].kill()
        try:
            some = json.loads(report(shards, code=3))
            codes = {each["code"]: each["evidence"] for each in some["reasons"]}
            check.equal("the server that is away", codes.get("store-unreachable"), members[2].where)
            check.true("hosts without it", 0 < len(some["recordings"]) < 6)
        finally:
            members[2].start()
            members[2].await_ready()
        check.true("equal reports again", report(shards) == whole)


def new_names():
    """Other rules name stored windows anew, once, and forth and back; earlier versions stay in the tables."""
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        paths = recordings(folder)
        rules = [f"{folder}/{name}.csv" for name in ("shop", "beta")]
        for path, name in zip(rules, ("shop", "beta")):
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"application,command\n{name},nginx\n")
        for address in single(members[0], next(names)), sharded(members, next(names)):
            fleet("init", "--store", address)
            fleet("ingest", "--store", address, *paths)
            for number, stored in (0, 1), (0, 0), (1, 1), (0, 1), (0, 0):
                done = json.loads(fleet("ingest", "--json", "--store", address, "--apps", rules[number], *paths))
                check.equal("windows stored", [each["stored"] for each in done["files"]], [stored] * len(paths))
                shown = {row.split(",")[11] for row in export(address).decode().splitlines()[1:]}
                check.equal("names", shown, {"curl", ("shop", "beta")[number]})


def store_away():
    """The store is away during an ingest: that ends with 2; the next one stores all, once."""
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        paths = recordings(folder)
        sqlite, one = f"{folder}/fleet.db", single(members[2], next(names))
        for address in sqlite, one:
            fleet("init", "--store", address)
            fleet("ingest", "--store", address, "--window", "10s", *paths[:2])
        members[2].kill()
        try:
            fleet("ingest", "--store", one, "--window", "10s", *paths, code=2)
        finally:
            members[2].start()
            members[2].await_ready()
        for address in sqlite, one:
            fleet("ingest", "--store", address, "--window", "10s", *paths)
        check.true("equal rows", export(one) == export(sqlite))
        fleet("ingest", "--store", one, *paths, code=2, password="wrong")


def speed():
    """Its figure is not judged: others have the CPUs, too."""
    figures = []
    for address in single(members[0], next(names)), sharded(members, next(names)):
        good(address, "init")
        wrote, read = good(address, "fill", SPEED_ROWS), good(address, "read")
        check.equal("rows", int(read.split()[-1]), SPEED_ROWS)
        figures.append(f"{re.match('[0-9]+', wrote)[0]} rows/s in, {re.match('[0-9]+', read)[0]} out")
    return "; ".join(figures)


def main():
    with clickhouse.cluster(3) as started:
        members.extend(started)
        check.run([(case,) for case in (
            one_server, three_shards, errors, no_otel_types, another_version, forgets, cut_short, over_tls,
            killed_within_insert, a_shard_that_stops, same_report, new_names, store_away, speed)])


if __name__ == "__main__":
    main()
