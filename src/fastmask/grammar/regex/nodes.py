"""What a pattern may hold besides the IR: anchors, lookarounds, atomic groups, lazy repeats.

A parsed pattern is a tree of IR expressions in which these may stand anywhere; the IR's own nodes
hold them as if they were expressions. Whoever resolves a pattern removes them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

from ...automata import Ranges
from ..ir import (
    EMPTY,
    Alternatives,
    CharSet,
    Expression,
    Literal,
    Repeat,
    Sequence,
)

UNBOUNDED = 1 << 64  # a width without limit

__all__ = [
    "Anchor",
    "AnchorKind",
    "Atomic",
    "Lazy",
    "Look",
    "Node",
    "operands",
    "postorder",
    "sequence_of",
    "widths",
    "with_operands",
]


class AnchorKind(enum.Enum):
    """Conditions on a place between two characters."""

    TEXT_START = "start of the text"
    TEXT_END = "end of the text"
    LAST_LINE_END = "end of the text, or before a newline that ends it"
    LINE_START = "start of a line"
    LINE_END = "end of a line"
    WORD_EDGE = "a word character on one side only"
    NOT_WORD_EDGE = "word characters on both sides or on none"
    NOT_WORD_EDGE_NOR_EMPTY = "the same, but not in an empty text"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A condition on a place; ``word`` says what a word character is."""

    kind: AnchorKind
    word: Ranges = ()


@dataclass(frozen=True, slots=True)
class Look:
    """What must (``negated``: must not) match right after, or right before, a place."""

    item: Node
    ahead: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class Atomic:
    """The first match of ``item`` by order of preference, and no other."""

    item: Node


@dataclass(frozen=True, slots=True)
class Lazy:
    """A repeat that prefers fewer rounds; it matters inside atomic groups only."""

    item: Repeat


Node: TypeAlias = Expression | Anchor | Look | Atomic | Lazy


def sequence_of(items: list[str | Node]) -> Node:
    """One after the other; single characters stand as strings and are joined to literals."""
    if len(items) == 1:
        item = items[0]
        return Literal(item.encode()) if isinstance(item, str) else item
    parts: list[Node] = []
    text: list[str] = []
    for item in items:
        if isinstance(item, str):
            text.append(item)
            continue
        if text:
            parts.append(Literal("".join(text).encode()))
            text = []
        if isinstance(item, Sequence):
            parts.extend(item.items)
        elif item != EMPTY:
            parts.append(item)
    if text:
        parts.append(Literal("".join(text).encode()))
    if len(parts) == 1:
        return parts[0]
    return Sequence(cast("tuple[Expression, ...]", tuple(parts))) if parts else EMPTY


def operands(node: Node) -> tuple[Node, ...]:
    """The direct operands of a node."""
    if isinstance(node, Sequence):
        return node.items
    if isinstance(node, Alternatives):
        return node.options
    if isinstance(node, Repeat | Look | Atomic | Lazy):
        return (node.item,)
    return ()


def with_operands(node: Node, parts: tuple[Node, ...]) -> Node:
    """The same node with other operands."""
    items = cast("tuple[Expression, ...]", parts)
    if isinstance(node, Sequence):
        return Sequence(items)
    if isinstance(node, Alternatives):
        return Alternatives(items)
    if isinstance(node, Repeat):
        return Repeat(items[0], node.minimum, node.maximum)
    if isinstance(node, Look):
        return Look(parts[0], node.ahead, node.negated)
    if isinstance(node, Atomic):
        return Atomic(parts[0])
    if isinstance(node, Lazy):
        return Lazy(cast("Repeat", parts[0]))
    return node


def postorder(node: Node) -> Iterator[Node]:
    """All nodes, operands before the nodes that hold them; shared ones once."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(node, False)]
    while stack:
        current, expanded = stack.pop()
        if expanded:
            yield current
        elif id(current) not in seen:
            seen.add(id(current))
            stack.append((current, True))
            stack.extend((part, False) for part in reversed(operands(current)))


def widths(node: Node) -> tuple[int, int]:
    """Least and greatest number of characters that a node matches."""
    known: dict[int, tuple[int, int]] = {}
    for part in postorder(node):
        inner = [known[id(item)] for item in operands(part)]
        if isinstance(part, Literal):
            length = len(part.data.decode())
            width = (length, length)
        elif isinstance(part, CharSet):
            width = (1, 1)
        elif isinstance(part, Sequence):
            width = (sum(low for low, _ in inner), sum(high for _, high in inner))
        elif isinstance(part, Alternatives):
            lows, highs = zip(*inner, strict=True) if inner else ((1,), (1,))  # or a half surrogate
            width = (min(lows), max(highs))
        elif isinstance(part, Repeat):
            low, high = inner[0]
            unbounded = part.maximum is None and high > 0
            high = UNBOUNDED if unbounded else high * (part.maximum or 0)
            width = (low * part.minimum, high)
        elif isinstance(part, Atomic | Lazy):
            width = inner[0]
        else:
            width = (0, 0)
        known[id(part)] = (min(width[0], UNBOUNDED), min(width[1], UNBOUNDED))
    return known[id(node)]
