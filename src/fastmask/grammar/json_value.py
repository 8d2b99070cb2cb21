"""Any JSON text, exactly RFC 8259, in rules that one byte of lookahead decides.

White space follows each token, so that after every token the next byte tells what comes; only the
root reads it before its value. Objects, arrays and values call one another, all else is regular.
"""

from __future__ import annotations

from .ir import (
    Expression,
    Literal,
    Reference,
    Repeat,
    alternatives,
    characters,
    sequence,
)

__all__ = ["json_rules"]

_SPACE = Repeat(characters([(0x20, 0x20), (0x09, 0x0A), (0x0D, 0x0D)]), 0, None)
_DIGIT = characters([(0x30, 0x39)])
_DIGITS = Repeat(_DIGIT, 1, None)
_HEX_LETTERS = [(0x41, 0x46), (0x61, 0x66)]
_HEX = characters([(0x30, 0x39), *_HEX_LETTERS])


def json_rules() -> dict[str, Expression]:
    """The rules of RFC 8259's JSON-text; ``root`` is a value with white space around it."""
    value = Reference("value")
    member = sequence([Reference("string"), _token(":"), value])
    return {
        "root": sequence([_SPACE, value]),
        "value": alternatives(
            [
                Reference("object"),
                Reference("array"),
                Reference("string"),
                sequence([_number(), _SPACE]),
                *(_token(word) for word in ("true", "false", "null")),
            ]
        ),
        "object": sequence([_token("{"), _listed(member), _token("}")]),
        "array": sequence([_token("["), _listed(value), _token("]")]),
        "string": sequence([Literal(b'"'), Repeat(_character(), 0, None), _token('"')]),
    }


def _token(text: str) -> Expression:
    return sequence([Literal(text.encode()), _SPACE])


def _listed(item: Expression) -> Expression:
    """Nothing, or items with commas between them."""
    more = Repeat(sequence([_token(","), item]), 0, None)
    return Repeat(sequence([item, more]), 0, 1)


def _number() -> Expression:
    whole = alternatives([Literal(b"0"), sequence([characters([(0x31, 0x39)]), _more_digits()])])
    fraction = sequence([Literal(b"."), _DIGITS])
    sign = characters([(0x2B, 0x2B), (0x2D, 0x2D)])
    exponent = sequence([_letter("eE"), Repeat(sign, 0, 1), _DIGITS])
    return sequence(
        [Repeat(Literal(b"-"), 0, 1), whole, Repeat(fraction, 0, 1), Repeat(exponent, 0, 1)]
    )


def _more_digits() -> Expression:
    return Repeat(_DIGIT, 0, None)


def _letter(letters: str) -> Expression:
    return characters([(ord(letter), ord(letter)) for letter in letters])


def _character() -> Expression:
    """One character of a string, raw or escaped; ``\\u`` escapes of surrogates only in pairs."""
    raw = characters([(0x00, 0x1F), (0x22, 0x22), (0x5C, 0x5C)], negated=True)
    two_hex = sequence([_HEX, _HEX])
    plain = alternatives(
        [
            sequence(
                [
                    characters(
                        [(0x30, 0x39), (0x41, 0x43), (0x45, 0x46), (0x61, 0x63), (0x65, 0x66)]
                    ),
                    _HEX,
                ]
            ),
            sequence([_letter("dD"), characters([(0x30, 0x37)])]),
        ]
    )
    high = sequence([_letter("dD"), _letter("89abAB"), two_hex])
    low = sequence([_letter("dD"), _letter("cdefCDEF"), two_hex])
    code_unit = alternatives([sequence([plain, two_hex]), sequence([high, Literal(b"\\u"), low])])
    escaped = alternatives([_letter('"\\/bfnrt'), sequence([Literal(b"u"), code_unit])])
    return alternatives([raw, sequence([Literal(b"\\"), escaped])])
