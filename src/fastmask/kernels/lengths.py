"""Rows of strings whose length is bounded, out of the row of the string without a bound.

A token's part inside the string has some number of characters, which no stack changes. So the row
with ``left`` characters to go is the unbounded row without the tokens that have more, and without
those that reach the closing quote too early.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, ints_at, kernel, view_i16, view_i32, view_i64, view_u8, words_at
from .layout import (
    A_FRAME,
    A_N_MISSING,
    A_NEEDED,
    EVENT,
    EXPAND,
    NEED_EXPANSION,
    NEED_SPACE,
    NODE,
    NODE_BASE,
    NODE_EVENTS,
    NODE_FIRST_EVENT,
    POP,
    R_EVENTS,
    R_FREE_ADDRESS,
    R_N_EVENTS,
    R_NODES,
    T_ACTIONS,
    T_CLASSES,
    T_SHIFT,
    T_TOKEN_BYTES,
    T_TOKEN_OFFSETS,
    T_TRIE_BYTE,
    T_TRIE_DEPTH,
    T_TRIE_FIRST,
    T_TRIE_NODES,
    T_TRIE_ORDER,
    T_TRIE_SKIP,
    T_WORDS,
)
from .nodes import begin_node, enter_root
from .step import miss
from .writing import begin_row, shorten_row, write_row


@kernel(
    "int64(int64[::1], int64[::1], uint8[::1], int32[:, ::1], int64, int64, int64, int16[::1],"
    " int16[::1])"
)
def count_characters(
    tables, arena, classes, table, state, between, behind, token_counts, place_counts
):
    """Count the characters that tokens begin inside a string, whatever is asked of it.

    ``classes`` and ``table`` are the automaton of all texts of strings: read from ``state``,
    characters begin at ``between``, ``behind`` stands behind the closing quote. token_counts[id]
    becomes the number of characters begun for tokens that stay inside, -2 minus it for tokens whose
    last byte is the quote, -1 for all others; place_counts[node] the number at trie nodes behind
    the quote.
    """
    byte = view_u8(tables, T_TRIE_BYTE)
    depths = view_i16(tables, T_TRIE_DEPTH)
    skip = view_i32(tables, T_TRIE_SKIP)
    first = view_i32(tables, T_TRIE_FIRST)
    order = view_i32(tables, T_TRIE_ORDER)
    counts = view_i32(arena, A_FRAME)
    half = counts.size // 2
    for i in range(token_counts.size):
        token_counts[i] = -1
    counts[0] = 0
    counts[half] = state
    v = np.int64(0)
    last = np.int64(tables[T_TRIE_NODES])
    while v < last:
        level = np.int64(depths[v])
        now = np.int64(counts[half + level])
        n = np.int64(counts[level])
        target = np.int64(table[now, classes[byte[v]]])
        if now == behind:
            place_counts[v] = n
        if target == 0:
            v = np.int64(skip[v])
            continue
        if now == between and target != behind:
            n += 1
        counts[level + 1] = n
        counts[half + level + 1] = target
        for i in range(first[v], first[v + 1]):
            token_counts[order[i]] = -2 - n if target == behind else n
        v += 1
    return np.int64(0)


@kernel("int64(int16[::1], int64, int64, uint32[::1])")
def write_length_row(token_counts, left, least, row):
    """Set the bits of tokens with at most ``left`` characters that do not end before ``least``."""
    for i in range(row.size):
        row[i] = 0
    for token in range(token_counts.size):
        n = np.int64(token_counts[token])
        if (n >= 0 and n <= left) or (n <= -2 and -2 - n <= left and -2 - n >= least):
            row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
    return np.int64(0)


@inner
def lacks_room(tables, arena, token, state, first, missing, left):
    """Whether more has to come behind a token than ``left``, read from a state of a string.

    ``first`` is the first of the string's states; by their index ``missing`` is how many characters
    have to come at least, one that is begun left out. A state that is not made is noted.
    """
    classes = view_u8(tables, T_CLASSES)
    actions = view_i32(tables, T_ACTIONS)
    data = view_u8(tables, T_TOKEN_BYTES)
    offsets = view_i32(tables, T_TOKEN_OFFSETS)
    for i in range(offsets[token], offsets[token + 1]):
        action = np.int64(actions[state + np.int64(classes[data[i]])])
        if action <= 0:
            if action == EXPAND:
                miss(arena, state, -1)
            return False
        state = action
    return missing[(state - first) >> tables[T_SHIFT]] > left


@kernel(
    "int64(int64[::1], int64[::1], int64[::1], int64, int64, int64, uint32[::1], int16[::1],"
    " int16[::1], int64, int64, int16[::1], int64)"
)
def bounded_node(
    tables, arena, rows, model, left, least, length_row, token_counts, place_counts, state, first,
    missing, spare,
):  # fmt: skip
    """Enter the node of a bounded string: ``model``'s row and events as far as the bounds allow.

    ``model`` is the root of ``state``, of the string without bounds; ``spare`` is the most that is
    ``missing`` anywhere in it. See `lacks_room` and `count_characters`.
    """
    events = view_i32(rows, R_EVENTS)
    nodes = view_i64(rows, R_NODES)
    arena[A_N_MISSING] = 0
    node = np.int64(begin_node(arena, rows))
    if node < 0:
        return node
    words = np.int64(tables[T_WORDS])
    write_row(nodes, model, ints_at(rows[R_FREE_ADDRESS], words))
    row = words_at(rows[R_FREE_ADDRESS], words)
    for i in range(words):
        row[i] &= length_row[i]
    for token in range(token_counts.size if spare > 0 else 0):
        n = np.int64(token_counts[token])
        bit = np.uint32(1) << np.uint32(token & 31)
        is_near = n >= 0 and n > left - spare and row[token >> 5] & bit != 0
        if is_near and lacks_room(tables, arena, token, state, first, missing, left - n):
            row[token >> 5] &= ~bit
    if arena[A_N_MISSING] != 0:
        return np.int64(NEED_EXPANSION)
    start = np.int64(rows[R_N_EVENTS])
    count = start
    base = np.int64(nodes[NODE * model + NODE_FIRST_EVENT])
    for i in range(base, base + nodes[NODE * model + NODE_EVENTS]):
        place = np.int64(events[EVENT * i])
        n = np.int64(0)
        if place >= 0:
            n = np.int64(place_counts[place])
        if place >= 0 and n <= left and n >= least:
            if EVENT * (count + 1) > events.size:
                arena[A_NEEDED] = -R_EVENTS
                return np.int64(NEED_SPACE)
            for field in range(EVENT):
                events[EVENT * count + field] = events[EVENT * i + field]
            count += 1
    rows[R_N_EVENTS] = count
    shorten_row(tables, arena, rows, np.int64(nodes[NODE * model + NODE_BASE]))
    enter_root(tables, arena, rows, node)
    return node


@kernel("int64(int64[::1], int64[::1], int64[::1], int32[::1], int64)")
def adopt_root(tables, arena, rows, places, base):
    """Enter a root that was made for another grammar.

    Its row is the whole one at address ``base``, and it leaves the frame at ``places``.
    """
    events = view_i32(rows, R_EVENTS)
    node = np.int64(begin_node(arena, rows))
    if node < 0:
        return node
    start = np.int64(rows[R_N_EVENTS])
    if EVENT * (start + places.size) > events.size:
        arena[A_NEEDED] = -R_EVENTS
        return np.int64(NEED_SPACE)
    for i in range(places.size):
        at = EVENT * (start + i)
        events[at] = places[i]
        events[at + 1] = POP
        events[at + 2] = 1
        events[at + 3] = 0
        events[at + 4] = 0
    rows[R_N_EVENTS] = start + places.size
    begin_row(arena, base)
    enter_root(tables, arena, rows, node)
    return node
