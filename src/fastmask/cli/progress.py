"""One line of progress on standard error: rewritten in place on a terminal, absent elsewhere."""

from __future__ import annotations

import sys

__all__ = ["clear_progress", "show_progress"]


def show_progress(text: str) -> None:
    """Put ``text`` in the place of the last progress."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def clear_progress() -> None:
    """Leave the line empty for whatever comes next."""
    show_progress("")
