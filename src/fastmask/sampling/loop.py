"""The sampling loop: ask the model, mask, draw, tell the matcher.

Random numbers are taken in this order and no other: whatever the model draws for its logits, then
one `numpy.random.Generator.choice` over all ids with the masked probabilities as ``p`` (none when
greedy). So a seed repeats a run exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..bitmask import bitmask_rows
from ..errors import BitmaskError, MatcherError
from .steering import Steering

if TYPE_CHECKING:
    from ..matcher import GrammarMatcher
    from ..vocabulary import Vocabulary

__all__ = ["Sample", "allowed_ids", "masked_softmax", "sample", "text_of", "truncated"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer.

    Attributes
    ----------
    token_ids : tuple of int
        What was drawn, a stop token at the end included.
    text : bytes
        The bytes of these tokens; end and special tokens add none.
    finished : bool
        False if the budget of tokens ran out first.
    removed : tuple of float
        For each token the share of the model's belief that the mask took away, 0 to 1; 0 for text
        that was certain, which no model was asked for.
    """

    token_ids: tuple[int, ...]
    text: bytes
    finished: bool
    removed: tuple[float, ...]


def allowed_ids(bitmask: Any, size: int) -> npt.NDArray[np.bool_]:
    """One bitmask row as bool[size]."""
    rows = bitmask_rows(bitmask)
    if rows.shape[0] != 1 or size > 32 * rows.shape[1]:
        raise BitmaskError(f"one row of at least {size} bits is needed, not {rows.shape} words")
    bits = np.unpackbits(rows[0].astype("<i4", copy=False).view(np.uint8), bitorder="little")
    return bits[:size].astype(bool)


def masked_softmax(logits: Any, bitmask: Any = None, temperature: float = 1.0) -> Floats:
    """Probabilities of the allowed tokens: exp(logit / temperature), made to sum to 1.

    Parameters
    ----------
    logits : float[n]
    bitmask : int32[>= n / 32], optional
        A row; refused tokens get exactly 0. Default: all are allowed.
    temperature : float
        Above 0. Higher flattens, lower sharpens.

    Returns
    -------
    float64[n]

    Raises
    ------
    BitmaskError
        No allowed token has a finite logit, so there is nothing to draw from.
    """
    values = np.array(logits, np.float64)
    if values.ndim != 1:
        raise BitmaskError(f"one row of logits is needed, not an array of shape {values.shape}")
    if not temperature > 0:
        raise ValueError(f"temperature must be above 0, not {temperature}: use greedy for 0")
    if bitmask is not None:
        values[~allowed_ids(bitmask, values.size)] = -np.inf
    best = values.max(initial=-np.inf)
    if not np.isfinite(best):
        raise BitmaskError("no allowed token has a finite logit: there is nothing to draw from")
    weights: Floats = np.exp((values - best) / temperature)
    weights /= weights.sum()
    return weights


def truncated(
    probabilities: Floats, top_k: int | None = None, top_p: float | None = None
) -> Floats:
    """Only the likeliest tokens, made to sum to 1 again.

    Parameters
    ----------
    probabilities : float64[n]
        After the mask, so that what is kept is always allowed.
    top_k : int, optional
        Keep this many (Fan et al. 2018); among equals the lower id.
    top_p : float, optional
        Keep the shortest list of likeliest tokens that adds up to this much (nucleus sampling,
        Holtzman et al. 2019); never less than one token.
    """
    if top_k is None and top_p is None:
        return probabilities
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, not {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p}")
    order = np.argsort(-probabilities, kind="stable")[:top_k]
    if top_p is not None:
        # Rounding can leave a sum just short of a top_p of 1: then all are kept.
        reached = np.searchsorted(np.cumsum(probabilities[order]), top_p)
        order = order[: reached + 1]
    kept: Floats = np.zeros_like(probabilities)
    kept[order] = probabilities[order]
    kept /= kept.sum()
    return kept


def text_of(token_ids: Sequence[int], vocabulary: Vocabulary) -> bytes:
    """The bytes that tokens write; end and special tokens write none."""
    return b"".join(vocabulary.tokens[i] for i in token_ids if vocabulary.is_text[i])


def sample(
    model: Callable[[Sequence[int]], Any],
    vocabulary: Vocabulary,
    matcher: GrammarMatcher | None = None,
    *,
    rng: np.random.Generator,
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    steer: bool = False,
    jump_forward: bool | Callable[[str], Iterable[int]] = False,
) -> Sample:
    """Draw one answer, token by token.

    Parameters
    ----------
    model : callable
        Takes the token ids drawn so far and gives the logits of the next: float[n].
    vocabulary : Vocabulary
        Spells the tokens and, without a matcher, names the end tokens.
    matcher : GrammarMatcher, optional
        Masks each step and is told each token. Default: no constraint.
    rng : numpy.random.Generator
        Where the draws come from.
    max_tokens : int
        Budget of tokens, a stop token included.
    temperature, top_k, top_p
        See `masked_softmax` and `truncated`; the mask comes first.
    greedy : bool
        Take the likeliest allowed token instead of drawing one.
    steer : bool
        Never draw a token behind which the answer could not be finished within ``max_tokens``, so
        that it always finishes (`Steering`). Needs a matcher. Where a first draw would come too
        late there is a second one.
    jump_forward : bool or callable
        Write what must come next without asking the model
        (`GrammarMatcher.find_jump_forward_tokens`): in the longest tokens, or in those that a
        callable gives for a text, such as the model's own tokenizer.

    Raises
    ------
    BudgetError
        Steered, and ``max_tokens`` is less than the shortest answer needs.
    MatcherError
        The matcher refuses a token that its own mask allows: it was changed during the call.
    """

    def draw(odds: Floats) -> int:
        if greedy:
            return int(odds.argmax())
        return int(rng.choice(odds.size, p=truncated(odds, top_k, top_p)))

    if steer and matcher is None:
        raise ValueError("there is nothing to steer to without a matcher")
    steering = Steering(matcher, max_tokens) if steer and matcher is not None else None
    drawn: list[int] = []
    removed: list[float] = []
    finished = matcher is not None and matcher.is_terminated()
    while not finished and len(drawn) < max_tokens:
        if matcher is not None and jump_forward:
            tokenize = None if jump_forward is True else jump_forward
            certain = matcher.find_jump_forward_tokens(tokenize)[: max_tokens - len(drawn)]
            if certain and (steering is None or steering.follow(certain)):
                matcher.accept_tokens(certain)
                drawn += certain
                removed += [0.0] * len(certain)
                finished = matcher.is_terminated()
                continue
        logits = model(drawn)
        if matcher is None:
            chances = masked_softmax(logits, None, temperature)
            removed.append(0.0)
        else:
            row = matcher.next_token_bitmask()
            belief = masked_softmax(logits, None, temperature)
            removed.append(float(belief[~allowed_ids(row, belief.size)].sum()))
            chances = masked_softmax(logits, row, temperature)
        token = draw(chances) if steering is None else steering.choose(chances, draw)
        drawn.append(token)
        if matcher is None:
            finished = token in vocabulary.eos_token_ids
        elif matcher.accept_token(token):
            finished = matcher.is_terminated()
        else:
            raise MatcherError(f"token {token} was allowed and is refused: one matcher, one loop")
    return Sample(tuple(drawn), text_of(drawn, vocabulary), finished, tuple(removed))
