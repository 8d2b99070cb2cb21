"""Which tokens need no look at the stack: the statistics of Dong et al. (2024), by state.

The tree of a state begins with a row of the tokens that it lets through whatever lies below its
frame, and with the places at which a token leaves the frame. Tokens at and below these, if the row
lacks them, depend on the stack; all others are refused whatever it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arena import Arena
from .kernels import layout
from .rows import Rows
from .tables import Tables

__all__ = ["ContextCounts", "context_counts"]


#: Nodes without a row of their own.
_ASKING = (layout.LEFT, layout.MODEL)


class ContextCounts(NamedTuple):
    """Numbers of tokens, for one state.

    Attributes
    ----------
    state : int
        Its number, by which it is told from others of its rule.
    rule : str
    accepted, refused : int
        Tokens that are so whatever lies below.
    dependent : int
        Tokens that it depends for.
    """

    state: int
    rule: str
    accepted: int
    refused: int
    dependent: int


def context_counts(arena: Arena) -> list[ContextCounts]:
    """The counts of every state whose tree has begun, ascending.

    Left out are states of which a mask first asks for a number: bounded strings, keys of objects.
    """
    tables = arena.tables
    size = tables.vocabulary.size
    found = []
    with arena.lock:
        rows = arena.rows
        roots = rows.record.bound(layout.R_ROOT)
        for index in np.flatnonzero(roots).tolist():
            root = int(roots[index]) - 1
            at = layout.NODE * root
            if rows.record.bound(layout.R_NODES)[at + layout.NODE_KIND] in _ASKING:
                continue
            bits = np.unpackbits(rows.view(root).view(np.uint8), bitorder="little")[:size] != 0
            leaving = _leaving(tables, rows, root) & ~bits
            accepted, dependent = int(bits.sum()), int(leaving.sum())
            state = index << tables.shift
            refused = size - accepted - dependent
            found.append(ContextCounts(index, tables.rule_of(state), accepted, refused, dependent))
    return found


def _leaving(tables: Tables, rows: Rows, root: int) -> npt.NDArray[np.bool_]:
    """Tokens at and below the places of a tree node's events, bool[vocabulary size]."""
    trie = tables.vocabulary.trie
    first, count = rows.node_events(root)
    events = rows.record.bound(layout.R_EVENTS).reshape(-1, layout.EVENT)[first : first + count]
    pool = rows.record.bound(layout.R_POOL)
    found = np.zeros(tables.vocabulary.size, np.bool_)
    for place, kind, _, n, _ in events.tolist():
        places = pool[place : place + n].tolist() if kind == layout.BUNDLE else [place]
        for node in places:
            if node >= 0:
                found[trie.order[trie.first[node] : trie.first[trie.skip[node]]]] = True
            else:
                found[tables.column_token_ids(-node - 1)] = True
    return found
