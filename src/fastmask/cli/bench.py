"""``fastmask bench``: what masks cost on this machine, on real vocabularies, beside other engines.

Parts: the sweep over vocabularies, curves of growth, the shape of a server, and cold starts. Each
is recorded as one JSON file and drawn as pictures, where folders are named for them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from .progress import clear_progress, show_progress

__all__ = ["add_arguments", "run"]

_PARTS = {
    "sweep": "masks by kind of state, naive against table, compile, apply, over vocabularies",
    "curves": "growth with sizes of vocabulary, schema, text",
    "serving": "batches of mixed schemas, masks made ahead, memory",
    "start": "fresh and warm processes up to the first mask",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to measure, on which vocabularies, beside whom, and where it goes."""
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help="; ".join(f"{name}: {what}" for name, what in _PARTS.items()) + " (default: sweep)",
    )
    parser.add_argument(
        "--vocabulary",
        action="append",
        metavar="NAME",
        help="such as llama3_128k; repeatable for the sweep (default: three sizes of those there)",
    )
    parser.add_argument(
        "--engine",
        action="append",
        metavar="NAME",
        help="fastmask, llguidance, xgrammar, ...; repeatable (default: those three if installed)",
    )
    parser.add_argument("--full", action="store_true", help="every vocabulary and size; an hour")
    parser.add_argument("--list", action="store_true", help="only list the vocabularies there are")
    parser.add_argument("--record", metavar="DIR", help="write each part's values there, as JSON")
    parser.add_argument("--plots", metavar="DIR", help="draw pictures there (extra plot)")


def run(options: argparse.Namespace) -> int:
    """Measure the parts one after the other."""
    from ..benchmarking.engines import ENGINES, installed
    from ..benchmarking.vocabularies import available
    from ..drawing import need_matplotlib

    unknown = [part for part in options.parts if part not in _PARTS]
    if unknown:
        print(f"fastmask bench: {unknown[0]!r} is not one of {', '.join(_PARTS)}", file=sys.stderr)
        return 2
    for name in options.engine or ():
        engine = name.partition("+")[0]
        if engine not in ENGINES:
            print(f"fastmask bench: {name!r} is not one of {', '.join(ENGINES)}", file=sys.stderr)
            return 2
        if not installed(engine):
            raise ImportError(f"{engine} is not installed: pip install 'fastmask[peers]'")
    there = list(available())
    if options.list:
        print(json.dumps(there) if options.json else "\n".join(there))
        return 0
    if options.plots is not None:
        need_matplotlib()
    records = {}
    for part in options.parts or ["sweep"]:
        records[part] = _measure(part, options, there)
        if options.record is not None:
            folder = Path(options.record)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{part}.json").write_text(json.dumps(records[part], indent=1) + "\n")
    if options.json:
        json.dump(records, sys.stdout)
        print()
    else:
        from ..benchmarking.tables import table

        print("\n\n".join(table(record) for record in records.values()))
    if options.plots is not None:
        from ..benchmarking.plots import draw

        for record in records.values():
            for path in draw(record, options.plots):
                print(f"drawn: {path}", file=sys.stderr)
    return 0


def _measure(part: str, options: argparse.Namespace, there: list[str]) -> dict[str, Any]:
    """One part's record, with progress."""
    module = importlib.import_module(f"..benchmarking.{part}", __package__)
    started = time.perf_counter()

    def progress(text: str) -> None:
        line = f"{part}, {time.perf_counter() - started:5.0f} s: {text}"
        if sys.stderr.isatty():
            show_progress(line)
        else:
            print(line, file=sys.stderr, flush=True)

    wanted: dict[str, Any] = {"full": options.full, "progress": progress}
    if options.engine:
        wanted["engines"] = options.engine
    if part == "sweep":
        wanted["names"] = options.vocabulary
    elif options.vocabulary:
        wanted["vocabulary_name"] = options.vocabulary[0]
    elif "llama3_128k" not in there:
        wanted["vocabulary_name"] = "gpt2_50k"
    record: dict[str, Any] = module.run(**wanted)
    record["seconds"] = round(time.perf_counter() - started, 1)
    clear_progress()
    return record
