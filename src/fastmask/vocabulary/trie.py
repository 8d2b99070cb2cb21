"""The token trie: every text token of a vocabulary, prefixes shared, in flat depth-first arrays.

Walking an automaton over the trie visits each shared prefix once and leaves a subtree by one jump,
so the cost of a mask is the number of nodes that are still alive, not the number of tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from .._arrays import I32, U8, contiguous
from ..kernels.trie import DIGIT_VALUES, lay_out_trie, sort_tokens

__all__ = ["LONGEST_TOKEN", "TokenTrie", "build_trie"]

#: Bytes a text token may have: depths are kept as int16.
LONGEST_TOKEN = 32_767


@dataclass(frozen=True, slots=True, eq=False)
class TokenTrie:
    """A trie over token bytes, nodes in depth-first pre-order, children by byte.

    All arrays are C-contiguous and writable, as kernels want them, and never change.

    Attributes
    ----------
    byte : uint8[n_nodes]
        The byte on the edge into the node.
    depth : int16[n_nodes]
        Index of that byte in its tokens, 0 for the first.
    skip : int32[n_nodes]
        The first node after the node's subtree.
    token : int32[n_nodes]
        The one token that ends here; -1 if none does, -2 if several do.
    order : int32[n_tokens]
        Token ids in depth-first order, equal tokens as they were given.
    first : int32[n_nodes + 1]
        The tokens that end at node v are ``order[first[v]:first[v + 1]]``, those of its whole
        subtree ``order[first[v]:first[skip[v]]]``.
    roots : int32[257]
        Nodes of the tokens that begin with byte b are ``roots[b]`` to ``roots[b + 1]``.
    """

    byte: U8
    depth: npt.NDArray[np.int16]
    skip: I32
    token: I32
    order: I32
    first: I32
    roots: I32

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.byte.size

    @property
    def longest(self) -> int:
        """Bytes of the longest token, 0 without tokens."""
        return int(self.depth.max()) + 1 if self.depth.size else 0

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays by name, for storing."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def fits(self, ids: npt.NDArray[Any], n_ids: int) -> bool:
        """Whether these may be the arrays of a trie over just the tokens ``ids``.

        For arrays out of a file: no index in them leads out of them. It takes about 2 ms.
        """
        n = self.byte.size
        dtypes = (np.uint8, np.int16, np.int32, np.int32, np.int32, np.int32, np.int32)
        sizes = (n, n, n, n, ids.size, n + 1, 257)
        for array, dtype, size in zip(self.arrays().values(), dtypes, sizes, strict=True):
            if array.dtype != dtype or array.shape != (size,):
                return False
        return bool(
            np.array_equal(np.sort(self.order), ids)
            and (self.depth >= 0).all()
            and (self.skip > np.arange(n)).all()
            and (self.skip <= n).all()
            and ((self.token >= -2) & (self.token < n_ids)).all()
            and self.first[0] == 0
            and self.first[-1] == ids.size
            and (self.first[:-1] <= self.first[1:]).all()
            and self.roots[0] == 0
            and self.roots[-1] == n
            and (self.roots[:-1] <= self.roots[1:]).all()
        )

    def __repr__(self) -> str:
        return f"<TokenTrie: {self.n_nodes:,} nodes, {self.order.size:,} tokens>"


def build_trie(token_bytes: U8, token_offsets: I32, ids: npt.ArrayLike) -> TokenTrie:
    """Build the trie of some tokens.

    Parameters
    ----------
    token_bytes : uint8[n_bytes]
        All tokens, one after the other.
    token_offsets : int32[n_ids + 1]
        Token ``t`` is ``token_bytes[token_offsets[t]:token_offsets[t + 1]]``.
    ids : int32[n]
        The tokens to put in, each at most once, of at most ``LONGEST_TOKEN`` bytes each. An empty
        one is sorted before all others and has no node.

    Returns
    -------
    TokenTrie
        About 9 ms for 128,000 tokens once the kernels are loaded.
    """
    token_bytes = contiguous(token_bytes, np.uint8)
    token_offsets = contiguous(token_offsets, np.int32)
    order = np.array(ids, np.int32)
    n = order.size
    shared = np.empty(n, np.int32)
    n_nodes = sort_tokens(
        token_bytes,
        token_offsets,
        order,
        np.empty(n, np.int64),
        np.empty(n, np.int32),
        np.empty(n, np.int64),
        np.empty(DIGIT_VALUES, np.int64),
        np.empty(3 * (n // 2 + 1), np.int64),
        shared,
    )
    byte = np.empty(n_nodes, np.uint8)
    depth = np.empty(n_nodes, np.int16)
    skip = np.empty(n_nodes, np.int32)
    token = np.empty(n_nodes, np.int32)
    first = np.empty(n_nodes + 1, np.int32)
    roots = np.empty(257, np.int32)
    path = np.empty(int(np.diff(token_offsets).max(initial=0)), np.int32)
    lay_out_trie(
        token_bytes, token_offsets, order, shared, path, byte, depth, skip, token, first, roots
    )
    return TokenTrie(byte, depth, skip, token, order, first, roots)
