"""Vocabularies: the bytes behind token ids, their trie, and where both come from."""

from __future__ import annotations

from .core import Vocabulary
from .trie import TokenTrie, build_trie

__all__ = ["TokenTrie", "Vocabulary", "build_trie"]
