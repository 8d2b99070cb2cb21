"""The formats that are asserted, as automata over the characters of the decoded string.

Each is the grammar of the document that defines it, with what that document says in prose where an
automaton can hold it: days of the month and leap years, leap seconds (for offsets of whole quarter
hours, as all zones have), lengths of labels and names, IPv6 with its embedded IPv4. Punycode is not
decoded: an ``xn--`` label is a label. ``regex`` is ECMAScript's grammar for groups nested to a
depth of six, back references by number or to names not among it.

An automaton is made when a format is first asked for, once per process; those that would take
2 ms to a second are kept in files (`fastmask.schema.ready`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise, product

from ..automata import Dfa
from ..grammar.ir import Automaton, Expression, alternatives, literal, repeat, sequence
from ..grammar.regex import regex_dfa, regex_expression
from ..grammar.regular import expression_dfa
from .hostnames import idn_name
from .ready import ready

__all__ = ["LONGEST", "format_dfa", "made"]


@cache
def format_dfa(name: str) -> Dfa:
    """The strings of a format, lengths (`LONGEST`) apart."""
    dfa = ready(name)
    return made(name) if dfa is None else dfa


def made(name: str) -> Dfa:
    """The same, made from the grammar of the format."""
    return _MAKERS[name]()


# Bounds on the length of the whole string in characters. They are kept apart from the automaton,
# which would need a state for each pair of lengths of name and label.
LONGEST = {"hostname": 253, "idn-hostname": 253}


def _regex(pattern: str) -> Callable[[], Dfa]:
    return lambda: regex_dfa(pattern, "python")


def _any(*options: str) -> str:
    return f"(?:{'|'.join(options)})"


# RFC 3339, section 5.6 and appendix C.

_TWO_OF_4 = _any("[02468][048]", "[13579][26]")  # two digits divisible by four
_LEAP_YEAR = _any(f"[0-9]{{2}}{_any('0[48]', '[2468][048]', '[13579][26]')}", f"{_TWO_OF_4}00")
_DATE = _any(
    f"[0-9]{{4}}-{_any('0[13578]', '1[02]')}-{_any('0[1-9]', '[12][0-9]', '3[01]')}",
    f"[0-9]{{4}}-{_any('0[469]', '11')}-{_any('0[1-9]', '[12][0-9]', '30')}",
    f"[0-9]{{4}}-02-{_any('0[1-9]', '1[0-9]', '2[0-8]')}",
    f"{_LEAP_YEAR}-02-29",
)
_HOUR = _any("[01][0-9]", "2[0-3]")
_MINUTE = "[0-5][0-9]"
_FRACTION = r"(?:\.[0-9]+)?"


def _leap_seconds() -> str:
    """The last second of a UTC day, as clocks of every whole quarter-hour offset show it."""
    options = [rf"23:59:60{_FRACTION}[Zz]"]
    for hours, minutes in product(range(24), (0, 15, 30, 45)):
        for sign in (1, -1):
            local = (23 * 60 + 59 + sign * (60 * hours + minutes)) % (24 * 60)
            clock = f"{local // 60:02}:{local % 60:02}:60"
            offset = f"{'+' if sign > 0 else '-'}{hours:02}:{minutes:02}"
            options.append(rf"{clock}{_FRACTION}[{offset[0]}]{offset[1:]}")
    return _any(*options)


@cache
def _full_time() -> str:
    zone = _any("[Zz]", f"[+-]{_HOUR}:{_MINUTE}")
    return _any(f"{_HOUR}:{_MINUTE}:[0-5][0-9]{_FRACTION}{zone}", _leap_seconds())


def _time() -> Dfa:
    return regex_dfa(_full_time(), "python")


def _date_time() -> Dfa:
    return regex_dfa(f"{_DATE}[Tt]{_full_time()}", "python")


_TIME_UNITS = _any("[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?", "[0-9]+M(?:[0-9]+S)?", "[0-9]+S")
_DATE_UNITS = _any("[0-9]+D", "[0-9]+M(?:[0-9]+D)?", "[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?")
_DURATION = f"P{_any(f'{_DATE_UNITS}(?:T{_TIME_UNITS})?', f'T{_TIME_UNITS}', '[0-9]+W')}"

# RFC 2673 section 3.2 and RFC 4291 section 2.2.

_OCTET = _any("[0-9]", "[1-9][0-9]", "1[0-9]{2}", "2[0-4][0-9]", "25[0-5]")
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP = "[0-9A-Fa-f]{1,4}"
_LAST_TWO = _any(f"{_GROUP}:{_GROUP}", _IPV4)
_IPV6 = _any(
    f"(?:{_GROUP}:){{6}}{_LAST_TWO}",
    f"::(?:{_GROUP}:){{5}}{_LAST_TWO}",
    f"(?:{_GROUP})?::(?:{_GROUP}:){{4}}{_LAST_TWO}",
    *(
        f"(?:(?:{_GROUP}:){{0,{before}}}{_GROUP})?::(?:{_GROUP}:){{{4 - before}}}{_LAST_TWO}"
        for before in (1, 2, 3)
    ),
    f"(?:(?:{_GROUP}:){{0,4}}{_GROUP})?::{_LAST_TWO}",
    f"(?:(?:{_GROUP}:){{0,5}}{_GROUP})?::{_GROUP}",
    f"(?:(?:{_GROUP}:){{0,6}}{_GROUP})?::",
)

# RFC 1123 section 2.1, RFC 5321 section 4.1.2 with 4.5.3.1, and RFC 6531 section 3.3.

# At most 63 characters; hyphens third and fourth stand only after "xn" (RFC 5891, 4.2.3.1).
_ALNUM = "[A-Za-z0-9]"
_INNER = "[A-Za-z0-9-]"
_LABEL = _any(
    f"{_ALNUM}(?:{_INNER}{{0,1}}{_ALNUM})?",
    f"{_ALNUM}{_INNER}{_any(f'{_ALNUM}{_ALNUM}', f'-{_ALNUM}')}",
    f"{_ALNUM}{_INNER}{_any(f'{_ALNUM}{_INNER}', f'-{_ALNUM}')}{_INNER}{{0,58}}{_ALNUM}",
    f"[Xx][Nn]--{_INNER}{{0,58}}{_ALNUM}",
)
_HOSTNAME = rf"{_LABEL}(?:\.{_LABEL})*"
_ATOM_CHARACTERS = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\-"
_ADDRESS = rf"\[{_any(_IPV4, f'IPv6:{_IPV6}')}\]"
_BEYOND_ASCII = r"\u0080-\U0010ffff"


def _local_part(beyond: str) -> Dfa:
    """What stands before the at sign and that sign, 64 characters before it at most."""
    atom = f"[{_ATOM_CHARACTERS}{beyond}]+"
    # A space needs no backslash, and validators refuse one that has it.
    quoted = rf'"(?:[ !#-\[\]-~{beyond}]|\\[!-~])*"'
    local = regex_dfa(_any(rf"{atom}(?:\.{atom})*", quoted), "python")
    short = local.intersection(regex_dfa(r"[\s\S]{1,64}", "python"))
    return short.concatenation(Dfa.literal(b"@"))


def _email() -> Dfa:
    return _local_part("").concatenation(regex_dfa(_any(_HOSTNAME, _ADDRESS), "python"))


def _idn_email() -> Dfa:
    domain = idn_name(".").union(regex_dfa(_any(_HOSTNAME, _ADDRESS), "python"))
    return _local_part(r"\u0080-\U0010ffff").concatenation(domain)


def _idn_hostname() -> Dfa:
    return idn_name(".\u3002\uff0e\uff61")


# RFC 3986 appendix A and RFC 3987 section 2.2.

_PERCENT = "%[0-9A-Fa-f]{2}"
_UNRESERVED = r"A-Za-z0-9._~\-"
_SUB_DELIMITERS = "!$&'()*+,;="
_IRI_CHARACTERS = (
    r"\u00a0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef"
    + "".join(rf"\U{plane:04x}0000-\U{plane:04x}fffd" for plane in range(1, 14))
    + ""
).replace(r"\U000e0000", r"\U000e1000")
_PRIVATE = r"\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"


def _reference(beyond: str, private: str, *, relative: bool) -> str:
    """URI or IRI, and their relative references where those are wanted."""
    plain = f"{_UNRESERVED}{_SUB_DELIMITERS}{beyond}"
    segment = f"(?:[{plain}:@]|{_PERCENT})"
    host = _any(
        rf"\[{_any(_IPV6, f'[Vv][0-9A-Fa-f]+[.][{_UNRESERVED}{_SUB_DELIMITERS}:]+')}\]",
        f"(?:[{plain}]|{_PERCENT})*",
    )
    authority = rf"(?:(?:[{plain}:]|{_PERCENT})*@)?{host}(?::[0-9]*)?"
    absolute = f"/(?:{segment}+(?:/{segment}*)*)?"
    tail = rf"(?:\?(?:[{plain}:@/?{private}]|{_PERCENT})*)?(?:#(?:[{plain}:@/?]|{_PERCENT})*)?"
    hierarchy = _any(f"//{authority}(?:/{segment}*)*", absolute, f"{segment}+(?:/{segment}*)*", "")
    whole = f"[A-Za-z][A-Za-z0-9+.-]*:{hierarchy}{tail}"
    if not relative:
        return whole
    first = f"(?:[{plain}@]|{_PERCENT})+"
    part = _any(f"//{authority}(?:/{segment}*)*", absolute, f"{first}(?:/{segment}*)*", "")
    return _any(whole, f"{part}{tail}")


# RFC 6570 section 2, with erratum 6937.

_VARIABLE = rf"(?:[A-Za-z0-9_]|{_PERCENT})(?:[.]?(?:[A-Za-z0-9_]|{_PERCENT}))*"
_VARIABLE_SPEC = rf"{_VARIABLE}(?::[1-9][0-9]{{0,3}}|[*])?"
_URI_TEMPLATE = (
    rf"(?:[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~{_IRI_CHARACTERS}{_PRIVATE}]|{_PERCENT}"
    rf"|\{{[+#./;?&]?{_VARIABLE_SPEC}(?:,{_VARIABLE_SPEC})*\}})*"
)

# RFC 6901 section 3 and draft-handrews-relative-json-pointer-01.

_POINTER = "(?:/(?:[^~/]|~[01])*)*"


# ECMA-262, Pattern with the u flag. What is not regular is left out: groups deeper than _DEPTH,
# lookarounds but in the outermost, back references, a second group with a name, ranges whose ends
# are too alike to compare.

_DEPTH = 4
_HEX = "[0-9A-Fa-f]"
_PROPERTIES = (
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc "
    "Cf Cs Co Cn LC Letter Lowercase_Letter Uppercase_Letter Mark Number Decimal_Number "
    "Punctuation Symbol Separator Other ASCII Any Alphabetic Lowercase Uppercase White_Space "
    "Emoji ID_Start ID_Continue"
).split()
_SCRIPTS = "Latin Greek Cyrillic Han Hiragana Katakana Hangul Arabic Hebrew Thai Devanagari".split()


def _ecma_class() -> str:
    """A character class in brackets."""
    raw = [chr(code) for code in range(0x20, 0x7F) if chr(code) not in "\\]-"]
    ranges = [f"{re.escape(c)}-[{''.join(map(re.escape, raw[i:]))}]" for i, c in enumerate(raw)]
    ranges.append(f"[{''.join(map(re.escape, raw))}]-[{_BEYOND_ASCII}]")
    starts = [*range(0x80, 0x600, 0x20), *range(0x600, 0xD400, 0x400), 0xD400, 0xE000, 0x10000]
    for start, following in pairwise(starts):
        last = 0xD7FF if start == 0xD400 else following - 1
        block = f"\\U{start:08x}-\\U{last:08x}"
        ranges.append(f"[{block}]-[\\U{following:08x}-\\U0010ffff]")
    digits = "0123456789abcdef"
    for i, digit in enumerate(digits[:-1]):
        first, second = f"[{digit}{digit.upper()}]", f"[{digits[i + 1 :]}{digits[i + 1 :].upper()}]"
        ranges.append(rf"\\u{first}{_HEX}{{3}}-\\u{second}{_HEX}{{3}}")
        ranges.append(rf"\\x{first}{_HEX}-\\x{second}{_HEX}")
    escape = rf"\\(?:{_ECMA_ESCAPE}|[bdDsSwW\-]|{_ECMA_PROPERTY})"
    item = _any(*ranges, r"[^\\\]\-]", escape)
    return rf"\[\^?-?{item}*-?\]"


_ECMA_ESCAPE = _any(
    "[fnrtv]",
    "c[A-Za-z]",
    "0",
    f"x{_HEX}{{2}}",
    f"u{_HEX}{{4}}",
    rf"u\{{0*{_any(f'{_HEX}{{1,5}}', f'10{_HEX}{{4}}')}\}}",
    r"[\^$\\.*+?()\[\]{}|/]",
)
_ECMA_PROPERTY = (
    rf"[pP]\{{{_any(*_PROPERTIES, f'(?:Script|sc|Script_Extensions|scx)={_any(*_SCRIPTS)}')}\}}"
)
_ECMA_COUNT = _any(
    r"\{(?:0|[1-9][0-9]{0,3}),?\}",
    *(rf"\{{{low},[{low}-9]\}}" for low in range(10)),
    r"\{[0-9],[1-9][0-9]{1,3}\}",
    r"\{[1-9][0-9],[1-9][0-9]{2,3}\}",
    *(rf"\{{{low}[0-9],[{low + 1}-9][0-9]\}}" for low in range(1, 9)),
    *(rf"\{{{ten}0,{ten}[0-9]\}}" for ten in range(1, 10)),
)


def _ecma_regex() -> Dfa:
    """Patterns, from those without groups outwards."""
    dialect = "python"
    atom = regex_expression(
        _any(
            r"[^\^$\\.*+?()\[\]{}|/]|[./]",
            rf"\\(?:{_ECMA_ESCAPE}|[dDsSwW]|{_ECMA_PROPERTY})",
            _ecma_class(),
        ),
        dialect,
    )
    quantifier = regex_expression(f"(?:(?:[*+?]|{_ECMA_COUNT})[?]?)?", dialect)
    assertion = regex_expression(r"[\^$]|\\[bB]", dialect)
    group = regex_expression(r"\((?:\?:)?", dialect)
    look = regex_expression(r"\(\?<?[=!]", dialect)
    named = regex_expression(r"\(\?<[A-Za-z_$][A-Za-z0-9_$]*>", dialect)
    close = literal(")")
    terms = [sequence((Automaton(expression_dfa(atom, {})), quantifier)), assertion]
    level = _lines(terms)
    for _ in range(_DEPTH - 1):
        level = _lines([*terms, sequence((group, Automaton(level), close, quantifier))])
    body = Automaton(level)
    whole = _lines(
        [
            *terms,
            sequence((group, body, close, quantifier)),
            sequence((look, body, close)),
        ]
    )
    with_name = sequence((Automaton(whole), named, body, close, quantifier, Automaton(whole)))
    return whole.union(expression_dfa(with_name, {}))


def _lines(terms: list[Expression]) -> Dfa:
    """Alternatives of any number of terms each."""
    line = repeat(alternatives(terms), 0, None)
    return expression_dfa(sequence((line, repeat(sequence((literal("|"), line)), 0, None))), {})


_MAKERS: dict[str, Callable[[], Dfa]] = {
    "date": _regex(_DATE),
    "time": _time,
    "date-time": _date_time,
    "duration": _regex(_DURATION),
    "email": _email,
    "idn-email": _idn_email,
    "hostname": _regex(_HOSTNAME),
    "idn-hostname": _idn_hostname,
    "ipv4": _regex(_IPV4),
    "ipv6": _regex(_IPV6),
    "uri": _regex(_reference("", "", relative=False)),
    "uri-reference": _regex(_reference("", "", relative=True)),
    "iri": _regex(_reference(_IRI_CHARACTERS, _PRIVATE, relative=False)),
    "iri-reference": _regex(_reference(_IRI_CHARACTERS, _PRIVATE, relative=True)),
    "uri-template": _regex(_URI_TEMPLATE),
    "uuid": _regex("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
    "json-pointer": _regex(_POINTER),
    "relative-json-pointer": _regex(f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
    "regex": _ecma_regex,
}
