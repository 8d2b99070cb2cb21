"""Long lists of strings, of which no automaton is made."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import fastmask as fm

LETTERS = [bytes([i]) for i in range(256)]


@pytest.mark.parametrize("plain", [True, False])
def test_verdicts_and_masks(plain):
    chooser = random.Random(1)
    alphabet = "abc-_" if plain else 'ab"\\é\n/'
    words = {"".join(chooser.choices(alphabet, k=chooser.randint(0, 9))) for _ in range(900)}
    schema = {"anyOf": [{"enum": sorted(words)}, {"type": "boolean"}, {"const": "c" * 30}]}
    tokens = {"".join(chooser.choices(alphabet + '"', k=chooser.randint(2, 4))) for _ in range(300)}
    vocabulary = fm.Vocabulary(
        [*LETTERS, b"<end>", b'"', b'a"', b'"ab', b'b", "', *(t.encode() for t in sorted(tokens))],
        eos_token_ids=[256],
    )
    array = {"type": "array", "items": schema}
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(array), vocabulary)
    picked = chooser.sample(sorted(words), 20)
    for ensure_ascii in (True, False):
        text = json.dumps([*picked, True, "c" * 30, picked[0]], ensure_ascii=ensure_ascii)
        matcher = fm.GrammarMatcher(compiled)
        for byte in text.encode():
            assert np.array_equal(matcher.next_token_bitmask(), matcher.naive_row())
            assert matcher.accept_bytes(bytes([byte]))
        assert matcher.is_completed()
    for text in picked:
        wrong = text + "x"
        matcher.reset()
        assert not (matcher.accept_bytes(json.dumps([wrong])) and wrong not in words)


def test_twenty_thousand_strings_are_compiled_and_told_apart():
    vocabulary = fm.Vocabulary.gpt2()
    words = [f"name-{i * 7919 % 20011}-{i}" for i in range(20_000)]
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema({"enum": words}), vocabulary)
    matcher = fm.GrammarMatcher(compiled)
    for word in words[::4000]:
        matcher.reset()
        for token in json.dumps(word).encode():
            assert matcher.next_token_bitmask().any()
            assert matcher.accept_bytes(bytes([token]))
        assert matcher.is_completed()
    matcher.reset()
    assert not matcher.accept_bytes('"name-1-2"')
    assert compiled.tables.n_states < 2_000
