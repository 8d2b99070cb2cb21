"""Measure one engine on one set of cases and keep every single time.

``python bench/peers/run.py fastmask json`` writes ``bench/record/peers/json-fastmask.npz``: for
each case, pass, text and token the nanoseconds of the mask and of the acceptance, the seconds to
compile, and where a text was refused. Each engine runs in a process, and if need be an environment,
of its own; ``report.py`` puts the records side by side.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from cases import ROOT, Case, cases

from fastmask.benchmarking.engines import ENGINES, RefusedError, make, versions
from fastmask.benchmarking.vocabularies import load

RECORDS = ROOT / "bench" / "record" / "peers"
PASSES = 2  # the first with everything to be found out, the second with what that left known


def walk(engine: Any, compiled: Any, tokens: list[int]) -> tuple[np.ndarray, np.ndarray, int]:
    """Nanoseconds of each mask and of each acceptance, and the token that was refused or -1.

    A time is the smaller of wall clock and this thread's processor time: an engine is not charged
    for what the machine did meanwhile. The thread's clock is read around the wall clock.
    """
    matcher = engine.start(compiled)
    mask, accept = matcher.mask, matcher.accept
    row, wall, own = engine.row[0], time.perf_counter_ns, time.thread_time_ns
    masks, accepts = [], []
    refused = -1
    for place, token in enumerate(tokens):
        own_start, start = own(), wall()
        mask()
        end, own_end = wall(), own()
        masks.append(min(end - start, own_end - own_start))
        allowed = (int(row[token >> 5]) >> (token & 31)) & 1
        own_start, start = own(), wall()
        accepted = accept(token)
        end, own_end = wall(), own()
        accepts.append(min(end - start, own_end - own_start))
        if not (allowed and accepted):
            refused = place
            break
    else:
        start = wall()
        mask()
        masks.append(wall() - start)
    return np.array(masks, np.uint32), np.array(accepts, np.uint32), refused


def measure(engine: Any, case: Case, tokens: list[list[int]]) -> dict[str, Any]:
    """Everything about one case."""
    start = time.perf_counter()
    try:
        compiled = engine.compile(case.grammar)
    except RefusedError as error:
        return {"case": case.name, "error": str(error)[:500]}
    engine.start(compiled).mask()
    first_mask = time.perf_counter() - start
    found: dict[str, Any] = {"case": case.name, "compile_and_first_mask_s": first_mask}
    for number in range(PASSES):
        walks = []
        gc.collect()
        gc.disable()
        for text in tokens:
            walks.append(walk(engine, compiled, text))
        gc.enable()
        found[f"mask_ns_{number}"] = [masks for masks, _, _ in walks]
        found[f"accept_ns_{number}"] = [accepts for _, accepts, _ in walks]
        found["refused"] = [refused for _, _, refused in walks]
    return found


def clock_ns() -> int:
    """What reading the wall clock costs; it is part of every time."""
    readings = [time.perf_counter_ns() for _ in range(10_001)]
    return int(np.median(np.diff(readings)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("set", help="json, sql or c")
    parser.add_argument("--variant", default="", help="words of the engine's adapter, joined by +")
    parser.add_argument("--vocabulary", default="llama3_128k")
    parser.add_argument("--folder", type=Path, default=RECORDS)
    parser.add_argument("--texts", type=int, default=None, help="only the first so many texts")
    arguments = parser.parse_args()
    vocabulary = load(arguments.vocabulary)
    start = time.perf_counter()
    engine = make(arguments.engine, vocabulary, arguments.variant)
    prepared = time.perf_counter() - start
    # Libraries load the rest of themselves with the first grammar.
    warm = engine.compile({"gbnf": 'root ::= "a" | "b" root'})
    walk(engine, warm, vocabulary.tokenize(b"bba"))
    arrays: dict[str, np.ndarray] = {}
    results = []
    for case in cases(arguments.set):
        texts = case.texts[: arguments.texts]
        found = measure(engine, case, [vocabulary.tokenize(text.encode()) for text in texts])
        for key in [key for key in found if key.endswith(("_0", "_1"))]:
            lists = found.pop(key)
            arrays[f"{case.name}/{key}"] = np.concatenate(lists)
            arrays[f"{case.name}/{key}_counts"] = np.array([a.size for a in lists], np.uint32)
        found["text_bytes"] = [len(text.encode()) for text in texts]
        results.append(found)
    about = {
        "engine": arguments.engine,
        "variant": arguments.variant,
        "set": arguments.set,
        "vocabulary": arguments.vocabulary,
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "clock_ns": clock_ns(),
        "prepare_s": prepared,
        "versions": versions(arguments.engine),
        "cases": results,
    }
    arguments.folder.mkdir(parents=True, exist_ok=True)
    name = "-".join(filter(None, (arguments.set, arguments.engine, arguments.variant)))
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    path = arguments.folder / f"{name}.npz"
    np.savez_compressed(path, **arrays)
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
