"""A finite automaton written into the table of actions, a row of bytes a state, part by part."""

from __future__ import annotations

import numpy as np

from .._jit import kernel, view_i32, view_i64, view_u8
from .groups import UNSURE
from .layout import EXPAND, MADE, T_ACTIONS, T_LASTING, T_ROOTS, T_SHIFT

UNSEEN = 0
ENDS = 1  # is the state behind the automaton
WAITING = 2  # leads to EXPAND on every byte
WRITTEN = 3


@kernel(
    "int64(int64[::1], int32[:, ::1], uint8[::1], int32[::1], int32[:, ::1], uint8[::1],"
    " int64[::1], uint8[::1], int32[::1], int64, int64, int64, int64)"
)
def embed_part(
    tables, table, classes, labels, codes, between, missing, met, queue, end, state, most, wide
):
    """Write ``state`` and those that follow it, up to ``most``; those behind them are WAITING.

    Parameters
    ----------
    tables : the record of the table of actions.
    table : int32[states, classes], classes : uint8[256]
        Moves of the automaton, and the class of each byte.
    labels : int32[states]
        Where it is not 0 the state does on all other bytes as ``end`` does, and a state from which
        nothing more can be read is ``end`` itself.
    codes : int32[3, states]
        Of each state: where it is written, which is also the action of moves to it; the action of
        moves from between two characters; and of those to where more is missing.
    between : uint8[states], missing : int64[states]
        Which moves these are.
    met : uint8[states]
        In and out: UNSEEN, ENDS, WAITING or WRITTEN.
    queue : int32[states]
        Scratch.
    wide : int
        Bytes that a state reads from which on the caller makes its row.

    Returns
    -------
    int
        How many were written.
    """
    actions = view_i32(tables, T_ACTIONS)
    roots = view_u8(tables, T_ROOTS)
    lasting = view_i64(tables, T_LASTING)
    shift = np.int64(tables[T_SHIFT])
    width = np.int64(1) << shift
    met[state] = WRITTEN
    queue[0] = state
    n_queued = 1
    done = 0
    while done < n_queued and done < most:
        source = np.int64(queue[done])
        done += 1
        for column in range(table.shape[1]):
            target = np.int64(table[source, column])
            if target == 0 or met[target] == ENDS or met[target] == WRITTEN:
                continue
            if met[target] == UNSEEN:
                moves = np.int64(0)
                if labels[target] != 0:
                    for other in range(table.shape[1]):
                        moves |= np.int64(table[target, other])
                    if moves == 0:
                        met[target] = ENDS
                        codes[0, target] = end
                        continue
                row = np.int64(codes[0, target])
                for byte in range(width):
                    actions[row + byte] = EXPAND
            met[target] = WRITTEN
            queue[n_queued] = target
            n_queued += 1
        row = np.int64(codes[0, source])
        n_live = 0
        for byte in range(256):
            target = np.int64(table[source, classes[byte]])
            action = np.int64(0)
            if target == 0:
                if labels[source] != 0:
                    action = np.int64(actions[end + byte])
            elif between[source] != 0:
                action = np.int64(codes[1, target])
            elif missing[target] > missing[source]:
                action = np.int64(codes[2, target])
            else:
                action = np.int64(codes[0, target])
            n_live += target != 0
            actions[row + byte] = action
        if n_live >= wide:
            roots[row >> shift] = MADE
    for i in range(done, n_queued):
        met[queue[i]] = WAITING
    for source in range(1, table.shape[0]):
        at = np.int64(codes[0, source]) >> shift
        if met[source] == WRITTEN and lasting[at] & UNSURE != 0:
            lasting[at] = 0
    return np.int64(done)
