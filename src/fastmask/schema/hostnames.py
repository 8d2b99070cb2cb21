"""Internationalised host names (RFC 5890 to 5893): labels, context rules and the bidi rule.

A label is the intersection of small automata, one a rule. Not held: Punycode (labels that begin
with ``xn--`` are left out, since each has a form in its own script), normalisation, and the length
of a label's Punycode form. ``documents/idna.json`` has the code points of RFC 5892 for Unicode
14.0.0, as differences between the ends of ranges, derived from the tables of the Python package
idna (BSD licence) and of ``unicodedata``.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from ..automata import Dfa, Ranges
from ..grammar.ir import CharSet, Expression, alternatives, repeat, sequence
from ..grammar.regex.charsets import complement, intersection, union
from ..grammar.regex.properties import property_ranges
from ..grammar.regular import expression_dfa
from . import documents

__all__ = ["idn_name"]

_ASCII_LABEL_LIMIT = 63
_HYPHEN: Ranges = ((0x2D, 0x2D),)
_DIGITS: Ranges = ((0x30, 0x39),)
_UPPER: Ranges = ((0x41, 0x5A),)
_ARABIC_DIGITS: Ranges = ((0x660, 0x669),)
_EXTENDED_DIGITS: Ranges = ((0x6F0, 0x6F9),)


@cache
def _table() -> dict[str, Ranges]:
    text = resources.files(documents).joinpath("idna.json").read_text("utf-8")
    table: dict[str, Ranges] = {}
    for name, differences in json.loads(text).items():
        ranges = []
        end = 0
        for gap, size in zip(differences[::2], differences[1::2], strict=True):
            ranges.append((end + gap, end + gap + size))
            end = ranges[-1][1]
        table[name] = tuple(ranges)
    return table


def idn_name(separators: str) -> Dfa:
    """Names of labels joined by one of the ``separators``."""
    between = _dfa(CharSet(tuple((ord(c), ord(c)) for c in separators)))

    def joined(label: Dfa) -> Dfa:
        return label.concatenation(between.concatenation(label).repeated(0, None))

    label = _valid_label()
    right_to_left = union(_table()["right_to_left"], _ARABIC_DIGITS)
    one_way = label.difference(_dfa(sequence((_ANY, CharSet(right_to_left), _ANY))))
    return joined(one_way).union(joined(label.intersection(_bidi_label())))


def _dfa(expression: Expression) -> Dfa:
    return expression_dfa(expression, {})


def _some(ranges: Ranges) -> Expression:
    return repeat(CharSet(ranges), 0, None)


_ANY: Expression = _some(complement(()))


def _scripts(*names: str) -> Ranges:
    return union(*(property_ranges("Script", name) or () for name in names))


def _valid_label() -> Dfa:
    """A label that meets everything but the bidi rule."""
    table = _table()
    joiners: Ranges = ((0x200C, 0x200D),)
    contextual: Ranges = ((0xB7, 0xB7), (0x375, 0x375), (0x5F3, 0x5F4), (0x30FB, 0x30FB))
    characters = union(
        table["valid"], _UPPER, joiners, contextual, _ARABIC_DIGITS, _EXTENDED_DIGITS
    )
    edge = complement(_HYPHEN)
    marks = property_ranges("M") or ()
    start = intersection(characters, intersection(edge, complement(marks)))
    end = intersection(characters, edge)
    label = _dfa(
        sequence(
            (
                CharSet(start),
                repeat(sequence((_some(characters), CharSet(end))), 0, 1),
            )
        )
    )
    hyphens = sequence((CharSet(complement(())),) * 2 + (CharSet(_HYPHEN),) * 2 + (_ANY,))
    label = label.difference(_dfa(hyphens))
    ascii_ = repeat(CharSet(((0, 0x7F),)), _ASCII_LABEL_LIMIT + 1, None)
    label = label.difference(_dfa(ascii_))
    for rule in (
        _between(0xB7, ((0x6C, 0x6C),), ((0x6C, 0x6C),)),
        _between(0x375, None, _scripts("Greek")),
        _between(0x5F3, _scripts("Hebrew"), None),
        _between(0x5F4, _scripts("Hebrew"), None),
        _between(0x200D, table["virama"], None),
        _non_joiner(),
    ):
        label = label.difference(rule)
    dots = sequence((_ANY, CharSet(((0x30FB, 0x30FB),)), _ANY))
    kana = sequence((_ANY, CharSet(_scripts("Hiragana", "Katakana", "Han")), _ANY))
    label = label.difference(_dfa(dots).difference(_dfa(kana)))
    arabic = _dfa(sequence((_ANY, CharSet(_ARABIC_DIGITS), _ANY)))
    extended = _dfa(sequence((_ANY, CharSet(_EXTENDED_DIGITS), _ANY)))
    return label.difference(arabic.intersection(extended))


def _between(code: int, before: Ranges | None, after: Ranges | None) -> Dfa:
    """Labels in which a character stands without what it wants before or after it."""
    wrong: list[Expression] = []
    character = CharSet(((code, code),))
    if before is not None:
        other = repeat(sequence((_ANY, CharSet(complement(before)))), 0, 1)
        wrong.append(sequence((other, character, _ANY)))
    if after is not None:
        other = repeat(sequence((CharSet(complement(after)), _ANY)), 0, 1)
        wrong.append(sequence((_ANY, character, other)))
    return _dfa(alternatives(wrong))


def _non_joiner() -> Dfa:
    """Labels with a zero width non-joiner neither after a virama nor between joining letters."""
    table = _table()
    virama, left, right = table["virama"], table["joins_left"], table["joins_right"]
    between = table["transparent"]
    unjoined = intersection(complement(union(left, between)), complement(virama))
    mark = intersection(between, complement(virama))
    joiner = CharSet(((0x200C, 0x200C),))
    # Nothing joins on the left, and the character before is no virama ...
    no_left = sequence(
        (
            repeat(sequence((_ANY, CharSet(unjoined))), 0, 1),
            repeat(sequence((_some(between), CharSet(mark))), 0, 1),
            joiner,
            _ANY,
        )
    )
    # ... or nothing joins on the right, and it is no virama either.
    no_right = sequence(
        (
            repeat(sequence((_ANY, CharSet(complement(virama)))), 0, 1),
            joiner,
            _some(between),
            repeat(sequence((CharSet(complement(union(right, between))), _ANY)), 0, 1),
        )
    )
    return _dfa(alternatives((no_left, no_right)))


def _bidi_label() -> Dfa:
    """Labels that RFC 5893 allows in a name with right-to-left letters."""
    table = _table()
    letters = table["right_to_left"]
    european = union(_DIGITS, _EXTENDED_DIGITS)
    weak = union(table["nonspacing"], table["neutral"], _HYPHEN)
    left = intersection(
        union(table["valid"], _UPPER),
        complement(union(letters, _ARABIC_DIGITS, european, weak)),
    )
    trailing = _some(table["nonspacing"])

    def label(first: Ranges, inside: Ranges, last: Ranges) -> Expression:
        body = repeat(sequence((_some(inside), CharSet(last))), 0, 1)
        return sequence((CharSet(first), body, trailing))

    options: list[Expression] = [label(left, union(left, european, weak), union(left, european))]
    for digits in (european, _ARABIC_DIGITS):
        last = union(letters, digits)
        options.append(label(letters, union(last, weak), last))
    return _dfa(alternatives(options))
