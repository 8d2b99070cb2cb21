"""Real vocabularies of 32k to 262k tokens: the mask of a state is what trying every token gives.

States are sampled; ``FASTMASK_THOROUGH=1`` takes all of them, up to some hundreds a pattern.
"""

from __future__ import annotations

import functools
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest

import fastmask as fm
from fastmask.kernels import layout
from walking import longest_tokens, row_ids

pytestmark = pytest.mark.large

NAMES = (
    "mistral_v3_32k",
    "smollm2_49k",
    "gpt2_50k",
    "cl100k_100k",
    "llama3_128k",
    "tekken_131k",
    "qwen_151k",
    "o200k_200k",
    "gemma3_262k",
)
STATES = 300 if os.environ.get("FASTMASK_THOROUGH") else 4

PATTERNS = (
    "cat|car|dog",
    "-?[0-9]+",
    r'\{"age": [0-9]+\}',
    r"[a-z]+(-[a-z]+)*",
    r"\d{4}-\d{2}-\d{2}",
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})",
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"(\d{1,3}\.){3}\d{1,3}",
    r"[\w.+-]+@[a-z0-9-]+(\.[a-z]{2,})+",
    r"https?://[^\s/]+(/[^\s?#]*)?(\?[^\s#]*)?",
    r'"([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"',
    r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?",
    r"(yes|no|maybe)( (yes|no|maybe)){0,3}",
    r".*",
    r"(?s).*",
    r".{1,12}",
    r"[^a-z]*",
    r"\s*\S+\s*",
    r"(?i)select \* from [a-z_]+( where [a-z_]+ = '[^']*')?;",
    r"[\u0410-\u044f\u0451]+",
    r"[一-龥]{2,8}",
    r"[😀-🙏]{1,3}",
    r"(é|è|ê|ë|e)+",
    r"\w+ \w+ \w+",
    r"(a|b)*abb",
    r"(ab|ba)*c?",
    r"[01]{1,64}",
    r"#[0-9A-Fa-f]{3}([0-9A-Fa-f]{3})?",
    r"\([^()]*(\([^()]*\)[^()]*)*\)",
    r"A: [\w .,*=+/?-]{20,60}\. The answer is [1-9][0-9]{0,3}\.",
    r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day",
    r"[\x20-\x7e]{0,40}\n",
    r"(?x) [a-f]+ \# [g-z]{3} # a comment",
)
SMALL_PATTERNS = PATTERNS[:8]


@pytest.fixture(scope="module")
def load(data_folder):
    """A vocabulary by name, the last one kept."""
    kept: dict[str, fm.Vocabulary] = {}

    def load(name: str) -> fm.Vocabulary:
        if name not in kept:
            path = data_folder / "vocab" / f"{name}.npz"
            if not path.is_file():
                pytest.skip(f"no {path.name} in the folder of suites")
            kept.clear()
            kept[name] = fm.Vocabulary.load(path)
        return kept[name]

    return load


def check(matcher: fm.GrammarMatcher, vocabulary: fm.Vocabulary) -> np.ndarray:
    """Compare the mask here with the naive one, and acceptance with both; returns the mask."""
    row = matcher.next_token_bitmask()
    naive = matcher.naive_row()
    differing = row_ids(row ^ naive)
    assert not differing, [(i, vocabulary.tokens[i]) for i in sorted(differing)[:5]]
    if vocabulary.size & 31:
        assert np.uint32(row[-1]) >> (vocabulary.size & 31) == 0
    bitmask = np.full((1, row.size), 0x55, np.int32)
    apply = matcher.fill_next_token_bitmask(bitmask)
    assert (bitmask[0] == row).all()
    assert apply or row_ids(row) == set(range(vocabulary.size))
    chooser = random.Random(int(row[0]))
    asked = [chooser.randrange(vocabulary.size) for _ in range(40)]
    allowed = matcher.allowed_token_ids()
    asked += chooser.sample(allowed.tolist(), min(40, allowed.size))
    assert matcher.filter_tokens(asked).tolist() == [
        bool(row[t >> 5] >> (t & 31) & 1) for t in asked
    ]
    return row


@functools.cache
def grammars() -> dict[str, fm.Grammar]:
    return {pattern: fm.Grammar.from_regex(pattern) for pattern in PATTERNS}


@pytest.mark.parametrize("name", NAMES)
def test_masks_of_patterns_are_the_naive_ones(load, name):
    """One place of a random walk for each pattern, or many."""
    vocabulary = load(name)
    compiler = fm.GrammarCompiler(vocabulary)
    chooser = random.Random(name)
    for grammar in grammars().values():
        compiled = compiler.compile(grammar)
        for _ in range(STATES // 4):
            matcher = fm.GrammarMatcher(compiled)
            for _ in range(chooser.randint(0, 8)):
                tokens = matcher.allowed_token_ids()
                token = int(tokens[chooser.randrange(tokens.size)])
                if token in vocabulary.eos_token_ids:
                    break
                assert matcher.accept_token(token)
            check(matcher, vocabulary)


@pytest.mark.parametrize("name", NAMES)
def test_every_state_of_a_mask_table_is_the_naive_mask(load, name):
    """The first states of some patterns, or all of every pattern."""
    vocabulary = load(name)
    chooser = random.Random(name)
    for pattern in PATTERNS if STATES > 10 else chooser.sample(SMALL_PATTERNS, 2):
        compiled = fm.GrammarCompiler(vocabulary).compile(grammars()[pattern])
        rows = {row.tobytes() for row in compiled.mask_table()}
        for matcher in states(compiled, STATES):
            assert check(matcher, vocabulary).tobytes() in rows


def states(compiled: fm.CompiledGrammar, most: int) -> list[fm.GrammarMatcher]:
    """Matchers in the first states of a regular grammar, breadth first by bytes."""
    found: dict[int, fm.GrammarMatcher] = {}
    queue = [fm.GrammarMatcher(compiled)]
    for matcher in queue:  # it grows on the way
        configuration = int(matcher._words[layout.M_CONFIGURATION])
        if configuration not in found and len(found) < most:
            found[configuration] = matcher
            for byte in range(256):
                twin = matcher.fork()
                if twin.accept_bytes(bytes([byte])):
                    queue.append(twin)
    return list(found.values())


# --- JSON and the grammars of this folder

PREFIXES = (
    b"",
    b"{",
    b'{"',
    b'{"ab',
    b'{"ab\\',
    b'{"ab\\ud83d',
    b'{"ab\xe6',
    b'{"ab": ',
    b'{"ab": "x" ',
    b'{"ab": [1, -',
    b'{"ab": [1, -0',
    b'{"ab": [1, -0.5e',
    b'{"ab": [1, -0.5e7',
    b'{"ab": [[[["x',
    b'{"ab": [[[[tr',
    b"[" * 300 + b"1",
    b"[[], {}]",
    b'"',
)


@pytest.mark.parametrize("name", NAMES)
def test_masks_of_json_are_the_naive_ones(load, name):
    vocabulary = load(name)
    compiled = fm.GrammarCompiler(vocabulary).compile_json()
    for prefix in PREFIXES if STATES > 10 else random.Random(name).sample(PREFIXES, 5):
        matcher = fm.GrammarMatcher(compiled)
        assert not prefix or matcher.accept_bytes(prefix)
        check(matcher, vocabulary)


@pytest.mark.parametrize("name", NAMES)
def test_documents_are_allowed_token_by_token(load, name):
    vocabulary = load(name)
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(vocabulary).compile_json())
    text = '{"name": "Ada", "pets": ["cat", {"a\\n": -1.5e3}], "naïve": [true, null], "東": "京"}'
    absent = set(vocabulary.absent_bytes)
    data = json.dumps(json.loads(text), ensure_ascii=bool(absent & set(text.encode()))).encode()
    for token in longest_tokens(data, vocabulary):
        row = matcher.next_token_bitmask()
        assert row[token >> 5] >> (token & 31) & 1, vocabulary.tokens[token]
        assert matcher.accept_token(token)
    assert matcher.is_completed()


FOLDER = Path(__file__).parent / "grammars"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.gbnf")), ids=lambda p: p.stem)
def test_masks_of_our_grammars_are_the_naive_ones(load, path):
    vocabulary = load("llama3_128k")
    compiled = fm.GrammarCompiler(vocabulary).compile_gbnf(path.read_text(encoding="utf-8"))
    texts = (path.parent / f"{path.stem}.texts").read_text(encoding="utf-8").split("\n=== ")
    accepted = [part.partition("\n")[2] for part in texts if "accept" in part.partition("\n")[0]]
    chooser = random.Random(path.stem)
    for text in chooser.sample(accepted, min(3 * STATES // 2, len(accepted))):
        matcher = fm.GrammarMatcher(compiled)
        tokens = longest_tokens(text.encode(), vocabulary)
        checked = set(chooser.sample(range(len(tokens) + 1), min(2, len(tokens) + 1)))
        for place, token in enumerate([*tokens, -1]):
            if place in checked:
                check(matcher, vocabulary)
            if not matcher.accept_token(token):
                break


def test_a_vocabulary_without_some_bytes_is_never_led_to_them(load):
    """SmolLM2 has no token with some bytes that UTF-8 needs."""
    vocabulary = load("smollm2_49k")
    absent = [byte for byte in vocabulary.absent_bytes if 0xC2 <= byte < 0xF5]
    assert absent
    compiler = fm.GrammarCompiler(vocabulary)
    lead = absent[0]
    character = next(
        chr(code)
        for code in range(0x80, 0x110000)
        if not 0xD800 <= code < 0xE000 and chr(code).encode()[0] == lead
    )
    with pytest.raises(fm.UnsatisfiableGrammarError):
        compiler.compile_choices([f"a{character}"])
    compiled = compiler.compile_choices([f"a{character}", "ab"])
    matcher = fm.GrammarMatcher(compiled)
    assert not matcher.accept_bytes(f"a{character}")
    assert matcher.accept_bytes(b"a")
    assert matcher.find_jump_forward_bytes() == b"b"
    anything = fm.GrammarMatcher(compiler.compile_regex(r"(?s).*"))
    assert not anything.accept_bytes(bytes([lead]))
    check(anything, vocabulary)
