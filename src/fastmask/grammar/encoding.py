"""Grammars as bytes: what is pickled, and what a grammar's digest is taken of.

One table of nodes, operands before the nodes that use them, equal nodes stored once; then the
rules, sorted by name, each with its node. Equal grammars give equal bytes whatever objects they
share.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from ..automata import Dfa
from ..errors import FormatError
from .ir import (
    Alternatives,
    Automaton,
    ByteSet,
    CharSet,
    Complement,
    Expression,
    Intersection,
    Literal,
    Reference,
    Repeat,
    Schema,
    Sequence,
    Tokens,
    children,
    postorder,
)

__all__ = ["decode_grammar", "encode_grammar"]

_MAGIC = b"fastmask grammar 1\n"
_KINDS = (
    CharSet, ByteSet, Literal, Sequence, Alternatives, Repeat, Reference, Tokens, Intersection,
    Complement, Automaton, Schema,
)  # fmt: skip
_KIND_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
_UNBOUNDED = 2**64 - 1


def encode_grammar(rules: Mapping[str, Expression], root: str) -> bytes:
    """The bytes of a grammar; equal grammars have equal bytes."""
    numbers: dict[bytes, int] = {}
    table: list[bytes] = []
    lines: list[bytes] = [_text(root), struct.pack("<Q", len(rules))]
    for name in sorted(rules):
        made: dict[int, int] = {}
        for node in postorder(rules[name]):
            record = _record(node, made)
            if record not in numbers:
                numbers[record] = len(table)
                table.append(_block(record))
            made[id(node)] = numbers[record]
        lines.append(_text(name) + struct.pack("<Q", made[id(rules[name])]))
    return b"".join((_MAGIC, struct.pack("<Q", len(table)), *table, *lines))


def decode_grammar(data: bytes) -> tuple[dict[str, Expression], str]:
    """Rules and root out of `encode_grammar`'s bytes.

    Raises
    ------
    FormatError
        The bytes are no grammar, or one of another format version.
    """
    if not data.startswith(_MAGIC):
        raise FormatError("these bytes are no grammar of this format version")
    reader = _Reader(data, len(_MAGIC))
    try:
        nodes: list[Expression] = []
        for _ in range(reader.number()):
            nodes.append(_node(reader.block(), nodes))
        root = reader.block().decode()
        rules = {reader.block().decode(): nodes[reader.number()] for _ in range(reader.number())}
    except (struct.error, IndexError, ValueError) as error:
        raise FormatError(f"the bytes of this grammar are damaged ({error})") from error
    return rules, root


class _Reader:
    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position

    def number(self) -> int:
        (value,) = struct.unpack_from("<Q", self.data, self.position)
        self.position += 8
        return int(value)

    def block(self) -> bytes:
        size = self.number()
        end = self.position + size
        if end > len(self.data):
            raise IndexError("it ends too early")
        part = self.data[self.position : end]
        self.position = end
        return part


def _block(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data


def _text(text: str) -> bytes:
    return _block(text.encode())


def _numbers(values: tuple[int, ...]) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


def _record(node: Expression, made: dict[int, int]) -> bytes:
    """One node as bytes: its kind, then its own data or the numbers of its operands."""
    kind = bytes([_KIND_NUMBERS[type(node)]])
    if isinstance(node, CharSet | ByteSet):
        return kind + _numbers(tuple(edge for pair in node.ranges for edge in pair))
    if isinstance(node, Literal):
        return kind + node.data
    if isinstance(node, Reference):
        return kind + node.name.encode()
    if isinstance(node, Tokens):
        items = b"".join(
            b"i" + struct.pack("<Q", item) if isinstance(item, int) else b"n" + _text(item)
            for item in node.items
        )
        return kind + bytes([node.negated]) + items
    if isinstance(node, Automaton):
        return kind + node.dfa.to_bytes()
    if isinstance(node, Schema):
        return kind + node.source.to_bytes()
    operands = _numbers(tuple(made[id(part)] for part in children(node)))
    if isinstance(node, Repeat):
        most = _UNBOUNDED if node.maximum is None else node.maximum
        return kind + _numbers((node.minimum, most)) + operands
    return kind + operands


def _node(record: bytes, nodes: list[Expression]) -> Expression:
    kind = _KINDS[record[0]]
    body = record[1:]
    if kind is Literal:
        return Literal(body)
    if kind is Reference:
        return Reference(body.decode())
    if kind is Automaton:
        return Automaton(Dfa.from_bytes(body))
    if kind is Schema:
        from ..schema.source import JsonSchema

        return Schema(JsonSchema.from_bytes(body))
    if kind is Tokens:
        return Tokens(_token_items(_Reader(body, 1)), bool(body[0]))
    values = struct.unpack(f"<{len(body) // 8}Q", body)
    if kind is CharSet or kind is ByteSet:
        return kind(tuple(zip(values[::2], values[1::2], strict=True)))
    if kind is Repeat:
        most = None if values[1] == _UNBOUNDED else values[1]
        return Repeat(nodes[values[2]], values[0], most)
    if kind is Complement:
        return Complement(nodes[values[0]])
    operands = tuple(nodes[value] for value in values)
    if kind is Sequence:
        return Sequence(operands)
    return Alternatives(operands) if kind is Alternatives else Intersection(operands)


def _token_items(reader: _Reader) -> tuple[int | str, ...]:
    items: list[int | str] = []
    while reader.position < len(reader.data):
        marker = reader.data[reader.position : reader.position + 1]
        reader.position += 1
        items.append(reader.number() if marker == b"i" else reader.block().decode())
    return tuple(items)
