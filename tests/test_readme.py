"""The README keeps its word: example, commands, file map and table are checked."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"

if not README.is_file():
    pytest.skip("not a source checkout", allow_module_level=True)

TEXT = README.read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_example_runs(capsys):
    example = blocks("python")[0]
    exec(compile(example, str(README), "exec"), {})
    assert re.fullmatch(r'\{"age": [0-9]{1,3}\}\n', capsys.readouterr().out)


def test_set_up_is_one_line_each():
    demo, test = blocks("sh")[0].splitlines()
    assert demo.startswith("python3 -m venv .venv && .venv/bin/pip install -q .")
    assert demo.endswith("fastmask demo")
    assert test.startswith("python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]'")
    found = re.search(r"grep -E '(.*)' README.md", (ROOT / ".ci" / "run").read_text())
    assert [line for line in TEXT.splitlines() if re.search(found[1], line)] == [test]


def test_the_file_map_is_complete():
    """Every module and folder of the package stands in the map, and nothing else."""
    table = TEXT.partition("## Where things are")[2].partition("\n\n`tests/")[0]
    named = {
        name.rstrip("/")
        for line in table.splitlines()
        for name in re.findall(r"`([^`]+)`", line.split("|")[1] if line.startswith("|") else "")
    }
    package = ROOT / "src" / "fastmask"
    there = {
        path.name
        for path in package.iterdir()
        if path.suffix == ".py" or (path.is_dir() and any(path.glob("*.py")))
    }
    assert named == there - {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("name", ["record", "real_model"])
def test_the_tables_are_what_was_recorded(name):
    path = ROOT / "bench" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    kept = json.loads(record.RECORD.read_text())
    written = TEXT.partition(record.BEGIN)[2].partition(record.END)[0]
    assert written.strip() == record.table(kept).strip()
