"""A long list of strings as an automaton that is made while texts go through it.

A state is a range of the sorted list and how many bytes of it were read. Rows are found without
states, from the list itself (``kernels.lists``), so that only the way of a text is ever laid out.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..tables import Tables

__all__ = ["LongList"]


class LongList:
    """The states of a list of texts, none of which begins another.

    Parameters
    ----------
    tables : Tables
    texts : list of bytes
    end : int
        The state behind a text.
    """

    def __init__(self, tables: Tables, texts: list[bytes], end: int) -> None:
        self._tables = tables
        self._texts = sorted(set(texts))
        self._end = end
        self._data = np.frombuffer(bytearray(b"".join(self._texts)), np.uint8)
        self._offsets = np.cumsum([0, *map(len, self._texts)], dtype=np.int32)
        self.start = self._state(0, len(self._texts), 0)

    def _state(self, low: int, high: int, depth: int) -> int:
        state = self._tables.new_states(1)
        self._tables.defer(state, lambda s: self._write(s, low, high, depth))
        self._tables.list_texts(state, self._data, self._offsets, low, high, depth)
        return state

    def _write(self, state: int, low: int, high: int, depth: int) -> None:
        texts = self._texts
        row = self._tables.blank_row()
        prefix = texts[low][:depth]
        while low < high:
            byte = texts[low][depth]
            after = high
            if byte < 0xFF:
                after = bisect_left(texts, prefix + bytes((byte + 1,)), low, high)
            is_end = len(texts[low]) == depth + 1
            row[byte] = self._end if is_end else self._state(low, after, depth + 1)
            low = after
        self._tables.row(state)[:] = row
