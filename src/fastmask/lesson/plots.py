"""The lesson's seven plots (extra ``plot``)."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import toy
from ..bitmask import allocate_token_bitmask
from ..compiler import GrammarCompiler
from ..matcher import GrammarMatcher
from ..naive import naive_mask
from ..sampling import (
    allowed_ids,
    chance_all_valid,
    expected_attempts,
    masked_softmax,
    naive_mask_work,
    table_mask_work,
)
from ..vocabulary import Vocabulary
from .figures import distortion, toy_matcher, validity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_all"]

_BLUE, _GREEN, _ORANGE, _RED, _GREY = "#3b6fb6", "#4c9f70", "#e08e2b", "#c0392b", "#9a9a9a"


def draw_all(folder: str | os.PathLike[str], seed: int = 0) -> list[Path]:
    """Draw all plots as PNG files.

    Parameters
    ----------
    folder : path
        Made if it is missing.
    seed : int
        Of the experiments.

    Returns
    -------
    list of Path
        The files, in the lesson's order.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'fastmask[plot]'") from None
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, (name, draw) in enumerate(_PLOTS.items(), 1):
        figure = Figure(figsize=(_WIDTHS.get(name, 8), 4.5), layout="constrained")
        draw(figure, seed)
        paths.append(target / f"{number}-{name}.png")
        figure.savefig(paths[-1], dpi=150)
    return paths


def _axes(figure: Figure, title: str, x_label: str, y_label: str) -> Axes:
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _chances(figure: Figure, seed: int) -> None:
    axes = _axes(
        figure, "Chance that a whole answer is right", "tokens of the answer, n", "p to the power n"
    )
    n = np.arange(1, 501)
    for p, color in ((0.999, _GREEN), (0.99, _BLUE), (0.98, _ORANGE), (0.95, _RED)):
        axes.plot(n, [chance_all_valid(p, int(k)) for k in n], color=color, label=f"p = {p}")
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False, title="each token right with")


def _first_step(figure: Figure, seed: int) -> None:
    axes = _axes(figure, "The first step of the age answer", "token", "probability")
    logits = toy.ToyModel(toy.AGE_REFERENCE).logits("", np.random.default_rng(seed))
    before = masked_softmax(logits)
    after = masked_softmax(logits, toy_matcher("age").next_token_bitmask())
    shown = np.argsort(-before)[:8]
    places = np.arange(shown.size)
    axes.bar(places - 0.2, before[shown], 0.4, color=_GREY, label="before the mask")
    axes.bar(places + 0.2, after[shown], 0.4, color=_BLUE, label="after")
    axes.set_xticks(places, [toy.TOKENS[i] for i in shown])
    axes.legend(frameon=False)


def _validity(figure: Figure, seed: int) -> None:
    axes = _axes(figure, "What becomes of 200 answers", "", "answers")
    rows = validity(seed)
    names = [f"{row['task']}\n{'with' if row['constrained'] else 'without'} mask" for row in rows]
    bottom = np.zeros(len(rows))
    for key, color in (
        ("valid", _GREEN),
        ("chatter", _ORANGE),
        ("broken", _RED),
        ("cut_off", _GREY),
    ):
        heights = np.array([row[key] for row in rows])
        bars = axes.bar(names, heights, bottom=bottom, color=color, label=key.replace("_", " "))
        labels = [str(height) if height >= 10 else "" for height in heights]
        axes.bar_label(bars, labels, label_type="center", color="white")
        bottom += heights
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def _mask_table(figure: Figure, seed: int) -> None:
    axes = _axes(figure, "The age pattern's mask table, 11 states by 83 tokens", "", "")
    matcher = toy_matcher("age")
    table = np.array(
        [allowed_ids(row, toy.VOCABULARY.size) for row in matcher.compiled.mask_table()]
    )
    axes.imshow(table, aspect="auto", cmap="Blues", interpolation="nearest")
    axes.set_yticks(range(len(table)), _texts_of_rows(matcher, table), family="monospace")
    names = [token if token.strip() else repr(token)[1:-1] for token in toy.TOKENS[:-1]]
    axes.set_xticks(range(table.shape[1]), [*names, "END"], rotation=90, fontsize=7)
    axes.set_ylabel("the text that reaches the state")
    axes.set_xlabel("token")
    axes.set_yticks(np.arange(len(table) + 1) - 0.5, minor=True)
    axes.grid(which="minor", axis="y", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)


def _texts_of_rows(matcher: GrammarMatcher, table: Any) -> list[str]:
    """For each row of the table the shortest beginning of an answer whose mask it is."""
    names = [""] * len(table)
    text = '{"age": 4}'
    for length in range(len(text) + 1):
        matcher.reset()
        matcher.accept_bytes(text[:length].encode())
        mask = allowed_ids(matcher.next_token_bitmask(), table.shape[1])
        for row in np.flatnonzero((table == mask).all(axis=1)):
            names[row] = names[row] or text[:length] or "(start)"
    return names


def _distortion(figure: Figure, seed: int) -> None:
    axes = _axes(figure, "A model that must end its answer in y", "answer", "probability")
    found = distortion(seed)
    names = list(found["own"])
    places = np.arange(len(names))
    for shift, key, color, label in (
        (-0.2, "own", _BLUE, "the model's own odds among valid answers"),
        (0.2, "masked", _ORANGE, "what masking token by token makes of them"),
    ):
        bars = axes.bar(places + shift, list(found[key].values()), 0.4, color=color, label=label)
        axes.bar_label(bars, fmt="%.3f")
    axes.set_xticks(places, names)
    axes.set_ylim(0, 1.15)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)


def _work(figure: Figure, seed: int) -> None:
    numbers = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256])
    formula, measured = figure.subplots(1, 2)
    for axes in (formula, measured):
        axes.set_xlabel("answers made")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.spines[["top", "right"]].set_visible(False)
    shape = (200, 128_000, 4)
    formula.set_title("By formula: 128,000 tokens, 50 states")
    formula.set_ylabel("steps")
    naive = [naive_mask_work(*shape, answers=int(k)) for k in numbers]
    table = [table_mask_work(*shape, n_states=50, answers=int(k)) for k in numbers]
    formula.plot(numbers, naive, "o-", color=_RED, label="every token tried")
    formula.plot(numbers, table, "s-", color=_BLUE, label="a table made first")
    formula.legend(frameon=False)
    vocabularies = _vocabularies()
    measured.set_title("Measured: the age answer, 12 masks")
    measured.set_ylabel("seconds")
    for shade, (name, vocabulary) in zip(
        np.linspace(0.4, 1, len(vocabularies)), vocabularies.items(), strict=True
    ):
        once, made, each = _times(vocabulary)
        measured.plot(numbers, numbers * once, "o-", color=_RED, alpha=shade, markersize=3)
        label = f"{name}: {vocabulary.size:,} tokens"
        measured.plot(
            numbers,
            made + numbers * each,
            "s-",
            color=_BLUE,
            alpha=shade,
            markersize=3,
            label=label,
        )
    measured.legend(frameon=False, fontsize=7, title="red: every token; blue: table")


def _vocabularies() -> dict[str, Vocabulary]:
    """Three real ones from ``FASTMASK_DATA``, or GPT-2's cut to three sizes."""
    folder = os.environ.get("FASTMASK_DATA")
    paths = sorted((Path(folder) / "vocab").glob("*.npz")) if folder else []
    if paths:
        found = sorted(((path.stem, Vocabulary.load(path)) for path in paths), key=_size)
        return dict(found[i] for i in sorted({0, len(found) // 2, len(found) - 1}))
    tokens = Vocabulary.gpt2().tokens
    sizes = (2_000, 10_000, len(tokens))
    cuts = [Vocabulary([*tokens[: n - 1], b""], eos_token_ids=[n - 1]) for n in sizes]
    return {f"GPT-2, the first {n:,}": cut for n, cut in zip(sizes, cuts, strict=True)}


def _size(named: tuple[str, Vocabulary]) -> int:
    return named[1].size


def _times(vocabulary: Vocabulary) -> tuple[float, float, float]:
    """Seconds of one answer's masks by trying every token; of making the table; of reading it."""
    text = toy.AGE_REFERENCE.encode()
    rounds = []
    for _ in range(4):  # the first may compile kernels
        clock = [time.perf_counter()]
        compiled = GrammarCompiler(vocabulary).compile_regex(toy.AGE_PATTERN)
        compiled.mask_table()
        clock.append(time.perf_counter())
        for length in range(len(text) + 1):
            naive_mask(compiled, text[:length], vocabulary)
        clock.append(time.perf_counter())
        bitmask = allocate_token_bitmask(1, vocabulary.size)
        matcher = GrammarMatcher(compiled)
        matcher.fill_next_token_bitmask(bitmask)
        for position in range(len(text)):
            matcher.accept_bytes(text[position : position + 1])
            matcher.fill_next_token_bitmask(bitmask)
        clock.append(time.perf_counter())
        rounds.append(np.diff(clock))
    made, naive, each = np.min(rounds, axis=0)
    return float(naive), float(made), float(each)


def _tries(figure: Figure, seed: int) -> None:
    axes = _axes(
        figure, "Expected tries until an answer is valid", "chance that one is, p", "1 / p"
    )
    p = np.linspace(0.02, 1, 200)
    axes.plot(p, [expected_attempts(float(x)) for x in p], color=_BLUE)
    rows = [row for row in validity(seed) if not row["constrained"]]
    for row in rows:
        chance = row["valid"] / 200
        axes.plot(chance, expected_attempts(chance), "o", color=_RED)
        axes.annotate(
            f"the {row['task']} task: {expected_attempts(chance):.2f}",
            (chance, expected_attempts(chance)),
            xytext=(8, 8),
            textcoords="offset points",
        )
    axes.set_ylim(0, 20)


_WIDTHS = {"mask-table": 13, "work": 11}
_PLOTS = {
    "chances": _chances,
    "first-step": _first_step,
    "outcomes": _validity,
    "mask-table": _mask_table,
    "distortion": _distortion,
    "work": _work,
    "tries": _tries,
}
