#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a mistyped command line gets, and what help and completion say: test_usage.py HOSTLAT"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

HOSTLAT = os.path.abspath(sys.argv.pop(1))
COMMANDS = ['watch', 'record', 'doctor', 'help', 'completion']
DURATION = 'takes a number and a unit (ns, us, ms, s, m, h, d)'

# Words after `hostlat`, and what the one line on stderr must say.
REFUSED = [
    ('', 'a command is missing'),
    ('wacth', "there is no command 'wacth'; did you mean 'watch'?"),
    ('frobnicate', "there is no command 'frobnicate'"),
    ('--verbose', "there is no option '--verbose'"),
    ('help wach', "there is no command 'wach'; did you mean 'watch'?"),
    ('help watch more', "'more' is one argument too many"),
    ('completion zsh', "SHELL takes one of bash, not 'zsh'"),
    ('completion', 'SHELL is missing'),
    ('watch --interval 5x', f"watch: --interval {DURATION}, 10ms to 1d, not '5x'"),
    ('watch --interval 5', "--interval takes"),
    ('watch --interval=9ms', '10ms to 1d'),
    ('watch --interval', 'nothing follows it'),
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
    ('watch --json --json-lines', '--json and --json-lines exclude each other'),
    ('watch --color blue', '--color takes one of auto, always, never'),
    ('watch --json=yes', '--json takes no value'),
    ('watch extra', "'extra' is one argument too many"),
    ('watch -z', "there is no option '-z'"),
    ('record', 'is missing'),
    ('record -o', 'nothing follows it'),
    ('record -o x --for ever', f'--for {DURATION}'),
    ('record -o x --with everything', '--with takes a comma-separated list of watch'),
    ('record -o x --size-limit big', '--size-limit takes a number of bytes'),
    ('doctor --tunning', "did you mean '--tuning'?"),
    ('doctor now', "'now' is one argument too many"),
]

# A command line up to the cursor (the last word is being typed), and what it may become.
COMPLETED = [
    (['wat'], ['watch']),
    (['watch', '--inter'], ['--interval']),
    (['watch', '--origin', 'st'], ['stack']),
    (['watch', '--origin', '=', 's'], ['stack', 'sender']),
    (['watch', '--stages', 'link,trans'], ['link,transport']),
    (['watch', '--count', ''], []),
    (['completion', ''], ['bash']),
    (['help', 'rec'], ['record']),
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

    def test_version(self):
        self.assertRegex(run('--version').stdout, r'\Ahostlat \d+\.\d+\.\d+\n\Z')

    def test_overview_names_every_command(self):
        done = run('--help')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(re.findall(r'^  (\w+) ', done.stdout, re.M), COMMANDS)

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
        self.assert_message(run('watch', '--from', '/no/such/file'), 2, '/no/such/file')
        with tempfile.NamedTemporaryFile() as foreign:
            foreign.write(b'a text that is no recording, and longer than any header\n' * 100)
            foreign.flush()
            self.assert_message(run('watch', '--from', foreign.name), 2, foreign.name)

    def test_completion(self):
        script = run('completion', 'bash').stdout
        for words, expected in COMPLETED:
            with self.subTest(words):
                typed = 'COMP_WORDS=(hostlat "$@"); COMP_CWORD=$#; _hostlat; printf "%s\n" "${COMPREPLY[@]}"'
                done = subprocess.run(['bash', '-c', script + typed, 'bash', *words], check=True, text=True,
                                      capture_output=True, cwd=os.path.dirname(os.path.abspath(__file__)))
                self.assertEqual(done.stdout.split(), expected)
                self.assertEqual(done.stderr, '')


if __name__ == '__main__':
    unittest.main()
