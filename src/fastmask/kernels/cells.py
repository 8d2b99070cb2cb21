"""Stack cells: interned lists of (state, register, parent, next) in one growing arena.

Interned cells lie below the arena's capacity and live as long as the arena; scratch cells lie above
it and last for one call. Every cell is made after the cells it refers to, so references only fall.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, view_i32
from .layout import (
    A_CAPACITY,
    A_CELLS,
    A_COUNT,
    A_NEEDED,
    A_PREFIX,
    A_SCRATCH,
    A_TOP,
    BOTTOM,
    CELL,
    CELL_NEXT,
    CELL_PARENT,
    CELL_REGISTER,
    CELL_STATE,
    HASH_MASK,
    HASH_OFFSET,
    NIL,
    THREAD,
)


@inner
def cell_slot(state, register, parent, following, mask):
    """First hash slot of a cell."""
    mixed = (
        int(state) * 73856093
        ^ int(register) * 19349663
        ^ int(parent) * 83492791
        ^ int(following) * 50331653
    )
    return (mixed ^ (mixed >> 17) ^ (mixed >> 7)) & mask


@inner
def find_cell(cells, state, register, parent, following):
    """Id of an interned cell, or -1."""
    offset = np.int64(cells[HASH_OFFSET])
    mask = np.int64(cells[HASH_MASK])
    slot = cell_slot(state, register, parent, following, mask)
    while True:
        cell = np.int64(cells[offset + slot])
        if cell == NIL:
            return -1
        at = cell * CELL
        if (
            cells[at + CELL_STATE] == state
            and cells[at + CELL_REGISTER] == register
            and cells[at + CELL_PARENT] == parent
            and cells[at + CELL_NEXT] == following
        ):
            return cell
        slot = (slot + 1) & mask


@inner
def intern_cell(cells, arena, state, register, parent, following):
    """Id of an interned cell, made if missing; NIL and the NEEDED word where there is no room."""
    found = find_cell(cells, state, register, parent, following)
    if found >= 0:
        return found
    cell = np.int64(arena[A_COUNT])
    if cell >= arena[A_CAPACITY]:
        arena[A_NEEDED] = A_COUNT
        return np.int64(NIL)
    at = cell * CELL
    cells[at + CELL_STATE] = state
    cells[at + CELL_REGISTER] = register
    cells[at + CELL_PARENT] = parent
    cells[at + CELL_NEXT] = following
    arena[A_COUNT] = cell + 1
    offset = np.int64(cells[HASH_OFFSET])
    mask = np.int64(cells[HASH_MASK])
    slot = cell_slot(state, register, parent, following, mask)
    while cells[offset + slot] != NIL:
        slot = (slot + 1) & mask
    cells[offset + slot] = cell
    return cell


@inner
def scratch_cell(cells, arena, state, register, parent, following):
    """A new scratch cell; NIL and the NEEDED word where there is no room."""
    cell = np.int64(arena[A_TOP])
    if cell >= arena[A_CAPACITY] + arena[A_SCRATCH]:
        arena[A_NEEDED] = A_SCRATCH
        return np.int64(NIL)
    at = cell * CELL
    cells[at + CELL_STATE] = state
    cells[at + CELL_REGISTER] = register
    cells[at + CELL_PARENT] = parent
    cells[at + CELL_NEXT] = following
    arena[A_TOP] = cell + 1
    return cell


@inner
def order(cells, cell, state, register, parent):
    """Sign of (parent, state, register) of ``cell`` against the given ones."""
    at = cell * CELL
    difference = np.int64(cells[at + CELL_PARENT]) - parent
    if difference == 0:
        difference = np.int64(cells[at + CELL_STATE]) - state
    if difference == 0:
        difference = np.int64(cells[at + CELL_REGISTER]) - register
    return difference


@inner
def insert(cells, prefix, arena, head, state, register, parent, interned):
    """The list ``head`` with one more alternative, at its place in falling order."""
    n = 0
    cell = np.int64(head)
    while cell != NIL:
        difference = order(cells, cell, state, register, parent)
        if difference == 0:
            return np.int64(head)
        if difference < 0:
            break
        if n >= prefix.size:
            arena[A_NEEDED] = A_PREFIX
            return np.int64(NIL)
        prefix[n] = cell
        n += 1
        cell = np.int64(cells[cell * CELL + CELL_NEXT])
    while True:
        if interned:
            cell = intern_cell(cells, arena, state, register, parent, cell)
        else:
            cell = scratch_cell(cells, arena, state, register, parent, cell)
        if n == 0 or cell == NIL:
            return cell
        n -= 1
        at = np.int64(prefix[n]) * CELL
        state = np.int64(cells[at + CELL_STATE])
        register = np.int64(cells[at + CELL_REGISTER])
        parent = np.int64(cells[at + CELL_PARENT])


@inner
def intern_threads(cells, prefix, forward, arena, threads, source, count):
    """Configuration id of a set of threads; NIL where there is no room."""
    base = np.int64(arena[A_CAPACITY])
    top = np.int64(arena[A_TOP])
    for i in range(top - base):
        forward[i] = 0
    for i in range(source, source + count):
        below = np.int64(threads[THREAD * i + 2])
        if below >= base:
            forward[below - base] = -1
    for cell in range(top - 1, base - 1, -1):
        if forward[cell - base] == -1:
            for field in range(CELL_PARENT, CELL_NEXT + 1):
                below = np.int64(cells[cell * CELL + field])
                if below >= base:
                    forward[below - base] = -1
    for cell in range(base, top):
        if forward[cell - base] == -1:
            at = cell * CELL
            parent = np.int64(cells[at + CELL_PARENT])
            if parent >= base:
                parent = np.int64(forward[parent - base])
            following = np.int64(cells[at + CELL_NEXT])
            if following >= base:
                following = np.int64(forward[following - base])
            state = np.int64(cells[at + CELL_STATE])
            register = np.int64(cells[at + CELL_REGISTER])
            made = insert(cells, prefix, arena, following, state, register, parent, True)
            if made == NIL:
                return made
            forward[cell - base] = made
    configuration = np.int64(NIL)
    for i in range(source, source + count):
        below = np.int64(threads[THREAD * i + 2])
        if below >= base:
            below = np.int64(forward[below - base])
        state = np.int64(threads[THREAD * i])
        register = np.int64(threads[THREAD * i + 1])
        configuration = insert(cells, prefix, arena, configuration, state, register, below, True)
        if configuration == NIL:
            return configuration
    return configuration


@kernel("int64(int64[::1])")
def rehash_cells(arena):
    """Enter every interned cell of ``arena`` into its buffer's (new, empty) hash table."""
    cells = view_i32(arena, A_CELLS)
    offset = np.int64(cells[HASH_OFFSET])
    mask = np.int64(cells[HASH_MASK])
    for cell in range(BOTTOM, arena[A_COUNT]):
        at = cell * CELL
        slot = cell_slot(
            cells[at + CELL_STATE],
            cells[at + CELL_REGISTER],
            cells[at + CELL_PARENT],
            cells[at + CELL_NEXT],
            mask,
        )
        while cells[offset + slot] != NIL:
            slot = (slot + 1) & mask
        cells[offset + slot] = cell
    return np.int64(0)


@kernel("int64(int64[::1], int64)")
def intern_state(arena, state):
    """Configuration of one thread in ``state`` on the bottom of the stack; NIL without room."""
    cells = view_i32(arena, A_CELLS)
    arena[A_NEEDED] = 0
    return intern_cell(cells, arena, state, np.int64(0), np.int64(BOTTOM), np.int64(NIL))


@kernel("int64(int64[::1], int64, int64)")
def join_configurations(arena, configuration, other):
    """Configuration with the threads of both; NIL without room."""
    cells = view_i32(arena, A_CELLS)
    prefix = view_i32(arena, A_PREFIX)
    arena[A_NEEDED] = 0
    cell = np.int64(other)
    result = np.int64(configuration)
    while cell != NIL and result != NIL:
        at = cell * CELL
        state = np.int64(cells[at + CELL_STATE])
        register = np.int64(cells[at + CELL_REGISTER])
        parent = np.int64(cells[at + CELL_PARENT])
        following = np.int64(cells[at + CELL_NEXT])
        result = insert(cells, prefix, arena, result, state, register, parent, True)
        cell = following
    return result
