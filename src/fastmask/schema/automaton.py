"""From formulas to states: the pushdown automaton of a schema, made while texts reach it.

A value is one call. Its first state knows every type the formula admits: scalars are automata laid
out behind it, objects and arrays are frames whose register stands for what has been seen (see
``objects.py`` and ``arrays.py``). The disjuncts of a formula are alternatives taken at once: the
stack keeps them apart until a text tells which are meant. Whatever stands behind a key or a bracket
is a deferred state: it is made when a text or a mask first asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..automata import Dfa
from ..kernels import layout
from . import spelling
from .alphabet import SpelledEmptiness
from .constants import ARRAY, BOOLEAN, NULL, NUMBER, OBJECT, STRING, TRUE_KEY, Constant, Key
from .endless import MANY_CHARACTERS, Endlessness, endless_beginnings
from .forms import Forms
from .json_text import read_json
from .key_tries import insert_keys
from .left_out import can_be_left_out
from .lists import LongList
from .objects import ObjectRule, names_left_out
from .policy import Policy
from .scalars import Strings
from .shared_states import SharedStates
from .values import Value
from .variants import VariantsRule, fit_together

if TYPE_CHECKING:
    from ..tables import Tables
    from .formulas import Formulas

__all__ = ["MOST_DIFFERENT", "SchemaAutomaton", "finite"]

_MOST_BEGUN = 8  # characters of an item in the token that ends the one before
_MOST_SHARED = 256  # states of strings that those with exceptions share
#: Values of which an array may have each once, at the most.
MOST_DIFFERENT = 64


class SchemaAutomaton:
    """The states of one schema in one `Tables`.

    Parameters
    ----------
    tables : Tables
    formulas : Formulas
    policy : Policy
    """

    def __init__(
        self,
        tables: Tables,
        formulas: Formulas,
        policy: Policy,
    ) -> None:
        self.shared = SharedStates.of(tables, policy)
        self.tables = tables
        self.formulas = formulas
        self.policy = policy
        self.alphabet = self.shared.alphabet
        self.end = self.shared.end
        self.emptiness = formulas.emptiness
        if not self.alphabet.is_whole:
            self.emptiness = SpelledEmptiness(formulas, policy, self.alphabet)
        self._endless = Endlessness(formulas, self.emptiness)
        self._forms = Forms(formulas, self.shared.forms)
        self._values: dict[tuple[int, int], int] = {}
        self._kept: list[Value] = []  # ids above are those of living formulas
        self._rules: dict[tuple[Any, ...], Any] = {}
        self._read: dict[int, Key] = {}

    def is_empty(self, question: Any) -> bool:
        """Whether nothing is in a value formula, or in a conjunction."""
        return not self.emptiness.holds_something(question)

    def is_endless(self, value: Value) -> bool:
        """Whether endlessly many values are in a formula, as far as that is plain."""
        return self.alphabet.has_ascii and self._endless.holds(value)

    def number_of_values(self, value: Value) -> int:
        """How many values a formula plainly holds at the least."""
        number = 0
        for type_ in range(6):
            if value.types >> type_ & 1:
                for c in self.emptiness.conjunctions(value, type_):
                    number = max(number, self._endless.number_of(c))
        return number if self.alphabet.has_ascii else 0

    def spells_key(self, name: str) -> bool:
        """Whether the vocabulary has the bytes of some spelling of a key."""
        return self.emptiness.spells_key(name)

    def spelled_keys(self, keys: Dfa) -> Dfa:
        """Those of some keys of which it has them; a few of which it does not may be left."""
        return self.emptiness.spelled_keys(keys)

    # --- values ----------------------------------------------------------------------------------

    def write_root(self, state: int) -> None:
        """Write the first state of the whole text."""
        if not self.policy.surrounding_whitespace:
            self._write_value(state, self.formulas.root, 0)
            return
        behind = self.tables.new_states(1)
        self.tables.row(behind)[:] = layout.RETURN
        call = self.call(self.formulas.root, 0, self.shared.spaced(behind))
        inner = self.tables.new_states(1)
        self.shared.write_item_bytes(inner, call)
        self.tables.row(state)[:] = self.tables.row(self.shared.spaced(inner))

    def value(self, value: Value, depth: int) -> int:
        """The first state of a value, at a depth of containers."""
        key = (id(value), depth if self.policy.indent is not None else 0)
        state = self._values.get(key)
        if state is None:
            form = self._forms.of(value, is_large=False)
            known = self.shared.values.get((form, key[1])) if form else None
            state = self._values[key] = known or self._deferred(value, depth)
            self._kept.append(value)
            if form:
                self.shared.values[form, key[1]] = state
        return state

    def _deferred(self, value: Value, depth: int) -> int:
        state = self.tables.new_states(1)
        self.tables.defer(state, lambda s: self._write_or_copy(s, value, depth))
        return state

    def _write_or_copy(self, state: int, value: Value, depth: int) -> None:
        """Write the first state of a value, or copy one that means the same in another schema."""
        form = self._forms.of(value, is_large=True)
        key = (form, depth if self.policy.indent is not None else 0)
        known = self.shared.written.get(key) if form else None
        if known:
            self.tables.row(state)[:] = self.tables.row(known)
            return
        self._write_value(state, value, depth)
        if form:
            self.shared.written[key] = state

    def call(self, value: Value, depth: int, back: int) -> int:
        """The action of calling a value and coming back to ``back``."""
        return self.shared.call(self.value(value, depth), back)

    def _write_value(self, state: int, value: Value, depth: int) -> None:
        tables = self.tables
        row = tables.blank_row()
        opening: dict[int, list[int]] = {}
        conjunctions_of, types = self.emptiness.conjunctions, value.types
        typed = {t: conjunctions_of(value, t) for t in range(6) if types >> t & 1}
        # Nothing empty is ever called, unless the root cannot be spelled.
        is_only_one = self.alphabet.is_whole and sum(map(len, typed.values())) == 1
        for type_, every in typed.items():
            conjunctions = [c for c in every if is_only_one or not self.is_empty(c)]
            if not conjunctions:
                continue
            if type_ == NULL:
                row[ord("n")] = self.shared.word(b"ull")
            elif type_ == BOOLEAN:
                for key in conjunctions[0].allowed.union(*(c.allowed for c in conjunctions)):
                    word = b"true" if key == TRUE_KEY else b"false"
                    if self.alphabet.spells(word):
                        row[word[0]] = self.shared.word(word[1:])
            elif type_ == NUMBER:
                spellings = self.formulas.spellings
                first = self._scalar(
                    spelling.numbers_languages(conjunctions, self.policy, spellings)
                )
                if first:
                    np.copyto(row, tables.row(first), where=tables.row(first) > 0)
            elif type_ == STRING:
                row[ord('"')] = self._string(conjunctions)
            else:
                byte = b"[{"[type_ == OBJECT]
                if type_ == OBJECT:
                    in_order = self.policy.property_order == "schema"
                    variants, conjunctions = fit_together(conjunctions, in_order)
                    if variants:
                        variant_rule = self._variants(variants, depth)
                        opening.setdefault(byte, []).append(variant_rule.opening(frozenset()))
                for conjunction in conjunctions:
                    rule = self._rule(type_, conjunction, depth)
                    opening.setdefault(byte, []).append(rule.opening(conjunction.excluded))
        for byte, codes in opening.items():
            row[byte] = tables.choice(codes)
        tables.row(state)[:] = row

    def _rule(self, type_: int, conjunction: Any, depth: int) -> Any:
        level = depth if self.policy.indent is not None else 0
        *identity, left_out = conjunction.identity()
        more: Any = bool(left_out)
        if left_out and type_ == OBJECT:
            more = names_left_out(left_out)
        key = (type_, level, *identity, more)
        rule = self._rules.get(key)
        if rule is None:
            from .arrays import ArrayRule

            kind: Any = ObjectRule if type_ == OBJECT else ArrayRule
            rule = self._rules[key] = kind(self, conjunction, depth)
        return rule

    def unending(self, value: Value, depth: int) -> int:
        """The action on the first byte of values of which no end is read, at a depth of containers.

        Only those are there of which every beginning goes on in endlessly many ways, whatever few
        values are left out. 0 if there are none.
        """
        tables = self.tables
        row = tables.blank_row()
        if value.types >> STRING & 1:
            for c in self.formulas.conjunctions(value, STRING):
                beginning = self._string_beginning(c)
                if beginning is not None:
                    row[ord('"')] = self.shared.embed(beginning, layout.DEAD)
        if value.types >> NUMBER & 1:
            for c in self.formulas.conjunctions(value, NUMBER):
                if c.is_unbounded() and self.alphabet.spells_any(b"123456789"):
                    digits = tables.new_states(1)
                    tables.row(digits)[ord("0") : ord("9") + 1] = digits
                    first = tables.new_states(1)
                    tables.row(first)[ord("1") : ord("9") + 1] = digits
                    row[ord("1") : ord("9") + 1] = digits
                    row[ord("-")] = first
        for type_, byte in ((ARRAY, b"["), (OBJECT, b"{")):
            if value.types >> type_ & 1 and self.alphabet.has_ascii:
                every = self.emptiness.conjunctions(value, type_)
                if any(map(self._endless.of_conjunction, every)):
                    row[byte[0]] = self._beginning(type_, depth)
        if not row.any():
            return layout.DEAD
        state = tables.new_states(1)
        tables.row(state)[:] = row
        return tables.program(layout.JUMP, state)

    def _string_beginning(self, conjunction: Any) -> Dfa | None:
        """How strings of a conjunction may begin so that endlessly many of them go on."""
        longest = conjunction.longest
        if not (self.alphabet.has_ascii and self._endless.of_conjunction(conjunction)):
            if conjunction.allowed is not None or spelling.needs_counter(conjunction):
                return None
            texts = spelling.string_language(conjunction, self.formulas, self.policy)
            return endless_beginnings(self.alphabet.restricted(texts))
        if longest is None:
            return spelling.any_key(self.policy)
        begun = Strings()
        begun.longest = min(longest - MANY_CHARACTERS, _MOST_BEGUN)
        if begun.longest <= 0:
            return None
        return spelling.string_language(begun, self.formulas, self.policy)

    def _beginning(self, type_: int, depth: int) -> int:
        """The state behind the bracket of a container of which nothing is known to come.

        In an object that is the quote of a key, behind which nothing is read.
        """
        behind = self.tables.new_states(1)
        if type_ == ARRAY:
            return behind
        key = self.shared.chain(b'"', behind)
        line = self.shared.line(depth + 1)
        return self.shared.chain(line, key) if line else self.shared.gap(key, "")

    def key_of_text(self, symbol: int) -> Key:
        """The value that the text behind a symbol of `Tables.text_symbol` spells.

        Raises `BudgetError` for numbers of too many digits, and values nested too deeply.
        """
        key = self._read.get(symbol)
        if key is None:
            key = self.formulas.constants.key(read_json(self.tables.registers.texts[symbol]))
            self._read[symbol] = key
        return key

    def _variants(self, variants: list[Any], depth: int) -> VariantsRule:
        level = depth if self.policy.indent is not None else 0
        key = (OBJECT, level, tuple(c.identity() for c in variants))
        if key not in self._rules:
            self._rules[key] = VariantsRule(self, variants, depth)
        rule: VariantsRule = self._rules[key]
        return rule

    def ways_apart(
        self, value: Value, parts: Iterable[tuple[Constant, Key]]
    ) -> list[tuple[Value, frozenset[Constant]]]:
        """How a part of a container may keep it from being one of those left out.

        ``parts`` has what each of those has in its place. Each way is a formula for the part, and
        which of them the container may still become behind it.
        """
        equal: dict[Key, list[Constant]] = {}
        for left_out, part in parts:
            equal.setdefault(part, []).append(left_out)
        if not equal:
            return [(value, frozenset())]
        join, among = self.formulas.conjunction, self.formulas.among
        ways = [(join(value, among((part,))), frozenset(e)) for part, e in equal.items()]
        return [*ways, (self.formulas.exclude(value, equal), frozenset())]

    # --- scalars ---------------------------------------------------------------------------------

    def _string(self, conjunctions: list[Any]) -> int:
        """The action on the opening quote of strings."""
        if len(conjunctions) == 1 and conjunctions[0].excluded:
            root = self._strings_but(conjunctions[0])
            if root:
                return root
        if len(conjunctions) == 1:
            texts = spelling.short_list(conjunctions[0], self.formulas, self.policy)
            if texts is not None:
                return self._short_list(texts)
        codes = []
        languages = []
        for conjunction in conjunctions:
            texts = spelling.long_list(conjunction, self.formulas, self.policy)
            if texts:
                codes.append(self._long_list(conjunction, texts))
            elif spelling.needs_counter(conjunction):
                codes.append(self._counted(conjunction))
            else:
                languages.append(spelling.string_language(conjunction, self.formulas, self.policy))
        if languages:
            codes.append(self._scalar(languages))
        return self.tables.choice(codes)

    def _strings_but(self, conjunction: Any) -> int:
        """The state behind the opening quote of strings of which some are left out.

        0 where all of them are not a small automaton.
        """
        every = conjunction.with_all()
        if spelling.needs_counter(conjunction):
            if conjunction.passes or conjunction.fails or not self.alphabet.has_ascii:
                return 0
            tries = self.shared.counted_tries(*self._characters(every))
            return tries.root(conjunction.excluded)
        if not can_be_left_out(conjunction, self.policy):
            return 0
        language = spelling.string_language(every, self.formulas, self.policy)
        if language.n_states > _MOST_SHARED:
            return 0
        return self.shared.tries(language).root(conjunction.excluded)

    def _short_list(self, texts: list[bytes]) -> int:
        spelled = [(text, self.end) for text in sorted(texts) if self.alphabet.spells(text + b'"')]
        return insert_keys(self.tables, spelled, 0)[0] if spelled else layout.DEAD

    def _long_list(self, conjunction: Any, texts: list[bytes]) -> int:
        key = ("list", conjunction.identity())
        if key not in self._rules:
            spelled = [text for text in texts if self.alphabet.spells(text)]
            self._rules[key] = LongList(self.tables, spelled, self.end)
        return int(self._rules[key].start)

    def _scalar(self, languages: list[Dfa]) -> int:
        """The first state of the union of some languages; 0 if it is empty."""
        union = languages[0]
        for language in languages[1:]:
            union = union | language
        return self.shared.embed(union, self.end, is_whole=False)

    def _counted(self, conjunction: Any) -> int:
        """The action on the opening quote of strings whose characters are counted."""
        return self.shared.counted(*self._characters(conjunction))

    def _characters(self, conjunction: Any) -> tuple[Any, int, int | None]:
        """Strings whose characters are counted: those in any number, and the bounds of that."""
        return spelling.counted_strings(
            conjunction, self.formulas, self.policy, self.alphabet.restricted
        )


def finite(automaton: SchemaAutomaton, value: Value, limit: int) -> list[Any] | None:
    """All constants in a formula that can be spelled, or None if there are over ``limit``."""
    found: list[Any] = []
    for type_ in range(6):
        if not value.types >> type_ & 1:
            continue
        for conjunction in automaton.formulas.conjunctions(value, type_):
            allowed = getattr(conjunction, "allowed", None)
            if allowed is None:
                return None
            found += allowed
            if len(found) > limit:
                return None
    return [key for key in dict.fromkeys(found) if automaton.emptiness.spells(key)]
