"""States that all objects of a schema share: braces, commas, colons, and keys that are not named.

Which object is meant is told by the register of its frame, so a comma, a closing brace and the end
of a key that is not named are the same symbols in all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..automata import Dfa
from ..kernels import layout
from . import spelling
from .key_tries import KeyBody, key_body
from .values import Value

if TYPE_CHECKING:
    from .automaton import SchemaAutomaton

__all__ = ["ObjectStates"]

CALL_RANK = (1 << 24) + 1
BODY_RANK = (1 << 24) + 2


class ObjectStates:
    """The states between the keys and members of objects.

    Parameters
    ----------
    automaton : SchemaAutomaton

    Attributes
    ----------
    comma : int
        Symbol of a comma.
    ends : dict[int, int]
        Symbols of closing braces, and the states behind them.
    """

    def __init__(self, automaton: SchemaAutomaton) -> None:
        self._automaton = automaton
        self._tables = automaton.tables
        registers = automaton.tables.registers
        self.ends: dict[int, int] = {}
        self._close = self._new_end(automaton.end)
        self.comma = registers.new_symbol()
        registers.define(self.comma, layout.COMMA)
        self._other_symbols: list[int] = []
        self._other_states: dict[int, int] = {}
        self._bodies: dict[tuple[Dfa | None, int], KeyBody] = {}
        self._backs: dict[int, int] = {}
        self._opened: dict[tuple[int, int], int] = {}
        self._behind_commas: dict[tuple[int, int], int] = {}
        self._members: dict[tuple[Value, int], int] = {}
        self._colon: tuple[int, int] | None = None

    def _new_end(self, state: int) -> int:
        """A symbol of a closing brace, or of white space before it; ``state`` stands behind."""
        registers = self._tables.registers
        symbol = registers.new_symbol()
        registers.define(symbol, layout.CLOSE, action=state)
        self.ends[symbol] = state
        return symbol

    def _level(self, depth: int) -> int:
        return depth if self._automaton.policy.indent is not None else 0

    def opened(self, keys: int, depth: int) -> int:
        """The state behind the opening brace; ``keys`` is the action on the quote of a key."""
        place = (keys, self._level(depth))
        state = self._opened.get(place)
        if state is None:
            automaton, tables = self._automaton, self._tables
            line = automaton.line(depth + 1) if keys != layout.DEAD else b""
            key = tables.new_states(1)
            tables.row(key)[0x22] = keys
            begin = tables.new_states(1)
            first = automaton.chain(line, key)
            tables.row(begin)[:] = tables.row(first)
            tables.row(begin)[0x7D] = tables.program(layout.STEP, self._close)
            state = self._opened[place] = begin if line else automaton.gap(begin, "")
        return state

    def back(self, depth: int) -> int:
        """The state behind a member."""
        level = self._level(depth)
        state = self._backs.get(level)
        if state is None:
            automaton, tables = self._automaton, self._tables
            back = tables.new_states(1)
            close = self._new_end(automaton.closing(0x7D, depth))
            automaton.write_behind(
                back,
                tables.program(layout.STEP, self.comma),
                tables.program(layout.STEP, close),
                0x7D,
                depth,
            )
            state = self._backs[level] = automaton.gap(back, "")
        return state

    def behind_comma(self, keys: int, depth: int) -> int:
        """The state behind a comma, where a quote has the action ``keys``."""
        place = (keys, self._level(depth))
        state = self._behind_commas.get(place)
        if state is None:
            key = self._tables.new_states(1)
            self._tables.row(key)[0x22] = keys
            state = self._automaton.behind_comma(key, depth + 1)
            self._behind_commas[place] = state
        return state

    def member(self, value: Value, depth: int) -> int:
        """The state in which a member in ``value`` begins."""
        place = (value, self._level(depth))
        state = self._members.get(place)
        if state is None:
            call = self._automaton.call(value, depth + 1, self.back(depth))
            state = self._members[place] = self._tables.new_states(1)
            self._automaton.write_item_bytes(state, call)
        return state

    def behind_key(self, member: int, is_quote: bool = True) -> int:
        """The action on the closing quote of a key, or on the byte behind it.

        It calls the states of the colon, which all keys share; behind them comes ``member``.
        """
        quote, behind = self._colon or self._write_colon()
        return self._tables.program(layout.PUSH, quote if is_quote else behind, member, CALL_RANK)

    def _write_colon(self) -> tuple[int, int]:
        """The states before and behind the closing quote of a key."""
        automaton, tables = self._automaton, self._tables
        separator = automaton.policy.key_separator
        if separator is not None:
            behind = automaton.chain(separator, automaton.end)
        else:
            colon = tables.new_states(1)
            tables.row(colon)[0x3A] = automaton.gap(automaton.end, "key")
            behind = automaton.gap(colon, "")
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
            symbol = self.other_symbol(where)
            tables.row(state)[:] = tables.program(layout.STEP, symbol, layout.KEY_TEXT)
        return state

    def body(self, language: Dfa | None, where: int) -> KeyBody:
        """The string body in which such keys go on that fall out of a trie.

        ``language`` has the keys of the class, None if those are all.
        """
        body = self._bodies.get((language, where))
        if body is None:
            automaton = self._automaton
            states = automaton.key_body()
            if language is not None:
                states = automaton.string_body(spelling.key_language(language, automaton.policy))
            body = key_body(self._tables, *states, self.other_state(where), BODY_RANK)
            self._bodies[language, where] = body
        return body
