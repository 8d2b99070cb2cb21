"""A logits processor for ``transformers``: `model.generate` takes it as ``logits_processor``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..bitmask import apply_token_bitmask_inplace
from ..compiler import CompiledGrammar
from .following import Followers

__all__ = ["LogitsProcessor"]


class LogitsProcessor:
    """Masks the logits of every row to what its grammar allows.

    Right under greedy search, sampling, beams, several answers a prompt, batches of prompts and
    assisted generation. Logits may be padded beyond the vocabulary; the padding is never allowed.

    Parameters
    ----------
    compiled : CompiledGrammar or sequence of CompiledGrammar
        One grammar for all prompts, or one for each prompt of the batch.
    stop_token_ids : int or sequence of int, optional
        Ids that end an answer. Default: the vocabulary's end ids. They should be those that
        ``generate`` stops at (``generation_config.eos_token_id``).

    Notes
    -----
    The first call shows the prompts; what comes after them is the answer. A new prompt is noticed
    by itself, unless it is the last prompt with a beginning of an answer behind it: call `reset`
    then, or make a new processor, which costs microseconds.

    Where a search keeps more beams than there are answers, it fills up with beams of probability 0;
    those may only end.

    The scores given are left as they are; a masked copy is returned, on the same device.

    Examples
    --------
    >>> processor = LogitsProcessor(compiler.compile_json_schema(schema))  # doctest: +SKIP
    >>> model.generate(**inputs, logits_processor=[processor])  # doctest: +SKIP
    """

    def __init__(
        self,
        compiled: CompiledGrammar | Sequence[CompiledGrammar],
        stop_token_ids: int | Sequence[int] | None = None,
    ) -> None:
        self._followers = Followers(compiled, stop_token_ids)

    def reset(self) -> None:
        """Take the next call's ids for prompts."""
        self._followers.reset()

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Mask one step.

        Parameters
        ----------
        input_ids : int[rows, n]
            All ids so far, prompts included: a torch tensor on any device, or a NumPy array.
        scores : float[rows, columns]
            Logits or log-probabilities of the next token, likewise.

        Returns
        -------
        float[rows, columns]
            The same, minus infinity where a token is refused.

        Raises
        ------
        ValueError
            The rows cannot be divided among the grammars.
        """
        ids = input_ids.cpu().numpy() if hasattr(input_ids, "cpu") else input_ids
        self._followers.follow(np.array(ids, np.int64, ndmin=2))
        masked = scores.clone() if hasattr(scores, "clone") else np.array(scores, order="C")
        apply_token_bitmask_inplace(masked, self._followers.bitmask(masked.shape[-1]))
        return masked
