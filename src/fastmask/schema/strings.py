"""String formulas as automata: patterns, formats, lengths and sets over decoded strings as UTF-8.

Each pattern and format is compiled once per process. Questions that need no automaton (a single
pattern that surely matches something, lengths alone) are answered without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from ..automata import LAST_CODE_POINT, Dfa, Nfa, any_text
from ..errors import BudgetError
from ..grammar.regex import regex_dfa
from .constants import STRING
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
    "some_string",
    "surely_matches",
    "value_language",
]

_CHARACTERS = ((0, 0xD7FF), (0xE000, LAST_CODE_POINT))
_LENGTH_LIMIT = 5_000
_LITERAL = r"(?:[A-Za-z0-9_ \-/:,@#%&=~!<>;\"'`]|\\[\\^$.*+?()\[\]{}|/])"
_FINITE = re.compile(rf"\^(?:\((?:\?:)?({_LITERAL}+(?:\|{_LITERAL}+)*)\)|({_LITERAL}+))\$")
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
        return Dfa.from_strings(sorted(map(encoded, _candidates(formulas, conjunction))))
    dfa = _tested(formulas, conjunction)
    if conjunction.shortest > 0 or conjunction.longest is not None:
        dfa = dfa.intersection(_lengths(conjunction.shortest, conjunction.longest))
    if conjunction.excluded:
        dfa = dfa.difference(Dfa.from_strings(sorted(map(encoded, conjunction.excluded))))
    return dfa


def value_language(formulas: Formulas, value: Value) -> Dfa:
    """The strings of a value formula."""
    if value.kind == AMONG:
        texts = formulas.split(value.constants)[STRING]
        return Dfa.from_strings(sorted(encoded(text) for text in texts if isinstance(text, str)))
    dfa = Dfa.nothing()
    for conjunction in formulas.conjunctions(value, STRING):
        dfa = dfa.union(language(formulas, conjunction))
    return dfa


def class_language(formulas: Formulas, test: Test) -> Dfa:
    """The keys that pass a test."""
    return value_language(formulas, test) if isinstance(test, Value) else language_of(*test)


def _tested(formulas: Formulas, conjunction: Strings) -> Dfa:
    dfa = any_text()
    for test in conjunction.passes:
        dfa = dfa.intersection(language_of(*test))
    for test in conjunction.fails:
        dfa = dfa.difference(language_of(*test))
    return dfa


def _candidates(formulas: Formulas, conjunction: Strings) -> list[str]:
    return sorted(
        text
        for text in conjunction.allowed or ()
        if all(formulas.passes(test, text) for test in conjunction.passes)
        and not any(formulas.passes(test, text) for test in conjunction.fails)
    )


def some_string(formulas: Formulas, conjunction: Strings) -> str | None:
    """A string of a conjunction, or None if there is none."""
    if conjunction.allowed is not None:
        return next(iter(_candidates(formulas, conjunction)), None)
    for text in first_strings(formulas, conjunction, 1):
        return text
    return None


def has_string(formulas: Formulas, conjunction: Strings) -> bool:
    """Whether a conjunction has a string at all."""
    if conjunction.allowed is not None:
        return bool(_candidates(formulas, conjunction))
    if not conjunction.passes and not conjunction.fails:
        return True  # some character remains, whatever is excluded
    free = conjunction.shortest == 0 and conjunction.longest is None
    only_test = free and not conjunction.fails and not conjunction.excluded
    if only_test and len(conjunction.passes) == 1 and surely_matches(conjunction.passes[0]):
        return True
    dfa = _tested(formulas, conjunction)
    if dfa.is_empty:
        return False
    if conjunction.excluded:
        return not language(formulas, conjunction).is_empty
    return free or _has_length(dfa, conjunction.shortest, conjunction.longest)


def _has_length(dfa: Dfa, shortest: int, longest: int | None) -> bool:
    """Whether some accepted text has so many characters: sets of states, one character a step."""
    steps: dict[int, int] = {}
    seen: dict[int, int] = {}
    reached = 1 << dfa.start
    accepting = sum(1 << state for state in range(dfa.n_states) if dfa.labels[state])
    length = 0
    while reached and (longest is None or length <= longest):
        if reached in seen:
            if seen[reached] >= shortest:
                return False  # every set of the cycle was looked at
            period = length - seen[reached]
            length += max(0, (shortest - length) // period) * period
            seen.clear()
        if length >= shortest and reached & accepting:
            return True
        seen[reached] = length
        following = 0
        while reached:
            state = (reached & -reached).bit_length() - 1
            reached &= reached - 1
            if state not in steps:
                steps[state] = sum(1 << to for to, _ in dfa.char_ranges_by_target(state))
            following |= steps[state]
        reached = following
        length += 1
    return False


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
    for code in (*range(0x61, 0x7B), *range(0x4E00, 0xD7FF), *range(0x10000, 0x10FFFF)):
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
