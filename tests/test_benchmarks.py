"""What measures and reports: values kept, growth, engines' adapters, records and their tables.

No time is tested: what is tested is that something is measured and that its answers are right.
"""

from __future__ import annotations

import gzip
import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmask.benchmarking import engines, records, vocabularies
from fastmask.benchmarking.clock import growth_exponent, steady
from fastmask.errors import VocabularyError

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"

if not BENCH.is_dir():
    pytest.skip("not a source checkout", allow_module_level=True)


@pytest.fixture
def report(monkeypatch):
    """The script that makes the tables."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("report")


@given(st.lists(st.integers(0, 10**12)))
def test_times_are_kept_to_three_digits(values):
    kept = records.decoded(records.encoded(values))
    assert kept.size == len(values)
    assert np.allclose(kept, values, rtol=0.005, atol=0.5)


def test_growth_is_that_of_the_larger_half():
    xs = [1, 10, 100, 1_000, 10_000]
    assert growth_exponent(xs, [5 + x**1.5 for x in xs]) == pytest.approx(1.5, abs=0.01)
    assert growth_exponent(xs[:2], [1, 2]) is None


def test_steady_calls_are_counted():
    calls = []
    assert len(steady(calls.append, 1, seconds=0.001, rounds=3)) == 3
    assert len(calls) > 3


def test_vocabularies_that_are_there(tmp_path):
    assert "gpt2_50k" in vocabularies.available()
    raw = vocabularies.load("gpt2_50k")
    text = b'{"name": "some text", "age": 42}'
    assert b"".join(raw.tokens[i] for i in raw.tokenize(text)) == text
    vocabularies.write_npz(raw, tmp_path / "gpt2_50k.npz")
    assert vocabularies.read_npz(tmp_path / "gpt2_50k.npz") == raw
    small = vocabularies.cut(raw, 1_000)
    assert small.size == 1_000
    assert small.vocabulary().eos_token_ids == (999,)
    with pytest.raises(VocabularyError, match="gpt2_50k"):
        vocabularies.load("nothing_1k")


@pytest.mark.large
@pytest.mark.filterwarnings("ignore")
def test_every_vocabulary_that_is_there_can_be_measured_on():
    for name, read in vocabularies.available().items():
        raw = read()
        assert 0 <= raw.size - 1_000 * vocabularies.thousands(name) < 1_000, name
        assert raw.ends
        assert not {*raw.ends} - {*range(raw.size)}
        assert raw.tokenize("{\"é\": [1, 'a']}".encode())
        assert raw.vocabulary().size == raw.size


@pytest.mark.large
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", engines.ENGINES)
def test_an_engine_masks_what_follows(name):
    """Each adapter's masks allow a valid text and refuse an invalid one."""
    if not engines.installed(name):
        pytest.skip(f"{name} is not installed")
    vocabulary = vocabularies.load("gpt2_50k")
    engine = engines.make(name, vocabulary)
    schema = {
        "type": "object",
        "properties": {"age": {"type": "integer"}},
        "required": ["age"],
        "additionalProperties": False,
    }
    compiled = engine.compile({"schema": schema})

    def takes(text):
        matcher = engine.start(compiled)
        for token in vocabulary.tokenize(text):
            matcher.mask()
            if not (int(engine.row[0, token >> 5]) >> (token & 31)) & 1:
                return False
            assert matcher.accept(token) is not False
        matcher.mask()
        end = vocabulary.ends[0]
        return bool((int(engine.row[0, end >> 5]) >> (end & 31)) & 1)

    assert takes(b'{"age": 42}')
    assert not takes(b'{"age": 4')
    assert not takes(b'{"age": true}')
    with pytest.raises(ValueError, match="nonsense"):
        engines.make(name, vocabulary, "nonsense")


@pytest.mark.large
@pytest.mark.parametrize("as_folder", [False, True])
def test_maskbench_from_end_to_end(as_folder, tmp_path, report):
    """Two schemas through fastmask: verdicts are right, every mask's time is there."""
    number, words = {"type": "integer"}, {"type": "array", "items": {"enum": ["a", "b"]}}
    lines = [
        {"name": "number", "schema": number, "tests": [{"valid": True, "data": 12}]},
        {
            "name": "words",
            "schema": words,
            "tests": [{"valid": True, "data": ["a", "b"]}, {"valid": False, "data": ["c"]}],
        },
        {"name": "refused", "schema": {"type": "wrong"}, "tests": []},
    ]
    source = tmp_path / "cases.jsonl.gz"
    if as_folder:
        source = tmp_path / "cases"
        source.mkdir()
        for line in lines:
            content = {"meta": {}, "schema": line["schema"], "tests": line["tests"]}
            (source / f"{line['name']}.json").write_text(json.dumps(content))
    else:
        with gzip.open(source, "wt") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    script = BENCH / "peers" / "maskbench.py"
    options = ["--engines", "fastmask", "--vocabulary", "gpt2_50k", "--folder", str(tmp_path)]
    subprocess.run([sys.executable, str(script), str(source), *options], check=True)
    (record,) = report.maskbench.load_all(tmp_path)
    found = record.outcome()
    assert found["schemas"] == 3
    assert found["passed"] == found["compiled"] == 2
    assert found["refused"] == 1
    assert found["tests"] == 3
    assert record.measured == {"number", "words"}
    masks, accepts, first = record.times(record.measured)
    assert masks.size == record.masks.size > accepts.size > 0
    assert len(first) == 2
    assert "| fastmask | 2 |" in report.maskbench.times_table([record], record.measured)


@pytest.mark.large
@pytest.mark.filterwarnings("ignore")
def test_parts_measure_draw_and_check(tmp_path):
    """Small ones of the sweep, the curves and the server; the answers are checked on the way."""
    from fastmask.benchmarking import curves, plots, serving, sweep, tables

    only = ["fastmask"]
    found = [
        sweep.run(["gpt2_50k"], only),
        curves.run("gpt2_50k", only, ["tools", "maxLength"]),
        serving.run("gpt2_50k", only),
    ]
    assert {row["state"] for row in found[0]["masks"]} == set(sweep.STATES)
    assert not [row for row in found[0]["masks"] if "error" in row]
    for row in found[0]["naive"]:
        assert row["naive"] > row["read"] > 0
    assert not [point for point in found[1]["points"] if "error" in point]
    assert ("tools", "fastmask", "mask") in curves.exponents(found[1])
    for record in found:
        assert record["machine"]["cores"]
        assert tables.table(json.loads(json.dumps(record)))
    pytest.importorskip("matplotlib")
    assert len([path for record in found for path in plots.draw(record, tmp_path)]) == 6


def test_bench_command_refuses_unknown_engines(capsys):
    from fastmask.cli import main

    assert main(["bench", "--engine", "frobnicate"]) == 2
    assert "'frobnicate' is not one of fastmask, " in capsys.readouterr().err


def test_bench_command_lists_vocabularies_and_refuses_unknown_parts(capsys):
    from fastmask.cli import main

    assert main(["bench", "--list", "--json"]) == 0
    assert "gpt2_50k" in json.loads(capsys.readouterr().out)
    assert main(["bench", "nothing"]) == 2
    assert "sweep" in capsys.readouterr().err


def test_what_is_written_is_what_was_recorded(report):
    full, short = report.sections(draw=False)
    assert report.RESULTS.read_text(encoding="utf-8") == full
    readme = report.README.read_text(encoding="utf-8")
    written = readme.partition(report.BEGIN)[2].partition(report.END)[0]
    assert written.strip() == short.strip()
