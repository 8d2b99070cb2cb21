"""Tries of an object's keys, written straight into the table of actions.

A state of the trie has read the beginning of a key. Where keys that are not named may come too, a
byte that no named key goes on with falls out into the string body that all keys share, and comes
back at the closing quote. A trie that differs from another by one more key shares all of it but the
states on that key's way (path copying: Driscoll et al. 1989). Cost: one row of actions a new state.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, view_i32, view_i64, view_u8
from .layout import (
    GUARD,
    MODELLED,
    NEED_SPACE,
    PROGRAM,
    STEP,
    SYMBOL,
    SYMBOL_ACTION,
    SYMBOL_KIND,
    SYMBOL_MASK,
    T_ACTIONS,
    T_MODELS,
    T_PROGRAMS,
    T_ROOTS,
    T_SHIFT,
    T_SYMBOLS,
)

QUOTE = 0x22

# What is known of each new state: its parent, the byte between, the first key below, their number.
PLACE = 4
PLACE_PARENT = 0
PLACE_BYTE = 1
PLACE_FIRST = 2
PLACE_KEYS = 3


@inner
def copy_actions(source, target):
    """Copy the actions of a state."""
    for column in range(target.size):
        target[column] = source[column]


@inner
def fall_out(actions, models, ways, shift, state, body, call, back):
    """Write the row of a state from which every byte of the string body is read as the body's."""
    width = np.int64(1) << shift
    # Slices, of which no index counts from the end: a third of the time.
    own = actions[state : state + width]
    read = actions[body : body + width]
    action = np.int32(call)
    for column in range(own.size):
        own[column] = action if read[column] != 0 else np.int32(0)
    models[2 * (state >> shift)] = body
    models[2 * (state >> shift) + 1] = back
    ways[state >> shift] = MODELLED


@kernel(
    "int64(int64[::1], uint8[::1], int32[::1], int32[::1], int32[::1], int32[::1],"
    " int64, int64, int64, int64, int64)"
)
def insert_keys(tables, texts, offsets, codes, calls, places, root, free, body, first_body, back):
    """Enter keys into a trie of states: texts[offsets[k]:offsets[k + 1]], and then codes[k].

    ``root`` is the trie to change, which stays as it is, or 0 for a new one. ``free`` is the first
    state that may be written; the first one written is the new root. ``body`` is the state of the
    string body behind the opening quote, or 0 if no other keys may come; calls[i] is the action of
    calling the i-th state from ``first_body`` on, to come back to ``back``. Fills ``places`` with
    PLACE fields a new state. Returns the end of the states written, or NEED_SPACE.
    """
    actions = view_i32(tables, T_ACTIONS)
    models = view_i32(tables, T_MODELS)
    ways = view_u8(tables, T_ROOTS)
    shift = np.int64(tables[T_SHIFT])
    width = np.int64(1 << shift)
    start = np.int64(free)
    n_keys = offsets.size - 1
    for k in range(max(n_keys, 1)):
        inside = np.int64(body)
        parent = np.int64(0)
        byte = np.int64(0)
        old = np.int64(root)
        if k > 0:
            old = start
        for i in range(offsets[k] - 1, offsets[min(k + 1, n_keys)]):
            # The state reached: new, a copy of an old one, or written here before.
            if i >= offsets[k]:
                byte = np.int64(texts[i])
                old = np.int64(actions[parent + byte])
                if body != 0:
                    inside = np.int64(actions[inside + byte])
            node = old
            if old < start:
                node = np.int64(free)
                free += width
                if free > actions.size:
                    return np.int64(NEED_SPACE)
                if old > 0:
                    copy_actions(actions[old : old + width], actions[node : node + width])
                    for field in range(2):
                        models[2 * (node >> shift) + field] = models[2 * (old >> shift) + field]
                    ways[node >> shift] = ways[old >> shift]
                elif body != 0:
                    call = np.int64(calls[(inside - first_body) >> shift])
                    fall_out(actions, models, ways, shift, node, inside, call, back)
                at = PLACE * ((node - start) >> shift)
                places[at + PLACE_PARENT] = parent
                places[at + PLACE_BYTE] = byte
                places[at + PLACE_FIRST] = k
                places[at + PLACE_KEYS] = 0
                if parent != 0:
                    actions[parent + byte] = node
            places[PLACE * ((node - start) >> shift) + PLACE_KEYS] += 1
            parent = node
        if k < n_keys:
            actions[parent + QUOTE] = codes[k]
    return np.int64(free)


@kernel("int64(int64[::1], int32[::1], int64[::1], int64, int64, int64)")
def guard_keys(tables, places, bits, root, symbol, program):
    """Make a step of every branch of a trie, alive while a key behind it has not been seen.

    ``places`` are what `insert_keys` filled in from ``root`` on, and ``bits`` those of its keys.
    Steps are numbered from ``symbol`` on, and their programs from ``program`` on; if that is 0 they
    are only counted. Returns how many there are.
    """
    actions = view_i32(tables, T_ACTIONS)
    programs = view_i32(tables, T_PROGRAMS)
    symbols = view_i64(tables, T_SYMBOLS)
    shift = np.int64(tables[T_SHIFT])
    n = np.int64(0)
    for i in range(1, places.size // PLACE):
        at = PLACE * i
        parent = np.int64(places[at + PLACE_PARENT])
        n_keys = np.int64(places[at + PLACE_KEYS])
        if n_keys == places[PLACE * ((parent - root) >> shift) + PLACE_KEYS]:
            continue
        if program != 0:
            mask = np.int64(0)
            for key in range(n_keys):
                mask |= bits[places[at + PLACE_FIRST] + key]
            meaning = SYMBOL * (symbol + n)
            symbols[meaning + SYMBOL_KIND] = GUARD
            symbols[meaning + SYMBOL_MASK] = mask
            symbols[meaning + SYMBOL_ACTION] = root + (i << shift)
            programs[4 * (program + n)] = STEP
            programs[4 * (program + n) + 1] = symbol + n
            actions[parent + places[at + PLACE_BYTE]] = PROGRAM - (program + n)
        n += 1
    return n


@kernel("int64(int64[::1], int32[::1], int64)")
def prune_keys(tables, places, start):
    """Cut off the states from ``start`` on without an action, and those that come to have none.

    ``places`` are what `insert_keys` filled in. Returns ``start``, or 0 if that has no action left.
    """
    actions = view_i32(tables, T_ACTIONS)
    shift = np.int64(tables[T_SHIFT])
    for i in range(places.size // PLACE - 1, -1, -1):
        node = start + (i << shift)
        alive = False
        for column in range(1 << shift):
            if actions[node + column] != 0:
                alive = True
                break
        if not alive:
            if i == 0:
                return np.int64(0)
            actions[places[PLACE * i + PLACE_PARENT] + places[PLACE * i + PLACE_BYTE]] = 0
    return np.int64(start)
