"""The keys that may come next in an object, as tries of states.

Which keys those are is a set of named ones, some classes of others, and which others have come.
Where all others are one class every object is one trie: named keys end in a step, which knows
whether the key may still come, and what falls out of the trie is another key. If not, there is a
trie of the named keys and one of each class; a text takes all of them at once until it tells which
is meant. Keys of many spellings, as where a sign may be written in its escaped form, are automata
in place of tries. A trie is made from the one before it and shares all states but a few.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING

from .._arrays import I32
from ..automata import Dfa, any_text
from ..kernels import layout
from . import spelling
from .key_tries import copy_state, guard_keys, insert_keys, prune_keys
from .other_keys import OtherKeys
from .strings import encoded
from .tries import ShrinkingTrie

if TYPE_CHECKING:
    from .automaton import SchemaAutomaton

__all__ = ["NextKeys"]

_MOST_APART = 16  # classes that have an automaton each
_MOST_WAYS = 4  # to write a key in as many bytes, but for very few

#: A key spelled, and the action on the quote behind it.
_Key = tuple[bytes, int]


@cache
def _any_byte() -> Dfa:
    return Dfa.from_strings([bytes([byte]) for byte in range(256)])


class NextKeys:
    """The tries of one object's keys.

    Parameters
    ----------
    automaton : SchemaAutomaton
    codes : mapping of str to int
        The named keys, and the action on the quote behind each.
    others : OtherKeys
    forbidden : frozenset of str
        Keys that may never come.
    bits : mapping of str to int, optional
        The bits of the named keys in registers that kernels make; none where they make none.
    bits_tell : bool
        Whether bits alone tell which keys have come, which they do if all registers are such ones.

    Attributes
    ----------
    guards : dict
        Keys behind a branch of the trie of named keys and the state there, by the symbol of the
        step that takes it.
    """

    def __init__(
        self,
        automaton: SchemaAutomaton,
        codes: Mapping[str, int],
        others: OtherKeys,
        forbidden: frozenset[str] = frozenset(),
        bits: Mapping[str, int] | None = None,
        bits_tell: bool = False,
    ) -> None:
        self.guards: dict[int, tuple[tuple[str, ...], int]] = {}
        self._tables = automaton.tables
        self._shared = automaton.shared
        self._policy = automaton.policy
        self._codes = codes
        self._names = {code: name for name, code in codes.items()}
        self._others = others
        self._forbidden = forbidden
        self._bits = bits or {}
        self._bits_tell = bits_tell
        self._spellings: dict[str, list[bytes] | None] = {}
        self._shortest: dict[str, bytes] = {}
        self._wide_names = {name for name in (*codes, *forbidden) if self.spelled(name) is None}
        self._before: dict[frozenset[str], frozenset[str]] = {}
        self._tries: dict[tuple[frozenset[str], int], int] = {}
        self._shrinking: ShrinkingTrie | None = None
        self._wide: dict[tuple[str, ...], int] = {}
        self._class_tries: dict[tuple[frozenset[str], tuple[int, ...]], int] = {}
        self._starts: dict[int, int] = {}

    def follow(self, before: frozenset[str], unnamed: frozenset[str]) -> None:
        """Say that a set of other keys is another one and a key more."""
        self._before.setdefault(unnamed, before)

    def known(self, unnamed: frozenset[str]) -> frozenset[str]:
        """The keys that are not any other ones."""
        return unnamed | self._forbidden | self._codes.keys()

    # --- actions on the quote that begins a key --------------------------------------------------

    def all_keys(self, unnamed: frozenset[str], classes: tuple[int, ...]) -> int | None:
        """The first state of all keys, if every other key is of one class; else None.

        Parameters
        ----------
        unnamed : frozenset of str
            Other keys that have come.
        classes : tuple of int
            The classes of those that may come.
        """
        is_one = len(classes) == 1 and self._others.classes[classes[0]].language is None
        return self._trie(unnamed, classes[0]) if is_one and self.is_narrow(unnamed) else None

    def some_keys(
        self,
        unnamed: frozenset[str],
        classes: tuple[int, ...],
        barred: frozenset[str],
        barred_before: frozenset[str],
    ) -> int:
        """The action that begins all keys that may come; 0 (dead) if there are none.

        Parameters
        ----------
        unnamed, classes
            As for `all_keys`.
        barred : frozenset of str
            Named keys that may not come.
        barred_before : frozenset of str
            The same of an earlier question that has few less.
        """
        left_wide = self._wide_names - barred
        wide = tuple(name for name in self._codes if name in left_wide) if left_wide else ()
        actions = []
        if len(self._codes) > len(barred) + len(wide):
            actions.append(self._named_trie(barred, barred_before))
        if wide:
            actions.append(self._wide_keys(wide))
        if not self.is_narrow(unnamed):
            known = self.known(unnamed)
            actions += [self._class_automaton(number, known) for number in classes]
        elif len(classes) > _MOST_APART:
            actions.append(self._class_trie(unnamed, classes))
        else:
            actions += [self._class_trie(unnamed, (number,)) for number in classes]
        return self._tables.choice(actions)

    def _named_trie(self, barred: frozenset[str], barred_before: frozenset[str]) -> int:
        """The first state of the named keys that may come."""
        if self._bits or self._tables.has_used_half:
            return self._trie(frozenset(), -1)
        if self._shrinking is None:
            spelled = {name: self.spelled(name) or [] for name in self._codes}
            self._shrinking = ShrinkingTrie(self._tables, spelled, self._codes)
        return self._shrinking.without(barred, barred_before)

    def _trie(self, unnamed: frozenset[str], other: int) -> int:
        """The first state of all named keys; those seen or forbidden are no others either.

        ``other`` is the class of keys that are none of them, or -1.
        """
        state = self._tries.get((unnamed, other))
        if state is None:
            before = self._before.get(unnamed, frozenset())
            root = self._tries.get((before, other), 0) if unnamed else 0
            new: Collection[str] = unnamed - before
            keys: list[_Key] = []
            if not root:
                new = (unnamed | self._forbidden) if other >= 0 else ()
                for name, code in self._codes.items():
                    keys += [(text, code) for text in self.spelled(name) or ()]
            keys += [(text, layout.DEAD) for name in new for text in self.spelled(name) or ()]
            keys.sort()
            body = self._shared.objects.body(None, other) if other >= 0 else None
            state, places = insert_keys(self._tables, keys, root, body)
            if other < 0:
                self._guard(keys, state, places)
            self._tries[unnamed, other] = state
        return state

    def _guard(self, keys: list[_Key], root: int, places: I32) -> None:
        """Have branches of the trie of named keys taken only while a key behind may come."""
        in_sets = len(self._bits) > layout.KEYS_OF_WORD
        if self._bits_tell and not in_sets:
            bits = [self._bits[self._names[code]] for _, code in keys]
            guard_keys(self._tables, root, places, bits)
            return
        self.guards = self._shared.guarded(keys, root, places, self._names)
        if self._bits:
            for symbol, (names, then) in self.guards.items():
                below = sum(self._bits[name] for name in names)
                self._tables.registers.define(symbol, layout.GUARD, below, then, in_sets)

    def _class_trie(self, unnamed: frozenset[str], classes: tuple[int, ...]) -> int:
        """The first state of the keys of some classes, those known left out; 0 if none are left."""
        state = self._class_tries.get((unnamed, classes))
        if state is None:
            before = self._before.get(unnamed, frozenset())
            root = self._class_tries.get((before, classes), 0) if unnamed else 0
            language = self._others.language(classes)
            keys: list[_Key] = [
                (text, layout.DEAD)
                for name in (unnamed - before if root else self.known(unnamed))
                if language is None or language.accepts(encoded(name))
                for text in self.spelled(name) or ()
            ]
            keys.sort()
            objects = self._shared.objects
            if language is not None and len(classes) > 1:
                body = objects.joint_body(language)
            else:
                body = objects.body(language, classes[0])
            state, places = insert_keys(self._tables, keys, root, body)
            state = prune_keys(self._tables, state, places)
            self._class_tries[unnamed, classes] = state
        return state

    def _wide_keys(self, names: tuple[str, ...]) -> int:
        """The state that begins some keys of many spellings."""
        state = self._wide.get(names)
        if state is None:
            texts = sorted((encoded(name), number) for number, name in enumerate(names, 1))
            keys = Dfa.from_strings([text for text, _ in texts], [n for _, n in texts])
            spelled = spelling.key_language(keys, self._policy)
            codes = [self._codes[name] for name in names]
            state = self._shared.embed_ending(spelled, [layout.DEAD, *codes])
            self._wide[names] = state
        return state

    def _class_automaton(self, number: int, known: frozenset[str]) -> int:
        """The state that begins the keys of a class, those known left out."""
        left = self._class_without(number, known)
        inside = self._shared.embed(left, self._shared.objects.other_state(number))
        state = self._starts.get(inside)
        if state is None:
            # One of its own, since an escaped quote may lead to the automaton's.
            state = self._starts[inside] = copy_state(self._tables, inside) if inside else 0
        return state

    # --- spellings -------------------------------------------------------------------------------

    def spelled(self, name: str) -> list[bytes] | None:
        """The texts of a key, or None where they are too many to be listed."""
        if name not in self._spellings:
            texts = spelling.few_spellings(name, self._policy)
            if texts is not None:
                texts = list(filter(self._shared.alphabet.spells, texts))
            self._spellings[name] = texts
        return self._spellings[name]

    def is_narrow(self, unnamed: frozenset[str]) -> bool:
        """Whether the spellings of all keys that are known can be listed."""
        return not self._wide_names and all(map(self.spelled, unnamed))

    def shortest(self, name: str) -> bytes:
        """A key with its quotes, spelled as shortly as may be."""
        text = self._shortest.get(name)
        if text is None:
            language = spelling.key_language(Dfa.literal(encoded(name)), self._policy)
            text = self._shortest[name] = b'"' + (language.shortest() or b"")
        return text

    def shortest_other(self, number: int, known: frozenset[str]) -> bytes | None:
        """The shortest key of a class with its quotes, those known left out."""
        text = self._class_without(number, known).shortest()
        return None if text is None else b'"' + text

    def shortest_others(self, number: int, known: frozenset[str], limit: int) -> list[str]:
        """The shortest keys of a class, those known left out; fewer than ``limit`` if need be."""
        left = self._class_without(number, known)
        keys: dict[str, None] = {}
        length = Dfa.literal(b"")
        for _ in range(left.n_states):
            texts = (left & length).strings(_MOST_WAYS * limit)
            keys.update(dict.fromkeys(json.loads(b'"' + text) for text in texts))
            if len(keys) >= limit:
                break
            length = length.concatenation(_any_byte())
        return list(keys)[:limit]

    def _class_without(self, number: int, known: frozenset[str]) -> Dfa:
        """The texts of the keys of a class, closing quote included, those known left out."""
        language = self._others.classes[number].language
        if language is None:
            language = any_text()
        left = language - Dfa.from_strings(sorted(map(encoded, known)))
        return spelling.key_language(left, self._policy)
