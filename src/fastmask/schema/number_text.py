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

Row: TypeAlias = Sequence[Hashable]


def built(start: Hashable, moves: Callable[[Any], tuple[Row, bool]]) -> Dfa:
    """The automaton whose states are found from ``start`` outwards.

    Parameters
    ----------
    start : hashable
        The first state.
    moves : callable
        From a state to its targets by column (0: dead) and whether a text may end there.
    """
    ids: dict[Hashable, int] = {0: 0, start: 1}
    order: list[Any] = [start]
    table = np.zeros((64, OTHER + 1), np.int32)
    labels = [False]
    for state in order:
        row, accepting = moves(state)
        targets = []
        before: Hashable = 0
        known = 0
        for target in row:
            if target is not before:  # digits come in runs
                before = target
                known = ids.get(target, -1)
                if known < 0:
                    known = ids[target] = len(ids)
                    order.append(target)
            targets.append(known)
        if len(labels) == len(table):
            table = np.concatenate([table, np.zeros_like(table)])
        table[len(labels), : len(targets)] = targets
        labels.append(accepting)
    return Dfa(COLUMNS, table[: len(labels)], 1, labels)


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
        raise BudgetError("decimal places", _PLACE_LIMIT, "round the numbers of the schema")
    return places


# Intervals.


@lru_cache(maxsize=512)
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
    has_negative = lower is None or lower < 0
    if lower == 0 and fraction != "none":
        has_negative = not above
    has_positive = upper is None or upper > 0 or (upper == 0 and not below)
    negative = _Sizes("-", _negated(upper), below, _negated(lower), above, fraction)
    positive = _Sizes("+", lower, above, upper, below, fraction)

    def moves(state: Any) -> tuple[Row, bool]:
        if state == "start":
            row = positive.first() if has_positive else [0] * 10
            return [*row, "minus" if has_negative else 0], False
        if state == "minus":
            return negative.first(), False
        return (positive if state[0] == "+" else negative).moves(state)

    return built("start", moves)


def _negated(number: Number | None) -> Number | None:
    return None if number is None else -number


_KEPT = 2  # how digits compare with those of a bound that is kept whatever follows


class _Sizes:
    """States of an interval of numbers behind one sign.

    Before the point: (sign, number of digits, how they compare with as many digits of the lower
    bound, the same for the upper one, whether a zero is all there is). Behind it: (sign, -1, number
    of digits, whether all so far are those of the lower bound, of the upper one, whether there are
    any).
    """

    def __init__(
        self,
        sign: str,
        lower: Number | None,
        above: bool,
        upper: Number | None,
        below: bool,
        fraction: str,
    ) -> None:
        self.sign = sign
        self.has_low = lower is not None and (lower > 0 or (lower == 0 and above))
        self.has_high = upper is not None
        self.low, self.low_rest = _digits_of(lower if self.has_low else None)
        self.high, self.high_rest = _digits_of(upper)
        self.above, self.below = above, below
        self.fraction = fraction
        self.free = max(len(self.low), len(self.high)) + 1

    def first(self) -> list[Hashable]:
        """Targets by the first digit."""
        row = self._digits(0, 0, 0)
        if row[0]:
            row[0] = (*row[0][:-1], True)
        return row

    def moves(self, state: tuple[Any, ...]) -> tuple[list[Hashable], bool]:
        """Targets by column, and whether a number may end here."""
        if state[1] < 0:
            return self._behind_point(*state[2:])
        _, count, low, high, is_zero = state
        row: list[Hashable] = [0] * 10 if is_zero else self._digits(count, low, high)
        point, ends = self._point(count, low, high)
        row += [0, 0 if self.fraction == "none" else point]
        return row, ends

    def _digits(self, count: int, low: int, high: int) -> list[Any]:
        """Targets by the next digit before the point: the same between the bounds' digits."""
        low_digit = self.low[count] if low == 0 and count < len(self.low) else -1
        high_digit = self.high[count] if high == 0 and count < len(self.high) else -1
        special = (low_digit, high_digit)
        count += 1
        row: list[Any] = []
        for digit in range(10):
            if row and digit not in special and digit - 1 not in special:
                row.append(row[-1])
                continue
            to_low = low or _sign(digit - low_digit)
            to_high = high or _sign(digit - high_digit)
            if not self.has_low or count > len(self.low) or (count == len(self.low) and to_low > 0):
                to_low = _KEPT
            if not self.has_high:
                to_high = _KEPT
            elif count > len(self.high) or (count == len(self.high) and to_high > 0):
                row.append(0)
                continue
            is_free = to_low == to_high == _KEPT
            row.append((self.sign, self.free if is_free else count, to_low, to_high, False))
        return row

    def _point(self, count: int, low: int, high: int) -> tuple[Hashable, bool]:
        """The state behind the point, and whether the number may end without one."""
        if low != _KEPT and (count < len(self.low) or low < 0):
            return 0, False
        is_low = low == 0
        is_high = high == 0 and count == len(self.high)
        return (self.sign, -1, 0, is_low, is_high, False), self._is_kept(0, is_low, is_high)

    def _behind_point(
        self, count: int, low: bool, high: bool, some: bool
    ) -> tuple[list[Hashable], bool]:
        ends = some and self._is_kept(count, low, high)
        n_digits = 1 if self.fraction == "zeros" else 10
        free = (self.sign, -1, 0, False, False, True)
        if not low and not high:
            return [free] * n_digits, ends
        low_digit = self.low_rest[count] if count < len(self.low_rest) else 0
        high_digit = self.high_rest[count] if count < len(self.high_rest) else 0
        after = min(count + 1, max(len(self.low_rest), len(self.high_rest)))
        row: list[Hashable] = []
        for digit in range(n_digits):
            if (low and digit < low_digit) or (high and digit > high_digit):
                row.append(0)
                continue
            to_low, to_high = low and digit == low_digit, high and digit == high_digit
            is_free = not to_low and not to_high
            row.append(free if is_free else (self.sign, -1, after, to_low, to_high, True))
        return row, ends

    def _is_kept(self, count: int, low: bool, high: bool) -> bool:
        """Whether the number may end here; the flags say which bounds its digits are so far."""
        if low and (count < len(self.low_rest) or self.above):
            return False
        return not (high and count >= len(self.high_rest) and self.below)


def _digits_of(number: Number | None) -> tuple[list[int], list[int]]:
    """Digits before the point and behind it."""
    if number is None:
        return [], []
    whole, _, rest = decimal_text(-number if number < 0 else number).partition(".")
    return list(map(int, whole)), list(map(int, rest))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


# Multiples and sets.


@lru_cache(maxsize=64)
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
        raise BudgetError("remainders", _REMAINDER_LIMIT, "use smaller divisors in multipleOf")
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
