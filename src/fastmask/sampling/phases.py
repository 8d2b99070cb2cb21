"""Think first, answer later: free text up to a marker, and only then the mask.

A mask on the first token takes a model's room to reason (Tam et al. 2024, arXiv 2408.02442). Here
it writes what it likes until it writes the marker, or until its budget for that is spent, when the
marker is written for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..bitmask import words_for
from ..matcher import GrammarMatcher
from .loop import Sample, masked_softmax, sample, text_of, truncated
from .spelling import longest_spelling

__all__ = ["think_then_answer"]


def think_then_answer(
    model: Callable[[Sequence[int]], Any],
    matcher: GrammarMatcher,
    marker: bytes | int,
    *,
    rng: np.random.Generator,
    max_thinking: int = 512,
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> tuple[Sample, Sample]:
    """Draw a thought and then an answer under the mask.

    Parameters
    ----------
    model : callable
        Takes the token ids so far, thought and marker included, and gives the logits of the next.
    matcher : GrammarMatcher
        Masks the answer.
    marker : bytes or int
        What ends the thought: a text, such as ``b"</think>"``, or the id of a special token.
    rng : numpy.random.Generator
    max_thinking : int
        Tokens after which the marker is written for the model.
    max_tokens : int
        Budget of the answer.
    temperature, top_k, top_p
        As for `sample`, for both.

    Returns
    -------
    thought, answer : Sample
        The thought ends with the marker; it is unfinished if the marker had to be written for it.
    """
    vocabulary = matcher.compiled.vocabulary
    # The model may not end its text before it has answered.
    allowed = np.ones(32 * words_for(vocabulary.size), np.bool_)
    allowed[[token for token in vocabulary.eos_token_ids if token != marker]] = False
    not_the_end = np.packbits(allowed, bitorder="little").view("<i4").astype(np.int32)
    drawn: list[int] = []
    written = b""
    said = False
    while not said and len(drawn) < max_thinking:
        odds = truncated(masked_softmax(model(drawn), not_the_end, temperature), top_k, top_p)
        drawn.append(int(rng.choice(odds.size, p=odds)))
        if isinstance(marker, int):
            said = drawn[-1] == marker
        else:
            written += text_of(drawn[-1:], vocabulary)
            said = marker in written
    if not said:
        drawn += [marker] if isinstance(marker, int) else longest_spelling(marker, vocabulary)
    thought = Sample(tuple(drawn), text_of(drawn, vocabulary), said, (0.0,) * len(drawn))
    answer = sample(
        lambda token_ids: model([*drawn, *token_ids]),
        vocabulary,
        matcher,
        rng=rng,
        max_tokens=max_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
    )
    return thought, answer
