"""JSON, SQL and C texts through fastmask, llguidance and XGrammar, turn and turn about.

``python bench/peers/run.py`` writes ``bench/record/peers.json``, of which ``bench/report.py`` makes
a table. Each engine takes each set of texts in a process of its own, in several turns, so that
whatever else the machine does meets all alike. A walk that is longer than the limit stops where it
is; an engine that has not compiled by then is stopped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from cases import ROOT, Case, cases

from fastmask.benchmarking.clock import quiet
from fastmask.benchmarking.engines import RefusedError, installed, make, versions
from fastmask.benchmarking.records import spread, stamp
from fastmask.benchmarking.vocabularies import load

RECORD = ROOT / "bench" / "record" / "peers.json"
ENGINES = ("fastmask", "llguidance", "xgrammar+builtin")
SETS = ("json", "sql", "c")
PASSES = 2  # the first with everything to be found out, the second with what that left known
COMPILING = 60  # seconds that loading and compiling may take beside the limit of the walks


class OutOfTimeError(Exception):
    """The walks have taken as long as they may."""


class Times:
    """Nanoseconds of masks and of acceptances, and how far an engine came."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.masks: list[int] = []
        self.accepts: list[int] = []
        self.whole = 0  # texts that were accepted to their ends

    def walk(self, engine: Any, compiled: Any, tokens: list[int]) -> None:
        """Take a text through an engine, up to a token that it refuses.

        A time is the smaller of wall clock and this thread's processor time: an engine is not
        charged for what the machine did meanwhile. The thread's clock is read around the wall
        clock.
        """
        matcher = engine.start(compiled)
        mask, accept = matcher.mask, matcher.accept
        row, wall, own = engine.row[0], time.perf_counter_ns, time.thread_time_ns
        for token in tokens:
            own_start, start = own(), wall()
            mask()
            end, own_end = wall(), own()
            self.masks.append(min(end - start, own_end - own_start))
            allowed = (int(row[token >> 5]) >> (token & 31)) & 1
            own_start, start = own(), wall()
            accepted = accept(token)
            end, own_end = wall(), own()
            self.accepts.append(min(end - start, own_end - own_start))
            if not (allowed and accepted):
                return
            if end > self.deadline:
                raise OutOfTimeError
        own_start, start = own(), wall()
        mask()
        end, own_end = wall(), own()
        self.masks.append(min(end - start, own_end - own_start))
        self.whole += 1


def measure(engine: Any, case: Case, texts: list[list[int]], seconds: float) -> dict[str, Any]:
    """Everything about one engine on one case; times in microseconds."""
    start = time.perf_counter()
    try:
        compiled = engine.compile(case.grammar)
    except RefusedError as error:
        return {"refused": str(error)[:300]}
    engine.start(compiled).mask()
    found: dict[str, Any] = {"first_mask_ms": 1e3 * (time.perf_counter() - start), "passes": []}
    for _ in range(PASSES):
        times = Times(time.perf_counter_ns() + seconds * 1e9)
        with quiet():
            try:
                for tokens in texts:
                    times.walk(engine, compiled, tokens)
            except OutOfTimeError:
                found["over_limit"] = True
        masks, accepts = ([t / 1e3 for t in kind] for kind in (times.masks, times.accepts))
        found["passes"].append(
            {"mask": spread(masks), "accept": spread(accepts), "whole": times.whole}
        )
        if "over_limit" in found:
            break
    return found


def run_one(label: str, set_name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """What a process of its own does: one engine, one set."""
    name, _, variant = label.partition("+")
    vocabulary = load(arguments.vocabulary)
    started = time.perf_counter()
    engine = make(name, vocabulary, variant)
    prepared = time.perf_counter() - started
    # Libraries load the rest of themselves with the first grammar.
    warm = engine.compile({"gbnf": 'root ::= "a" | "b" root'})
    Times(time.perf_counter_ns() + 1e12).walk(engine, warm, vocabulary.tokenize(b"bba"))
    (case,) = cases(set_name)
    texts = [vocabulary.tokenize(text.encode()) for text in case.texts[: arguments.texts]]
    found = measure(engine, case, texts, arguments.seconds)
    about = {"prepare_ms": 1e3 * prepared, "versions": versions(name), "texts": len(texts)}
    return about | {"tokens": sum(map(len, texts))} | found


def patience(arguments: argparse.Namespace) -> float:
    """Seconds after which an engine is stopped."""
    return PASSES * arguments.seconds + COMPILING


def run_apart(label: str, set_name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """`run_one` in a process of its own, stopped when it takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = [sys.executable, __file__, "--one", label, set_name, str(path)]
        for option in ("vocabulary", "seconds", "texts"):
            if getattr(arguments, option) is not None:
                command += [f"--{option}", str(getattr(arguments, option))]
        try:
            subprocess.run(command, check=True, stdout=sys.stderr, timeout=patience(arguments))
        except subprocess.TimeoutExpired:
            return {"over_limit": True, "passes": []}
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", nargs="+", default=ENGINES, help="with variants")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--vocabulary", default="llama3_128k")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60, help="limit of a walk of all texts")
    parser.add_argument("--texts", type=int, default=None, help="only the first so many texts")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        label, set_name, path = arguments.one
        Path(path).write_text(json.dumps(run_one(label, set_name, arguments)), encoding="utf-8")
        return
    labels = [label for label in arguments.engines if installed(label.partition("+")[0])]
    record: dict[str, Any] = {
        "what": "peers",
        **stamp(),
        "full": arguments.texts is None,
        "vocabulary": arguments.vocabulary,
        "seconds": arguments.seconds,
        "patience": patience(arguments),
        "turns": arguments.turns,
        "versions": {label: versions(label.partition("+")[0]) for label in labels},
        "walks": [],
    }
    given_up = set()
    for set_name in arguments.sets:
        for turn in range(arguments.turns):
            for label in labels:
                if (set_name, label) in given_up:
                    continue
                print(f"{set_name}, turn {turn + 1}: {label}", file=sys.stderr, flush=True)
                found = run_apart(label, set_name, arguments)
                record["walks"].append({"set": set_name, "turn": turn, "engine": label, **found})
                if "passes" not in found or "over_limit" in found:
                    given_up.add((set_name, label))
                # Kept as it comes: a run may be broken off.
                arguments.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
