"""Many alternatives of one object: verdicts, masks, and how many threads they take."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema_rs
import numpy as np
import pytest

import fastmask as fm

WORDS = ["a", "b", "ab", "éé", "c"]
VOCABULARY = fm.Vocabulary(
    [
        *(bytes([i]) for i in range(256)),
        b"<end>",
        *(b'"a":', b'{"', b'", "', b'": "', b'a"', b'"}', b'"ab', b'{"a": "b"}', b": 1", b'"type'),
    ],
    eos_token_ids=[256],
)


def member(chooser: random.Random) -> Any:
    return chooser.choice(
        [
            {"const": chooser.choice(WORDS)},
            {"const": chooser.choice(WORDS)},
            {"enum": chooser.sample([*WORDS, 1, True], 2)},
            {"type": chooser.choice(["string", "integer", "boolean", "array"])},
            {"type": "object", "properties": {"a": {"const": "b"}}, "required": ["a"]},
            chooser.choice([True, False]),
        ]
    )


def alternative(chooser: random.Random) -> dict[str, Any]:
    keys = chooser.sample(["a", "b", "ab", "type"], chooser.randint(1, 3))
    schema: dict[str, Any] = {"type": "object", "properties": {k: member(chooser) for k in keys}}
    if chooser.random() < 0.7:
        schema["required"] = chooser.sample(keys, chooser.randint(1, len(keys)))
    if chooser.random() < 0.6:
        schema["additionalProperties"] = chooser.choice([False, False, {"type": "integer"}])
    if chooser.random() < 0.3:
        schema[chooser.choice(["minProperties", "maxProperties"])] = chooser.randint(1, 3)
    return schema


def instance(chooser: random.Random) -> dict[str, Any]:
    values = [*WORDS, 1, 2, True, [], {"a": "b"}, {"a": "a"}]
    keys = chooser.sample(["a", "b", "ab", "type", "z"], chooser.randint(0, 4))
    return {key: chooser.choice(values) for key in keys}


@pytest.mark.large
@pytest.mark.parametrize("seed", range(20))
def test_random_alternatives(seed):
    chooser = random.Random(seed)
    schema = {"anyOf": [alternative(chooser) for _ in range(chooser.randint(4, 7))]}
    is_valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    try:
        grammar = fm.Grammar.from_json_schema(schema)
    except fm.UnsatisfiableGrammarError:
        assert not any(is_valid(instance(chooser)) for _ in range(50))
        return
    compiled = fm.CompiledGrammar(grammar, VOCABULARY)
    for turn in range(25):
        value = instance(chooser)
        text = json.dumps(value, ensure_ascii=chooser.random() < 0.5)
        matcher = fm.GrammarMatcher(compiled)
        assert (matcher.accept_bytes(text) and matcher.is_completed()) == is_valid(value), text
        matcher.reset()
        for byte in text.encode() if turn < 4 else b"":
            row = matcher.next_token_bitmask()
            assert np.array_equal(row, matcher.naive_row())
            single = [i for i in range(VOCABULARY.size) if matcher.is_token_allowed(i)]
            assert sorted({*single, 256} if matcher.is_completed() else single) == (
                matcher.allowed_token_ids().tolist()
            )
            if not matcher.accept_bytes(bytes([byte])):
                break


@pytest.mark.parametrize("seed", range(10))
def test_walks_are_finished(seed):
    chooser = random.Random(100 + seed)
    schema = {"anyOf": [alternative(chooser) for _ in range(5)]}
    is_valid = jsonschema_rs.Draft202012Validator(schema).is_valid
    compiled = fm.CompiledGrammar(fm.Grammar.from_json_schema(schema), VOCABULARY)
    matcher = fm.GrammarMatcher(compiled)
    text = b""
    for _ in range(200):
        ids = matcher.allowed_token_ids().tolist()
        if 256 in ids:
            assert is_valid(json.loads(text)), text
            return
        likely = [i for i in ids if i > 256 or chr(i) in '"{}[]:,ab1']
        token = chooser.choice(likely or ids)
        assert matcher.accept_token(token)
        text += VOCABULARY.tokens[token]


def tool(number: int) -> dict[str, Any]:
    parameters = {f"p{number % 7}": {"type": "integer"}, "text": {"type": "string"}}
    return {
        "type": "object",
        "properties": {
            "name": {"const": f"tool_{number}"},
            "parameters": {
                "type": "object",
                "properties": parameters,
                "required": list(parameters)[: 1 + number % 2],
                "additionalProperties": False,
            },
        },
        "required": ["name", "parameters"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("name_first", [True, False])
def test_four_hundred_tools_are_one_thread_once_named(name_first):
    tools = [tool(number) for number in range(400)]
    compiled = fm.CompiledGrammar(
        fm.Grammar.from_json_schema({"anyOf": tools}), fm.Vocabulary.gpt2()
    )
    call = {"name": "tool_123", "parameters": {"p4": 5, "text": "x"}}
    if not name_first:
        call = dict(reversed(call.items()))
    matcher = fm.GrammarMatcher(compiled)
    text = json.dumps(call)
    for byte in text.encode():
        assert matcher.next_token_bitmask().any()
        assert matcher.accept_bytes(bytes([byte]))
    assert matcher.is_completed()
    matcher.reset()
    wrong = {"name": "tool_123", "parameters": {"p3": 5}}
    assert not matcher.accept_bytes(json.dumps(wrong))
    assert not matcher.accept_bytes('{"name": "tool_400"')
    assert compiled.tables.n_states < 10_000
