"""Minimisation of deterministic automata, and a numbering that makes equal languages equal arrays.

Unreachable states and states that can't reach a label go first. What is left is split by label,
then by where its moves lead, a few times over with a hash table (Moore 1956): that settles wide
automata such as those of Unicode classes at the cost of reading the table. What is not settled then
(counts, long words) is refined block by block (Valmari 2012, "Fast brief practical DFA
minimization"): O(moves * log states). Byte classes that all blocks treat alike are merged, and the
blocks are numbered breadth first by ascending byte.
"""

from __future__ import annotations

from .._jit import inner, kernel

__all__ = ["minimise"]

ROUNDS = 48  # of splitting all states at once, which is the cheaper way up to about there
HASH_MULTIPLIER = 2654435761  # Knuth, TAOCP vol. 3, 6.4
HASH_MASK = 0x7FFFFFFF


@inner
def _mark(e, inside, place, block, first, marked, touched, n_touched):
    """Move element ``e`` to the marked front of its block; returns the number of touched blocks."""
    b = int(block[e])
    i = int(place[e])
    j = int(first[b]) + int(marked[b])
    if i < j:
        return n_touched
    other = int(inside[j])
    inside[i] = other
    place[other] = i
    inside[j] = e
    place[e] = j
    if marked[b] == 0:
        touched[n_touched] = b
        n_touched += 1
    marked[b] += 1
    return n_touched


@inner
def _split(inside, block, first, end, marked, touched, n_touched, n_blocks):
    """Split the touched blocks, the smaller part becomes new; returns how many there are."""
    while n_touched > 0:
        n_touched -= 1
        b = int(touched[n_touched])
        middle = int(first[b]) + int(marked[b])
        marked[b] = 0
        if middle == end[b]:
            continue
        if middle - first[b] <= end[b] - middle:
            first[n_blocks] = first[b]
            end[n_blocks] = middle
            first[b] = middle
        else:
            end[n_blocks] = end[b]
            first[n_blocks] = middle
            end[b] = middle
        marked[n_blocks] = 0
        for i in range(int(first[n_blocks]), int(end[n_blocks])):
            block[inside[i]] = n_blocks
        n_blocks += 1
    return n_blocks


@inner
def _arrange(t_target, n, into, n_states, t_into):
    """Sort moves by target: those into state ``q`` are ``t_into[into[q]:into[q + 1]]``."""
    into[:] = 0
    for i in range(n):
        into[t_target[i]] += 1
    total = 0
    for q in range(n_states):
        total += int(into[q])
        into[q] = total
    into[n_states] = total
    for i in range(n - 1, -1, -1):
        q = int(t_target[i])
        into[q] -= 1
        t_into[into[q]] = i


@inner
def _label_blocks(states, n, labels, block, slots):
    """Number the labels of ``states[:n]`` from 1; returns how many there are."""
    slots[:] = 0
    mask = slots.shape[0] - 1
    n_blocks = 0
    for i in range(n):
        q = int(states[i])
        slot = (int(labels[q]) * HASH_MULTIPLIER) & mask
        while slots[slot] != 0 and labels[slots[slot]] != labels[q]:
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            slots[slot] = q
            n_blocks += 1
            block[q] = n_blocks
        else:
            block[q] = block[slots[slot]]
    return n_blocks


@inner
def _split_all(table, n_columns, states, n, block, fresh, slots):
    """Split every block by the blocks that moves lead to, into ``fresh``; returns how many."""
    slots[:] = 0
    mask = slots.shape[0] - 1
    n_blocks = 0
    for i in range(n):
        q = int(states[i])
        row = q * n_columns
        code = int(block[q])
        for c in range(n_columns):
            code = (code * 31 + int(block[table[row + c]])) & HASH_MASK
        slot = ((code * HASH_MULTIPLIER) >> 12) & mask
        while slots[slot] != 0:
            other = int(slots[slot])
            same = block[other] == block[q]
            other_row = other * n_columns
            c = 0
            while same and c < n_columns:
                same = block[table[other_row + c]] == block[table[row + c]]
                c += 1
            if same:
                break
            slot = (slot + 1) & mask
        if slots[slot] == 0:
            slots[slot] = q
            n_blocks += 1
            fresh[q] = n_blocks
        else:
            fresh[q] = fresh[slots[slot]]
    return n_blocks


@kernel(
    "int64(int32[::1], int64, int64, int64, int64, int32[::1], int64, uint8[::1], int32[::1],"
    " int32[::1], int32[::1], int32[::1], int64[::1])"
)
def minimise(
    table,
    n_states,
    n_columns,
    n_bytes,
    start,
    labels,
    n_moves,
    classes,
    out_table,
    out_labels,
    slots,
    work,
    sizes,
):
    """The minimal automaton of a transition table; labels are kept apart.

    Parameters
    ----------
    table : int32[n_states * n_columns], labels : int32[n_states]
        Moves and labels; state 0 is dead.
    n_states, n_columns, n_bytes, start, n_moves : int
        Sizes (``n_bytes`` of the columns are byte classes), the first state, and the number of
        entries of ``table`` that are not 0.
    classes : uint8[256]
        In and out: byte class of each byte.
    out_table : int32[n_states * n_columns], out_labels : int32[n_states]
        Out: the minimal automaton, start 1 (or the dead state alone).
    slots : int32[a power of two > n_states]
        Scratch.
    work : int32[12 * n_states + 10 * n_moves + 3 * n_columns + 540]
        Scratch.
    sizes : int64[3]
        Out: states, columns, byte classes.

    Returns
    -------
    int
        First state of the result.
    """
    begin = 0
    alive = work[begin : begin + n_states]
    begin += n_states
    inside = work[begin : begin + n_states]
    begin += n_states
    place = work[begin : begin + n_states]
    begin += n_states
    block = work[begin : begin + n_states]
    begin += n_states
    fresh = work[begin : begin + n_states]
    begin += n_states
    first = work[begin : begin + n_states + 1]
    begin += n_states + 1
    end = work[begin : begin + n_states + 1]
    begin += n_states + 1
    marked = work[begin : begin + n_states + 1]
    begin += n_states + 1
    touched = work[begin : begin + n_states + 1]
    begin += n_states + 1
    into = work[begin : begin + n_states + 1]
    begin += n_states + 1
    number = work[begin : begin + n_states + 1]
    begin += n_states + 1
    order = work[begin : begin + n_states + 1]
    begin += n_states + 1
    t_source = work[begin : begin + n_moves]
    begin += n_moves
    t_target = work[begin : begin + n_moves]
    begin += n_moves
    t_into = work[begin : begin + n_moves]
    begin += n_moves
    t_inside = work[begin : begin + n_moves]
    begin += n_moves
    t_place = work[begin : begin + n_moves]
    begin += n_moves
    t_block = work[begin : begin + n_moves]
    begin += n_moves
    t_first = work[begin : begin + n_moves + 1]
    begin += n_moves + 1
    t_end = work[begin : begin + n_moves + 1]
    begin += n_moves + 1
    t_marked = work[begin : begin + n_moves + 1]
    begin += n_moves + 1
    t_touched = work[begin : begin + n_moves + 1]
    begin += n_moves + 1
    column = work[begin : begin + 256 + n_columns]  # column that stands for each merged one
    begin += 256 + n_columns
    column_hash = work[begin : begin + 256 + n_columns]
    begin += 256 + n_columns
    merged = work[begin : begin + n_columns]

    # States that the start reaches, their moves, and the moves into each state.
    alive[:] = 0
    n_order = 0
    if start != 0:
        alive[start] = 1
        order[0] = start
        n_order = 1
    n = 0
    i = 0
    while i < n_order:
        source = int(order[i])
        row = source * n_columns
        for c in range(n_columns):
            target = int(table[row + c])
            if target != 0:
                t_source[n] = source
                t_target[n] = target
                n += 1
                if alive[target] == 0:
                    alive[target] = 1
                    order[n_order] = target
                    n_order += 1
        i += 1
    _arrange(t_target, n, into, n_states, t_into)

    # Of these, the states that reach a label.
    n_alive = 0
    for i in range(n_order):
        source = int(order[i])
        if labels[source] != 0:
            alive[source] = 2
            inside[n_alive] = source
            n_alive += 1
    i = 0
    while i < n_alive:
        target = int(inside[i])
        for j in range(int(into[target]), int(into[target + 1])):
            source = int(t_source[t_into[j]])
            if alive[source] == 1:
                alive[source] = 2
                inside[n_alive] = source
                n_alive += 1
        i += 1
    if start == 0 or alive[start] != 2:
        classes[:] = 0
        sizes[0] = 1
        sizes[1] = 1 + n_columns - n_bytes
        sizes[2] = 1
        out_table[: sizes[1]] = 0
        out_labels[0] = 0
        return 0

    # Split all states at once for a while. Blocks are numbered from 1; what is not alive is in 0.
    block[:] = 0
    fresh[:] = 0
    n_blocks = _label_blocks(inside, n_alive, labels, block, slots)
    settled = False
    for _ in range(ROUNDS):
        n_split = _split_all(table, n_columns, inside, n_alive, block, fresh, slots)
        settled = n_split == n_blocks
        n_blocks = n_split
        for q in range(n_states):
            block[q] = fresh[q]
        if settled:
            break

    # States by block.
    first[: n_blocks + 2] = 0
    for i in range(n_alive):
        order[i] = inside[i]
        first[block[inside[i]]] += 1
    total = 0
    for b in range(1, n_blocks + 1):
        total += int(first[b])
        end[b] = total
        first[b] = total
        marked[b] = 0
    for i in range(n_alive):
        q = int(order[i])
        first[block[q]] -= 1
        inside[first[block[q]]] = q
        place[q] = first[block[q]]
    n_blocks += 1  # from here on the number of the next one

    if not settled:
        # Moves by column are the first blocks of moves; then blocks of both split each other.
        t_blocks = 0
        n = 0
        for c in range(n_columns):
            before = n
            for i in range(n_alive):
                source = int(inside[i])
                target = int(table[source * n_columns + c])
                if block[target] != 0:
                    t_source[n] = source
                    t_target[n] = target
                    t_inside[n] = n
                    t_place[n] = n
                    t_block[n] = t_blocks
                    n += 1
            if n > before:
                t_first[t_blocks] = before
                t_end[t_blocks] = n
                t_marked[t_blocks] = 0
                t_blocks += 1
        _arrange(t_target, n, into, n_states, t_into)
        next_block = 2
        next_t_block = 0
        while next_t_block < t_blocks:
            n_touched = 0
            for i in range(int(t_first[next_t_block]), int(t_end[next_t_block])):
                source = int(t_source[t_inside[i]])
                n_touched = _mark(source, inside, place, block, first, marked, touched, n_touched)
            n_blocks = _split(inside, block, first, end, marked, touched, n_touched, n_blocks)
            next_t_block += 1
            while next_block < n_blocks:
                n_touched = 0
                for i in range(int(first[next_block]), int(end[next_block])):
                    target = int(inside[i])
                    for j in range(int(into[target]), int(into[target + 1])):
                        n_touched = _mark(
                            t_into[j], t_inside, t_place, t_block, t_first, t_marked, t_touched,
                            n_touched,
                        )  # fmt: skip
                t_blocks = _split(
                    t_inside, t_block, t_first, t_end, t_marked, t_touched, n_touched, t_blocks
                )
                next_block += 1

    # Merge byte classes that every block treats alike, in the order of their first bytes.
    n_merged = 0
    merged[:] = -1
    for b in range(256):
        c = int(classes[b])
        if merged[c] < 0:
            code = 0
            for k in range(1, n_blocks):
                target = int(table[int(inside[first[k]]) * n_columns + c])
                code = (code * 31 + int(block[target])) & HASH_MASK
            for j in range(n_merged):
                if column_hash[j] == code:
                    same = True
                    for k in range(1, n_blocks):
                        row = int(inside[first[k]]) * n_columns
                        if block[table[row + c]] != block[table[row + column[j]]]:
                            same = False
                            break
                    if same:
                        merged[c] = j
                        break
            if merged[c] < 0:
                merged[c] = n_merged
                column[n_merged] = c
                column_hash[n_merged] = code
                n_merged += 1
        classes[b] = merged[c]
    n_out = n_merged
    for c in range(n_bytes, n_columns):
        column[n_out] = c
        n_out += 1

    # Number the blocks breadth first.
    number[:] = 0
    number[block[start]] = 1
    order[0] = block[start]
    n_order = 1
    out_table[:n_out] = 0
    out_labels[0] = 0
    i = 0
    while i < n_order:
        source = int(inside[first[order[i]]])
        out_labels[i + 1] = labels[source]
        for j in range(n_out):
            target = int(table[source * n_columns + column[j]])
            to = 0
            b = int(block[target])
            if b != 0:
                if number[b] == 0:
                    order[n_order] = b
                    n_order += 1
                    number[b] = n_order
                to = int(number[b])
            out_table[(i + 1) * n_out + j] = to
        i += 1
    sizes[0] = n_order + 1
    sizes[1] = n_out
    sizes[2] = n_merged
    return 1
