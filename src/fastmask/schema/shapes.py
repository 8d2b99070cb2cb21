"""What a schema says, as something hashable: equal for schemas that differ in annotations alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import keywords
from .references import schemas_below
from .values import SCHEMA, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["shape"]

_UNORDERED = frozenset(("allOf", "anyOf", "oneOf"))


def shape(formulas: Formulas, root: Value) -> Iterator[tuple[Value, Any]]:
    """Each schema inside ``root`` and then itself, with its shape.

    The caller has to set ``canonical`` before it asks for the next one, since the shape of a
    schema is made of its children's. References count by where they lead, so recursion ends there.
    """
    stack: list[tuple[Value, bool]] = [(root, False)]
    while stack:
        value, ready = stack.pop()
        if value.canonical is not None or value.kind != SCHEMA:
            continue
        if ready:
            yield value, _shape(formulas, value)
        else:
            stack.append((value, True))
            stack.extend((child, False) for child in _children(formulas, value))


def _children(formulas: Formulas, value: Value) -> Iterator[Value]:
    """Formulas of the schemas inside a schema, but not of those it refers to."""
    for keyword, node in schemas_below(value.node, value.resource.draft):
        if keyword not in _SILENT and isinstance(node, dict):
            child = formulas.child(value, node)
            if child.kind == SCHEMA and child.node is node:
                yield child


def _shape(formulas: Formulas, value: Value) -> Any:
    node, draft = value.node, value.resource.draft
    parts: list[Any] = [draft.name, value.scope]
    alone = draft.ref_alone and "$ref" in node
    for keyword, content in node.items():
        kind = draft.shapes.get(keyword)
        if kind is None or keyword in _SILENT or (alone and keyword != "$ref"):
            continue
        parts.append((keyword, _part(formulas, value, keyword, kind, content)))
    return frozenset(parts) if len(parts) > 1 else ()


_SILENT = frozenset(
    "$id id $schema $anchor $dynamicAnchor $recursiveAnchor definitions $defs contentSchema".split()
)


def _part(formulas: Formulas, value: Value, keyword: str, kind: int, content: Any) -> Any:
    def number(child: Any) -> int:
        formula = formulas.child(value, child)
        return (formula.canonical or formula).number

    if kind == keywords.SCHEMA:
        return number(content)
    if kind in {keywords.SCHEMAS, keywords.SCHEMA_OR_SCHEMAS}:
        if not isinstance(content, list | tuple):
            return number(content)
        numbers = list(map(number, content))
        return tuple(sorted(numbers) if keyword in _UNORDERED else numbers)
    if kind in {keywords.SCHEMAS_BY_NAME, keywords.PATTERNS}:
        return frozenset((name, number(child)) for name, child in content.items())
    if kind == keywords.DEPENDENCIES:
        return frozenset(
            (name, frozenset(child) if isinstance(child, list | tuple) else number(child))
            for name, child in content.items()
        )
    if kind == keywords.REFERENCE:
        return formulas.referred(value, keyword, content).number
    if kind == keywords.STRINGS:
        return frozenset(content)
    if kind == keywords.ENUMERATION:
        return frozenset().union(*formulas.constants_of(content))
    return formulas.constants.key(content)
