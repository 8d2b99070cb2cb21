"""Keys and members of objects: steps, what they mean, and the states in which members begin."""

from __future__ import annotations

import numpy as np

from .._jit import kernel, view_i32, view_i64
from .layout import (
    KEY,
    KEYS_OF_WORD,
    PROGRAM,
    PUSH,
    STEP,
    SYMBOL,
    SYMBOL_ACTION,
    SYMBOL_KIND,
    SYMBOL_MASK,
    SYMBOL_WORD,
    T_ACTIONS,
    T_PROGRAMS,
    T_SHIFT,
    T_SYMBOLS,
)


@kernel("int64(int64[::1], int64, int64, int64)")
def write_steps(tables, program, symbol, n):
    """Write programs from ``program`` on, each a step on one of ``n`` symbols in a row."""
    programs = view_i32(tables, T_PROGRAMS)
    for i in range(n):
        at = 4 * (program + i)
        programs[at] = STEP
        programs[at + 1] = symbol + i
    return np.int64(n)


@kernel("int64(int64[::1], int64, int64[::1])")
def define_keys(tables, symbol, actions):
    """Have symbols in a row, from ``symbol`` on, be keys, bit by bit, with these actions.

    An action of 0 is not known yet.
    """
    symbols = view_i64(tables, T_SYMBOLS)
    for i in range(actions.size):
        at = SYMBOL * (symbol + i)
        symbols[at + SYMBOL_KIND] = KEY
        symbols[at + SYMBOL_MASK] = np.int64(1) << (i % KEYS_OF_WORD)
        symbols[at + SYMBOL_WORD] = i // KEYS_OF_WORD
        symbols[at + SYMBOL_ACTION] = actions[i]
    return np.int64(actions.size)


@kernel("int64(int64[::1], int64[::1], uint8[::1], int64, int64, int64, int64, int64, int64)")
def write_members(tables, values, first_bytes, state, spaced, program, back, quote, rank):
    """Write one state for each value, in which it is called, and the programs of both calls.

    Parameters
    ----------
    tables : the record of the tables.
    values : int64[n]
        First states of values.
    first_bytes : uint8[k]
        What a value may begin with.
    state : the first of n new states.
    spaced : the first of n states like those, behind a colon.
    program : the number of the first of 2 n new programs.
    back : where members return to.
    quote : the state at the closing quote of a key, which returns where the member begins.
    rank : that of the calls.

    Returns
    -------
    int
        The number of the program behind them. Program ``program + 2 i + 1`` is that on the quote
        of a key whose member begins behind the i-th of ``spaced``.
    """
    actions = view_i32(tables, T_ACTIONS)
    programs = view_i32(tables, T_PROGRAMS)
    width = np.int64(1) << tables[T_SHIFT]
    for value in values:
        at = 4 * program
        programs[at] = PUSH
        programs[at + 1] = value
        programs[at + 2] = back
        programs[at + 3] = rank
        for byte in first_bytes:
            actions[state + np.int64(byte)] = PROGRAM - program
        programs[at + 4] = PUSH
        programs[at + 5] = quote
        programs[at + 6] = spaced
        programs[at + 7] = rank
        program += 2
        state += width
        spaced += width
    return np.int64(program)
