"""Timing single calls and steady ones; the exponent of a growth.

A single call is charged the smaller of wall clock and processor time of its thread, so that what a
shared machine does meanwhile does not count; the time of helper threads is in the wall clock alone.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["growth_exponent", "once", "quiet", "steady"]


class quiet:  # noqa: N801, read as a word: "with quiet():"
    """No garbage collection meanwhile."""

    def __enter__(self) -> None:
        gc.collect()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        gc.enable()


def once(call: Callable[..., Any], *arguments: Any) -> tuple[int, Any]:
    """Nanoseconds of one call, and what it gave."""
    own, wall = time.thread_time_ns, time.perf_counter_ns
    own_start, start = own(), wall()
    result = call(*arguments)
    end, own_end = wall(), own()
    return min(end - start, own_end - own_start), result


def steady(
    call: Callable[..., Any], *arguments: Any, seconds: float = 0.02, rounds: int = 7
) -> list[float]:
    """Nanoseconds of a call that can be repeated: one mean for each round of many calls."""
    started = time.perf_counter_ns()
    call(*arguments)
    each = max(time.perf_counter_ns() - started, 50)
    repeats = max(1, int(seconds * 1e9 / rounds / each))
    found = []
    for _ in range(rounds):
        started = time.perf_counter_ns()
        for _ in range(repeats):
            call(*arguments)
        found.append((time.perf_counter_ns() - started) / repeats)
    return found


def growth_exponent(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """The p of y ~ x^p over the larger half of the points, by least squares on logarithms.

    The smaller half, where what does not grow still rules, is left out. None for fewer than three
    points.
    """
    n = len(xs)
    if n < 3:
        return None
    larger = np.argsort(xs)[-((n + 1) // 2) :]
    x, y = np.log(np.asarray(xs, float)[larger]), np.log(np.asarray(ys, float)[larger])
    return float(np.polyfit(x, y, 1)[0])
