"""Half a surrogate pair: no JSON text that fastmask writes spells it."""

from __future__ import annotations

import pytest

import fastmask as fm

HALF = "\ud800"


@pytest.mark.parametrize(
    "schema",
    [
        {"const": HALF},
        {"const": [{"a": HALF}]},
        {"const": {HALF: 1}},
        {"enum": [HALF], "minLength": 1},
        {"type": "object", "required": [HALF]},
        {"type": "object", "dependentRequired": {"a": [HALF]}, "required": ["a"]},
        {
            "type": "object",
            "properties": {HALF: True},
            "additionalProperties": False,
            "minProperties": 1,
        },
        {"type": "array", "items": {"enum": [HALF, 1]}, "uniqueItems": True, "minItems": 2},
    ],
)
def test_what_needs_one_allows_nothing(schema):
    with pytest.raises(fm.UnsatisfiableGrammarError):
        fm.Grammar.from_json_schema(schema)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"enum": [HALF, "x"]}, '"x"'),
        ({"not": {"const": HALF}}, '"x"'),
        ({"type": "object", "properties": {HALF: {"type": "null"}}}, '{"x": 1}'),
    ],
)
def test_what_can_do_without_goes_on(schema, text):
    compiled = fm.GrammarCompiler(fm.toy.VOCABULARY).compile_json_schema(schema)
    matcher = fm.GrammarMatcher(compiled)
    for byte in text.encode():
        assert matcher.allowed_token_ids().size
        assert matcher.accept_bytes(bytes([byte]))
    assert matcher.is_completed()
