"""Schemas over vocabularies that lack bytes: no mask leads where no token goes on."""

from __future__ import annotations

import random

import pytest

import fastmask as fm
from fastmask.cli.sources import byte_vocabulary

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


def vocabulary_of(alphabet: bytes) -> fm.Vocabulary:
    tokens = [bytes([byte]) for byte in alphabet]
    return fm.Vocabulary([*tokens, b"<end>"], eos_token_ids=[len(tokens)])


@pytest.mark.parametrize("alphabet", VOCABULARIES)
def test_walks_never_come_to_a_dead_end(alphabet):
    vocabulary = vocabulary_of(alphabet)
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
    vocabulary = vocabulary_of(b'{}[]:,"abn15.e0x')

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


def different(items, least):
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": True}


def closed(least, **keywords):
    return {"type": "object", "additionalProperties": False, "minProperties": least, **keywords}


NAMES = {name: {"const": 1} for name in "abc"}
SOME_OF_ONE_TO_FIVE = {"type": "array", "items": {"enum": [1, 5]}, "uniqueItems": True}
# Schemas of which no text can be spelled with the tokens below, and that ask for one value less.
NOT_ENOUGH_IS_SPELLED = {
    "items": (different({"enum": [None, 1]}, 2), different({"enum": [None, 1]}, 1)),
    "strings": (different({"enum": ["a", "c"]}, 2), different({"enum": ["a", "c"]}, 1)),
    "integers": [different({"type": "integer", "minimum": 0, "maximum": 20}, n) for n in (3, 2)],
    "arrays": [different(SOME_OF_ONE_TO_FIVE, n) for n in (3, 2)],
    "objects": [different(closed(0, properties={"a": {"enum": [1, 2]}}), n) for n in (3, 2)],
    "names": [closed(n, properties=NAMES) for n in (3, 2)],
    "keys": [closed(n, patternProperties={"^[a-d]$": {"const": 1}}) for n in (3, 2)],
    "escaped keys": [closed(n, patternProperties={"^[ax]$": {"const": 1}}) for n in (2, 1)],
    "required keys": [
        different(closed(0, properties={name: {"const": 1}}, required=[name]), 1) for name in "xa"
    ],
}


@pytest.mark.parametrize("kind", NOT_ENOUGH_IS_SPELLED)
def test_no_text_begins_that_needs_more_than_can_be_spelled(kind):
    tokens = [bytes([byte]) for byte in b'[],"ab:{}1'] + [b"<end>"]
    compiler = fm.GrammarCompiler(fm.Vocabulary(tokens, eos_token_ids=[10]))
    impossible, possible = NOT_ENOUGH_IS_SPELLED[kind]
    matcher = fm.GrammarMatcher(compiler.compile_json_schema(impossible, whitespace="none"))
    with pytest.raises(fm.MatcherError, match="after 0 steps"):
        matcher.next_token_bitmask()
    matcher = fm.GrammarMatcher(compiler.compile_json_schema(possible, whitespace="none"))
    chooser = random.Random(kind)
    n_finished = 0
    for _ in range(40):
        matcher.reset()
        for _ in range(40):
            assert matcher.accept_token(chooser.choice(matcher.allowed_token_ids().tolist()))
            if matcher.is_terminated():
                n_finished += 1
                break
    assert n_finished > 10


LAYOUTS = [
    {"indent": 1},
    {"indent": 0},
    {"indent": "\t", "separators": (" , ", " : ")},
    {"indent": 1, "separators": ("\n,", ":")},
    {"separators": (" , ", ":\t")},
    {},
]
LACKING = [b" ", b"\n", b"\t", b",", b":", b" \n", b"{", b'"', b"]", b"-023456789", b"-123456789"]
SHORT = [
    {"type": "array", "items": {"type": "boolean"}, "minItems": 1},
    {"type": "array", "items": {"type": "boolean"}, "contains": {"const": True}},
    {"type": "array", "prefixItems": [{"const": 1}], "contains": {"const": True}},
    {"anyOf": [{"type": "array", "minItems": 2}, {"type": "array", "maxItems": 1}, {"const": 1}]},
    {"type": "array", "items": {"type": "array", "items": {"type": "array", "minItems": 1}}},
    {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}}, "required": ["a"]},
    {"type": "object", "additionalProperties": {"const": 1}, "minProperties": 1},
    {"type": ["object", "array", "null"], "minProperties": 2, "minItems": 2},
    {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 3},
    {"type": "array", "items": {"type": ["integer", "boolean"]}, "uniqueItems": True},
    {"type": "array", "items": {"type": ["string", "boolean"]}, "uniqueItems": True},
    {
        **{"type": "array", "uniqueItems": True, "minItems": 2},
        **{"items": {"type": "object", "additionalProperties": {"type": "integer"}}},
    },
]


@pytest.mark.large
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_texts_are_those_that_can_be_spelled(layout):
    bytes_vocabulary = byte_vocabulary()
    chooser = random.Random(5)
    for schema in SHORT:
        every = fm.GrammarCompiler(bytes_vocabulary).compile_json_schema(schema, **layout)
        for lacking in LACKING:
            alphabet = bytes({*b'{}[]:,"-0123456789abtruefalsenull \n\t'}.difference(lacking))
            compiled = fm.GrammarCompiler(vocabulary_of(alphabet)).compile_json_schema(
                schema, **layout
            )
            if has_texts(compiled):
                for _ in range(3):
                    assert list(walked(compiled, alphabet, chooser))
            for _ in range(3):
                for text, is_completed in walked(every, alphabet, chooser):
                    if is_completed:
                        again = fm.GrammarMatcher(compiled)
                        assert again.accept_bytes(text)
                        assert again.is_completed()


def has_texts(compiled) -> bool:
    try:
        fm.GrammarMatcher(compiled).next_token_bitmask()
    except fm.MatcherError:
        return False
    return True


def walked(compiled, alphabet: bytes, chooser: random.Random):
    """The beginnings of a text that is taken byte by byte, and whether each is complete."""
    tokens = compiled.vocabulary.tokens
    matcher, text = fm.GrammarMatcher(compiled), b""
    while len(text) < 40:
        yield text, matcher.is_completed()
        ways = [tokens[t] for t in matcher.allowed_token_ids() if tokens[t] in alphabet and t < 256]
        ways = [way for way in ways if len(way) == 1]
        if not ways:
            return
        byte = chooser.choices(ways, [24 if way in b',"]}[{' else 4 for way in ways])[0]
        assert matcher.accept_bytes(byte)
        text += byte


@pytest.mark.parametrize("number", ["3E5259878096213806213", "0E99999999999999999999", "97E64978"])
def test_a_number_too_large_to_be_told_apart_is_over_the_budget(number):
    compiled = fm.GrammarCompiler(fm.toy.VOCABULARY).compile_json_schema(
        {"uniqueItems": True, "prefixItems": [True, {"type": "array"}]}, whitespace="none"
    )
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes(f"[[{number.replace('E', 'e')}]")
    with pytest.raises(fm.BudgetError, match="exponent"):
        matcher.next_token_bitmask()
    with pytest.raises(fm.BudgetError, match="exponent"):
        matcher.accept_bytes(",")
    with pytest.raises(fm.BudgetError, match="exponent"):
        fm.Grammar.from_json_schema(f'{{"const": {number}}}')
