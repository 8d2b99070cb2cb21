"""Sets of atomic tokens into disjoint classes, which tables read like bytes, a column each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._arrays import I32
from .errors import GrammarError
from .grammar.ir import Tokens
from .vocabulary import Vocabulary

__all__ = ["token_classes"]


def token_classes(
    vocabulary: Vocabulary, sets: list[Tokens]
) -> tuple[list[I32], dict[Tokens, list[int]]]:
    """The classes, each as ascending token ids, and the numbers of those that a set is made of.

    Raises
    ------
    GrammarError
        The vocabulary lacks a token of a set.
    """
    classes: list[I32] = []
    classes_of: dict[Tokens, list[int]] = {tokens: [] for tokens in sets}
    if not sets:
        return classes, classes_of
    members = np.stack([_members(vocabulary, tokens) for tokens in sets], axis=1)
    signatures, class_of = np.unique(members, axis=0, return_inverse=True)
    for number, signature in enumerate(signatures):
        if signature.any():
            for k in np.flatnonzero(signature).tolist():
                classes_of[sets[k]].append(len(classes))
            ids = np.flatnonzero(class_of.reshape(-1) == number)
            classes.append(ids.astype(np.int32))
    return classes, classes_of


def _members(vocabulary: Vocabulary, tokens: Tokens) -> npt.NDArray[np.bool_]:
    """The token ids that a set of atomic tokens holds, bool[size]."""
    members = np.zeros(vocabulary.size, np.bool_)
    for item in tokens.items:
        if isinstance(item, str):
            ids = vocabulary.ids_of(item.encode())
            if not ids:
                raise GrammarError(f"the vocabulary has no token {item!r}")
            members[ids] = True
        elif 0 <= item < vocabulary.size:
            members[item] = True
        else:
            raise GrammarError(
                f"token id {item} is outside the vocabulary of {vocabulary.size} ids"
            )
    if tokens.negated:
        members = ~members & (np.diff(vocabulary.token_offsets) > 0)
        members[list(vocabulary.eos_token_ids)] = False
    return members
