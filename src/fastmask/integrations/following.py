"""Matchers that follow the rows of a framework that only ever shows whole rows of token ids.

A logits processor is handed all ids so far, prompt included, and is told nothing else: not where
the prompt ends, not which row came from which when beams are sorted, not that a draft was thrown
away. All of it can be read off the ids. The first call shows the prompts. Afterwards a row goes on
from the row of the call before that it shares the most ids with: its matcher is moved if nobody
else goes on from it, forked if somebody does, and rolled back where ids were dropped. A step costs
one comparison of ids a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .._arrays import I32
from ..batch import fill_next_token_bitmasks
from ..bitmask import words_for
from ..compiler import CompiledGrammar
from ..matcher import GrammarMatcher

__all__ = ["Followers"]

Ids = npt.NDArray[np.int64]


class _Row:
    """One row: its ids, and the matcher that has read the first ``n_read`` behind the prompt."""

    __slots__ = ("ids", "matcher", "n_read")

    def __init__(self, ids: Ids, matcher: GrammarMatcher, n_read: int) -> None:
        self.ids = ids
        self.matcher = matcher
        self.n_read = n_read


class Followers:
    """The matchers of all rows of a batch.

    Parameters
    ----------
    compiled : CompiledGrammar or sequence of CompiledGrammar
        One grammar for all rows, or one for each prompt: the rows of a batch are then divided
        among the prompts in order, as beams and several answers a prompt are laid out.
    stop_token_ids : int or sequence of int, optional
        Ids that end an answer. Default: the vocabulary's end ids.
    """

    def __init__(
        self,
        compiled: CompiledGrammar | Sequence[CompiledGrammar],
        stop_token_ids: int | Sequence[int] | None = None,
    ) -> None:
        grammars = [compiled] if isinstance(compiled, CompiledGrammar) else list(compiled)
        if not grammars:
            raise ValueError("at least one compiled grammar is needed")
        if len({grammar.vocabulary.size for grammar in grammars}) > 1:
            raise ValueError("the grammars are compiled for vocabularies of different sizes")
        self._first = [GrammarMatcher(grammar, stop_token_ids) for grammar in grammars]
        self._size = grammars[0].vocabulary.size
        self._rows: list[_Row] = []
        self._prompt = 0  # ids of a prompt

    def reset(self) -> None:
        """Forget all rows: the next call shows prompts."""
        self._rows = []

    def follow(self, ids: Ids) -> None:
        """Bring the matchers up to ``ids``, int64[rows, n].

        Raises
        ------
        ValueError
            The rows cannot be divided among the grammars.
        """
        share, rest = divmod(len(ids), len(self._first))
        if rest or not share:
            raise ValueError(f"{len(ids)} rows cannot be divided among {len(self._first)} grammars")
        parents = self._parents(ids, share)
        if parents is None:
            self._prompt = ids.shape[1]
            self._rows = [_Row(row, self._first[i // share].fork(), 0) for i, row in enumerate(ids)]
            return
        heirs = np.bincount([parent for parent, _ in parents], minlength=len(self._rows)).tolist()
        following = []
        for row, (parent, common) in zip(ids, parents, strict=True):
            known = self._rows[parent]
            heirs[parent] -= 1
            # The last of those who go on from a row takes its matcher over.
            matcher = known.matcher.fork() if heirs[parent] else known.matcher
            n_read = min(known.n_read, common - self._prompt)
            matcher.rollback(known.n_read - n_read)
            if n_read == common - self._prompt:
                n_read += matcher.accept_tokens(row[common:].tolist())
            following.append(_Row(row, matcher, n_read))
        self._rows = following

    def _parents(self, ids: Ids, share: int) -> list[tuple[int, int]] | None:
        """For each row the row it goes on from and how many ids they share; None for prompts."""
        before = self._rows
        if not before or len(before) % len(self._first):
            return None
        if ids.shape[1] < self._prompt:
            return None
        width = len(before) // len(self._first)
        known = {(i // width, row.ids.tobytes()): i for i, row in enumerate(before)}
        parents = []
        for i, row in enumerate(ids):
            group = i // share
            parent = known.get((group, row[:-1].tobytes()))
            if parent is not None:
                parents.append((parent, row.size - 1))
                continue
            candidates = range(group * width, (group + 1) * width)
            common, parent = max((_common(before[k].ids, row), -k) for k in candidates)
            # Ids may have been dropped, after a draft, but a model writes one id a call.
            if common < max(self._prompt, row.size - 1):
                return None
            parents.append((-parent, common))
        return parents

    def bitmask(self, columns: int) -> I32:
        """The masks of all rows for logits of so many columns, int32[rows, >= columns / 32].

        Columns past the vocabulary are refused. A row whose ids left the grammar, as beams of no
        chance do when fewer answers than beams are possible, may only end.
        """
        words = words_for(self._size)
        bitmask = np.empty((len(self._rows), words), np.int32)
        fill_next_token_bitmasks([row.matcher for row in self._rows], bitmask)
        for i, row in enumerate(self._rows):
            is_read = row.n_read == row.ids.size - self._prompt
            if not is_read and not row.matcher.is_terminated():
                bitmask[i] = 0
                for stop in row.matcher.stop_token_ids:
                    bitmask.view(np.uint32)[i, stop >> 5] |= np.uint32(1 << (stop & 31))
        if words < words_for(columns):
            bitmask = np.pad(bitmask, ((0, 0), (0, words_for(columns) - words)))
        return bitmask


def _common(one: Ids, other: Ids) -> int:
    """How many ids two rows share from the start."""
    size = min(one.size, other.size)
    differ = one[:size] != other[:size]
    return int(differ.argmax()) if differ.any() else size
