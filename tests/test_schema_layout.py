"""Fixed white space: what has to stand before a comma or a bracket promises that it comes."""

from __future__ import annotations

import json
import random

import pytest

import fastmask as fm
from fastmask.cli.sources import byte_vocabulary

SCHEMAS = {
    "items to come": {"type": "array", "items": {"type": "boolean"}, "minItems": 3},
    "no more items": {"type": "array", "items": {"type": "boolean"}, "maxItems": 1},
    "no item": {"type": "array", "maxItems": 0},
    "no item fits": {"type": "array", "items": False},
    "prefix": {
        **{"type": "array", "prefixItems": [{"const": 1}, {"const": 2}]},
        **{"items": {"const": 3}, "minItems": 2},
    },
    "full prefix": {"type": "array", "prefixItems": [{"const": 1}], "items": False},
    "nothing at the first place": {"type": "array", "prefixItems": [False]},
    "an item to find": {"type": "array", "items": {"enum": [1, 2]}, "contains": {"const": 2}},
    "different items": {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True},
    "different texts": {
        **{"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 3}},
        **{"uniqueItems": True, "minItems": 2, "maxItems": 3},
    },
    "listed texts": {
        **{"type": "array", "items": {"enum": ["a", "b", "c"]}},
        **{"uniqueItems": True, "minItems": 2},
    },
    "not one array": {"type": "array", "items": {"const": 1}, "not": {"const": [1, 1]}},
    "keys to come": {
        "type": "object",
        "properties": {"a": {"const": 1}, "b": {"const": 2}},
        "required": ["b"],
        "additionalProperties": False,
    },
    "any key to come": {
        **{"type": "object", "additionalProperties": {"const": 1}, "minProperties": 2},
        **{"propertyNames": {"pattern": "^[a-c]*$"}},
    },
    "no more keys": {
        **{"type": "object", "additionalProperties": {"const": 1}, "maxProperties": 1},
        **{"propertyNames": {"pattern": "^[a-c]*$"}},
    },
    "no key": {"type": "object", "additionalProperties": False},
    "no key fits": {"type": "object", "propertyNames": False},
    "not one object": {
        **{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}},
        **{"additionalProperties": False, "not": {"const": {"a": 1}}},
    },
    "alternatives": {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": kind}, kind: {"const": 1}},
                "required": ["kind", kind],
                "additionalProperties": False,
            }
            for kind in ("x", "y", "z")
        ]
    },
}
LAYOUTS = [
    {"indent": 1},
    {"indent": 0},
    {"indent": "\t", "separators": (" , ", " : ")},
    {"indent": 1, "separators": ("\n,", ":")},
    {"separators": (" , ", ":")},
]


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_no_white_space_leads_to_a_dead_end(name, layout):
    schema = {"type": "array", "items": SCHEMAS[name], "maxItems": 2}
    grammar = fm.Grammar.from_json_schema(schema, **layout)
    matcher = fm.GrammarMatcher(fm.CompiledGrammar(grammar, byte_vocabulary()))
    chooser = random.Random(name)
    for _ in range(8):
        matcher.reset()
        text = b""
        while not matcher.is_completed():
            byte = chooser.choice(matcher.allowed_token_ids().tolist())
            assert matcher.accept_token(byte)
            text += bytes([byte])
        value = json.loads(text)
        assert text.decode() == json.dumps(value, ensure_ascii=False, **layout)
        assert fm.GrammarMatcher(matcher.compiled).accept_bytes(text)
