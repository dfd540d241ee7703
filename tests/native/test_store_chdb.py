# SPDX-License-Identifier: Apache-2.0
"""
A store in a current ClickHouse engine (chdb) gives the rows, the reports and the CSV that SQLite gives, byte for byte:
hostlat sends it the statements that it sends to Debian's much older server. Errors of this engine are understood, too.
"""
import contextlib
import tempfile

from lib import chdb, check, npm
from lib.storing import PUT_WINDOWS, TABLES, WINDOW_NS, both, export, fails, fleet, good, names, pair, recordings, report
from lib.storing import rows, same, same_as_sqlite

DAY_NS = 86400 * 10**9

engines = []        # the server


def new_store():
    return f"clickhouse://{engines[0].where}/{next(names)}"


def the_version():
    version = engines[0].ask("SELECT version() FORMAT TSV").strip()
    check.between("year of the engine", int(version.split(".")[0]), 26, 99)
    return version


def same_rows():
    same_as_sqlite(new_store())


def same_report():
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        paths = recordings(folder)
        stores = f"{folder}/fleet.db", new_store()
        for address in stores:
            fleet("init", "--store", address)
            for _ in range(2):
                fleet("ingest", "--store", address, "--window", "10s", *paths)
        reports, exports = [report(address) for address in stores], [export(address) for address in stores]
        check.true("a link is found", b"Link " in reports[0])
        check.true("rows", exports[0].count(b"\n") > 500)
        check.true("equal reports", reports[1] == reports[0])
        check.true("equal rows", exports[1] == exports[0])
        database = stores[1].split("/")[-1]
        engines[0].ask(f"ALTER TABLE {database}.hostlat_connections DELETE WHERE host = 'host3' SETTINGS mutations_sync = 1")
        check.must_fail("a report with fewer rows", check.equal, "report", report(stores[1], code=3), reports[0])


def forgets():
    address = new_store()
    with pair(address) as sqlite:
        both((address, sqlite), "put", 0, PUT_WINDOWS, 1)
        for before in 0, WINDOW_NS, DAY_NS, DAY_NS + 1:
            both((address, sqlite), "forget", before)
            same(address, sqlite)
        both((address, sqlite), "forget", 99 * DAY_NS)
        check.equal("rows that are left", rows(address, TABLES[1]), [])


def errors():
    address = new_store()
    fails("ENOENT: the database", address, "rows", TABLES[0])
    good(address, "init")
    fails("EACCES: ", address, "rows", TABLES[0], password="wrong")
    database = address.split("/")[-1]
    engines[0].ask(f"DROP TABLE {database}.hostlat_connections")
    fails("ENOENT: ", address, "put", 0, 1, 1)
    engines[0].ask(f"DROP VIEW {database}.hostlat_schema")
    engines[0].ask(f"CREATE VIEW {database}.hostlat_schema AS SELECT toUInt64(77) AS version")
    for command in ("rows", TABLES[0]), ("put", 0, 1, 1), ("init",):
        fails("EPROTO: the database " + database + " has tables of version 77", address, *command)


def main():
    with contextlib.ExitStack() as stack:
        try:
            engines.append(stack.enter_context(chdb.server()))
        except npm.Missing as e:
            check.skip(str(e))
        check.run([(case,) for case in (the_version, same_rows, same_report, forgets, errors)])


if __name__ == "__main__":
    main()
