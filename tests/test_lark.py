"""Lark grammars against Lark itself: the Earley parser with its dynamic lexer, all cuts tried."""

from __future__ import annotations

import itertools
import random
import re
import sys

import pytest

from fastmask.errors import (
    BudgetError,
    GrammarError,
    GrammarSyntaxError,
    UnsatisfiableGrammarError,
    UnsupportedFeatureError,
)
from fastmask.grammar import ir
from fastmask.grammar.core import Grammar
from judge import Judge

lark = pytest.importorskip("lark")


def lark_verdict(parser, text: str) -> bool:
    try:
        parser.parse(text)
    except lark.exceptions.UnexpectedInput:
        return False
    except RuntimeError:  # Lark found more than one whole parse and calls that its own fault
        return True
    return True


def words(alphabet: str, longest: int) -> list[str]:
    return [
        "".join(letters)
        for size in range(longest + 1)
        for letters in itertools.product(alphabet, repeat=size)
    ]


def check_against_lark(text: str, samples: list[str]) -> int:
    """Compare verdicts; returns how many samples are accepted."""
    parser = lark.Lark(text, parser="earley", lexer="dynamic_complete")
    try:
        judge = Judge(Grammar.from_lark(text))
    except UnsatisfiableGrammarError:
        judge = Judge({"root": ir.NOTHING})
    accepted = 0
    for sample in samples:
        expected = lark_verdict(parser, sample)
        assert judge.matches(sample) == expected, (text, sample, expected)
        accepted += expected
    return accepted


GRAMMARS = {
    "sequence": ('start: "a" B*\nB: "b"+', "ab", 5),
    "ignored blanks": ('start: "a" B*\nB: "b"+\n%ignore " "', "ab ", 5),
    "ignored around an empty start": ('start: "a"?\n%ignore " "', "a ", 4),
    "only empty": ('start: \n%ignore " "', "a ", 3),
    "alternatives, groups, options": (
        'start: ("a" | "b" "c")+ ["d"] | \n',
        "abcd",
        5,
    ),
    "counts": ('start: "a"~2 "b"~1..2 ("a" "b")~0..1', "ab", 6),
    "modifiers, aliases, priorities": (
        'start: x | y -> other\n?x.2: "a" "b"\n!y.-1: "a" z*\n_z: "b"\nz: _z\nA.3: "a"',
        "ab",
        4,
    ),
    "left recursion": ('start: start "+" t | t\nt: "1" | "(" start ")"', "1+(", 5),
    "indirect and hidden left recursion": (
        'start: a\na: b "x" | "y"\nb: n a | "z"\nn: "n"?',
        "xyzn",
        5,
    ),
    "nullable rules": ('start: a b a\na: "a"*\nb: [a] "b" [a]', "ab", 5),
    "templates": (
        'start: _list{item, ","} | pair{"a", pair{"b", B}}\n'
        '_list{x, s}: x (s x)*\npair{x, y}: "<" x y ">"\nitem: "i"\nB: "b"',
        "i,<>ab",
        5,
    ),
    "case": ('start: "aB"i C\nC: /c/i', "aAbBcC", 3),
    "range": ('start: "b".."d"+ X\nX: "x".."z"', "abdex", 4),
    "flags": ("start: /a.b/s | /a.c/", "ab\nc", 3),
    "ordered alternatives, short first": ('start: T "c"?\nT: /a|ab/', "abc", 4),
    "ordered alternatives, long first": ('start: T "c"?\nT: /ab|a/', "abc", 4),
    "lazy": ('start: (S | "a")+\nS: /x.*?x/', "xa", 6),
    "lazy, greedy behind": ("start: S+\nS: /xa*?y?a*/", "xya", 5),
    "lazy inside": ("start: S+\nS: /x(ab??)*?y+?/", "xaby", 5),
    "parts of a terminal are joined as text": ('start: T\nT: /a|b/ "c"', "abc", 3),
    "terminals of terminals": ('start: T+\nT: A B? | "c"\nA: "a"+\nB: "b"~1..2', "abc", 5),
    "escaped strings": ("%import common.ESCAPED_STRING\nstart: ESCAPED_STRING+", '"\\a', 6),
    "escaped strings and blanks": (
        "%import common (ESCAPED_STRING, WS)\n%ignore WS\n"
        'start: ESCAPED_STRING ("," ESCAPED_STRING)*',
        '"\\, ',
        6,
    ),
    "numbers": ("%import common.SIGNED_NUMBER -> N\nstart: N+", "1.e-", 5),
    "names and integers": (
        "%import common (CNAME, INT, WS_INLINE)\n%ignore WS_INLINE\nstart: (CNAME | INT)+",
        "a1_ ",
        5,
    ),
    "comment to the end of a line": (
        'start: "a"* \n%ignore /#[^\\n]*/\n%ignore /[ \\n]+/',
        "a# \n",
        5,
    ),
    "comment where line breaks count": (
        'start: ("a"* NL)*\nNL: "\\n"\n%ignore /#[^\\n]*/\n%ignore " "',
        "a# \n",
        5,
    ),
    "comment that may swallow a terminal": (
        'start: ("a" | "#b")*\n%ignore /#[^\\n]*/\n%ignore "\\n"',
        "a#b\n",
        5,
    ),
    "comment to the end of a line, nothing behind": ('start: "a"*\n%ignore /#[^\\n]*/', "a#\n", 5),
    "lazy comment": ('start: "a"+\n%ignore /\\/\\*(.|\\n)*?\\*\\//', "a/*", 7),
    "comment that begins like an operator": (
        'start: "a" (("*" | "/") "a")*\n%ignore /\\/\\*([^*]|\\*+[^*\\/])*\\*+\\//',
        "a/*",
        7,
    ),
    "ignored run that begins like a terminal": ('start: "ab" | "b"\n%ignore /a+/', "ab", 6),
    "line breaks of two kinds": (
        '%import common.NEWLINE\nstart: "a"+\n%ignore NEWLINE\n%ignore " "',
        "a\r\n ",
        5,
    ),
    "ignored terminals that overlap": (
        'start: ("a" | "b" "c")*\n%ignore /[ \\t]+/\n%ignore /[ c]+/\n%ignore /c{2}/',
        "abc \t",
        5,
    ),
    "terminal with blanks inside": ("start: T+\nT: /a( a)?/\n%ignore /[ ]+/", "a ", 6),
    "terminal that begins with an ignored character": (
        'start: (" b" | "a")+\n%ignore /[ ]+/',
        "ab ",
        6,
    ),
    "ignored by name": ('start: "a" _S "a"\n_S: "s"\nX: "x"\n%ignore X | "y"', "asxy", 5),
    "override and extend": (
        '%import common.DIGIT\n%override DIGIT: "0"\nstart: a DIGIT\na: "a"\n%extend a: "b"\n'
        '%extend DIGIT: "1"',
        "ab012",
        3,
    ),
    "continued lines and comments": (
        '// first\nstart: "a" \\\n "b" # second\n  // third\n | "c"\n\n\n# last',
        "abc",
        3,
    ),
    "unicode": ('start: "é"i+ /[à-ã]/ "\\u00df"', "éÉàãßx", 4),
    "escapes": (r'start: "\"" "\\" "\n" "\x41" /\//', '"\\\nA/', 5),
    "lookahead inside a terminal": ("start: /(?!ab)[ab]{2}/+", "ab", 5),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_verdicts_are_those_of_lark(name):
    text, alphabet, longest = GRAMMARS[name]
    assert check_against_lark(text, words(alphabet, longest)) > 0


def random_pattern(chooser: random.Random, depth: int) -> str:
    kind = chooser.randrange(8 if depth else 3)
    if kind <= 1:
        return chooser.choice("ab")
    if kind == 2:
        return chooser.choice(["[ab]", ".", "ab", "[^a]"])
    inner = [random_pattern(chooser, depth - 1) for _ in range(2)]
    if kind <= 4:
        return f"(?:{inner[0]}|{inner[1]})"
    if kind == 5:
        return "".join(inner)
    return f"(?:{inner[0]}){chooser.choice(['*', '+', '?', '*?', '+?', '??', '{1,2}', '{1,2}?'])}"


def random_lark(chooser: random.Random) -> str:
    terminals = ["A", "B", "C"][: chooser.randint(1, 3)]
    rules = ["start", "x", "y"][: chooser.randint(1, 3)]
    lines = [f"{name}: /{random_pattern(chooser, 2)}/" for name in terminals]
    for rule in rules:
        options = []
        for _ in range(chooser.randint(1, 3)):
            parts = []
            for _ in range(chooser.randint(0, 3)):
                part = chooser.choice([*terminals, *rules, '"a"', '"b"', '"ab"'])
                parts.append(part + chooser.choice(["", "", "", "*", "?", "~1..2"]))
            options.append(" ".join(parts))
        lines.append(f"{rule}: " + " | ".join(options))
    for _ in range(chooser.choice([0, 1, 1, 2])):
        lines.append(f"%ignore {chooser.choice(['/c+/', '/c/', '/cd?/', '/d[^b]*/', '/c(dd)*/'])}")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(50))
def test_verdicts_on_random_grammars_are_those_of_lark(seed):
    text = random_lark(random.Random(seed))
    samples = words("abcd", 4) if "%ignore" in text else words("ab", 5)
    try:
        check_against_lark(text, samples)
    except lark.exceptions.GrammarError:
        pytest.skip("Lark does not take this grammar")
    except UnsupportedFeatureError as error:
        if "later text decides" not in str(error):
            raise


# --- beyond Lark


def accepts(text: str, *samples: str) -> str:
    judge = Judge(Grammar.from_lark(text))
    return "".join("+" if judge.matches(sample) else "-" for sample in samples)


def test_terminals_may_be_empty():
    assert (
        accepts('start: A "b" A\nA: /a*/\n%ignore " "', "b", "ab", "a b a", " b ", "a") == "++++-"
    )


def test_counts_in_braces():
    assert (
        accepts('start: "a"{2} "b"{1,2} "c"{1,} "d"{,1} "e"{0..1}', "aabc", "aabbccde", "aab")
        == "++-"
    )
    assert accepts('start: T\nT: "a"{2,3}', "aa", "aaa", "aaaa") == "++-"


def test_many_optional_parts_are_no_trouble():
    text = "start: " + " ".join(f'"{letter}"?' for letter in "abcdefghijklmnopqrstuvwxyz")
    assert accepts(text, "", "ace", "abcdefghijklmnopqrstuvwxyz", "ba") == "+++-"


def test_atomic_tokens():
    grammar = Grammar.from_lark('start: <think> (<[1-3]> | !<[7]>)* <[end]> "x"\n%ignore " "')
    assert grammar.tokens_used == {"<think>", 1, 2, 3, 7, "end"}


def test_ignored_text_may_stand_around_atomic_tokens():
    grammar = Grammar.from_lark('start: <t> "a" <t>\n%ignore " "\n%ignore /#[^\\n]*/')
    vocabulary = [b"a", b" ", b"#", b"\n", b"<t>"]
    judge = Judge(grammar)

    def may_follow(*ids: int) -> set[int]:
        state = judge.start()
        for token_id in ids:
            state = judge.accept_token(state, token_id, vocabulary, special_ids=[4])
        return judge.mask(state, vocabulary, special_ids=[4])

    assert may_follow() == {1, 2, 4}
    assert may_follow(1, 2, 0) == {0, 1, 2, 4}
    assert may_follow(4, 1) == {0, 1}
    assert may_follow(4, 0, 2, 0, 4, 1) == {1, 2}


def test_any_start():
    text = 'first: "a"\nsecond: "b" first'
    judge = Judge(Grammar.from_lark(text, start="second"))
    assert judge.matches("ba")
    with pytest.raises(GrammarError, match="no rule 'start'; its rules are: first, second"):
        Grammar.from_lark(text)


def test_named_terminals_stay_rules():
    grammar = Grammar.from_lark('start: NAME "=" NAME\nNAME: /[a-z]+/\n%ignore /[ ]+/')
    assert {"start", "NAME", "IGNORED"} <= set(grammar.rules)


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ('start: "a" b', "rule 'b' is not defined", 1, 12),
        ("start: A", "terminal 'A' is not defined", 1, 8),
        ('start: ("a"', "never closed", 1, 8),
        ('start: "a")', "closes no group", 1, 11),
        ('start: "a', "never closed", 1, 8),
        ("start: /a", "never closed", 1, 8),
        ("start: *", "nothing here", 1, 8),
        ('start: "a"~', "expected a count", 1, 11),
        ('start: "a"~3..2', "empty range", 1, 11),
        ('start "a"', "expected a rule", 1, 1),
        ('start: "a" & "b"', "starts nothing", 1, 12),
        ('start: "a"\nstart: "b"', "more than once", 2, 1),
        ('start: "a" ->', "after '->'", 1, 12),
        ('start: x{A}\nx: A\nA: "a"', "takes 0 arguments, not 1", 1, 8),
        ("start: x\nx{y}: y", "needs its arguments", 2, 1),
        ('start: x{A}\nA: "a"', "template 'x' is not defined", 1, 8),
        ('start: x{A B}\nA: "a"\nx{y}: y', "one name or literal", 1, 14),
        ('start: T\nT: T "a"', "Recursion", 2, 1),
        ("start: T\nT: <[1]>", "only rules hold atomic tokens", 2, 1),
        ("start: /(/", "cannot be used", 1, 8),
        ('start: ""', "Empty terminals", None, None),
        ("%import common.NOTHING\nstart: NOTHING", "NOTHING", 1, 1),
        ("%import nowhere.X\nstart: X", "nowhere", None, None),
        ('%extend a: "b"\nstart: "a"', "no 'a' to extend", 1, 9),
        ("%import\nstart: A", "expected '%import", 1, 1),
    ],
)
def test_errors_name_the_place(text, message, line, column):
    with pytest.raises(GrammarSyntaxError) as caught:
        Grammar.from_lark(text)
    assert re.search(re.escape(message), str(caught.value))
    if line is not None:
        assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("%declare X\nstart: X", "%declare"),
        ("%import .other.X\nstart: X", "%import"),
        ("%import python.file_input\nstart: file_input", "%import"),
        ("start: %json {}", "%json"),
        ('%grammar_options {}\nstart: "a"', "%grammar_options"),
        (r"start: /if(?!\w)/ /\w*/", "looks at the text around it"),
        (r"start: /\bif\b/", "looks at the text around it"),
        ("start: /(?<!a)b/", "looks at the text around it"),
        (r"start: /(a)\1/", "back"),
        ('start: "a" | "b" "a"\n%ignore /(ab)+/', "later text decides"),
    ],
)
def test_what_needs_more_than_a_grammar_is_refused_by_name(text, feature):
    with pytest.raises(UnsupportedFeatureError) as caught:
        Grammar.from_lark(text)
    assert feature in str(caught.value)


def test_templates_without_end_are_given_up():
    with pytest.raises(BudgetError, match="uses of templates"):
        Grammar.from_lark('start: t{"a"}\nt{x}: "b" t{f{x}}\nf{x}: x')


def test_a_missing_package_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "lark", None)
    with pytest.raises(ImportError, match=r"pip install 'fastmask\[lark\]'"):
        Grammar.from_lark('start: "a"')


def test_depth_is_no_trouble():
    depth = 5_000
    text = "start: " + "(" * depth + '"a"' + ")?" * depth
    assert len(Grammar.from_lark(text).rules) == 1
