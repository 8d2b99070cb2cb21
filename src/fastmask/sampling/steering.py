"""Steering: no token is drawn behind which the answer could no longer be finished in time.

A mask promises a valid text, not a short one: a loop that runs out of tokens leaves a beginning. A
steered loop takes a token only if a completion of what it makes is known that fits what is left of
the budget, so it always finishes. Its draws follow the model's masked odds among those tokens, and
as long as there is time enough they are exactly the draws of a loop that is not steered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import BudgetError
from ..shortest import completions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..matcher import GrammarMatcher
    from .loop import Floats

__all__ = ["Steering"]


class Steering:
    """Keeps an answer within a budget of tokens.

    Parameters
    ----------
    matcher : GrammarMatcher
        Told each token by the caller, behind `choose`.
    max_tokens : int
        The budget, an end token included.

    Raises
    ------
    BudgetError
        The shortest valid answer needs more.
    """

    def __init__(self, matcher: GrammarMatcher, max_tokens: int) -> None:
        self._matcher = matcher
        self._completions = completions(matcher)
        self._left = max_tokens
        # Tokens that finish the answer, while they are followed.
        self._plan: tuple[int, ...] = ()
        if not self._completions.finishes_within(matcher, max_tokens):
            raise BudgetError("tokens", max_tokens, "the shortest valid answer needs more")

    def choose(self, odds: Floats, draw: Callable[[Floats], int]) -> int:
        """The token to take next.

        Parameters
        ----------
        odds : float64[n]
            Masked odds of the next token.
        draw : callable
            Draws a token from odds. It is asked again, with what is in time alone, if its first
            token would be too late.
        """
        self._left -= 1
        token = draw(odds)
        if not self._is_in_time(token):
            in_time = self._completions.tokens_in_time(self._matcher, self._left + 1)
            in_time = in_time[in_time < odds.size]
            rest = np.zeros_like(odds)
            rest[in_time] = odds[in_time]
            total = rest.sum()
            if not total > 0:
                return self._planned()
            token = draw(rest / total)
        self._plan = ()
        return token

    def follow(self, token_ids: Sequence[int]) -> bool:
        """Whether some tokens are in time, who are then taken as chosen."""
        self._left -= len(token_ids)
        if self._is_in_time(*token_ids):
            self._plan = ()
            return True
        self._left += len(token_ids)
        return False

    def _is_in_time(self, *token_ids: int) -> bool:
        ahead = self._matcher.fork()
        ahead.accept_tokens(token_ids)
        return self._completions.finishes_within(ahead, self._left)

    def _planned(self) -> int:
        """The next token of a shortest completion: the model gives what is in time no chance."""
        if not self._plan:
            found = self._completions.completion(self._matcher).token_ids
            assert found is not None, "a completion was known to fit"
            self._plan = (*found, self._matcher.stop_token_ids[0])
        token, *rest = self._plan
        self._plan = tuple(rest)
        return token
