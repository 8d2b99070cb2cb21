"""The shape of a server: many matchers with mixed schemas, threads, masks made ahead, memory.

A batch holds as many matchers as there are rows, their schemas taken in turn from a mixed list,
each matcher at a place of its own in its text. A step fills all rows and then accepts a token in
each. Rows are warm, as in a server that sees the same schemas again and again.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from .clock import quiet
from .engines import Engine, Matcher, installed, make, versions
from .records import spread, stamp
from .vocabularies import RawVocabulary, load

__all__ = ["SCHEMAS", "run"]

_ADDRESS = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "minLength": 1, "maxLength": 80},
        "city": {"type": "string"},
        "country": {"enum": ["DE", "FR", "JP", "US", "BR"]},
    },
    "required": ["street", "city", "country"],
    "additionalProperties": False,
}
#: Mixed schemas, each with a value that it accepts.
SCHEMAS: tuple[tuple[dict[str, Any], Any], ...] = (
    (_ADDRESS, {"street": "12 Long Lane", "city": "Tokyo", "country": "JP"}),
    (
        {
            "type": "object",
            "properties": {
                "name": {"const": "search"},
                "arguments": {
                    "type": "object",
                    "properties": {
                        "query": {"type": "string"},
                        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                    },
                    "required": ["query"],
                    "additionalProperties": False,
                },
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        },
        {"name": "search", "arguments": {"query": "how tall is the tower", "limit": 25}},
    ),
    (
        {"type": "array", "items": {"type": "number"}, "maxItems": 50},
        [1, 2.5, 3.25, 1000, -7, 12.125, 3, 4, 5, 6],
    ),
    (
        {
            "type": "object",
            "properties": {
                "items": {"type": "array", "items": _ADDRESS, "minItems": 1},
                "total": {"type": "number", "minimum": 0},
                "note": {"type": ["string", "null"]},
            },
            "required": ["items", "total"],
        },
        {
            "items": [{"street": "1 Main St", "city": "Lyon", "country": "FR"}],
            "total": 12.5,
            "note": None,
        },
    ),
    (
        {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}-[a-z]+$"},
        "AB-1234-something",
    ),
    ({}, {"anything": [1, "two", {"three": [None, True]}], "text": "some free words here"}),
    (
        {
            "type": "object",
            "properties": {
                "when": {"type": "string", "format": "date-time"},
                "who": {"type": "string", "format": "email"},
            },
            "required": ["when", "who"],
            "additionalProperties": False,
        },
        {"when": "2026-11-30T12:00:00Z", "who": "ada@example.org"},
    ),
    (
        {"anyOf": [{"type": "integer"}, {"type": "object", "additionalProperties": {}}]},
        {"left": {"right": 1}, "up": "down"},
    ),
)


def run(
    vocabulary_name: str = "llama3_128k",
    engines: Sequence[str] = ("fastmask", "llguidance", "xgrammar+compliant"),
    full: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure batches, masks made ahead, and memory.

    Parameters
    ----------
    vocabulary_name : str
    engines : sequence of str
        With variants; those not installed are left out.
    full : bool
        All batch sizes and more steps.
    progress : callable
        Told in words what comes next.

    Returns
    -------
    dict
        ``batches``, ``side_by_side``: nanoseconds a row; ``ahead``: milliseconds of a step;
        ``memory``: bytes.
    """
    engines = [label for label in engines if installed(label.partition("+")[0])]
    vocabulary = load(vocabulary_name)
    record: dict[str, Any] = {
        "what": "serving",
        **stamp(),
        "full": full,
        "vocabulary": vocabulary_name,
        "vocabulary_size": vocabulary.size,
        "versions": {label: versions(label.partition("+")[0]) for label in engines},
        **{key: [] for key in ("batches", "side_by_side", "ahead")},
    }
    sizes = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) if full else (1, 8, 64, 512)
    for label in engines:
        name, _, variant = label.partition("+")
        engine = make(name, vocabulary, variant)
        sources = [
            (engine.compile({"schema": schema}), vocabulary.tokenize(json.dumps(value).encode()))
            for schema, value in SCHEMAS
        ]
        for threads in (1, 2):
            for size in sizes:
                progress(f"{label}: {size} matchers, {threads} threads")
                found = _batch(engine, sources, size, threads, 200 if full else 30)
                row = {"engine": label, "threads": threads, "size": size, **found}
                record["batches"].append(row)
        if name == "fastmask":
            for size in sizes[1:]:
                progress(f"{label}: two batches of {size}, one after the other or side by side")
                found = _side_by_side(engine, sources, size, 30 if full else 10)
                record["side_by_side"].append({"size": size, **found})
            for size in sizes[1::2]:
                progress(f"{label}: {size} masks while a model works")
                steps = 200 if full else 30
                record["ahead"].append({"size": size, **_ahead(engine, sources, size, steps)})
            progress(f"{label}: memory")
            record["memory"] = _memory(vocabulary, 1_000 if full else 100)
    return record


Source = tuple[Any, list[int]]


class _Rows:
    """Matchers at places of their own; a text that ends begins anew."""

    def __init__(self, engine: Engine, sources: Sequence[Source], size: int) -> None:
        self.engine = engine
        self.sources = [sources[i % len(sources)] for i in range(size)]
        self.matchers: list[Matcher] = []
        self.places = []
        for i, (compiled, tokens) in enumerate(self.sources):
            place = (i // len(sources)) % len(tokens)
            self.matchers.append(engine.start(compiled))
            for token in tokens[:place]:
                self.matchers[-1].accept(token)
            self.places.append(place)

    def step(self) -> bool:
        """Accept a token in each row; whether any row has a new matcher."""
        renewed = False
        for i, (compiled, tokens) in enumerate(self.sources):
            self.matchers[i].accept(tokens[self.places[i]])
            self.places[i] += 1
            if self.places[i] == len(tokens):
                self.matchers[i], self.places[i] = self.engine.start(compiled), 0
                renewed = True
        return renewed


def _batch(
    engine: Engine, sources: Sequence[Source], size: int, threads: int, steps: int
) -> dict[str, Any]:
    """Nanoseconds a row of filling a batch."""
    for compiled, tokens in sources:  # what a server has long seen
        matcher = engine.start(compiled)
        for token in tokens:
            matcher.mask()
            matcher.accept(token)
    rows = _Rows(engine, sources, size)
    fill = engine.batch(rows.matchers, threads)
    if fill is None:
        return {"error": "no call for batches"}
    times = []
    with quiet():
        for step in range(steps + 2):
            started = time.perf_counter_ns()
            fill()
            if step > 1:  # the first starts threads
                times.append((time.perf_counter_ns() - started) / size)
            if rows.step():
                fill = engine.batch(rows.matchers, threads) or fill
                fill()  # the call for the new matchers, its threads started
    return {"a_row": spread(times)}


def _side_by_side(
    engine: Engine, sources: Sequence[Source], size: int, rounds: int
) -> dict[str, float]:
    """Nanoseconds a row of two batches, filled by one thread or by two, and how much two gain.

    Each batch has matchers and a bitmask of its own; the work is the same. The two ways take turns,
    a gain is that of neighbours, and medians are over the rounds. ``processor_gain`` is by
    processor time, whatever else the cores do: waits of the threads for one another are left out.
    """
    fills = [engine.batch(_Rows(engine, sources, size).matchers, 1) for _ in range(2)]
    calls = max(1, 20_000 // size)

    own: list[int] = []

    def repeat(fill: Callable[[], Any], ready: threading.Barrier | None = None) -> None:
        if ready:
            ready.wait()
        started = time.thread_time_ns()
        for _ in range(calls):
            fill()
        own.append(time.thread_time_ns() - started)

    def one_thread() -> float:
        started = time.perf_counter_ns()
        for fill in fills:
            repeat(fill)  # type: ignore[arg-type]
        return time.perf_counter_ns() - started

    def two_threads() -> float:
        ready = threading.Barrier(3)
        threads = [threading.Thread(target=repeat, args=(fill, ready)) for fill in fills]
        for thread in threads:
            thread.start()
        ready.wait()
        started = time.perf_counter_ns()
        for thread in threads:
            thread.join()
        return time.perf_counter_ns() - started

    with quiet():
        pairs = [(one_thread(), two_threads()) for _ in range(rounds)]
    a_row = 2 * size * calls
    own_one = statistics.median(a + b for a, b in zip(own[::4], own[1::4], strict=True))
    own_two = statistics.median(a + b for a, b in zip(own[2::4], own[3::4], strict=True))
    return {
        "one_thread": statistics.median(one for one, _ in pairs) / a_row,
        "two_threads": statistics.median(two for _, two in pairs) / a_row,
        "gain": statistics.median(one / two for one, two in pairs),
        "processor_gain": 2 * own_one / own_two,
    }


def _ahead(engine: Any, sources: Sequence[Source], size: int, steps: int) -> dict[str, Any]:
    """Milliseconds of a step of a stand-in model (a sleep, as a GPU leaves the processor idle).

    ``after``: masks are made when the logits are there; ``ahead``: by another thread while the
    model works, which a mask allows, since it depends on the tokens so far alone.
    """
    model_seconds = 0.005
    rows = _Rows(engine, sources, size)
    found: dict[str, list[float]] = {"model": [], "after": [], "ahead": []}
    for kind, times in found.items():
        for _ in range(steps):
            fill = engine.batch(rows.matchers, 1)
            started = time.perf_counter()
            if kind == "ahead":
                maker = threading.Thread(target=fill)
                maker.start()
                time.sleep(model_seconds)
                maker.join()
            else:
                time.sleep(model_seconds)
                if kind == "after":
                    fill()
            times.append(1e3 * (time.perf_counter() - started))
            rows.step()
    return {kind: statistics.median(times) for kind, times in found.items()}


def _memory(vocabulary: RawVocabulary, n_matchers: int) -> dict[str, Any]:
    """Bytes of the vocabulary, of each schema when its text was read, and of a matcher."""
    from ..compiler import GrammarCompiler
    from ..matcher import GrammarMatcher

    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    loaded = vocabulary.vocabulary()
    trie = loaded.trie
    vocabulary_bytes = tracemalloc.get_traced_memory()[0] - before
    schemas = []
    for schema, value in SCHEMAS:
        compiled = GrammarCompiler(loaded).compile_json_schema(schema)
        fresh = compiled.memory_size_bytes
        matcher = GrammarMatcher(compiled)
        tokens = vocabulary.tokenize(json.dumps(value).encode())
        for token in tokens:
            matcher.next_token_bitmask()
            matcher.accept_token(token)
        schemas.append({"compiled": fresh, "after_its_text": compiled.memory_size_bytes})
    compiled = GrammarCompiler(loaded).compile_json()
    for style in ({}, {"indent": 1}, {"separators": (",", ":")}):
        for _, value in SCHEMAS:
            matcher = GrammarMatcher(compiled)
            for token in vocabulary.tokenize(json.dumps(value, **style).encode()):
                matcher.next_token_bitmask()
                matcher.accept_token(token)
    json_bytes = compiled.memory_size_bytes
    before = tracemalloc.get_traced_memory()[0]
    matchers = [GrammarMatcher(compiled) for _ in range(n_matchers)]
    matcher_bytes = (tracemalloc.get_traced_memory()[0] - before) / n_matchers
    comma = vocabulary.tokenize(b"1,")
    for matcher in matchers:
        matcher.accept_bytes(b"[")
    before = tracemalloc.get_traced_memory()[0]
    for matcher in matchers:
        for _ in range(1_000 // len(comma)):
            matcher.accept_tokens(comma)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return {
        "vocabulary": vocabulary_bytes,
        "trie_nodes": trie.n_nodes,
        "schemas": schemas,
        "json": json_bytes,
        "matcher": matcher_bytes,
        "matcher_per_1000_tokens": (after - before) / n_matchers,
    }
