"""GBNF in both dialects: what is read, what is refused and where."""

from __future__ import annotations

import contextlib

import pytest

from fastmask.errors import (
    GrammarError,
    GrammarSyntaxError,
    UnsatisfiableGrammarError,
    UnsupportedFeatureError,
)
from fastmask.grammar import ir
from fastmask.grammar.core import Grammar
from fastmask.grammar.gbnf import parse_gbnf
from judge import Judge


def verdicts(text: str, *samples: str, root: str = "root") -> str:
    judge = Judge(Grammar.from_gbnf(text, root))
    return "".join("+" if judge.matches(sample) else "-" for sample in samples)


@pytest.mark.parametrize(
    ("text", "accepted", "refused"),
    [
        ('root ::= "a" "b"', ["ab"], ["a", "b", "abb", ""]),
        ('root ::= "a" | "b" | ""', ["a", "b", ""], ["ab"]),
        ('root ::= "a" |', ["a", ""], ["b"]),
        ('root ::= | "a"', ["a", ""], ["b"]),
        ('root ::= ("a" | ) "b"', ["ab", "b"], ["a"]),
        ("root ::= ( )", [""], ["a"]),
        ('root ::= "a"* "b"+ "c"?', ["b", "aabbc"], ["a", "bcc"]),
        ('root ::= "ab"{2} "c"{1,} "d"{0,2}', ["ababc", "ababccdd"], ["abc", "ababcddd"]),
        ('root ::= "a"{ 1 , 2 }', ["a", "aa"], ["", "aaa"]),
        ('root ::= "a"{2, -1}', ["aa", "aaaa"], ["a"]),
        ('root ::= "a"{0}', [""], ["a"]),
        ("root ::= [a-cx]", ["a", "b", "c", "x"], ["d", "-", ""]),
        ("root ::= [^a-c]", ["d", "é", "\U0001f600", "\n"], ["a", "b"]),
        ("root ::= [-+*/]", ["-", "+", "*", "/"], ["a", ","]),
        ("root ::= [a-]", ["a", "-"], ["b"]),
        (r"root ::= [a\-z]", ["a", "-", "z"], ["b"]),
        (r"root ::= [\]\\^]", ["]", "\\", "^"], ["["]),
        ("root ::= [^]", ["a", "\n", "\u4e2d"], ["", "ab"]),
        ("root ::= .", ["a", "\n", "\U0001f600"], ["", "ab"]),
        (r'root ::= "\x41\u00e9\U0001F600"', ["A\u00e9\U0001f600"], ["A"]),
        (r'root ::= "\x41BC"', ["ABC"], []),
        (r'root ::= "\n\r\t\\\"\/\b\f\a\v\0\e"', ['\n\r\t\\"/\b\f\a\v\0\x1b'], []),
        ("root ::= 'it\"s' '\\''", ["it\"s'"], []),
        ('root ::= "中文" [ぁ-ゟ]', ["中文あ"], ["中文a"]),
        ('root ::= a-b a_b A1\na-b ::= "1"\na_b ::= "2"\nA1 ::= "3"', ["123"], []),
        ('root ::= 1\n1 ::= "x"', ["x"], []),
        ('root ::= a.b\na.b ::= "x"', ["x"], ["axb"]),
        ('root ::= a.b\na ::= "1"\nb ::= "2"', ["1x2", "1\u00e92"], ["12"]),
        ("root ::= [a]{2}.", ["aab"], ["aa"]),
        ('root ::= "a"  # a comment ::= "x"\n  "b"', ["ab"], ["a"]),
        ('# first\nroot ::=\n  "a" |\n  "b"\n\n# last', ["a", "b"], []),
        ('root ::= (\n "a"\n | "b"\n)\n*', ["", "abba"], ["c"]),
        ('root ::= "a"\r\n  | b\r\nb ::= "b"\r\n', ["a", "b"], []),
        ('root ::= "a"\rb ::= "b"', ["a"], ["b"]),
        ('root ::= "a"**', ["", "aaa"], ["b"]),
        ('root ::= expr\nexpr ::= expr "+" "1" | "1"', ["1", "1+1+1"], ["1+", "+1"]),
    ],
)
def test_what_is_read(text, accepted, refused):
    assert verdicts(text, *accepted, *refused) == "+" * len(accepted) + "-" * len(refused)


def test_any_root():
    assert verdicts('start ::= "a" other\nother ::= "b"', "ab", "b", root="start") == "+-"
    assert verdicts('start ::= "a" other\nother ::= "b"', "ab", "b", root="other") == "-+"


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ('root ::= "a" b', "rule 'b' is not defined", 1, 14),
        ('root ::= "a"\n  | ("b"', "never closed", 2, 5),
        ('root ::= "a" )', "closes no group", 1, 14),
        ('root ::= "a\nb ::= "c"', "no closing", 1, 10),
        ("root ::= 'a", "no closing", 1, 10),
        ("root ::= [a", "no closing", 1, 10),
        ("root ::= [a\n]", "line break in a class", 1, 10),
        ("root ::= []", "empty class", 1, 10),
        ("root ::= [z-a]", "empty range", 1, 11),
        (r"root ::= [\d]", "write the ranges", 1, 11),
        (r'root ::= "\q"', "no escape", 1, 11),
        (r'root ::= "\x4"', "2 hexadecimal digits", 1, 11),
        (r'root ::= "\u12"', "4 hexadecimal digits", 1, 11),
        (r'root ::= "\U00110000"', "no character", 1, 11),
        (r'root ::= "\ud83d"', "surrogate", 1, 11),
        ('root ::= "\ud83d"', "surrogate", 1, 11),
        ("root ::= *", "nothing here", 1, 10),
        ('root ::= "a" | +', "nothing here", 1, 16),
        ('root ::= "a"{,3}', "expected {m}", 1, 13),
        ('root ::= "a"{3,2}', "empty range", 1, 13),
        ('root ::= "a"{9999999999999999}', "10^15", 1, 13),
        ('a ::= "b" c ::= "d"', "line of its own", 1, 11),
        ('root ::= "a"\nroot ::= "b"', "defined twice", 2, 1),
        ("root", "expected '::='", 1, 5),
        ('"a"', "expected a rule", 1, 1),
        ('root = "a"', "expected '::='", 1, 5),
        ('root ::= "a" & "b"', "starts no element", 1, 14),
        ("root ::= !a", "stand before a token", 1, 10),
        ("root ::= <think", "a token is written", 1, 10),
        ("root ::= <[3-1]>", "empty range", 1, 10),
        ("root ::= <[^*]>x", "x", 1, 16),
        ("root ::= !<[*]>", "no token is left", 1, 10),
        ("root ::= Token()", "one or more", 1, 10),
        ("root ::= Token(true)", "by id or by name", 1, 10),
        ("root ::= Byte(256)", "at most 255", 1, 10),
        ("root ::= Regex(3)", "takes a pattern", 1, 10),
        ('root ::= Regex("(")', "cannot be used", 1, 10),
        ('root ::= Regex("a", flags="x")', "the flags of Regex", 1, 10),
        ("root ::= Byte((1, 2, 3))", "pairs", 1, 10),
        ("root ::= Token(1 2)", "expected ','", 1, 18),
    ],
)
def test_errors_name_the_place(text, message, line, column):
    with pytest.raises(GrammarSyntaxError, match=None) as caught:
        Grammar.from_gbnf(text)
    error = caught.value
    assert message in str(error)
    assert (error.line, error.column) == (line, column)
    assert error.excerpt.splitlines()[1].endswith("^")


def test_the_error_of_a_missing_root_names_the_rules():
    with pytest.raises(GrammarError, match="no rule 'root'; its rules are: start, other"):
        Grammar.from_gbnf('start ::= other\nother ::= "a"')
    with pytest.raises(GrammarError, match="its rules are: none"):
        Grammar.from_gbnf("  # nothing\n")


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ('root ::= "a" (= "b")', "lookahead assertion"),
        ('root[max_tokens=3] ::= "a"', "rule options [max_tokens=3]"),
        ('root ::= TagDispatch(("<a>", x))\nx ::= "b"', "macro TagDispatch"),
        ("root ::= TokenTagDispatch((1, x))", "macro TokenTagDispatch"),
        ('root ::= Substring("a", "b")', "macro Substring"),
    ],
)
def test_what_is_no_grammar_is_refused_by_name(text, feature):
    with pytest.raises(UnsupportedFeatureError) as caught:
        Grammar.from_gbnf(text)
    assert feature in caught.value.feature
    assert caught.value.position is not None


def test_a_macro_name_may_be_a_rule():
    assert verdicts('root ::= Token (Byte)\nToken ::= "a"\nByte ::= "b"', "ab") == "+"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("<[1000]>", ir.Tokens((1000,))),
        ("!<[1000]>", ir.Tokens((1000,), negated=True)),
        ("<think>", ir.Tokens(("<think>",))),
        ("!</think>", ir.Tokens(("</think>",), negated=True)),
        ("<|im_end|>", ir.Tokens(("<|im_end|>",))),
        ("<[1,3-5, 4]>", ir.Tokens((1, 3, 4, 5))),
        ("<[^2]>", ir.Tokens((2,), negated=True)),
        ("!<[^2]>", ir.Tokens((2,))),
        ("<[*]>", ir.Tokens((), negated=True)),
        ("<[[INST]]>", ir.Tokens(("[INST]",))),
        ("Token(3, 1)", ir.Tokens((1, 3))),
        ('ExcludeToken(3, "a b")', ir.Tokens((3, "a b"), negated=True)),
    ],
)
def test_token_items(text, tokens):
    assert parse_gbnf(f"root ::= {text}") == {"root": tokens}


def test_too_many_token_ids_are_refused():
    with pytest.raises(GrammarSyntaxError, match="more than 1,000,000"):
        Grammar.from_gbnf("root ::= <[0-4000000]>")


def test_raw_bytes():
    judge = Judge(Grammar.from_gbnf("root ::= Byte(0xc3, (0x80, 129)) Byte(10)"))
    assert judge.matches(b"\x80\n")
    assert judge.matches(b"\xc3\n")
    assert not judge.matches(b"\x82\n")


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        (r'"[0-9]{2}"', ["12"], ["1", "123"]),
        (r'"a.b"', ["a\nb", "axb"], ["ab"]),
        (r'"A.b", flags="i"', ["axB"], ["a\nb"]),
        (r'"A.b", flags="is"', ["axB", "a\nb"], ["ab"]),
        (r'"\\d\\w\\s", flags="u"', ["1a "], ["\u0663a "]),
        (r'"^a|b$"', ["a", "b"], ["ab"]),
        (r'"\\S+", json_string=true', ["ab"], ['a"b', "a\\b", "a b"]),
    ],
)
def test_regex_macro(pattern, accepted, refused):
    text = f"root ::= Regex({pattern})"
    assert verdicts(text, *accepted, *refused) == "+" * len(accepted) + "-" * len(refused)


def test_rules_that_never_end_are_named():
    with pytest.raises(UnsatisfiableGrammarError, match=r"\(a -> b -> a\)"):
        Grammar.from_gbnf('root ::= "x" a\na ::= "y" b\nb ::= a "z" | a')


def test_depth_and_length_are_no_trouble():
    depth = 5_000
    nested = Grammar.from_gbnf("root ::= " + "(" * depth + '"a"' + ")?" * depth)
    assert str(Grammar.from_gbnf(str(nested))) == str(nested)
    nested = Grammar.from_gbnf("root ::= " + '("a" ' * depth + ")?" * depth)
    assert hash(nested) == hash(Grammar.from_gbnf(str(nested)))
    wide = "root ::= " + " | ".join(f'"{number}"' for number in range(5_000))
    assert len(Grammar.from_gbnf(wide).rules["root"].options) == 5_000
    comments = "root ::= a\n" + "#" * 50_000 + '\na ::= "x"' + " #" * 50_000
    assert list(Grammar.from_gbnf(comments).rules) == ["root", "a"]


@pytest.mark.parametrize("cut", range(1, 60))
def test_cut_off_text_is_an_error_or_a_grammar(cut):
    text = 'root ::= ("a\\n" | [^x-z\\]]{2,3} <[1-2]>)* Token(4, "n") # c\nb ::= .'
    with contextlib.suppress(GrammarError):
        Grammar.from_gbnf(text[:cut])
