"""The documents behind a schema: counted, checked, and every reference in them resolved.

One walk by levels visits each schema once: it counts nodes (before anything is copied or
serialised), checks that each keyword's value has the right shape, opens a resource for each
identifier and notes anchors and references. JSON pointers are not kept; the rare error finds the
pointer of a node by looking for the node again. About 0.15 microseconds a keyword.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NoReturn, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

from ..errors import BudgetError, GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from . import keywords
from .constants import exact
from .documents import metaschema
from .keywords import DRAFTS, TYPE_MASKS, Draft, draft_named

__all__ = ["Documents", "Node", "Resource", "escaped", "schemas_below"]

Node: TypeAlias = "dict[str, Any] | bool"

_NODE_LIMIT = 1_000_000
_DEPTH_LIMIT = 2_000
_HARMLESS = frozenset((str, int, bool, type(None), dict, list))
_ANCHOR = re.compile(r"[A-Za-z_][-A-Za-z0-9._]*")
_IN_PLACE = frozenset(
    "$ref $dynamicRef $recursiveRef allOf anyOf oneOf not if then else dependentSchemas "
    "dependencies".split()
)
_SCHEMA_SHAPES = {
    keywords.SCHEMA,
    keywords.SCHEMAS,
    keywords.SCHEMAS_BY_NAME,
    keywords.PATTERNS,
    keywords.SCHEMA_OR_SCHEMAS,
    keywords.DEPENDENCIES,
}


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


class Documents:
    """A schema and the documents it refers to.

    Parameters
    ----------
    schema : dict or bool
        The schema as JSON values.
    draft : str
        The version that counts where ``$schema`` is absent.
    documents : Mapping[str, dict or bool]
        Other documents by URI.
    relax : bool
        Collect what cannot be read in `problems` instead of raising.

    Attributes
    ----------
    root : Resource
        The schema itself.
    documents : list[tuple[str, dict or bool]]
        The schema and every document that was opened, by the URI it was found at.
    dynamic : bool
        Whether any dynamic or recursive anchor exists; without one no scope has to be tracked.
    patterns : list[tuple[dict, str, str]]
        Every regular expression met: schema, keyword, pattern.
    problems : list[tuple[dict, str, GrammarError]]
        Schema, keyword and error of each reference that leads nowhere.

    Raises
    ------
    GrammarSyntaxError
        A keyword has a value of the wrong type, or a reference points to nothing here.
    UnsupportedFeatureError
        A reference leads to a document that is not at hand.
    BudgetError
        More than 1,000,000 nodes, or schemas nested deeper than 2,000 levels.
    """

    def __init__(
        self,
        schema: Node,
        *,
        draft: str = "2020-12",
        documents: Mapping[str, Node] | None = None,
        relax: bool = False,
    ) -> None:
        default = draft_named(draft)
        if default is None:
            raise GrammarError(f"draft={draft!r} is unknown; use one of {', '.join(DRAFTS)}")
        self.dynamic = False
        self.patterns: list[tuple[dict[str, Any], str, str]] = []
        self.problems: list[tuple[dict[str, Any], str, GrammarError]] = []
        self._relax = relax
        self._given = {uri.rstrip("#"): node for uri, node in (documents or {}).items()}
        self._count = 0
        self._resources: dict[str, Resource] = {}
        self._embedded: dict[int, Resource] = {}
        self.documents: list[tuple[str, Node]] = []
        self._scanned_apart: set[int] = set()
        self._references: list[tuple[dict[str, Any], str, str, Resource]] = []
        self._resolved: dict[tuple[str, Resource], tuple[Node, Resource]] = {}
        self.root = self._open_document("", schema, default)
        if self._references:
            self._resolve_all()
            self._find_loops()

    # Looking things up.

    @property
    def is_single(self) -> bool:
        """Whether all schemas are in one resource, so that a node alone is a place."""
        return len(self.documents) == 1 and len(self._embedded) <= 1 and not self.dynamic

    def resolve(self, reference: str, resource: Resource) -> tuple[Node, Resource]:
        """The schema that a reference inside ``resource`` leads to, and the resource it is in."""
        found = self._resolved.get((reference, resource))
        if found is None:
            found = self._find(reference, resource)
            self._resolved[reference, resource] = found
        return found

    def resolve_dynamic(
        self, reference: str, resource: Resource, scope: tuple[Resource, ...]
    ) -> tuple[Node, Resource]:
        """Like `resolve`, for ``$dynamicRef``: the outermost anchor of that name in ``scope``."""
        node, home = self.resolve(reference, resource)
        anchor = unquote(reference.partition("#")[2])
        if home.dynamic_anchors.get(anchor) is node:
            for candidate in scope:
                if anchor in candidate.dynamic_anchors:
                    return candidate.dynamic_anchors[anchor], candidate
        return node, home

    def resolve_recursive(
        self, reference: str, resource: Resource, scope: tuple[Resource, ...]
    ) -> tuple[Node, Resource]:
        """Like `resolve`, for ``$recursiveRef``: the outermost recursive root in ``scope``."""
        node, home = self.resolve(reference, resource)
        if home.recursive and home.root is node:
            for candidate in scope:
                if candidate.recursive:
                    return candidate.root, candidate
        return node, home

    def resource_at(self, uri: str) -> Resource:
        """The resource of an opened document."""
        return self._resources[uri]

    def resource_of(self, node: Node, parent: Resource) -> Resource:
        """The resource of a schema that stands in a schema of ``parent``."""
        return self._embedded.get(id(node), parent) if self._embedded else parent

    def pointer(self, node: Node, *tokens: str) -> str:
        """The JSON pointer to a schema, or to something inside it."""
        path = "".join(map(escaped, tokens))
        for uri, root in self.documents:
            found = _path_to(node, root)
            if found is not None:
                return f"{uri}#{found}{path}"
        return f"#{path}"

    def reachable(self) -> set[int]:
        """Identities of all schemas that the root applies, directly or through references."""
        seen: set[int] = set()
        stack: list[tuple[Node, Resource]] = [(self.root.root, self.root)]
        while stack:
            node, resource = stack.pop()
            if isinstance(node, bool) or id(node) in seen:
                continue
            seen.add(id(node))
            for keyword, child in schemas_below(node, resource.draft):
                if keyword not in {"definitions", "$defs"}:
                    stack.append((child, self.resource_of(child, resource)))
            for keyword, value in node.items():
                if resource.draft.shapes.get(keyword) == keywords.REFERENCE:
                    if (value, resource) in self._resolved:
                        stack.append(self.resolve(value, resource))
                    stack.extend(
                        (anchored, other)
                        for other in self._resources.values()
                        for anchored in (*other.dynamic_anchors.values(), other.root)
                        if other.recursive or other.dynamic_anchors
                    )
        return seen

    # Opening and scanning.

    def _open_document(self, uri: str, node: Node, default: Draft) -> Resource:
        if not isinstance(node, dict | bool):
            raise GrammarSyntaxError(
                f"a schema is an object or a boolean, not {_name(node)}", path=f"{uri}#"
            )
        self.documents.append((uri, node))
        resource = self._open(uri, node, default)
        self._resources.setdefault(uri, resource)
        if isinstance(node, dict):
            self._scan(node, resource, 0)
        return resource

    def _open(self, base: str, node: Node, draft: Draft) -> Resource:
        """A resource for a schema; its identifier counts as the parent's draft spells it."""
        uri = base
        if isinstance(node, dict):
            draft = self._draft_of(node, draft)
            identifier = node.get(draft.identifier)
            if isinstance(identifier, str) and not (draft.ref_alone and "$ref" in node):
                uri = urldefrag(urljoin(base, identifier)).url
        resource = Resource(uri, draft, node)
        self._resources.setdefault(uri, resource)
        if isinstance(node, dict):
            self._embedded[id(node)] = resource
        return resource

    def _draft_of(self, node: dict[str, Any], default: Draft) -> Draft:
        uri = node.get("$schema")
        if not isinstance(uri, str):
            return default
        draft = draft_named(uri) if "://" in uri else None
        if draft is not None:
            return draft
        meta = self._given.get(uri.rstrip("#"))
        if isinstance(meta, dict) and meta is not node:
            base = draft_named(str(meta.get("$schema", ""))) or default
            declared = meta.get("$vocabulary")
            if not isinstance(declared, dict):
                return base
            return base.without(base.missing_vocabularies(declared))
        error = UnsupportedFeatureError(
            "$schema",
            f"{uri!r} is no draft known here; pass its metaschema in documents= or set draft=",
            path=self.pointer(node, "$schema"),
        )
        if not self._relax:
            raise error
        self.problems.append((node, "$schema", error))
        return default

    def _scan(self, start: dict[str, Any], resource: Resource, depth: int) -> None:
        """Walk the schemas of one resource level by level; resources inside it come after it."""
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
                    and self._opens(node, identifier, ref_alone, resource)
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
                        self._references.append((node, keyword, value, resource))
                    else:
                        self._check_rest(node, keyword, shape, value, resource, below)
            level = below
        for node, reached in embedded:
            self._scan_embedded(node, resource, reached)

    def _scan_embedded(self, node: dict[str, Any], parent: Resource, depth: int) -> None:
        if id(node) not in self._embedded:
            self._scan(node, self._open(parent.uri, node, parent.draft), depth)

    def _opens(
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
        elif shape == keywords.NUMERIC:
            self._number(node, keyword, value)
        elif shape == keywords.LIMIT:
            if not isinstance(value, bool):
                self._number(node, keyword, value)
        elif shape == keywords.POSITIVE:
            if self._number(node, keyword, value) <= 0:
                self._wrong(node, keyword, "a number above 0", value)
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
            elif child is not None and not isinstance(child, str | int | dict | list | tuple):
                self._wrong(node, keyword, "JSON", child)

    def _wrong(self, node: dict[str, Any], keyword: str, wanted: str, value: Any) -> NoReturn:
        shown = repr(value)
        shown = shown if len(shown) <= 40 else f"{shown[:37]}..."
        raise GrammarSyntaxError(
            f"{keyword} wants {wanted}, not {shown}", path=self.pointer(node, keyword)
        )

    def _wrong_key(self, node: dict[str, Any], keyword: Any) -> NoReturn:
        raise GrammarSyntaxError(f"the key {keyword!r} is no string", path=self.pointer(node))

    # References.

    def _resolve_all(self) -> None:
        """Resolve every reference; documents opened on the way bring more of them."""
        position = 0
        while position < len(self._references):
            node, keyword, reference, resource = self._references[position]
            position += 1
            if (reference, resource) in self._resolved:
                continue
            try:
                self.resolve(reference, resource)
            except GrammarError as error:
                path = self.pointer(node, keyword)
                self.problems.append((node, keyword, _located(error, keyword, path)))

    def _find_loops(self) -> None:
        """Note each reference by which a schema would apply itself to the very same value."""
        done: set[int] = set()
        for start, keyword, _, resource in self._references:
            if id(start) not in done:
                self._find_loops_from(start, keyword, resource, done)

    def _find_loops_from(
        self, start: dict[str, Any], keyword: str, resource: Resource, done: set[int]
    ) -> None:
        """Depth first; a schema is open while the schemas it applies in place are looked at."""
        open_ = {id(start)}
        path = [(start, self._applied_in_place(start, resource))]
        while path:
            node, edges = path[-1]
            edge = next(edges, None)
            if edge is None:
                path.pop()
                open_.discard(id(node))
                done.add(id(node))
                continue
            by, target, home = edge
            if isinstance(target, bool) or id(target) in done:
                continue
            if id(target) in open_:
                if home.draft.shapes.get(by) == keywords.REFERENCE:
                    self._add_loop(node, by)
                else:
                    self._add_loop(start, keyword)
            elif _IN_PLACE.isdisjoint(target):
                done.add(id(target))
            else:
                path.append((target, self._applied_in_place(target, home)))
                open_.add(id(target))

    def _add_loop(self, node: dict[str, Any], keyword: str) -> None:
        why = "the schema applies itself to the same value, which defines nothing"
        path = self.pointer(node, keyword)
        self.problems.append((node, keyword, UnsupportedFeatureError(keyword, why, path=path)))

    def _applied_in_place(
        self, node: dict[str, Any], resource: Resource
    ) -> Iterator[tuple[str, Node, Resource]]:
        """The schemas that a schema applies to the value it stands at, and by which keyword."""
        shapes = resource.draft.shapes
        for keyword, value in node.items():
            if shapes.get(keyword) == keywords.REFERENCE:
                if (value, resource) in self._resolved:
                    yield (keyword, *self._resolved[value, resource])
            elif keyword not in _IN_PLACE or keyword not in shapes:
                continue
            elif keyword in {"dependentSchemas", "dependencies"}:
                for child in value.values():
                    if isinstance(child, dict):
                        yield keyword, child, self.resource_of(child, resource)
            else:
                for child in value if isinstance(value, list | tuple) else (value,):
                    yield keyword, child, self.resource_of(child, resource)

    def _find(self, reference: str, resource: Resource) -> tuple[Node, Resource]:
        if reference.startswith("#"):
            home, fragment = resource, reference[1:]
        else:
            uri, fragment = urldefrag(urljoin(resource.uri, reference))
            home = self._resource_at(uri, resource.draft)
        if "%" in fragment:
            fragment = unquote(fragment)
        if not fragment:
            return home.root, home
        if fragment.startswith("/"):
            return self._walk(fragment, home, reference)
        node = home.anchors.get(fragment)
        if node is None:
            raise GrammarSyntaxError(f"{reference!r} names no anchor of this document")
        return node, home

    def _resource_at(self, uri: str, default: Draft) -> Resource:
        resource = self._resources.get(uri)
        if resource is not None:
            return resource
        node = self._given.get(uri)
        if node is None:
            node = metaschema(uri)
        if node is None:
            raise UnsupportedFeatureError(
                "$ref", f"the document {uri!r} is not at hand; pass it in documents="
            )
        return self._open_document(uri, node, default)

    def _walk(self, pointer: str, home: Resource, reference: str) -> tuple[Node, Resource]:
        """Follow a JSON pointer, minding identifiers on the way and whether it was scanned."""
        node: Any = home.root
        resource = home
        shape: int | None = keywords.SCHEMA  # SCHEMA: at a schema; None: at something unscanned
        for raw in pointer.split("/")[1:]:
            token = raw.replace("~1", "/").replace("~0", "~") if "~" in raw else raw
            if isinstance(node, dict) and token in node:
                if shape == keywords.SCHEMA:
                    shape = resource.draft.shapes.get(token)
                    shape = shape if shape in _SCHEMA_SHAPES else None
                elif shape is not None:
                    shape = keywords.SCHEMA
                node = node[token]
                if isinstance(node, dict) and shape == keywords.SCHEMA_OR_SCHEMAS:
                    shape = keywords.SCHEMA
            elif isinstance(node, list | tuple) and token.isdecimal() and int(token) < len(node):
                shape = keywords.SCHEMA if shape is not None else None
                node = node[int(token)]
            else:
                raise GrammarSyntaxError(f"{reference!r} points to nothing in this document")
            if isinstance(node, dict):
                resource = self.resource_of(node, resource)
        if not isinstance(node, dict | bool):
            raise GrammarSyntaxError(f"{reference!r} points to {_name(node)}, which is no schema")
        if shape != keywords.SCHEMA and isinstance(node, dict):
            resource = self._scan_apart(node, resource)
        return node, resource

    def _scan_apart(self, node: dict[str, Any], resource: Resource) -> Resource:
        """Scan a schema under an unknown keyword, which the first walk passed by."""
        if id(node) not in self._scanned_apart:
            self._scanned_apart.add(id(node))
            draft = resource.draft
            if draft.identifier in node and self._opens(
                node, draft.identifier, draft.ref_alone, resource
            ):
                self._scan_embedded(node, resource, 0)
            else:
                self._scan(node, resource, 0)
        return self.resource_of(node, resource)


def schemas_below(node: dict[str, Any], draft: Draft) -> Iterator[tuple[str, Node]]:
    """The schemas directly inside a schema, with the keyword each belongs to."""
    for keyword, value in node.items():
        shape = draft.shapes.get(keyword)
        if shape not in _SCHEMA_SHAPES:
            continue
        children: Any = (value,)
        if isinstance(value, list | tuple):
            children = value
        elif shape in {keywords.SCHEMAS_BY_NAME, keywords.PATTERNS, keywords.DEPENDENCIES}:
            children = value.values()
        for child in children:
            if isinstance(child, dict | bool):
                yield keyword, child


def escaped(token: str) -> str:
    """A reference token of a JSON pointer with its slash."""
    return "/" + token.replace("~", "~0").replace("/", "~1")


def _path_to(node: Any, root: Any) -> str | None:
    """The pointer from ``root`` to the very object ``node``, by levels."""
    level: list[tuple[Any, str]] = [(root, "")]
    while level:
        below: list[tuple[Any, str]] = []
        for value, path in level:
            if value is node:
                return path
            if isinstance(value, dict):
                below.extend((v, path + escaped(str(k))) for k, v in value.items())
            elif isinstance(value, list | tuple):
                below.extend((v, f"{path}/{i}") for i, v in enumerate(value))
        level = below
    return None


def _located(error: GrammarError, keyword: str, path: str) -> GrammarError:
    """The same error with the place it belongs to."""
    text = str(error)
    if isinstance(error, UnsupportedFeatureError):
        return UnsupportedFeatureError(keyword, text.partition(": ")[2], path=path)
    return GrammarSyntaxError(text, path=path)


def _name(value: Any) -> str:
    names = {list: "an array", tuple: "an array", str: "a string", type(None): "null"}
    return names.get(type(value), f"a value of type {type(value).__name__}")


def _too_many_nodes() -> NoReturn:
    raise BudgetError(
        "schema nodes", _NODE_LIMIT, "make the schema smaller; shared parts count each time"
    )
