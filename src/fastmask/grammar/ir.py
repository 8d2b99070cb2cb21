"""The small grammar IR: rules over characters, sequences, alternatives, repeats and references.

Every front end ends here and the tables start here. Expressions are immutable values over Unicode
text; they become UTF-8 bytes only when tables are made (``ByteSet`` is the one exception, for
grammars that speak of raw bytes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..errors import GrammarError

if TYPE_CHECKING:
    from ..automata import Dfa

__all__ = [
    "ANY_CHARACTER",
    "Alternatives",
    "Automaton",
    "ByteSet",
    "CharSet",
    "Complement",
    "EMPTY",
    "Expression",
    "Intersection",
    "Literal",
    "NOTHING",
    "Reference",
    "Repeat",
    "Rules",
    "Schema",
    "SchemaSource",
    "Sequence",
    "Tokens",
    "alternatives",
    "character_ranges",
    "characters",
    "children",
    "literal",
    "postorder",
    "repeat",
    "rewritten",
    "sequence",
    "with_children",
]

LAST_CODE_POINT = 0x10FFFF
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF


@dataclass(frozen=True, slots=True)
class CharSet:
    """One character out of sorted, disjoint, inclusive ranges of code points; never a surrogate."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ByteSet:
    """One raw byte out of sorted, disjoint, inclusive ranges."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """These bytes exactly (UTF-8 where they come from text). ``Literal(b"")`` is the empty text."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Any one of them; without options nothing matches."""

    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``minimum`` to ``maximum`` times (``None``: any number of times more)."""

    item: Expression
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Reference:
    """A rule of the same grammar by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """One atomic token by id or by name out of a set, or (``negated``) any other token.

    An atomic token stands for itself whatever its bytes are: this is how special tokens get into a
    grammar.
    """

    items: tuple[int | str, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Intersection:
    """Texts that match all of the regular operands."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Complement:
    """Texts (sequences of characters) that do not match the regular operand."""

    item: Expression


@dataclass(frozen=True, slots=True)
class Automaton:
    """A regular language given as a DFA over bytes."""

    dfa: Dfa


@dataclass(frozen=True, slots=True)
class Schema:
    """The JSON texts that a schema allows; ``source`` makes the automaton part by part."""

    source: SchemaSource


class SchemaSource(Protocol):
    """A schema with its options: a value, equal and hashed by its text."""

    @property
    def report(self) -> Any:
        """What becomes of each keyword."""

    @property
    def policy_key(self) -> Any:
        """What schemas that share their tables have in common, hashable."""

    @property
    def text(self) -> str:
        """The schema as JSON text."""

    def to_bytes(self) -> bytes:
        """Schema and options as bytes."""

    def build(self, tables: Any, state: int) -> Any:
        """Have ``tables`` make the automaton, which begins in ``state``; the formulas it is of."""


Expression: TypeAlias = (
    CharSet
    | ByteSet
    | Literal
    | Sequence
    | Alternatives
    | Repeat
    | Reference
    | Tokens
    | Intersection
    | Complement
    | Automaton
    | Schema
)
Rules: TypeAlias = Mapping[str, Expression]

EMPTY = Literal(b"")
NOTHING = Alternatives(())


def character_ranges(
    ranges: Iterable[tuple[int, int]], *, negated: bool = False
) -> tuple[tuple[int, int], ...]:
    """Inclusive code point ranges, sorted, disjoint, without surrogates, or their complement."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    if negated:
        edges = [-1, *(edge for pair in merged for edge in pair), LAST_CODE_POINT + 1]
        gaps = zip(edges[::2], edges[1::2], strict=True)
        merged = [(low + 1, high - 1) for low, high in gaps if low + 1 < high]
    result: list[tuple[int, int]] = []
    for low, high in merged:
        below = (low, min(high, _FIRST_SURROGATE - 1))
        above = (max(low, _LAST_SURROGATE + 1), high)
        result.extend(part for part in (below, above) if part[0] <= part[1])
    return tuple(result)


def characters(ranges: Iterable[tuple[int, int]], *, negated: bool = False) -> CharSet:
    """A `CharSet` from inclusive ranges in any order, overlapping ones too, or from all others."""
    return CharSet(character_ranges(ranges, negated=negated))


ANY_CHARACTER = characters((), negated=True)


def literal(text: str) -> Literal:
    """The UTF-8 bytes of ``text``; raises `GrammarError` on a lone surrogate."""
    try:
        return Literal(text.encode())
    except UnicodeEncodeError as error:
        raise GrammarError(
            f"{text[error.start]!a} is half of a surrogate pair, which no text can hold"
        ) from None


def sequence(items: Iterable[Expression]) -> Expression:
    """A `Sequence` without nesting and with neighbouring literals joined."""
    flat: list[Expression] = []
    for item in items:
        for part in item.items if isinstance(item, Sequence) else (item,):
            if isinstance(part, Literal) and flat and isinstance(flat[-1], Literal):
                flat[-1] = Literal(flat[-1].data + part.data)
            elif part != EMPTY:
                flat.append(part)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat)) if flat else EMPTY


def alternatives(options: Iterable[Expression]) -> Expression:
    """An `Alternatives` without nesting."""
    flat: list[Expression] = []
    for option in options:
        flat.extend(option.options if isinstance(option, Alternatives) else (option,))
    return flat[0] if len(flat) == 1 else Alternatives(tuple(flat))


def repeat(item: Expression, minimum: int, maximum: int | None) -> Expression:
    """A `Repeat`, or the item itself for exactly one."""
    return item if minimum == maximum == 1 else Repeat(item, minimum, maximum)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands of an expression."""
    if isinstance(expression, Sequence | Intersection):
        return expression.items
    if isinstance(expression, Alternatives):
        return expression.options
    if isinstance(expression, Repeat | Complement):
        return (expression.item,)
    return ()


def with_children(expression: Expression, parts: tuple[Expression, ...]) -> Expression:
    """The same kind of node over other operands; a leaf stays as it is."""
    if isinstance(expression, Sequence):
        return sequence(parts)
    if isinstance(expression, Alternatives):
        return alternatives(parts)
    if isinstance(expression, Intersection):
        return Intersection(parts)
    if isinstance(expression, Repeat):
        return repeat(parts[0], expression.minimum, expression.maximum)
    if isinstance(expression, Complement):
        return Complement(parts[0])
    return expression


def postorder(expression: Expression) -> Iterator[Expression]:
    """Every distinct node object, operands before the nodes that use them, without recursion."""
    seen: set[int] = set()
    stack = [(expression, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(children(node)))


def rewritten(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """The expression with nodes replaced from the top down, without recursion.

    ``change`` gives a node's replacement, which is not looked into again, or None to go on with its
    operands. Untouched parts stay the same objects.
    """
    made: dict[int, Expression] = {}
    stack = [(expression, False)]
    while stack:
        node, expanded = stack.pop()
        if id(node) in made:
            continue
        if not expanded:
            replacement = change(node)
            if replacement is not None:
                made[id(node)] = replacement
                continue
            stack.append((node, True))
            stack.extend((part, False) for part in children(node))
            continue
        parts = children(node)
        changed = tuple(made[id(part)] for part in parts)
        same = all(new is old for new, old in zip(changed, parts, strict=True))
        made[id(node)] = node if same else with_children(node, changed)
    return made[id(expression)]
