"""The rules of the house, read off the source: kernels are a closed box, imports go one way."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fastmask
from fastmask import _jit, kernels
from fastmask.warm import warm_up

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(fastmask.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
KERNEL_MODULES = [path for path in MODULES if path.parent.name == "kernels"]

#: What a kernel may not do: fail, allocate, or make a Python object.
FORBIDDEN = (
    *(ast.Raise, ast.Assert, ast.Try, ast.With, ast.List, ast.Dict, ast.Set, ast.ListComp),
    *(ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.Lambda, ast.Yield, ast.YieldFrom),
    *(ast.Await, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.ClassDef),
    *(ast.Starred, ast.Delete),
)
ALLOCATING = {"array", "arange", "empty", "full", "ones", "zeros", "copy", "append", "concatenate"}


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def decorator_name(node):
    if isinstance(node, ast.Call):
        node = node.func
    return node.id if isinstance(node, ast.Name) else ""


def compiled_functions(path):
    """(decorator, function) of everything that is compiled in a module."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if decorator_name(decorator) in ("kernel", "inner"):
                    yield decorator, node


def named(path):
    return str(path.relative_to(SOURCE))


def imported_modules(path):
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_one_module_alone_imports_numba(path):
    numba = {name for name in imported_modules(path) if name.split(".")[0] in ("numba", "llvmlite")}
    assert not numba or path == SOURCE / "_jit.py"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_compiled_functions_live_among_the_kernels(path):
    inside = path in KERNEL_MODULES or path == SOURCE / "_jit.py"
    assert inside or not list(compiled_functions(path))


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_each_module_says_what_it_is(path):
    tree = parsed(path)
    assert ast.get_docstring(tree) or not tree.body


@pytest.mark.parametrize("path", KERNEL_MODULES, ids=named)
def test_kernel_modules_import_their_like_alone(path):
    allowed = re.compile(r"__future__|typing|numpy(\.typing)?|\.\._jit|\.\._arrays|\.\w*")
    assert [name for name in imported_modules(path) if not allowed.fullmatch(name)] == []


@pytest.mark.parametrize("path", KERNEL_MODULES, ids=named)
def test_kernels_neither_fail_nor_allocate(path):
    found = []
    for _, function in compiled_functions(path):
        for node in ast.walk(ast.Module(function.body, [])):
            if isinstance(node, FORBIDDEN) or (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ALLOCATING
            ):
                found.append(f"{function.name}, line {node.lineno}: {ast.unparse(node)}")
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == function.name
            ):
                found.append(f"{function.name}, line {node.lineno}: calls itself")
    assert found == []


@pytest.mark.parametrize("path", KERNEL_MODULES, ids=named)
def test_entry_kernels_state_their_signature_and_purpose(path):
    for decorator, function in compiled_functions(path):
        if decorator_name(decorator) == "kernel":
            assert ast.get_docstring(function), f"{function.name} has no docstring"
            assert isinstance(decorator, ast.Call)
            (signature,) = decorator.args
            assert isinstance(signature, ast.Constant)
            assert signature.value.startswith("int64("), f"{function.name}: a status is an int64"


def test_the_registry_holds_every_entry_kernel_once():
    names = [
        function.name
        for path in KERNEL_MODULES
        for decorator, function in compiled_functions(path)
        if decorator_name(decorator) == "kernel"
    ]
    assert len(set(names)) == len(names)
    for module in pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}."):
        importlib.import_module(module.name)
    assert set(names) <= set(_jit.KERNELS)


def test_warm_up_compiles_each_kernel_for_its_own_signature():
    seen = []
    warm_up(lambda *step: seen.append(step))
    assert [name for name, _, _ in seen] == sorted(_jit.KERNELS)
    assert [done for _, done, _ in seen] == list(range(1, len(seen) + 1))
    if not _jit.JIT_ENABLED:
        return
    for name, (dispatcher, _) in _jit.KERNELS.items():
        assert len(dispatcher.signatures) == 1, name


def test_layers():
    lint = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    if lint is None:
        pytest.skip("import-linter is not installed")
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("not a source checkout")
    found = subprocess.run(
        [lint, "--no-cache"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(SOURCE.parent)},
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_public_names():
    assert sorted(fastmask.__all__) == fastmask.__all__
    for name in fastmask.__all__:
        assert getattr(fastmask, name) is not None
        assert name in dir(fastmask)
    assert fastmask.toy.TOKENS
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fastmask.nothing  # noqa: B018


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_modules_list_names_they_have(path):
    if path.name == "__main__.py":
        return
    parts = path.relative_to(SOURCE).with_suffix("").parts
    module = importlib.import_module(".".join(("fastmask", *parts)).removesuffix(".__init__"))
    for name in getattr(module, "__all__", ()):
        assert hasattr(module, name), f"{named(path)} lists {name}"


def test_import_needs_no_numba():
    code = "import sys, fastmask; print('numba' in sys.modules, 'torch' in sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
    )
    assert found.stdout.split() == ["False", "False"]


def test_extras_that_errors_name_exist():
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("not a source checkout")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {
        extra for path in MODULES for extra in re.findall(r"fastmask\[([\w-]+)\]", path.read_text())
    }
    assert named <= set(project["optional-dependencies"])


def tracked_files():
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        [git, "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_no_file_names_a_machine():
    """Paths of one machine and hosts of registries have no place in a project's files."""
    private = re.compile(rb"/(?:work|farm|root|home)/[a-z]|p[y]pi\.org|npm[j]s\.(?:com|org)")
    found = []
    for path in tracked_files():
        if path.suffix in (".npz", ".png") or not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            if private.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line[:80]!r}")
    assert found == []
