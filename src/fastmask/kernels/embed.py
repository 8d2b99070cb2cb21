"""A finite automaton written into the table of actions, a row of bytes a state."""

from __future__ import annotations

import numpy as np

from .._jit import kernel, view_i32
from .layout import T_ACTIONS, T_SHIFT


@kernel("int64(int64[::1], int32[:, ::1], int32[::1], uint8[::1], int32[::1], int64, int64)")
def embed_automaton(tables, table, labels, classes, ids, free, end):
    """Write the states of an automaton from ``free`` on; its state 0, the dead one, is left out.

    ``table`` is int32[states, classes], ``labels`` is not 0 for accepting states, ``classes`` maps
    bytes to columns. Accepting states do on other bytes as ``end`` does; one from which nothing
    more can be read is ``end`` itself. ids[state] becomes the state that each is.
    """
    actions = view_i32(tables, T_ACTIONS)
    shift = np.int64(tables[T_SHIFT])
    ids[0] = 0
    for state in range(1, table.shape[0]):
        ids[state] = free + ((state - 1) << shift)
        if labels[state] != 0:
            moves = np.int64(0)
            for column in range(table.shape[1]):
                moves |= np.int64(table[state, column])
            if moves == 0:
                ids[state] = end
    for state in range(1, table.shape[0]):
        row = free + ((state - 1) << shift)
        for byte in range(256):
            target = np.int64(table[state, classes[byte]])
            if target != 0:
                actions[row + byte] = ids[target]
            elif labels[state] != 0:
                actions[row + byte] = actions[end + byte]
    return np.int64(0)
