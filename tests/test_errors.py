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


def compiled() -> fm.CompiledGrammar:
    return fm.CompiledGrammar(fm.Grammar.from_choices(["a"]), fm.Vocabulary([b"a", b""], 1))


WRONG_ARGUMENTS = {
    "rules must be Mapping, not str": lambda: fm.Grammar("a"),
    "pattern must be str, not bytes": lambda: fm.Grammar.from_regex(b"a"),
    "text must be str, not bytes": lambda: fm.Grammar.from_gbnf(b'root ::= "a"'),
    "choices must be Iterable, not int": lambda: fm.Grammar.from_choices(3),
    "grammars must be Grammar, not str": lambda: fm.Grammar.union(fm.Grammar.json(), "a"),
    "vocabulary must be Vocabulary, not str: Vocabulary.from": lambda: fm.GrammarCompiler("gpt2"),
    "cache_limit_bytes must be Real": lambda: fm.GrammarCompiler(compiled().vocabulary, "1 GB"),
    "grammar must be Grammar, not str: Grammar.from": lambda: fm.CompiledGrammar("a+", None),
    "compiled must be CompiledGrammar, not Grammar: GrammarCompiler": lambda: fm.GrammarMatcher(
        fm.Grammar.json()
    ),
    "stop_token_ids must be an integer": lambda: fm.GrammarMatcher(compiled(), ["</s>"]),
    "token_id must be an integer, not str": lambda: fm.GrammarMatcher(compiled()).accept_token("a"),
    "data must be bytes or .* not int: accept_tokens": lambda: fm.GrammarMatcher(
        compiled()
    ).accept_bytes(3),
    "n must be an integer, not float": lambda: fm.GrammarMatcher(compiled()).rollback(0.5),
    "matchers must be GrammarMatcher, not Comp": lambda: fm.accept_tokens([compiled()], [0]),
    "matchers must be Sequence, not Grammar": lambda: fm.fill_next_token_bitmasks(
        fm.GrammarMatcher(compiled()), fm.allocate_token_bitmask(1, 2)
    ),
    "vocab_size must be an integer": lambda: fm.allocate_token_bitmask(1, compiled().vocabulary),
    "prefix must be Iterable, not int": lambda: fm.naive_mask(compiled(), 3, compiled().vocabulary),
}


@pytest.mark.parametrize("message", WRONG_ARGUMENTS)
def test_an_argument_of_the_wrong_type_is_named(message):
    with pytest.raises(TypeError, match=message):
        WRONG_ARGUMENTS[message]()


def test_a_text_without_utf_8_is_refused():
    assert not fm.GrammarMatcher(compiled()).accept_bytes("\ud800")
