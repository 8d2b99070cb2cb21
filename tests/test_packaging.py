"""What is shipped: wheel and source archive hold code, data, types and licences."""

from __future__ import annotations

import email
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import fastmask

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("not a source checkout")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder


def test_wheel(archives):
    (path,) = archives.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        info = f"fastmask-{fastmask.__version__}.dist-info"
        metadata = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
        entry_points = wheel.read(f"{info}/entry_points.txt").decode()
        data = wheel.read("fastmask/vocabulary/data/gpt2.npz")
    sources = {
        f"fastmask/{file.relative_to(ROOT / 'src' / 'fastmask').as_posix()}"
        for file in (ROOT / "src" / "fastmask").rglob("*.py")
    }
    assert sources <= names
    assert {"fastmask/py.typed", f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"} <= names
    assert not [name for name in names if not name.startswith(("fastmask/", info))]
    assert data == (ROOT / "src/fastmask/vocabulary/data/gpt2.npz").read_bytes()
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Version"] == fastmask.__version__
    core = [need for need in metadata.get_all("Requires-Dist") if "extra ==" not in need]
    assert sorted(need.split(">")[0] for need in core) == ["numba", "numpy"]
    assert "fastmask = fastmask.cli:main" in entry_points


def test_source_archive(archives):
    (path,) = archives.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        *("LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"),
        *("src/fastmask/py.typed", "src/fastmask/vocabulary/data/gpt2.npz", "tests/conftest.py"),
    } <= names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
