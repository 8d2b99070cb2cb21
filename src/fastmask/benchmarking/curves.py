"""How costs grow: masks and compiling against one size at a time, each engine on the same texts.

Each axis is a family of grammars with a text; everything but the one size stays. A point is the
median time to compile and make the first mask, and the mean mask and acceptance along the text,
rows not known before included, and once more along the same text. An engine that has spent its
patience on a point is asked for no larger one. Growth is told as the exponent p of cost ~ size^p
over the larger half of the sizes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .clock import growth_exponent, once, quiet
from .engines import Engine, RefusedError, installed, make, versions
from .records import spread, stamp
from .vocabularies import RawVocabulary, available, cut, load

__all__ = ["AXES", "MEASURES", "exponents", "run"]

#: What a point is measured in: key of the row, and what it is called.
MEASURES = {
    "compile_and_first_mask": "compile and first mask",
    "mask": "mask, mean",
    "again": "mask, second time",
    "accept": "accept a token, mean",
}
Case = tuple[dict[str, Any], str]


def _object(n: int) -> Case:
    """An object with n properties, of which the text has five."""
    kinds = [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]
    values = ["some words", 42, True]
    properties = {f"property_{i}": kinds[i % 3] for i in range(n)}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    shown = np.unique(np.linspace(0, n - 1, min(n, 5)).astype(int)).tolist()
    return {"schema": schema}, json.dumps({f"property_{i}": values[i % 3] for i in shown})


def _nested_schema(n: int) -> Case:
    """Objects in objects, n deep."""
    schema: dict[str, Any] = {"type": "integer"}
    value: Any = 1
    for _ in range(n):
        schema = {
            "type": "object",
            "properties": {"next": schema, "name": {"type": "string"}},
            "required": ["next"],
            "additionalProperties": False,
        }
        value = {"next": value}
    return {"schema": schema}, json.dumps(value)


def _nested_text(n: int) -> Case:
    """Any JSON, the text being arrays n deep."""
    return {"json": True}, "[" * n + "1" + "]" * n


def _enum(n: int) -> Case:
    """One of n strings."""
    return {"schema": {"enum": [f"choice {i} of many" for i in range(n)]}}, f'"choice {n // 2} of'


def _max_length(n: int) -> Case:
    """A string of at most n characters, the text having half of them, at most 2,000."""
    text = ("some plain words and more of them " * 60)[: max(1, min(n // 2, 2_000))]
    return {"schema": {"type": "string", "maxLength": n}}, json.dumps(text)


def _tools(n: int) -> Case:
    """A call of one of n tools, each with arguments of its own."""
    branches = [
        {
            "type": "object",
            "properties": {
                "name": {"const": f"tool_{i}"},
                "arguments": {
                    "type": "object",
                    "properties": {
                        f"path_{i}": {"type": "string"},
                        f"limit_{i}": {"type": "integer", "minimum": 0},
                    },
                    "required": [f"path_{i}"],
                    "additionalProperties": False,
                },
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for i in range(n)
    ]
    call = {"name": f"tool_{n // 2}", "arguments": {f"path_{n // 2}": "src/main.py"}}
    return {"schema": {"anyOf": branches}}, json.dumps(call)


def _text(n: int) -> Case:
    """Any JSON, the text an array of about n tokens."""
    item = {"id": 17, "name": "some words", "tags": ["a", "b"], "open": True}
    return {"json": True}, json.dumps([item] * max(1, n // 24))


#: Axis: what makes a grammar and a text of a size, small sizes, and those of a full run.
AXES: dict[str, tuple[Callable[[int], Case], tuple[int, ...], tuple[int, ...]]] = {
    "properties of a schema": (_object, (1, 10, 100), (1, 3, 10, 30, 100, 300, 1_000)),
    "depth of a schema": (_nested_schema, (1, 8, 64), (1, 2, 4, 8, 16, 32, 64, 128)),
    "depth of a text": (_nested_text, (10, 100, 1_000), (10, 30, 100, 300, 1_000, 3_000, 10_000)),
    "choices of an enum": (_enum, (1, 30, 1_000), (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)),
    "maxLength": (_max_length, (10, 1_000, 100_000), (10, 100, 1_000, 10_000, 100_000)),
    "tools": (_tools, (1, 10, 100), (1, 3, 10, 30, 100, 300)),
    "tokens of a text": (_text, (100, 1_000, 10_000), (100, 300, 1_000, 3_000, 10_000, 100_000)),
}
_VOCABULARY_SIZES = (8_000, 16_000, 32_000, 64_000, 128_000, 256_000)


def run(
    vocabulary_name: str = "llama3_128k",
    engines: Sequence[str] = ("fastmask", "llguidance", "xgrammar"),
    axes: Sequence[str] | None = None,
    full: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure all axes, and the size of the vocabulary as one more.

    Parameters
    ----------
    vocabulary_name : str
        For all axes but that one.
    engines : sequence of str
        With variants, as ``xgrammar+compliant``; those not installed are left out.
    axes : sequence of str, optional
        Only these of `AXES` and "tokens of the vocabulary".
    full : bool
        All sizes and more patience.
    progress : callable
        Told in words what comes next.

    Returns
    -------
    dict
        ``points``: rows of axis, engine, x and times in nanoseconds.
    """
    engines = [label for label in engines if installed(label.partition("+")[0])]
    patience, rounds = (60.0, 9) if full else (3.0, 3)
    record: dict[str, Any] = {
        "what": "curves",
        **stamp(),
        "full": full,
        "vocabulary": vocabulary_name,
        "patience_s": patience,
        "versions": {label: versions(label.partition("+")[0]) for label in engines},
        "points": [],
    }
    wanted = [*AXES, "tokens of the vocabulary"] if axes is None else list(axes)
    vocabulary = load(vocabulary_name)
    record["vocabulary_size"] = vocabulary.size
    for label in engines:
        engine = _engine(label, vocabulary)
        for axis in [axis for axis in AXES if axis in wanted]:
            make_case, small, large = AXES[axis]
            for size in large if full else small:
                progress(f"{label}: {axis}, {size:,}")
                started = time.perf_counter()
                found = _point(engine, vocabulary, *make_case(size), rounds, patience)
                record["points"].append({"axis": axis, "engine": label, "x": size, **found})
                if time.perf_counter() - started > patience or "error" in found:
                    break
    if "tokens of the vocabulary" in wanted:
        for smaller in _vocabularies(full):
            for label in engines:
                progress(f"{label}: {smaller.name}")
                engine = _engine(label, smaller)
                found = _point(engine, smaller, *_object(30), rounds, patience)
                where = {"axis": "tokens of the vocabulary", "engine": label, "x": smaller.size}
                record["points"].append({**where, "vocabulary": smaller.name, **found})
    return record


def exponents(record: dict[str, Any]) -> dict[tuple[str, str, str], float | None]:
    """Growth by axis, engine and measure."""
    lines: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for point in record["points"]:
        for measure in MEASURES:
            if measure in point:
                key = (point["axis"], point["engine"], measure)
                lines.setdefault(key, []).append((point["x"], value(point, measure)))
    return {
        key: growth_exponent(*map(list, zip(*sorted(pairs), strict=True)))
        for key, pairs in lines.items()
    }


def value(point: dict[str, Any], measure: str) -> float:
    """Nanoseconds of a point: compiling by its median, calls by their mean."""
    found: float = point[measure]["p50" if measure == "compile_and_first_mask" else "mean"]
    return found


def _engine(label: str, vocabulary: RawVocabulary) -> Engine:
    name, _, variant = label.partition("+")
    return make(name, vocabulary, variant)


def _vocabularies(full: bool) -> Iterator[RawVocabulary]:
    """Real ones, and the largest cut to rounder sizes."""
    names = list(available())
    yield from map(load, names if full else names[:1])
    largest = load(names[-1])
    sizes = _VOCABULARY_SIZES if full else _VOCABULARY_SIZES[::2]
    yield from (cut(largest, size) for size in sizes if size < largest.size)


def _point(
    engine: Engine,
    vocabulary: RawVocabulary,
    grammar: dict[str, Any],
    text: str,
    rounds: int,
    patience: float,
) -> dict[str, Any]:
    """Times of one grammar along its text, twice, and of compiling it again."""
    tokens = vocabulary.tokenize(text.encode())

    def compile_and_mask() -> Any:
        compiled = engine.compile(grammar)
        engine.start(compiled).mask()
        return compiled

    times: dict[str, list[int]] = {key: [] for key in MEASURES}
    try:
        with quiet():
            deadline = time.perf_counter() + patience
            elapsed, compiled = once(compile_and_mask)
            times["compile_and_first_mask"].append(elapsed)
            for key in ("mask", "again"):
                matcher = engine.start(compiled)
                for token in tokens:
                    times[key].append(once(matcher.mask)[0])
                    allowed = (int(engine.row[0, token >> 5]) >> (token & 31)) & 1
                    elapsed, accepted = once(matcher.accept, token)
                    times["accept"].append(elapsed)
                    if not allowed or accepted is False:
                        return {"error": f"refused after {len(times[key])} tokens"}
                    if time.perf_counter() > deadline:
                        break
            while len(times["compile_and_first_mask"]) < rounds and time.perf_counter() < deadline:
                times["compile_and_first_mask"].append(once(compile_and_mask)[0])
    except RefusedError as error:
        return {"error": str(error)[:200]}
    except Exception as error:  # an engine that gives up is a point, too
        return {"error": f"{type(error).__name__}: {error}"[:200]}
    return {key: spread(values) for key, values in times.items()}
