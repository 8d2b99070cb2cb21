"""Texts of numbers and strings: what the value says, and what the policy lets through."""

from __future__ import annotations

import itertools
import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fastmask._jit import JIT_ENABLED
from fastmask.automata import Dfa, any_text
from fastmask.errors import BudgetError
from fastmask.grammar.regex import regex_dfa
from fastmask.schema import literals as lit
from fastmask.schema import spelling
from fastmask.schema.constants import NUMBER, STRING, exact
from fastmask.schema.exponents import MOST_DIGITS, with_exponents, with_float_forms
from fastmask.schema.formulas import Formulas
from fastmask.schema.number_text import decimal_text, decimals, json_numbers, multiples
from fastmask.schema.policy import Policy
from fastmask.schema.references import Documents
from fastmask.schema.scalars import Numbers, Strings
from fastmask.schema.spelling import (
    any_key,
    any_string,
    character_spellings,
    is_unconstrained,
    key_language,
    needs_counter,
    number_language,
    spellings_of,
    string_language,
)
from fastmask.schema.spelling import test_language as language_of_test
from fastmask.schema.string_text import spelled, spellings

PLAIN, ANY = Policy(), Policy(numbers="any", strings="any")

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
DIGITS = re.compile(r"-?(0|[1-9][0-9]*)")
# What repr(float) prints with an exponent, by its form.
FLOAT_FORM = re.compile(
    r"-?[1-9](\.[0-9]{0,15}[1-9])?"
    r"e(-(0[5-9]|[1-9][0-9]|[12][0-9][0-9]|3[01][0-9]|32[0-4])"
    r"|\+(1[6-9]|[2-9][0-9]|[12][0-9][0-9]|30[0-8]))"
)


def settled(max_examples):
    """Fewer examples where kernels run as plain Python, which takes them ten times as long."""
    return settings(max_examples=max_examples if JIT_ENABLED else max_examples // 10)


def number(text):
    return exact(Fraction(*Decimal(text).as_integer_ratio()))


# --- numbers: texts and conjunctions by chance ---------------------------------------------------

digits = st.text("0123456789", max_size=3)
wholes = st.one_of(
    st.just("0"),
    st.builds(str.__add__, st.sampled_from("123456789"), st.text("0123456789", max_size=4)),
    st.builds(lambda a, n: a + "0" * n, st.sampled_from("129"), st.integers(0, 6)),
)
fractions = st.one_of(
    st.just(""), st.builds(lambda t: f".{t}", st.text("0012569", min_size=1, max_size=5))
)
signs = st.sampled_from(["", "", "-"])
plain_texts = st.builds(lambda *parts: "".join(parts), signs, wholes, fractions)
exponents = st.builds(
    lambda letter, sign, n: f"{letter}{sign}{n}",
    st.sampled_from("eE"),
    st.sampled_from(["", "+", "-", "+0", "-00"]),
    st.one_of(st.integers(0, 9), st.sampled_from([16, 17, 25, 300, 999])),
)
float_texts = st.floats(allow_nan=False, allow_infinity=False).map(repr)
number_texts = st.one_of(plain_texts, st.builds(str.__add__, plain_texts, exponents), float_texts)
numbers = plain_texts.map(number)
divisors = st.sampled_from(
    [1, 2, 3, 5, 7, 10, 100, Fraction(1, 10), Fraction(1, 100), Fraction(5, 2), Fraction(3, 10)]
)
number_sets = st.frozensets(numbers, min_size=1, max_size=4)
number_literals = st.one_of(
    st.tuples(st.sampled_from([lit.AT_LEAST, lit.ABOVE, lit.AT_MOST, lit.BELOW]), numbers),
    st.tuples(st.just(lit.INTEGER), st.booleans()),
    st.tuples(st.just(lit.DIGITS), st.booleans()),
    st.tuples(st.just(lit.MULTIPLE), divisors, st.booleans()),
    st.tuples(st.just(lit.EXCEPT_CONSTANTS), number_sets),
    st.tuples(st.just(lit.AMONG_CONSTANTS), number_sets),
)
number_conjunctions = st.lists(number_literals, max_size=3)


def moved(value, places, zeros, letter, sign):
    """A spelling of a number whose point an exponent moves by some places."""
    text = decimal_text(value).lstrip("-")
    whole, _, rest = text.partition(".")
    point = len(whole) + places
    all_digits = "0" * max(0, 1 - point) + whole + rest
    point = max(point, 1)
    all_digits = all_digits.ljust(point, "0")
    whole, rest = all_digits[:point].lstrip("0") or "0", all_digits[point:].rstrip("0")
    rest += "0" * zeros
    exponent = f"{letter}{'-' if places > 0 else sign}{abs(places)}"
    return f"{'-' if value < 0 else ''}{whole}{'.' + rest if rest else ''}{exponent}"


respelled = st.tuples(
    st.integers(-6, 6), st.integers(0, 2), st.sampled_from("eE"), st.sampled_from(["", "+", "+0"])
)


def fits(conjunction, text, policy):
    """The judge: by value, and by what the form may be."""
    value, is_digits = number(text), DIGITS.fullmatch(text) is not None
    if not conjunction.contains(value, is_digits):
        return False
    if policy is ANY:
        return True
    if conjunction.allowed is not None:
        return text in {json.dumps(float(value)), decimal_text(value)} and (
            is_digits or not isinstance(value, int) or "e" in text or conjunction.digits is False
        )
    if conjunction.integer and conjunction.digits is not False:
        below_zero = conjunction.lower is None or conjunction.lower < 0
        return is_digits and (text != "-0" or below_zero)
    free = Numbers()
    free.digits = conjunction.digits
    if conjunction.identity() == free.identity():
        return True
    return "e" not in text.lower() or FLOAT_FORM.fullmatch(text) is not None


def interesting(literals):
    """Numbers that the literals name."""
    for kind, value, *_ in literals:
        if kind in {lit.AMONG_CONSTANTS, lit.EXCEPT_CONSTANTS}:
            yield from value
        elif kind == lit.MULTIPLE:
            yield from (value * factor for factor in (-30, -1, 0, 1, 7, 100))
        elif kind not in {lit.INTEGER, lit.DIGITS}:
            yield value


@settled(120)
@given(number_conjunctions, st.lists(number_texts, min_size=5, max_size=20), respelled)
@example(
    [(lit.AT_LEAST, 0), (lit.AT_MOST, 1)],
    ["1e-07", "0.0", "-0.0", "1.0", "1.000001"],
    (1, 0, "e", ""),
)
@example([(lit.ABOVE, 0)], ["1e-999", "0e5", "-0.0", "1e+16", "9.5e+300"], (0, 0, "E", "+"))
@example([(lit.INTEGER, True), (lit.AT_LEAST, 0)], ["-0", "0", "1.0", "1e2"], (3, 2, "E", ""))
@example([(lit.MULTIPLE, 7, False)], ["1e+16", "7e+16", "1e300", "0"], (2, 0, "e", "+"))
@example(
    [(lit.MULTIPLE, Fraction(1, 2), False), (lit.AT_LEAST, 0)],
    ["0", "0.5", "0.30"],
    (1, 0, "e", ""),
)
@example(
    [(lit.AMONG_CONSTANTS, frozenset([0, 3])), (lit.DIGITS, False)],
    ["0", "0.0", "3.0", "3"],
    (0, 0, "e", ""),
)
@example([(lit.INTEGER, True), (lit.DIGITS, False)], ["0", "0.0", "1e+16", "0.5"], (0, 0, "e", ""))
def test_numbers_are_accepted_by_value_and_form(literals, texts, way):
    conjunction = Numbers.of(NUMBER, literals)
    assume(conjunction is not None)
    named = [exact(Fraction(value)) for value in interesting(literals)]
    texts = [*texts, *map(decimal_text, named), *(moved(value, *way) for value in named)]
    for policy in (PLAIN, ANY):
        language = number_language(conjunction, policy, {})
        for text in texts:
            assert JSON_NUMBER.fullmatch(text)
            wanted = fits(conjunction, text, policy)
            assert language.accepts(text.encode()) == wanted, (policy, text)
        assert (language - json_numbers()).is_empty


@settled(60)
@given(number_literals, st.lists(number_texts, max_size=10), numbers, respelled)
def test_each_spelling_is_in_a_literal_or_in_its_dual(literal, texts, value, way):
    named = [exact(Fraction(v)) for v in interesting([literal])]
    texts = [*texts, *(moved(v, *way) for v in [value, *named])]
    languages = []
    for clause in (literal, lit.dual(literal, None)):
        conjunction = Numbers.of(NUMBER, [clause])
        assert conjunction is not None
        languages.append(number_language(conjunction, ANY, {}))
    inside, outside = languages
    assert (inside & outside).is_empty
    for text in texts:
        assert inside.accepts(text.encode()) != outside.accepts(text.encode()), text


floats = st.floats(allow_nan=False, allow_infinity=False)


@settled(40)
@given(floats, floats, floats, st.just(PLAIN))
@example(5e-324, -1.7976931348623157e308, 1.7976931348623157e308, PLAIN)
@example(5e-50, 1e22, 1.5e50, ANY)
@example(-1.5e-7, 0.1, 2.5e16, ANY)
def test_floats_between_bounds_as_python_prints_them(one, two, three, policy):
    low, middle, high = sorted((one, two, three))
    assume(low < high)
    conjunction = Numbers.of(NUMBER, [(lit.AT_LEAST, exact(low)), (lit.AT_MOST, exact(high))])
    language = number_language(conjunction, policy, {})
    for value in (low, middle, high):
        assert language.accepts(json.dumps(value).encode())
    for value in (math.nextafter(low, -math.inf), math.nextafter(high, math.inf)):
        assert not language.accepts(json.dumps(value).encode())


def accepted(literals, policy, texts, spellings=None):
    conjunction = Numbers.of(NUMBER, literals)
    language = number_language(conjunction, policy, spellings or {})
    return [text for text in texts.split() if language.accepts(text.encode())]


def test_forms_of_the_plain_policy():
    texts = "7 7.0 -7 0 -0 -0.0 7e0 70e-1 07 7. .7 1e+16 1E+16 1e16 1e-07 1e-7 1.0e-07 +7 1e5"
    integer = [(lit.INTEGER, True)]
    assert accepted(integer, PLAIN, texts) == ["7", "-7", "0", "-0"]
    assert accepted([*integer, (lit.AT_LEAST, 0)], PLAIN, texts) == ["7", "0"]
    assert accepted([(lit.AT_LEAST, 0)], PLAIN, texts) == ("7 7.0 0 -0 -0.0 1e+16 1e-07".split())
    assert accepted([], PLAIN, texts) == (
        "7 7.0 -7 0 -0 -0.0 7e0 70e-1 1e+16 1E+16 1e16 1e-07 1e-7 1.0e-07 1e5".split()
    )
    assert accepted([(lit.DIGITS, False)], PLAIN, texts)[:3] == ["7.0", "-0.0", "7e0"]
    assert accepted([(lit.DIGITS, True)], PLAIN, texts) == ["7", "-7", "0", "-0"]


def test_constants_of_the_plain_policy():
    both = [(lit.AMONG_CONSTANTS, frozenset((2, Fraction(1, 10_000_000), 10**16)))]
    texts = "2 2.0 2.00 2e0 1e-07 0.0000001 1e-7 1e+16 10000000000000000 1e16"
    assert accepted(both, PLAIN, texts) == ["2", "1e-07", "1e+16", "10000000000000000"]
    as_written = {2: {"2.0"}}
    assert accepted(both, PLAIN, texts, as_written)[:2] == ["2", "2.0"]
    assert accepted([*both, (lit.DIGITS, True)], PLAIN, texts, as_written) == [
        "2",
        "10000000000000000",
    ]
    assert accepted([*both, (lit.DIGITS, False)], PLAIN, texts, as_written) == [
        "2.0",
        "1e-07",
        "1e+16",
    ]
    huge = [(lit.AMONG_CONSTANTS, frozenset((10**4_500, Fraction(10**400 + 1, 4))))]
    assert accepted(huge, PLAIN, f"1{'0' * 4_500} 1{'0' * 4_499}") == [f"1{'0' * 4_500}"]


def test_any_exponent_moves_the_point_over_zeros():
    hundred = [(lit.AMONG_CONSTANTS, frozenset((100,)))]
    good = "100 1e2 1E+002 0.01e4 1000e-1 100.00e0 0.000000001e11 10000000e-5"
    assert accepted(hundred, ANY, good) == good.split()
    assert accepted(hundred, ANY, "1e3 10 1e-2 100.01 1e02.0 0e100") == []
    large = [(lit.AT_LEAST, exact(1e300))]
    assert (
        accepted(large, ANY, "1e300 1e299 9.99e299 10e299 1e5000") == "1e300 10e299 1e5000".split()
    )
    digits = "1" * (MOST_DIGITS + 1)
    assert accepted([(lit.INTEGER, True)], ANY, f"0.{digits[1:]}e99 0.{digits}e99")[:1] == [
        f"0.{digits[1:]}e99"
    ]


def test_a_zero_has_every_exponent():
    zero = [(lit.AMONG_CONSTANTS, frozenset((0,)))]
    good = "0 -0 0.0 0e9 0E-999999 -0.000e+12345 0e0 0.00000000000000000000000000e3"
    assert accepted(zero, ANY, good) == good.split()
    assert accepted([(lit.ABOVE, 0)], ANY, good) == []


@pytest.mark.parametrize(
    "step", [1, 6, 7, 20, 77, 1000, Fraction(1, 4), Fraction(5, 2), Fraction(7, 100)]
)
def test_multiples(step):
    language = multiples(step)
    for tenths in range(0, 4000, 3):
        value = Fraction(tenths, 100)
        for text in {decimal_text(value), f"{tenths / 100:.2f}", f"-{tenths / 100:.4f}"}:
            assert language.accepts(text.encode()) == (number(text) % step == 0), text
    for factor in (-(10**9), 10**9, 12345):
        assert language.accepts(decimal_text(exact(Fraction(step * factor))).encode())


def test_plain_decimals_and_nothing_else():
    conjunction = Numbers.of(NUMBER, [(lit.AT_LEAST, Fraction(-3, 2)), (lit.BELOW, 20)])
    dfa = decimals(conjunction)
    for parts in itertools.product(
        ["", "-"], ["0", "1", "19", "20", "01"], ["", ".", ".0", ".50", ".51"]
    ):
        text = "".join(parts)
        valid = re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text) is not None
        assert dfa.accepts(text.encode()) == (valid and -1.5 <= float(text) < 20), text
    assert with_float_forms(dfa).contains(dfa)
    assert with_exponents(dfa).contains(with_float_forms(dfa))


def test_numbers_that_no_automaton_holds():
    with pytest.raises(BudgetError, match="remainders"):
        accepted([(lit.MULTIPLE, 1_234_567, True)], PLAIN, "0")
    with pytest.raises(BudgetError, match="decimal places"):
        accepted([(lit.AT_LEAST, Fraction(1, 3))], PLAIN, "0")
    few = [(lit.MULTIPLE, 1_234_567, True), (lit.AT_LEAST, 1), (lit.AT_MOST, 10**7)]
    assert accepted(few, PLAIN, "1234567 2469134 2469135 12345670 9876536.0") == [
        "1234567",
        "2469134",
        "9876536.0",
    ]


def test_integers_left_out_and_multiples_of_integers():
    literals = [(lit.INTEGER, True), (lit.MULTIPLE, 7, True), (lit.AT_LEAST, 0)]
    assert accepted(literals, PLAIN, "0 -0 7 7.0 14 15 -7 700") == ["0", "7", "14", "700"]
    literals = [(lit.INTEGER, True), (lit.EXCEPT_CONSTANTS, frozenset((0, 12)))]
    assert accepted(literals, PLAIN, "0 -0 12 1 120 -12") == ["1", "120", "-12"]


def test_common_numbers_are_made_once():
    literals = [(lit.AT_LEAST, 0), (lit.AT_MOST, 1)]
    one, two = (number_language(Numbers.of(NUMBER, literals), PLAIN, {}) for _ in range(2))
    assert one is two


# --- strings -------------------------------------------------------------------------------------

SPECIAL = (
    'ab/"\\\b\f\n\r\t\x00\x0b\x1f\x7f\x80é\u07ff\u0800\ud7ff\ue000\uffff\U00010000😀\U0010ffff u9'
)
texts = st.text(SPECIAL, max_size=4)
LETTERS = dict(zip('"\\/\b\f\n\r\t', '"\\/bfnrt', strict=True))
PATTERNS = [
    "^[ab]*$",
    "^.{0,3}$",
    "^[^/]+$",
    "é|😀",
    r"^\W+$",
    "[\x00-\x1f]",
    "^(a|é|\U00010000|\uffff)*$",
    "^[\u07ff-\u0800]$",
    "^[\U0001f5ff-\U0001f601]+$",
    r"\u0000|u",
]


def ways(character):
    """(text, whether it is usual) of each spelling, hexadecimal digits in one case."""
    found = []
    if character >= " " and character not in '"\\':
        found.append((character.encode(), True))
    if character in LETTERS:
        found.append((b"\\" + LETTERS[character].encode(), True))
    code = character.encode("utf-16-be").hex()
    units = "".join("\\u" + code[i : i + 4] for i in range(0, len(code), 4))
    is_usual = character >= "\x7f" or (character < " " and character not in LETTERS)
    found.append((units.encode(), is_usual))
    found.append((units.upper().replace("\\U", "\\u").encode(), is_usual))
    return found


@st.composite
def written(draw, text):
    parts = [draw(st.sampled_from(ways(character))) for character in text]
    return b"".join(part for part, _ in parts), all(is_usual for _, is_usual in parts)


@st.composite
def string_languages(draw):
    """An automaton over strings, and a few strings that matter to it."""
    if draw(st.booleans()):
        pattern = draw(st.sampled_from(PATTERNS))
        return regex_dfa(pattern, dialect="ecma"), []
    words = draw(st.lists(texts, min_size=1, max_size=6))
    return Dfa.from_strings([word.encode() for word in words]), words


def is_minimal(dfa):
    return Dfa(dfa.classes, dfa.table, dfa.start, dfa.labels) == dfa


@settled(150)
@given(string_languages(), st.data())
def test_strings_are_accepted_by_value_and_escape(language, data):
    strings, words = language
    usual, every = spelled(strings), spelled(strings, True)
    assert is_minimal(usual)
    assert is_minimal(every)
    candidates = st.sampled_from(words) | texts if words else texts
    for _ in range(8):
        text = data.draw(candidates)
        spelling, is_usual = data.draw(written(text))
        assert json.loads(b'"' + spelling + b'"') == text
        inside = strings.accepts(text.encode())
        assert every.accepts(spelling + b'"') == inside
        assert usual.accepts(spelling + b'"') == (inside and is_usual)


@settled(60)
@given(string_languages())
def test_every_spelling_is_in_a_language_or_its_complement(language):
    strings, _ = language
    inside, outside = spelled(strings, True), spelled(strings.complement(), True)
    assert (inside & outside).is_empty
    assert inside | outside == any_string()


@settled(100)
@given(st.text())
def test_what_json_dumps_writes_is_accepted(text):
    literal, anything = spelled(Dfa.literal(text.encode())), any_key(PLAIN)
    for ascii_only in (False, True):
        body = json.dumps(text, ensure_ascii=ascii_only)[1:].encode()
        assert any_string().accepts(body)
        assert literal.accepts(body)
        assert anything.accepts(body)


@pytest.mark.parametrize(
    ("body", "is_valid"),
    [
        (b'"', True),
        (b'\\ud83d\\ude00"', True),
        (b'\\uD83D\\uDE00"', True),
        (b'\\u0000\\/\\b\x7f"', True),
        (b'\\ud83d"', False),
        (b'\\ud83d\\u0041"', False),
        (b'\\ud83dx"', False),
        (b'\\ude00"', False),
        (b'\xed\xa0\xbd"', False),
        (b'\xc0\x80"', False),
        (b'\n"', False),
        (b'\\a"', False),
        (b'\\u00g0"', False),
        (b'""', False),
    ],
)
def test_bodies_of_strings(body, is_valid):
    assert any_string().accepts(body) == is_valid
    assert spelled(any_text(), True).accepts(body) == is_valid


def test_a_state_that_reads_like_the_inside_of_an_escape():
    """Such a state and a node of an escape are one state of the minimal automaton."""
    strings = regex_dfa("^(yu[dD][eE]00x|😀x)$", dialect="ecma")
    assert is_minimal(spelled(strings))
    assert spelled(strings).accepts(b'\\ud83d\\ude00x"')


def test_many_different_characters():
    """Scattered characters need more nodes than there is room for at first."""
    codes = [0x3400 + i * i % 20_011 for i in range(1, 4_000)]
    strings = Dfa.from_strings([chr(code).encode() for code in codes])
    language = spelled(strings)
    assert is_minimal(language)
    for code in range(0x3400, 0x3400 + 2_000):
        inside = code in set(codes)
        assert language.accepts(f'\\u{code:04x}"'.encode()) == inside
        assert language.accepts(f'{chr(code)}"'.encode()) == inside


@pytest.mark.large
def test_escapes_of_too_many_strings():
    """Every character of such a set would need its own states of four digits."""
    words = ["".join(chr(0x4E00 + i * j % 20_011) for j in range(3, 23)) for i in range(20_000)]
    with pytest.raises(BudgetError, match="fewer or shorter strings"):
        spelled(Dfa.from_strings([word.encode() for word in words]))


def test_labels_are_kept():
    keys = Dfa.from_strings(["é".encode(), b"a/b", b"plain"], [7, 3, 12])
    language = key_language(keys, PLAIN)
    for body, label in [(b'\\u00e9"', 7), (b'a\\/b"', 3), (b'plain"', 12), (b'plai\\u006e"', 0)]:
        assert language.labels[language.run(body)] == label
    everything = key_language(keys, ANY)
    assert everything.labels[everything.run(b'plai\\u006E"')] == 12
    assert key_language(Dfa.nothing(), PLAIN).is_empty


@settled(60)
@given(st.text(SPECIAL, max_size=3), st.booleans())
def test_listed_spellings(text, every):
    expected = {b""}
    for character in text:
        forms = set()
        for form, is_usual in ways(character):
            if every or is_usual:
                digit_cases = (
                    [
                        {c, c.upper()} if form[:2] == b"\\u" and c in "abcdef" else {c}
                        for c in form.decode("utf-8").replace("\\U", "\\u").lower()
                    ]
                    if form[:2] == b"\\u"
                    else None
                )
                forms |= (
                    {"".join(p).encode() for p in itertools.product(*digit_cases)}
                    if digit_cases
                    else {form}
                )
        expected = {a + b for a in expected for b in forms}
    assert spellings(text, every, limit=10**6) == sorted(expected)
    found = spellings_of(text, ANY if every else PLAIN)
    if len(expected) <= 64:
        assert found == sorted(expected)
    else:
        assert isinstance(found, Dfa)
        assert found.count() == len(expected)
        assert all(map(found.accepts, expected))


def test_half_a_pair_has_no_spelling():
    assert spellings_of("a\ud83d", PLAIN) == []


@pytest.mark.parametrize("every", [False, True])
def test_one_character(every):
    language = character_spellings(every)
    for text in SPECIAL:
        for form, is_usual in ways(text):
            assert language.accepts(form) == (every or is_usual)
    assert not language.accepts(b"")
    assert not language.accepts(b"ab")
    assert not language.accepts(b'"')


# --- conjunctions over strings -------------------------------------------------------------------


def formulas():
    return Formulas(Documents({}), ["date"])


def pattern(text, held=True):
    return (lit.MATCHES, ("pattern", text), held)


@pytest.mark.parametrize(
    "literals",
    [
        [pattern("^[a-c/é]+$"), (lit.MIN_LENGTH, 2), (lit.MAX_LENGTH, 3)],
        [pattern("a"), pattern("b", False), (lit.EXCEPT_CONSTANTS, frozenset(("a", "aa")))],
        [(lit.EXCEPT_CONSTANTS, frozenset(("a", "é", "\ud800")))],
        [(lit.AMONG_CONSTANTS, frozenset(("a", "b/", "é😀", "\ud800"))), pattern("[^b]$")],
        [(lit.AMONG_CONSTANTS, frozenset(("ab", "c" * 40)))],
        [(lit.AMONG_CONSTANTS, frozenset("é" * n for n in range(1, 9)))],
        [(lit.MIN_LENGTH, 1), (lit.MAX_LENGTH, 2)],
    ],
)
def test_string_conjunctions(literals):
    everything = formulas()
    conjunction = Strings.of(STRING, literals, everything)
    alphabet = "abc/é😀"
    candidates = [
        "c" * 40,
        *("".join(p) for n in range(4) for p in itertools.product(alphabet, repeat=n)),
    ]
    for policy in (PLAIN, ANY):
        language = string_language(conjunction, everything, policy)
        assert is_minimal(language)
        for text in candidates:
            inside = (
                conjunction._fits(text)
                and all(everything.passes(test, text) for test in conjunction.passes)
                and not any(everything.passes(test, text) for test in conjunction.fails)
            )
            for ascii_only in (False, True):
                body = json.dumps(text, ensure_ascii=ascii_only)[1:]
                assert language.accepts(body.encode()) == inside, text
                slashes = body.replace("/", "\\/")
                assert language.accepts(slashes.encode()) == inside, text


def test_strings_are_remembered_up_to_a_number():
    everything = formulas()
    spelling._known_strings.clear()
    for i in range(spelling._MOST_KNOWN + 5):
        conjunction = Strings.of(STRING, [(lit.AMONG_CONSTANTS, frozenset((f"{i}",)))])
        one = string_language(conjunction, everything, PLAIN)
        assert string_language(conjunction, everything, PLAIN) is one
    assert len(spelling._known_strings) == spelling._MOST_KNOWN


def test_of_large_automata_the_oldest_go(monkeypatch):
    everything = formulas()
    spelling._known_strings.clear()
    monkeypatch.setattr(spelling, "_LARGE", 0)

    def made(pattern):
        conjunction = Strings.of(STRING, [(lit.MATCHES, ("pattern", pattern), True)])
        return string_language(conjunction, everything, PLAIN)

    first = made("^a{1,50}$")
    monkeypatch.setattr(spelling, "_MOST_CELLS", first.table.size * 5 // 2)
    second = made("^b{1,50}$")
    assert made("^a{1,50}$") is first
    third = made("^c{1,50}$")
    assert [*spelling._known_strings.values()] == [second, third]
    large = made("^d{1,200}$")
    assert [*spelling._known_strings.values()] == [large]


def test_free_strings_take_every_spelling():
    free = Strings.of(STRING, [])
    assert is_unconstrained(free)
    assert string_language(free, formulas(), PLAIN) is any_string()
    bound = Strings.of(STRING, [(lit.MAX_LENGTH, 3)])
    assert not is_unconstrained(bound)
    assert not string_language(bound, formulas(), PLAIN).accepts(b'\\u0061"')
    assert string_language(bound, formulas(), ANY).accepts(b'\\u0061"')
    assert any_key(ANY) is any_string()


@pytest.mark.parametrize(
    ("literals", "counted"),
    [
        ([], False),
        ([(lit.MAX_LENGTH, 32), pattern("a")], False),
        ([(lit.MAX_LENGTH, 33), pattern("a")], True),
        ([(lit.MAX_LENGTH, 33)], True),
        ([(lit.MIN_LENGTH, 100)], True),
        ([(lit.MIN_LENGTH, 100), pattern("a")], True),
        ([(lit.MAX_LENGTH, 100), (lit.EXCEPT_CONSTANTS, frozenset(("a",)))], True),
        ([(lit.AMONG_CONSTANTS, frozenset(("a" * 50,)))], False),
    ],
)
def test_lengths_that_need_a_counter(literals, counted):
    assert needs_counter(Strings.of(STRING, literals)) == counted


def test_large_sets_of_strings():
    words = [f"value-{i:05d}" for i in range(20_000)]
    some = [f"region/{i % 50}/zone/{i}" for i in range(3_000)]
    for texts in (words, some):
        conjunction = Strings.of(STRING, [(lit.AMONG_CONSTANTS, frozenset(texts))])
        language = string_language(conjunction, formulas(), PLAIN)
        assert language.accepts(texts[1234].encode() + b'"')
        assert language.accepts(texts[1234].replace("/", "\\/").encode() + b'"')
        assert not language.accepts(texts[1234].encode() + b'1"')


def test_tests_of_keys():
    everything = formulas()
    assert language_of_test(("pattern", "^x"), everything).accepts(b"xy")
    assert not language_of_test(("pattern", "^x"), everything).accepts(b"yx")
