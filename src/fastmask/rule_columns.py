"""Columns of rules: what a call of each can begin with, and what may come behind it.

They say where an automaton decides: a state whose moves, calls and return share no column needs no
list of alternatives (the FIRST and FOLLOW sets of Knuth 1971 over byte classes).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import I32
from .automata import Dfa
from .networks import strongly_connected

__all__ = ["Columns", "first_columns", "follow_columns", "plain_moves", "repeats"]

Mask = npt.NDArray[np.bool_]
#: For each automaton its calls: state, callee, state to return to.
Calls = list[list[tuple[int, int, int]]]

_SCHEMA_RANK = 1 << 24


class Columns(NamedTuple):
    """The columns of a table.

    Attributes
    ----------
    byte_of : int64[n]
        A byte of each byte column; these come first.
    n_tokens : int
        Classes of atomic tokens, a column each, behind them; last comes the end of the text.
    """

    byte_of: npt.NDArray[np.int64]
    n_tokens: int

    @property
    def first_token(self) -> int:
        """The first column of atomic tokens."""
        return len(self.byte_of)

    @property
    def end(self) -> int:
        """The column of the end of the text."""
        return len(self.byte_of) + self.n_tokens


def plain_moves(automaton: Dfa, base: int, columns: Columns, n_callees: int) -> I32:
    """Moves of an automaton that call nothing, int32[n_states, n_columns], as state indices."""
    table = automaton.table
    moves = np.zeros((automaton.n_states, columns.end + 1), np.int32)
    targets = table[:, automaton.classes[columns.byte_of]]
    moves[:, : columns.first_token] = np.where(targets, targets + base, 0)
    first = automaton.n_classes + n_callees
    tokens = table[:, first : first + columns.n_tokens]
    start = columns.first_token
    moves[:, start : start + tokens.shape[1]] = np.where(tokens, tokens + base, 0)
    return moves


def first_columns(
    automata: list[Dfa],
    calls: Calls,
    moves: list[I32],
    columns: Columns,
    n_rules: int,
    n_schemas: int,
) -> tuple[Mask, list[int]]:
    """For each callee the columns a call can begin with, bool[n, n_columns], and its rank.

    A callee's rank is below those of all that it can call first.
    """
    first = np.zeros((n_rules + n_schemas, columns.end + 1), np.bool_)
    first[n_rules:, : columns.first_token] = True
    ranks = [_SCHEMA_RANK] * (n_rules + n_schemas)
    begins = [
        [callee for state, callee, _ in calls[rule] if state == automata[rule].start]
        for rule in range(n_rules)
    ]
    rules = [[callee for callee in own if callee < n_rules] for own in begins]
    for number, (rule,) in enumerate(strongly_connected(rules)):
        first[rule] = moves[rule][automata[rule].start] != 0
        for callee in begins[rule]:
            first[rule] |= first[callee]
        ranks[rule] = n_rules - number
    return first, ranks


def follow_columns(
    automata: list[Dfa],
    calls: Calls,
    moves: list[I32],
    columns: Columns,
    first: Mask,
    entry: int,
) -> Mask:
    """Columns that can come after each automaton, bool[n, n_columns]."""
    follow = np.zeros((max(len(automata), len(first)), columns.end + 1), np.bool_)
    follow[entry, columns.end] = True
    inherits: list[tuple[int, int]] = []
    for caller, own in enumerate(calls):
        begins = moves[caller] != 0
        for state, callee, _ in own:
            begins[state] |= first[callee]
        for _, callee, back in own:
            if callee != caller or not repeats(automata[caller], back):
                follow[callee] |= begins[back]
            if automata[caller].labels[back] and callee != caller:
                inherits.append((callee, caller))
    inherits = list(dict.fromkeys(inherits))
    before = -1
    while before != (before := int(follow.sum())):
        for callee, caller in inherits:
            follow[callee] |= follow[caller]
    return follow


def repeats(automaton: Dfa, back: int) -> bool:
    """Whether all accepting states go on as ``back`` does, which accepts, wherever it can go on."""
    accepting = automaton.labels != 0
    row = automaton.table[back]
    return bool(accepting[back] and ((row == 0) | (automaton.table[accepting] == row)).all())
