"""The words that keywords are read into: literals of one type, and clauses that join them.

A literal is a tuple whose first element says what it is; each has an exact dual, so negation costs
nothing. Clauses join literals: ``(ALL, clauses)``, ``(ANY, clauses)``, ``(VALUE, formula)`` for a
formula about the same value, ``(ONE, formulas)`` for exactly one of them, and
``(CASES, condition, then, otherwise)``.
"""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = [
    "ABOVE",
    "ALL",
    "AMONG_CONSTANTS",
    "ANY",
    "AT_LEAST",
    "AT_MOST",
    "BELOW",
    "CASES",
    "COUNT_MAX",
    "COUNT_MIN",
    "Clause",
    "DIGITS",
    "EACH_ITEM",
    "EACH_KEY",
    "EXCEPT_CONSTANTS",
    "INTEGER",
    "LAST_LITERAL",
    "MATCHES",
    "MAX_ITEMS",
    "MAX_KEYS",
    "MAX_LENGTH",
    "MIN_ITEMS",
    "MIN_KEYS",
    "MIN_LENGTH",
    "MULTIPLE",
    "ONE",
    "SOME_ITEM",
    "SOME_KEY",
    "UNIQUE",
    "UNKNOWN",
    "VALUE",
    "dual",
]

Clause: TypeAlias = tuple[Any, ...]

(
    AMONG_CONSTANTS,  # constants
    EXCEPT_CONSTANTS,  # constants
    INTEGER,  # yes or no
    DIGITS,  # yes or no: written without fraction and exponent, what draft 4 calls an integer
    AT_LEAST,  # bound
    ABOVE,  # bound
    AT_MOST,  # bound
    BELOW,  # bound
    MULTIPLE,  # divisor, yes or no
    MIN_LENGTH,  # length
    MAX_LENGTH,  # length
    MATCHES,  # test, yes or no
    EACH_ITEM,  # first, end (None: no end), formula
    SOME_ITEM,  # first, end, formula
    MIN_ITEMS,  # number
    MAX_ITEMS,  # number
    COUNT_MIN,  # formula, number
    COUNT_MAX,  # formula, number
    UNIQUE,  # yes or no
    EACH_KEY,  # name or key class, formula
    SOME_KEY,  # name or key class, formula
    MIN_KEYS,  # number
    MAX_KEYS,  # number
    ALL,  # clauses
    ANY,  # clauses
    VALUE,  # formula
    ONE,  # formulas
    CASES,  # condition, then, otherwise
    UNKNOWN,  # a keyword left out on request: neither it nor its dual is held against a value
) = range(29)
LAST_LITERAL = MAX_KEYS

_OPPOSITE = {
    AMONG_CONSTANTS: EXCEPT_CONSTANTS,
    AT_LEAST: BELOW,
    AT_MOST: ABOVE,
    EACH_ITEM: SOME_ITEM,
    EACH_KEY: SOME_KEY,
}
_OPPOSITE |= {b: a for a, b in _OPPOSITE.items()}
_FLAGGED = {INTEGER, DIGITS, MULTIPLE, MATCHES, UNIQUE}
_MINIMA = {MIN_LENGTH: MAX_LENGTH, MIN_ITEMS: MAX_ITEMS, COUNT_MIN: COUNT_MAX, MIN_KEYS: MAX_KEYS}
_MAXIMA = {b: a for a, b in _MINIMA.items()}


def dual(literal: Clause, complement: Any) -> Clause:
    """The literal that holds exactly where this one does not; ``complement`` negates formulas."""
    kind = literal[0]
    if kind in _FLAGGED:
        return (*literal[:-1], not literal[-1])
    if kind in _MINIMA:
        return (_MINIMA[kind], *literal[1:-1], literal[-1] - 1)
    if kind in _MAXIMA:
        return (_MAXIMA[kind], *literal[1:-1], literal[-1] + 1)
    if kind in {EACH_ITEM, SOME_ITEM, EACH_KEY, SOME_KEY}:
        return (_OPPOSITE[kind], *literal[1:-1], complement(literal[-1]))
    return (_OPPOSITE[kind], *literal[1:])
