"""String items that must differ, read inside the frame of their array.

Out of a list of strings each may come once: the list is one trie whose ends are steps of the frame,
which kernels take, so that nothing is made anew for an item. Of all strings, those that came are a
trie that ends in nothing, and every other one falls out of it into the string body; an item more is
one path more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernels import layout
from . import spelling
from .constants import STRING, Key
from .key_tries import insert_keys
from .left_out import StringTries
from .values import Value

if TYPE_CHECKING:
    from .automaton import SchemaAutomaton

__all__ = ["FreshStrings", "ListedStrings"]

_MOST_LISTED = 1 << 15
_NO_STRINGS = {"type": ["null", "boolean", "number", "array", "object"]}


class ListedStrings:
    """The strings of a list, of which each may come once.

    Attributes
    ----------
    number : int
        How many there are.
    root : int
        The state behind the opening quote.
    """

    def __init__(
        self, automaton: SchemaAutomaton, spelled: dict[str, list[bytes]], back: int
    ) -> None:
        tables = automaton.tables
        self._registers = registers = tables.registers
        self.number = len(spelled)
        self._in_sets = self.number > layout.KEYS_OF_WORD
        bits = {text: 1 << place for place, text in enumerate(spelled)}
        symbols, codes = tables.new_steps(self.number)
        for text, symbol in zip(spelled, symbols, strict=True):
            registers.define(symbol, layout.KEY, bits[text], back, self._in_sets)
        text_of = dict(zip(codes, spelled, strict=True))
        keys = sorted((way, code) for code, text in text_of.items() for way in spelled[text])
        self.root, places = insert_keys(tables, keys, 0)
        for symbol, (texts, state) in automaton.shared.guarded(
            keys, self.root, places, text_of
        ).items():
            below = sum(bits[text] for text in texts)
            registers.define(symbol, layout.GUARD, below, state, self._in_sets)

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
    def of(cls, automaton: SchemaAutomaton, value: Value, back: int) -> ListedStrings | None:
        """Those of a formula; None if it has other values, or ones of too many spellings.

        ``back`` is the state behind a string.
        """
        if value.types != 1 << STRING:
            return None
        formulas = automaton.formulas
        spelled: dict[str, list[bytes]] = {}
        for conjunction in formulas.conjunctions(value, STRING):
            if conjunction.allowed is None or len(conjunction.allowed) > _MOST_LISTED:
                return None
            for text in sorted(conjunction.allowed):
                if formulas.holds(value, text):
                    ways = spelling.few_spellings(text, automaton.policy)
                    if ways is None:
                        return None
                    ways = list(filter(automaton.alphabet.spells, ways))
                    if ways:
                        spelled[text] = ways
        return cls(automaton, spelled, back) if spelled else None


class FreshStrings:
    """All strings but those that came, by the set of those."""

    def __init__(self, automaton: SchemaAutomaton, back: int) -> None:
        self._automaton = automaton
        self._tries = StringTries(automaton.shared, spelling.any_key(automaton.policy), back)
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
        """The few strings that are not in a formula; None where it asks more of strings."""
        formulas = self._automaton.formulas
        conjunctions = formulas.conjunctions(value, STRING) if value.types >> STRING & 1 else ()
        if len(conjunctions) != 1:
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
