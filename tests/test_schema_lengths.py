"""Strings whose characters are counted beside a pattern, a format or exclusions."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import fastmask as fm
from fastmask._jit import JIT_ENABLED
from fastmask.schema.counting import Characters
from fastmask.schema.string_text import any_usual_string, spelled
from fastmask.schema.strings import language_of

LONGER = [
    *(b"ab", b"abab", b"aaaa", b'aa"', b'"a', b'a"', b'"aaaaaaaaaa', b"a" * 16, b"\\n", b"\\n\\n"),
    *("éé".encode(), "😀a".encode(), b"\\u00e9", b"\\ud83d\\ude00", b"\\u00", b"e9a"),
    *(b"@a.b", b'a@a.bc"', b'.com"'),
]
VOCABULARY = fm.Vocabulary(
    [*(bytes([i]) for i in range(256)), b"<end>", *LONGER], eos_token_ids=[256]
)


def pieces(*options: str):
    """Texts of about so many characters made of some pieces."""

    def make(chooser: random.Random, length: int) -> str:
        text = ""
        while len(text) < length:
            text += chooser.choice(options)
        return text

    return make


def mailbox(chooser: random.Random, length: int) -> str:
    name = "a" * chooser.randint(1, length - 4)
    return f"{name}@a." + "b" * max(0, length - len(name) - 3)


CASES = [
    ({"maxLength": 40}, pieces("a", "b", "\n", "é", "😀", '"')),
    ({"minLength": 34, "maxLength": 40}, pieces("a", "\n", "é", "😀", '"')),
    ({"pattern": "^(ab)*$", "maxLength": 41}, pieces("ab")),
    ({"pattern": "^(ab)*$", "minLength": 35, "maxLength": 39}, pieces("ab")),
    ({"pattern": "^(ab)*$", "minLength": 35, "maxLength": 36}, pieces("ab")),
    ({"pattern": "^[aé]+é{3}$", "maxLength": 36}, lambda r, n: pieces("a", "é")(r, n - 3) + "ééé"),
    # Behind the first byte of é and ê it is open how many characters are missing.
    ({"pattern": "^([a-z]|éaaaaaaa|êb)*$", "maxLength": 36}, pieces("z", "éaaaaaaa", "êb")),
    ({"format": "email", "maxLength": 36}, mailbox),
    ({"format": "uri", "maxLength": 36}, lambda r, n: "a:/" + pieces("a", "/", ".")(r, n - 3)),
    ({"pattern": "a\\n+b", "minLength": 33}, lambda r, n: pieces("a", "b")(r, n - 3) + "a\nb"),
    ({"maxLength": 36, "not": {"const": "a" * 36}}, pieces("a")),
    ({"maxLength": 35, "minLength": 35, "pattern": "^(a|bb)*$"}, pieces("a", "bb")),
]


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.large
def test_verdicts_masks_and_walks(number):
    validators = pytest.importorskip("jsonschema_rs")
    keywords, make = CASES[number]
    schema = {"type": "string", **keywords}
    is_valid = validators.Draft202012Validator(schema, validate_formats=True).is_valid
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    chooser = random.Random(number)
    most = schema.get("maxLength", 36)
    verdicts = set()
    for turn in range(30):
        value = make(chooser, chooser.randint(min(schema.get("minLength", 33), most) - 2, most + 2))
        text = json.dumps(value, ensure_ascii=chooser.random() < 0.3)
        matcher = fm.GrammarMatcher(compiled)
        accepted = matcher.accept_bytes(text) and matcher.is_completed()
        assert accepted == is_valid(value), text
        verdicts.add(accepted)
        if turn < (5 if JIT_ENABLED else 1):
            compare_masks(compiled, text.encode(), chooser)
            finish(compiled, is_valid, chooser)
    assert len(verdicts) == 2 or number == 4


def compare_masks(compiled, text, chooser):
    matcher = fm.GrammarMatcher(compiled)
    for place in range(len(text)):
        if place > len(text) - 25 or chooser.random() < 0.1:
            row = matcher.next_token_bitmask()
            assert row.any()
            assert np.array_equal(row, matcher.naive_row())
        if not matcher.accept_bytes(text[place : place + 1]):
            break


def finish(compiled, is_valid, chooser):
    """A random walk ends in a valid text."""
    matcher = fm.GrammarMatcher(compiled)
    text = b""
    for _ in range(400):
        ids = matcher.allowed_token_ids().tolist()
        if 256 in ids:
            assert is_valid(json.loads(text)), text
            return
        likely = [i for i in ids if i > 256 or chr(i) in 'ab@./:"']
        token = chooser.choice(likely if likely and chooser.random() < 0.9 else ids)
        assert matcher.accept_token(token)
        text += VOCABULARY.tokens[token]


def test_a_least_length_beside_a_pattern_of_some_lengths_has_a_limit():
    schema = {"type": "string", "pattern": "^(ab)*$", "minLength": 100_000}
    schema["maxLength"] = 200_000
    with pytest.raises(fm.BudgetError, match="minLength"):
        fm.Grammar.from_json_schema(schema)


def test_where_characters_begin_and_how_many_are_missing():
    strings = Characters(spelled(language_of("pattern", "^(ab|c)+$")))
    start = strings.dfa.start
    assert strings.between[start]
    assert strings.missing[start] == 1
    inside = strings.dfa.run(b"a")
    assert strings.missing[inside] == 1
    assert strings.missing[strings.dfa.run(b"ab")] == 0
    assert strings.is_dense
    assert Characters(any_usual_string()).is_dense
    assert not Characters(spelled(language_of("pattern", "^(ab)*$"))).is_dense
    escape = Characters(spelled(language_of("pattern", "^[\\n]+$")))
    assert not escape.between[escape.dfa.run(b"\\")]


@pytest.mark.parametrize(
    "pattern", ["^a", "b$", "^(aa|b)*c?$", "^a{2,4}$", "^(ab)*$", "^[ab]{3,}$"]
)
def test_which_numbers_of_characters_can_be_read(pattern):
    strings = Characters(spelled(language_of("pattern", pattern)))
    moves = [
        {(t, strings.between[s]) for _, _, t in strings.dfa.byte_ranges(s) if t != strings.end}
        for s in range(strings.dfa.n_states)
    ]
    ends = {s for s in range(strings.dfa.n_states) if strings.end in strings.dfa.table[s]}
    reached = [[{0} if s in ends else set() for s in range(strings.dfa.n_states)]]
    for _ in range(60):  # moves; the numbers of characters that so many at most read to the end
        last = reached[-1]
        reached.append(
            [
                last[s] | {n + int(begins) for t, begins in moves[s] for n in last[t]}
                for s in range(strings.dfa.n_states)
            ]
        )
    inner = [s for s in range(1, strings.dfa.n_states) if s != strings.end]
    numbers = reached[-1]
    assert [min(numbers[s]) for s in inner] == strings.missing[inner].tolist()
    if strings.is_dense:
        assert all(set(range(min(numbers[s]), 8)) <= numbers[s] for s in inner)
    assert strings.is_endless == all(max(numbers[s]) > 8 for s in inner)


def test_bounds_past_all_texts():
    compiler = fm.GrammarCompiler(fm.toy.VOCABULARY)
    for schema in ({"maxLength": 10**30}, {"maxLength": 10**12, "minLength": 1}):
        matcher = fm.GrammarMatcher(compiler.compile_json_schema({"type": "string", **schema}))
        assert matcher.accept_bytes('"abc"')
    with pytest.raises(fm.BudgetError, match="lower minLength"):
        compiler.compile_json_schema({"type": "string", "minLength": 10**12})


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (
            {"properties": {"a": {"pattern": "^a{1000000}$", "type": "string"}}, "required": ["a"]},
            "#/properties/a/pattern",
        ),
        ({"items": {"type": "number", "multipleOf": 123456789}}, "#/items/multipleOf"),
        (
            {"items": {"pattern": "^(ab)*$", "minLength": 10_000, "maxLength": 10_000}},
            "#/items/minLength",
        ),
    ],
)
def test_errors_of_limits_name_the_place(schema, path):
    kind = "array" if "items" in schema else "object"
    with pytest.raises(fm.BudgetError) as caught:
        fm.Grammar.from_json_schema({"type": kind, **schema})
    assert caught.value.path == path
    assert f" at {path}: " in str(caught.value)
