"""Tokens for bytes that must come next: which tokens spell them, and which end has to stay open."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ._arrays import I32
from .vocabulary import TokenTrie, Vocabulary

__all__ = ["forced_tokens"]


def forced_tokens(
    forced: bytes,
    vocabulary: Vocabulary,
    tokenize: Callable[[str], Iterable[int]] | None,
    row_behind: Callable[[int], I32],
) -> list[int]:
    """Tokens that spell the beginning of ``forced``.

    They are those of ``tokenize``, or the longest that fit. The list ends before the first token at
    whose place a longer one, reaching past ``forced``, is allowed: there the model has a choice.
    ``row_behind(n)`` gives the bitmask row behind the first ``n`` forced bytes.
    """
    trie = vocabulary.trie
    if tokenize is None:
        proposed: Iterable[int] = _longest(forced, trie)
    else:
        whole = forced.decode(errors="ignore") if _is_text(forced) else ""
        proposed = tokenize(whole)
    tokens: list[int] = []
    position = 0
    for token in map(int, proposed):
        if not 0 <= token < vocabulary.size or not vocabulary.is_text[token]:
            break
        data = vocabulary.tokens[token]
        if not forced.startswith(data, position) or _reaches_past(
            trie, forced, position, row_behind
        ):
            break
        tokens.append(token)
        position += len(data)
    return tokens


def _is_text(data: bytes) -> bool:
    """Whether the bytes begin with whole characters."""
    return not data or data[0] & 0xC0 != 0x80


def _child(trie: TokenTrie, first: int, last: int, byte: int) -> int:
    """The node of ``byte`` among the siblings from ``first``, or -1."""
    node = first
    while node < last:
        if trie.byte[node] == byte:
            return node
        node = int(trie.skip[node])
    return -1


def _nodes(trie: TokenTrie, data: bytes, position: int) -> Iterable[int]:
    """The trie nodes of data[position:], as far as there are any."""
    if position >= len(data):
        return
    node = int(trie.roots[data[position]])
    if node == trie.roots[data[position] + 1]:
        return
    while True:
        yield node
        position += 1
        if position >= len(data):
            return
        node = _child(trie, node + 1, int(trie.skip[node]), data[position])
        if node < 0:
            return


def _longest(data: bytes, trie: TokenTrie) -> Iterable[int]:
    """The longest token that fits, again and again."""
    position = 0
    while position < len(data):
        best, length = -1, 0
        for n, node in enumerate(_nodes(trie, data, position), 1):
            if trie.first[node] < trie.first[node + 1]:
                best, length = int(trie.order[trie.first[node]]), n
        if best < 0:
            return
        yield best
        position += length


def _reaches_past(
    trie: TokenTrie, data: bytes, position: int, row_behind: Callable[[int], I32]
) -> bool:
    """Whether a token that is data[position:] and more is allowed."""
    nodes = list(_nodes(trie, data, position))
    if len(nodes) < len(data) - position:
        return False
    node = nodes[-1]
    longer = trie.order[trie.first[node + 1] : trie.first[trie.skip[node]]]
    if longer.size == 0:
        return False
    row = row_behind(position).view(np.uint32)
    return bool(((row[longer >> 5] >> (longer & 31).astype(np.uint32)) & 1).any())
