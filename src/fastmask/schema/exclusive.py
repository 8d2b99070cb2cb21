"""Which branches of a ``oneOf`` overlap: those that do not need "and none of the others".

Told by tags first (a required key whose constants, or words of a pattern, differ), then by
contradiction pair by pair, then by looking for an instance of both with a small budget. In doubt
two branches overlap: the formula is then larger, never wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .constants import STRING
from .containers import Objects
from .expand import base_of
from .literals import AMONG_CONSTANTS
from .reading import read
from .values import AMONG, SCHEMA, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["overlaps"]

_PAIR_LIMIT = 20_000


def overlaps(branches: list[Any], formulas: Formulas) -> list[set[int]]:
    """For each typed formula, the indices of the others that may share a value with it."""
    number = len(branches)
    found: list[set[int]] = [set() for _ in branches]
    tags = _tags(branches, formulas)
    pairs = number * (number - 1) // 2
    for i in range(number):
        formulas.spend(number - i)
        for j in range(i + 1, number):
            if tags and tags[i] and tags[j] and tags[i].isdisjoint(tags[j]):
                continue
            apart = base_of(branches[i]).conflicts(base_of(branches[j]), formulas)
            if not apart and pairs <= _PAIR_LIMIT:
                apart = formulas.are_apart(branches[i], branches[j])
            if not apart:
                found[i].add(j)
                found[j].add(i)
    return found


def _tags(branches: list[Any], formulas: Formulas) -> list[frozenset[Any]] | None:
    """Constants of the required key that tells most branches apart; empty where it is missing."""
    if not all(isinstance(base_of(branch), Objects) for branch in branches):
        return None
    tables: dict[str, list[frozenset[Any]]] = {}
    for i, branch in enumerate(branches):
        for name, (value, required) in base_of(branch).keys.items():
            constants = _constants(value, formulas) if required else None
            if constants:
                table = tables.setdefault(name, [frozenset()] * len(branches))
                table[i] = constants
    return max(tables.values(), key=lambda t: len(set(t)), default=None)


def _constants(value: Value, formulas: Formulas) -> frozenset[Any] | None:
    """Constants that all values of a formula are among, told from its outside."""
    if value.kind == AMONG:
        return value.constants
    if value.kind == SCHEMA and value.types == 1 << STRING:
        for clause in read(formulas, value, STRING) or ():
            if clause[0] == AMONG_CONSTANTS:
                return frozenset(clause[1])
    return None
