"""Vocabularies that lack bytes: what of a schema can be spelled with those there are.

Bytes that no token has are taken out of every automaton before it is laid out, and a value that
needs one is empty. Where those are lacking that have to stand before an item or between two,
containers hold none, or one at the most. Asked only of vocabularies that lack some byte of JSON
texts. Not looked into are lengths next to what is lacking: there a text may come to a place where
no token goes on.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..automata import Dfa, Nfa
from . import spelling
from .constants import ARRAY, NULL, NUMBER, OBJECT, STRING, TRUE_KEY, Key
from .containers import Arrays, Objects
from .emptiness import Emptiness, Plan
from .json_text import read_json
from .scalars import Strings
from .strings import encoded, texts_of
from .values import TRUE, Value

if TYPE_CHECKING:
    from .formulas import Formulas
    from .policy import Policy

__all__ = ["Alphabet", "SpelledEmptiness", "alphabet_without"]

_IN_TEXTS = frozenset((*range(0x20, 0xC0), *range(0xC2, 0xF5)))
_MOST_TEXTS = 4_096


class Alphabet:
    """The bytes that some token has.

    Parameters
    ----------
    absent : bytes
        All others.
    layout : bytes
        Those of white space that has to stand somewhere.
    """

    def __init__(self, absent: bytes, layout: bytes) -> None:
        self._absent = _IN_TEXTS.union(layout).intersection(absent)
        #: Whether every byte that a JSON text needs is there.
        self.is_whole = not self._absent
        #: Whether those of characters of one byte are, DEL apart.
        self.has_ascii = min(self._absent, default=0x7F) >= 0x7F
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

    def spells_any(self, bytes_: bytes) -> bool:
        """Whether some of these bytes are there."""
        return not self._absent.issuperset(bytes_)

    def restricted(self, dfa: Dfa) -> Dfa:
        """The texts of an automaton that can be spelled, labels kept."""
        return dfa if self.is_whole else dfa & self._texts


@lru_cache(maxsize=16)
def alphabet_without(absent: bytes, layout: bytes) -> Alphabet:
    """The alphabet of a vocabulary that lacks these bytes, for texts of a layout."""
    return Alphabet(absent, layout)


class SpelledEmptiness(Emptiness):
    """Which formulas and conjunctions hold a value that can be spelled."""

    def __init__(self, formulas: Formulas, policy: Policy, alphabet: Alphabet) -> None:
        super().__init__(formulas)
        self._policy = policy
        self._alphabet = alphabet
        first, between, behind_key = policy.layout
        #: How many items containers can hold, where that is bounded; -1: no text is one.
        self._most: dict[int, int] = {}
        for type_, signs, item in ((ARRAY, b"[]", b""), (OBJECT, b"{}", b'""' + behind_key)):
            needed = (signs, signs + first + item, signs + first + item + between)
            spelled = sum(map(alphabet.spells, needed))
            if spelled < len(needed):
                self._most[type_] = spelled - 1
        self._bounded: dict[tuple[Value, int], tuple[Any, ...]] = {}

    def conjunctions(self, value: Value, type_: int) -> tuple[Any, ...]:
        """Alternatives; those of containers hold no more items than can be spelled."""
        every = super().conjunctions(value, type_)
        if type_ not in self._most:
            return every
        known = self._bounded.get((value, type_))
        if known is None:
            bound = Arrays() if type_ == ARRAY else Objects()
            bound.longest = self._most[type_]
            bounded = (conjunction.meet(bound, self._formulas) for conjunction in every)
            known = tuple(conjunction for conjunction in bounded if conjunction is not None)
            self._bounded[value, type_] = known
        return known

    def surely_holds(self, question: Any) -> bool:
        """Only of the formula of all values nothing is asked."""
        return question is TRUE

    def _of_constants(self, value: Value) -> Plan | None:
        return None

    def _fill(self, conjunction: Any, can: Any) -> Plan | None:
        plan = super()._fill(conjunction, can)
        if plan is None:
            return None
        if _is_listed(conjunction):
            keys = self.first(conjunction, 1)
            return (conjunction, keys[0]) if keys else None
        return plan if self._is_spelled(conjunction) else None

    def _is_spelled(self, conjunction: Any) -> bool:
        """Whether something of a conjunction is spelled, members and single texts apart."""
        type_, spells = conjunction.type, self._alphabet.spells
        if type_ >= ARRAY:
            return True
        if type_ == STRING:
            return not self._texts(conjunction).is_empty
        if type_ == NULL:
            return spells(b"null")
        return any(spells(b"true" if key is TRUE_KEY else b"false") for key in conjunction.allowed)

    def first(self, conjunction: Any, number: int) -> list[Key]:
        """Up to ``number`` different numbers or strings of a conjunction that can be spelled."""
        if not _is_listed(conjunction):
            return super().first(conjunction, number)
        key, quote = self._formulas.constants.key, b'"' * (conjunction.type == STRING)
        texts = self._texts(conjunction)
        limit = number
        while True:
            found = texts_of(texts, limit)
            keys = dict.fromkeys(key(read_json(quote + text)) for text in found)
            if len(keys) >= number or len(found) < limit or limit > _MOST_TEXTS:
                return list(keys)[:number]
            limit *= 4

    def _texts(self, conjunction: Any) -> Dfa:
        """The texts of numbers, or of strings behind the quote, that can be spelled.

        Lengths that are counted are not looked at.
        """
        if conjunction.type == NUMBER:
            known = self._formulas.spellings
            texts = spelling.number_language(conjunction, self._policy, known)
        else:
            free = _without_bounds(conjunction)
            texts = spelling.string_language(free, self._formulas, self._policy)
        return self._alphabet.restricted(texts)

    def spells_key(self, name: str) -> bool:
        """Whether a key can be spelled in some way."""
        texts = spelling.spellings_of(name, self._policy)
        if isinstance(texts, Dfa):
            return not self._alphabet.restricted(texts).is_empty
        return any(map(self._alphabet.spells, texts))

    def spells(self, key: Key) -> bool:
        """Whether the bytes of some spelling of a constant are there."""
        return self.holds_something(self._formulas.among((key,)))

    def spelled_keys(self, keys: Dfa) -> Dfa:
        """The keys that can be spelled; all of them where those are many and some are escaped."""
        if not self._alphabet.spells(b"\\"):
            return self._alphabet.restricted(keys)
        texts = self._alphabet.restricted(spelling.key_language(keys, self._policy))
        if texts.size_up_to(_MOST_TEXTS) == _MOST_TEXTS:
            return keys
        names = {read_json(b'"' + text) for text in texts.strings(_MOST_TEXTS)}
        return Dfa.from_strings(sorted(map(encoded, names)))


def _is_listed(conjunction: Any) -> bool:
    """Whether all that is in a conjunction are texts of one automaton."""
    if conjunction.type == STRING:
        return not spelling.needs_counter(conjunction)
    return bool(conjunction.type == NUMBER)


def _without_bounds(strings: Any) -> Any:
    if not spelling.needs_counter(strings):
        return strings
    free = Strings()
    free.passes, free.fails, free.excluded = strings.passes, strings.fails, strings.excluded
    return free
