"""Many matchers in one call, against one call each."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

import fastmask as fm
from fastmask._jit import JIT_ENABLED
from fastmask.errors import BitmaskError, MatcherError
from fastmask.rows import held_rows
from judge import random_grammar
from walking import row_ids

TOKENS = [b"a", b"b", b"c", b"ab", b"ca", b"bbc", b"<end>"]
END = 6


@pytest.fixture(scope="module")
def compiler():
    return fm.GrammarCompiler(fm.Vocabulary(TOKENS, END, vocab_size=40))


def matchers_of(compiler, seeds) -> list[fm.GrammarMatcher]:
    """Matchers of different grammars, with different ends."""
    kinds = [{}, {"stop_token_ids": [38, 39]}, {"terminate_without_stop_token": True}]
    made = []
    for seed in seeds:
        compiled = compiler.compile(fm.Grammar(random_grammar(seed)))
        options = kinds[seed % 3]
        made.append(fm.GrammarMatcher(compiled, **options))
    return made


@pytest.mark.parametrize("seed", range(10 if JIT_ENABLED else 2))
def test_a_batch_does_what_single_calls_do(compiler, seed):
    chooser = random.Random(seed)
    batch = matchers_of(compiler, range(seed * 7, seed * 7 + 9))
    alone = [matcher.fork() for matcher in batch]
    for _ in range(8):
        indices = chooser.sample(range(20), len(batch))
        bitmask = np.full((20, 2), 0x5555, np.int32)
        single = bitmask.copy()
        apply = fm.fill_next_token_bitmasks(batch, bitmask, indices)
        expected = [
            matcher.fill_next_token_bitmask(single, index)
            for matcher, index in zip(alone, indices, strict=True)
        ]
        assert apply.tolist() == expected
        assert (bitmask == single).all()
        tokens = []
        for index in indices:
            allowed = sorted(row_ids(bitmask[index]))
            tokens.append(chooser.choice([*allowed, chooser.randrange(-2, 45)]))
        accepted = fm.accept_tokens(batch, tokens)
        assert accepted.dtype == np.bool_
        assert accepted.tolist() == [
            matcher.accept_token(token) for matcher, token in zip(alone, tokens, strict=True)
        ]
        for left, right in zip(batch, alone, strict=True):
            assert left.is_terminated() == right.is_terminated()
            assert left.is_completed() == right.is_completed()
    for left, right in zip(batch, alone, strict=True):
        for matcher in (left, right):
            while True:
                try:
                    matcher.rollback(1)
                except MatcherError:
                    break
        assert (left.next_token_bitmask() == right.next_token_bitmask()).all()


def test_rows_in_order_and_nothing_for_nobody(compiler):
    matchers = matchers_of(compiler, [0, 3])
    bitmask = fm.allocate_token_bitmask(2, 40)
    fm.fill_next_token_bitmasks(matchers, bitmask)
    for row, matcher in zip(bitmask, matchers, strict=True):
        assert (row == matcher.next_token_bitmask()).all()
    assert fm.fill_next_token_bitmasks([], bitmask).shape == (0,)
    assert fm.accept_tokens([], []).shape == (0,)
    assert fm.accept_tokens([], np.zeros(0)).shape == (0,)


def test_token_ids_of_any_integer_type(compiler):
    for kind in (np.int32, np.int64, np.uint16):
        matchers = [fm.GrammarMatcher(compiler.compile_gbnf('root ::= "a" "b"')) for _ in range(2)]
        assert fm.accept_tokens(matchers, np.array([3, 1], kind)).tolist() == [True, False]
    matchers = [fm.GrammarMatcher(compiler.compile_gbnf('root ::= "a" "b"'))]
    assert fm.accept_tokens(matchers, (0,)).tolist() == [True]
    for wrong in (["a"], [None], [0.0], np.zeros(1)):
        with pytest.raises(TypeError):
            fm.accept_tokens(matchers, wrong)
        with pytest.raises(TypeError):
            fm.fill_next_token_bitmasks(matchers, fm.allocate_token_bitmask(1, 40), wrong)
    for outside in (2**31, 2**63, 2**64, 2**80, -(2**80), -1):
        assert fm.accept_tokens(matchers, [outside]).tolist() == [False]


def test_a_full_row_needs_no_applying():
    vocabulary = fm.Vocabulary([b"a", b"b", b"<end>"], 2)
    compiler = fm.GrammarCompiler(vocabulary)
    matchers = [
        fm.GrammarMatcher(compiler.compile_gbnf(text))
        for text in ("root ::= [ab]*", "root ::= [ab]+", "root ::= [ab]*")
    ]
    bitmask = fm.allocate_token_bitmask(3, 3)
    for _ in range(2):
        assert fm.fill_next_token_bitmasks(matchers, bitmask).tolist() == [False, True, False]
    assert bitmask.tolist() == [[7], [3], [7]]


def test_wrong_calls_say_what_is_wrong(compiler):
    matchers = matchers_of(compiler, [0, 1])
    bitmask = fm.allocate_token_bitmask(2, 40)
    with pytest.raises(BitmaskError, match="3 indices for 2 matchers"):
        fm.fill_next_token_bitmasks(matchers, bitmask, [0, 1, 1])
    with pytest.raises(BitmaskError, match="row 2"):
        fm.fill_next_token_bitmasks(matchers, bitmask, [0, 2])
    with pytest.raises(BitmaskError, match="row -1"):
        fm.fill_next_token_bitmasks(matchers, bitmask, [-1, 0])
    with pytest.raises(BitmaskError, match="row 1"):
        fm.fill_next_token_bitmasks(matchers, bitmask[:1])
    with pytest.raises(BitmaskError, match="words"):
        fm.fill_next_token_bitmasks(matchers, fm.allocate_token_bitmask(2, 70))
    with pytest.raises(BitmaskError, match="int64"):
        fm.fill_next_token_bitmasks(matchers, bitmask.astype(np.int64))
    with pytest.raises(ValueError, match="3 tokens for 2 matchers"):
        fm.accept_tokens(matchers, [0, 1, 2])


def test_a_row_without_any_bit_stops_the_batch():
    compiler = fm.GrammarCompiler(fm.Vocabulary([b"a", b"ab", b"<end>"], 2))
    stuck = fm.GrammarMatcher(compiler.compile_gbnf('root ::= "aabb"'))
    assert stuck.accept_tokens([0, 1]) == 2
    fine = fm.GrammarMatcher(compiler.compile_gbnf('root ::= "a"*'))
    with pytest.raises(MatcherError, match="after 2 steps"):
        fm.fill_next_token_bitmasks([fine, stuck], fm.allocate_token_bitmask(2, 3))


def test_rows_stay_while_a_batch_may_be_reading_them(compiler):
    arena = compiler.compile_regex("[a-z]*").arena
    old = arena.rows
    references = sys.getrefcount(old)
    with held_rows():
        arena._drop_rows()
        assert sys.getrefcount(old) == references  # the batch's instead of the arena's
    assert sys.getrefcount(old) == references - 1
