"""The text policy under the widest options: a schema and its negation part every text between them.

For a random schema S and value v, each spelling of v is accepted by S exactly when it is refused by
``{"not": S}``. And a finished key is never accepted a second time, however it is spelled.
"""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema_rs
import pytest

import fastmask as fm
from schema_cases import SchemaMaker, mutated, random_instance

VOCABULARY = fm.Vocabulary([*(bytes([i]) for i in range(256)), b"<end>"], eos_token_ids=[256])
WIDEST = {"formats": "annotate", "numbers": "any", "strings": "any", "whitespace": "any"}
APART = ("$schema", "$defs", "definitions")


def spelling(chooser: random.Random, value: Any) -> str:
    """One of the texts of a JSON value."""
    if isinstance(value, str):
        return f'"{"".join(character(chooser, c) for c in value)}"'
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return number(chooser, value)
    space = ["", "", " ", "\n", "\t "]
    if isinstance(value, list):
        parts = [spelling(chooser, item) for item in value]
        brackets = "[]"
    else:
        parts = [
            f"{spelling(chooser, key)}{chooser.choice(space)}:{spelling(chooser, item)}"
            for key, item in value.items()
        ]
        brackets = "{}"
    inner = f"{chooser.choice(space)},{chooser.choice(space)}".join(parts)
    return brackets[0] + chooser.choice(space) + inner + chooser.choice(space) + brackets[1]


def character(chooser: random.Random, text: str) -> str:
    if chooser.random() < 0.3:
        digits = f"{ord(text):04x}"
        return "\\u" + (digits.upper() if chooser.random() < 0.5 else digits)
    return text


def number(chooser: random.Random, value: float) -> str:
    text = json.dumps(value)
    whole = int(value) if value == int(value) else None
    ways = [text, text + "e0", text + "E+0", text + ("0" if "." in text else ".00")]
    if whole is not None:
        ways += [str(whole), f"{whole}.0", f"{whole * 10}e-1", f"0.{abs(whole)}e1"[whole < 0 :]]
        ways[-1] = ways[-1] if 0 <= whole < 10 else text
    return chooser.choice(ways)


def compiled(schema: Any) -> fm.CompiledGrammar | None:
    try:
        return fm.CompiledGrammar(fm.Grammar.from_json_schema(schema, **WIDEST), VOCABULARY)
    except fm.UnsatisfiableGrammarError:
        return None


def takes(grammar: fm.CompiledGrammar | None, text: str) -> bool:
    if grammar is None:
        return False
    matcher = fm.GrammarMatcher(grammar)
    return matcher.accept_bytes(text) and matcher.is_completed()


@pytest.mark.large
@pytest.mark.parametrize("seed", range(60))
def test_a_text_is_in_a_schema_or_in_its_negation(seed):
    chooser = random.Random(seed)
    schema = SchemaMaker(chooser, chooser.choice(["2020-12", "7"])).document(3)
    if isinstance(schema, bool):
        return
    is_valid = jsonschema_rs.validator_for(schema, validate_formats=False).is_valid
    rest = {key: value for key, value in schema.items() if key not in APART}
    negation = {"not": rest, **{key: schema[key] for key in APART if key in schema}}
    try:
        one, other = compiled(schema), compiled(negation)
        for _ in range(12):
            value = random_instance(chooser, 3)
            if chooser.random() < 0.3:
                value = mutated(chooser, value)
            for _ in range(3):
                text = spelling(chooser, value)
                assert (takes(one, text), takes(other, text)) == (
                    (True, False) if is_valid(value) else (False, True)
                ), text
    except (fm.UnsupportedFeatureError, fm.BudgetError):
        return  # named, and nothing was let through


@pytest.mark.parametrize("strings", ["usual", "any"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"properties": {"name": True}, "additionalProperties": {"type": "integer"}},
        {"patternProperties": {"^n": True, "e$": True}, "minProperties": 1},
        {"anyOf": [{"required": [key]} for key in "abcd"] + [{"required": ["name"]}]},
    ],
)
def test_a_key_comes_once_however_it_is_spelled(schema, strings):
    grammar = fm.Grammar.from_json_schema(schema, strings=strings)
    once = fm.CompiledGrammar(grammar, VOCABULARY)
    for key, again in (("name", "n\\u0061me"), ("né", "n\\u00e9"), ("n\\n", "n\\u000a")):
        matcher = fm.GrammarMatcher(once)
        assert matcher.accept_bytes(f'{{"{key}": 1, "')
        for spelled in (key, again):
            assert not matcher.fork().accept_bytes(f'{spelled}":')
        assert matcher.accept_bytes('other": 2')
        assert not matcher.accept_bytes(f', "{again}":')
