"""Numbers of a schema that is given as JSON text: their values and how they are written."""

from __future__ import annotations

import pickle
from decimal import Decimal

import pytest

import fastmask as fm
from fastmask.cli.sources import byte_vocabulary


def accepts(grammar: fm.Grammar, text: str) -> bool:
    compiled = fm.GrammarCompiler(byte_vocabulary()).compile(grammar)
    matcher = fm.GrammarMatcher(compiled)
    return matcher.accept_bytes(text) and matcher.is_completed()


@pytest.mark.parametrize(
    ("schema", "taken", "refused"),
    [
        ('{"const": 1e2}', ["1e2", "100", "100.0"], ["1E2", "1e+2", "10e1", "1e3"]),
        ('{"enum": [1.50, "x"]}', ["1.50", "1.5", '"x"'], ["1.500", "1.05"]),
        ('{"const": [{"a": 0.10}]}', ['[{"a": 0.10}]', '[{"a": 0.1}]'], ['[{"a": 0.100}]']),
        ('{"const": -0.0}', ["-0.0", "0"], ["0.00"]),
        ('{"const": 1e400}', ["1e400"], ["1e4", "1e401"]),
        ('{"const": 0.10000000000000000001}', ["0.10000000000000000001"], ["0.1"]),
        ('{"const": 100.0}', ["100", "100.0"], ["1e2"]),
        ('{"type": "integer", "minimum": 1e1, "maxLength": 1e1}', ["10", "11"], ["9"]),
        ('{"maximum": 1e400, "minimum": 2}', ["3"], ["1"]),
    ],
)
def test_spellings_of_the_schema(schema, taken, refused):
    grammar = fm.Grammar.from_json_schema(schema)
    copies = [
        grammar,
        fm.Grammar.from_json_schema(schema.encode()),
        pickle.loads(pickle.dumps(grammar)),
        fm.Grammar.from_gbnf(str(grammar)),
    ]
    for copy in copies:
        assert copy == grammar
        assert [text for text in taken if not accepts(copy, text)] == []
        assert [text for text in refused if accepts(copy, text)] == []


def test_decimals_are_numbers():
    grammar = fm.Grammar.from_json_schema({"const": Decimal("2.50")})
    assert accepts(grammar, "2.5")
    assert accepts(pickle.loads(pickle.dumps(grammar)), "2.50")


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"x-made-by": {"a/b": [object()]}}, "#/x-made-by/a~1b/0"),
        ({"default": {1, 2}}, "#/default"),
        ({"x-keys": {("a", "b"): 1}}, "#"),
        ({"properties": {1: True}}, "#/properties"),
        ({"dependentRequired": {1: ["a"]}}, "#/dependentRequired"),
    ],
)
def test_what_json_has_no_word_for(schema, path):
    with pytest.raises(fm.GrammarSyntaxError, match="JSON|strings") as caught:
        fm.Grammar.from_json_schema(schema)
    assert caught.value.path == path


def test_an_integer_of_very_many_digits_is_still_json():
    with pytest.raises(fm.BudgetError, match="decimal places"):
        fm.Grammar.from_json_schema('{"const": %s}' % ("7" * 5_000))


FOUR, NOT_AN_INTEGER = "http://json-schema.org/draft-04/schema#", {"not": {"type": "integer"}}
LARGE = 2**53 + 1  # no float is equal to it


@pytest.mark.parametrize(
    ("schema", "taken", "refused"),
    [
        ({"enum": [0]}, ["0.0"], ["0", "-0", "1.0"]),
        ({"enum": [0, 1.5, "x"]}, ["0.0", "1.5", '"x"'], ["0"]),
        ({"enum": [10**16, LARGE]}, ["1e+16", f"{LARGE}.0"], [str(10**16), str(LARGE)]),
        ({"minimum": 3, "maximum": 3}, ["3.0"], ["3"]),
        ({"multipleOf": 2, "minimum": 1, "maximum": 4}, ["2.0", "4.0"], ["2", "3.0"]),
        ({"enum": [[0]], "items": NOT_AN_INTEGER}, ["[0.0]"], ["[0]"]),
        (
            {"items": {"enum": [0, 1], **NOT_AN_INTEGER}, "minItems": 2, "uniqueItems": True},
            ["[0.0,1.0]"],
            ["[0.0,1]", "[0.0,0.0]"],
        ),
        # What a newer draft calls an integer may be none for draft 4.
        (
            {"$id": "http://new.test", "$schema": "https://json-schema.org/draft/2020-12/schema",
             "type": "integer", "maximum": 2, "not": False, "allOf": [{"$ref": "http://old.test"}]},
            ["2.0", "-1.0"],
            ["2", "1.5", "3.0"],
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("numbers", ["plain", "any"])
def test_what_draft_4_calls_no_integer_has_a_point(schema, taken, refused, numbers):
    old = {"$schema": FOUR, **NOT_AN_INTEGER}
    grammar = fm.Grammar.from_json_schema(
        {"$schema": FOUR, **NOT_AN_INTEGER, **schema},
        documents={"http://old.test": old},
        numbers=numbers,
    )
    assert [text for text in taken if not accepts(grammar, text)] == []
    assert [text for text in refused if accepts(grammar, text)] == []


@pytest.mark.large
def test_multiples_of_a_large_prime_are_spelled_as_floats_too():
    grammar = fm.Grammar.from_json_schema({"type": "number", "multipleOf": 7919})
    compiled = fm.GrammarCompiler(byte_vocabulary()).compile(grammar)

    def is_taken(text: str) -> bool:
        matcher = fm.GrammarMatcher(compiled)
        return matcher.accept_bytes(text) and matcher.is_completed()

    for factor in (0, 1, -3, 10**15, 123_456_789, 10**40):
        multiple = 7919 * factor
        assert is_taken(str(multiple))
        if Decimal(repr(float(multiple))) == multiple:
            assert is_taken(repr(float(multiple)))
        assert not is_taken(str(multiple + 1))
    assert is_taken("7.919e+50")
    assert not is_taken("7.918e+50")
    assert not is_taken("7.919e-05")
