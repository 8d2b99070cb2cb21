"""What ``%ignore`` lets stand between terminals, exactly as Lark's dynamic lexer takes it.

Lark cuts a terminal at every place it can, but takes an ignored piece only as long as it gets: a
comment that runs to the end of its line never stops early so that the rest may be read as code.
"As long as it gets" looks at the text behind the piece, which a context-free grammar has no
notation for, so runs of ignored pieces are worked out as automata over text with a mark behind
each piece: from all sequences of pieces those are taken away in which some piece goes on past its
mark.

A run is *closed* when no terminal can begin with text that lengthens one of its pieces. Closed
runs follow a terminal, so that after every terminal the next byte tells what comes. What is left
of a run behind its closed part (a comment without its line break, say) is read together with the
terminal behind it, or at the end of the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from ..automata import Dfa, Nfa, any_text
from ..errors import BudgetError, UnsupportedFeatureError

__all__ = ["Surroundings"]

# Bytes that no text in UTF-8 has: marks behind ignored pieces. The first is for all pieces that
# nothing lengthens.
_MARKS = (0xC0, 0xC1, *range(0xF5, 0x100))
_ANY_BYTE = ((0x00, 0xFF),)
_EMPTY_TEXT = Dfa.literal(b"")


class Surroundings:
    """Ignored text before the first terminal, around the others, and after the last.

    Parameters
    ----------
    ignored : list of Dfa
        Each ignored terminal; the empty text is no piece.
    terminals : list of Dfa
        All other terminals.

    Attributes
    ----------
    after : Dfa
        What may follow every terminal, and come before everything.
    end : Dfa
        What may besides stand at the end of the text.
    """

    def __init__(self, ignored: list[Dfa], terminals: list[Dfa]) -> None:
        pieces = [piece - _EMPTY_TEXT for piece in ignored]
        self._extensions = _union(
            _extension(piece, mark) for piece, mark in zip(pieces, _marks(pieces), strict=True)
        )
        one = _union(
            piece.concatenation(Dfa.literal(bytes([mark])))
            for piece, mark in zip(pieces, _marks(pieces), strict=True)
        )
        self._runs = one.repeated(1) - self._bad
        first = _first_characters(terminals).concatenation(any_text())
        pending = self._runs & self._lengthened.right_quotient(first)
        closed = self._runs - pending
        self._open = self._runs - closed.concatenation(_everything())
        if not self._splits(closed, first):
            closed, self._open = Dfa.nothing(), self._runs
        self.after = _without_marks(closed) | _EMPTY_TEXT
        self.end = _without_marks(self._open) | _EMPTY_TEXT

    def before(self, terminal: Dfa) -> Dfa:
        """A terminal that is not empty, with what may come before it besides `after`.

        Raises
        ------
        UnsupportedFeatureError
            Where an ignored piece ends depends on more than this terminal.
        """
        text = terminal - _EMPTY_TEXT
        if self._open.is_empty:
            return text
        both = self._open.concatenation(text) - self._bad
        if not (both & self._pending).is_empty:
            raise UnsupportedFeatureError(
                "an ignored terminal that ends where later text decides",
                "what may be ignored must end by itself, or by the first characters of a terminal",
            )
        return text | _without_marks(both)

    @cached_property
    def _lengthened(self) -> Dfa:
        """Marked texts in which some piece and text behind its mark are one longer piece."""
        behind_mark = _everything().concatenation(_one_of(_MARKS)) | _EMPTY_TEXT
        return behind_mark.concatenation(self._extensions)

    @cached_property
    def _pending(self) -> Dfa:
        """Marked texts that more text may put into `_lengthened`."""
        return self._lengthened.right_quotient(any_text() - _EMPTY_TEXT)

    @cached_property
    def _bad(self) -> Dfa:
        return self._lengthened.concatenation(_everything())

    def _splits(self, closed: Dfa, first: Dfa) -> bool:
        """Whether every run is a closed run, then an open one, neither of which minds the other."""
        opened = self._open | _EMPTY_TEXT
        if (closed | _EMPTY_TEXT).concatenation(opened) - _EMPTY_TEXT != self._runs:
            return False
        apart = closed.concatenation(self._open.concatenation(first) - self._bad)
        together = closed.concatenation(self._open).concatenation(first) - self._bad
        return apart == together


def _marks(pieces: list[Dfa]) -> list[int]:
    """The mark of each piece: its own, or the common one where nothing lengthens it."""
    own = iter(_MARKS[1:])
    marks = []
    for piece in pieces:
        lengthens = bool(piece.table[piece.accepting].any())
        mark = next(own, None) if lengthens else _MARKS[0]
        if mark is None:
            advice = "join some of them into one terminal"
            raise BudgetError(
                "ignored terminals without an end of their own", len(_MARKS) - 1, advice
            )
        marks.append(mark)
    return marks


def _extension(piece: Dfa, mark: int) -> Dfa:
    """A piece, its mark, and marked text (not empty) that makes it a longer piece."""
    nfa = Nfa()
    size = piece.n_states
    before = nfa.add_states(size)
    at_mark = nfa.add_states(size)
    behind = nfa.add_states(size)
    nfa.epsilon(0, before + piece.start)
    for state in range(1, size):
        for low, high, target in piece.byte_ranges(state):
            nfa.edge(before + state, low, high, before + target)
            nfa.edge(at_mark + state, low, high, behind + target)
            nfa.edge(behind + state, low, high, behind + target)
        for other in _MARKS:
            nfa.edge(behind + state, other, other, behind + state)
        if piece.accepting[state]:
            nfa.edge(before + state, mark, mark, at_mark + state)
            nfa.accept(behind + state)
    return nfa.determinise()


def _without_marks(marked: Dfa) -> Dfa:
    nfa = Nfa()
    first = nfa.add_states(marked.n_states)
    nfa.epsilon(0, first + marked.start)
    for state in range(1, marked.n_states):
        for low, high, target in marked.byte_ranges(state):
            for byte in _MARKS:
                if low <= byte <= high:
                    nfa.epsilon(first + state, first + target)
            nfa.edge(first + state, low, high, first + target)
        if marked.accepting[state]:
            nfa.accept(first + state)
    return nfa.determinise() & any_text()


def _first_characters(terminals: list[Dfa]) -> Dfa:
    nfa = Nfa()
    for terminal in terminals:
        for _, ranges in terminal.char_ranges_by_target(terminal.start):
            nfa.accept(nfa.char_set(0, ranges))
    return nfa.determinise()


def _union(automata: Iterable[Dfa]) -> Dfa:
    result = Dfa.nothing()
    for automaton in automata:
        result = result | automaton
    return result


def _one_of(values: Iterable[int]) -> Dfa:
    return Dfa.from_strings([bytes([value]) for value in values])


def _everything() -> Dfa:
    """All byte strings."""
    nfa = Nfa()
    body = nfa.begin()
    end = nfa.byte_set(body[0], _ANY_BYTE)
    nfa.accept(nfa.repeat(0, body, end, 0, None))
    return nfa.determinise()
