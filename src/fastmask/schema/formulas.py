"""The algebra: value formulas joined and negated, and typed formulas made of them on demand.

`Formulas` holds one schema with its documents and makes every formula about it, each once. A
value formula is cheap and opaque; asking for it by JSON type reads its keywords into a typed
formula (a conjunction, and choices still open), and `conjunctions` expands that into alternatives.
Nothing is read before it is asked for: a schema of a thousand keys costs what its root costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, NoReturn

from ..errors import BudgetError, GrammarError, UnsupportedFeatureError
from . import literals as lit
from .constants import (
    ALL_TYPES,
    NULL,
    NUMBER,
    Constants,
    Key,
    Number,
    exact,
    key_type,
)
from .containers import Objects
from .emptiness import Emptiness
from .expand import Typed, all_of, expand
from .json_text import WrittenNumber
from .keywords import Draft
from .literals import Clause
from .reading import types_named
from .references import Documents, Node, Resource
from .shapes import shape
from .strings import finite_pattern, matches
from .typed import EVERY, Unfinished, typed
from .values import (
    AMONG,
    AND,
    EXCEPT,
    FALSE,
    NOT_SCHEMA,
    OPEN,
    OR,
    SCHEMA,
    TRUE,
    UNKNOWN,
    KeyClass,
    Test,
    Value,
)

__all__ = ["Formulas"]

_FORMULA_LIMIT = 10_000
_WORK_LIMIT = 1_000_000
_APART_STEPS = 300
_APART_DEPTH = 2
_NESTING_LIMIT = 2
_NONE: frozenset[Key] = frozenset()


class Formulas:
    """All formulas about one schema.

    Parameters
    ----------
    documents : Documents
        The schema with the documents it refers to.
    formats : Iterable[str]
        Names of the formats that are asserted.
    left_out : Mapping[tuple[int, str], GrammarError]
        What is to be left out, by identity of the schema and keyword, and why.

    Attributes
    ----------
    formats : frozenset[str]
        Names of the formats that are asserted.
    root : Value
        The formula of the schema itself.
    emptiness : Emptiness
        Facts about what the formulas hold.
    spellings : dict[Number, set[str]]
        How the schema's constants write numbers, where that is not the shortest way.
    is_worn : bool
        Whether so many are made for texts that have ended that new automata better have others.
    """

    def __init__(
        self,
        documents: Documents,
        formats: Iterable[str] = (),
        left_out: Mapping[tuple[int, str], GrammarError] | None = None,
    ) -> None:
        self.documents = documents
        self.constants = Constants()
        self.left_out = dict(left_out or {})
        self.formats = frozenset(formats)
        self._scoped = documents.dynamic
        self._single = documents.is_single
        self._places: dict[Any, Value] = {}
        self._interned: dict[Any, Value] = {}
        self._shapes: dict[Any, Value] = {}
        self._classes: dict[Any, KeyClass] = {}
        self._splits: dict[frozenset[Key], list[frozenset[Key]]] = {}
        self.spellings: dict[Number, set[str]] = {}
        self._enumerations: dict[int, list[frozenset[Key]]] = {}
        self._passed: dict[tuple[Test, str], bool] = {}
        #: Keys that are not named by the tests they pass: see `fastmask.schema.placing`.
        self.cells: dict[Any, list[Any]] = {}
        self._work = 0
        self._questions = 0
        self._number = 2
        self.is_worn = False
        self._derived = 0
        self._nesting = 0
        self.emptiness = Emptiness(self)
        root = documents.root
        self.root = self.place(root.root, root, (root,) if self._scoped else ())

    def spend(self, steps: int = 1) -> None:
        """Count work on one question; raises `BudgetError` past 1,000,000 steps."""
        self._work += steps
        if self._work > _WORK_LIMIT:
            raise BudgetError("steps on one question", _WORK_LIMIT, "combine fewer alternatives")

    @contextmanager
    def question(self) -> Iterator[None]:
        """What is asked inside; questions that it leads to share its budget."""
        if self._questions == 0:
            self._work = 0
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1

    @property
    def share_used(self) -> float:
        """How many of the formulas there may be are made, from 0 to 1."""
        return self._derived / _FORMULA_LIMIT

    def without(self, left_out: Mapping[tuple[int, str], GrammarError]) -> Formulas:
        """The formulas of the same documents with more left out."""
        return Formulas(self.documents, self.formats, {**self.left_out, **left_out})

    # Places.

    def place(self, node: Node, resource: Resource, scope: tuple[Resource, ...]) -> Value:
        """The formula of a schema at its place."""
        if node is True:
            return TRUE
        if node is False:
            return FALSE
        key: Any = id(node) if self._single else (id(node), resource, scope)
        known = self._places.get(key)
        if known is None:
            known = self._new_place(node, resource, scope)
            self._places[key] = known
        return known

    def child(self, schema: Value, node: Node) -> Value:
        """The formula of a schema that stands in another one."""
        if node is True:
            return TRUE
        if node is False:
            return FALSE
        if self._single:
            known = self._places.get(id(node))
            return known if known is not None else self.place(node, schema.resource, ())
        resource = self.documents.resource_of(node, schema.resource)
        return self.place(node, resource, self._entered(schema.scope, resource))

    def referred(self, schema: Value, keyword: str, reference: str) -> Value:
        """The formula of what a reference leads to."""
        documents, scope = self.documents, schema.scope
        if keyword == "$ref" or not self._scoped:
            node, resource = documents.resolve(reference, schema.resource)
        elif keyword == "$dynamicRef":
            node, resource = documents.resolve_dynamic(reference, schema.resource, scope)
        else:
            node, resource = documents.resolve_recursive(reference, schema.resource, scope)
        return self.place(node, resource, self._entered(scope, resource))

    def _entered(self, scope: tuple[Resource, ...], resource: Resource) -> tuple[Resource, ...]:
        return (*scope, resource) if self._scoped and resource not in scope else scope

    def _new_place(
        self, node: dict[str, Any], resource: Resource, scope: tuple[Resource, ...]
    ) -> Value:
        seen: set[int] = set()
        while True:
            words = self._words(node, resource.draft)
            if words != ["$ref"] or self._is_partial(node, words):
                break
            if id(node) in seen:
                raise UnsupportedFeatureError(
                    "$ref", "it leads back to itself", path=self.documents.pointer(node, "$ref")
                )
            seen.add(id(node))
            target, resource = self.documents.resolve(node["$ref"], resource)
            scope = self._entered(scope, resource)
            if isinstance(target, bool):
                return TRUE if target else FALSE
            node = target
        if not words:
            return TRUE
        if seen:
            return self.place(node, resource, scope)
        types = ALL_TYPES
        if self.left_out and self._is_partial(node, words):
            if "type" in words and (id(node), "type") not in self.left_out:
                types = self._types(node, resource.draft)
        else:
            if "type" in words:
                types = self._types(node, resource.draft)
                if len(words) == 1:
                    return self._only_types(node, types, resource, scope)
            if len(words) <= 2 and ("enum" in words or "const" in words):
                constants = self._enumerated(node, words, types)
                if constants is not None:
                    return self.among(constants)
        place = self._new(SCHEMA, types)
        place.node, place.resource, place.scope = node, resource, scope
        return place

    def _is_partial(self, node: dict[str, Any], words: list[str]) -> bool:
        """Whether any keyword of a schema is left out."""
        return bool(self.left_out) and any((id(node), word) in self.left_out for word in words)

    def _words(self, node: dict[str, Any], draft: Draft) -> list[str]:
        """The keywords of a schema that say something."""
        if draft.ref_alone and "$ref" in node:
            return ["$ref"]
        effective = draft.effective
        return [keyword for keyword in node if keyword in effective]

    def _types(self, node: dict[str, Any], draft: Draft) -> int:
        types = types_named(node["type"])
        if draft.nullable and node.get("nullable") is True:
            types |= 1 << NULL
        return types

    def _enumerated(
        self, node: dict[str, Any], words: list[str], types: int
    ) -> frozenset[Key] | None:
        """The constants of a schema that only lists them, and types perhaps."""
        if len(words) == 2 and "type" not in words:
            return None
        values = node["enum"] if "enum" in words else (node["const"],)
        by_type = self.constants_of(values)
        if types >> NUMBER & 1 and by_type[NUMBER] and "number" not in node.get("type", "number"):
            return None  # integers: what is one depends on the draft
        parts = [keys for t, keys in enumerate(by_type) if keys and types >> t & 1]
        return parts[0] if len(parts) == 1 else frozenset().union(*parts)

    def _only_types(
        self, node: dict[str, Any], types: int, resource: Resource, scope: tuple[Resource, ...]
    ) -> Value:
        """One formula for all schemas that say nothing but these types."""
        names = node["type"]
        integer = names == "integer" or ("integer" in names and "number" not in names)
        key = (types, integer and resource.draft.year)
        known = self._interned.get(key)
        if known is None:
            known = self._interned[key] = self._new(SCHEMA, types)
            known.node, known.resource, known.scope = node, resource, scope
            known.only_types = not integer
        return known

    def _new(self, kind: int, types: int) -> Value:
        value = Value(kind, self._number, types)
        self._number += 1
        return value

    # The algebra of value formulas.

    def among(self, constants: Iterable[Key]) -> Value:
        """Exactly these values."""
        return self._constants(AMONG, frozenset(constants))

    def exclude(self, value: Value, constants: Iterable[Key]) -> Value:
        """A formula without some values: ``Formulas.constants.key`` makes keys of JSON values."""
        return self.conjunction(value, self._constants(EXCEPT, frozenset(constants)))

    def _constants(self, kind: int, constants: frozenset[Key]) -> Value:
        if not constants:
            return FALSE if kind == AMONG else TRUE
        known = self._interned.get((kind, constants))
        if known is None:
            types = ALL_TYPES
            if kind == AMONG:
                types = sum(1 << t for t, keys in enumerate(self.split(constants)) if keys)
            known = self._interned[kind, constants] = self._new(kind, types)
            known.constants = constants
        return known

    def negation(self, value: Value) -> Value:
        """All other values."""
        known = value.complement
        if known is not None:
            return known
        if value.kind in {AMONG, EXCEPT}:
            known = self._constants(EXCEPT if value.kind == AMONG else AMONG, value.constants)
        elif value.kind in {AND, OR}:
            parts = map(self.negation, value.parts)
            known = self.disjunction(*parts) if value.kind == AND else self.conjunction(*parts)
        else:
            types = ALL_TYPES & ~value.types if value.only_types else ALL_TYPES
            known = self._new(NOT_SCHEMA, types)
            known.only_types = value.only_types
            known.node, known.resource, known.scope = value.node, value.resource, value.scope
        value.complement = known
        if known.complement is None:
            known.complement = value
        return known

    def conjunction(self, *values: Value) -> Value:
        """The values in all of the formulas."""
        if len(values) == 2:
            one, two = values
            if one is two or two is TRUE:
                return one
            if one is TRUE:
                return two
            if not one.types & two.types:
                return FALSE
        return self._join(AND, values)

    def disjunction(self, *values: Value) -> Value:
        """The values in any of the formulas."""
        if len(values) == 2:
            one, two = values
            if one is two or two is FALSE:
                return one
            if one is FALSE:
                return two
        return self._join(OR, values)

    def _join(self, kind: int, values: Sequence[Value]) -> Value:
        neutral, absorbing = (TRUE, FALSE) if kind == AND else (FALSE, TRUE)
        key = (kind, frozenset(values))
        known = self._interned.get(key)
        if known is not None:
            return known
        parts: dict[Value, None] = {}
        for value in values:
            parts.update(dict.fromkeys(value.parts if value.kind == kind else (value,)))
        if sum(part.kind in {SCHEMA, NOT_SCHEMA} for part in parts) > 1:
            parts = dict.fromkeys(map(self.canonical, parts))
        parts.pop(neutral, None)
        result = None
        if absorbing in parts or any(part.complement in parts for part in parts):
            result = absorbing
        else:
            sets = [part for part in parts if part.kind in {AMONG, EXCEPT}]
            if sets:
                folded = self._fold(kind, sets)
                for part in sets:
                    del parts[part]
                if folded is absorbing:
                    result = absorbing
                elif folded is not neutral:
                    parts[folded] = None
        if result is None:
            result = self._joined(kind, sorted(parts, key=lambda part: part.number), neutral)
        self._interned[key] = result
        return result

    def _joined(self, kind: int, parts: list[Value], neutral: Value) -> Value:
        if len(parts) < 2:
            return parts[0] if parts else neutral
        types = parts[0].types
        for part in parts:
            types = types & part.types if kind == AND else types | part.types
        if not types:
            return FALSE
        if kind == AND:
            for part in parts:
                if part.kind == AMONG and part.types & ~types:
                    kept = [key for key in part.constants if types >> key_type(key) & 1]
                    return self.conjunction(*parts, self.among(kept))
        key = (kind, frozenset(parts))
        known = self._interned.get(key)
        if known is None:
            self._derived += 1
            if self._derived > _FORMULA_LIMIT:
                raise BudgetError(
                    "formulas", _FORMULA_LIMIT, "combine fewer schemas about the same values"
                )
            known = self._interned[key] = self._new(kind, types)
            known.parts = tuple(parts)
        return known

    def _fold(self, kind: int, sets: list[Value]) -> Value:
        """One set of constants for all sets of an and, or of an or."""
        among = [part.constants for part in sets if part.kind == AMONG]
        except_ = [part.constants for part in sets if part.kind == EXCEPT]
        if kind == AND:
            if among:
                return self.among(frozenset.intersection(*among).difference(*except_))
            return self._constants(EXCEPT, frozenset.union(*except_))
        if except_:
            return self._constants(EXCEPT, frozenset.intersection(*except_).difference(*among))
        return self.among(frozenset.union(*among))

    def canonical(self, value: Value) -> Value:
        """The first formula met whose schema says the same, annotations apart."""
        if value.kind == SCHEMA:
            if value.canonical is None:
                for place, form in shape(self, value):
                    place.canonical = self._shapes.setdefault(form, place)
            return value.canonical or value
        if value.kind == NOT_SCHEMA:
            return self.negation(self.canonical(self.negation(value)))
        return value

    # Constants and keys.

    def constants_of(self, values: Sequence[Any]) -> list[frozenset[Key]]:
        """The values of an ``enum`` by type."""
        known = self._enumerations.get(id(values))
        if known is None:
            if set(map(type, values)) == {str}:
                strings: frozenset[Key] = frozenset(values)
                known = self._splits[strings] = [_NONE, _NONE, _NONE, strings, _NONE, _NONE]
            else:
                known = self.split(frozenset(map(self.constants.key, values)))
                self._note_spellings(values)
            if not isinstance(values, tuple):
                self._enumerations[id(values)] = known
        return known

    def _note_spellings(self, values: Sequence[Any]) -> None:
        """Remember how constants write numbers where a float or decimal is written."""
        stack = list(values)
        while stack:
            value = stack.pop()
            if isinstance(value, dict):
                stack.extend(value.values())
            elif isinstance(value, list | tuple):
                stack.extend(value)
            elif isinstance(value, float | Decimal):
                texts = {value.text if isinstance(value, WrittenNumber) else str(value)}
                if isinstance(value, Decimal) and Decimal(repr(float(value))) == value:
                    texts.add(repr(float(value)))
                self.spellings.setdefault(exact(value), set()).update(texts)

    def split(self, constants: Iterable[Key]) -> list[frozenset[Key]]:
        """Constants by type."""
        constants = frozenset(constants)
        known = self._splits.get(constants)
        if known is None:
            lists: list[list[Key]] = [[], [], [], [], [], []]
            for key in constants:
                lists[key_type(key)].append(key)
            known = self._splits[constants] = [frozenset(keys) if keys else _NONE for keys in lists]
        return known

    def key_class(
        self, names: frozenset[str], inside: tuple[Test, ...], outside: tuple[Test, ...]
    ) -> KeyClass:
        """The keys that are none of ``names``, pass all of ``inside`` and none of ``outside``."""
        key = (names, frozenset(inside), frozenset(outside))
        known = self._classes.get(key)
        if known is None:
            known = self._classes[key] = KeyClass(names, inside, outside)
        return known

    def in_class(self, key: str, where: KeyClass) -> bool:
        """Whether a key is in a class."""
        return (
            key not in where.names
            and all(self.passes(test, key) for test in where.inside)
            and not any(self.passes(test, key) for test in where.outside)
        )

    def member(self, conjunction: Objects, key: str) -> Value:
        """The formula of the member ``key``, if it is there: its own and its classes' together."""
        members = conjunction.members
        if members is None:
            members = conjunction.members = {}
        known = members.get(key)
        if known is None:
            known = conjunction.keys.get(key, (TRUE, False))[0]
            for where, value in conjunction.universals:
                if known is FALSE:
                    break
                if self.in_class(key, where):
                    known = self.conjunction(known, value)
            members[key] = known
        return known

    # Strings.

    def is_asserted(self, name: str) -> bool:
        """Whether a format is more than an annotation."""
        return name in self.formats

    def pattern_literal(self, pattern: str) -> Clause:
        """What ``pattern`` says: an anchored list of words is a set of constants."""
        words = finite_pattern(pattern)
        if words is not None:
            return (lit.AMONG_CONSTANTS, words)
        return (lit.MATCHES, ("pattern", pattern), True)

    def passes(self, test: Test, text: str) -> bool:
        """Whether a string passes a test."""
        known = self._passed.get((test, text))
        if known is None:
            if isinstance(test, Value):
                known = self.holds(test, text)
            else:
                known = matches(*test, text)
            self._passed[test, text] = known
        return known

    def are_apart(self, one: Typed, two: Typed) -> bool:
        """Whether no value is in both formulas, as far as a short search tells.

        Questions nest two deep at most, since an answer may need formulas that ask such questions
        themselves; what lies deeper counts as overlapping.
        """
        if self._nesting >= _NESTING_LIMIT:
            raise Unfinished
        self._nesting += 1
        try:
            together = expand(all_of((one, two), self), self, _APART_STEPS)
            return all(self.emptiness.is_hollow(part, _APART_DEPTH) for part in together)
        except (BudgetError, Unfinished):
            return False
        finally:
            self._nesting -= 1

    def holds(self, value: Value, instance: Any) -> bool:
        """Whether a JSON value is in a formula."""
        from .validation import holds

        return holds(self, value, instance)

    # Typed formulas.

    def conjunctions(self, value: Value, type_: int) -> tuple[Any, ...]:
        """Alternatives of a formula for one type, expanded; a value has to be in one of them."""
        known: tuple[Any, ...] | None = value.disjuncts[type_]
        if known is None:
            formula = self.typed(value, type_)
            if formula is None or not formula.choices:
                known = () if formula is None else (formula,)
            else:
                with self.question():
                    known = expand(formula, self)
            value.disjuncts[type_] = known
        return known

    def live(self, value: Value, type_: int) -> list[Any]:
        """The alternatives of a formula for one type that hold something."""
        return [
            conjunction
            for conjunction in self.conjunctions(value, type_)
            if self.emptiness.holds_something(conjunction)
        ]

    def types(self, value: Value) -> int:
        """The types of which a formula holds values: bit ``1 << type`` each."""
        return sum(1 << t for t in range(6) if value.types >> t & 1 and self.live(value, t))

    def is_everything(self, value: Value) -> bool:
        """Whether a formula holds every JSON value, as far as its normal form shows."""
        return value is TRUE or (
            value.types == ALL_TYPES
            and all(
                every.implies(conjunctions[0]) if conjunctions else False
                for every, conjunctions in (
                    (EVERY[type_], self.conjunctions(value, type_)) for type_ in range(6)
                )
            )
        )

    def typed(self, value: Value, type_: int) -> Typed | None:
        """A formula as it concerns values of one type; None where there are none."""
        known: Typed | None = value.formulas[type_]
        if known is UNKNOWN or known is OPEN:
            return typed(self, value, type_)
        return known

    def refuse_loop(self, value: Value) -> NoReturn:
        """Refuse a schema that applies itself in place."""
        raise UnsupportedFeatureError(
            "$ref",
            "the schema applies itself to the same value, which defines nothing",
            path=self.documents.pointer(value.node),
        )
