"""Mistral's tokenizers: ``tekken.json``, SentencePiece models, and the objects of mistral-common.

In ``tekken.json`` the special tokens come first, so a token's id is its rank plus their number. The
file holds more tokens than the model knows; ``default_vocab_size`` says how many count.
"""

from __future__ import annotations

import binascii
import json
from pathlib import Path
from typing import Any

from ..tokens import TokenTable
from . import as_path, object_error, reading
from .sentencepiece import read_sentencepiece

__all__ = ["read_mistral"]

_EXPECTED = "a tekken.json, a SentencePiece model, or a tokenizer of mistral-common"

#: Names of the first special tokens where the file has none: versions up to 7 of the format.
_NAMES = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]"),
    *("[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    "[TOOL_CONTENT]",
)


def read_mistral(source: Any) -> TokenTable:
    """Read a tokenizer of Mistral's.

    Parameters
    ----------
    source : path, or a MistralTokenizer, Tekkenizer or SentencePieceTokenizer of mistral-common
    """
    path = as_path(source, _EXPECTED)
    if path is not None:
        return _read_tekken(path) if path.suffix == ".json" else read_sentencepiece(path)
    tokenizer = getattr(source, "instruct_tokenizer", source)
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    if hasattr(tokenizer, "id_to_byte_piece"):
        special = range(tokenizer.num_special_tokens)
        tokens = [tokenizer.id_to_piece(i).encode() for i in special]
        tokens += map(tokenizer.id_to_byte_piece, range(len(special), tokenizer.n_words))
        return TokenTable.of(tokens, special, [tokenizer.eos_id])
    if hasattr(tokenizer, "file_path"):
        return read_sentencepiece(tokenizer.file_path)
    raise object_error(source, _EXPECTED)


def _read_tekken(path: Path) -> TokenTable:
    with reading(path):
        content = json.loads(path.read_bytes())
        n_special = content["config"]["default_num_special_tokens"]
        n_text = content["config"]["default_vocab_size"] - n_special
        tokens = [f"<SPECIAL_{rank}>".encode() for rank in range(n_special)]
        names = content.get("special_tokens") or [
            {"rank": rank, "token_str": name} for rank, name in enumerate(_NAMES[:n_special])
        ]
        for entry in names:
            tokens[entry["rank"]] = entry["token_str"].encode()
        by_rank = {entry["rank"]: entry["token_bytes"] for entry in content["vocab"]}
        for rank in range(n_text):
            tokens.append(binascii.a2b_base64(by_rank[rank], strict_mode=True))
        ends = [token_id for token_id in range(n_special) if tokens[token_id] == b"</s>"]
        return TokenTable.of(tokens, range(n_special), ends)
