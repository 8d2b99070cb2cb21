"""Free text up to a marker, then the mask."""

from __future__ import annotations

import numpy as np

from fastmask.compiler import GrammarCompiler
from fastmask.matcher import GrammarMatcher
from fastmask.sampling import think_then_answer
from fastmask.vocabulary import Vocabulary

TOKENS = [b"m", b"!", b"!!", b"x", b"y", b"<think>", b""]
VOCABULARY = Vocabulary(TOKENS, eos_token_ids=[6], special_token_ids=[5])


def answering():
    return GrammarMatcher(GrammarCompiler(VOCABULARY).compile_regex("[xy]{2}"))


def writes(*script):
    """A model that wants to write these tokens, then the end."""

    def model(token_ids):
        logits = np.zeros(len(TOKENS))
        logits[script[len(token_ids)] if len(token_ids) < len(script) else 6] = 100
        return logits

    return model


def draw(model, marker, **options):
    return think_then_answer(model, answering(), marker, rng=np.random.default_rng(0), **options)


def test_the_marker_as_text():
    thought, answer = draw(writes(0, 0, 2, 3, 4), b"!!")
    assert (thought.text, thought.finished) == (b"mm!!", True)
    assert (answer.text, answer.finished) == (b"xy", True)


def test_the_marker_may_end_inside_a_token_or_span_several():
    thought, answer = draw(writes(0, 1, 1, 3, 3), b"!!")
    assert thought.text == b"m!!"
    assert answer.text == b"xx"
    assert draw(writes(0, 2, 3, 3), b"m!")[0].text == b"m!!"


def test_the_marker_as_a_special_token():
    thought, answer = draw(writes(0, 5, 4, 4), 5)
    assert (thought.token_ids, thought.text) == ((0, 5), b"m")
    assert answer.text == b"yy"


def test_a_thought_without_end_is_ended():
    thought, answer = draw(writes(*[0] * 9), b"!!", max_thinking=4)
    assert (thought.text, thought.finished) == (b"mmmm!!", False)
    assert answer.finished
    assert draw(writes(*[0] * 9), 5, max_thinking=2)[0].token_ids == (0, 0, 5)


def test_the_model_cannot_leave_before_it_has_answered():
    thought, answer = draw(writes(), b"!", max_thinking=50)
    assert 6 not in thought.token_ids
    assert answer.finished
