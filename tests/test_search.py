"""Beams, speculation, healing and favourites, each against what enumeration says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask import toy
from fastmask.compiler import GrammarCompiler
from fastmask.grammar.core import Grammar
from fastmask.matcher import GrammarMatcher
from fastmask.sampling import (
    beam_search,
    favourites,
    heal,
    healed_grammar,
    masked_softmax,
    sample,
    sequence_odds,
    speculative_sample,
)
from fastmask.vocabulary import Vocabulary

TOKENS = [b"a", b"b", b"ab", b"ba", b""]
VOCABULARY = Vocabulary(TOKENS, eos_token_ids=[4])


def matcher_of(pattern, vocabulary=VOCABULARY):
    return GrammarMatcher(GrammarCompiler(vocabulary).compile_regex(pattern))


def random_model(seed):
    """Logits that depend on the ids alone."""

    def model(token_ids):
        place = int("1" + "".join(map(str, token_ids)))
        return np.random.default_rng([seed, place]).normal(0, 2, len(TOKENS))

    return model


def probabilities(model):
    def belief(token_ids):
        return masked_softmax(model(token_ids))

    return belief


class TestBeams:
    @given(st.integers(0, 10_000))
    def test_wide_enough_it_finds_the_likeliest(self, seed):
        model, matcher = random_model(seed), matcher_of("(a|b){1,3}")
        every = {}
        pending = [((), 0.0, matcher.fork())]
        while pending:
            ids, log_probability, state = pending.pop()
            if state.is_terminated():
                every[ids] = log_probability
                continue
            belief = masked_softmax(model(ids))
            for token in state.allowed_token_ids().tolist():
                following = state.fork()
                following.accept_token(token)
                pending.append(
                    ((*ids, token), log_probability + math.log(belief[token]), following)
                )
        best = sorted(every, key=every.get, reverse=True)[:4]
        found = beam_search(model, matcher, 200)[:4]
        assert [beam.token_ids for beam in found] == best
        assert [beam.log_probability for beam in found] == pytest.approx(
            [every[ids] for ids in best]
        )
        assert all(beam.finished for beam in found)

    def test_width_one_is_greedy(self):
        for seed in range(20):
            model, matcher = random_model(seed), matcher_of("(a|b){1,9}")
            (beam,) = beam_search(model, matcher, 1)
            greedy = sample(model, VOCABULARY, matcher, rng=np.random.default_rng(0), greedy=True)
            assert beam.token_ids == greedy.token_ids
            assert beam.text == greedy.text

    def test_the_matcher_stays_where_it_was(self):
        matcher = matcher_of("aab?")
        matcher.accept_bytes(b"a")
        before = matcher.allowed_token_ids().tolist()
        beam_search(random_model(1), matcher, 3)
        assert matcher.allowed_token_ids().tolist() == before

    def test_cut_off(self):
        beams = beam_search(random_model(1), matcher_of("a{10}"), 2, max_tokens=3)
        assert [beam.text for beam in beams] == [b"aaa"]
        assert not beams[0].finished
        with pytest.raises(ValueError, match="width"):
            beam_search(random_model(1), matcher_of("a"), 0)


class TestSpeculation:
    @staticmethod
    def all_logits(model):
        return lambda ids, k: [model(ids[: len(ids) - k + 1 + i]) for i in range(k)]

    @pytest.mark.parametrize("n_draft", [1, 2, 4])
    def test_it_follows_the_model_and_not_the_draft(self, n_draft):
        model, draft = random_model(1), random_model(2)
        _, masked = sequence_odds(probabilities(model), matcher_of("(a|b){1,2}"), 3)
        rng = np.random.default_rng(0)
        counts = dict.fromkeys(masked, 0)
        for _ in range(1500):
            found, calls = speculative_sample(
                self.all_logits(model), draft, matcher_of("(a|b){1,2}"), rng=rng, n_draft=n_draft
            )
            counts[found.token_ids] += 1
            assert found.finished
            assert 1 <= calls <= len(found.token_ids)
            assert len(found.removed) == len(found.token_ids)
        distance = sum(abs(counts[ids] / 1500 - p) for ids, p in masked.items()) / 2
        assert distance < 0.05

    def test_a_perfect_draft_saves_calls(self):
        model = random_model(1)
        found, calls = speculative_sample(
            self.all_logits(model),
            model,
            matcher_of("(a|b){12}"),
            rng=np.random.default_rng(0),
            n_draft=4,
        )
        assert found.finished
        assert calls == -(-len(found.token_ids) // 5)

    def test_budget(self):
        model = random_model(1)
        found, _ = speculative_sample(
            self.all_logits(model),
            random_model(2),
            matcher_of("a{50}"),
            rng=np.random.default_rng(0),
            max_tokens=7,
        )
        assert (len(found.token_ids), found.finished, found.text) == (7, False, b"aaaaaaa")
        with pytest.raises(ValueError, match="at least 1"):
            speculative_sample(self.all_logits(model), model, matcher_of("a"), rng=None, n_draft=0)


class TestHealing:
    GPT2 = Vocabulary.gpt2()

    def ids(self, *tokens):
        return [self.GPT2.ids_of(token)[0] for token in tokens]

    def test_a_prompt_cut_inside_a_token(self):
        kept, pending = heal(self.ids(b"The", b" http", b":"), self.GPT2)
        assert kept == self.ids(b"The", b" http")
        assert pending == b":"
        matcher = GrammarMatcher(GrammarCompiler(self.GPT2).compile(healed_grammar(pending)))
        assert matcher.is_token_allowed(self.ids(b"://")[0])
        assert not matcher.is_token_allowed(self.ids(b"//")[0])

    def test_several_tokens_are_taken_back_where_one_covers_them(self):
        small = Vocabulary([b"a", b"b", b"c", b"abcd", b"x", b""], eos_token_ids=[5])
        assert heal([4, 0, 1, 2], small) == ([4], b"abc")
        assert heal([0, 1, 4], small) == ([0, 1, 4], b"")
        assert heal([], small) == ([], b"")

    def test_with_a_grammar_behind(self):
        grammar = healed_grammar(b"ab", Grammar.from_choices(["c", "d"]))
        matcher = GrammarMatcher(GrammarCompiler(self.GPT2).compile(grammar))
        assert matcher.accept_bytes(b"abc")
        assert matcher.is_completed()
        assert healed_grammar(b"", grammar) is grammar


class TestFavourites:
    @given(st.integers(0, 1000), st.integers(1, 83))
    def test_they_are_the_best_of_the_mask(self, seed, k):
        logits = np.random.default_rng(seed).normal(0, 2, 83)
        matcher = matcher_of(toy.AGE_PATTERN, toy.VOCABULARY)
        matcher.accept_bytes(b'{"age": 4')
        ids, odds = favourites(logits, matcher, k)
        full = masked_softmax(logits, matcher.next_token_bitmask())
        best = np.argsort(-full, kind="stable")[: ids.size]
        assert ids.tolist() == best.tolist()
        assert odds == pytest.approx(full[best] / full[best].sum())
        assert ids.size >= 1

    def test_padding_of_the_logits_is_never_allowed(self):
        logits = np.zeros(100)
        logits[90] = 50
        ids, _ = favourites(logits, matcher_of("[0-9]", toy.VOCABULARY), 1)
        assert toy.TOKENS[ids[0]].isdigit()

    def test_out_of_range(self):
        with pytest.raises(ValueError, match="at least 1"):
            favourites(np.zeros(83), matcher_of("[0-9]", toy.VOCABULARY), 0)
