"""Formulas that plainly hold endlessly many values, so that no few of them left out matter.

A type is enough: strings of any length, numbers without a bound, an object or array that may always
have one more or a member of which there are endlessly many. What is not told so is no news. Strings
of few characters pass for endlessly many, too: of 4 there are more than 10**24.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..automata import Dfa
from .constants import ARRAY, NUMBER, OBJECT, STRING
from .values import Value

if TYPE_CHECKING:
    from .emptiness import Emptiness
    from .formulas import Formulas

__all__ = ["MANY_CHARACTERS", "Endlessness", "endless_beginnings"]

#: Of strings of so many characters there are more than a text uses up.
MANY_CHARACTERS = 4
_DEEPEST = 3
_MOST_STATES = 1 << 10


class Endlessness:
    """Which formulas and conjunctions of one schema plainly hold endlessly many values."""

    def __init__(self, formulas: Formulas, emptiness: Emptiness) -> None:
        self._formulas = formulas
        self._emptiness = emptiness
        self._known: dict[Value, bool] = {}

    def holds(self, value: Value, depth: int = _DEEPEST) -> bool:
        """Whether a formula does; False says nothing."""
        known = self._known.get(value)
        if known is None:
            known = any(
                self.of_conjunction(conjunction, depth)
                for type_ in (STRING, NUMBER, OBJECT, ARRAY)
                if value.types >> type_ & 1
                for conjunction in self._emptiness.conjunctions(value, type_)
            )
            if known or depth == _DEEPEST:
                self._known[value] = known
        return known

    def of_conjunction(self, conjunction: Any, depth: int = _DEEPEST) -> bool:
        """Whether a conjunction does; False says nothing."""
        c, type_ = conjunction, conjunction.type
        if type_ == STRING:
            special = c.allowed is not None or c.passes or c.fails
            return not special and (c.longest is None or c.longest >= MANY_CHARACTERS)
        if type_ == NUMBER:
            special = c.allowed is not None or c.others or c.integer is False or c.digits is False
            if special or c.lower is None or c.upper is None:
                return not special
            return not (c.integer or c.multiples) and c.lower < c.upper
        if depth == 0 or c.somewhere:
            return False
        if type_ == ARRAY:
            if c.prefix or c.counts or c.longest is not None:
                return False
            return self.holds(c.rest, depth - 1) or (
                c.unique is None and self._emptiness.holds_something(c.rest)
            )
        if type_ == OBJECT:
            if not self._emptiness.holds_something(c):
                return False
            if not c.universals and c.longest is None:
                return True
            n_required = sum(needed for _, needed in c.keys.values())
            has_room = c.longest is None or n_required < c.longest
            return any(
                (needed or (has_room and self._emptiness.spells_key(name)))
                and self.holds(self._formulas.member(c, name), depth - 1)
                for name, (_, needed) in c.keys.items()
            )
        return False

    def number_of(self, conjunction: Any) -> int:
        """How many values a conjunction plainly holds, at the least."""
        c = conjunction
        if c.type != NUMBER or c.digits is False or c.multiples or c.others:
            return 0
        if c.allowed is not None:
            return len(c.allowed) if c.digits is None else 0
        if not c.integer or c.lower is None or c.upper is None:
            return 0
        first = math.ceil(c.lower) + (c.above and c.lower == math.ceil(c.lower))
        last = math.floor(c.upper) - (c.below and c.upper == math.floor(c.upper))
        return max(0, int(last - first) + 1 - len(c.excluded))


def endless_beginnings(texts: Dfa) -> Dfa | None:
    """The beginnings of texts that endlessly many of them have; None where that is far to seek."""
    if texts.n_states > _MOST_STATES or texts.is_finite:
        return None
    table = texts.table
    goes_on = np.ones(texts.n_states, np.bool_)
    goes_on[0] = False
    while True:
        before = np.count_nonzero(goes_on)
        goes_on &= goes_on[table].any(axis=1)
        if np.count_nonzero(goes_on) == before:
            break
    kept = np.where(goes_on[table], table, 0)
    return Dfa(texts.classes, kept.astype(np.int32), texts.start, goes_on.astype(np.int32))
