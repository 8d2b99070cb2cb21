"""The toy world: its tokens in order, and a model whose every number can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fastmask import toy


def test_tokens_in_order():
    assert len(toy.TOKENS) == 83
    assert "".join(toy.TOKENS[:13]) == "{}[]\":, -.!'\n"
    assert "".join(toy.TOKENS[13:23]) == "0123456789"
    assert "".join(toy.TOKENS[23:49]) == "abcdefghijklmnopqrstuvwxyz"
    assert "".join(toy.TOKENS[49:57]) == "ABDEGPSU"
    assert toy.TOKENS[57:61] == ("Sure", " Here", '"age"', "age")
    assert toy.TOKENS[-4:] == ("USD", "EUR", "GBP", "")
    assert len(set(toy.TOKENS)) == 83
    assert toy.END == 82


def test_the_vocabulary_is_these_tokens():
    assert toy.VOCABULARY.size == 83
    assert list(toy.VOCABULARY.eos_token_ids) == [82]
    assert list(toy.VOCABULARY.tokens) == [token.encode() for token in toy.TOKENS]
    assert toy.VOCABULARY is toy.VOCABULARY


def test_unknown_names():
    with pytest.raises(AttributeError, match="no attribute 'VOCABULARIES'"):
        toy.VOCABULARIES  # noqa: B018


class TestToyModel:
    """Without noise the logits are the bonuses alone."""

    @staticmethod
    def bonuses(text, reference=toy.AGE_REFERENCE, **options):
        logits = toy.ToyModel(reference, noise=0, **options).logits(text, np.random.default_rng(0))
        return {token: x for token, x in zip(toy.TOKENS, logits.tolist(), strict=True) if x}

    def test_at_the_empty_text(self):
        assert self.bonuses("") == {"{": 8, "Sure": 6}
        assert self.bonuses("", skill=2, chatter=1) == {"{": 2, "Sure": 1}

    def test_longer_tokens_are_worth_more(self):
        assert self.bonuses("{") == {'"': 8, '"age"': 10}

    def test_chatter_does_not_move_the_place_in_the_reference(self):
        assert self.bonuses("Sure Here") == {"{": 8}
        assert self.bonuses("Sure {") == {'"': 8, '"age"': 10}

    def test_at_the_end(self):
        assert self.bonuses(toy.AGE_REFERENCE) == {"": 8}
        assert self.bonuses(toy.AGE_REFERENCE + "!") == {"": 8}

    def test_one_draw_of_83_normal_values(self):
        logits = toy.ToyModel("", noise=3).logits("x", np.random.default_rng(5))
        assert (logits == np.random.default_rng(5).normal(0, 3, 83)).all()

    def test_on_tokens(self):
        model = toy.ToyModel(toy.AGE_REFERENCE)
        ids = [toy.TOKENS.index("{"), toy.TOKENS.index('"age"')]
        assert toy.text_of(ids) == '{"age"'
        left = model.on_tokens(np.random.default_rng(1))(ids)
        assert (left == model.logits('{"age"', np.random.default_rng(1))).all()
