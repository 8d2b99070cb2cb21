"""A trie of keys of which fewer and fewer may come.

Without a key the states on its way are written anew and all others are shared, so every set of keys
that texts come to is a trie of its own, without a dead end, for a few states more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .key_tries import insert_keys

if TYPE_CHECKING:
    from ..tables import Tables

__all__ = ["ShrinkingTrie"]

_QUOTE = 0x22


class ShrinkingTrie:
    """Tries of the keys that are left, by the set of those gone.

    Parameters
    ----------
    tables : Tables
    spelled : mapping of str to list of bytes
        The texts of each key, without quotes.
    codes : mapping of str to int
        The action on the quote behind each key.
    """

    def __init__(
        self, tables: Tables, spelled: Mapping[str, list[bytes]], codes: Mapping[str, int]
    ) -> None:
        self._tables = tables
        self._spelled = spelled
        keys = sorted((text, codes[name]) for name, texts in spelled.items() for text in texts)
        root, _ = insert_keys(tables, keys, 0)
        self._roots: dict[frozenset[str], int] = {frozenset(): root}

    def without(self, gone: frozenset[str], before: frozenset[str]) -> int:
        """The first state of a trie without some keys; 0 if none is left.

        ``before`` is a set asked for earlier that has few less.
        """
        root = self._roots.get(gone)
        if root is None:
            if before not in self._roots or not before <= gone:
                before = frozenset()
            root = self._roots[before]
            for name in sorted(gone - before):
                for text in self._spelled.get(name, ()):
                    root = self._removed(root, text)
            self._roots[gone] = root
        return root

    def _removed(self, root: int, text: bytes) -> int:
        tables = self._tables
        path = [root]
        for byte in text:
            path.append(int(tables.row(path[-1])[byte]))
        row = tables.row(path.pop()).copy()
        row[_QUOTE] = 0
        for byte in reversed(text):
            below = 0
            if row.any():
                below = tables.new_states(1)
                tables.row(below)[:] = row
            row = tables.row(path.pop()).copy()
            row[byte] = below
        if not row.any():
            return 0
        root = tables.new_states(1)
        tables.row(root)[:] = row
        return root
