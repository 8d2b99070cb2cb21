"""Formulas that plainly hold endlessly many values, so that no few of them left out matter.

A type is enough: strings of any length, numbers without a bound, an object or array that may always
have one more or a member of which there are endlessly many. What is not told so is no news. Strings
of few characters pass for endlessly many, too: of 4 there are more than 10**24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .constants import ARRAY, NUMBER, OBJECT, STRING
from .values import Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["MANY_CHARACTERS", "Endlessness"]

#: Of strings of so many characters there are more than a text uses up.
MANY_CHARACTERS = 4
_DEEPEST = 3


class Endlessness:
    """Which formulas and conjunctions of one schema plainly hold endlessly many values."""

    def __init__(self, formulas: Formulas) -> None:
        self._formulas = formulas
        self._known: dict[Value, bool] = {}

    def holds(self, value: Value, depth: int = _DEEPEST) -> bool:
        """Whether a formula does; False says nothing."""
        known = self._known.get(value)
        if known is None:
            known = any(
                self.of_conjunction(conjunction, depth)
                for type_ in (STRING, NUMBER, OBJECT, ARRAY)
                if value.types >> type_ & 1
                for conjunction in self._formulas.conjunctions(value, type_)
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
            return not special and (c.lower is None or c.upper is None)
        if depth == 0 or c.longest is not None or c.somewhere:
            return False
        if type_ == ARRAY:
            if c.prefix or c.counts:
                return False
            return self.holds(c.rest, depth - 1) or (
                c.unique is None and self._formulas.emptiness.holds_something(c.rest)
            )
        if type_ == OBJECT:
            return self._formulas.emptiness.holds_something(c) and (
                not c.universals
                or any(self.holds(self._formulas.member(c, name), depth - 1) for name in c.keys)
            )
        return False
