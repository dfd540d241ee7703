# SPDX-License-Identifier: Apache-2.0
"""Proves that every protocol works with Debian's servers over TCP, UDP and Unix sockets, with
pipelining and reads of any size. Stored values are found and no others, refusals count as errors,
and each reply belongs to its request. Control: a server of another protocol. The servers are this
test's own."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from lib import check, process

ROUNDTRIP = os.environ["ROUNDTRIP"]
REQUESTS = 3000
LARGE = 5 << 20
DELETE = "2"    # an operation's number
NGINX = """
daemon off; pid {dir}/pid; error_log {dir}/error.log; worker_processes 1; {user}
events {{ worker_connections 64; }}
http {{
    access_log off; root {dir}/www; client_body_temp_path {dir}; proxy_temp_path {dir};
    fastcgi_temp_path {dir}; uwsgi_temp_path {dir}; scgi_temp_path {dir};
    keepalive_requests 1000000;
    server {{
        listen 127.0.0.1:{port}; listen unix:{dir}/socket;
        location = /busy {{ return 503; }}
        location = /empty {{ return 204; }}
        location = /close {{ keepalive_timeout 0; try_files /small =404; }}
        location = /chunked {{ ssi on; ssi_types *; try_files /large =404; }}
        location = /until-close {{ ssi on; ssi_types *; chunked_transfer_encoding off;
                                   try_files /small =404; }}
    }}
}}
"""


def free_port():
    """Free for TCP and UDP."""
    while True:
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            tcp.bind(("127.0.0.1", 0))
            with contextlib.suppress(OSError):
                udp.bind(tcp.getsockname())
                return tcp.getsockname()[1]


def connects(address):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family) as it:
        it.connect(address)
        return True
    return False


@contextlib.contextmanager
def server(name, arguments, addresses, prepare=None):
    """Yields its folder and port, once it listens at all of its addresses."""
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/")
    if not path:
        check.skip(f"{name} is not installed")
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        port = free_port()
        if prepare:
            prepare(folder, port)
        with open(f"{folder}/out", "wb") as out:
            started = process.start([path, *arguments(folder, port)], stdout=out, stderr=out)
        try:
            for _ in range(200):
                if all(map(connects, addresses(folder, port))) or started.poll() is not None:
                    break
                time.sleep(0.05)
            with open(f"{folder}/out", encoding="utf-8", errors="replace") as out:
                check.true(f"{name} listens: {out.read()}",
                           all(map(connects, addresses(folder, port))))
            yield folder, port
        finally:
            started.terminate()
            started.wait(10)


def local(_, port):
    return ("127.0.0.1", port),


def both(folder, port):
    return ("127.0.0.1", port), f"{folder}/socket"


def roundtrip(url, workload, *more, requests=REQUESTS, depth=16):
    done = subprocess.run([ROUNDTRIP, url, workload, str(requests), str(depth), "1", *more],
                          capture_output=True, text=True, timeout=120, check=False)
    check.true(f"{url} {workload}: {done.stdout}{done.stderr}", done.returncode == 0)
    return json.loads(done.stdout)


def counts(url, workload, expected, *more, **options):
    """Returns (ok, miss, error), summed over all operations."""
    got = roundtrip(url, workload, *more, **options)
    kinds = [value for value in got.values() if isinstance(value, dict)]
    seen = tuple(sum(kind[name] for kind in kinds) for name in ("ok", "miss", "error"))
    check.equal(f"{url} {workload}", seen, expected)
    return got


def store_and_find(url):
    """An empty server stores values, and finds them again."""
    n = REQUESTS
    counts(url, "keys=500,value=0", (0, n, 0))
    for i, value in enumerate(("uniform:0:1400", "etc", "7")):
        counts(url, f"keys={1000 + i},key=normal:60:20,value={value}", (n, 0, 0), "store")
    got = counts(url, "keys=1002,key=normal:60:20,value=500,read=0.5", (n, 0, 0))
    for name in got:
        if name != "closed":
            check.between(f"of {name}", got[name]["ok"], 0.45 * n, 0.55 * n)
    keys = 50
    counts(url, f"keys={keys},key=9,value=7,delete=1", (keys, n - keys, 0), "store")
    counts(url, "etc,read=1,keys=1000002,key=uniform:200:250,popularity=zipf:1", (0, n, 0))


def memcached_tcp():
    with server("memcached", lambda _, port: ["-u", "root", "-l", "127.0.0.1", "-p", port,
                                              "-U", port, "-m", "256"], local) as (_, port):
        for scheme in "memcached", "memcached-binary", "memcached-meta", "udp+memcached":
            url = f"{scheme}://127.0.0.1:{port}"
            with socket.create_connection(("127.0.0.1", port)) as it:
                it.sendall(b"flush_all\r\n")
                check.equal("flush_all", it.recv(100), b"OK\r\n")
            store_and_find(url)
        for scheme in "memcached", "memcached-binary", "memcached-meta":
            url = f"{scheme}://localhost:{port}"
            counts(url, "keys=20,value=uniform:900000:1000000", (400, 0, 0), "store",
                   requests=400, depth=4)
            counts(url, "keys=9,value=2M,read=0", (0, 0, 20), requests=20, depth=2)
        # Replies of many datagrams.
        with socket.create_connection(("127.0.0.1", port)) as it:
            it.sendall(b"set 0 0 0 20000\r\n" + b"x" * 20000 + b"\r\n")
            check.equal("set", it.recv(100), b"STORED\r\n")
        counts(f"udp+memcached://127.0.0.1:{port}", "keys=1,key=1", (200, 0, 0), requests=200,
               depth=4)


def memcached_unix():
    with server("memcached", lambda folder, _: ["-u", "root", "-s", f"{folder}/socket"],
                lambda folder, _: (f"{folder}/socket",)) as (folder, _):
        store_and_find(f"memcached+unix://{folder}/socket")
        counts(f"memcached-binary+unix://{folder}/socket", "keys=1000,key=normal:60:20",
               (REQUESTS, 0, 0), "store")


def redis():
    with server("redis-server", lambda folder, port: [
            "--port", port, "--bind", "127.0.0.1", "--unixsocket", f"{folder}/socket",
            "--dir", folder, "--save", "", "--appendonly", "no"], both) as (folder, port):
        with socket.create_connection(("127.0.0.1", port)) as it:
            for url in f"redis://127.0.0.1:{port}", f"redis+unix://{folder}/socket":
                it.sendall(b"FLUSHALL\r\n")
                check.equal("FLUSHALL", it.recv(100), b"+OK\r\n")
                store_and_find(url)
                counts(url, "keys=20,value=uniform:900000:2M", (200, 0, 0), "store",
                       requests=200, depth=4)
            it.sendall(b"DEL 0\r\nLPUSH 0 x\r\n")
            time.sleep(0.1)
            check.true("a list is stored", it.recv(100).endswith(b":1\r\n"))
        counts(f"redis://127.0.0.1:{port}", "keys=1,key=1", (0, 0, REQUESTS))


def nginx():
    def prepare(folder, port):
        os.mkdir(f"{folder}/www")
        for name, size in ("small", 600), ("large", LARGE):
            with open(f"{folder}/www/{name}", "wb") as out:
                out.write(b"HTTP/1.1 200 OK\r\n\r\n0\r\n\r\n"[:size] * (size // 24))
        with open(f"{folder}/conf", "w", encoding="ascii") as out:
            out.write(NGINX.format(dir=folder, port=port,
                                   user="user root;" if os.geteuid() == 0 else ""))

    with server("nginx", lambda folder, _: ["-c", f"{folder}/conf", "-p", folder], both,
                prepare) as (folder, port):
        for base in f"http://127.0.0.1:{port}", f"http+unix://{folder}/socket:":
            n = REQUESTS
            for path, expected in {"/small?q=1": (n, 0, 0), "/nothing": (0, n, 0),
                                   "/busy": (0, 0, n), "/empty": (n, 0, 0)}.items():
                got = counts(base + path, "read=1", expected)
                check.equal(f"{path}: closed", got["closed"], 0)
            counts(base + "/small", "read=0,value=3000", (0, 0, n))    # 405: it takes no POST
            counts(base + "/large", "read=1", (50, 0, 0), requests=50, depth=4)
            got = counts(base + "/chunked", "read=1", (50, 0, 0), requests=50, depth=4)
            check.equal("/chunked: closed", got["closed"], 0)
            for path in "/close", "/until-close":
                got = counts(base + path, "read=1", (200, 0, 0), requests=200, depth=1)
                check.equal(f"{path}: closed", got["closed"], 200)


def our_own(protocol):
    """hostlat serve, with workers that overtake each other where ids tell the replies apart."""
    by_id = protocol in ("synthetic", "echo", "r2p2")
    udp = protocol == "r2p2"

    def arguments(folder, port):
        return ["serve", "--protocol", protocol, "--workers", 8 if by_id else 1,
                "--service", "exponential:20us", "--reply-size", 3000,
                f"udp:127.0.0.1:{port}" if udp else f"127.0.0.1:{port}",
                *([] if udp else [f"unix:{folder}/socket"])]

    with server(os.environ["HOSTLAT"], arguments, (lambda *_: ()) if udp else both) as (
            folder, port):
        time.sleep(0.5 if udp else 0)
        for url in f"{protocol}://127.0.0.1:{port}", f"{protocol}+unix://{folder}/socket":
            if not (udp and "unix" in url):
                most = "1400" if udp else "3000"
                workload = f"read=1,request=uniform:0:{most},reply=uniform:0:{most}"
                counts(url, workload, (REQUESTS, 0, 0))
                for scheme in {"memcached": ("", "-meta"), "redis": ("",)}.get(protocol, ()):
                    got = counts(url.replace(protocol, protocol + scheme, 1), "keys=99,read=0.5,delete=0.3",
                                 (REQUESTS, 0, 0))
                    check.between("deleted", got[DELETE]["ok"], 0.25 * REQUESTS, 0.35 * REQUESTS)
                if protocol in ("synthetic", "r2p2"):
                    counts(url, workload + ",service=bimodal:0.9:1us:300us", (REQUESTS, 0, 0),
                           depth=64)


def a_wrong_reply_is_seen():
    """The control: a server of another protocol."""
    with server("memcached", lambda _, port: ["-u", "root", "-l", "127.0.0.1", "-p", port],
                local) as (_, port):
        for scheme in "redis", "http":
            check.must_fail(f"memcached as {scheme}", counts, f"{scheme}://127.0.0.1:{port}",
                            "keys=5,read=1", (0, 0, 10))


check.run([(case,) for case in (memcached_tcp, memcached_unix, redis, nginx,
                                a_wrong_reply_is_seen)] +
          [(our_own, protocol) for protocol in ("synthetic", "echo", "r2p2", "memcached", "redis",
                                                "http")])
