"""Vocabularies that lack bytes: what of a schema can be spelled with those there are.

Bytes that no token has are taken out of every automaton before it is laid out, and a value that
needs one is empty. Asked only of vocabularies that lack some byte of JSON texts. Not looked into
are the keys that ``minProperties`` asks for beyond the required ones, lengths next to what is
lacking, and what may still follow where the comma is: there a text may come to a place where no
token goes on.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..automata import Dfa, Nfa
from . import spelling
from .constants import ARRAY, NULL, NUMBER, OBJECT, STRING, TRUE_KEY, Key
from .emptiness import Emptiness, Plan
from .scalars import Strings
from .values import TRUE, Value

if TYPE_CHECKING:
    from .formulas import Formulas
    from .policy import Policy

__all__ = ["Alphabet", "SpelledEmptiness", "alphabet_without"]

_IN_TEXTS = frozenset((*b"\n", *range(0x20, 0x7F), *range(0x80, 0xC0), *range(0xC2, 0xF5)))


class Alphabet:
    """The bytes that some token has.

    Parameters
    ----------
    absent : bytes
        All others.
    """

    def __init__(self, absent: bytes) -> None:
        self._absent = frozenset(absent) & _IN_TEXTS
        #: Whether every byte that a JSON text needs is there.
        self.is_whole = not self._absent
        #: Whether those of characters of one byte are.
        self.has_ascii = min(self._absent, default=0x80) >= 0x80
        nfa = Nfa()
        state = nfa.state()
        nfa.accept(0)
        nfa.accept(state)
        for byte in sorted(set(range(256)) - self._absent):
            nfa.edge(0, byte, byte, state)
            nfa.edge(state, byte, byte, state)
        self._texts = nfa.determinise()

    def spells(self, text: bytes) -> bool:
        """Whether all bytes of a text are there."""
        return self.is_whole or self._absent.isdisjoint(text)

    def restricted(self, dfa: Dfa) -> Dfa:
        """The texts of an automaton that can be spelled, labels kept."""
        return dfa if self.is_whole else dfa & self._texts


@lru_cache(maxsize=16)
def alphabet_without(absent: bytes) -> Alphabet:
    """The alphabet of a vocabulary that lacks these bytes."""
    return Alphabet(absent)


class SpelledEmptiness(Emptiness):
    """Which formulas and conjunctions hold a value that can be spelled."""

    def __init__(self, formulas: Formulas, policy: Policy, alphabet: Alphabet) -> None:
        super().__init__(formulas)
        self._policy = policy
        self._alphabet = alphabet

    def surely_holds(self, question: Any) -> bool:
        """Only of the formula of all values nothing is asked."""
        return question is TRUE

    def _of_constants(self, value: Value) -> Plan | None:
        return None

    def _fill(self, conjunction: Any, can: Any) -> Plan | None:
        plan = super()._fill(conjunction, can)
        return plan if plan is not None and self._is_spelled(conjunction) else None

    def _is_spelled(self, conjunction: Any) -> bool:
        """Whether something of a conjunction is spelled, members apart."""
        type_, spells = conjunction.type, self._alphabet.spells
        if type_ == OBJECT:
            required = [name for name, (_, needed) in conjunction.keys.items() if needed]
            signs = b'{}":,'[: 2 + 2 * bool(required) + (len(required) > 1)]
            return spells(signs) and all(map(self.spells_key, required))
        if type_ == ARRAY:
            return spells(b"[],"[: 2 + (conjunction.shortest > 1)])
        if type_ == NUMBER:
            known = self._formulas.spellings
            return self._some(spelling.number_language(conjunction, self._policy, known))
        if type_ == STRING:
            texts = spelling.string_language(
                _without_bounds(conjunction), self._formulas, self._policy
            )
            return spells(b'"') and self._some(texts)
        if type_ == NULL:
            return spells(b"null")
        return any(spells(b"true" if key is TRUE_KEY else b"false") for key in conjunction.allowed)

    def spells_key(self, name: str) -> bool:
        """Whether a key can be spelled in some way."""
        texts = spelling.spellings_of(name, self._policy)
        if isinstance(texts, Dfa):
            return self._some(texts)
        return any(map(self._alphabet.spells, texts))

    def spells(self, key: Key) -> bool:
        """Whether the bytes of some spelling of a constant are there."""
        return self.holds_something(self._formulas.among((key,)))

    def spelled_keys(self, keys: Dfa) -> Dfa:
        """The keys of which no byte is absent; all of them where some can be escaped."""
        return keys if self._alphabet.spells(b"\\") else self._alphabet.restricted(keys)

    def _some(self, texts: Dfa) -> bool:
        return not self._alphabet.restricted(texts).is_empty


def _without_bounds(strings: Any) -> Any:
    if not spelling.needs_counter(strings):
        return strings
    free = Strings()
    free.passes, free.fails, free.excluded = strings.passes, strings.fails, strings.excluded
    return free
