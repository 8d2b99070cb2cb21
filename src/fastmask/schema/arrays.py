"""Arrays: items by position, how many there are, how many are of a kind, and whether they differ.

An array that asks nothing of its items but one formula needs no register, and where they are only
counted kernels make the registers. Any other has a frame that knows how many items came (as far as
that matters), how many of each kind, which obligations are open, which of the arrays left out are
still equal, and where items must differ (or two must be equal) which values came. Where only a few
values may come each is an alternative of its own; otherwise the value of an item is read off the
text at the comma behind it, and the formula of the next item leaves out all that came. A token that
ends one item and goes on into the next is decided by its text; what no text of the first item can
change is in the row already (``VagueFrame``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UnforeseenError
from ..kernels import layout
from .automaton import MOST_DIFFERENT, finite
from .constants import FIRST_BYTES, Constant, Key
from .containers import Arrays
from .items import FreshStrings, ListedItems
from .values import FALSE, TRUE, Value

if TYPE_CHECKING:
    from .automaton import SchemaAutomaton

__all__ = ["ArrayRule"]

_NONE: frozenset[Any] = frozenset()
_QUOTE = 0x22
_MOST_COMPARED = 8  # items of one type, for the shortest of all
_MOST_COMMAS = 1 << 62  # more than a text holds


class _Seen(NamedTuple):
    """What is known of the items so far."""

    n: int
    counts: tuple[int, ...]
    pending: tuple[int, ...]
    used: frozenset[Key]  # values that came, where they have to be known
    apart: frozenset[Constant]  # arrays left out that begin with these items
    twins: bool  # whether two equal items came, or need not come
    first: bool = False  # whether the last item has to come a second time


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

    def spare_move(self) -> tuple[int, int]:
        """The move on a comma behind an item that is not known: say the shortest there is."""
        return self.rule.behind_shortest(self.seen)


class VagueFrame:
    """The register of an array whose last item is not known: items may begin, but not end."""

    __slots__ = ("_action",)

    def __init__(self, action: int) -> None:
        self._action = action

    def move(self, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        return 0, self._action


class ArrayRule:
    """The states and frames of one conjunction over arrays, whatever arrays it leaves out."""

    def __init__(self, automaton: SchemaAutomaton, conjunction: Any, depth: int) -> None:
        self.automaton = automaton
        self.conjunction = conjunction
        self.depth = depth
        self.tables = automaton.tables
        self._frames: dict[_Seen, ArrayFrame] = {}
        self._finishing: dict[_Seen, bool] = {}
        self._back = self.tables.new_states(1)
        c = conjunction
        self._cap = max(
            len(c.prefix),
            c.shortest,
            c.longest or 0,
            *(max(first + 1, end or 0) for first, end, _ in c.somewhere),
            0,
        )
        is_plain = not (
            c.excluded
            or c.prefix
            or c.shortest
            or c.longest is not None
            or c.counts
            or c.somewhere
            or c.unique is not None
            or automaton.is_empty(c.rest)
        )
        self._open = 0
        self._opening = 0
        self._closing = automaton.shared.closing(0x5D, depth)
        is_alike = c.rest is not FALSE and _is_alike(c)
        if is_plain or (is_alike and c.unique is None):
            item = automaton.call(c.rest, depth + 1, self._back)
            if is_plain:
                self._opening = self._write_states(None, self._closing, item, automaton.end)
            else:
                self._opening = self._write_counted(item)
            return
        if c.unique is True and is_alike:
            listed = ListedItems.of(automaton, c.rest, self._back)
            if listed is not None:
                self._opening = self._write_listed(listed)
                return
        self._is_few = False
        self._few: frozenset[Key] = _NONE
        if c.unique is True:
            lists = [finite(automaton, item, MOST_DIFFERENT) for item in (*c.prefix, c.rest)]
            self._is_few = None not in lists
            self._few = frozenset(lists[-1] or ())
        reads_items = c.unique is not None and not self._is_few
        self._reads_items = reads_items
        if reads_items:
            self.tables.item_end = automaton.shared.item_end
        bodies = layout.DEAD
        if reads_items and is_alike and (c.unique is True or c.longest is None):
            bodies = automaton.unending(c.rest, depth + 1)
        # Whether there are always values that did not come, or how many there are at the least.
        self._is_endless = False
        self._number = 0
        if c.unique is True and is_alike:
            self._is_endless = bool(bodies) or automaton.is_endless(c.rest)
            self._number = 0 if self._is_endless else automaton.number_of_values(c.rest)
        self._fresh = FreshStrings(automaton, self._back)
        self._strings = self._fresh.left_out(c.rest) if self._is_endless else None
        symbols = self.tables.registers.new_symbols(4)
        self._begin, self._close, self._close_empty, self._comma = symbols
        step, program = layout.STEP, self.tables.program
        comma = program(step, self._comma)
        if reads_items:
            comma = program(step, self._comma, layout.ITEM_TEXT, self._behind_some_item())
        at_once = program(step, self._close_empty)
        self._open = self._write_states(
            comma, program(step, self._close), program(step, self._begin), at_once
        )
        self._open_empty = automaton.shared.chain(b"]", at_once)
        self._vague = layout.DEAD
        if bodies or self._number:
            # Behind a comma, whatever the item before it was, so many go on in each of these ways
            # that one value more or less makes no difference; none of them is ended.
            register = self.tables.registers.new_register(VagueFrame(bodies))
            self._vague = program(layout.SET, register, 0, self._next)

    def opening(self, left_out: frozenset[Constant]) -> int:
        """The action on an opening bracket; some arrays are left out."""
        if self._opening:
            return self._opening
        c = self.conjunction
        pending = tuple(range(len(c.somewhere)))
        seen = _Seen(0, (0,) * len(c.counts), pending, _NONE, left_out, c.unique is not False)
        # A line break behind the bracket promises an item.
        is_empty = bool(self.automaton.shared.line(self.depth)) and not self._goes_on(seen)
        state = self._open_empty if is_empty else self._open
        return self.tables.program(layout.SET, self._frame(seen).register, 0, state)

    # --- states ----------------------------------------------------------------------------------

    def _write_states(self, comma: int | None, close: int, item: int, at_once: int) -> int:
        """Write the states; the one behind the opening bracket.

        The actions on a comma (None: just go on), on what closes the array, on the first byte of an
        item, and on the bracket that closes it ``at_once`` are given.
        """
        automaton, tables = self.automaton, self.tables
        key = tables.new_states(1)
        automaton.shared.write_item_bytes(key, item)
        line = automaton.shared.line(self.depth + 1) if item != layout.DEAD else b""
        begin = tables.new_states(1)
        first = automaton.shared.chain(line, key)
        tables.row(begin)[:] = tables.row(first)
        tables.row(begin)[0x5D] = at_once
        self._next = automaton.shared.behind_comma(key, self.depth + 1)
        following = self._next if comma is None else comma
        back = tables.new_states(1)
        automaton.shared.write_behind(back, following, close, 0x5D, self.depth)
        automaton.shared.write_gap(self._back, back, "")
        return begin if line else automaton.shared.gap(begin, "")

    def _write_counted(self, item: int) -> int:
        """Write the states where items are only counted: steps are the commas and the bracket.

        The register counts commas, so that the items themselves are no steps.
        """
        c, program, registers = self.conjunction, self.tables.program, self.tables.registers
        if self.automaton.is_empty(c.rest) or c.longest == 0:
            item = layout.DEAD
        comma, close = registers.new_symbols(2)
        opening = self._write_states(
            layout.DEAD if c.longest == 1 else program(layout.STEP, comma),
            program(layout.STEP, close),
            item,
            layout.DEAD if c.shortest else self.automaton.end,
        )
        registers.define(comma, layout.ITEM, action=self._next)
        registers.define(close, layout.CLOSE, action=self._closing)
        least, most = (
            min(max((items or 0) - 1, 0), _MOST_COMMAS) for items in (c.shortest, c.longest)
        )
        rule = registers.new_rule(None, 0, 0, least, most)
        return program(layout.SET, registers.object_register(rule, 0, 0, 0), 0, opening)

    def _write_listed(self, listed: ListedItems) -> int:
        """Write the states where each item is another one of a list."""
        c, program, registers = self.conjunction, self.tables.program, self.tables.registers
        most = listed.number if c.longest is None else min(listed.number, c.longest)
        comma, close = registers.new_symbol(), registers.new_symbol()
        registers.define(comma, layout.COMMA)
        registers.define(close, layout.CLOSE, action=self._closing)
        opening = self._write_states(
            program(layout.STEP, comma),
            program(layout.STEP, close),
            listed.action if 0 < most >= c.shortest else layout.DEAD,
            layout.DEAD if c.shortest else self.automaton.end,
        )
        listed.write_ends()
        register = listed.register(c.shortest, most, self._next)
        return program(layout.SET, register, 0, opening)

    def _behind_some_item(self) -> int:
        """The state behind a comma from which all is read that may begin an item, and all else.

        Of an item that is a string all is read up to what follows it.
        """
        tables, shared = self.tables, self.automaton.shared
        anything = tables.new_states(1)
        tables.row(anything)[:] = anything
        begin = tables.new_states(1)
        rest = self.conjunction.rest
        if _is_alike(self.conjunction) and not self.automaton.is_empty(rest):
            behind = tables.new_states(1)
            shared.write_behind(behind, anything, anything, 0x5D, self.depth)
            back = shared.gap(behind, "")
            shared.write_item_bytes(begin, self.automaton.call(rest, self.depth + 1, back))
            return shared.behind_comma(begin, self.depth + 1)
        for value in (*self.conjunction.prefix, self.conjunction.rest):
            for type_, first_bytes in FIRST_BYTES.items():
                if value.types >> type_ & 1:
                    tables.row(begin)[[*first_bytes]] = anything
        if tables.row(begin)[_QUOTE]:
            back, string = tables.new_states(1), tables.new_states(1)
            shared.write_behind(back, anything, anything, 0x5D, self.depth)
            tables.row(string)[_QUOTE] = shared.key_body()[0]
            tables.row(begin)[_QUOTE] = shared.call(string, shared.gap(back, ""))
        return shared.behind_comma(begin, self.depth + 1)

    # --- frames ----------------------------------------------------------------------------------

    def _frame(self, seen: _Seen) -> ArrayFrame:
        frame = self._frames.get(seen)
        if frame is None:
            frame = self._frames[seen] = ArrayFrame(self, seen)
            frame.register = self.tables.registers.new_register(frame)
        return frame

    def move(self, frame: ArrayFrame, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        seen = frame.seen
        if symbol in (self._close, self._close_empty):
            end = self._closing if symbol == self._close else self.automaton.end
            return 0, end if self._may_close(seen) else layout.DEAD
        if symbol == self._begin:
            if self._is_endless:
                return 0, self.tables.choice([*self._endless_actions(seen)])
            codes = [code for way in self._options(seen) for code in self._item_actions(*way)]
            return 0, self.tables.choice(codes)
        if self._remembers(seen):
            if symbol == self._comma:
                return 0, self._vague if self._surely_goes_on(seen) else layout.DEAD
            if symbol == self.tables.registers.other_item:
                if self._is_endless:
                    return self.behind_item(seen)
                raise UnforeseenError
            value = self.automaton.key_of_text(symbol)
            self._fresh.follow(seen.used, value)
            seen = seen._replace(used=seen.used | {value}, first=False)
        return self.behind_item(seen)

    def _item_actions(self, after: _Seen, value: Value) -> Iterator[int]:
        """The actions on the first byte of an item, behind which ``after`` is known."""
        program, register = self.tables.program, self._frame(after).register
        if self._reads_items:
            strings = self._fresh.action(value)
            if strings:
                yield program(layout.SET, register, 0, strings)
                value = self.automaton.formulas.conjunction(value, self._fresh.others)
        if value is not FALSE and not self.automaton.is_empty(value):
            call = self.automaton.call(value, self.depth + 1, self._back)
            yield program(layout.SET, register, 0, call)

    def _endless_actions(self, seen: _Seen) -> Iterator[int]:
        """The same where there are always values that did not come."""
        if not self._goes_on(seen):
            return
        program, formulas = self.tables.program, self.automaton.formulas
        n = min(seen.n + 1, self._cap)
        register = self._frame(seen._replace(n=n, first=False)).register
        value, used = self.conjunction.rest, seen.used
        if self._strings is not None:
            # Their trie is made of the strings alone, so that there is no formula for every set.
            strings = frozenset(key for key in used if isinstance(key, str))
            fresh = self._fresh.without(strings | self._strings)
            yield program(layout.SET, register, 0, fresh)
            value, used = formulas.conjunction(value, self._fresh.others), used - strings
        value = formulas.exclude(value, used)
        if self._strings is None or not self.automaton.is_empty(value):
            call = self.automaton.call(value, self.depth + 1, self._back)
            yield program(layout.SET, register, 0, call)

    def behind_shortest(self, seen: _Seen) -> tuple[int, int]:
        """The register behind a comma and the shortest item that can have come."""
        if self._remembers(seen):
            formulas, emptiness = self.automaton.formulas, self.automaton.emptiness
            item = formulas.exclude(self.conjunction.item(max(0, seen.n - 1)), seen.used)
            if _is_alike(self.conjunction):
                values = [
                    value
                    for type_ in range(6)
                    if item.types >> type_ & 1
                    for conjunction in emptiness.conjunctions(item, type_)
                    for value in emptiness.members(conjunction, _MOST_COMPARED)
                ]
                values.sort(key=_size)
            else:
                values = emptiness.members(item, 1)  # which can have come is not known
            shortest = formulas.constants.keys(values[:1])
            seen = seen._replace(used=seen.used | shortest, first=False)
        return self.behind_item(seen)

    def behind_item(self, seen: _Seen) -> tuple[int, int]:
        """The register behind a comma, and the action to go on with."""
        if not self._goes_on(seen):
            return 0, layout.DEAD
        return self._frame(seen).register, self._next

    def _goes_on(self, seen: _Seen) -> bool:
        """Whether one more item may come."""
        if self._is_endless:
            longest = self.conjunction.longest
            return longest is None or seen.n < longest
        return bool(self._options(seen))

    def _surely_goes_on(self, seen: _Seen) -> bool:
        """Whether one more item may come whatever the last one was, which is not in ``seen.used``.

        Only where all items are alike.
        """
        c = self.conjunction
        if c.longest is not None and seen.n >= c.longest:
            return False
        return not self._number or self._are_left(seen, 1 + (seen.n >= c.shortest))

    def _are_left(self, seen: _Seen, more: int) -> bool:
        """Whether it is sure that so many values did not come beside those that still have to."""
        missing: int = max(0, self.conjunction.shortest - seen.n)
        return self._number >= len(seen.used) + missing + more

    def _remembers(self, seen: _Seen) -> bool:
        """Whether values that come matter later and are told by their texts."""
        return self._reads_items and (not seen.twins or self.conjunction.unique is True)

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
                behind = seen._replace(n=seen.n + 1, counts=counts, pending=pending, first=False)
                for after_item, item in self._apart(behind, self._different(behind, wanted)):
                    if not self._are_left(behind, 1) and (item is FALSE or is_empty(item)):
                        continue
                    if self._can_finish(after_item):
                        options.append((after_item, item))
        return options

    def _settlings(self, seen: _Seen) -> list[tuple[int, ...]]:
        choices: list[tuple[int, ...]] = [()]
        for i in seen.pending:
            first, end, _ = self.conjunction.somewhere[i]
            if first <= seen.n and (end is None or seen.n < end):
                choices += [(*choice, i) for choice in choices]
        return choices

    def _different(self, behind: _Seen, item: Value) -> list[tuple[_Seen, Value]]:
        """The item as far as equal ones are concerned, and what is known behind it."""
        formulas = self.automaton.formulas
        join, among = formulas.conjunction, formulas.among
        used = behind.used
        if self.conjunction.unique is True:
            if not self._is_few:
                return [(behind, formulas.exclude(item, used | self._needed(behind)))]
            constants = finite(self.automaton, item, MOST_DIFFERENT) or []
            return [
                (behind._replace(used=used | {k}), join(item, among((k,))))
                for k in constants
                if k not in used
            ]
        if behind.twins:
            return [(behind, item)]
        again = behind._replace(twins=True, used=_NONE)
        ways = [(again, join(item, among(used)))]
        if self._can_finish(behind):
            ways.append((behind, formulas.exclude(item, used)))
        else:
            # Only an item that can come a second time later.
            twice = formulas.disjunction(*self._twice(behind, item))
            ways.append((behind._replace(first=True), formulas.exclude(twice, used)))
        return ways

    def _twice(self, behind: _Seen, item: Value) -> Iterator[Value]:
        """The values of the last item with which the array can be finished if they come again.

        The arrays left out are not looked at.
        """
        join, negation = self.automaton.formulas.conjunction, self.automaton.formulas.negation
        complete = behind._replace(twins=True, used=_NONE, apart=_NONE)
        for place, later in enumerate(self._items(behind.n)):
            # Whether it meets an obligation the second time is known.
            cases = [join(item, later)]
            for i in behind.pending:
                value = self.conjunction.somewhere[i][2]
                cases = [join(case, part) for case in cases for part in (value, negation(value))]
            for case in cases:
                if self._has_end_with(complete, place, case):
                    yield case

    def _needed(self, behind: _Seen) -> frozenset[Key]:
        """Values that have to be kept for items to come, so that the one before must not be."""
        if self._is_endless or self._may_close(behind) or self._are_left(behind, 1):
            return _NONE
        constants, emptiness = self.automaton.formulas.constants, self.automaton.emptiness
        rest = self._rest(behind)
        if rest is None:
            return _NONE
        if _is_alike(rest):
            values = emptiness.members(rest.rest, rest.shortest + 1)
            return constants.keys(values) if len(values) == rest.shortest else _NONE
        if self.automaton.is_empty(rest):
            return _NONE
        # Whatever is in no way to finish the array can be spared.
        needed = set()
        for value in constants.keys(emptiness.witness(rest)):
            without = self._rest(behind._replace(used=behind.used | {value}))
            if without is None or self.automaton.is_empty(without):
                needed.add(value)
        return frozenset(needed)

    def _items(self, first: int) -> list[Value]:
        """The formulas of all items from a position on."""
        c = self.conjunction
        end = max(first, len(c.prefix)) + 1
        if c.longest is not None:
            end = min(end, c.longest)
        return [c.item(place) for place in range(first, end)]

    def _apart(
        self, behind: _Seen, ways: list[tuple[_Seen, Value]]
    ) -> Iterator[tuple[_Seen, Value]]:
        """Ways for an item, split by which of the arrays left out they go on to equal."""
        place = behind.n - 1
        n = min(behind.n, self._cap)
        parts = [(e, e.items[place]) for e in behind.apart if len(e.items) > place]
        for after, item in ways:
            for value, apart in self.automaton.ways_apart(item, parts):
                yield after._replace(apart=apart, n=behind.n if apart else n), value

    # --- what can still be finished --------------------------------------------------------------

    def _may_close(self, seen: _Seen) -> bool:
        c = self.conjunction
        return (
            seen.n >= c.shortest
            and not seen.pending
            and seen.twins
            and all(n >= least for n, (_, least, _) in zip(seen.counts, c.counts, strict=True))
            and all(len(left_out.items) != seen.n for left_out in seen.apart)
        )

    def _can_finish(self, seen: _Seen) -> bool:
        """Whether an array that has come so far can be finished."""
        if seen.first and seen.apart:
            # What the last item is, and would be a second time, is known.
            last = next(iter(seen.apart)).items[seen.n - 1]
            return self._can_finish(seen._replace(used=seen.used | {last}, first=False))
        if self._is_endless or self._may_close(seen) or seen.first:
            return True
        c = self.conjunction
        if (
            c.longest is None
            and not c.prefix
            and c.unique is None
            and not seen.pending
            and not seen.apart
            and (len(c.counts) <= 1)
        ):
            return True
        if self._number and self._are_left(seen, 0):
            return True
        if self._is_few and _is_alike(c):
            return bool(len(self._few.difference(seen.used)) >= c.shortest - seen.n)
        known = self._finishing.get(seen)
        if known is None:
            known = self._finishing[seen] = self._has_end(seen)
        return known

    def _rest(self, seen: _Seen) -> Arrays | None:
        """What has to follow, as an array of its own; None if nothing can."""
        c, formulas = self.conjunction, self.automaton.formulas
        rest = Arrays()
        exclude = formulas.exclude
        used = seen.used if c.unique is True else _NONE
        rest.prefix = tuple(exclude(value, used) for value in c.prefix[seen.n :])
        rest.rest = exclude(c.rest, used)
        rest.shortest = max(0, c.shortest - seen.n)
        rest.longest = None if c.longest is None else c.longest - seen.n
        rest.somewhere = tuple(
            (max(0, first - seen.n), None if end is None else end - seen.n, value)
            for first, end, value in (c.somewhere[i] for i in seen.pending)
        )
        rest.unique = c.unique if c.unique is True or not seen.twins else None
        constant = formulas.constants.key
        rest.excluded = frozenset(constant(e.value[seen.n :]) for e in seen.apart)
        wanted = Arrays()
        wanted.counts = tuple(
            (value, max(0, least - n), None if most is None else most - n)
            for (value, least, most), n in zip(c.counts, seen.counts, strict=True)
        )
        return rest.meet(wanted, formulas)

    def _has_end(self, seen: _Seen) -> bool:
        """Whether items can follow that finish the array."""
        formulas, is_empty = self.automaton.formulas, self.automaton.is_empty
        rest = self._rest(seen)
        if rest is not None:
            if rest.unique is True and _is_alike(rest):
                values = self.automaton.emptiness.members(rest.rest, rest.shortest)
                return len(values) == rest.shortest
            if not is_empty(rest):
                return True
        if seen.twins or not seen.used:
            return False
        # One more of the values that came makes two equal ones.
        complete, came = seen._replace(twins=True), formulas.among(seen.used)
        return any(
            self._has_end_with(complete, place, formulas.conjunction(item, came))
            for place, item in enumerate(self._items(seen.n))
        )

    def _has_end_with(self, seen: _Seen, place: int, item: Value) -> bool:
        """Whether items can follow that finish the array, one at some place in a formula."""
        one = Arrays()
        one.prefix = (*((TRUE,) * place), item)
        one.shortest = place + 1
        rest = self._rest(seen)
        with_one = None if rest is None else rest.meet(one, self.automaton.formulas)
        return with_one is not None and not self.automaton.is_empty(with_one)


def _size(value: Any) -> int:
    """How long a value is, but for white space and numbers that are no floats."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def _is_alike(arrays: Any) -> bool:
    """Whether all items are asked the same, but that they differ."""
    return not (arrays.prefix or arrays.counts or arrays.somewhere or arrays.excluded)
