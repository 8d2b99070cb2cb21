"""The mask without tables or tries: every token read from its first byte, n tokens x L bytes.

It serves to judge the fast way and to be measured against it.
"""

from __future__ import annotations

import numpy as np

from .._jit import kernel, record_at, view_i32, view_u8
from .accept import load_threads
from .layout import (
    A_CAPACITY,
    A_CELLS,
    A_N_MISSING,
    A_NEEDED,
    A_SIZE,
    A_STEPS,
    A_THREADS,
    A_TOP,
    DEAD,
    KEEP,
    M_ARENA,
    M_TABLES,
    NEED_EXPANSION,
    NEED_SPACE,
    T_ACTIONS,
    T_CLASSES,
    T_COLUMN_OFFSETS,
    T_COLUMN_TOKENS,
    T_END_COLUMN,
    T_END_TOKENS,
    T_FIRST_TOKEN_COLUMN,
    T_SIZE,
    T_STEP_BUDGET,
    T_TOKEN_BYTES,
    T_TOKEN_OFFSETS,
    T_VOCAB_SIZE,
    THREAD,
)
from .step import general_step


@kernel("int64(int64[::1], int64[::1], int64, uint8[::1], uint32[::1])")
def naive_row(matcher, rows, configuration, is_text, row):
    """Write the mask of ``configuration`` to ``row``. Needs the arena's lock."""
    tables = record_at(matcher[M_TABLES], T_SIZE)
    arena = record_at(matcher[M_ARENA], A_SIZE)
    cells = view_i32(arena, A_CELLS)
    threads = view_i32(arena, A_THREADS)
    classes = view_u8(tables, T_CLASSES)
    actions = view_i32(tables, T_ACTIONS)
    data = view_u8(tables, T_TOKEN_BYTES)
    offsets = view_i32(tables, T_TOKEN_OFFSETS)
    column_offsets = view_i32(tables, T_COLUMN_OFFSETS)
    column_tokens = view_i32(tables, T_COLUMN_TOKENS)
    ends = view_i32(tables, T_END_TOKENS)
    first_column = np.int64(tables[T_FIRST_TOKEN_COLUMN])
    end_column = np.int64(tables[T_END_COLUMN])
    size = np.int64(tables[T_VOCAB_SIZE])
    for i in range(row.size):
        row[i] = 0
    arena[A_NEEDED] = 0
    arena[A_N_MISSING] = 0
    arena[A_TOP] = arena[A_CAPACITY]
    budget = np.int64(tables[T_STEP_BUDGET])
    third = threads.size // THREAD // 3
    n_start = load_threads(cells, threads, arena, configuration, third)
    for item in range(size + end_column - first_column + 1):
        arena[A_STEPS] = 0
        arena[A_TOP] = arena[A_CAPACITY]
        n_steps = np.int64(1)
        position = np.int64(0)
        if item < size:
            if is_text[item] == 0:
                continue
            position = np.int64(offsets[item])
            n_steps = np.int64(offsets[item + 1]) - position
        source = np.int64(0)
        count = n_start
        for i in range(n_steps):
            column = first_column + item - size
            if item < size:
                column = np.int64(classes[data[position + i]])
            if count == 1:
                action = np.int64(actions[threads[THREAD * source] + column])
                if action == DEAD:
                    count = np.int64(0)
                    break
                if action > 0:
                    target = third if source != third else 2 * third
                    threads[THREAD * target] = action
                    threads[THREAD * target + 1] = threads[THREAD * source + 1]
                    threads[THREAD * target + 2] = threads[THREAD * source + 2]
                    source = target
                    continue
            target = third if source != third else 2 * third
            count = np.int64(
                general_step(tables, arena, rows, budget, source, count, KEEP, column, 0, target)
            )
            if count < 0 or arena[A_N_MISSING] != 0:
                return count if count < 0 else np.int64(NEED_EXPANSION)
            if count > third or arena[A_NEEDED] != 0:
                arena[A_NEEDED] = A_THREADS
                return np.int64(NEED_SPACE)
            if count == 0:
                break
            source = target
        if count == 0:
            continue
        if item < size:
            row[item >> 5] |= np.uint32(1) << np.uint32(item & 31)
        elif first_column + item - size == end_column:
            for i in range(ends.size):
                row[ends[i] >> 5] |= np.uint32(1) << np.uint32(ends[i] & 31)
        else:
            at = item - size
            for i in range(column_offsets[at], column_offsets[at + 1]):
                token = np.int64(column_tokens[i])
                row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
    return np.int64(0)
