"""Arrays whose items differ, and containers left out: verdicts, and masks token by token."""

from __future__ import annotations

import itertools
import json
import random
import re
from typing import Any

import numpy as np
import pytest

import fastmask as fm
from fastmask._jit import JIT_ENABLED
from fastmask.schema import formulas
from fastmask.shortest import shortest_completion
from fastmask.texts import last_value

BYTES = [bytes([i]) for i in range(256)]
LONGER = [
    *(b'","', b",1", b"1,2", b'a",', b'","a"', b'","b","', b'"]', b"},{", b'{"a":1}', b", 1"),
    *(b", 2]", b"[1,1", b"[1,2", b'":1,"', b'"b":2', b"true,", b",true", b"],[", b"[],[", b"1.0"),
    *(b",1.0]", b"1e0", b"0,0]", b"-0", b'b","a","', b"[[],", b',""', b'"},', b'},{"', b'"},"'),
    *(b'},{"a":1}', b'},{"a":2', b"},{}", b'},{"c', b"],[1", b"],[]]", b"},[", b'"],["', b'],"'),
    b'","","',
]
VOCABULARY = fm.Vocabulary([*BYTES, b"<end>", *LONGER], eos_token_ids=[256])
ENDLESS = {"type": "array", "uniqueItems": True}
INTEGER, STRING = {"type": "integer"}, {"type": "string"}
CLOSED = {"type": "object", "additionalProperties": False}
TWINS = {"type": "array", "not": {"uniqueItems": True}}

MANY = ["".join(letters) for n in range(7) for letters in itertools.product("ab", repeat=n)]

SCHEMAS: list[dict[str, Any]] = [
    {"uniqueItems": True},
    {**ENDLESS, "items": STRING},
    {**ENDLESS, "items": INTEGER},
    {**ENDLESS, "items": {"type": "number"}},
    {**ENDLESS, "items": {**STRING, "maxLength": 1}, "minItems": 2},
    {**ENDLESS, "items": {**STRING, "maxLength": 40}},
    {**ENDLESS, "items": {**INTEGER, "minimum": 0, "maximum": 100}, "maxItems": 3},
    {**ENDLESS, "items": {"required": ["a"], "properties": {"a": INTEGER, "b": STRING}}},
    {**ENDLESS, "items": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}},
    {**ENDLESS, "items": {**ENDLESS, "items": INTEGER, "maxItems": 2}},
    {**ENDLESS, "prefixItems": [{"type": "boolean"}, {"type": "boolean"}]},
    {**ENDLESS, "prefixItems": [INTEGER, {"enum": [1, 2]}, {"const": 1}], "minItems": 3},
    {**ENDLESS, "contains": {"const": 1}},
    {**ENDLESS, "items": {"type": ["object", "null"], "maxProperties": 1}},
    {**ENDLESS, "items": {"pattern": "^[ab]$", "type": "string"}, "minItems": 2},
    {**ENDLESS, "items": STRING, "maxItems": 2, "contains": {"const": "a"}},
    {**ENDLESS, "items": {"enum": ["a", "b", "ab", "", "a/b"]}},
    {**ENDLESS, "items": {"enum": ["a", "b", "ab", ""]}, "minItems": 2, "maxItems": 3},
    {**ENDLESS, "items": {"enum": MANY}, "minItems": 2},
    {"items": {**ENDLESS, "items": {"enum": MANY}, "maxItems": 2}},
    {"additionalProperties": {**ENDLESS, "items": INTEGER}},
    {**ENDLESS, "items": {**CLOSED, "properties": {"a": INTEGER, "b": STRING}}},
    {**ENDLESS, "items": {**CLOSED, "properties": {"a": {"enum": [1, 2]}}}},
    {**ENDLESS, "items": {**CLOSED, "properties": {"a": {"maximum": 1}}, "required": ["a"]}},
    {**ENDLESS, "items": {"anyOf": [STRING, {"type": "array", "items": INTEGER}]}, "minItems": 2},
    {**ENDLESS, "items": {"type": "array", "items": {"type": "boolean"}}, "maxItems": 3},
    {**ENDLESS, "items": {"type": "object", "maxProperties": 1}},
    {**ENDLESS, "items": {"type": "object", "additionalProperties": {"enum": [1, "b"]}}},
    {**TWINS, "items": {"type": ["object", "array"]}},
    {**ENDLESS, "items": {**CLOSED, "properties": {"a": {**STRING, "minLength": 1}}}},
    {**ENDLESS, "items": {**CLOSED, "properties": {"a": {**STRING, "pattern": "^[ab]*$"}}}},
    {**ENDLESS, "items": {**STRING, "maxLength": 4}},
    {**ENDLESS, "items": {**STRING, "minLength": 1, "maxLength": 6}, "minItems": 2},
    {**STRING, "minLength": 1, "not": {"enum": ["", "a", "ba", 1]}},
    {**STRING, "minLength": 4, "maxLength": 5, "not": {"enum": ["abab", "ababa", ""]}},
    {**STRING, "pattern": "^[ab/]*$", "not": {"enum": ["a", "abb", "c", "a/", ""]}},
    {"items": {**STRING, "pattern": "^(a|ab|ba*)$", "not": {"enum": ["a", "ab", "ba"]}}},
    {**ENDLESS, "items": {"type": ["string", "null"]}, "maxItems": 3},
    {**ENDLESS, "items": {**STRING, "not": {"enum": ["", "b"]}}},
    {**ENDLESS, "items": {**STRING, "pattern": "^(a*b?|c|ba)$"}, "minItems": 2, "maxItems": 4},
    {**ENDLESS, "items": {"type": "number", "minimum": 0, "maximum": 1}, "maxItems": 3},
    {**ENDLESS, "items": {**INTEGER, "minimum": 0, "exclusiveMaximum": 3}, "minItems": 2},
    {**ENDLESS, "items": {**INTEGER, "minimum": -1, "maximum": 2, "not": {"const": 0}}},
    {**ENDLESS, "items": {"enum": [*range(70), "a", 1.5]}, "minItems": 2},
    {**ENDLESS, "items": {**CLOSED, "required": ["a"], "properties": {"a": STRING, "b": INTEGER}}},
    {**ENDLESS, "items": {"properties": {"a": STRING, "b": {"enum": [1]}}, "maxProperties": 1}},
    TWINS,
    {**TWINS, "items": INTEGER, "maxItems": 3},
    {**TWINS, "items": {**STRING, "pattern": "^[ab]*$"}},
    {**TWINS, "prefixItems": [INTEGER, STRING], "items": {"type": "boolean"}, "maxItems": 4},
    {"not": {"const": {"a": 1}}},
    {"not": {"enum": [[1], [2, 3], {"a": 1, "b": [2]}]}},
    {
        "type": "object",
        "properties": {"a": {"enum": [1, 2]}, "b": {"enum": [1, 2]}},
        "additionalProperties": False,
        "required": ["a"],
        "not": {"enum": [{"a": 1}, {"a": 1, "b": 2}]},
    },
    {"type": "array", "items": {"enum": [1, 2]}, "maxItems": 2, "not": {"enum": [[], [1], [2, 2]]}},
]


def scalar(chooser: random.Random) -> Any:
    return chooser.choice([None, True, False, 0, 1, 2, 10, -1, 1.5, "", "a", "b", "ab"])


def instance(chooser: random.Random, depth: int = 0) -> Any:
    """A small value that is often in one of the schemas, or nearly."""
    kind = chooser.random()
    if kind < 0.55 and depth < 3:
        items = [instance(chooser, depth + 1 + (depth > 0)) for _ in range(chooser.randint(0, 4))]
        if items and kind < 0.35:
            same = [item for item in items if type(item) is type(items[0])]
            items = same * chooser.randint(1, 2)
        return items
    if kind < 0.75 and depth < 3:
        keys = chooser.sample(["a", "b", "c"], chooser.randint(0, 2))
        return {key: instance(chooser, depth + 2) for key in keys}
    return scalar(chooser)


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_verdicts_and_masks(number):
    """Texts are accepted as the validator says; masks are what single tokens say."""
    validators = pytest.importorskip("jsonschema_rs")
    schema = SCHEMAS[number]
    chooser = random.Random(number)
    is_valid = validators.Draft202012Validator(schema).is_valid
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    compared = 0
    for _ in range(60 if JIT_ENABLED else 15):
        value = instance(chooser)
        text = json.dumps(value)
        matcher = fm.GrammarMatcher(compiled)
        assert (matcher.accept_bytes(text) and matcher.is_completed()) == is_valid(value), text
        if compared < (40 if JIT_ENABLED else 4):
            compared += compare_masks(compiled, text, chooser)


def compare_masks(compiled: fm.CompiledGrammar, text: str, chooser: random.Random) -> int:
    matcher = fm.GrammarMatcher(compiled)
    compared = 0
    for character in text:
        if chooser.random() < 0.4:
            single = [i for i in range(VOCABULARY.size) if i != 256 and matcher.is_token_allowed(i)]
            if matcher.is_completed():
                single = sorted([*single, 256])
            assert matcher.allowed_token_ids().tolist() == single
            assert np.array_equal(matcher.naive_row(), matcher.next_token_bitmask())
            compared += 1
        if not matcher.accept_bytes(character):
            break
    return compared


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_every_walk_can_be_finished(number):
    """Whatever tokens are taken, the text can be brought to an end, and is valid then."""
    validators = pytest.importorskip("jsonschema_rs")
    schema = SCHEMAS[number]
    is_valid = validators.Draft202012Validator(schema).is_valid
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    finished = 0
    for seed in range(12 if JIT_ENABLED else 3):
        chooser = random.Random(seed)
        matcher = fm.GrammarMatcher(compiled)
        text = b""
        for _ in range(150):
            ids = matcher.allowed_token_ids().tolist()
            assert ids
            if 256 in ids and chooser.random() < 0.3:
                break
            likely = [i for i in ids if i > 256 or chr(i) in '"[]{},:ab012']
            token = chooser.choice(likely or ids)
            if token == 256:
                break
            assert matcher.accept_token(token)
            text += VOCABULARY.tokens[token]
        if matcher.is_completed():
            assert is_valid(json.loads(text)), text
            finished += 1
    assert finished or not JIT_ENABLED


@pytest.mark.parametrize(
    ("schema", "text", "taken", "refused"),
    [
        # The second {} would make it the array that came.
        (
            {**ENDLESS, "items": {**TWINS, "items": {"type": "object"}, "maxItems": 2}},
            "[[{},{}],[{",
            '"a":1},{"a":1}]]',
            "}",
        ),
        # Whatever came a second time, there would be no null.
        (
            {
                **TWINS,
                "prefixItems": [{"type": "array"}],
                "maxItems": 3,
                "contains": {"const": None},
            },
            "[[1],",
            "[1],null]",
            '"',
        ),
        (
            {
                "allOf": [TWINS, {"not": {"items": {"type": "boolean"}}}],
                "type": "array",
                "maxItems": 2,
            },
            "[",
            '"a","a"]',
            "t",
        ),
    ],
)
def test_an_item_that_has_to_come_again_leaves_room_for_all_else(schema, text, taken, refused):
    matcher = fm.GrammarMatcher(fm.GrammarCompiler(VOCABULARY).compile_json_schema(schema))
    assert matcher.accept_bytes(text)
    assert not matcher.is_token_allowed(ord(refused))
    assert np.array_equal(matcher.naive_row(), matcher.next_token_bitmask())
    assert matcher.accept_bytes(taken)
    assert matcher.is_completed()


def test_a_token_that_ends_two_items_is_decided_by_the_first():
    compiled = fm.CompiledGrammar(
        fm.Grammar.from_json_schema({**ENDLESS, "items": STRING}), VOCABULARY
    )
    token = VOCABULARY.tokens.index(b'","a"')
    for first, allowed in (("a", False), ("b", True), ("aa", True)):
        matcher = fm.GrammarMatcher(compiled)
        assert matcher.accept_bytes(f'["{first}')
        assert (token in matcher.allowed_token_ids()) is allowed
        assert matcher.accept_token(token) is allowed


def test_forced_text_knows_the_items_that_came():
    schema = {**ENDLESS, "items": {"enum": list(range(100, 200))}, "minItems": 100}
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes("[" + ",".join(str(i) for i in range(100, 198)) + ",19")
    assert matcher.find_jump_forward_bytes() == b""
    assert matcher.accept_bytes("8")
    assert matcher.find_jump_forward_bytes() == b""  # white space may stand before the comma
    assert matcher.accept_bytes(",")
    assert matcher.accept_bytes("1")
    assert matcher.find_jump_forward_bytes() == b"99"


@pytest.mark.parametrize(
    ("words", "bounds"),
    [
        (MANY, {}),
        (MANY, {"minItems": 127}),
        (MANY, {"maxItems": 90}),
        ([f"{word}/é" for word in MANY[:70]], {}),
        (MANY[:62], {"minItems": 3}),
        (MANY[:63], {"maxItems": 63}),
    ],
)
def test_each_of_a_long_list_comes_once(words, bounds):
    """In any order and spelling, until none is left or no more may come."""
    schema = {**ENDLESS, "items": {"enum": words}, **bounds}
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    least, most = bounds.get("minItems", 0), bounds.get("maxItems", len(words))
    for seed in range(3 if JIT_ENABLED else 1):
        chooser = random.Random(seed)
        order = chooser.sample(words, len(words))
        matcher = fm.GrammarMatcher(compiled)
        assert matcher.accept_bytes("[")
        for number, word in enumerate(order[:most]):
            text = json.dumps(word, ensure_ascii=chooser.random() < 0.5)
            if chooser.random() < 0.5:
                text = text.replace("/", "\\/")
            assert not number or matcher.accept_bytes(", ")
            if number:
                again = json.dumps(chooser.choice(order[:number]), ensure_ascii=False)
                assert not matcher.fork().accept_bytes(again)
            for character in text:
                assert matcher.accept_bytes(character)
                if chooser.random() < (0.1 if JIT_ENABLED else 0.002):
                    assert np.array_equal(matcher.naive_row(), matcher.next_token_bitmask())
            assert matcher.fork().accept_bytes("]") is (number + 1 >= least)
            assert matcher.fork().accept_bytes(",") is (number + 1 < most)
        assert np.array_equal(matcher.naive_row(), matcher.next_token_bitmask())
        assert shortest_completion(matcher).text == b"]"


SCALARS = [0, 1, 12, 123, -1, -12, 1.5, 1e30, 2.0, None, True, "", "1", "tru"]


@pytest.mark.parametrize(
    ("policy", "how"),
    [
        ({}, {}),
        ({"whitespace": "none"}, {"separators": (",", ":")}),
        ({"whitespace": "any"}, {"separators": (" \n,\t", ": ")}),
        ({"indent": 2}, {"indent": 2}),
        ({"separators": (", ", ": ")}, {}),
    ],
)
@pytest.mark.parametrize("values", [SCALARS, [*range(75), None, "a"], [True, False]])
def test_each_scalar_of_a_list_comes_once(policy, how, values):
    bounds = {"minItems": 2, "maxItems": len(values) - 1}
    schema = {**ENDLESS, "items": {"enum": values}, **(bounds if 2 < len(values) < 20 else {})}
    grammar = fm.Grammar.from_json_schema(schema, **policy)
    compiled = fm.CompiledGrammar(grammar, VOCABULARY)
    is_valid = pytest.importorskip("jsonschema_rs").Draft202012Validator(schema).is_valid
    chooser = random.Random(len(values))
    for _ in range(25 if JIT_ENABLED else 2):
        items = chooser.sample(values, min(len(values), chooser.randint(1, 20)))
        if chooser.random() < 0.3:
            items.insert(chooser.randint(0, len(items)), chooser.choice(items))
        text = json.dumps(items, **how)
        matcher = fm.GrammarMatcher(compiled)
        assert (matcher.accept_bytes(text) and matcher.is_completed()) == is_valid(items), text
        matcher = fm.GrammarMatcher(compiled)
        for character in text:
            if chooser.random() < (0.2 if JIT_ENABLED else 0.01):
                row = matcher.next_token_bitmask()
                assert np.array_equal(matcher.naive_row(), row)
                end = matcher.fork()
                assert end.accept_bytes(shortest_completion(end).text)
                assert end.is_completed()
            if not matcher.accept_bytes(character):
                break
    assert not compiled.tables.item_end  # no item has to be read off the text


def test_the_shortest_end_of_a_list_takes_items_that_did_not_come():
    schema = {**ENDLESS, "items": {"enum": MANY[:63]}, "minItems": 3}
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    matcher = fm.GrammarMatcher(compiled)
    for text, end in (('["', b'","a","b"]'), ('", "b",', b'"a"]'), ('"b', b'b"]')):
        assert matcher.accept_bytes(text)
        assert len(shortest_completion(matcher).text) == len(end)
        assert matcher.fork().accept_bytes(shortest_completion(matcher).text)


@pytest.mark.parametrize("strings", ["usual", "any"])
@pytest.mark.parametrize(
    ("schema", "language"),
    [
        ({}, r".*"),
        ({"minLength": 2}, r"..+"),
        ({"pattern": "^[a-cé/]*$"}, r"[a-cé/]*"),
        ({"maxLength": 3}, r".{0,3}"),
        ({"maxLength": 4}, r".{0,4}"),
        ({"minLength": 2, "maxLength": 5}, r".{2,5}"),
        ({"minLength": 4}, r".{4,}"),
        ({"pattern": "^(a|abé|b*)$"}, r"a|abé|b*"),
    ],
)
def test_strings_left_out_are_so_in_every_spelling(schema, language, strings):
    left_out = ["", "a", "ab", "abé", "a/b", "漢字語彙", 'a"b']
    grammar = fm.Grammar.from_json_schema(
        {**STRING, **schema, "not": {"enum": left_out}}, strings=strings
    )
    compiled = fm.CompiledGrammar(grammar, VOCABULARY)
    near = [word + more for word in left_out for more in ("", "b", "/", "é")]
    for word in (*near, *(word[:-1] for word in left_out)):
        valid = bool(re.fullmatch(language, word)) and word not in left_out
        for ensure_ascii in (True, False):
            matcher = fm.GrammarMatcher(compiled)
            text = json.dumps(word, ensure_ascii=ensure_ascii)
            assert (matcher.accept_bytes(text) and matcher.is_completed()) is valid, text
            beginning = fm.GrammarMatcher(compiled)
            if beginning.accept_bytes(text[:-1]):
                assert np.array_equal(beginning.naive_row(), beginning.next_token_bitmask())


@pytest.mark.parametrize("bounds", [{"maxLength": 20}, {"minLength": 3, "maxLength": 300}, {}])
def test_many_strings_of_bounded_length_that_differ(bounds):
    """Each with masks on its way: no set of strings takes more states than its last one."""
    schema = {**ENDLESS, "items": {**STRING, **bounds}}
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    chooser = random.Random(2)
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes("[")
    words: list[str] = []
    for number in range(40 if JIT_ENABLED else 4):
        word = "".join(chooser.choices("abé漢", k=chooser.randint(3, 12))) + str(number)
        text = json.dumps(word, ensure_ascii=chooser.random() < 0.3)
        for character in (", " if words else "") + text:
            assert matcher.accept_bytes(character)
            if chooser.random() < 0.1:
                assert np.array_equal(matcher.naive_row(), matcher.next_token_bitmask())
            else:
                matcher.next_token_bitmask()
        words.append(word)
        again = json.dumps(chooser.choice(words), ensure_ascii=False)
        assert not matcher.fork().accept_bytes(", " + again)
    assert compiled.tables.n_states < 60_000


def test_items_are_told_apart_by_value_and_not_by_spelling():
    grammar = fm.Grammar.from_json_schema(
        {**ENDLESS, "items": {"type": ["string", "number"]}}, strings="any", numbers="any"
    )
    compiled = fm.CompiledGrammar(grammar, VOCABULARY)
    for text, valid in (
        (r'["a", "\u0061"]', False),
        (r'["a", "\u0062"]', True),
        ("[1, 1.0]", False),
        ("[100, 1e2]", False),
        ("[1, 10]", True),
        ("[0.1, 0.10]", False),
    ):
        matcher = fm.GrammarMatcher(compiled)
        assert (matcher.accept_bytes(text) and matcher.is_completed()) is valid, text


@pytest.mark.parametrize(
    "value",
    [
        *(b'"a"', b'"\\""', b'"a\\\\"', b'"\\\\\\""', b"1", b"-1.5e3", b"true", b"null", b'""'),
        *(b"[]", b"{}", b'[1, "]", {"[": "\\""}]', b'{"a": [{}, "x"], "b\\\\": "}"}'),
        *(b'["' + b"a" * 1000 + b'", {"b": "' + b'\\"' * 400 + b'"}]', b'"' + b"\\" * 600 + b'"'),
    ],
)
def test_last_value(value):
    for before in (b"", b"[", b'["\\"", ', b'{"a":', b'[{"x": "]}\\\\"}, '):
        for behind in (b"", b" \n"):
            text = before + value + behind

            def tail(size: int, text: bytes = text) -> bytes:
                return text[-size:]

            assert last_value(tail) == value


@pytest.mark.parametrize("strings", ["usual", "any"])
def test_strings_of_many_spellings_come_once_in_any_of_them(strings):
    grammar = fm.Grammar.from_json_schema({**ENDLESS, "items": STRING}, strings=strings)
    compiled = fm.CompiledGrammar(grammar, VOCABULARY)
    chooser = random.Random(1)
    words = ["".join(chooser.choices("漢字語彙表記é", k=7)) for _ in range(40)]
    words = list(dict.fromkeys(words))
    matcher = fm.GrammarMatcher(compiled)
    for number, word in enumerate(words):
        text = json.dumps(word, ensure_ascii=chooser.random() < 0.5)
        assert matcher.accept_bytes(", " * (number > 0) + text if number else "[" + text)
    for word in words:
        for ensure_ascii in (True, False):
            again = json.dumps(word, ensure_ascii=ensure_ascii).encode()
            assert not matcher.fork().accept_bytes(b", " + again)
            beginning = matcher.fork()
            assert beginning.accept_bytes(b", " + again[:-1])
            assert np.array_equal(beginning.next_token_bitmask(), beginning.naive_row())
    assert compiled.tables.n_states < 20_000


@pytest.mark.parametrize(
    ("schema", "instance"),
    [
        ({"prefixItems": [{"const": 5}], "contains": {"const": 1}}, [5, 1]),
        ({"prefixItems": [{"const": []}], "contains": {"const": {}}}, [[], {}]),
        ({"prefixItems": [{"const": 5}], "contains": {"minimum": 7}}, [5, 2, 9]),
    ],
)
def test_unique_items_beside_one_that_is_needed_later(schema, instance):
    compiled = fm.GrammarCompiler(fm.toy.VOCABULARY).compile_json_schema(
        {"type": "array", "uniqueItems": True, **schema}
    )
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes(json.dumps(instance))
    assert matcher.is_completed()
    again = json.dumps([*instance, instance[0]])
    assert not fm.GrammarMatcher(compiled).accept_bytes(again)


@pytest.mark.large
@pytest.mark.parametrize(
    ("schema", "length"),
    [
        ({"minItems": 1_000}, 1_000),
        ({"items": {"type": "integer"}, "minItems": 300}, 300),
        ({"items": {"enum": list(range(40))}, "minItems": 40}, 40),
        ({"items": {"enum": list(range(40))}, "prefixItems": [{"const": 0}], "minItems": 40}, 40),
    ],
)
def test_many_different_items(schema, length):
    schema = {"type": "array", "uniqueItems": True, **schema}
    compiled = fm.GrammarCompiler(fm.toy.VOCABULARY).compile_json_schema(schema)
    text = json.dumps(list(range(length)))
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes(text)
    assert matcher.is_completed()
    assert not fm.GrammarMatcher(compiled).accept_bytes(json.dumps([*range(length - 1), 0]))
    assert not fm.GrammarMatcher(compiled).accept_bytes(json.dumps([*range(length - 1)]))


LONG_RUN = [
    {"items": {**STRING, "pattern": "^[ab]+$"}},
    {"items": {**STRING, "maxLength": 40}, "maxItems": 4},
    {"items": {**INTEGER, "minimum": 0, "maximum": 500}, "minItems": 2},
    {"items": {"type": "array", "prefixItems": [INTEGER], "items": False}, "maxItems": 9},
]


@pytest.mark.parametrize("schema", LONG_RUN)
@pytest.mark.parametrize("before", ["", "="])
def test_what_texts_make_of_a_schema_is_forgotten(schema, before, monkeypatch):
    """Over one compiled schema as many texts as there may be formulas go on to have their masks."""
    monkeypatch.setattr(formulas, "_FORMULA_LIMIT", 300)
    chooser = random.Random(7)
    grammar = fm.Grammar.from_json_schema({**ENDLESS, **schema})
    if before:
        grammar = fm.Grammar.concat(fm.Grammar.from_choices([before]), grammar)
    compiled = fm.CompiledGrammar(grammar, VOCABULARY)
    matcher = fm.GrammarMatcher(compiled)
    for n in range(150 if JIT_ENABLED else 3):
        matcher.reset()
        if schema["items"]["type"] == "string":
            words = {"".join(chooser.choices("ab", k=chooser.randint(1, 9))) for _ in range(4)}
            items = sorted(words)
        else:
            items = chooser.sample(range(500), 4)
        if schema["items"]["type"] == "array":
            items = [[item] for item in items]
        text = before + json.dumps(items)
        for at, character in enumerate(text):
            if at % 7 == n % 7:
                allowed = matcher.next_token_bitmask()
                for token in chooser.sample(range(257, VOCABULARY.size), 12):
                    is_set = bool(allowed[token >> 5] >> (token & 31) & 1)
                    assert matcher.is_token_allowed(token) == is_set
            assert matcher.accept_bytes(character), (text, at)
        assert matcher.is_completed()
        assert not matcher.accept_bytes("]")


def test_a_mask_says_so_where_there_are_too_many_formulas(monkeypatch):
    """A mask has all tokens that are accepted, or none."""
    monkeypatch.setattr(formulas, "_FORMULA_LIMIT", 40)
    schema = {**ENDLESS, "items": {**STRING, "format": "date"}, "minItems": 2}
    compiled = fm.GrammarCompiler(VOCABULARY).compile_json_schema(schema)
    matcher = fm.GrammarMatcher(compiled)
    days = iter([f"20{n // 28 + 10}-01-{n % 28 + 1:02}" for n in range(400)])

    def go_on_for_ever() -> None:
        opening = '["'
        while True:
            assert matcher.accept_bytes(opening + next(days))
            single = {i for i in range(257, VOCABULARY.size) if matcher.is_token_allowed(i)}
            assert single == set(matcher.allowed_token_ids().tolist()) - set(range(257))
            opening = '","'

    with pytest.raises(fm.BudgetError, match="40 formulas"):
        go_on_for_ever()
    with pytest.raises(fm.BudgetError, match="40 formulas"):
        matcher.next_token_bitmask()


@pytest.mark.large
def test_every_way_to_count_is_tried_where_items_differ():
    # Only the second item can be the one: the first would leave 3 to the second and the third.
    schema = {
        "type": "array",
        "prefixItems": [{"enum": [1, 2]}, {"enum": [1, 3]}, {"const": 3}],
        "contains": {"const": 1},
        "maxContains": 1,
        "uniqueItems": True,
        "minItems": 3,
    }
    compiled = fm.GrammarCompiler(fm.toy.VOCABULARY).compile_json_schema(schema)
    for text, valid in (("[2, 1, 3]", True), ("[1, 3, 3]", False), ("[1, 1, 3]", False)):
        assert fm.GrammarMatcher(compiled).accept_bytes(text) is valid


@pytest.mark.parametrize(
    ("items", "some"),
    [
        (STRING, ["ab", "", "b"]),
        ({**STRING, "maxLength": 40}, ["ab", "", "b"]),
        ({**STRING, "pattern": "^[ab]*$"}, ["ab", "", "b"]),
        ({**INTEGER, "minimum": 0, "maximum": 30}, [2, 0, 12]),
        ({**CLOSED, "required": ["a"], "properties": {"a": STRING, "b": INTEGER}}, [{"a": "b"}]),
    ],
)
@pytest.mark.parametrize("lacking", [b"", b"\xf1\xf2"])
def test_masks_behind_items_are_there_without_their_text(items, some, lacking):
    """Of endlessly many items, or many, the next one may begin whatever the last one was."""
    tokens = [token if token not in [bytes([b]) for b in lacking] else b"a" for token in BYTES]
    vocabulary = fm.Vocabulary(
        [*tokens, b"<end>", b'",', b'", "', b" ,", b"},", b'"},{"'], eos_token_ids=[256]
    )
    schema = {**ENDLESS, "items": items, "maxItems": 4}
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), vocabulary)
    matcher = fm.GrammarMatcher(compiled)
    matcher.next_token_bitmask()
    assert matcher.accept_bytes(json.dumps(some)[:-1])
    assert np.array_equal(matcher.naive_row(), matcher.next_token_bitmask())
    doubtful = [known for known in compiled.arena.rows.doubtful.values() if known]
    assert doubtful == []


@pytest.mark.parametrize(
    "items", [STRING, {**STRING, "maxLength": 40}, {"type": ["string", "array"]}]
)
@pytest.mark.parametrize(
    ("before", "token", "is_allowed"),
    [
        ('["a', b'","b","', True),
        ('["', b'","b","', True),
        ('["b', b'","b","', False),
        ('["b","a', b'","b","', False),
        ('["c","a', b'","b","', True),
        ('["d","c","a', b'","b","', False),  # the fifth item
        ('["\\u0062', b'","b","', False),
        ('["\\u0061', b'","b","', True),
        ('["ab', b'b","a","', True),
        ('["a","b', b'b","a","', False),
        ('["d","c","ab', b'b","a","', False),
        ('["', b'","","', False),
        ('["a', b'","","', True),
        ('["a","","b', b'","","', False),
    ],
)
def test_a_token_with_items_is_told_for_any_item_before(items, before, token, is_allowed):
    """Which is read once: then the item before only must not be one of those in the token."""
    schema = {**ENDLESS, "items": items, "maxItems": 4}
    grammar = fm.Grammar.from_json_schema(schema, strings="any")
    compiled = fm.CompiledGrammar(grammar, VOCABULARY)
    token_id = VOCABULARY.tokens.index(token)
    for _ in range(2):
        matcher = fm.GrammarMatcher(compiled)
        assert matcher.accept_bytes(before)
        assert (token_id in matcher.allowed_token_ids()) is is_allowed
        assert matcher.is_token_allowed(token_id) is is_allowed
        assert np.array_equal(matcher.naive_row(), matcher.next_token_bitmask())


def test_where_items_are_endless_no_text_is_read_for_every_mask():
    schema = {**ENDLESS, "items": {**STRING, "maxLength": 90}}
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes('["a","')
    for _ in range(40):
        matcher.next_token_bitmask()
        assert matcher.accept_bytes("c")
    assert len(compiled.tables.registers.texts) < 10


@pytest.mark.parametrize("most", [0, 1, 2, 7, 2**31, 2**63 + 1, 10**30, None])
@pytest.mark.parametrize("least", [0, 1, 2, 7, 2**63 + 1, 1e300])
def test_items_are_counted_whatever_the_bounds(least, most):
    if most is not None and least > most:
        return
    schema = {"type": "array", "items": {"type": "boolean"}, "minItems": least}
    if most is not None:
        schema["maxItems"] = most
    compiled = fm.GrammarCompiler(VOCABULARY).compile_json_schema(schema, whitespace="none")
    for n in range(10):
        matcher = fm.GrammarMatcher(compiled)
        text = json.dumps([True] * n, separators=(",", ":")).encode()
        fits = most is None or n <= most
        assert matcher.accept_bytes(text[:-1]) == fits
        if fits:
            assert (matcher.next_token_bitmask() == matcher.naive_row()).all()
            assert matcher.accept_bytes(b"]") == (least <= n)
