"""Choices: a finite set of texts as one automaton leaf."""

from __future__ import annotations

from collections.abc import Iterable

from .._types import expect
from ..automata import Dfa
from ..errors import GrammarError, UnsatisfiableGrammarError
from .ir import Automaton, Expression, literal

__all__ = ["choices_expression"]


def choices_expression(choices: Iterable[str]) -> Expression:
    """Exactly these texts.

    Raises
    ------
    UnsatisfiableGrammarError
        There are no choices.
    GrammarError
        A choice is not a text.
    """
    if isinstance(choices, str):
        raise GrammarError("choices are a list of texts, not one text; write [text]")
    expect(choices, Iterable, "choices", "give a list of texts")
    texts = list(choices)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise GrammarError(f"choice {number} is {text!r}, not a text")
    if not texts:
        raise UnsatisfiableGrammarError("there are no choices, so nothing can match")
    return Automaton(Dfa.from_strings([literal(text).data for text in texts]))
