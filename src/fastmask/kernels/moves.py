"""Moves of registers: a hash table from (register, symbol) to (register, action).

Readers take no lock. A move is written before its key, and a table that grew is a new array that
holds its own mask, so whoever still reads the old one only fails to find what is new.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel
from .hashing import pair_slot


@inner
def move_slot(moves, register, symbol):
    """Where the move of a register on a symbol stands, or the empty slot where it would."""
    key = ((register + 1) << 32) | symbol
    mask = np.int64(moves[0])
    slot = np.int64(pair_slot(register, symbol, mask))
    while moves[2 + 2 * slot] != key and moves[2 + 2 * slot] != 0:
        slot = (slot + 1) & mask
    return 2 + 2 * slot


@inner
def find_move(moves, register, symbol):
    """Packed move of a register on a symbol, or -1 if it has not been made."""
    slot = move_slot(moves, register, symbol)
    if moves[slot] == 0:
        return np.int64(-1)
    return np.int64(moves[slot + 1])


@inner
def publish_move(moves, register, symbol, after, action):
    """Enter the move of a register on a symbol; packed. There has to be room."""
    slot = move_slot(moves, register, symbol)
    moves[slot + 1] = (after << 32) | (action & 0xFFFFFFFF)
    moves[slot] = ((register + 1) << 32) | symbol
    return np.int64(moves[slot + 1])


@kernel("int64(int64[::1], int64, int64, int64, int64)")
def enter_move(moves, register, symbol, after, action):
    """Enter the move of a register on a symbol; packed. There has to be room."""
    return publish_move(moves, register, symbol, after, action)


@kernel("int64(int64[::1], int64[::1])")
def copy_moves(source, target):
    """Enter all moves of one table (``source``) into another, larger one."""
    for i in range(2, source.size, 2):
        key = np.int64(source[i])
        if key != 0:
            slot = move_slot(target, (key >> 32) - 1, key & 0xFFFFFFFF)
            target[slot + 1] = source[i + 1]
            target[slot] = key
    return np.int64(0)


@inner
def move_action(move):
    """The action of a packed move."""
    action = move & 0xFFFFFFFF
    if action >= 0x80000000:
        action -= 0x100000000
    return action
