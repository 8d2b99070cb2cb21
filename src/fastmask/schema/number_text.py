"""Sets of numbers as automata over plain decimals: a sign, digits, and digits behind a point.

A decimal is in the automaton of a set exactly when its exact value is in the set, whatever zeros
stand at its end, so that these automata can be joined, subtracted and complemented like the sets
they stand for. Bounds are compared digit by digit (a state knows how what was read compares with
the digits of each bound so far), multiples by remainder. What exponents add is in
`fastmask.schema.exponents`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np

from .._arrays import U8
from ..automata import Dfa, Nfa
from ..errors import BudgetError
from .constants import Number
from .numbers import least_common_multiple
from .scalars import Numbers

__all__ = [
    "COLUMNS",
    "DOT",
    "EXPONENT",
    "MINUS",
    "built",
    "decimal_text",
    "decimals",
    "json_numbers",
    "multiples",
    "numbers_between",
    "these_numbers",
]

#: Columns of the tables made here: ten digits, then these, then all other bytes.
MINUS, DOT, EXPONENT, PLUS, OTHER = range(10, 15)
COLUMNS: U8 = np.full(256, OTHER, np.uint8)
COLUMNS[0x30:0x3A] = range(10)
COLUMNS[[*b"-.e+"]] = range(MINUS, OTHER)

_PLACE_LIMIT = 5_000
_REMAINDER_LIMIT = 50_000
_VALUE_LIMIT = 2_000

#: Digits before the point, digits behind it, and whether the bound itself is left out.
_Bound: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], bool]
Row: TypeAlias = Sequence[Hashable | None]


def built(start: Hashable, moves: Callable[[Any], tuple[Row, bool]]) -> Dfa:
    """The automaton whose states are found from ``start`` outwards.

    Parameters
    ----------
    start : hashable
        The first state.
    moves : callable
        From a state to its targets by column (None: dead) and whether a text may end there.
    """
    ids: dict[Hashable | None, int] = {None: 0, start: 1}
    order: list[Any] = [start]
    table = [[0] * (OTHER + 1)]
    labels = [False]
    for state in order:
        row, accepting = moves(state)
        for target in row:
            if target not in ids:
                ids[target] = len(ids)
                order.append(target)
        targets = [ids[target] for target in row]
        table.append(targets + [0] * (OTHER + 1 - len(targets)))
        labels.append(accepting)
    return Dfa(COLUMNS, np.array(table, np.int32), 1, np.array(labels, np.int32))


# Digits of numbers.


def decimal_text(number: Number) -> str:
    """The shortest plain decimal of a number.

    Raises `BudgetError` for more than 5,000 places behind the point, and for fractions that no
    decimal equals.
    """
    # Decimal writes integers of any length; str() stops at 4,300 digits.
    if number.denominator == 1:
        return f"{Decimal(number.numerator):f}"
    places = _places(number)
    digits = f"{Decimal(abs(number.numerator) * 10**places // number.denominator):f}"
    digits = digits.rjust(places + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def _places(number: Number) -> int:
    """Digits behind the point of the shortest plain decimal."""
    denominator = number.denominator
    twos = (denominator & -denominator).bit_length() - 1
    denominator >>= twos
    fives = 0
    while denominator % 5 == 0:
        denominator //= 5
        fives += 1
    places = max(twos, fives)
    if denominator != 1 or places > _PLACE_LIMIT:
        raise BudgetError("decimal places", _PLACE_LIMIT, f"{number} needs more: round it")
    return places


def _bound(number: Number, strict: bool) -> _Bound:
    whole, _, rest = decimal_text(abs(number)).partition(".")
    return tuple(map(int, whole)), tuple(map(int, rest)), strict


# Intervals.


@lru_cache(maxsize=2_048)
def numbers_between(
    lower: Number | None, above: bool, upper: Number | None, below: bool, fraction: str
) -> Dfa:
    """The numbers of an interval.

    Parameters
    ----------
    lower, upper : int, Fraction or None
        Bounds.
    above, below : bool
        Whether the bound itself is left out.
    fraction : {"any", "zeros", "none"}
        What may stand behind the point; none: there is no point, and ``-0`` only where negative
        numbers are.
    """
    floor = _bound(lower, above) if _is_positive(lower, above) else None
    ceiling = None if upper is None else _bound(upper, below)
    has_positive = upper is None or upper > 0 or (upper == 0 and not below)
    mirrored = None if upper is None else -upper
    low_size = _bound(upper, below) if _is_positive(mirrored, below) else None  # type: ignore[arg-type]
    high_size = None if lower is None else _bound(lower, above)
    has_negative = lower is None or lower < 0
    if lower == 0 and fraction != "none":
        has_negative = not above
    sizes = {"+": _Sizes(floor, ceiling, fraction), "-": _Sizes(low_size, high_size, fraction)}

    def moves(state: tuple[Any, ...]) -> tuple[Row, bool]:
        if state == ("start",):
            row: list[Hashable | None] = [None] * 11
            if has_positive:
                row[:10] = [("+", *target) if target else None for target in sizes["+"].first()]
            if has_negative:
                row[MINUS] = ("-", "start")
            return row, False
        sign, *rest = state
        if rest == ["start"]:
            targets: Any = sizes[sign].first()
            return [target and (sign, *target) for target in targets], False
        targets, accepting = sizes[sign].moves(tuple(rest))
        return [target and (sign, *target) for target in targets], accepting

    return built(("start",), moves)


def _is_positive(number: Number | None, strict: bool) -> bool:
    """Whether a lower bound leaves out zero."""
    return number is not None and (number > 0 or (number == 0 and strict))


_SATISFIED = 2  # whatever follows, the bound is kept


class _Sizes:
    """States of an interval of numbers without sign.

    A state before the point is (number of digits, how they compare with as many digits of the
    lower bound, the same for the upper one); behind it (-1, number of digits, whether they equal
    those of the lower bound so far, the same for the upper one, whether there is any digit).
    """

    def __init__(self, lower: _Bound | None, upper: _Bound | None, fraction: str) -> None:
        self.low, self.low_rest, self.low_strict = lower or ((), (), False)
        self.high, self.high_rest, self.high_strict = upper or ((), (), False)
        self.has_low, self.has_high = lower is not None, upper is not None
        self.longest = max(len(self.low), len(self.high)) + 1
        self.longest_rest = max(len(self.low_rest), len(self.high_rest))
        self.fraction = fraction

    def first(self) -> list[Any]:
        return self._digits(0, 0, 0)

    def moves(self, state: tuple[Any, ...]) -> tuple[list[Any], bool]:
        if state[0] < 0:
            return self._behind_point(*state[1:])
        count, low, high, zero = state
        point = self._point(count, low, high)
        accepting = point is not None and self._is_kept(0, point[2], point[3])
        row = [None] * 10 if zero else self._digits(count, low, high)
        row += [None, None if self.fraction == "none" else point]
        return row, accepting

    def _digits(self, count: int, low: int, high: int) -> list[Any]:
        """Targets by the next digit before the point."""
        row = []
        count += 1
        n_low, n_high = len(self.low), len(self.high)
        for digit in range(10):
            to_low, to_high = low, high
            if not self.has_low or count > n_low:
                to_low = _SATISFIED
            elif to_low == 0:
                to_low = _sign(digit - self.low[count - 1])
            if to_low > 0 and count >= n_low:
                to_low = _SATISFIED
            if not self.has_high:
                to_high = _SATISFIED
            elif count > n_high:
                to_high = 1
            elif to_high == 0:
                to_high = _sign(digit - self.high[count - 1])
            if to_high == 1 and count >= n_high:
                row.append(None)
            elif to_low == to_high == _SATISFIED:
                row.append((self.longest, to_low, to_high, count == 1 and digit == 0))
            else:
                row.append((count, to_low, to_high, count == 1 and digit == 0))
        return row

    def _point(self, count: int, low: int, high: int) -> Any:
        """The state behind the point, None if the digits before it are too few or too many."""
        if low != _SATISFIED and (count < len(self.low) or low < 0):
            return None
        if high != _SATISFIED and count == len(self.high) and high > 0:
            return None
        equals_high = high == 0 and count == len(self.high)
        return (-1, 0, low == 0, equals_high, False)

    def _behind_point(
        self, count: int, low: bool, high: bool, some: bool
    ) -> tuple[list[Any], bool]:
        row: list[Any] = []
        next_low = self.low_rest[count] if count < len(self.low_rest) else 0
        next_high = self.high_rest[count] if count < len(self.high_rest) else 0
        after = min(count + 1, self.longest_rest)
        for digit in range(1 if self.fraction == "zeros" else 10):
            if (low and digit < next_low) or (high and digit > next_high):
                row.append(None)
                continue
            to_low, to_high = low and digit == next_low, high and digit == next_high
            row.append((-1, after if to_low or to_high else 0, to_low, to_high, True))
        return row, some and self._is_kept(count, low, high)

    def _is_kept(self, count: int, low: bool, high: bool) -> bool:
        """Whether the number may end here; the flags say which bounds its digits equal so far."""
        if low and (count < len(self.low_rest) or self.low_strict):
            return False
        return not (high and count >= len(self.high_rest) and self.high_strict)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


# Multiples and sets.


@lru_cache(maxsize=512)
def multiples(step: Number) -> Dfa:
    """The multiples of a positive number.

    Raises `BudgetError` where an automaton would have to tell too many remainders apart.
    """
    places = _places(step)
    divisor = int(step * 10**places)
    zeros = 0
    while divisor % 10 == 0:
        divisor //= 10
        zeros += 1
    if divisor * (places + 2) > _REMAINDER_LIMIT:
        raise BudgetError("remainders", _REMAINDER_LIMIT, f"{step} as a divisor needs more")
    # States by remainder: before the point, behind it, behind it and one digit, and so on. Where
    # the divisor ends in zeros, a multiple of the rest is followed by a chain of as many zeros.
    start, signed, zero, end, whole = range(1, 6)
    chain = whole + divisor
    point = chain + zeros
    remainders = np.arange(divisor)
    after = (10 * remainders[:, None] + np.arange(10)) % divisor
    table = np.zeros((point + divisor * max(places, 1), OTHER + 1), np.int32)
    labels = np.zeros(len(table), np.int32)
    table[start, 1:10] = table[signed, 1:10] = whole + np.arange(1, 10) % divisor
    table[start, 0] = table[signed, 0] = zero
    table[start, MINUS] = signed
    table[zero, DOT] = point
    table[end, 0] = end
    table[whole:chain, :10] = whole + after
    table[whole:chain, DOT] = point + remainders
    labels[whole:chain] = remainders * pow(10, places, divisor) % divisor == 0
    if zeros:
        table[chain:point] = table[whole]
        table[[whole, *range(chain, point)], 0] = [*range(chain, point), point - 1]
        table[whole : point - 1, DOT] = 0
        labels[whole] = 0
    labels[[zero, end, point - 1 if zeros else whole]] = 1
    if places == 0:
        table[point, 0] = end
    for place in range(places):
        rows = slice(point + place * divisor, point + (place + 1) * divisor)
        if place > 0:
            labels[rows] = remainders * pow(10, places - place, divisor) % divisor == 0
        last = place == places - 1
        table[rows, :10] = np.where(after == 0, end, 0) if last else rows.stop + after
    return Dfa(COLUMNS, table, start, labels)


def these_numbers(numbers: Iterable[Number]) -> Dfa:
    """Some numbers, with any zeros at their ends."""
    texts = {decimal_text(number) for number in numbers}
    if "0" in texts:
        texts.add("-0")
    with_point = {text for text in texts if "." in text}
    nfa = Nfa()
    for group in (texts - with_point, with_point):
        end = nfa.automaton(0, Dfa.from_strings([text.encode() for text in group]))
        nfa.accept(end)
        if group is not with_point:
            end = nfa.literal(end, b".")
        zeros = nfa.state()
        nfa.accept(zeros)
        nfa.edge(end, 0x30, 0x30, zeros)
        nfa.edge(zeros, 0x30, 0x30, zeros)
    return nfa.determinise()


# Whole conjunctions.


def decimals(numbers: Numbers) -> Dfa:
    """The plain decimals whose value is in a conjunction; how it wants them written aside.

    Raises `BudgetError` past the limits of remainders and states.
    """
    if numbers.allowed is not None:
        return these_numbers(numbers.allowed)
    divisors = [*numbers.multiples, *([1] if numbers.integer or numbers.digits else [])]
    bounds = (numbers.lower, numbers.above, numbers.upper, numbers.below)
    if not divisors:
        dfa = numbers_between(*bounds, "any")
    else:
        step = least_common_multiple(divisors)
        few = _few_multiples(step, numbers)
        if step == 1:
            dfa = numbers_between(*bounds, "zeros")
        elif few is not None:
            dfa = these_numbers(few)
        else:
            dfa = multiples(step)
            if numbers.lower is not None or numbers.upper is not None:
                dfa = dfa & numbers_between(*bounds, "any")
    for divisor in [*numbers.others, *([1] if numbers.integer is False else [])]:
        dfa = dfa - multiples(divisor)
    if numbers.excluded:
        dfa = dfa - these_numbers(numbers.excluded)
    return dfa


def _few_multiples(step: Number, numbers: Numbers) -> list[Number] | None:
    """The multiples of ``step`` between the bounds, if they are few; None if they are many."""
    lower, upper = numbers.lower, numbers.upper
    if lower is None or upper is None or (upper - lower) / step > _VALUE_LIMIT:
        return None
    first, last = math.ceil(Fraction(lower) / step), math.floor(Fraction(upper) / step)
    found: list[Number] = [factor * step for factor in range(first, last + 1)]
    return [
        number
        for number in found
        if not (numbers.above and number == lower) and not (numbers.below and number == upper)
    ]


@cache
def json_numbers() -> Dfa:
    """All numbers of JSON (RFC 8259)."""
    nfa = Nfa()
    number = nfa.automaton(0, numbers_between(None, False, None, False, "any"))
    nfa.accept(number)
    sign, digits = nfa.state(), nfa.state()
    nfa.accept(digits)
    for letter in b"eE":
        nfa.edge(number, letter, letter, sign)
    signed = nfa.state()
    for character in b"+-":
        nfa.edge(sign, character, character, signed)
    for source in (sign, signed, digits):
        nfa.edge(source, 0x30, 0x39, digits)
    return nfa.determinise()
