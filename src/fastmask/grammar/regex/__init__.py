"""Regular expressions of two dialects: Python's ``re`` and ECMAScript's.

A pattern goes one way: parser (``python.py``, ``ecma.py``) -> tree -> anchors at the ends resolved
(``anchors.py``) -> an expression of the IR, or, where lookarounds, inner anchors or atomic groups
are left, an automaton (``assertions.py``). A plain pattern of twenty characters takes some 40 us to
an expression and 100 us to a minimal automaton.
"""

from __future__ import annotations

from typing import cast

from ...automata import Dfa
from ...errors import GrammarError
from ..ir import Automaton, Expression
from ..regular import expression_dfa
from .anchors import anchored, is_special, without_hints
from .assertions import assertion_dfa
from .ecma import EcmaParser
from .properties import UNICODE_VERSION
from .python import PythonParser

__all__ = ["UNICODE_VERSION", "regex_dfa", "regex_expression"]

_PARSERS = {"python": PythonParser, "ecma": EcmaParser}


def regex_expression(pattern: str, dialect: str = "python") -> Expression:
    r"""A pattern as an expression of the IR.

    Parameters
    ----------
    pattern : str
        The pattern.
    dialect : {"python", "ecma"}
        ``"python"``: the texts that ``re.fullmatch`` matches (and ``\p{..}``, which ``re`` lacks).
        ``"ecma"``: the texts in which ECMAScript finds a match somewhere, with the ``u`` flag, as
        JSON Schema's ``pattern`` has it.

    Raises
    ------
    GrammarSyntaxError
        The pattern is not well formed; with the position of the fault.
    UnsupportedFeatureError
        A backreference or conditional: no automaton can hold it.
    BudgetError
        Groups are nested too deeply, or the automaton of lookarounds grows past its limits.
    """
    if dialect not in _PARSERS:
        raise GrammarError(f"there is no regex dialect {dialect!r}; there are: python, ecma")
    parsed = _PARSERS[dialect](pattern).parse()
    tree = parsed.tree
    search = dialect == "ecma"
    if parsed.special or search:
        tree = anchored(tree, search)
    if parsed.special and is_special(tree):
        return Automaton(assertion_dfa(tree))
    if parsed.lazy or parsed.nested_repeats:
        tree = without_hints(tree)
    return cast("Expression", tree)


def regex_dfa(pattern: str, dialect: str = "python") -> Dfa:
    """The minimal automaton of a pattern; parameters and errors as `regex_expression`.

    ``n_subset_states`` of the result is the number of states before minimisation.
    """
    return expression_dfa(regex_expression(pattern, dialect), {})
