"""Every error fastmask raises: what is wrong, where, and what to do about it."""

from __future__ import annotations

from typing import Any

__all__ = [
    "BitmaskError",
    "BudgetError",
    "FastmaskError",
    "FormatError",
    "GrammarError",
    "GrammarSyntaxError",
    "MatcherError",
    "UnsatisfiableGrammarError",
    "UnsupportedFeatureError",
    "VocabularyError",
]

_EXCERPT_WIDTH = 72


class FastmaskError(Exception):
    """Base of all errors raised by fastmask. They pickle, so that they cross processes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[FastmaskError], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    """An error as it was raised: its message was put together then."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class GrammarError(FastmaskError, ValueError):
    """A pattern, grammar or schema that cannot be used."""


class GrammarSyntaxError(GrammarError):
    """Text that is not a well-formed pattern, grammar or schema.

    Attributes
    ----------
    position : int | None
        Offset of the fault in characters, where the source is text.
    line, column : int | None
        The same place, both counted from 1.
    path : str | None
        JSON pointer to the fault, where the source is a schema.
    excerpt : str
        The line of the fault with a caret under it; empty without a position.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str | None = None,
        position: int | None = None,
        path: str | None = None,
    ) -> None:
        self.position = position
        self.path = path
        self.line: int | None = None
        self.column: int | None = None
        self.excerpt = ""
        place = "" if path is None else f" at {path or '#'}"
        if text is not None and position is not None:
            self.line, self.column, self.excerpt = _locate(text, position)
            place = f" at position {position} (line {self.line}, column {self.column})"
        said, line_break, shown = message.partition("\n")  # of a pattern inside: its own excerpt
        message = f"{said}{place}{line_break}{shown}"
        super().__init__(message + (f"\n{self.excerpt}" if self.excerpt else ""))


class UnsupportedFeatureError(GrammarError):
    """A well-formed construct that no automaton here can hold.

    Attributes
    ----------
    feature : str
        Name of the construct or keyword.
    path : str | None
        JSON pointer to it, where the source is a schema.
    position : int | None
        Offset in characters, where the source is text.
    """

    def __init__(
        self,
        feature: str,
        why: str,
        *,
        path: str | None = None,
        text: str | None = None,
        position: int | None = None,
    ) -> None:
        self.feature = feature
        self.path = path
        self.position = position
        place = "" if path is None else f" at {path or '#'}"
        excerpt = ""
        if text is not None and position is not None:
            line, column, shown = _locate(text, position)
            place = f" at position {position} (line {line}, column {column})"
            excerpt = f"\n{shown}"
        super().__init__(f"{feature} is not supported{place}: {why}{excerpt}")


class UnsatisfiableGrammarError(GrammarError):
    """Nothing can match; the message names the conflict."""


class VocabularyError(FastmaskError, ValueError):
    """Tokens that do not make a usable vocabulary, or a source that lacks something."""


class BitmaskError(FastmaskError, ValueError):
    """A bitmask or logits array of the wrong dtype, shape or layout."""


class FormatError(FastmaskError, ValueError):
    """A saved file of another version, for another vocabulary, or damaged."""


class BudgetError(FastmaskError, RuntimeError):
    """Work was given up at a limit; nothing was changed.

    Attributes
    ----------
    what : str
        What ran out ("automaton states", "item steps", "seconds", ...).
    limit : int | float
        The limit that was reached.
    advice : str
        What to change.
    path : str or None
        Pointer to the part of a schema that takes so much, where that is known.
    """

    def __init__(self, what: str, limit: float, advice: str, path: str | None = None) -> None:
        self.what = what
        self.limit = limit
        self.advice = advice
        self.path = path
        place = "" if path is None else f" at {path}"
        super().__init__(f"gave up at the limit of {limit:,} {what}{place}: {advice}")


class MatcherError(FastmaskError, RuntimeError):
    """A matcher used against its rules, such as a rollback past its history."""


def _locate(text: str, position: int) -> tuple[int, int, str]:
    """Line, column and a one-line excerpt with a caret below the position."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    line = text.count("\n", 0, position) + 1
    column = position - start + 1
    left = max(start, position - _EXCERPT_WIDTH // 2)
    right = min(end, left + _EXCERPT_WIDTH)
    shown = "".join(c if c.isprintable() else "\N{MIDDLE DOT}" for c in text[left:right])
    return line, column, f"  {shown}\n  {' ' * (position - left)}^"


class UnforeseenError(Exception):
    """What comes behind an item depends on which one it is; none leaves the package."""
