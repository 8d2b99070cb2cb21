"""One answer of a real model, every part of each step on the clock.

The clock is the processor time of this thread, which the model runs on too: on an idle machine that
is the time that passes, and on a busy one what others do meanwhile does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..bitmask import allocate_token_bitmask, apply_token_bitmask_inplace
from ..compiler import CompiledGrammar
from ..matcher import GrammarMatcher
from ..sampling import Steering, masked_softmax, text_of
from ..vocabulary import Vocabulary

__all__ = ["Answer", "write_answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote, and where the time went.

    Attributes
    ----------
    text : str
    finished : bool
        Whether it ended by itself, within the budget of tokens.
    n_tokens : int
        The end token included.
    first_seconds : float
        Until the first logits: reading the prompt.
    model_seconds, draw_seconds : float
        Making the other logits; drawing from them all.
    mask_seconds : tuple of float
        Everything fastmask did, for each token: the mask, applying it, accepting the token; the
        matcher with the first.
    """

    text: str
    finished: bool
    n_tokens: int
    first_seconds: float
    model_seconds: float
    draw_seconds: float
    mask_seconds: tuple[float, ...]


def write_answer(
    model: Callable[[Sequence[int]], Any],
    vocabulary: Vocabulary,
    compiled: CompiledGrammar | None = None,
    *,
    rng: np.random.Generator,
    max_tokens: int,
    temperature: float = 0.7,
    steer: bool = False,
) -> Answer:
    """Draw one answer as `sampling.sample` does, with one number of ``rng`` a token.

    Parameters
    ----------
    model : callable
        Takes the ids drawn so far and gives logits, float32[n], that may be changed.
    vocabulary : Vocabulary
    compiled : CompiledGrammar, optional
        Default: no mask.
    rng, max_tokens, temperature, steer
        See `sampling.sample`.
    """
    clock = time.thread_time
    drawn: list[int] = []
    first_seconds = model_seconds = draw_seconds = 0.0
    start = clock()
    matcher = None if compiled is None else GrammarMatcher(compiled)
    bitmask = allocate_token_bitmask(1, vocabulary.size)[0]
    steering = Steering(matcher, max_tokens) if steer and matcher is not None else None
    mask_seconds = [clock() - start]

    def draw(odds: Any) -> int:
        place = np.searchsorted(np.cumsum(odds), rng.random())
        return min(int(place), int(np.flatnonzero(odds)[-1]))

    finished = False
    while not finished and len(drawn) < max_tokens:
        start = clock()
        logits = model(drawn)
        after_model = clock()
        if matcher is not None and matcher.fill_next_token_bitmask(bitmask):
            apply_token_bitmask_inplace(logits, bitmask)
        after_mask = clock()
        odds = masked_softmax(logits, None, temperature)
        after_softmax = clock()
        token = draw(odds) if steering is None else steering.choose(odds, draw)
        after_draw = clock()
        if matcher is None:
            finished = token in vocabulary.eos_token_ids
        else:
            matcher.accept_token(token)
            finished = matcher.is_terminated()
        end = clock()
        if drawn:
            model_seconds += after_model - start
        else:
            first_seconds = after_model - start
        choosing = after_draw - after_softmax
        draw_seconds += after_softmax - after_mask + (choosing if steering is None else 0.0)
        masking = after_mask - after_model + end - after_draw
        mask_seconds.append(masking + (0.0 if steering is None else choosing))
        drawn.append(token)
    mask_seconds[:2] = [sum(mask_seconds[:2])]
    return Answer(
        text_of(drawn, vocabulary).decode(errors="replace"),
        finished,
        len(drawn),
        first_seconds,
        model_seconds,
        draw_seconds,
        tuple(mask_seconds),
    )
