"""Formats as automata, against the official suite, the calendar and a validator."""

from __future__ import annotations

import datetime
import gzip
import ipaddress
import json
import random

import jsonschema_rs
import numpy as np
import pytest

from fastmask.schema.formats import LONGEST, format_dfa
from fastmask.schema.keywords import ASSERTED_FORMATS

#: Tests of the official suite whose verdict an automaton here does not share.
BEYOND_AUTOMATA = {
    "hostname": "Punycode is not decoded",
    "idn-hostname": "Punycode is not decoded, so labels that begin with xn-- are left out",
    "regex": "back references to names are no regular language",
}

#: Formats of which the validator refuses some texts that their documents allow: Greek outside its
#: block beside a keraia, unassigned characters in quoted local parts.
STRICTER_VALIDATOR = {"idn-hostname", "idn-email"}


def accepts(name, text):
    data = text.encode("utf-8", "surrogatepass")
    return format_dfa(name).accepts(data) and len(text) <= LONGEST.get(name, len(text))


class Walker:
    """Random texts that an automaton accepts."""

    def __init__(self, dfa):
        self.dfa = dfa
        far = dfa.n_states
        left = np.where(dfa.labels != 0, 0, far)  # bytes that still have to come, at least
        for _ in range(far):
            left[0] = far
            nearer = np.minimum(left, 1 + left[dfa.table].min(axis=1))
            if (nearer == left).all():
                break
            left = nearer
        self.left = left.tolist()

    def text(self, rng, length):
        """A random walk, then the shortest way to an end."""
        dfa, state, text = self.dfa, self.dfa.start, bytearray()
        while dfa.labels[state] == 0 or (len(text) < length and rng.random() < 0.9):
            moves = dfa.byte_ranges(state)
            if not moves:
                break
            if len(text) >= length:
                moves = [min(moves, key=lambda move: self.left[move[2]])]
            low, high, state = rng.choice(moves)
            text.append(rng.randint(low, high))
        return text.decode()


def test_every_asserted_format_has_an_automaton():
    for name in ASSERTED_FORMATS:
        assert not format_dfa(name).is_empty


@pytest.mark.parametrize("draft", ["draft2020-12", "draft7"])
def test_format_tests_of_the_official_suite(data_folder, draft):
    number = 0
    with gzip.open(data_folder / f"json-schema-suite-{draft}.jsonl.gz", "rt") as file:
        for group in map(json.loads, file):
            name = group["file"].removeprefix("optional/format/").removesuffix(".json")
            name = "regex" if name == "ecmascript-regex" else name
            if not group["file"].startswith("optional/format/") or name not in ASSERTED_FORMATS:
                continue
            for test in group["tests"]:
                text = test["data"]
                if not isinstance(text, str):
                    continue
                number += 1
                verdict = accepts(name, text)
                if verdict != test["valid"]:
                    beyond = "xn--" in text.lower() or r"\k" in text or text == "\u00fc" * 60
                    assert beyond, (name, text, test["description"])
                    assert name in BEYOND_AUTOMATA, (name, text, test["description"])
    assert number > 500


@pytest.mark.parametrize("name", sorted(ASSERTED_FORMATS - STRICTER_VALIDATOR))
def test_texts_of_a_format_satisfy_a_validator(name):
    rng = random.Random(name)
    walker = Walker(format_dfa(name))
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "format": name}
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    for length in (8, 20, 60, 150):
        for _ in range(40):
            text = walker.text(rng, length)
            if len(text) <= LONGEST.get(name, len(text)) and "xn--" not in text.lower():
                assert validator.is_valid(text), text


def test_every_day_of_the_calendar_and_no_other():
    for year in ("0000", "0004", "1900", "1999", "2000", "2023", "2024", "2100", "2400"):
        for month in range(14):
            for day in range(33):
                text = f"{year}-{month:02}-{day:02}"
                try:
                    # Year 0 is a leap year, as 2000 is; datetime begins with year 1.
                    known = "2000" if year == "0000" else year
                    datetime.date(int(known), month, day)
                    real = True
                except ValueError:
                    real = False
                assert accepts("date", text) == real, text
                assert accepts("date-time", f"{text}T00:00:00Z") == real, text


def test_leap_seconds_end_a_day_of_universal_time():
    for hours in range(24):
        for minutes in (0, 15, 30, 45):
            for sign in (1, -1):
                local = (23 * 60 + 59 + sign * (60 * hours + minutes)) % 1440
                clock = f"{local // 60:02}:{local % 60:02}:60"
                offset = f"{'+' if sign > 0 else '-'}{hours:02}:{minutes:02}"
                assert accepts("time", clock + offset)
                assert accepts("time", f"{clock}.5{offset}")
                assert not accepts("time", f"{clock}.{offset}")
                wrong = f"{(local // 60 + 1) % 24:02}:{local % 60:02}:60"
                assert not accepts("time", wrong + offset)


def test_addresses_against_ipaddress():
    rng = random.Random(1)
    parts = ("0", "1", "10", "199", "249", "255", "256", "01", "", "a")
    for _ in range(3_000):
        text = ".".join(rng.choice(parts) for _ in range(rng.choice((3, 4, 4, 4, 5))))
        try:
            ipaddress.IPv4Address(text)
            real = True
        except ValueError:
            real = False
        assert accepts("ipv4", text) == real, text
    groups = ("0", "1", "ffff", "abc", "", "", "12345", "g", "1.2.3.4", "1.2.3.256")
    for _ in range(20_000):
        text = ":".join(rng.choice(groups) for _ in range(rng.randint(1, 9)))
        text = rng.choice(("", "", ":")) + text + rng.choice(("", "", ":"))
        try:
            ipaddress.IPv6Address(text)
            real = True
        except ValueError:
            real = False
        assert accepts("ipv6", text) == real, text


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("hostname", ["a" * 63, "a.b-c.d", "1.2", "xn--nxasmq6b"], ["a" * 64, "a-", "a_b"]),
        ("hostname", [".".join(["a" * 60] * 4)], [".".join(["a" * 62] * 5), "ab--c", "abc-"]),
        ("email", ["a@b", "a" * 64 + "@b.c", '"a b"@c.d', "a@[127.0.0.1]"], ["a" * 65 + "@b.c"]),
        ("email", ["a+b@c.de"], ["a@b..c", "a@-b.c", "a@[1.2.3]", "\u00e9@b.c", "a@b.c\n"]),
        ("idn-email", ["\u00e9@\u00e9.com", "a@b.c"], ["\u00e9", "@b", "a@"]),
        ("uuid", ["0" * 8 + "-0000-0000-0000-" + "F" * 12], ["0" * 32]),
        ("duration", ["P1W", "PT1M", "P1DT1S"], ["P", "PT", "P1H", "P1Y1D"]),
        ("uri", ["a:", "a:b", "http://[::1]:80/?q#f"], ["//a", "a", "http://[::1", "a:\u00e9"]),
        ("uri-reference", ["", "a/b", "//h", "?q", "#f"], ["a b", "1:b"]),
        ("iri", ["a:\u00e9", "http://\u4e2d/"], ["a:\ue000", "\u00e9:a"]),
        ("iri-reference", ["\u00e9", "?\ue000"], ["#\ue000", "a b"]),
        ("json-pointer", ["", "/", "/a~0b~1"], ["a", "/~", "/~2"]),
        ("relative-json-pointer", ["0", "12#", "3/a"], ["", "-1", "01", "1##"]),
        ("uri-template", ["{a}", "x{?q,r*}y", "{a:3}"], ["{", "{a", "{}", "{a:0}", "a b"]),
        ("regex", ["^(a|b)+$", r"\d{2,3}", r"[^\]a-z]", r"(?=a)b"], ["(", "a**", "[b-a]"]),
        ("regex", [r"\p{Letter}", "(?<x>a)"], [r"\p{Foo}", "(?:", "]", r"\a", "{", "a{3,2}"]),
    ],
)
def test_single_texts(name, good, bad):
    assert all(accepts(name, text) for text in good), name
    assert not any(accepts(name, text) for text in bad), name
