"""The schema algebra against suites and validators: verdicts told from the normal form alone."""

from __future__ import annotations

import gzip
import json
import random

import jsonschema_rs
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from fastmask.errors import BudgetError, UnsupportedFeatureError
from fastmask.schema.normalise import normalise
from schema_cases import SchemaMaker, mutated, random_instance

DRAFTS = {"draft2020-12": "2020-12", "draft7": "7"}

#: Optional tests whose verdict the algebra does not share, and why.
OPTIONAL = {
    "optional/content.json": "content keywords are annotations",
    "optional/format-assertion.json": "formats are asserted or not by an option, not by vocabulary",
}


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def suite(data_folder, name):
    return list(lines(data_folder / f"json-schema-suite-{name}.jsonl.gz"))


def verdicts(group, **options):
    """(test, verdict) of each test of a group; the verdict of a refused schema is its error."""
    try:
        formulas = normalise(group["schema"], **options)
    except UnsupportedFeatureError as error:
        return [(test, error) for test in group["tests"]]
    return [(test, formulas.holds(formulas.root, test["data"])) for test in group["tests"]]


@pytest.mark.parametrize("name", DRAFTS)
def test_required_tests_of_the_official_suite(data_folder, name):
    refused = set()
    for group in suite(data_folder, name):
        if group["file"].startswith("optional/"):
            continue
        for test, verdict in verdicts(group, draft=DRAFTS[name], formats="annotate"):
            if isinstance(verdict, UnsupportedFeatureError):
                refused.add(group["file"])
                assert "http://localhost:1234/" in str(verdict)  # a document that is not at hand
            else:
                assert verdict == test["valid"], (group["description"], test["description"])
    assert refused <= {"ref.json", "refRemote.json", "vocabulary.json", "dynamicRef.json"}


@pytest.mark.parametrize("name", DRAFTS)
def test_optional_tests_of_the_official_suite(data_folder, name):
    for group in suite(data_folder, name):
        file = group["file"]
        if not file.startswith("optional/") or "/format/" in file or file in OPTIONAL:
            continue
        for test, verdict in verdicts(group, draft=DRAFTS[name], formats="annotate"):
            if not isinstance(verdict, UnsupportedFeatureError):
                assert verdict == test["valid"], (group["description"], test["description"])


def test_every_verdict_on_real_schemas(data_folder):
    number = 0
    for line in lines(data_folder / "maskbench-dev.jsonl.gz"):
        for test, verdict in verdicts(line):
            number += 1
            assert verdict == test["valid"], (line["name"], test["data"])
    assert number == 9_587


def test_changed_instances_of_real_schemas_against_a_validator(data_folder):
    rng = random.Random(3)
    for line in list(lines(data_folder / "maskbench-dev.jsonl.gz"))[::7]:
        try:
            validator = jsonschema_rs.validator_for(line["schema"], validate_formats=False)
        except ValueError:
            continue
        formulas = normalise(line["schema"], formats="annotate")
        for test in line["tests"]:
            for steps in (1, 2, 3):
                instance = mutated(rng, test["data"], steps)
                verdict = formulas.holds(formulas.root, instance)
                assert verdict == validator.is_valid(instance), (line["name"], instance)


class Case:
    """A random schema, its formulas, and a validator."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.draft = self.rng.choice(("2020-12", "2020-12", "2019-09", "7", "6", "4"))
        self.schema = SchemaMaker(self.rng, self.draft).document(self.rng.randint(1, 4))
        text = json.dumps(self.schema)
        # The validator lets contains evaluate items in 2019-09, which that draft does not say.
        assume(self.draft != "2019-09" or "unevaluatedItems" not in text or "contains" not in text)
        try:
            self.validator = jsonschema_rs.validator_for(self.schema)
            self.formulas = normalise(self.schema, draft=self.draft)
        except (UnsupportedFeatureError, ValueError):
            reject()  # references in a circle
        self.root = self.formulas.root
        self.key = self.formulas.constants.key

    def members(self, number, formula=None):
        """Different instances of a formula, the root if none is given."""
        try:
            return self.formulas.emptiness.members(formula or self.root, number)
        except BudgetError:
            reject()

    def holds(self, instance, formula=None):
        """The algebra's verdict."""
        try:
            return self.formulas.holds(formula or self.root, instance)
        except BudgetError:
            reject()


cases = st.builds(Case, st.integers(0, 2**40))


@settings(max_examples=400)
@given(cases)
def test_random_schemas_against_a_validator(case):
    instances = [random_instance(case.rng) for _ in range(40)] + case.members(4)
    instances += [mutated(case.rng, instance, 2) for instance in instances]
    for instance in instances:
        verdict = case.validator.is_valid(instance)
        assert case.holds(instance) == verdict, (case.schema, instance)


@settings(max_examples=400)
@given(cases)
def test_emptiness_of_random_schemas(case):
    emptiness = case.formulas.emptiness
    try:
        full = emptiness.holds_something(case.root)
    except BudgetError:
        reject()
    if full:
        witness = emptiness.witness(case.root)
        assert case.validator.is_valid(witness), (case.schema, witness)
    else:
        for _ in range(60):
            instance = random_instance(case.rng)
            assert not case.validator.is_valid(instance), (case.schema, instance)


@settings(max_examples=200)
@given(cases)
def test_all_members_are_found_where_they_are_few(case):
    assume(case.draft != "4")  # there, how a number is written counts
    members = case.members(8)
    keys = list(map(case.key, members))
    assert len(set(keys)) == len(keys)
    assert all(map(case.validator.is_valid, members)), case.schema
    if len(members) < 8:
        for instance in [random_instance(case.rng) for _ in range(60)]:
            if case.validator.is_valid(instance):
                assert case.key(instance) in keys, (case.schema, instance)


@settings(max_examples=200)
@given(cases)
def test_a_formula_and_its_negation_share_nothing_and_leave_nothing_out(case):
    formulas = case.formulas
    negation = formulas.negation(case.root)
    for _ in range(40):
        instance = random_instance(case.rng)
        held = case.holds(instance)
        assert case.holds(instance, negation) is not held, (case.schema, instance)
    assert case.members(1, formulas.conjunction(case.root, negation)) == []


@settings(max_examples=200)
@given(cases)
def test_excluded_values(case):
    assume(case.draft != "4")
    key = case.key
    members = case.members(5)
    out = set(map(key, members[:3]))
    rest = case.formulas.exclude(case.root, out)
    left = case.members(5, rest)
    assert out.isdisjoint(map(key, left))
    assert all(map(case.validator.is_valid, left)), (case.schema, left)
    assert len(left) >= len(members) - len(out), (case.schema, members, left)
    for instance in (*members, *left, random_instance(case.rng)):
        wanted = case.validator.is_valid(instance) and key(instance) not in out
        assert case.holds(instance, rest) == wanted, (case.schema, instance)
    assert case.formulas.emptiness.holds_something(rest) is bool(left)
