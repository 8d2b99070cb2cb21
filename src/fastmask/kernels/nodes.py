"""Nodes of decision trees: where they are entered, what they ask, and how they are linked.

A node is entered behind the last one and nobody sees it before it is linked, so what is begun and
not finished needs no more than the old count of nodes.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, view_i32, view_i64
from .descent import chain_slot
from .hashing import pair_slot
from .layout import (
    A_NEEDED,
    BUNDLE,
    CHAIN,
    CHAIN_BEFORE,
    CHAIN_PROGRAM,
    DEPTHS,
    EVENT,
    KNOW,
    LEAF,
    NEED_SPACE,
    NODE,
    NODE_ACTION,
    NODE_CHAIN,
    NODE_DEPTH,
    NODE_EVENTS,
    NODE_FIRST_EVENT,
    NODE_FLAGS,
    NODE_KIND,
    POP,
    PROGRAM,
    R_CHAINS,
    R_EDGES,
    R_EVENTS,
    R_FIRST_EVENT,
    R_N_EDGES,
    R_N_EVENTS,
    R_N_NODES,
    R_NODES,
    R_ROOT,
    READ,
)
from .writing import keep_row, row_flags


@inner
def begin_node(arena, rows):
    """The number of a tree node that is begun, whose events follow now; or NEED_SPACE."""
    arena[A_NEEDED] = 0
    rows[R_FIRST_EVENT] = rows[R_N_EVENTS]
    node = np.int64(rows[R_N_NODES])
    if NODE * (node + 1) > view_i64(rows, R_NODES).size:
        arena[A_NEEDED] = -R_NODES
        return np.int64(NEED_SPACE)
    return node


@inner
def asking_node(arena, rows, kind, action):
    """Enter a node without row or events that asks one question; a node or a status."""
    node = np.int64(begin_node(arena, rows))
    if node < 0:
        return node
    nodes = view_i64(rows, R_NODES)
    at = NODE * node
    for field in range(NODE):
        nodes[at + field] = 0
    nodes[at + NODE_KIND] = kind
    nodes[at + NODE_ACTION] = action
    rows[R_N_NODES] = node + 1
    return node


@kernel("int64(int64[::1], int64[::1], int64, int64)")
def make_question(arena, rows, kind, action):
    """Enter a node without row or events that asks one question; a node or a status."""
    return asking_node(arena, rows, kind, action)


@inner
def enter_root(tables, arena, rows, node):
    """Enter a node that was begun with the row that was, and events that all leave the frame."""
    nodes = view_i64(rows, R_NODES)
    start = np.int64(rows[R_FIRST_EVENT])
    count = np.int64(rows[R_N_EVENTS]) - start
    at = NODE * node
    nodes[at + NODE_KIND] = POP if count > 0 else LEAF
    nodes[at + NODE_DEPTH] = 1
    nodes[at + NODE_ACTION] = 0
    nodes[at + NODE_FIRST_EVENT] = start
    nodes[at + NODE_EVENTS] = count
    nodes[at + NODE_FLAGS] = 0 if count > 0 else row_flags(tables, arena, rows)
    keep_row(tables, arena, rows, node)
    rows[R_N_NODES] = node + 1


@inner
def same_step(events, one, other):
    """Whether two events ask for the same step after the same steps."""
    return (
        events[EVENT * one + 3] == events[EVENT * other + 3]
        and events[EVENT * one + 4] == events[EVENT * other + 4]
    )


@inner
def choose_question(rows, node, first_event, n_events):
    """Write what a tree node asks: what its first event does; it is a leaf if there is none.

    Where steps on one register are many the register itself is asked for.
    """
    events = view_i32(rows, R_EVENTS)
    chains = view_i32(rows, R_CHAINS)
    nodes = view_i64(rows, R_NODES)
    at = NODE * node
    if n_events == 0:
        nodes[at + NODE_KIND] = LEAF
        return
    kind = np.int64(events[EVENT * first_event + 1])
    depth = np.int64(events[EVENT * first_event + 2])
    asked = np.int64(events[EVENT * first_event + 3])
    chain = np.int64(0)
    if kind == BUNDLE:
        kind = np.int64(POP)
    if kind == READ:
        chain = (-1 - np.int64(events[EVENT * first_event + 4])) // DEPTHS
        slot = chain_slot(chains, PROGRAM - asked, chain)
        if slot == 0:
            kind = np.int64(KNOW)
        else:
            chains[CHAIN * slot + CHAIN_BEFORE] = chain
            chains[CHAIN * slot + CHAIN_PROGRAM] = PROGRAM - asked
        other = first_event
        for i in range(first_event, first_event + n_events):
            if (
                events[EVENT * i + 1] == READ
                and events[EVENT * i + 2] == depth
                and not same_step(events, i, first_event)
            ):
                if other != first_event and not same_step(events, i, other):
                    kind = np.int64(KNOW)
                other = np.int64(i)
    nodes[at + NODE_KIND] = kind
    nodes[at + NODE_DEPTH] = depth
    nodes[at + NODE_ACTION] = asked
    nodes[at + NODE_CHAIN] = chain


@inner
def link(rows, node, outcome, child):
    """Publish a tree node: as the root of a state index (node < 0) or as a child of ``node``."""
    if node < 0:
        view_i32(rows, R_ROOT)[outcome] = child + 1
        return np.int64(0)
    edges = view_i64(rows, R_EDGES)
    key = ((node + 1) << 32) | (outcome & 0xFFFFFFFF)
    mask = edges.size // 2 - 1
    slot = np.int64(pair_slot(node, outcome, mask))
    while edges[2 * slot] != 0:
        slot = (slot + 1) & mask
    edges[2 * slot + 1] = child
    edges[2 * slot] = key
    rows[R_N_EDGES] += 1
    return np.int64(0)


@kernel("int64(int64[::1], int64, int64, int64)")
def link_node(rows, node, outcome, child):
    """Publish a tree node: as the root of a state index (node < 0) or as a child of ``node``."""
    return link(rows, node, outcome, child)


@kernel("int64(int64[::1], int64[::1])")
def copy_edges(source, target):
    """Enter all edges of one table (``source``) into another, larger one."""
    mask = target.size // 2 - 1
    for i in range(source.size // 2):
        key = np.int64(source[2 * i])
        if key != 0:
            slot = np.int64(pair_slot((key >> 32) - 1, key, mask))
            while target[2 * slot] != 0:
                slot = (slot + 1) & mask
            target[2 * slot] = key
            target[2 * slot + 1] = source[2 * i + 1]
    return np.int64(0)
