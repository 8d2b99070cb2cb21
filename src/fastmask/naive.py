"""`naive_mask`: the mask by trying every token, the other side of the cost curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ._arrays import I32
from ._types import expect
from .compiler import CompiledGrammar
from .errors import MatcherError
from .grammar.core import Grammar
from .matcher import GrammarMatcher
from .vocabulary import Vocabulary

__all__ = ["naive_mask"]


def naive_mask(
    grammar: Grammar | CompiledGrammar,
    prefix: bytes | str | Sequence[int],
    vocabulary: Vocabulary,
) -> I32:
    """The mask after ``prefix``, every token read from its first byte.

    It takes time in proportion to (vocabulary size) x (mean token length), whatever the state, and
    is what tables and tries are measured against.

    Parameters
    ----------
    grammar : Grammar or CompiledGrammar
    prefix : bytes, str or sequence of int
        The text so far, or its token ids.
    vocabulary : Vocabulary

    Returns
    -------
    int32[words]
        A row as `GrammarMatcher.fill_next_token_bitmask` writes it.

    Raises
    ------
    MatcherError
        The grammar has no text that begins with ``prefix``, or was compiled for another vocabulary.
    """
    expect(grammar, (Grammar, CompiledGrammar), "grammar", "Grammar.from_* read one")
    expect(vocabulary, Vocabulary, "vocabulary", "Vocabulary.from_* read one")
    expect(prefix, Iterable, "prefix", "give a text or token ids")
    if isinstance(grammar, Grammar):
        grammar = CompiledGrammar(grammar, vocabulary)
    elif grammar.vocabulary != vocabulary:
        raise MatcherError("the grammar was compiled for another vocabulary")
    matcher = GrammarMatcher(grammar)
    if isinstance(prefix, bytes | str):
        accepted = not prefix or matcher.accept_bytes(prefix)
    else:
        accepted = matcher.accept_tokens(prefix) == len(prefix)
    if not accepted:
        raise MatcherError(f"no text of the grammar begins with {prefix!r}")
    return matcher.naive_row()
