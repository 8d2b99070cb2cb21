"""Five schemas of sizes that engines give up on: ``python bench/big_schemas.py``.

A ``maxLength`` of 100,000, an array of 10 to 5,000 items, an enum of 20,000 strings, 400 tools in
one ``anyOf``, an object of 300 optional keys (open and closed). Each is compiled and texts of it
are walked twice, every mask checked to allow the next token: the first pass makes the rows it
meets, the second knows them. Keeps ``bench/record/big_schemas.json``; ``bench/report.py`` has the
table.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fastmask as fm
from fastmask.benchmarking import vocabularies
from fastmask.benchmarking.clock import once, quiet
from fastmask.benchmarking.records import spread, stamp

RECORD = Path(__file__).resolve().parent / "record" / "big_schemas.json"
WORDS = (
    "alpha beta gamma delta river stone cloud light green north south value token model graph "
    "query index table state input order price total count owner label group level"
).split()
VALUES = {"string": "hello world", "integer": 12, "boolean": True, "number": 1.5}


def names(chooser: random.Random, count: int) -> list[str]:
    """Different names of three words and a number."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["_".join(chooser.choices(WORDS, k=3)) + str(chooser.randrange(1000))] = None
    return list(found)


def tools(chooser: random.Random) -> tuple[dict[str, Any], list[Any]]:
    """400 tools, each with a name and up to four typed arguments; 60 calls."""
    shapes = []
    for name in names(chooser, 400):
        types = dict(zip(chooser.sample(WORDS, 4), VALUES, strict=True))
        shapes.append((name, types))

    def shape(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    schema = {
        "anyOf": [
            shape(
                {
                    "name": {"const": name},
                    "arguments": shape({key: {"type": kind} for key, kind in types.items()}, []),
                },
                ["name", "arguments"],
            )
            for name, types in shapes
        ]
    }
    calls = [
        {"name": name, "arguments": {key: VALUES[kind] for key, kind in types.items()}}
        for name, types in chooser.sample(shapes, 60)
    ]
    return schema, calls


def cases() -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """Name, schema and documents, from a seed."""
    chooser = random.Random(0)
    text = " ".join(chooser.choices(WORDS, k=2_000))
    yield "maxLength 100,000", {"type": "string", "maxLength": 100_000}, [text]
    items = {"type": "array", "items": {"type": "integer"}, "minItems": 10, "maxItems": 5_000}
    yield "10 to 5,000 items", items, [[chooser.randrange(10**6) for _ in range(2_000)]]
    listed = names(chooser, 20_000)
    yield "enum of 20,000", {"enum": listed}, chooser.sample(listed, 300)
    yield "400 tools", *tools(chooser)
    keys = names(chooser, 300)
    properties = {key: {"type": "string"} for key in keys}
    documents = [{key: chooser.choice(WORDS) for key in chooser.sample(keys, 60)} for _ in "abcd"]
    yield "300 optional keys", {"type": "object", "properties": properties}, documents
    closed = {"type": "object", "properties": properties, "additionalProperties": False}
    yield "300 optional keys, closed", closed, documents


def walk(
    compiled: fm.CompiledGrammar, documents: list[Any], tokenize: Callable[[bytes], list[int]]
) -> list[float]:
    """Nanoseconds of every mask on the way of some documents."""
    bitmask = fm.allocate_token_bitmask(1, compiled.vocabulary.size)
    times = []
    for document in documents:
        matcher = fm.GrammarMatcher(compiled)
        for token in tokenize(json.dumps(document).encode()):
            times.append(once(matcher.fill_next_token_bitmask, bitmask)[0])
            assert bitmask[0, token >> 5] >> (token & 31) & 1, document
            matcher.accept_token(token)
        assert matcher.is_completed()
    return times


def measure(vocabulary: vocabularies.RawVocabulary) -> dict[str, Any]:
    """Compile and walk each case."""
    known = vocabulary.vocabulary()
    fm.warm_up()
    found = []
    for name, schema, documents in cases():
        text = json.dumps(schema)

        def compiled(text: str = text) -> fm.CompiledGrammar:
            return fm.CompiledGrammar(fm.Grammar.from_json_schema(text), known)

        compiled()  # what only the first of its kind in a process has to load
        with quiet():
            compile_ns, grammar = once(compiled)
            first = walk(grammar, documents, vocabulary.tokenize)
            again = walk(grammar, documents, vocabulary.tokenize)
        found.append(
            {
                "name": name,
                "schema_bytes": len(text),
                "compile_ms": compile_ns / 1e6,
                "first_us": spread(np.array(first) / 1e3),
                "again_us": spread(np.array(again) / 1e3),
            }
        )
        print(f"{name}: {compile_ns / 1e6:.3g} ms, {np.mean(first) / 1e3:.3g} us", flush=True)
    return {
        "versions": {"fastmask": {"fastmask": fm.__version__}},
        "full": True,
        "vocabulary": vocabulary.name,
        "size": known.size,
        "cases": found,
    }


def table(record: dict[str, Any]) -> str:
    """The table of a record."""
    lines = [
        "| schema | bytes | compile, ms | mask, first pass, us: mean | p50 | p99 | max "
        "| again, us: mean | p99 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case in record["cases"]:
        first, again = case["first_us"], case["again_us"]
        figures = (
            case["compile_ms"],
            *(first[key] for key in ("mean", "p50", "p99", "max")),
            *(again[key] for key in ("mean", "p99")),
        )
        shown = " | ".join(f"{f:,.0f}" if f >= 1000 else f"{f:.3g}" for f in figures)
        lines.append(f"| {case['name']} | {case['schema_bytes']:,} | {shown} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile and walk five big schemas.")
    parser.add_argument("--vocabulary", default="llama3_128k")
    arguments = parser.parse_args()
    record = {**stamp(), **measure(vocabularies.load(arguments.vocabulary))}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
