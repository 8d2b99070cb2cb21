"""Vocabulary files: one ``.npz`` of plain arrays, with a format version, a digest and a checksum.

Nothing in the file is compressed: a 128,000-token vocabulary with its trie is 6 MB and is read and
checked in about 10 ms. A file that has only the four token arrays (``bytes`` uint8, ``offsets``
int32[n + 1], ``special`` bool[n], ``eos`` int32) is read too: that is how other tools write one.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from .._arrays import I32, U8
from ..errors import FormatError
from .trie import TokenTrie

__all__ = ["FORMAT_VERSION", "StoredVocabulary", "read_vocabulary", "write_vocabulary"]

FORMAT_VERSION = 1

_TOKEN_ARRAYS = {"bytes": np.uint8, "offsets": np.int32, "special": np.bool_, "eos": np.int32}
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ValueError,
    LookupError,
    EOFError,
    MemoryError,
    OSError,
    RuntimeError,
)


@dataclass(frozen=True, slots=True)
class StoredVocabulary:
    """What a vocabulary file holds.

    Attributes
    ----------
    token_bytes : uint8[n_bytes]
    token_offsets : int32[n + 1]
    special : bool[n]
        Which ids are special.
    eos : int32[n_ends]
        The end ids.
    digest : str | None
        The digest of the vocabulary that was saved; None in a plain file.
    trie : TokenTrie | None
        The trie of its text tokens, if it was saved.
    """

    token_bytes: U8
    token_offsets: I32
    special: npt.NDArray[np.bool_]
    eos: I32
    digest: str | None = None
    trie: TokenTrie | None = None


def write_vocabulary(file: str | os.PathLike[str] | IO[bytes], stored: StoredVocabulary) -> None:
    """Write a vocabulary to an open file, or to a path by way of a temporary name."""
    arrays: dict[str, npt.NDArray[Any]] = {
        "bytes": stored.token_bytes,
        "offsets": stored.token_offsets,
        "special": stored.special,
        "eos": stored.eos,
        "digest": np.array(stored.digest),
    }
    if stored.trie is not None:
        arrays |= {f"trie_{name}": array for name, array in stored.trie.arrays().items()}
    version = np.array(FORMAT_VERSION)
    contents = {"format_version": version, "checksum": np.array(_checksum(arrays)), **arrays}
    if not isinstance(file, (str, os.PathLike)):
        np.savez(file, **contents)  # type: ignore[arg-type]
        return
    path = Path(file)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with open(temporary, "xb") as stream:
            np.savez(stream, **contents)  # type: ignore[arg-type]
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_vocabulary(file: str | os.PathLike[str] | IO[bytes]) -> StoredVocabulary:
    """Read a file of ``write_vocabulary``, or one that holds the four plain token arrays.

    Raises
    ------
    FormatError
        Not such a file, of another format version, or damaged.
    OSError
        The file cannot be opened.
    """
    name = "the data" if not isinstance(file, (str, os.PathLike)) else repr(os.fspath(file))
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as stream:
            arrays = _arrays(stream, name)
    else:
        arrays = _arrays(file, name)
    if missing := sorted(_TOKEN_ARRAYS.keys() - arrays.keys()):
        raise FormatError(f"{name} is no vocabulary: it has no array named {', '.join(missing)}")
    ours = "format_version" in arrays
    if ours:
        _check_origin(arrays, name)
    _check_tokens(arrays, name)
    digest = str(arrays["digest"]) if ours and "digest" in arrays else None
    trie = {key: arrays[f"trie_{key}"] for key in TokenTrie.__slots__ if f"trie_{key}" in arrays}
    has_trie = ours and len(trie) == len(TokenTrie.__slots__)
    return StoredVocabulary(
        arrays["bytes"],
        arrays["offsets"],
        arrays["special"],
        arrays["eos"],
        digest,
        TokenTrie(**trie) if has_trie else None,
    )


def _check_origin(arrays: dict[str, npt.NDArray[Any]], name: str) -> None:
    """Version and checksum of a file of ``write_vocabulary``; both are taken out."""
    version = arrays.pop("format_version")
    checksum = arrays.pop("checksum", None)
    if version.shape != () or version.dtype.kind != "i" or int(version) != FORMAT_VERSION:
        raise FormatError(
            f"{name} has vocabulary format {version}, this fastmask reads {FORMAT_VERSION}: make "
            "the file anew from the tokenizer"
        )
    if str(checksum) != _checksum(arrays):
        raise FormatError(f"{name} is damaged: its checksum does not fit its content")


def _check_tokens(arrays: dict[str, npt.NDArray[Any]], name: str) -> None:
    """Types, shapes and places of the four token arrays."""
    for key, dtype in _TOKEN_ARRAYS.items():
        if arrays[key].ndim != 1 or arrays[key].dtype != dtype:
            raise FormatError(
                f"{name}: array {key} is {arrays[key].dtype} of shape {arrays[key].shape}, "
                f"not flat {np.dtype(dtype)}"
            )
    offsets, special, eos = arrays["offsets"], arrays["special"], arrays["eos"]
    ends_fit = offsets.size > 0 and offsets[0] == 0 and offsets[-1] == arrays["bytes"].size
    if not ends_fit or (offsets[1:] < offsets[:-1]).any():
        raise FormatError(f"{name}: the offsets do not cut the bytes into tokens")
    if special.size != offsets.size - 1:
        raise FormatError(f"{name}: {offsets.size - 1} tokens, {special.size} flags")
    if ((eos < 0) | (eos >= special.size)).any():
        raise FormatError(f"{name}: end ids outside the tokens")


def _arrays(stream: IO[bytes], name: str) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an ``.npz``; its own checks (CRC-32 of each array) run on the way."""
    try:
        loaded = np.load(stream, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise FormatError(f"{name} is one array and no .npz vocabulary")
        with loaded:
            return {key: loaded[key] for key in loaded.files}
    except _DAMAGE as error:
        # NumPy takes what it does not know for a pickle, and says how to load it unsafely.
        why = "" if "pickle" in str(error) else f": {error}"
        raise FormatError(f"{name} is no .npz file, or a damaged one{why}") from error


def _checksum(arrays: dict[str, npt.NDArray[Any]]) -> str:
    """SHA-256 over names, types, shapes and contents."""
    digest = hashlib.sha256()
    for key in sorted(arrays):
        array = np.ascontiguousarray(arrays[key])
        digest.update(f"{key} {array.dtype.str} {array.shape};".encode())
        digest.update(array.data)
    return digest.hexdigest()
