"""The documents that the official JSON Schema suites refer to, as their tests describe them.

The suites are served with these at ``http://localhost:1234/``; here they go in by ``documents=``.
"""

from __future__ import annotations

from typing import Any

HOST = "http://localhost:1234/"

INTEGER = {"type": "integer"}
STRING = {"type": "string"}

DRAFT_2020_12 = {
    "integer.json": INTEGER,
    "subSchemas.json": {"$defs": {"integer": INTEGER, "refToInteger": {"$ref": "#/$defs/integer"}}},
    "locationIndependentIdentifier.json": {
        "$defs": {
            "refToInteger": {"$ref": "#foo"},
            "named": {"$anchor": "foo", "type": "integer"},
        }
    },
    "baseUriChange/folderInteger.json": INTEGER,
    "baseUriChangeFolder/folderInteger.json": INTEGER,
    "baseUriChangeFolderInSubschema/folderInteger.json": INTEGER,
    "name-defs.json": {
        "$defs": {"orNull": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
        "type": "string",
    },
    "ref-and-defs.json": {
        "$id": f"{HOST}draft2020-12/ref-and-defs.json",
        "$defs": {"inner": {"properties": {"bar": STRING}}},
        "$ref": "#/$defs/inner",
    },
    "nested/foo-ref-string.json": {
        "type": "object",
        "properties": {"foo": {"$ref": "string.json"}},
    },
    "nested/string.json": STRING,
    "different-id-ref-string.json": {
        "$id": f"{HOST}draft2020-12/another-id.json",
        "$defs": {"bar": STRING},
        "$ref": "#/$defs/bar",
    },
    "urn-ref-string.json": {
        "$id": "urn:uuid:feebdaed-ffff-0000-ffff-0000deadbeef",
        "$defs": {"bar": STRING},
        "$ref": "#/$defs/bar",
    },
    "nested-absolute-ref-to-string.json": {
        "$defs": {"bar": {"$id": f"{HOST}draft2020-12/the-nested-id.json", "type": "string"}},
        "$ref": f"{HOST}draft2020-12/the-nested-id.json",
    },
    "detached-ref.json": {
        "$id": f"{HOST}draft2020-12/detached-ref.json",
        "$defs": {
            "foo": {"$ref": "#detached"},
            "detached": {"$anchor": "detached", "type": "integer"},
        },
    },
    "tree.json": {
        "$id": f"{HOST}draft2020-12/tree.json",
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {
            "data": True,
            "children": {"type": "array", "items": {"$dynamicRef": "#node"}},
        },
    },
    "extendible-dynamic-ref.json": {
        "$id": f"{HOST}draft2020-12/extendible-dynamic-ref.json",
        "type": "object",
        "properties": {"elements": {"type": "array", "items": {"$dynamicRef": "#elements"}}},
        "required": ["elements"],
        "additionalProperties": False,
        "$defs": {"elements": {"$dynamicAnchor": "elements"}},
    },
    "detached-dynamicref.json": {
        "$id": f"{HOST}draft2020-12/detached-dynamicref.json",
        "$defs": {
            "foo": {"$dynamicRef": "#detached"},
            "detached": {"$dynamicAnchor": "detached", "type": "integer"},
        },
    },
    "metaschema-no-validation.json": {
        "$id": f"{HOST}draft2020-12/metaschema-no-validation.json",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$vocabulary": {
            "https://json-schema.org/draft/2020-12/vocab/applicator": True,
            "https://json-schema.org/draft/2020-12/vocab/core": True,
        },
    },
    "metaschema-optional-vocabulary.json": {
        "$id": f"{HOST}draft2020-12/metaschema-optional-vocabulary.json",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$vocabulary": {
            "https://json-schema.org/draft/2020-12/vocab/validation": True,
            "https://json-schema.org/draft/2020-12/vocab/core": True,
            f"{HOST}draft/2020-12/vocab/custom": False,
        },
    },
}

DRAFT_7 = {
    "integer.json": INTEGER,
    "draft7/subSchemas.json": {
        "definitions": {"integer": INTEGER, "refToInteger": {"$ref": "#/definitions/integer"}}
    },
    "baseUriChange/folderInteger.json": INTEGER,
    "baseUriChangeFolder/folderInteger.json": INTEGER,
    "baseUriChangeFolderInSubschema/folderInteger.json": INTEGER,
    "draft7/name.json": {
        "definitions": {"orNull": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
        "type": "string",
    },
    "draft7/ref-and-definitions.json": {
        "$id": f"{HOST}draft7/ref-and-definitions.json",
        "definitions": {"inner": {"properties": {"bar": STRING}}},
        "allOf": [{"$ref": "#/definitions/inner"}],
    },
    "draft7/locationIndependentIdentifier.json": {
        "definitions": {
            "refToInteger": {"$ref": "#foo"},
            "named": {"$id": "#foo", "type": "integer"},
        }
    },
    "nested/foo-ref-string.json": {
        "type": "object",
        "properties": {"foo": {"$ref": "string.json"}},
    },
    "nested/string.json": STRING,
    "draft7/detached-ref.json": {
        "$id": f"{HOST}draft7/detached-ref.json",
        "definitions": {
            "foo": {"$ref": "#detached"},
            "detached": {"$id": "#detached", "type": "integer"},
        },
    },
}


def suite_documents(draft: str) -> dict[str, Any]:
    """Documents by URI, for the suite of draft ``"2020-12"`` or ``"7"``."""
    folder, found = {"2020-12": ("draft2020-12/", DRAFT_2020_12), "7": ("", DRAFT_7)}[draft]
    return {f"{HOST}{folder}{name}": document for name, document in found.items()}
