"""What holds of a vocabulary when its source says one thing and the caller another.

The caller's word goes first, then the source's, then the names by which end tokens are known.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .._arrays import grown
from ..errors import VocabularyError
from .tokens import TokenSequence, TokenTable

__all__ = ["KNOWN_ENDS", "Ids", "resolve"]

Ids: TypeAlias = int | Iterable[int]

#: Names that end a text, a message or a turn, the surest first.
KNOWN_ENDS = (
    b"<|endoftext|>",
    b"<|end_of_text|>",
    b"<|eot_id|>",
    b"<|eom_id|>",
    b"<|im_end|>",
    b"<|return|>",
    b"<|call|>",
    b"<|eot|>",
    b"<|eom|>",
    b"<end_of_turn>",
    b"<turn|>",
    b"<|END_OF_TURN_TOKEN|>",
    b"<EOS_TOKEN>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>".encode(),
    b"<|eos|>",
    b"<eos>",
    b"</s>",
)

_LARGEST_SIZE = 1 << 24
_LISTED = 8


def resolve(
    table: TokenTable,
    eos_token_ids: Ids | None = None,
    special_token_ids: Ids | None = None,
    vocab_size: int | None = None,
) -> TokenTable:
    """Apply what the caller says to what the source says.

    Parameters
    ----------
    table : TokenTable
        What the source says.
    eos_token_ids, special_token_ids, vocab_size
        What the caller says, None for nothing.

    Returns
    -------
    TokenTable
        With exactly as many tokens as the logits are wide; special and end ids ascending, inside.

    Raises
    ------
    VocabularyError
        No end id; an id out of range; text tokens past the width.
    """
    tokens = TokenSequence(table.token_bytes, table.token_offsets)
    n = len(tokens)
    width = table.size if vocab_size is None else vocab_size
    size = n if width is None else _checked_size(width)
    special: Sequence[int] | None = table.special_ids
    if special_token_ids is not None:
        special = _ids("special_token_ids", special_token_ids)
        if outside := [i for i in special if not 0 <= i < max(n, size)]:
            raise VocabularyError(
                f"special_token_ids: {_listed(outside)} outside the {max(n, size):,} ids"
            )
    if eos_token_ids is not None:
        ends = _ids("eos_token_ids", eos_token_ids)
        _check_ends(ends, n, size)
    else:
        ends = sorted(set(table.end_ids)) or _known_ends(tokens, special or ())
        if not ends and table.special_ids is None:
            ends = _surest_ends(tokens)
    special = sorted(set(special or ()))
    _check_dropped(tokens, size, {*special, *ends})
    ends = [i for i in ends if 0 <= i < min(n, size)]
    if not ends:
        known = ", ".join(name.decode() for name in KNOWN_ENDS[:3])
        raise VocabularyError(
            "no end token: none was given, the source names none, and no special token has a known "
            f"name such as {known}; pass eos_token_ids="
        )
    token_bytes, token_offsets = table.token_bytes, table.token_offsets
    if size < n:
        token_offsets = token_offsets[: size + 1].copy()
        token_bytes = token_bytes[: token_offsets[-1]].copy()
    elif size > n:
        token_offsets = grown(token_offsets, size + 1)
        token_offsets[n + 1 :] = token_offsets[n]
    return TokenTable(token_bytes, token_offsets, [i for i in special if i < size], ends, size)


def _checked_size(vocab_size: int) -> int:
    try:
        size = operator.index(vocab_size)
    except TypeError:
        raise VocabularyError(f"vocab_size is {vocab_size!r} and not a number of ids") from None
    if not 0 < size <= _LARGEST_SIZE:
        raise VocabularyError(f"vocab_size is {size:,}; it must be from 1 to {_LARGEST_SIZE:,}")
    return size


def _ids(name: str, ids: Ids) -> list[int]:
    """Distinct ids, ascending, of one id or several."""
    try:
        several = ids if isinstance(ids, Iterable) else (ids,)
        return sorted({operator.index(i) for i in several})
    except TypeError:
        raise VocabularyError(f"{name} is {ids!r}: give one token id or several") from None


def _check_ends(ends: Sequence[int], n: int, size: int) -> None:
    if not ends:
        raise VocabularyError("eos_token_ids is empty: a text must be able to end; give an end id")
    if padding := [i for i in ends if n <= i < size]:
        raise VocabularyError(
            f"eos_token_ids: {_listed(padding)} in the padding: only ids below {n:,} have a token"
        )
    if outside := [i for i in ends if not 0 <= i < size]:
        raise VocabularyError(f"eos_token_ids: {_listed(outside)} outside the {size:,} ids")


def _check_dropped(tokens: TokenSequence, size: int, droppable: set[int]) -> None:
    """Only what no text can need may lie past the width."""
    lost = [i for i in range(size, len(tokens)) if tokens[i] and i not in droppable]
    if lost:
        named = ", ".join(f"{i} {tokens[i]!r}" for i in lost[:_LISTED])
        more = f" and {len(lost) - _LISTED:,} more" if len(lost) > _LISTED else ""
        raise VocabularyError(
            f"vocab_size {size:,} would drop {len(lost):,} text token(s): {named}{more}; name them "
            "in special_token_ids if the model never writes them"
        )


def _known_ends(tokens: TokenSequence, special: Sequence[int]) -> list[int]:
    """All special tokens with a known end name."""
    return [i for i in sorted(special) if i < len(tokens) and tokens[i] in _KNOWN]


def _surest_ends(tokens: TokenSequence) -> list[int]:
    """Of plain tokens only those with the surest name: the others may be text."""
    found: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(tokens):
        if token in _KNOWN:
            found.setdefault(token, []).append(token_id)
    return next((found[name] for name in KNOWN_ENDS if name in found), [])


def _listed(ids: Sequence[int]) -> str:
    shown = ", ".join(map(str, ids[:_LISTED]))
    return f"{shown}{', ...' if len(ids) > _LISTED else ''} {'is' if len(ids) == 1 else 'are'}"


_KNOWN = frozenset(KNOWN_ENDS)
