# SPDX-License-Identifier: Apache-2.0
"""A current ClickHouse engine (the npm package chdb) behind an HTTP server for tests."""
import contextlib
import os
import subprocess
import tempfile

from lib import clickhouse, npm, process, servers

PACKAGE = "chdb@3.4.0"
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "chdb_serve.js")


class Server:
    """The server. `where` is its part of an address."""

    def __init__(self, folder, packages):
        port = servers.free_port()
        self.where = f"127.0.0.1:{port}"
        self.process = process.start(
            ["node", SERVER, port, folder], stays=True, cwd=packages, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"CHDB_USER": "default", "CHDB_PASSWORD": clickhouse.PASSWORD})
        servers.wait_for(port)

    def ask(self, sql):
        """Returns the engine's answer; OSError for an error."""
        return clickhouse.ask(self.where, sql)


@contextlib.contextmanager
def server():
    """Yields a server; raises npm.Missing without the package."""
    packages = npm.install(PACKAGE)
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        one = Server(folder, packages)
        try:
            yield one
        finally:
            one.process.kill()
            one.process.wait()
