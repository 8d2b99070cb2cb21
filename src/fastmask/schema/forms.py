"""Forms of schemas that mean the same in every document, so that documents share their states.

A form holds the keywords of a schema in their order, annotations left out, and the numbers of the
forms inside. Whatever leads to itself, lists other constants than strings, or depends on where it
stands has none.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from . import keywords
from .values import AMONG, SCHEMA, Value

if TYPE_CHECKING:
    from .formulas import Formulas
    from .references import Resource

__all__ = ["Forms"]

_MOST_LEVELS = 8
_LARGE = frozenset(("properties", "patternProperties", "$ref"))
_LISTS = frozenset((keywords.SCHEMAS, keywords.SCHEMA_OR_SCHEMAS))
_BY_NAME = frozenset((keywords.SCHEMAS_BY_NAME, keywords.PATTERNS))
_WORDS = frozenset((keywords.STRINGS, keywords.TYPE, keywords.ENUMERATION))
_LIMITS = frozenset((keywords.NUMERIC, keywords.LIMIT))
_NUMBERS = _LIMITS | {keywords.COUNT, keywords.POSITIVE}
_TEXTS = frozenset((keywords.TEXT, keywords.PATTERN, keywords.BOOLEAN_VALUE, keywords.CONSTANT))
_SILENT = frozenset("$schema $id id $anchor $comment definitions $defs contentSchema".split())


class Forms:
    """The forms of the formulas of one document.

    Parameters
    ----------
    formulas : Formulas
    numbers : dict
        Numbers of forms, which documents share.
    """

    def __init__(self, formulas: Formulas, numbers: dict[Any, int]) -> None:
        self._formulas = formulas
        self._numbers = numbers
        self._small: dict[Any, int | None] = {}  # by identity of the schema, and its resource
        self._large: dict[Any, int | None] = {}
        self._has_some = not formulas.left_out and not formulas.documents.dynamic

    def of(self, value: Value, is_large: bool) -> Hashable:
        """The form of a formula; None if it has none.

        Only ``is_large`` reads the schemas of properties, and follows references.
        """
        if value.only_types:
            return value.types
        if value.kind == AMONG:
            return value.constants if all(type(k) is str for k in value.constants) else None
        if value.kind != SCHEMA or not self._has_some:
            return None
        form = self._number(value.node, value.resource, is_large, 0)
        return form and (value.resource.draft.name, self._formulas.formats, form)

    def _number(self, node: Any, resource: Resource, is_large: bool, level: int) -> int | None:
        """The number of the form of a schema, from 1 on."""
        if isinstance(node, bool):
            return self._numbered(node)
        if level and (resource.draft.identifier in node or "$schema" in node):
            return None  # it may be a resource of its own
        known = self._small if not is_large else self._large
        place = id(node), resource
        number = self._small.get(place) or known.get(place)
        if number is None and place not in known:
            known[place] = None  # what leads to itself has no form
            if level < _MOST_LEVELS and (is_large or _LARGE.isdisjoint(node)):
                words = self._words(node, resource, is_large, level)
                if words is not None:
                    number = known[place] = self._numbered(words)
        return number

    def _numbered(self, form: Any) -> int:
        return self._numbers.setdefault((type(form), form), len(self._numbers) + 1)

    def _words(
        self, node: dict[str, Any], resource: Resource, is_large: bool, level: int
    ) -> tuple[Any, ...] | None:
        """The keywords of a schema and their contents; None if some have no form."""
        shapes = resource.draft.shapes
        words: list[tuple[str, Any]] = []
        for keyword, content in node.items():
            kind = shapes.get(keyword)
            if kind is None or keyword in _SILENT:
                continue
            if kind == keywords.TYPE and type(content) is str:
                words.append((keyword, content))
                continue
            part: Any = self._part(kind, content, resource, is_large, level + 1)
            if part is None or (type(part) is tuple and None in part):
                return None
            words.append((keyword, part))
        return tuple(words)

    def _part(
        self, kind: int, content: Any, resource: Resource, is_large: bool, level: int
    ) -> Hashable:
        if kind == keywords.SCHEMA or (kind in _LISTS and not isinstance(content, list | tuple)):
            return self._number(content, resource, is_large, level)
        if kind in _LISTS:
            return tuple(self._number(child, resource, is_large, level) for child in content)
        if kind in _BY_NAME:
            children = [self._number(c, resource, is_large, level) for c in content.values()]
            return None if None in children else (*content, *children)
        if kind in _WORDS:
            listed = (content,) if isinstance(content, str) else tuple(content)
            return listed if all(type(one) is str for one in listed) else None
        if kind in _LIMITS and self._formulas.documents.spells:
            return None  # a range of one number is spelled as other constants are
        if kind in _NUMBERS:
            return getattr(content, "text", None) or repr(content)
        if kind in _TEXTS and isinstance(content, str | bool):
            return repr(content)
        if kind == keywords.REFERENCE:
            target, home = self._formulas.documents.resolve(content, resource)
            return self._number(target, home, is_large, level) if home is resource else None
        return None
