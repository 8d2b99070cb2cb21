"""``unevaluatedProperties`` and ``unevaluatedItems``: said key by key and item by item.

What is evaluated depends on which in-place subschemas hold. Instead of a case for every set of
branches that may hold (exponential), each key gets one clause: its member is in the formula of the
keyword, or some branch that evaluates the key holds. Only conditional patterns, and conditional
``contains``, still need a case for each subset of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import BudgetError
from . import literals as lit
from .literals import Clause
from .values import SCHEMA, TRUE, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["unevaluated_items", "unevaluated_properties"]

_SUBSET_LIMIT = 8
_SOURCE_LIMIT = 5_000

Guard = tuple[Clause, ...]


class _Source(NamedTuple):
    """A schema whose keywords evaluate members of the same value, if all of ``guard`` holds."""

    schema: Value
    guard: Guard


def unevaluated_properties(formulas: Formulas, schema: Value, value: Value) -> list[Clause]:
    """Clauses of ``unevaluatedProperties: value`` in a schema."""
    if value is TRUE:
        return []
    names: dict[str, list[Guard]] = {}
    patterns: dict[str, list[Guard]] = {}
    everywhere: list[Guard] = []
    for source, guard in _sources(formulas, schema):
        node, shapes = source.node, source.resource.draft.shapes
        for name in node.get("properties", ()) if "properties" in shapes else ():
            names.setdefault(name, []).append(guard)
        for pattern in node.get("patternProperties", ()) if "patternProperties" in shapes else ():
            patterns.setdefault(pattern, []).append(guard)
        if _has(source, "additionalProperties") or (
            source is not schema and _has(source, "unevaluatedProperties")
        ):
            everywhere.append(guard)
    if () in everywhere:
        return []
    clauses: list[Clause] = []
    for name, guards in names.items():
        covering = [*guards, *everywhere]
        for pattern, more in patterns.items():
            if formulas.passes(("pattern", pattern), name):
                covering.extend(more)
        if () not in covering:
            clauses.append(_either((lit.EACH_KEY, name, value), covering))
    always = tuple(("pattern", p) for p, guards in patterns.items() if () in guards)
    sometimes = [p for p, guards in patterns.items() if () not in guards]
    for chosen in _subsets(sometimes, "conditional patterns beside unevaluatedProperties"):
        inside = tuple(("pattern", p) for p in chosen)
        outside = always + tuple(("pattern", p) for p in sometimes if p not in chosen)
        where = formulas.key_class(frozenset(names), inside, outside)
        covering = [*everywhere, *(guard for p in chosen for guard in patterns[p])]
        clauses.append(_either((lit.EACH_KEY, where, value), covering))
    return clauses


def unevaluated_items(formulas: Formulas, schema: Value, value: Value) -> list[Clause]:
    """Clauses of ``unevaluatedItems: value`` in a schema.

    ``contains`` evaluates the items it finds from draft 2020-12 on.
    """
    if value is TRUE:
        return []
    first: list[tuple[int, Guard]] = []
    everywhere: list[Guard] = []
    containing: list[tuple[Value, Guard]] = []
    for source, guard in _sources(formulas, schema):
        if any(clause[0] == lit.SOME_KEY for clause in guard):
            continue  # a dependency, which arrays do not have
        node, year = source.node, source.resource.draft.year
        items = node.get("items") if _has(source, "items") else None
        if isinstance(items, list | tuple):
            first.append((len(items), guard))
            if _has(source, "additionalItems"):
                everywhere.append(guard)
        elif items is not None:
            everywhere.append(guard)
        if _has(source, "prefixItems"):
            first.append((len(node["prefixItems"]), guard))
        if source is not schema and _has(source, "unevaluatedItems"):
            everywhere.append(guard)
        if _has(source, "contains") and year >= 2020:
            containing.append((formulas.child(source, node["contains"]), guard))
    if () in everywhere:
        return []
    found = formulas.disjunction(value, *(found for found, guard in containing if not guard))
    guarded = [(found, guard) for found, guard in containing if guard]
    start = max((length for length, guard in first if not guard), default=0)
    ends = sorted({length for length, guard in first if guard and length > start})
    clauses: list[Clause] = []
    for end in [*ends, None]:
        covering = list(everywhere)
        if end is not None:
            covering.extend(guard for length, guard in first if length >= end)
        alternatives: list[Clause] = []
        for chosen in _subsets(guarded, "conditional contains beside unevaluatedItems"):
            allowed = formulas.disjunction(found, *(more for more, _ in chosen))
            conditions = [clause for _, guard in chosen for clause in guard]
            alternatives.append((lit.ALL, [*conditions, (lit.EACH_ITEM, start, end, allowed)]))
        clauses.append((lit.ANY, [*alternatives, *((lit.ALL, guard) for guard in covering)]))
        start = end or start
    return clauses


def _sources(formulas: Formulas, schema: Value) -> Iterator[_Source]:
    """The schema and every schema it applies in place, with the conditions of each."""
    stack: list[tuple[_Source, tuple[Value, ...]]] = [(_Source(schema, ()), (schema,))]
    number = 0
    while stack:
        (source, guard), path = stack.pop()
        if source.kind != SCHEMA:
            continue
        number += 1
        if number > _SOURCE_LIMIT:
            raise BudgetError("schemas in place", _SOURCE_LIMIT, "combine fewer schemas")
        yield _Source(source, guard)
        for part, condition in _parts(formulas, source):
            if part in path:
                formulas.refuse_loop(part)
            stack.append((_Source(part, (*guard, *condition)), (*path, part)))


def _parts(formulas: Formulas, source: Value) -> Iterator[tuple[Value, Guard]]:
    node, draft = source.node, source.resource.draft
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if _has(source, keyword):
            yield formulas.referred(source, keyword, node[keyword]), ()
    if draft.ref_alone and "$ref" in node:
        return
    if _has(source, "allOf"):
        for child in node["allOf"]:
            yield formulas.child(source, child), ()
    for keyword in ("anyOf", "oneOf"):
        for child in node[keyword] if _has(source, keyword) else ():
            branch = formulas.child(source, child)
            yield branch, ((lit.VALUE, branch),)
    if _has(source, "if"):
        condition = formulas.child(source, node["if"])
        held: Guard = ((lit.VALUE, condition),)
        yield condition, held
        if "then" in node:
            yield formulas.child(source, node["then"]), held
        if "else" in node:
            failed = ((lit.VALUE, formulas.negation(condition)),)
            yield formulas.child(source, node["else"]), failed
    for name, child in node["dependentSchemas"].items() if _has(source, "dependentSchemas") else ():
        yield formulas.child(source, child), ((lit.SOME_KEY, name, TRUE),)


def _has(source: Value, keyword: str) -> bool:
    return keyword in source.node and keyword in source.resource.draft.shapes


def _either(literal: Clause, guards: list[Guard]) -> Clause:
    return (lit.ANY, [literal, *((lit.ALL, guard) for guard in guards)]) if guards else literal


def _subsets(items: list[Any], what: str) -> Iterator[tuple[Any, ...]]:
    if len(items) > _SUBSET_LIMIT:
        raise BudgetError(what, _SUBSET_LIMIT, "make some of them unconditional")
    for size in range(len(items) + 1):
        yield from combinations(items, size)
