"""Validate and retry: the way without a mask, for models that give no logits.

An answer that the validator refuses is asked for again, with the validator's message. How often
that takes is in `odds`: 1 / p tries on average, and all k fail with chance (1 - p)^k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Attempt", "RetryResult", "retry"]

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Attempt(Generic[Answer]):
    """One refused answer and what the validator said of it."""

    answer: Answer
    message: str


@dataclass(frozen=True, slots=True)
class RetryResult(Generic[Answer]):
    """What came of it.

    Attributes
    ----------
    answer : Answer or None
        The first valid answer; None if there was none within the budget.
    refused : tuple of Attempt
        The answers before it, each with the validator's message.
    """

    answer: Answer | None
    refused: tuple[Attempt[Answer], ...]

    @property
    def attempts(self) -> int:
        """Number of answers that were made."""
        return len(self.refused) + (self.answer is not None)


def retry(
    generate: Callable[[Sequence[Attempt[Answer]]], Answer],
    validate: Callable[[Answer], str | None],
    attempts: int = 3,
) -> RetryResult[Answer]:
    """Ask until the validator is content, at most ``attempts`` times.

    Parameters
    ----------
    generate : callable
        Takes the attempts refused so far, messages included, and gives an answer. Feed the messages
        back to the model here.
    validate : callable
        Gives None for a valid answer, else what is wrong with it.
    attempts : int
        The budget, at least 1.
    """
    if attempts < 1:
        raise ValueError(f"there must be at least 1 attempt, not {attempts}")
    refused: list[Attempt[Answer]] = []
    for _ in range(attempts):
        answer = generate(refused)
        message = validate(answer)
        if message is None:
            return RetryResult(answer, tuple(refused))
        refused.append(Attempt(answer, message))
    return RetryResult(None, tuple(refused))
