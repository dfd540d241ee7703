# SPDX-License-Identifier: Apache-2.0
"""
A store in a current ClickHouse engine (chdb) gives the rows, the reports and the CSV that SQLite gives, byte for byte:
hostlat sends it the statements that it sends to Debian's much older server. Errors of this engine are understood, too.
"""
import contextlib
import sqlite3
import tempfile

from lib import chdb, check, npm
from lib.storing import PUT_WINDOWS, TABLES, WINDOW_NS, both, export, fails, fleet, good, names, pair, recordings, report
from lib.storing import rows, same, same_as_sqlite

DAY_NS = 86400 * 10**9
MAP = "Map(LowCardinality(String), String)"
# The columns of OpenTelemetry's exporter, with types that its queries take.
OTEL_COLUMNS = [
    ("ResourceAttributes", MAP), ("ResourceSchemaUrl", "String"), ("ScopeName", "String"), ("ScopeVersion", "String"),
    ("ScopeAttributes", MAP), ("ScopeDroppedAttrCount", "UInt32"), ("ScopeSchemaUrl", "String"),
    ("ServiceName", "LowCardinality(String)"), ("MetricName", "LowCardinality(String)"), ("MetricDescription", "String"),
    ("MetricUnit", "String"), ("Attributes", MAP), ("StartTimeUnix", "DateTime64(9, 'UTC')"),
    ("TimeUnix", "DateTime64(9, 'UTC')"), ("Value", "Float64"), ("Flags", "UInt32"),
    ("Exemplars.FilteredAttributes", f"Array({MAP})"), ("Exemplars.TimeUnix", "Array(DateTime64(9))"),
    ("Exemplars.Value", "Array(Float64)"), ("Exemplars.SpanId", "Array(String)"), ("Exemplars.TraceId", "Array(String)"),
    ("AggregationTemporality", "Int32"), ("IsMonotonic", "Bool"),
]

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


def otel_sums(database, problem, metric):
    return float(engines[0].ask(f"SELECT sum(Value) FROM {database}.hostlat_otel_metrics_sum WHERE MetricName = "
                                f"'hostlat.connections.{metric}_time' AND Attributes['hostlat.problem'] = '{problem}'"))


def otel_rows(database, columns):
    """Returns rows of the view, in order."""
    return sorted(engines[0].ask(f"SELECT {columns} FROM {database}.hostlat_otel_metrics_sum FORMAT TSV").splitlines())


def otel_views():
    """The view has the sums of SQLite: each connection counts once, with its latest version."""
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        address, sqlite = new_store(), f"{folder}/fleet.db"
        database, paths = address.split("/")[-1], recordings(folder)
        fleet("init", "--store", sqlite)
        for _ in range(2):
            fleet("init", "--store", address, "--otel-views")
        for store in address, sqlite:
            fleet("ingest", "--store", store, "--window", "10s", *paths)
        once = otel_rows(database, "*")
        for table, change in (TABLES[0], ""), (TABLES[1], ""), (TABLES[0], "REPLACE (version - 1 AS version)"), \
                (TABLES[1], "REPLACE (version - 1 AS version)"), (TABLES[1], "REPLACE (version + 1 AS version)"):
            engines[0].ask(f"INSERT INTO {database}.{table} SELECT * {change} FROM {database}.{table}")
        check.equal("rows with doubles, earlier versions and connections without their window", otel_rows(database, "*"), once)
        with contextlib.closing(sqlite3.connect(sqlite)) as db:
            names_of = [name for _, name, *_ in db.execute(f"PRAGMA table_info({TABLES[1]})")]
            for name in (one for one in names_of if one.endswith(("_known_ns", "_limited_ns", "_lost_ns"))):
                problem, metric, _ = name.rsplit("_", 2)
                want = db.execute(f"SELECT sum({name}) FROM {TABLES[1]}").fetchone()[0] / 1e9
                check.between(f"sum of {name}", otel_sums(database, problem.replace("_", "-"), metric), want - 1e-6, want + 1e-6)
            check.must_fail("another sum", check.equal, "sum", otel_sums(database, "timeout", "known"), 0)
            want = db.execute(f"SELECT DISTINCT host, application, window_ns FROM {TABLES[1]}").fetchall()
        check.equal("rows", len(once), 18 * len(want))
        check.equal("hosts, applications and windows",
                    set(otel_rows(database, "ResourceAttributes['host.name'], ServiceName, toUnixTimestamp64Nano(StartTimeUnix)")),
                    {"\t".join(map(str, row)) for row in want})
        columns = engines[0].ask(f"DESCRIBE {database}.hostlat_otel_metrics_sum FORMAT TSVRaw").splitlines()
        check.equal("columns", [tuple(line.split("\t")[:2]) for line in columns], OTEL_COLUMNS)


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
        check.run([(case,) for case in (the_version, same_rows, same_report, otel_views, forgets, errors)])


if __name__ == "__main__":
    main()
