"""Unit benchmarks: what one call costs from Python. Each case checks its own answer.

``python -m pytest bench`` prints them; ``python bench/record.py`` keeps them with the machine and
writes the README's table. The vocabulary is Llama 3's 128,256 tokens from ``FASTMASK_DATA``
(default ``../shared/data``), or GPT-2's where that is missing; the record says which.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastmask as fm

pytest.importorskip("pytest_benchmark", reason="pytest-benchmark is not installed")

ROOT = Path(__file__).resolve().parent.parent
AGE = r'\{"age": [0-9]+\}'
TEXT = r'"[^"\\\x00-\x1f]*"'
FOLDER = Path(os.environ.get("FASTMASK_DATA") or ROOT.parent / "shared" / "data") / "vocab"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The vocabulary as fastmask itself saves it."""
    plain = FOLDER / "llama3_128k.npz"
    vocabulary = fm.Vocabulary.load(plain) if plain.is_file() else fm.Vocabulary.gpt2()
    saved = tmp_path_factory.mktemp("vocabulary") / "saved.npz"
    vocabulary.save(saved)
    return saved


@pytest.fixture(scope="module")
def vocabulary(path):
    return fm.Vocabulary.load(path)


@pytest.fixture(autouse=True)
def describe(request):
    """What the record has to know."""
    if "benchmark" in request.fixturenames and "vocabulary" in request.fixturenames:
        size = request.getfixturevalue("vocabulary").size
        request.getfixturevalue("benchmark").extra_info["vocabulary_size"] = size


def repeated(benchmark, call, *arguments):
    """Time a call of a microsecond or so: a thousand in a row, a hundred times."""
    return benchmark.pedantic(call, arguments, rounds=100, iterations=1000, warmup_rounds=2)


def matcher_after(vocabulary, pattern, text):
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(vocabulary).compile_regex(pattern))
    assert matcher.accept_bytes(text)
    return matcher


def is_naive(matcher, prefix):
    """Whether the matcher's mask is the one that trying every token gives."""
    vocabulary = matcher.compiled.vocabulary
    naive = fm.naive_mask(matcher.compiled, prefix, vocabulary)
    return (matcher.next_token_bitmask() == naive).all()


def test_import(benchmark):
    """Importing fastmask in a process that has imported NumPy."""
    code = (
        "import numpy, time; t = time.perf_counter(); import fastmask; "
        "print(time.perf_counter() - t, fastmask.__version__)"
    )
    seconds = []

    def run():
        found = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True
        )
        elapsed, version = found.stdout.split()
        seconds.append(float(elapsed))
        assert version == fm.__version__

    benchmark.pedantic(run, rounds=7)
    benchmark.extra_info["median_seconds"] = sorted(seconds)[len(seconds) // 2]


def test_load_vocabulary(benchmark, path, vocabulary):
    """From ``.npz`` to ready, trie included."""

    def load():
        loaded = fm.Vocabulary.load(path)
        return loaded, loaded.trie

    loaded, _ = benchmark(load)
    assert loaded == vocabulary


def test_build_trie(benchmark, vocabulary):
    """The token trie from the tokens."""
    from fastmask.vocabulary import build_trie

    texts = np.flatnonzero(vocabulary.is_text)
    trie = benchmark(build_trie, vocabulary.token_bytes, vocabulary.token_offsets, texts)
    assert trie.fits(texts, vocabulary.size)


def test_compile_pattern(benchmark, vocabulary):
    """A pattern, up to the first mask."""

    def compile_pattern():
        return matcher_after(vocabulary, AGE, b"").next_token_bitmask().copy()

    row = benchmark(compile_pattern)
    assert (row == fm.naive_mask(fm.Grammar.from_regex(AGE), b"", vocabulary)).all()


def test_known_row(benchmark, vocabulary):
    """`fill_next_token_bitmask` where the row has been made."""
    matcher = matcher_after(vocabulary, TEXT, b'"x')
    bitmask = fm.allocate_token_bitmask(1, vocabulary.size)
    assert repeated(benchmark, matcher.fill_next_token_bitmask, bitmask)
    assert (bitmask[0] == matcher.next_token_bitmask()).all()
    assert is_naive(matcher, b'"x')


def test_known_row_as_a_view(benchmark, vocabulary):
    """`next_token_bitmask` where the row has been made: no copy."""
    matcher = matcher_after(vocabulary, TEXT, b'"x')
    row = repeated(benchmark, matcher.next_token_bitmask)
    assert (row == matcher.next_token_bitmask()).all()
    assert is_naive(matcher, b'"x')


def test_first_touch_little_allowed(benchmark, vocabulary):
    """`fill_next_token_bitmask` where the row has to be made and only digits may come.

    As while a text is written: each round goes on to a state of the grammar that no text has been
    in, after a mask has been applied to a row of logits.
    """
    n_fields = 60
    pattern = r"\{" + ", ".join(rf'"age{i}": [0-9]+' for i in range(n_fields)) + r"\}"
    bitmask = fm.allocate_token_bitmask(1, vocabulary.size)
    logits = np.zeros(vocabulary.size, np.float32)
    texts = []
    matchers = []

    def go_on():
        if len(texts) in (0, n_fields):
            texts[:] = [b'{"age0": ']
            matchers[:] = [matcher_after(vocabulary, pattern, texts[0])]
            matchers[0].fill_next_token_bitmask(bitmask)
        matcher = matchers[0]
        texts.append(b'1, "age%d": ' % len(texts))
        assert matcher.accept_bytes(texts[-1])
        fm.apply_token_bitmask_inplace(logits, bitmask[0])
        return (matcher, bitmask), {}

    benchmark.pedantic(fm.GrammarMatcher.fill_next_token_bitmask, setup=go_on, rounds=590)
    assert (bitmask[0] == matchers[0].next_token_bitmask()).all()
    assert is_naive(matchers[0], b"".join(texts))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(AGE, b'{"age": '), (TEXT, b'"x')],
    ids=["little allowed", "wide open"],
)
def test_first_mask(benchmark, vocabulary, pattern, text):
    """`fill_next_token_bitmask` right after compiling, when the CPU's caches hold other things."""
    bitmask = fm.allocate_token_bitmask(1, vocabulary.size)
    last = []

    def fresh():
        last[:] = [matcher_after(vocabulary, pattern, text)]
        return (last[0], bitmask), {}

    benchmark.pedantic(fm.GrammarMatcher.fill_next_token_bitmask, setup=fresh, rounds=200)
    assert (bitmask[0] == last[0].next_token_bitmask()).all()
    assert is_naive(last[0], text)


def test_accept_token(benchmark, vocabulary):
    """`accept_token`, a string of text going on and on."""
    matcher = matcher_after(vocabulary, TEXT, b'"x')
    token = vocabulary.ids_of(b" the")[0]
    assert repeated(benchmark, matcher.accept_token, token)
    assert not matcher.is_completed()


def test_fork(benchmark, vocabulary):
    """`fork` after a thousand tokens."""
    matcher = matcher_after(vocabulary, TEXT, b'"x')
    token = vocabulary.ids_of(b" the")[0]
    assert matcher.accept_tokens([token] * 1000) == 1000
    assert repeated(benchmark, matcher.fork).accept_bytes(b'"')
    assert not matcher.is_completed()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda t: t.__name__)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.96], ids=["1 allowed", "half", "96%"])
def test_apply(benchmark, vocabulary, dtype, share):
    """`apply_token_bitmask_inplace` of one row."""
    rng = np.random.default_rng(0)
    allowed = rng.random(vocabulary.size) < share
    allowed[7] = True
    bits = np.zeros(-(-vocabulary.size // 32) * 32, bool)
    bits[: vocabulary.size] = allowed
    row = np.packbits(bits, bitorder="little").view(np.int32)
    logits = rng.normal(size=vocabulary.size).astype(dtype)
    expected = np.where(allowed, logits, -np.inf).astype(dtype)
    benchmark(fm.apply_token_bitmask_inplace, logits, row)
    assert logits.tobytes() == expected.tobytes()


def test_naive_mask(benchmark, vocabulary):
    """Trying every token: what all of this is measured against."""
    compiled = fm.GrammarCompiler(vocabulary).compile_regex(AGE)
    row = benchmark(fm.naive_mask, compiled, b'{"age": ', vocabulary)
    assert (row == matcher_after(vocabulary, AGE, b'{"age": ').next_token_bitmask()).all()
