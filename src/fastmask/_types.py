"""Arguments of the wrong type, answered by an error that names the parameter and what to do."""

from __future__ import annotations

import operator
from typing import Any

__all__ = ["as_integer", "expect"]


def expect(value: object, kind: type | tuple[type, ...], name: str, advice: str) -> None:
    """Raise TypeError unless an argument is of a type, or one of several."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = " or ".join(one.__name__ for one in kinds)
        raise TypeError(f"{name} must be {wanted}, not {type(value).__name__}: {advice}")


def as_integer(value: Any, name: str) -> int:
    """An argument that is an integer of any type, as int; TypeError for all others."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} must be an integer, not {type(value).__name__}: {value!r}"
        ) from None
