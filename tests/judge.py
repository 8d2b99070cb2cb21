"""The slow, obvious engine: an Earley recogniser over bytes and atomic tokens, in plain Python.

It reads the grammar IR and shares nothing else with the package. Every expression becomes rules of
a plain context-free grammar over sets of bytes; rules that can never finish are removed; then
Earley's algorithm (1970, with the nullable shortcut of Aycock and Horspool 2002) reads one byte at
a time. With such a reduced grammar no items are left exactly when no text goes on from the prefix.

Intersections and complements of regular operands are worked out as naive automata: sets of states
as Python frozensets, one dictionary a state.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from hypothesis import strategies as st

from fastmask.grammar import ir

# A nonterminal, a set of bytes, or an atomic token.
Symbol: TypeAlias = int | frozenset[int] | ir.Tokens
Production: TypeAlias = tuple[int, tuple[Symbol, ...]]
Rules: TypeAlias = dict[str, ir.Expression]

ALL_BYTES = frozenset(range(256))


class Item(NamedTuple):
    """A production read up to ``dot``, begun at the column ``origin``."""

    production: int
    dot: int
    origin: int


@dataclass(frozen=True)
class Column:
    """The items after one byte, and which of them wait for each nonterminal."""

    items: frozenset[Item]
    waiting: dict[int, list[Item]] = field(compare=False)


Chart: TypeAlias = tuple[Column, ...]


@dataclass(frozen=True)
class State:
    """What was read: for each reading of the tokens, the columns of its Earley chart."""

    charts: tuple[Chart, ...]


class Judge:
    """A grammar, ready to say yes or no.

    Parameters
    ----------
    grammar : Grammar or mapping of rule names to expressions
    root : str
        The root rule, where ``grammar`` is a mapping.
    alphabet : set of int, optional
        The bytes that exist; all by default.
    """

    def __init__(
        self, grammar: Any, root: str = "root", alphabet: Iterable[int] = ALL_BYTES
    ) -> None:
        if hasattr(grammar, "rules"):
            grammar, root = grammar.rules, grammar.root
        plain = _PlainGrammar(grammar, frozenset(alphabet))
        self.productions, self.by_head, self.start_symbol = plain.reduced(root)
        self.nullable = _nullable(self.productions)

    def start(self) -> State | None:
        """The state before anything is read; None when nothing matches at all."""
        if self.start_symbol not in self.by_head:
            return None
        column = self._closed({Item(p, 0, 0) for p in self.by_head[self.start_symbol]}, ())
        return State(((column,),))

    def step(self, state: State | None, byte: int) -> State | None:
        """The state after one more byte, or None where no text goes on so."""
        return self._advance(state, lambda symbol: isinstance(symbol, frozenset) and byte in symbol)

    def step_token(self, state: State | None, token_id: int, name: str | None) -> State | None:
        """The state after one atomic token, or None."""
        return self._advance(
            state,
            lambda symbol: isinstance(symbol, ir.Tokens) and _token_fits(symbol, token_id, name),
        )

    def read(self, data: bytes, state: State | None = None) -> State | None:
        """The state after all of ``data``, from the start or from ``state``."""
        state = self.start() if state is None else state
        for byte in data:
            state = self.step(state, byte)
            if state is None:
                return None
        return state

    def accepts(self, state: State | None) -> bool:
        """Whether the text may end here."""
        return state is not None and any(
            item.origin == 0 and self._finished(item) and self._head(item) == self.start_symbol
            for chart in state.charts
            for item in chart[-1].items
        )

    def matches(self, text: str | bytes) -> bool:
        """Whether a whole text matches."""
        return self.accepts(self.read(text.encode() if isinstance(text, str) else text))

    def failing_byte(self, data: bytes) -> int | None:
        """The position of the first byte that no text has there; None when all may stand."""
        state = self.start()
        for position, byte in enumerate(data):
            state = self.step(state, byte)
            if state is None:
                return position
        return None

    def accept_token(
        self,
        state: State | None,
        token_id: int,
        vocabulary: Sequence[bytes],
        *,
        end_ids: Iterable[int] = (),
        special_ids: Iterable[int] = (),
    ) -> State | None:
        """The state after a token, read as text, as an atomic token, or both ways."""
        if state is None:
            return None
        data = vocabulary[token_id]
        special = token_id in set(special_ids) | set(end_ids)
        readings: list[State | None] = []
        if data and not special:
            readings.append(self.read(data, state))
        readings.append(self._step_atomic(state, token_id, data, token_id in set(end_ids)))
        charts = [chart for reading in readings if reading is not None for chart in reading.charts]
        return _state(charts)

    def mask(
        self,
        state: State | None,
        vocabulary: Sequence[bytes],
        *,
        end_ids: Iterable[int] = (),
        special_ids: Iterable[int] = (),
    ) -> set[int]:
        """The ids of all tokens that may come next, each tried on its own."""
        ends, specials = set(end_ids), set(special_ids)
        allowed = {
            token_id
            for token_id in range(len(vocabulary))
            if self.accept_token(state, token_id, vocabulary, end_ids=ends, special_ids=specials)
            is not None
        }
        return allowed | ends if self.accepts(state) else allowed

    # --- Earley

    def _step_atomic(self, state: State, token_id: int, data: bytes, is_end: bool) -> State | None:
        name = data.decode(errors="replace")

        def fits(symbol: Any) -> bool:
            if not isinstance(symbol, ir.Tokens) or (is_end and symbol.negated):
                return False
            return _token_fits(symbol, token_id, name)

        return self._advance(state, fits)

    def _head(self, item: Item) -> int:
        return self.productions[item.production][0]

    def _finished(self, item: Item) -> bool:
        return item.dot == len(self.productions[item.production][1])

    def _next(self, item: Item) -> Any:
        body = self.productions[item.production][1]
        return body[item.dot] if item.dot < len(body) else None

    def _advance(self, state: State | None, fits: Callable[[Any], bool]) -> State | None:
        if state is None:
            return None
        charts = []
        for chart in state.charts:
            moved = {
                Item(item.production, item.dot + 1, item.origin)
                for item in chart[-1].items
                if not isinstance(self._next(item), int | None) and fits(self._next(item))
            }
            if moved:
                charts.append((*chart, self._closed(moved, chart)))
        return _state(charts)

    def _closed(self, items: set[Item], chart: Chart) -> Column:
        """Prediction and completion until nothing is new; ``chart`` holds the columns before."""
        position = len(chart)
        work = list(items)

        def add(item: Item) -> None:
            if item not in items:
                items.add(item)
                work.append(item)

        while work:
            item = work.pop()
            symbol = self._next(item)
            if symbol is None:
                # What was begun in this very column is finished by the nullable shortcut below.
                if item.origin < position:
                    head = self._head(item)
                    for waiting in chart[item.origin].waiting.get(head, ()):
                        add(Item(waiting.production, waiting.dot + 1, waiting.origin))
            elif isinstance(symbol, int):
                for production in self.by_head[symbol]:
                    add(Item(production, 0, position))
                if symbol in self.nullable:
                    add(Item(item.production, item.dot + 1, item.origin))
        waiting: dict[int, list[Item]] = {}
        for item in items:
            symbol = self._next(item)
            if isinstance(symbol, int):
                waiting.setdefault(symbol, []).append(item)
        return Column(frozenset(items), waiting)


def mask(
    grammar: Any,
    prefix: bytes | Sequence[int],
    vocabulary: Sequence[bytes],
    *,
    end_ids: Iterable[int] = (),
    special_ids: Iterable[int] = (),
) -> set[int]:
    """The ids that may follow a prefix of bytes or of token ids; none after a wrong prefix."""
    judge = Judge(grammar)
    state = judge.start()
    if isinstance(prefix, bytes):
        state = judge.read(prefix)
    else:
        for token_id in prefix:
            state = judge.accept_token(
                state, token_id, vocabulary, end_ids=end_ids, special_ids=special_ids
            )
    if state is None:
        return set()
    return judge.mask(state, vocabulary, end_ids=end_ids, special_ids=special_ids)


def _state(charts: list[Chart]) -> State | None:
    if len(charts) > 1:
        charts = list(dict.fromkeys(charts))
    return State(tuple(charts)) if charts else None


def _token_fits(tokens: ir.Tokens, token_id: int, name: str | None) -> bool:
    return (token_id in tokens.items or name in tokens.items) != tokens.negated


# --- from expressions to a plain grammar


class _PlainGrammar:
    """Productions over nonterminals, byte sets and atomic tokens; one nonterminal an expression."""

    def __init__(self, rules: Any, alphabet: frozenset[int]) -> None:
        self.rules = rules
        self.alphabet = alphabet
        self.productions: list[Production] = []
        self.size = 0
        self.of_rule = {name: self.fresh() for name in rules}
        for name, expression in rules.items():
            self.produce(self.of_rule[name], [self.symbol(expression)])

    def fresh(self) -> int:
        self.size += 1
        return self.size - 1

    def produce(self, head: int, body: Iterable[Symbol]) -> None:
        self.productions.append((head, tuple(body)))

    def one_of(self, bodies: Iterable[Sequence[Symbol]]) -> int:
        head = self.fresh()
        for body in bodies:
            self.produce(head, body)
        return head

    def bytes(self, low: int, high: int) -> frozenset[int]:
        return frozenset(range(low, high + 1)) & self.alphabet

    def symbol(self, node: ir.Expression) -> Symbol:
        """What stands for an expression in the body of a production."""
        if isinstance(node, ir.Reference):
            return self.of_rule[node.name]
        if isinstance(node, ir.Tokens):
            return node
        if isinstance(node, ir.Literal):
            return self.one_of([[self.bytes(byte, byte) for byte in node.data]])
        if isinstance(node, ir.ByteSet):
            return frozenset().union(*(self.bytes(low, high) for low, high in node.ranges))
        if isinstance(node, ir.CharSet):
            return self.one_of(
                [self.bytes(low, high) for low, high in part]
                for pair in node.ranges
                for part in utf8_ranges(*pair)
            )
        if isinstance(node, ir.Sequence):
            return self.one_of([[self.symbol(item) for item in node.items]])
        if isinstance(node, ir.Alternatives):
            return self.one_of([self.symbol(option)] for option in node.options)
        if isinstance(node, ir.Repeat):
            return self.repeat(self.symbol(node.item), node.minimum, node.maximum)
        return self.automaton(_naive(node, self.rules))

    def repeat(self, item: Symbol, minimum: int, maximum: int | None) -> int:
        if maximum is None:
            tail = self.fresh()
            self.produce(tail, [])
            self.produce(tail, [item, tail])
        else:
            tail = self.one_of([[]])
            for _ in range(maximum - minimum):
                tail = self.one_of([[], [item, tail]])
        return self.one_of([[*[item] * minimum, tail]])

    def automaton(self, automaton: _Naive) -> int:
        heads = [self.fresh() for _ in automaton.moves]
        for state, moves in enumerate(automaton.moves):
            targets: dict[int, set[int]] = {}
            for byte, target in moves.items():
                targets.setdefault(target, set()).add(byte)
            for target, members in targets.items():
                self.produce(heads[state], [frozenset(members) & self.alphabet, heads[target]])
            if state in automaton.accepting:
                self.produce(heads[state], [])
        return heads[0]

    def reduced(self, root: str) -> tuple[list[Production], dict[int, list[int]], int]:
        """The productions that can finish, their numbers by head, and the start symbol."""
        productive: set[int] = set()

        def finishes(symbol: Symbol) -> bool:
            if isinstance(symbol, ir.Tokens):
                return symbol.negated or bool(symbol.items)
            return symbol in productive if isinstance(symbol, int) else bool(symbol)

        changed = True
        while changed:
            changed = False
            for head, body in self.productions:
                if head not in productive and all(finishes(symbol) for symbol in body):
                    productive.add(head)
                    changed = True
        productions = [p for p in self.productions if all(finishes(symbol) for symbol in p[1])]
        by_head: dict[int, list[int]] = {}
        for number, (head, _) in enumerate(productions):
            by_head.setdefault(head, []).append(number)
        return productions, by_head, self.of_rule[root]


def _nullable(productions: list[Production]) -> set[int]:
    nullable: set[int] = set()
    changed = True
    while changed:
        changed = False
        for head, body in productions:
            if head not in nullable and all(symbol in nullable for symbol in body):
                nullable.add(head)
                changed = True
    return nullable


def utf8_ranges(low: int, high: int) -> list[list[tuple[int, int]]]:
    """The UTF-8 forms of code points ``low`` to ``high`` as sequences of byte ranges."""
    for last in (0x7F, 0x7FF, 0xFFFF):
        if low <= last < high:
            return utf8_ranges(low, last) + utf8_ranges(last + 1, high)
    first, final = chr(low).encode(), chr(high).encode()
    for tail in range(1, len(first)):
        block = 64**tail
        if low // block != high // block:
            if low % block:
                middle = (low // block + 1) * block
                return utf8_ranges(low, middle - 1) + utf8_ranges(middle, high)
            if high % block != block - 1:
                middle = high // block * block
                return utf8_ranges(low, middle - 1) + utf8_ranges(middle, high)
    return [list(zip(first, final, strict=True))]


# --- naive automata, for intersections, complements and automaton leaves


class _Naive(NamedTuple):
    """A deterministic automaton over bytes; state 0 is the start, a missing move is a refusal."""

    moves: list[dict[int, int]]
    accepting: set[int]


class _Nondeterministic:
    """Thompson's construction, one fragment an expression."""

    def __init__(self, rules: Any) -> None:
        self.rules = rules
        self.empty_moves: list[set[int]] = []
        self.moves: list[list[tuple[frozenset[int], int]]] = []

    def state(self) -> int:
        self.empty_moves.append(set())
        self.moves.append([])
        return len(self.moves) - 1

    def join(self, source: int, target: int) -> None:
        self.empty_moves[source].add(target)

    def add(self, node: ir.Expression, source: int, target: int) -> None:
        """Let ``node`` lead from ``source`` to ``target``."""
        if isinstance(node, ir.Reference):
            self.add(self.rules[node.name], source, target)
        elif isinstance(node, ir.Literal):
            self.path([(byte, byte) for byte in node.data], source, target)
        elif isinstance(node, ir.ByteSet):
            for pair in node.ranges:
                self.path([pair], source, target)
        elif isinstance(node, ir.CharSet):
            for pair in node.ranges:
                for part in utf8_ranges(*pair):
                    self.path(part, source, target)
        elif isinstance(node, ir.Sequence):
            for item in node.items:
                between = self.state()
                self.add(item, source, between)
                source = between
            self.join(source, target)
        elif isinstance(node, ir.Alternatives):
            for option in node.options:
                self.add(option, source, target)
        elif isinstance(node, ir.Repeat):
            self.repeat(node, source, target)
        else:
            self.embed(_naive(node, self.rules), source, target)

    def path(self, ranges: list[tuple[int, int]], source: int, target: int) -> None:
        for low, high in ranges:
            between = self.state()
            self.moves[source].append((frozenset(range(low, high + 1)), between))
            source = between
        self.join(source, target)

    def repeat(self, node: ir.Repeat, source: int, target: int) -> None:
        for _ in range(node.minimum):
            between = self.state()
            self.add(node.item, source, between)
            source = between
        if node.maximum is None:
            loop = self.state()
            self.join(source, loop)
            self.add(node.item, loop, loop)
            self.join(loop, target)
            return
        self.join(source, target)
        for _ in range(node.maximum - node.minimum):
            between = self.state()
            self.add(node.item, source, between)
            source = between
            self.join(source, target)

    def embed(self, automaton: _Naive, source: int, target: int) -> None:
        states = [self.state() for _ in automaton.moves]
        self.join(source, states[0])
        for number, moves in enumerate(automaton.moves):
            for byte, goal in moves.items():
                self.moves[states[number]].append((frozenset([byte]), states[goal]))
            if number in automaton.accepting:
                self.join(states[number], target)

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        seen = set(states)
        work = list(seen)
        while work:
            for target in self.empty_moves[work.pop()] - seen:
                seen.add(target)
                work.append(target)
        return frozenset(seen)

    def determinised(self, start: int, final: int) -> _Naive:
        first = self.closure([start])
        numbers = {first: 0}
        work = [first]
        result = _Naive([{}], set())
        while work:
            members = work.pop()
            number = numbers[members]
            if final in members:
                result.accepting.add(number)
            targets: dict[int, set[int]] = {}
            for member in members:
                for allowed, target in self.moves[member]:
                    for byte in allowed:
                        targets.setdefault(byte, set()).add(target)
            closed: dict[frozenset[int], frozenset[int]] = {}
            for byte, reached in targets.items():
                key = frozenset(reached)
                goal = (
                    closed.setdefault(key, self.closure(key)) if key not in closed else closed[key]
                )
                if goal not in numbers:
                    numbers[goal] = len(numbers)
                    result.moves.append({})
                    work.append(goal)
                result.moves[number][byte] = numbers[goal]
        return result


def _naive(node: ir.Expression, rules: Any) -> _Naive:
    """The automaton of a regular expression."""
    if isinstance(node, ir.Intersection):
        result = _naive(node.items[0], rules)
        for item in node.items[1:]:
            result = _product(result, _naive(item, rules), lambda left, right: left and right)
        return result
    if isinstance(node, ir.Complement):
        texts = _naive(ir.Repeat(ir.ANY_CHARACTER, 0, None), rules)
        return _product(texts, _naive(node.item, rules), lambda left, right: left and not right)
    if isinstance(node, ir.Automaton):
        return _from_dfa(node.dfa)
    if isinstance(node, ir.Schema):
        raise TypeError("the judge reads no schemas; validators judge those")
    machine = _Nondeterministic(rules)
    start, final = machine.state(), machine.state()
    machine.add(node, start, final)
    return machine.determinised(start, final)


def _from_dfa(dfa: Any) -> _Naive:
    """The arrays of a `Dfa` as dictionaries, its states renumbered from the start."""
    numbers = {dfa.start: 0}
    order = [dfa.start]
    result = _Naive([], set())
    for state in order:
        moves: dict[int, int] = {}
        for byte in range(256):
            target = int(dfa.table[state][dfa.classes[byte]])
            if target:
                if target not in numbers:
                    numbers[target] = len(numbers)
                    order.append(target)
                moves[byte] = numbers[target]
        result.moves.append(moves)
        if dfa.accepting[state]:
            result.accepting.add(numbers[state])
    return result


def _product(left: _Naive, right: _Naive, accepts: Callable[[bool, bool], bool]) -> _Naive:
    """Both automata in step; where the right one has refused it stays refused (state None)."""
    numbers: dict[tuple[int, int | None], int] = {(0, 0): 0}
    work: list[tuple[int, int | None]] = [(0, 0)]
    result = _Naive([{}], set())
    while work:
        pair = work.pop()
        a, b = pair
        if accepts(a in left.accepting, b is not None and b in right.accepting):
            result.accepting.add(numbers[pair])
        for byte, next_a in left.moves[a].items():
            goal = (next_a, None if b is None else right.moves[b].get(byte))
            if goal not in numbers:
                numbers[goal] = len(numbers)
                result.moves.append({})
                work.append(goal)
            result.moves[numbers[pair]][byte] = numbers[goal]
    return result


# --- random grammars and vocabularies


class Chooser(Protocol):
    """Where random choices come from: `random.Random`, or hypothesis through `_Drawn`."""

    def randint(self, low: int, high: int) -> int:
        """A number from ``low`` to ``high``, both included."""


class _Drawn:
    """Choices that hypothesis can replay and shrink."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw

    def randint(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))


def _pick(chooser: Chooser, options: Sequence[Any]) -> Any:
    return options[chooser.randint(0, len(options) - 1)]


def random_rules(chooser: Chooser, alphabet: str = "abc", most_rules: int = 4) -> Rules:
    """Rules that are recursive on the left, ambiguous and nullable more often than not."""
    names = [f"r{number}" for number in range(chooser.randint(1, most_rules))]
    names[0] = "root"
    return {name: _random_expression(chooser, names, alphabet, 3) for name in names}


def _random_expression(
    chooser: Chooser, names: list[str], alphabet: str, depth: int
) -> ir.Expression:
    kind = chooser.randint(0, 11 if depth else 4)
    if kind <= 1:
        return ir.literal(_pick(chooser, alphabet))
    if kind == 2:
        return ir.Reference(_pick(chooser, names))
    if kind == 3:
        return ir.literal("".join(_pick(chooser, alphabet) for _ in range(chooser.randint(0, 3))))
    if kind == 4:
        members = sorted({ord(_pick(chooser, alphabet)) for _ in range(2)})
        return ir.characters([(member, member) for member in members])
    if kind <= 7:
        size = chooser.randint(2, 3)
        return ir.alternatives(
            _random_expression(chooser, names, alphabet, depth - 1) for _ in range(size)
        )
    if kind <= 10:
        size = chooser.randint(2, 3)
        return ir.sequence(
            _random_expression(chooser, names, alphabet, depth - 1) for _ in range(size)
        )
    low = chooser.randint(0, 2)
    high = _pick(chooser, [None, low, low + 1, low + 2])
    item = _random_expression(chooser, names, alphabet, depth - 1)
    return ir.repeat(item, low, high)


def random_vocabulary(chooser: Chooser, alphabet: str = "abc", size: int = 12) -> list[bytes]:
    """Each letter on its own, then longer tokens, some of them twice."""
    tokens = [letter.encode() for letter in alphabet]
    while len(tokens) < size:
        length = chooser.randint(1, 5)
        tokens.append("".join(_pick(chooser, alphabet) for _ in range(length)).encode())
    return tokens


def random_grammar(seed: int, alphabet: str = "abc") -> Rules:
    """Rules from a seed, such that something matches ``root``."""
    chooser = random.Random(seed)
    while True:
        rules = random_rules(chooser, alphabet)
        if Judge(rules).start() is not None:
            return rules


@st.composite
def grammars(draw: Callable[[Any], Any], alphabet: str = "abc") -> Rules:
    """Hypothesis strategy: rules such that something matches ``root``."""
    rules = random_rules(_Drawn(draw), alphabet)
    if Judge(rules).start() is None:
        rules["root"] = ir.alternatives([rules["root"], ir.literal(alphabet[0])])
    return rules


@st.composite
def vocabularies(draw: Callable[[Any], Any], alphabet: str = "abc") -> list[bytes]:
    """Hypothesis strategy: a small vocabulary over the alphabet."""
    return random_vocabulary(_Drawn(draw), alphabet, draw(st.integers(len(alphabet), 16)))


def random_walk(judge: Judge, chooser: Chooser, alphabet: bytes, length: int) -> bytes:
    """Bytes that some text begins with."""
    state, data = judge.start(), b""
    for _ in range(length):
        live = [byte for byte in alphabet if judge.step(state, byte) is not None]
        if not live:
            break
        byte = _pick(chooser, live)
        state = judge.step(state, byte)
        data += bytes([byte])
    return data


def random_text(rules: Any, chooser: Chooser, root: str = "root", depth: int = 12) -> bytes:
    """A text of the language, derived from the root; past ``depth`` the way out is the shortest."""
    heights = _heights(rules)

    def height(node: ir.Expression) -> int:
        return _height(node, heights)

    def derive(node: ir.Expression, depth: int) -> bytes:
        if isinstance(node, ir.Reference):
            return derive(rules[node.name], depth - 1)
        if isinstance(node, ir.Sequence):
            return b"".join(derive(item, depth) for item in node.items)
        if isinstance(node, ir.Alternatives):
            fitting = [option for option in node.options if height(option) < depth]
            return derive(_pick(chooser, fitting or [min(node.options, key=height)]), depth)
        if isinstance(node, ir.Repeat):
            most = node.minimum + 2 if node.maximum is None else min(node.maximum, node.minimum + 2)
            times = (
                node.minimum if height(node.item) >= depth else chooser.randint(node.minimum, most)
            )
            return b"".join(derive(node.item, depth - 1) for _ in range(times))
        if isinstance(node, ir.CharSet):
            low, high = _pick(chooser, node.ranges)
            return chr(chooser.randint(low, min(high, low + 100))).encode()
        assert isinstance(node, ir.Literal)
        return node.data

    return derive(ir.Reference(root), depth)


def _heights(rules: Any) -> dict[str, int]:
    """How many rules deep the shallowest text of each rule is."""
    heights = dict.fromkeys(rules, 10**9)
    while True:
        before = dict(heights)
        for name in rules:
            heights[name] = min(heights[name], _height(rules[name], heights))
        if heights == before:
            return heights


def _height(node: ir.Expression, heights: dict[str, int]) -> int:
    if isinstance(node, ir.Reference):
        return heights[node.name] + 1
    if isinstance(node, ir.Alternatives):
        return min(_height(option, heights) for option in node.options)
    if isinstance(node, ir.Sequence):
        return max((_height(item, heights) for item in node.items), default=0)
    if isinstance(node, ir.Repeat):
        return _height(node.item, heights) if node.minimum else 0
    return 0
