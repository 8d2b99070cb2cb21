"""Text that must come next, as bytes and as tokens; trees of drafted tokens; open rules."""

from __future__ import annotations

import random

import numpy as np
import pytest

import fastmask as fm
from fastmask._jit import JIT_ENABLED
from fastmask.errors import BitmaskError
from judge import Judge, random_grammar
from walking import random_language, row_ids

TOKENS = [b"a", b"b", b"c", b"ab", b"abc", b"bc", b"ca", b"<end>"]
END = 7


def matcher_of(text: str, tokens: list[bytes] = TOKENS) -> fm.GrammarMatcher:
    vocabulary = fm.Vocabulary(tokens, len(tokens) - 1)
    return fm.GrammarMatcher(fm.GrammarCompiler(vocabulary).compile_gbnf(text))


# --- bytes


def judged_bytes(judge: Judge, state, longest: int) -> bytes:
    """Bytes that must come next, up to a length."""
    forced = b""
    while len(forced) < longest and not judge.accepts(state):
        live = [byte for byte in b"abc" if judge.step(state, byte) is not None]
        if len(live) != 1:
            break
        forced += bytes(live)
        state = judge.step(state, live[0])
    return forced


@pytest.mark.parametrize("seed", range(60 if JIT_ENABLED else 10))
def test_forced_bytes_are_those_without_any_choice(seed):
    chooser = random.Random(seed)
    language = random_language(random_grammar(seed), seed)
    walk = language.walk()
    for _ in range(6):
        forced = walk.matcher.find_jump_forward_bytes()
        assert forced == judged_bytes(language.judge, walk.state, len(forced) + 1)
        tokens = walk.matcher.find_jump_forward_tokens()
        assert forced.startswith(b"".join(language.tokens[i] for i in tokens))
        twin = walk.matcher.fork()
        assert twin.accept_tokens(tokens) == len(tokens)
        walk.check()
        choices = walk.texts()
        if not choices:
            break
        walk.accept(chooser.choice(choices))


@pytest.mark.parametrize(
    ("text", "forced"),
    [
        ('root ::= "abcabc"', b"abcabc"),
        ('root ::= "abc" ("a" | "b")', b"abc"),
        ('root ::= "ab" | "abc"', b"ab"),
        ('root ::= "a"*', b""),
        ('root ::= "é" | "è"', b"\xc3"),
        ('root ::= "a" root "b" | "a" "c"', b"a"),
        ('root ::= "東京" [0-9]', "東京".encode()),
    ],
)
def test_forced_bytes_by_hand(text, forced):
    tokens = [bytes([b]) for b in sorted({*b"abc0123456789", *"éè東京".encode()})] + [b"<end>"]
    assert matcher_of(text, tokens).find_jump_forward_bytes() == forced


def test_text_that_can_only_repeat_is_not_followed_for_ever():
    """``a`` is forced until the text may end, which it may after each ``a``."""
    matcher = matcher_of('root ::= "a" root | "a"')
    assert matcher.find_jump_forward_bytes() == b"a"
    long = matcher_of('root ::= "a"{5000} "b"')
    assert long.find_jump_forward_bytes() == b"a" * 5000 + b"b"


# --- tokens


def test_forced_tokens_end_where_a_longer_token_is_allowed_too():
    """``abcab`` then anything: ``ab`` might as well be ``abc``. Where the text ends it may not."""
    assert matcher_of('root ::= "abcab" [abc]').find_jump_forward_tokens() == [4]
    assert matcher_of('root ::= "abcaa" [abc]').find_jump_forward_tokens() == [4, 0]
    assert matcher_of('root ::= "abcab"').find_jump_forward_tokens() == [4, 3]
    assert matcher_of('root ::= "abcab" "b"?').find_jump_forward_tokens() == [4, 3]
    assert matcher_of('root ::= "abcab" "c"?').find_jump_forward_tokens() == [4]
    assert matcher_of('root ::= "a" | "b"').find_jump_forward_tokens() == []


def test_forced_tokens_by_the_models_own_tokenizer():
    matcher = matcher_of('root ::= "abcabc"')
    seen = []

    def letters(text):
        seen.append(text)
        return [TOKENS.index(letter.encode()) for letter in text]

    assert matcher.find_jump_forward_tokens(letters) == [0, 1, 2, 0, 1, 2]
    assert seen == ["abcabc"]
    assert matcher.find_jump_forward_tokens(lambda text: np.array([3, 2, 4])) == [3, 2, 4]


@pytest.mark.parametrize(
    ("proposed", "kept"),
    [([4, END, 4], [4]), ([4, 99], [4]), ([0, 2], [0]), ([-1], []), ([], []), ([4, 4, 4], [4, 4])],
)
def test_what_a_tokenizer_proposes_is_checked(proposed, kept):
    matcher = matcher_of('root ::= "abcabc"')
    assert matcher.find_jump_forward_tokens(lambda text: proposed) == kept


def test_forced_tokens_inside_a_character():
    tokens = ["東".encode()[:1], "東".encode()[1:], "東京".encode(), b"a", b"<end>"]
    matcher = matcher_of('root ::= "東a"', tokens)
    assert matcher.accept_token(0)
    assert matcher.find_jump_forward_bytes() == "東a".encode()[1:]
    assert matcher.find_jump_forward_tokens() == [1, 3]
    assert matcher.find_jump_forward_tokens(lambda text: [3]) == []


# --- draft trees


def tree_of(paths: list[list[int]]) -> tuple[list[int], list[int], list[int], list[list[int]]]:
    """Paths of tokens as (first child, next sibling, token) and the path to each node."""
    nodes = [[]]
    for path in paths:
        for end in range(1, len(path) + 1):
            if path[:end] not in nodes:
                nodes.append(path[:end])
    child, sibling = [-1] * len(nodes), [-1] * len(nodes)
    for number, node in reversed(list(enumerate(nodes))):
        if node:
            parent = nodes.index(node[:-1])
            sibling[number], child[parent] = child[parent], number
    return child, sibling, [node[-1] if node else 0 for node in nodes], nodes


@pytest.mark.parametrize("seed", range(10))
def test_each_node_of_a_draft_tree_gets_its_mask(seed):
    chooser = random.Random(seed)
    matcher = matcher_of('root ::= "a" root "b" | "c" root? | root "c"')
    assert matcher.accept_token(0)
    paths = [[chooser.randrange(8) for _ in range(chooser.randint(1, 5))] for _ in range(8)]
    child, sibling, tokens, nodes = tree_of(paths)
    bitmask = np.full((len(nodes), 1), 0x5555, np.int32)
    assert matcher.traverse_draft_tree(child, sibling, tokens, bitmask)
    for node, row in zip(nodes, bitmask, strict=True):
        twin = matcher.fork()
        if twin.accept_tokens(node) == len(node):
            assert row_ids(row) == set(twin.allowed_token_ids().tolist())
        else:
            assert row.tolist() == [0x5555]
    matcher.rollback(1)
    assert matcher.allowed_token_ids().tolist() == [0, 2, 6]


def test_a_draft_tree_out_of_time_says_so_and_leaves_the_matcher():
    matcher = matcher_of("root ::= [abc]*")
    child, sibling, tokens, nodes = tree_of([[0] * 300])
    bitmask = np.zeros((len(nodes), 1), np.int32)
    assert not matcher.traverse_draft_tree(child, sibling, tokens, bitmask, 1e-9)
    assert matcher.traverse_draft_tree(child, sibling, tokens, bitmask, 600.0)
    assert (bitmask == bitmask[0]).all()
    assert matcher.traverse_draft_tree([], [], [], bitmask)
    assert matcher.accept_token(0)
    matcher.rollback(1)
    with pytest.raises(fm.MatcherError):
        matcher.rollback(1)
    with pytest.raises(BitmaskError):
        matcher.traverse_draft_tree(child, sibling, tokens, bitmask.astype(np.int64))


# --- open rules


def test_open_rules_are_named_from_the_outside_in():
    matcher = matcher_of(
        'root ::= "a" item "a"\nitem ::= "b" item "b" | "c" tail\ntail ::= "c" root | "a"'
    )
    seen = [matcher.open_rules()]
    for letter in b"abbcc":
        assert matcher.accept_bytes(bytes([letter]))
        seen.append(matcher.open_rules())
    assert seen[0] == ["root"]
    assert seen[2] == ["root", "item"]
    assert seen[3] == ["root", "item", "item"]
    assert seen[5][:2] == ["root", "item"]
    matcher.rollback(4)
    assert matcher.open_rules() == seen[1]


def test_open_containers_of_json():
    vocabulary = fm.Vocabulary([bytes([i]) for i in range(256)] + [b"<end>"], 256)
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(vocabulary).compile_json())
    assert matcher.accept_bytes(b'{"a": [1, {"b": ')
    containers = [rule for rule in matcher.open_rules() if rule in ("object", "array")]
    assert containers == ["object", "array", "object"]


@pytest.mark.parametrize(
    ("child", "sibling", "tokens", "what"),
    [
        ([1, -1], [-1], [0, 0], "2 drafted tokens with 2 children and 1 siblings"),
        ([2, -1], [-1, -1], [0, 0], "2 comes where"),
        ([1, 0], [-1, -1], [0, 0], "0 comes where"),
        ([1, 1], [-1, -1], [0, 0], "1 comes where"),
        ([1, -1], [-1, 1], [0, 0], "1 comes where"),
        ([2**70, -1], [-1, -1], [0, 0], "comes where"),
    ],
)
def test_what_is_no_draft_tree_is_refused_and_leaves_the_matcher(child, sibling, tokens, what):
    matcher = matcher_of("root ::= [abc]*")
    with pytest.raises(fm.MatcherError, match=what):
        matcher.traverse_draft_tree(child, sibling, tokens, np.zeros((2, 1), np.int32))
    with pytest.raises(fm.MatcherError, match="of 0 steps"):
        matcher.rollback(1)


def test_a_bitmask_too_small_for_a_draft_tree_leaves_the_matcher():
    matcher = matcher_of("root ::= [abc]*")
    with pytest.raises(BitmaskError, match="row 2"):
        matcher.traverse_draft_tree([1, 2, -1], [-1] * 3, [0] * 3, np.zeros((2, 1), np.int32))
    with pytest.raises(fm.MatcherError, match="of 0 steps"):
        matcher.rollback(1)
