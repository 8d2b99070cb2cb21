"""Spellings of a text: counted, listed, and the one of longest tokens."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask import toy
from fastmask.errors import VocabularyError
from fastmask.sampling import count_spellings, longest_spelling, spellings, text_of
from fastmask.vocabulary import Vocabulary

SMALL = Vocabulary([b"a", b"b", b"ab", b"aba", b"a", b"bb", b"<s>", b""], 7, [6])


@given(st.text("ab<s>", max_size=9))
def test_all_spellings_and_no_other(text):
    data = text.encode()
    found = list(spellings(data, SMALL))
    assert len(found) == len(set(found)) == count_spellings(data, SMALL)
    assert all(text_of(ids, SMALL) == data for ids in found)


def test_counts_of_the_toy_world():
    for text, count in (("42", 2), (toy.AGE_REFERENCE, 16), (toy.PERSON_REFERENCE, 1536)):
        assert count_spellings(text.encode(), toy.VOCABULARY) == count
        assert sum(1 for _ in spellings(text.encode(), toy.VOCABULARY)) == count


def test_longest_first():
    assert next(spellings(b"abab", SMALL)) == (3, 1)
    assert longest_spelling(b"abab", SMALL) == [3, 1]
    assert longest_spelling(b"", SMALL) == []


def test_exponentially_many_are_listed_one_by_one():
    assert count_spellings(b"a" * 500, SMALL) == 2**500
    assert len(list(islice(spellings(b"a" * 500, SMALL), 3))) == 3
    assert list(spellings(b"a" * 500 + b"x", SMALL)) == []


def test_no_spelling():
    with pytest.raises(VocabularyError, match="at byte 2"):
        longest_spelling(b"ab<s>", SMALL)
