"""Beam search under a mask: the likeliest valid answers, best first.

Answers are ranked by the model's own log-probability; the mask only takes refused tokens away. All
beams of a step share one mask call. A beam's matcher is a fork, so it costs no copy of its history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..batch import fill_next_token_bitmasks
from ..bitmask import allocate_token_bitmask
from ..matcher import GrammarMatcher
from .loop import allowed_ids, masked_softmax, text_of

__all__ = ["Beam", "beam_search"]


@dataclass(frozen=True, slots=True)
class Beam:
    """One answer of a beam search.

    Attributes
    ----------
    token_ids : tuple of int
        A stop token at the end included.
    text : bytes
    log_probability : float
        The model's own, of all tokens together.
    finished : bool
        False if the budget of tokens ran out first.
    """

    token_ids: tuple[int, ...]
    text: bytes
    log_probability: float
    finished: bool


def beam_search(
    model: Callable[[Sequence[int]], Any],
    matcher: GrammarMatcher,
    width: int,
    *,
    max_tokens: int = 256,
) -> list[Beam]:
    """The ``width`` likeliest answers that a search of that width finds.

    Parameters
    ----------
    model : callable
        Takes the token ids so far and gives the logits of the next: float[n].
    matcher : GrammarMatcher
        Where answers begin; left as it is.
    width : int
        Beams to keep at each step, at least 1.
    max_tokens : int
        Budget of tokens of an answer.

    Returns
    -------
    list of Beam
        Finished answers best first, then those that were cut off.

    Notes
    -----
    A log-probability never grows, so the search ends once no open beam is better than the worst of
    ``width`` finished ones.
    """
    if width < 1:
        raise ValueError(f"a beam search needs a width of at least 1, not {width}")
    vocabulary = matcher.compiled.vocabulary
    bitmask = allocate_token_bitmask(width, vocabulary.size)
    open_beams: list[tuple[float, tuple[int, ...], GrammarMatcher]] = [(0.0, (), matcher.fork())]
    finished: list[tuple[float, tuple[int, ...]]] = []
    for _ in range(max_tokens):
        fill_next_token_bitmasks([state for _, _, state in open_beams], bitmask)
        candidates: list[tuple[float, int, int]] = []
        for place, (log_probability, ids, _) in enumerate(open_beams):
            belief = masked_softmax(model(ids))
            belief[~allowed_ids(bitmask[place], belief.size)] = 0
            best = np.argsort(-belief, kind="stable")[:width]
            candidates += [
                (log_probability + float(np.log(belief[token])), place, int(token))
                for token in best
                if belief[token] > 0
            ]
        candidates.sort(key=lambda candidate: -candidate[0])
        following = []
        for log_probability, place, token in candidates[:width]:
            _, ids, state = open_beams[place]
            state = state.fork()
            state.accept_token(token)
            if state.is_terminated():
                finished.append((log_probability, (*ids, token)))
            else:
                following.append((log_probability, (*ids, token), state))
        open_beams = following
        finished = sorted(finished, key=lambda beam: -beam[0])[:width]
        enough = len(finished) == width
        if not open_beams or (enough and open_beams[0][0] <= finished[-1][0]):
            open_beams = []
            break
    done = [Beam(ids, text_of(ids, vocabulary), p, True) for p, ids in finished]
    cut_off = [Beam(ids, text_of(ids, vocabulary), p, False) for p, ids, _ in open_beams]
    return [*done, *cut_off][:width]
