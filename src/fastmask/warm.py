"""Paying for compilation when it suits: every kernel compiled, or loaded from disk, now."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable

from . import kernels
from ._jit import compile_kernels

__all__ = ["warm_up"]


def warm_up(progress: Callable[[str, int, int], None] | None = None) -> None:
    """Compile or load every kernel, so that no later call has to.

    Parameters
    ----------
    progress : callable, optional
        Called as ``progress(kernel, done, total)`` after each kernel. Default: one line that counts
        up on standard error, where that is a terminal.

    Notes
    -----
    Compiling takes half a minute once for each version of fastmask, Numba and processor;
    from then on every process loads the kernels in a fraction of a second. Call it before forking
    workers, so that they share what was loaded.
    """
    for module in pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}."):
        importlib.import_module(module.name)
    if progress is not None or not sys.stderr.isatty():
        compile_kernels(progress)
        return
    compile_kernels(_count_up)
    print(file=sys.stderr)


def _count_up(name: str, done: int, total: int) -> None:
    print(f"\r\x1b[Kkernels: {done} of {total} ({name})", end="", file=sys.stderr, flush=True)
