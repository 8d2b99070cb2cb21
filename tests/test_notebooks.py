"""Notebooks: each runs from the top, and what is shown on the page is what the script says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"

if not FOLDER.is_dir():
    pytest.skip("not a source checkout", allow_module_level=True)

SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path.stem != "make")


def cells(script):
    """Kind and text of each cell of a script in the percent format."""
    found = []
    for part in script.read_text(encoding="utf-8").split("\n# %%")[1:]:
        head, _, text = part.partition("\n")
        lines = text.strip("\n").splitlines()
        if "[markdown]" in head:
            lines = [line.removeprefix("#").removeprefix(" ") for line in lines]
            found.append(("markdown", "\n".join(lines)))
        else:
            found.append(("code", "\n".join(lines)))
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_page_has_the_cells_of_the_script_and_their_outputs(script):
    page = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))
    there = [(cell["cell_type"], "".join(cell["source"]).strip("\n")) for cell in page["cells"]]
    assert there == cells(script)
    outputs = [output for cell in page["cells"] for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"]


@pytest.mark.large
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_script_runs(script, tmp_path):
    """As plain Python, warnings being errors; without pictures being looked at."""
    pytest.importorskip("matplotlib", reason="pictures need the extra plot")
    shutil.copytree(ROOT / "bench" / "record", tmp_path / "bench" / "record")
    (tmp_path / "notebooks").mkdir()
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONWARNINGS": "error::UserWarning"}
    environment.pop("FASTMASK_DATA", None)  # vocabularies of installed packages are enough
    subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path / "notebooks",
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )


@pytest.mark.large
def test_pages_are_made_by_a_kernel(monkeypatch):
    """The shortest one, as ``notebooks/make.py`` makes it."""
    for package in ("jupytext", "nbclient", "ipykernel"):
        pytest.importorskip(package, reason="pages are made with the extra notebooks")
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("PYTHONWARNINGS", "")
    import make

    page = make.made(FOLDER / "1_asking_nicely_fails.py")
    kept = json.loads((FOLDER / "1_asking_nicely_fails.ipynb").read_text(encoding="utf-8"))

    def printed(cells):
        streams = [o for c in cells for o in c.get("outputs", ()) if o["output_type"] == "stream"]
        return "".join("".join(stream["text"]) for stream in streams)

    assert printed(page.cells) == printed(kept["cells"])
