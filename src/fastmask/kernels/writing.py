"""Rows as few changes to others: how they are written, kept and read.

Most rows are nearly nothing, or nearly the row of a string's body: of those of real schemas nine in
ten differ from a handful by fewer than a hundred tokens. So a row is kept as the address of a whole
one, its base, and a list of tokens to set and to clear. Where the list would become long the row is
made a whole one, at the place where the list would have stood.

Cost: reading is the copy of a row that is read all the time, or the clearing of one, and a
nanosecond a change; a whole row of its own would come from memory that is not near.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, ints_at, view_i32, view_i64, words_at
from .layout import (
    A_BASE,
    A_CHANGES,
    A_N_CHANGES,
    FULL,
    NODE,
    NODE_BASE,
    NODE_CHANGES,
    NODE_N_CHANGES,
    R_FREE,
    R_FREE_ADDRESS,
    R_N_WORDS,
    R_NODES,
    T_VOCAB_SIZE,
    T_WORDS,
    VACANT,
    WHOLE,
)


@inner
def apply_changes(base, changes, row):
    """Write the row at address ``base`` (0 for no token), changed by a list, to ``row``."""
    if base == 0:
        for i in range(row.size):
            row[i] = 0
    else:
        source = ints_at(base, row.size)
        for i in range(row.size):
            row[i] = source[i]
    for i in range(changes.size):
        change = np.int64(changes[i])
        token = change if change >= 0 else ~change
        # The bit as an int32 has it, whose last one is the sign.
        bit = ((np.int64(1) << (token & 31)) ^ 0x80000000) - 0x80000000
        if change >= 0:
            row[token >> 5] |= bit
        else:
            row[token >> 5] &= ~bit


@inner
def write_row(nodes, node, row):
    """Write the row of a tree node to ``row``, int32[words]."""
    at = NODE * node
    changes = ints_at(nodes[at + NODE_CHANGES], nodes[at + NODE_N_CHANGES])
    apply_changes(np.int64(nodes[at + NODE_BASE]), changes, row)


@inner
def begin_row(arena, base):
    """Begin a row that is the one at address ``base``, 0 for no token."""
    arena[A_BASE] = base
    arena[A_N_CHANGES] = 0


@inner
def begin_as(arena, nodes, node):
    """Begin a row that is a tree node's."""
    at = NODE * node
    n = np.int64(nodes[at + NODE_N_CHANGES])
    source = ints_at(nodes[at + NODE_CHANGES], n)
    changes = view_i32(arena, A_CHANGES)
    for i in range(n):
        changes[i] = source[i]
    arena[A_BASE] = nodes[at + NODE_BASE]
    arena[A_N_CHANGES] = n


@inner
def make_whole(tables, arena, rows):
    """Make the row that was begun a whole one, where the next row begins."""
    changes = view_i32(arena, A_CHANGES)[: arena[A_N_CHANGES]]
    row = ints_at(rows[R_FREE_ADDRESS], tables[T_WORDS])
    apply_changes(np.int64(arena[A_BASE]), changes, row)
    arena[A_N_CHANGES] = WHOLE


@inner
def note_changes(tables, arena, rows, tokens, start, end, mask):
    """Note changes of the row that was begun: tokens[start:end], to be cleared with a mask of -1.

    False, and nothing is noted, if it is a whole row, which it becomes where the list is full.
    """
    n = np.int64(arena[A_N_CHANGES])
    if n == WHOLE:
        return False
    changes = view_i32(arena, A_CHANGES)
    if n + end - start > changes.size:
        make_whole(tables, arena, rows)
        return False
    for i in range(np.uint64(start), np.uint64(end)):
        changes[n] = tokens[i] ^ mask
        n += 1
    arena[A_N_CHANGES] = n
    return True


@inner
def set_tokens(tables, arena, rows, tokens, start, end):
    """Add tokens[start:end] to the row that was begun."""
    if note_changes(tables, arena, rows, tokens, start, end, np.int32(0)):
        return
    row = words_at(rows[R_FREE_ADDRESS], tables[T_WORDS])
    # Unsigned, they need no look at whether they count from the end: less than half the time.
    for i in range(np.uint64(start), np.uint64(end)):
        token = np.uint32(tokens[i])
        row[token >> np.uint32(5)] |= np.uint32(1) << (token & np.uint32(31))


@inner
def clear_tokens(tables, arena, rows, tokens, start, end):
    """Take tokens[start:end] out of the row that was begun."""
    if note_changes(tables, arena, rows, tokens, start, end, np.int32(-1)):
        return
    row = words_at(rows[R_FREE_ADDRESS], tables[T_WORDS])
    for i in range(np.uint64(start), np.uint64(end)):
        token = np.uint32(tokens[i])
        row[token >> np.uint32(5)] &= ~(np.uint32(1) << (token & np.uint32(31)))


@inner
def find_changes(tables, arena, rows, base):
    """Express the whole row where the next row begins as changes to ``base``, if they are few.

    It is then the row that was begun. Returns whether they are few.
    """
    changes = view_i32(arena, A_CHANGES)
    words = np.int64(tables[T_WORDS])
    row = words_at(rows[R_FREE_ADDRESS], words)
    source = words_at(base if base != 0 else rows[R_FREE_ADDRESS], words)
    n = np.int64(0)
    for i in range(words):
        own = np.int64(row[i])
        differing = own
        if base != 0:
            differing ^= np.int64(source[i])
        bit = np.int64(0)
        while differing != 0:
            if differing & 0xFF == 0:
                differing >>= 8
                bit += 8
                continue
            if differing & 1 != 0:
                if n == changes.size:
                    return False
                token = 32 * i + bit
                changes[n] = token if (own >> bit) & 1 != 0 else ~token
                n += 1
            differing >>= 1
            bit += 1
    arena[A_BASE] = base
    arena[A_N_CHANGES] = n
    return True


@inner
def shorten_row(tables, arena, rows, base):
    """Begin a row that is the whole one where the next row begins, as changes if they are few."""
    arena[A_N_CHANGES] = WHOLE
    if not find_changes(tables, arena, rows, 0) and base != 0:
        find_changes(tables, arena, rows, base)


@inner
def keep_row(tables, arena, rows, node):
    """Keep the row that was begun as that of a tree node."""
    at = NODE * node
    nodes = view_i64(rows, R_NODES)
    address = np.int64(rows[R_FREE_ADDRESS])
    n = np.int64(arena[A_N_CHANGES])
    taken = n
    if n == WHOLE:
        n = np.int64(0)
        taken = np.int64(tables[T_WORDS])
        nodes[at + NODE_BASE] = address
    else:
        changes = view_i32(arena, A_CHANGES)
        kept = ints_at(address, n)
        for i in range(n):
            kept[i] = changes[i]
        nodes[at + NODE_BASE] = arena[A_BASE]
    nodes[at + NODE_CHANGES] = address
    nodes[at + NODE_N_CHANGES] = n
    rows[R_FREE] -= taken
    rows[R_FREE_ADDRESS] += 4 * taken
    rows[R_N_WORDS] += taken


@inner
def share_row(nodes, node, other):
    """Give a tree node's row to another one too."""
    for field in (NODE_BASE, NODE_CHANGES, NODE_N_CHANGES):
        nodes[NODE * other + field] = nodes[NODE * node + field]


@inner
def row_flags(tables, arena, rows):
    """FULL if the row that was begun has every token, VACANT if it has none."""
    n = np.int64(arena[A_N_CHANGES])
    size = np.int64(tables[T_VOCAB_SIZE])
    if n != WHOLE:
        base = np.int64(arena[A_BASE])
        changes = view_i32(arena, A_CHANGES)[:n]
        only_sets = True
        for i in range(n):
            only_sets = only_sets and changes[i] >= 0
        if base == 0 and only_sets:
            return np.int64(VACANT if n == 0 else 0)
        apply_changes(base, changes, ints_at(rows[R_FREE_ADDRESS], tables[T_WORDS]))
    row = words_at(rows[R_FREE_ADDRESS], tables[T_WORDS])
    all_set = np.uint32(0xFFFFFFFF)
    none_set = np.uint32(0)
    for i in range(size >> 5):
        all_set &= row[i]
        none_set |= row[i]
    rest = np.uint32(0)
    if size & 31:
        rest = np.uint32((1 << (size & 31)) - 1)
        none_set |= row[size >> 5]
    full = all_set == np.uint32(0xFFFFFFFF) and (rest == 0 or row[size >> 5] == rest)
    return np.int64((FULL if full else 0) | (VACANT if none_set == 0 else 0))


@inner
def has_room(tables, rows):
    """Whether two rows can be written, which is what one step takes at most."""
    return rows[R_FREE] >= 2 * tables[T_WORDS]
