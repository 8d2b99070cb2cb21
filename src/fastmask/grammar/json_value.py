"""Any JSON text, exactly RFC 8259, in rules that one byte of lookahead decides.

White space follows each token, so that after every token the next byte tells what comes; only the
root reads it before its value. Escapes of surrogates come in pairs. Objects, arrays and values call
one another, all else is regular.
"""

from __future__ import annotations

from .gbnf import parse_gbnf
from .ir import Expression

__all__ = ["json_rules"]

_JSON = r"""
root ::= ws value
value ::= object | array | string | number ws | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1F] | "\\" escape)* "\"" ws
escape ::= ["\\/bfnrt] | "u" (unit | high "\\u" low)
unit ::= ([0-9A-CE-Fa-ce-f] hex | [Dd] [0-7]) hex hex
high ::= [Dd] [89ABab] hex hex
low ::= [Dd] [C-Fc-f] hex hex
hex ::= [0-9A-Fa-f]
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([Ee] [+-]? [0-9]+)?
ws ::= [ \t\n\r]*
"""


def json_rules() -> dict[str, Expression]:
    """The rules of RFC 8259's JSON-text; ``root`` is a value with white space around it."""
    return parse_gbnf(_JSON)
