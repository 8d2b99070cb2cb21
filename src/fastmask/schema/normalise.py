"""The way in: from a schema and its options to `Formulas`, with everything refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from .formulas import Formulas
from .keywords import ASSERTED_FORMATS
from .references import Documents, Node
from .strings import pattern_error

__all__ = ["normalise"]


def normalise(
    schema: Node,
    *,
    draft: str = "2020-12",
    documents: Mapping[str, Node] | None = None,
    formats: str = "assert",
    unsupported: str = "error",
) -> Formulas:
    """The formulas of a schema.

    Parameters
    ----------
    schema : dict or bool
        JSON values.
    draft : str
        The version of the specification where ``$schema`` is absent.
    documents : Mapping[str, dict or bool]
        Other documents by URI.
    formats : {"assert", "annotate"}
    unsupported : {"error", "relax"}
        ``"relax"``: leave out what cannot be read, so that more is allowed than the schema says;
        `Formulas.left_out` has it.

    Raises
    ------
    GrammarSyntaxError
        A keyword has a value of the wrong type, a pattern is not well formed, or a reference points
        to nothing.
    UnsupportedFeatureError
        Something no automaton can hold, or a document that is not at hand.
    BudgetError
        The schema is too large or too deep.
    """
    relax = unsupported == "relax"
    known = Documents(schema, draft=draft, documents=documents, relax=relax)
    problems = list(known.problems)
    for node, keyword, pattern in known.patterns:
        error = pattern_error(pattern)
        if error is not None:
            tokens = (keyword,) if keyword == "pattern" else (keyword, pattern)
            path = known.pointer(node, *tokens)
            problems.append((node, keyword, _placed(error, keyword, path)))
    if problems:
        reachable = known.reachable()
        problems = [problem for problem in problems if id(problem[0]) in reachable]
        if problems and not relax:
            raise problems[0][2]
    asserted = ASSERTED_FORMATS if formats == "assert" else frozenset[str]()
    return Formulas(known, asserted, _left_out(problems))


def _left_out(
    problems: list[tuple[dict[str, Any], str, GrammarError]],
) -> dict[tuple[int, str], GrammarError]:
    """What to leave out, by schema and keyword.

    Keys that an unreadable pattern may match are covered by it, so the keywords for the keys that
    are not covered go with it.
    """
    left_out = {}
    for node, keyword, error in problems:
        left_out[id(node), keyword] = error
        if keyword == "patternProperties":
            for dependent in ("additionalProperties", "unevaluatedProperties"):
                if dependent in node:
                    left_out[id(node), dependent] = error
    return left_out


def _placed(error: GrammarError, keyword: str, path: str) -> GrammarError:
    """An error about a pattern with the place of the pattern."""
    if isinstance(error, UnsupportedFeatureError):
        return UnsupportedFeatureError(error.feature, f"it stands in the {keyword}", path=path)
    return GrammarSyntaxError(f"the pattern is not well formed: {error}", path=path)
