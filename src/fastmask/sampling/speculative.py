"""Speculative sampling under masks: a cheap draft proposes, the model disposes.

The draft model draws a few tokens under the mask; the model looks at all of them at once and keeps
each with chance min(1, p / q), where p and q are the two models' masked odds of it. Where one is
not kept, the matcher is rolled back to that place and a token is drawn from what p has over q. What
comes out follows p exactly (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv
2302.01318).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..matcher import GrammarMatcher
from .loop import Sample, allowed_ids, masked_softmax, text_of

__all__ = ["speculative_sample"]


def speculative_sample(
    model: Callable[[Sequence[int], int], Sequence[Any]],
    draft: Callable[[Sequence[int]], Any],
    matcher: GrammarMatcher,
    *,
    rng: np.random.Generator,
    n_draft: int = 4,
    max_tokens: int = 256,
    temperature: float = 1.0,
) -> tuple[Sample, int]:
    """Draw one answer that follows the model's masked odds, with fewer calls of the model.

    Parameters
    ----------
    model : callable
        Takes token ids and a number k, and gives the logits after each of the last k beginnings:
        for k = 3 those after all ids but two, after all but one, and after all. A real model does
        it in one pass.
    draft : callable
        Takes the token ids so far and gives the logits of the next.
    matcher : GrammarMatcher
        Told the tokens of the answer, as by `sample`.
    rng : numpy.random.Generator
    n_draft : int
        Tokens that the draft proposes at once, at least 1.
    max_tokens, temperature
        As for `sample`.

    Returns
    -------
    Sample, int
        The answer, and how many times the model was called.
    """
    if n_draft < 1:
        raise ValueError(f"the draft must propose at least 1 token, not {n_draft}")
    drawn: list[int] = []
    removed: list[float] = []
    calls = 0
    while not matcher.is_terminated() and len(drawn) < max_tokens:
        rows = []
        proposals: list[tuple[int, Any]] = []
        start = len(drawn)
        for _ in range(min(n_draft, max_tokens - start)):
            rows.append(matcher.next_token_bitmask().copy())
            odds = masked_softmax(draft(drawn), rows[-1], temperature)
            token = int(rng.choice(odds.size, p=odds))
            matcher.accept_token(token)
            drawn.append(token)
            proposals.append((token, odds))
            if matcher.is_terminated():
                break
        ended = matcher.is_terminated()
        if not ended:
            rows.append(matcher.next_token_bitmask().copy())
        # After a stop token there is nothing to ask for.
        asked = drawn[:-1] if ended else drawn
        calls += 1
        all_logits = model(asked, len(asked) - start + 1)
        kept = 0
        for (token, odds), logits, row in zip(proposals, all_logits, rows, strict=False):
            wanted = masked_softmax(logits, row, temperature)
            removed.append(_removed(logits, row, temperature))
            if rng.random() * odds[token] < wanted[token]:
                kept += 1
                continue
            matcher.rollback(len(proposals) - kept)
            rest = np.maximum(wanted - odds, 0)
            rest = rest if rest.any() else wanted  # equal but for rounding
            drawn[start + kept :] = [int(rng.choice(rest.size, p=rest / rest.sum()))]
            matcher.accept_token(drawn[-1])
            break
        else:
            if not ended and len(drawn) < max_tokens:
                odds = masked_softmax(all_logits[-1], rows[-1], temperature)
                removed.append(_removed(all_logits[-1], rows[-1], temperature))
                drawn.append(int(rng.choice(odds.size, p=odds)))
                matcher.accept_token(drawn[-1])
    text = text_of(drawn, matcher.compiled.vocabulary)
    return Sample(tuple(drawn), text, matcher.is_terminated(), tuple(removed)), calls


def _removed(logits: Any, row: Any, temperature: float) -> float:
    belief = masked_softmax(logits, None, temperature)
    return float(belief[~allowed_ids(row, belief.size)].sum())
