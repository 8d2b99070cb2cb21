"""From regular expressions of the IR to automata.

An expression is added to a nondeterministic automaton piece by piece and determinised; the
operands of intersections and complements, and the rules that are referred to, become automata of
their own first. Pieces are generators run by one loop, so that nesting costs no Python recursion.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, TypeAlias

from ..automata import Dfa, Nfa
from ..errors import UnsupportedFeatureError
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
)

__all__ = ["expression_dfa"]

Step: TypeAlias = Generator[Any, Any, Any]


def expression_dfa(expression: Expression, rules: Mapping[str, Expression]) -> Dfa:
    """The automaton of a regular expression; references that do not recurse are followed.

    Raises
    ------
    UnsupportedFeatureError
        The expression is not regular: a rule refers to itself, or an atomic token stands in it.
    BudgetError
        The automaton grows past its limits.
    """
    dfa: Dfa = _run(_Builder(rules).dfa(expression))
    return dfa


def _run(first: Step) -> Any:
    """Run a generator that yields generators and is sent their results."""
    stack = [first]
    value: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(value))
            value = None
        except StopIteration as finished:
            stack.pop()
            value = finished.value
    return value


class _Builder:
    def __init__(self, rules: Mapping[str, Expression]) -> None:
        self.rules = rules
        self.made: dict[str, Dfa] = {}
        self.open: list[str] = []

    def dfa(self, node: Expression) -> Step:
        """The automaton of an expression."""
        if isinstance(node, Automaton):
            return node.dfa
        if isinstance(node, Complement):
            inner: Dfa = yield self.dfa(node.item)
            return inner.complement()
        if isinstance(node, Intersection):
            result: Dfa = yield self.dfa(node.items[0])
            for item in node.items[1:]:
                other: Dfa = yield self.dfa(item)
                result = result.intersection(other)
            return result
        if isinstance(node, Reference):
            return (yield self.rule(node.name))
        nfa = Nfa()
        nfa.accept((yield self.piece(nfa, 0, node)))
        return nfa.determinise()

    def rule(self, name: str) -> Step:
        """The automaton of a rule, made once."""
        if name in self.open:
            cycle = " -> ".join([*self.open[self.open.index(name) :], name])
            raise UnsupportedFeatureError(
                f"recursion inside an intersection or complement ({cycle})",
                "its operands must be regular",
            )
        if name not in self.made:
            self.open.append(name)
            self.made[name] = yield self.dfa(self.rules[name])
            self.open.pop()
        return self.made[name]

    def piece(self, nfa: Nfa, source: int, node: Expression) -> Step:
        """Add an expression behind ``source``; gives the state where it ends."""
        if isinstance(node, Literal):
            return nfa.literal(source, node.data)
        if isinstance(node, CharSet):
            return nfa.char_set(source, node.ranges)
        if isinstance(node, ByteSet):
            return nfa.byte_set(source, node.ranges)
        if isinstance(node, Sequence):
            for item in node.items:
                source = yield self.piece(nfa, source, item)
            return source
        if isinstance(node, Alternatives):
            ends = []
            for option in node.options:
                ends.append((yield self.piece(nfa, source, option)))
            return nfa.join(ends)
        if isinstance(node, Repeat):
            body = nfa.begin()
            end = yield self.piece(nfa, body[0], node.item)
            return nfa.repeat(source, body, end, node.minimum, node.maximum)
        if isinstance(node, Tokens | Schema):
            what = "an atomic token" if isinstance(node, Tokens) else "a JSON schema"
            raise UnsupportedFeatureError(
                f"{what} inside an intersection or complement", "its operands must be regular"
            )
        return nfa.automaton(source, (yield self.dfa(node)))
