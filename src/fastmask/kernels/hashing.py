"""The slot of a pair of numbers in a hash table with linear probing.

Registers, symbols, tree nodes and states are counted up one by one or in steps of a power of two,
and shifts alone leave such pairs in long runs. Cost: two multiplications; 1.3 probes a half-full
table.
"""

from __future__ import annotations

from .._jit import inner


@inner
def pair_slot(one, other, mask):
    """First slot of a pair (multiplicative hashing, Knuth 1973); ``other`` counts by its low half.

    ``mask`` is one less than the slots, a power of two.
    """
    mixed = int(one) * 2654435761 + int(other & 0xFFFFFFFF) * 2246822519
    return (mixed ^ (mixed >> 15) ^ (mixed >> 32)) & mask
