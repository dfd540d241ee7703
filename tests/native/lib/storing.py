# SPDX-License-Identifier: Apache-2.0
"""Runs hostlat fleet, and storerun, on stores, compares their rows with those of SQLite, and makes recordings."""
import contextlib
import os
import subprocess
import tempfile

from lib import check, clickhouse

HOSTLAT, MKCONNS, STORERUN = os.environ["HOSTLAT"], os.environ["MKCONNS"], os.environ["STORERUN"]
RACKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli", "fleet", "two-racks")
TABLES = "hostlat_windows", "hostlat_connections"
VERSION = {"hostlat_windows": 3, "hostlat_connections": 5}      # column
WINDOW_NS = 7 * 3600 * 10**9
PUT_WINDOWS = 9     # several days

names = (f"store{i}" for i in range(1000))


def run_fleet(action, *args, code=0, password=clickhouse.PASSWORD):
    """Runs hostlat fleet, which has to end with this exit code. Returns its subprocess.CompletedProcess."""
    environment = os.environ | {"HOSTLAT_STORE_USER": "default", "HOSTLAT_STORE_PASSWORD": password}
    done = subprocess.run([HOSTLAT, "fleet", action, *args], capture_output=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL, env=environment)
    check.equal(f"exit code of fleet {action} ({done.stderr[-300:]})", done.returncode, code)
    return done


def fleet(action, *args, **more):
    """Returns the output of run_fleet()."""
    return run_fleet(action, *args, **more).stdout


def recordings(folder):
    """Returns recordings of the golden fleet of six hosts in two racks."""
    paths = []
    for name in sorted(one for one in os.listdir(RACKS) if one.startswith("conns")):
        paths.append(f"{folder}/{name}.hlat")
        subprocess.run([MKCONNS, f"{RACKS}/{name}", paths[-1]], check=True)
    return paths


def report(address, code=0):
    return fleet("report", "--json", "--store", address, "--since", "100d", "--topology", f"{RACKS}/hosts.csv",
                 "--topology", f"{RACKS}/links.csv", code=code)


def export(address):
    return fleet("export", "--store", address, "--since", "100d")


# ---- storerun ----


def run(address, *args, user="default", password=clickhouse.PASSWORD, **variables):
    environment = os.environ | variables
    if user is not None:
        environment |= {"HOSTLAT_STORE_USER": user, "HOSTLAT_STORE_PASSWORD": password}
    done = subprocess.run([STORERUN, address, *map(str, args)], capture_output=True, text=True, timeout=300, check=False,
                          env=environment)
    check.true(f"no password in {done.stdout[:500]}", password not in done.stdout + done.stderr or not password)
    return done.returncode, done.stdout


def good(*args, **more):
    code, out = run(*args, **more)
    check.equal(f"exit code of {args[1:]}: {out[-1000:]}", code, 0)
    return out


def fails(words, *args, **more):
    """Runs it, and expects an error that has these words."""
    code, out = run(*args, **more)
    check.equal(f"exit code of {args[1:]}: {out[-1000:]}", code, 1)
    check.true(f"'{words}' in {out[-1000:]}", words in out)


def latest(lines):
    """The lines (rows as lists) without doubles, and of the latest version of each window alone."""
    windows = {}
    for row, at in lines:
        key = tuple(row[:3])
        windows[key] = max(windows.get(key, 0), int(row[at]))
    return [row for i, (row, at) in enumerate(lines)
            if int(row[at]) == windows[tuple(row[:3])] and (not i or lines[i - 1][0] != row)]


def rows(address, table, *ranges, **more):
    out = good(address, "rows", table, *ranges, **more)
    check.true(f"no server is missing: {out[-200:]}", "unreachable" not in out)
    return latest([(line.split("\t"), VERSION[table]) for line in out.splitlines()])


def same(address, sqlite, *ranges):
    for table in TABLES:
        want = rows(sqlite, table, *ranges)
        check.true(f"rows of {table} to compare", len(want) > 0 or ranges)
        check.equal(f"rows of {table} {ranges}", rows(address, table, *ranges), want)


@contextlib.contextmanager
def pair(address):
    """Makes a store, and one in SQLite."""
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        sqlite = f"{folder}/fleet.db"
        for each in address, sqlite:
            good(each, "init")
            good(each, "init")
        yield sqlite


def both(addresses, *args):
    for address in addresses:
        good(address, *args)


def same_as_sqlite(address):
    with pair(address) as sqlite:
        for first, n, version in (0, PUT_WINDOWS, 10), (0, 3, 10), (2, 3, 11), (0, 1, 9):
            both((address, sqlite), "put", first, n, version)
            same(address, sqlite)
        for ranges in ((WINDOW_NS, 4 * WINDOW_NS), (1, 2), (0, WINDOW_NS * 99, "'", "\\N"), (0, WINDOW_NS, "\n", "\n"),
                       (0, WINDOW_NS, "ü€😀", "ü€😀"), (0, WINDOW_NS, "zz", "zzz")):
            same(address, sqlite, *ranges)
