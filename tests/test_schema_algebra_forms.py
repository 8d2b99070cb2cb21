"""The normal form itself: what a schema becomes, how small it stays, and the facts about it."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmask.errors import BudgetError
from fastmask.schema import literals as lit
from fastmask.schema.constants import (
    FALSE_KEY,
    NUMBER,
    OBJECT,
    STRING,
    TRUE_KEY,
    TYPE_NAMES,
    Constants,
    exact,
    json_number,
)
from fastmask.schema.formulas import Formulas
from fastmask.schema.members import assign
from fastmask.schema.normalise import normalise
from fastmask.schema.numbers import first_numbers
from fastmask.schema.scalars import Numbers, Strings
from fastmask.schema.strings import (
    encoded,
    finite_pattern,
    first_strings,
    has_string,
    language,
    pattern_error,
    some_string,
    surely_matches,
)
from fastmask.schema.values import AMONG, FALSE, TRUE


def root(schema, type_name="object", **options):
    """The alternatives of a schema for one type."""
    formulas = normalise(schema, **options)
    return formulas.conjunctions(formulas.root, TYPE_NAMES.index(type_name))


# Constants.


def test_keys_are_equal_exactly_where_json_is():
    key = Constants().key
    assert key(1) == key(1.0) == key(Decimal("1.00")) == key(1e0)
    assert key(0.1) == Fraction(1, 10)
    assert key(1e23) == 10**23
    assert key(True) is TRUE_KEY
    assert key(False) is FALSE_KEY
    assert key([1, {"a": 1.0, "b": True}]) is key([1.0, {"b": True, "a": 1}])
    assert key([True]) is not key([1])
    assert key([]) is not key({})
    assert key({"a": None}) is not key({})
    assert key([[0]]) is not key([[False]])


def test_deep_values_are_interned_without_recursion():
    key = Constants().key
    one, two = 0, 0
    for _ in range(50_000):
        one, two = [one], [two]
    assert key(one) is key(two)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_back(number):
    assert exact(json_number(exact(number))) == exact(number)
    assert float(json_number(exact(number))) == number


def test_numbers_beyond_floats_come_back():
    number = 10**400 + Fraction(1, 8)
    assert exact(json_number(number)) == number
    with pytest.raises(BudgetError, match="decimal places"):
        exact(Decimal("1e999999999"))
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not a JSON number"):
            exact(wrong)


# How small the normal form stays.


def test_words_of_patterns_are_tags(monkeypatch):
    def branch(words):
        kinds = {"type": "string", "pattern": f"^({words})$"}
        return {"type": "object", "required": ["t"], "properties": {"t": kinds}}

    def asked(self, one, two):
        raise AssertionError("the tags tell the branches apart")

    tags = [f"{c}|{c}{c}" for c in "abcdefgh"]
    with monkeypatch.context() as patched:
        patched.setattr(Formulas, "are_apart", asked)
        assert len(root({"oneOf": [branch(words) for words in tags]})) <= len(tags)
    formulas = normalise({"oneOf": [branch("a|b"), branch("b|c")]})
    verdicts = {t: formulas.holds(formulas.root, {"t": t}) for t in "abcd"}
    assert verdicts == {"a": True, "b": False, "c": True, "d": False}


@pytest.mark.parametrize(
    ("schema", "number"),
    [
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, 2),
        ({"properties": {"a": {"type": "string"}}, "anyOf": [True, {"required": ["b"]}]}, 1),
        # Alternatives that differ in one member are one.
        ({"anyOf": [{"properties": {"a": {"minimum": i}}} for i in range(9)]}, 1),
        ({"oneOf": [{"type": "object", "required": [f"k{i}"]} for i in range(14)]}, 14),
        ({"oneOf": [{"properties": {"t": {"const": i}, "x": True}} for i in range(14)]}, 1),
        # One alternative for each tag, none of them with "and not the others".
        (
            {
                "oneOf": [
                    {
                        "type": "object",
                        "required": ["t"],
                        "properties": {"t": {"const": c}, c: {"type": "string"}},
                    }
                    for c in "abcdef"
                ]
            },
            6,
        ),
        # The tag is only required outside of the branches.
        (
            {
                "required": ["t"],
                "type": "object",
                "oneOf": [
                    {"properties": {"t": {"enum": [c]}, "x": {"minLength": i}}, "required": [c]}
                    for i, c in enumerate("abcdef")
                ],
            },
            6,
        ),
        ({"allOf": [{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}] * 5}, 2),
        ({"not": {"required": ["a", "b", "c"]}}, 3),
        ({"enum": [{"a": 1}, {"a": 2}, {"a": 3}]}, 1),
        ({"unevaluatedProperties": False, "anyOf": [{"properties": {"a": True}}] * 3}, 1),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, 2),
    ],
)
def test_number_of_alternatives(schema, number):
    assert len(root(schema)) == number


def test_unevaluated_properties_are_said_key_by_key():
    schema = {
        "unevaluatedProperties": False,
        "anyOf": [{"required": [f"p{i}"], "properties": {f"p{i}": True}} for i in range(14)],
    }
    assert len(root(schema)) == 14  # not 2 to the 14th


def test_products_past_the_budget_are_refused():
    pairs = [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(14)]
    with pytest.raises(BudgetError, match="alternatives"):
        root({"allOf": pairs})


# What it looks like.


def test_a_plain_object_is_one_conjunction():
    (form,) = root(
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": False, "c": True},
            "required": ["a", "d"],
            "additionalProperties": {"type": "integer"},
            "maxProperties": 4,
        }
    )
    assert list(form.keys) == ["a", "b", "c", "d"]
    assert [needed for _, needed in form.keys.values()] == [True, False, False, True]
    assert form.keys["b"][0] is FALSE
    assert form.keys["c"][0] is TRUE
    assert form.longest == 4
    ((where, value),) = form.universals
    assert where.names == {"a", "b", "c"}
    assert value.types == 1 << NUMBER


def test_members_take_all_their_classes_in():
    formulas = normalise(
        {
            "properties": {"ab": {"minLength": 1}},
            "patternProperties": {"^a": {"type": "string"}, "b$": {"maxLength": 3}},
            "additionalProperties": {"type": "null"},
        }
    )
    (form,) = formulas.conjunctions(formulas.root, OBJECT)
    cases = (("ab", "xyz", ""), ("a", "long enough", 1), ("b", 1, "four"), ("c", None, 1))
    for key, good, bad in cases:
        member = formulas.member(form, key)
        assert formulas.holds(member, good)
        assert not formulas.holds(member, bad)


def test_constants_and_words_of_patterns_are_sets():
    assert finite_pattern("^word$") == {"word"}
    assert finite_pattern("^(one|two)$") == finite_pattern("^(?:one|two)$") == {"one", "two"}
    assert finite_pattern(r"^a\.b$") == {"a.b"}
    for pattern in ("word", "^one|two$", "^a.b$", "^a*$", "^(a)(b)$", "^[ab]$", r"^\d$", "^(a|)$"):
        assert finite_pattern(pattern) is None
    formulas = normalise({"allOf": [{"enum": ["a", "b", 1]}, {"enum": ["b", 1.0, "c"]}]})
    (numbers,) = formulas.conjunctions(formulas.root, NUMBER)
    (strings,) = formulas.conjunctions(formulas.root, STRING)
    assert numbers.allowed == {1}
    assert strings.allowed == {"b"}
    assert formulas.spellings == {1: {"1.0"}}


def test_equal_schemas_are_one_formula_annotations_apart():
    formulas = normalise(
        {
            "properties": {
                "a": {"type": "array", "items": {"minimum": 1, "title": "x"}, "description": "y"},
                "b": {"items": {"title": "z", "minimum": 1.0}, "type": ["array"]},
                "c": {"type": "array", "items": {"minimum": 2}},
            }
        }
    )
    (form,) = formulas.conjunctions(formulas.root, OBJECT)
    a, b, c = (formulas.canonical(value) for value, _ in form.keys.values())
    assert a is not c
    assert formulas.conjunction(a, c) is formulas.conjunction(c, a, c)
    assert formulas.conjunction(a, formulas.negation(a)) is FALSE
    assert formulas.disjunction(a, formulas.negation(a)) is TRUE
    assert b is not a or b is a  # a list of one type is another spelling, which need not be seen


def test_references_lead_to_one_formula():
    formulas = normalise(
        {
            "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/y"}},
            "$defs": {"x": {"minLength": 1}, "y": {"$ref": "#/$defs/x"}},
        }
    )
    (form,) = formulas.conjunctions(formulas.root, OBJECT)
    assert form.keys["a"][0] is form.keys["b"][0]


def test_facts():
    formulas = normalise({"type": ["string", "array"], "minItems": 2, "items": False})
    assert formulas.types(formulas.root) == 1 << STRING
    assert formulas.emptiness.witness(formulas.root) == ""
    assert not formulas.is_everything(formulas.root)
    everything = normalise({"anyOf": [{"type": "string"}, {"not": {"type": "string"}}]})
    assert everything.is_everything(everything.root)
    recursive = normalise({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}})
    assert not recursive.emptiness.holds_something(recursive.root)
    tree = normalise(
        {
            "type": "object",
            "required": ["kids"],
            "properties": {"kids": {"type": "array", "items": {"$ref": "#"}, "minItems": 1}},
            "anyOf": [{"required": ["leaf"]}, {"properties": {"kids": {"minItems": 2}}}],
        }
    )
    assert not tree.emptiness.holds_something(tree.root)


def test_counts_of_contains_are_held_against_each_other():
    for schema in (
        {
            "contains": {"type": "string"},
            "minContains": 2,
            "allOf": [{"contains": {"type": "string"}, "minContains": 0, "maxContains": 1}],
        },
        {"contains": {"const": 1}, "items": {"type": "string"}},
        {"contains": {"minimum": 5}, "minContains": 3, "maxItems": 2},
        {"prefixItems": [{"const": 1}], "contains": {"const": 2}, "maxItems": 1},
        {"uniqueItems": True, "contains": {"const": 2}, "minContains": 2},
        {"uniqueItems": True, "items": {"enum": [1, 2, 3]}, "minItems": 4},
        {"uniqueItems": True, "items": {"type": "boolean"}, "minItems": 3},
        {"not": {"uniqueItems": True}, "items": {"enum": [1, 2]}, "maxItems": 1},
    ):
        formulas = normalise({"type": "array", **schema})
        assert not formulas.emptiness.holds_something(formulas.root), schema


# Scalars against brute force.


def literals_of_numbers():
    number = st.sampled_from([-3, -1, 0, 1, 2, 3, Fraction(1, 2), Fraction(5, 2), Fraction(7, 4)])
    divisor = st.sampled_from([1, 2, 3, Fraction(1, 2), Fraction(3, 2), Fraction(1, 4)])
    kinds = st.sampled_from([lit.AT_LEAST, lit.ABOVE, lit.AT_MOST, lit.BELOW])
    sets = st.frozensets(number, min_size=1, max_size=5)
    return st.lists(
        st.one_of(
            st.tuples(kinds, number),
            st.tuples(st.just(lit.INTEGER), st.booleans()),
            st.tuples(st.just(lit.MULTIPLE), divisor, st.booleans()),
            st.tuples(st.sampled_from([lit.AMONG_CONSTANTS, lit.EXCEPT_CONSTANTS]), sets),
        ),
        max_size=5,
    )


def passes(number, literal):
    kind, value, *flag = literal
    return {
        lit.AT_LEAST: lambda: number >= value,
        lit.ABOVE: lambda: number > value,
        lit.AT_MOST: lambda: number <= value,
        lit.BELOW: lambda: number < value,
        lit.INTEGER: lambda: (number % 1 == 0) is value,
        lit.MULTIPLE: lambda: (number % value == 0) is flag[0],
        lit.AMONG_CONSTANTS: lambda: number in value,
        lit.EXCEPT_CONSTANTS: lambda: number not in value,
    }[kind]()


@settings(max_examples=300)
@given(literals_of_numbers())
def test_numbers_are_found_where_there_are_any(literals):
    form = Numbers.of(NUMBER, literals)
    found = [] if form is None else first_numbers(form, 4)
    assert len(set(found)) == len(found)
    for number in found:
        assert all(passes(number, literal) for literal in literals)
    eighths = [Fraction(i, 8) for i in range(-80, 81)]
    real = [n for n in eighths if all(passes(n, literal) for literal in literals)]
    assert len(found) >= min(len(real), 4)
    for number in eighths:
        wanted = all(passes(number, literal) for literal in literals)
        held = form is not None and form.contains(exact(number), number.denominator == 1)
        assert held == wanted


@settings(max_examples=200)
@given(literals_of_numbers(), literals_of_numbers())
def test_numbers_meet_and_imply(one, two):
    first, second = Numbers.of(NUMBER, one), Numbers.of(NUMBER, two)
    if first is None or second is None:
        return
    both = first.meet(second)
    together = Numbers.of(NUMBER, [*one, *two])
    assert (both is None) is first.conflicts(second)
    for i in range(-40, 41):
        number = exact(Fraction(i, 8))
        digits = isinstance(number, int)
        wanted = first.contains(number, digits) and second.contains(number, digits)
        assert (both is not None and both.contains(number, digits)) == wanted
        assert (together is not None and together.contains(number, digits)) == wanted
        if first.implies(second) and first.contains(number, digits):
            assert second.contains(number, digits)


PATTERNS = ("^a", "b$", "^(ab)*$", "^a{2,4}$", "^.?$", "c", "^[^a]*$", "^\u00e9+$")


def string_forms():
    tests = st.tuples(
        st.just(lit.MATCHES), st.sampled_from([("pattern", p) for p in PATTERNS]), st.booleans()
    )
    lengths = st.tuples(st.sampled_from([lit.MIN_LENGTH, lit.MAX_LENGTH]), st.integers(0, 6))
    texts = st.sampled_from(["", "a", "b", "ab", "aab", "abab", "c", "\u00e9\u00e9"])
    sets = st.tuples(
        st.sampled_from([lit.AMONG_CONSTANTS, lit.EXCEPT_CONSTANTS]),
        st.frozensets(texts, min_size=1, max_size=4),
    )
    return st.lists(st.one_of(tests, lengths, sets), max_size=4)


@settings(max_examples=300)
@given(string_forms())
def test_strings_are_found_where_there_are_any(literals):
    form = Strings.of(STRING, literals)
    formulas = normalise(True)
    if form is None:
        return
    dfa = language(formulas, form)
    assert has_string(formulas, form) is not dfa.is_empty
    text = some_string(formulas, form)
    assert (text is None) is dfa.is_empty
    assert text is None or dfa.accepts(encoded(text))
    found = list(first_strings(formulas, form, 5))
    assert len(set(found)) == len(found) == dfa.size_up_to(5)
    assert all(dfa.accepts(encoded(text)) for text in found)


def test_long_strings_are_counted_not_copied():
    formulas = normalise(True)
    form = Strings.of(
        STRING,
        [
            (lit.MATCHES, ("pattern", "^(abc)*$"), True),
            (lit.MIN_LENGTH, 100_000),
            (lit.MAX_LENGTH, 100_003),
        ],
    )
    assert has_string(formulas, form)
    assert len(some_string(formulas, form)) == 100_002
    form.longest = 100_001
    assert not has_string(formulas, form)


def test_patterns_are_judged_by_their_text_only_where_it_tells():
    for pattern in ("a", "^a+$", "[a-z]{3}", "(a|b)*c", r"^\d{2}$"):
        assert surely_matches(("pattern", pattern))
    for pattern in ("a^b", "(?=a)b", "[]", "[^]", r"a\bb", "$a"):
        assert not surely_matches(("pattern", pattern))
    assert pattern_error("^[a-z]+$") is None
    assert pattern_error("^(a|b)$") is None
    assert pattern_error("[b-a]") is not None
    assert pattern_error("a{3,2}") is not None
    assert pattern_error("(") is not None


@given(st.lists(st.lists(st.integers(0, 5), max_size=4, unique=True), max_size=5))
def test_assign_finds_different_values_exactly_where_there_are_some(choices):
    result = assign(choices)
    possible = any(len(set(row)) == len(row) for row in itertools.product(*choices))
    assert (result is not None) is possible
    if result is not None:
        assert len(set(result)) == len(result)
        assert all(value in options for value, options in zip(result, choices, strict=True))


def test_among_stays_a_set_through_the_algebra():
    formulas = normalise(True)
    key = formulas.constants.key
    some = formulas.among(map(key, ("a", "b", 1, None)))
    without = formulas.exclude(some, [key("b"), key("x")])
    assert without.kind == AMONG
    assert without.constants == {"a", 1, key(None)}
    assert formulas.disjunction(without, formulas.among([key("b")])) is some
    assert formulas.negation(formulas.negation(some)) is some
    assert formulas.conjunction(some, formulas.among([key("z")])) is FALSE
    assert formulas.disjunction(some, formulas.negation(some)) is TRUE
