"""Grammars as GBNF text that `from_gbnf` reads back to the same language.

Rules come in the order in which the root leads to them. llama.cpp reads what it has a notation
for; raw bytes, sets of token ids and odd token names are written in forms that `gbnf` reads
besides. An automaton leaf becomes one right-linear rule a state.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from .ir import (
    Alternatives,
    ByteSet,
    CharSet,
    Expression,
    Literal,
    Reference,
    Repeat,
    Schema,
    Sequence,
    Tokens,
    character_ranges,
    children,
)
from .linear import automata_as_rules

__all__ = ["print_gbnf"]

# How tightly an expression holds together; what stands inside a tighter one needs parentheses.
_CHOICE, _SEQUENCE, _REPEATED, _ATOM = range(4)
_COUNTS = {(0, None): "*", (1, None): "+", (0, 1): "?"}
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
_TOKEN_NAME = re.compile(r"<(?!\[)[^<>\s]+>")
_USUAL: dict[str, Any] = {
    "formats": "assert",
    "draft": None,
    "documents": {},
    "unsupported": "error",
}
_LAST_BEFORE_SURROGATES, _FIRST_BEHIND_SURROGATES = 0xD7FF, 0xE000


def print_gbnf(rules: Mapping[str, Expression], root: str) -> str:
    """The rules as GBNF, the root first and called ``root``."""
    plain = automata_as_rules(rules)
    names = {root: "root"}
    taken = {"root"}
    queue = [root]

    def name_of(rule: str) -> str:
        if rule not in names:
            base = re.sub(r"[^A-Za-z0-9_-]", "-", rule) or "rule"
            name, number = base, 1
            while name in taken:
                number += 1
                name = f"{base}-{number}"
            names[rule] = name
            taken.add(name)
            queue.append(rule)
        return names[rule]

    return "".join(f"{names[rule]} ::= {_printed(plain[rule], name_of)}\n" for rule in queue)


def _printed(expression: Expression, name_of: Callable[[str], str]) -> str:
    """One expression as text, with an explicit stack of nodes and finished pieces."""
    pieces: list[str] = []
    stack: list[tuple[Expression, int] | str] = [(expression, _CHOICE)]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            pieces.append(entry)
            continue
        node, outside = entry
        parts, between, inside, tightness, after = _shape(node)
        if not parts:
            pieces.append(_leaf(node, outside, name_of))
            continue
        open_, close = ("(", ")") if tightness < outside else ("", "")
        pieces.append(open_)
        stack.append(after + close)
        for number, part in enumerate(reversed(parts)):
            if number:
                stack.append(between)
            stack.append((part, inside))
    return "".join(pieces)


def _shape(node: Expression) -> tuple[tuple[Expression, ...], str, int, int, str]:
    """Operands, what is between them, how tight each must be, how tight it is, what follows."""
    if isinstance(node, Alternatives):
        return node.options, " | ", _SEQUENCE, _CHOICE, ""
    if isinstance(node, Sequence):
        return node.items, " ", _REPEATED, _SEQUENCE, ""
    if isinstance(node, Repeat):
        return (node.item,), "", _ATOM, _REPEATED, _count(node.minimum, node.maximum)
    return children(node), "", _ATOM, _ATOM, ""


def _count(low: int, high: int | None) -> str:
    if (low, high) in _COUNTS:
        return _COUNTS[low, high]
    if high == low:
        return f"{{{low}}}"
    return f"{{{low},}}" if high is None else f"{{{low},{high}}}"


def _leaf(node: Expression, outside: int, name_of: Callable[[str], str]) -> str:
    if isinstance(node, Reference):
        return name_of(node.name)
    if isinstance(node, CharSet):
        return _character_class(node)
    if isinstance(node, ByteSet):
        return _byte_set(node.ranges)
    if isinstance(node, Tokens):
        return _tokens(node)
    if isinstance(node, Schema):
        return _schema(node)
    data = node.data if isinstance(node, Literal) else b""
    pieces = _literal_pieces(data)
    text = " ".join(pieces)
    return f"({text})" if len(pieces) > 1 and outside > _SEQUENCE else text


def _literal_pieces(data: bytes) -> list[str]:
    """Quoted text, with a macro for each byte that is part of no character."""
    pieces: list[str] = []
    while data or not pieces:
        try:
            text, rest = data.decode(), b""
        except UnicodeDecodeError as error:
            text, rest = data[: error.start].decode(), data[error.start :]
        if text or not rest:
            pieces.append('"' + "".join(_character(c, '"') for c in text) + '"')
        if rest:
            pieces.append(_byte_set(((rest[0], rest[0]),)))
        data = rest[1:]
    return pieces


def _character(character: str, special: str) -> str:
    """A character of a literal or class; escapes that llama.cpp reads too."""
    if character in _ESCAPES:
        return _ESCAPES[character]
    code_point = ord(character)
    if character in special:
        return f"\\x{code_point:02X}" if character == "^" else f"\\{character}"
    if character.isprintable():
        return character
    if code_point <= 0xFF:
        return f"\\x{code_point:02X}"
    return f"\\u{code_point:04X}" if code_point <= 0xFFFF else f"\\U{code_point:08X}"


def _character_class(node: CharSet) -> str:
    ranges, sign = _spanning(node.ranges), ""
    others = _spanning(character_ranges(node.ranges, negated=True))
    if not others:
        return "."
    if len(others) < len(ranges):
        ranges, sign = others, "^"
    return "[" + sign + "".join(_range(low, high) for low, high in ranges) + "]"


def _spanning(ranges: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    """Ranges with those joined that only the surrogates keep apart."""
    result: list[tuple[int, int]] = []
    for low, high in ranges:
        if result and result[-1][1] == _LAST_BEFORE_SURROGATES and low == _FIRST_BEHIND_SURROGATES:
            result[-1] = (result[-1][0], high)
        else:
            result.append((low, high))
    return result


def _range(low: int, high: int) -> str:
    first, last = (_character(chr(edge), "[]^-") for edge in (low, high))
    if low == high:
        return first
    return f"{first}{last}" if high == low + 1 else f"{first}-{last}"


def _byte_set(ranges: tuple[tuple[int, int], ...]) -> str:
    parts = (f"{low}" if low == high else f"({low}, {high})" for low, high in ranges)
    return f"Byte({', '.join(parts)})"


def _tokens(node: Tokens) -> str:
    names = [item for item in node.items if isinstance(item, str)]
    sign = "!" if node.negated else ""
    if len(node.items) == 1 and names and _TOKEN_NAME.fullmatch(names[0]):
        return sign + names[0]
    if not names:
        return f"{sign}<[{_id_ranges(node.items)}]>" if node.items else "<[*]>"
    ids = sorted(item for item in node.items if isinstance(item, int))
    parts = [*map(str, ids), *(_literal_pieces(name.encode())[0] for name in sorted(names))]
    return f"{'ExcludeToken' if node.negated else 'Token'}({', '.join(parts)})"


def _schema(node: Schema) -> str:
    """The schema and, where there are any, the options that are not the usual ones."""
    given = json.loads(node.source.to_bytes())["options"].items()
    options = {name: value for name, value in given if value != _USUAL.get(name)}
    parts = [_literal_pieces(node.source.text.encode())[0]]
    if options:
        parts.append("options=" + _literal_pieces(json.dumps(options).encode())[0])
    return f"JsonSchema({', '.join(parts)})"


def _id_ranges(ids: tuple[int | str, ...]) -> str:
    runs: list[list[int]] = []
    for item in sorted(int(item) for item in ids):
        if runs and runs[-1][-1] == item - 1:
            runs[-1].append(item)
        else:
            runs.append([item])
    return ",".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
