"""Masks of real schemas: what trying every token gives, and what acceptance says.

``FASTMASK_THOROUGH=1`` takes every schema of MaskBench's sample instead of some.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
from typing import Any

import pytest

import fastmask as fm
from walking import longest_tokens, row_ids, run_threads

pytestmark = pytest.mark.large

SCHEMAS = None if os.environ.get("FASTMASK_THOROUGH") else 180
VOCABULARIES = ("llama3_128k", "mistral_v3_32k", "gemma3_262k")


@pytest.fixture(scope="module")
def cases(data_folder) -> list[dict[str, Any]]:
    """Schemas with instances, in an order of their own."""
    with gzip.open(data_folder / "maskbench-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    random.Random(0).shuffle(found)
    return found


def compiled_cases(cases, compiler, number: int, of: int):
    """Every ``of``-th case that compiles, from ``number``; the others must say why they do not."""
    for case in cases[:SCHEMAS][number::of]:
        try:
            yield case, compiler.compile_json_schema(case["schema"])
        except (fm.GrammarError, fm.BudgetError):
            continue


@pytest.mark.parametrize("name", VOCABULARIES)
def test_masks_on_the_way_through_instances_are_the_naive_ones(data_folder, cases, name):
    path = data_folder / "vocab" / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"no {path.name} in the folder of suites")
    vocabulary = fm.Vocabulary.load(path)
    compiler = fm.GrammarCompiler(vocabulary)
    chooser = random.Random(name)
    n_compared = 0
    number = VOCABULARIES.index(name)
    for case, compiled in compiled_cases(cases, compiler, number, len(VOCABULARIES)):
        for instance in case["tests"][:2]:
            text = json.dumps(
                instance["data"], ensure_ascii=False, indent=chooser.choice([None, 2])
            )
            tokens = longest_tokens(text.encode(), vocabulary)
            tokens.append(vocabulary.eos_token_ids[0])
            places = set(chooser.sample(range(len(tokens)), min(2, len(tokens))))
            matcher = fm.GrammarMatcher(compiled)
            try:
                for place, token in enumerate(tokens):
                    if place in places:
                        n_compared += 1
                        compare(matcher, chooser)
                    if not matcher.accept_token(token):
                        assert not instance["valid"], (case["name"], text, place)
                        break
                else:
                    assert instance["valid"], (case["name"], text)
            except fm.BudgetError:
                continue
    assert n_compared > 30


def compare(matcher: fm.GrammarMatcher, chooser: random.Random) -> None:
    """The mask, the naive mask, and acceptance of some tokens."""
    vocabulary = matcher.compiled.vocabulary
    row = matcher.next_token_bitmask()
    differing = row_ids(row ^ matcher.naive_row())
    assert not differing, [vocabulary.tokens[i] for i in sorted(differing)[:5]]
    allowed = matcher.allowed_token_ids().tolist()
    asked = chooser.sample(allowed, min(20, len(allowed)))
    asked += [chooser.randrange(vocabulary.size) for _ in range(20)]
    expected = [bool(row[token >> 5] >> (token & 31) & 1) for token in asked]
    assert matcher.filter_tokens(asked).tolist() == expected


def test_the_way_to_a_place_does_not_matter(data_folder, cases):
    """By tokens, by bytes, in forks and after rollbacks: the same masks at the same text."""
    vocabulary = fm.Vocabulary.gpt2()
    compiler = fm.GrammarCompiler(vocabulary)
    chooser = random.Random(0)
    n_compared = 0
    for case, compiled in compiled_cases(cases, compiler, 0, 2):
        for instance in [test for test in case["tests"] if test["valid"]][:1]:
            data = json.dumps(instance["data"], ensure_ascii=False).encode()[:400]
            tokens = longest_tokens(data, vocabulary)
            straight = fm.GrammarMatcher(compiled)
            wandering = fm.GrammarMatcher(compiled)
            try:
                for token in tokens:
                    assert straight.accept_token(token)
                    wandering = wander(wandering, vocabulary.tokens[token], chooser)
                    rows = [straight.next_token_bitmask(), wandering.next_token_bitmask()]
                    assert (rows[0] == rows[1]).all(), case["name"]
                    n_compared += 1
            except fm.BudgetError:
                continue
    assert n_compared > 500


def wander(matcher: fm.GrammarMatcher, data: bytes, chooser: random.Random) -> fm.GrammarMatcher:
    """A matcher that has read ``data`` too, with detours."""
    if chooser.random() < 0.2:
        detour = chooser.choice([b"}", b'"x', b"1", b" ", b", ", data, data[:1]])
        if matcher.accept_bytes(detour):
            matcher.next_token_bitmask()
            matcher.rollback(1)
    if chooser.random() < 0.3:
        matcher = matcher.fork()
    cut = chooser.randint(0, len(data))
    assert matcher.accept_bytes(data[:cut])
    assert matcher.accept_bytes(data[cut:])
    return matcher


def test_threads_make_parts_of_a_schema_at_once(data_folder, cases):
    """States and moves are made by one thread while others read the tables."""
    vocabulary = fm.Vocabulary.gpt2()
    compiler = fm.GrammarCompiler(vocabulary)
    for case, compiled in compiled_cases(cases, compiler, 1, 6):
        walks = [
            longest_tokens(json.dumps(test["data"], indent=indent).encode()[:1_500], vocabulary)
            for test in case["tests"][:2]
            for indent in (None, 1)
            if test["valid"]
        ]
        seen: dict[tuple[int, int], set[bytes]] = {}

        def work(number: int, compiled=compiled, walks=walks, seen=seen) -> None:
            for which in random.Random(number).sample(range(len(walks)), len(walks)):
                matcher = fm.GrammarMatcher(compiled)
                with contextlib.suppress(fm.BudgetError):
                    for place, token in enumerate(walks[which]):
                        row = matcher.next_token_bitmask().tobytes()
                        seen.setdefault((which, place), set()).add(row)
                        assert matcher.accept_token(token)

        run_threads(work, 4)
        assert all(len(rows) == 1 for rows in seen.values()), case["name"]
