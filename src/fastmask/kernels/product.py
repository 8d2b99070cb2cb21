"""The product of two deterministic automata over bytes, made from the pair of starts outwards.

Only pairs that the starts reach are made, and a pair that can't matter is the dead state at once:
for "and" as soon as one side is dead, for "and not" as soon as the left side is.
"""

from __future__ import annotations

from .._jit import kernel

__all__ = ["AND", "AND_NOT", "NEED_PAIRS", "OR", "PAIR", "XOR", "product"]

NEED_PAIRS = -1  # more room for states or table cells

# How two labels make one.
AND = 0  # the left label where the right one is not 0
OR = 1  # the left label, or the right one where it is 0
AND_NOT = 2  # the left label where the right one is 0
XOR = 3  # the one that is not 0, unless both are
PAIR = 4  # left * base + right

HASH_MULTIPLIER = 2654435761  # Knuth, TAOCP vol. 3, 6.4
HASH_MASK = 0xFFFFFFFF


@kernel(
    "int64(uint8[::1], int32[::1], int64, int64, int32[::1], uint8[::1], int32[::1], int64, int64,"
    " int32[::1], int64, int64, uint8[::1], int32[::1], int32[::1], int32[::1], int32[::1],"
    " int32[::1], int64[::1])"
)
def product(
    left_classes,
    left_table,
    left_columns,
    left_start,
    left_labels,
    right_classes,
    right_table,
    right_columns,
    right_start,
    right_labels,
    mode,
    base,
    classes,
    table,
    labels,
    pairs,
    slots,
    work,
    sizes,
):
    """Run two automata side by side.

    Parameters
    ----------
    left_classes : uint8[256], left_table : int32[cells], left_labels : int32[states]
        The left automaton; ``right_*`` is the right one.
    left_columns, left_start : int
        Its columns (byte classes only) and first state.
    mode, base : int
        How labels are combined, and the factor of ``PAIR``.
    classes, table, labels
        Out: the product as in `determinise`; state 0 is dead.
    pairs : int32[2 * states], slots : int32[a power of two > states]
        Scratch; ``slots`` all 0.
    work : int32[left_columns * right_columns + 512]
        Scratch; all 0.
    sizes : int64[3]
        Out: states, columns, byte classes.

    Returns
    -------
    int
        First state of the result, or ``NEED_PAIRS``.
    """
    # A joint class for every pair of classes that some byte has, in the order of the bytes.
    left_column = work[0:256]
    right_column = work[256:512]
    n_columns = 0
    for b in range(256):
        code = 512 + int(left_classes[b]) * right_columns + int(right_classes[b])
        if work[code] == 0:
            left_column[n_columns] = left_classes[b]
            right_column[n_columns] = right_classes[b]
            n_columns += 1
            work[code] = n_columns
        classes[b] = int(work[code]) - 1
    sizes[1] = n_columns
    sizes[2] = n_columns
    max_states = min(labels.shape[0], table.shape[0] // n_columns)
    if max_states < 2:
        return NEED_PAIRS
    mask = slots.shape[0] - 1
    left_matters = mode in (AND, AND_NOT)
    right_matters = mode == AND
    labels[0] = 0
    table[:n_columns] = 0
    dead = (
        (left_start == 0 and right_start == 0)
        or (left_matters and left_start == 0)
        or (right_matters and right_start == 0)
    )
    if dead:
        sizes[0] = 1
        return 0
    pairs[2] = left_start
    pairs[3] = right_start
    code = (left_start * HASH_MULTIPLIER + right_start * 40503) & HASH_MASK
    slots[(code ^ (code >> 15)) & mask] = 1
    n_states = 2
    state = 1
    while state < n_states:
        left = int(pairs[2 * state])
        right = int(pairs[2 * state + 1])
        left_label = int(left_labels[left])
        right_label = int(right_labels[right])
        label = left_label
        if mode == AND:
            label = left_label if right_label != 0 else 0
        elif mode == OR:
            label = left_label if left_label != 0 else right_label
        elif mode == AND_NOT:
            label = left_label if right_label == 0 else 0
        elif mode == XOR:
            label = 0 if left_label != 0 and right_label != 0 else left_label + right_label
        else:
            label = left_label * base + right_label
        labels[state] = label
        for c in range(n_columns):
            to_left = int(left_table[left * left_columns + int(left_column[c])])
            to_right = int(right_table[right * right_columns + int(right_column[c])])
            target = 0
            dead = (
                (to_left == 0 and to_right == 0)
                or (left_matters and to_left == 0)
                or (right_matters and to_right == 0)
            )
            if not dead:
                code = (to_left * HASH_MULTIPLIER + to_right * 40503) & HASH_MASK
                slot = (code ^ (code >> 15)) & mask
                while slots[slot] != 0:
                    target = int(slots[slot])
                    if pairs[2 * target] == to_left and pairs[2 * target + 1] == to_right:
                        break
                    target = 0
                    slot = (slot + 1) & mask
                if target == 0:
                    if n_states == max_states:
                        return NEED_PAIRS
                    target = n_states
                    slots[slot] = target
                    pairs[2 * target] = to_left
                    pairs[2 * target + 1] = to_right
                    n_states += 1
            table[state * n_columns + c] = target
        state += 1
    sizes[0] = n_states
    return 1
