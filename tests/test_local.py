"""The automaton that walks run on: bundles of places, and what it does where it grows too large."""

from __future__ import annotations

import random
import string

import numpy as np
import pytest

import fastmask as fm
from fastmask._jit import JIT_ENABLED
from fastmask.kernels import layout

VOCABULARY = fm.Vocabulary.gpt2()

#: Two rules begin with a name, so two threads read one side by side; calls and lists behind it.
CALLS = r"""
root ::= statement+
statement ::= target ws "=" ws sum ";" ws | call ";" ws
target ::= name ("." name)*
sum ::= operand (ws [+*-] ws operand)*
operand ::= target | call | number | "(" ws sum ws ")"
call ::= name "(" ws (sum ws ("," ws sum ws)*)? ")"
name ::= [a-z_] [a-z0-9_]*
number ::= [0-9]+
ws ::= [ \n]*
"""
#: Every text read is another stack.
PALINDROMES = (
    "root ::= "
    + " | ".join(f'"{letter}" root "{letter}"' for letter in string.ascii_lowercase)
    + ' | "."'
)


def assert_masks_are_naive(compiled: fm.CompiledGrammar, text: bytes, seed: int) -> None:
    """Along a text, in tokens drawn at random."""
    chooser = random.Random(seed)
    ids = {token: i for i, token in enumerate(VOCABULARY.tokens) if VOCABULARY.is_text[i]}
    matcher = fm.GrammarMatcher(compiled)
    position = 0
    while True:
        assert np.array_equal(matcher.next_token_bitmask(), matcher.naive_row()), text[:position]
        if position == len(text):
            return
        sizes = [n for n in range(1, 9) if text[position : position + n] in ids]
        size = chooser.choice(sizes)
        assert matcher.accept_token(ids[text[position : position + size]])
        position = min(position + size, len(text))


BRACKETED = """
root ::= "(" item ("," item)* ")" | "[" item "]" | item "!"
item ::= [a-z]+ | root
"""


@pytest.mark.parametrize("limit", [None, 4, 40])
def test_bundles_over_a_small_vocabulary(limit, monkeypatch):
    """Every text of up to three tokens; also where few local states fit, if Python says so."""
    if limit is not None:
        if JIT_ENABLED:
            pytest.skip("the limit is compiled in")
        monkeypatch.setattr("fastmask.kernels.local.LOCAL_LIMIT", limit)
    tokens = [f"{a}{b}" for a in "abcdefghijklmno" for b in ")],!"]
    tokens += [*"([a)],!", "))", "])", ""]
    vocabulary = fm.Vocabulary([t.encode() for t in tokens], eos_token_ids=[len(tokens) - 1])
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(vocabulary).compile_gbnf(BRACKETED))

    def check(depth: int) -> None:
        row = matcher.next_token_bitmask()
        assert np.array_equal(row, matcher.naive_row())
        if depth:
            for token in ("(", "[", "a", "b)", "b]", "b,", "b!", "))"):
                if matcher.accept_token(tokens.index(token)):
                    check(depth - 1)
                    matcher.rollback()

    check(3)
    assert matcher.compiled.arena.rows.words[layout.R_N_POOL] > 0


@pytest.fixture(scope="module")
def calls() -> fm.CompiledGrammar:
    return fm.GrammarCompiler(VOCABULARY).compile_gbnf(CALLS)


@pytest.mark.large
@pytest.mark.parametrize("seed", range(3))
def test_masks_behind_names_are_the_naive_ones(calls, seed):
    text = b"first.of_all = second(a1, b * (c + 2), d.e, f()) - third;\nend_of(it, 12);\n"
    assert_masks_are_naive(calls, text, seed)


@pytest.mark.large
def test_hundreds_of_places_are_kept_in_few_bundles(calls):
    matcher = fm.GrammarMatcher(calls)
    assert matcher.accept_bytes(b"x = name")
    matcher.next_token_bitmask()
    rows = calls.arena.rows
    nodes = rows.record.bound(layout.R_NODES)[: layout.NODE * int(rows.words[layout.R_N_NODES])]
    counts = nodes.reshape(-1, layout.NODE)[:, layout.NODE_EVENTS]
    assert rows.words[layout.R_N_POOL] > 500
    assert counts.max() < 100


@pytest.mark.large
def test_masks_where_each_beginning_of_a_token_is_a_stack_of_its_own():
    compiled = fm.GrammarCompiler(VOCABULARY).compile_gbnf(PALINDROMES)
    assert_masks_are_naive(compiled, b"abcdefg.gfedcba", 0)
    assert_masks_are_naive(compiled, b"theend.dneeht", 1)
    # The local automaton is none of its size.
    assert compiled.arena.record.words[layout.A_N_LOCAL] <= layout.LOCAL_LIMIT
    assert compiled.memory_size_bytes < 32 << 20
