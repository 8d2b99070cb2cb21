"""``fastmask demo``: patterns become tables, an answer is masked, and the cost is measured.

Needs no network and no extra: the vocabulary comes with the package and the model is a toy, unless
``--model`` names a real one (see `model_demo`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..drawing import need_matplotlib
from .explain import Verifier, shown_byte, shown_ranges
from .model_demo import MODELS, run_with_model
from .sources import byte_vocabulary

if TYPE_CHECKING:
    from ..vocabulary import Vocabulary

__all__ = ["add_arguments", "run"]

_PATTERNS = {
    "an age": r'\{"age": [0-9]+\}',
    "a date": r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    "an e-mail address": r"[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}",
    "a list of words": r"\[\"[a-z]+\"(, \"[a-z]+\")*\]",
    "free text, 20 characters": r"[^\n]{1,20}",
}
_MEASURED = _PATTERNS["an age"]
_REFERENCE = '{"age": 42}'
_SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
_ANSWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
#: Seconds after which a measurement is not repeated for more answers.
_PATIENCE = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A real model instead of the toy, and where the picture goes."""
    parser.add_argument(
        "--model",
        choices=MODELS,
        help="let a real model answer with and without masks (extra demo-model)",
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="where to draw the curve (default: fastmask-demo.png, if matplotlib is installed)",
    )


def run(options: argparse.Namespace) -> int:
    """Show the three parts; with --json only their numbers."""
    if options.model is not None:
        return run_with_model(options)
    if options.plot is not None:
        need_matplotlib()
    show: Callable[[str], None] = (lambda _: None) if options.json else print
    started = time.perf_counter()
    _note("Getting ready: kernels are compiled on the first start (some 20 seconds), then kept.")
    from ..compiler import GrammarCompiler
    from ..vocabulary import Vocabulary

    _rehearse()
    document: dict[str, Any] = {"kernels_seconds": time.perf_counter() - started}
    _note(f"Ready after {document['kernels_seconds']:.1f} s.")
    vocabulary = Vocabulary.gpt2()
    GrammarCompiler(vocabulary).compile_choices(["what is made once for a vocabulary"])
    show(f"The vocabulary is GPT-2's: {vocabulary.size:,} tokens.\n")
    document["patterns"] = _compile_patterns(vocabulary, show)
    document["answer"] = _answer(vocabulary, show)
    document["costs"] = _measure(vocabulary, show)
    _draw(document["costs"], options, show)
    document["seconds"] = time.perf_counter() - started
    show(f"\nAll of it took {document['seconds']:.1f} s.")
    if options.json:
        json.dump(document, sys.stdout)
        print()
    return 0


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    """Columns side by side: the first to the left, the others to the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([f"  {first.ljust(widths[0])}", *cells]))
    return "\n".join(lines)


def _rehearse() -> None:
    """Everything once, small and silently, so that no time shown has a compilation in it."""
    small = _cut(byte_vocabulary(), 257)
    silent: Callable[[str], None] = lambda _: None  # noqa: E731
    _note("  automata and tables")
    _compile_patterns(small, silent)
    _note("  masks from tables")
    _table_seconds(small, _spelling(small), 1)
    _note("  masks by trying every token")
    _naive_seconds(small, _spelling(small), 1)
    _note("  explanations")
    from ..grammar.core import Grammar

    Verifier(Grammar.from_regex(_MEASURED))(b"{}")


# 1. Patterns become tables


def _compile_patterns(vocabulary: Vocabulary, show: Callable[[str], None]) -> list[dict[str, Any]]:
    from ..compiler import GrammarCompiler

    found: list[dict[str, Any]] = []
    for name, pattern in _PATTERNS.items():
        started = time.perf_counter()
        compiled = GrammarCompiler(vocabulary).compile_regex(pattern)
        compile_seconds = time.perf_counter() - started
        table = compiled.mask_table()
        found.append(
            {
                "name": name,
                "pattern": pattern,
                "subset_states": compiled.stats.subset_states,
                "minimal_states": compiled.stats.minimal_states,
                "mask_table": list(table.shape),
                "compile_seconds": compile_seconds,
                "table_seconds": time.perf_counter() - started - compile_seconds,
            }
        )
    show("1. Patterns become automata, and automata tables with one row of mask bits a state.\n")
    lines = [("pattern", "states", "minimal", "table, KB", "compile, ms", "table, ms")]
    for row in found:
        n_rows, n_words = row["mask_table"]
        lines.append(
            (
                row["name"],
                str(row["subset_states"]),
                str(row["minimal_states"]),
                f"{n_rows * n_words * 4 / 1000:,.0f}",
                f"{row['compile_seconds'] * 1000:.1f}",
                f"{row['table_seconds'] * 1000:.1f}",
            )
        )
    show(_table(lines))
    return found


# 2. One answer, step by step


def _answer(vocabulary: Vocabulary, show: Callable[[str], None]) -> dict[str, Any]:
    """A model that would rather chat, under the mask of the first pattern."""
    import numpy as np

    from ..compiler import GrammarCompiler
    from ..grammar.core import Grammar
    from ..matcher import GrammarMatcher
    from ..sampling import masked_softmax
    from ..toy import ToyModel

    tokens = [token.decode(errors="replace") for token in vocabulary.tokens]
    tokens[-1] = ""
    rng = np.random.default_rng(0)
    model = ToyModel(_REFERENCE, skill=13, chatter=16, tokens=tokens).on_tokens(rng)
    matcher = GrammarMatcher(GrammarCompiler(vocabulary).compile_regex(_MEASURED))
    verify = Verifier(Grammar.from_regex(_MEASURED))
    show(f"\n2. An answer under the mask of {_MEASURED}, by a model that would rather chat.\n")
    steps: list[dict[str, Any]] = []
    drawn: list[int] = []
    while not matcher.is_terminated():
        logits = model(drawn)
        belief = masked_softmax(logits)
        wanted = int(belief.argmax())
        row = matcher.next_token_bitmask()
        chosen = int(rng.choice(belief.size, p=masked_softmax(logits, row)))
        text = "".join(tokens[i] for i in drawn)
        allowed = matcher.allowed_token_ids().tolist()
        step: dict[str, Any] = {
            "text": text,
            "allowed": len(allowed),
            "examples": [tokens[i] for i in allowed[:3]],
            "wanted": tokens[wanted],
            "belief": float(belief[wanted]),
            "refused": not matcher.is_token_allowed(wanted),
            "drawn": tokens[chosen],
        }
        if step["refused"]:
            verdict = verify((text + tokens[wanted]).encode())
            byte = (text + tokens[wanted]).encode()[verdict.position]
            step["why"] = (
                f"{_shown_place(text[: verdict.position])} comes "
                f"{shown_ranges(verdict.allowed, verdict.may_end)}, not {shown_byte(byte)}"
            )
        steps.append(step)
        drawn.append(chosen)
        matcher.accept_token(chosen)
    rows = [("text so far", "allowed", "such as", "the model wanted", "", "drawn")]
    for step in steps:
        rows.append(
            (
                f"'{step['text']}'" if step["text"] else "(nothing)",
                f"{step['allowed']:,}",
                " ".join(map(_shown_token, step["examples"])),
                f"{_shown_token(step['wanted'])} {step['belief']:.0%}",
                "refused" if step["refused"] else "",
                _shown_token(step["drawn"]),
            )
        )
    show(_table(rows))
    for step in steps:
        if step["refused"]:
            show(f"\n  {_shown_token(step['wanted'])} was refused: {step['why']}.")
    answer = "".join(tokens[i] for i in drawn)
    show(f"\n  The answer: {answer}")
    return {"pattern": _MEASURED, "text": answer, "steps": steps}


def _shown_place(text: str) -> str:
    return f"after '{text}'" if text else "first"


def _shown_token(token: str) -> str:
    return f"'{token}'" if token else "(end)"


# 3. What a mask costs


def _cut(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """The first tokens of a vocabulary and an end token."""
    from ..vocabulary import Vocabulary

    return Vocabulary([*vocabulary.tokens[: size - 1], b""], eos_token_ids=[size - 1])


def _spelling(vocabulary: Vocabulary) -> list[int]:
    """Token ids of the reference answer and an end token."""
    from ..sampling import longest_spelling

    return [*longest_spelling(_REFERENCE.encode(), vocabulary), vocabulary.eos_token_ids[0]]


def _naive_seconds(vocabulary: Vocabulary, ids: list[int], answers: int) -> float:
    """Masks of so many answers, by trying every token at each step."""
    from ..compiler import GrammarCompiler
    from ..naive import naive_mask

    started = time.perf_counter()
    compiled = GrammarCompiler(vocabulary).compile_regex(_MEASURED)
    for _ in range(answers):
        for step in range(len(ids)):
            naive_mask(compiled, ids[:step], vocabulary)
    return time.perf_counter() - started


def _table_seconds(vocabulary: Vocabulary, ids: list[int], answers: int) -> float:
    """Masks of so many answers from a table that is made first."""
    from ..bitmask import allocate_token_bitmask
    from ..compiler import GrammarCompiler
    from ..matcher import GrammarMatcher

    started = time.perf_counter()
    compiled = GrammarCompiler(vocabulary).compile_regex(_MEASURED)
    compiled.mask_table()
    bitmask = allocate_token_bitmask(1, vocabulary.size)
    for _ in range(answers):
        matcher = GrammarMatcher(compiled)
        for token in ids:
            matcher.fill_next_token_bitmask(bitmask)
            matcher.accept_token(token)
    return time.perf_counter() - started


def _measure(vocabulary: Vocabulary, show: Callable[[str], None]) -> dict[str, Any]:
    show("\n3. What masks cost: trying every token at each step, against a table made first.\n")
    _note("Measuring ...")
    ids = _spelling(vocabulary)
    by_answers = []
    naive: float | None = 0.0
    for answers in _ANSWERS:
        patient = naive is not None and naive < _PATIENCE
        naive = _naive_seconds(vocabulary, ids, answers) if patient else None
        table = min(_table_seconds(vocabulary, ids, answers) for _ in range(3))
        by_answers.append({"answers": answers, "naive_seconds": naive, "table_seconds": table})
    by_size = []
    for size in (*_SIZES, vocabulary.size):
        cut = _cut(vocabulary, size)
        spelling = _spelling(cut)
        by_size.append(
            {
                "vocabulary_size": size,
                "naive_seconds": min(_naive_seconds(cut, spelling, 1) for _ in range(3)),
                "table_seconds": min(_table_seconds(cut, spelling, 1) for _ in range(3)),
            }
        )
    show(_cost_table("answers", by_answers))
    show(f"\n  One answer is {len(ids)} tokens. For one, by size of the vocabulary:\n")
    show(_cost_table("vocabulary_size", by_size))
    return {"steps": len(ids), "by_answers": by_answers, "by_vocabulary_size": by_size}


def _cost_table(key: str, rows: list[dict[str, Any]]) -> str:
    lines = [(key.replace("_", " "), "naive, ms", "table, ms", "ratio")]
    for row in rows:
        naive, table = row["naive_seconds"], row["table_seconds"]
        lines.append(
            (
                f"{row[key]:,}",
                "" if naive is None else f"{naive * 1000:,.1f}",
                f"{table * 1000:,.2f}",
                "" if naive is None else f"{naive / table:,.1f}",
            )
        )
    return _table(lines)


def _draw(costs: dict[str, Any], options: argparse.Namespace, show: Callable[[str], None]) -> None:
    from ..drawing import matplotlib_is_there, save_curves, terminal_curves

    picture = options.plot or "fastmask-demo.png"
    curves = {
        "naive": [
            (row["answers"], row["naive_seconds"] * 1000)
            for row in costs["by_answers"]
            if row["naive_seconds"] is not None
        ],
        "table, made first": [
            (row["answers"], row["table_seconds"] * 1000) for row in costs["by_answers"]
        ],
    }
    show("\n" + terminal_curves(curves, x_label="answers", y_label="milliseconds"))
    if options.json or not matplotlib_is_there():
        return
    save_curves(
        picture,
        curves,
        title="Masks of all answers: trying every token, against a table made first",
        x_label="answers",
        y_label="milliseconds",
    )
    show(f"\nDrawn as a picture: {picture}")
