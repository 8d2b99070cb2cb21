"""Calls of tools: the name is one of the tools', the arguments fit its input schema."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fastmask import toy
from fastmask.compiler import GrammarCompiler
from fastmask.errors import GrammarError
from fastmask.matcher import GrammarMatcher
from fastmask.sampling import sample, tool_call_grammar, tool_call_schema
from fastmask.vocabulary import Vocabulary

BYTES = Vocabulary([*(bytes([b]) for b in range(256)), b""], eos_token_ids=[256])

PAY = {"name": "pay", "description": "Pay somebody.", "input_schema": toy.PAYMENT_SCHEMA}
TREE = {
    "type": "function",
    "function": {
        "name": "plant",
        "parameters": {
            "$defs": {
                "tree": {
                    "type": "object",
                    "properties": {
                        "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}
                    },
                    "additionalProperties": False,
                }
            },
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/tree"}},
            "required": ["tree"],
            "additionalProperties": False,
        },
    },
}
NOW = {"name": "now"}
TOOLS = [PAY, TREE, NOW]

GOOD = [
    {"name": "pay", "arguments": {"amount": 0.01, "currency": "USD"}},
    {"arguments": {"currency": "GBP", "amount": 3}, "name": "pay"},
    {"name": "plant", "arguments": {"tree": {"children": [{}, {"children": []}]}}},
    {"name": "now", "arguments": {}},
    {"arguments": {}, "name": "now"},
]
BAD = [
    {"name": "pay", "arguments": {"amount": 0, "currency": "USD"}},  # below the minimum
    {"name": "pay", "arguments": {"amount": 1}},
    {"name": "pay", "arguments": {"tree": {}}},  # another tool's
    {"arguments": {"tree": {}}, "name": "pay"},
    {"name": "plant", "arguments": {"tree": {"children": [{"child": 1}]}}},
    {"name": "now", "arguments": {"zone": "UTC"}},
    {"name": "later", "arguments": {}},
    {"name": "now"},
    {"arguments": {}},
    {"name": "now", "arguments": {}, "more": 1},
]


def accepts(grammar, value):
    matcher = GrammarMatcher(GrammarCompiler(BYTES).compile(grammar))
    return matcher.accept_bytes(json.dumps(value)) and matcher.is_completed()


@pytest.mark.parametrize("value", GOOD, ids=json.dumps)
def test_calls_that_fit(value):
    assert accepts(tool_call_grammar(TOOLS), value)


@pytest.mark.parametrize("value", BAD, ids=json.dumps)
def test_calls_that_do_not(value):
    assert not accepts(tool_call_grammar(TOOLS), value)


def test_a_validator_agrees():
    jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed")
    judge = jsonschema_rs.validator_for(tool_call_schema(TOOLS))
    assert all(judge.is_valid(value) for value in GOOD)
    assert not any(judge.is_valid(value) for value in BAD)


def test_the_lessons_payment_is_refused_at_its_amount():
    """The shape alone would accept an amount of 0."""
    matcher = GrammarMatcher(GrammarCompiler(BYTES).compile(tool_call_grammar([PAY])))
    assert matcher.accept_bytes('{"name": "pay", "arguments": {"amount": 0')
    assert not matcher.accept_bytes(",")
    assert matcher.accept_bytes('.01, "currency": "USD"}}')
    assert matcher.is_completed()


def test_once_the_name_is_written_one_tool_is_left():
    matcher = GrammarMatcher(GrammarCompiler(BYTES).compile(tool_call_grammar(TOOLS)))
    assert matcher.accept_bytes('{"name": "p')
    assert bytes(matcher.allowed_token_ids().tolist()) == b"al"
    assert matcher.accept_bytes('ay", "arguments": {"')
    assert bytes(matcher.allowed_token_ids().tolist()) == b"ac"


def test_several_calls_and_other_names():
    grammar = tool_call_grammar(TOOLS, several=True, name_key="tool", arguments_key="input")
    calls = [{"tool": call["name"], "input": call["arguments"]} for call in GOOD]
    assert accepts(grammar, calls)
    assert not accepts(grammar, [])
    assert not accepts(grammar, GOOD)


def test_options_are_those_of_schemas():
    grammar = tool_call_grammar(TOOLS, property_order="schema")
    assert accepts(grammar, GOOD[0])
    assert not accepts(grammar, GOOD[1])


@pytest.mark.large
def test_random_calls_are_valid():
    jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed")
    judge = jsonschema_rs.validator_for(tool_call_schema(TOOLS))
    compiled = GrammarCompiler(BYTES).compile(tool_call_grammar(TOOLS, whitespace="none"))
    rng = np.random.default_rng(0)
    finished = 0
    for _ in range(20):
        found = sample(
            lambda _: np.zeros(257), BYTES, GrammarMatcher(compiled), rng=rng, max_tokens=200
        )
        finished += found.finished
        assert not found.finished or judge.is_valid(json.loads(found.text))
    assert finished > 5


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([], "no tool to call"),
        ([{"input_schema": {}}], "tool 0 has no name"),
        ([NOW, PAY, NOW], "two tools are named 'now'"),
        (NOW, "tools are a list, not one tool"),
    ],
)
def test_errors(tools, message):
    with pytest.raises(GrammarError, match=message):
        tool_call_schema(tools)
