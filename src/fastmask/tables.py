"""`Tables`: a grammar over a vocabulary as flat arrays, the pushdown automaton that kernels run.

One map takes bytes to columns, one table takes (state, column) to an action. States are premultiplied
by a power-of-two stride, so a plain step is two loads and an add. Behind the byte columns stand the
pseudo-columns: one a class of atomic tokens, and one for the end of the text. An action is a next
state, a return, or a program (a call, or several actions at once where the grammar does not decide).

A state that may both go on and return does so only on columns that can follow its rule; where it can
do nothing else it returns on every column, so that what a rule does alone does not depend on its
callers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ._arrays import I32, U8, AddressRecord, contiguous
from .automata import Dfa
from .errors import BudgetError, GrammarError
from .grammar.core import Grammar
from .grammar.ir import Tokens, postorder
from .kernels import layout
from .networks import Networks, strongly_connected

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

__all__ = ["STEP_BUDGET", "Tables"]

STEP_BUDGET = 2_000_000
_MAX_ACTIONS = 100_000_000

_MANY, _FINAL, _DONE, _FIRST_STATE = 1, 2, 3, 4


def _tokens(grammar: Grammar) -> Iterator[Tokens]:
    for expression in grammar.rules.values():
        for node in postorder(expression):
            if isinstance(node, Tokens):
                yield node


class Tables:
    """The pushdown automaton of one grammar over one vocabulary.

    Parameters
    ----------
    grammar : Grammar
    vocabulary : Vocabulary

    Attributes
    ----------
    record : AddressRecord
        What kernels read (``kernels.layout``, ``T_*``).
    n_states : int
    start_state, final_state : int
        Premultiplied: where the text begins, and what lies under the first frame.
    token_kind : int32[size]
        ``TEXT``, ``BANNED``, ``STOP`` or the pseudo-column of an atomic token.

    Raises
    ------
    BudgetError
        The tables would be too large.
    UnsatisfiableGrammarError
        The vocabulary lacks bytes that every text needs.
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.words = (vocabulary.size + 31) // 32
        self.step_budget = STEP_BUDGET
        self._columns: list[I32] = []
        self._classes_of: dict[Tokens, list[int]] = {}
        sets = list(dict.fromkeys(_tokens(grammar)))
        if sets:
            self._classify_tokens(sets)
        networks = Networks(grammar, self._classes_of.__getitem__, vocabulary.absent_bytes)
        self.networks = networks
        self._lay_out(networks)
        self._bind()

    def _classify_tokens(self, sets: list[Tokens]) -> None:
        """Sets of atomic tokens into disjoint classes, one pseudo-column each."""
        members = np.stack([self._members(tokens) for tokens in sets], axis=1)
        signatures, class_of = np.unique(members, axis=0, return_inverse=True)
        self._classes_of = {tokens: [] for tokens in sets}
        for number, signature in enumerate(signatures):
            if signature.any():
                for k in np.flatnonzero(signature).tolist():
                    self._classes_of[sets[k]].append(len(self._columns))
                ids = np.flatnonzero(class_of.reshape(-1) == number)
                self._columns.append(ids.astype(np.int32))

    def _members(self, tokens: Tokens) -> npt.NDArray[np.bool_]:
        """The token ids that a set of atomic tokens holds, bool[size]."""
        vocabulary = self.vocabulary
        members = np.zeros(vocabulary.size, np.bool_)
        for item in tokens.items:
            if isinstance(item, str):
                ids = vocabulary.ids_of(item.encode())
                if not ids:
                    raise GrammarError(f"the vocabulary has no token {item!r}")
                members[ids] = True
            elif 0 <= item < vocabulary.size:
                members[item] = True
            else:
                raise GrammarError(
                    f"token id {item} is outside the vocabulary of {vocabulary.size} ids"
                )
        if tokens.negated:
            members = ~members & (np.diff(vocabulary.token_offsets) > 0)
            members[list(vocabulary.eos_token_ids)] = False
        return members

    # --- layout ----------------------------------------------------------------------------------

    def _lay_out(self, networks: Networks) -> None:
        automata = [*networks.automata]
        entry = len(automata)
        if networks.entry != automata[networks.root]:
            automata.append(networks.entry)
        else:
            entry = networks.root
        stacked = np.stack([a.classes for a in automata])
        _, byte_of, classes = np.unique(stacked, axis=1, return_index=True, return_inverse=True)
        self.byte_classes: U8 = classes.reshape(-1).astype(np.uint8)
        n_classes = len(byte_of)
        n_columns = n_classes + len(self._columns) + 1
        self.first_token_column = n_classes
        self.end_column = n_columns - 1
        self.shift = max(2, (n_columns - 1).bit_length())
        offsets = np.cumsum([_FIRST_STATE] + [a.n_states - 1 for a in automata])
        self.n_states = int(offsets[-1])
        if self.n_states << self.shift > _MAX_ACTIONS:
            raise BudgetError("table cells", _MAX_ACTIONS, "use smaller repetition counts")
        self._rule_offsets = offsets
        self._rule_names = [*networks.names, networks.names[networks.root]]
        bases = [int(offset) - 1 for offset in offsets[:-1]]  # an automaton's state 0 is dead
        calls = [networks.calls(a) for a in automata]
        moves = [
            self._moves(a, base, byte_of, n_columns)
            for a, base in zip(automata, bases, strict=True)
        ]
        first = self._first(automata, calls, moves)
        follow = self._follow(automata, calls, moves, first, entry)
        ranks = self._ranks(automata, calls)
        actions = np.zeros((self.n_states, 1 << self.shift), np.int32)
        actions[_MANY] = layout.GENERAL
        actions[_FINAL, self.end_column] = _DONE << self.shift
        programs: list[int] = [0, 0, 0, 0]
        alts: list[int] = []
        for i, automaton in enumerate(automata):
            block = self._actions(
                automaton, calls[i], moves[i], first, follow[i], bases, automata, ranks, bases[i],
                programs, alts, n_columns,
            )  # fmt: skip
            actions[bases[i] + 1 : bases[i] + automaton.n_states, :n_columns] = block[1:]
        self._actions_table: I32 = actions.reshape(-1)
        self._programs: I32 = np.array(programs, np.int32)
        self._alts: I32 = np.array(alts or [0], np.int32)
        self.start_state = (bases[entry] + automata[entry].start) << self.shift
        self.final_state = _FINAL << self.shift

    def _moves(
        self, automaton: Dfa, base: int, byte_of: npt.NDArray[np.int64], n_columns: int
    ) -> I32:
        """Plain moves of an automaton, int32[n_states, n_columns], as global state indices."""
        table = automaton.table
        moves = np.zeros((automaton.n_states, n_columns), np.int32)
        targets = table[:, automaton.classes[byte_of]]
        moves[:, : len(byte_of)] = np.where(targets, targets + base, 0)
        first = automaton.n_classes + len(self.networks.names)
        tokens = table[:, first : first + len(self._columns)]
        start = self.first_token_column
        moves[:, start : start + tokens.shape[1]] = np.where(tokens, tokens + base, 0)
        return moves

    def _first(
        self, automata: list[Dfa], calls: list[list[tuple[int, int, int]]], moves: list[I32]
    ) -> npt.NDArray[np.bool_]:
        """Columns that a call of each rule can begin with, bool[n_rules, n_columns]."""
        first = np.stack([m[a.start] != 0 for m, a in zip(moves, automata, strict=True)])
        starts = [
            [rule for state, rule, _ in own if state == a.start]
            for own, a in zip(calls, automata, strict=True)
        ]
        for component in strongly_connected(starts):
            for rule in starts[component[0]]:
                first[component[0]] |= first[rule]
        return first

    def _ranks(self, automata: list[Dfa], calls: list[list[tuple[int, int, int]]]) -> list[int]:
        """A number for each rule, below those of the rules that it can call first."""
        starts = [
            [rule for state, rule, _ in own if state == a.start]
            for own, a in zip(calls, automata, strict=True)
        ]
        ranks = [0] * len(automata)
        for number, component in enumerate(strongly_connected(starts)):
            ranks[component[0]] = len(automata) - number
        return ranks

    def _follow(
        self,
        automata: list[Dfa],
        calls: list[list[tuple[int, int, int]]],
        moves: list[I32],
        first: npt.NDArray[np.bool_],
        entry: int,
    ) -> npt.NDArray[np.bool_]:
        """Columns that can come after each rule, bool[n_rules, n_columns]."""
        follow = np.zeros_like(first)
        follow[entry, self.end_column] = True
        inherits: list[set[int]] = [set() for _ in automata]
        for caller, own in enumerate(calls):
            begins = moves[caller] != 0
            for state, rule, _ in own:
                begins[state] |= first[rule]
            for _, rule, back in own:
                follow[rule] |= begins[back]
                if automata[caller].labels[back]:
                    inherits[rule].add(caller)
        changed = True
        while changed:
            before = follow.sum()
            for rule, callers in enumerate(inherits):
                for caller in callers:
                    follow[rule] |= follow[caller]
            changed = bool(follow.sum() != before)
        return follow

    def _actions(
        self, automaton: Dfa, calls: list[tuple[int, int, int]], moves: I32,
        first: npt.NDArray[np.bool_], follow: npt.NDArray[np.bool_], bases: list[int],
        automata: list[Dfa], ranks: list[int], base: int, programs: list[int], alts: list[int],
        n_columns: int,
    ) -> I32:  # fmt: skip
        """Actions of one automaton's states, int32[n_states, n_columns]."""
        block = moves << self.shift
        accepting = automaton.labels != 0
        count = (moves != 0).astype(np.int32)
        pushes: list[tuple[int, int, npt.NDArray[np.bool_]]] = []
        made: dict[tuple[int, int], int] = {}
        only_returns = accepting & ~automaton.table.any(axis=1)
        for state, rule, back in calls:
            target = 0 if only_returns[back] else (base + back) << self.shift
            if (rule, target) not in made:
                made[rule, target] = layout.PROGRAM - len(programs) // 4
                callee = (bases[rule] + automata[rule].start) << self.shift
                programs += (layout.PUSH, callee, target, ranks[rule])
            code = made[rule, target]
            pushes.append((state, code, first[rule]))
            block[state, (count[state] == 0) & first[rule]] = code
            count[state] += first[rule]
        returns = accepting[:, None] & (follow[None, :] | (count == 0))
        block[returns & (count == 0)] = layout.RETURN
        count += returns
        conflicts: dict[tuple[int, ...], int] = {}
        for state, column in zip(*np.nonzero(count > 1), strict=True):
            options = [code for s, code, begins in pushes if s == state and begins[column]]
            if moves[state, column]:
                options.append(int(moves[state, column]) << self.shift)
            if returns[state, column]:
                options.append(layout.RETURN)
            key = tuple(options)
            if key not in conflicts:
                conflicts[key] = layout.PROGRAM - len(programs) // 4
                programs += (layout.CHOICE, len(alts), len(options), 0)
                alts += options
            block[state, column] = conflicts[key]
        return block[:, :n_columns]

    # --- the record ------------------------------------------------------------------------------

    def _bind(self) -> None:
        vocabulary = self.vocabulary
        trie = vocabulary.trie
        self.longest = max(1, trie.longest)
        kind = np.where(vocabulary.is_text != 0, layout.TEXT, layout.BANNED).astype(np.int32)
        column_offsets = np.zeros(len(self._columns) + 1, np.int32)
        for number, tokens in enumerate(self._columns):
            kind[tokens] = self.first_token_column + number
            column_offsets[number + 1] = column_offsets[number] + len(tokens)
        kind[list(vocabulary.eos_token_ids)] = layout.STOP
        self.token_kind: I32 = kind
        self.token_bytes: U8 = contiguous(vocabulary.token_bytes, np.uint8)
        record = AddressRecord(layout.T_SIZE)
        for slot, array in (
            (layout.T_CLASSES, self.byte_classes),
            (layout.T_ACTIONS, self._actions_table),
            (layout.T_PROGRAMS, self._programs),
            (layout.T_ALTS, self._alts),
            (layout.T_MOVES, np.zeros(2, np.int64)),
            (layout.T_TOKEN_KIND, kind),
            (layout.T_TOKEN_BYTES, self.token_bytes),
            (layout.T_TOKEN_OFFSETS, contiguous(vocabulary.token_offsets, np.int32)),
            (layout.T_TRIE_BYTE, trie.byte),
            (layout.T_TRIE_DEPTH, trie.depth),
            (layout.T_TRIE_SKIP, trie.skip),
            (layout.T_TRIE_TOKEN, trie.token),
            (layout.T_TRIE_FIRST, trie.first),
            (layout.T_TRIE_ORDER, trie.order),
            (layout.T_COLUMN_OFFSETS, column_offsets),
            (layout.T_COLUMN_TOKENS, np.concatenate([*self._columns, np.zeros(1, np.int32)])),
            (layout.T_END_TOKENS, np.array(vocabulary.eos_token_ids, np.int32)),
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
        self.record = record

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
        """The states of a grammar without calls, premultiplied, in order; None if there are calls."""
        if len(self._programs) > layout.CELL:
            return None
        first = self.start_state >> self.shift
        last = int(self._rule_offsets[np.searchsorted(self._rule_offsets, first, side="right")])
        return [state << self.shift for state in range(first, last)]

    @property
    def table_bytes(self) -> int:
        """Bytes of the table of actions."""
        return self._actions_table.nbytes

    @property
    def memory_size_bytes(self) -> int:
        """Bytes of the tables of the grammar alone, without the vocabulary's."""
        return int(
            self._actions_table.nbytes
            + self._programs.nbytes
            + self._alts.nbytes
            + self.token_kind.nbytes
        )
