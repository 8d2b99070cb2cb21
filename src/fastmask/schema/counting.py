"""Strings of many characters: an automaton, and beside it a counter instead of copies.

The language without its bounds is laid out twice: plainly, and with programs that count each
character in the frame's register and let no more begin than can still be finished in time. What
bounds leave of a mask is cut from the plain one by length (``kernels.lengths``).

Cost: what the language costs without bounds, whatever the bounds are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..automata import Dfa
from ..kernels import layout
from .string_text import any_string

if TYPE_CHECKING:
    from ..tables import Tables

__all__ = ["Characters", "count_characters"]

_NO_LIMIT = (1 << 31) - 1
_FAR = 30_000


class Characters:
    """An automaton over the texts of strings whose states know where characters begin.

    Parameters
    ----------
    strings : Dfa
        Texts behind an opening quote, closing quote included.

    Attributes
    ----------
    dfa : Dfa
        The same moves; every state accepts, labels tell places within a character apart.
    end : int
        The state behind the closing quote.
    between : bool[n_states]
        Whether a character may begin there.
    missing : int[n_states]
        How many characters have to come at least, one that is begun left out.
    is_dense : bool
        Whether from every state each number of characters from the least on can be read.
    is_endless : bool
        Whether from every state any number of characters can be exceeded.
    """

    def __init__(self, strings: Dfa) -> None:
        places = any_string()
        marks = np.arange(places.n_states, dtype=np.int32)
        marked = Dfa(places.classes, places.table, places.start, marks)
        every = (np.arange(strings.n_states) > 0).astype(np.int32)
        prefixes = Dfa(strings.classes, strings.table, strings.start, every)
        self.dfa = dfa = marked & prefixes
        labels, table = dfa.labels, dfa.table
        behind = int(np.flatnonzero(places.labels)[0])
        self.end = int(np.flatnonzero(labels == behind)[0])
        self.between = labels == places.start
        self.missing = self._missing(table)
        self.is_dense = self._can_take_more(table)
        self.is_endless = self._can_go_on(table)

    def _missing(self, table: Any) -> npt.NDArray[np.int64]:
        missing = np.full(len(table), _FAR, np.int64)
        missing[self.end] = 0
        while True:
            # Of each state the best move; the one that closes the string costs no character.
            following = missing[table]
            following[table == 0] = _FAR
            cost = (self.between[:, None] & (table != self.end)).astype(np.int64)
            best = np.minimum(missing, (following + cost).min(axis=1))
            best[0] = _FAR
            if np.array_equal(best, missing):
                return missing
            missing = best

    def _can_take_more(self, table: Any) -> bool:
        """Whether from everywhere a character can come that keeps all larger numbers in reach.

        That is one behind which as many are missing as before, or one less, and so on from there.
        """
        least = self.missing[:, None] - (self.between[:, None] & (self.missing[:, None] > 0))
        level = self.missing[table]
        near = (table != 0) & (table != self.end) & (level <= self.missing[:, None])
        near &= level >= least
        good = np.ones(len(table), np.bool_)
        while True:
            after = (near & good[table]).any(axis=1)
            after[[0, self.end]] = True
            if (after == good).all():
                return bool(good.all())
            good = after

    def _can_go_on(self, table: Any) -> bool:
        """Whether every state can come to one that comes again; every circle has a character."""
        inside = table != self.end
        good = np.ones(len(table), np.bool_)
        good[[0, self.end]] = False
        while True:
            after = good & (inside & good[table]).any(axis=1)
            if (after == good).all():
                return int(good.sum()) == len(table) - 2
            good = after


def count_characters(
    tables: Tables, strings: Characters, least: int, most: int | None, end: int
) -> int:
    """Lay out strings of ``least`` to ``most`` characters; the action on their opening quote.

    ``end`` is the state behind the closing quote. With ``least`` above 0 the strings have to be
    dense, or endless if there is no ``most``.
    """
    dfa, missing = strings.dfa, strings.missing
    limit = _NO_LIMIT if most is None else most
    n = dfa.n_states
    columns = dfa.classes.astype(np.int64)
    plain = tables.new_states(n - 1) >> tables.shift
    copy = tables.new_states(n - 1) >> tables.shift
    ids = (np.arange(n) + plain - 1) << tables.shift
    ids[0], ids[strings.end] = 0, end
    tables.actions[plain : plain + n - 1, :256] = ids[dfa.table[1:, columns]]
    tables.share(dfa, plain)

    ids = (np.arange(n) + copy - 1) << tables.shift
    ids[0] = 0
    program = tables.program
    begun = np.zeros(n, np.int64)  # one more character begins with the move to a state
    within = ids.copy()  # moves inside a character, to where more may be missing than seemed
    for state in range(1, n):
        room = limit - int(missing[state])
        if room > 0:
            begun[state] = program(layout.COUNT, room, least, int(ids[state]))
        if most is not None:
            within[state] = program(layout.AT_MOST, room, 0, int(ids[state]))
    closed = program(layout.ENOUGH, least, 0, end) if least else end
    begun[strings.end] = within[strings.end] = ids[strings.end] = closed
    table = dfa.table.astype(np.int64)
    farther = missing[table] > missing[:, None]
    inside = np.where(farther, within[table], ids[table])
    moves = np.where(strings.between[:, None], begun[table], inside)
    tables.actions[copy : copy + n - 1, :256] = moves[1:, columns]

    bounds = program(layout.COUNT, limit - int(missing[1:].max()), least, 0)
    tables.count(
        copy << tables.shift,
        plain << tables.shift,
        strings.between[1:],
        missing[1:],
        end,
        bounds,
    )
    return program(layout.SET, 0, 0, int(ids[dfa.start]))
