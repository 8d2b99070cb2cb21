"""Grammar-aligned sampling comes to the model's own odds; plain masking does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastmask.compiler import GrammarCompiler
from fastmask.errors import MatcherError
from fastmask.matcher import GrammarMatcher
from fastmask.sampling import AlignedSampler, sample, sequence_odds
from fastmask.vocabulary import Vocabulary

TOKENS = [b"A", b"B", b"x", b"y", b""]
VOCABULARY = Vocabulary(TOKENS, eos_token_ids=[4])
NEXT = {(): [0.9, 0.1, 0, 0, 0], (0,): [0, 0, 0.99, 0.01, 0], (1,): [0, 0, 0.1, 0.9, 0]}


def probabilities(token_ids):
    return np.array(NEXT.get(tuple(token_ids), [0, 0, 0, 0, 1.0]))


def logits(token_ids):
    with np.errstate(divide="ignore"):
        return np.log(probabilities(token_ids))


def ends_in_y():
    return GrammarMatcher(GrammarCompiler(VOCABULARY).compile_regex("[AB]y"))


def z_score(successes, draws, chance):
    """Standard deviations between a share and what it should be."""
    return (successes - draws * chance) / math.sqrt(draws * chance * (1 - chance))


@pytest.mark.large
def test_two_step_model():
    """Ay has 1 in 11 of the model's own odds; after 20,000 draws within 0.01, and no outlier."""
    sampler = AlignedSampler(logits, ends_in_y())
    rng = np.random.default_rng(0)
    draws = [sampler.sample(rng).text for _ in range(20_000)]
    share = draws.count(b"Ay") / len(draws)
    assert abs(share - 1 / 11) < 0.01
    assert abs(z_score(draws.count(b"Ay"), len(draws), 1 / 11)) < 4
    assert sampler.valid_share == pytest.approx(0.099)


def test_the_test_can_fail():
    """Plain masking misses the same mark by far."""
    rng = np.random.default_rng(0)
    draws = [sample(logits, VOCABULARY, ends_in_y(), rng=rng).text for _ in range(500)]
    assert abs(z_score(draws.count(b"Ay"), len(draws), 0.9)) < 4
    assert abs(z_score(draws.count(b"Ay"), len(draws), 1 / 11)) > 50


def test_it_converges_to_the_conditional_on_a_longer_language():
    """A random model over binary texts without 'bb': every answer's odds, by enumeration."""
    tokens = [b"a", b"b", b""]
    vocabulary = Vocabulary(tokens, eos_token_ids=[2])

    def model(token_ids):
        if len(token_ids) == 5:
            return np.array([-np.inf, -np.inf, 0.0])
        seed = int("1" + "".join(map(str, token_ids)))
        return np.append(np.random.default_rng(seed).normal(0, 2, 2), -np.inf)

    def belief(token_ids):
        weights = np.exp(model(token_ids))
        return weights / weights.sum()

    matcher = GrammarMatcher(GrammarCompiler(vocabulary).compile_regex("(a|ba)*b?"))
    own, masked = sequence_odds(belief, matcher, max_tokens=6)
    sampler = AlignedSampler(model, matcher)
    rng = np.random.default_rng(1)
    for _ in range(300):
        sampler.sample(rng)
    counts = dict.fromkeys(own, 0)
    for _ in range(1500):
        counts[sampler.sample(rng).token_ids] += 1
    distance = sum(abs(counts[ids] / 1500 - own[ids]) for ids in own) / 2
    plain = sum(abs(masked[ids] - own[ids]) for ids in own) / 2
    assert distance < 0.05
    assert plain > 0.1


def test_the_odds_it_draws_with():
    """Plain masking's before the first draw, the model's own after the last there is to learn."""
    own, masked = sequence_odds(probabilities, ends_in_y(), max_tokens=3)
    sampler = AlignedSampler(logits, ends_in_y())
    assert sampler.odds(3) == pytest.approx(masked)
    assert sampler.odds(2) == {}
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(30):
        sampler.sample(rng)
        odds = sampler.odds(3)
        assert sum(odds.values()) == pytest.approx(1)
        gaps.append(max(abs(odds[ids] - own[ids]) for ids in own))
    assert gaps[-1] < 1e-9 < gaps[0]


def test_bounded_memory():
    sampler = AlignedSampler(logits, ends_in_y(), max_beginnings=2)
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert sampler.sample(rng).finished
    assert sampler.n_beginnings == 2
    assert 0.099 < sampler.valid_share <= 1


def test_no_valid_answer_has_a_chance():
    matcher = GrammarMatcher(GrammarCompiler(VOCABULARY).compile_regex("x"))
    with pytest.raises(MatcherError, match="no valid answer"):
        AlignedSampler(logits, matcher).sample(np.random.default_rng(0))


def test_a_cut_off_answer():
    found = AlignedSampler(logits, ends_in_y()).sample(np.random.default_rng(0), max_tokens=1)
    assert not found.finished
    assert len(found.token_ids) == 1
    assert found.removed == (0.0,)
