"""Transition networks: the same texts as the grammar, without empty callees or left recursion."""

from __future__ import annotations

import itertools
import random

import pytest

from fastmask._jit import JIT_ENABLED
from fastmask.automata import FIRST_SYMBOL
from fastmask.errors import UnsatisfiableGrammarError
from fastmask.grammar import ir
from fastmask.grammar.core import Grammar
from fastmask.networks import Networks, strongly_connected
from judge import Judge, random_grammar, random_walk

SEEDS = 200 if JIT_ENABLED else 20


def networks_of(grammar: Grammar, absent: bytes = b"") -> Networks:
    return Networks(grammar, lambda tokens: [], [], absent)


def gbnf(text: str, absent: bytes = b"") -> Networks:
    return networks_of(Grammar.from_gbnf(text), absent)


class Reader:
    """Runs networks on a text: every stack of (automaton, state) that is left, one set a byte.

    Without left recursion and empty callees there are finitely many.
    """

    def __init__(self, networks: Networks) -> None:
        self.networks = networks
        self.calls = {
            id(automaton): networks.calls(automaton)
            for automaton in [*networks.automata, networks.entry]
        }

    def start(self) -> frozenset:
        return self.settled({((self.networks.entry, self.networks.entry.start),)})

    def settled(self, stacks: set) -> frozenset:
        """The stacks, and those after returns and calls."""
        todo, seen = list(stacks), set(stacks)
        while todo:
            stack = todo.pop()
            automaton, state = stack[-1]
            more = []
            if automaton.labels[state] and len(stack) > 1:
                more.append(stack[:-1])
            for source, rule, back in self.calls[id(automaton)]:
                if source == state:
                    callee = self.networks.automata[rule]
                    more.append((*stack[:-1], (automaton, back), (callee, callee.start)))
            for found in more:
                if found not in seen:
                    seen.add(found)
                    todo.append(found)
        return frozenset(seen)

    def step(self, stacks: frozenset, byte: int) -> frozenset:
        moved = set()
        for stack in stacks:
            automaton, state = stack[-1]
            target = int(automaton.table[state, automaton.classes[byte]])
            if target:
                moved.add((*stack[:-1], (automaton, target)))
        return self.settled(moved)

    def accepts(self, stacks: frozenset) -> bool:
        return any(len(stack) == 1 and stack[0][0].labels[stack[0][1]] != 0 for stack in stacks)


def check_against_judge(rules, seed: int, longest: int = 9) -> None:
    chooser = random.Random(seed)
    judge = Judge(rules)
    reader = Reader(networks_of(Grammar(rules)))
    for _ in range(3):
        text = random_walk(judge, chooser, b"abc", longest)
        state, stacks = judge.start(), reader.start()
        for byte in text:
            assert reader.accepts(stacks) == judge.accepts(state)
            for other in b"abc":
                assert bool(reader.step(stacks, other)) == (judge.step(state, other) is not None)
            state, stacks = judge.step(state, byte), reader.step(stacks, byte)
        assert reader.accepts(stacks) == judge.accepts(state)


@pytest.mark.parametrize("block", range(4))
def test_networks_read_the_texts_of_random_grammars(block):
    for seed in range(block, SEEDS, 4):
        check_against_judge(random_grammar(seed), seed, 5)


def first_calls(networks: Networks) -> list[list[int]]:
    return [
        [rule for state, rule, _ in networks.calls(automaton) if state == automaton.start]
        for automaton in networks.automata
    ]


@pytest.mark.parametrize("block", range(4))
def test_no_callee_is_empty_and_none_calls_itself_first(block):
    for seed in range(block, SEEDS, 4):
        networks = networks_of(Grammar(random_grammar(seed)))
        for automaton in networks.automata:
            assert not automaton.labels[automaton.start]
        calls = first_calls(networks)
        for component in strongly_connected(calls):
            assert len(component) == 1
            assert component[0] not in calls[component[0]]


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('root ::= root "a" | "b"', ["b", "ba", "baa"], ["", "a", "ab", "bb"]),
        ('root ::= root root | "a"', ["a", "aa", "aaaa"], [""]),
        ('root ::= root "a" | ""', ["", "a", "aaa"], ["b"]),
        ('root ::= x "a" | "b"\nx ::= root "c" | "d"', ["b", "da", "bca", "daca"], ["ba", "dca"]),
        ('root ::= e root "a" | "b"\ne ::= "" | "c"', ["b", "ba", "cba", "cbaa"], ["a", "cb"]),
        ('root ::= x\nx ::= y | "a"\ny ::= x | "b"', ["a", "b"], ["", "ab"]),
        ('root ::= x x\nx ::= x x | ""', [""], ["a"]),
        ('root ::= "a" root? "b"', ["ab", "aabb"], ["aab", ""]),
    ],
)
def test_left_recursion_becomes_a_loop(text, accepted, refused):
    reader = Reader(gbnf(text))
    for sample in accepted + refused:
        stacks = reader.start()
        for byte in sample.encode():
            stacks = reader.step(stacks, byte)
        assert reader.accepts(stacks) == (sample in accepted), sample


def test_only_rules_without_recursion_become_part_of_their_callers():
    networks = gbnf('root ::= "(" body ")"\nbody ::= item ("," item)*\nitem ::= [0-9]+')
    assert networks.names == ["root"]
    assert networks.calls(networks.automata[0]) == []
    nested = gbnf('root ::= "(" body ")"\nbody ::= item ("," item)*\nitem ::= [0-9]+ | root')
    assert nested.names == ["root", "body", "item"]
    assert {rule for _, rule, _ in nested.calls(nested.automata[0])} == {1}


def test_a_regular_grammar_is_one_minimal_automaton():
    networks = gbnf('root ::= "cat" | "car" | "dog"')
    assert (networks.subset_states, networks.minimal_states) == (8, 6)
    assert networks.entry == networks.automata[0]


def test_the_root_may_be_empty_though_no_callee_is():
    networks = gbnf('root ::= "a" root "b" | ""')
    assert networks.entry.labels[networks.entry.start]
    assert not networks.automata[0].labels[networks.automata[0].start]


def test_a_large_rule_in_many_places_is_called_not_copied():
    wide = '[^\\x00-\\x1f"]'
    text = "root ::= " + " ".join(["name"] * 6) + f'\nname ::= "\'" {wide}{{1,40}} "\'"'
    networks = gbnf(text)
    assert networks.names == ["root", "name"]
    assert len(networks.calls(networks.automata[0])) == 6


def test_a_text_that_needs_an_absent_byte_is_left_out():
    networks = gbnf('root ::= "a" | "b"', absent=b"b")
    assert Reader(networks).step(Reader(networks).start(), ord("b")) == frozenset()
    with pytest.raises(UnsatisfiableGrammarError, match="0x62"):
        gbnf('root ::= "b"+', absent=b"b")


def test_classes_of_atomic_tokens_are_symbols_behind_the_rules():
    grammar = Grammar(
        {"root": ir.sequence([ir.Tokens((7,)), ir.alternatives([ir.Reference("root"), ir.EMPTY])])}
    )
    networks = Networks(grammar, lambda tokens: [0, 2], [])
    automaton = networks.automata[networks.root]
    row = automaton.table[automaton.start]
    first = automaton.n_classes + len(networks.names)
    assert [bool(target) for target in row[first:]] == [True, False, True]
    assert FIRST_SYMBOL == 256


# --- components


def reachable(targets: list[list[int]], start: int) -> set[int]:
    seen, todo = {start}, [start]
    while todo:
        for target in targets[todo.pop()]:
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


@pytest.mark.parametrize("seed", range(30))
def test_components_are_those_of_mutual_reach_in_the_order_of_calls(seed):
    chooser = random.Random(seed)
    n = chooser.randint(1, 12)
    targets = [[chooser.randrange(n) for _ in range(chooser.randint(0, 3))] for _ in range(n)]
    reach = [reachable(targets, node) for node in range(n)]
    components = strongly_connected(targets)
    assert sorted(itertools.chain(*components)) == list(range(n))
    place = {node: i for i, component in enumerate(components) for node in component}
    for a, b in itertools.product(range(n), repeat=2):
        assert (place[a] == place[b]) == (b in reach[a] and a in reach[b])
        if b in targets[a]:
            assert place[b] <= place[a]


def test_components_of_a_long_chain_take_no_recursion():
    n = 20_000
    assert len(strongly_connected([[i + 1] for i in range(n - 1)] + [[]])) == n
    assert len(strongly_connected([[(i + 1) % n] for i in range(n)])) == 1
