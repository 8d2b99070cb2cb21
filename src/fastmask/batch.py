"""Many matchers at once: one kernel call a batch, without the GIL, on any thread.

A kernel reads each matcher through the address of its record. What is not known yet is done one by
one behind it, under the locks of the grammars concerned.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import I64
from ._types import expect
from .bitmask import bitmask_rows
from .errors import BitmaskError
from .kernels import layout
from .kernels.accept import accept_batch
from .kernels.rows import fill_batch
from .matcher import GrammarMatcher
from .rows import held_rows

__all__ = ["accept_tokens", "fill_next_token_bitmasks"]

_MATCHERS = "give a list of GrammarMatcher"
_ADDRESS = operator.attrgetter("_address")


def fill_next_token_bitmasks(
    matchers: Sequence[GrammarMatcher], bitmask: Any, indices: Iterable[int] | None = None
) -> npt.NDArray[np.bool_]:
    """Write the masks of many matchers, each into a row of one bitmask.

    Parameters
    ----------
    matchers : sequence of GrammarMatcher
        Each in use by this call alone; their grammars may differ, not their vocabulary's size.
    bitmask : int32[rows, words]
    indices : iterable of int, optional
        The row of each matcher; by default row ``i`` for matcher ``i``.

    Returns
    -------
    bool[n]
        Whether the mask has to be applied, as `GrammarMatcher.fill_next_token_bitmask` says.

    Raises
    ------
    BitmaskError
        A bitmask of another dtype, shape or layout, no such row, or the wrong number of indices.
    TypeError
        An index that is no integer.
    """
    rows = bitmask_rows(bitmask, writable=True)
    addresses = _addresses(matchers)
    n = len(addresses)
    places = np.arange(n) if indices is None else _integers(indices)
    if len(places) != n:
        raise BitmaskError(f"{len(places)} indices for {n} matchers")
    statuses = np.empty(n, np.int64)
    with held_rows():
        fill_batch(addresses, rows, places, statuses)
    for i in np.flatnonzero(statuses < 0).tolist():
        statuses[i] = matchers[i]._fill(rows, int(places[i]))
    applied: npt.NDArray[np.bool_] = statuses != 0
    return applied


def accept_tokens(
    matchers: Sequence[GrammarMatcher], token_ids: npt.ArrayLike
) -> npt.NDArray[np.bool_]:
    """Advance many matchers by one token each.

    Parameters
    ----------
    matchers : sequence of GrammarMatcher
        Each in use by this call alone.
    token_ids : int[n]

    Returns
    -------
    bool[n]
        Which tokens were accepted; a matcher that refuses its token does not change.

    Raises
    ------
    ValueError
        Another number of tokens than of matchers.
    TypeError
        A token id that is no integer.
    """
    addresses = _addresses(matchers)
    tokens = _integers(token_ids)
    n = len(addresses)
    if tokens.size != n:
        raise ValueError(f"{tokens.size} tokens for {n} matchers")
    statuses = np.empty(n, np.int64)
    accept_batch(addresses, tokens, statuses)
    for i, status in enumerate(statuses.tolist()):
        if status == layout.NEED_LOCK:
            statuses[i] = matchers[i]._accept_slowly(int(tokens[i]))
        elif status and matchers[i]._terminate_early:
            matchers[i]._terminate_if_completed()
    accepted: npt.NDArray[np.bool_] = statuses != 0
    return accepted


def _addresses(matchers: Sequence[GrammarMatcher]) -> I64:
    """Where the records of matchers lie, int64[n]."""
    try:
        addresses = np.fromiter(map(_ADDRESS, matchers), np.int64, len(matchers))
    except (AttributeError, TypeError):
        expect(matchers, Sequence, "matchers", _MATCHERS)
        for matcher in matchers:
            expect(matcher, GrammarMatcher, "matchers", _MATCHERS)
        raise
    for i in np.flatnonzero(addresses == 0).tolist():
        addresses[i] = matchers[i]._find_address()
    return addresses


def _integers(values: Any) -> I64:
    """Ids or indices as int64[n]; what no int64 holds becomes -1, which nothing is numbered."""
    array = np.asarray(values if hasattr(values, "__len__") else list(values)).ravel()
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    exact = map(operator.index, array.tolist())  # says which type is no integer
    return np.array([i if abs(i) < 1 << 62 else -1 for i in exact], np.int64)
