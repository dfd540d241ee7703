# SPDX-License-Identifier: Apache-2.0
"""
Proves that every part of a URL takes effect: Redis is asked for the database with the password,
HTTP gets the user, the path with letters beyond ASCII and the query without a path. No password is
in a result or a recording.
"""
import base64
import contextlib
import json
import os
import resource
import shutil
import subprocess
import tempfile

from lib import badserver, check, process, servers
from lib.serving import HOSTLAT

PASSWORD = "s3cret p%w"
IN_URL = "s3cret%20p%25w"


def load(url, *args):
    command = [HOSTLAT, "load", url, "--rate", "200", "--for", "500ms", "--connections", "2", "--json", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def result(done):
    check.true(f"a result: {done.returncode} {done.stderr}", done.returncode in (0, 3))
    got = json.loads(done.stdout)
    check.equal("failed", got["requests"]["failed"], 0)
    check.true("replies", got["requests"]["completed"] > 50)
    return got


def redis_receives(port, *commands):
    with badserver.socket.create_connection(("127.0.0.1", port)) as s:
        for words in commands:
            s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
            reply = s.recv(4096)
    return reply


@contextlib.contextmanager
def a_redis():
    if not shutil.which("redis-server"):
        check.skip("redis-server is not installed")
    with tempfile.TemporaryDirectory() as folder:
        port = servers.free_port("127.0.0.1")
        it = process.start(["redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", "",
                            "--requirepass", PASSWORD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            servers.wait_for(port, "127.0.0.1")
            yield port
        finally:
            it.terminate()
            it.wait()


def redis():
    with a_redis() as port:
        with tempfile.NamedTemporaryFile() as recorded_file:
            done = load(f"redis://:{IN_URL}@127.0.0.1:{port}/2", "--preload", "--workload", "keys=50,read=1",
                        "--record", recorded_file.name)
            got = result(done)
            recording = recorded_file.read()
        check.equal("misses", got["requests"]["misses"], 0)
        check.equal("target", got["setup"]["targets"], [f"redis://:***@127.0.0.1:{port}/2"])
        for place, text in ("result", done.stdout), ("messages", done.stderr), ("recording", str(recording)):
            check.true(f"no password in the {place}", "s3cret" not in text)
        login = (b"AUTH", PASSWORD.encode())
        check.equal("keys in 2", redis_receives(port, login, (b"SELECT", b"2"), (b"DBSIZE",)), b":50\r\n")
        check.equal("keys in 0", redis_receives(port, login, (b"DBSIZE",)), b":0\r\n")
        result(load(f"REDIS://default:{IN_URL}@127.0.0.1:{port}/0", "--preload", "--workload", "keys=50,read=1",
                    "--timestamps", "kernel"))
        check.equal("keys in 0", redis_receives(port, login, (b"DBSIZE",)), b":50\r\n")
        for url, reply in ((f"redis://:wrong@127.0.0.1:{port}", "WRONGPASS"),
                           (f"redis://:{IN_URL}@127.0.0.1:{port}/99", "DB index is out of range")):
            done = load(url)
            check.equal(f"exit code of {url}: {done.stderr}", done.returncode, 2)
            check.true(f"'{reply}' in {done.stderr}", reply in done.stderr)


def web(seen):
    def behave(_, c):
        for head, _ in c.http():
            lines = head.decode("ascii").split("\r\n")
            seen.add((lines[0], tuple(line for line in lines[1:] if line.startswith("Authorization"))))
            c.answer(1, badserver.PAGE)
    return behave


def http():
    login = "Authorization: Basic " + base64.b64encode(b"user:" + PASSWORD.encode()).decode("ascii")
    for url, path, head in (("HTTP://127.0.0.1:PORT?x=1", "/?x=1", ()),
                            ("http://127.0.0.1:PORT/münchen", "/m%C3%BCnchen", ()),
                            (f"http://user:{IN_URL}@127.0.0.1:PORT/a", "/a", (login,))):
        seen = set()
        it = badserver.Server(web(seen))
        got = result(load(url.replace("PORT", str(it.port))))
        it.close()
        check.equal(f"requests for {url}", seen, {(f"GET {path} HTTP/1.1", head)})
        check.true(f"no password in {got['setup']['targets']}", "s3cret" not in str(got["setup"]))


def a_recording_that_fails():
    """With too few descriptors nothing can be recorded, and no empty file is left."""
    it = badserver.Server(badserver.good)
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kept")
        for files in range(5, 12):
            done = subprocess.run([HOSTLAT, "load", f"memcached://127.0.0.1:{it.port}", "--rate", "100", "--for",
                                   "100ms", "--record", path], capture_output=True, text=True, timeout=120, check=False,
                                  preexec_fn=lambda n=files: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
            if "cannot record to" in done.stderr:
                refused += 1
                check.true(f"no file with {files} descriptors: {done.stderr}", not os.path.exists(path))
            if os.path.exists(path):
                os.unlink(path)
    it.close()
    check.true(f"refused {refused} times", refused > 0)


CASES = redis, http, a_recording_that_fails


if __name__ == "__main__":
    check.run([(case,) for case in CASES])
