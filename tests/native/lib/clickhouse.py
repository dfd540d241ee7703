# SPDX-License-Identifier: Apache-2.0
"""ClickHouse servers of Debian's package, as shards of one cluster, on ports of their own."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from lib import check, process, servers

PASSWORD = "p'w \\x"       # of the user "default"
BETWEEN = "shard-password"  # of the user that servers are to each other

USERS = """<?xml version="1.0"?>
<yandex>
    <profiles>
        <default><max_memory_usage>1000000000</max_memory_usage></default>
        <short><max_result_rows>20</max_result_rows><result_overflow_mode>break</result_overflow_mode>
            <max_block_size>10</max_block_size></short>
    </profiles>
    <users>
        <default><password>{password}</password><networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile><quota>default</quota></default>
        <shard><password>{between}</password><networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile><quota>default</quota></shard>
        <short><password></password><networks><ip>127.0.0.1</ip></networks>
            <profile>short</profile><quota>default</quota></short>
    </users>
    <quotas><default></default></quotas>
</yandex>
"""

CONFIG = """<?xml version="1.0"?>
<yandex>
    <logger><level>information</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
    <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
    {https}
    <path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>users.xml</users_config>
    <mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>1</uncompressed_cache_size>
    <default_profile>default</default_profile><default_database>default</default_database>
    <remote_servers><fleet>{shards}</fleet></remote_servers>
    <background_pool_size>2</background_pool_size>
    <background_schedule_pool_size>2</background_schedule_pool_size>
</yandex>
"""

SHARD = """<shard><replica><host>127.0.0.1</host><port>{port}</port>
    <user>shard</user><password>{between}</password></replica></shard>"""

HTTPS = """<https_port>{port}</https_port>
    <openSSL><server><certificateFile>{cert}</certificateFile><privateKeyFile>{key}</privateKeyFile>
        <verificationMode>none</verificationMode><loadDefaultCAFile>false</loadDefaultCAFile>
    </server></openSSL>"""


def ask(where, sql):
    """Returns the answer of the server at HOST:PORT; OSError for an error."""
    request = urllib.request.Request(f"http://{where}/", data=sql.encode(),
                                     headers={"X-ClickHouse-User": "default", "X-ClickHouse-Key": PASSWORD})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return reply.read().decode()


class Server:
    """One server. `where` is its part of an address."""

    def __init__(self, folder, http, tcp):
        self.folder, self.http, self.tcp = folder, http, tcp
        self.where = f"127.0.0.1:{http}"
        self.https = self.cert = self.process = None

    def configure(self, tcp_ports, tls):
        https = ""
        os.mkdir(self.folder)
        if tls:
            self.https = servers.free_port()
            self.cert, key = servers.certificate(self.folder)
            https = HTTPS.format(port=self.https, cert=self.cert, key=key)
        shards = "".join(SHARD.format(port=port, between=BETWEEN) for port in tcp_ports)
        with open(f"{self.folder}/config.xml", "w", encoding="utf-8") as f:
            f.write(CONFIG.format(folder=self.folder, http=self.http, tcp=self.tcp, https=https, shards=shards))
        with open(f"{self.folder}/users.xml", "w", encoding="utf-8") as f:
            f.write(USERS.format(password=PASSWORD, between=BETWEEN))

    def start(self):
        self.process = process.start(["clickhouse-server", f"--config-file={self.folder}/config.xml"], stays=True,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def await_ready(self):
        for _ in range(600):
            with contextlib.suppress(OSError):
                self.ask("SELECT 1")
                return
            time.sleep(0.05)
        raise check.Unexpected(f"clickhouse-server does not answer at {self.where}")

    def ask(self, sql):
        """Returns the server's answer; OSError for an error."""
        return ask(self.where, sql)

    def kill(self):
        self.process.kill()
        self.process.wait()


def serve(folder, n):
    """Returns n servers, started; the first one has TLS, too."""
    all_of_them = [Server(f"{folder}/{i}", servers.free_port(), servers.free_port()) for i in range(n)]
    for server in all_of_them:
        server.configure([one.tcp for one in all_of_them], server is all_of_them[0])
        server.start()
    for server in all_of_them:
        server.await_ready()
    return all_of_them


@contextlib.contextmanager
def cluster(n):
    """Yields n servers, each a shard of the cluster "fleet"."""
    os.environ["PATH"] += ":/usr/sbin"
    if not shutil.which("clickhouse-server"):
        check.skip("clickhouse-server is not installed")
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        all_of_them = serve(folder, n)
        try:
            yield all_of_them
        finally:
            for server in all_of_them:
                server.kill()
