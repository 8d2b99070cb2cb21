"""Registers of frames: what each stands for, and the moves that texts have asked for so far.

A register is a number in a stack cell: which keys an object has had, which items an array. Its
moves, on symbols, are entered in one hash table that kernels read. Objects that ask no more than
which keys they have seen, and arrays whose items are counted or each out of a list once, get
registers and moves from kernels (``kernels.registers``); for all others, and for actions that
nobody has asked for yet, the frame is asked.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ._arrays import I64, AddressRecord, grown
from .errors import BudgetError
from .kernels import layout
from .kernels.members import define_keys
from .kernels.moves import copy_moves, enter_move
from .kernels.registers import derive_move, intern_object, rehash_objects

__all__ = ["MOST_MOVES", "Frame", "PlainRule", "Registers"]

MOST_MOVES = 1 << 20
_FIRST_MOVES = 1 << 10
_FIRST_OBJECTS = 1 << 9


class Frame(Protocol):
    """What a frame's register stands for: its moves are made when a text first asks for them."""

    def move(self, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""


class PlainRule(Protocol):
    """An object that asks of its frames only which keys they have seen."""

    def frame_of(self, seen: int, others: int, count: int) -> Frame:
        """The frame of a register that a kernel made."""


class _KernelFrame:
    """A frame of which kernels know all there is."""

    __slots__ = ("_register", "_registers")

    def __init__(self, registers: Registers, register: int) -> None:
        self._registers = registers
        self._register = register

    def move(self, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        return self._registers.derived_move(self._register, symbol)


def _move_table(room: int) -> I64:
    """An empty table of moves."""
    table = np.zeros(2 + 2 * room, np.int64)
    table[0] = room - 1
    return table


class Registers:
    """The registers, symbols and moves of one grammar's tables.

    Parameters
    ----------
    record : AddressRecord
        That of the tables; arrays are bound to it as they grow.
    is_open : bool
        Whether there will be any.

    Attributes
    ----------
    texts : dict[int, bytes]
        The text of each symbol that stands for one.
    other_item : int
        The symbol that stands for an item unlike all that came and are still to come.
    """

    def __init__(self, record: AddressRecord, is_open: bool) -> None:
        self.texts: dict[int, bytes] = {}
        self._record = record
        self._text_symbols: dict[bytes, int] = {}
        self._n_symbols = 0
        self._n_commas = 0
        self._frames: dict[int, Frame] = {}
        self._rules: list[PlainRule | None] = []
        self._widest = 0  # words of a set
        self._moves = _move_table(_FIRST_MOVES if is_open else 1)
        objects = _FIRST_OBJECTS if is_open else 1
        for slot, array in (
            (layout.T_MOVES, self._moves),
            (layout.T_OBJECTS, np.zeros(layout.OBJECT * objects, np.int64)),
            (layout.T_OBJECT_TABLE, np.zeros(2 * objects, np.int32)),
            (layout.T_SYMBOLS, np.zeros(layout.SYMBOL * objects, np.int64)),
            (layout.T_RULES, np.zeros(layout.RULE * 16, np.int64)),
            (layout.T_COMMAS, np.zeros(64, np.int32)),
            (layout.T_SETS, np.zeros(objects, np.int64)),
        ):
            record.bind(slot, array)
        record.words[layout.T_N_REGISTERS] = 1  # register 0 is that of frames without one
        record.words[layout.T_N_SETS] = 1  # place 0 is that of no set
        self.other_item = self.new_symbol() if is_open else 0

    @property
    def n_moves(self) -> int:
        """Moves entered so far."""
        return int(self._record.words[layout.T_N_MOVES])

    def clear(self) -> None:
        """Forget the frames, which refer to the tables: without them those go at once."""
        self._frames.clear()
        self._rules.clear()

    def new_symbol(self) -> int:
        """A symbol that no other step has."""
        return self.new_symbols(1)[0]

    def new_symbols(self, n: int) -> range:
        """``n`` symbols in a row that no other step has."""
        first = self._n_symbols + 1
        self._n_symbols += n
        self._grow(layout.T_SYMBOLS, layout.SYMBOL * (self._n_symbols + 1))
        return range(first, first + n)

    def _grow(self, slot: int, size: int) -> None:
        """Have room in an array of the record that only kernels under the lock read."""
        old = self._record.bound(slot)
        if old.size < size:
            self._record.bind(slot, grown(old, 2 * size))

    def define(
        self,
        symbol: int,
        kind: int,
        keys: int = 0,
        action: int = layout.DEAD,
        in_sets: bool = False,
    ) -> None:
        """Say what a symbol means to plain objects (``kernels.registers``).

        Keys are bits, any number of them if those that were seen are ``in_sets``.
        """
        word = end = 0
        if in_sets:
            word = ((keys & -keys).bit_length() - 1) // layout.KEYS_OF_WORD
            keys >>= word * layout.KEYS_OF_WORD
            if kind != layout.KEY:
                end = word - -keys.bit_length() // layout.KEYS_OF_WORD
                keys = self.new_set(keys, end - word)
        at = layout.SYMBOL * symbol
        meaning = kind, keys, action, word, end
        self._record.bound(layout.T_SYMBOLS)[at : at + layout.SYMBOL] = meaning

    def define_keys(self, first: int, actions: list[int]) -> None:
        """Say that symbols in a row are keys, bit by bit, and their actions, 0 for unknown ones."""
        define_keys(self._record.words, first, np.array(actions, np.int64))

    def define_action(self, symbol: int, action: int) -> None:
        """Say which action a key has, once it is known."""
        at = layout.SYMBOL * symbol + layout.SYMBOL_ACTION
        self._record.bound(layout.T_SYMBOLS)[at] = action

    def new_comma(self) -> int:
        """The number of one more set of other keys (``kernels.registers``)."""
        self._n_commas += 1
        self._grow(layout.T_COMMAS, self._n_commas)
        return self._n_commas - 1

    def define_comma(self, number: int, action: int) -> None:
        """Say which action a comma has behind a set of other keys."""
        self._record.bound(layout.T_COMMAS)[number] = action

    def text_symbol(self, text: bytes) -> int:
        """The symbol that stands for a text that was read."""
        symbol = self._text_symbols.get(text)
        if symbol is None:
            symbol = self._text_symbols[text] = self.new_symbol()
            self.texts[symbol] = text
        return symbol

    def new_register(self, frame: Frame) -> int:
        """The register that stands for ``frame``."""
        register = int(self._record.words[layout.T_N_REGISTERS])
        self._grow(layout.T_OBJECTS, layout.OBJECT * (register + 1))
        self._record.words[layout.T_N_REGISTERS] = register + 1
        self._frames[register] = frame
        return register

    def new_set(self, keys: int, words: int) -> int:
        """Where a set of keys, which are bits, now stands in so many words."""
        first = int(self._record.words[layout.T_N_SETS])
        self._grow(layout.T_SETS, first + words)
        self._record.words[layout.T_N_SETS] = first + words
        sets = self._record.bound(layout.T_SETS)
        for place in range(first, first + words):
            sets[place] = keys & ((1 << layout.KEYS_OF_WORD) - 1)
            keys >>= layout.KEYS_OF_WORD
        return first

    def _keys_of_set(self, first: int, words: int) -> int:
        """The keys, as bits, of a set that stands in so many words."""
        found = self._record.bound(layout.T_SETS)[first : first + words].tolist()
        return sum(keys << layout.KEYS_OF_WORD * i for i, keys in enumerate(found))

    def new_rule(
        self,
        rule: PlainRule | None,
        required: int,
        promised: int,
        least: int,
        most: int = 0,
        words: int = 0,
        other: int = layout.DEAD,
    ) -> int:
        """The number, from 1 on, of a rule whose registers kernels make (``kernels.registers``).

        ``required`` keys have to come, and of any ``least``, and ``most`` if that is not 0; behind
        a comma one of ``promised`` does, unless that is 0. Keys are bits, or sets of ``words``
        words (`new_set`). ``other`` is the action behind a key that is not named.
        Without a ``rule`` kernels know all there is.
        """
        at = layout.RULE * len(self._rules)
        self._grow(layout.T_RULES, at + layout.RULE)
        asked = required, promised, other, least, most, words
        self._record.bound(layout.T_RULES)[at : at + layout.RULE] = asked
        self._rules.append(rule)
        self._widest = max(self._widest, words)
        return len(self._rules)

    def object_register(self, rule: int, seen: int, others: int, count: int) -> int:
        """The register of a plain object: named keys seen, the set of other keys, how many."""
        while True:
            register = int(intern_object(self._record.words, rule, seen, others, count))
            if register >= 0:
                return register
            self._grow_objects()

    def derived_move(self, register: int, symbol: int) -> tuple[int, int]:
        """The move of a register of which kernels know all, on a symbol."""
        self._make_room()
        move = int(derive_move(self._record.words, register, symbol))
        return move >> 32, ((move & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000

    def _make_room(self) -> None:
        """Have room for one more move and register."""
        words = self._record.words
        if 2 * words[layout.T_N_MOVES] > self._moves[0]:
            if words[layout.T_N_MOVES] >= MOST_MOVES:
                raise BudgetError("moves of frames", MOST_MOVES, "the text is too long")
            larger = _move_table(4 * (int(self._moves[0]) + 1))
            copy_moves(self._moves, larger)
            self._moves = larger
            self._record.bind(layout.T_MOVES, larger)
        n = words[layout.T_N_REGISTERS]
        if (
            layout.OBJECT * (n + 1) > self._record.bound(layout.T_OBJECTS).size
            or 2 * n > self._record.bound(layout.T_OBJECT_TABLE).size
        ):
            self._grow_objects()
        self._grow(layout.T_SETS, int(words[layout.T_N_SETS]) + self._widest)

    def _grow_objects(self) -> None:
        self._grow(layout.T_OBJECTS, 2 * self._record.bound(layout.T_OBJECTS).size)
        table = np.zeros(4 * self._record.bound(layout.T_OBJECT_TABLE).size, np.int32)
        self._record.bind(layout.T_OBJECT_TABLE, table)
        rehash_objects(self._record.words)

    def frame(self, register: int) -> Frame | None:
        """What a register stands for, if it does for any frame."""
        frame = self._frames.get(register)
        if frame is None and register < self._record.words[layout.T_N_REGISTERS]:
            at = layout.OBJECT * register
            fields = self._record.bound(layout.T_OBJECTS)[at : at + layout.OBJECT].tolist()
            rule, seen, others, count = fields
            if rule:
                plain = self._rules[rule - 1]
                if plain is None:
                    return _KernelFrame(self, register)
                asked = self._record.bound(layout.T_RULES)[layout.RULE * (rule - 1) :]
                if asked[layout.RULE_WORDS]:
                    seen = self._keys_of_set(seen, int(asked[layout.RULE_WORDS]))
                frame = self._frames[register] = plain.frame_of(seen, others, count)
        return frame

    def make_move(self, register: int, symbol: int) -> None:
        """Enter the move of a register on a symbol."""
        words = self._record.words
        self._make_room()
        if derive_move(words, register, symbol) >= 0:
            return
        frame = self.frame(register)
        assert frame is not None
        after, action = frame.move(symbol)
        words[layout.T_N_MOVES] += 1
        enter_move(self._moves, register, symbol, after, action)
