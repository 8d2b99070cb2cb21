"""How rows are kept: what they count for, when they are dropped, and those without any token."""

from __future__ import annotations

import numpy as np
import pytest

import fastmask as fm
from fastmask.kernels import layout

LETTERS = [bytes([i]) for i in range(256)]


def without(absent: bytes, *tokens: bytes) -> fm.Vocabulary:
    """Single bytes save some, which other tokens have."""
    alone = [letter for letter in LETTERS if letter not in absent]
    return fm.Vocabulary([*alone, *tokens, b"<end>"], len(alone) + len(tokens))


CONTINUATION = bytes(range(0x80, 0xC0))
MANY = [f"k{i}" for i in range(600)]


@pytest.mark.parametrize(
    ("schema", "vocabulary", "start"),
    [
        ({"type": "string", "maxLength": 3}, without(CONTINUATION, "é".encode()), b'"\xc3'),
        ({"type": "string", "minLength": 9}, without(CONTINUATION, "é".encode()), b'"\xc3'),
        ({"enum": [*MANY, "ax"]}, without(b"x", b"xx"), b'"a'),
        ({"enum": ["ax", "k"]}, without(b"x", b"xx"), b'"a'),
    ],
)
def test_a_row_without_any_token_is_an_error(schema, vocabulary, start):
    compiled = fm.GrammarCompiler(vocabulary).compile_json_schema(schema, whitespace="none")
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes(start)
    assert not matcher.naive_row().any()
    bitmask = fm.allocate_token_bitmask(1, vocabulary.size)
    for _ in range(2):
        with pytest.raises(fm.MatcherError, match="missing_bytes"):
            matcher.fill_next_token_bitmask(bitmask)
        with pytest.raises(fm.MatcherError, match="missing_bytes"):
            fm.fill_next_token_bitmasks([matcher], bitmask)
        with pytest.raises(fm.MatcherError, match="missing_bytes"):
            matcher.next_token_bitmask()


@pytest.mark.parametrize("limit", [0, -1, 0.5, -np.inf, np.inf, np.nan, 1e30, 2**70])
def test_any_number_is_a_limit(limit):
    compiled = fm.GrammarCompiler(fm.toy.VOCABULARY, limit).compile_json_schema({"maxLength": 9})
    matcher = fm.GrammarMatcher(compiled)
    for byte in b'"0123456':
        assert (matcher.next_token_bitmask() == matcher.naive_row()).all()
        assert matcher.accept_bytes(bytes([byte]))


def test_rows_outlive_what_made_them():
    held = []
    for i in range(30):
        compiled = fm.GrammarCompiler(fm.toy.VOCABULARY).compile_choices([f"a{i}", f"b{i}c"])
        row = fm.GrammarMatcher(compiled).next_token_bitmask()
        assert not row.flags.writeable
        held.append((row, row.copy()))
        del compiled  # what it leaves behind serves the next one
    assert all((row == copy).all() for row, copy in held)


@pytest.mark.large
def test_rows_that_were_handed_out_count_for_the_limit():
    vocabulary = fm.Vocabulary.gpt2()
    row_bytes = 4 * ((vocabulary.size + 31) // 32)
    limit = 64 * row_bytes
    # Nearly all of their rows are a few words.
    compiled = fm.CompiledGrammar(fm.Grammar.from_regex("(0a1b2c){400}"), vocabulary, limit)
    matcher = fm.GrammarMatcher(compiled)
    held, sizes = [], []
    for byte in b"0a1b2c" * 400:
        held.append(matcher.next_token_bitmask())
        assert held[-1] is matcher.next_token_bitmask()
        sizes.append(compiled.memory_size_bytes)
        assert matcher.accept_bytes(bytes([byte]))
    assert max(sizes) - sizes[0] < 3 * limit
    assert (np.array(held[:6] * 399) == np.array(held[:-6])).all()


@pytest.mark.large
def test_trees_count_for_the_limit_though_their_rows_are_small():
    vocabulary = fm.Vocabulary.gpt2()
    row_bytes = 4 * ((vocabulary.size + 31) // 32)
    limit = 16 * row_bytes
    compiled = fm.CompiledGrammar(fm.Grammar.from_regex("(0a1b2c){900}"), vocabulary, limit)
    matcher = fm.GrammarMatcher(compiled)
    bitmask = fm.allocate_token_bitmask(1, vocabulary.size)
    for byte in b"0a1b2c" * 900:
        matcher.fill_next_token_bitmask(bitmask)
        rows = compiled.arena.rows
        trees = 8 * layout.NODE * rows.n_nodes
        assert trees < rows.used_bytes < 3 * limit
        assert matcher.accept_bytes(bytes([byte]))
    assert compiled.arena.clears
