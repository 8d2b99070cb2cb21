"""What the states of rules do on each column: move, call, return, or several of these at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ._arrays import I32
from .automata import Dfa
from .kernels import layout
from .networks import Networks
from .rule_columns import Columns, first_columns, follow_columns, plain_moves, repeats

if TYPE_CHECKING:
    from .tables import Tables

__all__ = ["RuleActions"]


class RuleActions:
    """The actions of all rules of a grammar, for one rule after the other.

    Parameters
    ----------
    networks : Networks
    automata : list of Dfa
        Those of the rules, and behind them perhaps one more of the whole text.
    bases : list of int
        For each automaton the state of the tables that its state 0 would have.
    entry : int
        The number of the automaton of the whole text.
    columns : Columns
    n_schemas : int
        Schemas, which are called behind the rules' numbers.
    """

    def __init__(
        self,
        networks: Networks,
        automata: list[Dfa],
        bases: list[int],
        entry: int,
        columns: Columns,
        n_schemas: int,
    ) -> None:
        self._automata = automata
        self._bases = bases
        self.calls = [networks.calls(automaton) for automaton in automata]
        self._moves = moves = [
            plain_moves(automaton, base, columns, networks.n_callees)
            for automaton, base in zip(automata, bases, strict=True)
        ]
        n_rules = len(networks.names)
        self._first, self._ranks = first_columns(
            automata, self.calls, moves, columns, n_rules, n_schemas
        )
        self._follow = follow_columns(automata, self.calls, moves, columns, self._first, entry)

    def of(self, tables: Tables, number: int, starts: list[int]) -> I32:
        """Actions of one automaton's states, int32[n_states, n_columns].

        ``starts`` are the first states of all that can be called.
        """
        automaton, moves = self._automata[number], self._moves[number]
        first, follow = self._first, self._follow[number]
        block = moves << tables.shift
        accepting = automaton.labels != 0
        count = (moves != 0).astype(np.int32)
        pushes: list[tuple[int, int, npt.NDArray[np.bool_]]] = []
        only_returns = accepting & ~automaton.table.any(axis=1)
        for state, callee, back in self.calls[number]:
            # A call needs no frame if nothing is left to do behind it but return (Leo 1991), or
            # only what the callee, which is the same rule, could have gone on with itself.
            is_tail = only_returns[back] or (callee == number and repeats(automaton, back))
            target = 0 if is_tail else (self._bases[number] + back) << tables.shift
            code = tables.program(layout.PUSH, starts[callee], target, self._ranks[callee])
            pushes.append((state, code, first[callee]))
            block[state, (count[state] == 0) & first[callee]] = code
            count[state] += first[callee]
        returns = accepting[:, None] & (follow[None, :] | (count == 0))
        block[returns & (count == 0)] = layout.RETURN
        count += returns
        for state, column in zip(*np.nonzero(count > 1), strict=True):
            options = [code for s, code, begins in pushes if s == state and begins[column]]
            options.append(int(moves[state, column]) << tables.shift)
            if returns[state, column]:
                options.append(layout.RETURN)
            block[state, column] = tables.choice(options)
        return block
