"""A token list as one run of bytes and the places where each token starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from .._arrays import I32, U8, contiguous
from ..errors import VocabularyError

__all__ = ["TokenSequence", "TokenTable", "pack_tokens"]

_MOST_BYTES = 2**31 - 1


class TokenSequence(Sequence[bytes]):
    """The tokens of a vocabulary by id, cut out of their common run of bytes when asked for.

    Parameters
    ----------
    token_bytes : uint8[n_bytes]
        All tokens, one after the other.
    token_offsets : int32[n + 1]
        Token ``t`` is ``token_bytes[token_offsets[t]:token_offsets[t + 1]]``.
    """

    __slots__ = ("_bytes", "_offsets")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, token_bytes: U8, token_offsets: I32) -> None:
        self._bytes = token_bytes
        self._offsets = token_offsets

    def __len__(self) -> int:
        return self._offsets.size - 1

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._bytes[self._offsets[place] : self._offsets[place + 1]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        data = self._bytes.tobytes()
        start = 0
        for end in self._offsets[1:].tolist():
            yield data[start:end]
            start = end

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (TokenSequence, list, tuple)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"<{len(self):,} tokens: {shown}{', ...' if len(self) > 3 else ''}>"


@dataclass(frozen=True, slots=True)
class TokenTable:
    """The tokens as a source tells them, before anybody overrides what it says.

    Attributes
    ----------
    token_bytes : uint8[n_bytes], token_offsets : int32[n + 1]
        Bytes of each id: of its text, of its name if it is special, none if it stands for nothing.
    special_ids : sequence of int, or None
        Ids that text never produces; None if the source cannot tell.
    end_ids : sequence of int
        Ids that end a text; empty if the source does not say.
    size : int | None
        Width of the model's logits, where the source knows it.
    """

    token_bytes: U8
    token_offsets: I32
    special_ids: Sequence[int] | None = None
    end_ids: Sequence[int] = ()
    size: int | None = None

    @classmethod
    def of(
        cls,
        tokens: Iterable[bytes],
        special_ids: Sequence[int] | None = None,
        end_ids: Sequence[int] = (),
        size: int | None = None,
    ) -> TokenTable:
        """The table of a list of tokens."""
        return cls(*pack_tokens(tokens), special_ids, end_ids, size)


def pack_tokens(tokens: Iterable[bytes]) -> tuple[U8, I32]:
    """Join tokens into ``(token_bytes, token_offsets)``.

    Raises
    ------
    VocabularyError
        A token that is not bytes, or more than 2 GiB of tokens.
    """
    if isinstance(tokens, (str, Mapping)) or not isinstance(tokens, Iterable):
        raise VocabularyError(
            f"tokens must be a sequence of bytes, one for each id in order, not a "
            f"{type(tokens).__name__}"
        )
    listed = list(tokens)
    for token_id, token in enumerate(listed):
        if not isinstance(token, (bytes, bytearray)):
            raise VocabularyError(_not_bytes(token_id, token))
    lengths = np.fromiter(map(len, listed), np.int64, len(listed))
    if lengths.sum() > _MOST_BYTES:
        raise VocabularyError("the tokens have more than 2 GiB of bytes together")
    offsets = np.zeros(len(listed) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return contiguous(np.frombuffer(b"".join(listed), np.uint8), np.uint8), offsets


def _not_bytes(token_id: int, token: Any) -> str:
    advice = ""
    if isinstance(token, str):
        advice = (
            "; encode it to the bytes it stands for in a text (tokenizer files spell these in "
            "their own way, which the from_* constructors read)"
        )
    return f"token {token_id} is {token!r}, a {type(token).__name__} and not bytes{advice}"
