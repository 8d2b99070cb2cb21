"""Readers of tokenizer formats, one a module: each makes a ``TokenTable``.

A file is read here, without the library it belongs to; an object of that library is asked through
its own methods. Nothing is ever downloaded.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ...errors import FastmaskError, FormatError, VocabularyError

__all__ = [
    "SPACE_MARK",
    "as_path",
    "by_id",
    "byte_level_bytes",
    "fallback_byte",
    "is_reserved_name",
    "marked_bytes",
    "object_error",
    "reading",
]

#: Stands for a space in the pieces of the SentencePiece family.
SPACE_MARK = "\u2581"

_FALLBACK = re.compile("<0x([0-9A-Fa-f]{2})>")
_LARGEST_ID = (1 << 24) - 1
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)


def _byte_level_table() -> dict[int, int]:
    """Code point to byte of GPT-2's spelling; 0xFFFF for the other code points below 256.

    Printable Latin-1 characters stand for themselves; the other bytes, in order, for the characters
    from U+0100 on (Radford et al., 2019).
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)) - set(printable))
    table = dict.fromkeys(others, 0xFFFF)
    table |= {byte: byte for byte in printable}
    return table | {0x100 + i: byte for i, byte in enumerate(others)}


_BYTE_LEVEL = _byte_level_table()


def byte_level_bytes(piece: str) -> bytes:
    """Bytes of a piece in GPT-2's spelling; its UTF-8 if a character in it stands for no byte."""
    try:
        return piece.translate(_BYTE_LEVEL).encode("latin-1")
    except UnicodeEncodeError:
        return piece.encode()


def fallback_byte(piece: str) -> bytes | None:
    """The byte of a piece such as ``<0xAB>``, None for any other piece."""
    match = _FALLBACK.fullmatch(piece)
    return None if match is None else bytes.fromhex(match[1])


def marked_bytes(piece: str) -> bytes:
    """Bytes of a piece in which U+2581 stands for a space."""
    return piece.replace(SPACE_MARK, " ").encode()


def is_reserved_name(name: str) -> bool:
    """Whether an added token is a place holder that no text should produce."""
    return fnmatchcase(name, "<unused*>") or fnmatchcase(name, "<reserved*>")


def by_id(tokens: Mapping[int, bytes]) -> list[bytes]:
    """A list of tokens by id, empty where an id has none."""
    if tokens and (min(tokens) < 0 or max(tokens) > _LARGEST_ID):
        raise FormatError(f"token ids from {min(tokens)} to {max(tokens):,} make no vocabulary")
    listed = [b""] * (max(tokens, default=-1) + 1)
    for token_id, token in tokens.items():
        listed[token_id] = token
    return listed


def as_path(source: Any, expected: str) -> Path | None:
    """The path that a caller gave, None if it gave an object.

    Raises
    ------
    VocabularyError
        There is nothing under that path.
    """
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    if not path.exists():
        raise VocabularyError(
            f"{os.fspath(source)!r} is no file or folder here, and nothing is downloaded: give "
            f"{expected}"
        )
    return path


def object_error(source: Any, expected: str) -> VocabularyError:
    """The error for an object that this source cannot read."""
    kind = f"{type(source).__module__}.{type(source).__qualname__}"
    return VocabularyError(f"a {kind} was given; give {expected}")


@contextlib.contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Turn the faults that a damaged file causes into a ``FormatError`` that names it."""
    try:
        yield
    except FastmaskError:
        raise
    except _DAMAGE as error:
        cause = f"it has no {error}" if isinstance(error, KeyError) else error
        raise FormatError(f"{str(path)!r} is damaged or of another format: {cause}") from error
