"""What each keyword's value has to look like, and in which drafts the keyword means anything.

A keyword that a draft does not know is an annotation there, as the specifications say: ``if`` in
draft 6, ``dependentRequired`` in draft 7. Three are read in every draft because real schemas
mix them: ``dependencies``, ``items`` as a list, and ``definitions``.
"""

from __future__ import annotations

from typing import Any

from .constants import ARRAY, BOOLEAN, NULL, NUMBER, OBJECT, STRING

__all__ = [
    "ANCHOR",
    "ASSERTED_FORMATS",
    "BOOLEAN_VALUE",
    "CONSTANT",
    "COUNT",
    "DEPENDENCIES",
    "DRAFTS",
    "Draft",
    "ENUMERATION",
    "LIMIT",
    "NUMERIC",
    "PATTERN",
    "PATTERNS",
    "POSITIVE",
    "REFERENCE",
    "REQUIREMENTS",
    "SCHEMA",
    "SCHEMAS",
    "SCHEMAS_BY_NAME",
    "SCHEMA_OR_SCHEMAS",
    "STRINGS",
    "TEXT",
    "TYPE",
    "TYPE_MASKS",
    "draft_named",
]

# Shapes of a keyword's value.
(
    TYPE,  # a type name or a list of them
    TEXT,  # a string
    SCHEMA,
    SCHEMAS,  # a list of schemas
    SCHEMAS_BY_NAME,
    STRINGS,  # a list of strings
    REFERENCE,
    ENUMERATION,
    CONSTANT,
    COUNT,  # a whole number, 0 or more
    NUMERIC,
    LIMIT,  # a number, or the boolean of draft 4
    POSITIVE,  # a number above 0
    PATTERN,
    PATTERNS,  # schemas by pattern
    SCHEMA_OR_SCHEMAS,
    DEPENDENCIES,  # schemas or lists of strings by name
    REQUIREMENTS,  # lists of strings by name
    BOOLEAN_VALUE,
    ANCHOR,
) = range(20)

TYPE_MASKS = {
    "null": 1 << NULL,
    "boolean": 1 << BOOLEAN,
    "number": 1 << NUMBER,
    "integer": 1 << NUMBER,
    "string": 1 << STRING,
    "array": 1 << ARRAY,
    "object": 1 << OBJECT,
}

# The formats that ``formats="assert"`` asserts, whatever the draft; all others are annotations.
ASSERTED_FORMATS = frozenset(
    (
        "date time date-time duration email idn-email hostname idn-hostname ipv4 ipv6 uri "
        "uri-reference iri iri-reference uri-template uuid json-pointer relative-json-pointer regex"
    ).split()
)

# keyword: (shape, first draft, last draft)
_ALWAYS = (4, 2020)
_KEYWORDS = {
    "type": (TYPE, *_ALWAYS),
    "enum": (ENUMERATION, *_ALWAYS),
    "const": (CONSTANT, 6, 2020),
    "minimum": (NUMERIC, *_ALWAYS),
    "maximum": (NUMERIC, *_ALWAYS),
    "exclusiveMinimum": (LIMIT, *_ALWAYS),
    "exclusiveMaximum": (LIMIT, *_ALWAYS),
    "multipleOf": (POSITIVE, *_ALWAYS),
    "minLength": (COUNT, *_ALWAYS),
    "maxLength": (COUNT, *_ALWAYS),
    "pattern": (PATTERN, *_ALWAYS),
    "format": (TEXT, *_ALWAYS),
    "properties": (SCHEMAS_BY_NAME, *_ALWAYS),
    "patternProperties": (PATTERNS, *_ALWAYS),
    "additionalProperties": (SCHEMA, *_ALWAYS),
    "propertyNames": (SCHEMA, 6, 2020),
    "required": (STRINGS, *_ALWAYS),
    "minProperties": (COUNT, *_ALWAYS),
    "maxProperties": (COUNT, *_ALWAYS),
    "dependencies": (DEPENDENCIES, *_ALWAYS),
    "dependentRequired": (REQUIREMENTS, 2019, 2020),
    "dependentSchemas": (SCHEMAS_BY_NAME, 2019, 2020),
    "unevaluatedProperties": (SCHEMA, 2019, 2020),
    "items": (SCHEMA_OR_SCHEMAS, *_ALWAYS),
    "prefixItems": (SCHEMAS, 2020, 2020),
    "additionalItems": (SCHEMA, *_ALWAYS),
    "contains": (SCHEMA, 6, 2020),
    "minContains": (COUNT, 2019, 2020),
    "maxContains": (COUNT, 2019, 2020),
    "minItems": (COUNT, *_ALWAYS),
    "maxItems": (COUNT, *_ALWAYS),
    "uniqueItems": (BOOLEAN_VALUE, *_ALWAYS),
    "unevaluatedItems": (SCHEMA, 2019, 2020),
    "allOf": (SCHEMAS, *_ALWAYS),
    "anyOf": (SCHEMAS, *_ALWAYS),
    "oneOf": (SCHEMAS, *_ALWAYS),
    "not": (SCHEMA, *_ALWAYS),
    "if": (SCHEMA, 7, 2020),
    "then": (SCHEMA, 7, 2020),
    "else": (SCHEMA, 7, 2020),
    "$ref": (REFERENCE, *_ALWAYS),
    "$recursiveRef": (REFERENCE, 2019, 2019),
    "$dynamicRef": (REFERENCE, 2020, 2020),
    "$anchor": (ANCHOR, 2019, 2020),
    "$dynamicAnchor": (ANCHOR, 2020, 2020),
    "$recursiveAnchor": (BOOLEAN_VALUE, 2019, 2019),
    "definitions": (SCHEMAS_BY_NAME, *_ALWAYS),
    "$defs": (SCHEMAS_BY_NAME, *_ALWAYS),
    "contentSchema": (SCHEMA, 2019, 2020),
    "$id": (TEXT, 6, 2020),
    "id": (TEXT, 4, 4),
    "$schema": (TEXT, *_ALWAYS),
}
# Keywords that say where schemas are, or something to a keyword beside them.
_SILENT = frozenset(
    "$id id $schema $anchor $dynamicAnchor $recursiveAnchor definitions $defs contentSchema "
    "then else minContains maxContains nullable".split()
)
_VOCABULARIES = {
    "validation": (
        "type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength "
        "maxLength pattern minItems maxItems uniqueItems minContains maxContains minProperties "
        "maxProperties required dependentRequired"
    ).split(),
    "applicator": (
        "prefixItems items additionalItems contains additionalProperties properties "
        "patternProperties propertyNames dependentSchemas if then else allOf anyOf oneOf not"
    ).split(),
    "unevaluated": ["unevaluatedItems", "unevaluatedProperties"],
}


class Draft:
    """One version of the specification, possibly with some of its vocabularies left out.

    Attributes
    ----------
    name : str
        As the ``draft=`` option spells it.
    year : int
        4, 6, 7, 2019 or 2020; they compare in order of publication.
    shapes : dict[str, int]
        The keywords that mean something here, with the shape of their values.
    identifier : str
        ``"$id"``, or ``"id"`` in draft 4.
    ref_alone : bool
        Whether ``$ref`` makes its siblings meaningless (up to draft 7).
    nullable : bool
        Whether OpenAPI's ``nullable`` counts.
    effective : frozenset[str]
        The keywords that can say something about a value, alone or beside others.
    readers : list[dict]
        Memo of `fastmask.schema.reading.readers_of`.
    """

    __slots__ = (
        "effective",
        "identifier",
        "name",
        "nullable",
        "readers",
        "ref_alone",
        "shapes",
        "year",
    )

    def __init__(self, name: str, year: int, *, nullable: bool = False) -> None:
        self.name = name
        self.year = year
        self.shapes = {
            keyword: shape
            for keyword, (shape, first, last) in _KEYWORDS.items()
            if first <= year <= last
        }
        self.identifier = "id" if year == 4 else "$id"
        self.ref_alone = year <= 7
        self.nullable = nullable
        if nullable:
            self.shapes["nullable"] = BOOLEAN_VALUE
        self.effective = frozenset(self.shapes) - _SILENT
        self.readers: list[dict[str, Any]] = []

    def without(self, vocabularies: set[str]) -> Draft:
        """This draft with the keywords of some vocabularies turned into annotations."""
        if not vocabularies:
            return self
        reduced = Draft(self.name, self.year, nullable=self.nullable)
        for vocabulary in vocabularies:
            for keyword in _VOCABULARIES[vocabulary]:
                reduced.shapes.pop(keyword, None)
        reduced.effective = frozenset(reduced.shapes) - _SILENT
        return reduced

    def missing_vocabularies(self, declared: dict[str, bool]) -> set[str]:
        """Vocabularies of assertions that a metaschema's ``$vocabulary`` does not list."""
        listed = {uri.rpartition("/")[2] for uri in declared}
        missing = set(_VOCABULARIES) - listed
        if self.year < 2020 and "applicator" in listed:
            missing.discard("unevaluated")  # part of the applicator vocabulary in 2019-09
        return missing


DRAFTS = {
    "4": Draft("4", 4),
    "6": Draft("6", 6),
    "7": Draft("7", 7),
    "2019-09": Draft("2019-09", 2019),
    "2020-12": Draft("2020-12", 2020),
    "openapi-3.0": Draft("openapi-3.0", 4, nullable=True),
}
_BY_URI = {
    "json-schema.org/draft-04/schema": "4",
    "json-schema.org/draft-04/hyper-schema": "4",
    "json-schema.org/draft-05/schema": "4",
    "json-schema.org/draft-06/schema": "6",
    "json-schema.org/draft-06/hyper-schema": "6",
    "json-schema.org/draft-07/schema": "7",
    "json-schema.org/draft-07/hyper-schema": "7",
    "json-schema.org/draft/2019-09/schema": "2019-09",
    "json-schema.org/draft/2019-09/hyper-schema": "2019-09",
    "json-schema.org/draft/2020-12/schema": "2020-12",
    "json-schema.org/draft/2020-12/hyper-schema": "2020-12",
    "json-schema.org/schema": "2020-12",
}


def draft_named(name: str | int) -> Draft | None:
    """The draft that an option (``"7"``, ``"draft-07"``, ``"2019-09"``) or a ``$schema`` names."""
    text = str(name).strip()
    if "://" in text:
        known = _BY_URI.get(text.partition("://")[2].rstrip("#").rstrip("/"))
        return DRAFTS[known] if known else None
    text = text.lower().removeprefix("draft").lstrip("-_ ").lstrip("0")
    return DRAFTS.get(text) or DRAFTS.get({"2019": "2019-09", "2020": "2020-12"}.get(text, ""))
