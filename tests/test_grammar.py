"""`Grammar` as a value: checks, algebra, printing, bytes; choices and JSON."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask.automata import Dfa
from fastmask.errors import (
    FormatError,
    GrammarError,
    UnsatisfiableGrammarError,
    UnsupportedFeatureError,
)
from fastmask.grammar import ir
from fastmask.grammar.core import Grammar
from judge import Judge, grammars, random_walk

ANY_TEXT = ir.Repeat(ir.ANY_CHARACTER, 0, None)


def words(alphabet: str, longest: int) -> list[str]:
    return [
        "".join(letters)
        for size in range(longest + 1)
        for letters in itertools.product(alphabet, repeat=size)
    ]


def same_language(left: Judge, right: Judge, texts: list[str]) -> bool:
    return all(
        left.matches(text) == right.matches(text)
        and (left.read(text.encode()) is None) == (right.read(text.encode()) is None)
        for text in texts
    )


# --- checks


def test_an_undefined_rule_is_named_with_the_rule_that_uses_it():
    with pytest.raises(GrammarError, match="rule 'a' refers to 'b', which is not defined"):
        Grammar({"root": ir.Reference("a"), "a": ir.Reference("b")})
    with pytest.raises(GrammarError, match="no rule 'start'; its rules are: root"):
        Grammar({"root": ir.literal("a")}, "start")


def test_an_undefined_rule_in_an_unused_rule_is_an_error_too():
    with pytest.raises(GrammarError, match="rule 'lost' refers to 'b'"):
        Grammar({"root": ir.literal("a"), "lost": ir.Reference("b")})


def test_unused_rules_are_fine():
    grammar = Grammar({"root": ir.literal("a"), "lost": ir.literal("b")})
    assert list(grammar.rules) == ["root"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"root": ir.Reference("root")}, r"root -> root"),
        (
            {"root": ir.Reference("a"), "a": ir.sequence([ir.literal("x"), ir.Reference("a")])},
            r"\(a -> a\)",
        ),
        ({"root": ir.Reference("a"), "a": ir.NOTHING}, "rule 'a' asks for nothing"),
        ({"root": ir.CharSet(())}, "rule 'root' asks for nothing"),
        (
            {"root": ir.Intersection((ir.literal("a"), ir.literal("b")))},
            "an intersection without any text",
        ),
        ({"root": ir.Complement(ANY_TEXT)}, "without any text"),
    ],
)
def test_a_root_that_matches_nothing_is_an_error(rules, message):
    with pytest.raises(UnsatisfiableGrammarError, match=message):
        Grammar(rules)


def test_alternatives_that_never_finish_are_removed():
    grammar = Grammar(
        {
            "root": ir.alternatives([ir.literal("a"), ir.Reference("loop"), ir.Reference("b")]),
            "loop": ir.sequence([ir.literal("x"), ir.Reference("loop")]),
            "b": ir.sequence([ir.literal("b"), ir.Repeat(ir.Reference("loop"), 0, 3)]),
        }
    )
    assert dict(grammar.rules) == {
        "root": ir.alternatives([ir.literal("a"), ir.Reference("b")]),
        "b": ir.literal("b"),
    }


@given(grammars(alphabet="ab"))
def test_removing_what_never_finishes_changes_no_verdict(rules):
    assert same_language(Judge(rules), Judge(Grammar(rules)), words("ab", 4))


def test_boolean_operators_need_regular_operands():
    recursive = {
        "root": ir.Intersection((ir.Reference("a"), ir.literal("x"))),
        "a": ir.alternatives([ir.literal("x"), ir.sequence([ir.Reference("b"), ir.literal("y")])]),
        "b": ir.Reference("a"),
    }
    with pytest.raises(UnsupportedFeatureError, match=r"recursion .*\(a -> b -> a\)"):
        Grammar(recursive)
    with pytest.raises(UnsupportedFeatureError, match="atomic token inside"):
        Grammar({"root": ir.Complement(ir.Tokens((1,)))})


def test_boolean_operators_follow_references_and_nest():
    rules = {
        "root": ir.sequence(
            [ir.literal("<"), ir.Intersection((ir.Reference("w"), odd())), ir.literal(">")]
        ),
        "w": ir.Complement(ir.sequence([ANY_TEXT, ir.Reference("bb"), ANY_TEXT])),
        "bb": ir.literal("bb"),
    }
    texts = [f"<{word}>" for word in words("ab", 6)]
    assert same_language(Judge(rules), Judge(Grammar(rules)), texts)


def odd() -> ir.Expression:
    """Texts of an odd number of characters."""
    return ir.sequence([ir.ANY_CHARACTER, ir.Repeat(ir.sequence([ir.ANY_CHARACTER] * 2), 0, None)])


def test_deep_boolean_operators_cost_no_recursion():
    expression: ir.Expression = ir.literal("a")
    for _ in range(3001):
        expression = ir.Complement(expression)
    assert Judge(Grammar({"root": expression})).matches("b")


# --- as a value


def test_equality_hash_and_pickle():
    left = Grammar.from_gbnf('root ::= "a" b*\nb ::= [x-z] | <[7]>')
    right = Grammar.from_gbnf('b ::= [x-z] | <[7]>  # other order\nroot ::= "a" (b)*')
    assert left == right
    assert hash(left) == hash(right)
    assert left.digest == right.digest
    assert left != Grammar.from_gbnf('root ::= "a"')
    assert left != "a"
    assert pickle.loads(pickle.dumps(left)) == left
    assert repr(left) == "<Grammar of 2 rules, root 'root'>"


def test_equal_grammars_have_equal_bytes_whatever_they_share():
    part = ir.sequence([ir.literal("a"), ir.ANY_CHARACTER])
    other = ir.sequence([ir.literal("a"), ir.characters([(0, 0x10FFFF)])])
    assert Grammar({"root": ir.Sequence((part, part))}) == Grammar(
        {"root": ir.Sequence((part, other))}
    )


@given(grammars())
def test_bytes_give_the_same_grammar(rules):
    grammar = Grammar(rules)
    again = Grammar.from_bytes(grammar.to_bytes())
    assert again == grammar
    assert dict(again.rules) == dict(grammar.rules)


def test_bytes_of_every_kind_of_leaf():
    rules = {
        "root": ir.sequence(
            [
                ir.ByteSet(((0, 3), (200, 255))),
                ir.Tokens((5, "<a>"), negated=True),
                ir.Intersection((odd(), ir.Complement(ir.literal("x")))),
                ir.Repeat(ir.Reference("é"), 2, 5),
                ir.literal("中"),
            ]
        ),
        "é": ir.Repeat(ir.literal("b"), 1, None),
    }
    grammar = Grammar(rules)
    assert Grammar.from_bytes(grammar.to_bytes()) == grammar
    assert grammar.tokens_used == {5, "<a>"}


def test_damaged_bytes_are_refused():
    data = Grammar.from_gbnf('root ::= "abc" [d-f]').to_bytes()
    for broken in (b"", data[:-5], data[:20], b"x" + data, data[:19] + b"\xff" * 8 + data[27:]):
        with pytest.raises(FormatError):
            Grammar.from_bytes(broken)


def test_rules_cannot_be_changed():
    grammar = Grammar.from_gbnf('root ::= "a"')
    with pytest.raises(TypeError):
        grammar.rules["root"] = ir.literal("b")


# --- printing


@given(grammars())
def test_print_and_read_back(rules):
    grammar = Grammar(rules)
    text = str(grammar)
    again = Grammar.from_gbnf(text)
    assert str(again) == text
    assert same_language(Judge(grammar), Judge(again), words("abc", 4))


@pytest.mark.parametrize("seed", range(30))
def test_print_and_read_back_automata(seed):
    chooser = random.Random(seed)
    strings = [
        "".join(chooser.choice("ab\u00e9\U0001f600") for _ in range(chooser.randint(0, 4)))
        for _ in range(6)
    ]
    dfa = Dfa.from_strings([string.encode() for string in strings])
    if seed % 3 == 0:
        dfa = dfa.complement()
    if seed % 3 == 1:
        dfa = dfa.repeated(1)
    rules = {"root": ir.sequence([ir.Automaton(dfa), ir.literal("!"), ir.Automaton(dfa)])}
    again = Grammar.from_gbnf(str(Grammar(rules)))
    texts = [f"{left}!{right}" for left in [*strings, "aba", "\u00e9\u00e9"] for right in strings]
    assert same_language(Judge(rules), Judge(again), texts)


def test_print_automata_over_raw_bytes():
    dfa = Dfa.from_strings([b"\xff\x00", b"ab", b"\xc3"])
    again = Grammar.from_gbnf(str(Grammar({"root": ir.Automaton(dfa)})))
    judge = Judge(again)
    assert judge.matches(b"\xff\x00")
    assert judge.matches(b"\xc3")
    assert judge.matches(b"ab")
    assert not judge.matches(b"\xff")
    assert not judge.matches("\u00e9")


def test_words_stay_words_in_print():
    text = str(Grammar.from_choices(["cat", "card", "dog"]))
    assert '"dog"' in text
    assert text.startswith("root ::= ")


def test_print_of_odd_names_and_leaves():
    rules = {
        "start": ir.sequence([ir.Reference("root"), ir.Reference("a{b}"), ir.Reference("a{c}")]),
        "root": ir.Literal(b"\xffA\xc3\xa9\n"),
        "a{b}": ir.Repeat(ir.Tokens(("<x>", 3)), 2, 2),
        "a{c}": ir.sequence([ir.Tokens((1, 2, 3, 7)), ir.Tokens(("</s>",), negated=True)]),
    }
    text = str(Grammar(rules, "start"))
    assert text.splitlines() == [
        "root ::= root-2 a-b- a-c-",
        'root-2 ::= Byte(255) "Aé\\n"',
        'a-b- ::= Token(3, "<x>"){2}',
        "a-c- ::= <[1-3,7]> !</s>",
    ]
    assert str(Grammar.from_gbnf(text)) == text


def test_print_of_schemas():
    schema = {"type": "object", "properties": {'a"\\\n': {"const": "é"}}}
    left = Grammar.from_json_schema(schema, whitespace="none", draft="7")
    grammar = Grammar.concat(left, Grammar.from_gbnf('root ::= ";"'))
    text = str(grammar)
    assert text.startswith('root ::= JsonSchema("{')
    assert Grammar.from_gbnf(text) == grammar
    assert str(Grammar.from_json_schema(True)) == 'root ::= JsonSchema("true")\n'


def test_schemas_are_no_operands():
    schema = Grammar.from_json_schema({}).rules["root"]
    with pytest.raises(UnsupportedFeatureError, match="a JSON schema inside"):
        Grammar({"root": ir.Complement(schema)})


# --- algebra


def test_union_and_concat():
    left = Grammar.from_gbnf('root ::= "a" root | "b"')
    right = Grammar.from_gbnf('root ::= x x\nx ::= "c" | "d" root-2\nroot-2 ::= "e"')
    union, concat = Grammar.union(left, right, left), Grammar.concat(left, right)
    texts = words("abcde", 4)
    one, two = Judge(left), Judge(right)
    assert any(one.matches(t) for t in texts)
    assert any(two.matches(t) for t in texts)
    judge = Judge(union)
    assert all(judge.matches(t) == (one.matches(t) or two.matches(t)) for t in texts)
    judge = Judge(concat)
    for text in texts:
        cuts = range(len(text) + 1)
        expected = any(one.matches(text[:cut]) and two.matches(text[cut:]) for cut in cuts)
        assert judge.matches(text) == expected


def test_union_of_nothing_is_unsatisfiable_and_concat_of_nothing_is_empty():
    with pytest.raises(UnsatisfiableGrammarError):
        Grammar.union()
    assert Judge(Grammar.concat()).matches("")


def test_regular_grammars_side_by_side_stay_one_rule():
    grammar = Grammar.union(Grammar.from_choices(["a"]), Grammar.from_gbnf('root ::= "b"+'))
    assert list(grammar.rules) == ["root"]


# --- choices


def test_choices():
    judge = Judge(Grammar.from_choices(["cat", "dog", "cat", "caté", ""]))
    assert [judge.matches(t) for t in ("cat", "dog", "caté", "", "ca", "cats")] == [True] * 4 + [
        False
    ] * 2


def test_choices_must_be_texts_and_some():
    with pytest.raises(UnsatisfiableGrammarError, match="no choices"):
        Grammar.from_choices([])
    with pytest.raises(GrammarError, match="not one text"):
        Grammar.from_choices("cat")
    with pytest.raises(GrammarError, match="choice 1 is 3"):
        Grammar.from_choices(["a", 3])
    with pytest.raises(GrammarError, match="surrogate"):
        Grammar.from_choices(["\ud800"])


def test_many_choices():
    choices = [f"name {number * 7919}" for number in range(100_000)]
    grammar = Grammar.from_choices(choices)
    (leaf,) = grammar.rules.values()
    assert leaf.dfa.count() == 100_000
    assert leaf.dfa.accepts(choices[-1].encode())
    assert not leaf.dfa.accepts(b"name 1")


# --- JSON


@pytest.fixture(scope="module")
def json_judge() -> Judge:
    return Judge(Grammar.json())


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3),
        max_leaves=6,
    ),
    st.booleans(),
    st.sampled_from([None, 1, "\t"]),
)
def test_json_dumps_is_accepted(json_judge, value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    lone = ascii_only and has_lone_surrogate(value)
    assert json_judge.matches(data) != lone


def has_lone_surrogate(value) -> bool:
    return any("\ud800" <= c <= "\udfff" for c in json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (' \t\r\n"\x7f" \n', True),
        ('"\x1f"', False),
        (r'"\ud83d\ude00"', True),
        (r'"\ud83d"', False),
        (r'"\ude00\ud83d"', False),
        (r'"\uD83D\uDE00\uabcd\uDBFF\uDFFF"', True),
        ("-0.5e+10", True),
        ("01", False),
        ("+1", False),
        ("1.", False),
        (".5", False),
        ("-", False),
        ("1e", False),
        ("[1, 2 , 3 ]", True),
        ("[1,]", False),
        ('{"a":1,}', False),
        ('{"a" : {} , "a":[]}', True),
        ("{a:1}", False),
        ("True", False),
        ("nul", False),
        ("", False),
        ("\ufeff1", False),
        ("1 2", False),
        ("[" * 40 + "]" * 40, True),
        ("\xa01", False),
    ],
)
def test_json_texts(json_judge, text, expected):
    assert json_judge.matches(text) == expected


def test_json_parsing_suite(json_judge, data_folder):
    with gzip.open(data_folder / "json-parsing-suite.jsonl.gz", "rt") as lines:
        cases = [json.loads(line) for line in lines]
    for case in cases:
        name, data = case["name"], base64.b64decode(case["bytes_b64"])[:2000]
        if name.startswith("y_"):
            assert json_judge.matches(data), name
        elif name.startswith("n_"):
            assert not json_judge.matches(data), name


def test_json_walks_end_in_what_python_reads(json_judge):
    chooser = random.Random(0)
    alphabet = b'{}[]:,"\\u0123dDeE89ab-+.truefalsn \n\xc3\xa9'
    for _ in range(30):
        data = random_walk(json_judge, chooser, alphabet, 12)
        for closing in (b"", b'"', b"0", b'0"', b"]", b"}"):
            if json_judge.matches(data + closing):
                json.loads((data + closing).decode())
