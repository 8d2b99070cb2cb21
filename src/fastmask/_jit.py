"""The only door to Numba: the kernel decorators, the kernel cache, views of memory by address.

A cached kernel is machine code that Numba stores beside an index keyed by the bytecode of that one
function. It does not see edits of the helpers or constants a kernel uses, so a plain cache can serve
old code after an upgrade, which for a mask library means wrong masks. Here the cache folder is named
by a digest of every kernel source; an edit anywhere in them starts a new folder. The folder is made
and probed for writing first: where that fails nothing is cached, since Numba would fall back to
``__pycache__``, whose name no digest protects.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

__all__ = [
    "JIT_ENABLED",
    "KERNELS",
    "SOURCE_DIGEST",
    "cache_folder",
    "compile_kernels",
    "inner",
    "ints_at",
    "kernel",
    "record_at",
    "user_cache_folder",
    "view_i16",
    "view_i32",
    "view_i64",
    "view_u32",
    "view_u8",
    "words_at",
]

F = TypeVar("F", bound=Callable[..., Any])

JIT_ENABLED = not numba.config.DISABLE_JIT

#: Entry kernels by name: the dispatcher and its one signature.
KERNELS: dict[str, tuple[Any, str]] = {}


def _source_digest() -> str:
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in [here / "_jit.py", *sorted((here / "kernels").glob("*.py"))]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


SOURCE_DIGEST = _source_digest()


def user_cache_folder() -> Path:
    """Folder for everything fastmask keeps on disk: ``FASTMASK_CACHE_DIR`` or the user's cache."""
    chosen = os.environ.get("FASTMASK_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "fastmask"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "fastmask"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fastmask"


def _probe(folder: Path) -> bool:
    """Whether files can be made in ``folder``, which is created private if missing."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except (OSError, RuntimeError):
        return False


def _kernel_cache_folder() -> Path | None:
    if not JIT_ENABLED:
        return None
    bounds = "-bounds" if numba.config.BOUNDSCHECK else ""
    try:
        folder = user_cache_folder() / f"kernels-{SOURCE_DIGEST}{bounds}"
    except RuntimeError:  # no home folder at all
        return None
    return folder if _probe(folder) else None


#: Where compiled kernels are kept, or None when no folder can be written.
cache_folder: Path | None = _kernel_cache_folder()

if cache_folder is None and JIT_ENABLED:
    warnings.warn(
        "fastmask found no writable folder for compiled kernels, so each process compiles them anew "
        "(some seconds); set FASTMASK_CACHE_DIR to a writable folder",
        RuntimeWarning,
        stacklevel=2,
    )


@contextlib.contextmanager
def _numba_cache_dir(folder: Path) -> Iterator[None]:
    """Numba picks a cache folder when a function is decorated; ours holds for that moment only."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def kernel(signature: str) -> Callable[[F], F]:
    """Decorate an entry kernel: compiled on first use, cached, without the GIL.

    Parameters
    ----------
    signature : str
        The one signature it is ever called with, in Numba's notation.
    """

    def decorate(function: F) -> F:
        if not JIT_ENABLED:
            KERNELS[function.__name__] = (function, signature)
            return function
        options = {"nogil": True, "error_model": "numpy"}
        if cache_folder is None:
            dispatcher = numba.njit(**options)(function)
        else:
            with _numba_cache_dir(cache_folder):
                dispatcher = numba.njit(cache=True, **options)(function)
        KERNELS[function.__name__] = (dispatcher, signature)
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def inner(function: F) -> F:
    """Decorate a function that only kernels call; it is compiled into them."""
    if not JIT_ENABLED:
        return function
    return numba.njit(nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]


def compile_kernels(progress: Callable[[str, int, int], None] | None = None) -> None:
    """Compile or load every registered kernel; ``progress(name, done, total)`` after each."""
    for done, (name, (dispatcher, signature)) in enumerate(sorted(KERNELS.items()), 1):
        if JIT_ENABLED:
            dispatcher.compile(signature)
        if progress is not None:
            progress(name, done, len(KERNELS))


# Kernels that need many tables get one int64 record of addresses and lengths: passing an array costs
# 45-65 ns a call, reading its address inside costs one load. Whoever calls keeps the arrays alive.

if JIT_ENABLED:

    def _pointer_intrinsic(element: Any) -> Any:
        @intrinsic  # type: ignore[untyped-decorator]
        def pointer(typing_context: Any, address: Any) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

            return types.CPointer(element)(types.int64), codegen

        return pointer

    _pointer_u8 = _pointer_intrinsic(types.uint8)
    _pointer_i16 = _pointer_intrinsic(types.int16)
    _pointer_i32 = _pointer_intrinsic(types.int32)
    _pointer_u32 = _pointer_intrinsic(types.uint32)
    _pointer_i64 = _pointer_intrinsic(types.int64)

    @inner
    def view_u8(record: Any, slot: int) -> Any:
        """The uint8 array whose address and length stand in ``record[slot:slot + 2]``."""
        return numba.carray(_pointer_u8(record[slot]), (record[slot + 1],))

    @inner
    def view_i16(record: Any, slot: int) -> Any:
        """The int16 array whose address and length stand in ``record[slot:slot + 2]``."""
        return numba.carray(_pointer_i16(record[slot]), (record[slot + 1],))

    @inner
    def view_i32(record: Any, slot: int) -> Any:
        """The int32 array whose address and length stand in ``record[slot:slot + 2]``."""
        return numba.carray(_pointer_i32(record[slot]), (record[slot + 1],))

    @inner
    def view_u32(record: Any, slot: int) -> Any:
        """The uint32 array whose address and length stand in ``record[slot:slot + 2]``."""
        return numba.carray(_pointer_u32(record[slot]), (record[slot + 1],))

    @inner
    def view_i64(record: Any, slot: int) -> Any:
        """The int64 array whose address and length stand in ``record[slot:slot + 2]``."""
        return numba.carray(_pointer_i64(record[slot]), (record[slot + 1],))

    @inner
    def words_at(address: int, size: int) -> Any:
        """The uint32 array of ``size`` elements at ``address``."""
        return numba.carray(_pointer_u32(address), (size,))

    @inner
    def ints_at(address: int, size: int) -> Any:
        """The int32 array of ``size`` elements at ``address``."""
        return numba.carray(_pointer_i32(address), (size,))

    @inner
    def record_at(address: int, size: int) -> Any:
        """The int64 record of ``size`` words at ``address``."""
        return numba.carray(_pointer_i64(address), (size,))

else:

    def _by_address(record: Any, slot: int, element: Any) -> Any:
        size = int(record[slot + 1])
        if size == 0:
            return np.zeros(0, element)
        pointer = ctypes.cast(int(record[slot]), ctypes.POINTER(element))
        return np.ctypeslib.as_array(pointer, (size,))

    def view_u8(record: Any, slot: int) -> Any:
        return _by_address(record, slot, ctypes.c_uint8)

    def view_i16(record: Any, slot: int) -> Any:
        return _by_address(record, slot, ctypes.c_int16)

    def view_i32(record: Any, slot: int) -> Any:
        return _by_address(record, slot, ctypes.c_int32)

    def view_u32(record: Any, slot: int) -> Any:
        return _by_address(record, slot, ctypes.c_uint32)

    def view_i64(record: Any, slot: int) -> Any:
        return _by_address(record, slot, ctypes.c_int64)

    def words_at(address: int, size: int) -> Any:
        return _by_address((address, size), 0, ctypes.c_uint32)

    def ints_at(address: int, size: int) -> Any:
        return _by_address((address, size), 0, ctypes.c_int32)

    def record_at(address: int, size: int) -> Any:
        return _by_address((address, size), 0, ctypes.c_int64)
