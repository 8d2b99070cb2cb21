"""Reading bytes, where the text just read may decide what comes next.

What follows a key without a name, or an item that must differ from others, depends on that text. A
kernel stops before the byte behind it; the text is taken from what was read, and the kernel goes on
with a symbol that stands for it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ._arrays import I64, U8
from .arena import Arena
from .foresight import tell_tokens
from .history import History
from .kernels import layout
from .rows import Rows
from .texts import last_value

__all__ = ["Reader"]


class Reader:
    """Reads on from where a matcher stands, which stays there.

    Parameters
    ----------
    arena : Arena
    words : int64[M_SIZE]
        The matcher's record.
    history : History
    """

    __slots__ = ("_arena", "_history", "_words")

    def __init__(self, arena: Arena, words: I64, history: History) -> None:
        self._arena = arena
        self._words = words
        self._history = history

    def read(self, data: U8, configuration: int = 0, ahead: bytes | bytearray = b"") -> int:
        """The configuration behind ``data``, 0 if it is refused.

        Read from the present one, or from ``configuration``, which is where ``ahead`` leads.
        """
        arena, words = self._arena, self._words
        configuration = configuration or int(words[layout.M_CONFIGURATION])
        position = 0
        with arena.lock, arena.exact_texts():
            while position < data.size:
                status, result = arena.try_advance(words, configuration, data[position:])
                if status != layout.NEED_TEXT:
                    return result if status == layout.ACCEPTED else 0
                # The text just read, a key say, decides the next byte: read up to it, name it.
                if result:
                    before = data[position : position + result]
                    configuration = arena.advance(words, configuration, before)[1]
                    position += result
                text = self.last_value(bytes(ahead) + data[:position].tobytes())
                symbol = arena.tables.registers.text_symbol(text)
                byte = data[position : position + 1]
                lives, configuration = arena.advance_past(words, configuration, byte, symbol)
                position += 1
                if not lives:
                    return 0
        return configuration

    def last_value(self, ahead: bytes) -> bytes:
        """The text of the JSON value that ends where ``ahead`` does, behind all that was read."""
        return last_value(functools.partial(self._history.tail, ahead=ahead))

    def next_bytes(
        self, configuration: int, ahead: bytes | bytearray = b""
    ) -> npt.NDArray[np.bool_]:
        """Which bytes may come next, bool[256], in a configuration that ``ahead`` leads to."""
        with self._arena.lock:
            allowed = self._arena.allowed_bytes(self._words, configuration)
        end = np.frombuffer(bytearray(self._arena.tables.item_end), np.uint8)
        if end.size and not allowed[end[0]]:
            allowed[end[0]] = self.read(end, configuration, ahead) != 0
        return allowed

    def allowed(self, doubtful: Iterable[tuple[int, int]]) -> list[int]:
        """Those of some tokens that are accepted; with each how long the text is not needed.

        Raises `BudgetError` where accepting one of them does.
        """
        allowed = []
        behind: dict[bytes, int] = {}
        tables = self._arena.tables
        for token, n in doubtful:
            start, end = tables.token_span(token)
            data = tables.token_bytes[start:end]
            head = data[: n + 1].tobytes()
            if head not in behind:
                behind[head] = self.read(data[: n + 1])
            if behind[head] and self.read(data[n + 1 :], behind[head], head):
                allowed.append(token)
        return allowed

    def allowed_by_text(self, rows: Rows, leaf: int) -> list[int]:
        """The tokens that the text of an array's items adds to the row of a leaf."""
        arena = self._arena
        with arena.lock:
            doubtful = arena.doubtful_tokens(self._words, rows, leaf)
        if not doubtful:
            return []
        told, doubtful = tell_tokens(arena, self._words, rows, doubtful, self.last_value)
        return [*told, *self.allowed(doubtful)]
