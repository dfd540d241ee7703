# SPDX-License-Identifier: Apache-2.0
"""A terminal that a program writes to."""
import fcntl
import os
import pty
import struct
import subprocess
import termios


def shown(command, env, columns=0, stderr=True):
    """(exit code, what a terminal of this width gets)"""
    reader, writer = pty.openpty()
    if columns:
        fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=writer,
                          stderr=writer if stderr else subprocess.DEVNULL) as process:
        os.close(writer)
        text = b''
        try:
            while piece := os.read(reader, 65536):
                text += piece
        except OSError:     # the other end is closed
            pass
        os.close(reader)
    return process.returncode, text.decode()
