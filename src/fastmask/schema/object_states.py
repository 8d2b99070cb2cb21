"""States that all objects of a schema share: braces, commas, colons, and keys that are not named.

Which object is meant is told by the register of its frame, so a comma, a closing brace and the end
of a key that is not named are the same symbols in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .._arrays import U8
from ..automata import Dfa
from ..kernels import layout
from ..kernels.members import write_members
from . import spelling
from .constants import VALUE_BYTES
from .key_tries import KeyBody, framed_body, key_body

if TYPE_CHECKING:
    from .shared_states import SharedStates

__all__ = ["CALL_RANK", "ObjectStates"]

CALL_RANK = (1 << 24) + 1
_BODY_RANK = (1 << 24) + 2
_FIRST_BYTES: U8 = np.frombuffer(bytearray(VALUE_BYTES), np.uint8)


class ObjectStates:
    """The states between the keys and members of objects.

    Parameters
    ----------
    shared : SharedStates

    Attributes
    ----------
    comma : int
        Symbol of a comma.
    ends : dict[int, int]
        Symbols of closing braces, and the states behind them.
    """

    def __init__(self, shared: SharedStates) -> None:
        self._shared = shared
        self._tables = shared.tables
        registers = shared.tables.registers
        self.ends: dict[int, int] = {}
        self._close = self._new_end(shared.end)
        self.comma = registers.new_symbol()
        registers.define(self.comma, layout.COMMA)
        self._other_symbols: list[int] = []
        self._other_states: dict[int, int] = {}
        self._bodies: dict[tuple[Dfa | None, int], KeyBody] = {}
        self._backs: dict[int, int] = {}
        self._opened: dict[tuple[int, int], int] = {}
        self._behind_commas: dict[tuple[int, int], int] = {}
        self._members: dict[int, dict[int, tuple[int, int]]] = {}
        self._spaced: dict[int, int] = {}  # states before which white space may stand, by state
        self._colon: tuple[int, int] | None = None

    def _new_end(self, state: int) -> int:
        """A symbol of a closing brace, or of white space before it; ``state`` stands behind."""
        registers = self._tables.registers
        symbol = registers.new_symbol()
        registers.define(symbol, layout.CLOSE, action=state)
        self.ends[symbol] = state
        return symbol

    def _level(self, depth: int) -> int:
        return depth if self._shared.policy.indent is not None else 0

    def opened(self, keys: int, depth: int) -> int:
        """The state behind the opening brace; ``keys`` is the action on the quote of a key."""
        place = (keys, self._level(depth))
        state = self._opened.get(place)
        if state is None:
            shared, tables = self._shared, self._tables
            line = shared.line(depth + 1) if keys != layout.DEAD else b""
            key = tables.new_states(1)
            tables.row(key)[0x22] = keys
            begin = tables.new_states(1)
            first = shared.chain(line, key)
            tables.row(begin)[:] = tables.row(first)
            tables.row(begin)[0x7D] = tables.program(layout.STEP, self._close)
            state = self._opened[place] = begin if line else shared.gap(begin, "")
        return state

    def back(self, depth: int) -> int:
        """The state behind a member."""
        level = self._level(depth)
        state = self._backs.get(level)
        if state is None:
            shared, tables = self._shared, self._tables
            back = tables.new_states(1)
            close = self._new_end(shared.closing(0x7D, depth))
            shared.write_behind(
                back,
                tables.program(layout.STEP, self.comma),
                tables.program(layout.STEP, close),
                0x7D,
                depth,
            )
            state = self._backs[level] = shared.gap(back, "")
        return state

    def behind_comma(self, keys: int, depth: int) -> int:
        """The state behind a comma, where a quote has the action ``keys``."""
        place = (keys, self._level(depth))
        state = self._behind_commas.get(place)
        if state is None:
            key = self._tables.new_states(1)
            self._tables.row(key)[0x22] = keys
            state = self._shared.behind_comma(key, depth + 1)
            self._behind_commas[place] = state
        return state

    def member(self, value: int, depth: int) -> int:
        """The state in which a member begins; ``value`` is the first state of its values."""
        return self.members([value], depth)[value][0]

    def members(self, values: Iterable[int], depth: int) -> dict[int, tuple[int, int]]:
        """By first state of values: where members begin, and the action on the quote before.

        Some others may be there, too.
        """
        known = self._members.setdefault(self._level(depth), {})
        new = [value for value in dict.fromkeys(values) if value not in known]
        if new:
            tables = self._tables
            quote, _ = self._colon or self._write_colon()
            back = self.back(depth)
            program = tables.new_programs(2 * len(new))
            state = tables.new_states(len(new))
            spaced = tables.new_states(len(new)) if self._shared.spaces_values else state
            write_members(
                tables.record.words,
                np.array(new, np.int64),
                _FIRST_BYTES,
                state,
                spaced,
                program,
                back,
                quote,
                CALL_RANK,
            )
            for value in new:
                if spaced != state:
                    self._shared.write_gap(spaced, state, "key")
                self._spaced[state] = spaced
                # Last, so that what is known is whole whatever was raised in between.
                known[value] = state, layout.PROGRAM - program - 1
                state += 1 << tables.shift
                spaced += 1 << tables.shift
                program += 2
        return known

    def behind_key(self, member: int, is_quote: bool = True) -> int:
        """The action on the closing quote of a key, or on the byte behind it.

        It calls the states of the colon, which all keys share; behind them comes ``member``.
        """
        quote, behind = self._colon or self._write_colon()
        spaced = self._spaced.get(member)
        if spaced is None:
            spaced = self._spaced[member] = self._shared.gap(member, "key")
        return self._tables.program(layout.PUSH, quote if is_quote else behind, spaced, CALL_RANK)

    def _write_colon(self) -> tuple[int, int]:
        """The states before and behind the closing quote of a key."""
        shared, tables = self._shared, self._tables
        separator = shared.policy.key_separator
        if separator is not None:
            behind = shared.chain(separator, shared.end)
        else:
            colon = tables.new_states(1)
            tables.row(colon)[0x3A] = shared.end
            behind = shared.gap(colon, "")
        quote = tables.new_states(1)
        tables.row(quote)[0x22] = behind
        self._colon = quote, behind
        return self._colon

    # --- keys that are not named -----------------------------------------------------------------

    def other_symbol(self, where: int) -> int:
        """The symbol of the end of a key of an object's class number ``where``."""
        registers = self._tables.registers
        while len(self._other_symbols) <= where:
            self._other_symbols.append(registers.new_symbol())
            if len(self._other_symbols) == 1:
                registers.define(self._other_symbols[0], layout.OTHER)
        return self._other_symbols[where]

    def other_state(self, where: int) -> int:
        """The state behind the closing quote of such a key."""
        state = self._other_states.get(where)
        if state is None:
            tables = self._tables
            state = self._other_states[where] = tables.new_states(1)
            step = tables.program(layout.STEP, self.other_symbol(where), layout.KEY_TEXT)
            # What leads nowhere behind the step is dead before it.
            _, behind = self._colon or self._write_colon()
            tables.row(state)[:] = np.where(tables.row(behind) != layout.DEAD, step, layout.DEAD)
        return state

    def body(self, language: Dfa | None, where: int) -> KeyBody:
        """The string body in which such keys go on that fall out of a trie.

        ``language`` has the keys of the class, None if those are all.
        """
        body = self._bodies.get((language, where))
        if body is None:
            shared = self._shared
            states = shared.key_body()
            if language is not None:
                states = shared.string_body(spelling.key_language(language, shared.policy))
            body = key_body(self._tables, *states, self.other_state(where), _BODY_RANK)
            self._bodies[language, where] = body
        return body

    def joint_body(self, language: Dfa) -> KeyBody:
        """The string body in which keys of many classes go on; labels are their numbers plus 1."""
        body = self._bodies.get((language, -1))
        if body is None:
            keys = spelling.key_language(language, self._shared.policy)
            ends = [self.other_state(where) for where in range(int(language.labels.max()))]
            body = framed_body(self._tables, *self._shared.ending_body(keys, [layout.DEAD, *ends]))
            self._bodies[language, -1] = body
        return body
