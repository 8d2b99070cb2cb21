"""Minimisation of deterministic automata, and a numbering that makes equal languages equal arrays.

Unreachable states and states that can't reach a label go first. What is left is split by label,
then by where its moves lead, with a hash table (Moore 1956). Of a block that is split the largest
part keeps its number, and only states with a move into the others are looked at again (Hopcroft
1971): a state at most log(states) times for each state it leads to, and a few times as a rule, in
long counts too. Byte classes that all blocks treat alike are merged, and the blocks are numbered
breadth first by ascending byte.
"""

from __future__ import annotations

from .._jit import inner, kernel

__all__ = ["minimise"]

HASH_MULTIPLIER = 2654435761  # Knuth, TAOCP vol. 3, 6.4
HASH_MASK = 0x7FFFFFFF


@inner
def _mark(q, inside, place, block, first, marked):
    """Move a state to the marked front of its block."""
    b = int(block[q])
    i = int(place[q])
    j = int(first[b]) + int(marked[b])
    if i >= j:
        other = int(inside[j])
        inside[i] = other
        place[other] = i
        inside[j] = q
        place[q] = j
        marked[b] += 1


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
def _group(table, n_columns, q, block, slots, used, group, n_groups):
    """The group of the states met that a state is of: its moves lead to the same blocks.

    ``n_groups`` if there is none; then it is the first of one more.
    """
    row = q * n_columns
    code = 0
    for c in range(n_columns):
        code = (code * 31 + int(block[table[row + c]])) & HASH_MASK
    mask = slots.shape[0] - 1
    slot = ((code * HASH_MULTIPLIER) >> 12) & mask
    while slots[slot] != 0:
        other_row = int(slots[slot]) * n_columns
        c = 0
        while c < n_columns and block[table[other_row + c]] == block[table[row + c]]:
            c += 1
        if c == n_columns:
            return int(group[slots[slot]])
        slot = (slot + 1) & mask
    slots[slot] = q
    used[n_groups] = slot
    return n_groups


@inner
def _split_block(
    table, n_columns, b, inside, place, block, first, end, marked, slots, used, group, size, order,
    n_blocks,
):  # fmt: skip
    """Split a block by where the moves of its marked states lead; returns how many there are then.

    All others in it lead where the first of them leads. The largest part keeps the number.
    """
    begin, middle, stop = int(first[b]), int(first[b] + marked[b]), int(end[b])
    marked[b] = 0
    if stop - begin == 1:
        return n_blocks
    n_groups = 0
    if middle < stop:
        _group(table, n_columns, int(inside[middle]), block, slots, used, group, 0)
        group[inside[middle]] = 0
        size[0] = stop - middle
        n_groups = 1
    for i in range(begin, middle):
        q = int(inside[i])
        g = _group(table, n_columns, q, block, slots, used, group, n_groups)
        if g == n_groups:
            size[g] = 0
            n_groups += 1
        group[q] = g
        size[g] += 1
        order[i] = q
    for g in range(n_groups):
        slots[used[g]] = 0
    if n_groups == 1:
        return n_blocks
    # Group 0 stands last, where those are that were not marked; `used` is now where groups end.
    largest = 0
    at = begin
    for g in range(1, n_groups):
        used[g] = at
        at += int(size[g])
        if size[g] > size[largest]:
            largest = g
    used[0] = at
    for i in range(begin, middle):
        q = int(order[i])
        g = int(group[q])
        inside[used[g]] = q
        place[q] = used[g]
        used[g] += 1
    used[0] = stop
    for g in range(n_groups):
        of_group = b
        if g != largest:
            of_group = n_blocks
            n_blocks += 1
            marked[of_group] = 0
        end[of_group] = used[g]
        first[of_group] = used[g] - size[g]
        if g != largest:
            for i in range(int(first[of_group]), int(end[of_group])):
                block[inside[i]] = of_group
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
    work : int32[13 * n_states + 3 * n_moves + 3 * n_columns + 540]
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
    group = work[begin : begin + n_states]
    begin += n_states
    used = work[begin : begin + n_states]
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
        last = 0
        for c in range(n_columns):
            target = int(table[row + c])
            if target not in (0, last):
                last = target
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

    # States by block. Blocks are numbered from 1; what is not alive is in 0.
    block[:] = 0
    n_blocks = _label_blocks(inside, n_alive, labels, block, slots)
    slots[:] = 0
    first[: n_blocks + 2] = 0
    for i in range(n_alive):
        order[i] = inside[i]
        first[block[inside[i]]] += 1
    total = 0
    for b in range(1, n_blocks + 1):
        marked[b] = first[b]
        total += int(first[b])
        end[b] = total
        first[b] = total
        touched[b - 1] = b
    for i in range(n_alive):
        q = int(order[i])
        first[block[q]] -= 1
        inside[first[block[q]]] = q
        place[q] = first[block[q]]

    # Split blocks while some state, marked in its own, may lead to other blocks than before.
    head = 0
    n_waiting = n_blocks
    n_blocks += 1  # from here on the number of the next one
    while n_waiting > 0:
        b = int(touched[head])
        head = (head + 1) % touched.shape[0]
        n_waiting -= 1
        before = n_blocks
        n_blocks = _split_block(
            table, n_columns, b, inside, place, block, first, end, marked, slots, used, group,
            number, order, n_blocks,
        )  # fmt: skip
        n_renamed = 0
        for k in range(before, n_blocks):
            for i in range(int(first[k]), int(end[k])):
                order[n_renamed] = inside[i]
                n_renamed += 1
        for i in range(n_renamed):
            target = int(order[i])
            for j in range(int(into[target]), int(into[target + 1])):
                source = int(t_source[t_into[j]])
                if alive[source] == 2:
                    if marked[block[source]] == 0:
                        touched[(head + n_waiting) % touched.shape[0]] = block[source]
                        n_waiting += 1
                    _mark(source, inside, place, block, first, marked)
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
