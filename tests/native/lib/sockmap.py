# SPDX-License-Identifier: Apache-2.0
"""A sockmap, and programs that let pass or redirect what its sockets receive; straight by bpf(2)."""
import ctypes
import os
import platform
import struct

from lib import check

SYS_BPF = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
MAP_CREATE, MAP_UPDATE, PROG_LOAD, PROG_ATTACH = 0, 2, 5, 8
MAP_TYPE_SOCKMAP, PROG_TYPE_SK_SKB = 15, 14
STREAM_VERDICT = 5
REDIRECT_MAP, INGRESS = 52, 1
ATTR = 128

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command, attr):
    got = _libc.syscall(SYS_BPF, command, ctypes.create_string_buffer(attr.ljust(ATTR, b"\0"), ATTR),
                        ATTR)
    if got < 0:
        check.skip(f"sockmap: {os.strerror(ctypes.get_errno())}")
    return got


def _insn(code, registers, offset, value):
    return struct.pack("=BBhi", code, registers, offset, value)


def _load(code):
    bytecode, text = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    return _bpf(PROG_LOAD, struct.pack("=IIQQ", PROG_TYPE_SK_SKB, len(code) // 8,
                                       ctypes.addressof(bytecode), ctypes.addressof(text)))


class Sockmap:
    """One socket, and what happens to what it receives."""

    def __init__(self):
        self.fd = _bpf(MAP_CREATE, struct.pack("=IIIII", MAP_TYPE_SOCKMAP, 4, 4, 1, 0))
        self.program = None

    def _verdict(self, code):
        self.program = _load(code + _insn(0x95, 0, 0, 0))
        _bpf(PROG_ATTACH, struct.pack("=IIII", self.fd, self.program, STREAM_VERDICT, 0))

    def passes(self):
        self._verdict(_insn(0xb7, 0, 0, 1))

    def redirects(self, other):
        """Redirects a socket's data into the receive queue of the socket in `other`."""
        self._verdict(_insn(0x18, 2 | 1 << 4, 0, other.fd) + _insn(0, 0, 0, 0) +
                      _insn(0xb7, 3, 0, 0) + _insn(0xb7, 4, 0, INGRESS) +
                      _insn(0x85, 0, 0, REDIRECT_MAP))

    def put(self, sock):
        key = ctypes.create_string_buffer(4)
        value = ctypes.create_string_buffer(struct.pack("=I", sock.fileno()))
        _bpf(MAP_UPDATE, struct.pack("=IIQQQ", self.fd, 0, ctypes.addressof(key),
                                     ctypes.addressof(value), 0))

    def close(self):
        os.close(self.fd)
        if self.program is not None:
            os.close(self.program)
