"""What of the tables' record is the vocabulary's alone: its bytes, its trie, its groups."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from .._arrays import AddressRecord, contiguous
from ..kernels import layout
from .groups import GROUPS, grouped_trie

if TYPE_CHECKING:
    from .core import Vocabulary

__all__ = ["vocabulary_record"]


@functools.lru_cache(maxsize=16)
def vocabulary_record(vocabulary: Vocabulary) -> AddressRecord:
    """What of a table's record is the vocabulary's alone."""
    kind = np.where(vocabulary.is_text != 0, layout.TEXT, layout.BANNED).astype(np.int32)
    kind[list(vocabulary.eos_token_ids)] = layout.STOP
    trie = vocabulary.trie
    grouped = grouped_trie(trie, -(-vocabulary.size // 32))
    record = AddressRecord(layout.T_SIZE)
    for slot, array in (
        (layout.T_TOKEN_KIND, kind),
        (layout.T_TOKEN_BYTES, contiguous(vocabulary.token_bytes, np.uint8)),
        (layout.T_TOKEN_OFFSETS, contiguous(vocabulary.token_offsets, np.int32)),
        (layout.T_TRIE_BYTE, trie.byte),
        (layout.T_TRIE_DEPTH, trie.depth),
        (layout.T_TRIE_SKIP, trie.skip),
        (layout.T_TRIE_FIRST, trie.first),
        (layout.T_TRIE_ORDER, trie.order),
        (layout.T_END_TOKENS, np.array(vocabulary.eos_token_ids, np.int32)),
        (layout.T_GROUPS, GROUPS),
        (layout.T_BELOW, grouped.below),
        (layout.T_PLAIN_ROW, grouped.plain_row),
        (layout.T_REST_BYTE, grouped.rest_byte),
        (layout.T_REST_DEPTH, grouped.rest_depth),
        (layout.T_REST_SKIP, grouped.rest_skip),
        (layout.T_REST_NODE, grouped.rest_node),
    ):
        record.bind(slot, array)
    record.words[layout.T_LONGEST] = max(1, trie.longest)
    return record
