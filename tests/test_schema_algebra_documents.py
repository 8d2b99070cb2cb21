"""Reading schemas: drafts, references, anchors, budgets, and everything that is refused by name."""

from __future__ import annotations

import itertools

import pytest

from fastmask.errors import (
    BudgetError,
    GrammarError,
    GrammarSyntaxError,
    UnsupportedFeatureError,
)
from fastmask.schema.normalise import normalise
from fastmask.schema.report import report_of, unsatisfiable


def allows(schema, instance, **options):
    formulas = normalise(schema, **options)
    return formulas.holds(formulas.root, instance)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "strin"}, "#/type"),
        ({"type": ["string", 1]}, "#/type"),
        ({"properties": {"a/b": {"minimum": "1"}}}, "#/properties/a~1b/minimum"),
        ({"allOf": [True, {"required": "a"}]}, "#/allOf/1/required"),
        ({"allOf": []}, "#/allOf"),
        ({"items": 3}, "#/items"),
        ({"not": None}, "#/not"),
        ({"minLength": -1}, "#/minLength"),
        ({"minLength": 1.5}, "#/minLength"),
        ({"multipleOf": 0}, "#/multipleOf"),
        ({"maximum": float("nan")}, "#/maximum"),
        ({"maximum": True}, "#/maximum"),
        ({"enum": "abc"}, "#/enum"),
        ({"enum": [float("inf")]}, "#/enum"),
        ({"const": {1: 2}}, "#/const"),
        ({"const": {"a": {1, 2}}}, "#/const"),
        ({"uniqueItems": "yes"}, "#/uniqueItems"),
        ({"pattern": 1}, "#/pattern"),
        ({"pattern": "("}, "#/pattern"),
        ({"patternProperties": {"[": {}}}, "#/patternProperties/["),
        ({"dependentRequired": {"a": "b"}}, "#/dependentRequired"),
        ({"dependencies": {"a": "b"}}, "#/dependencies"),
        ({"$ref": 1}, "#/$ref"),
        ({"$ref": "#/$defs/missing"}, "#/$ref"),
        ({"$ref": "#missing"}, "#/$ref"),
        ({"$ref": "#/type", "type": "string"}, "#/$ref"),
        ({"format": ["date"]}, "#/format"),
    ],
)
def test_what_is_no_schema_is_refused_with_its_place(schema, path):
    with pytest.raises(GrammarSyntaxError) as caught:
        normalise(schema)
    assert caught.value.path == path


@pytest.mark.parametrize("schema", [None, [], "x", 3])
def test_a_schema_is_an_object_or_a_boolean(schema):
    with pytest.raises(GrammarSyntaxError, match="a schema is an object or a boolean"):
        normalise(schema)


def test_what_cannot_be_held_is_refused_by_name():
    with pytest.raises(UnsupportedFeatureError) as caught:
        normalise({"properties": {"a": {"$ref": "other.json#/x"}}})
    assert caught.value.feature == "$ref"
    assert caught.value.path == "#/properties/a/$ref"
    assert "documents=" in str(caught.value)
    with pytest.raises(UnsupportedFeatureError, match="backreference"):
        normalise({"pattern": r"(a)\1"})
    with pytest.raises(UnsupportedFeatureError, match=r"\$schema"):
        normalise({"$schema": "https://example.org/my-draft"})
    with pytest.raises(GrammarError, match="draft"):
        normalise(True, draft="2042")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"not": {"$ref": "#"}},
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}},
        },
        {"type": "object", "dependentSchemas": {"a": {"oneOf": [{"$ref": "#"}]}}},
    ],
)
def test_a_schema_that_applies_itself_in_place_is_refused(schema):
    with pytest.raises(UnsupportedFeatureError, match="applies itself"):
        normalise(schema)
    assert normalise(schema, unsupported="relax").left_out


def test_problems_that_nothing_refers_to_do_no_harm():
    schema = {"type": "string", "$defs": {"x": {"$ref": "far.json"}, "y": {"pattern": r"(a)\1"}}}
    assert allows(schema, "a")


def test_relaxing_allows_more_and_never_less():
    bad = {"pattern": r"(a)\1"}
    assert allows({"type": "string", "minLength": 2, **bad}, "bb", unsupported="relax")
    assert not allows({"type": "string", "minLength": 2, **bad}, "b", unsupported="relax")
    assert allows({"not": {"type": "string", **bad}}, "bb", unsupported="relax")
    assert not allows({"not": {"type": "string"}, **bad}, "bb", unsupported="relax")
    closed = {"patternProperties": {r"(a)\1": False}, "additionalProperties": False}
    assert allows(closed, {"aa": 1, "b": 2}, unsupported="relax")
    assert allows({"oneOf": [bad, {"minLength": 3}]}, "bbb", unsupported="relax")


def test_drafts_differ():
    seven = {"$schema": "http://json-schema.org/draft-07/schema#"}
    six = {"$schema": "http://json-schema.org/draft-06/schema"}
    four = {"$schema": "http://json-schema.org/draft-04/schema#"}
    required = {"dependentRequired": {"a": ["b"]}}
    assert not allows(required, {"a": 1})
    assert allows({**seven, **required}, {"a": 1})
    assert allows({**six, "if": True, "then": False}, 1)
    assert not allows({**seven, "if": True, "then": False}, 1)
    assert allows({**four, "const": 1}, 2)
    assert not allows({**six, "const": 1}, 2)
    assert allows({**six, "type": "integer"}, 1.0)
    assert not allows({**four, "type": "integer"}, 1.0)
    assert not allows({**four, "minimum": 1, "exclusiveMinimum": True}, 1)
    assert allows({"minimum": 1}, 1, draft="4")
    # Beside $ref nothing counts up to draft 7.
    beside = {"properties": {"a": {"$ref": "#/definitions/s", "minLength": 3}}}
    beside["definitions"] = {"s": {"type": "string"}}
    assert allows({**seven, **beside}, {"a": "x"})
    assert not allows(beside, {"a": "x"})


def test_openapi_nullable():
    schema = {"type": "string", "nullable": True, "minLength": 1}
    assert allows(schema, None, draft="openapi-3.0")
    assert not allows(schema, None)
    assert not allows(schema, "", draft="openapi-3.0")


def test_references_of_every_kind():
    schema = {
        "$id": "https://example.org/root.json",
        "$defs": {
            "a/b": {"const": 1},
            "100%": {"const": 2},
            "n": {"$anchor": "named", "const": 3},
            "inner": {"$id": "nested/inner.json", "$defs": {"x": {"const": 4}}},
        },
        "prefixItems": [
            {"$ref": "#/$defs/a~1b"},
            {"$ref": "#/$defs/100%25"},
            {"$ref": "#named"},
            {"$ref": "nested/inner.json#/$defs/x"},
            {"$ref": "/root.json#named"},
            {"$ref": "#/x-other/y"},
        ],
        "x-other": {"y": {"const": 5}},
    }
    assert allows(schema, [1, 2, 3, 4, 3, 5])
    for position in range(6):
        assert not allows(schema, [*[1, 2, 3, 4, 3, 5][:position], 9])


def test_documents_given_and_built_in():
    documents = {
        "https://example.org/tree": {
            "type": "object",
            "properties": {"left": {"$ref": "#"}, "label": {"$ref": "names.json#/$defs/label"}},
            "additionalProperties": False,
        },
        "https://example.org/names.json": {"$defs": {"label": {"type": "string"}}},
    }
    schema = {"$ref": "https://example.org/tree"}
    assert allows(schema, {"left": {"left": {}, "label": "x"}}, documents=documents)
    assert not allows(schema, {"left": {"label": 1}}, documents=documents)
    meta = {"$ref": "http://json-schema.org/draft-07/schema#"}
    assert allows(meta, {"minimum": 1})
    assert not allows(meta, {"minimum": "1"})
    meta = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert allows(meta, {"properties": {"a": {"type": ["string", "null"]}}})
    assert not allows(meta, {"properties": {"a": {"type": "strin"}}})


def test_dynamic_references():
    schema = {
        "$id": "https://example.org/strings",
        "$ref": "list",
        "$defs": {
            "items": {"$dynamicAnchor": "item", "type": "string"},
            "list": {
                "$id": "list",
                "type": "array",
                "items": {"$dynamicRef": "#item"},
                "$defs": {"any": {"$dynamicAnchor": "item"}},
            },
        },
    }
    assert allows(schema, ["a"])
    assert not allows(schema, [1])
    tree = {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$id": "https://example.org/strict",
        "$recursiveAnchor": True,
        "$ref": "loose",
        "unevaluatedProperties": False,
        "$defs": {
            "loose": {
                "$id": "loose",
                "$recursiveAnchor": True,
                "properties": {"child": {"$recursiveRef": "#"}},
            }
        },
    }
    assert allows(tree, {"child": {"child": {}}})
    assert not allows(tree, {"child": {"other": 1}})


def test_a_metaschema_without_validation_is_honoured():
    uri = "https://example.org/no-validation"
    meta = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$vocabulary": {
            "https://json-schema.org/draft/2020-12/vocab/core": True,
            "https://json-schema.org/draft/2020-12/vocab/applicator": True,
        },
    }
    schema = {"$schema": uri, "properties": {"a": {"minimum": 5}, "b": False}}
    assert allows(schema, {"a": 1}, documents={uri: meta})
    assert not allows(schema, {"b": 1}, documents={uri: meta})


@pytest.mark.parametrize("keyword", ["not", "items", "allOf", "additionalProperties", "const"])
def test_a_thousand_levels_work_and_more_end_in_a_budget_error(keyword):
    def nested(levels):
        schema = True
        for _ in range(levels):
            schema = {keyword: [schema] if keyword == "allOf" else schema}
        return schema

    formulas = normalise(nested(1_000))
    formulas.emptiness.holds_something(formulas.root)
    formulas.holds(formulas.root, [])
    for levels in (10_000, 100_000):
        with pytest.raises(BudgetError, match="nesting levels"):
            normalise(nested(levels))


def test_resources_nest_as_deeply_as_schemas():
    schema = {"const": 1}
    for level in range(1_200):
        schema = {"$id": f"d{level}/", "items": schema}
    assert normalise({"$id": "https://example.org/", **schema})


def test_long_chains_of_references():
    names = [f"d{i}" for i in range(3_000)]
    chain = {a: {"$ref": f"#/$defs/{b}"} for a, b in itertools.pairwise(names)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**chain, names[-1]: {"type": "string"}}}
    assert allows(schema, "a")
    assert not allows(schema, 1)


def test_shared_and_circular_parts_are_counted_each_time():
    shared = {}
    for _ in range(40):
        shared = {"allOf": [shared, shared]}
    with pytest.raises(BudgetError, match="schema nodes"):
        normalise(shared)
    values = []
    for _ in range(40):
        values = [values, values]
    with pytest.raises(BudgetError, match="schema nodes"):
        normalise({"enum": values})
    circle = {}
    circle["properties"] = {"a": circle}
    with pytest.raises(BudgetError):
        normalise(circle)


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"anyOf": [{"required": [f"{i}{c}"]} for c in "ab"]} for i in range(30)]},
        {"oneOf": [{"properties": {f"k{i}": {"minimum": i}}} for i in range(40)]},
        {"minimum": 1e300, "multipleOf": 1e-300, "not": {"multipleOf": 3e-300}},
        {"maximum": 1, "const": 10.0**300},
        {"minItems": 10**9, "items": {"type": "string"}},
        {"minProperties": 10**9},
        {"type": "string", "minLength": 10**9},
        {"type": "array", "uniqueItems": True, "minItems": 3000, "items": {"type": "integer"}},
        {"contains": {"type": "string"}, "minContains": 10**6, "type": "array"},
    ],
)
def test_hostile_schemas_end(schema):
    """Each ends, in an answer or in a budget error."""
    try:
        formulas = normalise(schema)
        formulas.emptiness.holds_something(formulas.root)
    except BudgetError:
        pass


@pytest.mark.parametrize(
    ("schema", "places"),
    [
        (
            {"type": "number", "maximum": 3, "allOf": [{}, {"minimum": 5}]},
            "#/allOf/1/minimum against #/maximum",
        ),
        (
            {"type": "object", "required": ["a"], "additionalProperties": False},
            "#/required against #/additionalProperties",
        ),
        ({"type": "string", "enum": [1, 2]}, "#/type against #/enum"),
        ({"not": {}}, "#/not"),
    ],
)
def test_conflicts_are_named(schema, places):
    formulas = normalise(schema)
    assert not formulas.emptiness.holds_something(formulas.root)
    assert str(unsatisfiable(formulas)).endswith(places)


def test_the_report_names_every_keyword():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "t",
        "properties": {
            "a": {"type": "string", "format": "date"},
            "b": {"format": "colour", "dependentRequired": {}},
            "c": {"$ref": "#/definitions/d", "maxLength": 1},
        },
        "additonalProperties": False,
        "definitions": {"d": {"pattern": r"(a)\1"}, "unused": {"minimum": 1}},
    }
    report = report_of(normalise(schema, unsupported="relax"))
    assert [entry[0] for entry in report.enforced] == [
        "#/properties",
        "#/properties/a/type",
        "#/properties/a/format",
        "#/properties/c/$ref",
    ]
    assert [entry[:2] for entry in report.relaxed] == [("#/definitions/d/pattern", "pattern")]
    assert report.narrowed == []
    why = {path: reason for path, _, reason in report.annotations}
    assert why["#/title"] == ""
    assert "colour" in why["#/properties/b/format"]
    assert why["#/properties/b/dependentRequired"] == "no keyword of draft 7"
    assert "beside $ref" in why["#/properties/c/maxLength"]
    assert "additionalProperties" in why["#/additonalProperties"]
    assert "enforced: 4" in str(report)
    annotated = report_of(normalise({"format": "date"}, formats="annotate"))
    assert annotated.annotations == [("#/format", "format", "formats are not asserted")]
