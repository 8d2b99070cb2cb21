r"""Patterns in the dialect of Python's ``re``, as ``re.fullmatch`` reads them.

Everything that ``re.compile`` takes is read, and what it refuses is refused at the same place, with
one extension: ``\p{..}`` and ``\P{..}`` (Unicode properties), which ``re`` does not have.
Backreferences and conditionals are refused by name. Letters, digits and case are those of Unicode
14.0 whatever the running Python's version.
"""

from __future__ import annotations

import enum
import unicodedata
from collections.abc import Callable
from typing import Any

from ...automata import Ranges
from ..ir import NOTHING, CharSet, Literal
from .charsets import (
    ALL,
    ASCII_DIGIT,
    ASCII_SPACE,
    ASCII_WORD,
    NOT_NEWLINE,
    complement,
    normal,
    union,
)
from .folding import fold_literal, fold_ranges
from .nodes import Anchor, AnchorKind, Atomic, Node, widths
from .parser import DIGITS, HEX_DIGITS, ITEM, OCTAL_DIGITS, REPEATED, Parser
from .properties import property_ranges, unicode_digit, unicode_space, unicode_word

__all__ = ["PythonParser"]

LARGEST_COUNT = 0xFFFFFFFE
LARGEST_GROUP = 0x3FFFFFFF
WHITE_SPACE = frozenset(" \t\n\r\v\f")
SIMPLE_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}


class Flag(enum.IntFlag):
    """Inline flags."""

    IGNORE_CASE = 1
    MULTILINE = 2
    DOT_ALL = 4
    VERBOSE = 8
    ASCII = 16
    UNICODE = 32


FLAGS = {
    "i": Flag.IGNORE_CASE,
    "m": Flag.MULTILINE,
    "s": Flag.DOT_ALL,
    "x": Flag.VERBOSE,
    "a": Flag.ASCII,
    "u": Flag.UNICODE,
}
KINDS_OF_TEXT = Flag.ASCII | Flag.UNICODE


class _Members:
    """What a set in brackets holds."""

    __slots__ = ("categories", "literals", "ranges")

    def __init__(self) -> None:
        self.literals: list[int] = []
        self.ranges: list[tuple[int, int]] = []
        self.categories: list[Ranges] = []

    def add(self, element: Ranges | int) -> None:
        """Add an element that is not part of a range."""
        if isinstance(element, int):
            self.literals.append(element)
        else:
            self.categories.append(element)

    def only_character(self) -> int | None:
        """The character of a set of one, which is treated like one outside brackets."""
        single = not self.ranges and not self.categories and len(set(self.literals)) == 1
        return self.literals[0] if single else None

    def characters(self) -> Ranges:
        """The set itself."""
        points = ((code, code) for code in self.literals)
        categories = (pair for ranges in self.categories for pair in ranges)
        return normal([*points, *self.ranges, *categories])


class PythonParser(Parser):
    """One pattern."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _HANDLERS)
        self.set_flags(Flag(0))
        self.n_captures = 0
        self.closed: set[int] = set()
        self.names: dict[str, int] = {}
        self.lookbehind_captures: int | None = None
        self.references: list[tuple[int, int]] = []  # group number, position
        self.lookbehind_fault: int | None = None

    def set_flags(self, flags: Flag) -> None:
        """Let flags hold from here on."""
        self.flags = flags
        self.ignore_case = bool(flags & Flag.IGNORE_CASE)
        self.ascii = bool(flags & Flag.ASCII)
        self.handlers = _VERBOSE_HANDLERS if flags & Flag.VERBOSE else _HANDLERS

    def check_end(self) -> None:
        for group, position in self.references:
            if group > self.n_captures:
                self.fail(f"there is no group {group}", position)
        if self.lookbehind_fault is not None:
            self.fail("a lookbehind needs a fixed width", self.lookbehind_fault)

    # Characters.

    def literal(self, char: str) -> None:
        if self.ignore_case:
            self.add_point(ord(char))
        else:
            super().literal(char)

    def add_point(self, code: int) -> None:
        """A single code point, in either case where case is ignored."""
        if self.ignore_case:
            ranges = fold_literal(code, self.ascii)
            if len(ranges) != 1 or ranges[0][0] != ranges[0][1]:
                self.add(CharSet(ranges) if ranges else NOTHING)
                return
            code = ranges[0][0]
        self.add(self.point(code))

    def dot(self) -> None:
        """``.``"""
        self.add(CharSet(ALL if self.flags & Flag.DOT_ALL else NOT_NEWLINE))

    def caret(self) -> None:
        """``^``"""
        multiline = self.flags & Flag.MULTILINE
        self.add_anchor(Anchor(AnchorKind.LINE_START if multiline else AnchorKind.TEXT_START))

    def dollar(self) -> None:
        """``$``"""
        multiline = self.flags & Flag.MULTILINE
        self.add_anchor(Anchor(AnchorKind.LINE_END if multiline else AnchorKind.LAST_LINE_END))

    def skip_comment(self) -> None:
        """``#`` in verbose mode: the rest of the line."""
        while self.at < len(self.text):
            token = self.token()
            if token == "\n":
                break

    def token(self) -> str:
        """The next character, or a backslash and what it escapes."""
        char = self.text[self.at]
        self.at += 1
        if char != "\\":
            return char
        if self.at == len(self.text):
            self.fail("the pattern ends in a backslash", self.at - 1)
        self.at += 1
        return self.text[self.at - 2 : self.at]

    def skip(self) -> None:
        """White space in verbose mode."""

    # Escapes.

    def category(self, letter: str) -> Ranges | None:
        """The set of ``\\d``, ``\\s``, ``\\w`` or one of their complements."""
        lower = letter.lower()
        if lower == "d":
            ranges = ASCII_DIGIT if self.ascii else unicode_digit()
        elif lower == "s":
            ranges = ASCII_SPACE if self.ascii else unicode_space()
        elif lower == "w":
            ranges = self.word()
        else:
            return None
        return ranges if letter == lower else complement(ranges)

    def word(self) -> Ranges:
        """Word characters under the current flags."""
        return ASCII_WORD if self.ascii else unicode_word()

    def escape(self) -> None:
        r"""``\`` outside brackets."""
        start = self.at - 1
        if self.at == len(self.text):
            self.fail("the pattern ends in a backslash", start)
        letter = self.text[self.at]
        self.at += 1
        if letter in "AZbB":
            kind = {
                "A": AnchorKind.TEXT_START,
                "Z": AnchorKind.TEXT_END,
                "b": AnchorKind.WORD_EDGE,
                "B": AnchorKind.NOT_WORD_EDGE_NOR_EMPTY,  # as Python up to 3.13 has it
            }[letter]
            self.add_anchor(Anchor(kind, self.word() if letter in "bB" else ()))
            return
        if letter == "0":
            self.add_point(int("0" + self.take_while(OCTAL_DIGITS, 2), 8))
            return
        if letter in DIGITS:
            self.reference_or_octal(letter, start)
            return
        value = self.set_or_point(letter, start)
        if isinstance(value, int):
            self.add_point(value)
        else:
            self.add(CharSet(value) if value else NOTHING)

    def reference_or_octal(self, first: str, start: int) -> None:
        """A backslash and a digit that is not 0: three octal digits, or else a group."""
        digits = first + self.take_while(DIGITS, 1)
        if len(digits) == 2 and set(digits) <= OCTAL_DIGITS:
            octal = digits + self.take_while(OCTAL_DIGITS, 1)
            if len(octal) == 3:
                if int(octal, 8) > 0o377:
                    self.fail(f"\\{octal} is past \\377", start)
                self.add_point(int(octal, 8))
                return
        self.backreference(int(digits), start, start + 1, start)

    def set_or_point(self, letter: str, start: int) -> Ranges | int:
        """An escape that means the same inside and outside brackets."""
        ranges = self.category(letter)
        if ranges is not None:
            return ranges
        if letter in SIMPLE_ESCAPES:
            return SIMPLE_ESCAPES[letter]
        if letter in "xuU":
            length = {"x": 2, "u": 4, "U": 8}[letter]
            digits = self.take_while(HEX_DIGITS, length)
            if len(digits) != length:
                self.fail(f"\\{letter} needs {length} hexadecimal digits", start)
            if int(digits, 16) > 0x10FFFF:
                self.fail(f"\\U{digits} is past the last character", start)
            return int(digits, 16)
        if letter == "N":
            return self.named_character(start)
        if letter in "pP":
            ranges = self.property(letter, start)
            ranges = ranges if letter == "p" else complement(ranges)
            return fold_ranges(ranges, (), self.ascii) if self.ignore_case else ranges
        if "a" <= letter <= "z" or "A" <= letter <= "Z":
            self.fail(f"\\{letter} is no escape", start)
        return ord(letter)

    def named_character(self, start: int) -> int:
        r"""``\N{NAME}``"""
        if not self.take("{"):
            self.fail("\\N needs a name in braces", self.at)
        begin = self.at
        name = self.until("}", "character name")
        try:
            return ord(unicodedata.lookup(name))
        except (KeyError, TypeError):
            self.fail(f"there is no character named {name!r}", begin - 3)

    def property(self, letter: str, start: int) -> Ranges:
        r"""``\p{Lu}``, ``\p{Script=Greek}`` (an extension)."""
        if not self.take("{"):
            self.fail(f"\\{letter} needs a property in braces", start)
        name = self.until("}", "property")
        key, _, value = name.partition("=")
        ranges = property_ranges(key, value or None)
        if ranges is None:
            self.fail(f"there is no Unicode property {name!r}", start)
        return ranges

    # Sets in brackets.

    def brackets(self) -> None:
        """``[``"""
        start = self.at - 1
        negated = self.take("^")
        members = _Members()
        first = True
        while True:
            begin = self.at
            token = self.set_token(start)
            if token == "]" and not first:
                break
            first = False
            low = self.set_element(token, begin)
            if not self.take("-"):
                members.add(low)
                continue
            after = self.at
            token = self.set_token(start)
            if token == "]":
                members.add(low)
                members.add(ord("-"))
                break
            high = self.set_element(token, after)
            if not isinstance(low, int) or not isinstance(high, int) or high < low:
                self.fail("this is no range of characters", begin)
            members.ranges.append((low, high))
        code = members.only_character()
        if code is not None and not negated:
            self.add_point(code)
            return
        if not self.ignore_case:
            chars = members.characters()
        elif code is not None:
            chars = fold_literal(code, self.ascii)
        else:
            ranges, literals = tuple(members.ranges), tuple(members.literals)
            chars = union(fold_ranges(ranges, literals, self.ascii), *members.categories)
        chars = complement(chars) if negated else chars
        self.add(CharSet(chars) if chars else NOTHING)

    def set_token(self, start: int) -> str:
        """The next character or escape of the set that was opened at ``start``."""
        if self.at == len(self.text):
            self.fail("this set is never closed", start)
        return self.token()

    def set_element(self, token: str, start: int) -> Ranges | int:
        """A character or escape inside brackets."""
        if len(token) == 1:
            return ord(token)
        letter = token[1]
        if letter in OCTAL_DIGITS:
            digits = letter + self.take_while(OCTAL_DIGITS, 2)
            if int(digits, 8) > 0o377:
                self.fail(f"\\{digits} is past \\377", start)
            return int(digits, 8)
        if letter in DIGITS:
            self.fail(f"\\{letter} is no escape", start)
        return self.set_or_point(letter, start)

    # Repeats.

    def brace(self) -> None:
        """``{``: a count, or a brace that stands for itself."""
        start = self.at - 1
        low = self.take_while(DIGITS, len(self.text))
        high = low
        if self.take(","):
            high = self.take_while(DIGITS, len(self.text))
        elif not low:
            self.at = start + 1
            self.literal("{")
            return
        if not self.take("}"):
            self.at = start + 1
            self.literal("{")
            return
        minimum = self.count(low, start) or 0
        maximum = self.count(high, start)
        if maximum is not None and maximum < minimum:
            self.fail("the upper count is below the lower one", start + 1)
        self.quantify(minimum, maximum, start)

    def count(self, digits: str, start: int) -> int | None:
        """A repetition count; None where there is none."""
        if not digits:
            return None
        if len(digits) > 4000 or int(digits) > LARGEST_COUNT:
            self.fail("this count is too large", start)
        return int(digits)

    def quantify(self, minimum: int, maximum: int | None, position: int) -> None:
        if not self.text.startswith("+", self.at):
            super().quantify(minimum, maximum, position)
            return
        if self.before != ITEM:
            super().quantify(minimum, maximum, position)  # says what is wrong
        self.at += 1
        item = self.items[-1]
        node = Literal(item.encode()) if isinstance(item, str) else item
        self.items[-1] = self.possessive(node, minimum, maximum)
        self.before = REPEATED

    # Groups.

    def open_group(self) -> None:
        """``(``"""
        start = self.at - 1
        if not self.take("?"):
            self.open_capture(start, None)
            return
        if self.at == len(self.text):
            self.fail("the pattern ends inside a group's opening", self.at)
        char = self.token()
        if char == ":":
            self.push_group(start, restore=self.flags)
        elif char == "P":
            self.python_extension(start)
        elif char == "#":
            self.comment(start)
        elif char in ("=", "!"):
            self.push_group(start, self.look(True, char == "!"), self.flags)
        elif char == "<":
            self.open_lookbehind(start)
        elif char == ">":
            self.special = True
            self.push_group(start, Atomic, self.flags)
        elif char == "(":
            self.conditional(start)
        elif char in FLAGS or char in ("-", "L"):
            self.inline_flags(char, start)
        else:
            self.fail(f"(?{char} opens no group", start + 1)

    def open_capture(self, start: int, name: str | None) -> None:
        """A capturing group."""
        self.n_captures += 1
        number = self.n_captures
        if name is not None:
            if name in self.names:
                self.fail(f"group {name!r} is there already", start + 4)
            self.names[name] = number

        def finish(node: Node) -> Node:
            self.closed.add(number)
            return node

        self.push_group(start, finish, self.flags)

    def close_group(self) -> None:
        """``)``"""
        group = self.pop_group()
        self.set_flags(group.restore)

    def python_extension(self, start: int) -> None:
        """``(?P``"""
        if self.take("<"):
            name = self.until(">", "group name")
            self.check_name(name, self.at - 1 - len(name))
            self.open_capture(start, name)
        elif self.take("="):
            begin = self.at
            name = self.until(")", "group name")
            self.check_name(name, begin)
            if name not in self.names:
                self.fail(f"there is no group {name!r}", begin)
            self.backreference(self.names[name], start, begin, begin)
        else:
            if self.at == len(self.text):
                self.fail("the pattern ends inside a group's opening", self.at)
            self.fail(f"(?P{self.token()} opens no group", start + 1)

    def backreference(self, group: int, start: int, if_missing: int, if_open: int) -> None:
        """A reference to a group, which must be closed already."""
        if group > self.n_captures:
            self.fail(f"there is no group {group}", if_missing)
        if group not in self.closed:
            self.fail("this refers to a group that is still open", if_open)
        self.check_lookbehind(group)
        self.refuse(
            "a backreference", "what a group matched cannot be remembered by an automaton", start
        )
        self.add(NOTHING)

    def check_lookbehind(self, group: int) -> None:
        """A lookbehind may only refer to groups before it."""
        if self.lookbehind_captures is not None:
            if group not in self.closed:
                self.fail("this refers to a group that is still open", self.at)
            if group > self.lookbehind_captures:
                self.fail("a lookbehind cannot refer to its own groups", self.at)

    def check_name(self, name: str, position: int) -> None:
        if not name.isidentifier():
            self.fail(f"{name!r} is no name for a group", position)

    def until(self, terminator: str, what: str) -> str:
        """The text before ``terminator``, which is read too."""
        begin = self.at
        while self.at < len(self.text):
            before = self.at
            if self.token() == terminator:
                if before == begin:
                    self.fail(f"a {what} is missing", begin)
                return self.text[begin:before]
        problem = f"this {what} is never closed" if self.at > begin else f"a {what} is missing"
        self.fail(problem, begin)

    def comment(self, start: int) -> None:
        """``(?#``"""
        while self.at < len(self.text):
            if self.token() == ")":
                return
        self.fail("this comment is never closed", start)

    def open_lookbehind(self, start: int) -> None:
        """``(?<``"""
        if self.at == len(self.text):
            self.fail("the pattern ends inside a group's opening", self.at)
        char = self.token()
        if char not in ("=", "!"):
            self.fail(f"(?<{char} opens no group", start + 1)
        outermost = self.lookbehind_captures is None
        if outermost:
            self.lookbehind_captures = self.n_captures
        look = self.look(False, char == "!")

        def finish(node: Node) -> Node:
            if outermost:
                self.lookbehind_captures = None
            shortest, longest = widths(node)
            if shortest != longest and self.lookbehind_fault is None:
                self.lookbehind_fault = start
            return look(node)

        self.push_group(start, finish, self.flags)

    def conditional(self, start: int) -> None:
        """``(?(1)yes|no)``"""
        begin = self.at
        name = self.until(")", "group name")
        if name.isidentifier():
            if name not in self.names:
                self.fail(f"there is no group {name!r}", begin)
            group = self.names[name]
        else:
            try:
                group = int(name)
            except ValueError:
                group = -1
            if group < 0:
                self.fail(f"{name!r} is no name for a group", begin)
            if group == 0:
                self.fail("groups are counted from 1", begin)
            if group >= LARGEST_GROUP:
                self.fail(f"there is no group {group}", begin)
            self.references.append((group, begin))
        self.check_lookbehind(group)
        self.refuse("a conditional", "an automaton cannot know which groups took part", start)

        self.push_group(start, _conditional, self.flags)

    def next_branch(self) -> None:
        if self.branches and self.groups and self.groups[-1].finish is _conditional:
            self.fail("a conditional has at most two branches", self.at - 1)
        super().next_branch()

    # Flags.

    def inline_flags(self, char: str, start: int) -> None:
        """``(?i)`` at the start of the pattern, ``(?i:`` and ``(?-i:`` anywhere."""
        added = Flag(0)
        removed = Flag(0)
        if char != "-":
            while True:
                added |= self.flag(char)
                if added & KINDS_OF_TEXT == KINDS_OF_TEXT:
                    self.fail("flags 'a' and 'u' exclude each other", self.at)
                char = self.flag_token("-, : or )")
                if char in (")", "-", ":"):
                    break
        if char == ")":
            self.global_flags(added, start)
            return
        if char == "-":
            char = self.flag_token("a flag")
            while True:
                flag = self.flag(char)
                if flag & KINDS_OF_TEXT:
                    self.fail("flags 'a' and 'u' cannot be turned off", self.at)
                removed |= flag
                char = self.flag_token(":")
                if char == ":":
                    break
        if added & removed:
            self.fail("a flag is turned on and off at once", self.at - 1)
        self.push_group(start, restore=self.flags)
        flags = self.flags & ~KINDS_OF_TEXT if added & KINDS_OF_TEXT else self.flags
        self.set_flags((flags | added) & ~removed)

    def flag_token(self, expected: str) -> str:
        if self.at == len(self.text):
            self.fail(f"{expected} is missing", self.at)
        return self.token()

    def flag(self, char: str) -> Flag:
        """The flag of a letter."""
        if char == "L":
            self.fail("flag 'L' is for patterns of bytes", self.at)
        if char not in FLAGS:
            self.fail(f"{char!r} is no flag", self.at - len(char))
        return FLAGS[char]

    def global_flags(self, added: Flag, start: int) -> None:
        """Flags for the whole pattern, which must come first."""
        if self.groups or self.branches or self.items:
            self.fail("flags for the whole pattern must stand at its start", start)
        if (self.flags | added) & KINDS_OF_TEXT == KINDS_OF_TEXT:
            self.fail("flags 'a' and 'u' exclude each other", start)
        self.set_flags(self.flags | added)


def _conditional(node: Node) -> Node:
    return node


_HANDLERS: dict[str, Callable[[Any], None]] = {
    "*": PythonParser.star,
    "+": PythonParser.plus,
    "?": PythonParser.question_mark,
    "{": PythonParser.brace,
    "[": PythonParser.brackets,
    "(": PythonParser.open_group,
    ")": PythonParser.close_group,
    "|": PythonParser.next_branch,
    "\\": PythonParser.escape,
    ".": PythonParser.dot,
    "^": PythonParser.caret,
    "$": PythonParser.dollar,
}
_VERBOSE_HANDLERS = {
    **_HANDLERS,
    **dict.fromkeys(WHITE_SPACE, PythonParser.skip),
    "#": PythonParser.skip_comment,
}
