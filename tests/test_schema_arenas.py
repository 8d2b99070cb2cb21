"""Schemas that share tables: what is shared, what is not, and that nobody can tell."""

from __future__ import annotations

import itertools
import json
import random

import jsonschema_rs
import numpy as np
import pytest

import fastmask as fm
from fastmask import schema_arenas
from fastmask.schema.forms import Forms
from fastmask.schema.normalise import normalise
from fastmask.schema.shared_states import SharedStates
from fastmask.schema_arenas import SchemaArenas
from schema_cases import SchemaMaker

BYTES = fm.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], [256])
DRAFT = "https://json-schema.org/draft/2020-12/schema"


@pytest.fixture
def compiled():
    """What compiles schemas by one compiler."""
    return fm.GrammarCompiler(BYTES).compile_json_schema


NUMBERS: dict = {}


def form(schema, is_large=True):
    """The form of a schema's root."""
    formulas = normalise(
        schema, draft="2020-12", documents={}, formats="assert", unsupported="error"
    )
    return Forms(formulas, NUMBERS).of(formulas.root, is_large)


def test_schemas_of_one_policy_share_an_arena(compiled):
    one, two = compiled({"type": "object"}), compiled({"minLength": 2})
    other = compiled({"type": "object"}, whitespace="none")
    assert one.arena is two.arena
    assert other.arena is not one.arena


def test_what_one_schema_had_made_the_next_one_finds(compiled):
    first = compiled({"properties": {"a": {"type": "string", "format": "date"}}})
    matcher = fm.GrammarMatcher(first)
    assert matcher.accept_bytes(b'{"a": "2024-02-29"}')
    made = first.tables.n_states
    second = compiled({"items": {"format": "date", "type": "string", "title": "a day"}})
    matcher = fm.GrammarMatcher(second)
    assert matcher.accept_bytes(b'["2024-02-29"]')
    assert not matcher.accept_bytes(b"x")
    assert second.tables.n_states - made < 40  # an automaton of dates has more


def test_an_arena_that_is_full_takes_no_schema_more(monkeypatch):
    arenas = SchemaArenas(BYTES, 1, 1 << 20)
    first = arenas.take("policy")
    assert arenas.take("policy") is first
    monkeypatch.setattr(schema_arenas, "_MOST_STATES", first.tables.n_states - 1)
    assert arenas.take("policy") is not first


@pytest.mark.large
def test_an_arena_in_which_texts_no_longer_begin_takes_no_schema_more(compiled):
    large = compiled({"type": "string", "format": "idn-hostname"})
    matcher = fm.GrammarMatcher(large)
    assert matcher.accept_bytes('"bücher.example'.encode())
    assert large.tables.share_used > schema_arenas.WORN
    others = [compiled({"type": "string", "maxLength": n}) for n in range(2)]
    matchers = [fm.GrammarMatcher(other) for other in others]
    assert all(matcher.accept_bytes(b'"') for matcher in matchers)
    assert others[0].arena is others[1].arena
    assert others[0].arena is not large.arena


def test_an_arena_takes_only_so_many_schemas(compiled, monkeypatch):
    """A text looks at all of them where it begins."""
    monkeypatch.setattr(schema_arenas, "_MOST_SCHEMAS", 2)
    arenas = [compiled({"maxLength": 2, "title": str(n)}).arena for n in range(7)]
    assert [arenas.count(arena) for arena in arenas] == [3, 3, 3, 3, 3, 3, 1]


def test_arenas_of_many_policies_are_let_go():
    arenas = SchemaArenas(BYTES, 1, 1 << 20)
    first = arenas.take(0)
    for policy in range(1, 9):
        arenas.take(policy)
    assert arenas.take(0) is not first


def test_grammars_without_a_compiler_and_cleared_compilers_begin_anew():
    compiler = fm.GrammarCompiler(BYTES)
    grammar = fm.Grammar.from_json_schema({"type": "object"})
    first = compiler.compile(grammar)
    compiler.clear_cache()
    arenas = [
        first.arena,
        compiler.compile(grammar).arena,
        fm.CompiledGrammar(grammar, BYTES).arena,
    ]
    assert len(set(arenas)) == 3


def test_a_cache_counts_what_schemas_share_once(compiled):
    compiler = fm.GrammarCompiler(BYTES)
    sizes = []
    for n in range(4):
        grammar = compiler.compile_json_schema({"type": "string", "minLength": n})
        sizes.append((compiler.cache_size_bytes, grammar.memory_size_bytes))
    assert all(cache == own for cache, own in sizes)


def test_a_schema_of_many_states_gets_an_arena_of_its_own(compiled):
    """And stays there, however much of the room its texts need."""
    neighbour = compiled({"type": "string"})
    large = compiled({"type": "string", "format": "idn-hostname"})
    assert large.arena is neighbour.arena
    for _ in range(4):
        matcher = fm.GrammarMatcher(large)
        assert matcher.accept_bytes('"bücher.example'.encode())
    tables = large.tables
    matcher = fm.GrammarMatcher(large)
    assert large.tables is tables
    assert fm.GrammarMatcher(neighbour).accept_bytes(b'"x"')


UNLIKE = (
    {"items": {"type": "string"}, "minItems": 3},
    {"items": {"type": "string", "minItems": 3}},
    {"properties": {"a": {"type": "null"}}, "items": {"type": "null"}},
    {"properties": {"a": {"type": "null"}, "items": {"type": "null"}}},
    {"properties": {"a": {"type": "null"}}, "required": ["a"]},
    {"properties": {"a": {"type": "null"}, "b": True}},
    {"properties": {"a": {"type": "null"}, "b": False}},
    {"properties": {"b": True, "a": {"type": "null"}}},
    {"patternProperties": {"a": {"type": "null"}}},
    {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"minLength": 2}}},
    {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"minLength": 3}}},
    {"prefixItems": [{"type": "string"}, {"type": "null"}]},
    {"prefixItems": [{"type": "string"}], "items": {"type": "null"}},
    {"allOf": [{"minimum": 1}, {"maximum": 2}]},
    {"allOf": [{"minimum": 1, "maximum": 2}]},
    {"anyOf": [{"minimum": 1}, {"maximum": 2}]},
    {"minimum": 1},
    {"minimum": 1.5},
    {"exclusiveMinimum": 1},
    {"multipleOf": 1},
    {"minLength": 1},
    {"maxLength": 1},
    {"pattern": "a"},
    {"format": "date"},
    {"format": "time"},
    {"uniqueItems": True},
    {"enum": ["a", "b"]},
    {"enum": ["a"]},
    {"not": {"enum": ["a"]}},
    {"type": ["string", "null"]},
    {"type": "string"},
    True,
)


@pytest.mark.parametrize(("one", "two"), [*itertools.combinations(UNLIKE, 2)])
def test_forms_of_unlike_schemas_differ(one, two):
    forms = form(one), form(two)
    assert None not in forms
    assert forms[0] != forms[1]


@pytest.mark.parametrize("schema", UNLIKE)
def test_annotations_are_not_part_of_a_form(schema):
    if schema is not True:
        assert form({"title": "a", "$comment": "b", **schema, "examples": [1]}) == form(schema)
    assert form({"items": {"id": "a", "minLength": 2}}) == form({"items": {"minLength": 2}})


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"$ref": "#"}},
        {"properties": {"a": {"items": {"$ref": "#/properties/a"}}}},
        {"items": {"$id": "http://example.org/"}},
        {"$dynamicRef": "#a", "$defs": {"b": {"$dynamicAnchor": "a", "type": "null"}}},
        {"enum": ["a", 1]},
        {"enum": [1e2]},
        {"dependentRequired": {"a": ["b"]}},
    ],
)
def test_what_leads_to_itself_or_elsewhere_has_no_form(schema):
    assert form(schema) is None


@pytest.mark.parametrize("schema", [{"properties": {}}, {"items": {"$ref": "#/$defs/a"}}])
def test_only_large_forms_have_properties_and_references(schema):
    schema = {**schema, "$defs": {"a": {"type": "null"}}}
    assert form(schema) is not None
    assert form(schema, is_large=False) is None


OLD = "http://json-schema.org/draft-04/schema#"


def holds(compiled, schema, text, **options):
    """Whether a text is one of a schema."""
    matcher = fm.GrammarMatcher(compiled(schema, **options))
    return matcher.accept_bytes(text) and matcher.is_completed()


def test_a_node_of_two_drafts_has_two_forms(compiled):
    """Python lets one dict stand in several places."""
    node = {"items": {"const": "a"}, "minItems": 1}  # draft 4 has no const
    part = {"$id": "http://example.org/", "$schema": OLD, "properties": {"x": node}}
    two = {"properties": {"a": part, "b": {"properties": {"c": node}}}}
    assert holds(compiled, two, b'{"a": {"x": ["b"]}}')
    assert not holds(compiled, two, b'{"b": {"c": ["b"]}}')
    open_ = {"properties": {"b": {"properties": {"c": {"items": {}, "minItems": 1}}}}}
    assert holds(compiled, open_, b'{"b": {"c": ["b"]}}')


def test_what_holds_a_resource_has_no_form_though_the_resource_has(compiled):
    whole = {"properties": {"i": {"type": "integer"}}}  # in draft 4 digits alone
    part = {"$id": "http://example.org/", "$schema": OLD, **whole}
    b = {"properties": {"c": part}}
    old = {"properties": {"a": {"$ref": "#/properties/b/properties/c"}, "b": b}}
    new = {"properties": {"b": {"properties": {"c": whole}}}}
    for text in (b'{"a": {"i": 1.0}}', b'{"b": {"c": {"i": 1.0}}}'):
        assert not holds(compiled, old, text, numbers="any")
    assert holds(compiled, new, b'{"b": {"c": {"i": 1.0}}}', numbers="any")


def test_ranges_of_one_number_are_spelled_as_constants_of_the_same_schema(compiled):
    plain = '{"properties": {"b": {"minimum": 1.5, "maximum": 1.5}}}'
    spelled = '{"properties": {"a": {"const": 1.50}, "b": {"minimum": 1.5, "maximum": 1.5}}}'
    for schema, has_both in ((spelled, True), (plain, False)):
        assert holds(compiled, schema, b'{"b": 1.5}')
        assert holds(compiled, schema, b'{"b": 1.50}') is has_both


def test_a_schema_that_is_changed_later_stays_as_it_was(compiled):
    schema = {"properties": {"a": {"maxLength": 2}}}
    short = compiled(schema)
    schema["properties"]["a"]["maxLength"] = 5
    long = compiled(schema)
    for grammar, accepts in ((short, False), (long, True)):
        assert fm.GrammarMatcher(grammar).accept_bytes(b'{"a": "xxxx"}') is accepts


@pytest.mark.parametrize("seed", range(12))
def test_texts_and_masks_are_the_same_beside_others(compiled, seed):
    """Random schemas in one arena, in turns, against a validator and the naive mask."""
    rng = random.Random(seed)
    cases = []
    while len(cases) < 12:
        schema = SchemaMaker(rng, "2020-12").document(rng.randint(0, 3))
        try:
            cases.append(
                (jsonschema_rs.validator_for(schema), compiled(schema, formats="annotate"))
            )
        except (fm.GrammarError, fm.BudgetError, ValueError):
            continue
    arenas = {id(grammar.arena) for _, grammar in cases}
    assert len(arenas) == 1
    values = [None, True, 0, 1.5, "", "ab", "é", [], [1, "a"], {}, {"a": 1}, {"a": "b", "ab": []}]
    turns = [(case, value) for case in cases for value in values]
    rng.shuffle(turns)
    for (validator, grammar), value in turns:
        text = json.dumps(value, ensure_ascii=False).encode()
        matcher = fm.GrammarMatcher(grammar)
        cut = rng.randrange(len(text) + 1)
        try:
            if matcher.accept_bytes(text[:cut]):
                assert np.array_equal(matcher.next_token_bitmask(), matcher.naive_row())
            is_whole = matcher.accept_bytes(text[cut:]) and matcher.is_completed()
        except fm.BudgetError:
            continue
        assert is_whole == validator.is_valid(value)


def test_members_that_a_budget_cut_off_are_made_by_the_next_schema(compiled, monkeypatch):
    one, two = ({"items": {"properties": {"a": {"maxLength": n}}}} for n in (2, 3))
    arena = compiled(one).arena
    write_gap = SharedStates.write_gap

    def give_up(self, state, inner, kind):
        if kind == "key":
            raise fm.BudgetError("automaton programs", 1, "")
        write_gap(self, state, inner, kind)

    matcher = fm.GrammarMatcher(compiled(one))
    with monkeypatch.context() as patch:
        patch.setattr(SharedStates, "write_gap", give_up)
        with pytest.raises(fm.BudgetError):
            matcher.accept_bytes(b'[{"a": "x"}]')
    other = compiled({**one, "minItems": 1})
    assert other.arena is arena
    assert holds(compiled, {"items": {"properties": {"c": True}}}, b'[{"c": 1}]')
    for schema, longest in ((other, 2), (compiled(two), 3)):
        for n in range(5):
            matcher = fm.GrammarMatcher(schema)
            assert matcher.accept_bytes(b'[{"a": "' + n * b"x" + b'"}') is (n <= longest)


@pytest.mark.large
@pytest.mark.parametrize("limit", [1.5e6, 2e6, float("inf")])
def test_limits_need_not_be_integers(limit):
    """Rows are dropped and made anew, block by block of what is left of the limit."""
    vocabulary = fm.Vocabulary.gpt2()
    names = {f"k{i}": {"type": "string", "pattern": f"^[a-z]{{{i + 2}}}$"} for i in range(24)}
    compiled = fm.GrammarCompiler(vocabulary, limit).compile_json_schema({"properties": names})
    text = json.dumps({f"k{i}": "a" * (i + 2) for i in range(24)}).encode()
    matcher = fm.GrammarMatcher(compiled)
    for byte in text:
        assert matcher.next_token_bitmask().any()
        assert matcher.accept_bytes(bytes([byte]))
    assert matcher.is_completed()
