"""tiktoken encodings: an ``Encoding``, or a ``.tiktoken`` file of base64 tokens and ranks."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any

from ..tokens import TokenTable
from . import as_path, by_id, object_error, reading

__all__ = ["read_tiktoken"]

_EXPECTED = "a tiktoken.Encoding or a .tiktoken file"


def read_tiktoken(source: Any, special_tokens: Mapping[str, int] | None = None) -> TokenTable:
    """Read a tiktoken encoding.

    Parameters
    ----------
    source : tiktoken.Encoding or path
        A file holds no special tokens: they stand in the code of whoever uses it.
    special_tokens : mapping of name to id, optional
        Special tokens beside those of the source. Several names may share an id.
    """
    path = as_path(source, _EXPECTED)
    if path is not None:
        tokens, named = {}, {}
        with reading(path):
            for line in path.read_bytes().splitlines():
                if line:
                    token, rank = line.split()
                    tokens[int(rank)] = binascii.a2b_base64(token, strict_mode=True)
    elif hasattr(source, "decode_single_token_bytes"):
        tokens = _single_tokens(source)
        named = {name: source.encode_single_token(name) for name in source.special_tokens_set}
    else:
        raise object_error(source, _EXPECTED)
    named |= special_tokens or {}
    for name, token_id in sorted(named.items(), reverse=True):
        tokens[token_id] = name.encode()
    return TokenTable.of(by_id(tokens), sorted(set(named.values())))


def _single_tokens(encoding: Any) -> dict[int, bytes]:
    tokens = {}
    for token_id in range(encoding.n_vocab):
        try:
            tokens[token_id] = encoding.decode_single_token_bytes(token_id)
        except KeyError:  # a hole: the id stands for nothing
            continue
    return tokens
