"""The sampling loop: exact counts of the toy experiments, the order of draws, the arithmetic."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask import toy
from fastmask.errors import BitmaskError, MatcherError
from fastmask.sampling import (
    Outcomes,
    Sample,
    all_attempts_fail,
    allowed_ids,
    chance_all_valid,
    count_outcomes,
    count_spellings,
    expected_attempts,
    masked_softmax,
    naive_mask_work,
    sample,
    sequence_odds,
    table_mask_work,
    truncated,
)
from fastmask.vocabulary import Vocabulary

TOY = toy.VOCABULARY


class ListMatcher:
    """A matcher of a finite list of texts: every token is tried against every text."""

    def __init__(self, texts, tokens, end, text="", ended=False):
        self.texts, self.tokens, self.end = texts, tokens, end
        self.text, self.ended = text, ended

    def _allows(self, token_id):
        if token_id == self.end:
            return self.text in self.texts
        longer = self.text + self.tokens[token_id]
        return any(text.startswith(longer) for text in self.texts)

    def allowed_token_ids(self):
        return np.array([i for i in range(len(self.tokens)) if self._allows(i)], np.int32)

    def next_token_bitmask(self):
        bits = np.zeros(-(-len(self.tokens) // 32) * 32, bool)
        bits[self.allowed_token_ids()] = True
        return np.packbits(bits, bitorder="little").view(np.int32)

    def accept_token(self, token_id):
        if not self._allows(token_id):
            return False
        self.ended = token_id == self.end
        if not self.ended:
            self.text += self.tokens[token_id]
        return True

    def is_terminated(self):
        return self.ended

    def fork(self):
        return ListMatcher(self.texts, self.tokens, self.end, self.text, self.ended)


class AgeMatcher(ListMatcher):
    """The age pattern, by testing prefixes with `re`."""

    HEAD = '{"age": '

    def __init__(self):
        super().__init__((), toy.TOKENS, toy.END)

    def _allows(self, token_id):
        if token_id == self.end:
            return re.fullmatch(toy.AGE_PATTERN, self.text) is not None
        longer = self.text + self.tokens[token_id]
        if len(longer) <= len(self.HEAD):
            return self.HEAD.startswith(longer)
        rest = longer.removeprefix(self.HEAD)
        return rest != longer and re.fullmatch(r"[0-9]+\}?", rest) is not None


def is_age(text):
    return re.fullmatch(toy.AGE_PATTERN, text) is not None


def is_person(text):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return jsonschema.Draft202012Validator(toy.PERSON_SCHEMA).is_valid(value)


def answers(reference, n, make_matcher=lambda: None, seed=0):
    rng = np.random.default_rng(seed)
    model = toy.ToyModel(reference).on_tokens(rng)
    return [sample(model, TOY, make_matcher(), rng=rng, max_tokens=40) for _ in range(n)]


class TestToyExperiments:
    def test_age_without_constraint(self):
        found = count_outcomes(answers(toy.AGE_REFERENCE, 200), is_age)
        assert found == Outcomes(valid=133, chatter=37, broken=30, cut_off=0)

    def test_age_with_a_naive_mask(self):
        found = answers(toy.AGE_REFERENCE, 200, AgeMatcher)
        assert count_outcomes(found, is_age) == Outcomes(valid=200)
        assert all(0 <= share < 1 for answer in found for share in answer.removed)

    def test_person_without_constraint(self):
        found = count_outcomes(answers(toy.PERSON_REFERENCE, 200), is_person)
        assert found == Outcomes(valid=36, chatter=41, broken=123, cut_off=0)

    def test_first_step(self):
        logits = toy.ToyModel(toy.AGE_REFERENCE).logits("", np.random.default_rng(0))
        before = masked_softmax(logits)
        after = masked_softmax(logits, AgeMatcher().next_token_bitmask())
        assert round(before[toy.TOKENS.index("{")], 2) == 0.78
        assert round(before[toy.TOKENS.index("Sure")], 2) == 0.19
        assert after[toy.TOKENS.index("{")] == 1
        assert after[toy.TOKENS.index("Sure")] == 0


class TestLoop:
    TOKENS = ("a", "b", "")
    VOCABULARY = Vocabulary([b"a", b"b", b""], eos_token_ids=[2])

    def draw(self, texts=None, logits=(0.0, 0.0, 0.0), **options):
        matcher = None if texts is None else ListMatcher(texts, self.TOKENS, 2)
        options.setdefault("rng", np.random.default_rng(0))
        return sample(lambda _: np.array(logits), self.VOCABULARY, matcher, **options)

    def test_the_order_of_draws(self):
        rng = np.random.default_rng(3)
        expected = []
        twin = np.random.default_rng(3)
        while len(expected) < 40 and expected[-1:] != [2]:
            logits = twin.normal(size=3)
            weights = np.exp(logits - logits.max())
            expected.append(int(twin.choice(3, p=weights / weights.sum())))
        found = sample(lambda _: rng.normal(size=3), self.VOCABULARY, rng=rng, max_tokens=40)
        assert list(found.token_ids) == expected

    def test_the_model_sees_what_was_drawn(self):
        seen = []

        def model(token_ids):
            seen.append(tuple(token_ids))
            return np.zeros(3)

        sample(
            model,
            self.VOCABULARY,
            ListMatcher(["ab"], self.TOKENS, 2),
            rng=np.random.default_rng(0),
        )
        assert seen == [(), (0,), (0, 1)]

    def test_finished_and_cut_off(self):
        assert self.draw(["ab"]) == Sample((0, 1, 2), b"ab", True, (2 / 3, 2 / 3, 2 / 3))
        cut = self.draw(["ab"], max_tokens=2)
        assert (cut.text, cut.finished) == (b"ab", False)
        assert self.draw(["ab"], max_tokens=0).token_ids == ()

    def test_greedy(self):
        found = self.draw(["a", "b"], logits=(1.0, 2.0, 5.0), greedy=True)
        assert found.text == b"b"

    def test_temperature(self):
        sharp = [self.draw(["a", "b"], (1.0, 2.0, 0.0), temperature=0.01).text for _ in range(20)]
        assert set(sharp) == {b"b"}
        with pytest.raises(ValueError, match="temperature"):
            self.draw(["a"], temperature=0)

    def test_top_k_comes_after_the_mask(self):
        assert self.draw(["a"], logits=(0.0, 9.0, 0.0), top_k=1).text == b"a"

    def test_a_matcher_that_changes_its_mind(self):
        matcher = ListMatcher(["a"], self.TOKENS, 2)
        matcher.accept_token = lambda _: False
        with pytest.raises(MatcherError, match="one matcher, one loop"):
            sample(lambda _: np.zeros(3), self.VOCABULARY, matcher, rng=np.random.default_rng(0))


class TestMaskedSoftmax:
    def test_one_step_of_masking(self):
        logits = [2, 1, 0.5, 0]
        before = masked_softmax(logits)
        after = masked_softmax(logits, np.array([0b1100], np.int32))
        assert np.round(before, 3).tolist() == [0.579, 0.213, 0.129, 0.078]
        assert np.round(after, 3).tolist() == [0, 0, 0.622, 0.378]

    @given(st.lists(st.tuples(st.floats(-50, 50), st.booleans()), min_size=1, max_size=70))
    def test_sums_to_one_and_keeps_ratios(self, pairs):
        logits = np.array([x for x, _ in pairs])
        allowed = np.array([yes for _, yes in pairs])
        bits = np.zeros(96, bool)
        bits[: allowed.size] = allowed
        row = np.packbits(bits, bitorder="little").view(np.int32)
        assert (allowed_ids(row, allowed.size) == allowed).all()
        if not allowed.any():
            with pytest.raises(BitmaskError, match="nothing to draw"):
                masked_softmax(logits, row)
            return
        found = masked_softmax(logits, row)
        assert (found[~allowed] == 0).all()
        exact = np.exp(logits[allowed] - logits[allowed].max())
        np.testing.assert_allclose(found[allowed], exact / exact.sum())

    def test_the_logits_stay_as_they_are(self):
        logits = np.array([1.0, 2.0])
        masked_softmax(logits, np.array([1], np.int32))
        assert logits.tolist() == [1, 2]

    def test_what_does_not_fit(self):
        with pytest.raises(BitmaskError, match="one row of logits"):
            masked_softmax(np.zeros((2, 2)))
        with pytest.raises(BitmaskError, match="40 bits"):
            masked_softmax(np.zeros(40), np.array([1], np.int32))
        with pytest.raises(BitmaskError, match="nothing to draw"):
            masked_softmax([np.nan, np.nan])


class TestTruncated:
    P = np.array([0.1, 0.4, 0.2, 0.3])

    def test_top_k(self):
        assert truncated(self.P, top_k=2).round(4).tolist() == [0, 0.5714, 0, 0.4286]
        assert truncated(self.P, top_k=9).round(4).tolist() == self.P.tolist()
        assert truncated(np.array([0.5, 0.5]), top_k=1).tolist() == [1, 0]

    def test_top_p(self):
        assert truncated(self.P, top_p=0.4).tolist() == [0, 1, 0, 0]
        assert truncated(self.P, top_p=0.41).round(4).tolist() == [0, 0.5714, 0, 0.4286]
        assert truncated(self.P, top_p=1.0).round(4).tolist() == self.P.tolist()
        assert truncated(self.P, top_p=1e-9).tolist() == [0, 1, 0, 0]

    def test_both(self):
        assert truncated(self.P, top_k=3, top_p=0.6).round(4).tolist() == [0, 0.5714, 0, 0.4286]

    @pytest.mark.parametrize("options", [{"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}])
    def test_out_of_range(self, options):
        with pytest.raises(ValueError, match="top_"):
            truncated(self.P, **options)

    def test_refused_tokens_stay_refused(self):
        found = truncated(np.array([0.0, 1.0, 0.0]), top_k=3, top_p=1.0)
        assert found.tolist() == [0, 1, 0]


class TestArithmetic:
    def test_chances(self):
        assert round(chance_all_valid(0.98, 10), 3) == 0.817
        assert round(chance_all_valid(0.98, 100), 3) == 0.133

    def test_retries(self):
        assert round(expected_attempts(0.665), 2) == 1.50
        assert round(all_attempts_fail(0.665, 3), 4) == 0.0376
        assert round(expected_attempts(0.18), 2) == 5.56

    def test_mask_work(self):
        assert naive_mask_work(200, 128_000, 4) == 102_400_000
        assert table_mask_work(200, 128_000, 4, 50) == 51_200_000
        assert naive_mask_work(200, 128_000, 4, answers=10) == 1_024_000_000
        assert table_mask_work(200, 128_000, 4, 50, answers=10) == 281_600_000

    def test_spellings(self):
        assert count_spellings(b"42", TOY) == 2
        assert count_spellings(toy.AGE_REFERENCE.encode(), TOY) == 16
        assert count_spellings(toy.PERSON_REFERENCE.encode(), TOY) == 1536
        assert count_spellings(b"", TOY) == 1
        assert count_spellings("é".encode(), TOY) == 0

    def test_spellings_count_equal_tokens_apart(self):
        vocabulary = Vocabulary([b"a", b"a", b"aa", b"a"], eos_token_ids=[3])
        assert count_spellings(b"aa", vocabulary) == 5


class TestSequenceOdds:
    """A two-step model: answers must end in y."""

    TOKENS = ("A", "B", "x", "y", "")
    NEXT = {  # noqa: RUF012
        (): [0.9, 0.1, 0, 0, 0],
        (0,): [0, 0, 0.99, 0.01, 0],
        (1,): [0, 0, 0.1, 0.9, 0],
    }

    def odds(self, max_tokens):
        def model(token_ids):
            return np.array(self.NEXT.get(tuple(token_ids), [0, 0, 0, 0, 1.0]))

        return sequence_odds(model, ListMatcher(["Ay", "By"], self.TOKENS, 4), max_tokens)

    def test_own_and_masked_odds(self):
        own, masked = self.odds(3)
        assert {ids: round(p, 3) for ids, p in own.items()} == {(0, 3, 4): 0.091, (1, 3, 4): 0.909}
        assert {ids: round(p, 3) for ids, p in masked.items()} == {(0, 3, 4): 0.9, (1, 3, 4): 0.1}

    def test_longer_answers_are_left_out(self):
        assert self.odds(2) == ({}, {})
