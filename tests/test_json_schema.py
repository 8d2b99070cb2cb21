"""JSON Schema through the whole engine: suites, real schemas, and what others are blamed for.

``bench/conformance.py`` runs all of each suite; here are parts that take seconds.
"""

from __future__ import annotations

import gzip
import inspect
import json
import random

import jsonschema_rs
import pytest

import fastmask as fm
from fastmask.cli.cases import check_case
from fastmask.cli.sources import byte_vocabulary
from fastmask.schema.normalise import normalise
from schema_cases import SchemaMaker, mutated, random_instance
from schema_walks import SchemaWalker
from suite_documents import suite_documents

pytestmark = pytest.mark.large

WIDEST = {"formats": "annotate", "numbers": "any", "strings": "any", "whitespace": "any"}


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def compiled_schema(schema, **options) -> fm.CompiledGrammar:
    """A schema over single bytes."""
    grammar = fm.Grammar.from_json_schema(schema, **options)
    return fm.GrammarCompiler(byte_vocabulary()).compile(grammar)


def takes(compiled: fm.CompiledGrammar, text: str | bytes) -> bool:
    """Whether a whole text is accepted, token by token and in one piece alike."""
    data = text.encode() if isinstance(text, str) else text
    whole, single = fm.GrammarMatcher(compiled), fm.GrammarMatcher(compiled)
    accepted = whole.accept_bytes(data) and whole.is_completed()
    stepped = single.accept_tokens(data) == len(data) and single.is_completed()
    assert accepted == stepped, text
    return accepted


# --- suites


@pytest.mark.parametrize("draft", ["2020-12", "7"])
def test_required_tests_of_the_official_suite(data_folder, draft):
    """Every verdict is right, or what ran out is named."""
    name = {"2020-12": "draft2020-12", "7": "draft7"}[draft]
    options = {**WIDEST, "draft": draft, "documents": suite_documents(draft)}
    right = total = 0
    for group in lines(data_folder / f"json-schema-suite-{name}.jsonl.gz"):
        if group["file"].startswith("optional/") or "metaschema" in group["description"]:
            continue
        result = check_case(group, options)
        total += len(group["tests"])
        if result.cause is None:
            assert result.passed, (group["file"], group["description"], result)
            right += len(group["tests"])
        else:
            assert result.cause.startswith("budget: "), result
    assert right >= 0.99 * total


def test_real_schemas(data_folder):
    """One in ten of the schemas of MaskBench's development part."""
    compiled = total = 0
    for number, line in enumerate(lines(data_folder / "maskbench-dev.jsonl.gz")):
        if number % 10:
            continue
        result = check_case(line, {})
        total += 1
        if result.cause is None:
            assert result.passed, result
            compiled += 1
        else:
            assert result.cause.startswith("budget: "), result
    assert total == 288
    assert compiled >= 0.99 * total


def test_field_cases(data_folder):
    """Small schemas made from public complaints about other engines."""
    number = 0
    with (data_folder / "field-cases.jsonl").open(encoding="utf-8") as cases:
        for case in map(json.loads, cases):
            if case["kind"] != "json_schema":
                continue
            number += 1
            compiled = compiled_schema(case["grammar"])
            for text in case["accept"]:
                assert takes(compiled, text), (case["id"], text)
            for text in case["reject"]:
                assert not takes(compiled, text), (case["id"], text)
    assert number == 21


# --- silence: keywords that other engines drop, or turn into something wider, without a word


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        pytest.param(
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
                "anyOf": [{"required": ["b"]}, {"required": ["c"]}],
                "additionalProperties": {"type": "boolean"},
            },
            ['{"a": 1, "b": true}', '{"c": false, "a": 2}'],
            ['{"a": 1}', '{"b": true}', '{"a": "1", "b": true}', '{"a": 1, "b": 2}', "1", "[]"],
            id="mlc-ai/xgrammar#858 keywords beside anyOf",
        ),
        pytest.param(
            {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3},
            ['"ab"', '"abc"'],
            ['"a"', '"abcd"', '"AB"', '""'],
            id="mlc-ai/xgrammar#749 lengths beside a pattern",
        ),
        pytest.param(
            {"type": "string", "format": "date", "minLength": 11},
            None,
            [],
            id="mlc-ai/xgrammar#895 lengths beside a format",
        ),
        pytest.param(
            {"oneOf": [{"type": "integer", "minimum": 2}, {"type": "integer", "maximum": 5}]},
            ["1", "6"],
            ["2", "4", "5", '"1"'],
            id="mlc-ai/xgrammar#672 oneOf is not anyOf",
        ),
        pytest.param(
            {
                "allOf": [
                    {"type": "object", "required": ["a"]},
                    {"properties": {"a": {"type": "integer"}}},
                    {"properties": {"a": {"minimum": 3}}},
                ]
            },
            ['{"a": 3}', '{"b": null, "a": 7}'],
            ["{}", '{"a": 2}', '{"a": "3"}', "3"],
            id="vllm-project/vllm#56556 allOf with several branches",
        ),
        pytest.param(
            {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "oneOf": [{"required": ["x"]}, {"required": ["y"]}],
            },
            ['{"n": 1, "x": 0}', '{"y": 0}'],
            ['{"n": "1", "x": 0}', '{"n": 1}', '{"x": 0, "y": 0}'],
            id="ggml-org/llama.cpp#7703 properties beside oneOf",
        ),
        pytest.param(
            {"not": {"required": ["secret"]}, "type": "object"},
            ['{"a": 1}', "{}"],
            ['{"secret": 1}', '{"a": 1, "secret": null}', '{"\\u0073ecret": 1}'],
            id="not, which most engines ignore",
        ),
    ],
)
def test_no_keyword_is_dropped(schema, accepted, refused):
    if accepted is None:
        with pytest.raises(fm.UnsatisfiableGrammarError, match="minLength|format"):
            compiled_schema(schema)
        return
    compiled = compiled_schema(schema)
    assert not compiled.report.relaxed
    for text in accepted:
        assert takes(compiled, text), text
    for text in refused:
        assert not takes(compiled, text), text


def test_there_is_a_list_of_what_is_enforced():
    """mlc-ai/xgrammar#104: what holds and what does not is told before anything runs."""
    schema = {"type": "string", "minLength": 1, "pattern": r"(a|b)\1", "title": "t", "x-note": 1}
    report = fm.check_schema(schema, unsupported="relax")
    keywords = {name: {entry[1] for entry in getattr(report, name)} for name in report._fields}
    assert {"type", "minLength"} <= keywords["enforced"]
    assert keywords["relaxed"] == {"pattern"}
    assert {"title", "x-note"} <= keywords["annotations"]
    assert not keywords["enforced"] & keywords["relaxed"]


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: fm.Grammar.from_gbnf("root ::= item"), fm.GrammarSyntaxError),
        (lambda: fm.Grammar.from_gbnf('root ::= "a'), fm.GrammarSyntaxError),
        (lambda: fm.Grammar.from_lark("start: item"), fm.GrammarSyntaxError),
        (lambda: fm.Grammar.from_regex("(a"), fm.GrammarSyntaxError),
        (lambda: fm.Grammar.from_json_schema("{"), fm.GrammarSyntaxError),
        (lambda: fm.Grammar.from_json_schema({"type": "strnig"}), fm.GrammarSyntaxError),
        (lambda: fm.Grammar.from_json_schema({"pattern": "("}), fm.GrammarSyntaxError),
        (lambda: fm.Grammar.from_json_schema({"$ref": "#/$defs/a"}), fm.GrammarSyntaxError),
        (lambda: fm.Grammar.from_json_schema({"pattern": "(a)\\1"}), fm.UnsupportedFeatureError),
    ],
)
def test_what_cannot_be_read_stops_instead_of_letting_everything_through(make, error):
    """ggml-org/llama.cpp#19051: a server went on without its grammar."""
    with pytest.raises(error):
        make()


def test_many_keys_and_not_the_empty_object():
    compiled = compiled_schema({"type": "object", "minProperties": 4, "not": {"const": {}}})
    assert takes(compiled, '{"a": 1, "b": 1, "c": 1, "d": 1}')
    assert not takes(compiled, '{"a": 1, "b": 1, "c": 1}')
    assert not takes(compiled, "{}")


# --- options


@pytest.mark.parametrize(
    "options",
    [
        {"whitespace": "wide"},
        {"property_order": None},
        {"numbers": "some"},
        {"strings": 1},
        {"formats": True},
        {"unsupported": "ignore"},
        {"draft": "5"},
        {"separators": 5},
        {"separators": (",",)},
        {"separators": (";", ":")},
        {"indent": "x"},
        {"documents": [1]},
        {"documents": {1: {}}},
        {"documents": {"https://example.com": 3}},
    ],
    ids=str,
)
def test_an_option_that_is_none_is_refused(options):
    with pytest.raises(fm.GrammarError):
        fm.Grammar.from_json_schema({"type": "integer"}, **options)


def test_options_that_say_the_default_change_nothing():
    schema = {"type": "object"}
    plain = fm.Grammar.from_json_schema(schema)
    given = inspect.signature(fm.Grammar.from_json_schema).parameters
    defaults = {name: p.default for name, p in given.items() if name != "schema"}
    assert fm.Grammar.from_json_schema(schema, **defaults) == plain
    wide = fm.Grammar.from_json_schema(schema, whitespace="any", separators=None)
    assert wide != plain
    assert fm.Grammar.from_gbnf(str(wide)) == wide


def test_documents_may_be_text():
    documents = {"https://example.com/count": '{"type": "integer"}'}
    compiled = compiled_schema({"$ref": "https://example.com/count"}, documents=documents)
    assert takes(compiled, "1")
    assert not takes(compiled, "null")


# --- random schemas


@pytest.mark.parametrize("seed", range(250))
def test_random_schemas_against_a_validator(seed):
    """Schemas where keywords keep meeting one another, instances in and near them."""
    rng = random.Random(seed)
    draft = rng.choice(("2020-12", "2020-12", "2019-09", "7", "6", "4"))
    schema = SchemaMaker(rng, draft).document(rng.randint(1, 4))
    if draft == "2019-09" and "contains" in json.dumps(schema):
        return  # the validator lets contains evaluate items there, which that draft does not say
    instances = [random_instance(rng) for _ in range(30)]
    try:
        validator = jsonschema_rs.validator_for(schema)
        compiled = compiled_schema(schema, **WIDEST, draft=draft)
    except (ValueError, fm.UnsupportedFeatureError):  # references in a circle; endless uniqueItems
        return
    except fm.UnsatisfiableGrammarError:
        assert not any(map(validator.is_valid, instances)), schema
        return
    formulas = normalise(schema, draft=draft)
    instances += formulas.emptiness.members(formulas.root, 4)
    instances += [mutated(rng, instance, 2) for instance in instances]
    for instance in instances:
        text = json.dumps(instance, ensure_ascii=rng.random() < 0.5)
        try:
            verdict = takes(compiled, text)
        except fm.UnsupportedFeatureError:
            break
        assert verdict == validator.is_valid(instance), (schema, text)


# --- random texts


@pytest.mark.parametrize("part", range(4))
def test_random_texts_under_the_mask_are_valid(data_folder, part):
    """Random tokens, then the shortest way to an end: a validator takes every text."""
    cases = list(lines(data_folder / "maskbench-dev.jsonl.gz"))[part::48][:15]
    compiler = fm.GrammarCompiler(fm.Vocabulary.gpt2(), cache_limit_bytes=16 << 20)
    for case in cases:
        schema = case["schema"]
        try:
            walker = SchemaWalker(compiler.compile_json_schema(schema), schema)
            validator = jsonschema_rs.validator_for(schema, validate_formats=True)
        except ValueError:
            continue
        for number in range(3):
            text = walker.text(f"{case['name']} {number}", longest=30)
            assert validator.is_valid(json.loads(text)), (case["name"], text)
