"""Tables of actions, run by a slow interpreter with whole stacks, against the judge."""

from __future__ import annotations

import random

import numpy as np
import pytest

import fastmask as fm
from fastmask._jit import JIT_ENABLED
from fastmask.grammar import ir
from fastmask.grammar.core import Grammar
from fastmask.kernels import layout
from fastmask.tables import Tables
from judge import Judge, random_grammar, random_walk

SEEDS = 200 if JIT_ENABLED else 20
LETTERS = fm.Vocabulary([b"a", b"b", b"c", b"<end>"], 3)


def tables_of(grammar: Grammar | str, vocabulary: fm.Vocabulary = LETTERS) -> Tables:
    if isinstance(grammar, str):
        grammar = Grammar.from_gbnf(grammar)
    return Tables(grammar, vocabulary)


class Runner:
    """Sets of (state, stack of states) under the actions of the tables."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.actions = tables.record.bound(layout.T_ACTIONS).reshape(-1)
        self.programs = tables.record.bound(layout.T_PROGRAMS).reshape(-1, 4).tolist()
        self.alts = tables.record.bound(layout.T_ALTS).tolist()

    def start(self) -> set:
        return {(self.tables.start_state, (self.tables.final_state,))}

    def step(self, threads: set, column: int) -> set:
        moved = set()
        todo = [(int(self.actions[state + column]), stack) for state, stack in threads]
        seen = set(todo)
        while todo:
            action, stack = todo.pop()
            more = []
            if action > 0:
                moved.add((action, stack))
            elif action == layout.RETURN:
                if stack:
                    more = [(int(self.actions[stack[-1] + column]), stack[:-1])]
            elif action != layout.DEAD:
                kind, a, b, _ = self.programs[layout.PROGRAM - action]
                if kind == layout.CHOICE:
                    more = [(code, stack) for code in self.alts[a : a + b]]
                else:
                    assert kind == layout.PUSH
                    below = (*stack, b) if b else stack
                    more = [(int(self.actions[a + column]), below)]
            for item in more:
                if item not in seen:
                    seen.add(item)
                    todo.append(item)
        return moved

    def read(self, threads: set, byte: int) -> set:
        return self.step(threads, int(self.tables.byte_classes[byte]))

    def ends(self, threads: set) -> bool:
        return bool(self.step(threads, self.tables.end_column))


@pytest.mark.parametrize("block", range(4))
def test_tables_read_the_texts_of_random_grammars(block):
    for seed in range(block, SEEDS, 4):
        rules = random_grammar(seed)
        judge, runner = Judge(rules), Runner(tables_of(Grammar(rules)))
        text = random_walk(judge, random.Random(seed), b"abc", 7)
        state, threads = judge.start(), runner.start()
        for byte in text:
            assert runner.ends(threads) == judge.accepts(state)
            for other in b"abcd":
                assert bool(runner.read(threads, other)) == (judge.step(state, other) is not None)
            state, threads = judge.step(state, byte), runner.read(threads, byte)
        assert runner.ends(threads) == judge.accepts(state)


# --- layout


def test_bytes_that_fare_alike_share_a_column():
    tables = tables_of("root ::= [a-m] | [n-z] [0-9]", fm.Vocabulary.gpt2())
    classes = tables.byte_classes
    assert len(set(classes[list(b"abcm")].tolist())) == 1
    assert len(set(classes[list(b"amz05!\xff")].tolist())) == 4
    assert tables.first_token_column == 4
    assert tables.end_column == 4


def test_states_are_premultiplied_by_a_power_of_two():
    tables = tables_of('root ::= "a" "b" | "c"')
    stride = 1 << tables.shift
    assert tables.n_columns <= stride < 2 * tables.n_columns
    assert tables.start_state % stride == 0
    positive = tables.actions[tables.actions > 0]
    assert (positive % stride == 0).all()
    assert positive.max() < tables.n_states * stride


def program_kinds(tables: Tables) -> list[int]:
    codes = {int(action) for action in np.unique(tables.actions) if action <= layout.PROGRAM}
    programs = tables.record.bound(layout.T_PROGRAMS).reshape(-1, 4)
    return [int(programs[layout.PROGRAM - code, 0]) for code in sorted(codes)]


def test_json_never_has_a_choice():
    kinds = program_kinds(tables_of(Grammar.json(), fm.Vocabulary.gpt2()))
    assert set(kinds) == {layout.PUSH}


def test_a_call_with_nothing_left_to_do_pushes_nothing():
    tables = tables_of('root ::= "a" root | "b"')
    programs = tables.record.bound(layout.T_PROGRAMS).reshape(-1, 4)
    assert [row[2] for row in programs.tolist() if row[0] == layout.PUSH] == [0]
    runner = Runner(tables)
    threads = runner.start()
    for byte in b"aaaa":
        threads = runner.read(threads, byte)
        assert all(len(stack) == 1 for _, stack in threads)


def test_a_rule_returns_only_on_what_may_follow_it():
    """``x`` may go on with ``a``, or return on ``b``; nothing is chosen by trying both."""
    tables = tables_of('root ::= "c" x "b" root | "a"\nx ::= "a" x "c" | "a"')
    assert layout.CHOICE not in program_kinds(tables)
    undecided = tables_of('root ::= "c" x "a" | "b"\nx ::= "a" x "c"? | "a"')
    assert layout.CHOICE in program_kinds(undecided)


def test_atomic_tokens_have_columns_of_their_own_and_overlaps_are_cut_apart():
    vocabulary = fm.Vocabulary([b"a", b"<s>", b"<t>", b"<u>", b"<end>"], 4, [1, 2, 3])
    either, other = ir.Tokens((1, 2)), ir.Tokens(("<t>", 3))
    tables = tables_of(Grammar({"root": ir.sequence([either, other])}), vocabulary)
    columns = [int(tables.token_kind[i]) for i in range(5)]
    assert columns[0] == layout.TEXT
    assert columns[4] == layout.STOP
    assert len(set(columns[1:4])) == 3
    assert tables.end_column - tables.first_token_column == 3
    runner = Runner(tables)
    for first in (1, 2, 3):
        threads = runner.step(runner.start(), columns[first])
        assert bool(threads) == (first in (1, 2))
        for second in (1, 2, 3):
            after = runner.step(threads, columns[second])
            assert runner.ends(after) == (first in (1, 2) and second in (2, 3))


def test_states_know_their_rule():
    tables = tables_of('root ::= "a" item "c"\nitem ::= "b" item "b" | "a"')
    assert tables.rule_of(tables.start_state) == "root"
    assert tables.rule_of(tables.final_state) == ""
    runner = Runner(tables)
    threads = runner.read(runner.read(runner.start(), ord("a")), ord("b"))
    assert {tables.rule_of(state) for state, _ in threads} == {"item"}


def test_only_a_regular_grammar_lists_its_states():
    regular = tables_of('root ::= "cat" | "car" | "dog"', fm.Vocabulary.gpt2())
    states = regular.regular_states()
    assert states is not None
    assert states[0] == regular.start_state
    assert len(states) == regular.networks.minimal_states == 6
    assert tables_of('root ::= "a" root "b" | "c"').regular_states() is None


@pytest.mark.large
def test_tables_past_their_limit_are_refused_with_the_way_out():
    text = 'root ::= ("a" | "b" | "c")* "a" ("a" | "b" | "c"){30}'
    with pytest.raises(fm.BudgetError):
        tables_of(text)


def test_memory_is_that_of_the_grammar_alone():
    small, large = tables_of('root ::= "a"'), tables_of('root ::= "a"', fm.Vocabulary.gpt2())
    assert small.memory_size_bytes == large.memory_size_bytes


def test_a_state_that_was_given_up_is_not_tried_again():
    compiled = fm.GrammarCompiler(fm.toy.VOCABULARY).compile_json_schema({"type": "object"})
    tables = compiled.tables
    state = tables.new_states(1)
    tried = []

    def give_up(state: int) -> None:
        tried.append(state)
        raise fm.BudgetError("steps", 8, "use fewer", "#/items")

    tables.defer(state, give_up)
    for _ in range(3):
        with pytest.raises(fm.BudgetError, match="8 steps at #/items: use fewer"):
            tables.make_state(state)
    assert tried == [state]
