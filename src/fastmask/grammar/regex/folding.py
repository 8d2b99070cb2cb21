"""How sets of characters widen when case is ignored, by the rules of Python's ``re``.

One character folds to one character: a character matches a set when its lower case is among the
set's lower cases, and a few dozen lower cases with a common upper case (s and long s, the two small
sigmas, ...) stand for one another.
"""

from __future__ import annotations

import bisect
import functools

from ...automata import Ranges
from .charsets import complement, intersection, normal, union
from .properties import case_pairs, is_cased

__all__ = ["fold_literal", "fold_ranges"]

LAST_BMP = 0xFFFF
CAPITAL_SHARP_S = 0x1E9E


@functools.cache
def _lower_cases() -> tuple[dict[int, int], dict[int, list[int]], dict[int, list[int]]]:
    """Lower case of characters that have another one; the reverse; lower cases that are alike."""
    lower = dict(case_pairs("lower"))
    from_lower: dict[int, list[int]] = {}
    for point, low in lower.items():
        from_lower.setdefault(low, []).append(point)
    alike: dict[int, list[int]] = {}
    for point, other in case_pairs("alike"):
        alike.setdefault(point, []).append(other)
    return lower, from_lower, alike


@functools.lru_cache(maxsize=1024)
def fold_literal(point: int, ascii_only: bool) -> Ranges:
    """What one character of a pattern matches when case is ignored."""
    if ascii_only:
        return fold_ranges((), (point,), True)
    lower, from_lower, alike = _lower_cases()
    if not is_cased(point):
        return normal([(point, point)])
    low = lower.get(point, point)
    points = [low, *alike.get(low, ())]
    for target in list(points):
        points += from_lower.get(target, ())
    return normal((point, point) for point in points)


@functools.lru_cache(maxsize=256)
def fold_ranges(ranges: Ranges, literals: tuple[int, ...], ascii_only: bool) -> Ranges:
    """What a bracketed set of a pattern matches when case is ignored.

    Parameters
    ----------
    ranges : Ranges
        The set's ranges as they are written, in any order (not ``\\w`` and its like, which are the
        same in either case).
    literals : tuple of int
        The set's single characters. Beyond the first plane ``re`` takes them as they are written,
        so an upper case letter there matches nothing.
    ascii_only : bool
        Whether only ASCII letters have case.
    """
    whole = normal([*ranges, *((point, point) for point in literals)])
    if ascii_only:
        letters = intersection(whole, ((0x41, 0x5A), (0x61, 0x7A)))
        others = [(low ^ 32, high ^ 32) for low, high in letters]
        for low, high in ranges:
            if high > LAST_BMP:  # ``re`` takes such a range for upper cases of any letters
                others += ((point, point) for point in _lower_cases_of(low, high))
        return normal([*whole, *others])
    lower, _, alike = _lower_cases()
    starts = [low for low, _ in whole]

    def inside(point: int) -> bool:
        at = bisect.bisect_right(starts, point) - 1
        return at >= 0 and point <= whole[at][1]

    as_written = {point for point in literals if point > LAST_BMP}
    upper = [point for point in lower if inside(point)]
    added = {lower[point] for point in upper if point not in as_written}
    for point, same in alike.items():
        if point in added or inside(point):
            added.update(same)
    matched = [point for point, low in lower.items() if low in added or inside(low)]
    kept = intersection(whole, complement(normal((point, point) for point in upper)))
    return union(kept, tuple((point, point) for point in (*added, *matched)))


def _lower_cases_of(low: int, high: int) -> list[int]:
    """Characters whose upper case is in a range (the Kelvin sign is no upper case of k)."""
    lower, from_lower, alike = _lower_cases()
    capitals = [point for point in lower if low <= point <= high and point != CAPITAL_SHARP_S]
    found = [lower[point] for point in capitals if point == min(from_lower[lower[point]])]
    return [*found, *(other for point in found for other in alike.get(point, ()))]
