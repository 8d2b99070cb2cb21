"""What ``repr(float)`` prints with an exponent, beside the plain decimals of a set of numbers.

That is one digit before the point, at most seventeen in all, no zero at their end, an exponent of
-05 and below or +16 and above. A text with an exponent is read the way its plain decimal would be:
behind the first digit the automaton of plain decimals is read three ways at once, for the digits
as they stand, without their point, and behind a point and zeros. The exponents that may follow are
those with which one of the latter two ends in a number of the set.

Cost: the states are at most seventeen times those of the plain decimals; a kernel finds them, some
50 ns a move. Which numbers of zeros a state accepts is found by doubling.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import I32, I64, contiguous
from ..automata import Dfa
from ..errors import BudgetError
from ..kernels import float_digits as kernels
from .number_text import COLUMNS, DOT, EXPONENT, MINUS, OTHER, PLUS

__all__ = ["decimal_moves", "with_float_forms"]

_SMALL = range(5, 325)  # negative exponents that repr prints
_LARGE = range(16, 309)
_SMALL_BITS, _LARGE_BITS = (sum(1 << exponent for exponent in r) for r in (_SMALL, _LARGE))
_ONE_OF_EACH = [bytes(COLUMNS).index(column) for column in range(EXPONENT)]
_ZEROS = 512  # more than any exponent puts in
_FIRST_ROOM = 256
_MOST_STATES = 400_000
_MOST_FRACTIONS = 50_000
_ADVICE = 'use smaller divisors or fewer digits, or "type": "integer"'

#: States behind a point, zeros and some digits, each with the bits of its exponents.
_Fraction = tuple[tuple[int, int], ...]


def decimal_moves(dfa: Dfa) -> I32:
    """int32[n_states, 12]: targets by digit, of the minus sign and of the point."""
    return contiguous(dfa.table[:, dfa.classes[_ONE_OF_EACH]], np.int32)


def with_float_forms(dfa: Dfa) -> Dfa:
    """The numbers of a set as plain decimals, or as ``repr(float)`` prints some of them.

    Raises
    ------
    BudgetError
        The automaton would have too many states.
    """
    if dfa.is_empty:
        return dfa
    moves = decimal_moves(dfa)
    labels = dfa.labels.astype(np.bool_)
    n = len(moves)
    signs = [dfa.start, *filter(None, [int(moves[dfa.start, MINUS])])]
    fractions = _Fractions(moves, signs)
    seeds: dict[int, int] = {}
    first: list[dict[int, int]] = []  # of each sign: the seed behind a digit
    for sign, begin in zip(signs, fractions.firsts, strict=True):
        behind = {}
        for digit in range(1, 10):
            target, small = int(moves[sign, digit]), fractions.moves[begin][digit]
            if target or small:
                key = ((target * n + target) * len(fractions) + small) * kernels.KEY_FACTOR + 1
                behind[digit] = seeds.setdefault(key, len(seeds))
        first.append(behind)
    table, keys = _digit_states(moves, fractions, list(seeds))
    ends = _Exponents(n + len(keys) + len(signs))
    level, last = np.divmod(keys % kernels.KEY_FACTOR, 2)
    readings, fraction = np.divmod(keys // kernels.KEY_FACTOR, len(fractions))
    plain, integer = np.divmod(readings, n)
    kinds, kind_of = _numbered(_zeros_behind(moves, labels))
    endings, ending_of = _numbered(fractions.exponents(labels))
    codes = (kind_of[integer] * len(endings) + ending_of[fraction]) * 32 + np.maximum(level - 1, 0)
    codes[last == 0] = -1
    distinct, where = np.unique(codes, return_inverse=True)
    exponents = np.zeros(len(distinct), np.int32)
    for number, code in enumerate(distinct.tolist()):
        if code >= 0:
            pair, places = divmod(code, 32)
            kind, ending = divmod(pair, len(endings))
            exponents[number] = ends.pair(endings[ending], kinds[kind] << places & _LARGE_BITS)
    table[n:, EXPONENT] = exponents[where]
    rows = np.zeros((len(signs), OTHER + 1), np.int32)
    rows[:, :EXPONENT] = moves[signs]
    for row, behind in zip(rows, first, strict=True):
        for digit, seed in behind.items():
            row[digit] = n + seed
    rows[0, MINUS] = n + len(keys) + 1 if len(signs) > 1 else 0
    accepting = np.concatenate([labels, labels[plain], np.zeros(len(signs), np.bool_), ends.labels])
    return Dfa(COLUMNS, np.concatenate([table, rows, ends.rows]), n + len(keys), accepting)


def _digit_states(moves: I32, fractions: _Fractions, first: list[int]) -> tuple[I32, I64]:
    """Moves of the plain states, then of those that the kernel finds; and the keys of these."""
    n = len(moves)
    if n * n * len(fractions) >= 1 << 56:
        raise BudgetError("states of exponents", _MOST_STATES, _ADVICE)
    behind = contiguous(fractions.moves, np.int32).reshape(-1)
    room = max(_FIRST_ROOM, 4 * n)
    while True:
        table = np.zeros((n + room, OTHER + 1), np.int32)
        keys = np.zeros(room, np.int64)
        found = kernels.digit_states(
            moves.reshape(-1),
            n,
            behind,
            len(fractions),
            np.array(first, np.int64),
            keys,
            np.zeros(1 << (2 * room).bit_length(), np.int32),
            table[n:].reshape(-1),
        )
        if found >= 0:
            table[:n, :EXPONENT] = moves
            return table[: n + found], keys[:found]
        room *= 4
        if room > 4 * _MOST_STATES:
            raise BudgetError("states of exponents", _MOST_STATES, _ADVICE)


class _Fractions:
    """Sets of states behind a point and zeros, each with the exponents that put in so many zeros.

    Attributes
    ----------
    moves : list[list[int]]
        Numbers of sets by digit; 0 is that of the empty set.
    firsts : list[int]
        Of each sign the set before any digit.
    """

    def __init__(self, moves: I32, signs: list[int]) -> None:
        self._numbers: dict[_Fraction, int] = {(): 0}
        self._sets: list[_Fraction] = [()]
        self._rows = moves
        self.firsts = [self._number(self._before(int(moves[sign, 0]))) for sign in signs]
        self.moves: list[list[int]] = []
        end = len(self._sets)
        for _ in range(kernels.MOST_DIGITS + 1):
            for fraction in self._sets[len(self.moves) : end]:
                self.moves.append(self._behind(fraction))
            end = len(self._sets)
        self.moves += [[0] * 10] * (end - len(self.moves))

    def __len__(self) -> int:
        return len(self._sets)

    def exponents(self, labels: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        """Of each set the bits of the exponents with which it ends in a number."""
        bits = np.zeros(len(self._sets), object)
        for number, fraction in enumerate(self._sets):
            for state, exponents in fraction:
                if labels[state]:
                    bits[number] |= exponents
        return bits

    def _number(self, fraction: _Fraction) -> int:
        number = self._numbers.setdefault(fraction, len(self._sets))
        if number == len(self._sets):
            self._sets.append(fraction)
            if number > _MOST_FRACTIONS:
                raise BudgetError("states of exponents", _MOST_FRACTIONS, _ADVICE)
        return number

    def _before(self, zero: int) -> _Fraction:
        """States behind ``0.`` and zeros, before any other digit."""
        zeros = self._rows[:, 0]
        state = int(zeros[self._rows[zero, DOT]])
        groups: list[tuple[int, int]] = []
        n_zeros = 1
        for exponent in _SMALL:
            while n_zeros < exponent - 1:
                state = int(zeros[state])
                n_zeros += 1
            if not state:
                break
            if zeros[state] == state:
                groups.append((state, _SMALL_BITS >> exponent << exponent))
                break
            groups.append((state, 1 << exponent))
        return tuple(groups)

    def _behind(self, fraction: _Fraction) -> list[int]:
        """The sets behind each digit."""
        following = []
        for digit in range(10):
            joined: dict[int, int] = {}
            for state, bits in fraction:
                target = int(self._rows[state, digit])
                if target:
                    joined[target] = joined.get(target, 0) | bits
            following.append(self._number(tuple(joined.items())))
        return following


def _zeros_behind(moves: I32, labels: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Of each state the bits of the numbers of zeros with which it accepts."""
    bits = labels.astype(np.int64).astype(object)
    after = moves[:, 0].copy()
    width = 1
    while width < _ZEROS:
        bits |= bits[after] << width
        after = after[after]
        width *= 2
    return bits


def _numbered(bits: npt.NDArray[Any]) -> tuple[list[int], I64]:
    """The different values of an array, and the number of each entry's."""
    numbers: dict[int, int] = {}
    of_each = [numbers.setdefault(value, len(numbers)) for value in bits.tolist()]
    return list(numbers), np.array(of_each, np.int64)


class _Exponents:
    """The states from the letter of an exponent on.

    Parameters
    ----------
    first : int
        The number of the first of them.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._rows: list[list[int]] = []
        self._accepting: list[bool] = []
        self._pairs: dict[tuple[int, int], int] = {}
        self._nodes: dict[_Node, int] = {}

    @property
    def rows(self) -> I32:
        """The moves of all these states."""
        rows = np.zeros((len(self._rows), OTHER + 1), np.int32)
        for row, targets in zip(rows, self._rows, strict=True):
            row[: len(targets)] = targets
        return rows

    @property
    def labels(self) -> list[bool]:
        """Whether a text may end in each of them."""
        return self._accepting

    def pair(self, small: int, large: int) -> int:
        """The state before the sign of some exponents."""
        if not small and not large:
            return 0
        state = self._pairs.get((small, large))
        if state is None:
            row = [0] * (PLUS + 1)
            row[MINUS], row[PLUS] = (
                self._node(_node(bits)) if bits else 0 for bits in (small, large)
            )
            state = self._pairs[small, large] = self._state(row, False)
        return state

    def _state(self, row: list[int], accepting: bool) -> int:
        self._rows.append(row)
        self._accepting.append(accepting)
        return self._first + len(self._rows) - 1

    def _node(self, node: _Node) -> int:
        """The state of a node; exponents have three digits at most."""
        state = self._nodes.get(node)
        if state is None:
            row = [self._node(below) if below else 0 for below in node.row]
            state = self._nodes[node] = self._state(row, node.accepting)
        return state


class _Node:
    """A place inside an exponent as repr prints it: what may follow by digit."""

    __slots__ = ("accepting", "row")

    def __init__(self, row: list[_Node | None], accepting: bool) -> None:
        self.row = row
        self.accepting = accepting


@lru_cache(maxsize=4_096)
def _node(exponents: int | tuple[str, ...]) -> _Node:
    """The node before a set of exponents: their bits, or what is left of their digits."""
    if isinstance(exponents, int):
        bits = range(exponents.bit_length())
        return _node(tuple(f"{bit:02d}" for bit in bits if exponents >> bit & 1))
    row: list[_Node | None] = []
    for digit in "0123456789":
        below = tuple(text[1:] for text in exponents if text[:1] == digit)
        row.append(_node(below) if below else None)
    return _Node(row, "" in exponents)
