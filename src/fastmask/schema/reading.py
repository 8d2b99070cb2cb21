"""Keywords into clauses: what each keyword says about a value of one type.

`read` goes once over the keywords of a schema and looks each up in the table of the type asked
for. A reader appends clauses; their conjunction is the schema, their duals' disjunction its
negation, so every keyword is read in one place for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from . import literals as lit
from .constants import ALL_TYPES, ARRAY, NUMBER, OBJECT, STRING, Constant, exact
from .formats import LONGEST
from .keywords import TYPE_MASKS, Draft
from .literals import Clause
from .unevaluated import unevaluated_items, unevaluated_properties
from .values import FALSE, TRUE, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["exact_container", "read", "types_named"]

Reader: TypeAlias = "Callable[[Formulas, Value, Any, list[Clause]], None]"


def read(formulas: Formulas, schema: Value, type_: int) -> list[Clause] | None:
    """Clauses whose conjunction is ``schema`` for values of one type; None if it has none."""
    if not schema.types >> type_ & 1:
        return None
    node = schema.node
    place = id(node)
    draft = schema.resource.draft
    clauses: list[Clause] = []
    if draft.ref_alone and "$ref" in node:
        node = {"$ref": node["$ref"]}
    readers = (draft.readers or readers_of(draft))[type_]
    left_out = formulas.left_out
    for keyword, value in node.items():
        if left_out and (place, keyword) in left_out:
            clauses.append((lit.UNKNOWN,))
            continue
        reader = readers.get(keyword)
        if reader is not None:
            reader(formulas, schema, value, clauses)
    return clauses


def types_named(names: str | list[str]) -> int:
    """The types that ``type`` names, as bits."""
    if isinstance(names, str):
        return TYPE_MASKS[names]
    mask = 0
    for name in names:
        mask |= TYPE_MASKS[name]
    return mask


def exact_container(formulas: Formulas, constant: Constant) -> list[Clause]:
    """Literals that only one array or object passes."""
    only = formulas.among
    if constant.type == ARRAY:
        length = len(constant.items)
        literals: list[Clause] = [(lit.MIN_ITEMS, length), (lit.MAX_ITEMS, length)]
        literals.extend(
            (lit.EACH_ITEM, i, i + 1, only((item,))) for i, item in enumerate(constant.items)
        )
        return literals
    members = constant.members
    literals = [(lit.SOME_KEY, name, only((key,))) for name, key in members.items()]
    others = formulas.key_class(frozenset(members), (), ())
    literals.append((lit.EACH_KEY, others, FALSE))
    return literals


# Any type.


def _type(formulas: Formulas, schema: Value, names: Any, out: list[Clause]) -> None:
    """For numbers: `integer` without `number`. Everything else is in the value's type bits."""
    if names == "integer" or (not isinstance(names, str) and "number" not in names):
        out.append((lit.DIGITS if schema.resource.draft.year == 4 else lit.INTEGER, True))


def _constants(type_: int) -> Reader:
    def enum(formulas: Formulas, schema: Value, values: Any, out: list[Clause]) -> None:
        out.append((lit.AMONG_CONSTANTS, formulas.constants_of(values)[type_]))

    return enum


def _constant(type_: int) -> Reader:
    def const(formulas: Formulas, schema: Value, value: Any, out: list[Clause]) -> None:
        out.append((lit.AMONG_CONSTANTS, formulas.constants_of((value,))[type_]))

    return const


def _all_of(formulas: Formulas, schema: Value, nodes: Any, out: list[Clause]) -> None:
    out.extend((lit.VALUE, formulas.child(schema, node)) for node in nodes)


def _any_of(formulas: Formulas, schema: Value, nodes: Any, out: list[Clause]) -> None:
    out.append((lit.ANY, [(lit.VALUE, formulas.child(schema, node)) for node in nodes]))


def _one_of(formulas: Formulas, schema: Value, nodes: Any, out: list[Clause]) -> None:
    out.append((lit.ONE, [formulas.child(schema, node) for node in nodes]))


def _not(formulas: Formulas, schema: Value, node: Any, out: list[Clause]) -> None:
    out.append((lit.VALUE, formulas.negation(formulas.child(schema, node))))


def _if(formulas: Formulas, schema: Value, node: Any, out: list[Clause]) -> None:
    then, otherwise = schema.node.get("then", True), schema.node.get("else", True)
    if then is not True or otherwise is not True:
        parts = (formulas.child(schema, part) for part in (node, then, otherwise))
        out.append((lit.CASES, *parts))


def _ref(formulas: Formulas, schema: Value, reference: str, out: list[Clause]) -> None:
    out.append((lit.VALUE, formulas.referred(schema, "$ref", reference)))


def _dynamic_ref(formulas: Formulas, schema: Value, reference: str, out: list[Clause]) -> None:
    out.append((lit.VALUE, formulas.referred(schema, "$dynamicRef", reference)))


def _recursive_ref(formulas: Formulas, schema: Value, reference: str, out: list[Clause]) -> None:
    out.append((lit.VALUE, formulas.referred(schema, "$recursiveRef", reference)))


# Numbers.


def _minimum(formulas: Formulas, schema: Value, bound: Any, out: list[Clause]) -> None:
    strict = schema.node.get("exclusiveMinimum") is True
    out.append((lit.ABOVE if strict else lit.AT_LEAST, exact(bound)))


def _maximum(formulas: Formulas, schema: Value, bound: Any, out: list[Clause]) -> None:
    strict = schema.node.get("exclusiveMaximum") is True
    out.append((lit.BELOW if strict else lit.AT_MOST, exact(bound)))


def _exclusive_minimum(formulas: Formulas, schema: Value, bound: Any, out: list[Clause]) -> None:
    if not isinstance(bound, bool):
        out.append((lit.ABOVE, exact(bound)))


def _exclusive_maximum(formulas: Formulas, schema: Value, bound: Any, out: list[Clause]) -> None:
    if not isinstance(bound, bool):
        out.append((lit.BELOW, exact(bound)))


def _multiple_of(formulas: Formulas, schema: Value, divisor: Any, out: list[Clause]) -> None:
    out.append((lit.MULTIPLE, exact(divisor), True))


# Strings.


def _min_length(formulas: Formulas, schema: Value, length: Any, out: list[Clause]) -> None:
    out.append((lit.MIN_LENGTH, int(length)))


def _max_length(formulas: Formulas, schema: Value, length: Any, out: list[Clause]) -> None:
    out.append((lit.MAX_LENGTH, int(length)))


def _pattern(formulas: Formulas, schema: Value, pattern: str, out: list[Clause]) -> None:
    out.append(formulas.pattern_literal(pattern))


def _format(formulas: Formulas, schema: Value, name: str, out: list[Clause]) -> None:
    if formulas.is_asserted(name):
        out.append((lit.MATCHES, ("format", name), True))
        if name in LONGEST:
            out.append((lit.MAX_LENGTH, LONGEST[name]))


# Arrays.


def _items(formulas: Formulas, schema: Value, items: Any, out: list[Clause]) -> None:
    if isinstance(items, list | tuple):
        _prefix_items(formulas, schema, items, out)
    else:
        first = 0
        if schema.resource.draft.year >= 2020:
            first = len(schema.node.get("prefixItems", ()))
        out.append((lit.EACH_ITEM, first, None, formulas.child(schema, items)))


def _prefix_items(formulas: Formulas, schema: Value, nodes: Any, out: list[Clause]) -> None:
    out.extend(
        (lit.EACH_ITEM, i, i + 1, formulas.child(schema, node)) for i, node in enumerate(nodes)
    )


def _additional_items(formulas: Formulas, schema: Value, node: Any, out: list[Clause]) -> None:
    items = schema.node.get("items")
    if isinstance(items, list | tuple):
        out.append((lit.EACH_ITEM, len(items), None, formulas.child(schema, node)))


def _contains(formulas: Formulas, schema: Value, node: Any, out: list[Clause]) -> None:
    value = formulas.child(schema, node)
    least, most = 1, None
    if "minContains" in schema.resource.draft.shapes:
        least, most = schema.node.get("minContains", 1), schema.node.get("maxContains")
    if least > 0:
        out.append((lit.COUNT_MIN, value, int(least)))
    if most is not None:
        out.append((lit.COUNT_MAX, value, int(most)))


def _min_items(formulas: Formulas, schema: Value, number: Any, out: list[Clause]) -> None:
    out.append((lit.MIN_ITEMS, int(number)))


def _max_items(formulas: Formulas, schema: Value, number: Any, out: list[Clause]) -> None:
    out.append((lit.MAX_ITEMS, int(number)))


def _unique_items(formulas: Formulas, schema: Value, unique: bool, out: list[Clause]) -> None:
    if unique:
        out.append((lit.UNIQUE, True))


def _unevaluated_items(formulas: Formulas, schema: Value, node: Any, out: list[Clause]) -> None:
    out.extend(unevaluated_items(formulas, schema, formulas.child(schema, node)))


# Objects.


def _properties(formulas: Formulas, schema: Value, nodes: Any, out: list[Clause]) -> None:
    child = formulas.child
    out.extend([(lit.EACH_KEY, name, child(schema, node)) for name, node in nodes.items()])


def _pattern_properties(formulas: Formulas, schema: Value, nodes: Any, out: list[Clause]) -> None:
    for pattern, node in nodes.items():
        where = formulas.key_class(frozenset(), (("pattern", pattern),), ())
        out.append((lit.EACH_KEY, where, formulas.child(schema, node)))


def _additional_properties(formulas: Formulas, schema: Value, node: Any, out: list[Clause]) -> None:
    value = formulas.child(schema, node)
    if value is not TRUE:
        named = frozenset(schema.node.get("properties", ()))
        patterns = tuple(("pattern", p) for p in schema.node.get("patternProperties", ()))
        out.append((lit.EACH_KEY, formulas.key_class(named, (), patterns), value))


def _property_names(formulas: Formulas, schema: Value, node: Any, out: list[Clause]) -> None:
    names = formulas.child(schema, node)
    if names is not TRUE:
        wrong = formulas.key_class(frozenset(), (formulas.negation(names),), ())
        out.append((lit.EACH_KEY, wrong, FALSE))


def _required(formulas: Formulas, schema: Value, names: Any, out: list[Clause]) -> None:
    out.extend([(lit.SOME_KEY, name, TRUE) for name in names])


def _min_properties(formulas: Formulas, schema: Value, number: Any, out: list[Clause]) -> None:
    out.append((lit.MIN_KEYS, int(number)))


def _max_properties(formulas: Formulas, schema: Value, number: Any, out: list[Clause]) -> None:
    out.append((lit.MAX_KEYS, int(number)))


def _dependencies(formulas: Formulas, schema: Value, table: Any, out: list[Clause]) -> None:
    for name, wanted in table.items():
        absent = (lit.EACH_KEY, name, FALSE)
        if isinstance(wanted, list | tuple):
            present = [(lit.SOME_KEY, other, TRUE) for other in wanted]
            if present:
                out.append((lit.ANY, [absent, (lit.ALL, present)]))
        else:
            out.append((lit.ANY, [absent, (lit.VALUE, formulas.child(schema, wanted))]))


def _unevaluated_properties(
    formulas: Formulas, schema: Value, node: Any, out: list[Clause]
) -> None:
    out.extend(unevaluated_properties(formulas, schema, formulas.child(schema, node)))


_ANY_TYPE: dict[str, Reader] = {
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "$ref": _ref,
    "$dynamicRef": _dynamic_ref,
    "$recursiveRef": _recursive_ref,
}
_BY_TYPE: dict[int, dict[str, Reader]] = {
    NUMBER: {
        "type": _type,
        "minimum": _minimum,
        "maximum": _maximum,
        "exclusiveMinimum": _exclusive_minimum,
        "exclusiveMaximum": _exclusive_maximum,
        "multipleOf": _multiple_of,
    },
    STRING: {
        "minLength": _min_length,
        "maxLength": _max_length,
        "pattern": _pattern,
        "format": _format,
    },
    ARRAY: {
        "items": _items,
        "prefixItems": _prefix_items,
        "additionalItems": _additional_items,
        "contains": _contains,
        "minItems": _min_items,
        "maxItems": _max_items,
        "uniqueItems": _unique_items,
        "unevaluatedItems": _unevaluated_items,
    },
    OBJECT: {
        "properties": _properties,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "propertyNames": _property_names,
        "required": _required,
        "minProperties": _min_properties,
        "maxProperties": _max_properties,
        "dependencies": _dependencies,
        "dependentRequired": _dependencies,
        "dependentSchemas": _dependencies,
        "unevaluatedProperties": _unevaluated_properties,
    },
}


def readers_of(draft: Draft) -> list[dict[str, Reader]]:
    """By type: the readers of the keywords that a draft knows; made once for each draft."""
    tables = []
    for type_ in range(ALL_TYPES.bit_length()):
        table = {
            **_ANY_TYPE,
            "enum": _constants(type_),
            "const": _constant(type_),
            **_BY_TYPE.get(type_, {}),
        }
        tables.append({k: reader for k, reader in table.items() if k in draft.shapes})
    draft.readers = tables
    return tables
