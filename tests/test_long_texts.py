"""Deep, long and hopeless texts: no growth, no crash, and a `BudgetError` that changes nothing."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import fastmask as fm
from fastmask.errors import BudgetError
from fastmask.grammar.core import Grammar

TOKENS = [b"[", b"]", b",", b"1", b"[[", b'"', b"x", "é".encode(), b"{", b"}", b":", b"<end>"]
VOCABULARY = fm.Vocabulary(TOKENS, 11)
OPEN, CLOSE, COMMA, ONE, _, QUOTE, LETTER = range(7)


def json_matcher() -> fm.GrammarMatcher:
    return fm.GrammarMatcher(fm.GrammarCompiler(VOCABULARY).compile_json())


# --- deep


@pytest.mark.large
def test_ten_thousand_nested_brackets_by_tokens():
    matcher = json_matcher()
    inside = matcher.fork()
    assert inside.accept_tokens([OPEN, OPEN]) == 2
    inside_row = inside.next_token_bitmask()
    for _ in range(10_000):
        assert matcher.accept_token(OPEN)
    assert (matcher.next_token_bitmask() == inside_row).all()
    assert matcher.open_rules().count("array") == 10_000
    deep = matcher.fork()
    for _ in range(9_999):
        assert matcher.accept_token(CLOSE)
        assert not matcher.is_completed()
    assert matcher.accept_token(CLOSE)
    assert matcher.is_completed()
    assert not matcher.accept_token(CLOSE)
    assert deep.accept_bytes(b"1" + b"]" * 10_000)
    assert deep.is_completed()
    deep.rollback(10_001)
    with pytest.raises(fm.MatcherError):
        deep.rollback(1)


@pytest.mark.large
def test_a_hundred_thousand_nested_brackets_by_bytes():
    matcher = json_matcher()
    assert matcher.accept_bytes(b"[" * 100_000)
    assert not matcher.accept_bytes(b"]" * 100_001)
    assert matcher.accept_bytes(b"]" * 100_000)
    assert matcher.is_completed()


@pytest.mark.large
def test_rules_nest_as_deep_as_a_grammar_is_written():
    """A chain of rules and groups, each inside the other: no Python recursion on the way."""
    depth = 500
    rules = [f'r{i} ::= "[" r{i + 1} "]" | "1"' for i in range(depth)]
    text = "root ::= r0\n" + "\n".join(rules) + f'\nr{depth} ::= "1"'
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(VOCABULARY).compile_gbnf(text))
    assert matcher.accept_bytes(b"[" * depth + b"1" + b"]" * depth)
    assert matcher.is_completed()
    groups = "(" * 2_000 + '"1"' + ")" * 2_000
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(VOCABULARY).compile_gbnf(f"root ::= {groups}"))
    assert matcher.accept_bytes(b"1")


# --- long


def cells_and_rows(matcher: fm.GrammarMatcher) -> tuple[int, int]:
    arena = matcher.compiled.arena
    return arena.n_cells, arena.rows.used_bytes


@pytest.mark.large
def test_a_hundred_thousand_tokens_leave_nothing_behind_but_their_history():
    matcher = json_matcher()
    assert matcher.accept_tokens([OPEN, QUOTE]) == 2
    bitmask = fm.allocate_token_bitmask(1, VOCABULARY.size)
    sizes = []
    for i in range(100_000):
        assert matcher.accept_token(LETTER)
        matcher.fill_next_token_bitmask(bitmask)
        if i in (99, 99_999):
            sizes.append(cells_and_rows(matcher))
    assert sizes[0] == sizes[1]
    assert matcher.accept_tokens([QUOTE, CLOSE, 11]) == 3
    matcher.rollback(100_005)
    assert matcher.allowed_token_ids().tolist() == json_matcher().allowed_token_ids().tolist()


@pytest.mark.large
def test_masks_are_filled_on_more_stacks_than_were_given_room_at_first():
    matcher = json_matcher()
    bitmask = fm.allocate_token_bitmask(1, VOCABULARY.size)
    for _ in range(3_000):
        assert matcher.accept_token(OPEN)
        assert matcher.fill_next_token_bitmask(bitmask)
    assert (bitmask[0] == matcher.naive_row()).all()


LINEAR = {
    "left recursive list": 'root ::= root ",1" | "1"',
    "right recursive list": 'root ::= "1" ("," root)?',
    "operands on both sides": 'root ::= root "," root | "1"',
    "star": 'root ::= "1" ("," "1")*',
    "left recursion two rules deep": 'root ::= x "1" | "1"\nx ::= root ","',
    "right recursion two rules deep": 'root ::= "1" x | "1"\nx ::= "," root',
    "nested list that is never nested": 'root ::= item ("," item)*\nitem ::= "1" | "[" root "]"',
}


@pytest.mark.parametrize("kind", LINEAR)
@pytest.mark.large
def test_lists_need_no_more_at_the_end_than_at_the_beginning(kind):
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(VOCABULARY).compile_gbnf(LINEAR[kind]))
    bitmask = fm.allocate_token_bitmask(1, VOCABULARY.size)
    sizes = []
    for i in range(5_000):
        assert matcher.accept_token(ONE if i % 2 == 0 else COMMA)
        matcher.fill_next_token_bitmask(bitmask)
        if i in (99, 4_999):
            sizes.append(cells_and_rows(matcher))
    assert sizes[0] == sizes[1]


@pytest.mark.large
def test_bytes_are_read_in_any_amount():
    matcher = json_matcher()
    assert matcher.accept_bytes(b'["' + "é".encode() * 1_500_000 + b'",1]')
    assert matcher.is_completed()


@pytest.mark.large
def test_a_matcher_holds_few_bytes_a_token():
    """Eight bytes of history a token, and no stack cells at all where the depth does not grow."""
    matcher = json_matcher()
    assert matcher.accept_tokens([OPEN, QUOTE, *[LETTER] * 1_000]) == 1_002
    before = matcher.compiled.memory_size_bytes
    assert matcher.accept_tokens([LETTER] * 10_000) == 10_000
    assert matcher.compiled.memory_size_bytes == before
    assert matcher._history.steps.nbytes <= 9 * 11_002


@pytest.mark.large
@pytest.mark.parametrize("n_tokens", [1_000, 1_024, 20_000])
def test_a_matcher_takes_less_than_ten_kilobytes_a_thousand_tokens(n_tokens):
    """All that a matcher holds, as Python counts memory, its stack cells included."""
    compiled = fm.GrammarCompiler(VOCABULARY).compile_json()
    fm.GrammarMatcher(compiled).accept_tokens([OPEN, QUOTE, *[LETTER] * n_tokens])  # known states
    tracemalloc.start()
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_tokens([OPEN, QUOTE, *[LETTER] * (n_tokens - 2)]) == n_tokens
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 10 * n_tokens


# --- hopeless


AMBIGUOUS = 'root ::= x x x x\nx ::= x x | "1" x "1" | "1" | ""'


def steps_until_exhausted(matcher: fm.GrammarMatcher) -> tuple[int, BudgetError]:
    """Tokens accepted until a call spends its budget, and what it raised."""
    accepted = 0
    while True:
        try:
            matcher.next_token_bitmask()
            assert matcher.accept_token(ONE)
        except BudgetError as error:
            return accepted, error
        accepted += 1


@pytest.mark.large
def test_a_hopelessly_ambiguous_grammar_ends_in_a_budget_error():
    compiled = fm.CompiledGrammar(Grammar.from_gbnf(AMBIGUOUS), VOCABULARY, step_budget=20_000)
    matcher = fm.GrammarMatcher(compiled)
    accepted, error = steps_until_exhausted(matcher)
    assert accepted > 2
    assert error.limit == 20_000
    assert "ambiguous" in str(error)
    # As before the call: the same answer again, and every earlier step can be taken back.
    assert steps_until_exhausted(matcher)[0] == 0
    with pytest.raises(fm.MatcherError):
        matcher.rollback(accepted + 1)
    matcher.rollback(accepted)
    fresh = fm.GrammarMatcher(compiled)
    assert (matcher.next_token_bitmask() == fresh.next_token_bitmask()).all()
    assert matcher.accept_token(ONE)


@pytest.mark.large
def test_the_default_budget_is_not_spent_on_sane_ambiguity():
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(VOCABULARY).compile_gbnf(AMBIGUOUS))
    for _ in range(12):
        assert matcher.accept_token(ONE)
        assert (matcher.next_token_bitmask() == np.int32(1 << ONE | 1 << 11)).all()
