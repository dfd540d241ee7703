# SPDX-License-Identifier: Apache-2.0
"""
Proves that the user and password of a URL open Debian's memcached with logins: by its file of
passwords (ASCII, meta commands) and by SASL (binary protocol). A wrong password, and none, end the
command with 2 and the server's words. gets and cas are counted alike by memcached. Controls: the right password, a server without logins.
"""
import contextlib
import json
import re
import shutil
import socket
import subprocess
import tempfile

from lib import check
from lib.servers import program
from lib.serving import HOSTLAT

PASSWORD = "s3cret p%w"
IN_URL = "s3cret%20p%25w"
PASSWORD_ASCII = "s3cret-p%w"     # without a space
ASCII_IN_URL = "s3cret-p%25w"
RUN = "--rate", 400, "--for", "500ms", "--connections", 4, "--workload", "keys=50,read=0.7,delete=0.1"


@contextlib.contextmanager
def memcached(*options, prepare=lambda folder: {}):
    """Yields the port of a memcached; `prepare` returns its further environment."""
    if not shutil.which("memcached"):
        check.skip("memcached is not installed")
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        variables = [f"{name}={value}" for name, value in prepare(folder).items()]
        with program("env", lambda port: [*variables, "memcached", "-l", "127.0.0.1", "-p", port, "-u", "root", "-t", "1",
                                          *(o.replace("DIR", folder) for o in options)]) as port:
            yield port


def command(url, *more):
    return subprocess.run([HOSTLAT, "load", url, *map(str, RUN), "--preload", "--json", *more], capture_output=True,
                          text=True, timeout=120, check=False)


def sound(url, *more):
    done = command(url, *more)
    check.true(f"a result of {url}: {done.returncode} {done.stderr}", done.returncode in (0, 3))
    got = json.loads(done.stdout)
    check.equal(f"failures of {url}", got["failures"], [])
    check.between("hits", got["requests"]["completed"] - got["requests"]["misses"], 100, 1000)
    for place, text in ("result", done.stdout), ("messages", done.stderr):
        check.true(f"no password in the {place}", "s3cret" not in text)


def refused(words, url, *more):
    done = command(url) if not more else subprocess.run([HOSTLAT, "load", url, *map(str, RUN), *more], text=True,
                                                        capture_output=True, timeout=120, check=False)
    check.equal(f"exit code of {url}: {done.stderr}", done.returncode, 2)
    check.true(f"'{words}' in {done.stderr}", words in done.stderr)


def by_file():
    def passwords(folder):
        with open(f"{folder}/passwords", "w", encoding="ascii") as f:
            f.write(f"other:x\napp:{PASSWORD_ASCII}\n")
        return {}

    with memcached("-Y", "DIR/passwords", prepare=passwords) as port:
        for scheme in "memcached", "memcached-meta":
            at = f"127.0.0.1:{port}"
            sound(f"{scheme}://app:{ASCII_IN_URL}@{at}")
            refused("the server refuses the user or the password: CLIENT_ERROR authentication failure",
                    f"{scheme}://app:wrong@{at}")
            with tempfile.NamedTemporaryFile("w") as login:
                login.write(f"app:{PASSWORD_ASCII}\n")
                login.flush()
                sound(f"{scheme}://{at}", "--auth", f"basic:@{login.name}")
            refused("CLIENT_ERROR authentication failure", f"{scheme}://nobody:{ASCII_IN_URL}@{at}")
            refused("the server refused to store the keys: 'CLIENT_ERROR ", f"{scheme}://{at}")
            refused("nothing was measured: the server refuses every request: 'CLIENT_ERROR unauthenticated'",
                    f"{scheme}://{at}", "--quiet")


def by_sasl():
    if not shutil.which("saslpasswd2"):
        check.skip("sasl2-bin is not installed")

    def passwords(folder):
        with open(f"{folder}/memcached.conf", "w", encoding="ascii") as f:
            f.write(f"mech_list: plain\npwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: {folder}/db\n")
        subprocess.run(["saslpasswd2", "-p", "-c", "-a", "memcached", "-f", f"{folder}/db", "-u",
                        socket.gethostname(), "app"], input=PASSWORD, text=True, check=True, timeout=60)
        return {"SASL_CONF_PATH": folder}

    with memcached("-S", prepare=passwords) as port:
        at = f"127.0.0.1:{port}"
        sound(f"memcached-binary://app:{IN_URL}@{at}")
        refused("the server refuses the user or the password: Auth failure.", f"memcached-binary://app:wrong@{at}")
        refused("Auth failure.", f"memcached-binary://{at}")


def stats(port):
    """memcached's own counters."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(b"stats\r\n")
        text = b""
        while not text.endswith(b"END\r\n"):
            text += s.recv(65536)
    return {k: int(v) for k, v in re.findall(r"STAT (\w+) (\d+)\r", text.decode())}


def cas():
    """Each cas sends the number that gets has returned; memcached counts the same as the result."""
    run = "--rate", "1000", "--for", "1s", "--json"
    for more, workload, contended in (
            (("--connections", "1"), "keys=40,key=normal:20:3,value=100,read=0.2,gets=0.2,cas=0.6", False),
            (("--connections", "8", "--threads", "2", "--outstanding", "4"), "keys=2,key=5,value=8,cas=1", True)):
        with memcached() as port:
            done = subprocess.run([HOSTLAT, "load", f"memcached://127.0.0.1:{port}", *run, *more, "--preload",
                                   "--workload", workload], capture_output=True, text=True, timeout=60, check=False)
            got, count = json.loads(done.stdout), stats(port)
            asked = got["requests"]["completed"]
            check.equal("failed", got["requests"]["failed"], 0)
            check.equal("misses are cas that came too late", got["requests"]["misses"], count["cas_badval"])
            check.equal("keys of cas are stored", count["cas_misses"], 0)
            cases = count["cas_hits"] + count["cas_badval"]
            check.equal("all requests", count["get_hits"] + cases + count["cmd_set"] - cases - got_keys(workload), asked)
            # A cas of each key comes after a gets.
            if contended:
                check.between("share of cas", cases / asked, 0.2, 0.51)
                check.between("hits", count["cas_hits"], 50, cases)
            else:
                check.between("share of cas", cases / asked, 0.2, 0.4)
                check.equal("hits", count["cas_hits"], cases)
    done = subprocess.run([HOSTLAT, "load", "memcached-meta://127.0.0.1:1", "--rate", "1", "--workload", "cas=1"],
                          capture_output=True, text=True, timeout=60, check=False)
    check.equal("another protocol", (done.returncode, done.stderr), (1, "hostlat: load: workload: memcached-meta has no cas\n"))


def got_keys(workload):
    """The number of keys, which --preload stores once."""
    return int(re.search(r"keys=(\d+)", workload).group(1))


def without_logins():
    """The ASCII login is a value: nobody can read it, and none is needed."""
    with memcached() as port:
        for scheme in "memcached", "memcached-meta":
            sound(f"{scheme}://app:{ASCII_IN_URL}@127.0.0.1:{port}")
            sound(f"{scheme}://127.0.0.1:{port}")
        with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
            s.sendall(b"get login\r\n")
            check.equal("get login", s.recv(100), b"END\r\n")
        refused("the server refuses the user or the password: Unknown command",
                f"memcached-binary://app:{IN_URL}@127.0.0.1:{port}")


check.run([(case,) for case in (by_file, by_sasl, without_logins, cas)])
