"""What exponents add to the plain decimals of a set of numbers.

An automaton over plain decimals that accepts by value (see `fastmask.schema.number_text`) reads a
text with an exponent the way its plain decimal would be read: the point moved by as many places,
zeros put in where digits end. So whatever the set is, a text is accepted only if its exact value is
in it.

`with_float_forms` (`fastmask.schema.float_forms`) adds what ``repr(float)`` prints with an
exponent, `with_exponents` all other spellings. By how many places the point moves is guessed while
digits are read, and compared with the exponent at the end. That is regular only if the written
digits it moves over are bounded (`MOST_DIGITS`); zeros that have to be put in are not, for an
automaton that reads zeros ends in a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..automata import Dfa, Nfa
from ..errors import BudgetError
from .float_forms import decimal_moves, with_float_forms
from .number_text import DOT, MINUS, json_numbers, numbers_between

__all__ = ["MOST_DIGITS", "with_exponents", "with_float_forms"]

#: Over how many written digits an exponent may move the point, and what is left of that for sets
#: that need so many states that the product would pass a limit.
MOST_DIGITS = 10
_LEAST_DIGITS = 3
_WEIGHT = 600
_STATE_LIMIT = 200_000
_STEP_LIMIT = 20_000_000


class _Zeros:
    """Where an automaton comes to by reading zeros, remembered."""

    def __init__(self, rows: list[list[int]], labels: list[int]) -> None:
        self._rows = rows
        self._labels = labels
        self._known: dict[int, tuple[int, int, bool]] = {}

    def accepted(self, state: int) -> tuple[int, int, bool]:
        """Behind how many zeros a text may end.

        Returns bits of numbers of zeros, the number from which on nothing changes, and whether a
        text may end from there on.
        """
        known = self._known.get(state)
        if known is None:
            path: dict[int, int] = {}
            current = state
            while current not in path:
                path[current] = len(path)
                current = self._rows[current][0]
            ends = [self._labels[passed] != 0 for passed in path]
            bits = sum(1 << count for count, end in enumerate(ends) if end)
            # Remainders may go round in a loop; all of it ends, or none (else it counts as none).
            known = self._known[state] = (bits, len(path), all(ends[path[current] :]))
        return known


def with_exponents(dfa: Dfa) -> Dfa:
    """The numbers of a set in every spelling that moves the point over few enough digits.

    Raises `BudgetError` where an automaton of them needs too many states.
    """
    return _Exponents(dfa).determinise() & json_numbers()


class _Exponents:
    """A nondeterministic automaton: it guesses where the exponent will put the point.

    Its states are tuples of a kind, a state of the plain automaton, and more:

    - ("whole", state), ("fraction", state): the digits as they stand;
    - ("zero", state): the only digit before the point is a zero;
    - ("zeros", state, signed, places): so are all ``places`` behind the point, for an exponent
      above 0; ``signed`` is the state of the sign;
    - ("over", state, places): the digits without the point, which stands ``places`` back;
    - ("moved", state, exponent): with the point put in behind the point that is written;
    - ("behind", state, places, open, part): with the point put in ``places`` before the point to
      be written, zeros put in behind it; ``open``: any number of zeros more. ``part`` is 0 where
      no digit was read since, 1 before the point, 2 behind it.
    """

    def __init__(self, dfa: Dfa) -> None:
        self._rows: list[list[int]] = decimal_moves(dfa).tolist()
        self._labels: list[int] = dfa.labels.tolist()
        self._zeros = _Zeros(self._rows, self._labels)
        self._most = max(_LEAST_DIGITS, min(MOST_DIGITS, _WEIGHT // dfa.n_states))
        self._most_behind = self._most
        self._nfa = Nfa()
        self._nfa.accept(self._nfa.automaton(0, with_float_forms(dfa)))
        self._ids: dict[tuple[Any, ...], int] = {}
        self._pending: list[tuple[Any, ...]] = []
        self._exponents: dict[tuple[str, int], int] = {}
        self._writers: dict[str, Callable[..., None]] = {
            "whole": self._write_whole,
            "zero": self._write_zero,
            "fraction": self._write_fraction,
            "zeros": self._write_zeros,
            "over": self._write_over,
            "moved": self._write_moved,
            "behind": self._write_behind,
        }
        self._sign(0, dfa.start)
        minus = self._rows[dfa.start][MINUS]
        if minus:
            signed = self._nfa.state()
            self._nfa.edge(0, 0x2D, 0x2D, signed)
            self._sign(signed, minus)

    def determinise(self) -> Dfa:
        """The minimal automaton."""
        while self._pending:
            key = self._pending.pop()
            self._writers[key[0]](self._ids[key], *key[1:])
            if len(self._ids) > _STATE_LIMIT:
                raise BudgetError("states of exponents", _STATE_LIMIT, 'use numbers="plain"')
        return self._nfa.determinise(max_steps=_STEP_LIMIT)

    def _sign(self, source: int, signed: int) -> None:
        """Everything that may follow the sign, or begin the text."""
        rows = self._rows
        before = rows[signed]
        for digit in range(1, 10):
            self._edge(source, digit, ("whole", before[digit]))
        zero = before[0]
        self._edge(source, 0, ("zero", zero))
        nothing = self._nfa.literal(source, b"0.")
        self._nfa.epsilon(nothing, self._id(("zeros", zero or signed, signed, 0)))
        if self._labels[zero]:
            self._nothing(source)
        state = rows[zero][DOT] if zero else 0
        n_zeros = 0
        settled = False
        while state and not settled and n_zeros < len(rows):
            settled = rows[state][0] == state
            self._nfa.epsilon(source, self._id(("behind", state, n_zeros, settled, 0)))
            state = rows[state][0]
            n_zeros += 1
        self._most_behind = max(self._most_behind, n_zeros + self._most)

    def _nothing(self, source: int) -> None:
        """Zero, with any exponent."""
        nfa = self._nfa
        zero = nfa.literal(source, b"0")
        zeros = nfa.state()
        nfa.edge(nfa.literal(zero, b"."), 0x30, 0x30, zeros)
        nfa.edge(zeros, 0x30, 0x30, zeros)
        for state in (zero, zeros):
            self._exponent(state, "any", 0)

    # States.

    def _write_whole(self, id_: int, state: int) -> None:
        self._plain(id_, state)
        rows = self._rows
        for digit in range(10):
            self._edge(id_, digit, ("whole", rows[state][digit]))
        point = rows[state][DOT]
        self._edge(id_, DOT, ("fraction", point))
        self._edge(id_, DOT, ("over", state, 0))
        self._ending(id_, state, 0)
        if point:
            self._nfa.epsilon(id_, self._id(("behind", point, 0, False, 0)))

    def _write_zero(self, id_: int, state: int) -> None:
        self._plain(id_, state)
        self._edge(id_, DOT, ("fraction", self._rows[state][DOT]))

    def _write_fraction(self, id_: int, state: int) -> None:
        self._plain(id_, state)
        for digit in range(10):
            self._edge(id_, digit, ("fraction", self._rows[state][digit]))
        if self._labels[state]:
            self._exponent(id_, "is", 0)

    def _write_zeros(self, id_: int, state: int, signed: int, places: int) -> None:
        rows = self._rows
        if places < self._most:
            self._edge(id_, 0, ("zeros", state, signed, places + 1))
            for digit in range(1, 10):
                self._edge(id_, digit, ("over", rows[signed][digit], places + 1))
        point = rows[rows[signed][0]][DOT]
        if places and point:
            self._nfa.epsilon(id_, self._id(("moved", point, places)))

    def _write_over(self, id_: int, state: int, places: int) -> None:
        rows = self._rows
        if places < self._most:
            for digit in range(10):
                self._edge(id_, digit, ("over", rows[state][digit], places + 1))
        if places:
            self._ending(id_, state, places)
            if rows[state][DOT]:
                self._nfa.epsilon(id_, self._id(("moved", rows[state][DOT], places)))

    def _write_moved(self, id_: int, state: int, exponent: int) -> None:
        for digit in range(10):
            self._edge(id_, digit, ("moved", self._rows[state][digit], exponent))
        if self._labels[state]:
            self._exponent(id_, "is", exponent)

    def _write_behind(self, id_: int, state: int, places: int, open_: bool, part: int) -> None:
        after, next_part = (places, 2) if part == 2 else (places + 1, 1)
        if after <= self._most_behind:
            for digit in range(10):
                target = self._rows[state][digit]
                self._edge(id_, digit, ("behind", target, after, open_, next_part))
        if part == 1:
            self._edge(id_, DOT, ("behind", state, places, open_, 2))
        if part and self._labels[state]:
            self._exponent(id_, "at most" if open_ else "is", -places)

    def _plain(self, id_: int, state: int) -> None:
        if self._labels[state]:
            self._nfa.accept(id_)

    def _ending(self, id_: int, state: int, places: int) -> None:
        """Exponents that put zeros behind digits of which ``places`` stand behind the point."""
        bits, count, forever = self._zeros.accepted(state)
        if forever:
            self._exponent(id_, "at least", places + count)
        for n_zeros in range(bits.bit_length()):
            if bits >> n_zeros & 1:
                self._exponent(id_, "is", places + n_zeros)

    # Edges.

    def _id(self, key: tuple[Any, ...]) -> int:
        known = self._ids.get(key)
        if known is None:
            known = self._ids[key] = self._nfa.state()
            self._pending.append(key)
        return known

    def _edge(self, source: int, column: int, key: tuple[Any, ...]) -> None:
        """A move to a state, if the plain automaton is alive there."""
        if key[1]:
            byte = 0x2E if column == DOT else 0x30 + column
            self._nfa.edge(source, byte, byte, self._id(key))

    def _exponent(self, source: int, relation: str, exponent: int) -> None:
        """An exponent that is, is at least, or is at most so much."""
        entry = self._exponents.get((relation, exponent))
        if entry is None:
            entry = self._exponents[relation, exponent] = self._nfa.state()
            self._write_exponent(entry, relation, exponent)
        for letter in b"eE":
            self._nfa.edge(source, letter, letter, entry)

    def _write_exponent(self, entry: int, relation: str, exponent: int) -> None:
        nfa = self._nfa
        size = abs(exponent)
        digits, end = nfa.state(), nfa.state()
        nfa.accept(end)
        if exponent >= 0:
            nfa.epsilon(entry, digits)
            nfa.edge(entry, 0x2B, 0x2B, digits)
        if exponent < 0 or relation == "any":
            nfa.edge(entry, 0x2D, 0x2D, digits)
        elif exponent == 0:
            nfa.edge(nfa.literal(entry, b"-"), 0x30, 0x30, nothing := nfa.state())
            nfa.edge(nothing, 0x30, 0x30, nothing)
            nfa.accept(nothing)
        nfa.edge(digits, 0x30, 0x30, digits)
        if relation == "is":
            nfa.epsilon(nfa.literal(digits, str(size).encode()), end)
        else:
            enough = numbers_between(size, False, None, False, "none")
            nfa.epsilon(nfa.automaton(digits, enough), end)
