"""A pattern's tree as a program: states with ordered exits, over classes of characters.

The order of exits is the order of preference that backtracking matchers follow, which atomic groups
need. Lookarounds and atomic groups are programs of their own inside the list. Characters that all
sets of the pattern treat alike are one *symbol*; a set is then a bit mask of symbols.

A loop whose round may be empty follows Python's ``re``: a round that ends where it began is the
last.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...automata import Ranges
from ...errors import BudgetError
from ..ir import Alternatives, CharSet, Literal, Repeat, Sequence
from .charsets import ALL, normal
from .nodes import Anchor, AnchorKind, Atomic, Lazy, Look, Node, postorder, widths

__all__ = [
    "AtomicState",
    "Back",
    "Char",
    "Check",
    "End",
    "LookState",
    "Loop",
    "Program",
    "Split",
    "compiled",
]

MAX_POSITIONS = 100_000
MAX_DEPTH = 40
NEWLINE: Ranges = ((0x0A, 0x0A),)

_ADVICE = "use smaller repetition counts around lookarounds, anchors and atomic groups"


@dataclass(frozen=True, slots=True)
class Char:
    """Read a symbol out of a mask."""

    mask: int
    then: int


@dataclass(frozen=True, slots=True)
class Split:
    """Go on anywhere of these, the first preferred."""

    targets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """Begin a round that may be empty, or leave (``leave_first``: that is preferred)."""

    body: int
    leave: int
    leave_first: bool


@dataclass(frozen=True, slots=True)
class Back:
    """The end of a round of ``loop``: if it read something on to ``then``, else leave."""

    loop: int
    then: int
    leave: int


@dataclass(frozen=True, slots=True)
class Check:
    """An anchor; ``word`` is the mask of word characters."""

    kind: AnchorKind
    word: int
    then: int


@dataclass(frozen=True, slots=True)
class LookState:
    """A lookahead from ``start``, or lookbehind number ``number``."""

    start: int
    ahead: bool
    negated: bool
    number: int
    then: int


@dataclass(frozen=True, slots=True)
class AtomicState:
    """The first match from ``start`` on, and no other."""

    start: int
    then: int


@dataclass(frozen=True, slots=True)
class End:
    """The end of the pattern, or of a lookaround or atomic group."""

    outermost: bool
    behind: bool


State: TypeAlias = Char | Split | Loop | Back | Check | LookState | AtomicState | End
Step: TypeAlias = Generator[Any, Any, int]


@dataclass(slots=True)
class Program:
    """States, where they start, and what they are about.

    Attributes
    ----------
    states : list of State
    start : int
    symbols : list of Ranges
        Characters of each symbol; together all characters.
    newline : int
        Mask of the newline's symbol.
    lookbehinds : list of int
        First state of each lookbehind.
    words : list of int
        Masks of word characters that anchors use.
    """

    states: list[State]
    start: int
    symbols: list[Ranges]
    newline: int
    lookbehinds: list[int]
    words: list[int]

    def characters(self, mask: int) -> Ranges:
        """The characters of the symbols in a mask."""
        chosen = (ranges for symbol, ranges in enumerate(self.symbols) if mask >> symbol & 1)
        return normal(pair for ranges in chosen for pair in ranges)

    def kind(self, symbol: int) -> tuple[bool, bool, int]:
        """What anchors ask of the character before: none at all, newline, in which word sets."""
        words = 0
        for number, word in enumerate(self.words):
            words |= (word >> symbol & 1) << number
        return False, bool(self.newline >> symbol & 1), words


def compiled(tree: Node) -> Program:
    """The program of a tree.

    Raises
    ------
    BudgetError
        Too many positions, or lookarounds and atomic groups nested too deeply.
    """
    return _Compiler(tree).program()


class _Compiler:
    def __init__(self, tree: Node) -> None:
        self.tree = tree
        self.states: list[State] = []
        self.lookbehinds: list[int] = []
        self.made: dict[int, int] = {}  # inner programs by node: copies of a round share them
        self.numbers: dict[int, int] = {}
        self.depth = 0
        sets: dict[Ranges, None] = {NEWLINE: None}
        for node in postorder(tree):
            if isinstance(node, CharSet):
                sets[node.ranges] = None
            elif isinstance(node, Literal):
                sets.update(dict.fromkeys(((ord(c), ord(c)),) for c in node.data.decode()))
            elif isinstance(node, Anchor) and node.word:
                sets[node.word] = None
        self.symbols, self.masks = _symbols(list(sets))

    def program(self) -> Program:
        start = _run(self.piece(self.tree, self.add(End(True, False))))
        words = {state.word for state in self.states if isinstance(state, Check) and state.word}
        return Program(
            self.states,
            start,
            self.symbols,
            self.masks[NEWLINE],
            self.lookbehinds,
            sorted(words),
        )

    def add(self, state: State) -> int:
        if len(self.states) >= MAX_POSITIONS:
            raise BudgetError("pattern positions", MAX_POSITIONS, _ADVICE)
        self.states.append(state)
        return len(self.states) - 1

    def piece(self, node: Node, then: int) -> Step:
        """Add a node that goes on at ``then``; gives its first state."""
        if isinstance(node, Literal):
            for char in reversed(node.data.decode()):
                then = self.add(Char(self.masks[((ord(char), ord(char)),)], then))
        elif isinstance(node, CharSet):
            then = self.add(Char(self.masks[node.ranges], then))
        elif isinstance(node, Sequence):
            for item in reversed(node.items):
                then = yield self.piece(item, then)
        elif isinstance(node, Alternatives):
            starts = []
            for option in node.options:
                starts.append((yield self.piece(option, then)))
            then = self.add(Split(tuple(starts)))
        elif isinstance(node, Repeat):
            then = yield self.repeat(node, then, lazy=False)
        elif isinstance(node, Lazy):
            then = yield self.repeat(node.item, then, lazy=True)
        elif isinstance(node, Anchor):
            word = self.masks[node.word] if node.word else 0
            then = self.add(Check(node.kind, word, then))
        elif isinstance(node, Look):
            start = yield self.inner(node.item, End(False, not node.ahead))
            number = -1
            if not node.ahead:
                number = self.numbers.setdefault(start, len(self.lookbehinds))
                if number == len(self.lookbehinds):
                    self.lookbehinds.append(start)
            then = self.add(LookState(start, node.ahead, node.negated, number, then))
        elif isinstance(node, Atomic):
            start = yield self.inner(node.item, End(False, False))
            then = self.add(AtomicState(start, then))
        else:
            raise TypeError(f"a pattern cannot hold {type(node).__name__}")
        return then

    def inner(self, node: Node, end: End) -> Step:
        """A lookaround's or atomic group's own program."""
        if id(node) in self.made:
            return self.made[id(node)]
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise BudgetError("nested lookarounds and atomic groups", MAX_DEPTH, _ADVICE)
        start: int = yield self.piece(node, self.add(end))
        self.depth -= 1
        self.made[id(node)] = start
        return start

    def repeat(self, node: Repeat, then: int, lazy: bool) -> Step:
        """Optional rounds, made from the last to the first, behind the required ones."""
        may_be_empty = widths(node.item)[0] == 0
        leave = then
        if node.maximum is None:
            loop = self.add(End(False, False))  # replaced below
            back = self.add(Back(loop, loop, leave)) if may_be_empty else loop
            body = yield self.piece(node.item, back)
            self.states[loop] = self.choice(body, leave, lazy, may_be_empty)
            then = loop
        else:
            for _ in range(node.maximum - node.minimum):
                loop = self.add(End(False, False))
                back = self.add(Back(loop, then, leave)) if may_be_empty else then
                body = yield self.piece(node.item, back)
                self.states[loop] = self.choice(body, leave, lazy, may_be_empty)
                then = loop
        for _ in range(node.minimum):
            then = yield self.piece(node.item, then)
        return then

    def choice(self, body: int, leave: int, lazy: bool, may_be_empty: bool) -> State:
        """A round or none."""
        if may_be_empty:
            return Loop(body, leave, lazy)
        return Split((leave, body) if lazy else (body, leave))


def _run(first: Step) -> int:
    """Run a generator that yields generators and is sent their results."""
    stack: list[Generator[Any, Any, Any]] = [first]
    value: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as finished:
            stack.pop()
            value = finished.value
    return int(value)


def _symbols(sets: list[Ranges]) -> tuple[list[Ranges], dict[Ranges, int]]:
    """The coarsest partition of all characters that each set is a union of, and each set's mask."""
    toggles: dict[int, int] = {}
    for number, ranges in enumerate(sets):
        for low, high in ranges:
            toggles[low] = toggles.get(low, 0) ^ (1 << number)
            toggles[high + 1] = toggles.get(high + 1, 0) ^ (1 << number)
    for low, high in ALL:
        toggles.setdefault(low, 0)
        toggles.setdefault(high + 1, 0)
    inside = 0
    pieces: dict[int, list[tuple[int, int]]] = {}
    bounds = sorted(toggles)
    for low, end in itertools.pairwise(bounds):
        inside ^= toggles[low]
        if low != 0xD800:
            pieces.setdefault(inside, []).append((low, end - 1))
    masks = dict.fromkeys(sets, 0)
    for symbol, inside in enumerate(pieces):
        for number, ranges in enumerate(sets):
            if inside >> number & 1:
                masks[ranges] |= 1 << symbol
    return [tuple(ranges) for ranges in pieces.values()], masks
