# SPDX-License-Identifier: Apache-2.0
"""
Proves with three redis-servers that form a cluster that ?cluster=1 sends each request to the node of its key: all nodes
get requests, and none answers MOVED. Slots that move during a run cost no request, and are counted (MOVED), as are those
in transit (ASK). Requests of other nodes do not wait for a node that pauses. What cannot be measured is refused, with
what to do. Controls: without ?cluster=1 the other nodes' keys fail, and a run of one node counts nothing.
"""
import json
import subprocess
import tempfile
import time

from lib import badserver, check, process
from lib.redisserver import TAGS, ask, cluster, redis, until
from lib.servers import certificate, free_port
from lib.serving import HOSTLAT

RUN = "--rate", 1000, "--for", "1s", "--connections", 6, "--seed", 7


def command(url, *more):
    return subprocess.run([HOSTLAT, "load", url, *map(str, (*RUN, *more))], capture_output=True, text=True,
                          timeout=120, check=False)


def result(done):
    check.true(f"a result: {done.returncode} {done.stderr}", done.returncode in (0, 3))
    return json.loads(done.stdout)


def sound(url, *more):
    got = result(command(url, "--json", *more))
    check.equal("failures", got["failures"], [])
    check.true(f"replies: {got['requests']}", got["requests"]["completed"] > 100)
    check.equal("no reply is missing", got["requests"]["completed"],
                got["requests"]["scheduled"] - got["requests"]["unsent"])
    return got


def refused(code, words, url, *more):
    done = command(url, *more)
    check.equal(f"exit code of {url}: {done.stderr}", done.returncode, code)
    check.true(f"'{words}' in {done.stderr}", words in done.stderr)


def counted(got):
    return [got["connections"][name] for name in ("cluster_nodes", "moved", "asked")]


def calls(port, name):
    """How many commands of this name the node has run, and how many it has answered with MOVED or ASK."""
    stats = ask(port, "INFO commandstats") + ask(port, "INFO errorstats")
    ran = [line.split("calls=")[1].split(",")[0] for line in stats.split("\n") if line.startswith(f"cmdstat_{name}:")]
    return int(ran[0]) if ran else 0, any(word in stats for word in ("errorstat_MOVED", "errorstat_ASK"))


def reads(ports):
    return sum(calls(port, "get")[0] for port in ports)


def url(port, query="?cluster=1"):
    return f"redis://127.0.0.1:{port}/{query}"


def of_all_nodes(ports):
    """Each node gets about a third of the requests and stores its keys; none gets another's."""
    got = sound(url(ports[0]), "--preload", "--workload", "keys=3000,read=0.5")
    check.equal("counts", counted(got), [3, 0, 0])
    check.equal("keys", sum(int(ask(port, "DBSIZE")[1:]) for port in ports), 3000)
    check.equal("no misses", got["requests"]["misses"], 0)
    for port in ports:
        ran, misdirected = calls(port, "get")
        check.between(f"reads of {port}", ran, 60, 400)
        check.true(f"{port} answers neither MOVED nor ASK", not misdirected)
    got = sound(url(ports[1], "?protocol=3&cluster=1"), "--threads", 2, "--outstanding", 4)
    check.equal("counts of RESP3, two threads", counted(got), [3, 0, 0])
    got = sound(url(ports[2]), "--loop", "closed")
    check.equal("counts of a closed loop", counted(got), [3, 0, 0])
    got = sound(url(ports[0]), "--command", "3:EVAL 'return 1' 1 {key}", "--command", "SET x:{random:1000}:{key} {value}",
                "--command", "XREAD COUNT 1 STREAMS s{seq} 0", "--command", "PING", "--workload", "keys=3000")
    check.equal("counts of commands", counted(got), [3, 0, 0])
    check.true("no node got another's commands", not any(calls(port, "set")[1] for port in ports))
    text = command(url(ports[0])).stdout
    check.true(f"the line: {text}", "cluster: 3 masters; 0 requests were sent again after MOVED, 0 after ASK" in text)
    one = result(command(url(ports[0], ""), "--json"))
    check.equal("without cluster=1", [f["cause"] for f in one["failures"]], ["MOVED"])
    check.true("no counts", "moved" not in one["connections"])


def ids(ports):
    return [ask(port, "CLUSTER MYID").split("\r\n")[-1] for port in ports]


def reshard(ports, n):
    """Moves n slots of the second node to the first, with their keys, by redis-cli."""
    source, target = ids(ports)[1], ids(ports)[0]
    done = subprocess.run(["redis-cli", "--cluster", "reshard", f"127.0.0.1:{ports[0]}", "--cluster-from", source,
                           "--cluster-to", target, "--cluster-slots", str(n), "--cluster-yes"],
                          capture_output=True, text=True, timeout=60, check=False)
    check.equal(f"reshard: {done.stdout[-500:]}{done.stderr}", done.returncode, 0)


def of_moving_slots(ports):
    """Slots that move during the run: requests are sent again, none fails, and --from says the same."""
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        run = process.start([HOSTLAT, "load", url(ports[0]), "--rate", 1500, "--for", "60s", "--connections", 6,
                             "--workload", "keys=3000,read=0.5", "--preload", "--json", "--quiet", "--record",
                             f"{folder}/r"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        def sent(n):
            before = reads(ports)
            until("the run sends requests", lambda: reads(ports) > before + n)
        sent(300)
        reshard(ports, 300)
        sent(1500)      # to most of the 55 keys or so whose slots have moved
        run.send_signal(2)
        out, err = run.communicate(timeout=60)
        check.true(f"a result: {run.returncode} {err}", run.returncode in (0, 3))
        got = json.loads(out)
        check.equal("failures", got["failures"], [])
        nodes, moved, asked = counted(got)
        check.equal("nodes", nodes, 3)
        check.between(f"MOVED ({asked} ASK)", moved, 5, 2000)
        again = result(subprocess.run([HOSTLAT, "load", "--from", f"{folder}/r", "--json"], capture_output=True,
                                      text=True, timeout=60, check=False))
        check.equal("counts of --from", counted(again), [nodes, moved, asked])
    check.equal("afterwards none moves", counted(sound(url(ports[2]))), [3, 0, 0])


def of_a_slot_in_transit(ports):
    """A slot that is MIGRATING, without its keys: each request follows ASK, and the map stays as it is."""
    node = ids(ports)
    check.equal("importing", ask(ports[1], f"CLUSTER SETSLOT 3300 IMPORTING {node[0]}"), "+OK")
    check.equal("migrating", ask(ports[0], f"CLUSTER SETSLOT 3300 MIGRATING {node[1]}"), "+OK")
    for size, more in (10, ()), (300000, ("--outstanding", 4, "--rate", 200)):
        got = sound(url(ports[0]), "--command", f"SET \\{{{TAGS[0]}}}{size}:{{seq}} {{value}} PX 1000",
                    "--workload", f"value={size}", *more)
        done = got["requests"]["completed"]
        check.equal("counts", counted(got), [3, 0, done])
        check.equal("each was sent again", got["connections"]["resent_requests"], 0)
    for port in ports[:2]:
        check.equal("stable", ask(port, "CLUSTER SETSLOT 3300 STABLE"), "+OK")


@check.environment("others on the machine can stop the generator or a node for as long as the pause")
def of_a_node_that_pauses(ports):
    """Requests of two nodes do not wait for the third, whose requests count from when they were due."""
    run = process.start([HOSTLAT, "load", url(ports[0]), *map(str, RUN), "--for", "6s", "--timeout", "20s", "--json",
                         "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    before = calls(ports[0], "get")[0]
    until("the run sends requests", lambda: calls(ports[0], "get")[0] > before + 50)
    check.equal("pause", ask(ports[2], "CLIENT PAUSE 2500 ALL"), "+OK")
    time.sleep(1)
    for port in ports[:2]:
        begun = calls(port, "get")[0]
        until(f"{port} gets requests while another node pauses", lambda: calls(port, "get")[0] > begun + 50, 1.2)
    out, err = run.communicate(timeout=60)
    check.true(f"a result: {run.returncode} {err}", run.returncode in (0, 3))
    got = json.loads(out)
    check.equal("failures", got["failures"], [])
    check.equal("counts", counted(got), [3, 0, 0])
    check.true("p99 has the wait", got["latency"]["intended"]["quantiles"][2]["ns"] > 500_000_000)
    check.equal("the gate of the open loop sees the wait",
                [gate["pass"] for gate in got["gates"] if gate["name"] == "open-loop"], [False])


def of_agents(ports):
    """Each agent follows the cluster by itself, and the counts are their sum."""
    node = ids(ports)
    check.equal("importing", ask(ports[1], f"CLUSTER SETSLOT 3300 IMPORTING {node[0]}"), "+OK")
    check.equal("migrating", ask(ports[0], f"CLUSTER SETSLOT 3300 MIGRATING {node[1]}"), "+OK")
    got = sound(url(ports[0]), "--agents", "local,local", "--command", f"GET \\{{{TAGS[0]}}}{{seq}}")
    check.equal("counts of two agents", counted(got), [3, 0, got["requests"]["completed"]])
    for port in ports[:2]:
        check.equal("stable", ask(port, "CLUSTER SETSLOT 3300 STABLE"), "+OK")


def refusals(ports):
    """What cannot be measured, and what to do about it."""
    refused(1, "use --connections 6 or more, or fewer --threads", url(ports[0]), "--threads", 2, "--connections", 5)
    refused(1, "a cluster has only the database 0: remove /1", url(ports[0], "1?cluster=1"))
    refused(1, "a cluster (?cluster=1) must be the only server of a run", url(ports[0]), url(ports[1], ""))
    refused(1, "--connect-to cannot be combined with ?cluster=1", url(ports[0]), "--connect-to", "127.0.0.1")
    refused(2, "Connection refused; is the server running", url(free_port()))
    with redis() as (port, _):
        refused(2, "the server is not a node of a cluster: 'ERR This instance has cluster support disabled' (remove "
                "cluster=1 to measure this server alone)", url(port))
    with redis("--cluster-enabled", "yes", "--cluster-port", free_port()) as (port, _):
        refused(2, "no node of the cluster serves slots 0 to 16383; give all slots to masters", url(port))
        check.equal("slots", ask(port, "CLUSTER ADDSLOTSRANGE 0 99 101 16383"), "+OK")
        refused(2, "no node of the cluster serves slot 100; give", url(port))
    with redis("--cluster-enabled", "yes", "--cluster-port", free_port(), "--cluster-announce-ip", "127.0.0.1",
               "--cluster-announce-port", free_port()) as (port, _):
        check.equal("slots", ask(port, "CLUSTER ADDSLOTSRANGE 0 16383"), "+OK")
        refused(2, "Connection refused; the cluster gives this address to its clients", url(port))


def bad_replies():
    """Replies that are no map of slots end the command, in bounded time."""
    for reply, words in (b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\n?\r\n:1\r\n", "whose host name is unknown"), \
                        (b"*1\r\n*3\r\n:0\r\n:99999\r\n", "the reply to CLUSTER SLOTS violates the protocol"), \
                        (b"-NOAUTH Authentication required.\r\n", "refuses CLUSTER SLOTS: 'NOAUTH"), \
                        (b"*1\r\n", "no reply to CLUSTER SLOTS within --timeout"):
        it = badserver.Server(lambda _, c, reply=reply: (c.peer.sendall(reply), c.peer.recv(1 << 16), c.peer.recv(1)))
        refused(2, words, url(it.port), "--timeout", "1s")
        it.close()


def misdirecting(where):
    """A server that has all slots, and answers reads with MOVED."""
    def behave(server, c):
        while data := c.peer.recv(1 << 16):
            if b"CLUSTER" in data:
                c.peer.sendall(b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:%d\r\n" % server.port)
            else:
                c.peer.sendall(data.count(b"GET\r\n") * (b"-MOVED 1 %s\r\n" % where(server.port)))

    return badserver.Server(behave)


def bad_redirects():
    """A node that the map does not have, and nodes that disagree for ever, are failures with these names."""
    for where, cause, hops in (lambda port: b"127.0.0.1:1", "new-node", 0), (lambda port: b":%d" % port, "redirects", 5):
        it = misdirecting(where)
        got = json.loads(command(url(it.port), "--json").stdout)
        check.equal("causes", [f["cause"] for f in got["failures"]], [cause])
        check.true("all fail", not got["requests"]["completed"] and got["requests"]["failed"] > 10)
        check.equal("counts", counted(got), [1, hops * got["requests"]["failed"], 0])
        text = command(url(it.port)).stdout
        check.true(f"advice: {text}", {"new-node": "repeat the run", "redirects": "--cluster check"}[cause] in text)
        it.close()


def by_tls():
    """The nodes' ports of TLS, with RESP3; a certificate that is not trusted is refused before the run."""
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        cert, key = certificate(folder, "IP:127.0.0.1")
        tls = [free_port() for _ in range(3)]
        with cluster(lambda i: ("--tls-port", tls[i], "--tls-cert-file", cert, "--tls-key-file", key,
                                "--tls-ca-cert-file", cert, "--tls-auth-clients", "no", "--tls-cluster", "yes")):
            target = f"rediss://127.0.0.1:{tls[0]}?protocol=3&cluster=1"
            got = sound(target, "--ca", cert)
            check.equal("counts", counted(got), [3, 0, 0])
            check.equal("handshakes", got["connections"]["tls_handshakes"], 6)
            refused(2, "self-signed certificate (--ca FILE trusts the certificates in FILE", target)


def a_cluster():
    with cluster() as ports:
        of_all_nodes(ports)
        of_a_slot_in_transit(ports)
        of_agents(ports)
        of_a_node_that_pauses(ports)
        of_moving_slots(ports)
        refusals(ports)


check.run([(case,) for case in (a_cluster, by_tls, bad_replies, bad_redirects)])
