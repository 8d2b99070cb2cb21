"""Errors as values: what they say, and that they cross processes."""

from __future__ import annotations

import pickle

import pytest

import fastmask as fm

ERRORS = [
    fm.BudgetError("states", 1_000, "use fewer"),
    fm.BudgetError("states", 1_000, "use fewer", "#/items/pattern"),
    fm.GrammarSyntaxError("no name", text="a ::= b\n::=", position=8),
    fm.GrammarSyntaxError("no schema", path="#/items"),
    fm.UnsupportedFeatureError("a backreference", "it stands here", path="#/pattern"),
    fm.UnsatisfiableGrammarError("nothing matches"),
    fm.VocabularyError("no end token"),
    fm.MatcherError("too far back"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_pickle(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_a_budget_error_names_limit_place_and_remedy():
    assert str(ERRORS[1]) == "gave up at the limit of 1,000 states at #/items/pattern: use fewer"
    assert (ERRORS[1].what, ERRORS[1].limit, ERRORS[1].path) == ("states", 1_000, "#/items/pattern")
    assert ERRORS[0].path is None


def test_a_place_stands_before_the_excerpt_of_what_was_wrong_inside():
    inner = fm.GrammarSyntaxError("this set is never closed", text="[a", position=0)
    outer = fm.GrammarSyntaxError(f"the pattern is not well formed: {inner}", path="#/pattern")
    first, *excerpt = str(outer).splitlines()
    assert first.endswith("at position 0 (line 1, column 1) at #/pattern")
    assert excerpt == ["  [a", "  ^"]
