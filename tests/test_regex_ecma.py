r"""Patterns of ECMAScript's dialect: cases, real schemas, and node as judge where it is there."""

# ruff: noqa: RUF001 (letters that look like others are the point)

from __future__ import annotations

import gzip
import itertools
import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask.automata import Dfa
from fastmask.errors import BudgetError, GrammarSyntaxError, UnsupportedFeatureError
from fastmask.grammar.regex import regex_dfa, regex_expression
from fastmask.grammar.regex.properties import property_ranges

CASES = [
    ("a search", r"b", ["b", "abc", "b\n"], ["", "ac"]),
    ("anchors", r"^b$", ["b"], ["ab", "b\n"]),
    ("anchors by branch", r"^a|b$", ["a", "ax", "xb"], ["xa", "bx"]),
    ("anchors in a group", r"^(a|b$)", ["ax", "b"], ["bx", "xb"]),
    ("one branch without", r"(^a|b)c", ["acx", "xbc"], ["xac"]),
    ("digits are ASCII", r"^\d+$", ["09"], ["४", "²", ""]),
    ("words are ASCII", r"^\w+$", ["aZ_9"], ["é", "-"]),
    ("white space", r"^\s+$", ["\t\n\v\f\r \xa0\ufeff\u2003\u2028"], ["\x1c", "\x85", "\u200b"]),
    ("complements", r"^\D\W\S$", ["a-b", "éé😀"], ["1-b", "aab", "a- "]),
    ("dot", r"^.$", ["a", "😀", "\x85"], ["\n", "\r", "\u2028", "\u2029", ""]),
    ("everything", r"^[^]$", ["\n", "a"], [""]),
    ("nothing", r"[]", [], ["", "a"]),
    ("control", r"^\cJ\cj$", ["\n\n"], ["J"]),
    ("code points", r"^\u{1F600}\u0041\x42$", ["😀AB"], ["AB"]),
    ("surrogate pairs", r"^\uD83D\uDE00[\uD83D\uDE00-\uD83D\uDE4F]$", ["😀🙏"], ["😀", "🙏😀x"]),
    ("half a pair", r"^\uD83D$", [], ["\ufffd", ""]),
    ("null", r"^\0$", ["\0"], ["0"]),
    ("backspace in a class", r"^[\b]$", ["\b"], ["b"]),
    ("word edge", r"\bcat\b", ["cat", "a cat!", "-cat é"], ["cats", "scat", "_cat"]),
    ("no word edge", r"\B", ["", "aa", "  "], ["a"]),
    ("lookahead", r"^(?!foo)[a-z]+$", ["bar", "fo"], ["foo", "foobar"]),
    ("lookahead last", r"a(?=b)", ["ab", "xabx"], ["a", "ac"]),
    ("lookbehind", r"(?<=a+)b$", ["aab"], ["b", "cb"]),
    ("negative lookbehind", r"(?<!a)b", ["b", "cb", "abb"], ["ab", "aab"]),
    ("named group", r"^(?<year>\d{4})-(?<$m>\d\d)$", ["2024-05"], ["2024"]),
    ("lazy", r"^a+?b*?$", ["a", "aab"], ["b"]),
    ("general category", r"^\p{Lu}\P{Lu}$", ["Éé", "A1"], ["AA", "aa"]),
    ("long names", r"^\p{Letter}\p{General_Category=Decimal_Number}$", ["a1", "é४"], ["1a"]),
    ("script", r"^\p{Script=Greek}\p{sc=Cyrl}\p{scx=Deva}$", ["αяअ", "αя।"], ["aяअ", "αa।"]),
    ("binary property", r"^\p{Emoji_Presentation}\p{AHex}\p{Any}\p{ASCII}$", ["😀aé~"], ["aaaa"]),
    ("assigned", r"^\p{Assigned}$", ["a"], ["\U000e0fff"]),
    # Beyond the u flag, where the meaning is plain.
    ("escaped punctuation", r"^\-\_\@\/\:\ $", ["-_@/: "], ["\\-"]),
    ("loose braces", r"^a{x}{,2}]}$", ["a{x}{,2}]}"], ["a"]),
    ("hyphen beside a class", r"^[\w-.]+$", ["a-.9"], ["+"]),
    ("huge count of what may be empty", r"^(?:a*){0,99999999999}$", ["", "aaa"], ["b"]),
    # What a search makes of repeats at its ends.
    ("loose ends", r"a{2,5}b*", ["aa", "xaay"], ["a", "aba"]),
    ("anchor behind a repeat", r"(?:a*$|b)c?", ["", "a", "xb"], []),
]


@pytest.mark.parametrize(
    ("pattern", "accepted", "refused"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_case(pattern: str, accepted: list[str], refused: list[str]) -> None:
    dfa = regex_dfa(pattern, "ecma")
    assert [text for text in accepted if not dfa.accepts(text.encode())] == []
    assert [text for text in refused if dfa.accepts(text.encode())] == []


@pytest.mark.parametrize(
    ("pattern", "position", "message"),
    [
        ("(a", 0, "never closed"), ("a)", 1, "no open group"), ("[a", 0, "never closed"),
        ("*a", 0, "nothing to repeat"), ("a**", 2, "a repeat"), ("a++", 2, "repeats a repeat"),
        ("a{2,1}", 1, "below the lower"), (r"\Z", 0, r"write \$"), (r"\A", 0, r"write \^"),
        (r"\q", 0, "no escape"), (r"\x4", 0, "2 hexadecimal"), (r"\u{110000}", 0, "last character"),
        (r"\u{}", 0, "hexadecimal digits"), (r"\c1", 0, "a letter"), (r"\01", 0, "octal"),
        ("[b-a]", 1, "no range"), ("(?i)a", 0, "no flags"), ("(?P<n>a)", 0, r"\(\?<name>"),
        ("(?<1>a)", 3, "needs a name"), ("(?<n>a)(?<n>b)", 7, "there already"),
        (r"\p{Nope}", 0, "no Unicode property"), (r"\p{Script=Nope}", 0, "no Unicode property"),
        (r"\pL", 0, "in braces"), (r"\1", 0, "no group 1"), (r"(?<n>a)\k<m>", 7, "no group 'm'"),
        ("a\\", 1, "backslash"), ("[a\\", 2, "backslash"),
    ],
)  # fmt: skip
def test_syntax_errors(pattern: str, position: int, message: str) -> None:
    with pytest.raises(GrammarSyntaxError, match=message) as found:
        regex_expression(pattern, "ecma")
    assert found.value.position == position


@pytest.mark.parametrize(
    ("pattern", "position"), [(r"(a)\1", 3), (r"\1(a)", 0), (r"(?<n>a)\k<n>", 7)]
)
def test_backreferences_are_refused_by_name(pattern: str, position: int) -> None:
    with pytest.raises(UnsupportedFeatureError, match="a backreference") as found:
        regex_expression(pattern, "ecma")
    assert found.value.position == position


def patterns_of(schema: Any) -> set[str]:
    """All values of ``pattern`` and keys of ``patternProperties``."""
    found = set()
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if isinstance(value.get("pattern"), str):
                found.add(value["pattern"])
            if isinstance(value.get("patternProperties"), dict):
                found.update(value["patternProperties"])
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return found


@pytest.fixture(scope="module")
def real_patterns(data_folder: Path) -> list[str]:
    """Every pattern of the MaskBench development schemas."""
    suite = data_folder / "maskbench-dev.jsonl.gz"
    if not suite.exists():
        pytest.skip(f"no {suite.name} in {data_folder}")
    with gzip.open(suite, "rt", encoding="utf-8") as lines:
        return sorted(set().union(*(patterns_of(json.loads(line)["schema"]) for line in lines)))


@pytest.fixture(scope="module")
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("no node to judge patterns")
    return found


_JUDGE = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const judge = (pattern, flags) => {
  try { return new RegExp(pattern, flags); } catch { return null; }
};
console.log(JSON.stringify(cases.map(([pattern, texts]) => {
  const regex = judge(pattern, "u") ?? judge(pattern, "");
  return regex && texts.map((text) => regex.test(text));
})));
"""


def verdicts(node: str, cases: list[tuple[str, list[str]]]) -> list[list[bool] | None]:
    """What node says of each pattern's texts; None for patterns it does not take."""
    done = subprocess.run(
        [node, "-e", _JUDGE], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    result: list[list[bool] | None] = json.loads(done.stdout)
    return result


def walked(dfa: Dfa, choose: random.Random) -> str:
    """A random accepted text."""
    state, data = dfa.start, bytearray()
    for _ in range(choose.randint(0, 40)):
        moves = dfa.byte_ranges(state)
        if not moves:
            break
        low, high, state = choose.choice(moves)
        data.append(choose.randint(low, high))
    return (bytes(data) + (dfa.from_state(state).shortest() or b"")).decode()


def changed(text: str, pattern: str, choose: random.Random) -> str:
    """The text with a character put in, left out or replaced."""
    at = choose.randint(0, len(text))
    put_in = choose.choice(["", choose.choice(pattern + " \n\r\u2028aZ09_é")])
    return text[:at] + put_in + text[at + choose.randint(0, 1) :]


def test_real_patterns_are_all_taken(real_patterns: list[str]) -> None:
    assert len(real_patterns) == 843
    for pattern in real_patterns:
        regex_expression(pattern, "ecma")


def test_real_patterns_against_node(real_patterns: list[str], node: str) -> None:
    choose = random.Random(1)
    cases: list[tuple[str, list[str]]] = []
    automata = []
    for pattern in real_patterns[::3]:
        dfa = regex_dfa(pattern, "ecma")
        texts = [] if dfa.is_empty else [walked(dfa, choose) for _ in range(8)]
        texts += [changed(text, pattern, choose) for text in texts]
        cases.append((pattern, texts))
        automata.append(dfa)
    for (pattern, texts), dfa, expected in zip(cases, automata, verdicts(node, cases), strict=True):
        assert expected is not None, pattern
        assert [dfa.accepts(text.encode()) for text in texts] == expected, pattern


SHORT_TEXTS = [
    "".join(letters) for n in range(4) for letters in itertools.product("ab\n-", repeat=n)
]


def patterns() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(
        [
            *"ab.^$",
            "[ab]",
            "[^a]",
            r"\w",
            r"\W",
            r"\b",
            r"\B",
            "[^]",
            "[]",
            r"\n",
            r"[\w.-]",
            r"\p{Lu}",
        ]
    )
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "+?", "*?"])
    openings = st.sampled_from(["(", "(?:", "(?=", "(?!", "(?<=", "(?<!"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.lists(inner | st.just(""), min_size=2, max_size=3).map(
                lambda branches: f"(?:{'|'.join(branches)})"
            ),
            st.tuples(inner, quantifiers).map(lambda parts: f"(?:{parts[0]}){parts[1]}"),
            st.tuples(openings, inner).map(lambda parts: f"{parts[0]}{parts[1]})"),
        ),
        max_leaves=8,
    )


def test_random_patterns_against_node(node: str) -> None:
    found: list[str] = []

    @given(patterns())
    def collect(pattern: str) -> None:
        found.append(pattern)

    collect()
    cases = [(pattern, SHORT_TEXTS) for pattern in dict.fromkeys(found)]
    for (pattern, texts), expected in zip(cases, verdicts(node, cases), strict=True):
        try:
            dfa = regex_dfa(pattern, "ecma")
        except BudgetError:
            continue
        assert [dfa.accepts(text.encode()) for text in texts] == expected, pattern


def test_properties_partition_all_characters() -> None:
    categories = """Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf
        Cs Co Cn""".split()
    ranges = sorted(pair for name in categories for pair in property_ranges(name) or ())
    assert ranges[0][0] == 0
    gaps = [(a[1], b[0]) for a, b in itertools.pairwise(ranges) if b[0] != a[1] + 1]
    assert gaps == [(0xD7FF, 0xE000)]
    assert ranges[-1][1] == 0x10FFFF
    assert property_ranges("gc", "L") == property_ranges("Letter")
    assert property_ranges("sc", "Latn") == property_ranges("Script", "Latin")
    assert property_ranges("Latin") is None
    assert property_ranges("gc", "Latin") is None
    assert property_ranges("Alpha") == property_ranges("Alphabetic")
