"""SentencePiece models: the pieces of the protobuf file, read without the library.

A model file is a protobuf message; field 1, repeated, is a piece (1 its text, 3 its type), field 2
the trainer's settings, among them the end id.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ..tokens import TokenTable
from . import as_path, fallback_byte, is_reserved_name, marked_bytes, object_error, reading

__all__ = ["NORMAL", "USER", "piece_bytes", "read_sentencepiece"]

# Types of pieces; GGUF files use the same numbers.
NORMAL, _UNKNOWN, _CONTROL, USER, _UNUSED, _BYTE = range(1, 7)

_PIECES, _TRAINER = 1, 2  # fields of the model
_PIECE_TEXT, _PIECE_TYPE = 1, 3  # fields of a piece
_END_ID = 42  # field of the trainer's settings
_DEFAULT_END_ID = 2

_EXPECTED = "a SentencePiece model: its path, its bytes or a SentencePieceProcessor"


def read_sentencepiece(source: Any) -> TokenTable:
    """Read a SentencePiece model.

    Parameters
    ----------
    source : path, bytes or sentencepiece.SentencePieceProcessor
        Control, unknown and unused pieces are special.

    Raises
    ------
    FormatError
        Bytes that are no such model.
    """
    name = "the model"
    if isinstance(source, (bytes, bytearray)):
        data = bytes(source)
    elif (path := as_path(source, _EXPECTED)) is not None:
        data, name = path.read_bytes(), os.fspath(path)
    elif hasattr(source, "serialized_model_proto"):
        data = source.serialized_model_proto()
    else:
        raise object_error(source, _EXPECTED)
    with reading(name):
        return _table(data)


def piece_bytes(piece: str, kind: int) -> tuple[bytes, bool]:
    """Bytes of a piece of a type, and whether it is special."""
    if kind == _BYTE:
        byte = fallback_byte(piece)
        if byte is None:
            raise ValueError(f"{piece!r} is said to be a byte")
        return byte, False
    if kind == NORMAL or (kind == USER and not is_reserved_name(piece)):
        return marked_bytes(piece), False
    return piece.encode(), True


def _table(model: bytes) -> TokenTable:
    tokens: list[bytes] = []
    special = []
    end_id = _DEFAULT_END_ID
    for field, value in _fields(model):
        if field == _PIECES and isinstance(value, bytes):
            piece = dict(_fields(value))
            text = piece.get(_PIECE_TEXT, b"").decode()
            token, is_special = piece_bytes(text, piece.get(_PIECE_TYPE, NORMAL))
            if is_special:
                special.append(len(tokens))
            tokens.append(token)
        elif field == _TRAINER and isinstance(value, bytes):
            end_id = dict(_fields(value)).get(_END_ID, _DEFAULT_END_ID)
    if not tokens:
        raise ValueError("it has no pieces")
    return TokenTable.of(tokens, special, [end_id] if end_id in special else [])


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Fields of a protobuf message: an integer, or the bytes of a string or an inner message."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire_type = tag & 7
        if wire_type == 0:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if wire_type == 2:
            size, at = _varint(message, at)
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise ValueError(f"wire type {wire_type} at byte {at}")
        if at + size > len(message):
            raise ValueError(f"a field leads past the end at byte {at}")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
