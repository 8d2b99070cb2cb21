"""The row of a state that is nearly another's: a copy, and a walk where the two part.

In the trie of an object's keys every byte that no key goes on with falls out into the string body
that all keys share. Such a state lets the same tokens through as that body does, save those that
follow the trie to the end of a key: a few dozen trie nodes instead of all.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, view_i16, view_i32, view_i64, view_u8
from .layout import (
    A_NEEDED,
    A_STATE,
    COMPLETE,
    EVENT,
    NEED_SPACE,
    NODE,
    NODE_DEPTH,
    NODE_EVENTS,
    NODE_FIRST_EVENT,
    NODE_FLAGS,
    NODE_KIND,
    PROGRAM,
    PUSH,
    R_EVENTS,
    R_FIRST_EVENT,
    R_N_EVENTS,
    R_N_NODES,
    R_NODES,
    T_ACTIONS,
    T_CLASSES,
    T_PROGRAMS,
    T_TRIE_BYTE,
    T_TRIE_DEPTH,
    T_TRIE_FIRST,
    T_TRIE_NODES,
    T_TRIE_ORDER,
    T_TRIE_SKIP,
    TEXTUAL,
    WALK,
)
from .nodes import begin_node
from .step import emit
from .writing import begin_as, clear_tokens, keep_row


@inner
def patch_root(tables, arena, rows, model, state, body, back):
    """Enter a node with the row of ``model``, changed as far as ``state`` differs.

    ``model`` is the leaf of ``body`` called from the frame of ``state``, to return to ``back``.
    Where the two part, tokens are taken out and a WALK event is left. Needs the lock. Returns the
    node or a status.
    """
    classes = view_u8(tables, T_CLASSES)
    actions = view_i32(tables, T_ACTIONS)
    programs = view_i32(tables, T_PROGRAMS)
    byte = view_u8(tables, T_TRIE_BYTE)
    depths = view_i16(tables, T_TRIE_DEPTH)
    skip = view_i32(tables, T_TRIE_SKIP)
    first = view_i32(tables, T_TRIE_FIRST)
    order = view_i32(tables, T_TRIE_ORDER)
    events = view_i32(rows, R_EVENTS)
    nodes = view_i64(rows, R_NODES)
    own = view_i32(arena, A_STATE)
    node = np.int64(begin_node(arena, rows))
    if node < 0:
        return node
    start = np.int64(rows[R_FIRST_EVENT])

    # Both states side by side over the trie: own[level], and the other half a buffer further.
    v = np.int64(0)
    last = np.int64(tables[T_TRIE_NODES])
    room = own.size // 2
    own[0] = state
    own[room] = body
    while v < last:
        level = np.int64(depths[v])
        column = np.int64(classes[byte[v]])
        mine = np.int64(own[level])
        theirs = np.int64(own[room + level])
        action = np.int64(actions[mine + column])
        other = np.int64(actions[theirs + column])
        if action <= PROGRAM:
            at = 4 * (PROGRAM - action)
            if programs[at] == PUSH and programs[at + 1] == theirs and programs[at + 2] == back:
                v = np.int64(skip[v])
                continue
        if action == 0 and other == 0:
            v = np.int64(skip[v])
            continue
        if action > 0 and other > 0 and level + 1 < room:
            own[level + 1] = action
            own[room + level + 1] = other
            v += 1
            continue
        emit(events, rows, arena, v, WALK, 0, mine, -1)
        v = np.int64(skip[v])
    n_walks = np.int64(rows[R_N_EVENTS]) - start
    begin_as(arena, nodes, model)
    for k in range(start, start + n_walks):
        v = np.int64(events[EVENT * k])
        clear_tokens(tables, arena, rows, order, first[v], first[skip[v]])
    if arena[A_NEEDED] != 0:
        return np.int64(NEED_SPACE)
    at = NODE * node
    nodes[at + NODE_KIND] = WALK
    nodes[at + NODE_DEPTH] = 0
    nodes[at + NODE_FIRST_EVENT] = start
    nodes[at + NODE_EVENTS] = np.int64(rows[R_N_EVENTS]) - start
    nodes[at + NODE_FLAGS] = nodes[NODE * model + NODE_FLAGS] & (COMPLETE | TEXTUAL)
    keep_row(tables, arena, rows, node)
    rows[R_N_NODES] = node + 1
    return node
