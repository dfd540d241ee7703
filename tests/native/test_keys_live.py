# SPDX-License-Identifier: Apache-2.0
"""Proves that the live screens of `watch` and `conns` obey keys, and leave the terminal as it was.
The drawn screen is read as a terminal shows it: what scrolls or is doubled must fail."""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile

from lib import check, process
from lib.watch import HOSTLAT

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import ptys     # pylint: disable=wrong-import-position

FOOTER = "q quits, space pauses, ? explains"
PAUSED = "paused: space goes on, q quits"
COMMANDS = {"watch": ("watch", "--interval", "100ms"), "conns": ("conns", "--interval", "100ms")}


class Screen:
    """What a terminal shows after the sequences that hostlat uses."""

    def __init__(self, text, rows):
        self.lines, self.at, self.begins = [""] * rows, 0, True
        for piece in re.findall(r"\033\[\??[0-9;]*[A-Za-z]|\r|\n|[^\033\r\n]+", text):
            self.put(piece)

    def put(self, piece):
        if piece == "\n" and self.at == len(self.lines) - 1:
            self.lines = self.lines[1:] + [""]
        elif piece == "\n":
            self.at += 1
        elif found := re.fullmatch(r"\033\[(\d+)A", piece):
            self.at = max(self.at - int(found[1]), 0)
        elif piece == "\033[J":
            self.lines[self.at:] = [""] * (len(self.lines) - self.at)
        elif piece == "\033[2J":
            self.lines = [""] * len(self.lines)
        elif piece == "\033[H":
            self.at = 0
        elif piece == "\033[K" and self.begins:
            self.lines[self.at] = ""
        elif piece[0] not in "\r\033":
            self.lines[self.at] = piece if self.begins else self.lines[self.at] + piece
        self.begins = piece in "\r\n" or (self.begins and piece[0] == "\033")

    def count(self, pattern):
        return sum(bool(re.search(pattern, line)) for line in self.lines)


def frame(terminal, rows):
    """The screen after the last whole drawing, whose end is \\033[?7h."""
    return Screen(terminal.text[:terminal.text.rindex("\033[?7h")], rows)


def begin(command, *options, rows=24, columns=80):
    terminal = ptys.Terminal([HOSTLAT, *COMMANDS[command], *options], rows, columns)
    terminal.wait_for(re.escape(FOOTER))
    check.true("keys are not echoed", not terminal.echoes())
    return terminal


def finish(terminal):
    check.true(f"exit code {terminal.end()}", terminal.process.returncode in (0, 3))
    check.true("the terminal is as before", terminal.modes() == terminal.before)
    check.equal("keys that are left for the shell", terminal.left(), 0)
    terminal.close()


def single(screen, footer=FOOTER):
    check.equal(f"lines about keys in {screen.lines}", screen.count(re.escape(footer)), 1)


def keys(command):
    terminal = begin(command)
    terminal.type("xyz\n\n")
    terminal.wait_for(re.escape(FOOTER))
    screen = frame(terminal, 24)
    single(screen)
    check.equal("typed text on the screen", screen.count("xyz"), 0)
    doubled = Screen("", 24)
    doubled.lines[:2] = [FOOTER, FOOTER]
    check.must_fail("a doubled screen", single, doubled)
    terminal.type("?")
    terminal.wait_for("quit, and show the totals")
    terminal.type("?")
    terminal.wait_for("to |s in total|connection|overhead")
    terminal.type("qreboot\n")
    finish(terminal)


def pauses(command):
    """Nothing is drawn meanwhile; then it goes on."""
    terminal = begin(command)
    terminal.type(" ")
    terminal.wait_for(re.escape(PAUSED))
    single(frame(terminal, 24), PAUSED)
    terminal.wait(lambda: terminal.text.rindex("\033[?7h") > terminal.text.rindex("paused"))
    before = len(terminal.text)
    for _ in range(10):
        terminal.read(0.1)
    check.equal("written during the pause", terminal.text[before:], "")
    terminal.type(" ")
    terminal.wait_for(re.escape(FOOTER))
    terminal.wait_for(re.escape(FOOTER))
    terminal.type("q")
    finish(terminal)


def resized(command):
    """The next drawing has the new size; the line about keys stays, what has no room is counted."""
    terminal = begin(command)
    for rows, columns in (5, 60), (30, 100), (8, 45):
        terminal.resize(rows, columns)
        terminal.wait_for(re.escape(FOOTER))
        terminal.wait_for(re.escape(FOOTER))
        drawn = terminal.text[:terminal.text.rindex("\033[?7h")].rsplit("\033[?7l", 1)[1]
        check.true(f"{drawn.count(chr(10))} lines on {rows}", drawn.count("\n") < rows)
        check.true("the keys are in the last line", ptys.plain(drawn).strip().endswith(FOOTER))
        check.true(f"nothing is wider: {drawn}", all(len(line) <= columns for line in ptys.plain(drawn).splitlines()))
    terminal.resize(5, 60)
    terminal.type("?")
    terminal.wait_for(r"… \+2 lines")
    terminal.type("q")
    finish(terminal)


def killed(command):
    terminal = begin(command)
    check.equal("exit code", terminal.end(signal.SIGKILL), -signal.SIGKILL)
    terminal.wait(lambda: terminal.modes() == terminal.before)
    terminal.close()


def signalled(command):
    for number in signal.SIGINT, signal.SIGTERM:
        terminal = begin(command)
        os.kill(terminal.process.pid, number)
        finish(terminal)


@contextlib.contextmanager
def server():
    it = process.start([HOSTLAT, "serve", "127.0.0.1:0", "--protocol", "http", "--service", "fixed:1ms"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield "http://" + re.search(r"127\.0\.0\.1:\d+", it.stderr.readline())[0] + "/"
    finally:
        it.terminate()
        it.communicate()


def phases():
    """explain says how far it is, on one line, which is not there when the answer is."""
    with server() as url, tempfile.TemporaryDirectory() as folder:
        terminal = ptys.Terminal([HOSTLAT, "explain", url, "--rate", "200", "--for", "4s", "-o", folder])
        terminal.wait_for(r"1/3 loading, [1-4]\.?0? s left")
        check.true("keys are not echoed", not terminal.echoes())
        terminal.type("xyz\n")
        terminal.wait_for("2/3 writing the recordings")
        terminal.wait_for("3/3 explaining")
        finish(terminal)
        screen = Screen(terminal.text, 100)
        check.equal("typed text on the screen", screen.count("xyz"), 0)
        check.equal(f"lines with a phase in {screen.lines}", screen.count("/3 "), 0)


def ended():
    """q ends explain like ^C: with what there is."""
    with server() as url, tempfile.TemporaryDirectory() as folder:
        terminal = ptys.Terminal([HOSTLAT, "explain", url, "--rate", "200", "--for", "100s", "-o", folder])
        terminal.wait_for(r"1/3 loading, 9\d(\.\d)? s left")   # the load has begun
        terminal.type("q")
        finish(terminal)
        check.true("there is a result", os.path.getsize(os.path.join(folder, "result.json")))


CASES = keys, pauses, resized, killed, signalled
check.run([*((case, command) for case in CASES for command in COMMANDS), (phases,), (ended,)])
