"""What a matcher has read: the configuration before each step, and the step's token.

Kernels append to a buffer that the matcher's record points to. A fork freezes what has come so far
as a segment, which both go on from, each in a buffer of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._arrays import I32, I64
from .errors import MatcherError
from .kernels import layout
from .vocabulary import Vocabulary

__all__ = ["History"]

_FIRST_STEPS = 256
_NO_STEPS: I32 = np.zeros(0, np.int32)


class _Segment(NamedTuple):
    """Frozen steps that matchers share; the first of them is step number ``start``."""

    before: _Segment | None
    start: int
    steps: I32
    texts: list[bytes]
    length: int


class History:
    """The steps of one matcher.

    Parameters
    ----------
    words : int64[M_SIZE]
        The matcher's record, of which it keeps M_HISTORY, M_LENGTH and M_CONFIGURATION.
    vocabulary : Vocabulary

    Attributes
    ----------
    steps : int32[2 * n]
        The buffer: configuration and token of each step since the last fork.
    """

    __slots__ = ("_frozen", "_start", "_texts", "_vocabulary", "_words", "steps")

    def __init__(self, words: I64, vocabulary: Vocabulary) -> None:
        self._words = words
        self._vocabulary = vocabulary
        self._go_on_from(None, 0)
        self._bind(np.zeros(2 * _FIRST_STEPS, np.int32))

    def _go_on_from(self, frozen: _Segment | None, start: int) -> None:
        self._frozen = frozen
        self._start = start
        self._texts: list[bytes] = []  # of steps over bytes, whose token is -1 - index
        self.steps = _NO_STEPS
        self._words[layout.M_HISTORY + 1] = 0
        self._words[layout.M_LENGTH] = 0

    def _bind(self, steps: I32) -> None:
        self.steps = steps
        self._words[layout.M_HISTORY] = steps.__array_interface__["data"][0]
        self._words[layout.M_HISTORY + 1] = steps.size

    @property
    def n_steps(self) -> int:
        """Steps taken so far."""
        return self._start + int(self._words[layout.M_LENGTH])

    def make_room(self) -> bool:
        """Make room for a step; whether there was none."""
        length = int(self._words[layout.M_LENGTH])
        if 2 * length < self.steps.size:
            return False
        # By an eighth, so that few bytes lie unused; copying still costs nothing to speak of.
        steps = np.zeros(2 * max(_FIRST_STEPS, length + length // 8), np.int32)
        steps[: 2 * length] = self.steps[: 2 * length]
        self._bind(steps)
        return True

    def push(self, configuration: int, token: int) -> None:
        """Take the step of a token to a configuration."""
        self.make_room()
        length = int(self._words[layout.M_LENGTH])
        self.steps[2 * length] = self._words[layout.M_CONFIGURATION]
        self.steps[2 * length + 1] = token
        self._words[layout.M_LENGTH] = length + 1
        self._words[layout.M_CONFIGURATION] = configuration

    def push_text(self, configuration: int, text: bytes) -> None:
        """Take a step over bytes that are no token."""
        self._texts.append(text)
        self.push(configuration, -len(self._texts))

    def take_back(self, n: int) -> None:
        """Take back the last ``n`` steps.

        Raises
        ------
        MatcherError
            There are fewer; nothing changes.
        """
        words = self._words
        length = int(words[layout.M_LENGTH])
        if 0 < n <= length:
            words[layout.M_CONFIGURATION] = self.steps[2 * (length - n)]
            words[layout.M_LENGTH] = length - n
            return
        target = self._start + length - n
        if n < 0 or target < 0:
            raise MatcherError(f"cannot take back {n} of {self._start + length} steps")
        if n == 0:
            return
        segment = self._frozen
        while segment is not None and target < segment.start:
            segment = segment.before
        assert segment is not None
        words[layout.M_CONFIGURATION] = segment.steps[2 * (target - segment.start)]
        self._go_on_from(segment._replace(length=target - segment.start), target)

    def fork(self, words: I64) -> History:
        """The same history for another matcher; ``words`` is a copy of this one's record."""
        length = int(self._words[layout.M_LENGTH])
        if length:
            frozen = _Segment(self._frozen, self._start, self.steps, self._texts, length)
            self._go_on_from(frozen, self._start + length)
        twin: History = object.__new__(History)
        twin._words = words
        twin._vocabulary = self._vocabulary
        twin._go_on_from(self._frozen, self._start)
        return twin

    def tail(self, size: int, ahead: bytes) -> bytes:
        """The last so many bytes that were read, with ``ahead`` behind them."""
        parts = [ahead]
        missing = size - len(ahead)
        tokens = self._vocabulary.tokens
        steps, texts, length = self.steps, self._texts, int(self._words[layout.M_LENGTH])
        segment = self._frozen
        while missing > 0:
            while length > 0 and missing > 0:
                length -= 1
                token = int(steps[2 * length + 1])
                parts.append(tokens[token] if token >= 0 else texts[-1 - token])
                missing -= len(parts[-1])
            if segment is None:
                break
            steps, texts, length = segment.steps, segment.texts, segment.length
            segment = segment.before
        return b"".join(reversed(parts))[-size:]
