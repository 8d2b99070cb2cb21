"""One walk over a document: nodes counted, keywords checked, anchors and references noted.

The walk goes by levels, so that depth is known and costs no recursion. It visits each schema once
and keeps no pointers; an error finds its pointer by looking for the node again. About 0.15
microseconds a keyword.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias

from ..errors import BudgetError, GrammarSyntaxError
from . import keywords
from .constants import exact
from .keywords import TYPE_MASKS, Draft

__all__ = ["Node", "Resource", "Scanner"]

Node: TypeAlias = "dict[str, Any] | bool"

_NODE_LIMIT = 1_000_000
_DEPTH_LIMIT = 2_000
_HARMLESS = frozenset((str, int, bool, type(None), dict, list))
_STRING = frozenset((str,))
_ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")

_FEW_CHARACTERS = 16


class Resource:
    """A schema with a URI of its own: a document, or a part of one that has an identifier.

    Attributes
    ----------
    uri : str
        Base of the references inside, without a fragment.
    draft : Draft
        The version of the specification it is read by.
    root : dict | bool
        Its outermost schema.
    anchors, dynamic_anchors : dict[str, dict]
        Schemas by anchor. Dynamic ones are in both.
    recursive : bool
        Whether ``$recursiveAnchor`` is true at its root.
    """

    __slots__ = ("anchors", "draft", "dynamic_anchors", "recursive", "root", "uri")

    def __init__(self, uri: str, draft: Draft, root: Node) -> None:
        self.uri = uri
        self.draft = draft
        self.root = root
        self.anchors: dict[str, dict[str, Any]] = {}
        self.dynamic_anchors: dict[str, dict[str, Any]] = {}
        self.recursive = False


_FEW_CHARACTERS = 16


class Scanner:
    """The walk, and what it found in all documents so far.

    Attributes
    ----------
    patterns : list[tuple[dict, str, str]]
        Every regular expression: schema, keyword, pattern.
    limits : list[tuple[dict, str]]
        Schemas with a keyword that may be too much for automata and counters: ``minLength`` of more
        than some characters, ``multipleOf``.
    references : list[tuple[dict, str, str, Resource]]
        Every reference: schema, keyword, reference, the resource it stands in.
    dynamic : bool
        Whether a dynamic or recursive anchor was met.
    spells : bool
        Whether a constant that is no integer was met, which may be spelled in its own way.
    """

    def __init__(self, pointer: Callable[..., str]) -> None:
        self.patterns: list[tuple[dict[str, Any], str, str]] = []
        self.limits: list[tuple[dict[str, Any], str]] = []
        self.references: list[tuple[dict[str, Any], str, str, Resource]] = []
        self.dynamic = False
        self.spells = False
        self._count = 0
        self._pointer = pointer

    def scan(
        self, start: dict[str, Any], resource: Resource, depth: int
    ) -> list[tuple[dict[str, Any], int]]:
        """Walk the schemas of one resource level by level.

        Gives the schemas inside it that open resources of their own, with how deep they are.
        """
        shape_of = resource.draft.shapes.get
        identifier = resource.draft.identifier
        ref_alone = resource.draft.ref_alone
        embedded: list[tuple[dict[str, Any], int]] = []
        level = [start]
        while level:
            depth += 1
            if depth > _DEPTH_LIMIT:
                raise BudgetError("nesting levels", _DEPTH_LIMIT, "nest the schema less deeply")
            below: list[dict[str, Any]] = []
            for node in level:
                self._count += len(node)
                if self._count > _NODE_LIMIT:
                    _too_many_nodes()
                if (
                    identifier in node
                    and node is not start
                    and self.opens(node, identifier, ref_alone, resource)
                ):
                    embedded.append((node, depth - 1))
                    continue
                for keyword, value in node.items():
                    shape = shape_of(keyword)
                    if shape is None:
                        if isinstance(value, dict | list | tuple):
                            self._count_values(value)
                        elif not isinstance(keyword, str):
                            self._wrong_key(node, keyword)
                    elif shape == keywords.TYPE:
                        if value.__class__ is not str or value not in TYPE_MASKS:
                            self._check_types(node, value)
                    elif shape == keywords.SCHEMAS_BY_NAME or shape == keywords.PATTERNS:
                        if not isinstance(value, dict):
                            self._wrong(node, keyword, "an object of schemas", value)
                        if not _STRING.issuperset(map(type, value)):
                            self._check_names(node, keyword, value)
                        self._count += len(value)
                        for child in value.values():
                            if child.__class__ is dict:
                                below.append(child)
                            elif child is not True and child is not False:
                                self._add(below, child, node, keyword)
                        if shape == keywords.PATTERNS:
                            self.patterns.extend((node, keyword, pattern) for pattern in value)
                    elif shape == keywords.SCHEMA:
                        if value.__class__ is dict:
                            below.append(value)
                        elif value is not True and value is not False:
                            self._add(below, value, node, keyword)
                    elif shape == keywords.TEXT:
                        if not isinstance(value, str):
                            self._wrong(node, keyword, "a string", value)
                    elif shape == keywords.STRINGS:
                        self._check_strings(node, keyword, value)
                    elif shape == keywords.REFERENCE:
                        if not isinstance(value, str):
                            self._wrong(node, keyword, "a string", value)
                        self.references.append((node, keyword, value, resource))
                    else:
                        self._check_rest(node, keyword, shape, value, resource, below)
            level = below
        return embedded

    def opens(
        self, node: dict[str, Any], identifier: str, ref_alone: bool, resource: Resource
    ) -> bool:
        """Whether a schema's identifier opens a resource; a bare fragment is an anchor instead."""
        value = node[identifier]
        if not isinstance(value, str) or (ref_alone and "$ref" in node):
            return False
        if not value.startswith("#"):
            return True
        if ref_alone:
            resource.anchors.setdefault(value[1:], node)
        return False

    def _check_rest(
        self,
        node: dict[str, Any],
        keyword: str,
        shape: int,
        value: Any,
        resource: Resource,
        below: list[dict[str, Any]],
    ) -> None:
        """The shapes that `_scan` does not handle itself, in no order of frequency."""
        if shape == keywords.ENUMERATION:
            if not isinstance(value, list | tuple):
                self._wrong(node, keyword, "a list", value)
            self._count_values(value, path=(node, keyword))
        elif shape == keywords.CONSTANT:
            self._count_values((value,), path=(node, keyword))
        elif shape == keywords.SCHEMAS:
            self._add_all(below, value, node, keyword)
        elif shape == keywords.SCHEMA_OR_SCHEMAS:
            if isinstance(value, list | tuple):
                if value:
                    self._add_all(below, value, node, keyword)
            else:
                self._add(below, value, node, keyword)
        elif shape == keywords.COUNT:
            number = self._number(node, keyword, value)
            if number < 0 or not isinstance(number, int):
                self._wrong(node, keyword, "a whole number, 0 or more", value)
            if keyword == "minLength" and number > _FEW_CHARACTERS:
                self.limits.append((node, keyword))
        elif shape == keywords.NUMERIC:
            self._number(node, keyword, value)
        elif shape == keywords.LIMIT:
            if not isinstance(value, bool):
                self._number(node, keyword, value)
        elif shape == keywords.POSITIVE:
            if self._number(node, keyword, value) <= 0:
                self._wrong(node, keyword, "a number above 0", value)
            self.limits.append((node, keyword))
        elif shape == keywords.PATTERN:
            if not isinstance(value, str):
                self._wrong(node, keyword, "a string", value)
            self.patterns.append((node, keyword, value))
        elif shape == keywords.BOOLEAN_VALUE:
            if not isinstance(value, bool):
                self._wrong(node, keyword, "a boolean", value)
            if keyword == "$recursiveAnchor" and value and node is resource.root:
                resource.recursive = self.dynamic = True
        elif shape == keywords.ANCHOR:
            if not isinstance(value, str) or not _ANCHOR.fullmatch(value):
                self._wrong(node, keyword, "a name", value)
            resource.anchors.setdefault(value, node)
            if keyword == "$dynamicAnchor":
                resource.dynamic_anchors.setdefault(value, node)
                self.dynamic = True
        elif not isinstance(value, dict):
            self._wrong(node, keyword, "an object", value)
        else:
            self._check_names(node, keyword, value)
            self._count += len(value)
            for child in value.values():
                if isinstance(child, list | tuple) or shape == keywords.REQUIREMENTS:
                    self._check_strings(node, keyword, child)
                else:
                    self._add(below, child, node, keyword)

    def _add(self, below: list[dict[str, Any]], child: Any, node: Any, keyword: str) -> None:
        if isinstance(child, dict):
            below.append(child)
        elif not isinstance(child, bool):
            self._wrong(node, keyword, "a schema", child)

    def _add_all(self, below: list[dict[str, Any]], value: Any, node: Any, keyword: str) -> None:
        if not isinstance(value, list | tuple) or not value:
            self._wrong(node, keyword, "a list of schemas, one at least", value)
        self._count += len(value)
        for child in value:
            self._add(below, child, node, keyword)

    def _check_types(self, node: dict[str, Any], value: Any) -> None:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not all(
            isinstance(name, str) and name in TYPE_MASKS for name in names
        ):
            self._wrong(node, "type", "a type name or a list of type names", value)

    def _check_names(self, node: dict[str, Any], keyword: str, value: dict[Any, Any]) -> None:
        if not all(isinstance(name, str) for name in value):
            self._wrong(node, keyword, "names that are strings", value)

    def _check_strings(self, node: dict[str, Any], keyword: str, value: Any) -> None:
        if not isinstance(value, list | tuple):
            self._wrong(node, keyword, "a list of strings", value)
        self._count += len(value)
        for text in value:
            if not isinstance(text, str):
                self._wrong(node, keyword, "a list of strings", value)

    def _number(self, node: dict[str, Any], keyword: str, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            self._wrong(node, keyword, "a number", value)
        try:
            return exact(value)
        except ValueError:
            self._wrong(node, keyword, "a finite number", value)

    def _count_values(self, value: Any, path: tuple[dict[str, Any], str] | None = None) -> None:
        """Count JSON values that are no schemas; with ``path``, check that they are JSON."""
        level = [value]
        depth = 0
        while level:
            depth += 1
            if depth > _DEPTH_LIMIT:
                raise BudgetError("nesting levels", _DEPTH_LIMIT, "nest the values less deeply")
            below: list[Any] = []
            for item in level:
                self._count += len(item)
                if self._count > _NODE_LIMIT:
                    _too_many_nodes()
                children = item.values() if isinstance(item, dict) else item
                if path is not None:
                    self._check_json(item, children, *path)
                below.extend(x for x in children if isinstance(x, dict | list | tuple))
            level = below

    def _check_json(self, item: Any, children: Any, node: dict[str, Any], keyword: str) -> None:
        if isinstance(item, dict) and not all(isinstance(key, str) for key in item):
            self._wrong(node, keyword, "JSON, whose keys are strings", item)
        if _HARMLESS.issuperset(map(type, children)):
            return
        for child in children:
            if isinstance(child, float | Decimal):
                self._number(node, keyword, child)
                self.spells = True
            elif child is not None and not isinstance(child, str | int | dict | list | tuple):
                self._wrong(node, keyword, "JSON", child)

    def _wrong(self, node: dict[str, Any], keyword: str, wanted: str, value: Any) -> NoReturn:
        shown = repr(value)
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
        raise GrammarSyntaxError(
            f"{keyword} wants {wanted}, not {shown}", path=self._pointer(node, keyword)
        )

    def _wrong_key(self, node: dict[str, Any], keyword: Any) -> NoReturn:
        raise GrammarSyntaxError(f"the key {keyword!r} is no string", path=self._pointer(node))


def _too_many_nodes() -> NoReturn:
    raise BudgetError(
        "schema nodes", _NODE_LIMIT, "make the schema smaller; shared parts count each time"
    )
