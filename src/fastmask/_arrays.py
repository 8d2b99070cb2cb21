"""Arrays on their way to kernels: one dtype, one layout, and records of their addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["AddressRecord", "I32", "I64", "U8", "U32", "contiguous", "grown"]

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


def contiguous(array: Any, dtype: Any) -> npt.NDArray[Any]:
    """``array`` as a writable C-contiguous array of ``dtype``, copied only if it is not one.

    Numba compiles a kernel again for a read-only or strided array, so every array that goes to a
    kernel passes through here.
    """
    result = np.ascontiguousarray(array, dtype)
    return result if result.flags.writeable else result.copy()


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """A copy of a flat array with room for ``size`` elements, zero beyond the old ones."""
    result = np.zeros(size, array.dtype)
    result[: array.size] = array
    return result


class AddressRecord:
    """A flat int64 record that kernels read: plain words, and (address, length) pairs of arrays.

    Attributes
    ----------
    words : int64[n]
        What the kernel gets. Slots ``s`` and ``s + 1`` of a bound array hold its address and its
        length in elements (see ``_jit.view_*``).
    address : int
        Where ``words`` lies.
    """

    __slots__ = ("_bound", "_replaced", "address", "words")

    def __init__(self, size: int) -> None:
        self.words: I64 = np.zeros(size, np.int64)
        self.address: int = self.words.__array_interface__["data"][0]
        self._bound: dict[int, npt.NDArray[Any]] = {}
        self._replaced: list[npt.NDArray[Any]] = []  # a kernel may be reading them still

    def bind(self, slot: int, array: npt.NDArray[Any]) -> None:
        """Put the address and length of a C-contiguous ``array`` at ``slot``; keep it alive."""
        if not array.flags.c_contiguous:
            raise ValueError("only C-contiguous arrays have one address for all their elements")
        if slot in self._bound:
            self._replaced.append(self._bound[slot])
        self._bound[slot] = array
        self.words[slot] = array.__array_interface__["data"][0]
        self.words[slot + 1] = array.size

    def bind_zeros(self, sizes: Sequence[tuple[int, int]], dtype: Any) -> None:
        """Bind new arrays of zeros, given as (slot, size), that lie one behind the other."""
        buffer = np.zeros(sum(size for _, size in sizes), dtype)
        address = buffer.__array_interface__["data"][0]
        start = 0
        for slot, size in sizes:
            self._bound[slot] = buffer[start : start + size]
            self.words[slot] = address + start * buffer.itemsize
            self.words[slot + 1] = size
            start += size

    def adopt(self, other: AddressRecord) -> None:
        """Bind all that is bound in another record of the same shape."""
        slots = np.array(list(other._bound), np.intp)
        self.words[slots] = other.words[slots]
        self.words[slots + 1] = other.words[slots + 1]
        self._bound.update(other._bound)

    def bound(self, slot: int) -> npt.NDArray[Any]:
        """The array bound at ``slot``."""
        return self._bound[slot]
