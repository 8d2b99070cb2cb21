"""Items that must differ, read inside the frame of their array.

Out of a list of scalars each may come once: the list is one trie whose ends are steps of the frame,
which kernels take, so that nothing is made anew for an item. Of all strings, those that came are a
trie that ends in nothing, and every other one falls out of it into the string body; an item more is
one path more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels import layout
from . import spelling
from .constants import ARRAY, NULL, NULL_KEY, NUMBER, OBJECT, STRING, TRUE_KEY, Key
from .key_tries import insert_keys
from .left_out import StringTries
from .values import Value

if TYPE_CHECKING:
    from .automaton import SchemaAutomaton

__all__ = ["FreshStrings", "ListedItems"]

_MOST_LISTED = 1 << 15
_QUOTE = 0x22
_NO_STRINGS = {"type": ["null", "boolean", "number", "array", "object"]}


class ListedItems:
    """The strings, numbers and words of a list, of which each may come once.

    A string ends with its quote. Any other item ends with the byte behind it, which is read as it
    is behind the string: the step is taken, and then what that byte does.

    Attributes
    ----------
    number : int
        How many there are.
    action : int
        The action on the first byte of an item.
    """

    def __init__(
        self, automaton: SchemaAutomaton, spelled: dict[Key, list[bytes]], back: int
    ) -> None:
        self._tables = tables = automaton.tables
        self._registers = registers = tables.registers
        self.number = len(spelled)
        self._in_sets = self.number > layout.KEYS_OF_WORD
        self._back = back
        self._bits = {key: 1 << place for place, key in enumerate(spelled)}
        symbols, codes = tables.new_steps(self.number)
        for key, symbol in zip(spelled, symbols, strict=True):
            registers.define(symbol, layout.KEY, self._bits[key], back, self._in_sets)
        key_of = dict(zip(codes, spelled, strict=True))
        # What is no string has its action on a quote behind it till its ends are written.
        texts = sorted((way.removesuffix(b'"'), c) for c, k in key_of.items() for way in spelled[k])
        root, places = insert_keys(tables, texts, 0)
        guarded = automaton.shared.guarded(texts, root, places, key_of)
        for symbol, (keys, state) in guarded.items():
            below = sum(self._bits[key] for key in keys)
            registers.define(symbol, layout.GUARD, below, state, self._in_sets)
        self.action = tables.program(layout.JUMP, root)
        ends = tables.actions[root >> tables.shift : tables.n_states, _QUOTE]
        self._open = [
            ((root >> tables.shift) + at, key_of[code])
            for at, code in enumerate(ends.tolist())
            if code in key_of and not isinstance(key_of[code], str)
        ]

    def write_ends(self) -> None:
        """Have items that are no strings end, once what stands behind an item is written."""
        tables = self._tables
        behind = tables.row(self._back)
        actions = np.unique(behind[behind != layout.DEAD]).tolist()
        known: dict[Key, range] = {}
        for state, key in self._open:
            if key not in known:
                symbols, known[key] = tables.new_steps(len(actions))
                bit = self._bits[key]
                for symbol, action in zip(symbols, actions, strict=True):
                    self._registers.define(symbol, layout.KEY, bit, action, self._in_sets)
            row = tables.actions[state]
            row[_QUOTE] = layout.DEAD
            for action, code in zip(actions, known[key], strict=True):
                row[behind == action] = code

    def register(self, least: int, most: int, behind_comma: int) -> int:
        """The register before the first item, of an array of ``least`` to ``most`` items.

        Behind a comma the array is in the state ``behind_comma``.
        """
        registers = self._registers
        every, none, words = (1 << self.number) - 1, 0, 0
        if self._in_sets:
            words = -(-self.number // layout.KEYS_OF_WORD)
            every, none = registers.new_set(every, words), registers.new_set(none, words)
        comma = registers.new_comma()
        registers.define_comma(comma, behind_comma)
        rule = registers.new_rule(None, 0, every, least, most, words)
        return registers.object_register(rule, none, 2 * comma, 0)

    @classmethod
    def of(cls, automaton: SchemaAutomaton, value: Value, back: int) -> ListedItems | None:
        """Those of a formula; None if it has other values, or ones of too many spellings.

        ``back`` is the state behind an item.
        """
        if value.types & (1 << ARRAY | 1 << OBJECT):
            return None
        spelled: dict[Key, list[bytes]] = {}
        for type_ in range(6):
            for c in (
                automaton.formulas.conjunctions(value, type_) if value.types >> type_ & 1 else ()
            ):
                if type_ == NULL:
                    texts: Mapping[Key, Iterable[bytes] | None] = {NULL_KEY: [b"null"]}
                elif c.allowed is None or len(c.allowed) > _MOST_LISTED:
                    return None
                else:
                    allowed = sorted(c.allowed) if type_ == STRING else c.allowed
                    texts = {key: _ways(automaton, value, c, key) for key in allowed}
                for key, ways in texts.items():
                    if ways is None:
                        return None
                    known = spelled.setdefault(key, [])
                    known += (w for w in ways if w not in known and automaton.alphabet.spells(w))
        spelled = {key: ways for key, ways in spelled.items() if ways}
        return cls(automaton, spelled, back) if spelled else None


def _ways(
    automaton: SchemaAutomaton, value: Value, conjunction: Any, key: Key
) -> Iterable[bytes] | None:
    """The texts of a constant of a conjunction; None if they are too many."""
    formulas, policy = automaton.formulas, automaton.policy
    if conjunction.type == STRING:
        if not formulas.holds(value, key):
            return ()
        ways = spelling.few_spellings(str(key), policy)
        return None if ways is None else [b'"' + way + b'"' for way in ways]
    if conjunction.type == NUMBER:
        if policy.numbers != "plain":
            return None
        number: Any = key
        return spelling.constant_texts(conjunction, (number,), formulas.spellings)
    return [b"true" if key == TRUE_KEY else b"false"]


class FreshStrings:
    """All strings but those that came, by the set of those."""

    def __init__(self, automaton: SchemaAutomaton, back: int) -> None:
        self._automaton = automaton
        every = spelling.any_key(automaton.policy)
        self._tries = StringTries(automaton.shared, every, back)
        alphabet = automaton.alphabet
        self._is_endless = alphabet.has_ascii or not alphabet.restricted(every).is_finite
        documents = automaton.formulas.documents
        scope = (documents.root,) if documents.dynamic else ()
        #: Everything but strings.
        self.others = automaton.formulas.place(_NO_STRINGS, documents.root, scope)

    def follow(self, before: frozenset[Key], value: Key) -> None:
        """Say that a value came behind some others."""
        if isinstance(value, str):
            strings = frozenset(key for key in before if isinstance(key, str))
            self._tries.follow(strings, value)

    def left_out(self, value: Value) -> frozenset[Key] | None:
        """The few strings that are not in a formula.

        None where it asks more of strings, or there are not endlessly many.
        """
        formulas = self._automaton.formulas
        conjunctions = formulas.conjunctions(value, STRING) if value.types >> STRING & 1 else ()
        if len(conjunctions) != 1 or not self._is_endless:
            return None
        c = conjunctions[0]
        is_special = c.passes or c.fails or c.allowed is not None
        is_bounded = c.shortest or c.longest is not None
        return None if is_special or is_bounded else c.excluded

    def action(self, value: Value) -> int:
        """The action on the quote of the strings of a formula; DEAD where it asks more of them."""
        excluded = self.left_out(value)
        return self.without(excluded) if excluded else layout.DEAD

    def without(self, strings: frozenset[Key]) -> int:
        """The action on the quote of all strings but some."""
        tables = self._automaton.tables
        state = tables.new_states(1)
        tables.row(state)[0x22] = self._tries.root(strings)
        return tables.program(layout.JUMP, state)
