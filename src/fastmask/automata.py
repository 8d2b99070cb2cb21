"""Deterministic automata over bytes as values, and the builder that makes them.

A `Dfa` is always minimal and numbered breadth first by ascending byte, so two automata accept the
same language exactly when their arrays are equal: equality, hashing and the digest are those of the
language. Every state but the dead one (0) can still reach acceptance, which is what lets a mask
promise that each allowed prefix can be finished.

`Nfa` is a flat list of edges that grows by appending. Pieces are added behind a state and return
the state where they end, so a sequence needs no epsilon moves, and counted repetition copies edges
as arrays. Subset construction, minimisation and products run in kernels (``kernels/subset.py``,
``minimise.py``, ``product.py``, ``strings.py``): a pattern of twenty characters costs some 30 us to
build and determinise, an operation on automata of a hundred states 50 to 200 us.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ._arrays import I32, I64, U8, contiguous
from .errors import BudgetError, FormatError
from .kernels import minimise as _minimise
from .kernels import paths as _paths
from .kernels import product as _product
from .kernels import strings as _strings
from .kernels import subset as _subset
from .kernels.subset import EPSILON, FIRST_SYMBOL

__all__ = [
    "FIRST_SYMBOL",
    "MAX_CELLS",
    "MAX_EDGES",
    "MAX_STATES",
    "Dfa",
    "Nfa",
    "Ranges",
    "any_text",
    "product",
]

#: Sorted, disjoint, inclusive ranges of bytes or code points.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

Array = TypeVar("Array", bound=np.ndarray[Any, Any])

MAX_STATES = 100_000
MAX_CELLS = 20_000_000
MAX_EDGES = 4_000_000
MAX_STEPS = 60_000_000
MAX_NODES = 20_000_000
LAST_CODE_POINT = 0x10FFFF

_ADVICE = "use smaller repetition counts, or fewer overlapping alternatives"


class Dfa:
    """A regular language over bytes: an immutable, minimal deterministic automaton.

    Parameters
    ----------
    classes : uint8[256]
        Byte class of each byte.
    table : int32[n_states, n_columns]
        Next states; row 0 is the dead state (all 0). Columns past the byte classes are abstract
        symbols (``FIRST_SYMBOL`` and up), for automata of grammar rules.
    start : int
        First state.
    labels : int32[n_states]
        0: not accepting. Other values tell kinds of acceptance apart.

    Notes
    -----
    The arrays given may be any automaton; what is kept is the minimal one. `n_subset_states` is the
    number of states before minimisation, the dead one not counted.
    """

    __slots__ = ("_classes", "_digest", "_labels", "_table", "n_subset_states", "start")

    start: int
    n_subset_states: int
    _classes: U8
    _table: I32
    _labels: I32
    _digest: str | None

    def __new__(cls, classes: Any, table: Any, start: int, labels: Any) -> Dfa:
        rows = contiguous(table, np.int32)
        columns = contiguous(classes, np.uint8)
        if rows.ndim != 2 or columns.shape != (256,) or rows.shape[0] == 0:
            raise ValueError("a Dfa needs classes (256,) and a table with a row for state 0")
        marks = contiguous(labels, np.int32)
        n_states, n_columns = rows.shape
        n_bytes = int(columns.max()) + 1
        ids_are_wrong = rows.size and (rows.min() < 0 or rows.max() >= n_states)
        if n_bytes > n_columns or marks.shape != (n_states,) or ids_are_wrong or rows[0].any():
            raise ValueError("a Dfa's table does not fit its classes, labels or states")
        if not 0 <= start < n_states or marks[0] != 0:
            raise ValueError("a Dfa's start must be one of its states, state 0 not accepting")
        flat = rows.reshape(-1)
        return _minimal(columns.copy(), flat, n_states, n_columns, n_bytes, start, marks)

    # What it is made of.

    @property
    def classes(self) -> U8:
        """uint8[256]: byte class of each byte, numbered in the order of first bytes."""
        return _read_only(self._classes)

    @property
    def table(self) -> I32:
        """int32[n_states, n_columns]: next states; 0 is dead."""
        return _read_only(self._table)

    @property
    def labels(self) -> I32:
        """int32[n_states]: 0, or the kind of acceptance."""
        return _read_only(self._labels)

    @property
    def accepting(self) -> npt.NDArray[np.bool_]:
        """bool[n_states]: whether a text may end there."""
        return np.not_equal(self._labels, 0)

    @property
    def n_states(self) -> int:
        """States, the dead one included."""
        return len(self._table)

    @property
    def n_classes(self) -> int:
        """Byte classes: the first columns of the table."""
        return int(self._classes.max()) + 1

    @property
    def n_symbols(self) -> int:
        """Abstract symbols: the columns past the byte classes."""
        return int(self._table.shape[1]) - self.n_classes

    def digest(self) -> str:
        """A name for the language (hexadecimal): equal exactly for equal automata."""
        if self._digest is None:
            self._digest = hashlib.blake2b(self.to_bytes(), digest_size=16).hexdigest()
        return self._digest

    def to_bytes(self) -> bytes:
        """The automaton as bytes, equal exactly for equal automata."""
        sizes = np.array([*self._table.shape, self.start], "<i4")
        parts = (sizes, self._labels, self._table, self._classes)
        return b"".join(
            part.astype(part.dtype.newbyteorder("<"), copy=False).tobytes() for part in parts
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Dfa:
        """The automaton out of `to_bytes`.

        Raises
        ------
        FormatError
            The bytes are no automaton.
        """
        sizes = np.frombuffer(data[:12], "<i4") if len(data) >= 12 else np.zeros(3, np.int32)
        n_states, n_columns, start = sizes.tolist()
        n_words = n_states * (n_columns + 1)
        if min(n_states, n_columns) < 1 or len(data) != 12 + 4 * n_words + 256:
            raise FormatError("these bytes are no automaton")
        words = np.frombuffer(data, "<i4", n_words, 12).astype(np.int32)
        try:
            return cls(
                np.frombuffer(data, np.uint8, 256, 12 + 4 * n_words),
                words[n_states:].reshape(n_states, n_columns),
                start,
                words[:n_states],
            )
        except ValueError as error:
            raise FormatError(f"these bytes are no automaton ({error})") from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dfa):
            return NotImplemented
        return (
            self._table.shape == other._table.shape
            and bool((self._classes == other._classes).all())
            and bool((self._labels == other._labels).all())
            and bool((self._table == other._table).all())
        )

    def __hash__(self) -> int:
        return hash(self.digest())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Dfa.from_bytes, (self.to_bytes(),))

    def __repr__(self) -> str:
        n_accepting = int(np.count_nonzero(self._labels))
        return f"<Dfa: {self.n_states - 1} states, {n_accepting} accepting>"

    # Reading texts.

    def run(self, data: bytes, state: int | None = None) -> int:
        """The state after reading ``data`` from ``state`` (the start, if not given); 0 is dead."""
        current = self.start if state is None else state
        if len(data) < 24:
            classes, table = self._classes, self._table
            for byte in data:
                current = int(table[current, classes[byte]])
                if current == 0:
                    break
            return current
        return int(
            _paths.run_bytes(
                self._classes,
                self._table.reshape(-1),
                self._table.shape[1],
                current,
                np.frombuffer(bytearray(data), np.uint8),
            )
        )

    def accepts(self, data: bytes) -> bool:
        """Whether ``data`` is in the language."""
        return bool(self._labels[self.run(data)] != 0)

    # Questions about the language.

    @property
    def is_empty(self) -> bool:
        """Whether no text is accepted."""
        return self.start == 0

    @property
    def is_finite(self) -> bool:
        """Whether finitely many texts are accepted."""
        return self._topological_order() is not None

    def count(self) -> int | None:
        """Number of accepted texts; None for infinitely many."""
        order = self._topological_order()
        if order is None:
            return None
        width = self._byte_counts().tolist()
        counts = [0] * self.n_states
        for state in reversed(order.tolist()):
            total = int(self._labels[state] != 0)
            for column, target in enumerate(self._table[state].tolist()):
                if target:
                    total += width[column] * counts[target]
            counts[state] = total
        return counts[self.start]

    def size_up_to(self, limit: int) -> int:
        """Number of accepted texts, or ``limit`` where there are at least so many."""
        order = self._topological_order()
        if order is None:
            return limit
        counts = np.zeros(self.n_states, np.int64)
        capped = min(limit, 1 << 31)
        _paths.count_paths(
            self._table.reshape(-1),
            self._table.shape[1],
            self._byte_counts(),
            self._labels,
            order,
            capped,
            counts,
        )
        size = int(counts[self.start])
        if size < capped or capped == limit:
            return size
        return min(limit, self.count() or 0)

    def shortest(self) -> bytes | None:
        """The shortest accepted text, the first by bytes among those; None if there is none."""
        self._bytes_only()
        if self.start == 0:
            return None
        # States are numbered breadth first, so the first move into a state (by row, then column) is
        # the last byte of the least shortest text that reaches it.
        state = int(np.argmax(self._labels != 0))
        targets, first_moves = np.unique(self._table.reshape(-1), return_index=True)
        into = dict(zip(targets.tolist(), first_moves.tolist(), strict=True))
        n_columns = self._table.shape[1]
        _, first_byte = np.unique(self._classes, return_index=True)
        text = bytearray()
        while state != self.start:
            state, column = divmod(into[state], n_columns)
            text.append(int(first_byte[column]))
        text.reverse()
        return bytes(text)

    def strings(self, limit: int) -> Iterator[bytes]:
        """Accepted texts of a finite language by ascending bytes, at most ``limit`` of them."""
        self._bytes_only()
        if not self.is_finite:
            raise ValueError("the language is infinite, so its texts cannot be listed")
        moves = [self._moves(state) for state in range(self.n_states)] if self.start else []
        text = bytearray()
        pending: list[tuple[int, int, int]] = [(self.start, -1, 0)] if self.start else []
        while pending and limit > 0:
            state, byte, depth = pending.pop()
            if byte >= 0:
                del text[depth - 1 :]
                text.append(byte)
            if self._labels[state] != 0:
                limit -= 1
                yield bytes(text)
            for byte, target in reversed(moves[state]):
                pending.append((target, byte, depth + 1))

    def contains(self, other: Dfa) -> bool:
        """Whether every text of ``other`` is accepted."""
        return other.difference(self).is_empty

    def byte_ranges(self, state: int) -> list[tuple[int, int, int]]:
        """(lowest byte, highest byte, target) of the live moves of a state, ascending."""
        row = self._table[state][self._classes]
        cuts = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), 256]
        return [
            (low, high - 1, int(row[low])) for low, high in itertools.pairwise(cuts) if row[low]
        ]

    def char_ranges_by_target(self, state: int) -> list[tuple[int, Ranges]]:
        """Moves of a state at the beginning of a character, by whole characters.

        Parameters
        ----------
        state : int
            A state between two characters.

        Returns
        -------
        list of (target, ranges)
            Targets in the order of their first code points.
        """
        self._bytes_only()
        found: dict[int, list[tuple[int, int]]] = {}

        def add(low: int, high: int, target: int) -> None:
            ranges = found.setdefault(target, [])
            if ranges and ranges[-1][1] == low - 1:
                low = ranges.pop()[0]
            ranges.append((low, high))

        known: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for low, high, target in self.byte_ranges(state):
            if low < 0x80:
                add(low, min(high, 0x7F), target)
            for first, last, n_more in _LEAD_BYTES:
                for lead in range(max(low, first), min(high, last) + 1):
                    base = (lead & (0x3F >> n_more)) << (6 * n_more)
                    for a, b, to in self._spans(target, n_more, known):
                        add(base + a, base + b, to)
        return sorted(
            ((target, tuple(ranges)) for target, ranges in found.items()), key=lambda item: item[1]
        )

    # Operations. Each returns a new minimal automaton.

    def union(self, other: Dfa) -> Dfa:
        """Texts of either; where both accept, the label of ``self``."""
        return _combine(self, other, _product.OR)

    def intersection(self, other: Dfa) -> Dfa:
        """Texts of both, with the labels of ``self``."""
        return _combine(self, other, _product.AND)

    def difference(self, other: Dfa) -> Dfa:
        """Texts of ``self`` that are not texts of ``other``."""
        return _combine(self, other, _product.AND_NOT)

    def symmetric_difference(self, other: Dfa) -> Dfa:
        """Texts of one of the two."""
        return _combine(self, other, _product.XOR)

    def complement(self) -> Dfa:
        """All texts (sequences of characters as UTF-8) that are not accepted."""
        return any_text().difference(self)

    __or__ = union
    __and__ = intersection
    __sub__ = difference
    __xor__ = symmetric_difference

    def concatenation(self, other: Dfa) -> Dfa:
        """A text of ``self``, then a text of ``other``."""
        nfa = Nfa()
        nfa.accept(nfa.automaton(nfa.automaton(0, self), other))
        return nfa.determinise()

    def repeated(self, minimum: int = 0, maximum: int | None = None) -> Dfa:
        """``minimum`` to ``maximum`` texts in a row (None: any number more)."""
        nfa = Nfa()
        body = nfa.begin()
        end = nfa.automaton(body[0], self)
        nfa.accept(nfa.repeat(0, body, end, minimum, maximum))
        return nfa.determinise()

    def reversed(self) -> Dfa:
        """The byte strings of the language read backwards."""
        self._bytes_only()
        edges = _edges(self)
        nfa = Nfa()
        nfa.add_states(self.n_states)
        nfa.extend(edges[:, [3, 1, 2, 0]] + np.array([1, 0, 0, 1], np.int32))
        for state in np.flatnonzero(self._labels).tolist():
            nfa.epsilon(0, state + 1)
        nfa.accept(self.start + 1)
        return nfa.determinise()

    def derivative(self, prefix: bytes) -> Dfa:
        """What may follow ``prefix``."""
        return self.from_state(self.run(prefix))

    def from_state(self, state: int) -> Dfa:
        """The language that is left in a state."""
        n_states, n_columns = self._table.shape
        return _minimal(
            self._classes.copy(),
            self._table.reshape(-1),
            n_states,
            n_columns,
            self.n_classes,
            state,
            self._labels,
        )

    def left_quotient(self, prefixes: Dfa) -> Dfa:
        """What may follow some text of ``prefixes``."""
        self._bytes_only()
        nfa = Nfa()
        nfa.add_states(self.n_states)
        nfa.extend(_edges(self) + np.array([1, 0, 0, 1], np.int32))
        for state in np.flatnonzero(self._labels).tolist():
            nfa.accept(state + 1, int(self._labels[state]))
        for state in _left_states(self, prefixes):
            nfa.epsilon(0, state + 1)
        return nfa.determinise()

    def right_quotient(self, suffixes: Dfa) -> Dfa:
        """What some text of ``suffixes`` may complete to a text of the language."""
        return self.reversed().left_quotient(suffixes.reversed()).reversed()

    def relabelled(self, mapping: Any) -> Dfa:
        """With label ``mapping[label]`` in place of each label; ``mapping[0]`` must be 0."""
        labels = np.asarray(mapping, np.int32)[self._labels]
        return Dfa(self._classes, self._table, self.start, labels)

    # Other ways to make one.

    @classmethod
    def nothing(cls) -> Dfa:
        """The empty language."""
        return Nfa().determinise()

    @classmethod
    def literal(cls, data: bytes) -> Dfa:
        """The language of one text."""
        return cls.from_strings([data])

    @classmethod
    def from_strings(cls, strings: Iterable[bytes], labels: Sequence[int] | None = None) -> Dfa:
        """The language of a list of strings, in time linear in their bytes.

        Parameters
        ----------
        strings : iterable of bytes
            Repeated ones count once (the label of the first).
        labels : sequence of int, optional
            A positive label for each string; 1 if not given.
        """
        if labels is None:
            items = sorted(set(strings))
            marks = np.ones(len(items), np.int32)
        else:
            chosen: dict[bytes, int] = {}
            for string, label in zip(strings, labels, strict=True):
                chosen.setdefault(string, label)
            items = sorted(chosen)
            marks = np.array([chosen[item] for item in items], np.int32)
            if items and int(marks.min()) <= 0:
                raise ValueError("labels must be positive")
        if not items:
            return cls.nothing()
        return _from_sorted(items, marks)

    # Pieces of the above.

    def _bytes_only(self) -> None:
        if self.n_symbols:
            raise ValueError("this operation is for automata over bytes, without abstract symbols")

    def _marked(self) -> Dfa:
        """The same language with 1 for every label."""
        if int(self._labels.max()) <= 1:
            return self
        return Dfa(self._classes, self._table, self.start, self._labels != 0)

    def _byte_counts(self) -> I64:
        """Bytes in each class (an abstract symbol counts as one)."""
        counts = np.bincount(self._classes, minlength=self._table.shape[1]).astype(np.int64)
        counts[self.n_classes :] = 1
        return counts

    def _topological_order(self) -> I32 | None:
        """All live states, each before its targets; None where there is a cycle."""
        n_states = self.n_states
        order = np.empty(n_states, np.int32)
        n = _paths.topological_order(
            self._table.reshape(-1),
            n_states,
            self._table.shape[1],
            self.start,
            order,
            np.zeros(n_states, np.int32),
        )
        return order[:n] if n == n_states - 1 else None

    def _moves(self, state: int) -> list[tuple[int, int]]:
        """(byte, target) of the live moves of a state, ascending."""
        return [
            (byte, target)
            for low, high, target in self.byte_ranges(state)
            for byte in range(low, high + 1)
        ]

    def _spans(
        self, state: int, n_more: int, known: dict[tuple[int, int], list[tuple[int, int, int]]]
    ) -> list[tuple[int, int, int]]:
        """What ``n_more`` continuation bytes lead to: (first, last, target) of their payloads."""
        if n_more == 0:
            return [(0, 0, state)]
        key = (state, n_more)
        if key not in known:
            spans: list[tuple[int, int, int]] = []
            for low, high, target in self.byte_ranges(state):
                for byte in range(max(low, 0x80), min(high, 0xBF) + 1):
                    base = (byte - 0x80) << (6 * (n_more - 1))
                    for a, b, to in self._spans(target, n_more - 1, known):
                        if spans and spans[-1][1] == base + a - 1 and spans[-1][2] == to:
                            spans[-1] = (spans[-1][0], base + b, to)
                        else:
                            spans.append((base + a, base + b, to))
            known[key] = spans
        return known[key]


# First and last lead byte in UTF-8, and how many continuation bytes follow.
_LEAD_BYTES = ((0xC2, 0xDF, 1), (0xE0, 0xEF, 2), (0xF0, 0xF4, 3))


class Nfa:
    """A nondeterministic automaton under construction; state 0 is the start.

    Each piece is added behind a state ``source`` and returns the state where it ends. Edges may be
    added to that end, but nothing may lead *into* a state that a piece returned, except from the
    pieces themselves: where several ends meet, use `join`, which makes a fresh state.
    """

    __slots__ = ("_block", "_labels", "_n_block", "_tail", "n_states", "n_symbols")

    def __init__(self) -> None:
        self.n_states = 1
        self.n_symbols = 0
        self._tail: list[int] = []  # newest edges, four integers each
        self._block: I32 = _NO_EDGES  # older ones
        self._n_block = 0
        self._labels: list[tuple[int, int]] = []

    @property
    def n_edges(self) -> int:
        """Edges so far, epsilon moves included."""
        return self._n_block + len(self._tail) // 4

    # Single states and edges.

    def state(self) -> int:
        """A new state."""
        self.n_states += 1
        return self.n_states - 1

    def add_states(self, n: int) -> int:
        """``n`` new states; returns the first of them."""
        self.n_states += n
        return self.n_states - n

    def edge(self, source: int, low: int, high: int, target: int) -> None:
        """A move on the bytes ``low`` to ``high``."""
        self._tail += (source, low, high, target)

    def epsilon(self, source: int, target: int) -> None:
        """A move that reads nothing."""
        self._tail += (source, EPSILON, EPSILON, target)

    def accept(self, state: int, label: int = 1) -> None:
        """Let texts end in ``state``; labels of states that fall together are combined by "or"."""
        self._labels.append((state, label))

    def extend(self, edges: I32) -> None:
        """Add edges (source, lowest, highest, target) as an array int32[n, 4]."""
        self._flush(len(edges))
        self._block[self._n_block : self._n_block + len(edges)] = edges
        self._n_block += len(edges)

    # Pieces.

    def literal(self, source: int, data: bytes) -> int:
        """These bytes."""
        state = self.n_states
        for byte in data:
            self._tail += (source, byte, byte, state)
            source = state
            state += 1
        self.n_states = state
        return source

    def byte_set(self, source: int, ranges: Ranges, target: int | None = None) -> int:
        """One byte out of ranges, into ``target`` or a new state."""
        end = self.state() if target is None else target
        for low, high in ranges:
            self._tail += (source, low, high, end)
        return end

    def char_set(self, source: int, ranges: Ranges, target: int | None = None) -> int:
        """One character out of sorted, disjoint ranges of code points (never a surrogate), into
        ``target`` or a new state."""
        if not ranges or ranges[-1][1] < 0x80:
            return self.byte_set(source, ranges, target)
        edges, n_states = _character_edges(ranges)
        end = self.state() if target is None else target
        base = self.add_states(n_states - 2) - 2  # the piece's own states 0 and 1 are its ends
        if len(edges) <= 32:
            for first, low, high, then in edges.tolist():
                self._tail += (
                    base + first if first > 1 else source,
                    low,
                    high,
                    base + then if then > 1 else end,
                )
        else:
            moved = edges + np.array([base, 0, 0, base], np.int32)
            moved[edges[:, 0] == 0, 0] = source
            moved[edges[:, 3] == 1, 3] = end
            self.extend(moved)
        return end

    def symbol(self, source: int, symbol: int) -> int:
        """One abstract symbol (``FIRST_SYMBOL`` or above)."""
        target = self.state()
        self._tail += (source, symbol, symbol, target)
        self.n_symbols = max(self.n_symbols, symbol - FIRST_SYMBOL + 1)
        return target

    def automaton(self, source: int, dfa: Dfa) -> int:
        """A text of ``dfa``."""
        first = self.add_states(dfa.n_states)
        end = self.state()
        edges = _edges(dfa)
        self.extend(edges + np.array([first, 0, 0, first], np.int32))
        self.n_symbols = max(self.n_symbols, dfa.n_symbols)
        self.epsilon(source, first + dfa.start)
        for state in np.flatnonzero(dfa._labels).tolist():
            self.epsilon(first + state, end)
        return end

    def join(self, ends: Iterable[int]) -> int:
        """A fresh state behind all of ``ends``."""
        target = self.state()
        for end in ends:
            self._tail += (end, EPSILON, EPSILON, target)
        return target

    def begin(self) -> tuple[int, int]:
        """Open the body of a repetition; its first element is the state to build behind."""
        mark = self.n_edges
        return self.state(), mark

    def repeat(
        self, source: int, body: tuple[int, int], end: int, minimum: int, maximum: int | None
    ) -> int:
        """Repeat what was built since `begin`, from ``minimum`` to ``maximum`` times.

        Parameters
        ----------
        source : int
            Where the repetition stands.
        body : tuple
            What `begin` returned.
        end : int
            Where the body ends.
        minimum, maximum : int, int or None
            Counts; None is no upper bound.
        """
        start, mark = body
        if maximum == 0:
            return source
        size = self.n_states - start
        copies = max(minimum, 1) if maximum is None else maximum
        self._copy(mark, size, copies - 1)
        last = start + (copies - 1) * size
        self.epsilon(source, start)
        if maximum is None:
            self._chain(start, end, size, copies)
            self.epsilon(end + last - start, last)
            return start if minimum == 0 else end + last - start
        if minimum == maximum:
            self._chain(start, end, size, copies)
            return end + last - start
        self._chain(start, end, size, copies)
        final = self.state()
        skips = range(start + minimum * size, last + 1, size)
        self._many_epsilons(np.arange(skips.start, skips.stop, size), final)
        self.epsilon(end + last - start, final)
        return final

    def determinise(
        self,
        *,
        max_states: int = MAX_STATES,
        max_cells: int = MAX_CELLS,
        max_steps: int = MAX_STEPS,
    ) -> Dfa:
        """The minimal deterministic automaton.

        Raises
        ------
        BudgetError
            Past the limits of states, table cells or closure steps.
        """
        n_edges = self.n_edges
        if self._n_block:
            self._flush(0)
            edges = self._block[: self._n_block].reshape(-1)
        else:
            edges = np.array(self._tail, np.int32)
        n_nfa, n_symbols = self.n_states, self.n_symbols
        nfa_labels = np.zeros(n_nfa, np.int32)
        for state, label in self._labels:
            nfa_labels[state] |= label
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
                np.zeros(1 << (2 * room).bit_length(), np.int32),
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
                if room > max_states:
                    raise BudgetError("automaton states", max_states, _ADVICE)
                if room * n_columns >= max_cells:
                    raise BudgetError("automaton table cells", max_cells, _ADVICE)
                room = min(4 * room, max_states + 1)
        n_states, n_columns, n_bytes = sizes.tolist()
        return _minimal(classes, table, n_states, n_columns, n_bytes, 1, labels)

    # Growing.

    def _flush(self, n_more: int) -> None:
        """Move the newest edges into the block and make room for ``n_more`` behind them."""
        n_tail = len(self._tail) // 4
        needed = self._n_block + n_tail + n_more
        if needed > MAX_EDGES:
            raise BudgetError("automaton edges", MAX_EDGES, _ADVICE)
        if needed > len(self._block):
            block = np.empty((max(2 * needed, 256), 4), np.int32)
            block[: self._n_block] = self._block[: self._n_block]
            self._block = block
        if n_tail:
            tail = np.array(self._tail, np.int32).reshape(-1, 4)
            self._block[self._n_block : self._n_block + n_tail] = tail
            self._n_block += n_tail
            self._tail = []

    def _copy(self, mark: int, size: int, copies: int) -> None:
        """Append copies of the edges since ``mark``, states moved by ``size`` each time."""
        if copies <= 0:
            return
        n_body = self.n_edges - mark
        self.n_states += copies * size
        if mark >= self._n_block and copies * n_body <= 24:
            body = self._tail[4 * (mark - self._n_block) :]
            for shift in range(size, (copies + 1) * size, size):
                for i in range(0, len(body), 4):
                    self._tail += (body[i] + shift, body[i + 1], body[i + 2], body[i + 3] + shift)
            return
        self._flush(copies * n_body)
        moves = self._block[mark : mark + n_body]
        shifts = np.zeros((copies, 1, 4), np.int32)
        shifts[:, 0, 0] = shifts[:, 0, 3] = np.arange(1, copies + 1) * size
        end = self._n_block + copies * n_body
        self._block[self._n_block : end] = (moves + shifts).reshape(-1, 4)
        self._n_block = end

    def _chain(self, start: int, end: int, size: int, copies: int) -> None:
        """Epsilon moves from the end of each copy to the start of the next."""
        if copies <= 24:
            for shift in range(0, (copies - 1) * size, size):
                self._tail += (end + shift, EPSILON, EPSILON, start + shift + size)
            return
        edges = np.full((copies - 1, 4), EPSILON, np.int32)
        shifts = np.arange(copies - 1) * size
        edges[:, 0] = end + shifts
        edges[:, 3] = start + shifts + size
        self.extend(edges)

    def _many_epsilons(self, sources: Any, target: int) -> None:
        if len(sources) <= 24:
            for source in sources.tolist():
                self._tail += (source, EPSILON, EPSILON, target)
            return
        edges = np.full((len(sources), 4), EPSILON, np.int32)
        edges[:, 0] = sources
        edges[:, 3] = target
        self.extend(edges)


_NO_EDGES: I32 = np.empty((0, 4), np.int32)


@functools.cache
def any_text() -> Dfa:
    """All sequences of characters, as UTF-8."""
    nfa = Nfa()
    body = nfa.begin()
    end = nfa.char_set(body[0], ((0, 0xD7FF), (0xE000, LAST_CODE_POINT)))
    nfa.accept(nfa.repeat(0, body, end, 0, None))
    return nfa.determinise()


def product(automata: Sequence[Dfa]) -> tuple[Dfa, list[int]]:
    """All automata side by side: which of them accept a text.

    Parameters
    ----------
    automata : sequence of Dfa
        Over bytes; their own labels are not told apart.

    Returns
    -------
    dfa : Dfa
        Accepts what any of them accepts; its labels are numbers of sets.
    sets : list of int
        ``sets[label]`` has bit i set where ``automata[i]`` accepts; ``sets[0]`` is 0.
    """
    if not automata:
        return Dfa.nothing(), [0]
    dfa = automata[0]._marked()
    sets = [0, 1]
    for i, other in enumerate(automata[1:], 1):
        dfa = _combine(dfa, other._marked(), _product.PAIR)  # label: 2 * left + right
        present, numbers = np.unique(dfa._labels, return_inverse=True)
        sets = [sets[code >> 1] | (code & 1) << i for code in present.tolist()]
        dfa = _raw(dfa._classes, dfa._table, dfa.start, numbers.astype(np.int32), 0)
    return dfa, sets


# Kernel calls.


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _raw(classes: U8, table: I32, start: int, labels: I32, n_subset_states: int) -> Dfa:
    """A `Dfa` of arrays that are minimal and in order already."""
    dfa = object.__new__(Dfa)
    dfa._classes = classes
    dfa._table = table
    dfa._labels = labels
    dfa._digest = None
    dfa.start = start
    dfa.n_subset_states = n_subset_states or len(table) - 1
    return dfa


def _minimal(
    classes: U8, table: I32, n_states: int, n_columns: int, n_bytes: int, start: int, labels: I32
) -> Dfa:
    """The minimal automaton of flat arrays; ``classes`` is written over."""
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
        np.empty(11 * n_states + 10 * n_moves + 3 * n_columns + 532, np.int32),
        sizes,
    )
    rows, columns, _ = sizes.tolist()
    kept = out_table[: rows * columns]
    kept = kept.copy() if rows < n_states else kept
    return _raw(classes, kept.reshape(rows, columns), first, out_labels[:rows], n_states - 1)


def _combine(left: Dfa, right: Dfa, mode: int) -> Dfa:
    _, _, dfa = _run_product(left, right, mode)
    return dfa


def _left_states(left: Dfa, right: Dfa) -> list[int]:
    """States of ``left`` that some text of ``right`` leads to."""
    pairs, n_states, _ = _run_product(left, right, _product.AND)
    ends = right._labels[pairs[1:n_states, 1]] != 0
    return sorted(set(pairs[1:n_states, 0][ends].tolist()))


def _run_product(left: Dfa, right: Dfa, mode: int) -> tuple[I32, int, Dfa]:
    """Pairs of states, how many, and the product itself."""
    left._bytes_only()
    right._bytes_only()
    classes = np.empty(256, np.uint8)
    sizes = np.zeros(3, np.int64)
    left_columns, right_columns = left._table.shape[1], right._table.shape[1]
    n_columns = min(256, left_columns * right_columns)
    room = min(2 * (left.n_states + right.n_states) + 16, MAX_STATES + 1)
    while True:
        table = np.empty(min(room * n_columns, MAX_CELLS), np.int32)
        labels = np.empty(room, np.int32)
        pairs = np.zeros(2 * room, np.int32)
        start = _product.product(
            left._classes,
            left._table.reshape(-1),
            left_columns,
            left.start,
            left._labels,
            right._classes,
            right._table.reshape(-1),
            right_columns,
            right.start,
            right._labels,
            mode,
            2,
            classes,
            table,
            labels,
            pairs,
            np.zeros(1 << (2 * room).bit_length(), np.int32),
            np.zeros(left_columns * right_columns + 512, np.int32),
            sizes,
        )
        if start >= 0:
            break
        n_columns = int(sizes[1])
        if room > MAX_STATES:
            raise BudgetError("automaton states", MAX_STATES, _ADVICE)
        if room * n_columns >= MAX_CELLS:
            raise BudgetError("automaton table cells", MAX_CELLS, _ADVICE)
        room = min(4 * room, MAX_STATES + 1)
    n_states, n_columns, _ = sizes.tolist()
    dfa = _minimal(classes, table, n_states, n_columns, n_columns, start, labels)
    return pairs.reshape(-1, 2), n_states, dfa


def _edges(dfa: Dfa) -> I32:
    """Moves as (source, lowest, highest, target), int32[n, 4]."""
    n_states, n_columns = dfa._table.shape
    room = 8 * n_states * n_columns + 1024
    while True:
        edges = np.empty(room, np.int32)
        n = _subset.table_edges(dfa._classes, dfa._table.reshape(-1), n_states, n_columns, edges)
        if n >= 0:
            return edges[: 4 * n].reshape(-1, 4)
        room *= 4


@functools.lru_cache(maxsize=1024)
def _character_edges(ranges: Ranges) -> tuple[I32, int]:
    """Edges that read one character, source 0 and target 1, and the number of states."""
    n = len(ranges)
    edges = np.empty(256 * n, np.int32)
    sizes = np.zeros(2, np.int64)
    flat = np.array(ranges, np.int32).reshape(-1)
    _subset.utf8_edges(flat, n, edges, np.empty(64, np.int32), sizes)
    n_edges, n_states = sizes.tolist()
    kept = edges[: 4 * n_edges].reshape(-1, 4).copy()
    if n_edges <= _WORTH_MINIMISING:
        return kept, n_states
    nfa = Nfa()
    nfa.add_states(n_states - 1)
    nfa.extend(kept)
    nfa.accept(1)
    dfa = nfa.determinise()
    kept = _edges(dfa).copy()
    end = int(np.flatnonzero(dfa._labels)[0])  # no character begins another: one state accepts
    number = np.arange(dfa.n_states, dtype=np.int32)
    number[dfa.start], number[end] = 0, 1
    rest = [q for q in range(1, dfa.n_states) if q not in (dfa.start, end)]
    number[rest] = np.arange(2, 2 + len(rest))
    kept[:, 0] = number[kept[:, 0]]
    kept[:, 3] = number[kept[:, 3]]
    return kept, len(rest) + 2


_WORTH_MINIMISING = 64  # edges


def _from_sorted(items: list[bytes], marks: I32) -> Dfa:
    """The automaton of distinct strings in ascending order."""
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    n_nodes = int(lengths.sum()) + 2
    if n_nodes > MAX_NODES:
        raise BudgetError("bytes of strings", MAX_NODES, "use fewer or shorter strings")
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
        np.zeros(1 << (2 * n_nodes).bit_length(), np.int32),
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
            raise BudgetError("automaton table cells", MAX_CELLS, "use fewer or shorter strings")
        table = np.empty(cells, np.int32)
    return _raw(classes, table[:cells].copy().reshape(n_states, n_columns), 1, labels, 0)
