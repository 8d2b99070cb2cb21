"""Lark grammars: the language of Lark's Earley parser with its dynamic lexer, as rules.

A text is in the language when some way of cutting it into terminals and ignored pieces parses.
Lark has no say over which terminals are possible where, so each terminal becomes its own little
automaton (`lark_terminals`) with the ignored text that may stand around it (`lark_ignored`), and
the rest is an ordinary context-free grammar. Templates are written out for each use.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from ..automata import Dfa
from ..errors import BudgetError, GrammarError
from .ir import (
    EMPTY,
    Automaton,
    Expression,
    Literal,
    Reference,
    Tokens,
    alternatives,
    postorder,
    rewritten,
    sequence,
)
from .lark_ignored import Surroundings
from .lark_syntax import LarkFile, Usage, add_usage, is_literal, is_terminal_name, read_lark
from .lark_terminals import fail, read_terminals

__all__ = ["parse_lark"]

_MOST_USAGES = 2_000
_EMPTY_TEXT = Dfa.literal(b"")


def parse_lark(text: str, start: str = "start") -> tuple[dict[str, Expression], str]:
    """The rules of a Lark grammar, and the name of the root among them.

    Parameters
    ----------
    text : str
        The grammar.
    start : str
        The rule that a whole text must match.

    Raises
    ------
    GrammarSyntaxError
        The grammar is not well formed, or uses a name that is not defined.
    UnsupportedFeatureError
        A construct that needs code or files beside the grammar, or a terminal whose end depends on
        what follows it.
    BudgetError
        Templates use one another without end.
    GrammarError
        There is no rule ``start``.
    ImportError
        The ``lark`` package is missing.
    """
    file = read_lark(text)
    if start not in file.rules:
        known = ", ".join(file.rules) or "none"
        raise GrammarError(f"the grammar has no rule {start!r}; its rules are: {known}")
    bodies = _needed_bodies(file, start)
    used = {
        node.name
        for body in bodies.values()
        for node in postorder(body)
        if isinstance(node, Reference) and node.name not in bodies
    }
    patterns, ignored = read_terminals(file, sorted(used))
    return _with_terminals(bodies, start, patterns, ignored)


def _needed_bodies(file: LarkFile, start: str) -> dict[str, Expression]:
    """The rules that ``start`` needs, templates written out; what is left are terminals."""
    bodies: dict[str, Expression] = {}
    queue = [start]
    while queue:
        name = queue.pop()
        if name in bodies or _is_terminal(name):
            continue
        if name in file.usages:
            body = _written_out(file, file.usages[name])
        elif name in file.rules:
            definition = file.rules[name]
            if definition.parameters:
                fail(file, name, f"template {name!r} needs its arguments")
            body = definition.body
        else:
            fail(file, name, f"rule {name!r} is not defined")
        bodies[name] = body
        queue.extend(node.name for node in postorder(body) if isinstance(node, Reference))
        if len(file.usages) > _MOST_USAGES:
            raise BudgetError(
                "uses of templates", _MOST_USAGES, "templates that end their recursion"
            )
    return bodies


def _is_terminal(name: str) -> bool:
    return is_literal(name) or is_terminal_name(name)


def _written_out(file: LarkFile, usage: Usage) -> Expression:
    """The body of a template with arguments in place of parameters."""
    definition = file.rules.get(usage.template)
    if definition is None:
        fail(file, usage.template, f"template {usage.template!r} is not defined", usage.position)
    if len(definition.parameters) != len(usage.arguments):
        fail(
            file,
            usage.template,
            f"template {usage.template!r} takes {len(definition.parameters)} arguments, "
            f"not {len(usage.arguments)}",
            usage.position,
        )
    values = dict(zip(definition.parameters, usage.arguments, strict=True))

    def change(node: Expression) -> Expression | None:
        if not isinstance(node, Reference):
            return None
        if node.name in file.usages:
            inner = file.usages[node.name]
            arguments = tuple(rewritten(part, change) for part in inner.arguments)
            return add_usage(file, Usage(inner.template, arguments, inner.position))
        return values.get(node.name, node)

    return rewritten(definition.body, change)


def _with_terminals(
    bodies: Mapping[str, Expression],
    start: str,
    terminals: Mapping[str, Dfa],
    ignored: list[Dfa],
) -> tuple[dict[str, Expression], str]:
    """Rules for terminals and for what is ignored around them."""
    rules: dict[str, Expression] = {}
    in_line: dict[str, Expression] = {}
    around = Surroundings(ignored, list(terminals.values())) if ignored else None
    after: Expression = EMPTY
    if around is not None and around.after != _EMPTY_TEXT:
        name = _unused("IGNORED", {*bodies, *terminals})
        after, rules[name] = Reference(name), Automaton(around.after)
    for name, dfa in terminals.items():
        text = dfa - _EMPTY_TEXT if around is None else around.before(dfa)
        expression = sequence([_leaf(text), after])
        if dfa.accepts(b""):
            expression = alternatives([expression, EMPTY])
        if is_literal(name):
            in_line[name] = expression
        else:
            rules[name] = expression

    end = EMPTY if around is None else _leaf(around.end)

    def change(node: Expression) -> Expression | None:
        if isinstance(node, Tokens):  # no text goes on across it, as at the end
            return sequence([end, node, after])
        return in_line.get(node.name) if isinstance(node, Reference) else None

    rules.update((name, rewritten(body, change)) for name, body in bodies.items())
    if around is None:
        return rules, start
    root = _unused("text", rules)
    rules[root] = sequence([after, Reference(start), end])
    return rules, root


def _leaf(dfa: Dfa) -> Expression:
    """An automaton, or a literal where there is only one text."""
    return Literal(dfa.shortest() or b"") if dfa.size_up_to(2) == 1 else Automaton(dfa)


def _unused(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name
