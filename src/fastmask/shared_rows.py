"""Rows that many grammars have in common, kept for a vocabulary.

What a scalar (a string, a number, white space) lets through before it is left does not depend on
the grammar around it. It is kept under the name of its automaton: the row, and the trie nodes at
which a token leaves the frame. For strings there are also the lengths of tokens, from which the
rows of bounded strings are cut.
"""

from __future__ import annotations

import functools
import re
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import I32, U32
from .kernels.lengths import write_length_row
from .vocabulary import Vocabulary

__all__ = ["CharacterCounts", "SharedRows", "shared_rows"]

_LIMIT_BYTES = 32 << 20
_KEY_BEGINS = re.compile(rb',[ \t\n\r]*"')
_TWO_KEYS = re.compile(rb':.*,[ \t\n\r]*".*"', re.DOTALL)

Name = tuple[str, int]


class CharacterCounts(NamedTuple):
    """Characters that tokens, and the ways to trie nodes, begin inside a string."""

    tokens: npt.NDArray[np.int16]
    places: npt.NDArray[np.int16]


class SharedRows:
    """Rows by the name of an automaton and one of its states."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._tokens_with: dict[bytes, I32] = {}
        self._roots: OrderedDict[Name, tuple[I32, I32]] = OrderedDict()
        self._bytes = 0
        #: By the state of the automaton of all texts of strings that a token is read from.
        self.counts: dict[int, CharacterCounts] = {}
        self._lengths: dict[tuple[int, int, int], U32] = {}

    def tokens_with(self, byte: bytes) -> I32:
        """The tokens of text in which a byte stands."""
        tokens = self._tokens_with.get(byte)
        if tokens is None:
            vocabulary = self._vocabulary
            places = np.flatnonzero(vocabulary.token_bytes == ord(byte))
            ids = np.unique(np.searchsorted(vocabulary.token_offsets, places, "right") - 1)
            tokens = self._tokens_with[byte] = ids[vocabulary.is_text[ids] != 0].astype(np.int32)
        return tokens

    @functools.cached_property
    def two_keyed(self) -> I32:
        """The tokens of text that may end a key of an object and hold a later one of it."""
        tokens, offsets = self._vocabulary.tokens, self._vocabulary.token_offsets
        places = [m.start() for m in _KEY_BEGINS.finditer(self._vocabulary.token_bytes.data)]
        near = np.unique(np.searchsorted(offsets, places, "right") - 1)
        ids = [i for i in near.tolist() if self._vocabulary.is_text[i]]
        return np.array([i for i in ids if _TWO_KEYS.search(tokens[i])], np.int32)

    def root(self, name: Name) -> tuple[I32, I32] | None:
        """The row and the places where it is left, if they are known."""
        return self._roots.get(name)

    def keep(self, name: Name, row: I32, places: I32) -> None:
        """Remember a row; the oldest go when there are too many."""
        self._roots[name] = (row, places)
        self._bytes += row.nbytes + places.nbytes
        while self._bytes > _LIMIT_BYTES:
            _, (old_row, old_places) = self._roots.popitem(last=False)
            self._bytes -= old_row.nbytes + old_places.nbytes

    def length_row(self, place: int, left: int, least: int, words: int) -> U32:
        """Tokens with at most ``left`` characters that do not end before ``least``."""
        key = (place, left, least)
        row = self._lengths.get(key)
        if row is None:
            row = np.zeros(words, np.uint32)
            write_length_row(self.counts[place].tokens, left, least, row)
            self._lengths[key] = row
        return row


@functools.lru_cache(maxsize=8)
def shared_rows(vocabulary: Vocabulary) -> SharedRows:
    """The shared rows of a vocabulary."""
    return SharedRows(vocabulary)
