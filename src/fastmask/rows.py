"""Rows and the decision trees that end in them.

How a row is kept says `fastmask.kernels.writing`. `Rows` never move or shrink: growing and clearing
make a new generation, and whoever reads the old one keeps it alive. What was written is never
rewritten, and no block is used again while somebody may read it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from ._arrays import I32, AddressRecord, grown
from ._pool import ROWS, TABLES
from .kernels import layout
from .kernels.nodes import copy_edges
from .kernels.rows import copy_row
from .tables import Tables

__all__ = ["LEAST_BLOCK", "Rows", "held_rows", "keep_for_batches"]

LEAST_BLOCK = 8  # whole rows
_CHAINS = 1 << 12
_LARGEST_BLOCK = 64
_EDGE = 4  # of a hash table that is half empty, as far as it is filled


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
        Bytes after which all will be dropped.
    """

    __slots__ = (
        "adopted",
        "blocks",
        "counting",
        "doubtful",
        "foreseen",
        "is_full",
        "limit",
        "record",
        "row_bytes",
        "shift",
        "sizes",
        "views",
        "words",
    )

    def __init__(self, tables: Tables, n_cells: int, n_nodes: int, limit: int) -> None:
        self.limit = limit
        self.is_full = False
        self.sizes = (n_cells, n_nodes)
        self.row_bytes = 4 * tables.words
        self.shift = tables.shift
        self.blocks: list[I32] = []
        self.views: dict[int, I32] = {}  # rows handed out, by leaf
        self.adopted: list[I32] = []  # rows of other grammars
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
        rows.limit = self.limit
        rows.row_bytes, rows.shift = self.row_bytes, self.shift
        rows.sizes = (n_cells, n_nodes)
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
        rows._look_at_limit()
        return rows

    def make_room_for_events(self, slot: int) -> None:
        """Make room for more events, or places, of which who reads without a lock knows nothing."""
        events = self.record.bound(slot)
        self.record.bind(slot, grown(events, 4 * events.size))
        self._look_at_limit()

    @property
    def n_nodes(self) -> int:
        """Tree nodes there are."""
        return int(self.words[layout.R_N_NODES])

    @property
    def used_bytes(self) -> int:
        """Bytes of rows and trees in use; rows handed out are left out."""
        words = self.words
        narrow = words[layout.R_N_WORDS] + layout.EVENT * words[layout.R_N_EVENTS]
        wide = layout.NODE * words[layout.R_N_NODES] + _EDGE * words[layout.R_N_EDGES]
        return 4 * int(narrow) + 8 * int(wide)

    def _look_at_limit(self) -> None:
        self.is_full = self.used_bytes >= self.limit

    def add_block(self) -> None:
        """Make room for more rows; what is left of the last block will not be used."""
        # Small first, since many grammars need few rows.
        self._look_at_limit()
        used = self.used_bytes
        rows = min(used, self.limit - used) // self.row_bytes
        size = min(_LARGEST_BLOCK, max(LEAST_BLOCK, rows))
        block = ROWS.take(size * (self.row_bytes // 4), np.int32)
        self.blocks.append(block)
        self.words[layout.R_FREE] = block.size
        self.words[layout.R_FREE_ADDRESS] = block.__array_interface__["data"][0]

    def make_room(self) -> None:
        """Make room for what a kernel may write before it asks again."""
        if self.words[layout.R_FREE] < 2 * (self.row_bytes // 4):
            self.add_block()

    def view(self, leaf: int) -> I32:
        """The row of a leaf, int32[words], read-only."""
        if leaf in self.views:
            return self.views[leaf]
        row = self.whole_row(leaf)
        row.flags.writeable = False
        if not self.flags(leaf) & layout.TEXTUAL:
            if self.used_bytes + self.row_bytes * len(self.views) >= self.limit:
                self.views.clear()  # who holds one keeps it
            self.views[leaf] = row
        return row

    def root(self, state: int) -> int:
        """The tree node that is the root of a state (premultiplied), or -1."""
        return int(self.record.bound(layout.R_ROOT)[state >> self.shift]) - 1

    def node_events(self, node: int) -> tuple[int, int]:
        """The first event of a tree node, and how many there are."""
        at = layout.NODE * node
        nodes = self.record.bound(layout.R_NODES)
        return int(nodes[at + layout.NODE_FIRST_EVENT]), int(nodes[at + layout.NODE_EVENTS])

    def whole_row(self, node: int) -> I32:
        """A copy of the row of a tree node, int32[words]."""
        row = np.empty(self.row_bytes // 4, np.int32)
        copy_row(self.words, node, row)
        return row

    def release(self, tables: Tables) -> None:
        """Give back the blocks, for good, and the table of roots."""
        if tables.is_open:
            TABLES.give_back(self.record.bound(layout.R_ROOT), slice(0, tables.n_states))
        for block in self.blocks:
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
        rows = (*self.blocks, *self.views.values())
        return sum(a.nbytes for a in arrays) + sum(row.nbytes for row in rows)


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
