# SPDX-License-Identifier: Apache-2.0
"""
Proves by nginx's own log that requests have the method, fields, body and credentials of the
options, that client certificates, --sni, --connect-to and TLS resumption work, and that redirects
are told with their target; also through agents and `explain`.
"""
import contextlib
import json
import os
import subprocess
import tempfile

from lib import badserver, check, process
from lib.loading import load, reasons, why
from lib.servers import certificate, free_port, wait_for
from lib.serving import HOSTLAT

NGINX = """
daemon off; pid {dir}/pid; error_log {dir}/error.log; worker_processes 1; user root;
events {{ worker_connections 512; }}
http {{
    log_format all escape=json '{{"method":"$request_method","uri":"$request_uri","host":"$http_host",'
        '"agent":"$http_user_agent","auth":"$http_authorization","type":"$content_type","x":"$http_x_test",'
        '"length":"$content_length","body":"$request_body","sni":"$ssl_server_name",'
        '"reused":"$ssl_session_reused","subject":"$ssl_client_s_dn","user":"$remote_user"}}';
    access_log {dir}/access.log all; root {dir}; keepalive_requests 1000000; client_max_body_size 4m;
    client_body_buffer_size 4m; client_body_temp_path {dir}; proxy_temp_path {dir}; fastcgi_temp_path {dir};
    uwsgi_temp_path {dir}; scgi_temp_path {dir};
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://unix:{dir}/inner; }}
        location = /moved {{ return 301 https://example.org/new; }}
        location = /who {{ auth_basic "x"; auth_basic_user_file {dir}/users; try_files /small =404; }}
        location = /token {{ if ($http_authorization != "Bearer t0k.en") {{ return 401; }} return 200 "ok"; }}
        location = /small {{ }}
    }}
    server {{
        listen 127.0.0.1:{tls} ssl; keepalive_requests 10;
        ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem;
        ssl_client_certificate {dir}/cert.pem; ssl_verify_client on;
        location / {{ return 200 "ok"; }}
    }}
    server {{ listen unix:{dir}/inner; access_log off; location / {{ return 200 "ok"; }} }}
}}
"""

RUN = "--rate", 200, "--for", "500ms", "--connections", 4
DEFAULT = "hostlat/" + subprocess.run([HOSTLAT, "--version"], capture_output=True, text=True,
                                      check=True).stdout.split()[1]


class Nginx:
    def __init__(self, folder, port, tls):
        self.folder, self.port, self.tls = folder, port, tls
        self.url, self.tls_url = f"http://127.0.0.1:{port}", f"https://127.0.0.1:{tls}"
        self.cert, self.key = f"{folder}/cert.pem", f"{folder}/key.pem"

    def requests(self, got, *others):
        """What nginx logged since the last call: all of the run's requests."""
        path = f"{self.folder}/access.log"
        with open(path, "r+", encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
            f.truncate(0)
        if got:
            check.equal("failures", got["failures"], list(others))
            check.equal("logged", len(lines), got["requests"]["completed"])
            check.true(f"requests: {len(lines)}", len(lines) > 20)
        return lines


@contextlib.contextmanager
def nginx():
    with tempfile.TemporaryDirectory(prefix="hostlat") as folder:
        certificate(folder, "DNS:shop.example", "IP:127.0.0.1")
        it = Nginx(folder, free_port(), free_port())
        with open(f"{folder}/conf", "w", encoding="ascii") as f:
            f.write(NGINX.format(dir=folder, port=it.port, tls=it.tls))
        with open(f"{folder}/users", "w", encoding="ascii") as f:
            f.write("me:{PLAIN}pass-word\n")
        with open(f"{folder}/small", "w", encoding="ascii") as f:
            f.write("ok")
        os.chmod(folder, 0o755)
        path = next((p for p in ("/usr/sbin/nginx", "/usr/bin/nginx") if os.path.exists(p)), None)
        if not path:
            check.skip("nginx is not installed")
        started = process.start([path, "-c", f"{folder}/conf", "-e", f"{folder}/error.log"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(it.port)
            wait_for(it.tls)
            # Logs are written at the end of a request: nothing of what waited is left.
            it.requests(None)
            yield it
        finally:
            started.terminate()
            started.wait(10)


def all_have(lines, **expected):
    for line in lines:
        for key, value in expected.items():
            check.equal(f"{key} of {line}", line[key], value)


def methods_and_fields():
    with nginx() as it:
        lines = it.requests(load(it.url, *RUN))
        all_have(lines, method="GET", agent=DEFAULT, host=f"127.0.0.1:{it.port}", x="", body="", length="")
        got = load(f"{it.url}/a", *RUN, "-X", "DELETE", "-H", "Host: other.example", "-H", "user-agent: me",
                   "-H", "X-Test: a b", "-H", "Authorization: Bearer s3cret")
        lines = it.requests(got)
        all_have(lines, method="DELETE", agent="me", host="other.example", x="a b", auth="Bearer s3cret")
        check.equal("headers of the result", got["setup"]["request"]["headers"],
                    ["Host: other.example", "user-agent: me", "X-Test: a b", "Authorization: ***"])
        check.equal("method of the result", got["setup"]["request"]["method"], "DELETE")
        got = load(it.url, *RUN, "-X", "HEAD", "--outstanding", 4)
        all_have(it.requests(got), method="HEAD")
        all_have(it.requests(load(it.url, *RUN, "-X", "PUT", "-H", "User-Agent:")), agent="", length="0")
        lines = it.requests(load(it.url, *RUN, "--workload", "read=0.5,head=0.2,delete=0.2,value=9"))
        check.equal("methods", {line["method"] for line in lines}, {"GET", "HEAD", "DELETE", "POST"})


def bodies():
    with nginx() as it:
        got = load(f"{it.url}/items/{{key}}", *RUN, "--body", '{"n": {seq}, "r": {random:1000}}',
                   "-H", "Content-Type: application/json", "-H", "X-Test: {seq}", "-w", "keys=100,key=1")
        lines = it.requests(got)
        all_have(lines, method="POST", type="application/json")
        bodies_seen = [json.loads(line["body"]) for line in lines]
        check.equal("numbers", sorted(b["n"] for b in bodies_seen), list(range(len(lines))))
        check.true("random", all(0 <= b["r"] < 1000 for b in bodies_seen) and
                   len({b["r"] for b in bodies_seen}) > len(lines) / 2)
        for line, body in zip(lines, bodies_seen):
            check.equal("number in the field", line["x"], str(body["n"]))
            check.equal("length", int(line["length"]), len(line["body"]))
            check.true(f"key in {line['uri']}", 0 <= int(line["uri"].removeprefix("/items/")) < 100)
        check.true("keys", len({line["uri"] for line in lines}) > 20)
        path = f"{it.folder}/body"
        with open(path, "wb") as f:
            f.write(b"{key} {bogus}\n" * 50000)
        lines = it.requests(load(it.url, *RUN, "-X", "PUT", "--body", f"@{path}"))
        all_have(lines, method="PUT", body="{key} {bogus}\n" * 50000, type="application/octet-stream")


def credentials():
    with nginx() as it:
        names = {"basic": "me:pass-word", "bearer": "t0k.en"}
        for kind, url in ("basic", f"{it.url}/who"), ("bearer", f"{it.url}/token"):
            path = f"{it.folder}/secret"
            with open(path, "w", encoding="ascii") as f:
                f.write(names[kind] + "\n")
            os.environ["HOSTLAT_TEST_SECRET"] = names[kind]
            for source in f"@{path}", "env:HOSTLAT_TEST_SECRET":
                for agents in [], ["--agents", "local", "--agent-command", HOSTLAT]:
                    recording = f"{it.folder}/run"
                    got = load(url, *RUN, "--auth", f"{kind}:{source}", "--record", recording, *agents)
                    lines = it.requests(got)
                    check.true("user", kind == "bearer" or {line["user"] for line in lines} == {"me"})
                    check.equal("source", got["setup"]["request"]["auth"], f"{kind}:{source}")
                    again = subprocess.run([HOSTLAT, "load", "--from", recording, "--json"], check=False,
                                           capture_output=True, text=True, timeout=60).stdout
                    check.equal("set-up again", json.loads(again)["setup"], got["setup"])
                    with open(recording, "rb") as f:
                        check.true("no secret", names[kind] not in json.dumps(got) + again and
                                   names[kind].encode() not in f.read())
            got = load(url, *RUN, "-H", "Authorization: Bearer wrong")
            check.equal("refused", got["failures"][0]["cause"], "HTTP 401")
            it.requests(None)


def redirects():
    with nginx() as it:
        got = load(f"{it.url}/moved", *RUN)
        check.true(f"unexpected-status in {why(got)}", "unexpected-status" in reasons(got))
        evidence = dict(why(got))["unexpected-status"]
        for part in "replies were redirects (HTTP 301) to https://example.org/new", ": use that URL":
            check.true(f"'{part}' in '{evidence}'", part in evidence)
        check.equal("text", got["failures"][0]["text"], "301 to https://example.org/new")
        got = load(f"{it.url}/moved", *RUN, "-X", "HEAD")
        check.equal("text", got["failures"][0]["text"], "301 to https://example.org/new")
        return evidence


def certificates():
    """Client certificates, names, and connections elsewhere."""
    with nginx() as it:
        tls = "--ca", it.cert, "--cert", it.cert, "--key", it.key
        lines = it.requests(load(it.tls_url, *RUN, *tls))
        all_have(lines, subject="CN=test", sni="", host=f"127.0.0.1:{it.tls}")
        lines = it.requests(load(it.tls_url, *RUN, *tls, "--sni", "shop.example"))
        all_have(lines, sni="shop.example", host=f"127.0.0.1:{it.tls}")
        got = load("https://shop.example/", *RUN, *tls, "--connect-to", f"127.0.0.1:{it.tls}")
        all_have(it.requests(got), sni="shop.example", host="shop.example")
        check.equal("connect_to", got["setup"]["request"]["connect_to"], f"127.0.0.1:{it.tls}")
        got = load("https://shop.example/", *RUN, *tls, "--connect-to", f"localhost:{it.tls}",
                   "--agents", "local,local", "--agent-command", HOSTLAT, "-H", "X-Test: agent\\")
        all_have(it.requests(got), sni="shop.example", host="shop.example", x="agent\\")
        for args, message in (((it.tls_url, "--sni", "elsewhere.example"), "mismatch"),
                              (("https://shop.example", "--connect-to", f"127.0.0.1:{free_port()}"),
                               "127.0.0.1 port")):
            done = subprocess.run([HOSTLAT, "load", *args, *map(str, RUN), *tls], capture_output=True,
                                  text=True, timeout=60, check=False)
            check.equal(f"exit code: {done.stderr}", done.returncode, 2)
            check.true(f"'{message}' in '{done.stderr}'", message in done.stderr)


def resumption():
    with nginx() as it:
        tls = "--ca", it.cert, "--cert", it.cert, "--key", it.key
        for choice, expected in ("no", "."), ("yes", "r"):
            got = load(it.tls_url, *RUN, *tls, "--tls-resumption", choice)
            connections = got["connections"]
            logged = [line["reused"] for line in it.requests(got)]
            check.equal(f"{choice} is reported", got["setup"]["request"]["tls_resumption"], choice)
            # The first handshakes of the four connections are full ones.
            resumed = connections["tls_resumed"]
            check.equal("handshakes", connections["tls_handshakes"], got["requests"]["connects"])
            check.equal("resumed", resumed, connections["tls_handshakes"] - 4 if choice == "yes" else 0)
            check.equal(f"the last request's connection, by nginx: {logged}", logged[-1], expected)
            check.true(f"handshakes: {connections}", connections["tls_handshakes"] > 6)


def explained():
    """`explain` passes the options on to its load."""
    with nginx() as it, tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([HOSTLAT, "explain", f"https://shop.example:{it.tls}/x", "--rate", "50", "--for",
                               "1s", "-o", f"{folder}/out", "--ca", it.cert, "--cert", it.cert, "--key",
                               it.key, "--connect-to", f"127.0.0.1:{it.tls}", "-X", "PUT", "--body",
                               "a\nb\\c", "-H", "X-Test: 1", "--no-conns"], capture_output=True, text=True,
                              timeout=120, check=False)
        check.true(f"exit code {done.returncode}: {done.stderr}", done.returncode in (0, 3))
        lines = it.requests(None)
        check.true(f"requests: {len(lines)}", len(lines) > 20)
        all_have(lines, method="PUT", length="5", x="1", subject="CN=test", host=f"shop.example:{it.tls}")


def interim_replies():
    """103 before replies to GET and HEAD; the length in a reply to HEAD does not come."""
    def behave(_, c):
        while n := c.requests(1, end=b"\r\n\r\n"):
            c.answer(n, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")

    it = badserver.Server(behave)
    got = load(f"http://127.0.0.1:{it.port}/", *RUN, "-X", "HEAD")
    it.close()
    check.equal("failures", got["failures"], [])
    check.equal("completed", got["requests"]["completed"], got["requests"]["scheduled"])


check.run([(methods_and_fields,), (bodies,), (credentials,), (redirects,), (certificates,), (resumption,),
           (explained,), (interim_replies,)])
