"""Cold starts: from nothing to the first mask, each in a process of its own.

*Fresh*: no kernel compiled yet, as in a new environment. *Warm*: kernels kept from an earlier
process. Both import everything, read a vocabulary from a file, compile a schema and make its first
mask. Engines that have no kernels to compile are only measured warm.

``python -m fastmask.benchmarking.start ENGINE VOCABULARY.npz`` is one such process; it prints the
seconds of each part as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .engines import installed, make, versions
from .records import peak_memory, stamp
from .vocabularies import load, read_npz, write_npz

__all__ = ["run"]

_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def run(
    vocabulary_name: str = "llama3_128k",
    engines: Sequence[str] = ("fastmask", "llguidance", "xgrammar"),
    full: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure starts.

    Parameters
    ----------
    vocabulary_name : str
    engines : sequence of str
        Those that are not installed are left out.
    full : bool
        Nine warm starts instead of three, and two fresh ones.
    progress : callable
        Told in words what comes next.

    Returns
    -------
    dict
        ``starts``: rows of engine, kind and seconds of each part.
    """
    engines = [label for label in engines if installed(label.partition("+")[0])]
    record: dict[str, Any] = {
        "what": "start",
        **stamp(),
        "full": full,
        "vocabulary": vocabulary_name,
        "versions": {label: versions(label.partition("+")[0]) for label in engines},
        "starts": [],
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / f"{vocabulary_name}.npz"
        write_npz(load(vocabulary_name), path)
        if "fastmask" in engines:
            for i in range(2 if full else 1):
                progress("fastmask, nothing compiled yet (half a minute)")
                found = _start("fastmask", path, folder / f"kernels-{i}")
                record["starts"].append({"engine": "fastmask", "kind": "fresh", **found})
        for label in engines:
            for i in range(9 if full else 3):
                progress(f"{label}, warm start {i + 1}")
                found = _start(label, path, folder / "kernels-0")
                record["starts"].append({"engine": label, "kind": "warm", **found})
    return record


def _start(label: str, vocabulary: Path, kernels: Path) -> dict[str, float]:
    """Seconds of each part of one process, and of all of it as seen from outside."""
    environment = {**os.environ, "FASTMASK_CACHE_DIR": str(kernels)}
    # An installed package has its bytecode; a checkout gets it from the first process, or never.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", __name__, label, str(vocabulary)],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    seconds = time.perf_counter() - started
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "process": seconds}


def _first_mask(label: str, path: Path) -> dict[str, float]:
    clock = [time.perf_counter()]
    vocabulary = read_npz(path)
    clock.append(time.perf_counter())
    engine: Any
    if label == "fastmask":
        # As a program would: nothing is warmed up that is not used.
        from ..compiler import GrammarCompiler
        from ..matcher import GrammarMatcher

        clock.append(time.perf_counter())
        compiler = GrammarCompiler(vocabulary.vocabulary())
        clock.append(time.perf_counter())
        matcher = GrammarMatcher(compiler.compile_json_schema(_SCHEMA))
        clock.append(time.perf_counter())
        matcher.next_token_bitmask()
    else:
        name, _, variant = label.partition("+")
        __import__(name.replace("-", "_"))
        clock.append(time.perf_counter())
        engine = make(name, vocabulary, variant)
        clock.append(time.perf_counter())
        compiled = engine.compile({"schema": _SCHEMA})
        clock.append(time.perf_counter())
        engine.start(compiled).mask()
    clock.append(time.perf_counter())
    names = ("read_file", "import", "vocabulary", "compile", "first_mask")
    parts = {name: clock[i + 1] - clock[i] for i, name in enumerate(names)}
    return {**parts, "to_first_mask": clock[-1] - clock[1], "peak_bytes": peak_memory()}


if __name__ == "__main__":
    print(json.dumps(_first_mask(sys.argv[1], Path(sys.argv[2]))))
