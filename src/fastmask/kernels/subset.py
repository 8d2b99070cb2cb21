"""Subset construction: from a nondeterministic automaton over bytes and symbols to a table.

A state of the result is the set of states that one byte leads to, before epsilon moves (so for a
pattern it is a set of positions, as in Glushkov 1961 and McNaughton and Yamada 1960); it is closed
once, when its own moves are made. Sets are looked up by a commutative hash and compared through
stamps: nothing is sorted. Each set sweeps over the byte classes once and makes a new set only where
some move begins or ends; a class reached by a single move finds its state by an index. So a
deterministic part costs O(1) an edge, the whole O(edges + states * classes + sum of set sizes).
"""

from __future__ import annotations

from .._jit import inner, kernel

__all__ = ["EPSILON", "GAVE_UP", "NEED_SETS", "NEED_STATES", "determinise", "utf8_edges"]

EPSILON = -1  # lowest byte of an edge that reads nothing
EDGE = 4  # int32 per edge: source, lowest, highest, target
FIRST_SYMBOL = 256  # bytes below, abstract symbols from here on

NEED_STATES = -1  # more room for states or table cells
NEED_SETS = -2  # more room for the members of sets
GAVE_UP = -3  # past the limit of steps

HASH_MULTIPLIER = 2654435761  # Knuth, TAOCP vol. 3, 6.4
HASH_MASK = 0xFFFFFFFF


@inner
def _close(closed, n, stamp, mark, eps_offset, eps_target):
    """Append to ``closed[:n]`` what it reaches by epsilon moves; returns the new length."""
    i = 0
    while i < n:
        q = int(closed[i])
        i += 1
        for k in range(int(eps_offset[q]), int(eps_offset[q + 1])):
            target = int(eps_target[k])
            if stamp[target] != mark:
                stamp[target] = mark
                closed[n] = target
                n += 1
    return n


@inner
def _find_set(sets, set_offset, n_states, low, high, stamp, mark, slots):
    """Number of the state whose set is ``sets[low:high]``; ``n_states`` where it is a new one."""
    code = 0
    for i in range(low, high):
        code = (code + int(sets[i]) * HASH_MULTIPLIER) & HASH_MASK
    code ^= code >> 15
    mask = slots.shape[0] - 1
    slot = code & mask
    while slots[slot] != 0:
        state = int(slots[slot])
        first = int(set_offset[state])
        if int(set_offset[state + 1]) - first == high - low:
            same = True
            for i in range(first, first + high - low):
                if stamp[sets[i]] != mark:
                    same = False
                    break
            if same:
                return state
        slot = (slot + 1) & mask
    slots[slot] = n_states
    return n_states


@kernel(
    "int64(int32[::1], int64, int64, int64, int64, int32[::1], int64, uint8[::1], int32[::1],"
    " int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], int64[::1])"
)
def determinise(
    edges,
    n_edges,
    n_nfa,
    n_symbols,
    start,
    nfa_labels,
    max_steps,
    classes,
    table,
    labels,
    set_offset,
    sets,
    slots,
    work,
    sizes,
):
    """Determinise an automaton (Rabin and Scott 1959).

    Parameters
    ----------
    edges : int32[4 * n_edges]
        (source, lowest, highest, target); ``lowest == EPSILON`` reads nothing, from
        ``FIRST_SYMBOL`` on ``lowest == highest`` is one abstract symbol.
    n_edges, n_nfa, n_symbols, start : int
        Sizes, and the state to begin with.
    nfa_labels : int32[n_nfa]
        0: not accepting; labels of the members of a set are combined by "or".
    max_steps : int
        Bound on closure steps.
    classes : uint8[256]
        Out: byte class of each byte.
    table : int32[cells]
        Out: next states, row after row of ``sizes[1]`` columns (byte classes, then symbols).
    labels : int32[states]
        Out: labels; state 0 is dead, state 1 the start.
    set_offset : int32[states + 1], sets : int32[members], slots : int32[a power of two > states]
        Scratch; ``slots`` all 0.
    work : int32[5 * n_nfa + 5 * n_edges + 2 * (257 + n_symbols) + 2]
        Scratch.
    sizes : int64[3]
        Out: states, columns, byte classes.

    Returns
    -------
    int
        0, or ``NEED_STATES``, ``NEED_SETS`` (call again with more room) or ``GAVE_UP``.
    """
    begin = 0
    eps_offset = work[begin : begin + n_nfa + 1]
    begin += n_nfa + 1
    move_offset = work[begin : begin + n_nfa + 1]
    begin += n_nfa + 1
    stamp = work[begin : begin + n_nfa]
    begin += n_nfa
    closed = work[begin : begin + n_nfa]
    begin += n_nfa
    single = work[begin : begin + n_nfa]
    begin += n_nfa
    target_of = work[begin : begin + n_edges]
    begin += n_edges
    low_of = work[begin : begin + n_edges]
    begin += n_edges
    high_of = work[begin : begin + n_edges]
    begin += n_edges
    link = work[begin : begin + n_edges]
    begin += n_edges
    active = work[begin : begin + n_edges]
    begin += n_edges
    head = work[begin : begin + 257 + n_symbols]
    begin += 257 + n_symbols
    change = work[begin : begin + 257 + n_symbols]

    # Byte classes: a new one begins wherever some edge begins or ends.
    change[:] = 0
    eps_offset[:] = 0
    move_offset[:] = 0
    for i in range(0, EDGE * n_edges, EDGE):
        low = int(edges[i + 1])
        if low == EPSILON:
            eps_offset[edges[i]] += 1
        else:
            move_offset[edges[i]] += 1
            if low < FIRST_SYMBOL:
                change[low] = 1
                change[int(edges[i + 2]) + 1] = 1
    n_bytes = 0
    for b in range(256):
        if b > 0 and change[b] != 0:
            n_bytes += 1
        classes[b] = n_bytes
    n_bytes += 1
    n_columns = n_bytes + n_symbols
    sizes[1] = n_columns
    sizes[2] = n_bytes

    # Edges by source; moves in ``low_of, high_of, target_of``, epsilon moves behind them.
    total = 0
    for q in range(n_nfa):
        count = int(move_offset[q])
        total += count
        move_offset[q] = total
    move_offset[n_nfa] = total
    for q in range(n_nfa):
        total += int(eps_offset[q])
        eps_offset[q] = total
    eps_offset[n_nfa] = total
    for i in range(EDGE * (n_edges - 1), -1, -EDGE):
        q = int(edges[i])
        low = int(edges[i + 1])
        if low == EPSILON:
            place = int(eps_offset[q]) - 1
            eps_offset[q] = place
        else:
            place = int(move_offset[q]) - 1
            move_offset[q] = place
            if low < FIRST_SYMBOL:
                low_of[place] = classes[low]
                high_of[place] = classes[edges[i + 2]]
            else:
                low_of[place] = n_bytes + low - FIRST_SYMBOL
                high_of[place] = n_bytes + low - FIRST_SYMBOL
        target_of[place] = edges[i + 3]

    stamp[:] = -1
    single[:] = -1
    change[:] = 0
    head[:] = -1
    max_states = min(labels.shape[0], table.shape[0] // n_columns)
    if max_states < 2:
        return NEED_STATES
    labels[0] = 0
    table[:n_columns] = 0
    set_offset[1] = 0
    set_offset[2] = 1
    sets[0] = start
    single[start] = 1
    stamp[start] = 0
    _find_set(sets, set_offset, 1, 0, 1, stamp, 0, slots)
    mark = 0
    steps = 0
    n_states = 2
    state = 1
    while state < n_states:
        mark += 1
        n_closed = 0
        for i in range(int(set_offset[state]), int(set_offset[state + 1])):
            q = int(sets[i])
            stamp[q] = mark
            closed[n_closed] = q
            n_closed += 1
        n_closed = _close(closed, n_closed, stamp, mark, eps_offset, target_of)
        label = 0
        for i in range(n_closed):
            q = int(closed[i])
            label |= int(nfa_labels[q])
            for e in range(int(move_offset[q]), int(move_offset[q + 1])):
                low = int(low_of[e])
                link[e] = head[low]
                head[low] = e
                change[low] = 1
                change[int(high_of[e]) + 1] = 1
        labels[state] = label
        steps += n_closed
        row = state * n_columns
        n_active = 0
        target = 0
        for c in range(n_columns):
            if change[c] != 0:
                change[c] = 0
                kept = 0
                for i in range(n_active):
                    e = int(active[i])
                    if high_of[e] >= c:
                        active[kept] = e
                        kept += 1
                n_active = kept
                e = int(head[c])
                head[c] = -1
                while e >= 0:
                    active[n_active] = e
                    n_active += 1
                    e = int(link[e])
                steps += n_active
                if n_active == 0:
                    target = 0
                elif n_active == 1 and single[target_of[active[0]]] > 0:
                    target = int(single[target_of[active[0]]])
                else:
                    first = int(set_offset[n_states])
                    if first + n_active > sets.shape[0]:
                        return NEED_SETS
                    mark += 1
                    last = first
                    for i in range(n_active):
                        q = int(target_of[active[i]])
                        if stamp[q] != mark:
                            stamp[q] = mark
                            sets[last] = q
                            last += 1
                    target = _find_set(sets, set_offset, n_states, first, last, stamp, mark, slots)
                    if target == n_states:
                        if n_states == max_states:
                            return NEED_STATES
                        n_states += 1
                        set_offset[n_states] = last
                    if n_active == 1:
                        single[target_of[active[0]]] = target
            table[row + c] = target
        change[n_columns] = 0
        if steps > max_steps:
            return GAVE_UP
        state += 1
    sizes[0] = n_states
    return 0


@inner
def _encode(point, length, out):
    """The ``length`` bytes of a code point in UTF-8 into ``out``."""
    for i in range(length - 1, 0, -1):
        out[i] = 0x80 | (point & 0x3F)
        point >>= 6
    if length == 1:
        out[0] = point
    else:
        out[0] = ((0xF00 >> length) & 0xFF) | point


@kernel("int64(int32[::1], int64, int32[::1], int32[::1], int64[::1])")
def utf8_edges(ranges, n_ranges, edges, work, sizes):
    """Edges that read one character out of sorted ranges of code points, as UTF-8.

    Each range is cut until its bytes are single bytes, then one byte range, then only full ranges
    of continuation bytes (Cox 2010, "Regular expression matching in the wild"). Equal beginnings
    share states, and so do the endings of full ranges: the edges are deterministic.

    Parameters
    ----------
    ranges : int32[2 * n_ranges]
        Sorted, disjoint (first, last); surrogates are passed over.
    edges : int32[256 * n_ranges]
        Out: (source, lowest, highest, target); source of all is 0, target of all is 1.
    work : int32[64]
        Scratch.
    sizes : int64[2]
        Out: edges, states.

    Returns
    -------
    int
        0.
    """
    lows = work[0:4]
    highs = work[4:8]
    path_byte = work[8:12]
    path_state = work[12:16]
    full = work[16:20]
    pending = work[20:64]
    path_length = 0
    full[0] = 1
    for r in range(1, 4):
        full[r] = 0
    n_states = 2
    n = 0
    for k in range(n_ranges):
        top = 2
        pending[0] = ranges[2 * k]
        pending[1] = ranges[2 * k + 1]
        while top > 0:
            top -= 2
            low = int(pending[top])
            high = int(pending[top + 1])
            cut = -1  # last code point of the left part
            if low <= 0xDFFF and high >= 0xD800:  # around the surrogates
                if high > 0xDFFF:
                    pending[top] = 0xE000
                    pending[top + 1] = high
                    top += 2
                high = 0xD7FF
            if low > high:
                continue
            length = 1 + (low > 0x7F) + (low > 0x7FF) + (low > 0xFFFF)
            last = 0x7F if length == 1 else 0x7FF if length == 2 else 0xFFFF
            if length < 4 and high > last:
                cut = last
            for i in range(1, length):
                rest = (1 << (6 * i)) - 1
                if cut < 0 and (low | rest) != (high | rest):
                    if low & rest != 0:
                        cut = low | rest
                    elif high & rest != rest:
                        cut = (high - rest - 1) | rest
            if cut >= 0:
                pending[top] = cut + 1
                pending[top + 1] = high
                pending[top + 2] = low
                pending[top + 3] = cut
                top += 4
                continue
            _encode(low, length, lows)
            _encode(high, length, highs)
            rest = 0
            while (
                rest < length - 1
                and lows[length - 1 - rest] == 0x80
                and highs[length - 1 - rest] == 0xBF
            ):
                rest += 1
            state = 0
            for d in range(length - 1 - rest):
                if d < path_length and path_byte[d] == lows[d]:
                    state = int(path_state[d])
                else:
                    edges[n] = state
                    edges[n + 1] = lows[d]
                    edges[n + 2] = lows[d]
                    edges[n + 3] = n_states
                    n += EDGE
                    state = n_states
                    n_states += 1
                    path_byte[d] = lows[d]
                    path_state[d] = state
                    path_length = d + 1
            for r in range(1, rest + 1):
                if full[r] == 0:
                    full[r] = n_states
                    edges[n] = n_states
                    edges[n + 1] = 0x80
                    edges[n + 2] = 0xBF
                    edges[n + 3] = full[r - 1]
                    n += EDGE
                    n_states += 1
            edges[n] = state
            edges[n + 1] = lows[length - 1 - rest]
            edges[n + 2] = highs[length - 1 - rest]
            edges[n + 3] = full[rest]
            n += EDGE
    sizes[0] = n // EDGE
    sizes[1] = n_states
    return 0


@kernel("int64(uint8[::1], int32[::1], int64, int64, int32[::1])")
def table_edges(classes, table, n_states, n_columns, edges):
    """The moves of a transition table as edges of byte ranges and symbols.

    Parameters
    ----------
    classes : uint8[256], table : int32[n_states * n_columns]
        As `determinise` writes them; columns past the byte classes are symbols.
    n_states, n_columns : int
        Sizes.
    edges : int32[cells]
        Out: (source, lowest, highest, target).

    Returns
    -------
    int
        Number of edges, or ``NEED_STATES`` where ``edges`` is too short.
    """
    n_bytes = 0
    for b in range(256):
        n_bytes = max(n_bytes, int(classes[b]) + 1)
    n = 0
    for state in range(1, n_states):
        row = state * n_columns
        low = 0
        while low < 256:
            target = int(table[row + int(classes[low])])
            high = low
            while high < 255 and table[row + int(classes[high + 1])] == target:
                high += 1
            if target != 0:
                if n + EDGE > edges.shape[0]:
                    return NEED_STATES
                edges[n] = state
                edges[n + 1] = low
                edges[n + 2] = high
                edges[n + 3] = target
                n += EDGE
            low = high + 1
        for c in range(n_bytes, n_columns):
            target = int(table[row + c])
            if target != 0:
                if n + EDGE > edges.shape[0]:
                    return NEED_STATES
                edges[n] = state
                edges[n + 1] = FIRST_SYMBOL + c - n_bytes
                edges[n + 2] = FIRST_SYMBOL + c - n_bytes
                edges[n + 3] = target
                n += EDGE
    return n // EDGE
