"""The documents behind a schema, and where every reference in them leads.

A document is scanned when it is opened (see `fastmask.schema.scanning`); the references found are
resolved until no new document turns up. JSON pointers are not kept: an error finds the pointer of a
node by looking for the node again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from ..errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from . import keywords
from .documents import metaschema
from .keywords import DRAFTS, Draft, draft_named
from .scanning import Node, Resource, Scanner

__all__ = ["Documents", "Node", "Resource", "escaped", "schemas_below"]

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
        self.problems: list[tuple[dict[str, Any], str, GrammarError]] = []
        self._relax = relax
        self._given = {uri.rstrip("#"): node for uri, node in (documents or {}).items()}
        self._resources: dict[str, Resource] = {}
        self._embedded: dict[int, Resource] = {}
        self.documents: list[tuple[str, Node]] = []
        self._scanned_apart: set[int] = set()
        self._scanner = Scanner(self.pointer)
        self._resolved: dict[tuple[str, Resource], tuple[Node, Resource]] = {}
        self.root = self._open_document("", schema, default)
        if self._scanner.references:
            self._resolve_all()
            self._find_loops()

    # Looking things up.

    @property
    def patterns(self) -> list[tuple[dict[str, Any], str, str]]:
        """Every regular expression met: schema, keyword, pattern."""
        return self._scanner.patterns

    @property
    def limits(self) -> list[tuple[dict[str, Any], str]]:
        """Schemas with a keyword that may be too much for automata, and the keyword."""
        return self._scanner.limits

    @property
    def dynamic(self) -> bool:
        """Whether there are dynamic or recursive anchors; without any, scope does not matter."""
        return self._scanner.dynamic

    @property
    def spells(self) -> bool:
        """Whether a constant is no integer, so that it may be spelled in its own way."""
        return self._scanner.spells

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
            f"{uri!r} is no draft known here; pass its metaschema in documents= or set draft= "
            "(--documents or --draft on the command line)",
            path=self.pointer(node, "$schema"),
        )
        if not self._relax:
            raise error
        self.problems.append((node, "$schema", error))
        return default

    def _scan(self, start: dict[str, Any], resource: Resource, depth: int) -> None:
        """Scan a resource and then the resources inside it."""
        stack = [(start, resource, depth)]
        while stack:
            root, current, reached = stack.pop()
            for node, level in self._scanner.scan(root, current, reached):
                if id(node) not in self._embedded:
                    stack.append((node, self._open(current.uri, node, current.draft), level))

    # References.

    def _resolve_all(self) -> None:
        """Resolve every reference; documents opened on the way bring more of them."""
        position = 0
        references = self._scanner.references
        while position < len(references):
            node, keyword, reference, resource = references[position]
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
        for start, keyword, _, resource in self._scanner.references:
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
                "$ref",
                f"the document {uri!r} is not at hand; pass it in documents= "
                "(--documents FILE on the command line)",
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
            if draft.identifier in node and self._scanner.opens(
                node, draft.identifier, draft.ref_alone, resource
            ):
                if id(node) not in self._embedded:
                    self._scan(node, self._open(resource.uri, node, draft), 0)
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
