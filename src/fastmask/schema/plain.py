"""Schemas that plainly hold something, told from their keywords without typing a formula.

One type is enough of which the keywords exclude nothing, or too little: a bound on one side, a
least length, required keys that plainly hold something themselves. What is not plain is no news.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .constants import ARRAY, BOOLEAN, NULL, NUMBER, OBJECT, STRING, can_be_spelled, exact
from .strings import surely_matches
from .values import AMONG, EXCEPT, SCHEMA, TRUE, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["Plainness", "is_plain"]

_DEEPEST = 4
# Keywords about values of any type.
_ANY_TYPE = frozenset(
    "enum const allOf anyOf oneOf not if $ref $dynamicRef $recursiveRef".split(),
)
# Keywords without which there are values of a type whatever else is said.
_DECIDE = {
    NUMBER: frozenset("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split()),
    STRING: frozenset("minLength maxLength pattern format".split()),
    ARRAY: frozenset("minItems contains minContains maxContains uniqueItems".split()),
    OBJECT: frozenset("required minProperties".split()),
}
# Keywords beside which a least number of items, or required keys, are not plain.
_OF_ITEMS = frozenset(
    "contains minContains maxContains uniqueItems prefixItems additionalItems "
    "unevaluatedItems".split()
)
_OF_KEYS = frozenset(
    "minProperties maxProperties propertyNames patternProperties dependencies dependentRequired "
    "dependentSchemas unevaluatedProperties".split()
)


class Plainness:
    """Which formulas of one schema plainly hold something."""

    def __init__(self, formulas: Formulas) -> None:
        self._formulas = formulas
        self._known: dict[Value, bool] = {}

    def holds(self, value: Value, depth: int = _DEEPEST) -> bool:
        """Whether a formula plainly holds something; False says nothing."""
        kind = value.kind
        if kind != SCHEMA:
            among = value.constants if kind == AMONG else ()
            return value is TRUE or kind == EXCEPT or any(map(can_be_spelled, among))
        known = self._known.get(value)
        if known is None:
            known = depth > 0 and _ANY_TYPE.isdisjoint(value.node) and self._admits(value, depth)
            if known or depth == _DEEPEST:
                self._known[value] = known
        return known

    def _admits(self, value: Value, depth: int) -> bool:
        """Whether what the schema says of some type is plainly possible."""
        node, types = value.node, value.types
        if types & (1 << NULL | 1 << BOOLEAN):
            return True
        if any(types >> t & 1 and words.isdisjoint(node) for t, words in _DECIDE.items()):
            return True
        if self._formulas.left_out:
            return False  # what is left out may be malformed
        return (
            bool(types >> NUMBER & 1 and _some_number(node))
            or bool(types >> STRING & 1 and _some_string(node))
            or bool(types >> ARRAY & 1 and self._some_array(value, depth))
            or bool(types >> OBJECT & 1 and self._some_object(value, depth))
        )

    def _some_array(self, value: Value, depth: int) -> bool:
        node = value.node
        if not _OF_ITEMS.isdisjoint(node) or not _in_order(node, "minItems", "maxItems"):
            return False
        items = node.get("items", True)
        return not isinstance(items, list) and self._part_holds(value, items, depth)

    def _some_object(self, value: Value, depth: int) -> bool:
        node = value.node
        if not _OF_KEYS.isdisjoint(node) or not isinstance(node["required"], list):
            return False
        named, others = node.get("properties", {}), node.get("additionalProperties", True)
        return all(
            can_be_spelled(name) and self._part_holds(value, named.get(name, others), depth)
            for name in node["required"]
        )

    def _part_holds(self, value: Value, node: Any, depth: int) -> bool:
        return self.holds(self._formulas.child(value, node), depth - 1)


def is_plain(conjunction: Any) -> bool:
    """Whether a conjunction plainly holds something: what is empty, or a number far off."""
    c, type_ = conjunction, conjunction.type
    if type_ == OBJECT:
        asked = c.excluded or c.somewhere or c.shortest
        return not asked and not any(needed for _, needed in c.keys.values())
    if type_ == ARRAY:
        return not (c.excluded or c.counts or c.somewhere or c.shortest) and c.unique is not False
    if type_ == NUMBER:
        special = c.allowed is not None or c.others or c.integer is False or c.digits is not None
        return not special and (c.lower is None or c.upper is None)
    return False


def _some_number(node: dict[str, Any]) -> bool:
    below = "minimum" in node or "exclusiveMinimum" in node
    above = "maximum" in node or "exclusiveMaximum" in node
    if not (below and above):
        return True
    others = "exclusiveMinimum", "exclusiveMaximum", "multipleOf"
    # Between numbers that are one apart there is an integer.
    is_plain = not any(word in node for word in others)
    return is_plain and exact(node["maximum"]) - exact(node["minimum"]) >= 1


def _some_string(node: dict[str, Any]) -> bool:
    has_lengths = "minLength" in node or "maxLength" in node
    if "pattern" in node:
        test = ("pattern", node["pattern"])
        return not has_lengths and "format" not in node and surely_matches(test)
    if "format" in node:
        return not has_lengths
    return _in_order(node, "minLength", "maxLength")


def _in_order(node: dict[str, Any], least: str, most: str) -> bool:
    return bool(node.get(least, 0) <= node.get(most, node.get(least, 0)))
