"""Masks against the judge: random grammars, each kind of recursion, atomic tokens, full rows."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastmask as fm
from fastmask._jit import JIT_ENABLED
from fastmask.errors import GrammarError
from fastmask.grammar import ir
from fastmask.grammar.core import Grammar
from judge import Judge, grammars, random_grammar, random_rules, vocabularies
from walking import Language, can_finish, random_language, row_ids

SEEDS = 360 if JIT_ENABLED else 24


def check_walks(language: Language, chooser: random.Random, walks: int, steps: int) -> None:
    """Check random walks; from where each ends, and from halfway, the text can be finished."""
    for _ in range(walks):
        walk = language.walk()
        for _ in range(steps):
            choices = sorted(walk.check() - set(language.ends))
            if not choices:
                break
            if chooser.random() < 0.1:
                assert can_finish(walk.matcher)
            walk.accept(chooser.choice(choices))
        assert can_finish(walk.matcher)


# --- random grammars against the judge


@pytest.mark.parametrize("block", range(12))
def test_masks_of_random_grammars_are_the_judges(block):
    for seed in range(block, SEEDS, 12):
        language = random_language(random_grammar(seed), seed)
        check_walks(language, random.Random(seed), 2, 5)


@given(grammars(), vocabularies(), st.randoms(use_true_random=False))
@settings(max_examples=60 if JIT_ENABLED else 10)
def test_masks_of_drawn_grammars_are_the_judges(rules, vocabulary, chooser):
    check_walks(Language(rules, vocabulary), chooser, 1, 5)


KINDS = {
    "direct left recursion": 'root ::= root "a" | root "b" "c" | "a"',
    "indirect left recursion": 'root ::= x "a" | "b"\nx ::= y "b" | root\ny ::= x "c" | "a"',
    "hidden left recursion": 'root ::= e root "a" | "b"\ne ::= "c" | ""',
    "left recursion in the middle": 'root ::= "a" x "b"\nx ::= x x "c" | x "a" | "b" x | "c"',
    "right recursion": 'root ::= "a" root | "b" root | "c"',
    "both recursions": 'root ::= root "a" root | "b"',
    "ambiguous sums": 'root ::= root "a" root | root "b" root | "c"',
    "any two halves": 'root ::= root root | "a" | "b"',
    "any parts, also none": 'root ::= root root | "a" | ""',
    "palindromes": 'root ::= "a" root "a" | "b" root "b" | "a" | "b" | ""',
    "equal numbers": 'root ::= "a" root "b" | ""',
    "everything may be empty": 'root ::= x y z\nx ::= "a"*\ny ::= x "b"?\nz ::= (y "c")*',
    "empty behind empty": 'root ::= x x x "a"\nx ::= y | "b"\ny ::= z | x\nz ::= ""',
    "a loop of rules without text": 'root ::= x\nx ::= y | "a"\ny ::= x | "b" x "c"',
    "counted calls": 'root ::= x{2,4} "c"\nx ::= "a" | "b" x',
    "two ways to the same text": 'root ::= x | y\nx ::= "a" x "b" | "ab"\ny ::= "a" y "b" | "ab"',
    "split anywhere": 'root ::= x y\nx ::= "a" x "a" | "b"\ny ::= x y | x',
    "many returns at one byte": 'root ::= "a" x "c"\nx ::= "a" x | "b" | "a" x "b"',
    "only one text": 'root ::= "abcabc"',
}


@pytest.mark.parametrize("kind", KINDS)
def test_masks_of_each_kind_of_recursion_are_the_judges(kind):
    rules = Grammar.from_gbnf(KINDS[kind]).rules
    for seed in range(6 if JIT_ENABLED else 1):
        check_walks(random_language(dict(rules), seed), random.Random(seed), 3, 12)


@pytest.mark.parametrize("seed", range(40 if JIT_ENABLED else 4))
def test_masks_of_texts_in_several_bytes_a_character(seed):
    """Tokens cut characters apart, as byte-level vocabularies do."""
    chooser = random.Random(seed)
    alphabet = chooser.choice(["aé東", "é😀a", "éèa"])
    tokens = [bytes([byte]) for byte in sorted(set(alphabet.encode()))]
    while len(tokens) < 20:
        text = "".join(chooser.choice(alphabet) for _ in range(3)).encode()
        start = chooser.randrange(len(text))
        tokens.append(text[start : chooser.randint(start + 1, len(text))])
    check_walks(Language(random_grammar(seed, alphabet), tokens), chooser, 2, 6)


# --- atomic tokens, several ends, missing bytes


def with_atomic_tokens(rules, chooser, ids, names):
    """The rules with some texts replaced by sets of atomic tokens."""

    def change(node):
        if not isinstance(node, ir.Literal | ir.CharSet) or chooser.random() > 0.3:
            return None
        chosen = (chooser.choice(ids) for _ in range(chooser.randint(1, 3)))
        items = [names[i] if i in names and chooser.random() < 0.5 else i for i in chosen]
        return ir.Tokens(tuple(dict.fromkeys(items)), negated=chooser.random() < 0.3)

    return {name: ir.rewritten(expression, change) for name, expression in rules.items()}


@pytest.mark.parametrize("seed", range(80 if JIT_ENABLED else 8))
def test_atomic_tokens_may_also_be_read_as_text(seed):
    chooser = random.Random(seed)
    tokens = [b"a", b"b", b"c", b"ab", b"a", b"bc", b"cab", b"<s>", b"<t>", b"<end>", b"<stop>"]
    while True:
        rules = with_atomic_tokens(random_rules(chooser), chooser, range(9), {7: "<s>", 8: "<t>"})
        if Judge(rules).start() is not None:
            break
    language = Language(rules, tokens, ends=[9, 10], specials=[7, 8], size=40)
    check_walks(language, chooser, 2, 5)


def test_ends_and_special_tokens_by_hand():
    tokens = [b"a", b"b", b"<s>", b"<end>", b"<stop>", b""]
    rules = {"root": ir.sequence([ir.literal("a"), ir.Tokens(("<s>",)), ir.literal("b")])}
    language = Language(rules, tokens, ends=[3, 4], specials=[2], size=70)
    matcher = fm.GrammarMatcher(language.compiled)
    for expected, token_id in (([0], 0), ([2], 2), ([1], 1), ([3, 4], 4), ([3, 4], None)):
        assert matcher.allowed_token_ids().tolist() == expected
        assert token_id is None or matcher.accept_token(token_id)
    assert matcher.is_terminated()


def test_a_negated_token_set_holds_every_named_token_but_ends():
    tokens = [b"a", b"<s>", b"<t>", b"", b"<end>"]
    rules = {"root": ir.Tokens((1,), negated=True)}
    compiled = fm.CompiledGrammar(Grammar(rules), fm.Vocabulary(tokens, 4, [1, 2], 9))
    assert fm.GrammarMatcher(compiled).allowed_token_ids().tolist() == [0, 2]


@pytest.mark.parametrize("item", [9, -1, "<none>"])
def test_an_atomic_token_that_the_vocabulary_lacks_is_named(item):
    grammar = Grammar({"root": ir.Tokens((item,))})
    with pytest.raises(GrammarError, match=str(item)):
        fm.CompiledGrammar(grammar, fm.Vocabulary([b"a", b"<end>"], 1))


def test_an_end_token_that_the_grammar_names_is_allowed_there_too():
    tokens = [b"a", b"b", b"<end>", b"<stop>"]
    rules = {"root": ir.sequence([ir.literal("a"), ir.Tokens(("<end>",)), ir.literal("b")])}
    walk = Language(rules, tokens, ends=[2, 3]).walk()
    for expected, token_id in (({0}, 0), ({2}, 2), ({1}, 1), ({2, 3}, None)):
        assert row_ids(walk.matcher.next_token_bitmask()) == expected
        assert np.flatnonzero(walk.matcher.filter_tokens(range(4))).tolist() == sorted(expected)
        assert not walk.matcher.is_terminated()
        if token_id is not None:
            walk.accept(token_id)
    assert walk.matcher.accept_token(2)
    assert walk.matcher.is_terminated()


@pytest.mark.parametrize("seed", range(30 if JIT_ENABLED else 4))
def test_bytes_that_no_token_has_are_never_waited_for(seed):
    """The vocabulary has no ``c``: the judge's alphabet has none either."""
    chooser = random.Random(seed)
    tokens = [b"a", b"b", b"ab", b"bba", b"<end>"]
    while True:
        rules = random_rules(chooser)
        if Judge(rules).start() is not None:
            break
    if Judge(rules, alphabet=set(b"ab")).start() is None:
        with pytest.raises(fm.UnsatisfiableGrammarError, match="0x63"):
            fm.CompiledGrammar(Grammar(rules), fm.Vocabulary(tokens, 4))
        return
    check_walks(Language(rules, tokens, ends=[4]), chooser, 2, 6)


def test_a_byte_found_only_inside_longer_tokens_can_lead_nowhere():
    """``b`` stands in ``ab`` alone: after ``aab`` no token goes on, and the error says where."""
    vocabulary = fm.Vocabulary([b"a", b"ab", b"<end>"], 2)
    assert vocabulary.missing_bytes == b"b"
    matcher = fm.GrammarMatcher(
        fm.GrammarCompiler(vocabulary).compile_gbnf('root ::= "aabb" | "ab"')
    )
    assert matcher.accept_tokens([0, 1]) == 2
    bitmask = fm.allocate_token_bitmask(1, 3)
    with pytest.raises(fm.MatcherError, match="after 2 steps"):
        matcher.next_token_bitmask()
    with pytest.raises(fm.MatcherError, match="after 2 steps"):
        matcher.fill_next_token_bitmask(bitmask)
    with pytest.raises(fm.MatcherError, match="missing_bytes"):
        matcher.allowed_token_ids()
    assert not matcher.is_token_allowed(0)
    matcher.rollback(2)
    assert matcher.allowed_token_ids().tolist() == [0, 1]


# --- padding, duplicates, full rows


def test_padding_is_never_allowed_and_a_full_row_says_so():
    anything = {"root": ir.Repeat(ir.ByteSet(((0, 255),)), 0, None)}
    vocabulary = fm.Vocabulary([b"a", b"b", b"<end>"], 2)
    matcher = fm.GrammarMatcher(fm.CompiledGrammar(Grammar(anything), vocabulary))
    bitmask = fm.allocate_token_bitmask(1, 3)
    assert not matcher.fill_next_token_bitmask(bitmask)
    assert bitmask.tolist() == [[0b111]]
    padded = fm.Vocabulary([b"a", b"b", b"<end>"], 2, vocab_size=33)
    matcher = fm.GrammarMatcher(fm.CompiledGrammar(Grammar(anything), padded))
    bitmask = fm.allocate_token_bitmask(1, 33)
    assert matcher.fill_next_token_bitmask(bitmask)
    assert bitmask.tolist() == [[0b111, 0]]


@pytest.mark.parametrize("size", [31, 32, 33, 64, 65])
def test_a_row_is_full_whatever_the_width(size):
    tokens = [bytes([97 + i % 26]) * (1 + i // 26) for i in range(size - 1)] + [b"<end>"]
    vocabulary = fm.Vocabulary(tokens, size - 1)
    compiler = fm.GrammarCompiler(vocabulary)
    full = fm.GrammarMatcher(compiler.compile_gbnf("root ::= [a-z]*"))
    bitmask = np.zeros((1, (size + 31) // 32), np.int32)
    assert not full.fill_next_token_bitmask(bitmask)
    assert row_ids(bitmask) == set(range(size))
    nearly = fm.GrammarMatcher(compiler.compile_gbnf("root ::= [a-z]+"))
    assert nearly.fill_next_token_bitmask(bitmask)
    assert row_ids(bitmask) == set(range(size - 1))


def test_all_ids_of_equal_bytes_are_allowed_together():
    vocabulary = fm.Vocabulary([b"ab", b"a", b"ab", b"a", b"ab", b"<end>"], 5)
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(vocabulary).compile_gbnf('root ::= "ab"'))
    assert matcher.allowed_token_ids().tolist() == [0, 1, 2, 3, 4]
    assert matcher.accept_token(3)
    assert matcher.find_jump_forward_bytes() == b"b"
