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

from .._jit import inner, view_i16, view_i32, view_i64, view_u8
from .layout import (
    A_NEEDED,
    A_STATE,
    LISTED_DEPTH,
    LISTED_HIGH,
    LISTED_LOW,
    LISTED_OFFSETS,
    LISTED_PLACE,
    LISTED_TEXTS,
    NEED_SPACE,
    POP,
    R_EVENTS,
    T_PLACES,
    T_TRIE_BYTE,
    T_TRIE_DEPTH,
    T_TRIE_FIRST,
    T_TRIE_NODES,
    T_TRIE_ORDER,
    T_TRIE_SKIP,
)
from .nodes import begin_node, enter_root
from .step import emit
from .writing import begin_row, set_tokens

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


@inner
def list_root(tables, arena, rows, number):
    """Enter the root of a place in a list of texts; 0 or a status.

    Its row has the tokens that go on with one of the texts, and it has an event wherever a token
    goes on behind the end of one. No text may begin another.
    """
    lists = view_i64(tables, T_PLACES)
    at = LISTED_PLACE * number
    data = view_u8(lists, at + LISTED_TEXTS)
    offsets = view_i32(lists, at + LISTED_OFFSETS)
    depth = np.int64(lists[at + LISTED_DEPTH])
    events = view_i32(rows, R_EVENTS)
    node = np.int64(begin_node(arena, rows))
    if node < 0:
        return node
    byte = view_u8(tables, T_TRIE_BYTE)
    depths = view_i16(tables, T_TRIE_DEPTH)
    skip = view_i32(tables, T_TRIE_SKIP)
    first = view_i32(tables, T_TRIE_FIRST)
    order = view_i32(tables, T_TRIE_ORDER)
    ranges = view_i32(arena, A_STATE)
    half = ranges.size // 2
    begin_row(arena, 0)
    ranges[0] = lists[at + LISTED_LOW]
    ranges[half] = lists[at + LISTED_HIGH]
    v = np.int64(0)
    last = np.int64(tables[T_TRIE_NODES])
    while v < last:
        level = np.int64(depths[v])
        below = np.int64(ranges[level])
        above = np.int64(ranges[half + level])
        if above == _ENDED:
            emit(events, rows, arena, v, POP, np.int64(1), np.int64(0), np.int64(0))
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
    if arena[A_NEEDED] != 0:
        return np.int64(NEED_SPACE)
    enter_root(tables, arena, rows, node)
    return np.int64(0)
