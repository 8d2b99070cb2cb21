"""Automata as right-linear rules, over characters where their bytes are whole characters.

Each state is a rule: for every state it leads to, the characters that lead there and that state's
rule. States entered once, left once and not accepting are written in line, so that a word stays a
word; a move back to the same state is a repetition. Linear in the number of moves.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import count

from ..automata import Dfa, Ranges, any_text
from .ir import (
    EMPTY,
    Automaton,
    ByteSet,
    Expression,
    Reference,
    Repeat,
    Rules,
    alternatives,
    characters,
    literal,
    postorder,
    rewritten,
    sequence,
)

__all__ = ["automata_as_rules"]


def automata_as_rules(rules: Rules) -> dict[str, Expression]:
    """The same language without automaton leaves, whose states become rules of their own."""
    result: dict[str, Expression] = {}
    for name, expression in rules.items():
        fresh = (f"{name}-{number}" for number in count(1) if f"{name}-{number}" not in rules)
        leaves = [node for node in postorder(expression) if isinstance(node, Automaton)]
        starts: dict[int, Expression] = {}
        for leaf in leaves:
            made, starts[id(leaf)] = _linear_rules(leaf.dfa, fresh)
            result.update(made)

        def change(node: Expression, starts: dict[int, Expression] = starts) -> Expression | None:
            return starts.get(id(node))

        result[name] = rewritten(expression, change)
    return result


def _linear_rules(dfa: Dfa, fresh: Iterator[str]) -> tuple[dict[str, Expression], Expression]:
    """A rule for each state that needs one, and the expression of the start state."""
    edges = _edges(dfa)
    entries = Counter(target for state in edges.values() for target in state)
    accepting = dfa.accepting.tolist()

    def in_line(state: int) -> bool:
        """Whether one move leads here, and one leads on."""
        passes = len(edges[state]) == 1 and not accepting[state] and state != dfa.start
        return passes and entries[state] == 1

    names: dict[int, str] = {}
    queue = deque([dfa.start])

    def name_of(state: int) -> str:
        if state not in names:
            names[state] = next(fresh)
            if state != dfa.start:
                queue.append(state)
        return names[state]

    bodies: dict[int, Expression] = {}
    while queue:
        state = queue.popleft()
        options: list[Expression] = [EMPTY] if accepting[state] else []
        loop = edges[state].get(state)
        for target, leaf in edges[state].items():
            if target == state:
                continue
            parts, last = [leaf], target
            while in_line(last):
                ((last, following),) = edges[last].items()
                parts.append(following)
            if edges[last]:
                parts.append(Reference(name_of(last)))
            options.append(sequence(parts))
        rest = alternatives(options)
        bodies[state] = rest if loop is None else sequence([Repeat(loop, 0, None), rest])
    start = Reference(names[dfa.start]) if dfa.start in names else bodies[dfa.start]
    return {name: bodies[state] for state, name in names.items()}, start


def _edges(dfa: Dfa) -> dict[int, dict[int, Expression]]:
    """For each state between characters (or each state at all) its targets and what leads there."""
    by_characters = any_text().contains(dfa)
    edges: dict[int, dict[int, Expression]] = {}
    queue = [dfa.start]
    while queue:
        state = queue.pop()
        if state in edges:
            continue
        if by_characters:
            moves = dfa.char_ranges_by_target(state)
            edges[state] = {target: _one_character(ranges) for target, ranges in moves}
        else:
            edges[state] = _byte_moves(dfa, state)
        queue.extend(edges[state])
    return edges


def _one_character(ranges: Ranges) -> Expression:
    low, high = ranges[0]
    return literal(chr(low)) if len(ranges) == 1 and low == high else characters(ranges)


def _byte_moves(dfa: Dfa, state: int) -> dict[int, Expression]:
    ranges: dict[int, list[tuple[int, int]]] = {}
    for low, high, target in dfa.byte_ranges(state):
        ranges.setdefault(target, []).append((low, high))
    return {target: ByteSet(tuple(pairs)) for target, pairs in ranges.items()}
