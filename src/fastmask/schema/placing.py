"""How to fill an array or object so that everything a conjunction asks for is met.

A plan names a formula for every item, or for every key; whoever asks decides which formulas can be
filled (``can``). Plans are found by search: each obligation is put on a place that may meet it, and
places are shared where they can be. Of the items past the prefix only how many take on which
obligation matters, and of the undeclared keys only the cells into which the tests cut them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from ..automata import Dfa, any_text, product
from ..errors import BudgetError
from .containers import Arrays, Objects
from .strings import class_language, encoded, texts_of
from .values import FALSE, TRUE, KeyClass, Test, Value

if TYPE_CHECKING:
    from .emptiness import Emptiness
    from .formulas import Formulas

__all__ = ["Cell", "ItemPlan", "KeyPlan", "item_plans", "key_plans"]

_STEP_LIMIT = 20_000
_ROLE_LIMIT = 6

Can: TypeAlias = Callable[[Value], bool]
# Formulas of the items in order, each with how many items in a row it is for.
ItemPlan: TypeAlias = list[tuple[Value, int]]


class _Steps:
    """A budget shared by one search."""

    def __init__(self, formulas: Formulas) -> None:
        self.left = _STEP_LIMIT
        self._formulas = formulas

    def spend(self) -> None:
        self._formulas.spend()
        self.left -= 1
        if self.left < 0:
            raise BudgetError(
                "placements", _STEP_LIMIT, "ask for fewer items or members by formula"
            )


# Arrays.


def item_plans(formulas: Formulas, wanted: Arrays, can: Can, longer: int = 0) -> Iterator[ItemPlan]:
    """Plans of an array, those of the shortest first; equal formulas may be filled alike.

    Lengths are tried up to where every obligation has had its place, and ``longer`` more. What
    uniqueness and exclusions ask for is left to the caller, but for ``unique`` False.
    """
    if wanted.unique is False:
        yield from _plans_with_twins(formulas, wanted, can, longer)
        return
    longest = wanted.shortest + longer
    if wanted.counts or wanted.somewhere:
        needed = sum(least for _, least, _ in wanted.counts) + len(wanted.somewhere)
        longest = max(longest, len(wanted.prefix) + needed + longer)
    if wanted.longest is not None:
        longest = min(longest, wanted.longest)
    steps = _Steps(formulas)
    table: dict[int, list[_Role]] = {}
    for length in range(wanted.shortest, longest + 1):
        if wanted.counts or wanted.somewhere:
            every = wanted.unique is True or longer > 0
            yield from _plans_of_length(formulas, wanted, can, length, table, steps, every)
            continue
        steps.spend()
        listed = wanted.prefix[:length]
        rest = length - len(listed)
        if all(map(can, listed)) and (rest == 0 or can(wanted.rest)):
            plan = [(value, 1) for value in listed]
            yield [*plan, (wanted.rest, rest)] if rest else plan
        elif longest > wanted.shortest:
            return


class _Role:
    """A formula for one item, and the obligations that it takes on there."""

    __slots__ = ("counted", "found", "value")

    def __init__(self, value: Value, counted: tuple[bool, ...], found: frozenset[int]) -> None:
        self.value = value
        self.counted = counted
        self.found = found


def _roles(formulas: Formulas, wanted: Arrays, can: Can, position: int) -> list[_Role]:
    """What an item may be: in or out of each counted formula, with or without obligations."""
    if len(wanted.counts) + len(wanted.somewhere) > _ROLE_LIMIT:
        raise BudgetError("obligations of one array", _ROLE_LIMIT, "use fewer contains")
    roles = [_Role(wanted.item(position), (), frozenset())]
    for value, _, most in wanted.counts:
        outside = TRUE if most is None else formulas.negation(value)
        roles = [
            _Role(formulas.conjunction(role.value, part), (*role.counted, counted), role.found)
            for counted, part in ((True, value), (False, outside))
            for role in roles
        ]
    for number, (first, end, value) in enumerate(wanted.somewhere):
        if first <= position and (end is None or position < end):
            roles.extend(
                _Role(formulas.conjunction(role.value, value), role.counted, role.found | {number})
                for role in list(roles)
            )
    return [role for role in roles if role.value is not FALSE and can(role.value)]


def _plans_of_length(
    formulas: Formulas,
    wanted: Arrays,
    can: Can,
    length: int,
    table: dict[int, list[_Role]],
    steps: _Steps,
    every: bool,
) -> Iterator[ItemPlan]:
    """Plans of one length: all, or one of those that come to the same from some position on."""
    counts = wanted.counts
    ends = [end for _, end, _ in wanted.somewhere if end is not None]
    firsts = [first for first, _, _ in wanted.somewhere]
    listed = max(len(wanted.prefix), *ends, *firsts) if wanted.somewhere else len(wanted.prefix)
    listed = min(listed, length)
    ceilings = tuple(least if most is None else most for _, least, most in counts)
    everything = frozenset(range(len(wanted.somewhere)))
    tried: set[Any] = set()

    def roles_at(position: int) -> list[_Role]:
        if position not in table:
            table[position] = _roles(formulas, wanted, can, position)
        return table[position]

    # Depth first; past the listed positions, roles come in ascending order, fillers last.
    # What was chosen is a chain of (formula, the chain before it).
    stack: list[tuple[int, tuple[int, ...], frozenset[int], int, Any]] = [
        (0, (0,) * len(counts), frozenset(), 0, None)
    ]
    while stack:
        position, numbers, found, lowest, chosen = stack.pop()
        state = (position, numbers, found, lowest)
        if state in tried:
            continue
        if not every:
            tried.add(state)
        steps.spend()
        met = found == everything and all(
            number >= least for number, (_, least, _) in zip(numbers, counts, strict=True)
        )
        left = length - position
        if position >= listed and met:
            if left == 0:
                yield _unchained(chosen)
                continue
            filler = next((r for r in roles_at(listed) if not any(r.counted) and not r.found), None)
            if filler is not None:
                yield [*_unchained(chosen), (filler.value, left)]
                continue
        if left == 0:
            continue
        roles = roles_at(min(position, listed))
        first = lowest if position >= listed else 0
        for number in range(len(roles) - 1, first - 1, -1):
            role = roles[number]
            after = tuple(n + counted for n, counted in zip(numbers, role.counted, strict=True))
            if all(n <= ceiling for n, ceiling in zip(after, ceilings, strict=True)):
                low = number if position >= listed else 0
                stack.append((position + 1, after, found | role.found, low, (role.value, chosen)))


def _unchained(chain: Any) -> ItemPlan:
    plan: ItemPlan = []
    while chain is not None:
        value, chain = chain
        plan.append((value, 1))
    plan.reverse()
    return plan


def _plans_with_twins(
    formulas: Formulas, wanted: Arrays, can: Can, longer: int
) -> Iterator[ItemPlan]:
    """Plans in which two items share a formula, so that both can be the same value.

    What one of them takes on the other one meets as well.
    """
    asked = [value for value, *_ in wanted.counts] + [value for *_, value in wanted.somewhere]
    places = len(wanted.prefix) + 2
    if wanted.longest is not None:
        places = min(places, wanted.longest)
    for second in range(1, places):
        for first in range(second):
            twins = Arrays()
            for name in Arrays.__slots__:
                setattr(twins, name, getattr(wanted, name))
            twins.unique = None
            twins.shortest = max(wanted.shortest, second + 1)
            prefix = [wanted.item(i) for i in range(max(len(wanted.prefix), second + 1))]
            cases = [formulas.conjunction(prefix[first], prefix[second])]
            for value in asked:
                cases += [formulas.conjunction(case, value) for case in cases]
            for both in dict.fromkeys(cases):
                prefix[first] = prefix[second] = both
                twins.prefix = tuple(prefix)
                for plan in item_plans(formulas, twins, can, longer):
                    values = [value for value, times in plan for _ in range(min(times, second + 1))]
                    if values[first] is values[second]:
                        yield plan


# Objects.


class Cell:
    """Undeclared keys that no test of a conjunction tells apart."""

    __slots__ = ("_language", "_texts", "passed", "value")

    def __init__(self, passed: frozenset[Test], value: Value, language: Dfa) -> None:
        self.passed = passed
        self.value = value
        self._language = language
        self._texts: list[bytes] = []

    def lies_in(self, where: KeyClass) -> bool:
        """Whether its keys are in a class (their names are in none)."""
        return self.passed.issuperset(where.inside) and self.passed.isdisjoint(where.outside)

    def is_left(self, emptiness: Emptiness) -> bool:
        """Whether there are keys that can be written; all others go."""
        self._language = emptiness.spelled_keys(self._language)
        return not self._language.is_empty

    def room(self, wanted: int) -> int:
        """How many keys there are, counted up to ``wanted``."""
        return self._language.size_up_to(wanted)

    def keys(self, number: int) -> list[str]:
        """The first keys."""
        if len(self._texts) < number:
            self._texts = texts_of(self._language, number)
        return [text.decode() for text in self._texts[:number]]


class KeyPlan:
    """Formulas of the members by key, and of keys yet to be taken from cells."""

    __slots__ = ("fresh", "named")

    def __init__(self, named: dict[str, Value], fresh: list[tuple[Cell, Value]]) -> None:
        self.named = named
        self.fresh = fresh

    def members(self) -> list[tuple[str, Value]]:
        """Keys with their formulas."""
        result = list(self.named.items())
        used: dict[Cell, int] = {}
        for cell, value in self.fresh:
            number = used.get(cell, 0)
            used[cell] = number + 1
            result.append((cell.keys(number + 1)[number], value))
        return result


def key_plans(
    formulas: Formulas, wanted: Objects, can: Can, emptiness: Emptiness, more: int = 0
) -> Iterator[KeyPlan]:
    """Plans of an object.

    One for each way to meet the obligations; with ``more``, every set of keys beyond them too,
    where of each cell of undeclared keys only the first ``more`` are looked at.
    """
    named: dict[str, Value] = {}
    for name, (_, required) in wanted.keys.items():
        if required:
            named[name] = value = formulas.member(wanted, name)
            if value is FALSE or not can(value) or not emptiness.spells_key(name):
                return
    if not wanted.somewhere and wanted.shortest <= len(named) and not more:
        yield KeyPlan(named, [])
        return
    yield from _Keys(formulas, wanted, can, emptiness, more).plans(named)


# Formulas of keys by name, and of keys that cells are to give.
_Option: TypeAlias = tuple[dict[str, Value], list[tuple[Cell, Value]]]


class _Keys:
    """The search behind `key_plans`."""

    def __init__(
        self, formulas: Formulas, wanted: Objects, can: Can, emptiness: Emptiness, more: int
    ) -> None:
        self._formulas = formulas
        self._emptiness = emptiness
        self._wanted = wanted
        self._can = can
        self._more = more
        self._steps = _Steps(formulas)
        self._cells: list[Cell] | None = None
        names = dict.fromkeys(wanted.keys)
        for where, _ in (*wanted.universals, *wanted.somewhere):
            names.update(dict.fromkeys(sorted(where.names)))
        self._names = names
        self._optional: list[str] | None = None

    def plans(self, named: dict[str, Value]) -> Iterator[KeyPlan]:
        """Place the obligations one by one, then fill up to the least number of keys."""
        somewhere = self._wanted.somewhere
        options: list[Iterator[_Option]] = [iter([(named, [])])]
        while options:
            option = next(options[-1], None)
            if option is None:
                options.pop()
                continue
            taken, fresh = option
            self._steps.spend()
            if not self._fits(len(taken) + len(fresh)):
                continue
            if len(options) > len(somewhere):
                yield from self._filled(taken, fresh)
                continue
            where, value = somewhere[len(options) - 1]
            options.append(self._places(where, value, taken, fresh))

    def _fits(self, number: int) -> bool:
        return self._wanted.longest is None or number <= self._wanted.longest

    def _places(
        self,
        where: KeyClass,
        value: Value,
        taken: dict[str, Value],
        fresh: list[tuple[Cell, Value]],
    ) -> Iterator[_Option]:
        """Where an obligation may go: a key in use, a declared key, an undeclared one."""
        formulas, can = self._formulas, self._can
        for name in [*taken, *(name for name in self._names if name not in taken)]:
            if not formulas.in_class(name, where) or not self._emptiness.spells_key(name):
                continue
            known = taken.get(name) or formulas.member(self._wanted, name)
            joined = formulas.conjunction(known, value)
            if joined is not FALSE and can(joined):
                yield {**taken, name: joined}, fresh
        for i, (cell, known) in enumerate(fresh):
            joined = formulas.conjunction(known, value)
            if cell.lies_in(where) and joined is not FALSE and can(joined):
                yield taken, [*fresh[:i], (cell, joined), *fresh[i + 1 :]]
        for cell in self._all_cells():
            used = sum(other is cell for other, _ in fresh)
            joined = formulas.conjunction(cell.value, value)
            if not cell.lies_in(where) or joined is FALSE or cell.room(used + 1) <= used:
                continue
            if can(joined):
                yield taken, [*fresh, (cell, joined)]

    def _filled(
        self, taken: dict[str, Value], fresh: list[tuple[Cell, Value]]
    ) -> Iterator[KeyPlan]:
        """Add optional keys until there are enough; every set of them if all are asked for."""
        missing = self._wanted.shortest - len(taken) - len(fresh)
        if missing <= 0 and not self._more:
            yield KeyPlan(taken, fresh)
            return
        if self._more:
            yield from self._every_set(taken, fresh)
            return
        optional = [name for name in self._optional_names() if name not in taken][:missing]
        taken = {**taken, **{n: self._formulas.member(self._wanted, n) for n in optional}}
        missing -= len(optional)
        for cell in self._all_cells() if missing > 0 else ():
            if missing > 0 and cell.value is not FALSE and self._can(cell.value):
                used = sum(other is cell for other, _ in fresh)
                room = min(cell.room(used + missing) - used, missing)
                if room > _STEP_LIMIT:
                    raise BudgetError("undeclared keys", _STEP_LIMIT, "lower minProperties")
                fresh = [*fresh, *((cell, cell.value),) * room]
                missing -= room
        if missing <= 0 and self._fits(len(taken) + len(fresh)):
            yield KeyPlan(taken, fresh)

    def _every_set(
        self, taken: dict[str, Value], fresh: list[tuple[Cell, Value]]
    ) -> Iterator[KeyPlan]:
        """Every set of further keys, depth first."""
        named = KeyPlan(taken, fresh).members()
        taken = dict(named)
        member = self._formulas.member
        places = [(name, member(self._wanted, name)) for name in self._optional_names()]
        for cell in self._all_cells():
            if cell.value is not FALSE and self._can(cell.value):
                room = cell.room(self._more + len(fresh))
                places.extend((key, cell.value) for key in cell.keys(room))
        places = [place for place in places if place[0] not in taken]
        stack = [(0, taken, True)]
        while stack:
            first, chosen, is_new = stack.pop()
            if is_new:
                self._steps.spend()
                if not self._fits(len(chosen)):
                    continue
                if len(chosen) >= self._wanted.shortest:
                    yield KeyPlan(chosen, [])
            if first < len(places) and len(chosen) + len(places) - first >= self._wanted.shortest:
                stack.append((first + 1, chosen, False))
                name, value = places[first]
                stack.append((first + 1, {**chosen, name: value}, True))

    def _optional_names(self) -> list[str]:
        if self._optional is None:
            self._optional = []
            for name in self._names:
                value = self._formulas.member(self._wanted, name)
                if value is not FALSE and self._can(value) and self._emptiness.spells_key(name):
                    self._optional.append(name)
        return self._optional

    def _all_cells(self) -> list[Cell]:
        if self._cells is None:
            every = _cells(self._formulas, self._wanted, list(self._names))
            self._cells = [cell for cell in every if cell.is_left(self._emptiness)]
        return self._cells


def _cells(formulas: Formulas, wanted: Objects, names: list[str]) -> Iterator[Cell]:
    """The undeclared keys, cut by every test of the conjunction; no cell is without keys."""
    tests: dict[Test, None] = {}
    for where, _ in (*wanted.universals, *wanted.somewhere):
        tests.update(dict.fromkeys((*where.inside, *where.outside)))
    key = (frozenset(names), tuple(tests))
    languages = formulas.cells.get(key)
    if languages is None:
        languages = formulas.cells[key] = list(_languages(formulas, names, list(tests)))
    for passed, language in languages:
        cell = Cell(passed, TRUE, language)
        for where, value in wanted.universals:
            if cell.lies_in(where):
                cell.value = formulas.conjunction(cell.value, value)
        yield cell


def _languages(
    formulas: Formulas, names: list[str], tests: list[Test]
) -> Iterator[tuple[frozenset[Test], Dfa]]:
    """The sets of tests that keys without these names can pass, and the keys that pass them."""
    known = Dfa.from_strings(sorted(map(encoded, names)))
    joint, sets = product([class_language(formulas, test) for test in tests])
    for label, bits in enumerate(sets):
        if label == 0:
            language = any_text().difference(joint)
        else:
            language = joint.relabelled([int(i == label) for i in range(len(sets))])
        language = language.difference(known)
        if not language.is_empty:
            yield frozenset(test for i, test in enumerate(tests) if bits >> i & 1), language
