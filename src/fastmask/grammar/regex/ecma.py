r"""Patterns in the dialect of ECMA-262 with the ``u`` flag, as JSON Schema's ``pattern`` has them.

What the ``u`` flag alone forbids is taken where its meaning is beyond doubt, since schemas in the
wild are full of it: ``\-``, ``\_``, ``\@`` and other escaped punctuation, braces and brackets that
stand for themselves, a hyphen beside a class such as ``[\w-.]``. Backreferences are refused by
name. Properties are those of Unicode 14.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...automata import Ranges
from ..ir import NOTHING, CharSet
from .charsets import ASCII_DIGIT, ASCII_WORD, complement, normal
from .nodes import Anchor, AnchorKind
from .parser import DIGITS, HEX_DIGITS, Parser
from .properties import property_ranges

__all__ = ["EcmaParser"]

WHITE_SPACE: Ranges = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
DOT = complement(((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)))
SIMPLE_ESCAPES = {"f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
CATEGORIES = {
    "d": ASCII_DIGIT,
    "w": ASCII_WORD,
    "s": WHITE_SPACE,
    "D": complement(ASCII_DIGIT),
    "W": complement(ASCII_WORD),
    "S": complement(WHITE_SPACE),
}


class EcmaParser(Parser):
    """One pattern."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _HANDLERS)
        self.n_captures = 0
        self.names: set[str] = set()
        self.references: list[tuple[int | str, int]] = []

    def check_end(self) -> None:
        for group, position in self.references:
            known = group in self.names if isinstance(group, str) else group <= self.n_captures
            if not known:
                self.fail(f"there is no group {group!r}", position)

    # Characters.

    def dot(self) -> None:
        """``.``"""
        self.add(CharSet(DOT))

    def caret(self) -> None:
        """``^``"""
        self.add_anchor(Anchor(AnchorKind.TEXT_START))

    def dollar(self) -> None:
        """``$``"""
        self.add_anchor(Anchor(AnchorKind.TEXT_END))

    def escape(self) -> None:
        r"""``\`` outside brackets."""
        start = self.at - 1
        letter = self.next_char("the pattern ends in a backslash", start)
        if letter in "bB":
            kind = AnchorKind.WORD_EDGE if letter == "b" else AnchorKind.NOT_WORD_EDGE
            self.add_anchor(Anchor(kind, ASCII_WORD))
        elif letter in "123456789":
            self.at -= 1
            self.backreference(int(self.take_while(DIGITS, 9)), start)
        elif letter == "k":
            if not self.take("<"):
                self.fail("\\k needs a group name: \\k<name>", start)
            self.backreference(self.name(), start)
        else:
            value = self.set_or_point(letter, start)
            if isinstance(value, int):
                self.add(self.point(value))
            else:
                self.add(CharSet(value) if value else NOTHING)

    def backreference(self, group: int | str, start: int) -> None:
        """A reference to a group, which may come later."""
        self.references.append((group, start))
        self.refuse(
            "a backreference", "what a group matched cannot be remembered by an automaton", start
        )
        self.add(NOTHING)

    def next_char(self, problem: str, position: int) -> str:
        if self.at == len(self.text):
            self.fail(problem, position)
        self.at += 1
        return self.text[self.at - 1]

    def set_or_point(self, letter: str, start: int) -> Ranges | int:
        """An escape that means the same inside and outside brackets."""
        if letter in CATEGORIES:
            return CATEGORIES[letter]
        if letter in SIMPLE_ESCAPES:
            return SIMPLE_ESCAPES[letter]
        if letter == "x":
            return self.hexadecimal(2, start)
        if letter == "u":
            return self.unicode_escape(start)
        if letter == "c":
            control = self.next_char("\\c needs a letter", start)
            if not (control.isascii() and control.isalpha()):
                self.fail("\\c needs a letter", start)
            return ord(control) % 32
        if letter == "0":
            if self.at < len(self.text) and self.text[self.at] in DIGITS:
                self.fail("octal escapes are not ECMAScript; write \\xHH", start)
            return 0
        if letter in "pP":
            ranges = self.property(letter, start)
            return ranges if letter == "p" else complement(ranges)
        if letter.isascii() and (letter.isalnum()):
            hint = {"A": "; write ^", "Z": "; write $", "z": "; write $"}.get(letter, "")
            self.fail(f"\\{letter} is no escape in ECMAScript{hint}", start)
        return ord(letter)

    def hexadecimal(self, length: int, start: int) -> int:
        digits = self.take_while(HEX_DIGITS, length)
        if len(digits) != length:
            self.fail(f"this escape needs {length} hexadecimal digits", start)
        return int(digits, 16)

    def unicode_escape(self, start: int) -> int:
        r"""``\uHHHH``, a pair of them for one character, or ``\u{H..}``."""
        if self.take("{"):
            digits = self.take_while(HEX_DIGITS, len(self.text))
            if not digits or not self.take("}"):
                self.fail("\\u{ needs hexadecimal digits and a closing brace", start)
            code = int(digits.lstrip("0")[:8] or "0", 16)
            if code > 0x10FFFF:
                self.fail("this is past the last character", start)
            return code
        code = self.hexadecimal(4, start)
        if 0xD800 <= code <= 0xDBFF and self.text.startswith("\\u", self.at):
            before = self.at
            self.at += 2
            digits = self.take_while(HEX_DIGITS, 4)
            low = int(digits, 16) if len(digits) == 4 else 0
            if 0xDC00 <= low <= 0xDFFF:
                return 0x10000 + ((code - 0xD800) << 10) + low - 0xDC00
            self.at = before
        return code

    def property(self, letter: str, start: int) -> Ranges:
        r"""``\p{Lu}``, ``\p{Script=Greek}``"""
        end = self.text.find("}", self.at)
        if not self.take("{") or end < 0:
            self.fail(f"\\{letter} needs a property in braces", start)
        name = self.text[self.at : end]
        self.at = end + 1
        key, equals, value = name.partition("=")
        ranges = property_ranges(key, value if equals else None)
        if ranges is None:
            self.fail(f"there is no Unicode property {name!r}", start)
        return ranges

    # Sets in brackets.

    def brackets(self) -> None:
        """``[``"""
        start = self.at - 1
        negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        while True:
            begin = self.at
            char = self.next_char("this set is never closed", start)
            if char == "]":
                break
            low = self.set_element(char, begin)
            ends = self.text.startswith("-]", self.at)
            if self.text.startswith("-", self.at) and not ends:
                self.at += 1
                after = self.at
                char = self.next_char("this set is never closed", start)
                high = self.set_element(char, after)
                if isinstance(low, int) and isinstance(high, int):
                    if high < low:
                        self.fail("this is no range of characters", begin)
                    ranges.append((low, high))
                else:  # the hyphen stands for itself
                    ranges.append((ord("-"), ord("-")))
                    ranges.extend(((low, low),) if isinstance(low, int) else low)
                    ranges.extend(((high, high),) if isinstance(high, int) else high)
            else:
                ranges.extend(((low, low),) if isinstance(low, int) else low)
        chars = normal(ranges)
        chars = complement(chars) if negated else chars
        self.add(CharSet(chars) if chars else NOTHING)

    def set_element(self, char: str, start: int) -> Ranges | int:
        """A character or escape inside brackets."""
        if char != "\\":
            return ord(char)
        letter = self.next_char("the pattern ends in a backslash", start)
        if letter == "b":
            return 8
        return self.set_or_point(letter, start)

    # Repeats.

    def brace(self) -> None:
        """``{``: a count, or a brace that stands for itself."""
        start = self.at - 1
        low = self.take_while(DIGITS, len(self.text))
        high = low
        if low and self.take(","):
            high = self.take_while(DIGITS, len(self.text))
        if not low or not self.take("}"):
            self.at = start + 1
            self.literal("{")
            return
        minimum = _count(low)
        maximum = _count(high) if high else None
        if maximum is not None and maximum < minimum:
            self.fail("the upper count is below the lower one", start)
        self.quantify(minimum, maximum, start)

    # Groups.

    def open_group(self) -> None:
        """``(``"""
        start = self.at - 1
        if not self.take("?"):
            self.n_captures += 1
            self.push_group(start)
        elif self.take(":"):
            self.push_group(start)
        elif self.take("="):
            self.push_group(start, self.look(True, False))
        elif self.take("!"):
            self.push_group(start, self.look(True, True))
        elif self.take("<="):
            self.push_group(start, self.look(False, False))
        elif self.take("<!"):
            self.push_group(start, self.look(False, True))
        elif self.take("<"):
            name = self.name()
            if name in self.names:
                self.fail(f"group {name!r} is there already", start)
            self.names.add(name)
            self.n_captures += 1
            self.push_group(start)
        else:
            hint = ""
            if self.text.startswith("P<", self.at):
                hint = "; ECMAScript writes (?<name>...)"
            elif self.text[self.at : self.at + 1] in ("i", "m", "s", "-"):
                hint = "; a JSON Schema pattern has no flags"
            self.fail(f"this opens no group of ECMAScript{hint}", start)

    def close_group(self) -> None:
        """``)``"""
        self.pop_group()

    def name(self) -> str:
        """A group name and the ``>`` behind it."""
        begin = self.at
        end = self.text.find(">", begin)
        name = self.text[begin:end] if end >= 0 else ""
        if not name.replace("$", "_").isidentifier():
            self.fail("a group needs a name", begin)
        self.at = end + 1
        return name


def _count(digits: str) -> int:
    """A repetition count; what is past any budget is as good as any other such number."""
    return int(digits) if len(digits) < 10 else 10**9


_HANDLERS: dict[str, Callable[[Any], None]] = {
    "*": EcmaParser.star,
    "+": EcmaParser.plus,
    "?": EcmaParser.question_mark,
    "{": EcmaParser.brace,
    "[": EcmaParser.brackets,
    "(": EcmaParser.open_group,
    ")": EcmaParser.close_group,
    "|": EcmaParser.next_branch,
    "\\": EcmaParser.escape,
    ".": EcmaParser.dot,
    "^": EcmaParser.caret,
    "$": EcmaParser.dollar,
}
