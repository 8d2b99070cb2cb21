"""Fewer alternatives: two that differ in one member become one, and what another covers goes.

Two objects formulas that agree in everything but the member ``k`` hold together what one formula
holds whose ``k`` may be in either: absent where both let it be absent, and in V or W where it is
there. The same goes for one position of an array. Candidates are found by hash sums that leave one
member out, so merging n alternatives of m members takes about n m steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .containers import Arrays, Objects
from .scalars import Numbers, Strings
from .values import TRUE, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["merged"]

_SUBSUMPTION_LIMIT = 64


def merged(conjunctions: list[Any], formulas: Formulas) -> list[Any]:
    """Conjunctions of one type that hold together what the given ones hold, and fewer of them."""
    kind = type(conjunctions[0])
    if kind is Objects:
        conjunctions = _merge_members(conjunctions, formulas, _object_members, _object_with)
    elif kind is Arrays:
        conjunctions = _merge_members(conjunctions, formulas, _array_members, _array_with)
    elif kind in {Numbers, Strings}:
        conjunctions = _merge_constants(conjunctions)
    else:
        first = conjunctions[0]
        for other in conjunctions[1:]:
            first = type(first)(first.type, first.allowed | other.allowed)
        return [first]
    if 1 < len(conjunctions) <= _SUBSUMPTION_LIMIT:
        conjunctions = _without_covered(conjunctions)
    return conjunctions


def _without_covered(conjunctions: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for candidate in conjunctions:
        if any(candidate.implies(other) for other in kept):
            continue
        kept = [other for other in kept if not other.implies(candidate)]
        kept.append(candidate)
    return kept


def _merge_constants(conjunctions: list[Any]) -> list[Any]:
    """One set of constants out of several."""
    groups: dict[Any, Any] = {}
    kept: list[Any] = []
    for conjunction in conjunctions:
        if conjunction.allowed is None:
            kept.append(conjunction)
            continue
        if isinstance(conjunction, Numbers):
            key: Any = conjunction.digits
        else:
            key = (frozenset(conjunction.passes), frozenset(conjunction.fails))
        known = groups.get(key)
        if known is None:
            groups[key] = conjunction
            continue
        union = type(conjunction)()
        union.allowed = known.allowed | conjunction.allowed
        if isinstance(conjunction, Numbers):
            union.digits = conjunction.digits
        else:
            union.passes, union.fails = conjunction.passes, conjunction.fails
        groups[key] = union
    return [*groups.values(), *kept]


def _merge_members(
    conjunctions: list[Any], formulas: Formulas, members_of: Any, with_member: Any
) -> list[Any]:
    """Merge as long as two differ in one member. Members: name to (formula, required)."""
    queue = list(reversed(conjunctions))
    alive: dict[int, tuple[Any, dict[Any, tuple[Value, bool]], Any]] = {}
    by_rest: dict[tuple[Any, int], list[int]] = {}
    by_sum: dict[int, list[int]] = {}
    number = 0
    while queue:
        conjunction = queue.pop()
        members, outline = members_of(conjunction, formulas)
        hashes = {k: hash((k, v.number, required)) for k, (v, required) in members.items()}
        total = sum(hashes.values()) + hash(outline)
        found = None
        for name, part in [*hashes.items(), (None, 0)]:
            for other in by_rest.get((name, total - part), ()):
                if other not in alive:
                    continue
                _, theirs, their_outline = alive[other]
                name_there = name if name is not None else _missing(members, theirs)
                if outline == their_outline and _differ_only(members, theirs, name_there):
                    found = other, name_there
                    break
            if found:
                break
        else:
            found = _covered_key(members, outline, hashes, total, by_sum, alive)
        if found is None:
            alive[number] = (conjunction, members, outline)
            for name, part in hashes.items():
                by_rest.setdefault((name, total - part), []).append(number)
                by_rest.setdefault((None, total - part), []).append(number)
            by_sum.setdefault(total, []).append(number)
            number += 1
            continue
        other, name = found
        _, theirs, _ = alive.pop(other)
        mine, yours = members.get(name, (TRUE, False)), theirs.get(name, (TRUE, False))
        union = formulas.disjunction(mine[0], yours[0])
        queue.append(with_member(conjunction, members, name, (union, mine[1] and yours[1])))
    return [conjunction for conjunction, _, _ in alive.values()]


def _covered_key(
    members: Any, outline: Any, hashes: Any, total: int, by_sum: Any, alive: Any
) -> tuple[int, Any] | None:
    """An alternative equal to this one but for a key it does not mention; or equal to it."""
    for name, part in [*hashes.items(), (None, 0)]:
        for other in by_sum.get(total - part, ()):
            if other in alive:
                _, theirs, their_outline = alive[other]
                if outline == their_outline and _differ_only(members, theirs, name):
                    return other, name
    return None


def _missing(members: dict[Any, Any], theirs: dict[Any, Any]) -> Any:
    return next((name for name in theirs if name not in members), None)


def _differ_only(members: dict[Any, Any], theirs: dict[Any, Any], name: Any) -> bool:
    """Whether two tables of members are equal but for one name."""
    here = len(members) - (name in members)
    if here != len(theirs) - (name in theirs):
        return False
    return all(theirs.get(k) == member for k, member in members.items() if k != name)


def _object_members(
    conjunction: Objects, formulas: Formulas
) -> tuple[dict[Any, tuple[Value, bool]], Any]:
    canonical = formulas.canonical
    members: dict[Any, tuple[Value, bool]] = {
        name: (canonical(value), required)
        for name, (value, required) in conjunction.keys.items()
        if value is not TRUE or required
    }
    return members, conjunction.outline()


def _object_with(
    conjunction: Objects,
    members: dict[Any, tuple[Value, bool]],
    name: str,
    member: tuple[Value, bool],
) -> Objects:
    union = Objects()
    union.keys = dict(conjunction.keys)
    if name is not None:
        union.keys[name] = member
    union.universals = conjunction.universals
    union.somewhere = conjunction.somewhere
    union.shortest, union.longest = conjunction.shortest, conjunction.longest
    union.excluded = conjunction.excluded
    return union


def _array_members(
    conjunction: Arrays, formulas: Formulas
) -> tuple[dict[Any, tuple[Value, bool]], Any]:
    members = {i: (formulas.canonical(value), True) for i, value in enumerate(conjunction.prefix)}
    return members, (
        len(conjunction.prefix),
        formulas.canonical(conjunction.rest),
        *conjunction.identity()[2:],
    )


def _array_with(
    conjunction: Arrays,
    members: dict[Any, tuple[Value, bool]],
    name: int,
    member: tuple[Value, bool],
) -> Arrays:
    union = Arrays()
    prefix = [value for value, _ in members.values()]
    if name is not None:
        prefix[name] = member[0]
    union.prefix = tuple(prefix)
    union.rest = conjunction.rest
    union.shortest, union.longest = conjunction.shortest, conjunction.longest
    union.counts, union.somewhere = conjunction.counts, conjunction.somewhere
    union.unique, union.excluded = conjunction.unique, conjunction.excluded
    return union
