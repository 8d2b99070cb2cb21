"""Compiling: what is remembered, for how many bytes; mask tables, statistics, files and pickles."""

from __future__ import annotations

import copy
import json
import pickle
import random

import numpy as np
import pytest

import fastmask as fm
from fastmask.errors import BudgetError, FormatError, GrammarError
from fastmask.grammar import ir
from fastmask.kernels import layout
from judge import random_grammar
from walking import row_ids

TOKENS = [b"a", b"b", b"c", b"ab", b"ca", b"<end>"]
VOCABULARY = fm.Vocabulary(TOKENS, 5, vocab_size=40)


def gbnf(text: str, vocabulary: fm.Vocabulary = VOCABULARY) -> fm.CompiledGrammar:
    return fm.GrammarCompiler(vocabulary).compile_gbnf(text)


# --- what is remembered


def test_a_grammar_is_compiled_once_by_whatever_name_it_comes():
    vocabulary = fm.Vocabulary.gpt2()
    compiler = fm.GrammarCompiler(vocabulary)
    compiled = compiler.compile_choices(["ab", "c"])
    assert compiler.compile_choices(["c", "ab", "ab"]) is compiled
    grammar = fm.Grammar.from_gbnf('root ::= "a" root | "b"')
    assert compiler.compile(grammar) is compiler.compile_gbnf(str(grammar))
    assert compiler.compile(grammar) is not compiled
    assert compiler.compile_json() is compiler.compile(fm.Grammar.json())
    lark = 'start: "a"+ "b"'
    assert compiler.compile_lark(lark) is compiler.compile(fm.Grammar.from_lark(lark))
    assert compiler.compile_regex("a+b") is compiler.compile_regex("a+b")
    assert compiled.vocabulary is vocabulary
    assert compiled.grammar == fm.Grammar.from_choices(["ab", "c"])


def test_the_least_recently_used_goes_first_and_lives_on_in_use():
    first_text, second_text, third_text = (
        f'root ::= "{letter}" root | "b"' for letter in ("a", "c", "bc")
    )
    limit = int(2.5 * gbnf(third_text).memory_size_bytes)
    compiler = fm.GrammarCompiler(VOCABULARY, cache_limit_bytes=limit)
    first, second = compiler.compile_gbnf(first_text), compiler.compile_gbnf(second_text)
    assert compiler.compile_gbnf(first_text) is first
    third = compiler.compile_gbnf(third_text)
    assert compiler.compile_gbnf(first_text) is first
    assert compiler.compile_gbnf(third_text) is third
    assert compiler.compile_gbnf(second_text) is not second
    assert compiler.cache_size_bytes <= limit
    matcher = fm.GrammarMatcher(second)
    assert matcher.accept_bytes(b"ccb")
    assert matcher.is_completed()


def test_clearing_forgets_all():
    compiler = fm.GrammarCompiler(VOCABULARY)
    compiled = compiler.compile_gbnf('root ::= "a"')
    assert compiler.cache_size_bytes == compiled.memory_size_bytes
    compiler.clear_cache()
    assert compiler.cache_size_bytes == 0
    assert compiler.compile_gbnf('root ::= "a"') is not compiled


@pytest.mark.large
def test_rows_count_and_are_dropped_at_the_limit():
    vocabulary = fm.Vocabulary.gpt2()
    row_bytes = 4 * ((vocabulary.size + 31) // 32)
    compiled = fm.CompiledGrammar(fm.Grammar.from_regex("[a-z]{300}"), vocabulary, 64 * row_bytes)
    matcher = fm.GrammarMatcher(compiled)
    sizes = []
    for _ in range(300):
        matcher.next_token_bitmask()
        sizes.append(compiled.memory_size_bytes)
        assert matcher.accept_bytes(b"x")
    assert max(sizes) - sizes[0] < 3 * 64 * row_bytes
    assert compiled.arena.clears >= 3


@pytest.mark.large
def test_memory_of_json_with_all_its_rows_stays_small():
    vocabulary = fm.Vocabulary.gpt2()
    compiled = fm.GrammarCompiler(vocabulary).compile_json()
    chooser = random.Random(0)
    for _ in range(60):
        value = {"k": [chooser.random(), "x\n\u00e9", {"a": None, "b": [True, -1, "y" * 9]}]}
        matcher = fm.GrammarMatcher(compiled)
        for byte in json.dumps(value, indent=chooser.choice([None, 2])).encode():
            matcher.next_token_bitmask()
            assert matcher.accept_bytes(bytes([byte]))
    assert compiled.memory_size_bytes < 8_000_000


@pytest.mark.large
def test_a_schema_does_not_wear_out():
    """Keys never seen before make parts of the tables; texts begin with fresh ones in time."""
    compiled = fm.GrammarCompiler(fm.toy.VOCABULARY).compile_json_schema({"type": "object"})
    first = fm.GrammarMatcher(compiled)
    assert first.accept_bytes('{"first": 1,')
    chooser = random.Random(0)
    sizes, tables = [], {id(compiled.tables): compiled.tables}
    for _ in range(1_500):
        keys = ["".join(chooser.choices("abcdefgh", k=8)) for _ in range(6)]
        matcher = fm.GrammarMatcher(compiled)
        assert matcher.accept_bytes("{" + ",".join(f'"{key}":1' for key in keys) + ',"')
        matcher.next_token_bitmask()
        assert not matcher.accept_bytes(keys[3] + '"')
        sizes.append(compiled.memory_size_bytes)
        tables[id(compiled.tables)] = compiled.tables
    assert len(tables) > 1
    assert max(sizes) < 60_000_000
    # Those under way keep what they began with.
    assert not first.accept_bytes('"first"')
    assert first.accept_bytes('"second":{}}')
    assert first.is_completed()
    first.reset()
    assert first.accept_bytes("{}")


# --- mask tables


@pytest.mark.parametrize(
    "text",
    [
        'root ::= "cat" | "car" | "dog"',
        'root ::= "a"*',
        'root ::= ("a" | "b")* "c"',
        'root ::= ""',
        'root ::= ("ab" | "ca"){2,3}',
    ],
)
def test_a_mask_table_holds_the_mask_of_every_state(text):
    tokens = [*TOKENS[:5], b"d", b"o", b"g", b"t", b"r", b"cat", b"<end>"]
    compiled = gbnf(text, fm.Vocabulary(tokens, 11, vocab_size=50))
    table = compiled.mask_table()
    assert table.dtype == np.int32
    assert table.shape == (compiled.stats.minimal_states, 2)
    seen, queue, order = set(), [fm.GrammarMatcher(compiled)], []
    for matcher in queue:  # breadth first by ascending byte; it grows on the way
        configuration = int(matcher._words[layout.M_CONFIGURATION])
        if configuration not in seen:
            seen.add(configuration)
            order.append(matcher.next_token_bitmask())
            for byte in range(256):
                twin = matcher.fork()
                if twin.accept_bytes(bytes([byte])):
                    queue.append(twin)
    assert (table == np.array(order)).all()


def test_only_a_regular_grammar_has_a_mask_table():
    with pytest.raises(GrammarError, match="stack"):
        gbnf('root ::= "a" root "b" | "c"').mask_table()
    right_recursive = gbnf('root ::= "a" root | "b"')
    with pytest.raises(GrammarError, match="stack"):
        right_recursive.mask_table()


def test_statistics_of_the_lessons_patterns():
    vocabulary = fm.Vocabulary.gpt2()
    compiler = fm.GrammarCompiler(vocabulary)
    for pattern, states, minimal in (
        ("cat|car|dog", 8, 6),
        ("-?[0-9]+", 3, 3),
        (r'\{"age": [0-9]+\}', 11, 11),
    ):
        stats = compiler.compile_regex(pattern).stats
        assert (stats.subset_states, stats.minimal_states) == (states, minimal)
        assert stats.n_rules == 1
        assert stats.seconds > 0
    stats = compiler.compile_json().stats
    assert stats.n_rules > 1
    assert stats.table_bytes < 100_000
    assert stats.n_byte_classes > 20


# --- budgets


@pytest.mark.large
def test_a_grammar_too_large_to_compile_is_refused():
    with pytest.raises(BudgetError):
        gbnf('root ::= ("a" | "b")* "a" ("a" | "b"){40}')


@pytest.mark.large
def test_the_step_budget_is_the_compilers():
    text = 'root ::= "a" root "a" | "b" root "b" | "a" | "b" | ""'
    compiler = fm.GrammarCompiler(VOCABULARY, step_budget=50)
    matcher = fm.GrammarMatcher(compiler.compile_gbnf(text))
    with pytest.raises(BudgetError, match="50"):
        matcher.accept_tokens([0] * 100)
    assert fm.GrammarMatcher(gbnf(text)).accept_tokens([0] * 100) == 100


# --- files and pickles


def same(left: fm.CompiledGrammar, right: fm.CompiledGrammar, seed: int) -> None:
    chooser = random.Random(seed)
    pair = [fm.GrammarMatcher(left), fm.GrammarMatcher(right)]
    for _ in range(8):
        if pair[0].is_terminated():
            break
        ids = pair[0].allowed_token_ids().tolist()
        assert pair[1].allowed_token_ids().tolist() == ids
        token = chooser.choice(ids)
        assert all(matcher.accept_token(token) for matcher in pair)


@pytest.mark.parametrize("seed", range(8))
def test_saved_and_pickled_grammars_are_the_same(seed, tmp_path):
    compiled = fm.CompiledGrammar(fm.Grammar(random_grammar(seed)), VOCABULARY)
    compiled.save(tmp_path / "one")
    same(compiled, fm.CompiledGrammar.load(tmp_path / "one", VOCABULARY), seed)
    twin = pickle.loads(pickle.dumps(compiled))
    assert twin.vocabulary == VOCABULARY
    assert twin.grammar == compiled.grammar
    same(compiled, twin, seed)
    same(compiled, copy.deepcopy(compiled), seed)


def test_the_parts_pickle_alone():
    grammar = fm.Grammar.from_gbnf('root ::= "a" <[2]> | !<[1]>')
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    assert pickle.loads(pickle.dumps(VOCABULARY)) == VOCABULARY
    small = pickle.loads(pickle.dumps(fm.CompiledGrammar(grammar, VOCABULARY, step_budget=77)))
    assert small.tables.step_budget == 77


def test_a_matcher_does_not_pickle():
    with pytest.raises(TypeError):
        pickle.dumps(fm.GrammarMatcher(gbnf('root ::= "a"')))


def test_files_that_fail_a_check_are_refused(tmp_path):
    compiled = gbnf('root ::= "a" root | "b"')
    path = tmp_path / "compiled"
    compiled.save(path)
    whole = path.read_bytes()
    with pytest.raises(FileNotFoundError):
        fm.CompiledGrammar.load(tmp_path / "none", VOCABULARY)
    with pytest.raises(FormatError, match="another vocabulary"):
        fm.CompiledGrammar.load(path, fm.Vocabulary.gpt2())
    chooser = random.Random(0)
    damaged = [b"", whole[:-1], whole + b"x", whole[: len(whole) // 2]]
    for _ in range(20):
        place = chooser.randrange(len(whole))
        changed = bytearray(whole)
        changed[place] ^= 1 << chooser.randrange(8)
        damaged.append(bytes(changed))
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(FormatError):
            fm.CompiledGrammar.load(path, VOCABULARY)
    with pytest.raises(OSError, match="cannot write"):
        compiled.save(tmp_path / "no" / "folder" / "here")


def test_a_grammar_of_every_token_compiles_and_prints():
    everything = fm.CompiledGrammar(fm.Grammar({"root": ir.Tokens((), negated=True)}), VOCABULARY)
    assert row_ids(fm.GrammarMatcher(everything).next_token_bitmask()) == {0, 1, 2, 3, 4}
    assert "40 tokens" in repr(everything)
