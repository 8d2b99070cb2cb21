"""The macros of GBNF text: ``Name(arguments)`` where a rule's name could stand.

``Token``, ``ExcludeToken`` and ``Regex`` are XGrammar's. ``Byte((128, 191), 10)`` is one raw byte,
and ``JsonSchema("{..}", options="{..}")`` the texts of a JSON Schema: both are there so that every
grammar can be printed. XGrammar's other macros are refused by name.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from ..errors import GrammarError
from .ir import ByteSet, Expression, Intersection, Repeat, Schema, Tokens, characters
from .regex import regex_expression

__all__ = ["MACROS", "REFUSED_MACROS", "Value", "macro_expression"]

#: What may stand as an argument.
Value: TypeAlias = str | bool | int | tuple[int, ...]

MACROS = frozenset({"Token", "ExcludeToken", "Regex", "Byte", "JsonSchema"})
REFUSED_MACROS = {
    "TagDispatch": "write the free text and the tags as rules",
    "TokenTagDispatch": "write the free tokens and the tags as rules",
    "Substring": "write the chunks as optional tails, one rule a chunk",
}
_LAST_BYTE = 0xFF
_JSON_STRING_CHARACTER = characters([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)], negated=True)


def macro_expression(name: str, positional: list[Value], named: dict[str, Value]) -> Expression:
    """What a macro stands for.

    Raises
    ------
    GrammarError
        The arguments do not fit, or what they say cannot be used.
    """
    if name == "Regex":
        return _regex(positional, **named)
    if name == "JsonSchema":
        return _schema(positional, **named)
    if named or not positional:
        raise GrammarError(f"{name} takes one or more unnamed arguments")
    return _byte(positional) if name == "Byte" else _tokens(positional, name == "ExcludeToken")


def _tokens(items: list[Value], negated: bool) -> Expression:
    if any(isinstance(item, bool | tuple) for item in items):
        raise GrammarError("tokens are given by id or by name")
    ids = sorted({item for item in items if isinstance(item, int)})
    names = sorted({item for item in items if isinstance(item, str)})
    return Tokens((*ids, *names), negated)


def _byte(items: list[Value]) -> Expression:
    ranges: list[tuple[int, int]] = []
    for item in items:
        pair = item if isinstance(item, tuple) else (item, item)
        if len(pair) != 2 or any(isinstance(edge, bool | str | tuple) for edge in pair):
            raise GrammarError("Byte takes numbers and (low, high) pairs")
        low, high = int(pair[0]), int(pair[1])
        if not low <= high <= _LAST_BYTE:
            raise GrammarError(f"{low} to {high} is no range of bytes, which are at most 255")
        ranges.append((low, high))
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return ByteSet(tuple(merged))


def _regex(
    positional: list[Value], json_string: Value = False, flags: Value | None = None, **others: Value
) -> Expression:
    """A pattern, matched whole, with ``\\d \\w \\s`` and case of ASCII.

    In XGrammar ``.`` is every character unless flags are given, and then only with ``s``.
    """
    pattern = positional[0] if len(positional) == 1 else None
    if not isinstance(pattern, str) or others or not isinstance(json_string, bool):
        raise GrammarError("Regex takes a pattern, json_string=true or false, and flags")
    if flags is not None and not (isinstance(flags, str) and set(flags) <= set("isu")):
        raise GrammarError("the flags of Regex are i, s and u")
    switches = "s" if flags is None else flags.replace("u", "")
    try:
        expression = regex_expression(f"(?a{switches}:{pattern})")
    except GrammarError as error:
        reason = str(error).partition("\n")[0]
        raise GrammarError(f"the pattern of Regex cannot be used: {reason}") from error
    if json_string:
        return Intersection((expression, Repeat(_JSON_STRING_CHARACTER, 0, None)))
    return expression


def _schema(positional: list[Value], options: Value = "{}", **others: Value) -> Expression:
    from ..schema.source import JsonSchema

    schema = positional[0] if len(positional) == 1 else None
    if not isinstance(schema, str) or not isinstance(options, str) or others:
        raise GrammarError("JsonSchema takes a schema as JSON text, and options as JSON text")
    try:
        chosen = json.loads(options)
    except ValueError as error:
        raise GrammarError(f"the options of JsonSchema are not JSON: {error}") from error
    if not isinstance(chosen, dict):
        raise GrammarError("the options of JsonSchema are a JSON object")
    return Schema(JsonSchema(schema, **chosen))
