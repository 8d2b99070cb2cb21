"""Questions about a finished transition table: where a text leads, cycles, numbers of texts."""

from __future__ import annotations

from .._jit import kernel

__all__ = ["count_paths", "run_bytes", "topological_order"]


@kernel("int64(uint8[::1], int32[::1], int64, int64, uint8[::1])")
def run_bytes(classes, table, n_columns, state, data):
    """The state after reading ``data`` from ``state``.

    Parameters
    ----------
    classes : uint8[256], table : int32[n_states * n_columns]
        The automaton.
    n_columns, state : int
        Columns, and where to begin.
    data : uint8[n]
        The text.

    Returns
    -------
    int
        State; 0 is dead.
    """
    for i in range(data.shape[0]):
        state = int(table[state * n_columns + int(classes[data[i]])])
        if state == 0:
            break
    return state


@kernel("int64(int32[::1], int64, int64, int64, int32[::1], int32[::1])")
def topological_order(table, n_states, n_columns, start, order, n_into):
    """Order live states so that each comes before its targets (Kahn 1962).

    Parameters
    ----------
    table : int32[n_states * n_columns]
        The automaton; all states but 0 are reachable from ``start``.
    n_states, n_columns, start : int
        Sizes and first state.
    order : int32[n_states]
        Out: the states.
    n_into : int32[n_states]
        Scratch, all 0.

    Returns
    -------
    int
        States ordered; fewer than ``n_states - 1`` where there is a cycle.
    """
    for i in range(n_columns, n_states * n_columns):
        n_into[table[i]] += 1
    n = 0
    if start != 0 and n_into[start] == 0:
        order[0] = start
        n = 1
    i = 0
    while i < n:
        row = int(order[i]) * n_columns
        for c in range(n_columns):
            target = int(table[row + c])
            if target != 0:
                n_into[target] -= 1
                if n_into[target] == 0:
                    order[n] = target
                    n += 1
        i += 1
    return n


@kernel("int64(int32[::1], int64, int64[::1], int32[::1], int32[::1], int64, int64[::1])")
def count_paths(table, n_columns, widths, labels, order, limit, counts):
    """Count the texts accepted from each state, stopping at a limit.

    Parameters
    ----------
    table : int32[n_states * n_columns], n_columns : int
        An automaton without cycles.
    widths : int64[n_columns]
        Bytes in each class.
    labels : int32[n_states]
        0: not accepting.
    order : int32[n]
        Live states, each before its targets.
    limit : int
        At most 2 ** 31.
    counts : int64[n_states]
        Out, all 0 before: number of texts from each state, at most ``limit``.

    Returns
    -------
    int
        0.
    """
    for i in range(order.shape[0] - 1, -1, -1):
        state = int(order[i])
        total = 1 if labels[state] != 0 else 0
        for c in range(n_columns):
            target = int(table[state * n_columns + c])
            if target != 0:
                total = min(limit, total + int(widths[c]) * int(counts[target]))
        counts[state] = total
    return 0
