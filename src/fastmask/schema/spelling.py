"""The text policy of scalars: from conjunctions over values to automata over JSON texts.

The algebra says which numbers and strings a conjunction holds; here is which bytes may spell them.
Values come first and exactly: an automaton of the numbers as plain decimals, or of the strings as
UTF-8. Only then do spellings come in (exponents, escapes), by constructions that cannot add a value
or lose one. Automata are remembered by what they say, so the common ones (an integer from 0, any
number from 0 to 1) are made once per process.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from ..automata import Dfa
from ..errors import BudgetError
from .constants import Number, exact
from .counting import Characters
from .exponents import with_exponents, with_float_forms
from .formats import format_dfa
from .number_text import decimal_text, decimals, json_numbers, numbers_between
from .policy import Policy
from .ready import ready
from .scalars import Numbers, Strings
from .string_text import (
    any_string,
    any_usual_string,
    character_spellings,
    spelled,
    spellings,
    without_quote,
)
from .strings import class_language, language
from .values import Test, Value

if TYPE_CHECKING:
    from .formulas import Formulas

__all__ = [
    "any_key",
    "any_string",
    "counted_strings",
    "few_spellings",
    "character_spellings",
    "constant_texts",
    "is_unconstrained",
    "key_language",
    "long_list",
    "needs_counter",
    "number_language",
    "numbers_languages",
    "spellings_of",
    "string_language",
    "test_language",
]

#: Length bounds past this go into a counter beside the automaton.
_FEW_CHARACTERS = 3
_COUNTED_LENGTH = 32
_DIGITS = re.compile(r"-?(0|[1-9][0-9]*)")
_PLAIN = re.compile(r"[ !#-.0-\[\]-~]*")


# Numbers.


def number_language(
    numbers: Numbers, policy: Policy, spellings: Mapping[Number, Iterable[str]]
) -> Dfa:
    """The texts of the numbers of a conjunction.

    Parameters
    ----------
    numbers : Numbers
    policy : Policy
        ``numbers="plain"``: an integer is digits alone (``-0`` only where negative numbers may
        stand), a constant is spelled as `json.dumps` or the schema spells it, a number without any
        bound in every way, all others as plain decimals or as ``repr(float)`` prints them.
        ``"any"``: every spelling whose exponent moves the point over at most 20 written digits.
    spellings : mapping
        How the schema spells its constants.

    Raises
    ------
    BudgetError
        For divisors, bounds or sets that need too many states.
    """
    if numbers.allowed is not None and policy.numbers == "plain":
        return Dfa.from_strings(constant_texts(numbers, numbers.allowed, spellings))
    return _numbers(numbers.identity(), policy.numbers == "any")


def numbers_languages(
    several: list[Numbers], policy: Policy, spellings: Mapping[Number, Iterable[str]]
) -> list[Dfa]:
    """Languages that together are those of several conjunctions; `number_language` has the rest.

    Where only values matter conjunctions are joined before the spellings of ``repr(float)`` come
    in, which take the most states.
    """
    sifted = [n for n in several if _is_by_value(n) and policy.numbers == "plain"]
    if len(sifted) < 2:
        return [number_language(n, policy, spellings) for n in several]
    others = [number_language(n, policy, spellings) for n in several if n not in sifted]
    return [_joined(tuple(n.identity() for n in sifted)), *others]


def _is_by_value(n: Numbers) -> bool:
    is_sifted = bool(n.multiples or n.others or n.excluded)
    return is_sifted and n.allowed is None and not n.integer and n.digits is None


@lru_cache(maxsize=64)
def _joined(identities: tuple[Any, ...]) -> Dfa:
    union = Dfa.nothing()
    for identity in identities:
        union = union | decimals(_of_identity(identity))
    return with_float_forms(union)


def _of_identity(identity: tuple[Any, ...]) -> Numbers:
    """The conjunction with an identity."""
    n = Numbers()
    n.lower, n.above, n.upper, n.below, n.integer, n.digits, *sets = identity
    n.multiples, n.others, n.allowed, n.excluded = tuple(sets[0]), tuple(sets[1]), *sets[2:]
    return n


@lru_cache(maxsize=256)
def _numbers(identity: tuple[Any, ...], every: bool) -> Dfa:
    """The language of the conjunction with this identity."""
    n = _of_identity(identity)
    bounds = (n.lower, n.above, n.upper, n.below)
    is_sifted = bool(n.multiples or n.others or n.excluded)
    if bounds == _NO_BOUNDS and n.allowed is None and n.integer is None and not is_sifted:
        dfa = json_numbers()
    elif every:
        dfa = decimals(n) if n.digits else with_exponents(decimals(n))
    elif n.integer and n.digits is not False:
        dfa = numbers_between(*bounds, "none")
        if is_sifted:
            dfa = dfa & decimals(n)
    else:
        dfa = with_float_forms(decimals(n))
    if n.digits is None:
        return dfa
    digits = numbers_between(*_NO_BOUNDS, "none")
    return dfa & digits if n.digits else dfa - digits


_NO_BOUNDS = (None, False, None, False)


def constant_texts(
    numbers: Numbers, constants: Iterable[Number], spellings: Mapping[Number, Iterable[str]]
) -> list[bytes]:
    """Constants of a conjunction as `json.dumps` or the schema spells them.

    Integers that must not be written with digits alone are spelled as floats.
    """
    texts: set[str] = set()
    for number in constants:
        texts.update(_dumped(number, numbers.digits is False), spellings.get(number, ()))
    if numbers.digits is not None:
        texts = {t for t in texts if (_DIGITS.fullmatch(t) is not None) is numbers.digits}
    return [text.encode() for text in texts]


def _dumped(number: Number, as_float: bool) -> list[str]:
    """What `json.dumps` makes of a number, as an integer or as a float; if neither, its decimal."""
    is_whole = isinstance(number, int)
    texts = [decimal_text(number)] if is_whole and not as_float else []
    if not texts or not -_FIRST_EXPONENT < number < _FIRST_EXPONENT:
        try:
            nearest = float(number)
        except OverflowError:
            nearest = math.inf
        if math.isfinite(nearest) and exact(nearest) == number:
            texts.append(repr(nearest))
    return texts or [decimal_text(number) + ".0" * is_whole]


_FIRST_EXPONENT = 10**16  # from here on repr(float) is no plain decimal


# Strings.


def is_unconstrained(strings: Strings) -> bool:
    """Whether a conjunction holds all strings; they take every JSON spelling."""
    return bool(strings.identity() == _ALL_STRINGS)


_ALL_STRINGS = Strings().identity()


def needs_counter(strings: Strings) -> bool:
    """Whether a conjunction has length bounds better counted by a register than by states.

    Strings without a pattern share all that is known of them, so few states are dearer.
    """
    few = _COUNTED_LENGTH if strings.passes or strings.fails else _FEW_CHARACTERS
    return strings.allowed is None and max(strings.shortest, strings.longest or 0) > few


def counted_strings(
    strings: Strings,
    formulas: Formulas,
    policy: Policy,
    restricted: Callable[[Dfa], Dfa] = lambda texts: texts,
) -> tuple[Characters, int, int | None]:
    """The strings of a conjunction without its bounds, ``restricted`` to some; and the bounds.

    Raises
    ------
    BudgetError
        For patterns, formats or sets that need too many states; for a least length past 2**30, and
        for one where the pattern lets some lengths through and others not.
    """
    free = Strings()
    free.passes, free.fails, free.excluded = strings.passes, strings.fails, strings.excluded
    least, most = strings.shortest, strings.longest
    if least > _MOST_CHARACTERS:
        raise BudgetError("characters of one string", _MOST_CHARACTERS, "lower minLength")
    if most is not None and most > _MOST_CHARACTERS:
        most = None  # no text is so long
    found = _characters(restricted(_language(free, formulas, policy)))
    if least and not (found.is_dense or (most is None and found.is_endless)):
        if least * found.dfa.n_states > _FOLDED_STATES:
            raise BudgetError(
                "states of a pattern times minLength", _FOLDED_STATES, "lower minLength"
            )
        free.shortest, least = least, 0
        found = _characters(restricted(_language(free, formulas, policy)))
    return found, least, most


_FOLDED_STATES = 50_000
_MOST_CHARACTERS = 1 << 30  # as many as counters hold


def _language(strings: Strings, formulas: Formulas, policy: Policy) -> Dfa:
    if is_unconstrained(strings):
        return any_key(policy)
    return string_language(strings, formulas, policy)


@lru_cache(maxsize=64)
def _characters(texts: Dfa) -> Characters:
    return Characters(texts)


def long_list(strings: Strings, formulas: Formulas, policy: Policy) -> list[bytes] | None:
    """The texts behind the opening quote of a conjunction of very many constants.

    None for other conjunctions, and where some constant has too many spellings.
    """
    if strings.allowed is None or len(strings.allowed) < _LONG_LIST:
        return None
    texts = _listed_texts(strings, formulas, policy)
    return None if texts is None else [text + b'"' for text in texts]


def short_list(strings: Strings, formulas: Formulas, policy: Policy) -> list[bytes] | None:
    """The texts of a conjunction of few and short constants, without quotes; None for others."""
    if strings.allowed is None or sum(map(len, strings.allowed)) > _SHORT_LIST:
        return None
    texts = _listed_texts(strings, formulas, policy)
    return texts if texts is not None and sum(map(len, texts)) <= _SHORT_LIST else None


def _listed_texts(strings: Strings, formulas: Formulas, policy: Policy) -> list[bytes] | None:
    """The texts of constants, without quotes; None where some have too many spellings."""
    texts = _passing(strings, formulas)
    if policy.strings == "usual" and _PLAIN.fullmatch("".join(texts)):
        return [text.encode() for text in texts]
    found: list[bytes] = []
    for text in texts:
        of_one = few_spellings(text, policy)
        if of_one is None:
            return None
        found += of_one
    return found


def _passing(strings: Strings, formulas: Formulas) -> list[str]:
    """The constants that pass the tests of a conjunction."""
    constants = list(strings.allowed or ())
    if not strings.passes and not strings.fails:
        return constants
    return [
        text
        for text in constants
        if all(formulas.passes(test, text) for test in strings.passes)
        and not any(formulas.passes(test, text) for test in strings.fails)
    ]


_LONG_LIST = 500


def string_language(strings: Strings, formulas: Formulas, policy: Policy) -> Dfa:
    """What may follow the opening quote of a string of a conjunction, closing quote included.

    Raises
    ------
    BudgetError
        For patterns, formats, lengths or sets that need too many states.
    """
    identity = strings.identity()
    if identity == _ALL_STRINGS:
        return any_string()
    every = policy.strings == "any"
    known = _known_strings.get((identity, every))
    if known is not None:
        return known
    if strings.allowed is None:
        name = _only_format(strings)
        if name is not None:
            return _format_texts(name, every)
        dfa = spelled(language(formulas, strings), every)
    else:
        dfa = _these_strings(_passing(strings, formulas), every)
    _known_strings[identity, every] = dfa
    is_large = dfa.table.size > _LARGE
    while len(_known_strings) > _MOST_KNOWN or (is_large and _are_too_large()):
        _known_strings.popitem(last=False)
    return dfa


def _are_too_large() -> bool:
    """Whether the oldest one has to go."""
    kept = list(_known_strings.values())
    return len(kept) > 1 and sum(dfa.table.size for dfa in kept) > _MOST_CELLS


def _only_format(strings: Strings) -> str | None:
    """The format that is all a conjunction asks for, if it is so."""
    if len(strings.passes) != 1 or strings.fails or strings.excluded:
        return None
    test = strings.passes[0]
    if isinstance(test, Value) or test[0] != "format":
        return None
    return test[1] if strings.shortest == 0 and strings.longest is None else None


@cache
def _format_texts(name: str, every: bool) -> Dfa:
    dfa = None if every else ready(f"{name}-texts")
    return spelled(format_dfa(name), every) if dfa is None else dfa


_MOST_KNOWN = 1_024
_LARGE = 10_000  # cells
_MOST_CELLS = 4_000_000
_known_strings: OrderedDict[tuple[Any, bool], Dfa] = OrderedDict()


def _these_strings(texts: list[str], every: bool) -> Dfa:
    """Some strings: spelling by spelling while they are few, for that is the fastest way."""
    if not every and _PLAIN.fullmatch("".join(texts)):
        return Dfa.from_strings([text.encode() + b'"' for text in texts])
    found: list[bytes] = []
    for text in texts:
        of_one = spellings(text, every)
        if of_one is None or len(found) + len(of_one) > _FEW_SPELLINGS:
            utf8 = [text.encode() for text in texts if not _HALF.search(text)]
            return spelled(Dfa.from_strings(utf8), every)
        found += of_one
    return Dfa.from_strings([text + b'"' for text in found])


_FEW_SPELLINGS = 64
_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair: no text spells it


# Keys.


def key_language(keys: Dfa, policy: Policy) -> Dfa:
    """The texts of some keys, given by their UTF-8; closing quote included, labels kept."""
    return spelled(keys, policy.strings == "any")


def any_key(policy: Policy) -> Dfa:
    """The texts of all keys beside which others are named; closing quote included."""
    return any_string() if policy.strings == "any" else any_usual_string()


def few_spellings(key: str, policy: Policy) -> list[bytes] | None:
    """The texts of one key, without quotes, or None where they are too long to be listed."""
    if policy.strings == "usual" and _PLAIN.fullmatch(key):
        return [key.encode()]
    limit = max(1, min(64, _LISTED_CHARACTERS // max(1, len(key))))
    return spellings(key, policy.strings == "any", limit)


_LISTED_CHARACTERS = 512
_SHORT_LIST = 256


def spellings_of(key: str, policy: Policy) -> list[bytes] | Dfa:
    """The texts of one key, without quotes: a list, or an automaton where they are over 64."""
    every = policy.strings == "any"
    found = spellings(key, every)
    if found is not None:
        return found
    return without_quote(spelled(Dfa.literal(key.encode()), every))


def test_language(test: Test, formulas: Formulas) -> Dfa:
    """The keys that pass a test, as UTF-8."""
    return class_language(formulas, test)
