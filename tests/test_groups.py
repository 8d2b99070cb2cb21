"""Groups of bytes: what subtrees hold, what states read for ever, and masks made of both."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastmask as fm
from fastmask.kernels import layout
from fastmask.kernels.groups import BROKEN, DEEPEST, FOR_EVER, MIDDLE, TOO_DEEP
from fastmask.vocabulary import build_trie
from fastmask.vocabulary.groups import GROUPS, PLAIN, grouped_trie
from fastmask.vocabulary.tokens import pack_tokens

SNIPPETS = (
    *'aqZ7 ."\\\n\x00',
    "é",
    "中",
    "😀",
    b"\xe4",
    b"\xff",
    b"\x80",
    b"\xe4\xb8",
    b"\xed\xa0",
)
BYTES = [text if isinstance(text, bytes) else text.encode() for text in SNIPPETS]
TOKENS = st.lists(st.lists(st.sampled_from(BYTES), min_size=1, max_size=20).map(b"".join))


def is_beginning(data: bytes) -> bool:
    """Whether some UTF-8 text begins so."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.end == len(data)
    return True


def is_plain(data: bytes) -> bool:
    return is_beginning(data) and all(
        byte >= 0x80 or PLAIN >> int(GROUPS[byte]) & 1 for byte in data
    )


def test_every_first_byte_is_in_one_group():
    assert set(GROUPS.tolist()) == set(range(layout.NO_GROUP + 1))
    outside = np.flatnonzero(GROUPS == layout.NO_GROUP).tolist()
    assert outside == [*range(0x80, 0xC2), *range(0xF5, 0x100)]
    assert not any(PLAIN >> int(GROUPS[byte]) & 1 for byte in b'"\\\n\t\r\0')


@given(TOKENS)
def test_groups_below_each_node(tokens):
    trie = build_trie(*pack_tokens(tokens), range(len(tokens)))
    grouped = grouped_trie(trie, -(-len(tokens) // 32))
    path: list[int] = []
    paths = []
    for byte, depth in zip(trie.byte.tolist(), trie.depth.tolist(), strict=True):
        path[depth:] = [byte]
        paths.append(bytes(path))
    for node, text in enumerate(paths):
        inside = range(node + 1, int(trie.skip[node]))
        found = int(grouped.below[node])
        assert bool(found & BROKEN) == (not is_beginning(text))
        ends = is_beginning(text) and text.decode(errors="ignore").encode() == text
        assert bool(found & MIDDLE) == (not ends)
        assert bool(found & TOO_DEEP) == any(len(paths[v]) - len(text) > DEEPEST for v in inside)
        expected = set()
        for v in inside:
            byte = paths[v][-1]
            group = layout.HIGH if byte >= 0x80 else int(GROUPS[byte])
            expected.add(group if is_beginning(paths[v]) else layout.NO_GROUP)
        assert found & (BROKEN - 1) == sum(1 << group for group in expected)
    # What is left, and the row of what is not, make up the whole.
    row = np.unpackbits(grouped.plain_row.view(np.uint8), bitorder="little")
    assert set(np.flatnonzero(row)) == {i for i, t in enumerate(tokens) if t and is_plain(t)}
    left = [v for v in range(len(paths)) if not is_plain(paths[v])]
    assert [v for v in grouped.rest_node.tolist() if v >= 0] == left
    path.clear()
    for i, node in enumerate(grouped.rest_node.tolist()):
        path[int(grouped.rest_depth[i]) :] = [int(grouped.rest_byte[i])]
        assert is_plain(bytes(path)) if node < 0 else bytes(path) == paths[node]
        after = grouped.rest_depth[i + 1 : grouped.rest_skip[i]]
        assert (after > grouped.rest_depth[i]).all()


PATTERNS = (
    r"(?s).*",
    r"[a-z]+[0-9]*",
    r"[^x]*",
    r"[\w ]*;",
    r"net_[a-z]+(, net_[a-z]+)*",
    r"(\S+\s+){0,30}\S+",
    r"([a-f0-9]{2}:)*",
    r"[é-ÿ ]*",
    r"[^é]*",
    r"([a-z]|[一-龥])*!",
    r".{0,20}",
    r"(ab|[a-z ])*",
)


@pytest.mark.large
@pytest.mark.parametrize("pattern", [*PATTERNS, None])
def test_states_read_their_groups_and_masks_are_right(pattern):
    vocabulary = fm.Vocabulary.gpt2()
    compiler = fm.GrammarCompiler(vocabulary)
    if pattern is None:
        compiled = compiler.compile_json_schema({"type": "array", "items": {"pattern": "a.c"}})
        texts = [b'["a', b'["ab\xc3', b'["abc", "\\', b'["abc"', b'["xx a']
    else:
        compiled = compiler.compile_regex(pattern)
        texts = [b"", b"ab", b"net_a", b"7f:", b"\xc3\xa9", b"\xe4", b"x y"]
    for text in texts:
        matcher = fm.GrammarMatcher(compiled)
        if matcher.accept_bytes(text):
            np.testing.assert_array_equal(matcher.next_token_bitmask(), matcher.naive_row())
    tables = compiled.tables
    classes, rng = tables.byte_classes.astype(int), random.Random(0)
    actions = tables.actions.reshape(-1)
    for index in np.flatnonzero(tables.lasting).tolist():
        found = int(tables.lasting[index])
        groups = [g for g in range(layout.NO_GROUP) if found >> g & 1]
        size = 60 if found & FOR_EVER else DEEPEST
        for _ in range(100 if groups else 0):
            text = b""
            while len(text) < size:
                group = rng.choice(groups)
                if group == layout.HIGH:
                    text += chr(rng.choice([0xE9, 0x4E2D, 0x1F600, 0xA0, 0x2003, 0xFFFD])).encode()
                else:
                    text += bytes([rng.choice(np.flatnonzero(np.equal(GROUPS, group)).tolist())])
            state = index << tables.shift
            for byte in text[:size]:
                state = int(actions[state + classes[byte]])
                assert state > 0, (pattern, text)
