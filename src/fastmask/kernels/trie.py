"""Sort tokens by their bytes, then lay them out as a depth-first trie.

The sort takes seven bytes at a time. They and how much of the token is left make one key of 60
bits; a range of tokens is sorted by that key (radix sort, or insertion where the range is short),
and every run of equal keys whose tokens go on is a range of its own, seven bytes further. Each byte
is read once or twice, so the time is linear in the bytes of the vocabulary, however arranged:
128,000 tokens take 5 ms to sort and 3 ms to lay out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._arrays import I32, I64, U8
from .._jit import inner, kernel

__all__ = ["DIGIT_VALUES", "lay_out_trie", "sort_tokens"]

KEY_BYTES = 7
GOES_ON = 8  # lowest digit of a key: bytes left, up to 7, or this
LEFT_BITS = 4
LEFT_MASK = (1 << LEFT_BITS) - 1
DIGIT_BITS = 10
DIGIT_VALUES = 1 << DIGIT_BITS
KEY_BITS = 60  # six digits: an even number of passes ends where it began
INSERTION_LIMIT = 96


@inner
def _key(token_bytes: U8, start: int, end: int) -> int:
    """Key of a token from ``start`` on: seven bytes (zero past its end), then the bytes left."""
    key = 0
    for i in range(start, start + KEY_BYTES):
        key <<= 8
        if i < end:
            key |= int(token_bytes[i])
    return (key << LEFT_BITS) | min(end - start, GOES_ON)


@inner
def _common(key: int, other: int) -> int:
    """Bytes that two keys share, ``GOES_ON`` where both tokens go on after seven equal bytes."""
    differ = (key ^ other) >> LEFT_BITS
    common = 0
    for shift in range(0, 8 * KEY_BYTES, 8):
        common += differ >> shift == 0
    left = min(key & LEFT_MASK, other & LEFT_MASK)
    return left if common == KEY_BYTES else min(common, left)


@inner
def _insertion_sort(low: int, high: int, keys: I64, order: I32) -> None:
    """Sort ``keys[low:high]`` and ``order`` with it, equal keys as they stood."""
    for i in range(low + 1, high):
        key = keys[i]
        token = order[i]
        j = i
        while j > low and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            order[j] = order[j - 1]
            j -= 1
        keys[j] = key
        order[j] = token


@inner
def _radix_sort(
    low: int, high: int, keys: I64, order: I32, spare_keys: I64, spare_order: I32, counts: I64
) -> None:
    """Sort ``keys[low:high]`` and ``order`` with it by digits, equal keys as they stood."""
    for shift in range(0, KEY_BITS, 2 * DIGIT_BITS):
        _radix_pass(low, high, shift, keys, order, spare_keys, spare_order, counts)
        _radix_pass(low, high, shift + DIGIT_BITS, spare_keys, spare_order, keys, order, counts)


@inner
def _radix_pass(
    low: int,
    high: int,
    shift: int,
    keys: I64,
    order: I32,
    to_keys: I64,
    to_order: I32,
    counts: I64,
) -> None:
    counts[:] = 0
    for i in range(low, high):
        counts[(keys[i] >> shift) & (DIGIT_VALUES - 1)] += 1
    place = low
    for digit in range(DIGIT_VALUES):
        size = counts[digit]
        counts[digit] = place
        place += size
    for i in range(low, high):
        digit = (keys[i] >> shift) & (DIGIT_VALUES - 1)
        place = counts[digit]
        counts[digit] = place + 1
        to_keys[place] = keys[i]
        to_order[place] = order[i]


@kernel(
    "int64(uint8[::1], int32[::1], int32[::1], int64[::1], int32[::1], int64[::1], int64[::1],"
    " int64[::1], int32[::1])"
)
def sort_tokens(
    token_bytes: U8,
    token_offsets: I32,
    order: I32,
    keys: I64,
    spare_order: I32,
    spare_keys: I64,
    counts: I64,
    ranges: I64,
    shared: I32,
) -> int:
    """Sort tokens by their bytes and measure what each shares with the one before.

    Parameters
    ----------
    token_bytes : uint8[n_bytes], token_offsets : int32[n_ids + 1]
        Bytes of token ``t`` are ``token_bytes[token_offsets[t]:token_offsets[t + 1]]``.
    order : int32[n]
        In: token ids. Out: the same ids by bytes, equal tokens as they stood.
    keys, spare_order, spare_keys : int64[n], int32[n], int64[n]
        Scratch.
    counts : int64[DIGIT_VALUES], ranges : int64[3 * (n // 2 + 1)]
        Scratch.
    shared : int32[n]
        Out: bytes that each token of ``order`` shares with the one before it.

    Returns
    -------
    int
        Number of trie nodes.
    """
    n = order.shape[0]
    n_nodes = 0
    for i in range(n):
        n_nodes += int(token_offsets[order[i] + 1]) - int(token_offsets[order[i]])
    if n > 0:
        shared[0] = 0
    ranges[0] = 0
    ranges[1] = n
    ranges[2] = 0
    pending = 1
    while pending > 0:
        pending -= 1
        low = int(ranges[3 * pending])
        high = int(ranges[3 * pending + 1])
        depth = int(ranges[3 * pending + 2])
        for i in range(low, high):
            start = int(token_offsets[order[i]]) + depth
            keys[i] = _key(token_bytes, start, int(token_offsets[order[i] + 1]))
        if high - low <= INSERTION_LIMIT:
            _insertion_sort(low, high, keys, order)
        else:
            _radix_sort(low, high, keys, order, spare_keys, spare_order, counts)
        first = low
        for i in range(low + 1, high + 1):
            if i < high:
                common = _common(keys[i - 1], keys[i])
                if common == GOES_ON:
                    continue
                shared[i] = depth + common
                n_nodes -= depth + common
                if keys[i] == keys[first]:
                    continue
            if i - first > 1 and keys[first] & LEFT_MASK == GOES_ON:
                ranges[3 * pending] = first
                ranges[3 * pending + 1] = i
                ranges[3 * pending + 2] = depth + KEY_BYTES
                pending += 1
            first = i
    return n_nodes


@kernel(
    "int64(uint8[::1], int32[::1], int32[::1], int32[::1], int32[::1], uint8[::1], int16[::1],"
    " int32[::1], int32[::1], int32[::1], int32[::1])"
)
def lay_out_trie(
    token_bytes: U8,
    token_offsets: I32,
    order: I32,
    shared: I32,
    path: I32,
    byte: U8,
    depth: npt.NDArray[np.int16],
    skip: I32,
    token: I32,
    first: I32,
    roots: I32,
) -> int:
    """Write the nodes of sorted tokens in depth-first order.

    Parameters
    ----------
    token_bytes, token_offsets, order, shared
        As ``sort_tokens`` leaves them.
    path : int32[longest token]
        Scratch: the open node of each depth.
    byte, depth, skip, token : uint8, int16, int32, int32 [n_nodes]
        Out: see ``TokenTrie``.
    first : int32[n_nodes + 1], roots : int32[257]
        Out: see ``TokenTrie``.

    Returns
    -------
    int
        Number of nodes written.
    """
    n = order.shape[0]
    node = 0
    open_nodes = 0
    next_root = 0
    for i in range(n):
        start = int(token_offsets[order[i]])
        size = int(token_offsets[order[i] + 1]) - start
        common = int(shared[i])
        if size == 0:
            continue
        if common == size and open_nodes == size:
            token[node - 1] = -2
            continue
        for level in range(common, open_nodes):
            skip[path[level]] = node
        if common == 0:
            while next_root <= token_bytes[start]:
                roots[next_root] = node
                next_root += 1
        for level in range(common, size):
            byte[node] = token_bytes[start + level]
            depth[node] = level
            token[node] = -1
            first[node] = i
            path[level] = node
            node += 1
        token[node - 1] = order[i]
        open_nodes = size
    for level in range(open_nodes):
        skip[path[level]] = node
    for letter in range(next_root, 257):
        roots[letter] = node
    first[node] = n
    return node
