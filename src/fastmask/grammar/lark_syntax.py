"""Lark's grammar language, read into rules, terminal definitions and imports.

Rules become expressions whose references are rules, terminals by name, or literals by their own
source text. Terminal definitions are kept as text: what they mean, down to the order in which
their alternatives are tried, is Lark's to say. Line breaks mean nothing except that a definition
or a directive starts a line. One pass with an explicit stack of groups.

Read besides: ``x{2,4}``, ``x{2..4}``, ``x{2,}`` for counts, and ``<[7]>``, ``<[1-3,9]>``,
``<[^7]>``, ``<[*]>``, ``<name>``, ``!<name>`` for atomic tokens, written as in GBNF.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from ..errors import GrammarSyntaxError, UnsupportedFeatureError
from .ir import (
    Expression,
    Reference,
    Tokens,
    alternatives,
    postorder,
    repeat,
    sequence,
)
from .token_items import read_token_item

__all__ = [
    "Definition",
    "LarkFile",
    "Usage",
    "add_usage",
    "is_literal",
    "is_terminal_name",
    "read_lark",
]

_RULE = r"_?[a-z][_a-z0-9]*"
_TERMINAL = r"_?[A-Z][_A-Z0-9]*"
_SPACE = re.compile(r"(?:[ \t\r\n\f]++|\\[ ]*\r?\n|(?://|\#)[^\n]*+)*+")
_HEADER = re.compile(
    rf"(?P<modifiers>[!?]{{0,2}})(?P<name>{_RULE}|{_TERMINAL})[ \t]*"
    rf"(?:\{{(?P<parameters>[^}}\n]*)\}}[ \t]*)?(?:\.(?P<priority>[+-]?[0-9]+)[ \t]*)?:(?!:)"
)
_DIRECTIVE = re.compile(r"%([a-z_]+)")
_STRING = re.compile(r'"(?:\\"|\\\\|[^"\n])*?"i?')
_REGEXP = re.compile(r"/(?!/)(?:\\/|\\\\|[^/])*?/[imslux]*")
_RANGE = re.compile(rf"({_STRING.pattern})\s*\.\.\s*({_STRING.pattern})")
_NAME = re.compile(rf"{_RULE}|{_TERMINAL}")
_ALIAS = re.compile(rf"->\s*(?:{_RULE}|{_TERMINAL})")
_TILDE = re.compile(r"~\s*([0-9]+)(?:\s*(\.\.)\s*([0-9]+))?")
_BRACES = re.compile(r"\{\s*([0-9]*)\s*(?:(,|\.\.)\s*([0-9]*)\s*)?\}")
_IMPORT = re.compile(
    rf"%import\s+(?P<path>\.?[A-Za-z_0-9.]+)(?:\s*\((?P<names>[^)]*)\))?"
    rf"(?:\s*->\s*(?P<alias>{_RULE}|{_TERMINAL}))?"
)
_TEMPLATE = re.compile(rf"({_RULE})\s*\{{(?!\s*[0-9,.])")
_QUANTIFIERS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MOST_TIMES = 10**15
_MOST_NESTED = 50

_REFUSED_DIRECTIVES = {
    "declare": "a declared terminal is made by code that is not in the grammar",
    "json": "embed the schema's own grammar with concat or union",
    "regex": "write the terminal as /.../",
    "lark": "write the rules into this grammar",
    "grammar_options": "it is no part of Lark's language",
    "llguidance": "it is no part of Lark's language",
}


@dataclass(frozen=True)
class Usage:
    """A template with its arguments, which are references, at a place in the text."""

    template: str
    arguments: tuple[Expression, ...]
    position: int


@dataclass(frozen=True)
class Definition:
    """One rule, or the addition to one."""

    name: str
    parameters: tuple[str, ...]
    body: Expression


@dataclass
class LarkFile:
    """What a Lark grammar says.

    Attributes
    ----------
    rules : dict
        Definitions by name.
    terminals : dict
        The text of each terminal's definitions (without line break at the end), by name.
    ignored : list of str
        The bodies of ``%ignore``.
    imports : dict
        ``(library, name)`` by the name that the grammar uses.
    usages : dict
        Templates with arguments by the name of the reference that stands for them.
    places : dict
        Where each name and literal is first used, or defined.
    """

    text: str
    rules: dict[str, Definition] = field(default_factory=dict)
    terminals: dict[str, list[str]] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    usages: dict[str, Usage] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)


def is_terminal_name(name: str) -> bool:
    """Whether a name is written like a terminal's."""
    return re.fullmatch(_TERMINAL, name) is not None


def is_literal(name: str) -> bool:
    """Whether a reference stands for a string, range or pattern, by its source text."""
    return name.startswith(('"', "/"))


def read_lark(text: str) -> LarkFile:
    """Read a grammar.

    Raises
    ------
    GrammarSyntaxError
        The text is not well formed; with line and column.
    UnsupportedFeatureError
        A directive that needs more than the grammar, or a file beside it.
    """
    reader = _Reader(text)
    reader.read()
    return reader.file


@dataclass
class _Group:
    """An open group: what opened it and where, finished alternatives, the items being read."""

    opening: str
    position: int
    options: list[Expression] = field(default_factory=list)
    items: list[Expression] = field(default_factory=list)
    template: str = ""
    arguments: list[Expression] = field(default_factory=list)

    def finished(self) -> Expression:
        if not self.options:
            return sequence(self.items)
        return alternatives([*self.options, sequence(self.items)])


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.file = LarkFile(text)
        self.edits: list[tuple[int, int, str]] = []

    def read(self) -> None:
        self.skip_space()
        while self.position < len(self.text):
            self.edits.clear()
            directive = _DIRECTIVE.match(self.text, self.position)
            if directive is None:
                self.definition("")
            elif directive[1] in ("override", "extend"):
                self.position = directive.end()
                self.skip_space()
                self.definition(directive[1])
            elif directive[1] == "import":
                self.import_()
            elif directive[1] == "ignore":
                start = self.position = directive.end()
                self.body()
                self.file.ignored.append(self.as_lark(start, self.position))
            else:
                self.refuse(directive[1])
            self.skip_space()

    # --- statements

    def definition(self, verb: str) -> None:
        start = self.position
        header = _HEADER.match(self.text, start)
        if header is None:
            self.fail("expected a rule 'name: ...', a terminal 'NAME: ...' or a directive", start)
        name = header["name"]
        self.position = header.end()
        body = self.body()
        file = self.file
        known = name in file.rules or name in file.terminals or name in file.imports
        if known and not verb:
            self.fail(f"{name!r} is defined more than once", start)
        if verb and not known:
            self.fail(f"there is no {name!r} to {verb}", start)
        self.file.places[name] = start
        if is_terminal_name(name):
            if any(isinstance(node, Tokens) for node in postorder(body)):
                self.fail(f"terminal {name!r} is text; only rules hold atomic tokens", start)
            text = self.as_lark(start, self.position)
            text = f"%{verb} {text}" if verb else text
            self.file.terminals.setdefault(name, []).append(text)
            return
        parameters = tuple(re.findall(_RULE, header["parameters"] or ""))
        if verb == "extend":
            body = alternatives([self.file.rules[name].body, body])
        self.file.rules[name] = Definition(name, parameters, body)

    def import_(self) -> None:
        start = self.position
        match = _IMPORT.match(self.text, start)
        if match is None:
            self.fail("expected '%import library.NAME' or '%import library (NAME, NAME)'", start)
        self.position = match.end()
        path = match["path"]
        if path.startswith("."):
            self.refuse("import", f"{path} would be read from a file; write its rules here")
        names = re.findall(r"\w+", match["names"] or "")
        if match["names"] is None:
            path, _, last = path.rpartition(".")
            names = [last]
        if not path or not names or (match["alias"] and len(names) > 1):
            self.fail("expected '%import library.NAME' or '%import library (NAME, NAME)'", start)
        for name in names:
            alias = match["alias"] or name
            if not is_terminal_name(name) or not is_terminal_name(alias):
                self.refuse("import", f"{name!r} is no terminal; write its rules into this grammar")
            self.file.imports[alias] = (path, name)
            self.file.places.setdefault(alias, start)

    def as_lark(self, start: int, end: int) -> str:
        """Part of the text with counts in braces written as Lark writes them."""
        parts = []
        for first, last, replacement in self.edits:
            if first >= start:
                parts.append(self.text[start:first] + replacement)
                start = last
        return "".join([*parts, self.text[start:end]]).strip()

    def refuse(self, directive: str, why: str = "") -> NoReturn:
        why = why or _REFUSED_DIRECTIVES.get(directive, "it is no directive of Lark")
        raise UnsupportedFeatureError(f"%{directive}", why, text=self.text, position=self.position)

    # --- expansions

    def body(self) -> Expression:
        groups = [_Group("", self.position)]
        while True:
            before = self.position
            self.skip_space()
            text, position = self.text, self.position
            group = groups[-1]
            if position == len(text) or self.at_statement(before):
                if len(groups) > 1:
                    self.fail("this group is never closed", group.position)
                return group.finished()
            symbol = text[position]
            if symbol in "([":
                groups.append(_Group(symbol, position))
                self.position += 1
            elif symbol in ")]}":
                self.close(groups, symbol)
            elif symbol == "|":
                group.options.append(sequence(group.items))
                group.items = []
                self.position += 1
            elif symbol == "," and group.opening == "{":
                group.arguments.append(self.argument(group))
                group.items = []
                self.position += 1
            elif text.startswith("->", position):
                self.alias()
            elif symbol in "*+?~{":
                self.repeat(group.items, symbol)
            elif not self.template(groups):
                group.items.append(self.value(symbol))

    def at_statement(self, before: int) -> bool:
        """Whether a definition or directive starts here; both start a line."""
        if "\n" not in self.text[before : self.position]:
            return False
        here = (self.text, self.position)
        return _HEADER.match(*here) is not None or _DIRECTIVE.match(*here) is not None

    def close(self, groups: list[_Group], symbol: str) -> None:
        group = groups[-1]
        if _CLOSING.get(group.opening) != symbol:
            self.fail(f"{symbol!r} closes no group", self.position)
        groups.pop()
        self.position += 1
        items = groups[-1].items
        if symbol == "]":
            items.append(repeat(group.finished(), 0, 1))
        elif symbol == ")":
            items.append(group.finished())
        else:
            group.arguments.append(self.argument(group))
            arguments = tuple(group.arguments)
            usage = Usage(group.template, arguments, group.position)
            items.append(add_usage(self.file, usage))

    def template(self, groups: list[_Group]) -> bool:
        """Open the arguments of a template, if a name with a brace stands here."""
        match = _TEMPLATE.match(self.text, self.position)
        if match is None:
            return False
        if sum(group.opening == "{" for group in groups) >= _MOST_NESTED:
            self.fail(f"more than {_MOST_NESTED} templates inside one another", self.position)
        groups.append(_Group("{", self.position, template=match[1]))
        self.position = match.end()
        return True

    def argument(self, group: _Group) -> Expression:
        if group.options or len(group.items) != 1:
            self.fail("an argument of a template is one name or literal", self.position)
        return group.items[0]

    def alias(self) -> None:
        match = _ALIAS.match(self.text, self.position)
        if match is None:
            self.fail("expected a name after '->'", self.position)
        self.position = match.end()

    def repeat(self, items: list[Expression], symbol: str) -> None:
        start = self.position
        if not items:
            self.fail(f"there is nothing here for {symbol!r} to repeat", start)
        if symbol in _QUANTIFIERS:
            self.position += 1
            items[-1] = repeat(items[-1], *_QUANTIFIERS[symbol])
            return
        match = (_TILDE if symbol == "~" else _BRACES).match(self.text, start)
        if match is None or not (match[1] or match[3]):
            self.fail("expected a count: x~2, x~2..4, x{2}, x{2,4} or x{2,}", start)
        if max(len(match[1] or ""), len(match[3] or "")) > len(str(_MOST_TIMES)):
            self.fail("a count must be below 10^15", start)
        low = int(match[1] or 0)
        high: int | None = low
        if match[2]:
            high = int(match[3]) if match[3] else None
        if high is not None and high < low:
            self.fail(f"{low} to {high} times is an empty range", start)
        self.position = match.end()
        items[-1] = repeat(items[-1], low, high)
        if symbol == "{" and high is not None:
            self.edits.append((start, self.position, f"~{low}..{high}"))

    def value(self, symbol: str) -> Expression:
        start = self.position
        if symbol in "<!":
            tokens, self.position = read_token_item(self.text, start)
            return tokens
        for pattern in (_RANGE, _STRING, _REGEXP, _NAME):
            match = pattern.match(self.text, start)
            if match is not None:
                self.position = match.end()
                name = f"{match[1]}..{match[2]}" if pattern is _RANGE else match[0]
                self.file.places.setdefault(name, start)
                return Reference(name)
        if symbol in '"/':
            self.fail("this literal is never closed", start)
        if symbol == "%":
            directive = _DIRECTIVE.match(self.text, start)
            self.refuse(directive[1] if directive is not None else "")
        self.fail(f"{symbol!r} starts nothing that Lark knows", start)

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match is not None else self.position

    def fail(self, message: str, position: int) -> NoReturn:
        raise GrammarSyntaxError(message, text=self.text, position=position)


def add_usage(file: LarkFile, usage: Usage) -> Reference:
    """The reference that stands for a template with arguments, known to the file from now on."""
    inside = ",".join(
        part.name if isinstance(part, Reference) else repr(part) for part in usage.arguments
    )
    name = f"{usage.template}{{{inside}}}"
    file.usages.setdefault(name, usage)
    file.places.setdefault(name, usage.position)
    return Reference(name)
