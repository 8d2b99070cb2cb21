"""Token healing: a prompt that ends inside a token goes on as if it had not been cut there.

A tokenizer spells a prompt as if it were complete: ``http:`` ends with the token ``:``, although
the model only ever saw ``://`` as one token and now hardly dares to go on. The cure is to take the
last tokens back and to demand that what is written begins with their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..grammar.core import Grammar
from ..grammar.ir import Literal
from ..vocabulary import Vocabulary

__all__ = ["heal", "healed_grammar"]


def heal(token_ids: Sequence[int], vocabulary: Vocabulary) -> tuple[list[int], bytes]:
    """Take back the tokens at the end of a prompt that a longer token might cover.

    Parameters
    ----------
    token_ids : sequence of int
        The prompt.
    vocabulary : Vocabulary

    Returns
    -------
    kept : list of int
        The prompt to give to the model.
    pending : bytes
        What the answer must begin with: the bytes of the tokens taken back, the most that some one
        token begins with and goes on from. Empty if there is nothing to heal.
    """
    kept, pending = list(token_ids), b""
    longest = int(np.diff(vocabulary.token_offsets).max(initial=0))
    healed = (kept.copy(), pending)
    while kept and vocabulary.is_text[kept[-1]]:
        pending = vocabulary.tokens[kept.pop()] + pending
        if len(pending) >= longest:
            break
        if _is_a_beginning(pending, vocabulary):
            healed = (kept.copy(), pending)
    return healed


def healed_grammar(pending: bytes, grammar: Grammar | None = None) -> Grammar:
    """Texts that begin with ``pending`` and go on as ``grammar`` says, or in any way."""
    following = Grammar.from_regex("(?s).*") if grammar is None else grammar
    return Grammar.concat(Grammar({"root": Literal(pending)}), following) if pending else following


def _is_a_beginning(data: bytes, vocabulary: Vocabulary) -> bool:
    """Whether some text token begins with ``data`` and is longer."""
    spoken = zip(vocabulary.tokens, vocabulary.is_text, strict=True)
    return any(
        is_text and len(token) > len(data) and token.startswith(data) for token, is_text in spoken
    )
