"""Rows that grammars share, and what is known of the tokens of a vocabulary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fastmask import Vocabulary
from fastmask.shared_rows import SharedRows


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=30), st.sets(st.integers(0, 29)))
def test_tokens_with_a_byte(tokens: list[bytes], special: set[int]) -> None:
    tokens = [*tokens, b"<end>"]
    special_ids = [*(i for i in special if i < len(tokens)), len(tokens) - 1]
    vocabulary = Vocabulary(tokens, [len(tokens) - 1], special_ids)
    rows = SharedRows(vocabulary)
    for byte in (b",", b"\x00", b"\xff", *{bytes([b]) for token in tokens for b in token}):
        expected = [i for i, t in enumerate(tokens) if byte in t and vocabulary.is_text[i]]
        assert rows.tokens_with(byte).tolist() == expected
