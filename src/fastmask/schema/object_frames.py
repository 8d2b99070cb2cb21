"""The frames of objects: what the register of one stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .constants import Constant

__all__ = ["KeyFrame", "MissingKeys", "ObjectFrame"]


class MissingKeys(NamedTuple):
    """Keys that have to come, as registers.

    Attributes
    ----------
    complete : int
        The register in which nothing is missing any more.
    required : list of int
        Of each key that is required the register in which it alone is missing.
    others : list of int
        The same of the keys of which ``more`` have to come.
    more : int
    """

    complete: int
    required: list[int]
    others: list[int]
    more: int


class KeyFrame:
    """A frame of an object: the keys seen, and the rule that knows what they mean.

    A key without a name that a mask reads over is seen as None.

    Attributes
    ----------
    seen : frozenset of str or None
    unnamed : frozenset of str
        Those of the keys seen that the schema does not name.
    count : int
        How many were seen, as far as it matters.
    gone, gone_before : frozenset of str
        Named keys that may not come, here and in a frame before it.
    register : int
    """

    __slots__ = ("count", "gone", "gone_before", "register", "rule", "seen", "unnamed")

    def __init__(
        self, rule: Any, seen: frozenset[str | None], unnamed: frozenset[str], count: int
    ) -> None:
        self.rule = rule
        self.seen = seen
        self.unnamed = unnamed
        self.count = count
        self.gone: frozenset[str] = frozenset()
        self.gone_before = self.gone
        self.register = 0

    def move(self, symbol: int) -> tuple[int, int]:
        """The register after a symbol, and the action to go on with."""
        register, action = self.rule.move(self, symbol)
        return register, action

    def begins_key(self, action: int) -> bool:
        """Whether an action on a quote is that of a key that begins."""
        return action in self.rule.key_actions

    def ways(self) -> Iterator[tuple[bytes, int, int]]:
        """Keys to be tried for the shortest end: spelled with quotes, register and action."""
        yield from self.rule.ways(self)

    def missing(self, state: int) -> MissingKeys | None:
        """What is known of the missing keys, if they are all that counts."""
        found: MissingKeys | None = self.rule.missing(self, state)
        return found


class ObjectFrame(KeyFrame):
    """The frame of one conjunction: beside the keys, obligations and objects that it still equals.

    Attributes
    ----------
    pending : tuple of int
        Obligations that are open.
    apart : frozenset of Constant
        Objects left out that it may still become.
    can_finish : bool or None
        Whether some text ends it, once that was asked.
    """

    __slots__ = ("apart", "can_finish", "pending")

    def __init__(
        self,
        rule: Any,
        seen: frozenset[str | None],
        unnamed: frozenset[str],
        pending: tuple[int, ...],
        apart: frozenset[Constant],
        count: int,
    ) -> None:
        super().__init__(rule, seen, unnamed, count)
        self.pending = pending
        self.apart = apart
        self.can_finish: bool | None = None
