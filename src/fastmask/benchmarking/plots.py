"""Records as pictures (extra ``plot``)."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .curves import MEASURES, exponents, value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "draw",
    "draw_crossing",
    "draw_curves",
    "draw_serving",
    "draw_starts",
    "draw_states",
    "save",
]

_COLORS = ("black", "#3b6fb6", "#e08e2b", "#4c9f70", "#c0392b")


def draw(record: dict[str, Any], folder: str | os.PathLike[str]) -> list[Path]:
    """Draw all pictures of a record as PNG files into a folder, made if it is missing.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, make in _PICTURES[record["what"]].items():
        paths.append(target / f"{record['what']}-{name}.png")
        save(make(record), paths[-1])
    return paths


def save(figure: Figure, path: Path, dpi: int = 90) -> None:
    """Write a PNG of 64 colours, a third of the bytes of one of all."""
    from PIL import Image  # comes with matplotlib

    data = io.BytesIO()
    figure.savefig(data, dpi=dpi)
    Image.open(data).convert("RGB").quantize(64).save(path, optimize=True)


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'fastmask[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def _logarithmic(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    for axis in (axes.xaxis, axes.yaxis):
        _plain_ticks(axis)


def _plain_ticks(axis: Any) -> None:
    """Plain numbers at powers of ten, and at their twos and fives where there are few powers."""
    from matplotlib.ticker import FuncFormatter

    def between(x: float, _: int) -> str:
        low, high = axis.get_view_interval()
        shown = high / low < 40 and round(x / 10 ** math.floor(math.log10(x))) in (2, 5)
        return f"{x:,g}" if shown else ""

    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    axis.set_minor_formatter(FuncFormatter(between))


def _color(engine: str, engines: Sequence[str]) -> str:
    return _COLORS[list(engines).index(engine) % len(_COLORS)]


def draw_states(record: dict[str, Any]) -> Figure:
    """First touches and repeated masks by vocabulary size, one panel a kind of state."""
    states = list(dict.fromkeys(row["state"] for row in record["masks"]))
    columns = 5
    figure = _figure(16, 3.4 * math.ceil(len(states) / columns))
    panels = figure.subplots(math.ceil(len(states) / columns), columns, squeeze=False, sharey=True)
    engines = list(record["versions"])
    for axes, state in zip(panels.flat, states, strict=False):
        _logarithmic(axes, state, "tokens of the vocabulary", "microseconds")
        for engine in engines:
            rows = [
                row
                for row in record["masks"]
                if (row["state"], row["engine"]) == (state, engine) and "again" in row
            ]
            rows.sort(key=lambda row: row["size"])
            sizes = [row["size"] for row in rows]
            for key, style in (("first_touch", "o-"), ("again", "s:")):
                times = [row[key]["p50"] / 1e3 for row in rows]
                label = f"{engine}, {'first touch' if style == 'o-' else 'again'}"
                color = _color(engine, engines)
                axes.plot(sizes, times, style, color=color, markersize=4, label=label)
    for axes in panels.flat[len(states) :]:
        axes.set_visible(False)
    for axes in panels.flat:
        axes.set_xticks([32_000, 64_000, 128_000, 256_000], ["32k", "64k", "128k", "256k"])
        axes.set_xticks([], minor=True)
    panels.flat[0].legend(frameon=False, fontsize=7)
    return figure


def draw_crossing(record: dict[str, Any]) -> Figure:
    """Naive against table against split: time for a number of answers, and where they cross."""
    names = list(dict.fromkeys(row["vocabulary"] for row in record["naive"]))
    names = [names[i] for i in sorted({0, len(names) // 2, len(names) - 1})]
    patterns = list(dict.fromkeys(row["pattern"] for row in record["naive"]))
    figure = _figure(4.6 * len(names), 3.8 * len(patterns))
    panels = figure.subplots(len(patterns), len(names), squeeze=False, sharex=True, sharey=True)
    answers = [10 ** (k / 20) for k in range(-40, 61)]
    for line, pattern in zip(panels, patterns, strict=True):
        for axes, name in zip(line, names, strict=True):
            (row,) = (
                row
                for row in record["naive"]
                if (row["vocabulary"], row["pattern"]) == (name, pattern)
            )
            title = f"{name}: {pattern.replace('$', '')}, {row['states']} states"
            _logarithmic(axes, title, "answers", "milliseconds")
            naive = [k * row["naive"] / 1e6 for k in answers]
            axes.plot(answers, naive, color="#c0392b", label="every token tried at each step")
            for key, color, style, label in (
                ("table_by_naive", "#e08e2b", "-", "a table first, every token tried"),
                ("table", "#3b6fb6", "-", "a table first, by the trie"),
                ("split", "black", "--", "rows made as they are reached"),
            ):
                once = row[key] - (row["read"] if key == "split" else 0)
                times = [(once + k * row["read"]) / 1e6 for k in answers]
                axes.plot(answers, times, style, color=color, label=label)
            for key, color in (("crossing_by_naive", "#e08e2b"), ("crossing", "#3b6fb6")):
                axes.plot(row[key], row[key] * row["naive"] / 1e6, "o", color=color)
                axes.annotate(
                    f"{row[key]:.2g}",
                    (row[key], row[key] * row["naive"] / 1e6),
                    xytext=(-6, 5),
                    textcoords="offset points",
                    ha="right",
                    fontsize=9,
                    color=color,
                )
    panels[0, 0].legend(frameon=False, fontsize=8, loc="upper left")
    return figure


def draw_curves(record: dict[str, Any], measure: str = "mask") -> Figure:
    """One panel an axis; the legend has the exponent of each growth."""
    axes_names = list(dict.fromkeys(point["axis"] for point in record["points"]))
    engines = list(record["versions"])
    growth = exponents(record)
    columns = 4
    n_rows = math.ceil(len(axes_names) / columns)
    figure = _figure(16, 3.6 * n_rows)
    figure.suptitle(f"{MEASURES[measure].capitalize()}; p of cost ~ size^p over the larger half")
    panels = figure.subplots(n_rows, columns, squeeze=False)
    for axes, axis in zip(panels.flat, axes_names, strict=False):
        in_ms = measure == "compile_and_first_mask"
        unit = "milliseconds" if in_ms else "microseconds"
        _logarithmic(axes, "", axis, unit)
        for engine in engines:
            points = sorted(
                (point["x"], value(point, measure) / (1e6 if in_ms else 1e3))
                for point in record["points"]
                if (point["axis"], point["engine"]) == (axis, engine) and measure in point
            )
            if points:
                xs, ys = zip(*points, strict=True)
                power = growth[axis, engine, measure]
                label = engine if power is None else f"{engine}, p = {power:.2f}"
                axes.plot(xs, ys, "o-", markersize=4, color=_color(engine, engines), label=label)
        axes.legend(frameon=False, fontsize=7)
    for axes in panels.flat[len(axes_names) :]:
        axes.set_visible(False)
    return figure


def draw_serving(record: dict[str, Any]) -> Figure:
    """Time a row by batch size, and a step with masks made after and ahead."""
    figure = _figure(12, 4.5)
    left, right = figure.subplots(1, 2)
    _logarithmic(left, "Filling a batch of mixed schemas", "matchers", "microseconds a row")
    engines = list(record["versions"])
    for engine in engines:
        for threads, style in ((1, "o-"), (2, "s:")):
            rows = [
                row
                for row in record["batches"]
                if (row["engine"], row["threads"]) == (engine, threads) and "a_row" in row
            ]
            left.plot(
                [row["size"] for row in rows],
                [row["a_row"]["p50"] / 1e3 for row in rows],
                style,
                color=_color(engine, engines),
                markersize=4,
                label=f"{engine}, {threads} thread{'s' if threads > 1 else ''}",
            )
    left.legend(frameon=False, fontsize=8)
    right.set_title("What masks add to a step of a model of 5 ms", fontsize=10)
    right.set_xlabel("matchers")
    right.set_ylabel("milliseconds")
    right.set_xscale("log")
    _plain_ticks(right.xaxis)
    right.spines[["top", "right"]].set_visible(False)
    sizes = [row["size"] for row in record["ahead"]]
    for key, color, label in (
        ("after", "#e08e2b", "after it"),
        ("ahead", "black", "while it works"),
    ):
        added = [row[key] - row["model"] for row in record["ahead"]]
        right.plot(sizes, added, "o-", color=color, label=f"masks made {label}")
    right.axhline(0, color="#9a9a9a", linewidth=0.8)
    right.legend(frameon=False)
    return figure


def draw_starts(record: dict[str, Any]) -> Figure:
    """Parts of each warm start, medians, stacked; the fresh start is written beside."""
    figure = _figure(9, 3.6)
    axes = figure.subplots()
    parts = {
        "import": "import",
        "vocabulary": "prepare the vocabulary",
        "compile": "compile a schema",
        "first_mask": "first mask",
    }
    engines = list(record["versions"])
    left = [0.0] * len(engines)
    for (part, label), color in zip(
        parts.items(), ("#9a9a9a", "#3b6fb6", "#e08e2b", "#4c9f70"), strict=True
    ):
        widths = []
        for engine in engines:
            seconds = sorted(
                row[part]
                for row in record["starts"]
                if (row["engine"], row["kind"]) == (engine, "warm")
            )
            widths.append(seconds[len(seconds) // 2])
        axes.barh(engines, widths, left=left, color=color, label=label)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlabel("seconds")
    axes.set_title("A warm process, up to its first mask", fontsize=10)
    axes.invert_yaxis()
    axes.legend(frameon=False, fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


_PICTURES: dict[str, dict[str, Callable[[dict[str, Any]], Figure]]] = {
    "sweep": {"crossing": draw_crossing, "states": draw_states},
    "curves": {
        "again": lambda record: draw_curves(record, "again"),
        "compile": lambda record: draw_curves(record, "compile_and_first_mask"),
        "mask": draw_curves,
    },
    "serving": {"rows": draw_serving},
    "start": {"parts": draw_starts},
}
