"""What the two dialects parse alike: branches, groups, repeats, one character at a time.

The parser keeps its open groups on a list of its own, so nesting costs no Python recursion. A
literal character is one dictionary miss and one append; everything else has a handler.
Constructs that no automaton can hold are remembered, and refused only after the rest of the pattern
has proved well formed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from ...errors import BudgetError, GrammarSyntaxError, UnsupportedFeatureError
from ..ir import EMPTY, NOTHING, Alternatives, CharSet, Expression, Literal, Repeat
from .nodes import Anchor, Atomic, Lazy, Look, Node, sequence_of

__all__ = ["Group", "Parsed", "Parser"]

MAX_NESTING = 250
DIGITS = frozenset("0123456789")
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
OCTAL_DIGITS = frozenset("01234567")

# What a quantifier finds before it.
NOTHING_THERE = 0
ITEM = 1
REPEATED = 2


@dataclass(frozen=True, slots=True)
class Parsed:
    """A pattern's tree, and what kinds of nodes it may hold.

    Attributes
    ----------
    tree : Node
    special : bool
        Anchors, lookarounds or atomic groups.
    lazy : bool
        Lazy repeats.
    nested_repeats : bool
        Repeats directly of repeats.
    """

    tree: Node
    special: bool
    lazy: bool
    nested_repeats: bool


class Group:
    """An open group: what surrounds it, and what becomes of its contents."""

    __slots__ = ("branches", "finish", "items", "position", "restore")

    def __init__(
        self,
        position: int,
        items: list[str | Node],
        branches: list[Node],
        finish: Callable[[Node], Node] | None,
        restore: Any,
    ) -> None:
        self.position = position
        self.items = items
        self.branches = branches
        self.finish = finish
        self.restore = restore


class Parser:
    """One pass over a pattern; dialects fill in handlers and escapes."""

    def __init__(self, text: str, handlers: dict[str, Callable[[Any], None]]) -> None:
        self.text = text
        self.handlers = handlers
        self.at = 0
        self.items: list[str | Node] = []
        self.branches: list[Node] = []
        self.groups: list[Group] = []
        self.before = NOTHING_THERE
        self.special = False
        self.lazy = False
        self.nested_repeats = False
        self.refused: UnsupportedFeatureError | None = None

    def parse(self) -> Parsed:
        """Parse the whole pattern.

        Raises
        ------
        GrammarSyntaxError
            With the position of the fault.
        UnsupportedFeatureError
            The pattern is well formed, but holds something that no automaton can.
        BudgetError
            Groups are nested too deeply.
        """
        text = self.text
        end = len(text)
        while self.at < end:
            char = text[self.at]
            self.at += 1
            handler = self.handlers.get(char)
            if handler is None:
                self.literal(char)
            else:
                handler(self)
        if self.groups:
            self.fail("this group is never closed", self.groups[-1].position)
        tree = self.close_branches()
        self.check_end()
        if self.refused is not None:
            raise self.refused
        return Parsed(tree, self.special, self.lazy, self.nested_repeats)

    # What dialects say.

    def literal(self, char: str) -> None:
        """A character that stands for itself."""
        self.items.append(NOTHING if "\ud800" <= char <= "\udfff" else char)
        self.before = ITEM

    def check_end(self) -> None:
        """Faults that only the end of the pattern shows."""

    # Branches and groups.

    def add(self, node: str | Node) -> None:
        """Add a node that may be repeated."""
        self.items.append(node)
        self.before = ITEM

    def add_anchor(self, anchor: Anchor) -> None:
        """Add an anchor, which may not be repeated."""
        self.items.append(anchor)
        self.before = NOTHING_THERE
        self.special = True

    def next_branch(self) -> None:
        """``|``"""
        self.branches.append(sequence_of(self.items))
        self.items = []
        self.before = NOTHING_THERE

    def close_branches(self) -> Node:
        """The alternatives read since the group was opened."""
        last = sequence_of(self.items)
        if not self.branches:
            return last
        options: list[Node] = []
        for option in (*self.branches, last):
            options.extend(option.options if isinstance(option, Alternatives) else (option,))
        return Alternatives(cast("tuple[Expression, ...]", tuple(options)))

    def push_group(
        self, position: int, finish: Callable[[Node], Node] | None = None, restore: Any = None
    ) -> None:
        """Open a group; ``finish`` makes the node out of its contents."""
        if len(self.groups) >= MAX_NESTING:
            raise BudgetError("nested groups", MAX_NESTING, "write the pattern with fewer groups")
        self.groups.append(Group(position, self.items, self.branches, finish, restore))
        self.items = []
        self.branches = []
        self.before = NOTHING_THERE

    def pop_group(self) -> Group:
        """``)``: close the innermost group and add its node."""
        if not self.groups:
            self.fail("there is no open group for this parenthesis", self.at - 1)
        node = self.close_branches()
        group = self.groups.pop()
        self.items = group.items
        self.branches = group.branches
        self.add(node if group.finish is None else group.finish(node))
        return group

    def look(self, ahead: bool, negated: bool) -> Callable[[Node], Node]:
        """What becomes of the contents of a lookaround."""
        self.special = True
        return lambda node: Look(node, ahead, negated)

    # Repeats.

    def star(self) -> None:
        """``*``"""
        self.quantify(0, None, self.at - 1)

    def plus(self) -> None:
        """``+``"""
        self.quantify(1, None, self.at - 1)

    def question_mark(self) -> None:
        """``?``"""
        self.quantify(0, 1, self.at - 1)

    def quantify(self, minimum: int, maximum: int | None, position: int) -> None:
        """Repeat the last item; dialects look for a mark of laziness behind."""
        if self.before == NOTHING_THERE:
            self.fail("there is nothing to repeat", position)
        if self.before == REPEATED:
            self.fail("this repeats a repeat; put it into a group first", position)
        item = self.items[-1]
        if isinstance(item, str):
            item = Literal(item.encode())
        if self.text.startswith("?", self.at):
            self.at += 1
            self.lazy = True
            repeat = self.repeat(item, minimum, maximum)
            self.items[-1] = Lazy(repeat) if isinstance(repeat, Repeat) else repeat
        else:
            self.items[-1] = self.repeat(item, minimum, maximum)
        self.before = REPEATED

    def repeat(self, item: Node, minimum: int, maximum: int | None) -> Node:
        """A repeat, or what it amounts to."""
        if maximum == 0 or item == EMPTY:
            return EMPTY
        if minimum == maximum == 1:
            return item
        if isinstance(item, Repeat | Lazy):
            self.nested_repeats = True
        return Repeat(cast("Expression", item), minimum, maximum)

    def possessive(self, item: Node, minimum: int, maximum: int | None) -> Node:
        """A repeat that gives nothing back, neither rounds nor what a round could match instead."""
        self.special = True
        single = isinstance(item, CharSet) or (isinstance(item, Literal) and len(item.data) == 1)
        return Atomic(self.repeat(item if single else Atomic(item), minimum, maximum))

    # Pieces of text.

    def take_while(self, allowed: frozenset[str], most: int) -> str:
        """Up to ``most`` characters out of a set."""
        start = self.at
        end = min(len(self.text), start + most)
        while self.at < end and self.text[self.at] in allowed:
            self.at += 1
        return self.text[start : self.at]

    def take(self, expected: str) -> bool:
        """Whether ``expected`` comes next; it is then read."""
        if self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def point(self, code: int) -> str | Node:
        """A code point as an item; half of a surrogate pair matches no text."""
        return NOTHING if 0xD800 <= code <= 0xDFFF else chr(code)

    # Faults.

    def fail(self, message: str, position: int) -> NoReturn:
        """Raise a syntax error at ``position``."""
        raise GrammarSyntaxError(message, text=self.text, position=position)

    def refuse(self, feature: str, why: str, position: int) -> None:
        """Remember a construct that no automaton can hold."""
        if self.refused is None:
            self.refused = UnsupportedFeatureError(feature, why, text=self.text, position=position)
