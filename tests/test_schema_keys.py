"""Keys of so many spellings that no trie lists them."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import fastmask as fm
from fastmask.shortest import shortest_completion

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


FEW = fm.Vocabulary(
    [
        *(bytes([i]) for i in range(256)),
        b"<end>",
        *(b'":', b'":"', b'":1', b'":[]', b'{"', b'","', b'":1,"', b'1":', b'",', b"1,", b'"}'),
    ],
    eos_token_ids=[256],
)
ONLY_TWO = {
    "type": "object",
    "additionalProperties": False,
    "patternProperties": {"^[12]$": True},
}


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize(
    "more",
    [
        # What "1" may hold has to be neither an integer nor a string, and no other key can be so.
        {
            "not": {
                "anyOf": [
                    {"patternProperties": {"^1{1}$": {"type": "integer"}}},
                    {"patternProperties": {"^1{1}$": {"type": "string"}}},
                ]
            }
        },
        {"minProperties": 2},
        {"dependentSchemas": {"2": False}, "maxProperties": 2},
        {"not": {"const": {"1": 1}}, "maxProperties": 1, "minProperties": 1},
    ],
)
def test_masks_know_when_all_keys_of_a_few_came(more, order):
    grammar = fm.Grammar.from_json_schema(ONLY_TWO | more, property_order=order, whitespace="none")
    compiled = fm.CompiledGrammar(grammar, FEW)
    texts = [b""]
    for _ in range(9):
        following = []
        for text in texts:
            matcher = fm.GrammarMatcher(compiled)
            assert matcher.accept_bytes(text)
            allowed = set(matcher.allowed_token_ids().tolist())
            for token in range(FEW.size):
                ahead = matcher.fork()
                taken = ahead.accept_token(token)
                assert taken is (token in allowed), (text, FEW.tokens[token])
                if taken and set(FEW.tokens[token]) <= set(b'{"12:[],}') and token != 256:
                    following.append(text + FEW.tokens[token])
        texts = sorted(set(following))[:40]


def test_keys_out_of_a_few_may_come_in_any_order():
    grammar = fm.Grammar.from_json_schema(
        {**ONLY_TWO, "properties": {"b": True, "a": True}}, property_order="schema"
    )
    compiled = fm.CompiledGrammar(grammar, FEW)
    for text, valid in (
        ('{"2":1,"b":1,"1":1,"a":1}', True),
        ('{"1":1,"2":1}', True),
        ('{"2":1,"2":1}', False),
        ('{"a":1,"2":1,"b":1}', False),
    ):
        assert fm.GrammarMatcher(compiled).accept_bytes(text) is valid


TWO_KEYS = (
    *(b'{"a":1,"a"', b'{"a":1,"b"', b'{"a":1,"b":', b'{"a":1,"a":', b'":1,"x":2,"x":3'),
    *(b':1,"a":2', b'{"\\u0061":1,"a":', b'":{"a":0},"a":1', b'":{"b":0, "b"'),
    *(b',"k":1 , "a"', b'1,"a":2,"'),
)


@pytest.mark.large
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"maxProperties": 3, "properties": {"k": {"type": "integer"}}},
        {"patternProperties": {"^a": {"type": "integer"}}},
        {"anyOf": [{"additionalProperties": {"type": "integer"}}, {"required": ["k"]}]},
    ],
)
def test_two_keys_in_one_token_are_told_apart(schema):
    vocabulary = fm.Vocabulary(
        [*(bytes([i]) for i in range(256)), b"<end>", *TWO_KEYS], eos_token_ids=[256]
    )
    compiled = fm.GrammarCompiler(vocabulary).compile_json_schema(schema)
    found = set()
    for text in (
        b"",
        b'{"a',
        b'{"b',
        b'{"a"',
        b'{"b"',
        b'{"k":1,"b',
        b'{"b":0,"c',
        b'{"c":1',
        b"{",
    ):
        matcher = fm.GrammarMatcher(compiled)
        assert matcher.accept_bytes(text)
        row = matcher.next_token_bitmask()
        assert np.array_equal(row, matcher.naive_row())
        bitmask = fm.allocate_token_bitmask(1, vocabulary.size)
        fm.fill_next_token_bitmasks([matcher], bitmask)
        assert np.array_equal(row, bitmask[0])
        for token, data in enumerate(TWO_KEYS, 257):
            ahead = matcher.fork()
            lives = all(ahead.accept_bytes(bytes([byte])) for byte in data)
            assert bool(row[token >> 5] >> (token & 31) & 1) is lives, (text, data)
            assert matcher.is_token_allowed(token) is lives
            found.add(lives)
    assert found == {True, False}


PARTS = ("foo", "oba", "bar", "id", "d_n", "name", "ame", "x")


@pytest.mark.large
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("most", [{}, {"maxProperties": 2}])
def test_keys_that_many_patterns_overlap_in(is_open, most):
    """Of 2**8 ways to pass some patterns each has a member of its own."""
    schema = {
        "type": "object",
        "patternProperties": {part: {"minimum": 2**i} for i, part in enumerate(PARTS)},
        "additionalProperties": {"maximum": 0} if is_open else False,
        **most,
    }
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    chooser = random.Random(0)
    keys = [
        "foobar",
        "id_name",
        "foo",
        "barx",
        "oba",
        "d_named",
        "ame",
        "q",
        "",
        "fo\u00e9x",
        "xbarid",
    ]
    for _ in range(60):
        value = {key: chooser.choice([0, 1, 3, 8, 40, 200]) for key in chooser.sample(keys, 2)}
        if chooser.random() < 0.2:
            value |= {"x": 128, "foox": 200}
        parts = {key: [i for i, part in enumerate(PARTS) if part in key] for key in value}
        valid = all(
            value[key] >= 2 ** max(found) if found else is_open and value[key] <= 0
            for key, found in parts.items()
        )
        valid = valid and len(value) <= most.get("maxProperties", 4)
        matcher = fm.GrammarMatcher(compiled)
        text = json.dumps(value, ensure_ascii=chooser.random() < 0.5).encode()
        accepted = True
        for place in range(len(text)):
            if chooser.random() < 0.2:
                assert np.array_equal(matcher.next_token_bitmask(), matcher.naive_row())
            accepted = matcher.accept_bytes(text[place : place + 1])
            if not accepted:
                break
        assert (accepted and matcher.is_completed()) is valid, text


@pytest.mark.large
def test_nine_patterns_that_overlap_find_room():
    words = ["group", "state", "foo", "bar", "id", "name", "type", "date", "url"]
    schema = {"patternProperties": {word: {"minLength": i} for i, word in enumerate(words)}}
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes('{"group_state_id_url": "123456789", "owner": "", "type": "')
    assert not matcher.accept_bytes('12345"')
    assert matcher.accept_bytes('1234567"}')


@pytest.mark.large
@pytest.mark.parametrize("asks", [{}, {"required": True}, {"minProperties": 5}])
@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("number", [62, 63, 124, 130])
def test_objects_of_more_keys_than_a_word_has_bits(number, is_open, asks):
    chooser = random.Random(number)
    names = [f"k{chooser.randrange(10**4)}{'abc'[i % 3] * (i % 5)}{i}" for i in range(number)]
    required = chooser.sample(names, 3) if "required" in asks else []
    schema = {
        "properties": {name: {"type": "integer"} for name in names},
        "additionalProperties": is_open and {"type": "null"},
        **asks,
        "required": required,
    }
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    for _ in range(8):
        keys = chooser.sample(names, chooser.choice([1, 3, 8]))
        if chooser.random() < 0.7:
            keys += [name for name in required if name not in keys]
        chooser.shuffle(keys)
        members = [(key, "1") for key in keys]
        if chooser.random() < 0.4:
            members.insert(chooser.randrange(len(members) + 1), ("other", "null"))
        is_repeated = chooser.random() < 0.3
        if is_repeated:
            members.append(chooser.choice(members))
        text = ", ".join(f'"{key}": {value}' for key, value in members)
        has_other = any(key == "other" for key, _ in members)
        valid = (
            not is_repeated
            and (is_open or not has_other)
            and len(members) >= asks.get("minProperties", 0)
            and set(required) <= {key for key, _ in members}
        )
        matcher = fm.GrammarMatcher(compiled)
        accepted = True
        for byte in f"{{{text}}}".encode():
            if chooser.random() < 0.15:
                assert np.array_equal(matcher.next_token_bitmask(), matcher.naive_row())
            accepted = matcher.accept_bytes(bytes([byte]))
            if not accepted:
                break
        assert (accepted and matcher.is_completed()) is valid, text
        if accepted:
            matcher.rollback(chooser.randrange(1, len(text)))
            assert matcher.accept_bytes(shortest_completion(matcher).text)
            assert matcher.is_completed()
