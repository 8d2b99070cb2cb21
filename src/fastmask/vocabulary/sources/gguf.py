"""GGUF files: the tokenizer among a model's metadata, read through a memory map.

A file begins with ``GGUF``, a version, the numbers of tensors and of entries; an entry is a name,
a type and a value, an array a type, a length and its values. Only these pages are read, so the size
of the model does not matter: 262,144 tokens take 0.3 s.
"""

from __future__ import annotations

import mmap
import struct
from typing import Any

from ...errors import VocabularyError
from ..tokens import TokenTable
from . import as_path, byte_level_bytes, is_reserved_name, object_error, reading
from .sentencepiece import NORMAL, USER, piece_bytes

__all__ = ["read_gguf"]

_EXPECTED = "the path of a .gguf file"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
#: Formats of the other value types, in the notation of ``struct``.
_NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_TOKENIZER = "tokenizer.ggml."
_ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")
_NEEDED = {_TOKENIZER + name for name in ("model", "tokens", "token_type", *_ENDS)}


def read_gguf(source: Any) -> TokenTable:
    """Read the tokenizer of a GGUF file.

    Parameters
    ----------
    source : path

    Raises
    ------
    VocabularyError
        A kind of tokenizer whose tokens are no plain pieces of text, such as BERT's, or none.
    FormatError
        No GGUF file, or a damaged one.
    """
    path = as_path(source, _EXPECTED)
    if path is None:
        raise object_error(source, _EXPECTED)
    with (
        reading(path),
        open(path, "rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        entries = _Reader(data).entries()
    model = entries.get(_TOKENIZER + "model")
    if model not in ("gpt2", "llama", "t5"):
        raise VocabularyError(
            f"the tokenizer of {str(path)!r} is {model or 'missing'}; only in those named gpt2, "
            "llama and t5 are tokens plain pieces of text"
        )
    tokens, special = [], []
    with reading(path):
        pieces = entries[_TOKENIZER + "tokens"]
        kinds = entries.get(_TOKENIZER + "token_type") or [NORMAL] * len(pieces)
        for token_id, (piece, kind) in enumerate(zip(pieces, kinds, strict=True)):
            if model != "gpt2":
                token, is_special = piece_bytes(piece, kind)
            elif kind == NORMAL:
                token, is_special = byte_level_bytes(piece), False
            else:
                token, is_special = piece.encode(), kind != USER or is_reserved_name(piece)
            tokens.append(token)
            if is_special:
                special.append(token_id)
    ends = [entries[key] for name in _ENDS if (key := _TOKENIZER + name) in entries]
    return TokenTable.of(tokens, special, ends)


class _Reader:
    """The metadata of a GGUF file, front to back."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0

    def entries(self) -> dict[str, Any]:
        """The entries a vocabulary is made of, by name."""
        if self._data[:4] != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        self._at = 4
        version = self._number("I")
        if version not in _VERSIONS:
            raise ValueError(f"GGUF version {version}, little-endian {_VERSIONS} are read")
        self._number("Q")
        entries = {}
        for _ in range(self._number("Q")):
            name = self._string().decode()
            value = self._value(self._number("I"), keep=name in _NEEDED)
            if name in _NEEDED:
                entries[name] = value
        return entries

    def _number(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self._data, self._at)
        self._at += struct.calcsize("<" + code)
        return value

    def _string(self) -> bytes:
        return self._strings(1)[0]

    def _strings(self, count: int) -> list[bytes]:
        data, at = self._data, self._at
        read_size = struct.Struct("<Q").unpack_from
        strings = []
        for _ in range(count):
            (size,) = read_size(data, at)
            strings.append(data[at + 8 : at + 8 + size])
            at += 8 + size
        self._advance_to(at)
        return strings

    def _value(self, kind: int, keep: bool) -> Any:
        if kind == _STRING:
            return self._string().decode() if keep else self._string()
        if kind != _ARRAY:
            return self._number(_NUMBERS[kind])
        inner, count = self._number("I"), self._number("Q")
        if inner == _STRING:
            strings = self._strings(count)
            return [string.decode() for string in strings] if keep else None
        start, width = self._at, struct.calcsize("<" + _NUMBERS[inner])
        self._advance_to(start + width * count)
        return struct.unpack_from(f"<{count}{_NUMBERS[inner]}", self._data, start) if keep else None

    def _advance_to(self, at: int) -> None:
        if at > len(self._data):
            raise EOFError(f"a value at byte {self._at} leads past the end")
        self._at = at
