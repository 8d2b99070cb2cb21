"""Which numbers a conjunction holds: exact, by lattices where there is one and by halving else."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import count, islice

from ..errors import BudgetError
from .constants import Number
from .scalars import Numbers

__all__ = ["first_numbers", "least_common_multiple"]

_CANDIDATE_LIMIT = 20_000
_HALVINGS = 2_000


def first_numbers(conjunction: Numbers, limit: int) -> list[Number]:
    """Up to ``limit`` numbers of a conjunction; fewer only where there are no more.

    Raises `BudgetError` where 20,000 candidates in a row fail.
    """
    if conjunction.allowed is not None:
        return sorted(conjunction.allowed)[:limit]
    others = list(conjunction.others)
    if conjunction.integer is False:
        others.append(1)
    divisors = list(conjunction.multiples)
    if conjunction.integer:
        divisors.append(1)
    if not divisors:
        return list(islice(_dense(conjunction), limit))
    step = least_common_multiple(divisors)
    if any(step % other == 0 for other in others):
        return []
    return list(islice(_lattice(conjunction, step), limit))


def least_common_multiple(numbers: list[Number]) -> Number:
    """The least number above 0 that every one of the given fractions divides."""
    numerator, denominator = 1, 0
    for number in map(Fraction, numbers):
        numerator = math.lcm(numerator, number.numerator)
        denominator = math.gcd(denominator, number.denominator)
    return numerator if denominator == 1 else Fraction(numerator, denominator)


def _lattice(conjunction: Numbers, step: Number) -> Iterator[Number]:
    """Multiples of ``step`` in the conjunction, those next to zero first."""
    low = None if conjunction.lower is None else math.ceil(Fraction(conjunction.lower) / step)
    high = None if conjunction.upper is None else math.floor(Fraction(conjunction.upper) / step)
    failed = 0
    for factor in _outward(low, high):
        number = factor * step
        if isinstance(number, Fraction) and number.denominator == 1:
            number = number.numerator
        if conjunction.contains(number, True) or conjunction.contains(number, False):
            failed = 0
            yield number
            continue
        failed += 1
        if failed > _CANDIDATE_LIMIT:
            raise BudgetError(
                "numbers tried", _CANDIDATE_LIMIT, "use fewer or smaller divisors under not"
            )


def _outward(low: int | None, high: int | None) -> Iterator[int]:
    """The integers of an interval by distance from its end nearest to zero, or from zero."""
    if low is not None and low >= 0:
        yield from count(low) if high is None else range(low, high + 1)
    elif high is not None and high <= 0:
        yield from count(high, -1) if low is None else range(high, low - 1, -1)
    else:
        yield 0
        for distance in count(1):
            above = high is None or distance <= high
            below = low is None or -distance >= low
            if above:
                yield distance
            if below:
                yield -distance
            if not above and not below:
                return


def _dense(conjunction: Numbers) -> Iterator[Number]:
    """Decimals of an interval that has an inside: the ends, then ever finer halves."""
    low, high = conjunction.lower, conjunction.upper
    if low is None and high is None:
        low, high = 0, 1_024
    elif low is None:
        low = (high or 0) - 1_024
    elif high is None:
        high = low + 1_024
    width = Fraction(high or 0) - low
    seen = set()
    candidates: Iterator[Number] = (
        Fraction(low) + width * part / (1 << level)
        for level in range(_HALVINGS)
        for part in range(1 if level else 0, min(1 << level, 64) + 1, 2 if level else 1)
    )
    for candidate in candidates:
        number = candidate.numerator if candidate.denominator == 1 else candidate
        if number in seen:
            continue
        seen.add(number)
        if conjunction.contains(number, True) or conjunction.contains(number, False):
            yield number
