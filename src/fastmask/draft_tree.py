"""Masks at every node of a tree of drafted tokens (speculative decoding), by going down and back.

Cost: an accepted token and a mask for each node, and no copy of the matcher.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .errors import MatcherError

if TYPE_CHECKING:
    from .matcher import GrammarMatcher

__all__ = ["fill_draft_tree"]


def fill_draft_tree(
    matcher: GrammarMatcher,
    retrieve_next_token: npt.ArrayLike,
    retrieve_next_sibling: npt.ArrayLike,
    draft_tokens: npt.ArrayLike,
    token_bitmask: Any,
    time_threshold: float,
) -> bool:
    """See `GrammarMatcher.traverse_draft_tree`."""
    children = np.asarray(retrieve_next_token).ravel().tolist()
    siblings = np.asarray(retrieve_next_sibling).ravel().tolist()
    tokens = np.asarray(draft_tokens).ravel().tolist()
    if not len(children) == len(siblings) == len(tokens):
        raise MatcherError(
            f"{len(tokens)} drafted tokens with {len(children)} children and "
            f"{len(siblings)} siblings: give one of each for every node"
        )
    deadline = time.monotonic() + time_threshold if time_threshold > 0 else math.inf
    if not tokens:
        return True
    matcher.fill_next_token_bitmask(token_bitmask, 0)
    todo = [(children[0], 0)]
    met = {0}
    depth = 0
    try:
        while todo:
            node, level = todo.pop()
            matcher.rollback(depth - level)
            depth = level
            if node < 0:
                continue
            if node >= len(tokens) or node in met:
                raise MatcherError(
                    f"this is no tree of {len(tokens)} nodes: {node} comes where it cannot"
                )
            met.add(node)
            if time.monotonic() > deadline:
                return False
            todo.append((siblings[node], level))
            if matcher.accept_token(tokens[node]):
                depth = level + 1
                matcher.fill_next_token_bitmask(token_bitmask, node)
                todo.append((children[node], depth))
    finally:
        matcher.rollback(depth)
    return True
