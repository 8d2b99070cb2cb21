"""The trie with bytes merged that most automata do not tell apart, and walks over it.

An automaton that takes any lower-case letter wherever it takes one sees ``cat`` and ``dog`` as the
same token. So letters, digits and parts of UTF-8 characters are merged into groups, each written as
its least byte, and tokens alike share a node: a twelfth of the nodes of a 128,000-token trie.
Behind a backslash or percent sign, where hexadecimal digits matter, nothing is merged. Where a
state does tell the bytes of a group apart the walk goes the way of most of them; the nodes of the
others are noted, and walked afterwards one by one.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel, view_i16, view_i32, view_u8
from .layout import (
    A_FRAME,
    A_ODD,
    A_PENDING,
    A_STATE,
    ALONE,
    DEAD,
    EVENT,
    EXACT_BEHIND,
    POP,
    R_EVENTS,
    R_FIRST_EVENT,
    R_N_EVENTS,
    RETURN,
    T_ACTIONS,
    T_CLASSES,
    T_GROUPS,
    T_MERGED_BYTE,
    T_MERGED_DEPTH,
    T_MERGED_FIRST,
    T_MERGED_ORDER,
    T_MERGED_SKIP,
    T_PLACES,
    T_PLACES_FIRST,
    T_SHIFT,
    T_TELLS_APART,
    T_TRIE_BYTE,
    T_TRIE_DEPTH,
    T_TRIE_FIRST,
    T_TRIE_ORDER,
    T_TRIE_SKIP,
)
from .step import emit

KNOWN = 1 << 14
UNSEEN = 1 << 40  # no action


@kernel("int64(uint8[::1], int32[::1], uint8[::1], uint8[::1], uint8[::1])")
def merge_bytes(token_bytes, token_offsets, groups, least, merged):
    """Write each byte of every token as its group's least; those behind an exact one stay."""
    for token in range(token_offsets.size - 1):
        exact = False
        for i in range(token_offsets[token], token_offsets[token + 1]):
            byte = np.int64(token_bytes[i])
            group = np.int64(groups[byte])
            merged[i] = byte if exact else least[byte]
            if group == EXACT_BEHIND:
                exact = True
    return np.int64(0)


@kernel(
    "int64(uint8[::1], int16[::1], uint8[::1], uint8[::1], uint8[::1], int32[::1], int32[::1],"
    " int32[::1], int32[::1])"
)
def find_places(byte, depth, groups, least, merged_byte, merged_skip, path, first, places):
    """For each node of the merged trie the nodes that became it: places[first[v]:first[v + 1]].

    ``path`` is scratch for two entries a byte of the longest token, ``places`` has room for every
    node twice.
    """
    n = byte.size
    half = path.size // 2
    for v in range(n):
        level = np.int64(depth[v])
        exact = np.int64(0)
        child = np.int64(0)
        if level > 0:
            exact = np.int64(path[half + level - 1])
            child = np.int64(path[level - 1]) + 1
        group = np.int64(groups[byte[v]])
        wanted = np.int64(byte[v] if exact != 0 else least[byte[v]])
        while merged_byte[child] != wanted:
            child = np.int64(merged_skip[child])
        path[level] = child
        path[half + level] = exact | (group == EXACT_BEHIND)
        places[n + v] = child
        first[child + 1] += 1
    for v in range(merged_byte.size):
        first[v + 1] += first[v]
    for v in range(n):
        child = np.int64(places[n + v])
        places[first[child]] = v
        first[child] += 1
    for v in range(merged_byte.size, 0, -1):
        first[v] = first[v - 1]
    first[0] = 0
    return np.int64(0)


@inner
def tells_apart(actions, classes, groups, state, scratch):
    """Bit g is set if a state does not treat all bytes of group g alike."""
    bits = np.int64(KNOWN)
    seen = np.int64(0)
    for byte in range(256):
        group = np.int64(groups[byte])
        if group < ALONE:
            action = np.int64(actions[state + classes[byte]])
            if (seen >> group) & 1 == 0:
                seen |= np.int64(1) << group
                scratch[group] = action
            elif scratch[group] != action:
                bits |= np.int64(1) << group
    return bits


@inner
def common_action(actions, classes, groups, state, group):
    """An action that a state has on many bytes of a group (majority vote, Boyer and Moore 1981)."""
    common = np.int64(UNSEEN)
    lead = 0
    for byte in range(256):
        if groups[byte] == group:
            action = np.int64(actions[state + classes[byte]])
            if lead == 0:
                common = action
                lead = 1
            elif action == common:
                lead += 1
            else:
                lead -= 1
    return common


@inner
def sort_odd(odd, count):
    """Sort pairs by their first number (Shell 1959)."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            place = np.int64(odd[2 * i])
            state = np.int64(odd[2 * i + 1])
            k = i
            while k >= gap and odd[2 * (k - gap)] > place:
                odd[2 * k] = odd[2 * (k - gap)]
                odd[2 * k + 1] = odd[2 * (k - gap) + 1]
                k -= gap
            odd[2 * k] = place
            odd[2 * k + 1] = state
        gap //= 2
    return np.int64(0)


@inner
def walk_odd(tables, arena, rows, row, n_odd):
    """Walk the nodes that were taken for others, in place of what was found for those; 1, or 0."""
    classes = view_u8(tables, T_CLASSES)
    actions = view_i32(tables, T_ACTIONS)
    byte = view_u8(tables, T_TRIE_BYTE)
    depth = view_i16(tables, T_TRIE_DEPTH)
    skip = view_i32(tables, T_TRIE_SKIP)
    first = view_i32(tables, T_TRIE_FIRST)
    order = view_i32(tables, T_TRIE_ORDER)
    states = view_i32(arena, A_STATE)
    odd = view_i32(arena, A_ODD)
    events = view_i32(rows, R_EVENTS)
    sort_odd(odd, n_odd)
    # Those below others are walked with them.
    kept = np.int64(0)
    end = np.int64(0)
    for i in range(n_odd):
        if odd[2 * i] >= end:
            odd[2 * kept] = odd[2 * i]
            odd[2 * kept + 1] = odd[2 * i + 1]
            kept += 1
            end = np.int64(skip[odd[2 * i]])
    for i in range(kept):
        place = np.int64(odd[2 * i])
        for k in range(first[place], first[skip[place]]):
            token = np.int64(order[k])
            row[token >> 5] &= ~(np.uint32(1) << np.uint32(token & 31))
    count = np.int64(rows[R_FIRST_EVENT])
    for i in range(count, rows[R_N_EVENTS]):
        place = np.int64(events[EVENT * i])
        low = np.int64(0)
        high = np.int64(kept)
        while low < high:
            middle = (low + high) // 2
            if odd[2 * middle] <= place:
                low = middle + 1
            else:
                high = middle
        if low == 0 or skip[odd[2 * (low - 1)]] <= place:
            for field in range(EVENT):
                events[EVENT * count + field] = events[EVENT * i + field]
            count += 1
    rows[R_N_EVENTS] = count
    for i in range(kept):
        v = np.int64(odd[2 * i])
        base = np.int64(depth[v])
        last = np.int64(skip[v])
        states[0] = odd[2 * i + 1]
        while v < last:
            level = np.int64(depth[v]) - base
            action = np.int64(actions[states[level] + classes[byte[v]]])
            if action > 0:
                states[level + 1] = action
                for k in range(first[v], first[v + 1]):
                    token = np.int64(order[k])
                    row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
                v += 1
            elif action == DEAD:
                v = np.int64(skip[v])
            elif action == RETURN:
                emit(events, rows, arena, v, POP, 1, 0, 0)
                v = np.int64(skip[v])
            else:
                return np.int64(0)
    return np.int64(1)


@inner
def walk_merged(tables, arena, rows, state, row):
    """Set the tokens of a state without calls, and leave events where they leave the frame.

    Returns 0 if the state is of another kind, or tells too many bytes apart: ``row`` and the events
    are then to be thrown away.
    """
    classes = view_u8(tables, T_CLASSES)
    actions = view_i32(tables, T_ACTIONS)
    groups = view_u8(tables, T_GROUPS)
    byte = view_u8(tables, T_MERGED_BYTE)
    depth = view_i16(tables, T_MERGED_DEPTH)
    skip = view_i32(tables, T_MERGED_SKIP)
    first = view_i32(tables, T_MERGED_FIRST)
    order = view_i32(tables, T_MERGED_ORDER)
    places_first = view_i32(tables, T_PLACES_FIRST)
    places = view_i32(tables, T_PLACES)
    known = view_i16(tables, T_TELLS_APART)
    states = view_i32(arena, A_STATE)
    exact = view_i32(arena, A_FRAME)
    events = view_i32(rows, R_EVENTS)
    shift = np.int64(tables[T_SHIFT])
    odd = view_i32(arena, A_ODD)
    scratch = view_i32(arena, A_PENDING)
    whole = view_u8(tables, T_TRIE_BYTE)
    n_odd = np.int64(0)
    states[0] = state
    exact[0] = 0
    v = np.int64(0)
    last = byte.size
    while v < last:
        level = np.int64(depth[v])
        now = np.int64(states[level])
        value = np.int64(byte[v])
        group = np.int64(groups[value])
        common = np.int64(UNSEEN)
        if exact[level] == 0 and group < ALONE:
            apart = np.int64(known[now >> shift])
            if apart == 0:
                apart = tells_apart(actions, classes, groups, now, scratch)
                known[now >> shift] = apart
            if (apart >> group) & 1 != 0:
                common = common_action(actions, classes, groups, now, group)
                for i in range(places_first[v], places_first[v + 1]):
                    place = np.int64(places[i])
                    if actions[now + classes[whole[place]]] != common:
                        if 2 * (n_odd + 1) > odd.size:
                            return np.int64(0)
                        odd[2 * n_odd] = place
                        odd[2 * n_odd + 1] = now
                        n_odd += 1
        action = common
        if exact[level] != 0 or group >= ALONE or common == UNSEEN:
            action = np.int64(actions[now + classes[value]])
        if action > 0:
            states[level + 1] = action
            exact[level + 1] = exact[level] | (group == EXACT_BEHIND)
            for i in range(first[v], first[v + 1]):
                token = np.int64(order[i])
                row[token >> 5] |= np.uint32(1) << np.uint32(token & 31)
            v += 1
        elif action == DEAD:
            v = np.int64(skip[v])
        elif action == RETURN:
            for i in range(places_first[v], places_first[v + 1]):
                emit(events, rows, arena, np.int64(places[i]), POP, 1, 0, 0)
            v = np.int64(skip[v])
        else:
            return np.int64(0)
    if n_odd == 0:
        return np.int64(1)
    return walk_odd(tables, arena, rows, row, n_odd)
