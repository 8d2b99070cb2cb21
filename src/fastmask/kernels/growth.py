"""Growing a decision tree by one node: the walk over the token trie.

Cost: a plain trie node is six loads and two stores, about 5 ns; a root walks the nodes its state
lets through, a child only its events' subtrees. Subtrees that hold nothing but what a state reads
for ever are taken as a whole (`groups`), about a nanosecond a token.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, view_i16, view_i32, view_i64, view_u8
from .accept import load_threads
from .bundles import CHANGED, gather_events, spread_events, walk_all, walk_on
from .cells import scratch_cell
from .descent import chain_slot, take_steps
from .groups import FEWEST, FOR_EVER, TOO_DEEP, UNMADE, UNSURE, lasting_groups
from .layout import (
    A_ASKED,
    A_CAPACITY,
    A_CELLS,
    A_FRAME,
    A_FRAMES,
    A_GUESSED,
    A_MISSING,
    A_N_MISSING,
    A_NEEDED,
    A_NOTE,
    A_SEARCH,
    A_STATE,
    A_STEPS,
    A_THREADS,
    A_TOP,
    CELL,
    CELL_NEXT,
    CELL_PARENT,
    CELL_REGISTER,
    CELL_STATE,
    COMPLETE,
    COUNT,
    DEAD,
    DEPTHS,
    EVENT,
    FRAME,
    ITEM_TEXT,
    JUMP,
    KEEP,
    KNOW,
    NEED_EXPANSION,
    NEED_SPACE,
    NIL,
    NO_WALK,
    NODE,
    NODE_ACTION,
    NODE_CHAIN,
    NODE_DEPTH,
    NODE_EVENTS,
    NODE_FIRST_EVENT,
    NODE_FLAGS,
    NODE_KIND,
    NOTE_OUTCOME,
    NOTE_SYMBOL,
    POP,
    PROGRAM,
    PUSH,
    R_CHAINS,
    R_EVENTS,
    R_FIRST_EVENT,
    R_N_EVENTS,
    R_N_NODES,
    R_NODES,
    READ,
    RETURN,
    SET,
    T_ACTIONS,
    T_BELOW,
    T_CLASSES,
    T_COLUMN_OFFSETS,
    T_COLUMN_TOKENS,
    T_END_COLUMN,
    T_END_TOKENS,
    T_FIRST_TOKEN_COLUMN,
    T_GROUPS,
    T_IS_OPEN,
    T_LASTING,
    T_LIVE,
    T_MANY,
    T_PLAIN,
    T_PLAIN_ROW,
    T_PROGRAMS,
    T_REST_BYTE,
    T_REST_DEPTH,
    T_REST_NODE,
    T_REST_SKIP,
    T_ROOTS,
    T_SHIFT,
    T_STEP_BUDGET,
    T_TRIE_BYTE,
    T_TRIE_DEPTH,
    T_TRIE_FIRST,
    T_TRIE_NODES,
    T_TRIE_ORDER,
    T_TRIE_SKIP,
    TEXTUAL,
    THREAD,
    UNKNOWN,
    WALK,
    WALKED,
)
from .local import begin_local, first_local, local_state
from .moves import move_action
from .nodes import begin_node, choose_question
from .registers import derive
from .step import emit, general_step, miss, move_side_by_side
from .writing import begin_as, begin_row, keep_row, row_flags, set_tokens, share_row

MOST_ASKED = 3  # times that the groups of a root wait for states to be made


@inner
def make_noted(tables, arena):
    """Make the move that a note says is missing; -1 if the front end has to. Needs the lock."""
    return derive(
        tables, np.int64(arena[A_NOTE + NOTE_OUTCOME]), np.int64(arena[A_NOTE + NOTE_SYMBOL])
    )


@inner
def move_behind(tables, arena, rows, chain, register, action):
    """Packed move of a register on program ``action``, a step, behind a chain of other steps.

    What is missing of all these is made; -1 and a note of it if the front end has to. Needs the
    lock.
    """
    chains = view_i32(rows, R_CHAINS)
    programs = view_i32(tables, T_PROGRAMS)
    reached = np.int64(take_steps(chains, programs, tables, chain, register, arena, A_NOTE))
    while reached < 0 and make_noted(tables, arena) >= 0:
        reached = np.int64(take_steps(chains, programs, tables, chain, register, arena, A_NOTE))
    if reached < 0:
        miss(arena, arena[A_NOTE + NOTE_OUTCOME], arena[A_NOTE + NOTE_SYMBOL])
        return np.int64(-1)
    symbol = np.int64(programs[4 * (PROGRAM - action) + 1])
    move = np.int64(derive(tables, reached, symbol))
    if move < 0:
        miss(arena, reached, symbol)
    return move


@inner
def grow_tree(tables, arena, rows, node, outcome):
    """Make the root of state ``outcome`` (node < 0) or the child of ``node`` for ``outcome``.

    The new tree node is entered at R_N_NODES with its events and its row, for which there has to be
    room, but not linked: the caller does that once everything is in place. Needs the lock. Returns
    0 or a status.
    """
    cells = view_i32(arena, A_CELLS)
    threads = view_i32(arena, A_THREADS)
    states = view_i32(arena, A_STATE)
    frame_at = view_i32(arena, A_FRAME)
    frames = view_i32(arena, A_FRAMES)
    classes = view_u8(tables, T_CLASSES)
    actions = view_i32(tables, T_ACTIONS)
    programs = view_i32(tables, T_PROGRAMS)
    whole_skip = view_i32(tables, T_TRIE_SKIP)
    rest_node = view_i32(tables, T_REST_NODE)
    first = view_i32(tables, T_TRIE_FIRST)
    order = view_i32(tables, T_TRIE_ORDER)
    groups = view_u8(tables, T_GROUPS)
    below_node = view_i64(tables, T_BELOW)
    live_of = view_i64(tables, T_LIVE)
    lasting_of = view_i64(tables, T_LASTING)
    shift = np.int64(tables[T_SHIFT])
    column_offsets = view_i32(tables, T_COLUMN_OFFSETS)
    column_tokens = view_i32(tables, T_COLUMN_TOKENS)
    events = view_i32(rows, R_EVENTS)
    chains = view_i32(rows, R_CHAINS)
    nodes = view_i64(rows, R_NODES)
    # A mask may take the step budget and some steps more for each node of the trie.
    budget = np.int64(tables[T_STEP_BUDGET]) + 64 * np.int64(tables[T_TRIE_NODES])
    many = np.int64(tables[T_MANY])
    end_column = np.int64(tables[T_END_COLUMN])
    first_column = np.int64(tables[T_FIRST_TOKEN_COLUMN])
    most_missing = view_i32(arena, A_MISSING).size
    search = view_i32(arena, A_SEARCH)

    arena[A_N_MISSING] = 0
    arena[A_STEPS] = 0
    arena[A_GUESSED] = 0
    new_node = np.int64(begin_node(arena, rows))
    if new_node < 0:
        return new_node
    flags = np.int64(0)
    changed = np.int64(0)
    is_plain = False  # whether the row has all tokens of plain groups
    kind = np.int64(POP)
    asked = np.int64(0)
    depth = np.int64(0)
    chain = np.int64(0)
    first_event = np.int64(rows[R_FIRST_EVENT])
    old_event = np.int64(0)
    old_events = np.int64(0)
    begin_local(tables, arena)
    if node < 0:
        changed = 1
        if lasting_of[outcome >> shift] & UNSURE != 0:
            lasting_of[outcome >> shift] = 0
        lasting = np.int64(
            lasting_groups(actions, classes, groups, live_of, lasting_of, shift, outcome, search)
        )
        if lasting & UNSURE != 0 and arena[A_ASKED] < MOST_ASKED:
            arena[A_ASKED] += 1
            miss(arena, np.int64(search[UNMADE]), -1)
            return NEED_EXPANSION
        arena[A_ASKED] = 0
        wanted = FOR_EVER | np.int64(tables[T_PLAIN])
        is_plain = lasting & wanted == wanted
        # Pseudo-columns, and the whole trie as one item if the local automaton does not do.
        n_items = end_column - first_column + 1
        if is_plain:
            n_items += 1
            begin_row(arena, tables[T_PLAIN_ROW])
        else:
            begin_row(arena, 0)
            local = np.int64(NO_WALK)
            if tables[T_IS_OPEN] == 0:
                local = np.int64(first_local(tables, arena, outcome))
            if local >= 0:
                local = np.int64(walk_all(tables, arena, rows, local))
            if local == NO_WALK:
                rows[R_N_EVENTS] = first_event
                n_items += 1
            elif local < 0:
                return local
    else:
        kind = np.int64(nodes[NODE * node + NODE_KIND])
        asked = np.int64(nodes[NODE * node + NODE_ACTION])
        depth = np.int64(nodes[NODE * node + NODE_DEPTH])
        chain = np.int64(nodes[NODE * node + NODE_CHAIN])
        old_event = np.int64(nodes[NODE * node + NODE_FIRST_EVENT])
        old_events = np.int64(nodes[NODE * node + NODE_EVENTS])
        flags = np.int64(nodes[NODE * node + NODE_FLAGS]) & (COMPLETE | TEXTUAL)
        n_items = old_events
        begin_as(arena, nodes, node)
        if kind == POP and tables[T_IS_OPEN] == 0:
            if outcome >= 0:
                local = np.int64(first_local(tables, arena, outcome))
            else:
                local = np.int64(local_state(tables, arena, -outcome))
            if local >= 0:
                local = np.int64(
                    walk_on(tables, arena, rows, local, old_event, old_events, depth + 1)
                )
            if local >= 0:
                flags |= local & COMPLETE
                changed = np.int64(local & CHANGED != 0)
                n_items = np.int64(0)
            elif local == NO_WALK:
                rows[R_N_EVENTS] = first_event
                local = np.int64(spread_events(arena, rows, old_event, old_events))
                old_event = first_event
                first_event = np.int64(rows[R_N_EVENTS])
                rows[R_FIRST_EVENT] = first_event
                n_items = first_event - old_event
            if local < 0:
                return local
    base_top = np.int64(arena[A_CAPACITY])

    for item in range(n_items):
        place = np.int64(0)
        whole = False
        resume = np.int64(KEEP)
        register = -1 - depth
        if node < 0:
            whole = item > end_column - first_column
            place = -(first_column + item) - 1
        else:
            at = EVENT * (old_event + item)
            place = np.int64(events[at])
            action = np.int64(events[at + 3])
            register = np.int64(events[at + 4])
            is_asked = events[at + 2] == depth and (
                (kind == POP and events[at + 1] == POP)
                or (kind == WALK and events[at + 1] == WALK)
                or (kind == KNOW and events[at + 1] == READ)
                or (kind == READ and events[at + 1] == READ and action == asked
                    and (-1 - register) // DEPTHS == chain)
            )  # fmt: skip
            if not is_asked:
                emit(
                    events, rows, arena, place, np.int64(events[at + 1]),
                    np.int64(events[at + 2]), action, register,
                )  # fmt: skip
                continue
            if kind == WALK:
                threads[0] = action
            elif kind == READ:
                resume = np.int64(outcome)
                if programs[4 * (PROGRAM - action) + 2] == ITEM_TEXT:
                    flags |= TEXTUAL
                register = -1 - (depth + DEPTHS * chain_slot(chains, PROGRAM - action, chain))
            elif kind == KNOW:
                move = np.int64(
                    move_behind(
                        tables, arena, rows, (-1 - register) // DEPTHS, np.int64(outcome), action
                    )
                )
                resume = np.int64(DEAD)
                if move >= 0:
                    register = move >> 32
                    resume = move_action(move)
                    if programs[4 * (PROGRAM - action) + 2] == ITEM_TEXT:
                        flags |= TEXTUAL
            else:
                register = -1 - depth
        # The threads that read this place.
        arena[A_TOP] = base_top
        count = np.int64(1)
        if node < 0 or kind != POP or outcome >= 0:
            if kind != WALK:
                threads[0] = outcome if kind == POP else 0
            threads[1] = register
            threads[2] = scratch_cell(cells, arena, UNKNOWN, depth + 1, NIL, NIL)
        else:
            count = load_threads(cells, threads, arena, -outcome, threads.size // THREAD)
            if arena[A_NEEDED] != 0:
                return np.int64(NEED_SPACE)
        v = np.int64(0)
        in_rest = whole and is_plain
        byte = view_u8(tables, T_REST_BYTE if in_rest else T_TRIE_BYTE)
        depths = view_i16(tables, T_REST_DEPTH if in_rest else T_TRIE_DEPTH)
        skip = view_i32(tables, T_REST_SKIP if in_rest else T_TRIE_SKIP)
        last = np.int64(byte.size)
        base_depth = np.int64(0)
        if not whole and place >= 0:
            v = place
            last = np.int64(skip[place])
            base_depth = np.int64(depths[place])
        elif not whole:
            # A pseudo-column is read as a trie of one node with this column.
            last = np.int64(1)
        frames[0] = threads[1]
        frames[1] = threads[2]
        frames[2] = arena[A_TOP]
        frames[3] = 0
        frames[4] = count
        frame_at[0] = 0
        states[0] = threads[0] if count == 1 else many
        while v < last:
            if place < 0 and not whole:
                level = np.int64(0)
                column = -place - 1
            else:
                level = np.int64(depths[v]) - base_depth
                column = np.int64(classes[byte[v]])
            now = np.int64(states[level])
            action = np.int64(actions[now + column])
            if resume != KEEP:
                action = resume
                resume = np.int64(KEEP)
            if action > 0:
                states[level + 1] = action
                frame_at[level + 1] = frame_at[level]
            elif action == DEAD:
                if place < 0 and not whole:
                    break
                v = np.int64(skip[v])
                continue
            else:
                here = v if (whole or place >= 0) else place
                if in_rest:
                    here = np.int64(rest_node[v])
                frame = np.int64(frame_at[level])
                at = FRAME * frame
                register = np.int64(frames[at])
                below = np.int64(frames[at + 1])
                arena[A_TOP] = frames[at + 2]
                free = np.int64(frames[at + 3] + frames[at + 4])
                cell = below * CELL
                if (
                    action == RETURN
                    and cells[cell + CELL_STATE] == UNKNOWN
                    and cells[cell + CELL_NEXT] == NIL
                ):
                    asks = np.int64(cells[cell + CELL_REGISTER])
                    emit(events, rows, arena, here, POP, asks, np.int64(0), np.int64(0))
                    action = np.int64(DEAD)
                while action < 0:
                    if action == RETURN:
                        cell = below * CELL
                        if cells[cell + CELL_NEXT] != NIL or cells[cell + CELL_STATE] == UNKNOWN:
                            break
                        now = np.int64(cells[cell + CELL_STATE])
                        register = np.int64(cells[cell + CELL_REGISTER])
                        below = np.int64(cells[cell + CELL_PARENT])
                    elif action > PROGRAM:
                        break
                    elif programs[4 * (PROGRAM - action)] == SET:
                        cell = 4 * (PROGRAM - action)
                        register = np.int64(programs[cell + 1])
                        action = np.int64(programs[cell + 3])
                        continue
                    elif programs[4 * (PROGRAM - action)] == COUNT:
                        cell = 4 * (PROGRAM - action)
                        if register >= programs[cell + 1]:
                            action = np.int64(DEAD)
                            break
                        register += 1
                        action = np.int64(programs[cell + 3])
                        continue
                    elif programs[4 * (PROGRAM - action)] == JUMP:
                        now = np.int64(programs[4 * (PROGRAM - action) + 1])
                    elif programs[4 * (PROGRAM - action)] == PUSH:
                        cell = 4 * (PROGRAM - action)
                        now = np.int64(programs[cell + 1])
                        back = np.int64(programs[cell + 2])
                        if back != 0:
                            below = scratch_cell(cells, arena, back, register, below, NIL)
                        register = np.int64(0)
                    else:
                        break
                    action = np.int64(actions[now + column])
                start = free
                live = np.int64(action > 0)
                if now == many:
                    live = move_side_by_side(
                        actions, threads, np.int64(frames[at + 3]), np.int64(frames[at + 4]),
                        column, free,
                    )  # fmt: skip
                    if live >= 0:
                        action = np.int64(0)
                    if live == 1:
                        action = np.int64(threads[THREAD * start])
                        register = np.int64(threads[THREAD * start + 1])
                        below = np.int64(threads[THREAD * start + 2])
                if action < 0:
                    stopped = action
                    if now == many:
                        stopped = np.int64(KEEP)
                        start = np.int64(frames[at + 3])
                        live = np.int64(frames[at + 4])
                    else:
                        if THREAD * (free + 1) > threads.size:
                            arena[A_NEEDED] = A_THREADS
                            return NEED_SPACE
                        threads[THREAD * free] = now
                        threads[THREAD * free + 1] = register
                        threads[THREAD * free + 2] = below
                        free += 1
                        live = np.int64(1)
                    live = np.int64(
                        general_step(
                            tables, arena, rows, budget, start, live, stopped, column, here, free
                        )
                    )
                    if live < 0:
                        return live
                    if 2 * arena[A_N_MISSING] >= most_missing:
                        return NEED_EXPANSION
                    start = free
                    if live == 1:
                        action = np.int64(threads[THREAD * start])
                        register = np.int64(threads[THREAD * start + 1])
                        below = np.int64(threads[THREAD * start + 2])
                if arena[A_NEEDED] != 0:
                    return NEED_SPACE
                if live == 0:
                    if place < 0 and not whole:
                        break
                    v = np.int64(skip[v])
                    continue
                frame += 1
                at = FRAME * frame
                frames[at] = register
                frames[at + 1] = below
                frames[at + 2] = arena[A_TOP]
                frames[at + 3] = start
                frames[at + 4] = live if live > 1 else 0
                frame_at[level + 1] = frame
                states[level + 1] = action if live == 1 else many
            if place < 0 and not whole:
                changed = 1
                if column == end_column:
                    flags |= COMPLETE
                    ends = view_i32(tables, T_END_TOKENS)
                    set_tokens(tables, arena, rows, ends, 0, ends.size)
                else:
                    at = column - first_column
                    set_tokens(
                        tables, arena, rows, column_tokens, column_offsets[at],
                        column_offsets[at + 1],
                    )  # fmt: skip
                break
            # Where all that can stand below keeps the state alive the subtree is taken as a whole.
            here = v
            if in_rest:
                here = np.int64(rest_node[v])
                if here < 0:
                    v += 1
                    continue
            inside = np.int64(below_node[here])
            state = np.int64(states[level + 1])
            lasting = np.int64(lasting_of[state >> shift])
            if lasting == 0 and inside < TOO_DEEP and whole_skip[here] - here > FEWEST:
                lasting = np.int64(
                    lasting_groups(
                        actions, classes, groups, live_of, lasting_of, shift, state, search
                    )
                )
            end = here + 1
            v += 1
            if inside & ~lasting == 0:
                end = np.int64(whole_skip[here])
                v = np.int64(skip[v - 1])
            if first[here] < first[end]:
                set_tokens(tables, arena, rows, order, first[here], first[end])
                changed = 1
    if arena[A_NEEDED] != 0:
        return NEED_SPACE
    if arena[A_N_MISSING] != 0:
        return NEED_EXPANSION

    if arena[A_GUESSED] != 0:
        flags |= TEXTUAL
    # The caller may have a use for single events of states whose roots it makes.
    if (
        tables[T_IS_OPEN] == 0
        and (node >= 0 or view_u8(tables, T_ROOTS)[outcome >> shift] == WALKED)
        and gather_events(tables, arena, rows) < 0
    ):
        return np.int64(NEED_SPACE)
    at = NODE * new_node
    n_events = np.int64(rows[R_N_EVENTS]) - first_event
    choose_question(rows, new_node, first_event, n_events)
    if n_events == 0:
        flags |= row_flags(tables, arena, rows)
    nodes[at + NODE_FIRST_EVENT] = first_event
    nodes[at + NODE_EVENTS] = n_events
    nodes[at + NODE_FLAGS] = flags
    if changed != 0:
        keep_row(tables, arena, rows, new_node)
    else:
        share_row(nodes, node, new_node)
    rows[R_N_NODES] = new_node + 1
    return np.int64(0)
