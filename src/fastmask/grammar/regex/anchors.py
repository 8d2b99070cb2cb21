"""Anchors where they cost nothing: at the ends of a pattern, and of its outermost branches.

Nearly every anchor in the wild is a ``^`` in front or a ``$`` behind. In a full match these say
what is so anyway; in a search a missing one stands for "any text", put there branch by branch. What
is left after this needs the general way (``assertions.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ..ir import EMPTY, Alternatives, CharSet, Expression, Repeat, Sequence
from .charsets import ALL
from .nodes import (
    Anchor,
    AnchorKind,
    Atomic,
    Lazy,
    Look,
    Node,
    operands,
    postorder,
    sequence_of,
    with_operands,
)

__all__ = ["ANY_TEXT", "anchored", "is_special", "without_hints"]

ANY_TEXT = Repeat(CharSet(ALL), 0, None)
DEEPEST = 8  # levels of branches to look into

_AT_START = (AnchorKind.TEXT_START, AnchorKind.LINE_START)
_AT_END = (AnchorKind.TEXT_END, AnchorKind.LAST_LINE_END, AnchorKind.LINE_END)


def anchored(tree: Node, search: bool) -> Node:
    """The tree without anchors at its ends; for a search, with any text where there is none."""
    tree = _end(tree, True, search, DEEPEST)
    return _end(tree, False, search, DEEPEST)


def is_special(tree: Node) -> bool:
    """Whether anchors, lookarounds or atomic groups are left."""
    return any(isinstance(node, Anchor | Look | Atomic) for node in postorder(tree))


def _end(node: Node, front: bool, search: bool, depth: int) -> Node:
    """``node`` with its front, or back, freed of anchors (and opened, for a search)."""
    if _is_anchor(node, front):
        return EMPTY
    if isinstance(node, Alternatives) and depth and _has_anchor(node, front, depth):
        options = tuple(_end(option, front, search, depth - 1) for option in node.options)
        return Alternatives(cast("tuple[Expression, ...]", options))
    if isinstance(node, Sequence) and depth and _has_anchor(node, front, depth):
        items = list(node.items)
        place = 0 if front else -1
        if _is_anchor(items[place], front):
            del items[place]
            rest = sequence_of(cast("list[str | Node]", items))
            return _end(rest, front, False, depth - 1)  # the first anchor decides
        items[place] = cast("Expression", _end(items[place], front, search, depth - 1))
        return sequence_of(cast("list[str | Node]", items))
    if not search:
        return node
    node = _least(node, front)
    return sequence_of([ANY_TEXT, node] if front else [node, ANY_TEXT])


def _least(node: Node, front: bool) -> Node:
    """What there is to match beside "any text": a repeat may as well have its fewest rounds."""
    items = list(node.items) if isinstance(node, Sequence) else [cast("Expression", node)]
    place = 0 if front else -1
    while items:
        outer = items[place]
        repeat = outer.item if isinstance(outer, Lazy) else outer
        if not isinstance(repeat, Repeat) or repeat.maximum == repeat.minimum:
            break
        del items[place]
        if repeat.minimum == 1:
            items.insert(0 if front else len(items), repeat.item)
            break
        if repeat.minimum:
            fewest = Repeat(repeat.item, repeat.minimum, repeat.minimum)
            items.insert(0 if front else len(items), fewest)
            break
    return sequence_of(cast("list[str | Node]", items))


def _is_anchor(node: Node, front: bool) -> bool:
    return isinstance(node, Anchor) and node.kind in (_AT_START if front else _AT_END)


def _has_anchor(node: Node, front: bool, depth: int) -> bool:
    """Whether some branch begins, or ends, with an anchor."""
    pending = [(node, depth)]
    while pending:
        current, left = pending.pop()
        if _is_anchor(current, front):
            return True
        if left and isinstance(current, Alternatives):
            pending.extend((option, left - 1) for option in current.options)
        elif left and isinstance(current, Sequence):
            pending.append((current.items[0 if front else -1], left - 1))
    return False


def without_hints(tree: Node) -> Node:
    """The tree without laziness, and with repeats of repeats made one where that is the same."""

    def change(node: Node) -> Node:
        if isinstance(node, Lazy):
            return node.item
        return _joined(node) if isinstance(node, Repeat) else node

    return _rewritten(tree, change)


def _rewritten(tree: Node, change: Callable[[Node], Node]) -> Node:
    made: dict[int, Node] = {}
    for node in postorder(tree):
        parts = operands(node)
        changed = tuple(made[id(part)] for part in parts)
        same = all(new is old for new, old in zip(changed, parts, strict=True))
        made[id(node)] = change(node if same else with_operands(node, changed))
    return made[id(tree)]


def _joined(outer: Repeat) -> Expression:
    """``x{a,b}{c,d}`` as ``x{ac,bd}``, if there is no gap between c rounds and c + 1."""
    inner = outer.item
    if not isinstance(inner, Repeat):
        return outer
    low, high = inner.minimum, inner.maximum
    rounds = outer.minimum
    if rounds == 0 and low <= 1:
        no_gap = True
    else:
        no_gap = rounds > 0 and (high is None or (rounds + 1) * low <= rounds * high + 1)
    if not no_gap and rounds != outer.maximum:
        return outer
    unbounded = high is None or outer.maximum is None
    maximum = None if unbounded else cast("int", high) * cast("int", outer.maximum)
    return Repeat(inner.item, low * rounds, maximum)
