"""How far a text is from its end: the fewest bytes that close the frames on a stack.

The frames of a pushdown automaton are closed one after the other, so the distance of a stack is the
sum over its frames, and the distance of a set of stacks the least of theirs. Within a frame it is a
shortest path over pairs of a state and a register (Dijkstra 1959) whose edges are bytes, of length
1, and calls, as long as the callee's own shortest text. Callees may call one another in circles:
a call waits in its caller's queue under a lower bound, and the callee's search goes on only as far
as that bound is asked for. What is found is kept, for every place along the path.

Items that must differ are an exception: what came is left out, but not what the path itself would
write, so there the distance is a lower bound.

Which keys an object still needs does not depend on their order, so a search asks the object for
those worth trying (``ObjectRule.ways``) instead of spelling every key in every order.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import BudgetError
from .kernels import layout
from .tables import Tables

__all__ = ["UNREACHABLE", "Distances"]

#: The distance of what can never be finished.
UNREACHABLE = 1 << 60
_BUDGET = 1_000_000  # places looked at for one question

_GOAL, _PLACE, _CALL = 0, 1, 2
_QUOTE = 0x22

Mask = npt.NDArray[np.bool_]


class _Place(NamedTuple):
    """A state and a register in one frame; the columns that may be read next, None for all."""

    state: int
    register: int
    columns: bytes | None = None


class _Search:
    """The shortest path from one place to the end of its frame, as far as it was asked for."""

    __slots__ = ("bound", "came_from", "distance", "n", "queue")

    def __init__(self, start: _Place) -> None:
        self.bound = 0  # the distance is no less
        self.distance: int | None = None
        self.came_from: dict[_Place, tuple[int, _Place | None]] = {start: (0, None)}
        self.queue: list[tuple[int, int, int, Any]] = [(0, _PLACE, 0, start)]
        self.n = 0

    def push(self, length: int, kind: int, what: Any) -> None:
        self.n += 1
        heapq.heappush(self.queue, (length, kind, self.n, what))

    def reach(self, length: int, place: _Place, before: _Place) -> None:
        """Note a way to a place, if it is the shortest so far."""
        known = self.came_from.get(place)
        if known is None or length < known[0]:
            self.came_from[place] = (length, before)
            self.push(length, _PLACE, place)


class Distances:
    """The distances in one grammar's tables. Every call needs the lock of the arena in use.

    Parameters
    ----------
    tables : Tables
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._searches: dict[_Place, _Search] = {}
        self._moves: dict[tuple[int, int], tuple[int, int]] = {}

    def of_place(self, state: int, register: int) -> int:
        """Bytes from a place to the end of its frame; `UNREACHABLE` if there is none.

        An atomic token counts as one byte.

        Raises
        ------
        BudgetError
            The search was given up.
        """
        if state == self._tables.final_state:
            return 0
        search = self._search(_Place(state, register))
        if search.distance is None:
            self._run(search)
        assert search.distance is not None
        return search.distance

    def _search(self, place: _Place) -> _Search:
        search = self._searches.get(place)
        if search is None:
            search = self._searches[place] = _Search(place)
        return search

    def _run(self, first: _Search) -> None:
        """Finish a search, and of those it needs as much as it asks for."""
        left = _BUDGET
        asked = [(first, UNREACHABLE)]
        while asked:
            search, bound = asked[-1]
            if search.distance is not None or search.bound > bound:
                asked.pop()
                continue
            if not search.queue:
                search.distance = search.bound = UNREACHABLE
                continue
            length, kind, _, what = search.queue[0]
            search.bound = length
            if length > bound:
                asked.pop()
                continue
            left -= 1
            if not left:
                raise BudgetError("places", _BUDGET, "the shortest end is too far to be looked for")
            heapq.heappop(search.queue)
            if kind == _GOAL:
                self._finish(search, length, what)
            elif kind == _PLACE:
                if length == search.came_from[what][0]:
                    self._expand(search, length, what)
            else:
                base, callee, back, before = what
                if callee.distance is None and callee.bound <= length - base:
                    search.push(length, _CALL, what)
                    asked.append((callee, length - base))
                    continue
                far = base + (callee.bound if callee.distance is None else callee.distance)
                if callee.distance is None:
                    search.push(far, _CALL, what)
                elif far >= UNREACHABLE:
                    continue
                elif back is None:
                    search.push(far, _GOAL, before)
                else:
                    search.reach(far, back, before)

    def _finish(self, search: _Search, distance: int, last: _Place) -> None:
        """The end was found behind ``last``: it is known now for every place on the way."""
        place: _Place | None = last
        while place is not None:
            length, before = search.came_from[place]
            known = search if before is None else self._search(place)
            known.distance = known.bound = distance - length
            known.queue, known.came_from = [], {}
            place = before

    def _expand(self, search: _Search, length: int, place: _Place) -> None:
        """Follow every action of a place."""
        known = self._searches.get(place)
        if known is not None and known.distance is not None:
            if known.distance < UNREACHABLE:
                search.push(length + known.distance, _GOAL, place)
            return
        row = self._row(place.state)
        columns = row != 0
        if place.columns is not None:
            columns &= np.frombuffer(place.columns, np.bool_)
        todo: list[tuple[int, int, int, Mask | None]] = []
        for code in np.unique(row[columns]).tolist():
            todo.append((code, place.register, length, columns & (row == code)))
        frame = self._object(place.register)
        if frame is not None and frame.begins_key(int(row[_QUOTE])):
            todo = [item for item in todo if item[0] != row[_QUOTE]]
            if columns[_QUOTE]:
                todo += [(code, r, length + n - 1, None) for n, r, code in frame.ways()]
        calls: dict[tuple[int, int, int], Mask | None] = {}
        jumps: dict[tuple[int, int], Mask | None] = {}
        while todo:
            code, register, at, where = todo.pop()
            if code > 0:
                search.reach(at + 1, _Place(code, register), place)
            elif code == layout.RETURN:
                search.push(at, _GOAL, place)
            elif code <= layout.PROGRAM:
                kind, a, b, then = self._tables.program_of(code)
                if kind == layout.CHOICE:
                    todo += [(c, register, at, where) for c in self._tables.alternatives(a, b)]
                elif kind == layout.SET:
                    todo.append((then, a, at, where))
                elif kind == layout.COUNT:
                    if register < a:
                        todo.append((then, register + 1, at, where))
                elif kind == layout.ENOUGH:
                    if register >= a:
                        todo.append((then, register, at, where))
                elif kind == layout.AT_MOST:
                    if register <= a:
                        todo.append((then, register, at, where))
                elif kind == layout.STEP:
                    after, action = self._move(register, a, b == layout.ITEM_TEXT)
                    todo.append((action, after, at, where))
                elif kind == layout.JUMP:
                    jumps[a, register] = _joined(jumps.get((a, register), _NOWHERE), where)
                else:
                    assert kind == layout.PUSH
                    key = (a, b, register)
                    calls[key] = _joined(calls.get(key, _NOWHERE), where)
        for (state, register), where in jumps.items():
            search.reach(length, self._restricted(state, register, where), place)
        for (callee, back, register), where in calls.items():
            behind = _Place(back, register) if back else None
            called = self._search(self._restricted(callee, 0, where))
            search.push(length + called.bound, _CALL, (length, called, behind, place))

    def _object(self, register: int) -> Any:
        """The object that a register stands for, if it does: it may also be a count."""
        frame = self._tables.frame(register)
        return frame if hasattr(frame, "ways") else None

    def _row(self, state: int) -> npt.NDArray[np.int32]:
        """The actions of a state, made if they were not yet."""
        tables = self._tables
        row = tables.row(state)
        if row[0] == layout.EXPAND:
            tables.make_state(state)
        return row

    def _restricted(self, state: int, register: int, where: Mask | None) -> _Place:
        """A place of which only some columns may be read."""
        row = self._tables.row(state)
        # A state that is not made yet is the first of a value, and called on all it begins with.
        if where is None or row[0] == layout.EXPAND or not ((row != 0) & ~where).any():
            return _Place(state, register)
        return _Place(state, register, where.tobytes())

    def _move(self, register: int, symbol: int, reads_item: bool) -> tuple[int, int]:
        move = self._moves.get((register, symbol))
        if move is None:
            frame: Any = self._tables.frame(register)
            # Which item it was is not known: say one that no later item would have been.
            move = frame.spare_move() if reads_item else frame.move(symbol)
            self._moves[register, symbol] = move
        return move


_NOWHERE: Mask = np.zeros(0, np.bool_)


def _joined(one: Mask | None, other: Mask | None) -> Mask | None:
    """The columns of either; None stands for all."""
    if one is None or other is None:
        return None
    return one | other if one.size else other
