"""Groups of bytes, and which of them occur below each node of a token trie (``kernels.groups``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._arrays import I32, I64, U8, U32
from ..kernels.groups import find_groups_below, leave_out
from ..kernels.layout import HIGH, NO_GROUP
from .trie import TokenTrie

__all__ = ["GROUPS", "PLAIN", "GroupedTrie", "grouped_trie"]


def _groups() -> U8:
    # The dearer a group is to a state that reads long texts, the higher its number.
    signs = [bytes([byte]) for byte in range(0x7F) if byte > 0x20 and not chr(byte).isalnum()]
    control = bytes(byte for byte in range(0x20) if byte not in b"\t\n\r")
    capitals = [b"ABCDEF", b"GHIJKLMNOPQRSTUVWXYZ"]
    beyond = bytes(range(0xC2, 0xF5))
    letters = [b"abcdef", b"ghijklmnopqrstuvwxyz"]
    members = [control, b"\x7f", b"\r", b"\t", b"\n", *signs, b"0123456789", *capitals]
    groups = np.full(256, NO_GROUP, np.uint8)
    for number, of_group in enumerate([*members, beyond, b" ", *letters]):
        groups[list(of_group)] = number
    assert groups[0xC2] == HIGH
    return groups


#: uint8[256]: the group of each byte, ``NO_GROUP`` for bytes that no character begins with.
GROUPS = _groups()


# Those of most strings, a bit each: all but quotes, backslashes and control characters.
_SPECIAL = {NO_GROUP, *GROUPS[list(b'\0\t\n\r"\\')].tolist()}
PLAIN = sum(1 << group for group in {*GROUPS.tolist()} - _SPECIAL)


class GroupedTrie(NamedTuple):
    """What walks of a trie know of groups.

    Attributes
    ----------
    below : int64[n_nodes]
        The groups that occur below each node, a bit each.
    rest_byte, rest_depth, rest_skip : uint8, int16, int32 [n]
        The trie without subtrees that hold nothing but plain groups.
    rest_node : int32[n]
        The node that each of the rest was, -1 for those of plain bytes.
    plain_row : uint32[words]
        The tokens of nothing but plain groups.
    """

    below: I64
    rest_byte: U8
    rest_depth: npt.NDArray[np.int16]
    rest_skip: I32
    rest_node: I32
    plain_row: U32


def grouped_trie(trie: TokenTrie, n_words: int) -> GroupedTrie:
    """Find the groups; about 3 ms for 128,000 tokens. Rows are of ``n_words``."""
    n = trie.n_nodes
    below = np.empty(n, np.int64)
    path = np.empty(trie.longest + 1, np.int8)
    notes = np.empty((2, n), np.int8)
    find_groups_below(trie.byte, trie.depth, trie.skip, GROUPS, path, notes, below)
    byte, depth = np.empty(n, np.uint8), np.empty(n, np.int16)
    skip, node = np.empty(n, np.int32), np.empty(n, np.int32)
    row = np.zeros(n_words, np.uint32)
    count = leave_out(
        trie.byte,
        trie.depth,
        trie.skip,
        trie.first,
        trie.order,
        below,
        GROUPS,
        PLAIN,
        np.empty(trie.longest + 1, np.int32),
        byte,
        depth,
        skip,
        node,
        row,
    )
    return GroupedTrie(
        below,
        byte[:count].copy(),
        depth[:count].copy(),
        skip[:count].copy(),
        node[:count].copy(),
        row,
    )
