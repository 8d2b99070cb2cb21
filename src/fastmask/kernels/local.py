"""The finite automaton that walks run on: what a pushdown automaton does above an unknown stack.

A token is short, so seen from one state, with what lies below its frame unknown, a grammar is a
finite automaton: its states are configurations, and where it needs the list below it leaves. It is
made as walks reach it (as lazy DFAs are, Aho et al. 1986, ch. 3) and kept for later walks, so a
call, a return or an ambiguity is worked out once and is a load from then on. When it has too many
states all are dropped.

Cost: 20 to 40 ns a move of one thread, a general step and the interning of its result otherwise.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, view_i32, view_i64, view_u8
from .accept import load_threads
from .cells import intern_cell, intern_threads
from .groups import KNOWN, lasting_groups
from .layout import (
    A_CAPACITY,
    A_CELLS,
    A_FORWARD,
    A_GUESSED,
    A_LOCAL,
    A_LOCAL_CONFIGURATION,
    A_LOCAL_LASTING,
    A_LOCAL_OF,
    A_N_LOCAL,
    A_N_MISSING,
    A_NEEDED,
    A_PREFIX,
    A_SEARCH,
    A_THREADS,
    A_TOP,
    CELL,
    CELL_NEXT,
    CELL_PARENT,
    CELL_REGISTER,
    CELL_STATE,
    DEAD,
    EVENT,
    EVERY,
    JUMP,
    KEEP,
    LOCAL_LIMIT,
    NEED_EXPANSION,
    NEED_SPACE,
    NIL,
    NO_WALK,
    NOWHERE,
    OVER_BUDGET,
    POP,
    PROGRAM,
    PUSH,
    R_EVENTS,
    R_FIRST_EVENT,
    R_N_EVENTS,
    RETURN,
    T_ACTIONS,
    T_CLASSES,
    T_GROUPS,
    T_LASTING,
    T_LIVE,
    T_PROGRAMS,
    T_SHIFT,
    T_STEP_BUDGET,
    T_TRIE_NODES,
    THREAD,
    UNKNOWN,
)
from .step import general_step


@inner
def drop_local(tables, arena):
    """Drop all local states."""
    table = view_i32(arena, A_LOCAL)
    known = view_i32(arena, A_LOCAL_OF)
    for i in range(arena[A_N_LOCAL] << tables[T_SHIFT]):
        table[i] = 0
    for i in range(known.size):
        known[i] = 0
    arena[A_N_LOCAL] = 1
    return np.int64(0)


@inner
def begin_local(tables, arena):
    """Drop the local states if they have become too many."""
    if arena[A_N_LOCAL] >= LOCAL_LIMIT:
        drop_local(tables, arena)
    return np.int64(0)


@inner
def local_state(tables, arena, configuration):
    """The local state of a configuration, or a status."""
    if configuration == NIL:
        return np.int64(DEAD)
    known = view_i32(arena, A_LOCAL_OF)
    state = np.int64(known[configuration])
    if state != 0:
        return state
    configurations = view_i32(arena, A_LOCAL_CONFIGURATION)
    lastings = view_i64(arena, A_LOCAL_LASTING)
    number = np.int64(arena[A_N_LOCAL])
    state = number << tables[T_SHIFT]
    if number >= LOCAL_LIMIT:
        return np.int64(NO_WALK)
    if state + (1 << tables[T_SHIFT]) > view_i32(arena, A_LOCAL).size:
        arena[A_NEEDED] = A_LOCAL
        return np.int64(NEED_SPACE)
    if number >= configurations.size:
        arena[A_NEEDED] = A_LOCAL_CONFIGURATION
        return np.int64(NEED_SPACE)
    if number >= lastings.size:
        arena[A_NEEDED] = A_LOCAL_LASTING
        return np.int64(NEED_SPACE)
    configurations[number] = configuration
    lastings[number] = 0
    known[configuration] = state
    arena[A_N_LOCAL] = number + 1
    return state


@inner
def first_local(tables, arena, state):
    """The local state of one thread over an unknown stack, or a status."""
    cells = view_i32(arena, A_CELLS)
    # Above no stack at all the depth below is 1, and the register 0 cells below: see `DEPTHS`.
    below = intern_cell(cells, arena, np.int64(UNKNOWN), np.int64(1), np.int64(NIL), np.int64(NIL))
    if below == NIL:
        return np.int64(NEED_SPACE)
    cell = intern_cell(cells, arena, state, np.int64(-1), below, np.int64(NIL))
    if cell == NIL:
        return np.int64(NEED_SPACE)
    return local_state(tables, arena, cell)


@inner
def local_step(tables, arena, rows, state, column):
    """Make the move of a local state on a column: 1 + 2 * next state + (1 if it leaves).

    A negative status otherwise, NO_WALK where it depends on more than the stack.
    """
    cells = view_i32(arena, A_CELLS)
    actions = view_i32(tables, T_ACTIONS)
    configuration = np.int64(view_i32(arena, A_LOCAL_CONFIGURATION)[state >> tables[T_SHIFT]])
    programs = view_i32(tables, T_PROGRAMS)
    at = configuration * CELL
    own = np.int64(cells[at + CELL_STATE])
    register = np.int64(cells[at + CELL_REGISTER])
    below = np.int64(cells[at + CELL_PARENT])
    after = np.int64(NIL)
    leaves = np.int64(0)
    action = np.int64(KEEP)
    if cells[at + CELL_NEXT] == NIL:
        action = np.int64(actions[own + column])
    while action < 0:
        kind = np.int64(RETURN)
        if action <= PROGRAM:
            at = 4 * (PROGRAM - action)
            kind = np.int64(programs[at])
        elif action != RETURN:
            break
        if kind == RETURN and cells[below * CELL + CELL_NEXT] == NIL:
            at = below * CELL
            own = np.int64(cells[at + CELL_STATE])
            if own == UNKNOWN:
                leaves = np.int64(1)
                action = np.int64(DEAD)
                break
            register = np.int64(cells[at + CELL_REGISTER])
            below = np.int64(cells[at + CELL_PARENT])
        elif kind == PUSH:
            own = np.int64(programs[at + 1])
            if programs[at + 2] != 0:
                back = np.int64(programs[at + 2])
                below = np.int64(intern_cell(cells, arena, back, register, below, np.int64(NIL)))
                if below == NIL:
                    return np.int64(NEED_SPACE)
            register = np.int64(0)
        elif kind == JUMP:
            own = np.int64(programs[at + 1])
        else:
            break
        action = np.int64(actions[own + column])
    if action > DEAD and action != KEEP:
        after = np.int64(intern_cell(cells, arena, action, register, below, np.int64(NIL)))
        if after == NIL:
            return np.int64(NEED_SPACE)
    elif action != DEAD:
        # Several threads, now or soon.
        threads = view_i32(arena, A_THREADS)
        events = view_i32(rows, R_EVENTS)
        prefix = view_i32(arena, A_PREFIX)
        arena[A_TOP] = arena[A_CAPACITY]
        half = threads.size // THREAD // 2
        count = load_threads(cells, threads, arena, configuration, half)
        if arena[A_NEEDED] != 0:
            return np.int64(NEED_SPACE)
        first_event = np.int64(rows[R_FIRST_EVENT])
        n_events = np.int64(rows[R_N_EVENTS])
        rows[R_FIRST_EVENT] = n_events
        count = np.int64(
            general_step(
                tables, arena, rows, tables[T_STEP_BUDGET] + 64 * tables[T_TRIE_NODES],
                np.int64(0), count, np.int64(KEEP), column, np.int64(NOWHERE), half,
            )
        )  # fmt: skip
        for i in range(n_events, rows[R_N_EVENTS]):
            leaves = np.int64(1)
            if events[EVENT * i + 1] != POP or events[EVENT * i + 2] != 1:
                count = np.int64(NO_WALK)
        rows[R_FIRST_EVENT] = first_event
        rows[R_N_EVENTS] = n_events
        if count == OVER_BUDGET:
            drop_local(tables, arena)  # so that the same call comes to the same end
        if count < 0:
            return count
        if arena[A_N_MISSING] != 0:
            return np.int64(NEED_EXPANSION)
        if arena[A_GUESSED] != 0:
            return np.int64(NO_WALK)
        if count > 0:
            after = np.int64(
                intern_threads(
                    cells, prefix, view_i32(arena, A_FORWARD), arena, threads, half, count
                )
            )
        if arena[A_NEEDED] != 0:
            return np.int64(NEED_SPACE)
    following = np.int64(local_state(tables, arena, after))
    if following < 0:
        return following
    move = 1 + 2 * following + leaves
    view_i32(arena, A_LOCAL)[state + column] = move
    return move


@inner
def local_lasting(tables, arena, state):
    """Groups that a local state reads for ever: those of a thread that reads most.

    What the other threads do meanwhile changes nothing: all tokens are let through anyway.
    """
    cells = view_i32(arena, A_CELLS)
    number = state >> tables[T_SHIFT]
    lasting = np.int64(KNOWN)
    cell = np.int64(view_i32(arena, A_LOCAL_CONFIGURATION)[number])
    while cell != NIL:
        found = np.int64(
            lasting_groups(
                view_i32(tables, T_ACTIONS), view_u8(tables, T_CLASSES),
                view_u8(tables, T_GROUPS), view_i64(tables, T_LIVE),
                view_i64(tables, T_LASTING), np.int64(tables[T_SHIFT]),
                np.int64(cells[cell * CELL + CELL_STATE]), view_i32(arena, A_SEARCH),
            )
        )  # fmt: skip
        if found & EVERY > lasting & EVERY:
            lasting = found
        cell = np.int64(cells[cell * CELL + CELL_NEXT])
    view_i64(arena, A_LOCAL_LASTING)[number] = lasting
    return lasting
