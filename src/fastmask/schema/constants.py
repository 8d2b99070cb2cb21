"""JSON values as keys: two values are the same key exactly when JSON Schema calls them equal.

Strings are their own keys, and so are numbers, as exact integers or fractions (1, 1.0 and 1e0 are
one number; 0.1 is a tenth, not the nearest double). ``null``, ``true``, ``false``, arrays and
objects become interned `Constant` objects, compared by identity: that keeps ``true`` apart from 1,
which Python calls equal, and makes keys of deep values flat, so that hashing one never recurses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from ..errors import BudgetError

__all__ = [
    "ALL_TYPES",
    "ARRAY",
    "BOOLEAN",
    "Constant",
    "Constants",
    "FALSE_KEY",
    "FIRST_BYTES",
    "Key",
    "NULL",
    "NULL_KEY",
    "NUMBER",
    "Number",
    "OBJECT",
    "STRING",
    "TRUE_KEY",
    "TYPE_NAMES",
    "VALUE_BYTES",
    "can_be_spelled",
    "exact",
    "json_number",
    "key_type",
    "value_type",
]

NULL, BOOLEAN, NUMBER, STRING, ARRAY, OBJECT = range(6)
TYPE_NAMES = ("null", "boolean", "number", "string", "array", "object")
ALL_TYPES = 0b111111
#: First bytes of values, by their type.
FIRST_BYTES = {
    NULL: b"n",
    BOOLEAN: b"tf",
    NUMBER: b"-0123456789",
    STRING: b'"',
    ARRAY: b"[",
    OBJECT: b"{",
}
VALUE_BYTES = b"".join(FIRST_BYTES.values())
_LARGEST_EXPONENT = 4_000

Number: TypeAlias = int | Fraction


class Constant:
    """``null``, ``true``, ``false``, an array or an object, interned by a `Constants` table.

    Attributes
    ----------
    type : int
        ``NULL``, ``BOOLEAN``, ``ARRAY`` or ``OBJECT``.
    items : tuple[Key, ...]
        Keys of an array's items.
    members : dict[str, Key]
        Keys of an object's values by name.
    number : int
        Order of interning.
    value : object
        The JSON value as it was written where it was first met.
    can_be_spelled : bool
        Whether no string in it has half a surrogate pair.
    """

    __slots__ = ("can_be_spelled", "items", "members", "number", "type", "value")

    def __init__(self, type_: int, value: Any, number: int = 0) -> None:
        self.type = type_
        self.number = number
        self.items: tuple[Key, ...] = ()
        self.members: dict[str, Key] = {}
        self.value = value
        self.can_be_spelled = True

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"


Key: TypeAlias = str | int | Fraction | Constant

NULL_KEY = Constant(NULL, None)
TRUE_KEY = Constant(BOOLEAN, True)
FALSE_KEY = Constant(BOOLEAN, False)


def exact(number: int | float | Decimal | Fraction) -> Number:
    """The exact value of a JSON number: what its shortest decimal spelling says.

    Raises `ValueError` for infinities and NaN, `BudgetError` for exponents past 4,000.
    """
    if isinstance(number, int):
        return int(number)
    if isinstance(number, Fraction):
        return number.numerator if number.denominator == 1 else number
    decimal = number if isinstance(number, Decimal) else Decimal(repr(float(number)))
    if not decimal.is_finite():
        raise ValueError(f"{number} is not a JSON number")
    if decimal and abs(decimal.adjusted()) > _LARGEST_EXPONENT:
        raise BudgetError(
            "decimal places", _LARGEST_EXPONENT, f"write {decimal:.1e} with a smaller exponent"
        )
    numerator, denominator = decimal.as_integer_ratio()
    return numerator if denominator == 1 else Fraction(numerator, denominator)


def json_number(number: Number) -> int | float | Decimal:
    """A Python number that ``json`` and validators take: int, float if exact, else decimal."""
    if isinstance(number, int):
        return number
    try:
        nearest = float(number)
        if exact(nearest) == number:
            return nearest
    except OverflowError:
        pass
    places = 0
    scaled = number
    while scaled.denominator != 1:
        scaled *= 10
        places += 1
    digits = tuple(map(int, str(abs(scaled.numerator))))
    return Decimal((int(number < 0), digits, -places))


def value_type(value: Any) -> int:
    """The JSON type of a Python value; raises `ValueError` for what JSON cannot hold."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, str):
        return STRING
    if isinstance(value, int | float | Decimal | Fraction):
        return NUMBER
    if isinstance(value, dict):
        return OBJECT
    if isinstance(value, list | tuple):
        return ARRAY
    raise ValueError(f"{type(value).__name__} is no JSON type")


def can_be_spelled(key: Key) -> bool:
    """Whether some text spells a value: none does that has half a surrogate pair in it."""
    if isinstance(key, str):
        return key.isascii() or not _HALF.search(key)
    return not isinstance(key, Constant) or key.can_be_spelled


_HALF = re.compile("[\ud800-\udfff]")


def key_type(key: Key) -> int:
    """The JSON type of the value a key stands for."""
    if isinstance(key, str):
        return STRING
    return key.type if isinstance(key, Constant) else NUMBER


class Constants:
    """The table that interns arrays and objects."""

    __slots__ = ("_interned",)

    def __init__(self) -> None:
        self._interned: dict[Any, Constant] = {}

    def key(self, value: Any) -> Key:
        """The key of a JSON value. Depth is limited by memory alone."""
        kind = value_type(value)
        if kind == STRING:
            return str(value)
        if kind == NUMBER:
            return exact(value)
        if kind == NULL:
            return NULL_KEY
        if kind == BOOLEAN:
            return TRUE_KEY if value else FALSE_KEY
        return self._container(value)

    def keys(self, values: Iterable[Any]) -> frozenset[Key]:
        """The keys of several JSON values."""
        return frozenset(map(self.key, values))

    def _container(self, root: Any) -> Constant:
        """Intern an array or object bottom up, without recursion."""
        stack: list[tuple[Any, Any, list[Key]]] = [(root, _contents(root), [])]
        while True:
            value, contents, keys = stack[-1]
            for child in contents:
                if isinstance(child, dict | list | tuple):
                    stack.append((child, _contents(child), []))
                    break
                keys.append(self.key(child))
            else:
                stack.pop()
                constant = self._intern(value, keys)
                if not stack:
                    return constant
                stack[-1][2].append(constant)

    def _intern(self, value: Any, keys: list[Key]) -> Constant:
        signature: Any
        if isinstance(value, dict):
            signature = frozenset(zip(value, keys, strict=True))
        else:
            signature = tuple(keys)
        constant = self._interned.get(signature)
        if constant is None:
            if isinstance(value, dict):
                constant = Constant(OBJECT, value, len(self._interned))
                constant.members = dict(zip(value, keys, strict=True))
            else:
                constant = Constant(ARRAY, value, len(self._interned))
                constant.items = tuple(keys)
            constant.can_be_spelled = all(map(can_be_spelled, (*constant.members, *keys)))
            self._interned[signature] = constant
        return constant


def _contents(value: Any) -> Any:
    return iter(value.values() if isinstance(value, dict) else value)
