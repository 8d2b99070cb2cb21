"""The grammars in ``grammars/`` and the field's complaints: texts that must pass, texts that must
not.

Each text goes to the engine, byte by byte over a vocabulary of single bytes, and where it is short
to the judge too. Other readers of the same languages look over the verdicts where they are
installed.
"""

from __future__ import annotations

import configparser
import json
import random
from functools import cache
from pathlib import Path

import pytest

import fastmask as fm
from fastmask.errors import GrammarSyntaxError
from fastmask.grammar.core import Grammar
from judge import Judge, random_text

FOLDER = Path(__file__).parent / "grammars"
NAMES = sorted(path.stem for path in FOLDER.glob("*.texts"))
BYTES = fm.Vocabulary([bytes([byte]) for byte in range(256)] + [b"<end>"], eos_token_ids=[256])
COMPILER = fm.GrammarCompiler(BYTES)
LONGEST_FOR_THE_JUDGE = 250


def read_grammar(name: str) -> Grammar:
    path = FOLDER / f"{name}.gbnf"
    if path.exists():
        return Grammar.from_gbnf(path.read_text(encoding="utf-8"))
    pytest.importorskip("lark")
    return Grammar.from_lark((FOLDER / f"{name}.lark").read_text(encoding="utf-8"))


def read_texts(name: str) -> list[tuple[str, str]]:
    """("accept" or "refuse", text) for each part of a file, without its last line break."""
    content = (FOLDER / f"{name}.texts").read_text(encoding="utf-8").removesuffix("\n")
    parts = f"\n{content}".split("\n=== ")[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


@cache
def engines(name: str) -> tuple[fm.CompiledGrammar, Judge]:
    grammar = read_grammar(name)
    return COMPILER.compile(grammar), Judge(grammar)


def engine_matches(compiled: fm.CompiledGrammar, data: bytes) -> bool:
    matcher = fm.GrammarMatcher(compiled)
    return matcher.accept_bytes(data) and matcher.is_completed()


def check(compiled: fm.CompiledGrammar, judge: Judge, text: str, expected: bool) -> None:
    data = text.encode()
    assert engine_matches(compiled, data) == expected, text
    if len(data) <= LONGEST_FOR_THE_JUDGE:
        assert judge.matches(data) == expected, text


@pytest.mark.parametrize("name", NAMES)
def test_texts(name):
    texts = read_texts(name)
    assert {verdict for verdict, _ in texts} == {"accept", "refuse"}
    for verdict, text in texts:
        check(*engines(name), text, verdict == "accept")


def test_sql_statements():
    compiled, judge = engines("sql")
    statements = (FOLDER / "sql.statements").read_text(encoding="utf-8").splitlines()
    assert len(statements) > 150
    for statement in statements:
        assert engine_matches(compiled, statement.encode()), statement
    for statement in statements[::20]:
        assert judge.matches(statement), statement


def test_sql_verdicts_are_those_of_sqlglot():
    sqlglot = pytest.importorskip("sqlglot")

    def reads(text: str) -> bool:
        try:
            return len([tree for tree in sqlglot.parse(text) if tree is not None]) == 1
        except sqlglot.errors.SqlglotError:
            return False

    for statement in (FOLDER / "sql.statements").read_text(encoding="utf-8").splitlines():
        assert reads(statement), statement
    for verdict, text in read_texts("sql"):
        assert reads(text) == (verdict == "accept"), text


def test_ini_files_are_read_by_configparser():
    for verdict, text in read_texts("ini"):
        parser = configparser.RawConfigParser(strict=False)
        if verdict == "accept":
            parser.read_string(text)
        else:
            with pytest.raises(configparser.Error):
                parser.read_string(text)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.gbnf")), ids=lambda path: path.stem)
def test_every_grammar_file_is_in_the_grammar_of_grammars(path):
    compiled, _ = engines("gbnf")
    assert engine_matches(compiled, path.read_bytes())


def test_what_the_grammar_of_grammars_lets_through_is_read():
    rules = read_grammar("gbnf").rules
    chooser = random.Random(5)
    for _ in range(300):
        text = random_text(rules, chooser, depth=chooser.randint(3, 9)).decode()
        refusal = ""
        try:
            Grammar.from_gbnf(text)
        except GrammarSyntaxError as error:
            refusal = str(error)
        except fm.GrammarError:
            pass
        meaning = ("is not defined", "defined twice", "empty range")
        assert not refusal or any(part in refusal for part in meaning), text


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("calc", "config")])
def test_derived_texts_are_accepted(name):
    grammar = read_grammar(name)
    compiled, judge = engines(name)
    chooser = random.Random(7)
    for _ in range(60):
        data = random_text(grammar.rules, chooser, depth=chooser.randint(4, 20))
        if len(data) <= 5_000:
            assert engine_matches(compiled, data), data
        if len(data) <= LONGEST_FOR_THE_JUDGE:
            assert judge.matches(data), data


@pytest.mark.parametrize("name", ["calc", "config"])
def test_verdicts_on_lark_files_are_those_of_lark(name):
    lark = pytest.importorskip("lark")
    text = (FOLDER / f"{name}.lark").read_text(encoding="utf-8")
    parser = lark.Lark(text, parser="earley", lexer="dynamic_complete")
    for verdict, sample in read_texts(name):
        try:
            parser.parse(sample)
        except lark.exceptions.UnexpectedInput:
            assert verdict == "refuse", sample
        else:
            assert verdict == "accept", sample


def test_field_cases(data_folder):
    front_ends = {
        "gbnf": Grammar.from_gbnf,
        "lark": Grammar.from_lark,
        "regex": Grammar.from_regex,
        "choices": Grammar.from_choices,
    }
    seen = set()
    with (data_folder / "field-cases.jsonl").open(encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            if case["kind"] not in front_ends:
                continue
            seen.add(case["kind"])
            grammar = front_ends[case["kind"]](case["grammar"])
            compiled, judge = COMPILER.compile(grammar), Judge(grammar)
            for expected, texts in ((True, case["accept"]), (False, case["reject"])):
                for text in texts:
                    check(compiled, judge, text, expected)
    assert {"gbnf", "lark", "regex"} <= seen
