"""The token trie against a trie of Python dictionaries."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask._jit import JIT_ENABLED
from fastmask.vocabulary import TokenTrie, build_trie
from fastmask.vocabulary.tokens import pack_tokens

END = -1  # key of the list of ids in a dictionary node; bytes are 0 to 255


def plain_trie(tokens: list[bytes], ids: list[int]) -> dict:
    root: dict = {END: []}
    for token_id in ids:
        node = root
        for byte in tokens[token_id]:
            node = node.setdefault(byte, {END: []})
        node[END].append(token_id)
    return root


def preorder(root: dict) -> list[tuple[int, int, list[int], int]]:
    """(byte, depth, ids that end here, first node after the subtree) of every node but the root."""
    nodes: list = []
    stack: list = [("enter", byte, 0, root[byte]) for byte in sorted(root.keys() - {END})[::-1]]
    while stack:
        what, byte, depth, node = stack.pop()
        if what == "leave":
            nodes[byte][3] = len(nodes)
            continue
        stack.append(("leave", len(nodes), depth, node))
        nodes.append([byte, depth, node[END], 0])
        children = sorted(node.keys() - {END})[::-1]
        stack += [("enter", child, depth + 1, node[child]) for child in children]
    return [tuple(node) for node in nodes]


def built(tokens: list[bytes], ids: list[int] | None = None) -> TokenTrie:
    return build_trie(*pack_tokens(tokens), range(len(tokens)) if ids is None else ids)


def check(tokens: list[bytes], ids: list[int] | None = None) -> None:
    ids = list(range(len(tokens))) if ids is None else ids
    trie = built(tokens, ids)
    expected = preorder(plain_trie(tokens, ids))
    assert trie.n_nodes == len(expected)
    first = trie.first.tolist()
    for node, (byte, depth, ending, after) in enumerate(expected):
        assert (trie.byte[node], trie.depth[node], trie.skip[node]) == (byte, depth, after)
        assert trie.order[first[node] : first[node + 1]].tolist() == ending
        assert trie.token[node] == (-1 if not ending else ending[0] if len(ending) == 1 else -2)
    starts = [sum(node[1] == 0 and node[0] < byte for node in expected) for byte in range(257)]
    roots = [node for node, row in enumerate(expected) if row[1] == 0] + [len(expected)]
    assert trie.roots.tolist() == [roots[start] for start in starts]
    assert trie.longest == max((len(tokens[i]) for i in ids), default=0)
    assert first[-1] == trie.order.size == len(ids)
    by_bytes = sorted(ids, key=lambda token_id: tokens[token_id])
    assert trie.order.tolist() == by_bytes
    assert trie.fits(np.array(sorted(ids)), len(tokens)) or b"" in tokens


few_bytes = st.lists(st.integers(0, 2), max_size=20).map(bytes)
any_bytes = st.binary(max_size=12)
long_bytes = st.tuples(st.sampled_from([b"", b"\0", b"abcdefg", b"a" * 300]), any_bytes).map(
    lambda pair: pair[0] + pair[1]
)
token_lists = st.one_of(
    st.lists(few_bytes, max_size=60), st.lists(any_bytes, max_size=60), st.lists(long_bytes)
)


@given(token_lists)
def test_equals_a_dictionary_trie(tokens):
    check(tokens)


@given(
    token_lists.flatmap(
        lambda ts: st.tuples(st.just(ts), st.sets(st.sampled_from(range(len(ts) or 1))))
    )
)
def test_any_subset_of_ids(case):
    tokens, ids = case
    check(tokens, sorted(ids) if tokens else [])


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        [b""],
        [b"", b"", b"a"],
        [b"a", b"a", b"a"],
        [b"abcdefg", b"abcdefgh", b"abcdefg\0", b"abcdefg", b"abcdef"],
        [b"\0", b"\0\0", b"", b"\0" * 7, b"\0" * 8, b"\0" * 14, b"\0" * 15, b"\0" * 8],
        [b"\xff" * 7, b"\xff" * 8, b"\xff", b"\x7f" * 7],
        [bytes([byte]) for byte in range(255, -1, -1)],
        [b"ab" * 3000, b"ab" * 2999, b"ab" * 3000, b"ab" * 3000 + b"c"],
    ],
)
def test_edges(tokens):
    check(tokens)


def test_long_ranges_are_sorted_by_digits():
    source = random.Random(1)
    letters = [bytes([byte]) for byte in (0, 1, 97, 98, 255)]
    tokens = [b"".join(source.choices(letters, k=source.randrange(14))) for _ in range(1200)]
    check(tokens)
    check([b"shared prefix " + token for token in tokens])


@pytest.mark.skipif(not JIT_ENABLED, reason="too many bytes for kernels that are not compiled")
def test_hostile_shapes_take_linear_time():
    """A quadratic sort would take minutes on these."""
    check([b"x" * 2000 + bytes(divmod(i, 256)) for i in range(3000)])
    check([b"x" * length for length in range(1500)])
    check([b"same token"] * 20_000)


def test_an_order_of_equal_tokens_is_kept():
    assert built([b"a", b"b", b"a"], [2, 0, 1]).order.tolist() == [2, 0, 1]


def test_given_ids_are_not_changed():
    ids = np.array([1, 0], np.int32)
    build_trie(*pack_tokens([b"a", b"b"]), ids)
    assert ids.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("skip", 0, 0),
        ("skip", 1, 99),
        ("order", 0, 2),
        ("first", 3, 5),
        ("roots", 97, 9),
        ("depth", 0, -1),
    ],
)
def test_arrays_that_lead_out_of_bounds_do_not_fit(name, place, value):
    trie = built([b"ab", b"a", b"b"])
    assert trie.fits(np.arange(3), 3)
    getattr(trie, name)[place] = value
    assert not trie.fits(np.arange(3), 3)


def test_arrays_of_another_type_do_not_fit():
    trie = built([b"ab", b"a", b"b"])
    arrays = trie.arrays()
    assert not TokenTrie(**arrays | {"skip": arrays["skip"].astype(np.int64)}).fits(np.arange(3), 3)
    assert not trie.fits(np.arange(2), 3)
