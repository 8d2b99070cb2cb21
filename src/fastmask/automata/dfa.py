"""Deterministic automata as values: questions, operations, bytes."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from .._arrays import I32, I64, U8, contiguous
from ..errors import FormatError
from ..kernels import paths as _paths
from ..kernels import product as _product
from .characters import characters_by_target
from .construction import Arrays, Ranges, minimal, moves_of, side_by_side, sorted_strings

if TYPE_CHECKING:
    from .nfa import Nfa

__all__ = ["Dfa", "product"]

_SAMPLE = 32  # rows at either end that a hash is made of

Array = TypeVar("Array", bound=np.ndarray[Any, Any])


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
    The arrays given may be any automaton; what is kept is the minimal one.
    """

    __slots__ = ("_arrays", "_digest", "_hash", "_live_bytes")

    _arrays: Arrays
    _digest: str | None
    _hash: int | None
    _live_bytes: I64 | None

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
        arrays = minimal(columns.copy(), flat, n_states, n_columns, n_bytes, start, marks)
        return cls.of_minimal(arrays)

    @classmethod
    def of_minimal(cls, arrays: Arrays, digest: str | None = None) -> Dfa:
        """The automaton of arrays that are minimal and in order already, and its `digest`."""
        dfa = object.__new__(cls)
        dfa._arrays = arrays
        dfa._digest = digest
        dfa._hash = None
        dfa._live_bytes = None
        return dfa

    # What it is made of.

    @property
    def arrays(self) -> Arrays:
        """All of it, for kernels, which only read it."""
        return self._arrays

    @property
    def start(self) -> int:
        """First state."""
        return self._arrays.start

    @property
    def n_subset_states(self) -> int:
        """States before minimisation, the dead one not counted."""
        return self._arrays.n_subset_states

    @property
    def classes(self) -> U8:
        """uint8[256]: byte class of each byte, numbered in the order of first bytes."""
        return _read_only(self._arrays.classes)

    @property
    def table(self) -> I32:
        """int32[n_states, n_columns]: next states; 0 is dead."""
        return _read_only(self._arrays.table)

    @property
    def labels(self) -> I32:
        """int32[n_states]: 0, or the kind of acceptance."""
        return _read_only(self._arrays.labels)

    @property
    def accepting(self) -> npt.NDArray[np.bool_]:
        """bool[n_states]: whether a text may end there."""
        return np.not_equal(self._arrays.labels, 0)

    @property
    def n_states(self) -> int:
        """States, the dead one included."""
        return len(self._arrays.table)

    @property
    def n_classes(self) -> int:
        """Byte classes: the first columns of the table."""
        return int(self._arrays.classes.max()) + 1

    @property
    def n_symbols(self) -> int:
        """Abstract symbols: the columns past the byte classes."""
        return int(self._arrays.table.shape[1]) - self.n_classes

    def digest(self) -> str:
        """A name for the language (hexadecimal): equal exactly for equal automata."""
        if self._digest is None:
            arrays = self._arrays
            digest = hashlib.blake2b(np.array(arrays.table.shape).tobytes(), digest_size=16)
            # Half the bytes are read in half the time; how many they are the shape tells.
            width = np.uint16 if len(arrays.table) <= 1 << 16 else np.int32
            for part in (arrays.labels, arrays.table.astype(width, copy=False), arrays.classes):
                digest.update(part.data)
            self._digest = digest.hexdigest()
        return self._digest

    def to_bytes(self) -> bytes:
        """The automaton as bytes, equal exactly for equal automata."""
        sizes = np.array([*self._arrays.table.shape, self.start], "<i4")
        parts = (sizes, self._arrays.labels, self._arrays.table, self._arrays.classes)
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
        return self is other or (
            self._arrays.table.shape == other._arrays.table.shape
            and bool((self._arrays.classes == other._arrays.classes).all())
            and bool((self._arrays.labels == other._arrays.labels).all())
            and bool((self._arrays.table == other._arrays.table).all())
        )

    def __hash__(self) -> int:
        if self._hash is None:
            table = self._arrays.table
            self._hash = hash((table.shape, table[:_SAMPLE].tobytes(), table[-_SAMPLE:].tobytes()))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return (Dfa.from_bytes, (self.to_bytes(),))

    def __repr__(self) -> str:
        n_accepting = int(np.count_nonzero(self._arrays.labels))
        return f"<Dfa: {self.n_states - 1} states, {n_accepting} accepting>"

    # Reading texts.

    def run(self, data: bytes, state: int | None = None) -> int:
        """The state after reading ``data`` from ``state`` (the start, if not given); 0 is dead."""
        current = self.start if state is None else state
        if len(data) < 24:
            classes, table = self._arrays.classes, self._arrays.table
            for byte in data:
                current = int(table[current, classes[byte]])
                if current == 0:
                    break
            return current
        return int(
            _paths.run_bytes(
                self._arrays.classes,
                self._arrays.table.reshape(-1),
                self._arrays.table.shape[1],
                current,
                np.frombuffer(bytearray(data), np.uint8),
            )
        )

    def accepts(self, data: bytes) -> bool:
        """Whether ``data`` is in the language."""
        return bool(self._arrays.labels[self.run(data)] != 0)

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
            total = int(self._arrays.labels[state] != 0)
            for column, target in enumerate(self._arrays.table[state].tolist()):
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
            self._arrays.table.reshape(-1),
            self._arrays.table.shape[1],
            self._byte_counts(),
            self._arrays.labels,
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
        state = int(np.argmax(self._arrays.labels != 0))
        targets, first_moves = np.unique(self._arrays.table.reshape(-1), return_index=True)
        into = dict(zip(targets.tolist(), first_moves.tolist(), strict=True))
        n_columns = self._arrays.table.shape[1]
        _, first_byte = np.unique(self._arrays.classes, return_index=True)
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
            if self._arrays.labels[state] != 0:
                limit -= 1
                yield bytes(text)
            for byte, target in reversed(moves[state]):
                pending.append((target, byte, depth + 1))

    def contains(self, other: Dfa) -> bool:
        """Whether every text of ``other`` is accepted."""
        return other.difference(self).is_empty

    def edges(self) -> I32:
        """Live moves as int32[n, 4]: source, lowest and highest byte (or symbol), target."""
        return moves_of(self._arrays.classes, self._arrays.table)

    def byte_ranges(self, state: int) -> list[tuple[int, int, int]]:
        """(lowest byte, highest byte, target) of the live moves of a state, ascending."""
        row = self._arrays.table[state][self._arrays.classes]
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
        return characters_by_target(self.byte_ranges, state)

    # Operations. Each returns a new minimal automaton.

    def union(self, other: Dfa) -> Dfa:
        """Texts of either; where both accept, the label of ``self``."""
        return self._combined(other, _product.OR)

    def intersection(self, other: Dfa) -> Dfa:
        """Texts of both, with the labels of ``self``."""
        return self._combined(other, _product.AND)

    def difference(self, other: Dfa) -> Dfa:
        """Texts of ``self`` that are not texts of ``other``."""
        return self._combined(other, _product.AND_NOT)

    def symmetric_difference(self, other: Dfa) -> Dfa:
        """Texts of one of the two."""
        return self._combined(other, _product.XOR)

    def complement(self) -> Dfa:
        """All texts (sequences of characters as UTF-8) that are not accepted."""
        return _any_text().difference(self)

    __or__ = union
    __and__ = intersection
    __sub__ = difference
    __xor__ = symmetric_difference

    def concatenation(self, other: Dfa) -> Dfa:
        """A text of ``self``, then a text of ``other``."""
        nfa = _nfa()
        nfa.accept(nfa.automaton(nfa.automaton(0, self), other))
        return nfa.determinise()

    def repeated(self, minimum: int = 0, maximum: int | None = None) -> Dfa:
        """``minimum`` to ``maximum`` texts in a row (None: any number more)."""
        nfa = _nfa()
        body = nfa.begin()
        end = nfa.automaton(body[0], self)
        nfa.accept(nfa.repeat(0, body, end, minimum, maximum))
        return nfa.determinise()

    def reversed(self) -> Dfa:
        """The byte strings of the language read backwards."""
        self._bytes_only()
        edges = self.edges()
        nfa = _nfa()
        nfa.add_states(self.n_states)
        nfa.extend(edges[:, [3, 1, 2, 0]] + np.array([1, 0, 0, 1], np.int32))
        for state in np.flatnonzero(self._arrays.labels).tolist():
            nfa.epsilon(0, state + 1)
        nfa.accept(self.start + 1)
        return nfa.determinise()

    def derivative(self, prefix: bytes) -> Dfa:
        """What may follow ``prefix``."""
        return self.from_state(self.run(prefix))

    def from_state(self, state: int) -> Dfa:
        """The language that is left in a state."""
        n_states, n_columns = self._arrays.table.shape
        flat = self._arrays.table.reshape(-1)
        arrays = minimal(
            self._arrays.classes.copy(),
            flat,
            n_states,
            n_columns,
            self.n_classes,
            state,
            self._arrays.labels,
        )
        return Dfa.of_minimal(arrays)

    def left_quotient(self, prefixes: Dfa) -> Dfa:
        """What may follow some text of ``prefixes``."""
        self._bytes_only()
        nfa = _nfa()
        nfa.add_states(self.n_states)
        nfa.extend(self.edges() + np.array([1, 0, 0, 1], np.int32))
        for state in np.flatnonzero(self._arrays.labels).tolist():
            nfa.accept(state + 1, int(self._arrays.labels[state]))
        prefixes._bytes_only()
        _, pairs = side_by_side(self._arrays, prefixes._arrays, _product.AND)
        met = pairs[prefixes._arrays.labels[pairs[:, 1]] != 0, 0]
        for state in np.unique(met).tolist():
            nfa.epsilon(0, state + 1)
        return nfa.determinise()

    def right_quotient(self, suffixes: Dfa) -> Dfa:
        """What some text of ``suffixes`` may complete to a text of the language."""
        return self.reversed().left_quotient(suffixes.reversed()).reversed()

    def prefixes(self) -> Dfa:
        """Everything that some text of the language begins with."""
        labels = np.minimum(np.arange(self.n_states), 1)
        return Dfa(self._arrays.classes, self._arrays.table, self.start, labels)

    def relabelled(self, mapping: Any) -> Dfa:
        """With label ``mapping[label]`` in place of each label; ``mapping[0]`` must be 0."""
        labels = np.asarray(mapping, np.int32)[self._arrays.labels]
        return Dfa(self._arrays.classes, self._arrays.table, self.start, labels)

    # Other ways to make one.

    @classmethod
    def nothing(cls) -> Dfa:
        """The empty language."""
        return _nfa().determinise()

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
        return cls.of_minimal(sorted_strings(items, marks))

    # Pieces of the above.

    def _combined(self, other: Dfa, mode: int) -> Dfa:
        self._bytes_only()
        other._bytes_only()
        arrays, _ = side_by_side(self._arrays, other._arrays, mode)
        return Dfa.of_minimal(arrays)

    def _bytes_only(self) -> None:
        if self.n_symbols:
            raise ValueError("this operation is for automata over bytes, without abstract symbols")

    def _marked(self) -> Dfa:
        """The same language with 1 for every label."""
        if int(self._arrays.labels.max()) <= 1:
            return self
        return Dfa(self._arrays.classes, self._arrays.table, self.start, self._arrays.labels != 0)

    def live_bytes(self) -> I64:
        """On how many bytes each state goes on, int64[n_states]."""
        if self._live_bytes is None:
            self._live_bytes = np.where(self._arrays.table, self._byte_counts(), 0).sum(axis=1)
        return self._live_bytes

    def _byte_counts(self) -> I64:
        """Bytes in each class (an abstract symbol counts as one)."""
        counts = np.bincount(self._arrays.classes, minlength=self._arrays.table.shape[1]).astype(
            np.int64
        )
        counts[self.n_classes :] = 1
        return counts

    def _topological_order(self) -> I32 | None:
        """All live states, each before its targets; None where there is a cycle."""
        n_states = self.n_states
        order = np.empty(n_states, np.int32)
        n = _paths.topological_order(
            self._arrays.table.reshape(-1),
            n_states,
            self._arrays.table.shape[1],
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
        dfa = dfa._combined(other._marked(), _product.PAIR)  # label: 2 * left + right
        present, numbers = np.unique(dfa._arrays.labels, return_inverse=True)
        sets = [sets[code >> 1] | (code & 1) << i for code in present.tolist()]
        dfa = Dfa.of_minimal(dfa._arrays._replace(labels=numbers.astype(np.int32)))
    return dfa, sets


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _nfa() -> Nfa:
    """A builder; it makes values of this module, so it is imported when first needed."""
    from .nfa import Nfa

    return Nfa()


def _any_text() -> Dfa:
    from .nfa import any_text

    return any_text()
