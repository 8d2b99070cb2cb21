"""Registers of objects: what a frame has seen, and its moves, without a call of the front end.

Most objects ask of a frame only which of at most 62 named keys it has seen and which set of other
keys (by number; an odd one more in a mask, whose text is not known). Their registers are made here:
equal ones are one register, found by a hash table. Cost: two probes a new move.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, view_i32, view_i64
from .layout import (
    CLOSE,
    COMMA,
    DEAD,
    GUARD,
    KEY,
    OBJECT,
    OBJECT_COUNT,
    OBJECT_OTHERS,
    OBJECT_RULE,
    OBJECT_SEEN,
    OTHER,
    RULE,
    RULE_LEAST,
    RULE_OTHER,
    RULE_PROMISED,
    RULE_REQUIRED,
    SYMBOL,
    SYMBOL_ACTION,
    SYMBOL_KIND,
    SYMBOL_MASK,
    T_COMMAS,
    T_MOVES,
    T_N_MOVES,
    T_N_REGISTERS,
    T_OBJECT_TABLE,
    T_OBJECTS,
    T_RULES,
    T_SYMBOLS,
)
from .moves import publish_move


@inner
def object_slot(objects, table, rule, seen, others, count):
    """Where a register stands in the hash table, or the empty slot where it would."""
    mask = table.size - 1
    mixed = (
        int(rule) * 73856093
        ^ int(seen) * 19349663
        ^ int(others) * 83492791
        ^ int(count) * 50331653
        ^ int(seen) >> 31
    )
    slot = (mixed ^ (mixed >> 17) ^ (mixed >> 7)) & mask
    while table[slot] != 0:
        at = OBJECT * np.int64(table[slot])
        if (
            objects[at + OBJECT_SEEN] == seen
            and objects[at + OBJECT_OTHERS] == others
            and objects[at + OBJECT_RULE] == rule
            and objects[at + OBJECT_COUNT] == count
        ):
            break
        slot = (slot + 1) & mask
    return slot


@inner
def object_register(tables, rule, seen, others, count):
    """The register of an object, made if it is new; -1 if there is no room."""
    objects = view_i64(tables, T_OBJECTS)
    table = view_i32(tables, T_OBJECT_TABLE)
    slot = object_slot(objects, table, rule, seen, others, count)
    if table[slot] != 0:
        return np.int64(table[slot])
    register = np.int64(tables[T_N_REGISTERS])
    at = OBJECT * register
    if at + OBJECT > objects.size or 2 * register > table.size:
        return np.int64(-1)
    objects[at + OBJECT_RULE] = rule
    objects[at + OBJECT_SEEN] = seen
    objects[at + OBJECT_OTHERS] = others
    objects[at + OBJECT_COUNT] = count
    table[slot] = register
    tables[T_N_REGISTERS] = register + 1
    return register


@kernel("int64(int64[::1])")
def rehash_objects(tables):
    """Enter all registers of plain objects into a new, empty hash table."""
    objects = view_i64(tables, T_OBJECTS)
    table = view_i32(tables, T_OBJECT_TABLE)
    for register in range(1, tables[T_N_REGISTERS]):
        at = OBJECT * register
        rule = np.int64(objects[at + OBJECT_RULE])
        if rule != 0:
            seen = np.int64(objects[at + OBJECT_SEEN])
            others = np.int64(objects[at + OBJECT_OTHERS])
            count = np.int64(objects[at + OBJECT_COUNT])
            table[object_slot(objects, table, rule, seen, others, count)] = register
    return np.int64(0)


@kernel("int64(int64[::1], int64, int64, int64, int64)")
def intern_object(tables, rule, seen, others, count):
    """The register of an object, made if it is new; -1 if there is no room."""
    return object_register(tables, rule, seen, others, count)


@inner
def derive(tables, register, symbol):
    """Make the move of a register on a symbol; packed, or -1 if the front end has to help.

    Needs the lock.
    """
    objects = view_i64(tables, T_OBJECTS)
    symbols = view_i64(tables, T_SYMBOLS)
    moves = view_i64(tables, T_MOVES)
    at = OBJECT * register
    if at >= objects.size or 2 * tables[T_N_MOVES] > moves[0]:
        return np.int64(-1)
    rule = np.int64(objects[at + OBJECT_RULE])
    if rule == 0:
        return np.int64(-1)
    seen = np.int64(objects[at + OBJECT_SEEN])
    others = np.int64(objects[at + OBJECT_OTHERS])
    count = np.int64(objects[at + OBJECT_COUNT])
    of = SYMBOL * symbol
    kind = np.int64(symbols[of + SYMBOL_KIND])
    mask = np.int64(symbols[of + SYMBOL_MASK])
    asked = view_i64(tables, T_RULES)
    ask = RULE * (rule - 1)
    least = np.int64(asked[ask + RULE_LEAST])
    action = np.int64(symbols[of + SYMBOL_ACTION])
    after = np.int64(register)
    if kind == KEY:
        if seen & mask != 0:
            action = np.int64(DEAD)
        elif action == DEAD:
            return np.int64(-1)
        else:
            after = object_register(tables, rule, seen | mask, others, min(count + 1, least))
    elif kind == OTHER:
        action = np.int64(asked[ask + RULE_OTHER])
        if others & 1 != 0:
            # Two keys without a name in one token might be the same.
            action = np.int64(DEAD)
        elif action == DEAD:
            return np.int64(-1)
        else:
            after = object_register(tables, rule, seen, others | 1, min(count + 1, least))
    elif kind == CLOSE:
        after = np.int64(0)
        if asked[ask + RULE_REQUIRED] & ~seen != 0 or count < least:
            action = np.int64(DEAD)
    elif kind == GUARD:
        if mask & ~seen == 0:
            action = np.int64(DEAD)
    elif kind == COMMA:
        commas = view_i32(tables, T_COMMAS)
        action = np.int64(DEAD)
        mask = np.int64(asked[ask + RULE_PROMISED])
        if mask == 0 or mask & ~seen != 0:
            if (others >> 1) >= commas.size or commas[others >> 1] == 0:
                return np.int64(-1)
            action = np.int64(commas[others >> 1])
    else:
        return np.int64(-1)
    if after < 0:
        return after
    tables[T_N_MOVES] += 1
    return publish_move(moves, register, symbol, after, action)


@kernel("int64(int64[::1], int64, int64)")
def derive_move(tables, register, symbol):
    """Make the move of an object's register; -1 if there is no room, or the action is not known."""
    return derive(tables, register, symbol)
