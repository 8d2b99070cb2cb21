"""Value formulas: sets of JSON values, built from schemas, constants, and, or and not.

    V ::= everything | nothing | schema | not schema | among {constants} | except {constants}
        | V and ... and V | V or ... or V

A schema here is a place: a node of a document, the resource it is read in, and the dynamic scope.
It is never expanded by itself, so recursion stops here. Each formula is one object, made by
`fastmask.schema.formulas.Formulas`, which sees to it that equal ones are the same object.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from .constants import ALL_TYPES, Key
from .references import Resource

__all__ = [
    "AMONG",
    "AND",
    "EVERYTHING",
    "EXCEPT",
    "FALSE",
    "KeyClass",
    "NOTHING",
    "NOT_SCHEMA",
    "OPEN",
    "OR",
    "SCHEMA",
    "TRUE",
    "Test",
    "UNKNOWN",
    "Value",
]

#: In `Value.formulas`: not asked for yet, and being made.
UNKNOWN: Any = ...
OPEN: Any = object()

EVERYTHING, NOTHING, SCHEMA, NOT_SCHEMA, AMONG, EXCEPT, AND, OR = range(8)


class Value:
    """A set of JSON values.

    Attributes
    ----------
    kind : int
        One of the kinds above.
    number : int
        Order of creation; operands are sorted by it.
    types : int
        Bit ``1 << type`` is clear only if no value of that type is in the set.
    node, resource, scope : dict, Resource, tuple[Resource, ...]
        The place of a ``SCHEMA`` or ``NOT_SCHEMA``.
    only_types : bool
        Whether the set is all values of those types.
    constants : frozenset[Key]
        Of ``AMONG`` and ``EXCEPT``.
    parts : tuple[Value, ...]
        Operands of ``AND`` and ``OR``.
    complement : Value | None
        All other values, once it was asked for.
    formulas, disjuncts : list
        By type: the typed formula and its disjuncts, once they were asked for.
    """

    __slots__ = (
        "canonical",
        "complement",
        "constants",
        "disjuncts",
        "formulas",
        "kind",
        "node",
        "number",
        "only_types",
        "parts",
        "resource",
        "scope",
        "types",
    )

    def __init__(self, kind: int, number: int, types: int) -> None:
        self.kind = kind
        self.number = number
        self.types = types
        self.only_types = kind <= NOTHING
        self.complement: Value | None = None
        self.canonical: Value | None = None
        self.formulas: list[Any] = [UNKNOWN] * 6
        self.disjuncts: list[Any] = [None] * 6
        self.parts: tuple[Value, ...] = ()
        self.constants: frozenset[Key] = frozenset()

    node: dict[str, Any]
    resource: Resource
    scope: tuple[Resource, ...]

    def __repr__(self) -> str:
        if self.kind == SCHEMA:
            return repr(self.node)
        if self.kind == NOT_SCHEMA:
            return f"not {self.node!r}"
        if self.kind in {AMONG, EXCEPT}:
            return f"{'among' if self.kind == AMONG else 'except'} {set(self.constants)!r}"
        if self.kind in {AND, OR}:
            return f"({(' and ' if self.kind == AND else ' or ').join(map(repr, self.parts))})"
        return "everything" if self.kind == EVERYTHING else "nothing"


TRUE = Value(EVERYTHING, 0, ALL_TYPES)
FALSE = Value(NOTHING, 1, 0)
TRUE.complement, FALSE.complement = FALSE, TRUE

# A question about a string: ("pattern", text), ("format", name), or whether it is in a formula.
Test: TypeAlias = tuple[str, str] | Value


class KeyClass:
    """Keys that are none of ``names``, pass every test of ``inside`` and none of ``outside``."""

    __slots__ = ("inside", "names", "outside")

    def __init__(
        self, names: frozenset[str], inside: tuple[Test, ...], outside: tuple[Test, ...]
    ) -> None:
        self.names = names
        self.inside = inside
        self.outside = outside

    def __repr__(self) -> str:
        return f"KeyClass(not {set(self.names)}, inside {self.inside}, outside {self.outside})"
