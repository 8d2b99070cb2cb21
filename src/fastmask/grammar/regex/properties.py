"""Unicode properties and case pairs, embedded so that every Python builds the same automata.

``unicode.bin`` holds them for Unicode 14.0.0, the version of Python 3.11: boundaries of ranges as
differences, three planes of bytes, compressed. It is read when a pattern first needs it (1 ms); a
set is unpacked when first asked for. The names are those of ECMA-262 (tables of general categories,
scripts and binary properties). ``.ci/unicode_tables.py`` makes the file.
"""

from __future__ import annotations

import functools
import zlib
from importlib import resources
from typing import Any

import numpy as np

from ...automata import Ranges
from .charsets import ALL, normal, union

__all__ = [
    "UNICODE_VERSION",
    "case_pairs",
    "is_cased",
    "property_ranges",
    "unicode_digit",
    "unicode_space",
    "unicode_word",
]

UNICODE_VERSION = "14.0.0"

# Short and long names of general categories; those that are unions name their parts.
_CATEGORIES = """
Lu Uppercase_Letter|Ll Lowercase_Letter|Lt Titlecase_Letter|Lm Modifier_Letter|Lo Other_Letter
Mn Nonspacing_Mark|Mc Spacing_Mark|Me Enclosing_Mark|Nd Decimal_Number digit|Nl Letter_Number
No Other_Number|Pc Connector_Punctuation|Pd Dash_Punctuation|Ps Open_Punctuation
Pe Close_Punctuation|Pi Initial_Punctuation|Pf Final_Punctuation|Po Other_Punctuation
Sm Math_Symbol|Sc Currency_Symbol|Sk Modifier_Symbol|So Other_Symbol|Zs Space_Separator
Zl Line_Separator|Zp Paragraph_Separator|Cc Control cntrl|Cf Format|Cs Surrogate|Co Private_Use
Cn Unassigned
"""
_UNIONS = """
LC Cased_Letter: Lu Ll Lt|L Letter: Lu Ll Lt Lm Lo|M Mark Combining_Mark: Mn Mc Me
N Number: Nd Nl No|P Punctuation punct: Pc Pd Ps Pe Pi Pf Po|S Symbol: Sm Sc Sk So
Z Separator: Zs Zl Zp|C Other: Cc Cf Cs Co Cn
"""
_BINARY_SHORT_NAMES = """
AHex ASCII_Hex_Digit|Alpha Alphabetic|Bidi_C Bidi_Control|Bidi_M Bidi_Mirrored|CI Case_Ignorable
CWCF Changes_When_Casefolded|CWCM Changes_When_Casemapped|CWL Changes_When_Lowercased
CWKCF Changes_When_NFKC_Casefolded|CWT Changes_When_Titlecased|CWU Changes_When_Uppercased
DI Default_Ignorable_Code_Point|Dep Deprecated|Dia Diacritic|EComp Emoji_Component
EMod Emoji_Modifier|EBase Emoji_Modifier_Base|EPres Emoji_Presentation
ExtPict Extended_Pictographic|Ext Extender|Gr_Base Grapheme_Base|Gr_Ext Grapheme_Extend
Hex Hex_Digit|IDSB IDS_Binary_Operator|IDST IDS_Trinary_Operator|IDC ID_Continue|IDS ID_Start
Ideo Ideographic|Join_C Join_Control|LOE Logical_Order_Exception|Lower Lowercase
NChar Noncharacter_Code_Point|Pat_Syn Pattern_Syntax|Pat_WS Pattern_White_Space
QMark Quotation_Mark|RI Regional_Indicator|STerm Sentence_Terminal|SD Soft_Dotted
Term Terminal_Punctuation|UIdeo Unified_Ideograph|Upper Uppercase|VS Variation_Selector
space White_Space|XIDC XID_Continue|XIDS XID_Start
"""

# Kinds that ``property=value`` may name, by their prefix in the data.
_KINDS = {
    "General_Category": "gc",
    "gc": "gc",
    "Script": "sc",
    "sc": "sc",
    "Script_Extensions": "scx",
    "scx": "scx",
}


class _Store:
    """The data file: where each set's numbers stand, and the names that lead to it."""

    def __init__(self) -> None:
        packed = resources.files(__package__).joinpath("unicode.bin").read_bytes()
        data = zlib.decompress(packed)
        header_end = 4 + int.from_bytes(data[:4], "little")
        self.place: dict[str, tuple[int, int]] = {}
        self.script_names: dict[str, str] = {}
        begin = 0
        for line in data[4:header_end].decode().split("\n"):
            names, count = line.split("\t")
            name, *aliases = names.split(" ") if names[:3] == "sc=" else [names]
            for alias in (name[3:], *aliases) if names[:3] == "sc=" else ():
                self.script_names[alias] = name[3:]
            self.place[name] = (begin, begin + int(count))
            begin += int(count)
        planes = np.frombuffer(data, np.uint8, 3 * begin, header_end).reshape(3, begin)
        self.numbers = (
            planes[0] + (planes[1].astype(np.int64) << 8) + (planes[2].astype(np.int64) << 16)
        )

    def values(self, name: str) -> Any:
        begin, end = self.place[name]
        return self.numbers[begin:end]


@functools.cache
def _store() -> _Store:
    return _Store()


@functools.cache
def _stored(name: str) -> Ranges:
    bounds = np.cumsum(_store().values(name)).tolist()
    return tuple((low, end - 1) for low, end in zip(bounds[::2], bounds[1::2], strict=True))


@functools.cache
def _category_parts() -> dict[str, list[str]]:
    """Each name of a general category, and the two-letter categories it stands for."""
    parts: dict[str, list[str]] = {}
    for line in _CATEGORIES.replace("\n", "|").split("|"):
        names = line.split()
        parts.update(dict.fromkeys(names, names[:1]))
    for line in _UNIONS.replace("\n", "|").split("|"):
        group, _, members = line.partition(":")
        parts.update({name: members.split() for name in group.split()})
    return parts


@functools.cache
def _binary_names() -> dict[str, str]:
    return dict(line.split() for line in _BINARY_SHORT_NAMES.replace("\n", "|").split("|") if line)


def _joined(names: list[str]) -> Ranges:
    return union(*(_stored(f"gc={name}") for name in names))


@functools.cache
def property_ranges(name: str, value: str | None = None) -> Ranges | None:
    """The characters of a Unicode property, or None if there is no such property.

    Parameters
    ----------
    name : str
        ``General_Category``, ``Script`` or ``Script_Extensions`` (or ``gc``, ``sc``, ``scx``) with
        a value; without one, a general category or a binary property.
    value : str, optional
        Name of the value, short or long.
    """
    if value is None:
        if name == "Any":
            return ALL
        if name == "ASCII":
            return ((0, 0x7F),)
        if name == "Assigned":
            return _joined([code for code, *_ in _category_parts().values() if code != "Cn"])
        if name in _category_parts():
            return _joined(_category_parts()[name])
        name = _binary_names().get(name, name)
        known = name in _store().place and "=" not in name and " " not in name
        return _whole(name) if known else None
    kind = _KINDS.get(name)
    if kind == "gc":
        return _joined(_category_parts()[value]) if value in _category_parts() else None
    script = _store().script_names.get(value)
    if kind is None or script is None:
        return None
    stored = f"{kind}={script}"
    return _whole(stored if stored in _store().place else f"sc={script}")


def _whole(name: str) -> Ranges:
    return normal(_stored(name))


@functools.cache
def unicode_word() -> Ranges:
    r"""Python's ``\w``: letters, numbers and the underscore."""
    return union(_joined(["Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "No"]), ((0x5F, 0x5F),))


def unicode_digit() -> Ranges:
    r"""Python's ``\d``: decimal digits of any script."""
    return _joined(["Nd"])


def unicode_space() -> Ranges:
    r"""Python's ``\s``: what ``str.isspace`` says."""
    return _PYTHON_SPACE


_PYTHON_SPACE: Ranges = (
    (0x09, 0x0D), (0x1C, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
    (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
)  # fmt: skip


# Ignoring case.


def case_pairs(table: str) -> list[tuple[int, int]]:
    """``"lower"``: characters and their lower cases; ``"alike"``: lower cases of one upper case."""
    values = _store().values(f"case {table}")
    points = np.cumsum(values[::2])
    others = (points + values[1::2]) % (1 << 24)
    return list(zip(points.tolist(), others.tolist(), strict=True))


@functools.cache
def _cased() -> frozenset[int]:
    return frozenset(point for low, high in _stored("case cased") for point in range(low, high + 1))


def is_cased(point: int) -> bool:
    """Whether a character has another upper or lower case."""
    return point in _cased()
