"""`GrammarMatcher`: one text on its way through a compiled grammar.

The whole state is one configuration id (see ``kernels.layout``); the history is the ids before each
step. Rollback and fork copy an integer: a fork shares the frozen history and owns what it appends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ._arrays import I32, I64
from ._types import as_integer, expect
from .arena import vacant_row_error
from .bitmask import bitmask_rows, words_for
from .compiler import CompiledGrammar
from .draft_tree import fill_draft_tree
from .errors import BitmaskError, MatcherError
from .history import History
from .jump_forward import forced_tokens
from .kernels import layout
from .kernels.accept import accept_text
from .reading import Reader
from .rows import Rows

__all__ = ["GrammarMatcher"]

_UNSEEN = object()
_NO_ROWS: I32 = np.zeros((0, 0), np.int32)


class GrammarMatcher:
    """Follows one text token by token and says which tokens may come next.

    Parameters
    ----------
    compiled : CompiledGrammar
    stop_token_ids : int or sequence of int, optional
        Ids that end the text, allowed exactly where it may end. Default: the vocabulary's end ids.
    terminate_without_stop_token : bool
        Whether the matcher terminates as soon as the text is complete, without a stop token.

    Raises
    ------
    MatcherError
        A stop id out of range.
    TypeError
        ``compiled`` is something else, a grammar say.

    Notes
    -----
    A matcher belongs to one thread at a time; forks of one may run in several.
    """

    __slots__ = (
        "_address",
        "_arena",
        "_bitmask",
        "_bitmask_rows",
        "_history",
        "_own_stops",
        "_stops",
        "_terminate_early",
        "_words",
        "compiled",
    )

    def __init__(
        self,
        compiled: CompiledGrammar,
        stop_token_ids: int | Sequence[int] | None = None,
        terminate_without_stop_token: bool = False,
    ) -> None:
        advice = "GrammarCompiler(vocabulary).compile(grammar) makes one"
        expect(compiled, CompiledGrammar, "compiled", advice)
        self.compiled = compiled
        vocabulary = compiled.vocabulary
        self._stops: tuple[int, ...] = vocabulary.eos_token_ids
        if stop_token_ids is not None:
            ids = np.atleast_1d(np.asarray(stop_token_ids)).tolist()
            self._stops = tuple(sorted({as_integer(i, "stop_token_ids") for i in ids}))
            outside = [i for i in self._stops if not 0 <= i < vocabulary.size]
            if outside:
                raise MatcherError(
                    f"stop token id {outside[0]} is outside the vocabulary of {vocabulary.size} ids"
                )
        self._terminate_early = terminate_without_stop_token
        self._bitmask: Any = _UNSEEN
        self._bitmask_rows: I32 = _NO_ROWS
        self._words: I64 = np.zeros(layout.M_SIZE, np.int64)
        self._address = 0  # of _words, once a batch asked for it
        self._own_stops: I32 | None = None
        if self._stops != vocabulary.eos_token_ids or compiled.arena.two_keyed.size:
            # Where there are any, no row is the arena's. No token is -1.
            self._own_stops = np.array(self._stops or (-1,), np.int32)
            self._words[layout.M_STOPS] = self._own_stops.__array_interface__["data"][0]
            self._words[layout.M_STOPS + 1] = self._own_stops.size
        self._begin()

    def _begin(self) -> None:
        self._arena, configuration = self.compiled.beginning()
        self._words[layout.M_TABLES] = self._arena.tables.record.address
        self._words[layout.M_ARENA] = self._arena.record.address
        self._history = History(self._words, self.compiled.vocabulary)
        self._words[layout.M_CONFIGURATION] = configuration
        self._words[layout.M_TERMINATED] = 0
        if self._terminate_early and self.is_completed():
            self._words[layout.M_TERMINATED] = 1

    def _find_address(self) -> int:
        """The address of the matcher's record, which batches pass to kernels."""
        self._address = int(self._words.__array_interface__["data"][0])
        return self._address

    @property
    def stop_token_ids(self) -> tuple[int, ...]:
        """Ids that end the text, ascending."""
        return self._stops

    @property
    def ends_by_itself(self) -> bool:
        """Whether it terminates without a stop token."""
        return self._terminate_early

    # --- masks -----------------------------------------------------------------------------------

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0) -> bool:
        """Write the mask of the next token into one row of ``bitmask``.

        After the end the stop tokens alone are allowed, though `accept_token` takes no more.

        Parameters
        ----------
        bitmask : int32[rows, words] or int32[words]
            NumPy array or CPU torch tensor, C-contiguous; ``words`` is ceil(vocabulary size / 32).
        index : int
            The row to write. The whole row is written, its bits past the vocabulary are 0.

        Returns
        -------
        bool
            Whether the mask has to be applied: False if every token is allowed.

        Raises
        ------
        BitmaskError
            A bitmask of another dtype, shape or layout, or no such row.
        BudgetError
            The grammar is too ambiguous here.
        MatcherError
            The vocabulary lacks the bytes to go on.
        """
        if bitmask is not self._bitmask:
            self._bitmask_rows = bitmask_rows(bitmask, writable=True)
            self._bitmask = bitmask
        arena = self._arena
        rows = arena.rows  # held, so that no row goes under the kernel
        if index.__class__ is not int:
            index = as_integer(index, "index")
        try:
            status = arena.fill_bitmask(self._words, rows.words, self._bitmask_rows, index)
        except OverflowError:
            n = self._bitmask_rows.shape[0]
            raise BitmaskError(f"row {index} of a bitmask with {n} rows") from None
        if status >= 0:
            return bool(status)
        return self._fill(self._bitmask_rows, index)

    def _fill(self, rows: I32, index: int) -> bool:
        status = self._arena.fill(self._words, rows, index)
        if status >= 0:
            return bool(status)
        words = words_for(self.compiled.vocabulary.size)
        if rows.shape[1] != words:
            raise BitmaskError(
                f"the bitmask has {rows.shape[1]} words a row, but a vocabulary of "
                f"{self.compiled.vocabulary.size} ids needs {words}"
            )
        if not 0 <= index < rows.shape[0]:
            raise BitmaskError(f"row {index} of a bitmask with {rows.shape[0]} rows")
        row, flags = self._row()
        rows[index] = row
        return not flags & layout.FULL

    def _row(self) -> tuple[I32, int]:
        """The present row and its flags."""
        if self._words[layout.M_TERMINATED]:
            return self._stop_row(), 0
        generation, leaf = self._leaf()
        flags = generation.flags(leaf)
        if flags & layout.VACANT and not flags & layout.TEXTUAL and self._own_stops is None:
            raise vacant_row_error(self._place())
        row = generation.view(leaf)
        if flags & layout.TEXTUAL:
            # The text of an array's items adds tokens.
            row = row.copy()
            _set_bits(row, self._reader().allowed_by_text(generation, leaf), True)
            row.flags.writeable = False
            flags = flags & layout.COMPLETE | (0 if row.any() else layout.VACANT)
        if self._own_stops is not None:
            generation.views.pop(leaf, None)
            row = row.copy()
            _set_bits(row, (*self.compiled.vocabulary.eos_token_ids, *self._stops), False)
            _set_bits(row, self._ends_allowed(bool(flags & layout.COMPLETE)), True)
            self._judge_two_keyed(row)
            row.flags.writeable = False
            if not self._stops and flags & layout.COMPLETE and not row.any():
                raise MatcherError(
                    f"the text is complete {self._place()} and no token may end it: give "
                    "stop_token_ids, or terminate_without_stop_token=True"
                )
            flags = 0 if row.any() else layout.VACANT
        if flags & layout.VACANT:
            raise vacant_row_error(self._place())
        return row, flags

    def _judge_two_keyed(self, row: I32) -> None:
        """Set or clear the tokens that may hold two keys of one object, by reading each."""
        tokens = self._arena.two_keyed.tolist()
        _set_bits(row, tokens, False)
        _set_bits(row, self._reader().allowed((token, 0) for token in tokens), True)

    def _ends_allowed(self, complete: bool) -> list[int]:
        """Stop and end ids that are allowed: where the text may end, or as atomic tokens."""
        allowed = list(self._stops) if complete else []
        columns = {
            token_id: int(self._arena.tables.token_kind[token_id])
            for token_id in (*self.compiled.vocabulary.eos_token_ids, *self._stops)
        }
        here = int(self._words[layout.M_CONFIGURATION])
        with self._arena.lock:
            for token_id, column in columns.items():
                if column >= 0 and self._arena.advance(self._words, here, column=column)[0]:
                    allowed.append(token_id)
        return allowed

    def _leaf(self) -> tuple[Rows, int]:
        rows = self._arena.rows
        leaf = self._arena.locate_leaf(self._words, rows.words)
        if leaf >= 0:
            return rows, leaf
        return self._arena.leaf_of(int(self._words[layout.M_CONFIGURATION]))

    def _stop_row(self) -> I32:
        row: I32 = np.zeros(words_for(self.compiled.vocabulary.size), np.int32)
        _set_bits(row, self._stops, True)
        row.flags.writeable = False
        return row

    def _place(self) -> str:
        return f"after {self._history.n_steps} steps"

    def next_token_bitmask(self) -> I32:
        """The mask of the next token as a read-only int32[words] row, without a copy.

        The row stays valid and unchanged for as long as it is held.
        """
        if self._own_stops is None and not self._words[layout.M_TERMINATED]:
            arena = self._arena
            rows = arena.rows
            leaf = arena.locate_leaf(self._words, rows.words)
            view = rows.views.get(leaf)
            if view is not None:
                return view
        return self._row()[0]

    def naive_row(self) -> I32:
        """The mask of the next token by trying every token on its own, int32[words]."""
        stops = self.compiled.vocabulary.eos_token_ids
        if self._words[layout.M_TERMINATED] or self._stops != stops:
            raise MatcherError(
                "the naive mask is for texts under way, with the vocabulary's end ids"
            )
        row = np.zeros(words_for(self.compiled.vocabulary.size), np.uint32)
        with self._arena.lock:
            self._arena.naive_row(self._words, row)
        end = self._arena.tables.item_end
        if end:
            bits = np.unpackbits(row.view(np.uint8), bitorder="little")
            tokens = enumerate(self.compiled.vocabulary.tokens)
            left = [(i, 0) for i, token in tokens if end in token and not bits[i]]
            _set_bits(row.view(np.int32), self._reader().allowed(left), True)
        self._judge_two_keyed(row.view(np.int32))
        return row.view(np.int32)

    def allowed_token_ids(self) -> I32:
        """The allowed token ids, int32, ascending."""
        row = self.next_token_bitmask()
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits[: self.compiled.vocabulary.size]).astype(np.int32)

    def is_token_allowed(self, token_id: int) -> bool:
        """Whether one token is allowed; no mask is computed."""
        if not self.accept_token(token_id):
            return False
        self.rollback(1)
        return True

    def filter_tokens(self, token_ids: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which of these tokens are allowed, bool[n], without a mask (PICARD, Scholak 2021)."""
        ids = np.asarray(token_ids).ravel().tolist()
        return np.fromiter((self.is_token_allowed(i) for i in ids), np.bool_, len(ids))

    # --- steps -----------------------------------------------------------------------------------

    def accept_token(self, token_id: int) -> bool:
        """Advance by one token.

        Returns
        -------
        bool
            False, and nothing has changed, if the token is refused: not allowed here, out of range,
            special, padding, or after the end.
        """
        if token_id.__class__ is not int:
            token_id = as_integer(token_id, "token_id")
        try:
            status = self._arena.accept_token(self._words, token_id)
        except OverflowError:
            return False
        if status == layout.NEED_LOCK:
            return self._accept_slowly(token_id)
        if status and self._terminate_early:
            self._terminate_if_completed()
        return bool(status)

    def _accept_slowly(self, token_id: int) -> bool:
        arena = self._arena
        status = layout.NEED_LOCK
        if self._history.make_room():
            status = arena.accept_token(self._words, token_id)
        if status == layout.NEED_LOCK:
            with arena.lock:
                status = accept_text(self._words, arena.rows.words, token_id)
        if status != layout.NEED_LOCK:
            if status and self._terminate_early:
                self._terminate_if_completed()
            return bool(status)
        if self._words[layout.M_TERMINATED]:
            return False
        tables = self._arena.tables
        kind = int(tables.token_kind[token_id])
        is_stop = token_id in self._stops
        configuration = 0
        if tables.vocabulary.is_text[token_id] and not is_stop:
            start, end = tables.token_span(token_id)
            configuration = self._reader().read(tables.token_bytes[start:end])
        if kind >= 0:
            # An atomic token; if it is text as well, both readings count.
            with self._arena.lock:
                before = int(self._words[layout.M_CONFIGURATION])
                lives, result = self._arena.advance(self._words, before, column=kind)
                if lives:
                    configuration = self._arena.union(configuration, result)
        if configuration == 0 and is_stop and self.is_completed():
            self._history.push(int(self._words[layout.M_CONFIGURATION]), token_id)
            self._words[layout.M_TERMINATED] = 1
            return True
        if configuration == 0:
            return False
        self._history.push(configuration, token_id)
        if self._terminate_early:
            self._terminate_if_completed()
        return True

    def _reader(self) -> Reader:
        return Reader(self._arena, self._words, self._history)

    def _terminate_if_completed(self) -> None:
        if self.is_completed():
            self._words[layout.M_TERMINATED] = 1

    def accept_tokens(self, token_ids: Iterable[int]) -> int:
        """Advance by tokens up to the first refused one; returns how many were accepted."""
        n = 0
        for token_id in token_ids:
            if not self.accept_token(token_id):
                break
            n += 1
        return n

    def accept_bytes(self, data: bytes | bytearray | memoryview | str) -> bool:
        """Advance by bytes (a str as UTF-8) in one step, or not at all."""
        expect(data, (bytes, bytearray, memoryview, str), "data", "accept_tokens takes token ids")
        if self._words[layout.M_TERMINATED]:
            return False
        raw = (
            data.encode(errors="surrogatepass")
            if isinstance(data, str)
            else bytes(memoryview(data))
        )
        configuration = self._reader().read(np.frombuffer(bytearray(raw), np.uint8))
        if configuration == 0:
            return False
        self._history.push_text(configuration, raw)
        if self._terminate_early:
            self._terminate_if_completed()
        return True

    def rollback(self, n: int = 1) -> None:
        """Take back the last ``n`` steps.

        Raises
        ------
        MatcherError
            There are fewer; nothing changes.
        """
        n = as_integer(n, "n")
        self._history.take_back(n)
        if n:
            self._words[layout.M_TERMINATED] = 0

    def reset(self) -> None:
        """Go back to the start and forget the history."""
        self._begin()

    def fork(self) -> GrammarMatcher:
        """A matcher in the same state, in constant time; each goes on alone from here."""
        twin = object.__new__(GrammarMatcher)
        twin.compiled = self.compiled
        twin._arena = self._arena
        twin._own_stops = self._own_stops
        twin._stops = self._stops
        twin._terminate_early = self._terminate_early
        twin._bitmask = _UNSEEN
        twin._bitmask_rows = _NO_ROWS
        twin._words = self._words.copy()
        twin._history = self._history.fork(twin._words)
        twin._address = 0
        return twin

    def __copy__(self) -> GrammarMatcher:
        return self.fork()

    def __deepcopy__(self, memo: Any) -> GrammarMatcher:
        return self.fork()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a matcher does not pickle: keep its tokens, and accept them again")

    # --- where the text stands -------------------------------------------------------------------

    def is_completed(self) -> bool:
        """Whether the text may end here."""
        with self._arena.lock:
            return self._ends(int(self._words[layout.M_CONFIGURATION]))

    def is_terminated(self) -> bool:
        """Whether a stop token was accepted (or, if so asked, the text is complete)."""
        return bool(self._words[layout.M_TERMINATED])

    def open_rules(self) -> list[str]:
        """Names of the rules that are open, outermost first."""
        return self._arena.open_rules(int(self._words[layout.M_CONFIGURATION]))

    def next_bytes(self, order: Sequence[int] = range(256)) -> list[int]:
        """The bytes that may come next, in a given order of all bytes."""
        if self._words[layout.M_TERMINATED]:
            return []
        here = int(self._words[layout.M_CONFIGURATION])
        allowed = self._reader().next_bytes(here).tolist()
        return [byte for byte in order if allowed[byte]]

    def find_jump_forward_bytes(self) -> bytes:
        """The bytes that must come next, whatever the model wants; empty if there is a choice."""
        if self._words[layout.M_TERMINATED]:
            return b""
        reader = self._reader()
        forced = bytearray()
        configuration = int(self._words[layout.M_CONFIGURATION])
        while True:
            with self._arena.lock:
                if self._ends(configuration):
                    return bytes(forced)
            allowed = reader.next_bytes(configuration, forced)
            data = np.flatnonzero(allowed).astype(np.uint8)
            if data.size != 1:
                return bytes(forced)
            configuration = reader.read(data, configuration, forced)
            forced += data.tobytes()

    def find_jump_forward_tokens(
        self, tokenize: Callable[[str], Iterable[int]] | None = None
    ) -> list[int]:
        """Tokens that spell bytes that must come next.

        Parameters
        ----------
        tokenize : callable, optional
            Gives the token ids of a text, for the model's own (canonical) tokenisation. Default:
            the longest token that fits, again and again.

        Returns
        -------
        list of int
            It ends where a longer token would reach past what is forced: there the model has a
            choice.
        """
        forced = self.find_jump_forward_bytes()

        def row_behind(position: int) -> I32:
            ahead = self.fork()
            if position:
                ahead.accept_bytes(forced[:position])
            return ahead.next_token_bitmask()

        return forced_tokens(forced, self.compiled.vocabulary, tokenize, row_behind)

    def traverse_draft_tree(
        self,
        retrieve_next_token: npt.ArrayLike,
        retrieve_next_sibling: npt.ArrayLike,
        draft_tokens: npt.ArrayLike,
        token_bitmask: Any,
        time_threshold: float = -1.0,
    ) -> bool:
        """Fill the mask at every node of a tree of drafted tokens; the matcher ends where it began.

        Parameters
        ----------
        retrieve_next_token : int[n]
            First child of each node, -1 for none.
        retrieve_next_sibling : int[n]
            Next sibling of each node, -1 for none.
        draft_tokens : int[n]
            The token of each node. Node 0 is the last token that was accepted already.
        token_bitmask : int32[n, words]
            Row ``i`` becomes the mask after node ``i``. Rows of refused tokens and of what hangs
            below them are not written.
        time_threshold : float
            Seconds after which to stop; 0 or less for no limit.

        Returns
        -------
        bool
            False if the time ran out.

        Raises
        ------
        MatcherError
            The arrays differ in length, or are no tree: a node out of range, or met twice.
        """
        return fill_draft_tree(
            self,
            retrieve_next_token,
            retrieve_next_sibling,
            draft_tokens,
            token_bitmask,
            time_threshold,
        )

    def _ends(self, configuration: int) -> bool:
        """Whether a text may end in a configuration. Takes no lock."""
        column = self._arena.tables.end_column
        return self._arena.advance(self._words, configuration, column=column)[0]


def _set_bits(row: I32, token_ids: Iterable[int], value: bool) -> None:
    """Set or clear single bits of a row."""
    words = row.view(np.uint32)
    for token_id in token_ids:
        bit = np.uint32(1 << (token_id & 31))
        if value:
            words[token_id >> 5] |= bit
        else:
            words[token_id >> 5] &= ~bit
