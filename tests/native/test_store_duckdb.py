# SPDX-License-Identifier: Apache-2.0
"""
DuckDB reads the CSV of hostlat fleet export as the rows of the store: their number, the types of all columns without
being told them, sums, and texts with quotes, commas, line ends, control characters and broken UTF-8: its bytes are
U+FFFD in the CSV, for DuckDB refuses a file with one of them.
"""
import json
import os
import sqlite3
import subprocess
import tempfile

from lib import check, npm
from lib.storing import export, fleet, recordings

READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "duckdb_read.js")
PACKAGE = "@duckdb/node-api@1.5.6-r.1"
packages = []       # the folder that has them
TYPES = {"INTEGER": "BIGINT", "TEXT": "VARCHAR"}
TEXTS = (b'a "quoted" one', b",,", b"two\r\nlines", b"\n", b'"', b"'; DROP TABLE x; --", b"a\x01b\x1b[2J\x7f", b"\t tab ",
         "ü€😀".encode(), b"%s%n$1", b"\\N", b"1e5", b"true", b"2026-11-28", b"#x")
BROKEN = b"\xff\xfe", b"\xc3,\"\n", b"\xe2\x82", b"a\x85\xed\xa0\x80", b"\xc0\x80"


def utf_8(text):
    """Returns a text of the store as CSV has it: U+FFFD for each byte that is not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError as e:
        return utf_8(text[:e.start]) + "\ufffd" + utf_8(text[e.start + 1:])


def duckdb(sql):
    done = subprocess.run(["node", READER], input=sql, capture_output=True, text=True, timeout=60, check=False, cwd=packages[0])
    check.equal(f"exit code of DuckDB ({done.stderr[-500:]})", done.returncode, 0)
    return json.loads(done.stdout)


def names_of(columns, kind):
    return [name for _, name, type_of, *_ in columns if type_of == kind]


class Exported:
    """A store of the golden fleet, with these commands, and its CSV."""

    def __init__(self, folder, commands):
        store = f"{folder}/fleet.db"
        fleet("init", "--store", store)
        fleet("ingest", "--store", store, "--window", "10s", *recordings(folder))
        self.db = sqlite3.connect(store)
        self.db.text_factory = bytes
        self.columns = self.db.execute("PRAGMA table_info(hostlat_connections)").fetchall()
        self.columns = [(at, name.decode(), kind.decode()) for at, name, kind, *_ in self.columns]
        keys = self.db.execute("SELECT host, recording_ns, window_ns, netns, cookie FROM hostlat_connections").fetchall()
        for i, key in enumerate(keys):
            self.db.execute("UPDATE hostlat_connections SET command = CAST(? AS TEXT) WHERE host = CAST(? AS TEXT) AND "
                            "recording_ns = ? AND window_ns = ? AND netns = ? AND cookie = ?",
                            (commands[i % len(commands)], *key))
        self.db.commit()
        self.csv = f"{folder}/connections.csv"
        with open(self.csv, "wb") as out:
            out.write(export(store))

    def rows(self, names):
        return sorted(tuple(utf_8(one) if isinstance(one, bytes) else one for one in row)
                      for row in self.db.execute(f"SELECT {', '.join(names)} FROM hostlat_connections"))


def read_by_duckdb(commands):
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        exported = Exported(folder, commands)
        source = f"read_csv('{exported.csv}')"
        names = [name for _, name, _ in exported.columns]
        numbers, texts = names_of(exported.columns, "INTEGER"), names_of(exported.columns, "TEXT")
        got = duckdb(f"SELECT {', '.join(names)} FROM {source}")
        check.equal("columns", got["names"], names)
        check.equal("types", got["types"], [TYPES[kind] for *_, kind in exported.columns])
        rows = sorted(tuple(int(value) if name in numbers else (value or "")
                            for name, value in zip(names, row, strict=True)) for row in got["rows"])
        check.true("rows to compare", len(rows) > 2 * len(commands))
        check.equal("number of rows", len(rows), len(exported.rows(["host"])))
        check.equal("rows", rows, exported.rows(names))
        check.equal("commands", {row[names.index("command")] for row in rows}, {utf_8(one) for one in commands})
        check.must_fail("changed rows", check.equal, "rows", rows, [(*row[:-1], row[-1] + "x") for row in rows])
        sums = duckdb(f"SELECT {', '.join(f'sum({name})' for name in numbers)} FROM {source}")["rows"][0]
        check.equal("sums", [int(one) for one in sums], [sum(row[names.index(name)] for row in rows) for name in numbers])
        return f"{len(rows)} rows, {len(numbers)} sums, {len(texts)} columns of texts"


def utf_8_texts():
    return read_by_duckdb(TEXTS)


def broken_utf_8():
    return read_by_duckdb((*TEXTS, *BROKEN))


def main():
    try:
        packages.append(npm.install(PACKAGE))
    except npm.Missing as e:
        check.skip(str(e))
    check.run([(utf_8_texts,), (broken_utf_8,)])


if __name__ == "__main__":
    main()
