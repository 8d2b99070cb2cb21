"""Checking only the model's favourites: masks that are never made (PICARD).

A model seldom needs to know more than whether its best few tokens are allowed. They are tried
against the matcher one by one; if none of them is, the next best are (Scholak et al. 2021, arXiv
2109.05093).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..matcher import GrammarMatcher
from .loop import Floats, masked_softmax

__all__ = ["favourites"]


def favourites(
    logits: Any, matcher: GrammarMatcher, k: int, temperature: float = 1.0
) -> tuple[Any, Floats]:
    """The allowed ones among the model's ``k`` likeliest tokens, and their odds.

    Parameters
    ----------
    logits : float[n]
    matcher : GrammarMatcher
    k : int
        How many to check, at least 1; doubled until one is allowed.
    temperature : float
        See `masked_softmax`.

    Returns
    -------
    ids : int64[m]
        Allowed tokens, likeliest first.
    odds : float64[m]
        Their probabilities, summing to 1.
    """
    if k < 1:
        raise ValueError(f"at least 1 token must be checked, not {k}")
    belief = masked_softmax(logits, None, temperature)
    order = np.argsort(-belief, kind="stable")
    allowed = order[:0]
    checked = 0
    while allowed.size == 0 and checked < order.size:
        batch = order[checked : max(k, 2 * checked)]
        checked += batch.size
        batch = batch[batch < matcher.compiled.vocabulary.size]
        allowed = batch[matcher.filter_tokens(batch)]
    odds = belief[allowed]
    return allowed, odds / odds.sum()
