"""Strings of bounded length but some: tries of those, that others fall out of into the counter.

Where a trie ends the number of characters read so far is known, so that falling out is setting the
counter of ``counting.count_characters`` and going on. Between two characters it is a call of the
strings of so many less, of which the state is nearly the first one, so that its row is cut from
that one's. A trie with one string more is a copy of the states on that string's ways; all others it
has in common with the trie before.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import I32
from ..automata import Dfa
from ..kernels import layout
from . import spelling
from .counting import Characters
from .key_tries import copy_state
from .strings import encoded

if TYPE_CHECKING:
    from .shared_states import SharedStates

__all__ = ["CountedTries"]

_MOST_KEPT = 16  # sets that others are looked for among

#: A state behind a byte, and how many characters have begun.
_Place = tuple[int, int]


class CountedTries:
    """Counted strings without some.

    Parameters
    ----------
    shared : SharedStates
    strings : Characters
        All of them, in any number of characters.
    least, most : int, and int or None
        Bounds of that number.
    """

    def __init__(
        self, shared: SharedStates, strings: Characters, least: int, most: int | None
    ) -> None:
        self._shared = shared
        self._tables = tables = shared.tables
        self._strings = strings
        self._bounds = least, most
        _, count, _, state = tables.program_of(shared.counted(strings, least, most))
        self._first: _Place = state, count
        self._roots: OrderedDict[frozenset[Any], int] = OrderedDict()
        self._rows: dict[_Place, I32] = {}
        self._own: set[int] = set()  # states of tries

    def root(self, left_out: frozenset[Any]) -> int:
        """The state behind the opening quote where some strings are left out."""
        known: frozenset[Any] = max(
            (some for some in self._roots if some <= left_out), key=len, default=frozenset()
        )
        root = self._roots.get(known, 0) or self._falling_state(self._first)
        self._roots[known] = root
        self._roots.move_to_end(known)
        for text in sorted(left_out - known):
            root = self._with(root, text)
        self._roots[left_out] = root
        if len(self._roots) > _MOST_KEPT:
            self._roots.popitem(last=False)
        return root

    def _with(self, root: int, text: str) -> int:
        """The trie ``root`` without one string more, whose spellings meet at each character."""
        tables = self._tables
        dfa = spelling.key_language(Dfa.literal(encoded(text)), self._shared.policy)
        if dfa.is_empty:
            return root
        made: dict[tuple[int, int, _Place], int] = {}
        todo: list[tuple[int, int, _Place]] = []
        moves: list[tuple[int, int, int]] = []

        def state_of(place: tuple[int, int, _Place]) -> int:
            """The state of a place: of the automaton, of the old trie or 0, and of all strings."""
            state = made.get(place)
            if state is None:
                _, old, inside = place
                state = copy_state(tables, old) if old else self._falling_state(inside)
                self._own.add(state)
                made[place] = state
                todo.append(place)
            return state

        first = state_of((dfa.start, root, self._first))
        while todo:
            place = todo.pop()
            state, (at, _, inside) = made[place], place
            row = tables.row(state)
            for low, high, target in dfa.byte_ranges(at):
                for byte in range(low, high + 1):
                    below = int(row[byte])
                    behind = self._behind(inside, self._actions(inside[0])[byte])
                    if dfa.labels[target] or behind is None:
                        row[byte] = layout.DEAD
                    elif below != layout.DEAD:
                        old = below if below in self._own else 0
                        row[byte] = state_of((target, old, behind))
                        moves.append((state, byte, int(row[byte])))
        # What leads to nothing but the quote that is left out is left out, too.
        is_pruned = True
        while is_pruned:
            is_pruned = False
            for state, byte, below in reversed(moves):
                if tables.row(state)[byte] and not tables.row(below).any():
                    tables.row(state)[byte] = layout.DEAD
                    is_pruned = True
        return first

    def _falling_state(self, place: _Place) -> int:
        """A new state from which every byte goes on as from a place of all strings."""
        tables, (least, most) = self._tables, self._bounds
        state = tables.new_states(1)
        self._own.add(state)
        inside, count = place
        row = tables.row(state)
        row[:] = self._row(place)
        if inside == self._first[0] and (most is None or count < most):
            fewer = None if most is None else most - count
            opening = self._shared.counted(self._strings, max(0, least - count), fewer)
            called = tables.program_of(opening)[3]
            row[row != layout.DEAD] = self._shared.call(called, self._shared.end)
            at = state >> tables.shift
            tables.models[2 * at : 2 * at + 2] = called, self._shared.end
            tables.roots[at] = layout.MODELLED
        return state

    def _row(self, place: _Place) -> I32:
        """The actions of a place of all strings, the counter being set."""
        row = self._rows.get(place)
        if row is None:
            actions = self._actions(place[0])
            row = self._rows[place] = np.zeros_like(actions)
            for action in np.unique(actions[actions != layout.DEAD]).tolist():
                behind = self._behind(place, action)
                if behind is not None:
                    state, count = behind
                    row[actions == action] = self._tables.program(layout.SET, count, 0, state)
        return row

    def _actions(self, state: int) -> I32:
        row = self._tables.row(state)
        if row[0] == layout.EXPAND:
            self._tables.make_state(state)
        return row

    def _behind(self, place: _Place, action: int) -> _Place | None:
        """Where an action of a place leads; None where it is dead."""
        action, count = int(action), place[1]
        while action < 0:
            kind, bound, _, action = self._tables.program_of(action)
            if kind == layout.COUNT:
                count += 1
            is_over = kind != layout.ENOUGH and count > bound
            if is_over or (kind == layout.ENOUGH and count < bound):
                return None
        return (action, count) if action else None
