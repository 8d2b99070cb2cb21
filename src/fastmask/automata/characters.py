"""Moves by whole characters: what the bytes of UTF-8 amount to between two characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .construction import Ranges

__all__ = ["characters_by_target"]

Moves: TypeAlias = list[tuple[int, int, int]]  # lowest and highest byte or payload, target

# First and last lead byte, and how many continuation bytes follow.
_LEAD_BYTES = ((0xC2, 0xDF, 1), (0xE0, 0xEF, 2), (0xF0, 0xF4, 3))


def characters_by_target(
    byte_ranges: Callable[[int], Moves], state: int
) -> list[tuple[int, Ranges]]:
    """Targets in the order of their first characters, and the characters that lead to each.

    Parameters
    ----------
    byte_ranges : callable
        Gives the moves of a state by bytes, ascending.
    state : int
        A state between two characters.
    """
    found: dict[int, list[tuple[int, int]]] = {}

    def add(low: int, high: int, target: int) -> None:
        ranges = found.setdefault(target, [])
        if ranges and ranges[-1][1] == low - 1:
            low = ranges.pop()[0]
        ranges.append((low, high))

    known: dict[tuple[int, int], Moves] = {}
    for low, high, target in byte_ranges(state):
        if low < 0x80:
            add(low, min(high, 0x7F), target)
        for first, last, n_more in _LEAD_BYTES:
            for lead in range(max(low, first), min(high, last) + 1):
                base = (lead & (0x3F >> n_more)) << (6 * n_more)
                for a, b, to in _spans(byte_ranges, target, n_more, known):
                    add(base + a, base + b, to)
    by_target = ((target, tuple(ranges)) for target, ranges in found.items())
    return sorted(by_target, key=lambda item: item[1])


def _spans(
    byte_ranges: Callable[[int], Moves],
    state: int,
    n_more: int,
    known: dict[tuple[int, int], Moves],
) -> Moves:
    """What ``n_more`` continuation bytes lead to: first and last payload, target."""
    if n_more == 0:
        return [(0, 0, state)]
    key = (state, n_more)
    if key not in known:
        spans: Moves = []
        for low, high, target in byte_ranges(state):
            for byte in range(max(low, 0x80), min(high, 0xBF) + 1):
                base = (byte - 0x80) << (6 * (n_more - 1))
                for a, b, to in _spans(byte_ranges, target, n_more - 1, known):
                    if spans and spans[-1][1] == base + a - 1 and spans[-1][2] == to:
                        spans[-1] = (spans[-1][0], base + b, to)
                    else:
                        spans.append((base + a, base + b, to))
        known[key] = spans
    return known[key]
