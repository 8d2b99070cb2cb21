"""From an automaton over the UTF-8 of strings to one over the texts that spell them in JSON.

Between two characters, each may stand raw or as an escape. The states inside an escape say only
where each way to go on leads, so they are made from the last digit up and shared by content: nodes
of targets by hexadecimal digit, by letter behind a backslash, and of the two characters between the
halves of a surrogate pair. All is done once for each state of the automaton, not for each way to
it: a state from which all non-ASCII characters lead to one target costs some 20 nodes and 2 us.

Different nodes are different languages, for they are made bottom up and each kind reads bytes that
no other kind reads in the same way; and a minimal automaton stays so when texts take the place of
strings. Only a state of the automaton and a node could be one language, and then their rows are
equal. So the result is minimal without being minimised, unless `arrange` finds such a pair.
"""

from __future__ import annotations

from .._jit import inner, kernel

__all__ = [
    "NEED_NODES",
    "NODE_WIDTH",
    "NOT_MINIMAL",
    "STATE_WIDTH",
    "arrange",
    "escapes",
    "write_texts",
]

NEED_NODES = -1
NOT_MINIMAL = -2

NODE_WIDTH = 17  # the kind, and up to 16 targets
HEX = 0
LETTER = 1  # " \ / b f n r t u
BACKSLASH = 2
LETTER_U = 3

# What is kept for each state that waits for continuation bytes, by the upper bits of the next one.
LAST = 0  # 4 nodes of a last digit
LOW = 4  # 4 nodes of the second half of a pair, backslash first
TWO = 8  # 16 nodes of two digits
THREE = 24  # a node of three digits
PAIR = 25  # 16 nodes of a last digit of the first half of a pair
WANTED = 41  # bits: which of these are asked for
STATE_WIDTH = 42

HASH_MULTIPLIER = 2654435761  # Knuth, TAOCP vol. 3, 6.4
HASH_MASK = 0xFFFFFFFF


@inner
def _begin(nodes, sizes, kind):
    """Clear the place behind the last node; returns where its targets begin."""
    begin = int(sizes[0]) * NODE_WIDTH
    nodes[begin] = kind
    for i in range(1, NODE_WIDTH):
        nodes[begin + i] = 0
    return begin + 1


@inner
def _end(nodes, sizes, slots, first):
    """The number of the node that was written: an old one's if there is one like it.

    Numbers count from ``first``; a node that leads nowhere is 0. ``sizes[1]`` becomes 1 where
    there is no room for another node.
    """
    n_nodes = int(sizes[0])
    begin = n_nodes * NODE_WIDTH
    code = int(nodes[begin])
    some = 0
    for i in range(begin + 1, begin + NODE_WIDTH):
        some |= int(nodes[i])
        code = ((code ^ int(nodes[i])) * HASH_MULTIPLIER) & HASH_MASK
        code ^= code >> 15
    if some == 0:
        return 0
    mask = slots.shape[0] - 1
    slot = code & mask
    while slots[slot] != 0:
        other = int(slots[slot]) - 1
        same = True
        for i in range(NODE_WIDTH):
            if nodes[other * NODE_WIDTH + i] != nodes[begin + i]:
                same = False
                break
        if same:
            return first + other
        slot = (slot + 1) & mask
    if begin + 2 * NODE_WIDTH > nodes.shape[0]:
        sizes[1] = 1
        return 0
    slots[slot] = n_nodes + 1
    sizes[0] = n_nodes + 1
    return first + n_nodes


@inner
def _want(classes, table, n_states, n_columns, kept):
    """Mark what is asked for of each state: one bit for each field, ``1 << field``."""
    for state in range(1, n_states):
        begin = state * n_columns
        for byte in range(0xC2, 0xF5):
            target = int(table[begin + int(classes[byte])])
            if target != 0:
                wanted = 1 << LAST
                if byte >= 0xF0:
                    wanted = 1 << PAIR
                elif byte >= 0xE0:
                    wanted = 1 << TWO
                    if byte not in (0xE0, 0xED):
                        wanted |= 1 << THREE
                kept[target * STATE_WIDTH + WANTED] |= wanted
    for before, after in ((1 << PAIR, 1 << LOW), (1 << TWO | 1 << LOW, 1 << LAST)):
        for state in range(1, n_states):
            if kept[state * STATE_WIDTH + WANTED] & before:
                for byte in range(0x80, 0xC0):
                    target = int(table[state * n_columns + int(classes[byte])])
                    kept[target * STATE_WIDTH + WANTED] |= after


@inner
def _last_digits(classes, table, n_states, n_columns, kept, nodes, sizes, slots, first):
    for state in range(1, n_states):
        if kept[state * STATE_WIDTH + WANTED] & 1 << LAST == 0:
            continue
        for high in range(4):
            at = _begin(nodes, sizes, HEX)
            for digit in range(16):
                column = int(classes[0x80 | high << 4 | digit])
                nodes[at + digit] = table[state * n_columns + column]
            kept[state * STATE_WIDTH + LAST + high] = _end(nodes, sizes, slots, first)


@inner
def _four_by_four(classes, table, begin, byte, field, kept, nodes, sizes):
    """Write 16 targets: those of ``field`` in the four states behind ``byte`` and the next ones.

    Returns whether the four states are those behind the four bytes before.
    """
    at = _begin(nodes, sizes, HEX)
    repeats = byte & 3 == 0 and byte > 0x80
    for i in range(4):
        middle = int(table[begin + int(classes[byte + i])])
        if repeats and middle != table[begin + int(classes[byte + i - 4])]:
            repeats = False
        for j in range(4):
            nodes[at + 4 * i + j] = kept[middle * STATE_WIDTH + field + j]
    return repeats


@inner
def _middle_digits(classes, table, n_states, n_columns, kept, nodes, sizes, slots, first):
    """Nodes of two digits and of three."""
    for state in range(1, n_states):
        own = state * STATE_WIDTH
        if kept[own + WANTED] & 1 << TWO == 0:
            continue
        for high in range(16):
            byte = 0x80 | high << 2
            begin = state * n_columns
            if _four_by_four(classes, table, begin, byte, LAST, kept, nodes, sizes):
                kept[own + TWO + high] = kept[own + TWO + high - 1]
            else:
                kept[own + TWO + high] = _end(nodes, sizes, slots, first)
        if kept[own + WANTED] & 1 << THREE:
            at = _begin(nodes, sizes, HEX)
            for digit in range(16):
                nodes[at + digit] = kept[own + TWO + digit]
            kept[own + THREE] = _end(nodes, sizes, slots, first)


@inner
def _pairs(classes, table, n_states, n_columns, kept, nodes, sizes, slots, first, row):
    """Nodes of the second half of a surrogate pair, then of the last digit of the first half."""
    for state in range(1, n_states):
        own = state * STATE_WIDTH
        if kept[own + WANTED] & 1 << LOW == 0:
            continue
        for high in range(4):
            for quarter in range(4):
                byte = 0x80 | high << 4 | quarter << 2
                begin = state * n_columns
                repeats = _four_by_four(classes, table, begin, byte, LAST, kept, nodes, sizes)
                if not repeats or quarter == 0:
                    row[quarter] = _end(nodes, sizes, slots, first)
                else:
                    row[quarter] = row[quarter - 1]
            at = _begin(nodes, sizes, HEX)
            for quarter in range(4):
                nodes[at + 12 + quarter] = row[quarter]
            node = _end(nodes, sizes, slots, first)
            for kind in (HEX, LETTER_U, BACKSLASH):
                at = _begin(nodes, sizes, kind)
                nodes[at + (13 if kind == HEX else 0)] = node
                node = _end(nodes, sizes, slots, first)
            kept[own + LOW + high] = node
    for state in range(1, n_states):
        own = state * STATE_WIDTH
        if kept[own + WANTED] & 1 << PAIR == 0:
            continue
        for high in range(16):
            byte = 0x80 | high << 2
            begin = state * n_columns
            if _four_by_four(classes, table, begin, byte, LOW, kept, nodes, sizes):
                kept[own + PAIR + high] = kept[own + PAIR + high - 1]
            else:
                kept[own + PAIR + high] = _end(nodes, sizes, slots, first)


@inner
def _from_row(row, nodes, sizes, slots, first):
    """A node of hexadecimal digits."""
    at = _begin(nodes, sizes, HEX)
    for digit in range(16):
        nodes[at + digit] = row[digit]
    return _end(nodes, sizes, slots, first)


@inner
def _zero_digit(classes, table, begin, every, kept, nodes, sizes, slots, first, row, other):
    """Behind ``\\u0``: ASCII characters, those of two bytes, and the first ones of three."""
    for digit in range(8):  # behind \u00
        row[digit] = 0
        if digit < 2 or digit == 7 or every:
            at = _begin(nodes, sizes, HEX)
            for last in range(16):
                code = digit << 4 | last
                has_letter = 8 <= code <= 13 and code != 11
                if every or (code < 0x20 and not has_letter) or code == 0x7F:
                    nodes[at + last] = table[begin + int(classes[code])]
            row[digit] = _end(nodes, sizes, slots, first)
    for second in range(8):
        same = second > 1
        for digit in range(8 if second == 0 else 0, 16):
            byte = 0xC0 | second << 2 | digit >> 2
            middle = int(table[begin + int(classes[byte])])
            row[digit] = kept[middle * STATE_WIDTH + LAST + (digit & 3)]
            if same and middle != table[begin + int(classes[byte - 4])]:
                same = False
        other[second] = other[second - 1] if same else _from_row(row, nodes, sizes, slots, first)
    lead = int(table[begin + int(classes[0xE0])])
    for second in range(8, 16):
        other[second] = kept[lead * STATE_WIDTH + TWO + second]
    return _from_row(other, nodes, sizes, slots, first)


@inner
def _surrogates(classes, table, begin, kept, nodes, sizes, slots, first, row, other):
    """Behind ``\\ud``: the last characters below the surrogates, or the first half of a pair."""
    lead = int(table[begin + int(classes[0xED])])
    for second in range(8):
        other[second] = kept[lead * STATE_WIDTH + TWO + second]
    for second in range(8, 16):
        other[second] = 0
        if second < 12:
            for digit in range(16):
                plane = ((second & 3) << 2 | digit >> 2) + 1
                lead = int(table[begin + int(classes[0xF0 | plane >> 2])])
                high = (plane & 3) << 2 | digit & 3
                row[digit] = kept[lead * STATE_WIDTH + PAIR + high]
            other[second] = _from_row(row, nodes, sizes, slots, first)
    return _from_row(other, nodes, sizes, slots, first)


@inner
def _letter(letter):
    """The byte behind a backslash that stands for the n-th target of a LETTER node."""
    if letter < 3:
        return 0x22 if letter == 0 else (0x5C if letter == 1 else 0x2F)
    if letter < 5:
        return 0x62 if letter == 3 else 0x66
    if letter < 7:
        return 0x6E if letter == 5 else 0x72
    return 0x74 if letter == 7 else 0x75


@inner
def _meaning(letter):
    """The character that such an escape means."""
    if letter < 3:
        return _letter(letter)
    if letter < 5:
        return 0x08 if letter == 3 else 0x0C
    if letter < 7:
        return 0x0A if letter == 5 else 0x0D
    return 0x09


@kernel(
    "int64(uint8[::1], int32[::1], int64, int64, int64, int64, int32[::1], int32[::1], int32[::1],"
    " int32[::1], int64[::1])"
)
def escapes(classes, table, n_states, n_columns, every, first, escape, nodes, slots, kept, sizes):
    """Make the nodes of all escapes.

    Parameters
    ----------
    classes : uint8[256], table : int32[n_states * n_columns]
        The automaton over UTF-8; state 0 is dead.
    n_states, n_columns : int
        Its sizes.
    every : int
        1: every character has an escape; 0: only those that are usually escaped.
    first : int
        State number of the first node.
    escape : int32[n_states]
        Out: the state behind a backslash, 0 where none may stand.
    nodes : int32[NODE_WIDTH * room]
        Out: kind and targets of each node.
    slots : int32[a power of two > 2 * room], kept : int32[STATE_WIDTH * n_states]
        Scratch, all 0.
    sizes : int64[306]
        Out: number of nodes first. Scratch, all 0.

    Returns
    -------
    int
        0, or ``NEED_NODES``.
    """
    row = sizes[2:18]
    other = sizes[18:34]
    code_unit = sizes[34:50]
    matters = sizes[50:306]  # by column: 1 if a character has a letter, 2 a number, 4 many bytes
    for byte in range(256):
        if byte in (0x22, 0x2F, 0x5C) or (0x08 <= byte <= 0x0D and byte != 0x0B):
            matters[classes[byte]] |= 1
        if byte < 0x80 and (every == 1 or byte < 0x20 or byte == 0x7F):
            matters[classes[byte]] |= 2
        if byte >= 0xC2:
            matters[classes[byte]] |= 6
    everything = 0
    for state in range(1, n_states):
        needed = 0
        for column in range(n_columns):
            if table[state * n_columns + column] != 0:
                needed |= int(matters[column])
        escape[state] = needed
        everything |= needed
    if everything & 4:
        _want(classes, table, n_states, n_columns, kept)
        _last_digits(classes, table, n_states, n_columns, kept, nodes, sizes, slots, first)
        _middle_digits(classes, table, n_states, n_columns, kept, nodes, sizes, slots, first)
        _pairs(classes, table, n_states, n_columns, kept, nodes, sizes, slots, first, row)
    for state in range(1, n_states):
        if escape[state] == 0:
            continue
        begin = state * n_columns
        unit = 0
        if escape[state] & 2:
            code_unit[:] = 0
            code_unit[0] = _zero_digit(
                classes, table, begin, every == 1, kept, nodes, sizes, slots, first, row, other
            )
            if escape[state] & 4:
                for digit in range(1, 16):
                    lead = int(table[begin + int(classes[0xE0 | digit])])
                    code_unit[digit] = kept[lead * STATE_WIDTH + THREE]
                code_unit[13] = _surrogates(
                    classes, table, begin, kept, nodes, sizes, slots, first, row, other
                )
            unit = _from_row(code_unit, nodes, sizes, slots, first)
        at = _begin(nodes, sizes, LETTER)
        for letter in range(8):
            nodes[at + letter] = table[begin + int(classes[_meaning(letter)])]
        nodes[at + 8] = unit
        escape[state] = _end(nodes, sizes, slots, first)
    return NEED_NODES if sizes[1] != 0 else 0


@kernel(
    "int64(uint8[::1], int32[::1], int64, int64, int32[::1], int32[::1], int32[::1], int64, int64,"
    " uint8[::1], int64, int32[::1], int32[::1])"
)
def write_texts(
    classes, table, n_states, n_columns, closing, escape, nodes, first, n_nodes, bytes_of, n_out,
    work, out,
):  # fmt: skip
    """Write the transition table of the texts.

    Parameters
    ----------
    classes : uint8[256], table : int32[n_states * n_columns]
        The automaton over UTF-8.
    n_states, n_columns : int
        Its sizes.
    closing, escape : int32[n_states]
        States behind a quote and behind a backslash.
    nodes : int32[NODE_WIDTH * n_nodes]
        From `escapes`.
    first, n_nodes, n_out : int
        State number of the first node; how many nodes, and columns of the result.
    bytes_of : uint8[n_out]
        One byte of each column.
    work : int32[768]
        Scratch.
    out : int32[(first + n_nodes) * n_out]
        Out: moves of the states, of those behind a closing quote (none), and of the nodes; all 0
        before.

    Returns
    -------
    int
        0.
    """
    from_column = work[:256]  # -1: no raw character, -2: quote, -3: backslash
    digit_of = work[256:512]
    letter_of = work[512:768]
    for column in range(n_out):
        byte = int(bytes_of[column])
        from_column[column] = classes[byte] if byte >= 0x20 else -1
        if byte == 0x22:
            from_column[column] = -2
        elif byte == 0x5C:
            from_column[column] = -3
        digit_of[column] = -1
        if 0x30 <= byte <= 0x39:
            digit_of[column] = byte - 0x30
        elif 0x41 <= byte <= 0x46:
            digit_of[column] = byte - 0x37
        elif 0x61 <= byte <= 0x66:
            digit_of[column] = byte - 0x57
        letter_of[column] = -1
        for letter in range(9):
            if byte == _letter(letter):
                letter_of[column] = letter
    for state in range(1, n_states):
        begin = state * n_columns
        at = state * n_out
        for column in range(n_out):
            source = int(from_column[column])
            if source >= 0:
                out[at + column] = table[begin + source]
            elif source == -2:
                out[at + column] = closing[state]
            elif source == -3:
                out[at + column] = escape[state]
    for node in range(n_nodes):
        begin = node * NODE_WIDTH + 1
        at = (first + node) * n_out
        kind = int(nodes[begin - 1])
        for column in range(n_out):
            wanted = -1
            if kind == HEX:
                wanted = int(digit_of[column])
            elif kind == LETTER:
                wanted = int(letter_of[column])
            elif bytes_of[column] == (0x5C if kind == BACKSLASH else 0x75):
                wanted = 0
            if wanted >= 0:
                out[at + column] = nodes[begin + wanted]
    return 0


@inner
def _row_code(table, begin, n_columns):
    code = 0
    for column in range(n_columns):
        code = ((code ^ int(table[begin + column])) * HASH_MULTIPLIER) & HASH_MASK
        code ^= code >> 15
    return code


@inner
def _has_twin(table, n_columns, n_states, first, n_nodes, slots, read):
    """Whether a state below ``n_states`` has the row of a node."""
    for column in range(n_columns):
        read[column] = 0
    mask = slots.shape[0] - 1
    for node in range(first, first + n_nodes):
        for column in range(n_columns):
            read[column] |= table[node * n_columns + column]
        slot = _row_code(table, node * n_columns, n_columns) & mask
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = node
    for state in range(1, n_states):
        begin = state * n_columns
        differs = False
        for column in range(n_columns):
            if table[begin + column] != 0 and read[column] == 0:
                differs = True
                break
        if differs:
            continue
        slot = _row_code(table, begin, n_columns) & mask
        while slots[slot] != 0:
            same = True
            for column in range(n_columns):
                if table[begin + column] != table[slots[slot] * n_columns + column]:
                    same = False
                    break
            if same:
                return True
            slot = (slot + 1) & mask
    return False


@kernel(
    "int64(int32[::1], int64, int64, int64, int64, int64, int32[::1], uint8[::1], int32[::1],"
    " int32[::1], int32[::1], int32[::1], int64[::1])"
)
def arrange(
    table, n_columns, n_states, first, n_nodes, start, labels, classes, out_table, out_labels,
    slots, work, sizes,
):  # fmt: skip
    """Merge columns and number states breadth first, as a minimal automaton has them.

    Parameters
    ----------
    table : int32[(first + n_nodes) * n_columns], labels : int32[first + n_nodes]
        From `write_texts`; columns in the order of their first bytes.
    n_columns, n_states, first, n_nodes, start : int
        Sizes as there, and the first state.
    classes : uint8[256]
        In and out: byte class of each byte.
    out_table, out_labels
        Out: as ``table`` and ``labels``, with room for one state more.
    slots : int32[a power of two > 2 * n_nodes]
        Scratch, all 0.
    work : int32[2 * (first + n_nodes) + 3 * 256]
        Scratch.
    sizes : int64[2]
        Out: states, columns.

    Returns
    -------
    int
        0, or ``NOT_MINIMAL``: a state and a node have the same moves (or, by the rarest chance, two
        different columns the same code).
    """
    total = first + n_nodes
    number = work[:total]
    order = work[total : 2 * total]
    column_code = work[2 * total : 2 * total + 256]
    column_of = work[2 * total + 256 : 2 * total + 512]
    merged = work[2 * total + 512 : 2 * total + 768]
    if _has_twin(table, n_columns, n_states, first, n_nodes, slots, column_code):
        return NOT_MINIMAL
    number[:] = 0
    column_code[:] = 0
    number[start] = 1
    order[0] = start
    n_order = 1
    i = 0
    while i < n_order:
        begin = int(order[i]) * n_columns
        for column in range(n_columns):
            target = int(table[begin + column])
            column_code[column] = (int(column_code[column]) * 31 + target) & 0x3FFFFFFF
            if target != 0 and number[target] == 0:
                order[n_order] = target
                n_order += 1
                number[target] = n_order
        i += 1
    n_merged = 0
    for column in range(n_columns):
        merged[column] = n_merged
        for j in range(n_merged):
            if column_code[column_of[j]] == column_code[column]:
                merged[column] = j
        if merged[column] == n_merged:
            column_of[n_merged] = column
            n_merged += 1
    for byte in range(256):
        classes[byte] = merged[classes[byte]]
    out_table[:n_merged] = 0
    out_labels[0] = 0
    for i in range(n_order):
        state = int(order[i])
        out_labels[i + 1] = labels[state]
        begin = state * n_columns
        at = (i + 1) * n_merged
        for column in range(n_columns):
            target = int(table[begin + column])
            j = int(merged[column])
            if column == column_of[j]:
                out_table[at + j] = number[target]
            elif out_table[at + j] != number[target]:
                return NOT_MINIMAL
    sizes[0] = n_order + 1
    sizes[1] = n_merged
    return 0
