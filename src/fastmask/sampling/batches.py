"""Many answers at once: one call of the model, one of the masks and one of the matchers a step.

Each answer has its own matcher and its own random numbers, taken as `sample` takes them: what comes
out does not depend on who else is in the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..batch import accept_tokens, fill_next_token_bitmasks
from ..bitmask import allocate_token_bitmask
from ..errors import MatcherError
from ..matcher import GrammarMatcher
from .loop import Floats, Sample, allowed_ids, masked_softmax, text_of, truncated
from .steering import Steering

__all__ = ["sample_batch"]


def sample_batch(
    model: Callable[[Sequence[int], Sequence[Sequence[int]]], Any],
    matchers: Sequence[GrammarMatcher],
    *,
    rngs: Sequence[np.random.Generator],
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    steer: bool = False,
) -> list[Sample]:
    """Draw an answer with each matcher.

    Parameters
    ----------
    model : callable
        Takes the numbers of the answers that are under way and, for each, the token ids drawn so
        far; gives the logits of the next token of each: float[n, vocab_size].
    matchers : sequence of GrammarMatcher
        One an answer, all over the same vocabulary; their grammars may differ.
    rngs : sequence of numpy.random.Generator
        One an answer. ``numpy.random.default_rng(seed).spawn(n)`` makes ``n`` of one seed.
    max_tokens, temperature, top_k, top_p, greedy, steer
        See `sample`, for each answer.

    Raises
    ------
    ValueError
        Another number of generators than of matchers.
    BudgetError
        Steered, and ``max_tokens`` is less than a shortest answer needs.
    """
    if len(rngs) != len(matchers):
        raise ValueError(f"{len(rngs)} generators for {len(matchers)} matchers")
    if not matchers:
        return []
    vocabulary = matchers[0].compiled.vocabulary
    bitmask = allocate_token_bitmask(len(matchers), vocabulary.size)
    steering = [Steering(matcher, max_tokens) if steer else None for matcher in matchers]
    drawn: list[list[int]] = [[] for _ in matchers]
    removed: list[list[float]] = [[] for _ in matchers]

    def chosen(i: int, odds: Floats) -> int:
        def draw(odds: Floats) -> int:
            if greedy:
                return int(odds.argmax())
            return int(rngs[i].choice(odds.size, p=truncated(odds, top_k, top_p)))

        course = steering[i]
        return draw(odds) if course is None else course.choose(odds, draw)

    for _ in range(max_tokens):
        under_way = [i for i, matcher in enumerate(matchers) if not matcher.is_terminated()]
        if not under_way:
            break
        open_matchers = [matchers[i] for i in under_way]
        fill_next_token_bitmasks(open_matchers, bitmask)
        all_logits = model(under_way, [drawn[i] for i in under_way])
        for row, i, logits in zip(bitmask, under_way, all_logits, strict=False):
            belief = masked_softmax(logits, None, temperature)
            removed[i].append(float(belief[~allowed_ids(row, belief.size)].sum()))
            drawn[i].append(chosen(i, masked_softmax(logits, row, temperature)))
        tokens = [drawn[i][-1] for i in under_way]
        if not accept_tokens(open_matchers, tokens).all():
            raise MatcherError("a token was allowed and is refused: one matcher, one loop")
    return [
        Sample(tuple(ids), text_of(ids, vocabulary), matcher.is_terminated(), tuple(shares))
        for ids, shares, matcher in zip(drawn, removed, matchers, strict=True)
    ]
