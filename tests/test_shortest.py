"""Shortest completions against a search that reads every byte; steering by them."""

from __future__ import annotations

import gc
import json
import random
import weakref

import numpy as np
import pytest

from fastmask import distances, shortest, toy
from fastmask._jit import JIT_ENABLED
from fastmask.compiler import GrammarCompiler
from fastmask.errors import BudgetError, GrammarError, UnsupportedFeatureError
from fastmask.grammar.core import Grammar
from fastmask.kernels import layout
from fastmask.lesson.figures import toy_matcher
from fastmask.matcher import GrammarMatcher
from fastmask.sampling import (
    Steering,
    count_outcomes,
    count_spellings,
    least_bytes,
    sample,
    shortest_completion,
)
from fastmask.schema_arenas import new_arena
from fastmask.shortest import FewestTokens, completions
from fastmask.vocabulary import Vocabulary
from judge import random_grammar
from schema_cases import SchemaMaker
from walking import run_threads

BYTES = Vocabulary([*(bytes([b]) for b in range(256)), b"<a>", b"<b>", b""], [258], [256, 257])
COMPILER = GrammarCompiler(BYTES)
# What the schemas here are made of, so that trying everything takes no minutes.
FEW = Vocabulary([bytes([b]) for b in b'{}[]":,.-0123457abcdefiklnrstuvxyz '] + [b""], [35])
SCHEMA_COMPILER = GrammarCompiler(FEW)


def judged(matcher, most):
    """The least number of bytes by trying all of them, None above ``most``; atomic tokens too."""
    level = [matcher.fork()]
    seen = set()
    for n in range(most + 1):
        if any(state.is_completed() for state in level):
            return n
        following = []
        for state in level:
            ids = state.allowed_token_ids().tolist()
            for token in ids:
                ahead = state.fork()
                ahead.accept_token(token)
                configuration = int(ahead._words[layout.M_CONFIGURATION])
                if configuration not in seen:
                    seen.add(configuration)
                    following.append(ahead)
        level = following
    return None


def check(matcher, most=8 if JIT_ENABLED else 5, surplus=0):
    """The distance is the judge's, and the completion is one of that length."""
    least = least_bytes(matcher)
    found = judged(matcher, min(most, least))
    if found is None:
        assert least > most
    else:
        assert found <= least <= found + surplus
    completion = shortest_completion(matcher)
    ahead = matcher.fork()
    assert ahead.accept_tokens(completion.token_ids) == len(completion.token_ids)
    assert ahead.is_completed()
    assert least - surplus <= len(completion.token_ids) <= least


def walk(matcher, chooser, steps, examine):
    """Examine every place of a random text."""
    examine(matcher)
    for _ in range(steps):
        ends = matcher.stop_token_ids
        ids = [i for i in matcher.allowed_token_ids().tolist() if i not in ends]
        if not ids:
            break
        matcher.accept_token(chooser.choice(ids))
        examine(matcher)


@pytest.mark.parametrize("block", range(8))
def test_random_grammars(block):
    for seed in range(block, 160 if JIT_ENABLED else 16, 8):
        try:
            compiled = COMPILER.compile(Grammar(random_grammar(seed)))
        except GrammarError:
            continue
        walk(GrammarMatcher(compiled), random.Random(seed), 6, check)


GRAMMARS = {
    "a text": 'root ::= "abcabc"',
    "nested": 'root ::= "a" | "(" root ")" | "[" root "," root "]"',
    "left recursion": 'root ::= root "+" t | t\nt ::= "(" root ")" | [0-9]+',
    "only through another": 'root ::= "a" x\nx ::= "b" y | "c" x\ny ::= "dd" | "e" x',
    "ambiguous": 'root ::= x y | y x\nx ::= "a" | "aa" x\ny ::= "aab" | "b" y',
    "counted": 'root ::= ("ab" | "c"){3,5} "d"',
    "atomic tokens": 'root ::= <[256]> "a" (<[257]> | "bc")',
    "characters": 'root ::= [\u6771\u4eac]{2} "!"',
}


@pytest.mark.parametrize("kind", GRAMMARS)
def test_grammars(kind):
    compiled = COMPILER.compile_gbnf(GRAMMARS[kind])
    for seed in range(4):
        walk(GrammarMatcher(compiled), random.Random(seed), 10, check)


SCHEMAS = {
    "any": True,
    "constants": {"enum": ["ab", 12, None, [1], {"a": 1}]},
    "scalars": {"type": ["integer", "boolean"], "minimum": 100},
    "long string": {"type": "string", "minLength": 5, "maxLength": 9},
    "pattern": {"type": "string", "pattern": "^a+bc$"},
    "array": {"type": "array", "minItems": 2, "items": {"enum": [10, 200]}},
    "tuple": {"type": "array", "prefixItems": [{"const": 1}, {"type": "array"}], "minItems": 3},
    "contains": {"type": "array", "contains": {"const": 77}, "items": {"type": "integer"}},
    "required": {"properties": {"a": {"enum": [1]}}, "required": ["a"], "type": "object"},
    "in order": {"type": "object", "required": ["b"], "properties": {"a": True, "b": {"const": 5}}},
    "recursive": {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}},
        "required": ["v"],
        "additionalProperties": False,
    },
    "at least two keys": {
        "type": "object",
        "properties": {"aa": {"const": 1}, "b": {"const": 222}, "c": {"const": 3}},
        "additionalProperties": False,
        "minProperties": 2,
    },
    "keys of a pattern": {
        "type": "object",
        "patternProperties": {"^xy": {"const": 1}},
        "additionalProperties": False,
        "minProperties": 1,
    },
    "some member": {"type": "object", "not": {"additionalProperties": {"type": "number"}}},
    "either": {
        "anyOf": [
            {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "x"}}},
            {"type": "object", "required": ["k"], "properties": {"k": {"const": "yyyyy"}}},
        ]
    },
    "many alternatives": {
        "anyOf": [
            {
                "type": "object",
                "properties": {"k": {"const": kind}, own: {"const": 1}, "x": {"const": 2}},
                "required": ["k", own],
                "additionalProperties": False,
            }
            for kind, own in (("a", "bb"), ("ab", "c"), ("b", "dd"), ("cc", "e"), ("d", "ff"))
        ]
    },
    "if": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {"const": 1}},
        "additionalProperties": False,
        "if": {"properties": {"a": {"const": True}}, "required": ["a"]},
        "then": {"required": ["b"]},
    },
}


@pytest.mark.large
@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("kind", SCHEMAS)
def test_schemas(kind, order):
    compiled = SCHEMA_COMPILER.compile_json_schema(
        SCHEMAS[kind], property_order=order, whitespace="none"
    )
    for seed in range(3):
        walk(GrammarMatcher(compiled), random.Random(seed), 12, lambda m: check(m, 6))


def test_keys_in_order_leave_no_dead_end():
    """With the last key first, two would never be reached."""
    compiled = COMPILER.compile_json_schema(SCHEMAS["at least two keys"], property_order="schema")
    matcher = GrammarMatcher(compiled)
    assert not matcher.accept_bytes('{"c"')
    assert matcher.accept_bytes('{"b":222,')
    assert not matcher.accept_bytes('"aa"')
    assert matcher.accept_bytes('"c":3}')


@pytest.mark.large
def test_layouts():
    for options in ({"indent": 2}, {"separators": (" , ", " : ")}, {"whitespace": "formatted"}):
        compiled = COMPILER.compile_json_schema(toy.PAYMENT_SCHEMA, **options)
        matcher = GrammarMatcher(compiled)
        completion = shortest_completion(matcher)
        assert json.loads(completion.text)["amount"] > 0
        walk(matcher, random.Random(0), 4, lambda m: check(m, 0))


@pytest.mark.large
def test_random_schemas():
    """What a completion makes is judged by a validator; its length by the search, if short."""
    jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed")
    tried = 0
    for seed in range(60):
        schema = SchemaMaker(random.Random(seed)).document(2)
        try:
            compiled = SCHEMA_COMPILER.compile_json_schema(schema, whitespace="none")
            matcher = GrammarMatcher(compiled)
            judge = jsonschema_rs.validator_for(schema)
            for n in (0, 3, 6):
                matcher.reset()
                walk(matcher, random.Random(seed), n, lambda _: None)
                text = matcher._history.tail(1 << 40, b"") + shortest_completion(matcher).text
                assert judge.is_valid(json.loads(text)), (seed, text)
                # While an undeclared key is under way that may be the one to come.
                check(matcher, 5, surplus=2)
        except (GrammarError, UnsupportedFeatureError, BudgetError, ValueError):
            continue
        tried += 1
    assert tried > 30


def test_what_is_known_goes_with_its_grammar():
    compiled = GrammarCompiler(BYTES).compile_regex("[a-z]+!")
    assert least_bytes(GrammarMatcher(compiled)) == 2
    gone = weakref.ref(completions(GrammarMatcher(compiled)))
    del compiled
    gc.collect()
    assert gone() is None


def test_texts_in_two_arenas_and_threads():
    """A matcher keeps its arena when the grammar has begun another; both are asked in turn."""
    compiled = GrammarCompiler(BYTES).compile_gbnf(GRAMMARS["nested"])
    old = GrammarMatcher(compiled)
    compiled._begin_in(new_arena(compiled.tables, 1 << 28))
    new = GrammarMatcher(compiled)
    assert old.accept_bytes("((")
    assert new.accept_bytes("[")
    found = []

    def work(number):
        matcher, rest = ((old, b"a))"), (new, b"a,a]"))[number % 2]
        matcher = matcher.fork()
        for _ in range(20):
            found.append(shortest_completion(matcher).text == rest)

    run_threads(work, 4)
    assert found == [True] * 80


def test_what_is_kept_is_bounded(monkeypatch):
    """With next to nothing kept all of it is found again, and the same."""
    monkeypatch.setattr(distances, "_MOST_KEPT", 3)
    monkeypatch.setattr(shortest, "_MOST_KEPT", 2)
    monkeypatch.setattr(shortest, "_MOST_BYTES", 10)
    compiled = GrammarCompiler(BYTES).compile_gbnf(GRAMMARS["nested"])
    for seed in range(3):
        walk(GrammarMatcher(compiled), random.Random(seed), 8, lambda m: check(m, 3))
    known = completions(GrammarMatcher(compiled))
    assert len(known._pieces) <= 2


def test_what_a_matcher_says_of_itself():
    compiled = COMPILER.compile_regex("[ab]c?")
    matcher = GrammarMatcher(compiled)
    assert matcher.stop_token_ids == (258,)
    assert GrammarMatcher(compiled, stop_token_ids=[257, 5]).stop_token_ids == (5, 257)
    assert not matcher.ends_by_itself
    assert GrammarMatcher(compiled, terminate_without_stop_token=True).ends_by_itself
    assert matcher.next_bytes() == [*b"ab"]
    assert matcher.next_bytes(range(255, -1, -1)) == [*b"ba"]
    assert matcher.accept_bytes("a")
    assert matcher.accept_token(258)
    assert matcher.next_bytes() == []
    assert least_bytes(matcher) == 0
    assert shortest_completion(matcher).token_ids == ()


# Tokens


def test_fewest_tokens():
    tokens = [b"a", b"b", b"ab", b"abc", b"bc", b"cd", b"d", b""]
    fewest = FewestTokens(Vocabulary(tokens, [7]))
    spelled = {text: fewest(text) for text in (b"", b"ab", b"abcd", b"abcbc", b"c", b"ac")}
    assert spelled == {
        b"": (),
        b"ab": (2,),
        b"abcd": (3, 6),
        b"abcbc": (3, 4),
        b"c": None,
        b"ac": None,
    }


@pytest.mark.large
def test_fewest_tokens_of_a_real_vocabulary():
    vocabulary = Vocabulary.gpt2()
    fewest = FewestTokens(vocabulary)
    for text in (b'{"name":"","age":0}', b"the shortest way there", "\u6771\u4eac".encode()):
        token_ids = fewest(text)
        assert b"".join(vocabulary.tokens[i] for i in token_ids) == text
        if len(text) < 20:
            from fastmask.sampling import spellings

            assert count_spellings(text, vocabulary) > 0
            assert len(token_ids) == min(map(len, spellings(text, vocabulary)))


def test_tokens_in_time_are_those_that_leave_time():
    """Every allowed token tried on its own, for every budget."""
    matcher = toy_matcher("person")
    known = completions(matcher)
    rng = random.Random(0)
    for _ in range(25):
        allowed = matcher.allowed_token_ids().tolist()
        for budget in (0, 1, 4, 8, 12, 16):
            expected = []
            for token in allowed:
                ahead = matcher.fork()
                ahead.accept_token(token)
                ended = ahead.is_terminated()
                needed = 0 if ended else len(shortest_completion(ahead).token_ids) + 1
                if needed <= budget - 1:
                    expected.append(token)
            assert known.tokens_in_time(matcher, budget).tolist() == expected
        matcher.accept_token(rng.choice(allowed))
        if matcher.is_terminated():
            matcher.reset()


# Steering


def person_answers(steer, n=200):
    rng = np.random.default_rng(0)
    model = toy.ToyModel(toy.PERSON_REFERENCE).on_tokens(rng)
    return [
        sample(model, toy.VOCABULARY, toy_matcher("person"), rng=rng, max_tokens=40, steer=steer)
        for _ in range(n)
    ]


def is_person(text):
    value = json.loads(text)
    return (
        {"name", "age"} <= set(value) <= {"name", "age", "pets"}
        and isinstance(value["name"], str)
        and isinstance(value["age"], int)
        and set(value.get("pets", [])) <= {"cat", "dog"}
    )


@pytest.mark.large
def test_the_person_task_always_finishes():
    """The lesson's 200 answers: 195 finish within 40 tokens, all 200 when steered."""
    plain = count_outcomes(person_answers(False), is_person)
    steered = count_outcomes(person_answers(True), is_person)
    assert (plain.valid, plain.cut_off) == (195, 5)
    assert (steered.valid, steered.cut_off) == (200, 0)


def test_with_time_enough_steering_changes_nothing():
    plain, steered = person_answers(False, 20), person_answers(True, 20)
    assert all(answer.finished for answer in plain)
    assert plain == steered


NESTED = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "size": {"type": "number"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name", "children"],
            "additionalProperties": False,
        }
    },
    "$ref": "#/$defs/node",
}


@pytest.mark.large
@pytest.mark.parametrize("budget", [8, 9, 12, 20, 50])
def test_nested_json_always_finishes(budget):
    """A model that draws tokens at random, so that most answers would never end."""
    jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed")
    judge = jsonschema_rs.validator_for(NESTED)
    vocabulary = Vocabulary.gpt2()
    compiled = GrammarCompiler(vocabulary).compile_json_schema(NESTED, whitespace="none")
    rng = np.random.default_rng(budget)
    lengths = []
    for _ in range(10):
        answer = sample(
            lambda _: rng.normal(0, 2, vocabulary.size),
            vocabulary,
            GrammarMatcher(compiled),
            rng=rng,
            max_tokens=budget,
            steer=True,
        )
        assert answer.finished
        assert judge.is_valid(json.loads(answer.text))
        lengths.append(len(answer.token_ids))
    assert max(lengths) <= budget


@pytest.mark.large
def test_any_json_always_finishes():
    vocabulary = Vocabulary.gpt2()
    compiled = GrammarCompiler(vocabulary).compile_json()
    brackets = [*vocabulary.ids_of(b"["), *vocabulary.ids_of(b'{"')]
    rng = np.random.default_rng(0)

    def model(_):
        """It keeps opening brackets."""
        logits = rng.normal(0, 1, vocabulary.size)
        logits[brackets] += 14
        return logits

    for budget in (2, 3, 5, 10, 40):
        matcher = GrammarMatcher(compiled)
        answer = sample(model, vocabulary, matcher, rng=rng, max_tokens=budget, steer=True)
        assert answer.finished
        json.loads(answer.text)


def test_a_model_that_gives_no_way_out_a_chance():
    """It never closes the quote: the shortest completion is written for it."""
    compiled = COMPILER.compile_regex('"[a-z]*"')

    def model(token_ids):
        logits = np.full(259, -np.inf)
        logits[ord("a") if token_ids else ord('"')] = 0
        logits[258] = 0
        return logits

    matcher = GrammarMatcher(compiled)
    rng = np.random.default_rng(0)
    answer = sample(model, BYTES, matcher, rng=rng, max_tokens=8, steer=True)
    assert answer.text == b'"aaaaa"'
    assert answer.finished


@pytest.mark.large
@pytest.mark.parametrize("greedy", [True, False])
def test_undeclared_keys(greedy):
    """An object that needs undeclared keys: which are used up is known only once they end."""
    compiled = COMPILER.compile_json_schema(
        {"type": "object", "minProperties": 3}, whitespace="none"
    )
    rng = np.random.default_rng(0)
    for budget in range(19, 30):
        answer = sample(
            lambda _: rng.normal(0, 1, 259),
            BYTES,
            GrammarMatcher(compiled),
            rng=rng,
            max_tokens=budget,
            steer=True,
            greedy=greedy,
        )
        assert answer.finished
        assert len(json.loads(answer.text)) >= 3


def test_a_budget_below_the_shortest_answer():
    matcher = GrammarMatcher(COMPILER.compile_regex("abc"))
    with pytest.raises(BudgetError, match=r"3 tokens: the shortest valid answer needs more"):
        Steering(matcher, 3)
    Steering(matcher, 4)
    ending = GrammarMatcher(COMPILER.compile_regex("abc"), terminate_without_stop_token=True)
    Steering(ending, 3)


def test_steering_needs_a_matcher():
    with pytest.raises(ValueError, match="without a matcher"):
        sample(lambda _: np.zeros(259), BYTES, rng=np.random.default_rng(0), steer=True)


def test_keys_out_of_a_few_that_are_half_read():
    names = [["1", "3"], ["2", "3", "11"], ["2", "4", "5"], ["1", "2", "5"]]
    schema = {
        "type": "object",
        "patternProperties": {"^[0-9]$": {"type": "array", "minItems": 2}},
        "additionalProperties": False,
        "not": {"anyOf": [{"propertyNames": {"not": {"enum": some}}} for some in names]},
        "maxProperties": 2,
    }
    compiled = GrammarCompiler(toy.VOCABULARY).compile_json_schema(schema)
    text = '{"1":[1,1],"2":[1,1]}'
    for i in range(len(text)):
        matcher = GrammarMatcher(compiled)
        assert matcher.accept_bytes(text[:i])
        found = completions(matcher)
        assert found.least_bytes(matcher) == len(text) - i
        rest = found.completion(matcher).text
        assert len(rest) == len(text) - i
        assert matcher.accept_bytes(rest)
        assert matcher.is_completed()


def test_an_escaped_quote_in_a_key_begins_no_key():
    schema = {
        "type": "object",
        "properties": {"zip code": {"const": 1}, "type": {"const": 2}},
        "required": ["zip code", "type"],
        "patternProperties": {"s$": {"type": "object", "maxProperties": 0}},
        "additionalProperties": False,
    }
    compiled = COMPILER.compile_json_schema(schema, strings="any", whitespace="none")
    matcher = GrammarMatcher(compiled)
    rest = '\\"s":{},"zip code":1,"type":2}'
    assert matcher.accept_bytes('{"a')
    assert completions(matcher).least_bytes(matcher) == len(rest) - 2
    for i in range(len(rest)):
        assert completions(matcher).least_bytes(matcher) == len(rest) - max(i, 2 * (i == 0))
        assert matcher.accept_bytes(rest[i])
    assert matcher.is_completed()


def test_a_number_that_has_to_differ_from_the_only_short_item():
    schema = {
        "type": "array",
        "prefixItems": [{"type": "number", "minimum": 0.5, "exclusiveMaximum": 10}],
        "items": {"enum": ["red", "green", 1, None]},
        "minItems": 2,
        "maxItems": 2,
        "uniqueItems": True,
    }
    matcher = GrammarMatcher(COMPILER.compile_json_schema(schema, whitespace="none"))
    assert shortest_completion(matcher).text == b"[2,1]"
    assert matcher.accept_bytes(b"[1")
    assert matcher.accept_bytes(shortest_completion(matcher).text)
    assert matcher.is_completed()


SMALL = Vocabulary([bytes([b]) for b in b'{}[]":,1a'] + [b""], [9])


def least_judged(matcher, most):
    """The fewest bytes to an end by trying all, whatever their stacks; None above ``most``."""
    level = [matcher]
    for n in range(most + 1):
        if any(state.is_completed() for state in level):
            return n
        following = []
        for state in level if n < most else ():
            for byte in state.next_bytes():
                following.append(state.fork())
                assert following[-1].accept_bytes(bytes([byte]))
        level = following
    return None


ITEMS_THAT_MATTER = {
    "different strings": {"items": {"type": "string"}, "minItems": 3, "uniqueItems": True},
    "different items": {"minItems": 3, "uniqueItems": True},
    "two equal strings": {"items": {"type": "string"}, "not": {"uniqueItems": True}},
    "different arrays": {
        "items": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "minItems": 2,
        "uniqueItems": True,
    },
    "different objects": {
        "items": {
            "type": "object",
            "patternProperties": {"^a": {"enum": [1, 11]}},
            "additionalProperties": False,
        },
        "minItems": 2,
        "uniqueItems": True,
    },
}


@pytest.mark.large
@pytest.mark.parametrize("kind", ITEMS_THAT_MATTER)
def test_what_an_item_under_way_is_counts(kind):
    schema = {"type": "array", **ITEMS_THAT_MATTER[kind]}
    grammar = Grammar.from_json_schema(schema, whitespace="none")

    def examine(matcher):
        completion = shortest_completion(matcher)
        ahead = matcher.fork()
        assert ahead.accept_bytes(completion.text)
        assert ahead.is_completed()
        least = least_bytes(matcher)
        assert len(completion.text) == least
        assert least_judged(matcher, min(3, least)) in {None, least}

    for seed in range(8):
        compiled = GrammarCompiler(SMALL).compile(grammar)
        walk(GrammarMatcher(compiled), random.Random(seed), 8, examine)


@pytest.mark.parametrize(
    ("more", "text", "completion"),
    [
        ({"minItems": 3}, "[", "1,1,1]"),
        ({"minItems": 3}, "[{},", "1,1]"),
        ({"minItems": 3}, "[true,", "1,1]"),
        ({"minItems": 3}, "[[],{},", "{}]"),
        ({"items": {"enum": [1000, 2, True]}}, "[", "2,2]"),
        ({"contains": {"const": True}, "maxItems": 3}, "[{},", "{},true]"),
    ],
)
def test_an_item_that_has_to_come_twice_is_a_short_one(more, text, completion):
    schema = {"type": "array", "not": {"uniqueItems": True}, **more}
    matcher = GrammarMatcher(COMPILER.compile_json_schema(schema, whitespace="none"))
    assert matcher.accept_bytes(text)
    assert least_bytes(matcher) == len(completion)
    assert len(shortest_completion(matcher).text) == len(completion)


def test_the_cheapest_keys_are_chosen():
    kinds = [("integer", 1), ("boolean", 4), ("null", 4)]
    named = {f"k{i}": {"type": kinds[i % 3][0]} for i in range(60)}
    # Bytes of a key, its member, two quotes, a colon and a comma.
    sizes = {name: len(name) + kinds[i % 3][1] + 4 for i, name in enumerate(named)}
    fresh = [5, *[6] * 60]
    schema = {"type": "object", "properties": named, "minProperties": 30}
    closed = {**schema, "additionalProperties": False}

    def check(schema, text, best):
        matcher = GrammarMatcher(COMPILER.compile_json_schema(schema, whitespace="none"))
        assert matcher.accept_bytes(text)
        completion = shortest_completion(matcher)
        assert len(completion.text) == least_bytes(matcher) == best
        assert matcher.accept_bytes(completion.text)
        assert matcher.is_completed()

    others = sorted(size for name, size in sizes.items() if name not in {"k1", "k59"})
    check(closed, "", 1 + sum(sorted(sizes.values())[:30]))
    check(closed, '{"k59":null', 1 + sum(sorted([*others, sizes["k1"]])[:29]))
    check({**closed, "required": ["k1"]}, '{"k59":null', 1 + sizes["k1"] + sum(others[:28]))
    check(schema, "", 1 + sum(fresh[:30]))
    check(schema, '{"":0', 1 + sum(fresh[1:30]))
    check({**schema, "required": ["k1"]}, "", 1 + sizes["k1"] + sum(fresh[:29]))
    check({**schema, "required": ["k1"]}, '{"k59":null', 1 + sizes["k1"] + sum(fresh[:28]))


@pytest.mark.large
def test_the_completion_of_many_different_items():
    schema = {
        "type": "array",
        "items": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        "minItems": 40,
        "uniqueItems": True,
    }
    matcher = GrammarMatcher(COMPILER.compile_json_schema(schema, whitespace="none"))
    assert matcher.accept_bytes("[[1,2")
    assert least_bytes(matcher) == len("],[") + 10 * 2 + 29 * 3 + 38 * 2 + len("]]") - 1


def test_a_search_that_takes_too_long_is_given_up(monkeypatch):
    compiled = GrammarCompiler(BYTES).compile_json_schema({"type": "object", "minProperties": 9})
    with monkeypatch.context() as patched:
        patched.setattr(distances, "_SECONDS", -1.0)
        with pytest.raises(BudgetError, match="seconds"):
            shortest_completion(GrammarMatcher(compiled))
    assert len(json.loads(shortest_completion(GrammarMatcher(compiled)).text)) == 9
