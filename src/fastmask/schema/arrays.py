"""Arrays: items by position, how many there are, how many are of a kind, and whether they differ.

An array that asks nothing of its items but one formula needs no register. Any other has a frame
that knows how many items came (as far as that matters), how many of each kind, which obligations
are open and, where items must differ and only finitely many may come, which of them came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UnsupportedFeatureError
from ..kernels import layout
from .automaton import MOST_DIFFERENT, finite
from .values import FALSE, Value

if TYPE_CHECKING:
    from .automaton import SchemaAutomaton

__all__ = ["ArrayRule"]

_NONE: frozenset[Any] = frozenset()


class _Seen(NamedTuple):
    """What is known of the items so far."""

    n: int
    counts: tuple[int, ...]
    pending: tuple[int, ...]
    used: frozenset[Any]


class ArrayFrame:
    """The register of one array."""

    __slots__ = ("register", "rule", "seen")

    def __init__(self, rule: ArrayRule, seen: _Seen) -> None:
        self.rule = rule
        self.seen = seen
        self.register = 0

    def move(self, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        return self.rule.move(self, symbol)


class ArrayRule:
    """The states and frames of one conjunction over arrays.

    Attributes
    ----------
    opening : int
        The action on an opening bracket.
    """

    def __init__(self, automaton: SchemaAutomaton, conjunction: Any, depth: int) -> None:
        self.automaton = automaton
        self.conjunction = conjunction
        self.depth = depth
        self.tables = automaton.tables
        self._frames: dict[_Seen, ArrayFrame] = {}
        self._finishing: dict[_Seen, bool] = {}
        self._back = self.tables.new_states(1)
        c = conjunction
        is_plain = not (
            c.prefix
            or c.shortest
            or c.longest is not None
            or c.counts
            or c.somewhere
            or c.unique is not None
            or automaton.is_empty(c.rest)
        )
        self._cap = max(
            len(c.prefix),
            c.shortest,
            c.longest or 0,
            *(max(first + 1, end or 0) for first, end, _ in c.somewhere),
            0,
        )
        if is_plain:
            item = automaton.call(c.rest, depth + 1, self._back)
            self.opening = self._write_states(None, automaton.end, item)
            return
        if c.unique is False:
            raise UnsupportedFeatureError("not uniqueItems", "two equal items cannot be promised")
        self._begin, self._close, self._comma = (self.tables.new_symbol() for _ in range(3))
        step = self.tables.program
        codes = [step(layout.STEP, s) for s in (self._begin, self._close, self._comma)]
        first = self._frame(_Seen(0, (0,) * len(c.counts), tuple(range(len(c.somewhere))), _NONE))
        opening = self._write_states(codes[2], codes[1], codes[0])
        self.opening = step(layout.SET, first.register, 0, opening)

    # --- states ----------------------------------------------------------------------------------

    def _write_states(self, comma: int | None, close: int, item: int) -> int:
        """Write the states; the one behind the opening bracket.

        The actions on a comma (None: just go on), on the closing bracket, and on the first byte of
        an item are given.
        """
        automaton, tables = self.automaton, self.tables
        key = tables.new_states(1)
        automaton.write_item_bytes(key, item)
        line = automaton.line(self.depth + 1)
        begin = tables.new_states(1)
        first = automaton.chain(line, key)
        tables.row(begin)[:] = tables.row(first)
        tables.row(begin)[0x5D] = close
        self._next = automaton.behind_comma(key, self.depth + 1)
        back = tables.new_states(1)
        row = tables.row(back)
        row[0x2C] = self._next if comma is None else comma
        row[0x5D] = close
        automaton.fix_before(back, 0x5D, self.depth)
        automaton.write_gap(self._back, back, "")
        return begin if line else automaton.gap(begin, "")

    # --- frames ----------------------------------------------------------------------------------

    def _frame(self, seen: _Seen) -> ArrayFrame:
        frame = self._frames.get(seen)
        if frame is None:
            frame = self._frames[seen] = ArrayFrame(self, seen)
            frame.register = self.tables.new_register(frame)
        return frame

    def move(self, frame: ArrayFrame, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        if symbol == self._close:
            return 0, self.automaton.end if self._may_close(frame.seen) else layout.DEAD
        options = self._options(frame.seen)
        if symbol == self._comma:
            return frame.register, self._next if options else layout.DEAD
        codes = [
            self.tables.program(
                layout.SET,
                self._frame(after).register,
                0,
                self.automaton.call(value, self.depth + 1, self._back),
            )
            for after, value in options
        ]
        return 0, self.tables.choice(codes)

    def _options(self, seen: _Seen) -> list[tuple[_Seen, Value]]:
        """The next item: its formula and what is known behind it, one for each way to count it."""
        c = self.conjunction
        if c.longest is not None and seen.n >= c.longest:
            return []
        formulas, is_empty = self.automaton.formulas, self.automaton.is_empty
        ways: list[tuple[Value, tuple[int, ...]]] = [(c.item(seen.n), ())]
        for (value, least, most), count in zip(c.counts, seen.counts, strict=True):
            after: list[tuple[Value, tuple[int, ...]]] = []
            for formula, counts in ways:
                if most is None or count < most:
                    top = least if most is None else max(least, most)
                    after.append(
                        (formulas.conjunction(formula, value), (*counts, min(count + 1, top)))
                    )
                if most is not None or count < least:
                    outside = formulas.conjunction(formula, formulas.negation(value))
                    after.append((outside, (*counts, count)))
                else:
                    after[-1] = (formula, after[-1][1])
            ways = after
        options = []
        for formula, counts in ways:
            for settled in self._settlings(seen):
                wanted = formula
                for i in settled:
                    wanted = formulas.conjunction(wanted, c.somewhere[i][2])
                pending = tuple(i for i in seen.pending if i not in settled)
                for item, used in self._different(wanted, seen.used):
                    if item is FALSE or is_empty(item):
                        continue
                    behind = _Seen(min(seen.n + 1, self._cap), counts, pending, used)
                    if self._can_finish(behind):
                        options.append((behind, item))
        return options

    def _settlings(self, seen: _Seen) -> list[tuple[int, ...]]:
        choices: list[tuple[int, ...]] = [()]
        for i in seen.pending:
            first, end, _ = self.conjunction.somewhere[i]
            if first <= seen.n and (end is None or seen.n < end):
                choices += [(*choice, i) for choice in choices]
        return choices

    def _different(self, item: Value, used: frozenset[Any]) -> list[tuple[Value, frozenset[Any]]]:
        """The item, or where items must differ each single item that has not come yet."""
        if not self.conjunction.unique or self.conjunction.longest == 1:
            return [(item, used)]
        formulas = self.automaton.formulas
        constants = finite(formulas, item, MOST_DIFFERENT)
        if constants is None:
            raise UnsupportedFeatureError(
                "uniqueItems", "items of which there are more than a few cannot be kept apart"
            )
        join, among = formulas.conjunction, formulas.among
        return [(join(item, among((k,))), used | {k}) for k in constants if k not in used]

    # --- what can still be finished --------------------------------------------------------------

    def _may_close(self, seen: _Seen) -> bool:
        c = self.conjunction
        return (
            seen.n >= c.shortest
            and not seen.pending
            and all(n >= least for n, (_, least, _) in zip(seen.counts, c.counts, strict=True))
        )

    def _can_finish(self, seen: _Seen) -> bool:
        """Whether an array that has come so far can be finished."""
        if self._may_close(seen):
            return True
        c = self.conjunction
        if (
            c.longest is None
            and not c.prefix
            and not c.unique
            and not seen.pending
            and (len(c.counts) <= 1)
        ):
            return True
        known = self._finishing.get(seen)
        if known is None:
            self._finishing[seen] = False  # a circle of arrays alone finishes nothing
            known = any(True for _ in self._options(seen))
            self._finishing[seen] = known
        return known
