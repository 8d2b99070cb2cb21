"""The row of a place in a sorted list of texts: the token trie is walked with ranges of the list.

No automaton of the list is needed for a mask: the texts that a trie node leaves possible are a
range of the list, found by halving.

Cost: 2 log n comparisons a trie node that some text goes through.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, view_i16, view_i32, view_u8, words_at
from .layout import (
    A_STATE,
    T_TRIE_BYTE,
    T_TRIE_DEPTH,
    T_TRIE_FIRST,
    T_TRIE_NODES,
    T_TRIE_ORDER,
    T_TRIE_SKIP,
    T_WORDS,
)

__all__ = ["list_row"]


@inner
def first_not_below(data, offsets, low, high, place, byte):
    """The first text of a range whose byte at ``place`` is ``byte`` or above."""
    while low < high:
        middle = (low + high) >> 1
        if data[offsets[middle] + place] < byte:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(
    "int64(int64[::1], int64[::1], uint8[::1], int32[::1], int64, int64, int64, int64, int32[::1])"
)
def list_row(tables, arena, data, offsets, low, high, depth, address, places):
    """Write the row of tokens that go on with one of texts[low:high] behind ``depth`` bytes.

    The row stands at ``address``. Text ``i`` is data[offsets[i]:offsets[i + 1]]; none may begin
    another. ``places`` has room for every trie node; it gets those at which a token goes on behind
    the end of a text. Returns how many there are.
    """
    byte = view_u8(tables, T_TRIE_BYTE)
    depths = view_i16(tables, T_TRIE_DEPTH)
    skip = view_i32(tables, T_TRIE_SKIP)
    first = view_i32(tables, T_TRIE_FIRST)
    order = view_i32(tables, T_TRIE_ORDER)
    ranges = view_i32(arena, A_STATE)
    half = ranges.size // 2
    row = words_at(address, np.int64(tables[T_WORDS]))
    count = np.int64(0)
    for i in range(row.size):
        row[i] = 0
    ranges[0] = low
    ranges[half] = high
    v = np.int64(0)
    last = np.int64(tables[T_TRIE_NODES])
    while v < last:
        level = np.int64(depths[v])
        below = np.int64(ranges[level])
        above = np.int64(ranges[half + level])
        if below == above:  # the text has ended
            places[count] = v
            count += 1
            v = np.int64(skip[v])
            continue
        place = depth + level
        wanted = np.int64(byte[v])
        below = first_not_below(data, offsets, below, above, place, wanted)
        above = first_not_below(data, offsets, below, above, place, wanted + 1)
        if below == above:
            v = np.int64(skip[v])
            continue
        if offsets[below] + place + 1 == offsets[below + 1]:
            above = below
        ranges[level + 1] = below
        ranges[half + level + 1] = above
        for i in range(first[v], first[v + 1]):
            token = np.int64(order[i])
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
        v += 1
    return count
