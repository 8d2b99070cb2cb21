"""``fastmask check --jsonl``: files of schemas with tests, checked on all cores.

A line is ``{"name", "schema", "tests": [{"valid", "data"}]}``; ``data`` is written as
``json.dumps(data, ensure_ascii=False)``.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import (
    BudgetError,
    FastmaskError,
    FormatError,
    UnsatisfiableGrammarError,
    UnsupportedFeatureError,
)
from .progress import clear_progress, show_progress
from .sources import byte_vocabulary

__all__ = ["CaseResult", "check_case", "run_cases"]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one line.

    Attributes
    ----------
    name : str
    error : str or None
        Why the schema does not compile, or what stopped a test; None if nothing did.
    cause : str or None
        The same in a word or two: a keyword, what ran out, or the kind of error. None also for a
        schema that allows nothing at all: it has refused every test, by name.
    valid, valid_accepted : int
        Tests whose data is valid, and how many of them are accepted.
    invalid, invalid_refused : int
        Tests whose data is invalid, and how many of them are refused.
    """

    name: str
    error: str | None
    cause: str | None
    valid: int
    valid_accepted: int
    invalid: int
    invalid_refused: int

    @property
    def passed(self) -> bool:
        """Whether every test has the right verdict."""
        return (
            self.cause is None
            and self.valid == self.valid_accepted
            and self.invalid == self.invalid_refused
        )


def check_case(line: dict[str, Any], schema_options: dict[str, Any]) -> CaseResult:
    """Compile the schema of a line over single bytes and give every test its verdict."""
    from ..compiler import GrammarCompiler
    from ..grammar.core import Grammar
    from ..matcher import GrammarMatcher

    name = str(line.get("name") or line.get("description") or "")
    tests = line["tests"]
    valid = sum(bool(test["valid"]) for test in tests)
    error, cause, accepted, refused = None, None, 0, 0
    try:
        grammar = Grammar.from_json_schema(line["schema"], **schema_options)
        matcher = GrammarMatcher(GrammarCompiler(byte_vocabulary()).compile(grammar))
        for test in tests:
            text = json.dumps(test["data"], ensure_ascii=False).encode(errors="surrogatepass")
            matcher.reset()
            holds = matcher.accept_bytes(text) and matcher.is_completed()
            accepted += holds and test["valid"]
            refused += not holds and not test["valid"]
    except UnsatisfiableGrammarError as problem:
        error, refused = _first_line(problem), len(tests) - valid
    except FastmaskError as problem:
        error, cause = _first_line(problem), _cause(problem)
    return CaseResult(name, error, cause, valid, accepted, len(tests) - valid, refused)


def _first_line(problem: FastmaskError) -> str:
    return f"{type(problem).__name__}: {problem}".partition("\n")[0]


def _cause(problem: FastmaskError) -> str:
    if isinstance(problem, UnsupportedFeatureError):
        return problem.feature
    return f"budget: {problem.what}" if isinstance(problem, BudgetError) else type(problem).__name__


def run_cases(path: str, schema_options: dict[str, Any], as_json: bool) -> int:
    """Check all lines of a file, ``.gz`` or not; 1 if any did not pass."""
    from ..warm import warm_up

    warm_up()
    results = []
    total = dict.fromkeys(("lines", "compiled", "passed"), 0)
    tests = dict.fromkeys(("valid", "valid_accepted", "invalid", "invalid_refused"), 0)
    causes: Counter[str] = Counter()
    for result in _results(path, schema_options):
        results.append(result)
        total["lines"] += 1
        total["compiled"] += result.error is None
        total["passed"] += result.passed
        if result.cause is not None:
            causes[result.cause] += 1
        else:
            for key in tests:
                tests[key] += getattr(result, key)
        if not as_json:
            clear_progress()
            print(_shown(result))
        show_progress(f"{total['lines']} lines")
    clear_progress()
    if as_json:
        document = {
            "lines": [asdict(result) for result in results],
            "total": {**total, **tests, "not_decided": dict(causes.most_common())},
        }
        json.dump(document, sys.stdout)
        print()
    else:
        print(
            f"{total['compiled']} of {total['lines']} schemas compile, {total['passed']} pass; "
            f"of these tests {tests['valid_accepted']} of {tests['valid']} valid accepted, "
            f"{tests['invalid_refused']} of {tests['invalid']} invalid refused"
        )
        for cause, number in causes.most_common():
            print(f"{number} not decided: {cause}")
    return 0 if total["passed"] == total["lines"] else 1


def _results(path: str, schema_options: dict[str, Any]) -> Iterator[CaseResult]:
    """Results in the order of the lines, worked out by one process a core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lines = _lines(path)
    if cores in (None, 1):
        yield from (check_case(line, schema_options) for line in lines)
        return
    with ProcessPoolExecutor(cores) as pool:
        while batch := list(islice(lines, 64)):
            yield from pool.map(check_case, batch, [schema_options] * len(batch), chunksize=8)


def _lines(path: str) -> Iterator[dict[str, Any]]:
    opened = gzip.open if path.endswith(".gz") else Path.open
    with opened(Path(path), "rb") as file:
        try:
            for number, text in enumerate(file, 1):
                if text.strip():
                    yield _read_line(text, f"line {number} of {path}")
        except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
            raise FormatError(f"{path} is damaged: {problem}") from None


def _read_line(text: bytes, place: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except ValueError as problem:
        raise FormatError(f"{place} is not JSON: {problem}") from None
    if not isinstance(line, dict) or "schema" not in line or "tests" not in line:
        raise FormatError(f"{place} is not an object with schema and tests")
    tests = line["tests"]
    if not isinstance(tests, list) or not all(
        isinstance(test, dict) and {"valid", "data"} <= test.keys() for test in tests
    ):
        raise FormatError(f"{place}: tests is not a list of objects with valid and data")
    return line


def _shown(result: CaseResult) -> str:
    if result.cause is not None:
        return f"error    {result.name}  {result.error}"
    return (
        f"{'ok' if result.passed else 'WRONG':<8} {result.name}  "
        f"valid {result.valid_accepted}/{result.valid} accepted, "
        f"invalid {result.invalid_refused}/{result.invalid} refused"
    )
