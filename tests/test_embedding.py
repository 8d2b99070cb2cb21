"""Automata written part by part: whatever the parts are, masks are those of the whole."""

from __future__ import annotations

import gc
import json
import random

import numpy as np
import pytest

import fastmask as fm
from fastmask import embedding
from fastmask._jit import JIT_ENABLED
from fastmask._pool import TABLES
from fastmask.shared_rows import shared_rows
from fastmask.shortest import shortest_completion

TOKENS = [
    *(bytes([i]) for i in range(256)),
    *(b"<end>", b"ab", b"abab", b" a", b"a b", b"a  b c", b'a"', b'"a', b"a" * 16, b"1.5", b"00"),
    *(b"\\n", b"\\u00", b"e9", "é".encode(), "éa".encode(), b"-01-", b"T00:", b"@a.", b"\xc3"),
    *(b" a" * 9, b"a.b", b"[a", b"]*", b"(?:", b'","', b'": '),
]
WORDS = {"type": "string", "pattern": "^(?:\\S+\\s+){0,19}\\S+$"}
CASES = [
    (WORDS, ["ab abab a b", "é a\nb  c", "a " * 18 + "a", "a " * 20, ""]),
    (WORDS | {"maxLength": 50}, ["a" * 50, "ab " * 16 + "ab", "ab " * 17]),
    (WORDS | {"minLength": 36, "maxLength": 50}, ["a" * 36, "ab " * 12, "ab " * 11]),
    ({"type": "string", "pattern": "^[ab]{1,40}$"}, ["a" * 40, "ab" * 20 + "a"]),
    ({"type": "string", "format": "date-time"}, ["2024-01-31T00:00:00Z", "2024-02-30T00:00:00Z"]),
    ({"type": "string", "format": "regex"}, ["^(?:[a-b]*|a{1,2})$", "(a", "[a]*(?<a>b)"]),
    ({"type": "number", "multipleOf": 0.25, "maximum": 1000}, [1.5, 100.25, 0.3, 1e3]),
    (
        {"anyOf": [WORDS | {"maxLength": 40}, {"type": "string", "format": "email"}]},
        ["a@a.b", "a a@ b", "a" * 41 + "@a.b", "a " * 21],
    ),
    (
        {"type": "object", "patternProperties": {"^a[ab]{0,30}$": WORDS}},
        [{"abab": "a b", "b": 1}, {"a" * 31: 1}],
    ),
]


def masks(schema: object, values: list) -> list:
    """Every mask on the way through the values, made by tables of their own."""
    shared_rows.cache_clear()
    vocabulary = fm.Vocabulary(TOKENS, eos_token_ids=[256])
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), vocabulary)
    found = []
    for value in values:
        for is_ascii in (False, True):
            matcher = fm.GrammarMatcher(compiled)
            for byte in json.dumps(value, ensure_ascii=is_ascii).encode():
                found.append(matcher.next_token_bitmask().tobytes())
                if not matcher.accept_bytes(bytes([byte])):
                    break
            found.append(matcher.is_completed())
    return found


@pytest.mark.parametrize("number", range(len(CASES)))
def test_masks_do_not_depend_on_the_parts(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    schema, values = CASES[number]
    if not JIT_ENABLED:
        values = values[:2] if number < 3 else values
        if schema.get("format") == "regex":
            pytest.skip("large, and kernels are not compiled here")
    monkeypatch.setattr(embedding, "_PART", 1 << 20)
    whole = masks(schema, values)
    assert not JIT_ENABLED or {True, False} <= {
        verdict for verdict in whole if isinstance(verdict, bool)
    }
    for part in (1, 2, 7, 50) if JIT_ENABLED else (7,):
        monkeypatch.setattr(embedding, "_PART", part)
        assert masks(schema, values) == whole, part


def test_shortest_ends_reach_states_that_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_PART", 3)
    vocabulary = fm.Vocabulary(TOKENS, eos_token_ids=[256])
    for minimum in (20, 40):
        schema = {"type": "string", "pattern": "^(ab)+$", "minLength": minimum}
        grammar = fm.Grammar.from_json_schema(schema)
        matcher = fm.GrammarMatcher(fm.CompiledGrammar(grammar, vocabulary))
        assert matcher.accept_bytes('"ab')
        expected = b"ab" * (minimum // 2 - 1) + b'"'
        assert shortest_completion(matcher).text == expected


def test_only_what_texts_reach_is_written_and_cleared_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TABLES, "_free", {})
    vocabulary = fm.Vocabulary(TOKENS, eos_token_ids=[256])
    schema = WORDS | {"pattern": "^(?:\\S+\\s+){0,199}\\S+$"}
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), vocabulary)
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes('"a b')
    matcher.next_token_bitmask()
    tables = matcher._arena.tables
    actions = tables.actions.reshape(-1)
    written = np.count_nonzero(actions[: 20_000 << 8].reshape(-1, 256).any(axis=1))
    assert 256 < written <= tables.n_written < 5_000 < tables.n_states
    size = actions.size
    del matcher, compiled, tables, actions
    gc.collect()
    again = [TABLES.take(size, np.int32) for _ in range(3)]
    assert not any(array[: 20_000 << 8].any() for array in again)


def test_tables_that_were_used_are_dead_again() -> None:
    """Whatever was written before, in any order of large automata and small parts."""
    vocabulary = fm.Vocabulary(TOKENS, eos_token_ids=[256])
    schemas = [
        WORDS | {"pattern": "^(?:\\S+\\s+){0,99}\\S+$"},
        {"properties": {"ab": {"enum": ["abab", "ab "]}}, "additionalProperties": False},
        {"type": "string", "format": "date-time"},
        {"properties": {"a b": {"type": "object"}}},
    ]
    rng = random.Random(0)
    for _ in range(12):
        compiled = fm.GrammarCompiler(vocabulary).compile_json_schema
        for schema in rng.choices(schemas, k=rng.randint(1, 4)):
            matcher = fm.GrammarMatcher(compiled(schema))
            for text in ('"a b', '{"ab": "ab', '"2020-01-01T', '{"a b": {"a": [1'):
                matcher.reset()
                if matcher.accept_bytes(text):
                    assert np.array_equal(matcher.next_token_bitmask(), matcher.naive_row())
        tables = matcher._arena.tables
        row = tables.row(tables.new_states(1))
        assert not row.any()
        del compiled, matcher, tables
