"""Many threads and processes on one compiled grammar: right masks, held rows unchanged."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import fastmask as fm
from judge import random_grammar
from walking import longest_tokens, random_language, run_threads

pytestmark = pytest.mark.large

ROW_BYTES = 4 * ((50_257 + 31) // 32)
SMALL_CACHE = 8 * ROW_BYTES


@pytest.fixture(scope="module")
def vocabulary():
    return fm.Vocabulary.gpt2()


@pytest.fixture(autouse=True)
def frequent_switches():
    """Threads change places every few bytecodes."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def random_value(chooser: random.Random, depth: int):
    kind = chooser.random()
    if depth == 0 or kind < 0.3:
        return chooser.choice([0, -2.5, 1e30, "abc", 'é東 \n"\\', True, None, "x" * 30, "Grüße "])
    if kind < 0.6:
        return [random_value(chooser, depth - 1) for _ in range(chooser.randint(0, 4))]
    keys = chooser.sample(["a", "name", "é", "a longer key"], chooser.randint(0, 4))
    return {key: random_value(chooser, depth - 1) for key in keys}


@pytest.fixture(scope="module")
def documents(vocabulary) -> list[list[int]]:
    """JSON texts as tokens."""
    chooser = random.Random(0)
    texts = [
        json.dumps(
            random_value(chooser, 5),
            ensure_ascii=chooser.random() < 0.5,
            indent=chooser.choice([None, 1, 4]),
        )
        for _ in range(30)
    ]
    return [longest_tokens(text.encode(), vocabulary) for text in texts]


@pytest.fixture(scope="module")
def expected(vocabulary, documents) -> list[np.ndarray]:
    """Every mask of every document, made by one thread with room for all rows."""
    compiled = fm.CompiledGrammar(fm.Grammar.json(), vocabulary)
    masks = []
    for tokens in documents:
        matcher = fm.GrammarMatcher(compiled)
        rows = []
        for token in tokens:
            rows.append(matcher.next_token_bitmask())
            assert matcher.accept_token(token)
        masks.append(np.array(rows))
    return masks


def test_eight_threads_share_a_cache_of_64_rows(vocabulary, documents, expected):
    compiled = fm.CompiledGrammar(fm.Grammar.json(), vocabulary, SMALL_CACHE)

    def work(number: int) -> None:
        chooser = random.Random(number)
        bitmask = fm.allocate_token_bitmask(1, vocabulary.size)
        held = []
        for _ in range(12):
            document = chooser.randrange(len(documents))
            matcher = fm.GrammarMatcher(compiled)
            for token, row in zip(documents[document], expected[document], strict=True):
                if chooser.random() < 0.5:
                    matcher.fill_next_token_bitmask(bitmask)
                    assert (bitmask[0] == row).all()
                else:
                    view = matcher.next_token_bitmask()
                    assert (view == row).all()
                    if chooser.random() < 0.02:
                        held.append((view, row))
                if chooser.random() < 0.05:
                    assert not matcher.fork().accept_bytes(b"\x00")
                assert matcher.accept_token(token)
        for view, row in held:
            assert (view == row).all()

    run_threads(work, 8)
    assert compiled.arena.clears > 10


def test_a_held_row_outlives_ten_thousand_evictions(vocabulary, documents, expected):
    compiled = fm.CompiledGrammar(fm.Grammar.json(), vocabulary, SMALL_CACHE)
    held, evicted, made = [], 0, 0
    document = 0
    while evicted < 10_000:
        matcher = fm.GrammarMatcher(compiled)
        tokens = documents[document % len(documents)]
        rows = expected[document % len(documents)]
        for token, row in zip(tokens, rows, strict=True):
            before = compiled.arena.rows.n_nodes
            view = matcher.next_token_bitmask()
            after = compiled.arena.rows.n_nodes
            evicted += before if after < before else 0
            made += 1
            if made % 97 == 0 and len(held) < 200:
                held.append((view, row))
            assert matcher.accept_token(token)
        document += 1
    assert len(held) == 200
    for view, row in held:
        assert (view == row).all()
        assert not view.flags.writeable


def test_forks_of_one_matcher_go_on_in_their_own_threads(vocabulary, documents, expected):
    compiled = fm.CompiledGrammar(fm.Grammar.json(), vocabulary, SMALL_CACHE)
    longest = max(range(len(documents)), key=lambda i: len(documents[i]))
    tokens, rows = documents[longest], expected[longest]
    middle = len(tokens) // 2
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_tokens(tokens[:middle]) == middle
    forks = [matcher, *(matcher.fork() for _ in range(7))]

    def work(number: int) -> None:
        own = forks[number]
        for _ in range(5):
            for i in range(middle, len(tokens)):
                assert (own.next_token_bitmask() == rows[i]).all()
                assert own.accept_token(tokens[i])
            own.rollback(len(tokens) - number)
            assert (own.next_token_bitmask() == rows[number]).all()
            assert own.accept_tokens(tokens[number:middle]) == middle - number

    run_threads(work, 8)


def test_arenas_grow_under_many_threads():
    """Small grammars whose stacks, lists and rows are all new to every thread at once."""
    for seed in range(12):
        language = random_language(random_grammar(seed), seed)

        def work(number: int, language=language) -> None:
            chooser = random.Random(number)
            for _ in range(6):
                walk = language.walk()
                for _ in range(5):
                    assert walk.matcher.allowed_token_ids().tolist() == sorted(walk.expected())
                    choices = walk.texts()
                    if not choices:
                        break
                    walk.accept(chooser.choice(choices))

        run_threads(work, 6)


def test_batches_run_in_two_threads(vocabulary, documents, expected):
    compiled = fm.CompiledGrammar(fm.Grammar.json(), vocabulary, SMALL_CACHE)

    def work(number: int) -> None:
        order = random.Random(number).sample(range(len(documents)), 16)
        matchers = [fm.GrammarMatcher(compiled) for _ in order]
        bitmask = fm.allocate_token_bitmask(len(order), vocabulary.size)
        for step in range(60):
            fm.fill_next_token_bitmasks(matchers, bitmask)
            tokens = []
            for row, document in enumerate(order):
                place = step % len(documents[document])
                assert (bitmask[row] == expected[document][place]).all()
                tokens.append(documents[document][place])
            assert fm.accept_tokens(matchers, tokens).all()
            for matcher, document in zip(matchers, order, strict=True):
                if (step + 1) % len(documents[document]) == 0:
                    matcher.reset()

    run_threads(work, 2)


def test_a_compiler_compiles_the_same_grammar_once_for_all_threads(vocabulary):
    compiler = fm.GrammarCompiler(vocabulary)
    found: list[set[int]] = [set() for _ in range(8)]
    compiled = []

    def work(number: int) -> None:
        for i in range(20):
            one = compiler.compile_gbnf(f'root ::= "{i % 5}" root | "x"')
            compiled.append(one)
            found[number].add(id(one))

    run_threads(work, 8)
    assert set.union(*found) == found[0]
    assert len(found[0]) == 5


def test_a_compiler_too_small_for_two_grammars_drops_one_and_stays_right(vocabulary):
    compiler = fm.GrammarCompiler(vocabulary, cache_limit_bytes=SMALL_CACHE)

    def work(number: int) -> None:
        for i in range(30):
            letter = "abcdefgh"[(i * (number + 1)) % 8]
            matcher = fm.GrammarMatcher(compiler.compile_gbnf(f'root ::= "{letter}" root | "x"'))
            allowed = {vocabulary.tokens[t] for t in matcher.allowed_token_ids().tolist()}
            assert {letter.encode(), b"x"} <= allowed
            assert all(set(token) <= {ord(letter), ord("x")} for token in allowed)

    run_threads(work, 8)


# --- processes


def in_child(work: Callable[[], bool]) -> bool:
    """Run ``work`` in a forked process that has a minute; its answer."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if work() else 1
        finally:
            os._exit(status)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_after_a_fork_of_the_process_both_sides_go_on(vocabulary, documents, expected):
    compiled = fm.CompiledGrammar(fm.Grammar.json(), vocabulary, SMALL_CACHE)
    matcher = fm.GrammarMatcher(compiled)
    tokens, rows = documents[0], expected[0]
    middle = len(tokens) // 2
    assert matcher.accept_tokens(tokens[:middle]) == middle

    def go_on() -> bool:
        for i in range(middle, len(tokens)):
            if not (matcher.next_token_bitmask() == rows[i]).all():
                return False
            if not matcher.accept_token(tokens[i]):
                return False
        matcher.rollback(len(tokens) - middle)
        return fm.CompiledGrammar(fm.Grammar.from_gbnf('root ::= "a"'), vocabulary) is not None

    assert in_child(go_on)
    assert go_on()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_fork_of_the_process_while_other_threads_are_at_work(vocabulary, documents, expected):
    """The child has the forking thread alone, and no lock that another thread held."""
    compiled = fm.CompiledGrammar(fm.Grammar.json(), vocabulary, SMALL_CACHE)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            for tokens in documents:
                matcher = fm.GrammarMatcher(compiled)
                for token in tokens:
                    matcher.is_completed()
                    matcher.next_token_bitmask()
                    matcher.accept_token(token)

    def go_on() -> bool:
        matcher = fm.GrammarMatcher(compiled)
        for row, token in zip(expected[0], documents[0], strict=True):
            if not (matcher.next_token_bitmask() == row).all() or not matcher.accept_token(token):
                return False
        return True

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert in_child(go_on)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
