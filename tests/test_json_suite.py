"""The JSON parsing suite through the matcher, by bytes and by the tokens of a real vocabulary.

Texts of the suite's ``i_`` cases may or may not parse. fastmask takes numbers of any size and any
depth, and refuses lone surrogates, byte order marks and bytes that are not UTF-8.
"""

from __future__ import annotations

import base64
import gzip
import json

import numpy as np
import pytest

import fastmask as fm
from walking import longest_tokens

TAKEN = {
    "i_number_double_huge_neg_exp.json",
    "i_number_huge_exp.json",
    "i_number_neg_int_huge_exp.json",
    "i_number_pos_double_huge_exp.json",
    "i_number_real_neg_overflow.json",
    "i_number_real_pos_overflow.json",
    "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json",
    "i_structure_500_nested_arrays.json",
}
REFUSED = {
    "i_object_key_lone_2nd_surrogate.json",
    "i_string_1st_surrogate_but_2nd_missing.json",
    "i_string_1st_valid_surrogate_2nd_invalid.json",
    "i_string_UTF-16LE_with_BOM.json",
    "i_string_UTF-8_invalid_sequence.json",
    "i_string_UTF8_surrogate_U+D800.json",
    "i_string_incomplete_surrogate_and_escape_valid.json",
    "i_string_incomplete_surrogate_pair.json",
    "i_string_incomplete_surrogates_escape_valid.json",
    "i_string_invalid_lonely_surrogate.json",
    "i_string_invalid_surrogate.json",
    "i_string_invalid_utf-8.json",
    "i_string_inverted_surrogates_U+1D11E.json",
    "i_string_iso_latin_1.json",
    "i_string_lone_second_surrogate.json",
    "i_string_lone_utf8_continuation_byte.json",
    "i_string_not_in_unicode_range.json",
    "i_string_overlong_sequence_2_bytes.json",
    "i_string_overlong_sequence_6_bytes.json",
    "i_string_overlong_sequence_6_bytes_null.json",
    "i_string_truncated-utf-8.json",
    "i_string_utf16BE_no_BOM.json",
    "i_string_utf16LE_no_BOM.json",
    "i_structure_UTF-8_BOM_empty_object.json",
}


@pytest.fixture(scope="module")
def cases(data_folder) -> list[tuple[str, bytes]]:
    with gzip.open(data_folder / "json-parsing-suite.jsonl.gz", "rt") as lines:
        return [
            (case["name"], base64.b64decode(case["bytes_b64"])) for case in map(json.loads, lines)
        ]


@pytest.fixture(scope="module")
def compiled() -> fm.CompiledGrammar:
    return fm.GrammarCompiler(fm.Vocabulary.gpt2()).compile_json()


def refused_at(compiled: fm.CompiledGrammar, data: bytes) -> int | None:
    """The byte at which a text is refused, its length if it stops too early, None if it parses."""
    matcher = fm.GrammarMatcher(compiled)
    for position in range(len(data)):
        if not matcher.accept_bytes(data[position : position + 1]):
            return position
    return None if matcher.is_completed() else len(data)


def parses(name: str) -> bool:
    assert name[:2] in ("y_", "n_") or name in TAKEN | REFUSED, f"no verdict for {name}"
    return name.startswith("y_") or name in TAKEN


def test_every_verdict_by_bytes(cases, compiled):
    assert len(cases) == 317
    for name, data in cases:
        place = refused_at(compiled, data)
        assert (place is None) == parses(name), (name, place)
        whole = fm.GrammarMatcher(compiled)
        assert whole.accept_bytes(data) == (place in (None, len(data))), name


def test_every_verdict_by_tokens(cases, compiled):
    """The refused token is the first that reaches past the refused byte."""
    vocabulary = compiled.vocabulary
    for name, data in cases:
        tokens = longest_tokens(data[:20_000], vocabulary)
        matcher = fm.GrammarMatcher(compiled)
        accepted = matcher.accept_tokens(tokens)
        place = refused_at(compiled, data[:20_000])
        lengths = np.cumsum([0] + [len(vocabulary.tokens[token]) for token in tokens])
        if place is None or place == len(data[:20_000]):
            assert accepted == len(tokens), name
            assert matcher.accept_token(vocabulary.eos_token_ids[0]) == (place is None), name
        else:
            assert lengths[accepted] <= place < lengths[accepted + 1], name


def test_masks_on_the_way_hold_the_next_token_of_what_parses(cases, compiled):
    for name, data in cases:
        if not parses(name) or len(data) > 2_000:
            continue
        matcher = fm.GrammarMatcher(compiled)
        for token in longest_tokens(data, compiled.vocabulary):
            row = matcher.next_token_bitmask()
            assert row[token >> 5] >> (token & 31) & 1, name
            assert matcher.accept_token(token), name
        end = compiled.vocabulary.eos_token_ids[0]
        assert matcher.next_token_bitmask()[end >> 5] >> (end & 31) & 1, name


def test_what_parses_is_what_python_reads(cases, compiled):
    """Python's reader is laxer (lone surrogates, NaN) and cannot go deep; elsewhere they agree."""
    for name, data in cases:
        if name in REFUSED or b"NaN" in data or b"Inf" in data or len(data) > 2_000:
            continue
        try:
            json.loads(data.decode())
        except ValueError:
            read = False
        else:
            read = True
        assert (refused_at(compiled, data) is None) == read, name
