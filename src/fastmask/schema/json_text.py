"""Schemas as JSON text and back, so that a number keeps its value and how it is written.

``1e2`` and ``0.10`` are other spellings of a float, ``1e400`` and long fractions are no float at
all: these become `WrittenNumber`, a decimal that remembers its text. All others are floats.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from decimal import Decimal, InvalidOperation
from typing import Any

from ..errors import BudgetError, GrammarSyntaxError

__all__ = ["WrittenNumber", "decimal_of", "parsed", "read_json", "written"]

_EXPONENT_DIGITS = 18  # the decimal module has no larger ones
_INTEGER_DIGITS = 4_000  # Python converts no longer ones


def decimal_of(text: str) -> Decimal:
    """The exact value of a number; raises `BudgetError` for the hugest exponents."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise BudgetError(
            "digits of an exponent", _EXPONENT_DIGITS, "write numbers with smaller exponents"
        ) from None


class WrittenNumber(Decimal):
    """A number of a JSON text that ``repr(float)`` would write differently.

    Attributes
    ----------
    text : str
    """

    text: str

    def __new__(cls, text: str) -> WrittenNumber:
        self = super().__new__(cls, decimal_of(text))
        self.text = text
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (WrittenNumber, (self.text,))


def parsed(text: str | bytes | bytearray) -> Any:
    """The value of a JSON text; raises `ValueError` or `RecursionError` as ``json.loads`` does."""
    return json.loads(text, parse_float=_fraction, parse_int=_integer)


def _fraction(text: str) -> float | WrittenNumber:
    number = float(text)
    return number if repr(number) == text else WrittenNumber(text)


def _integer(text: str) -> int | WrittenNumber:
    return int(text) if len(text) <= _INTEGER_DIGITS else WrittenNumber(text)


def read_json(text: bytes) -> Any:
    """The JSON value of a text that was accepted, numbers exact."""
    try:
        return json.loads(text.decode(), parse_float=decimal_of, parse_int=_integer)
    except RecursionError:
        raise BudgetError(
            "levels of nesting", sys.getrecursionlimit(), "let items that must differ be flatter"
        ) from None


def written(value: Any) -> str:
    """JSON text that `parsed` reads back.

    Raises
    ------
    GrammarSyntaxError
        Something in the value is not JSON.
    BudgetError
        It is nested too deeply.
    """
    marker = secrets.token_hex(8)  # what no string of the value has in it

    def number(item: Any) -> str:
        if not isinstance(item, Decimal):
            raise GrammarSyntaxError(
                f"a schema is JSON, which has no {type(item).__name__}", path=_pointer(value, item)
            )
        return f"{marker}{item.text if isinstance(item, WrittenNumber) else item}{marker}"

    try:
        text = json.dumps(value, default=number)
    except RecursionError:
        raise BudgetError(
            "levels of nesting", sys.getrecursionlimit(), "use $ref for deep schemas"
        ) from None
    except TypeError as error:
        raise GrammarSyntaxError(f"the schema is not JSON: {error}", path="#") from None
    return re.sub(f'"{marker}(.*?){marker}"', r"\1", text) if marker in text else text


def _pointer(value: Any, wanted: Any) -> str:
    """Where an item stands in a value, as a JSON pointer."""
    todo: list[tuple[Any, str]] = [(value, "#")]
    while todo:
        item, path = todo.pop()
        if item is wanted:
            return path
        if isinstance(item, dict):
            names = (str(name).replace("~", "~0").replace("/", "~1") for name in item)
            todo += ((child, f"{path}/{n}") for n, child in zip(names, item.values(), strict=True))
        elif isinstance(item, list | tuple):
            todo += ((child, f"{path}/{i}") for i, child in enumerate(item))
    return "#"
