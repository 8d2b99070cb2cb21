"""``fastmask reproduce``: every figure of the lesson, beside what it should be."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from .progress import clear_progress, show_progress

__all__ = ["add_arguments", "run"]

#: Items of a list to show.
_LISTED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Seed and pictures."""
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the experiments (0)")
    parser.add_argument("--plots", metavar="DIR", help="draw the lesson's plots there (extra plot)")


def run(options: argparse.Namespace) -> int:
    """Compute the figures; 1 if, with seed 0, any differs from the lesson's."""
    from ..drawing import need_matplotlib
    from ..lesson import EXPECTED, FIGURES, differences

    if options.plots is not None:
        need_matplotlib()
    measured: dict[str, Any] = {}
    wrong: list[str] = []
    for number, (name, figure) in enumerate(FIGURES.items(), 1):
        show_progress(f"{number} of {len(FIGURES)}: {name}")
        measured[name] = figure(options.seed)
        if options.seed == 0:
            wrong += differences(measured[name], EXPECTED[name], name)
    clear_progress()
    if options.json:
        json.dump({**measured, "expected": EXPECTED}, sys.stdout)
        print()
    else:
        _show(measured, EXPECTED if options.seed == 0 else {})
        print("\n".join(["", *wrong] if wrong else ["", "No figure differs."]))
    if options.plots is not None:
        from ..lesson.plots import draw_all

        for path in draw_all(options.plots, options.seed):
            print(f"drawn: {path}", file=sys.stderr)
    return 1 if wrong else 0


def _show(measured: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, figure in measured.items():
        print(name.replace("_", " "))
        should_be = dict(_leaves(expected.get(name)))
        for label, value in _leaves(figure):
            beside = f"  (expected {should_be[label]})" if label in should_be else ""
            print(f"    {label:<46} {value}{beside}")


def _leaves(figure: Any, label: str = "") -> Iterator[tuple[str, str]]:
    """The numbers of a figure, each with its place in words."""
    if isinstance(figure, dict):
        for key, value in figure.items():
            if key not in ("task", "constrained"):
                yield from _leaves(value, f"{label} {key}".strip())
    elif isinstance(figure, list) and figure and isinstance(figure[0], dict):
        for row in figure:
            masked = "with a mask" if row["constrained"] else "without"
            yield from _leaves(row, f"{row['task']}, {masked}:")
    elif isinstance(figure, list):
        more = [f"and {len(figure) - _LISTED} more"] if len(figure) > _LISTED else []
        yield label, "[" + ", ".join([*map(str, figure[:_LISTED]), *more]) + "]"
    elif figure is not None:
        yield label, _written(figure)


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
