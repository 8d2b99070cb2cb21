"""From rules as written to rules that can be used: defined, regular where they must be, productive.

A prefix that a mask lets through must be finishable, so whatever can never finish goes: an
expression is productive when it matches some text, found for all rules at once by counting, for
each sequence, the operands still unproven (linear; Dowling and Gallier 1984). Intersections and
complements, whose operands must be regular, become automata here: no later stage knows them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from ..errors import GrammarError, UnsatisfiableGrammarError
from .ir import (
    EMPTY,
    NOTHING,
    Alternatives,
    Automaton,
    ByteSet,
    CharSet,
    Complement,
    Expression,
    Intersection,
    Reference,
    Repeat,
    Sequence,
    Tokens,
    children,
    postorder,
    rewritten,
)
from .regular import expression_dfa

__all__ = ["checked_rules", "references"]


def checked_rules(rules: Mapping[str, Expression], root: str) -> dict[str, Expression]:
    """The rules that ``root`` needs, without what can never finish.

    Raises
    ------
    GrammarError
        No rule ``root``, or a reference to a rule that is not there.
    UnsupportedFeatureError
        An operand of an intersection or complement that is not regular.
    UnsatisfiableGrammarError
        No text matches ``root``.
    """
    if root not in rules:
        raise GrammarError(f"the grammar has no rule {root!r}; its rules are: {', '.join(rules)}")
    nodes = {name: list(postorder(expression)) for name, expression in rules.items()}
    used = {name: _referred(inside) for name, inside in nodes.items()}
    for name, targets in used.items():
        for target in targets:
            if target not in rules:
                raise GrammarError(f"rule {name!r} refers to {target!r}, which is not defined")
    kept = {name: rules[name] for name in _reachable(used, root)}
    for name, expression in kept.items():
        if any(isinstance(node, Intersection | Complement) for node in nodes[name]):
            kept[name] = _without_boolean_operators(expression, rules)
            nodes[name] = list(postorder(kept[name]))
    productive = _productive(kept, nodes)
    if all(id(node) in productive for name in kept for node in nodes[name]):
        return kept
    if id(kept[root]) not in productive:
        raise UnsatisfiableGrammarError(_why_unproductive(kept, root, productive))
    trimmed = {name: _trimmed(expression, productive) for name, expression in kept.items()}
    used = {name: references(expression) for name, expression in trimmed.items()}
    return {name: trimmed[name] for name in _reachable(used, root)}


def references(expression: Expression) -> set[str]:
    """The names of the rules that an expression refers to."""
    return _referred(postorder(expression))


def _referred(nodes: Iterable[Expression]) -> set[str]:
    return {node.name for node in nodes if isinstance(node, Reference)}


def _reachable(used: Mapping[str, set[str]], root: str) -> list[str]:
    """Rules that ``root`` leads to, in the order in which they were written."""
    seen = {root}
    queue = deque([root])
    while queue:
        for target in used[queue.popleft()]:
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return [name for name in used if name in seen]


def _without_boolean_operators(
    expression: Expression, rules: Mapping[str, Expression]
) -> Expression:
    """The same expression with each intersection and complement as an automaton."""

    def change(node: Expression) -> Expression | None:
        if isinstance(node, Intersection | Complement):
            return Automaton(expression_dfa(node, rules))
        return None

    return rewritten(expression, change)


def _productive(rules: Mapping[str, Expression], nodes: Mapping[str, list[Expression]]) -> set[int]:
    """Ids of those of the rules' node objects that match some text."""
    waiting: dict[int, int] = {}
    parents: dict[int, list[Expression]] = {}
    uses: dict[str, list[Expression]] = {name: [] for name in rules}
    proven: set[int] = set()
    queue: deque[Expression] = deque()

    def prove(node: Expression) -> None:
        if id(node) not in proven:
            proven.add(id(node))
            queue.append(node)

    for name in rules:
        for node in nodes[name]:
            if id(node) in waiting:
                continue
            parts = children(node)
            waiting[id(node)] = len(parts) if isinstance(node, Sequence) else 1
            for part in parts:
                parents.setdefault(id(part), []).append(node)
            if isinstance(node, Reference):
                uses[node.name].append(node)
            elif _matches_outright(node):
                prove(node)
    owners: dict[int, list[str]] = {}
    for name, expression in rules.items():
        owners.setdefault(id(expression), []).append(name)
    while queue:
        node = queue.popleft()
        for name in owners.get(id(node), ()):
            for reference in uses[name]:
                prove(reference)
        for parent in parents.get(id(node), ()):
            waiting[id(parent)] -= 1
            if waiting[id(parent)] <= 0:
                prove(parent)
    return proven


def _matches_outright(node: Expression) -> bool:
    """Whether a node matches some text whatever its operands do."""
    if isinstance(node, Sequence):
        return not node.items
    if isinstance(node, Repeat):
        return node.minimum == 0
    if isinstance(node, CharSet | ByteSet):
        return bool(node.ranges)
    if isinstance(node, Tokens):
        return node.negated or bool(node.items)
    if isinstance(node, Automaton):
        return not node.dfa.is_empty
    return not isinstance(node, Alternatives | Reference)


def _trimmed(expression: Expression, productive: set[int]) -> Expression:
    """The expression without operands that match nothing; the same object where there are none."""

    def change(node: Expression) -> Expression | None:
        if id(node) not in productive:
            return NOTHING
        return EMPTY if isinstance(node, Repeat) and id(node.item) not in productive else None

    return rewritten(expression, change)


def _why_unproductive(rules: Mapping[str, Expression], root: str, productive: set[int]) -> str:
    """The chain of rules, from ``root``, that never comes to an end."""
    chain = [root]
    node = rules[root]
    while True:
        stuck = [part for part in children(node) if id(part) not in productive]
        if stuck:
            node = stuck[0]
        elif isinstance(node, Reference):
            if node.name in chain:
                cycle = " -> ".join([*chain[chain.index(node.name) :], node.name])
                return f"nothing can match rule {root!r}: it always needs itself again ({cycle})"
            chain.append(node.name)
            node = rules[node.name]
        else:
            what = "an intersection without any text" if isinstance(node, Automaton) else "nothing"
            return f"nothing can match rule {root!r}: rule {chain[-1]!r} asks for {what}"
