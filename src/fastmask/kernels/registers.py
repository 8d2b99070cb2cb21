"""Registers of objects: what a frame has seen, and its moves, without a call of the front end.

Most objects ask of a frame only which of at most 62 named keys it has seen and which set of other
keys (by number; an odd one more in a mask, whose text is not known). Their registers are made here:
equal ones are one register, found by a hash table. Arrays whose items are each out of a list once
are no different, and those whose items are only counted know how many commas came. Where there are
more keys or items than that a register has a set of several words. Cost: two probes a new move, and
some looks at the words of the set.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, view_i32, view_i64
from .layout import (
    CLOSE,
    COMMA,
    DEAD,
    GUARD,
    ITEM,
    KEY,
    OBJECT,
    OBJECT_COUNT,
    OBJECT_OTHERS,
    OBJECT_RULE,
    OBJECT_SEEN,
    OTHER,
    RULE,
    RULE_LEAST,
    RULE_MOST,
    RULE_OTHER,
    RULE_PROMISED,
    RULE_REQUIRED,
    RULE_WORDS,
    SYMBOL,
    SYMBOL_ACTION,
    SYMBOL_END,
    SYMBOL_KIND,
    SYMBOL_MASK,
    SYMBOL_WORD,
    T_COMMAS,
    T_MOVES,
    T_N_MOVES,
    T_N_REGISTERS,
    T_N_SETS,
    T_OBJECT_TABLE,
    T_OBJECTS,
    T_RULES,
    T_SETS,
    T_SYMBOLS,
)
from .moves import find_move, publish_move


@inner
def content(sets, words, seen):
    """A number that tells what was seen, equal sets alike: the bits, or a hash of the words."""
    if words == 0:
        return np.int64(seen)
    mixed = np.int64(0)
    for i in range(words):
        mixed = np.int64(((mixed & 0xFFFFFFFFFFFFFF) * 31) ^ (mixed >> 40) ^ sets[seen + i])
    return mixed


@inner
def same_keys(sets, words, one, other):
    """Whether the same was seen."""
    if words == 0:
        return one == other
    i = np.int64(0)
    while i < words and sets[one + i] == sets[other + i]:
        i += 1
    return i == words


@inner
def object_slot(tables, words, rule, seen, others, count):
    """Where a register stands in the hash table, or the empty slot where it would."""
    objects = view_i64(tables, T_OBJECTS)
    sets = view_i64(tables, T_SETS)
    table = view_i32(tables, T_OBJECT_TABLE)
    mask = table.size - 1
    keys = content(sets, words, seen)
    mixed = (
        int(rule) * 73856093
        ^ int(keys) * 19349663
        ^ int(others) * 83492791
        ^ int(count) * 50331653
        ^ int(keys) >> 31
    )
    slot = (mixed ^ (mixed >> 17) ^ (mixed >> 7)) & mask
    while table[slot] != 0:
        at = OBJECT * np.int64(table[slot])
        if (
            objects[at + OBJECT_RULE] == rule
            and objects[at + OBJECT_OTHERS] == others
            and objects[at + OBJECT_COUNT] == count
            and same_keys(sets, words, np.int64(objects[at + OBJECT_SEEN]), np.int64(seen))
        ):
            break
        slot = (slot + 1) & mask
    return slot


@inner
def object_register(tables, words, rule, seen, others, count):
    """The register of an object, made if it is new; -1 if there is no room."""
    objects = view_i64(tables, T_OBJECTS)
    table = view_i32(tables, T_OBJECT_TABLE)
    slot = object_slot(tables, words, rule, seen, others, count)
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


@inner
def set_register(tables, words, rule, seen, bit, word, others, count):
    """The register whose set has one key more, made if it is new; -1 if there is no room."""
    sets = view_i64(tables, T_SETS)
    first = np.int64(tables[T_N_SETS])
    if first + words > sets.size:
        return np.int64(-1)
    for i in range(words):
        sets[first + i] = sets[seen + i]
    sets[first + word] |= bit
    before = np.int64(tables[T_N_REGISTERS])
    register = object_register(tables, words, rule, first, others, count)
    if tables[T_N_REGISTERS] != before:
        tables[T_N_SETS] = first + words
    return register


@inner
def lacks_some(tables, seen, keys, word, end):
    """Whether some of the keys is not among those seen; they are words of a set if ``end`` is."""
    if end == 0:
        return keys & ~seen != 0
    sets = view_i64(tables, T_SETS)
    while word < end and sets[keys] & ~sets[seen + word] == 0:
        keys += 1
        word += 1
    return word < end


@inner
def known_move(tables, register, symbol):
    """Packed move of a register on a symbol, or -1 if it is not known. Takes no lock.

    Moves on guards are told from what was seen each time: a list has as many of them as texts.
    """
    move = find_move(view_i64(tables, T_MOVES), register, symbol)
    if move >= 0:
        return move
    symbols = view_i64(tables, T_SYMBOLS)
    of = SYMBOL * symbol
    if symbols[of + SYMBOL_KIND] != GUARD:
        return move
    objects = view_i64(tables, T_OBJECTS)
    at = OBJECT * register
    if objects[at + OBJECT_RULE] == 0:
        return move
    action = np.int64(DEAD)
    if lacks_some(
        tables,
        np.int64(objects[at + OBJECT_SEEN]),
        np.int64(symbols[of + SYMBOL_MASK]),
        np.int64(symbols[of + SYMBOL_WORD]),
        np.int64(symbols[of + SYMBOL_END]),
    ):
        action = np.int64(symbols[of + SYMBOL_ACTION])
    return (register << 32) | action


@kernel("int64(int64[::1])")
def rehash_objects(tables):
    """Enter all registers of plain objects into a new, empty hash table."""
    objects = view_i64(tables, T_OBJECTS)
    table = view_i32(tables, T_OBJECT_TABLE)
    asked = view_i64(tables, T_RULES)
    for register in range(1, tables[T_N_REGISTERS]):
        at = OBJECT * register
        rule = np.int64(objects[at + OBJECT_RULE])
        if rule != 0:
            words = np.int64(asked[RULE * (rule - 1) + RULE_WORDS])
            seen = np.int64(objects[at + OBJECT_SEEN])
            others = np.int64(objects[at + OBJECT_OTHERS])
            count = np.int64(objects[at + OBJECT_COUNT])
            table[object_slot(tables, words, rule, seen, others, count)] = register
    return np.int64(0)


@kernel("int64(int64[::1], int64, int64, int64, int64)")
def intern_object(tables, rule, seen, others, count):
    """The register of an object, made if it is new; -1 if there is no room."""
    words = np.int64(view_i64(tables, T_RULES)[RULE * (rule - 1) + RULE_WORDS])
    return object_register(tables, words, rule, seen, others, count)


@inner
def derive(tables, register, symbol):
    """The move of a register on a symbol, made if need be; packed, or -1 for the front end to help.

    Needs the lock.
    """
    move = known_move(tables, register, symbol)
    if move >= 0:
        return move
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
    most = np.int64(asked[ask + RULE_MOST])
    words = np.int64(asked[ask + RULE_WORDS])
    counted = min(count + 1, max(least, most))
    action = np.int64(symbols[of + SYMBOL_ACTION])
    after = np.int64(register)
    if kind == KEY:
        word = np.int64(symbols[of + SYMBOL_WORD])
        known = seen
        if words != 0:
            known = np.int64(view_i64(tables, T_SETS)[seen + word])
        if known & mask != 0:
            action = np.int64(DEAD)
        elif action == DEAD:
            return np.int64(-1)
        elif words != 0:
            after = set_register(tables, words, rule, seen, mask, word, others, counted)
        else:
            after = object_register(tables, words, rule, seen | mask, others, counted)
    elif kind == OTHER:
        action = np.int64(asked[ask + RULE_OTHER])
        if others & 1 != 0:
            # Two keys without a name in one token might be the same.
            action = np.int64(DEAD)
        elif action == DEAD:
            return np.int64(-1)
        else:
            after = object_register(tables, words, rule, seen, others | 1, counted)
    elif kind == ITEM:
        if most != 0 and count >= most:
            action = np.int64(DEAD)
        else:
            after = object_register(tables, words, rule, seen, others, counted)
    elif kind == CLOSE:
        after = np.int64(0)
        required = np.int64(asked[ask + RULE_REQUIRED])
        lacks_one = required != 0 and lacks_some(tables, seen, required, np.int64(0), words)
        if lacks_one or count < least:
            action = np.int64(DEAD)
    elif kind == COMMA:
        commas = view_i32(tables, T_COMMAS)
        action = np.int64(DEAD)
        mask = np.int64(asked[ask + RULE_PROMISED])
        is_full = most != 0 and count >= most
        if not is_full and (mask == 0 or lacks_some(tables, seen, mask, np.int64(0), words)):
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
    """Packed move of an object's register; -1 if there is no room, or the action is not known."""
    return derive(tables, register, symbol)
