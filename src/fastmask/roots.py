"""Nodes of decision trees, made the cheapest way: most roots need no walk of their own.

A walk over the token trie, which every state has for the last resort, costs what the state lets
through. Two kinds of states do with less:

- one of an automaton that other grammars have too takes the row they share (`shared_rows`),
- one that counts the characters of a string asks how many are left, and the child for an answer is
  the row of the string without bounds and of the tokens that are short enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._arrays import AddressRecord
from .kernels import layout
from .kernels.lengths import adopt_root, bounded_node, count_characters
from .kernels.nodes import make_question
from .kernels.rows import make_leaf
from .rows import Rows
from .shared_rows import CharacterCounts, SharedRows
from .tables import Tables

if TYPE_CHECKING:
    from .embedding import Counted

__all__ = ["Roots"]


class Roots:
    """What makes the tree nodes of one arena, in its present rows.

    All methods need the lock, and give a tree node that is not linked yet, or a status.

    Parameters
    ----------
    tables : Tables
    arena : AddressRecord
        The arena's record.
    shared : SharedRows
    """

    __slots__ = ("_arena", "_shared", "_tables")

    def __init__(self, tables: Tables, arena: AddressRecord, shared: SharedRows) -> None:
        self._tables = tables
        self._arena = arena
        self._shared = shared

    def make(self, rows: Rows, state: int) -> int:
        """Make the root of a state."""
        tables = self._tables
        counted = tables.counted(state)
        if counted is not None:
            code = counted.program
            node = int(make_question(self._arena.words, rows.words, layout.LEFT, code))
            if node >= 0:
                rows.counting[node] = state
            return node
        name = tables.shared_name(state)
        if name is None:
            return self.walk(rows, -1, state)
        known = self._shared.root(name)
        if known is None:
            node = self.walk(rows, -1, state)
            if node >= 0:
                self._share(rows, name, node)
            return node
        row, places = known
        end = -tables.end_column - 1
        places = np.where(places < 0, end, places).astype(np.int32)
        rows.make_room()
        address = row.__array_interface__["data"][0]
        words = tables.record.words, self._arena.words, rows.words
        node = int(adopt_root(*words, places, address))
        if node >= 0:
            rows.adopted.append(row)
        return node

    def walk(self, rows: Rows, node: int, outcome: int) -> int:
        """Walk the root of state ``outcome`` (node < 0) or the child of a node for it."""
        rows.make_room()
        tables, arena = self._tables.record.words, self._arena.words
        return int(make_leaf(tables, arena, rows.words, layout.NIL, node, outcome))

    def _share(self, rows: Rows, name: tuple[str, int], node: int) -> None:
        """Keep a root for other grammars, if it asks for nothing but what lies below its frame."""
        first, count = rows.node_events(node)
        events = rows.record.bound(layout.R_EVENTS).reshape(-1, layout.EVENT)
        own = events[first : first + count]
        end = -self._tables.end_column - 1
        places = own[:, 0]
        if (own[:, 1:] == (layout.POP, 1, 0, 0)).all() and ((places >= 0) | (places == end)).all():
            row = rows.whole_row(node)
            row.flags.writeable = False
            self._shared.keep(name, row, np.where(places < 0, -1, places).astype(np.int32))

    # --- strings whose characters are counted ----------------------------------------------------

    def _counted(self, state: int) -> Counted:
        counted = self._tables.counted(state)
        assert counted is not None
        return counted

    def body(self, state: int) -> int:
        """The state of the string without bounds that a counting state is one of."""
        counted = self._counted(state)
        body = state - counted.first + counted.plain
        self._tables.make_state(body)
        return body

    def bounded(self, rows: Rows, state: int, body: int, outcome: int) -> int:
        """Make the child of a counting state for what is left; ``body`` has its root."""
        tables, counted = self._tables, self._counted(state)
        root = rows.root(body)
        # The low half is signed, and short of the spare characters.
        left = ((outcome & 0xFFFF) ^ 0x8000) - 0x8000 + counted.spare
        least = outcome >> 16
        if outcome & 0xFFFF == tables.longest and least == 0:
            return root
        place = int(counted.places[(state - counted.first) >> tables.shift])
        if place not in self._shared.counts:
            self._shared.counts[place] = self._count(counted, place)
        rows.make_room()
        return int(
            bounded_node(
                tables.record.words,
                self._arena.words,
                rows.words,
                root,
                left,
                least,
                self._shared.length_row(place, left, least, tables.words),
                *self._shared.counts[place],
                body,
                counted.plain,
                counted.missing,
                counted.spare,
            )
        )

    def _count(self, counted: Counted, place: int) -> CharacterCounts:
        """The characters of all tokens that are read from a place inside a string."""
        tables, texts = self._tables, counted.texts
        counts = CharacterCounts(
            np.zeros(tables.vocabulary.size, np.int16),
            np.zeros(tables.vocabulary.trie.n_nodes, np.int16),
        )
        count_characters(
            tables.record.words,
            self._arena.words,
            texts.classes,
            texts.table,
            place,
            texts.start,
            counted.behind,
            *counts,
        )
        return counts
