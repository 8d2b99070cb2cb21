"""From an automaton over the UTF-8 of strings to one over the texts that spell them in JSON.

Between two characters, each may stand raw or as an escape. The states inside an escape say only
where each way to go on leads, so they are made from the leaves up and shared by content: nodes of
targets by hexadecimal digit, by letter behind a backslash, and of the two characters between the
halves of a surrogate pair. A state from which all non-ASCII characters lead to one target needs
about a dozen nodes, and all states with that target share most of them.
"""

from __future__ import annotations

from .._jit import inner, kernel

__all__ = ["NEED_NODES", "NODE_WIDTH", "escapes", "write_texts"]

NEED_NODES = -1
NODE_WIDTH = 17  # the kind, and up to 16 targets

HEX = 0
LETTER = 1  # " \ / b f n r t u
BACKSLASH = 2
LETTER_U = 3

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
def _single(nodes, sizes, slots, first, kind, target):
    """A node with one target."""
    if target == 0:
        return 0
    at = _begin(nodes, sizes, kind)
    nodes[at] = target
    return _end(nodes, sizes, slots, first)


@inner
def _last_digit(classes, table, n_columns, state, high, nodes, sizes, slots, first, memo):
    """The last digit: ``state`` waits for one continuation byte, ``high`` are its upper bits."""
    if state == 0:
        return 0
    known = int(memo[9 * state + high])
    if known != 0:
        return known - 1
    at = _begin(nodes, sizes, HEX)
    for digit in range(16):
        column = int(classes[0x80 | high << 4 | digit])
        nodes[at + digit] = table[state * n_columns + column]
    node = _end(nodes, sizes, slots, first)
    memo[9 * state + high] = node + 1
    return node


@inner
def _two_digits(classes, table, n_columns, state, high, nodes, sizes, slots, first, memo):
    """The last two digits: ``state`` waits for two bytes, ``high`` are the first one's bits."""
    if state == 0:
        return 0
    row = sizes[2:18]
    for digit in range(16):
        column = int(classes[0x80 | high << 2 | digit >> 2])
        middle = int(table[state * n_columns + column])
        row[digit] = _last_digit(
            classes, table, n_columns, middle, digit & 3, nodes, sizes, slots, first, memo
        )
    at = _begin(nodes, sizes, HEX)
    for digit in range(16):
        nodes[at + digit] = row[digit]
    return _end(nodes, sizes, slots, first)


@inner
def _three_digits(classes, table, n_columns, state, nodes, sizes, slots, first, memo):
    """The last three digits: ``state`` waits for two continuation bytes."""
    if state == 0:
        return 0
    known = int(memo[9 * state + 8])
    if known != 0:
        return known - 1
    row = sizes[18:34]
    for digit in range(16):
        row[digit] = _two_digits(
            classes, table, n_columns, state, digit, nodes, sizes, slots, first, memo
        )
    at = _begin(nodes, sizes, HEX)
    for digit in range(16):
        nodes[at + digit] = row[digit]
    node = _end(nodes, sizes, slots, first)
    memo[9 * state + 8] = node + 1
    return node


@inner
def _low_surrogate(classes, table, n_columns, state, high, nodes, sizes, slots, first, memo):
    """The second half of a pair: ``state`` waits for two bytes, ``high`` are the first one's."""
    if state == 0:
        return 0
    known = int(memo[9 * state + 4 + high])
    if known != 0:
        return known - 1
    row = sizes[2:18]
    quarters = sizes[18:34]
    for quarter in range(4):
        for digit in range(16):
            column = int(classes[0x80 | high << 4 | quarter << 2 | digit >> 2])
            middle = int(table[state * n_columns + column])
            row[digit] = _last_digit(
                classes, table, n_columns, middle, digit & 3, nodes, sizes, slots, first, memo
            )
        at = _begin(nodes, sizes, HEX)
        for digit in range(16):
            nodes[at + digit] = row[digit]
        quarters[quarter] = _end(nodes, sizes, slots, first)
    at = _begin(nodes, sizes, HEX)
    for quarter in range(4):
        nodes[at + 12 + quarter] = quarters[quarter]
    node = _end(nodes, sizes, slots, first)
    if node != 0:
        at = _begin(nodes, sizes, HEX)
        nodes[at + 13] = node
        node = _end(nodes, sizes, slots, first)
    node = _single(nodes, sizes, slots, first, LETTER_U, node)
    node = _single(nodes, sizes, slots, first, BACKSLASH, node)
    memo[9 * state + 4 + high] = node + 1
    return node


@inner
def _surrogates(classes, table, n_columns, state, quarter, nodes, sizes, slots, first, memo):
    """The last two digits of the first half of a pair, 4 to 16 times 0x10000 characters."""
    outer = sizes[34:50]
    some = 0
    for digit in range(16):
        plane = (quarter << 2 | digit >> 2) + 1
        lead = int(table[state * n_columns + int(classes[0xF0 | plane >> 2])])
        outer[digit] = 0
        if lead == 0:
            continue
        inner_row = sizes[50:66]
        for last in range(16):
            byte = 0x80 | (plane & 3) << 4 | (digit & 3) << 2 | last >> 2
            middle = int(table[lead * n_columns + int(classes[byte])])
            inner_row[last] = _low_surrogate(
                classes, table, n_columns, middle, last & 3, nodes, sizes, slots, first, memo
            )
        at = _begin(nodes, sizes, HEX)
        for last in range(16):
            nodes[at + last] = inner_row[last]
        outer[digit] = _end(nodes, sizes, slots, first)
        some |= int(outer[digit])
    if some == 0:
        return 0
    at = _begin(nodes, sizes, HEX)
    for digit in range(16):
        nodes[at + digit] = outer[digit]
    return _end(nodes, sizes, slots, first)


@inner
def _zero_digit(classes, table, n_columns, state, every, nodes, sizes, slots, first, memo):
    """Behind ``\\u0``: ASCII characters, those of two bytes, and the first of three bytes."""
    row = sizes[66:82]
    begin = state * n_columns
    for digit in range(8):  # behind \u00
        wanted = digit < 2 or digit == 7 or every
        at = _begin(nodes, sizes, HEX)
        if wanted:
            for last in range(16):
                code = digit << 4 | last
                has_letter = 8 <= code <= 13 and code != 11
                if every or (code < 0x20 and not has_letter) or code == 0x7F:
                    nodes[at + last] = table[begin + int(classes[code])]
        row[digit] = _end(nodes, sizes, slots, first)
    for digit in range(8, 16):
        middle = int(table[begin + int(classes[0xC0 | digit >> 2])])
        row[digit] = _last_digit(
            classes, table, n_columns, middle, digit & 3, nodes, sizes, slots, first, memo
        )
    at = _begin(nodes, sizes, HEX)
    for digit in range(16):
        nodes[at + digit] = row[digit]
    outer = sizes[82:98]
    outer[0] = _end(nodes, sizes, slots, first)
    for second in range(1, 8):
        for digit in range(16):
            middle = int(table[begin + int(classes[0xC0 | second << 2 | digit >> 2])])
            row[digit] = _last_digit(
                classes, table, n_columns, middle, digit & 3, nodes, sizes, slots, first, memo
            )
        at = _begin(nodes, sizes, HEX)
        for digit in range(16):
            nodes[at + digit] = row[digit]
        outer[second] = _end(nodes, sizes, slots, first)
    lead = int(table[begin + int(classes[0xE0])])
    for second in range(8, 16):
        outer[second] = _two_digits(
            classes, table, n_columns, lead, second, nodes, sizes, slots, first, memo
        )
    at = _begin(nodes, sizes, HEX)
    for digit in range(16):
        nodes[at + digit] = outer[digit]
    return _end(nodes, sizes, slots, first)


@inner
def _code_unit(classes, table, n_columns, state, every, nodes, sizes, slots, first, memo):
    """Behind ``\\u``: four digits, or a pair of them."""
    row = sizes[98:114]
    begin = state * n_columns
    row[0] = _zero_digit(classes, table, n_columns, state, every, nodes, sizes, slots, first, memo)
    for digit in range(1, 16):
        if digit != 13:
            lead = int(table[begin + int(classes[0xE0 | digit])])
            row[digit] = _three_digits(
                classes, table, n_columns, lead, nodes, sizes, slots, first, memo
            )
    lead = int(table[begin + int(classes[0xED])])
    surrogates = sizes[114:130]
    for second in range(8):
        surrogates[second] = _two_digits(
            classes, table, n_columns, lead, second, nodes, sizes, slots, first, memo
        )
    for second in range(8, 12):
        surrogates[second] = _surrogates(
            classes, table, n_columns, state, second & 3, nodes, sizes, slots, first, memo
        )
    at = _begin(nodes, sizes, HEX)
    for second in range(12):
        nodes[at + second] = surrogates[second]
    row[13] = _end(nodes, sizes, slots, first)
    at = _begin(nodes, sizes, HEX)
    for digit in range(16):
        nodes[at + digit] = row[digit]
    return _end(nodes, sizes, slots, first)


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
def escapes(classes, table, n_states, n_columns, every, first, escape, nodes, slots, memo, sizes):
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
    slots : int32[a power of two > 2 * room], memo : int32[9 * n_states]
        Scratch, all 0.
    sizes : int64[130]
        Out: number of nodes first. Scratch, all 0.

    Returns
    -------
    int
        0, or ``NEED_NODES``.
    """
    matters = sizes[130:386]  # by column: whether a character of it has an escape
    for byte in range(256):
        raw = 0x23 <= byte < 0x7F and byte != 0x2F and byte != 0x5C
        if every == 1 or not (raw or byte == 0x20 or byte == 0x21):
            if byte < 0x80 or byte >= 0xC2:
                matters[classes[byte]] = 1
    for state in range(1, n_states):
        escape[state] = 0
        begin = state * n_columns
        some = False
        for column in range(n_columns):
            if matters[column] != 0 and table[begin + column] != 0:
                some = True
                break
        if not some:
            continue
        unit = _code_unit(
            classes, table, n_columns, state, every == 1, nodes, sizes, slots, first, memo
        )
        at = _begin(nodes, sizes, LETTER)
        for letter in range(8):
            nodes[at + letter] = table[begin + int(classes[_meaning(letter)])]
        nodes[at + 8] = unit
        escape[state] = _end(nodes, sizes, slots, first)
        if sizes[1] != 0:
            return NEED_NODES
    return 0


@kernel(
    "int64(uint8[::1], int32[::1], int64, int64, int32[::1], int32[::1], int32[::1], int64,"
    " uint8[::1], int64, int32[::1])"
)
def write_texts(
    classes, table, n_states, n_columns, closing, escape, nodes, n_nodes, bytes_of, n_out, out
):
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
    n_nodes, n_out : int
        How many nodes, and columns of the result.
    bytes_of : uint8[n_out]
        One byte of each column.
    out : int32[states * n_out]
        Out: moves of the states, of those behind a closing quote (none), and of the nodes.

    Returns
    -------
    int
        0.
    """
    for column in range(n_out):
        byte = int(bytes_of[column])
        raw = byte >= 0x20 and byte != 0x22 and byte != 0x5C
        from_column = int(classes[byte])
        for state in range(1, n_states):
            target = 0
            if raw:
                target = int(table[state * n_columns + from_column])
            elif byte == 0x22:
                target = int(closing[state])
            elif byte == 0x5C:
                target = int(escape[state])
            out[state * n_out + column] = target
        digit = -1
        if 0x30 <= byte <= 0x39:
            digit = byte - 0x30
        elif 0x41 <= byte <= 0x46:
            digit = byte - 0x37
        elif 0x61 <= byte <= 0x66:
            digit = byte - 0x57
        letter = -1
        for i in range(9):
            if byte == _letter(i):
                letter = i
        row = out.shape[0] // n_out - n_nodes
        for node in range(n_nodes):
            begin = node * NODE_WIDTH
            kind = int(nodes[begin])
            target = 0
            if kind == HEX and digit >= 0:
                target = int(nodes[begin + 1 + digit])
            elif kind == LETTER and letter >= 0:
                target = int(nodes[begin + 1 + letter])
            elif (kind == BACKSLASH and byte == 0x5C) or (kind == LETTER_U and byte == 0x75):
                target = int(nodes[begin + 1])
            out[(row + node) * n_out + column] = target
    return 0
