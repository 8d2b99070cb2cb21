"""Tokens that end an item and go on: which items that they hold themselves the first must not be.

Where endlessly many items may come, what a token does behind an item depends on that item only as
far as it may be one of those behind it in the token. So the token is read once as if the item were
another one than all others, and then told, for any item, by comparing texts. Cost: some steps of
bytes for every doubtful token and place, instead of a frame for every text.
"""

from __future__ import annotations

from collections.abc import Callable

from ._arrays import I64
from .arena import Arena
from .errors import UnforeseenError
from .kernels import layout
from .rows import Rows
from .texts import last_value

__all__ = ["tell_tokens"]

_COMMA = b","
_SPACE = b" \t\n\r"


def tell_tokens(
    arena: Arena,
    matcher: I64,
    rows: Rows,
    doubtful: list[tuple[int, int]],
    last_item: Callable[[bytes], bytes],
) -> tuple[list[int], list[tuple[int, int]]]:
    """Those of some tokens that are plainly allowed, and those of which only the text tells.

    With each token comes after how many bytes it ends an item. ``last_item(head)`` is the text of
    the item that has its end behind ``head``.
    """
    here = int(matcher[layout.M_CONFIGURATION])
    known = rows.foreseen.get(here)
    if known is None:
        with arena.lock:
            known = [_others(arena, matcher, here, token, n) for token, n in doubtful]
        rows.foreseen[here] = known
    items: dict[bytes, bytes] = {}
    allowed, left = [], []
    for (token, n), others in zip(doubtful, known, strict=True):
        if others is None:
            left.append((token, n))
        elif others:
            start, _ = arena.tables.token_span(token)
            head = arena.tables.token_bytes[start : start + n].tobytes()
            if head not in items:
                items[head] = last_item(head)
            if all(_surely_differ(items[head], other) for other in others):
                allowed.append(token)
            else:
                left.append((token, n))
    return allowed, left


def _others(
    arena: Arena, matcher: I64, configuration: int, token: int, n: int
) -> tuple[bytes, ...] | None:
    """What decides on a token that ends an item after ``n`` bytes. Takes no lock.

    Returns the items behind it that must be others for the token to be allowed; none if it is
    refused whatever the item is; None if only the text tells.
    """
    tables = arena.tables
    start, end = tables.token_span(token)
    data = tables.token_bytes[start:end]
    text = data.tobytes()
    if tables.item_end != _COMMA or text[n : n + 1] != _COMMA:
        return None
    registers = tables.registers
    first = position = n + 1
    later: list[bytes] = []
    with arena.exact_texts():
        if n:
            configuration = arena.advance(matcher, configuration, data[:n])[1]
        try:
            lives, configuration = arena.advance_past(
                matcher, configuration, data[n : n + 1], registers.other_item
            )
        except UnforeseenError:
            return None
        while lives:
            status, result = arena.try_advance(matcher, configuration, data[position:])
            if status != layout.NEED_TEXT:
                # What has only begun might go on to be the first item, and in no other way.
                return None if status == layout.ACCEPTED else ()
            if result:
                before = data[position : position + result]
                configuration = arena.advance(matcher, configuration, before)[1]
                position += result
            item = _last_value(text[:position])
            if text[position : position + 1] == _COMMA:
                if text[first:position].strip(_SPACE) != item:
                    return None  # another array
                later.append(item)
                first = position + 1
                if arena.lives_anyhow(matcher, configuration, data[position:]):
                    return tuple(later)
            symbol = registers.text_symbol(item)
            byte = data[position : position + 1]
            lives, configuration = arena.advance_past(matcher, configuration, byte, symbol)
            position += 1
    return ()


def _last_value(text: bytes) -> bytes:
    return last_value(lambda size: text[-size:])


def _surely_differ(one: bytes, other: bytes) -> bool:
    """Whether two JSON values differ, as far as their texts plainly tell."""
    if one[:1] == other[:1] == b'"':
        return one != other and b"\\" not in one and b"\\" not in other
    kinds = [b"0" if text[:1] in b"-0123456789" else text[:1] for text in (one, other)]
    return kinds[0] != kinds[1]
