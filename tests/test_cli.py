"""The command line: what it prints, its exit statuses, and that a fault is a message."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys

import pytest

from fastmask import cli
from fastmask.cli.explain import byte_ranges, shown_ranges
from fastmask.drawing import matplotlib_is_there, save_curves, terminal_curves


@pytest.fixture
def run(capsys):
    """Run a command; gives its exit status, standard output and standard error."""

    def run(*arguments):
        try:
            status = cli.main(arguments)
        except SystemExit as stop:
            status = stop.code
        out, err = capsys.readouterr()
        return status, out, err

    return run


class TestMain:
    def test_help_and_version(self, run):
        status, out, _ = run("--help")
        assert status == 0
        assert "warm-up" in out
        assert run("--version")[1].startswith("fastmask 0.")

    @pytest.mark.parametrize(
        "arguments",
        [[], ["nothing"], ["check", "a"], ["check", "--any-json", "--pattern", "a", "b"]],
        ids=" ".join,
    )
    def test_bad_arguments(self, run, arguments):
        status, _, err = run(*arguments)
        assert status == 2
        assert "usage:" in err

    def test_python_m(self):
        found = subprocess.run(
            [sys.executable, "-m", "fastmask", "check", "--choice", "a", "b"],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        assert found.returncode == 1
        assert found.stdout.startswith("refused")

    def test_a_fault_is_a_message(self, run):
        status, out, err = run("check", "--gbnf", "no such file", "a")
        assert (status, out) == (1, "")
        assert err.startswith("fastmask check:")
        status, _, err = run("check", "--pattern", "a(", "a")
        assert status == 1
        assert "^" in err


class TestCheck:
    def test_valid(self, run):
        assert run("check", "--choice", "cat", "cat")[:2] == (0, "valid       cat\n")

    def test_the_byte_that_fails(self, run):
        status, out, _ = run("check", "--any-json", '{"a": nul}')
        assert status == 1
        assert out.splitlines() == [
            'refused     {"a": nul}',
            "                     ^ byte 9 is }; allowed there: l",
        ]

    def test_ends_too_early(self, run):
        status, out, _ = run("check", "--choice", "cat", "--choice", "car", "ca")
        assert status == 1
        assert "ends too early after 2 bytes; allowed next: r t" in out

    def test_several(self, run):
        status, out, _ = run("check", "--choice", "cat", "cat", "dog", "cats")
        assert status == 1
        assert out.splitlines()[-1] == "1 valid, 2 not"
        assert "byte 3 is s; allowed there: the end" in out

    def test_json(self, run):
        status, out, _ = run("check", "--json", "--choice", "cat", "cat", "cot", "ca")
        assert status == 1
        assert json.loads(out) == {
            "valid": 1,
            "failed": 2,
            "texts": [
                {"text": "cat", "status": "valid"},
                {
                    "text": "cot",
                    "status": "refused",
                    "position": 1,
                    "allowed_bytes": [97],
                    "may_end": False,
                },
                {
                    "text": "ca",
                    "status": "incomplete",
                    "position": 2,
                    "allowed_bytes": [116],
                    "may_end": False,
                },
            ],
        }

    def test_files_and_standard_input(self, run, tmp_path, monkeypatch):
        path = tmp_path / "text"
        path.write_bytes(b"cat\n")
        assert run("check", "--choice", "cat", "--file", str(path))[0] == 0
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"cat\n\n")))
        assert run("check", "--choice", "cat")[0] == 1
        grammar = tmp_path / "grammar"
        grammar.write_text('root ::= "a" other\nother ::= "b"+\nstart ::= "c"')
        assert run("check", "--gbnf", str(grammar), "abb")[0] == 0
        assert run("check", "--gbnf", str(grammar), "--root", "start", "c")[0] == 0

    def test_patterns(self, run):
        assert run("check", "--pattern", "[0-9]+", "42")[0] == 0
        assert run("check", "--pattern", "[0-9]+", "a42")[0] == 1
        assert run("check", "--pattern", "[0-9]+", "--dialect", "ecma", "a42")[0] == 0

    @pytest.mark.parametrize("option", ["--gbnf", "--lark"])
    def test_a_grammar_that_is_no_text(self, run, tmp_path, option):
        path = tmp_path / "grammar"
        path.write_bytes(b'root ::= "\xff"')
        status, _, err = run("check", option, str(path), "a")
        assert status == 1
        assert "is not UTF-8: byte 10" in err

    @pytest.mark.parametrize(
        ("option", "value"), [("--root", "a"), ("--whitespace", "any"), ("--draft", "7")]
    )
    def test_options_that_would_change_nothing(self, run, option, value):
        status, _, err = run("check", "--pattern", "a", option, value, "a")
        assert status == 1
        assert f"{option} is for --" in err
        assert "alone" in err

    def test_any_bytes(self, run):
        status, out, _ = run("check", "--any-json", os.fsdecode(b'"\xff"'))
        assert status == 1
        assert "byte 1 is \\xff" in out


class TestSchemas:
    SCHEMA = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'

    def test_a_schema(self, run, tmp_path, monkeypatch):
        path = tmp_path / "schema.json"
        path.write_text(self.SCHEMA)
        assert run("check", "--schema", str(path), '{"a": 1}')[0] == 0
        status, out, _ = run("check", "--schema", str(path), "--json")
        assert status == 0
        found = json.loads(out)
        assert found["texts"] == []
        assert sorted(keyword for _, keyword, _ in found["report"]["enforced"]) == [
            "properties",
            "required",
            "type",
            "type",
        ]
        assert run("check", "--schema", str(path))[1].startswith("enforced: 4")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(self.SCHEMA.encode())))
        assert run("check", "--schema", "-", '{"a": 1}')[0] == 0
        status, out, _ = run("check", "--schema", str(path), '{"a": "x"}')
        assert status == 1
        assert "byte 6 is" in out
        assert run("check", "--schema", str(path), "--whitespace", "none", '{"a": 1}')[0] == 1

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("lines", b"\xff"),
            ("lines", b"[1"),
            ("lines", b'{"tests": []}'),
            ("lines", b'{"schema": {}, "tests": [3]}'),
            ("lines", b'{"schema": {}, "tests": [{"valid": true}]}'),
            ("lines.gz", b"\x1f\x8b123"),
            ("lines.gz", b"plain"),
        ],
    )
    def test_a_file_that_is_none_of_schemas(self, run, tmp_path, name, content):
        path = tmp_path / name
        path.write_bytes(content)
        status, _, err = run("check", "--jsonl", str(path))
        assert status == 1
        assert str(path) in err

    @pytest.mark.parametrize("packed", [False, True])
    def test_a_file_of_schemas_with_tests(self, run, tmp_path, packed):
        lines = [
            {
                "name": "good",
                "schema": json.loads(self.SCHEMA),
                "tests": [
                    {"valid": True, "data": {"a": 1, "b": "é"}},
                    {"valid": False, "data": {"a": 1.5}},
                    {"valid": False, "data": {}},
                ],
            },
            {
                "name": "wrong label",
                "schema": {"const": 1},
                "tests": [{"valid": True, "data": 2}, {"valid": False, "data": 1}],
            },
            {"name": "bad", "schema": {"type": 5}, "tests": [{"valid": True, "data": 1}]},
            {"name": "none", "schema": False, "tests": [{"valid": False, "data": 1}]},
        ]
        text = "\n".join(map(json.dumps, lines)).encode()
        path = tmp_path / ("cases.jsonl.gz" if packed else "cases.jsonl")
        path.write_bytes(gzip.compress(text) if packed else text)
        status, out, _ = run("check", "--jsonl", str(path), "--json")
        assert status == 1
        found = json.loads(out)
        assert found["total"] == {
            "lines": 4,
            "compiled": 2,
            "passed": 2,
            "valid": 2,
            "valid_accepted": 1,
            "invalid": 4,
            "invalid_refused": 3,
            "not_decided": {"GrammarSyntaxError": 1},
        }
        errors = [line["error"] is None for line in found["lines"]]
        assert errors == [True, True, False, False]
        status, out, _ = run("check", "--jsonl", str(path))
        begun = [line.split()[0] for line in out.splitlines()]
        assert begun == ["ok", "WRONG", "error", "ok", "2", "1"]
        assert out.splitlines()[-1] == "1 not decided: GrammarSyntaxError"

    def test_documents_for_references(self, run, tmp_path):
        schema, documents = tmp_path / "schema.json", tmp_path / "documents.json"
        schema.write_text('{"$ref": "https://example.com/count.json"}')
        documents.write_text('{"https://example.com/count.json": {"type": "integer"}}')
        arguments = ("check", "--schema", str(schema), "--documents", str(documents))
        assert run(*arguments, "1")[0] == 0
        assert run(*arguments, '"1"')[0] == 1
        status, _, err = run("check", "--schema", str(schema), "1")
        assert status == 1
        assert "https://example.com/count.json" in err
        for content in ("[1]", "{"):
            documents.write_text(content)
            status, _, err = run(*arguments, "1")
            assert status == 1
            assert "documents.json is not" in err

    def test_a_file_of_something_else(self, run, tmp_path):
        path = tmp_path / "cases.jsonl"
        path.write_text("[1, 2]\n")
        status, _, err = run("check", "--jsonl", str(path))
        assert status == 1
        assert "line 1" in err


class TestMask:
    def test_tokens(self, run):
        status, out, _ = run("mask", "--choice", "cat", "--choice", "cow", "--text", "c")
        assert status == 0
        assert out.splitlines()[0] == "after 'c': 4 of 50,257 tokens are allowed"
        assert [line.split()[1] for line in out.splitlines()[1:]] == ["'a'", "'o'", "'at'", "'ow'"]

    def test_the_end_and_what_is_forced(self, run):
        _, out, _ = run("mask", "--choice", "cat", "--text", "cat")
        assert "the text may end here" in out
        assert "50256  (end)" in out
        _, out, _ = run("mask", "--choice", "cat", "--text", "c", "--vocabulary", "bytes")
        assert "what must come next: 'at'" in out

    def test_limit_and_json(self, run):
        arguments = ["mask", "--any-json", "--vocabulary", "bytes", "--limit", "1"]
        assert run(*arguments)[1].splitlines()[-1].endswith("more")
        found = json.loads(run(*arguments, "--text", '{"a":t', "--json")[1])
        assert found == {
            "text": '{"a":t',
            "may_end": False,
            "allowed": 1,
            "vocabulary_size": 257,
            "forced_text": "rue",
            "tokens": [{"id": 114, "text": "r"}],
        }

    def test_a_refused_text(self, run):
        status, out, err = run("mask", "--choice", "cat", "--text", "cot")
        assert (status, out) == (1, "")
        assert "refused at byte 1 (o); allowed there: a" in err

    def test_toy_vocabulary_and_files(self, run, tmp_path):
        assert "of 83 tokens" in run("mask", "--choice", "42", "--vocabulary", "toy")[1]
        status, _, err = run("mask", "--choice", "a", "--vocabulary", str(tmp_path / "x.txt"))
        assert status == 1
        assert "neither gpt2" in err


class TestDemo:
    def test_numbers(self, run, tmp_path, monkeypatch):
        """On a small cut of the vocabulary, the numbers that do not depend on the machine."""
        from fastmask.cli import demo
        from fastmask.vocabulary import Vocabulary

        gpt2 = Vocabulary.gpt2()
        sure = gpt2.ids_of(b"Sure")[0]
        small = Vocabulary([*gpt2.tokens[:600], gpt2.tokens[sure], b""], eos_token_ids=[601])
        monkeypatch.setattr(Vocabulary, "gpt2", classmethod(lambda _: small))
        monkeypatch.setattr(demo, "_SIZES", (300,))
        monkeypatch.setattr(demo, "_ANSWERS", (1, 2))
        picture = tmp_path / "curve.png"
        if matplotlib_is_there():
            status, out, _ = run("demo", "--plot", str(picture))
            assert picture.exists()
        else:
            assert run("demo", "--plot", str(picture))[0] == 1
            status, out, _ = run("demo")
        assert status == 0
        assert 'The answer: {"age": ' in out
        assert "'Sure' was refused: first comes {, not S" in out
        status, out, _ = run("demo", "--json")
        found = json.loads(out)
        assert found["patterns"][0]["minimal_states"] == 11
        assert found["patterns"][0]["mask_table"] == [11, 19]
        assert found["answer"]["steps"][0]["refused"]
        assert [row["vocabulary_size"] for row in found["costs"]["by_vocabulary_size"]] == [
            300,
            602,
        ]


class TestWarmUp:
    def test_progress_and_result(self, run):
        status, out, err = run("warm-up")
        assert status == 0
        assert "kernels ready" in out
        assert "apply_row_32" in err
        assert json.loads(run("warm-up", "--json")[1])["kernels"] > 10


class TestShowing:
    def test_ranges(self):
        assert byte_ranges([1, 2, 3, 7, 9, 10]) == [(1, 3), (7, 7), (9, 10)]
        assert shown_ranges([*range(48, 58), 32, 125]) == "0-9 space }"
        assert shown_ranges([97, 98], may_end=True) == "a b or the end"
        assert shown_ranges([]) == "nothing"

    def test_terminal_curves(self):
        drawn = terminal_curves(
            {"up": [(1, 1), (100, 1000)], "flat": [(1, 10), (100, 10)]},
            x_label="answers",
            y_label="ms",
            width=30,
            height=7,
        )
        lines = drawn.splitlines()
        assert lines[0].strip() == "ms"
        assert lines[1].startswith("   1,000 |")
        assert lines[1][10 + 29] == "o"
        assert lines[5].startswith("      10 |x")
        assert lines[7].startswith("       1 |o")
        assert lines[-1].split() == ["o", "up", "x", "flat"]

    def test_one_point(self):
        assert "o" in terminal_curves({"one": [(5, 5)]}, x_label="x", y_label="y")

    def test_picture(self, tmp_path):
        if not matplotlib_is_there():
            pytest.skip("matplotlib is not installed")
        path = tmp_path / "curve.png"
        save_curves(path, {"a": [(1, 2), (3, 4)]}, title="t", x_label="x", y_label="y")
        assert path.read_bytes().startswith(b"\x89PNG")
