"""Strings of a language but some, as tries of those that fall out into the language's automaton.

The automaton is laid out once, and its rows with it: a set of strings left out more is a trie of
states that are nearly its own, so that their rows are cut from its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..automata import Dfa
from ..kernels import layout
from . import spelling
from .constants import Key
from .key_tries import KeyBody, copy_state, falling_state, insert_keys, key_body, prune_keys
from .strings import encoded

if TYPE_CHECKING:
    from .policy import Policy
    from .scalars import Strings
    from .shared_states import SharedStates

__all__ = ["StringTries", "can_be_left_out"]

_BODY_RANK = (1 << 24) + 2
_FEW_WAYS = 4


def can_be_left_out(strings: Strings, policy: Policy) -> bool:
    """Whether `StringTries` does for all of a conjunction's strings and those left out.

    A string of many spellings may not be the only way on from some place.
    """
    is_plain = not strings.passes and not strings.fails and strings.longest is None
    return is_plain or all(_listed(text, policy) for text in strings.excluded)


def _listed(text: str, policy: Policy) -> list[bytes]:
    """The spellings of a string; none if they are not few."""
    ways = spelling.few_spellings(text, policy) or []
    return ways if len(ways) <= _FEW_WAYS else []


class StringTries:
    """The strings of a language but some, by the set of those.

    Parameters
    ----------
    shared : SharedStates
    language : Dfa
        What may follow the opening quote, closing quote included.
    back : int
        The state behind a string.
    """

    def __init__(self, shared: SharedStates, language: Dfa, back: int) -> None:
        self._shared = shared
        self._language = language
        self._back = back
        self._body: KeyBody | None = None
        self._tries: dict[frozenset[Key], int] = {}
        self._before: dict[frozenset[Key], frozenset[Key]] = {}

    def follow(self, before: frozenset[Key], text: str) -> None:
        """Say that a set is another one and a string more."""
        self._before[before | {text}] = before

    def root(self, left_out: frozenset[Key]) -> int:
        """The state behind the opening quote where some strings are left out."""
        root = self._tries.get(left_out)
        if root is None:
            shared, accepts = self._shared, self._language.accepts
            before = self._before.get(left_out, frozenset())
            known = self._tries.get(before, 0)
            new = left_out - before if known else left_out
            keys, wide = [], []
            for text in sorted(map(str, new)):
                ways = _listed(text, shared.policy)
                if ways:
                    spelled = filter(shared.alphabet.spells, ways)
                    keys += [(way, layout.DEAD) for way in spelled if accepts(way + b'"')]
                else:
                    wide.append(text)
            if self._body is None:
                body = shared.string_body(self._language)
                self._body = key_body(shared.tables, *body, self._back, _BODY_RANK)
            root = known
            if keys or not known:
                root, places = insert_keys(shared.tables, sorted(keys), known, self._body)
                root = prune_keys(shared.tables, root, places)
            for text in wide:
                root = self._with(root, text, self._body)
            self._tries[left_out] = root
        return root

    def _with(self, root: int, text: str, body: KeyBody) -> int:
        """The trie ``root`` with a string of many spellings, which meet again at each character."""
        tables = self._shared.tables
        spelled = spelling.key_language(Dfa.literal(encoded(text)), self._shared.policy)
        dfa = self._shared.alphabet.restricted(spelled)
        if dfa.is_empty or not self._language.accepts(dfa.shortest() or b""):
            return root
        made: dict[tuple[int, int, int], int] = {}
        todo: list[tuple[int, int, int]] = []

        def state_of(place: tuple[int, int, int]) -> int:
            """The state of a place: of the automaton, of the old trie or 0, and of the body."""
            state = made.get(place)
            if state is None:
                _, old, inside = place
                state = copy_state(tables, old) if old else falling_state(tables, inside, body)
                made[place] = state
                todo.append(place)
            return state

        first = state_of((dfa.start, root, body.state))
        while todo:
            place = todo.pop()
            row = tables.row(made[place])
            at, _, inside = place
            for low, high, target in dfa.byte_ranges(at):
                for byte in range(low, high + 1):
                    if dfa.labels[target]:  # behind the closing quote
                        row[byte] = layout.DEAD
                        continue
                    below = max(0, int(row[byte]))
                    row[byte] = state_of((target, below, int(tables.row(inside)[byte])))
        return first
