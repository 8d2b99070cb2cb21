"""Curves on double logarithmic axes: in a terminal, or as a PNG where matplotlib is installed."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence

__all__ = ["matplotlib_is_there", "need_matplotlib", "save_curves", "terminal_curves"]

Curves = Mapping[str, Sequence[tuple[float, float]]]

_MARKS = "ox+*#@%"


def terminal_curves(
    curves: Curves, *, x_label: str, y_label: str, width: int = 64, height: int = 16
) -> str:
    """Draw curves with one mark each, both axes logarithmic.

    Parameters
    ----------
    curves : mapping of name to points
        Each point is (x, y), both above 0.
    x_label, y_label : str
    width, height : int
        Size of the field in characters.
    """
    points = [point for curve in curves.values() for point in curve]
    left, right = _log_range([x for x, _ in points])
    bottom, top = _log_range([y for _, y in points])

    def place(x: float, y: float) -> tuple[int, int]:
        column = (math.log10(x) - left) / (right - left) * (width - 1)
        row = (top - math.log10(y)) / (top - bottom) * (height - 1)
        return round(row), round(column)

    field = [[" "] * width for _ in range(height)]
    for curve, mark in zip(curves.values(), _MARKS, strict=False):
        ordered = sorted(curve)
        for (x0, y0), (x1, y1) in itertools.pairwise(ordered):
            for step in range(1, 24):
                share = step / 24
                row, column = place(x0 * (x1 / x0) ** share, y0 * (y1 / y0) ** share)
                field[row][column] = "." if field[row][column] == " " else field[row][column]
        for x, y in ordered:
            row, column = place(x, y)
            field[row][column] = mark
    ticks = {place(10**left, value)[0]: value for value in _ticks(bottom, top, height // 5)}
    lines = [f"  {y_label}"]
    for row, cells in enumerate(field):
        tick = f"{ticks[row]:,g}" if row in ticks else ""
        lines.append(f"{tick:>8} |{''.join(cells).rstrip()}")
    lines.append(" " * 9 + "+" + "-" * width)
    below = [" "] * (width + 12)
    for value in _ticks(left, right, width // 12):
        column = place(value, 10**top)[1] + 10
        below[column : column + len(f"{value:,g}")] = f"{value:,g}"
    lines.append("".join(below).rstrip() + f"  {x_label}")
    names = (f"{mark} {name}" for name, mark in zip(curves, _MARKS, strict=False))
    lines.append(" " * 10 + "    ".join(names))
    return "\n".join(lines)


def matplotlib_is_there() -> bool:
    """Whether pictures can be drawn (extra ``plot``)."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def need_matplotlib() -> None:
    """Ask for matplotlib before any work is done for a picture.

    Raises
    ------
    ImportError
        It is missing.
    """
    if not matplotlib_is_there():
        raise ImportError("pictures need matplotlib: pip install 'fastmask[plot]'")


def save_curves(
    path: str | os.PathLike[str], curves: Curves, *, title: str, x_label: str, y_label: str
) -> None:
    """Draw the same curves as a PNG.

    Raises
    ------
    ImportError
        Without matplotlib.
    """
    need_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for (name, curve), mark in zip(curves.items(), "osD^vP*", strict=False):
        xs, ys = zip(*sorted(curve), strict=True)
        axes.loglog(xs, ys, marker=mark, markersize=5, label=name)
    axes.set_title(title)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.grid(which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def _log_range(values: Sequence[float]) -> tuple[float, float]:
    low, high = math.log10(min(values)), math.log10(max(values))
    if high - low < 1e-9:
        return low - 0.5, high + 0.5
    return low, high


def _ticks(low: float, high: float, wanted: int) -> list[float]:
    """Round numbers between two powers of ten: decades, or also their twos and fives."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        ticks = [
            step * 10.0**decade
            for decade in decades
            for step in steps
            if low - 1e-9 <= math.log10(step) + decade <= high + 1e-9
        ]
        if len(ticks) >= wanted:
            break
    return ticks
