"""Rows and the decision trees that end in them.

`Rows` never move or shrink: growing and clearing make a new generation, and whoever reads the old
one keeps it alive. Row blocks are never rewritten and never reused.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import numpy as np

from ._arrays import I32, AddressRecord, grown
from ._pool import ROWS, TABLES
from .kernels import layout
from .kernels.rows import copy_edges
from .tables import Tables

__all__ = ["Rows", "held_rows", "keep_for_batches"]

_UNSHARED = 3  # references to a block: the list of blocks, the loop, the count itself
_CHAINS = 1 << 12
_LARGEST_BLOCK = 64  # rows


def _edge_room(n_nodes: int) -> int:
    """Slots of a hash table of edges."""
    return 1 << (2 * n_nodes - 1).bit_length()


class Rows:
    """One generation of decision trees and rows.

    Parameters
    ----------
    tables : Tables
    n_cells : int
        Configurations that can be remembered.
    n_nodes : int
        Tree nodes that can be held.
    limit : int
        Rows after which all will be dropped.
    """

    __slots__ = (
        "adopted",
        "blocks",
        "counting",
        "doubtful",
        "foreseen",
        "limit",
        "record",
        "row_bytes",
        "sizes",
        "views",
        "words",
    )

    def __init__(self, tables: Tables, n_cells: int, n_nodes: int, limit: int) -> None:
        self.limit = limit
        self.sizes = (n_cells, n_nodes)
        self.row_bytes = 4 * tables.words
        self.blocks: list[I32] = []
        self.views: dict[int, I32] = {}  # rows handed out, by leaf
        self.adopted: list[I32] = []  # rows of other grammars, numbered -1, -2, ...
        self.counting: dict[int, int] = {}  # the state of each node that asks what is left
        self.doubtful: dict[int, list[tuple[int, int]]] = {}  # tokens that texts decide, by leaf
        #: What decides on each of those (`fastmask.foresight`), by configuration.
        self.foreseen: dict[int, list[tuple[bytes, ...] | None]] = {}
        self.record = AddressRecord(layout.R_SIZE)
        self.words = self.record.words
        self.record.bind(layout.R_ROOT, TABLES.take(tables.max_states, np.int32))
        # Readers take no lock, so the table stays; where it is full registers are asked for.
        n_chains = _CHAINS if tables.is_open else 1
        sizes = (
            (layout.R_ROW_OF, n_cells),
            (layout.R_EVENTS, layout.EVENT * 4 * n_nodes),
            (layout.R_CHAINS, layout.CHAIN * n_chains),
            (layout.R_POOL, 1 if tables.is_open else 4 * n_nodes),
        )
        self.record.bind_zeros(sizes, np.int32)
        wide = (
            (layout.R_NODES, layout.NODE * n_nodes),
            (layout.R_EDGES, 2 * _edge_room(n_nodes)),
        )
        self.record.bind_zeros(wide, np.int64)

    def enlarged(self, n_cells: int, n_nodes: int) -> Rows:
        """A new generation with the same contents and more room; it shares what does not grow."""
        rows: Rows = object.__new__(Rows)
        rows.limit, rows.row_bytes, rows.sizes = self.limit, self.row_bytes, (n_cells, n_nodes)
        rows.blocks, rows.views, rows.adopted = self.blocks, self.views, self.adopted
        rows.counting, rows.doubtful = self.counting, self.doubtful
        rows.foreseen = self.foreseen
        rows.record = AddressRecord(layout.R_SIZE)
        rows.words = rows.record.words
        rows.words[:] = self.words
        for slot in (layout.R_ROOT, layout.R_EVENTS, layout.R_POOL, layout.R_CHAINS):
            rows.record.bind(slot, self.record.bound(slot))
        rows.record.bind(layout.R_ROW_OF, grown(self.record.bound(layout.R_ROW_OF), n_cells))
        nodes, edges = self.record.bound(layout.R_NODES), self.record.bound(layout.R_EDGES)
        if n_nodes > self.sizes[1]:
            nodes = grown(nodes, layout.NODE * n_nodes)
            edges = np.zeros(2 * _edge_room(n_nodes), np.int64)
            copy_edges(self.record.bound(layout.R_EDGES), edges)
        rows.record.bind(layout.R_NODES, nodes)
        rows.record.bind(layout.R_EDGES, edges)
        return rows

    def make_room_for_events(self, slot: int) -> None:
        """Make room for more events, or places, of which who reads without a lock knows nothing."""
        events = self.record.bound(slot)
        self.record.bind(slot, grown(events, 4 * events.size))

    @property
    def n_rows(self) -> int:
        """Rows in use."""
        return int(self.words[layout.R_N_ROWS])

    def add_block(self) -> None:
        """Make room for more rows; what is left of the last block is none or will not be used."""
        # Small first, since many grammars need few rows.
        n_rows = self.n_rows
        size = min(_LARGEST_BLOCK, max(8, n_rows), max(8, self.limit - n_rows))
        block = ROWS.take(size * (self.row_bytes // 4), np.int32)
        self.blocks.append(block)
        self.words[layout.R_FREE] = size
        self.words[layout.R_FREE_ADDRESS] = block.__array_interface__["data"][0]

    def next_row(self) -> int:
        """Address of a free row, which stays free until `take`."""
        if not self.words[layout.R_FREE]:
            self.add_block()
        return int(self.words[layout.R_FREE_ADDRESS])

    def take(self) -> None:
        """The row given by `next_row` is in use now."""
        self.words[layout.R_FREE] -= 1
        self.words[layout.R_N_ROWS] += 1
        self.words[layout.R_FREE_ADDRESS] += self.row_bytes

    def view(self, leaf: int) -> I32:
        """The row of a leaf, int32[words], read-only."""
        if leaf in self.views:
            return self.views[leaf]
        number = int(self.record.bound(layout.R_NODES)[layout.NODE * leaf + layout.NODE_ROW])
        row = self.row_of_node(leaf) if number >= 0 else self.adopted[-1 - number]
        row.flags.writeable = False
        if not self.flags(leaf) & layout.TEXTUAL:
            self.views[leaf] = row
        return row

    def node_events(self, node: int) -> tuple[int, int]:
        """The first event of a tree node, and how many there are."""
        at = layout.NODE * node
        nodes = self.record.bound(layout.R_NODES)
        return int(nodes[at + layout.NODE_FIRST_EVENT]), int(nodes[at + layout.NODE_EVENTS])

    def row_of_node(self, node: int) -> I32:
        """The row of a tree node as it is being made, int32[words]."""
        number = int(self.record.bound(layout.R_NODES)[layout.NODE * node + layout.NODE_ROW])
        n_words = self.row_bytes // 4
        start = number * n_words
        for block in self.blocks:
            if start < block.size:
                return block[start : start + n_words]
            start -= block.size
        raise AssertionError("a node's row lies in a block")

    def release(self, tables: Tables) -> None:
        """Give back the blocks of which no row was handed out, for good, and the table of roots."""
        self.views.clear()
        if tables.is_open:
            TABLES.give_back(self.record.bound(layout.R_ROOT), slice(0, tables.n_states))
        for block in self.blocks:
            if sys.getrefcount(block) <= _UNSHARED:
                ROWS.give_back(block)

    def settle(self, leaf: int) -> None:
        """Say that no text decides more tokens of a leaf's row."""
        nodes = self.record.bound(layout.R_NODES)
        nodes[layout.NODE * leaf + layout.NODE_FLAGS] &= ~layout.TEXTUAL

    def flags(self, leaf: int) -> int:
        """COMPLETE, FULL, VACANT and TEXTUAL of a leaf's row."""
        return int(self.record.bound(layout.R_NODES)[layout.NODE * leaf + layout.NODE_FLAGS])

    @property
    def memory_size_bytes(self) -> int:
        """Bytes held by rows and trees."""
        arrays = (
            self.record.bound(slot)
            for slot in (
                layout.R_ROW_OF,
                layout.R_ROOT,
                layout.R_NODES,
                layout.R_EDGES,
                layout.R_EVENTS,
                layout.R_POOL,
            )
        )
        return sum(a.nbytes for a in arrays) + sum(b.nbytes for b in self.blocks)


#: What ended while batches were under way, by the batch.
_BATCHES: dict[int, list[Rows]] = {}


@contextlib.contextmanager
def held_rows() -> Iterator[None]:
    """While it holds, kernels may read whatever rows were present when they looked."""
    held: list[Rows] = []
    _BATCHES[id(held)] = held
    try:
        yield
    finally:
        del _BATCHES[id(held)]


def keep_for_batches(rows: Rows) -> None:
    """Keep a generation of rows that ends for the batches under way, which may be reading it."""
    for held in list(_BATCHES.values()):
        held.append(rows)
