"""Arrays that are used again: their pages are mapped already.

A new page costs one to several microseconds, a whole row of a mask has four of them, and the tables
of a schema touch hundreds. So what a compiled grammar leaves behind serves the next one.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ROWS", "TABLES", "Clearing", "Pool"]

_LARGE_BYTES = 1 << 22
_MOST = 48  # arrays kept of each kind
_MOST_CLEARED = 1 << 24  # elements: to clear more costs as much as new pages
_CLEARED_AT_ONCE = 1 << 15  # elements


def _zeros(size: int, dtype: Any) -> npt.NDArray[Any]:
    """New zeros; of large arrays the pages that are touched take memory, and no more.

    For large arrays NumPy asks the system for large pages, and where tables are written here and
    there each of those costs half a millisecond to clear.
    """
    n_bytes = size * np.dtype(dtype).itemsize
    if n_bytes < _LARGE_BYTES:
        return np.zeros(size, dtype)
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if os.name == "posix" else {}
    return np.frombuffer(mmap.mmap(-1, n_bytes, **private), dtype)


class Pool:
    """Flat arrays by size and dtype, zero but for what their last user said."""

    def __init__(self) -> None:
        self._free: dict[tuple[int, str], list[tuple[npt.NDArray[Any], list[slice]]]] = {}

    def take(self, size: int, dtype: Any) -> npt.NDArray[Any]:
        """An array; new ones are zero."""
        array, used = self.take_used(size, dtype)
        for part in used:
            array[part] = 0
        return array

    def take_used(self, size: int, dtype: Any) -> tuple[npt.NDArray[Any], list[slice]]:
        """An array, and what of it the caller has to clear before use, ascending."""
        kept = self._free.get((size, np.dtype(dtype).str), [])
        try:
            return kept.pop()
        except IndexError:
            return _zeros(size, dtype), []

    def give_back(self, array: npt.NDArray[Any], *used: slice) -> None:
        """Let an array of `take` be used again; nobody may read or write it any more.

        Parameters
        ----------
        array : ndarray
        *used : slice
            Elements that the next user wants cleared, ascending.
        """
        kept = self._free.setdefault((array.size, array.dtype.str), [])
        if len(kept) < _MOST and sum(part.stop - part.start for part in used) <= _MOST_CLEARED:
            kept.append((array, [*used]))


class Clearing:
    """An array of `Pool.take_used` that is cleared from the front, as far as it comes into use.

    Parameters
    ----------
    array : ndarray
    used : list of slice
        What is not clear of it, ascending.
    """

    def __init__(self, array: npt.NDArray[Any], used: list[slice]) -> None:
        self._array = array
        self._ahead = used
        self._behind: list[slice] = []
        self._end = 0

    def clear(self, end: int) -> None:
        """Clear elements below ``end`` that nobody wrote, and some more."""
        if end > self._end:
            for part in self._cut(end + _CLEARED_AT_ONCE):
                self._array[part] = 0

    def skip(self, end: int) -> None:
        """Say that every element below ``end`` that is not clear was written."""
        if end > self._end:
            self._cut(end)

    def leave(self, end: int) -> None:
        """Leave elements below ``end`` as they are."""
        self._behind += self._cut(end)

    def unclear(self) -> list[slice]:
        """What nobody wrote since and is not clear."""
        return [*self._behind, *self._ahead]

    def _cut(self, end: int) -> list[slice]:
        """What is not clear below ``end``; others know no more of it."""
        cut = []
        while self._ahead and self._ahead[0].start < end:
            part = self._ahead.pop(0)
            if part.stop > end:
                self._ahead.insert(0, slice(end, part.stop))
            cut.append(slice(part.start, min(part.stop, end)))
        self._end = max(end, self._end)
        return cut


#: Arrays of tables, all zero when they are taken.
TABLES = Pool()
#: Blocks of rows, which whoever takes one writes before reading.
ROWS = Pool()
