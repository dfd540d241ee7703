#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests answers to typing errors, help texts and shell completion: test_usage.py HOSTLAT"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import ptys

HOSTLAT = os.path.abspath(sys.argv.pop(1))
COMMANDS = ['explain', 'load', 'watch', 'conns', 'record', 'diagnose', 'compare', 'fleet', 'report', 'serve',
            'doctor', 'help', 'completion']
DURATION = 'takes a number and a unit (ns, us, ms, s, m, h, d)'

# Words after `hostlat`, and what the one line on stderr must say.
REFUSED = [
    ('wacth', "there is no command 'wacth'; did you mean 'watch'?"),
    ('frobnicate', "there is no command 'frobnicate'"),
    ('--verbose', "there is no option '--verbose'"),
    ('help wach', "there is no command and no word 'wach'; did you mean 'watch'?"),
    ('help host-nosy', "there is no command and no word 'host-nosy'; did you mean 'host-noisy'?"),
    ('help delayed', "there is no command and no word 'delayed'; did you mean 'delayed-ack'?"),
    ('help frobnicate', "'frobnicate'; 'hostlat --help' lists the commands, hostlat-causes(7) the words"),
    ('help watch more', "there is no command and no word 'watch more'"),
    ('help fleet rport', "there is no command and no word 'fleet rport'"),
    ('help store', "there is no command and no word 'store', but a page: man hostlat-store"),
    ('man fleet', 'SOURCE is missing; to read this one: man hostlat-fleet'),
    ('man hostlat-store', 'to read this one: man hostlat-store'),
    ('man hostlat', 'to read this one: man hostlat'),
    ('man frobnicate', "there is no page of 'frobnicate'; 'man hostlat' lists the pages"),
    ('fleet init --window 1h', '--window has no effect on init: leave it out (it is for ingest)'),
    ('completion csh', "SHELL takes one of bash, zsh, fish, not 'csh'"),
    ('completion', 'SHELL is missing'),
    ('watch --interval 5x', f"watch: --interval {DURATION}, 10ms to 1d, not '5x'"),
    ('watch --interval 5', "10ms to 1d, not '5'; did you mean '5s'?"),
    ('load null: --rate 1 -d 0.5', "100ms to 1d, not '0.5'; did you mean '0.5s'?"),
    ('load null: --rate 1 --max-time 5x', '--for takes a number and a unit'),
    ('watch -c 0', '--count takes a whole number, 1 or more'),
    ('serve 127.0.0.1:0 -p gopher', '--protocol takes one of synthetic'),
    ('serve 127.0.0.1:0 -w 0', '--workers takes a whole number, 1 to 1024'),
    ('record -o x --recording y', "--output is given twice, as 'x' and as 'y'"),
    ('explain http://h --rate 1 --folder x --output y', "--output is given twice, as 'x' and as 'y'"),
    ('explain --from x -o y --summary z', 'give one of them'),
    ('explain http://h --rate 1 -o x --size-limit 9', '--size-limit takes a number of bytes'),
    ('watch --interval=9ms', '10ms to 1d'),
    ('watch --interval', 'no value follows'),
    ('watch --intervall 1s', "there is no option '--intervall'; did you mean '--interval'?"),
    ('watch --count 0', '--count takes a whole number, 1 or more'),
    ('watch --count 1.5', '--count takes a whole number, 1 or more'),
    ('watch --count -1', '--count takes a whole number, 1 or more'),
    ('watch --stages link,raed', "did you mean 'read'?"),
    ('watch --stages nowhere', '--stages takes a comma-separated list of '),
    ('watch --stages=', '--stages takes'),
    ('watch --origin moon', '--origin takes one of auto, link, stack, deliver, sender'),
    ('watch --port 0', '--port takes a whole number, 1 to 65535'),
    ('watch --port 65536', '--port takes a whole number, 1 to 65535'),
    ('watch --port http', '--port takes a whole number, 1 to 65535'),
    ('watch --pid 0', '--pid takes a whole number, 1'),
    ('watch --pid memcached', '--pid takes a whole number, 1'),
    ('watch --memory lots', '--memory takes a number of bytes'),
    ('watch --json --json-lines', '--json cannot be combined with --json-lines'),
    ('watch --color blue', '--color takes one of auto, always, never'),
    ('watch --json=yes', '--json takes no value'),
    ('watch extra', "unexpected argument 'extra'"),
    ('watch -z', "there is no option '-z'"),
    ('conns --count 0', '--count takes a whole number, 1 or more'),
    ('conns --from x --by host', '--by takes one of app, peer, listener'),
    ('conns --from x --sort age', '--sort takes one of worst, bytes, losses, rtt, app, remote'),
    ('conns --from x --follow me', "--follow takes a connection's cookie, a whole number"),
    ('conns --peer x', '--peer needs --from FILE'),
    ('conns --from x --peer y --follow 1', '--peer cannot be combined with --follow'),
    ('conns --from x --peer y --count 1', '--peer cannot be combined with --count'),
    ('conns --from x --peer y --json-lines', '--peer shows totals, not intervals'),
    ('conns --calls', 'add --follow COOKIE, --record FILE or --json-lines'),
    ('conns --calls --json-lines --from x', '--calls cannot be combined with --from'),
    ('conns --calls --json-lines --collect inet-diag', 'inet-diag does not report calls'),
    ('conns --from x --follow 1 --by app', '--follow cannot be combined with --by'),
    ('record', 'is missing'),
    ('record -o', 'no value follows'),
    ('record -o x --for ever', f'--for {DURATION}'),
    ('record -o x --with everything', '--with takes a comma-separated list of watch'),
    ('record -o x --size-limit big', '--size-limit takes a number of bytes'),
    ('explain', 'URL is missing; it takes memcached://HOST:PORT'),
    ('explain --rate 5', 'URL is missing'),
    ('explain null: --rate 1 -o x', 'is reached without a network'),
    ('explain nonsense --rate 1 -o x', 'has no scheme'),
    ('diagnose', 'is missing'),
    ('diagnose x --slice 5', '--slice takes two percentiles'),
    ('diagnose x --slice 60:40', '--slice takes two percentiles'),
    ('diagnose x --slice 1:2 --slowest 5', '--slice cannot be combined with --slowest'),
    ('report', 'report: FILE is missing'),
    ('report x', '--output is missing'),
    ('report x -o -', '-o needs a file name'),
    ('report x -o ./x', 'x is an input: give the page another name'),
    ('report - - -o y', 'standard input can be read only once'),
    ('report x -o y --json', "there is no option '--json'"),
    ('compare', 'A is missing'),
    ('compare x', 'B is missing'),
    ('compare x y z', '3 recordings are given where A and B are expected'),
    ('compare --a x', '--b is missing: both sides take recordings'),
    ('compare --b x y', '--a is missing: both sides take recordings'),
    ('compare x --a y --b z', "'x' is of no side: give all recordings with --a or --b"),
    ('compare --a', '--a takes a file name, but no value follows'),
    ('compare --calibrate x y', '--calibrate takes at least 3 recordings of one set-up, not 2'),
    ('compare --calibrate x y z --slice 1:2', '--calibrate cannot be combined with --slice'),
    ('compare --calibrate --a x y z', '--calibrate cannot be combined with --a'),
    ('compare x y --slice 60:40', '--slice takes two percentiles'),
    ('compare x y --slice 1:2 --slowest 5', '--slice cannot be combined with --slowest'),
    ('load', 'load: URL is missing; it takes memcached://HOST:PORT'),
    ('load null: echo://x', 'load: --rate is missing; it takes a number per second'),
    ('load echo://x --agents local', '--rate is missing; it takes a number per second, or one with k or M (20000, 20k, '
     '1.5M); hostlat chooses one only for one URL, without --agents'),
    ('load echo://x --against echo://y', '--rate is missing: --against loads two servers alike'),
    ('load null: --rate 0', '--rate takes a number per second, or one with k or M'),
    ('load null: --rate 20x', '--rate takes'),
    ('load gopher://x --rate 1', 'gopher'),
    ('load null: --rate 1 --percentile 100', '--percentile takes a percentage between 0 and 100'),
    ('load null: --rate 1 --confidence 0', '--confidence takes a percentage between 0 and 100'),
    ('load null: --rate 1 --ci-width 10', f'--ci-width {DURATION}'),
    ('load null: --rate 1 --arrival sometimes', 'sometimes'),
    ('load null: --rate 1 --arrival ./times', 'which has a rate of its own'),
    ('load null: --rate 1 --workload fish=1', 'fish'),
    ('load null: --rate 1 --workload etcetera', "use etc, usr, KEY=VALUE,... or a file"),
    ('load echo://x --rate 1 --workload keys=9,value=100',
     '--workload: keys, value would do nothing: echo takes request'),
    ('load null: --rate 1 --workload etc', '--workload: base would do nothing: null takes request'),
    ('load synthetic://x --rate 1 --workload request=64,read=0.5',
     '--workload: read would do nothing: synthetic takes service, request, reply'),
    ('load http://x --rate 1 --workload key=30',
     '--workload: key would do nothing: http takes base, value, read'),
    ('load redis://x --rate 1 --workload etc,service=1us',
     '--workload: service would do nothing: redis takes base, keys, popularity, key, value, read'),
    ('load echo://x null: --rate 1 --workload reply=64',
     'echo (or another of the URLs) takes request'),
    ('load null: --rate 1 --preload', '--preload stores keys'),
    ('load http://x --rate 1 --preload', '--preload stores keys'),
    ('load null: --rate 1 --preload --against echo://x', '--preload stores keys'),
    ('load null: --rate 1 --agent-command x', '--agent-command needs --agents'),
    ('load null: --loop closed --arrival fixed', '--loop closed has no --arrival'),
    ('load null: --loop closed --dump-schedule x', '--loop closed has no schedule'),
    ('load null: --rate 1 --loop ajar', '--loop takes one of open, closed'),
    ('load null: --loop closed --rates 1:2:1', '--loop closed has no rate'),
    ('load null: --loop closed --find-max p99<1ms', '--loop closed has no rate'),
    ('load null: --rate 1 --timestamps wall', '--timestamps takes one of user, kernel, nic'),
    ('load memcached://h --rate 1 --workload head=0.1', 'workload: memcached has no head'),
    ('load null: --rate 1 -H X:1', '--header needs a URL of HTTP or gRPC'),
    ('load null: --rate 1 -X PUT', '--http-method and --body need a URL of HTTP'),
    ('load redis://h --rate 1 --body x', '--http-method and --body need a URL of HTTP'),
    ('load grpc://h/s/m --rate 1 --body x', '--http-method and --body need a URL of HTTP'),
    ('load grpc://h/s/m --rate 1 --expect 200', '--expect needs a URL of HTTP'),
    ('load grpc://h/s/m --rate 1 --preload', '--preload stores keys'),
    ('load h2c://h --rate 1 --preload', '--preload stores keys'),
    ('load h2c://h --rate 1 --insecure', '--insecure, --ca and --cert need a URL with TLS'),
    ('load grpc://h/s --rate 1', 'the path must name a service and its method; the form is '
     'grpc://[USER:PASSWORD@]HOST[:PORT]/PACKAGE.SERVICE/METHOD'),
    ('load grpc://h --rate 1', 'the path must name a service and its method'),
    ('load grpc://h/s/m/x --rate 1', 'the path must name a service and its method'),
    ('load grpc://h/s/m --rate 1 -w message=hex:0', "workload: message: takes @FILE, hex:DIGITS or base64:DIGITS"),
    ('load grpc://h/s/m --rate 1 -w message=base64:A', "workload: message: takes @FILE, hex:DIGITS or base64:DIGITS"),
    ('load grpc://h/s/m --rate 1 -w message=x', "workload: message: takes @FILE, hex:DIGITS or base64:DIGITS"),
    ('load grpc://h/s/m --rate 1 -w read=1', '--workload: read would do nothing: grpc takes message'),
    ('load http://h --rate 1 -w message=hex:00', '--workload: message would do nothing'),
    ('load http://h --rate 1 -H X', "--header takes 'NAME: VALUE', with a colon after the name"),
    ('load http://h --rate 1 -X PUT --workload value=9',
     '--workload: --http-method and --body make all requests alike'),
    ('load http://h --rate 1 --body {value} --workload read=0.5',
     '--workload: read would do nothing: http takes base, value'),
    ('load http://h --rate 1 --workload keys=10',
     '--workload: keys would do nothing: http takes base, value, read, delete, head'),
    ('load http://h/{key} --rate 1 --workload service=1us',
     'http takes base, keys, popularity, key, value, read, delete, head'),
    ('load http://h --rate 1 -X GET --body x', '--body: a GET request has no body'),
    ('load --from x -H X:1', '--from cannot be combined with --header'),
    ('load http://h --rate 1 --auth bearer:secret', '--auth takes basic:@FILE, basic:env:NAME,'),
    ('load redis://h --rate 1 --auth bearer:@x', '--auth: redis takes basic:@FILE or basic:env:NAME'),
    ('load redis://h --rate 1 --auth x:@x', '--auth takes basic:@FILE, basic:env:NAME,'),
    ('load memcached://u:p@h --rate 1 --auth basic:@x', '--auth cannot be combined with a user in the URL'),
    ('load http://u:p@h --rate 1 --auth bearer:@x', '--auth cannot be combined with a user in the URL'),
    ('load null: --rate 1 --auth bearer:@x', '--auth needs a URL of HTTP, gRPC, Redis or memcached'),
    ('load http://h --rate 1 --connect-to ::1', '--connect-to takes HOST or HOST:PORT'),
    ('load null: --rate 1 --connect-to h', '--connect-to needs a URL with a host'),
    ('load http+unix:///x --rate 1 --connect-to h', '--connect-to needs a URL with a host'),
    ('load https://h --rate 1 --sni 10.0.0.1', '--sni takes a host name such as example.org'),
    ('load http://h --rate 1 --sni h', '--sni and --tls-resumption need a URL with TLS'),
    ('load http://h --rate 1 --tls-resumption no', '--sni and --tls-resumption need a URL with TLS'),
    ('load https://h --rate 1 --tls-resumption maybe', '--tls-resumption takes one of no, yes'),
    ('explain http://127.0.0.1:9 --rate 1 -o x -X get', 'explain: --http-method: methods distinguish'),
    ('explain http://127.0.0.1:9 --rate 1 -o x --cert c', 'explain: --insecure, --ca and --cert need a URL with TLS'),
    ('explain http://127.0.0.1:9 --rate 1 -o x --connect-to :', '--connect-to takes HOST or HOST:PORT'),
    ('explain --from x --cert c', '--from cannot be combined with --cert'),
    ('load redis://h --rate 1 --workload read=0.9,delete=0.2', 'shares of operations add up to 1.1'),
    ('load null: --rate 1 --abort-on p99>5ms',
     "load: --abort-on takes conditions errors>SHARE, timeouts>SHARE or unsent>SHARE, separated by commas, such as "
     "'errors>5%,unsent>50%', not 'p99>5ms'"),
    ('load null: --rate 1 --abort-on errors>5', "not 'errors>5'"),
    ('load null: --rate 1 --abort-on errors>5%,errors>6%', '--abort-on takes conditions'),
    ('load null: --loop closed --abort-on errors>1%,unsent>5%', '--loop closed has no unsent requests for --abort-on'),
    ('load --from x --abort-on errors>5%', '--from cannot be combined with --abort-on'),
    ('load http://x --urls x --rate 1', 'load: --urls cannot be combined with a URL: write all URLs into the file'),
    ('load --urls /dev/null --rate 1', 'load: --urls /dev/null: the file has no URL'),
    ('load --from x --urls y', '--from cannot be combined with --urls'),
    ('load --from x --replay y', '--from cannot be combined with --replay'),
    ('load http://x --rate 1 --replay-speed 2', 'load: --replay-speed needs --replay'),
    ('load http://x --rate 1 --replay y --replay-speed 2', 'load: --replay-speed scales the recorded times, which a '
     'rate, --arrival and --loop closed replace'),
    ('load http://x --replay y --replay-speed 0', "load: --replay-speed takes a number above 0, up to 100, not '0'"),
    ('load http://x --replay y --replay-speed 2:z', "up to 100, not '2:z'"),
    ('load http://x --replay y --replay-speed 100.1', "up to 100, not '100.1'"),
    ('load http://x --replay y --agents a,b', 'load: --replay cannot be combined with --agents and --latency-agents: '
     'the requests of a file cannot be shared'),
    ('load http://x --replay y --rate 1 --agents a --latency-agents b', 'the requests of a file cannot be shared'),
    ('load memcached://x --replay y --preload', 'load: --replay has requests of its own: remove --workload, --preload, '
     '--command, --http-method and --body'),
    ('load http://x --replay y -X PUT', 'load: --replay has requests of its own'),
    ('explain --from x --replay y', '--from cannot be combined with --replay'),
    ('explain http://x --replay y --rate 1 -o z --body b', 'explain: --replay has requests of its own'),
    ('load http://x --rate 1 --bind localhost', "load: --bind takes up to 64 different addresses of this host, separated "
     "by commas, such as 10.0.0.1,10.0.0.2, not 'localhost'"),
    ('load http://x --rate 1 --bind 127.0.0.1,127.0.0.1', "not '127.0.0.1'"),
    ('load http://x --rate 1 --bind 127.0.0.1:80', "not '127.0.0.1:80'"),
    ('load null: --rate 1 --bind 127.0.0.1', '--bind and --addresses need a URL with a host'),
    ('load http+unix:///run/x --rate 1 --addresses all', '--bind and --addresses need a URL with a host'),
    ('load http://x --rate 1 --addresses some', '--addresses takes one of first, all'),
    ('load --from x --bind 127.0.0.1', '--from cannot be combined with --bind'),
    ('load --from x --addresses all', '--from cannot be combined with --addresses'),
    ('load null: --rate 1 --command PING', '--command needs Redis: null has no such commands'),
    ('load redis://h http://h --rate 1 --command PING', '--command needs Redis: http has no such commands'),
    ('load redis://h --rate 1 --against http://h --command PING', '--command needs Redis: http has no such commands'),
    ('load redis://h --rate 1 --command {k}', "--command: '{k}' is no placeholder: use {key}, {value}, {seq} or"),
    ('load redis://h --rate 1 --command MONITOR', "--command: it changes how the server replies: 'MONITOR'"),
    ('load redis://h --rate 1 --command PING --workload keys=1', '--workload would do nothing: no --command has {key}'),
    ('load redis://h --rate 1 --command {key} --workload read=1,key=9',
     '--workload: read would do nothing: redis takes base, keys, popularity, key'),
    ('load --from x --command PING', '--from cannot be combined with --command'),
    ('load null: --rate 1 --method guess', '--method takes one of all, lancet'),
    ('load null: --rate 1 --connections 0', '--connections takes a whole number, 1 to 1000000'),
    ('load null: --rate 1 --connections 1 --threads 2', '--connections must be at least --threads'),
    ('load null: --rate 1 --outstanding 1025', '--outstanding takes a whole number, 1 to 1024'),
    ('load null: --rate 1 --threads 65', '--threads takes a whole number, 1 to 64'),
    ('load null: --rate 1 --spin', '--spin needs --pin'),
    ('load null: --rate 1 --insecure', '--insecure, --ca and --cert need a URL with TLS'),
    ('load https://x --rate 1 --insecure --ca x', '--ca cannot be combined with --insecure'),
    ('load null: --rate 1 --max-errors 2', '--max-errors takes a fraction of one'),
    ('load null: --rate 1 --assert p99', "--assert takes a percentile and a time, such as 'p99<500us', not 'p99'"),
    ('load null: --rate 1 --assert p100<1ms', '--assert takes a percentile and a time'),
    ('load null: --rates 1:2', '--rates takes three rates FROM:TO:STEP'),
    ('load null: --rates 2:1:1', '--rates takes three rates FROM:TO:STEP'),
    ('load null: --rates 1:2:1 --rate 1', '--rates cannot be combined with --rate'),
    ('load null: --find-max fast', '--find-max takes a percentile and a time'),
    ('load null: --find-max p99<1ms --rates 1:2:1', 'cannot be combined with'),
    ('load null: --find-max p99<1ms --ci-width 1ms', '--find-max cannot be combined with --ci-width'),
    ('load null: --find-max p99<1ms --method lancet', 'cannot be combined with --method lancet'),
    ('load null: --rate 1 --repeat 1', '--repeat takes a whole number, 2 to 1000'),
    ('load null: --rate 1 --repeat 2 --against null:', '--against needs 6 pairs'),
    ('load null: --rate 1 --for 9s --against null:', '10 pairs need --for 10 s or more'),
    ('load null: --rate 1 --for 5999ms --repeat 6 --against null:', 'each slice must last 500 ms'),
    ('load null: --rate 100 --against null:', 'p99 needs 1000 requests in each of 20 slices: --for 200 s or more, or --rate 334'),
    ('load null: --rate 33 --percentile 90 --against null:', 'p90 needs 100 requests'),
    ('load null: --find-max p99<1ms --for 2s', '--find-max: each trial run lasts at least 3 s'),
    ('load null: null: --rate 1 --against null:', '--against compares two servers'),
    ('load null: --rate 1 --against gopher:', 'gopher'),
    ('load null: --rate 1 --csv x', '--csv needs --rates'),
    ('load null: --rates 1:2:1 --record x', '--record cannot be combined with --rates'),
    ('load null: --rate 1 --repeat 2 --samples x', '--samples cannot be combined with --repeat'),
    ('load null: --rate 1 --assert-seen p99', "--assert-seen takes a percentile and a time, such as 'p99<500us', not 'p99'"),
    ('load null: --rate 1 --against null: --assert p99<1ms', "--assert with --against takes a percentile and a change, such as 'p99<+20%', not"),
    ('load null: --rate 1 --assert p99<+20%', "--assert takes a percentile and a time, such as 'p99<500us', not 'p99<+20%'"),
    ('load null: --rate 1k --for 20s --against null: --assert p90<+20%', '--assert p90<+20% with --against: the percentile must be that of --percentile (p99)'),
    ('load null: --rate 1 --repeat 3 --assert p95<1ms', '--assert p95<1ms with --repeat: the percentile must be that of --percentile (p99), p50, p90, p99 or p99.9'),
    ('load null: --rate 1 --tolerate noise', "--tolerate takes a reason for n/a, such as host-noisy, not 'noise'"),
    ('load null: --rate 1 --tolerate host-noisy,', "--tolerate takes a reason for n/a, such as host-noisy, not ''"),
    ('load null: --rate 1 --repeat 2 --tolerate host-noisy', '--tolerate cannot be combined with --repeat'),
    ('load null: --rates 1:2:1 --assert p99<1ms', '--assert cannot be combined with --rates'),
    ('load null: --rate 1 --record x --samples x', 'x is used twice'),
    ('load null: --rate 1 --samples x --hdr ./x', './x is used twice'),
    ('load null: --rate 1 --samples -', 'standard output is used twice'),
    ('load null: --rate 1 --record x --output ./x', 'is used twice'),
    ('load --from x --samples ./x', 'is used twice'),
    ('load null: --rate 1 --record x --output x', 'x is used twice'),
    ('load null: --rate 1 --record -', '--record needs a file'),
    ('load null: --rate 1 --size-limit 1M', '--size-limit needs --record'),
    ('load null: --rate 1 --confidence 0.95', '--confidence is a percentage (95, not 0.95) of at least 50'),
    ('load null: --rate 1 --percentile 0.99', '--percentile is a percentage (95, not 0.95) of at least 1'),
    ('load --from x null:', '--from cannot be combined with a URL'),
    ('load --from x --rate 1', '--from cannot be combined with --rate'),
    ('load --from x --record y', '--from cannot be combined with --record'),
    ('load --from x --arrival fixed', '--from cannot be combined with --arrival'),
    ('load --from x --ci-width 1ms', '--from cannot be combined with --ci-width'),
    ('load --from x --repeat 2', '--from cannot be combined with --repeat'),
    ('doctor --tunning', "did you mean '--tuning'?"),
    ('doctor now', "unexpected argument 'now'"),
]

# A command line up to the cursor (the last word is being typed), and what it may become.
COMPLETED = [
    (['wat'], ['watch']),
    (['watch', '--inter'], ['--interval']),
    (['watch', '--origin', 'st'], ['stack']),
    (['watch', '--origin', '=', 's'], ['stack', 'sender']),
    (['watch', '--stages', 'link,trans'], ['link,transport']),
    (['watch', '--count', ''], []),
    (['completion', ''], ['bash', 'zsh', 'fish']),
    (['help', 'reco'], ['record', 'recording-incomplete', 'recordings-overlap', 'recording-damaged']),
    (['help', 'rep'], ['report']),
    (['help', 'host-n'], ['host-noisy']),
    (['help', 'delayed'], ['delayed-ack', 'delayed-ack-after-timeout']),
    (['watch', '--from', 'test_us'], ['test_usage.py']),
]


def run(*args, **kwargs):
    return subprocess.run([HOSTLAT, *args], stdin=subprocess.DEVNULL, timeout=20, text=True,
                          **{'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **kwargs})


class Usage(unittest.TestCase):
    def assert_message(self, done, code, message):
        self.assertEqual(done.returncode, code, done)
        self.assertRegex(done.stderr, r'\Ahostlat: [^\n]*\n\Z')
        self.assertIn(message, done.stderr)

    def test_refused(self):
        for line, message in REFUSED:
            with self.subTest(line):
                done = run(*line.split())
                self.assert_message(done, 1, message)
                self.assertEqual(done.stdout, '')

    def test_missing_files(self):
        """Not mistyped, but not there: nothing could be run."""
        load = 'load', 'https://127.0.0.1:9', '--rate', '1'
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, 'ca.pem')
            done = run(*load, '--ca', path)
            self.assert_message(done, 2, f'cannot read a certificate from {path}: No such file')
            with open(path, 'w', encoding='ascii') as f:
                f.write('no certificate')
            done = run(*load, '--ca', path)
            self.assert_message(done, 2, f'cannot read a certificate from {path}: it is not in PEM')
            for source, message in (('env:HOSTLAT_UNSET', 'variable HOSTLAT_UNSET is not set'),
                                    ('@' + os.path.join(tmp, 'none'), '--auth: cannot read')):
                done = run('load', 'http://127.0.0.1:9', '--rate', '1', '--auth', 'bearer:' + source)
                self.assert_message(done, 2, message)
            body = os.path.join(tmp, 'body')
            done = run('load', 'http://127.0.0.1:9', '--rate', '1', '--body', '@' + body)
            self.assert_message(done, 2, f'--body: cannot read {body}: No such file')
            done = run('load', 'http://127.0.0.1:9', '--rate', '1', '--body', '@' + tmp)
            self.assert_message(done, 2, f'--body: cannot read {tmp}: Is a directory')
            with open(body, 'wb') as f:
                f.truncate((64 << 20) + 1)
            done = run('load', 'http://127.0.0.1:9', '--rate', '1', '--body', '@' + body)
            self.assert_message(done, 2, f'--body: {body} has more than 64 MiB')

    def test_version(self):
        self.assertRegex(run('--version').stdout, r'\Ahostlat \d+\.\d+\.\d+\n\Z')

    def test_no_command(self):
        """Six tasks, each with a command line, then the commands; and it is wrong usage."""
        done = run()
        self.assertEqual((done.returncode, done.stderr), (1, ''))
        self.assertEqual(done.stdout, run('--help').stdout)
        tasks = done.stdout.split('\n\n')[1].splitlines()
        self.assertEqual(len(tasks), 6, tasks)
        for line in tasks:
            words = line.split('hostlat ')[1].split()
            self.assertIn(words[0], COMMANDS, line)
            self.assertEqual(run(words[0], '--help').returncode, 0)

    def test_help_all(self):
        """It has all options of --help, and more; both under headings, in one order."""
        for command in COMMANDS:
            short, full = (run(command, how).stdout for how in ('--help', '--help-all'))
            names = [re.findall(r'^ +(?:-\w, )?(--[a-z-]+)', text, re.M) for text in (short, full)]
            self.assertTrue(set(names[0]) <= set(names[1]), command)
            self.assertEqual('--help-all' in names[0], len(names[1]) > len(names[0]), command)
            headings = re.findall(r'^(\w+):$', full, re.M)
            order = ['Examples', 'Arguments', 'Options', 'Target', 'Load', 'Measure', 'Stop', 'Output', 'Help']
            self.assertEqual(headings, [one for one in order if one in headings], command)
            self.assertEqual(short.split('\n\n')[1].split('\n')[0], 'Examples:', command)
            self.assertLessEqual(max(map(len, full.splitlines())), 80, command)

    def test_no_output_is_an_input(self):
        """A file that is read is never replaced, however its path is spelled."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path, other = (os.path.join(folder.name, name) for name in ('a', 'b'))
        for words in (('conns', '--from'), ('watch', '--from'), ('explain', '--from'), ('diagnose', ), ('report', ),
                      ('compare', other), ('fleet', 'report'), ('fleet', 'report', other, '--topology')):
            for output, is_input in (path, True), (f'{folder.name}//./a', True), (other + '2', False):
                for name in path, other:
                    with open(name, 'w', encoding='utf-8') as file:
                        file.write('kept')
                with self.subTest((words, output)):
                    done = run(*words, path, '--output', output)
                    self.assertEqual('is an input and cannot be an output too' in done.stderr, is_input, done.stderr)
                    self.assertNotEqual(done.returncode, 0)
                    with open(path, encoding='utf-8') as file:
                        self.assertEqual(file.read(), 'kept')

    def test_actions(self):
        """Each action refuses the options that help does not list for it."""
        text = run('fleet', '--help').stdout
        actions = dict(re.findall(r'^  (\w+) .*\n((?: {12}.*\n)+)', text.split('Arguments:')[0].split('Actions')[1], re.M))
        values = dict(re.findall(r'^  .{4}(--[a-z-]+)(?: ([A-Z]\S*|network\S*))?', text, re.M))
        self.assertEqual((sorted(actions), len(values) > 15), (['export', 'ingest', 'init', 'report', 'watch'], True))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for action, takes in actions.items():
            for option in values.keys() - {'--help', '--help-all'}:
                done = run('fleet', action, option, *([{'N': '1'}.get(values[option], '1h')] if values[option] else []), cwd=folder.name)
                with self.subTest((action, option)):
                    self.assertEqual('has no effect on' in done.stderr, option not in takes.split(), done.stderr)

    def test_examples(self):
        """The options and values of the examples exist."""
        checked = 0
        for command in COMMANDS:
            text = run(command, '--help').stdout.split('\n\n')[1]
            for line in re.findall(r'^  ((?:sudo )?hostlat .*)$', text, re.M):
                words = shlex.split(re.sub(r'\$\([^)]*\)', '1', line))
                end = next((i for i, word in enumerate(words) if word in '|>'), len(words))
                done = run(*words[words.index('hostlat') + 1:end], '--help')
                self.assertEqual(done.returncode, 0, f'{line}: {done.stderr}')
                checked += 1
        self.assertGreater(checked, 25)

    def test_overview_names_every_command(self):
        done = run('--help')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(re.findall(r'^  (\w+) ', done.stdout.split('\n\n')[2], re.M), COMMANDS)

    def test_help(self):
        for command in COMMANDS:
            with self.subTest(command):
                done = run(command, '--help')
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                self.assertTrue(done.stdout.startswith(f'Usage: hostlat {command} '), done.stdout)
                self.assertEqual(done.stdout, run('help', command).stdout)
                self.assertLessEqual(max(map(len, done.stdout.split('\n'))), 80)

    def test_output_that_cannot_be_written(self):
        for words in (['--help'], ['--version'], ['watch', '--help'], ['completion', 'bash']):
            with self.subTest(words), open('/dev/full', 'w', encoding='utf-8') as full:
                self.assert_message(run(*words, stdout=full), 2, 'No space left on device')

    def test_recording_that_is_none(self):
        for command in ('watch', 'load'):
            self.assert_message(run(command, '--from', '/no/such/file'), 2, '/no/such/file')
        with tempfile.NamedTemporaryFile() as foreign:
            foreign.write(b'a text that is no recording, and longer than any header\n' * 100)
            foreign.flush()
            for command in ('watch', 'load'):
                self.assert_message(run(command, '--from', foreign.name), 2, foreign.name)

    def test_file_that_is_missing(self):
        self.assert_message(run('load', 'null:', '--rate', '1', '-w', './bogus'), 2, './bogus')

    def test_places_are_tried_first(self):
        """Nobody is there: it would be said if the measurement had begun."""
        for option, many in (('--output', []), ('--csv', ['--repeat', '2'])):
            done = run('load', 'echo://127.0.0.1:1', '--rate', '1', option, '/no/such/file', *many)
            self.assert_message(done, 2, 'to /no/such/file: No such file')

    def test_inputs_are_kept(self):
        with tempfile.NamedTemporaryFile() as f:
            for option in ('--workload', '--arrival'):
                done = run('load', 'null:', '--rate', '1', option, f.name, '--samples', f.name)
                self.assert_message(done, 1, f'{f.name} is an input')
            done = run('load', 'http://127.0.0.1:9', '--rate', '1', '--body', '@' + f.name, '--samples', f.name)
            self.assert_message(done, 1, f'{f.name} is an input')

    def test_start_that_fails(self):
        """A start that fails changes no earlier output and creates no new one."""
        with tempfile.TemporaryDirectory() as folder:
            old, new = os.path.join(folder, 'old'), os.path.join(folder, 'new')
            for option in ('--record', '--samples', '--hdr'):
                with open(old, 'w', encoding='utf-8') as f:
                    f.write('kept')
                for file in (old, new):
                    done = run('load', 'echo://127.0.0.1:1', '--rate', '1', option, file)
                    self.assert_message(done, 2, '127.0.0.1 port 1')
                with open(old, encoding='utf-8') as f:
                    self.assertEqual(f.read(), 'kept', option)
                self.assertFalse(os.path.exists(new), option)

    def test_recording_that_is_cut(self):
        """Neither the run nor the recording of it passes for whole."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, 'cut')
            live = run('load', 'null:', '--rate', '20k', '--for', '1s', '--record', file,
                       '--size-limit', '64K', '--json')
            for done in live, run('load', '--from', file, '--json'):
                self.assertEqual(done.returncode, 3, done)
                self.assertIn('"recording-incomplete"', done.stdout)

    def test_option_of_the_other_target(self):
        """--insecure is of --against: nobody is there, but it is no bad usage."""
        done = run('load', 'null:', '--rate', '2k', '--against', 'https://127.0.0.1:1', '--insecure',
                   '--repeat', '6', '--for', '6s')
        self.assertNotIn('--insecure', done.stderr)
        self.assertIn('127.0.0.1 port 1', done.stderr)

    def test_completion(self):
        script = run('completion', 'bash').stdout
        for words, expected in COMPLETED:
            with self.subTest(words):
                typed = 'COMP_WORDS=(hostlat "$@"); COMP_CWORD=$#; _hostlat; printf "%s\n" "${COMPREPLY[@]}"'
                done = subprocess.run(['bash', '-c', script + typed, 'bash', *words], check=True, text=True,
                                      capture_output=True, cwd=os.path.dirname(os.path.abspath(__file__)))
                self.assertEqual(done.stdout.split(), expected)
                self.assertEqual(done.stderr, '')

    @unittest.skipUnless(shutil.which('fish'), 'no fish')
    def test_completion_of_fish(self):
        with tempfile.NamedTemporaryFile('w', suffix='.fish') as script:
            script.write(run('completion', 'fish').stdout)
            script.flush()
            for words, expected in COMPLETED:
                if '=' in words:
                    continue
                with self.subTest(words):
                    typed = f"source {script.name}; complete -C 'hostlat {' '.join(words)}'"
                    done = subprocess.run(['fish', '-c', typed], check=True, text=True, capture_output=True,
                                          env={**os.environ, 'HOME': tempfile.gettempdir()},
                                          cwd=os.path.dirname(os.path.abspath(__file__)), stdin=subprocess.DEVNULL)
                    offered = [line.split('\t')[0] for line in done.stdout.splitlines()]
                    # fish also offers names that contain what is typed
                    self.assertEqual(sorted(one for one in offered if one.startswith(words[-1])), sorted(expected))
                    self.assertEqual(done.stderr, '')

    @unittest.skipUnless(shutil.which('zsh'), 'no zsh')
    def test_completion_of_zsh(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, 'script'), 'w', encoding='utf-8') as script:
                script.write(run('completion', 'zsh').stdout)
            terminal = ptys.Terminal(['zsh', '-f', '-i'], columns=200, cwd=os.path.dirname(os.path.abspath(__file__)))
            self.addCleanup(terminal.close)
            terminal.type(f"autoload -U compinit; compinit -D -u; source {folder}/script; PS1='> '; "
                          "LISTMAX=1000; bindkey '^I' complete-word; echo ready''.\n")
            terminal.wait_for(r'ready\.')
            for words, expected in COMPLETED:
                if '=' in words or len(expected) != 1:
                    continue
                terminal.type('hostlat ' + ' '.join(words) + '\t')
                terminal.wait_for(re.escape(expected[0][len(words[-1].split(',')[-1]):]) + r'\b' if expected else '.')
                terminal.type('\x15')


if __name__ == '__main__':
    unittest.main()
