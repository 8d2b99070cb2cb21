"""Many answers in one loop, and text that is certain: the same answers as one by one."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fastmask import toy
from fastmask.compiler import GrammarCompiler
from fastmask.errors import BudgetError
from fastmask.lesson.figures import toy_matcher
from fastmask.matcher import GrammarMatcher
from fastmask.sampling import sample, sample_batch, spellings
from fastmask.vocabulary import Vocabulary

SIZE = toy.VOCABULARY.size


def logits_of(i, ids):
    """Some model: its logits depend on the answer's number and the ids alone."""
    return np.random.default_rng([i, *ids]).normal(0, 3, SIZE)


def batch_model(numbers, all_ids):
    return np.stack([logits_of(i, ids) for i, ids in zip(numbers, all_ids, strict=True)])


SOURCES = ["person", "age", "json", "age", "person", "nullable age"]


@pytest.mark.parametrize(
    "options",
    [{}, {"greedy": True}, {"top_k": 3, "top_p": 0.9, "temperature": 0.5}, {"steer": True}],
    ids=str,
)
def test_answers_are_those_of_one_loop_each(options):
    def rngs():
        return np.random.default_rng(7).spawn(len(SOURCES))

    together = sample_batch(
        batch_model, [toy_matcher(s) for s in SOURCES], rngs=rngs(), max_tokens=60, **options
    )
    for i, (source, rng) in enumerate(zip(SOURCES, rngs(), strict=True)):
        alone = sample(
            lambda ids, i=i: logits_of(i, ids),
            toy.VOCABULARY,
            toy_matcher(source),
            rng=rng,
            max_tokens=60,
            **options,
        )
        assert together[i] == alone
    assert not options.get("steer") or all(answer.finished for answer in together)


def test_the_model_is_asked_for_what_is_under_way():
    asked = []

    def model(numbers, all_ids):
        asked.append(list(numbers))
        return batch_model(numbers, all_ids)

    compiler = GrammarCompiler(toy.VOCABULARY)
    matchers = [GrammarMatcher(compiler.compile_regex("a" * n)) for n in (1, 5, 3)]
    found = sample_batch(model, matchers, rngs=np.random.default_rng(0).spawn(3))
    assert [answer.text for answer in found] == [b"a", b"aaaaa", b"aaa"]
    assert asked[0] == [0, 1, 2]
    assert asked[-1] == [1]
    assert len(asked) == 6


def test_odd_batches():
    assert sample_batch(batch_model, [], rngs=[]) == []
    with pytest.raises(ValueError, match="1 generators for 0 matchers"):
        sample_batch(batch_model, [], rngs=[np.random.default_rng(0)])
    with pytest.raises(BudgetError):
        sample_batch(
            batch_model,
            [toy_matcher("person")],
            rngs=[np.random.default_rng(0)],
            max_tokens=3,
            steer=True,
        )


# Jump-forward


class Counted:
    """A model that counts how often it is asked."""

    def __init__(self, size):
        self.size, self.calls = size, 0

    def __call__(self, ids):
        self.calls += 1
        return np.random.default_rng(list(ids)).normal(0, 1, self.size)


@pytest.mark.parametrize("steer", [False, True])
def test_text_that_is_certain_needs_no_model(steer):
    schema = {"enum": ["a long text that is certain", "another one"]}
    vocabulary = Vocabulary.gpt2()
    compiled = GrammarCompiler(vocabulary).compile_json_schema(schema)
    counts = {}
    for jump in (False, True):
        model = Counted(vocabulary.size)
        answer = sample(
            model,
            vocabulary,
            GrammarMatcher(compiled),
            rng=np.random.default_rng(0),
            max_tokens=60,
            jump_forward=jump,
            steer=steer,
        )
        assert answer.finished
        assert json.loads(answer.text) in schema["enum"]
        assert len(answer.removed) == len(answer.token_ids)
        counts[jump] = (model.calls, len(answer.token_ids))
    assert counts[False][0] == counts[False][1]
    assert counts[True][0] <= 4 < counts[True][1]


def test_canonical_tokens():
    """A tokenizer of one's own decides how certain text is spelled."""
    compiled = GrammarCompiler(toy.VOCABULARY).compile_regex('"name": (true|false)')
    single = {text: i for i, text in reversed(list(enumerate(toy.TOKENS))) if len(text) == 1}
    found = {}
    for jump in (True, lambda text: [single[c] for c in text]):
        answer = sample(
            Counted(SIZE),
            toy.VOCABULARY,
            GrammarMatcher(compiled),
            rng=np.random.default_rng(0),
            jump_forward=jump,
        )
        found[jump is True] = answer.token_ids[: len('"name":') if jump is not True else 1]
    assert [toy.TOKENS[i] for i in found[True]] == ['"name"']
    assert [toy.TOKENS[i] for i in found[False]] == list('"name":')
    assert found[True] in [ids[:1] for ids in spellings(b'"name": ', toy.VOCABULARY)]


def test_certain_text_keeps_to_the_budget():
    compiled = GrammarCompiler(toy.VOCABULARY).compile_regex("abcdefgh")
    options = {"rng": np.random.default_rng(0), "jump_forward": True}
    cut = sample(Counted(SIZE), toy.VOCABULARY, GrammarMatcher(compiled), max_tokens=5, **options)
    assert (cut.text, cut.finished) == (b"abcde", False)
    whole = sample(
        Counted(SIZE), toy.VOCABULARY, GrammarMatcher(compiled), max_tokens=9, steer=True, **options
    )
    assert (whole.text, whole.finished) == (b"abcdefgh", True)
