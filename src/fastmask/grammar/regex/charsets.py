"""Sets of characters: tuples of sorted, disjoint, inclusive ranges of code points.

Surrogates are in none of them, since no text holds one. Sets are small (a class in a pattern) or
cached (a Unicode property), so plain merging is enough.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from ...automata import Ranges

__all__ = [
    "ALL",
    "ASCII_DIGIT",
    "ASCII_SPACE",
    "ASCII_WORD",
    "NOT_NEWLINE",
    "complement",
    "intersection",
    "normal",
    "union",
]

LAST = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)

ALL: Ranges = ((0, 0xD7FF), (0xE000, LAST))
ASCII_DIGIT: Ranges = ((0x30, 0x39),)
ASCII_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
ASCII_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
NOT_NEWLINE: Ranges = ((0, 0x09), (0x0B, 0xD7FF), (0xE000, LAST))


def normal(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Any ranges as sorted, disjoint ones that do not touch, without surrogates."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    if not merged or merged[-1][1] < SURROGATES[0]:
        return tuple(merged)
    kept = []
    for low, high in merged:
        if low < SURROGATES[0]:
            kept.append((low, min(high, SURROGATES[0] - 1)))
        if high > SURROGATES[1]:
            kept.append((max(low, SURROGATES[1] + 1), high))
    return tuple(kept)


def union(*sets: Ranges) -> Ranges:
    """Characters of any of the sets."""
    return normal(pair for ranges in sets for pair in ranges)


@functools.lru_cache(maxsize=256)
def complement(ranges: Ranges) -> Ranges:
    """All other characters."""
    gaps = []
    begin = 0
    for low, high in ranges:
        if low > begin:
            gaps.append((begin, low - 1))
        begin = high + 1
    gaps.append((begin, LAST))
    return normal(pair for pair in gaps if pair[0] <= pair[1])


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """Characters of both sets."""
    common = []
    i = j = 0
    while i < len(left) and j < len(right):
        low = max(left[i][0], right[j][0])
        high = min(left[i][1], right[j][1])
        if low <= high:
            common.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(common)
