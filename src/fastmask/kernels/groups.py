"""Subtrees of the trie that are taken as a whole: groups of bytes that keep a state alive.

Most subtrees hold nothing but letters, or letters and blanks, and most wide states read those for
ever. So bytes are put into groups (letters, digits, each sign by itself, characters beyond ASCII),
each trie node knows the groups below it, and each state, once asked, groups whose characters keep
it alive in plain moves, in whatever order they come. Where the second hold the first every token
below the node is allowed, and the walk is past its subtree at once: of the 274,000 nodes of a
128,000-token vocabulary it visits 7,000 for [a-z0-9_]*. The plain groups, which strings in general
are made of, have a trie of their own without such subtrees, and a row of what it lacks.

The groups of a state are found by a search from it. Where a state is met that does not read all of
them, either those it does not read are given up, or the cheapest one on the way, so that it is not
met: groups are numbered by how much stands in their characters. Beyond ASCII whole characters
count, so that a byte leads into the middle of one, and only what may follow there has to be read.
"""

from __future__ import annotations

import numpy as np

from .._jit import inner, kernel
from .layout import EVERY, EXPAND, HIGH, NO_GROUP

BROKEN = 1 << 58  # of a node: its bytes are no beginning of a text
TOO_DEEP = 1 << 60  # of a node: its subtree goes down farther than is looked for
MIDDLE = 1 << 61  # of a node: it ends within a character
KNOWN = 1 << 62  # of a state: its groups were looked for
FOR_EVER = 1 << 59  # of a state: see `lasting_groups`
UNSURE = 1 << 57
NOT_UTF8 = -1
DEEPEST = 16  # bytes
FEWEST = 32  # nodes of a subtree for which the groups of a state are looked for
MOST_PLACES = 512  # met by one search
MOST_STEPS = 2048  # places looked at by one search, all its attempts together
SLOTS = 1024
PLACE = 3
UNMADE = SLOTS + PLACE * MOST_PLACES  # in the scratch: a state met that is not made
SCRATCH = UNMADE + 1
MULTIPLIER = 2654435761  # Knuth, TAOCP vol. 3, 6.4


@inner
def set_bits(row, tokens, start, end):
    """Set the bits of tokens[start:end]."""
    # Unsigned, they need no look at whether they count from the end: less than half the time.
    for i in range(np.uint64(start), np.uint64(end)):
        token = np.uint32(tokens[i])
        row[token >> np.uint32(5)] |= np.uint32(1) << (token & np.uint32(31))


@inner
def first_byte(byte):
    """What has to follow the first byte of a character, see `least`; 0 is nothing."""
    if byte < 0x80:
        return 0
    if byte < 0xC2 or byte > 0xF4:
        return NOT_UTF8
    if byte < 0xE0:
        return 1
    if byte < 0xF0:
        return 4 if byte == 0xE0 else (5 if byte == 0xED else 2)
    return 6 if byte == 0xF0 else (7 if byte == 0xF4 else 3)


@inner
def least(middle):
    """The least byte that may follow in the middle of a character.

    1 to 3 are so many bytes; 4 to 7 what follows E0, ED, F0 and F4, where not every byte may.
    """
    return 0xA0 if middle == 4 else (0x90 if middle == 6 else 0x80)


@inner
def greatest(middle):
    """The greatest byte that may follow in the middle of a character."""
    return 0x9F if middle == 5 else (0x8F if middle == 7 else 0xBF)


@inner
def next_middle(middle):
    """What has to follow after one more byte of a character."""
    return middle - 1 if middle < 4 else (1 if middle < 6 else 2)


@kernel(
    "int64(uint8[::1], int16[::1], int32[::1], uint8[::1], int8[::1], int8[:, ::1], int64[::1])"
)
def find_groups_below(byte, depth, skip, groups, path, notes, below):
    """The groups that occur below each trie node, and bits that no state has for what forbids it.

    Parameters
    ----------
    byte, depth, skip
        The trie, see ``TokenTrie``.
    groups : uint8[256]
        The group of each byte.
    path : int8[longest token + 1], notes : int8[2, n]
        Scratch.
    below : int64[n]
        Out.
    """
    middles = notes[0]
    heights = notes[1]
    path[0] = 0
    for v in range(byte.size):
        before = np.int64(path[depth[v]])
        value = np.int64(byte[v])
        middle = np.int64(NOT_UTF8)
        if before == 0:
            middle = np.int64(first_byte(value))
        elif before > 0 and least(before) <= value <= greatest(before):
            middle = np.int64(next_middle(before))
        path[depth[v] + 1] = middle
        middles[v] = middle
    for v in range(byte.size - 1, -1, -1):
        found = np.int64(0)
        height = np.int64(0)
        child = v + 1
        while child < skip[v]:
            group = np.int64(groups[byte[child]])
            if middles[child] == NOT_UTF8:
                group = np.int64(NO_GROUP)
            elif group == NO_GROUP:
                group = np.int64(HIGH)
            found |= (below[child] & (BROKEN - 1)) | (np.int64(1) << group)
            height = max(height, np.int64(heights[child]) + 1)
            child = np.int64(skip[child])
        if height > DEEPEST:
            height = np.int64(DEEPEST)
            found |= TOO_DEEP
        if middles[v] != 0:
            found |= MIDDLE | (BROKEN if middles[v] == NOT_UTF8 else 0)
        heights[v] = height
        below[v] = found
    return np.int64(0)


@kernel(
    "int64(uint8[::1], int16[::1], int32[::1], int32[::1], int32[::1], int64[::1], uint8[::1],"
    " int64, int32[::1], uint8[::1], int16[::1], int32[::1], int32[::1], uint32[::1])"
)
def leave_out(
    byte, depth, skip, first, order, below, groups, plain, path, rest_byte, rest_depth, rest_skip,
    rest_node, row,
):  # fmt: skip
    """Cut subtrees of nothing but plain groups off a trie.

    Parameters
    ----------
    byte, depth, skip, first, order
        The trie, see ``TokenTrie``.
    below : int64[n]
        Groups below each node.
    groups : uint8[256], plain : int
        The group of each byte, and groups, a bit each.
    path : int32[longest token]
        Scratch.
    rest_byte, rest_depth, rest_skip : uint8, int16, int32 [n]
        Out: what is left, a trie again.
    rest_node : int32[n]
        Out: the node that each was; -1 where all bytes to it are plain.
    row : uint32[words]
        In: zeros. Out: the tokens of plain bytes.

    Returns
    -------
    int
        Nodes left.
    """
    n_open = np.int64(0)
    n_plain = np.int64(0)
    count = np.int64(0)
    v = np.int64(0)
    while v < byte.size:
        level = np.int64(depth[v])
        is_plain = False
        if n_plain >= level:
            group = np.int64(groups[byte[v]])
            is_plain = below[v] & BROKEN == 0 and (group == NO_GROUP or (plain >> group) & 1 != 0)
            n_plain = level + 1 if is_plain else level
        following = v + 1
        is_left = True
        if is_plain and below[v] & ~(plain | MIDDLE | TOO_DEEP) == 0:
            following = np.int64(skip[v])
            is_left = False
        if is_plain:
            set_bits(row, order, first[v], first[following])
        if is_left:
            while n_open > level:
                n_open -= 1
                rest_skip[path[n_open]] = count
            rest_byte[count] = byte[v]
            rest_depth[count] = level
            rest_node[count] = -1 if is_plain else v
            path[level] = count
            n_open = level + 1
            count += 1
        v = following
    while n_open > 0:
        n_open -= 1
        rest_skip[path[n_open]] = count
    return count


@inner
def live_groups(actions, classes, groups, live, shift, state):
    """The groups all of whose bytes, or first bytes, lead on from a state that is made."""
    if actions[state] == EXPAND:
        return np.int64(0)
    found = np.int64(live[state >> shift])
    if found == 0:
        dead = np.int64(0)
        first = np.uint64(state)
        for byte in range(np.uint64(256)):
            is_dead = np.int64(actions[first + np.uint64(classes[byte])] <= 0)
            dead |= is_dead << np.int64(groups[byte])
        found = KNOWN | (EVERY & ~dead)
        live[state >> shift] = found
    return found & EVERY


@inner
def enter(scratch, n, code, group, before):
    """Enter a place into the table of those met, if it is new; how many there are then."""
    slot = (code * MULTIPLIER >> 8) & (SLOTS - 1)
    while scratch[slot] != 0:
        if scratch[SLOTS + PLACE * (scratch[slot] - 1)] == code:
            return n
        slot = (slot + 1) & (SLOTS - 1)
    at = SLOTS + PLACE * n
    scratch[at] = code
    scratch[at + 1] = group
    scratch[at + 2] = before
    scratch[slot] = n + 1
    return n + 1


@inner
def cheapest_on_the_way(scratch, place):
    """The group of the least number on the way to a place, ``NO_GROUP`` for the first one."""
    cheapest = np.int64(NO_GROUP)
    while place > 0:
        at = SLOTS + PLACE * place
        cheapest = min(cheapest, np.int64(scratch[at + 1]))
        place = np.int64(scratch[at + 2])
    return cheapest


@inner
def lasting_groups(actions, classes, groups, live, lasting, shift, start, scratch):
    """Groups whose characters keep a state alive, in whatever order they come, for 16 bytes.

    FOR_EVER is among the bits if they do so for any number of bytes. States that are not made yet
    keep nothing alive; what depends on one is UNSURE, and forgotten when it is made.

    Parameters
    ----------
    live, lasting : int64[states]
        What was found before, 0 for what was not looked for.
    scratch : int32[SCRATCH]
        A hash table of places, and the places: a state and where in a character it is (three
        bits), the group that led there, and the place before.
    """
    if lasting[start >> shift] != 0:
        return np.int64(lasting[start >> shift])
    kept = np.int64(live_groups(actions, classes, groups, live, shift, start))
    steps = np.int64(0)
    is_settled = kept == 0
    is_made = True
    while not is_settled:
        for slot in range(SLOTS):
            scratch[slot] = 0
        code = np.int64(start >> shift) << 3
        n = np.int64(enter(scratch, np.int64(0), code, np.int64(NO_GROUP), np.int64(0)))
        done = np.int64(0)
        depth = 0
        level_end = n
        before = kept
        while done < n and kept == before:
            place = done
            code = np.int64(scratch[SLOTS + PLACE * place])
            done += 1
            steps += 1
            if n == MOST_PLACES or steps == MOST_STEPS:
                kept = np.int64(0)
                break
            state = (code >> 3) << shift
            middle = code & 7
            if is_made and actions[state] == EXPAND:
                is_made = False
                scratch[UNMADE] = state
            low = np.int64(0)
            high = np.int64(0xFF)
            if middle == 0:
                here = np.int64(live_groups(actions, classes, groups, live, shift, state))
                if kept & ~here != 0:
                    cheapest = np.int64(cheapest_on_the_way(scratch, place))
                    kept = max(kept & here, kept & ~(np.int64(1) << cheapest))
                    break
            else:
                low = np.int64(least(middle))
                high = np.int64(greatest(middle))
            last = np.int64(-1)
            for byte in range(low, high + 1):
                group = np.int64(groups[byte])
                following = np.int64(0)
                if middle != 0:
                    group = np.int64(HIGH)
                    following = np.int64(next_middle(middle))
                elif (kept >> group) & 1 == 0:
                    continue
                elif group == HIGH:
                    following = np.int64(first_byte(byte))
                action = np.int64(actions[state + np.int64(classes[byte])])
                if action <= 0:
                    kept &= ~(np.int64(1) << HIGH)
                    break
                code = ((action >> shift) << 3) | following
                if code != last and n < MOST_PLACES:
                    last = code
                    n = np.int64(enter(scratch, n, code, group, place))
            if done == level_end:
                level_end = n
                depth += 1
        if kept == before:
            kept |= FOR_EVER
            # What was met never leads elsewhere: of those that read no more it is all there is.
            for i in range(n):
                code = np.int64(scratch[SLOTS + PLACE * i])
                if code & 7 == 0 and live[code >> 3] & EVERY == before:
                    lasting[code >> 3] = KNOWN | kept
            is_settled = True
        elif depth >= DEEPEST:
            kept = before  # what went wrong is farther away
            is_settled = True
        else:
            is_settled = kept == 0
    found = KNOWN | kept | (0 if is_made else UNSURE)
    if actions[start] != EXPAND:
        lasting[start >> shift] = found
    return found
