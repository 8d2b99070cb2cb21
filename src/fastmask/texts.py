"""The last JSON value of a text, found from its end: what a frame has to know of what was read.

Cost: linear in the value itself, however long the text before it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["last_value"]

_FIRST_TAIL = 256
_SCALAR = re.compile(rb"[^\[\]{},:\s\"]+\Z")
_SIGNS = re.compile(rb"[\"\[\]{}]")


def last_value(tail: Callable[[int], bytes]) -> bytes:
    """The text of the last value, white space behind it left out.

    ``tail(n)`` gives the last ``n`` bytes of the text, or all of them if they are fewer.
    """
    size = _FIRST_TAIL
    while True:
        text = tail(size)
        is_whole = len(text) < size
        text = text.rstrip(b" \t\n\r")
        start = _begin(text)
        if start > 0 or is_whole:
            return text[max(start, 0) :]
        size *= 4


def _begin(text: bytes) -> int:
    """Where the value at the end of ``text`` begins; 0 or less where it may begin before."""
    if text[-1:] == b'"':
        return _string_begin(text, len(text) - 1)
    if text[-1:] not in (b"]", b"}"):
        scalar = _SCALAR.search(text)
        return scalar.start() if scalar else len(text)
    signs = [match.start() for match in _SIGNS.finditer(text)]
    depth = 0
    while signs:
        place = signs.pop()
        if text[place : place + 1] == b'"':
            start = _string_begin(text, place)
            while signs and signs[-1] >= start:
                signs.pop()
        elif text[place : place + 1] in (b"]", b"}"):
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                return place
    return -1


def _string_begin(text: bytes, end: int) -> int:
    """Where the string begins whose closing quote stands at ``end``; -1 before the text."""
    start = text.rfind(b'"', 0, end)
    while start > 0:
        slashes = start - len(text[:start].rstrip(b"\\"))
        if slashes % 2 == 0:
            return start
        start = text.rfind(b'"', 0, start)
    return start
