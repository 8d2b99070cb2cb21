"""Which formulas hold nothing, and an instance of those that hold something.

A least fixpoint: a formula holds something if one of its alternatives does, given what is known of
its members; nothing is assumed of a formula that is still being asked about. Questions are answered
by a loop over a stack: an attempt that meets an unanswered question is put back below it, and one
that failed is tried again when a formula it asked about turns out to hold something. A "yes" is
final at once, a "no" when the loop has run dry.

Most formulas need none of this: what their schema says of some type is plainly possible
(``plain.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..automata import Dfa
from ..errors import BudgetError
from .constants import ARRAY, NULL_KEY, NUMBER, OBJECT, STRING, Key, can_be_spelled, json_number
from .members import Members
from .numbers import first_numbers
from .placing import KeyPlan, item_plans, key_plans
from .plain import Plainness, is_plain
from .strings import first_strings, has_string, some_string
from .values import AMONG, FALSE, TRUE, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["Emptiness"]

_ATTEMPT_LIMIT = 200_000
_WITNESS_LIMIT = 1_000_000
# A conjunction, and how to fill it: `KeyPlan`, `ItemPlan`, or the key of a value. Without a
# conjunction, the key of a value.
Plan = tuple[Any, Any]


class Emptiness:
    """Facts about which formulas and conjunctions of one schema hold something."""

    def __init__(self, formulas: Formulas) -> None:
        self._formulas = formulas
        self._members = Members(formulas, self)
        self._plans: dict[Any, Plan] = {}
        self._empty: set[Any] = set()
        self._plain = Plainness(formulas)

    def holds_something(self, question: Any) -> bool:
        """Whether a value formula, or a conjunction, holds any value."""
        if self.surely_holds(question):
            return True
        if question in self._plans:
            return True
        if question in self._empty:
            return False
        if question.__class__ is not Value and question.type < ARRAY:
            plan = self._fill(question, None)
            if plan is None:
                self._empty.add(question)
            else:
                self._plans[question] = plan
            return plan is not None
        with self._formulas.question():
            self._solve(question)
        return question in self._plans

    def conjunctions(self, value: Value, type_: int) -> tuple[Any, ...]:
        """Alternatives of a formula for one type; a value has to be in one of them."""
        return self._formulas.conjunctions(value, type_)

    def first(self, conjunction: Any, number: int) -> list[Key]:
        """Up to ``number`` different numbers or strings of a conjunction."""
        if conjunction.type == NUMBER:
            return list(first_numbers(conjunction, number))
        return list(first_strings(self._formulas, conjunction, number))

    def spells(self, key: Key) -> bool:
        """Whether a constant can be written."""
        return True

    def spells_key(self, name: str) -> bool:
        """Whether a key can be."""
        return True

    def spelled_keys(self, keys: Dfa) -> Dfa:
        """The keys that can be, given by their UTF-8; a few that cannot may be left."""
        return keys

    def members(self, question: Any, number: int) -> list[Any]:
        """Up to ``number`` different JSON values of a formula or conjunction."""
        return list(map(self._members.json, self._members.of(question, number)))

    def witness(self, question: Any) -> Any:
        """A JSON value of a formula or conjunction that holds something."""
        made: dict[Any, Any] = {}
        stack = [question]
        size = 0
        while stack:
            current = stack[-1]
            if current in made:
                stack.pop()
                continue
            conjunction, filling = self._plan(current)
            parts = _parts(filling)
            missing = [part for part in parts if part not in made]
            if missing:
                stack.extend(missing)
                continue
            size += sum(times for _, times in filling) if isinstance(filling, list) else 1
            if size > _WITNESS_LIMIT:
                raise BudgetError("items of an instance", _WITNESS_LIMIT, "lower minItems")
            made[current] = self._build(conjunction, filling, made)
            stack.pop()
        return made[question]

    # Plans to values.

    def _plan(self, question: Any) -> Plan:
        if question is TRUE:
            return (None, NULL_KEY)
        if question not in self._plans:
            self._empty.discard(question)
            self._solve(question)
        return self._plans[question]

    def _build(self, conjunction: Any, filling: Any, made: dict[Any, Any]) -> Any:
        if conjunction is None:
            return self._members.json(filling)
        type_ = conjunction.type
        if isinstance(filling, KeyPlan):
            return {name: made[value] for name, value in filling.members()}
        if isinstance(filling, list):
            return [made[value] for value, times in filling for _ in range(times)]
        if filling is not None:
            return self._members.json(filling)
        if type_ == NUMBER:
            number = json_number(first_numbers(conjunction, 1)[0])
            return float(number) if conjunction.digits is False else number
        if type_ == STRING:
            return some_string(self._formulas, conjunction)
        return self._members.json(min(conjunction.allowed, key=repr))

    # The fixpoint.

    def _solve(self, root: Any) -> None:
        plans, empty = self._plans, self._empty
        readers: dict[Any, dict[Any, None]] = {}
        tried: set[Any] = set()
        stack = [root]
        attempts = 0
        while stack:
            question = stack.pop()
            if question in plans:
                continue
            attempts += 1
            self._formulas.spend()
            if attempts > _ATTEMPT_LIMIT:
                raise BudgetError("emptiness questions", _ATTEMPT_LIMIT, "simplify the schema")
            missing: list[Value] = []

            def can(value: Value, reader: Any = question, missing: list[Any] = missing) -> bool:
                if value in plans or self.surely_holds(value):
                    return True
                if value is FALSE or value in empty:
                    return False
                readers.setdefault(value, {})[reader] = None
                if value not in tried:
                    missing.append(value)
                return False

            tried.add(question)
            plan = self._attempt(question, can, missing)
            if plan is not None:
                plans[question] = plan
                if question is root:
                    return
                stack.extend(reader for reader in readers.pop(question, ()) if reader not in plans)
            elif missing:
                stack.append(question)
                stack.extend(missing)
        empty.update(question for question in tried if question not in plans)

    def _attempt(self, question: Any, can: Any, missing: list[Any]) -> Plan | None:
        if not isinstance(question, Value):
            return self._fill(question, can)
        if question.kind == AMONG:
            plan = self._of_constants(question)
            if plan is not None:
                return plan
        for type_ in range(6):
            if question.types >> type_ & 1:
                for conjunction in self.conjunctions(question, type_):
                    plan = self._fill(conjunction, can)
                    if plan is not None:
                        return plan
                    if missing:
                        return None
        return None

    def _of_constants(self, value: Value) -> Plan | None:
        """A plan for constants: one of them."""
        spelled = filter(can_be_spelled, value.constants)
        key = min(spelled, key=repr, default=None)
        return None if key is None else (None, key)

    def surely_holds(self, question: Any) -> bool:
        """Whether a formula or conjunction holds something, told from its outside."""
        if question.__class__ is Value:
            return self._plain.holds(question)
        return is_plain(question)

    def _fill(self, conjunction: Any, can: Any) -> Plan | None:
        """A plan for one conjunction, as far as is known of its members."""
        type_ = conjunction.type
        if type_ == OBJECT:
            if conjunction.excluded:
                return self._fill_from_members(conjunction)
            for keys in key_plans(self._formulas, conjunction, can, self):
                return (conjunction, keys)
            return None
        if type_ == ARRAY:
            if conjunction.excluded:
                return self._fill_from_members(conjunction)
            for items in item_plans(self._formulas, conjunction, can):
                if not conjunction.unique or sum(times for _, times in items) < 2:
                    return (conjunction, items)
                # From here on there are two items or more, which have to be told apart.
                return self._fill_from_members(conjunction)
            return None
        if type_ == NUMBER:
            return (conjunction, None) if first_numbers(conjunction, 1) else None
        if type_ == STRING:
            return (conjunction, None) if has_string(self._formulas, conjunction) else None
        return (conjunction, None)

    def _fill_from_members(self, conjunction: Any) -> Plan | None:
        keys = self._members.of(conjunction, 1)
        return (conjunction, keys[0]) if keys else None

    def is_hollow(self, conjunction: Any, depth: int) -> bool:
        """Whether a conjunction surely holds nothing, told from its members down to a depth."""
        formulas = self._formulas
        type_ = conjunction.type
        if type_ == NUMBER:
            return not first_numbers(conjunction, 1)
        if type_ == STRING:
            return not has_string(formulas, conjunction)
        if type_ == OBJECT:
            return depth > 0 and any(
                required and self._is_hollow_value(formulas.member(conjunction, name), depth - 1)
                for name, (_, required) in conjunction.keys.items()
            )
        if type_ == ARRAY:
            positions = min(conjunction.shortest, len(conjunction.prefix) + 1)
            return depth > 0 and any(
                self._is_hollow_value(conjunction.item(i), depth - 1) for i in range(positions)
            )
        return False

    def _is_hollow_value(self, value: Value, depth: int) -> bool:
        if value is FALSE:
            return True
        if value.kind == AMONG or self._plain.holds(value):
            return False
        return all(
            self.is_hollow(conjunction, depth)
            for type_ in range(6)
            if value.types >> type_ & 1
            for conjunction in self.conjunctions(value, type_)
        )


def _parts(filling: Any) -> list[Any]:
    if isinstance(filling, KeyPlan):
        return list(dict.fromkeys(value for _, value in filling.members()))
    return [value for value, _ in filling] if isinstance(filling, list) else []
