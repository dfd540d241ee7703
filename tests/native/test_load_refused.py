# SPDX-License-Identifier: Apache-2.0
"""Proves that a load that cannot begin reports the server's own words, within --timeout, and exits
with 2: closed connections, a limit of connections, a client certificate, a full backlog, no local
port. Control: each has a load that begins."""
import contextlib
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from lib import check, netns, process
from lib.servers import certificate, free_port, wait_for
from lib.serving import HOSTLAT

SHORT = "--rate", "200", "--for", "500ms", "--timeout", "1s", "--quiet"


def load(*args, ahead=()):
    """(exit code, what it says on standard error, the time it took)"""
    begin = time.monotonic()
    done = subprocess.run([*ahead, HOSTLAT, "load", *map(str, args)], capture_output=True,
                          text=True, timeout=120, check=False)
    return done.returncode, done.stderr, time.monotonic() - begin


def refused(*args, message, short=SHORT, **options):
    code, err, _ = load(*args, *short, **options)
    check.equal(f"exit code: {err}", code, 2)
    for words in message if isinstance(message, tuple) else (message,):
        check.true(f"says '{words}': {err}", words in err)
    return err.strip().removeprefix("hostlat: ")


def begins(*args, **options):
    """It measures: what it makes of so few requests doesn't matter."""
    code, err, _ = load(*args, *SHORT, **options)
    check.true(f"exit code {code}: {err}", code in (0, 3))


@contextlib.contextmanager
def accepting(behave, backlog=512):
    """behave(connection) in a thread for each."""
    it = socket.create_server(("127.0.0.1", 0), backlog=backlog)

    def one(peer):
        with contextlib.suppress(OSError), peer:
            behave(peer)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = it.accept()
                threading.Thread(target=one, args=(peer,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield it.getsockname()[1]
    finally:
        it.close()


def answer(peer):
    while peer.recv(65536):
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def close(_):
    pass


def close_when_asked(peer):
    peer.recv(65536)


def close_later(_):
    """As what first connects to something else."""
    time.sleep(0.005)


def closes_at_once():
    with accepting(answer) as port:
        begins(f"http://127.0.0.1:{port}/", "--connections", 4)
    for behave in close, close_later:
        for connections in 1, 4, 200:
            with accepting(behave) as port:
                refusal = refused(f"http://127.0.0.1:{port}/", "--connections", connections,
                                  message="accepts connections and closes them without a reply")
    return refusal


def maximum_of_connections():
    path = shutil.which("redis-server")
    if not path:
        check.skip("redis-server is not installed")
    port = free_port()
    process.start([path, "--port", port, "--maxclients", 100, "--tcp-backlog", 4096, "--save", ""],
                  stdout=subprocess.DEVNULL)
    wait_for(port)
    begins(f"redis://127.0.0.1:{port}", "--connections", 50)
    return refused(f"redis://127.0.0.1:{port}", "--connections", 1000,
                   short=("--rate", "200", "--for", "500ms", "--timeout", "5s", "--quiet"),
                   message=("100 of 1000 connections stay open; the server closes the other connections: "
                            "'ERR max number of clients reached'", "--connections 100"))


def tls_server(folder, version, wanted):
    """One that verifies clients against the certificate that it has itself."""
    cert, key = certificate(folder, "IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(cert, key)
    if wanted:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cert)

    def behave(peer):
        with context.wrap_socket(peer, server_side=True) as it:
            answer(it)

    return accepting(behave), cert, key


def client_certificate(version):
    version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[version]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere:
        server, cert, key = tls_server(folder, version, True)
        other, other_key = certificate(elsewhere, "IP:127.0.0.1")
        both = os.path.join(elsewhere, "both.pem")
        with open(both, "w", encoding="ascii") as f:
            for path in cert, key:
                with open(path, encoding="ascii") as part:
                    f.write(part.read())
        with server as port:
            url = f"https://127.0.0.1:{port}/"
            few = "--connections", 2
            begins(url, "--ca", cert, "--cert", cert, "--key", key, *few)
            begins(url, "--ca", cert, "--cert", both, *few)
            refusal = refused(url, "--ca", cert, *few,
                              message="the server requests a client certificate (use --cert, --key)")
            refused(url, "--ca", cert, "--cert", other, "--key", other_key, *few,
                    message="TLS: tlsv1 alert unknown ca")
            refused(url, "--ca", cert, "--cert", cert, "--key", other_key, message="cannot read a private key")
            refused(url, "--ca", cert, "--cert", cert + "x", "--key", key, message="certificate")
        server, cert, _ = tls_server(folder, version, False)
        with server as port:
            begins(f"https://127.0.0.1:{port}/", "--ca", cert, *few)
    return refusal


def full_backlog():
    """It accepts one connection at a time, as wsgiref does, and lets five wait."""
    with accepting(answer, backlog=5) as port:
        begins(f"http://127.0.0.1:{port}/", "--connections", 4)
    with socket.create_server(("127.0.0.1", 0), backlog=5) as it:
        return refused(f"http://127.0.0.1:{it.getsockname()[1]}/", "--connections", 32,
                       message=("of 32 connections could be opened within 1 s", "backlog"))


def in_few_ports(*args, ports=100):
    name = netns.make()
    inside = ("ip", "netns", "exec", name)
    subprocess.run([*inside, "sysctl", "-qw",
                    f"net.ipv4.ip_local_port_range=40000 {40000 + ports - 1}"], check=True)
    process.start([*inside, HOSTLAT, "serve", "127.0.0.1:8080", "--protocol", "http"],
                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        if not subprocess.run([*inside, sys.executable, "-c", "import socket; "
                               "socket.create_connection(('127.0.0.1', 8080))"],
                              stderr=subprocess.DEVNULL, check=False).returncode:
            break
        time.sleep(0.05)
    return ("http://127.0.0.1:8080/", *args), inside


def no_local_port():
    args, inside = in_few_ports()
    begins(*args, "--connections", 50, ahead=inside)
    return refused(*args, "--connections", 200, ahead=inside,
                   message=("no local port is left after",
                            "net.ipv4.ip_local_port_range has 100", "several addresses of this host by --bind"))


def no_local_port_of_several():
    """Each address of --bind has the ports of the range."""
    args, inside = in_few_ports()
    begins(*args, "--connections", 200, "--bind", "127.0.0.2,127.0.0.3,127.0.0.4", ahead=inside)
    return refused(*args, "--connections", 300, "--bind", "127.0.0.2,127.0.0.3", ahead=inside,
                   message=("no local port is left after", "has 100 for each address of --bind",
                            "more addresses of --bind"))


def nobody_listens():
    port = free_port()
    return refused(f"http://127.0.0.1:{port}/", message=("Connection refused", "is the server running"))


def tls_or_not():
    """A server with TLS is asked without, one without it with, one with a certificate unknown here."""
    with tempfile.TemporaryDirectory() as folder:
        server, cert, _ = tls_server(folder, ssl.TLSVersion.TLSv1_3, False)
        with server as port:
            begins(f"https://127.0.0.1:{port}/", "--ca", cert, "--connections", 2)
            refused(f"https://127.0.0.1:{port}/", "--connections", 2,
                    message=("TLS: self-signed certificate",
                             "(--ca FILE trusts the certificates in FILE, --insecure any)"))
    with accepting(close_when_asked) as port:
        refused(f"http://127.0.0.1:{port}/", "--connections", 2,
                message="without a reply (does the server speak TLS, or another protocol?)")
    with accepting(answer) as port:
        return refused(f"https://127.0.0.1:{port}/", "--connections", 2,
                       message="TLS: the server does not use TLS (use http://, h2c:// or redis://)")


def too_few_descriptors():
    """The limit that stands in the way is named, and not the one that would do."""
    with accepting(answer) as port:
        few = ("prlimit", "--nofile=64:64", "setpriv", "--bounding-set=-sys_resource",
               "--inh-caps=-sys_resource")
        begins(f"http://127.0.0.1:{port}/", "--connections", 4, ahead=("prlimit", "--nofile=64:4096"))
        return refused(f"http://127.0.0.1:{port}/", "--connections", 200, ahead=few,
                       message="open files, but this process may open only 64; raise the limit")


def keys_not_stored():
    path = shutil.which("redis-server")
    if not path:
        check.skip("redis-server is not installed")
    port = free_port()
    process.start([path, "--port", port, "--requirepass", "x", "--save", ""],
                  stdout=subprocess.DEVNULL)
    wait_for(port)
    return refused(f"redis://127.0.0.1:{port}", "--preload", "--workload", "keys=10",
                   message=("the server refused to store the keys", "NOAUTH"))


check.run([(check.busy(case), *args) for case, *args in [
    (closes_at_once,), (maximum_of_connections,), (client_certificate, "1.2"),
    (client_certificate, "1.3"), (full_backlog,), (no_local_port,), (no_local_port_of_several,), (nobody_listens,),
    (tls_or_not,), (too_few_descriptors,), (keys_not_stored,),
]])
