"""Schemas over vocabularies that lack bytes: no mask leads where no token goes on."""

from __future__ import annotations

import random

import pytest

import fastmask as fm

VOCABULARIES = [
    b'{}[]:,"abn15.e0',
    b'{}[]:,"a1tru\\',
    b'{}[]:,"aulfse1',
    b"0123456789.e",
    b'{}[]:,"\\u0123456789abcdefnrt/ \xc3',
    b'{}:,"a1 ',
    b'"yesno',
]
SCHEMAS = [
    {"type": "number", "minimum": 0},
    {"type": "string"},
    {"enum": ["yes", "no", 1.5, 2]},
    {"type": ["null", "integer", "boolean"]},
    {"type": "object", "properties": {"xy": {"type": "integer"}, "a": {"type": "integer"}}},
    {"anyOf": [{"type": "object", "required": ["xy"]}, {"type": "integer"}]},
    {"type": "array", "items": {"anyOf": [{"const": "yes"}, {"type": "integer"}]}, "minItems": 2},
    {"properties": {"a": {"type": "boolean"}}, "additionalProperties": {"type": "integer"}},
    {"type": "string", "maxLength": 40},
    {"type": "object", "patternProperties": {"^x": True}, "additionalProperties": False},
    {"properties": {"a": {"$ref": "#"}}, "required": ["a"], "type": ["object", "null"]},
    {"type": "string", "format": "date"},
    {"type": "array", "items": {"enum": list(map(str, range(600)))}},
    {"type": "array", "uniqueItems": True, "items": {"enum": ["a", "xy", "z"]}},
    True,
]


@pytest.mark.parametrize("alphabet", VOCABULARIES)
def test_walks_never_come_to_a_dead_end(alphabet):
    tokens = [bytes([byte]) for byte in alphabet]
    vocabulary = fm.Vocabulary([*tokens, b"<end>"], eos_token_ids=[len(tokens)])
    end = vocabulary.eos_token_ids[0]
    chooser = random.Random(3)
    for schema in SCHEMAS:
        compiled = fm.GrammarCompiler(vocabulary).compile_json_schema(schema)
        for _ in range(15):
            matcher = fm.GrammarMatcher(compiled)
            for step in range(20):
                try:
                    allowed = matcher.allowed_token_ids().tolist()
                except fm.MatcherError:
                    assert step == 0, schema
                    break
                taken = [t for t in range(vocabulary.size) if matcher.fork().accept_token(t)]
                assert allowed == taken
                going_on = [token for token in allowed if token != end]
                if not going_on:
                    break
                matcher.accept_token(chooser.choice(going_on))


def test_what_is_left_out():
    tokens = [bytes([byte]) for byte in b'{}[]:,"abn15.e0x']
    vocabulary = fm.Vocabulary([*tokens, b"<end>"], eos_token_ids=[len(tokens)])

    def first_texts(schema, text: str) -> list[bytes]:
        matcher = fm.GrammarMatcher(fm.GrammarCompiler(vocabulary).compile_json_schema(schema))
        assert matcher.accept_bytes(text)
        return [vocabulary.tokens[token] for token in matcher.allowed_token_ids()]

    assert b"e" not in first_texts({"type": "number", "minimum": 0}, "1")  # no sign, no digit 6
    assert first_texts({"enum": ["yes", "ab"]}, '"') == [b"a"]
    assert b"n" not in first_texts({"type": ["null", "integer"]}, "")
    assert first_texts(
        {"properties": {"xy": True, "x": True}, "additionalProperties": False}, '{"'
    ) == [b"x"]
