"""`Grammar`: an immutable value made by any front end, compiled by any compiler.

A grammar is rules by name and the name of the root rule. It is checked once, when it is made:
every reference is defined, everything in it can be finished, intersections and complements have
become automata, rules that the root does not need are gone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from .._types import expect
from .checks import checked_rules, references
from .choices import choices_expression
from .encoding import decode_grammar, encode_grammar
from .gbnf import parse_gbnf
from .ir import (
    Expression,
    Reference,
    Rules,
    Schema,
    Tokens,
    alternatives,
    postorder,
    rewritten,
    sequence,
)
from .json_value import json_rules
from .printing import print_gbnf
from .regex import regex_expression

__all__ = ["Grammar"]

_TEXT = "decode bytes, and read files, first"


class Grammar:
    """A set of texts: those that match the root rule.

    Parameters
    ----------
    rules : mapping of str to Expression
        The rules by name.
    root : str
        The rule that a whole text must match.

    Raises
    ------
    GrammarError
        ``root`` or a rule that is referred to is missing.
    UnsupportedFeatureError
        An intersection or complement has an operand that is not regular.
    UnsatisfiableGrammarError
        No text matches ``root``.

    Notes
    -----
    Two grammars are equal when their rules are, whatever front end they come from; `str` gives GBNF
    that `from_gbnf` reads back to the same set of texts.
    """

    def __init__(self, rules: Rules, root: str = "root") -> None:
        expect(rules, Mapping, "rules", "Grammar.from_* read other grammars")
        self._rules = checked_rules(rules, root)
        self._root = root

    @property
    def rules(self) -> Mapping[str, Expression]:
        """The rules by name."""
        return MappingProxyType(self._rules)

    @property
    def root(self) -> str:
        """The name of the rule that a whole text must match."""
        return self._root

    @cached_property
    def tokens_used(self) -> frozenset[int | str]:
        """Ids and names of the atomic tokens that the grammar names."""
        return frozenset(
            item
            for expression in self._rules.values()
            for node in postorder(expression)
            if isinstance(node, Tokens)
            for item in node.items
        )

    @cached_property
    def digest(self) -> str:
        """A digest of the rules, in hexadecimal; equal grammars have equal digests."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    # --- front ends

    @classmethod
    def from_regex(cls, pattern: str, dialect: str = "python") -> Grammar:
        """Texts that match a regular expression.

        Parameters
        ----------
        pattern : str
            The regular expression.
        dialect : {"python", "ecma"}
            ``"python"``: the whole text must match, as in `re.fullmatch`. ``"ecma"``: the pattern
            is searched for, as the ``pattern`` keyword of JSON Schema means it.

        Raises
        ------
        GrammarSyntaxError
            The pattern is not well formed; with its position.
        UnsupportedFeatureError
            A construct that no finite automaton can hold.
        """
        expect(pattern, str, "pattern", _TEXT)
        return cls({"root": regex_expression(pattern, dialect)})

    @classmethod
    def from_gbnf(cls, text: str, root: str = "root") -> Grammar:
        """Texts that match a GBNF grammar, in llama.cpp's or XGrammar's dialect.

        Parameters
        ----------
        text : str
            The grammar.
        root : str
            The rule that a whole text must match.

        Raises
        ------
        GrammarSyntaxError
            The grammar is not well formed, or uses an undefined rule; with line and column.
        UnsupportedFeatureError
            A construct that says something else than which texts match, such as a lookahead.
        """
        expect(text, str, "text", _TEXT)
        return cls(parse_gbnf(text, root), root)

    @classmethod
    def from_lark(cls, text: str, start: str = "start") -> Grammar:
        """Texts that Lark's Earley parser accepts with its dynamic lexer (extra ``lark``).

        Every way of cutting a text into terminals counts, so priorities decide nothing; ``%ignore``
        may stand before, between and after terminals. Beyond Lark, a terminal may match the empty
        text, and ``<[7]>`` or ``<name>`` stands for one special token.

        Parameters
        ----------
        text : str
            The grammar.
        start : str
            The rule that a whole text must match.

        Raises
        ------
        GrammarSyntaxError
            Lark does not take the grammar; with line and column where it says so.
        UnsupportedFeatureError
            A construct that needs code beside the grammar, such as ``%declare``.
        ImportError
            The ``lark`` package is missing.
        """
        from .lark import parse_lark

        expect(text, str, "text", _TEXT)
        return cls(*parse_lark(text, start))

    @classmethod
    def from_choices(cls, choices: Iterable[str]) -> Grammar:
        """Exactly these texts.

        Parameters
        ----------
        choices : iterable of str
            The texts, in any order, repeated or not; a hundred thousand are fine.

        Raises
        ------
        UnsatisfiableGrammarError
            There are no choices.
        """
        return cls({"root": choices_expression(choices)})

    @classmethod
    def json(cls) -> Grammar:
        """Any JSON value, exactly as RFC 8259 has it, white space around it too."""
        return cls(json_rules())

    # --- algebra

    @classmethod
    def from_json_schema(
        cls,
        schema: Any,
        *,
        whitespace: str = "formatted",
        property_order: str = "any",
        separators: tuple[str, str] | None = None,
        indent: int | str | None = None,
        numbers: str = "plain",
        strings: str = "usual",
        surrounding_whitespace: bool = False,
        formats: str = "assert",
        draft: str | None = None,
        documents: Mapping[str, Any] | None = None,
        unsupported: str = "error",
    ) -> Grammar:
        """JSON texts of the values that a schema allows.

        Parameters
        ----------
        schema : dict, bool, str, bytes, pydantic model or dataclass
        whitespace : {"formatted", "none", "single", "any"}
            At each gap: nothing, one space, or a newline and up to 40 spaces or tabs; nothing; one
            space behind ``:`` and ``,`` at most; up to 64 white-space characters.
        property_order : {"any", "schema"}
            Keys in any order, or in that of the schema.
        separators : tuple of str, optional
            What stands between items and behind keys, exactly, as in `json.dumps`.
        indent : int or str, optional
            Exactly as `json.dumps` writes with it.
        numbers : {"plain", "any"}
            Integers of digits alone and plain decimals, or every spelling of a number.
        strings : {"usual", "any"}
            In constrained strings each character raw or in its usual escape, or every escape.
        surrounding_whitespace : bool
            Whether a gap may stand before and after the root value.
        formats : {"assert", "annotate"}
            Whether known formats are enforced.
        draft : {"4", "6", "7", "2019-09", "2020-12", "openapi-3.0"}, optional
            The draft where ``$schema`` is absent; 2020-12 by default.
        documents : mapping of str to schema, optional
            Other documents by URI, for references to them.
        unsupported : {"error", "relax"}
            What cannot be enforced is an error, or left out and listed in the report.

        Raises
        ------
        GrammarSyntaxError
            The schema is not JSON, or a keyword has a value of the wrong type; with its pointer.
        UnsupportedFeatureError
            A keyword that cannot be enforced, with its pointer.
        UnsatisfiableGrammarError
            No value is allowed.
        BudgetError
            The schema is too large.
        GrammarError
            An option that is none of these.
        """
        from ..schema.source import JsonSchema

        source = JsonSchema(
            schema,
            whitespace=whitespace,
            property_order=property_order,
            separators=separators,
            indent=indent,
            numbers=numbers,
            strings=strings,
            surrounding_whitespace=surrounding_whitespace,
            formats=formats,
            draft=draft,
            documents=documents,
            unsupported=unsupported,
        )
        return cls({"root": Schema(source)})

    @classmethod
    def union(cls, *grammars: Grammar) -> Grammar:
        """Texts that match any of the grammars."""
        rules, roots = _side_by_side(grammars)
        return cls({**rules, "root": alternatives(roots)})

    @classmethod
    def concat(cls, *grammars: Grammar) -> Grammar:
        """Texts that are one text of each grammar, one after the other."""
        rules, roots = _side_by_side(grammars)
        return cls({**rules, "root": sequence(roots)})

    # --- as a value

    def __str__(self) -> str:
        return print_gbnf(self._rules, self._root)

    def __repr__(self) -> str:
        count = len(self._rules)
        return f"<Grammar of {count} rule{'s' * (count != 1)}, root {self._root!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grammar) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def to_bytes(self) -> bytes:
        """The grammar in its own byte format."""
        return encode_grammar(self._rules, self._root)

    @classmethod
    def from_bytes(cls, data: bytes) -> Grammar:
        """The grammar out of `to_bytes`.

        Raises
        ------
        FormatError
            The bytes are no grammar, or one of another format version.
        """
        grammar = cls.__new__(cls)
        grammar._rules, grammar._root = decode_grammar(data)
        return grammar

    def __reduce__(self) -> tuple[Any, ...]:
        return Grammar.from_bytes, (self.to_bytes(),)


def _side_by_side(grammars: Iterable[Grammar]) -> tuple[dict[str, Expression], list[Expression]]:
    """The rules of all grammars under distinct names, and what stands for each root.

    The name ``root`` is left for the new root. A root rule that nothing refers to is not kept as a
    rule: regular grammars side by side stay one regular rule.
    """
    rules: dict[str, Expression] = {}
    roots: list[Expression] = []
    taken = {"root"}
    for number, grammar in enumerate(grammars, 1):
        expect(grammar, Grammar, "grammars", "Grammar.from_* read one")
        names: dict[str, str] = {}
        for name in grammar.rules:
            fresh = name if name not in taken else f"{name}-{number}"
            while fresh in taken:
                fresh += "-"
            taken.add(fresh)
            names[name] = fresh

        def change(node: Expression, names: dict[str, str] = names) -> Expression | None:
            return Reference(names[node.name]) if isinstance(node, Reference) else None

        renamed = {names[name]: rewritten(body, change) for name, body in grammar.rules.items()}
        root = names[grammar.root]
        if any(root in references(body) for body in renamed.values()):
            roots.append(Reference(root))
        else:
            roots.append(renamed.pop(root))
        rules.update(renamed)
    return rules, roots
