"""Conjunctions over null, booleans, numbers and strings: everything known about one scalar.

Each class has the same five methods as those in `fastmask.schema.containers`: ``of`` builds a
conjunction from literals, ``meet`` joins two, ``conflicts`` and ``implies`` compare two, and
``identity`` is what equal ones share. Whoever contradicts itself is ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

from . import literals as lit
from .constants import BOOLEAN, FALSE_KEY, NULL, NULL_KEY, NUMBER, STRING, TRUE_KEY, Key, Number

__all__ = ["Atoms", "Numbers", "Strings"]

_NONE: frozenset[Any] = frozenset()


class Atoms:
    """Null, or some of the two booleans."""

    __slots__ = ("allowed", "type")
    choices = ()
    ALL: ClassVar[dict[int, frozenset[Key]]] = {
        NULL: frozenset((NULL_KEY,)),
        BOOLEAN: frozenset((TRUE_KEY, FALSE_KEY)),
    }

    def __init__(self, type_: int, allowed: frozenset[Key]) -> None:
        self.type = type_
        self.allowed = allowed

    @classmethod
    def of(cls, type_: int, literals: Iterable[lit.Clause], formulas: Any = None) -> Atoms | None:
        """What all literals allow."""
        allowed = cls.ALL[type_]
        for kind, constants in literals:
            allowed = allowed & constants if kind == lit.AMONG_CONSTANTS else allowed - constants
        return cls(type_, allowed) if allowed else None

    def meet(self, other: Atoms, formulas: Any = None) -> Atoms | None:
        """What both allow."""
        allowed = self.allowed & other.allowed
        return Atoms(self.type, allowed) if allowed else None

    def conflicts(self, other: Atoms, formulas: Any = None) -> bool:
        """Whether nothing is in both."""
        return self.allowed.isdisjoint(other.allowed)

    def implies(self, other: Atoms) -> bool:
        """Whether all that is in this one is in the other."""
        return self.allowed <= other.allowed

    def identity(self) -> Any:
        """What equal conjunctions share."""
        return self.allowed


class Numbers:
    """Numbers within bounds, integers or not, multiples or not, out of or except constants.

    Attributes
    ----------
    lower, upper : int, Fraction or None
        Bounds; ``above`` and ``below`` say whether the bound itself is left out.
    integer, digits : bool or None
        Whether the value is an integer; whether it is written with digits alone.
    multiples, others : tuple[Number, ...]
        Divisors that must divide the number, and those that must not.
    allowed : frozenset[Number] or None
        The only candidates; all of them pass everything else but ``digits``.
    excluded : frozenset[Number]
        Numbers left out.
    """

    __slots__ = (
        "above",
        "allowed",
        "below",
        "digits",
        "excluded",
        "integer",
        "lower",
        "multiples",
        "others",
        "upper",
    )
    type = NUMBER
    choices = ()

    def __init__(self) -> None:
        self.lower: Number | None = None
        self.above = False
        self.upper: Number | None = None
        self.below = False
        self.integer: bool | None = None
        self.digits: bool | None = None
        self.multiples: tuple[Number, ...] = ()
        self.others: tuple[Number, ...] = ()
        self.allowed: frozenset[Any] | None = None
        self.excluded: frozenset[Any] = _NONE

    @classmethod
    def of(cls, type_: int, literals: Iterable[lit.Clause], formulas: Any = None) -> Numbers | None:
        """The numbers that all literals allow."""
        self = cls()
        for literal in literals:
            kind, value = literal[0], literal[1]
            if kind == lit.AT_LEAST or kind == lit.ABOVE:
                self._raise_lower(value, kind == lit.ABOVE)
            elif kind == lit.AT_MOST or kind == lit.BELOW:
                self._reduce_upper(value, kind == lit.BELOW)
            elif kind == lit.INTEGER:
                if self.integer is (not value):
                    return None
                self.integer = value
            elif kind == lit.DIGITS:
                if self.digits is (not value):
                    return None
                self.digits = value
            elif kind == lit.AMONG_CONSTANTS:
                self.allowed = value if self.allowed is None else self.allowed & value
            elif kind == lit.EXCEPT_CONSTANTS:
                self.excluded |= value
            elif literal[2]:
                self.multiples = _with(self.multiples, value)
            else:
                self.others = _with(self.others, value)
        return self._settled()

    def meet(self, other: Numbers, formulas: Any = None) -> Numbers | None:
        """The numbers in both."""
        if None not in (self.integer, other.integer) and self.integer != other.integer:
            return None
        if None not in (self.digits, other.digits) and self.digits != other.digits:
            return None
        both = Numbers()
        both.lower, both.above = self.lower, self.above
        both.upper, both.below = self.upper, self.below
        if other.lower is not None:
            both._raise_lower(other.lower, other.above)
        if other.upper is not None:
            both._reduce_upper(other.upper, other.below)
        both.integer = other.integer if self.integer is None else self.integer
        both.digits = other.digits if self.digits is None else self.digits
        both.multiples = _with(self.multiples, *other.multiples)
        both.others = _with(self.others, *other.others)
        both.allowed = self.allowed
        if other.allowed is not None:
            both.allowed = other.allowed if self.allowed is None else self.allowed & other.allowed
        both.excluded = self.excluded | other.excluded
        return both._settled()

    def conflicts(self, other: Numbers, formulas: Any = None) -> bool:
        """Whether the two contradict each other on the face of it."""
        return self.meet(other) is None

    def implies(self, other: Numbers) -> bool:
        """Whether every number here is there, as far as the bounds and sets tell."""
        if self.digits is not other.digits and other.digits is not None:
            return False
        if self.allowed is not None:
            return all(map(other._passes, self.allowed))
        return (
            other.allowed is None
            and (other.integer is None or self.integer is other.integer)
            and (other.lower is None or (self.lower is not None and self._within_lower(other)))
            and (other.upper is None or (self.upper is not None and self._within_upper(other)))
            and set(other.multiples) <= set(self.multiples)
            and set(other.others) <= set(self.others)
            and all(n in self.excluded or not self._passes(n) for n in other.excluded)
        )

    def contains(self, number: Number, digits: bool) -> bool:
        """Whether a number is in the set; ``digits``: whether it is written with digits alone."""
        return self._passes(number) and (self.digits is None or self.digits is digits)

    def is_unbounded(self) -> bool:
        """Whether nothing but single numbers is left out, and fractions perhaps."""
        return not (
            self.lower is not None
            or self.upper is not None
            or self.multiples
            or self.others
            or self.allowed is not None
            or self.digits is False
            or self.integer is False
        )

    def identity(self) -> Any:
        """What equal conjunctions share."""
        return (
            self.lower,
            self.above,
            self.upper,
            self.below,
            self.integer,
            self.digits,
            frozenset(self.multiples),
            frozenset(self.others),
            self.allowed,
            self.excluded,
        )

    def _raise_lower(self, bound: Number, strict: bool) -> None:
        if self.lower is None or bound > self.lower:
            self.lower, self.above = bound, strict
        elif bound == self.lower:
            self.above |= strict

    def _reduce_upper(self, bound: Number, strict: bool) -> None:
        if self.upper is None or bound < self.upper:
            self.upper, self.below = bound, strict
        elif bound == self.upper:
            self.below |= strict

    def _within_lower(self, other: Numbers) -> bool:
        return self.lower > other.lower or (  # type: ignore[operator]
            self.lower == other.lower and self.above >= other.above
        )

    def _within_upper(self, other: Numbers) -> bool:
        return self.upper < other.upper or (  # type: ignore[operator]
            self.upper == other.upper and self.below >= other.below
        )

    def _passes(self, number: Number) -> bool:
        """Everything but how the number is written."""
        lower, upper = self.lower, self.upper
        return (
            (lower is None or number > lower or (number == lower and not self.above))
            and (upper is None or number < upper or (number == upper and not self.below))
            and (self.integer is None or isinstance(number, int) is self.integer)
            and (self.allowed is None or number in self.allowed)
            and number not in self.excluded
            and all(number % divisor == 0 for divisor in self.multiples)
            and all(number % divisor != 0 for divisor in self.others)
        )

    def _settled(self) -> Numbers | None:
        """Itself with bounds rounded and candidates filtered, or None in contradiction."""
        if self.digits:
            if self.integer is False:
                return None
            self.integer = True
        if self.allowed is not None:
            candidates = frozenset(filter(self._passes, self.allowed))
            if not candidates:
                return None
            only = Numbers()
            only.allowed = candidates
            only.digits = self.digits
            return only
        if self.integer:
            if self.lower is not None and (self.above or not isinstance(self.lower, int)):
                self.lower = math.floor(self.lower) + 1
                self.above = False
            if self.upper is not None and (self.below or not isinstance(self.upper, int)):
                self.upper = math.ceil(self.upper) - 1
                self.below = False
        lower, upper = self.lower, self.upper
        if lower is not None and upper is not None:
            if lower > upper:
                return None
            if lower == upper:
                if not self._passes(lower):
                    return None
                only = Numbers()
                only.allowed = frozenset((lower,))
                only.digits = self.digits
                return only
        return self


class Strings:
    """Strings within length bounds that pass tests, out of or except constants.

    Attributes
    ----------
    shortest, longest : int, int or None
        Bounds of the length in characters.
    passes, fails : tuple[Test, ...]
        Patterns and formats the string must match, and those it must not.
    allowed : frozenset[str] or None
        The only candidates; the tests may still rule some out.
    excluded : frozenset[str]
        Strings left out.
    """

    __slots__ = ("allowed", "excluded", "fails", "longest", "passes", "shortest")
    type = STRING
    choices = ()

    def __init__(self) -> None:
        self.shortest = 0
        self.longest: int | None = None
        self.passes: tuple[Any, ...] = ()
        self.fails: tuple[Any, ...] = ()
        self.allowed: frozenset[Any] | None = None
        self.excluded: frozenset[Any] = _NONE

    @classmethod
    def of(cls, type_: int, literals: Iterable[lit.Clause], formulas: Any = None) -> Strings | None:
        """The strings that all literals allow."""
        self = cls()
        for literal in literals:
            kind, value = literal[0], literal[1]
            if kind == lit.MIN_LENGTH:
                self.shortest = max(self.shortest, value)
            elif kind == lit.MAX_LENGTH:
                self.longest = value if self.longest is None else min(self.longest, value)
            elif kind == lit.AMONG_CONSTANTS:
                self.allowed = value if self.allowed is None else self.allowed & value
            elif kind == lit.EXCEPT_CONSTANTS:
                self.excluded |= value
            elif literal[2]:
                self.passes = _with(self.passes, value)
            else:
                self.fails = _with(self.fails, value)
        return self._settled()

    def meet(self, other: Strings, formulas: Any = None) -> Strings | None:
        """The strings in both."""
        both = Strings()
        both.shortest = max(self.shortest, other.shortest)
        both.longest = self.longest
        if other.longest is not None:
            both.longest = (
                other.longest if self.longest is None else min(self.longest, other.longest)
            )
        both.passes = _with(self.passes, *other.passes)
        both.fails = _with(self.fails, *other.fails)
        both.allowed = self.allowed
        if other.allowed is not None:
            both.allowed = other.allowed if self.allowed is None else self.allowed & other.allowed
        both.excluded = self.excluded | other.excluded
        return both._settled()

    def with_all(self) -> Strings:
        """The same strings, and with them those left out."""
        every = Strings()
        for name in self.__slots__:
            setattr(every, name, getattr(self, name))
        every.excluded = _NONE
        return every

    def conflicts(self, other: Strings, formulas: Any = None) -> bool:
        """Whether the two contradict each other on the face of it."""
        return self.meet(other) is None

    def implies(self, other: Strings) -> bool:
        """Whether every string here is there, as far as lengths, sets and names of tests tell."""
        if not (set(other.passes) <= set(self.passes) and set(other.fails) <= set(self.fails)):
            return False
        if self.allowed is not None:
            return all(map(other._fits, self.allowed))
        return (
            other.allowed is None
            and self.shortest >= other.shortest
            and (
                other.longest is None
                or (self.longest is not None and self.longest <= other.longest)
            )
            and all(text in self.excluded or not self._fits(text) for text in other.excluded)
        )

    def identity(self) -> Any:
        """What equal conjunctions share."""
        return (
            self.shortest,
            self.longest,
            frozenset(self.passes),
            frozenset(self.fails),
            self.allowed,
            self.excluded,
        )

    def _fits(self, text: Any) -> bool:
        """Everything but the tests."""
        return (
            self.shortest <= len(text)
            and (self.longest is None or len(text) <= self.longest)
            and (self.allowed is None or text in self.allowed)
            and text not in self.excluded
        )

    def _settled(self) -> Strings | None:
        """Itself with candidates filtered, or None in contradiction."""
        if self.allowed is not None:
            if self.shortest or self.longest is not None or self.excluded:
                self.allowed = frozenset(filter(self._fits, self.allowed))
                self.shortest, self.longest, self.excluded = 0, None, _NONE
            if not self.allowed:
                return None
        elif self.longest is not None and self.shortest > self.longest:
            return None
        elif self.longest == 0:
            if "" in self.excluded:
                return None
            self.allowed = frozenset(("",))
            self.shortest, self.longest, self.excluded = 0, None, _NONE
        if self.fails and not set(self.passes).isdisjoint(self.fails):
            return None
        return self


def _with(items: tuple[Any, ...], *more: Any) -> tuple[Any, ...]:
    """A tuple with what it lacks of ``more`` at its end."""
    for item in more:
        if item not in items:
            items = (*items, item)
    return items
