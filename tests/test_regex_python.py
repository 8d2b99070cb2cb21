r"""Patterns of Python's dialect against ``re.fullmatch``."""

# ruff: noqa: RUF001 (letters that look like others are the point)

from __future__ import annotations

import contextlib
import itertools
import re
import sys
import unicodedata
import warnings

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastmask.automata import Dfa
from fastmask.errors import (
    BudgetError,
    GrammarError,
    GrammarSyntaxError,
    UnsupportedFeatureError,
)
from fastmask.grammar.ir import Automaton, Literal, Sequence, postorder
from fastmask.grammar.regex import UNICODE_VERSION, regex_dfa, regex_expression
from fastmask.grammar.regex.python import PythonParser

SHORT_TEXTS = [
    "".join(letters) for n in range(5) for letters in itertools.product("ab\n", repeat=n)
]


def differing(pattern: str, texts: list[str]) -> list[str]:
    """Texts on which the automaton and ``re`` disagree."""
    dfa = regex_dfa(pattern)
    matches = re.compile(pattern).fullmatch
    return [text for text in texts if dfa.accepts(text.encode()) != (matches(text) is not None)]


# The dialect, construct by construct: a name, a pattern, and texts near its edge.
PROBES = [
    ("literal escapes", r"\.\*\[\{\\", [r".*[{\ "[:-1], "a*[{", ".*[{"]),
    ("class, range, negation", r"[a-c][^x-z]", ["aw", "by", "dq", "c\n", "ax"]),
    ("digits", r"\d\d", ["00", "42", "4a", "४2", "٤٢", "²3", "4"]),
    ("digits of ASCII", r"(?a)\d+", ["42", "४"]),
    ("word with accents", r"\w+", ["naïve", "x_1", "Ⅷ", "a-b", "日本", "́a", "٣"]),
    ("white space", r"\s", [" ", "\t", "\x1c", "\x85", "\xa0", "\u2003", "\u200b", "\ufeff"]),
    ("complements", r"\D\W\S", ["a-b", "1-b", "aab", "a b", "a- ", "é!é"]),
    ("dot and newline", r"a.c", ["abc", "a\nc", "a\rc", "a\u2028c", "a😀c", "ac"]),
    ("dot with all", r"(?s:.).", ["\na", "a\n", "ab"]),
    ("scoped case", r"a(?i:b)c", ["abc", "aBc", "Abc"]),
    ("case for all", r"(?i)straße", ["STRAßE", "straẞe", "strasse", "ſtraße"]),
    ("star, plus, option", r"a*b+c?", ["b", "aabbc", "ac", "bcc"]),
    ("lazy", r"a*?b+?c??d{1,2}?", ["bd", "aabbcdd", "ddd"]),
    ("possessive", r"a++b", ["aab", "b", "a"]),
    ("possessive takes all", r"a*+a", ["a", "aa", ""]),
    ("counted", r"a{2,3}", ["a", "aa", "aaa", "aaaa"]),
    ("open counts", r"a{2,}b{,2}", ["aa", "aaaabb", "abb", "aabbb"]),
    ("count without lower bound", r"a{,3}", ["", "aaa", "aaaa", "a{,3}"]),
    ("empty branch", r"a(|b|cd)e", ["ae", "abe", "acde", "ace"]),
    ("group without capture", r"(?:ab)+", ["ab", "abab", "aba"]),
    ("named group", r"(?P<year>\d{4})-(?P<month>\d\d)", ["2024-05", "2024-5"]),
    ("anchors at the ends", r"^ab$", ["ab", "ab\n", "xab"]),
    ("absolute anchors", r"\Aab\Z", ["ab", "ab\n"]),
    ("inner anchor", r"(a|^b)c", ["ac", "bc", "abc"]),
    ("impossible anchor", r"a^b", ["ab", "a\nb"]),
    ("dollar before a newline", r"ab$\n", ["ab\n", "ab", "ab\n\n"]),
    ("lines", r"(?m)^a$\n^b$", ["a\nb", "ab", "a\nb\n"]),
    ("word edge", r"\bfoo\b.*", ["foo", "foo bar", "foobar", "foo-"]),
    ("no word edge", r".\B.", ["ab", "a ", "  ", " a"]),
    ("no word edge in nothing", r"\B", [""]),
    ("lookahead", r"(?=.*\d)[a-z\d]{3}", ["ab1", "abc", "123"]),
    ("negative lookahead", r"(?!foo)\w{3}", ["foo", "bar", "fo0"]),
    ("lookbehind", r"\w+(?<=ab)c?", ["ab", "abc", "ac", "xab"]),
    ("negative lookbehind", r"\w+(?<!b)c", ["ac", "bc", "abc", "aac"]),
    ("lookahead in a loop", r"(?:a(?=b)|b)+", ["ab", "abab", "a", "aab", "bb"]),
    ("atomic group", r"(?>a|ab)c", ["ac", "abc"]),
    ("atomic group that gives nothing back", r"(?>a*)ab?", ["a", "aab", "ab"]),
    ("comment", r"a(?#any (text\))b", ["ab", "a(?#b"]),
    ("verbose", "(?x) a b # c\n [ ] c \\ ", ["ab c ", "abc", "ab c"]),
    ("escapes by number", r"\x41\u00e9\101\0", ["Aé" + "A\0", "AéA0"]),
    ("escape beyond the first plane", r"\U0001F600", ["😀", "😁"]),
    ("escape by name", r"\N{EM DASH}\N{LATIN SMALL LETTER A}", ["—a", "-a"]),
    ("range of letters", r"[а-яё]+", ["привет", "Привет", "ёж"]),
    ("range beyond the first plane", r"[😀-🙏]", ["😀", "🙏", "🚀", "\ud83d"[:0]]),
    ("bracket first in a class", r"[]a]+", ["]", "a]", "b"]),
    ("hyphen in a class", r"[a-][-b][c\-d]", ["a--", "-bc", "b-c"]),
    ("categories in a class", r"[\d\s_]+", ["1 _", "a", "٣\u3000"]),
    ("complement of categories", r"[^\W\d]+", ["ab", "a1", "é_", "a "]),
    ("bracket in a class", r"[[]x[]]", ["[x]", "x"]),
    ("brace that is none", r"a{x}b{,c{}", ["a{x}b{,c{}", "ax"]),
    ("big count", r"[a-z]{0,1000}", ["", "a" * 1000, "a" * 1001, "A"]),
    ("nested counts", r"((a{1,2}b){2}c){1,2}", ["abaabc", "ababcabaabc", "abc"]),
    ("ambiguous", r"(a|a)*", ["", "aaa", "b"]),
    ("star of star", r"(a*)*b", ["b", "aab", "a"]),
    ("email", r"[\w.+-]+@[\w-]+(\.[\w-]+)+", ["a.b+c@d-e.org", "a@b", "@b.c", "ä@ö.de"]),
    ("control escapes", r"\a\f\n\r\t\v", ["\a\f\n\r\t\v", "afnrtv"]),
    ("backspace in a class", r"[\b]", ["\b", "b"]),
    ("flags off", r"(?i:a(?-i:b)c)", ["ABC", "AbC", "abc"]),
    ("lookahead at the end", r"a(?!.)", ["a", "ab"]),
    ("empty", r"", ["", "a"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "texts"), [p[1:] for p in PROBES], ids=[p[0] for p in PROBES])
def test_probe(pattern: str, texts: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # "possible nested set"
        matches = re.compile(pattern).fullmatch
    dfa = regex_dfa(pattern)
    near = {
        text[:i] + change + text[i:] for text in texts for i in (0, len(text)) for change in "a\n"
    }
    for text in (*texts, *near, *SHORT_TEXTS):
        assert dfa.accepts(text.encode()) == (matches(text) is not None), text


@pytest.mark.parametrize(
    ("pattern", "subset_states", "states"),
    [("cat|car|dog", 8, 6), ("-?[0-9]+", 3, 3), (r'\{"age": [0-9]+\}', 11, 11)],
)
def test_states_before_and_after_minimisation(
    pattern: str, subset_states: int, states: int
) -> None:
    dfa = regex_dfa(pattern)
    assert (dfa.n_subset_states, dfa.n_states - 1) == (subset_states, states)


def patterns() -> st.SearchStrategy[str]:
    """Patterns over a, b and newline with everything that depends on what stands around."""
    leaves = st.sampled_from(
        [
            "a",
            "b",
            "ab",
            "[ab]",
            ".",
            "\n",
            "[^a]",
            r"\w",
            r"\W",
            "^",
            "$",
            r"\A",
            r"\Z",
            r"\b",
            r"\B",
        ]
    )
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{,2}", "{2,}"])
    openings = st.sampled_from(
        ["(", "(?:", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?s:", "(?m:", "(?i:", "(?a:"]
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.lists(inner | st.just(""), min_size=2, max_size=3).map(
                lambda branches: f"(?:{'|'.join(branches)})"
            ),
            st.tuples(inner, quantifiers, st.sampled_from(["", "?", "+"])).map(
                lambda parts: f"(?:{parts[0]}){parts[1]}{parts[2]}"
            ),
            st.tuples(openings, inner).map(lambda parts: f"{parts[0]}{parts[1]})"),
        ),
        max_leaves=8,
    )


@given(patterns(), st.lists(st.text("abA \n", max_size=8), max_size=10))
def test_random_patterns(pattern: str, texts: list[str]) -> None:
    try:
        re.compile(pattern)
    except re.error:  # a lookbehind without fixed width
        with pytest.raises(GrammarSyntaxError):
            regex_dfa(pattern)
        return
    try:
        assert differing(pattern, [*SHORT_TEXTS, *texts]) == []
    except BudgetError:
        assume(False)


@given(
    st.lists(
        st.sampled_from(
            """a b ( ) [ ] { } * + ? | \\ ^ $ . - , 1 2 (?: (?i) (?i: (?-i: (?P<n> (?P=n) (?= (?<=
            (?<! (?> (?# (?(1) (?(n) \\1 \\d \\x4 \\x41 \\N{DASH} \\8 \\07 \\400 [^ : < > = ! (?x)
            (?aL (?u: (?a) (?ms-ix: {2} {1,} {,3} {3,1} \\b \\q [a-z] z-a""".split()
        ),
        max_size=8,
    )
)
def test_what_re_refuses_is_refused(parts: list[str]) -> None:
    pattern = "".join(parts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
            taken = True
        except (re.error, OverflowError, ValueError):
            taken = False
    if taken:
        with contextlib.suppress(UnsupportedFeatureError):
            PythonParser(pattern).parse()
    else:
        with pytest.raises(GrammarSyntaxError):
            PythonParser(pattern).parse()


@pytest.mark.parametrize(
    "pattern",
    [
        "(ab", "ab)", "[ab", "[b-a]", "*a", "a|*", "a**", "a{2}{3}", "^*", "a{3,1}", r"\q", r"[\q]",
        r"\x4", r"\u12", r"\U00110000", r"\N{NO SUCH}", "(?P<1>a)", "(?P<a>b)(?P<a>c)", "(?P=a)",
        r"\1", "(?<=a*)b", "a(?i)b", "(?z)", "(?i-i:a)", "(?au:x)", "(?L)", "(?#", "(?", "(?P",
        "(?Pz", "(?<z", r"(a\1)", r"\400", "(?(2)a)(b)",
    ],
)  # fmt: skip
def test_position_of_syntax_errors(pattern: str) -> None:
    with pytest.raises(re.error) as expected:
        re.compile(pattern)
    with pytest.raises(GrammarSyntaxError) as found:
        regex_expression(pattern)
    position = expected.value.pos
    if position is not None and "U00110000" not in pattern:
        assert found.value.position == position
    assert found.value.excerpt
    assert "^" in found.value.excerpt


@pytest.mark.parametrize(
    ("pattern", "feature", "position"),
    [
        (r"(a)\1", "a backreference", 3),
        (r"x(?P<n>a)(?P=n)", "a backreference", 9),
        (r"(a)?(?(1)b|c)", "a conditional", 4),
    ],
)
def test_what_no_automaton_can_hold(pattern: str, feature: str, position: int) -> None:
    re.compile(pattern)
    with pytest.raises(UnsupportedFeatureError, match=feature) as found:
        regex_expression(pattern)
    assert (found.value.feature, found.value.position) == (feature, position)


def test_a_syntax_error_is_told_before_a_refusal() -> None:
    with pytest.raises(GrammarSyntaxError) as found:
        regex_expression(r"(a)\1(")
    assert found.value.position == 5


same_unicode = pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE_VERSION,
    reason=f"this Python's Unicode is {unicodedata.unidata_version}, the tables' {UNICODE_VERSION}",
)


def characters(dfa: Dfa) -> set[int]:
    """The one-character texts of an automaton."""
    found = dfa.char_ranges_by_target(dfa.start) if not dfa.is_empty else []
    return {
        point
        for target, ranges in found
        if dfa.accepting[target]
        for low, high in ranges
        for point in range(low, high + 1)
    }


@same_unicode
@pytest.mark.parametrize("pattern", [r"\w", r"\d", r"\s", r"[^\w\s]", r"(?a)\w", r"(?a)\S"])
def test_categories_of_all_characters(pattern: str) -> None:
    matches = re.compile(pattern).fullmatch
    expected = {point for point in range(sys.maxunicode + 1) if matches(chr(point))}
    assert characters(regex_dfa(pattern)) == expected - set(range(0xD800, 0xE000))


@same_unicode
@pytest.mark.parametrize(
    "pattern",
    ["k", "s", "i", "ſ", "ß", "ẞ", "µ", "\u0345", "Σ", "İ", "ı", "ǅ", "\U00010400", "1",
     "[a-kS-Z]", "[^a-z]", "[\u0370-\u03ff]", "[\U00010400-\U00010410b]", "[\U00010400b]",
     r"[^\wé]", r"[K\W]", "[\u0345-\U00010400]"],
)  # fmt: skip
@pytest.mark.parametrize("flags", ["(?i)", "(?ai)"])
def test_case_of_all_characters(pattern: str, flags: str) -> None:
    matches = re.compile(flags + pattern).fullmatch
    points = {p for p in range(0x11000) if not 0xD800 <= p < 0xE000}
    expected = {point for point in points if matches(chr(point))}
    assert characters(regex_dfa(flags + pattern)) & points == expected


CHARACTERS = "aAzkKsSiIıſßẞµμΣσςéÉΩK09_-^][. \n\t\x1c\x85\xa0\u2028٣Ⅷ²日😀𐐨ǅİ\u0345|&~#"


@st.composite
def sets_in_brackets(draw: st.DrawFn) -> str:
    """A set in brackets over characters with something special about each."""
    parts = [draw(st.sampled_from(["[", "[^"])), draw(st.sampled_from(["", "]"]))]
    for _ in range(draw(st.integers(1, 4))):
        low, high = sorted(draw(st.tuples(*[st.sampled_from(CHARACTERS)] * 2)))
        escape = draw(st.sampled_from([r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b", r"\x41"]))
        both = f"{re.escape(low)}-{re.escape(high)}"
        parts.append(draw(st.sampled_from([both, re.escape(low), escape])))
    return "".join([*parts, draw(st.sampled_from(["]", "-]"]))])


@same_unicode
@given(sets_in_brackets(), st.sampled_from(["", "(?i)", "(?a)", "(?ai)"]))
def test_random_sets(pattern: str, flags: str) -> None:
    assert differing(flags + pattern, list(CHARACTERS)) == []


def test_properties_are_an_extension() -> None:
    upper, greek = regex_dfa(r"\p{Lu}+"), regex_dfa(r"[\p{Script=Greek}\d]+")
    assert upper.accepts("ÉA".encode())
    assert not upper.accepts(b"a")
    assert greek.accepts("αβγ1".encode())
    assert not greek.accepts(b"a")
    assert regex_dfa(r"\P{L}").accepts(b"1")
    with pytest.raises(GrammarSyntaxError, match="no Unicode property"):
        regex_dfa(r"\p{Greekish}")


def test_half_a_surrogate_pair_matches_nothing() -> None:
    assert regex_dfa("a|\ud800").accepts(b"a")
    assert regex_dfa("\ud800+").is_empty
    assert regex_dfa(r"[\ud800-\udfff]").is_empty


def test_plain_patterns_stay_expressions() -> None:
    expression = regex_expression(r"^ab[0-9]+(?:c|d)??$")
    assert isinstance(expression, Sequence)
    assert expression.items[0] == Literal(b"ab")
    assert not any(isinstance(node, Automaton) for node in postorder(expression))
    assert isinstance(regex_expression(r"(?!a)b"), Automaton)


def test_an_unknown_dialect() -> None:
    with pytest.raises(GrammarError, match="perl"):
        regex_dfa("a", "perl")


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"),
    [
        ("((a{1,30}){1,30}){1,30}", ["a", "a" * 27_000], ["", "a" * 27_001]),
        ("(?:a*){0,4294967294}", ["", "aaa"], ["b"]),
        ("(?:){4000000000}", [""], ["a"]),
        ("(?:" * 200 + "a" + "|b)*" * 200, ["", "abba"], ["c"]),
        ("(a?){40}a{40}", ["a" * 40, "a" * 80], ["a" * 39, "a" * 81]),
        ("(x+x+)+y", ["xxy", "x" * 60 + "y"], ["xy", "x" * 60]),
    ],
)
def test_hostile_patterns_with_a_result(
    pattern: str, accepted: list[str], refused: list[str]
) -> None:
    dfa = regex_dfa(pattern)
    assert all(dfa.accepts(text.encode()) for text in accepted)
    assert not any(dfa.accepts(text.encode()) for text in refused)


@pytest.mark.large
@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 10_000 + "a" + ")" * 10_000,
        "(?=" * 60 + "a" + ")" * 60,
        "(?>" * 30 + "a|b" + ")*" * 30,
        "(?:|a){0,4294967294}",
        "a{1000000}",
        "(?:a{1000}){1000}",
        "(a|b)*a(a|b){18}",
        "(?=.*a.{12}b)(?=.*b.{12}a).*",
    ],
)
def test_hostile_patterns_end_in_a_budget(pattern: str) -> None:
    with pytest.raises(BudgetError, match="gave up at the limit"):
        regex_dfa(pattern)
