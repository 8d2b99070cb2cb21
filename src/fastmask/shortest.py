"""The shortest way to the end of a text, from wherever a matcher stands.

What is left of a text follows from the stack (`distances`), but for a key or an item under way that
decides by its text what may come behind it: there the way is found anew once that text is read. So
`least_bytes` is exact but where such an item could better be a longer one, in an array that asks
more of its items than that they differ. `shortest_completion` spells one such text with the fewest
tokens; what it takes is an upper bound of what is needed.
"""

from __future__ import annotations

import heapq
import math
import weakref
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._arrays import I64
from ._locks import new_lock
from .arena import Arena
from .distances import UNREACHABLE, Distances
from .errors import MatcherError
from .kernels import layout
from .kernels.accept import accept_batch
from .matcher import GrammarMatcher
from .tables import Tables
from .vocabulary import Vocabulary

__all__ = ["Completion", "Completions", "least_bytes", "shortest_completion"]

_MOST_KEPT = 20_000  # completions
_MOST_BYTES = 1 << 22  # of texts whose spelling is kept
_MOST_TRIED = 20  # texts tried for a shorter one, beside one a byte
_MOST_SOUGHT = 200  # and for any
_KNOWN: weakref.WeakKeyDictionary[Arena, Completions] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Completion:
    """A shortest way to the end of a text.

    Attributes
    ----------
    text : bytes
        What is still to be written; atomic tokens of the grammar write nothing.
    token_ids : tuple of int or None
        The fewest tokens that spell it, without an end token; None where no tokens spell it.
    """

    text: bytes
    token_ids: tuple[int, ...] | None


def least_bytes(matcher: GrammarMatcher) -> int:
    """The fewest bytes that complete the text of a matcher, 0 where it may end.

    No valid text that goes on from here is shorter. An atomic token of the grammar counts as one
    byte.

    Raises
    ------
    BudgetError
        The end is too far to be looked for.
    """
    return completions(matcher).least_bytes(matcher)


def shortest_completion(matcher: GrammarMatcher) -> Completion:
    """A completion with the fewest bytes, and the fewest tokens that spell it.

    Other completions may need fewer tokens: their number is an upper bound of what is needed.

    Parameters
    ----------
    matcher : GrammarMatcher
        Left as it is.

    Raises
    ------
    BudgetError
        The end is too far to be looked for.
    """
    return completions(matcher).completion(matcher)


def completions(matcher: GrammarMatcher) -> Completions:
    """What is known of the completions of a matcher's grammar."""
    found = _KNOWN.get(matcher._arena)
    if found is None:
        found = _KNOWN.setdefault(matcher._arena, Completions(matcher._arena.tables))
    return found


class Completions:
    """The shortest completions of one grammar, found when asked for and kept.

    Parameters
    ----------
    tables : Tables

    Notes
    -----
    Any number of threads may use it.
    """

    def __init__(self, tables: Tables) -> None:
        self._lock = new_lock()
        self._vocabulary = tables.vocabulary
        self._distances = Distances(tables)
        self._spelling = FewestTokens(tables.vocabulary)
        self._has_all_bytes = not tables.vocabulary.missing_bytes
        self._least: dict[int, int] = {}
        self._pieces: dict[int, tuple[bytes | int, ...]] = {}

    def least_bytes(self, matcher: GrammarMatcher) -> int:
        """See the function `least_bytes`."""
        if self._estimate(matcher) >= UNREACHABLE:
            return UNREACHABLE
        return _size(self._completion(matcher))

    def completion(self, matcher: GrammarMatcher) -> Completion:
        """See `shortest_completion`."""
        pieces = self._completion(matcher)
        token_ids: list[int] | None = []
        with self._lock:
            for piece in pieces:
                spelled = self._spelling(piece) if isinstance(piece, bytes) else (piece,)
                token_ids = None if token_ids is None or spelled is None else [*token_ids, *spelled]
        text = b"".join(piece for piece in pieces if isinstance(piece, bytes))
        return Completion(text, None if token_ids is None else tuple(token_ids))

    def finishes_within(self, matcher: GrammarMatcher, n_tokens: int) -> bool:
        """Whether a shortest completion takes at most so many tokens, an end token included."""
        if matcher.is_terminated():
            return n_tokens >= 0
        least = self._estimate(matcher)
        room = n_tokens - (not matcher.ends_by_itself)
        if least >= UNREACHABLE or math.ceil(least / matcher._arena.tables.longest) > room:
            return False
        if least <= room and self._has_all_bytes:
            return True
        token_ids = self.completion(matcher).token_ids
        return token_ids is not None and len(token_ids) <= room

    def tokens_in_time(self, matcher: GrammarMatcher, n_tokens: int) -> npt.NDArray[np.int64]:
        """The allowed tokens behind which a completion takes at most ``n_tokens`` in all.

        Parameters
        ----------
        matcher : GrammarMatcher
            Left as it is.
        n_tokens : int
            What is left of a budget: for the token to come and for those after it.

        Returns
        -------
        int64[n]
            Ascending; empty if no completion is known to fit.
        """
        allowed = matcher.allowed_token_ids().astype(np.int64)
        behind = self._behind(matcher, allowed)
        if matcher._arena.tables.item_end:
            behind[:] = 0  # what items were counts as well
        verdicts: dict[int, bool] = {}
        kept = []
        for token, configuration in zip(allowed.tolist(), behind.tolist(), strict=True):
            verdict = verdicts.get(configuration)
            if verdict is None:
                ahead = matcher.fork()
                ahead.accept_token(token)
                verdict = self.finishes_within(ahead, n_tokens - 1)
                if configuration:  # 0: not known which
                    verdicts[configuration] = verdict
            kept.append(verdict)
        found: npt.NDArray[np.int64] = allowed[np.array(kept, np.bool_)]
        return found

    def _behind(self, matcher: GrammarMatcher, tokens: npt.NDArray[np.int64]) -> I64:
        """The configuration behind each token, 0 where the fast path does not tell it."""
        # One kernel call over copies of the matcher's record, with a history nobody reads.
        records = np.tile(matcher._words, (tokens.size, 1))
        history = np.zeros(8, np.int32)
        records[:, layout.M_HISTORY] = history.__array_interface__["data"][0]
        records[:, layout.M_HISTORY + 1] = history.size
        records[:, layout.M_LENGTH] = 0
        first = records.__array_interface__["data"][0]
        addresses = first + np.arange(tokens.size, dtype=np.int64) * records.strides[0]
        statuses = np.zeros(tokens.size, np.int64)
        accept_batch(addresses, tokens, statuses)
        behind: I64 = np.where(statuses == layout.ACCEPTED, records[:, layout.M_CONFIGURATION], 0)
        return behind

    def _estimate(self, matcher: GrammarMatcher) -> int:
        """The least number of bytes, a text under way that decides taken for the plainest one."""
        if matcher.is_terminated():
            return 0
        with self._lock, matcher._arena.lock:
            return self._measure(matcher._arena, int(matcher._words[layout.M_CONFIGURATION]))

    def _measure(self, arena: Arena, configuration: int) -> int:
        """The same under both locks: the sum over the frames of the nearest stack."""
        cells = arena.record.bound(layout.A_CELLS)
        self._distances.begin()
        least = self._least
        least[layout.NIL] = 0
        todo = [configuration]
        while todo:
            head = todo[-1]
            if head in least:
                todo.pop()
                continue
            threads = []
            cell = head
            while cell != layout.NIL:
                record = cells[layout.CELL * cell : layout.CELL * (cell + 1)].tolist()
                threads.append(record)
                cell = record[layout.CELL_NEXT]
            below = [thread[layout.CELL_PARENT] for thread in threads]
            missing = [parent for parent in below if parent not in least]
            if missing:
                todo += missing
                continue
            least[head] = min(
                self._distances.of_place(thread[layout.CELL_STATE], thread[layout.CELL_REGISTER])
                + least[parent]
                for thread, parent in zip(threads, below, strict=True)
            )
            todo.pop()
        return least[configuration]

    def _completion(self, matcher: GrammarMatcher) -> tuple[bytes | int, ...]:
        """A shortest completion: runs of bytes, and atomic tokens."""
        if matcher.is_terminated():
            return ()
        configuration = int(matcher._words[layout.M_CONFIGURATION])
        known = self._pieces.get(configuration)
        if known is not None:
            return known
        pieces, asks_text = self._followed(matcher)
        if asks_text:
            size = UNREACHABLE if pieces is None else _size(pieces)
            if size > self._estimate(matcher):
                # Something else under way may suit better what comes behind it.
                tried = self._tried(matcher, size)
                pieces = pieces if tried is None else (tried,)
        if pieces is None:
            raise MatcherError("no text that the vocabulary can spell goes on from here")
        if not asks_text:
            with self._lock:
                if len(self._pieces) >= _MOST_KEPT:
                    self._pieces.clear()
                self._pieces[configuration] = pieces
        return pieces

    def _followed(self, matcher: GrammarMatcher) -> tuple[tuple[bytes | int, ...] | None, bool]:
        """A short completion, and whether it depends on more of the text than the stack knows.

        What is planned is read, and planned anew behind each text that decides how to go on. None
        if there is no plan.
        """
        ahead = matcher.fork()
        plan = self._planned(ahead)
        written: list[bytes | int] = []
        asks_text = False
        while plan:
            piece = plan.pop()
            place = _place_behind_text(ahead, piece) if isinstance(piece, bytes) else -1
            if isinstance(piece, bytes):
                piece = piece[: place + 1] if place >= 0 else piece
                lives = ahead.accept_bytes(piece)
            else:
                lives = ahead.accept_token(piece)
            if not lives:
                return None, True
            written.append(piece)
            if place >= 0:
                asks_text = True
                plan = self._planned(ahead)
        return None if plan is None else _joined(written), asks_text

    def _planned(self, matcher: GrammarMatcher) -> list[bytes | int] | None:
        """The pieces of a completion as far as the stack tells, the last one first."""
        configuration = int(matcher._words[layout.M_CONFIGURATION])
        with self._lock, matcher._arena.lock:
            if self._measure(matcher._arena, configuration) >= UNREACHABLE:
                return None
            return [*reversed(self._assembled(matcher._arena, configuration))]

    def _assembled(self, arena: Arena, configuration: int) -> tuple[bytes | int, ...]:
        """The ends of the frames of a nearest stack, one after the other."""
        pieces: list[bytes | int] = []
        cells = arena.record.bound(layout.A_CELLS)
        head = configuration
        while head != layout.NIL:
            cell, least = head, self._least[head]
            while True:
                record = cells[layout.CELL * cell : layout.CELL * (cell + 1)].tolist()
                state, register, below, following = record
                if self._distances.of_place(state, register) + self._least[below] == least:
                    break
                cell = following
            pieces += self._distances.text_of_place(state, register)
            head = below
        return _joined(pieces)

    def _tried(self, matcher: GrammarMatcher, limit: int) -> bytes | None:
        """A completion byte by byte, those nearest to an end first (A*, Hart 1968).

        None if none with fewer bytes than ``limit`` is found.
        """
        least = self._estimate(matcher)
        queue = [(least, 0, b"", matcher.fork())]
        for _ in range(least + (_MOST_TRIED if limit < UNREACHABLE else _MOST_SOUGHT)):
            if not queue or queue[0][0] >= limit:
                break
            _, _, written, ahead = heapq.heappop(queue)
            if ahead.is_completed():
                return written
            for byte in ahead.next_bytes():
                text = written + bytes([byte])
                behind = ahead.fork()
                behind.accept_bytes(text[-1:])
                least = self._estimate(behind)
                if least < UNREACHABLE:
                    heapq.heappush(queue, (len(text) + least, -len(text), text, behind))
        return None


def _joined(pieces: list[bytes | int]) -> tuple[bytes | int, ...]:
    """The same with adjacent bytes in one."""
    joined: list[bytes | int] = []
    for piece in pieces:
        if isinstance(piece, bytes) and joined and isinstance(joined[-1], bytes):
            joined[-1] += piece
        elif piece != b"":
            joined.append(piece)
    return tuple(joined)


def _size(pieces: tuple[bytes | int, ...]) -> int:
    """How many bytes, an atomic token counted as one."""
    return sum(len(piece) if isinstance(piece, bytes) else 1 for piece in pieces)


def _place_behind_text(matcher: GrammarMatcher, data: bytes) -> int:
    """Where the first byte stands for which the text before it decides, -1 if there is none."""
    arena = matcher._arena
    configuration = int(matcher._words[layout.M_CONFIGURATION])
    with arena.lock, arena.exact_texts():
        array = np.frombuffer(bytearray(data), np.uint8)
        status, n_read = arena.try_advance(matcher._words, configuration, array)
    return n_read if status == layout.NEED_TEXT else -1


class FewestTokens:
    """Spells texts with as few tokens as there are.

    Parameters
    ----------
    vocabulary : Vocabulary
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._trie = vocabulary.trie
        self._known: dict[bytes, tuple[int, ...] | None] = {b"": ()}
        self._n_bytes = 0

    def __call__(self, data: bytes) -> tuple[int, ...] | None:
        """The tokens, the longest first among equals; None if there are none."""
        if self._n_bytes > _MOST_BYTES:
            self._known, self._n_bytes = {b"": ()}, 0
        for start in range(len(data) - 1, -1, -1):
            rest = data[start:]
            if rest in self._known:
                continue
            best = None
            for token, size in reversed(list(self._tokens(rest))):
                behind = self._known[rest[size:]]
                if behind is not None and (best is None or len(behind) + 1 < len(best)):
                    best = (token, *behind)
            self._known[rest] = best
            self._n_bytes += len(rest)
        return self._known[data]

    def _tokens(self, data: bytes) -> list[tuple[int, int]]:
        """A token and its length for every beginning of ``data`` that is one."""
        trie = self._trie
        node, end = int(trie.roots[data[0]]), int(trie.roots[data[0] + 1])
        found = []
        for size, byte in enumerate(data, 1):
            while node < end and trie.byte[node] != byte:
                node = int(trie.skip[node])
            if node >= end:
                break
            if trie.first[node] < trie.first[node + 1]:
                found.append((int(trie.order[trie.first[node]]), size))
            node, end = node + 1, int(trie.skip[node])
        return found
