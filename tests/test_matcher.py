"""`GrammarMatcher`: refusals, steps, forks, ends, bitmasks."""

from __future__ import annotations

import copy
import pickle
import random

import numpy as np
import pytest

import fastmask as fm
from fastmask._jit import JIT_ENABLED
from fastmask.errors import BitmaskError, MatcherError
from fastmask.grammar import ir
from fastmask.grammar.core import Grammar
from judge import random_grammar
from walking import random_language, row_ids

TOKENS = [b"[", b"]", b",", b"1", b"[[", b"]]", b"]],", b"<end>", b"<s>"]
LISTS = 'root ::= "[" (item ("," item)*)? "]"\nitem ::= "1" | root'


@pytest.fixture(scope="module")
def lists():
    """Nested lists over a handful of tokens; 7 ends, 8 is special, 9 to 39 are padding."""
    vocabulary = fm.Vocabulary(TOKENS, 7, [8], vocab_size=40)
    return fm.GrammarCompiler(vocabulary).compile_gbnf(LISTS)


def state_of(matcher: fm.GrammarMatcher) -> tuple:
    """Everything that may be seen of a matcher."""
    return (
        matcher.allowed_token_ids().tolist(),
        matcher.is_completed(),
        matcher.is_terminated(),
        matcher.find_jump_forward_bytes(),
        matcher.open_rules(),
    )


# --- random operations against the judge


@pytest.mark.parametrize("seed", range(60 if JIT_ENABLED else 6))
def test_random_steps_rollbacks_and_forks_agree_with_the_judge(seed):
    chooser = random.Random(seed)
    language = random_language(random_grammar(seed), seed)
    walks = [language.walk()]
    for _ in range(30):
        walk = chooser.choice(walks)
        what = chooser.random()
        if what < 0.5:
            choices = walk.texts()
            if choices:
                walk.accept(chooser.choice(choices))
        elif what < 0.7:
            walk.read(bytes(chooser.choices(b"abc", k=chooser.randint(0, 3))))
        elif what < 0.85:
            walk.rollback(chooser.randint(0, len(walk.states) - 1))
        elif what < 0.9 and len(walks) < 6:
            walks.append(walk.fork())
        elif what < 0.93:
            walk.matcher.reset()
            del walk.states[1:]
        walk.check()
    for walk in walks:
        walk.check()
        walk.rollback(len(walk.states) - 1)
        walk.check()


@pytest.mark.parametrize("seed", range(20 if JIT_ENABLED else 4))
def test_own_stop_tokens_take_the_place_of_the_vocabularys(seed):
    """Text tokens too: a stop token ends the text and is no text any more."""
    chooser = random.Random(seed)
    language = random_language(random_grammar(seed), seed)
    stops = chooser.sample(range(len(language.tokens)), 2)
    walk = language.walk(stop_token_ids=stops)
    walk.stops = set(stops)
    for _ in range(6):
        walk.check()
        choices = walk.texts()
        if not choices:
            break
        walk.accept(chooser.choice(choices))


# --- refusals


@pytest.mark.parametrize(
    "token_id", [1, 2, 5, 8, 9, 39, 40, 1_000_000, -1, 2**40, 2**63, 2**80, -(2**80)]
)
def test_a_refused_token_changes_nothing(lists, token_id):
    matcher = fm.GrammarMatcher(lists)
    assert not matcher.accept_token(token_id)
    assert not matcher.is_token_allowed(token_id)
    with pytest.raises(MatcherError):
        matcher.rollback(1)
    assert matcher.accept_token(0)
    before = state_of(matcher)
    assert matcher.accept_token(token_id) == (token_id == 1)
    if token_id != 1:
        assert state_of(matcher) == before


def test_token_ids_may_be_any_integer_type_but_no_other(lists):
    for kind in (int, np.int8, np.int32, np.int64, np.uint8, np.uint16, np.uint64):
        matcher = fm.GrammarMatcher(lists)
        assert matcher.accept_token(kind(0))
        assert not matcher.accept_token(kind(2))
        assert matcher.is_token_allowed(kind(1))
    for wrong in (0.0, "0", None, b"[", [0]):
        with pytest.raises(TypeError):
            fm.GrammarMatcher(lists).accept_token(wrong)
    for wrong in (0.0, "0", None):
        with pytest.raises(TypeError):
            fm.GrammarMatcher(lists).filter_tokens([wrong])
        with pytest.raises(TypeError):
            fm.GrammarMatcher(lists).rollback(wrong)


def test_accept_tokens_keeps_the_accepted_part(lists):
    matcher = fm.GrammarMatcher(lists)
    assert matcher.accept_tokens([0, 3, 2, 1, 3]) == 3
    assert matcher.accept_tokens(np.array([4, 5], np.int32)) == 2
    assert matcher.accept_tokens([]) == 0
    matcher.rollback(5)
    assert matcher.allowed_token_ids().tolist() == [0, 4]


def test_filter_tokens_answers_in_order_with_repeats_and_strangers(lists):
    matcher = fm.GrammarMatcher(lists)
    assert matcher.accept_token(0)
    asked = [3, 99, 3, -1, 7, 1, 8, 0]
    expected = [True, False, True, False, False, True, False, True]
    assert matcher.filter_tokens(asked).tolist() == expected
    assert matcher.filter_tokens([]).shape == (0,)
    assert matcher.filter_tokens(np.array([1, 2])).dtype == np.bool_


# --- steps and history


def test_bytes_are_one_step_whatever_their_length(lists):
    matcher = fm.GrammarMatcher(lists)
    assert matcher.accept_bytes(b"[[1,1],")
    assert matcher.accept_bytes("[1]")
    assert matcher.accept_bytes(bytearray(b"]"))
    assert matcher.is_completed()
    assert not matcher.accept_bytes(b"]")
    matcher.rollback(1)
    assert not matcher.accept_bytes(b",]")
    assert matcher.accept_bytes(memoryview(b",1"))
    matcher.rollback(3)
    assert matcher.allowed_token_ids().tolist() == [0, 4]


def test_no_bytes_are_a_step_too(lists):
    matcher = fm.GrammarMatcher(lists)
    assert matcher.accept_bytes(b"")
    matcher.rollback(1)
    with pytest.raises(MatcherError):
        matcher.rollback(1)


def test_rollback_past_the_history_changes_nothing(lists):
    matcher = fm.GrammarMatcher(lists)
    assert matcher.accept_tokens([0, 3]) == 2
    before = state_of(matcher)
    for n in (3, 1_000, -1):
        with pytest.raises(MatcherError, match="2 steps"):
            matcher.rollback(n)
        assert state_of(matcher) == before
    matcher.rollback(0)
    assert state_of(matcher) == before
    matcher.rollback(2)
    assert state_of(matcher) == state_of(fm.GrammarMatcher(lists))


def test_a_long_history_can_be_taken_back_step_by_step(lists):
    matcher = fm.GrammarMatcher(lists)
    n = 3_000 if JIT_ENABLED else 300
    states = []
    assert matcher.accept_token(0)
    for i in range(n):
        states.append(int(matcher.next_token_bitmask()[0]))
        assert matcher.accept_token(3 if i % 2 == 0 else 2)
    for i in reversed(range(n)):
        matcher.rollback(1)
        assert int(matcher.next_token_bitmask()[0]) == states[i]


def test_forks_go_on_alone_and_remember_what_was_before(lists):
    matcher = fm.GrammarMatcher(lists)
    assert matcher.accept_tokens([4, 3]) == 2
    left, right = matcher.fork(), matcher.fork()
    assert left.accept_token(2)
    assert right.accept_token(5)
    assert right.is_completed()
    assert matcher.allowed_token_ids().tolist() == [1, 2, 5]
    grandchild = left.fork()
    grandchild.rollback(3)
    assert grandchild.accept_tokens([0, 1, 7]) == 3
    left.rollback(1)
    assert state_of(left) == state_of(matcher)
    right.rollback(2)
    assert state_of(right) != state_of(matcher)
    right.rollback(1)
    assert state_of(right) == state_of(fm.GrammarMatcher(lists))
    with pytest.raises(MatcherError, match="0 steps"):
        right.rollback(1)
    assert matcher.accept_token(5)


def test_a_fork_after_a_rollback_into_a_fork(lists):
    matcher = fm.GrammarMatcher(lists)
    path = [0, 3, 2, 3, 2, 3]
    matchers = []
    for token_id in path:
        assert matcher.accept_token(token_id)
        matchers.append(matcher)
        matcher = matcher.fork()
    matcher.rollback(4)
    twin = matcher.fork()
    assert twin.accept_tokens([1, 7]) == 2
    twin.rollback(4)
    assert state_of(twin) == state_of(fm.GrammarMatcher(lists))
    for n, old in enumerate(matchers, 1):
        old.rollback(n)
        assert state_of(old) == state_of(twin)


def test_a_copy_is_a_fork_and_a_pickle_is_refused(lists):
    matcher = fm.GrammarMatcher(lists)
    assert matcher.accept_token(0)
    for twin in (copy.copy(matcher), copy.deepcopy(matcher)):
        assert twin.accept_tokens([3, 1]) == 2
        assert matcher.allowed_token_ids().tolist() == [0, 1, 3, 4]
    with pytest.raises(TypeError, match="does not pickle"):
        pickle.dumps(matcher)


def test_reset_forgets_everything(lists):
    matcher = fm.GrammarMatcher(lists, terminate_without_stop_token=True)
    assert matcher.accept_tokens([0, 1]) == 2
    assert matcher.is_terminated()
    matcher.reset()
    assert not matcher.is_terminated()
    assert matcher.allowed_token_ids().tolist() == [0, 4]
    with pytest.raises(MatcherError):
        matcher.rollback(1)


# --- ends


def test_a_stop_token_terminates_and_nothing_comes_after(lists):
    matcher = fm.GrammarMatcher(lists)
    assert not matcher.accept_token(7)
    assert matcher.accept_tokens([0, 1]) == 2
    assert matcher.is_completed()
    assert not matcher.is_terminated()
    assert matcher.allowed_token_ids().tolist() == [7]
    assert matcher.accept_token(7)
    assert matcher.is_terminated()
    assert matcher.allowed_token_ids().tolist() == [7]
    assert not any(matcher.accept_token(token_id) for token_id in range(40))
    assert not matcher.accept_bytes(b"[")
    assert not matcher.accept_bytes(b"")
    assert not matcher.filter_tokens(range(40)).any()
    assert matcher.find_jump_forward_bytes() == b""
    twin = matcher.fork()
    assert twin.is_terminated()
    twin.rollback(1)
    assert not twin.is_terminated()
    assert twin.is_completed()
    assert twin.accept_token(7)
    matcher.rollback(2)
    assert matcher.allowed_token_ids().tolist() == [0, 1, 3, 4]


def test_the_row_after_the_end_holds_the_stop_tokens_alone(lists):
    for stops, expected in ((None, {7}), ([3], {3}), ([39, 2], {2, 39})):
        matcher = fm.GrammarMatcher(lists, stop_token_ids=stops)
        assert matcher.accept_bytes(b"[]")
        assert matcher.accept_token(min(expected))
        assert matcher.is_terminated()
        bitmask = fm.allocate_token_bitmask(2, 40)
        assert matcher.fill_next_token_bitmask(bitmask, 1)
        assert row_ids(bitmask[1]) == expected
        assert row_ids(matcher.next_token_bitmask()) == expected


def test_own_stop_tokens_by_hand(lists):
    matcher = fm.GrammarMatcher(lists, stop_token_ids=8)
    assert matcher.accept_tokens([0, 1]) == 2
    assert matcher.allowed_token_ids().tolist() == [8]
    assert not matcher.accept_token(7)
    assert matcher.accept_token(8)
    with pytest.raises(MatcherError, match="40"):
        fm.GrammarMatcher(lists, stop_token_ids=[40])
    with pytest.raises(MatcherError, match="-1"):
        fm.GrammarMatcher(lists, stop_token_ids=[7, -1])


def test_own_stop_tokens_that_the_grammar_names_are_allowed_there_too():
    tokens = [b"a", b"<s>", b"<end>"]
    for named in (1, 2):
        rules = {"root": ir.sequence([ir.Tokens((named,)), ir.literal("a")])}
        compiled = fm.CompiledGrammar(Grammar(rules), fm.Vocabulary(tokens, 2, [1]))
        matcher = fm.GrammarMatcher(compiled, stop_token_ids=[1])
        for expected, token_id in (([named], named), ([0], 0), ([1], 1)):
            assert matcher.allowed_token_ids().tolist() == expected
            assert np.flatnonzero(matcher.filter_tokens(range(3))).tolist() == expected
            assert not matcher.is_terminated()
            assert matcher.accept_token(token_id)
        assert matcher.is_terminated()


def test_a_complete_text_that_no_token_may_end_says_so(lists):
    matcher = fm.GrammarMatcher(lists, stop_token_ids=[])
    assert matcher.accept_bytes(b"[]")
    with pytest.raises(MatcherError, match="terminate_without_stop_token"):
        matcher.next_token_bitmask()


def test_without_stop_tokens_nothing_ends_a_text():
    compiled = fm.GrammarCompiler(fm.Vocabulary([b"a", b"b", b"<end>"], [2])).compile_regex("a*")
    matcher = fm.GrammarMatcher(compiled, stop_token_ids=[])
    bitmask = fm.allocate_token_bitmask(2, 3)
    matcher.fill_next_token_bitmask(bitmask, 0)
    fm.fill_next_token_bitmasks([matcher], bitmask, [1])
    assert bitmask.tolist() == [[1], [1]]
    assert not matcher.accept_token(2)


def test_terminate_without_a_stop_token(lists):
    matcher = fm.GrammarMatcher(lists, terminate_without_stop_token=True)
    assert matcher.accept_tokens([0, 3]) == 2
    assert not matcher.is_terminated()
    assert matcher.accept_token(1)
    assert matcher.is_terminated()
    assert not matcher.accept_token(7)
    matcher.rollback(1)
    assert not matcher.is_terminated()
    assert matcher.accept_bytes(b",[]]")
    assert matcher.is_terminated()
    twin = matcher.fork()
    twin.rollback(1)
    assert twin.accept_token(1)
    assert twin.is_terminated()
    nothing = fm.CompiledGrammar(Grammar({"root": ir.EMPTY}), lists.vocabulary)
    assert fm.GrammarMatcher(nothing, terminate_without_stop_token=True).is_terminated()
    assert not fm.GrammarMatcher(nothing).is_terminated()


# --- bitmasks


def test_a_bitmask_of_one_row_or_many_is_written_in_full(lists):
    matcher = fm.GrammarMatcher(lists)
    flat = np.full(2, -1, np.int32)
    assert matcher.fill_next_token_bitmask(flat)
    assert flat.tolist() == [0b10001, 0]
    many = np.full((3, 2), 7, np.int32)
    assert matcher.fill_next_token_bitmask(many, np.int32(2))
    assert many.tolist() == [[7, 7], [7, 7], [0b10001, 0]]
    assert matcher.next_token_bitmask().tolist() == [0b10001, 0]


def test_the_view_is_read_only_and_stays(lists):
    matcher = fm.GrammarMatcher(lists)
    row = matcher.next_token_bitmask()
    assert row.dtype == np.int32
    assert row.shape == (2,)
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 0
    held = row.copy()
    assert matcher.accept_token(0)
    matcher.next_token_bitmask()
    assert (row == held).all()
    assert matcher.accept_tokens([1, 7]) == 2
    with pytest.raises(ValueError, match="read-only"):
        matcher.next_token_bitmask()[0] = 0


@pytest.mark.parametrize(
    ("bitmask", "index", "message"),
    [
        (np.zeros((1, 3), np.int32), 0, "3 words"),
        (np.zeros(1, np.int32), 0, "1 words"),
        (np.zeros((1, 2), np.int64), 0, "int64"),
        (np.zeros((1, 2), np.uint32), 0, "uint32"),
        (np.zeros((1, 4), np.int32)[:, ::2], 0, "contiguous"),
        (np.zeros((2, 2), np.int32).T[:1], 0, "contiguous"),
        (np.zeros((1, 1, 2), np.int32), 0, "shape"),
        (np.zeros((2, 2), np.int32), 2, "row 2"),
        (np.zeros((2, 2), np.int32), -1, "row -1"),
        (np.zeros((2, 2), np.int32), 2**70, "row 1180591620717411303424"),
        (np.zeros((0, 2), np.int32), 0, "row 0"),
        ([[0, 0]], 0, "list"),
        (None, 0, "NoneType"),
    ],
)
def test_a_wrong_bitmask_is_refused_by_name(lists, bitmask, index, message):
    matcher = fm.GrammarMatcher(lists)
    for _ in range(2):
        with pytest.raises(BitmaskError, match=message):
            matcher.fill_next_token_bitmask(bitmask, index)
    assert matcher.accept_token(0)


def test_a_read_only_bitmask_is_refused(lists):
    bitmask = np.zeros((1, 2), np.int32)
    bitmask.flags.writeable = False
    with pytest.raises(BitmaskError, match="read-only"):
        fm.GrammarMatcher(lists).fill_next_token_bitmask(bitmask)
    with pytest.raises(BitmaskError, match="read-only"):
        fm.GrammarMatcher(lists).fill_next_token_bitmask(
            fm.GrammarMatcher(lists).next_token_bitmask()
        )
