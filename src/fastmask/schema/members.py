"""Several different values of a formula: up to so many, or all there are.

Uniqueness and exclusions need more than one instance. The same least fixpoint as in
`fastmask.schema.emptiness`, over lists of values that grow until they are long enough or nothing
grows any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from ..errors import BudgetError
from .constants import (
    ARRAY,
    BOOLEAN,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Key,
    can_be_spelled,
    json_number,
)
from .placing import item_plans, key_plans
from .values import AMONG, FALSE, Value

if TYPE_CHECKING:
    from .emptiness import Emptiness
    from .formulas import Formulas

__all__ = ["Members", "assign"]

_ATTEMPT_LIMIT = 5_000
_ITEM_LIMIT = 2_000

Question = tuple[Any, int]  # a value formula or a conjunction, and how many values are wanted


class Members:
    """Values of formulas, remembered."""

    def __init__(self, formulas: Formulas, emptiness: Emptiness) -> None:
        self._formulas = formulas
        self._emptiness = emptiness
        self._final: dict[Question, list[Key]] = {}

    def of(self, formula: Any, number: int) -> list[Key]:
        """Up to ``number`` different values of a formula or conjunction, as keys."""
        question = (formula, number)
        if question not in self._final:
            with self._formulas.question():
                self._solve(question)
        return self._final[question]

    def _solve(self, root: Question) -> None:
        found: dict[Question, list[Key]] = {}
        readers: dict[Question, dict[Question, None]] = {}
        stack = [root]
        attempts = 0
        while stack:
            question = stack.pop()
            if question in self._final:
                continue
            attempts += 1
            self._formulas.spend()
            if attempts > _ATTEMPT_LIMIT:
                raise BudgetError(
                    "attempts to list values", _ATTEMPT_LIMIT, "use smaller sets of unique items"
                )
            missing: list[Question] = []

            def ask(
                value: Value,
                number: int,
                reader: Question = question,
                missing: list[Question] = missing,
            ) -> list[Key]:
                wanted = (value, number)
                known = self._final.get(wanted)
                if known is not None:
                    return known
                readers.setdefault(wanted, {})[reader] = None
                if wanted not in found:
                    found[wanted] = []
                    missing.append(wanted)
                return found[wanted]

            formula, number = question
            before = len(found.setdefault(question, []))
            values = list(islice(self._values(formula, number, ask), number))
            if len(values) > before:
                found[question] = values
                if len(values) == number:
                    self._final[question] = values
                stack.extend(readers.get(question, ()))
            if missing:
                stack.append(question)
                stack.extend(missing)
        self._final.update(found)

    def _values(self, formula: Any, number: int, ask: Any) -> Iterator[Key]:
        seen: set[Key] = set()
        for key in self._all_values(formula, number, ask):
            if key not in seen:
                seen.add(key)
                yield key

    def _all_values(self, formula: Any, number: int, ask: Any) -> Iterator[Key]:
        if not isinstance(formula, Value):
            yield from self._of_conjunction(formula, number, ask)
        elif formula.kind == AMONG:
            spelled = filter(self._emptiness.spells, filter(can_be_spelled, formula.constants))
            yield from sorted(spelled, key=repr)
        elif formula is not FALSE:
            for type_ in range(6):
                if formula.types >> type_ & 1:
                    for conjunction in self._emptiness.conjunctions(formula, type_):
                        yield from self._of_conjunction(conjunction, number, ask)

    def _of_conjunction(self, conjunction: Any, number: int, ask: Any) -> Iterator[Key]:
        type_ = conjunction.type
        if type_ in {NULL, BOOLEAN}:
            yield from sorted(filter(self._emptiness.spells, conjunction.allowed), key=repr)
        elif type_ in {NUMBER, STRING}:
            yield from self._emptiness.first(conjunction, number)
        elif type_ == ARRAY:
            yield from self._arrays(conjunction, number, ask)
        elif type_ == OBJECT:
            yield from self._objects(conjunction, number, ask)

    def _arrays(self, conjunction: Any, number: int, ask: Any) -> Iterator[Key]:
        constants = self._formulas.constants
        wanted = number + len(conjunction.excluded)
        plans = item_plans(
            self._formulas, conjunction, lambda value: bool(ask(value, wanted)), longer=wanted
        )
        for plan in plans:
            length = sum(times for _, times in plan)
            if length > _ITEM_LIMIT:
                raise BudgetError("items of one array", _ITEM_LIMIT, "lower minItems")
            room = wanted + (length if conjunction.unique else 0)
            choices = [ask(value, room) for value, times in plan for _ in range(times)]
            rows = _distinct(choices) if conjunction.unique else product(*choices)
            for row in rows:
                if conjunction.unique is False and len(set(row)) == len(row):
                    continue
                key = constants.key(list(map(self.json, row)))
                if key not in conjunction.excluded:
                    yield key

    def _objects(self, conjunction: Any, number: int, ask: Any) -> Iterator[Key]:
        constants = self._formulas.constants
        wanted = number + len(conjunction.excluded)
        more = max(wanted, conjunction.shortest)  # as many keys as it has to have, too
        plans = key_plans(
            self._formulas,
            conjunction,
            lambda value: bool(ask(value, wanted)),
            self._emptiness,
            more=more,
        )
        for plan in plans:
            members = plan.members()
            choices = [ask(value, wanted) for _, value in members]
            for row in product(*choices):
                instance = {
                    name: self.json(key) for (name, _), key in zip(members, row, strict=True)
                }
                key = constants.key(instance)
                if key not in conjunction.excluded:
                    yield key

    @staticmethod
    def json(key: Key) -> Any:
        """The JSON value of a key."""
        if isinstance(key, str):
            return key
        return json_number(key) if not hasattr(key, "value") else key.value


def assign(choices: list[list[Key]]) -> list[Key] | None:
    """One value from each list, all different, or None (augmenting paths, Berge 1957)."""
    owner: dict[Key, int] = {}
    result: list[Any] = [None] * len(choices)
    for start in range(len(choices)):
        came_from: dict[Key, int] = {}
        queue = [start]
        end: Key | None = None
        for place in queue:
            for key in choices[place]:
                if key in came_from:
                    continue
                came_from[key] = place
                if key not in owner:
                    end = key
                    break
                queue.append(owner[key])
            if end is not None:
                break
        if end is None:
            return None
        while True:
            place = came_from[end]
            previous = result[place]
            owner[end], result[place] = place, end
            if previous is None:
                break
            end = previous
    return result


def _distinct(choices: list[list[Key]]) -> Iterator[tuple[Key, ...]]:
    """Rows of different values, one from each list; the first of them may come again."""
    first = assign(choices)
    if first is None:
        return
    yield tuple(first)
    stack: list[tuple[Key, ...]] = [()]
    while stack:
        row = stack.pop()
        left = [[key for key in options if key not in row] for options in choices[len(row) :]]
        if assign(left) is None:
            continue
        if not left:
            yield row
            continue
        stack.extend((*row, key) for key in reversed(left[0]))
