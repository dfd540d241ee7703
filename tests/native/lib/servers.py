# SPDX-License-Identifier: Apache-2.0
"""Servers of Debian's packages on a port of their own, as a load needs them."""
import contextlib
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time

from lib import check, process

NGINX = """
daemon off; master_process off; pid {dir}/pid; error_log {dir}/error.log; worker_processes 1; user root;
events {{ worker_connections 512; }}
http {{
    access_log off; root {dir}; keepalive_requests 100000000; client_body_temp_path {dir};
    proxy_temp_path {dir}; fastcgi_temp_path {dir}; uwsgi_temp_path {dir}; scgi_temp_path {dir};
    sendfile on;
    server {{
        listen {address}:{port}{listen};
        location / {{ return 200 "hello"; }}
        location /file {{ }}
    }}
}}
"""


FILE_BYTES = 1 << 30    # size of the file of zeros
AHEAD = "chrt", "--fifo", "10"  # priority above unrelated processes on this machine

# Program and URL's scheme.
KINDS = {
    "memcached": ("memcached", "memcached"), "redis": ("redis-server", "redis"),
    "nginx": ("nginx", "http"), "nginx-tls": ("nginx", "https"),
}


_reserved = []     # a name per port, which this process has until it ends


def free_port(address="127.0.0.1"):
    """Returns a port that the kernel gives to no process, and that no other running test takes."""
    for port in random.sample(range(20000, 32000), 1000):
        with contextlib.suppress(OSError), socket.socket() as it:
            it.bind((address, port))
            name = socket.socket(socket.AF_UNIX)
            name.bind(f"\0hostlat-test-port-{port}")
            _reserved.append(name)
            return port
    raise check.Unexpected("no port is free")


def wait_for(port, address="127.0.0.1"):
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
            return
        time.sleep(0.05)
    raise check.Unexpected(f"nothing listens on port {port}")


def certificate(folder, *names):
    """A self-signed certificate: (itself, its key). Without names it is this host's."""
    if not shutil.which("openssl"):
        check.skip("openssl is not installed")
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                    "-subj", "/CN=test", "-addext",
                    "subjectAltName=" + ",".join(names or ("IP:127.0.0.1",))], check=True,
                   timeout=120, capture_output=True)
    return cert, key


def tls_of(folder):
    """Returns nginx's settings for TLS."""
    cert, key = certificate(folder)
    return f" ssl; ssl_certificate {cert}; ssl_certificate_key {key}"


def command(name, port, folder, address="127.0.0.1", listen=""):
    if name == "memcached":
        return ["memcached", "-l", address, "-p", port, "-U", "0", "-u", "root", "-t", "1"]
    if name == "redis":
        return ["redis-server", "--bind", address, "--port", port, "--save", "",
                "--protected-mode", "no", "--dir", folder]
    path = os.path.join(folder, "nginx.conf")
    with open(os.path.join(folder, "file"), "wb") as f:
        f.truncate(FILE_BYTES)
    with open(path, "w", encoding="utf-8") as f:
        f.write(NGINX.format(dir=folder, port=port, address=address,
                             listen=tls_of(folder) if name == "nginx-tls" else listen))
    return ["nginx", "-c", path, "-e", os.path.join(folder, "error.log")]


@contextlib.contextmanager
def server(name, address="127.0.0.1", prefix=AHEAD, listen=""):
    """
    The URL of a fresh memcached, redis, nginx or nginx-tls, and its process. It is in the network
    namespace of the caller. `prefix`: words before the command; `listen`: more words behind nginx's
    address.
    """
    if not shutil.which(KINDS[name][0]):
        check.skip(f"{KINDS[name][0]} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        port = free_port(address)
        it = process.start([*prefix, *command(name, port, folder, address, listen)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(port, address)
            yield f"{KINDS[name][1]}://{address}:{port}", it
        finally:
            it.terminate()
            it.wait()


@contextlib.contextmanager
def program(name, arguments, port=None, stdout=subprocess.DEVNULL):
    """The port of that program, once it listens there; arguments(port) are its own."""
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    if not path:
        check.skip(f"{name} is not installed")
    port = port or free_port()
    it = process.start([path, *arguments(port)], stdout=stdout, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        yield port
    finally:
        it.terminate()
        it.wait(10)
