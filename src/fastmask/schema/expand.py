"""Typed formulas to alternatives: a disjunction of conjunctions, none of which is torn apart again.

A typed formula is a conjunction, or `Choices`: a conjunction and choices that are still open.
Expanding picks the smallest choice and tries its alternatives, after unit propagation: what the
conjunction contradicts is dropped, what it implies is done, and an only alternative is taken. That
keeps products small; merging alternatives that differ in one member keeps sums small.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import BudgetError
from .containers import Arrays, Objects
from .merging import merged
from .scalars import Atoms, Numbers, Strings

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = ["Choices", "Conjunction", "Typed", "all_of", "any_of", "base_of", "expand"]

Conjunction: TypeAlias = Atoms | Numbers | Strings | Arrays | Objects

STEP_LIMIT = 8_000
DISJUNCT_LIMIT = 2_000


class Choices:
    """A conjunction, and choices of which each has to be met by one of its alternatives.

    ``done`` says that nothing is left to expand: no conjunction, one choice of conjunctions.
    """

    __slots__ = ("base", "choices", "done", "type")

    def __init__(
        self, base: Conjunction, choices: tuple[tuple[Typed, ...], ...], done: bool = False
    ) -> None:
        self.type = base.type
        self.base = base
        self.choices = choices
        self.done = done


# None stands for a formula that nothing satisfies.
Typed: TypeAlias = Choices | Conjunction


def base_of(formula: Any) -> Any:
    """The conjunction of a typed formula, its choices apart."""
    return formula.base if formula.__class__ is Choices else formula


def all_of(parts: Iterable[Typed | None], formulas: Formulas) -> Typed | None:
    """The conjunction of typed formulas, at least one."""
    base: Any = None
    choices: list[tuple[Typed, ...]] = []
    for part in parts:
        if part is None:
            return None
        choices.extend(choice for choice in part.choices if choice not in choices)
        more = base_of(part)
        base = more if base is None else base.meet(more, formulas)
        if base is None:
            return None
    return Choices(base, tuple(choices)) if choices else base


def any_of(parts: Iterable[Typed | None], every: Conjunction, formulas: Formulas) -> Typed | None:
    """The disjunction of typed formulas; ``every`` is the conjunction without constraints."""
    plain: dict[Any, Conjunction] = {}
    open_: list[Typed] = []
    for part in parts:
        if part is None:
            continue
        inner: tuple[Any, ...] = (part,)
        if part.__class__ is Choices and part.base is every and len(part.choices) == 1:
            inner = part.choices[0]
        for option in inner:
            if option is every:
                return option
            if option.choices:
                open_.append(option)
            else:
                plain.setdefault(option.identity(), option)
    options = merged(list(plain.values()), formulas) if len(plain) > 1 else list(plain.values())
    options.extend(dict.fromkeys(open_))
    if len(options) < 2:
        return options[0] if options else None
    return Choices(every, (tuple(options),), done=not open_)


def expand(
    formula: Typed | None, formulas: Formulas, step_limit: int = STEP_LIMIT
) -> tuple[Any, ...]:
    """All conjunctions of a typed formula; a value is in the formula if it is in one of them.

    Raises `BudgetError` past ``step_limit`` steps or 2,000 conjunctions.
    """
    if formula is None:
        return ()
    if not formula.choices:
        return (formula,)
    if formula.done:  # type: ignore[union-attr]
        return formula.choices[0]
    found: dict[Any, Any] = {}
    stack: list[tuple[Any, tuple[tuple[Any, ...], ...]]] = [(base_of(formula), formula.choices)]
    steps = 0
    while stack:
        steps += 1
        formulas.spend()
        if steps > step_limit:
            raise BudgetError("expansion steps", step_limit, "combine fewer alternatives")
        base, choices = _propagated(*stack.pop(), formulas)
        if base is None:
            continue
        if not choices:
            found.setdefault(base.identity(), base)
            if len(found) > DISJUNCT_LIMIT:
                raise BudgetError("alternatives", DISJUNCT_LIMIT, "combine fewer alternatives")
            continue
        choice = min(choices, key=len)
        others = tuple(c for c in choices if c is not choice)
        for option in reversed(choice):
            joined = base.meet(base_of(option), formulas)
            if joined is not None:
                stack.append((joined, (*option.choices, *others)))
    results = list(found.values())
    return tuple(merged(results, formulas)) if len(results) > 1 else tuple(results)


def _propagated(
    base: Any, choices: tuple[tuple[Any, ...], ...], formulas: Formulas
) -> tuple[Any, tuple[tuple[Any, ...], ...]]:
    """Drop, finish and take what ``base`` decides, until it decides nothing more."""
    changed = True
    while changed:
        changed = False
        left: list[tuple[Any, ...]] = []
        for choice in choices:
            alive: list[Any] | None = []
            for option in choice:
                other = base_of(option)
                if not option.choices and base.implies(other):
                    alive = None
                    break
                if not base.conflicts(other, formulas):
                    alive.append(option)  # type: ignore[union-attr]
            if alive is None:
                continue
            if not alive:
                return None, ()
            if len(alive) > 1:
                left.append(choice if len(alive) == len(choice) else tuple(alive))
                continue
            base = base.meet(base_of(alive[0]), formulas)
            if base is None:
                return None, ()
            left.extend(alive[0].choices)
            changed = True
        choices = tuple(left)
    return base, choices
