"""Automata that are kept in files, against those made from the grammars of their formats."""

from __future__ import annotations

import pytest

import fastmask as fm
from fastmask.automata import Dfa
from fastmask.cli.sources import byte_vocabulary
from fastmask.schema.formats import made
from fastmask.schema.ready import READY, packed, ready
from fastmask.schema.string_text import spelled


@pytest.mark.large
@pytest.mark.parametrize("name", READY)
def test_a_file_holds_the_automaton_of_its_format(name):
    made_now = made(name.removesuffix("-texts"))
    if name.endswith("-texts"):
        made_now = spelled(made_now)
    kept = ready(name)
    assert kept == made_now, f"write {name}.xz anew: packed(...) has its content"
    assert kept.digest() == made_now.digest()


def test_a_file_is_as_short_as_it_can_be():
    dfa = Dfa.from_strings([b"a" * 300, b"\xff", b"xyz"])
    content = packed(dfa)
    assert len(content) < 400
    assert ready("date") is None


@pytest.mark.large
@pytest.mark.parametrize("name", ["idn-hostname", "idn-email", "regex"])
def test_large_automata_are_laid_out_once(name):
    compiled = fm.GrammarCompiler(byte_vocabulary()).compile_json_schema(
        {"type": "string", "format": name}
    )
    text = {"idn-hostname": "bücher.example", "idn-email": "ü@bücher.example", "regex": "a(b|c)*"}
    matcher = fm.GrammarMatcher(compiled)
    assert matcher.accept_bytes(f'"{text[name]}')
    assert matcher.is_token_allowed(ord('"'))
    tables = compiled.tables
    for _ in range(3):
        again = fm.GrammarMatcher(compiled)
        assert again.accept_bytes(f'"{text[name]}"')
        assert again.is_completed()
    assert compiled.tables is tables
