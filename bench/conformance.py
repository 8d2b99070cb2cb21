"""Suites and real schemas through the whole engine, kept with the machine: who is right about what.

``python bench/conformance.py [PART ...]`` runs the parts, keeps their results in
``bench/record/conformance.json`` and prints a table; ``--table`` only prints it again. Suites are
read from ``FASTMASK_DATA``, default ``../shared/data``. The parts:

``2020-12``, ``7``
    The required tests of the official JSON Schema suites, formats as annotations, every spelling of
    numbers, strings and white space taken.
``maskbench``
    MaskBench's development part, with the defaults.
``walks``
    For 500 of its schemas 20 texts each: random tokens of GPT-2's vocabulary under the mask, then
    the shortest way to an end, all judged by jsonschema-rs.
``instances``
    Instances that hypothesis-jsonschema makes of 250 of its schemas, ten each: accepted exactly
    where jsonschema-rs takes them. Its last release needs ``hypothesis<6.149``, in an environment
    of its own; left out where it is not installed.
"""

# ruff: noqa: E402 (the tests have to be on the path first)

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "bench" / "record" / "conformance.json"
sys.path.insert(0, str(ROOT / "tests"))

import fastmask as fm
from fastmask.benchmarking.records import stamp
from fastmask.cli.progress import clear_progress, show_progress
from fastmask.cli.sources import byte_vocabulary
from schema_walks import SchemaWalker
from suite_documents import suite_documents

DATA = Path(os.environ.get("FASTMASK_DATA") or ROOT.parent / "shared" / "data")
PARTS = ("2020-12", "7", "maskbench", "walks", "instances")
SUITES = {
    "2020-12": "json-schema-suite-draft2020-12.jsonl.gz",
    "7": "json-schema-suite-draft7.jsonl.gz",
}
WIDEST = ("--formats", "annotate", "--numbers", "any", "--strings", "any", "--whitespace", "any")
UUID = re.compile("[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
#: Formats that fastmask asserts in every draft and jsonschema-rs only in those that define them.
LATE_FORMATS = {"uuid": lambda text: UUID.fullmatch(text) is not None}
SCHEMAS, WALKS = 500, 20
SCHEMAS_WITH_INSTANCES, INSTANCES, SECONDS = 250, 10, 5


def lines(name: str) -> Iterator[dict[str, Any]]:
    """The lines of a file of suites."""
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def checked(path: Path, *options: str) -> dict[str, Any]:
    """What ``fastmask check --jsonl`` says of a file: totals, and the lines that do not pass."""
    command = [sys.executable, "-m", "fastmask", "check", "--jsonl", str(path), "--json", *options]
    found = json.loads(subprocess.run(command, check=False, stdout=subprocess.PIPE).stdout)
    left = [line for line in found["lines"] if line["cause"] is not None or not passed(line)]
    return {**found["total"], "left": left}


def passed(line: dict[str, Any]) -> bool:
    """Whether every verdict of a line is right."""
    return line["valid_accepted"] == line["valid"] and line["invalid_refused"] == line["invalid"]


def suite(draft: str) -> dict[str, Any]:
    """The required tests of a suite."""
    with tempfile.TemporaryDirectory() as folder:
        groups, documents = Path(folder) / "groups.jsonl", Path(folder) / "documents.json"
        required = [g for g in lines(SUITES[draft]) if not g["file"].startswith("optional/")]
        groups.write_text("\n".join(map(json.dumps, required)), encoding="utf-8")
        documents.write_text(json.dumps(suite_documents(draft)), encoding="utf-8")
        found = checked(groups, "--draft", draft, "--documents", str(documents), *WIDEST)
    return {"tests": sum(len(group["tests"]) for group in required), **found}


def walks() -> dict[str, Any]:
    """Random texts under the masks of real schemas, and what a validator says of them."""
    done, counts, wrong = 0, Counter[str](), []
    for case, compiled, validator in islice(compiled_cases(fm.Vocabulary.gpt2()), SCHEMAS):
        done += 1
        walker = SchemaWalker(compiled, case["schema"])
        for number in range(WALKS):
            try:
                text = walker.text(f"{case['name']} {number}")
            except fm.FastmaskError as error:
                counts["not finished"] += 1
                wrong.append([case["name"], number, f"{type(error).__name__}: {error}"])
                continue
            valid = validator.is_valid(json.loads(text, parse_float=finite))
            counts["valid" if valid else "invalid"] += 1
            if not valid:
                wrong.append([case["name"], number, text.decode()])
        show_progress(f"{done} schemas, {dict(counts)}")
    clear_progress()
    return {"schemas": done, **counts, "left": wrong}


def compiled_cases(
    vocabulary: fm.Vocabulary,
) -> Iterator[tuple[dict[str, Any], fm.CompiledGrammar, Any]]:
    """MaskBench's lines in a random order, compiled, with a validator; those that both take."""
    import jsonschema_rs

    cases = list(lines("maskbench-dev.jsonl.gz"))
    random.Random(0).shuffle(cases)
    compiler = fm.GrammarCompiler(vocabulary, cache_limit_bytes=64 << 20)
    for case in cases:
        try:
            validator = jsonschema_rs.validator_for(
                case["schema"], validate_formats=True, formats=LATE_FORMATS
            )
            yield case, compiler.compile_json_schema(case["schema"]), validator
        except ValueError:
            continue


class OutOfTime(BaseException):
    """A generator takes too long; no `Exception`, which it would take for its own."""


def stop(*_: object) -> None:
    raise OutOfTime


def generated(schema: Any) -> list[Any]:
    """Instances that hypothesis-jsonschema makes of a schema, as many as it finds in time."""
    import hypothesis
    from hypothesis import errors
    from hypothesis_jsonschema import from_schema
    from hypothesis_jsonschema._canonicalise import HypothesisRefResolutionError

    found: list[Any] = []

    @hypothesis.settings(
        max_examples=INSTANCES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(from_schema(schema))
    def keep(instance: Any) -> None:
        found.append(instance)

    signal.alarm(SECONDS)
    try:
        keep()
    except (HypothesisRefResolutionError, errors.Unsatisfiable, errors.Flaky, OutOfTime):
        pass  # references in a circle, nothing found, or too slow
    finally:
        signal.alarm(0)
    return found


def instances() -> dict[str, Any] | None:
    """Instances that a generator makes of real schemas: accepted where a validator takes them."""
    if importlib.util.find_spec("hypothesis_jsonschema") is None:
        return None
    signal.signal(signal.SIGALRM, stop)
    done, counts, wrong = 0, Counter[str](), []
    for case, compiled, validator in compiled_cases(byte_vocabulary()):
        found = generated(case["schema"])
        for instance in found:
            text = json.dumps(instance, ensure_ascii=False)
            matcher = fm.GrammarMatcher(compiled)
            valid = validator.is_valid(instance)
            try:
                accepted = matcher.accept_bytes(text) and matcher.is_completed()
            except fm.FastmaskError as error:
                accepted = f"{type(error).__name__}: {error}"
            counts["valid" if valid else "invalid"] += 1
            if accepted != valid:
                wrong.append([case["name"], text, {"validator": valid, "here": accepted}])
        done += bool(found)
        show_progress(f"{done} schemas, {dict(counts)}")
        if done == SCHEMAS_WITH_INSTANCES:
            break
    clear_progress()
    return {"schemas": done, **counts, "left": wrong}


def finite(digits: str) -> float:
    """A number as a float, the largest there is for what is larger still."""
    return max(-sys.float_info.max, min(sys.float_info.max, float(digits)))


def measured(part: str) -> dict[str, Any] | None:
    """The results of a part; None if a package for it is not installed."""
    started = time.perf_counter()
    if part == "walks":
        found = walks()
    elif part == "instances":
        found = instances()
    elif part == "maskbench":
        found = checked(DATA / "maskbench-dev.jsonl.gz")
    else:
        found = suite(part)
    seconds = round(time.perf_counter() - started, 1)
    return None if found is None else {**found, "seconds": seconds}


def table(record: dict[str, Any]) -> str:
    """What was measured, as a table, and what is left by cause."""
    rows = [
        "| | schemas | every verdict right | valid refused | invalid accepted | not decided |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for part in PARTS[:3]:
        if part in record["parts"]:
            found = record["parts"][part]
            what = (
                "MaskBench, development part" if part == "maskbench" else f"official suite, {part}"
            )
            causes = ", ".join(f"{n} {cause}" for cause, n in found["not_decided"].items())
            rows.append(
                f"| {what} | {found['lines']:,} | {found['passed']:,} "
                f"({found['passed'] / found['lines']:.1%}) "
                f"| {found['valid'] - found['valid_accepted']} "
                f"| {found['invalid'] - found['invalid_refused']} | {causes or 'none'} |"
            )
    if "walks" in record["parts"]:
        found = record["parts"]["walks"]
        total = sum(found.get(key, 0) for key in ("valid", "invalid", "not finished"))
        rows += [
            "",
            f"Random texts under the masks of {found['schemas']} schemas: {found['valid']:,} of "
            f"{total:,} valid, {found.get('invalid', 0)} invalid, "
            f"{found.get('not finished', 0)} not finished.",
        ]
    if "instances" in record["parts"]:
        found = record["parts"]["instances"]
        rows += [
            "",
            f"Generated instances of {found['schemas']} schemas: {found['valid']:,} valid and "
            f"{found.get('invalid', 0)} invalid, {len(found['left'])} with another verdict here.",
        ]
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--table", action="store_true", help="only print the table again")
    options = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.is_file() else {"parts": {}}
    if not options.table:
        for part in options.parts or PARTS:
            found = measured(part)
            if found is not None:
                record["parts"][part] = found
        record = {**stamp(), "parts": record["parts"]}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    print(table(record))


if __name__ == "__main__":
    main()
