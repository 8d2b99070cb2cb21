"""String formulas as automata: patterns, formats, lengths and sets over decoded strings as UTF-8.

Each pattern and format is compiled once per process. Questions that need no automaton (a single
pattern that surely matches something, lengths alone) are answered without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..automata import LAST_CODE_POINT, Dfa, Nfa, any_text
from ..errors import BudgetError, GrammarError
from ..grammar.regex import regex_dfa
from ..grammar.regex.ecma import EcmaParser
from .constants import STRING, can_be_spelled
from .formats import format_dfa
from .scalars import Strings
from .values import AMONG, Test, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = [
    "class_language",
    "encoded",
    "finite_pattern",
    "first_strings",
    "language",
    "matches",
    "pattern_error",
    "some_string",
    "surely_matches",
    "value_language",
]

_Named: TypeAlias = tuple[str, str]  # a pattern or format

_CHARACTERS = ((0, 0xD7FF), (0xE000, LAST_CODE_POINT))
_LENGTH_LIMIT = 5_000
_TEXT_LIMIT = 1_000_000
_LITERAL = r"(?:[A-Za-z0-9_ \-/:,@#%&=~!<>;\"'`]|\\[\\^$.*+?()\[\]{}|/])"
_FINITE = re.compile(rf"\^(?:\((?:\?:)?({_LITERAL}+(?:\|{_LITERAL}+)*)\)|({_LITERAL}+))\$")
_PLAIN = re.compile(
    r"\^?(?:(?:[A-Za-z0-9_ \-/:,@#%&=~!<>;\"'`.]|\\[dDsSwW.$^*+?()\[\]{}|/\\]"
    r"|\[\^?(?:A-Z|a-z|0-9|A-F|a-f|[A-Za-z0-9_ .:,@#%&=~!;\"'`/]|\\[dDsSwW.\-/])+-?\])"
    r"(?:[*+?]|\{\d{1,3},?\})?)*\$?"
)
_UNCERTAIN = re.compile(r"\(\?[^:]|\\[bB]|\[\^?\]|.\^|\$.|\[\^", re.DOTALL)


def finite_pattern(pattern: str) -> frozenset[str] | None:
    """The words of a pattern such as ``^word$`` or ``^(one|two)$``; None for any other."""
    if not pattern.startswith("^"):
        return None
    match = _FINITE.fullmatch(pattern)
    if match is None:
        return None
    words = re.split(r"(?<!\\)\|", match[1]) if match[1] else [match[2]]
    return frozenset(re.sub(r"\\(.)", r"\1", word) for word in words)


@lru_cache(maxsize=4_096)
def pattern_error(pattern: str) -> GrammarError | None:
    """Why a pattern cannot be read; None for one that can. Plain ones are not parsed for this."""
    if _PLAIN.fullmatch(pattern):
        return None
    try:
        EcmaParser(pattern).parse()
    except GrammarError as error:
        return error
    return None


def surely_matches(test: Test) -> bool:
    """Whether a pattern or format matches some string, told from its text alone."""
    if isinstance(test, Value):
        return False
    return test[0] == "format" or not _UNCERTAIN.search(test[1])


def encoded(text: str) -> bytes:
    """UTF-8; half a surrogate pair becomes bytes that are in no language."""
    return text.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=4_096)
def language_of(kind: str, name: str) -> Dfa:
    """The strings that a pattern (found anywhere in them) or a format describes."""
    return regex_dfa(name, dialect="ecma") if kind == "pattern" else format_dfa(name)


def matches(kind: str, name: str, text: str) -> bool:
    """Whether a string passes a pattern or format."""
    return language_of(kind, name).accepts(encoded(text))


@lru_cache(maxsize=256)
def _lengths(shortest: int, longest: int | None) -> Dfa:
    if max(shortest, longest or 0) > _LENGTH_LIMIT:
        raise BudgetError(
            "characters counted by an automaton", _LENGTH_LIMIT, "use a smaller bound of length"
        )
    nfa = Nfa()
    body = nfa.begin()
    end = nfa.char_set(body[0], _CHARACTERS)
    nfa.accept(nfa.repeat(0, body, end, shortest, longest))
    return nfa.determinise()


def language(formulas: Formulas, conjunction: Strings) -> Dfa:
    """The strings of a conjunction."""
    if conjunction.allowed is not None:
        return _constants(_candidates(formulas, conjunction))
    dfa = _tested(conjunction.passes, conjunction.fails)
    if conjunction.shortest > 0 or conjunction.longest is not None:
        dfa = dfa.intersection(_lengths(conjunction.shortest, conjunction.longest))
    if conjunction.excluded:
        dfa = dfa.difference(_constants(conjunction.excluded))
    return dfa


def _constants(texts: Iterable[str]) -> Dfa:
    return Dfa.from_strings(sorted(map(encoded, texts)))


def value_language(formulas: Formulas, value: Value) -> Dfa:
    """The strings of a value formula."""
    if value.kind == AMONG:
        texts = formulas.split(value.constants)[STRING]
        return _constants(str(text) for text in texts)
    dfa = Dfa.nothing()
    for conjunction in formulas.conjunctions(value, STRING):
        dfa = dfa.union(language(formulas, conjunction))
    return dfa


def class_language(formulas: Formulas, test: Test) -> Dfa:
    """The keys that pass a test."""
    return value_language(formulas, test) if isinstance(test, Value) else language_of(*test)


@lru_cache(maxsize=128)
def _tested(passes: tuple[_Named, ...], fails: tuple[_Named, ...]) -> Dfa:
    """The strings that pass some patterns and formats, and fail others."""
    dfa = language_of(*passes[0]) if passes else any_text()
    for test in passes[1:]:
        dfa = dfa.intersection(language_of(*test))
    for test in fails:
        dfa = dfa.difference(language_of(*test))
    return dfa


def _candidates(formulas: Formulas, conjunction: Strings) -> list[str]:
    return sorted(
        text
        for text in conjunction.allowed or ()
        if can_be_spelled(text)
        and all(formulas.passes(test, text) for test in conjunction.passes)
        and not any(formulas.passes(test, text) for test in conjunction.fails)
    )


def some_string(formulas: Formulas, conjunction: Strings) -> str | None:
    """A string of a conjunction, or None if there is none."""
    if conjunction.allowed is None and (conjunction.passes or conjunction.fails):
        dfa = _tested(conjunction.passes, conjunction.fails)
        if conjunction.excluded:
            dfa = dfa.difference(_constants(conjunction.excluded))
        return _string_of_length(dfa, conjunction.shortest, conjunction.longest)
    return next(iter(first_strings(formulas, conjunction, 1)), None)


def has_string(formulas: Formulas, conjunction: Strings) -> bool:
    """Whether a conjunction has a string at all."""
    if conjunction.allowed is not None:
        if not conjunction.passes and not conjunction.fails:
            return any(map(can_be_spelled, conjunction.allowed))
        return bool(_candidates(formulas, conjunction))
    if not conjunction.passes and not conjunction.fails:
        return True  # some character remains, whatever is excluded
    free = conjunction.shortest == 0 and conjunction.longest is None
    only_test = free and not conjunction.fails and not conjunction.excluded
    if only_test and len(conjunction.passes) == 1 and surely_matches(conjunction.passes[0]):
        return True
    if _has_short_string(formulas, conjunction):
        return True
    dfa = _tested(conjunction.passes, conjunction.fails)
    if dfa.is_empty:
        return False
    if conjunction.excluded:
        return not language(formulas, conjunction).is_empty
    return free or _has_length(dfa, conjunction.shortest, conjunction.longest)


def _has_short_string(formulas: Formulas, conjunction: Strings) -> bool:
    """Whether the shortest string of one of the tests is in a conjunction."""
    for test in conjunction.passes:
        text = _shortest(*test)
        if (
            text is not None
            and conjunction._fits(text)
            and all(formulas.passes(other, text) for other in conjunction.passes)
            and not any(formulas.passes(other, text) for other in conjunction.fails)
        ):
            return True
    return False


@lru_cache(maxsize=4_096)
def _shortest(kind: str, name: str) -> str | None:
    text = language_of(kind, name).shortest()
    return None if text is None else text.decode()


def _has_length(dfa: Dfa, shortest: int, longest: int | None) -> bool:
    """Whether some accepted text has so many characters: sets of states, one character a step."""
    text = dfa.shortest()
    if text is None:
        return False
    least = len(text.decode())
    if least >= shortest and (longest is None or least <= longest):
        return True
    graph = _Characters(dfa)
    seen: dict[int, int] = {}
    reached = 1 << dfa.start
    length = 0
    while reached and (longest is None or length <= longest):
        if reached in seen:
            if seen[reached] >= shortest:
                return False  # every set of the cycle was looked at
            period = length - seen[reached]
            length += max(0, (shortest - length) // period) * period
            seen.clear()
        if length >= shortest and reached & graph.accepting:
            return True
        seen[reached] = length
        reached = graph.after(reached)
        length += 1
    return False


def _string_of_length(dfa: Dfa, shortest: int, longest: int | None) -> str | None:
    """An accepted text of so many characters: the sets of states forwards, then a way back."""
    if not _has_length(dfa, shortest, longest):
        return None
    graph = _Characters(dfa)
    levels = [1 << dfa.start]
    while len(levels) <= shortest or not levels[-1] & graph.accepting:
        if len(levels) > _TEXT_LIMIT:
            raise BudgetError("characters of one string", _TEXT_LIMIT, "lower minLength")
        levels.append(graph.after(levels[-1]))
    target = _lowest(levels.pop() & graph.accepting)
    characters = []
    while levels:
        target, character = graph.before(levels.pop(), target)
        characters.append(character)
    return "".join(map(chr, reversed(characters)))


class _Characters:
    """An automaton as a graph whose steps are whole characters; sets of states are integers."""

    def __init__(self, dfa: Dfa) -> None:
        self._dfa = dfa
        self._moves: dict[int, dict[int, int]] = {}
        self._after: dict[int, int] = {}
        self.accepting = sum(1 << state for state in np.flatnonzero(dfa.labels).tolist())

    def after(self, states: int) -> int:
        """The states one character behind some states."""
        following = 0
        while states:
            state = _lowest(states)
            states &= states - 1
            known = self._after.get(state)
            if known is None:
                known = self._after[state] = sum(1 << to for to in self._targets(state))
            following |= known
        return following

    def before(self, states: int, target: int) -> tuple[int, int]:
        """One of the states from which a character leads to ``target``, and that character."""
        while True:
            state = _lowest(states)
            character = self._targets(state).get(target)
            if character is not None:
                return state, character
            states &= states - 1

    def _targets(self, state: int) -> dict[int, int]:
        known = self._moves.get(state)
        if known is None:
            moves = self._dfa.char_ranges_by_target(state)
            known = self._moves[state] = {to: ranges[0][0] for to, ranges in moves}
        return known


def _lowest(states: int) -> int:
    return (states & -states).bit_length() - 1


def first_strings(formulas: Formulas, conjunction: Strings, limit: int) -> Iterator[str]:
    """Up to ``limit`` strings of a conjunction, short ones first."""
    if conjunction.allowed is not None:
        yield from _candidates(formulas, conjunction)[:limit]
    elif not conjunction.passes and not conjunction.fails:
        yield from _plain_strings(conjunction, limit)
    else:
        for text in texts_of(language(formulas, conjunction), limit):
            yield text.decode()


def _plain_strings(conjunction: Strings, limit: int) -> Iterator[str]:
    """Strings that only lengths and exclusions bind."""
    if conjunction.shortest == 0 and "" not in conjunction.excluded and limit > 0:
        limit -= 1
        yield ""
    stem = "a" * max(conjunction.shortest - 1, 0)
    for code in chain(range(0x61, 0x7B), range(0x4E00, 0xD800), range(0x10000, 0x110000)):
        if limit <= 0 or conjunction.longest == 0:
            return
        text = stem + chr(code)
        if text not in conjunction.excluded:
            limit -= 1
            yield text


def texts_of(dfa: Dfa, limit: int) -> list[bytes]:
    """Up to ``limit`` accepted texts, found level by level.

    Every state can still finish, and prefixes of one length that differ finish differently: so as
    soon as there are enough prefixes, each is finished in its shortest way.
    """
    if dfa.is_empty or limit <= 0:
        return []
    labels = dfa.labels
    found: list[bytes] = []
    level = [(b"", dfa.start)]
    while level and len(found) < limit:
        found.extend(text for text, state in level if labels[state])
        below: list[tuple[bytes, int]] = []
        for text, state in level:
            for low, high, target in dfa.byte_ranges(state):
                room = limit - len(below)
                below.extend(
                    (text + bytes((byte,)), target)
                    for byte in range(low, min(high + 1, low + max(room, 0)))
                )
        if len(found) + len(below) >= limit > len(found):
            room = limit - len(found)
            found.extend(text + _finish(dfa, state) for text, state in below[:room])
            break
        level = below
    return found[:limit]


def _finish(dfa: Dfa, state: int) -> bytes:
    return dfa.from_state(state).shortest() or b""
