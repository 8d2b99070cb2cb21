"""Atomic tokens as grammar files write them.

``<[7]>``, ``<[1,3-8]>``, ``<[^7]>`` (any other), ``<[*]>`` (any) by id; ``<name>`` for the token
with exactly that text, angle brackets included; ``<[name]>`` for a name without them. A ``!``
before any of these means every other token.
"""

from __future__ import annotations

import re
from typing import NoReturn

from ..errors import GrammarSyntaxError
from .ir import Tokens

__all__ = ["read_token_item"]

_ID_RANGE = r"[0-9]+\s*(?:-\s*[0-9]+\s*)?"
_TOKEN_IDS = re.compile(rf"(\^?)\s*({_ID_RANGE}(?:,\s*{_ID_RANGE})*)")
_MOST_DIGITS = 10
_MOST_IDS = 1_000_000


def read_token_item(text: str, position: int) -> tuple[Tokens, int]:
    """The token item at ``position``, which holds ``<`` or ``!``, and where it ends.

    Raises
    ------
    GrammarSyntaxError
        It is not well formed, or leaves no token.
    """
    negated = text.startswith("!", position)
    opening = position + negated
    if not text.startswith("<", opening):
        _fail("'!' must stand before a token, as in !<[7]> or !<name>", text, position)
    if text.startswith("<[", opening):
        end = text.find("]>", opening) + 2
        content = text[opening + 2 : end - 2]
    else:
        end = text.find(">", opening) + 1
        content = text[opening:end]
    if end <= opening or "\n" in content or content in ("", "<>"):
        _fail("a token is written <[id]>, <[name]> or <name>", text, opening)
    if text.startswith("<[", opening):
        tokens = _bracketed(content, text, opening)
    else:
        tokens = Tokens((content,))
    tokens = Tokens(tokens.items, negated != tokens.negated)
    if not tokens.items and not tokens.negated:
        _fail("no token is left when all are excluded", text, position)
    return tokens, end


def _bracketed(content: str, text: str, position: int) -> Tokens:
    if content.strip() == "*":
        return Tokens((), negated=True)
    match = _TOKEN_IDS.fullmatch(content.strip())
    if match is None:
        return Tokens((content,))
    ids: set[int] = set()
    for part in match[2].split(","):
        low, _, high = (piece.strip() for piece in part.partition("-"))
        if max(len(low), len(high)) > _MOST_DIGITS:
            _fail(f"a token id has at most {_MOST_DIGITS} digits", text, position)
        first, last = int(low), int(high or low)
        if last < first:
            _fail(f"{part.strip()} is an empty range", text, position)
        if last - first + len(ids) >= _MOST_IDS:
            _fail(f"more than {_MOST_IDS:,} token ids", text, position)
        ids.update(range(first, last + 1))
    return Tokens(tuple(sorted(ids)), negated=bool(match[1]))


def _fail(message: str, text: str, position: int) -> NoReturn:
    raise GrammarSyntaxError(message, text=text, position=position)
