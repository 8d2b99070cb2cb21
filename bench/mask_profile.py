"""Where the time of a mask goes: ``python bench/mask_profile.py maskbench-dev.jsonl.gz``.

Walks the texts of real schemas, one compiler for all, as a server would. Each mask is timed by the
processor time of its thread, and checked to allow the next token of valid data. A second walk takes
samples of the stack while a mask is made, by a timer that counts processor time, so that no call is
made dearer than another. Keeps ``bench/record/mask_profile.json``; ``bench/report.py`` has the
tables: what masks cost by band, and which parts of fastmask they spend it in.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fastmask as fm
from fastmask.benchmarking import vocabularies
from fastmask.benchmarking.engines import versions
from fastmask.benchmarking.records import peak_memory, spread, stamp

sys.path.append(str(Path(__file__).resolve().parent / "peers"))
import maskbench

RECORD = Path(__file__).resolve().parent / "record" / "mask_profile.json"
BANDS = (0, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 3_000)  # microseconds
_CACHE_BYTES = 32 << 20  # as the compiler that is kept has in MaskBench
_SAMPLE_SECONDS = 0.001
_TOUCHED_EVERY = 40  # schemas
KNOWN, WALKS = "a known row: Python's call, a lookup, a copy", "kernels that walk the token trie"
#: The innermost module of fastmask on the stack, by what it is for; all others are ``OTHER``.
PARTS = {
    "objects: rules, key tries, registers": (
        "objects object_states other_keys next_keys key_tries tries variants merging placing"
    ),
    "strings and numbers: their automata": (
        "dfa construction embedding spelling strings string_text scalars number_text numbers "
        "counting float_forms exponents left_out counted_tries literals lists"
    ),
    "formulas: reading keywords, emptiness": (
        "formulas typed reading containers emptiness members plain expand constants forms "
        "unevaluated keywords references normalise"
    ),
    "arrays": "arrays items endless",
    "states, moves, rows": (
        "tables registers _pool rows shared_rows shared_states automaton arena roots"
    ),
}
OTHER = "other"
_WALKING = frozenset("fill _thread_leaf _make_leaf walk bounded".split())


class Sampler:
    """Counts by part where masks are while the processor's time goes by."""

    def __init__(self) -> None:
        self.is_on = False
        self.found: Counter[str] = Counter()
        self._part_of = {name: part for part, names in PARTS.items() for name in names.split()}

    def take(self, _signal: int, frame: Any) -> None:
        """The handler of the timer."""
        if not self.is_on:
            return
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if "fastmask" in path.parts:
                self.found[self._part(path.stem, frame.f_code.co_name)] += 1
                return
            frame = frame.f_back

    def _part(self, module: str, function: str) -> str:
        if module == "matcher":
            return KNOWN
        if module in ("arena", "roots") and function in _WALKING:
            return WALKS
        return self._part_of.get(module, OTHER)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While it holds, the timer is on."""
        before = signal.signal(signal.SIGPROF, self.take)
        signal.setitimer(signal.ITIMER_PROF, _SAMPLE_SECONDS, _SAMPLE_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)


def walk(
    schemas: list[maskbench.Schema], vocabulary: fm.Vocabulary, sampler: Sampler | None
) -> dict[str, list[int]]:
    """Walk all texts of all schemas; nanoseconds of masks and accepted tokens."""
    compiler = fm.GrammarCompiler(vocabulary, cache_limit_bytes=_CACHE_BYTES)
    mask = fm.allocate_token_bitmask(1, vocabulary.size)
    clock = time.thread_time_ns
    masks: list[int] = []
    accepts: list[int] = []
    for number, schema in enumerate(schemas):
        if number % _TOUCHED_EVERY == 0:
            gc.collect()
            maskbench.touch_memory()
        try:
            compiled = compiler.compile_json_schema(json.dumps(schema.schema))
        except fm.FastmaskError:
            continue
        for is_valid, tokens in zip(schema.valid, schema.tokens, strict=True):
            matcher = fm.GrammarMatcher(compiled)
            for token in tokens:
                if sampler is not None:
                    sampler.is_on = True
                begun = clock()
                matcher.fill_next_token_bitmask(mask)
                masks.append(clock() - begun)
                if sampler is not None:
                    sampler.is_on = False
                allowed = bool(mask[0, token >> 5] >> (token & 31) & 1)
                begun = clock()
                accepted = matcher.accept_token(token)
                accepts.append(clock() - begun)
                if accepted != allowed or (is_valid and not accepted):
                    raise SystemExit(f"{schema.name}: the mask is wrong at token {token}")
                if not accepted:
                    break
    return {"mask": masks, "accept": accepts}


def bands(nanoseconds: list[int]) -> list[dict[str, float]]:
    """How many masks cost how much, and what part of the mean they are, in microseconds."""
    times = np.array(nanoseconds) / 1_000
    found = []
    for low, high in zip(BANDS, (*BANDS[1:], np.inf), strict=True):
        inside = times[(times >= low) & (times < high)]
        found.append(
            {
                "from_us": low,
                "masks": len(inside) / len(times),
                "of_mean_us": float(inside.sum() / len(times)),
            }
        )
    return found


def table(record: dict[str, Any]) -> str:
    """The record as Markdown."""
    mean, median = record["mask"]["mean"], record["mask"]["p50"]
    lines = [
        f"{record['schemas']:,} schemas, {record['masks']:,} masks: mean {mean:.2f} us, median "
        f"{median:.2f} us, by the thread's processor time.\n",
        "| masks from, us | share of masks | us of the mean |",
        "| ---: | ---: | ---: |",
    ]
    lines += [
        f"| {band['from_us']:,} | {band['masks']:.2%} | {band['of_mean_us']:.2f} |"
        for band in record["bands"]
    ]
    lines += ["\n| where | share of the time |", "| --- | ---: |"]
    total = sum(record["parts"].values())
    lines += [
        f"| {part} | {count / total:.0%} |"
        for part, count in sorted(record["parts"].items(), key=lambda item: -item[1])
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="schemas with tests: .jsonl.gz, .jsonl or a folder")
    parser.add_argument("--every", type=int, default=1, help="every n-th schema (default: all)")
    parser.add_argument("--vocabulary", default="llama3_128k")
    options = parser.parse_args()
    raw = vocabularies.load(options.vocabulary)
    vocabulary = raw.vocabulary()
    schemas = list(maskbench.schemas(options.file))[:: options.every]
    for schema in schemas:
        schema.tokens = [raw.tokenize(text.encode()) for text in schema.texts]
    fm.warm_up()
    record = {
        "kind": "mask_profile",
        **stamp(),
        "versions": {"fastmask": versions("fastmask")},
        "full": options.every == 1,
        "vocabulary": options.vocabulary,
    }
    walk(schemas[:20], vocabulary, None)
    gc.disable()
    times = walk(schemas, vocabulary, None)
    record["peak_bytes"] = peak_memory()
    sampler = Sampler()
    with sampler.running():
        walk(schemas, vocabulary, sampler)
    record |= {
        "schemas": len(schemas),
        "masks": len(times["mask"]),
        "mask": spread(np.array(times["mask"]) / 1_000),
        "accept": spread(np.array(times["accept"]) / 1_000),
        "bands": bands(times["mask"]),
        "parts": dict(sampler.found),
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(table(record))


if __name__ == "__main__":
    main()
