"""The only door to Numba: the kernel decorators, the kernel cache, views of memory by address.

Numba's own cache keys a kernel by the bytecode of that one function. It does not see edits of the
helpers or constants a kernel uses, so it can serve old code after an upgrade, which for a mask
library means wrong masks; and it believes whatever lies on disk. So kernels are kept here: in a
folder named by a digest of every kernel source, each file under a checksum. Where no folder can be
written nothing is kept.

What that buys: compiling a kernel takes 0.1 to 4 s, loading one 1 to 2 ms.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import pickle
import platform
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba
import numpy as np
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.typed_passes import NativeLowering
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from ._files import cache_home, is_private_and_writable, read_checked, write_checked

__all__ = [
    "JIT_ENABLED",
    "KERNELS",
    "SOURCE_DIGEST",
    "compile_kernels",
    "inner",
    "ints_at",
    "kernel",
    "kernel_folder",
    "machine_code",
    "record_at",
    "view_i16",
    "view_i32",
    "view_i64",
    "view_u8",
    "words_at",
]

F = TypeVar("F", bound=Callable[..., Any])

JIT_ENABLED = not numba.config.DISABLE_JIT

#: Entry kernels by name: the dispatcher and its one signature.
KERNELS: dict[str, tuple[Any, str]] = {}


def _source_files() -> list[str]:
    here = os.path.dirname(__file__)
    folder = os.path.join(here, "kernels")
    kernels = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    return [os.path.join(here, "_jit.py"), *(os.path.join(folder, name) for name in kernels)]


def _source_digest() -> str | None:
    """Digest of all code that ends up in kernels; None where the sources cannot be read."""
    digest = hashlib.sha256()
    try:
        for path in _source_files():
            content = Path(path).read_bytes()
            digest.update(f"{os.path.basename(path)} {len(content)}\n".encode())
            digest.update(content)
    except OSError:
        return None
    return digest.hexdigest()[:16]


def _source_times() -> list[tuple[int, int]]:
    try:
        return [(s.st_mtime_ns, s.st_size) for s in map(os.stat, _source_files())]
    except OSError:
        return []


_SOURCE_TIMES = _source_times()
SOURCE_DIGEST = _source_digest()


def _kernel_folder() -> Path | None:
    home = cache_home()
    if not JIT_ENABLED or SOURCE_DIGEST is None or home is None:
        return None
    folder = home / f"kernels-{SOURCE_DIGEST}"
    return folder if is_private_and_writable(folder) else None


#: Where compiled kernels are kept, or None when there is no folder for them.
kernel_folder: Path | None = _kernel_folder()

if kernel_folder is None and JIT_ENABLED:
    warnings.warn(
        "fastmask found no private, writable folder for compiled kernels, so each process compiles "
        "them anew (some seconds); set FASTMASK_CACHE_DIR to a folder of your own",
        RuntimeWarning,
        stacklevel=2,
    )

#: What compiled code depends on beside its source; the processor is asked for when there is one.
_COMPILER = (
    *(platform.python_implementation(), platform.python_version()),
    *(numba.__version__, llvmlite.__version__, np.__version__),
    *(numba.config.BOUNDSCHECK, numba.config.OPT, numba.config.DEBUGINFO_DEFAULT),
)


@cache
def _processor(codegen: Any) -> Any:
    return codegen.magic_tuple()


def _names(function: Any) -> bytes:
    """Bitcode that defines what a compiled function is found by, and nothing else."""
    module = "".join(
        f'define void @"{name}"() {{ ret void }}\n'
        for name in (function.llvm_func_name, function.llvm_cpython_wrapper_name)
    )
    module += f'@"{function.env_name}" = global i64 0\n'
    return llvmlite.binding.parse_assembly(module).as_bitcode()  # type: ignore[no-any-return]


class _KernelFiles:
    """The compiled versions of one kernel on disk, in the way a dispatcher asks for them."""

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self.cache_path = str(folder)
        self._folder = folder
        self._name = f"{function.__module__}.{function.__qualname__}"

    def _path(self, signature: str, codegen: Any) -> Path:
        key = repr((signature, _processor(codegen), _COMPILER))
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        return self._folder / f"{self._name}-{digest}.kernel"

    def load_overload(self, signature: str, target_context: Any) -> Any:
        """The compile result for ``signature``, or None if it has to be compiled."""
        if _source_times() != _SOURCE_TIMES:  # what was imported is not what the folder is named by
            return None
        payload = read_checked(self._path(signature, target_context.codegen()))
        if payload is None:
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(payload))

    def save_overload(self, signature: str, result: Any) -> None:
        """Keep a compile result, unless it holds addresses of this process."""
        if result.library.has_dynamic_globals or _source_times() != _SOURCE_TIMES:
            return
        # Numba keeps the code of all inner functions as well, for other functions to link, and that
        # takes longer to load than the kernel. Nothing links a kernel: its names will do.
        (name, kind, (code, _)), *about, _annotation, reload, _environments = result._reduce()
        library = (name, kind, (code, _names(result.fndesc)))
        path = self._path(signature, result.library.codegen)
        write_checked(path, dumps((library, *about, "", reload, ())))

    def flush(self) -> None:
        """Forget all versions."""
        for path in self._folder.glob(f"{self._name}-*.kernel"):
            path.unlink(missing_ok=True)


# An inner function is lowered once and kept as it is; each kernel that needs it, directly or not,
# links it in and is optimised as one. Numba's own way takes twice as long: it optimises each
# function by itself too, writes machine code and two wrappers for it, and does that again for each
# literal it is called with.


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of one inner function as it was lowered: never optimised or run by itself."""

    def finalize(self) -> None:
        self._finalized = True


class _KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel and of all the inner functions it needs."""

    def finalize(self) -> None:
        needed: dict[Any, None] = dict.fromkeys(self._linking_libraries)
        waiting = list(needed)
        while waiting:
            for library in waiting.pop()._linking_libraries:
                if library not in needed:
                    needed[library] = None
                    waiting.append(library)
        self._linking_libraries: list[Any] = list(needed)
        super().finalize()


@register_pass(mutates_CFG=False, analysis_only=True)
class _OfferToCallers(AnalysisPass):  # type: ignore[misc]
    """Let other functions call what was lowered, as Numba does with what it made executable."""

    _name = "fastmask_offer_to_callers"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        key = object()
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return False


class _InnerCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.flags.no_compile = True
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        passes = DefaultPassBuilder.define_nopython_pipeline(state)
        passes.add_pass_after(_OfferToCallers, NativeLowering)
        passes.finalize()
        return [passes]


class _KernelCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = _KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


# Kernels allocate nothing and their callers hold the arrays, so no references are counted: an array
# costs 20 ns a call without that, and 45 with it, and a quarter of the code is gone.
_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
}


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A function that kernels call, with int64 for every integer."""

    def __init__(self, function: Callable[..., Any]) -> None:
        options = {**_OPTIONS, "no_cpython_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=_InnerCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template([_widened(argument) for argument in args], kws)

    def add_overload(self, result: Any) -> None:
        self.overloads[tuple(result.signature.args)] = result


def _widened(argument: Any) -> Any:
    argument = types.unliteral(argument)
    return types.int64 if isinstance(argument, types.Integer) else argument


#: First calls from several threads compile one after the other.
_compiling = threading.RLock()


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel and its one signature; nothing else is compiled, whatever it is called with."""

    def __init__(self, function: Callable[..., Any], signature: str) -> None:
        super().__init__(function, targetoptions=_OPTIONS, pipeline_class=_KernelCompiler)
        self._declared = signature
        self._result: Any = None
        if kernel_folder is not None:
            self._cache = _KernelFiles(function, kernel_folder)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        raise TypeError(f"{self.__name__} is a kernel; kernels call inner functions alone")

    def ready(self) -> Any:
        """The machine code of the declared signature."""
        if self._result is None:
            with _compiling:
                if not self.overloads:
                    self.compile(self._declared)
                    self.disable_compile()
                (self._result,) = self.overloads.values()
        return self._result

    def _compile_for_args(self, *arguments: Any) -> Any:
        result = self.ready()
        # Numba would run the code on these very arguments without looking at them again.
        for wanted, argument in zip(result.signature.args, arguments, strict=True):
            if isinstance(wanted, types.Integer) and isinstance(argument, (int, np.integer)):
                continue  # it is converted, or an OverflowError
            found = self.typeof_pyval(argument)
            if wanted != found:
                raise TypeError(f"{self.__name__} takes {wanted}, not {found}")
        return result.entry_point


def inner(function: F) -> F:
    """Decorate a function that only kernels call; it is compiled into them.

    Integers reach it as int64, whatever they are.
    """
    return cast(F, _Inner(function)) if JIT_ENABLED else function


def kernel(signature: str) -> Callable[[F], F]:
    """Decorate an entry kernel: compiled on first use, kept on disk, run without the GIL.

    Parameters
    ----------
    signature : str
        The one signature it is ever called with, in Numba's notation.
    """

    def decorate(function: F) -> F:
        decorated = cast(F, _Kernel(function, signature)) if JIT_ENABLED else function
        KERNELS[function.__name__] = (decorated, signature)
        return decorated

    return decorate


def machine_code(kernel: Any) -> Callable[..., int]:
    """A kernel that no longer looks at the types of its arguments, which takes 25 ns each.

    For calls of every step, with arrays that were made or checked for it: whatever else it is
    given, it takes for what its signature says.
    """
    return kernel.ready().entry_point if JIT_ENABLED else kernel  # type: ignore[no-any-return]


def compile_kernels(progress: Callable[[str, int, int], None] | None = None) -> None:
    """Compile or load every kernel imported so far; ``progress(name, done, total)`` after each."""
    for done, (name, (dispatcher, _)) in enumerate(sorted(KERNELS.items()), 1):
        if JIT_ENABLED:
            dispatcher.ready()
        if progress is not None:
            progress(name, done, len(KERNELS))


# Kernels that need many tables get one int64 record of addresses and lengths: passing an array
# costs 20 ns a call, reading its address inside costs one load. Callers keep the arrays alive.

if JIT_ENABLED:

    def _array(context: Any, builder: Any, array_type: Any, address: Any, size: Any) -> Any:
        """Code that makes an array of what lies at an address."""
        array = make_array(array_type)(context, builder)
        item_size = context.get_constant(types.intp, array_type.dtype.bitwidth // 8)
        populate_array(
            array,
            data=builder.inttoptr(address, array.data.type),
            shape=[size],
            strides=[item_size],
            itemsize=item_size,
            meminfo=None,
        )
        return array._getvalue()

    def _array_at(element: Any) -> Any:
        array_type = types.Array(element, 1, "C")

        @intrinsic  # type: ignore[untyped-decorator]
        def array_at(typing_context: Any, address: Any, size: Any) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                return _array(context, builder, array_type, *args)

            return array_type(types.int64, types.int64), codegen

        return array_at

    def _view(element: Any) -> Any:
        array_type = types.Array(element, 1, "C")

        @intrinsic  # type: ignore[untyped-decorator]
        def view(typing_context: Any, record: Any, slot: Any) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                words = make_array(record)(context, builder, args[0]).data
                address = builder.gep(words, [args[1]])
                after = builder.add(args[1], context.get_constant(types.int64, 1))
                size = builder.gep(words, [after])
                return _array(context, builder, array_type, *map(builder.load, (address, size)))

            return array_type(record, types.int64), codegen

        return view

    view_u8 = _view(types.uint8)
    view_i16 = _view(types.int16)
    view_i32 = _view(types.int32)
    view_i64 = _view(types.int64)
    words_at = _array_at(types.uint32)
    ints_at = _array_at(types.int32)
    record_at = _array_at(types.int64)

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

    def view_i64(record: Any, slot: int) -> Any:
        return _by_address(record, slot, ctypes.c_int64)

    def words_at(address: int, size: int) -> Any:
        return _by_address((address, size), 0, ctypes.c_uint32)

    def ints_at(address: int, size: int) -> Any:
        return _by_address((address, size), 0, ctypes.c_int32)

    def record_at(address: int, size: int) -> Any:
        return _by_address((address, size), 0, ctypes.c_int64)
