"""Masks over real vocabularies: by kind of state, naive against table, compiling, applying.

Every engine is given the same pattern or schema and the same text before the mask, in the same run.
A state is *touched first* with a freshly compiled grammar, its row not known; *again* is the same
call repeated. The naive mask tries every token; the table holds the mask of every state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .clock import once, quiet, steady
from .engines import Engine, Fastmask, RefusedError, installed, make, versions
from .records import spread, stamp
from .vocabularies import RawVocabulary, available, load

__all__ = ["AGE", "ANSWERS", "STATES", "chosen_vocabularies", "run"]

AGE = r'\{"age": [0-9]+\}'
#: Patterns for naive against table, each with an answer whose prefixes reach all states.
ANSWERS = {
    AGE: b'{"age": 42}',
    r"[ -~]{1,60}": b"plain words " * 5,
}
_PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 40},
        "email": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["new", "old", "open", "closed"]}},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
#: Kind of state: the grammar and the text before the mask.
STATES: dict[str, tuple[dict[str, Any], bytes]] = {
    "a digit": ({"regex": AGE}, b'{"age": '),
    "free text": ({"regex": r'"[^"\\\x00-\x1f]*"'}, b'"x'),
    "a date": ({"regex": r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"}, b"2026-1"),
    "an address": ({"regex": r"[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}"}, b"ada"),
    "a key of a schema": ({"schema": _PERSON}, b'{"'),
    "a string of a schema": ({"schema": _PERSON}, b'{"name": "A'),
    "an e-mail of a schema": ({"schema": _PERSON}, b'{"name": "A", "email": "ada@'),
    "an enum of a schema": ({"schema": _PERSON}, b'{"name": "A", "age": 3, "tags": ["'),
    "a value of nested JSON": ({"json": True}, b'[[{"a": '),
    "behind a value of nested JSON": ({"json": True}, b'[[{"a": 1'),
}
_SMALL = ("mistral_v3_32k", "llama3_128k", "gemma3_262k")


def chosen_vocabularies(names: Sequence[str] | None, full: bool) -> list[str]:
    """Names of those to measure on: as asked, all, or a small, a middle and a large one."""
    if names:
        return list(names)
    there = list(available())
    if full:
        return there
    small = [name for name in _SMALL if name in there]
    return small or [there[i] for i in sorted({0, len(there) // 2, len(there) - 1})]


def run(
    names: Sequence[str] | None = None,
    engines: Sequence[str] = ("fastmask", "llguidance", "xgrammar"),
    full: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure.

    Parameters
    ----------
    names : sequence of str, optional
        Vocabularies, see `chosen_vocabularies`.
    engines : sequence of str
        Those that are not installed are left out.
    full : bool
        Every vocabulary there is, and more rounds.
    progress : callable
        Told in words what comes next.

    Returns
    -------
    dict
        Times in nanoseconds: ``masks``, ``apply`` and ``naive``, each a list of rows.
    """
    engines = [name for name in engines if installed(name)]
    rounds = 30 if full else 5
    record: dict[str, Any] = {
        "what": "sweep",
        **stamp(),
        "full": full,
        "rounds": rounds,
        "versions": {name: versions(name) for name in engines},
        **{key: [] for key in ("vocabularies", "masks", "apply", "naive")},
    }
    for name in chosen_vocabularies(names, full):
        vocabulary = load(name)
        for label in engines:
            progress(f"{name}: {label}")
            prepare, engine = once(make, label, vocabulary)
            about = {"vocabulary": name, "size": vocabulary.size, "engine": label}
            if label == "fastmask":
                record["vocabularies"].append(_described(vocabulary, engine))
                record["naive"] += [
                    {**about, **naive_against_table(engine, vocabulary, pattern)}
                    for pattern in ANSWERS
                ]
            record["apply"] += [
                {**about, **row} for row in _applied(engine, vocabulary.size, rounds)
            ]
            for state, (grammar, text) in STATES.items():
                progress(f"{name}: {label}, {state}")
                tokens = vocabulary.tokenize(text)
                found = _state(engine, grammar, tokens, rounds)
                record["masks"].append({**about, "state": state, "prepare": prepare, **found})
    return record


def _described(vocabulary: RawVocabulary, engine: Any) -> dict[str, Any]:
    tokens = [token for token in vocabulary.tokens if token]
    return {
        "name": vocabulary.name,
        "size": vocabulary.size,
        "mean_bytes": sum(map(len, tokens)) / len(tokens),
        "trie_nodes": int(engine.vocabulary.trie.n_nodes),
    }


def _state(
    engine: Engine, grammar: dict[str, Any], tokens: Sequence[int], rounds: int
) -> dict[str, Any]:
    """Times of one engine at one state, and how many tokens it allows there."""
    compiled_ns, touched_ns, accepted_ns = [], [], []

    def compile_and_mask() -> Any:
        compiled = engine.compile(grammar)
        engine.start(compiled).mask()
        return compiled

    try:
        with quiet():
            for _ in range(rounds):
                elapsed, compiled = once(compile_and_mask)
                compiled_ns.append(elapsed)
                matcher = engine.start(compiled)
                for token in tokens:
                    elapsed, accepted = once(matcher.accept, token)
                    accepted_ns.append(elapsed)
                    if accepted is False:
                        return {"error": "the text is refused"}
                touched_ns.append(once(matcher.mask)[0])
            again_ns = steady(matcher.mask)
            naive_ns = _naive(engine, matcher.handle) if isinstance(engine, Fastmask) else []
    except RefusedError as error:
        return {"error": str(error)[:200]}
    return {
        "allowed": int(np.bitwise_count(engine.row.view(np.uint32)).sum()),
        "compile_and_first_mask": spread(compiled_ns),
        "first_touch": spread(touched_ns),
        "again": spread(again_ns),
        "accept": spread(accepted_ns),
        "naive": spread(naive_ns),
    }


def _naive(engine: Fastmask, matcher: Any) -> list[int]:
    """Nanoseconds of the present mask by trying every token; it has to be the same."""
    found = [once(matcher.naive_row) for _ in range(3)]
    if not np.array_equal(found[0][1], engine.row[0]):
        raise AssertionError(f"the mask of {matcher.compiled} is not that of trying every token")
    return [elapsed for elapsed, _ in found]


def _applied(engine: Engine, size: int, rounds: int) -> list[dict[str, Any]]:
    """Times to mask float32 logits by rows of three kinds, each answer checked."""
    apply = engine.apply()
    if apply is None:
        return []
    rng = np.random.default_rng(0)
    found = []
    for kind, share in (("1 allowed", 0.0), ("half allowed", 0.5), ("96% allowed", 0.96)):
        allowed = np.zeros(32 * engine.row.shape[1], bool)
        allowed[:size] = rng.random(size) < share
        allowed[7] = True
        engine.row[0] = np.packbits(allowed, bitorder="little").view(np.int32)
        logits = rng.normal(size=size).astype(np.float32)
        expected = np.where(allowed[:size], logits, -np.inf)
        times = steady(apply, logits, rounds=rounds)
        if not np.array_equal(logits, expected):
            raise AssertionError(f"{type(engine).__name__} masks logits wrongly")
        found.append({"kind": kind, "apply": spread(times)})
    return found


def naive_against_table(
    engine: Any, vocabulary: RawVocabulary, pattern: str = AGE
) -> dict[str, Any]:
    """An answer's masks by trying every token, from a table made first, and as they are reached.

    Parameters
    ----------
    engine : Fastmask
    vocabulary : RawVocabulary
    pattern : str
        Of `ANSWERS`.

    Returns
    -------
    dict
        Nanoseconds. Of one answer: ``naive``, each mask by trying every token; ``read``, each mask
        from a table; ``split``, rows made when the text first reaches them. Of the table of all
        states: ``table_by_naive``, by trying every token in each, and ``table``, by the trie.
        ``crossing_by_naive`` and ``crossing``: the number of answers from which a table made so is
        cheaper than naive masks.
    """
    from ..bitmask import allocate_token_bitmask
    from ..matcher import GrammarMatcher
    from ..naive import naive_mask

    text = ANSWERS[pattern]
    tokens = vocabulary.tokenize(text)
    bitmask = allocate_token_bitmask(1, vocabulary.size)
    compiled = engine.compile({"regex": pattern})
    states = len(compiled.mask_table())

    def naive() -> None:
        for length in range(len(tokens) + 1):
            naive_mask(compiled, tokens[:length], engine.vocabulary)

    def naive_in_all_states() -> None:
        for length in range(len(text) + 1):
            naive_mask(compiled, text[:length], engine.vocabulary)

    def answer() -> None:
        matcher = GrammarMatcher(compiled)
        matcher.fill_next_token_bitmask(bitmask)
        for token in tokens:
            matcher.accept_token(token)
            matcher.fill_next_token_bitmask(bitmask)

    with quiet():
        tables, splits = [], []
        for _ in range(5):
            compiled = engine.compile({"regex": pattern})
            tables.append(once(compiled.mask_table)[0])
            compiled = engine.compile({"regex": pattern})
            splits.append(once(answer)[0])
        by_naive = min(once(naive_in_all_states)[0] for _ in range(2)) * states / (len(text) + 1)
        once_naive = min(once(naive)[0] for _ in range(3))
        read = float(np.median(steady(answer)))
    table = float(np.median(tables))
    return {
        "pattern": pattern,
        "masks": len(tokens) + 1,
        "states": states,
        "naive": once_naive,
        "table_by_naive": by_naive,
        "table": table,
        "read": read,
        "split": float(np.median(splits)),
        "crossing_by_naive": by_naive / (once_naive - read),
        "crossing": table / (once_naive - read),
    }
