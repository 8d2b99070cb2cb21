"""The row of a place in a sorted list of texts: the token trie is walked with ranges of the list.

No automaton of the list is needed for a mask: the texts that a trie node leaves possible are a
range of the list. The children of a node come in the order of their bytes, as the texts do, so each
begins to look where the one before it ended: in steps that double, and then by halving (Bentley and
Yao 1976).

Cost: a comparison a child that no text goes on with, 2 log n for the others, where n is how many
texts go on with them.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, view_i16, view_i32, view_u8
from .layout import (
    A_STATE,
    T_TRIE_BYTE,
    T_TRIE_DEPTH,
    T_TRIE_FIRST,
    T_TRIE_NODES,
    T_TRIE_ORDER,
    T_TRIE_SKIP,
)
from .writing import begin_row, set_tokens

__all__ = ["list_row"]

_ENDED = -1  # instead of the end of a range: the text has ended


@inner
def first_not_below(data, offsets, low, high, place, byte):
    """The first text of a range whose byte at ``place`` is ``byte`` or above."""
    step = np.int64(1)
    while low + step < high and data[offsets[low + step] + place] < byte:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high) >> 1
        if data[offsets[middle] + place] < byte:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(
    "int64(int64[::1], int64[::1], int64[::1], uint8[::1], int32[::1], int64, int64, int64,"
    " int32[::1])"
)
def list_row(tables, arena, rows, data, offsets, low, high, depth, places):
    """Begin the row of tokens that go on with one of texts[low:high] behind ``depth`` bytes.

    Text ``i`` is data[offsets[i]:offsets[i + 1]]; none may begin another. ``places`` has room
    for every trie node; it gets those at which a token goes on behind the end of a text. Returns
    how many there are.
    """
    byte = view_u8(tables, T_TRIE_BYTE)
    depths = view_i16(tables, T_TRIE_DEPTH)
    skip = view_i32(tables, T_TRIE_SKIP)
    first = view_i32(tables, T_TRIE_FIRST)
    order = view_i32(tables, T_TRIE_ORDER)
    ranges = view_i32(arena, A_STATE)
    half = ranges.size // 2
    count = np.int64(0)
    begin_row(arena, 0)
    ranges[0] = low
    ranges[half] = high
    v = np.int64(0)
    last = np.int64(tables[T_TRIE_NODES])
    while v < last:
        level = np.int64(depths[v])
        below = np.int64(ranges[level])
        above = np.int64(ranges[half + level])
        if above == _ENDED:
            places[count] = v
            count += 1
            v = np.int64(skip[v])
            continue
        place = depth + level
        wanted = np.int64(byte[v])
        if below < above and data[offsets[below] + place] < wanted:
            below = np.int64(first_not_below(data, offsets, below, above, place, wanted))
            ranges[level] = below
        if below == above or data[offsets[below] + place] > wanted:
            v = np.int64(skip[v])
            continue
        above = np.int64(first_not_below(data, offsets, below, above, place, wanted + 1))
        ranges[level] = above
        if offsets[below] + place + 1 == offsets[below + 1]:
            above = np.int64(_ENDED)
        ranges[level + 1] = below
        ranges[half + level + 1] = above
        set_tokens(tables, arena, rows, order, first[v], first[v + 1])
        v += 1
    return count
