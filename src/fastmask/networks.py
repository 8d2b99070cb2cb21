"""Recursive transition networks: one automaton a rule, its edges bytes or calls of rules.

The tables need two things that grammars need not have: no callee matches the empty text, and no
rule calls itself before it has read a byte. Both can be had without changing the language, since
only recognition is asked for:

* rules without recursion are put in place of their references, as far as they are small;
* a call of a rule that may be empty becomes "call its non-empty part, or nothing";
* the rules that call one another first, in a circle, are a left-linear grammar over everything
else:
  read backwards it is a finite automaton, in which "a whole A has been read" is a state that the
  alternatives beginning with A go on from. So left recursion, direct, indirect or hidden behind
  empty rules, becomes a loop.

Networks are Woods' (1970); the loop is the regular closure of left-linear rules.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Sequence_
from typing import Any

import numpy as np

from .automata import FIRST_SYMBOL, Dfa, Nfa
from .errors import UnsatisfiableGrammarError
from .grammar.core import Grammar
from .grammar.ir import (
    Alternatives,
    Automaton,
    ByteSet,
    CharSet,
    Expression,
    Literal,
    Reference,
    Repeat,
    Schema,
    Sequence,
    Tokens,
    children,
    postorder,
)

__all__ = ["Networks", "strongly_connected"]

_INLINE_WEIGHT = 2_000
_WHOLE_WEIGHT = 200_000
_WIDE = 64


class Networks:
    """The rules of a grammar as automata that the tables can be made of.

    Parameters
    ----------
    grammar : Grammar
    token_classes : callable
        Gives the classes of atomic tokens that a `Tokens` expression stands for.
    schemas : sequence of Schema
        The schemas in it: calls of automata that are made elsewhere.
    absent : bytes
        Bytes that no token of the vocabulary holds: no text can have them.

    Attributes
    ----------
    names : list of str
        Rule names. Symbols, from ``FIRST_SYMBOL`` on, are calls of the rules, calls of the schemas,
        and classes of atomic tokens.
    automata : list of Dfa
        What a call of each rule reads: never the empty text.
    root : int
    entry : Dfa
        What the whole text is: the root's automaton, the empty text included if it matches.
    subset_states, minimal_states : int
        States of all automata, before and after minimisation.
    """

    def __init__(
        self,
        grammar: Grammar,
        token_classes: Callable[[Tokens], list[int]],
        schemas: Sequence_[Schema] = (),
        absent: bytes = b"",
    ) -> None:
        self._rules = grammar.rules
        self._token_classes = token_classes
        self._schemas = {schema: k for k, schema in enumerate(schemas)}
        self._inlined = _inlinable(self._rules, grammar.root)
        self.names = [name for name in self._rules if name not in self._inlined]
        self._index = {name: i for i, name in enumerate(self.names)}
        self.root = self._index[grammar.root]
        automata = [self._automaton(self._rules[name]) for name in self.names]
        if absent:
            needed = [b for b in absent if any(a.table[:, a.classes[b]].any() for a in automata)]
            automata = _without_bytes(automata, len(self.names), absent)
            if automata[self.root].is_empty:
                raise UnsatisfiableGrammarError(
                    f"every text of the grammar needs a byte that no token of the vocabulary has: "
                    f"{_shown(needed)}"
                )
        self.subset_states = sum(a.n_subset_states for a in automata)
        self.minimal_states = sum(a.n_states - 1 for a in automata)
        empty = _nullable(automata)
        if empty:
            automata = [_through(a, empty) for a in automata]
        self.entry = automata[self.root]
        automata = [_non_empty(a) if i in empty else a for i, a in enumerate(automata)]
        self.automata, looped = _without_left_recursion(automata)
        if self.root in looped or self.root not in empty:
            entry = self.automata[self.root]
            self.entry = _or_empty(entry) if self.root in empty else entry

    @property
    def n_callees(self) -> int:
        """Rules and schemas."""
        return len(self.names) + len(self._schemas)

    def calls(self, automaton: Dfa) -> list[tuple[int, int, int]]:
        """(state, callee, state to return to) of every call: callees are rules, then schemas."""
        first = automaton.n_classes
        last = min(first + self.n_callees, automaton.table.shape[1])
        states, columns = np.nonzero(automaton.table[:, first:last])
        targets = automaton.table[states, columns + first]
        return list(zip(states.tolist(), columns.tolist(), targets.tolist(), strict=True))

    def _automaton(self, expression: Expression) -> Dfa:
        nfa = Nfa()
        nfa.accept(self._add(nfa, 0, expression))
        return nfa.determinise()

    def _add(self, nfa: Nfa, at: int, expression: Expression) -> int:
        """Put ``expression`` behind state ``at``; returns where it ends."""
        todo: list[Any] = [expression]
        while todo:
            item = todo.pop()
            if isinstance(item, Literal):
                at = nfa.literal(at, item.data)
            elif isinstance(item, CharSet):
                at = nfa.char_set(at, item.ranges)
            elif isinstance(item, ByteSet):
                at = nfa.byte_set(at, item.ranges)
            elif isinstance(item, Sequence):
                todo.extend(reversed(item.items))
            elif isinstance(item, Alternatives):
                ends: list[int] = []
                todo.append((_JOIN, ends))
                for option in reversed(item.options):
                    todo += [(_END, ends), option, (_GO, at)]
            elif isinstance(item, Repeat):
                body = nfa.begin()
                todo += [(_REPEAT, at, body, item), item.item]
                at = body[0]
            elif isinstance(item, Reference):
                if item.name in self._inlined:
                    todo.append(self._rules[item.name])
                else:
                    at = nfa.symbol(at, FIRST_SYMBOL + self._index[item.name])
            elif isinstance(item, Tokens):
                first = FIRST_SYMBOL + self.n_callees
                at = nfa.join([nfa.symbol(at, first + k) for k in self._token_classes(item)])
            elif isinstance(item, Schema):
                at = nfa.symbol(at, FIRST_SYMBOL + len(self.names) + self._schemas[item])
            elif isinstance(item, Automaton):
                at = nfa.automaton(at, item.dfa)
            elif item[0] == _GO:
                at = item[1]
            elif item[0] == _END:
                item[1].append(at)
            elif item[0] == _JOIN:
                at = nfa.join(item[1])
            else:
                _, source, body, repeat = item
                at = nfa.repeat(source, body, at, repeat.minimum, repeat.maximum)
        return at


_GO, _END, _JOIN, _REPEAT = "go", "end", "join", "repeat"


def _inlinable(rules: Mapping[str, Expression], root: str) -> set[str]:
    """Rules to put in place of their references: small, and not part of a recursion."""
    used = {
        name: [e.name for e in postorder(expression) if isinstance(e, Reference)]
        for name, expression in rules.items()
    }
    names = list(rules)
    index = {name: i for i, name in enumerate(names)}
    targets = [[index[n] for n in used[name]] for name in names]
    inlined: set[str] = set()
    weights = dict.fromkeys(names, 1)
    total = 0
    references = dict.fromkeys(names, 0)
    for refs in used.values():
        for name in refs:
            references[name] += 1
    for component in strongly_connected(targets):
        name = names[component[0]]
        weight, wide = _weight(rules[name], weights, inlined)
        alone = len(component) == 1 and component[0] not in targets[component[0]]
        uses = references[name]
        small = weight <= _INLINE_WEIGHT or uses == 1
        if alone and name != root and small and not (wide and uses > 1):
            total += weight * uses
            if total <= _WHOLE_WEIGHT:
                inlined.add(name)
                weights[name] = weight
    return inlined


def _weight(
    expression: Expression, weights: Mapping[str, int], inlined: set[str]
) -> tuple[int, bool]:
    """About how many edges an expression needs, and whether it has a wide character set."""
    known: dict[int, int] = {}
    wide = False
    for node in postorder(expression):
        weight = 1 + sum(known[id(child)] for child in children(node))
        if isinstance(node, Repeat):
            copies = max(node.minimum, 1) if node.maximum is None else node.maximum
            weight = weight * max(copies, 1)
        elif isinstance(node, Literal):
            weight = len(node.data)
        elif isinstance(node, CharSet):
            weight = len(node.ranges)
            ascii_width = sum(min(high, 0x7F) - low + 1 for low, high in node.ranges if low < 0x80)
            wide = wide or ascii_width >= _WIDE
        elif isinstance(node, Automaton):
            weight = 4 * node.dfa.n_states
        elif isinstance(node, Reference) and node.name in inlined:
            weight = weights[node.name]
        known[id(node)] = weight
    return known[id(expression)], wide


def strongly_connected(targets: list[list[int]]) -> list[list[int]]:
    """Strongly connected components, each after those it leads to (Tarjan 1972)."""
    n = len(targets)
    order = [-1] * n
    low = [0] * n
    on_stack = [False] * n
    stack: list[int] = []
    components: list[list[int]] = []
    clock = 0
    for start in range(n):
        if order[start] >= 0:
            continue
        todo = [(start, 0)]
        while todo:
            node, position = todo.pop()
            if position == 0:
                order[node] = low[node] = clock
                clock += 1
                stack.append(node)
                on_stack[node] = True
            elif on_stack[targets[node][position - 1]]:
                low[node] = min(low[node], low[targets[node][position - 1]])
            while position < len(targets[node]):
                target = targets[node][position]
                position += 1
                if order[target] < 0:
                    todo.append((node, position))
                    todo.append((target, 0))
                    break
                if on_stack[target]:
                    low[node] = min(low[node], order[target])
            else:
                if low[node] == order[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack[member] = False
                        component.append(member)
                        if member == node:
                            break
                    components.append(component)
    return components


def _edges(automaton: Dfa) -> Any:
    """Moves of an automaton as int32[n, 4]: source, lowest and highest symbol, target."""
    table, classes = automaton.table, automaton.classes
    n_classes = automaton.n_classes
    rows = []
    by_byte = table[:, classes.astype(np.int64)]
    for state in range(1, automaton.n_states):
        row = by_byte[state]
        cuts = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), 256]
        rows += [
            (state, low, high - 1, int(row[low]))
            for low, high in itertools.pairwise(cuts)
            if row[low]
        ]
    states, columns = np.nonzero(table[:, n_classes:])
    targets = table[states, columns + n_classes]
    symbols = columns + FIRST_SYMBOL
    calls = np.stack([states, symbols, symbols, targets], axis=1)
    return np.concatenate([np.array(rows, np.int32).reshape(-1, 4), calls]).astype(np.int32)


def _call_columns(automaton: Dfa, rules: Iterable[int]) -> list[tuple[int, int]]:
    """(column, rule) of those rules that the automaton has a column for."""
    first, width = automaton.n_classes, automaton.table.shape[1]
    return [(first + rule, rule) for rule in rules if first + rule < width]


def _without_bytes(automata: list[Dfa], n_rules: int, absent: bytes) -> list[Dfa]:
    """The automata without moves on ``absent`` bytes, and without what needs one to be finished."""
    gone = np.frombuffer(absent, np.uint8)
    if not any(a.table[:, a.classes[gone]].any() for a in automata):
        return automata
    edges = [_edges(a) for a in automata]
    edges = [e[~np.isin(e[:, 1], gone)] for e in map(_single_bytes, edges)]
    productive: set[int] = set()
    before = -1
    while before != len(productive):
        before = len(productive)
        for i, automaton in enumerate(automata):
            if i not in productive and _finishes(automaton, edges[i], n_rules, productive):
                productive.add(i)
    result = []
    for automaton, own in zip(automata, edges, strict=True):
        nfa = Nfa()
        nfa.add_states(automaton.n_states - 1)
        nfa.n_symbols = automaton.n_symbols
        nfa.extend(own[_usable(own, n_rules, productive)])
        nfa.epsilon(0, automaton.start)
        for state in np.flatnonzero(automaton.labels).tolist():
            nfa.accept(state)
        result.append(nfa.determinise())
    return result


def _shown(needed: list[int]) -> str:
    """Bytes by number, and as text where they are printable."""
    named = [f"0x{b:02x}" + (f" ({chr(b)!r})" if 0x20 <= b < 0x7F else "") for b in needed]
    return ", ".join(named[:8]) + (", ..." if len(named) > 8 else "")


def _single_bytes(edges: Any) -> Any:
    """Edges with every range of bytes taken apart."""
    widths = edges[:, 2] - edges[:, 1] + 1
    single = np.repeat(edges, widths, axis=0)
    starts = np.repeat(np.cumsum(widths) - widths, widths)
    single[:, 1] += np.arange(len(single), dtype=np.int32) - starts.astype(np.int32)
    single[:, 2] = single[:, 1]
    return single


def _usable(edges: Any, n_rules: int, productive: set[int]) -> Any:
    """Which edges are no calls of rules that cannot be finished."""
    called = edges[:, 1] - FIRST_SYMBOL
    return (called < 0) | (called >= n_rules) | np.isin(called, sorted(productive))


def _finishes(automaton: Dfa, edges: Any, n_rules: int, productive: set[int]) -> bool:
    """Whether an accepting state can be reached over edges that can be finished."""
    usable = edges[_usable(edges, n_rules, productive)]
    reached = np.zeros(automaton.n_states, np.bool_)
    reached[automaton.start] = True
    count = 0
    while count != (now := int(reached.sum())):
        count = now
        reached[usable[reached[usable[:, 0]], 3]] = True
    return bool(automaton.labels[reached].any())


def _nullable(automata: list[Dfa]) -> set[int]:
    """Rules that match the empty text."""
    empty: set[int] = set()
    while True:
        before = len(empty)
        for i, automaton in enumerate(automata):
            if i in empty:
                continue
            seen = {automaton.start}
            todo = [automaton.start]
            columns = [column for column, _ in _call_columns(automaton, empty)]
            while todo:
                state = todo.pop()
                if automaton.labels[state]:
                    empty.add(i)
                    break
                for column in columns:
                    target = int(automaton.table[state, column])
                    if target and target not in seen:
                        seen.add(target)
                        todo.append(target)
        if len(empty) == before:
            return empty


def _through(automaton: Dfa, empty: set[int]) -> Dfa:
    """The automaton in which calls of rules that may be empty may be skipped."""
    skips = [
        (int(state), int(automaton.table[state, column]))
        for column, _ in _call_columns(automaton, empty)
        for state in np.flatnonzero(automaton.table[:, column]).tolist()
    ]
    if not skips:
        return automaton
    nfa = Nfa()
    nfa.add_states(automaton.n_states - 1)
    nfa.n_symbols = automaton.n_symbols
    # State 0 is the start: it takes the place of the dead state, with a move to the real start.
    nfa.extend(_edges(automaton))
    nfa.epsilon(0, automaton.start)
    for state, target in skips:
        nfa.epsilon(state, target)
    for state in np.flatnonzero(automaton.labels).tolist():
        nfa.accept(state)
    return nfa.determinise()


def _with_start(automaton: Dfa, label: int) -> Dfa:
    """The automaton with a start of its own, accepting or not."""
    table = np.concatenate([automaton.table, automaton.table[automaton.start][None]])
    labels = np.append(automaton.labels, label)
    return Dfa(automaton.classes, table, automaton.n_states, labels)


def _non_empty(automaton: Dfa) -> Dfa:
    return _with_start(automaton, 0)


def _or_empty(automaton: Dfa) -> Dfa:
    return _with_start(automaton, 1)


def _without_left_recursion(automata: list[Dfa]) -> tuple[list[Dfa], set[int]]:
    """Automata without circles of first calls, and which of them were changed."""
    n = len(automata)
    first_calls = [
        np.flatnonzero(a.table[a.start, a.n_classes : a.n_classes + n]).tolist() for a in automata
    ]
    result = list(automata)
    looped: set[int] = set()
    for component in strongly_connected(first_calls):
        if len(component) > 1 or component[0] in first_calls[component[0]]:
            looped.update(component)
            for member, automaton in _loops(automata, component).items():
                result[member] = automaton
    return result, looped


def _loops(automata: list[Dfa], component: list[int]) -> dict[int, Dfa]:
    """The automata of rules that call one another first, as loops.

    One automaton serves all: from the start the alternatives that begin with something else, then
    for each member a state "a whole one has been read", from which the alternatives that begin with
    that member go on. The members differ in which of those states accepts.
    """
    members = set(component)
    n_states = 1
    offset, whole = {}, {}
    for member in component:
        offset[member] = n_states
        whole[member] = n_states  # the place of the member's dead state
        n_states += automata[member].n_states
    n_symbols = max(automata[m].n_symbols for m in component)
    blocks, skips = [], []
    for member in component:
        automaton = automata[member]
        edges = _edges(automaton)
        moved = edges + np.array([offset[member], 0, 0, offset[member]], np.int32)
        blocks.append(moved)
        begin = moved[edges[:, 0] == automaton.start].copy()
        inside = np.isin(begin[:, 1] - FIRST_SYMBOL, list(members))
        skips += [(whole[int(s) - FIRST_SYMBOL], int(t)) for _, s, _, t in begin[inside]]
        begin[:, 0] = 0
        blocks.append(begin[~inside])
        ends = np.flatnonzero(automaton.labels) + offset[member]
        skips += [(int(end), whole[member]) for end in ends]
    edges = np.concatenate(blocks)
    result = {}
    for member in component:
        nfa = Nfa()
        nfa.add_states(n_states - 1)
        nfa.n_symbols = n_symbols
        nfa.extend(edges)
        for source, target in skips:
            nfa.epsilon(source, target)
        nfa.accept(whole[member])
        result[member] = nfa.determinise()
    return result
