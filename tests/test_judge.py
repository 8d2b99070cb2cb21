"""The judge is judged: by listing the short texts of small grammars outright."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask.grammar import ir
from judge import (
    Judge,
    Rules,
    grammars,
    mask,
    random_grammar,
    random_vocabulary,
    random_walk,
    utf8_ranges,
    vocabularies,
)

LONGEST = 5


def texts_up_to(rules: Rules, longest: int) -> set[bytes]:
    """All texts of ``root`` of at most ``longest`` bytes: the rules iterated to a fixed point."""
    known: dict[str, set[bytes]] = {name: set() for name in rules}

    def joined(left: set[bytes], right: set[bytes]) -> set[bytes]:
        return {a + b for a in left for b in right if len(a) + len(b) <= longest}

    def texts(node: ir.Expression) -> set[bytes]:
        if isinstance(node, ir.Reference):
            return known[node.name]
        if isinstance(node, ir.Literal):
            return {node.data} if len(node.data) <= longest else set()
        if isinstance(node, ir.CharSet):
            return {chr(c).encode() for low, high in node.ranges for c in range(low, high + 1)}
        if isinstance(node, ir.Alternatives):
            return set().union(*(texts(option) for option in node.options))
        if isinstance(node, ir.Sequence):
            result = {b""}
            for item in node.items:
                result = joined(result, texts(item))
            return result
        assert isinstance(node, ir.Repeat)
        item, power, result = texts(node.item), {b""}, set()
        most = node.minimum + longest if node.maximum is None else node.maximum
        for number in range(most + 1):
            if number >= node.minimum:
                result |= power
            power = joined(power, item)
        return result

    while True:
        sizes = {name: len(found) for name, found in known.items()}
        for name in rules:
            known[name] = known[name] | texts(rules[name])
        if sizes == {name: len(found) for name, found in known.items()}:
            return known["root"]


def check_against_listing(rules: Rules) -> None:
    judge = Judge(rules)
    listed = texts_up_to(rules, LONGEST)
    prefixes = {text[:end] for text in listed for end in range(len(text) + 1)}
    for size in range(LONGEST + 1):
        for letters in itertools.product(b"ab", repeat=size):
            text = bytes(letters)
            state = judge.read(text)
            assert judge.accepts(state) == (text in listed)
            if text in prefixes:
                assert state is not None


@given(grammars(alphabet="ab"))
def test_acceptance_equals_the_listed_texts(rules):
    check_against_listing(rules)


@pytest.mark.parametrize("seed", range(60))
def test_acceptance_equals_the_listed_texts_on_seeded_grammars(seed):
    check_against_listing(random_grammar(seed, "ab"))


def can_finish(judge: Judge, data: bytes, alphabet: bytes, steps: int = 14) -> bool:
    """Whether some text of at most ``steps`` more bytes goes on from ``data`` (breadth first)."""
    layer = {frozenset(judge.read(data).charts[0][-1].items): judge.read(data)}
    for _ in range(steps):
        if any(judge.accepts(state) for state in layer.values()):
            return True
        following = {}
        for state in layer.values():
            for byte in alphabet:
                after = judge.step(state, byte)
                if after is not None:
                    key = frozenset((i.production, i.dot) for i in after.charts[0][-1].items)
                    following.setdefault(key, after)
        layer = following
    return any(judge.accepts(state) for state in layer.values())


@pytest.mark.parametrize("seed", range(40))
def test_every_prefix_let_through_can_be_finished(seed):
    chooser = random.Random(seed)
    judge = Judge(random_grammar(seed, "ab"))
    for _ in range(5):
        assert can_finish(judge, random_walk(judge, chooser, b"ab", 6), b"ab")


@given(grammars(), vocabularies(), st.randoms(use_true_random=False))
def test_a_mask_holds_the_tokens_whose_bytes_can_follow(rules, vocabulary, chooser):
    judge = Judge(rules)
    prefix = random_walk(judge, chooser, b"abc", 5)
    allowed = mask(rules, prefix, vocabulary, end_ids=[99])
    for token_id, token in enumerate(vocabulary):
        assert (token_id in allowed) == (judge.read(prefix + token) is not None)
    assert (99 in allowed) == judge.matches(prefix)


@given(st.integers(0, 0x10FFFF), st.integers(0, 80_000))
def test_utf8_ranges_hold_exactly_the_characters(low, length):
    for first, last in ir.character_ranges([(low, min(low + length, 0x10FFFF))]):
        parts = utf8_ranges(first, last)
        sizes = 0
        for part in parts:
            size = 1
            for a, b in part:
                size *= b - a + 1
            sizes += size
        assert sizes == last - first + 1
        for code_point in (first, (first + last) // 2, last):
            encoded = chr(code_point).encode()
            assert any(
                len(part) == len(encoded)
                and all(a <= byte <= b for byte, (a, b) in zip(encoded, part, strict=True))
                for part in parts
            )


def test_intersection_and_complement_over_texts():
    any_text = ir.Repeat(ir.ANY_CHARACTER, 0, None)
    has_double = ir.Sequence((any_text, ir.Literal(b"bb"), any_text))
    letters = ir.Repeat(ir.characters([(0x61, 0x63)]), 0, None)
    judge = Judge({"root": ir.Intersection((letters, ir.Complement(has_double)))})
    assert judge.matches("")
    assert judge.matches("abab")
    assert judge.matches("bcb")
    assert not judge.matches("abba")
    assert not judge.matches("d")
    outside = Judge({"root": ir.Complement(letters)})
    assert outside.matches("d")
    assert outside.matches("é")
    assert not outside.matches("abc")
    assert outside.read(b"\xc3\xa9") is not None
    assert outside.read(b"\xa9") is None


def test_atomic_tokens_stand_for_themselves():
    vocabulary = [b"a", b"<think>", b"b", b"<end>"]
    think = ir.Tokens(("<think>",))
    rules = {"root": ir.sequence([think, ir.Repeat(ir.Tokens(("<end>",), negated=True), 0, None)])}
    specials = [1, 3]
    assert mask(rules, [], vocabulary, special_ids=specials) == {1}
    assert mask(rules, [1], vocabulary, special_ids=specials) == {0, 1, 2}
    assert mask(rules, [1, 0], vocabulary, special_ids=[1], end_ids=[3]) == {0, 1, 2, 3}
    assert mask(rules, [0], vocabulary, special_ids=specials) == set()
    assert mask({"root": ir.Tokens((2,))}, [], vocabulary) == {2}
    assert Judge({"root": ir.literal("b")}).read(b"b") is not None


def test_a_token_may_be_read_as_text_and_as_itself():
    vocabulary = [b"a", b"b", b"c"]
    either = ir.alternatives([ir.literal("ab"), ir.sequence([ir.Tokens((0,)), ir.literal("c")])])
    assert mask({"root": either}, [0], vocabulary) == {1, 2}


def test_random_vocabularies_hold_every_letter():
    assert {b"a", b"b"} <= set(random_vocabulary(random.Random(1), "ab", 9))


def test_bytes_that_no_token_has_do_not_exist():
    rules = {"root": ir.alternatives([ir.literal("ab"), ir.literal("c")])}
    judge = Judge(rules, alphabet=b"ac")
    assert judge.read(b"a") is None
    assert judge.matches(b"c")
    assert Judge({"root": ir.literal("b")}, alphabet=b"ac").start() is None
