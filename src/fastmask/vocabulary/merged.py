"""The merged trie of a vocabulary: see `fastmask.kernels.merged`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._arrays import I32, U8, contiguous
from ..kernels.layout import ALONE, EXACT_BEHIND
from ..kernels.merged import find_places, merge_bytes
from .core import Vocabulary
from .trie import TokenTrie, build_trie

__all__ = ["GROUPS", "MergedTrie", "merged_trie"]

# Lead bytes by what may follow, and continuation bytes as the narrowest lead bytes cut them.
_UTF8 = (
    range(0x80, 0x90),
    range(0x90, 0xA0),
    range(0xA0, 0xC0),
    range(0xC2, 0xE0),
    [*range(0xE1, 0xED), 0xEE, 0xEF],
    range(0xF1, 0xF4),
)


def _groups() -> U8:
    groups = np.full(256, ALONE, np.uint8)
    groups[list(b"\\%")] = EXACT_BEHIND
    members = [range(0x30, 0x3A), range(0x41, 0x5B), range(0x61, 0x7B), *_UTF8]
    for number, of_group in enumerate(members):
        groups[list(of_group)] = number
    return groups


#: uint8[256]: the group of each byte, ``ALONE`` or ``EXACT_BEHIND``.
GROUPS = _groups()
# What each byte is written as: the least of its group.
_LEAST: U8 = np.arange(256, dtype=np.uint8)
for _group in range(ALONE):
    _members = np.flatnonzero(np.equal(GROUPS, _group))
    _LEAST[_members] = _members[0]


class MergedTrie(NamedTuple):
    """A trie over tokens whose bytes are written as the least of their groups.

    Attributes
    ----------
    trie : TokenTrie
    first : int32[n + 1]
        Node v stands for the nodes ``places[first[v]:first[v + 1]]`` of the whole trie.
    places : int32[n_nodes of the whole trie]
    """

    trie: TokenTrie
    first: I32
    places: I32


def merged_trie(vocabulary: Vocabulary) -> MergedTrie:
    """Merge the trie of a vocabulary; about 15 ms for 128,000 tokens."""
    token_bytes = contiguous(vocabulary.token_bytes, np.uint8)
    offsets = contiguous(vocabulary.token_offsets, np.int32)
    merged = np.empty_like(token_bytes)
    merge_bytes(token_bytes, offsets, GROUPS, _LEAST, merged)
    whole = vocabulary.trie
    trie = build_trie(merged, offsets, np.sort(whole.order))
    first = np.zeros(trie.n_nodes + 1, np.int32)
    places = np.empty(2 * whole.n_nodes, np.int32)
    path = np.empty(2 * (whole.longest + 1), np.int32)
    find_places(whole.byte, whole.depth, GROUPS, _LEAST, trie.byte, trie.skip, path, first, places)
    return MergedTrie(trie, first, places[: whole.n_nodes].copy())
