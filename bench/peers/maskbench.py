"""MaskBench through every engine, side by side, every mask checked and every time kept.

``python bench/peers/maskbench.py FILE`` reads a ``.jsonl.gz`` (or ``.jsonl``) of schemas with
tests, or a folder of MaskBench's JSON files. Each engine runs in a process of its own, which is
killed and started again when a schema takes too long or too much memory; the engines take turns, a
chunk of schemas each, in changing order, so that what else the machine does falls on all alike.
What was measured goes to ``bench/record/maskbench/ENGINE.npz``; ``bench/report.py`` makes tables
and a picture of it.

Engines in other environments: ``--python PATH`` for the other engines, while fastmask runs in the
environment of this process.
"""

from __future__ import annotations

import argparse
import gzip
import json
import mmap
import os
import pickle
import random
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fastmask.benchmarking.records import stamp
from fastmask.benchmarking.vocabularies import load, write_npz

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORDS = ROOT / "bench" / "record" / "maskbench"
#: Engine and variant; XGrammar's own default and the reading of the specification, both also with
#: masks made while decoding and its caches on, which is the better of on and off for these.
ENGINES = (
    "fastmask",
    "fastmask+cached",
    "llguidance",
    "xgrammar",
    "xgrammar+dynamic+cached",
    "xgrammar+compliant",
    "xgrammar+compliant+dynamic+cached",
    "outlines-core",
    "lm-format-enforcer",
)
_START_SECONDS = 600  # to import, and to prepare the vocabulary
_TOUCHED_EVERY = 10  # turns


class Schema:
    """A schema, and its tests as token ids."""

    def __init__(self, line: dict[str, Any]) -> None:
        self.name: str = line["name"]
        self.schema = line["schema"]
        self.valid = [bool(test["valid"]) for test in line["tests"]]
        self.texts = [json.dumps(test["data"], ensure_ascii=False) for test in line["tests"]]
        self.tokens: list[list[int]] = []


def schemas(source: Path) -> Iterator[Schema]:
    """All schemas of a file or a folder."""
    if source.is_dir():
        for path in sorted(source.rglob("*.json")):
            content = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(content, dict) and "tests" in content:
                yield Schema({"name": path.stem, **content})
        return
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as file:
        for line in file:
            yield Schema(json.loads(line))


class Worker:
    """The process of one engine: started when needed, killed when it oversteps."""

    def __init__(self, label: str, python: str, vocabulary: Path, memory: int) -> None:
        self.label, self.python, self.vocabulary, self.memory = label, python, vocabulary, memory
        self.log = vocabulary.with_name(f"{label}.log")  # what its libraries print
        self.process: subprocess.Popen[bytes] | None = None
        self.ready: dict[str, Any] = {}
        self.starts = 0
        self.peak_bytes = 0

    def ask(self, schema: Schema, seconds: float) -> dict[str, Any]:
        """What the engine makes of a schema, or how it ended."""
        if self.process is None and not self._start():
            return {"status": "crash", "error": f"does not start: {self.ready}"}
        order = {"schema": schema.schema, "texts": schema.tokens, "seconds": seconds}
        # The process itself stops between two tokens; one long call has to be cut off.
        return self._exchange(order, 2 * seconds + 5)

    def _start(self) -> bool:
        engine, _, variant = self.label.partition("+")
        paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [self.python, str(HERE / "worker.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )
        self.starts += 1
        found = self._exchange(
            {"engine": engine, "variant": variant, "vocabulary": self.vocabulary}, _START_SECONDS
        )
        self.ready = found
        return "prepare_s" in found

    def _exchange(self, order: dict[str, Any], seconds: float) -> dict[str, Any]:
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(order, process.stdin)
            process.stdin.flush()
            deadline = time.monotonic() + seconds
            while not select.select([process.stdout], [], [], 0.1)[0]:
                if time.monotonic() > deadline:
                    self.stop()
                    return {"status": "time", "error": "cut off"}
                if _resident(process.pid) > self.memory:
                    self.stop()
                    return {"status": "memory"}
            found: dict[str, Any] = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            process.wait()
            self.process = None
            last = self.log.read_text(errors="replace").strip().rpartition("\n")[2][-200:]
            return {"status": "crash", "error": f"exit status {process.returncode}: {last}"}
        self.peak_bytes = max(self.peak_bytes, found["peak_bytes"])
        return found

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def _resident(pid: int) -> int:
    """Bytes that a process has in memory now."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure(arguments: argparse.Namespace) -> None:
    vocabulary = load(arguments.vocabulary)
    everything = list(schemas(arguments.source))
    chosen = everything
    if arguments.sample and arguments.sample < len(everything):
        places = sorted(
            random.Random(arguments.seed).sample(range(len(everything)), arguments.sample)
        )
        chosen = [everything[place] for place in places]
    for schema in chosen:
        schema.tokens = [
            vocabulary.tokenize(text.encode(errors="surrogatepass")) for text in schema.texts
        ]
    about = {
        **stamp(),
        "vocabulary": vocabulary.name,
        "vocabulary_size": vocabulary.size,
        "source": arguments.source.name.partition(".")[0],
        "schemas_there": len(everything),
        "sample": len(chosen),
        "seed": arguments.seed,
        "seconds_limit": arguments.seconds,
        "memory_limit_bytes": arguments.memory << 20,
        "budget_s": arguments.budget,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{vocabulary.name}.npz"
        write_npz(vocabulary, path)
        workers = {
            label: Worker(
                label,
                sys.executable if label.startswith("fastmask") else arguments.python,
                path,
                arguments.memory << 20,
            )
            for label in arguments.engines
        }
        results: dict[str, dict[int, dict[str, Any]]] = {label: {} for label in workers}
        used = dict.fromkeys(workers, 0.0)
        try:
            _take_turns(arguments, chosen, workers, results, used)
        finally:
            for worker in workers.values():
                worker.stop()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for label, worker in workers.items():
        _write(arguments.folder / f"{label}.npz", about, chosen, worker, results[label])


def touch_memory() -> None:
    """Use a quarter of the free memory for a moment, page by page.

    What a virtual machine has not used of late its host takes away, and a new page costs a process
    several times as much then, until something has used it again.
    """
    n_bytes = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    memory = mmap.mmap(-1, n_bytes)
    np.frombuffer(memory, np.uint8)[:: mmap.PAGESIZE] = 1


def _take_turns(
    arguments: argparse.Namespace,
    chosen: list[Schema],
    workers: dict[str, Worker],
    results: dict[str, dict[int, dict[str, Any]]],
    used: dict[str, float],
) -> None:
    labels = list(workers)
    for turn, first in enumerate(range(0, len(chosen), arguments.chunk)):
        if turn % _TOUCHED_EVERY == 0:
            touch_memory()
        for label in [*labels[turn % len(labels) :], *labels[: turn % len(labels)]]:
            started = time.monotonic()
            for place in range(first, min(first + arguments.chunk, len(chosen))):
                if used[label] + time.monotonic() - started > arguments.budget:
                    break
                results[label][place] = workers[label].ask(chosen[place], arguments.seconds)
            used[label] += time.monotonic() - started
        done = min(first + arguments.chunk, len(chosen))
        shares = ", ".join(f"{label} {used[label]:.0f} s" for label in labels)
        print(f"{done} of {len(chosen)} schemas: {shares}", file=sys.stderr, flush=True)


def _write(
    path: Path,
    about: dict[str, Any],
    chosen: list[Schema],
    worker: Worker,
    results: dict[int, dict[str, Any]],
) -> None:
    """Times in the order of schemas and texts; all else as JSON."""
    rows = []
    arrays: dict[str, list[Any]] = {"masks": [], "accepts": [], "counts": []}
    for place, found in sorted(results.items()):
        for key, lists in arrays.items():
            if key in found:
                lists.append(found.pop(key))
        rows.append({"name": chosen[place].name, "valid": chosen[place].valid, **found})
    details = {
        **about,
        "engine": worker.label,
        "versions": worker.ready.get("versions", {}),
        "prepare_s": worker.ready.get("prepare_s"),
        "ready_bytes": worker.ready.get("peak_bytes"),
        "peak_bytes": worker.peak_bytes,
        "starts": worker.starts,
        "schemas": rows,
    }
    np.savez_compressed(
        path,
        about=np.frombuffer(json.dumps(details).encode(), np.uint8),
        masks=np.concatenate([np.zeros(0, np.uint16), *arrays["masks"]]),
        accepts=np.concatenate([np.zeros(0, np.uint16), *arrays["accepts"]]),
        counts=np.concatenate([np.zeros((0, 2), np.uint32), *arrays["counts"]]),
    )
    print(path, path.stat().st_size, "bytes", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="a .jsonl.gz, a .jsonl or a folder")
    parser.add_argument("--sample", type=int, default=200, metavar="N", help="schemas; 0 for all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engines", nargs="+", default=ENGINES, metavar="ENGINE+VARIANT")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the other engines")
    parser.add_argument("--vocabulary", default="llama3_128k")
    parser.add_argument("--seconds", type=float, default=10, help="limit a schema")
    parser.add_argument("--memory", type=int, default=4096, help="limit of a process in MiB")
    parser.add_argument("--budget", type=float, default=180, help="seconds of an engine in all")
    parser.add_argument("--chunk", type=int, default=10, help="schemas in a turn")
    parser.add_argument("--folder", type=Path, default=RECORDS)
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
