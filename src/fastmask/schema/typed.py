"""Typed formulas: what a value formula says about values of one JSON type.

A schema's clauses are joined, the duals of its clauses if it is negated. Formulas about the same
value are asked for by suspended steps, run by one loop, so that in-place schemas may nest to any
depth; a schema that comes back to itself without a key or an item in between is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from . import literals as lit
from .constants import ARRAY, BOOLEAN, NULL, NUMBER, Constant, Key
from .containers import Arrays, Objects
from .exclusive import overlaps
from .expand import Typed, all_of, any_of
from .literals import Clause
from .reading import exact_container, read
from .scalars import Atoms, Numbers, Strings
from .values import (
    AMONG,
    AND,
    EVERYTHING,
    EXCEPT,
    NOT_SCHEMA,
    OPEN,
    OR,
    SCHEMA,
    UNKNOWN,
    Value,
)

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["EVERY", "Unfinished", "typed"]

_CLASSES: list[Any] = [Atoms, Atoms, Numbers, Strings, Arrays, Objects]
#: By type: the conjunction without constraints.
EVERY: list[Any] = [
    *(Atoms(type_, Atoms.ALL[type_]) for type_ in (NULL, BOOLEAN)),
    *(class_() for class_ in _CLASSES[NUMBER:]),
]


class Unfinished(Exception):  # noqa: N818 - a signal between formulas, never seen outside
    """A question came back to a formula that is being typed further out."""


def typed(formulas: Formulas, value: Value, type_: int) -> Typed | None:
    """The typed formula of a value formula, made now; None where it has no values of the type.

    Raises `UnsupportedFeatureError` for a schema that applies itself in place, and `Unfinished`
    if the formula is being made already.
    """
    if value.formulas[type_] is OPEN:
        raise Unfinished
    result = _begin(formulas, value, type_)
    if result.__class__ is not GeneratorType:
        value.formulas[type_] = result
        return result  # type: ignore[no-any-return]
    with formulas.question():
        return _run(formulas, value, type_, result)


def _run(formulas: Formulas, value: Value, type_: int, steps: Any) -> Typed | None:
    """Run suspended steps, and those of every formula they ask for."""
    stack: list[tuple[Value, Any]] = [(value, steps)]
    value.formulas[type_] = OPEN
    answer: Any = None
    try:
        while stack:
            current, steps = stack[-1]
            try:
                wanted = steps.send(answer)
            except StopIteration as done:
                answer = current.formulas[type_] = done.value
                stack.pop()
                continue
            answer = wanted.formulas[type_]
            if answer is UNKNOWN:
                begun = _begin(formulas, wanted, type_)
                if begun.__class__ is GeneratorType:
                    wanted.formulas[type_] = OPEN
                    stack.append((wanted, begun))
                    answer = None
                else:
                    answer = wanted.formulas[type_] = begun
            elif answer is OPEN:
                if all(wanted is not open_ for open_, _ in stack):
                    raise Unfinished
                formulas.refuse_loop(wanted)
    finally:
        for current, _ in stack:
            current.formulas[type_] = UNKNOWN
    return answer  # type: ignore[no-any-return]


def _begin(formulas: Formulas, value: Value, type_: int) -> Any:
    """The typed formula at once, or steps that ask for others first."""
    kind = value.kind
    if kind == SCHEMA:
        clauses = read(formulas, value, type_)
        if clauses is None:
            return None
        for clause in clauses:
            if clause[0] > lit.LAST_LITERAL or (
                type_ >= ARRAY and clause[0] == lit.AMONG_CONSTANTS
            ):
                return _clauses(formulas, clauses, type_, True)
        return _CLASSES[type_].of(type_, clauses, formulas)
    if kind == NOT_SCHEMA:
        clauses = read(formulas, formulas.negation(value), type_)
        return EVERY[type_] if clauses is None else _clauses(formulas, clauses, type_, False)
    if kind == AMONG:
        constants = formulas.split(value.constants)[type_]
        return _among(formulas, constants, type_) if constants else None
    if kind == EXCEPT:
        constants = formulas.split(value.constants)[type_]
        literals = ((lit.EXCEPT_CONSTANTS, constants),)
        return _CLASSES[type_].of(type_, literals, formulas) if constants else EVERY[type_]
    if kind == AND:
        return _both(formulas, value, type_) if value.types >> type_ & 1 else None
    if kind == OR:
        return _either(formulas, value, type_) if value.types >> type_ & 1 else None
    return EVERY[type_] if kind == EVERYTHING else None


def _both(formulas: Formulas, value: Value, type_: int) -> Any:
    parts = []
    for part in value.parts:
        typed = yield part
        if typed is None:
            return None
        parts.append(typed)
    return all_of(parts, formulas)


def _either(formulas: Formulas, value: Value, type_: int) -> Any:
    parts = []
    for part in value.parts:
        parts.append((yield part))
    return any_of(parts, EVERY[type_], formulas)


def _among(formulas: Formulas, constants: frozenset[Key], type_: int) -> Typed | None:
    """Some constants of one type."""
    if type_ < ARRAY:
        literals = ((lit.AMONG_CONSTANTS, constants),)
        return _CLASSES[type_].of(type_, literals, formulas)  # type: ignore[no-any-return]
    containers = [constant for constant in constants if isinstance(constant, Constant)]
    containers.sort(key=lambda constant: constant.number)
    exact_ones = [
        _CLASSES[type_].of(type_, exact_container(formulas, constant), formulas)
        for constant in containers
    ]
    return any_of(exact_ones, EVERY[type_], formulas)


def _clauses(formulas: Formulas, clauses: Iterable[Clause], type_: int, positive: bool) -> Any:
    """Steps that join clauses, or that join the duals of one clause or another."""
    literals: list[Clause] = []
    parts: list[Any] = []
    for clause in clauses:
        kind = clause[0]
        if kind > lit.LAST_LITERAL:
            if kind == lit.UNKNOWN:
                part = EVERY[type_]
            else:
                part = yield from _clause(formulas, clause, type_, positive)
            if positive and part is None:
                return None
            parts.append(part)
            continue
        literal = clause if positive else lit.dual(clause, formulas.negation)
        if literal[0] == lit.AMONG_CONSTANTS and type_ >= ARRAY:
            parts.append(_among(formulas, literal[1], type_))
        else:
            literals.append(literal)
    class_ = _CLASSES[type_]
    if positive:
        return all_of([class_.of(type_, literals, formulas), *parts], formulas)
    parts.extend(class_.of(type_, (literal,), formulas) for literal in literals)
    return any_of(parts, EVERY[type_], formulas)


def _clause(formulas: Formulas, clause: Clause, type_: int, positive: bool) -> Any:
    kind = clause[0]
    if kind == lit.VALUE:
        return (yield clause[1] if positive else formulas.negation(clause[1]))
    if kind == lit.ALL:
        return (yield from _clauses(formulas, clause[1], type_, positive))
    if kind == lit.ANY:
        parts = []
        for option in clause[1]:
            part = yield from _clauses(formulas, (option,), type_, positive)
            if part is None and not positive:
                return None
            parts.append(part)
        return any_of(parts, EVERY[type_], formulas) if positive else all_of(parts, formulas)
    if kind == lit.CASES:
        return (yield from _cases(formulas, clause, type_, positive))
    return (yield from _one(formulas, clause[1], type_, positive))


def _cases(formulas: Formulas, clause: Clause, type_: int, positive: bool) -> Any:
    """``if``: the condition and the one, or not the condition and the other."""
    _, condition, then, otherwise = clause
    parts = []
    for guard, result in ((condition, then), (formulas.negation(condition), otherwise)):
        held = yield guard
        wanted = yield result if positive else formulas.negation(result)
        parts.append(None if held is None else all_of((held, wanted), formulas))
    return any_of(parts, EVERY[type_], formulas)


def _one(formulas: Formulas, values: list[Value], type_: int, positive: bool) -> Any:
    """``oneOf``: one branch and none of those that overlap it."""
    branches: list[tuple[Value, Any]] = []
    for value in values:
        typed = yield value
        if typed is not None:
            branches.append((value, typed))
    if positive and len(branches) < 2:
        return branches[0][1] if branches else None
    overlapping = overlaps([typed for _, typed in branches], formulas)
    parts = []
    if positive:
        for (_, typed), others in zip(branches, overlapping, strict=True):
            operands = [typed]
            for other in others:
                operands.append((yield formulas.negation(branches[other][0])))
            parts.append(all_of(operands, formulas))
        return any_of(parts, EVERY[type_], formulas)
    none = []
    for value, _ in branches:
        none.append((yield formulas.negation(value)))
    parts.append(all_of(none, formulas) if none else EVERY[type_])
    for i, others in enumerate(overlapping):
        parts.extend(
            all_of((branches[i][1], branches[j][1]), formulas) for j in sorted(others) if j > i
        )
    return any_of(parts, EVERY[type_], formulas)
