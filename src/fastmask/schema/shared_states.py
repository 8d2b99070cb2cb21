"""States that all schemas of one text policy share: white space, words, scalars, punctuation.

They say nothing of one schema, so whichever needs them first has them made, and all others in the
same tables find them: an automaton is laid out once, and its rows are made once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._arrays import I32, U8
from ..automata import Dfa
from ..embedding import Embedded
from ..kernels import layout
from . import spelling
from .alphabet import alphabet_without
from .constants import VALUE_BYTES
from .counted_tries import CountedTries
from .counting import count_characters
from .left_out import StringTries
from .object_states import CALL_RANK, ObjectStates
from .policy import Policy

if TYPE_CHECKING:
    from ..tables import Tables

__all__ = ["SharedStates"]

_VALUE_COLUMNS: U8 = np.frombuffer(bytearray(VALUE_BYTES), np.uint8)
_MOST_INDENT = 40
_MOST_SPACE = 64

_Name = TypeVar("_Name")


class SharedStates:
    """The states that schemas of one policy share in one `Tables`.

    Parameters
    ----------
    tables : Tables
    policy : Policy

    Attributes
    ----------
    end : int
        The state that leaves the frame whatever comes.
    objects : ObjectStates
    forms : dict
        Numbers of the forms of schemas (`Forms`).
    values, written : dict
        First states of values by their form, to be written or written already.
    """

    def __init__(self, tables: Tables, policy: Policy) -> None:
        self.tables = tables
        self.policy = policy
        self.alphabet = alphabet_without(tables.absent_bytes, b"".join(policy.layout))
        self.forms: dict[Any, int] = {}
        self.values: dict[Any, int] = {}
        self.written: dict[Any, int] = {}
        self._embedded: dict[tuple[Dfa, int], Embedded] = {}
        self._counted: dict[Any, int] = {}
        self._tries: dict[Dfa, StringTries] = {}
        self._counted_tries: dict[Any, CountedTries] = {}
        self._words: dict[bytes, int] = {}
        self._gaps: dict[str, int] = {}
        #: Whether white space may stand before values.
        self.spaces_values = policy.item_separator is None and policy.whitespace != "none"
        self.end = tables.new_states(1)
        tables.row(self.end)[:] = layout.RETURN
        tables.roots[self.end >> tables.shift] = layout.LEAVES
        self.objects = ObjectStates(self)

    @classmethod
    def of(cls, tables: Tables, policy: Policy) -> SharedStates:
        """Those of a policy in some tables, made with the first schema that needs them."""
        shared = tables.kept.get(policy.key)
        if shared is None:
            shared = tables.kept[policy.key] = cls(tables, policy)
        return shared

    def call(self, value: int, back: int) -> int:
        """The action of calling the states of a value and coming back to ``back``."""
        return self.tables.program(layout.PUSH, value, back, CALL_RANK)

    def write_item_bytes(self, state: int, code: int) -> None:
        """Give every byte that a value can begin with an action."""
        self.tables.row(state)[_VALUE_COLUMNS] = code

    def word(self, rest: bytes) -> int:
        """The state that has ``rest`` still to read."""
        state = self._words.get(rest)
        if state is None:
            state = self._words[rest] = self.chain(rest, self.end)
        return state

    def chain(self, data: bytes, end: int) -> int:
        """The first state of one that reads ``data`` and is then in ``end``."""
        for byte in reversed(data):
            state = self.tables.new_states(1)
            self.tables.row(state)[byte] = end
            end = state
        return end

    def embed(self, dfa: Dfa, end: int, is_whole: bool = True) -> int:
        """Lay out an automaton; where it accepts and cannot go on it does as ``end`` does.

        Returns its first state, 0 if it accepts nothing. An accepting state from which nothing more
        can be read is ``end`` itself. Unless ``is_whole`` states that are not near the first one
        are written when a text first reaches them.
        """
        dfa = self.alphabet.restricted(dfa)
        if dfa.is_empty:
            return 0
        if dfa.n_states == 2 and not dfa.table.any():
            return end
        key = (dfa, end)
        embedded = self._embedded.get(key)
        if embedded is None:
            is_shared = end == self.end
            embedded = self._embedded[key] = Embedded(self.tables, dfa, end, is_shared=is_shared)
            embedded.write(embedded.start)
        if is_whole:
            embedded.write_all()
        return embedded.start

    def guarded(
        self, keys: list[tuple[bytes, int]], root: int, places: I32, of_code: Mapping[int, _Name]
    ) -> dict[int, tuple[tuple[_Name, ...], int]]:
        """Have branches of a trie taken only by a step, which knows if a key behind may still come.

        ``keys``, ``root`` and ``places`` are those of `Tables.insert_keys`. Returns the keys behind
        a branch and its state, by the step's symbol.
        """
        tables = self.tables
        parents, bytes_, _, counts = places[1:].T
        branches = 1 + np.flatnonzero(counts < places[(parents - root) >> tables.shift, 3])
        symbols, codes = tables.new_steps(len(branches))
        at = branches - 1
        tables.actions[parents[at] >> tables.shift, bytes_[at]] = codes
        names = [of_code[code] for _, code in keys]
        guards: dict[int, tuple[tuple[_Name, ...], int]] = {}
        for symbol, branch, (first, count) in zip(
            symbols, branches.tolist(), places[branches, 2:].tolist(), strict=True
        ):
            below = tuple(dict.fromkeys(names[first : first + count]))
            guards[symbol] = (below, root + (branch << tables.shift))
        return guards

    def embed_ending(self, dfa: Dfa, codes: list[int]) -> int:
        """Lay out an automaton; the move into an accepting state is an action, by its label.

        Nothing may follow in it behind what it accepts. Returns its first state, 0 if it is empty.
        """
        return self.ending_body(dfa, codes)[0]

    def ending_body(self, dfa: Dfa, codes: list[int]) -> tuple[int, I32]:
        """The same; returns also all its states."""
        tables = self.tables
        dfa = self.alphabet.restricted(dfa)
        n = dfa.n_states
        base = tables.new_states(n - 1) >> tables.shift
        ids = (np.arange(n) + base - 1) << tables.shift
        ids[0] = 0
        ends = dfa.labels != 0
        ids[ends] = np.array(codes)[dfa.labels[ends]]
        actions = ids.astype(np.int32)[dfa.table[1:]]
        np.take(actions, dfa.classes, 1, tables.actions[base : base + n - 1, :256], "clip")
        return int(ids[dfa.start]), ids[1:].astype(np.int32)

    def counted(self, strings: Any, least: int, most: int | None) -> int:
        """The action on the opening quote of strings whose characters are counted."""
        key = (strings, least, most)
        action = self._counted.get(key)
        if action is None:
            action = count_characters(self.tables, strings, least, most, self.end)
            self._counted[key] = action
        return action

    def tries(self, language: Dfa) -> StringTries:
        """The strings of a language of which some are left out."""
        tries = self._tries.get(language)
        if tries is None:
            tries = self._tries[language] = StringTries(self, language, self.end)
        return tries

    def counted_tries(self, strings: Any, least: int, most: int | None) -> CountedTries:
        """Strings whose characters are counted, some left out."""
        key = (strings, least, most)
        tries = self._counted_tries.get(key)
        if tries is None:
            tries = self._counted_tries[key] = CountedTries(self, strings, least, most)
        return tries

    # --- white space -----------------------------------------------------------------------------

    def gap(self, inner: int, kind: str) -> int:
        """A state like ``inner`` before which white space may stand, as the policy has it.

        ``kind`` is "item" behind a comma, "key" behind a colon, else any other place.
        """
        policy = self.policy
        if not self.spaces_values:
            return inner
        if policy.whitespace == "single" and kind not in {"item", "key"}:
            return inner
        state = self.tables.new_states(1)
        self.write_gap(state, inner, kind)
        return state

    def write_gap(self, state: int, inner: int, kind: str) -> None:
        """Write what `gap` returns to a state that is there already."""
        policy = self.policy
        row = self.tables.row(state)
        row[:] = self.tables.row(inner)
        if not self.spaces_values:
            return
        if policy.whitespace == "single":
            if kind in {"item", "key"}:
                row[0x20] = inner
            return
        self._write_spaced(row, inner)

    def spaced(self, inner: int) -> int:
        """A state like ``inner`` before which white space may stand."""
        state = self.tables.new_states(1)
        row = self.tables.row(state)
        row[:] = self.tables.row(inner)
        self._write_spaced(row, inner)
        return state

    def _write_spaced(self, row: Any, inner: int) -> None:
        tables = self.tables
        if self.policy.whitespace == "any":
            call = tables.program(layout.PUSH, self._run("any"), inner, CALL_RANK)
            for byte in b" \t\n\r":
                row[byte] = call
        else:
            row[0x20] = inner
            row[0x0A] = tables.program(layout.PUSH, self._run("line"), inner, CALL_RANK)

    def _run(self, kind: str) -> int:
        """First state of the rule of a run of white space: a newline and indent, or anything."""
        first = self._gaps.get(kind)
        if first is not None:
            return first
        tables = self.tables
        most, more = (_MOST_INDENT, b" \t") if kind == "line" else (_MOST_SPACE, b" \t\n\r")
        n = most + (kind == "line")
        last = tables.new_states(n + 1)  # then states before 1, 2, ... more, then the first one
        rows = tables.actions[last >> tables.shift :][: n + 1]
        following = (last >> tables.shift) + np.arange(n) << tables.shift
        rows[:n] = layout.RETURN
        rows[1:n, list(more)] = following[:-1, None]
        rows[n, list(b"\n" if kind == "line" else more)] = following[-1]
        first = self._gaps[kind] = last + (n << tables.shift)
        return first

    def line(self, depth: int) -> bytes:
        """The line break and indent before something at a depth, if the policy has an indent."""
        if self.policy.indent is None:
            return b""
        return b"\n" + self.policy.indent * depth

    def behind_comma(self, inner: int, depth: int) -> int:
        """The state behind the first byte of what separates items, if one comes to ``inner``."""
        separator = self.policy.item_separator
        if separator is None:
            return self.gap(inner, "item")
        return self.chain((separator + self.line(depth))[1:], inner)

    @property
    def item_end(self) -> bytes:
        """The first byte of what separates items."""
        return (self.policy.item_separator or b",")[:1]

    def closing(self, bracket: int, depth: int) -> int:
        """The state behind the first byte of what closes a container that is not empty."""
        return self.chain((self.line(depth) + bytes([bracket]))[1:], self.end)

    def write_behind(self, state: int, comma: int, close: int, bracket: int, depth: int) -> None:
        """Write what follows an item: actions on the first byte of a separator, and of the end.

        So white space that has to stand there is read only where what it announces may come.
        """
        row = self.tables.row(state)
        first = self.item_end[0]
        last = (self.line(depth) + bytes([bracket]))[0]
        row[first] = comma
        row[last] = close if last != first else self.tables.choice([comma, close])

    # --- keys ------------------------------------------------------------------------------------

    def key_body(self) -> tuple[int, int, int]:
        """The `string_body` of keys about which nothing else is known."""
        return self.string_body(spelling.any_key(self.policy))

    def string_body(self, dfa: Dfa) -> tuple[int, int, int]:
        """Lay out the texts of strings, from behind the opening quote to behind the closing one.

        Returns the state behind the opening quote, the first state, and the number of states.
        """
        dfa = self.alphabet.restricted(dfa)
        state = self.embed(dfa, self.end)
        return state, state - ((dfa.start - 1) << self.tables.shift), dfa.n_states - 1
