"""Between the values of this package and the kernels: arrays in, minimal arrays out.

Each function hands buffers to a kernel and hands over larger ones where it asks for room; past the
limits it gives up with `BudgetError`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from .._arrays import I32, U8
from ..errors import BudgetError
from ..kernels import minimise as _minimise
from ..kernels import product as _product
from ..kernels import strings as _strings
from ..kernels import subset as _subset

__all__ = [
    "MAX_CELLS",
    "MAX_EDGES",
    "MAX_STATES",
    "MAX_STEPS",
    "Arrays",
    "Ranges",
    "minimal",
    "moves_of",
    "side_by_side",
    "sorted_strings",
    "subsets",
    "utf8_moves",
]

#: Sorted, disjoint, inclusive ranges of bytes or code points.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

MAX_STATES = 100_000
MAX_CELLS = 10_000_000
MAX_EDGES = 4_000_000
MAX_STEPS = 60_000_000
MAX_NODES = 20_000_000

_ADVICE = "use smaller repetition counts, or fewer overlapping alternatives"
_FEWER_STRINGS = "use fewer or shorter strings"


class Arrays(NamedTuple):
    """An automaton, minimal and in order.

    Attributes
    ----------
    classes : uint8[256]
        Byte class of each byte.
    table : int32[n_states, n_columns]
        Next states by byte class, then by abstract symbol; state 0 is dead.
    start : int
        1, or 0 where nothing is accepted.
    labels : int32[n_states]
        0: not accepting.
    n_subset_states : int
        States before minimisation, without the dead one.
    """

    classes: U8
    table: I32
    start: int
    labels: I32
    n_subset_states: int


def _slots(n: int) -> int:
    """Length of a hash table that stays at most half full with ``n`` entries."""
    return 1 << (2 * n).bit_length()


def minimal(
    classes: U8, table: I32, n_states: int, n_columns: int, n_bytes: int, start: int, labels: I32
) -> Arrays:
    """The minimal automaton of a flat table; ``classes`` is written over."""
    n_moves = int(np.count_nonzero(table[: n_states * n_columns]))
    out_table = np.empty(n_states * n_columns, np.int32)
    out_labels = np.empty(n_states, np.int32)
    sizes = np.zeros(3, np.int64)
    first = _minimise.minimise(
        table,
        n_states,
        n_columns,
        n_bytes,
        start,
        labels,
        n_moves,
        classes,
        out_table,
        out_labels,
        np.empty(_slots(n_states), np.int32),
        np.empty(13 * n_states + 3 * n_moves + 3 * n_columns + 540, np.int32),
        sizes,
    )
    rows, columns, _ = sizes.tolist()
    kept = out_table[: rows * columns]
    kept = kept.copy() if rows < n_states else kept
    return Arrays(classes, kept.reshape(rows, columns), first, out_labels[:rows], n_states - 1)


def subsets(
    edges: I32,
    n_edges: int,
    n_symbols: int,
    nfa_labels: I32,
    max_states: int,
    max_cells: int,
    max_steps: int,
) -> Arrays:
    """The minimal automaton of flat edges (source, lowest, highest, target); the start is 0."""
    n_nfa = len(nfa_labels)
    work = np.empty(5 * n_nfa + 5 * n_edges + 2 * (257 + n_symbols) + 2, np.int32)
    classes = np.empty(256, np.uint8)
    sizes = np.zeros(3, np.int64)
    n_columns = min(256, 2 * n_edges + 1) + n_symbols
    room, members = min(2 * n_nfa + 16, max_states + 1), 16 * n_nfa + 1024
    while True:
        table = np.empty(min(room * n_columns, max_cells), np.int32)
        labels = np.empty(room, np.int32)
        status = _subset.determinise(
            edges,
            n_edges,
            n_nfa,
            n_symbols,
            0,
            nfa_labels,
            max_steps,
            classes,
            table,
            labels,
            np.empty(room + 1, np.int32),
            np.empty(members, np.int32),
            np.zeros(_slots(room), np.int32),
            work,
            sizes,
        )
        if status >= 0:
            break
        if status == _subset.GAVE_UP:
            raise BudgetError("automaton construction steps", max_steps, _ADVICE)
        if status == _subset.NEED_SETS:
            if members > MAX_CELLS:
                raise BudgetError("automaton state set members", MAX_CELLS, _ADVICE)
            members *= 4
        else:
            n_columns = int(sizes[1])
            room = _more_room(room, n_columns, max_states, max_cells)
    n_states, n_columns, n_bytes = sizes.tolist()
    return minimal(classes, table, n_states, n_columns, n_bytes, 1, labels)


def _more_room(room: int, n_columns: int, max_states: int, max_cells: int) -> int:
    """Room for four times as many states, within the limits."""
    if room > max_states:
        raise BudgetError("automaton states", max_states, _ADVICE)
    if room * n_columns >= max_cells:
        raise BudgetError("automaton table cells", max_cells, _ADVICE)
    return min(4 * room, max_states + 1)


def side_by_side(left: Arrays, right: Arrays, mode: int) -> tuple[Arrays, I32]:
    """Two automata over bytes run together, and the pairs of states, int32[n, 2], that meet.

    ``mode`` says how labels are combined (see ``kernels/product.py``).
    """
    classes = np.empty(256, np.uint8)
    sizes = np.zeros(3, np.int64)
    (left_states, left_columns), (right_states, right_columns) = left.table.shape, right.table.shape
    n_columns = min(256, left_columns * right_columns)
    room = min(2 * (left_states + right_states) + 16, MAX_STATES + 1)
    while True:
        table = np.empty(min(room * n_columns, MAX_CELLS), np.int32)
        labels = np.empty(room, np.int32)
        pairs = np.zeros(2 * room, np.int32)
        start = _product.product(
            left.classes,
            left.table.reshape(-1),
            left_columns,
            left.start,
            left.labels,
            right.classes,
            right.table.reshape(-1),
            right_columns,
            right.start,
            right.labels,
            mode,
            2,
            classes,
            table,
            labels,
            pairs,
            np.zeros(_slots(room), np.int32),
            np.zeros(left_columns * right_columns + 512, np.int32),
            sizes,
        )
        if start >= 0:
            break
        n_columns = int(sizes[1])
        room = _more_room(room, n_columns, MAX_STATES, MAX_CELLS)
    n_states, n_columns, _ = sizes.tolist()
    arrays = minimal(classes, table, n_states, n_columns, n_columns, start, labels)
    return arrays, pairs.reshape(-1, 2)[1:n_states]


def moves_of(classes: U8, table: I32) -> I32:
    """Live moves as int32[n, 4]: source, lowest and highest byte (or symbol), target."""
    n_states, n_columns = table.shape
    room = 8 * n_states * n_columns + 1024
    while True:
        edges = np.empty(room, np.int32)
        n = _subset.table_edges(classes, table.reshape(-1), n_states, n_columns, edges)
        if n >= 0:
            return edges[: 4 * n].reshape(-1, 4)
        room *= 4


def utf8_moves(ranges: Ranges) -> tuple[I32, int]:
    """Edges int32[n, 4] that read one character, from state 0 to state 1, and how many states."""
    edges = np.empty(256 * len(ranges), np.int32)
    sizes = np.zeros(2, np.int64)
    flat = np.array(ranges, np.int32).reshape(-1)
    _subset.utf8_edges(flat, len(ranges), edges, np.empty(64, np.int32), sizes)
    n_edges, n_states = sizes.tolist()
    return edges[: 4 * n_edges].reshape(-1, 4).copy(), n_states


def sorted_strings(items: list[bytes], marks: I32) -> Arrays:
    """The automaton of distinct strings in ascending order, and a label for each."""
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    n_nodes = int(lengths.sum()) + 2
    if n_nodes > MAX_NODES:
        raise BudgetError("bytes of strings", MAX_NODES, _FEWER_STRINGS)
    offsets = np.zeros(len(items) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    node_byte = np.empty(n_nodes, np.uint8)
    node_label, first_child, next_sibling, same_as, order = np.empty((5, n_nodes), np.int32)
    sizes = np.zeros(1, np.int64)
    _strings.merge_strings(
        np.frombuffer(bytearray(b"".join(items)) or bytearray(1), np.uint8),
        offsets,
        marks,
        len(items),
        node_byte,
        node_label,
        first_child,
        next_sibling,
        same_as,
        np.zeros(_slots(n_nodes), np.int32),
        order,
        np.empty(int(lengths.max()) + 2, np.int32),
        sizes,
    )
    n_states = int(sizes[0])
    classes = np.empty(256, np.uint8)
    labels = np.empty(n_states, np.int32)
    work = np.empty(1024, np.int32)
    table = np.empty(min(n_states * 64, MAX_CELLS), np.int32)
    while True:
        n_columns = _strings.write_strings(
            node_byte,
            node_label,
            first_child,
            next_sibling,
            same_as,
            order,
            n_states,
            classes,
            table,
            labels,
            work,
        )
        cells = n_states * n_columns
        if cells <= len(table):
            break
        if cells > MAX_CELLS:
            raise BudgetError("automaton table cells", MAX_CELLS, _FEWER_STRINGS)
        table = np.empty(cells, np.int32)
    kept = table[:cells].copy().reshape(n_states, n_columns)
    return Arrays(classes, kept, 1, labels, n_states - 1)
