"""Deterministic automata over bytes as values, and the builder that makes them.

A `Dfa` is always minimal and numbered breadth first by ascending byte, so two automata accept the
same language exactly when their arrays are equal: equality, hashing and the digest are those of the
language. Every state but the dead one (0) can still reach acceptance, which is what lets a mask
promise that each allowed prefix can be finished.

`Nfa` is a flat list of edges that grows by appending. Pieces are added behind a state and return
the state where they end, so a sequence needs no epsilon moves, and counted repetition copies edges
as arrays. Subset construction, minimisation and products run in kernels (``kernels/subset.py``,
``minimise.py``, ``product.py``, ``strings.py``): a pattern of twenty characters costs some 30 us to
build and determinise, an operation on automata of a hundred states 50 to 200 us.
"""

from __future__ import annotations

from ..kernels.subset import FIRST_SYMBOL
from .construction import MAX_CELLS, MAX_EDGES, MAX_STATES, Arrays, Ranges
from .dfa import Dfa, product
from .nfa import LAST_CODE_POINT, Nfa, any_text

__all__ = [
    "FIRST_SYMBOL",
    "LAST_CODE_POINT",
    "MAX_CELLS",
    "MAX_EDGES",
    "MAX_STATES",
    "Arrays",
    "Dfa",
    "Nfa",
    "Ranges",
    "any_text",
    "product",
]
