"""A trie of keys of which fewer and fewer may come.

Without a key the states on its way are written anew and all others are shared, so every set of keys
that texts come to is a trie of its own, without a dead end, for a few states more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..kernels import layout
from .key_tries import insert_keys, prune_keys

if TYPE_CHECKING:
    from ..tables import Tables

__all__ = ["ShrinkingTrie"]


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
            texts = [text for name in gone - before for text in self._spelled.get(name, ())]
            keys = [(text, layout.DEAD) for text in sorted(texts)]
            if root and keys:
                root, places = insert_keys(self._tables, keys, root)
                root = prune_keys(self._tables, root, places)
            self._roots[gone] = root
        return root
