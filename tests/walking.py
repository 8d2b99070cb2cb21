"""Walks that keep a matcher and the judge in step and compare every way of asking for a mask."""

from __future__ import annotations

import functools
import heapq
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import fastmask as fm
from fastmask.grammar.core import Grammar
from fastmask.kernels import layout
from judge import Judge, Rules, State, random_vocabulary


def row_ids(row: np.ndarray) -> set[int]:
    """The ids of the bits that are set."""
    bits = np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


@functools.lru_cache(maxsize=4)
def _ids_by_bytes(vocabulary: fm.Vocabulary) -> dict[bytes, int]:
    return {vocabulary.tokens[i]: i for i in np.flatnonzero(vocabulary.is_text).tolist()}


def longest_tokens(data: bytes, vocabulary: fm.Vocabulary) -> list[int]:
    """A text as the longest tokens from the left."""
    known = _ids_by_bytes(vocabulary)
    tokens, position = [], 0
    while position < len(data):
        size = next(n for n in range(32, 0, -1) if data[position : position + n] in known)
        tokens.append(known[data[position : position + size]])
        position += len(data[position : position + size])
    return tokens


class Language:
    """A grammar over a small vocabulary, once for fastmask and once for the judge."""

    def __init__(
        self,
        rules: Rules,
        tokens: Sequence[bytes],
        ends: Sequence[int] = (),
        specials: Sequence[int] = (),
        size: int | None = None,
        cache_limit_bytes: int = 1 << 28,
    ) -> None:
        self.tokens = list(tokens)
        self.ends = tuple(ends)
        if not ends:
            self.ends = (len(self.tokens),)
            self.tokens.append(b"<end>")
        self.specials = tuple(specials)
        self.vocabulary = fm.Vocabulary(self.tokens, self.ends, self.specials, size)
        self.compiled = fm.CompiledGrammar(Grammar(rules), self.vocabulary, cache_limit_bytes)
        absent = set(self.vocabulary.absent_bytes)
        self.judge = Judge(rules, alphabet=set(range(256)) - absent)

    def walk(self, **options: Any) -> Walk:
        """A walk from the start; options as for `GrammarMatcher`."""
        return Walk(self, fm.GrammarMatcher(self.compiled, **options))

    def mask(self, state: State | None) -> set[int]:
        """The judge's mask."""
        return self.judge.mask(state, self.tokens, end_ids=self.ends, special_ids=self.specials)

    def after(self, state: State | None, token_id: int) -> State | None:
        """The judge's state after a token."""
        return self.judge.accept_token(
            state, token_id, self.tokens, end_ids=self.ends, special_ids=self.specials
        )


class Walk:
    """A matcher, and the judge's states after each of its steps."""

    def __init__(
        self, language: Language, matcher: fm.GrammarMatcher, states: Iterable[State | None] = ()
    ) -> None:
        self.language = language
        self.matcher = matcher
        self.states = list(states) or [language.judge.start()]
        self.stops: set[int] | None = None  # where they are not the vocabulary's end ids

    @property
    def state(self) -> State | None:
        """The judge's state."""
        return self.states[-1]

    def expected(self) -> set[int]:
        """The judge's mask here."""
        allowed = self.language.mask(self.state)
        if self.stops is not None:
            allowed -= self.stops.union(self.language.ends)
            if self.language.judge.accepts(self.state):
                allowed |= self.stops
        return allowed

    def check(self) -> set[int]:
        """Compare every way of asking; returns the mask."""
        expected, matcher = self.expected(), self.matcher
        size = self.language.vocabulary.size
        every = range(size)
        if expected:
            assert row_ids(matcher.next_token_bitmask()) == expected
            assert matcher.allowed_token_ids().tolist() == sorted(expected)
            bitmask = np.full((2, (size + 31) // 32), 0x55555555, np.int32)
            assert matcher.fill_next_token_bitmask(bitmask, 1) or len(expected) == size
            assert row_ids(bitmask[1]) == expected
            assert (bitmask[0] == 0x55555555).all()
            assert row_ids(matcher.next_token_bitmask()) == expected
        if self.stops is None:
            assert row_ids(matcher.naive_row()) == expected
        assert np.flatnonzero(matcher.filter_tokens(every)).tolist() == sorted(expected)
        assert matcher.is_completed() == self.language.judge.accepts(self.state)
        for token_id in every:
            assert matcher.is_token_allowed(token_id) == (token_id in expected)
            twin = matcher.fork()
            assert twin.accept_token(token_id) == (token_id in expected)
            if token_id in (self.stops if self.stops is not None else self.language.ends):
                assert twin.is_terminated() == (token_id in expected)
        return expected

    def accept(self, token_id: int) -> None:
        """Take an allowed token that does not end the text."""
        assert self.matcher.accept_token(token_id)
        self.states.append(self.language.after(self.state, token_id))

    def read(self, data: bytes) -> None:
        """Offer bytes to both, which agree on them."""
        state = self.language.judge.read(data, self.state)
        assert self.matcher.accept_bytes(data) == (state is not None)
        if state is not None:
            self.states.append(state)

    def rollback(self, n: int) -> None:
        """Take back steps."""
        self.matcher.rollback(n)
        del self.states[len(self.states) - n :]

    def fork(self) -> Walk:
        """A second walk from here."""
        twin = Walk(self.language, self.matcher.fork(), self.states)
        twin.stops = self.stops
        return twin

    def texts(self) -> list[int]:
        """The allowed tokens that do not end the text, ascending."""
        ends = self.stops if self.stops is not None else set(self.language.ends)
        return sorted(self.expected() - ends)


def random_language(rules: Rules, seed: int, alphabet: str = "abc", **options: Any) -> Language:
    """Rules over a random vocabulary with padding."""
    chooser = random.Random(seed)
    tokens = random_vocabulary(chooser, alphabet, chooser.randint(4, 20))
    return Language(rules, tokens, size=len(tokens) + 1 + chooser.randint(0, 40), **options)


def stack_depth(matcher: fm.GrammarMatcher) -> int:
    """Frames of the thread with the fewest."""
    cells = matcher._arena.record.bound(layout.A_CELLS).reshape(-1, layout.CELL)
    layer, depth = {int(matcher._words[layout.M_CONFIGURATION])}, 0
    while True:
        parents = {parent for cell in layer for parent in _parents(cells, cell)}
        if layout.NIL in parents:
            return depth
        layer, depth = parents, depth + 1


def _parents(cells: np.ndarray, cell: int) -> Iterator[int]:
    """What lies below each of a list of alternatives."""
    while cell != layout.NIL:
        yield int(cells[cell, layout.CELL_PARENT])
        cell = int(cells[cell, layout.CELL_NEXT])


def can_finish(matcher: fm.GrammarMatcher, budget: int = 5_000) -> bool:
    """Whether the masks lead to an end: a best-first search, by steps taken and frames open."""
    seen: set[int] = set()
    queue = [(0, 0, 0, matcher.fork())]
    while queue and len(seen) < budget:
        _, steps, _, current = heapq.heappop(queue)
        if current.is_completed():
            return True
        for token_id in current.allowed_token_ids().tolist():
            twin = current.fork()
            assert twin.accept_token(token_id)
            configuration = int(twin._words[layout.M_CONFIGURATION])
            if configuration not in seen:
                seen.add(configuration)
                rank = steps + 2 * stack_depth(twin)
                heapq.heappush(queue, (rank, steps + 1, len(seen), twin))
    return False


def run_threads(work: Callable[[int], None], n_threads: int) -> None:
    """Run ``work(number)`` in threads that start together; what one raises is raised here."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(n_threads)

    def guarded(number: int) -> None:
        try:
            barrier.wait()
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
