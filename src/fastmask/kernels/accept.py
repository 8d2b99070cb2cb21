"""Advance a matcher: by one token without a lock, by any bytes under the arena's lock."""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, record_at, view_i32, view_u8
from .cells import find_cell, intern_threads
from .layout import (
    A_CAPACITY,
    A_CELLS,
    A_FORWARD,
    A_N_MISSING,
    A_NEEDED,
    A_PREFIX,
    A_RESULT,
    A_SIZE,
    A_STEPS,
    A_TEXT,
    A_THREADS,
    A_TOP,
    ACCEPTED,
    ANY_TEXT,
    AT_MOST,
    CELL,
    CELL_NEXT,
    CELL_PARENT,
    CELL_REGISTER,
    CELL_STATE,
    COUNT,
    DEAD,
    ENOUGH,
    JUMP,
    KEEP,
    M_ARENA,
    M_CONFIGURATION,
    M_HISTORY,
    M_LENGTH,
    M_SIZE,
    M_STOPS,
    M_TABLES,
    M_TERMINATED,
    NEED_EXPANSION,
    NEED_LOCK,
    NEED_SPACE,
    NEED_TEXT,
    NIL,
    NO_TEXT,
    PROGRAM,
    PUSH,
    REFUSED,
    RETURN,
    SET,
    SOME_TEXT,
    STEP,
    T_ACTIONS,
    T_CLASSES,
    T_FIRST_TOKEN_COLUMN,
    T_PROGRAMS,
    T_SIZE,
    T_STEP_BUDGET,
    T_TOKEN_BYTES,
    T_TOKEN_KIND,
    T_TOKEN_OFFSETS,
    T_VOCAB_SIZE,
    TEXT,
    THREAD,
)
from .moves import move_action
from .registers import known_move
from .step import general_step


@inner
def accept_one(matcher, token):
    """Advance one matcher by one text token if a single thread and known cells suffice."""
    if matcher[M_TERMINATED] != 0:
        return REFUSED
    tables = record_at(matcher[M_TABLES], T_SIZE)
    if token < 0 or token >= tables[T_VOCAB_SIZE]:
        return REFUSED
    if view_i32(tables, T_TOKEN_KIND)[token] != TEXT:
        return NEED_LOCK
    stops = view_i32(matcher, M_STOPS)
    for i in range(stops.size):
        if stops[i] == token:
            return NEED_LOCK
    history = view_i32(matcher, M_HISTORY)
    length = np.int64(matcher[M_LENGTH])
    if 2 * length >= history.size:
        return NEED_LOCK
    arena = record_at(matcher[M_ARENA], A_SIZE)
    cells = view_i32(arena, A_CELLS)
    classes = view_u8(tables, T_CLASSES)
    actions = view_i32(tables, T_ACTIONS)
    programs = view_i32(tables, T_PROGRAMS)
    data = view_u8(tables, T_TOKEN_BYTES)
    offsets = view_i32(tables, T_TOKEN_OFFSETS)
    configuration = np.int64(matcher[M_CONFIGURATION])
    at = configuration * CELL
    if cells[at + CELL_NEXT] != NIL:
        return NEED_LOCK
    state = np.int64(cells[at + CELL_STATE])
    register = np.int64(cells[at + CELL_REGISTER])
    below = np.int64(cells[at + CELL_PARENT])
    for i in range(offsets[token], offsets[token + 1]):
        column = np.int64(classes[data[i]])
        action = np.int64(actions[state + column])
        while action < 0:
            if action == RETURN:
                at = below * CELL
                if cells[at + CELL_NEXT] != NIL:
                    return NEED_LOCK
                state = np.int64(cells[at + CELL_STATE])
                register = np.int64(cells[at + CELL_REGISTER])
                below = np.int64(cells[at + CELL_PARENT])
            elif action <= PROGRAM:
                at = 4 * (PROGRAM - action)
                kind = np.int64(programs[at])
                if kind == PUSH:
                    state = np.int64(programs[at + 1])
                    back = np.int64(programs[at + 2])
                    if back != 0:
                        below = np.int64(find_cell(cells, back, register, below, NIL))
                        if below < 0:
                            return NEED_LOCK
                    register = np.int64(0)
                elif kind == JUMP:
                    state = np.int64(programs[at + 1])
                elif kind == SET:
                    register = np.int64(programs[at + 1])
                    action = np.int64(programs[at + 3])
                    continue
                elif kind == COUNT:
                    if register >= programs[at + 1]:
                        return REFUSED
                    register += 1
                    action = np.int64(programs[at + 3])
                    continue
                elif kind == ENOUGH:
                    if register < programs[at + 1]:
                        return REFUSED
                    action = np.int64(programs[at + 3])
                    continue
                elif kind == AT_MOST:
                    if register > programs[at + 1]:
                        return REFUSED
                    action = np.int64(programs[at + 3])
                    continue
                elif kind == STEP and programs[at + 2] == 0:
                    move = known_move(tables, register, np.int64(programs[at + 1]))
                    if move < 0:
                        return NEED_LOCK
                    register = move >> 32
                    action = move_action(move)
                    continue
                else:
                    return NEED_LOCK
            else:
                return NEED_LOCK
            action = np.int64(actions[state + column])
        if action == DEAD:
            return REFUSED
        state = action
    found = find_cell(cells, state, register, below, NIL)
    if found < 0:
        return NEED_LOCK
    history[2 * length] = configuration
    history[2 * length + 1] = token
    matcher[M_LENGTH] = length + 1
    matcher[M_CONFIGURATION] = found
    return ACCEPTED


@kernel("int64(int64[::1], int64)")
def accept_token(matcher, token):
    """Advance ``matcher`` by one text token; NEED_LOCK where the fast path ends."""
    return accept_one(matcher, token)


@kernel("int64(int64[::1], int64[::1], int64[::1])")
def accept_batch(matchers, tokens, statuses):
    """Advance each matcher (by the address of its record) by its token."""
    for i in range(matchers.size):
        statuses[i] = accept_one(record_at(matchers[i], M_SIZE), tokens[i])
    return np.int64(0)


@inner
def load_threads(cells, threads, arena, configuration, room):
    """Write the threads of a configuration to the front of the buffer; their number."""
    count = np.int64(0)
    cell = np.int64(configuration)
    while cell != NIL:
        if count >= room:
            arena[A_NEEDED] = A_THREADS
            return count
        at = cell * CELL
        threads[THREAD * count] = cells[at + CELL_STATE]
        threads[THREAD * count + 1] = cells[at + CELL_REGISTER]
        threads[THREAD * count + 2] = cells[at + CELL_PARENT]
        count += 1
        cell = np.int64(cells[at + CELL_NEXT])
    return count


@inner
def read_data(matcher, rows, configuration, data, start, end, column):
    """Step ``configuration`` over data[start:end], or over one pseudo-column if that is >= 0.

    Needs the arena's lock. On ACCEPTED the new configuration is in A_RESULT. On REFUSED and
    NEED_TEXT A_RESULT is the number of bytes read before the one that failed.
    """
    tables = record_at(matcher[M_TABLES], T_SIZE)
    arena = record_at(matcher[M_ARENA], A_SIZE)
    cells = view_i32(arena, A_CELLS)
    threads = view_i32(arena, A_THREADS)
    prefix = view_i32(arena, A_PREFIX)
    forward = view_i32(arena, A_FORWARD)
    classes = view_u8(tables, T_CLASSES)
    arena[A_NEEDED] = 0
    arena[A_N_MISSING] = 0
    arena[A_STEPS] = 0
    arena[A_TOP] = arena[A_CAPACITY]
    half = threads.size // THREAD // 2
    source = np.int64(0)
    count = load_threads(cells, threads, arena, configuration, half)
    steps = end - start
    budget = np.int64(tables[T_STEP_BUDGET]) + 16 * steps
    if column >= 0:
        steps = 1
    for i in range(steps):
        symbol = np.int64(column)
        if column < 0:
            symbol = np.int64(classes[data[start + i]])
        target = half - source
        count = np.int64(
            general_step(tables, arena, rows, budget, source, count, KEEP, symbol, 0, target)
        )
        if count < 0 or arena[A_N_MISSING] != 0:
            arena[A_RESULT] = i
            return count if count < 0 else np.int64(NEED_EXPANSION)
        if count > half:
            arena[A_NEEDED] = A_THREADS
            return NEED_SPACE
        if count == 0:
            arena[A_RESULT] = i
            return REFUSED
        source = target
    result = intern_threads(cells, prefix, forward, arena, threads, source, count)
    if arena[A_NEEDED] != 0 or result == NIL:
        return NEED_SPACE
    arena[A_RESULT] = result
    return np.int64(ACCEPTED)


@kernel("int64(int64[::1], int64[::1], int64, uint8[::1], int64, int64)")
def advance(matcher, rows, configuration, data, length, column):
    """Step ``configuration`` over data[:length], or over one pseudo-column if that is >= 0.

    Needs the arena's lock. On ACCEPTED the new configuration is in A_RESULT. On REFUSED and
    NEED_TEXT A_RESULT is the number of bytes read before the one that failed.
    """
    return read_data(matcher, rows, configuration, data, 0, length, column)


@kernel("int64(int64[::1], int64[::1], int64)")
def accept_text(matcher, rows, token):
    """Advance ``matcher`` by one text token, over stacks never seen before; or NEED_LOCK.

    Needs the arena's lock. Where a text decides, something has to be made, or the token is more
    than text, nothing has changed.
    """
    tables = record_at(matcher[M_TABLES], T_SIZE)
    history = view_i32(matcher, M_HISTORY)
    length = np.int64(matcher[M_LENGTH])
    if view_i32(tables, T_TOKEN_KIND)[token] != TEXT or matcher[M_TERMINATED] != 0:
        return np.int64(NEED_LOCK)
    if matcher[M_STOPS + 1] != 0 or 2 * length >= history.size:
        return np.int64(NEED_LOCK)
    arena = record_at(matcher[M_ARENA], A_SIZE)
    offsets = view_i32(tables, T_TOKEN_OFFSETS)
    configuration = np.int64(matcher[M_CONFIGURATION])
    arena[A_TEXT] = NO_TEXT
    status = np.int64(
        read_data(
            matcher, rows, configuration, view_u8(tables, T_TOKEN_BYTES),
            np.int64(offsets[token]), np.int64(offsets[token + 1]), np.int64(-1),
        )
    )  # fmt: skip
    arena[A_TEXT] = ANY_TEXT
    if status == ACCEPTED:
        history[2 * length] = configuration
        history[2 * length + 1] = token
        matcher[M_LENGTH] = length + 1
        matcher[M_CONFIGURATION] = arena[A_RESULT]
    elif status != REFUSED:
        return np.int64(NEED_LOCK)
    return status


@kernel("int64(int64[::1], int64[::1], int64, uint8[::1])")
def next_bytes(matcher, rows, configuration, allowed):
    """Set allowed[b] to 1 for every byte b that may come next. Needs the arena's lock."""
    tables = record_at(matcher[M_TABLES], T_SIZE)
    arena = record_at(matcher[M_ARENA], A_SIZE)
    cells = view_i32(arena, A_CELLS)
    threads = view_i32(arena, A_THREADS)
    classes = view_u8(tables, T_CLASSES)
    for i in range(256):
        allowed[i] = 0
    arena[A_NEEDED] = 0
    arena[A_N_MISSING] = 0
    arena[A_STEPS] = 0
    budget = np.int64(tables[T_STEP_BUDGET])
    half = threads.size // THREAD // 2
    count = load_threads(cells, threads, arena, configuration, half)
    for column in range(tables[T_FIRST_TOKEN_COLUMN]):
        arena[A_TOP] = arena[A_CAPACITY]
        n = np.int64(general_step(tables, arena, rows, budget, 0, count, KEEP, column, 0, half))
        if n < 0 or arena[A_N_MISSING] != 0:
            return n if n < 0 else np.int64(NEED_EXPANSION)
        if n > 0:
            for i in range(256):
                if classes[i] == column:
                    allowed[i] = 1
    return np.int64(0)


@kernel("int64(int64[::1], int64[::1], int64, int32[::1], int64, int32[::1])")
def read_tokens(matcher, rows, configuration, token_ids, first, read):
    """Read each of token_ids[first:] from ``configuration`` as far as no text decides.

    read[i] becomes the number of bytes before the step that depends on the text, or -1 for a token
    that comes to none or is refused whatever the text. Needs the arena's lock. On a negative status
    A_RESULT is where to go on.
    """
    tables = record_at(matcher[M_TABLES], T_SIZE)
    arena = record_at(matcher[M_ARENA], A_SIZE)
    cells = view_i32(arena, A_CELLS)
    threads = view_i32(arena, A_THREADS)
    classes = view_u8(tables, T_CLASSES)
    data = view_u8(tables, T_TOKEN_BYTES)
    offsets = view_i32(tables, T_TOKEN_OFFSETS)
    arena[A_NEEDED] = 0
    arena[A_N_MISSING] = 0
    budget = np.int64(tables[T_STEP_BUDGET])
    third = threads.size // THREAD // 3
    n_start = load_threads(cells, threads, arena, configuration, third)
    for item in range(first, token_ids.size):
        token = np.int64(token_ids[item])
        arena[A_RESULT] = item
        arena[A_STEPS] = 0
        arena[A_TOP] = arena[A_CAPACITY]
        arena[A_TEXT] = NO_TEXT
        read[item] = -1
        source = np.int64(0)
        count = np.int64(n_start)
        for i in range(offsets[token], offsets[token + 1]):
            target = third if source != third else 2 * third
            column = np.int64(classes[data[i]])
            before = count
            count = np.int64(
                general_step(tables, arena, rows, budget, source, before, KEEP, column, 0, target)
            )
            if count == NEED_TEXT:
                read[item] = i - offsets[token]
                arena[A_TEXT] = SOME_TEXT
                count = np.int64(
                    general_step(
                        tables, arena, rows, budget, source, before, KEEP, column, 0, target
                    )
                )
            if count < 0 or arena[A_N_MISSING] != 0:
                return count if count < 0 else np.int64(NEED_EXPANSION)
            if count > third or arena[A_NEEDED] != 0:
                arena[A_NEEDED] = A_THREADS
                return np.int64(NEED_SPACE)
            if count == 0:
                read[item] = -1
                break
            source = target
    arena[A_TEXT] = NO_TEXT
    return np.int64(0)
