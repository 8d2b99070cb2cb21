"""`Tables`: a grammar over a vocabulary as flat arrays, the pushdown automaton that kernels run.

One map takes bytes to columns, one table takes (state, column) to an action. States are
premultiplied by a power-of-two stride, so a plain step is two loads and an add. Behind the byte
columns stand the pseudo-columns: one a class of atomic tokens, and one for the end of the text. An
action is a next state, a return, or a program (a call, a step of the frame's register, or several
actions at once where the grammar does not decide).

Tables that hold a schema are open: their parts are made while texts reach them. They are given room
once and never move, so that kernels may read them while they grow.
"""

from __future__ import annotations

import bisect
import copy
import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ._arrays import I32, I64, U8, AddressRecord, grown
from ._locks import new_lock
from ._pool import TABLES, Clearing
from .automata import Dfa
from .errors import BudgetError
from .grammar.core import Grammar
from .grammar.ir import Schema, Tokens, postorder
from .kernels import layout
from .kernels.members import write_steps
from .networks import Networks
from .registers import MOST_MOVES, Registers
from .rule_actions import RuleActions
from .rule_columns import Columns
from .token_classes import token_classes
from .vocabulary.groups import PLAIN
from .vocabulary.record import vocabulary_record

if TYPE_CHECKING:
    from .embedding import Counted, Embedded
    from .schema.formulas import Formulas
    from .vocabulary import Vocabulary

__all__ = ["STEP_BUDGET", "Tables"]

STEP_BUDGET = 2_000_000
_MAX_ACTIONS = 100_000_000
_OPEN_STATES = 1 << 17
_OPEN_PROGRAMS = 1 << 18
_WIDE = 32  # bytes that a state reads, from which on grammars share its row

_MANY, _FINAL, _DONE, _FIRST_STATE = 1, 2, 3, 4
_FIRST_INVALID_BYTE = 0xF5  # no UTF-8 text has a byte from here on: room for pseudo-columns


_first = operator.attrgetter("first")


@functools.lru_cache(maxsize=16)
def _absent_bytes(vocabulary: Vocabulary) -> bytes:
    return vocabulary.absent_bytes


def _give_up(error: BudgetError, state: int) -> NoReturn:
    """Say again why a state was given up."""
    raise copy.copy(error)


def _leaves(grammar: Grammar, kind: type) -> list[Any]:
    """The distinct expressions of one kind in a grammar."""
    return list(
        dict.fromkeys(
            node
            for expression in grammar.rules.values()
            for node in postorder(expression)
            if isinstance(node, kind)
        )
    )


class Tables:
    """The pushdown automaton of one grammar over one vocabulary.

    Parameters
    ----------
    grammar : Grammar, optional
        None for tables that hold schemas alone (`add_schema`).
    vocabulary : Vocabulary
    step_budget : int
        Item steps of one call, before it gives up.

    Attributes
    ----------
    record : AddressRecord
        What kernels read (``kernels.layout``, ``T_*``).
    n_states : int
        States made so far.
    max_states : int
        States there is room for.
    registers : Registers
        What the registers of frames stand for, and their moves.
    start_state, final_state : int
        Premultiplied: where the grammar's text begins, and what lies under the first frame.
    formulas : list[Formulas]
        Those of the schemas in the tables.
    kept : dict
        What schemas have in common here, by whoever keeps it.
    token_kind : int32[size]
        ``TEXT``, ``BANNED``, ``STOP`` or the pseudo-column of an atomic token.

    Raises
    ------
    BudgetError
        The tables would be too large.
    UnsatisfiableGrammarError
        The vocabulary lacks bytes that every text needs.
    """

    def __init__(
        self, grammar: Grammar | None, vocabulary: Vocabulary, step_budget: int = STEP_BUDGET
    ) -> None:
        self.vocabulary = vocabulary
        self.words = (vocabulary.size + 31) // 32
        self.step_budget = step_budget
        self.formulas: list[Formulas] = []
        self._columns: list[I32] = []
        self._codes: dict[tuple[int, ...], int] = {}
        self._deferred: dict[int, Callable[[int], None]] = {}
        #: Whether items of arrays are read off the text, so that not every mask is known without.
        self.item_end = b""  # the byte behind an item whose text is read, if there are such
        #: States of automata that other grammars have too: the automaton's name and its state.
        self._shared_firsts: list[int] = []
        self._shared_automata: list[Dfa] = []
        self.lock = new_lock()
        self.record = AddressRecord(layout.T_SIZE)
        self._lists: dict[int, tuple[U8, I32]] = {}  # of texts, by the address of their bytes
        self._n_places = 0  # in those, of which states are
        self._counted: list[Counted] = []
        self._embedded: list[Embedded] = []
        self.networks: Networks | None = None
        self.kept: dict[Any, Any] = {}
        if grammar is None:
            self.is_open = True
            self._make_columns([])
            self._rule_offsets = np.array([_FIRST_STATE])
            self._rule_names = ["root"]
            self.n_states = _FIRST_STATE
            self._make_room()
        else:
            self._columns, classes_of = token_classes(vocabulary, _leaves(grammar, Tokens))
            schemas = _leaves(grammar, Schema)
            self.is_open = bool(schemas)
            self.networks = Networks(
                grammar,
                classes_of.__getitem__,
                schemas,
                _absent_bytes(vocabulary),
            )
            self._lay_out(self.networks, schemas)
        self._bind()

    @property
    def absent_bytes(self) -> bytes:
        """Bytes that no token of the vocabulary has."""
        return _absent_bytes(self.vocabulary)

    # --- layout ----------------------------------------------------------------------------------

    def _lay_out(self, networks: Networks, schemas: list[Schema]) -> None:
        automata = [*networks.automata]
        entry = networks.root
        if networks.entry != automata[entry]:
            entry = len(automata)
            automata.append(networks.entry)
        columns = self._make_columns(automata)
        self._rule_offsets = np.cumsum([_FIRST_STATE] + [a.n_states - 1 for a in automata])
        self._rule_names = [*networks.names, networks.names[networks.root]]
        self.n_states = int(self._rule_offsets[-1])
        self._make_room()
        bases = [int(offset) - 1 for offset in self._rule_offsets[:-1]]  # state 0 of each is dead
        rules = RuleActions(networks, automata, bases, entry, columns, len(schemas))
        # Callees: the rules, then the schemas.
        starts = [(bases[i] + a.start) << self.shift for i, a in enumerate(networks.automata)]
        starts += map(self.add_schema, schemas)
        for i, automaton in enumerate(automata):
            n_choices = self._n_alts
            block = rules.of(self, i, starts)
            last = bases[i] + automaton.n_states
            self.actions[bases[i] + 1 : last, : self.n_columns] = block[1:]
            makes_choices = self._n_alts > n_choices
            if not (rules.calls[i] or makes_choices or self._columns) and i != entry:
                self.share(automaton, bases[i] + 1)
                wide = automaton.live_bytes()[1:] >= _WIDE
                self.roots[bases[i] + 1 : last] = np.where(wide, layout.MADE, 0)
        self.start_state = (bases[entry] + automata[entry].start) << self.shift

    def _make_columns(self, automata: list[Dfa]) -> Columns:
        """Choose the columns."""
        if self.is_open:
            # What is made later may tell any two bytes apart.
            self.byte_classes = np.arange(256, dtype=np.uint8)
            self.byte_classes[_FIRST_INVALID_BYTE:] = 255
            byte_of = np.arange(_FIRST_INVALID_BYTE)
            if len(self._columns) > 255 - _FIRST_INVALID_BYTE - 1:
                raise BudgetError("classes of atomic tokens", 9, "use fewer sets of tokens")
        else:
            stacked = np.stack([a.classes for a in automata])
            _, byte_of, classes = np.unique(stacked, axis=1, return_index=True, return_inverse=True)
            self.byte_classes = classes.reshape(-1).astype(np.uint8)
        columns = Columns(byte_of, len(self._columns))
        self.first_token_column = columns.first_token
        self.end_column = columns.end
        self.n_columns = self.end_column + 1
        self.shift = 8 if self.is_open else max(2, (self.n_columns - 1).bit_length())
        return columns

    def _make_room(self) -> None:
        """The table of actions with its fixed states, and lists of programs."""
        self.max_states = max(_OPEN_STATES, 2 * self.n_states) if self.is_open else self.n_states
        if self.max_states << self.shift > _MAX_ACTIONS:
            raise BudgetError("table cells", _MAX_ACTIONS, "use smaller repetition counts")
        # Untouched pages of a zeroed array cost nothing.
        size = self.max_states << self.shift
        actions, used = TABLES.take_used(size, np.int32)
        self._clearing = Clearing(actions, used)
        self.actions: I32 = actions.reshape(self.max_states, -1)
        self.clear(self.n_states)
        self.final_state = _FINAL << self.shift
        self.actions[_MANY] = layout.GENERAL
        self.actions[_FINAL, self.end_column] = _DONE << self.shift
        room = _OPEN_PROGRAMS if self.is_open else 64
        self._programs: I32 = TABLES.take(4 * room, np.int32)
        self._n_programs = 1
        self._alts: I32 = TABLES.take(room, np.int32)
        self._n_alts = 0
        self.roots: U8 = TABLES.take(self.max_states, np.uint8)
        self.live: I64 = TABLES.take(self.max_states, np.int64)
        self.lasting: I64 = TABLES.take(self.max_states, np.int64)
        self.models: I32 = TABLES.take(2 * (self.max_states if self.is_open else 1), np.int32)
        self.registers = Registers(self.record, self.is_open)

    def add_schema(self, schema: Schema) -> int:
        """The state in which the texts of a schema begin, made now. Needs the lock of an arena."""
        state = self.new_states(1)
        self.formulas.append(schema.source.build(self, state))
        return state

    @property
    def share_used(self) -> float:
        """How much of the room for what is made later is used, from 0 to 1; formulas apart."""
        if not self.is_open:
            return 0.0
        return max(
            self.n_states / self.max_states,
            self._n_programs / _OPEN_PROGRAMS,
            self._n_alts / self._alts.size,
            self.registers.n_moves / MOST_MOVES,
        )

    def release(self) -> None:
        """Give back the arrays of open tables, which nobody may use any more."""
        if self.is_open:
            TABLES.give_back(self.actions.reshape(-1), *self._written())
            for array, used in (
                (self._programs, 4 * self._n_programs),
                (self._alts, self._n_alts),
                (self.roots, self.n_states),
                (self.live, self.n_states),
                (self.lasting, self.n_states),
                (self.models, 2 * self.n_states),
            ):
                TABLES.give_back(array, slice(0, used))
        # What makes the parts refers to the tables: without it they go at once.
        self.registers.clear()
        self._deferred.clear()
        self._embedded.clear()
        self.kept.clear()

    def _written(self) -> list[slice]:
        """What is not clear of the actions; the rows of embedded automata are cleared."""
        parts = []
        begin = 0
        for embedded in self._embedded:
            embedded.clear(self.actions)
            parts.append(slice(begin, embedded.first))
            begin = embedded.behind
        parts += [slice(begin, self.n_states << self.shift), *self._clearing.unclear()]
        return sorted(parts, key=lambda part: part.start)

    # --- parts -----------------------------------------------------------------------------------

    def new_states(self, n: int, is_dead: bool = True) -> int:
        """``n`` states in a row, dead unless they are written before use; the first one."""
        first = self.n_states
        if first + n > self.max_states:
            raise BudgetError(
                "automaton states", self.max_states, "the schema is too large, or the text too long"
            )
        if is_dead:
            self.clear(first + n)
        else:
            self._clearing.leave((first + n) << self.shift)
        self.n_states = first + n
        return first << self.shift

    def clear(self, n: int) -> None:
        """Have the first ``n`` states dead where nobody wrote them, and some more."""
        self._clearing.clear(n << self.shift)

    def skip_clearing(self, n: int) -> None:
        """Say that every state of the first ``n`` that is not clear was written."""
        self._clearing.skip(n << self.shift)

    @property
    def has_used_half(self) -> bool:
        """Whether half of the states there is room for are made."""
        return 2 * self.n_states > self.max_states

    @property
    def n_written(self) -> int:
        """States made so far without those that have but a place."""
        return self.n_states - sum(embedded.n_unseen for embedded in self._embedded)

    def row(self, state: int) -> I32:
        """The actions of a state, int32[columns], to be written before the state is reached."""
        row: I32 = self.actions[state >> self.shift]
        return row

    def blank_row(self) -> I32:
        """A row to be filled and then copied to a state that others may be reading."""
        return np.zeros(1 << self.shift, np.int32)

    def program(self, kind: int, a: int = 0, b: int = 0, then: int = 0) -> int:
        """The action code of a program."""
        key = (kind, a, b, then)
        code = self._codes.get(key)
        if code is None:
            n = self._n_programs
            if 4 * n >= self._programs.size:
                self._programs = self._more(self._programs)
            self._programs[4 * n : 4 * n + 4] = key
            self._n_programs = n + 1
            code = self._codes[key] = layout.PROGRAM - n
        return code

    def new_programs(self, n: int) -> int:
        """The number of the first of ``n`` programs in a row, to be written."""
        first = self._n_programs
        while 4 * (first + n) > self._programs.size:
            self._programs = self._more(self._programs)
        self._n_programs = first + n
        return first

    def programs(self, kind: int, a: I64, b: int, then: I64 | int) -> I64:
        """The action codes of programs that nobody has made yet, one a row of the arrays."""
        at = self.new_programs(len(a))
        rows = self._programs[4 * at : 4 * (at + len(a))].reshape(-1, 4)
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = kind, a, b, then
        return layout.PROGRAM - np.arange(at, at + len(a))

    def new_steps(self, n: int) -> tuple[range, range]:
        """``n`` new symbols in a row, and the actions that are steps on them."""
        symbols = self.registers.new_symbols(n)
        first = self.new_programs(n)
        write_steps(self.record.words, first, symbols.start, n)
        return symbols, range(layout.PROGRAM - first, layout.PROGRAM - first - n, -1)

    def program_of(self, code: int) -> tuple[int, int, int, int]:
        """The kind and operands of the program that an action code stands for."""
        at = 4 * (layout.PROGRAM - code)
        kind, a, b, then = self._programs[at : at + 4].tolist()
        return kind, a, b, then

    def alternatives(self, first: int, count: int) -> list[int]:
        """The action codes of a choice, given by its operands."""
        codes: list[int] = self._alts[first : first + count].tolist()
        return codes

    def choice(self, codes: list[int]) -> int:
        """The action code of several actions at once."""
        codes = sorted(set(codes) - {layout.DEAD})
        if len(codes) < 2:
            return codes[0] if codes else layout.DEAD
        key = (-1, *codes)
        code = self._codes.get(key)
        if code is None:
            at = self._n_alts
            while at + len(codes) > self._alts.size:
                self._alts = self._more(self._alts)
            self._alts[at : at + len(codes)] = codes
            self._n_alts = at + len(codes)
            code = self._codes[key] = self.program(layout.CHOICE, at, len(codes))
        return code

    def _more(self, array: I32) -> I32:
        if self.is_open:
            raise BudgetError("automaton programs", _OPEN_PROGRAMS, "the schema is too large")
        return grown(array, 2 * array.size)

    def share(self, automaton: Dfa, first: int) -> None:
        """Say that states from the index ``first`` on are an automaton's, which others may have."""
        at = bisect.bisect(self._shared_firsts, first)
        self._shared_firsts.insert(at, first)
        self._shared_automata.insert(at, automaton)

    def shared_name(self, state: int) -> tuple[str, int] | None:
        """The automaton that a state is of, by its digest, and its number there."""
        at = bisect.bisect(self._shared_firsts, state >> self.shift) - 1
        if at < 0:
            return None
        automaton = self._shared_automata[at]
        number = (state >> self.shift) - self._shared_firsts[at] + 1
        return (automaton.digest(), number) if number < automaton.n_states else None

    def count(self, counted: Counted) -> None:
        """Say that some states, newer than those of any other, count the characters of a string."""
        self._counted.append(counted)
        at = counted.first >> self.shift
        self.roots[at : at + len(counted.places)] = layout.MADE

    def counted(self, state: int) -> Counted | None:
        """What a state that counts is one of."""
        at = bisect.bisect(self._counted, state, key=_first) - 1
        if at < 0:
            return None
        counted = self._counted[at]
        number = (state - counted.first) >> self.shift
        return counted if number < len(counted.places) else None

    def add_embedded(self, embedded: Embedded) -> None:
        """Have states, newer than those of any other, written as texts reach them."""
        self._embedded.append(embedded)

    def list_texts(
        self, state: int, data: U8, offsets: I32, low: int, high: int, depth: int
    ) -> None:
        """Say that ``state`` is a place in a sorted list of texts, whose ends leave the frame.

        Text ``i`` is data[offsets[i]:offsets[i + 1]]. Those from ``low`` to ``high`` go on here,
        behind ``depth`` bytes.
        """
        number = self._n_places
        self._n_places = number + 1
        places = self.record.bound(layout.T_PLACES)
        at = layout.LISTED_PLACE * number
        if at == places.size:
            places = grown(places, 2 * places.size)
            self.record.bind(layout.T_PLACES, places)
        addresses = [array.__array_interface__["data"][0] for array in (data, offsets)]
        self._lists[addresses[0]] = data, offsets
        sizes = data.size, offsets.size
        place = addresses[0], sizes[0], addresses[1], sizes[1], low, high, depth
        places[at : at + layout.LISTED_PLACE] = place
        index = state >> self.shift
        self.models[2 * index] = number
        self.roots[index] = layout.LISTED

    def defer(self, state: int, make: Callable[[int], None]) -> None:
        """Have ``make(state)`` write a state when a text first reaches it."""
        self.row(state)[:] = layout.EXPAND
        self._deferred[state] = make

    def make_state(self, state: int) -> None:
        """Write a deferred state."""
        make = self._deferred.get(state)
        if make is not None:
            try:
                make(state)
            except BudgetError as error:
                # Said again at once, since to try again takes as long.
                self._deferred[state] = functools.partial(_give_up, copy.copy(error))
                raise
            del self._deferred[state]
        else:
            at = bisect.bisect(self._embedded, state, key=_first) - 1
            if at >= 0:
                self._embedded[at].write(state)

    # --- the record ------------------------------------------------------------------------------

    def _bind(self) -> None:
        vocabulary = self.vocabulary
        trie = vocabulary.trie
        record = self.record
        common = vocabulary_record(vocabulary)
        record.adopt(common)
        self.longest = int(common.words[layout.T_LONGEST])
        self.token_kind: I32 = record.bound(layout.T_TOKEN_KIND)
        column_offsets = np.zeros(len(self._columns) + 1, np.int32)
        if self._columns:
            self.token_kind = self.token_kind.copy()
            for number, tokens in enumerate(self._columns):
                self.token_kind[tokens] = self.first_token_column + number
                column_offsets[number + 1] = column_offsets[number] + len(tokens)
            record.bind(layout.T_TOKEN_KIND, self.token_kind)
        self.token_bytes: U8 = record.bound(layout.T_TOKEN_BYTES)
        for slot, array in (
            (layout.T_CLASSES, self.byte_classes),
            (layout.T_ACTIONS, self.actions),
            (layout.T_PROGRAMS, self._programs),
            (layout.T_ALTS, self._alts),
            (layout.T_ROOTS, self.roots),
            (layout.T_MODELS, self.models),
            (layout.T_COLUMN_OFFSETS, column_offsets),
            (layout.T_COLUMN_TOKENS, np.concatenate([*self._columns, np.zeros(1, np.int32)])),
            (layout.T_LIVE, self.live),
            (layout.T_LASTING, self.lasting),
            (layout.T_PLACES, np.zeros(layout.LISTED_PLACE * 8, np.int64)),
        ):
            record.bind(slot, array)
        words = record.words
        words[layout.T_VOCAB_SIZE] = vocabulary.size
        words[layout.T_WORDS] = self.words
        words[layout.T_SHIFT] = self.shift
        words[layout.T_END_COLUMN] = self.end_column
        words[layout.T_FIRST_TOKEN_COLUMN] = self.first_token_column
        words[layout.T_TRIE_NODES] = trie.n_nodes
        words[layout.T_MANY] = _MANY << self.shift
        words[layout.T_STEP_BUDGET] = self.step_budget
        words[layout.T_LONGEST] = self.longest
        words[layout.T_IS_OPEN] = self.is_open
        words[layout.T_PLAIN] = PLAIN

    def atomic_tokens(self) -> list[int]:
        """One token of each class of atomic tokens."""
        return [int(tokens[0]) for tokens in self._columns]

    def column_token_ids(self, column: int) -> list[int]:
        """The tokens of a pseudo-column: those that end a text, or a class of atomic tokens."""
        if column == self.end_column:
            return list(self.vocabulary.eos_token_ids)
        tokens: list[int] = self._columns[column - self.first_token_column].tolist()
        return tokens

    def token_span(self, token_id: int) -> tuple[int, int]:
        """Where the bytes of a token stand in ``token_bytes``."""
        offsets = self.vocabulary.token_offsets
        return int(offsets[token_id]), int(offsets[token_id + 1])

    def rule_of(self, state: int) -> str:
        """Name of the rule that a (premultiplied) state belongs to; empty for the fixed states."""
        index = state >> self.shift
        if index < _FIRST_STATE:
            return ""
        return self._rule_names[int(np.searchsorted(self._rule_offsets, index, side="right")) - 1]

    def regular_states(self) -> list[int] | None:
        """The states of a grammar without calls, premultiplied; None if there are calls."""
        if self.is_open or self._n_programs > 1:
            return None
        first = self.start_state >> self.shift
        last = int(self._rule_offsets[np.searchsorted(self._rule_offsets, first, side="right")])
        return [state << self.shift for state in range(first, last)]

    @property
    def table_bytes(self) -> int:
        """Bytes of the actions of all states made so far."""
        return 4 * self.n_states << self.shift

    @property
    def memory_size_bytes(self) -> int:
        """Bytes of the tables of the grammar alone, without the vocabulary's."""
        own_kind = self.token_kind.nbytes if self._columns else 0
        return (
            self.table_bytes
            + 16 * self._n_programs
            + 4 * self._n_alts
            + 16 * self.registers.n_moves
            + own_kind
        )
