"""The ways to spell a text with tokens: how many there are, which they are, and a plain one.

A mask allows all of them. A model was trained on the one its tokenizer makes, the canonical one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import VocabularyError

if TYPE_CHECKING:
    from ..vocabulary import Vocabulary

__all__ = ["count_spellings", "longest_spelling", "spellings"]


def count_spellings(text: bytes, vocabulary: Vocabulary) -> int:
    """Number of token sequences that spell ``text``.

    Dynamic programming from the left: the spellings of a prefix are those of each shorter prefix
    that some token completes to it. Token ids with equal bytes count apart; special, padding and
    end tokens spell nothing.
    """
    spoken = zip(vocabulary.tokens, vocabulary.is_text, strict=True)
    by_bytes = Counter(token for token, is_text in spoken if is_text)
    longest = max(map(len, by_bytes), default=0)
    ways = [1] + [0] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(max(0, end - longest), end):
            if ways[start]:
                ways[end] += ways[start] * by_bytes[text[start:end]]
    return ways[-1]


def spellings(text: bytes, vocabulary: Vocabulary) -> Iterator[tuple[int, ...]]:
    """Every token sequence that spells ``text``, those with longer tokens first.

    There can be exponentially many: take as many as are wanted.
    """
    by_bytes: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(vocabulary.tokens):
        if vocabulary.is_text[token_id] and token in text:
            by_bytes.setdefault(token, []).append(token_id)
    lengths = sorted({len(token) for token in by_bytes}, reverse=True)
    # Places from which no spelling reaches the end are found once, from the right.
    finishes = [False] * len(text) + [True]
    for start in range(len(text) - 1, -1, -1):
        finishes[start] = any(
            start + n <= len(text) and finishes[start + n] and text[start : start + n] in by_bytes
            for n in lengths
        )

    def steps(start: int) -> list[tuple[int, int]]:
        return [
            (token_id, start + n)
            for n in lengths
            if start + n <= len(text) and finishes[start + n]
            for token_id in by_bytes.get(text[start : start + n], ())
        ]

    path: list[int] = []
    open_steps = [iter(steps(0))] if finishes[0] and text else []
    if not text:
        yield ()
    while open_steps:
        step = next(open_steps[-1], None)
        if step is None:
            open_steps.pop()
            if path:
                path.pop()
            continue
        token_id, end = step
        if end == len(text):
            yield (*path, token_id)
        else:
            path.append(token_id)
            open_steps.append(iter(steps(end)))


def longest_spelling(text: bytes, vocabulary: Vocabulary) -> list[int]:
    """The spelling that takes the longest token that fits, again and again.

    Raises
    ------
    VocabularyError
        No token fits at some place; it is named.
    """
    token_ids = []
    longest = int((vocabulary.token_offsets[1:] - vocabulary.token_offsets[:-1]).max(initial=0))
    start = 0
    while start < len(text):
        for end in range(min(len(text), start + longest), start, -1):
            found = [i for i in vocabulary.ids_of(text[start:end]) if vocabulary.is_text[i]]
            if found:
                break
        else:
            raise VocabularyError(f"no token begins {text[start : start + 20]!r} at byte {start}")
        token_ids.append(found[0])
        start = end
    return token_ids
