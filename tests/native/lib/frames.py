# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames with IPv4 and TCP, as a packet socket has them."""
import struct

ETH_P_ALL, PACKET_HOST, PACKET_OUTGOING = 3, 0, 4
ETHERNET = 14
IP, TCP = 0x0800, 6


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def whole(frame):
    """Returns the frame with TCP's checksum, which loopback leaves to a card that it does not
    have."""
    ip, tcp = frame[ETHERNET:ETHERNET + 20], bytearray(frame[ETHERNET + 20:])
    tcp[16:18] = b"\0\0"
    pseudo = ip[12:20] + struct.pack("!BBH", 0, ip[9], len(tcp))
    tcp[16:18] = struct.pack("!H", checksum(pseudo + bytes(tcp)))
    return frame[:ETHERNET + 20] + bytes(tcp)


def is_tcp(frame):
    return frame[12:14] == struct.pack("!H", IP) and frame[ETHERNET + 9] == TCP


def payload(frame):
    """Returns (sequence number, bytes) of a TCP frame without IP options."""
    length, = struct.unpack("!H", frame[ETHERNET + 2:ETHERNET + 4])
    tcp = frame[ETHERNET + 20:ETHERNET + length]
    return struct.unpack("!I", tcp[4:8])[0], tcp[tcp[12] >> 4 << 2:]
