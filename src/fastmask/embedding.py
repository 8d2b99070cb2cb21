"""Automata in the rows of tables, written part by part as texts reach their states.

The states of an automaton have places in a row from the beginning, and what is not written yet is
nobody's memory: a string of 28,000 states costs what is reached of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import I32
from .automata import Arrays, Dfa
from .kernels import layout
from .kernels.embed import ENDS, UNSEEN, WAITING, embed_part

if TYPE_CHECKING:
    from .tables import Tables

__all__ = ["Counted", "Embedded"]

_PART = 1024  # states
_WIDE = 32  # bytes that a state reads, from which on grammars share its row
_NEVER = 257


class Embedded:
    """An automaton in some tables.

    Where it accepts and cannot go on it does as the state ``end`` does; an accepting state from
    which nothing more can be read is ``end`` itself.

    Parameters
    ----------
    tables : Tables
    dfa : Dfa
        Not empty.
    end : int
        A state, or an action with ``closing``.
    closing : int, optional
        The only state of the automaton that is ``end``; labels say nothing then.
    is_shared : bool
        Whether other grammars may have the rows of its states.

    Attributes
    ----------
    first, behind : int
        Where the states begin and end (premultiplied, as all states outside of the automaton).
    start : int
        The first state that a text is in; not written yet.
    n_unseen : int
        States that nobody has met.
    codes : int32[n, n_states]
        See `embed_part`.
    """

    def __init__(
        self, tables: Tables, dfa: Dfa, end: int, closing: int | None = None, is_shared: bool = True
    ) -> None:
        n = dfa.n_states
        self._words = tables.record.words
        self._shift = tables.shift
        self._automaton = dfa.arrays
        self._end = end
        self._wide = _WIDE if is_shared else _NEVER
        self._met = np.zeros(n, np.uint8)
        self._queue = np.empty(n, np.int32)
        self.first = tables.new_states(n - 1, is_dead=False)
        self.behind = self.first + (n - 1 << self._shift)
        ids = np.arange(-1, n - 1, dtype=np.int32) << self._shift
        self.codes: I32 = (self.first + ids).reshape(1, n)
        self.codes[0, 0] = layout.DEAD
        self.between = np.zeros(n, np.uint8)
        self.missing = np.zeros(n, np.int64)
        if closing is None:
            self._labels = dfa.arrays.labels
        else:
            self._labels = np.zeros(n, np.int32)
            self._met[closing] = ENDS
            self.codes[0, closing] = end
        self._met[dfa.start] = WAITING
        self.start = int(self.codes[0, dfa.start])
        self.n_unseen = n - 1 - int(np.count_nonzero(self._met))
        tables.row(self.start)[:] = layout.EXPAND
        tables.add_embedded(self)
        if is_shared:
            tables.share(dfa, self.first >> self._shift)

    def write(self, state: int) -> None:
        """Write a state, and some behind it, if it is one of these and not written yet."""
        number = ((state - self.first) >> self._shift) + 1
        if state < self.behind and self._met[number] in {UNSEEN, WAITING}:
            self._write(number, _PART)

    def clear(self, actions: I32) -> None:
        """Make all states dead again."""
        actions[np.flatnonzero(self._met[1:] >= WAITING) + (self.first >> self._shift)] = 0

    def write_all(self) -> None:
        """Write all states."""
        while WAITING in self._met:
            self._write(int(np.argmax(self._met == WAITING)), len(self._met))

    def _write(self, number: int, most: int) -> None:
        embed_part(
            self._words,
            self._automaton.table,
            self._automaton.classes,
            self._labels,
            self.codes,
            self.between,
            self.missing,
            self._met,
            self._queue,
            self._end,
            number,
            most,
            self._wide,
        )
        self.n_unseen = int(np.count_nonzero(self._met[1:] == UNSEEN))


class Counted(NamedTuple):
    """The states of a string, twice: plainly, and beside a count of its characters.

    Attributes
    ----------
    first, plain : int
        The first of the states that count, and of those that do not.
    missing : int16[n]
        By state: how many characters at least have to come, the one begun left out.
    program : int
        A program that has the bounds, short of the most that can be missing.
    texts : Arrays
        The automaton of all texts of strings, closing quote included; its start is between two
        characters.
    behind : int
        Its state behind the closing quote.
    places : int32[n]
        By state: where it is in that automaton.
    """

    first: int
    plain: int
    missing: npt.NDArray[np.int16]
    program: int
    texts: Arrays
    behind: int
    places: I32

    @property
    def spare(self) -> int:
        """The most that can be missing."""
        return int(self.missing.max())
