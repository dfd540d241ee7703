# SPDX-License-Identifier: Apache-2.0
"""Sets of times, as sorted lists of half-open intervals (begin, end) that don't touch."""
import bisect


def union(pairs):
    out = []
    for begin, end in sorted(pairs):
        if begin >= end:
            continue
        if out and begin <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], end)
        else:
            out.append((begin, end))
    return out


def clip(pairs, begin, end):
    """Returns the parts of a set's intervals that lie between begin and end."""
    i = max(0, bisect.bisect_right(pairs, begin, key=lambda pair: pair[0]) - 1)
    out = []
    while i < len(pairs) and pairs[i][0] < end:
        one = max(pairs[i][0], begin), min(pairs[i][1], end)
        if one[0] < one[1]:
            out.append(one)
        i += 1
    return out


def minus(pairs, others):
    """Returns the parts of one set that are not in the other."""
    out = []
    for begin, end in pairs:
        for a, b in clip(others, begin, end):
            if begin < a:
                out.append((begin, a))
            begin = b
        if begin < end:
            out.append((begin, end))
    return out


def length(pairs):
    return sum(end - begin for begin, end in pairs)
