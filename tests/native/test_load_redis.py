# SPDX-License-Identifier: Apache-2.0
"""
Proves with Debian's redis-server that a URL's ?protocol=3 makes each connection speak RESP3, over
TCP, TLS and a Unix socket, with the user and password in HELLO, and that pushes are no replies; that
the commands of --command are what the server runs. Keys of other nodes of a real cluster are failures of
their own, with advice. A server that refuses says why, and the command exits with 2. Controls: RESP2, the right
password, keys of the node itself.
"""
import csv
import json
import os
import socket
import subprocess
import tempfile
import time

from lib import badserver, check, process
from lib.redisserver import TAGS, ask, cluster, redis
from lib.servers import certificate, free_port
from lib.serving import HOSTLAT

PASSWORD = "s3cret"
RUN = "--rate", 400, "--for", "500ms", "--connections", 4, "--seed", 7


def command(url, *more):
    return subprocess.run([HOSTLAT, "load", url, *map(str, RUN), "--json", *map(str, more)], capture_output=True,
                          text=True, timeout=120, check=False)


def load(url, *more):
    done = command(url, *more)
    check.true(f"a result of {url}: {done.returncode} {done.stderr}", done.returncode in (0, 3))
    got = json.loads(done.stdout)
    check.true(f"replies: {got['requests']}", got["requests"]["completed"] > 50)
    return got


def sound(url, *more):
    got = load(url, *more)
    check.equal(f"failures of {url}", got["failures"], [])
    return got


def refused(words, url, *more):
    done = command(url, *more)
    check.equal(f"exit code of {url}: {done.stderr}", done.returncode, 2)
    for word in words:
        check.true(f"'{word}' in {done.stderr}", word in done.stderr)


def connections_of(port, version, login=()):
    """How many of the server's clients speak this version of RESP; a run must be going on."""
    clients = ask(port, *login, "CLIENT LIST TYPE normal").split("\n")
    return sum(f" resp={version}" in line and "cmd=client" not in line for line in clients)


def speaks(version, url, port, login=(), more=()):
    run = process.start([HOSTLAT, "load", url, "--rate", "200", "--for", "60s", "--connections", "4", "--json",
                         "--quiet", *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(200):
            if connections_of(port, version, login) == 4:
                return
            time.sleep(0.05)
    finally:
        run.terminate()
        run.communicate(timeout=60)
    raise check.Unexpected(f"{url} speaks RESP{version}")


def resp3():
    with redis("--unixsocket", "DIR/socket") as (port, folder):
        for url in f"redis://127.0.0.1:{port}", f"redis+unix://{folder}/socket":
            speaks(2, url, port)
            speaks(3, f"{url}?protocol=3", port)
        got = sound(f"redis://127.0.0.1:{port}/5?protocol=3", "--preload", "--workload", "keys=50,read=0.5,delete=0.1")
        check.equal("target", got["setup"]["targets"], [f"redis://127.0.0.1:{port}/5?protocol=3"])
        check.true("keys in 5", int(ask(port, "SELECT 5", "DBSIZE")[1:]) > 10)
        check.equal("keys in 0", ask(port, "DBSIZE"), ":0")
        refused(["DB index is out of range"], f"redis://127.0.0.1:{port}/99?protocol=3")
    with redis("--requirepass", PASSWORD) as (port, _):
        login = (f"AUTH {PASSWORD}",)
        speaks(3, f"redis://:{PASSWORD}@127.0.0.1:{port}?protocol=3", port, login)
        refused(["WRONGPASS"], f"redis://:wrong@127.0.0.1:{port}?protocol=3")
        refused(["NOAUTH"], f"redis://127.0.0.1:{port}?protocol=3")


def no_resp3():
    """Servers before Redis 6 do not know HELLO."""
    with redis("--rename-command", "HELLO", "") as (port, _):
        sound(f"redis://127.0.0.1:{port}")
        refused(["the server does not speak RESP3, which begins with Redis 6 (remove ?protocol=3 to measure with "
                 "RESP2): ERR unknown command"], f"redis://127.0.0.1:{port}?protocol=3")
    it = badserver.Server(badserver.replies(b"-NOPROTO unsupported protocol version\r\n"))
    refused(["does not speak RESP3", "NOPROTO"], f"redis://127.0.0.1:{it.port}?protocol=3")
    it.close()


def acl_and_tls():
    with tempfile.TemporaryDirectory() as folder:
        cert, key = certificate(folder, "IP:127.0.0.1")
        tls = free_port()
        with redis("--tls-port", str(tls), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert,
                   "--tls-auth-clients", "no") as (port, _):
            ask(port, f"ACL SETUSER app on >{PASSWORD} ~* +@all", "ACL SETUSER default off")
            login = (f"AUTH app {PASSWORD}",)
            for query, version in ("", 2), ("?protocol=3", 3):
                url = f"rediss://app:{PASSWORD}@127.0.0.1:{tls}{query}"
                speaks(version, url, port, login, ("--ca", cert))
                sound(url, "--ca", cert)
                refused(["certificate"], url)
                refused(["WRONGPASS"], f"rediss://app:wrong@127.0.0.1:{tls}{query}", "--ca", cert)
                refused(["WRONGPASS"], f"rediss://nobody:{PASSWORD}@127.0.0.1:{tls}{query}", "--ca", cert)


def samples_of(url, *more):
    """Returns the result, and how many samples there are of each type."""
    with tempfile.TemporaryDirectory() as folder:
        got = sound(url, *more, "--samples", f"{folder}/samples")
        with open(f"{folder}/samples", encoding="utf-8") as f:
            types = [row["type"] for row in csv.DictReader(f)]
    return got, {kind: types.count(kind) for kind in types}


def calls_of(port):
    """How often the server ran each command."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s, s.makefile("rb") as lines:
        s.sendall(b"INFO commandstats\r\n")
        text = lines.read(int(lines.readline()[1:])).decode()
    return {line.split("_")[1].split(":")[0]: int(line.split("calls=")[1].split(",")[0])
            for line in text.split("\n") if line.startswith("cmdstat_")}


def commands():
    """Each request is one of the commands, by weight; the server counts the same; RESP2 and RESP3."""
    texts = ["8:HSET h:{key} f {value}", "HGETALL 'h:{key}'", "EVAL 'return {1,{ARGV[1],false}}' 0 \"a\\n{seq}\"",
             "ZADD z {random:100} {key}", "ZRANGE z 0 -1 WITHSCORES", "LPOP none"]
    options = [word for text in texts for word in ("--command", text)]
    for query in "", "?protocol=3":
        with redis() as (port, _):
            url = f"redis://127.0.0.1:{port}{query}"
            got, types = samples_of(url, *options, "--workload", "keys=20,value=100", "--rate", "2000")
            check.equal("commands", got["setup"]["commands"], texts)
            names = "hset", "hgetall", "eval", "zadd", "zrange", "lpop"
            calls = calls_of(port)
            check.equal("by the server", [calls[name] for name in names],
                        [types[str(256 + i)] for i in range(len(texts))])
            check.between("share of the first", types["256"] / sum(types.values()), 8 / 13 - 0.1, 8 / 13 + 0.1)
            check.equal("misses", got["requests"]["misses"], calls["lpop"])
            check.equal("length of a value", ask(port, "HSTRLEN h:000000000000000000000000000003 f"), ":100")
            through_agents = sound(url, *options, "--workload", "keys=20,value=100", "--agents", "local,local")
            check.equal("commands of agents", through_agents["setup"]["commands"], texts)
            refused(["refuses every request: 'ERR unknown command 'HSTT'"], url, "--command", "HSTT {key}")
            refused(["refuses every request: 'ERR wrong number of arguments"], url, "--command", "HSET {key}")
            got = load(url, "--command", "GET z", "--command", "3:PING")
            check.equal("failures", [f["cause"] for f in got["failures"]], ["WRONGTYPE"])


def recorded():
    """A recording tells the same; two servers can be compared; a preload stores the keys of commands."""
    with redis() as (port, folder):
        url = f"redis://127.0.0.1:{port}"
        first = sound(url, "--preload", "--command", "GETRANGE {key} 0 3", "--command", "STRLEN {key}",
                      "--workload", "keys=30,value=9", "--record", f"{folder}/run.hlat")
        done = subprocess.run([HOSTLAT, "load", "--from", f"{folder}/run.hlat", "--json"], capture_output=True,
                              text=True, timeout=120, check=False)
        check.equal("the setup again", json.loads(done.stdout)["setup"], first["setup"])
        check.equal("keys", ask(port, "DBSIZE"), ":30")
        done = subprocess.run([HOSTLAT, "load", url, "--rates", "200:400:200", "--for", "500ms", "--command",
                               "PING", "--json"], capture_output=True, text=True, timeout=120, check=False)
        check.equal(f"runs: {done.stderr}", len(json.loads(done.stdout)["runs"]), 4)
        check.true("PING was run", calls_of(port)["ping"] > 100)


def denied():
    """Without a login, or a permission for all that is asked for, nothing is measured."""
    with redis("--requirepass", PASSWORD) as (port, _):
        begin = time.monotonic()
        refused(["nothing was measured: the server refuses every request: 'NOAUTH Authentication required.'"],
                f"redis://127.0.0.1:{port}", "--for", "60s")
        check.between("seconds until it ends", time.monotonic() - begin, 0, 30)
        ask(port, f"AUTH {PASSWORD}", f"ACL SETUSER app on >{PASSWORD} ~* +get +select +ping")
        url = f"redis://app:{PASSWORD}@127.0.0.1:{port}"
        sound(url)
        refused(["refuses every request: 'NOPERM this user has no permissions to run the 'set' command"], url,
                "--workload", "read=0")
        got = load(url, "--workload", "read=0.5")
        check.equal("failures", [f["cause"] for f in got["failures"]], ["NOPERM"])
        check.equal("all the others", got["failures"][0]["count"], got["requests"]["failed"])


def secrets():
    """User and password from a file or a variable: no list of processes, result or recording shows them."""
    with redis() as (port, folder):
        ask(port, f"ACL SETUSER app on >{PASSWORD} ~* +@all", f"CONFIG SET requirepass {PASSWORD}")
        path, url = f"{folder}/login", f"redis://127.0.0.1:{port}"

        def login(text):
            with open(path, "w", encoding="ascii") as f:
                f.write(f"{text}\n")
            os.environ["LOGIN"] = text

        for text in f"app:{PASSWORD}", f":{PASSWORD}":
            login(text)
            for source in f"@{path}", "env:LOGIN":
                for more in (), ("--agents", "local"):
                    got = sound(f"{url}?protocol=3", "--auth", f"basic:{source}", "--record", f"{folder}/hlat", *more)
                    with open(f"{folder}/hlat", "rb") as f:
                        check.true("no password is recorded", PASSWORD.encode() not in f.read())
                    check.true(f"no password in {got['setup']}", PASSWORD not in json.dumps(got))
        login("app:wrong")
        refused(["WRONGPASS"], url, "--auth", f"basic:@{path}")
        for text, words in ("app", "--auth: basic needs USER:PASSWORD"), ("app:", "--auth: Redis needs a password"), \
                           ("a" * 200 + ":b", "--auth: the user or the password is too long"):
            login(text)
            refused([words], url, "--auth", f"basic:@{path}")
        refused(["--auth: the environment variable NONE is not set"], url, "--auth", "basic:env:NONE")


def pushes():
    """The server pushes before each reply, behind it, and while no request is waiting."""
    push = b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n"

    def behave(_, c):
        c.requests(1, b"HELLO\r\n$1\r\n3\r\n")
        c.answer(1, b"|1\r\n+a\r\n+b\r\n%1\r\n+proto\r\n:3\r\n" + push)
        while n := c.requests(1, b"$3\r\nGET\r\n"):
            c.peer.sendall(push)
            c.answer(n, b"$1\r\nx\r\n" + push[:9])
            c.peer.sendall(push[9:] + push)

    it = badserver.Server(behave)
    sound(f"redis://127.0.0.1:{it.port}?protocol=3")
    it.close()
    it = badserver.Server(badserver.replies(b"$1\r\nx\r\n$1\r\ny\r\n"))
    got = command(f"redis://127.0.0.1:{it.port}")
    check.true(f"a reply that nobody asked for: {got.stdout}", "garbled" in got.stdout)
    it.close()


def one_node_of_a_cluster():
    """Keys of other nodes are failures of their own, with what to do; keys with a tag are not."""
    with cluster() as ports:
        got = load(f"redis://127.0.0.1:{ports[0]}")
        check.equal("causes", [(f["of"], f["cause"]) for f in got["failures"]], [("request", "MOVED")])
        check.equal("all failures", got["failures"][0]["count"], got["requests"]["failed"])
        check.between("share of other nodes", got["requests"]["failed"] / got["requests"]["scheduled"], 0.5, 0.8)
        text = subprocess.run([HOSTLAT, "load", f"redis://127.0.0.1:{ports[0]}", *map(str, RUN)], capture_output=True,
                              text=True, timeout=120, check=False).stdout
        check.true(f"advice: {text}", "requests were for keys of other nodes of the cluster (MOVED)" in text and
                   "a hash tag of its own, such as --command 'GET \\{a}{key}'" in text)
        for port, tag in zip(ports, TAGS):
            sound(f"redis://127.0.0.1:{port}", "--command", f"SET \\{{{tag}}}{{key}} {{value}}")
        # The first node is about to give a slot away, and no longer has its keys.
        node = ask(ports[1], "CLUSTER MYID").split("\r\n")[-1]
        check.equal("migrating", ask(ports[0], "FLUSHALL", f"CLUSTER SETSLOT 3300 MIGRATING {node}"), "+OK")
        done = command(f"redis://127.0.0.1:{ports[0]}", "--command", "GET \\{b}{key}")
        got = json.loads(done.stdout)
        check.equal("causes", [f["cause"] for f in got["failures"]], ["ASK"])
        check.equal("all fail", got["requests"]["completed"], 0)


check.run([(case,) for case in (resp3, no_resp3, acl_and_tls, denied, commands, recorded, secrets, pushes,
                                 one_node_of_a_cluster)])
