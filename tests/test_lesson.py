"""The lesson's figures, all of them with seed 0, and what holds for every seed."""

from __future__ import annotations

import json

import pytest

from fastmask import cli
from fastmask.drawing import matplotlib_is_there
from fastmask.lesson import EXPECTED, FIGURES, differences, plots


@pytest.mark.parametrize("name", FIGURES)
def test_figure(name):
    assert differences(FIGURES[name](0), EXPECTED[name]) == []


def test_every_figure_has_something_to_be_compared_with():
    assert set(FIGURES) == set(EXPECTED)


def test_masks_hold_for_every_seed():
    age, masked_age, person, masked_person = FIGURES["validity"](7)
    assert masked_age["valid"] == 200
    assert masked_person["valid"] + masked_person["cut_off"] == 200
    assert age["valid"] < 200
    assert person["valid"] < 200


class TestDifferences:
    def test_numbers_are_rounded_as_given(self):
        assert differences(0.8171, 0.817) == []
        assert differences(0.8176, 0.817) == [" is 0.8176, not 0.817"]
        assert differences(1.504, 1.5) == []
        assert differences(1.51, 1.5) != []
        assert differences(5, 4) == [" is 5, not 4"]

    def test_more_than_expected_is_fine(self):
        assert differences({"a": [1, 2], "b": 0}, {"a": [1]}, "x") == []
        assert differences({"a": [1]}, {"a": [1, 2]}, "x") == ["x['a'] has 1 items, not 2"]
        assert differences({}, {"a": 1}, "x") == ["x['a'] is missing"]


class TestCommand:
    def test_json(self, capsys):
        assert cli.main(["reproduce", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert set(found) == {*FIGURES, "expected"}
        assert found["expected"] == EXPECTED
        assert found["mask_table_shape"] == [11, 83]

    def test_text(self, capsys):
        assert cli.main(["reproduce"]) == 0
        out = capsys.readouterr().out
        assert "age, without: valid                            133  (expected 133)" in out
        assert out.endswith("No figure differs.\n")
        assert cli.main(["reproduce", "--seed", "1"]) == 0
        assert "expected" not in capsys.readouterr().out

    def test_a_difference_is_a_failed_check(self, capsys, monkeypatch):
        monkeypatch.setitem(FIGURES, "mask_table_shape", lambda _: [12, 83])
        assert cli.main(["reproduce"]) == 1
        assert "mask_table_shape[0] is 12, not 11" in capsys.readouterr().out

    def test_plots(self, tmp_path, capsys, monkeypatch):
        if not matplotlib_is_there():
            pytest.skip("matplotlib is not installed")
        monkeypatch.delenv("FASTMASK_DATA", raising=False)
        monkeypatch.setattr(plots, "_vocabularies", lambda: {"toy": plots.toy.VOCABULARY})
        assert cli.main(["reproduce", "--plots", str(tmp_path)]) == 0
        drawn = sorted(path.name for path in tmp_path.iterdir())
        assert [name[0] for name in drawn] == list("1234567")
        assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())
