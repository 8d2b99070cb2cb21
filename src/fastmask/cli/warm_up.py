"""``fastmask warm-up``: compile every kernel, with progress."""

from __future__ import annotations

import argparse
import json
import sys
import time

from .progress import clear_progress, show_progress

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""


def run(options: argparse.Namespace) -> int:
    """Compile or load all kernels and say how long it took."""
    started = time.perf_counter()
    from .._jit import KERNELS, kernel_folder
    from ..warm import warm_up

    imported = time.perf_counter()
    terminal = sys.stderr.isatty()

    def show(name: str, done: int, total: int) -> None:
        line = f"{done:3} of {total}  {time.perf_counter() - started:6.1f} s  {name}"
        if terminal:
            show_progress(line)
        else:
            print(line, file=sys.stderr, flush=True)

    warm_up(show)
    clear_progress()
    seconds = time.perf_counter() - started
    if options.json:
        folder = None if kernel_folder is None else str(kernel_folder)
        print(
            json.dumps(
                {
                    "kernels": len(KERNELS),
                    "seconds": round(seconds, 3),
                    "import_seconds": round(imported - started, 3),
                    "folder": folder,
                }
            )
        )
    else:
        print(f"{len(KERNELS)} kernels ready in {seconds:.1f} s, kept in {kernel_folder}")
    return 0
