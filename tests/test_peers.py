"""The comparison on JSON, SQL and C texts: what it measures, and the table of it."""

from __future__ import annotations

import argparse
import importlib.util
import sys

import pytest

from conftest import ROOT


def module(path):
    """A module of the benchmarks."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def run():
    before = list(sys.path)
    yield module(ROOT / "bench" / "peers" / "run.py")
    sys.path[:] = before


@pytest.mark.large
@pytest.mark.parametrize("name", ["json", "sql", "c"])
def test_fastmask_takes_every_text(run, name):
    arguments = argparse.Namespace(vocabulary="gpt2_50k", seconds=60.0, texts=2)
    found = run.run_one("fastmask", name, arguments)
    assert found["texts"] == 2
    first, again = found["passes"]
    for walk in (first, again):
        assert walk["whole"] == 2
        assert walk["mask"]["n"] == found["tokens"] + 2  # one behind the end of each
        assert walk["accept"]["n"] == found["tokens"]
        assert 0 < walk["mask"]["min"] <= walk["mask"]["p50"] <= walk["mask"]["max"]


@pytest.mark.large
def test_a_walk_stops_at_its_limit(run):
    arguments = argparse.Namespace(vocabulary="gpt2_50k", seconds=0.0, texts=1)
    found = run.run_one("fastmask", "c", arguments)
    assert found["over_limit"]
    assert len(found["passes"]) == 1
    assert found["passes"][0]["accept"]["n"] == 1


def test_the_table_is_of_medians_and_names_the_better_peer():
    figures = module(ROOT / "bench" / "peers_figures.py")

    def turn(engine, mean):
        kind = {
            figure: factor * mean
            for factor, figure in enumerate(("p50", "mean", "p90", "p99", "p99.9", "max"), 1)
        }
        one = {"mask": kind, "accept": kind, "whole": 1}
        walk = {"set": "c", "engine": engine, "texts": 1, "first_mask_ms": 1.0}
        return walk | {"passes": [one, one]}

    walks = [turn("fastmask", mean) for mean in (1, 2, 9)]
    walks += [turn("a", mean) for mean in (8, 10, 9)] + [turn("b", 10)]
    walks += [{"set": "c", "engine": "d", "passes": [], "over_limit": True}]
    walks += [{"set": "c", "engine": "e", "refused": "no such grammar"}]
    record = {"turns": 3, "seconds": 60, "patience": 180, "walks": walks}
    record["versions"] = {engine: {} for engine in ("fastmask", "a", "b", "d", "e")}
    table = figures.table(record)
    assert "| C | fastmask | 1 | 4 | 2 |" in table
    assert "| C | d | no first mask in 180 s |" in table
    assert "| C | e | refused: no such grammar |" in table
    assert "C: 4.5 times on average, 4.5 times at p99.9" in table
