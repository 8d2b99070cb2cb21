"""Where a text leaves a grammar, byte by byte, and what would have been allowed there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .sources import byte_vocabulary

if TYPE_CHECKING:
    from ..grammar.core import Grammar

__all__ = ["Verdict", "Verifier", "byte_ranges", "shown_byte", "shown_ranges"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a grammar says of a text.

    Attributes
    ----------
    status : str
        "valid", "refused" (at ``position``) or "incomplete" (it could go on to a valid text).
    position : int
        Number of bytes that were accepted.
    allowed : tuple of int
        Bytes allowed at ``position``.
    may_end : bool
        Whether the text could have ended at ``position``.
    """

    status: str
    position: int
    allowed: tuple[int, ...]
    may_end: bool


class Verifier:
    """A grammar over single bytes, so that the very byte that fails is known.

    Parameters
    ----------
    grammar : Grammar
    """

    def __init__(self, grammar: Grammar) -> None:
        from ..compiler import GrammarCompiler
        from ..matcher import GrammarMatcher

        self._matcher = GrammarMatcher(GrammarCompiler(byte_vocabulary()).compile(grammar))

    def __call__(self, data: bytes) -> Verdict:
        """Read ``data`` from its start."""
        matcher = self._matcher
        matcher.reset()
        position = matcher.accept_tokens(list(data))
        allowed = tuple(byte for byte in matcher.allowed_token_ids().tolist() if byte < 256)
        may_end = matcher.is_completed()
        complete = "valid" if may_end else "incomplete"
        status = complete if position == len(data) else "refused"
        return Verdict(status, position, allowed, may_end)


def byte_ranges(values: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending byte values as inclusive ranges."""
    ranges: list[tuple[int, int]] = []
    for value in values:
        if ranges and ranges[-1][1] == value - 1:
            ranges[-1] = (ranges[-1][0], value)
        else:
            ranges.append((value, value))
    return ranges


def shown_byte(value: int) -> str:
    """A byte as a person would write it."""
    named = {9: r"\t", 10: r"\n", 13: r"\r", 32: "space", 34: '"', 45: r"\-", 92: r"\\"}
    if value in named:
        return named[value]
    return chr(value) if 32 < value < 127 else f"\\x{value:02x}"


def shown_ranges(values: Iterable[int], may_end: bool = False) -> str:
    """Allowed bytes as a person would write them: ``0-9 }``, and whether the text may end."""
    parts = [
        shown_byte(low)
        if low == high
        else f"{shown_byte(low)}{'-' if high > low + 1 else ' '}{shown_byte(high)}"
        for low, high in byte_ranges(values)
    ]
    if may_end:
        parts.append("or the end" if parts else "the end")
    return " ".join(parts) or "nothing"
