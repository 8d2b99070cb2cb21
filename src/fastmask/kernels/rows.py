"""Bitmask rows: filling a bitmask from them, and making those that are missing.

A hit is one load and the writing of the row. What is missing is made under the lock, node by node
down the tree, until the kernel needs something that only the caller can make.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, ints_at, kernel, record_at, view_i32, view_i64, view_u8
from .cells import intern_cell
from .descent import descend, find_leaf
from .growth import grow_tree, make_noted
from .layout import (
    A_CELLS,
    A_N_MISSING,
    A_NEEDED,
    A_NOTE,
    A_ROWS,
    A_SIZE,
    BAD_INDEX,
    CELL,
    CELL_NEXT,
    CELL_PARENT,
    CELL_REGISTER,
    CELL_STATE,
    COMPLETE,
    FULL,
    LEAF,
    LEFT,
    LISTED,
    M_ARENA,
    M_CONFIGURATION,
    M_SIZE,
    M_STOPS,
    M_TABLES,
    M_TERMINATED,
    MADE,
    MODEL,
    MODELLED,
    NEED_EXPANSION,
    NEED_LOCK,
    NEED_ROOT,
    NEED_ROW,
    NEED_SPACE,
    NIL,
    NO_CELL,
    NO_MOVE,
    NODE,
    NODE_ACTION,
    NODE_BASE,
    NODE_EVENTS,
    NODE_FLAGS,
    NODE_KIND,
    NOTE_NODE,
    NOTE_OUTCOME,
    NOTE_SYMBOL,
    R_FREE,
    R_FREE_ADDRESS,
    R_N_EVENTS,
    R_N_NODES,
    R_N_WORDS,
    R_NODES,
    R_ROW_OF,
    R_SIZE,
    T_MODELS,
    T_ROOTS,
    T_SHIFT,
    T_SIZE,
    T_WORDS,
    TEXTUAL,
    VACANT,
)
from .lists import list_root
from .nodes import asking_node, link
from .patch import patch_root
from .step import miss
from .writing import has_room, keep_row, row_flags, shorten_row, write_row


@inner
def fill_one(matcher, rows, bitmask, index):
    """Copy the matcher's row if it is known; 1 apply, 0 every token allowed, else a status."""
    if matcher[M_TERMINATED] != 0 or matcher[M_STOPS + 1] != 0:
        return np.int64(NEED_LOCK)
    tables = record_at(matcher[M_TABLES], T_SIZE)
    words = np.int64(tables[T_WORDS])
    if index < 0 or index >= bitmask.shape[0] or bitmask.shape[1] != words:
        return np.int64(BAD_INDEX)
    leaf = find_leaf(matcher, tables, rows)
    if leaf < 0:
        return leaf
    nodes = view_i64(rows, R_NODES)
    flags = np.int64(nodes[NODE * leaf + NODE_FLAGS])
    if flags & (VACANT | TEXTUAL):
        return np.int64(NEED_LOCK)
    write_row(nodes, leaf, bitmask[index])
    return np.int64((flags & FULL) == 0)


@kernel("int64(int64[::1], int64, int32[::1])")
def copy_row(rows, leaf, row):
    """Write the row of a leaf to ``row``."""
    write_row(view_i64(rows, R_NODES), leaf, row)
    return np.int64(0)


@kernel("int64(int64[::1], int64[::1], int32[:, ::1], int64)")
def fill_bitmask(matcher, rows, bitmask, index):
    """Copy the matcher's row into ``bitmask[index]`` if it is known."""
    return fill_one(matcher, rows, bitmask, index)


@kernel("int64(int64[::1], int32[:, ::1], int64[::1], int64[::1])")
def fill_batch(matchers, bitmask, indices, statuses):
    """Copy the row of each matcher (by the address of its record) that is known."""
    for i in range(matchers.size):
        matcher = record_at(matchers[i], M_SIZE)
        rows = record_at(record_at(matcher[M_ARENA], A_SIZE)[A_ROWS], R_SIZE)
        statuses[i] = fill_one(matcher, rows, bitmask, indices[i])
    return np.int64(0)


@inner
def grow_leaf(tables, arena, rows, cell, node, outcome):
    """Find the leaf of a thread, making what is missing on the way; the leaf or a status.

    With NIL for the thread only the child of ``node`` for ``outcome``, or the root of a state
    (node < 0), is made and not linked. Needs the lock.
    """
    cells = view_i32(arena, A_CELLS)
    ways = view_u8(tables, T_ROOTS)
    models = view_i32(tables, T_MODELS)
    nodes = view_i64(rows, R_NODES)
    shift = np.int64(tables[T_SHIFT])
    at = cell * CELL
    while True:
        if cell != NIL:
            leaf = descend(
                cells,
                tables,
                rows,
                arena,
                A_NOTE,
                np.int64(cells[at + CELL_STATE]),
                np.int64(cells[at + CELL_REGISTER]),
                np.int64(cells[at + CELL_PARENT]),
            )
            if leaf >= 0:
                return leaf
            node = np.int64(arena[A_NOTE + NOTE_NODE])
            outcome = np.int64(arena[A_NOTE + NOTE_OUTCOME])
            if node == NO_MOVE:
                if make_noted(tables, arena) >= 0:
                    continue
                arena[A_N_MISSING] = 0
                miss(arena, outcome, np.int64(arena[A_NOTE + NOTE_SYMBOL]))
                return np.int64(NEED_EXPANSION)
            if node == NO_CELL:
                back = np.int64(models[2 * (outcome >> shift) + 1])
                called = intern_cell(
                    cells,
                    arena,
                    back,
                    np.int64(cells[at + CELL_REGISTER]),
                    np.int64(cells[at + CELL_PARENT]),
                    np.int64(NIL),
                )
                if called == NIL:
                    return np.int64(NEED_SPACE)
                continue
        if not has_room(tables, rows):
            return np.int64(NEED_ROW)
        if cell != NIL and (
            (node < 0 and ways[outcome >> shift] == MADE)
            or (node >= 0 and nodes[NODE * node + NODE_KIND] == LEFT)
        ):
            arena[A_NOTE + NOTE_NODE] = node
            arena[A_NOTE + NOTE_OUTCOME] = outcome
            return np.int64(NEED_ROOT)
        n_nodes = np.int64(rows[R_N_NODES])
        n_events = np.int64(rows[R_N_EVENTS])
        n_words = np.int64(rows[R_N_WORDS])
        free = np.int64(rows[R_FREE])
        address = np.int64(rows[R_FREE_ADDRESS])
        if node < 0 and ways[outcome >> shift] == MODELLED:
            status = np.int64(asking_node(arena, rows, MODEL, outcome))
        elif node >= 0 and nodes[NODE * node + NODE_KIND] == MODEL:
            state = np.int64(nodes[NODE * node + NODE_ACTION])
            pair = 2 * (state >> shift)
            status = np.int64(
                patch_root(tables, arena, rows, outcome, state, models[pair], models[pair + 1])
            )
            if status >= 0:
                status = np.int64(grow_tree(tables, arena, rows, status, 0))
        elif node < 0 and ways[outcome >> shift] == LISTED:
            number = np.int64(models[2 * (outcome >> shift)])
            status = np.int64(list_root(tables, arena, rows, number))
        else:
            status = np.int64(grow_tree(tables, arena, rows, node, outcome))
        if status < 0:
            rows[R_N_NODES] = n_nodes
            rows[R_N_EVENTS] = n_events
            rows[R_N_WORDS] = n_words
            rows[R_FREE] = free
            rows[R_FREE_ADDRESS] = address
            return status
        child = np.int64(rows[R_N_NODES]) - 1
        if cell == NIL:
            return child
        link(rows, node, outcome if node >= 0 else outcome >> shift, child)


@kernel("int64(int64[::1], int64[::1], int64[::1], int64, int64, int64)")
def make_leaf(tables, arena, rows, cell, node, outcome):
    """Find the leaf of a thread, making what is missing on the way; the leaf or a status.

    With NIL for the thread only the child of ``node`` for ``outcome``, or the root of a state
    (node < 0), is made and not linked. Needs the lock.
    """
    return grow_leaf(tables, arena, rows, cell, node, outcome)


@kernel("int64(int64[::1], int64[::1], int32[:, ::1], int64)")
def fill_growing(matcher, rows, bitmask, index):
    """`fill_bitmask`, where the row is made first if it is missing. Needs the lock.

    NEED_LOCK is returned where more than a kernel is needed.
    """
    if matcher[M_TERMINATED] != 0 or matcher[M_STOPS + 1] != 0:
        return np.int64(NEED_LOCK)
    arena = record_at(matcher[M_ARENA], A_SIZE)
    row_of = view_i32(rows, R_ROW_OF)
    configuration = np.int64(matcher[M_CONFIGURATION])
    if configuration >= row_of.size:
        arena[A_NEEDED] = -(R_ROW_OF + 1)  # negative, though the slot is 0
        return np.int64(NEED_SPACE)
    if row_of[configuration] == 0:
        if view_i32(arena, A_CELLS)[configuration * CELL + CELL_NEXT] != NIL:
            return np.int64(NEED_LOCK)
        tables = record_at(matcher[M_TABLES], T_SIZE)
        leaf = np.int64(grow_leaf(tables, arena, rows, configuration, np.int64(-1), np.int64(0)))
        if leaf < 0:
            return leaf
        row_of[configuration] = leaf + 1
    return fill_one(matcher, rows, bitmask, index)


@kernel("int64(int64[::1], int64[::1], int64[::1], int32[::1], int64)")
def join_rows(tables, arena, rows, leaves, count):
    """Enter a leaf whose row is the union of the rows of leaves[:count]; there has to be room."""
    words = np.int64(tables[T_WORDS])
    nodes = view_i64(rows, R_NODES)
    joined = ints_at(rows[R_FREE_ADDRESS], words)
    row = ints_at(rows[R_FREE_ADDRESS] + 4 * words, words)
    flags = np.int64(0)
    for i in range(count):
        at = NODE * np.int64(leaves[i])
        flags |= np.int64(nodes[at + NODE_FLAGS]) & (COMPLETE | TEXTUAL)
        write_row(nodes, np.int64(leaves[i]), row if i > 0 else joined)
        if i > 0:
            for word in range(words):
                joined[word] |= row[word]
    shorten_row(tables, arena, rows, np.int64(nodes[NODE * np.int64(leaves[0]) + NODE_BASE]))
    flags |= row_flags(tables, arena, rows)
    leaf = np.int64(rows[R_N_NODES])
    at = NODE * leaf
    nodes[at + NODE_KIND] = LEAF
    nodes[at + NODE_EVENTS] = 0
    nodes[at + NODE_FLAGS] = flags
    keep_row(tables, arena, rows, leaf)
    rows[R_N_NODES] = leaf + 1
    return leaf
