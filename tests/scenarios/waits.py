# SPDX-License-Identifier: Apache-2.0
"""How long the receiver of a connection waited for data that had been sent, from the box's log."""


def first_sent(sent):
    """{first byte of a segment: (behind its last one, [times at which it was sent])}"""
    segments = {}
    for line in sent:
        end, times = segments.setdefault(line["seq"], (line["seq"] + line["len"], []))
        times.append(line["at"])
        segments[line["seq"]] = max(end, line["seq"] + line["len"]), times
    return segments


def times_of(byte, segments):
    return sorted(at for seq, (end, times) in segments.items() if seq <= byte < end for at in times)


def waits(sent, came):
    """
    (begin, end, how often it had been sent) for each time that data came in order: from when the
    data before it came, or, later, it was sent for the first time. All of one direction.
    """
    segments = first_sent(sent)
    edge, at, found, early = 0, 0, [], {}
    for line in sorted(came, key=lambda line: line["at"]):
        end = line["seq"] + line["len"]
        early[line["seq"]] = max(early.get(line["seq"], 0), end)
        before = edge
        while any(seq <= edge < end for seq, end in early.items()):
            edge = max(end for seq, end in early.items() if seq <= edge < end)
            early = {seq: end for seq, end in early.items() if end > edge}
        if edge > before:
            times = [t for t in times_of(before, segments) if t < line["at"]]
            found.append((max(at, times[0]), line["at"], len(times)))
            at = line["at"]
    return found
