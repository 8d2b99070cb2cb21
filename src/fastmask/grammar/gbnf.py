"""GBNF: llama.cpp's grammar files and XGrammar's EBNF, read by one parser.

XGrammar's syntax nearly contains llama.cpp's, so the parser reads the union of both. Line breaks
mean nothing except that a rule's name starts a line. Where the dialects disagree, llama.cpp's
meaning holds (``\\xHH`` has exactly two digits, ``.`` outside a defined name is any character),
but a line break in a literal or class, and a second definition of a rule, are errors as in
XGrammar.

Read besides: ``'...'`` literals, ``<[1,3-8]>`` and ``<[^1]>`` for sets of token ids, ``<[*]>`` for
any token, ``<[name]>`` for a token whose name has no angle brackets, and the macros of
`gbnf_macros`. Lookahead assertions, rule options and the dispatch macros are refused by name.

One pass over the text with an explicit stack of groups: linear time, any nesting.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from ..errors import (
    GrammarError,
    GrammarSyntaxError,
    UnsatisfiableGrammarError,
    UnsupportedFeatureError,
)
from .gbnf_macros import MACROS, REFUSED_MACROS, Value, macro_expression
from .ir import (
    ANY_CHARACTER,
    LAST_CODE_POINT,
    Expression,
    Literal,
    Reference,
    alternatives,
    characters,
    repeat,
    sequence,
)
from .token_items import read_token_item

__all__ = ["parse_gbnf"]

_NAME = r"[A-Za-z0-9_-][A-Za-z0-9_.-]*"
_SPACE = re.compile(r"(?:[ \t\r\n]++|#[^\r\n]*+)*+")
_REFERENCE = re.compile(_NAME)
_HEADER = re.compile(rf"({_NAME})[ \t]*(\[[^\]\r\n]*\])?{_SPACE.pattern}::=")
_DEFINED = re.compile(rf"(?:^|[\r\n])[ \t]*{_HEADER.pattern}")
_COUNTS = re.compile(r"\{\s*([0-9]{1,15})\s*(?:(,)\s*([0-9]{1,15}|-1)?\s*)?\}")
_INTEGER = re.compile(r"0x[0-9A-Fa-f]{1,8}|[0-9]{1,15}")
_ARGUMENT_NAME = re.compile(r"([A-Za-z_]+)\s*=")
_SURROGATE = re.compile("[\ud800-\udfff]")

_CONTROL_ESCAPES = {
    "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0",
    "e": "\x1b",
}  # fmt: skip
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_SELF_ESCAPES = frozenset("\"'\\/?^$.*+()[]{}|-")

_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_gbnf(text: str, root: str = "root") -> dict[str, Expression]:
    """The rules of a GBNF grammar by name.

    Parameters
    ----------
    text : str
        The grammar, in llama.cpp's or XGrammar's dialect.
    root : str
        The rule that a whole text must match.

    Raises
    ------
    GrammarSyntaxError
        Where the text is not well formed, uses an undefined rule or defines one twice.
    UnsupportedFeatureError
        A construct of XGrammar that is no part of a context-free grammar.
    GrammarError
        There is no rule ``root``.
    """
    rules = _Parser(text).rules()
    if root not in rules:
        known = ", ".join(rules) if rules else "none"
        raise GrammarError(f"the grammar has no rule {root!r}; its rules are: {known}")
    return rules


class _Group(NamedTuple):
    """An open group: its place, its finished alternatives, the items of the one being read."""

    position: int
    options: list[Expression]
    items: list[Expression]


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.defined = {match[1] for match in _DEFINED.finditer(text)}
        surrogate = _SURROGATE.search(text)
        if surrogate is not None:
            self.fail("half of a surrogate pair is no character", surrogate.start())

    def rules(self) -> dict[str, Expression]:
        rules: dict[str, Expression] = {}
        self.skip_space()
        while self.position < len(self.text):
            start = self.position
            name = self.header()
            if name in rules:
                self.fail(f"rule {name!r} is defined twice", start)
            rules[name] = self.body(name)
        return rules

    # --- rules and groups

    def header(self) -> str:
        match = _HEADER.match(self.text, self.position)
        if match is None:
            reference = _REFERENCE.match(self.text, self.position)
            if reference is not None:
                self.fail("expected '::=' after the rule's name", reference.end())
            self.fail("expected a rule, 'name ::= ...'", self.position)
        line_start = self.text.rfind("\n", 0, self.position) + 1
        line_start = max(line_start, self.text.rfind("\r", line_start, self.position) + 1)
        if self.text[line_start : self.position].strip():
            self.fail("a rule must start on a line of its own", self.position)
        if match[2] is not None:
            raise UnsupportedFeatureError(
                f"rule options {match[2]}",
                "they say something about decoding, not about which texts match",
                text=self.text,
                position=match.start(2),
            )
        self.position = match.end()
        return match[1]

    def body(self, name: str) -> Expression:
        groups = [_Group(self.position, [], [])]
        while True:
            self.skip_space()
            text, position = self.text, self.position
            if position == len(text) or _HEADER.match(text, position):
                if len(groups) > 1:
                    self.fail("this group is never closed", groups[-1].position)
                return _finished(groups.pop())
            symbol = text[position]
            items = groups[-1].items
            if symbol == "(":
                self.refuse_lookahead(position)
                groups.append(_Group(position, [], []))
                self.position += 1
            elif symbol == "|":
                groups[-1].options.append(sequence(items))
                items.clear()
                self.position += 1
            elif symbol == ")":
                if len(groups) == 1:
                    self.fail(f"this closes no group of rule {name!r}", position)
                group = groups.pop()
                groups[-1].items.append(_finished(group))
                self.position += 1
            elif symbol in "*+?{":
                if not items:
                    self.fail(f"there is nothing here for {symbol!r} to repeat", position)
                items[-1] = repeat(items[-1], *self.counts(symbol))
            else:
                items.extend(self.item(symbol))

    def counts(self, symbol: str) -> tuple[int, int | None]:
        if symbol in _QUANTIFIERS:
            self.position += 1
            return _QUANTIFIERS[symbol]
        match = _COUNTS.match(self.text, self.position)
        if match is None:
            self.fail("expected {m}, {m,} or {m,n} with numbers below 10^15", self.position)
        low = int(match[1])
        high: int | None = low
        if match[2] is not None:
            high = None if match[3] in (None, "-1") else int(match[3])
        if high is not None and high < low:
            self.fail(f"{low} to {high} times is an empty range", self.position)
        self.position = match.end()
        return low, high

    # --- elements

    def item(self, symbol: str) -> list[Expression]:
        """One element; several where ``name.name`` is a rule, any character, and a rule."""
        if symbol in "\"'":
            return [Literal(self.string().encode())]
        if symbol == "[":
            return [self.character_class()]
        if symbol == ".":
            self.position += 1
            return [ANY_CHARACTER]
        if symbol in "<!":
            tokens, self.position = read_token_item(self.text, self.position)
            return [tokens]
        match = _REFERENCE.match(self.text, self.position)
        if match is None:
            self.fail(f"{symbol!r} starts no element of a grammar", self.position)
        name = match[0] if match[0] in self.defined else match[0].split(".", 1)[0]
        if name not in self.defined:
            self.refuse_macro(name)
            if name in MACROS and self.text[match.end() :].lstrip(" \t").startswith("("):
                return [self.macro(name)]
            self.fail(f"rule {name!r} is not defined", self.position)
        self.position += len(name)
        return [Reference(name)]

    def string(self) -> str:
        start = self.position
        quote = self.text[start]
        plain = re.compile(rf"[^\\\r\n{quote}]+")
        parts: list[str] = []
        self.position += 1
        while True:
            match = plain.match(self.text, self.position)
            if match is not None:
                parts.append(match[0])
                self.position = match.end()
            symbol = self.text[self.position : self.position + 1]
            if symbol == quote:
                self.position += 1
                return "".join(parts)
            if symbol != "\\":
                what = "a line break in a literal is written \\n" if symbol else "never closed"
                self.fail(f"this literal has no closing {quote} ({what})", start)
            parts.append(self.escape())

    def character_class(self) -> Expression:
        start = self.position
        self.position += 1
        negated = self.text.startswith("^", self.position)
        self.position += negated
        ranges: list[tuple[int, int]] = []
        while not self.text.startswith("]", self.position):
            low_position = self.position
            low = high = self.class_character(start)
            following = self.text[self.position : self.position + 2]
            if following.startswith("-") and following != "-]":
                self.position += 1
                high = self.class_character(start)
                if high < low:
                    self.fail(f"{low!r}-{high!r} is an empty range", low_position)
            ranges.append((ord(low), ord(high)))
        if not ranges and not negated:
            self.fail("an empty class matches nothing; [^] is any character", start)
        self.position += 1
        return characters(ranges, negated=negated)

    def class_character(self, start: int) -> str:
        symbol = self.text[self.position : self.position + 1]
        if symbol in ("", "\r", "\n"):
            what = "a line break in a class is written \\n" if symbol else "never closed"
            self.fail(f"this class has no closing ] ({what})", start)
        if symbol == "\\":
            return self.escape()
        self.position += 1
        return symbol

    def escape(self) -> str:
        start = self.position
        kind = self.text[start + 1 : start + 2]
        if kind in _HEX_ESCAPES:
            width = _HEX_ESCAPES[kind]
            digits = self.text[start + 2 : start + 2 + width]
            if not re.fullmatch(rf"[0-9A-Fa-f]{{{width}}}", digits):
                self.fail(f"\\{kind} takes {width} hexadecimal digits", start)
            code_point = int(digits, 16)
            if code_point > LAST_CODE_POINT:
                self.fail(f"there is no character U+{digits}", start)
            if 0xD800 <= code_point <= 0xDFFF:
                self.fail("half of a surrogate pair is no character; \\U takes eight digits", start)
            self.position += 2 + width
            return chr(code_point)
        if kind not in _CONTROL_ESCAPES and kind not in _SELF_ESCAPES:
            ranges = " (write the ranges, as in [0-9])" if kind and kind in "dDsSwW" else ""
            self.fail(f"\\{kind} is no escape of GBNF{ranges}", start)
        self.position += 2
        return _CONTROL_ESCAPES.get(kind, kind)

    # --- macros

    def macro(self, name: str) -> Expression:
        start = self.position
        self.position += len(name)
        positional, named = self.arguments()
        try:
            return macro_expression(name, positional, named)
        except (GrammarSyntaxError, UnsupportedFeatureError, UnsatisfiableGrammarError):
            raise
        except GrammarError as error:
            raise GrammarSyntaxError(str(error), text=self.text, position=start) from error

    def arguments(self) -> tuple[list[Value], dict[str, Value]]:
        """The arguments of a macro: strings, numbers, booleans and tuples of numbers."""
        positional: list[Value] = []
        named: dict[str, Value] = {}
        self.expect("(", "arguments in parentheses")
        while not self.at(")"):
            if positional or named:
                self.expect(",", "',' or ')' between arguments")
                self.skip_space()
            match = _ARGUMENT_NAME.match(self.text, self.position)
            if match is not None:
                self.position = match.end()
                self.skip_space()
                named[match[1]] = self.value()
            else:
                positional.append(self.value())
        self.expect(")", "')'")
        return positional, named

    def value(self) -> Value:
        for word, value in (("true", True), ("false", False)):
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return value
        if self.at("("):
            self.position += 1
            numbers: list[int] = []
            while not self.at(")"):
                numbers.append(self.integer())
                if not self.at(")"):
                    self.expect(",", "',' or ')' between numbers")
                    self.skip_space()
            self.position += 1
            return tuple(numbers)
        if self.text[self.position : self.position + 1] in ('"', "'"):
            return self.string()
        return self.integer()

    def integer(self) -> int:
        self.skip_space()
        match = _INTEGER.match(self.text, self.position)
        if match is None:
            self.fail("expected a text in quotes, a number, true, false or a tuple", self.position)
        self.position = match.end()
        return int(match[0], 0) if match[0].startswith("0x") else int(match[0])

    # --- small parts

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match is not None else self.position

    def at(self, symbol: str) -> bool:
        self.skip_space()
        return self.text.startswith(symbol, self.position)

    def expect(self, symbol: str, what: str) -> None:
        if not self.at(symbol):
            self.fail(f"expected {what}", self.position)
        self.position += len(symbol)

    def refuse_lookahead(self, position: int) -> None:
        if self.text.startswith("(=", position):
            raise UnsupportedFeatureError(
                "a lookahead assertion (= ...)",
                "a rule says what it matches, not what follows it",
                text=self.text,
                position=position,
            )

    def refuse_macro(self, name: str) -> None:
        if name in REFUSED_MACROS:
            raise UnsupportedFeatureError(
                f"the macro {name}", REFUSED_MACROS[name], text=self.text, position=self.position
            )

    def fail(self, message: str, position: int) -> NoReturn:
        raise GrammarSyntaxError(message, text=self.text, position=position)


def _finished(group: _Group) -> Expression:
    if not group.options:
        return sequence(group.items)
    return alternatives([*group.options, sequence(group.items)])
