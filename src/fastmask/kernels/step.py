"""Steps of the pushdown automaton: the fast path of one thread, and the general step of a set.

Cost: a plain move is two loads and an add; a call or return adds one hash probe or one load. Only
an ambiguous column, or a return through a list of several cells, needs the general step. The tables
have no nullable callee and no left recursion, so a call always reads a byte before it returns and
the calls made at one place form no cycle: callees are taken in the order of their rank, each once,
with the list of everyone who calls it.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, view_i32
from .cells import insert
from .layout import (
    A_CELLS,
    A_GUESSED,
    A_MISSING,
    A_N_MISSING,
    A_NEEDED,
    A_PENDING,
    A_PREFIX,
    A_STEPS,
    A_TEXT,
    A_THREADS,
    A_WORK,
    ANY_TEXT,
    AT_MOST,
    CELL,
    CELL_NEXT,
    CELL_PARENT,
    CELL_REGISTER,
    CELL_STATE,
    CHOICE,
    COUNT,
    DEAD,
    DEPTHS,
    ENOUGH,
    EVENT,
    EXPAND,
    ITEM_TEXT,
    JUMP,
    KEEP,
    NEED_SPACE,
    NEED_TEXT,
    NIL,
    NO_TEXT,
    OVER_BUDGET,
    POP,
    PROGRAM,
    PUSH,
    R_EVENTS,
    R_FIRST_EVENT,
    R_N_EVENTS,
    READ,
    RETURN,
    SET,
    SOME_TEXT,
    STEP,
    T_ACTIONS,
    T_ALTS,
    T_PROGRAMS,
    THREAD,
    UNKNOWN,
    WORK,
)
from .moves import move_action
from .registers import derive


@inner
def emit(events, rows, arena, place, kind, depth, action, register):
    """Note that a walk stands at ``place`` and has to know the stack; once per place and need."""
    count = np.int64(rows[R_N_EVENTS])
    i = count - 1
    while i >= rows[R_FIRST_EVENT] and events[EVENT * i] == place:
        at = EVENT * i
        if (
            events[at + 1] == kind
            and events[at + 2] == depth
            and events[at + 3] == action
            and events[at + 4] == register
        ):
            return
        i -= 1
    if EVENT * (count + 1) > events.size:
        arena[A_NEEDED] = -R_EVENTS
        return
    at = EVENT * count
    events[at] = place
    events[at + 1] = kind
    events[at + 2] = depth
    events[at + 3] = action
    events[at + 4] = register
    rows[R_N_EVENTS] = count + 1


@inner
def miss(arena, register, symbol):
    """Note that the move of a register, or a state (symbol -1), has to be made, perhaps again."""
    missing = view_i32(arena, A_MISSING)
    count = np.int64(arena[A_N_MISSING])
    last = 2 * count - 2
    if last >= 0 and missing[last] == register and missing[last + 1] == symbol:
        return np.int64(0)  # as on every byte of a state that is not made
    if 2 * count < missing.size:
        missing[2 * count] = register
        missing[2 * count + 1] = symbol
        arena[A_N_MISSING] = count + 1
    return np.int64(0)


@inner
def add_work(work, arena, n, action, register, below, state):
    """Append a work item; the new count."""
    if WORK * (n + 1) > work.size:
        arena[A_NEEDED] = A_WORK
        return n
    at = WORK * n
    work[at] = action
    work[at + 1] = register
    work[at + 2] = below
    work[at + 3] = state
    return n + 1


@inner
def is_queued(work, n, register, below, state):
    """Whether a returned thread stands in the work list already."""
    for i in range(n):
        at = WORK * i
        if work[at + 3] == state and work[at + 2] == below and work[at + 1] == register:
            return True
    return False


@inner
def union(cells, prefix, arena, head, other):
    """One list with the alternatives of both."""
    cell = np.int64(other)
    while cell != NIL and arena[A_NEEDED] == 0:
        at = cell * CELL
        state = np.int64(cells[at + CELL_STATE])
        register = np.int64(cells[at + CELL_REGISTER])
        parent = np.int64(cells[at + CELL_PARENT])
        following = np.int64(cells[at + CELL_NEXT])
        head = insert(cells, prefix, arena, head, state, register, parent, False)
        arena[A_STEPS] += 1
        cell = following
    return head


@inner
def general_step(tables, arena, rows, budget, source, count, resume, column, place, target):
    """Move threads[source:source + count] over one column; the results go to threads[target:].

    Unless ``resume`` is KEEP the first thread starts with that action instead of its state's.
    Returns the number of threads that live on, or a negative status. Where the unknown stack is
    needed an event at ``place`` is left. What the front end has not made yet is noted as missing,
    and counts as dead: the caller has to look.
    """
    actions = view_i32(tables, T_ACTIONS)
    programs = view_i32(tables, T_PROGRAMS)
    alts = view_i32(tables, T_ALTS)
    cells = view_i32(arena, A_CELLS)
    threads = view_i32(arena, A_THREADS)
    work = view_i32(arena, A_WORK)
    pending = view_i32(arena, A_PENDING)
    prefix = view_i32(arena, A_PREFIX)
    events = view_i32(rows, R_EVENTS)
    n_work = 0
    for i in range(source, source + count):
        state = np.int64(threads[THREAD * i])
        action = np.int64(actions[state + column])
        if resume != KEEP and i == source:
            action = np.int64(resume)
        n_work = add_work(
            work, arena, n_work, action, threads[THREAD * i + 1], threads[THREAD * i + 2], state
        )
    n_out = 0
    n_pending = 0
    done = 0
    while arena[A_NEEDED] == 0:
        if done < n_work:
            at = WORK * done
            action = np.int64(work[at])
            register = np.int64(work[at + 1])
            below = np.int64(work[at + 2])
            state = np.int64(work[at + 3])
            done += 1
            arena[A_STEPS] += 1
            if arena[A_STEPS] > budget:
                return OVER_BUDGET
            if action > 0:
                # Threads in one state are one thread over the union of their lists.
                i = target
                while i < target + n_out:
                    if threads[THREAD * i] == action and threads[THREAD * i + 1] == register:
                        break
                    i += 1
                if i < target + n_out:
                    if threads[THREAD * i + 2] != below:
                        threads[THREAD * i + 2] = union(
                            cells, prefix, arena, np.int64(threads[THREAD * i + 2]), below
                        )
                elif THREAD * (i + 1) > threads.size:
                    arena[A_NEEDED] = A_THREADS
                else:
                    threads[THREAD * i] = action
                    threads[THREAD * i + 1] = register
                    threads[THREAD * i + 2] = below
                    n_out += 1
            elif action == DEAD:
                continue
            elif action == RETURN:
                cell = below
                while cell != NIL:
                    at = cell * CELL
                    state = np.int64(cells[at + CELL_STATE])
                    register = np.int64(cells[at + CELL_REGISTER])
                    parent = np.int64(cells[at + CELL_PARENT])
                    if state == UNKNOWN:
                        emit(events, rows, arena, place, POP, register, 0, 0)
                    elif not is_queued(work, n_work, register, parent, state):
                        action = np.int64(actions[state + column])
                        n_work = add_work(work, arena, n_work, action, register, parent, state)
                    arena[A_STEPS] += 1
                    cell = np.int64(cells[at + CELL_NEXT])
            elif action == EXPAND:
                miss(arena, state, -1)
            else:
                at = 4 * (PROGRAM - action)
                kind = np.int64(programs[at])
                if kind == CHOICE:
                    for i in range(programs[at + 1], programs[at + 1] + programs[at + 2]):
                        # State 0 keeps a choice from standing for its whole thread in `is_queued`.
                        n_work = add_work(work, arena, n_work, alts[i], register, below, 0)
                elif kind == JUMP:
                    action = np.int64(actions[programs[at + 1] + column])
                    n_work = add_work(
                        work, arena, n_work, action, register, below, programs[at + 1]
                    )
                elif kind == SET:
                    n_work = add_work(
                        work, arena, n_work, programs[at + 3], programs[at + 1], below, 0
                    )
                elif kind == COUNT:
                    if register < programs[at + 1]:
                        n_work = add_work(
                            work, arena, n_work, programs[at + 3], register + 1, below, 0
                        )
                elif kind == ENOUGH:
                    if register >= programs[at + 1]:
                        n_work = add_work(work, arena, n_work, programs[at + 3], register, below, 0)
                elif kind == AT_MOST:
                    if register <= programs[at + 1]:
                        n_work = add_work(work, arena, n_work, programs[at + 3], register, below, 0)
                elif kind == STEP and register < 0:
                    depth = (-1 - register) & (DEPTHS - 1)
                    emit(events, rows, arena, place, READ, depth, action, register)
                elif kind == STEP:
                    symbol = np.int64(programs[at + 1])
                    if programs[at + 2] != 0 and arena[A_TEXT] != ANY_TEXT:
                        symbol = np.int64(arena[A_TEXT])
                        if symbol == NO_TEXT:
                            return NEED_TEXT
                        if symbol == SOME_TEXT and programs[at + 2] == ITEM_TEXT:
                            n_work = add_work(
                                work, arena, n_work, programs[at + 3], register, below, 0
                            )
                            continue
                        if symbol == SOME_TEXT:
                            symbol = np.int64(programs[at + 1])
                    elif programs[at + 2] == ITEM_TEXT:
                        arena[A_GUESSED] = 1
                    move = derive(tables, register, symbol)
                    if move < 0:
                        miss(arena, register, symbol)
                    else:
                        n_work = add_work(
                            work, arena, n_work, move_action(move), move >> 32, below, 0
                        )
                elif kind == PUSH:
                    callee = np.int64(programs[at + 1])
                    back = np.int64(programs[at + 2])
                    i = 0
                    while i < n_pending and pending[4 * i] != callee:
                        i += 1
                    if i == n_pending:
                        if 4 * (i + 1) > pending.size:
                            arena[A_NEEDED] = A_PENDING
                            return NEED_SPACE
                        pending[4 * i] = callee
                        pending[4 * i + 1] = programs[at + 3]
                        pending[4 * i + 2] = NIL
                        n_pending += 1
                    head = np.int64(pending[4 * i + 2])
                    if back == 0:
                        head = union(cells, prefix, arena, head, below)
                    else:
                        head = insert(cells, prefix, arena, head, back, register, below, False)
                    pending[4 * i + 2] = head
        elif n_pending > 0:
            least = 0
            for i in range(1, n_pending):
                if pending[4 * i + 1] < pending[4 * least + 1]:
                    least = i
            callee = np.int64(pending[4 * least])
            head = np.int64(pending[4 * least + 2])
            n_pending -= 1
            for i in range(3):
                pending[4 * least + i] = pending[4 * n_pending + i]
            action = np.int64(actions[callee + column])
            n_work = add_work(work, arena, n_work, action, np.int64(0), head, callee)
        else:
            return n_out
    return NEED_SPACE


@inner
def move_side_by_side(actions, threads, source, count, column, target):
    """Move threads that all just go on, or die, and do not meet; their number, or -1 otherwise."""
    live = np.int64(0)
    if THREAD * (target + count) > threads.size:
        return np.int64(-1)
    for i in range(source, source + count):
        action = np.int64(actions[threads[THREAD * i] + column])
        if action < 0:
            return np.int64(-1)
        if action > 0:
            register = threads[THREAD * i + 1]
            for k in range(target, target + live):
                if threads[THREAD * k] == action and threads[THREAD * k + 1] == register:
                    return np.int64(-1)
            to = THREAD * (target + live)
            threads[to] = action
            threads[to + 1] = register
            threads[to + 2] = threads[THREAD * i + 2]
            live += 1
    return live
