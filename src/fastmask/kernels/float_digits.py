"""The digits of numbers that may get an exponent: an automaton read three ways at once.

Behind its first digit a number is read as a plain decimal, as an integer (the digits without their
point), and as a fraction behind zeros. The states are the tuples of where these have come to, found
breadth first; see `fastmask.schema.float_forms`.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel

__all__ = ["COLUMNS", "DIGITS", "KEY_FACTOR", "MOST_DIGITS", "NEED_ROOM", "digit_states"]

#: Columns of a row of the result; of the automaton: its digits, minus, the point.
COLUMNS = 15
DIGITS = 12
DOT = 11
#: Digits behind the point that an exponent may follow.
MOST_DIGITS = 16
KEY_FACTOR = 2 * (MOST_DIGITS + 2)
NEED_ROOM = -1
HASH_MULTIPLIER = 2654435761  # Knuth, TAOCP vol. 3, 6.4


@inner
def number_of(key, keys, n_keys, slots):
    """The number of a key, ``n_keys`` if it is new; then it is entered if there is room."""
    mask = slots.size - 1
    folded = (key ^ (key >> 31)) & 0x7FFFFFFF
    slot = ((folded * HASH_MULTIPLIER) >> 12) & mask
    while slots[slot] != 0:
        number = np.int64(slots[slot]) - 1
        if keys[number] == key:
            return number
        slot = (slot + 1) & mask
    if n_keys < keys.size:
        keys[n_keys] = key
        slots[slot] = n_keys + 1
    return np.int64(n_keys)


@kernel(
    "int64(int32[::1], int64, int32[::1], int64, int64[::1], int64[::1], int32[::1], int32[::1])"
)
def digit_states(moves, n_states, behind, n_behind, first, keys, slots, table):
    """Find all states from some on, and write their moves.

    Parameters
    ----------
    moves : int32[n_states * DIGITS]
        The automaton of plain decimals; state 0 is dead.
    n_states : int
    behind : int32[n_behind * 10]
        The fractions behind zeros by digit; number 0 is that of none.
    n_behind : int
    first : int64[n]
        The keys of the first states, all different.
    keys : int64[room]
        Out: of each state ((plain * n_states + integer) * n_behind + fraction) * KEY_FACTOR +
        2 * level + whether its last digit was above 0. The level is 0 before the point, then 1 and
        the digits behind it.
    slots : int32[a power of two, at least 2 * room]
        Scratch, all 0.
    table : int32[room * COLUMNS]
        Out: moves of the states, all 0 before. Targets below n_states are plain ones, n_states + i
        is the state of keys[i].

    Returns
    -------
    int
        How many states there are, or ``NEED_ROOM``.
    """
    n = np.int64(0)
    for i in range(first.size):
        if number_of(np.int64(first[i]), keys, n, slots) == keys.size:
            return np.int64(NEED_ROOM)
        n += 1
    i = np.int64(0)
    while i < n:
        key = np.int64(keys[i])
        level = (key % KEY_FACTOR) >> 1
        key //= KEY_FACTOR
        fraction = key % n_behind
        key //= n_behind
        integer = DIGITS * (key % n_states)
        plain = DIGITS * (key // n_states)
        row = COLUMNS * i
        for digit in range(DIGITS):
            table[row + digit] = moves[plain + digit]
        if level == 0:
            key = np.int64(moves[plain + DOT]) * n_states + integer // DIGITS
            key = (key * n_behind + fraction) * KEY_FACTOR + 2
            number = number_of(key, keys, n, slots)
            if number == keys.size:
                return np.int64(NEED_ROOM)
            n = max(n, number + 1)
            table[row + DOT] = n_states + number
        elif level <= MOST_DIGITS:
            for digit in range(10):
                after = np.int64(moves[integer + digit])
                behind_digit = np.int64(behind[10 * fraction + digit])
                if after == 0 and behind_digit == 0:
                    continue
                key = np.int64(moves[plain + digit]) * n_states + after
                key = (key * n_behind + behind_digit) * KEY_FACTOR + 2 * (level + 1)
                number = number_of(key + (1 if digit > 0 else 0), keys, n, slots)
                if number == keys.size:
                    return np.int64(NEED_ROOM)
                n = max(n, number + 1)
                table[row + digit] = n_states + number
        i += 1
    return n
