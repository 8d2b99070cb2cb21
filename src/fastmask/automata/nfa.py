"""The builder of automata: edges that are only ever appended, then determinised."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from .._arrays import I32
from ..errors import BudgetError
from ..kernels.subset import EPSILON, FIRST_SYMBOL
from .construction import (
    MAX_CELLS,
    MAX_EDGES,
    MAX_STATES,
    MAX_STEPS,
    Ranges,
    subsets,
    utf8_moves,
)
from .dfa import Dfa

__all__ = ["LAST_CODE_POINT", "Nfa", "any_text"]

LAST_CODE_POINT = 0x10FFFF
FEW_EDGES = 24  # so many are appended one by one, more as an array
WORTH_MINIMISING = 64  # edges of a set of characters

_NO_EDGES: I32 = np.empty((0, 4), np.int32)
_ADVICE = "use smaller repetition counts"


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
        edges = dfa.edges()
        self.extend(edges + np.array([first, 0, 0, first], np.int32))
        self.n_symbols = max(self.n_symbols, dfa.n_symbols)
        self.epsilon(source, first + dfa.start)
        for state in np.flatnonzero(dfa.labels).tolist():
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
        last_end = end + last - start
        self.epsilon(source, start)
        self._epsilons(range(end, last_end, size), range(start + size, last + 1, size))
        if maximum is None:
            self.epsilon(last_end, last)
            return start if minimum == 0 else last_end
        if minimum == maximum:
            return last_end
        final = self.state()
        self._epsilons(range(start + minimum * size, last + 1, size), final)
        self.epsilon(last_end, final)
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
        if self._n_block:
            self._flush(0)
            edges = self._block[: self._n_block].reshape(-1)
        else:
            edges = np.array(self._tail, np.int32)
        labels = np.zeros(self.n_states, np.int32)
        for state, label in self._labels:
            labels[state] |= label
        arrays = subsets(
            edges, self.n_edges, self.n_symbols, labels, max_states, max_cells, max_steps
        )
        return Dfa.of_minimal(arrays)

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
        if max(self.n_states, copies * n_body) > MAX_EDGES:
            raise BudgetError("automaton edges", MAX_EDGES, _ADVICE)
        if mark >= self._n_block and copies * n_body <= FEW_EDGES:
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

    def _epsilons(self, sources: range, targets: range | int) -> None:
        """Epsilon moves between two arithmetic progressions, or into one state."""
        if len(sources) <= FEW_EDGES:
            ends = [targets] * len(sources) if isinstance(targets, int) else targets
            for source, target in zip(sources, ends, strict=True):
                self._tail += (source, EPSILON, EPSILON, target)
            return
        edges = np.full((len(sources), 4), EPSILON, np.int32)
        edges[:, 0] = sources
        edges[:, 3] = targets
        self.extend(edges)


@functools.cache
def any_text() -> Dfa:
    """All sequences of characters, as UTF-8."""
    nfa = Nfa()
    body = nfa.begin()
    end = nfa.char_set(body[0], ((0, 0xD7FF), (0xE000, LAST_CODE_POINT)))
    nfa.accept(nfa.repeat(0, body, end, 0, None))
    return nfa.determinise()


@functools.lru_cache(maxsize=1024)
def _character_edges(ranges: Ranges) -> tuple[I32, int]:
    """Edges that read one character, source 0 and target 1, and the number of states."""
    edges, n_states = utf8_moves(ranges)
    if len(edges) <= WORTH_MINIMISING:
        return edges, n_states
    nfa = Nfa()
    nfa.add_states(n_states - 1)
    nfa.extend(edges)
    nfa.accept(1)
    dfa = nfa.determinise()
    edges = dfa.edges().copy()
    end = int(np.flatnonzero(dfa.labels)[0])  # no character begins another: one state accepts
    number = np.arange(dfa.n_states, dtype=np.int32)
    number[dfa.start], number[end] = 0, 1
    rest = [q for q in range(1, dfa.n_states) if q not in (dfa.start, end)]
    number[rest] = np.arange(2, 2 + len(rest))
    edges[:, 0] = number[edges[:, 0]]
    edges[:, 3] = number[edges[:, 3]]
    return edges, len(rest) + 2
