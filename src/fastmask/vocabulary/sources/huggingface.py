"""Hugging Face tokenizers: ``tokenizer.json``, and the objects that hold one.

What bytes a piece stands for is decided by the file's decoder: GPT-2's spelling of bytes, or U+2581
for a space and ``<0xAB>`` for a byte. Added tokens are plain text in the first family; in the
second they are decoded like all others (Gemma's runs of spaces are such).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ...errors import VocabularyError
from ..tokens import TokenTable
from . import (
    SPACE_MARK,
    as_path,
    by_id,
    byte_level_bytes,
    fallback_byte,
    is_reserved_name,
    object_error,
    reading,
)

__all__ = ["read_huggingface"]

Spelling: TypeAlias = Callable[[str], bytes]

_EXPECTED = (
    "a tokenizer.json, the folder of one, or a tokenizer loaded with transformers or tokenizers"
)


def read_huggingface(source: Any) -> TokenTable:
    """Read a Hugging Face tokenizer.

    Parameters
    ----------
    source : path, tokenizers.Tokenizer, or a fast tokenizer of transformers
        A path names a ``tokenizer.json`` or its folder. The files beside it tell what ends a text
        (``generation_config.json``, ``tokenizer_config.json``, ``special_tokens_map.json``,
        ``config.json``) and how wide the logits are (``config.json``).

    Raises
    ------
    VocabularyError
        A kind of tokenizer whose tokens are no plain pieces of text, such as WordPiece.
    FormatError
        A damaged file.
    """
    path = as_path(source, _EXPECTED)
    if path is not None:
        file = path / "tokenizer.json" if path.is_dir() else path
        if not file.is_file():
            raise VocabularyError(
                f"the folder {str(path)!r} has no tokenizer.json (a SentencePiece model is read by "
                "from_sentencepiece, a tekken.json by from_mistral)"
            )
        beside = _files_beside(file.parent) if file.name == "tokenizer.json" else _Beside()
        with reading(file):
            return _table(json.loads(file.read_bytes()), beside)
    backend = getattr(source, "backend_tokenizer", source)
    if not hasattr(backend, "to_str"):
        raise object_error(source, f"{_EXPECTED}; a slow tokenizer's model: from_sentencepiece")
    folder = getattr(source, "name_or_path", None)
    beside = _files_beside(Path(folder)) if folder else _Beside()
    if (end := getattr(source, "eos_token_id", None)) is not None:
        beside.end_ids.append(end)
    return _table(json.loads(backend.to_str()), beside)


@dataclass
class _Beside:
    """What the files beside a tokenizer.json tell."""

    end_ids: list[int] = field(default_factory=list)
    end_names: list[str] = field(default_factory=list)
    size: int | None = None


def _files_beside(folder: Path) -> _Beside:
    beside = _Beside()
    for name in ("generation_config", "config", "tokenizer_config", "special_tokens_map"):
        file = folder / f"{name}.json"
        if not file.is_file():
            continue
        with reading(file):
            content = json.loads(file.read_bytes())
            if name == "config":
                content |= content.get("text_config", {})
                beside.size = content.get("vocab_size")
            ends = content.get("eos_token_id")
            beside.end_ids += ends if isinstance(ends, list) else [] if ends is None else [ends]
            end = content.get("eos_token")
            if end is not None:
                beside.end_names.append(end["content"] if isinstance(end, dict) else end)
    return beside


def _table(content: dict[str, Any], beside: _Beside) -> TokenTable:
    model = content["model"]
    vocab = model["vocab"]
    spell, spell_added = _spellings(content)
    ids: dict[str, int]
    if isinstance(vocab, dict):
        ids = dict(vocab)
    else:
        ids = {entry[0]: token_id for token_id, entry in enumerate(vocab)}
    tokens = {token_id: spell(piece) for piece, token_id in ids.items()}
    special = set()
    unknown = model.get("unk_token")
    if model.get("unk_id") is not None:
        unknown = vocab[model["unk_id"]][0]
    if unknown in ids:
        special.add(ids[unknown])
        tokens[ids[unknown]] = unknown.encode()
    for added in content.get("added_tokens") or ():
        name, token_id = added["content"], added["id"]
        ids[name] = token_id
        if added.get("special") or is_reserved_name(name):
            special.add(token_id)
            tokens[token_id] = name.encode()
        else:
            tokens[token_id] = spell_added(name)
    ends = {*beside.end_ids, *(ids[name] for name in beside.end_names if name in ids)}
    return TokenTable.of(by_id(tokens), sorted(special), sorted(ends), beside.size)


def _spellings(content: dict[str, Any]) -> tuple[Spelling, Spelling]:
    """How pieces, and how added tokens, stand for bytes."""
    model = content["model"]
    kind = model.get("type") or ("BPE" if "merges" in model else "WordLevel")
    if kind not in ("BPE", "Unigram"):
        raise VocabularyError(
            f"a {kind} tokenizer: the text of its tokens depends on their neighbours (spaces come "
            "and go), so no vocabulary of bytes is right for it"
        )
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(key):
            raise VocabularyError(f"a tokenizer with {key} {model[key]!r} is not supported")
    decoders = _parts(content.get("decoder"), "decoders")
    if not decoders:
        before = _parts(content.get("pre_tokenizer"), "pretokenizers")
        if any(part["type"] == "ByteLevel" for part in before):
            decoders = [{"type": "ByteLevel"}]
        elif model.get("byte_fallback"):
            decoders = [{"type": "Metaspace"}, {"type": "ByteFallback"}]
        else:
            raise VocabularyError(
                "the tokenizer has no decoder, so it says nothing about the text of its tokens"
            )
    if decoders == [decoder for decoder in decoders if decoder["type"] == "ByteLevel"]:
        return byte_level_bytes, str.encode
    replaced: list[tuple[str, str]] = []
    fused = False
    for decoder in decoders:
        match decoder:
            case {"type": "Replace", "pattern": {"String": old}, "content": new}:
                replaced.append((old, new))
            case {"type": "Metaspace"}:
                replaced.append((decoder.get("replacement", SPACE_MARK), " "))
            case {"type": "Fuse"}:
                fused = True
            case {"type": "ByteFallback"}:
                pass
            case {"type": "Strip"} if fused:
                pass  # takes a space from the start of the whole text only
            case _:
                raise VocabularyError(f"the tokenizer's decoder {decoder} is not supported")
    byte_fallback = any(decoder["type"] == "ByteFallback" for decoder in decoders)

    def spell(piece: str) -> bytes:
        if byte_fallback and (byte := fallback_byte(piece)) is not None:
            return byte
        for old, new in replaced:
            piece = piece.replace(old, new)
        return piece.encode()

    return spell, spell


def _parts(part: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    """A decoder or pre-tokenizer as the flat list of its parts."""
    if part is None:
        return []
    if part["type"] != "Sequence":
        return [part]
    return [inner for one in part[key] for inner in _parts(one, key)]
