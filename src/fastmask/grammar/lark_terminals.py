"""What Lark's terminals match: patterns as Lark puts them together, then automata.

Lark joins the parts of a terminal into one regular expression of Python's, so Lark itself is asked
for it: it reads the grammar's terminal definitions and one small rule for each terminal in use.

Lark's dynamic lexer matches a pattern, then the same pattern on ever shorter pieces of what
matched. So a piece of text can be the terminal exactly when it is the pattern's first choice in
it: a lazy comment ends at its first end, and ``a|ab`` never takes ``ab``. That is an atomic group.
Whether a piece is the terminal must not hang on the text around it, which is checked for patterns
that look around themselves.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from ..automata import Dfa, any_text
from ..errors import GrammarError, GrammarSyntaxError, UnsupportedFeatureError
from .lark_syntax import LarkFile, is_literal
from .regex import regex_dfa

__all__ = ["read_terminals"]

_GLOBAL_FLAGS = re.compile(r"\(\?([aimsux]+)\)")
_LOOKS_AROUND = re.compile(r"\(\?<?[=!]|\\[bBAZ]|\$|(?<!\[)\^")
_ANY_CHARACTER = "(?s:.)"


def read_terminals(file: LarkFile, used: list[str]) -> tuple[dict[str, Dfa], list[Dfa]]:
    """The automata of the terminals in use, and of what is ignored.

    Parameters
    ----------
    file : LarkFile
        The grammar.
    used : list of str
        Names of terminals, and literals by their source text.

    Returns
    -------
    terminals : dict
        The automaton of each terminal in ``used``.
    ignored : list of Dfa
        The automaton of each ``%ignore``.
    """
    for name in used:
        if not is_literal(name) and name not in file.terminals and name not in file.imports:
            fail(file, name, f"terminal {name!r} is not defined")
    if not used and not file.ignored:
        return {}, []
    grammar = _read_by_lark(file, used)
    patterns = {terminal.name: terminal.pattern for terminal in grammar.terminals}
    chosen = {rule.origin.name: rule.expansion[0].name for rule in grammar.rules if rule.expansion}
    terminals = {
        name: _automaton(file, name, patterns[chosen[f"t{number}"]])
        for number, name in enumerate(used)
    }
    ignored = [_automaton(file, name, patterns[name]) for name in grammar.ignore_tokens]
    return terminals, ignored


def fail(
    file: LarkFile, name: str, message: str, position: int | None = None, cause: Any = None
) -> NoReturn:
    """Raise a syntax error at a place, or where ``name`` stands in the grammar."""
    place = file.places.get(name) if position is None else position
    text = None if place is None else file.text
    raise GrammarSyntaxError(message, text=text, position=place) from cause


def _read_by_lark(file: LarkFile, used: list[str]) -> Any:
    """A `lark.Lark` of the terminal definitions and one rule for each terminal in use."""
    try:
        import lark
    except ModuleNotFoundError:
        message = "Lark grammars need the lark package: pip install 'fastmask[lark]'"
        raise ImportError(message) from None

    class NoLexer(lark.lexer.Lexer):  # type: ignore[misc]
        """Keeps Lark from compiling, and refusing, terminals that it is not to match itself."""

        def __init__(self, configuration: Any) -> None:
            pass

        def lex(self, *state: Any) -> Any:
            raise NotImplementedError

    lines = [
        f"%import {library}.{name} -> {alias}" for alias, (library, name) in file.imports.items()
    ]
    lines += [text for texts in file.terminals.values() for text in texts]
    lines += [f"%ignore {body}" for body in file.ignored]
    lines += [f"t{number}: {name}" for number, name in enumerate(used)]
    lines.append("start: " + " | ".join(f"t{number}" for number in range(len(used))))
    try:
        return lark.Lark("\n".join(lines) + "\n", parser="earley", lexer=NoLexer)
    except (lark.exceptions.LarkError, ValueError, OSError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        named = [name for name in re.findall(r"\w+", reason) if name in file.places]
        fail(
            file, named[0] if named else "", f"Lark does not take a terminal: {reason}", cause=error
        )


def _automaton(file: LarkFile, name: str, pattern: Any) -> Dfa:
    """The texts that are a terminal, one and all as Lark's dynamic lexer cuts them."""
    if not pattern.flags and type(pattern).__name__ == "PatternStr":
        return Dfa.literal(pattern.value.encode())
    text = pattern.to_regexp()
    flags = _GLOBAL_FLAGS.match(text)
    if flags is not None:
        text = f"(?{flags[1]}:{text[flags.end() :]})"
    atomic = f"(?>{text})"
    looks_around = _LOOKS_AROUND.search(text) is not None
    try:
        dfa = regex_dfa(text)
        if looks_around or dfa.table[dfa.accepting].any():  # else no match is part of another
            dfa = regex_dfa(atomic)
        if looks_around:
            _check_independence(dfa, atomic)
    except UnsupportedFeatureError:
        raise
    except GrammarError as error:
        reason = str(error).partition("\n")[0]
        fail(file, name, f"the pattern /{text}/ of {name} cannot be used: {reason}", cause=error)
    return dfa


def _check_independence(dfa: Dfa, atomic: str) -> None:
    """Refuse a pattern for which it matters what stands before or behind the match."""
    followed = regex_dfa(f"{atomic}{_ANY_CHARACTER}*")
    preceded = regex_dfa(f"{_ANY_CHARACTER}{atomic}")
    if followed != dfa.concatenation(any_text()) or preceded != regex_dfa(
        _ANY_CHARACTER
    ).concatenation(dfa):
        raise UnsupportedFeatureError(
            f"a terminal that looks at the text around it, {atomic[3:-1]}",
            "terminals are matched on their own here; write what may follow into the rules",
        )
