"""One arena for many schemas: what one of them had made, the next one finds.

The schemas of a compiler that have the same text policy go into the same tables, so that strings,
numbers, white space and whatever else means the same in all of them is laid out once and its rows
are made once. An arena takes new schemas until it is filled so far; it lives as long as one of its
schemas does.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from typing import Any

from ._locks import new_lock
from .arena import Arena
from .tables import Tables
from .vocabulary import Vocabulary

__all__ = ["WORN", "SchemaArenas", "new_arena"]

#: How much of the room in tables may be used where a schema's first text begins.
WORN = 1 / 4
# Small enough that what a new arena takes was another's, whose pages are mapped, and in a cache.
_MOST_STATES = 1 << 12
_MOST_ROW_BYTES = 8 << 20
_MOST_SCHEMAS = 128  # each is looked at where a text begins
_MOST_POLICIES = 4


def new_arena(tables: Tables, limit_bytes: float) -> Arena:
    """An arena whose rows hold about so many bytes."""
    return Arena(tables, int(max(0, min(limit_bytes, sys.maxsize))))


class SchemaArenas:
    """The arenas that take new schemas, one for each text policy of late.

    Parameters
    ----------
    vocabulary : Vocabulary
    step_budget : int
    limit_bytes : float
        Bytes of rows and trees after which an arena drops them all.
    """

    def __init__(self, vocabulary: Vocabulary, step_budget: int, limit_bytes: float) -> None:
        self._vocabulary = vocabulary
        self._budget = step_budget
        self._limit = limit_bytes
        self._lock = new_lock()
        self._open: OrderedDict[Any, Arena] = OrderedDict()

    def take(self, policy: Any) -> Arena:
        """The arena for a schema of a policy (its ``key``) that is compiled now."""
        with self._lock:
            arena = self._open.get(policy)
            if arena is None or _is_full(arena):
                tables = Tables(None, self._vocabulary, self._budget)
                arena = self._open[policy] = new_arena(tables, self._limit)
            self._open.move_to_end(policy)
            while len(self._open) > _MOST_POLICIES:
                self._open.popitem(last=False)
        return arena

    def clear(self) -> None:
        """Have the next schema begin a new arena."""
        with self._lock:
            self._open.clear()


def _is_full(arena: Arena) -> bool:
    """Whether an arena should take no schema more."""
    return (
        len(arena.tables.formulas) > _MOST_SCHEMAS
        or arena.tables.n_written > _MOST_STATES
        or arena.tables.share_used > WORN
        or arena.clears > 0
        or arena.rows.used_bytes > _MOST_ROW_BYTES
    )
