"""Logits processors: each row of a batch keeps to its grammar, however rows move.

Most tests here call the processors as the frameworks do, on NumPy arrays; those with the frameworks
themselves are in ``test_huggingface.py`` and ``test_llama_cpp.py``.
"""

from __future__ import annotations

import ctypes
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask.compiler import GrammarCompiler
from fastmask.errors import VocabularyError
from fastmask.integrations import huggingface, llama_cpp
from fastmask.matcher import GrammarMatcher
from fastmask.sampling import allowed_ids
from fastmask.vocabulary import Vocabulary

TOKENS = [b"a", b"b", b"ab", b"(", b")", b"()", b"<pad>", b"<end>", b"<stop>"]
PAD, END, STOP = 6, 7, 8
VOCABULARY = Vocabulary(TOKENS, eos_token_ids=[END, STOP], special_token_ids=[PAD])
COMPILER = GrammarCompiler(VOCABULARY)
NESTED = COMPILER.compile_gbnf('root ::= "a" | "b" | "(" root* ")"')
AB = COMPILER.compile_regex("(ab|b){1,4}")


def expected_row(compiled, ids):
    """The mask after some ids, by a matcher that reads them all."""
    matcher = GrammarMatcher(compiled)
    if matcher.accept_tokens(ids) < len(ids) and not matcher.is_terminated():
        return np.isin(np.arange(len(TOKENS)), [END, STOP])
    return allowed_ids(matcher.next_token_bitmask(), len(TOKENS))


def masked(processor, rows, columns=9):
    """Which columns a processor leaves finite, bool[rows, columns]."""
    scores = np.zeros((len(rows), columns), np.float32)
    result = processor(np.array(rows, np.int64), scores)
    assert not scores.any(), "the scores given are left alone"
    return np.isfinite(result)


def check(processor, compiled, prompt, answers):
    found = masked(processor, [[*prompt, *answer] for answer in answers])
    for row, answer in zip(found, answers, strict=True):
        assert (row == expected_row(compiled, answer)).all(), answer


def test_one_row_step_by_step():
    processor = huggingface.LogitsProcessor(NESTED)
    answer = [3, 0, 5, 4, END]
    for n in range(len(answer) + 1):
        check(processor, NESTED, [PAD, 0, 1], [answer[:n]])


def test_rows_that_move_as_beams_do():
    processor = huggingface.LogitsProcessor(NESTED)
    check(processor, NESTED, [1, 1], [[], [], []])
    check(processor, NESTED, [1, 1], [[3], [0], [5]])
    check(processor, NESTED, [1, 1], [[3, 3], [3, 0], [3, 5]])  # all from one row
    check(processor, NESTED, [1, 1], [[3, 5, 4], [3, 3, 5], [3, 3, 3]])  # crossed


def test_rows_that_have_ended_wait_for_the_others():
    processor = huggingface.LogitsProcessor(NESTED)
    check(processor, NESTED, [1], [[], []])
    check(processor, NESTED, [1], [[0], [3]])
    for n in range(1, 4):
        rows = [[0, END, *[PAD] * (n - 1)], [3, *[5] * n]]
        found = masked(processor, [[1, *row] for row in rows])
        assert np.flatnonzero(found[0]).tolist() == [END, STOP]
        assert (found[1] == expected_row(NESTED, rows[1])).all()


def test_rows_of_no_chance_may_only_end():
    """Beam search takes refused tokens when fewer answers than beams are possible."""
    processor = huggingface.LogitsProcessor(AB)
    check(processor, AB, [0], [[], []])
    check(processor, AB, [0], [[1], [4]])
    check(processor, AB, [0], [[1, 2], [4, 0]])
    check(processor, AB, [0], [[1, 2, 1], [1, 2, 4]])


def test_a_grammar_for_each_prompt():
    processor = huggingface.LogitsProcessor([NESTED, AB])
    grammars = [NESTED, NESTED, AB, AB]
    for answers in ([[], [], [], []], [[3], [0], [1], [0]], [[3, 5], [3, 3], [0, 1], [1, 0]]):
        found = masked(processor, [[1, 1, *answer] for answer in answers])
        for row, compiled, answer in zip(found, grammars, answers, strict=True):
            assert (row == expected_row(compiled, answer)).all()
    with pytest.raises(ValueError, match="3 rows cannot be divided among 2"):
        masked(processor, [[1]] * 3)
    with pytest.raises(ValueError, match="at least one"):
        huggingface.LogitsProcessor([])
    other = GrammarCompiler(Vocabulary([b"a", b""], eos_token_ids=[1])).compile_regex("a")
    with pytest.raises(ValueError, match="different sizes"):
        huggingface.LogitsProcessor([NESTED, other])


def test_padded_logits():
    processor = huggingface.LogitsProcessor(AB)
    found = masked(processor, [[0]], columns=100)
    assert np.flatnonzero(found[0]).tolist() == [0, 1, 2]


def test_own_end_ids():
    processor = huggingface.LogitsProcessor(AB, stop_token_ids=[STOP])
    masked(processor, [[0]])
    found = masked(processor, [[0, 1]])
    assert np.flatnonzero(found[0]).tolist() == [0, 1, 2, STOP]


def test_drafts_are_taken_back():
    """Assisted generation asks along a draft, then goes on from what was kept of it."""
    processor = huggingface.LogitsProcessor(NESTED)
    for answer in ([], [3], [3, 0], [3, 0, 5], [3, 0, 4], [3, 3], [3, 3, 5], [0], [0, END]):
        check(processor, NESTED, [0, 1], [answer])


def test_a_new_prompt_is_noticed():
    processor = huggingface.LogitsProcessor(NESTED)
    for prompt in ([0, 1], [0], [1, 1, 1, 1, 1], [0, 1]):
        check(processor, NESTED, prompt, [[]])
        check(processor, NESTED, prompt, [[3]])
        check(processor, NESTED, prompt, [[3, 0]])
    check(processor, NESTED, [0, 1, 3, 0, 4, END, 0], [[]])  # the next turn of a conversation
    check(processor, NESTED, [0, 1, 3, 0, 4, END, 0], [[0]])


def test_a_prompt_that_goes_on_from_the_last_needs_a_reset():
    processor = huggingface.LogitsProcessor(NESTED)
    check(processor, NESTED, [0], [[]])
    check(processor, NESTED, [0], [[3]])
    processor.reset()
    check(processor, NESTED, [0, 3], [[]])
    check(processor, NESTED, [0, 3], [[3]])


@given(st.data())
def test_any_way_rows_may_move(data):
    n_rows = data.draw(st.integers(1, 4), label="rows")
    processor = huggingface.LogitsProcessor(NESTED)
    prompt = [0, 0]
    answers = [[] for _ in range(n_rows)]
    check(processor, NESTED, prompt, answers)
    for _ in range(data.draw(st.integers(1, 8), label="steps")):
        width = data.draw(st.integers(0, len(answers[0])), label="kept")
        sources = data.draw(st.lists(st.integers(0, n_rows - 1), min_size=n_rows, max_size=n_rows))
        token = st.sampled_from(range(len(TOKENS)))
        answers = [[*answers[s][:width], data.draw(token)] for s in sources]
        check(processor, NESTED, prompt, answers)


class TestLlamaCpp:
    """Against a stand-in with the same functions as ``llama-cpp-python``."""

    def test_one_text(self):
        processor = llama_cpp.LogitsProcessor(NESTED)
        answer = [3, 5, 4, END]
        for n in range(len(answer) + 1):
            # Logits are a column of the records that llama.cpp samples from.
            records = np.zeros(len(TOKENS), [("id", "i4"), ("logit", "f4"), ("p", "f4")])
            ids = np.array([0, 1, *answer[:n]], np.intc)
            scores = processor(ids, records["logit"])
            assert (np.isfinite(scores) == expected_row(NESTED, answer[:n])).all()
        processor.reset()
        scores = processor(np.array([0, 1, 3], np.intc), np.zeros(len(TOKENS), np.float32))
        assert (np.isfinite(scores) == expected_row(NESTED, [])).all()

    @pytest.fixture
    def llama(self, monkeypatch):
        """A loaded model, and the module that reads it."""
        pieces = [b"a", b"long" * 40, b"<unk>", b"\xff", b"<end>", b"<stop>"]
        attributes = [4, 4, 1, 32, 8, 8]

        def to_piece(vocab, token, buffer, length, lstrip, special):
            assert vocab == "vocabulary"
            assert lstrip == 0
            piece = pieces[token] if special or attributes[token] & 0b1011 == 0 else b""
            if len(piece) > length:
                return -len(piece)
            ctypes.memmove(buffer, piece, len(piece))
            return len(piece)

        module = types.ModuleType("llama_cpp")
        module.llama_model_get_vocab = lambda model: "vocabulary" if model == "model" else None
        module.llama_vocab_n_tokens = lambda vocab: len(pieces)
        module.llama_vocab_get_attr = lambda vocab, token: attributes[token]
        module.llama_vocab_is_eog = lambda vocab, token: token >= 4
        module.llama_token_to_piece = to_piece
        monkeypatch.setitem(sys.modules, "llama_cpp", module)
        self.pieces = pieces
        return types.SimpleNamespace(model="model")

    def test_vocabulary(self, llama):
        vocabulary = llama_cpp.vocabulary_of(llama)
        assert list(vocabulary.tokens) == self.pieces
        assert vocabulary.eos_token_ids == (4, 5)
        assert set(vocabulary.special_token_ids) >= {2}
        assert vocabulary.is_text.tolist() == [1, 1, 0, 1, 0, 0]
        assert llama_cpp.vocabulary_of(llama, eos_token_ids=5).eos_token_ids == (5,)

    def test_no_tokenizer(self, llama):
        self.pieces.clear()
        with pytest.raises(VocabularyError, match="no tokenizer"):
            llama_cpp.vocabulary_of(llama)

    def test_missing_package(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "llama_cpp", None)
        with pytest.raises(ImportError, match=r"fastmask\[llama-cpp\]"):
            llama_cpp.vocabulary_of(None)
