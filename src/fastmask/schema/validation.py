"""Whether a JSON value is in a formula, told from the normal form alone.

This is how the algebra is judged: against validators, with nothing of the text in between. Members
are asked by a loop over suspended steps, so values may nest to any depth.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from .constants import ARRAY, NUMBER, OBJECT, STRING, exact, value_type
from .values import AMONG, EXCEPT, FALSE, TRUE, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["holds"]

_Steps = Generator[tuple[Value, Any], bool, bool]


def holds(formulas: Formulas, value: Value, instance: Any) -> bool:
    """Whether ``instance`` is in ``value``."""
    stack = [_value(formulas, value, instance)]
    answer: Any = None
    while stack:
        try:
            question = stack[-1].send(answer)
        except StopIteration as done:
            answer = done.value
            stack.pop()
        else:
            stack.append(_value(formulas, *question))
            answer = None
    return bool(answer)


def _value(formulas: Formulas, value: Value, instance: Any) -> _Steps:
    if value is TRUE:
        return True
    if value is FALSE:
        return False
    if value.kind in {AMONG, EXCEPT}:
        found = formulas.constants.key(instance) in value.constants
        return found if value.kind == AMONG else not found
    type_ = value_type(instance)
    check = _CHECKS[type_]
    for conjunction in formulas.conjunctions(value, type_):
        if (yield from check(formulas, conjunction, instance)):
            return True
    return False


def _atom(formulas: Formulas, conjunction: Any, instance: Any) -> _Steps:
    return formulas.constants.key(instance) in conjunction.allowed
    yield


def _number(formulas: Formulas, conjunction: Any, instance: Any) -> _Steps:
    return bool(conjunction.contains(exact(instance), isinstance(instance, int)))
    yield


def _string(formulas: Formulas, conjunction: Any, instance: str) -> _Steps:
    return (
        conjunction._fits(instance)
        and all(formulas.passes(test, instance) for test in conjunction.passes)
        and not any(formulas.passes(test, instance) for test in conjunction.fails)
    )
    yield


def _array(formulas: Formulas, conjunction: Any, instance: list[Any]) -> _Steps:
    length = len(instance)
    if length < conjunction.shortest or (
        conjunction.longest is not None and length > conjunction.longest
    ):
        return False
    if conjunction.excluded and formulas.constants.key(instance) in conjunction.excluded:
        return False
    if conjunction.unique is not None:
        keys = [formulas.constants.key(item) for item in instance]
        if (len(set(keys)) == length) is not conjunction.unique:
            return False
    for position, item in enumerate(instance):
        wanted = conjunction.item(position)
        if wanted is not TRUE and not (yield wanted, item):
            return False
    for value, least, most in conjunction.counts:
        number = 0
        for item in instance:
            number += yield value, item
        if number < least or (most is not None and number > most):
            return False
    for first, end, value in conjunction.somewhere:
        for item in instance[first:end]:
            if (yield value, item):
                break
        else:
            return False
    return True


def _object(formulas: Formulas, conjunction: Any, instance: dict[str, Any]) -> _Steps:
    number = len(instance)
    if number < conjunction.shortest or (
        conjunction.longest is not None and number > conjunction.longest
    ):
        return False
    if conjunction.excluded and formulas.constants.key(instance) in conjunction.excluded:
        return False
    for name, (_, required) in conjunction.keys.items():
        if required and name not in instance:
            return False
    for name, member in instance.items():
        wanted = formulas.member(conjunction, name)
        if wanted is not TRUE and not (yield wanted, member):
            return False
    for where, value in conjunction.somewhere:
        for name, member in instance.items():
            if formulas.in_class(name, where) and (yield value, member):
                break
        else:
            return False
    return True


_CHECKS: list[Any] = [_atom, _atom, None, None, None, None]
_CHECKS[NUMBER], _CHECKS[STRING], _CHECKS[ARRAY], _CHECKS[OBJECT] = (
    _number,
    _string,
    _array,
    _object,
)
