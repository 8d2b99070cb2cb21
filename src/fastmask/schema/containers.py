"""Conjunctions over arrays and objects: everything known about one container.

They have the methods of `fastmask.schema.scalars`. Members are value formulas; nothing here looks
inside one, beyond asking whether two of them join to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import literals as lit
from .constants import ARRAY, OBJECT, can_be_spelled
from .values import AMONG, AND, EXCEPT, FALSE, OR, TRUE, KeyClass, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["Arrays", "Objects", "within"]

_NONE: frozenset[Any] = frozenset()


def within(inner: Value, outer: Value) -> bool:
    """Whether every value of one formula is in another, as far as their outsides tell."""
    if outer is TRUE or inner is outer or inner is FALSE:
        return True
    if outer.only_types and not inner.types & ~outer.types:
        return True
    if outer.kind == AND:
        return all(within(inner, part) for part in outer.parts)
    if outer.kind == OR and outer is not inner:
        return any(inner is part for part in outer.parts)
    if inner.kind == AMONG:
        if outer.kind == EXCEPT:
            return inner.constants.isdisjoint(outer.constants)
        return outer.kind == AMONG and inner.constants <= outer.constants
    if inner.kind == EXCEPT:
        return outer.kind == EXCEPT and outer.constants <= inner.constants
    return inner.kind == AND and any(within(part, outer) for part in inner.parts)


class Arrays:
    """Arrays by position, length, counts, uniqueness and items that have to be somewhere.

    Attributes
    ----------
    prefix : tuple[Value, ...]
        Formulas of the first items.
    rest : Value
        Formula of every item after them.
    shortest, longest : int, int or None
        Bounds of the length.
    counts : tuple[tuple[Value, int, int or None], ...]
        How many items have to be in a formula, at least and at most.
    somewhere : tuple[tuple[int, int or None, Value], ...]
        First position, end and formula: one item of that stretch has to be in it.
    unique : bool or None
        Whether all items differ; False: two are equal.
    excluded : frozenset[Constant]
        Arrays left out.
    """

    __slots__ = (
        "counts",
        "excluded",
        "longest",
        "prefix",
        "rest",
        "shortest",
        "somewhere",
        "unique",
    )
    type = ARRAY
    choices = ()

    def __init__(self) -> None:
        self.prefix: tuple[Value, ...] = ()
        self.rest = TRUE
        self.shortest = 0
        self.longest: int | None = None
        self.counts: tuple[tuple[Value, int, int | None], ...] = ()
        self.somewhere: tuple[tuple[int, int | None, Value], ...] = ()
        self.unique: bool | None = None
        self.excluded: frozenset[Any] = _NONE

    @classmethod
    def of(cls, type_: int, literals: Iterable[lit.Clause], formulas: Formulas) -> Arrays | None:
        """The arrays that all literals allow."""
        self = cls()
        prefix: list[Value] = []
        counts: dict[Value, tuple[int, int | None]] = {}
        for literal in literals:
            kind = literal[0]
            if kind == lit.EACH_ITEM:
                self._each(prefix, literal[1], literal[2], literal[3], formulas)
            elif kind == lit.SOME_ITEM:
                first, end, value = literal[1:]
                self.shortest = max(self.shortest, first + 1)
                if end == first + 1:
                    self._each(prefix, first, end, value, formulas)
                elif first == 0 and end is None:
                    _count(counts, value, 1, None)
                elif value is not TRUE:
                    self.somewhere = (*self.somewhere, (first, end, value))
            elif kind == lit.MIN_ITEMS:
                self.shortest = max(self.shortest, literal[1])
            elif kind == lit.MAX_ITEMS:
                self._limit(literal[1])
            elif kind == lit.COUNT_MIN:
                _count(counts, literal[1], literal[2], None)
            elif kind == lit.COUNT_MAX:
                if literal[2] == 0:
                    self._each(prefix, 0, None, formulas.negation(literal[1]), formulas)
                else:
                    _count(counts, literal[1], 0, literal[2])
            elif kind == lit.UNIQUE:
                if self.unique is (not literal[1]):
                    return None
                self.unique = literal[1]
            else:
                self.excluded |= literal[1]
        self.prefix = tuple(prefix)
        return self._settled(counts, formulas)

    def meet(self, other: Arrays, formulas: Formulas) -> Arrays | None:
        """The arrays in both."""
        if None not in (self.unique, other.unique) and self.unique is not other.unique:
            return None
        both = Arrays()
        length = max(len(self.prefix), len(other.prefix))
        join = formulas.conjunction
        both.prefix = tuple(join(self.item(i), other.item(i)) for i in range(length))
        both.rest = join(self.rest, other.rest)
        both.shortest = max(self.shortest, other.shortest)
        both.longest = self.longest
        if other.longest is not None:
            both._limit(other.longest)
        both.somewhere = (*self.somewhere, *(s for s in other.somewhere if s not in self.somewhere))
        both.unique = other.unique if self.unique is None else self.unique
        both.excluded = self.excluded | other.excluded
        counts = {value: (least, most) for value, least, most in self.counts}
        for value, least, most in other.counts:
            _count(counts, value, least, most)
        return both._settled(counts, formulas)

    def item(self, position: int) -> Value:
        """The formula of the item at a position, counts and obligations apart."""
        return self.prefix[position] if position < len(self.prefix) else self.rest

    def conflicts(self, other: Arrays, formulas: Formulas) -> bool:
        """Whether the two contradict each other on the face of it."""
        return self.meet(other, formulas) is None

    def implies(self, other: Arrays) -> bool:
        """Whether every array here is there, as far as outsides tell."""
        length = max(len(self.prefix), len(other.prefix))
        if self.longest is not None:
            length = min(length, self.longest)
        counts = {value: (least, most) for value, least, most in self.counts}
        return (
            self.shortest >= other.shortest
            and (
                other.longest is None
                or (self.longest is not None and self.longest <= other.longest)
            )
            and all(within(self.item(i), other.item(i)) for i in range(length))
            and (self.longest == length or within(self.rest, other.rest))
            and all(
                value in counts and _inside(counts[value], (least, most))
                for value, least, most in other.counts
            )
            and set(other.somewhere) <= set(self.somewhere)
            and (other.unique is None or self.unique is other.unique)
            and other.excluded <= self.excluded
        )

    def identity(self) -> Any:
        """What equal conjunctions share."""
        return (
            self.prefix,
            self.rest,
            self.shortest,
            self.longest,
            frozenset(self.counts),
            frozenset(self.somewhere),
            self.unique,
            self.excluded,
        )

    def _each(
        self, prefix: list[Value], first: int, end: int | None, value: Value, formulas: Formulas
    ) -> None:
        """Join a formula to the items of a stretch."""
        prefix.extend([self.rest] * ((first if end is None else end) - len(prefix)))
        for position in range(first, len(prefix) if end is None else end):
            prefix[position] = formulas.conjunction(prefix[position], value)
        if end is None:
            self.rest = formulas.conjunction(self.rest, value)

    def _nowhere(self, value: Value, formulas: Formulas) -> bool:
        """Whether no item can be in a formula, on the face of it."""
        return all(formulas.conjunction(item, value) is FALSE for item in (*self.prefix, self.rest))

    def _limit(self, longest: int) -> None:
        self.longest = longest if self.longest is None else min(self.longest, longest)

    def _settled(
        self, counts: dict[Value, tuple[int, int | None]], formulas: Formulas
    ) -> Arrays | None:
        """Itself with everything that bounds the length counted in, or None in contradiction."""
        for position, value in enumerate(self.prefix):
            if value is FALSE:
                self._limit(position)
                break
        if self.rest is FALSE:
            self._limit(len(self.prefix))
        if TRUE in counts:
            least, most = counts.pop(TRUE)
            self.shortest = max(self.shortest, least)
            if most is not None:
                self._limit(most)
        if self.unique is False:
            self.shortest = max(self.shortest, 2)
        for value, (least, most) in counts.items():
            if (most is not None and least > most) or (value is FALSE and least > 0):
                return None
            if least > 0 and self._nowhere(value, formulas):
                return None
            self.shortest = max(self.shortest, least)
        if self.longest is not None and self.shortest > self.longest:
            return None
        longest = self.longest
        if self.excluded:
            self.excluded = frozenset(
                e
                for e in self.excluded
                if len(e.items) >= self.shortest and (longest is None or len(e.items) <= longest)
            )
        if longest is not None and longest <= len(self.prefix):
            self.prefix = self.prefix[:longest]
            self.rest = FALSE
        if longest is not None and longest <= 1 and self.unique:
            self.unique = None
        if self.prefix and self.prefix[-1] is self.rest:
            length = len(self.prefix)
            while length and self.prefix[length - 1] is self.rest:
                length -= 1
            self.prefix = self.prefix[:length]
        for first, end, value in self.somewhere:
            if value is FALSE or (end is not None and end <= first):
                return None
            if longest is not None and first >= longest:
                return None
        self.counts = tuple(
            (value, least, most if longest is None or most is None or most < longest else None)
            for value, (least, most) in counts.items()
            if value is not FALSE
        )
        self.counts = tuple(count for count in self.counts if count[1:] != (0, None))
        return self


def _count(
    counts: dict[Value, tuple[int, int | None]], value: Value, least: int, most: int | None
) -> None:
    """Join bounds on the number of items in a formula."""
    low, high = counts.get(value, (0, None))
    high = most if high is None else high if most is None else min(high, most)
    counts[value] = (max(low, least), high)


def _inside(inner: tuple[int, int | None], outer: tuple[int, int | None]) -> bool:
    return inner[0] >= outer[0] and (
        outer[1] is None or (inner[1] is not None and inner[1] <= outer[1])
    )


class Objects:
    """Objects by key, key class, number of keys and members that have to be somewhere.

    Attributes
    ----------
    keys : dict[str, tuple[Value, bool]]
        Formula of the member of that name, and whether it has to be there.
    universals : tuple[tuple[KeyClass, Value], ...]
        Formula of every member whose key is in the class, named keys included.
    somewhere : tuple[tuple[KeyClass, Value], ...]
        One member whose key is in the class has to be in the formula.
    shortest, longest : int, int or None
        Bounds of the number of keys; ``shortest`` is 0 where the required keys already see to it.
    excluded : frozenset[Constant]
        Objects left out.
    """

    __slots__ = (
        "excluded",
        "keys",
        "longest",
        "members",
        "shortest",
        "somewhere",
        "universals",
    )
    type = OBJECT
    choices = ()

    def __init__(self) -> None:
        self.keys: dict[str, tuple[Value, bool]] = {}
        self.universals: tuple[tuple[KeyClass, Value], ...] = ()
        self.somewhere: tuple[tuple[KeyClass, Value], ...] = ()
        self.shortest = 0
        self.longest: int | None = None
        self.excluded: frozenset[Any] = _NONE
        self.members: dict[str, Value] | None = None  # memo of Formulas.member

    @classmethod
    def of(cls, type_: int, literals: Iterable[lit.Clause], formulas: Formulas) -> Objects | None:
        """The objects that all literals allow."""
        self = cls()
        keys = self.keys
        join = formulas.conjunction
        universals: dict[KeyClass, Value] = {}
        for literal in literals:
            kind, where = literal[0], literal[1]
            if kind == lit.EACH_KEY:
                value = literal[2]
                if where.__class__ is str:
                    known = keys.get(where)
                    if not can_be_spelled(where):
                        value = FALSE
                    keys[where] = (
                        (value, False) if known is None else (join(known[0], value), known[1])
                    )
                elif value is not TRUE:
                    universals[where] = join(universals.get(where, TRUE), value)
            elif kind == lit.SOME_KEY:
                value = literal[2]
                if where.__class__ is str:
                    known = keys.get(where)
                    if not can_be_spelled(where):
                        value = FALSE
                    keys[where] = (value if known is None else join(known[0], value), True)
                else:
                    self.somewhere = (*self.somewhere, (where, value))
            elif kind == lit.MIN_KEYS:
                self.shortest = max(self.shortest, where)
            elif kind == lit.MAX_KEYS:
                self.longest = where if self.longest is None else min(self.longest, where)
            else:
                self.excluded |= where
        self.universals = tuple(universals.items())
        return self._settled(formulas)

    def meet(self, other: Objects, formulas: Formulas) -> Objects | None:
        """The objects in both."""
        both = Objects()
        join = formulas.conjunction
        keys = both.keys = dict(self.keys)
        for name, (value, required) in other.keys.items():
            known = keys.get(name)
            if known is None:
                keys[name] = (value, required)
            else:
                keys[name] = (join(known[0], value), known[1] or required)
        both.universals = self.universals
        if other.universals:
            universals = dict(self.universals)
            for where, value in other.universals:
                universals[where] = join(universals.get(where, TRUE), value)
            both.universals = tuple(universals.items())
        both.somewhere = (*self.somewhere, *(s for s in other.somewhere if s not in self.somewhere))
        both.shortest = max(self.shortest, other.shortest)
        both.longest = self.longest
        if other.longest is not None:
            both.longest = (
                other.longest if self.longest is None else min(self.longest, other.longest)
            )
        both.excluded = self.excluded | other.excluded
        return both._settled(formulas)

    def conflicts(self, other: Objects, formulas: Formulas) -> bool:
        """Whether the two contradict each other on the face of it."""
        join = formulas.conjunction
        few, many = sorted((self.keys, other.keys), key=len)
        for name, (value, required) in few.items():
            known = many.get(name)
            if known and (required or known[1]) and join(value, known[0]) is FALSE:
                return True
        return (
            _forbids(self.universals, other.keys)
            or _forbids(other.universals, self.keys)
            or (self.longest is not None and self.longest < other.shortest)
            or (other.longest is not None and other.longest < self.shortest)
        )

    def implies(self, other: Objects) -> bool:
        """Whether every object here is there, as far as outsides tell."""
        for name, (value, required) in other.keys.items():
            known = self.keys.get(name)
            if known is None:
                if required or not (value is TRUE or _forbids(self.universals, {name: (TRUE, 1)})):
                    return False
            elif (required and not known[1]) or not within(known[0], value):
                return False
        universals = dict(self.universals)
        return (
            all(
                where in universals and within(universals[where], value)
                for where, value in other.universals
            )
            and set(other.somewhere) <= set(self.somewhere)
            and (other.shortest == 0 or self.fewest() >= other.shortest)
            and (
                other.longest is None
                or (self.longest is not None and self.longest <= other.longest)
            )
            and other.excluded <= self.excluded
        )

    def fewest(self) -> int:
        """A lower bound on the number of keys."""
        return max(self.shortest, sum(required for _, required in self.keys.values()))

    def identity(self) -> Any:
        """What equal conjunctions share."""
        return (frozenset(self.keys.items()), *self.outline())

    def outline(self) -> Any:
        """Everything but the named keys, hashable."""
        return (
            frozenset(self.universals),
            frozenset(self.somewhere),
            self.shortest,
            self.longest,
            self.excluded,
        )

    def _settled(self, formulas: Formulas) -> Objects | None:
        """Itself, or None where it contradicts itself on the face of it."""
        needed = 0
        for value, required in self.keys.values():
            if required:
                if value is FALSE:
                    return None
                needed += 1
        fewest = max(needed, self.shortest)
        if self.longest is not None and fewest > self.longest:
            return None
        if self.excluded:
            self.excluded = frozenset(e for e in self.excluded if self._may_be(e, fewest))
        if self.shortest <= needed:
            self.shortest = 0
        if needed and self.universals and _forbids(self.universals, self.keys):
            return None
        for where, value in self.somewhere:
            everywhere = next((v for k, v in self.universals if k is where), TRUE)
            if formulas.conjunction(value, everywhere) is FALSE:
                return None
        return self

    def _may_be(self, excluded: Any, fewest: int) -> bool:
        """Whether an object left out has as many keys, and those, that objects here have."""
        members = excluded.members
        most = len(members) if self.longest is None else self.longest
        return fewest <= len(members) <= most and all(
            name in members for name, (_, required) in self.keys.items() if required
        )


def _forbids(
    universals: tuple[tuple[KeyClass, Value], ...], keys: dict[str, tuple[Value, bool]] | Any
) -> bool:
    """Whether a required key falls into a class, told by names alone, that may not be there."""
    for where, value in universals:
        if value is FALSE and not where.inside and not where.outside:
            names = where.names
            for name, (_, required) in keys.items():
                if required and name not in names:
                    return True
    return False
