"""Strings of many characters: an automaton, and beside it a counter instead of copies.

The language without its bounds is laid out twice: plainly, and with programs that count each
character in the frame's register and let no more begin than can still be finished in time. What
bounds leave of a mask is cut from the plain one by length (``kernels.lengths``).

Cost: what the language costs without bounds, whatever the bounds are.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..automata import Dfa
from ..embedding import Counted, Embedded
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
        places, behind, between = _places()
        # Every state accepts what leads to it; their intersection is minimal, if this is not.
        marks = np.minimum(np.arange(strings.n_states, dtype=np.int32), 1)
        beginnings = Dfa.of_minimal(strings.arrays._replace(labels=marks))
        self.dfa = dfa = places & beginnings
        self.end = int(np.flatnonzero(dfa.labels == behind)[0])
        self.between = dfa.labels == between
        edges = _Edges(dfa, self.end, self.between)
        self.missing = edges.missing()
        self.is_dense = edges.can_take_more(self.missing)
        self.is_endless = edges.can_go_on()


@cache
def _places() -> tuple[Dfa, int, int]:
    """All texts of strings, each state with a label; those behind the quote and between two."""
    texts = any_string()
    marks = np.arange(texts.n_states, dtype=np.int32)
    behind = int(np.flatnonzero(texts.labels)[0])
    return Dfa(texts.classes, texts.table, texts.start, marks), behind, texts.start


class _Edges:
    """The moves of an automaton, each pair of states once, by their source."""

    def __init__(self, dfa: Dfa, end: int, between: npt.NDArray[np.bool_]) -> None:
        table = dfa.table
        changes = np.ones(table.shape, np.bool_)
        np.not_equal(table[:, 1:], table[:, :-1], out=changes[:, 1:])
        changes &= table != 0
        self.source = np.nonzero(changes)[0]
        self.target = table[changes].astype(np.int64)
        self.n_states, self.end = len(table), end
        # The move that closes the string begins no character.
        self.begins = between[self.source] & (self.target != end)
        self.sources, self.firsts = np.unique(self.source, return_index=True)

    def missing(self) -> npt.NDArray[np.int64]:
        """Of each state how many characters have to come at least, one that is begun left out."""
        missing = np.full(self.n_states, _FAR, np.int64)
        missing[self.end] = 0
        while True:
            following = missing[self.target] + self.begins
            best = missing.copy()
            least = np.minimum.reduceat(following, self.firsts)
            best[self.sources] = np.minimum(best[self.sources], least)
            if np.array_equal(best, missing):
                return missing
            missing = best

    def can_take_more(self, missing: npt.NDArray[np.int64]) -> bool:
        """Whether from everywhere a character can come that keeps all larger numbers in reach.

        That is one behind which as many are missing as before, or one less, and so on from there.
        """
        before, after = missing[self.source], missing[self.target]
        near = (self.target != self.end) & (after <= before)
        near &= after >= before - (self.begins & (before > 0))
        return self._everywhere(near)

    def can_go_on(self) -> bool:
        """Whether every state can come to one that comes again; every circle has a character."""
        return self._everywhere(self.target != self.end)

    def _everywhere(self, of_edge: npt.NDArray[np.bool_]) -> bool:
        """Whether some move out of every state but those without any is marked.

        Such moves lead to states with such moves, so they can be followed for ever.
        """
        some = np.logical_or.reduceat(of_edge, self.firsts)
        return bool(some[self.sources != self.end].all())


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
    program = tables.program
    plain = Embedded(tables, dfa, end, strings.end)
    closed = program(layout.ENOUGH, least, 0, end) if least else end
    counting = Embedded(tables, dfa, closed, strings.end, is_shared=False)
    ids = counting.codes[0].astype(np.int64)
    room = limit - missing
    begun = np.zeros(n, np.int64)  # one more character begins with the move to a state
    possible = room > 0
    possible[0] = False
    begun[possible] = tables.programs(layout.COUNT, room[possible], least, ids[possible])
    within = ids.copy()  # moves inside a character, to where more may be missing than seemed
    if most is not None:
        within[1:] = tables.programs(layout.AT_MOST, room[1:], 0, ids[1:])
    begun[strings.end] = within[strings.end] = closed
    counting.codes = np.stack((ids, begun, within)).astype(np.int32)
    counting.between = strings.between.astype(np.uint8)
    counting.missing = missing
    bounds = program(layout.COUNT, limit - int(missing[1:].max()), least, 0)
    texts, behind, _ = _places()
    tables.count(
        Counted(
            counting.first,
            plain.first,
            missing[1:].astype(np.int16),
            bounds,
            texts.arrays,
            behind,
            dfa.labels[1:].copy(),
        )
    )
    return program(layout.SET, 0, 0, counting.start)
