"""Automata against sets of strings, the slow and obvious way to know a part of a language."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask.automata import FIRST_SYMBOL, Dfa, Nfa, any_text, product
from fastmask.errors import BudgetError, FormatError

ALPHABET = b"abc"
LONGEST = 4
ALL_STRINGS = [
    bytes(letters) for n in range(LONGEST + 1) for letters in itertools.product(ALPHABET, repeat=n)
]

# Expressions as nested tuples, with their language up to LONGEST bytes and their automaton.


def expressions() -> st.SearchStrategy:
    leaves = st.one_of(
        st.binary(max_size=2).map(lambda data: ("text", bytes(97 + b % 3 for b in data))),
        st.sets(st.sampled_from(ALPHABET)).map(lambda chosen: ("set", tuple(sorted(chosen)))),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.just("then"), inner, inner),
            st.tuples(st.just("or"), inner, inner),
            st.tuples(
                st.just("repeat"), inner, st.integers(0, 3), st.none() | st.integers(0, 2)
            ).map(lambda t: (*t[:3], None if t[3] is None else t[2] + t[3])),
        ),
        max_leaves=6,
    )


def language(expression: tuple) -> set[bytes]:
    """The strings of an expression up to LONGEST bytes."""
    kind = expression[0]
    if kind == "text":
        return {expression[1]}
    if kind == "set":
        return {bytes([byte]) for byte in expression[1]}
    if kind == "or":
        return language(expression[1]) | language(expression[2])
    if kind == "then":
        return concatenated(language(expression[1]), language(expression[2]))
    item, minimum, maximum = language(expression[1]), expression[2], expression[3]
    rounds = {b""}
    for _ in range(minimum):
        rounds = concatenated(rounds, item)
    found = set(rounds)
    for _ in range(LONGEST + 1 if maximum is None else maximum - minimum):
        rounds = concatenated(rounds, item)
        found |= rounds
    return found


def concatenated(left: set[bytes], right: set[bytes]) -> set[bytes]:
    return {a + b for a in left for b in right if len(a + b) <= LONGEST}


def built(nfa: Nfa, source: int, expression: tuple) -> int:
    kind = expression[0]
    if kind == "text":
        return nfa.literal(source, expression[1])
    if kind == "set":
        return nfa.byte_set(source, tuple((byte, byte) for byte in expression[1]))
    if kind == "or":
        return nfa.join([built(nfa, source, expression[1]), built(nfa, source, expression[2])])
    if kind == "then":
        return built(nfa, built(nfa, source, expression[1]), expression[2])
    body = nfa.begin()
    end = built(nfa, body[0], expression[1])
    return nfa.repeat(source, body, end, expression[2], expression[3])


def automaton(expression: tuple) -> Dfa:
    nfa = Nfa()
    nfa.accept(built(nfa, 0, expression))
    dfa = nfa.determinise()
    check_form(dfa)
    return dfa


def accepted(dfa: Dfa) -> set[bytes]:
    return {text for text in ALL_STRINGS if dfa.accepts(text)}


def check_form(dfa: Dfa) -> None:
    """Every state reachable, alive and unlike any other; numbered breadth first; classes too."""
    table, labels = dfa.table.tolist(), dfa.labels.tolist()
    assert not any(table[0])
    assert labels[0] == 0
    order, queue = {0: 0}, [dfa.start] if dfa.start else []
    for state in queue:
        order.setdefault(state, len(order))
        for target in table[state]:
            if target and target not in queue:
                queue.append(target)
    assert order == {state: state for state in range(dfa.n_states)}
    alive = {state for state, label in enumerate(labels) if label}
    while True:
        more = {s for s, row in enumerate(table) if alive.intersection(row)} - alive
        if not more:
            break
        alive |= more
    assert alive == set(range(1, dfa.n_states))
    block = labels
    while True:  # partition refinement (Moore 1956)
        keys = [(block[s], *(block[t] for t in table[s])) for s in range(dfa.n_states)]
        numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        refined = [numbers[key] for key in keys]
        if len(numbers) == len(set(block)):
            break
        block = refined
    assert len(set(block)) == dfa.n_states
    columns = dfa.table[:, : dfa.n_classes].T
    assert len({column.tobytes() for column in columns}) == dfa.n_classes
    firsts = [dfa.classes.tolist().index(c) for c in range(dfa.n_classes)]
    assert firsts == sorted(firsts)


@given(expressions())
def test_language_of_an_expression(expression: tuple) -> None:
    assert accepted(automaton(expression)) == language(expression)


@given(expressions(), expressions())
def test_boolean_operations(left: tuple, right: tuple) -> None:
    a, b = automaton(left), automaton(right)
    in_a, in_b = accepted(a), accepted(b)
    results = {
        "or": (a | b, in_a | in_b),
        "and": (a & b, in_a & in_b),
        "minus": (a - b, in_a - in_b),
        "xor": (a ^ b, in_a ^ in_b),
        "not": (a.complement(), set(ALL_STRINGS) - in_a),
    }
    for name, (dfa, expected) in results.items():
        check_form(dfa)
        assert accepted(dfa) == expected, name
    assert a.contains(a & b)
    assert (a | b).contains(b)
    assert ((a - b) | (a & b)) == a
    assert a.complement().complement() == a
    assert (a == b) == (a ^ b).is_empty


@given(expressions(), expressions())
def test_concatenation_repetition_and_reversal(left: tuple, right: tuple) -> None:
    a, b = automaton(left), automaton(right)
    assert a.concatenation(b) == automaton(("then", left, right))
    assert a.repeated(1, None) == automaton(("repeat", left, 1, None))
    backwards = a.reversed()
    check_form(backwards)
    assert accepted(backwards) == {text[::-1] for text in accepted(a)}


@given(expressions(), expressions())
def test_quotients(left: tuple, right: tuple) -> None:
    a, b = automaton(left), automaton(right)
    every, some = language(left), language(right)
    rest = a.left_quotient(b)
    start = a.right_quotient(b)
    check_form(rest)
    for text in every:
        for cut in range(len(text) + 1):
            if text[:cut] in some:
                assert rest.accepts(text[cut:])
            if text[cut:] in some:
                assert start.accepts(text[:cut])
    assert a.left_quotient(Dfa.literal(b"a")) == a.derivative(b"a")
    assert a.left_quotient(Dfa.nothing()).is_empty


@given(expressions())
def test_finite_languages(expression: tuple) -> None:
    dfa = automaton(expression)
    if dfa.is_finite:
        texts = list(dfa.strings(10_000))
        assert texts == sorted(set(texts))
        assert all(dfa.accepts(text) for text in texts)
        assert dfa.count() == len(texts)
        assert dfa.size_up_to(3) == min(3, len(texts))
        assert dfa.size_up_to(10**30) == len(texts)
        assert list(dfa.strings(2)) == texts[:2]
        assert Dfa.from_strings(texts) == dfa
        assert dfa.shortest() == min(texts, key=lambda text: (len(text), text), default=None)
    else:
        assert dfa.count() is None
        assert dfa.size_up_to(5) == 5
        with pytest.raises(ValueError, match="infinite"):
            next(dfa.strings(1))


@given(expressions())
def test_round_trips(expression: tuple) -> None:
    dfa = automaton(expression)
    assert Dfa(dfa.classes, dfa.table, dfa.start, dfa.labels) == dfa
    again = pickle.loads(pickle.dumps(dfa))
    assert again == dfa
    assert hash(again) == hash(dfa)
    assert again.digest() == dfa.digest()


@given(st.lists(st.binary(max_size=5), max_size=30), st.data())
def test_strings_with_labels(strings: list[bytes], data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.integers(1, 5), min_size=len(strings), max_size=len(strings)))
    dfa = Dfa.from_strings(strings, labels)
    check_form(dfa)
    first = {}
    for string, label in zip(strings, labels, strict=True):
        first.setdefault(string, label)
    assert dfa.count() == len(first)
    for string, label in first.items():
        assert dfa.labels[dfa.run(string)] == label
    nfa = Nfa()
    for string, label in first.items():
        nfa.accept(nfa.literal(0, string), label)
    assert nfa.determinise() == dfa


@given(st.lists(expressions(), max_size=4))
def test_product_of_many(parts: list[tuple]) -> None:
    automata = [automaton(part) for part in parts]
    dfa, sets = product(automata)
    assert sets[0] == 0
    assert len(set(sets)) == len(sets)
    for text in ALL_STRINGS:
        expected = sum(other.accepts(text) << i for i, other in enumerate(automata))
        assert sets[dfa.labels[dfa.run(text)]] == expected


EDGES_OF_UTF8 = [
    0, 0x41, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xCFFF, 0xD000, 0xD7FF, 0xE000, 0xFFFF,
    0x10000, 0x3FFFF, 0x40000, 0xFFFFF, 0x100000, 0x10FFFF,
]  # fmt: skip


@given(
    st.lists(st.sampled_from(EDGES_OF_UTF8) | st.integers(0, 0x10FFFF), min_size=2, max_size=12),
    st.lists(st.integers(0, 0x10FFFF), max_size=20),
)
def test_characters_as_bytes(bounds: list[int], others: list[int]) -> None:
    bounds = sorted({bound for bound in bounds if not 0xD800 <= bound <= 0xDFFF})
    ranges = tuple(zip(bounds[::2], bounds[1::2], strict=False))
    nfa = Nfa()
    nfa.accept(nfa.char_set(0, ranges))
    dfa = nfa.determinise()
    near = [bound + step for bound in bounds for step in (-1, 0, 1)]
    for point in [*others, *near, *EDGES_OF_UTF8]:
        if 0 <= point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF:
            inside = any(low <= point <= high for low, high in ranges)
            assert dfa.accepts(chr(point).encode()) == inside
    if not dfa.is_empty:
        (_, found), *more = dfa.char_ranges_by_target(dfa.start)
        assert not more
        points = {p for low, high in ranges for p in (low, high)}
        assert {p for p in points if any(low <= p <= high for low, high in found)} == points
        assert sum(h - g + 1 for g, h in found) == dfa.count()


def test_any_text_is_what_decodes() -> None:
    for data in (b"", b"a", "é€😀".encode(), b"\x7f\x00"):
        assert any_text().accepts(data)
    for data in (b"\x80", b"\xc0\x80", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff"):
        assert not any_text().accepts(data)
    assert any_text().char_ranges_by_target(1) == [(1, ((0, 0xD7FF), (0xE000, 0x10FFFF)))]


@pytest.mark.parametrize(
    ("words", "subset_states", "states"),
    [((b"cat", b"car", b"dog"), 8, 6), ((b"a",), 2, 2), ((b"ab", b"cb"), 5, 3)],
)
def test_states_before_and_after_minimisation(
    words: tuple[bytes, ...], subset_states: int, states: int
) -> None:
    nfa = Nfa()
    nfa.accept(nfa.join([nfa.literal(0, word) for word in words]))
    dfa = nfa.determinise()
    assert (dfa.n_subset_states, dfa.n_states - 1) == (subset_states, states)


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 3), st.randoms(use_true_random=False))
def test_any_table_comes_out_minimal(n_states: int, n_columns: int, n_labels: int, random) -> None:
    # Moves lead to near states, so that long ways tell some of them apart.
    near = [[random.randint(-3, 4) for _ in range(n_columns)] for _ in range(n_states)]
    table = np.zeros((n_states + 1, n_columns), np.int32)
    for state, row in enumerate(near, 1):
        table[state] = [min(max(state + step, 0), n_states) for step in row]
    labels = [0, *(random.randint(0, n_labels) for _ in range(n_states))]
    classes = np.minimum(np.arange(256), n_columns - 1).astype(np.uint8)
    dfa = Dfa(classes, table, 1, labels)
    check_form(dfa)
    met, pairs = {(1, dfa.start)}, [(1, dfa.start)]
    for state, minimal in pairs:
        assert labels[state] == dfa.labels[minimal] or minimal == 0
        for byte in range(n_columns):
            pair = int(table[state, byte]), int(dfa.table[minimal, dfa.classes[byte]])
            if pair not in met:
                met.add(pair)
                pairs.append(pair)
    # No text tells the two apart: what is dead here never comes to a label there.
    lost = {state for state, minimal in pairs if minimal == 0}
    assert not any(labels[state] for state in lost)


def test_copies_that_only_their_ends_tell_apart() -> None:
    nfa = Nfa()
    body = nfa.begin()
    words = nfa.byte_set(body[0], ((97, 98),))
    nfa.edge(words, 97, 98, words)
    end = nfa.repeat(0, body, nfa.byte_set(words, ((32, 32),)), 0, 150)
    nfa.accept(end)
    dfa = nfa.determinise()
    check_form(dfa)
    assert dfa.n_states == 1 + 2 * 150 + 1
    assert dfa.prefixes().n_states == 1 + 2 * 150 + 1
    assert dfa.accepts(b"ab " * 150)
    assert not dfa.accepts(b"ab " * 151)


def test_symbols_keep_their_columns() -> None:
    nfa = Nfa()
    end = nfa.symbol(nfa.literal(0, b"x"), FIRST_SYMBOL + 2)
    nfa.accept(nfa.symbol(end, FIRST_SYMBOL))
    dfa = nfa.determinise()
    check_form(dfa)
    assert (dfa.n_classes, dfa.n_symbols) == (2, 3)
    state = dfa.run(b"x")
    assert dfa.table[state].tolist() == [0, 0, 0, 0, 3]
    assert dfa.table[3].tolist() == [0, 0, 4, 0, 0]
    with pytest.raises(ValueError, match="abstract symbols"):
        dfa.reversed()


def test_labels_of_overlapping_ends_are_combined() -> None:
    nfa = Nfa()
    nfa.accept(nfa.literal(0, b"ab"), 1)
    nfa.accept(nfa.byte_set(nfa.byte_set(0, ((97, 98),)), ((98, 99),)), 2)
    dfa = nfa.determinise()
    assert [int(dfa.labels[dfa.run(text)]) for text in (b"ab", b"ac", b"bb", b"a")] == [3, 2, 2, 0]
    swapped = dfa.relabelled([0, 2, 1, 3])
    assert [int(swapped.labels[swapped.run(text)]) for text in (b"ab", b"ac")] == [3, 1]
    assert dfa.relabelled([0, 1, 1, 1]) == automaton(("then", ("set", (97, 98)), ("set", (98, 99))))


def test_many_copies_and_nested_repeats() -> None:
    nfa = Nfa()
    outer = nfa.begin()
    inner = nfa.begin()
    end = nfa.repeat(outer[0], inner, nfa.literal(inner[0], b"ab"), 2, 40)
    nfa.accept(nfa.repeat(0, outer, nfa.literal(end, b";"), 30, None))
    dfa = nfa.determinise()
    assert dfa.n_states > 2 * 40 * 30
    for rounds, repeats in ((30, 2), (31, 40)):
        assert dfa.accepts((b"ab" * repeats + b";") * rounds)
    for rounds, repeats in ((29, 2), (30, 1), (30, 41)):
        assert not dfa.accepts((b"ab" * repeats + b";") * rounds)


def test_budgets() -> None:
    def copies(n: int) -> Nfa:
        nfa = Nfa()
        body = nfa.begin()
        nfa.accept(nfa.repeat(0, body, nfa.literal(body[0], b"a"), n, n))
        return nfa

    assert copies(50).determinise(max_states=51).n_states == 52
    with pytest.raises(BudgetError, match="50 automaton states"):
        copies(50).determinise(max_states=50)
    with pytest.raises(BudgetError, match="closure|steps"):
        copies(50).determinise(max_steps=10)
    with pytest.raises(BudgetError, match="table cells"):
        copies(50).determinise(max_cells=100)
    with pytest.raises(BudgetError, match="edges"):
        copies(4_000_000_000)


def test_long_texts_run_in_the_kernel() -> None:
    dfa = automaton(("repeat", ("text", b"abc"), 0, None))
    assert dfa.accepts(b"abc" * 1000)
    assert not dfa.accepts(b"abc" * 1000 + b"a")
    assert dfa.run(b"b", dfa.run(b"a")) == dfa.run(b"ab")


def test_arrays_cannot_be_written() -> None:
    dfa = Dfa.literal(b"a")
    for array in (dfa.classes, dfa.table, dfa.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize(
    ("table", "start", "labels"),
    [
        ([[0], [2]], 1, [0, 1]),
        ([[1], [0]], 1, [0, 1]),
        ([[0], [1]], 2, [0, 1]),
        ([[0], [1]], 1, [1, 1]),
        ([[0], [1]], 1, [0]),
    ],
)
def test_tables_that_are_none(table: list[list[int]], start: int, labels: list[int]) -> None:
    with pytest.raises(ValueError, match="Dfa"):
        Dfa(np.zeros(256, np.uint8), np.array(table), start, np.array(labels))


def test_bytes_that_are_no_automaton() -> None:
    data = Dfa.literal(b"ab").to_bytes()
    for damaged in (b"", data[:-1], data + b"x", b"\xff" * len(data)):
        with pytest.raises(FormatError):
            Dfa.from_bytes(damaged)


@pytest.mark.large
def test_twenty_thousand_strings() -> None:
    strings = [f"{i * 7919 % 100_003:05d}-{i % 97}".encode() for i in range(20_000)]
    dfa = Dfa.from_strings(strings)
    assert dfa.count() == len(set(strings))
    assert all(dfa.accepts(string) for string in strings[::97])
    assert Dfa(dfa.classes, dfa.table, dfa.start, dfa.labels) == dfa
