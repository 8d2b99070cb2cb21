"""For ``llama-cpp-python``: a logits processor, a loaded model's vocabulary, and its logits.

``llama(prompt, logits_processor=LogitsProcessorList([processor]))``. The vocabulary comes from the
loaded model itself, through the functions of llama.cpp, so no other file is needed. `Model` is for
loops of one's own, those of `fastmask.sampling` among them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bitmask import apply_token_bitmask_inplace
from ..compiler import CompiledGrammar
from ..errors import VocabularyError
from ..vocabulary import Vocabulary
from .following import Followers

__all__ = ["LogitsProcessor", "Model", "vocabulary_of"]

#: llama.cpp's token attributes: what stands for no text of its own.
_UNKNOWN, _UNUSED, _CONTROL = 1 << 0, 1 << 1, 1 << 3


class LogitsProcessor:
    """Masks the logits of one text to what its grammar allows.

    Parameters
    ----------
    compiled : CompiledGrammar
    stop_token_ids : int or sequence of int, optional
        Ids that end an answer. Default: the vocabulary's end ids.

    Notes
    -----
    The first call shows the prompt; what comes after it is the answer. A new prompt is noticed by
    itself, unless it is the last prompt with a beginning of an answer behind it: call `reset` then,
    or make a new processor, which costs microseconds.
    """

    def __init__(
        self,
        compiled: CompiledGrammar,
        stop_token_ids: int | Sequence[int] | None = None,
    ) -> None:
        self._followers = Followers(compiled, stop_token_ids)

    def reset(self) -> None:
        """Take the next call's ids for a prompt."""
        self._followers.reset()

    def __call__(
        self, input_ids: npt.ArrayLike, scores: npt.NDArray[np.single]
    ) -> npt.NDArray[np.single]:
        """Mask one step.

        Parameters
        ----------
        input_ids : int[n]
            All ids so far, prompt included.
        scores : float32[columns]
            Logits of the next token.

        Returns
        -------
        float32[columns]
            The same, minus infinity where a token is refused.
        """
        self._followers.follow(np.array(input_ids, np.int64, ndmin=2))
        # What comes is a column of llama.cpp's records, not contiguous.
        masked = np.array(scores, order="C")
        apply_token_bitmask_inplace(masked, self._followers.bitmask(masked.size))
        return masked


class Model:
    """A loaded model behind a prompt, as the samplers of `fastmask.sampling` want it.

    Parameters
    ----------
    llama : llama_cpp.Llama
    prompt : sequence of int
        At least one id.

    Notes
    -----
    What the model has read already is not read again, be it from another prompt: several may share
    one ``llama``, one after the other.
    """

    def __init__(self, llama: Any, prompt: Sequence[int]) -> None:
        if not len(prompt):
            raise ValueError("a model needs at least one id to go on from")
        self._llama = llama
        self._prompt = np.array(prompt, np.intc)

    def __call__(self, token_ids: Sequence[int]) -> npt.NDArray[np.single]:
        """The logits behind the prompt and these ids, float32[vocab_size]."""
        llama_cpp = _package()
        llama = self._llama
        ids = np.concatenate([self._prompt, np.array(token_ids, np.intc)])
        known = llama.input_ids[: min(llama.n_tokens, ids.size - 1)]
        differ = known != ids[: known.size]
        llama.n_tokens = int(differ.argmax()) if differ.any() else known.size
        llama.eval(ids[llama.n_tokens :].tolist())
        logits = llama_cpp.llama_get_logits_ith(llama.ctx, -1)
        return np.ctypeslib.as_array(logits, (llama.n_vocab(),)).copy()


def vocabulary_of(
    llama: Any,
    *,
    eos_token_ids: int | Sequence[int] | None = None,
    special_token_ids: int | Sequence[int] | None = None,
    vocab_size: int | None = None,
) -> Vocabulary:
    """The vocabulary of a loaded model.

    Parameters
    ----------
    llama : llama_cpp.Llama
        ``vocab_only=True`` is enough.
    eos_token_ids, special_token_ids, vocab_size
        Instead of what the model says.

    Returns
    -------
    Vocabulary
        End ids are those that llama.cpp takes for ends of a generation; special are its control,
        unknown and unused tokens.

    Raises
    ------
    VocabularyError
        No tokenizer, or no end id.
    ImportError
        ``llama-cpp-python`` is missing.
    """
    llama_cpp = _package()
    model = llama_cpp.llama_model_get_vocab(llama.model)
    size = llama_cpp.llama_vocab_n_tokens(model)
    if size <= 0:
        raise VocabularyError("the model has no tokenizer")
    tokens, special, ends = [], [], []
    for token_id in range(size):
        attributes = llama_cpp.llama_vocab_get_attr(model, token_id)
        is_special = bool(attributes & (_UNKNOWN | _UNUSED | _CONTROL))
        tokens.append(_piece(llama_cpp, model, token_id, is_special))
        if is_special:
            special.append(token_id)
        if llama_cpp.llama_vocab_is_eog(model, token_id):
            ends.append(token_id)
    return Vocabulary(
        tokens,
        eos_token_ids=ends if eos_token_ids is None else eos_token_ids,
        special_token_ids=special if special_token_ids is None else special_token_ids,
        vocab_size=vocab_size,
    )


def _package() -> Any:
    try:
        import llama_cpp
    except ImportError:
        raise ImportError(
            "a model of llama.cpp needs llama-cpp-python: pip install 'fastmask[llama-cpp]'"
        ) from None
    return llama_cpp


def _piece(llama_cpp: Any, model: Any, token_id: int, is_special: bool) -> bytes:
    """The bytes of a token; the name of a special one."""
    size = 64
    while True:
        buffer = ctypes.create_string_buffer(size)
        n = llama_cpp.llama_token_to_piece(model, token_id, buffer, size, 0, is_special)
        if n >= 0:
            return buffer.raw[:n]
        size = -n
