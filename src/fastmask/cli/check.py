"""``fastmask check``: texts against a grammar; the byte that fails and what was allowed there."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from .explain import Verdict, Verifier, shown_byte, shown_ranges
from .sources import add_grammar_options, chosen_grammar, read, schema_options, schema_text

__all__ = ["add_arguments", "run"]

_EXCERPT = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Texts and a grammar, or a file of schemas with tests."""
    add_grammar_options(parser).add_argument(
        "--jsonl",
        metavar="FILE",
        help="schemas with tests, all of them checked; a line is "
        '{"schema": ..., "tests": [{"valid": true, "data": ...}, ...]}',
    )
    parser.add_argument(
        "texts",
        nargs="*",
        metavar="TEXT",
        help="default: standard input, whole; with --schema its report alone",
    )
    parser.add_argument(
        "--file", action="append", default=[], metavar="FILE", help="a text from a file; repeatable"
    )


def run(options: argparse.Namespace) -> int:
    """Check all texts; 1 if any is not in the language."""
    if options.jsonl is not None:
        from .cases import run_cases

        return run_cases(options.jsonl, schema_options(options), options.json)
    document: dict[str, Any] = {}
    texts = [os.fsencode(text) for text in options.texts]
    texts += [_from_file(path) for path in options.file]
    if options.schema is not None:
        from ..schema.source import check_schema

        report = check_schema(schema_text(options), **schema_options(options))
        document["report"] = report._asdict()
        if not options.json:
            print(report)
    elif not texts:
        texts = [_from_file("-")]
    verify = Verifier(chosen_grammar(options))
    verdicts = [(text, verify(text)) for text in texts]
    failed = sum(verdict.status != "valid" for _, verdict in verdicts)
    if options.json:
        document |= {"valid": len(texts) - failed, "failed": failed}
        document["texts"] = [_as_json(text, verdict) for text, verdict in verdicts]
        json.dump(document, sys.stdout)
        print()
    else:
        for text, verdict in verdicts:
            print(_as_text(text, verdict))
        if len(texts) > 1:
            print(f"{len(texts) - failed} valid, {failed} not")
    return 1 if failed else 0


def _from_file(path: str) -> bytes:
    """A text without the newline that ends a file."""
    return read(path).removesuffix(b"\n")


def _as_json(text: bytes, verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {"text": text.decode(errors="replace"), "status": verdict.status}
    if verdict.status != "valid":
        found["position"] = verdict.position
        found["allowed_bytes"] = list(verdict.allowed)
        found["may_end"] = verdict.may_end
    return found


def _as_text(text: bytes, verdict: Verdict) -> str:
    if verdict.status == "valid":
        return f"valid       {_shown(text[:_EXCERPT])}{'...' if len(text) > _EXCERPT else ''}"
    start = max(0, verdict.position - _EXCERPT // 2)
    before = ("..." if start else "") + _shown(text[start : verdict.position])
    after = _shown(text[verdict.position : start + _EXCERPT])
    allowed = shown_ranges(verdict.allowed, verdict.may_end)
    if verdict.status == "incomplete":
        what = f"ends too early after {verdict.position} bytes; allowed next: {allowed}"
    else:
        byte = shown_byte(text[verdict.position])
        what = f"byte {verdict.position} is {byte}; allowed there: {allowed}"
    return f"{verdict.status:<11} {before}{after}\n{' ' * (12 + len(before))}^ {what}"


def _shown(data: bytes) -> str:
    """Text on one line, one column a character."""
    text = data.decode(errors="replace")
    return "".join(c if c.isprintable() else "\N{MIDDLE DOT}" for c in text)
