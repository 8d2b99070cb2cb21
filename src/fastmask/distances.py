"""How far a text is from its end: the fewest bytes that close the frames on a stack, and which.

The frames of a pushdown automaton are closed one after the other, so the distance of a stack is the
sum over its frames, and the distance of a set of stacks the least of theirs. Within a frame it is a
shortest path over pairs of a state and a register (Dijkstra 1959) whose edges are bytes, of length
1, and calls, as long as the callee's own shortest text. Callees may call one another in circles:
a call waits in its caller's queue under a lower bound, and the callee's search goes on only as far
as that bound is asked for. What is found is kept, for every place along the path.

Which keys an object still needs does not depend on their order. So a search asks the object for
those worth trying (``ObjectRule.ways``) instead of spelling every key in every order, and where
only keys are missing, required ones or some number, it adds up what each of them takes alone, or
the shortest do (``ObjectRule.missing``).
Behind an item that must differ from later ones and is not known yet, the distance is that behind
the shortest item, so it may be a byte or two too large.
"""

from __future__ import annotations

import heapq
import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import BudgetError
from .kernels import layout
from .tables import Tables

__all__ = ["UNREACHABLE", "Distances"]

#: The distance of what can never be finished.
UNREACHABLE = 1 << 60
_SECONDS = 5.0  # for one question: a place may take the front end long to make
_MOST_KEPT = 200_000  # searches

_GOAL, _PLACE, _CALL = 0, 1, 2
_QUOTE = 0x22

#: The order in which equally short texts are preferred: what is plain to read first.
_PLAIN = b'"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'
_ORDER = (
    *_PLAIN,
    *(byte for byte in range(0x20, 0x7F) if byte not in _PLAIN),
    *range(0x20),
    *range(0x7F, 256),
)

Mask = npt.NDArray[np.bool_]


class _Place(NamedTuple):
    """A state and a register in one frame; the columns that may be read next, None for all."""

    state: int
    register: int
    columns: bytes | None = None


class _Step(NamedTuple):
    """What leads on from a place: a byte, an atomic token, calls, or several bytes; and whereto.

    ``calls`` are read up to the place ``until``, or to their end.
    """

    piece: bytes | int = b""
    calls: tuple[_Search, ...] = ()
    until: _Place | None = None
    to: _Place | None = None


class _Call(NamedTuple):
    """Calls that a search waits for: it goes on behind them, or ends."""

    base: int
    step: _Step
    less: int  # bytes of each call that are counted once, with the base
    before: _Place
    others: tuple[_Search, ...] = ()  # calls of which the shortest are made, too,
    more: int = 0  # so many


class _Search:
    """The shortest path from one place to the end of its frame, as far as it was asked for."""

    __slots__ = ("bound", "came_from", "distance", "n", "queue", "step")

    def __init__(self, start: _Place) -> None:
        self.bound = 0  # the distance is no less
        self.distance: int | None = None
        self.step = _Step()  # on the way, once the distance is known
        self.came_from: dict[_Place, tuple[int, _Place | None, _Step]] = {start: (0, None, _Step())}
        self.queue: list[tuple[int, int, int, Any]] = [(0, _PLACE, 0, start)]
        self.n = 0

    @property
    def least(self) -> int:
        """The distance as far as it is known."""
        return self.bound if self.distance is None else self.distance

    def push(self, length: int, kind: int, what: Any) -> None:
        self.n += 1
        heapq.heappush(self.queue, (length, kind, self.n, what))

    def reach(self, length: int, before: _Place, step: _Step) -> None:
        """Note a way to a place, if it is the shortest so far."""
        place = step.to
        assert place is not None
        known = self.came_from.get(place)
        if known is None or length < known[0]:
            self.came_from[place] = (length, before, step)
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
        self._deadline = 0.0
        self._codes: dict[int, list[tuple[int, Mask]]] = {}
        rank = np.full(1 << tables.shift, len(_ORDER))
        np.minimum.at(rank, tables.byte_classes[list(_ORDER)], np.arange(len(_ORDER)))
        self._rank = rank  # of each column by its best byte

    def begin(self) -> None:
        """Begin a question, whose searches are given up when they take too long together."""
        self._deadline = time.monotonic() + _SECONDS

    def of_place(self, state: int, register: int) -> int:
        """Bytes from a place to the end of its frame; `UNREACHABLE` if there is none.

        An atomic token counts as one byte.

        Raises
        ------
        BudgetError
            The search was given up, see `begin`.
        """
        if state == self._tables.final_state:
            return 0
        if len(self._searches) > _MOST_KEPT:
            self._searches = {}
        search = self._search(_Place(state, register))
        if search.distance is None:
            self._run(search)
        assert search.distance is not None
        return search.distance

    def text_of_place(self, state: int, register: int) -> list[bytes | int]:
        """Bytes and atomic tokens of a shortest way to the end of a frame that has one."""
        pieces: list[bytes | int] = []
        if self.of_place(state, register) == 0:
            return pieces
        todo: list[tuple[_Search, _Place | None]] = [(self._search(_Place(state, register)), None)]
        while todo:
            search, until = todo.pop()
            step = search.step
            pieces.append(step.piece)
            if step.to is not None and step.to != until:
                todo.append((self._search(step.to), until))
            todo += [(called, step.until) for called in reversed(step.calls)]
        return pieces

    def _search(self, place: _Place) -> _Search:
        search = self._searches.get(place)
        if search is None:
            search = self._searches[place] = _Search(place)
        return search

    def _run(self, first: _Search) -> None:
        """Finish a search, and of those it needs as much as it asks for."""
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
            if time.monotonic() > self._deadline:
                raise BudgetError("seconds", _SECONDS, "the shortest end is too far to look for")
            heapq.heappop(search.queue)
            if kind == _GOAL:
                self._finish(search, length, *what)
            elif kind == _PLACE:
                if length == search.came_from[what][0]:
                    self._expand(search, length, what)
            else:
                unfinished = self._await(search, length, what)
                if unfinished is not None:
                    asked.append((unfinished, unfinished.bound))

    def _await(self, search: _Search, length: int, call: _Call) -> _Search | None:
        """Go on behind calls as far as they are known; one that has to be searched further."""
        calls = call.step.calls
        if call.others:
            calls += tuple(sorted(call.others, key=lambda other: other.least)[: call.more])
        # Every call reads at least a byte of its own.
        far = call.base + sum(max(1, c.least - call.less) for c in calls)
        unfinished = next((c for c in calls if c.distance is None), None)
        if far >= UNREACHABLE:
            return None
        if unfinished is not None:
            search.push(far, _CALL, call)
            return unfinished if far <= length else None
        step = call.step._replace(calls=calls)
        if step.to is None:
            search.push(far, _GOAL, (call.before, step))
        else:
            search.reach(far, call.before, step)
        return None

    def _finish(self, search: _Search, distance: int, last: _Place, step: _Step) -> None:
        """The end was found behind ``last``: it is known now for every place on the way."""
        place: _Place | None = last
        while place is not None:
            length, before, into = search.came_from[place]
            known = search if before is None else self._search(place)
            known.distance = known.bound = distance - length
            known.step = step
            known.queue = []
            if known is not search:
                known.came_from = {}
            place, step = before, into
        search.came_from = {}

    def _expand(self, search: _Search, length: int, place: _Place) -> None:
        """Follow every action of a place."""
        known = self._searches.get(place)
        if known is not None and known.distance is not None:
            if known.distance < UNREACHABLE:
                search.push(length + known.distance, _GOAL, (place, known.step))
            return
        frame = self._object(place.register)
        if frame is not None and self._add_up(search, length, place, frame):
            return
        row = self._row(place.state)
        quote = 0 if frame is None else int(row[_QUOTE])
        is_key = frame is not None and frame.begins_key(quote)
        allowed = None if place.columns is None else np.frombuffer(place.columns, np.bool_)
        todo: list[tuple[int, int, Mask]] = []
        for code, own in self._actions(place.state):
            where = own if allowed is None else own & allowed
            if where.any() and not (is_key and code == quote):
                todo.append((code, place.register, where))
        if is_key and (allowed is None or allowed[_QUOTE]):
            assert frame is not None
            for key, register, code in frame.ways():
                self._begin(search, length + len(key), place, key, code, register)
        jumps: dict[tuple[int, int], Mask] = {}
        calls: dict[tuple[int, int, int], Mask] = {}
        while todo:
            code, register, where = todo.pop()
            if code > 0:
                column = int(np.where(where, self._rank, len(_ORDER) + 1).argmin())
                step = _Step(self._piece(column), to=_Place(code, register))
                search.reach(length + 1, place, step)
            elif code == layout.RETURN:
                search.push(length, _GOAL, (place, _Step()))
            elif code <= layout.PROGRAM:
                kind, a, b, _ = self._tables.program_of(code)
                if kind == layout.JUMP:
                    jumps[a, register] = jumps.get((a, register), where) | where
                elif kind == layout.PUSH:
                    key_ = (a, b, register)
                    calls[key_] = calls.get(key_, where) | where
                else:
                    todo += [(c, r, where) for c, r in self._outcomes(code, register)]
        for (state, register), where in jumps.items():
            search.reach(length, place, _Step(to=self._restricted(state, register, where)))
        for (callee, back, register), where in calls.items():
            called = self._search(self._restricted(callee, 0, where))
            step = _Step(calls=(called,), to=_Place(back, register) if back else None)
            search.push(length + called.least, _CALL, _Call(length, step, 0, place))

    def _begin(
        self, search: _Search, length: int, before: _Place, key: bytes, code: int, register: int
    ) -> None:
        """Reach what stands behind a key: a colon's call, or several with their own registers."""
        todo = [(code, register)]
        while todo:
            code, register = todo.pop()
            if code > layout.PROGRAM:
                continue
            kind, callee, back, _ = self._tables.program_of(code)
            if kind != layout.PUSH:
                todo += self._outcomes(code, register)
                continue
            # The quote that ends the key is the first byte that is read there.
            called = self._search(_Place(int(self._row(callee)[_QUOTE]), 0))
            step = _Step(key, calls=(called,), to=_Place(back, register))
            search.push(length + called.least, _CALL, _Call(length, step, 0, before))

    def _add_up(self, search: _Search, length: int, place: _Place, frame: Any) -> bool:
        """Behind a member, where only keys are missing: what each takes alone, in sum."""
        missing = frame.missing(place.state)
        if missing is None:
            return False
        end = _Place(place.state, missing.complete)
        closing = self._search(end)
        if closing.distance is None:
            self._run(closing)
        assert closing.distance is not None
        required, others = (
            tuple(self._search(_Place(place.state, register)) for register in registers)
            for registers in (missing.required, missing.others)
        )
        step = _Step(calls=required, until=end, to=end)
        call = _Call(length, step, closing.distance, place, others, missing.more)
        search.push(length, _CALL, call)
        return True

    def _outcomes(self, code: int, register: int) -> list[tuple[int, int]]:
        """The actions and registers that a program, neither call nor jump, comes to."""
        kind, a, b, then = self._tables.program_of(code)
        if kind == layout.CHOICE:
            return [(c, register) for c in self._tables.alternatives(a, b)]
        if kind == layout.SET:
            return [(then, a)]
        if kind == layout.COUNT:
            return [(then, register + 1)] if register < a else []
        if kind == layout.ENOUGH:
            return [(then, register)] if register >= a else []
        if kind == layout.AT_MOST:
            return [(then, register)] if register <= a else []
        assert kind == layout.STEP
        after, action = self._move(register, a, b == layout.ITEM_TEXT)
        return [(action, after)]

    def _object(self, register: int) -> Any:
        """The object that a register stands for, if it does: it may also be a count."""
        frame = self._tables.registers.frame(register)
        return frame if hasattr(frame, "ways") else None

    def _row(self, state: int) -> npt.NDArray[np.int32]:
        """The actions of a state, made if they were not yet."""
        tables = self._tables
        row = tables.row(state)
        if row[0] == layout.EXPAND:
            tables.make_state(state)
            row = tables.row(state)
        return row

    def _actions(self, state: int) -> list[tuple[int, Mask]]:
        """The actions of a state, each with the columns that have it."""
        found = self._codes.get(state)
        if found is None:
            row = self._row(state)
            codes = np.unique(row[row != 0]).tolist()
            found = self._codes[state] = [(code, row == code) for code in codes]
        return found

    def _piece(self, column: int) -> bytes | int:
        """The plainest byte of a column, or an atomic token."""
        rank = int(self._rank[column])
        if rank < len(_ORDER):
            return bytes([_ORDER[rank]])
        return self._tables.atomic_tokens()[column - self._tables.first_token_column]

    def _restricted(self, state: int, register: int, where: Mask) -> _Place:
        """A place of which only some columns may be read."""
        row = self._tables.row(state)
        # A state that is not made yet is the first of a value, and called on all it begins with.
        if row[0] == layout.EXPAND or not ((row != 0) & ~where).any():
            return _Place(state, register)
        return _Place(state, register, where.tobytes())

    def _move(self, register: int, symbol: int, reads_item: bool) -> tuple[int, int]:
        move = self._moves.get((register, symbol))
        if move is None:
            frame: Any = self._tables.registers.frame(register)
            # Which item it was is not known; it is taken for the shortest.
            move = frame.spare_move() if reads_item else frame.move(symbol)
            self._moves[register, symbol] = move
        return move
