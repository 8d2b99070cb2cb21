"""The arena of a compiled grammar: stack cells, scratch for kernels, and the present rows.

All matchers of the grammar share it and change it. Its lock is taken to intern, to walk and to grow
a tree; looking up what is known takes none. What a kernel found missing (room, a state, a move, a
row) is made here, and the kernel called again.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ._arrays import I32, I64, U8, U32, AddressRecord, grown
from ._jit import machine_code
from .errors import BudgetError, MatcherError
from .kernels import layout
from .kernels.accept import accept_token, advance, next_bytes, read_tokens
from .kernels.cells import intern_state, join_configurations, rehash_cells
from .kernels.descent import locate_leaf
from .kernels.groups import SCRATCH
from .kernels.naive import naive_row
from .kernels.nodes import link_node
from .kernels.rows import fill_bitmask, fill_growing, join_rows, make_leaf
from .roots import Roots
from .rows import LEAST_BLOCK, Rows, keep_for_batches
from .shared_rows import shared_rows
from .tables import Tables

__all__ = ["Arena", "vacant_row_error"]

_NO_BYTES: U8 = np.zeros(0, np.uint8)
_NO_TOKENS: I32 = np.zeros(0, np.int32)
_SCRATCH_LIMIT = 1 << 22
_LARGE = 256  # states of an automaton that has much room from the start
_CELLS = {False: 1 << 9, True: 1 << 13}
_LOCAL_STATES = {False: 1 << 8, True: 1 << 11}
_CHANGES = 8  # a row is a list of changes up to one in as many words of it


class Arena:
    """What the matchers of one compiled grammar share and change.

    Parameters
    ----------
    tables : Tables
        Open tables belong to one arena and go with it.
    limit_bytes : int
        Bytes of rows behind which all are dropped before the next is made (at least a block's).

    Attributes
    ----------
    two_keyed : int32[n]
        Tokens that only their text decides: a key in them may equal an earlier one. No vocabulary
        of a known model has any.
    """

    __slots__ = (
        "__weakref__",
        "_fill_growing",
        "_roots",
        "_shared",
        "accept_token",
        "clears",
        "fill_bitmask",
        "limit_bytes",
        "locate_leaf",
        "lock",
        "record",
        "rows",
        "tables",
        "two_keyed",
    )

    def __init__(self, tables: Tables, limit_bytes: int) -> None:
        self.tables = tables
        self._shared = shared_rows(tables.vocabulary)
        self.two_keyed = self._shared.two_keyed if tables.is_open else _NO_TOKENS
        self.limit_bytes = max(LEAST_BLOCK * 4 * tables.words, limit_bytes)
        self.lock = tables.lock
        self.accept_token = machine_code(accept_token)
        self.fill_bitmask = machine_code(fill_bitmask)
        self._fill_growing = machine_code(fill_growing)
        self.locate_leaf = machine_code(locate_leaf)
        self.clears = 0
        self.record = AddressRecord(layout.A_SIZE)
        self._roots = Roots(tables, self.record, self._shared)
        words = self.record.words
        words[layout.A_COUNT] = layout.FIRST_CELL
        is_large = not tables.is_open and tables.n_states > _LARGE
        words[layout.A_CAPACITY] = _CELLS[is_large]
        words[layout.A_SCRATCH] = 256
        words[layout.A_TEXT] = layout.ANY_TEXT
        words[layout.A_N_LOCAL] = 1  # number 0 is dead
        n_local = 1 if tables.is_open else _LOCAL_STATES[is_large]
        sizes = (
            (layout.A_THREADS, layout.THREAD * 64),
            (layout.A_WORK, layout.WORK * 128),
            (layout.A_PENDING, 4 * 32),
            (layout.A_PREFIX, 64),
            (layout.A_MISSING, 2 * 32),
            (layout.A_SEARCH, SCRATCH),
            (layout.A_LOCAL, n_local << tables.shift),
            (layout.A_LOCAL_CONFIGURATION, n_local),
            (layout.A_STATE, 2 * (tables.longest + 2)),
            (layout.A_FRAME, 2 * (tables.longest + 2)),
            (layout.A_FRAMES, layout.FRAME * (tables.longest + 2)),
            (layout.A_CHANGES, tables.words // _CHANGES),
        )
        self.record.bind_zeros(sizes, np.int32)
        self.record.bind_zeros([(layout.A_LOCAL_LASTING, n_local)], np.int64)
        self._make_cells()
        n_nodes = 1024 if tables.is_open else 512
        n_cells = max(n_nodes, _CELLS[is_large])
        self.rows = Rows(tables, n_cells, n_nodes, self.limit_bytes)
        self._publish(self.rows)
        self.rows.add_block()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if hasattr(self, "rows") and not is_finalizing():
            self.rows.release(self.tables)
            self.tables.release()

    def _make_cells(self) -> None:
        """A cell buffer for the present capacity and scratch, with its hash table filled."""
        words = self.record.words
        capacity, scratch = int(words[layout.A_CAPACITY]), int(words[layout.A_SCRATCH])
        table = 1 << (2 * capacity - 1).bit_length()
        offset = layout.CELL * (capacity + scratch)
        cells = np.zeros(offset + table, np.int32)
        used = layout.CELL * int(words[layout.A_COUNT])
        if words[layout.A_CELLS]:
            cells[:used] = self.record.bound(layout.A_CELLS)[:used]
        cells[layout.CELL * layout.BOTTOM] = self.tables.final_state
        cells[layout.HASH_OFFSET] = offset
        cells[layout.HASH_MASK] = table - 1
        local_of = np.zeros(1 if self.tables.is_open else capacity, np.int32)
        if words[layout.A_LOCAL_OF]:
            known = self.record.bound(layout.A_LOCAL_OF)
            local_of[: known.size] = known
        self.record.bind(layout.A_LOCAL_OF, local_of)
        self.record.bind(layout.A_FORWARD, np.zeros(scratch, np.int32))
        self.record.bind(layout.A_CELLS, cells)
        rehash_cells(words)

    def configuration(self, state: int) -> int:
        """The configuration of a state with nothing below it. Takes no lock."""
        while True:
            cell = int(intern_state(self.record.words, state))
            if cell > 0:
                return cell
            self._make_room()

    def _make_room(self) -> None:
        """Double the buffer that a kernel found too small."""
        words = self.record.words
        needed = int(words[layout.A_NEEDED])
        if needed in (-layout.R_EVENTS, -layout.R_POOL):
            self.rows.make_room_for_events(-needed)
            return
        if needed < 0:
            self._enlarge_rows(needed == -layout.R_NODES)
            return
        if needed in (layout.A_COUNT, layout.A_SCRATCH):
            slot = layout.A_CAPACITY if needed == layout.A_COUNT else layout.A_SCRATCH
            if needed == layout.A_SCRATCH and words[slot] >= _SCRATCH_LIMIT:
                raise BudgetError("stack cells in one call", _SCRATCH_LIMIT, _AMBIGUOUS)
            words[slot] *= 2
            self._make_cells()
            return
        old = self.record.bound(needed)
        if old.size >= _SCRATCH_LIMIT:
            raise BudgetError("threads in one call", _SCRATCH_LIMIT, _AMBIGUOUS)
        self.record.bind(needed, grown(old, 2 * old.size))

    def try_advance(
        self, matcher: I64, configuration: int, data: U8, column: int = -1
    ) -> tuple[int, int]:
        """Step a configuration over ``data``, or over one pseudo-column. Takes no lock.

        Returns ACCEPTED and the new configuration, REFUSED or NEED_TEXT and the bytes read before.
        """
        while True:
            status = advance(matcher, self.rows.words, configuration, data, data.size, column)
            if status >= 0 or status == layout.NEED_TEXT:
                return status, int(self.record.words[layout.A_RESULT])
            self._resolve(status)

    def advance(
        self, matcher: I64, configuration: int, data: U8 = _NO_BYTES, column: int = -1
    ) -> tuple[bool, int]:
        """Step a configuration; whether it lives, and the new one. Takes no lock."""
        status, result = self.try_advance(matcher, configuration, data, column)
        return bool(status == layout.ACCEPTED), result

    @contextlib.contextmanager
    def exact_texts(self) -> Iterator[None]:
        """While it holds, steps that depend on a text ask for it."""
        words = self.record.words
        words[layout.A_TEXT] = layout.NO_TEXT
        try:
            yield
        finally:
            words[layout.A_TEXT] = layout.ANY_TEXT

    def advance_past(
        self, matcher: I64, configuration: int, byte: U8, symbol: int
    ) -> tuple[bool, int]:
        """Step over the byte behind a text that ``symbol`` stands for. Takes no lock."""
        words = self.record.words
        words[layout.A_TEXT] = symbol
        try:
            return self.advance(matcher, configuration, byte)
        finally:
            words[layout.A_TEXT] = layout.NO_TEXT

    def lives_anyhow(self, matcher: I64, configuration: int, data: U8) -> bool:
        """Whether ``data`` may come whatever the texts were that decide. Takes no lock."""
        words = self.record.words
        words[layout.A_TEXT] = layout.ANY_TEXT
        try:
            return self.advance(matcher, configuration, data)[0]
        finally:
            words[layout.A_TEXT] = layout.NO_TEXT

    def union(self, configuration: int, other: int) -> int:
        """The configuration that has the threads of both; 0 stands for none. Takes no lock."""
        while configuration:
            joined = int(join_configurations(self.record.words, configuration, other))
            if joined:
                return joined
            self._make_room()
        return other

    def doubtful_tokens(self, matcher: I64, rows: Rows, leaf: int) -> list[tuple[int, int]]:
        """Tokens that the text decides at a leaf, and how many bytes they have before that.

        Takes no lock.
        """
        known = rows.doubtful.get(leaf)
        if known is None:
            bits = np.unpackbits(rows.view(leaf).view(np.uint8), bitorder="little")
            tokens = self._shared.tokens_with(self.tables.item_end)
            tokens = tokens[bits[tokens] == 0]
            read = np.full(tokens.size, -1, np.int32)
            configuration = int(matcher[layout.M_CONFIGURATION])
            first = 0
            with self.exact_texts():
                while True:
                    status = read_tokens(
                        matcher, self.rows.words, configuration, tokens, first, read
                    )
                    if status >= 0:
                        break
                    first = int(self.record.words[layout.A_RESULT])
                    self._resolve(status)
            places = np.flatnonzero(read >= 0)
            known = list(zip(tokens[places].tolist(), read[places].tolist(), strict=True))
            rows.doubtful[leaf] = known
            if not known:
                rows.settle(leaf)
        return known

    def allowed_bytes(self, matcher: I64, configuration: int) -> npt.NDArray[np.bool_]:
        """Which bytes may come next, bool[256]. Takes no lock."""
        allowed = np.zeros(256, np.uint8)
        while True:
            status = next_bytes(matcher, self.rows.words, configuration, allowed)
            if status >= 0:
                return allowed.astype(np.bool_)
            self._resolve(status)

    def naive_row(self, matcher: I64, row: U32) -> None:
        """Write the row of the matcher's configuration, token by token. Takes no lock."""
        is_text = self.tables.vocabulary.is_text
        configuration = int(matcher[layout.M_CONFIGURATION])
        while True:
            status = naive_row(matcher, self.rows.words, configuration, is_text, row)
            if status >= 0:
                return
            self._resolve(status)

    def open_rules(self, configuration: int) -> list[str]:
        """Rules of the first thread's frames, outermost first."""
        cells = self.record.bound(layout.A_CELLS)
        names = []
        cell = configuration
        while cell:
            name = self.tables.rule_of(int(cells[layout.CELL * cell + layout.CELL_STATE]))
            if name:
                names.append(name)
            cell = int(cells[layout.CELL * cell + layout.CELL_PARENT])
        return names[::-1]

    def _expand(self) -> None:
        """Have the tables make the states and moves that a kernel missed."""
        words = self.record.words
        missing = self.record.bound(layout.A_MISSING)[: 2 * int(words[layout.A_N_MISSING])].tolist()
        for register, symbol in dict.fromkeys(zip(missing[::2], missing[1::2], strict=True)):
            if symbol < 0:
                self.tables.make_state(register)
            else:
                self.tables.registers.make_move(register, symbol)

    def _resolve(self, status: int) -> None:
        if status == layout.NEED_SPACE:
            self._make_room()
        elif status == layout.NEED_EXPANSION:
            self._expand()
        elif status == layout.OVER_BUDGET:
            raise BudgetError("item steps in one call", self.tables.step_budget, _AMBIGUOUS)
        else:
            raise AssertionError(f"kernel status {status}")

    @property
    def n_cells(self) -> int:
        """Interned stack cells."""
        return int(self.record.words[layout.A_COUNT])

    # --- rows ------------------------------------------------------------------------------------

    def fill(self, matcher: I64, bitmask: I32, index: int) -> int:
        """Write a row that is made if it is missing; as `fill_bitmask`, NEED_LOCK and BAD_INDEX.

        Where several threads are side by side, or more than the stack decides, it returns
        NEED_LOCK.
        """
        with self.lock:
            if self.rows.is_full:
                self._drop_rows()
            while True:
                status = self._fill_growing(matcher, self.rows.words, bitmask, index)
                if status >= 0 or status in {layout.NEED_LOCK, layout.BAD_INDEX}:
                    return status
                self._provide(status)

    def leaf_of(self, configuration: int) -> tuple[Rows, int]:
        """The leaf of a configuration, made if missing, and its generation of rows."""
        with self.lock:
            if configuration >= self.rows.sizes[0]:
                self._enlarge_rows()
            row_of = self.rows.record.bound(layout.R_ROW_OF)
            leaf = int(row_of[configuration]) - 1
            if leaf < 0:
                leaf = self._make_leaf(configuration)
                self.rows.record.bound(layout.R_ROW_OF)[configuration] = leaf + 1
            return self.rows, leaf

    def row_of_state(self, state: int) -> I32:
        """The row of a text that is in ``state`` of the root rule, with nothing below it."""
        with self.lock:
            configuration = self.configuration(state)
        rows, leaf = self.leaf_of(configuration)
        return rows.view(leaf)

    def _make_leaf(self, configuration: int) -> int:
        if self.rows.is_full:
            self._drop_rows()
        while True:
            cells = self.record.bound(layout.A_CELLS)
            leaves: list[int] = []
            cell = configuration
            while cell:
                leaves.append(self._thread_leaf(cell))
                cell = int(cells[layout.CELL * cell + layout.CELL_NEXT])
            if len(leaves) == 1:
                return leaves[0]
            rows = self.rows
            if rows.n_nodes >= rows.sizes[1]:
                self._enlarge_rows(more_nodes=True)
                continue
            rows.make_room()
            return int(
                join_rows(
                    self.tables.record.words,
                    self.record.words,
                    rows.words,
                    np.array(leaves, np.int32),
                    len(leaves),
                )
            )

    def _thread_leaf(self, cell: int) -> int:
        while True:
            words = self.rows.words
            leaf = int(make_leaf(self.tables.record.words, self.record.words, words, cell, -1, 0))
            if leaf >= 0:
                return leaf
            self._provide(leaf)

    def _provide(self, status: int) -> None:
        """Give a kernel that makes a row what it asked for."""
        if status == layout.NEED_ROOT:
            note = self.record.words[layout.A_NOTE : layout.A_SEARCH]
            self._grow(int(note[layout.NOTE_NODE]), int(note[layout.NOTE_OUTCOME]))
        elif status == layout.NEED_ROW:
            self.rows.add_block()
        else:
            self._resolve(status)

    def _grow(self, node: int, outcome: int) -> None:
        """Make the root of a state (node < 0) or the child of a node for an outcome."""
        rows = self.rows
        words = rows.words
        before = rows.n_nodes, int(words[layout.R_N_EVENTS])
        key = outcome if node >= 0 else outcome >> self.tables.shift
        if node < 0:
            child = self._roots.make(rows, outcome)
        elif node in rows.counting:
            state = rows.counting[node]
            body = self._roots.body(state)
            if rows.root(body) < 0:
                self._grow(-1, body)  # and is asked again for the child
                return
            child = self._roots.bounded(rows, state, body, outcome)
        else:
            child = self._roots.walk(rows, node, outcome)
        if child < 0:
            words[layout.R_N_NODES], words[layout.R_N_EVENTS] = before
            self._resolve(child)
            return
        link_node(words, node, key, child)

    def _enlarge_rows(self, more_nodes: bool = False) -> None:
        """Make room for all configurations there may be, and if need be for more tree nodes."""
        n_cells, n_nodes = self.rows.sizes
        n_cells = max(n_cells, int(self.record.words[layout.A_CAPACITY]))
        self._publish(self.rows.enlarged(n_cells, 2 * n_nodes if more_nodes else n_nodes))

    def _publish(self, rows: Rows) -> None:
        """Have readers begin with a new generation of rows; those under way keep the old one."""
        old, self.rows = self.rows, rows
        self.record.words[layout.A_ROWS] = rows.record.address
        keep_for_batches(old)

    def _drop_rows(self) -> None:
        """Begin anew without rows: between masks alone, of which one may need many."""
        self.clears += 1
        self._publish(Rows(self.tables, *self.rows.sizes, self.limit_bytes))

    @property
    def memory_size_bytes(self) -> int:
        """Bytes held by cells, scratch, rows and trees."""
        slots = (
            layout.A_CELLS,
            layout.A_THREADS,
            layout.A_WORK,
            layout.A_PENDING,
            layout.A_PREFIX,
            layout.A_FORWARD,
            layout.A_STATE,
            layout.A_FRAME,
            layout.A_FRAMES,
            layout.A_LOCAL,
            layout.A_LOCAL_CONFIGURATION,
            layout.A_LOCAL_LASTING,
            layout.A_LOCAL_OF,
        )
        return sum(self.record.bound(s).nbytes for s in slots) + self.rows.memory_size_bytes


_AMBIGUOUS = "the grammar is too ambiguous here; make its alternatives begin differently"


def vacant_row_error(place: str) -> MatcherError:
    """The error for a row without any bit."""
    return MatcherError(
        f"no token of the vocabulary can go on {place}: the grammar asks for bytes that no token "
        "begins with (see Vocabulary.missing_bytes)"
    )
