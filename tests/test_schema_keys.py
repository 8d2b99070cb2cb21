"""Keys of so many spellings that no trie lists them."""

from __future__ import annotations

import numpy as np
import pytest

import fastmask as fm

LONG = "Epf" + "ДИЖЯЦЮЩ" * 3
VOCABULARY = fm.Vocabulary(
    [
        *(bytes([i]) for i in range(256)),
        b"<end>",
        *(b'{"Epf', "ДИЖ".encode(), b"\\u0414", b'":', b'":1', b',"', b'","', b"\\u00"),
    ],
    eos_token_ids=[256],
)


def spelled(text: str, start: int) -> str:
    """A key, every character from ``start`` on as an escape."""
    escapes = "".join(f"\\u{ord(character):04x}" for character in text[start:])
    return f'"{text[:start]}{escapes}"'


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("strings", ["usual", "any"])
def test_a_key_in_any_spelling_is_one_key(is_open, strings):
    schema = {
        "type": "object",
        "properties": {LONG: {"type": "integer"}, LONG + "2": {"type": "null"}, "short": True},
        "required": [LONG],
        "additionalProperties": {"type": "boolean"} if is_open else False,
    }
    grammar = fm.Grammar.from_json_schema(schema, strings=strings)
    compiled = fm.CompiledGrammar(grammar, VOCABULARY)
    other = "И" * 30
    cases = [
        (f'{{"{LONG}": 1}}', True),
        (f"{{{spelled(LONG, 3)}: 1}}", True),
        (f"{{{spelled(LONG, 3)}: null}}", False),
        (f'{{{spelled(LONG, 5)}: 1, "{LONG}": 2}}', False),
        (f'{{"{LONG}2": null, {spelled(LONG, 9)}: 1}}', True),
        (f'{{"{LONG}2": null}}', False),
        (f'{{"short": 1, "{LONG}": 1}}', True),
        (f'{{"{LONG}": 1, "{other}": true}}', is_open),
        (f'{{"{LONG}": 1, "{other}": true, {spelled(other, 7)}: true}}', False),
        (f'{{"{LONG}": 1, "{other}": true, {spelled(other + "И", 7)}: true}}', is_open),
    ]
    for text, valid in cases:
        matcher = fm.GrammarMatcher(compiled)
        assert (matcher.accept_bytes(text) and matcher.is_completed()) is valid, text
        matcher.reset()
        for byte in text.encode():
            assert np.array_equal(matcher.next_token_bitmask(), matcher.naive_row())
            if not matcher.accept_bytes(bytes([byte])):
                break
