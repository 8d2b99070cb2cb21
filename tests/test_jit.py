"""The Numba door: what is kept on disk is never stale, never believed when damaged, never needed.

Each test copies the package to a folder of its own, adds a kernel whose helper and constant live in
other files, and runs it in a fresh process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fastmask
from fastmask import _arrays, _files

HELPER = """
from fastmask._jit import inner

STEP = 10

@inner
def helper(x):
    return x + STEP
"""
ENTRY = """
from fastmask._jit import kernel
from .probe_helper import helper

@kernel("int64(int64[::1], int64)")
def probe(numbers, factor):
    total = 0
    for i in range(numbers.size):
        total += helper(numbers[i]) * factor
    return total
"""
RUN = """
import numpy as np
from fastmask.kernels.probe import probe
print(int(probe(np.arange(3), 2)), sum(probe.stats.cache_hits.values()))
"""


def environment(cache, **more):
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_DISABLE_JIT")}
    return {**kept, "FASTMASK_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1", **more}


pytestmark = pytest.mark.large


class Copy:
    """A copy of the kernel part of the package, and its own cache folder."""

    def __init__(self, folder):
        self.folder = folder
        self.package = folder / "fastmask"
        self.cache = folder / "cache"
        source = Path(fastmask.__file__).parent
        (self.package / "kernels").mkdir(parents=True)
        for name in ("__init__.py", "_jit.py", "_files.py", "_arrays.py", "errors.py"):
            shutil.copy(source / name, self.package)
        self.write("kernels/__init__.py", "")
        self.write("kernels/probe_helper.py", HELPER)
        self.write("kernels/probe.py", ENTRY)

    def write(self, name, text):
        (self.package / name).write_text(text)

    def start(self, code=RUN, **more):
        return subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=self.folder,
            env=environment(self.cache, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, code=RUN, **more):
        process = self.start(code, **more)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out.split(), err

    def kept(self):
        return sorted(self.cache.rglob("*.kernel"))


@pytest.fixture
def copy(tmp_path):
    pytest.importorskip("numba", reason="numba is not installed")
    return Copy(tmp_path)


def test_second_process_loads_what_the_first_compiled(copy):
    assert copy.run() == (["66", "0"], "")
    assert copy.run() == (["66", "1"], "")
    assert len(copy.kept()) == 1
    assert not list(copy.package.rglob("__pycache__")), "Numba's own cache was used"


def test_loading_needs_nothing_that_compiling_needs(copy):
    """Numba's typing and lowering of NumPy take longer to import than all kernels to load."""
    code = RUN + 'import sys\nprint("numba.np.linalg" in sys.modules)'
    assert copy.run(code) == (["66", "0", "True"], "")
    assert copy.run(code) == (["66", "1", "False"], "")


@pytest.mark.parametrize(
    ("name", "text", "answer"),
    [
        ("kernels/probe_helper.py", HELPER.replace("x + STEP", "x - STEP"), "-54"),
        ("kernels/probe_helper.py", HELPER.replace("STEP = 10", "STEP = 11"), "72"),
        ("kernels/probe.py", ENTRY.replace("* factor", "+ factor"), "39"),
    ],
    ids=["helper", "constant", "entry"],
)
def test_an_edited_kernel_is_never_served_from_the_old_cache(copy, name, text, answer):
    copy.run()
    copy.write(name, text)
    assert copy.run() == ([answer, "0"], "")


def test_sources_edited_after_they_were_digested(copy):
    """Code imported late, after an edit, must be kept under neither the old digest nor the new."""
    copy.run()
    late = """
import pathlib, numpy as np, fastmask._jit
path = pathlib.Path("fastmask/kernels/probe_helper.py")
path.write_text(path.read_text().replace("STEP = 10", "STEP = 11"))
from fastmask.kernels.probe import probe
print(probe(np.arange(3), 2), sum(probe.stats.cache_hits.values()))
"""
    assert copy.run(late) == (["72", "0"], "")
    assert len(copy.kept()) == 1
    copy.write("kernels/probe_helper.py", HELPER)
    assert copy.run() == (["66", "1"], "")


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_file_is_rebuilt(copy, damage):
    copy.run()
    (path,) = copy.kept()
    good = path.read_bytes()
    middle = len(good) // 2
    bad = {
        "flip": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :],
        "cut": good[:-100],
        "empty": b"",
    }[damage]
    path.write_bytes(bad)
    assert copy.run() == (["66", "0"], "")
    assert copy.run() == (["66", "1"], "")


def test_warm_up_and_first_use_share_one_file(copy):
    """A signature in words and the types of a call name the same kernel."""
    code = "import fastmask.kernels.probe\nfrom fastmask._jit import compile_kernels\n"
    copy.run(code + "compile_kernels(print)")
    assert copy.run() == (["66", "1"], "")
    assert len(copy.kept()) == 1


def test_warm_up_after_use(copy):
    code = RUN + "from fastmask._jit import compile_kernels\ncompile_kernels(print)"
    assert copy.run(code) == (["66", "0", "probe", "1", "1"], "")


def test_first_calls_from_many_threads(copy):
    code = """
import threading, numpy as np
from fastmask.kernels.probe import probe
found = []
start = threading.Barrier(8)
def call():
    start.wait()
    found.append(int(probe(np.arange(3), 2)))
threads = [threading.Thread(target=call) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*found, len(probe.signatures))
"""
    assert copy.run(code) == (["66"] * 8 + ["1"], "")


@pytest.mark.parametrize("before", ["", "probe(np.arange(3), 2)"], ids=["first call", "later call"])
@pytest.mark.parametrize(
    "arguments", ["np.arange(3.0), 2", "np.arange(6)[::2], 2", "np.arange(3, dtype=np.int32), 2"]
)
def test_other_types_are_refused(copy, before, arguments):
    code = f"""
import numpy as np
from fastmask.kernels.probe import probe
{before}
try:
    probe({arguments})
except TypeError:
    print("refused", len(probe.signatures))
"""
    assert copy.run(code) == (["refused", "1"], "")


@pytest.mark.parametrize("before", ["", "probe(np.arange(3), 2)"], ids=["first call", "later call"])
def test_integers_of_any_type_are_converted_or_too_large(copy, before):
    code = f"""
import numpy as np
from fastmask.kernels.probe import probe
{before}
for number in (2**70, np.int8(2), np.uint64(2)):
    try:
        print(probe(np.arange(3), number))
    except OverflowError:
        print("too large")
"""
    assert copy.run(code) == (["too", "large", "66", "66"], "")


def test_an_inner_function_is_compiled_once_for_all_integers(copy):
    """Called with a literal, a narrow and a wide one, and through another inner function."""
    copy.write(
        "kernels/probe_helper.py",
        HELPER + "\n\n@inner\ndef twice(x):\n    return helper(x) + helper(0)\n",
    )
    copy.write(
        "kernels/probe.py",
        """
import numpy as np
from fastmask._jit import kernel
from .probe_helper import helper, twice

@kernel("int64(uint8[::1], int64)")
def probe(numbers, factor):
    return helper(7) + helper(numbers[0]) + helper(factor) + twice(numbers[1]) + twice(-factor)
""",
    )
    code = """
import numpy as np
from fastmask.kernels.probe import helper, probe, twice
print(int(probe(np.array([200, 100], np.uint8), 1 << 40)))
print([len(f.overloads) for f in (helper, twice)])
"""
    assert copy.run(code) == (["377", "[1,", "1]"], "")
    assert copy.run(code) == (["377", "[0,", "0]"], "")


@pytest.mark.parametrize("disabled", ["0", "1"])
def test_machine_code_by_itself(copy, disabled):
    code = """
import numpy as np
from fastmask._jit import machine_code
from fastmask.kernels.probe import probe
print(int(machine_code(probe)(np.arange(3), 2)), int(probe(np.arange(3), 2)))
"""
    assert copy.run(code, NUMBA_DISABLE_JIT=disabled) == (["66", "66"], "")


def test_bounds_checks_are_another_kernel(copy):
    copy.run()
    assert copy.run(NUMBA_BOUNDSCHECK="1") == (["66", "0"], "")
    assert len(copy.kept()) == 2


@pytest.mark.parametrize(
    "places",
    [
        {},
        {"FASTMASK_CACHE_DIR": "", "XDG_CACHE_HOME": "", "HOME": "/dev/null"},
        {"FASTMASK_CACHE_DIR": "", "XDG_CACHE_HOME": "/dev/null"},
    ],
    ids=["a file in its place", "no home", "no cache folder"],
)
def test_no_writable_folder_is_a_warning(copy, places):
    copy.cache.write_text("a file stands where the folder would be")
    answer, errors = copy.run(**places)
    assert answer == ["66", "0"]
    assert "RuntimeWarning" in errors
    assert "set FASTMASK_CACHE_DIR" in errors


def test_no_home_and_read_only_package(copy):
    """As another user, who may neither write to the package nor has a home."""
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("needs root to become a user who may not write")
    code = f"import os; os.setgid(65534); os.setuid(65534)\n{RUN}"
    os.chmod(copy.folder, 0o755)
    process = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=copy.folder,
        env={**environment(""), "FASTMASK_CACHE_DIR": "", "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "ModuleNotFoundError" in process.stderr or "PermissionError" in process.stderr:
        pytest.skip("this Python cannot be read by another user")
    assert process.stdout.split() == ["66", "0"], process.stderr
    assert "RuntimeWarning" in process.stderr
    assert not list(copy.package.rglob("__pycache__"))


def test_a_folder_that_others_may_write_is_not_trusted(tmp_path):
    if os.name != "posix":
        pytest.skip("permissions are those of POSIX")
    folder = tmp_path / "kernels"
    assert _files.is_private_and_writable(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    assert not _files.is_private_and_writable(folder)


def test_two_processes_start_at_once(copy):
    both = [copy.start(), copy.start()]
    for process in both:
        out, err = process.communicate(timeout=120)
        assert (out.split()[0], err) == ("66", "")
    assert copy.run() == (["66", "1"], "")
    assert not [p for p in copy.cache.rglob("*") if p.is_file() and p.suffix != ".kernel"]


def test_fork_after_warm_up(copy):
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    code = """
import os, numpy as np
from fastmask.kernels.probe import probe
before = probe(np.arange(3), 2)
child = os.fork()
if child == 0:
    os._exit(0 if probe(np.arange(4), 2) == 92 else 1)
_, status = os.waitpid(child, 0)
print(before, status, probe(np.arange(4), 2))
"""
    assert copy.run(code) == (["66", "0", "92"], "")


def test_unjitted_kernels_give_the_same(copy):
    code = """
import numpy as np
from fastmask.kernels.probe import probe
from fastmask._jit import KERNELS, compile_kernels
compile_kernels(lambda *step: print(*step))
print(probe(np.arange(3), 2))
"""
    assert copy.run(code, NUMBA_DISABLE_JIT="1") == (["probe", "1", "1", "66"], "")
    assert not copy.cache.exists()


class TestFiles:
    def test_cache_home(self, monkeypatch, tmp_path):
        monkeypatch.setenv("FASTMASK_CACHE_DIR", str(tmp_path))
        assert _files.cache_home() == tmp_path
        monkeypatch.setenv("FASTMASK_CACHE_DIR", "relative")
        assert _files.cache_home() == Path.cwd() / "relative"
        monkeypatch.delenv("FASTMASK_CACHE_DIR")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        if sys.platform == "linux":
            assert _files.cache_home() == tmp_path / "fastmask"

    def test_checked_files(self, tmp_path):
        path = tmp_path / "rows"
        assert _files.read_checked(path) is None
        assert _files.write_checked(path, b"payload")
        assert _files.read_checked(path) == b"payload"
        assert _files.write_checked(path, b"")
        assert _files.read_checked(path) == b""
        assert [p.name for p in tmp_path.iterdir()] == ["rows"]
        assert not _files.write_checked(tmp_path / "missing" / "rows", b"")

    def test_a_failed_write_leaves_nothing(self, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        assert not _files.write_checked(tmp_path / "rows", b"payload")
        assert not list(tmp_path.iterdir())


class TestArrays:
    def test_contiguous_copies_only_what_it_must(self):
        array = np.arange(6, dtype=np.int32)
        assert _arrays.contiguous(array, np.int32) is array
        for other in (array[::2], array.astype(np.int64), [1, 2]):
            found = _arrays.contiguous(other, np.int32)
            assert found.flags.c_contiguous
            assert found.flags.writeable
            assert found.dtype == np.int32
        array.flags.writeable = False
        found = _arrays.contiguous(array, np.int32)
        assert found.flags.writeable
        assert found.tolist() == array.tolist()

    def test_grown(self):
        assert _arrays.grown(np.array([1, 2], np.int16), 4).tolist() == [1, 2, 0, 0]

    def test_address_records(self):
        record = _arrays.AddressRecord(4)
        array = np.arange(5, dtype=np.int32)
        record.bind(1, array)
        assert record.bound(1) is array
        assert record.words.tolist() == [0, array.ctypes.data, 5, 0]
        with pytest.raises(ValueError, match="C-contiguous"):
            record.bind(1, array[::2])
