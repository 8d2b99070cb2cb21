"""Walks on the local automaton, and events in bundles by the byte that stands next.

Behind a name thousands of tokens leave a frame, and what lies below treats all of them alike that
go on with the same byte: most do not go on, others leave the next frame too. So the places of the
events of a tree node are kept by the column of their byte, and passed on as a whole.

Cost: one load a bundle that does not go on or leaves again; five loads a trie node otherwise, with
subtrees taken as a whole where a state reads all that is in them.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, view_i16, view_i32, view_i64, view_u8
from .groups import FEWEST, TOO_DEEP
from .layout import (
    A_FORWARD,
    A_LOCAL,
    A_LOCAL_LASTING,
    A_NEEDED,
    A_STATE,
    BUNDLE,
    COMPLETE,
    EVENT,
    LEAST_BUNDLED,
    NEED_SPACE,
    POP,
    R_EVENTS,
    R_FIRST_EVENT,
    R_N_EVENTS,
    R_N_POOL,
    R_POOL,
    T_BELOW,
    T_CLASSES,
    T_COLUMN_OFFSETS,
    T_COLUMN_TOKENS,
    T_END_COLUMN,
    T_END_TOKENS,
    T_FIRST_TOKEN_COLUMN,
    T_SHIFT,
    T_TRIE_BYTE,
    T_TRIE_DEPTH,
    T_TRIE_FIRST,
    T_TRIE_ORDER,
    T_TRIE_SKIP,
)
from .local import local_lasting, local_step
from .step import emit
from .writing import set_tokens

CHANGED = 1 << 10  # beside COMPLETE


@inner
def walk_below(tables, arena, rows, state, place, depth):
    """Walk the trie from a node whose byte led to a local state.

    Adds the tokens that live on to the row that was begun, and leaves events of ``depth``. Returns
    CHANGED if there was such a token, 0 if not, or a status.
    """
    classes = view_u8(tables, T_CLASSES)
    table = view_i32(arena, A_LOCAL)
    lastings = view_i64(arena, A_LOCAL_LASTING)
    states = view_i32(arena, A_STATE)
    events = view_i32(rows, R_EVENTS)
    byte = view_u8(tables, T_TRIE_BYTE)
    depths = view_i16(tables, T_TRIE_DEPTH)
    skip = view_i32(tables, T_TRIE_SKIP)
    first = view_i32(tables, T_TRIE_FIRST)
    order = view_i32(tables, T_TRIE_ORDER)
    below = view_i64(tables, T_BELOW)
    # Unsigned, indices need no look at whether they count from the end.
    one = np.uint64(1)
    shift = np.uint64(tables[T_SHIFT])
    result = np.int64(0)
    v = np.uint64(place)
    last = np.uint64(skip[v])
    base = np.uint64(depths[v])
    after = np.uint64(state)
    level = np.uint64(0)
    while True:
        if after != 0:
            states[level + one] = after
            # Where all that can stand below is read for ever the subtree is taken as a whole.
            inside = np.int64(below[v])
            lasting = np.int64(lastings[after >> shift])
            if lasting == 0 and inside < TOO_DEEP and skip[v] - np.int64(v) > FEWEST:
                lasting = np.int64(local_lasting(tables, arena, np.int64(after)))
            end = v + one
            if inside & ~lasting == 0:
                end = np.uint64(skip[v])
            if first[v] < first[end]:
                set_tokens(tables, arena, rows, order, np.int64(first[v]), np.int64(first[end]))
                result = np.int64(CHANGED)
            v = end
        else:
            v = np.uint64(skip[v])
        if v >= last:
            return result
        level = np.uint64(depths[v]) - base
        now = np.uint64(states[level])
        column = np.uint64(classes[byte[v]])
        move = np.int64(table[now + column])
        if move == 0:
            move = np.int64(local_step(tables, arena, rows, np.int64(now), np.int64(column)))
            if move < 0:
                return move
        if (move - 1) & 1 != 0:
            emit(events, rows, arena, np.int64(v), POP, depth, np.int64(0), np.int64(0))
        after = np.uint64((move - 1) >> 1)


@inner
def walk_all(tables, arena, rows, state):
    """Walk the whole trie from a local state; 0 or a status."""
    classes = view_u8(tables, T_CLASSES)
    table = view_i32(arena, A_LOCAL)
    events = view_i32(rows, R_EVENTS)
    byte = view_u8(tables, T_TRIE_BYTE)
    skip = view_i32(tables, T_TRIE_SKIP)
    v = np.int64(0)
    while v < byte.size:
        column = np.int64(classes[byte[v]])
        move = np.int64(table[state + column])
        if move == 0:
            move = np.int64(local_step(tables, arena, rows, state, column))
            if move < 0:
                return move
        if (move - 1) & 1 != 0:
            emit(events, rows, arena, v, POP, np.int64(1), np.int64(0), np.int64(0))
        if move > 2:
            status = np.int64(walk_below(tables, arena, rows, (move - 1) >> 1, v, np.int64(1)))
            if status < 0:
                return status
        v = np.int64(skip[v])
    return np.int64(0)


@inner
def walk_on(tables, arena, rows, state, start, count, depth):
    """Walk on from events[start:start + count] in a local state; new events are of ``depth``.

    Returns CHANGED and COMPLETE, or a status.
    """
    classes = view_u8(tables, T_CLASSES)
    byte = view_u8(tables, T_TRIE_BYTE)
    table = view_i32(arena, A_LOCAL)
    events = view_i32(rows, R_EVENTS)
    pool = view_i32(rows, R_POOL)
    result = np.int64(0)
    for i in range(start, start + count):
        low = np.int64(events[EVENT * i])
        high = low + 1
        bundled = events[EVENT * i + 1] == BUNDLE
        column = -low - 1
        if bundled:
            high = low + events[EVENT * i + 3]
            column = np.int64(events[EVENT * i + 4])
        elif low >= 0:
            column = np.int64(classes[byte[low]])
        move = np.int64(table[state + column])
        if move == 0:
            move = np.int64(local_step(tables, arena, rows, state, column))
            if move < 0:
                return move
        if (move - 1) & 1 != 0:
            if bundled:
                emit(events, rows, arena, low, BUNDLE, depth, high - low, column)
            else:
                emit(events, rows, arena, low, POP, depth, np.int64(0), np.int64(0))
        if move < 3:
            continue
        if low < 0:
            result |= set_column_tokens(tables, arena, rows, column)
            continue
        for k in range(low, high):
            place = np.int64(pool[k]) if bundled else low
            status = np.int64(walk_below(tables, arena, rows, (move - 1) >> 1, place, depth))
            if status < 0:
                return status
            result |= status
    return result


@inner
def gather_events(tables, arena, rows):
    """Put the places of the tree node being made into bundles; 0 or NEED_SPACE."""
    classes = view_u8(tables, T_CLASSES)
    byte = view_u8(tables, T_TRIE_BYTE)
    events = view_i32(rows, R_EVENTS)
    pool = view_i32(rows, R_POOL)
    ends = view_i32(arena, A_FORWARD)
    first = np.int64(rows[R_FIRST_EVENT])
    last = np.int64(rows[R_N_EVENTS])
    total = np.int64(0)
    for column in range(256):
        ends[column] = 0
    for i in range(first, last):
        place = np.int64(events[EVENT * i])
        if events[EVENT * i + 1] == POP and place >= 0:
            ends[classes[byte[place]]] += 1
            total += 1
    if total < LEAST_BUNDLED:
        return np.int64(0)
    end = np.int64(rows[R_N_POOL])
    if end + total > pool.size:
        arena[A_NEEDED] = -R_POOL
        return np.int64(NEED_SPACE)
    for column in range(256):
        end += ends[column]
        ends[column] = end - ends[column]
    depth = np.int64(events[EVENT * first + 2])
    count = first
    for i in range(first, last):
        place = np.int64(events[EVENT * i])
        if events[EVENT * i + 1] == POP and place >= 0:
            column = np.int64(classes[byte[place]])
            pool[ends[column]] = place
            ends[column] += 1
        else:
            for field in range(EVENT):
                events[EVENT * count + field] = events[EVENT * i + field]
            count += 1
    start = np.int64(rows[R_N_POOL])
    for column in range(256):
        if ends[column] > start:
            at = EVENT * count
            events[at] = start
            events[at + 1] = BUNDLE
            events[at + 2] = depth
            events[at + 3] = ends[column] - start
            events[at + 4] = column
            start = np.int64(ends[column])
            count += 1
    rows[R_N_POOL] = start
    rows[R_N_EVENTS] = count
    return np.int64(0)


@inner
def spread_events(arena, rows, start, count):
    """Write events[start:start + count] behind all others, bundles as single events; NEED_SPACE."""
    events = view_i32(rows, R_EVENTS)
    pool = view_i32(rows, R_POOL)
    for i in range(start, start + count):
        low = np.int64(events[EVENT * i])
        high = low + 1
        bundled = events[EVENT * i + 1] == BUNDLE
        if bundled:
            high = low + events[EVENT * i + 3]
        n = np.int64(rows[R_N_EVENTS])
        if EVENT * (n + high - low) > events.size:
            arena[A_NEEDED] = -R_EVENTS
            return np.int64(NEED_SPACE)
        for k in range(low, high):
            at = EVENT * n
            events[at] = pool[k] if bundled else low
            events[at + 1] = POP
            events[at + 2] = events[EVENT * i + 2]
            events[at + 3] = 0
            events[at + 4] = 0
            n += 1
        rows[R_N_EVENTS] = n
    return np.int64(0)


@inner
def set_column_tokens(tables, arena, rows, column):
    """Add the tokens of a pseudo-column; CHANGED, and COMPLETE if it is the end's."""
    if column == tables[T_END_COLUMN]:
        ends = view_i32(tables, T_END_TOKENS)
        set_tokens(tables, arena, rows, ends, np.int64(0), np.int64(ends.size))
        return np.int64(CHANGED | COMPLETE)
    offsets = view_i32(tables, T_COLUMN_OFFSETS)
    number = column - np.int64(tables[T_FIRST_TOKEN_COLUMN])
    set_tokens(
        tables, arena, rows, view_i32(tables, T_COLUMN_TOKENS), np.int64(offsets[number]),
        np.int64(offsets[number + 1]),
    )  # fmt: skip
    return np.int64(CHANGED)
