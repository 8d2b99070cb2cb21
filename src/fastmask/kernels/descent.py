"""Finding a row: down a decision tree over stack reads, without a lock.

Which tokens a thread lets through depends on its state, and for the tokens that leave the frame on
what lies below. A tree has one root a state. Its row holds the tokens accepted without a look
below; its events are the trie nodes at which a walk had to know the stack. The tree asks one
question (the list at some depth, or what a step does there), has one edge an answer, and the child
has a row with more tokens and perhaps events that look deeper. A leaf has no events left and its
row is the mask. Rows are thus shared by all stacks that look alike as far as any token can see, and
a new stack costs a probe or two an answer.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, record_at, view_i32, view_i64, view_u8
from .cells import find_cell
from .hashing import pair_slot
from .layout import (
    A_CELLS,
    A_SIZE,
    CELL,
    CELL_NEXT,
    CELL_PARENT,
    CELL_REGISTER,
    CELL_STATE,
    CHAIN,
    CHAIN_BEFORE,
    CHAIN_PROGRAM,
    DEEPEST,
    LEAF,
    LEAVES,
    LEFT,
    M_ARENA,
    M_CONFIGURATION,
    M_NOTE,
    M_TABLES,
    MODELLED,
    NEED_LOCK,
    NIL,
    NO_CELL,
    NO_MOVE,
    NO_ROOT,
    NODE,
    NODE_ACTION,
    NODE_CHAIN,
    NODE_DEPTH,
    NODE_KIND,
    NOTE_NODE,
    NOTE_OUTCOME,
    NOTE_SYMBOL,
    POP,
    PROGRAM,
    R_CHAINS,
    R_EDGES,
    R_NODES,
    R_ROOT,
    R_ROW_OF,
    READ,
    T_LONGEST,
    T_MODELS,
    T_PROGRAMS,
    T_ROOTS,
    T_SHIFT,
    T_SIZE,
)
from .moves import move_action
from .registers import known_move


@inner
def find_edge(edges, node, outcome):
    """Child of a tree node by the answer to its question, or -1."""
    key = ((node + 1) << 32) | (outcome & 0xFFFFFFFF)
    mask = edges.size // 2 - 1
    slot = np.int64(pair_slot(node, outcome, mask))
    while True:
        stored = np.int64(edges[2 * slot])
        if stored == key:
            return np.int64(edges[2 * slot + 1])
        if stored == 0:
            return np.int64(-1)
        slot = (slot + 1) & mask


@inner
def list_at(cells, below, depth):
    """The list at a depth, 1 for the one below the top."""
    for _ in range(depth - 1):
        below = np.int64(cells[below * CELL + CELL_PARENT])
    return np.int64(below)


@inner
def chain_slot(chains, program, before):
    """Where a chain stands, or an empty slot where it would, or 0 if the table is full there."""
    mask = chains.size // CHAIN - 1
    slot = (program * 31 + before * 131) & mask
    for _ in range(64):
        at = CHAIN * slot
        if slot > 0 and (
            chains[at + CHAIN_PROGRAM] == 0
            or (chains[at + CHAIN_PROGRAM] == program and chains[at + CHAIN_BEFORE] == before)
        ):
            return np.int64(slot)
        slot = (slot + 1) & mask
    return np.int64(0)


@inner
def take_steps(chains, programs, tables, chain, register, note, at):
    """The register after a chain of steps, or -1 and a note of the missing move at note[at:]."""
    steps = 0
    last = np.int64(chain)
    while last != 0:
        steps += 1
        last = np.int64(chains[CHAIN * last + CHAIN_BEFORE])
    while steps > 0:
        steps -= 1
        last = np.int64(chain)
        for _ in range(steps):
            last = np.int64(chains[CHAIN * last + CHAIN_BEFORE])
        symbol = np.int64(programs[4 * chains[CHAIN * last + CHAIN_PROGRAM] + 1])
        move = known_move(tables, register, symbol)
        if move < 0:
            note[at + NOTE_NODE] = NO_MOVE
            note[at + NOTE_OUTCOME] = register
            note[at + NOTE_SYMBOL] = symbol
            return np.int64(-1)
        register = move >> 32
    return np.int64(register)


@inner
def room_left(most, least, longest):
    """How many more may come and have to, as one number, as far as a token can tell."""
    return (min(most, longest) & 0xFFFF) | (min(max(least, 0), longest) << 16)


@inner
def root_of(tables, rows, note, at, state):
    """The root of a state, or -1 and a note of that at note[at:]."""
    index = state >> tables[T_SHIFT]
    roots = view_i32(rows, R_ROOT)
    if index < roots.size and roots[index] > 0:
        return np.int64(roots[index]) - 1
    note[at + NOTE_NODE] = NO_ROOT
    note[at + NOTE_OUTCOME] = state
    return np.int64(-1)


@inner
def follow(cells, tables, rows, note, at, node, register, below):
    """Leaf of a thread below a tree node, or -1 and a note of where it ended at note[at:]."""
    chains = view_i32(rows, R_CHAINS)
    nodes = view_i64(rows, R_NODES)
    edges = view_i64(rows, R_EDGES)
    programs = view_i32(tables, T_PROGRAMS)
    while nodes[NODE * node + NODE_KIND] != LEAF:
        depth = np.int64(nodes[NODE * node + NODE_DEPTH])
        outcome = np.int64(0)
        if nodes[NODE * node + NODE_KIND] == POP:
            lower = list_at(cells, below, depth)
            # A list of several cells is told by its id, which fixes everything below it.
            outcome = -lower
            if cells[lower * CELL + CELL_NEXT] == NIL and depth <= DEEPEST:
                outcome = np.int64(cells[lower * CELL + CELL_STATE])
        else:
            outcome = np.int64(register)
            if depth > 0:
                outcome = np.int64(cells[list_at(cells, below, depth) * CELL + CELL_REGISTER])
            if nodes[NODE * node + NODE_KIND] == LEFT:
                bounds = 4 * (PROGRAM - nodes[NODE * node + NODE_ACTION])
                outcome = room_left(
                    np.int64(programs[bounds + 1]) - outcome,
                    np.int64(programs[bounds + 2]) - outcome,
                    np.int64(tables[T_LONGEST]),
                )
            elif nodes[NODE * node + NODE_KIND] == READ:
                chain = np.int64(nodes[NODE * node + NODE_CHAIN])
                if chain != 0:
                    outcome = take_steps(chains, programs, tables, chain, outcome, note, at)
                    if outcome < 0:
                        return outcome
                symbol = np.int64(programs[4 * (PROGRAM - nodes[NODE * node + NODE_ACTION]) + 1])
                move = known_move(tables, outcome, symbol)
                if move < 0:
                    note[at + NOTE_NODE] = NO_MOVE
                    note[at + NOTE_OUTCOME] = outcome
                    note[at + NOTE_SYMBOL] = symbol
                    return move
                outcome = move_action(move)
        child = find_edge(edges, node, outcome)
        if child < 0:
            note[at + NOTE_NODE] = node
            note[at + NOTE_OUTCOME] = outcome
            return child
        node = child
    return node


@inner
def descend(cells, tables, rows, note, at, state, register, below):
    """Leaf of one thread, or a negative number and a note of where it ended at note[at:]."""
    shift = np.int64(tables[T_SHIFT])
    ways = view_u8(tables, T_ROOTS)
    while ways[state >> shift] == LEAVES and cells[below * CELL + CELL_NEXT] == NIL:
        before = np.int64(cells[below * CELL + CELL_STATE])
        if ways[before >> shift] == MODELLED:
            break  # what it calls is a cell below the thread as it stands
        state = before
        register = np.int64(cells[below * CELL + CELL_REGISTER])
        below = np.int64(cells[below * CELL + CELL_PARENT])
    node = root_of(tables, rows, note, at, state)
    if node >= 0 and ways[state >> shift] == MODELLED:
        models = view_i32(tables, T_MODELS)
        pair = 2 * (state >> shift)
        called = np.int64(find_cell(cells, models[pair + 1], register, below, NIL))
        if called < 0:
            note[at + NOTE_NODE] = NO_CELL
            note[at + NOTE_OUTCOME] = state
            return called
        leaf = root_of(tables, rows, note, at, np.int64(models[pair]))
        if leaf >= 0:
            leaf = follow(cells, tables, rows, note, at, leaf, np.int64(0), called)
        if leaf < 0:
            return leaf
        root = node
        node = find_edge(view_i64(rows, R_EDGES), root, leaf)
        if node < 0:
            note[at + NOTE_NODE] = root
            note[at + NOTE_OUTCOME] = leaf
    if node < 0:
        return node
    return follow(cells, tables, rows, note, at, node, register, below)


@inner
def find_leaf(matcher, tables, rows):
    """Leaf of a matcher's configuration, or a negative status."""
    configuration = np.int64(matcher[M_CONFIGURATION])
    row_of = view_i32(rows, R_ROW_OF)
    if configuration >= row_of.size:
        return np.int64(NEED_LOCK)
    leaf = np.int64(row_of[configuration]) - 1
    if leaf >= 0:
        return leaf
    cells = view_i32(record_at(matcher[M_ARENA], A_SIZE), A_CELLS)
    at = configuration * CELL
    if cells[at + CELL_NEXT] != NIL:
        return np.int64(NEED_LOCK)
    leaf = descend(
        cells,
        tables,
        rows,
        matcher,
        M_NOTE,
        np.int64(cells[at + CELL_STATE]),
        np.int64(cells[at + CELL_REGISTER]),
        np.int64(cells[at + CELL_PARENT]),
    )
    if leaf < 0:
        return np.int64(NEED_LOCK)
    row_of[configuration] = leaf + 1
    return leaf


@kernel("int64(int64[::1], int64[::1])")
def locate_leaf(matcher, rows):
    """Tree node of the matcher's row if it is known, else NEED_LOCK."""
    return find_leaf(matcher, record_at(matcher[M_TABLES], T_SIZE), rows)
