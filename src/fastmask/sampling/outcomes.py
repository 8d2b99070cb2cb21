"""What became of a number of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .loop import Sample

__all__ = ["Outcomes", "count_outcomes"]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Counts of answers by what became of them; every answer is in exactly one.

    Attributes
    ----------
    valid : int
        Finished, and the validator accepts it.
    chatter : int
        Finished and refused, and it does not even start as an answer should.
    broken : int
        Finished and refused, though it starts well.
    cut_off : int
        The budget of tokens ran out.
    """

    valid: int = 0
    chatter: int = 0
    broken: int = 0
    cut_off: int = 0


def count_outcomes(
    answers: Iterable[Sample], is_valid: Callable[[str], bool], opening: str = "{"
) -> Outcomes:
    """Sort answers into `Outcomes`.

    Parameters
    ----------
    answers : iterable of Sample
    is_valid : callable
        Judges the text of a finished answer.
    opening : str
        What an answer starts with; one that does not is chatter.
    """
    counts = dict.fromkeys(("valid", "chatter", "broken", "cut_off"), 0)
    for answer in answers:
        text = answer.text.decode(errors="replace")
        if not answer.finished:
            counts["cut_off"] += 1
        elif is_valid(text):
            counts["valid"] += 1
        elif text.startswith(opening):
            counts["broken"] += 1
        else:
            counts["chatter"] += 1
    return Outcomes(**counts)
